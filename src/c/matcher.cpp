// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "parallax/tiles.h"

#include "c/call.h"
#include "core/cancellation.h"
#include "core/checks.h"
#include "core/numbers.h"
#include "tiles/tiles.h"

using namespace parallax;

// Named in the header.
struct parallax_matcher {
  explicit parallax_matcher(MatcherParameters initial) : parameters(std::move(initial)) {}

  std::atomic<int> references = 1;
  std::timed_mutex mutex;
  std::atomic<std::thread::id> owner;  // the thread that holds the mutex
  Cancellation cancellation;
  MatcherParameters parameters;
  std::string device = "auto";  // parsed when it is needed, because "auto" looks for GPUs
  int threads = 0;
  bool tiles = false;  // plans are for tiles
  PlanOptions options;
  std::optional<Matcher> planned;
  ImageFormat format;  // format of the plan
  std::string text;    // what was returned last
  std::vector<parallax_stage> stages;
};

namespace parallax::c {
namespace {

// A callback that calls back on its own matcher would wait for ever.
class Lock {
 public:
  explicit Lock(parallax_matcher& matcher) : matcher_(matcher) {
    if (matcher.owner == std::this_thread::get_id())
      throw Error(
          ErrorCategory::argument,
          "a callback uses the matcher that called it: use the matcher after the call, or another one");
    lock_ = lock_interruptibly(matcher.mutex);
    matcher.owner = std::this_thread::get_id();
  }
  ~Lock() { matcher_.owner = std::thread::id(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  parallax_matcher& matcher_;
  std::unique_lock<std::timed_mutex> lock_;
};

// A callback may release the matcher that called it.
class Reference {
 public:
  explicit Reference(parallax_matcher& matcher) : matcher_(matcher) { ++matcher.references; }
  ~Reference() { parallax_matcher_release(&matcher_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

 private:
  parallax_matcher& matcher_;
};

template <class Run>
parallax_code use(parallax_matcher* matcher, const Run& run) noexcept {
  return call([&] {
    parallax_matcher& used = required(matcher, "matcher");
    const Reference kept(used);
    const Lock lock(used);
    run(used);
  });
}

// A use that parallax_matcher_cancel() ends, even while it waits for others.
template <class Run>
parallax_code work(parallax_matcher* matcher, const Run& run) noexcept {
  return call([&] {
    parallax_matcher& used = required(matcher, "matcher");
    const Reference kept(used);
    const CancellableCall cancellable(used.cancellation);
    const Lock lock(used);
    stop_if_cancelled();
    run(used);
  });
}

template <class Change>
parallax_code change(parallax_matcher* matcher, const Change& apply) noexcept {
  return use(matcher, [&](parallax_matcher& changed) {
    apply(changed);
    changed.planned.reset();
  });
}

ImageFormat format_of(std::int32_t width, std::int32_t height, parallax_type type) {
  return {{width, height}, depth_of(type, "type")};
}

Device device_of(const parallax_matcher& matcher) {
  return parse_device(matcher.device, matcher.threads);
}

// Parameters of the matcher's plan, which may be for tiles.
MatcherParameters parameters_of(const parallax_matcher& matcher) {
  return matcher.tiles ? tiles::tile_parameters(matcher.parameters) : matcher.parameters;
}

TileOptions tile_options(std::int32_t padding) {
  TileOptions options;
  if (padding != 0) options.padding = padding;
  return options;
}

Matcher& planned(parallax_matcher& matcher) {
  if (!matcher.planned)
    throw Error(ErrorCategory::argument, "the matcher has no plan: call parallax_matcher_plan() first");
  return *matcher.planned;
}

std::string text_of(const MatcherParameters& parameters, const std::string& name, std::int64_t value) {
  const bool is_flag = describe_parameter(method_name(parameters), name).kind == ParameterKind::flag;
  return is_flag && (value == 0 || value == 1) ? value == 1 ? "true" : "false" : std::to_string(value);
}

TileProgress reporter(parallax_progress_function progress, void* user) {
  if (progress == nullptr) return {};
  return [=](std::size_t done, std::size_t total) {
    // An interpreter may not see a signal that comes while it begins to run a callback.
    ask_next_time();
    stop_if_cancelled();
    if (progress(user, static_cast<std::int64_t>(done), static_cast<std::int64_t>(total)) != 0)
      throw cancelled_error(" by the progress callback");
  };
}

}  // namespace

Device parse_device(const std::string& name, int threads) {
  Device device = Device::parse(name);
  device.threads = threads;
  return device;
}

Settings settings_of(parallax_matcher* matcher) {
  const parallax_matcher& used = required(matcher, "matcher");
  const Lock lock(*matcher);
  return {parameters_of(used), device_of(used), used.options};
}

MatcherParameters matcher_parameters(parallax_matcher* matcher) {
  const parallax_matcher& used = required(matcher, "matcher");
  const Lock lock(*matcher);
  return used.parameters;
}

}  // namespace parallax::c

extern "C" {

parallax_code parallax_matcher_create(const char* method, const char* preset, parallax_matcher** matcher) {
  return c::call([&] {
    c::required(matcher, "matcher");
    const char* name = preset == nullptr ? "default" : preset;
    *matcher = new parallax_matcher(parallax::preset(c::text(method, "method"), name));
  });
}

parallax_code parallax_matcher_retain(parallax_matcher* matcher) {
  return c::call([&] { ++c::required(matcher, "matcher").references; });
}

void parallax_matcher_release(parallax_matcher* matcher) {
  if (matcher != nullptr && --matcher->references == 0) delete matcher;
}

parallax_code parallax_matcher_set_int(parallax_matcher* matcher, const char* name, int64_t value) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    const std::string parameter = c::text(name, "name");
    set_parameter(changed.parameters, parameter, c::text_of(changed.parameters, parameter, value));
  });
}

parallax_code parallax_matcher_set_float(parallax_matcher* matcher, const char* name, double value) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    set_parameter(changed.parameters, c::text(name, "name"), shortest_text(value));
  });
}

parallax_code parallax_matcher_set_string(parallax_matcher* matcher, const char* name, const char* value) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    set_parameter(changed.parameters, c::text(name, "name"), c::text(value, "value"));
  });
}

parallax_code parallax_matcher_set_json(parallax_matcher* matcher, const char* json) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    changed.parameters = with_json(changed.parameters, c::text(json, "json"));
  });
}

parallax_code parallax_matcher_get_string(parallax_matcher* matcher, const char* name, const char** value) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(value, "value");
    used.text = get_parameter(used.parameters, c::text(name, "name"));
    *value = used.text.c_str();
  });
}

parallax_code parallax_matcher_get_json(parallax_matcher* matcher, const char** json) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(json, "json");
    used.text = to_json(used.parameters);
    *json = used.text.c_str();
  });
}

parallax_code parallax_matcher_set_device(parallax_matcher* matcher, const char* device, int32_t threads) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    std::string chosen = c::text(device, "device");
    if (chosen != "auto") Device::parse(chosen);
    changed.device = std::move(chosen);
    changed.threads = threads;
  });
}

parallax_code parallax_matcher_set_memory_limit(parallax_matcher* matcher, uint64_t bytes) {
  return c::change(matcher, [&](parallax_matcher& changed) { changed.options.max_memory_bytes = bytes; });
}

parallax_code parallax_matcher_set_both_maps(parallax_matcher* matcher, int32_t both_maps) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    check_range("both_maps", both_maps, 0, 1);
    changed.options.both_maps = both_maps == 1;
  });
}

parallax_code parallax_matcher_configure(parallax_matcher* matcher, const char* name, const char* value) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    const std::string tunable = c::text(name, "name"), chosen = c::text(value, "value");
    if (chosen.empty())
      changed.options.configuration.erase(tunable);
    else
      changed.options.configuration[tunable] = chosen;
  });
}

parallax_code parallax_matcher_plan(parallax_matcher* matcher, int32_t width, int32_t height,
                                    parallax_type type) {
  return c::work(matcher, [&](parallax_matcher& used) {
    const ImageFormat format = c::format_of(width, height, type);
    if (used.planned && used.format == format) return;
    used.planned.reset();
    used.planned.emplace(c::parameters_of(used), c::device_of(used), format, used.options);
    used.format = format;
  });
}

parallax_code parallax_matcher_estimate_memory(parallax_matcher* matcher, int32_t width, int32_t height,
                                               parallax_type type, uint64_t* bytes) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(bytes, "bytes") =
        estimate_memory_bytes(c::parameters_of(used), c::device_of(used), c::format_of(width, height, type),
                              used.options.configuration, used.options.both_maps);
  });
}

parallax_code parallax_matcher_memory(parallax_matcher* matcher, uint64_t* bytes) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(bytes, "bytes") = c::planned(used).memory_bytes();
  });
}

parallax_code parallax_matcher_has_confidence(parallax_matcher* matcher, int32_t* has) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(has, "has") = c::planned(used).has_confidence() ? 1 : 0;
  });
}

parallax_code parallax_matcher_has_row_offsets(parallax_matcher* matcher, int32_t* has) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(has, "has") = c::planned(used).has_row_offsets() ? 1 : 0;
  });
}

parallax_code parallax_matcher_run(parallax_matcher* matcher, const parallax_pair* pair,
                                   const parallax_map* map) {
  return c::work(matcher, [&](parallax_matcher& used) {
    const StereoPair images = c::pair_of(pair);
    c::planned(used).run(images, c::map_of(map));
  });
}

parallax_code parallax_matcher_cancel(parallax_matcher* matcher) {
  return c::call([&] { c::required(matcher, "matcher").cancellation.cancel(); });
}

parallax_code parallax_matcher_enqueue(parallax_matcher* matcher, const parallax_pair* pair,
                                       const parallax_map* map, void* stream) {
  return c::work(matcher, [&](parallax_matcher& used) {
    const StereoPair images = c::pair_of(pair);
    c::planned(used).enqueue(images, c::map_of(map), stream);
  });
}

parallax_code parallax_matcher_run_in_tiles(parallax_matcher* matcher, const parallax_pair* pair,
                                            const parallax_map* map, int32_t padding,
                                            parallax_progress_function progress, void* user) {
  return c::work(matcher, [&](parallax_matcher& used) {
    const StereoPair images = c::pair_of(pair);
    const TilePlan plan = plan_tiles(used.parameters, c::device_of(used), images.left.format, used.options,
                                     c::tile_options(padding));
    match_in_tiles(plan, images, c::map_of(map), c::reporter(progress, user));
  });
}

parallax_code parallax_matcher_margins(parallax_matcher* matcher, int32_t width, int32_t height,
                                       parallax_type type, int32_t padding, parallax_margins* margins) {
  return c::use(matcher, [&](parallax_matcher& used) {
    const Margins tile = parallax::margins(used.parameters, c::format_of(width, height, type),
                                           c::tile_options(padding).padding);
    const Halo strip = halo(used.parameters);
    parallax_margins result = PARALLAX_MARGINS_INIT;
    result.left = tile.left;
    result.right = tile.right;
    result.top = tile.top;
    result.bottom = tile.bottom;
    result.alignment = tile.alignment;
    result.exact = tile.exact ? 1 : 0;
    result.halo = strip.rows;
    result.halo_alignment = strip.alignment;
    c::write_struct(result, margins, "margins");
  });
}

parallax_code parallax_matcher_set_tiles(parallax_matcher* matcher, int32_t tiles) {
  return c::change(matcher, [&](parallax_matcher& changed) {
    check_range("tiles", tiles, 0, 1);
    changed.tiles = tiles == 1;
  });
}

parallax_code parallax_matcher_refine_strip(parallax_matcher* matcher, const parallax_image* left,
                                            const parallax_map* map) {
  return c::work(matcher, [&](parallax_matcher& used) {
    const ImageView rows = c::image_view(left, "left image");
    refine_strip(used.parameters, rows, c::map_of(map), used.threads);
  });
}

parallax_code parallax_matcher_estimate_strip_memory(parallax_matcher* matcher, int32_t width, int32_t rows,
                                                     uint64_t* bytes) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(bytes, "bytes") = refine_strip_memory_bytes(used.parameters, {width, rows});
  });
}

parallax_code parallax_matcher_stages(parallax_matcher* matcher, const parallax_stage** stages,
                                      size_t* count) {
  return c::use(matcher, [&](parallax_matcher& used) {
    c::required(stages, "stages");
    c::required(count, "count");
    used.stages.clear();
    for (const StageTime& stage : c::planned(used).stage_times())
      used.stages.push_back({stage.stage, stage.milliseconds});
    *stages = used.stages.data();
    *count = used.stages.size();
  });
}

parallax_code parallax_matcher_rows_moved(parallax_matcher* matcher, double* rows) {
  return c::use(matcher,
                [&](parallax_matcher& used) { c::required(rows, "rows") = c::planned(used).rows_moved(); });
}

parallax_code parallax_matcher_forget_rows(parallax_matcher* matcher) {
  return c::use(matcher, [&](parallax_matcher& used) { c::planned(used).forget_rows(); });
}

parallax_code parallax_matcher_energy(parallax_matcher* matcher, const parallax_pair* pair,
                                      const parallax_image* disparity, double* energy) {
  return c::work(matcher, [&](parallax_matcher& used) {
    const StereoPair images = c::pair_of(pair);
    const View<const float> map = c::float_view(disparity, "disparity map");
    c::required(energy, "energy") = parallax::energy(used.parameters, images, map);
  });
}

}  // extern "C"
