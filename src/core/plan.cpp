// SPDX-License-Identifier: Apache-2.0
#include "core/plan.h"

#include <new>

#include "core/checks.h"
#include "core/memory.h"

namespace parallax::detail {
namespace {

void check_memory(const Plan& plan, const PlanOptions& limits) {
  const auto refuse = [](std::size_t needed, std::size_t available, const std::string& remedies,
                         bool is_transient = false) {
    if (needed > available)
      throw Error(ErrorCategory::memory,
                  "the match needs " + bytes_text(needed) + ", and " + bytes_text(available) + remedies,
                  is_transient);
  };
  const std::optional<Plan::GpuMemory> gpu = plan.gpu_memory();
  const std::string of_method = plan.remedy ? plan.remedy() : "";
  const std::string smaller =
      of_method + (gpu ? ", or search fewer disparities, or use a smaller image"
                       : ", or search fewer disparities, use fewer threads or a smaller image");
  if (limits.max_memory_bytes != 0)
    return refuse(plan.memory_bytes(), limits.max_memory_bytes, " are allowed: raise the limit" + smaller);
  // Other processes may use the rest of a GPU's memory.
  if (gpu) refuse(gpu->needed, gpu->free, gpu->are_free + smaller, true);
  refuse(plan.memory_bytes() - (gpu ? gpu->needed : 0), whole_memory(),
         " are available: use a machine with more memory" + smaller);
}

void check_planned(const std::string& which, const ImageView& image, const ImageFormat& format) {
  check_image(which, image);
  if (image.format.size != format.size)
    refuse(which + " is " + text(image.format.size) + ", the matcher was planned for " + text(format.size) +
           ": give images of that size, or plan again");
  if (image.format.depth != format.depth)
    refuse(which + " has " + std::to_string(static_cast<int>(image.format.depth)) +
           " bits per channel, the matcher was planned for " +
           std::to_string(static_cast<int>(format.depth)) + ": give images of that depth, or plan again");
}

void check_costs(const CostVolume& costs, int labels, Size size) {
  if (labels == 0 && costs.data == nullptr) return;
  if (labels == 0) refuse("the pair has data costs, and this matcher computes its own: leave them out");
  if (costs.data == nullptr)
    refuse("the pair has no data costs: give the cost volume that this matcher needs");
  if (costs.size != size || costs.labels != labels)
    refuse("data costs are " + text(costs.size) + " with " + std::to_string(costs.labels) + " labels: give " +
           text(size) + " with " + std::to_string(labels));
}

void check_pair(const Plan& plan, const ImageFormat& format, const StereoPair& pair) {
  check_planned("left image", pair.left, format);
  check_planned("right image", pair.right, format);
  check_mask("left mask", pair.left_mask, format.size);
  check_mask("right mask", pair.right_mask, format.size);
  check_costs(pair.costs, plan.cost_labels(), format.size);
}

void check_optional(std::string_view what, View<float> map, Size size, bool told, const char* refusal) {
  if (map.size == Size{} && map.empty()) return;
  if (!told) refuse(refusal);
  check_view(what, map, size);
}

// Names of views in messages.
struct MapNames {
  std::string_view disparity, status, confidence, row_offset;
};
constexpr MapNames left_names{"disparity map", "status map", "confidence map", "map of row offsets"};
constexpr MapNames right_names{"right disparity map", "right status map", "right confidence map",
                               "right map of row offsets"};

template <class AnyMap>
void check_views(const Plan& plan, Size size, const AnyMap& map, const MapNames& names) {
  check_view(names.disparity, map.disparity, size);
  check_view(names.status, map.status, size);
  check_optional(names.confidence, map.confidence, size, plan.tells_confidence(),
                 "this matcher does not report confidence: leave out that map");
  check_optional(names.row_offset, map.row_offset, size, plan.tells_row_offsets(),
                 "this matcher searches no rows: leave out the map of row offsets");
}

}  // namespace

void allocate(Plan& plan, const PlanOptions& limits) {
  check_memory(plan, limits);
  try {
    plan.allocate();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory,
                "the system refused the " + bytes_text(plan.memory_bytes()) +
                    " that the match needs: free some memory or search fewer disparities",
                true);
  }
}

void check_map(const Plan& plan, Size size, const DisparityMap& map) {
  check_views(plan, size, map, left_names);
  if (map.right.empty()) return;
  if (!plan.tells_right_map())
    refuse(
        "this matcher is planned for the left map alone: plan it for both maps, or leave out the right one");
  check_views(plan, size, map.right, right_names);
}

void check_map(const Plan&, Size size, const FiniteMap& map) {
  if (map.fixed.empty() == map.disparity.empty())
    refuse("the finite map has two views, or none: give one of fixed and disparity");
  if (map.fixed.empty()) return check_view("disparity map", map.disparity, size);
  check_view("disparity map", map.fixed, size);
  check_range("none", map.none, -2048, 2047);
}

void check_run(const Plan& plan, const ImageFormat& format, const StereoPair& pair, const DisparityMap& map) {
  check_pair(plan, format, pair);
  check_map(plan, format.size, map);
}

void check_run(const Plan& plan, const ImageFormat& format, const StereoPair& pair, const FiniteMap& map) {
  check_pair(plan, format, pair);
  check_map(plan, format.size, map);
}

}  // namespace parallax::detail
