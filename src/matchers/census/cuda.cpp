// SPDX-License-Identifier: Apache-2.0
// Census matching on CUDA: one launch reads the pair and makes its pyramids, one computes the signatures of
// all levels, and one per level searches both images. The last of these makes the map.

#include <algorithm>
#include <vector>

#include "core/arena.h"
#include "core/copy_rows.h"
#include "core/integers.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/multiprocessor.h"
#include "devices/cuda/plan.h"
#include "matchers/census/census.h"
#include "matchers/census/cuda_types.h"
#include "refine/cuda_pipeline.h"

namespace parallax::census {
namespace {

using cuda::define;
using cuda::Shape;
using cuda::StreamHandle;

// The same constants as in the kernels.
constexpr int tile_columns = 128, tile_rows = 16, levels_a_tile = 5;
constexpr unsigned take_threads = 512;
constexpr int describe_columns = 32, describe_rows = 32;
constexpr unsigned lanes = 32, describe_warps = 8;

// Warps that share a strip. Levels above the image are small: their labels are distributed over more warps,
// until the GPU has this many.
constexpr unsigned max_warps = 8, fewest_warps_of_limited = 2;
constexpr unsigned wanted_warps_a_multiprocessor = 16;

// The higher a strip, the smaller the share of its windows above and below it; but the whole strip must fit
// in registers. Of 8, 10, 12, 14, 16 and 24 rows, 10 are the fastest on an H200.
constexpr int strip_rows = 10;

// Names of the tunables.
constexpr const char *rows_a_strip = "rows_per_strip", *blocks_at_once = "blocks_per_multiprocessor",
                     *warps_at_once = "warps_per_multiprocessor";

// The values that a strip keeps in registers.
struct StripContents {
  int window, values;
  bool pyramid, compares;

  // Approximate number that ptxas allocates.
  int registers(int rows) const {
    return rows * (values + (pyramid ? 2 : 1)) + (window - 1) * values + window + (compares ? 40 : 32);
  }
};

// Blocks of max_warps that must fit on a multiprocessor: two, unless a strip needs more registers.
int blocks_of_strips(int registers) {
  return registers <= 130 ? 2 : 1;
}

int words_of(int bits) {
  return divide_round_up(bits, 32);
}

class Cuda final : public cuda::Plan, public CensusPlan {
 public:
  Cuda(const CensusParameters& parameters, const Device& device, const ImageFormat& format,
       const detail::Configuration& configuration)
      : cuda::Plan(device, format, 0, true),
        CensusPlan(parameters, format.size),
        pitch_(round_up(format.size.width, 64)),
        strip_rows_(configuration.value(rows_a_strip, strip_rows)),
        blocks_(configuration.value(blocks_at_once,
                                    blocks_of_strips(contents_of_strip().registers(strip_rows_)))),
        wanted_warps_(configuration.value(warps_at_once, wanted_warps_a_multiprocessor)),
        refinement_(parameters.refine, format, layout_) {
    for (auto& planes : planes_)
      for (const Level& level : levels_) planes.push_back(reserve_planes(level.size));
    masked_ = layout_.reserve<int>(2);
    if (searches(right_side)) right_disparity_ = layout_.reserve_plane<float>(format.size);
  }

  detail::TuningSpace tuning_space() const {
    static constexpr int threads = max_warps * lanes, max_blocks = cuda::multiprocessor::threads / threads;
    detail::TuningSpace space;
    space.variant = variant(parameters_) + (always_compares() ? ", compares" : "");
    space.tunables = {{rows_a_strip, "Rows of the strip that a warp searches", {6, 8, 12, 14, 16, 24}},
                      {blocks_at_once, "Smallest number of blocks to fit on a multiprocessor", {1, 2, 3, 4}},
                      {warps_at_once,
                       "Warps per multiprocessor, up to which the labels of a strip are divided",
                       {4, 8, 32, 64}}};
    space.footprint = [contents = contents_of_strip()](const detail::Configuration& configuration) {
      const int registers = contents.registers(configuration.value(rows_a_strip, strip_rows));
      const int blocks =
          std::min(configuration.value(blocks_at_once, blocks_of_strips(registers)), max_blocks);
      const int kept = std::min(registers, cuda::multiprocessor::registers / (blocks * threads));
      return cuda::footprint(blocks, threads, to_size(threads * kept) * 4);
    };
    return space;
  }

  Stage stage(int level, int side) const override {
    const Size size = level_of(level).size;
    const Planes& planes = planes_[side][to_size(level)];
    const auto gray = fetch_gray(planes);
    const auto words = fetch<std::uint32_t>(planes.signatures);
    const auto disparities = fetch<std::int32_t>(planes.disparities);
    Stage stage = empty_stage(level, side);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const auto at = [&](int row) { return elements(row) + to_size(x); };
        stage.gray.at(x, y) = gray[at(y)];
        if (estimates(level, side)) stage.disparity.at(x, y) = disparities[at(y)];
        for (int byte = 0; byte < neighbourhood_.bytes(); ++byte)
          stage.signature[to_size(byte)].at(x, y) =
              static_cast<std::uint8_t>(words[at((y + radius()) * values() + byte / 4)] >> 8 * (byte % 4));
      }
    return stage;
  }

 private:
  // Planes of one level of one image; see CudaLevel.
  struct Planes {
    Buffer<std::byte> gray;
    Buffer<std::uint8_t> validity;
    Buffer<std::uint32_t> signatures;
    Buffer<std::int32_t> disparities;
  };

  // The number of elements in `rows` rows.
  std::size_t elements(int rows) const { return to_size(pitch_) * to_size(rows); }
  int values() const { return words_of(bits()) + (with_gray() ? 1 : 0); }
  std::size_t gray_bytes() const { return bytes_per_sample(format().depth); }
  StripContents contents_of_strip() const {
    return {parameters_.window, values(), level_count() > 1, always_compares()};
  }

  // The last strip may end below the image.
  Planes reserve_planes(Size size) {
    const int rows = round_up(size.height, strip_rows_);
    Planes planes;
    planes.gray = layout_.reserve<std::byte>(elements(size.height) * gray_bytes());
    planes.validity = layout_.reserve<std::uint8_t>(elements(rows));
    planes.signatures = layout_.reserve<std::uint32_t>(elements((rows + 2 * radius()) * values()));
    planes.disparities = layout_.reserve<std::int32_t>(elements(size.height));
    return planes;
  }

  template <class T, class Reserved>
  std::vector<T> fetch(const Buffer<Reserved>& buffer) const {
    const cuda::Current current(*context());
    std::vector<T> values(buffer.count * sizeof(Reserved) / sizeof(T));
    cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(values.data(), address(buffer), values.size() * sizeof(T),
                                                    nullptr),
                "cuMemcpyDtoHAsync of a stage");
    cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    return values;
  }

  std::vector<std::uint16_t> fetch_gray(const Planes& planes) const {
    if (gray_bytes() == 2) return fetch<std::uint16_t>(planes.gray);
    const auto bytes = fetch<std::uint8_t>(planes.gray);
    return {bytes.begin(), bytes.end()};
  }

  CudaLevel level_in_memory(int level) const {
    const Size size = level_of(level).size;
    CudaLevel result{};
    result.width = size.width;
    result.height = size.height;
    for (const int side : {left_side, right_side}) {
      const Planes& planes = planes_[side][to_size(level)];
      result.gray[side] = at(planes.gray);
      result.validity[side] = at(planes.validity);
      result.signatures[side] = at(planes.signatures) + elements(radius() * values());
      result.disparities[side] = at(planes.disparities);
    }
    return result;
  }

  CudaPyramid pyramid() const {
    CudaPyramid pyramid{};
    pyramid.count = level_count();
    for (int level = 0; level < level_count(); ++level) {
      const CudaLevel here = pyramid.levels[level] = level_in_memory(level);
      const int tiles =
          divide_round_up(here.width, describe_columns) * divide_round_up(here.height, describe_rows);
      pyramid.first_tile[level + 1] = pyramid.first_tile[level] + tiles;
    }
    return pyramid;
  }

  void prepare(StreamHandle stream) override {
    const Size window = neighbourhood_.window();
    images_program_ =
        cuda::Program(context(), cuda::census_images_cu,
                      {define("GRAY_BITS", 8 * static_cast<int>(gray_bytes())), define("PITCH", pitch_),
                       define("COLUMNS", window.width), define("ROWS", window.height),
                       define("SPARSE", parameters_.transform == CensusTransform::sparse_modified_7x7),
                       define("MODIFIED", neighbourhood_.modified), define("BITS", bits()),
                       define("WITH_GRAY", with_gray()), define("RADIUS", radius())});
    take_ = images_program_.kernel("take");
    halve_ = images_program_.kernel("halve");
    describe_ = images_program_.kernel("describe");
    search_program_ =
        cuda::Program(context(), cuda::census_search_cu,
                      {define("PYRAMID", level_count() > 1), define("WORDS", words_of(bits())),
                       define("AD_TRUNCATION", with_gray() ? parameters_.ad_truncation : 0),
                       define("WINDOW", parameters_.window), define("UNIQUENESS", parameters_.uniqueness),
                       define("SUB_PIXEL", parameters_.sub_pixel), define("PITCH", pitch_),
                       define("ROWS", strip_rows_), define("BLOCKS", blocks_)});
    if (level_count() > 1) search_level_ = search_program_.kernel("search_level");
    if (!always_compares()) search_image_ = search_program_.kernel("search_image");
    search_and_compare_ = search_program_.kernel("search_and_compare");
    refinement_.prepare(context(), device_memory(), stream);
  }

  // One thread per four columns of both images.
  static Shape tiles_of(Size size) {
    return {cuda::blocks(size.height, tile_rows), cuda::blocks(size.width, tile_columns), 2};
  }

  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) override {
    take_.launch(launches, tiles_of(format().size), {take_threads}, 0,
                 CudaTake{{cuda::kernel_image(pair.left), cuda::kernel_image(pair.right)},
                          {cuda::kernel_mask(pair.left_mask), cuda::kernel_mask(pair.right_mask)},
                          at(masked_),
                          pyramid()});
    refinement_.take(pair, launches);
  }

  void match(const DisparityMap& map, StreamHandle stream) override {
    const CudaPyramid all = pyramid();
    refinement_.begin();
    for (int level = levels_a_tile - 1; level + 1 < level_count(); level += levels_a_tile - 1)
      halve_.launch(stream, tiles_of(level_of(level).size), {take_threads}, 0, all, level, at(masked_));
    describe_.launch(stream, {static_cast<unsigned>(all.first_tile[level_count()]), 2},
                     {lanes, describe_warps}, 0, all);
    for (int level = level_count() - 1; level >= 0; --level) search(level, map, stream);
    refinement_.enqueue(map, searches(right_side) ? at(right_disparity_) : View<float>(), stream);
  }

  // Whether the best label is compared with others even if confidence is not wanted.
  bool always_compares() const {
    return parameters_.uniqueness > 0 || parameters_.sub_pixel != SubPixel::none;
  }
  const cuda::Kernel& search_kernel(int level, const DisparityMap& map) const {
    if (level > 0) return search_level_;
    return always_compares() || !map.confidence.empty() ? search_and_compare_ : search_image_;
  }
  bool is_limited(int level) const { return level + 1 < level_count(); }

  void search(int level, const DisparityMap& map, StreamHandle stream) const {
    const Level& here = level_of(level);
    CudaSearch search{};
    search.level = level_in_memory(level);
    if (is_limited(level)) search.above = level_in_memory(level + 1);
    search.masked = at(masked_);
    search.lowest = here.lowest;
    search.labels = here.labels;
    search.search_radius = parameters_.search_radius;
    search.map = map_in_memory(map);
    const auto columns = lanes - 2 * static_cast<unsigned>(radius());
    const Shape grid{cuda::blocks(here.size.height, strip_rows_), cuda::blocks(here.size.width, columns),
                     searches(right_side) ? 2u : 1u};
    search_kernel(level, map).launch(stream, grid, {lanes, warps_of(level, grid)}, 0, search);
  }

  // Warps that search a strip together.
  unsigned warps_of(int level, const Shape& grid) const {
    const std::size_t strips = std::size_t{grid.x} * grid.y * grid.z;
    const unsigned wanted =
        cuda::blocks(to_size(context()->multiprocessors()) * to_size(wanted_warps_), strips);
    const unsigned pairs = cuda::blocks(level_of(level).labels, 2);
    const unsigned fewest = is_limited(level) ? fewest_warps_of_limited : 1;
    return std::min({std::max(wanted, fewest), pairs, max_warps});
  }

  CudaMap map_in_memory(const DisparityMap& map) const {
    const View<float> right = searches(right_side) ? at(right_disparity_) : View<float>();
    return {map.disparity.data,
            map.status.data,
            map.confidence.data,
            static_cast<int>(map.disparity.stride()),
            static_cast<int>(map.status.stride()),
            static_cast<int>(map.confidence.stride()),
            right.data,
            static_cast<int>(right.stride())};
  }

  int pitch_;
  int strip_rows_;
  int blocks_;
  int wanted_warps_;  // per multiprocessor
  refine::CudaPipeline refinement_;
  std::vector<Planes> planes_[2];
  Buffer<int> masked_;
  PlaneBuffer<float> right_disparity_;
  cuda::Program images_program_, search_program_;
  cuda::Kernel take_, halve_, describe_, search_level_, search_image_, search_and_compare_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cuda(const CensusParameters& parameters, const Device& device,
                                        const ImageFormat& format,
                                        const detail::Configuration& configuration) {
  return std::make_unique<Cuda>(parameters, device, format, configuration);
}

detail::TuningSpace cuda_tuning_space(const CensusParameters& parameters, const Device& device,
                                      const ImageFormat& format) {
  return Cuda(parameters, device, format, {}).tuning_space();
}

}  // namespace parallax::census
