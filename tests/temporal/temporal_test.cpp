// SPDX-License-Identifier: Apache-2.0
// Maps of a video over time: what a TemporalFilter makes better, and what it must never make worse.
#include "parallax/temporal.h"

#include <cmath>
#include <limits>
#include <random>

#include "parallax/process.h"

#include "support.h"
#include "temporal/filter.h"
#include "temporal/filter_reference.h"

namespace parallax::test {
namespace {

constexpr Size size{240, 160};
constexpr int disparities = 32;

VideoSynthParameters scene(std::uint64_t seed = 1) {
  return {size, disparities, seed};
}

struct Frame {
  VideoSynthFrame made;
  ImageView left, right;
  Result result{size};

  Frame(const VideoSynthParameters& parameters, int number)
      : made(synthesize_frame(parameters, number)),
        left(made.pair.left.row(0), {size}, 3, made.pair.left.view().stride_bytes),
        right(made.pair.right.row(0), {size}, 3, made.pair.right.view().stride_bytes) {}

  StereoPair pair() const { return {left, right}; }
  Frame& match(Matcher& matcher) {
    matcher.run(pair(), result.map());
    return *this;
  }
  Frame& steady(TemporalFilter& filter) {
    filter.run(pair(), result.map());
    return *this;
  }
  // The error of a pixel, 3 pixels at most.
  float error(int x, int y) const {
    return std::clamp(result.disparity.at(x, y) - made.pair.left_truth.at(x, y), -3.0f, 3.0f);
  }
  // The share of seen pixels that are off by more than one pixel.
  double bad() const {
    int count = 0, bad = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (made.pair.left_mask.at(x, y) != 255) continue;
        ++count;
        bad += !(std::abs(error(x, y)) <= 1);
      }
    return static_cast<double>(bad) / count;
  }
};

Matcher sgm() {
  MatcherParameters parameters = preset("sgm", "default");
  parameters.disparities() = disparities;
  return {parameters, cpu(2), {size}};
}

Result copied(const Frame& frame) {
  Result copy(size);
  for (int y = 0; y < size.height; ++y) {
    std::copy_n(frame.result.disparity.row(y), size.width, copy.disparity.row(y));
    std::copy_n(frame.result.status.row(y), size.width, copy.status.row(y));
  }
  return copy;
}

TEST(TemporalTest, TheFirstFrameAndTheFirstAfterACutStayAsTheyAre) {
  VideoSynthParameters parameters = scene();
  parameters.cut = 3;
  Matcher matcher = sgm();
  TemporalFilter filter({size});
  for (int number = 0; number < 5; ++number) {
    Frame frame(parameters, number);
    frame.match(matcher);
    const Result alone = copied(frame);
    frame.steady(filter);
    const bool is_first = number == 0 || number == 3;
    EXPECT_EQ(filter.was_predicted(), !is_first) << number;
    EXPECT_EQ(same_bytes(alone, frame.result), is_first) << number;
    EXPECT_TRUE(same_bytes(alone.status, frame.result.status)) << number;
  }
  filter.clear();
  Frame frame(parameters, 5);
  const Result alone = copied(frame.match(matcher));
  EXPECT_TRUE(same_bytes(alone, frame.steady(filter).result));
}

// Squared deviations of the errors of surfaces at rest from their mean over the frames since `first`, where
// no depth edge is near. The camera stands still.
double flicker(const std::vector<Frame>& frames, std::size_t first) {
  double sum = 0;
  int count = 0;
  for (int y = 2; y < size.height - 2; ++y)
    for (int x = 2; x < size.width - 2; ++x) {
      double mean = 0, square = 0;
      bool counts = true;
      for (std::size_t i = first; i < frames.size() && counts; ++i) {
        const auto& made = frames[i].made;
        for (int dy = -2; dy <= 2; ++dy)
          for (int dx = -2; dx <= 2; ++dx)
            counts = counts && std::abs(made.pair.left_truth.at(x + dx, y + dy) -
                                        frames[first].made.pair.left_truth.at(x, y)) < 0.5f;
        counts = counts && made.moving.at(x, y) == 0 && made.pair.left_mask.at(x, y) == 255;
        mean += static_cast<double>(frames[i].error(x, y));
        square += std::pow(static_cast<double>(frames[i].error(x, y)), 2);
      }
      if (!counts) continue;
      const auto n = static_cast<double>(frames.size() - first);
      sum += square / n - mean / n * mean / n;
      ++count;
    }
  return sum / count;
}

std::vector<Frame> frames_of(const VideoSynthParameters& parameters, int count) {
  std::vector<Frame> frames;
  Matcher matcher = sgm();
  for (int number = 0; number < count; ++number) frames.emplace_back(parameters, number).match(matcher);
  return frames;
}

TEST(TemporalTest, SurfacesAtRestFlickerLessAndFewerPixelsAreWrong) {
  for (const float motion : {0.0f, 2.0f}) {
    VideoSynthParameters parameters = scene(2);
    parameters.motion = motion;
    std::vector<Frame> frames = frames_of(parameters, 16);
    double alone = 0, steadied = 0;
    for (const Frame& frame : frames) alone += frame.bad();
    const double flicker_alone = flicker(frames, 6);
    TemporalFilter filter({size});
    for (Frame& frame : frames) steadied += frame.steady(filter).bad();
    EXPECT_LT(steadied, 0.95 * alone) << motion << ": " << alone / 16;
    // Where the camera moves, a pixel shows one surface after another.
    if (motion == 0) {
      EXPECT_LT(flicker(frames, 6), flicker_alone / 6);
    }
  }
}

TEST(TemporalTest, IdenticalFramesConvergeToOneMap) {
  Matcher matcher = sgm();
  TemporalFilter filter({size});
  Frame frame(scene(), 0);
  const Result alone = copied(frame.match(matcher));
  // The first map is off by up to 0.06 px.
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      frame.result.disparity.at(x, y) += 0.01f * static_cast<float>((x + y) % 7);
  Result before = copied(frame.steady(filter));
  for (int i = 0; i < 500; ++i) {
    before = copied(frame);
    for (int y = 0; y < size.height; ++y)
      std::copy_n(alone.disparity.row(y), size.width, frame.result.disparity.row(y));
    frame.steady(filter);
    if (i == 0) {
      EXPECT_FALSE(same_bytes(before, frame.result));
    }
  }
  EXPECT_TRUE(filter.was_predicted());
  EXPECT_TRUE(same_bytes(before, frame.result));
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (alone.status.at(x, y) == 0) {
        EXPECT_NEAR(frame.result.disparity.at(x, y), alone.disparity.at(x, y), 1e-4f) << x << ", " << y;
      }
}

TEST(TemporalTest, ARestoredStateGoesOnAsIfNothingHadHappened) {
  Matcher matcher = sgm();
  TemporalFilter whole({size}), first({size}), second({size});
  for (int number = 0; number < 6; ++number) {
    Frame one(scene(), number), two(scene(), number);
    one.match(matcher).steady(whole);
    two.match(matcher).steady(number < 3 ? first : second);
    EXPECT_TRUE(same_bytes(one.result, two.result)) << number;
    if (number == 2) {
      second.restore(first.save());
      EXPECT_EQ(second.save(), first.save());
    }
  }
  EXPECT_EQ(whole.save(), second.save());
  EXPECT_EQ(whole.save().size(), whole.state_bytes());
  second.restore(TemporalFilter({size}).save());
  Frame frame(scene(), 6);
  const Result alone = copied(frame.match(matcher));
  EXPECT_TRUE(same_bytes(alone, frame.steady(second).result)) << "the state of a filter without frames";
}

TEST(TemporalTest, AWrongStateCostsLittle) {
  Matcher matcher = sgm();
  Frame next(scene(), 1), other(scene(7), 0);
  const Result alone = copied(next.match(matcher));
  const double bad_alone = next.bad();
  TemporalFilter filter({size});
  other.match(matcher).steady(filter);
  const std::vector<std::byte> of_other = filter.save();
  // A state begins with a header, then disparities, words and the gray values of both pictures follow.
  const std::size_t pixels = size.pixels(), header = of_other.size() - 10 * pixels;
  Frame before(scene(), 0);
  filter.clear();
  before.match(matcher).steady(filter);
  const std::vector<std::byte> right = filter.save();
  std::mt19937 random(5);
  const auto check = [&](const std::string& what, const auto& change) {
    std::vector<std::byte> state = right;
    change(state);
    filter.restore(state);
    const std::vector<std::byte> restored = filter.save();
    for (std::size_t i = 0; i < pixels; ++i) {
      float disparity;
      std::memcpy(&disparity, restored.data() + header + i * sizeof disparity, sizeof disparity);
      ASSERT_TRUE(disparity == std::numeric_limits<float>::infinity() || std::abs(disparity) < 1e7f) << what;
    }
    for (int y = 0; y < size.height; ++y)
      std::copy_n(alone.disparity.row(y), size.width, next.result.disparity.row(y));
    next.steady(filter);
    EXPECT_LT(next.bad(), bad_alone + 0.002) << what;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        ASSERT_EQ(std::isfinite(next.result.disparity.at(x, y)), std::isfinite(alone.disparity.at(x, y)))
            << what;
  };
  const auto fill = [&](std::vector<std::byte>& state, const auto& value) {
    for (std::size_t i = 0; i < pixels; ++i) {
      const float disparity = value();
      std::memcpy(state.data() + header + i * sizeof disparity, &disparity, sizeof disparity);
    }
  };
  check("another scene", [&](std::vector<std::byte>& state) { state = of_other; });
  check("the disparities of another scene", [&](std::vector<std::byte>& state) {
    std::copy_n(of_other.begin() + static_cast<std::ptrdiff_t>(header), 4 * pixels,
                state.begin() + static_cast<std::ptrdiff_t>(header));
  });
  check("noise", [&](std::vector<std::byte>& state) {
    fill(state, [&] { return std::uniform_real_distribution<float>(0, disparities)(random); });
  });
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), 1e30f, -1e30f, 0.0f})
    check(std::to_string(value), [&](std::vector<std::byte>& state) { fill(state, [&] { return value; }); });
  check("random bytes", [&](std::vector<std::byte>& state) {
    for (std::size_t i = header; i < state.size(); ++i) state[i] = static_cast<std::byte>(random() & 255);
  });
  check("a motion that is no number", [&](std::vector<std::byte>& state) {
    // The motion ends the header: twelve coefficients and the middle of the image.
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 1; i <= 14; ++i)
      std::memcpy(state.data() + header - i * sizeof nan, &nan, sizeof nan);
  });
}

// A camera at rest before a textured wall of disparity 8, with a patch of one gray value in the middle.
struct Wall {
  static constexpr float disparity = 8, wrong = 13;
  Plane<std::uint8_t> left{size}, right{size};
  Result result{size};
  TemporalFilter filter{{size}, {}, 1};

  // The right picture is `lower` rows lower, and has `share` / 8 of the brightness.
  explicit Wall(int lower = 0) { paint(lower, 8); }
  void paint(int lower, int share) {
    const auto gray = [](int x, int y) {
      if (x >= 90 && x < 150 && y >= 60 && y < 100) return 120;
      const auto at = static_cast<unsigned>(x / 3 * 7919 + y / 3 * 104729);
      return static_cast<int>(40 + (at * 2654435761u >> 24) % 160);
    };
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        left.at(x, y) = static_cast<std::uint8_t>(gray(x, y));
        right.at(x, y) = static_cast<std::uint8_t>(gray(x + 8, y - lower) * share / 8);
      }
  }
  void see(float value, Status status, float row_offset = 0) {
    Plane<float> offsets(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        result.disparity.at(x, y) = value;
        result.status.at(x, y) = static_cast<std::uint8_t>(status);
        offsets.at(x, y) = row_offset;
      }
    DisparityMap map = result.map();
    if (row_offset != 0) map.row_offset = offsets.view();
    filter.run({ImageView(left.view()), ImageView(right.view())}, map);
  }
  // The share of pixels, in the patch or between it and the borders, that have the disparity of the wall.
  double right_share(bool in_patch) const {
    int count = 0, kept = 0;
    for (int y = 5; y < size.height - 5; ++y)
      for (int x = 20; x < size.width - 20; ++x) {
        const bool is_patch = x >= 110 && x < 140 && y >= 65 && y < 95;
        const bool is_around = x < 85 || x >= 170 || y < 55 || y >= 105;
        if (in_patch ? !is_patch : !is_around) continue;
        ++count;
        kept += std::abs(result.disparity.at(x, y) - disparity) < 0.25f;
      }
    return static_cast<double>(kept) / count;
  }
};

constexpr float none = std::numeric_limits<float>::infinity();

TEST(TemporalTest, ThePicturesDecideAndWhereTheyDoNotPointsThatWereSeenOftenStay) {
  for (const int seen : {1, 4}) {
    Wall wall;
    for (int i = 0; i < seen; ++i) wall.see(Wall::disparity, Status::matched);
    wall.see(Wall::wrong, Status::matched);
    EXPECT_GT(wall.right_share(false), seen > 1 ? 0.99 : 0.8);
    EXPECT_EQ(wall.right_share(true), seen > 1 ? 1 : 0);
  }
}

TEST(TemporalTest, PointsStayBehindPixelsWithoutAValueThatAreNotMasked) {
  for (const auto& [status, stays] :
       {std::pair(Status::inconsistent, true), std::pair(Status::input_masked, false)}) {
    Wall wall;
    for (int i = 0; i < 4; ++i) wall.see(Wall::disparity, Status::matched);
    wall.see(none, status);
    wall.see(Wall::wrong, Status::matched);
    EXPECT_EQ(wall.right_share(true), stays ? 1 : 0);
  }
}

TEST(TemporalTest, OneCameraMayBecomeDarker) {
  Wall wall;
  for (int i = 0; i < 4; ++i) wall.see(Wall::disparity, Status::matched);
  wall.paint(0, 6);
  wall.see(none, Status::inconsistent);
  wall.see(Wall::wrong, Status::matched);
  EXPECT_GT(wall.right_share(false), 0.95);
}

TEST(TemporalTest, RowOffsetsLeadToTheRightRow) {
  Wall wall(2);
  for (int i = 0; i < 4; ++i) wall.see(Wall::disparity, Status::matched, 2);
  wall.see(Wall::wrong, Status::matched, 2);
  EXPECT_GT(wall.right_share(false), 0.99);
}

TEST(TemporalTest, EveryInstructionSetAndNumberOfThreadsGivesTheSameBytes) {
  std::vector<Frame> frames = frames_of(scene(3), 5);
  std::vector<Result> maps;
  for (const Frame& frame : frames) maps.push_back(copied(frame));
  std::optional<std::vector<std::byte>> expected;
  for (const std::string& target : cpu_targets())
    for (const int threads : {1, 3}) {
      force_cpu_target(target);
      TemporalFilter filter({size}, {.frames = 3}, threads);
      for (std::size_t i = 0; i < frames.size(); ++i) {
        for (int y = 0; y < size.height; ++y)
          std::copy_n(maps[i].disparity.row(y), size.width, frames[i].result.disparity.row(y));
        frames[i].steady(filter);
      }
      force_cpu_target("");
      if (!expected) expected = filter.save();
      EXPECT_TRUE(*expected == filter.save()) << target << ", " << threads << " threads";
    }
}

// With noise, a cut, and what a method does not know; in a size that no vector divides.
TEST(TemporalTest, EveryFrameHasTheBytesOfTheReference) {
  constexpr Size odd{131, 93};
  for (const Fill fill : {Fill::none, Fill::directions}) {
    VideoSynthParameters parameters{odd, disparities, 5};
    parameters.cut = 5;
    MatcherParameters search = preset("census", "default");
    search.disparities() = disparities;
    search.refine().fill = fill;
    Matcher matcher(search, cpu(2), {odd});
    temporal::Filter filter({odd}, {.frames = 6}, 2);
    temporal::FilterReference reference(odd, 6);
    int predicted = 0;
    for (int i = 0; i < 10; ++i) {
      const VideoSynthFrame frame = synthesize_frame(parameters, i);
      const auto view = [&](const Plane<std::uint8_t>& image) {
        return ImageView(image.row(0), {odd}, 3, image.view().stride_bytes);
      };
      const StereoPair pair{view(frame.pair.left), view(frame.pair.right)};
      Result filtered(odd), expected(odd);
      matcher.run(pair, filtered.map());
      matcher.run(pair, expected.map());
      filter.predict(pair);
      filter.settle(filtered.map());
      reference.run(pair, expected.map(), filter.change());
      EXPECT_TRUE(same_bytes(filtered, expected)) << "frame " << i;
      predicted += filter.was_predicted();
    }
    EXPECT_EQ(predicted, 8);
  }
}

TEST(TemporalTest, FramesOfAnotherFormatAndForeignStatesAreRefused) {
  TemporalFilter filter({size});
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::argument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Frame frame(scene(), 0);
  Result small({64, 48});
  const Plane<std::uint8_t> picture(Size{64, 48});
  const ImageView image(picture.view());
  EXPECT_EQ(message([&] {
              filter.run({image, image}, small.map());
            }),
            "a frame is 64×48 with 8 bits per channel, the filter's frames are 240×160 with 8 bits per "
            "channel: make a "
            "filter for frames like this one");
  EXPECT_EQ(message([&] { filter.run(frame.pair(), small.map()); }),
            "disparity map is 64×48: give one of 240×160");
  EXPECT_EQ(
      message([&] {
        filter.restore(TemporalFilter(ImageFormat{{64, 48}}).save());
      }),
      "the state is not that of a filter of 240×160 pixels and 20 frames: give what save() of such a filter "
      "returned");
  EXPECT_NE(message([&] { filter.restore(TemporalFilter({size}, {.frames = 5}).save()); }), "no error");
  EXPECT_NE(message([&] { filter.restore({}); }), "no error");
  EXPECT_EQ(message([&] { TemporalFilter({size}, {.frames = 0}); }),
            "frames is 0: choose a number from 1 to 255");
  EXPECT_EQ(message([&] {
              TemporalFilter(ImageFormat{{0, 5}});
            }),
            "image is 0×5: each side must have from 1 to 1000000 pixels");
  TemporalFilter moved = std::move(filter);
  EXPECT_NE(message([&] { filter.clear(); }), "no error");
}

TEST(TemporalTest, TakesFramesOfAnySizeDepthAndSign) {
  std::mt19937 random(3);
  for (const Size small : {Size{1, 1}, Size{1, 40}, Size{40, 1}, Size{17, 9}, Size{33, 65}, Size{131, 67}})
    for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16}) {
      Plane<std::uint16_t> left(small), right(small);
      TemporalFilter filter({small, depth});
      for (int number = 0; number < 3; ++number) {
        for (Plane<std::uint16_t>* plane : {&left, &right})
          for (int y = 0; y < small.height; ++y)
            for (int x = 0; x < small.width; ++x) plane->at(x, y) = static_cast<std::uint16_t>(random());
        Result result(small);
        for (int y = 0; y < small.height; ++y)
          for (int x = 0; x < small.width; ++x) {
            const bool has_value = random() % 4 != 0;
            result.disparity.at(x, y) = has_value ? static_cast<float>(static_cast<int>(random() % 64) - 32)
                                                  : std::numeric_limits<float>::infinity();
            result.status.at(x, y) = static_cast<std::uint8_t>(has_value ? random() % 2 : 3);
          }
        const auto view = [&](const Plane<std::uint16_t>& plane) {
          return ImageView(plane.row(0), {small, depth}, 1, 2 * std::ptrdiff_t{small.width});
        };
        filter.run({view(left), view(right)}, result.map());
        for (int y = 0; y < small.height; ++y)
          for (int x = 0; x < small.width; ++x)
            EXPECT_EQ(std::isfinite(result.disparity.at(x, y)), result.status.at(x, y) < 2);
      }
    }
}

}  // namespace
}  // namespace parallax::test
