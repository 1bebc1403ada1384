// 'parallax match' on sequences: what one pair at a time would give, and what goes wrong with single frames.

#include <cstdio>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/parallax/pictures.h"

namespace parallax::test {
namespace {

constexpr int frames = 6;
const std::string options = " --disparities 16 --threads 2 ";

std::string numbered(const std::string& before, int number, const std::string& after) {
  return before + std::to_string(number) + after;
}

// Left and right of the frame, as OpenCV orders colours.
std::pair<cv::Mat, cv::Mat> frame_pictures(int number) {
  SynthParameters parameters;
  parameters.scene = Scene::layers;
  parameters.size = {64, 48};
  parameters.disparities = 16;
  parameters.seed = static_cast<std::uint64_t>(number);
  const SynthPair pair = synthesize(parameters);
  const auto bgr = [](const Plane<std::uint8_t>& image) {
    const cv::Mat rgb(image.height(), image.width() / 3, CV_8UC3, const_cast<std::uint8_t*>(image.row(0)),
                      static_cast<std::size_t>(image.view().stride));
    cv::Mat result;
    cv::cvtColor(rgb, result, cv::COLOR_RGB2BGR);
    return result;
  };
  return {bgr(pair.left), bgr(pair.right)};
}

class SequenceTest : public CommandTest {
 protected:
  // Folders l and r of 0.ppm, 1.ppm and so on.
  void make_folders(int count = frames) {
    for (const char* side : {"l", "r"}) fs::create_directory(folder_ / side);
    for (int i = 0; i < count; ++i) {
      const auto [left, right] = frame_pictures(i);
      save(numbered("l/", i, ".ppm"), left);
      save(numbered("r/", i, ".ppm"), right);
    }
  }

  void save(const std::string& name, const cv::Mat& picture) const {
    ASSERT_TRUE(cv::imwrite((folder_ / name).string(), picture));
  }

  void save_video(const std::string& name, const std::vector<cv::Mat>& pictures) const {
    cv::VideoWriter writer((folder_ / name).string(), cv::CAP_OPENCV_MJPEG,
                           cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 12, pictures.front().size());
    ASSERT_TRUE(writer.isOpened());
    for (const cv::Mat& picture : pictures) writer.write(picture);
  }

  // Videos l.avi, r.avi, and both.avi side by side.
  void make_videos() {
    std::vector<cv::Mat> left, right, both;
    for (int i = 0; i < frames; ++i) {
      const auto [l, r] = frame_pictures(i);
      left.push_back(l);
      right.push_back(r);
      cv::hconcat(l, r, both.emplace_back());
    }
    save_video("l.avi", left);
    save_video("r.avi", right);
    save_video("both.avi", both);
  }

  std::vector<cv::Mat> read_video(const std::string& name) const {
    cv::VideoCapture video((folder_ / name).string());
    std::vector<cv::Mat> pictures;
    for (cv::Mat picture; video.read(picture);) pictures.push_back(picture.clone());
    return pictures;
  }

  // The bytes of the map, and of the picture, that one pair gives.
  std::pair<std::string, std::string> match_pair(const std::string& left, const std::string& right,
                                                 const std::string& more = "") const {
    const Outcome outcome =
        run("match " + left + " " + right + options + more + " -o one.pfm --image one.png");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return {contents(folder_ / "one.pfm"), contents(folder_ / "one.png")};
  }

  void expect_all_match(const std::string& disparities, const std::string& images,
                        const std::string& more = "") const {
    for (int i = 0; i < frames; ++i) {
      const auto [disparity, image] = match_pair(numbered("l/", i, ".ppm"), numbered("r/", i, ".ppm"), more);
      EXPECT_TRUE(contents(folder_ / numbered(disparities, i, ".pfm")) == disparity) << i;
      EXPECT_TRUE(contents(folder_ / numbered(images, i, ".png")) == image) << i;
    }
  }

  bool exists(const std::string& name) const { return fs::exists(folder_ / name); }
};

TEST_F(SequenceTest, FoldersAndPatternsGiveTheSameAsSinglePairs) {
  make_folders();
  const Outcome folders = run("match l r" + options + "-o d/ --image d/");
  ASSERT_EQ(folders.status, 0) << folders.err;
  EXPECT_NE(folders.err.find("matched 6 of 6 frames of 64×48 by block on cpu: "), std::string::npos)
      << folders.err;
  expect_all_match("d/", "d/");
  const Outcome patterns = run("match l/%d.ppm r/%d.ppm" + options + "-o p%d.pfm --image p%02d.png");
  ASSERT_EQ(patterns.status, 0) << patterns.err;
  expect_all_match("p", "p0");
}

TEST_F(SequenceTest, MasksCalibrationAndPointCloudsAreThoseOfEveryFrame) {
  make_folders();
  cv::Mat mask(48, 64, CV_8U, cv::Scalar(255));
  mask.colRange(0, 20).setTo(0);
  save("mask.png", mask);
  ASSERT_EQ(run("synth calibrated --size 64x48 --disparities 16").status, 0);
  const std::string more = "--left-mask mask.png --right-mask mask.png --calib calibrated/calib.txt ";
  const Outcome outcome = run("match l r" + options + more + "-o d/ --image d/ --cloud %d.ply");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  expect_all_match("d/", "d/", more + "--cloud one.ply");
  EXPECT_TRUE(contents(folder_ / "5.ply") == contents(folder_ / "one.ply"));
  EXPECT_FALSE(contents(folder_ / "5.ply") == contents(folder_ / "4.ply"));
}

TEST_F(SequenceTest, ConfidenceIsToldOfEveryFrame) {
  make_folders(2);
  const std::string belief = "--method bp --disparities 16 --confidence ";
  ASSERT_EQ(run("match l r " + belief + "c/").status, 0);
  ASSERT_EQ(run("match l/1.ppm r/1.ppm " + belief + "one.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "c/1.pfm") == contents(folder_ / "one.pfm"));
}

TEST_F(SequenceTest, DeepPicturesStayDeep) {
  for (const char* side : {"l", "r"}) fs::create_directory(folder_ / side);
  for (int i = 0; i < 2; ++i) {
    const auto [left, right] = frame_pictures(i);
    for (const auto& [name, picture] : {std::pair{"l/", left}, {"r/", right}}) {
      cv::Mat deep;
      cv::extractChannel(picture, deep, 1);
      deep.convertTo(deep, CV_16U, 5);  // eight bits of it would be all but black
      save(numbered(name, i, ".pgm"), deep);
    }
  }
  ASSERT_EQ(run("match l r" + options + "-o d/").status, 0);
  EXPECT_TRUE(contents(folder_ / "d/1.pfm") == match_pair("l/1.pgm", "r/1.pgm").first);
}

TEST_F(SequenceTest, FramesOfAFolderAreInTheOrderOfTheirNumbers) {
  make_folders(3);
  for (const char* side : {"l", "r"}) {
    fs::rename(folder_ / side / "2.ppm", folder_ / side / "10.ppm");
    fs::rename(folder_ / side / "1.ppm", folder_ / side / "9.ppm");
    write(folder_ / side / "times.txt", "0 1 2");
    write(folder_ / side / ".hidden.ppm", "");
  }
  const Outcome outcome = run("match l r" + options + "-o %d.pfm");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contents(folder_ / "2.pfm") == match_pair("l/10.ppm", "r/10.ppm").first);
  EXPECT_FALSE(exists("3.pfm"));
}

TEST_F(SequenceTest, VideosGiveTheSameAsTheirFrames) {
  make_videos();
  const std::vector<cv::Mat> left = read_video("l.avi"), right = read_video("r.avi"),
                             both = read_video("both.avi");
  ASSERT_EQ(both.size(), static_cast<std::size_t>(frames));
  const Outcome two = run("match l.avi r.avi" + options + "-o d/");
  ASSERT_EQ(two.status, 0) << two.err;
  const Outcome one = run("match both.avi --side-by-side" + options + "-o s_%d.pfm");
  ASSERT_EQ(one.status, 0) << one.err;
  for (int i = 0; i < frames; ++i) {
    const auto n = static_cast<std::size_t>(i);
    save("left.png", left[n]);
    save("right.png", right[n]);
    save("left_half.png", both[n].colRange(0, 64));
    save("right_half.png", both[n].colRange(64, 128));
    EXPECT_TRUE(contents(folder_ / numbered("d/00000", i, ".pfm")) ==
                match_pair("left.png", "right.png").first);
    EXPECT_TRUE(contents(folder_ / numbered("s_", i, ".pfm")) ==
                match_pair("left_half.png", "right_half.png").first);
  }
}

TEST_F(SequenceTest, PicturesMayBeSideBySide) {
  make_folders(2);
  fs::create_directory(folder_ / "both");
  for (int i = 0; i < 2; ++i) {
    const auto [left, right] = frame_pictures(i);
    cv::Mat both;
    cv::hconcat(left, right, both);
    save(numbered("both/", i, ".png"), both);
  }
  const std::string expected = match_pair("l/1.ppm", "r/1.ppm").first;
  for (const char* input : {"both", "both/%d.png"}) {
    ASSERT_EQ(run(std::string("match --side-by-side ") + input + options + "-o d%d.pfm").status, 0);
    EXPECT_TRUE(contents(folder_ / "d1.pfm") == expected) << input;
  }
  ASSERT_EQ(run("match both/1.png --side-by-side" + options + "-o one.pfm").status, 0);
  EXPECT_TRUE(contents(folder_ / "one.pfm") == expected);
}

TEST_F(SequenceTest, ColouredVideosHaveOneScale) {
  make_videos();
  for (const char* name : {"v.avi", "v.mp4"}) {
    const Outcome outcome = run(std::string("match l.avi r.avi") + options + "-o d/ --video " + name);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<cv::Mat> video = read_video(name);
    ASSERT_EQ(video.size(), static_cast<std::size_t>(frames));
    for (int i = 0; i < frames; ++i) {
      const Plane<float> disparity = read_pfm((folder_ / numbered("d/00000", i, ".pfm")).string());
      const cv::Mat expected = tool::colour(disparity.view(), 0, 15);
      const double difference = cv::norm(video[static_cast<std::size_t>(i)], expected, cv::NORM_L1);
      EXPECT_LT(difference / (3.0 * 64 * 48), 12) << name << " " << i;
    }
  }
  const auto rate = [&](const char* name) {
    return cv::VideoCapture((folder_ / name).string()).get(cv::CAP_PROP_FPS);
  };
  EXPECT_EQ(rate("v.avi"), 12);
  ASSERT_EQ(run("match l.avi r.avi" + options + "--video v.avi --fps 5").status, 0);
  EXPECT_EQ(rate("v.avi"), 5);
}

TEST_F(SequenceTest, ColouredVideosMayHaveOddSizes) {
  for (const char* side : {"l", "r"}) {
    fs::create_directory(folder_ / side);
    save(std::string(side) + "/0.png", cv::Mat(1, 1, CV_8U, cv::Scalar(7)));
  }
  const Outcome outcome = run("match l r --video v.avi");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_video("v.avi").at(0).size(), cv::Size(2, 2));
}

TEST_F(SequenceTest, BrokenFramesAreNamedAndTheRestIsDone) {
  make_folders();
  write(folder_ / "l/2.ppm", contents(folder_ / "l/2.ppm").substr(0, 20));
  fs::remove(folder_ / "r/4.ppm");
  const Outcome outcome =
      run("match l/%d.ppm r/%d.ppm" + options + "-o d%d.pfm --image i%d.png --video v.avi --json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
  for (const char* line : {"parallax: frame 2: l/2.ppm: is no picture",
                           "\nparallax: frame 4: cannot read r/4.ppm: No such file or directory"})
    EXPECT_NE(outcome.err.find(line), std::string::npos) << outcome.err;
  for (int i = 0; i < frames; ++i) {
    EXPECT_EQ(exists(numbered("d", i, ".pfm")), i != 2 && i != 4);
    EXPECT_EQ(exists(numbered("i", i, ".png")), i != 2 && i != 4);
  }
  EXPECT_EQ(read_video("v.avi").size(), 4u);
  EXPECT_TRUE(contents(folder_ / "d5.pfm") == match_pair("l/5.ppm", "r/5.ppm").first);

  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["method"], "block");
  EXPECT_EQ(report["size"]["width"], 64);
  EXPECT_EQ(report["disparities"], 16);
  EXPECT_EQ(report["frames"], 6);
  ASSERT_EQ(report["failed"].size(), 2u);
  EXPECT_EQ(report["failed"][0]["number"], 2);
  EXPECT_EQ(report["failed"][0]["name"], "l/2.ppm");
  EXPECT_NE(std::string(report["failed"][1]["error"]).find("r/4.ppm"), std::string::npos);
  EXPECT_GT(report["frames_per_second"], 0);
  EXPECT_GT(report["milliseconds"]["search"], 0);
  EXPECT_GT(report["memory_bytes"], 0);
  EXPECT_EQ(report["valid"], 1.0);
  double sum = 0;
  for (const auto& share : report["status"]) sum += static_cast<double>(share);
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST_F(SequenceTest, TheFirstFrameMayBeBroken) {
  make_folders(3);
  write(folder_ / "l/0.ppm", "");
  EXPECT_EQ(run("match l r" + options + "-o d/").status, 1);
  EXPECT_FALSE(exists("d/0.pfm"));
  EXPECT_TRUE(contents(folder_ / "d/1.pfm") == match_pair("l/1.ppm", "r/1.ppm").first);
}

TEST_F(SequenceTest, AllFramesMayBeBroken) {
  make_folders(2);
  for (const char* name : {"l/0.ppm", "l/1.ppm"}) write(folder_ / name, "P6");
  const Outcome outcome = run("match l r" + options + "--video v.avi --json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_FALSE(exists("v.avi"));
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["frames"], 2);
  EXPECT_EQ(report["failed"].size(), 2u);
  EXPECT_EQ(report["frames_per_second"], 0.0);
}

TEST_F(SequenceTest, AFrameOfAnotherSizeOrDepthIsBroken) {
  make_folders();
  for (const char* side : {"l", "r"}) {
    const std::string folder = side;
    save(folder + "/1.ppm", cv::Mat(48, 60, CV_8UC3, cv::Scalar(1, 2, 3)));
    save(folder + "/3.ppm", cv::Mat(48, 64, CV_16UC3, cv::Scalar(1, 2, 3)));
  }
  save("r/4.ppm", cv::Mat(47, 64, CV_8UC3, cv::Scalar(1, 2, 3)));
  const Outcome outcome = run("match l r" + options + "-o d/");
  EXPECT_EQ(outcome.status, 1);
  for (const char* line : {"frame 1: l/1.ppm is 60×48 with 8 bits, the frames before are 64×48 with 8 bits",
                           "frame 3: l/3.ppm is 64×48 with 16 bits", "frame 4: l/4.ppm is 64×48",
                           "r/4.ppm is 64×47", "matched 3 of 6 frames"})
    EXPECT_NE(outcome.err.find(line), std::string::npos) << line << " in " << outcome.err;
  EXPECT_TRUE(exists("d/5.pfm"));
  EXPECT_FALSE(exists("d/1.pfm") || exists("d/3.pfm") || exists("d/4.pfm"));
}

TEST_F(SequenceTest, ABrokenFrameOfAVideoLeavesTheOthersInStep) {
  make_videos();
  std::string bytes = contents(folder_ / "r.avi");
  std::size_t third = 0, fourth = 0;
  for (int i = 0; i < 4; ++i) {
    third = fourth;
    fourth = bytes.find("00dc", fourth + 4);
  }
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(third) + 8,
            bytes.begin() + static_cast<std::ptrdiff_t>(fourth), '\0');
  write(folder_ / "r.avi", bytes);
  const std::vector<cv::Mat> left = read_video("l.avi");
  const Outcome outcome = run("match l.avi r.avi" + options + "-o d%d.pfm");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("frame 2: r.avi: frame 2 is damaged"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("matched 5 of 6 frames"), std::string::npos) << outcome.err;
  make_videos();
  ASSERT_EQ(run("match l.avi r.avi" + options + "-o e%d.pfm").status, 0);
  for (const int i : {0, 1, 3, 4, 5})
    EXPECT_TRUE(contents(folder_ / numbered("d", i, ".pfm")) == contents(folder_ / numbered("e", i, ".pfm")));
}

TEST_F(SequenceTest, VideosThatEndEarlyAreToldOf) {
  make_videos();
  std::vector<cv::Mat> fewer = read_video("r.avi");
  fewer.resize(4);
  save_video("short.avi", fewer);
  const Outcome shorter = run("match l.avi short.avi" + options);
  EXPECT_EQ(shorter.status, 1);
  EXPECT_NE(shorter.err.find("frame 4: short.avi ends here, l.avi goes on"), std::string::npos)
      << shorter.err;
  const std::string bytes = contents(folder_ / "both.avi");
  std::size_t third = 0;
  for (int i = 0; i < 3; ++i) third = bytes.find("00dc", third + 4);
  write(folder_ / "both.avi", bytes.substr(0, third));
  const Outcome cut = run("match both.avi --side-by-side" + options);
  EXPECT_EQ(cut.status, 1);
  EXPECT_NE(cut.err.find("both.avi ends after 2 of 6 frames"), std::string::npos) << cut.err;
}

TEST_F(SequenceTest, RefusesInputsThatMakeNoSequence) {
  make_folders(3);
  make_videos();
  fs::create_directories(folder_ / "none");
  fs::create_directories(folder_ / "other");
  for (const char* name : {"a.ppm", "b.ppm", "c.ppm"})
    fs::copy(folder_ / "r/0.ppm", folder_ / "other" / name);
  expect_refusal("match l none", 1, {"none", "holds no pictures"});
  expect_refusal("match l r/0.ppm", 1, {"l is a directory", "r/0.ppm is a picture", "two of a kind"});
  expect_refusal("match l.avi r", 1, {"l.avi is a video", "r is a directory"});
  expect_refusal("match x%d.ppm r/%d.ppm", 1, {"no file is called x%d.ppm"});
  expect_refusal("match l/%02d.ppm r/%d.ppm", 1, {"no file is called l/%02d.ppm"});
  expect_refusal("match l%d/%d.ppm r/%d.ppm", 2, {"l%d/%d.ppm", "more than one"});
  expect_refusal("match l%d/0.ppm r/%d.ppm", 2, {"l%d/0.ppm", "folder"});
  expect_refusal("match l", 2, {"RIGHT", "required"});
  expect_refusal("match l r --side-by-side", 2, {"--side-by-side", "leave out r"});
  expect_refusal("match l --side-by-side --disparities 33", 2, {"32 pixels wide"});
  EXPECT_NE(run("match l other" + options).err.find("names in l and other differ: paired in their order"),
            std::string::npos);
  fs::rename(folder_ / "other/b.ppm", folder_ / "other/1.ppm");
  expect_refusal("match l other", 1, {"other has no 0.ppm", "same names"});
  fs::remove(folder_ / "other/a.ppm");
  expect_refusal("match l other", 1, {"l holds 3 pictures, other 2"});
}

TEST_F(SequenceTest, AnOddWidthHasNoTwoHalves) {
  save("odd.png", cv::Mat(4, 31, CV_8U, cv::Scalar(0)));
  expect_refusal("match odd.png --side-by-side", 1, {"odd.png", "31 pixels wide", "even"});
}

TEST_F(SequenceTest, RefusesOutputsThatMakeNoSense) {
  make_folders(2);
  run("devices");
  const auto before = files();
  const std::string sequence = "match l r" + options, one = "match l/0.ppm r/0.ppm" + options;
  expect_refusal(sequence + "-o d.pfm", 2, {"--output", "d.pfm", "d_%04d.pfm", "folder"});
  expect_refusal(sequence + "-o d_%d.bmp", 2, {"d_%d.bmp", ".pfm"});
  expect_refusal(sequence + "-o %d_%d.pfm", 2, {"%d_%d.pfm", "more than one"});
  expect_refusal(sequence + "--image v.png", 2, {"--image", "d_%04d.png"});
  expect_refusal(sequence + "-o d%d.png --image ./d%d.png", 2, {"d%d.png", "twice"});
  expect_refusal(sequence + "-o l/%d.png --image l/", 2, {"l/0.png", "over another file"});
  expect_refusal(sequence + "--video v.gif", 2, {"v.gif", ".avi or .mp4"});
  expect_refusal(sequence + "--fps 5", 2, {"--fps", "--video"});
  expect_refusal(sequence + "--video v.avi --fps -5", 2, {"--fps", "-5"});
  expect_refusal(sequence + "--repeat 2", 2, {"--repeat", "one pair"});
  expect_refusal(sequence + "--method bp --energy --json", 2, {"--energy", "one pair"});
  expect_refusal(sequence + "--left-mask l/0.ppm", 1, {"l/0.ppm", "no mask"});
  expect_refusal(one + "--video v.avi", 2, {"--video", "sequence"});
  expect_refusal(one + "-o l", 2, {"l is a directory"});
  expect_refusal(one + "--image d/", 2, {"d/ is a directory"});
  EXPECT_EQ(files(), before);
}

TEST_F(SequenceTest, NeverWritesOverWhatItReads) {
  make_folders(2);
  for (const char* side : {"l", "r"})
    for (const char* number : {"0", "1"})
      save(std::string(side) + "/" + number + ".png", frame_pictures(number[0] - '0').first);
  const std::string before = contents(folder_ / "l/1.png");
  expect_refusal("match l/%d.png r/%d.png" + options + "-o ./l/%01d.png", 2,
                 {"l/0.png", "over another file"});
  expect_refusal("match l/%d.png r/%d.png" + options + "--image r/", 2, {"r/0.png", "over another file"});
  EXPECT_EQ(contents(folder_ / "l/1.png"), before);
}

TEST_F(SequenceTest, StopsWhenItCannotWrite) {
  make_folders();
  run("devices");
  const auto before = files();
  expect_refusal("match l r" + options + "-o nowhere/%d.pfm", 1, {"nowhere/", "No such file"});
  expect_refusal("match l r" + options + "-o text.png/", 1, {"cannot make folder text.png/"});
  expect_refusal("match l r" + options + "-o %d.pfm", 1, {".pfm", "File too large"}, "ulimit -f 8;");
  expect_refusal("match l r" + options + "--video v.avi", 1, {"v.avi", "disk"}, "ulimit -f 8;");
  expect_refusal("match l r" + options + "--video nowhere/v.avi", 1, {"nowhere/", "No such file"});
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace parallax::test
