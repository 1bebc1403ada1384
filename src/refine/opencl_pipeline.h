// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h on an OpenCL device, in the memory and on the queue of a plan.
#pragma once

#include <cstdint>
#include <optional>

#include "parallax/refine.h"

#include "core/arena.h"
#include "data_cost/opencl_images.h"
#include "devices/opencl/program.h"
#include "devices/opencl/types.h"
#include "refine/opencl_types.h"

namespace parallax::refine {

class OpenclPipeline {
 public:
  // `format`: format of the pair. `least_confidence`: as in Pipeline::find_confidence(); none = the map's
  // confidences stay as they are.
  OpenclPipeline(const RefineParameters& parameters, const ImageFormat& format, ArenaLayout& layout,
                 std::optional<float> least_confidence = {});

  // Builds the kernels, and writes tables into `memory`, which has the reserved layout and is zero.
  void prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory);
  // Enqueues all requested steps, in their order. The left image of `pair` guides some, and refit() reads
  // both; `right` is empty unless maps are checked against each other.
  void enqueue(const opencl::Pair& pair, const opencl::Map& map, const PlaneBuffer<float>& right,
               opencl::Queue& queue);

 private:
  bool removes_speckles() const { return parameters_.speckle_size > 1; }
  bool fills() const { return parameters_.fill != Fill::none; }
  bool fills_planes() const { return parameters_.fill == Fill::planes; }
  // Directions also fill the pixels that planes leave.
  bool fills_directions() const { return parameters_.fill == Fill::directions || fills_planes(); }
  bool refits() const { return parameters_.refit > 0; }
  bool finds_confidence(const opencl::Map& map) const {
    return least_confidence_ && (map.confidence >= 0 || *least_confidence_ > 0);
  }
  bool takes_median() const { return parameters_.median > 0; }

  // The inputs of refit(): signatures of both images.
  struct Refit {
    Refit(const ImageFormat& format, ArenaLayout& layout);
    void prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory, int window,
                 std::size_t rows_of_item);

    data_cost::OpenclImages images;
    std::size_t rows = 1;  // rows of a work item
    opencl::Program program;
    opencl::Kernel refit;
  };

  // A filter that uses the guide image.
  struct Guided {
    Guided() = default;
    Guided(int window, ArenaLayout& layout);
    void prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory, bool is_bilateral,
                 int range);

    int window = 0;
    std::size_t lanes = 1;  // pixels of a work item
    opencl::Shape group;
    Buffer<std::uint8_t> gray;
    Buffer<std::uint16_t> distance;
    opencl::Program program;
    opencl::Kernel filter;
  };

  // Memory of Fill::planes: see OpenclPlaneFill.
  struct Planes {
    Planes() = default;
    Planes(Size size, ArenaLayout& layout);
    void prepare(const opencl::Context& context, std::size_t items_of_cell);

    Size cells;
    Buffer<std::uint8_t> joined;
    Buffer<OpenclSuperpixel> superpixels;
    std::size_t items = 1;  // work items of a cell
    opencl::Program program;
    opencl::Kernel begin_superpixels, join_nearest, move_centres, fit_planes, fill_planes;
  };

  // The tiles in which the speckle filter first finds sets: their size, the work items of a tile and of its
  // borders, and the pixels of a row that a work item has at a time, which divide the width.
  struct SpeckleTile {
    std::size_t width, height, items, border_items, stretch;
  };

  // Groups of work items with `columns` columns each.
  opencl::Shape groups_of(Size size, std::size_t columns) const;
  void check_left_right(const opencl::Map& map, const PlaneBuffer<float>& right, opencl::Queue& queue) const;
  void check_occlusions(const opencl::Map& map, opencl::Queue& queue) const;
  void find_confidence(const opencl::Map& map, opencl::Queue& queue) const;
  void remove_speckles(const opencl::Map& map, opencl::Queue& queue) const;
  void refit(const opencl::Pair& pair, const opencl::Map& map, opencl::Queue& queue);
  void fill(const opencl::Pair& pair, const opencl::Map& map, opencl::Queue& queue) const;
  void fill_planes(const opencl::Pair& pair, const opencl::Map& map, opencl::Queue& queue) const;
  // Copies the map, surrounded by "no value" for a window of this size.
  void border(const opencl::Map& map, int window, opencl::Queue& queue) const;
  void median(const opencl::Map& map, opencl::Queue& queue) const;
  void take_guide(const opencl::Pair& pair, opencl::Queue& queue) const;
  void run(const Guided& guided, const opencl::Map& map, opencl::Queue& queue) const;
  // Offset of the guide's pixel (0, 0).
  cl_long guide_offset() const;

  RefineParameters parameters_;
  Size size_;
  BitDepth depth_;
  int guided_window_;  // the largest guided window; 0 = there is none
  std::optional<float> least_confidence_;
  Buffer<std::int32_t> links_, sizes_;
  Buffer<std::int32_t> highest_;  // highest disparities of occlusion_check()
  PlaneBuffer<float> bordered_;
  Buffer<float> candidates_;  // for the fill in directions
  PlaneBuffer<std::uint8_t> guide_;
  cl_mem memory_ = nullptr;
  SpeckleTile speckle_tile_{};
  std::size_t group_items_ = 1, items_of_row_ = 1, lanes_ = 1;
  opencl::Program program_;
  opencl::Kernel check_left_right_, check_occlusions_, find_confidence_, label_tiles_, join_tiles_,
      add_sizes_, remove_speckles_, fill_row_, take_guide_, find_in_columns_, fill_directions_, border_,
      median_;
  std::optional<Refit> refit_;
  Planes planes_;
  Guided weighted_median_, bilateral_;
};

}  // namespace parallax::refine
