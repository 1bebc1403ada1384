// SPDX-License-Identifier: Apache-2.0
// Measures the cuda device and prints Markdown tables. Needs a GPU, and the pairs written by gpu_pairs:
//
//   benchmark_cuda PAIRS                     all tables
//   benchmark_cuda PAIRS TABLE               one: bp, default, block, census, tiled, sgm, motion, in-flight,
//                                            rectify, opencl
//   benchmark_cuda PAIRS schedulers TILE…    schedulers and threads per pixel for tiles of these sizes
//   benchmark_cuda PAIRS first               the first match of this process
//
// Times are medians of 100 runs after ten warm-up runs. `device`: images in device memory, timed by events;
// `pinned` and `host`: images and map in pinned or ordinary host memory, timed by the host's clock.

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>

#include "parallax/parallax.h"

#include "benchmarks/common.h"
#include "benchmarks/papers/data.h"
#include "devices/cuda/context.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
using Pair = tool::PapersImages;

Size size_of(const Pair& pair) {
  return pair.left.size();
}

Pair synthetic(Size size, int labels) {
  SynthPair pair = synthesize({.size = size, .disparities = labels});
  Pair gray{Plane<std::uint8_t>(size), Plane<std::uint8_t>(size), std::move(pair.left_truth)};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      gray.left.at(x, y) = pair.left.at(3 * x, y);
      gray.right.at(x, y) = pair.right.at(3 * x, y);
    }
  return gray;
}

// A stream of the first GPU, whose context is current while this object exists.
class Gpu {
 public:
  const cuda::SharedContext& context() const { return context_; }
  cuda::StreamHandle stream() const { return stream_.get(); }

  // Milliseconds of the work that `enqueue` puts on the stream.
  template <class Enqueue>
  double milliseconds(const Enqueue& enqueue) const {
    cuda::check(cuda::driver().cuEventRecord(from_.get(), stream()), "cuEventRecord");
    enqueue();
    cuda::check(cuda::driver().cuEventRecord(to_.get(), stream()), "cuEventRecord");
    wait();
    float time = 0;
    cuda::check(cuda::driver().cuEventElapsedTime(&time, from_.get(), to_.get()), "cuEventElapsedTime");
    return static_cast<double>(time);
  }

  void wait() const { cuda::check(cuda::driver().cuStreamSynchronize(stream()), "cuStreamSynchronize"); }

 private:
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

// Images and maps in memory that the GPU can access.
struct Images {
  StereoPair pair;
  DisparityMap map;
};

class Bench {
 public:
  Bench(const MatcherParameters& parameters, const Pair& pair, const TunedValues& configuration = {},
        int pairs_in_flight = 1)
      : pair_(pair),
        matcher_(parameters, {DeviceKind::cuda}, {size_of(pair)}, {0, configuration, pairs_in_flight}),
        pairs_in_flight_(static_cast<std::size_t>(pairs_in_flight)),
        result_(size_of(pair)) {}

  double on_device() {
    const Gpu gpu;
    const cuda::DeviceMemory memory = cuda::allocate(gpu.context(), bytes_needed());
    const Images images = uploaded(memory);
    return timed(100, [&] {
      return gpu.milliseconds([&] { matcher_.enqueue(images.pair, images.map, gpu.stream()); });
    });
  }

  double from_pinned() {
    const cuda::PinnedMemory memory =
        cuda::allocate_pinned(std::make_shared<cuda::Context>(0), bytes_needed());
    return by_clock(filled(memory));
  }

  double from_host() { return by_clock({pair_.views(), result_.map()}); }

  // The number of pairs per second that this thread enqueues, on a stream for each pair in flight.
  double rate_on_device() {
    const std::vector<Gpu> gpus(pairs_in_flight_);
    std::vector<cuda::DeviceMemory> memory;
    std::vector<Images> images;
    for (const Gpu& gpu : gpus) {
      memory.push_back(cuda::allocate(gpu.context(), bytes_needed()));
      images.push_back(uploaded(memory.back()));
    }
    return rate([&](std::size_t i) { matcher_.enqueue(images[i].pair, images[i].map, gpus[i].stream()); },
                [&] {
                  for (const Gpu& gpu : gpus) gpu.wait();
                });
  }

  // The number of pairs per second that this thread starts, from and to pinned memory.
  double rate_from_pinned() {
    const auto context = std::make_shared<cuda::Context>(0);
    std::vector<cuda::PinnedMemory> memory;
    std::vector<Images> images;
    for (std::size_t i = 0; i < pairs_in_flight_; ++i) {
      memory.push_back(cuda::allocate_pinned(context, bytes_needed()));
      images.push_back(filled(memory.back()));
    }
    return rate([&](std::size_t i) { matcher_.start(images[i].pair, images[i].map); },
                [&] { matcher_.wait(); });
  }

  // Call it after from_host().
  ErrorMetrics error() const { return evaluate(result_.disparity.view(), pair_.truth.view()); }
  double megabytes() const { return static_cast<double>(matcher_.memory_bytes()) / 1e6; }

 private:
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::size_t plane_bytes() const { return aligned(size_of(pair_).pixels()); }
  std::size_t bytes_needed() const { return 8 * plane_bytes(); }

  Images place(std::byte* memory) const {
    const Size size = size_of(pair_);
    const auto at = [&](std::size_t i) { return memory + i * plane_bytes(); };
    const auto image = [&](std::size_t i) {
      return View<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(at(i)), size);
    };
    return {{image(0), image(1)},
            {{reinterpret_cast<float*>(at(2)), size}, {reinterpret_cast<std::uint8_t*>(at(6)), size}}};
  }

  // Both images without gaps between rows, each at its place.
  void copy_to(std::byte* memory) const {
    for (const Plane<std::uint8_t>* image : {&pair_.left, &pair_.right}) {
      for (int y = 0; y < image->height(); ++y)
        std::copy_n(image->row(y), image->width(),
                    reinterpret_cast<std::uint8_t*>(memory) + std::ptrdiff_t{y} * image->width());
      memory += plane_bytes();
    }
  }

  Images filled(const cuda::PinnedMemory& memory) const {
    auto* bytes = static_cast<std::byte*>(memory.get());
    copy_to(bytes);
    return place(bytes);
  }

  Images uploaded(const cuda::DeviceMemory& memory) const {
    std::vector<std::byte> packed(2 * plane_bytes());
    copy_to(packed.data());
    cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(memory.get(), packed.data(), packed.size(), nullptr),
                "cuMemcpyHtoD");
    cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    return place(reinterpret_cast<std::byte*>(memory.get()));
  }

  // The median of five runs after a warm-up run. `begin` takes the number of the place for the pair.
  template <class Begin, class Wait>
  double rate(const Begin& begin, const Wait& wait) const {
    constexpr std::size_t pairs = 400;
    std::vector<double> rates;
    for (int i = 0; i < 6; ++i) {
      const double time = milliseconds([&] {
        for (std::size_t pair = 0; pair < pairs; ++pair) begin(pair % pairs_in_flight_);
        wait();
      });
      if (i > 0) rates.push_back(1e3 * pairs / time);
    }
    return median(rates);
  }

  double by_clock(const Images& images) {
    return timed(100, [&] { return milliseconds([&] { matcher_.run(images.pair, images.map); }); });
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
  return 2e3 * bytes / timed(20, [&] {
           return gpu.milliseconds([&] {
             cuda::check(cuda::driver().cuMemcpy2DAsync_v2(&copy, gpu.stream()), "cuMemcpy2DAsync");
           });
         });
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

void print_header(const char* title) {
  std::printf(
      "\n%s\n\n| pair | how | size | labels | device ms | pinned ms | host ms | bad1 %% | bad2 %% | "
      "mismatches | MB | floor ms | GB/s | Gupdates/s "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      title);
}

// Prints a row for the parameters in `how`; see parameters_of(). 0 labels = as the preset has.
void measure(const std::string& what, const std::string& how, const Pair& pair, int labels,
             const TunedValues& configuration = {}) {
  static const double bandwidth = copy_bandwidth();
  const MatcherParameters parameters = parameters_of(how, labels);
  const Size size = size_of(pair);
  std::printf("| %s | %s", what.c_str(), how.c_str());
  for (const auto& [name, value] : configuration) std::printf(", %s %s", name.c_str(), value.c_str());
  std::printf(" | %d×%d | %d | ", size.width, size.height, parameters.disparities());
  try {
    Bench bench(parameters, pair, configuration);
    const Work work = work_of(parameters, size);
    const double device = bench.on_device(), pinned = bench.from_pinned(), host = bench.from_host();
    const ErrorMetrics error = bench.error();
    std::printf("%.4f | %.4f | %.4f | %.2f | %.2f | %zu | %.1f | %.4f | %.0f | %.0f |\n", device, pinned,
                host, 100 * error.bad1, 100 * error.bad2, error.mismatches, bench.megabytes(),
                work.bytes / bandwidth * 1e3, work.bytes / device / 1e6, work.updates / device / 1e6);
  } catch (const Error& error) {
    std::printf("%s |\n", error.what());
  }
  std::fflush(stdout);
}

constexpr std::pair<const char*, int> pairs_of_papers[] = {
    {"tsukubaSet", 16},       {"venus", 21},          {"barn1", 32},
    {"conesQuarterSize", 64}, {"conesHalfSize", 128}, {"conesFullSizeCropped", 256}};

void belief_propagation_table(const tool::PapersData& pairs) {
  print_header("Hierarchical belief propagation, preset grauer-gray-2019");
  const std::string published = "bp grauer-gray-2019 arithmetic=";
  for (const char* arithmetic : {"fixed8", "fixed16", "float32", "float16", "bfloat16"})
    for (const auto& [name, labels] : pairs_of_papers)
      measure(name, published + arithmetic, pairs.load(name), labels);
  measure("synthetic", published + "fixed8", synthetic({1920, 1080}, 128), 128);
}

// The columns from "floor" on count the work on all labels.
void default_table(const tool::PapersData& pairs) {
  print_header("Hierarchical belief propagation, preset default");
  const auto rows = [](const char* what, const Pair& pair, int labels) {
    measure(what, "bp default", pair, labels);
    measure(what, "bp default", pair, labels, {{"both_matches_at_once", "0"}});
    measure(what, "bp default fill=row", pair, labels);
    measure(what, "bp default candidate_levels=0", pair, labels);
  };
  rows("synthetic", synthetic({640, 480}, 64), 64);
  rows("conesHalfSize", pairs.load("conesHalfSize"), 128);
  rows("synthetic", synthetic({1920, 1080}, 128), 128);
}

void block_table(const tool::PapersData& pairs) {
  print_header("Block matching");
  const std::string plain = "block default unrefined sub_pixel=none window=9";
  for (const auto& [name, labels] : pairs_of_papers) measure(name, plain, pairs.load(name), labels);
  const Pair half = pairs.load("conesHalfSize"), large = synthetic({1920, 1080}, 128);
  for (const std::string cost : {"sad", "ssd", "zncc"})
    for (const std::string window : {"5", "9", "15"})
      measure("conesHalfSize", "block default unrefined sub_pixel=none cost=" + cost + " window=" + window,
              half, 128);
  measure("conesHalfSize", "block default", half, 128);
  measure("synthetic", plain, large, 128);
  measure("synthetic", "block default", large, 128);
}

constexpr const char* census_rows[] = {"census mobile-gpu-2015 pyramid_levels=1", "census mobile-gpu-2015",
                                       "census fast", "census balanced", "census accurate"};

void census_table(const tool::PapersData& pairs) {
  print_header("Census matching");
  const auto rows = [](const std::string& what, const Pair& pair, int labels) {
    for (const char* row : census_rows) measure(what, row, pair, labels);
  };
  rows("piano", pairs.load("piano"), 60);
  rows("synthetic", synthetic({1920, 1080}, 128), 128);
}

// Mismatches, because the contest counts wrong labels; and the preset default.
void tiled_table(const tool::PapersData& pairs) {
  print_header("Tiled belief propagation");
  const Pair contest = pairs.load("contest");
  for (const char* changes :
       {" tile=0 inner=20", "", " tile=32", " tile=10 inner=2", " tile=7 inner=2", " tile=5 inner=2"})
    measure("contest", std::string("tiled-bp memocode-2013") + changes, contest, 0);
  measure("contest", "tiled-bp memocode-2013-tuned", contest, 0);
  const Pair half = pairs.load("conesHalfSize"), large = synthetic({1920, 1080}, 128);
  for (const std::string tile : {"16", "32", "64", "0"}) {
    for (const int labels : {16, 32, 64, 128, 256})
      measure("conesHalfSize", "tiled-bp default tile=" + tile, half, labels);
    measure("synthetic", "tiled-bp default tile=" + tile, large, 128);
  }
}

void schedulers_table(const tool::PapersData& pairs, const std::vector<std::string>& tiles) {
  print_header("Schedulers, places of messages, threads per pixel");
  const Pair contest = pairs.load("contest");
  for (const std::string& tile : tiles)
    for (const char* scheduler : {"launch-per-diagonal", "grid-barrier", "tile-flags"})
      for (const char* messages : {"registers", "shared-memory", "global-memory"})
        for (const char* threads : {"1", "2", "4"})
          measure("contest", "tiled-bp memocode-2013 tile=" + tile, contest, 0,
                  {{"scheduler", scheduler}, {"messages", messages}, {"threads_per_pixel", threads}});
}

void semi_global_table(const tool::PapersData& pairs) {
  print_header("Semi-global matching");
  const auto rows = [](const char* what, const Pair& pair, int labels) {
    for (const char* how : {"sgm libsgm paths=4", "sgm libsgm paths=8", "sgm fast", "sgm default", "sgm mgm"})
      measure(what, how, pair, labels);
  };
  rows("conesQuarterSize", pairs.load("conesQuarterSize"), 64);
  rows("synthetic", synthetic({640, 480}, 64), 64);
  rows("conesHalfSize", pairs.load("conesHalfSize"), 128);
  rows("synthetic", synthetic({1920, 1080}, 128), 128);
}

// The differences between rows are the times of stages.
void motion_table() {
  print_header("Motion");
  const Pair pair = synthetic({640, 480}, 15);
  for (const std::string name : {"motion default", "motion all-labels"}) {
    measure("synthetic", name, pair, 0);
    measure("synthetic", name, pair, 0, {{"both_matches_at_once", "0"}});
    for (const char* changes :
         {" left_right_check=true", "", " finest_iterations=1", " iterations=1 finest_iterations=1"})
      measure("synthetic", name + " unrefined" + changes, pair, 0);
  }
}

// Measures one thread of the caller.
void in_flight_table() {
  std::printf(
      "\nPairs a second by pairs in flight: in GPU memory / from and to pinned memory\n\n"
      "| | size | labels | 1 | 2 | 4 | 8 |\n|---|---|---|---|---|---|---|\n");
  for (const auto& [size, labels] : {std::pair{Size{640, 480}, 64}, {Size{1280, 720}, 128}}) {
    const Pair pair = synthetic(size, labels);
    for (const auto& [how, at_once] : {std::pair{"census fast", ""},
                                       {"census default", ""},
                                       {"block default", ""},
                                       {"bp default", ""},
                                       {"bp default", "0"}}) {
      TunedValues configuration;
      if (*at_once) configuration["both_matches_at_once"] = at_once;
      std::printf("| %s%s | %d×%d | %d |", how, *at_once ? ", one match after the other" : "", size.width,
                  size.height, labels);
      for (const int count : {1, 2, 4, 8}) {
        Bench bench(parameters_of(how, labels), pair, configuration, count);
        std::printf(" %.0f / %.0f |", bench.rate_on_device(), bench.rate_from_pinned());
        std::fflush(stdout);
      }
      std::printf("\n");
    }
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
    memory_ = cuda::allocate(gpu_.context(), most_pairs * (4 * image + 2 * pixels));
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
  double in_a_row() { return milliseconds_of(10 * most_pairs); }
  double moved_bytes() const { return static_cast<double>(moved_bytes_); }
  double megabytes() const { return static_cast<double>(rectifier_.memory_bytes()) / 1e6; }

 private:
  static constexpr std::size_t most_pairs = 16;
  struct CameraPair {
    ImageView cameras[2];
    RectifiedPair rectified;
  };

  double milliseconds_of(std::size_t count) {
    return timed(50, [&] {
      return gpu_.milliseconds([&] {
        for (std::size_t pair = 0; pair < count; ++pair) {
          const CameraPair& images = pairs_[pair % most_pairs];
          rectifier_.enqueue(images.cameras[0], images.cameras[1], images.rectified, gpu_.stream());
        }
      }) / static_cast<double>(count);
    });
  }

  Gpu gpu_;
  Rectifier rectifier_;
  cuda::DeviceMemory memory_;
  std::size_t moved_bytes_ = 0;
  CameraPair pairs_[most_pairs];
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

std::vector<Device> opencl_devices() {
  std::vector<Device> devices;
  for (const DeviceDescription& found : list_devices())
    if (found.device.starts_with("opencl")) devices.push_back(Device::parse(found.device));
  return devices;
}

void rectified_match_row(const char* how, const Device& device, const Pair& raw, int labels) {
  const Size size = size_of(raw);
  std::printf("| %s | %d×%d | %d | %s | ", how, size.width, size.height, labels, device.text().c_str());
  try {
    const RectifiedTimes times = time_rectified(parameters_of(how, labels), device, raw.views(), 50);
    std::printf("%.3f | %.3f | %.3f | %.0f | %.0f |\n", times.raw, times.rectified,
                times.raw / times.rectified, times.raw_megabytes, times.rectified_megabytes);
  } catch (const Error& error) {
    std::printf("%s |\n", error.what());
  }
  std::fflush(stdout);
}

void rectification_table() {
  remap_table();
  std::printf(
      "\nMatches of raw and of rectified images, host to host\n\n| method | size | labels | device | raw ms "
      "| rectified ms | ratio | raw MB | rectified MB |\n|---|---|--:|---|--:|--:|--:|--:|--:|\n");
  for (const auto& [size, labels] : {std::pair{Size{640, 480}, 64}, {Size{1920, 1080}, 128}}) {
    const Pair raw = synthetic(size, labels);
    for (const char* how : {"census fast", "block default", "sgm default", "bp default"}) {
      rectified_match_row(how, {DeviceKind::cuda}, raw, labels);
      for (const Device& device : opencl_devices()) rectified_match_row(how, device, raw, labels);
    }
  }
}

double host_to_host(const MatcherParameters& parameters, const Device& device, const Pair& pair) {
  Matcher matcher(parameters, device, {size_of(pair)});
  Result result(size_of(pair));
  return timed(100, [&] { return milliseconds([&] { matcher.run(pair.views(), result.map()); }); });
}

// Runs the same matches on every OpenCL device.
void opencl_table(const tool::PapersData& pairs) {
  std::printf(
      "\nThrough OpenCL, host to host\n\n| pair | how | device | ms | cuda ms | ratio "
      "|\n|---|---|---|---|---|---|\n");
  std::vector<std::string> list(std::begin(census_rows), std::end(census_rows));
  list.insert(list.end(), {"block default", "bp default", "bp default candidate_levels=0",
                           "bp default candidate_levels=0 arithmetic=fixed16", "sgm libsgm paths=4",
                           "sgm libsgm paths=8", "sgm default"});
  const auto rows = [&](const char* what, const Pair& pair, int labels) {
    for (const std::string& how : list) {
      const MatcherParameters parameters = parameters_of(how, labels);
      const double cuda = host_to_host(parameters, {DeviceKind::cuda}, pair);
      for (const Device& device : opencl_devices()) {
        const double opencl = host_to_host(parameters, device, pair);
        std::printf("| %s | %s | %s | %.4f | %.4f | %.2f |\n", what, how.c_str(), device.text().c_str(),
                    opencl, cuda, opencl / cuda);
        std::fflush(stdout);
      }
    }
  };
  rows("piano", pairs.load("piano"), 60);
  rows("synthetic 1920×1080", synthetic({1920, 1080}, 128), 128);
}

void first_run(const tool::PapersData& pairs) {
  Pair pair;
  const double loading = milliseconds([&] { pair = pairs.load("conesQuarterSize"); });
  std::unique_ptr<Matcher> matcher;
  const double planning = milliseconds([&] {
    matcher = std::make_unique<Matcher>(parameters_of("bp grauer-gray-2019", 64), Device{DeviceKind::cuda},
                                        ImageFormat{size_of(pair)});
  });
  Result result(size_of(pair));
  const double running = milliseconds([&] { matcher->run(pair.views(), result.map()); });
  std::printf("first match: loading %.1f ms, planning %.1f ms, running %.1f ms\n", loading, planning,
              running);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const std::string which = words.size() > 1 ? words[1] : "all";
  const tool::PapersData pairs(words.empty() ? "" : words[0]);
  using Table = std::pair<const char*, std::function<void()>>;
  const Table tables[] = {{"bp", [&] { belief_propagation_table(pairs); }},
                          {"default", [&] { default_table(pairs); }},
                          {"block", [&] { block_table(pairs); }},
                          {"census", [&] { census_table(pairs); }},
                          {"tiled", [&] { tiled_table(pairs); }},
                          {"sgm", [&] { semi_global_table(pairs); }},
                          {"motion", motion_table},
                          {"in-flight", in_flight_table},
                          {"rectify", rectification_table},
                          {"schedulers",
                           [&] {
                             schedulers_table(pairs, words.size() > 2
                                                         ? std::vector(words.begin() + 2, words.end())
                                                         : std::vector<std::string>{"13", "32"});
                           }},
                          {"opencl", [&] { opencl_table(pairs); }}};
  bool is_known = which == "first" || which == "all";
  for (const Table& table : tables) is_known |= which == table.first;
  if (words.empty() || !is_known) {
    std::cerr << "usage: benchmark_cuda PAIRS [first";
    for (const Table& table : tables) std::cerr << "|" << table.first;
    std::cerr << "] [TILE...]\n";
    return 2;
  }
  try {
    if (which == "first") {
      first_run(pairs);
      return 0;
    }
    std::printf("large copy: %.2f TB/s\n", copy_bandwidth() / 1e12);
    for (const auto& [name, print] : tables)
      if (which == name || which == "all") print();
  } catch (const std::exception& error) {
    std::cerr << "benchmark_cuda: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
