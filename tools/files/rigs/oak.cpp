// SPDX-License-Identifier: Apache-2.0
// The calibration of OAK cameras as depthai stores it: a list of cameras by their sockets. The extrinsics of
// a camera lead to the camera of another socket, X_other = R · X + t, in centimetres. Cameras have OpenCV's 14
// coefficients, or the 4 of a fisheye.
#include <algorithm>
#include <cmath>
#include <map>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

constexpr double centimetres_in_a_metre = 100;

// X of another camera is rotation · X + translation.
struct Motion {
  Matrix3 rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vector3 translation{};
};

Motion after(const Motion& second, const Motion& first) {
  Motion result{product(second.rotation, first.rotation), product(second.rotation, first.translation)};
  for (std::size_t i = 0; i < 3; ++i) result.translation[i] += second.translation[i];
  return result;
}

Motion inverse(const Motion& motion) {
  Motion result{transposed(motion.rotation), {}};
  result.translation = product(result.rotation, motion.translation);
  for (double& value : result.translation) value = -value;
  return result;
}

class OakFile {
 public:
  explicit OakFile(const RigFile& file)
      : file_(file),
        document_(parse_stored(StoredFormat::json, file.text, file.name, "the JSON of depthai")) {
    const std::size_t count = document_->entry("cameraData").children;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string path = "cameraData/" + std::to_string(i);
      const std::vector<double> socket = document_->entry(path + "/0").numbers;
      if (socket.size() == 1) paths_[socket[0]] = path + "/1";
    }
  }

  // The sockets of the stereo pair, if the file names them; otherwise 1 and 2.
  std::array<double, 2> pair() const {
    const auto socket = [&](const char* key, double usual) {
      const std::vector<double> found =
          document_->entry(std::string("stereoRectificationData/") + key).numbers;
      return found.size() == 1 && found[0] >= 0 ? found[0] : usual;
    };
    return {socket("leftCameraSocket", 1), socket("rightCameraSocket", 2)};
  }

  std::string place(double socket, const std::string& key) const {
    return key_in(file_, "camera " + number_text(socket) + ": " + key);
  }

  Camera camera(double socket, const RigChoices& choices) const {
    Camera camera;
    const double sides[] = {checked(numbers(socket, "width"), place(socket, "width")),
                            checked(numbers(socket, "height"), place(socket, "height"))};
    camera.size = size_of_images(size_at(sides, place(socket, "width")), choices, place(socket, "width"));
    set_intrinsics(camera, numbers(socket, "intrinsicMatrix"), place(socket, "intrinsicMatrix"));
    std::vector<double> lens = numbers(socket, "distortionCoeff");
    const std::vector<double> type = numbers(socket, "cameraType");
    const bool fisheye = type.size() == 1 && type[0] == 1;
    if (fisheye && lens.size() > 4) lens.resize(4);
    if (!lens.empty())
      set_lens(camera, fisheye ? LensModel::equidistant : LensModel::radial_tangential, lens,
               place(socket, "distortionCoeff"));
    return camera;
  }

  // From one camera to another, along the extrinsics that lead from each to a common one.
  Motion motion(double from, double to) const {
    const std::map<double, Motion> targets = reached(to);
    for (const auto& [socket, motion] : reached(from))
      if (const auto common = targets.find(socket); common != targets.end())
        return after(inverse(common->second), motion);
    fail_at(place(from, "extrinsics"), "do not lead to camera " + number_text(to) +
                                           ": calibrate again, or choose others with --cameras");
  }

 private:
  std::string path(double socket) const {
    const auto found = paths_.find(socket);
    if (found != paths_.end()) return found->second;
    std::string sockets;
    for (const auto& [each, path] : paths_) sockets += (sockets.empty() ? "" : ", ") + number_text(each);
    fail_at(file_.name, "has no camera at socket " + number_text(socket) +
                            ": choose two with --cameras; there are " + (sockets.empty() ? "none" : sockets));
  }

  std::vector<double> numbers(double socket, const std::string& key) const {
    const StoredEntry entry = document_->entry(path(socket) + "/" + key);
    return entry.matrix.values.empty() ? entry.numbers : entry.matrix.values;
  }

  // The cameras that the extrinsics lead to, with the motion from this one.
  std::map<double, Motion> reached(double socket) const {
    std::map<double, Motion> motions{{socket, {}}};
    for (Motion motion; paths_.contains(socket);) {
      const std::vector<double> next = numbers(socket, "extrinsics/toCameraSocket");
      if (next.size() != 1 || motions.contains(next[0]) || !paths_.contains(next[0])) break;
      motion = after(extrinsics(socket), motion);
      motions[socket = next[0]] = motion;
    }
    return motions;
  }

  Motion extrinsics(double socket) const {
    Motion motion;
    const std::vector<double> rotation = numbers(socket, "extrinsics/rotationMatrix");
    copy_numbers(checked(rotation, 9, place(socket, "rotationMatrix")), motion.rotation);
    const char* axes[] = {"x", "y", "z"};
    for (std::size_t i = 0; i < 3; ++i)
      motion.translation[i] = checked(numbers(socket, std::string("extrinsics/translation/") + axes[i]),
                                      place(socket, "translation")) /
                              centimetres_in_a_metre;
    return motion;
  }

  const RigFile& file_;
  std::unique_ptr<StoredDocument> document_;
  std::map<double, std::string> paths_;  // of cameras, by their sockets
};

}  // namespace

Rig read_oak_rig(const RigFile& file, const RigChoices& choices) {
  const OakFile oak(file);
  auto [left, right] = oak.pair();
  if (choices.cameras) left = (*choices.cameras)[0], right = (*choices.cameras)[1];
  Rig rig;
  rig.left = oak.camera(left, choices);
  rig.right = oak.camera(right, choices);
  const Motion motion = oak.motion(left, right);
  rig.rotation = motion.rotation;
  rig.translation = motion.translation;
  const std::string key = oak.place(left, "extrinsics");
  return finished(rig, choices,
                  {oak.place(left, "intrinsicMatrix"), oak.place(right, "intrinsicMatrix"), key, key});
}

}  // namespace parallax::tool
