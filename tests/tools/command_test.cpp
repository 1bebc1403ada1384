// SPDX-License-Identifier: Apache-2.0
// The command line as a user sees it: the binary, its files, messages and exit statuses.

#include "tools/command/command.h"

#include <nlohmann/json.hpp>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/calibration.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

const std::string by_any_method = "match pair/left.png pair/right.png ";
const std::string pair_of_files = by_any_method + "--method block ";

TEST_F(CommandTest, MatchesEvaluatesAndWritesEveryKindOfFile) {
  make_pair();
  const Outcome match =
      run(pair_of_files + "-o d.pfm --image d.png --cloud d.ply --calib pair/calib.txt --json");
  ASSERT_EQ(match.status, 0) << match.err;
  const auto report = nlohmann::json::parse(match.out);
  EXPECT_EQ(report["method"], "block");
  EXPECT_EQ(report["device"], "cpu");
  EXPECT_EQ(report["size"]["width"], 96);
  EXPECT_EQ(report["disparities"], 16);  // calib.txt's ndisp
  EXPECT_EQ(report["parameters"]["window"], 9);
  for (const char* key : {"total", "match", "upload", "download", "prepare", "search", "left_right_check",
                          "speckle", "fill", "median"})
    EXPECT_TRUE(report["milliseconds"].contains(key)) << key;
  EXPECT_GT(report["memory_bytes"], 0);
  EXPECT_EQ(report["valid"], 1.0);

  EXPECT_EQ(tool::read_picture((folder_ / "d.png").string()).size(), (Size{96, 64}));
  EXPECT_TRUE(
      contents(folder_ / "d.ply").starts_with("ply\nformat binary_little_endian 1.0\nelement vertex "));
  EXPECT_GT(fs::file_size(folder_ / "d.ply"), 15u * 96 * 64 * 9 / 10);
  const Outcome eval = run("eval d.pfm pair/disp0GT.pfm --mask pair/mask0nocc.png --json");
  ASSERT_EQ(eval.status, 0) << eval.err;
  const auto error = nlohmann::json::parse(eval.out);
  for (const char* key : {"count", "bad0.5", "bad1", "bad2", "bad4", "avgerr", "rms", "a50", "a90", "a95",
                          "a99", "d1", "coverage", "mismatches"})
    EXPECT_TRUE(error.contains(key)) << key;
  EXPECT_LT(error["bad1"], 0.2);
}

// The right picture is a row lower.
TEST_F(CommandTest, TellsByHowManyRowsAPairIsOff) {
  make_pair();
  const Picture right = tool::read_picture((folder_ / "pair/right.png").string());
  save((folder_ / "lower.png").string(),
       make_picture(right.size(), right.channels(), BitDepth::bits8, [&](int x, int y, int channel) {
         return value_at(right, x, std::max(0, y - 1), channel);
       }));
  const std::string match = "match pair/left.png lower.png --method block --disparities 16 ";
  const Outcome outcome = run(match + "--row-tolerance 2 --rows-off v.pfm -o d.pfm --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto rows = nlohmann::json::parse(outcome.out)["rows_off"];
  const Plane<float> map = read_pfm((folder_ / "v.pfm").string());
  EXPECT_EQ(rows["pixels"], map.size().pixels());  // all are filled
  EXPECT_NEAR(rows["median"], 1, 0.2);
  EXPECT_NEAR(rows["offsets"]["mean"], 1, 0.2);
  EXPECT_NEAR(rows["offsets"]["50"], map.at(map.width() / 2, map.height() / 2), 0.2);
  EXPECT_NEAR(rows["model"]["shift"], 1, 0.2);
  EXPECT_NEAR(rows["model"]["rotation"], 0, 0.2);
  EXPECT_TRUE(contains(run(match + "--row-tolerance 1").err, "rows off: median "));
  EXPECT_FALSE(contains(run(match).err, "rows off"));
  expect_refusal(match + "--rows-off v.pfm", 2, {"--rows-off needs --row-tolerance"});
  expect_refusal(match + "--row-tolerance 1 --rows-off v.png", 2, {"--rows-off is v.png", ".pfm or .tiff"});
  expect_refusal("match pair/left.png lower.png --method tiled-bp --rows-off v.pfm", 2,
                 {"--rows-off works only"});
}

TEST_F(CommandTest, DisparityFilesOfAllKindsHoldTheSame) {
  make_pair();
  const std::string options = "--disparities 16 --fill none -o ";
  for (const char* name : {"d.pfm", "d.png", "d.tiff"})
    ASSERT_EQ(run(pair_of_files + options + name).status, 0);
  // In KITTI's format 0 means "none", so disparity 0 is written as 1/256; no error is larger.
  for (const char* name : {"d.png", "d.tiff"}) {
    const auto error = nlohmann::json::parse(run(std::string("eval ") + name + " d.pfm --json").out);
    EXPECT_EQ(error["coverage"], 1.0) << name;
    EXPECT_LE(error["a99"], 1.0 / 256) << name;
  }
  const Picture png = tool::read_picture((folder_ / "d.png").string());
  const Plane<float> pfm = read_pfm((folder_ / "d.pfm").string());
  int missing = 0;
  for (int y = 0; y < pfm.height(); ++y) {
    for (int x = 0; x < pfm.width(); ++x) {
      const bool none = !(pfm.at(x, y) < 1e9f);
      missing += none;
      EXPECT_EQ(value_at(png, x, y) == 0, none);
    }
  }
  EXPECT_GT(missing, 0);
}

TEST_F(CommandTest, ReadsGrayColourDeepAndCompressedPictures) {
  make_pair();
  const Picture left = tool::read_picture((folder_ / "pair/left.png").string()),
                right = tool::read_picture((folder_ / "pair/right.png").string());
  for (const std::string kind : {".pgm", ".ppm", ".jpg", ".webp", ".tiff", ".png"}) {
    for (const bool deep : {false, true}) {
      if (deep && (kind == ".jpg" || kind == ".webp")) continue;
      for (const auto& [name, picture] : {std::pair{"l", left}, {"r", right}}) {
        const Picture shown = kind == ".pgm" ? green_of(picture) : picture;
        save((folder_ / (name + kind)).string(), deep ? deepened(shown, 257) : shown);
      }
      const Outcome outcome =
          run("match l" + kind + " r" + kind + " --method block --disparities 16 -o d.pfm");
      ASSERT_EQ(outcome.status, 0) << kind << outcome.err;
      const auto error =
          nlohmann::json::parse(run("eval d.pfm pair/disp0GT.pfm --mask pair/mask0nocc.png --json").out);
      EXPECT_LT(error["bad1"], 0.25) << kind << " " << deep;
    }
  }
}

TEST_F(CommandTest, SynthGivesTheSameBytesForTheSameSeed) {
  for (const char* name : {"a", "b"})
    ASSERT_EQ(run(std::string("synth ") + name + " --size 50x40 --seed 7").status, 0);
  ASSERT_EQ(run("synth c --size 50x40 --seed 8").status, 0);
  for (const char* file : {"left.png", "right.png", "disp0GT.pfm", "disp1GT.pfm", "mask0nocc.png",
                           "mask1nocc.png", "calib.txt"}) {
    EXPECT_EQ(contents(folder_ / "a" / file), contents(folder_ / "b" / file)) << file;
    EXPECT_FALSE(contents(folder_ / "a" / file).empty()) << file;
  }
  EXPECT_NE(contents(folder_ / "a/left.png"), contents(folder_ / "c/left.png"));
}

TEST_F(CommandTest, DevicesListsEveryDeviceWithItsMethods) {
  const auto devices = nlohmann::json::parse(run("devices --json").out);
  ASSERT_GE(devices.size(), 2u);
  EXPECT_EQ(devices[0]["device"], "reference");
  EXPECT_EQ(devices[1]["device"], "cpu");
  EXPECT_EQ(devices[1]["methods"][0], "block");
}

TEST_F(CommandTest, HelpAndVersionGoToStandardOutput) {
  for (const char* arguments : {"--help", "match --help", "match --help-all", "match --method block --help",
                                "eval --help", "bench -h", "synth --help", "devices --help", "--version"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments;
    EXPECT_FALSE(outcome.out.empty()) << arguments;
    EXPECT_EQ(outcome.err, "") << arguments;
  }
}

// Only the devices and presets of the method in this build.
TEST_F(CommandTest, HelpNamesTheDevicesAndPresetsOfTheMethod) {
  const auto devices = [&](const std::string& method) {
    const std::string help = run("match --method " + method + " --help").out;
    const std::size_t line = help.find("--device NAME");
    return help.substr(line, help.find("--threads", line) - line);
  };
  for (const char* method : {"block", "bp", "census", "tiled-bp"}) {
    EXPECT_TRUE(contains(devices(method), "auto, reference, cpu")) << devices(method);
    for (const MatcherOnDevice& entry : list_matchers())
      if (entry.method == method) {
        EXPECT_TRUE(contains(devices(method), name(entry.device))) << devices(method);
      }
  }
  EXPECT_FALSE(contains(devices("tiled-bp"), "opencl"));
  EXPECT_TRUE(contains(run("match --help").out, "grauer-gray-2019"));
  EXPECT_TRUE(contains(run("match --method tiled-bp --help").out, "memocode-2013"));
}

TEST_F(CommandTest, HelpLeavesTheLaboratoryToHelpAll) {
  const std::pair<const char*, const char*> options[] = {
      {"block", "--configure"}, {"census", "--padding"}, {"tiled-bp", "--sweep-order"}};
  for (const auto& [method, option] : options) {
    const std::string match = std::string("match --method ") + method;
    EXPECT_FALSE(contains(run(match + " --help").out, option)) << option;
    EXPECT_TRUE(contains(run(match + " --help-all").out, option)) << option;
  }
}

TEST_F(CommandTest, RefusesBadPictures) {
  make_pair();
  const std::string left = contents(folder_ / "pair/left.png");
  write(folder_ / "cut.png", left.substr(0, left.size() / 2));
  save((folder_ / "whole.jpg").string(), tool::read_picture((folder_ / "pair/left.png").string()));
  const std::string jpeg = contents(folder_ / "whole.jpg");
  write(folder_ / "cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  expect_refusal("match missing.png pair/right.png", 1, {"missing.png", "No such file"});
  expect_refusal("match empty.png pair/right.png", 1, {"empty.png", "empty"});
  expect_refusal("match text.png pair/right.png", 1, {"text.png", "not a picture"});
  expect_refusal("match cut.png pair/right.png", 1, {"cut.png", "damaged"});
  expect_refusal("match cut.jpg pair/right.png", 1, {"cut.jpg", "damaged"});
  expect_refusal("match pair pair/right.png", 1, {"pair", "directory"});
}

TEST_F(CommandTest, SearchesRangesWiderThanTheImageOnBothSides) {
  make_pair();
  const Outcome outcome = run(pair_of_files + "--min-disparity -60 --disparities 120 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["disparities"], 120);
}

TEST_F(CommandTest, RefusesAPairOfTwoSizes) {
  make_pair();
  ASSERT_EQ(run("synth other --size 90x64 --disparities 16").status, 0);
  expect_refusal("match pair/left.png other/right.png", 1, {"96×64", "90×64", "one size"});
}

TEST_F(CommandTest, RefusesBadParameters) {
  make_pair();
  expect_refusal(pair_of_files + "--disparities 0", 2, {"disparities", "0", "1 to"});
  expect_refusal(pair_of_files + "--disparities -5", 2, {"disparities", "-5"});
  expect_refusal(pair_of_files + "--disparities 97", 2,
                 {"disparities", "97", "96 pixels wide", "-95 and 95"});
  expect_refusal(pair_of_files + "--disparities 99999999999", 2, {"disparities"});
  expect_refusal(pair_of_files + "--min-disparity 200", 2, {"200", "96 pixels wide"});
  expect_refusal(pair_of_files + "--min-disparity 90 --disparities 7", 2, {"90", "96", "96 pixels wide"});
  expect_refusal(pair_of_files + "--max-memory -5", 2, {"--max-memory", "negative", "-5"});
  expect_refusal("synth s --seed -1", 2, {"--seed", "negative", "-1"});
  expect_refusal("synth s --seed 99999999999999999999999", 2, {"--seed", "from 0 to 18446744073709551615"});
  expect_refusal(pair_of_files + "--max-memory 99999999999999999999", 2, {"--max-memory", "such as"});
  expect_refusal(pair_of_files + "--video v.avi --fps nan", 2, {"--fps", "nan", "from 0 to 1000"});
  expect_refusal(pair_of_files + "--json --truth t.pfm --truth-scale nan", 2, {"--truth-scale", "nan"});
  expect_refusal(pair_of_files + "--speckle-range inf", 2, {"--speckle-range", "finite"});
  expect_refusal(pair_of_files + "--no-left-right-check=5", 2, {"--no-left-right-check", "no value", "=5"});
  expect_refusal(pair_of_files + "--image view.jpg", 2, {"view.jpg", ".png"});
  expect_refusal(pair_of_files + "-o a.png --image ./a.png", 2, {"a.png", "by this command"});
  expect_refusal(pair_of_files + "-o pair/left.png", 2, {"pair/left.png", "by this command"});
  expect_refusal(pair_of_files + "--window 8", 2, {"window", "8", "odd"});
  expect_refusal(pair_of_files + "--window 33", 2, {"window", "33", "1 to 31"});
  expect_refusal(pair_of_files + "--cost census", 2, {"--cost", "census", "sad"});
  expect_refusal(pair_of_files + "--median 4", 2, {"median", "4", "0, 3 or 5"});
  expect_refusal(pair_of_files + "--preset fastest", 2, {"fastest", "default"});
  expect_refusal(by_any_method + "--method magic", 2, {"magic", "block"});
  expect_refusal(pair_of_files + "--device gpu", 2, {"gpu", "cpu"});
  expect_refusal(by_any_method + "--method tiled-bp --device opencl", 1,
                 {"tiled-bp", "opencl", "reference, cpu", "or another method"});
  expect_refusal(pair_of_files + "--full-row --disparities 16", 2, {"--full-row", "--disparities"});
  expect_refusal(pair_of_files + "--disparities 16 --repeat 0", 2, {"--repeat", "from 1 to 1000000"});
  expect_refusal(pair_of_files + "--colour red", 2, {"--colour", "--help"});
  expect_refusal(pair_of_files + "--cloud c.ply", 2, {"--cloud", "--calib"});
  expect_refusal(pair_of_files + "-o map.bmp", 2, {"map.bmp", ".pfm"});
  expect_refusal(pair_of_files + "--max-memory 10k", 1, {"needs", "10.0 KiB", "raise the limit"});
  expect_refusal("match pair/left.png", 2, {"RIGHT", "required"});
  expect_refusal("fly", 2, {"fly", "--help"});
  expect_refusal("bench --suite all", 2, {"all", "standard"});
  expect_refusal("synth s --size 0x5", 2, {"--size", "0x5"});
  expect_refusal("synth s --scene sea", 2, {"sea", "dots"});
}

TEST_F(CommandTest, BenchRefusesThreadsInOneLine) {
  expect_refusal("bench --threads -2", 2, {"--threads", "-2"}, "PARALLAX_DATA=");
}

TEST_F(CommandTest, RefusesBadDisparityFiles) {
  make_pair();
  write(folder_ / "absurd.pfm", "Pf\n1000000 1000000\n-1\nxxxx");
  write(folder_ / "overflow.pfm", "Pf\n99999999999999999999 2\n-1\n");
  write(folder_ / "cut.pfm", contents(folder_ / "pair/disp0GT.pfm").substr(0, 500));
  expect_refusal("eval absurd.pfm pair/disp0GT.pfm", 1, {"absurd.pfm", "cut short"});
  expect_refusal("eval overflow.pfm pair/disp0GT.pfm", 1, {"overflow.pfm", "width or height"});
  expect_refusal("eval cut.pfm pair/disp0GT.pfm", 1, {"cut.pfm", "cut short"});
  expect_refusal("eval empty.png pair/disp0GT.pfm", 1, {"empty.png"});
  expect_refusal("eval pair/disp0GT.pfm pair/disp0GT.pfm --truth-scale 4", 1, {"--truth-scale", "leave out"});
  write(folder_ / "unknown.pfm", std::string("Pf\n1 1\n-1\n\0\0\x80\x7f", 15));
  write(folder_ / "known.pfm", std::string("Pf\n1 1\n-1\n\0\0\x80\x3f", 15));
  expect_refusal("eval known.pfm unknown.pfm", 1, {"unknown.pfm", "no pixel to evaluate", "give another"});
  expect_refusal("eval pair/disp0GT.pfm pair/mask0nocc.png", 1, {"8 bits", "--truth-scale"});
  ASSERT_EQ(run("synth other --size 90x64").status, 0);
  expect_refusal("eval pair/disp0GT.pfm other/disp0GT.pfm", 1, {"96×64", "90×64"});
  expect_refusal("eval pair/disp0GT.pfm pair/disp0GT.pfm --mask other/mask0nocc.png", 1, {"90×64"});
}

TEST_F(CommandTest, RefusesBadCalibrations) {
  make_pair();
  write(folder_ / "calib.txt", "cam0=[1 2 3]\n");
  write(folder_ / "calib.yml", "%YAML:1.0\n---\nM1: 5\n");
  expect_refusal(pair_of_files + "--cloud c.ply --calib calib.txt", 1, {"calib.txt", "cam0"});
  expect_refusal(pair_of_files + "--cloud c.ply --calib calib.yml", 1, {"calib.yml", "P1"});
  ASSERT_EQ(run("synth other --size 90x64").status, 0);
  expect_refusal(pair_of_files + "--calib other/calib.txt", 1, {"other/calib.txt", "90×64", "96×64"});
  expect_refusal(pair_of_files + "--cloud c.ply --calib missing.txt", 1, {"missing.txt", "No such file"});
}

TEST_F(CommandTest, ReadsOpenCvCalibrations) {
  make_pair();
  write(folder_ / "calib.yml",
        "%YAML:1.0\n---\n"
        "P1: !!opencv-matrix\n   rows: 3\n   cols: 4\n   dt: d\n   data: [96., 0., 47.5, 0., 0., 96., 31.5, "
        "0., 0., 0., 1., 0.]\n"
        "P2: !!opencv-matrix\n   rows: 3\n   cols: 4\n   dt: d\n   data: [96., 0., 47.5, -9600., 0., 96., "
        "31.5, 0., 0., 0., 1., 0.]\n");
  ASSERT_EQ(run(pair_of_files + "--disparities 16 --cloud a.ply --calib calib.yml").status, 0);
  ASSERT_EQ(run(pair_of_files + "--cloud b.ply --calib pair/calib.txt").status, 0);
  EXPECT_EQ(contents(folder_ / "a.ply"), contents(folder_ / "b.ply"));
}

TEST_F(CommandTest, CountsOfACalibrationDoNotWrapAround) {
  const auto json = [](const std::string& rows) {
    const auto matrix = [&](const std::string& shift) {
      return "{\"rows\": " + rows + R"(, "cols": 4, "data": [9, 0, 4, )" + shift +
             ", 0, 9, 3, 0, 0, 0, 1, 0]}";
    };
    return "{\"P1\": " + matrix("0") + ", \"P2\": " + matrix("-9") + "}";
  };
  EXPECT_EQ(tool::parse_calibration(json("3"), "c.json").focal, 9);
  for (const char* rows : {"4294967299", "1e300", "-3"})
    EXPECT_THROW(tool::parse_calibration(json(rows), "c.json"), Error) << rows;
}

TEST_F(CommandTest, LeavesNothingHalfWritten) {
  make_pair();
  write(folder_ / "d.pfm", "what was here before");
  const auto before = files();
  expect_refusal(pair_of_files + "--disparities 16 -o nowhere/d.pfm", 1, {"nowhere/d.pfm", "No such file"});
  expect_refusal(pair_of_files + "--disparities 16 -o /dev/full", 2, {"/dev/full"});
  // A limit of 8 blocks of 512 bytes acts as a full disk.
  expect_refusal(pair_of_files + "--disparities 16 -o d.pfm", 1, {"d.pfm", "File too large"}, "ulimit -f 8;");
  EXPECT_EQ(contents(folder_ / "d.pfm"), "what was here before");
  EXPECT_EQ(files(), before);
}

TEST_F(CommandTest, SaysThatTheDiskIsFull) {
  make_pair();
  fs::create_symlink("/dev/full", folder_ / "full.pfm");
  expect_refusal(pair_of_files + "--disparities 16 -o full.pfm", 75, {"full.pfm", "No space left"});
  for (const char* arguments : {"devices", "match --help"}) {
    const std::string command =
        std::string("'" PARALLAX_COMMAND "' ") + arguments + " >/dev/full 2>/dev/null";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 75) << arguments;
  }
}

TEST_F(CommandTest, TheExitStatusSaysWhetherARetryMayMendIt) {
  const auto status_of = [](const auto& error) -> int {
    try {
      throw error;
    } catch (...) {
      return tool::current_failure().status;
    }
  };
  EXPECT_EQ(status_of(tool::UsageError("x")), 2);
  EXPECT_EQ(status_of(Error(ErrorCategory::argument, "x")), 2);
  EXPECT_EQ(status_of(Error(ErrorCategory::file, "x")), 1);
  EXPECT_EQ(status_of(Error(ErrorCategory::device, "x", true)), 75);
  EXPECT_EQ(status_of(std::bad_alloc()), 75);
  EXPECT_EQ(status_of(fs::filesystem_error("x", std::make_error_code(std::errc::io_error))), 75);
  EXPECT_EQ(status_of(fs::filesystem_error("x", std::make_error_code(std::errc::permission_denied))), 1);
  EXPECT_EQ(status_of(std::runtime_error("x")), 1);
  EXPECT_EQ(tool::worse(0, 75), 75);
  EXPECT_EQ(tool::worse(75, 0), 75);
  EXPECT_EQ(tool::worse(75, 1), 1);
  EXPECT_EQ(tool::worse(1, 75), 1);
}

TEST_F(CommandTest, BenchMeasuresSyntheticPairsWithoutData) {
  const Outcome outcome = run("bench --json b.json", "unset PARALLAX_DATA;");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = nlohmann::json::parse(contents(folder_ / "b.json"));
  ASSERT_GE(report["results"].size(), 3u);
  for (const auto& row : report["results"]) {
    EXPECT_GT(row["milliseconds"], 0.0);
    EXPECT_LT(row["nonocc"]["bad1"], 0.1) << row["pair"];
  }
}

}  // namespace
}  // namespace parallax::test
