// SPDX-License-Identifier: Apache-2.0
// Rigs, rectification, and matching of the images that a rig's cameras take.
#include <algorithm>
#include <mutex>

#include "parallax/rectified_matcher.h"

#include "c/call.h"
#include "core/cancellation.h"

using namespace parallax;

// Named in the header.
struct parallax_rig {
  Rig rig;
  std::string json;
};

struct parallax_rectifier {
  std::timed_mutex mutex;
  Rectifier rectifier;
};

struct parallax_rectified_matcher {
  std::timed_mutex mutex;
  RectifiedMatcher matcher;
  std::vector<parallax_stage> stages = {};
  Cancellation cancellation = {};
};

namespace parallax::c {
namespace {

RectifyParameters parameters_of(const parallax_rectify_parameters* given) {
  if (given == nullptr) return {};
  const parallax_rectify_parameters parameters = known(given, "rectify parameters");
  return {parameters.alpha,
          parameters.zoom,
          parameters.same_centres != 0,
          {parameters.width, parameters.height},
          static_cast<Interpolation>(parameters.interpolation)};
}

void write(const Rectification& from, parallax_rectification* to) {
  parallax_rectification values = PARALLAX_RECTIFICATION_INIT;
  std::copy(from.rotation_left.begin(), from.rotation_left.end(), values.rotation_left);
  std::copy(from.rotation_right.begin(), from.rotation_right.end(), values.rotation_right);
  values.focal = from.focal;
  values.centre_left_x = from.centre_left_x;
  values.centre_right_x = from.centre_right_x;
  values.centre_y = from.centre_y;
  values.baseline = from.baseline;
  values.width = from.size.width;
  values.height = from.size.height;
  values.quarter_turns = from.quarter_turns;
  write_struct(values, to, "rectification");
}

Rectification rectification_of(const parallax_rectification* given) {
  const parallax_rectification values = known(given, "rectification");
  Rectification result;
  std::copy_n(values.rotation_left, result.rotation_left.size(), result.rotation_left.begin());
  std::copy_n(values.rotation_right, result.rotation_right.size(), result.rotation_right.begin());
  result.focal = values.focal;
  result.centre_left_x = values.centre_left_x;
  result.centre_right_x = values.centre_right_x;
  result.centre_y = values.centre_y;
  result.baseline = values.baseline;
  result.size = {values.width, values.height};
  result.quarter_turns = values.quarter_turns;
  return result;
}

RectifiedPair rectified_pair_of(const parallax_rectified_pair* given) {
  const parallax_rectified_pair pair = known(given, "rectified pair");
  RectifiedPair outputs{image_output(pair.left, "rectified left image"),
                        image_output(pair.right, "rectified right image")};
  if (pair.left_mask != nullptr) outputs.left_mask = byte_output(pair.left_mask, "left mask");
  if (pair.right_mask != nullptr) outputs.right_mask = byte_output(pair.right_mask, "right mask");
  return outputs;
}

template <class Handle, class Run>
parallax_code use(Handle* handle, std::string_view name, const Run& run) noexcept {
  return call([&] {
    Handle& used = required(handle, name);
    const auto lock = lock_interruptibly(used.mutex);
    run(used);
  });
}

template <class Run>
parallax_code use(parallax_rectified_matcher* rectified, const Run& run) noexcept {
  return use(rectified, "rectified matcher", run);
}

// A use that parallax_rectified_matcher_cancel() ends, even while it waits for others.
template <class Run>
parallax_code work(parallax_rectified_matcher* rectified, const Run& run) noexcept {
  return call([&] {
    parallax_rectified_matcher& used = required(rectified, "rectified matcher");
    const CancellableCall cancellable(used.cancellation);
    const auto lock = lock_interruptibly(used.mutex);
    stop_if_cancelled();
    run(used);
  });
}

}  // namespace
}  // namespace parallax::c

extern "C" {

parallax_code parallax_rig_create(const char* json, const char* name, parallax_rig** rig) {
  return c::call([&] {
    const std::string text = c::text(json, "json");
    c::required(rig, "rig");
    const Rig parsed = rig_from_json(text, name == nullptr ? "rig" : name);
    *rig = new parallax_rig{parsed, to_json(parsed)};
  });
}

parallax_code parallax_rig_json(const parallax_rig* rig, const char** json) {
  return c::call([&] {
    const parallax_rig& used = c::required(rig, "rig");
    c::required(json, "json") = used.json.c_str();
  });
}

void parallax_rig_release(parallax_rig* rig) {
  delete rig;
}

parallax_code parallax_rectify(const parallax_rig* rig, const parallax_rectify_parameters* parameters,
                               parallax_rectification* rectification) {
  return c::call([&] {
    const Rig& used = c::required(rig, "rig").rig;
    c::write(rectify(used, c::parameters_of(parameters)), rectification);
  });
}

parallax_code parallax_rectification_calibration(const parallax_rectification* rectification,
                                                 parallax_calibration* calibration) {
  return c::call(
      [&] { c::write_calibration(c::rectification_of(rectification).calibration(), calibration); });
}

parallax_code parallax_rectifier_create(const parallax_rig* rig,
                                        const parallax_rectify_parameters* parameters, const char* device,
                                        int32_t threads, parallax_type type, parallax_rectifier** rectifier) {
  return c::call([&] {
    const Rig& used = c::required(rig, "rig").rig;
    const Device chosen = c::parse_device(c::text(device, "device"), threads);
    c::required(rectifier, "rectifier");
    *rectifier = new parallax_rectifier{
        {}, Rectifier(used, c::parameters_of(parameters), chosen, c::depth_of(type, "type"))};
  });
}

void parallax_rectifier_release(parallax_rectifier* rectifier) {
  delete rectifier;
}

parallax_code parallax_rectifier_run(parallax_rectifier* rectifier, const parallax_image* left,
                                     const parallax_image* right, const parallax_rectified_pair* to) {
  return c::use(rectifier, "rectifier", [&](parallax_rectifier& used) {
    const ImageView left_view = c::image_view(left, "left image");
    const ImageView right_view = c::image_view(right, "right image");
    used.rectifier.run(left_view, right_view, c::rectified_pair_of(to));
  });
}

parallax_code parallax_rectified_matcher_create(parallax_matcher* matcher, const parallax_rig* rig,
                                                const parallax_rectify_parameters* parameters,
                                                parallax_type type, parallax_rectified_matcher** rectified) {
  return c::call([&] {
    const c::Settings settings = c::settings_of(matcher);
    const Rig& used = c::required(rig, "rig").rig;
    c::required(rectified, "rectified matcher");
    *rectified = new parallax_rectified_matcher{
        {},
        RectifiedMatcher(settings.parameters, settings.device, used, c::parameters_of(parameters),
                         c::depth_of(type, "type"), settings.options)};
  });
}

void parallax_rectified_matcher_release(parallax_rectified_matcher* rectified) {
  delete rectified;
}

parallax_code parallax_rectified_matcher_run(parallax_rectified_matcher* rectified,
                                             const parallax_image* left, const parallax_image* right,
                                             const parallax_map* map) {
  return c::work(rectified, [&](parallax_rectified_matcher& used) {
    const ImageView left_view = c::image_view(left, "left image");
    const ImageView right_view = c::image_view(right, "right image");
    used.matcher.run(left_view, right_view, c::map_of(map));
  });
}

parallax_code parallax_rectified_matcher_cancel(parallax_rectified_matcher* rectified) {
  return c::call([&] { c::required(rectified, "rectified matcher").cancellation.cancel(); });
}

parallax_code parallax_rectified_matcher_enqueue(parallax_rectified_matcher* rectified,
                                                 const parallax_image* left, const parallax_image* right,
                                                 const parallax_map* map, void* stream) {
  return c::work(rectified, [&](parallax_rectified_matcher& used) {
    const ImageView left_view = c::image_view(left, "left image");
    const ImageView right_view = c::image_view(right, "right image");
    used.matcher.enqueue(left_view, right_view, c::map_of(map), stream);
  });
}

parallax_code parallax_rectified_matcher_memory(parallax_rectified_matcher* rectified, uint64_t* bytes) {
  return c::use(rectified, [&](parallax_rectified_matcher& used) {
    c::required(bytes, "bytes") = used.matcher.memory_bytes();
  });
}

parallax_code parallax_rectified_matcher_has_confidence(parallax_rectified_matcher* rectified, int32_t* has) {
  return c::use(rectified, [&](parallax_rectified_matcher& used) {
    c::required(has, "has") = used.matcher.has_confidence() ? 1 : 0;
  });
}

parallax_code parallax_rectified_matcher_has_row_offsets(parallax_rectified_matcher* rectified,
                                                         int32_t* has) {
  return c::use(rectified, [&](parallax_rectified_matcher& used) {
    c::required(has, "has") = used.matcher.has_row_offsets() ? 1 : 0;
  });
}

parallax_code parallax_rectified_matcher_stages(parallax_rectified_matcher* rectified,
                                                const parallax_stage** stages, size_t* count) {
  return c::use(rectified, [&](parallax_rectified_matcher& used) {
    c::required(stages, "stages");
    c::required(count, "count");
    used.stages.clear();
    for (const StageTime& stage : used.matcher.stage_times())
      used.stages.push_back({stage.stage, stage.milliseconds});
    *stages = used.stages.data();
    *count = used.stages.size();
  });
}

}  // extern "C"
