// SPDX-License-Identifier: Apache-2.0
// 'parallax check' and '--disparities auto'.
#include <nlohmann/json.hpp>

#include "parallax/rectify.h"

#include "check/faulty_pair.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures.h"
#include "tools/match/check_report.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using tool::Picture;

class CheckCommand : public CommandTest {
 protected:
  static constexpr Size size{320, 240};

  Picture picture(const Plane<std::uint8_t>& gray) const {
    return make_picture(size, 1, BitDepth::bits8, [&](int x, int y, int) { return gray.at(x, y); });
  }
  static constexpr double baseline = 0.2, roll = 0.03;

  // Saves a pair whose right camera is turned, and its rig: "rig.json".
  FaultyPair save_turned_pair(const std::string& left, const std::string& right) const {
    FaultyPair pair(size, 1, {.roll = roll});
    save((folder_ / left).string(), picture(pair.left()));
    save((folder_ / right).string(), picture(pair.right()));
    write(folder_ / "rig.json", to_json(turned_rig(pair)));
    return pair;
  }
  static Rig turned_rig(const FaultyPair& pair) {
    Camera camera{.size = size, .focal_x = pair.focal(), .focal_y = pair.focal()};
    camera.centre_x = 0.5 * (size.width - 1);
    camera.centre_y = 0.5 * (size.height - 1);
    const double cosine = std::cos(roll), sine = std::sin(roll);
    return {camera,
            camera,
            {cosine, -sine, 0, sine, cosine, 0, 0, 0, 1},
            {-baseline * cosine, -baseline * sine, 0}};
  }
  void save_pair(const std::string& left, const std::string& right, const Faults& faults) const {
    const FaultyPair pair(size, 1, faults);
    save((folder_ / left).string(), picture(pair.left()));
    save((folder_ / right).string(), picture(pair.right()));
  }
};

TEST_F(CheckCommand, PrintsTheSentenceAndTheFigures) {
  save_pair("l.png", "r.png", {});
  const Outcome fit = run("check l.png r.png");
  EXPECT_EQ(fit.status, 0) << fit.err;
  EXPECT_TRUE(fit.out.starts_with("The pair is fit to be matched")) << fit.out;
  for (const char* word :
       {"\nrows off ", "\n  rotation ", "\n  residual ", "\ndisparities ",
        "\nsearch        --min-disparity 3 --disparities 48", "\nexposure ", "\nsharpness ", "\ncorners "})
    EXPECT_TRUE(contains(fit.out, word)) << word << " in: " << fit.out;

  save_pair("l.png", "r.png", {.rows = 0.7});
  const Outcome off = run("check l.png r.png");
  EXPECT_EQ(off.status, 0);
  EXPECT_TRUE(contains(off.out, "above all because the right picture is shifted by ")) << off.out;
  EXPECT_EQ(off.err, "");
  EXPECT_EQ(run("check l.png r.png --max-rows-off 1").status, 0);
  EXPECT_EQ(run("check r.png l.png --max-rows-off 1").status, 1);
}

TEST_F(CheckCommand, ReportsAsJson) {
  save_pair("l.png", "r.png", {.rows = 0.7});
  const Outcome outcome = run("check l.png r.png --json");
  EXPECT_EQ(outcome.status, 0);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["verdict"], "rows_off");
  EXPECT_EQ(report["fit"], false);
  EXPECT_EQ(report["will_be_aligned"], true);
  EXPECT_EQ(report["size"]["width"], 320);
  EXPECT_NEAR(report["rows_off"]["median"], 0.7, 0.03);
  EXPECT_NEAR(report["model"]["shift"]["value"], 0.7, 0.03);
  EXPECT_EQ(report["model"]["shift"]["held"], true);
  EXPECT_GT(report["disparities"]["disparities"], 0);
  EXPECT_GT(report["disparities"]["histogram"]["points"].size(), 5u);
  EXPECT_NEAR(report["exposure"]["gain"], 1, 0.02);
}

TEST_F(CheckCommand, DrawsRowsOffInColours) {
  save_pair("l.png", "r.png", {.rows = 0.9});
  ASSERT_EQ(run("check l.png r.png --image rows.png").status, 0);
  const Picture drawn = tool::read_picture((folder_ / "rows.png").string());
  ASSERT_EQ(drawn.size(), size);
  const auto colour = [&](int x, int y, int channel) { return value_at(drawn, x, y, channel); };
  int red = 0, blue = 0;
  for (int y = 0; y < size.height - 24; ++y)  // above the scale
    for (int x = 0; x < size.width; ++x) {
      red += colour(x, y, 0) > 200 && colour(x, y, 2) == 0;
      blue += colour(x, y, 2) > 200 && colour(x, y, 0) == 0;
    }
  EXPECT_GT(red, 1000);
  EXPECT_LT(blue, red / 50);
}

TEST_F(CheckCommand, ChecksEveryFrameOfASequence) {
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i) + ".png";
    save_pair("l" + number, "r" + number, {.rows = 0.2});
    save_pair("moving_l" + number, "moving_r" + number, {.rows = i % 2 == 0 ? -0.3 : 0.3});
  }
  const Outcome still = run("check l%d.png r%d.png");
  EXPECT_EQ(still.status, 0) << still.out << still.err;
  EXPECT_TRUE(contains(still.out, "All 4 frames are fit")) << still.out;
  EXPECT_TRUE(contains(still.out, "search        --min-disparity 3 --disparities 48")) << still.out;
  const Outcome moving = run("check moving_l%d.png moving_r%d.png");
  EXPECT_EQ(moving.status, 1);
  EXPECT_TRUE(contains(moving.out, "All 4 frames are fit to be matched, but the rows move by")) << moving.out;
  const auto json = nlohmann::json::parse(run("check moving_l%d.png moving_r%d.png --json").out);
  EXPECT_EQ(json["steady"], false);
  EXPECT_EQ(json["frames"].size(), 4u);
  fs::remove(folder_ / "r2.png");
  const Outcome broken = run("check l%d.png r%d.png");
  EXPECT_EQ(broken.status, 1);
  EXPECT_TRUE(contains(broken.out, "l2  cannot read r2.png")) << broken.out;
}

TEST_F(CheckCommand, ARigRectifiesThePairFirst) {
  const FaultyPair pair = save_turned_pair("l.png", "r.png");
  EXPECT_EQ(run("check l.png r.png").status, 0);
  const Outcome outcome = run("check l.png r.png --rig rig.json --image rows.png");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\nrectified     by the rig: focal length ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, ", baseline 0.200 m\ndepth         ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, " m; the search covers ")) << outcome.out;
  EXPECT_TRUE(fs::exists(folder_ / "rows.png"));

  const auto report = nlohmann::json::parse(run("check l.png r.png --rig rig.json --json").out);
  const Calibration calibration = rectify(turned_rig(pair)).calibration();
  double highest = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) highest = std::max(highest, pair.true_disparity(x, y));
  EXPECT_EQ(report["verdict"], "fit");
  EXPECT_NEAR(report["rectified"]["focal"], calibration.focal, 1e-9);
  EXPECT_NEAR(report["rectified"]["baseline"], baseline, 1e-12);
  EXPECT_EQ(report["rectified"]["unit"], "m");
  const double nearest = report["depth"]["nearest"], farthest = report["depth"]["farthest"],
               search_nearest = report["depth"]["search_nearest"];
  EXPECT_NEAR(nearest, pair.focal() * baseline / highest, 0.1 * nearest);
  EXPECT_NEAR(farthest * static_cast<double>(report["disparities"]["lowest"]), baseline * calibration.focal,
              1e-6);
  EXPECT_LT(search_nearest, nearest);
  EXPECT_LT(nearest, farthest);
  EXPECT_LT(farthest, report["depth"]["search_farthest"].get<double>());
}

// The masks of the rectified pair count.
TEST_F(CheckCommand, ACheckWithARigIsThatOfTheRectifiedPair) {
  save_turned_pair("l.png", "r.png");
  const std::string pair = " l.png r.png --rig rig.json --alpha 1 --zoom 0.8 ";
  ASSERT_EQ(run("rectify" + pair + "-o left.png right.png --masks left_mask.png right_mask.png").status, 0);
  const Picture left = tool::read_picture((folder_ / "left.png").string()),
                right = tool::read_picture((folder_ / "right.png").string());
  const Plane<std::uint8_t> left_mask = tool::read_mask((folder_ / "left_mask.png").string()),
                            right_mask = tool::read_mask((folder_ / "right_mask.png").string());
  const std::string masked =
      to_json(check_pair({left.view(), right.view(), left_mask.view(), right_mask.view()}));
  EXPECT_NE(masked, to_json(check_pair({left.view(), right.view()})));
  auto report = nlohmann::ordered_json::parse(run("check" + pair + "--json").out);
  report.erase("rectified");
  report.erase("depth");
  EXPECT_EQ(report.dump(), masked);
  const Outcome matched = run("match" + pair + "--disparities auto --method block --json --device cpu");
  ASSERT_EQ(matched.status, 0) << matched.err;
  EXPECT_EQ(nlohmann::json::parse(matched.out)["disparities"],
            report["disparities"]["disparities"].get<int>());
}

TEST_F(CheckCommand, ARigRectifiesEveryFrame) {
  for (const char* number : {"0.png", "1.png"})
    save_turned_pair("l" + std::string(number), "r" + std::string(number));
  EXPECT_EQ(run("check l%d.png r%d.png").status, 1);
  const Outcome outcome = run("check l%d.png r%d.png --rig rig.json");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "All 2 frames are fit")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\nrectified     by the rig")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\ndepth         ")) << outcome.out;
  const auto report = nlohmann::json::parse(run("check l%d.png r%d.png --rig rig.json --json").out);
  EXPECT_EQ(report["depth"], report["frames"][0]["depth"]);
  EXPECT_EQ(report["rectified"]["unit"], "m");
}

// A baseline that is long for metres has an unknown unit.
TEST_F(CheckCommand, DepthsHaveTheUnitOfTheRig) {
  Rig rig = turned_rig(save_turned_pair("l.png", "r.png"));
  for (double& length : rig.translation) length *= 1000;
  write(folder_ / "rig.json", to_json(rig));
  const Outcome outcome = run("check l.png r.png --rig rig.json");
  EXPECT_TRUE(contains(outcome.out, "baseline 200 in the unit of the rig\n")) << outcome.out;
  EXPECT_EQ(nlohmann::json::parse(run("check l.png r.png --rig rig.json --json").out)["rectified"]["unit"],
            nullptr);
}

TEST_F(CheckCommand, RefusesWrongUse) {
  save_pair("l.png", "r.png", {});
  expect_refusal("check l.png", 2, {"RIGHT is required"});
  expect_refusal("check l.png r.png --image rows.jpg", 2, {"rows.jpg", ".png"});
  expect_refusal("check l.png r.png --image l.png", 2, {"l.png"});
  expect_refusal("check l.png none.png", 1, {"none.png"});
  expect_refusal("check l.png r.png --max-rows-off 0", 2, {"--max-rows-off"});
  expect_refusal("check l.png r.png --side-by-side", 2, {"--side-by-side"});
  expect_refusal("check l.png r.png --alpha 0.5", 2, {"--alpha needs --rig"});
  expect_refusal("check l.png r.png --rig none.json", 1, {"none.json"});
  expect_refusal("check l.png r.png --rig rig.png --image rig.png", 2, {"rig.png"});
  save_turned_pair("left.png", "right.png");
  save((folder_ / "small.png").string(),
       make_picture({100, 80}, 1, BitDepth::bits8, [](int, int, int) { return 0; }));
  expect_refusal("check small.png small.png --rig rig.json", 1, {"small.png is 100×80", "320×240"});
  EXPECT_FALSE(fs::exists(folder_ / "rows.jpg"));
}

TEST_F(CheckCommand, ADenseMatchFindsTheSameRows) {
  save_pair("l.png", "r.png", {.rows = 2.1});
  const Outcome text = run("check l.png r.png --dense");
  EXPECT_EQ(text.status, 0) << text.err;
  for (const char* words :
       {"\nA dense match agrees with the corners: ", "\ndense match   sgm on cpu, --row-tolerance 3 ",
        "\n  difference  from the model of the corners: median "})
    EXPECT_TRUE(contains(text.out, words)) << words << " in: " << text.out;
  const auto report = nlohmann::json::parse(run("check l.png r.png --dense --json").out);
  const auto& dense = report["dense"];
  EXPECT_EQ(dense["method"], "sgm");
  EXPECT_EQ(dense["device"], "cpu");
  EXPECT_EQ(dense["row_tolerance"], 3);
  EXPECT_EQ(dense["disparities"], report["disparities"]["disparities"]);
  EXPECT_NEAR(dense["rows_off"]["median"], 2.1, 0.15);
  EXPECT_NEAR(dense["rows_off"]["offsets"]["50"], 2.1, 0.15);
  EXPECT_NEAR(dense["rows_off"]["model"]["shift"], 2.1, 0.15);
  EXPECT_NEAR(dense["rows_off"]["model"]["rotation"], 0, 0.1);
  EXPECT_EQ(dense["agrees"], true);
  EXPECT_LT(dense["difference"]["median"], 0.2);
  EXPECT_GT(dense["difference"]["within_half_pixel"], 0.9);
  EXPECT_FALSE(nlohmann::json::parse(run("check l.png r.png --json").out).contains("dense"));
}

// The model is compared place by place: a turn hardly changes the middle row offset.
TEST_F(CheckCommand, ADenseMatchAgreesOnATurnThatItSearches) {
  save_pair("l.png", "r.png", {.roll = 0.012});
  const auto dense_of = [&](const std::string& options) {
    return nlohmann::json::parse(run("check l.png r.png --dense --json" + options).out)["dense"];
  };
  for (const char* options : {"", " --method block"}) {
    const auto dense = dense_of(options);
    EXPECT_EQ(dense["agrees"], true) << options << dense;
    EXPECT_NEAR(dense["rows_off"]["model"]["rotation"], 0.012 * size.width / 2, 0.2) << options;
    EXPECT_NEAR(dense["rows_off"]["model"]["shift"], 0, 0.1) << options;
  }
  const auto narrow = dense_of(" --row-tolerance 1");
  EXPECT_EQ(narrow["row_tolerance"], 1);
  EXPECT_EQ(narrow["agrees"], false) << narrow;
  EXPECT_TRUE(
      contains(narrow["sentence"].get<std::string>(), "A dense match does not agree with the corners: "))
      << narrow;
}

TEST_F(CheckCommand, ADenseMatchSearchesTheRangeThatIsFoundOrGiven) {
  save_pair("l.png", "r.png", {.rows = 0.2});
  const auto dense_of = [&](const std::string& arguments) {
    return nlohmann::json::parse(run("check " + arguments + " --dense --json").out)["dense"];
  };
  const auto exchanged = dense_of("r.png l.png");
  EXPECT_LT(exchanged["min_disparity"], -30);
  EXPECT_EQ(exchanged["agrees"], true) << exchanged;
  const auto given = dense_of("l.png r.png --min-disparity 2 --disparities 40");
  EXPECT_EQ(given["min_disparity"], 2);
  EXPECT_EQ(given["disparities"], 40);
  EXPECT_EQ(given["agrees"], true) << given;
  // Corners that permit no conclusion agree with nothing.
  const auto alone = dense_of("l.png l.png --disparities 16");
  EXPECT_EQ(alone["agrees"], nullptr);
  EXPECT_FALSE(alone.contains("difference"));
  EXPECT_NEAR(alone["rows_off"]["median"], 0, 0.05);
}

TEST_F(CheckCommand, ADenseMatchThatCannotBeMadeIsReported) {
  save_pair("l.png", "r.png", {});
  const auto error_of = [&](const std::string& arguments) -> std::string {
    const Outcome outcome = run("check " + arguments + " --dense --json");
    EXPECT_EQ(outcome.status, 1) << arguments;
    const auto report = nlohmann::json::parse(outcome.out);
    return report["dense"]["error"];
  };
  const Outcome identical = run("check l.png l.png --dense");
  EXPECT_EQ(identical.status, 1);
  EXPECT_TRUE(contains(identical.out, "\nNo dense match: no range of disparities was found: give it with"))
      << identical.out;
  EXPECT_TRUE(contains(error_of("l.png l.png"), "--disparities"));
  EXPECT_TRUE(contains(error_of("l.png r.png --disparities 400"), "320 pixels wide"));
  EXPECT_TRUE(
      contains(error_of("l.png r.png --min-disparity 318 --disparities 2"), "pixels have a row offset"));
  save_pair("low.png", "lowered.png", {.rows = 17});
  EXPECT_TRUE(contains(error_of("low.png lowered.png --search-rows 0.2"), "--repair"));
}

TEST_F(CheckCommand, ADenseMatchOfEveryFrameIsThatOfThePair) {
  save_pair("l0.png", "r0.png", {.rows = 0.3});
  save_pair("l1.png", "r1.png", {.rows = 0.4});
  const Outcome text = run("check l%d.png r%d.png --dense");
  EXPECT_EQ(text.status, 0) << text.out << text.err;
  EXPECT_TRUE(contains(text.out, "\nA dense match agrees with the corners in 2 of 2 frames.\n")) << text.out;
  EXPECT_TRUE(contains(text.out, "; dense match: median ")) << text.out;
  const auto frames = nlohmann::json::parse(run("check l%d.png r%d.png --dense --json").out)["frames"];
  for (const char* number : {"0", "1"}) {
    const std::string pair = std::string("l") + number + ".png r" + number + ".png";
    EXPECT_EQ(frames[std::stoul(number)]["dense"],
              nlohmann::json::parse(run("check " + pair + " --dense --json").out)["dense"]);
  }
  EXPECT_EQ(run("check l%d.png r%d.png --dense --min-disparity 318 --disparities 2").status, 1);
}

TEST_F(CheckCommand, ADenseMatchIsThatOfTheRectifiedPair) {
  save_turned_pair("l.png", "r.png");
  const auto report = nlohmann::json::parse(run("check l.png r.png --rig rig.json --dense --json").out);
  EXPECT_EQ(report["fit"], true);
  EXPECT_EQ(report["dense"]["agrees"], true) << report["dense"];
  EXPECT_NEAR(report["dense"]["rows_off"]["median"], 0, 0.1);
  // Masks count: few pixels remain of a picture that is mostly masked.
  const auto masked = nlohmann::json::parse(
      run("check l.png r.png --rig rig.json --alpha 1 --zoom 0.5 --dense --json --disparities 32").out);
  EXPECT_LT(masked["dense"]["rows_off"]["pixels"], 0.3 * size.width * size.height) << masked["dense"];
}

TEST_F(CheckCommand, APictureIsTintedByTheDenseMatch) {
  save_pair("l.png", "r.png", {.rows = 1});
  ASSERT_EQ(run("check l.png r.png --dense --image dense.png").status, 0);
  ASSERT_EQ(run("check l.png r.png --image dots.png").status, 0);
  const auto reddish = [&](const char* file) {
    const Picture drawn = tool::read_picture((folder_ / file).string());
    int count = 0;
    for (int y = 0; y < size.height - 24; ++y)
      for (int x = 0; x < size.width; ++x) count += value_at(drawn, x, y, 0) > value_at(drawn, x, y, 2) + 60;
    return count;
  };
  EXPECT_GT(reddish("dense.png"), reddish("dots.png") + size.width * size.height / 4);
}

TEST_F(CheckCommand, RefusesWrongUseOfADenseMatch) {
  const std::string pair = "check none.png none2.png ";
  const std::pair<std::string, std::string> options[] = {{"--method", "sgm"},
                                                         {"--row-tolerance", "2"},
                                                         {"--min-disparity", "1"},
                                                         {"--disparities", "16"},
                                                         {"--device", "cpu"}};
  for (const auto& [option, value] : options)
    expect_refusal(pair + option + " " + value, 2, {option + " needs --dense"});
  expect_refusal(pair + "--dense --method tiled-bp", 2, {"tiled-bp", "search rows", "sgm"});
  expect_refusal(pair + "--dense --method none", 2, {"none", "sgm"});
  expect_refusal(pair + "--dense --row-tolerance 17", 2, {"--row-tolerance", "16"});
  expect_refusal(pair + "--dense --min-disparity 3", 2, {"--min-disparity needs --disparities"});
  expect_refusal(pair + "--dense --disparities 1025", 2, {"disparities is 1025"});
  expect_refusal(pair + "--dense --device toaster", 2, {"toaster"});
  expect_refusal(pair + "--dense --repair rig.json", 2, {"--dense and --repair"});
}

TEST_F(CheckCommand, MatchSearchesTheRangeOfThePair) {
  save_pair("l.png", "r.png", {});
  const Outcome outcome = run("match l.png r.png --method block --disparities auto --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "--min-disparity 3 --disparities 48")) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["disparities"], 48);
  const Outcome exchanged = run("match r.png l.png --method block --disparities=auto --json");
  ASSERT_EQ(exchanged.status, 0) << exchanged.err;
  EXPECT_TRUE(contains(exchanged.err, "exchanged")) << exchanged.err;
  EXPECT_LT(nlohmann::json::parse(exchanged.out)["parameters"]["min_disparity"], -30);
  const std::string pair = "match l.png r.png --method block --disparities auto ";
  expect_refusal("match l.png l.png --disparities auto", 1, {"no range", "same"});
  // Masks count, and the range of a calibration does not.
  save((folder_ / "mask.png").string(),
       make_picture(size, 1, BitDepth::bits8, [](int, int, int) { return 0; }));
  expect_refusal("match l.png r.png --disparities auto --left-mask mask.png", 1, {"no range", "texture"});
  write(folder_ / "calib.txt", "cam0=[384 0 160; 0 384 120; 0 0 1]\nbaseline=100\nndisp=20\n");
  const Outcome calibrated =
      run("match l.png r.png --method block --disparities auto --calib calib.txt --json");
  ASSERT_EQ(calibrated.status, 0) << calibrated.err;
  EXPECT_EQ(nlohmann::json::parse(calibrated.out)["disparities"], 48);
  expect_refusal(pair + "--min-disparity 1", 2, {"--min-disparity", "auto"});
  expect_refusal(pair + "--disparities 16", 2, {"--disparities", "auto"});
  expect_refusal(pair + "--full-row", 2, {"--full-row"});
  expect_refusal("plan l.png r.png --disparities auto --plan p.json", 2, {"parallax check"});
  expect_refusal("match l%d.png r%d.png --disparities auto", 1, {"l%d.png"});
}

TEST_F(CheckCommand, ARangeThatIsNotSureIsSaid) {
  save_pair("l.png", "r.png", {});
  const std::string sure = run("check l.png r.png").out;
  EXPECT_TRUE(contains(sure, "\n              The range of disparities is sure: ")) << sure;
  EXPECT_FALSE(contains(run("match l.png r.png --method block --disparities auto -o d.pfm").err, "sure"));
  const FaultyPair pair(size, 1, {});
  const auto blank = [](const Plane<std::uint8_t>& image) {
    return make_picture(size, 1, BitDepth::bits8,
                        [&](int x, int y, int) { return x < 110 ? image.at(x, y) : 120; });
  };
  save((folder_ / "l.png").string(), blank(pair.left()));
  save((folder_ / "r.png").string(), blank(pair.right()));
  const nlohmann::json range = nlohmann::json::parse(run("check l.png r.png --json").out)["disparities"];
  EXPECT_EQ(range["sure"], false);
  EXPECT_LT(range["seen"], 0.35);
  const Outcome outcome = run("match l.png r.png --method block --disparities auto -o d.pfm");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(contains(outcome.err, range["sentence"].get<std::string>())) << outcome.err;
}

TEST_F(CheckCommand, ASequenceIsSearchedInTheRangeOfItsFirstFrameThatHasOne) {
  save((folder_ / "l0.png").string(),
       make_picture(size, 1, BitDepth::bits8, [](int, int, int) { return 0; }));
  fs::copy_file(folder_ / "l0.png", folder_ / "r0.png");
  save_pair("l1.png", "r1.png", {});
  save_pair("l2.png", "r2.png", {});
  ASSERT_EQ(run("match l1.png r1.png --method block --disparities auto -o expected.pfm").status, 0);
  const Outcome outcome = run("match l%d.png r%d.png --method block --disparities auto -o map%d.pfm --json");
  EXPECT_EQ(outcome.status, 1);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["frames"], 3);
  EXPECT_EQ(report["disparities"], 48);
  ASSERT_EQ(report["failed"].size(), 1u);
  EXPECT_EQ(report["failed"][0]["number"], 0);
  EXPECT_TRUE(contains(outcome.err, "searching the range of frame 1: --min-disparity 3 --disparities 48"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "frame 0: no range of disparities was found: ")) << outcome.err;
  EXPECT_EQ(contents(folder_ / "map1.pfm"), contents(folder_ / "expected.pfm"));
  EXPECT_EQ(contents(folder_ / "map2.pfm"), contents(folder_ / "expected.pfm"));
  EXPECT_FALSE(fs::exists(folder_ / "map0.pfm"));
}

// Indoor pairs: Playtable's rows are known to be off, all others are good. The rows of the pairs in field/
// have not been measured by other means.
class CheckRealPair : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(data_folder())) GTEST_SKIP() << "PARALLAX_DATA names no folder of pairs";
  }
};

TEST_F(CheckRealPair, NoFalseAlarmAndTheRangeHoldsTheTruth) {
  int pairs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data_folder())) {
    if (entry.path().filename() != "left.png") continue;
    const fs::path folder = entry.path().parent_path();
    if (folder.string().find("/field/") != std::string::npos) continue;
    const tool::PicturePair pictures = tool::read_pair(entry.path(), folder / "right.png");
    const PairReport report = check_pair({pictures.left.view(), pictures.right.view()});
    const bool off = folder.filename() == "Playtable";
    EXPECT_EQ(report.verdict, off ? Verdict::rows_off : Verdict::fit) << folder << " " << report.sentence;
    ++pairs;
    if (!fs::exists(folder / "disp0GT.pfm")) continue;
    const Plane<float> truth = read_pfm((folder / "disp0GT.pfm").string());
    int outside = 0, known = 0;
    float highest = 0;
    for (int y = 0; y < truth.height(); ++y)
      for (int x = 0; x < truth.width(); ++x) {
        const float disparity = truth.at(x, y);
        if (!std::isfinite(disparity)) continue;
        ++known;
        const auto label = disparity - static_cast<float>(report.range.min_disparity);
        outside += label < 0 || label > static_cast<float>(report.range.disparities - 1);
        highest = std::max(highest, disparity);
      }
    EXPECT_LE(outside, 0.005 * known) << folder;
    EXPECT_LE(report.range.disparities, highest + 16) << folder;
    EXPECT_TRUE(report.range.sure) << folder;
  }
  EXPECT_GE(pairs, 18);
}

TEST_F(CheckRealPair, ADenseMatchAgrees) {
  for (const char* name : {"middlebury2003/cones", "middlebury2014/Motorcycle", "middlebury2014/Playtable"}) {
    const fs::path folder = fs::path(data_folder()) / name;
    const tool::PicturePair pictures = tool::read_pair(folder / "left.png", folder / "right.png");
    const StereoPair pair{pictures.left.view(), pictures.right.view()};
    const tool::DenseCheck dense = tool::check_densely(pair, check_pair(pair), {.wanted = true}, 0);
    EXPECT_TRUE(dense.agrees()) << name << ": " << dense.sentence();
    EXPECT_LT(dense.difference.rows_off, 0.3) << name;
  }
}

}  // namespace
}  // namespace parallax::test
