// SPDX-License-Identifier: Apache-2.0
// Ground truth that marks unknown pixels by a value of its own.
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "parallax/formats.h"

#include "tools/command_fixture.h"
#include "tools/files/pictures.h"

namespace parallax::test {
namespace {

constexpr float unknown = std::numeric_limits<float>::infinity();

class TruthNoneTest : public CommandTest {
 protected:
  TruthNoneTest() {
    make_pair();
    EXPECT_EQ(run("match pair/left.png pair/right.png --disparities 16 -o map.pfm").status, 0);
    write_truth("truth.pfm", unknown);
    expected_ = errors("truth.pfm");
  }

  Plane<float> truth_with(float value) const {
    Plane<float> truth = read_pfm((folder_ / "pair/disp0GT.pfm").string());
    // A quarter of the pixels, with the corners.
    for (int y = 0; y < truth.height(); y += 2)
      for (int x = 0; x < truth.width(); x += 2) truth.at(x, y) = value;
    return truth;
  }
  void write_truth(const std::string& name, const Plane<float>& truth) const {
    write_file((folder_ / name).string(), tool::encode_disparity(name, truth.view()));
  }
  void write_truth(const std::string& name, float value) const { write_truth(name, truth_with(value)); }

  Outcome eval(const std::string& truth) const { return run("eval map.pfm " + truth + " --json"); }
  std::string errors(const std::string& truth) const {
    const Outcome outcome = eval(truth);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  std::string expected_;
};

TEST_F(TruthNoneTest, TheOptionNamesTheValueInTheFile) {
  ASSERT_EQ(nlohmann::json::parse(expected_)["count"], 96 * 64 * 3 / 4);
  for (const char* name : {"t.pfm", "t.tiff"})
    for (const float value : {0.0f, -1.0f, 999.5f}) {
      write_truth(name, value);
      EXPECT_EQ(errors(name + (" --truth-none " + std::to_string(value))), expected_) << name << value;
    }
  // As a picture of 16 bits has it.
  write_truth("t.png", 255 + 255 / 256.f);
  EXPECT_NE(errors("t.png"), errors("t.png --truth-none 65535"));
  EXPECT_EQ(nlohmann::json::parse(errors("t.png --truth-none 65535"))["count"], 96 * 64 * 3 / 4);
}

TEST_F(TruthNoneTest, OfEightBitsItIsAGrayLevel) {
  const Plane<float> truth = truth_with(-1);
  std::string pixels = "P5 96 64 255\n";
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 96; ++x)
      pixels += static_cast<char>(truth.at(x, y) < 0 ? 255 : static_cast<int>(truth.at(x, y) * 8));
  write(folder_ / "t.pgm", pixels);
  EXPECT_EQ(nlohmann::json::parse(errors("t.pgm --truth-scale 8"))["count"], 96 * 64);
  EXPECT_EQ(nlohmann::json::parse(errors("t.pgm --truth-scale 8 --truth-none 255"))["count"],
            96 * 64 * 3 / 4);
}

TEST_F(TruthNoneTest, ZeroAndMinusOneAreRecognisedWithANotice) {
  for (const char* name : {"t.pfm", "t.tiff"})
    for (const float value : {0.0f, -1.0f}) {
      write_truth(name, value);
      const Outcome outcome = eval(name);
      EXPECT_EQ(outcome.out, expected_);
      for (const char* word : {name, " in 25.0 % of its pixels", "--truth-none none"})
        EXPECT_TRUE(contains(outcome.err, word)) << outcome.err;
      EXPECT_NE(errors(std::string(name) + " --truth-none none"), expected_);
    }
}

TEST_F(TruthNoneTest, ZerosThatAreDisparitiesStay) {
  Plane<float> truth = truth_with(0);
  truth.at(5, 5) = 0.25f;  // a surface in the distance
  write_truth("far.pfm", truth);
  truth = truth_with(0);
  truth.at(5, 5) = unknown;  // the file has another mark
  write_truth("marked.pfm", truth);
  truth = truth_with(0);
  truth.at(5, 5) = -3;  // disparities of both signs
  write_truth("signs.pfm", truth);
  truth = read_pfm((folder_ / "pair/disp0GT.pfm").string());
  truth.at(5, 5) = 0;
  write_truth("one.pfm", truth);
  for (const char* name : {"far.pfm", "marked.pfm", "signs.pfm"}) {
    const Outcome outcome = eval(name);
    EXPECT_GE(nlohmann::json::parse(outcome.out)["count"], 96 * 64 - 1) << name;
    for (const char* word : {name, "count as disparities", "--truth-none 0 "})
      EXPECT_TRUE(contains(outcome.err, word)) << outcome.err;
    EXPECT_EQ(errors(std::string(name) + " --truth-none none"), outcome.out);
  }
  EXPECT_EQ(nlohmann::json::parse(errors("one.pfm"))["count"], 96 * 64);
}

TEST_F(TruthNoneTest, MatchTilesAndBatchTakeIt) {
  write_truth("t.pfm", -9);
  const std::string match = "match pair/left.png pair/right.png --disparities 16 --json --truth ";
  const auto error = [&](const std::string& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["error"];
  };
  const auto expected = error(match + "truth.pfm");
  EXPECT_EQ(expected["count"], 96 * 64 * 3 / 4);
  EXPECT_EQ(error(match + "t.pfm --truth-none -9"), expected);
  EXPECT_NE(error(match + "t.pfm"), expected);
  write(folder_ / "list.jsonl", R"({"left": "pair/left.png", "right": "pair/right.png", "truth": "t.pfm"})");
  const auto row = [&](const std::string& more) {
    const Outcome outcome =
        run("batch list.jsonl --disparities 16 -o '{name}.pfm' --results r.jsonl --resume " + more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return contents(folder_ / "r.jsonl");
  };
  const std::string without = row(""), with = row("--truth-none -9");
  EXPECT_NE(without, with) << "another value of unknown pixels is another result";
  EXPECT_TRUE(contains(with, "\"bad1\":" + expected["bad1"].dump())) << with << expected;
}

TEST_F(TruthNoneTest, WrongUsesAreNamed) {
  expect_refusal("eval map.pfm truth.pfm --truth-none nothing", 2, {"--truth-none is 'nothing'", "none"});
  expect_refusal("eval map.pfm truth.pfm --truth-none inf", 2, {"--truth-none is 'inf'"});
  expect_refusal("eval a.flo b.flo --flow --truth-none 0", 2, {"--truth-none", "--flow"});
  expect_refusal("match pair/left.png pair/right.png -o m.pfm --truth-none 0", 2,
                 {"--truth-none", "--truth"});
  expect_refusal("batch list.txt -o '{name}.pfm' --truth-none x", 2, {"--truth-none is 'x'"});
  expect_refusal("bench --suite eth3d --data e --truth-none x", 2, {"--truth-none is 'x'"});
}

}  // namespace
}  // namespace parallax::test
