// SPDX-License-Identifier: Apache-2.0
// The description of a method that each room gives in its method.cpp: everything that the rest of the
// library, the command line and the documentation know about it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/margins.h"
#include "parallax/parameters.h"
#include "parallax/rows.h"

#include "core/checks.h"
#include "core/fields.h"
#include "core/integers.h"
#include "matchers/registry.h"

namespace parallax::detail {

template <class Parameters>
struct Preset {
  const char* name;
  Parameters (*make)();
};

template <class Parameters>
struct Declaration {
  std::string name;  // as the command line spells it
  std::vector<Preset<Parameters>> presets;
  Fields (*fields)(Parameters& parameters);
  Margins (*margins)(const Parameters& parameters, const ImageFormat& format, int padding);
  // Null for a method that minimises no energy.
  double (*energy)(const Parameters& parameters, const StereoPair& pair,
                   View<const float> disparity) = nullptr;
  bool approximate_tiles = false;
  bool volume = false;                       // takes StereoPair::costs
  bool two_axes = false;                     // labels are columns and rows
  bool Parameters::*full_row = nullptr;      // the field that selects full rows
  int Parameters::*row_tolerance = nullptr;  // the field of rows searched above and below
  ComparedRows Parameters::*rows = nullptr;  // the field of rows that are moved first
  std::vector<Backend> backends;
};

class Method {
 public:
  virtual ~Method() = default;
  const std::string& name() const { return name_; }
  // The backends in this build.
  const std::vector<Backend>& backends() const { return backends_; }

  virtual bool takes(const MatcherParameters& parameters) const = 0;
  virtual std::vector<std::string> presets() const = 0;
  // \throws Error (argument)
  virtual MatcherParameters preset(std::string_view name) const = 0;
  virtual Fields fields(MatcherParameters& parameters) const = 0;
  virtual Margins margins(const MatcherParameters& parameters, const ImageFormat& format,
                          int padding) const = 0;
  // \throws Error (argument) where the method minimises no energy
  virtual double energy(const MatcherParameters& parameters, const StereoPair& pair,
                        View<const float> disparity) const = 0;
  virtual Capabilities capabilities() const = 0;
  virtual bool searches_full_rows(const MatcherParameters& parameters) const = 0;
  virtual bool searches_rows(const MatcherParameters& parameters) const = 0;
  virtual ComparedRows compared_rows(const MatcherParameters& parameters) const = 0;
  // Whether its maps are of vectors.
  virtual bool finds_motion() const = 0;

 protected:
  Method(std::string name, std::vector<Backend> backends);

 private:
  std::string name_;
  std::vector<Backend> backends_;
};

// \throws Error (argument)
[[noreturn]] void refuse_energy(const std::string& method);

template <class Parameters>
class DeclaredMethod final : public Method {
 public:
  explicit DeclaredMethod(Declaration<Parameters> declaration)
      : Method(declaration.name, declaration.backends), declared_(std::move(declaration)) {}

  bool takes(const MatcherParameters& parameters) const override {
    return parameters.get_if<Parameters>() != nullptr;
  }
  std::vector<std::string> presets() const override {
    std::vector<std::string> names;
    for (const Preset<Parameters>& preset : declared_.presets) names.emplace_back(preset.name);
    return names;
  }
  MatcherParameters preset(std::string_view name) const override {
    for (const Preset<Parameters>& preset : declared_.presets)
      if (name == preset.name) return preset.make();
    refuse("preset", name, join(presets(), " or "));
  }
  Fields fields(MatcherParameters& parameters) const override {
    return declared_.fields(*parameters.get_if<Parameters>());
  }
  Margins margins(const MatcherParameters& parameters, const ImageFormat& format,
                  int padding) const override {
    return declared_.margins(*parameters.get_if<Parameters>(), format, padding);
  }
  double energy(const MatcherParameters& parameters, const StereoPair& pair,
                View<const float> disparity) const override {
    if (declared_.energy == nullptr) refuse_energy(declared_.name);
    return declared_.energy(*parameters.get_if<Parameters>(), pair, disparity);
  }
  Capabilities capabilities() const override {
    return {.full_row = declared_.full_row != nullptr,
            .volume = declared_.volume,
            .energy = declared_.energy != nullptr,
            .row_tolerance = declared_.row_tolerance != nullptr,
            .approximate_tiles = declared_.approximate_tiles};
  }
  bool searches_full_rows(const MatcherParameters& parameters) const override {
    return declared_.full_row != nullptr && parameters.get_if<Parameters>()->*declared_.full_row;
  }
  bool searches_rows(const MatcherParameters& parameters) const override {
    const auto tolerance = declared_.row_tolerance;
    return declared_.two_axes || (tolerance != nullptr && parameters.get_if<Parameters>()->*tolerance > 0);
  }
  ComparedRows compared_rows(const MatcherParameters& parameters) const override {
    if (declared_.rows == nullptr) return ComparedRows::given;
    return parameters.get_if<Parameters>()->*declared_.rows;
  }
  bool finds_motion() const override { return declared_.two_axes; }

 private:
  Declaration<Parameters> declared_;
};

template <class Parameters>
std::unique_ptr<Method> declare(Declaration<Parameters> declaration) {
  return std::make_unique<DeclaredMethod<Parameters>>(std::move(declaration));
}

// Backends of functions such as
//   std::unique_ptr<Plan> make(const Parameters&, const Device&, const ImageFormat&)
// and, where there is something to tune,
//   std::unique_ptr<Plan> make(const Parameters&, const Device&, const ImageFormat&, const Configuration&)
//   TuningSpace space(const Parameters&, const Device&, const ImageFormat&)
// For a device that is not in this build, the functions need not exist.
template <class Parameters>
struct Backends {
  using Make = std::unique_ptr<Plan>(const Parameters&, const Device&, const ImageFormat&);
  using MakeTuned = std::unique_ptr<Plan>(const Parameters&, const Device&, const ImageFormat&,
                                          const Configuration&);
  using Space = TuningSpace(const Parameters&, const Device&, const ImageFormat&);

  template <DeviceKind device, Make* make>
  static Backend backend() {
    if constexpr (!is_in_build(device)) return {device};
    return {device,
            [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format,
               const Configuration&) { return make(*parameters.get_if<Parameters>(), where, format); }};
  }

  template <DeviceKind device, MakeTuned* make, Space* space>
  static Backend tuned() {
    if constexpr (!is_in_build(device))
      return {device};
    else
      return {device,
              [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format,
                 const Configuration& configuration) {
                return make(*parameters.get_if<Parameters>(), where, format, configuration);
              },
              [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format) {
                return space(*parameters.get_if<Parameters>(), where, format);
              }};
  }
};

// All methods of this build, in the order in which they are listed.
std::vector<std::unique_ptr<Method>>& methods();
// The same, made anew; written by the build from the rooms that src/CMakeLists.txt lists.
std::vector<std::unique_ptr<Method>> methods_of_this_build();

// \throws Error (argument)
const Method& find_method(std::string_view name);
const Method& method_of(const MatcherParameters& parameters);

}  // namespace parallax::detail
