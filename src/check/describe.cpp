// SPDX-License-Identifier: Apache-2.0
// A sparse census of 17×17 pixels (Zabih and Woodfill 1994): 9×9 samples of the smoothed image, two pixels
// apart. Bits tell whether a sample is brighter than its right neighbour, than the one below, and than the
// centre. Gain and offset change none of them.
#include "check/check.h"

namespace parallax::check {
namespace {

constexpr int spacing = 2;
constexpr int samples = 2 * description_reach / spacing + 1;

class Bits {
 public:
  Bits(std::uint64_t* first, std::size_t pitch) : word_(first), pitch_(pitch) {}
  void add(bool bit) {
    *word_ |= static_cast<std::uint64_t>(bit) << position_;
    if (++position_ < 64) return;
    position_ = 0;
    word_ += pitch_;
  }

 private:
  std::uint64_t* word_;
  std::size_t pitch_;
  int position_ = 0;
};

void describe_corner(const Plane<float>& image, const Corner& corner, Bits bits) {
  float values[samples][samples];
  constexpr int reach = description_reach;
  for (int j = 0; j < samples; ++j) {
    const float* row = image.row(corner.y - reach + j * spacing) + corner.x - reach;
    for (int i = 0; i < samples; ++i) values[j][i] = row[i * spacing];
  }
  const float centre = values[samples / 2][samples / 2];
  for (int j = 0; j < samples; ++j)
    for (int i = 0; i < samples; ++i) {
      if (i + 1 < samples) bits.add(values[j][i] > values[j][i + 1]);
      if (j + 1 < samples) bits.add(values[j][i] > values[j + 1][i]);
      if (i != samples / 2 || j != samples / 2) bits.add(values[j][i] > centre);
    }
}

}  // namespace

Descriptors describe(const GrayImage& image, const std::vector<Corner>& corners, const Workers& workers) {
  Descriptors result;
  // Vectors may read beyond the last corner.
  constexpr std::size_t spare = 64;
  result.pitch = corners.size() + spare;
  result.words.resize(Descriptors::words_each * result.pitch);
  for_rows(workers, static_cast<int>(corners.size()), [&](int i, int) {
    describe_corner(image.smooth, corners[static_cast<std::size_t>(i)],
                    Bits(result.words.data() + i, result.pitch));
  });
  return result;
}

}  // namespace parallax::check
