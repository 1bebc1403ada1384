// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/pfm_pairs.h"

#include "parallax/formats.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

Plane<std::uint8_t> bytes(const Plane<float>& plane) {
  Plane<std::uint8_t> result(plane.size());
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) result.at(x, y) = static_cast<std::uint8_t>(plane.at(x, y));
  return result;
}

}  // namespace

std::string PapersPfm::why_absent(const std::string& pair) const {
  if (pair != red_barrel || fs::exists(folder_ / pair)) return "";
  return std::string("no ") + red_barrel_folder + "/ in the data";
}

void PapersPfm::check(const std::string& pair) const {
  if (!is_synthetic(pair) && !fs::exists(folder_ / pair))
    throw Error(ErrorCategory::file, "no papers/, and no " + pair + "/ made by gpu_pairs, in " +
                                         folder_.string() + ": give --data");
}

PapersImages PapersPfm::load(const std::string& pair) const {
  if (is_synthetic(pair)) return synthetic_images(pair);
  const auto read = [&](const char* file) { return read_pfm((folder_ / pair / file).string()); };
  return {bytes(read("left.pfm")), bytes(read("right.pfm")), read("truth.pfm")};
}

}  // namespace parallax::tool
