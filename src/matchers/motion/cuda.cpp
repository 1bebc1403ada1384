// SPDX-License-Identifier: Apache-2.0
// Motion on CUDA. Both frames and their features at all scales are shared by the match from the first frame
// to the second one, and by the match back; these run at once where their memory is small enough.

#include <bit>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "core/arithmetic.h"
#include "core/integers.h"
#include "data_cost/cuda_images.h"
#include "decision/cuda_maps.h"
#include "devices/cuda/branch.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/plan.h"
#include "matchers/motion/all_labels_kernels.h"
#include "matchers/motion/cuda_types.h"
#include "matchers/motion/motion.h"
#include "refine/cuda_pipeline.h"

namespace parallax::motion {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Shape;
using cuda::StreamHandle;
using data_cost::CudaCosts;
using data_cost::CudaImages;

constexpr unsigned block_threads = 128, warp_lanes = 32, block_warps = block_threads / warp_lanes;
constexpr unsigned directions = 4;
constexpr int window_elements = 8;  // elements of a row of a window
// Unless told otherwise, both matches run at once up to this memory of each.
constexpr std::size_t max_bytes_at_once = std::size_t{2} << 30;

// Tunables.
constexpr const char *both_at_once = "both_matches_at_once", *min_blocks = "blocks_per_multiprocessor";
constexpr int usual_min_blocks = 6;  // as in the kernel, on GPUs since compute capability 9.0

enum Way { forward, backward };

unsigned rows_of(Size size) {
  return static_cast<unsigned>(size.height);
}

// One or several threads for each pixel of one colour.
Shape colour_grid(Size size, unsigned pixels_a_block, unsigned colours = 1) {
  return {rows_of(size), cuda::blocks(to_size(parity_pixels(size)), pixels_a_block), colours};
}

CudaLabels kernel_labels(const LabelSpace& labels) {
  return {{labels.first.x, labels.first.y}, labels.extent.width, labels.extent.height};
}

// Kernels of a scale whose pixels consider all labels.
struct AllLabels {
  cuda::Program program;
  Kernel find_status, find_costs, add_up, start, update, decide;
};

// Kernels of scales whose windows have one size.
struct Windows {
  cuda::Program program;
  Kernel predict, find_costs, update, decide;
};

class Cuda final : public cuda::Plan {
 public:
  Cuda(const MotionParameters& parameters, const Device& device, const ImageFormat& format,
       const detail::Configuration& configuration)
      : cuda::Plan(device, format, 0, true, true),
        model_(make_model(parameters)),
        min_blocks_(configuration.value(min_blocks, 0)),
        refinement_(parameters.refine, format, layout_, refine::Maps::vectors) {
    check_reachable(model_.space(), format.size);
    scales_[forward] = scales(parameters, format.size);
    scales_[backward] = scales(reversed(parameters), format.size);
    all_sizes_ = level_sizes(last().size, parameters.levels);
    for (std::size_t i = 0; i < scales_[forward].size(); ++i) {
      data_cost::CostModel costs = model_;
      if (i > 0) costs.smoothing = 0;
      images_.emplace_back(costs, i == 0 ? format : ImageFormat{scales_[forward][i].size, BitDepth::bits16},
                           false, layout_);
    }
    for (auto& grays : grays_)
      for (std::size_t k = 0; k < all_sizes_.size(); ++k)
        grays.push_back(k == 0 ? PlaneBuffer<std::uint16_t>{}
                               : layout_.reserve_plane<std::uint16_t>(all_sizes_[k]));
    edges_ = layout_.reserve<std::uint32_t>(2 * data_cost::edge_table_size);
    const std::size_t before = layout_.bytes();
    matches_[forward] = reserve_match();
    const bool is_small = layout_.bytes() - before <= max_bytes_at_once;
    at_once_ = checks() && configuration.value(both_at_once, static_cast<int>(is_small)) != 0;
    matches_[backward] = at_once_ ? reserve_match() : matches_[forward];
    if (!checks()) return;
    for (auto& plane : right_) plane = layout_.reserve_plane<float>(format.size);
  }

 private:
  // A level of all labels, or a scale with windows.
  struct Level {
    std::size_t plane_elements = 0;
    Buffer<std::byte> data, messages;
  };
  // The memory of a match in one direction, the image first.
  struct Match {
    PlaneBuffer<std::uint8_t> status;
    std::vector<Buffer<CudaOffset>> best, predictions;  // [scale]
    std::vector<Level> windows;                         // [scale]
    std::vector<Level> all_labels;                      // [level of the last scale]
  };

  bool checks() const { return model_.parameters.refine.left_right_check; }
  const Scale& last() const { return scales_[forward].back(); }
  std::size_t last_index() const { return scales_[forward].size() - 1; }

  int stored_bits() const { return 8 * static_cast<int>(element_bytes(model_.parameters.arithmetic)); }

  // Whether several threads share a pixel, with a row of labels each.
  bool is_packed() const {
    constexpr int most = 32;
    const Size labels = last().labels.extent;
    return stored_bits() == 8 && labels.width <= most && labels.height <= most;
  }
  unsigned lanes() const {
    return is_packed() ? std::bit_ceil(static_cast<unsigned>(last().labels.extent.height)) : warp_lanes;
  }

  // The number of a pixel's stored values, as in the kernels.
  std::size_t elements_of_all_labels() const {
    constexpr int piece_columns = 16;
    const Size labels = last().labels.extent;
    return to_size(is_packed() ? round_up(labels.width, piece_columns) * labels.height
                               : round_up(labels.width * labels.height, 32 / stored_bits()));
  }

  Level reserve_level(Size size, std::size_t elements) {
    Level level;
    level.plane_elements = to_size(parity_pixels(size)) * to_size(size.height) * elements;
    const std::size_t colours = level.plane_elements * to_size(stored_bits() / 8) * 2;
    level.data = layout_.reserve<std::byte>(colours);
    level.messages = layout_.reserve<std::byte>(directions * colours);
    return level;
  }

  Match reserve_match() {
    Match match;
    match.status = layout_.reserve_plane<std::uint8_t>(format().size);
    for (const Scale& scale : scales_[forward]) {
      match.best.push_back(layout_.reserve<CudaOffset>(scale.size.pixels()));
      if (&scale == &last()) break;
      match.predictions.push_back(layout_.reserve<CudaOffset>(scale.size.pixels()));
      match.windows.push_back(reserve_level(scale.size, to_size(window_elements * scale.window.height)));
    }
    for (const Size size : all_sizes_)
      match.all_labels.push_back(reserve_level(size, elements_of_all_labels()));
    return match;
  }

  cuda::Options options(Size labels) const {
    const MotionParameters& p = model_.parameters;
    return {define("STORED", stored_bits()),
            define("BOUND", model_.integer ? model_.bound : 0),
            define("COLUMNS", labels.width),
            define("ROWS", labels.height),
            define("SUB_PIXEL", p.sub_pixel),
            define("COST", p.cost),
            define("EDGE_TABLE", data_cost::edge_table_size)};
  }

  void prepare(StreamHandle stream) override {
    for (CudaImages& images : images_) images.prepare(context(), device_memory(), stream);
    average_ = images_.front().kernel("average");
    refinement_.prepare(context(), device_memory(), stream);
    if (at_once_) back_.prepare(context());
    prepare_all_labels();
    for (std::size_t i = 0; i < last_index(); ++i) prepare_windows(scales_[forward][i].window);
    std::vector<std::uint32_t> edges;
    for (const std::vector<float>* table : {&model_.slopes, &model_.truncations})
      for (const float value : *table)
        edges.push_back(model_.integer ? static_cast<std::uint32_t>(value)
                                       : std::bit_cast<std::uint32_t>(value));
    fill(edges_, edges, stream);
  }

  void prepare_all_labels() {
    cuda::Options all = options(last().labels.extent);
    all.insert(all.end(), {define("PACKED", is_packed()), define("LANES", lanes()),
                           define("BLOCK", block_threads), define("LEAST_BLOCKS", min_blocks_)});
    all_labels_.program = cuda::Program(context(), cuda::motion_all_labels_cu, all);
    const cuda::Program& program = all_labels_.program;
    all_labels_.find_status = program.kernel("find_status");
    all_labels_.find_costs = program.kernel("find_costs");
    all_labels_.add_up = program.kernel("add_up");
    all_labels_.start = program.kernel("start");
    all_labels_.update = program.kernel("update");
    all_labels_.decide = program.kernel("decide");
  }

  void prepare_windows(Size window) {
    const auto [entry, is_new] = windows_.try_emplace({window.width, window.height});
    if (!is_new) return;
    Windows& windows = entry->second;
    cuda::Options all = options(window);
    all.push_back(define("PIXELS", block_threads / directions));
    windows.program = cuda::Program(context(), cuda::motion_windows_cu, all);
    windows.predict = windows.program.kernel("predict");
    windows.find_costs = windows.program.kernel("find_costs");
    windows.update = windows.program.kernel("update");
    windows.decide = windows.program.kernel("decide");
  }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
    images_.front().take(pair, launches);
    refinement_.take(pair, launches);
  }

  void match(const DisparityMap& map, StreamHandle stream) override {
    find_features(stream);
    CudaMotion to{};
    to.map = decision::left_map(map,
                                {.min_disparity = 0,
                                 .labels = 0,
                                 .sub_pixel = SubPixel::none,
                                 .min_confidence = model_.parameters.min_confidence,
                                 .full_gap = model_.full_gap()},
                                nullptr, 0);
    to.row_offset = map.row_offset.data;
    refine::RightMap right;
    if (checks()) {
      right = {at(right_[0]), at(right_[1])};
      CudaMotion back{};
      back.map = decision::right_map(to.map, right.disparity);
      back.row_offset = right.row_offset.data;
      back.backward = 1;
      if (at_once_) {
        match_way(backward, back, back_.fork(stream));
      } else {
        match_way(backward, back, stream);
      }
    }
    match_way(forward, to, stream);
    if (at_once_) back_.join(stream);
    refinement_.enqueue_vectors(map, right, stream);
  }

  // Finds the features of both frames at all scales and levels.
  void find_features(StreamHandle stream) const {
    images_.front().smooth(stream);
    for (std::size_t i = 1; i < images_.size(); ++i) images_[i].halve(images_[i - 1], stream);
    for (const CudaImages& images : images_) images.find_features(CudaImages::as_it_is, stream);
    for (const Way way : {forward, backward}) {
      if (way == backward && !checks()) continue;
      for (std::size_t k = 1; k < all_sizes_.size(); ++k) {
        const View<const std::uint16_t> fine = gray(way, last_index(), k - 1);
        const View<std::uint16_t> coarse = at(grays_[way][k]);
        average_.launch_pixels(stream, coarse.size, block_threads, fine.data, fine.size.width,
                               fine.size.height, static_cast<int>(fine.stride()), coarse.data,
                               static_cast<int>(coarse.stride()));
      }
    }
  }

  // Gray levels of the frame that a match begins at, at a level of a scale.
  View<const std::uint16_t> gray(Way way, std::size_t scale, std::size_t level) const {
    if (level > 0) return at(grays_[way][level]);
    const data_cost::CudaSamples samples = costs(way, scale).samples;
    return {samples.left,
            {samples.width, samples.height},
            samples.stride * static_cast<std::ptrdiff_t>(sizeof(std::uint16_t))};
  }

  CudaCosts costs(Way way, std::size_t scale) const {
    CudaCosts costs = images_[scale].costs(CudaImages::as_it_is, nullptr);
    if (way == forward) return costs;
    std::swap(costs.samples.left, costs.samples.right);
    std::swap(costs.left_features, costs.right_features);
    std::swap(costs.validity.left, costs.validity.right);
    return costs;
  }

  CudaLevel kernel_level(Way way, std::size_t scale, std::size_t level, Size size,
                         const Level& memory) const {
    const View<const std::uint16_t> image = gray(way, scale, level);
    return {.width = size.width,
            .height = size.height,
            .pitch = parity_pixels(size),
            .plane_elements = static_cast<long long>(memory.plane_elements),
            .data = at(memory.data),
            .messages = at(memory.messages),
            .gray = image.data,
            .gray_stride = static_cast<int>(image.stride()),
            .labels = kernel_labels(scales_[way][scale].labels),
            .predictions = nullptr};
  }

  CudaLevel all_labels_level(Way way, std::size_t level) const {
    return kernel_level(way, last_index(), level, all_sizes_[level], matches_[way].all_labels[level]);
  }

  CudaLevel windows_level(Way way, std::size_t scale) const {
    CudaLevel level = kernel_level(way, scale, 0, scales_[way][scale].size, matches_[way].windows[scale]);
    level.predictions = at(matches_[way].predictions[scale]);
    return level;
  }

  CudaBest best(Way way, std::size_t scale) const {
    const Size size = scales_[way][scale].size;
    return {at(matches_[way].best[scale]), size.width, size.height};
  }

  void match_way(Way way, CudaMotion to, StreamHandle stream) const {
    const View<std::uint8_t> status = at(matches_[way].status);
    all_labels_.find_status.launch_pixels(stream, format().size, block_threads, costs(way, 0),
                                          kernel_labels(scales_[way].front().labels), status.data,
                                          static_cast<int>(status.stride()));
    to.map.from_start = status.data;
    to.map.from_start_stride = static_cast<int>(status.stride());
    for (std::size_t i = scales_[way].size(); i-- > 0;) {
      CudaMotion of_scale = to;
      of_scale.best = i > 0 ? best(way, i).of : nullptr;
      if (i == last_index())
        match_all_labels(way, of_scale, stream);
      else
        match_windows(way, i, of_scale, stream);
    }
  }

  void match_all_labels(Way way, const CudaMotion& to, StreamHandle stream) const {
    const std::size_t scale = last_index();
    all_labels_.find_costs.launch(stream, colour_grid(all_sizes_[0], block_warps, 2), {block_threads}, 0,
                                  all_labels_level(way, 0), costs(way, scale));
    for (std::size_t k = 1; k < all_sizes_.size(); ++k)
      all_labels_.add_up.launch(stream, colour_grid(all_sizes_[k], block_warps, 2), {block_threads}, 0,
                                all_labels_level(way, k - 1), all_labels_level(way, k));
    for (std::size_t k = all_sizes_.size(); k-- > 0;) iterate_all_labels(way, k, stream);
    all_labels_.decide.launch(stream, colour_grid(all_sizes_[0], block_warps, 2), {block_threads}, 0,
                              all_labels_level(way, 0), to);
  }

  void iterate_all_labels(Way way, std::size_t k, StreamHandle stream) const {
    const Size size = all_sizes_[k];
    const CudaLevel level = all_labels_level(way, k);
    const bool coarsest = k + 1 == all_sizes_.size();
    const CudaLevel coarser = coarsest ? CudaLevel{} : all_labels_level(way, k + 1);
    const int iterations = model_.iterations(last_index(), k);
    // The first half-sweep updates colour 1 from the initial messages of colour 0, which nothing else reads
    // unless it is the only one.
    if (iterations == 1 && !coarsest)
      all_labels_.start.launch(stream, colour_grid(size, block_warps), {block_threads}, 0, level, coarser);
    const Shape grid = colour_grid(size, is_packed() ? block_threads / lanes() : 1);
    for (int iteration = 0; iteration < iterations; ++iteration)
      all_labels_.update.launch(stream, grid, {block_threads}, 0, level, coarser, at(edges_),
                                (iteration + 1) % 2, static_cast<int>(iteration == 0));
  }

  void match_windows(Way way, std::size_t scale, const CudaMotion& to, StreamHandle stream) const {
    const Size size = scales_[way][scale].size, window = scales_[way][scale].window;
    const Windows& windows = windows_.at({window.width, window.height});
    const CudaLevel level = windows_level(way, scale);
    windows.predict.launch_pixels(stream, size, block_threads, level, costs(way, scale),
                                  best(way, scale + 1));
    windows.find_costs.launch_pixels(stream, size, block_threads, level, costs(way, scale),
                                     model_.prediction_weight);
    const int iterations = model_.iterations(scale, 0);
    for (int iteration = 0; iteration < iterations; ++iteration)
      windows.update.launch(stream, colour_grid(size, block_threads / directions), {block_threads}, 0, level,
                            at(edges_), (iteration + 1) % 2, static_cast<int>(iteration == 0));
    windows.decide.launch_pixels(stream, size, block_threads, level, to);
  }

  Model model_;
  // Blocks of messages of all labels that must fit on a multiprocessor; 0 = as many as usual.
  int min_blocks_;
  bool at_once_ = false;
  std::vector<Scale> scales_[2];                      // [way]; their sizes are the same
  std::vector<Size> all_sizes_;                       // sizes of the levels of the last scale
  std::vector<CudaImages> images_;                    // [scale]
  std::vector<PlaneBuffer<std::uint16_t>> grays_[2];  // [way][level of the last scale]
  Buffer<std::uint32_t> edges_;
  Match matches_[2];
  PlaneBuffer<float> right_[2];
  refine::CudaPipeline refinement_;
  cuda::Branch back_;
  AllLabels all_labels_;
  std::map<std::pair<int, int>, Windows> windows_;  // by size of the window
  Kernel average_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const MotionParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  return std::make_unique<Cuda>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const MotionParameters& parameters, const Device&, const ImageFormat&) {
  const bool fixed8 = parameters.arithmetic == Arithmetic::fixed8;
  detail::TuningSpace space;
  space.variant = detail::name_of(parameters.arithmetic) + (parameters.active_window > 0 ? ", windows" : "");
  space.tunables = {
      {min_blocks,
       "Smallest number of blocks to fit on a multiprocessor, where all labels are considered",
       fixed8 ? std::vector{3, 4, 5, 6, 8} : std::vector<int>(),
       {},
       detail::whole_numbers(1, 12)},
      {both_at_once,
       "Whether the matches from and to the first frame run at the same time; takes twice the memory",
       {},
       {},
       {0, 1}}};
  space.footprint = [](const detail::Configuration& configuration) {
    return cuda::footprint(configuration.value(min_blocks, usual_min_blocks), block_threads, 0);
  };
  return space;
}

}  // namespace parallax::motion
