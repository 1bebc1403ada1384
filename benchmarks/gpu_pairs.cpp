// SPDX-License-Identifier: Apache-2.0
// Writes the pairs for benchmark_cuda as PFM, so that the machine with the GPU needs no picture libraries:
//
//   gpu_pairs DATA FOLDER      DATA: the folder with papers/, middlebury2003/ and middlebury2014/

#include <algorithm>
#include <filesystem>

#include "parallax/formats.h"

#include "benchmarks/common.h"
#include "benchmarks/papers/data.h"
#include "tools/parallax/papers_pairs.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

// Writes the last columns and first rows of the images.
void write(const fs::path& folder, const tool::PapersImages& images, Size size) {
  fs::create_directories(folder);
  const auto write_plane = [&](const char* name, const auto& plane) {
    Plane<float> floats(size);
    for (int y = 0; y < size.height; ++y)
      std::copy_n(plane.row(y) + plane.width() - size.width, size.width, floats.row(y));
    write_file((folder / name).string(), encode_pfm(floats.view()));
  };
  write_plane("left.pfm", images.left);
  write_plane("right.pfm", images.right);
  write_plane("truth.pfm", images.truth);
}

void convert(const fs::path& data, const fs::path& to) {
  const tool::PapersData papers(data);
  std::vector<std::string> names{"contest"};
  for (const tool::PapersPair& pair : tool::papers_pairs) names.push_back(pair.name);
  if (papers.why_absent(tool::red_barrel).empty()) names.push_back(tool::red_barrel);
  for (const std::string& name : names) {
    const tool::PapersImages images = papers.load(name);
    write(to / name, images, images.left.size());
  }
  // A real pair of a size used in publications.
  const fs::path piano = data / "middlebury2014" / "Piano";
  write(to / "piano",
        {tool::read_gray(piano / "left.png"), tool::read_gray(piano / "right.png"),
         read_pfm((piano / "disp0GT.pfm").string())},
        {640, 480});
}

}  // namespace

int main(int count, char** arguments) {
  return benchmarks::run_program([&] {
    if (count != 3) throw Error(ErrorCategory::argument, "usage: gpu_pairs DATA FOLDER");
    convert(arguments[1], arguments[2]);
  });
}
