// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "support.h"

namespace {

// Names of the files for which fsync() was called.
std::vector<std::string> synced;

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Replaces the function of the system.
extern "C" int fsync(int file) {
  std::error_code ignored;
  synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), ignored).string());
  return static_cast<int>(::syscall(SYS_fsync, file));
}
#endif

namespace parallax::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

class FileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  mode_t permissions(const std::string& name) const {
    struct stat about {};
    EXPECT_EQ(::stat(path(name).c_str(), &about), 0);
    return about.st_mode & 07777;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder_)) list.push_back(entry.path().filename());
    return list;
  }
  using Names = std::vector<std::string>;

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

template <class Call>
void expect_file_error(const Call& call, const std::string& path, const std::string& reason) {
  expect_error(error_of(call), ErrorCategory::file, {path, reason});
}

TEST_F(FileTest, IsReadAsItWasWritten) {
  Bytes bytes(3'000'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 24);
  for (const std::size_t count : {0, 1, 4096, 3'000'000}) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    write_file(path("file"), part);
    EXPECT_EQ(read_file(path("file")), part) << count;
  }
  EXPECT_EQ(names(), Names{"file"});
}

TEST_F(FileTest, NewFileHasTheUsualPermissions) {
  const mode_t before = ::umask(027);
  write_file(path("file"), bytes_of("new"));
  EXPECT_EQ(::umask(before), 027u);
  EXPECT_EQ(permissions("file"), 0640u);
}

TEST_F(FileTest, ReplacedFileKeepsItsPermissions) {
  std::ofstream(path("file")) << "a longer text than the new one";
  for (const mode_t mode : {0600, 0664, 0755}) {
    ASSERT_EQ(::chmod(path("file").c_str(), mode), 0);
    write_file(path("file"), bytes_of("new"));
    EXPECT_EQ(read_file(path("file")), bytes_of("new"));
    EXPECT_EQ(permissions("file"), mode);
  }
  EXPECT_EQ(names(), Names{"file"});
}

TEST_F(FileTest, ReaderOfTheReplacedFileKeepsItsContent) {
  write_file(path("file"), bytes_of("old"));
  std::ifstream reader(path("file"));
  write_file(path("file"), bytes_of("new"));
  std::string text;
  reader >> text;
  EXPECT_EQ(text, "old");
}

TEST_F(FileTest, FolderCannotBeWritten) {
  fs::create_directory(path("folder"));
  expect_file_error([&] { write_file(path("folder"), bytes_of("x")); }, path("folder"), "Is a directory");
  EXPECT_EQ(names(), Names{"folder"});
  EXPECT_TRUE(fs::is_empty(path("folder")));
}

TEST_F(FileTest, MissingFolderIsNotMade) {
  expect_file_error([&] { write_file(path("none/file"), bytes_of("x")); }, path("none/file"), "No such file");
  expect_file_error([&] { write_file(path("none/"), bytes_of("x")); }, path("none/"), "No such file");
  EXPECT_EQ(names(), Names{});
}

TEST_F(FileTest, FileIsNoFolder) {
  write_file(path("file"), bytes_of("text"));
  expect_file_error([&] { write_file(path("file/inner"), bytes_of("x")); }, path("file/inner"),
                    "Not a directory");
  EXPECT_EQ(read_file(path("file")), bytes_of("text"));
}

TEST_F(FileTest, FailedRenameLeavesNothingBehind) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  expect_file_error([] { write_file("", bytes_of("x")); }, "", "No such file");
  fs::current_path(before);
  EXPECT_EQ(names(), Names{});
}

TEST_F(FileTest, FailedWriteLeavesThePathAsItWas) {
  write_file(path("file"), bytes_of("previous"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  expect_file_error([&] { write_file(path("file"), Bytes(5000)); }, path("file"), "File too large");
  expect_file_error([&] { write_file(path("other"), Bytes(5000)); }, path("other"), "File too large");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path("file")), bytes_of("previous"));
  EXPECT_EQ(names(), Names{"file"});
}

// Devices are written through links, so that a faulty write_file() run as root replaces the links and not the
// devices.
TEST_F(FileTest, LinkStaysAndItsTargetIsReplaced) {
  write_file(path("target"), bytes_of("old"));
  fs::create_symlink("target", path("link"));
  write_file(path("link"), bytes_of("new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), bytes_of("new"));
}

TEST_F(FileTest, LongestNamesCanBeWritten) {
  const std::string longest(255, 'n');
  write_file(path(longest), bytes_of("text"));
  EXPECT_EQ(read_file(path(longest)), bytes_of("text"));
}

TEST_F(FileTest, FullDeviceIsReported) {
  fs::create_symlink("/dev/full", path("full"));
  expect_file_error([&] { write_file(path("full"), bytes_of("x")); }, path("full"), "No space left");
  EXPECT_TRUE(fs::is_character_file(path("full")));
  EXPECT_EQ(names(), Names{"full"});
}

TEST_F(FileTest, DeviceIsWrittenToDirectly) {
  fs::create_symlink("/dev/null", path("null"));
  EXPECT_NO_THROW(write_file(path("null"), bytes_of("x")));
  EXPECT_TRUE(fs::is_character_file(path("null")));
}

TEST_F(FileTest, PipeCarriesMoreThanItHolds) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Bytes sent(300'000, std::byte{7});
  Bytes received;
  std::thread reader([&] { received = read_file(path("pipe")); });
  write_file(path("pipe"), sent);
  reader.join();
  EXPECT_EQ(received, sent);
  EXPECT_EQ(names(), Names{"pipe"});
}

TEST_F(FileTest, FileOfUnknownLengthIsReadWhole) {
  const Bytes status = read_file("/proc/self/status");
  EXPECT_GT(status.size(), 100u);
  EXPECT_EQ(status.back(), std::byte{'\n'});
}

TEST_F(FileTest, MissingFileCannotBeRead) {
  expect_file_error([&] { read_file(path("none")); }, path("none"), "No such file");
}

TEST_F(FileTest, FolderCannotBeRead) {
  expect_file_error([&] { read_file(folder_); }, folder_, "Is a directory");
}

TEST_F(FileTest, EndlessFileIsReadAsFarAsTheBound) {
  // Devices took 15 seconds until a gibibyte was read.
  expect_file_error([] { read_pfm("/dev/zero"); }, "/dev/zero", "it is a device");
  expect_file_error([] { read_file("/dev/zero", 1000); }, "/dev/zero", "it is a device");
  write_file(path("file"), Bytes(1000));
  EXPECT_EQ(read_file(path("file"), 1000).size(), 1000u);
  expect_file_error([&] { read_file(path("file"), 999); }, path("file"), "larger than 999 bytes");
}

TEST_F(FileTest, FileLargerThanTheMemoryIsNotBegun) {
  write_file(path("file"), bytes_of("x"));
  ASSERT_EQ(::truncate(path("file").c_str(), off_t{1} << 42), 0);  // a hole
  expect_file_error([&] { read_file(path("file")); }, path("file"), "it is larger than");
}

TEST_F(FileTest, LinkToNothingStaysAndItsTargetIsMade) {
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/target", path("link"));
  fs::create_symlink(path("link"), path("link of a link"));
  write_file(path("link of a link"), bytes_of("new"));
  EXPECT_TRUE(fs::is_symlink(path("link of a link")));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("folder/target"))));
  EXPECT_EQ(read_file(path("link")), bytes_of("new"));
}

TEST_F(FileTest, LinkIntoAMissingFolderStays) {
  fs::create_symlink("none/target", path("link"));
  expect_file_error([&] { write_file(path("link"), bytes_of("new")); }, path("link"), "No such file");
  EXPECT_EQ(fs::read_symlink(path("link")), "none/target");
}

TEST_F(FileTest, LinksInALoopStay) {
  fs::create_symlink("second", path("first"));
  fs::create_symlink("first", path("second"));
  expect_file_error([&] { write_file(path("first"), bytes_of("new")); }, path("first"), "remove the links");
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("second")));
  EXPECT_EQ(names().size(), 2u);
}

// The mode of the temporary file, observed during a write that a limit interrupts.
const char* watched_folder = nullptr;
mode_t watched_mode = 0;
void watch_temporary(int) {
  DIR* folder = ::opendir(watched_folder);
  while (const dirent* entry = ::readdir(folder)) {
    struct stat about {};
    if (std::string_view(entry->d_name).starts_with(".parallax-") &&
        ::fstatat(::dirfd(folder), entry->d_name, &about, 0) == 0)
      watched_mode = about.st_mode & 07777;
  }
  ::closedir(folder);
}

TEST_F(FileTest, PrivateFileCannotBeReadByOthersWhileItIsWritten) {
  write_file(path("file"), bytes_of("previous"));
  ASSERT_EQ(::chmod(path("file").c_str(), 0600), 0);
  watched_folder = folder_.c_str();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, watch_temporary);
  const rlimit limit{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  expect_file_error([&] { write_file(path("file"), Bytes(5000)); }, path("file"), "File too large");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(watched_mode, 0600u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(FileTest, FileIsOnTheDiskBeforeItHasItsName) {
  synced.clear();
  write_file(path("file"), bytes_of("new"));
  ASSERT_EQ(synced.size(), 2u);
  EXPECT_TRUE(contains(synced[0], "/.parallax-")) << synced[0];
  EXPECT_EQ(synced[1], folder_);
}
#endif

}  // namespace
}  // namespace parallax::test
