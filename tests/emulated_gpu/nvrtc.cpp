// SPDX-License-Identifier: Apache-2.0
// The emulated libnvrtc.so.13: compiles programs with the compiler of the host, see README.md.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "devices/cuda/driver.h"
#include "image.h"
#include "kernel_finder.h"

using parallax::cuda::CompilerProgram;
using parallax::cuda::Result;

extern char** environ;

namespace emulated {
namespace {

namespace fs = std::filesystem;

enum : Result {
  success = 0,
  invalid_input = 3,
  invalid_program = 4,
  invalid_option = 5,
  compilation_failure = 6,
  internal_error = 11
};

struct File {
  std::string name, text;
};

struct Program {
  File source;
  std::vector<File> headers;
  std::string log, image;
};

// The compiled programs, with their macros.
std::mutex mutex;
std::deque<std::string> compilations;

// A temporary folder, removed at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / "emulated-nvrtc-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

void write_file(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Runs the compiler, and appends its messages to `log`.
bool run_compiler(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> pointers{const_cast<char*>(PARALLAX_EMULATED_COMPILER)};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t process = 0;
  const int failure = posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    write_file(log, std::string(pointers[0]) + " does not start: " + std::strerror(failure));
    return false;
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The options that matter here.
struct Options {
  std::string language = "c++17", architecture = "52";
  std::vector<std::string> macros, others;
};

// The value of an option with one of these spellings.
std::optional<std::string> value_of(std::string_view option, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (option.substr(0, name.size()) == name) return std::string(option.substr(name.size()));
  return std::nullopt;
}

bool changes_nothing_here(std::string_view option) {
  for (const std::string_view name :
       {"-default-device", "--device-as-default-execution-space", "-lineinfo", "--generate-line-info", "-G",
        "--device-debug", "-w", "--disable-warnings", "--restrict", "-restrict",
        "--extra-device-vectorization", "-extra-device-vectorization", "-minimal", "--minimal", "-no-cache",
        "--no-cache"})
    if (option == name) return true;
  return value_of(option,
                  {"--fmad=", "-fmad=", "--ftz=", "-ftz=", "--prec-div=", "-prec-div=", "--prec-sqrt=",
                   "-prec-sqrt=", "--ptxas-options=", "-Xptxas=", "--maxrregcount=", "-maxrregcount=",
                   "--diag-suppress=", "-diag-suppress=", "--split-compile=", "-split-compile="})
      .has_value();
}

bool read_option(std::string_view option, Options& options) {
  if (const auto name = value_of(option, {"--gpu-architecture=sm_", "-arch=sm_"})) {
    options.architecture = *name;
  } else if (const auto language = value_of(option, {"--std=", "-std="})) {
    options.language = *language;
  } else if (const auto macro = value_of(option, {"--define-macro=", "-D"})) {
    options.macros.push_back("-D" + macro->substr(std::min(macro->size(), macro->find_first_not_of(' '))));
  } else if (option == "--relocatable-device-code=true") {
    options.others.emplace_back(option);
  } else {
    return changes_nothing_here(option);
  }
  return true;
}

// One compilation, in two steps. Kernels are searched in the preprocessed program, because macros may name
// them, and conditions remove them. The second step is slow, so its result is cached for all processes.
class Compilation {
 public:
  Compilation(const Program& program, const Options& options)
      : options_(options), source_(folder_ / program.source.name) {
    for (const File& header : program.headers) write_file(folder_ / header.name, header.text);
    write_file(source_, program.source.text);
  }

  bool run() {
    if (!preprocess()) return false;
    std::string program = read_file(preprocessed_);
    remove_folder(program);
    rewrite_launches(program);
    for (const FoundKernel& kernel : take_out_kernels(program)) program += describe(kernel);
    write_file(preprocessed_, program);
    const fs::path kept = fs::path(PARALLAX_EMULATED_LIBRARIES) / name_of(program);
    if (fs::exists(kept)) {
      library_ = kept;
      return true;
    }
    if (!compile()) return false;
    keep_as(kept);
    return true;
  }

  std::string library() const { return read_file(library_); }
  std::string log() const { return read_file(log_); }

 private:
  // Headers of the host are not found, as with NVIDIA's compiler.
  std::vector<std::string> common_arguments() const {
    return {"-std=" + options_.language, "-nostdinc", "-nostdinc++", "-w"};
  }

  bool preprocess() const {
    std::vector<std::string> arguments = common_arguments();
    arguments.insert(arguments.end(), options_.macros.begin(), options_.macros.end());
    for (const std::string& argument :
         {std::string("-E"), std::string("-D__CUDA_ARCH__=") + options_.architecture + "0",
          "-I" + folder_.path(), std::string("-include"), std::string(PARALLAX_EMULATED_DEVICE_HEADER),
          std::string("-x"), std::string("c++"), source_, std::string("-o"), preprocessed_})
      arguments.push_back(argument);
    return run_compiler(arguments, log_);
  }

  // Removes the name of the temporary folder, which would make every program different.
  void remove_folder(std::string& program) const {
    const std::string folder = folder_.path() + "/";
    for (std::size_t found = 0; (found = program.find(folder, found)) != std::string::npos;)
      program.erase(found, folder.size());
  }

  // "kernel<<<grid, block>>>(" becomes a call.
  static void rewrite_launches(std::string& program) {
    for (std::size_t open; (open = program.find("<<<")) != std::string::npos;) {
      const std::size_t close = program.find(">>>", open), comma = program.find(',', open);
      std::size_t name = open;
      while (name > 0 &&
             (std::isalnum(static_cast<unsigned char>(program[name - 1])) != 0 || program[name - 1] == '_'))
        --name;
      program.replace(name, close + 3 - name,
                      "emulated::ChildLaunch<" + program.substr(name, open - name) + ">{emulated::extent(" +
                          program.substr(open + 3, comma - open - 3) + "), emulated::extent(" +
                          program.substr(comma + 1, close - comma - 1) + ")}");
    }
  }

  static std::string describe(const FoundKernel& kernel) {
    const std::string emulated = "emulated_" + kernel.name;
    return "\nextern \"C\" decltype(" + kernel.name + ") " + kernel.name + ";\n" +
           "extern \"C\" __attribute__((visibility(\"default\"))) const emulated::Kernel " + emulated +
           ";\n" + "const emulated::Kernel " + emulated + " = emulated::describe<" + kernel.name + ">(" +
           kernel.launch_bounds + ");\n";
  }

  bool compile() const {
    std::vector<std::string> arguments = common_arguments();
    for (const char* argument : {"-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing",
                                 "-ffp-contract=off", "-fno-math-errno"})
      arguments.push_back(argument);
    for (const std::string& argument : words_of(PARALLAX_EMULATED_FLAGS)) arguments.push_back(argument);
    for (const std::string& argument :
         {std::string("-x"), std::string("c++-cpp-output"), preprocessed_, std::string("-o"), library_})
      arguments.push_back(argument);
    return run_compiler(arguments, log_);
  }

  // A hash of everything that determines the result.
  static std::string name_of(const std::string& program) {
    const std::string all =
        std::string(PARALLAX_EMULATED_COMPILER " " PARALLAX_EMULATED_FLAGS "\n") + program;
    return std::to_string(std::hash<std::string>()(all)) + "-" + std::to_string(all.size()) + ".so";
  }

  // Caches the result. The file appears complete or not at all.
  void keep_as(const fs::path& file) const {
    fs::create_directories(file.parent_path());
    const fs::path unfinished = file.string() + fs::path(folder_.path()).filename().string();
    std::error_code failure;
    if (fs::copy_file(library_, unfinished, failure)) fs::rename(unfinished, file, failure);
    if (failure) fs::remove(unfinished, failure);
  }

  const Options& options_;
  const TemporaryFolder folder_;
  const std::string source_, preprocessed_ = folder_ / "program.ii", log_ = folder_ / "log";
  std::string library_ = folder_ / "program.so";
};

Result compile(Program& program, int option_count, const char* const* options) {
  Options read;
  for (int i = 0; i < option_count; ++i)
    if (!read_option(options[i], read)) {
      program.log = std::string("nvrtc: error: unrecognized option ") + options[i] + " found\n";
      return invalid_option;
    }
  {
    const std::lock_guard lock(mutex);
    compilations.push_back(program.source.name);
    for (const std::string& macro : read.macros) compilations.back() += "\n" + macro;
    for (const std::string& option : read.others) compilations.back() += "\n" + option;
  }
  Compilation compilation(program, read);
  const bool compiled = compilation.run();
  program.log = compilation.log();
  if (!compiled) return compilation_failure;
  program.image = make_image(compilation.library(), std::stoul(read.architecture));
  return success;
}

Program* program_of(CompilerProgram program) {
  return reinterpret_cast<Program*>(program);
}

// Text is copied with its terminating zero.
Result copy(const std::string& from, std::size_t bytes, char* to) {
  if (to == nullptr) return invalid_input;
  std::memcpy(to, from.c_str(), bytes);
  return success;
}

}  // namespace
}  // namespace emulated

#pragma GCC visibility push(default)
extern "C" {

Result nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return emulated::invalid_input;
  *major = 13;
  *minor = 0;
  return emulated::success;
}

Result nvrtcCreateProgram(CompilerProgram* program, const char* source, const char* name, int header_count,
                          const char* const* headers, const char* const* header_names) {
  if (program == nullptr || source == nullptr || header_count < 0) return emulated::invalid_input;
  if (header_count > 0 && (headers == nullptr || header_names == nullptr)) return emulated::invalid_input;
  const bool is_named = name != nullptr && *name != '\0';
  auto* made = new emulated::Program{{is_named ? name : "default_program", source}, {}, {}, {}};
  for (int i = 0; i < header_count; ++i) made->headers.push_back({header_names[i], headers[i]});
  *program = reinterpret_cast<CompilerProgram>(made);
  return emulated::success;
}

Result nvrtcDestroyProgram(CompilerProgram* program) {
  if (program == nullptr || *program == nullptr) return emulated::invalid_program;
  delete emulated::program_of(*program);
  *program = nullptr;
  return emulated::success;
}

Result nvrtcCompileProgram(CompilerProgram program, int option_count, const char* const* options) {
  if (program == nullptr) return emulated::invalid_program;
  try {
    return emulated::compile(*emulated::program_of(program), option_count, options);
  } catch (const std::exception& error) {
    emulated::program_of(program)->log = error.what();
    return emulated::internal_error;
  }
}

Result nvrtcGetProgramLogSize(CompilerProgram program, std::size_t* bytes) {
  if (program == nullptr || bytes == nullptr) return emulated::invalid_program;
  *bytes = emulated::program_of(program)->log.size() + 1;
  return emulated::success;
}

Result nvrtcGetProgramLog(CompilerProgram program, char* log) {
  if (program == nullptr) return emulated::invalid_program;
  const std::string& text = emulated::program_of(program)->log;
  return emulated::copy(text, text.size() + 1, log);
}

Result nvrtcGetCUBINSize(CompilerProgram program, std::size_t* bytes) {
  if (program == nullptr || bytes == nullptr) return emulated::invalid_program;
  *bytes = emulated::program_of(program)->image.size();
  return emulated::success;
}

Result nvrtcGetCUBIN(CompilerProgram program, char* code) {
  if (program == nullptr) return emulated::invalid_program;
  const std::string& image = emulated::program_of(program)->image;
  return emulated::copy(image, image.size(), code);
}

// The number of compilations.
int emulated_compilations() {
  const std::lock_guard lock(emulated::mutex);
  return static_cast<int>(emulated::compilations.size());
}

// The name of a program, and its macros and other relevant options, one a line.
const char* emulated_compilation(int index) {
  const std::lock_guard lock(emulated::mutex);
  return emulated::compilations.at(static_cast<std::size_t>(index)).c_str();
}

}  // extern "C"
#pragma GCC visibility pop

#define EMULATED_CHECK(name, arguments) static_assert(std::is_same_v<decltype(&name), Result(*) arguments>);
PARALLAX_COMPILER_FUNCTIONS(EMULATED_CHECK)
