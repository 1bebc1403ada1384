// SPDX-License-Identifier: Apache-2.0
// Maps of every kind, the parameters of refinement, and its results on the cpu, for tests of other devices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "refine/pipeline.h"

namespace parallax::test {

inline constexpr float none = decision::no_value;

// A map with padding after its rows that must not be overwritten.
struct Map {
  std::vector<float> disparities;
  std::vector<std::uint8_t> statuses;
  Size size;

  explicit Map(Size extent) : size(extent) {
    const auto rows = static_cast<std::size_t>(size.height);
    disparities.resize(rows * static_cast<std::size_t>(stride()), -77);
    statuses.resize(rows * static_cast<std::size_t>(status_stride()), 99);
  }
  int stride() const { return size.width + 13; }
  int status_stride() const { return size.width + 5; }
  DisparityMap view() { return view_at(disparities.data(), statuses.data()); }
  DisparityMap view_at(float* disparity, std::uint8_t* status) const {
    return {{disparity, size, stride() * static_cast<std::ptrdiff_t>(sizeof(float))},
            {status, size, status_stride()}};
  }
};

inline std::string first_difference(const Map& a, const Map& b) {
  for (std::size_t i = 0; i < a.disparities.size(); ++i)
    if (std::memcmp(&a.disparities[i], &b.disparities[i], sizeof(float)) != 0)
      return "disparity at (" + std::to_string(i % a.stride()) + ", " + std::to_string(i / a.stride()) +
             ") is " + std::to_string(a.disparities[i]) + ", not " + std::to_string(b.disparities[i]);
  for (std::size_t i = 0; i < a.statuses.size(); ++i)
    if (a.statuses[i] != b.statuses[i])
      return "status at (" + std::to_string(i % a.status_stride()) + ", " +
             std::to_string(i / a.status_stride()) + ") is " + std::to_string(a.statuses[i]) + ", not " +
             std::to_string(b.statuses[i]);
  return "";
}

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  // A number from 0 to `end` − 1; the same on every machine.
  int below(int end) { return static_cast<int>(generator_() % static_cast<unsigned>(end)); }
  bool one_in(int times) { return below(times) == 0; }

 private:
  std::mt19937 generator_;
};

struct Picture {
  const char* name;
  float (*value)(Random& random, int x, int y);
  bool is_of_regions = false;  // as the speckle filter sees them
};

inline std::ostream& operator<<(std::ostream& out, const Picture& picture) {
  return out << picture.name;
}

inline const Picture pictures[] = {
    {"noise", [](Random& random, int,
                 int) { return random.one_in(5) ? none : static_cast<float>(random.below(64)) / 4 - 4; }},
    // Regions of every size, about as many as possible.
    {"clusters", [](Random& random, int, int) { return static_cast<float>(random.below(10) < 6 ? 3 : 8); },
     true},
    {"sparse", [](Random& random, int,
                  int) { return random.one_in(40) ? static_cast<float>(random.below(32)) / 8 : none; }},
    {"plane", [](Random&, int x, int y) { return static_cast<float>(x + y) / 16; }},
    {"nothing", [](Random&, int, int) { return none; }},
    // One region that enters every tile from several sides.
    {"serpent",
     [](Random&, int x, int y) {
       const bool gap = y % 2 == 1 && (y % 4 == 1 ? x != 0 : x % 64 != 63);
       return gap ? none : 5.0f;
     },
     true},
    // Surfaces with holes and outliers.
    {"surfaces",
     [](Random& random, int x, int y) {
       if (random.one_in(4) || (x / 15 + y / 20) % 3 == 0) return none;
       if (random.one_in(12)) return static_cast<float>(random.below(4000)) / 16 - 100;
       const bool is_far = x / 37 % 2 == 0;
       return is_far ? 0.37f * static_cast<float>(x) - 21.3f : 0.9f * static_cast<float>(y) - 50.6f;
     }},
    {"comb",
     [](Random& random, int x, int y) {
       return x % 2 == 0 || y % 50 == 49 || random.one_in(200) ? 2.0f : 9.0f;
     },
     true},
    {"odd values",
     [](Random& random, int, int) {
       const float odd[] = {-none, std::numeric_limits<float>::quiet_NaN(), none, 3e38f, -3e38f, 1e-40f, 2};
       return odd[random.below(7)];
     }},
};

inline Map random_map(const Picture& picture, Size size, unsigned seed) {
  Random random(seed);
  Map map(size);
  for (int y = 0; y < size.height; ++y) {
    const bool empty_row = random.one_in(20);
    for (int x = 0; x < size.width; ++x) {
      const float value = empty_row ? none : picture.value(random, x, y);
      map.view().disparity.at(x, y) = value;
      map.view().status.at(x, y) = static_cast<std::uint8_t>(value < none ? 0 : random.below(status_count));
    }
  }
  return map;
}

// A right map that is consistent with the left one, except for some pixels.
inline Map right_of(Map left, unsigned seed) {
  Random random(seed);
  const Size size = left.size;
  Map right(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x)
      right.view().disparity.at(x, y) = random.one_in(3) ? none : static_cast<float>(random.below(12));
    for (int x = 0; x < size.width; ++x) {
      const float disparity = left.view().disparity.at(x, y);
      const float column = static_cast<float>(x) - std::ceil(disparity - 0.5f);
      if (column >= 0 && column < static_cast<float>(size.width) && !random.one_in(4))
        right.view().disparity.at(static_cast<int>(column), y) =
            disparity + static_cast<float>(random.below(5)) / 2 - 1;
    }
  }
  return right;
}

// Gray levels that often repeat, so that there are weights of every size.
struct Guide {
  std::vector<std::uint16_t> values;
  ImageFormat format;
  int channels;

  Guide(Size size, BitDepth depth, int channel_count) : format{size, depth}, channels(channel_count) {
    Random random(3);
    const int lower_bits = depth == BitDepth::bits16 ? 256 : 1;
    int level = 100;
    for (std::size_t i = 0; i < size.pixels() * static_cast<std::size_t>(channels); ++i) {
      level = random.one_in(9) ? random.below(256) : std::clamp(level + random.below(9) - 4, 0, 255);
      values.push_back(static_cast<std::uint16_t>(level * lower_bits + random.below(lower_bits)));
    }
  }
  // The bytes of the image.
  std::vector<std::byte> bytes() const {
    const std::size_t each = format.depth == BitDepth::bits16 ? 2 : 1;
    std::vector<std::byte> result(values.size() * each);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&result[i * each], &values[i], each);
    return result;
  }
  ImageView at(const std::byte* bytes) const {
    return {bytes, format, channels,
            static_cast<std::ptrdiff_t>(format.size.width) * channels *
                (format.depth == BitDepth::bits16 ? 2 : 1)};
  }
};

// Patches of one colour, with noise.
inline Guide random_patches(Size size, BitDepth depth, int channels) {
  Guide guide(size, depth, channels);
  Random random(7);
  for (std::size_t i = 0; i < guide.values.size(); ++i) {
    const int pixel = static_cast<int>(i) / channels, channel = static_cast<int>(i) % channels;
    const int patch = pixel % size.width / 29 + 3 * (pixel / size.width / 41);
    const int level = 20 + (patch * 53 + channel * 31) % 200 + random.below(random.one_in(30) ? 30 : 5);
    guide.values[i] =
        static_cast<std::uint16_t>(depth == BitDepth::bits8 ? level : 256 * level + random.below(256));
  }
  return guide;
}

// The right image of a pair: it shows the left image shifted, with noise.
inline Guide right_image_of(Guide left) {
  Random random(5);
  constexpr int shift = 2;
  std::rotate(left.values.begin(),
              left.values.begin() + std::min<std::ptrdiff_t>(shift * left.channels, std::ssize(left.values)),
              left.values.end());
  for (std::uint16_t& value : left.values)
    if (random.one_in(3)) value = static_cast<std::uint16_t>(std::max(0, value - random.below(9)));
  return left;
}

inline Map refined_on_cpu(const RefineParameters& parameters, const StereoPair& pair, Map map, Map right) {
  Arena arena;
  refine::Pipeline pipeline(parameters, map.size, true);
  pipeline.reserve(arena);
  arena.allocate();
  pipeline.reserve(arena);
  std::vector<StageTime> times;
  detail::StageClock clock(times);
  pipeline.run(pair, map.view(), {right.view().disparity}, Workers(1), clock);
  return map;
}

// The parameters with which each step after a match is tested, on every device.
struct Step {
  const char* name;
  bool is_guided;  // whether the left image guides it
  std::vector<RefineParameters> parameters;
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << step.name;
}

// One set of parameters for each value, which `set` changes.
template <class Value>
std::vector<RefineParameters> with_each(std::initializer_list<Value> values,
                                        void (*set)(RefineParameters&, Value)) {
  std::vector<RefineParameters> list;
  for (const Value& value : values) {
    list.push_back(RefineParameters::none());
    set(list.back(), value);
  }
  return list;
}

inline std::vector<Step> steps_of_refinement() {
  using P = RefineParameters;
  using Speckle = std::pair<int, float>;    // size, range
  using Median = std::pair<int, int>;       // window, range
  using Bilateral = std::pair<int, float>;  // window, step
  P most;
  most.refit = 5;
  most.weighted_median = 7;
  most.bilateral = 5;
  std::vector<P> all_steps{most, most, most};
  all_steps[0].median = 0;
  all_steps[0].fill = Fill::row;
  all_steps[1].median = 3;
  all_steps[1].fill = Fill::planes;
  all_steps[2].median = 5;
  all_steps[2].fill = Fill::directions;
  return {
      {"Nothing", false, {P::none()}},
      {"LeftRightCheck", false,
       with_each<float>({0.0f, 0.6f, 1.0f, 3e38f},
                        [](P& p, float tolerance) {
                          p.left_right_check = true;
                          p.left_right_tolerance = tolerance;
                        })},
      {"SpeckleFilter", false,
       with_each<Speckle>({{2, 0}, {2, 1}, {9, 0}, {9, 1}, {50, 0}, {50, 1}, {40000, 0}, {40000, 1}},
                          [](P& p, Speckle speckle) {
                            p.speckle_size = speckle.first;
                            p.speckle_range = speckle.second;
                          })},
      {"Refit", true, with_each<int>({3, 7, 15}, [](P& p, int window) { p.refit = window; })},
      {"FillRow", false, with_each<Fill>({Fill::row}, [](P& p, Fill fill) { p.fill = fill; })},
      {"FillDirections", true, with_each<Fill>({Fill::directions}, [](P& p, Fill fill) { p.fill = fill; })},
      {"FillPlanes", true, with_each<Fill>({Fill::planes}, [](P& p, Fill fill) { p.fill = fill; })},
      {"Median", false, with_each<int>({3, 5}, [](P& p, int window) { p.median = window; })},
      {"WeightedMedian", true,
       with_each<Median>({{3, 1}, {5, 255}, {7, 10}, {15, 30}, {15, 255}},
                         [](P& p, Median median) {
                           p.weighted_median = median.first;
                           p.weighted_median_range = median.second;
                         })},
      {"Bilateral", true,
       with_each<Bilateral>({{3, 128}, {5, 0.25f}, {9, 2}, {15, 0}, {15, 2}},
                            [](P& p, Bilateral bilateral) {
                              p.bilateral = bilateral.first;
                              p.bilateral_range = 4 * bilateral.first;
                              p.bilateral_step = bilateral.second;
                            })},
      {"AllSteps", false, all_steps},
  };
}

// A picture and a step.
using RefineCase = std::tuple<Picture, Step>;

inline std::string name_of_refine_case(const testing::TestParamInfo<RefineCase>& info) {
  std::string name = std::get<Step>(info.param).name + std::string("_") + std::get<Picture>(info.param).name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

inline Guide guide_for(const RefineParameters& parameters, Size size, BitDepth depth) {
  const bool is_first = size.width % 2 == 0 || depth == BitDepth::bits16;
  if (parameters.fill == Fill::planes) return random_patches(size, depth, is_first ? 3 : 1);
  return {size, depth, is_first ? 1 : 3};
}

// Every picture with every step, except that only the steps with a speckle filter have pictures of regions.
inline std::vector<RefineCase> refine_cases() {
  std::vector<RefineCase> cases;
  for (const Picture& picture : pictures)
    for (const Step& step : steps_of_refinement())
      if (!picture.is_of_regions || step.parameters.front().speckle_size > 0)
        cases.emplace_back(picture, step);
  return cases;
}

// Calls action(parameters, size, guide) for all sizes, and for all guides that the step can distinguish.
// Pictures hardly differ on images that are narrower than a window: one picture has these sizes.
template <class Action>
void for_each_refine_problem(const RefineCase& problem, const Action& action) {
  const Step& step = std::get<Step>(problem);
  std::vector<Size> sizes{{13, 11}};
  if (std::get<Picture>(problem).name == pictures[0].name)
    sizes.insert(sizes.end(), {{1, 1}, {1, 7}, {9, 1}});
  if (step.is_guided)
    sizes.insert(sizes.end(), {{131, 45}, {5, 300}});
  else
    sizes.insert(sizes.end(), {{64, 5}, {203, 75}, {1000, 3}});
  for (const RefineParameters& parameters : step.parameters)
    for (const Size size : sizes)
      if (step.is_guided)
        for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16})
          action(parameters, size, guide_for(parameters, size, depth));
      else
        action(parameters, size, Guide(size, BitDepth::bits8, 1));
}

}  // namespace parallax::test
