// SPDX-License-Identifier: Apache-2.0
// The Middlebury stereo evaluation, version 3. Rules: README.txt and code/evaldisp.cpp of its SDK (version
// 1.6), upload-format.html of its web site, and the header of its table, which has the weights.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>

#include "parallax/evaluate.h"
#include "parallax/formats.h"

#include "tools/files/truth.h"
#include "tools/parallax/scoreboards/scoreboard.h"

namespace parallax::tool {
namespace {

// The weights of the table are 8 % for ten pairs and 4 % for these five.
double middlebury_weight(const std::string& pair) {
  constexpr std::string_view halves[] = {"PianoL", "Playroom", "Playtable", "Shelves", "Vintage"};
  return std::find(std::begin(halves), std::end(halves), pair) == std::end(halves) ? 1 : 0.5;
}

// Whether the true disparities are integers, as those of the older scenes are: isint=1 in calib.txt.
bool has_integer_truth(const std::string& calibration) {
  return ("\n" + read_text(calibration, 1 << 20)).find("\nisint=1") != std::string::npos;
}

struct MiddleburyRange {
  double most;      // in pixels of the truth
  bool is_integer;  // whether the truth has integers only
};

// Existing disparities are clipped to the search range, then rounded if the truth is.
void clip_and_round(Plane<float>& map, const MiddleburyRange& range) {
  for (int y = 0; y < map.height(); ++y) {
    for (float& d : std::span(map.row(y), static_cast<std::size_t>(map.width()))) {
      if (!std::isfinite(d)) continue;
      d = std::clamp(d, 0.0f, static_cast<float>(range.most));
      if (range.is_integer) d = std::round(d);
    }
  }
}

Plane<float> multiplied(View<const float> map, int factor) {
  Plane<float> product(map.size);
  for (int y = 0; y < map.size.height; ++y)
    for (int x = 0; x < map.size.width; ++x) product.at(x, y) = static_cast<float>(factor) * map.at(x, y);
  return product;
}

Region middlebury_region(const std::string& name, const ErrorMetrics& error, double weight) {
  const double invalid = 1 - error.coverage;
  const auto share = [&](const char* column, double value) { return Figure{column, value, weight}; };
  const auto pixels = [&](const char* column, double value) { return Figure{column, value, weight, false}; };
  // Dense: a pixel without a disparity is bad. Sparse: it is not, but stays in the number of pixels.
  const auto sparse = [&](const char* column, double bad) {
    return share(column, std::max(0.0, bad - invalid));
  };
  return {name,
          {share("bad0.5", error.bad05), share("bad1", error.bad1), share("bad2", error.bad2),
           share("bad4", error.bad4), sparse("sparse0.5", error.bad05), sparse("sparse1", error.bad1),
           sparse("sparse2", error.bad2), sparse("sparse4", error.bad4), share("invalid", invalid),
           pixels("avgerr", error.average), pixels("rms", error.rms), pixels("a50", error.a50),
           pixels("a90", error.a90), pixels("a95", error.a95), pixels("a99", error.a99)}};
}

class MiddleburyScoreboard : public Scoreboard {
 public:
  explicit MiddleburyScoreboard(const ScoreboardData& data)
      : data_(data),
        set_((data.test ? "test" : "training") + data.resolution),
        shrink_(data.resolution == "F"   ? 1
                : data.resolution == "H" ? 2
                                         : 4),
        has_full_truth_(shrink_ == 1 || std::filesystem::is_directory(data.folder + "/trainingF")) {}

  std::vector<ScoreboardPair> pairs() const override {
    const std::string folder = data_.folder + "/" + set_;
    const std::vector<std::string> names =
        names_in(folder,
                 "give --data the folder MiddEval3 that MiddEval3-data-" + data_.resolution +
                     ".zip unpacks to, or another --resolution",
                 [](const std::string& path) { return std::filesystem::is_directory(path); });
    std::vector<ScoreboardPair> pairs;
    for (const std::string& name : names) {
      const std::string pair = folder + "/" + name,
                        truth = data_.folder + (has_full_truth_ ? "/trainingF/" : "/" + set_ + "/") + name;
      pairs.push_back({name, pair + "/im0.png", pair + "/im1.png", pair + "/calib.txt", {}});
      if (!data_.test)
        pairs.back().truth = {truth + "/disp0GT.pfm", truth + "/mask0nocc.png", truth + "/calib.txt"};
    }
    return pairs;
  }

  std::string note() const override {
    if (data_.test) return "";
    if (has_full_truth_) return "errors at full size, as in the official table";
    return "approximate: errors at the size of " + set_ + ", times " + std::to_string(shrink_) +
           "; the official ones need MiddEval3-data-F.zip and MiddEval3-GT0-F.zip, for trainingF";
  }

  int labels() const override { return 0; }

  std::vector<Region> score(const ScoreboardPair& pair, const Calibration& calibration,
                            View<const float> disparity) const override {
    Plane<float> map = has_full_truth_ ? enlarge(disparity, shrink_) : multiplied(disparity, shrink_);
    const bool is_integer = has_full_truth_ && has_integer_truth(pair.truth[2]);
    const double most = calibration.disparities > 0 ? static_cast<double>(shrink_) * calibration.disparities
                                                    : std::numeric_limits<double>::infinity();
    clip_and_round(map, {most, is_integer});
    Truth truth({pair.truth[0], 0, data_.truth_none});
    if (!has_full_truth_) truth.multiply(shrink_);
    truth.check_size(pair.left + (shrink_ > 1 && has_full_truth_ ? ", enlarged," : ""), map.size());
    const double weight = middlebury_weight(pair.name);
    const Region all = middlebury_region("all", truth.compare(map.view()), weight);
    truth.evaluate_only(pair.truth[1]);
    return {middlebury_region("nonocc", truth.compare(map.view()), weight), all};
  }

  std::vector<FileBytes> submission(const ScoreboardPair& pair,
                                    const ScoreboardResult& result) const override {
    const std::string folder = set_ + "/" + pair.name + "/";
    return {{folder + "disp0" + result.algorithm + (result.sparse ? "_s" : "") + ".pfm",
             encode_pfm(result.disparity)},
            {folder + "time" + result.algorithm + ".txt", seconds_file("", result.seconds)}};
  }

 private:
  ScoreboardData data_;
  std::string set_;  // "trainingQ"
  int shrink_;       // pixels of the full picture in a row of one pixel
  bool has_full_truth_;
};

}  // namespace

std::unique_ptr<Scoreboard> middlebury_scoreboard(const ScoreboardData& data) {
  return std::make_unique<MiddleburyScoreboard>(data);
}

}  // namespace parallax::tool
