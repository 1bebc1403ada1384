// SPDX-License-Identifier: Apache-2.0
// The specification: the equations of remap.h, pixel by pixel.
#include "remap/pixel.h"

namespace parallax::remap {
namespace {

class Reference final : public Plan {
 public:
  explicit Reference(SharedProblem problem) : problem_(std::move(problem)) {}

  std::size_t memory_bytes() const override { return problem_->bytes(); }

  void run(const Images& images) override {
    for (int side = 0; side < sides; ++side) {
      if (problem_->depth == BitDepth::bits8)
        remap<std::uint8_t>(side, images);
      else
        remap<std::uint16_t>(side, images);
    }
  }

 private:
  template <class T>
  void remap(int side, const Images& images) const {
    const Map& map = problem_->maps[side];
    const ImageView& from = images.from[side];
    const ImageOutput& to = images.to[side];
    const View<std::uint8_t>& mask = images.masks[side];
    for (int y = 0; y < map.size.height; ++y) {
      stop_if_cancelled();
      T* out = reinterpret_cast<T*>(static_cast<std::byte*>(to.data) + y * to.stride_bytes);
      for (int x = 0; x < map.size.width; ++x) {
        const bool seen = map.x.at(x, y) != unseen;
        if (!mask.empty()) mask.at(x, y) = seen ? 255 : 0;
        for (int channel = 0; channel < from.channels; ++channel)
          *out++ = seen ? value(channel_of<T>(from, channel), map, x, y) : T{0};
      }
    }
  }

  template <class T>
  T value(const Channel<T>& image, const Map& map, int x, int y) const {
    const Block block = map.blocks.at(x / block_columns, y);
    const int column = block.x * steps + map.x.at(x, y), row = block.y * steps + map.y.at(x, y);
    return problem_->interpolation == Interpolation::bilinear ? bilinear(image, column, row)
                                                              : lanczos(image, problem_->taps, column, row);
  }

  SharedProblem problem_;
};

}  // namespace

std::unique_ptr<Plan> make_reference(SharedProblem problem) {
  return std::make_unique<Reference>(std::move(problem));
}

}  // namespace parallax::remap
