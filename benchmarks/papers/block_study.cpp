// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/block_study.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "matchers/block/cuda_plan.h"
#include "matchers/method.h"
#include "refine/refine.h"

namespace parallax {
namespace detail {
// Made by the build from block_study.cu.
extern const char* const block_study_kernels;
}  // namespace detail

gpu::Source block_study_source() {
  return {"block_study.cu", detail::block_study_kernels};
}

namespace {

using block::CudaSearch;

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::Shape;
using cuda::StreamHandle;

constexpr unsigned block_columns = 128;

using Strategy = BlockStrategy;

[[noreturn]] void refuse_strategy(const std::string& reason) {
  throw Error(ErrorCategory::device, "this strategy of the study " + reason + ": use the method block");
}

// One strategy of the study.
class Step {
 public:
  virtual ~Step() = default;
  // `options` specialise the kernels as cuda_common.h says.
  virtual void prepare(const cuda::SharedContext& context, Options options) = 0;
  // Finds the best labels of one image in the other.
  virtual void find_best(const CudaSearch& search, StreamHandle stream) const = 0;
};

// One thread per pixel, for `rows` rows.
Shape grid_of(const CudaSearch& search, int rows) {
  return {static_cast<unsigned>(rows),
          cuda::blocks(static_cast<std::size_t>(search.frame.width), block_columns)};
}

// Names of the kernels, and the macros that select which of them a program has.
constexpr const char *in_global_memory = "find_in_global_memory", *in_shared_memory = "find_in_shared_memory";
constexpr const char *in_constant = "BASE_IN_CONSTANT_MEMORY", *launches = "DEVICE_LAUNCH";

// A search by a single kernel: at once, or in bands of rows on several streams, which fork from the caller's
// stream and join it.
class Plain final : public Step {
 public:
  explicit Plain(const char* kernel, int streams = 0)
      : name_(kernel), streams_(static_cast<std::size_t>(streams)) {}

  void prepare(const cuda::SharedContext& context, Options options) override {
    options.insert(options.end(), {define(in_constant, 0), define(launches, 0)});
    program_ = cuda::Program(context, block_study_source(), options);
    kernel_ = program_.kernel(name_);
    started_ = cuda::make_event(context);
    for (auto& [stream, finished] : streams_) {
      stream = cuda::make_stream(context);
      finished = cuda::make_event(context);
    }
  }

  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    const int height = search.frame.height;
    if (streams_.empty()) return launch(search, stream, 0, height);
    const int count = static_cast<int>(streams_.size()), rows = (height + count - 1) / count;
    record(started_, stream);
    for (int i = 0; i * rows < height; ++i) {
      const auto& [on, finished] = streams_[static_cast<std::size_t>(i)];
      wait(on.get(), started_);
      launch(search, on.get(), i * rows, std::min(rows, height - i * rows));
      record(finished, on.get());
      wait(stream, finished);
    }
  }

 private:
  void launch(const CudaSearch& search, StreamHandle stream, int first, int rows) const {
    kernel_.launch(stream, grid_of(search, rows), {block_columns}, 0, search, first);
  }
  static void record(const cuda::Event& event, StreamHandle stream) {
    cuda::check(cuda::driver().cuEventRecord(event.get(), stream), "cuEventRecord");
  }
  static void wait(StreamHandle stream, const cuda::Event& event) {
    cuda::check(cuda::driver().cuStreamWaitEvent(stream, event.get(), 0), "cuStreamWaitEvent");
  }

  const char* name_;
  cuda::Program program_;
  Kernel kernel_;
  cuda::Event started_;
  std::vector<std::pair<cuda::Stream, cuda::Event>> streams_;
};

// Functions of the driver that only these strategies use.
using LinkHandle = struct CUlinkState_st*;

struct StudyDriver {
  StudyDriver() {
    cuda::driver();
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) refuse_strategy(std::string("needs ") + name + ", which this driver lacks");
    };
    find(get_global, "cuModuleGetGlobal_v2");
    find(link_create, "cuLinkCreate_v2");
    find(link_add_data, "cuLinkAddData_v2");
    find(link_add_file, "cuLinkAddFile_v2");
    find(link_complete, "cuLinkComplete");
    find(link_destroy, "cuLinkDestroy");
  }

  cuda::Result (*get_global)(cuda::DeviceAddress* address, std::size_t* bytes, cuda::ModuleHandle module,
                             const char* name);
  cuda::Result (*link_create)(unsigned options, int* names, void** values, LinkHandle* state);
  cuda::Result (*link_add_data)(LinkHandle state, int type, void* data, std::size_t bytes, const char* name,
                                unsigned options, int* names, void** values);
  cuda::Result (*link_add_file)(LinkHandle state, int type, const char* path, unsigned options, int* names,
                                void** values);
  cuda::Result (*link_complete)(LinkHandle state, void** code, std::size_t* bytes);
  cuda::Result (*link_destroy)(LinkHandle state);
};

// Code that cuda::Program cannot hold.
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

std::string compile(const cuda::SharedContext& context, const Options& options) {
  return cuda::compile(cuda::compiler(cuda::driver().version), block_study_source(), options,
                       context->architecture())
      .code;
}

// Bands of as many rows as fit in constant memory: each is copied there, then matched.
class Constant final : public Step {
 public:
  Constant(Strategy strategy, int window, int pitch)
      : kernel_(strategy == Strategy::constant_memory ? in_global_memory : in_shared_memory),
        window_(window),
        pitch_(static_cast<std::size_t>(pitch)),
        rows_(constant_bytes / pitch) {
    if (rows_ < window)
      refuse_strategy("holds " + std::to_string(rows_) + " rows of this width, and a window needs " +
                      std::to_string(window));
  }

  void prepare(const cuda::SharedContext& context, Options options) override {
    const StudyDriver driver;
    options.insert(options.end(), {define(in_constant, 1), define(launches, 0), define("BAND_ROWS", rows_)});
    module_ = Module(context, compile(context, options));
    std::size_t bytes = 0;
    cuda::check(driver.get_global(&band_, &bytes, module_.get(), "base_band"),
                "cuModuleGetGlobal of base_band");
  }

  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    const int height = search.frame.height, rows = rows_ - (window_ - 1);
    for (int first = 0; first < height; first += rows) {
      const int count = std::min(rows, height - first);
      copy_rows(search, first, count + window_ - 1, stream);
      module_.launch(kernel_, stream, grid_of(search, count), block_columns, search, first);
    }
  }

 private:
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

  const char* kernel_;
  int window_;
  std::size_t pitch_;
  int rows_;
  cuda::DeviceAddress band_ = 0;
  Module module_;
};

// Threads that launch others need CUDA's device runtime, which is linked here.
class DeviceLaunch final : public Step {
 public:
  explicit DeviceLaunch(bool serial) : serial_(serial) {}

  void prepare(const cuda::SharedContext& context, Options options) override {
    const StudyDriver driver;
    const std::string runtime = find_runtime();
    options.insert(options.end(), {define(in_constant, 0), define(launches, 1),
                                   define("SERIAL_MINIMUM", serial_), "--relocatable-device-code=true"});
    module_ = Module(context, link(context, driver, compile(context, options), runtime));
  }

  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    constexpr int max_launches = 512, threads = 32;  // pending launches are limited
    const int rows = (search.frame.height + max_launches - 1) / max_launches;
    const auto launches = static_cast<std::size_t>((search.frame.height + rows - 1) / rows);
    module_.launch("launch_pixels", stream, {cuda::blocks(launches, threads)}, threads, search, rows);
  }

 private:
  static std::string find_runtime() {
    for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/lib/x86_64-linux-gnu"}) {
      const std::string path = std::string(folder) + "/libcudadevrt.a";
      if (std::ifstream(path).good()) return path;
    }
    refuse_strategy("needs CUDA's device runtime (libcudadevrt.a), which is not in /usr/local/cuda/lib64");
  }

  static std::string link(const cuda::SharedContext& context, const StudyDriver& driver, std::string code,
                          const std::string& runtime) {
    enum { cubin = 0, library = 4 };
    const cuda::Current current(*context);
    LinkHandle state = nullptr;
    cuda::check(driver.link_create(0, nullptr, nullptr, &state), "cuLinkCreate");
    const cuda::Owned<LinkHandle> owner(context, state, driver.link_destroy);
    cuda::check(driver.link_add_data(state, cubin, code.data(), code.size(), "study", 0, nullptr, nullptr),
                "cuLinkAddData");
    cuda::check(driver.link_add_file(state, library, runtime.c_str(), 0, nullptr, nullptr),
                "cuLinkAddFile of " + runtime);
    void* linked = nullptr;
    std::size_t bytes = 0;
    cuda::check(driver.link_complete(state, &linked, &bytes), "cuLinkComplete");
    return {static_cast<const char*>(linked), bytes};
  }

  bool serial_;
  Module module_;
};

std::unique_ptr<Step> make_step(Strategy strategy, int streams, int window, int pitch) {
  switch (strategy) {
    case Strategy::shared_memory:
      return std::make_unique<Plain>(in_shared_memory);
    case Strategy::constant_memory:
    case Strategy::constant_and_shared_memory:
      return std::make_unique<Constant>(strategy, window, pitch);
    case Strategy::streams:
      return std::make_unique<Plain>(in_global_memory, streams);
    case Strategy::device_launch_serial:
    case Strategy::device_launch:
      return std::make_unique<DeviceLaunch>(strategy == Strategy::device_launch_serial);
    default:
      return std::make_unique<Plain>(in_global_memory);
  }
}

// The plan of block matching with another search.
class Study final : public block::CudaBytes {
 public:
  Study(const BlockStudyParameters& parameters, const Device& device, const ImageFormat& format)
      : CudaBytes(parameters.block(), device, format, {}),
        step_(make_step(parameters.strategy, parameters.streams, parameters.window, frame().pitch)) {}

 private:
  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
    if (!pair.left_mask.empty() || !pair.right_mask.empty()) refuse_strategy("supports no masks");
    CudaBytes::take(pair, launches);
  }
  void prepare_search(StreamHandle stream) override {
    step_->prepare(context(), search_options());
    CudaBytes::prepare_search(stream);
  }
  void find_best(const CudaSearch& search, StreamHandle stream) const override {
    step_->find_best(search, stream);
  }

  std::unique_ptr<Step> step_;
};

std::unique_ptr<detail::Plan> make_study(const BlockStudyParameters& parameters, const Device& device,
                                         const ImageFormat& format) {
  if (format.depth != BitDepth::bits8) refuse_strategy("supports no values of more than 8 bits");
  return std::make_unique<Study>(parameters, device, format);
}

detail::Fields fields(BlockStudyParameters& p) {
  detail::Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 1, 1'000'000);
  fields.group(detail::matching_group)
      .add("full_row", p.full_row, {"Search the whole row instead of a range of disparities"})
      .add("window", p.window, detail::odd(1, 31), {"Side of the window", "pixels"})
      .add("strategy", p.strategy,
           {{"global-memory", Strategy::global_memory},
            {"shared-memory", Strategy::shared_memory},
            {"constant-memory", Strategy::constant_memory},
            {"constant-and-shared-memory", Strategy::constant_and_shared_memory},
            {"streams", Strategy::streams},
            {"device-launch-serial", Strategy::device_launch_serial},
            {"device-launch", Strategy::device_launch}},
           {"How the other image is searched"})
      .add("streams", p.streams, detail::range(1, 16), {"Number of streams of strategy streams"});
  refine::add_fields(fields, p.refine);
  return fields;
}

std::unique_ptr<detail::Method> block_study_method() {
  using On = detail::Backends<BlockStudyParameters>;
  return detail::declare<BlockStudyParameters>(
      {.name = "block-study",
       .presets = {{"default", [] { return BlockStudyParameters{}; }}},
       .fields = fields,
       .margins = [](const BlockStudyParameters& p, const ImageFormat& format,
                     int padding) { return block::margins(p.block(), format, padding); },
       .backends = {On::backend<DeviceKind::cuda, make_study>()}});
}

}  // namespace

BlockParameters BlockStudyParameters::block() const {
  BlockParameters parameters = preset<BlockParameters>("sad-full-row");
  parameters.min_disparity = min_disparity;
  parameters.disparities = disparities;
  parameters.full_row = full_row;
  parameters.window = window;
  parameters.refine = refine;
  return parameters;
}

void BlockStudyParameters::validate() const {
  BlockStudyParameters copy = *this;
  fields(copy).check();
}

void add_block_study() {
  [[maybe_unused]] static const auto& added = detail::methods().emplace_back(block_study_method());
}

}  // namespace parallax
