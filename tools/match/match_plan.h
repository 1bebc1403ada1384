// SPDX-License-Identifier: Apache-2.0
// A request with everything it needs besides pictures: calibration, masks, the matcher's plan.
#pragma once

#include <optional>

#include "parallax/formats.h"
#include "parallax/geometry.h"
#include "parallax/matcher.h"

#include "tools/files/calibration.h"
#include "tools/files/picture_rectifier.h"
#include "tools/files/pictures.h"
#include "tools/files/turned.h"
#include "tools/match/match.h"

namespace parallax::tool {

// Every label must be usable at some pixel; otherwise the range is probably a mistake.
// \throws UsageError
void check_range_fits(const MatcherParameters& parameters, Size size);

// Without a search range from the user, takes that of the calibration, clipped to images of this size.
// \throws UsageError for a range beyond the image, Error (file)
void settle_range(const Input& input, Search& search, Size size);

class MatchPlan {
 public:
  // \throws Error (file) for a calibration that cannot be read, UsageError for one whose unit has to be given
  explicit MatchPlan(const MatchRequest& request);

  // For --disparities auto, takes the range that these pictures show, and prints it with their name.
  // \throws Error (file) where none is found
  void find_range(const PicturePair& pictures, const std::string& name);
  // Reads the masks of pictures of this size.
  // \throws Error (file)
  void read_masks(Size size);
  // Scales the calibration to pictures of this format, with a notice, where it is that of others.
  // \throws Error (file) where it cannot be theirs
  void fit_calibration(const ImageFormat& format);
  // Does so, settles the search range, and reads masks and costs.
  // \throws UsageError, Error
  void settle(const ImageFormat& format);
  // Does so, and plans.
  // \throws UsageError, Error
  void make(const ImageFormat& format);
  bool is_made() const { return matcher_.has_value(); }

  // The pictures as they are matched: rectified where the request has a rig, turned where its cameras are above
  // each other, and with the masks of files added to those of the pictures. The names are for errors.
  // \throws Error (file), UsageError for a rig whose unit has to be given
  PicturePair rectified(PicturePair pictures, const std::string& left, const std::string& right);
  // By how many quarter turns clockwise pictures and maps are turned against the left picture.
  int quarter_turns() const { return quarter_turns_; }
  // A picture or a plane of the match, turned back.
  template <class Image>
  Image turned_back(const Image& image) const {
    return turned(image, (4 - quarter_turns_) % 4);
  }

  Result make_result() const;
  void run(const PicturePair& pictures, Result& result);

  // The pictures, with the masks that the request or its rig gives.
  StereoPair pair(const PicturePair& pictures) const;
  const MatchRequest& request() const { return request_; }
  const MatcherParameters& parameters() const { return request_.search.parameters; }
  // Of the pictures as they are matched, and of the map that is turned back. Of a rig, once a pair is rectified.
  const Calibration& calibration() const { return calibration_; }
  Calibration calibration_of_map() const {
    return quarter_turns_ == 0 ? calibration_ : turned(calibration_, 4 - quarter_turns_);
  }
  // What rectified() shows; null where it rectifies nothing.
  const Calibration* rectified_calibration() const { return rectifier_ ? &calibration_ : nullptr; }
  const Device& device() const { return device_; }
  const ImageFormat& format() const { return format_; }
  Size map_size() const { return turned(format_.size, quarter_turns_); }
  const Matcher& matcher() const { return *matcher_; }
  // Bounds of the search range, whatever sets them.
  int lowest_disparity() const;
  int disparities() const;

 private:
  void settle_unit();

  MatchRequest request_;
  PairCalibration given_;    // the calibration of the request
  Calibration calibration_;  // of the pictures as they are matched
  int quarter_turns_ = 0;
  Device device_;
  ImageFormat format_;
  std::optional<PictureRectifier> rectifier_;
  Plane<std::uint8_t> left_mask_, right_mask_;
  CostArray costs_;
  std::optional<Matcher> matcher_;
};

}  // namespace parallax::tool
