// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of all kinds of plans with NVIDIA's compiler, which needs no GPU: each for one of the
// supported architectures, because it is slow. The report on registers and spills in
// docs/measurements/kernels.md covers all of them:
//
//   LD_LIBRARY_PATH=BUILD/emulated_gpu PARALLAX_UPDATE_DOCS=1 test_devices
//   --gtest_filter='*KernelReportTest*'

#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "benchmarks/papers/block_study.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/gpu_test.h"
#include "devices/program.h"
#include "geometry/random_rig.h"

namespace parallax::test {
namespace {

constexpr std::array architectures{75, 80, 90, 100, 120};

struct ReportedPlan {
  const char* name;
  const char* parameters;  // JSON
  TunedValues configuration = {};
  BitDepth depth = BitDepth::bits8;
};

const ReportedPlan reported_plans[] = {
    {"bp default, 64 labels", R"({"method": "bp", "disparities": 64})"},
    {"bp default, 128 labels, candidates", R"({"method": "bp", "disparities": 128, "candidate_levels": 2})"},
    {"bp fixed8, 16 labels", R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 16})"},
    {"bp fixed8, 128 labels", R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 128})"},
    {"bp fixed16, 128 labels, colour",
     R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 128, "arithmetic": "fixed16",
         "cost": "absolute-difference-colour"})"},
    {"bp float32, 128 labels",
     R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 128, "arithmetic": "float32"})"},
    {"bp float16, 128 labels, Birchfield–Tomasi",
     R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 128, "arithmetic": "float16",
         "cost": "birchfield-tomasi"})"},
    {"bp bfloat16, 128 labels, volume",
     R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 128, "arithmetic": "bfloat16",
         "cost": "volume"})"},
    {"bp float32, 128 labels, registers",
     R"({"method": "bp", "preset": "grauer-gray-2019", "disparities": 128, "arithmetic": "float32"})",
     {{"values_in_registers", "128"}}},
    {"block SAD, 128 labels",
     R"({"method": "block", "disparities": 128, "cost": "sad", "uniqueness": 10, "texture_threshold": 10})"},
    {"block SSD, 128 labels",
     R"({"method": "block", "disparities": 128, "cost": "ssd", "uniqueness": 10, "texture_threshold": 10})"},
    {"block ZNCC, 128 labels",
     R"({"method": "block", "disparities": 128, "cost": "zncc", "uniqueness": 10, "texture_threshold": 10})"},
    {"block SAD, 128 labels, 16 bits",
     R"({"method": "block", "disparities": 128, "cost": "sad", "uniqueness": 10, "texture_threshold": 10})",
     {},
     BitDepth::bits16},
    {"refine, windows of 7",
     R"({"method": "block", "disparities": 128, "weighted_median": 7, "bilateral": 7})"},
    {"refine, windows of 15",
     R"({"method": "block", "disparities": 128, "weighted_median": 15, "bilateral": 15})"},
    {"refine, planes", R"({"method": "block", "disparities": 128, "fill": "planes"})"},
    {"refine, refit", R"({"method": "block", "disparities": 128, "refit": 7})"},
#ifdef PARALLAX_BLOCK_STUDY
    {"block SAD, shared-memory", R"({"method": "block-study", "strategy": "shared-memory"})"},
    {"block SAD, constant-memory", R"({"method": "block-study", "strategy": "constant-memory"})"},
    {"block SAD, device-launch-serial", R"({"method": "block-study", "strategy": "device-launch-serial"})"},
    {"block SAD, device-launch", R"({"method": "block-study", "strategy": "device-launch"})"},
#endif
    {"census default", R"({"method": "census"})"},
    {"census mobile-gpu-2015", R"({"method": "census", "preset": "mobile-gpu-2015"})"},
    {"AD-census 5×5, window 9, 16 bits",
     R"({"method": "census", "transform": "census-5x5", "cost": "ad-census", "window": 9, "uniqueness": 10})",
     {},
     BitDepth::bits16},
    {"sgm default", R"({"method": "sgm"})"},
    {"sgm default, 256 labels", R"({"method": "sgm", "disparities": 256})"},
    {"sgm libsgm, 128 labels", R"({"method": "sgm", "preset": "libsgm", "disparities": 128})"},
    {"sgm opencv-sgbm, 16 bits, 128 labels",
     R"({"method": "sgm", "preset": "opencv-sgbm", "disparities": 128, "data_weight": 2})"},
    {"planes default", R"({"method": "planes"})"},
    {"motion default", R"({"method": "motion"})"},
    {"motion default, fixed16", R"({"method": "motion", "arithmetic": "fixed16"})"},
    {"motion default, float32, absolute difference",
     R"({"method": "motion", "arithmetic": "float32", "cost": "absolute-difference"})"},
    {"motion all-labels", R"({"method": "motion", "preset": "all-labels"})"},
    {"motion all-labels, fixed16",
     R"({"method": "motion", "preset": "all-labels", "arithmetic": "fixed16"})"},
    {"motion all-labels, float32",
     R"({"method": "motion", "preset": "all-labels", "arithmetic": "float32"})"},
    {"motion all-labels, 64×64",
     R"({"method": "motion", "preset": "all-labels", "disparities": 64, "row_offsets": 64})"},
    {"tiled-bp default", R"({"method": "tiled-bp", "disparities": 64})"},
    {"tiled-bp default, 256 labels", R"({"method": "tiled-bp", "disparities": 256})"},
    {"tiled-bp memocode-2013", R"({"method": "tiled-bp", "preset": "memocode-2013", "disparities": 16})"},
    {"tiled-bp memocode-2013, registers, launches",
     R"({"method": "tiled-bp", "preset": "memocode-2013", "disparities": 16})",
     {{"scheduler", "launch-per-diagonal"}, {"messages", "registers"}, {"threads_per_pixel", "2"}}},
    {"tiled-bp memocode-2013, barrier",
     R"({"method": "tiled-bp", "preset": "memocode-2013", "disparities": 16})",
     {{"scheduler", "grid-barrier"}, {"messages", "shared-memory"}, {"threads_per_pixel", "1"}}}};

#ifdef PARALLAX_BLOCK_STUDY
const bool has_block_study = (add_block_study(), true);
#endif

// A file of kernels, and the macros with which a plan specialises it.
struct Asked {
  const cuda::Source* source;
  std::vector<std::string> options;
};

Asked parse(const std::string& compilation) {
  std::istringstream lines(compilation);
  std::string name;
  std::getline(lines, name);
  Asked asked{nullptr, {}};
  for (const cuda::Source& source : cuda::sources())
    if (source.name == name) asked.source = &source;
#ifdef PARALLAX_BLOCK_STUDY
  static const cuda::Source study = block_study_source();
  if (name == study.name) asked.source = &study;
#endif
  for (std::string option; std::getline(lines, option);) asked.options.push_back(option);
  return asked;
}

// The programs that a plan requests from the emulated compiler while it is made; the cache on disk is empty.
template <class Make>
std::vector<Asked> asked_while(const Make& make) {
  const TemporaryFolder cache;
  const Variable empty("XDG_CACHE_HOME", cache.path().string());
  const int before = emulated()->compilations();
  make();
  std::vector<Asked> asked;
  for (int i = before; i < emulated()->compilations(); ++i)
    asked.push_back(parse(emulated()->compilation(i)));
  // Programs are compiled at the same time, in any order.
  std::sort(asked.begin(), asked.end(),
            [](const Asked& a, const Asked& b) { return std::string_view(a.source->name) < b.source->name; });
  return asked;
}

std::vector<Asked> asked_by(const ReportedPlan& plan) {
  return asked_while([&] {
    const Matcher matcher(parameters_from_json(plan.parameters), gpu(), {{90, 75}, plan.depth},
                          {0, plan.configuration});
  });
}

struct Usage {
  int registers = 0, spilled_bytes = 0;
};

// The number before a word; 0 if the line does not contain the word.
int number_before(const std::string& line, const std::string& word) {
  const std::size_t at = line.find(" " + word);
  if (at == std::string::npos) return 0;
  return std::stoi(line.substr(line.rfind(' ', at - 1) + 1));
}

std::map<std::string, Usage> usage_of_kernels(const std::string& log) {
  std::map<std::string, Usage> usage;
  std::istringstream lines(log);
  std::string kernel;
  for (std::string line; std::getline(lines, line);) {
    const std::string begin = "Compiling entry function '";
    if (const std::size_t at = line.find(begin); at != std::string::npos)
      kernel = line.substr(at + begin.size(), line.find('\'', at + begin.size()) - at - begin.size());
    if (contains(line, "bytes spill stores"))
      usage[kernel].spilled_bytes = number_before(line, "bytes spill stores");
    if (!contains(line, "Used ")) continue;
    usage[kernel].registers = number_before(line, "registers");
  }
  return usage;
}

// NVIDIA's compiler, found by its path because the emulated one has the same name.
const cuda::Compiler* real_compiler() {
  static const cuda::Compiler* const found = []() -> const cuda::Compiler* {
    static cuda::Compiler compiler;
    for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/lib/x86_64-linux-gnu/"})
      for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
        void* library = dlopen((std::string(folder) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
#define PARALLAX_FIND(name, arguments) \
  compiler.name = reinterpret_cast<decltype(compiler.name)>(dlsym(library, #name));
        PARALLAX_COMPILER_FUNCTIONS(PARALLAX_FIND)
#undef PARALLAX_FIND
        if (compiler.nvrtcVersion(&compiler.major, &compiler.minor) == 0) return &compiler;
      }
    return nullptr;
  }();
  return found;
}

// Also runs where the report cannot be made.
TEST(ReportedPlansTest, HaveValidParameters) {
  for (const ReportedPlan& plan : reported_plans)
    EXPECT_NO_THROW(parameters_from_json(plan.parameters).validate()) << plan.name;
}

class KernelReportTest : public testing::Test {
 protected:
  void SetUp() override {
    PARALLAX_NEEDS_EMULATED_GPU();
    if (real_compiler() == nullptr) GTEST_SKIP() << "needs NVIDIA's compiler in /usr/local/cuda/lib64";
  }

  static bool is_for_report() { return std::getenv("PARALLAX_UPDATE_DOCS") != nullptr; }

  // The usage by plan and kernel, then by architecture.
  std::map<std::pair<std::string, std::string>, std::map<int, Usage>> report_;

  void write_report() const {
    std::ofstream out(PARALLAX_KERNEL_REPORT);
    out << "# What kernels take\n\n"
        << "Registers a thread, and bytes spilled where there are any, of the kernels of plans for 90×75 "
           "pixels, as NVRTC "
        << real_compiler()->major << "." << real_compiler()->minor
        << " compiles them.\nKernels that several plans have in common stand with the first. Written by "
           "`KernelReportTest`, whose source says how.\n\n| plan | kernel |";
    for (const int architecture : architectures) out << " sm_" << architecture << " |";
    out << "\n|---|---|";
    for (std::size_t i = 0; i < architectures.size(); ++i) out << "---|";
    out << "\n";
    for (const auto& [key, usages] : report_) {
      out << "| " << key.first << " | " << key.second << " |";
      for (const auto& [architecture, usage] : usages) {
        out << " " << usage.registers;
        if (usage.spilled_bytes > 0) out << " (" << usage.spilled_bytes << " B)";
        out << " |";
      }
      out << "\n";
    }
  }
};

// Spilling a few bytes costs less than running one block less on a multiprocessor.
constexpr int max_spilled_bytes = 256;

// The compiler's log of a program, from the cache if it was compiled before.
std::string compiler_log(const Asked& asked, int architecture) {
  const cuda::Compiler& compiler = *real_compiler();
  std::string key = "log of " + std::to_string(architecture) + " by " + std::to_string(compiler.major) + "." +
                    std::to_string(compiler.minor) + "\n";
  for (const std::string& option : asked.options) key += option + "\n";
  for (const cuda::Source& header : cuda::headers()) key += header.text;
  key += asked.source->text;
  if (std::optional<std::string> log = read_cached(key)) return *std::move(log);
  std::string log = cuda::compile(compiler, *asked.source, asked.options, architecture).log;
  write_cached(key, log);
  return log;
}

class NewKernels {
 public:
  // The kernels of a program; empty if an earlier plan requested it.
  std::map<std::string, Usage> compile(const Asked& asked, int architecture) {
    std::string key = asked.source->name;
    for (const std::string& option : asked.options) key += option;
    if (!known_.insert(key).second) return {};
    const std::string log = compiler_log(asked, architecture);
    EXPECT_FALSE(contains(log, "warning")) << log;
    std::map<std::string, Usage> usages = usage_of_kernels(log);
    EXPECT_FALSE(usages.empty()) << asked.source->name;
    return usages;
  }

 private:
  std::set<std::string> known_;
};

TEST_F(KernelReportTest, EveryKernelCompilesAndHardlySpills) {
  std::map<int, NewKernels> kernels_for;
  std::size_t plans = 0;
  for (const ReportedPlan& plan : reported_plans) {
    SCOPED_TRACE(plan.name);
    const std::vector<Asked> all_asked = asked_by(plan);
    EXPECT_GE(all_asked.size(), 3u);
    const int one = architectures[plans++ % architectures.size()];
    for (const int architecture : architectures) {
      if (architecture != one && !is_for_report()) continue;
      NewKernels& kernels = kernels_for[is_for_report() ? architecture : 0];
      for (const Asked& asked : all_asked) {
        ASSERT_NE(asked.source, nullptr);
        for (const auto& [kernel, usage] : kernels.compile(asked, architecture)) {
          EXPECT_GT(usage.registers, 0) << kernel;
          EXPECT_LE(usage.spilled_bytes, max_spilled_bytes) << kernel;
          report_[{plan.name, kernel}][architecture] = usage;
        }
      }
    }
  }
  if (is_for_report()) write_report();
}

TEST_F(KernelReportTest, RectificationCompilesAndDoesNotSpill) {
  NewKernels kernels;
  std::size_t plans = 0;
  for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16})
    for (const Interpolation interpolation : {Interpolation::bilinear, Interpolation::lanczos3}) {
      const std::vector<Asked> all_asked = asked_while([&] {
        Rectifier(chessboard_rig(), {.size = {64, 48}, .interpolation = interpolation}, gpu(), depth);
      });
      ASSERT_EQ(all_asked.size(), 1u);
      for (const auto& [kernel, usage] : kernels.compile(all_asked[0], architectures[plans++])) {
        EXPECT_GT(usage.registers, 0);
        EXPECT_EQ(usage.spilled_bytes, 0);
      }
    }
  EXPECT_EQ(plans, 4u);
}

}  // namespace
}  // namespace parallax::test
