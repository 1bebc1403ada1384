// The steps of parallax/refine.h, for plans: on a plan's workers, in a plan's memory.
#pragma once

#include <cstdint>
#include <limits>

#include "parallax/refine.h"

#include "core/arena.h"
#include "core/checks.h"
#include "core/plan.h"
#include "core/workers.h"

namespace parallax::refine {

inline constexpr float no_value = std::numeric_limits<float>::infinity();

inline bool has_value(float disparity) {
  return disparity < no_value;
}

inline Workers checked_workers(int threads) {
  check_threads(threads);
  return Workers(threads);
}

inline std::uint8_t code(Status status) {
  return static_cast<std::uint8_t>(status);
}

void left_right_check(const DisparityMap& left, View<const float> right, float tolerance,
                      const Workers& workers);
void fill_row(const DisparityMap& map, const Workers& workers);

// median() reads a copy of the map with "no value" around it; at the end of a row, as many as a whole vector
// may read.
inline constexpr int median_border = 2;
inline Size median_scratch_size(Size size) {
  constexpr int widest_vector = 64 / sizeof(float);
  return {size.width + 2 * median_border + widest_vector, size.height + 2 * median_border};
}
// `scratch` has median_scratch_size().
void median(View<float> disparity, int window, View<float> scratch, const Workers& workers);
// The same by sorting, for a reader.
void median_reference(View<float> disparity, int window, View<float> scratch);

// `regions` has an element for each pixel, and there are fewer than 2³¹ of them: check_speckle_size().
void speckle_filter(const DisparityMap& map, int size, float range, std::int32_t* regions);
void check_speckle_size(Size size);

// All steps of a matcher's RefineParameters, with the memory they need.
class Pipeline {
 public:
  // `reference`: with the readable median.
  Pipeline(const RefineParameters& parameters, Size size, bool reference, ArenaLayout& layout);

  void run(const DisparityMap& map, View<const float> right, std::byte* arena, const Workers& workers,
           detail::StageClock& clock) const;

 private:
  RefineParameters parameters_;
  bool reference_;
  PlaneBuffer<float> median_scratch_;
  Buffer<std::int32_t> regions_;
};

}  // namespace parallax::refine
