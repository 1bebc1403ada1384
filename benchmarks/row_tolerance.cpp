// SPDX-License-Identifier: Apache-2.0
// Measures the effect of row_tolerance: the right images of the shared pairs are turned, sheared and scaled
// so that rows are off by up to 2 pixels, and the pairs are matched with and without it. Prints the tables of
// docs/measurements/row_tolerance.md:
//
//   row_tolerance DATA METHOD [FIELD=VALUE]...   DATA: the folder with middlebury2003/ and middlebury2014/;
//                                                FIELD is a parameter of the method, or save:
//                                                a folder for the moved pairs, which are then not matched

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>

#include "parallax/parallax.h"

#include "benchmarks/common.h"
#include "benchmarks/pairs.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures/codecs.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;

// For the pairs of `middlebury`, with those that a displacement adds.
constexpr int disparities[] = {16, 24, 64, 64, 76, 164, 74, 74, 68, 76, 68, 68};

struct Pair : LoadedPair {
  Plane<float> rows;  // true row offsets
};

struct Position {
  double x, y;
};

// The displacement of the right image's content about its middle, by at most `rows` rows.
struct Warp {
  const char* name;
  // Rows that (x, y) moves down, and columns that it moves to the right; x and y are from −1 to 1.
  double down_by_x, down_by_y, down, right_by_x, right_by_y;
  double down_by_x_squared = 0;
};

constexpr double rows_off = 2;

// A turn also moves columns, by as much in proportion to the height; so does scaling, to the width. The row
// offsets of the bent pair are not in a plane.
constexpr Warp warps[] = {{"as given", 0, 0, 0, 0, 0},
                          {"lowered by 2 rows", 0, 0, 1, 0, 0},
                          {"lowered by 1.5 rows", 0, 0, 0.75, 0, 0},
                          {"turned", 1, 0, 0, 0, -1},
                          {"sheared", 1, 0, 0, 0, 0},
                          {"scaled", 0, 1, 0, 1, 0},
                          {"bent", 0, 0, -1, 0, 0, 2}};

Position moved(const Warp& warp, Size size, Position p) {
  const double half_width = (size.width - 1) / 2.0, half_height = (size.height - 1) / 2.0;
  const double x = (p.x - half_width) / half_width, y = (p.y - half_height) / half_height;
  // The same angle or factor in both directions.
  const double aspect = half_height / half_width;
  return {p.x + rows_off * (warp.right_by_x * x / aspect + warp.right_by_y * y * aspect),
          p.y + rows_off *
                    (warp.down_by_x * x + warp.down_by_y * y + warp.down + warp.down_by_x_squared * x * x)};
}

// The position that is moved to p.
Position origin(const Warp& warp, Size size, Position p) {
  Position from = p;
  for (int i = 0; i < 20; ++i) {
    const Position to = moved(warp, size, from);
    from = {from.x + p.x - to.x, from.y + p.y - to.y};
  }
  return from;
}

// Keys 1981, "Cubic convolution interpolation for digital image processing".
double cubic(double t) {
  t = std::abs(t);
  if (t < 1) return (1.5 * t - 2.5) * t * t + 1;
  if (t < 2) return ((-0.5 * t + 2.5) * t - 4) * t + 2;
  return 0;
}

double sample(const tool::Picture& picture, Position p, int channel) {
  const int left = static_cast<int>(std::floor(p.x)), top = static_cast<int>(std::floor(p.y));
  double sum = 0;
  for (int j = -1; j <= 2; ++j) {
    const int y = std::clamp(top + j, 0, picture.size().height - 1);
    const auto* row = reinterpret_cast<const std::uint8_t*>(picture.row(y));
    for (int i = -1; i <= 2; ++i) {
      const int x = std::clamp(left + i, 0, picture.size().width - 1);
      sum += cubic(p.x - left - i) * cubic(p.y - top - j) * row[x * picture.channels() + channel];
    }
  }
  return sum;
}

Pair warped(const LoadedPair& pair, const Warp& warp) {
  const Size size = pair.left.size();
  Pair result{{pair.left, tool::Picture(pair.right.view().format, pair.right.channels()), Plane<float>(size),
               Plane<std::uint8_t>(size)},
              Plane<float>(size)};
  for (int y = 0; y < size.height; ++y) {
    auto* row = reinterpret_cast<std::uint8_t*>(result.right.row(y));
    for (int x = 0; x < size.width; ++x) {
      const Position from = origin(warp, size, {static_cast<double>(x), static_cast<double>(y)});
      for (int channel = 0; channel < pair.right.channels(); ++channel)
        row[x * pair.right.channels() + channel] =
            static_cast<std::uint8_t>(std::clamp(std::lround(sample(pair.right, from, channel)), 0l, 255l));
      const float disparity = pair.truth.at(x, y);
      result.visible.at(x, y) = pair.visible.at(x, y);
      result.truth.at(x, y) = disparity;
      if (!std::isfinite(disparity)) continue;
      const Position right = moved(warp, size, {x - static_cast<double>(disparity), static_cast<double>(y)});
      result.truth.at(x, y) = static_cast<float>(x - right.x);
      result.rows.at(x, y) = static_cast<float>(right.y - y);
    }
  }
  return result;
}

// Writes TO/Playtable/turned/left.png and right.png, and so on.
void save_all(const fs::path& data, const fs::path& to) {
  for (const DataPair& pair : middlebury) {
    const LoadedPair given = load(data, pair);
    for (const Warp& warp : warps) {
      std::string name = warp.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      const fs::path folder = to / pair.name() / name;
      const Pair moved = warped(given, warp);
      fs::create_directories(folder);
      tool::write_output(folder / "left.png", tool::encode_png(moved.left.view()));
      tool::write_output(folder / "right.png", tool::encode_png(moved.right.view()));
    }
  }
}

// A row of the table: bad1 with three tolerances, and by how much row offsets are off with the largest.
using Row = std::array<double, 4>;

Row measure(const Pair& pair, MatcherParameters parameters) {
  const Size size = pair.left.size();
  Row row = {};
  Result result;
  for (int tolerance = 0; tolerance <= 2; ++tolerance) {
    set_parameter(parameters, "row_tolerance", std::to_string(tolerance));
    result = match(pair.views(), parameters, {});
    row[static_cast<std::size_t>(tolerance)] =
        100 * evaluate(result.disparity.view(), pair.truth.view(), pair.visible.view()).bad1;
  }
  double sum = 0, count = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const float error = std::abs(result.row_offset.at(x, y) - pair.rows.at(x, y));
      if (pair.visible.at(x, y) != 255 || !std::isfinite(error) || !std::isfinite(pair.truth.at(x, y)))
        continue;
      sum += static_cast<double>(error);
      ++count;
    }
  row[3] = sum / std::max(1.0, count);
  return row;
}

void print(const std::string& pair, const char* how, const Row& row) {
  std::printf("| %s | %s | %.1f | %.1f | %.1f | %.2f |\n", pair.c_str(), how, row[0], row[1], row[2], row[3]);
  std::fflush(stdout);
}

void run(const fs::path& data, MatcherParameters parameters) {
  std::printf("| pair | rows | N = 0 | N = 1 | N = 2 | rows off by |\n|---|---|--:|--:|--:|--:|\n");
  std::array<Row, std::size(warps)> means = {};
  for (std::size_t number = 0; number < middlebury.size(); ++number) {
    const LoadedPair given = load(data, middlebury[number]);
    parameters.disparities() = disparities[number];
    for (std::size_t i = 0; i < means.size(); ++i) {
      const Row row = measure(warped(given, warps[i]), parameters);
      print(middlebury[number].name(), warps[i].name, row);
      for (std::size_t k = 0; k < row.size(); ++k)
        means[i][k] += row[k] / static_cast<double>(middlebury.size());
    }
  }
  for (std::size_t i = 0; i < means.size(); ++i) print("**mean**", warps[i].name, means[i]);
}

}  // namespace

int main(int count, char** arguments) {
  return run_program([&] {
    if (count < 3) throw Error(ErrorCategory::argument, "row_tolerance: give DATA METHOD [FIELD=VALUE]...");
    MatcherParameters parameters = preset(arguments[2], "default");
    for (int i = 3; i < count; ++i) {
      const std::string argument = arguments[i];
      const std::size_t equals = argument.find('=');
      const std::string field = argument.substr(0, equals), value = argument.substr(equals + 1);
      if (field == "save") return save_all(arguments[1], value);
      set_parameter(parameters, field, value);
    }
    run(arguments[1], parameters);
  });
}
