// SPDX-License-Identifier: Apache-2.0
// The programs of plans of every kind are compiled by NVIDIA's own compiler, which needs no GPU, for the
// architectures that are promised: each for one of them, as it takes long; or, for the report in
// docs/kernels.md of what it says of registers and spills, for all of them:
//
//   LD_LIBRARY_PATH=BUILD/emulated_gpu PARALLAX_UPDATE_DOCS=1 test_devices
//   --gtest_filter='*KernelReportTest*'

#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "devices/cuda/kernel_sources.h"
#include "devices/gpu_test.h"
#include "devices/program_cache.h"

namespace parallax::test {
namespace {

constexpr std::array architectures{75, 80, 90, 100, 120};

struct PlanCase {
  std::string name;
  MatcherParameters parameters;
  Depth depth = Depth::bits8;
  TunedValues configuration = {};
};

BeliefPropagationParameters belief_propagation(
    const char* name, int disparities, const std::function<void(BeliefPropagationParameters&)>& change) {
  BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>(name);
  parameters.disparities = disparities;
  change(parameters);
  return parameters;
}

BlockParameters block(int disparities, const std::function<void(BlockParameters&)>& change) {
  BlockParameters parameters = preset<BlockParameters>("default");
  parameters.disparities = disparities;
  change(parameters);
  return parameters;
}

CensusParameters census(const char* name, const std::function<void(CensusParameters&)>& change) {
  CensusParameters parameters = preset<CensusParameters>(name);
  change(parameters);
  return parameters;
}

TiledBeliefPropagationParameters tiled(const char* name, int disparities) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>(name);
  parameters.disparities = disparities;
  return parameters;
}

// Of an older study.
PlanCase study(const std::string& strategy) {
  return {"block SAD, " + strategy,
          preset<BlockParameters>("sad-full-row"),
          Depth::bits8,
          {{"strategy", strategy}}};
}

std::vector<PlanCase> plan_cases() {
  const char* papers = "grauer-gray-2019";
  const auto labels = [&](int disparities) { return belief_propagation(papers, disparities, [](auto&) {}); };
  const auto arithmetic = [&](Arithmetic a, DataCost cost = DataCost::absolute_difference) {
    return belief_propagation(papers, 128, [&](auto& p) {
      p.arithmetic = a;
      p.cost = cost;
    });
  };
  const auto cost = [&](BlockCost c) {
    return block(128, [&](auto& p) {
      p.cost = c;
      p.uniqueness = 10;
      p.texture_threshold = 10;
    });
  };
  const auto guided = [](int window) {
    return block(128, [&](auto& p) { p.refine.weighted_median = p.refine.bilateral = window; });
  };
  return {{"bp default, 64 labels", belief_propagation("default", 64, [](auto&) {})},
          {"bp fixed8, 16 labels", labels(16)},
          {"bp fixed8, 128 labels", labels(128)},
          {"bp fixed16, 128 labels, colour",
           arithmetic(Arithmetic::fixed16, DataCost::absolute_difference_colour)},
          {"bp float32, 128 labels", arithmetic(Arithmetic::float32)},
          {"bp float16, 128 labels, Birchfield–Tomasi",
           arithmetic(Arithmetic::float16, DataCost::birchfield_tomasi)},
          {"bp bfloat16, 128 labels, volume", arithmetic(Arithmetic::bfloat16, DataCost::volume)},
          {"bp float32, 128 labels, registers",
           arithmetic(Arithmetic::float32),
           Depth::bits8,
           {{"values_in_registers", "128"}}},
          {"block SAD, 128 labels", cost(BlockCost::sad)},
          {"block SSD, 128 labels", cost(BlockCost::ssd)},
          {"block ZNCC, 128 labels", cost(BlockCost::zncc)},
          {"block SAD, 128 labels, 16 bits", cost(BlockCost::sad), Depth::bits16},
          {"refine, windows of 7", guided(7)},
          {"refine, windows of 15", guided(15)},
          study("shared-memory"),
          study("constant-memory"),
          study("device-launch-serial"),
          study("device-launch"),
          {"census default", census("default", [](auto&) {})},
          {"census mobile-gpu-2015", census("mobile-gpu-2015", [](auto&) {})},
          {"AD-census 5×5, window 9, 16 bits",
           census("default",
                  [](auto& p) {
                    p.transform = CensusTransform::census_5x5;
                    p.cost = CensusCost::ad_census;
                    p.window = 9;
                    p.uniqueness = 10;
                  }),
           Depth::bits16},
          {"tiled-bp default", tiled("default", 64)},
          {"tiled-bp default, 256 labels", tiled("default", 256)},
          {"tiled-bp memocode-2013", tiled("memocode-2013", 16)},
          {"tiled-bp memocode-2013, registers, launches",
           tiled("memocode-2013", 16),
           Depth::bits8,
           {{"scheduler", "launch-per-diagonal"}, {"messages", "registers"}, {"threads_per_pixel", "2"}}},
          {"tiled-bp memocode-2013, barrier",
           tiled("memocode-2013", 16),
           Depth::bits8,
           {{"scheduler", "grid-barrier"}, {"messages", "shared-memory"}, {"threads_per_pixel", "1"}}}};
}

// A file of kernels, and the macros that a plan specialises it with.
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
  for (std::string option; std::getline(lines, option);) asked.options.push_back(option);
  return asked;
}

// What a plan asks the emulated compiler for, because nothing of it is on disk.
std::vector<Asked> asked_by(const PlanCase& plan) {
  const TemporaryFolder cache;
  const Variable empty("XDG_CACHE_HOME", cache.path().string());
  const int before = emulated()->compilations();
  const Matcher matcher(plan.parameters, gpu(), {{90, 75}, plan.depth}, {0, plan.configuration});
  std::vector<Asked> asked;
  for (int i = before; i < emulated()->compilations(); ++i)
    asked.push_back(parse(emulated()->compilation(i)));
  return asked;
}

struct Usage {
  int registers = 0, spilled_bytes = 0;
};

// The number ahead of a word; 0 where the line has no such word.
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

// NVIDIA's, by its path: the emulated one has its name.
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

class KernelReportTest : public testing::Test {
 protected:
  void SetUp() override {
    PARALLAX_NEEDS_EMULATED_GPU();
    if (real_compiler() == nullptr) GTEST_SKIP() << "needs NVIDIA's compiler in /usr/local/cuda/lib64";
  }

  static bool is_for_report() { return std::getenv("PARALLAX_UPDATE_DOCS") != nullptr; }

  // By plan and kernel, then by architecture.
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

// A few bytes cost less than a multiprocessor that has room for one block less.
constexpr int most_spilled_bytes = 256;

// What the compiler says of a program; of one that it has compiled before, from the cache of programs.
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
  // Of a program that no plan before has asked for.
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
  for (const PlanCase& plan : plan_cases()) {
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
          EXPECT_LE(usage.spilled_bytes, most_spilled_bytes) << kernel;
          report_[{plan.name, kernel}][architecture] = usage;
        }
      }
    }
  }
  if (is_for_report()) write_report();
}

}  // namespace
}  // namespace parallax::test
