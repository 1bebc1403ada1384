// SPDX-License-Identifier: Apache-2.0
#include "parallax/rig.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax::test {
namespace {

Rig some_rig() {
  Rig rig;
  rig.left = {
      {1280, 720}, 700.125, 701.5, 640.25, 361.75, LensModel::radial_tangential, {-0.17, 0.03, 5e-4, -7e-4}};
  rig.right = {{1024, 768}, 500, 1.0 / 3, 511.5, 383.5, LensModel::equidistant, {0.1, -0.02, 3e-3, 1e-4}};
  const double cosine = std::cos(0.02), sine = std::sin(0.02);
  rig.rotation = {cosine, 0, sine, 0, 1, 0, -sine, 0, cosine};
  rig.translation = {-0.12, 0.001, -0.002};
  return rig;
}

// The rig after a change.
template <class Change>
Rig with(const Change& change) {
  Rig rig = some_rig();
  change(rig);
  return rig;
}

template <class Change>
void expect_invalid(const Change& change, std::string_view reason) {
  expect_refused([&] { validate(with(change)); }, reason);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(RigTest, AGoodRigIsValid) {
  EXPECT_NO_THROW(validate(some_rig()));
}

TEST(RigTest, SizesAreChecked) {
  expect_invalid([](Rig& rig) { rig.left.size = {}; },
                 "left.size is 0×0: each side must have from 1 to 1000000");
  expect_invalid([](Rig& rig) { rig.right.size.height = -1; }, "right.size is 1024×-1");
  expect_invalid([](Rig& rig) { rig.right.size.width = 1'000'001; }, "right.size is 1000001×768");
}

TEST(RigTest, CamerasAreChecked) {
  for (const double focal : {0.0, -700.0, infinity, std::nan("")}) {
    expect_invalid([&](Rig& rig) { rig.left.focal_x = focal; }, "left.focal_x is ");
    expect_invalid([&](Rig& rig) { rig.right.focal_y = focal; }, "right.focal_y is ");
  }
  for (const double value : {infinity, std::nan("")}) {
    expect_invalid([&](Rig& rig) { rig.left.centre_x = value; }, "left.centre_x is ");
    expect_invalid([&](Rig& rig) { rig.right.centre_y = value; }, "right.centre_y is ");
    expect_invalid([&](Rig& rig) { rig.right.distortion[13] = value; }, "right.distortion is ");
  }
  expect_invalid([](Rig& rig) { rig.left.model = static_cast<LensModel>(5); }, "left.model is 5");
}

TEST(RigTest, RotationMustBeARotation) {
  expect_invalid([](Rig& rig) { rig.rotation = {}; }, "rotation has rows that are not orthonormal");
  expect_invalid([](Rig& rig) { rig.rotation[4] = 1.001; }, "rotation has rows that are not orthonormal");
  expect_invalid([](Rig& rig) { rig.rotation[1] = 0.001; }, "rotation has rows that are not orthonormal");
  expect_invalid([](Rig& rig) { rig.rotation[4] = -1; }, "rotation mirrors");
  expect_invalid([](Rig& rig) { rig.rotation[8] = std::nan(""); }, "rotation is ");
  // Rounded as in a file.
  EXPECT_NO_THROW(validate(with([](Rig& rig) { rig.rotation[0] += 2e-5; })));
}

TEST(RigTest, BaselineMustLeadToTheRight) {
  expect_invalid([](Rig& rig) { rig.translation = {}; }, "translation is 0, so the rig has no baseline");
  expect_invalid([](Rig& rig) { rig.translation[0] = 0.12; },
                 "the second camera is left of the first: exchange");
  expect_invalid([](Rig& rig) { rig.translation[2] = infinity; }, "translation is ");
  // A mostly vertical pair is no mistake.
  EXPECT_NO_THROW(validate(with([](Rig& rig) { rig.translation = {0.01, -0.12, 0}; })));
  // Nor is a right camera that is mounted upside down: it is at −Rᵀ T = (0.12, 0, 0).
  EXPECT_NO_THROW(validate(with([](Rig& rig) {
    rig.rotation = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
    rig.translation = {0.12, 0, 0};
  })));
}

TEST(RigTest, SpheresHaveRangesAndTheirOwnNames) {
  const auto with_lens = [](LensModel model, double first, double second) {
    return with([&](Rig& rig) {
      rig.right.model = model;
      rig.right.distortion = {first, second};
    });
  };
  const struct {
    LensModel model;
    double first, second, bad_first, bad_second;
    std::string name;
  } cases[] = {{LensModel::omnidirectional, 1.3, 0.1, -0.1, 0.1, "omnidirectional"},
               {LensModel::double_sphere, -0.2, 0.6, 1, 0.6, "double-sphere"},
               {LensModel::double_sphere, 0.2, 0.6, 0.2, 1.1, "double-sphere"},
               {LensModel::extended_unified, 0.6, 1.1, -0.1, 1.1, "extended-unified"},
               {LensModel::extended_unified, 0.6, 1.1, 0.6, 0, "extended-unified"}};
  for (const auto& each : cases) {
    const Rig rig = with_lens(each.model, each.first, each.second);
    EXPECT_EQ(rig_from_json(to_json(rig), "r"), rig);
    EXPECT_NE(to_json(rig).find('"' + each.name + '"'), std::string::npos);
    expect_refused([&] { validate(with_lens(each.model, each.bad_first, each.bad_second)); },
                   "right.distortion has coefficients out of the range of their model");
  }
}

TEST(RigTest, ExchangedCamerasSeeTheSamePoints) {
  const Rig rig = some_rig(), other = exchanged(rig);
  EXPECT_EQ(other.left, rig.right);
  EXPECT_EQ(other.right, rig.left);
  const Vector3 point{0.3, -0.2, 2};
  const auto moved = [](const Rig& by, const Vector3& x) {
    Vector3 result = by.translation;
    for (std::size_t i = 0; i < 9; ++i) result[i / 3] += by.rotation[i] * x[i % 3];
    return result;
  };
  const Vector3 back = moved(other, moved(rig, point));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(back[i], point[i], 1e-14);
  EXPECT_GT(other.translation[0], 0);
}

TEST(RigTest, JsonIsReadBackExactly) {
  Rig rig = some_rig();
  EXPECT_EQ(rig_from_json(to_json(rig), ""), rig);
  rig.left.distortion = {};
  EXPECT_EQ(rig_from_json(to_json(rig), ""), rig);
  for (std::size_t last = 0; last < 14; ++last) {
    rig.left.distortion[last] = 1.0 / (3 + static_cast<double>(last));
    EXPECT_EQ(rig_from_json(to_json(rig), ""), rig) << last;
  }
}

TEST(RigTest, JsonHasTheDocumentedKeys) {
  Rig rig;
  rig.left = {{1280, 720}, 700, 701, 639.5, 359.5, LensModel::radial_tangential, {-0.17, 0.03}};
  rig.right = {{640, 480}, 300, 301, 319.5, 239.5, LensModel::equidistant, {0.1}};
  rig.translation = {-0.12, 0, 0};
  EXPECT_EQ(to_json(rig),
            R"({"left":{"size":[1280,720],"focal":[700.0,701.0],"centre":[639.5,359.5],)"
            R"("model":"radial-tangential","distortion":[-0.17,0.03,0.0,0.0]},)"
            R"("right":{"size":[640,480],"focal":[300.0,301.0],"centre":[319.5,239.5],)"
            R"("model":"equidistant","distortion":[0.1,0.0,0.0,0.0]},)"
            R"("rotation":[[1.0,0.0,0.0],[0.0,1.0,0.0],[0.0,0.0,1.0]],"translation":[-0.12,0.0,0.0]})");
  expect_refused([] { to_json(Rig()); }, "left.size is 0×0");
}

// The JSON of some rig with one part replaced.
std::string json_with(const std::string& part, const std::string& replacement) {
  std::string text = to_json(some_rig());
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), replacement);
}

TEST(RigTest, BadJsonIsRefusedByKey) {
  const struct {
    std::string text, message;
  } cases[] = {
      {"", "r.json: is not a JSON object"},
      {"[1, 2]", "r.json: is not a JSON object"},
      {"{", "r.json: is not a JSON object"},
      {"{}", "r.json: left is missing"},
      {json_with("\"left\":", "\"links\":"), "r.json: left is missing"},
      {json_with("\"rotation\":", "\"colour\": 1, \"rotation\":"), "r.json: colour is not a key of a rig"},
      {json_with("\"size\":", "\"colour\": 1, \"size\":"), "r.json: left.colour is not a key of a rig"},
      {json_with("\"left\":{", "\"left\":3, \"x\":{"), "r.json: left is not an object"},
      {json_with("[1280,720]", "[1280]"), "r.json: left.size has 1 numbers: give 2"},
      {json_with("[1280,720]", "[1280,0]"), "r.json: left.size holds a side that is not an integer"},
      {json_with("[1280,720]", "[1280,4294967297]"), "r.json: left.size holds a side that is not an integer"},
      {json_with("[1280,720]", "[1280,720.5]"), "r.json: left.size holds a side that is not an integer"},
      {json_with("[700.125,701.5]", "700"), "r.json: left.focal is not a list of numbers"},
      {json_with("[700.125,701.5]", "[\"a\", 1]"), "r.json: left.focal holds something that is not a number"},
      {json_with("700.125", "-1"), "r.json: left.focal is -1: choose a focal length above 0"},
      {json_with("\"equidistant\"", "\"omni\""),
       "r.json: right.model is not one of radial-tangential, equidistant"},
      {json_with("\"equidistant\"", "[[[]]]"), "r.json: right.model is not one of"},
      {json_with("[-0.17,", "[1,2,-0.17,"),
       "r.json: left.distortion has 6 coefficients: give 0, 4, 5, 8, 12 or 14"},
      {json_with("[0.1,-0.02,", "[0.1,"), "r.json: right.distortion has 3 coefficients: give 4"},
      {json_with("\"rotation\":[", "\"rotation\":[1,"), "r.json: rotation is not a list of 3 rows"},
      {json_with("\"rotation\":[[", "\"rotation\":[[0,"),
       "r.json: rotation is not a list of 3 rows of 3 numbers"},
      {json_with("[0.0,1.0,0.0]", "[0.0,0.5,0.0]"), "r.json: rotation has rows that are not orthonormal"},
      {json_with("[-0.12,", "[0.12,"),
       "r.json: translation says that the second camera is left of the first"},
  };
  for (const auto& [text, message] : cases)
    expect_error(error_of([&, &text = text] { rig_from_json(text, "r.json"); }), ErrorCategory::file,
                 {message});
}

TEST(RigTest, DeepJsonIsRefused) {
  expect_error(error_of([] { rig_from_json("{\"left\":" + std::string(500'000, '['), "r.json"); }),
               ErrorCategory::file, {"r.json: is nested more than 100 levels deep: give the file"});
}

}  // namespace
}  // namespace parallax::test
