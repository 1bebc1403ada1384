// SPDX-License-Identifier: Apache-2.0
// Maps of a video.
#include "parallax/temporal.h"

#include <cstring>
#include <mutex>
#include <span>

#include "c/call.h"
#include "core/cancellation.h"

using namespace parallax;

// Named in the header.
struct parallax_temporal_filter {
  std::timed_mutex mutex;
  TemporalFilter filter;
};

namespace {

template <class Run>
parallax_code use(parallax_temporal_filter* filter, const Run& run) noexcept {
  return c::call([&] {
    parallax_temporal_filter& used = c::required(filter, "temporal filter");
    const auto lock = lock_interruptibly(used.mutex);
    run(used.filter);
  });
}

}  // namespace

extern "C" {

parallax_code parallax_temporal_filter_create(int32_t width, int32_t height, parallax_type type,
                                              int32_t frames, int32_t threads,
                                              parallax_temporal_filter** filter) {
  return c::call([&] {
    c::required(filter, "filter");
    TemporalParameters parameters;
    if (frames != 0) parameters.frames = frames;
    const ImageFormat format{{width, height}, c::depth_of(type, "frames")};
    *filter = new parallax_temporal_filter{{}, TemporalFilter(format, parameters, threads)};
  });
}

void parallax_temporal_filter_release(parallax_temporal_filter* filter) {
  delete filter;
}

parallax_code parallax_temporal_filter_run(parallax_temporal_filter* filter, const parallax_pair* pair,
                                           const parallax_map* map) {
  return use(filter, [&](TemporalFilter& used) { used.run(c::pair_of(pair), c::map_of(map)); });
}

parallax_code parallax_temporal_filter_clear(parallax_temporal_filter* filter) {
  return use(filter, [](TemporalFilter& used) { used.clear(); });
}

parallax_code parallax_temporal_filter_was_predicted(parallax_temporal_filter* filter, int32_t* predicted) {
  return use(filter, [&](TemporalFilter& used) {
    c::required(predicted, "predicted") = used.was_predicted() ? 1 : 0;
  });
}

parallax_code parallax_temporal_filter_state_size(parallax_temporal_filter* filter, size_t* size) {
  return use(filter, [&](TemporalFilter& used) { c::required(size, "size") = used.state_bytes(); });
}

parallax_code parallax_temporal_filter_save(parallax_temporal_filter* filter, void* state, size_t size) {
  return use(filter, [&](TemporalFilter& used) {
    if (state == nullptr) c::refuse_null("state");
    if (size != used.state_bytes()) c::refuse_size("state", size, used.state_bytes());
    std::memcpy(state, used.save().data(), size);
  });
}

parallax_code parallax_temporal_filter_restore(parallax_temporal_filter* filter, const void* state,
                                               size_t size) {
  return use(filter, [&](TemporalFilter& used) {
    if (state == nullptr) c::refuse_null("state");
    used.restore({static_cast<const std::byte*>(state), size});
  });
}

}  // extern "C"
