// SPDX-License-Identifier: Apache-2.0
// Compiled programs on disk: a file is used only if it is intact and ours, and a bad file is never an error.

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/cuda/program.h"
#include "devices/gpu_test.h"
#include "devices/plan_once.h"
#include "devices/program.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;
using parallax::read_cached;
using parallax::write_cached;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

class ProgramCacheTest : public testing::Test {
 protected:
  const TemporaryFolder cache_;
  const Variable variable_{"XDG_CACHE_HOME", cache_.path().string()};
  const fs::path folder_ = cache_.path() / "parallax";
  const std::string key_ = "a key", code_{"some code\0\n\xFF of bytes", 20};

  std::vector<fs::path> files() const {
    std::error_code none;
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_, none)) found.push_back(entry.path());
    return found;
  }

  // Writes the code and returns its path.
  fs::path write_code() const {
    write_cached(key_, code_);
    return files().size() == 1 ? files().front() : fs::path();
  }

  void expect_refused_and_written_anew(const fs::path& file, const std::string& what) const {
    EXPECT_EQ(read_cached(key_), std::nullopt) << what;
    write_cached(key_, code_);
    EXPECT_EQ(read_cached(key_), code_) << what;
    EXPECT_EQ(files(), std::vector<fs::path>{file}) << what;
  }
};

TEST_F(ProgramCacheTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(read_cached(key_), std::nullopt);
  write_cached(key_, code_);
  EXPECT_EQ(read_cached(key_), code_);
  EXPECT_EQ(read_cached(key_ + "!"), std::nullopt);
  write_cached(key_ + "!", "other code");
  EXPECT_EQ(read_cached(key_), code_);
  EXPECT_EQ(read_cached(key_ + "!"), "other code");
  write_cached(key_, "newer code");
  EXPECT_EQ(read_cached(key_), "newer code");
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(ProgramCacheTest, NobodyElseMayWriteAFile) {
  const mode_t before = umask(0);
  const fs::path file = write_code();
  umask(before);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ProgramCacheTest, CutFilesAreRefused) {
  const fs::path file = write_code();
  const std::string whole = read(file);
  ASSERT_GT(whole.size(), key_.size() + code_.size());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write(file, whole.substr(0, bytes));
    EXPECT_EQ(read_cached(key_), std::nullopt) << bytes << " bytes";
  }
  write(file, whole + "x");
  EXPECT_EQ(read_cached(key_), std::nullopt);
  expect_refused_and_written_anew(file, "a longer file");
}

TEST_F(ProgramCacheTest, FilesWithAFlippedBitAreRefused) {
  const fs::path file = write_code();
  const std::string whole = read(file);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    write(file, damaged);
    EXPECT_EQ(read_cached(key_), std::nullopt) << "bit " << bit;
  }
  expect_refused_and_written_anew(file, "a flipped bit");
}

// Simulates two keys with the same hash.
TEST_F(ProgramCacheTest, FilesOfAnotherKeyAreRefused) {
  const fs::path file = write_code();
  const std::string whole = read(file);
  for (const std::string other : {"b key", "a kez", "A key"}) {
    fs::remove(file);
    write_cached(other, code_);
    ASSERT_EQ(files().size(), 1u);
    fs::rename(files().front(), file);
    expect_refused_and_written_anew(file, other);
  }
}

TEST_F(ProgramCacheTest, FilesThatOthersCanWriteAreRefused) {
  const fs::path file = write_code();
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file, others, fs::perm_options::add);
    expect_refused_and_written_anew(file, "writable");
  }
  if (geteuid() != 0) return;
  constexpr uid_t somebody = 65534;
  ASSERT_EQ(chown(file.c_str(), somebody, static_cast<gid_t>(-1)), 0);
  expect_refused_and_written_anew(file, "somebody else's");
}

TEST_F(ProgramCacheTest, LinksAreRefused) {
  const fs::path file = write_code(), elsewhere = cache_.path() / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  expect_refused_and_written_anew(file, "a link");
  EXPECT_FALSE(fs::is_symlink(file));
  fs::remove(file);
  fs::create_symlink(cache_.path() / "nowhere", file);
  expect_refused_and_written_anew(file, "a link to nothing");
  EXPECT_FALSE(fs::exists(cache_.path() / "nowhere"));
}

// Opening a pipe would wait forever.
TEST_F(ProgramCacheTest, WhatIsNoFileIsRefused) {
  const fs::path file = write_code();
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expect_refused_and_written_anew(file, "a pipe");
}

TEST_F(ProgramCacheTest, AFolderInThePlaceOfAFileStays) {
  const fs::path file = write_code();
  fs::remove(file);
  fs::create_directories(file / "inside");
  EXPECT_EQ(read_cached(key_), std::nullopt);
  write_cached(key_, code_);
  EXPECT_EQ(read_cached(key_), std::nullopt);
  EXPECT_TRUE(fs::exists(file / "inside"));
  EXPECT_EQ(files(), std::vector<fs::path>{file});
}

// A sparse file can have any size without using the disk.
TEST_F(ProgramCacheTest, HugeFilesAreRefused) {
  const fs::path file = write_code();
  for (const std::string& claim : {read(file), std::string()}) {
    write(file, claim);
    if (truncate(file.c_str(), off_t{1} << 42) != 0) GTEST_SKIP() << "the file system has no files of 4 TB";
    expect_refused_and_written_anew(file, "huge");
  }
}

TEST_F(ProgramCacheTest, WhereNothingCanBeWrittenNothingIsCached) {
  const auto expect_nothing = [&](const std::optional<std::string>& cache,
                                  const std::optional<std::string>& home) {
    const Variable c("XDG_CACHE_HOME", cache), h("HOME", home);
    write_cached(key_, code_);
    EXPECT_EQ(read_cached(key_), std::nullopt) << cache.value_or("-") << " " << home.value_or("-");
  };
  write(cache_.path() / "file", "");
  const std::string file = (cache_.path() / "file").string();
  const fs::path before = fs::current_path();
  fs::current_path(cache_.path());
  expect_nothing(std::nullopt, std::nullopt);
  expect_nothing("", "");
  expect_nothing("relative", "relative");
  expect_nothing(file, std::nullopt);
  expect_nothing(std::nullopt, file);
  expect_nothing("/proc/nothing", std::nullopt);
  if (geteuid() != 0) {
    fs::permissions(cache_.path(), fs::perms::owner_read | fs::perms::owner_exec);
    expect_nothing(cache_.path().string(), std::nullopt);
    fs::permissions(cache_.path(), fs::perms::owner_all);
  }
  fs::current_path(before);
  EXPECT_EQ(std::distance(fs::directory_iterator(cache_.path()), {}), 1);
}

TEST_F(ProgramCacheTest, FilesAreInTheHomeUnlessThereIsAFolderForThem) {
  const TemporaryFolder home;
  const Variable h("HOME", home.path().string());
  for (const std::optional<std::string>& cache :
       {std::optional<std::string>(), std::optional<std::string>("")}) {
    const Variable c("XDG_CACHE_HOME", cache);
    write_cached(key_, code_);
    EXPECT_EQ(read_cached(key_), code_);
    EXPECT_EQ(fs::remove_all(home.path() / ".cache" / "parallax"), 2u);
  }
  write_code();
  EXPECT_EQ(files().size(), 1u);
  EXPECT_FALSE(fs::exists(home.path() / ".cache" / "parallax"));
}

// Runs `body` in a child process and returns its result.
template <class Body>
bool in_a_process(const Body& body) {
  const pid_t process = fork();
  if (process == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(ProgramCacheTest, ADiskThatIsFullLeavesNothing) {
  EXPECT_TRUE(in_a_process([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{40, 40};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    write_cached(key_, code_);
    return !read_cached(key_).has_value();
  }));
  EXPECT_TRUE(files().empty());
}

// Whether this is one of the two long codes, or nothing.
bool is_whole(const std::optional<std::string>& code) {
  return !code || *code == std::string(100'000, 'a') || *code == std::string(200'000, 'b');
}

bool write_and_read_often(const std::string& key) {
  for (int i = 0; i < 100; ++i) {
    write_cached(key, i % 2 == 0 ? std::string(100'000, 'a') : std::string(200'000, 'b'));
    if (!is_whole(read_cached(key)) || !read_cached(key)) return false;
  }
  return true;
}

TEST_F(ProgramCacheTest, WritersAtOnceLeaveAWholeFile) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(write_and_read_often(key_)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files().size(), 1u);

  std::vector<pid_t> processes;
  for (int i = 0; i < 3; ++i) {
    processes.push_back(fork());
    if (processes.back() == 0) _exit(write_and_read_often(key_) ? 0 : 1);
  }
  for (const pid_t process : processes) {
    int status = 1;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(is_whole(read_cached(key_)));
  EXPECT_EQ(files().size(), 1u);
}

class CachedProgramTest : public ProgramCacheTest {
 protected:
  void SetUp() override {
    const cuda::Gpus gpus = cuda::find_gpus();
    if (gpus.list.empty()) GTEST_SKIP() << "no GPU: " << gpus.none_because;
    PARALLAX_NEEDS_EMULATED_GPU();
    context_ = std::make_shared<cuda::Context>(0);
  }

  // The number of compilations that loading the program takes.
  int compilations(const char* text = source, const std::vector<std::string>& options = {}) const {
    const int before = emulated()->compilations();
    const cuda::Program program(context_, {"small.cu", text}, options);
    cuda::load_programs(context_);
    return emulated()->compilations() - before;
  }

  static constexpr const char* source = "extern \"C\" __global__ void small(int* out) { *out = 1; }";
  cuda::SharedContext context_;
};

TEST_F(CachedProgramTest, AreCompiledOnce) {
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(compilations(), 0);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(CachedProgramTest, AreKnownByAllThatDecidesThem) {
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(compilations("extern \"C\" __global__ void small(int* out) { *out = 2; }"), 1);
  EXPECT_EQ(compilations(source, {"-DA=1"}), 1);
  EXPECT_EQ(compilations(source, {"-DA=2"}), 1);
  EXPECT_EQ(compilations(source, {"-DA=1", "-DB=2"}), 1);
  EXPECT_EQ(compilations(source, {"-DB=2", "-DA=1"}), 1);
  EXPECT_EQ(files().size(), 6u);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>(), {"-DA=1"}, {"-DA=2"}, {"-DA=1", "-DB=2"}})
    EXPECT_EQ(compilations(source, options), 0);
}

TEST_F(CachedProgramTest, AreOfOneArchitectureAndOneDriver) {
  EXPECT_EQ(compilations(), 1);
  emulated()->set_architecture(80);
  context_ = std::make_shared<cuda::Context>(0);
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(compilations(), 0);
  emulated()->set_architecture(90);

  const auto compilations_with_driver = [](const char* version) {
    const Variable driver("PARALLAX_EMULATED_DRIVER_VERSION", version);
    auto found = plan_once("cuda");
    EXPECT_EQ(found["match"], "the bytes of the reference");
    return std::stoi(found["compilations"]);
  };
  EXPECT_GT(compilations_with_driver("13000"), 0);
  EXPECT_EQ(compilations_with_driver("13000"), 0);
  EXPECT_GT(compilations_with_driver("13010"), 0);
  EXPECT_EQ(compilations_with_driver("13010"), 0);
}

TEST_F(CachedProgramTest, AreCompiledAnewWhenTheirFileIsNotToBeTrusted) {
  EXPECT_EQ(compilations(), 1);
  const fs::path file = files().front();
  const std::string whole = read(file);
  const auto expect_mended = [&](const char* what) {
    EXPECT_EQ(compilations(), 1) << what;
    EXPECT_EQ(compilations(), 0) << what;
  };
  std::string damaged = whole;
  damaged[whole.size() - 100] = static_cast<char>(damaged[whole.size() - 100] ^ 4);
  for (const std::string& content :
       {std::string(), whole.substr(0, whole.size() / 2), damaged, whole + "more"}) {
    write(file, content);
    expect_mended("damaged");
  }
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  expect_mended("writable");
  fs::rename(file, cache_.path() / "elsewhere");
  fs::create_symlink(cache_.path() / "elsewhere", file);
  expect_mended("a link");

  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(compilations(), 1) << "a folder";
  EXPECT_EQ(compilations(), 1) << "a folder";
}

TEST_F(CachedProgramTest, AreCompiledEachTimeWhereNothingCanBeWritten) {
  const Variable cache("XDG_CACHE_HOME", std::nullopt), home("HOME", std::nullopt);
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(compilations(), 1);
}

TEST_F(CachedProgramTest, ASecondPlanCompilesNothing) {
  for (const auto& [name, parameters] : small_plans) {
    const SynthPair pair = small_pair();
    const Result expected = match(parameters, reference, views_with_masks(pair));
    const int before = emulated()->compilations();
    EXPECT_TRUE(same_bytes(match(parameters, gpu(), views_with_masks(pair)), expected));
    const int compiled = emulated()->compilations() - before;
    EXPECT_GT(compiled, 0) << name;
    EXPECT_TRUE(same_bytes(match(parameters, gpu(), views_with_masks(pair)), expected));
    EXPECT_EQ(emulated()->compilations(), before + compiled);
  }
}

TEST_F(CachedProgramTest, ProcessesThatPlanAtOnceAllSucceed) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] { EXPECT_EQ(plan_once("cuda")["match"], "the bytes of the reference"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plan_once("cuda")["compilations"], "0");
}

}  // namespace
}  // namespace parallax::test
