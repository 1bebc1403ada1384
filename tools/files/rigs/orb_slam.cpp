// SPDX-License-Identifier: Apache-2.0
// Settings of ORB-SLAM2 and 3, in metres. Version 2 has a rectified pair in Camera.fx, … and Camera.bf = f ·
// baseline, and may have the cameras before rectification in LEFT.K, …, like ROS's camera_info. Version 3 has
// Camera1.fx, … and Camera2.fx, … with the right camera's pose in the left one's coordinates, Stereo.T_c1_c2
// (or Tlr), or a rectified pair with the baseline Stereo.b.
#include <algorithm>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

class OrbFile {
 public:
  explicit OrbFile(const RigFile& file)
      : file_(file),
        document_(parse_stored(StoredFormat::yaml, file.text, file.name, "the settings of ORB-SLAM")) {}

  bool has(const std::string& key) const { return document_->has(key); }
  std::string place(const std::string& key) const { return key_in(file_, key); }
  std::string word(const std::string& key) const { return document_->entry(key).text; }
  const std::string& name() const { return file_.name; }

  double number(const std::string& key) const { return checked(document_->entry(key).numbers, place(key)); }
  double number_or(const std::string& key, double other) const { return has(key) ? number(key) : other; }
  std::vector<double> values(const std::string& key) const {
    const StoredEntry entry = document_->entry(key);
    return entry.matrix.values.empty() ? entry.numbers : entry.matrix.values;
  }
  std::vector<double> matrix(const std::string& key, std::size_t count) const {
    const std::vector<double> found = values(key);
    checked(found, count, place(key));
    return found;
  }

  Size size(const std::string& before) const {
    if (!has(before + "width") && !has(before + "height")) return {};
    const double sides[] = {number(before + "width"), number(before + "height")};
    return size_at(sides, place(before + "width"));
  }

 private:
  const RigFile& file_;
  std::unique_ptr<StoredDocument> document_;
};

// Camera.fx, Camera.k1, ….
Camera orb_camera(const OrbFile& file, const std::string& before, const RigChoices& choices) {
  Camera camera;
  camera.size = size_of_images(file.size("Camera."), choices, file.place("Camera.width"));
  camera.focal_x = file.number(before + "fx");
  camera.focal_y = file.number(before + "fy");
  camera.centre_x = file.number(before + "cx");
  camera.centre_y = file.number(before + "cy");
  const bool fisheye = file.word("Camera.type") == "KannalaBrandt8";
  std::vector<double> lens;
  for (const char* key : {"k1", "k2", fisheye ? "k3" : "p1", fisheye ? "k4" : "p2"})
    lens.push_back(file.number_or(before + key, 0));
  if (!fisheye)
    for (const char* key : {"k3", "k4", "k5", "k6"}) lens.push_back(file.number_or(before + key, 0));
  set_lens(camera, fisheye ? LensModel::equidistant : LensModel::radial_tangential, lens,
           file.place(before + "k1"));
  return camera;
}

// The baseline of the rectified pair.
double orb_baseline(const OrbFile& file, const std::string& before) {
  if (file.has("Stereo.b")) return file.number("Stereo.b");
  return file.number("Camera.bf") / file.number(before + "fx");
}

std::string prefix(const OrbFile& file) {
  return file.has("Camera1.fx") ? "Camera1." : "Camera.";
}

Rig rectified_orb_rig(const OrbFile& file, const RigChoices& choices) {
  const std::string before = prefix(file);
  const std::string key = file.has("Stereo.b") ? "Stereo.b" : "Camera.bf";
  Rig rig;
  rig.left = rig.right = orb_camera(file, before, choices);
  if (rig.left.distortion != Camera().distortion)
    fail_at(file.place(before + "k1"),
            "is not 0, so the pictures are not rectified, and the file has no second camera: give a "
            "calibration of both cameras");
  rig.translation = {-orb_baseline(file, before), 0, 0};
  return finished(rig, choices,
                  {file.place(before + "fx"), file.place(before + "fx"), file.place(key), file.place(key)});
}

// LEFT.K, LEFT.D, LEFT.R, LEFT.P.
struct OrbSide {
  Camera camera;
  Matrix3 rectification;
  Projection projection;
};

OrbSide orb_side(const OrbFile& file, const std::string& side, const RigChoices& choices) {
  OrbSide result;
  const Size own = file.size(side + ".");
  result.camera.size =
      size_of_images(own == Size{} ? file.size("Camera.") : own, choices, file.place(side + ".width"));
  set_intrinsics(result.camera, file.matrix(side + ".K", 9), file.place(side + ".K"));
  const std::vector<double> lens = file.values(side + ".D");
  if (!file.has(side + ".D")) fail_at(file.place(side + ".D"), "is missing: give the whole calibration");
  if (!lens.empty()) set_lens(result.camera, LensModel::radial_tangential, lens, file.place(side + ".D"));
  copy_numbers(file.matrix(side + ".R", 9), result.rectification);
  result.projection = projection_at(file.matrix(side + ".P", 12), file.place(side + ".P"));
  return result;
}

Rig orb_rig_of_sides(const OrbFile& file, const RigChoices& choices) {
  const OrbSide left = orb_side(file, "LEFT", choices), right = orb_side(file, "RIGHT", choices);
  Rig rig;
  rig.left = left.camera;
  rig.right = right.camera;
  const Matrix3 back = transposed(right.rectification);
  rig.rotation = product(back, left.rectification);
  rig.translation = product(back, rectified_rig(left.projection, right.projection, {}).translation);
  return finished(
      rig, choices,
      {file.place("LEFT.K"), file.place("RIGHT.K"), file.place("RIGHT.R"), file.place("RIGHT.P")});
}

// The pose of the right camera leads to the left one's coordinates.
Rig orb_rig_with_pose(const OrbFile& file, const std::string& pose, const RigChoices& choices) {
  const std::vector<double> all = file.values(pose);
  const std::vector<double> m = file.matrix(pose, all.size() == 12 ? 12 : 16);
  Rig rig;
  rig.left = orb_camera(file, prefix(file), choices);
  rig.right = orb_camera(file, "Camera2.", choices);
  rig.rotation = transposed({m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]});
  rig.translation = product(rig.rotation, Vector3{-m[3], -m[7], -m[11]});
  const std::string key = file.place(pose);
  return finished(rig, choices, {file.place(prefix(file) + "fx"), file.place("Camera2.fx"), key, key});
}

}  // namespace

Rig read_orb_slam_rig(const RigFile& rig_file, const RigChoices& choices) {
  const OrbFile file(rig_file);
  if (file.has("LEFT.K") || file.has("RIGHT.K")) return orb_rig_of_sides(file, choices);
  for (const char* pose : {"Stereo.T_c1_c2", "Tlr"})
    if (file.has(pose)) return orb_rig_with_pose(file, pose, choices);
  return read_rectified_orb_slam_rig(rig_file, choices);
}

Rig read_rectified_orb_slam_rig(const RigFile& rig_file, const RigChoices& choices) {
  const OrbFile file(rig_file);
  const bool has_pose = file.has("Stereo.T_c1_c2") || file.has("Tlr");
  if (file.has("DepthMapFactor") || file.has("RGBD.DepthMapFactor"))
    fail_at(file.name(), "has the settings of a depth camera, not of two cameras: give a stereo calibration");
  if (!has_pose && (file.has("Camera.bf") || file.has("Stereo.b"))) return rectified_orb_rig(file, choices);
  if (has_pose)
    fail_at(file.name(), "has the cameras before rectification, not a rectified pair: give it with --rig");
  fail_at(file.name(),
          "has neither Camera.bf, Stereo.b nor Stereo.T_c1_c2: give the settings of a stereo pair");
}

}  // namespace parallax::tool
