// SPDX-License-Identifier: Apache-2.0
// The opencl device: the devices that it lists and refuses, its cache of programs, and its error messages.

#include "opencl_device.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "devices/device_test.h"
#include "devices/opencl/context.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/program.h"
#include "devices/program.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

Matcher plan(const BlockParameters& parameters = small_block(), const Device& device = opencl_device,
             const PlanOptions& limits = {}) {
  return Matcher(parameters, device, {small_size}, limits);
}

std::optional<Error> refusal(const BlockParameters& parameters, const Device& device = opencl_device) {
  return error_of([&] { plan(parameters, device); });
}

bool gives_the_bytes_of_the_reference() {
  const SynthPair pair = small_pair();
  return same_bytes(match(small_block(), opencl_device, views_with_masks(pair)),
                    match(small_block(), reference, views_with_masks(pair)));
}

TEST(OpenclDriverTest, MachineWithoutALoaderIsToldWhatToInstall) {
  expect_error(error_of([] { opencl::load_driver("libNoOpenCL.so.1"); }), ErrorCategory::device,
               {"libNoOpenCL.so.1", "install", "ocl-icd-libopencl1", "cpu"});
}

TEST(OpenclDriverTest, LibraryThatLacksFunctionsIsRefusedByTheName) {
  expect_error(error_of([] { opencl::load_driver("libm.so.6"); }), ErrorCategory::device,
               {"libm.so.6", "it lacks cl", "OpenCL 1.2"});
}

// The loader reads its list of drivers once per process, so this needs a new process.
TEST(OpenclDriverDeathTest, MachineWithoutADriverIsToldWhatToInstall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (error_of([] { opencl::driver(); })) GTEST_SKIP() << "no OpenCL loader here";
  const auto plan_without_drivers = [] {
    const TemporaryFolder no_drivers;
    const Variable vendors("OCL_ICD_VENDORS", no_drivers.path().string());
    const std::optional<Error> error = refusal(small_block());
    const bool lists_one = is_here(DeviceKind::opencl);
    if (error) std::cerr << (lists_one ? "listed, " : "not listed, ") << error->what();
    std::exit(error && error->category() == ErrorCategory::device ? 0 : 1);
  };
  EXPECT_EXIT(plan_without_drivers(), testing::ExitedWithCode(0),
              "not listed, OpenCL finds no device on this machine: install .*, or choose device cpu");
}

class OpenclDeviceTest : public testing::Test {
 protected:
  // PoCL decides where its own cache is when it starts, so it is started before a test changes the
  // environment.
  OpenclDeviceTest() { opencl::find_devices(); }
  void SetUp() override { PARALLAX_NEEDS_OPENCL(); }
};

TEST_F(OpenclDeviceTest, IsListedWithWhatPeopleChooseBy) {
  const opencl::DeviceInfo info = opencl::find_devices().list.front();
  EXPECT_EQ(info.text, "opencl:0.0");
  for (const DeviceDescription& device : list_devices()) {
    if (device.device != info.text) continue;
    for (const std::string& part :
         {info.name, std::to_string(info.memory_bytes >> 20) + " MiB",
          std::to_string(info.compute_units) + " compute unit", info.platform_name, info.driver_version})
      EXPECT_TRUE(contains(device.description, part)) << device.description << "\nlacks " << part;
    return;
  }
  ADD_FAILURE() << info.text << " is not listed";
}

TEST_F(OpenclDeviceTest, NumbersThatNoDeviceHasAreRefusedWithThoseThereAre) {
  for (const char* absent : {"opencl:99", "opencl:0.99", "opencl:99.99"})
    expect_error(refusal(small_block(), Device::parse(absent)), ErrorCategory::device,
                 {"no device " + Device::parse(absent).text(), "choose one of opencl:0.0 ("});
}

TEST_F(OpenclDeviceTest, DeviceTooOldIsRefused) {
  const Disguised disguised([](opencl::DeviceInfo& info) { info.version = "OpenCL 1.1 of old"; });
  expect_error(refusal(small_block()), ErrorCategory::device,
               {"opencl:0.0", "OpenCL 1.1 of old", "1.2 or later", "cpu"});
}

TEST_F(OpenclDeviceTest, PoclThatEndsTheProcessIsRefusedByName) {
  const Disguised disguised([](opencl::DeviceInfo& info) {
    info.platform_name = "Portable Computing Language";
    info.driver_version = "5.0-2.1build3";
    info.is_processor = false;
  });
  expect_error(refusal(small_block()), ErrorCategory::device, {"PoCL 5.0", "another version"});
}

TEST_F(OpenclDeviceTest, PoclWithWrongMapsIsRefusedByNameAndNotListed) {
  const Disguised disguised([](opencl::DeviceInfo& info) {
    info.platform_name = "Portable Computing Language";
    info.driver_version = "6.0-6";
  });
  expect_error(refusal(small_block()), ErrorCategory::device,
               {"opencl:0.0", "PoCL 6.0", "another version", "cpu"});
  EXPECT_TRUE(opencl::find_devices().list.empty());
  EXPECT_FALSE(is_here(DeviceKind::opencl));
}

TEST_F(OpenclDeviceTest, DeviceWithoutEnoughMemoryIsRefusedBeforeAnythingIsAllocated) {
  const Disguised disguised([](opencl::DeviceInfo& info) { info.memory_bytes = 10000; });
  expect_error(refusal(small_block()), ErrorCategory::memory,
               {"the match needs ", "9.8 KiB", "opencl:0.0", "search fewer disparities"});
}

TEST_F(OpenclDeviceTest, LargestBufferOfADeviceIsALimitToo) {
  const Disguised disguised([](opencl::DeviceInfo& info) { info.largest_buffer_bytes = 5000; });
  expect_error(refusal(small_block()), ErrorCategory::memory, {"the match needs ", "4.9 KiB", "at once"});
}

TEST_F(OpenclDeviceTest, MemoryThatAPlanSaysIsWhatItMayTake) {
  const std::size_t bytes = plan().memory_bytes();
  EXPECT_EQ(estimate_memory_bytes(small_block(), opencl_device, {small_size}), bytes);
  plan(small_block(), opencl_device, {bytes});
  expect_error(error_of([&] { plan(small_block(), opencl_device, {bytes - 1}); }), ErrorCategory::memory,
               {"raise the limit"});
}

TEST_F(OpenclDeviceTest, DeviceWithoutDoublesRefusesZncc) {
  const Disguised disguised([](opencl::DeviceInfo& info) { info.has_doubles = false; });
  BlockParameters parameters = small_block();
  plan(parameters);
  parameters.cost = BlockCost::zncc;
  expect_error(refusal(parameters), ErrorCategory::device, {"opencl:0.0", "cl_khr_fp64", "zncc"});
}

TEST_F(OpenclDeviceTest, ProcessorThatDividesInexactlyGivesTheBytesOfTheReference) {
  const Disguised disguised([](opencl::DeviceInfo& info) { info.divides_correctly = false; });
  const SynthPair pair = small_pair();
  EXPECT_TRUE(same_bytes(match(small_block(), opencl_device, views_with_masks(pair), 0, true),
                         match(small_block(), reference, views_with_masks(pair), 1, true)));
}

// Volumes of data costs and of each path's costs.
TEST_F(OpenclDeviceTest, VolumesOfSemiGlobalMatchingAreCountedAndRefused) {
  SemiGlobalParameters parameters;
  parameters.paths = 4;
  const std::size_t bytes = estimate_memory_bytes(parameters, opencl_device, {small_size});
  parameters.paths = 8;
  const std::size_t volume = small_size.pixels() * static_cast<std::size_t>(parameters.disparities);
  EXPECT_GE(estimate_memory_bytes(parameters, opencl_device, {small_size}), bytes + 4 * volume);
  const Disguised disguised([](opencl::DeviceInfo& info) { info.largest_buffer_bytes = 16384; });
  expect_error(error_of([&] { Matcher(parameters, opencl_device, {small_size}); }), ErrorCategory::memory,
               {"opencl:0.0", "choose another device"});
}

TEST_F(OpenclDeviceTest, MemoryOfTheCallersCostsIsCounted) {
  BeliefPropagationParameters parameters;
  parameters.cost = DataCost::absolute_difference;
  const std::size_t own = estimate_memory_bytes(parameters, opencl_device, {small_size});
  parameters.cost = DataCost::volume;
  const std::size_t volume =
      small_size.pixels() * static_cast<std::size_t>(parameters.disparities) * sizeof(float);
  EXPECT_GE(estimate_memory_bytes(parameters, opencl_device, {small_size}), own + volume);
}

TEST_F(OpenclDeviceTest, ImagesOfADeviceAreRefused) {
  Matcher matcher = plan();
  const SynthPair pair = small_pair();
  Result result(small_size);
  expect_error(error_of([&] { matcher.enqueue(views_with_masks(pair), result.map(), nullptr); }),
               ErrorCategory::device, {"opencl:0.0", "run()"});
}

TEST_F(OpenclDeviceTest, RunFailsForTheCallerAndTheNextOneWorks) {
  Matcher matcher = plan();
  const SynthPair pair = small_pair();
  Result result(small_size);
  StereoPair broken = views_with_masks(pair);
  broken.left.data = nullptr;
  EXPECT_TRUE(error_of([&] { matcher.run(broken, result.map()); }));
  matcher.run(views_with_masks(pair), result.map());
  EXPECT_TRUE(same_bytes(result, match(small_block(), reference, views_with_masks(pair))));
}

TEST_F(OpenclDeviceTest, ProcessorTellsTheTimeOfEveryStage) {
  const auto stages = [] {
    Matcher matcher = plan();
    const SynthPair pair = small_pair();
    Result result(small_size);
    matcher.run(views_with_masks(pair), result.map());
    matcher.run(views_with_masks(pair), result.map());
    std::vector<std::string> names;
    for (const StageTime& stage : matcher.stage_times()) {
      EXPECT_GE(stage.milliseconds, 0) << stage.stage;
      names.emplace_back(stage.stage);
    }
    return names;
  };
  const Disguised disguised([](opencl::DeviceInfo& info) { info.is_processor = true; });
  EXPECT_EQ(stages(),
            (std::vector<std::string>{"upload", "prepare", "search", "left_right_check", "speckle", "fill",
                                      "median", "weighted_median", "bilateral", "download"}));
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised as_other(as_gpu);
  EXPECT_EQ(stages(), (std::vector<std::string>{"upload", "match", "download"}));
}

TEST_F(OpenclDeviceTest, SeveralMatchersRunAtOnce) {
  Matcher first = plan(), second = plan();
  const SynthPair a = small_pair(1), b = small_pair(2);
  Result of_a(small_size), of_b(small_size);
  first.run(views_with_masks(a), of_a.map());
  second.run(views_with_masks(b), of_b.map());
  first.run(views_with_masks(b), of_a.map());
  EXPECT_TRUE(same_bytes(of_a, of_b));
}

// No other test compiles this source.
const opencl::Source broken{"broken.cl", "kernel void broken(global int* to) { *to = nonsense; }"};

TEST_F(OpenclDeviceTest, KernelThatDoesNotBuildIsReportedWithTheLog) {
  const opencl::Context context(0, 0);
  expect_error(error_of([&] { opencl::Program(context, {broken}, {}); }), ErrorCategory::internal,
               {"broken.cl", "opencl:0.0", "nonsense", "choose another device, and report"});
}

TEST_F(OpenclDeviceTest, KernelThatIsNotThereIsNamed) {
  const opencl::Context context(0, 0);
  const opencl::Program program(context, {{"one.cl", "kernel void one(global int* to) { *to = 1; }"}}, {});
  program.kernel("one");
  expect_error(error_of([&] { program.kernel("two"); }), ErrorCategory::device,
               {"two", "CL_INVALID_KERNEL_NAME"});
}

TEST_F(OpenclDeviceTest, CallThatFailsIsNamed) {
  expect_error(error_of([] { opencl::check(CL_OUT_OF_RESOURCES, "clThis of that"); }), ErrorCategory::device,
               {"clThis of that", "CL_OUT_OF_RESOURCES"});
  expect_error(error_of([] { opencl::check(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clThis"); }),
               ErrorCategory::memory, {"clThis", "CL_MEM_OBJECT_ALLOCATION_FAILURE", "fewer disparities"});
  expect_error(error_of([] { opencl::check(-9999, "clThis"); }), ErrorCategory::device, {"error -9999"});
}

class OpenclCacheTest : public OpenclDeviceTest {
 protected:
  const TemporaryFolder cache_;
  const Variable variable_{"XDG_CACHE_HOME", cache_.path().string()};

  std::set<fs::path> files() const {
    std::error_code none;
    std::set<fs::path> found;
    for (const auto& entry : fs::directory_iterator(cache_.path() / "parallax", none))
      found.insert(entry.path());
    return found;
  }

  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(OpenclCacheTest, ProgramsAreKeptAndFound) {
  plan();
  const std::set<fs::path> kept = files();
  EXPECT_EQ(kept.size(), 6u);  // images, search, refinement, planes, and one for each guided step
  std::map<fs::path, std::string> before;
  for (const fs::path& file : kept) before[file] = read(file);
  EXPECT_TRUE(gives_the_bytes_of_the_reference());
  EXPECT_EQ(files(), kept);
  for (const auto& [file, content] : before) EXPECT_EQ(read(file), content);
}

TEST_F(OpenclCacheTest, EveryOptionAndSourceAndDriverHasAProgramOfItsOwn) {
  const opencl::Source source{"one.cl", "kernel void one(global int* to) { *to = ONE; }"};
  const opencl::Source other{"one.cl", "kernel void one(global int* to) { *to = 1 + ONE; }"};
  const opencl::Context context(0, 0);
  for (const opencl::Source& text : {source, other})
    for (const int value : {1, 2}) opencl::Program(context, {text}, {opencl::define("ONE", value)});
  EXPECT_EQ(files().size(), 4u);
  const Disguised disguised([](opencl::DeviceInfo& info) { info.driver_version += ".1"; });
  opencl::Program(opencl::Context(0, 0), {source}, {opencl::define("ONE", 1)});
  EXPECT_EQ(files().size(), 5u);
}

TEST_F(OpenclCacheTest, CorruptFilesAreMadeAnew) {
  plan();
  std::map<fs::path, std::size_t> sizes;
  for (const fs::path& file : files()) {
    std::string content = read(file);
    sizes[file] = content.size();
    content[content.size() / 2] ^= 1;
    std::ofstream(file, std::ios::binary) << content;
  }
  EXPECT_TRUE(gives_the_bytes_of_the_reference());
  for (const auto& [file, size] : sizes) EXPECT_EQ(read(file).size(), size);
}

// A driver update without a new version number may leave such files behind: intact, but useless.
TEST_F(OpenclCacheTest, BinariesThatTheDriverRefusesAreMadeAnew) {
  plan();
  for (const fs::path& file : files()) {
    const std::string content = read(file);
    const std::size_t key_start = std::string("parallax program 1\n").size() + 3 * 16;
    const std::size_t key_bytes = std::stoul(content.substr(key_start - 3 * 16, 16), nullptr, 16);
    write_cached(content.substr(key_start, key_bytes), "no program of any driver");
  }
  EXPECT_TRUE(gives_the_bytes_of_the_reference());
  for (const fs::path& file : files()) EXPECT_FALSE(contains(read(file), "no program of any driver"));
}

TEST_F(OpenclCacheTest, NothingIsKeptWhereNothingCanBeWritten) {
  const Variable nowhere("XDG_CACHE_HOME", std::string("/proc/nowhere"));
  EXPECT_TRUE(gives_the_bytes_of_the_reference());
}

}  // namespace
}  // namespace parallax::test
