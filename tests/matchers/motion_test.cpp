// SPDX-License-Identifier: Apache-2.0
// Motion: its results, the meaning of its parameters, and messages between windows of labels.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "matchers/motion/windows_kernels.h"
#include "support.h"

namespace parallax::test {
namespace {

using motion::WindowModel, motion::WindowRow, motion::WindowStart, motion::WindowSweep, motion::data_pack,
    motion::window_lanes, motion::window_packs, motion::window_side;
namespace side = motion::side;

// All labels of up to 3 pixels on each axis, without any step after the match.
MotionParameters small_motions() {
  MotionParameters parameters;
  parameters.min_disparity = parameters.min_row_offset = -3;
  parameters.disparities = parameters.row_offsets = 7;
  parameters.active_window = 0;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

Plane<std::uint8_t> noise(Size size, unsigned seed) {
  std::mt19937 random(seed);
  Plane<std::uint8_t> image(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      image.at(x, y) = static_cast<std::uint8_t>(random_number(random, 0, 255));
  return image;
}

// The second frame: the pixel at (x, y) moves to (x + u, y + v). New pixels come in.
Plane<std::uint8_t> moved(const Plane<std::uint8_t>& image, int u, int v) {
  Plane<std::uint8_t> out = noise(image.size(), 99);
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      if (x + u >= 0 && x + u < image.width() && y + v >= 0 && y + v < image.height())
        out.at(x + u, y + v) = image.at(x, y);
  return out;
}

// Calls action(x, y) for the pixels whose census windows have the same content in both frames.
template <class Action>
void for_whole_windows(Size size, int u, int v, const Action& action) {
  constexpr int columns = 4, rows = 3;
  for (int y = rows + std::max(0, -v); y < size.height - rows - std::max(0, v); ++y)
    for (int x = columns + std::max(0, -u); x < size.width - columns - std::max(0, u); ++x) action(x, y);
}

TEST(MotionTest, FindsTranslationsOfAnySignOnBothAxes) {
  const Plane<std::uint8_t> first = noise({40, 32}, 1);
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32})
    for (const int u : {-3, 0, 2})
      for (const int v : {-2, 0, 3}) {
        MotionParameters parameters = small_motions();
        parameters.arithmetic = arithmetic;
        const Plane<std::uint8_t> second = moved(first, u, v);
        const Result result = match(parameters, reference, {first.view(), second.view()}, 0xA5, true);
        for_whole_windows(first.size(), u, v, [&](int x, int y) {
          ASSERT_EQ(-u, result.disparity.at(x, y)) << u << ", " << v << " at " << x << ", " << y;
          ASSERT_EQ(v, result.row_offset.at(x, y)) << u << ", " << v << " at " << x << ", " << y;
          ASSERT_EQ(static_cast<std::uint8_t>(Status::matched), result.status.at(x, y));
        });
      }
}

TEST(MotionTest, MatchesOfMotionPointWhereThePixelGoes) {
  const Plane<std::uint8_t> first = noise({40, 32}, 1), second = moved(first, 2, -3);
  const MotionResult result = match_motion(first.view(), second.view(), small_motions(), reference);
  for_whole_windows(first.size(), 2, -3, [&](int x, int y) {
    ASSERT_EQ(result.motion.u.at(x, y), 2);
    ASSERT_EQ(result.motion.v.at(x, y), -3);
    ASSERT_EQ(static_cast<std::uint8_t>(Status::matched), result.status.at(x, y));
  });
}

// Noise of squares of several sizes, so that coarser scales see some.
TEST(MotionTest, FindsLargeTranslationsCoarseToFine) {
  const Size size{192, 144};
  const Plane<std::uint8_t> values = noise(size, 2);
  Plane<std::uint8_t> first(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      int sum = 0;
      for (const int side : {1, 3, 9, 27}) sum += values.at(x / side, y / side);
      first.at(x, y) = static_cast<std::uint8_t>(sum / 4);
    }
  for (const auto& [u, v] : {std::pair{37, -22}, std::pair{-30, 41}}) {
    const Plane<std::uint8_t> second = moved(first, u, v);
    MotionParameters parameters;
    parameters.refine = RefineParameters::none();
    const Result result = match(parameters, reference, {first.view(), second.view()}, 0xA5, true);
    int pixels = 0, right = 0;
    for_whole_windows(size, u, v, [&, u = u, v = v](int x, int y) {
      ++pixels;
      right += std::abs(result.disparity.at(x, y) + static_cast<float>(u)) < 0.5f &&
               std::abs(result.row_offset.at(x, y) - static_cast<float>(v)) < 0.5f;
    });
    EXPECT_GT(right, pixels * 95 / 100) << u << ", " << v;
  }
}

TEST(MotionTest, FindsFractionsOnBothAxes) {
  const Size size{64, 48};
  const float u = 1.4f, v = -0.7f;
  Plane<std::uint8_t> first(size), second(size);
  const auto level = [](float x, float y) {
    const float waves = std::sin(0.5f * x + 0.2f * y) + std::sin(0.4f * y - 0.25f * x) + std::sin(0.9f * x) +
                        std::sin(0.8f * y + 1);
    return static_cast<std::uint8_t>(128 + 30 * waves);
  };
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      first.at(x, y) = level(static_cast<float>(x), static_cast<float>(y));
      second.at(x, y) = level(static_cast<float>(x) - u, static_cast<float>(y) - v);
    }
  const auto error = [&](SubPixel sub_pixel, int refit) {
    MotionParameters parameters = small_motions();
    parameters.sub_pixel = sub_pixel;
    parameters.refine.refit = refit;
    const Result result = match(parameters, reference, {first.view(), second.view()}, 0xA5, true);
    float sum = 0;
    int pixels = 0;
    for (int y = 6; y < size.height - 6; ++y)
      for (int x = 6; x < size.width - 6; ++x, ++pixels)
        sum += std::hypot(result.disparity.at(x, y) + u, result.row_offset.at(x, y) - v);
    return sum / static_cast<float>(pixels);
  };
  const float whole = error(SubPixel::none, 0);
  EXPECT_GT(whole, 0.45f);
  EXPECT_LT(error(SubPixel::v_shape, 0), whole * 0.85f);
  EXPECT_LT(error(SubPixel::v_shape, 7), 0.1f);
}

TEST(MotionTest, MaskedPixelsTakeNoPart) {
  const Size size{30, 24};
  const Plane<std::uint8_t> first = noise(size, 3), second = moved(first, 2, 1);
  Plane<std::uint8_t> left_mask(size, 1), right_mask(size, 1);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      left_mask.at(x, y) = x < 25;
      right_mask.at(x, y) = x >= 12;
    }
  const Result result = match(small_motions(), reference,
                              {first.view(), second.view(), left_mask.view(), right_mask.view()}, 0xA5, true);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      // Disparities of −3 … 3 lead to columns from x − 3 to x + 3.
      const Status status = x >= 25      ? Status::input_masked
                            : x + 3 < 12 ? Status::out_of_range
                                         : Status::matched;
      ASSERT_EQ(static_cast<std::uint8_t>(status), result.status.at(x, y)) << x << ", " << y;
      ASSERT_EQ(status == Status::matched, std::isfinite(result.disparity.at(x, y)));
      ASSERT_EQ(status == Status::matched, std::isfinite(result.row_offset.at(x, y)));
      ASSERT_TRUE(status == Status::matched || result.confidence.at(x, y) == 0);
    }
}

std::string refusal(const MotionParameters& parameters, Size size) {
  try {
    Matcher(parameters, reference, {size, BitDepth::bits8});
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCategory::argument, error.category());
    return error.what();
  }
  return "";
}

TEST(MotionTest, TooManyLabelsAreRefusedWithWhatWindowsNeed) {
  MotionParameters parameters = preset<MotionParameters>("all-labels");
  parameters.disparities = parameters.row_offsets = 101;
  const ImageFormat format{{200, 150}};
  for (const Device& device : {reference, cpu(2)}) {
    MotionParameters windows = parameters;
    windows.active_window = 7;
    const std::size_t needed = estimate_memory_bytes(windows, device, format);
    expect_error(error_of([&] { Matcher(parameters, device, format, {.max_memory_bytes = needed}); }),
                 ErrorCategory::memory, {"set active_window to 7, which needs"});
    Matcher(windows, device, format, {.max_memory_bytes = needed});
  }
}

TEST(MotionTest, RefusesRangesThatNoPixelCanUse) {
  const Size size{40, 30};
  MotionParameters parameters = small_motions();
  parameters.min_row_offset = 30;
  EXPECT_NE(std::string::npos, refusal(parameters, size).find("row offsets 30 to 36"))
      << refusal(parameters, size);
  parameters.min_row_offset = -36;
  EXPECT_NE(std::string::npos, refusal(parameters, size).find("row offsets -36 to -30"));
  parameters.min_row_offset = -35;
  EXPECT_EQ("", refusal(parameters, size));
  parameters.min_row_offset = 29;
  EXPECT_EQ("", refusal(parameters, size));
  parameters.min_disparity = 40;
  EXPECT_NE(std::string::npos, refusal(parameters, size).find("disparit")) << refusal(parameters, size);
  parameters.min_disparity = -46;
  EXPECT_NE(std::string::npos, refusal(parameters, size).find("disparit"));
  parameters.min_disparity = -45;
  EXPECT_EQ("", refusal(parameters, size));
}

TEST(MotionTest, MatchesOnePixel) {
  const Plane<std::uint8_t> image({1, 1}, 7);
  for (const Device& device : processors("motion"))
    for (const int window : {0, 7}) {
      MotionParameters parameters;
      parameters.active_window = window;
      const Result result = match(parameters, device, {image.view(), image.view()}, 0xA5, true);
      EXPECT_EQ(static_cast<std::uint8_t>(Status::matched), result.status.at(0, 0));
      EXPECT_EQ(0, result.disparity.at(0, 0));
      EXPECT_EQ(0, result.row_offset.at(0, 0));
    }
}

TEST(MotionTest, SetsEveryPixelOfEveryMap) {
  const Size size{37, 29};
  const Plane<std::uint8_t> first = noise(size, 4), second = noise(size, 5);
  Plane<std::uint8_t> mask(size, 1);
  for (int y = 0; y < size.height; ++y) mask.at(y, y) = 0;
  MotionParameters parameters;
  parameters.min_confidence = 0.1f;
  for (const Device& device : processors("motion"))
    for (const Fill fill : {Fill::none, Fill::directions}) {
      parameters.refine.fill = fill;
      const StereoPair pair{first.view(), second.view(), mask.view(), {}};
      expect_same(match(parameters, device, pair, 0xA5, true), match(parameters, device, pair, 0x5A, true),
                  std::string(name(device.kind)));
    }
}

// If labels cannot be distinguished, all data costs are the same.
TEST(MotionTest, TiesGoToTheFirstLabel) {
  const Size size{24, 20};
  const Plane<std::uint8_t> image(size, 50);
  for (const Device& device : processors("motion"))
    for (const int window : {0, 3}) {
      MotionParameters parameters = small_motions();
      parameters.active_window = window;
      parameters.outside_cost = 0;
      const Result result = match(parameters, device, {image.view(), image.view()}, 0xA5, true);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x) {
          ASSERT_EQ(-3, result.disparity.at(x, y));
          ASSERT_EQ(-3, result.row_offset.at(x, y));
        }
    }
}

TEST(MotionTest, PresetsAreWhatTheirDescriptionSays) {
  const auto parameters = [](const char* name) { return *preset("motion", name).get_if<MotionParameters>(); };
  const MotionParameters usual = parameters("default"), all = parameters("all-labels");
  EXPECT_EQ(-64, usual.min_disparity);
  EXPECT_EQ(129, usual.disparities);
  EXPECT_EQ(-64, usual.min_row_offset);
  EXPECT_EQ(129, usual.row_offsets);
  EXPECT_EQ(7, usual.active_window);
  EXPECT_EQ(-15, all.min_disparity);
  EXPECT_EQ(31, all.disparities);
  EXPECT_EQ(-7, all.min_row_offset);
  EXPECT_EQ(15, all.row_offsets);
  EXPECT_EQ(0, all.active_window);
}

// The parameters of a test are a vector target.
class MotionMessages : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

// The values of packs: costs, or in bytes the difference to a maximum.
template <class Element>
double cost_of(Element value, int highest) {
  return sizeof(Element) == 1 ? highest - static_cast<double>(value) : static_cast<double>(value);
}

// A pixel in the middle of 3×3 sends messages to its four neighbours.
template <class Element>
struct Middle {
  static constexpr int width = 3, bound = sizeof(Element) == 1 ? 31 : 4095, data_bound = 4 * bound + 1;
  std::mt19937& random;
  WindowModel model = {};
  std::vector<Element> packs[3];
  std::vector<WindowStart> starts[3];
  std::vector<std::uint16_t> beside[3], below[3];

  int any(int low, int high) { return random_number(random, low, high); }

  Middle(Arithmetic arithmetic, Size window, std::mt19937& generator) : random(generator) {
    model.arithmetic = arithmetic;
    model.window = window;
    model.data_bound = data_bound;
    for (int edge = 0; edge < 257; ++edge) {
      model.slopes.push_back(static_cast<float>(any(1, any(0, 1) == 0 ? 6 : bound)));
      model.truncations.push_back(static_cast<float>(any(0, bound)));
    }
    for (int y = 0; y < 3; ++y) {
      packs[y].resize(width * window_packs * window_lanes);
      for (int x = 0; x < width; ++x) {
        starts[y].push_back({any(-2, 2) * any(0, 5), any(-2, 2) * any(0, 5)});
        beside[y].push_back(static_cast<std::uint16_t>(any(0, 256)));
        below[y].push_back(static_cast<std::uint16_t>(any(0, 256)));
      }
    }
    const int never = sizeof(Element) == 1 ? 0 : 40000;
    for (int i = 0; i < window_side; ++i)
      for (int j = 0; j < window_side; ++j) {
        const bool inside = i < window.width && j < window.height;
        model.inside[i * window_side + j] = inside ? 255 : 0;
        for (int pack = 0; pack < window_packs; ++pack) {
          Element& value = at(1, 1, pack)[i * window_side + j];
          value = static_cast<Element>(pack == data_pack ? (inside ? any(0, data_bound) : never)
                                       : inside          ? any(0, bound)
                                                         : 0);
        }
      }
    at(1, 1, data_pack)[0] = static_cast<Element>(sizeof(Element) == 1 ? data_bound : 0);
  }

  Element* at(int x, int y, int pack) { return packs[y].data() + (x * window_packs + pack) * window_lanes; }
  WindowRow row(int y) {
    return {reinterpret_cast<std::byte*>(packs[y].data()), starts[y].data(), beside[y].data(),
            below[y].data()};
  }

  void check() {
    motion::send_windows({&model, 1, width, true, row(1), row(0), row(2), true, true});
    check_message(side::above, 1, 0, below[0][1]);
    check_message(side::below, 1, 2, below[1][1]);
    check_message(side::left, 0, 1, beside[1][0]);
    check_message(side::right, 2, 1, beside[1][1]);
  }

  void check_message(int to, int x, int y, int edge) {
    const auto slope = static_cast<double>(model.slopes[static_cast<std::size_t>(edge)]),
               truncation = static_cast<double>(model.truncations[static_cast<std::size_t>(edge)]);
    const auto for_labels = [&](const auto& action) {
      for (int i = 0; i < model.window.width; ++i)
        for (int j = 0; j < model.window.height; ++j) action(i, j, i * window_side + j);
    };
    std::vector<double> h(window_lanes);
    double least = std::numeric_limits<double>::infinity();
    for_labels([&](int, int, int lane) {
      double& sum = h[static_cast<std::size_t>(lane)];
      sum = cost_of(at(1, 1, data_pack)[lane], data_bound);
      for (int from = 0; from < side::count; ++from)
        if (from != to) sum += cost_of(at(1, 1, from)[lane], bound);
      least = std::min(least, sum);
    });
    const WindowStart own = starts[1][1], other = starts[y][static_cast<std::size_t>(x)];
    for_labels([&](int i, int j, int lane) {
      double message = truncation;
      for_labels([&](int k, int l, int from) {
        const int away = std::abs(other.column + i - own.column - k) + std::abs(other.row + j - own.row - l);
        message = std::min(message, h[static_cast<std::size_t>(from)] + slope * away - least);
      });
      ASSERT_EQ(message, cost_of(at(x, y, side::opposite[to])[lane], static_cast<int>(truncation)))
          << "side " << to << ", label " << i << ", " << j << " of " << model.window.width << "x"
          << model.window.height << ", window " << other.column - own.column << ", " << other.row - own.row
          << " further, slope " << slope << ", truncation " << truncation;
    });
  }
};

TEST_P(MotionMessages, AreTheMinimumOverAllPairsOfLabels) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round)
    for (const Size window : {Size{7, 7}, Size{5, 5}, Size{3, 3}, Size{7, 2}, Size{1, 5}}) {
      Middle<std::uint8_t>(Arithmetic::fixed8, window, random).check();
      Middle<std::uint16_t>(Arithmetic::fixed16, window, random).check();
      Middle<float>(Arithmetic::float32, window, random).check();
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Target, MotionMessages, testing::ValuesIn(cpu_targets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace parallax::test
