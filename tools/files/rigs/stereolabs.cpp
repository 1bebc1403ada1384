// SPDX-License-Identifier: Apache-2.0
// The .conf of Stereolabs' cameras: an INI file with sections of each camera and resolution, [LEFT_CAM_HD],
// and of the pair, [STEREO], in millimetres. As their calibration program writes it: Baseline = −T[0], TY =
// T[1], TZ = T[2], and RX, CV, RZ are the vector of Rodrigues of R, with x_right = R · x_left + T. Their C++
// sample gives stereoRectify() a T with Baseline above 0 and the same TY and TZ, which is another rig; their
// Python sample agrees with the calibration program.
#include <algorithm>
#include <map>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

struct Resolution {
  const char* name;
  Size size;
};
constexpr Resolution resolutions[] = {
    {"2K", {2208, 1242}}, {"FHD", {1920, 1080}},     {"HD", {1280, 720}},       {"VGA", {672, 376}},
    {"4k", {3840, 2160}}, {"QHDPLUS", {3200, 1800}}, {"FHD1200", {1920, 1200}}, {"SVGA", {960, 600}}};

// Sections and keys are in either case, as in Stereolabs' own readers.
class Ini {
 public:
  explicit Ini(const RigFile& file) : name_(file.name) {
    std::string section;
    for_each_line(file.text, [&](std::string_view line) {
      if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos || line.starts_with(';') || line.starts_with('#')) return;
      const std::string_view value = line.substr(equals + 1);
      values_[lower(section)][lower(trimmed(line.substr(0, equals)))] =
          number_in_text(trimmed(value.substr(0, value.find_first_of(";#"))));
    });
  }

  bool has(const std::string& section, const std::string& key) const {
    const auto found = values_.find(lower(section));
    return found != values_.end() && found->second.contains(lower(key));
  }
  bool has(const std::string& section) const { return values_.contains(lower(section)); }

  std::string place(const std::string& section, const std::string& key) const {
    return name_ + ": [" + section + "] " + key;
  }

  // \throws Error (file)
  double number(const std::string& section, const std::string& key) const {
    if (!has(section, key)) fail_at(place(section, key), "is missing: give the complete file of the camera");
    return checked({&values_.at(lower(section)).at(lower(key)), 1}, place(section, key));
  }
  double number_or_0(const std::string& section, const std::string& key) const {
    return has(section, key) ? number(section, key) : 0;
  }

 private:
  static std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
  }

  std::string name_;
  std::map<std::string, std::map<std::string, double>> values_;
};

// The chosen resolution; if none was chosen, that of the pictures, or the only one in the file.
const Resolution& resolution_of(const Ini& ini, const RigFile& file, const RigChoices& choices) {
  const Resolution* found = nullptr;
  std::string sizes;
  for (const Resolution& resolution : resolutions) {
    if (!ini.has("LEFT_CAM_" + std::string(resolution.name))) continue;
    const std::string size =
        std::to_string(resolution.size.width) + "x" + std::to_string(resolution.size.height);
    sizes += (sizes.empty() ? "" : ", ") + size;
    if (resolution.size == choices.size) return resolution;
    if (choices.size == Size{} && resolution.size == choices.picture_sizes[0]) return resolution;
    if (found == nullptr) found = &resolution;
  }
  if (found == nullptr)
    fail_at(file.name,
            "has no section of a known resolution, such as [LEFT_CAM_HD]: give a Stereolabs .conf");
  if (choices.size != Size{})
    fail_at(file.name, "has no cameras of " + text(choices.size) + ": give with --size one of " + sizes);
  if (sizes.find(',') != std::string::npos)
    fail_at(file.name, "has cameras of several sizes: choose the images' one with --size: " + sizes);
  return *found;
}

// Newer files have the lens in a section for all resolutions: a rational model, or without p1 an equidistant
// one.
void read_stereolabs_lens(const Ini& ini, const std::string& side, const std::string& section,
                          Camera& camera) {
  const std::string lens = side + "_DISTO";
  std::vector<const char*> keys{"k1", "k2", "k3", "k4"};
  if (ini.has(lens, "p1")) keys = {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"};
  std::vector<double> values;
  if (ini.has(lens)) {
    for (const char* key : keys) values.push_back(ini.number(lens, key));
    const LensModel model = values.size() == 4 ? LensModel::equidistant : LensModel::radial_tangential;
    return set_lens(camera, model, values, ini.place(lens, "k1"));
  }
  for (const char* key : {"k1", "k2"}) values.push_back(ini.number(section, key));
  for (const char* key : {"p1", "p2", "k3"}) values.push_back(ini.number_or_0(section, key));
  set_lens(camera, LensModel::radial_tangential, values, ini.place(section, "k1"));
}

Camera stereolabs_camera(const Ini& ini, const std::string& side, const Resolution& resolution) {
  const std::string section = side + "_CAM_" + resolution.name;
  const auto number = [&](const char* key) { return ini.number(section, key); };
  Camera camera{resolution.size, number("fx"), number("fy"), number("cx"), number("cy")};
  read_stereolabs_lens(ini, side, section, camera);
  return camera;
}

std::string ini_line(const std::string& key, double value) {
  return key + "=" + number_text(value) + "\n";
}

// One or two sections of a camera.
std::string stereolabs_sections(const std::string& side, const std::string& resolution, const Camera& c,
                                bool lens_apart) {
  std::string text = "[" + side + "_CAM_" + resolution + "]\n" + ini_line("fx", c.focal_x) +
                     ini_line("fy", c.focal_y) + ini_line("cx", c.centre_x) + ini_line("cy", c.centre_y);
  if (lens_apart) text += "\n[" + side + "_DISTO]\n";
  std::vector<std::string> keys{"k1", "k2", "p1", "p2", "k3"};
  if (lens_apart) keys.insert(keys.end(), {"k4", "k5", "k6"});
  if (c.model == LensModel::equidistant) keys = {"k1", "k2", "k3", "k4"};
  for (std::size_t i = 0; i < keys.size(); ++i) text += ini_line(keys[i], c.distortion[i]);
  return text + "\n";
}

}  // namespace

Rig read_stereolabs_rig(const RigFile& file, const RigChoices& choices) {
  const Ini ini(file);
  const Resolution& resolution = resolution_of(ini, file, choices);
  const std::string suffix = std::string("_") + resolution.name;
  // Some files have one value for all resolutions.
  const auto shift = [&](const std::string& key) {
    return ini.number_or_0("STEREO", ini.has("STEREO", key + suffix) ? key + suffix : key);
  };
  Rig rig;
  rig.left = stereolabs_camera(ini, "LEFT", resolution);
  rig.right = stereolabs_camera(ini, "RIGHT", resolution);
  rig.rotation = rotation_about({ini.number("STEREO", "RX" + suffix), ini.number("STEREO", "CV" + suffix),
                                 ini.number("STEREO", "RZ" + suffix)});
  rig.translation = {-ini.number("STEREO", "Baseline") / millimetres_in_a_metre,
                     shift("TY") / millimetres_in_a_metre, shift("TZ") / millimetres_in_a_metre};
  return finished(rig, choices,
                  {ini.place("LEFT_CAM" + suffix, "fx"), ini.place("RIGHT_CAM" + suffix, "fx"),
                   ini.place("STEREO", "RX" + suffix), ini.place("STEREO", "Baseline")});
}

std::string encode_stereolabs_rig(const Rig& rig) {
  const std::string format = "Stereolabs' format";
  need_model(rig, rig.left.model, format);
  const auto found = std::find_if(std::begin(resolutions), std::end(resolutions), [&](const auto& each) {
    return each.size == rig.left.size && each.size == rig.right.size;
  });
  if (found == std::end(resolutions)) cannot_hold(format, "images of " + text(rig.left.size));
  const std::size_t most =
      std::max(lens_coefficients(rig.left, 8, format).size(), lens_coefficients(rig.right, 8, format).size());
  const bool lens_apart = rig.left.model == LensModel::equidistant || most > 5;
  const std::string name = found->name;
  const Vector3 axis = axis_of(rig.rotation), &t = rig.translation;
  return stereolabs_sections("LEFT", name, rig.left, lens_apart) +
         stereolabs_sections("RIGHT", name, rig.right, lens_apart) + "[STEREO]\n" +
         ini_line("Baseline", -t[0] * millimetres_in_a_metre) +
         ini_line("TY", t[1] * millimetres_in_a_metre) + ini_line("TZ", t[2] * millimetres_in_a_metre) +
         ini_line("RX_" + name, axis[0]) + ini_line("CV_" + name, axis[1]) + ini_line("RZ_" + name, axis[2]);
}

}  // namespace parallax::tool
