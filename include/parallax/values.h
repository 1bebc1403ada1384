// SPDX-License-Identifier: Apache-2.0
/// \file
/// The range of values that a camera uses, for images of 16 bits that do not use all of them.
///
/// Matchers, and everything else that takes images, count gray levels of 8 bits: those of 16 bits are 256ths
/// of them, with 0 for black and 65280, which is 255·256, for white. A camera of 12 bits stores 0…4095, a
/// thermal one perhaps 7600…7780. Such values are stretched first:
///
///     const parallax::ValueRange range = parallax::find_value_range({left, right});
///     parallax::stretch(left, range, stretched_left.view());
#pragma once

#include <cstdint>
#include <vector>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// The values that stand for black and for white.
struct ValueRange {
  int low = 0;                                         ///< black; 0 or more
  int high = 65535;                                    ///< white; above `low`, 65535 at most
  bool operator==(const ValueRange&) const = default;  ///< compares every member
};

/// How often each value of images of 16 bits occurs.
class ValueHistogram {
 public:
  ValueHistogram() : counts_(65536) {}

  /// Counts the values of every channel of the pixels that the mask, if there is one, does not exclude.
  /// \throws Error (argument) unless the image has 16 bits, and the mask its size
  void add(const ImageView& image, const View<const std::uint8_t>& mask = {});

  /// Returns the range of as many bits, 8 to 16, as the highest value needs, if the values span an eighth of it
  /// or more: that of a camera of so many bits. Otherwise, the values are far from 0, as those of thermal
  /// cameras: returns the lowest and the highest one, or, from the lowest one on, the range of as many bits as
  /// their span needs, if they span three quarters of it. These are the values without up to one in a thousand
  /// at either end, if the span becomes less than half as wide: without broken pixels. If there are not two
  /// values, returns 0 and 65535. `zero`: the value that stands for the number 0, for signed values that are
  /// stored with 32768 added.
  ValueRange range(int zero = 0) const;

 private:
  std::vector<std::uint64_t> counts_;
};

/// Finds the range of the values of both images. For images of 8 bits it is 0 to 255.
/// \throws Error (argument) for images of two depths
ValueRange find_value_range(const StereoPair& pair);

/// Stretches the values of every channel: `range.low` and less becomes 0, `range.high` and more 255 or 65280,
/// those between in proportion, rounded to nearest, halves up. A range of 2^N values, with N from 9 to 15, has
/// 2^(N−8) steps for each level of 8 bits. So images whose values differ by a factor and an offset become the
/// same, and as those of 8 bits. `stretched` has the format and channels of the image, and may be the image.
/// \throws Error (argument) for a range beyond the depth of the image, or an output of another format
void stretch(const ImageView& image, const ValueRange& range, const ImageOutput& stretched);

}  // namespace parallax
#pragma GCC visibility pop
