// SPDX-License-Identifier: Apache-2.0
// Measures check_pair(): its time, the errors of its estimates on pairs with known faults, and, given the
// folder of Middlebury pairs, its verdict and range on each. docs/measurements/check.md has the results.
//
//     benchmark_check [CASES [DATA]]
#include "parallax/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/common.h"
#include "benchmarks/pairs.h"
#include "check/faulty_pair.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;
using benchmarks::quantile;
using benchmarks::Random;

constexpr Size size{640, 480};
constexpr double half = 0.5 * size.width;

// A fault, and the error of its estimate, in pixels at the edge of the picture.
struct Fault {
  const char* name;
  void (*set)(Random& random, Faults& faults);
  double (*error)(const RowModel& model, const Faults& faults, double focal);
};

double error_of_shift(const RowModel& model, const Faults& faults, double) {
  return model.shift.value - faults.rows;
}

const Fault faults[] = {
    {"shift", [](Random& r, Faults& f) { f.rows = r.within(10); }, error_of_shift},
    {"rotation", [](Random& r, Faults& f) { f.roll = r.within(0.02); },
     [](const RowModel& m, const Faults& f, double) { return m.rotation.value - half * std::tan(f.roll); }},
    {"scale", [](Random& r, Faults& f) { f.scale = 1 + r.within(0.02); },
     [](const RowModel& m, const Faults& f, double) { return m.scale.value - half * (f.scale - 1); }},
    // Disparities span a tenth of the width.
    {"shear", [](Random& r, Faults& f) { f.higher = r.within(0.02); },
     [](const RowModel& m, const Faults& f, double) { return 0.1 * (m.shear.value + half * f.higher); }},
    {"distortion", [](Random& r, Faults& f) { f.distortion = r.within(0.03); },
     [](const RowModel& m, const Faults& f, double focal) {
       return m.distortion.value - f.distortion * half * half * half / focal / focal;
     }},
    {"shift, noise", [](Random& r, Faults& f) { f.rows = r.within(10), f.noise = 12; }, error_of_shift}};

void print_row(const char* name, const std::vector<double>& errors) {
  std::printf("| %s | %zu | %.3f | %.3f | %.3f |\n", name, errors.size(), quantile(errors, 0.5),
              quantile(errors, 0.95), quantile(errors, 1));
  std::fflush(stdout);
}

void measure_single_faults(int cases) {
  for (const Fault& fault : faults) {
    std::vector<double> errors;
    for (int i = 1; i <= cases; ++i) {
      Random random(i);
      Faults made;
      fault.set(random, made);
      const FaultyPair pair(size, static_cast<std::uint64_t>(i), made);
      errors.push_back(std::abs(fault.error(check_pair(pair.pair()).model, made, pair.focal())));
    }
    print_row(fault.name, errors);
  }
}

// Swaps the views; everything except the sign of the disparities stays the same.
void measure_exchanged(int cases) {
  int found = 0;
  for (int i = 1; i <= cases; ++i) {
    const FaultyPair pair(size, static_cast<std::uint64_t>(i), {});
    const StereoPair right = pair.pair();
    found += check_pair({right.right, right.left}).verdict == Verdict::exchanged;
  }
  std::printf("exchanged pictures found: %d of %d\n", found, cases);
}

Faults random_rig(Random& random) {
  Faults f;
  f.rows = random.within(5), f.roll = random.within(0.01), f.pitch = random.within(0.01),
  f.yaw = random.within(0.01);
  f.scale = 1 + random.within(0.01), f.higher = random.within(0.01), f.forward = random.within(0.01);
  f.distortion = random.within(0.01), f.noise = 4;
  return f;
}

// Errors of the model over the picture, and of the 95 % quantile of row differences, when all faults are
// combined.
void measure_random_rigs(int cases) {
  std::vector<double> model, high;
  for (int i = 1; i <= cases; ++i) {
    Random random(1000 + i);
    const FaultyPair pair(size, static_cast<std::uint64_t>(1000 + i), random_rig(random));
    const PairReport report = check_pair(pair.pair());
    std::vector<double> errors, truth, uncertainties;
    for (int y = 10; y < size.height - 10; y += 20)
      for (int x = 60; x < size.width - 10; x += 20) {
        const auto [right_x, right_y] = pair.true_position(x, y);
        errors.push_back(std::abs(report.model.rows_off(right_x, y, x - right_x) - (right_y - y)));
      }
    for (const CheckedPoint& point : report.points)
      uncertainties.push_back(static_cast<double>(point.uncertainty));
    const double limit = std::max(0.05, quantile(uncertainties, 0.5));  // like check_pair()
    for (const CheckedPoint& point : report.points) {
      const double x = static_cast<double>(point.left_x), y = static_cast<double>(point.left_y);
      if (static_cast<double>(point.uncertainty) <= limit)
        truth.push_back(std::abs(pair.true_position(x, y)[1] - y));
    }
    model.push_back(quantile(errors, 0.95));
    high.push_back(std::abs(report.rows_off_95 - quantile(truth, 0.95)));
  }
  print_row("all: rows off by the model, 95 % of the picture", model);
  print_row("all: rows off, 95 %", high);
}

void measure_time() {
  const FaultyPair pair({1280, 720}, 1, {});
  for (const int threads : {1, 2}) {
    std::vector<double> times;
    for (int i = 0; i < 30; ++i)
      times.push_back(benchmarks::milliseconds([&] { check_pair(pair.pair(), {.threads = threads}); }));
    std::printf("1280×720, threads %d: %.1f ms\n", threads, quantile(times, 0));
  }
}

void measure_pair(const fs::path& data, const benchmarks::DataPair& pair) {
  const benchmarks::LoadedPair loaded = load(data, pair);
  const Plane<float>& truth = loaded.truth;
  std::vector<double> values;
  for (int y = 0; y < truth.height(); ++y)
    for (int x = 0; x < truth.width(); ++x)
      if (std::isfinite(truth.at(x, y))) values.push_back(static_cast<double>(truth.at(x, y)));
  const PairReport report = check_pair(loaded.views());
  const DisparityRange& range = report.range;
  const int last = range.min_disparity + range.disparities - 1;
  int outside = 0;
  for (const double value : values) outside += value < range.min_disparity || value > last;
  std::printf("| %s | %s | %.2f | %.2f | %.1f–%.1f | %.1f–%.1f | %d–%d | %d |\n", pair.path,
              name(report.verdict), report.rows_off, report.rows_off_95, quantile(values, 0),
              quantile(values, 1), range.lowest, range.highest, range.min_disparity, last, outside);
}

}  // namespace
}  // namespace parallax

int main(int count, char** values) {
  const int cases = count > 1 ? std::atoi(values[1]) : 200;
  parallax::measure_time();
  if (count > 2)
    for (const auto& pair : parallax::benchmarks::data_pairs) parallax::measure_pair(values[2], pair);
  parallax::measure_single_faults(cases);
  parallax::measure_exchanged(cases);
  parallax::measure_random_rigs(cases);
  return 0;
}
