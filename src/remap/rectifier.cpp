// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <new>
#include <string>
#include <string_view>

#include "parallax/rectify.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "remap/remap.h"

namespace parallax {
namespace remap {

namespace {

void check_sides(const char* which, const Camera& camera) {
  constexpr int most = 32767;
  if (camera.size.width <= most && camera.size.height <= most) return;
  refuse(std::string(which) + " camera has images of " + text(camera.size) + ": each side may have at most " +
         std::to_string(most) + " pixels");
}

void check_rectification(const Rectification& rectification) {
  check_size(rectification.size);
  if (!(rectification.focal > 0) || !std::isfinite(rectification.focal))
    refuse("rectification's focal", rectification.focal, "a finite number above 0");
}

std::unique_ptr<Plan> make_plan(Problem problem, const Device& device) {
  switch (device.kind) {
    case DeviceKind::reference:
      return make_reference(std::make_shared<const Problem>(std::move(problem)));
    case DeviceKind::cpu:
      return make_cpu(std::make_shared<const Problem>(std::move(problem)), device);
    case DeviceKind::cuda:
#ifdef PARALLAX_HAS_CUDA
      return make_cuda(problem, device);
#endif
      break;
    case DeviceKind::opencl:
#ifdef PARALLAX_HAS_OPENCL
      return make_opencl(problem, device);
#endif
      break;
  }
  throw Error(ErrorCategory::device, "rectification does not run on device " + device.text() +
                                         " in this build: choose another device");
}

void check_image(std::string_view which, const ImageView& image, Size size, BitDepth depth) {
  parallax::check_image(which, image);
  if (image.format.size != size)
    refuse(std::string(which) + " is " + text(image.format.size) + ": give one of " + text(size));
  if (image.format.depth != depth)
    refuse(std::string(which) + " has " + std::to_string(static_cast<int>(image.format.depth)) +
           " bits per channel, the rectifier was planned for " + std::to_string(static_cast<int>(depth)));
}

void check_output(std::string_view which, const ImageOutput& to, const ImageView& from, Size size) {
  check_image(which, to, size, from.format.depth);
  if (to.channels != from.channels)
    refuse(std::string(which) + " has " + std::to_string(to.channels) + " channels, the camera's image " +
           std::to_string(from.channels) + ": give as many");
}

}  // namespace

void Plan::enqueue(const Images&, void*) {
  throw Error(ErrorCategory::device,
              "only a rectifier planned for device cuda takes images in GPU memory: use run()");
}

Problem make_problem(const Rig& rig, const Rectification& rectification, Interpolation interpolation,
                     const Device& device, BitDepth depth) {
  validate(rig);
  check_sides("left", rig.left);
  check_sides("right", rig.right);
  check_rectification(rectification);
  check_choice("interpolation", interpolation, Interpolation::lanczos3);
  check_depth("image", depth);
  check_threads(device.threads);
  const Workers workers(device.threads);
  return {.maps = {make_map(rig.left, rectification.rotation_left, rectification.centre_left_x, rectification,
                            interpolation, workers),
                   make_map(rig.right, rectification.rotation_right, rectification.centre_right_x,
                            rectification, interpolation, workers)},
          .interpolation = interpolation,
          .depth = depth,
          .taps = lanczos_taps()};
}

void check_cameras(const ImageView& left, const ImageView& right, const Size (&cameras)[2], BitDepth depth) {
  check_image("left image", left, cameras[0], depth);
  check_image("right image", right, cameras[1], depth);
}

}  // namespace remap

Rectifier::Rectifier(const Rig& rig, const Rectification& rectification, Interpolation interpolation,
                     const Device& device, BitDepth depth)
    : cameras_{rig.left.size, rig.right.size}, depth_(depth), rectification_(rectification) {
  const DefaultFloatingPoint environment;
  try {
    plan_ = remap::make_plan(remap::make_problem(rig, rectification, interpolation, device, depth), device);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory,
                "there is too little memory for the maps of " + text(rectification.size) +
                    " pixels: free some, or choose a smaller size",
                true);
  }
}

Rectifier::Rectifier(const Rig& rig, const RectifyParameters& parameters, const Device& device,
                     BitDepth depth)
    : Rectifier(rig, rectify(rig, parameters), parameters.interpolation, device, depth) {}

Rectifier::~Rectifier() = default;
Rectifier::Rectifier(Rectifier&&) noexcept = default;
Rectifier& Rectifier::operator=(Rectifier&&) noexcept = default;

remap::Plan& Rectifier::plan() const {
  if (plan_ == nullptr) refuse("the rectifier was moved from: use the one that it was moved to");
  return *plan_;
}

namespace {

remap::Images checked(const ImageView& left, const ImageView& right, const RectifiedPair& to,
                      const Size (&cameras)[2], BitDepth depth, Size size) {
  remap::check_cameras(left, right, cameras, depth);
  remap::check_output("rectified left image", to.left, left, size);
  remap::check_output("rectified right image", to.right, right, size);
  check_mask("left mask", to.left_mask, size);
  check_mask("right mask", to.right_mask, size);
  return {{left, right}, {to.left, to.right}, {to.left_mask, to.right_mask}};
}

}  // namespace

void Rectifier::run(const ImageView& left, const ImageView& right, const RectifiedPair& to) {
  remap::Plan& planned = plan();
  planned.run(checked(left, right, to, cameras_, depth_, rectification_.size));
}

void Rectifier::enqueue(const ImageView& left, const ImageView& right, const RectifiedPair& to,
                        void* stream) {
  remap::Plan& planned = plan();
  planned.enqueue(checked(left, right, to, cameras_, depth_, rectification_.size), stream);
}

std::size_t Rectifier::memory_bytes() const {
  return plan().memory_bytes();
}

}  // namespace parallax
