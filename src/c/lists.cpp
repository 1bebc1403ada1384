// SPDX-License-Identifier: Apache-2.0
// Methods, presets, parameters and devices as arrays of C.
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "parallax/device.h"
#include "parallax/parameters.h"
#include "parallax/process.h"

#include "c/call.h"
#include "core/checks.h"

namespace parallax::c {
namespace {

// Strings, and pointers to them.
class Names {
 public:
  explicit Names(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (const std::string& text : texts_) pointers_.push_back(text.c_str());
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;
  const char* const* data() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  const std::vector<std::string> texts_;
  std::vector<const char*> pointers_;
};

std::vector<std::string> names_of(const std::vector<DeviceKind>& devices) {
  std::vector<std::string> names;
  for (const DeviceKind device : devices) names.emplace_back(name(device));
  return names;
}

class Parameters {
 public:
  explicit Parameters(const std::string& method) {
    const MatcherParameters defaults = preset(method, "default");
    for (const ParameterInfo& parameter : list_parameters(method)) {
      const ParameterInfo& info = infos_.emplace_back(parameter);
      const Names& choices = names_.emplace_back(info.choices);
      const std::string& value = values_.emplace_back(get_parameter(defaults, info.name));
      const Names& devices = names_.emplace_back(names_of(info.devices));
      std::vector<std::string> texts;
      for (const std::vector<DeviceKind>& kinds : info.choice_devices) texts.push_back(join(names_of(kinds)));
      const Names& choice_devices = names_.emplace_back(std::move(texts));
      entries_.push_back({sizeof(parallax_parameter), info.name.c_str(),
                          static_cast<parallax_kind>(info.kind), info.optional, info.expert,
                          info.help.c_str(), info.unit.c_str(), info.allowed.c_str(), info.group.c_str(),
                          value.c_str(), info.least, info.most, choices.data(), choices.size(),
                          devices.data(), devices.size(), choice_devices.data()});
    }
    for (const parallax_parameter& entry : entries_) pointers_.push_back(&entry);
  }
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;
  const parallax_parameter* const* data() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  // Their elements do not move.
  std::deque<ParameterInfo> infos_;
  std::deque<Names> names_;
  std::deque<std::string> values_;
  std::deque<parallax_parameter> entries_;
  std::vector<const parallax_parameter*> pointers_;
};

class Devices {
 public:
  Devices() : described_(list_devices()) {
    for (const DeviceDescription& device : described_)
      entries_.push_back({sizeof(parallax_device), device.device.c_str(), device.description.c_str()});
    for (const parallax_device& entry : entries_) pointers_.push_back(&entry);
  }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  const parallax_device* const* data() const { return pointers_.data(); }
  std::size_t size() const { return pointers_.size(); }

 private:
  const std::vector<DeviceDescription> described_;
  std::vector<parallax_device> entries_;
  std::vector<const parallax_device*> pointers_;
};

// The list of a method, made once and kept as long as the process.
template <class List, class Make>
const List& kept(const char* method, const Make& make) {
  static std::mutex mutex;
  static auto& lists = *new std::map<std::string, List>;
  const std::string name = text(method, "method");
  const std::lock_guard lock(mutex);
  if (const auto found = lists.find(name); found != lists.end()) return found->second;
  return lists.try_emplace(name, make(name)).first->second;
}

template <class List, class Entry>
void give(const List& list, Entry* entries, std::size_t* count, std::string_view name) {
  required(entries, name);
  required(count, "count");
  *entries = list.data();
  *count = list.size();
}

}  // namespace
}  // namespace parallax::c

using namespace parallax;

extern "C" {

parallax_code parallax_list_methods(const char* const** names, size_t* count) {
  return c::call([&] {
    static const auto& methods = *new c::Names(list_methods());
    c::give(methods, names, count, "names");
  });
}

parallax_code parallax_list_presets(const char* method, const char* const** names, size_t* count) {
  return c::call([&] {
    c::give(c::kept<c::Names>(method, [](const std::string& name) { return list_presets(name); }), names,
            count, "names");
  });
}

parallax_code parallax_list_parameters(const char* method, const parallax_parameter* const** parameters,
                                       size_t* count) {
  return c::call([&] {
    c::give(c::kept<c::Parameters>(method, [](const std::string& name) { return name; }), parameters, count,
            "parameters");
  });
}

parallax_code parallax_list_devices(const parallax_device* const** devices, size_t* count) {
  return c::call([&] {
    static thread_local std::unique_ptr<const c::Devices> list;
    list = std::make_unique<const c::Devices>();
    c::give(*list, devices, count, "devices");
  });
}

parallax_code parallax_set_log(parallax_log_function log, void* user) {
  return c::call([&] {
    if (log == nullptr) return on_compilation(nullptr);
    on_compilation([log, user](const std::string& device) {
      log(user, ("compiling kernels for " + device + "; later runs find them in the cache").c_str());
    });
  });
}

}  // extern "C"
