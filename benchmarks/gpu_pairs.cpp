// SPDX-License-Identifier: Apache-2.0
// Writes the pairs for benchmark_cuda as PFM, so that the machine with the GPU needs no picture libraries:
//
//   gpu_pairs DATA FOLDER      DATA: the folder with papers/, middlebury2003/ and middlebury2014/

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "parallax/formats.h"

#include "benchmarks/papers/data.h"
#include "tools/parallax/papers_pairs.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

Plane<float> floats(const Plane<std::uint8_t>& gray) {
  Plane<float> plane(gray.size());
  for (int y = 0; y < gray.height(); ++y) std::copy_n(gray.row(y), gray.width(), plane.row(y));
  return plane;
}

// Takes the last columns and first rows. For Middlebury's Piano, they are a real pair of a size used in
// publications.
Plane<float> corner(const Plane<float>& plane) {
  const Size size{640, 480};
  Plane<float> cropped(size);
  for (int y = 0; y < size.height; ++y)
    std::copy_n(plane.row(y) + plane.width() - size.width, size.width, cropped.row(y));
  return cropped;
}

struct Pair {
  Plane<float> left, right, truth;
};

void write(const fs::path& folder, const Pair& pair) {
  fs::create_directories(folder);
  for (const auto& [name, plane] :
       {std::pair{"left.pfm", &pair.left}, {"right.pfm", &pair.right}, {"truth.pfm", &pair.truth}})
    write_file((folder / name).string(), encode_pfm(plane->view()));
}

void convert(const fs::path& data, const fs::path& to) {
  const tool::PapersData papers(data);
  std::vector<std::string> names{"contest"};
  for (const tool::PapersPair& pair : tool::papers_pairs) names.push_back(pair.name);
  if (papers.why_absent(tool::red_barrel).empty()) names.push_back(tool::red_barrel);
  for (const std::string& name : names) {
    tool::PapersImages images = papers.load(name);
    write(to / name, {floats(images.left), floats(images.right), std::move(images.truth)});
  }
  const fs::path piano = data / "middlebury2014" / "Piano";
  write(to / "piano", {corner(floats(tool::read_gray(piano / "left.png"))),
                       corner(floats(tool::read_gray(piano / "right.png"))),
                       corner(read_pfm((piano / "disp0GT.pfm").string()))});
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: gpu_pairs DATA FOLDER\n";
    return 2;
  }
  try {
    convert(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << "gpu_pairs: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
