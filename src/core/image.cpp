// SPDX-License-Identifier: Apache-2.0
#include "parallax/image.h"

namespace parallax {

const char* name(Status status) {
  switch (status) {
    case Status::matched:
      return "matched";
    case Status::filled:
      return "filled";
    case Status::out_of_range:
      return "out_of_range";
    case Status::inconsistent:
      return "inconsistent";
    case Status::ambiguous:
      return "ambiguous";
    case Status::textureless:
      return "textureless";
    case Status::speckle:
      return "speckle";
    case Status::input_masked:
      return "input_masked";
  }
  return "unknown";
}

}  // namespace parallax
