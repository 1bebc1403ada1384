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

#include "tools/files/pictures.h"

namespace {

using namespace parallax;
namespace fs = std::filesystem;

struct PairFolder {
  const char* name;
  int disparities;
};

constexpr PairFolder folders[] = {{"papers/tsukubaSet", 16},
                                  {"papers/venus", 21},
                                  {"papers/barn1", 32},
                                  {"papers/conesQuarterSize", 64},
                                  {"papers/conesHalfSize", 128},
                                  {"papers/conesFullSizeCropped", 256},
                                  {"middlebury2003/tsukuba", 16},
                                  {"middlebury2003/venus", 20},
                                  {"middlebury2003/teddy", 60},
                                  {"middlebury2003/cones", 60},
                                  {"middlebury2014/Adirondack", 73},
                                  {"middlebury2014/Jadeplant", 160},
                                  {"middlebury2014/Motorcycle", 70},
                                  {"middlebury2014/MotorcycleE", 70},
                                  {"middlebury2014/Piano", 65},
                                  {"middlebury2014/Playtable", 73},
                                  {"middlebury2014/Recycle", 65},
                                  {"middlebury2014/Teddy", 64}};

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

bool same_label(float a, float b) {
  return a == b || std::abs(a - b) < 0.5f;
}

double percent_changed(const Plane<float>& a, const Plane<float>& b) {
  std::size_t changed = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) changed += !same_label(a.at(x, y), b.at(x, y));
  return 100.0 * static_cast<double>(changed) / static_cast<double>(a.size().pixels());
}

template <class Parameters>
void print_row(const fs::path& data, const PairFolder& folder, Parameters parameters) {
  const fs::path path = data / folder.name;
  const tool::PicturePair pictures =
      tool::read_pair((path / "left.png").string(), (path / "right.png").string());
  const StereoPair pair{pictures.left.view(), pictures.right.view()};
  const ImageFormat format = pair.left.format;
  parameters.disparities = folder.disparities;
  Result whole(format.size);
  Matcher(parameters, {}, format).run(pair, whole.map());
  std::cout << "| " << folder.name << " | " << format.size.width << "×" << format.size.height << ", "
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

template <class Parameters>
void print_table(const fs::path& data, const char* title, const Parameters& parameters) {
  std::cout << "\n" << title << "\n\n| pair | size, labels";
  for (const int padding : paddings) std::cout << " | " << padding;
  std::cout << " |\n|---|---";
  for ([[maybe_unused]] const int padding : paddings) std::cout << "|---:";
  std::cout << "|\n";
  for (const PairFolder& folder : folders) print_row(data, folder, parameters);
}

void print_plan(const char* name, const MatcherParameters& parameters, int padding) {
  constexpr ImageFormat format{{20'000, 15'000}, BitDepth::bits8};
  constexpr std::size_t limit = std::size_t{2} << 30;
  const TilePlan plan = plan_tiles(parameters, {.threads = 2}, format, {limit}, {.padding = padding});
  const Size around = plan.tiles.front().around.size;
  const double matched = static_cast<double>(around.pixels()) * static_cast<double>(plan.tiles.size());
  std::cout << "| " << name << " | " << plan.tiles.size() << " | " << around.width << "×" << around.height
            << " | " << 100 * (matched / static_cast<double>(format.size.pixels()) - 1) << " % | "
            << static_cast<double>(plan.tile_memory_bytes >> 20) << " MiB | "
            << static_cast<double>(stitch_memory_bytes(plan, 256) >> 20) << " MiB |\n";
}

template <class Parameters>
Parameters with_128_labels(Parameters parameters) {
  parameters.disparities = 128;
  return parameters;
}

void print_plans() {
  std::cout << "| method, padding | tiles | of | matched twice | a tile holds | stitching 256 rows holds |\n"
               "|---|---:|---:|---:|---:|---:|\n";
  print_plan("block", with_128_labels(preset<BlockParameters>("default")), 0);
  print_plan("census", with_128_labels(preset<CensusParameters>("default")), 0);
  for (const int padding : {40, 80}) {
    const std::string number = std::to_string(padding);
    print_plan(("bp, " + number).c_str(), with_128_labels(preset<BeliefPropagationParameters>("default")),
               padding);
    print_plan(("tiled-bp, " + number).c_str(),
               with_128_labels(preset<TiledBeliefPropagationParameters>("default")), padding);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 2) {
    std::cerr << "usage: tile_padding [DATA]\n";
    return 2;
  }
  try {
    std::cout << std::fixed << std::setprecision(count == 1 ? 0 : 3);
    if (count == 1) {
      print_plans();
      return 0;
    }
    print_table(arguments[1], "bp, preset `default`:", preset<BeliefPropagationParameters>("default"));
    print_table(arguments[1],
                "bp, preset `grauer-gray-2019`:", preset<BeliefPropagationParameters>("grauer-gray-2019"));
    print_table(arguments[1],
                "tiled-bp, preset `default`:", preset<TiledBeliefPropagationParameters>("default"));
  } catch (const std::exception& error) {
    std::cerr << "tile_padding: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
