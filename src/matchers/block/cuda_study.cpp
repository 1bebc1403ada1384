// SPDX-License-Identifier: Apache-2.0
#include "matchers/block/cuda_study.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include <dlfcn.h>

#include "devices/cuda/kernel_sources.h"

namespace parallax::block {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::Shape;
using cuda::StreamHandle;

constexpr unsigned block_columns = 128;

const char* name(CudaStrategy strategy) {
  static constexpr const char* names[] = {"automatic",     "global_memory",
                                          "shared_memory", "constant_and_shared_memory",
                                          "streams",       "device_launch"};
  return names[static_cast<int>(strategy)];
}

[[noreturn]] void refuse(CudaStrategy strategy, const std::string& reason) {
  throw Error(ErrorCategory::device,
              std::string("cuda strategy ") + name(strategy) + " " + reason + ": choose strategy automatic");
}

// A thread a pixel, in some rows.
Shape grid_of(const CudaSearch& search, int rows) {
  return {static_cast<unsigned>(rows),
          cuda::blocks(static_cast<std::size_t>(search.frame.width), block_columns)};
}

// In global memory, or shared; a kernel that does it all.
class Plain final : public CudaStudy {
 public:
  explicit Plain(CudaStrategy strategy) : strategy_(strategy) {}

  void prepare(const cuda::SharedContext& context, Options options) override {
    options.push_back(define("STRATEGY", static_cast<int>(strategy_)));
    program_ = cuda::Program(context, cuda::block_study_cu, options);
    const bool shared = strategy_ == CudaStrategy::shared_memory;
    kernel_ = program_.kernel(shared ? "find_in_shared_memory" : "find_in_global_memory");
  }
  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    kernel_.launch(stream, grid_of(search, search.frame.height), {block_columns}, 0, search, 0);
  }

 private:
  CudaStrategy strategy_;
  cuda::Program program_;
  Kernel kernel_;
};

// Bands of rows on several streams, which leave the caller's and come back to it.
class Streams final : public CudaStudy {
 public:
  explicit Streams(int streams) : count_(streams) {}

  void prepare(const cuda::SharedContext& context, Options options) override {
    options.push_back(define("STRATEGY", static_cast<int>(CudaStrategy::streams)));
    program_ = cuda::Program(context, cuda::block_study_cu, options);
    kernel_ = program_.kernel("find_in_global_memory");
    started_ = cuda::make_event(context);
    for (int i = 0; i < count_; ++i) {
      streams_.push_back(cuda::make_stream(context));
      finished_.push_back(cuda::make_event(context));
    }
  }

  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    const int height = search.frame.height, rows = (height + count_ - 1) / count_;
    record(started_, stream);
    for (int i = 0; i * rows < height; ++i) {
      const auto band = static_cast<std::size_t>(i);
      const StreamHandle on = streams_[band].get();
      wait(on, started_);
      kernel_.launch(on, grid_of(search, std::min(rows, height - i * rows)), {block_columns}, 0, search,
                     i * rows);
      record(finished_[band], on);
      wait(stream, finished_[band]);
    }
  }

 private:
  static void record(const cuda::Event& event, StreamHandle stream) {
    cuda::check(cuda::driver().cuEventRecord(event.get(), stream), "cuEventRecord");
  }
  static void wait(StreamHandle stream, const cuda::Event& event) {
    cuda::check(cuda::driver().cuStreamWaitEvent(stream, event.get(), 0), "cuStreamWaitEvent");
  }

  int count_;
  cuda::Program program_;
  Kernel kernel_;
  cuda::Event started_;
  std::vector<cuda::Stream> streams_;
  std::vector<cuda::Event> finished_;
};

// What of the driver only these strategies use.
using LinkHandle = struct CUlinkState_st*;
#define PARALLAX_STUDY_FUNCTIONS(X)                                                                    \
  X(cuModuleGetGlobal_v2,                                                                              \
    (cuda::DeviceAddress * address, std::size_t * bytes, cuda::ModuleHandle module, const char* name)) \
  X(cuLinkCreate_v2, (unsigned options, int* names, void** values, LinkHandle* state))                 \
  X(cuLinkAddData_v2, (LinkHandle state, int type, void* data, std::size_t bytes, const char* name,    \
                       unsigned options, int* names, void** values))                                   \
  X(cuLinkAddFile_v2,                                                                                  \
    (LinkHandle state, int type, const char* path, unsigned options, int* names, void** values))       \
  X(cuLinkComplete, (LinkHandle state, void** code, std::size_t* bytes))                               \
  X(cuLinkDestroy, (LinkHandle state))

struct StudyDriver {
#define PARALLAX_DECLARE(name, arguments) cuda::Result(*name) arguments = nullptr;
  PARALLAX_STUDY_FUNCTIONS(PARALLAX_DECLARE)
#undef PARALLAX_DECLARE
};

StudyDriver load_study_driver(CudaStrategy strategy) {
  cuda::driver();
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  StudyDriver loaded;
#define PARALLAX_FIND(name, arguments)                                          \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(dlsym(library, #name)); \
  if (loaded.name == nullptr) refuse(strategy, "needs " #name ", which this driver has not");
  PARALLAX_STUDY_FUNCTIONS(PARALLAX_FIND)
#undef PARALLAX_FIND
  return loaded;
}

// Code that no cuda::Program holds.
class Module {
 public:
  Module() = default;
  Module(const cuda::SharedContext& context, const std::string& code) {
    cuda::ModuleHandle module = nullptr;
    cuda::check(cuda::driver().cuModuleLoadData(&module, code.data()), "cuModuleLoadData of a study");
    module_ = {context, module, cuda::driver().cuModuleUnload};
  }

  cuda::ModuleHandle get() const { return module_.get(); }
  template <class... Arguments>
  void launch(const char* kernel, StreamHandle stream, Shape grid, unsigned threads,
              Arguments... arguments) const {
    cuda::FunctionHandle function = nullptr;
    cuda::check(cuda::driver().cuModuleGetFunction(&function, module_.get(), kernel),
                std::string("cuModuleGetFunction of ") + kernel);
    void* pointers[] = {&arguments..., nullptr};
    const cuda::LaunchConfiguration configuration{grid.x, grid.y, grid.z, threads, 1,
                                                  1,      0,      stream, nullptr, 0};
    cuda::check(cuda::driver().cuLaunchKernelEx(&configuration, function, pointers, nullptr),
                std::string("launching kernel ") + kernel);
  }

 private:
  cuda::Owned<cuda::ModuleHandle> module_;
};

std::string compile(const cuda::SharedContext& context, Options options, CudaStrategy strategy) {
  options.push_back(define("STRATEGY", static_cast<int>(strategy)));
  return cuda::compile(cuda::compiler(cuda::driver().version), cuda::block_study_cu, options,
                       context->architecture())
      .code;
}

// Bands of as many rows as constant memory holds: each is copied there, then matched.
class Constant final : public CudaStudy {
 public:
  Constant(int window, int pitch)
      : window_(window), pitch_(static_cast<std::size_t>(pitch)), rows_(constant_bytes / pitch) {
    if (rows_ < window)
      refuse(strategy, "holds " + std::to_string(rows_) + " rows of such a width, and a window has " +
                           std::to_string(window));
  }

  void prepare(const cuda::SharedContext& context, Options options) override {
    const StudyDriver driver = load_study_driver(strategy);
    options.push_back(define("BAND_ROWS", rows_));
    module_ = Module(context, compile(context, options, strategy));
    std::size_t bytes = 0;
    cuda::check(driver.cuModuleGetGlobal_v2(&band_, &bytes, module_.get(), "base_band"),
                "cuModuleGetGlobal of base_band");
  }

  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    const int height = search.frame.height, rows = rows_ - (window_ - 1);
    for (int first = 0; first < height; first += rows) {
      const int count = std::min(rows, height - first);
      copy_rows(search, first, count + window_ - 1, stream);
      module_.launch("find_in_shared_memory", stream, grid_of(search, count), block_columns, search, first);
    }
  }

 private:
  static constexpr CudaStrategy strategy = CudaStrategy::constant_and_shared_memory;
  static constexpr int constant_bytes = 65536;

  void copy_rows(const CudaSearch& search, int first, int rows, StreamHandle stream) const {
    const std::ptrdiff_t offset =
        static_cast<std::ptrdiff_t>(first - search.frame.radius) * search.frame.pitch - search.frame.before;
    cuda::Copy2D copy{};
    copy.source_type = copy.target_type = cuda::device_memory_type;
    copy.source_device =
        reinterpret_cast<cuda::DeviceAddress>(static_cast<const char*>(search.base) + offset);
    copy.target_device = band_;
    copy.source_pitch = copy.target_pitch = copy.width_bytes = pitch_;
    copy.height = static_cast<std::size_t>(rows);
    cuda::check(cuda::driver().cuMemcpy2DAsync_v2(&copy, stream),
                "cuMemcpy2DAsync of " + std::to_string(rows) + " rows to constant memory");
  }

  int window_;
  std::size_t pitch_;
  int rows_;
  cuda::DeviceAddress band_ = 0;
  Module module_;
};

// The threads that launch others need CUDA's device runtime, which is linked to them here.
class DeviceLaunch final : public CudaStudy {
 public:
  void prepare(const cuda::SharedContext& context, Options options) override {
    const StudyDriver driver = load_study_driver(strategy);
    const std::string runtime = find_runtime();
    options.push_back("--relocatable-device-code=true");
    module_ = Module(context, link(context, driver, compile(context, options, strategy), runtime));
  }

  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    constexpr int most_launches = 512, threads = 32;  // launches that wait are limited
    const int rows = (search.frame.height + most_launches - 1) / most_launches;
    const auto launches = static_cast<std::size_t>((search.frame.height + rows - 1) / rows);
    module_.launch("launch_pixels", stream, {cuda::blocks(launches, threads)}, threads, search, rows);
  }

 private:
  static constexpr CudaStrategy strategy = CudaStrategy::device_launch;

  static std::string find_runtime() {
    for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/lib/x86_64-linux-gnu"}) {
      const std::string path = std::string(folder) + "/libcudadevrt.a";
      if (std::ifstream(path).good()) return path;
    }
    refuse(strategy, "needs CUDA's device runtime (libcudadevrt.a), which is not in /usr/local/cuda/lib64");
  }

  static std::string link(const cuda::SharedContext& context, const StudyDriver& driver, std::string code,
                          const std::string& runtime) {
    enum { cubin = 0, library = 4 };
    const cuda::Current current(*context);
    LinkHandle state = nullptr;
    cuda::check(driver.cuLinkCreate_v2(0, nullptr, nullptr, &state), "cuLinkCreate");
    const cuda::Owned<LinkHandle> owner(context, state, driver.cuLinkDestroy);
    cuda::check(driver.cuLinkAddData_v2(state, cubin, code.data(), code.size(), "study", 0, nullptr, nullptr),
                "cuLinkAddData");
    cuda::check(driver.cuLinkAddFile_v2(state, library, runtime.c_str(), 0, nullptr, nullptr),
                "cuLinkAddFile of " + runtime);
    void* linked = nullptr;
    std::size_t bytes = 0;
    cuda::check(driver.cuLinkComplete(state, &linked, &bytes), "cuLinkComplete");
    return {static_cast<const char*>(linked), bytes};
  }

  Module module_;
};

}  // namespace

std::unique_ptr<CudaStudy> make_study(const BlockParameters& parameters, int pitch) {
  const CudaStrategy strategy = parameters.cuda.strategy;
  switch (strategy) {
    case CudaStrategy::automatic:
      return nullptr;
    case CudaStrategy::streams:
      return std::make_unique<Streams>(parameters.cuda.streams);
    case CudaStrategy::constant_and_shared_memory:
      return std::make_unique<Constant>(parameters.window, pitch);
    case CudaStrategy::device_launch:
      return std::make_unique<DeviceLaunch>();
    default:
      return std::make_unique<Plain>(strategy);
  }
}

void check_strategy(const BlockParameters& parameters, const Search& search) {
  const CudaStrategy strategy = parameters.cuda.strategy;
  constexpr int highest_byte = 255;
  if (strategy == CudaStrategy::automatic) return;
  if (parameters.cost != BlockCost::sad) refuse(strategy, "takes no cost but sad");
  if (parameters.uniqueness > 0) refuse(strategy, "takes no uniqueness");
  if (search.highest_value > highest_byte) refuse(strategy, "takes no values of more than 8 bits");
}

void check_strategy(const BlockParameters& parameters, const StereoPair& pair) {
  const CudaStrategy strategy = parameters.cuda.strategy;
  if (strategy != CudaStrategy::automatic && (!pair.left_mask.empty() || !pair.right_mask.empty()))
    refuse(strategy, "takes no masks");
}

}  // namespace parallax::block
