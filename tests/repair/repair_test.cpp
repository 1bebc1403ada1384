// SPDX-License-Identifier: Apache-2.0
#include "parallax/repair.h"

#include <cstring>
#include <functional>
#include <numbers>
#include <random>

#include "check/faulty_rig.h"
#include "geometry/random_rig.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr Size small{400, 300};
constexpr double degree = std::numbers::pi / 180;

// Expects the value within 4 standard deviations of the truth.
void expect_near(const char* what, const RepairedValue& value, double truth) {
  EXPECT_TRUE(value.held) << what;
  EXPECT_NEAR(value.change, truth, 4 * value.uncertainty) << what;
}

void expect_repair(const Faults& faults, std::uint64_t seed, double rows_before) {
  SCOPED_TRACE(seed);
  const FaultyPair pair(small, seed, faults);
  const Rig rig = faultless_rig(small), truth = faulty_rig(small, faults);
  EXPECT_GE(true_rows_off(pair, rig, rectify(rig)), rows_before);
  const RigRepair repair = repair_rig(rig, pair.pair());
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_LT(true_rows_off(pair, repair.rig, rectify(repair.rig)), 0.1);
  EXPECT_LT(repair.rows_after, 0.15);
  EXPECT_GE(repair.rows_before, rows_before);
  EXPECT_LT(repair.uncertainty, 0.2);
  const Vector3 turned = axis_of(truth.rotation);
  const char* const axes[] = {"right", "down", "forward"};
  for (std::size_t i = 0; i < 3; ++i) expect_near(axes[i], repair.rotation[i], turned[i] / degree);
  expect_near("baseline down", repair.down, std::atan(faults.higher) / degree);
  EXPECT_NEAR(repair.forward.change, std::atan(faults.forward) / degree, 4 * repair.forward.uncertainty);
  expect_near("focal ratio", repair.focal_ratio, faults.scale - 1);
  EXPECT_EQ(repair.rig.left, rig.left);
  EXPECT_NEAR(length(repair.rig.translation), 1, 1e-12);
}

TEST(RepairTest, TurnsAboutEachAxisAreUndone) {
  for (const double angle : {0.1, -1.0}) {
    expect_repair({.pitch = angle * degree}, 1, 0.5);
    expect_repair({.yaw = angle * degree}, 2, 0.02);
    expect_repair({.roll = angle * degree}, 3, 0.2);
  }
}

TEST(RepairTest, TiltedBaselinesAndOtherFocalLengthsAreUndone) {
  expect_repair({.higher = std::tan(0.7 * degree)}, 1, 0.2);
  expect_repair({.forward = std::tan(-1 * degree)}, 2, 0.1);
  expect_repair({.scale = 1.02}, 3, 1);
  expect_repair({.scale = 0.98}, 4, 1);
}

TEST(RepairTest, AllAtOnceIsUndoneInSpiteOfNoise) {
  std::mt19937 random(1);
  const auto within = [&](double most) { return std::uniform_real_distribution(-most, most)(random); };
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    expect_repair({.roll = within(degree),
                   .pitch = within(degree),
                   .yaw = within(degree),
                   .scale = 1 + within(0.02),
                   .higher = within(0.017),
                   .forward = within(0.017),
                   .noise = seed % 2 == 0 ? 6.0 : 0.0},
                  seed, 0);
}

TEST(RepairTest, ARigThatIsRightStaysAsItIs) {
  const FaultyPair pair(small, 1, {});
  const RigRepair repair = repair_rig(faultless_rig(small), pair.pair());
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_LT(true_rows_off(pair, repair.rig, rectify(repair.rig)), 0.02);
  for (const RepairedValue& value : {repair.rotation[0], repair.rotation[1], repair.rotation[2], repair.down,
                                     repair.forward, repair.focal_ratio, repair.principal_row})
    EXPECT_LT(std::abs(value.change), 3 * value.uncertainty);
  // A thousand points do not average out the common causes of their errors.
  EXPECT_GT(repair.uncertainty, 0.015);
  EXPECT_EQ(repair.distortion.change, 0);
  EXPECT_EQ(repair.distortion.uncertainty, 0);
}

TEST(RepairTest, WithoutARigRowsLineUp) {
  for (const double focal : {0.0, 350.0, 700.0}) {
    const FaultyPair pair(
        small, 5,
        {.roll = 0.012, .pitch = -0.014, .yaw = 0.01, .scale = 1.02, .higher = 0.015, .forward = -0.01});
    const RigRepair repair =
        repair_rig(guessed_rig(small, focal), pair.pair(), RepairParameters::uncalibrated(small));
    ASSERT_TRUE(repair.repaired()) << repair.sentence;
    EXPECT_LT(true_rows_off(pair, repair.rig, rectify(repair.rig)), 0.1) << focal;
    // The picture is hardly changed: things keep their size, and nothing turns more than necessary.
    EXPECT_LT(length(axis_of(repair.rig.rotation)), 0.06);
  }
}

// Points in space, as the cameras of a rig see them.
class Scene {
 public:
  Scene(const Rig& rig, unsigned seed) : rig_(rig), left_(rig.left), right_(rig.right), random_(seed) {}

  double between(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  // `depth` is that of a ray through the plane at distance 1, in baselines.
  std::vector<PointPair> points(int count, const std::function<double(double x, double y)>& depth,
                                double noise = 0.03) {
    std::vector<PointPair> points;
    const double baseline = length(rig_.translation);
    while (static_cast<int>(points.size()) < count) {
      const Position at = {between(0, rig_.left.size.width - 1), between(0, rig_.left.size.height - 1)};
      const auto ray = left_.ray(at);
      if (!ray || !((*ray)[2] > 0.1)) continue;
      const double x = (*ray)[0] / (*ray)[2], y = (*ray)[1] / (*ray)[2];
      const Vector3 turned = rig_.rotation * scaled({x, y, 1}, baseline * depth(x, y));
      Vector3 point = turned;
      for (std::size_t i = 0; i < 3; ++i) point[i] += rig_.translation[i];
      const auto seen = right_.project(point);
      if (!seen || (*seen)[0] < 0 || (*seen)[1] < 0 || (*seen)[0] > rig_.right.size.width - 1 ||
          (*seen)[1] > rig_.right.size.height - 1)
        continue;
      std::normal_distribution<double> error(0, noise);
      points.push_back({at, {(*seen)[0], (*seen)[1] + error(random_)}, noise});
    }
    return points;
  }
  std::vector<PointPair> deep(int count) {
    return points(count, [&](double, double) { return 1 / between(0.005, 0.12); });
  }

 private:
  Rig rig_;
  Lens left_, right_;
  std::mt19937 random_;
};

Rig turned(Rig rig, const Vector3& axis) {
  const Vector3 centre = exchanged(rig).translation;
  rig.rotation = rotation_about(scaled(axis, degree)) * rig.rotation;
  rig.translation = scaled(rig.rotation * centre, -1);
  return rig;
}

// The maximum row difference by a rig, for points without noise.
double worst_rows(const Rig& rig, const std::vector<PointPair>& points) {
  const Rectification rectification = rectify(rig, {.alpha = 1});
  const Lens left(rig.left), right(rig.right);
  double worst = 0;
  for (const PointPair& point : points) {
    const Vector3 a = rectification.rotation_left * *left.ray(point.left),
                  b = rectification.rotation_right * *right.ray(point.right);
    worst = std::max(worst, std::abs(rig.left.focal_y * (a[1] / a[2] - b[1] / b[2])));
  }
  return worst;
}

TEST(RepairTest, LensesOfBothModelsAreTakenIntoAccount) {
  RandomRig rigs(7);
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Rig rig = rigs.rig();
    Scene scene(turned(rig, {rigs.between(-1, 1), rigs.between(-1, 1), rigs.between(-1, 1)}), seed);
    const std::vector<PointPair> points = scene.deep(600);
    const auto exact = scene.points(
        200, [&](double, double) { return 1 / scene.between(0.005, 0.12); }, 1e-9);
    const RigRepair repair = repair_rig(rig, points);
    ASSERT_TRUE(repair.repaired()) << seed << " " << repair.sentence;
    EXPECT_GT(worst_rows(rig, exact), 0.5);
    EXPECT_LT(worst_rows(repair.rig, exact), 0.15) << seed;
    EXPECT_EQ(repair.rig.left, rig.left);
    EXPECT_EQ(repair.rig.right.distortion, rig.right.distortion);
    EXPECT_NEAR(length(repair.rig.translation), length(rig.translation), 1e-12);
  }
}

TEST(RepairTest, AThirdOfWrongPointsDoesNoHarm) {
  const Rig rig = car_rig();
  Scene scene(turned(rig, {0.4, -0.3, 0.5}), 1);
  std::vector<PointPair> points = scene.deep(300);
  const auto exact = scene.points(
      100, [&](double, double) { return 1 / scene.between(0.005, 0.12); }, 1e-9);
  for (std::size_t i = 0; i < points.size(); i += 3) points[i].right[1] += scene.between(-30, 30);
  const RigRepair repair = repair_rig(rig, points);
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_LT(worst_rows(repair.rig, exact), 0.15);
}

void expect_refused(const RigRepair& repair, const Rig& rig, RepairVerdict verdict,
                    const std::string& words) {
  EXPECT_EQ(repair.verdict, verdict) << repair.sentence;
  EXPECT_NE(repair.sentence.find(words), std::string::npos) << repair.sentence;
  EXPECT_EQ(repair.rig, rig);
  EXPECT_FALSE(repair.repaired());
}

TEST(RepairTest, WhatThePointsDoNotHoldIsRefused) {
  const Rig rig = car_rig();
  Scene scene(turned(rig, {0.2, 0.1, -0.3}), 3);
  const auto far = scene.points(800, [](double, double) { return 1e6; });
  expect_refused(repair_rig(rig, far), rig, RepairVerdict::not_held, "far away");
  const auto wall = scene.points(800, [](double, double) { return 20.0; });
  const auto road = scene.points(800, [](double x, double y) { return 1 / (0.04 + 0.02 * x + 0.05 * y); });
  expect_refused(repair_rig(rig, wall), rig, RepairVerdict::not_held, "one plane");
  expect_refused(repair_rig(rig, road), rig, RepairVerdict::not_held, "one plane");
  std::vector<PointPair> corner;
  for (const PointPair& point : scene.deep(8000))
    if (point.left[0] < 300 && point.left[1] < 120) corner.push_back(point);
  ASSERT_GT(corner.size(), 200u);
  expect_refused(repair_rig(rig, corner), rig, RepairVerdict::not_held, "all over the picture");
  const auto few = scene.deep(19);
  expect_refused(repair_rig(rig, few), rig, RepairVerdict::too_few, "19 points");
  expect_refused(repair_rig(rig, std::span<const PointPair>{}), rig, RepairVerdict::unmatched, "no points");
  // Points that belong to no rig.
  std::vector<PointPair> nonsense = scene.deep(500);
  for (PointPair& point : nonsense) point.right[1] += scene.between(-40, 40);
  const RigRepair worse = repair_rig(rig, nonsense);
  EXPECT_FALSE(worse.repaired()) << worse.sentence;
  EXPECT_EQ(worse.rig, rig);
}

// A caller who knows that only the rotation can have changed.
TEST(RepairTest, WhatIsKnownNeedNotBeHeld) {
  const Rig rig = car_rig(), truth = turned(rig, {0.2, 0.1, -0.3});
  Scene scene(truth, 3);
  const auto far = scene.points(800, [](double, double) { return 1e6; });
  const RigRepair repair = repair_rig(rig, far, {.direction = 0, .focal_ratio = 0, .principal_row = 0});
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_LT(worst_rows(repair.rig, scene.points(
                                       100, [&](double, double) { return 20.0; }, 1e-9)),
            0.1);
  EXPECT_EQ(repair.down.change, 0);
  EXPECT_EQ(repair.focal_ratio.uncertainty, 0);
  EXPECT_EQ(repair.rig.right, rig.right);
}

Plane<std::uint8_t> random_pixels(Size size, unsigned seed) {
  std::mt19937 random(seed);
  Plane<std::uint8_t> image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) image.at(x, y) = static_cast<std::uint8_t>(random() >> 24);
  return image;
}

TEST(RepairTest, PicturesThatDoNotMatchAreRefused) {
  const Plane<std::uint8_t> first = random_pixels(small, 1), second = random_pixels(small, 2);
  const Plane<std::uint8_t> flat(small, 90);
  const Rig rig = faultless_rig(small);
  expect_refused(repair_rig(rig, StereoPair{first.view(), second.view()}), rig, RepairVerdict::unmatched,
                 "do not show one scene");
  expect_refused(repair_rig(rig, StereoPair{first.view(), flat.view()}), rig, RepairVerdict::unmatched,
                 "texture");
  const FaultyPair pair(small, 1, {});
  expect_refused(repair_rig(rig, StereoPair{pair.left().view(), pair.left().view()}), rig,
                 RepairVerdict::unmatched, "same");
}

TEST(RepairTest, ManyFramesConverge) {
  const Rig rig = chessboard_rig();
  Scene scene(turned(rig, {0.3, 0.2, -0.4}), 5);
  RigRepairer repairer(rig);
  EXPECT_FALSE(repairer.has_converged());
  EXPECT_EQ(repairer.result().verdict, RepairVerdict::unmatched);
  double first = 0, uncertainty = 1e9;
  int converged = -1;
  for (int i = 0; i < 20; ++i) {
    const FrameRepair frame = repairer.add(scene.deep(25));
    EXPECT_TRUE(frame.agrees) << i;
    EXPECT_EQ(frame.points, 25);
    EXPECT_LT(frame.uncertainty, 1.01 * uncertainty);
    uncertainty = frame.uncertainty;
    if (i == 0) first = uncertainty;
    if (converged < 0 && repairer.has_converged()) converged = i;
  }
  const RigRepair repair = repairer.result();
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_LT(uncertainty, 0.4 * first);
  EXPECT_GT(converged, 0);
  EXPECT_GE(repair.converged, 0);
  EXPECT_EQ(repair.frames, 20);
  EXPECT_TRUE(repair.drifts.empty());
  EXPECT_LT(
      worst_rows(repair.rig, scene.points(
                                 100, [&](double, double) { return 1 / scene.between(0.005, 0.12); }, 1e-9)),
      0.1);
}

TEST(RepairTest, CamerasThatMoveAreNoticedAndFollowed) {
  const Rig rig = car_rig(), then = turned(rig, {0.1, 0, 0.1}), later = turned(rig, {0.15, 0, 0.2});
  Scene before(then, 1), after(later, 2), elsewhere(turned(rig, {-0.4, 0, 0}), 3);
  RigRepairer repairer(rig);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(repairer.add(before.deep(200)).agrees) << i;
  // A single frame that differs, such as one of cameras that do not expose at once, is left out.
  const FrameRepair lonely = repairer.add(elsewhere.deep(200));
  EXPECT_FALSE(lonely.agrees);
  EXPECT_GT(lonely.disagreement, 3);
  EXPECT_FALSE(lonely.refused.empty());
  EXPECT_NE(repairer.result().sentence.find("The last frames, from 5 on, do not agree"), std::string::npos);
  EXPECT_TRUE(repairer.add(before.deep(200)).agrees);
  EXPECT_TRUE(repairer.result().drifts.empty());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(repairer.add(after.deep(200)).agrees, i > 2) << i;
  const RigRepair repair = repairer.result();
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  ASSERT_EQ(repair.drifts.size(), 1u);
  EXPECT_EQ(repair.drifts[0].frame, 7);
  EXPECT_GT(repair.drifts[0].rows, 0.5);
  EXPECT_LT(repair.drifts[0].rows, 4);
  EXPECT_NE(repair.sentence.find("The cameras moved at frame 7"), std::string::npos) << repair.sentence;
  EXPECT_EQ(repair.frames, 5);
  EXPECT_LT(
      worst_rows(repair.rig, after.points(
                                 100, [&](double, double) { return 1 / after.between(0.005, 0.12); }, 1e-9)),
      0.15);
}

TEST(RepairTest, TheLeftPictureCanBeKept) {
  const FaultyPair pair(small, 4, {.rows = 0.8, .roll = 0.004, .yaw = 0.005, .scale = 1.004});
  RepairParameters parameters = RepairParameters::uncalibrated(small);
  parameters.keep_left = true;
  const RigRepair repair = repair_rig(guessed_rig(small), pair.pair(), parameters);
  ASSERT_TRUE(repair.repaired()) << repair.sentence;
  EXPECT_EQ(repair.down.change, 0);
  const KeptLeft kept = keep_left(repair.rig);
  Plane<std::uint8_t> left(small), right(small), left_mask(small), right_mask(small);
  for (const Interpolation interpolation : {Interpolation::bilinear, Interpolation::lanczos3}) {
    Rectifier rectifier(kept.rig, kept.rectification, interpolation, Device{});
    rectifier.run(pair.left().view(), pair.right().view(),
                  {left.view(), right.view(), left_mask.view(), right_mask.view()});
    const int border = interpolation == Interpolation::lanczos3 ? 3 : 0;
    for (int y = 0; y < small.height; ++y) {
      if (y >= border && y < small.height - border) {
        EXPECT_EQ(std::memcmp(left.row(y) + border, pair.left().row(y) + border,
                              static_cast<std::size_t>(small.width - 2 * border)),
                  0);
      }
      // Nothing is masked: rows beyond the picture are those of its border.
      for (int x = 0; x < small.width; ++x) EXPECT_EQ(right_mask.at(x, y), 255);
    }
    const PairReport report = check_pair({left.view(), right.view()}), before = check_pair(pair.pair());
    EXPECT_GT(before.rows_off_95, 0.8);
    EXPECT_LT(report.rows_off_95, 0.12);
    // Columns are unchanged.
    EXPECT_NEAR(report.range.quantiles[2], before.range.quantiles[2], 0.15);
  }
}

TEST(RepairTest, OnlyAPinholeBesideTheOtherCanBeKept) {
  Rig rig = guessed_rig(small);
  EXPECT_NO_THROW(keep_left(rig));
  rig.left.distortion[0] = 0.01;
  EXPECT_THROW(keep_left(rig), Error);
  rig = guessed_rig(small);
  rig.left.focal_y += 1;
  EXPECT_THROW(keep_left(rig), Error);
  rig = guessed_rig(small);
  rig.translation[1] = 0.01;
  EXPECT_THROW(keep_left(rig), Error);
  EXPECT_THROW(RigRepairer(car_rig(), {.keep_left = true}), Error);
}

TEST(RepairTest, EveryNumberOfThreadsGivesTheSameRig) {
  const FaultyPair pair(small, 3, {.roll = 0.01, .pitch = 0.005, .higher = 0.01, .noise = 5});
  RepairParameters parameters;
  parameters.check.threads = 1;
  const RigRepair expected = repair_rig(faultless_rig(small), pair.pair(), parameters);
  for (const int threads : {2, 5}) {
    parameters.check.threads = threads;
    const RigRepair repair = repair_rig(faultless_rig(small), pair.pair(), parameters);
    EXPECT_EQ(repair.rig, expected.rig);
    EXPECT_EQ(repair.sentence, expected.sentence);
    EXPECT_EQ(repair.uncertainty, expected.uncertainty);
  }
}

TEST(RepairTest, BadArgumentsAreRefused) {
  const Rig rig = faultless_rig(small);
  const auto refused = [](const std::function<void()>& call, const std::string& words) {
    try {
      call();
      ADD_FAILURE() << "accepted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::argument);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused([&] { RigRepairer(rig, {.rotation = -1}); }, "rotation");
  refused([&] { RigRepairer(rig, {.direction = 90}); }, "direction");
  refused([&] { RigRepairer(rig, {.focal_ratio = 1}); }, "focal_ratio");
  refused([&] { RigRepairer(rig, {.max_uncertainty = 0}); }, "max_uncertainty");
  RepairParameters parameters;
  parameters.check.search_rows = 2;
  refused([&] { RigRepairer(rig, parameters); }, "search_rows");
  Rig vertical = rig;
  vertical.translation = {0, -1, 0};
  refused([&] { RigRepairer{vertical}; }, "above each other");
  RigRepairer repairer(rig);
  const Plane<std::uint8_t> image(small, 1), other({small.width, small.height + 1}, 1);
  const Plane<std::uint16_t> deep(small);
  refused([&] { repairer.add(StereoPair{image.view(), other.view()}); }, "400×301");
  refused([&] { repairer.add(StereoPair{image.view(), deep.view()}); }, "depth");
  const PointPair bad[] = {{{1, std::nan("")}, {1, 1}}};
  refused([&] { repairer.add(bad); }, "position of a point");
  refused([] { guessed_rig({0, 10}); }, "");
  refused([] { guessed_rig(small, -1); }, "focal");
}

}  // namespace
}  // namespace parallax::test
