// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation on CUDA. All work that does not change between runs, from samples to the finished
// map, is one graph. The right map comes from a second match, of the mirrored pair.

#include <algorithm>
#include <string>

#include "core/arena.h"
#include "core/integers.h"
#include "data_cost/cuda_images.h"
#include "decision/cuda_maps.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/plan.h"
#include "matchers/tiled_belief_propagation/cuda_types.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"
#include "refine/cuda_pipeline.h"

namespace parallax::tiled_belief_propagation {
namespace {

using cuda::define;
using cuda::Kernel;
using cuda::Options;
using cuda::StreamHandle;
using data_cost::CudaImages;
using decision::CudaDecision;

constexpr unsigned cost_threads = 128;
constexpr int warp_lanes = 32;
constexpr int max_labels_a_thread = 32;

// Names of the tunables. The side of tiles is not tunable, because it is part of the model: another side
// gives other labels.
constexpr const char *scheduler_name = "scheduler", *messages_name = "messages",
                     *threads_a_pixel = "threads_per_pixel", *threads_a_direction = "threads_per_direction";

// Synchronisation of blocks between one diagonal of tiles and the next.
enum class TileScheduler {
  automatic,
  launch_per_diagonal,  // a kernel for each diagonal, all in one graph
  grid_barrier,         // one persistent kernel; all blocks meet after each diagonal
  tile_flags,           // one persistent kernel; a tile starts when its incoming messages have arrived
};

// The memory of the messages inside a tile.
enum class TileMessages {
  automatic,
  registers,      // if the tile and label counts fit
  shared_memory,  // if they fit
  global_memory,
};

const std::vector<std::string> names_of_schedulers{"launch-per-diagonal", "grid-barrier", "tile-flags"};
const std::vector<std::string> names_of_messages{"registers", "shared-memory", "global-memory"};

// The name of a choice that is not automatic.
template <class Choice>
const std::string& name_of(const std::vector<std::string>& names, Choice choice) {
  return names[to_size(choice) - 1];
}

// The configured value of a choice.
template <class Choice>
Choice wanted(const detail::Configuration& configuration, const char* name) {
  return static_cast<Choice>(configuration.value(name, static_cast<int>(Choice::automatic)));
}

// The distribution of a pixel's labels over lanes: see cuda_common.h.
struct Dealing {
  int lanes, per_lane;
};

int labels_a_thread(int labels, int lanes) {
  return round_up(divide_round_up(labels, lanes), 4);
}

// \throws Error (device) when so few threads cannot hold so many labels
Dealing deal(int labels, int wanted_lanes) {
  // A thread's work per label is small compared with the work per pixel of all its threads, but with few
  // labels there are not many threads.
  const int enough = labels <= 16 ? 8 : 16;
  int lanes = wanted_lanes;
  if (lanes == 0)
    for (lanes = 1; lanes < warp_lanes && labels_a_thread(labels, lanes) > enough;) lanes *= 2;
  const Dealing dealing{lanes, labels_a_thread(labels, lanes)};
  if (dealing.per_lane > max_labels_a_thread)
    throw Error(ErrorCategory::device, "threads_per_pixel " + std::to_string(lanes) + " is too few for " +
                                           std::to_string(labels) +
                                           " labels on the cuda device: choose more threads, at most " +
                                           std::to_string(max_labels_a_thread) + " labels each");
  return dealing;
}

class Cuda final : public cuda::Plan {
 public:
  Cuda(const TiledBeliefPropagationParameters& parameters, const Device& device, const ImageFormat& format,
       const detail::Configuration& configuration)
      : cuda::Plan(device, format, parameters.cost == DataCost::volume ? parameters.disparities : 0, true),
        model_(make_model(parameters)),
        grid_(format.size, parameters.tile),
        dealing_(deal(parameters.disparities, configuration.value(threads_a_pixel, 0))),
        images_(model_, format, checks_both(), layout_),
        refinement_(parameters.refine, format, layout_, refine::Maps::disparities, parameters.min_confidence),
        threads_a_direction_(configuration.value(threads_a_direction, 0)) {
    data_cost::check_reachable(model_, format.size);
    tile_ = {std::min(grid_.side, format.size.width), std::min(grid_.side, format.size.height)};
    sum_bits_ = fits_bytes(model_) ? 8 : 16;
    choose_memory(wanted<TileMessages>(configuration, messages_name));
    choose_scheduler(wanted<TileScheduler>(configuration, scheduler_name));
    const std::size_t pixels = format.size.pixels();
    data_ = layout_.reserve<std::uint32_t>(pixels * pixel_words(sum_bits_));
    if (!in_shared_memory())
      sums_ = layout_.reserve<std::uint32_t>(2 * plane_words() * to_size(max_blocks()));
    const std::size_t between_columns = to_size(grid_.columns - 1) * to_size(format.size.height),
                      between_rows = to_size(grid_.rows - 1) * to_size(format.size.width);
    const auto message_words = pixel_words(bits_between());
    for (auto& messages : across_columns_)
      messages = layout_.reserve<std::uint32_t>(between_columns * message_words);
    for (auto& messages : across_rows_)
      messages = layout_.reserve<std::uint32_t>(between_rows * message_words);
    progress_ = layout_.reserve<std::uint32_t>(counters());
    numbered_ = layout_.reserve<std::uint32_t>(1);
    if (checks_both()) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

  detail::Footprint footprint() const {
    constexpr int beside_values = 48;
    const auto threads = static_cast<int>(tile_threads());
    const int registers = std::min(255, 4 * dealing_.per_lane + beside_values);
    const int by_shared_memory =
        context()->shared_bytes_per_block() /
        (static_cast<int>(shared_bytes()) + cuda::multiprocessor::reserved_bytes_a_block);
    const int blocks =
        std::max(1, std::min(by_shared_memory, cuda::multiprocessor::registers / (registers * threads)));
    return cuda::footprint(blocks, threads, shared_bytes() + to_size(threads * registers) * 4);
  }

 private:
  bool checks_both() const { return model_.parameters.refine.left_right_check; }
  bool is_untiled() const { return model_.parameters.tile == 0; }
  int longest_diagonal() const { return std::min(grid_.columns, grid_.rows); }
  int diagonals() const { return grid_.columns + grid_.rows - 1; }
  std::size_t counters() const {
    return scheduler_ == TileScheduler::tile_flags ? to_size(grid_.count()) : 1;
  }
  // Bits of messages between tiles. If tiles wait for messages, the highest bits mark their arrival.
  int bits_between() const {
    const bool fits = scheduler_ != TileScheduler::tile_flags || model_.truncation < 128;
    return model_.message_bytes == 1 && fits ? 8 : 16;
  }
  // The maximum number of blocks that can have work at once. If each waits for two others only, some are
  // already loading data costs.
  int max_blocks() const {
    const bool ahead = scheduler_ == TileScheduler::tile_flags && in_shared_memory();
    return std::min(grid_.count(), ahead ? 2 * longest_diagonal() : longest_diagonal());
  }

  std::size_t pixel_words(int bits) const { return to_size(dealing_.lanes * dealing_.per_lane * bits / 32); }
  // Words of the sums of a tile in global memory.
  std::size_t plane_words() const { return tile_.pixels() * pixel_words(sum_bits_); }

  bool in_shared_memory() const { return messages_ != TileMessages::global_memory; }

  // The layout of cuda_tiles.cu.
  std::size_t shared_bytes() const {
    if (!in_shared_memory()) return 0;
    const std::size_t row_units = (to_size(tile_.width) * pixel_words(sum_bits_) + 3) / 4 | 1;
    return 3 * 4 * sizeof(std::uint32_t) * row_units * to_size(tile_.height);
  }

  // \throws Error (device) for a choice that does not fit
  void choose_memory(TileMessages wanted) {
    messages_ = is_untiled() ? TileMessages::global_memory : TileMessages::shared_memory;
    const std::size_t needed = shared_bytes(), most = to_size(context()->shared_bytes_per_block());
    if (needed > most) messages_ = TileMessages::global_memory;
    const bool fits = messages_ == TileMessages::shared_memory;
    if (wanted == TileMessages::global_memory) messages_ = wanted;
    if (wanted == TileMessages::automatic || wanted == TileMessages::global_memory) return;
    const std::string& name = name_of(names_of_messages, wanted);
    if (is_untiled())
      throw Error(
          ErrorCategory::device,
          "messages in " + name + " do not support the whole image as one tile: choose global-memory");
    if (!fits)
      throw Error(ErrorCategory::device, "messages in " + name + " would take " + std::to_string(needed) +
                                             " bytes of shared memory per tile, and the GPU has " +
                                             std::to_string(most) +
                                             ": choose a smaller tile, or global-memory");
    messages_ = wanted;
    if (wanted == TileMessages::registers) check_registers();
  }

  void check_registers() const {
    constexpr int max_words = 64, max_threads = 512;
    const int words =
        std::max(tile_.width, tile_.height) * static_cast<int>(pixel_words(sum_bits_)) / dealing_.lanes;
    if (words <= max_words && tile_threads() <= max_threads) return;
    throw Error(ErrorCategory::device,
                "messages in registers would take " + std::to_string(words) + " per thread and " +
                    std::to_string(tile_threads()) + " threads per tile, and the cuda device has " +
                    std::to_string(max_words) + " and " + std::to_string(max_threads) +
                    " threads: choose a smaller tile, another threads_per_pixel, or shared-memory");
  }

  void choose_scheduler(TileScheduler wanted) {
    scheduler_ = wanted;
    if (scheduler_ == TileScheduler::automatic)
      scheduler_ = is_untiled() || !context()->launches_cooperatively() ? TileScheduler::launch_per_diagonal
                                                                        : TileScheduler::tile_flags;
    if (scheduler_ == TileScheduler::launch_per_diagonal) return;
    const std::string& name = name_of(names_of_schedulers, scheduler_);
    if (is_untiled())
      throw Error(ErrorCategory::device, "scheduler " + name +
                                             " does not support the whole image as one tile: choose "
                                             "launch-per-diagonal, or a tile of at least 1");
    if (!context()->launches_cooperatively())
      throw Error(ErrorCategory::device, "scheduler " + name +
                                             " needs cooperative launches, which this GPU or its driver "
                                             "does not support: choose launch-per-diagonal");
  }

  // The number of rows or columns that a block sweeps at the same time.
  int lines() const {
    if (is_untiled()) return std::max(1, warp_lanes / dealing_.lanes);
    // Threads per direction: many labels need many registers.
    const int max_threads = threads_a_direction_ > 0 ? threads_a_direction_
                            : dealing_.per_lane > 16 ? 128
                            : dealing_.per_lane > 8  ? 256
                                                     : 512;
    return std::min(std::max(tile_.width, tile_.height), std::max(1, max_threads / dealing_.lanes));
  }
  unsigned tile_threads() const {
    return 2 * static_cast<unsigned>(round_up(lines() * dealing_.lanes, warp_lanes));
  }
  // Includes the lines that fill the last warp.
  int block_lines() const { return static_cast<int>(tile_threads()) / 2 / dealing_.lanes; }

  CudaTiles tiles() const {
    return {.width = format().size.width,
            .height = format().size.height,
            .columns = grid_.columns,
            .rows = grid_.rows,
            .data = at(data_),
            .to_right = at(across_columns_[0]),
            .to_left = at(across_columns_[1]),
            .down = at(across_rows_[0]),
            .up = at(across_rows_[1]),
            .sums = at(sums_),
            .plane_words = static_cast<long long>(plane_words()),
            .progress = at(progress_),
            .numbered = at(numbered_),
            .inner = model_.parameters.inner,
            .passes = 2 * model_.parameters.outer};
  }

  Options common_options() const {
    return {define("LABELS", model_.labels), define("LANES", dealing_.lanes),
            define("PER_LANE", dealing_.per_lane), define("TRUNCATION", model_.truncation),
            define("BITS", sum_bits_)};
  }

  Options cost_options() const {
    return cuda::joined(common_options(),
                        {define("COST", model_.cost), define("TABLE", images_.integer_differences()),
                         define("TABLE_SIZE", data_cost::cost_table_size),
                         define("HAS_OUTSIDE", model_.has_outside), define("BLOCK", cost_threads)});
  }

  Options tile_options() const {
    // The number of labels that a cost travels until it reaches the bound.
    const int reach = std::min(model_.parameters.discontinuity_truncation, model_.labels) - 1;
    // The longest of the shifts by 1, 2, 4, … that add up to `reach` must stay within half of a thread's
    // labels.
    constexpr int short_reach = 7, longest_shift[] = {0, 1, 1, 2, 2, 2, 3, 4};
    const bool shifts = reach <= short_reach && longest_shift[reach] <= dealing_.per_lane / 2;
    int lane_reach = 0;
    for (int step = 1; step < dealing_.lanes && step * dealing_.per_lane < reach; step *= 2)
      lane_reach = step;
    return cuda::joined(
        common_options(),
        {define("SLOPE", model_.slope), define("REACH", reach), define("SHIFTS", shifts),
         define("LANE_REACH", lane_reach), define("SCHEDULER", scheduler_),
         define("MESSAGES", static_cast<int>(messages_) - static_cast<int>(TileMessages::registers)),
         define("TILE_WIDTH", tile_.width), define("TILE_HEIGHT", tile_.height), define("LINES", lines()),
         define("MESSAGE_BITS", bits_between()), define("SUB_PIXEL", model_.parameters.sub_pixel)});
  }

  void prepare(StreamHandle stream) override {
    images_.prepare(context(), device_memory(), stream);
    cost_program_ = cuda::Program(context(), cuda::tiled_belief_propagation_costs_cu, cost_options());
    find_costs_ = cost_program_.kernel("find_costs");
    tile_program_ = cuda::Program(context(), cuda::tiled_belief_propagation_tiles_cu, tile_options());
    if (scheduler_ == TileScheduler::launch_per_diagonal) {
      visit_ = tile_program_.kernel("visit_diagonal");
      sweep_rows_ = tile_program_.kernel("sweep_rows");
      sweep_columns_ = tile_program_.kernel("sweep_columns");
      decide_ = tile_program_.kernel("decide");
    } else {
      visit_ = tile_program_.kernel("visit_all");
    }
    if (shared_bytes() > 0) visit_.allow_shared(shared_bytes());
    if (scheduler_ != TileScheduler::launch_per_diagonal) {
      blocks_ = std::min(max_blocks(), visit_.resident_blocks(*context(), tile_threads(), shared_bytes()));
      if (blocks_ < 1)
        throw Error(ErrorCategory::device,
                    "no block of a tile fits on the GPU: choose a smaller tile, or scheduler "
                    "launch-per-diagonal");
    }
    refinement_.prepare(context(), device_memory(), stream);
  }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
    images_.take(pair, launches);
    refinement_.take(pair, launches);
  }

  void match(const DisparityMap& map, StreamHandle stream) override {
    const CudaDecision to = decision::left_map({map.disparity, map.status}, model_.decision(),
                                               images_.from_start(), images_.stride());
    refinement_.begin();
    images_.smooth(stream);
    if (checks_both()) images_.mirror(stream);
    match_pair(CudaImages::as_it_is, to, stream);
    View<float> right;
    if (checks_both()) {
      right = at(right_disparity_);
      match_pair(CudaImages::mirrored, decision::right_map(to, right), stream);
    }
    refinement_.enqueue(map, right, stream);
  }

  void match_pair(CudaImages::Which pair, const CudaDecision& to, StreamHandle stream) {
    images_.find_features(pair, stream);
    const auto threads = to_size(format().size.width) * to_size(dealing_.lanes);
    find_costs_.launch(
        stream, {static_cast<unsigned>(format().size.height), cuda::blocks(threads, cost_threads)},
        {cost_threads}, 0, images_.costs(pair, volume()), at(data_), at(progress_),
        static_cast<unsigned>(counters()), at(numbered_), static_cast<unsigned>(2 * model_.parameters.outer));
    if (is_untiled())
      sweep_image(to, stream);
    else if (scheduler_ == TileScheduler::launch_per_diagonal)
      visit_diagonals(to, stream);
    else
      visit_.launch_cooperatively(stream, {static_cast<unsigned>(blocks_)}, {tile_threads()}, shared_bytes(),
                                  tiles(), to);
  }

  void visit_diagonals(const CudaDecision& to, StreamHandle stream) const {
    for (int pass = 0; pass < 2 * model_.parameters.outer; ++pass) {
      for (int i = 0; i < diagonals(); ++i) {
        const int index = pass % 2 == 0 ? i : diagonals() - 1 - i;
        const int first = std::max(0, index - (grid_.rows - 1)), last = std::min(index, grid_.columns - 1);
        visit_.launch(stream, {static_cast<unsigned>(last - first + 1)}, {tile_threads()}, shared_bytes(),
                      tiles(), to, pass, index, static_cast<int>(pass > 0 || i > 0));
      }
    }
  }

  void sweep_image(const CudaDecision& to, StreamHandle stream) const {
    const Size size = format().size;
    const auto blocks_of = [&](int all) { return cuda::Shape{cuda::blocks(all, block_lines())}; };
    const int iterations = 2 * model_.parameters.outer * model_.parameters.inner;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      sweep_rows_.launch(stream, blocks_of(size.height), {tile_threads()}, 0, tiles(),
                         static_cast<int>(iteration == 0));
      sweep_columns_.launch(stream, blocks_of(size.width), {tile_threads()}, 0, tiles());
    }
    decide_.launch(stream, {cuda::blocks(size.pixels() * to_size(dealing_.lanes), tile_threads())},
                   {tile_threads()}, 0, tiles(), to);
  }

  Model model_;
  TileGrid grid_;
  Dealing dealing_;
  CudaImages images_;
  refine::CudaPipeline refinement_;
  int threads_a_direction_;  // upper limit; 0 = chosen by the registers needed
  Size tile_;                // size of the largest tile
  int sum_bits_ = 16;
  TileMessages messages_ = TileMessages::automatic;
  TileScheduler scheduler_ = TileScheduler::automatic;
  int blocks_ = 0;  // for a persistent launch
  Buffer<std::uint32_t> data_, sums_, across_columns_[2], across_rows_[2], progress_, numbered_;
  PlaneBuffer<float> right_disparity_;
  cuda::Program cost_program_, tile_program_;
  Kernel find_costs_, visit_, sweep_rows_, sweep_columns_, decide_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const TiledBeliefPropagationParameters& parameters,
                                        const Device& device, const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  return std::make_unique<Cuda>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const TiledBeliefPropagationParameters& parameters,
                                      const Device& device, const ImageFormat& format) {
  detail::TuningSpace space;
  space.variant = variant(make_model(parameters));
  space.tunables = {{threads_a_direction,
                     "Largest number of threads that sweep a tile in one direction",
                     {64, 128, 256, 512}},
                    {scheduler_name, "How tiles wait for each other", {1, 2, 3}, names_of_schedulers},
                    {messages_name, "Where the messages of a tile are kept", {1, 2, 3}, names_of_messages},
                    {threads_a_pixel, "Threads that share the labels of a pixel", {1, 2, 4, 8, 16, 32}}};
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cuda(parameters, device, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::tiled_belief_propagation
