// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/program.h"

#include <sstream>

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

std::string code_for(const Context& context, const Source& source, const Options& options) {
  const Compiler& with = compiler(driver().version);
  const std::string key =
      cache_key(with, driver().version, source, all_options(options, context.architecture()));
  if (std::optional<std::string> code = read_cached(key)) return *std::move(code);
  tell_compilation("cuda:" + std::to_string(context.index()));
  std::string code = compile(with, source, options, context.architecture()).code;
  write_cached(key, code);
  return code;
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

Program::Program(const SharedContext& context, const Source& source, const Options& options)
    : context_(context) {
  const std::string code = code_for(*context, source, options);
  const Current current(*context);
  ModuleHandle module = nullptr;
  check(driver().cuModuleLoadData(&module, code.data()), std::string("cuModuleLoadData of ") + source.name);
  module_ = {context, module, driver().cuModuleUnload};
}

Kernel Program::kernel(const char* name) const {
  const Current current(*context_);
  FunctionHandle function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_.get(), name),
        std::string("cuModuleGetFunction of ") + name);
  // Graphs preserve such launches from CUDA 12.3 on.
  const bool overlaps = context_->architecture() >= 90 && driver().version >= 12030;
  return {name, function, overlaps};
}

int Kernel::attribute(FunctionAttribute which) const {
  int value = 0;
  check(driver().cuFuncGetAttribute(&value, which, function_),
        std::string("cuFuncGetAttribute of kernel ") + name_);
  return value;
}

void Kernel::allow_shared(std::size_t bytes) const {
  check(driver().cuFuncSetAttribute(function_, dynamic_shared_limit, static_cast<int>(bytes)),
        "cuFuncSetAttribute to " + std::to_string(bytes) + " bytes of shared memory for kernel " + name_);
}

int Kernel::resident_blocks(const Context& context, unsigned threads, std::size_t shared_bytes) const {
  int blocks = 0;
  check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, static_cast<int>(threads),
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
  const Result result = driver().cuLaunchKernelEx(&configuration, function_, arguments, nullptr);
  if (result == 0) return;
  check(result, std::string("launching kernel ") + name_ + ", " + gpu::text_of(grid) + " blocks of " +
                    gpu::text_of(block) + " threads with " + std::to_string(shared_bytes) +
                    " bytes of shared memory,");
}

void Kernel::launch_with(ChangingLaunches& launches, Shape grid, Shape block, std::size_t shared_bytes,
                         void** arguments) const {
  if (launches.stream_ == nullptr) {
    const KernelNodeParameters parameters{function_, grid.x,  grid.y,  grid.z,
                                          block.x,   block.y, block.z, static_cast<unsigned>(shared_bytes),
                                          arguments, nullptr, nullptr, nullptr};
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
