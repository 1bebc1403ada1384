// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/program.h"

#include <future>
#include <list>
#include <optional>
#include <sstream>
#include <utility>

#include "devices/cuda/kernel_sources.h"

namespace parallax::cuda {
namespace {

// Destroys the compiler's program when compile() returns or throws.
class Compilation {
 public:
  Compilation(const Compiler& compiler, const Source& source) : compiler_(compiler) {
    std::vector<const char*> texts, names;
    for (const Source& header : headers()) {
      texts.push_back(header.text);
      names.push_back(header.name);
    }
    check_call(compiler.nvrtcCreateProgram(&program_, source.text, source.name,
                                           static_cast<int>(texts.size()), texts.data(), names.data()),
               "nvrtcCreateProgram");
  }
  ~Compilation() { compiler_.nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  Result compile(const Options& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return compiler_.nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
  }
  // The log without its terminating zero.
  std::string log() const {
    return read(compiler_.nvrtcGetProgramLogSize, compiler_.nvrtcGetProgramLog).c_str();
  }
  std::string code() const { return read(compiler_.nvrtcGetCUBINSize, compiler_.nvrtcGetCUBIN); }

 private:
  static void check_call(Result result, const char* call) {
    if (result != 0)
      throw Error(ErrorCategory::internal, std::string("CUDA: ") + call + " failed with error " +
                                               std::to_string(result) + ": please report it");
  }

  template <class GetSize, class GetText>
  std::string read(GetSize get_size, GetText get_text) const {
    std::size_t bytes = 0;
    check_call(get_size(program_, &bytes), "reading a size from nvrtc");
    std::string text(bytes, '\0');
    check_call(get_text(program_, text.data()), "reading from nvrtc");
    return text;
  }

  const Compiler& compiler_;
  CompilerProgram program_ = nullptr;
};

Options all_options(const Options& options, int architecture) {
  // No fused multiply-add, which rounds once where the reference rounds twice.
  Options all{"--gpu-architecture=sm_" + std::to_string(architecture), "--std=c++17", "--fmad=false",
              "--ptxas-options=-v"};
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

// Contains everything that the compiled code depends on.
std::string cache_key(const Compiler& compiler, int driver_version, const Source& source,
                      const Options& options) {
  std::string key = "nvrtc " + std::to_string(compiler.major) + "." + std::to_string(compiler.minor) +
                    " driver " + std::to_string(driver_version) + "\n";
  for (const std::string& option : options) key += option + "\n";
  for (const Source& header : headers()) key += header.text;
  return key + source.text;
}

// The code, from the cache or, later, from the compiler.
std::future<std::string> code_for(const Context& context, const Source& source, const Options& options) {
  const Compiler& with = compiler(driver().version);
  const int architecture = context.architecture();
  std::string key = cache_key(with, driver().version, source, all_options(options, architecture));
  if (std::optional<std::string> code = read_cached(key)) {
    std::promise<std::string> known;
    known.set_value(*std::move(code));
    return known.get_future();
  }
  tell_compilation("cuda:" + std::to_string(context.index()));
  // The kernels of the program are compiled at once, too.
  const Options split = with.major >= 13 ? Options{"--split-compile=0"} : Options{};
  return std::async(std::launch::async, [&with, source, options = gpu::joined(options, split), architecture,
                                         key = std::move(key)] {
    std::string code = compile(with, source, options, architecture).code;
    write_cached(key, code);
    return code;
  });
}

// The first line of the log that reports an error.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("error") != std::string::npos) return line;
  return "";
}

}  // namespace

Compiled compile(const Compiler& compiler, const Source& source, const Options& options, int architecture) {
  constexpr Result invalid_option = 5;
  Compilation compilation(compiler, source);
  const Result result = compilation.compile(all_options(options, architecture));
  std::string log = compilation.log();
  const std::string target = "sm_" + std::to_string(architecture);
  if (result == invalid_option && log.find("gpu-architecture") != std::string::npos)
    throw Error(ErrorCategory::device,
                "CUDA's run-time compiler " + std::to_string(compiler.major) + "." +
                    std::to_string(compiler.minor) + " does not support " + target +
                    ": install a newer libnvrtc (NVIDIA's package cuda-nvrtc), or choose device cpu");
  if (result != 0)
    throw Error(ErrorCategory::internal, std::string("CUDA: ") + source.name + " does not compile for " +
                                             target + ": please report it. " + first_error(log));
  return {compilation.code(), std::move(log)};
}

// A program on its way to the GPU.
class Module {
 public:
  Module(const SharedContext& context, const Source& source, const Options& options)
      : context_(context), name_(source.name), code_(code_for(*context, source, options)) {}

  void load() {
    if (!code_.valid()) return;
    const std::string code = code_.get();
    const Current current(*context_);
    ModuleHandle handle = nullptr;
    check(driver().cuModuleLoadData(&handle, code.data()), std::string("cuModuleLoadData of ") + name_);
    loaded_ = {context_, handle, driver().cuModuleUnload};
    for (Function& function : functions_) find(function);
  }
  // The handle, which stays in its place; null until the module is loaded.
  const FunctionHandle* function(const char* name) {
    Function& function = functions_.emplace_back(name);
    if (!code_.valid()) find(function);
    return &function.handle;
  }

  // Graphs preserve launches that overlap with the previous one from CUDA 12.3 on.
  bool overlaps() const { return context_->architecture() >= 90 && driver().version >= 12030; }

 private:
  struct Function {
    explicit Function(const char* its_name) : name(its_name) {}
    const char* name;
    FunctionHandle handle = nullptr;
  };

  void find(Function& function) const {
    const Current current(*context_);
    check(driver().cuModuleGetFunction(&function.handle, loaded_.get(), function.name),
          std::string("cuModuleGetFunction of ") + function.name);
  }

  SharedContext context_;
  const char* name_;
  std::future<std::string> code_;  // until it is loaded
  Owned<ModuleHandle> loaded_;
  std::list<Function> functions_;
};

Program::Program(const SharedContext& context, const Source& source, const Options& options)
    : module_(std::make_shared<Module>(context, source, options)) {
  context->unloaded().push_back(module_);
}

Kernel Program::kernel(const char* name) const {
  return {name, module_, module_->function(name), module_->overlaps()};
}

void load_programs(const SharedContext& context) {
  for (const std::weak_ptr<Module>& unloaded : std::exchange(context->unloaded(), {}))
    if (const std::shared_ptr<Module> module = unloaded.lock()) module->load();
}

FunctionHandle Kernel::function() const {
  if (*function_ == nullptr) module_->load();
  return *function_;
}

int Kernel::attribute(FunctionAttribute which) const {
  int value = 0;
  check(driver().cuFuncGetAttribute(&value, which, function()),
        std::string("cuFuncGetAttribute of kernel ") + name_);
  return value;
}

void Kernel::allow_shared(std::size_t bytes) const {
  check(driver().cuFuncSetAttribute(function(), dynamic_shared_limit, static_cast<int>(bytes)),
        "cuFuncSetAttribute to " + std::to_string(bytes) + " bytes of shared memory for kernel " + name_);
}

int Kernel::resident_blocks(const Context& context, unsigned threads, std::size_t shared_bytes) const {
  int blocks = 0;
  check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function(), static_cast<int>(threads),
                                                             shared_bytes),
        std::string("cuOccupancyMaxActiveBlocksPerMultiprocessor of kernel ") + name_);
  return blocks * context.multiprocessors();
}

void Kernel::launch_with(StreamHandle stream, Shape grid, Shape block, std::size_t shared_bytes,
                         void** arguments, LaunchKind kind) const {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  LaunchAttribute attribute{programmatic_serialization, 0, {}};
  attribute.value.programmatic_serialization = 1;
  const bool is_cooperative = kind == LaunchKind::cooperative;
  if (is_cooperative) {
    attribute = {cooperative, 0, {}};
    attribute.value.cooperative = 1;
  }
  const LaunchConfiguration configuration{grid.x,
                                          grid.y,
                                          grid.z,
                                          block.x,
                                          block.y,
                                          block.z,
                                          static_cast<unsigned>(shared_bytes),
                                          stream,
                                          &attribute,
                                          is_cooperative || overlaps_ ? 1u : 0u};
  const Result result = driver().cuLaunchKernelEx(&configuration, function(), arguments, nullptr);
  if (result == 0) return;
  check(result, std::string("launching kernel ") + name_ + ", " + gpu::text_of(grid) + " blocks of " +
                    gpu::text_of(block) + " threads with " + std::to_string(shared_bytes) +
                    " bytes of shared memory,");
}

void Kernel::launch_with(ChangingLaunches& launches, Shape grid, Shape block, std::size_t shared_bytes,
                         void** arguments) const {
  if (launches.stream_ == nullptr) {
    const KernelNodeParameters parameters{function(), grid.x,  grid.y,  grid.z,
                                          block.x,    block.y, block.z, static_cast<unsigned>(shared_bytes),
                                          arguments,  nullptr, nullptr, nullptr};
    const Result result = driver().cuGraphExecKernelNodeSetParams_v2(
        launches.graph_, launches.nodes_[launches.next_++], &parameters);
    if (result != 0) check(result, std::string("cuGraphExecKernelNodeSetParams of kernel ") + name_);
    return;
  }
  launch_with(launches.stream_, grid, block, shared_bytes, arguments);
  int status = 0;
  const GraphNodeHandle* last = nullptr;
  std::size_t count = 0;
  check(driver().cuStreamGetCaptureInfo_v2(launches.stream_, &status, nullptr, nullptr, &last, &count),
        "cuStreamGetCaptureInfo");
  if (count != 1)
    throw Error(ErrorCategory::internal, "CUDA: a capture did not record a launch: please report it");
  launches.nodes_.push_back(*last);
}

}  // namespace parallax::cuda
