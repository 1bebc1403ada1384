// SPDX-License-Identifier: Apache-2.0
// How commands treat files: inputs, existing files, and files of runs that fail.

#include <csignal>
#include <thread>

#include <sys/stat.h>

#include "parallax/error.h"

#include "support.h"
#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/output_files.h"
#include "tools/command_fixture.h"
#include "tools/files/content_hash.h"
#include "tools/files/flow_files.h"
#include "tools/files/pictures.h"
#include "tools/jobs/pair_list.h"

namespace parallax::test {
namespace {

using tool::Arguments;
using tool::CommandFiles;
using tool::UsageError;

class FilesTest : public CommandTest {
 protected:
  FilesTest() {
    fs::create_directories(folder_ / "real");
    fs::create_directory_symlink("real", folder_ / "linked");
    for (const char* name : {"L.tiff", "R.tiff", "mask.png"}) write(folder_ / "real" / name, "pixels");
  }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  // The command would fail later in any case; this error shows that it touched nothing.
  void expect_refused(int (*command)(const Arguments&), const Arguments& arguments) const {
    EXPECT_THROW(command(arguments), UsageError) << testing::PrintToString(arguments);
  }

  void expect_no_temporaries(const std::string& folder) const {
    for (const auto& entry : fs::directory_iterator(folder_ / folder))
      EXPECT_FALSE(entry.path().filename().string().starts_with(".parallax-")) << entry.path();
  }
};

TEST_F(FilesTest, AFileIsTheSameByWhateverName) {
  fs::create_symlink("real/L.tiff", folder_ / "to_left.tiff");
  fs::create_symlink("to_left.tiff", folder_ / "to_link.tiff");
  fs::create_hard_link(folder_ / "real/L.tiff", folder_ / "again.tiff");
  for (const char* name : {"real/L.tiff", "real/../real/./L.tiff", "linked/L.tiff", "to_left.tiff",
                           "to_link.tiff", "again.tiff", "linked/../real/L.tiff"}) {
    CommandFiles files;
    files.reads(at("real/L.tiff"));
    EXPECT_THROW(files.writes(at(name)), UsageError) << name;
    EXPECT_NO_THROW(files.writes(at("real/R.tiff")));
  }
}

TEST_F(FilesTest, AFileThatIsNotThereIsTheSameByWhateverName) {
  fs::create_symlink("real/new.pfm", folder_ / "to_new.pfm");
  fs::create_symlink(folder_ / "linked/new.pfm", folder_ / "to_new_by_folder.pfm");
  for (const char* name : {"real/new.pfm", "real/./new.pfm", "none/../real/new.pfm", "linked/new.pfm",
                           "to_new.pfm", "to_new_by_folder.pfm"}) {
    CommandFiles files;
    files.writes(at("real/new.pfm"));
    EXPECT_THROW(files.writes(at(name)), UsageError) << name;
    EXPECT_NO_THROW(files.writes(at("real/newer.pfm")));
  }
}

TEST_F(FilesTest, DevicesTakeSeveralOutputs) {
  CommandFiles files;
  files.writes("/dev/null");
  EXPECT_NO_THROW(files.writes("/dev/null"));
}

TEST_F(FilesTest, APairIsNotWrittenOver) {
  const std::string left = at("real/L.tiff"), right = at("real/R.tiff"), mask = at("real/mask.png");
  expect_refused(tool::match_command, {left, right, "-o", at("linked/L.tiff")});
  expect_refused(tool::match_command, {left, right, "--left-mask", mask, "--image", at("linked/mask.png")});
  expect_refused(tool::match_command, {left, right, "--method=bp", "--json", "--cost-file",
                                       at("linked/costs.pfm"), "-o", at("real/costs.pfm")});
  expect_refused(tool::match_command,
                 {left, right, "--json", "--truth", at("linked/truth.pfm"), "-o", at("real/truth.pfm")});
  expect_refused(tool::match_command,
                 {left, right, "-o", at("a.pfm"), "--calib", at("c"), "--cloud", at("real/../a.pfm")});
  expect_refused(tool::match_command,
                 {left, right, "-o", at("a.pfm"), "--confidence", at("linked/../a.pfm")});
  expect_refused(tool::match_command, {at("v.avi"), at("w.avi"), "--video", at("real/../v.avi")});
  expect_refused(tool::plan_command, {left, right, "-o", at("a.pfm"), "--plan", at("linked/R.tiff")});
}

TEST_F(FilesTest, FramesAreNotWrittenOver) {
  for (const char* folder : {"sl", "sr"}) {
    fs::create_directory(folder_ / folder);
    for (const char* name : {"0.png", "1.png"}) write(folder_ / folder / name, "pixels");
  }
  fs::create_directory_symlink("sl", folder_ / "sx");
  expect_refused(tool::match_command, {at("sl"), at("sr"), "--image", at("sx/")});
  expect_refused(tool::match_command, {at("sl"), at("sr"), "-o", at("sx/%d.png")});
  expect_refused(tool::match_command,
                 {at("sl/%d.png"), at("sr/%d.png"), "--left-mask", at("sx/m1.png"), "-o", at("sl/m%d.png")});
}

TEST_F(FilesTest, WhatIsTunedOnIsNotWrittenOver) {
  expect_refused(tool::tune_command, {at("real/L.tiff"), at("real/R.tiff"), "--json", at("linked/L.tiff")});
  expect_refusal("tune --json linked/t.json", 2, {"linked/t.json", "by this command", "which is read"},
                 "PARALLAX_TUNING=real/t.json");
}

TEST_F(FilesTest, WhatIsMeasuredOnIsNotWrittenOver) {
  fs::create_directories(folder_ / "data/papers/venus");
  write(folder_ / "data/papers/venus/left.png", "pixels");
  fs::create_directory_symlink("data", folder_ / "to_data");
  const std::string picture = at("to_data/papers/venus/left.png");
  expect_refused(tool::bench_command, {"--data", at("data"), "--json", picture});
  expect_refused(tool::tune_command, {"--suite", "papers", "--data", at("data"), "--json", picture});
}

template <class Call>
void expect_file_error(const Call& call, const std::string& word) {
  expect_error(error_of(call), ErrorCategory::file, {word});
}

// Reading a device may never end, and opening a pipe may block.
TEST_F(FilesTest, DevicesAndPipesAreNoPictures) {
  ASSERT_EQ(::mkfifo(at("pipe.png").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder_ / "zero.pfm");
  const std::string right = at("real/R.tiff");
  const auto match = [](const Arguments& arguments) { return [=] { tool::match_command(arguments); }; };
  expect_file_error(match({"/dev/zero", right}), "/dev/zero is a device");
  expect_file_error(match({at("pipe.png"), right}), "is a pipe");
  expect_file_error(match({right, right, "--left-mask", at("pipe.png")}), "is a pipe");
  expect_file_error(match({right, right, "--calib", "/dev/zero"}), "is a device");
  expect_file_error(match({right, right, "--method", "bp", "--cost-file", "/dev/zero"}), "is a device");
  expect_file_error([&] { tool::eval_command({at("zero.pfm"), at("zero.pfm")}); }, "is a device");
  fs::create_directory(folder_ / "frames");
  ASSERT_EQ(::mkfifo(at("frames/0.png").c_str(), 0600), 0);
  expect_file_error(match({at("frames"), at("frames")}), "frames/0.png is a pipe");
}

// It was called a picture.
TEST_F(FilesTest, WhatIsGoneIsOfNoKind) {
  fs::create_directory(folder_ / "l");
  for (const char* pair : {"l gone", "gone l"})
    expect_refusal(std::string("match ") + pair + " -o m/", 1,
                   {"cannot read gone: No such file or directory"});
}

// Each of these waited for a writer.
TEST_F(FilesTest, FramesAndMapsThatArePipesAreRefused) {
  for (const char* side : {"l", "r"}) {
    fs::create_directory(folder_ / side);
    ASSERT_EQ(::mkfifo(at(side + std::string("/0.png")).c_str(), 0600), 0);
  }
  ASSERT_EQ(::mkfifo(at("map.pfm").c_str(), 0600), 0);
  write(folder_ / "list.txt", "l/0.png r/0.png\n");
  const std::string some = " --method block --disparities 16 ", limit = "timeout -k 1 20 env";
  const Outcome checked = run("check l r", limit);
  EXPECT_EQ(checked.status, 1);
  EXPECT_TRUE(contains(checked.out + checked.err, "l/0.png is a pipe")) << checked.out << checked.err;
  for (const std::string& command :
       {"plan l r --plan p.json -o m/" + some, "plan --list list.txt --plan p.json -o m/" + some,
        "batch l r -o m/" + some, "match l r -o m/" + some}) {
    const Outcome outcome = run(command, limit);
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_TRUE(contains(outcome.err, "l/0.png is a pipe: save its contents to a file")) << outcome.err;
  }
  expect_file_error([&] { tool::read_disparity(at("map.pfm")); }, "map.pfm is a pipe");
  for (const char* name : {"l/0.png", "map.pfm"}) {
    expect_file_error([&] { tool::read_picture(at(name)); }, "is a pipe");
    expect_file_error([&] { tool::read_picture_format(at(name)); }, "is a pipe");
    expect_file_error([&] { tool::PictureParts{at(name)}; }, "is a pipe");
    expect_file_error([&] { tool::holds_picture(at(name)); }, "is a pipe");
    expect_file_error([&] { tool::read_flow(at(name)); }, "is a pipe");
    expect_file_error([&] { tool::file_hash(at(name)); }, "is a pipe");
    expect_file_error([&] { tool::read_text(at(name)); }, "is a pipe");
  }
}

// A list was opened twice, and what the first time had read was lost.
TEST_F(FilesTest, ListsMayComeFromAPipe) {
  const std::string list = "a.png b.png\nc.png d.png\n";
  ASSERT_EQ(::mkfifo(at("list.txt").c_str(), 0600), 0);
  std::thread writer([&] { write(folder_ / "list.txt", list); });
  EXPECT_EQ(tool::list_pairs(at("list.txt"), "").size(), 2u);
  writer.join();
}

TEST_F(FilesTest, CostsMayComeFromAPipe) {
  ASSERT_EQ(::mkfifo(at("costs").c_str(), 0600), 0);
  CommandFiles files;
  EXPECT_NO_THROW(files.reads_once(at("costs")));
}

TEST_F(FilesTest, AFailingSecondOutputLeavesNoFirst) {
  const auto before = files();
  const std::vector<tool::FileBytes> two = {{at("first"), bytes_of("1")},
                                            {at("nowhere/second"), bytes_of("2")}};
  expect_file_error([&] { tool::write_files(two); }, "nowhere/second");
  fs::create_symlink("/dev/full", folder_ / "real/full");
  const std::vector<tool::FileBytes> full = {{at("first"), bytes_of("1")}, {at("real/full"), bytes_of("2")}};
  expect_file_error([&] { tool::write_files(full); }, "real/full");
  EXPECT_EQ(files(), before);
}

TEST_F(FilesTest, LinksStayWhateverTheyPointTo) {
  fs::create_symlink("real/new", folder_ / "dangling");
  fs::create_symlink("real/mask.png", folder_ / "link");
  for (const char* name : {"dangling", "link"}) {
    tool::write_output(at(name), std::string("new"));
    EXPECT_TRUE(fs::is_symlink(folder_ / name));
    EXPECT_EQ(contents(folder_ / name), "new");
  }
  EXPECT_EQ(contents(folder_ / "real/new"), "new");
  fs::create_symlink("loop", folder_ / "loop");
  expect_file_error([&] { tool::write_output(at("loop"), std::string("new")); }, "symbolic links");
  EXPECT_TRUE(fs::is_symlink(folder_ / "loop"));
}

TEST_F(FilesTest, WhatIsWrittenIsNoMorePublicThanWhatItReplaces) {
  const auto mode = [](const std::string& path) {
    struct stat about {};
    EXPECT_EQ(::stat(path.c_str(), &about), 0);
    return about.st_mode & 07777;
  };
  ASSERT_EQ(::chmod(at("real/mask.png").c_str(), 0600), 0);
  {
    const tool::OutputFile output(at("real/mask.png"));
    EXPECT_EQ(mode(output.temporary()), 0600u);
  }
  expect_no_temporaries("real");
  ASSERT_EQ(::chmod(at("real/mask.png").c_str(), 0640), 0);
  tool::write_output(at("real/mask.png"), std::string("new"));
  EXPECT_EQ(mode(at("real/mask.png")), 0640u);
  EXPECT_EQ(contents(at("real/mask.png")), "new");
}

TEST_F(FilesTest, FoldersThatGotNothingGoAgain) {
  const auto before = files();
  {
    tool::OutputFolders folders;
    folders.make(at("a/b/"));
    folders.make(at("a/c"));
    folders.make(at("real"));
    EXPECT_TRUE(fs::is_directory(at("a/b")));
  }
  EXPECT_EQ(files(), before);
  {
    tool::OutputFolders folders;
    folders.make(at("a/b"));
    folders.make(at("a/c"));
    write(at("a/b/file"), "");
  }
  EXPECT_TRUE(fs::exists(at("a/b/file")));
  EXPECT_FALSE(fs::exists(at("a/c")));
}

TEST_F(FilesTest, AFailedSequenceLeavesNoFolder) {
  for (const char* folder : {"l", "r"}) {
    fs::create_directory(folder_ / folder);
    write(folder_ / folder / "0.png", "no picture");
  }
  const auto before = files();
  testing::internal::CaptureStderr();
  EXPECT_EQ(tool::match_command({at("l"), at("r"), "-o", at("out/maps/"), "--image", at("out/views/")}), 1);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(files(), before);
}

// A long run has temporary files when the signal arrives.
TEST_F(FilesTest, SignalsLeaveNoTemporaries) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    fs::create_directory(folder_ / "tall");
    Background synth(folder_, {"synth", "tall", "--tiled", "--no-truth", "--size", "1281x1000000"});
    while (!synth.has_ended() && fs::is_empty(folder_ / "tall")) std::this_thread::yield();
    ASSERT_FALSE(fs::is_empty(folder_ / "tall"));
    synth.send(signal);
    EXPECT_EQ(synth.wait(), 128 + signal);
    EXPECT_TRUE(fs::is_empty(folder_ / "tall")) << signal;
    fs::remove_all(folder_ / "tall");
  }
}

// Otherwise the first file that is opened gets the number of the stream, and messages are written to it.
TEST_F(FilesTest, ClosedStreamsAreNotTakenForFiles) {
  expect_refusal("match /proc/self/fd/0 text.png <&-", 1, {"/proc/self/fd/0 is a device"});
}

TEST_F(FilesTest, AFolderThatCannotBeLookedIntoIsNamed) {
  fs::create_symlink("loop", folder_ / "loop");
  expect_refusal("bench --data loop", 1, {"cannot use loop", "symbolic links", "check its name"});
}

TEST_F(FilesTest, MessagesHoldNoControlCharacters) {
  EXPECT_EQ(tool::printable("a\x1b[31m\r\nb\x7f\xC2\x9B\t"), "a\\x1b[31m\\x0d\\x0ab\\x7f\\x9b\\x09");
  EXPECT_EQ(tool::printable("640×480 ä"), "640×480 ä");
  const Outcome outcome = run("eval \"$(printf 'a\\033[31m\\rb.pfm')\" x.pfm");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "a\\x1b[31m\\rb.pfm")) << outcome.err;
  EXPECT_EQ(outcome.err.find_first_of("\x1b\r"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace parallax::test
