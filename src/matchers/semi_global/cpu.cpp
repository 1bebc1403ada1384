// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on the CPU.
//
// A sweep goes through the rows once, downwards or upwards, and follows all paths that come from the row before it, or
// from the same row. With 4 or 8 paths there are two sweeps: each stores its sums of the first half of the rows that it
// meets, then adds to those that the other one has stored, and decides. So there is one volume of sums; with 5 paths,
// none.
//
// Threads take bands of a few rows. In a band, a pass goes through the pixels of all its rows in one direction, tile by
// tile; tiles are skewed, because a path may come from the pixel above and ahead. A pass waits until the one of the
// band before is two tiles ahead.
//
// T lies in [0, P2], and only what path costs are above the least, up to P2, matters to the next pixel. The least of
// them exceeds the least C by at most P2. So in the recursion C may be replaced by min(C − least C, 2·P2), and path costs
// may be cut at 255 if 2·P2 fits a byte. Sums are those of T, plus C for each path.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <vector>

#include "core/round_up.h"
#include "data_cost/cost_rows.h"
#include "data_cost/edge_weight.h"
#include "matchers/host_plan.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/row_prior.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {
namespace {

using refine::Beliefs, refine::code, refine::no_value;

// Path costs of all paths of a bundle, in two lines, which rows use in turn.
struct Lines {
  int pixels = 0;  // without those on either side, which bring nothing
  Line line[2] = {};
};

// Paths whose pixels are met in the same order: `way` is 1, or −1 from right to left.
struct Pass {
  int way;
  Bundle bundle;
  Lines lines = {};
  int* done = nullptr;  // tiles of each band

  bool waits() const { return bundle != Bundle::before; }
};

struct Sweep {
  int way;  // 1, or −1 upwards
  std::vector<Pass> passes;
};

// Pixels of a row for which data costs are wanted.
struct Segment {
  int y, first, last;
  std::byte* path_costs;  // of the first pixel
  std::uint16_t* costs;   // the same in words; null where path costs are the costs
};

// Memory of a thread.
struct Scratch {
  std::byte* path_costs;   // C for the recursion, and for sums, [row][pixel][label]
  std::uint16_t* costs;    // null where these are the same bytes
  std::byte* brought;      // T of the first of two passes
  std::byte* pixel_costs;  // of the rows of windows
  std::uint16_t *windows, *sums;
  std::uint16_t* row_costs;  // of the row prior, [pixel][row offset]
  std::array<std::uint16_t*, most_paths> large_jumps;
  std::array<Line, most_rows> lines;           // of paths that keep two pixels, for each row of a band
  std::uint16_t *right_lowest, *right_labels;  // [row][column]
  Decided* decided;
};

// How data costs are kept for the recursion, and for sums.
struct Widths {
  explicit Widths(const Model& model)
      : direct(model.parameters.window == 1 && model.fits_bytes()),
        bounded(!model.fits_bytes() && model.row_offsets == 1 && 2 * model.parameters.large_jump <= 255),
        path(model.fits_bytes() || bounded ? 1 : 2),
        cost(direct ? 1 : 2) {}
  bool direct;     // both are the costs of pixels, in bytes
  bool bounded;    // those for the recursion are min(C − least C, 2·P2)
  int path, cost;  // bytes of each
};

class Cpu final : public host::Plan {
 public:
  Cpu(const SemiGlobalParameters& parameters, int threads, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities), Workers(threads)),
        model_(make_model(parameters)),
        parameters_(parameters),
        large_jumps_(model_.large_jumps.begin(), model_.large_jumps.end()),
        widths_(model_),
        costs_(model_, {widths_.cost, false, model_.highest_pixel_cost(), true}, format, workers_.slots()),
        prior_(model_, size_),
        scratch_(static_cast<std::size_t>(workers_.slots())) {
    data_cost::check_reachable(model_, size_);
    make_passes();
    plan_memory(parameters.row_tolerance > 0);
  }

 private:
  static constexpr int band_rows = 4;
  static_assert(band_rows <= most_rows);
  static constexpr int decided_at_once = 32;

  bool is_mgm() const { return parameters_.aggregation == Aggregation::mgm; }
  bool has_volume() const { return sweeps_.size() > 1; }
  bool has_columns() const { return !columns_.empty(); }
  bool has_rows() const { return model_.row_offsets > 1; }
  int disparities() const { return model_.disparities(); }
  // From one row offset, and from one pixel, to the next.
  std::ptrdiff_t row_step() const { return pitch(disparities()); }
  std::ptrdiff_t step() const { return row_step() * model_.row_offsets; }
  int leasts() const { return semi_global::leasts(model_.row_offsets); }
  int reach() const { return parameters_.window / 2; }
  std::size_t elements(int pixels) const {
    return static_cast<std::size_t>(pixels) * static_cast<std::size_t>(step());
  }

  void make_passes() {
    if (is_mgm()) {
      const Bundle rightward = parameters_.paths == 8 ? Bundle::corner_and_sides : Bundle::corner;
      sweeps_ = {{1, {{-1, Bundle::corner}, {1, rightward}}}, {-1, {{-1, Bundle::corner}, {1, rightward}}}};
      if (parameters_.paths == 8) columns_ = {{1, Bundle::sides}, {-1, Bundle::sides}};
    } else if (parameters_.paths == 5) {
      sweeps_ = {{1, {{-1, Bundle::before}, {1, Bundle::star}}}};
    } else {
      const Bundle bundle = parameters_.paths == 8 ? Bundle::star : Bundle::cross;
      sweeps_ = {{1, {{1, bundle}}}, {-1, {{-1, bundle}}}};
    }
  }

  // Tiles

  bool has_two_passes() const { return sweeps_[0].passes.size() > 1; }
  // Full vectors of pixels, with the pixels that windows need on both sides.
  int tile_columns() const { return widths_.direct ? 64 : 128 - 2 * reach() - (band_rows - 1); }
  int tiles() const { return divide_round_up(size_.width + band_rows - 1, tile_columns()); }
  int bands(int rows) const { return divide_round_up(rows, band_rows); }

  // Memory

  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    prior_.reserve(arena);
    for (Sweep& sweep : sweeps_) {
      for (Pass& pass : sweep.passes) {
        reserve_lines(pass, size_.width, arena);
        pass.done = arena.reserve<int>(static_cast<std::size_t>(bands(size_.height)));
      }
    }
    for (Pass& pass : columns_) reserve_lines(pass, size_.height, arena);
    for (Scratch& scratch : scratch_) reserve_scratch(scratch, arena);
    if (offers_across_rows())
      for (std::uint16_t** offered : {&offered_lowest_, &offered_labels_})
        *offered = arena.reserve<std::uint16_t>(static_cast<std::size_t>(size_.height) *
                                                static_cast<std::size_t>(model_.row_offsets) * right_pitch());
    if (has_volume())
      sums_ = arena.reserve<std::uint16_t>(elements(size_.width) * static_cast<std::size_t>(size_.height));
  }

  void reserve_lines(Pass& pass, int pixels, Arena& arena) const {
    pass.lines.pixels = pixels;
    for (Line& line : pass.lines.line) {
      for (int p = 0; p < form_of(pass.bundle).paths; ++p)
        if (!form_of(pass.bundle).keeps_two(p))
          line.paths[p] = first_pixel(arena.reserve<std::byte>(line_bytes(pixels)));
      line.least =
          behind(arena.reserve<std::uint32_t>(static_cast<std::size_t>(leasts() * (pixels + 2))), leasts());
    }
  }
  // Of a line with its two outer pixels, and a vector on either side.
  std::size_t line_bytes(int pixels) const {
    return elements(pixels + 2) * static_cast<std::size_t>(widths_.path) + 2 * vector_bytes;
  }
  std::byte* first_pixel(std::byte* line) const { return behind(line, vector_bytes + step() * widths_.path); }
  // Null while memory is being planned.
  template <class T>
  static T* behind(T* memory, std::ptrdiff_t margin) {
    return memory == nullptr ? nullptr : memory + margin;
  }

  std::size_t decided_sums() const {
    return static_cast<std::size_t>(decided_at_once * sums_step() + sums_margin);
  }
  // Of the sums that are to be decided.
  std::ptrdiff_t sums_row_step() const { return sums_pitch(disparities()); }
  std::ptrdiff_t sums_step() const { return sums_row_step() * model_.row_offsets; }
  // Of the rows of the right map.
  std::size_t right_pitch() const {
    return static_cast<std::size_t>(size_.width + 2 * right_margin(disparities()));
  }

  // Pixels for which costs are kept at once: those of a tile; of a row, if there are two passes; and of a column.
  int kept_columns() const { return has_two_passes() ? size_.width : tile_columns(); }
  int kept_pixels() const {
    return std::max(band_rows * kept_columns(), has_columns() ? size_.height * tile_columns() : 0);
  }
  int pixel_cost_rows() const { return band_rows + 2 * reach(); }
  int pixel_cost_columns() const { return tile_columns() + band_rows - 1 + 2 * reach(); }

  void reserve_scratch(Scratch& scratch, Arena& arena) const {
    const auto width = static_cast<std::size_t>(size_.width);
    const std::size_t kept = elements(kept_pixels());
    if (widths_.path == 1) scratch.path_costs = arena.reserve<std::byte>(kept);
    if (!widths_.direct) {
      scratch.costs = arena.reserve<std::uint16_t>(kept);
      scratch.pixel_costs = arena.reserve<std::byte>(elements(pixel_cost_rows() * pixel_cost_columns()) *
                                                     static_cast<std::size_t>(costs_.cost_bytes()));
      scratch.windows = arena.reserve<std::uint16_t>(window_scratch(disparities(), reach()));
    }
    if (prior_.exists())
      scratch.row_costs = arena.reserve<std::uint16_t>(static_cast<std::size_t>(tile_columns()) *
                                                       static_cast<std::size_t>(model_.row_offsets));
    if (has_two_passes())
      scratch.brought = arena.reserve<std::byte>(elements(band_rows * size_.width) *
                                                 static_cast<std::size_t>(widths_.path));
    scratch.sums = behind(arena.reserve<std::uint16_t>(decided_sums()), sums_margin);
    for (std::uint16_t*& jumps : scratch.large_jumps)
      jumps =
          arena.reserve<std::uint16_t>(band_rows * std::max(width, static_cast<std::size_t>(size_.height)));
    for (std::uint16_t** right : {&scratch.right_lowest, &scratch.right_labels})
      *right = behind(arena.reserve<std::uint16_t>(band_rows * right_pitch()), right_margin(disparities()));
    for (Line& line : scratch.lines) {
      line.paths[0] = first_pixel(arena.reserve<std::byte>(line_bytes(2)));
      line.least = arena.reserve<std::uint32_t>(static_cast<std::size_t>(2 * leasts()));
    }
    scratch.decided = arena.reserve<Decided>(static_cast<std::size_t>(decided_at_once * model_.row_offsets));
  }

  void fill_memory() override {
    for (const Sweep& sweep : sweeps_)
      for (const Pass& pass : sweep.passes) fill_lines(pass, 0xFF);
    for (const Pass& pass : columns_) fill_lines(pass, 0xFF);
    for (const Scratch& scratch : scratch_)
      std::fill_n(scratch.sums - sums_margin, decided_sums(), std::uint16_t{65535});
  }

  // Pixels that bring nothing: before the first row, and beside all rows.
  void begin(const Pass& pass) const { fill_lines(pass, 0); }
  void fill_lines(const Pass& pass, int value) const {
    for (const Line& line : pass.lines.line) {
      for (int p = 0; p < form_of(pass.bundle).paths; ++p)
        if (!form_of(pass.bundle).keeps_two(p)) fill_line(line.paths[p], pass.lines.pixels, value);
      std::fill_n(line.least - leasts(), leasts() * (pass.lines.pixels + 2), 0u);
    }
  }
  void fill_line(void* line, int pixels, int value) const {
    std::memset(static_cast<std::byte*>(line) - step() * widths_.path - vector_bytes, value,
                line_bytes(pixels));
  }
  void begin_rows(const Scratch& scratch) const {
    for (const Line& line : scratch.lines) {
      fill_line(line.paths[0], 2, 0);
      std::fill_n(line.least, 2 * leasts(), 0u);
    }
  }

  // Matching

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    pair_ = &pair;
    costs_.prepare(pair, false, workers_);
    fit_row_prior();
    clock.finish("prepare");
    aggregate(&map);
    if (offers_across_rows()) write_right_rows();
    clock.finish("paths");
    if (!checks_left_right_ || parameters_.right_map != RightMap::match) return;
    costs_.prepare(pair, true, workers_);
    fit_row_prior();
    clock.finish("right_prepare");
    aggregate(nullptr);
    clock.finish("right_paths");
  }

  // What a sweep does with the sums of its rows.
  struct Task {
    int first, last;  // rows, in the order of the sweep
    bool adds;        // to the volume
    bool decides;
    const DisparityMap* map;  // null: only the right map, from the labels of a mirrored pair
  };

  // `map` as Task has it.
  void aggregate(const DisparityMap* map) {
    for (const Sweep& sweep : sweeps_)
      for (const Pass& pass : sweep.passes) begin(pass);
    const int rows = size_.height, middle = rows / 2;
    if (!has_volume()) return run_sweeps({{{0, rows, false, true, map}}});
    run_columns();
    run_sweeps({{{0, middle, has_columns(), false, map}, {0, rows - middle, has_columns(), false, map}}});
    run_sweeps({{{middle, rows, true, true, map}, {rows - middle, rows, true, true, map}}});
  }

  // Threads take bands in an order in which each comes after those that it waits for; a band that has been taken is
  // being worked at, so waiting ends.
  void run_sweeps(const std::array<Task, 2>& tasks) {
    const int sweeps = static_cast<int>(sweeps_.size());
    int count = 0;
    for (int s = 0; s < sweeps; ++s) {
      const Task& task = tasks[static_cast<std::size_t>(s)];
      for (const Pass& pass : sweeps_[static_cast<std::size_t>(s)].passes)
        std::fill_n(pass.done, bands(size_.height), 0);
      count = std::max(count, bands(task.last - task.first));
    }
    std::atomic<int> next = 0;
    workers_.for_each(workers_.slots(), [&](int, int slot) {
      for (int i = next++; i < sweeps * count; i = next++) {
        // Sweeps take turns, unless one thread had to change from one's memory to the other's.
        const int s = workers_.slots() > 1 ? i % sweeps : i / count;
        const int band = workers_.slots() > 1 ? i / sweeps : i % count;
        run_band(sweeps_[static_cast<std::size_t>(s)], tasks[static_cast<std::size_t>(s)], band, slot);
      }
    });
  }

  int row_of(const Sweep& sweep, int j) const { return sweep.way > 0 ? j : size_.height - 1 - j; }
  // The column of pixel i of a pass, and the other way round.
  int column_of(const Pass& pass, int i) const { return pass.way > 0 ? i : size_.width - 1 - i; }

  void run_band(const Sweep& sweep, const Task& task, int band, int slot) {
    const int first = task.first + band * band_rows, last = std::min(task.last, first + band_rows);
    if (first >= last) return;
    const bool finds_right = task.decides && task.map != nullptr && finds_right_from_sums();
    const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    if (finds_right && !has_rows())
      std::fill_n(right_row(scratch.right_lowest, 0) - right_margin(disparities()), band_rows * right_pitch(),
                  std::uint16_t{65535});
    for (int j = first; finds_right && has_rows() && j < last; ++j)
      std::fill_n(offers(offered_lowest_, row_of(sweep, j), 0) - right_margin(disparities()),
                  static_cast<std::size_t>(model_.row_offsets) * right_pitch(), std::uint16_t{65535});
    for (std::size_t p = 0; p < sweep.passes.size(); ++p) {
      const Pass& pass = sweep.passes[p];
      begin_rows(scratch);
      const Band work{sweep, pass, task, p == 0, p + 1 == sweep.passes.size(), first, last, slot};
      for (int tile = 0; tile < tiles(); ++tile) {
        if (band > 0 && pass.waits()) wait_for(pass.done[band - 1], std::min(tiles(), tile + 2));
        run_tile(work, tile);
        if (pass.waits()) tell(pass.done[band], tile + 1);
      }
    }
    for (int j = first; finds_right && !has_rows() && j < last; ++j)
      write_right_row(row_of(sweep, j), j - first, slot);
  }

  static void wait_for(int& done, int wanted) {
    const std::atomic_ref<int> tiles(done);
    for (int now = tiles.load(std::memory_order_acquire); now < wanted;
         now = tiles.load(std::memory_order_acquire))
      tiles.wait(now, std::memory_order_acquire);
  }
  static void tell(int& done, int now) {
    const std::atomic_ref<int> tiles(done);
    tiles.store(now, std::memory_order_release);
    tiles.notify_all();
  }

  // A pass over the rows of a band.
  struct Band {
    const Sweep& sweep;
    const Pass& pass;
    const Task& task;
    bool is_first, is_last;  // of the passes
    int first, last;         // rows, in the order of the sweep
    int slot;
  };

  void run_tile(const Band& band, int tile) {
    std::array<Segment, most_rows> all;
    const int rows = band.last - band.first;
    for (int k = 0; k < rows; ++k) all[static_cast<std::size_t>(k)] = segment_of(band, tile, k);
    const std::span segments = std::span(all).first(static_cast<std::size_t>(rows));
    if (band.is_first) find_costs(segments, band.slot);
    if (!band.pass.waits()) return follow(paths_of(band, segments, 0));
    for (int k = 0; k < rows; ++k) {
      const Paths paths = paths_of(band, segments.subspan(static_cast<std::size_t>(k), 1), k);
      if (band.is_last && band.task.decides)
        follow_and_decide(band, paths, segments[static_cast<std::size_t>(k)].y, k);
      else
        follow(paths);
    }
  }

  // Some pixels at a time, whose sums stay in the first-level cache.
  void follow_and_decide(const Band& band, Paths paths, int y, int k) {
    PathRow& row = paths.rows[0];
    const int last = row.last;
    while (row.first < last) {
      row.last = std::min(last, row.first + decided_at_once);
      row.sums = scratch_[static_cast<std::size_t>(band.slot)].sums - row.first * row.sum_step;
      follow(paths);
      decide_pixels(band, row.first, row.last - row.first, y, k);
      row.first = row.last;
    }
  }

  Segment segment_of(const Band& band, int tile, int k) const {
    const int begin = std::clamp(tile * tile_columns() - k, 0, size_.width);
    const int end = std::clamp((tile + 1) * tile_columns() - k, 0, size_.width);
    const bool rightward = band.pass.way > 0;
    const Segment segment{row_of(band.sweep, band.first + k), rightward ? begin : size_.width - end,
                          rightward ? end : size_.width - begin, nullptr, nullptr};
    const int column = has_two_passes() ? segment.first : 0;
    return placed(segment, std::ptrdiff_t{k} * kept_columns() + column, band.slot);
  }

  // The segment with its costs at some pixel of those that are kept.
  Segment placed(Segment segment, std::ptrdiff_t pixel, int slot) const {
    const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    const std::ptrdiff_t at = pixel * step();
    if (!widths_.direct) segment.costs = scratch.costs + at;
    segment.path_costs =
        widths_.path == 1 ? scratch.path_costs + at : reinterpret_cast<std::byte*>(segment.costs);
    return segment;
  }

  // Data costs

  void find_costs(std::span<const Segment> segments, int slot) const {
    if (widths_.direct)
      for (const Segment& segment : segments)
        write_pixel_costs(segment.y, segment.first, segment.last, segment.path_costs, slot);
    else
      find_window_costs(segments, slot);
    if (!prior_.exists()) return;
    for (const Segment& segment : segments) add_row_prior(segment, slot);
  }

  void add_row_prior(const Segment& segment, int slot) const {
    std::uint16_t* const numbers = scratch_[static_cast<std::size_t>(slot)].row_costs;
    std::uint16_t* number = numbers;
    for (int x = segment.first; x < segment.last; ++x) {
      const double expected = prior_.expected(x, segment.y);
      for (int k = 0; k < model_.row_offsets; ++k)
        *number++ = static_cast<std::uint16_t>(prior_.cost(expected, k));
    }
    const auto count = static_cast<int>(number - numbers);
    if (widths_.path == 1) add_to_costs({1, disparities(), count, numbers, segment.path_costs});
    if (!widths_.direct) add_to_costs({2, disparities(), count, numbers, segment.costs});
  }

  void fit_row_prior() {
    if (!prior_.exists()) return;
    prior_.clear();
    workers_.for_each(prior_.squares().height, [&](int square, int slot) {
      prior_.for_rows(square, [&](int y) { add_up_row_offsets(y, slot); });
    });
    prior_.fit();
  }

  void add_up_row_offsets(int y, int slot) const {
    const int at_once = costs_.at_once() / RowPrior::group * RowPrior::group;
    for (int x = 0; x < size_.width; x += at_once) {
      const int count = std::min(at_once, size_.width - x);
      for (int k = 0; k < model_.row_offsets; ++k) {
        const void* costs = costs_.row(y, x, count, slot, k);
        if (costs_.cost_bytes() == 1)
          add_groups(static_cast<const std::uint8_t*>(costs), x, y, count, k);
        else
          add_groups(static_cast<const std::uint16_t*>(costs), x, y, count, k);
      }
    }
  }

  // Adds up four pixels from each pixel on, not only from the first of each group, so that lanes of vectors are pixels.
  template <class Element>
  void add_groups(const Element* costs, int first, int y, int count, int k) const {
    static_assert(RowPrior::group == 4);
    std::array<std::uint16_t, data_cost::most_at_once> least;
    least.fill(65535);
    for (int d = 0; d < disparities(); ++d, costs += data_cost::CostRows::stride())
      for (int i = 0; i + RowPrior::group <= count; ++i)
        least[static_cast<std::size_t>(i)] =
            std::min(least[static_cast<std::size_t>(i)],
                     static_cast<std::uint16_t>(costs[i] + costs[i + 1] + costs[i + 2] + costs[i + 3]));
    for (int i = 0; i + RowPrior::group <= count; i += RowPrior::group)
      prior_.add(first + i, y, k, least[static_cast<std::size_t>(i)]);
  }

  // [pixel][label], of the pixels [first, last) of a row.
  void write_pixel_costs(int y, int first, int last, std::byte* to, int slot) const {
    for (int x = first; x < last; x += costs_.at_once()) {
      const int count = std::min(costs_.at_once(), last - x);
      for (int k = 0; k < model_.row_offsets; ++k) {
        const void* costs = costs_.row(y, x, count, slot, k);
        turn_costs({costs_.cost_bytes(), disparities(), count, costs, data_cost::CostRows::stride(),
                    to + ((x - first) * step() + k * row_step()) * costs_.cost_bytes(), step()});
      }
    }
  }

  void find_window_costs(std::span<const Segment> segments, int slot) const {
    const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    int top = size_.height, bottom = 0, left = size_.width, right = 0;
    for (const Segment& segment : segments) {
      if (segment.first >= segment.last) continue;
      top = std::min(top, segment.y), bottom = std::max(bottom, segment.y + 1);
      left = std::min(left, segment.first), right = std::max(right, segment.last);
    }
    top = std::max(0, top - reach()), bottom = std::min(size_.height, bottom + reach());
    left = std::max(0, left - reach()), right = std::min(size_.width, right + reach());
    const auto row = [&](int y) {
      return scratch.pixel_costs +
             elements((y - top) * pixel_cost_columns()) * static_cast<std::size_t>(costs_.cost_bytes());
    };
    for (int y = top; y < bottom; ++y) write_pixel_costs(y, left, right, row(y), slot);
    for (const Segment& segment : segments) {
      if (segment.first >= segment.last) continue;
      for (int k = 0; k < model_.row_offsets; ++k) {
        const std::ptrdiff_t at = k * row_step();
        std::array<const void*, most_window> rows;
        for (int j = -reach(); j <= reach(); ++j)
          rows[static_cast<std::size_t>(j + reach())] =
              row(std::clamp(segment.y + j, top, bottom - 1)) + at * costs_.cost_bytes();
        add_up_windows(
            {costs_.cost_bytes(), disparities(), reach(), rows.data(), left, right, segment.first,
             segment.last, step(), segment.costs + at,
             widths_.path == 1 ? reinterpret_cast<std::uint8_t*>(segment.path_costs) + at : nullptr,
             widths_.bounded, widths_.bounded ? 2 * parameters_.large_jump : 255, scratch.windows});
      }
    }
  }

  // Paths

  std::uint16_t* volume_at(int x, int y) const {
    return sums_ + (static_cast<std::ptrdiff_t>(y) * size_.width + x) * step();
  }

  Paths paths_of(const Pass& pass) const {
    Paths paths{};
    paths.bundle = pass.bundle;
    paths.path_bytes = widths_.path;
    paths.cost_bytes = widths_.cost;
    paths.labels = disparities();
    paths.small_jump = parameters_.small_jump;
    paths.row_offsets = model_.row_offsets;
    paths.row_jump = parameters_.row_jump;
    paths.pairs = 2 * model_.highest_jump() <= 255;
    return paths;
  }

  // Of rows k, k + 1, …
  Paths paths_of(const Band& band, std::span<const Segment> segments, int k) const {
    Paths paths = paths_of(band.pass);
    if (band.is_last && band.task.decides) paths.times = parameters_.paths;
    for (const Segment& segment : segments) {
      paths.rows[paths.count] = path_row(band, segment, k + paths.count);
      ++paths.count;
    }
    return paths;
  }

  PathRow path_row(const Band& band, const Segment& segment, int k) const {
    const Pass& pass = band.pass;
    const Scratch& scratch = scratch_[static_cast<std::size_t>(band.slot)];
    const int j = band.first + k, first_column = column_of(pass, 0);
    PathRow row{};
    row.first = first_of(pass, segment);
    row.last = row.first + segment.last - segment.first;
    row.above = pass.lines.line[(j + 1) % 2];
    row.here = pass.lines.line[j % 2];
    const BundleForm form = form_of(pass.bundle);
    const Line& last_two = scratch.lines[static_cast<std::size_t>(k)];
    if (form.keeps_two(0)) row.here.paths[0] = last_two.paths[0];
    if (!pass.waits()) row.here.least = last_two.least;
    for (int s = 0; s < form.sources(); ++s) {
      std::uint16_t* jumps = scratch.large_jumps[static_cast<std::size_t>(s)] + k * size_.width;
      find_large_jumps(segment, form.from[s].pixels * pass.way, form.from[s].rows * band.sweep.way, jumps);
      row.large_jump[s] = jumps + first_column;
    }
    row.large_jump_step = pass.way;
    row.step = pass.way * step();
    const std::ptrdiff_t to_first = (first_column - segment.first) * step();
    row.costs = segment.path_costs + to_first * widths_.path;
    if (!widths_.direct) row.summed_costs = segment.costs + to_first;
    std::byte* brought = nullptr;
    if (has_two_passes())
      brought = scratch.brought + (std::ptrdiff_t{k} * size_.width + first_column) * step() * widths_.path;
    if (!band.is_last) {
      row.brought = brought;
      return row;
    }
    row.also_brought = brought;
    std::uint16_t* in_volume = has_volume() ? volume_at(first_column, segment.y) : nullptr;
    row.other_sums = band.task.adds ? in_volume : nullptr;
    row.other_step = row.step;
    row.streams = !band.task.decides && !band.task.adds;
    row.sums = in_volume;  // unless they are decided at once
    row.sum_step = band.task.decides ? sums_step() : row.step;
    row.sum_row_step = band.task.decides ? sums_row_step() : row_step();
    return row;
  }

  // The first pixel of a segment, in the order of a pass.
  int first_of(const Pass& pass, const Segment& segment) const {
    return pass.way > 0 ? segment.first : size_.width - segment.last;
  }

  // P2 of the pixels of a segment, from pixels some columns and rows away; any number where these are beyond the border.
  void find_large_jumps(const Segment& segment, int columns, int rows, std::uint16_t* out) const {
    if (parameters_.edge_contrast == 0)
      return std::fill(out + segment.first, out + segment.last,
                       static_cast<std::uint16_t>(model_.large_jumps[0]));
    const View<const std::uint16_t> gray = costs_.gray();
    const std::uint16_t* here = gray.row(segment.y);
    const std::uint16_t* there = gray.row(std::clamp(segment.y + rows, 0, size_.height - 1)) + columns;
    const int first = std::max(segment.first, -columns), last = std::min(segment.last, size_.width - columns);
    std::fill(out + segment.first, out + segment.last, std::uint16_t{0});
    for (int x = first; x < last; ++x) out[x] = large_jump(here[x], there[x]);
  }
  std::uint16_t large_jump(int gray, int gray_before) const {
    return large_jumps_[static_cast<std::size_t>(data_cost::edge_index(std::abs(gray - gray_before)))];
  }

  // MGM's paths from two pixels of the column before

  void run_columns() {
    for (const Pass& pass : columns_) begin(pass);
    const int middle = size_.width / 2;
    for (const bool adds : {false, true}) {
      if (!has_columns()) return;
      workers_.for_each(2, [&](int c, int slot) {
        const int half = c == 0 ? middle : size_.width - middle;
        const Pass& pass = columns_[static_cast<std::size_t>(c)];
        const int last = adds ? size_.width : half;
        for (int j = adds ? half : 0; j < last; j += tile_columns())
          run_columns(pass, j, std::min(last, j + tile_columns()), adds, slot);
      });
    }
  }

  // Columns [first, last), in the order of the pass.
  void run_columns(const Pass& pass, int first, int last, bool adds, int slot) const {
    const int left = pass.way > 0 ? first : size_.width - last;
    for (int y = 0; y < size_.height; y += band_rows) {
      std::array<Segment, band_rows> segments;
      const int rows = std::min(band_rows, size_.height - y);
      for (int k = 0; k < rows; ++k)
        segments[static_cast<std::size_t>(k)] = column_segment(y + k, left, left + last - first, slot);
      find_costs(std::span(segments).first(static_cast<std::size_t>(rows)), slot);
    }
    for (int j = first; j < last; ++j) {
      Paths paths = paths_of(pass);
      paths.count = 1;
      paths.rows[0] = path_column(pass, j, column_segment(0, left, left + last - first, slot), adds, slot);
      follow(paths);
    }
  }

  Segment column_segment(int y, int first, int last, int slot) const {
    return placed({y, first, last, nullptr, nullptr}, std::ptrdiff_t{y} * tile_columns(), slot);
  }

  PathRow path_column(const Pass& pass, int j, const Segment& top, bool adds, int slot) const {
    const int x = column_of(pass, j);
    PathRow row{};
    row.last = size_.height;
    row.above = pass.lines.line[(j + 1) % 2];
    row.here = pass.lines.line[j % 2];
    for (int s = 0; s < form_of(pass.bundle).sources(); ++s) {
      std::uint16_t* jumps =
          scratch_[static_cast<std::size_t>(slot)].large_jumps[static_cast<std::size_t>(s)];
      const View<const std::uint16_t> gray = costs_.gray();
      const int from_x = std::clamp(x - pass.way, 0, size_.width - 1),
                rows = form_of(pass.bundle).from[s].pixels;
      for (int y = 0; y < size_.height; ++y)
        jumps[y] = large_jump(gray.at(x, y), gray.at(from_x, std::clamp(y + rows, 0, size_.height - 1)));
      row.large_jump[s] = jumps;
    }
    row.large_jump_step = 1;
    row.step = tile_columns() * step();
    row.costs = top.path_costs + (x - top.first) * step() * widths_.path;
    row.sums = volume_at(x, 0);
    row.sum_step = row.other_step = size_.width * step();
    row.sum_row_step = row_step();
    if (adds) row.other_sums = row.sums;
    return row;
  }

  // Decisions

  float disparity_of(int label) const { return static_cast<float>(parameters_.min_disparity + label); }
  bool finds_right_from_sums() const {
    return checks_left_right_ && parameters_.right_map != RightMap::match;
  }

  // Pixels i … i + count − 1 of a pass, in row k of a band.
  void decide_pixels(const Band& band, int i, int count, int y, int k) {
    const DisparityMap* map = band.task.map;
    const Scratch& scratch = scratch_[static_cast<std::size_t>(band.slot)];
    const int first = column_of(band.pass, i);
    const bool wants_rival = map != nullptr && (!map->confidence.empty() || parameters_.min_confidence > 0 ||
                                                parameters_.uniqueness > 0);
    const RightLabels right = map == nullptr || !finds_right_from_sums()   ? RightLabels::none
                              : parameters_.right_map == RightMap::winners ? RightLabels::best
                                                                           : RightLabels::all;
    DecisionRow row{disparities(),
                    count,
                    scratch.sums,
                    sums_step(),
                    costs_.status().row(y) + first,
                    band.pass.way,
                    wants_rival,
                    scratch.decided,
                    right,
                    right_row(scratch.right_lowest, k),
                    right_row(scratch.right_labels, k),
                    size_.width,
                    std::int64_t{size_.width} - 1 - first + parameters_.min_disparity};
    if (has_rows()) return decide_across_rows(row, first, y, map);
    decide(row);
    const refine::DecisionRule rule = model_.decision();
    for (int n = 0; n < count; ++n) {
      const int x = first + band.pass.way * n;
      const Decided& found = scratch.decided[n];
      map != nullptr ? write_pixel(beliefs_of(found, wants_rival), rule, x, y, *map)
                     : write_right_pixel(found, x, y);
    }
  }

  // The same of several row offsets: of each, then of all.
  void decide_across_rows(const DecisionRow& all, int first, int y, const DisparityMap* map) {
    for (int k = 0; k < model_.row_offsets; ++k) {
      DecisionRow row = all;
      row.sums += k * sums_row_step();
      row.decided += k * decided_at_once;
      row.wants_rival = false;
      row.right = all.right == RightLabels::all ? RightLabels::all : RightLabels::none;
      if (all.right != RightLabels::none) {
        row.right_lowest = offers(offered_lowest_, y, k);
        row.right_labels = offers(offered_labels_, y, k);
      }
      decide(row);
    }
    const refine::DecisionRule rule = model_.decision();
    for (int n = 0; n < all.count; ++n) {
      const int x = first + all.way * n;
      if (status(x, y) != Status::matched) {
        map != nullptr ? write_pixel({}, rule, x, y, *map) : write_right_pixel({}, x, y);
        continue;
      }
      int best = 0;
      for (int k = 1; k < model_.row_offsets; ++k)
        if (decided(all, k, n).best < decided(all, best, n).best) best = k;
      const Decided& found = decided(all, best, n);
      if (all.right == RightLabels::best) offer(all, n, best, y);
      if (map != nullptr)
        write_pixel(beliefs_across_rows(all, n, best), rule, x, y, *map);
      else
        write_right_pixel(found, x, y);
    }
  }

  // Of pixel n at row offset k.
  static const Decided& decided(const DecisionRow& row, int k, int n) {
    return row.decided[k * decided_at_once + n];
  }
  std::uint16_t* sums(const DecisionRow& row, int n, int k) const {
    return row.sums + n * row.step + k * sums_row_step();
  }

  // Takes the sums that are no rivals, if rivals are wanted.
  Beliefs beliefs_across_rows(const DecisionRow& row, int n, int best) const {
    const Decided& found = decided(row, best, n);
    Beliefs beliefs = beliefs_of(found, false);
    beliefs.label += best * disparities();
    if (best > 0) beliefs.row_before = static_cast<float>(sums(row, n, best - 1)[found.label]);
    if (best + 1 < model_.row_offsets)
      beliefs.row_after = static_cast<float>(sums(row, n, best + 1)[found.label]);
    if (!row.wants_rival) return beliefs;
    const int begin = std::max(0, found.label - 1), end = std::min(disparities(), found.label + 2);
    for (int k = std::max(0, best - 1); k < std::min(model_.row_offsets, best + 2); ++k)
      std::fill(sums(row, n, k) + begin, sums(row, n, k) + end, std::uint16_t{65535});
    int rival = 65535;
    for (int k = 0; k < model_.row_offsets; ++k)
      rival = std::min<int>(rival, lowest_of(sums(row, n, k), disparities()));
    if (rival <= highest_sum) beliefs.rival = static_cast<float>(rival);
    return beliefs;
  }

  // What left pixels of row y offer to right pixels of row y + v, by the number of v. Lowest labels win ties.
  std::uint16_t* offers(std::uint16_t* all, int y, int k) const {
    return all + right_margin(disparities()) +
           (static_cast<std::size_t>(y) * static_cast<std::size_t>(model_.row_offsets) +
            static_cast<std::size_t>(k)) *
               right_pitch();
  }
  bool offers_across_rows() const { return has_rows() && finds_right_from_sums(); }

  void offer(const DecisionRow& row, int n, int k, int y) const {
    const Decided& found = decided(row, k, n);
    const std::int64_t to = row.right_first - row.way * n + found.label;
    if (to < 0 || to >= size_.width) return;
    std::uint16_t& lowest = offers(offered_lowest_, y, k)[to];
    if (row.way < 0 ? found.best > lowest : found.best >= lowest) return;
    lowest = found.best;
    offers(offered_labels_, y, k)[to] = found.label;
  }

  void write_right_rows() {
    for_row_ranges(workers_, size_.height, [&](int first, int last, int) {
      for (int y = first; y < last; ++y)
        for (int x = 0; x < size_.width; ++x) right_disparity_.at(x, y) = best_offer(x, y);
    });
  }

  float best_offer(int x, int y) const {
    if (!pair_->right_mask.empty() && pair_->right_mask.at(x, y) == 0) return no_value;
    int best = highest_sum + 1, label = 0;
    for (int k = 0; k < model_.row_offsets; ++k) {
      const int left_y = y - (model_.min_row_offset + k), i = size_.width - 1 - x;
      if (left_y < 0 || left_y >= size_.height || offers(offered_lowest_, left_y, k)[i] >= best) continue;
      best = offers(offered_lowest_, left_y, k)[i];
      label = offers(offered_labels_, left_y, k)[i];
    }
    return best > highest_sum ? no_value : disparity_of(label);
  }

  Status status(int x, int y) const { return static_cast<Status>(costs_.status().at(x, y)); }

  static Beliefs beliefs_of(const Decided& found, bool has_rival) {
    return {found.label, static_cast<float>(found.before), static_cast<float>(found.best),
            static_cast<float>(found.after),
            has_rival && found.rival <= highest_sum ? static_cast<float>(found.rival) : no_value};
  }

  void write_pixel(const Beliefs& sums, const refine::DecisionRule& rule, int x, int y,
                   const DisparityMap& map) const {
    if (status(x, y) != Status::matched) return refine::write_none(status(x, y), x, y, map);
    refine::write_decision(sums, rule, x, y, map);
    if (!is_ambiguous(sums, parameters_.uniqueness)) return;
    refine::reject(Status::ambiguous, x, y, map);
  }

  void write_right_pixel(const Decided& found, int x, int y) const {
    right_disparity_.at(size_.width - 1 - x, y) =
        status(x, y) == Status::matched ? disparity_of(found.label) : no_value;
  }

  // From the labels that left pixels have offered to row k of a band.
  void write_right_row(int y, int k, int slot) const {
    const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    const std::uint16_t *lowest = right_row(scratch.right_lowest, k),
                        *labels = right_row(scratch.right_labels, k);
    for (int x = 0; x < size_.width; ++x) {
      const int i = size_.width - 1 - x;
      const bool is_masked = !pair_->right_mask.empty() && pair_->right_mask.at(x, y) == 0;
      right_disparity_.at(x, y) = lowest[i] > highest_sum || is_masked ? no_value : disparity_of(labels[i]);
    }
  }
  // Row k of a band.
  std::uint16_t* right_row(std::uint16_t* rows, int k) const {
    return rows + static_cast<std::size_t>(k) * right_pitch();
  }

  Model model_;
  SemiGlobalParameters parameters_;
  std::vector<std::uint16_t> large_jumps_;  // Model::large_jumps
  Widths widths_;
  data_cost::CostRows costs_;
  RowPrior prior_;
  std::vector<Sweep> sweeps_;
  std::vector<Pass> columns_;
  std::vector<Scratch> scratch_;  // by slot
  std::uint16_t* sums_ = nullptr;
  std::uint16_t *offered_lowest_ = nullptr, *offered_labels_ = nullptr;  // offers(), where rows are searched
  const StereoPair* pair_ = nullptr;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const SemiGlobalParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  return std::make_unique<Cpu>(parameters, device.threads, format);
}

}  // namespace parallax::semi_global
