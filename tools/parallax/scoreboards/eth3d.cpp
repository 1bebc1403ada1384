// SPDX-License-Identifier: Apache-2.0
// ETH3D's low-resolution two-view benchmark. Rules: src/main.cc of ETH3D/two-view-evaluation, and the
// submissions that the development kit of the Robust Vision Challenge writes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "parallax/evaluate.h"
#include "parallax/formats.h"

#include "tools/files/truth.h"
#include "tools/parallax/scoreboards/scoreboard.h"

namespace parallax::tool {
namespace {

// The evaluation takes a disparity beyond the width of the picture for none.
Plane<float> plausible(View<const float> disparity) {
  const auto width = static_cast<float>(disparity.size.width);
  Plane<float> map(disparity.size);
  for (int y = 0; y < map.height(); ++y)
    for (int x = 0; x < map.width(); ++x)
      map.at(x, y) =
          std::abs(disparity.at(x, y)) <= width ? disparity.at(x, y) : std::numeric_limits<float>::infinity();
  return map;
}

// Shares are of the pixels that have a disparity.
Region eth3d_region(const std::string& name, const ErrorMetrics& error) {
  const auto of_valid = [&](double share) {
    return error.coverage > 0 ? std::max(0.0, share - (1 - error.coverage)) / error.coverage : 1;
  };
  return {name,
          {{"coverage", error.coverage},
           {"bad0.5", of_valid(error.bad05)},
           {"bad1", of_valid(error.bad1)},
           {"bad2", of_valid(error.bad2)},
           {"bad4", of_valid(error.bad4)},
           {"avgerr", error.average, 1, false},
           {"rms", error.rms, 1, false},
           {"a50", error.a50, 1, false},
           {"a90", error.a90, 1, false},
           {"a95", error.a95, 1, false},
           {"a99", error.a99, 1, false}}};
}

class Eth3dScoreboard : public Scoreboard {
 public:
  explicit Eth3dScoreboard(const ScoreboardData& data)
      : set_(data.folder + (data.test ? "/test" : "/training")),
        test_(data.test),
        truth_none_(data.truth_none) {}

  std::vector<ScoreboardPair> pairs() const override {
    const std::vector<std::string> names =
        names_in(set_, "unpack ETH3D's two-view archives there, or give the folder above it as --data",
                 [](const std::string& path) { return std::filesystem::is_directory(path); });
    std::vector<ScoreboardPair> pairs;
    for (const std::string& name : names) {
      const std::string pair = set_ + "/" + name;
      pairs.push_back({name, pair + "/im0.png", pair + "/im1.png", pair + "/calib.txt", {}});
      if (!test_) pairs.back().truth = {pair + "/disp0GT.pfm", pair + "/mask0nocc.png"};
    }
    return pairs;
  }

  // The truth is below 64 pixels everywhere; ndisp in the files calib.txt is the width of the pictures.
  int labels() const override { return 64; }

  std::vector<Region> score(const ScoreboardPair& pair, const Calibration&,
                            View<const float> disparity) const override {
    const Plane<float> map = plausible(disparity);
    Truth truth({pair.truth[0], 0, truth_none_});
    truth.check_size(pair.left, map.size());
    const Region all = eth3d_region("all", truth.compare(map.view()));
    truth.evaluate_only(pair.truth[1]);
    return {eth3d_region("noc", truth.compare(map.view())), all};
  }

  std::vector<FileBytes> submission(const ScoreboardPair& pair,
                                    const ScoreboardResult& result) const override {
    const std::string stem = "low_res_two_view/" + pair.name;
    return {{stem + ".pfm", encode_pfm(result.disparity)},
            {stem + ".txt", seconds_file("runtime ", result.seconds)}};
  }

 private:
  std::string set_;
  bool test_;
  std::string truth_none_;
};

}  // namespace

std::unique_ptr<Scoreboard> eth3d_scoreboard(const ScoreboardData& data) {
  return std::make_unique<Eth3dScoreboard>(data);
}

}  // namespace parallax::tool
