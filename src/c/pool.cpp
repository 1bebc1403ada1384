// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>

#include "parallax/matcher_pool.h"

#include "c/call.h"

using namespace parallax;

// Named in the header.
struct parallax_pool {
  parallax_pool(const c::Settings& settings, const std::vector<Device>& devices, const PoolOptions& options)
      : pool(settings.parameters, devices, options) {}

  std::atomic<int> references = 1;
  MatcherPool pool;
};

namespace parallax::c {
namespace {

// Keeps the pool until the call ends, even if another thread releases it.
template <class Run>
parallax_code use(parallax_pool* pool, const Run& run) noexcept {
  return call([&] {
    ++required(pool, "pool").references;
    const std::unique_ptr<parallax_pool, void (*)(parallax_pool*)> kept(pool, parallax_pool_release);
    run(pool->pool);
  });
}

std::vector<Device> devices_of(const Settings& settings, const char* names) {
  if (names == nullptr) return {settings.device};
  std::vector<Device> devices = parse_devices(names);
  for (Device& device : devices) device.threads = settings.device.threads;
  return devices;
}

PoolOptions options_of(const Settings& settings, const parallax_pool_limits* given) {
  PoolOptions options{.max_memory_bytes = settings.options.max_memory_bytes,
                      .configuration = settings.options.configuration};
  if (given == nullptr) return options;
  const parallax_pool_limits values = known(given, "pool limits");
  options.matchers_per_gpu = values.matchers_per_gpu;
  options.waiting = values.waiting;
  return options;
}

// Keeps what the struct points to.
void write(const MatchedPair& from, parallax_matched* to) {
  if (to == nullptr) return;
  static thread_local std::string device;
  static thread_local std::vector<parallax_stage> stages;
  device = from.device.text();
  stages.clear();
  for (const StageTime& stage : from.stage_times) stages.push_back({stage.stage, stage.milliseconds});
  const parallax_matched values{sizeof(parallax_matched), from.number, device.c_str(), stages.data(),
                                stages.size()};
  write_struct(values, to, "matched pair");
}

// Before a pair is waited for: afterwards it could not be told.
void check(const parallax_matched* matched) {
  if (matched != nullptr) known(matched, "matched pair");
}

class LostDevices {
 public:
  explicit LostDevices(const MatcherPool& pool) : lost_(pool.lost_devices()) {
    for (const LostDevice& lost : lost_) names_.push_back(lost.device.text());
    for (std::size_t i = 0; i < lost_.size(); ++i)
      entries_.push_back({names_[i].c_str(), lost_[i].reason.c_str()});
  }
  LostDevices(const LostDevices&) = delete;
  LostDevices& operator=(const LostDevices&) = delete;
  const std::vector<parallax_lost_device>& entries() const { return entries_; }

 private:
  const std::vector<LostDevice> lost_;
  std::vector<std::string> names_;
  std::vector<parallax_lost_device> entries_;
};

}  // namespace
}  // namespace parallax::c

extern "C" {

parallax_code parallax_pool_create(parallax_matcher* matcher, const char* devices,
                                   const parallax_pool_limits* limits, parallax_pool** pool) {
  return c::call([&] {
    c::required(pool, "pool");
    const c::Settings settings = c::settings_of(matcher);
    *pool = new parallax_pool(settings, c::devices_of(settings, devices), c::options_of(settings, limits));
  });
}

parallax_code parallax_pool_retain(parallax_pool* pool) {
  return c::call([&] { ++c::required(pool, "pool").references; });
}

void parallax_pool_release(parallax_pool* pool) {
  if (pool != nullptr && --pool->references == 0) delete pool;
}

parallax_code parallax_pool_submit(parallax_pool* pool, const parallax_pair* pair, const parallax_map* map,
                                   parallax_matcher* matcher, uint64_t* number) {
  return c::use(pool, [&](MatcherPool& used) {
    const StereoPair images = c::pair_of(pair);
    const DisparityMap outputs = c::map_of(map);
    c::required(number, "number");
    *number = matcher == nullptr ? used.submit(images, outputs)
                                 : used.submit(images, outputs, c::matcher_parameters(matcher));
  });
}

parallax_code parallax_pool_wait(parallax_pool* pool, uint64_t number, parallax_matched* matched) {
  return c::use(pool, [&](MatcherPool& used) {
    c::check(matched);
    c::write(used.wait(number), matched);
  });
}

parallax_code parallax_pool_wait_any(parallax_pool* pool, int32_t* found, uint64_t* number,
                                     parallax_matched* matched) {
  return c::use(pool, [&](MatcherPool& used) {
    c::check(matched);
    c::required(found, "found");
    c::required(number, "number");
    try {
      const std::optional<MatchedPair> pair = used.wait_any();
      *found = pair ? 1 : 0;
      if (!pair) return;
      *number = pair->number;
      c::write(*pair, matched);
    } catch (const PairError& error) {
      *found = 1;
      *number = error.number();
      throw;
    }
  });
}

parallax_code parallax_pool_lost_devices(parallax_pool* pool, const parallax_lost_device** devices,
                                         size_t* count) {
  return c::use(pool, [&](MatcherPool& used) {
    c::required(devices, "devices");
    c::required(count, "count");
    static thread_local std::unique_ptr<const c::LostDevices> list;
    list = std::make_unique<const c::LostDevices>(used);
    *devices = list->entries().data();
    *count = list->entries().size();
  });
}

parallax_code parallax_pool_matchers(parallax_pool* pool, int32_t width, int32_t height, parallax_type type,
                                     int32_t* count) {
  return c::use(pool, [&](MatcherPool& used) {
    const ImageFormat format{{width, height}, c::depth_of(type, "type")};
    c::required(count, "count") = used.matchers(format);
  });
}

}  // extern "C"
