// SPDX-License-Identifier: Apache-2.0
// Hamming distances from one descriptor to many. Lanes are corners.

#include "check/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "check/hamming.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::check::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Word w of `one` is one[w·one_pitch]; `many` likewise.
void distances_to_many(const std::uint64_t* one, std::size_t one_pitch, const std::uint64_t* many,
                       std::size_t many_pitch, int count, std::uint16_t* distances) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> narrow;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < count; i += lanes) {
    auto sum = hn::Zero(d);
    for (int w = 0; w < Descriptors::words_each; ++w) {
      const auto word = hn::Set(d, one[static_cast<std::size_t>(w) * one_pitch]);
      const auto other = hn::LoadU(d, many + static_cast<std::size_t>(w) * many_pitch + i);
      sum = hn::Add(sum, hn::PopulationCount(hn::Xor(word, other)));
    }
    hn::StoreU(hn::TruncateTo(narrow, sum), narrow, distances + i);
  }
}

}  // namespace parallax::check::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::check {

HWY_EXPORT(distances_to_many);

void hamming_distances(const Descriptors& others, int index, const Descriptors& corners, int first, int count,
                       std::uint16_t* distances) {
  HWY_DYNAMIC_DISPATCH(distances_to_many)
  (others.words.data() + index, others.pitch, corners.words.data() + first, corners.pitch, count, distances);
}

}  // namespace parallax::check
#endif
