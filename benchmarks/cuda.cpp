// SPDX-License-Identifier: Apache-2.0
// Measures the cuda device and prints Markdown tables. Needs a GPU, and the pairs written by gpu_pairs:
//
//   benchmark_cuda PAIRS                        all tables
//   benchmark_cuda PAIRS TABLE                  one: bp, default, dealing, block, census, tiled, sgm, motion,
//                                               in-flight, rectify, opencl
//   benchmark_cuda PAIRS schedulers [TILE…]     schedulers and threads per pixel for tiles of these sizes
//   benchmark_cuda PAIRS first                  the first match of this process
//   benchmark_cuda PAIRS run PAIR ARITHMETIC    a single match, for a profiler
//
// Times are medians of 100 runs after ten warm-up runs. `device`: images in device memory, timed by events;
// `pinned` and `host`: images and map in pinned or ordinary host memory, timed by the host's clock.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "parallax/parallax.h"

#include "benchmarks/webcams.h"
#include "devices/cuda/context.h"
#include "matchers/motion/motion.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

struct Set {
  const char *name, *folder;
  int labels;
};
constexpr Set sets[] = {{"tsukuba", "tsukubaSet", 16},
                        {"venus", "venus", 21},
                        {"barn1", "barn1", 32},
                        {"cones-q", "conesQuarterSize", 64},
                        {"cones-h", "conesHalfSize", 128},
                        {"cones-f", "conesFullSizeCropped", 256}};

Plane<std::uint8_t> bytes(const Plane<float>& plane) {
  Plane<std::uint8_t> result(plane.size());
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) result.at(x, y) = static_cast<std::uint8_t>(plane.at(x, y));
  return result;
}

struct Pair {
  Plane<std::uint8_t> left, right;
  Plane<float> truth;
  Size size() const { return left.size(); }
};

Pair load(const fs::path& folder) {
  const auto read = [&](const char* file) { return read_pfm((folder / file).string()); };
  return {bytes(read("left.pfm")), bytes(read("right.pfm")), read("truth.pfm")};
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

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Images and maps in memory that the GPU can access.
struct Images {
  StereoPair pair;
  DisparityMap map;
};

template <class Run>
double timed(const Run& run) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) run();
  for (int i = 0; i < 100; ++i) times.push_back(run());
  return median(times);
}

class Bench {
 public:
  Bench(const MatcherParameters& parameters, const Pair& pair, const TunedValues& configuration = {},
        int pairs_in_flight = 1)
      : context_(std::make_shared<cuda::Context>(0)),
        pair_(pair),
        matcher_(parameters, {DeviceKind::cuda}, {pair.size()}, {0, configuration, pairs_in_flight}),
        pairs_in_flight_(static_cast<std::size_t>(pairs_in_flight)),
        result_(pair.size()) {}

  Matcher& matcher() { return matcher_; }

  double on_device() {
    const cuda::Current current(*context_);
    const cuda::DeviceMemory memory = cuda::allocate(context_, bytes_needed());
    const Images images = place(reinterpret_cast<std::byte*>(memory.get()));
    upload(images);
    const cuda::Stream stream = cuda::make_stream(context_);
    const cuda::Event from = cuda::make_event(context_), to = cuda::make_event(context_);
    return timed([&] {
      cuda::check(cuda::driver().cuEventRecord(from.get(), stream.get()), "cuEventRecord");
      matcher_.enqueue(images.pair, images.map, stream.get());
      cuda::check(cuda::driver().cuEventRecord(to.get(), stream.get()), "cuEventRecord");
      cuda::check(cuda::driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
      float milliseconds = 0;
      cuda::check(cuda::driver().cuEventElapsedTime(&milliseconds, from.get(), to.get()),
                  "cuEventElapsedTime");
      return static_cast<double>(milliseconds);
    });
  }

  double from_pinned() {
    const cuda::PinnedMemory memory = cuda::allocate_pinned(context_, bytes_needed());
    const Images images = place(static_cast<std::byte*>(memory.get()));
    fill(images);
    return by_clock(images.pair, images.map);
  }

  double from_host() { return by_clock({pair_.left.view(), pair_.right.view()}, result_.map()); }

  // The number of pairs per second that this thread enqueues, on a stream for each pair in flight.
  double rate_on_device() {
    const cuda::Current current(*context_);
    std::vector<cuda::DeviceMemory> memory;
    std::vector<cuda::Stream> streams;
    std::vector<Images> images;
    for (std::size_t i = 0; i < pairs_in_flight_; ++i) {
      memory.push_back(cuda::allocate(context_, bytes_needed()));
      streams.push_back(cuda::make_stream(context_));
      images.push_back(place(reinterpret_cast<std::byte*>(memory.back().get())));
      upload(images.back());
    }
    return rate(
        [&](std::size_t i) {
          const std::size_t slot = i % pairs_in_flight_;
          matcher_.enqueue(images[slot].pair, images[slot].map, streams[slot].get());
        },
        [&] {
          for (const cuda::Stream& stream : streams)
            cuda::check(cuda::driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
        });
  }

  // The number of pairs per second that this thread starts, from and to pinned memory.
  double rate_from_pinned() {
    std::vector<cuda::PinnedMemory> memory;
    std::vector<Images> images;
    for (std::size_t i = 0; i < pairs_in_flight_; ++i) {
      memory.push_back(cuda::allocate_pinned(context_, bytes_needed()));
      images.push_back(place(static_cast<std::byte*>(memory.back().get())));
      fill(images.back());
    }
    return rate(
        [&](std::size_t i) {
          const Images& own = images[i % pairs_in_flight_];
          matcher_.start(own.pair, own.map);
        },
        [&] { matcher_.wait(); });
  }

  void from_host_once() { matcher_.run({pair_.left.view(), pair_.right.view()}, result_.map()); }

  // Call it after from_host() or from_host_once().
  ErrorMetrics error() const { return evaluate(result_.disparity.view(), pair_.truth.view()); }

 private:
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::size_t bytes_needed() const { return 8 * aligned(pair_.size().pixels()); }

  Images place(std::byte* memory) const {
    const Size size = pair_.size();
    const std::size_t plane = aligned(size.pixels());
    const auto at = [&](int i) { return memory + static_cast<std::size_t>(i) * plane; };
    const auto image = [&](int i) {
      return View<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(at(i)), size);
    };
    return {{image(0), image(1)},
            {{reinterpret_cast<float*>(at(2)), size}, {reinterpret_cast<std::uint8_t*>(at(6)), size}}};
  }

  void copy(const Plane<std::uint8_t>& from, std::uint8_t* to) const {
    for (int y = 0; y < from.height(); ++y)
      std::copy_n(from.row(y), from.width(), to + static_cast<std::ptrdiff_t>(y) * from.width());
  }

  void fill(const Images& images) const {
    copy(pair_.left, static_cast<std::uint8_t*>(const_cast<void*>(images.pair.left.data)));
    copy(pair_.right, static_cast<std::uint8_t*>(const_cast<void*>(images.pair.right.data)));
  }

  void upload(const Images& images) const {
    std::vector<std::uint8_t> packed(pair_.size().pixels());
    for (const auto& [from, to] :
         {std::pair{&pair_.left, images.pair.left.data}, {&pair_.right, images.pair.right.data}}) {
      copy(*from, packed.data());
      cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::DeviceAddress>(to),
                                                      packed.data(), packed.size(), nullptr),
                  "cuMemcpyHtoD");
      cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    }
  }

  // The median of five runs after a warm-up run. `begin` takes the number of the pair.
  template <class Begin, class Wait>
  static double rate(const Begin& begin, const Wait& wait) {
    constexpr std::size_t pairs = 400;
    std::vector<double> rates;
    for (int i = 0; i < 6; ++i) {
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t pair = 0; pair < pairs; ++pair) begin(pair);
      wait();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      if (i > 0) rates.push_back(pairs / seconds.count());
    }
    return median(rates);
  }

  double by_clock(const StereoPair& pair, const DisparityMap& map) {
    return timed([&] {
      const auto start = std::chrono::steady_clock::now();
      matcher_.run(pair, map);
      return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    });
  }

  cuda::SharedContext context_;
  const Pair& pair_;
  Matcher matcher_;
  std::size_t pairs_in_flight_;
  Result result_;
};

// Bytes per second of a copy much larger than the caches, counting reads and writes.
double copy_bandwidth() {
  const auto context = std::make_shared<cuda::Context>(0);
  const cuda::Current current(*context);
  constexpr std::size_t bytes = std::size_t{1} << 30;
  const cuda::DeviceMemory from = cuda::allocate(context, bytes), to = cuda::allocate(context, bytes);
  const cuda::Event started = cuda::make_event(context), done = cuda::make_event(context);
  cuda::Copy2D copy{};
  copy.source_type = copy.target_type = cuda::device_memory_type;
  copy.source_device = from.get();
  copy.target_device = to.get();
  copy.source_pitch = copy.target_pitch = copy.width_bytes = bytes;
  copy.height = 1;
  std::vector<double> rates;
  for (int i = 0; i < 20; ++i) {
    cuda::check(cuda::driver().cuEventRecord(started.get(), nullptr), "cuEventRecord");
    cuda::check(cuda::driver().cuMemcpy2DAsync_v2(&copy, nullptr), "cuMemcpy2DAsync");
    cuda::check(cuda::driver().cuEventRecord(done.get(), nullptr), "cuEventRecord");
    cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    float milliseconds = 0;
    cuda::check(cuda::driver().cuEventElapsedTime(&milliseconds, started.get(), done.get()),
                "cuEventElapsedTime");
    rates.push_back(2.0 * bytes / milliseconds * 1e3);
  }
  return median(rates);
}

// The minimum work of a match with the straightforward schedule.
struct Work {
  double updates;  // updates of a label of a pixel
  double bytes;    // bytes read and written
};

void print_header(const char* title) {
  std::printf(
      "\n%s\n\n| pair | how | size | labels | device ms | pinned ms | host ms | bad1 %% | bad2 %% | MB | "
      "floor ms | GB/s | Gupdates/s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      title);
}

void print_row(const std::string& what, const std::string& how, Size size, int labels, const Work& work,
               Bench& bench) {
  static const double bandwidth = copy_bandwidth();
  const double device = bench.on_device(), pinned = bench.from_pinned(), host = bench.from_host();
  const ErrorMetrics error = bench.error();
  std::printf("| %s | %s | %d×%d | %d | %.4f | %.4f | %.4f | %.2f | %.2f | %.0f | %.4f | %.0f | %.0f |\n",
              what.c_str(), how.c_str(), size.width, size.height, labels, device, pinned, host,
              100 * error.bad1, 100 * error.bad2, static_cast<double>(bench.matcher().memory_bytes()) / 1e6,
              work.bytes / bandwidth * 1e3, work.bytes / device / 1e6, work.updates / device / 1e6);
  std::fflush(stdout);
}

BeliefPropagationParameters published(int labels, Arithmetic arithmetic) {
  BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>("grauer-gray-2019");
  parameters.disparities = labels;
  parameters.arithmetic = arithmetic;
  return parameters;
}

constexpr std::pair<const char*, Arithmetic> arithmetics[] = {{"fixed8", Arithmetic::fixed8},
                                                              {"fixed16", Arithmetic::fixed16},
                                                              {"float32", Arithmetic::float32},
                                                              {"float16", Arithmetic::float16},
                                                              {"bfloat16", Arithmetic::bfloat16}};

// An update reads a data cost and four messages, and writes four messages. Each iteration updates every label
// of half of a level's pixels.
Work work_of(const BeliefPropagationParameters& parameters, Size size) {
  const bool byte = parameters.arithmetic == Arithmetic::fixed8,
             wide = parameters.arithmetic == Arithmetic::float32;
  double updates = 0;
  for (int level = 0; level < parameters.levels; ++level) {
    updates += 0.5 * static_cast<double>(size.pixels()) * parameters.disparities * parameters.iterations;
    size = {(size.width + 1) / 2, (size.height + 1) / 2};
  }
  return {updates, 9 * updates * (byte ? 1 : wide ? 4 : 2)};
}

// Counts reading both images and writing the map.
Work work_of(const BlockParameters& parameters, Size size) {
  const int labels = parameters.full_row ? 2 * size.width - 1 : parameters.disparities;
  return {static_cast<double>(size.pixels()) * labels, static_cast<double>(size.pixels()) * (2 + 5)};
}

// Counts the same bytes, and every label of every pixel, even labels that coarser levels exclude.
Work work_of(const CensusParameters& parameters, Size size) {
  return {static_cast<double>(size.pixels()) * parameters.disparities,
          static_cast<double>(size.pixels()) * (2 + 5)};
}

// Counts writing each path's costs, and reading them and the data costs once, as bytes.
Work work_of(const SemiGlobalParameters& parameters, Size size) {
  const double updates = static_cast<double>(size.pixels()) * parameters.disparities * parameters.paths;
  return {updates, 2 * updates};
}

// Like belief propagation, over all labels or windows of them; twice with the check.
Work work_of(const MotionParameters& parameters, Size size) {
  const motion::Model model = motion::make_model(parameters);
  const std::vector<motion::Scale> scales = motion::scales(parameters, size);
  double updates = 0;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const motion::Scale& scale = scales[i];
    const std::vector<Size> levels = scale.considers_all()
                                         ? motion::level_sizes(scale.size, parameters.levels)
                                         : std::vector<Size>{scale.size};
    for (std::size_t k = 0; k < levels.size(); ++k)
      updates += 0.5 * static_cast<double>(levels[k].pixels()) * scale.window.width * scale.window.height *
                 model.iterations(i, k);
  }
  if (parameters.refine.left_right_check) updates *= 2;
  return {updates, 9 * updates *
                       (parameters.arithmetic == Arithmetic::fixed8    ? 1
                        : parameters.arithmetic == Arithmetic::fixed16 ? 2
                                                                       : 4)};
}

template <class Parameters>
void measure(const std::string& what, const std::string& how, const Pair& pair, const Parameters& parameters,
             int labels, const TunedValues& configuration = {}) {
  Bench bench(parameters, pair, configuration);
  print_row(what, how, pair.size(), labels, work_of(parameters, pair.size()), bench);
}

template <class Parameters>
Parameters with_labels(Parameters parameters, int labels) {
  parameters.disparities = labels;
  return parameters;
}

void belief_propagation_table(const fs::path& pairs) {
  print_header("Hierarchical belief propagation, preset grauer-gray-2019");
  for (const auto& [name, arithmetic] : arithmetics) {
    for (const Set& set : sets) {
      const Pair pair = load(pairs / set.folder);
      measure(set.name, name, pair, published(set.labels, arithmetic), set.labels);
    }
  }
  measure("synthetic", "fixed8", synthetic({1920, 1080}, 128), published(128, Arithmetic::fixed8), 128);
}

// The columns from "floor" on count the work on all labels.
void default_table(const fs::path& pairs) {
  print_header("Hierarchical belief propagation, preset default");
  const Pair small = synthetic({640, 480}, 64), half = load(pairs / "conesHalfSize"),
             large = synthetic({1920, 1080}, 128);
  BeliefPropagationParameters by_default, row, all_labels;
  row.refine.fill = Fill::row;
  all_labels.candidate_levels = 0;
  const TunedValues one_after_the_other{{"both_matches_at_once", "0"}};
  for (const auto& [what, pair, labels] :
       {std::tuple{"synthetic", &small, 64}, {"cones-h", &half, 128}, {"synthetic", &large, 128}}) {
    measure(what, "default", *pair, with_labels(by_default, labels), labels);
    measure(what, "one match after the other", *pair, with_labels(by_default, labels), labels,
            one_after_the_other);
    measure(what, "fill row", *pair, with_labels(row, labels), labels);
    measure(what, "all labels", *pair, with_labels(all_labels, labels), labels);
  }
}

BlockParameters plain_block(int labels, int window) {
  BlockParameters parameters;
  parameters.disparities = labels;
  parameters.window = window;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

void block_table(const fs::path& pairs) {
  print_header("Block matching");
  const auto row = [&](const std::string& what, const std::string& how, const Pair& pair,
                       const BlockParameters& parameters, const TunedValues& configuration = {}) {
    measure(what, how, pair, parameters,
            parameters.full_row ? 2 * pair.size().width - 1 : parameters.disparities, configuration);
  };
  for (const Set& set : sets) {
    const Pair pair = load(pairs / set.folder);
    row(set.name, "SAD, window 9", pair, plain_block(set.labels, 9));
  }
  const Pair half = load(pairs / "conesHalfSize");
  for (const auto& [name, cost] :
       {std::pair{"SAD", BlockCost::sad}, {"SSD", BlockCost::ssd}, {"ZNCC", BlockCost::zncc}})
    for (const int window : {5, 9, 15}) {
      if (cost == BlockCost::sad && window == 9) continue;
      BlockParameters parameters = plain_block(128, window);
      parameters.cost = cost;
      row("cones-h", std::string(name) + ", window " + std::to_string(window), half, parameters);
    }
  BlockParameters everything;
  everything.disparities = 128;
  row("cones-h", "default preset", half, everything);
  const Pair large = synthetic({1920, 1080}, 128);
  row("synthetic", "SAD, window 9", large, plain_block(128, 9));
  row("synthetic", "default preset", large, everything);
}

struct CensusRow {
  std::string name;
  CensusParameters parameters;
};

std::vector<CensusRow> census_rows() {
  CensusParameters full_resolution = preset<CensusParameters>("mobile-gpu-2015");
  full_resolution.pyramid_levels = 1;
  std::vector<CensusRow> rows{{"mobile-gpu-2015, one level", full_resolution}};
  for (const char* name : {"mobile-gpu-2015", "fast", "balanced", "accurate"})
    rows.push_back({name, preset<CensusParameters>(name)});
  return rows;
}

void census_table(const fs::path& pairs) {
  print_header("Census matching");
  const auto rows = [](const std::string& what, const Pair& pair, int labels) {
    for (const CensusRow& row : census_rows())
      measure(what, row.name, pair, with_labels(row.parameters, labels), labels);
  };
  rows("piano", load(pairs / "piano"), 60);
  for (const auto& [size, labels] :
       {std::pair{Size{320, 240}, 60}, {Size{640, 480}, 60}, {Size{1920, 1080}, 128}})
    rows("synthetic", synthetic(size, labels), labels);
}

double host_to_host(const MatcherParameters& parameters, const Device& device, const Pair& pair) {
  Matcher matcher(parameters, device, {pair.size()});
  Result result(pair.size());
  std::vector<double> times;
  for (int i = 0; i < 110; ++i) {
    const auto start = std::chrono::steady_clock::now();
    matcher.run({pair.left.view(), pair.right.view()}, result.map());
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (i >= 10) times.push_back(time.count());
  }
  return median(times);
}

// Measures one thread of the caller.
void in_flight_table() {
  constexpr int counts[] = {1, 2, 4, 8};
  std::printf(
      "\nPairs a second by pairs in flight: in GPU memory / from and to pinned memory\n\n| | size | labels "
      "|");
  for (const int count : counts) std::printf(" %d |", count);
  std::printf("\n|---|---|---|---|---|---|---|\n");
  const auto row = [&](const char* what, const MatcherParameters& parameters, const Pair& pair, int labels,
                       const TunedValues& configuration = {}) {
    std::printf("| %s | %d×%d | %d |", what, pair.size().width, pair.size().height, labels);
    for (const int count : counts) {
      Bench bench(parameters, pair, configuration, count);
      std::printf(" %.0f / %.0f |", bench.rate_on_device(), bench.rate_from_pinned());
    }
    std::printf("\n");
    std::fflush(stdout);
  };
  for (const auto& [size, labels] : {std::pair{Size{640, 480}, 64}, {Size{1280, 720}, 128}}) {
    const Pair pair = synthetic(size, labels);
    row("census fast", with_labels(preset<CensusParameters>("fast"), labels), pair, labels);
    row("census", with_labels(preset<CensusParameters>("default"), labels), pair, labels);
    row("block", with_labels(preset<BlockParameters>("default"), labels), pair, labels);
    const BeliefPropagationParameters bp =
        with_labels(preset<BeliefPropagationParameters>("default"), labels);
    row("bp", bp, pair, labels);
    row("bp, one match after the other", bp, pair, labels, {{"both_matches_at_once", "0"}});
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
      : context_(std::make_shared<cuda::Context>(0)),
        current_(*context_),
        rectifier_(benchmarks::webcams(which.size), {.interpolation = which.interpolation},
                   {DeviceKind::cuda}, which.depth),
        stream_(cuda::make_stream(context_)),
        from_(cuda::make_event(context_)),
        to_(cuda::make_event(context_)) {
    const std::size_t pixels = which.size.pixels(),
                      image = pixels * static_cast<std::size_t>(which.channels) *
                              (which.depth == BitDepth::bits8 ? 1 : 2),
                      maps = pixels * 9 / 2;
    moved_bytes_ = 2 * (maps + 2 * image + (which.masks ? pixels : 0));
    const auto stride = static_cast<std::ptrdiff_t>(image / static_cast<std::size_t>(which.size.height));
    const ImageFormat format{which.size, which.depth};
    memory_ = cuda::allocate(context_, most_pairs * (4 * image + 2 * pixels));
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
  double one() { return timed(1); }
  double in_a_row() { return timed(10 * most_pairs); }
  double moved_bytes() const { return static_cast<double>(moved_bytes_); }
  std::size_t memory_bytes() const { return rectifier_.memory_bytes(); }

 private:
  static constexpr std::size_t most_pairs = 16;
  struct Pair {
    ImageView cameras[2];
    RectifiedPair rectified;
  };

  double timed(std::size_t count) {
    std::vector<double> times;
    for (int i = 0; i < 60; ++i) {
      cuda::check(cuda::driver().cuEventRecord(from_.get(), stream_.get()), "cuEventRecord");
      for (std::size_t pair = 0; pair < count; ++pair) {
        const Pair& images = pairs_[pair % most_pairs];
        rectifier_.enqueue(images.cameras[0], images.cameras[1], images.rectified, stream_.get());
      }
      cuda::check(cuda::driver().cuEventRecord(to_.get(), stream_.get()), "cuEventRecord");
      cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
      float milliseconds = 0;
      cuda::check(cuda::driver().cuEventElapsedTime(&milliseconds, from_.get(), to_.get()),
                  "cuEventElapsedTime");
      if (i >= 10) times.push_back(static_cast<double>(milliseconds) / static_cast<double>(count));
    }
    return median(times);
  }

  cuda::SharedContext context_;
  cuda::Current current_;
  Rectifier rectifier_;
  cuda::Stream stream_;
  cuda::Event from_, to_;
  cuda::DeviceMemory memory_;
  std::size_t moved_bytes_ = 0;
  Pair pairs_[most_pairs];
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
                bench.moved_bytes() / in_a_row / 1e6, static_cast<double>(bench.memory_bytes()) / 1e6);
    std::fflush(stdout);
  }
}

// Compares a RectifiedMatcher with a Matcher, host to host, in turns: the last columns of a row.
void measure_rectified_match(const MatcherParameters& parameters, const Device& device, const Pair& raw) {
  const Size size = raw.size();
  const Rig rig = benchmarks::webcams(size);
  const Rectification to = rectify(rig);
  Plane<std::uint8_t> left(size), right(size);
  Result result(size);
  const DisparityMap map = result.map();
  Rectifier(rig, to, Interpolation::bilinear, Device{})
      .run(raw.left.view(), raw.right.view(), {left.view(), right.view()});
  RectifiedMatcher from_raw(parameters, device, rig, to);
  Matcher from_rectified(parameters, device, {size});
  std::vector<double> raw_times, rectified_times;
  const auto milliseconds = [](const auto& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  for (int i = 0; i < 60; ++i) {
    const double first = milliseconds([&] { from_raw.run(raw.left.view(), raw.right.view(), map); });
    const double second = milliseconds([&] { from_rectified.run({left.view(), right.view()}, map); });
    if (i < 10) continue;
    raw_times.push_back(first);
    rectified_times.push_back(second);
  }
  const double first = median(raw_times), second = median(rectified_times);
  std::printf("%.3f | %.3f | %.3f | %.0f | %.0f |\n", first, second, first / second,
              static_cast<double>(from_raw.memory_bytes()) / 1e6,
              static_cast<double>(from_rectified.memory_bytes()) / 1e6);
}

void rectified_match_row(const MatcherParameters& parameters, const std::string& name, const Device& device,
                         const Pair& raw, int labels) {
  std::printf("| %s | %d×%d | %d | %s | ", name.c_str(), raw.size().width, raw.size().height, labels,
              device.text().c_str());
  try {
    measure_rectified_match(parameters, device, raw);
  } catch (const Error& error) {
    std::printf("%s |\n", error.what());
  }
  std::fflush(stdout);
}

void rectification_table() {
  remap_table();
  std::printf(
      "\nMatches of raw and of rectified images, host to host\n\n| method | size | labels | device | raw ms "
      "| "
      "rectified ms | ratio | raw MB | rectified MB |\n|---|---|--:|---|--:|--:|--:|--:|--:|\n");
  for (const auto& [size, labels] : {std::pair{Size{640, 480}, 64}, {Size{1920, 1080}, 128}}) {
    const Pair raw = synthetic(size, labels);
    for (const auto& [method, preset_name] :
         {std::pair{"census", "fast"}, {"block", "default"}, {"sgm", "default"}, {"bp", "default"}}) {
      MatcherParameters parameters = preset(method, preset_name);
      parameters.disparities() = labels;
      const std::string name = std::string(method) + " " + preset_name;
      rectified_match_row(parameters, name, {DeviceKind::cuda}, raw, labels);
      for (const DeviceDescription& found : list_devices())
        if (found.device.starts_with("opencl"))
          rectified_match_row(parameters, name, Device::parse(found.device), raw, labels);
    }
  }
}

SemiGlobalParameters as_libsgm(int paths) {
  auto parameters = preset<SemiGlobalParameters>("libsgm");
  parameters.paths = paths;
  return parameters;
}

// Runs the same matches on every OpenCL device.
void opencl_table(const fs::path& pairs) {
  std::printf(
      "\nThrough OpenCL, host to host\n\n| pair | how | device | ms | cuda ms | ratio "
      "|\n|---|---|---|---|---|---|\n");
  const auto rows = [](const std::string& what, const Pair& pair, int labels) {
    std::vector<std::pair<std::string, MatcherParameters>> list;
    for (const CensusRow& row : census_rows())
      list.emplace_back("census " + row.name, with_labels(row.parameters, labels));
    BlockParameters block;
    block.disparities = labels;
    list.emplace_back("block default", block);
    BeliefPropagationParameters bp;
    bp.disparities = labels;
    list.emplace_back("bp default", bp);
    bp.candidate_levels = 0;
    list.emplace_back("bp, all labels on all levels", bp);
    bp.arithmetic = Arithmetic::fixed16;
    list.emplace_back("bp, all labels on all levels, fixed16", bp);
    for (const int paths : {4, 8})
      list.emplace_back("sgm libsgm, " + std::to_string(paths) + " paths",
                        with_labels(as_libsgm(paths), labels));
    list.emplace_back("sgm default", with_labels(preset<SemiGlobalParameters>("default"), labels));
    for (const auto& [name, parameters] : list) {
      const double cuda = host_to_host(parameters, {DeviceKind::cuda}, pair);
      for (const DeviceDescription& found : list_devices()) {
        if (!found.device.starts_with("opencl")) continue;
        const double opencl = host_to_host(parameters, Device::parse(found.device), pair);
        std::printf("| %s | %s | %s, %s | %.4f | %.4f | %.2f |\n", what.c_str(), name.c_str(),
                    found.device.c_str(), found.description.c_str(), opencl, cuda, opencl / cuda);
        std::fflush(stdout);
      }
    }
  };
  rows("piano", load(pairs / "piano"), 60);
  rows("synthetic 1920×1080", synthetic({1920, 1080}, 128), 128);
}

std::string tile_name(int tile) {
  return tile == 0 ? "whole" : std::to_string(tile);
}

TiledBeliefPropagationParameters contest(int tile, int outer, int inner) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = tile;
  parameters.outer = outer;
  parameters.inner = inner;
  return parameters;
}

// Prints mismatches, because the contest counts wrong labels.
void contest_row(const Pair& pair, const TiledBeliefPropagationParameters& parameters, const std::string& how,
                 const TunedValues& configuration = {}) {
  try {
    Bench bench(parameters, pair, configuration);
    const double device = bench.on_device();
    bench.from_host_once();
    std::printf("| %s | %d | %d | %s | %.4f | %zu | %.1f |\n", tile_name(parameters.tile).c_str(),
                parameters.outer, parameters.inner, how.c_str(), device, bench.error().mismatches,
                static_cast<double>(bench.matcher().memory_bytes()) / 1e6);
  } catch (const Error& error) {
    std::printf("| %s | %d | %d | %s | %s |\n", tile_name(parameters.tile).c_str(), parameters.outer,
                parameters.inner, how.c_str(), error.what());
  }
  std::fflush(stdout);
}

void print_contest_header(const char* title) {
  std::printf(
      "\n%s\n\n| tile | outer | inner | how | device ms | mismatches | MB |\n|---|---|---|---|---|---|---|\n",
      title);
}

// Prints rows for the default preset; `threads` share a pixel's labels, 0 = automatic.
void tiled_default_table(const fs::path& pairs) {
  std::printf(
      "\nTiled belief propagation, preset default\n\n| pair | size | labels | tile | threads | device ms | "
      "bad1 "
      "%% | bad2 %% | MB |\n|---|---|---|---|---|---|---|---|---|\n");
  const auto row = [](const char* name, const Pair& pair, int labels, int tile, int threads) {
    TiledBeliefPropagationParameters parameters;
    parameters.disparities = labels;
    parameters.tile = tile;
    TunedValues configuration;
    if (threads > 0) configuration["threads_per_pixel"] = std::to_string(threads);
    Bench bench(parameters, pair, configuration);
    const double device = bench.on_device();
    bench.from_host_once();
    const ErrorMetrics error = bench.error();
    std::printf("| %s | %d×%d | %d | %s | %d | %.4f | %.2f | %.2f | %.0f |\n", name, pair.size().width,
                pair.size().height, labels, tile_name(tile).c_str(), threads, device, 100 * error.bad1,
                100 * error.bad2, static_cast<double>(bench.matcher().memory_bytes()) / 1e6);
    std::fflush(stdout);
  };
  const Pair half = load(pairs / "conesHalfSize"), large = synthetic({1920, 1080}, 128);
  for (const int labels : {16, 32, 64, 128, 256})
    for (const int tile : {16, 32, 64, 0}) row("cones-h", half, labels, tile, 0);
  for (const int labels : {64, 128})
    for (const int tile : {16, 0})
      for (const int threads : {4, 8, 16}) row("cones-h", half, labels, tile, threads);
  for (const int tile : {16, 32, 64, 0}) row("synthetic", large, 128, tile, 0);
}

void tiled_table(const fs::path& pairs) {
  print_contest_header("Tiled belief propagation, preset memocode-2013 on tsukuba");
  const Pair tsukuba = load(pairs / "contest");
  for (const int tile : {8, 13, 16, 32, 64, 0})
    for (const int outer : {1, 2, 4})
      for (const int inner : {1, 2, 4}) contest_row(tsukuba, contest(tile, outer, inner), "automatic");
  for (const int tile : {5, 7, 10}) contest_row(tsukuba, contest(tile, 1, 2), "automatic");
  contest_row(tsukuba, contest(0, 1, 20), "automatic");
  contest_row(tsukuba, preset<TiledBeliefPropagationParameters>("memocode-2013-tuned"),
              "memocode-2013-tuned");

  tiled_default_table(pairs);
}

template <class Action>
void for_each_semi_global_pair(const fs::path& pairs, const Action& action) {
  action("cones-q", load(pairs / "conesQuarterSize"), 64);
  action("synthetic", synthetic({640, 480}, 64), 64);
  action("cones-h", load(pairs / "conesHalfSize"), 128);
  action("synthetic", synthetic({1920, 1080}, 128), 128);
}

void semi_global_table(const fs::path& pairs) {
  print_header("Semi-global matching");
  for_each_semi_global_pair(pairs, [](const char* what, const Pair& pair, int labels) {
    for (const auto& [how, parameters] : {std::pair{"libsgm, 4 paths", as_libsgm(4)},
                                          {"libsgm, 8 paths", as_libsgm(8)},
                                          {"fast", preset<SemiGlobalParameters>("fast")},
                                          {"default", preset<SemiGlobalParameters>("default")},
                                          {"mgm", preset<SemiGlobalParameters>("mgm")}})
      measure(what, how, pair, with_labels(parameters, labels), labels);
  });
}

// The differences between rows are the times of stages.
void motion_table() {
  print_header("Motion");
  const Pair pair = synthetic({640, 480}, 15);
  for (const std::string name : {"default", "all-labels"}) {
    const MotionParameters whole = preset<MotionParameters>(name);
    MotionParameters match = whole;
    match.refine = RefineParameters::none();
    const auto row = [&](const std::string& how, const MotionParameters& parameters,
                         const TunedValues& configuration = {}) {
      measure("synthetic", name + ", " + how, pair, parameters, whole.disparities * whole.row_offsets,
              configuration);
    };
    row("all steps", whole);
    row("one match after the other", whole, {{"both_matches_at_once", "0"}});
    MotionParameters one = match;
    one.refine.left_right_check = true;
    row("match and check", one);
    row("match", match);
    one = match;
    one.finest_iterations = 1;
    row("match, one half-sweep of the image", one);
    one = match;
    one.iterations = one.finest_iterations = 1;
    row("match, one half-sweep everywhere", one);
    for (const auto& [how, arithmetic] :
         {std::pair{"fixed16", Arithmetic::fixed16}, {"float32", Arithmetic::float32}}) {
      one = match;
      one.arithmetic = arithmetic;
      row(std::string("match, ") + how, one);
    }
    if (whole.active_window > 0) continue;
    for (const char* blocks : {"2", "3", "5", "6", "8"})
      row(std::string("match, ") + blocks + " blocks a multiprocessor", match,
          {{"blocks_per_multiprocessor", blocks}});
  }
}

void schedulers_table(const fs::path& pairs, const std::vector<int>& tiles) {
  print_contest_header("Schedulers, places of messages, threads per pixel");
  const Pair tsukuba = load(pairs / "contest");
  for (const int tile : tiles) {
    for (const std::string scheduler : {"launch-per-diagonal", "grid-barrier", "tile-flags"}) {
      for (const std::string messages : {"registers", "shared-memory", "global-memory"}) {
        for (const std::string threads : {"1", "2", "4"})
          contest_row(tsukuba, contest(tile, 1, 1), scheduler + ", " + messages + ", " + threads,
                      {{"scheduler", scheduler}, {"messages", messages}, {"threads_per_pixel", threads}});
      }
    }
  }
}

void dealing_table(const fs::path& pairs) {
  print_header("fixed8, labels per thread");
  const auto deal = [](const char* what, const Pair& pair, int labels) {
    for (const int per_thread : {0, 2, 4, 6, 8, 12, 16, 32}) {
      const BeliefPropagationParameters parameters = published(labels, Arithmetic::fixed8);
      TunedValues configuration;
      if (per_thread > 0) configuration["labels_per_thread"] = std::to_string(per_thread);
      measure(what, std::to_string(per_thread), pair, parameters, labels, configuration);
    }
  };
  for (const Set& set : sets) {
    const Pair pair = load(pairs / set.folder);
    deal(set.name, pair, set.labels);
  }
  deal("synthetic", synthetic({1920, 1080}, 24), 24);
}

void run_once(const fs::path& pairs, const std::string& name, const std::string& arithmetic) {
  for (const Set& set : sets) {
    for (const auto& [text, value] : arithmetics) {
      if (set.name != name || text != arithmetic) continue;
      const Pair pair = load(pairs / set.folder);
      Bench bench(published(set.labels, value), pair);
      Result result(pair.size());
      bench.matcher().run({pair.left.view(), pair.right.view()}, result.map());
    }
  }
}

void first_run(const fs::path& pairs) {
  const auto start = std::chrono::steady_clock::now();
  const Pair pair = load(pairs / sets[3].folder);
  const auto loaded = std::chrono::steady_clock::now();
  Matcher matcher(published(64, Arithmetic::fixed8), {DeviceKind::cuda}, {pair.size()});
  const auto planned = std::chrono::steady_clock::now();
  Result result(pair.size());
  matcher.run({pair.left.view(), pair.right.view()}, result.map());
  const auto done = std::chrono::steady_clock::now();
  const auto milliseconds = [](auto from, auto to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  };
  std::printf("first match: loading %.1f ms, planning %.1f ms, running %.1f ms\n",
              milliseconds(start, loaded), milliseconds(loaded, planned), milliseconds(planned, done));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "usage: benchmark_cuda PAIRS "
                 "[bp|default|dealing|block|census|tiled|sgm|motion|in-flight|rectify|opencl|first|"
                 "schedulers TILE...|run PAIR ARITHMETIC]\n";
    return 2;
  }
  try {
    const fs::path pairs = arguments[1];
    const std::string which = count > 2 ? arguments[2] : "all";
    if (which == "first") first_run(pairs);
    if (which == "run" && count > 4) run_once(pairs, arguments[3], arguments[4]);
    const auto wanted = [&](const char* table) { return which == table || which == "all"; };
    if (wanted("bp") || wanted("default")) std::printf("large copy: %.2f TB/s\n", copy_bandwidth() / 1e12);
    if (wanted("bp")) belief_propagation_table(pairs);
    if (wanted("default")) default_table(pairs);
    if (wanted("dealing")) dealing_table(pairs);
    if (wanted("block")) block_table(pairs);
    if (wanted("census")) census_table(pairs);
    if (wanted("tiled")) tiled_table(pairs);
    if (wanted("sgm")) semi_global_table(pairs);
    if (wanted("motion")) motion_table();
    if (wanted("in-flight")) in_flight_table();
    if (wanted("rectify")) rectification_table();
    if (wanted("schedulers")) {
      std::vector<int> tiles;
      for (int i = 3; i < count; ++i) tiles.push_back(std::atoi(arguments[i]));
      schedulers_table(pairs, tiles.empty() ? std::vector<int>{13, 16, 32} : tiles);
    }
    if (wanted("opencl")) opencl_table(pairs);
  } catch (const std::exception& error) {
    std::cerr << "benchmark_cuda: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
