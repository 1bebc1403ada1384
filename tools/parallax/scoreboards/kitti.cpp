// SPDX-License-Identifier: Apache-2.0
// KITTI's stereo benchmarks of 2012 and 2015. Rules: readme.txt, cpp/io_disp.h, cpp/evaluate_stereo.cpp and
// cpp/evaluate_scene_flow.cpp of their development kits.
#include <filesystem>
#include <limits>

#include "parallax/error.h"
#include "parallax/evaluate.h"
#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/files/pictures.h"
#include "tools/files/truth.h"
#include "tools/parallax/scoreboards/scoreboard.h"

namespace parallax::tool {
namespace {

// What the development kit reads from a submitted file, and then interpolates.
struct KittiResult {
  explicit KittiResult(View<const float> disparity)
      : written(decode_kitti(encode_kitti(disparity).view())),
        interpolated(interpolate_background(written.view())) {}

  Plane<float> written, interpolated;
};

// Pixels with an object number (foreground) or without one (background).
Plane<std::uint8_t> objects_mask(const Plane<std::uint8_t>& objects, bool foreground) {
  Plane<std::uint8_t> mask(objects.size());
  for (int y = 0; y < mask.height(); ++y)
    for (int x = 0; x < mask.width(); ++x) mask.at(x, y) = (objects.at(x, y) > 0) == foreground ? 255 : 0;
  return mask;
}

// The average over pairs counts every pixel once.
Figure d1_where(const char* name, const Truth& truth, const Plane<float>& map,
                const Plane<std::uint8_t>& mask) {
  const std::size_t pixels = truth.count(mask.view());
  if (pixels == 0) return {name, std::numeric_limits<double>::quiet_NaN(), 0};
  return {name, truth.compare(map.view(), mask.view()).d1, static_cast<double>(pixels)};
}

// `objects`: empty where the data have none.
Region region_2015(const std::string& name, const Truth& truth, const KittiResult& result,
                   const Plane<std::uint8_t>& objects) {
  const ErrorMetrics all = truth.compare(result.interpolated.view());
  const auto pixels = static_cast<double>(all.count);
  Region region{name, {}};
  if (objects.width() > 0)
    region.figures = {d1_where("d1-bg", truth, result.interpolated, objects_mask(objects, false)),
                      d1_where("d1-fg", truth, result.interpolated, objects_mask(objects, true))};
  region.figures.push_back({"d1-all", all.d1, pixels});
  region.figures.push_back({"density", truth.compare(result.written.view()).coverage, pixels});
  return region;
}

// The average over pairs counts every pair once.
Region region_2012(const std::string& name, const Truth& truth, const KittiResult& result) {
  const ErrorMetrics error = truth.compare(result.interpolated.view());
  return {name,
          {{"out2", error.bad2},
           {"out3", error.bad3},
           {"out4", error.bad4},
           {"out5", error.bad5},
           {"avgerr", error.average, 1, false},
           {"density", truth.compare(result.written.view()).coverage}}};
}

class KittiScoreboard : public Scoreboard {
 public:
  explicit KittiScoreboard(const ScoreboardData& data)
      : data_(data), set_(data.folder + (data.test ? "/testing/" : "/training/")) {
    for (const auto& [left, right] : {std::pair{"image_2", "image_3"}, std::pair{"colored_0", "colored_1"},
                                      std::pair{"image_0", "image_1"}}) {
      if (!left_.empty() || !std::filesystem::is_directory(set_ + left)) continue;
      left_ = set_ + left + "/";
      right_ = set_ + right + "/";
      is_2015_ = std::string(left) == "image_2";
    }
    if (left_.empty())
      throw Error(ErrorCategory::file, "no folder image_2 (KITTI 2015), colored_0 or image_0 (2012) in " +
                                           set_ +
                                           ": give --data the folder that has KITTI's training and testing");
    if (data.test) return;
    const std::string of_2015 = is_2015_ ? "_0" : "";
    noc_ = folder_of_truth("disp_noc" + of_2015);
    occ_ = folder_of_truth("disp_occ" + of_2015);
    if (is_2015_) objects_ = folder_of_truth("obj_map");
    if (noc_.empty() && occ_.empty())
      throw Error(ErrorCategory::file, "no folder disp_occ" + of_2015 + " in " + set_ +
                                           ": unpack the archive of the benchmark that has it");
  }

  std::vector<ScoreboardPair> pairs() const override {
    const std::vector<std::string> files =
        names_in(left_, "unpack the pictures of KITTI there",
                 [](const std::string& path) { return path.ends_with("_10.png"); });
    std::vector<ScoreboardPair> pairs;
    for (const std::string& file : files) {
      pairs.push_back({file.substr(0, file.size() - 4), left_ + file, right_ + file, "", {}});
      if (data_.test) continue;
      const auto in = [&](const std::string& folder) { return folder.empty() ? "" : folder + file; };
      pairs.back().truth = {in(noc_), in(occ_), in(objects_)};
    }
    return pairs;
  }

  std::string note() const override {
    if (missing_.empty()) return "";
    return "figures are left out because these data have no folder " + join(missing_);
  }

  // The files hold disparities below 256 pixels.
  int labels() const override { return 256; }

  std::vector<Region> score(const ScoreboardPair& pair, const Calibration&,
                            View<const float> disparity) const override {
    const KittiResult result(disparity);
    Plane<std::uint8_t> objects;
    if (!pair.truth[2].empty()) objects = read_mask(pair.truth[2]);
    std::vector<Region> regions;
    for (const auto& [name, path] : {std::pair{"noc", pair.truth[0]}, std::pair{"all", pair.truth[1]}}) {
      if (path.empty()) continue;
      const Truth truth({path, 0, data_.truth_none});
      truth.check_size(pair.left, disparity.size);
      if (objects.width() > 0) truth.check_size(pair.truth[2], objects.size());
      regions.push_back(is_2015_ ? region_2015(name, truth, result, objects)
                                 : region_2012(name, truth, result));
    }
    return regions;
  }

  std::vector<FileBytes> submission(const ScoreboardPair& pair,
                                    const ScoreboardResult& result) const override {
    const std::string path = (is_2015_ ? "disp_0/" : "") + pair.name + ".png";
    return {{path, encode_disparity(path, result.disparity)}};
  }

 private:
  // Empty where the data lack it.
  std::string folder_of_truth(const std::string& name) {
    if (std::filesystem::is_directory(set_ + name)) return set_ + name + "/";
    missing_.push_back(name);
    return "";
  }

  ScoreboardData data_;
  std::string set_, left_, right_;    // folders
  std::string noc_, occ_, objects_;   // folders of the truth; empty = missing
  std::vector<std::string> missing_;  // names of those
  bool is_2015_ = false;
};

}  // namespace

std::unique_ptr<Scoreboard> kitti_scoreboard(const ScoreboardData& data) {
  return std::make_unique<KittiScoreboard>(data);
}

}  // namespace parallax::tool
