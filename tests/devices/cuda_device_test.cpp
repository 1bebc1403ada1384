// SPDX-License-Identifier: Apache-2.0
// Plans on GPUs: missing libraries, memory, streams, threads, and the layout of images.

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "devices/gpu_test.h"
#include "devices/plan_once.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;

// Looks in the standard folders only, not in LD_LIBRARY_PATH.
bool has_library(const char* name) {
  for (const char* folder :
       {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/lib", "/lib64", "/usr/lib", "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib"})
    if (fs::exists(fs::path(folder) / name)) return true;
  return false;
}

class MissingTest : public testing::Test {
 protected:
  void SetUp() override { PARALLAX_NEEDS_EMULATED_GPU(); }

  // Adds a library of the emulated GPU; it lacks a function if `lacking` names one.
  void add(const char* library, const char* lacking = nullptr) const {
    std::string content = read(folder_of(library) / library);
    if (lacking != nullptr) rename_symbol(content, lacking);
    std::ofstream(folder_.path() / library, std::ios::binary) << content;
  }

  // Runs plan_once with only the libraries that were added.
  std::map<std::string, std::string> plan_with_these(const char* device = "cuda") const {
    const Variable libraries("LD_LIBRARY_PATH", folder_.path().string());
    return plan_once(device);
  }

 private:
  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static fs::path folder_of(const char* library) {
    std::istringstream folders(std::getenv("LD_LIBRARY_PATH"));
    for (std::string folder; std::getline(folders, folder, ':');)
      if (fs::exists(fs::path(folder) / library)) return folder;
    return {};
  }
  // Names of symbols are delimited by zero bytes. A renamed symbol is not found.
  static void rename_symbol(std::string& content, const std::string& name) {
    const std::string whole = std::string(1, '\0') + name + '\0';
    for (std::size_t at = 0; (at = content.find(whole, at)) != std::string::npos; ++at) content[at + 1] = '_';
  }

  TemporaryFolder folder_;
};

TEST_F(MissingTest, Nothing) {
  add("libcuda.so.1");
  add("libnvrtc.so.13");
  auto found = plan_with_these();
  EXPECT_EQ(found["match"], "the bytes of the reference");
  EXPECT_EQ(found["GPUs"], "2 ");
}

TEST_F(MissingTest, TheDriver) {
  if (has_library("libcuda.so.1")) GTEST_SKIP() << "this machine has a driver";
  auto found = plan_with_these();
  const std::string reason =
      "no CUDA driver on this machine (libcuda.so.1): install NVIDIA's driver, or choose device cpu";
  EXPECT_EQ(found["match"], "device: " + reason);
  EXPECT_EQ(found["GPUs"], "0 " + reason);
  EXPECT_EQ(found["devices"], "listed");
}

TEST_F(MissingTest, ADriverThatIsNewEnough) {
  const Variable version("PARALLAX_EMULATED_DRIVER_VERSION", "11080");
  auto found = plan_once("cuda");
  const std::string reason =
      "the CUDA driver is too old (it supports CUDA 11.8): update it to one for CUDA 12.0 or later, or "
      "choose "
      "device cpu";
  EXPECT_EQ(found["match"], "device: " + reason);
  EXPECT_EQ(found["GPUs"], "0 " + reason);
  EXPECT_EQ(found["devices"], "listed");
}

TEST_F(MissingTest, AFunctionOfTheDriver) {
  for (const char* name : {"cuGraphInstantiateWithFlags", "cuDriverGetVersion", "cuGetErrorName"}) {
    add("libcuda.so.1", name);
    auto found = plan_with_these();
    EXPECT_TRUE(contains(found["match"], "device: the CUDA driver is too old (it supports CUDA "))
        << found["match"];
    EXPECT_TRUE(contains(found["match"], std::string("and lacks ") + name + "): update it"))
        << found["match"];
    EXPECT_EQ(found["devices"], "listed");
  }
}

TEST_F(MissingTest, ACompilerThatIsOldEnough) {
  if (has_library("libnvrtc.so.12")) GTEST_SKIP() << "this machine has it";
  const Variable version("PARALLAX_EMULATED_DRIVER_VERSION", "12000");
  EXPECT_EQ(
      plan_once("cuda")["match"],
      "device: libnvrtc.so.13 is newer than the driver, which supports CUDA 12.0: install libnvrtc.so.12 "
      "(NVIDIA's package cuda-nvrtc), or put its folder on LD_LIBRARY_PATH");
}

TEST_F(MissingTest, TheCompiler) {
  const char* reason =
      "device: CUDA's run-time compiler is not installed: install libnvrtc.so.13 (NVIDIA's package "
      "cuda-nvrtc), or put its folder on LD_LIBRARY_PATH";
  if (has_library("libnvrtc.so.12")) GTEST_SKIP() << "this machine has an older one";
  add("libcuda.so.1");
  if (!has_library("libnvrtc.so.13")) {
    EXPECT_EQ(plan_with_these()["match"], reason);
  }
  add("libnvrtc.so.13", "nvrtcGetCUBIN");
  EXPECT_EQ(plan_with_these()["match"], reason);
}

TEST_F(MissingTest, TheGpu) {
  const Variable devices("PARALLAX_EMULATED_DEVICES", "0");
  auto found = plan_once("cuda");
  EXPECT_TRUE(contains(found["match"], "device: the CUDA driver does not start: CUDA_ERROR_NO_DEVICE"))
      << found["match"];
  EXPECT_TRUE(contains(found["match"], "check that nvidia-smi lists a GPU")) << found["match"];
  EXPECT_EQ("device: " + found["GPUs"].substr(2), found["match"]);
  EXPECT_EQ(found["devices"], "listed");
}

class CudaDeviceTest : public GpuTest {
 protected:
  const SynthPair pair_ = small_pair();

  static void expect_refused(const Device& device, ErrorCategory category,
                             std::initializer_list<std::string> parts) {
    for (const MatcherParameters& parameters :
         {MatcherParameters(small_belief_propagation()), MatcherParameters(small_block())}) {
      expect_error(error_of([&] { Matcher(parameters, device, {small_size}); }), category, parts);
      expect_error(error_of([&] { estimate_memory_bytes(parameters, device, {small_size}); }), category,
                   parts);
    }
  }
};

TEST_F(CudaDeviceTest, AGpuThatIsNotThereIsRefusedWithThoseThatAre) {
  const std::string last = std::to_string(cuda::find_gpus().list.size() - 1);
  expect_refused(gpu(700), ErrorCategory::device,
                 {"no GPU cuda:700", "choose one from cuda:0 to cuda:" + last});
  expect_refused(gpu(-1), ErrorCategory::device,
                 {"no GPU cuda:-1", "choose one from cuda:0 to cuda:" + last});
}

TEST_F(CudaDeviceTest, GpusMayBeGone) {
  PARALLAX_NEEDS_EMULATED_GPU();
  emulated()->set_device_count(0);
  expect_refused(gpu(), ErrorCategory::device, {"no GPU cuda:0: this machine has 0, choose device cpu"});
  EXPECT_EQ(cuda::find_gpus().none_because, "the CUDA driver finds no GPU");
  EXPECT_FALSE(list_devices().empty());
}

TEST_F(CudaDeviceTest, AnOldArchitectureIsRefused) {
  PARALLAX_NEEDS_EMULATED_GPU();
  emulated()->set_architecture(61);
  expect_refused(gpu(), ErrorCategory::device,
                 {"cuda:0 has architecture sm_61", "choose a GPU of sm_75 or later"});
  EXPECT_EQ(cuda::find_gpus().list.size(), 2u);
}

TEST_F(CudaDeviceTest, OldArchitecturesHaveLessSharedMemory) {
  PARALLAX_NEEDS_EMULATED_GPU();
  emulated()->set_architecture(75);
  BeliefPropagationParameters parameters = small_belief_propagation(Arithmetic::float32);
  for (const int disparities : {129, 260, 600}) {
    parameters.disparities = disparities;
    EXPECT_TRUE(same_bytes(match(parameters, gpu(), views_with_masks(pair_)),
                           match(parameters, reference, views_with_masks(pair_))));
  }
}

TEST_F(CudaDeviceTest, ListingNeverThrows) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const int before = emulated()->calls();
  cuda::find_gpus();
  const int calls = emulated()->calls() - before;
  EXPECT_GT(calls, 5);
  for (int k = 1; k <= calls; ++k) {
    emulated()->fail_call(nullptr, k, 999);
    const cuda::Gpus gpus = cuda::find_gpus();
    EXPECT_TRUE(gpus.list.empty());
    EXPECT_TRUE(contains(gpus.none_because, "CUDA_ERROR_UNKNOWN")) << gpus.none_because;
    emulated()->fail_call(nullptr, k, 999);
    EXPECT_FALSE(list_devices().empty());
  }
  EXPECT_EQ(cuda::find_gpus().list.size(), 2u);
}

class CudaPlanTest : public GpuTest, public testing::WithParamInterface<SmallPlan> {
 protected:
  const MatcherParameters& parameters() const { return GetParam().parameters; }

  Result on_reference(const StereoPair& pair) const {
    return match(parameters(), reference, pair, 0x11, true);
  }
  Result run(Matcher& matcher, const StereoPair& pair) const {
    Result result(small_size, 0xEE, true);
    matcher.run(pair, result.map());
    return result;
  }
  Matcher plan(int index = 0) const { return Matcher(parameters(), gpu(index), {small_size}); }
  Matcher plan_in_flight(int pairs) const { return {parameters(), gpu(), {small_size}, {0, {}, pairs}}; }

  // The number of bytes that the first call of that name requests, taken from the message of its failure.
  std::size_t bytes_asked_for(const char* call) const {
    emulated()->fail_call(call, 1, cuda::out_of_memory);
    const std::optional<Error> error = error_of([&] { plan(); });
    const std::string message = error ? error->what() : "";
    const std::size_t of = message.find(" of ");
    return of == std::string::npos ? 0 : std::stoul(message.substr(of + 4));
  }

  const SynthPair pair_ = small_pair();
};

// The tiles of noise have many candidates, more than memory is usually there for; those of two pictures that
// differ by noise have few.
class CudaCandidatesTest : public GpuTest {
 protected:
  Plane<std::uint8_t> add_noise(const Plane<std::uint8_t>& image, double amplitude) {
    Plane<std::uint8_t> result(image.size());
    std::normal_distribution<double> noise(0, amplitude);
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x)
        result.at(x, y) = static_cast<std::uint8_t>(std::clamp(image.at(x, y) + noise(random_), 0.0, 255.0));
    return result;
  }

  // The same bytes as the reference, in both kinds of memory.
  void expect_the_map(const BeliefPropagationParameters& parameters, const Plane<std::uint8_t>& left,
                      const Plane<std::uint8_t>& right) {
    PARALLAX_NEEDS_EMULATED_GPU();
    const StereoPair pair{left.view(), right.view()};
    const Result expected = match(parameters, reference, pair, 0x11, true);
    for (const int has_managed_memory : {1, 0}) {
      emulated()->set_managed_memory(has_managed_memory);
      EXPECT_TRUE(same_bytes(match(parameters, gpu(), pair, 0xEE, true), expected));
    }
  }

  std::mt19937 random_{3};
};

TEST_F(CudaCandidatesTest, MatchNoise) {
  const Plane<std::uint8_t> gray({70, 45}, 128);
  BeliefPropagationParameters parameters;
  parameters.disparities = 180;
  parameters.min_disparity = -90;
  for (const float contrast : {0.f, 12.f}) {
    parameters.edge_contrast = contrast;
    expect_the_map(parameters, add_noise(gray, 60), add_noise(gray, 60));
  }
}

TEST_F(CudaCandidatesTest, MatchPictures) {
  const Size size{150, 90};
  BeliefPropagationParameters parameters;
  parameters.disparities = 30;
  Plane<std::uint8_t> left(size), right(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const auto shade = [&](double at) {
        return static_cast<std::uint8_t>(128 + 60 * std::sin(0.7 * at + 0.3 * y));
      };
      left.at(x, y) = shade(x);
      right.at(x, y) = shade(x + 5 + 0.1 * y);
    }
  for (const float contrast : {0.f, 12.f}) {
    parameters.edge_contrast = contrast;
    parameters.candidate_slack = contrast > 0 ? 1 : 0;
    expect_the_map(parameters, add_noise(left, 8), add_noise(right, 8));
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaPlanTest, testing::ValuesIn(small_plans), name_of_plan);

TEST_P(CudaPlanTest, HoldsTheMemoryItSays) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const cuda::Context context(0);
  for (const bool has_managed_memory : {true, false}) {
    emulated()->set_managed_memory(has_managed_memory ? 1 : 0);
    const std::size_t pinned = bytes_asked_for("cuMemHostAlloc"), free = cuda::free_memory(context);
    const int allocations = emulated()->allocations();
    const std::size_t estimated = estimate_memory_bytes(parameters(), gpu(), {small_size});
    EXPECT_EQ(emulated()->allocations(), allocations);
    {
      const Matcher matcher = plan();
      EXPECT_EQ(matcher.memory_bytes(), estimated);
      EXPECT_EQ(free - cuda::free_memory(context), estimated - pinned);
      EXPECT_LE(emulated()->allocations(), allocations + 3);
    }
    EXPECT_EQ(cuda::free_memory(context), free);
  }
}

TEST_P(CudaPlanTest, MoreThanIsFreeIsRefusedBeforeAnythingIsAllocated) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const std::size_t needed =
      estimate_memory_bytes(parameters(), gpu(), {small_size}) - bytes_asked_for("cuMemHostAlloc");
  emulated()->set_memory(needed - 1);
  const int allocations = emulated()->allocations();
  const std::size_t live_objects = emulated()->live_objects();
  expect_error(error_of([&] { plan(); }), ErrorCategory::memory,
               {"the match needs ", "KiB", " are free on the GPU", "nvidia-smi", "search fewer disparities",
                "smaller image"});
  EXPECT_EQ(emulated()->allocations(), allocations);
  EXPECT_EQ(emulated()->live_objects(), live_objects);
  emulated()->set_memory(needed);
  Matcher matcher = plan();
  EXPECT_TRUE(same_bytes(run(matcher, views_with_masks(pair_)), on_reference(views_with_masks(pair_))));
}

TEST_P(CudaPlanTest, MoreThanIsAllowedIsRefused) {
  const std::size_t needed = estimate_memory_bytes(parameters(), gpu(), {small_size});
  expect_error(error_of([&] { Matcher(parameters(), gpu(), {small_size}, {needed - 1}); }),
               ErrorCategory::memory, {"the match needs ", " are allowed: raise the limit"});
  Matcher(parameters(), gpu(), {small_size}, {needed});
}

// Other processes may take the memory in the meantime.
TEST_P(CudaPlanTest, MemoryThatTheDriverRefusesIsToldWithItsSize) {
  PARALLAX_NEEDS_EMULATED_GPU();
  for (const char* call : {"cuMemAlloc", "cuMemHostAlloc"}) {
    emulated()->fail_call(std::string(call) == "cuMemAlloc" ? "cuMemAlloc_v2" : call, 1, cuda::out_of_memory);
    expect_error(error_of([&] { plan(); }), ErrorCategory::memory,
                 {std::string(call) + " of ", " bytes failed", "out of memory", "match a smaller image"});
  }
}

TEST_P(CudaPlanTest, AllocatesOnTheGpuItIsPlannedFor) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const cuda::Context first(0), second(1);
  const std::size_t free_on_first = cuda::free_memory(first), free_on_second = cuda::free_memory(second);
  Matcher matcher = plan(1);
  EXPECT_EQ(cuda::free_memory(first), free_on_first);
  EXPECT_LT(cuda::free_memory(second), free_on_second);
  EXPECT_TRUE(same_bytes(run(matcher, views_with_masks(pair_)), on_reference(views_with_masks(pair_))));
}

// Each matcher matches its own pair repeatedly while the others run.
void match_at_once(const std::vector<Matcher*>& matchers, const std::vector<StereoPair>& pairs,
                   const std::vector<Result>& expected) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < matchers.size(); ++i)
    threads.emplace_back([&, i] {
      for (int time = 0; time < 20; ++time) {
        Result result(small_size, time, true);
        matchers[i]->run(pairs[i], result.map());
        EXPECT_TRUE(same_bytes(result, expected[i])) << "matcher " << i << ", run " << time;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

StereoPair swapped(const StereoPair& pair) {
  return {pair.right, pair.left, pair.right_mask, pair.left_mask};
}

TEST_P(CudaPlanTest, TwoPlansMatchAtOnceAsEachAlone) {
  Matcher first = plan(), second = plan();
  const StereoPair pair = views_with_masks(pair_);
  const std::vector<StereoPair> pairs{pair, swapped(pair)};
  const std::vector<Result> expected = [&] {
    std::vector<Result> results;
    for (const StereoPair& p : pairs) results.push_back(on_reference(p));
    return results;
  }();
  match_at_once({&first, &second}, pairs, expected);
  match_at_once({&second, &first}, pairs, expected);
}

TEST_P(CudaPlanTest, TwoPlansMatchAtOnceOnTwoGpus) {
  if (!has_second_gpu()) GTEST_SKIP() << "needs two GPUs";
  Matcher first = plan(0), second = plan(1);
  const StereoPair pair = views_with_masks(pair_);
  std::vector<Result> expected;
  expected.push_back(on_reference(pair));
  expected.push_back(on_reference(swapped(pair)));
  match_at_once({&first, &second}, {pair, swapped(pair)}, expected);
}

TEST_P(CudaPlanTest, PlansAreMadeRunAndReleasedInAnyThread) {
  const Result expected = on_reference(views_with_masks(pair_));
  std::optional<Matcher> matcher;
  const auto elsewhere = [](const auto& body) { std::thread(body).join(); };
  elsewhere([&] { matcher.emplace(plan()); });
  elsewhere([&] { EXPECT_TRUE(same_bytes(run(*matcher, views_with_masks(pair_)), expected)); });
  EXPECT_TRUE(same_bytes(run(*matcher, views_with_masks(pair_)), expected));
  elsewhere([&] { matcher.reset(); });

  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int time = 0; time < 5; ++time) {
        Matcher here = plan();
        EXPECT_TRUE(same_bytes(run(here, views_with_masks(pair_)), expected));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(CudaPlanTest, MatchersAreMoved) {
  const Result expected = on_reference(views_with_masks(pair_));
  Matcher first = plan();
  Matcher second(std::move(first));
  EXPECT_TRUE(same_bytes(run(second, views_with_masks(pair_)), expected));
  first = std::move(second);
  EXPECT_TRUE(same_bytes(run(first, views_with_masks(pair_)), expected));
  first = plan();
  EXPECT_TRUE(same_bytes(run(first, views_with_masks(pair_)), expected));
}

// A caller with a stream, and with a pair and a map on the device.
class Caller {
 public:
  explicit Caller(const StereoPair& pair)
      : context_(std::make_shared<cuda::Context>(0)),
        stream_(cuda::make_stream(context_)),
        current_(*context_),
        images_(context_),
        there_(images_.pair(pair)),
        map_(images_.map(pair.left.format.size, true)) {
    cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "uploading");
  }

  const cuda::SharedContext& context() const { return context_; }
  cuda::StreamHandle stream() const { return stream_.get(); }
  const StereoPair& pair() const { return there_; }
  void enqueue(Matcher& matcher) const { enqueue(matcher, there_); }
  void enqueue(Matcher& matcher, const StereoPair& pair) const { matcher.enqueue(pair, map_, stream()); }
  void wait() const { cuda::check(cuda::driver().cuStreamSynchronize(stream()), "waiting"); }
  // The current result; call wait() first.
  Result result() const { return images_.result(map_); }

 private:
  cuda::SharedContext context_;
  cuda::Stream stream_;
  cuda::Current current_;
  DeviceImages images_;
  StereoPair there_;
  DisparityMap map_;
};

TEST_P(CudaPlanTest, EnqueuesOnTheStreamOfItsCallerAndWaitsForNothing) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const Caller caller(views_with_masks(pair_));
  Matcher matcher = plan();
  const Result before = caller.result();
  const int allocations = emulated()->allocations(), synchronisations = emulated()->synchronisations();
  emulated()->set_lazy(1);
  caller.enqueue(matcher);
  EXPECT_EQ(emulated()->allocations(), allocations);
  EXPECT_EQ(emulated()->synchronisations(), synchronisations);
  EXPECT_TRUE(same_bytes(caller.result(), before)) << "some work was not enqueued in the stream";
  caller.wait();
  EXPECT_TRUE(same_bytes(caller.result(), on_reference(views_with_masks(pair_))));
}

TEST_P(CudaPlanTest, EverythingIsInItsMemoryOnceItIsPlanned) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const Caller caller(views_with_masks(pair_));
  emulated()->set_lazy(1);
  Matcher matcher = plan();
  caller.enqueue(matcher);
  caller.wait();
  EXPECT_TRUE(same_bytes(caller.result(), on_reference(views_with_masks(pair_))));
}

TEST_P(CudaPlanTest, TwoStreamsMatchAtOnceAsEachAlone) {
  const StereoPair pair = views_with_masks(pair_);
  Matcher first = plan(), second = plan();
  const Caller one(pair), other(swapped(pair));
  for (int i = 0; i < 20; ++i) {
    one.enqueue(first);
    other.enqueue(second);
  }
  one.wait();
  other.wait();
  EXPECT_TRUE(same_bytes(one.result(), on_reference(pair)));
  EXPECT_TRUE(same_bytes(other.result(), on_reference(swapped(pair))));
}

TEST_P(CudaPlanTest, EnqueuesIntoTheGraphOfItsCaller) {
  const Caller caller(views_with_masks(pair_));
  Matcher matcher = plan();
  const cuda::Graph graph =
      cuda::capture(caller.context(), caller.stream(), [&] { caller.enqueue(matcher); });
  for (int i = 0; i < 3; ++i)
    cuda::check(cuda::driver().cuGraphLaunch(graph.executable.get(), caller.stream()), "cuGraphLaunch");
  caller.wait();
  EXPECT_TRUE(same_bytes(caller.result(), on_reference(views_with_masks(pair_))));
}

TEST_P(CudaPlanTest, RunsAndEnqueuesByTurns) {
  const StereoPair pair = views_with_masks(pair_);
  const Caller caller(pair);
  Matcher matcher = plan();
  EXPECT_TRUE(matcher.stage_times().empty());
  for (int i = 0; i < 2; ++i) {
    caller.enqueue(matcher);
    caller.wait();
    EXPECT_TRUE(matcher.stage_times().empty());
    EXPECT_TRUE(same_bytes(caller.result(), on_reference(pair)));
    EXPECT_TRUE(same_bytes(run(matcher, swapped(pair)), on_reference(swapped(pair))));
    EXPECT_EQ(matcher.stage_times().size(), 3u);
  }
}

TEST_P(CudaPlanTest, IsEnqueuedOnSeveralStreams) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const StereoPair pair = views_with_masks(pair_);
  for (const int pairs_in_flight : {1, 2, 3}) {
    Matcher matcher = plan_in_flight(pairs_in_flight);
    const Caller one(pair), other(swapped(pair));
    emulated()->set_lazy(1);
    for (int i = 0; i < 3; ++i) {
      one.enqueue(matcher);
      other.enqueue(matcher);
    }
    const Result before = one.result();
    other.wait();
    EXPECT_TRUE(same_bytes(other.result(), on_reference(swapped(pair)))) << pairs_in_flight;
    // With two pairs in flight, each stream has its own memory; otherwise it waits for the other stream.
    EXPECT_EQ(same_bytes(one.result(), before), pairs_in_flight == 2);
    one.wait();
    EXPECT_TRUE(same_bytes(one.result(), on_reference(pair))) << pairs_in_flight;
    emulated()->set_lazy(0);
  }
}

// The map without infinities is made from the matcher's own map, which the next match writes.
TEST_P(CudaPlanTest, TheNextMatchWaitsForAFiniteMap) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const StereoPair pair = views_with_masks(pair_);
  Matcher matcher = plan();
  const Caller one(pair), other(swapped(pair));
  DeviceImages images(one.context());
  const DisparityMap map = images.map(small_size, false);
  emulated()->set_lazy(1);
  matcher.enqueue(one.pair(), FiniteMap{{}, map.disparity}, one.stream());
  other.enqueue(matcher);
  other.wait();
  const Result finite = images.result(map), expected = on_reference(pair);
  for (int y = 0; y < small_size.height; ++y)
    for (int x = 0; x < small_size.width; ++x) {
      const float disparity = expected.disparity.at(x, y);
      EXPECT_EQ(finite.disparity.at(x, y), std::isinf(disparity) ? -1 : disparity);
    }
}

// Pairs to start, and their maps.
class Started {
 public:
  Started(const StereoPair& pair, int count) {
    for (int i = 0; i < count; ++i) {
      pairs_.push_back(i % 2 == 0 ? pair : swapped(pair));
      results_.emplace_back(small_size, i, true);
      untouched_.emplace_back(small_size, i, true);
    }
  }
  const StereoPair& pair(std::size_t i) const { return pairs_[i]; }
  void start(Matcher& matcher, std::size_t i) { matcher.start(pairs_[i], results_[i].map()); }
  const Result& result(std::size_t i) const { return results_[i]; }
  // Whether no pixel of the map was written.
  bool is_untouched(std::size_t i) const { return same_bytes(results_[i], untouched_[i]); }

 private:
  std::vector<StereoPair> pairs_;
  std::vector<Result> results_, untouched_;
};

TEST_P(CudaPlanTest, PairsAreStartedAndDoneInOrder) {
  PARALLAX_NEEDS_EMULATED_GPU();
  constexpr int in_flight = 3, count = 8;
  Started started(views_with_masks(pair_), count);
  Matcher matcher = plan_in_flight(in_flight);
  emulated()->set_lazy(1);
  const auto expect_done = [&](std::size_t done, std::size_t begun) {
    for (std::size_t i = 0; i < done; ++i)
      EXPECT_TRUE(same_bytes(started.result(i), on_reference(started.pair(i)))) << i << " of " << begun;
    for (std::size_t i = done; i < begun; ++i) EXPECT_TRUE(started.is_untouched(i)) << i << " of " << begun;
  };
  for (std::size_t i = 0; i < count; ++i) {
    started.start(matcher, i);
    expect_done(i + 1 > in_flight ? i + 1 - in_flight : 0, i + 1);
  }
  EXPECT_TRUE(matcher.stage_times().empty());
  matcher.wait(in_flight);
  expect_done(count - 3, count);
  matcher.wait(1);
  expect_done(count - 1, count);
  matcher.wait();
  expect_done(count, count);
  matcher.wait();
}

TEST_P(CudaPlanTest, RunWaitsForPairsThatWereStarted) {
  PARALLAX_NEEDS_EMULATED_GPU();
  Started started(views_with_masks(pair_), 2);
  for (const int in_flight : {1, 2}) {
    Matcher matcher = plan_in_flight(in_flight);
    emulated()->set_lazy(1);
    started.start(matcher, 0);
    EXPECT_TRUE(same_bytes(run(matcher, started.pair(1)), on_reference(started.pair(1))));
    EXPECT_EQ(matcher.stage_times().size(), 3u);
    EXPECT_TRUE(same_bytes(started.result(0), on_reference(started.pair(0))));
    emulated()->set_lazy(0);
  }
}

TEST_P(CudaPlanTest, MatchersThatEndWaitForPairsThatWereStarted) {
  PARALLAX_NEEDS_EMULATED_GPU();
  Started started(views_with_masks(pair_), 4);
  const auto begin = [&](std::size_t first) {
    Matcher matcher = plan_in_flight(2);
    emulated()->set_lazy(1);
    started.start(matcher, first);
    started.start(matcher, first + 1);
    return matcher;
  };
  { const Matcher matcher = begin(0); }
  Matcher assigned_to = begin(2);
  assigned_to = plan();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(same_bytes(started.result(i), on_reference(started.pair(i)))) << i;
}

TEST_P(CudaPlanTest, PairsInFlightEachTakeMemory) {
  const std::size_t one = plan().memory_bytes();
  EXPECT_EQ(plan_in_flight(3).memory_bytes(), 3 * one);
  const auto limited = [&](int pairs, std::size_t bytes) {
    return error_of([&] { Matcher(parameters(), gpu(), {small_size}, {bytes, {}, pairs}); });
  };
  EXPECT_FALSE(limited(3, 3 * one));
  expect_error(limited(3, 3 * one - 1), ErrorCategory::memory, {"are allowed"});
  expect_error(limited(0, 0), ErrorCategory::argument,
               {"pairs_in_flight is 0: choose a number from 1 to 64"});
  expect_error(limited(65, 0), ErrorCategory::argument, {"pairs_in_flight is 65"});
}

// Pinned memory, which the GPU accesses directly.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes)
      : memory_(cuda::allocate_pinned(std::make_shared<cuda::Context>(0), bytes)) {
    std::memset(memory_.get(), 0xEE, bytes);
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  cuda::PinnedMemory memory_;
};

// Hands out consecutive pieces of memory that is filled with 0xEE.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : next_(memory) {}

  // A plane whose rows lie in reverse order if the stride is negative, at addresses shifted by some bytes.
  template <class T>
  View<T> plane(Size size, int stride, int shift) {
    const std::ptrdiff_t rows = size.height, step = std::abs(stride);
    auto* first = reinterpret_cast<T*>(next_ + shift) + (stride < 0 ? (rows - 1) * step : 0);
    next_ += (static_cast<std::ptrdiff_t>(sizeof(T)) * rows * step + shift + 64) / 64 * 64;
    return {first, size, stride * static_cast<std::ptrdiff_t>(sizeof(T))};
  }

 private:
  std::byte* next_;
};

template <class T>
void copy_rows(View<const T> from, View<T> to) {
  for (int y = 0; y < from.size.height; ++y)
    std::memcpy(to.row(y), from.row(y), static_cast<std::size_t>(from.size.width) * sizeof(T));
}

// The layout of images in memory: gaps after rows, rows in reverse order, addresses shifted by bytes.
struct Placing {
  const char* name = "side by side";
  int gap = 0, sign = 1, shift = 0;
};

constexpr Placing placings[] = {{},
                                {"with gaps", 3, 1, 0},
                                {"upside down", 3, -1, 0},
                                {"at odd addresses", 2, 1, 1},
                                {"upside down, at odd addresses", 4, -1, 3}};

// A pair and a map in one block of memory.
struct Placed {
  StereoPair pair;
  DisparityMap map;

  Placed(const SynthPair& from, const Placing& how, std::byte* memory) {
    Pieces pieces(memory);
    const Size size = from.size(), colour{3 * size.width, size.height};
    const auto stride = [&](int width) { return how.sign * (width + how.gap); };
    const auto image = [&](const Plane<std::uint8_t>& plane) {
      const View<std::uint8_t> to = pieces.plane<std::uint8_t>(colour, stride(colour.width), how.shift);
      copy_rows(plane.view(), to);
      return ImageView(to.data, {size}, 3, to.stride_bytes);
    };
    const auto mask = [&](const Plane<std::uint8_t>& plane) {
      const View<std::uint8_t> to = pieces.plane<std::uint8_t>(size, stride(size.width), how.shift);
      copy_rows(plane.view(), to);
      return View<const std::uint8_t>(to);
    };
    pair = {image(from.left), image(from.right), mask(from.left_mask), mask(from.right_mask)};
    map.disparity = pieces.plane<float>(size, stride(size.width), 0);
    map.status = pieces.plane<std::uint8_t>(size, stride(size.width), how.shift);
    map.confidence = pieces.plane<float>(size, stride(size.width), 0);
  }

  // More bytes than any of these cases needs.
  static constexpr std::size_t max_bytes = 1 << 14;

  Result result() const {
    Result result(map.disparity.size, 0xEE, true);
    copy_rows<float>(map.disparity, result.disparity.view());
    copy_rows<std::uint8_t>(map.status, result.status.view());
    copy_rows<float>(map.confidence, result.confidence.view());
    return result;
  }
};

// After a failed run the caller may reuse the memory of the map.
TEST_P(CudaPlanTest, NothingIsWrittenAfterARunThatFailed) {
  PARALLAX_NEEDS_EMULATED_GPU();
  constexpr unsigned char mine = 0x33;
  const Pinned memory(Placed::max_bytes);
  const Placed placed(pair_, {}, memory.data());
  Matcher matcher = plan();
  const int before = emulated()->calls();
  matcher.run(placed.pair, placed.map);
  const int calls = emulated()->calls() - before;
  for (int k = 1; k <= calls; ++k) {
    emulated()->set_lazy(1);
    emulated()->fail_call(nullptr, k, 700);
    error_of([&] { matcher.run(placed.pair, placed.map); });
    std::memset(memory.data(), mine, Placed::max_bytes);
    emulated()->set_lazy(0);  // runs everything that was deferred
    for (std::size_t i = 0; i < Placed::max_bytes; ++i)
      ASSERT_EQ(memory.data()[i], std::byte{mine}) << "byte " << i << ", call " << k << " of " << calls;
    Placed(pair_, {}, memory.data());
  }
}

// As little work as possible, because the GPU is emulated.
BeliefPropagationParameters smallest_belief_propagation() {
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.disparities = 2;
  parameters.levels = 1;
  parameters.iterations = 1;
  return parameters;
}

const SmallPlan many_runs[] = {{"Fixed8", smallest_belief_propagation()}, small_plans[1], small_plans[2]};

class CudaManyRunsTest : public CudaPlanTest {
 protected:
  static int runs() { return emulated() != nullptr ? 200 : 1000; }
};

INSTANTIATE_TEST_SUITE_P(, CudaManyRunsTest, testing::ValuesIn(many_runs), name_of_plan);

TEST_P(CudaManyRunsTest, GiveTheSameBytesInTheSameMemory) {
  const cuda::Context context(0);
  const Result expected = on_reference(views_with_masks(pair_));
  Matcher matcher = plan();
  ASSERT_TRUE(same_bytes(run(matcher, views_with_masks(pair_)), expected));
  const std::size_t free = cuda::free_memory(context);
  const int allocations = emulated() != nullptr ? emulated()->allocations() : 0;
  const std::size_t live_objects = emulated() != nullptr ? emulated()->live_objects() : 0;
  for (int i = 0; i < runs(); ++i)
    ASSERT_TRUE(same_bytes(run(matcher, views_with_masks(pair_)), expected)) << "run " << i;
  EXPECT_EQ(cuda::free_memory(context), free);
  if (emulated() == nullptr) return;
  EXPECT_EQ(emulated()->allocations(), allocations);
  EXPECT_EQ(emulated()->live_objects(), live_objects);
}

TEST_P(CudaManyRunsTest, AreEnqueuedWithoutAWait) {
  const Caller caller(views_with_masks(pair_));
  Matcher matcher = plan();
  caller.enqueue(matcher);
  caller.wait();
  const std::size_t free = cuda::free_memory(*caller.context());
  for (int i = 0; i < runs(); ++i) caller.enqueue(matcher);
  caller.wait();
  EXPECT_TRUE(same_bytes(caller.result(), on_reference(views_with_masks(pair_))));
  EXPECT_EQ(cuda::free_memory(*caller.context()), free);
}

TEST(DeviceImagesTest, AreOnlyTakenByAGpu) {
  const SynthPair pair = small_pair();
  Result result(small_size);
  for (const Device& device : {reference, cpu(1)}) {
    Matcher matcher(small_block(), device, {small_size});
    expect_error(error_of([&] { matcher.enqueue(views_with_masks(pair), result.map(), nullptr); }),
                 ErrorCategory::device, {"only a matcher planned for a GPU", "use run()"});
  }
}

TEST_P(CudaPlanTest, ImagesOfTheHostMayHaveAnyLayout) {
  const Result expected = on_reference(views_with_masks(pair_));
  Matcher matcher = plan();
  for (const Placing& placing : placings) {
    std::vector<std::byte> pageable(Placed::max_bytes, std::byte{0xEE});
    const Pinned pinned(Placed::max_bytes);
    for (std::byte* memory : {pageable.data(), pinned.data()}) {
      const Placed placed(pair_, placing, memory);
      matcher.run(placed.pair, placed.map);
      EXPECT_TRUE(same_bytes(placed.result(), expected)) << placing.name;
    }
  }
}

// The layouts are made in host memory, which is then copied: each pointer moves by the same offset.
TEST_P(CudaPlanTest, ImagesOnTheDeviceMayHaveAnyLayout) {
  const Result expected = on_reference(views_with_masks(pair_));
  Matcher matcher = plan();
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  const cuda::DeviceMemory there = cuda::allocate(context, Placed::max_bytes);
  for (const Placing& placing : placings) {
    std::vector<std::byte> memory(Placed::max_bytes, std::byte{0xEE});
    const Placed here(pair_, placing, memory.data());
    const auto move = [&](auto* pointer) {
      using T = std::remove_pointer_t<decltype(pointer)>;
      if (pointer == nullptr) return pointer;
      const std::ptrdiff_t offset = reinterpret_cast<const std::byte*>(pointer) - memory.data();
      return reinterpret_cast<T*>(there.get() + static_cast<cuda::DeviceAddress>(offset));
    };
    StereoPair pair = here.pair;
    DisparityMap map = here.map;
    for (ImageView* image : {&pair.left, &pair.right})
      image->data = move(static_cast<const std::byte*>(image->data));
    for (View<const std::uint8_t>* mask : {&pair.left_mask, &pair.right_mask}) mask->data = move(mask->data);
    map.disparity.data = move(map.disparity.data);
    map.status.data = move(map.status.data);
    map.confidence.data = move(map.confidence.data);

    cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(there.get(), memory.data(), memory.size(), nullptr),
                "uploading");
    matcher.enqueue(pair, map, nullptr);
    cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(memory.data(), there.get(), memory.size(), nullptr),
                "downloading");
    cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "waiting");
    EXPECT_TRUE(same_bytes(here.result(), expected)) << placing.name;
  }
}

// The distance between rows of a cost volume: a number of rows, plus a gap in floats.
struct VolumeCase {
  const char* name;
  int stride_in_rows, gap;
};

std::ostream& operator<<(std::ostream& out, const VolumeCase& c) {
  return out << c.name;
}

constexpr VolumeCase volume_cases[] = {{"SideBySide", 1, 0},   {"WithGaps", 1, 7},
                                       {"UpsideDown", -1, 0},  {"UpsideDownWithGaps", -1, -7},
                                       {"OneRowForAll", 0, 0}, {"RowsThatOverlap", 0, 3}};

class CudaVolumeTest : public GpuTest, public testing::WithParamInterface<VolumeCase> {
 protected:
  CudaVolumeTest() {
    parameters_.cost = DataCost::volume;
    parameters_.disparities = 5;
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i * 37 % 101) / 8;
  }

  StereoPair pair_with(const float* values) const {
    const int row = small_size.width * parameters_.disparities;
    const int stride = GetParam().stride_in_rows * row + GetParam().gap;
    StereoPair pair = views_with_masks(pair_);
    pair.costs = CostVolume(values, small_size, parameters_.disparities);
    pair.costs.stride_bytes = stride * static_cast<std::ptrdiff_t>(sizeof(float));
    if (stride < 0) pair.costs.data += (1 - small_size.height) * stride;
    return pair;
  }
  Result expected() const { return match(parameters_, reference, pair_with(values_.data())); }

  BeliefPropagationParameters parameters_ = plain_belief_propagation();
  const SynthPair pair_ = small_pair();
  std::vector<float> values_ = std::vector<float>(1000);
};

INSTANTIATE_TEST_SUITE_P(, CudaVolumeTest, testing::ValuesIn(volume_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(CudaVolumeTest, IsTakenFromTheHost) {
  const cuda::PinnedMemory memory =
      cuda::allocate_pinned(std::make_shared<cuda::Context>(0), values_.size() * sizeof(float));
  auto* pinned = static_cast<float*>(memory.get());
  std::copy(values_.begin(), values_.end(), pinned);
  for (const float* values : {static_cast<const float*>(values_.data()), static_cast<const float*>(pinned)})
    EXPECT_TRUE(same_bytes(match(parameters_, gpu(), pair_with(values)), expected()));
}

TEST_P(CudaVolumeTest, IsTakenFromTheDevice) {
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  DeviceImages images(context);
  const StereoPair pair = images.pair(pair_with(images.copy(values_.data(), values_.size())));
  const DisparityMap map = images.map(small_size, false);
  Matcher matcher(parameters_, gpu(), {small_size});
  matcher.enqueue(pair, map, nullptr);
  EXPECT_TRUE(same_bytes(images.result(map), expected()));
}

class CudaOddVolumeTest : public GpuTest {
 protected:
  CudaOddVolumeTest() {
    parameters_.cost = DataCost::volume;
    parameters_.disparities = labels;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float odd[] = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 1e38f, 1e5f, -1e5f};
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = i % 11 == 0 ? odd[i / 11 % 6] : static_cast<float>(i * 37 % 1009);
  }

  StereoPair pair() const {
    StereoPair pair = views_with_masks(pair_);
    pair.costs = CostVolume(values_.data(), small_size, labels);
    return pair;
  }

  static constexpr int labels = 5;
  BeliefPropagationParameters parameters_ = plain_belief_propagation();
  const SynthPair pair_ = small_pair();
  std::vector<float> values_ = std::vector<float>(small_size.pixels() * labels);
};

// Costs that are NaN, very large costs, and sums that exceed the range of float16.
TEST_F(CudaOddVolumeTest, CostsBeyondAllBoundsAreWhatTheReferenceMakesOfThem) {
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float16}) {
    parameters_.arithmetic = arithmetic;
    EXPECT_TRUE(same_bytes(match(parameters_, gpu(), pair()), match(parameters_, reference, pair())));
  }
}

// 16-bit images at odd addresses, which a GPU cannot read.
TEST_P(CudaPlanTest, WideImagesAtOddAddressesAreCopiedOrRefused) {
  const ImageFormat format{small_size, BitDepth::bits16};
  std::vector<std::uint16_t> values(2 * small_size.pixels());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i * 7919);
  const std::ptrdiff_t stride = 2 * small_size.width;
  const auto pair_in = [&](const void* memory) {
    const auto* first = static_cast<const std::byte*>(memory);
    return StereoPair{
        {first, format, 1, stride}, {first + stride * small_size.height, format, 1, stride}, {}, {}};
  };
  const Result expected = on_reference(pair_in(values.data()));
  Matcher matcher(parameters(), gpu(), format);
  const Pinned pinned(Placed::max_bytes);
  std::vector<std::byte> pageable(Placed::max_bytes);
  for (std::byte* memory : {pinned.data() + 1, pageable.data() + 1}) {
    std::memcpy(memory, values.data(), values.size() * sizeof values[0]);
    EXPECT_TRUE(same_bytes(run(matcher, pair_in(memory)), expected));
  }

  const Caller caller(views_with_masks(pair_));
  StereoPair there = pair_in(caller.pair().left.data);
  caller.enqueue(matcher, there);
  there.left.data = static_cast<const std::byte*>(there.left.data) + 1;
  expect_error(error_of([&] { caller.enqueue(matcher, there); }), ErrorCategory::argument,
               {"left image", "odd"});
  there = pair_in(caller.pair().left.data);
  there.right.stride_bytes = stride + 1;
  expect_error(error_of([&] { caller.enqueue(matcher, there); }), ErrorCategory::argument,
               {"right image", "odd"});
  caller.wait();
}

// Launches are checked when they are recorded. Running them would take minutes on an emulated GPU.
TEST_P(CudaPlanTest, ImagesMayBeVeryHighOrVeryWide) {
  for (const Size size : {Size{1, 70'000}, Size{70'000, 1}, Size{3, 66'000}}) {
    Matcher matcher(parameters(), gpu(), {size});
    const auto context = std::make_shared<cuda::Context>(0);
    const cuda::Stream stream = cuda::make_stream(context);
    const cuda::Current current(*context);
    DeviceImages images(context);
    const View<const std::uint8_t> image = images.plane<std::uint8_t>(size, 0);
    const DisparityMap map{images.plane<float>(size, 0), images.plane<std::uint8_t>(size, 0)};
    cuda::capture(context, stream.get(), [&] {
      matcher.enqueue({image, image, image, image}, map, stream.get());
    });
  }
}

}  // namespace
}  // namespace parallax::test
