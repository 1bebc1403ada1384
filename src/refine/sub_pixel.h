// Fractions of a pixel from costs at whole disparities.
#pragma once

namespace parallax::refine {

struct Fraction {
  float numerator, denominator;
  float value() const { return numerator / denominator; }
};

// Offset of the minimum of the parabola through three costs, the middle one being below the first and not
// above the last; in (−½, ½].
template <class Cost>
Fraction parabola_offset(Cost before, Cost best, Cost after) {
  return {static_cast<float>(before - after), static_cast<float>(2 * (before - 2 * best + after))};
}

}  // namespace parallax::refine
