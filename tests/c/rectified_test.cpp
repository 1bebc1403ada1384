// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "parallax/parallax_c.h"
#include "parallax/rectified_matcher.h"

#include "support.h"

namespace parallax::test {
namespace {

constexpr Size size{96, 72};

// Both cameras are turned and have lenses; the view of the right one is larger.
Rig turned_rig() {
  Rig rig;
  rig.left = {size, 80, 81, 48, 36, LensModel::radial_tangential, {-0.1, 0.02, 1e-3, -1e-3}};
  rig.right = {{100, 76}, 82, 82, 50, 37, LensModel::radial_tangential, {-0.12, 0.01}};
  const double cosine = std::cos(0.03), sine = std::sin(0.03);
  rig.rotation = {cosine, -sine, 0, sine, cosine, 0, 0, 0, 1};
  rig.translation = {-0.1, 0.004, 0.002};
  return rig;
}

void expect_ok(parallax_code code) {
  EXPECT_EQ(code, PARALLAX_OK) << parallax_error_message();
}

void expect_refused(parallax_code code, std::string_view part,
                    parallax_code expected = PARALLAX_ERROR_ARGUMENT) {
  EXPECT_EQ(code, expected) << part;
  EXPECT_TRUE(contains(parallax_error_message(), part)) << parallax_error_message() << "\nlacks " << part;
}

template <class T = std::uint8_t>
Plane<T> texture(Size of, unsigned seed) {
  Plane<T> image(of);
  for (int y = 0; y < of.height; ++y)
    for (int x = 0; x < of.width; ++x)
      image.row(y)[x] = static_cast<T>((seed = seed * 1664525u + 1013904223u) >> (32 - 8 * sizeof(T)));
  return image;
}

template <class T>
std::vector<T> pixels(const Plane<T>& plane) {
  std::vector<T> values;
  for (int y = 0; y < plane.height(); ++y)
    values.insert(values.end(), plane.row(y), plane.row(y) + plane.width());
  return values;
}

template <class T>
constexpr auto type_of = static_cast<parallax_type>(8 * sizeof(T));

template <class T>
parallax_image image_of(const Plane<T>& plane) {
  return {sizeof(parallax_image),
          plane.row(0),
          plane.width(),
          plane.height(),
          plane.view().stride_bytes,
          type_of<T>,
          1};
}

template <class T>
parallax_output output_of(Plane<T>& plane) {
  return {sizeof(parallax_output),
          plane.row(0),
          plane.width(),
          plane.height(),
          plane.view().stride_bytes,
          type_of<T>,
          1};
}

class CRectifiedTest : public testing::Test {
 protected:
  CRectifiedTest() {
    parameters.alpha = 0.5;
    parameters.width = chosen.size.width;
    parameters.height = chosen.size.height;
    expect_ok(parallax_rig_create((to_json(rig) + "\n").c_str(), nullptr, &handle));
    expect_ok(parallax_matcher_create("census", nullptr, &matcher));
    expect_ok(parallax_matcher_set_int(matcher, "disparities", 16));
    expect_ok(parallax_matcher_set_device(matcher, "cpu", 2));
  }
  ~CRectifiedTest() override {
    parallax_matcher_release(matcher);
    parallax_rig_release(handle);
  }

  const Rig rig = turned_rig();
  const RectifyParameters chosen{.alpha = 0.5, .size = {90, 60}};
  const Plane<std::uint8_t> left = texture(rig.left.size, 1), right = texture(rig.right.size, 2);
  parallax_image left_image = image_of(left), right_image = image_of(right);
  parallax_rectify_parameters parameters = PARALLAX_RECTIFY_PARAMETERS_INIT;
  parallax_rig* handle = nullptr;
  parallax_matcher* matcher = nullptr;
};

TEST_F(CRectifiedTest, RigsAndRectificationsAreThoseOfCpp) {
  const char* json = nullptr;
  expect_ok(parallax_rig_json(handle, &json));
  EXPECT_EQ(json, to_json(rig));
  const Rectification expected = rectify(rig, chosen);
  parallax_rectification actual = PARALLAX_RECTIFICATION_INIT;
  expect_ok(parallax_rectify(handle, &parameters, &actual));
  EXPECT_TRUE(std::equal(expected.rotation_left.begin(), expected.rotation_left.end(), actual.rotation_left));
  EXPECT_TRUE(
      std::equal(expected.rotation_right.begin(), expected.rotation_right.end(), actual.rotation_right));
  EXPECT_EQ(actual.focal, expected.focal);
  EXPECT_EQ(actual.centre_left_x, expected.centre_left_x);
  EXPECT_EQ(actual.centre_right_x, expected.centre_right_x);
  EXPECT_EQ(actual.centre_y, expected.centre_y);
  EXPECT_EQ(actual.baseline, expected.baseline);
  EXPECT_EQ((Size{actual.width, actual.height}), expected.size);
  parameters.same_centres = 0;
  parameters.zoom = 0.9;
  expect_ok(parallax_rectify(handle, &parameters, &actual));
  const Calibration converging =
      rectify(rig, {.alpha = 0.5, .zoom = 0.9, .same_centres = false, .size = chosen.size}).calibration();
  parallax_calibration calibration = PARALLAX_CALIBRATION_INIT;
  expect_ok(parallax_rectification_calibration(&actual, &calibration));
  EXPECT_EQ(calibration.focal, converging.focal);
  EXPECT_EQ(calibration.centre_x, converging.centre_x);
  EXPECT_EQ(calibration.centre_y, converging.centre_y);
  EXPECT_EQ(calibration.doffs, converging.doffs);
  EXPECT_EQ(calibration.baseline, converging.baseline);
  EXPECT_EQ((Size{calibration.width, calibration.height}), chosen.size);
  expect_ok(parallax_rectify(handle, nullptr, &actual));
  EXPECT_EQ(actual.focal, rectify(rig).focal);
}

TEST_F(CRectifiedTest, ARectifierGivesTheBytesOfCpp) {
  Plane<std::uint8_t> expected[4], actual[4];
  for (auto& plane : expected) plane = Plane<std::uint8_t>(chosen.size, 1);
  for (auto& plane : actual) plane = Plane<std::uint8_t>(chosen.size, 2);
  Rectifier(rig, {.alpha = 0.5, .size = chosen.size, .interpolation = Interpolation::lanczos3}, cpu(1))
      .run(left.view(), right.view(),
           {expected[0].view(), expected[1].view(), expected[2].view(), expected[3].view()});
  parameters.interpolation = PARALLAX_LANCZOS3;
  parallax_rectifier* rectifier = nullptr;
  expect_ok(parallax_rectifier_create(handle, &parameters, "cpu", 2, PARALLAX_UINT8, &rectifier));
  parallax_output outputs[4];
  for (int i = 0; i < 4; ++i) outputs[i] = output_of(actual[i]);
  parallax_rectified_pair to{sizeof(to), &outputs[0], &outputs[1], &outputs[2], &outputs[3]};
  expect_ok(parallax_rectifier_run(rectifier, &left_image, &right_image, &to));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pixels(actual[i]), pixels(expected[i])) << i;
  to.left_mask = to.right_mask = nullptr;
  expect_ok(parallax_rectifier_run(rectifier, &left_image, &right_image, &to));
  EXPECT_EQ(pixels(actual[1]), pixels(expected[1]));
  expect_refused(parallax_rectifier_run(rectifier, &right_image, &left_image, &to), "left image is 100×76");
  outputs[0].stride_bytes = 1;
  expect_refused(parallax_rectifier_run(rectifier, &left_image, &right_image, &to),
                 "rectified left image stride_bytes is 1");
  parallax_rectifier_release(rectifier);
}

TEST_F(CRectifiedTest, ImagesMayHave16Bits) {
  const Plane<std::uint16_t> deep_left = texture<std::uint16_t>(rig.left.size, 3),
                             deep_right = texture<std::uint16_t>(rig.right.size, 4);
  const parallax_image images[] = {image_of(deep_left), image_of(deep_right)};
  Plane<std::uint16_t> expected[2], actual[2];
  for (auto* planes : {expected, actual})
    for (int i = 0; i < 2; ++i) planes[i] = Plane<std::uint16_t>(chosen.size);
  Rectifier(rig, chosen, cpu(1), BitDepth::bits16)
      .run(deep_left.view(), deep_right.view(), {expected[0].view(), expected[1].view()});
  parallax_rectifier* rectifier = nullptr;
  expect_ok(parallax_rectifier_create(handle, &parameters, "cpu", 1, PARALLAX_UINT16, &rectifier));
  const parallax_output outputs[] = {output_of(actual[0]), output_of(actual[1])};
  const parallax_rectified_pair to{sizeof(to), &outputs[0], &outputs[1], nullptr, nullptr};
  expect_ok(parallax_rectifier_run(rectifier, &images[0], &images[1], &to));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pixels(actual[i]), pixels(expected[i])) << i;
  expect_refused(parallax_rectifier_run(rectifier, &left_image, &right_image, &to), "8 bits");
  parallax_rectifier_release(rectifier);

  MatcherParameters settings = preset("census", "default");
  settings.disparities() = 16;
  Result wanted(chosen.size), map(chosen.size, 1);
  RectifiedMatcher(settings, cpu(1), rig, chosen, BitDepth::bits16)
      .run(deep_left.view(), deep_right.view(), wanted.map());
  parallax_rectified_matcher* rectified = nullptr;
  expect_ok(parallax_rectified_matcher_create(matcher, handle, &parameters, PARALLAX_UINT16, &rectified));
  const parallax_output disparity = output_of(map.disparity), status = output_of(map.status);
  const parallax_map maps{sizeof(maps), &disparity, &status, nullptr, nullptr, nullptr};
  expect_ok(parallax_rectified_matcher_run(rectified, &images[0], &images[1], &maps));
  expect_same(wanted, map, "16 bits");
  parallax_rectified_matcher_release(rectified);
}

// Calls from several threads run one after the other.
TEST_F(CRectifiedTest, ThreadsMayShareAHandle) {
  parallax_rectified_matcher* rectified = nullptr;
  expect_ok(parallax_rectified_matcher_create(matcher, handle, &parameters, PARALLAX_UINT8, &rectified));
  const auto match = [&](const parallax_image& image, Result& result) {
    const parallax_output disparity = output_of(result.disparity), status = output_of(result.status);
    const parallax_map map{sizeof(map), &disparity, &status, nullptr, nullptr, nullptr};
    EXPECT_EQ(parallax_rectified_matcher_run(rectified, &image, &right_image, &map), PARALLAX_OK);
  };
  const Plane<std::uint8_t> other = texture(rig.left.size, 5);
  const parallax_image images[] = {left_image, image_of(other)};
  Result expected[] = {Result(chosen.size), Result(chosen.size)};
  for (int i = 0; i < 2; ++i) match(images[i], expected[i]);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      for (int run = 0; run < 20; ++run) {
        Result actual(chosen.size, 1);
        match(images[i], actual);
        expect_same(expected[i], actual, "shared");
      }
    });
  for (std::thread& thread : threads) thread.join();
  parallax_rectified_matcher_release(rectified);
}

TEST_F(CRectifiedTest, AMatcherGivesTheBytesOfCpp) {
  MatcherParameters settings = preset("census", "default");
  settings.disparities() = 16;
  RectifiedMatcher cpp(settings, cpu(1), rig, chosen);
  Result expected(chosen.size), actual(chosen.size, 1);
  cpp.run(left.view(), right.view(), expected.map());
  parallax_rectified_matcher* rectified = nullptr;
  expect_ok(parallax_rectified_matcher_create(matcher, handle, &parameters, PARALLAX_UINT8, &rectified));
  // The objects from which it was made are not needed any more.
  expect_ok(parallax_matcher_set_int(matcher, "disparities", 8));
  const parallax_output disparity = output_of(actual.disparity), status = output_of(actual.status);
  const parallax_map map{sizeof(map), &disparity, &status, nullptr, nullptr, nullptr};
  expect_ok(parallax_rectified_matcher_run(rectified, &left_image, &right_image, &map));
  expect_same(expected, actual, "census");
  int32_t has = -1;
  uint64_t bytes = 0;
  const parallax_stage* stages = nullptr;
  std::size_t count = 0;
  expect_ok(parallax_rectified_matcher_has_confidence(rectified, &has));
  expect_ok(parallax_rectified_matcher_memory(rectified, &bytes));
  expect_ok(parallax_rectified_matcher_stages(rectified, &stages, &count));
  EXPECT_EQ(has, cpp.has_confidence());
  expect_ok(parallax_rectified_matcher_has_row_offsets(rectified, &has));
  EXPECT_EQ(has, cpp.has_row_offsets());
  EXPECT_GT(bytes, chosen.size.pixels());
  // The second list replaces the first one.
  expect_ok(parallax_rectified_matcher_stages(rectified, &stages, &count));
  ASSERT_EQ(count, cpp.stage_times().size());
  double milliseconds = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_STREQ(stages[i].name, cpp.stage_times()[i].stage);
    milliseconds += stages[i].milliseconds;
  }
  EXPECT_GT(milliseconds, 0);
  expect_refused(parallax_rectified_matcher_run(rectified, &left_image, &left_image, &map),
                 "right image is 96×72");
  expect_refused(parallax_rectified_matcher_run(rectified, &left_image, &right_image, nullptr),
                 "map is NULL");
  expect_refused(parallax_rectified_matcher_enqueue(rectified, &left_image, &right_image, &map, nullptr),
                 "planned for a GPU", PARALLAX_ERROR_DEVICE);
  parallax_rectified_matcher_release(rectified);
}

TEST_F(CRectifiedTest, ErrorsNameTheirCauseAndLeaveTheHandle) {
  parallax_rig* made = nullptr;
  expect_refused(parallax_rig_create("{}", "my.json", &made), "my.json: left", PARALLAX_ERROR_FILE);
  expect_refused(parallax_rig_create("{", nullptr, &made), "rig", PARALLAX_ERROR_FILE);
  EXPECT_EQ(made, nullptr);
  parameters.alpha = 2;
  parallax_rectification rectification = PARALLAX_RECTIFICATION_INIT;
  expect_refused(parallax_rectify(handle, &parameters, &rectification), "alpha is 2");
  EXPECT_EQ(rectification.focal, 0);
  parameters.alpha = 0;
  parameters.interpolation = 7;
  parallax_rectifier* rectifier = nullptr;
  parallax_rectified_matcher* rectified = nullptr;
  expect_refused(parallax_rectifier_create(handle, &parameters, "cpu", 0, PARALLAX_UINT8, &rectifier),
                 "interpolation is 7");
  parameters.interpolation = PARALLAX_BILINEAR;
  expect_refused(parallax_rectifier_create(handle, &parameters, "abacus", 0, PARALLAX_UINT8, &rectifier),
                 "abacus");
  expect_refused(parallax_rectifier_create(handle, &parameters, "cpu", 0, PARALLAX_FLOAT32, &rectifier),
                 "type is 32");
  expect_refused(parallax_rectifier_create(handle, &parameters, "cpu", -1, PARALLAX_UINT8, &rectifier),
                 "threads is -1");
  EXPECT_EQ(rectifier, nullptr);
  expect_ok(parallax_matcher_set_memory_limit(matcher, 1000));
  expect_refused(parallax_rectified_matcher_create(matcher, handle, &parameters, PARALLAX_UINT8, &rectified),
                 "1000", PARALLAX_ERROR_MEMORY);
  EXPECT_EQ(rectified, nullptr);
  parameters.struct_size = 1;
  expect_refused(parallax_rectify(handle, &parameters, &rectification),
                 "rectify parameters struct_size is 1");
}

TEST_F(CRectifiedTest, NullIsRefusedByName) {
  const auto refused = [](parallax_code code, std::string_view argument) {
    expect_refused(code, std::string(argument) + " is NULL");
  };
  parallax_rectified_pair to = PARALLAX_RECTIFIED_PAIR_INIT;
  refused(parallax_rig_create(nullptr, nullptr, nullptr), "json");
  refused(parallax_rig_create("{}", nullptr, nullptr), "rig");
  refused(parallax_rig_json(nullptr, nullptr), "rig");
  refused(parallax_rig_json(handle, nullptr), "json");
  refused(parallax_rectify(nullptr, nullptr, nullptr), "rig");
  refused(parallax_rectify(handle, nullptr, nullptr), "rectification");
  refused(parallax_rectification_calibration(nullptr, nullptr), "rectification");
  refused(parallax_rectifier_create(nullptr, nullptr, "cpu", 0, PARALLAX_UINT8, nullptr), "rig");
  refused(parallax_rectifier_create(handle, nullptr, nullptr, 0, PARALLAX_UINT8, nullptr), "device");
  refused(parallax_rectifier_create(handle, nullptr, "cpu", 0, PARALLAX_UINT8, nullptr), "rectifier");
  refused(parallax_rectifier_run(nullptr, &left_image, &right_image, &to), "rectifier");
  refused(parallax_rectified_matcher_create(nullptr, handle, nullptr, PARALLAX_UINT8, nullptr), "matcher");
  refused(parallax_rectified_matcher_create(matcher, nullptr, nullptr, PARALLAX_UINT8, nullptr), "rig");
  refused(parallax_rectified_matcher_create(matcher, handle, nullptr, PARALLAX_UINT8, nullptr),
          "rectified matcher");
  refused(parallax_rectified_matcher_run(nullptr, nullptr, nullptr, nullptr), "rectified matcher");
  refused(parallax_rectified_matcher_enqueue(nullptr, nullptr, nullptr, nullptr, nullptr),
          "rectified matcher");
  refused(parallax_rectified_matcher_memory(nullptr, nullptr), "rectified matcher");
  refused(parallax_rectified_matcher_has_confidence(nullptr, nullptr), "rectified matcher");
  refused(parallax_rectified_matcher_has_row_offsets(nullptr, nullptr), "rectified matcher");
  refused(parallax_rectified_matcher_stages(nullptr, nullptr, nullptr), "rectified matcher");
  parallax_rig_release(nullptr);
  parallax_rectifier_release(nullptr);
  parallax_rectified_matcher_release(nullptr);
}

}  // namespace
}  // namespace parallax::test
