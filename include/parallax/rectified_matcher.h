// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matching of images as the cameras took them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "parallax/matcher.h"
#include "parallax/rectify.h"

#pragma GCC visibility push(default)
namespace parallax {

/// A Rectifier and a Matcher on one device, planned together. On a GPU, images are rectified there, and the
/// matcher reads them where they are. Pixels of the left image that its camera did not see have the status
/// input_masked.
///
///     const parallax::Rig rig = parallax::rig_from_json(text, "rig.json");
///     parallax::RectifiedMatcher matcher(parallax::preset("sgm", "default"),
///                                        parallax::Device::parse("cuda"), rig);
///     matcher.run(left, right, {disparity, status});
///     parallax::depth_map(matcher.rectification().calibration(), disparity, depth);
///
/// The maps have the rectified size, and are the same as those of Rectifier::run() and Matcher::run() one
/// after the other. What Matcher says of threads, and of matchers that were moved from, holds here as well.
class RectifiedMatcher {
 public:
  /// \throws Error as the constructors of Rectifier and Matcher do, and (argument) where the method needs the
  /// caller's data costs @{
  RectifiedMatcher(const MatcherParameters& parameters, const Device& device, const Rig& rig,
                   const Rectification& rectification, Interpolation interpolation = Interpolation::bilinear,
                   BitDepth depth = BitDepth::bits8, const PlanOptions& options = {});
  /// The same with rectify(rig, rectify_parameters).
  RectifiedMatcher(const MatcherParameters& parameters, const Device& device, const Rig& rig,
                   const RectifyParameters& rectify_parameters = {}, BitDepth depth = BitDepth::bits8,
                   const PlanOptions& options = {});
  /// @}
  /// Waits for the pairs that were started.
  ~RectifiedMatcher();
  /// Passes the plan and its memory on.
  /// @{
  RectifiedMatcher(RectifiedMatcher&& other) noexcept;
  RectifiedMatcher& operator=(RectifiedMatcher&& other) noexcept;
  /// @}

  /// Rectifies and matches the images of the rig's left and right cameras. Allocates nothing.
  /// \throws Error (argument) as Rectifier::run() and Matcher::run() do
  void run(const ImageView& left, const ImageView& right, const DisparityMap& map);

  /// As Matcher::start() and Matcher::wait().
  /// @{
  void start(const ImageView& left, const ImageView& right, const DisparityMap& map);
  void wait(int most_running = 0);
  /// @}

  /// As Matcher::cancel().
  void cancel() noexcept;

  /// As Matcher::enqueue(), with images and map in the memory of the GPU for which this is planned.
  /// @{
  void enqueue(const ImageView& left, const ImageView& right, const DisparityMap& map, void* stream);
  void enqueue(const ImageView& left, const ImageView& right, const FiniteMap& map, void* stream);
  /// @}

  /// What the maps show.
  const Rectification& rectification() const { return rectification_; }
  /// Bytes that this holds, not counting the caller's images.
  std::size_t memory_bytes() const;
  /// Whether run() and enqueue() can write DisparityMap::confidence.
  bool has_confidence() const;

  /// Whether run() and enqueue() can write DisparityMap::row_offset.
  bool has_row_offsets() const;
  /// Whether run() and start() can write DisparityMap::right, the map of the rectified right image; enqueue()
  /// cannot.
  bool has_both_maps() const;
  /// Stages of the last run(), as Matcher::stage_times().
  const std::vector<StageTime>& stage_times() const;

 private:
  detail::Plan& plan() const;
  template <class AnyMap>
  void check(const ImageView& left, const ImageView& right, const AnyMap& map) const;

  Size cameras_[2];
  BitDepth depth_;
  Rectification rectification_;
  std::unique_ptr<detail::Plan> plan_;
};

}  // namespace parallax
#pragma GCC visibility pop
