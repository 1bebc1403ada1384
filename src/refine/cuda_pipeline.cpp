// SPDX-License-Identifier: Apache-2.0
#include "refine/cuda_pipeline.h"

#include <algorithm>

#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"
#include "refine/confidence.h"
#include "refine/refine.h"
#include "refine/refit.h"
#include "refine/refit_vectors.h"

namespace parallax::refine {
namespace {

using cuda::Shape;
using cuda::StreamHandle;
using cuda::stride_of;

constexpr unsigned lanes = 32;
constexpr unsigned warps = 8;
constexpr unsigned threads = lanes * warps;
constexpr unsigned columns = 4;  // columns of a thread of the kernels that copy a map and check it
constexpr unsigned tile_size = lanes;
constexpr unsigned median_rows = 2 * warps;
constexpr unsigned vector_threads = 128;  // threads a block of the steps for vectors

// A block has `rows` rows of a warp's pixels.
Shape tiles_of(Size size, unsigned rows) {
  return {cuda::blocks(height_of(size), rows), cuda::blocks(width_of(size), lanes)};
}

CudaVectors vectors(const DisparityMap& map) {
  return {map.disparity.data, map.row_offset.data, map.status.data, map.disparity.stride(),
          map.status.stride()};
}

}  // namespace

CudaPipeline::CudaPipeline(const RefineParameters& parameters, const ImageFormat& format, ArenaLayout& layout,
                           Maps maps, std::optional<float> least_confidence)
    : parameters_(parameters),
      size_(format.size),
      vectors_(maps == Maps::vectors),
      least_confidence_(least_confidence) {
  const Size size = format.size;
  if (parameters.occlusion_check) highest_ = layout.reserve<std::int32_t>(size.pixels());
  if (removes_speckles()) {
    check_speckle_size(size);
    links_ = layout.reserve<std::int32_t>(size.pixels());
    sizes_ = layout.reserve<std::int32_t>(size.pixels());
  }
  if (refits() && vectors_) {
    for (auto& plane : of_vectors_.gray) plane = layout.reserve_plane<std::uint8_t>(size);
    of_vectors_.shifts = layout.reserve_plane<CudaShift>(size);
  } else if (refits()) {
    refit_.emplace(format, layout);
  }
  if (fills_planes()) planes_ = Planes(size, layout);
  if (fills() && vectors_)
    for (auto& plane : of_vectors_.candidates) plane = layout.reserve_plane<float>(size);
  if ((fills_directions() && !vectors_) || takes_median() || filters_guided() || least_confidence_)
    before_ = layout.reserve_plane<float>(size);
  if (takes_guide()) guide_ = layout.reserve_plane<std::uint8_t>(size);
}

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
              {cuda::define("WARPS", warps), cuda::define("WINDOW", window),
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
  program = cuda::Program(context, cuda::refine_planes_cu,
                          cuda::joined(plane_definitions(), {cuda::define("WARPS", warps)}));
  begin_superpixels = program.kernel("begin_superpixels");
  join_nearest = program.kernel("join_nearest");
  move_centres = program.kernel("move_centres");
  fit_planes = program.kernel("fit_planes");
  fill_planes = program.kernel("fill_planes");
  branch.prepare(context);
}

void CudaPipeline::prepare(const cuda::SharedContext& context, std::byte* memory, StreamHandle stream) {
  memory_ = memory;
  const RefineParameters& p = parameters_;
  if (p.weighted_median > 0)
    weighted_median_ = Guided(context, false, p.weighted_median, p.weighted_median_range);
  if (p.bilateral > 0) bilateral_ = Guided(context, true, p.bilateral, p.bilateral_range);
  bilateral_.step.step = p.bilateral_step;
  if (refit_) refit_->prepare(context, p.refit, memory, stream);
  if (fills_planes()) planes_.prepare(context);
  if (vectors_ && (p.left_right_check || refits() || fills())) {
    Vectors& v = of_vectors_;
    v.program = cuda::Program(
        context, cuda::refine_vectors_cu,
        {cuda::define("WINDOW", p.refit), cuda::define("STIFFNESS", static_cast<int>(refit_stiffness)),
         cuda::define("UNUSABLE", Shifts::unusable), cuda::define("REACH", fill_reach)});
    v.check = v.program.kernel("check_vectors");
    v.find_shifts = v.program.kernel("find_shifts");
    v.refit = v.program.kernel("refit_vectors");
    v.fill = v.program.kernel("fill_vectors");
    v.copy = v.program.kernel("copy_vectors");
  }
  const bool needs_kernels =
      vectors_ ? refits() : p.left_right_check || p.occlusion_check || removes_speckles() || fills();
  if (!needs_kernels && !takes_median() && !filters_guided() && !least_confidence_) return;
  program_ = cuda::Program(context, cuda::refine_kernels_cu,
                           cuda::joined(confidence_definitions(), {cuda::define("WARPS", warps)}));
  check_left_right_ = program_.kernel("check_left_right");
  check_occlusions_ = program_.kernel("check_occlusions");
  find_confidence_ = program_.kernel("find_confidence");
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
  if (refit_) refit_->images.take(pair, launches);
  if (refits() && vectors_) {
    take_gray(pair.left, of_vectors_.gray[0], {}, launches);
    take_gray(pair.right, of_vectors_.gray[1], {}, launches);
  }
  if (!takes_guide()) return;
  // Planes are prepared concurrently with the match.
  const StreamHandle stream = launches.stream();
  const bool forks = fills_planes() && stream != nullptr;
  if (forks) launches.continue_on(planes_.branch.fork(stream));
  take_gray(pair.left, guide_, fills_planes() ? planes_.colours.in(memory_) : View<std::uint32_t>(),
            launches);
  if (forks) launches.continue_on(stream);
}

void CudaPipeline::take_gray(const ImageView& image, const PlaneBuffer<std::uint8_t>& gray,
                             View<std::uint32_t> colours, cuda::ChangingLaunches& launches) const {
  const View<std::uint8_t> to = gray.in(memory_);
  take_guide_.launch_pixels(launches, size_, threads, cuda::kernel_image(image), size_.width, to.data,
                            static_cast<int>(to.stride()), colours.data, static_cast<int>(colours.stride()));
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
  filter_guided(map.disparity, stream);
}

void CudaPipeline::enqueue_vectors(const DisparityMap& map, const RightMap& right,
                                   StreamHandle stream) const {
  if (parameters_.left_right_check) check_vectors(map, right, stream);
  if (refits()) refit_vectors(map, stream);
  if (fills()) fill_vectors(map, stream);
  for (const View<float>& component : {map.disparity, map.row_offset}) {
    if (takes_median()) {
      const View<float> before_median = before_.in(memory_);
      copy(component, before_median, stream);
      median(before_median, component, stream);
    }
    filter_guided(component, stream);
  }
}

void CudaPipeline::refine(const DisparityMap& map, View<const float> right, StreamHandle stream) const {
  if (parameters_.left_right_check) check_left_right(map, right, stream);
  if (parameters_.occlusion_check) check_occlusions(map, stream);
  if (finds_confidence(map)) find_confidence(map, stream);
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
  check_left_right_.launch(stream, cuda::grid_of_rows(size_, threads * columns), {threads}, 0,
                           map.disparity.data, stride_of(map.disparity), map.status.data,
                           stride_of(map.status), right.data, stride_of(right), size_.width,
                           parameters_.left_right_tolerance);
}

void CudaPipeline::find_confidence(const DisparityMap& map, StreamHandle stream) const {
  const View<float> before = before_.in(memory_);
  copy(map.disparity, before, stream);
  find_confidence_.launch_pixels(stream, size_, threads, before.data, stride_of(before), map.disparity.data,
                                 stride_of(map.disparity), map.status.data, stride_of(map.status),
                                 map.confidence.data, size_.width, size_.height, *least_confidence_);
}

void CudaPipeline::check_occlusions(const DisparityMap& map, StreamHandle stream) const {
  check_occlusions_.launch(stream, {static_cast<unsigned>(size_.height)}, {threads}, 0, map.disparity.data,
                           stride_of(map.disparity), map.status.data, stride_of(map.status),
                           highest_.in(memory_), size_.width, parameters_.left_right_tolerance);
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
  remove_speckles_.launch_pixels(stream, size_, threads, map.disparity.data, stride_of(map.disparity),
                                 map.status.data, stride_of(map.status), links, sizes, size_.width,
                                 parameters_.speckle_size);
}

void CudaPipeline::refit(View<float> disparity, StreamHandle stream) const {
  const data_cost::CudaImages& images = refit_->images;
  images.find_features(data_cost::CudaImages::as_it_is, stream);
  refit_->refit.launch_pixels(stream, size_, threads, images.costs(data_cost::CudaImages::as_it_is, nullptr),
                              disparity.data, stride_of(disparity));
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
  planes_.fill_planes.launch_pixels(stream, size_, threads, fill);
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
  fill_directions_.launch_pixels(stream, size_, threads, fill);
}

void CudaPipeline::copy(View<const float> from, View<float> to, StreamHandle stream) const {
  copy_.launch(stream, cuda::grid_of_rows(size_, threads * columns), {threads}, 0, from.data, stride_of(from),
               to.data, stride_of(to), size_.width);
}

void CudaPipeline::median(View<const float> from, View<float> to, StreamHandle stream) const {
  median_.launch(stream, tiles_of(size_, median_rows), {lanes, warps}, 0, from.data, stride_of(from), to.data,
                 stride_of(to), size_.width, size_.height);
}

void CudaPipeline::filter_guided(View<float> disparity, StreamHandle stream) const {
  if (parameters_.weighted_median > 0) run(weighted_median_, disparity, stream);
  if (parameters_.bilateral > 0) run(bilateral_, disparity, stream);
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

void CudaPipeline::check_vectors(const DisparityMap& map, const RightMap& right, StreamHandle stream) const {
  of_vectors_.check.launch_pixels(stream, size_, vector_threads, vectors(map), right.disparity.data,
                                  right.row_offset.data, stride_of(right.disparity), size_.width,
                                  size_.height, parameters_.left_right_tolerance);
}

void CudaPipeline::refit_vectors(const DisparityMap& map, StreamHandle stream) const {
  const View<std::uint8_t> left = of_vectors_.gray[0].in(memory_), right = of_vectors_.gray[1].in(memory_);
  const View<CudaShift> shifts = of_vectors_.shifts.in(memory_);
  const CudaVectorRefit refit{.map = vectors(map),
                              .left = left.data,
                              .right = right.data,
                              .shifts = shifts.data,
                              .gray_stride = static_cast<int>(left.stride()),
                              .shift_stride = static_cast<int>(shifts.stride()),
                              .width = size_.width,
                              .height = size_.height};
  of_vectors_.find_shifts.launch_pixels(stream, size_, vector_threads, refit);
  of_vectors_.refit.launch_pixels(stream, size_, vector_threads, refit);
}

void CudaPipeline::fill_vectors(const DisparityMap& map, StreamHandle stream) const {
  const View<float> disparity = of_vectors_.candidates[0].in(memory_),
                    row_offset = of_vectors_.candidates[1].in(memory_);
  const CudaVectors before{disparity.data, row_offset.data, nullptr, disparity.stride(), 0};
  of_vectors_.copy.launch_pixels(stream, size_, vector_threads, vectors(map), before, size_.width);
  of_vectors_.fill.launch_pixels(stream, size_, vector_threads, before, vectors(map), size_.width,
                                 size_.height);
}

}  // namespace parallax::refine
