// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: volumes of data costs and of each path's costs, in bytes if they fit. All
// work that does not change between runs, from samples to the finished map, is one graph.

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/arena.h"
#include "data_cost/cuda_images.h"
#include "data_cost/data_cost.h"
#include "decision/cuda_maps.h"
#include "devices/cuda/branch.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/plan.h"
#include "matchers/semi_global/cuda_types.h"
#include "matchers/semi_global/semi_global.h"
#include "refine/cuda_pipeline.h"

namespace parallax::semi_global {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::Shape;
using cuda::StreamHandle;
using data_cost::CudaImages;
using decision::CudaDecision;

constexpr unsigned block_threads = 128;
constexpr std::size_t right_pixels = 4;  // pixels of a thread that writes the right map
// With more than four paths, more pixels ahead take longer: docs/measurements/semi_global.md.
constexpr int usual_pixels_ahead(int paths) {
  return paths <= 4 ? 8 : 4;
}

// Names of the tunables.
constexpr const char *labels_a_thread = "labels_per_thread", *threads_a_block = "threads_per_block",
                     *pixels_ahead = "pixels_ahead", *paths_apart = "paths_apart",
                     *pixels_a_thread = "pixels_per_thread";

// The number of pixels of a row whose sums a block keeps in shared memory.
int pixels_a_segment(int labels) {
  constexpr int max_sums = 16384, max_pixels = 64, fewest_pixels = 8;
  return std::clamp(max_sums / labels, fewest_pixels, max_pixels);
}

class Cuda final : public cuda::Plan {
 public:
  Cuda(const SemiGlobalParameters& parameters, const Device& device, const ImageFormat& format,
       const detail::Configuration& configuration)
      : cuda::Plan(device, format, data_cost::volume_labels(parameters.cost, parameters.disparities), true),
        parameters_(parameters),
        model_(make_model(parameters)),
        dealing_(deal(parameters.disparities, configuration.value(labels_a_thread, 0))),
        path_threads_(configuration.value(threads_a_block, block_threads)),
        ahead_(pixels_that_fit(configuration.value(pixels_ahead, usual_pixels_ahead(parameters.paths)))),
        apart_(configuration.value(paths_apart, is_better_apart()) != 0),
        cost_pixels_(configuration.value(pixels_a_thread, usual_cost_pixels())),
        images_(model_, format, matches_right(), layout_),
        refinement_(parameters.refine, format, layout_, refine::Maps::disparities,
                    parameters.min_confidence) {
    data_cost::check_reachable(model_, format.size);
    check_countable();
    costs_ = layout_.reserve<std::uint32_t>(volume_words());
    paths_ = layout_.reserve<std::uint32_t>(to_size(parameters.paths) * volume_words());
    large_jumps_ = layout_.reserve<std::uint16_t>(data_cost::edge_table_size);
    if (takes_right_from_sums()) right_lowest_ = layout_.reserve<std::uint32_t>(format.size.pixels());
    if (checks_both()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

 private:
  bool checks_both() const { return parameters_.refine.left_right_check; }
  bool matches_right() const { return checks_both() && parameters_.right_map == RightMap::match; }
  bool takes_right_from_sums() const { return checks_both() && !matches_right(); }
  bool is_mgm() const { return parameters_.aggregation == Aggregation::mgm; }
  bool has_edges() const { return parameters_.edge_contrast > 0; }
  int bits() const { return model_.fits_bytes() ? 8 : 16; }
  std::size_t volume_words() const {
    return format().size.pixels() * to_size(dealing_.labels() * bits() / 32);
  }

  // Refuses volumes with more words than kernels can count in 32 bits.
  void check_countable() const {
    if (volume_words() <= UINT32_MAX) return;
    throw Error(ErrorCategory::device,
                "the image has too many pixels and labels for the cuda device: match it in parts");
  }

  // Whether so many threads keep each multiprocessor busy.
  bool are_many(std::size_t threads, int enough) const {
    return threads >= to_size(enough * context()->multiprocessors());
  }

  // The number of pixels whose costs a thread finds: many have more in common, few make more threads.
  int usual_cost_pixels() const {
    constexpr int few = 4, many = 8, enough = 2048;
    const std::size_t threads = format().size.pixels() * to_size(dealing_.lanes) / to_size(many);
    return are_many(threads, enough) ? many : few;
  }

  // Whether the upward paths are launched after the downward ones, beside the sideways ones: if several
  // downward paths keep the GPU busy, because they read the same data costs, which are still in the cache; or
  // if the sideways ones take as long, because then less of the volumes is in use at a time.
  bool is_better_apart() const {
    constexpr int enough = 280;
    const auto [width, height] = format().size;
    std::size_t sideways = 0, down = 0, up = 0;
    for (const Step step : steps_of(parameters_.paths))
      (step.y == 0 ? sideways : step.y > 0 ? down : up) += to_size(step.y == 0 ? height : width);
    const auto threads = [&](std::size_t chains) { return chains * to_size(dealing_.lanes); };
    const bool is_half_as_high = 2 * height <= width, is_nearly = 8 * height <= 5 * width;
    return is_half_as_high || are_many(threads(down), enough) ||
           (is_nearly && are_many(threads(sideways + down + up), enough));
  }

  // The number of pixels ahead whose data costs fit in shared memory.
  int pixels_that_fit(int wanted) const {
    constexpr int max_bytes = 40 * 1024;
    while (wanted * bytes_of_a_pixel_ahead() > max_bytes) wanted /= 2;
    return wanted;
  }
  // Bytes of data costs, and of a word with gray values for each thread.
  int bytes_of_a_pixel_ahead() const { return path_threads_ * (dealing_.per_lane * bits() / 8 + 4); }

  // Shared memory for which blocks that follow paths ask beyond their own, so that a multiprocessor holds no
  // more of them than if they were spread evenly. Otherwise, beside the kernels of other matches, many of them
  // begin where there is room, and take turns. 0 if each multiprocessor has many anyway.
  std::size_t spreading_bytes() const {
    using cuda::multiprocessor::reserved_bytes_a_block;
    constexpr int few = 3;
    unsigned blocks = 0;
    for (const Step step : steps_of(parameters_.paths)) blocks += blocks_of(step);
    const int together = static_cast<int>(cuda::blocks(blocks, context()->multiprocessors()));
    if (together > few) return 0;
    const int of_a_block = (context()->shared_bytes_per_block() + reserved_bytes_a_block) / together,
              table_bytes = round_up(static_cast<int>(sizeof(int) * data_cost::edge_table_size), 16),
              own = ahead_ * bytes_of_a_pixel_ahead() + table_bytes;
    return to_size(std::max(0, of_a_block - reserved_bytes_a_block - own));
  }

  Options common_options(unsigned threads) const {
    return {define("LABELS", model_.labels),
            define("LANES", dealing_.lanes),
            define("PER_LANE", dealing_.per_lane),
            define("BITS", bits()),
            define("PAD", model_.highest_cost() + parameters_.large_jump),
            define("BLOCK", threads)};
  }

  cuda::Program program(const cuda::Source& source, unsigned threads, const Options& more) const {
    return {context(), source, cuda::joined(common_options(threads), more)};
  }

  void prepare(StreamHandle stream) override {
    beside_.prepare(context());
    images_.prepare(context(), device_memory(), stream);
    cost_program_ = program(
        cuda::semi_global_costs_cu, block_threads,
        {define("COST", model_.cost), define("TABLE", images_.integer_differences()),
         define("TABLE_SIZE", data_cost::cost_table_size), define("HAS_OUTSIDE", model_.has_outside),
         define("PER_DIFFERENCE", cost_of_a_difference()),
         define("HIGHEST", parameters_.data_truncation > 0 ? static_cast<int>(highest_of_a_pixel()) : 0),
         define("PIXELS", cost_pixels_), define("WINDOW", parameters_.window)});
    find_costs_ = cost_program_.kernel("find_costs");
    add_window_ = cost_program_.kernel("add_window");
    path_program_ = program(cuda::semi_global_paths_cu, path_threads(),
                            {define("EDGES", has_edges()), define("SMALL_JUMP", parameters_.small_jump),
                             define("LARGE_JUMP", parameters_.large_jump), define("AHEAD", ahead_),
                             define("TABLE_SIZE", data_cost::edge_table_size)});
    follow_ = path_program_.kernel("follow").after_previous();
    follow_front_ = path_program_.kernel("follow_front");
    decide_program_ = program(cuda::semi_global_decide_cu, block_threads,
                              {define("PATHS", parameters_.paths), define("SEGMENT", segment_pixels()),
                               define("WINNERS", parameters_.right_map == RightMap::winners),
                               define("SUB_PIXEL", parameters_.sub_pixel)});
    decide_ = decide_program_.kernel("decide");
    write_right_ = decide_program_.kernel("write_right");
    fill(large_jumps_, std::vector<std::uint16_t>(model_.large_jumps.begin(), model_.large_jumps.end()),
         stream);
    refinement_.prepare(context(), device_memory(), stream);
    follow_.allow_shared(spreading_bytes());
  }

  float highest_of_a_pixel() const { return model_.data_cost(model_.differences); }

  // The cost of a gray level or of a bit, if costs up to the highest are proportional to them.
  int cost_of_a_difference() const {
    if (!images_.integer_differences()) return 0;
    const float cost = model_.data_cost(data_cost::per_level);
    const int highest = data_cost::highest_counted(model_.cost, 0) / data_cost::per_level;
    for (int i = 0; i <= highest; ++i)
      if (model_.data_cost(i * data_cost::per_level) !=
          std::min(static_cast<float>(i) * cost, highest_of_a_pixel()))
        return 0;
    return static_cast<int>(cost);
  }

  unsigned path_threads() const { return static_cast<unsigned>(path_threads_); }
  int segment_pixels() const { return pixels_a_segment(dealing_.labels()); }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
    images_.take(pair, launches);
    refinement_.take(pair, launches);
  }

  void match(const DisparityMap& map, StreamHandle stream) override {
    const CudaDecision to = decision::left_map({map.disparity, map.status}, model_.decision(),
                                               images_.from_start(), images_.stride());
    images_.smooth(stream);
    if (matches_right()) images_.mirror(stream);
    match_pair(CudaImages::as_it_is, to, parameters_.uniqueness, stream);
    View<float> right;
    if (checks_both()) right = at(right_disparity_);
    if (matches_right()) match_pair(CudaImages::mirrored, decision::right_map(to, right), 0, stream);
    if (takes_right_from_sums()) write_right(right, stream);
    refinement_.enqueue(map, right, stream);
  }

  void match_pair(CudaImages::Which pair, const CudaDecision& to, int uniqueness, StreamHandle stream) const {
    images_.find_features(pair, stream);
    find_costs(pair, stream);
    if (is_mgm()) {
      follow_fronts(pair, stream);
    } else if (apart_) {
      follow(pair, sideways, beside_.fork(stream));
      follow(pair, downwards, stream);
      follow(pair, upwards, stream);
      beside_.join(stream);
    } else {
      follow(pair, anywhere, stream);
    }
    if (pair == CudaImages::as_it_is) refinement_.begin_after(stream);
    decide_.launch(stream, rows(to_size(segment_pixels())), {block_threads}, 0, volumes(), to, right(),
                   static_cast<int>(uniqueness > 0), uniqueness);
  }

  void find_costs(CudaImages::Which pair, StreamHandle stream) const {
    const auto lanes = to_size(dealing_.lanes);
    const CudaVolumes all = volumes();
    find_costs_.launch(stream, rows(block_threads / lanes * to_size(cost_pixels_)), {block_threads}, 0,
                       images_.costs(pair, volume()), all.costs, right());
    if (parameters_.window == 1) return;
    const Shape grid = rows(block_threads / lanes);
    add_window_.launch(stream, grid, {block_threads}, 0, all.costs, all.paths, all.width, all.height, 1, 0);
    add_window_.launch(stream, grid, {block_threads}, 0, all.paths, all.costs, all.width, all.height, 0, 1);
  }

  void write_right(View<float> right_disparity, StreamHandle stream) const {
    const data_cost::CudaValidity validity = images_.costs(CudaImages::as_it_is, nullptr).validity;
    write_right_.launch(stream, rows(block_threads * right_pixels), {block_threads}, 0, right(),
                        CudaRightMap{.disparity = right_disparity.data,
                                     .width = format().size.width,
                                     .stride = static_cast<int>(right_disparity.stride()),
                                     .min_disparity = model_.min_disparity,
                                     .validity = validity.right,
                                     .validity_words = validity.words});
  }

  // A grid of rows and blocks of a row.
  Shape rows(std::size_t pixels_a_block) const { return cuda::grid_of_rows(format().size, pixels_a_block); }

  CudaVolumes volumes() const {
    return {.width = format().size.width,
            .height = format().size.height,
            .costs = at(costs_),
            .paths = at(paths_),
            .words = static_cast<long long>(volume_words())};
  }

  // Selects the paths that a launch follows.
  using Wanted = bool (*)(Step);
  static bool anywhere(Step) { return true; }
  static bool sideways(Step step) { return step.y == 0; }
  static bool downwards(Step step) { return step.y > 0; }
  static bool upwards(Step step) { return step.y < 0; }

  void follow(CudaImages::Which pair, Wanted wanted, StreamHandle stream) const {
    unsigned blocks = 0;
    const CudaPaths wanted_paths = paths(pair, wanted, blocks);
    if (blocks == 0) return;
    follow_.launch(stream, {blocks}, {path_threads()}, spreading_bytes(), volumes(), wanted_paths);
  }

  // `blocks`: total number of blocks of these paths.
  CudaPaths paths(CudaImages::Which pair, Wanted wanted, unsigned& blocks) const {
    const View<const std::uint16_t> gray = images_.gray(pair);
    CudaPaths paths{};
    paths.gray = gray.data;
    paths.gray_stride = static_cast<int>(gray.stride());
    paths.large_jumps = at(large_jumps_);
    int volume = 0, index = 0;
    for (const Step step : steps_of(parameters_.paths)) {
      if (wanted(step)) paths.of[index++] = {step.x, step.y, volume, blocks += blocks_of(step)};
      ++volume;
    }
    return paths;
  }

  void follow_fronts(CudaImages::Which pair, StreamHandle stream) const {
    unsigned blocks = 0;
    const CudaPaths all = paths(pair, anywhere, blocks);
    const Size size = format().size;
    const auto max_pixels = to_size(std::max(size.width, size.height));
    const Shape grid{cuda::blocks(max_pixels * to_size(dealing_.lanes), path_threads()),
                     static_cast<unsigned>(parameters_.paths)};
    for (int front = 0; front < size.width + size.height - 1; ++front)
      follow_front_.launch(stream, grid, {path_threads()}, 0, volumes(), all, front);
  }

  unsigned blocks_of(Step step) const {
    const int chains = step.y == 0 ? format().size.height : format().size.width;
    return cuda::blocks(to_size(chains) * to_size(dealing_.lanes), path_threads());
  }

  CudaRight right() const { return {takes_right_from_sums() ? at(right_lowest_) : nullptr}; }

  SemiGlobalParameters parameters_;
  Model model_;
  Dealing dealing_;
  int path_threads_, ahead_;
  bool apart_;
  int cost_pixels_;
  cuda::Branch beside_;
  CudaImages images_;
  refine::CudaPipeline refinement_;
  Buffer<std::uint32_t> costs_, paths_, right_lowest_;
  Buffer<std::uint16_t> large_jumps_;
  PlaneBuffer<float> right_disparity_;
  cuda::Program cost_program_, path_program_, decide_program_;
  Kernel find_costs_, add_window_, follow_, follow_front_, decide_, write_right_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const SemiGlobalParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  return std::make_unique<Cuda>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const SemiGlobalParameters& parameters, const Device&,
                                      const ImageFormat&) {
  detail::TuningSpace space;
  space.variant =
      std::to_string(parameters.paths) + " paths" + (make_model(parameters).fits_bytes() ? ", bytes" : "");
  space.tunables = {
      {threads_a_block, "Threads per block that follow paths", {32, 64, 128, 256}},
      {labels_a_thread, "Approximate number of labels per thread", {4, 8, 16, 32}},
      {pixels_ahead, "Pixels whose data costs are loaded before they are needed", {2, 4, 8, 16}},
      {paths_apart, "Whether paths that lead downwards, upwards and sideways are launched apart", {0, 1}},
      {pixels_a_thread, "Pixels whose data costs a thread finds", {}, {}, {4, 8}}};
  space.footprint = [labels = parameters.disparities, usual_ahead = usual_pixels_ahead(parameters.paths)](
                        const detail::Configuration& configuration) {
    constexpr int beside_values = 32;
    const int threads = configuration.value(threads_a_block, block_threads);
    const int values = deal(labels, configuration.value(labels_a_thread, 0)).per_lane;
    const int registers = std::min(255, values + beside_values);
    const int blocks = std::max(1, cuda::multiprocessor::registers / (registers * threads));
    const int bytes_a_thread = registers * 4 + configuration.value(pixels_ahead, usual_ahead) * values;
    return cuda::footprint(blocks, threads, to_size(threads * bytes_a_thread));
  };
  return space;
}

}  // namespace parallax::semi_global
