// The image that guides a step, and what its gray levels are worth.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "parallax/image.h"

#include "core/workers.h"

namespace parallax::refine {

inline constexpr int most_guided_window = 15;

// By the difference of gray levels: ⌊255·e^(−Δ/range) + ½⌋.
using GrayWeights = std::array<std::uint8_t, 256>;
GrayWeights gray_weights(int range);

// By row and column of the window: ⌊256·e^(−r²/2σ²) + ½⌋, σ = window/4. 256 in the middle.
std::vector<std::uint16_t> distance_weights(int window);

// Gray levels of an image in 8 bits, those of 16-bit images without their lower 8.
void take_guide(const ImageView& image, View<std::uint8_t> guide, const Workers& workers);

// \throws Error (argument)
void check_guide(const ImageView& guide, Size map);
void check_guided_window(const char* field, int window);
void check_gray_range(const char* field, int range);

}  // namespace parallax::refine
