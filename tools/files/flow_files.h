// SPDX-License-Identifier: Apache-2.0
// Files of motions: .flo, and KITTI's pictures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parallax/flow.h"

#include "tools/files/pictures/picture.h"

namespace parallax::tool {

// Reads a .flo file, or a PNG as KITTI has it.
// \throws Error (file)
Flow read_flow(const std::string& path);

// \throws UsageError when encode_flow() does not know the extension
void check_flow_path(const std::string& path);

// The bytes of a file of motions, by the extension of its path: .flo or .png (KITTI).
// \throws UsageError for another extension, Error (file) for a motion that a PNG cannot hold
std::vector<std::byte> encode_flow(const std::string& path, const FlowView& flow);

// A picture for people. `longest`: the motion of full colour; 0 = the longest one there is.
Picture coloured_flow(const FlowView& flow, double longest);

}  // namespace parallax::tool
