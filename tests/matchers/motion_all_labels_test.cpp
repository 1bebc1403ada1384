// SPDX-License-Identifier: Apache-2.0
// Motion with all labels at each pixel: compares the engine of the cpu device with the reference, and its
// messages with the minimum over all pairs of labels.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "matchers/motion/all_labels.h"
#include "matchers/motion/all_labels_kernels.h"
#include "matchers/motion_case.h"
#include "support.h"

namespace parallax::motion {
namespace {

using test::Result, test::random_number;

// The parameters of a test are a vector target.
class MotionAllLabels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

struct Vectors : Result {
  Plane<float> row_offset;
  explicit Vectors(Size size) : Result(size, 0xA5, true), row_offset(size) {}
  DisparityMap map() {
    DisparityMap map = Result::map();
    map.row_offset = row_offset.view();
    return map;
  }
};

struct Case {
  Size size;
  MotionParameters parameters;
  Plane<std::uint8_t> images[2], masks[2];  // masks may be empty

  explicit Case(unsigned seed) {
    std::mt19937 random(seed);
    const auto any = [&](int low, int high) { return random_number(random, low, high); };
    const bool wide = seed % 5 == 0;
    size = {any(1, wide ? 420 : 40), any(1, wide ? 8 : 40)};
    MotionParameters& p = parameters;
    p.active_window = 0;
    const int shape = any(0, 3);
    p.disparities = shape == 0 ? 1 : any(1, seed % 7 == 1 ? 40 : 9);
    p.row_offsets = shape == 1 ? 1 : any(1, seed % 7 == 1 ? 20 : 7);
    // Often includes labels that all lead out of the frame at some pixels.
    p.min_disparity = any(std::max(-size.width, -p.disparities) - p.disparities + 2, size.width - 1);
    if (any(0, 2) > 0) p.min_disparity = -p.disparities / 2;
    p.min_row_offset = any(std::max(-size.height, -p.row_offsets) - p.row_offsets + 2, size.height - 1);
    if (any(0, 2) > 0) p.min_row_offset = -p.row_offsets / 2;
    p.min_disparity = std::max(p.min_disparity, 2 - size.width - p.disparities);
    p.min_row_offset = std::max(p.min_row_offset, 2 - size.height - p.row_offsets);
    p.levels = any(1, 6);
    p.iterations = any(1, 10);
    p.finest_iterations = any(0, 10);
    p.arithmetic = static_cast<Arithmetic>(any(0, 2));
    p.cost = any(0, 2) == 0 ? DataCost::absolute_difference : DataCost::census;
    p.data_weight = any(0, 4) == 0 ? 3.0f : 0.05f;
    p.data_truncation = any(0, 1) == 0 ? 0.0f : 20.0f;
    p.outside_cost = any(0, 4) == 0 ? 100.0f : 1.6f;
    p.min_confidence = any(0, 1) == 0 ? 0.0f : 0.3f;
    p.sub_pixel = static_cast<SubPixel>(any(0, 2));
    p.refine = {.left_right_check = false, .speckle_size = 0, .refit = 0, .fill = Fill::none, .median = 0};
    const int levels = any(0, 1) == 0 ? 3 : 255;
    for (auto& image : images) {
      image = Plane<std::uint8_t>(size);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          image.at(x, y) = static_cast<std::uint8_t>(any(0, levels) * (255 / levels));
    }
    for (auto& mask : masks) {
      if (any(0, 2) > 0) continue;
      mask = Plane<std::uint8_t>(size);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x) mask.at(x, y) = static_cast<std::uint8_t>(any(0, 3));
    }
  }

  StereoPair pair() const { return test::masked({images[0].view(), images[1].view()}, masks); }
  std::string description() const { return test::describe(size, parameters); }
};

// All decisions of the reference where a pixel is not masked and has right pixels.
Vectors match(const Case& problem, int threads, bool twice, std::size_t cached_bytes) {
  const Model model = make_model(problem.parameters);
  const Size size = problem.size;
  const Scale scale = scales(problem.parameters, size).front();
  Workers workers(threads);
  AllLabels engine(model, scale, 0, workers.slots(), cached_bytes);
  Arena arena;
  engine.reserve(arena);
  arena.allocate();
  engine.reserve(arena);
  engine.fill_memory();

  Plane<std::uint16_t> gray[2] = {Plane<std::uint16_t>(size), Plane<std::uint16_t>(size)};
  ScaleFrames frames;
  for (int i = 0; i < 2; ++i) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        gray[i].at(x, y) = static_cast<std::uint16_t>(problem.images[i].at(x, y) * 256);
    frames.gray[i] = gray[i].view();
    if (problem.masks[i].width() > 0) frames.mask[i] = problem.masks[i].view();
  }
  if (twice) {
    const ScaleFrames swapped{{frames.gray[1], frames.gray[0]}, {frames.mask[1], frames.mask[0]}};
    engine.run(swapped, scale.labels.reversed(), {}, workers);
  }

  Vectors result(size);
  const DisparityMap map = result.map();
  Plane<Offset> best(size);
  const auto rule = [&](int first, int count) {
    return decision::DecisionRule{.min_disparity = first,
                                  .labels = count,
                                  .sub_pixel = problem.parameters.sub_pixel,
                                  .min_confidence = problem.parameters.min_confidence,
                                  .full_gap = model.full_gap()};
  };
  engine.run(frames, scale.labels,
             {best.view(),
              [&](int x, int y, const Decision& decision) {
                decision::write_decision(decision.columns,
                                         rule(scale.labels.first.x, scale.labels.extent.width), x, y, map);
                map.row_offset.at(x, y) = decision::disparity(
                    decision.rows, rule(scale.labels.first.y, scale.labels.extent.height));
                EXPECT_EQ(decision.offset, best.at(x, y));
              }},
             workers);
  return result;
}

TEST_P(MotionAllLabels, EqualsTheReferenceOnRandomCases) {
  int compared = 0;
  for (unsigned seed = 0; seed < (test::sanitized ? 12u : 60u); ++seed) {
    const Case problem(seed);
    Vectors wanted(problem.size);
    Matcher(problem.parameters, test::reference, {problem.size, BitDepth::bits8})
        .run(problem.pair(), wanted.map());
    for (const int threads : {1, 2, 7}) {
      // Narrow tiles and blocks of columns, or whole rows.
      const std::size_t cached_bytes =
          (seed + static_cast<unsigned>(threads)) % 2 == 0 ? 1 : AllLabels::usual_cached_bytes;
      const Vectors found = match(problem, threads, threads == 2, cached_bytes);
      for (int y = 0; y < problem.size.height; ++y)
        for (int x = 0; x < problem.size.width; ++x) {
          const auto status = static_cast<Status>(wanted.status.at(x, y));
          if (status == Status::input_masked || status == Status::out_of_range) continue;
          ++compared;
          const std::string where = std::to_string(x) + ", " + std::to_string(y) + ", " +
                                    std::to_string(threads) + " threads, seed " + std::to_string(seed) +
                                    ": " + problem.description();
          ASSERT_EQ(wanted.status.at(x, y), found.status.at(x, y)) << where;
          ASSERT_EQ(wanted.disparity.at(x, y), found.disparity.at(x, y)) << where;
          ASSERT_EQ(wanted.confidence.at(x, y), found.confidence.at(x, y)) << where;
          if (status == Status::matched) {
            ASSERT_EQ(wanted.row_offset.at(x, y), found.row_offset.at(x, y)) << where;
          }
        }
    }
  }
  EXPECT_GT(compared, 1000);
}

template <class Element>
void check_messages(Arithmetic arithmetic, Size labels, std::mt19937& random) {
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  constexpr int line = widest_vector_bytes / static_cast<int>(sizeof(Element));
  const int count = labels.width * labels.height, bound = sizeof(Element) == 1 ? 31 : 4095;
  const auto plane = [&](int elements, int highest) {
    std::vector<Element> values(static_cast<std::size_t>(elements));
    for (Element& value : values) value = static_cast<Element>(any(0, highest));
    return values;
  };
  const std::vector<Element> data = plane(count * line, 4 * bound + 1);
  std::vector<Element> from[side::count], to[side::count], slopes[side::count], truncations[side::count];
  std::vector<double> scratch(sending_scratch(labels) / sizeof(double) + 8);
  SendingRow row{};
  row.labels = labels;
  row.last = line;
  row.stride = line;
  row.data = data.data();
  void* aligned = scratch.data();
  std::size_t space = scratch.size() * sizeof(double);
  row.scratch = std::align(widest_vector_bytes, sending_scratch(labels), aligned, space);
  for (int d = 0; d < side::count; ++d) {
    from[d] = plane(count * line, bound);
    to[d] = plane(count * line, 0);
    slopes[d] = plane(line, any(0, 1) == 0 ? 3 : bound);
    truncations[d] = plane(line, bound);
    row.from[d] = from[d].data();
    row.from_stride[d] = line;
    row.to[d] = to[d].data();
    row.slopes[d] = slopes[d].data();
    row.truncations[d] = truncations[d].data();
  }
  label_kernels(arithmetic).send_row(row);
  for (int d = 0; d < side::count; ++d)
    for (int i = 0; i < line; ++i) {
      std::vector<double> h;
      for (int label = 0; label < count; ++label) {
        const auto at = static_cast<std::size_t>(label * line + i);
        double sum = data[at];
        for (int other = 0; other < side::count; ++other)
          if (other != d) sum += from[other][at];
        h.push_back(sum);
      }
      const double least = *std::min_element(h.begin(), h.end());
      const auto lane = static_cast<std::size_t>(i);
      for (int label = 0; label < count; ++label) {
        double message = least + truncations[d][lane];
        for (int other = 0; other < count; ++other) {
          const int away = std::abs(label % labels.width - other % labels.width) +
                           std::abs(label / labels.width - other / labels.width);
          message = std::min(message, h[static_cast<std::size_t>(other)] + away * slopes[d][lane]);
        }
        ASSERT_EQ(message - least, to[d][static_cast<std::size_t>(label * line + i)])
            << "side " << d << ", pixel " << i << ", label " << label << " of " << labels.width << "x"
            << labels.height;
      }
    }
}

TEST_P(MotionAllLabels, MessagesAreTheMinimumOverAllPairsOfLabels) {
  std::mt19937 random(1);
  for (const Size labels : {Size{1, 1}, Size{5, 1}, Size{1, 6}, Size{7, 4}, Size{3, 11}}) {
    check_messages<std::uint8_t>(Arithmetic::fixed8, labels, random);
    check_messages<std::uint16_t>(Arithmetic::fixed16, labels, random);
    check_messages<float>(Arithmetic::float32, labels, random);
  }
}

INSTANTIATE_TEST_SUITE_P(Target, MotionAllLabels, testing::ValuesIn(cpu_targets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace parallax::motion
