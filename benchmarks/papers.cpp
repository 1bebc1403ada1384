// SPDX-License-Identifier: Apache-2.0
// The tables of `parallax bench --suite papers` on a machine without a library of pictures: reads the pairs
// that gpu_pairs has written.
//
//   benchmark_papers PAIRS FOLDER [SECONDS_PER_ROW [DEVICE [PAPER…]]]
//
// DEVICE: "all" is one of each kind that is here. Writes papers.md, papers.json, papers.csv and the plots
// into FOLDER, and prints the tables.

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "parallax/formats.h"

#include "tools/parallax/papers_suite.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

Plane<std::uint8_t> bytes(const Plane<float>& plane) {
  Plane<std::uint8_t> result(plane.size());
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) result.at(x, y) = static_cast<std::uint8_t>(plane.at(x, y));
  return result;
}

class Pairs : public tool::PapersData {
 public:
  explicit Pairs(fs::path folder) : folder_(std::move(folder)) {}

  std::string why_absent(const std::string& pair) const override {
    if (pair != tool::red_barrel || fs::exists(folder_ / pair)) return "";
    return std::string("no ") + tool::red_barrel_folder + "/ in the data";
  }

  void check(const std::string& pair) const override {
    if (!tool::is_synthetic(pair) && !fs::exists(folder_ / pair))
      throw Error(ErrorCategory::file, "no " + (folder_ / pair).string() + ": make it by gpu_pairs");
  }

  tool::PapersImages load(const std::string& pair) const override {
    if (tool::is_synthetic(pair)) return tool::synthetic_images(pair);
    const auto read = [&](const char* file) { return read_pfm((folder_ / pair / file).string()); };
    return {bytes(read("left.pfm")), bytes(read("right.pfm")), read("truth.pfm")};
  }

 private:
  fs::path folder_;
};

void run(int count, char** arguments) {
  const fs::path folder = arguments[2];
  fs::create_directories(folder);
  const auto file = [&](const char* name) { return (folder / name).string(); };
  tool::PapersRequest request;
  request.json = file("papers.json");
  request.csv = file("papers.csv");
  request.markdown = file("papers.md");
  request.plots = folder.string();
  if (count > 3) request.run.seconds_per_row = std::atof(arguments[3]);
  const std::string device = count > 4 ? arguments[4] : "all";
  request.run.devices =
      device == "all" ? tool::devices_of_this_machine() : std::vector{Device::parse(device)};
  for (int i = 5; i < count; ++i) request.papers.emplace_back(arguments[i]);
  tool::run_papers(request, Pairs(arguments[1]), std::cout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "usage: benchmark_papers PAIRS FOLDER [SECONDS_PER_ROW [DEVICE [PAPER...]]]\n";
    return 2;
  }
  try {
    run(count, arguments);
  } catch (const std::exception& error) {
    std::cerr << "benchmark_papers: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
