// SPDX-License-Identifier: Apache-2.0
#include "stereo_element.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>

#include <gst/base/gstaggregator.h>
#include <gst/video/video.h>

#include "frame_matcher.h"

GST_DEBUG_CATEGORY_STATIC(parallax_stereo_debug);
#define GST_CAT_DEFAULT parallax_stereo_debug

namespace parallax_gst {
namespace {

enum Layout { pads, side_by_side };
enum Maps { left_map, both_maps };
enum OwnProperty : guint {
  property_layout = 1,
  property_maps,
  property_temporal,
  property_scale,
  property_range,
  property_unpaired,
  first_setting
};

// A sink pad.
struct View {
  GstAggregatorPad* pad = nullptr;  // owned by the element
  GstVideoInfo info = {};           // its format is GST_VIDEO_FORMAT_UNKNOWN before caps arrive
};

// The data of an element besides its base class. The object lock guards the members of the first group; the
// others belong to the thread that aggregates.
struct State {
  Settings settings;
  double scale = 256;
  std::string range;  // "LOW:HIGH"; empty = as the frames show
  bool temporal = false;
  bool changed = true;  // the matcher no longer has these settings
  guint64 unpaired = 0;

  Layout layout = pads;
  Maps maps = left_map;
  std::vector<View> views;  // left and right, or one with both halves
  std::optional<FrameMatcher> matcher;
  float used_scale = 256;
  std::optional<GstSegment> segment;  // segment of the output
  GstClockTime latency = 0;
  bool warned_of_limits = false;
  bool discontinuity = false;  // a frame was dropped since the last output
};

struct GstParallaxStereo {
  GstAggregator parent;
  State* state;
};
using Stereo = GstParallaxStereo;
struct GstParallaxStereoClass {
  GstAggregatorClass parent_class;
};

struct UnrefBuffer {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using Buffer = std::unique_ptr<GstBuffer, UnrefBuffer>;

// An error of the stream itself.
struct StreamError : std::runtime_error {
  using runtime_error::runtime_error;
};

class ObjectLock {
 public:
  explicit ObjectLock(Stereo* self) : self_(self) { GST_OBJECT_LOCK(self_); }
  ~ObjectLock() { GST_OBJECT_UNLOCK(self_); }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

 private:
  Stereo* self_;
};

// The pixels of a buffer.
class Frame {
 public:
  Frame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags access) {
    if (!gst_video_frame_map(&frame_, &info, buffer, access))
      throw StreamError("a frame cannot be mapped into memory: its buffer is smaller than its caps say");
  }
  ~Frame() { gst_video_frame_unmap(&frame_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  std::uint8_t* data() const { return static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame_, 0)); }
  std::ptrdiff_t stride() const { return GST_VIDEO_FRAME_PLANE_STRIDE(&frame_, 0); }

  parallax_image image() const { return columns(0, GST_VIDEO_FRAME_WIDTH(&frame_)); }
  parallax_image columns(int first, int width) const {
    const std::ptrdiff_t offset =
        static_cast<std::ptrdiff_t>(first) * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame_, 0);
    const bool bits16 = GST_VIDEO_FRAME_FORMAT(&frame_) == GST_VIDEO_FORMAT_GRAY16_LE;
    return {sizeof(parallax_image),
            data() + offset,
            width,
            GST_VIDEO_FRAME_HEIGHT(&frame_),
            stride(),
            bits16 ? PARALLAX_UINT16 : PARALLAX_UINT8,
            static_cast<std::int32_t>(GST_VIDEO_FRAME_N_COMPONENTS(&frame_))};
  }

 private:
  GstVideoFrame frame_;
};

#define INPUT_CAPS GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("{ GRAY8, GRAY16_LE, RGB }"))
GstStaticPadTemplate left_template =
    GST_STATIC_PAD_TEMPLATE("sink_left", GST_PAD_SINK, GST_PAD_SOMETIMES, INPUT_CAPS);
GstStaticPadTemplate right_template =
    GST_STATIC_PAD_TEMPLATE("sink_right", GST_PAD_SINK, GST_PAD_SOMETIMES, INPUT_CAPS);
GstStaticPadTemplate both_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_SOMETIMES, INPUT_CAPS);
GstStaticPadTemplate output_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("GRAY16_LE")));

G_DEFINE_TYPE(GstParallaxStereo, gst_parallax_stereo, GST_TYPE_AGGREGATOR)

Stereo* stereo(gpointer object) {
  return static_cast<Stereo*>(object);
}

// Pads

void add_view(Stereo* self, GstStaticPadTemplate& source) {
  GstPadTemplate* made = gst_static_pad_template_get(&source);
  auto* pad =
      static_cast<GstAggregatorPad*>(g_object_new(GST_TYPE_AGGREGATOR_PAD, "name", source.name_template,
                                                  "direction", GST_PAD_SINK, "template", made, nullptr));
  gst_object_unref(made);
  gst_element_add_pad(GST_ELEMENT(self), GST_PAD(pad));
  self->state->views.push_back({.pad = pad});
}

void add_views(Stereo* self) {
  if (self->state->layout == side_by_side) return add_view(self, both_template);
  add_view(self, left_template);
  add_view(self, right_template);
}

void set_layout(Stereo* self, Layout layout) {
  State& state = *self->state;
  if (layout == state.layout) return;
  bool linked = GST_STATE(self) > GST_STATE_READY;
  for (const View& view : state.views) linked |= gst_pad_is_linked(GST_PAD(view.pad)) != FALSE;
  if (linked) {
    GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS,
                      ("layout cannot change once a sink pad is linked: set it first"), (nullptr));
    return;
  }
  for (const View& view : state.views) gst_element_remove_pad(GST_ELEMENT(self), GST_PAD(view.pad));
  state.views.clear();
  state.layout = layout;
  add_views(self);
}

void set_maps(Stereo* self, Maps maps) {
  State& state = *self->state;
  if (maps == state.maps) return;
  if (GST_STATE(self) > GST_STATE_READY) {
    GST_ELEMENT_ERROR(
        self, LIBRARY, SETTINGS,
        ("maps cannot change while the element runs, because the size of its output would: set it first"),
        (nullptr));
    return;
  }
  const ObjectLock lock(self);
  state.maps = maps;
  state.changed = true;
}

// Errors

void post(Stereo* self, const LibraryError& error) {
  if (error.code == PARALLAX_ERROR_ARGUMENT)
    GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error.what()), (nullptr));
  else if (error.code == PARALLAX_ERROR_DEVICE)
    GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", error.what()), (nullptr));
  else if (error.code == PARALLAX_ERROR_MEMORY)
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("%s", error.what()), (nullptr));
  else
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", error.what()), (nullptr));
}

// Runs code that may throw, and posts its error on the bus.
template <class Result>
Result guarded(Stereo* self, Result failure, const std::function<Result()>& run) {
  try {
    return run();
  } catch (const LibraryError& error) {
    post(self, error);
  } catch (const StreamError& error) {
    GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", error.what()), (nullptr));
  } catch (const std::exception& error) {
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", error.what()), (nullptr));
  }
  return failure;
}

// Matching

std::optional<ValueRange> range_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  ValueRange range;
  int length = 0;
  if (std::sscanf(text.c_str(), "%d:%d%n", &range.low, &range.high, &length) != 2 ||
      static_cast<std::size_t>(length) != text.size() || range.low < 0 || range.high > 65535 ||
      range.low >= range.high)
    throw LibraryError(
        PARALLAX_ERROR_ARGUMENT,
        "property 'range': is " + text + ": give the values of black and of white, such as 0:4095");
  return range;
}

// Makes the matcher, unless there is one with the current settings.
void apply_settings(Stereo* self) {
  State& state = *self->state;
  const ObjectLock lock(self);
  if (!state.changed) return;
  if (!(state.scale > 0 && state.scale <= 65535))
    throw LibraryError(PARALLAX_ERROR_ARGUMENT, "property 'scale': is " + std::to_string(state.scale) +
                                                    ": choose a number above 0, up to 65535");
  state.matcher.emplace(state.settings.matcher(), state.maps == both_maps,
                        state.temporal ? std::optional(state.settings.thread_count()) : std::nullopt,
                        range_of(state.range));
  state.used_scale = static_cast<float>(state.scale);
  state.warned_of_limits = false;
  state.changed = false;
}

std::string text_of(const parallax_image& image) {
  return std::to_string(image.width) + "×" + std::to_string(image.height) +
         (image.type == PARALLAX_UINT16 ? " with 16 bits" : " with 8 bits");
}

GstVideoInfo output_info(const State& state) {
  const GstVideoInfo& input = state.views[0].info;
  const int views = state.layout == side_by_side ? 2 : 1, maps = state.maps == both_maps ? 2 : 1;
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_INFO_WIDTH(&input) / views * maps,
                            GST_VIDEO_INFO_HEIGHT(&input));
  GST_VIDEO_INFO_FPS_N(&info) = GST_VIDEO_INFO_FPS_N(&input);
  GST_VIDEO_INFO_FPS_D(&info) = GST_VIDEO_INFO_FPS_D(&input);
  GST_VIDEO_INFO_PAR_N(&info) = GST_VIDEO_INFO_PAR_N(&input);
  GST_VIDEO_INFO_PAR_D(&info) = GST_VIDEO_INFO_PAR_D(&input);
  return info;
}

Buffer allocate_output(Stereo* self, const GstVideoInfo& info) {
  GstAllocator* allocator = nullptr;
  GstAllocationParams parameters;
  gst_aggregator_get_allocator(GST_AGGREGATOR(self), &allocator, &parameters);
  Buffer buffer(gst_buffer_new_allocate(allocator, GST_VIDEO_INFO_SIZE(&info), &parameters));
  if (allocator != nullptr) gst_object_unref(allocator);
  if (!buffer) throw LibraryError(PARALLAX_ERROR_MEMORY, "no memory for an output frame");
  return buffer;
}

void warn_of_limits(Stereo* self, std::size_t limited) {
  State& state = *self->state;
  if (limited == 0 || state.warned_of_limits) return;
  state.warned_of_limits = true;
  GST_ELEMENT_WARNING(
      self, STREAM, FORMAT,
      ("%" G_GSIZE_FORMAT " disparities of a frame are negative or above %g pixels and were limited to "
       "what 16 bits hold at scale %g: choose a smaller scale, or min-disparity 0 or more",
       limited, 65535.0 / state.used_scale, state.used_scale),
      ("reported once until a property changes"));
}

// The latency that the element reports covers the longest match.
void report_latency(Stereo* self, GstClockTime needed) {
  State& state = *self->state;
  if (needed <= state.latency) return;
  state.latency = needed;
  gst_aggregator_set_latency(GST_AGGREGATOR(self), needed, needed);
}

Buffer match(Stereo* self, const parallax_image& left, const parallax_image& right) {
  State& state = *self->state;
  apply_settings(self);
  if (left.width != right.width || left.height != right.height || left.type != right.type)
    throw StreamError("left frames are " + text_of(left) + ", right frames are " + text_of(right) +
                      ": both must have one size and depth");
  const GstVideoInfo info = output_info(state);
  Buffer output = allocate_output(self, info);
  {
    const Frame frame(info, output.get(), GST_MAP_WRITE);
    state.matcher->plan(left);
    const gint64 start = g_get_monotonic_time();
    const std::size_t limited =
        state.matcher->match(left, right, state.used_scale, {frame.data(), frame.stride()});
    const gint64 elapsed = g_get_monotonic_time() - start;
    GST_LOG_OBJECT(self, "matched in %" G_GINT64_FORMAT " us", elapsed);
    report_latency(self, static_cast<GstClockTime>(elapsed) * GST_USECOND);
    warn_of_limits(self, limited);
  }
  return output;
}

// Pushes a map with the times of its left frame, in the segment of the left stream.
GstFlowReturn push(Stereo* self, Buffer output, GstBuffer* left) {
  State& state = *self->state;
  GstAggregator* aggregator = GST_AGGREGATOR(self);
  GstSegment segment = state.views[0].pad->segment;
  segment.position = segment.start;
  if (!state.segment || !gst_segment_is_equal(&*state.segment, &segment)) {
    gst_aggregator_update_segment(aggregator, &segment);
    state.segment = segment;
  }
  gst_buffer_copy_into(output.get(), left,
                       static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS), 0,
                       -1);
  if (state.discontinuity) GST_BUFFER_FLAG_SET(output.get(), GST_BUFFER_FLAG_DISCONT);
  state.discontinuity = false;
  return gst_aggregator_finish_buffer(aggregator, output.release());
}

// Pairing

Buffer peek(const View& view) {
  return Buffer(gst_aggregator_pad_peek_buffer(view.pad));
}

// GstAggregator turns a gap event into an empty buffer.
bool drop_gap(const View& view, const Buffer& buffer) {
  if (!buffer || gst_buffer_n_memory(buffer.get()) > 0 ||
      !GST_BUFFER_FLAG_IS_SET(buffer.get(), GST_BUFFER_FLAG_GAP))
    return false;
  return gst_aggregator_pad_drop_buffer(view.pad);
}

// The running time, which is negative before the segment; empty for a frame without a time.
std::optional<gint64> time_of(const View& view, GstBuffer* buffer) {
  if (view.pad->segment.format != GST_FORMAT_TIME) return std::nullopt;
  guint64 time = 0;
  const int sign =
      gst_segment_to_running_time_full(&view.pad->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer), &time);
  if (sign == 0) return std::nullopt;
  return sign * static_cast<gint64>(time);
}

// The duration from the frame rate, or without one from the frame itself; 0 = unknown.
GstClockTime frame_duration(const View& view, GstBuffer* buffer) {
  const int count = GST_VIDEO_INFO_FPS_N(&view.info), seconds = GST_VIDEO_INFO_FPS_D(&view.info);
  if (count > 0 && seconds > 0) return gst_util_uint64_scale_int(GST_SECOND, seconds, count);
  if (buffer != nullptr && GST_BUFFER_DURATION_IS_VALID(buffer)) return GST_BUFFER_DURATION(buffer);
  return 0;
}

void drop_unpaired(Stereo* self, const View& view, GstBuffer* buffer) {
  State& state = *self->state;
  guint64 unpaired = 0;
  {
    const ObjectLock lock(self);
    unpaired = ++state.unpaired;
  }
  state.discontinuity = true;
  const std::optional<gint64> time = time_of(view, buffer);
  GST_ELEMENT_WARNING_WITH_DETAILS(
      self, STREAM, FAILED,
      ("the frame of %s at %s has no partner and was dropped (%" G_GUINT64_FORMAT " so far)",
       GST_PAD_NAME(view.pad),
       time ? (std::to_string(static_cast<double>(*time) * 1e-9) + " s").c_str() : "no time", unpaired),
      ("frames are paired if their running times differ by at most half a frame"),
      ("pad", G_TYPE_STRING, GST_PAD_NAME(view.pad), "running-time", G_TYPE_INT64, time.value_or(-1),
       "unpaired", G_TYPE_UINT64, unpaired, nullptr));
  gst_aggregator_pad_drop_buffer(view.pad);
  g_object_notify(G_OBJECT(self), "unpaired");
}

// Returns the view whose frame is too early for the other's, if they are no pair.
const View* early_view(const State& state, GstBuffer* left, GstBuffer* right) {
  const View &first = state.views[0], &second = state.views[1];
  const std::optional<gint64> left_time = time_of(first, left), right_time = time_of(second, right);
  if (!left_time || !right_time) return nullptr;  // frames without times are paired in order
  const GstClockTime shorter = std::min(frame_duration(first, left), frame_duration(second, right));
  if (std::abs(*left_time - *right_time) <= static_cast<gint64>(shorter / 2)) return nullptr;
  return *left_time < *right_time ? &first : &second;
}

GstFlowReturn aggregate_pads(Stereo* self) {
  const View &first = self->state->views[0], &second = self->state->views[1];
  const Buffer left = peek(first), right = peek(second);
  if (drop_gap(first, left) || drop_gap(second, right)) return GST_FLOW_OK;
  if (!left && !right && gst_aggregator_pad_is_eos(first.pad) && gst_aggregator_pad_is_eos(second.pad))
    return GST_FLOW_EOS;
  if (!left || !right) {
    const View &empty = left ? second : first, &waiting = left ? first : second;
    if (!(left || right) || !gst_aggregator_pad_is_eos(empty.pad)) return GST_AGGREGATOR_FLOW_NEED_DATA;
    drop_unpaired(self, waiting, left ? left.get() : right.get());
    return GST_FLOW_OK;
  }
  if (const View* early = early_view(*self->state, left.get(), right.get())) {
    drop_unpaired(self, *early, early == &first ? left.get() : right.get());
    return GST_FLOW_OK;
  }
  Buffer output;
  {
    const Frame left_frame(first.info, left.get(), GST_MAP_READ),
        right_frame(second.info, right.get(), GST_MAP_READ);
    output = match(self, left_frame.image(), right_frame.image());
  }
  gst_aggregator_pad_drop_buffer(first.pad);
  gst_aggregator_pad_drop_buffer(second.pad);
  return push(self, std::move(output), left.get());
}

GstFlowReturn aggregate_halves(Stereo* self) {
  const View& view = self->state->views[0];
  const Buffer both = peek(view);
  if (drop_gap(view, both)) return GST_FLOW_OK;
  if (!both) return gst_aggregator_pad_is_eos(view.pad) ? GST_FLOW_EOS : GST_AGGREGATOR_FLOW_NEED_DATA;
  const int width = GST_VIDEO_INFO_WIDTH(&view.info);
  if (width % 2 != 0)
    throw StreamError("frames are " + std::to_string(width) +
                      " pixels wide: side by side, the width must be even");
  Buffer output;
  {
    const Frame frame(view.info, both.get(), GST_MAP_READ);
    output = match(self, frame.columns(0, width / 2), frame.columns(width / 2, width / 2));
  }
  gst_aggregator_pad_drop_buffer(view.pad);
  return push(self, std::move(output), both.get());
}

// Virtual functions of GstAggregator

GstFlowReturn aggregate(GstAggregator* aggregator, gboolean) {
  Stereo* self = stereo(aggregator);
  return guarded<GstFlowReturn>(self, GST_FLOW_ERROR, [self] {
    return self->state->layout == side_by_side ? aggregate_halves(self) : aggregate_pads(self);
  });
}

// The change to PAUSED fails for settings that the library refuses; a missing device is noticed at the first
// frame.
gboolean start(GstAggregator* aggregator) {
  Stereo* self = stereo(aggregator);
  State& state = *self->state;
  {
    const ObjectLock lock(self);
    state.unpaired = 0;
  }
  state.discontinuity = false;
  state.segment.reset();
  state.latency = 0;
  return guarded<gboolean>(self, FALSE, [self] {
    apply_settings(self);
    return TRUE;
  });
}

// Releases the plan's memory.
gboolean stop(GstAggregator* aggregator) {
  Stereo* self = stereo(aggregator);
  const ObjectLock lock(self);
  self->state->matcher.reset();
  self->state->changed = true;
  for (View& view : self->state->views) view.info = {};
  return TRUE;
}

gboolean sink_event(GstAggregator* aggregator, GstAggregatorPad* pad, GstEvent* event) {
  State& state = *stereo(aggregator)->state;
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    for (View& view : state.views)
      if (view.pad == pad && !gst_video_info_from_caps(&view.info, caps)) {
        gst_event_unref(event);
        return FALSE;
      }
    if (pad == state.views[0].pad) gst_pad_mark_reconfigure(aggregator->srcpad);
  }
  return GST_AGGREGATOR_CLASS(gst_parallax_stereo_parent_class)->sink_event(aggregator, pad, event);
}

GstFlowReturn update_src_caps(GstAggregator* aggregator, GstCaps* allowed, GstCaps** result) {
  const State& state = *stereo(aggregator)->state;
  if (GST_VIDEO_INFO_FORMAT(&state.views[0].info) == GST_VIDEO_FORMAT_UNKNOWN)
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  const GstVideoInfo info = output_info(state);
  GstCaps* caps = gst_video_info_to_caps(&info);
  *result = gst_caps_intersect(allowed, caps);
  gst_caps_unref(caps);
  return GST_FLOW_OK;
}

// A matcher that keeps up takes no longer than a frame lasts.
gboolean negotiated_src_caps(GstAggregator* aggregator, GstCaps* caps) {
  Stereo* self = stereo(aggregator);
  report_latency(self, frame_duration(self->state->views[0], nullptr));
  return GST_AGGREGATOR_CLASS(gst_parallax_stereo_parent_class)->negotiated_src_caps(aggregator, caps);
}

// Rows may have any stride.
gboolean propose_allocation(GstAggregator*, GstAggregatorPad*, GstQuery*, GstQuery* query) {
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

// Virtual functions of GObject

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  Stereo* self = stereo(object);
  if (id == property_layout) return set_layout(self, static_cast<Layout>(g_value_get_enum(value)));
  if (id == property_maps) return set_maps(self, static_cast<Maps>(g_value_get_enum(value)));
  const ObjectLock lock(self);
  if (id == property_scale)
    self->state->scale = g_value_get_double(value);
  else if (id == property_temporal)
    self->state->temporal = g_value_get_boolean(value) != FALSE;
  else if (id == property_range)
    self->state->range = g_value_get_string(value) != nullptr ? g_value_get_string(value) : "";
  else
    self->state->settings.set(id - first_setting, value);
  self->state->changed = true;
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  Stereo* self = stereo(object);
  const ObjectLock lock(self);
  const State& state = *self->state;
  if (id == property_layout)
    g_value_set_enum(value, state.layout);
  else if (id == property_maps)
    g_value_set_enum(value, state.maps);
  else if (id == property_scale)
    g_value_set_double(value, state.scale);
  else if (id == property_temporal)
    g_value_set_boolean(value, state.temporal);
  else if (id == property_range)
    g_value_set_string(value, state.range.c_str());
  else if (id == property_unpaired)
    g_value_set_uint64(value, state.unpaired);
  else
    state.settings.get(id - first_setting, value);
}

void finalize(GObject* object) {
  delete stereo(object)->state;
  G_OBJECT_CLASS(gst_parallax_stereo_parent_class)->finalize(object);
}

void install_properties(GObjectClass* object_class) {
  constexpr auto readable = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  constexpr auto writable = static_cast<GParamFlags>(readable | G_PARAM_WRITABLE);
  const GType layouts = make_enum("GstParallaxStereo-layout", {"pads", "side-by-side"});
  g_object_class_install_property(
      object_class, property_layout,
      g_param_spec_enum("layout", "layout",
                        "pads: the views come from sink_left and sink_right; side-by-side: both views are in "
                        "each frame of sink. Set it before you link the sink pads",
                        layouts, pads, writable));
  const GType maps = make_enum("GstParallaxStereo-maps", {"left", "both"});
  g_object_class_install_property(
      object_class, property_maps,
      g_param_spec_enum("maps", "maps",
                        "left: the map of the left view; both: frames are twice as wide, with the map of the "
                        "right view in their right half, where right (x, y) shows the same point as left "
                        "(x + disparity, y). Set it before the element runs",
                        maps, left_map, writable));
  g_object_class_install_property(
      object_class, property_temporal,
      g_param_spec_boolean(
          "temporal", "temporal",
          "Steady the maps: the last map, moved as the camera moved, is averaged with the new "
          "one, and decides where it explains the frames better",
          FALSE, writable));
  g_object_class_install_property(
      object_class, property_scale,
      g_param_spec_double("scale", "scale",
                          "Output value for a disparity of one pixel; 256 as in KITTI, 16 as in OpenCV",
                          -G_MAXDOUBLE, G_MAXDOUBLE, 256, writable));
  g_object_class_install_property(
      object_class, property_range,
      g_param_spec_string(
          "range", "range",
          "Values of black and of white in frames of 16 bits, LOW:HIGH, such as 0:4095 for a camera of "
          "12 bits; empty = those of both frames",
          "", writable));
  g_object_class_install_property(
      object_class, property_unpaired,
      g_param_spec_uint64("unpaired", "unpaired",
                          "Number of frames dropped since the start because they had no partner", 0,
                          G_MAXUINT64, 0, readable));
  Settings::install(object_class, first_setting);
}

void gst_parallax_stereo_class_init(GstParallaxStereoClass* stereo_class) {
  GST_DEBUG_CATEGORY_INIT(parallax_stereo_debug, "parallaxstereo", 0, "Dense stereo matching");
  auto* object_class = G_OBJECT_CLASS(stereo_class);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);

  auto* element_class = GST_ELEMENT_CLASS(stereo_class);
  gst_element_class_set_static_metadata(element_class, "Stereo matcher", "Filter/Analyzer/Video",
                                        "Computes the disparity map of each rectified pair of frames",
                                        "Parallax");
  for (GstStaticPadTemplate* sink : {&left_template, &right_template, &both_template})
    gst_element_class_add_static_pad_template_with_gtype(element_class, sink, GST_TYPE_AGGREGATOR_PAD);
  gst_element_class_add_static_pad_template_with_gtype(element_class, &output_template,
                                                       GST_TYPE_AGGREGATOR_PAD);

  auto* aggregator_class = GST_AGGREGATOR_CLASS(stereo_class);
  aggregator_class->aggregate = aggregate;
  aggregator_class->start = start;
  aggregator_class->stop = stop;
  aggregator_class->sink_event = sink_event;
  aggregator_class->update_src_caps = update_src_caps;
  aggregator_class->negotiated_src_caps = negotiated_src_caps;
  aggregator_class->propose_allocation = propose_allocation;
}

void gst_parallax_stereo_init(Stereo* self) {
  self->state = new State;
  add_views(self);
}

}  // namespace
}  // namespace parallax_gst

GType parallax_stereo_get_type() {
  return parallax_gst::gst_parallax_stereo_get_type();
}
