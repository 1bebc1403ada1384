// SPDX-License-Identifier: Apache-2.0
#include "refine/cuda_pipeline.h"

#include <algorithm>
#include <string>

#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"
#include "refine/refine.h"

namespace parallax::refine {
namespace {

using cuda::Shape;
using cuda::StreamHandle;

constexpr unsigned lanes = 32;
constexpr unsigned warps = 8;
constexpr unsigned threads = lanes * warps;
constexpr unsigned tile_size = lanes;
constexpr unsigned median_rows = 2 * warps;

// One thread per pixel.
Shape rows_of(Size size) {
  return {static_cast<unsigned>(size.height), cuda::blocks(width_of(size), threads)};
}

// A block has `rows` rows of a warp's pixels.
Shape tiles_of(Size size, unsigned rows) {
  return {cuda::blocks(height_of(size), rows), cuda::blocks(width_of(size), lanes)};
}

// The stride in elements, as kernels take it.
template <class T>
long long stride_of(const View<T>& view) {
  return view.stride();
}

}  // namespace

CudaPipeline::CudaPipeline(const RefineParameters& parameters, const ImageFormat& format, ArenaLayout& layout)
    : parameters_(parameters), size_(format.size) {
  const Size size = format.size;
  if (removes_speckles()) {
    check_speckle_size(size);
    links_ = layout.reserve<std::int32_t>(size.pixels());
    sizes_ = layout.reserve<std::int32_t>(size.pixels());
  }
  if (refits()) refit_.emplace(format, layout);
  if (fills_planes()) planes_ = Planes(size, layout);
  if (fills_directions() || takes_median() || filters_guided()) before_ = layout.reserve_plane<float>(size);
  if (parameters.is_guided()) guide_ = layout.reserve_plane<std::uint8_t>(size);
}

namespace {

// A cost model that needs only the inputs of census costs.
data_cost::CostModel census_inputs() {
  data_cost::CostModel model{};
  model.cost = DataCost::census;
  model.labels = 1;
  return model;
}

}  // namespace

CudaPipeline::Refit::Refit(const ImageFormat& format, ArenaLayout& layout)
    : images(census_inputs(), format, false, layout) {}

void CudaPipeline::Refit::prepare(const cuda::SharedContext& context, int window, std::byte* memory,
                                  StreamHandle stream) {
  images.prepare(context, memory, stream);
  program = cuda::Program(context, cuda::refine_refit_cu, {cuda::define("WINDOW", window)});
  refit = program.kernel("refit");
}

CudaPipeline::Guided::Guided(const cuda::SharedContext& context, bool bilateral, int window, int range)
    : program(context, cuda::refine_guided_cu,
              {cuda::define("WARPS", static_cast<int>(warps)), cuda::define("WINDOW", window),
               cuda::define("BILATERAL", bilateral)}),
      filter(program.kernel(bilateral ? "bilateral" : "weighted_median")) {
  static_assert(max_window == max_guided_window);
  std::ranges::copy(gray_weights(range), step.gray);
  std::ranges::copy(distance_weights(window), step.distance);
}

CudaPipeline::Planes::Planes(Size size, ArenaLayout& layout)
    : cells(cells_of(size)),
      colours(layout.reserve_plane<std::uint32_t>(size)),
      joined(layout.reserve<std::uint8_t>(cells.pixels() * cell_samples * cell_samples)),
      superpixels(layout.reserve<CudaSuperpixel>(cells.pixels())) {}

void CudaPipeline::Planes::prepare(const cuda::SharedContext& context) {
  cuda::Options options = plane_definitions();
  options.push_back(cuda::define("WARPS", static_cast<int>(warps)));
  program = cuda::Program(context, cuda::refine_planes_cu, options);
  begin_superpixels = program.kernel("begin_superpixels");
  join_nearest = program.kernel("join_nearest");
  move_centres = program.kernel("move_centres");
  fit_planes = program.kernel("fit_planes");
  fill_planes = program.kernel("fill_planes");
  branch.prepare(context);
}

cuda::Options CudaPipeline::options() {
  return {cuda::define("WARPS", static_cast<int>(warps))};
}

void CudaPipeline::prepare(const cuda::SharedContext& context, std::byte* memory, StreamHandle stream) {
  memory_ = memory;
  const RefineParameters& p = parameters_;
  if (p.weighted_median > 0)
    weighted_median_ = Guided(context, false, p.weighted_median, p.weighted_median_range);
  if (p.bilateral > 0) bilateral_ = Guided(context, true, p.bilateral, p.bilateral_range);
  bilateral_.step.step = p.bilateral_step;
  if (refits()) refit_->prepare(context, p.refit, memory, stream);
  if (fills_planes()) planes_.prepare(context);
  if (!filters_guided() && !p.left_right_check && !removes_speckles() && !fills() && !takes_median()) return;
  program_ = cuda::Program(context, cuda::refine_kernels_cu, options());
  check_left_right_ = program_.kernel("check_left_right");
  label_tiles_ = program_.kernel("label_tiles");
  join_tiles_ = program_.kernel("join_tiles");
  add_sizes_ = program_.kernel("add_sizes");
  remove_speckles_ = program_.kernel("remove_speckles");
  fill_row_ = program_.kernel("fill_row");
  take_guide_ = program_.kernel("take_guide");
  fill_directions_ = program_.kernel("fill_directions");
  copy_ = program_.kernel("copy_disparity");
  median_ = program_.kernel(parameters_.median == 3 ? "median_3" : "median_5");
}

void CudaPipeline::take(const StereoPair& pair, cuda::ChangingLaunches& launches) const {
  if (refits()) refit_->images.take(pair, launches);
  if (!parameters_.is_guided()) return;
  // Planes are prepared concurrently with the match.
  const StreamHandle stream = launches.stream();
  const bool forks = fills_planes() && stream != nullptr;
  if (forks) launches.continue_on(planes_.branch.fork(stream));
  const View<std::uint8_t> guide = guide_.in(memory_);
  const View<std::uint32_t> colours = fills_planes() ? planes_.colours.in(memory_) : View<std::uint32_t>();
  take_guide_.launch(launches, rows_of(size_), {threads}, 0, cuda::kernel_image(pair.left), size_.width,
                     guide.data, static_cast<int>(guide.stride()), colours.data,
                     static_cast<int>(colours.stride()));
  if (forks) launches.continue_on(stream);
}

void CudaPipeline::begin() const {
  if (!fills_planes()) return;
  const StreamHandle beside = planes_.branch.stream();
  const CudaPlaneFill fill = plane_fill();
  planes_.begin_superpixels.launch(beside, planes_.all_cells(), {threads}, 0, fill);
  for (int round = 0; round < superpixel_rounds; ++round) {
    planes_.join_nearest.launch(beside, planes_.all_cells(), {threads}, 0, fill);
    planes_.move_centres.launch(beside, planes_.all_cells(), {threads}, 0, fill);
  }
}

void CudaPipeline::begin_after(StreamHandle stream) const {
  if (fills_planes()) planes_.branch.fork(stream);
  begin();
}

void CudaPipeline::enqueue(const DisparityMap& map, View<const float> right, StreamHandle stream) const {
  refine(map, right, stream);
  if (parameters_.weighted_median > 0) run(weighted_median_, map.disparity, stream);
  if (parameters_.bilateral > 0) run(bilateral_, map.disparity, stream);
}

void CudaPipeline::refine(const DisparityMap& map, View<const float> right, StreamHandle stream) const {
  if (parameters_.left_right_check) check_left_right(map, right, stream);
  if (removes_speckles()) remove_speckles(map, stream);
  if (refits()) refit(map.disparity, stream);
  if (!takes_median()) {
    if (fills()) fill(map, map.disparity, stream);
    return;
  }
  const View<float> before_median = before_.in(memory_);
  if (fills())
    fill(map, before_median, stream);
  else
    copy(map.disparity, before_median, stream);
  median(before_median, map.disparity, stream);
}

void CudaPipeline::check_left_right(const DisparityMap& map, View<const float> right,
                                    StreamHandle stream) const {
  check_left_right_.launch(stream, rows_of(size_), {threads}, 0, map.disparity.data, stride_of(map.disparity),
                           map.status.data, stride_of(map.status), right.data, stride_of(right), size_.width,
                           parameters_.left_right_tolerance);
}

void CudaPipeline::remove_speckles(const DisparityMap& map, StreamHandle stream) const {
  std::int32_t *links = links_.in(memory_), *sizes = sizes_.in(memory_);
  const auto pixels = static_cast<unsigned>(size_.pixels());
  label_tiles_.launch(stream, tiles_of(size_, tile_size), {lanes, warps}, 0, map.disparity.data,
                      stride_of(map.disparity), size_.width, size_.height, parameters_.speckle_range, links,
                      sizes);
  join_tiles_.launch(stream, tiles_of(size_, tile_size), {lanes, 2}, 0, map.disparity.data,
                     stride_of(map.disparity), size_.width, size_.height, parameters_.speckle_range, links);
  add_sizes_.launch(stream, {cuda::blocks(pixels, threads)}, {threads}, 0, links, sizes, pixels);
  remove_speckles_.launch(stream, rows_of(size_), {threads}, 0, map.disparity.data, stride_of(map.disparity),
                          map.status.data, stride_of(map.status), links, sizes, size_.width,
                          parameters_.speckle_size);
}

void CudaPipeline::refit(View<float> disparity, StreamHandle stream) const {
  const data_cost::CudaImages& images = refit_->images;
  images.find_features(data_cost::CudaImages::as_it_is, stream);
  refit_->refit.launch(stream, rows_of(size_), {threads}, 0,
                       images.costs(data_cost::CudaImages::as_it_is, nullptr), disparity.data,
                       stride_of(disparity));
}

void CudaPipeline::fill(const DisparityMap& map, View<float> to, StreamHandle stream) const {
  if (fills_planes()) fill_planes(map, stream);
  if (fills_directions())
    fill_directions(map, to, stream);
  else
    fill_row(map, to, stream);
}

void CudaPipeline::fill_row(const DisparityMap& map, View<float> to, StreamHandle stream) const {
  fill_row_.launch(stream, {static_cast<unsigned>(size_.height)}, {threads}, 0, map.disparity.data,
                   stride_of(map.disparity), to.data, stride_of(to), map.status.data, stride_of(map.status),
                   size_.width);
}

CudaPlaneFill CudaPipeline::plane_fill() const {
  const View<std::uint32_t> colours = planes_.colours.in(memory_);
  CudaPlaneFill fill{};
  fill.colours = colours.data;
  fill.joined = planes_.joined.in(memory_);
  fill.superpixels = planes_.superpixels.in(memory_);
  fill.colour_stride = static_cast<int>(colours.stride());
  fill.width = size_.width;
  fill.height = size_.height;
  fill.cells_across = planes_.cells.width;
  fill.cells_down = planes_.cells.height;
  return fill;
}

void CudaPipeline::fill_planes(const DisparityMap& map, StreamHandle stream) const {
  CudaPlaneFill fill = plane_fill();
  fill.disparity = map.disparity.data;
  fill.status = map.status.data;
  fill.stride = stride_of(map.disparity);
  fill.status_stride = stride_of(map.status);
  planes_.branch.join(stream);
  planes_.fit_planes.launch(stream, planes_.all_cells(), {threads}, 0, fill);
  planes_.fill_planes.launch(stream, rows_of(size_), {threads}, 0, fill);
}

void CudaPipeline::fill_directions(const DisparityMap& map, View<float> to, StreamHandle stream) const {
  View<float> from = map.disparity;
  if (to.data == from.data) {
    from = before_.in(memory_);
    copy(map.disparity, from, stream);
  }
  const View<std::uint8_t> guide = guide_.in(memory_);
  const CudaFill fill{.from = from.data,
                      .to = to.data,
                      .status = map.status.data,
                      .guide = guide.data,
                      .stride = stride_of(from),
                      .to_stride = stride_of(to),
                      .status_stride = stride_of(map.status),
                      .guide_stride = static_cast<int>(guide.stride()),
                      .width = size_.width,
                      .height = size_.height,
                      .reach = fill_reach};
  fill_directions_.launch(stream, rows_of(size_), {threads}, 0, fill);
}

void CudaPipeline::copy(View<const float> from, View<float> to, StreamHandle stream) const {
  copy_.launch(stream, rows_of(size_), {threads}, 0, from.data, stride_of(from), to.data, stride_of(to),
               size_.width);
}

void CudaPipeline::median(View<const float> from, View<float> to, StreamHandle stream) const {
  median_.launch(stream, tiles_of(size_, median_rows), {lanes, warps}, 0, from.data, stride_of(from), to.data,
                 stride_of(to), size_.width, size_.height);
}

void CudaPipeline::run(const Guided& guided, View<float> disparity, StreamHandle stream) const {
  const View<float> before = before_.in(memory_);
  const View<std::uint8_t> guide = guide_.in(memory_);
  copy(disparity, before, stream);
  CudaGuidedStep step = guided.step;
  step.from = before.data;
  step.to = disparity.data;
  step.guide = guide.data;
  step.stride = before.stride();
  step.to_stride = disparity.stride();
  step.guide_stride = static_cast<int>(guide.stride());
  step.width = size_.width;
  step.height = size_.height;
  guided.filter.launch(stream, tiles_of(size_, warps), {lanes, warps}, 0, step);
}

}  // namespace parallax::refine
