// SPDX-License-Identifier: Apache-2.0
#include "parallax/temporal.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "temporal/filter.h"

namespace parallax {

void TemporalParameters::validate() const {
  check_range("frames", frames, 1, 255);
}

TemporalFilter::TemporalFilter(const ImageFormat& format, const TemporalParameters& parameters, int threads) {
  const DefaultFloatingPoint environment;
  check_format(format);
  check_threads(threads);
  parameters.validate();
  constexpr std::size_t most = std::size_t{1} << 30;
  if (format.size.pixels() >= most)
    refuse("the frames are " + text(format.size) + ": choose fewer than 1073741824 pixels");
  filter_ = std::make_unique<temporal::Filter>(format, parameters, threads);
}

TemporalFilter::~TemporalFilter() = default;
TemporalFilter::TemporalFilter(TemporalFilter&&) noexcept = default;
TemporalFilter& TemporalFilter::operator=(TemporalFilter&&) noexcept = default;

temporal::Filter& TemporalFilter::filter() const {
  if (!filter_) refuse("the filter was moved from: use the one that it was moved to");
  return *filter_;
}

void TemporalFilter::run(const StereoPair& pair, const DisparityMap& map) {
  const DefaultFloatingPoint environment;
  detail::check_frame(filter(), pair, map);
  filter_->predict(pair);
  filter_->settle(map);
}

void TemporalFilter::clear() {
  filter().clear();
}

bool TemporalFilter::was_predicted() const {
  return filter().was_predicted();
}

std::size_t TemporalFilter::state_bytes() const {
  return filter().state_bytes();
}

std::vector<std::byte> TemporalFilter::save() const {
  return filter().save();
}

void TemporalFilter::restore(std::span<const std::byte> state) {
  const DefaultFloatingPoint environment;
  filter().restore(state);
}

std::size_t TemporalFilter::memory_bytes() const {
  return filter().memory_bytes();
}

void detail::check_frame(const temporal::Filter& filter, const StereoPair& pair, const DisparityMap& map) {
  const ImageFormat& format = filter.format();
  check_image("left image", pair.left);
  check_image("right image", pair.right);
  for (const ImageView* image : {&pair.left, &pair.right})
    if (image->format != format)
      refuse("a frame is " + text(image->format.size) + " with " +
             std::to_string(static_cast<int>(image->format.depth)) +
             " bits per channel, the filter's frames are " + text(format.size) + " with " +
             std::to_string(static_cast<int>(format.depth)) +
             " bits per channel: make a filter for frames like this one");
  check_view("disparity map", map.disparity, format.size);
  check_view("status map", map.status, format.size);
  if (!map.row_offset.empty()) check_view("map of row offsets", map.row_offset, format.size);
}

}  // namespace parallax
