// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/data.h"

#include <cstdio>

#include "parallax/error.h"
#include "parallax/formats.h"
#include "parallax/synth.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

Plane<std::uint8_t> gray(const Plane<std::uint8_t>& rgb) {
  Plane<std::uint8_t> plane({rgb.width() / 3, rgb.height()});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) {
      const std::uint8_t* pixel = rgb.row(y) + 3 * x;
      plane.at(x, y) = gray_of(pixel[0], pixel[1], pixel[2]);
    }
  return plane;
}

PapersImages synthetic_images(const std::string& pair, int disparities) {
  SynthParameters parameters;
  parameters.disparities = disparities;
  std::sscanf(pair.c_str(), "synthetic %dx%d", &parameters.size.width, &parameters.size.height);
  SynthPair rendered = synthesize(parameters);
  return {gray(rendered.left), gray(rendered.right), std::move(rendered.left_truth)};
}

// The names that gpu_pairs gives.
PapersFiles pfm_files(const fs::path& folder, const std::string& pair) {
  return {folder / pair / "left.pfm", folder / pair / "right.pfm", folder / pair / "truth.pfm"};
}

Plane<std::uint8_t> read_gray_pfm(const fs::path& path) {
  const Plane<float> plane = read_pfm(path.string());
  Plane<std::uint8_t> result(plane.size());
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) result.at(x, y) = static_cast<std::uint8_t>(plane.at(x, y));
  return result;
}

PapersFiles files_of(const fs::path& folder, const std::string& pair) {
#ifdef PARALLAX_READS_PICTURES
  if (!fs::exists(pfm_files(folder, "tsukubaSet").left)) return picture_files(folder, pair);
#endif
  return pfm_files(folder, pair);
}

bool is_synthetic(const std::string& pair) {
  return pair.starts_with("synthetic ");
}

}  // namespace

std::string PapersData::why_absent(const std::string& pair) const {
  if (pair != red_barrel || fs::exists(files_of(folder_, pair).left.parent_path())) return "";
  return std::string("no ") + red_barrel_folder + "/ in the data";
}

void PapersData::check(const std::string& pair) const {
  if (is_synthetic(pair)) return;
  const PapersFiles files = files_of(folder_, pair);
  for (const fs::path& file : {files.left, files.right, files.truth})
    if (!fs::exists(file))
      throw Error(
          ErrorCategory::file,
          "no " + file.string() + ": --suite papers needs it, give --data, or other papers by --paper");
}

PapersImages PapersData::load(const std::string& pair, int disparities) const {
  if (is_synthetic(pair)) return synthetic_images(pair, disparities);
  const PapersFiles files = files_of(folder_, pair);
#ifdef PARALLAX_READS_PICTURES
  if (files.left.extension() == ".png") return read_pictures(files, pair);
#endif
  return {read_gray_pfm(files.left), read_gray_pfm(files.right), read_pfm(files.truth.string())};
}

}  // namespace parallax::tool
