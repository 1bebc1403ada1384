// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher.h"

namespace parallax {

Result Matcher::make_result(bool with_confidence) const {
  return Result(format_.size, with_confidence, has_row_offsets());
}

Result match(const StereoPair& pair, const MatcherParameters& parameters, const Device& device) {
  Matcher matcher(parameters, device, pair.left.format);
  Result result = matcher.make_result();
  matcher.run(pair, result.map());
  return result;
}

Result match(const ImageView& left, const ImageView& right, const MatcherParameters& parameters,
             const Device& device) {
  return match(StereoPair{left, right}, parameters, device);
}

}  // namespace parallax
