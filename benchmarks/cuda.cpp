// SPDX-License-Identifier: Apache-2.0
// Measures the cuda device and prints Markdown tables. Needs a GPU, and the pairs written by gpu_pairs:
//
//   benchmark_cuda PAIRS                     all tables
//   benchmark_cuda PAIRS TABLE               one of print_tables()
//   benchmark_cuda PAIRS schedulers TILE…    schedulers and threads per pixel for tiles of these sizes
//   benchmark_cuda PAIRS first               the first match of this process
//
// Times are medians of 100 runs after ten warm-up runs. `device`: images in device memory, timed by events;
// `pinned` and `host`: images and map in pinned or ordinary host memory, timed by the host's clock.

#include <cstdio>
#include <optional>

#include "parallax/parallax.h"

#include "benchmarks/common.h"
#include "benchmarks/papers/data.h"
#include "devices/cuda/context.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
using Pair = tool::PapersImages;

// A stream of the first GPU, whose context is current while this object exists.
class Gpu {
 public:
  const cuda::SharedContext& context() const { return context_; }
  cuda::StreamHandle stream() const { return stream_.get(); }

  // Milliseconds of the work that `enqueue` puts on the stream.
  template <class Enqueue>
  double milliseconds(const Enqueue& enqueue) const {
    record(from_);
    enqueue();
    record(to_);
    wait();
    float time = 0;
    cuda::check(cuda::driver().cuEventElapsedTime(&time, from_.get(), to_.get()), "cuEventElapsedTime");
    return static_cast<double>(time);
  }

  void wait() const { cuda::check(cuda::driver().cuStreamSynchronize(stream()), "cuStreamSynchronize"); }

 private:
  void record(const cuda::Event& event) const {
    cuda::check(cuda::driver().cuEventRecord(event.get(), stream()), "cuEventRecord");
  }

  cuda::SharedContext context_ = std::make_shared<cuda::Context>(0);
  cuda::Current current_{*context_};
  cuda::Stream stream_ = cuda::make_stream(context_);
  cuda::Event from_ = cuda::make_event(context_), to_ = cuda::make_event(context_);
};

// The median, after ten runs to warm up, of what each run returns.
template <class Run>
double timed(int runs, const Run& run) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) run();
  for (int i = 0; i < runs; ++i) times.push_back(run());
  return median(times);
}

// A pair and its map in memory that the GPU reaches: its own, or pinned memory of the host.
struct Place {
  cuda::PinnedMemory pinned;
  cuda::DeviceMemory device;
  StereoPair pair;
  DisparityMap map;
};

class Bench {
 public:
  Bench(const MatcherParameters& parameters, const Pair& pair, const TunedValues& configuration = {},
        int pairs_in_flight = 1)
      : pair_(pair),
        matcher_(parameters, {DeviceKind::cuda}, {pair.left.size()}, {0, configuration, pairs_in_flight}),
        pairs_in_flight_(static_cast<std::size_t>(pairs_in_flight)),
        result_(pair.left.size()) {}

  double on_device() {
    const Gpu gpu;
    const Place at = place(gpu, true);
    return timed(100,
                 [&] { return gpu.milliseconds([&] { matcher_.enqueue(at.pair, at.map, gpu.stream()); }); });
  }

  double from_pinned() {
    const Place at = place(Gpu(), false);
    return by_clock(at.pair, at.map);
  }

  double from_host() { return by_clock(pair_.views(), result_.map()); }

  // The number of pairs per second that this thread enqueues on a stream for each pair in flight, or starts
  // from and to pinned memory: the median of five runs after a warm-up run.
  double rate(bool on_device) {
    const std::vector<Gpu> gpus(pairs_in_flight_);
    std::vector<Place> places;
    for (const Gpu& gpu : gpus) places.push_back(place(gpu, on_device));
    constexpr std::size_t pairs = 400;
    const auto run = [&] {
      for (std::size_t pair = 0; pair < pairs; ++pair) {
        const Place& at = places[pair % pairs_in_flight_];
        if (on_device)
          matcher_.enqueue(at.pair, at.map, gpus[pair % pairs_in_flight_].stream());
        else
          matcher_.start(at.pair, at.map);
      }
      matcher_.wait();
      for (const Gpu& gpu : gpus) gpu.wait();
    };
    run();
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) rates.push_back(1e3 * pairs / milliseconds(run));
    return median(rates);
  }

  // Call it after from_host().
  std::size_t mismatches() const { return evaluate(result_.disparity.view(), pair_.truth.view()).mismatches; }
  double megabytes() const { return static_cast<double>(matcher_.memory_bytes()) / 1e6; }

 private:
  // The images without gaps between rows, and behind them the disparities and the status.
  Place place(const Gpu& gpu, bool on_device) const {
    const Size size = pair_.left.size();
    const std::size_t plane_bytes = (size.pixels() + 255) / 256 * 256;
    Place at;
    at.pinned = cuda::allocate_pinned(gpu.context(), 8 * plane_bytes);
    auto* bytes = static_cast<std::uint8_t*>(at.pinned.get());
    const auto plane = [&](std::size_t i) { return View<std::uint8_t>(bytes + i * plane_bytes, size); };
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(pair_.left.row(y), size.width, plane(0).row(y));
      std::copy_n(pair_.right.row(y), size.width, plane(1).row(y));
    }
    if (on_device) {
      at.device = cuda::allocate(gpu.context(), 8 * plane_bytes);
      cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(at.device.get(), bytes, 2 * plane_bytes, gpu.stream()),
                  "cuMemcpyHtoD");
      gpu.wait();
      bytes = reinterpret_cast<std::uint8_t*>(at.device.get());
    }
    at.pair = {plane(0), plane(1)};
    at.map = {{reinterpret_cast<float*>(bytes + 2 * plane_bytes), size}, plane(6)};
    return at;
  }

  double by_clock(const StereoPair& pair, const DisparityMap& map) {
    return timed(100, [&] { return milliseconds([&] { matcher_.run(pair, map); }); });
  }

  const Pair& pair_;
  Matcher matcher_;
  std::size_t pairs_in_flight_;
  Result result_;
};

// Bytes per second of a copy much larger than the caches, counting reads and writes.
double copy_bandwidth() {
  const Gpu gpu;
  constexpr std::size_t bytes = std::size_t{1} << 30;
  const cuda::DeviceMemory from = cuda::allocate(gpu.context(), bytes),
                           to = cuda::allocate(gpu.context(), bytes);
  cuda::Copy2D copy{};
  copy.source_type = copy.target_type = cuda::device_memory_type;
  copy.source_device = from.get();
  copy.target_device = to.get();
  copy.source_pitch = copy.target_pitch = copy.width_bytes = bytes;
  copy.height = 1;
  const auto enqueue = [&] {
    cuda::check(cuda::driver().cuMemcpy2DAsync_v2(&copy, gpu.stream()), "cuMemcpy2DAsync");
  };
  return 2e3 * bytes / timed(20, [&] { return gpu.milliseconds(enqueue); });
}

// The minimum work of a match with the straightforward schedule.
struct Work {
  double updates;  // updates of a label of a pixel
  double bytes;    // bytes read and written
};

// An update of belief propagation reads a data cost and four messages, and writes four messages. Each
// iteration updates every label of half of a level's pixels. Other methods: every label of every pixel once,
// and the bytes of the images and the map.
Work work_of(const MatcherParameters& parameters, Size size) {
  const auto* bp = parameters.get_if<BeliefPropagationParameters>();
  const auto pixels = static_cast<double>(size.pixels());
  if (bp == nullptr) return {pixels * parameters.disparities(), pixels * (2 + 5)};
  double updates = 0;
  for (int level = 0; level < bp->levels; ++level) {
    updates += 0.5 * static_cast<double>(size.pixels()) * bp->disparities * bp->iterations;
    size = {(size.width + 1) / 2, (size.height + 1) / 2};
  }
  const bool byte = bp->arithmetic == Arithmetic::fixed8, wide = bp->arithmetic == Arithmetic::float32;
  return {updates, 9 * updates * (byte ? 1 : wide ? 4 : 2)};
}

// A row of a table: parameters in the form of parameters_of() on a pair.
struct Row {
  std::string name;  // name of the pair
  const Pair& pair;
  int labels;  // 0 = as the preset has
  std::string how;
  TunedValues configuration;

  Size size() const { return pair.left.size(); }
  MatcherParameters parameters() const { return parameters_of(how, labels); }
};

void print_begin(const Row& row) {
  std::printf("| %s | %s", row.name.c_str(), row.how.c_str());
  for (const auto& [name, value] : row.configuration) std::printf(", %s %s", name.c_str(), value.c_str());
  std::printf(" | %d×%d | %d |", row.size().width, row.size().height, row.parameters().disparities());
}

constexpr const char* match_columns =
    "device ms | pinned ms | host ms | mismatches | MB | floor ms | GB/s | Gupdates/s";

void measure(const Row& row) {
  static const double bandwidth = copy_bandwidth();
  print_begin(row);
  Bench bench(row.parameters(), row.pair, row.configuration);
  const Work work = work_of(row.parameters(), row.size());
  const double device = bench.on_device(), pinned = bench.from_pinned(), host = bench.from_host();
  std::printf(" %.4f | %.4f | %.4f | %zu | %.1f | %.4f | %.0f | %.0f |\n", device, pinned, host,
              bench.mismatches(), bench.megabytes(), work.bytes / bandwidth * 1e3, work.bytes / device / 1e6,
              work.updates / device / 1e6);
}

// Pairs a second of one thread of the caller, with 1 to 8 pairs in flight: in GPU memory / from and to pinned
// memory.
void measure_in_flight(const Row& row) {
  print_begin(row);
  for (const int count : {1, 2, 4, 8}) {
    Bench bench(row.parameters(), row.pair, row.configuration, count);
    std::printf(" %.0f / %.0f |", bench.rate(true), bench.rate(false));
  }
  std::printf("\n");
}

// The first GPU by CUDA, and all devices of OpenCL.
std::vector<Device> gpu_devices() {
  std::vector<Device> devices{{DeviceKind::cuda}};
  for (const DeviceDescription& found : list_devices())
    if (found.device.starts_with("opencl")) devices.push_back(Device::parse(found.device));
  return devices;
}

double host_to_host(const Row& row, const Device& device) {
  Matcher matcher(row.parameters(), device, {row.size()});
  Result result(row.size());
  return timed(100, [&] { return milliseconds([&] { matcher.run(row.pair.views(), result.map()); }); });
}

void measure_opencl(const Row& row) {
  const double cuda = host_to_host(row, {DeviceKind::cuda});
  for (const Device& device : gpu_devices()) {
    if (device.kind == DeviceKind::cuda) continue;
    const double opencl = host_to_host(row, device);
    print_begin(row);
    std::printf(" %s | %.4f | %.4f | %.2f |\n", device.text().c_str(), opencl, cuda, opencl / cuda);
  }
}

// Matches of raw and of rectified images, host to host.
void measure_rectified(const Row& row) {
  for (const Device& device : gpu_devices()) {
    print_begin(row);
    const RectifiedTimes times = time_rectified(row.parameters(), device, row.pair.views(), 50);
    std::printf(" %s | %.3f | %.3f | %.3f | %.0f | %.0f |\n", device.text().c_str(), times.raw,
                times.rectified, times.raw / times.rectified, times.raw_megabytes, times.rectified_megabytes);
  }
}

struct RemapCase {
  Size size;
  const char* format;
  BitDepth depth;
  int channels;
  Interpolation interpolation;
  bool masks = false;
};

// Rectifies pairs in GPU memory. Uses many different pairs, so that no cache holds the images.
class RemapBench {
 public:
  explicit RemapBench(const RemapCase& which)
      : rectifier_(webcams(which.size), {.interpolation = which.interpolation}, {DeviceKind::cuda},
                   which.depth) {
    const std::size_t pixels = which.size.pixels(),
                      image = pixels * static_cast<std::size_t>(which.channels) *
                              (which.depth == BitDepth::bits8 ? 1 : 2),
                      maps = pixels * 9 / 2;
    moved_bytes_ = 2 * (maps + 2 * image + (which.masks ? pixels : 0));
    const auto stride = static_cast<std::ptrdiff_t>(image / static_cast<std::size_t>(which.size.height));
    const ImageFormat format{which.size, which.depth};
    memory_ = cuda::allocate(gpu_.context(), max_pairs * (4 * image + 2 * pixels));
    auto* at = reinterpret_cast<std::byte*>(memory_.get());
    const auto take = [&](std::size_t bytes) { return std::exchange(at, at + bytes); };
    for (auto& pair : pairs_) {
      for (ImageView& view : pair.cameras) view = ImageView(take(image), format, which.channels, stride);
      pair.rectified.left = ImageOutput(take(image), format, which.channels, stride);
      pair.rectified.right = ImageOutput(take(image), format, which.channels, stride);
      for (View<std::uint8_t>* mask : {&pair.rectified.left_mask, &pair.rectified.right_mask})
        if (which.masks) *mask = {reinterpret_cast<std::uint8_t*>(take(pixels)), which.size};
    }
  }

  // Milliseconds of one pair on an idle GPU, and of one among many consecutive pairs.
  double one() { return milliseconds_of(1); }
  double in_a_row() { return milliseconds_of(10 * max_pairs); }
  double moved_bytes() const { return static_cast<double>(moved_bytes_); }
  double megabytes() const { return static_cast<double>(rectifier_.memory_bytes()) / 1e6; }

 private:
  static constexpr std::size_t max_pairs = 16;
  struct CameraPair {
    ImageView cameras[2];
    RectifiedPair rectified;
  };

  double milliseconds_of(std::size_t count) {
    return timed(50, [&] {
      return gpu_.milliseconds([&] {
        for (std::size_t pair = 0; pair < count; ++pair) {
          const CameraPair& images = pairs_[pair % max_pairs];
          rectifier_.enqueue(images.cameras[0], images.cameras[1], images.rectified, gpu_.stream());
        }
      }) / static_cast<double>(count);
    });
  }

  Gpu gpu_;
  Rectifier rectifier_;
  cuda::DeviceMemory memory_;
  std::size_t moved_bytes_ = 0;
  CameraPair pairs_[max_pairs];
};

void remap_table() {
  std::printf(
      "\nRectification of a pair in GPU memory\n\n| size | format | interpolation | one pair, ms | in a row, "
      "ms a pair | GB/s | MB |\n|---|---|---|--:|--:|--:|--:|\n");
  const Size small{640, 480}, large{1920, 1080};
  constexpr Interpolation bilinear = Interpolation::bilinear, lanczos = Interpolation::lanczos3;
  for (const RemapCase& which : {RemapCase{small, "8-bit gray", BitDepth::bits8, 1, bilinear},
                                 {large, "8-bit gray", BitDepth::bits8, 1, bilinear},
                                 {large, "8-bit gray, masks", BitDepth::bits8, 1, bilinear, true},
                                 {large, "8-bit colour", BitDepth::bits8, 3, bilinear},
                                 {large, "16-bit gray", BitDepth::bits16, 1, bilinear},
                                 {large, "8-bit gray", BitDepth::bits8, 1, lanczos},
                                 {large, "8-bit colour", BitDepth::bits8, 3, lanczos},
                                 {large, "16-bit gray", BitDepth::bits16, 1, lanczos}}) {
    RemapBench bench(which);
    const double one = bench.one(), in_a_row = bench.in_a_row();
    std::printf("| %d×%d | %s | %s | %.4f | %.4f | %.0f | %.1f |\n", which.size.width, which.size.height,
                which.format, which.interpolation == bilinear ? "bilinear" : "Lanczos", one, in_a_row,
                bench.moved_bytes() / in_a_row / 1e6, bench.megabytes());
    std::fflush(stdout);
  }
}

using PairOf = std::pair<std::string, int>;  // its name, and its labels; 0 = as the preset has

// Prints the tables of this name, or all.
struct Printer {
  const tool::PapersData& pairs;
  std::string which;
  mutable bool has_printed = false;

  // Whether to print this table; if so, prints its header.
  bool begins(const std::string& name, const std::string& columns) const {
    if (which != name && which != "all") return false;
    has_printed = true;
    std::printf("\n%s\n\n| pair | how | size | labels | %s |\n", name.c_str(), columns.c_str());
    for (auto left = 5 + std::count(columns.begin(), columns.end(), '|'); left > 0; --left)
      std::printf("|---");
    std::printf("|\n");
    return true;
  }

  // Each way on each pair with each configuration.
  void rows(void (*measure)(const Row&), const std::vector<PairOf>& which_pairs,
            const std::vector<std::string>& ways,
            const std::vector<TunedValues>& configurations = {{}}) const {
    for (const auto& [name, labels] : which_pairs) {
      const Pair pair = pairs.load(name, labels > 0 ? labels : 60);
      for (const std::string& how : ways)
        for (const TunedValues& configuration : configurations) {
          try {
            measure({name, pair, labels, how, configuration});
          } catch (const Error& error) {
            std::printf(" %s |\n", error.what());
          }
          std::fflush(stdout);
        }
    }
  }
};

std::vector<TunedValues> schedulers() {
  std::vector<TunedValues> all;
  for (const char* scheduler : {"launch-per-diagonal", "grid-barrier", "tile-flags"})
    for (const char* messages : {"registers", "shared-memory", "global-memory"})
      for (const char* threads : {"1", "2", "4"})
        all.push_back({{"scheduler", scheduler}, {"messages", messages}, {"threads_per_pixel", threads}});
  return all;
}

// `tiles` are the sizes of those for the table of schedulers.
void print_tables(const Printer& table, const std::vector<std::string>& tiles) {
  const PairOf quarter{"conesQuarterSize", 64}, half{"conesHalfSize", 128}, piano{"piano", 60},
      vga{"synthetic 640x480", 64}, hd{"synthetic 1280x720", 128}, full_hd{"synthetic 1920x1080", 128},
      contest{"contest", 0};
  const std::vector<PairOf> papers{{"tsukubaSet", 16},           {"venus", 21}, {"barn1", 32}, quarter, half,
                                   {"conesFullSizeCropped", 256}};
  const std::string published = "bp grauer-gray-2019 arithmetic=",
                    plain = "block default unrefined sub_pixel=none window=9",
                    of_contest = "tiled-bp memocode-2013";
  const std::vector<std::string> census{"census mobile-gpu-2015 pyramid_levels=1", "census mobile-gpu-2015",
                                        "census fast", "census balanced", "census accurate"};
  const std::vector<TunedValues> at_once{{}, {{"both_matches_at_once", "0"}}};

  if (table.begins("bp", match_columns)) {
    for (const char* arithmetic : {"fixed8", "fixed16", "float32", "float16", "bfloat16"})
      table.rows(measure, papers, {published + arithmetic});
    table.rows(measure, {full_hd}, {published + "fixed8"});
  }
  // The columns from "floor" on count the work on all labels.
  if (table.begins("default", match_columns))
    table.rows(measure, {vga, half, full_hd},
               {"bp default", "bp default fill=row", "bp default candidate_levels=0"}, at_once);
  if (table.begins("block", match_columns)) {
    table.rows(measure, papers, {plain});
    table.rows(measure, {half},
               {plain + " window=15", plain + " cost=ssd", plain + " cost=zncc", "block default"});
    table.rows(measure, {full_hd}, {plain, "block default"});
  }
  if (table.begins("census", match_columns)) table.rows(measure, {piano, full_hd}, census);
  if (table.begins("tiled", match_columns)) {
    // Mismatches, because the contest counts wrong labels.
    for (const char* changes :
         {"", " tile=0 inner=20", " tile=32", " tile=10 inner=2", " tile=5 inner=2", "-tuned"})
      table.rows(measure, {contest}, {of_contest + changes});
    for (const int labels : {16, 32, 64, 128, 256})
      table.rows(measure, {{half.first, labels}},
                 {"tiled-bp default tile=16", "tiled-bp default tile=32", "tiled-bp default tile=0"});
  }
  if (table.begins("schedulers", match_columns))
    for (const std::string& tile : tiles)
      table.rows(measure, {contest}, {of_contest + " tile=" + tile}, schedulers());
  if (table.begins("sgm", match_columns))
    table.rows(measure, {quarter, vga, half, full_hd},
               {"sgm libsgm paths=4", "sgm libsgm paths=8", "sgm default", "sgm mgm"});
  if (table.begins("in-flight", "1 | 2 | 4 | 8")) {
    table.rows(measure_in_flight, {vga, hd}, {"census fast", "block default"});
    table.rows(measure_in_flight, {vga, hd}, {"bp default"}, at_once);
  }
  if (table.begins("rectify", "device | raw ms | rectified ms | ratio | raw MB | rectified MB"))
    table.rows(measure_rectified, {vga, full_hd},
               {"census fast", "block default", "sgm default", "bp default"});
  if (table.begins("opencl", "device | ms | cuda ms | ratio")) {
    table.rows(measure_opencl, {piano, full_hd}, census);
    table.rows(measure_opencl, {piano, full_hd},
               {"block default", "bp default", "bp default candidate_levels=0",
                "bp default candidate_levels=0 arithmetic=fixed16", "sgm libsgm paths=4",
                "sgm libsgm paths=8", "sgm default"});
  }
}

void first_run(const tool::PapersData& pairs) {
  Pair pair;
  std::optional<Matcher> matcher;
  const double loading = milliseconds([&] { pair = pairs.load("conesQuarterSize"); });
  const double planning = milliseconds([&] {
    matcher.emplace(parameters_of("bp grauer-gray-2019", 64), Device{DeviceKind::cuda},
                    ImageFormat{pair.left.size()});
  });
  Result result(pair.left.size());
  const double running = milliseconds([&] { matcher->run(pair.views(), result.map()); });
  std::printf("first match: loading %.1f ms, planning %.1f ms, running %.1f ms\n", loading, planning,
              running);
}

}  // namespace

int main(int count, char** arguments) {
  return run_program([&] {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.empty())
      throw Error(ErrorCategory::argument, "usage: benchmark_cuda PAIRS [TABLE|first] [TILE...]");
    const tool::PapersData pairs(words[0]);
    const std::string which = words.size() > 1 ? words[1] : "all";
    if (which == "first") return first_run(pairs);
    std::printf("large copy: %.2f TB/s\n", copy_bandwidth() / 1e12);
    if (which == "rectify" || which == "all") remap_table();
    std::vector<std::string> tiles{"13", "32"};
    if (words.size() > 2) tiles.assign(words.begin() + 2, words.end());
    const Printer table{pairs, which};
    print_tables(table, tiles);
    if (!table.has_printed && which != "rectify")
      throw Error(ErrorCategory::argument, "there is no table " + which);
  });
}
