// SPDX-License-Identifier: Apache-2.0
// Measures how much belief propagation in tiles differs from the untiled match for several paddings: the
// percentage of pixels whose disparity differs by half a pixel or more, or that have a disparity in only one
// map. Every pair is divided into three columns and three rows of tiles, or as close to that as margins
// allow. Prints the tables of docs/measurements/tiles.md:
//
//   tile_padding DATA      DATA: the folder with papers/, middlebury2003/ and middlebury2014/
//
// Without DATA, it prints how a large pair is divided into tiles within 2 GiB, and at what cost.

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>

#include "parallax/parallax.h"

#include "benchmarks/common.h"
#include "benchmarks/pairs.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;

constexpr int paddings[] = {0, 10, 20, 40, 80};
constexpr int tiles_a_side = 3;  // number of tiles along each side of the image

Size grid_of(const TilePlan& plan) {
  int columns = 0;
  for (const Tile& tile : plan.tiles) columns += tile.inside.y == 0;
  return {columns, static_cast<int>(plan.tiles.size()) / columns};
}

// Plans the largest tiles that give three columns and three rows, or as close to that as margins allow.
TilePlan plan_three_by_three(const MatcherParameters& parameters, const ImageFormat& format, int padding) {
  TilePlan plan = plan_tiles(parameters, {}, format, {}, {.padding = padding});
  for (int Size::*side : {&Size::width, &Size::height}) {
    try {
      while (grid_of(plan).*side < tiles_a_side) {
        Size largest = plan.tiles.front().around.size;
        largest.*side -= 1;
        plan = plan_tiles(parameters, {}, format, {}, {padding, largest});
      }
    } catch (const Error&) {
      // Smaller tiles would consist of margins only.
    }
  }
  return plan;
}

double percent_changed(const Plane<float>& a, const Plane<float>& b) {
  std::size_t changed = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x)
      changed += a.at(x, y) != b.at(x, y) && !(std::abs(a.at(x, y) - b.at(x, y)) < 0.5f);
  return 100.0 * static_cast<double>(changed) / static_cast<double>(a.size().pixels());
}

void print_row(const fs::path& data, const DataPair& folder, MatcherParameters parameters) {
  const LoadedPair pictures = load(data, folder);
  const StereoPair pair = pictures.views();
  const ImageFormat format = pair.left.format;
  parameters.disparities() = folder.disparities;
  Result whole(format.size);
  Matcher(parameters, {}, format).run(pair, whole.map());
  std::cout << "| " << folder.path << " | " << format.size.width << "×" << format.size.height << ", "
            << folder.disparities;
  for (const int padding : paddings) {
    const TilePlan plan = plan_three_by_three(parameters, format, padding);
    Result tiled(format.size);
    match_in_tiles(plan, pair, tiled.map());
    std::cout << " | " << percent_changed(whole.disparity, tiled.disparity);
    const Size grid = grid_of(plan);
    if (grid != Size{tiles_a_side, tiles_a_side})
      std::cout << " (" << grid.width << "×" << grid.height << ")";
  }
  std::cout << " |" << std::endl;
}

void print_table(const fs::path& data, const char* method, const char* name) {
  std::cout << "\n" << method << ", preset `" << name << "`:\n\n| pair | size, labels";
  for (const int padding : paddings) std::cout << " | " << padding;
  std::cout << " |\n|---|---|---:|---:|---:|---:|---:|\n";
  for (const DataPair& folder : data_pairs) print_row(data, folder, preset(method, name));
}

void print_plan(const std::string& method, int padding) {
  constexpr ImageFormat format{{20'000, 15'000}, BitDepth::bits8};
  constexpr std::size_t limit = std::size_t{2} << 30;
  const TilePlan plan = plan_tiles(parameters_of(method + " default", 128), {.threads = 2}, format, {limit},
                                   {.padding = padding});
  const Size around = plan.tiles.front().around.size;
  const double matched = static_cast<double>(around.pixels()) * static_cast<double>(plan.tiles.size());
  std::cout << "| " << method << (padding > 0 ? ", " + std::to_string(padding) : "") << " | "
            << plan.tiles.size() << " | " << around.width << "×" << around.height << " | "
            << 100 * (matched / static_cast<double>(format.size.pixels()) - 1) << " % | "
            << static_cast<double>(plan.tile_memory_bytes >> 20) << " MiB | "
            << static_cast<double>(stitch_memory_bytes(plan, 256) >> 20) << " MiB |\n";
}

void print_plans() {
  std::cout << "| method, padding | tiles | of | matched twice | a tile holds | stitching 256 rows holds |\n"
               "|---|---:|---:|---:|---:|---:|\n";
  print_plan("block", 0);
  print_plan("census", 0);
  for (const int padding : {40, 80})
    for (const char* method : {"bp", "tiled-bp"}) print_plan(method, padding);
}

}  // namespace

int main(int count, char** arguments) {
  return run_program([&] {
    std::cout << std::fixed << std::setprecision(count == 1 ? 0 : 3);
    if (count == 1) return print_plans();
    for (const auto& [method, name] :
         {std::pair{"bp", "default"}, {"bp", "grauer-gray-2019"}, {"tiled-bp", "default"}})
      print_table(arguments[1], method, name);
  });
}
