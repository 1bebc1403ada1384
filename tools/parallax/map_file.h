// SPDX-License-Identifier: Apache-2.0
// Disparity maps that are written row by row: .pfm, and .tiff of 32-bit floats.
#pragma once

#include <memory>
#include <string>

#include "parallax/image.h"

namespace parallax::tool {

class MapWriter {
 public:
  virtual ~MapWriter() = default;
  // From the first to the last row. \throws Error (file)
  virtual void write_rows(int first_row, View<const float> rows) = 0;
  // Everything is on the disk. \throws Error (file)
  virtual void close() = 0;
};

// Writes to `path`, in the format that the extension of `name` says. \throws Error (file)
std::unique_ptr<MapWriter> write_map(const std::string& path, const std::string& name, Size size);

}  // namespace parallax::tool
