// SPDX-License-Identifier: Apache-2.0
// The properties that choose a method and its parameters, and the matcher that they make.
#pragma once
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <glib-object.h>
#include <parallax/parallax_c.h>

namespace parallax_gst {

struct LibraryError : std::runtime_error {
  LibraryError(parallax_code failure, const std::string& message)
      : std::runtime_error(message), code(failure) {}
  parallax_code code;
};

// Throws a LibraryError with the library's message, unless the code is PARALLAX_OK.
void check(parallax_code code, const std::string& prefix = "");

struct ReleaseMatcher {
  void operator()(parallax_matcher* matcher) const { parallax_matcher_release(matcher); }
};
using Matcher = std::unique_ptr<parallax_matcher, ReleaseMatcher>;

// Makes an enumeration of GLib; the values count from 0. It is never freed, as GLib requires.
GType make_enum(const std::string& type_name, const std::vector<std::string>& nicks);

// A property for each parameter of any method, "prefilter_cap" as "prefilter-cap".
class Settings {
 public:
  // The identifiers of the class are these plus `offset`.
  enum Property : guint { method, preset, device, threads, first_parameter };
  static void install(GObjectClass* object_class, guint offset);

  Settings();
  void set(guint property, const GValue* value);
  void get(guint property, GValue* value) const;

  // Makes a matcher from the preset and from the parameters that were set.
  Matcher matcher() const;
  int thread_count() const { return threads_; }

 private:
  Matcher preset_matcher() const;
  std::string parameter_text(std::size_t index) const;

  std::string method_, preset_ = "default", device_ = "auto";
  int threads_ = 0;
  std::vector<std::optional<std::string>> values_;  // as text; empty if the parameter was not set
};

}  // namespace parallax_gst
