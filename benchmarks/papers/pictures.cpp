// SPDX-License-Identifier: Apache-2.0
#include "tools/files/pictures.h"

#include <fstream>
#include <limits>
#include <vector>

#include "parallax/error.h"

#include "benchmarks/papers/data.h"
#include "tools/parallax/papers_pairs.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// Truth without labels, and the place of those inside the contest's frame.
struct Framed {
  explicit Framed(Size size)
      : truth(size, std::numeric_limits<float>::infinity()),
        labels(truth.row(contest_frame) + contest_frame,
               {size.width - 2 * contest_frame, size.height - 2 * contest_frame}, truth.view().stride_bytes) {
  }

  Plane<float> truth;
  View<float> labels;
};

Plane<float> read_contest_picture(const fs::path& path, Size size) {
  const Plane<std::uint8_t> picture = read_gray(path);
  Framed framed(size);
  if (picture.size() != framed.labels.size)
    throw Error(ErrorCategory::file, path.string() + " is not of the picture's size less " +
                                         std::to_string(contest_frame) + " pixels on each side");
  for (int y = 0; y < picture.height(); ++y)
    std::copy_n(picture.row(y), picture.width(), framed.labels.row(y));
  return std::move(framed.truth);
}

// The contest's own file: the number of labels, then the labels.
Plane<float> read_contest_labels(const fs::path& path, Size size) {
  std::ifstream file(path);
  std::size_t count = 0;
  file >> count;
  Framed framed(size);
  const Size inner = framed.labels.size;
  if (!file || count != inner.pixels())
    throw Error(ErrorCategory::file, path.string() + " does not begin with the number of labels, " +
                                         std::to_string(inner.pixels()));
  for (int y = 0; y < inner.height; ++y)
    for (int x = 0; x < inner.width; ++x) file >> framed.labels.row(y)[x];
  if (!file) throw Error(ErrorCategory::file, path.string() + " ends before its last label");
  return std::move(framed.truth);
}

Plane<float> read_truth(const PapersFiles& files, const std::string& pair, Size size) {
  if (pair == red_barrel) return read_contest_labels(files.truth, size);
  for (const PapersPair& known : papers_pairs)
    if (known.name == pair) return read_disparity(files.truth.string(), known.truth_scale);
  return read_contest_picture(files.truth, size);
}

}  // namespace

PapersFiles picture_files(const fs::path& folder, const std::string& pair) {
  if (pair == red_barrel) {
    const fs::path contest = folder / red_barrel_folder;
    return {contest / "Left.png", contest / "Right.png", contest / "ground_truth_labels.txt"};
  }
  const fs::path papers = folder / "papers", tsukuba = folder / "middlebury2003" / "tsukuba";
  if (pair == "contest")
    return {tsukuba / "left.png", tsukuba / "right.png",
            papers / "memocode2013-tsukuba" / "truth-labels.png"};
  return {papers / pair / "left.png", papers / pair / "right.png", papers / pair / "truth.png"};
}

Plane<std::uint8_t> read_gray(const fs::path& path) {
  const Picture picture = read_picture(path.string());
  if (picture.view().format.depth != BitDepth::bits8)
    throw Error(ErrorCategory::file, path.string() + " has 16 bits: the papers' pictures have 8");
  Plane<std::uint8_t> plane(picture.size());
  const int channels = picture.channels();
  for (int y = 0; y < plane.height(); ++y) {
    const auto* row = static_cast<const std::uint8_t*>(picture.view().row(y));
    for (int x = 0; x < plane.width(); ++x) {
      const std::uint8_t* pixel = row + channels * x;
      plane.at(x, y) = channels == 1 ? pixel[0] : gray_of(pixel[0], pixel[1], pixel[2]);
    }
  }
  return plane;
}

PapersImages read_pictures(const PapersFiles& files, const std::string& pair) {
  PapersImages images{read_gray(files.left), read_gray(files.right), {}};
  images.truth = read_truth(files, pair, images.left.size());
  for (const auto& [path, size] :
       {std::pair{files.right, images.right.size()}, {files.truth, images.truth.size()}})
    if (size != images.left.size())
      throw Error(ErrorCategory::file,
                  path.string() + " and " + files.left.string() + " have different sizes");
  return images;
}

}  // namespace parallax::tool
