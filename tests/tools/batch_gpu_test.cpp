// SPDX-License-Identifier: Apache-2.0
// 'parallax batch' on GPUs, some of which stop working: on the emulated GPU.

#include "devices/gpu_test.h"
#include "tools/command/command.h"
#include "tools/picture_files.h"
#include "tools/sequence_fixture.h"

namespace parallax::test {
namespace {

constexpr int illegal_address = 700;

class BatchOnGpusTest : public SequenceTest {
 protected:
  static constexpr int pairs = 24;

  void SetUp() override {
    PARALLAX_NEEDS_EMULATED_GPU();
    emulated()->set_device_count(2);
    std::string list;
    for (int i = 0; i < pairs; ++i) {
      const auto [left, right] = frame_pictures(i);
      const auto part = [&](const Picture& picture) {
        return green_of(picture.part({16, 8, {24 + i % 3, 16}}));
      };
      save(numbered("l", i, ".pgm"), part(left));
      save(numbered("r", i, ".pgm"), part(right));
      list += numbered("l", i, ".pgm ") + numbered("r", i, ".pgm\n");
    }
    write(folder_ / "list.txt", list);
  }

  // Runs in this process, where the emulated GPU can be controlled.
  Outcome batch(const std::string& device, const std::string& out, bool resume = false) const {
    const std::string folder = folder_.string() + "/";
    testing::internal::CaptureStderr();
    int status = -1;
    std::string error;
    try {
      tool::Arguments arguments{folder + "list.txt",
                                "--method",
                                "block",
                                "--disparities",
                                "8",
                                "--device",
                                device,
                                "-o",
                                folder + out + "/",
                                "--results",
                                folder + out + ".jsonl"};
      if (resume) arguments.push_back("--resume");
      status = tool::batch_command(arguments);
    } catch (...) {
      const tool::CommandFailure failure = tool::current_failure();
      status = failure.status;
      error = failure.message;
    }
    return {status, "", testing::internal::GetCapturedStderr() + error};
  }

  void expect_same_maps(const std::string& out) const {
    for (int i = 0; i < pairs; ++i)
      EXPECT_TRUE(contents(folder_ / out / numbered("l", i, ".pfm")) ==
                  contents(folder_ / "cpu" / numbered("l", i, ".pfm")))
          << out << i;
  }
};

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_F(BatchOnGpusTest, PairsOfAGpuThatDiesGoToTheOthers) {
  ASSERT_EQ(batch("cpu", "cpu").status, 0);
  // The processor may match all pairs except the first.
  for (const auto& [devices, nth] : {std::pair{"cuda:0,cpu", 1}, {"cuda:all", 10}}) {
    const Outcome whole = batch(devices, "whole");
    EXPECT_EQ(whole.status, 0) << whole.err;
    EXPECT_EQ(count_of(whole.err, "no longer used"), 0u) << whole.err;
    expect_same_maps("whole");
    emulated()->fail_call("cuGraphLaunch", nth, illegal_address);
    const Outcome outcome = batch(devices, "dying");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(count_of(outcome.err, " is no longer used, its pairs go to the other devices: CUDA: "), 1u)
        << outcome.err;
    EXPECT_EQ(count_of(outcome.err, "parallax: cuda:"), 1u) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "matched 24 of 24 pairs")) << outcome.err;
    expect_same_maps("dying");
  }
}

TEST_F(BatchOnGpusTest, EndsWithoutADeviceAndMayBeResumed) {
  ASSERT_EQ(batch("cpu", "cpu").status, 0);
  emulated()->fail_call("cuGraphLaunch", 10, illegal_address);
  const Outcome outcome = batch("cuda:0", "out");
  EXPECT_EQ(outcome.status, tool::failed_for_now);
  for (const char* word : {"no device is left", "CUDA: ", "--resume"})
    EXPECT_TRUE(contains(outcome.err, word)) << outcome.err;
  // Any pairs may have been in work.
  const auto is_done = [&](int i) { return exists("out/" + numbered("l", i, ".pfm")); };
  int done = 0;
  for (int i = 0; i < pairs; ++i) done += is_done(i) ? 1 : 0;
  EXPECT_LT(done, pairs);
  EXPECT_EQ(batch("cpu", "out", true).status, 0);
  expect_same_maps("out");
}

}  // namespace
}  // namespace parallax::test
