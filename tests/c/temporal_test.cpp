// SPDX-License-Identifier: Apache-2.0
// Filters of videos through the C interface: what C++ gives, and what is refused.
#include "parallax/parallax_c.h"

#include "support.h"

namespace parallax::test {
namespace {

TEST(CTemporalTest, MapsAndStatesAreThoseOfCpp) {
  VideoSynthParameters scene{{160, 120}, 24};
  MatcherParameters parameters = preset("census", "default");
  parameters.disparities() = 24;
  Matcher matcher(parameters, cpu(1), {scene.size});
  TemporalFilter cpp({scene.size}, {.frames = 7});
  parallax_temporal_filter* filter = nullptr;
  ASSERT_EQ(parallax_temporal_filter_create(160, 120, PARALLAX_UINT8, 7, 1, &filter), PARALLAX_OK);
  size_t size = 0;
  ASSERT_EQ(parallax_temporal_filter_state_size(filter, &size), PARALLAX_OK);
  ASSERT_EQ(size, cpp.state_bytes());
  std::vector<std::byte> state(size);
  for (int number = 0; number < 3; ++number) {
    const VideoSynthFrame frame = synthesize_frame(scene, number);
    const auto image = [&](const Plane<std::uint8_t>& plane) {
      return parallax_image{sizeof(parallax_image),    plane.row(0),   160, 120,
                            plane.view().stride_bytes, PARALLAX_UINT8, 3};
    };
    const parallax_image left = image(frame.pair.left), right = image(frame.pair.right);
    const auto view = [](const parallax_image& of) {
      return ImageView(of.data, {{of.width, of.height}}, of.channels, of.stride_bytes);
    };
    Result expected({160, 120}), result({160, 120});
    for (Result* each : {&expected, &result}) matcher.run({view(left), view(right)}, each->map());
    cpp.run({view(left), view(right)}, expected.map());
    const parallax_pair pair{sizeof(parallax_pair), &left, &right, nullptr, nullptr, nullptr};
    const parallax_output disparity{sizeof(parallax_output),
                                    result.disparity.row(0),
                                    160,
                                    120,
                                    result.disparity.view().stride_bytes,
                                    PARALLAX_FLOAT32,
                                    1},
        status{sizeof(parallax_output),           result.status.row(0), 160, 120,
               result.status.view().stride_bytes, PARALLAX_UINT8,       1};
    const parallax_map map{sizeof(parallax_map), &disparity, &status, nullptr, nullptr, nullptr};
    ASSERT_EQ(parallax_temporal_filter_run(filter, &pair, &map), PARALLAX_OK) << parallax_error_message();
    expect_same(expected, result, std::to_string(number));
    int32_t predicted = -1;
    ASSERT_EQ(parallax_temporal_filter_was_predicted(filter, &predicted), PARALLAX_OK);
    EXPECT_EQ(predicted, number > 0 ? 1 : 0);
    ASSERT_EQ(parallax_temporal_filter_save(filter, state.data(), size), PARALLAX_OK);
    EXPECT_TRUE(state == cpp.save());
    ASSERT_EQ(parallax_temporal_filter_clear(filter), PARALLAX_OK);
    ASSERT_EQ(parallax_temporal_filter_restore(filter, state.data(), size), PARALLAX_OK);
  }
  state[0] = std::byte{0};
  EXPECT_EQ(parallax_temporal_filter_restore(filter, state.data(), size), PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(parallax_temporal_filter_save(filter, state.data(), size - 1), PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(parallax_temporal_filter_run(filter, nullptr, nullptr), PARALLAX_ERROR_ARGUMENT);
  parallax_temporal_filter_release(filter);
}

TEST(CTemporalTest, WrongArgumentsAreRefused) {
  parallax_temporal_filter* filter = nullptr;
  EXPECT_EQ(parallax_temporal_filter_create(160, 120, PARALLAX_FLOAT32, 0, 0, &filter),
            PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(parallax_temporal_filter_create(160, 0, PARALLAX_UINT8, 0, 0, &filter), PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(parallax_temporal_filter_create(160, 120, PARALLAX_UINT8, 256, 0, &filter),
            PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(parallax_temporal_filter_create(160, 120, PARALLAX_UINT8, 0, 0, nullptr),
            PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(filter, nullptr);
  EXPECT_EQ(parallax_temporal_filter_clear(nullptr), PARALLAX_ERROR_ARGUMENT);
  EXPECT_EQ(parallax_temporal_filter_was_predicted(nullptr, nullptr), PARALLAX_ERROR_ARGUMENT);
  parallax_temporal_filter_release(nullptr);
}

}  // namespace
}  // namespace parallax::test
