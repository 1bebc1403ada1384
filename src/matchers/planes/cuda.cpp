// SPDX-License-Identifier: Apache-2.0
// Planes as labels on CUDA. The graph of a run holds that of semi-global matching, once for each map. The
// left map's moves run at the same time as the right map's start and moves.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/arena.h"
#include "core/copy_rows.h"
#include "data_cost/cuda_images.h"
#include "data_cost/data_cost.h"
#include "devices/cuda/branch.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/plan.h"
#include "matchers/planes/cuda_types.h"
#include "matchers/planes/planes.h"
#include "refine/cuda_pipeline.h"

namespace parallax::planes {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::StreamHandle;
using data_cost::CudaImages;
using data_cost::CudaSamples;

constexpr unsigned block_threads = 128, warp_lanes = 32;
// Tunables: the threads that move a cell, at least twice as many as its region has columns or rows.
constexpr const char *small_threads = "threads_per_small_cell", *large_threads = "threads_per_large_cell";
constexpr int usual_small_threads = 32, usual_large_threads = 384;
constexpr int quarters = 4, channels = 3;

// Bytes of a Region in kernels.
constexpr std::size_t region_bytes(int side) {
  constexpr std::size_t bytes_of_edge = 8;
  const std::size_t most = 3 * to_size(side);
  return most * (2 * bytes_of_edge * (most + 1) + 5 * sizeof(std::int16_t) * (most + 2));
}

// Both images in all channels.
data_cost::CostModel image_inputs() {
  data_cost::CostModel inputs = {};
  inputs.cost = DataCost::absolute_difference_colour;
  inputs.census_tolerance = census_tolerance;
  return inputs;
}

Options feature_definitions() {
  return {define("LOOK_ALIKE", look_alike), define("FEWEST_ALIKE", fewest_alike),
          define("ZERO_GRADIENT", zero_gradient)};
}

Options move_definitions(int small_block, int large_block) {
  return {define("PER_PIXEL", per_pixel),
          define("STEEPEST", steepest),
          define("SMALL_SIDE", cell_sides.front()),
          define("LARGE_SIDE", cell_sides.back()),
          define("SMALL_BLOCK", small_block),
          define("LARGE_BLOCK", large_block),
          define("COLOURS", colours),
          define("OFFERS", offers),
          define("ITERATIONS", move_iterations),
          define("MAX_LEVELS", max_levels),
          define("MAX_GRADIENT", max_gradient),
          define("BIT_SHIFT", bit_shift),
          define("OUT_OF_RANGE", out_of_range),
          define("LANES", warp_lanes),
          define("COST", DataCost::census)};
}

class Cuda final : public cuda::Plan {
 public:
  Cuda(const PlanesParameters& parameters, const Device& device, const ImageFormat& format,
       const detail::Configuration& configuration)
      : cuda::Plan(device, format, 0, true),
        model_(make_model(parameters)),
        small_block_(configuration.value(small_threads, usual_small_threads)),
        large_block_(configuration.value(large_threads, usual_large_threads)),
        start_(plan_start(parameters, device, format)),
        images_(image_inputs(), format, checks_both(), layout_),
        refinement_(parameters.refine, format, layout_, refine::Maps::disparities,
                    parameters.min_confidence) {
    bit_costs_ = layout_.reserve<std::uint16_t>(model_.bit_costs.size());
    edge_weights_ = layout_.reserve<std::uint16_t>(model_.edge_weights.size());
    for (Match& match : matches_)
      if (&match == &matches_[CudaImages::as_it_is] || checks_both()) reserve(match);
    if (checks_both()) {
      right_disparity_ = layout_.reserve_plane<float>(format.size);
      right_status_ = layout_.reserve_plane<std::uint8_t>(format.size);
    }
  }

  std::size_t memory_bytes() const override { return cuda::Plan::memory_bytes() + start_->memory_bytes(); }
  std::optional<GpuMemory> gpu_memory() const override {
    std::optional<GpuMemory> memory = cuda::Plan::gpu_memory();
    memory->needed += start_->gpu_memory()->needed;
    return memory;
  }

 private:
  // The memory of one map's match.
  struct Match {
    Buffer<std::byte> images[2];  // as the start takes them
    Buffer<std::uint8_t> masks[2];
    Buffer<std::uint64_t> signature, alike, right_signature;
    Buffer<std::uint16_t> bit_cost, levels, edge_before, edge_above, shifted, right_levels;
    Buffer<CudaPlane> planes;
    Buffer<std::int16_t> data;
  };

  bool checks_both() const { return model_.parameters.refine.left_right_check; }
  Size size() const { return format().size; }
  std::size_t plane_elements() const { return to_size(images_.stride()) * to_size(size().height); }

  void reserve(Match& match) {
    const std::size_t pixels = size().pixels(), plane = plane_elements();
    for (auto& image : match.images)
      image = layout_.reserve<std::byte>(pixels * channels * bytes_per_sample(format().depth));
    for (auto& mask : match.masks) mask = layout_.reserve<std::uint8_t>(pixels);
    for (auto* words : {&match.signature, &match.alike}) *words = layout_.reserve<std::uint64_t>(plane);
    for (auto* values : {&match.bit_cost, &match.levels, &match.edge_before, &match.edge_above})
      *values = layout_.reserve<std::uint16_t>(plane);
    match.shifted = layout_.reserve<std::uint16_t>((quarters - 1) * plane);
    match.right_signature = layout_.reserve<std::uint64_t>(quarters * plane);
    match.right_levels = layout_.reserve<std::uint16_t>(quarters * plane);
    match.planes = layout_.reserve<CudaPlane>(plane);
    match.data = layout_.reserve<std::int16_t>(plane);
  }

  void prepare(StreamHandle stream) override {
    start_->allocate();
    images_.prepare(context(), device_memory(), stream);
    feature_program_ = cuda::Program(context(), cuda::planes_features_cu, feature_definitions());
    write_pair_ = feature_program_.kernel("write_pair");
    shift_right_ = feature_program_.kernel("shift_right");
    find_left_features_ = feature_program_.kernel("find_left_features");
    find_right_levels_ = feature_program_.kernel("find_right_levels");
    move_program_ =
        cuda::Program(context(), cuda::planes_moves_cu, move_definitions(small_block_, large_block_));
    start_planes_ = move_program_.kernel("start_planes");
    move_small_cells_ = move_program_.kernel("move_small_cells");
    move_large_cells_ = move_program_.kernel("move_large_cells");
    move_large_cells_.allow_shared(region_bytes(cell_sides.back()));
    write_map_ = move_program_.kernel("write_map");
    fill(bit_costs_, std::vector<std::uint16_t>(model_.bit_costs.begin(), model_.bit_costs.end()), stream);
    fill(edge_weights_, model_.edge_weights, stream);
    refinement_.prepare(context(), device_memory(), stream);
    left_moves_.prepare(context());
  }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
    images_.take(pair, launches);
    refinement_.take(pair, launches);
  }

  void match(const DisparityMap& map, StreamHandle stream) override {
    refinement_.begin_after(stream);
    find_start(CudaImages::as_it_is, map.disparity, map.status, stream);
    const StreamHandle beside = checks_both() ? left_moves_.fork(stream) : stream;
    move(CudaImages::as_it_is, map.disparity, map.status, beside);
    View<float> right;
    if (checks_both()) {
      right = at(right_disparity_);
      images_.mirror(stream);
      find_start(CudaImages::mirrored, right, at(right_status_), stream);
      move(CudaImages::mirrored, right, {}, stream);
      left_moves_.join(stream);
    }
    refinement_.enqueue(map, right, stream);
  }

  // The first map, by semi-global matching of a copy of the pair, because the caller's addresses change.
  void find_start(CudaImages::Which which, View<float> disparity, View<std::uint8_t> status,
                  StreamHandle stream) const {
    const Match& match = matches_[which];
    const data_cost::CudaCosts inputs = images_.costs(which, nullptr);
    write_pair_.launch(stream, cuda::grid_of_rows(size(), block_threads, 2), {block_threads}, 0,
                       inputs.samples, inputs.validity, static_cast<int>(format().depth), at(match.images[0]),
                       at(match.images[1]), at(match.masks[0]), at(match.masks[1]));
    const auto image = [&](int side) {
      const std::size_t row = to_size(size().width) * channels * bytes_per_sample(format().depth);
      return ImageView(at(match.images[side]), format(), channels, static_cast<std::ptrdiff_t>(row));
    };
    const auto mask = [&](int side) {
      return View<const std::uint8_t>(at(match.masks[side]), size(), size().width);
    };
    start_->enqueue({image(0), image(1), mask(0), mask(1)}, {disparity, status, {}, {}}, stream);
  }

  void move(CudaImages::Which which, View<float> disparity, View<std::uint8_t> status,
            StreamHandle stream) const {
    const CudaScene scene = this->scene(which);
    find_features(which, scene.features, stream);
    const PlanesParameters& p = model_.parameters;
    start_planes_.launch(stream, {static_cast<unsigned>(size().height)}, {warp_lanes}, 0, scene,
                         disparity.data, cuda::stride_of(disparity), static_cast<float>(p.min_disparity));
    for_each_grid(p, size(), [&](const CellGrid& grid) {
      const bool is_small = grid.side == cell_sides.front();
      (is_small ? move_small_cells_ : move_large_cells_)
          .launch(stream, {static_cast<unsigned>(grid.count())},
                  {static_cast<unsigned>(is_small ? small_block_ : large_block_)}, region_bytes(grid.side),
                  scene, CudaGrid{grid.step, grid.first_x, grid.first_y, grid.columns});
    });
    write_map_.launch_pixels(stream, size(), block_threads, scene, p.min_disparity, p.disparities,
                             static_cast<int>(which == CudaImages::mirrored), disparity.data,
                             cuda::stride_of(disparity), status.data, cuda::stride_of(status));
  }

  void find_features(CudaImages::Which which, const CudaFeatures& to, StreamHandle stream) const {
    const Match& match = matches_[which];
    const CudaSamples samples = images_.costs(which, nullptr).samples;
    CudaSamples gray = samples;
    gray.planes = 1;
    gray.left += (samples.planes - 1) * samples.plane;
    gray.right += (samples.planes - 1) * samples.plane;
    std::uint16_t* const shifted = at(match.shifted);
    shift_right_.launch(stream, cuda::grid_of_rows(size(), block_threads, quarters - 1), {block_threads}, 0,
                        gray, shifted);
    find_left_features_.launch_pixels(stream, size(), block_threads, samples, at(bit_costs_),
                                      at(edge_weights_), to);
    find_right_levels_.launch(stream, cuda::grid_of_rows(size(), block_threads, quarters), {block_threads}, 0,
                              gray, shifted, to.right_levels);
    std::uint64_t *const signature = at(match.signature), *const right_signature = at(match.right_signature);
    images_.find_census(gray, signature, right_signature, stream);
    // The planes of a shifted image in pairs; the last one alone.
    gray.left = shifted;
    gray.right = shifted + gray.plane;
    images_.find_census(gray, right_signature + gray.plane, right_signature + 2 * gray.plane, stream);
    gray.left = gray.right = shifted + 2 * gray.plane;
    images_.find_census(gray, right_signature + 3 * gray.plane, nullptr, stream);
  }

  CudaScene scene(CudaImages::Which which) const {
    const Match& match = matches_[which];
    return {.width = size().width,
            .height = size().height,
            .stride = images_.stride(),
            .plane = static_cast<long long>(plane_elements()),
            .model = {model_.lowest, model_.highest, model_.truncation, model_.outside, model_.max_census,
                      model_.level_cost, model_.gradient_cost},
            .validity = images_.costs(which, nullptr).validity,
            .features = {reinterpret_cast<unsigned long long*>(at(match.signature)),
                         reinterpret_cast<unsigned long long*>(at(match.alike)), at(match.bit_cost),
                         at(match.levels), at(match.edge_before), at(match.edge_above),
                         reinterpret_cast<unsigned long long*>(at(match.right_signature)),
                         at(match.right_levels)},
            .planes = at(match.planes),
            .data = at(match.data)};
  }

  const Model model_;
  const int small_block_, large_block_;
  std::unique_ptr<detail::Plan> start_;
  CudaImages images_;
  refine::CudaPipeline refinement_;
  Buffer<std::uint16_t> bit_costs_, edge_weights_;
  Match matches_[2];
  PlaneBuffer<float> right_disparity_;
  PlaneBuffer<std::uint8_t> right_status_;
  cuda::Branch left_moves_;
  cuda::Program feature_program_, move_program_;
  Kernel write_pair_, shift_right_, find_left_features_, find_right_levels_, start_planes_, move_small_cells_,
      move_large_cells_, write_map_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const PlanesParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  return std::make_unique<Cuda>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const PlanesParameters&, const Device&, const ImageFormat&) {
  detail::TuningSpace space;
  space.tunables = {{small_threads, "Threads per cell of 4 pixels", {32, 64}},
                    {large_threads, "Threads per cell of 16 pixels", {128, 256, 384, 512}}};
  // Moves of large cells take most of the time.
  space.footprint = [](const detail::Configuration& configuration) {
    constexpr int registers = 72;
    const int threads = configuration.value(large_threads, usual_large_threads);
    constexpr int shared_bytes = 100 * 1024;  // at least, from sm_80 on
    const int bytes_a_block =
        static_cast<int>(region_bytes(cell_sides.back())) + cuda::multiprocessor::reserved_bytes_a_block;
    const int blocks = std::max(
        1, std::min(shared_bytes / bytes_a_block, cuda::multiprocessor::registers / (registers * threads)));
    return cuda::footprint(blocks, threads,
                           region_bytes(cell_sides.back()) + to_size(4 * registers * threads));
  };
  return space;
}

}  // namespace parallax::planes
