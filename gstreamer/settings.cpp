// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

namespace parallax_gst {
namespace {

constexpr auto changeable = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);

// A parameter, and its form as a property. Methods may declare the same name with other limits or choices.
struct Declared {
  std::string name;  // "prefilter_cap"
  std::string property;
  parallax_kind kind;
  bool optional;
  std::string default_value;
  std::string help;
  std::vector<std::string> methods;
  std::vector<std::pair<std::string, std::string>> allowed;  // "block, census" → "an odd number from 1 to 31"
  std::string blurb;
  std::vector<std::string> choices;
  GType choice_type = G_TYPE_INVALID;
};

std::vector<std::string> methods() {
  const char* const* names = nullptr;
  std::size_t count = 0;
  check(parallax_list_methods(&names, &count));
  return {names, names + count};
}

std::string presets() {
  std::string text;
  for (const std::string& name : methods()) {
    const char* const* names = nullptr;
    std::size_t count = 0;
    check(parallax_list_presets(name.c_str(), &names, &count));
    text += (text.empty() ? "" : "; ") + name + ":";
    for (std::size_t i = 0; i < count; ++i) text += std::string(i == 0 ? " " : ", ") + names[i];
  }
  return text;
}

void append_missing(std::vector<std::string>& to, const parallax_parameter& parameter) {
  for (std::size_t i = 0; i < parameter.choice_count; ++i)
    if (std::find(to.begin(), to.end(), parameter.choices[i]) == to.end()) to.push_back(parameter.choices[i]);
}

Declared declare(const parallax_parameter& parameter) {
  Declared declared{.name = parameter.name,
                    .property = parameter.name,
                    .kind = parameter.kind,
                    .optional = parameter.optional != 0,
                    .default_value = parameter.default_value,
                    .help = parameter.help,
                    .methods = {},
                    .allowed = {},
                    .blurb = {},
                    .choices = {}};
  std::replace(declared.property.begin(), declared.property.end(), '_', '-');
  return declared;
}

void merge(Declared& declared, const std::string& method, const parallax_parameter& parameter) {
  const bool mixed = declared.kind != parameter.kind &&
                     (declared.kind == PARALLAX_INTEGER || declared.kind == PARALLAX_NUMBER);
  if (mixed) declared.kind = PARALLAX_NUMBER;
  declared.optional |= parameter.optional != 0;
  declared.methods.push_back(method);
  append_missing(declared.choices, parameter);
  for (auto& [methods, allowed] : declared.allowed)
    if (allowed == parameter.allowed) {
      methods += ", " + method;
      return;
    }
  declared.allowed.emplace_back(method, parameter.allowed);
}

std::string blurb_of(const Declared& declared) {
  std::string text = declared.help;
  for (const auto& [methods, allowed] : declared.allowed)
    text += (text == declared.help ? " (" : "; ") + methods + ": " + allowed;
  return text + ")";
}

void check_method(const Declared& declared, const std::string& method) {
  const auto& methods = declared.methods;
  if (std::find(methods.begin(), methods.end(), method) != methods.end()) return;
  std::string others;
  for (const std::string& other : methods) others += (others.empty() ? "" : " or ") + other;
  throw LibraryError(PARALLAX_ERROR_ARGUMENT, "property '" + declared.property + "': method " + method +
                                                  " has no such parameter: leave it out, or choose method " +
                                                  others);
}

std::vector<Declared> list_declared() {
  std::vector<Declared> all;
  for (const std::string& method : methods()) {
    const parallax_parameter* const* parameters = nullptr;
    std::size_t count = 0;
    check(parallax_list_parameters(method.c_str(), &parameters, &count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto same = [&](const Declared& declared) { return declared.name == parameters[i]->name; };
      auto found = std::find_if(all.begin(), all.end(), same);
      if (found == all.end()) found = all.insert(all.end(), declare(*parameters[i]));
      merge(*found, method, *parameters[i]);
    }
  }
  for (Declared& declared : all) {
    declared.blurb = blurb_of(declared);
    if (declared.kind == PARALLAX_CHOICE)
      declared.choice_type = make_enum("GstParallaxStereo-" + declared.property, declared.choices);
  }
  return all;
}

const std::vector<Declared>& all_declared() {
  static const std::vector<Declared> all = list_declared();
  return all;
}

GType method_type() {
  static const GType type = make_enum("GstParallaxStereo-method", methods());
  return type;
}

int enum_value(GType type, const std::string& nick) {
  auto* values = static_cast<GEnumClass*>(g_type_class_ref(type));
  const GEnumValue* found = g_enum_get_value_by_nick(values, nick.c_str());
  g_type_class_unref(values);
  return found == nullptr ? 0 : found->value;
}

// Numbers have no limits here, because GLib would print a warning and go on without a value that the library
// refuses.
GParamSpec* spec_of(const Declared& declared) {
  const char* name = declared.property.c_str();
  const char* blurb = declared.blurb.c_str();
  const std::string& value = declared.default_value;
  if (declared.optional) return g_param_spec_string(name, name, blurb, value.c_str(), changeable);
  switch (declared.kind) {
    case PARALLAX_FLAG:
      return g_param_spec_boolean(name, name, blurb, value == "true", changeable);
    case PARALLAX_INTEGER:
      return g_param_spec_int(name, name, blurb, INT_MIN, INT_MAX, std::atoi(value.c_str()), changeable);
    case PARALLAX_NUMBER:
      return g_param_spec_double(name, name, blurb, -G_MAXDOUBLE, G_MAXDOUBLE,
                                 g_ascii_strtod(value.c_str(), nullptr), changeable);
    case PARALLAX_CHOICE:
      return g_param_spec_enum(name, name, blurb, declared.choice_type,
                               enum_value(declared.choice_type, value), changeable);
  }
  return nullptr;
}

std::string text_of(const GValue* value) {
  if (G_VALUE_HOLDS_BOOLEAN(value)) return g_value_get_boolean(value) ? "true" : "false";
  if (G_VALUE_HOLDS_INT(value)) return std::to_string(g_value_get_int(value));
  if (G_VALUE_HOLDS_DOUBLE(value)) {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_ascii_dtostr(text, sizeof(text), g_value_get_double(value));
  }
  if (G_VALUE_HOLDS_ENUM(value)) {
    auto* values = static_cast<GEnumClass*>(g_type_class_peek(G_VALUE_TYPE(value)));
    return g_enum_get_value(values, g_value_get_enum(value))->value_nick;
  }
  const char* text = g_value_get_string(value);
  return text == nullptr ? "" : text;
}

void assign(GValue* value, const std::string& text) {
  if (G_VALUE_HOLDS_BOOLEAN(value))
    g_value_set_boolean(value, text == "true");
  else if (G_VALUE_HOLDS_INT(value))
    g_value_set_int(value, std::atoi(text.c_str()));
  else if (G_VALUE_HOLDS_DOUBLE(value))
    g_value_set_double(value, g_ascii_strtod(text.c_str(), nullptr));
  else if (G_VALUE_HOLDS_ENUM(value))
    g_value_set_enum(value, enum_value(G_VALUE_TYPE(value), text));
  else
    g_value_set_string(value, text.c_str());
}

}  // namespace

void check(parallax_code code, const std::string& prefix) {
  if (code != PARALLAX_OK) throw LibraryError(code, prefix + parallax_error_message());
}

GType make_enum(const std::string& type_name, const std::vector<std::string>& nicks) {
  auto* values = g_new0(GEnumValue, nicks.size() + 1);
  for (std::size_t i = 0; i < nicks.size(); ++i) {
    const char* nick = g_intern_string(nicks[i].c_str());
    values[i] = {static_cast<gint>(i), nick, nick};
  }
  return g_enum_register_static(g_intern_string(type_name.c_str()), values);
}

void Settings::install(GObjectClass* object_class, guint offset) {
  static const std::string preset_blurb =
      "Initial values of the parameters; properties that are set override them. " + presets();
  const auto install = [&](guint id, GParamSpec* spec) {
    g_object_class_install_property(object_class, offset + id, spec);
  };
  install(method, g_param_spec_enum("method", "method", "Matching method", method_type(),
                                    enum_value(method_type(), Settings().method_), changeable));
  install(preset, g_param_spec_string("preset", "preset", preset_blurb.c_str(), "default", changeable));
  install(device,
          g_param_spec_string("device", "device",
                              "Device to match on: auto, reference, cpu, cuda, cuda:N, opencl or opencl:P.D",
                              "auto", changeable));
  install(threads, g_param_spec_int("threads", "threads", "Number of CPU threads; 0 = one for each core",
                                    INT_MIN, INT_MAX, 0, changeable));
  guint id = first_parameter;
  for (const Declared& declared : all_declared()) install(id++, spec_of(declared));
}

Settings::Settings() : method_("census"), values_(all_declared().size()) {}

void Settings::set(guint property, const GValue* value) {
  const std::string text = text_of(value);
  if (property == method)
    method_ = text;
  else if (property == preset)
    preset_ = text;
  else if (property == device)
    device_ = text;
  else if (property == threads)
    threads_ = g_value_get_int(value);
  else
    values_.at(property - first_parameter) = text;
}

void Settings::get(guint property, GValue* value) const {
  if (property == method)
    assign(value, method_);
  else if (property == preset)
    assign(value, preset_);
  else if (property == device)
    assign(value, device_);
  else if (property == threads)
    g_value_set_int(value, threads_);
  else
    assign(value, parameter_text(property - first_parameter));
}

// A parameter that was not set has the preset's value, or its default if the method does not declare it.
std::string Settings::parameter_text(std::size_t index) const {
  const Declared& declared = all_declared().at(index);
  if (values_[index]) return *values_[index];
  parallax_matcher* made = nullptr;
  if (parallax_matcher_create(method_.c_str(), preset_.c_str(), &made) != PARALLAX_OK)
    return declared.default_value;
  const Matcher owner(made);
  const char* text = nullptr;
  if (parallax_matcher_get_string(made, declared.name.c_str(), &text) != PARALLAX_OK)
    return declared.default_value;
  return text;
}

Matcher Settings::preset_matcher() const {
  parallax_matcher* made = nullptr;
  check(parallax_matcher_create(method_.c_str(), preset_.c_str(), &made), "property 'preset': ");
  return Matcher(made);
}

Matcher Settings::matcher() const {
  Matcher made = preset_matcher();
  check(parallax_matcher_set_device(made.get(), device_.c_str(), threads_),
        "property 'device' or 'threads': ");
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i]) continue;
    const Declared& declared = all_declared()[i];
    check_method(declared, method_);
    check(parallax_matcher_set_string(made.get(), declared.name.c_str(), values_[i]->c_str()),
          "property '" + declared.property + "': ");
  }
  return made;
}

}  // namespace parallax_gst
