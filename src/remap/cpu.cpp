// SPDX-License-Identifier: Apache-2.0
#include "core/workers.h"
#include "remap/remap.h"

namespace parallax::remap {
namespace {

class Cpu final : public Plan {
 public:
  Cpu(SharedProblem problem, const Device& device) : problem_(std::move(problem)), workers_(device.threads) {}

  std::size_t memory_bytes() const override { return problem_->bytes(); }

  void run(const Images& images) override {
    const int height = problem_->maps[0].size.height;
    for_rows(workers_, sides * height, [&](int row, int) { remap(images, row / height, row % height); });
  }

 private:
  void remap(const Images& images, int side, int y) const {
    const Map& map = problem_->maps[side];
    remap_row({map, problem_->taps, problem_->interpolation, images.from[side], images.to[side]}, y);
    const View<std::uint8_t>& mask = images.masks[side];
    if (mask.empty()) return;
    const std::uint16_t* columns = map.x.row(y);
    for (int x = 0; x < map.size.width; ++x) mask.at(x, y) = columns[x] == unseen ? 0 : 255;
  }

  SharedProblem problem_;
  Workers workers_;
};

}  // namespace

std::unique_ptr<Plan> make_cpu(SharedProblem problem, const Device& device) {
  return std::make_unique<Cpu>(std::move(problem), device);
}

}  // namespace parallax::remap
