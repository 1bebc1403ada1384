// SPDX-License-Identifier: Apache-2.0
// Cameras, which a script stands for: it says when each picture is taken, and when the camera is gone. And
// maps in shared memory.
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "tools/command/command.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures.h"
#include "tools/files/shared_maps.h"

namespace parallax::test {
namespace {

// Names of shared memory are those of the whole machine.
std::string own_name(const std::string& name) {
  return "test-" + std::to_string(::getpid()) + "-" + name;
}

class LiveTest : public CommandTest {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "bin");
    write(folder_ / "bin/ffmpeg", R"(#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" = -i ] && device=${2#file:}
  shift
done
printf '#tb 0: 1/1000\n#dimensions 0: 64x48\n' >&3
while read stamp delay; do
  sleep $delay
  echo "0, $stamp, $stamp, 1, 9216, 0x0" >&3
  cat "$device.rgb"
done < "$device"
)");
    fs::permissions(folder_ / "bin/ffmpeg", fs::perms::owner_all);
    SynthParameters parameters;
    parameters.size = {64, 48};
    parameters.disparities = 16;
    const SynthPair pair = synthesize(parameters);
    write_raw("l", pair.left);
    write_raw("r", pair.right);
  }

  void write_raw(const std::string& camera, const Plane<std::uint8_t>& picture) const {
    std::string bytes;
    for (int y = 0; y < picture.height(); ++y)
      bytes.append(reinterpret_cast<const char*>(picture.row(y)), static_cast<std::size_t>(picture.width()));
    write(folder_ / (camera + ".rgb"), bytes);
  }

  // Time stamps in milliseconds; a picture comes every 20 ms, unless another time is given.
  void script(const std::string& camera, const std::vector<int>& stamps,
              const std::string& delay = "0.02") const {
    std::string text;
    for (const int stamp : stamps) text += std::to_string(stamp) + " " + delay + "\n";
    write(folder_ / camera, text);
  }
  static std::vector<int> stamps(int first, int step, int count) {
    std::vector<int> all;
    for (int i = 0; i < count; ++i) all.push_back(first + i * step);
    return all;
  }

  // While one exists, programs of this process find the script first.
  struct PathOfScript {
    std::string before = std::getenv("PATH");
    explicit PathOfScript(const fs::path& folder) {
      ::setenv("PATH", ((folder / "bin").string() + ":" + before).c_str(), 1);
    }
    ~PathOfScript() { ::setenv("PATH", before.c_str(), 1); }
  };

  Outcome match(const std::string& options) const {
    return run(
        "match --camera l,r --method block --device cpu --threads 1 --disparities 16 --json " + options,
        "PATH=\"$PWD/bin:$PATH\"");
  }
};

TEST_F(LiveTest, TwoCamerasArePairedByTheirTimeStamps) {
  script("l", stamps(0, 100, 200));
  script("r", stamps(8, 100, 200));
  const Outcome outcome = match("--maps 6 --temporal");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["maps"], 6);
  EXPECT_NEAR(json["skew_ms"]["median"].get<double>(), 8, 0.01);
  EXPECT_GE(json["pairs"].get<int>(), 6);
  EXPECT_GT(json["latency_ms"]["median"].get<double>(), 0);
}

TEST_F(LiveTest, PicturesThatAreTooFarApartAreNoPair) {
  script("l", stamps(0, 100, 20));
  script("r", stamps(8, 100, 20));
  const Outcome outcome = match("--maps 1 --max-skew 5");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.err, "takes no more pictures: connect the camera again")) << outcome.err;
}

TEST_F(LiveTest, ASlowerCameraLeavesPicturesWithoutAPartner) {
  script("l", stamps(0, 100, 200));
  script("r", stamps(0, 200, 100), "0.04");
  const Outcome outcome = match("--maps 6");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_GE(json["unpaired_pictures"].get<int>(), 4);
  EXPECT_NEAR(json["skew_ms"]["highest"].get<double>(), 0, 0.01);
}

TEST_F(LiveTest, TimeStampsThatGoBackAreALineAndTheStreamGoesOn) {
  std::vector<int> back = stamps(0, 100, 4);
  for (const int stamp : stamps(150, 100, 200)) back.push_back(stamp);
  script("l", back);
  script("r", stamps(0, 100, 204));
  const Outcome outcome = match("--maps 12");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err,
            "parallax: the time stamps of l went back by 0.150 s: pictures are paired by when they come from "
            "now on\n");
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["maps"], 12);
}

TEST_F(LiveTest, ACameraThatIsGoneEndsTheStreamOrIsWaitedFor) {
  script("l", stamps(0, 100, 6), "0.05");
  script("r", stamps(0, 100, 6), "0.05");
  const Outcome ended = match("");
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(contains(ended.err, " takes no more pictures: connect the camera again\n")) << ended.err;
  const int maps = nlohmann::json::parse(ended.out)["maps"];
  EXPECT_GE(maps, 1);
  EXPECT_LE(maps, 6);
  const Outcome waited = match("--wait --maps 8");
  EXPECT_EQ(waited.status, 0) << waited.err;
  EXPECT_TRUE(contains(waited.err, "l is back\n")) << waited.err;
  EXPECT_EQ(nlohmann::json::parse(waited.out)["maps"], 8);
}

TEST_F(LiveTest, ACameraThatSendsNothingMoreDoesNotKeepTheCommand) {
  script("l", {0, 100, 200}, "0.02");
  write(folder_ / "l", contents(folder_ / "l") + "300 100\n");
  script("r", stamps(0, 100, 400));
  const PathOfScript path(folder_);
  Background background(folder_, {"match", "--camera", "l,r", "--method", "block", "--device", "cpu",
                                  "--threads", "1", "--disparities", "16", "--json"});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto begin = std::chrono::steady_clock::now();
  background.send(SIGINT);
  EXPECT_EQ(background.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(LiveTest, OneCameraMayHoldBothViews) {
  script("l", stamps(0, 100, 200));
  const Outcome outcome =
      run("match --camera l --side-by-side --method block --device cpu --disparities 8 --maps 4 --json",
          "PATH=\"$PWD/bin:$PATH\"");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["maps"], 4);
  expect_refusal("match --camera l --side-by-side --method block --max-skew 5", 2,
                 {"--max-skew is for two cameras"});
}

// With ffmpeg itself: a video stands for a camera, and a signal to the whole group, as from a terminal,
// completes the video of the maps.
TEST_F(LiveTest, ASignalCompletesTheVideo) {
  if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "ffmpeg is not installed";
  const std::string make = "cd '" + folder_.string() +
                           "' && ffmpeg -nostdin -v error -f rawvideo -pixel_format rgb24 -video_size 64x48 "
                           "-framerate 25 -stream_loop 9 -i l.rgb -c:v mjpeg -q:v 2 both.avi";
  ASSERT_EQ(std::system(make.c_str()), 0);
  Background background(
      folder_, {"match", "--camera", "both.avi", "--side-by-side", "--method", "block", "--device", "cpu",
                "--disparities", "8", "--video", "maps.avi", "--temporal"});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  background.send(SIGINT);
  EXPECT_EQ(background.wait(), 0) << contents(folder_ / "background.txt");
  EXPECT_GT(fs::file_size(folder_ / "maps.avi"), 1000u);
  expect_refusal("match --camera both.avi --side-by-side --method block --video both.avi", 2, {"both.avi"});
}

TEST_F(LiveTest, RefusesWhatIsForFiles) {
  const std::string live = "match --camera 0,1 --method block ";
  expect_refusal(live + "-o map.pfm", 2, {"--output", "--video and --share"});
  expect_refusal(live + "left.png", 2, {"leave out left.png"});
  expect_refusal("match --camera 0 --method block", 2, {"give two cameras, or one that has both views"});
  expect_refusal("match text.png text.png --share maps", 2, {"--share is for cameras: give --camera"});
  expect_refusal("match --method block", 2, {"LEFT is required"});
  expect_refusal("match --camera /dev/none0,/dev/none1 --method block", 1, {"/dev/none0"});
  expect_refusal(live + "--temporal --repeat 3", 2, {"--repeat"});
  expect_refusal(live + "--device cpu,reference", 2, {"--camera is matched on one device"});
}

TEST_F(LiveTest, MapsAreShared) {
  const std::string name = own_name("shared");
  script("l", stamps(0, 100, 400));
  script("r", stamps(3, 100, 400));
  {
    const PathOfScript path(folder_);
    Background background(folder_, {"match", "--camera", "l,r", "--method", "block", "--device", "cpu",
                                    "--threads", "1", "--disparities", "16", "--share", name});
    std::optional<tool::SharedMaps> maps;
    for (int i = 0; i < 1000 && !maps; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) try {
        maps.emplace(name);
      } catch (const Error&) {
        // Not yet.
      }
    ASSERT_TRUE(maps);
    EXPECT_EQ(maps->size(), (Size{64, 48}));
    const Outcome watched = run("watch " + name + " -o newest.pfm --image newest.png");
    ASSERT_EQ(watched.status, 0) << watched.err;
    const Plane<float> file = tool::read_disparity((folder_ / "newest.pfm").string());
    EXPECT_GT(fs::file_size(folder_ / "newest.png"), 100u);
    const std::optional<tool::SharedMap> newest = maps->newest();
    ASSERT_TRUE(newest);
    // The pictures are always the same.
    EXPECT_TRUE(same_bytes(file, newest->result.disparity));
    EXPECT_NEAR(newest->about.skew, 0.003, 1e-9);
    EXPECT_LE(newest->about.arrival, newest->about.written);
    EXPECT_FALSE(maps->has_ended());
    background.send(SIGINT);
    const Outcome followed = run("watch " + name);
    EXPECT_TRUE(followed.status == 0 ? contains(followed.err, " maps of 64×48, of ")
                                     : contains(followed.err, "there is no shared memory"))
        << followed.err;
    EXPECT_EQ(background.wait(), 0);
    EXPECT_TRUE(maps->has_ended());
  }
  expect_refusal("watch " + name, 1, {"there is no shared memory " + name});
}

TEST_F(LiveTest, SharedMemoryHasOneWriterAndOneForm) {
  const std::string name = own_name("memory");
  constexpr Size size{5, 3};
  Result result(size, 1);
  {
    tool::SharedMaps writer(name, size, nullptr);
    const tool::SharedMaps reader(name);
    EXPECT_FALSE(reader.newest());
    EXPECT_THROW(tool::SharedMaps(name, size, nullptr), Error);
    for (std::uint64_t number = 0; number < 11; ++number) {
      result.disparity.at(4, 2) = static_cast<float>(number);
      writer.write(
          {.sequence = 0, .number = 2 * number, .arrival = 5, .written = 6, .skew = -0.5, .unused = {}},
          result);
      const auto newest = reader.newest();
      ASSERT_TRUE(newest);
      EXPECT_TRUE(same_bytes(newest->result.disparity, result.disparity));
      EXPECT_TRUE(same_bytes(newest->result.status, result.status));
      EXPECT_EQ(newest->about.number, 2 * number);
      EXPECT_EQ(newest->about.skew, -0.5);
    }
    EXPECT_EQ(reader.count(), 11u);
    EXPECT_FALSE(reader.has_ended());
  }
  EXPECT_THROW((tool::SharedMaps(name)), Error);
  EXPECT_THROW((tool::SharedMaps("a/b")), tool::UsageError);
  // Memory of somebody else stays as it is; that of a process that is gone is replaced.
  const std::string path = "/parallax-" + name;
  const int other = ::shm_open(path.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(::ftruncate(other, 8192), 0);
  EXPECT_THROW((tool::SharedMaps(name)), Error);
  EXPECT_THROW(tool::SharedMaps(name, size, nullptr), Error);
  ::shm_unlink(path.c_str());
  ::close(other);
  if (const pid_t child = ::fork(); child == 0) {
    new tool::SharedMaps(name, size, nullptr);
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(tool::SharedMaps(name).has_ended());
  EXPECT_NO_THROW(tool::SharedMaps(name, Size{7, 7}, nullptr));
}

}  // namespace
}  // namespace parallax::test
