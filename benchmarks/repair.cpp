// SPDX-License-Identifier: Apache-2.0
// Measures repair_rig(): rows and unknowns of rigs that were turned, pairs without a rig, and its time.
// docs/measurements/repair.md has the results.
//
//     benchmark_repair [CASES]
#include "parallax/repair.h"

#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "benchmarks/common.h"
#include "check/faulty_rig.h"

namespace parallax {
namespace {

using benchmarks::quantile;
using benchmarks::Random;

constexpr Size size{640, 480};
constexpr double degree = std::numbers::pi / 180;

// An angle of either sign, 0.1 to 1 degree.
double turn(Random& random) {
  const double angle = degree * (0.1 + 0.9 * random.unit());
  return random.unit() < 0.5 ? angle : -angle;
}

struct Change {
  const char* name;
  void (*make)(Random& random, Faults& faults);
};

void change_all(Random& r, Faults& f) {
  f.pitch = turn(r), f.yaw = turn(r), f.roll = turn(r);
  f.higher = std::tan(turn(r)), f.forward = std::tan(turn(r)), f.scale = 1 + r.within(0.02);
}

const Change changes[] = {
    {"none", [](Random&, Faults&) {}},
    {"turned about the horizontal axis", [](Random& r, Faults& f) { f.pitch = turn(r); }},
    {"turned about the vertical axis", [](Random& r, Faults& f) { f.yaw = turn(r); }},
    {"turned about the optical axis", [](Random& r, Faults& f) { f.roll = turn(r); }},
    {"baseline tilted by up to 1°",
     [](Random& r, Faults& f) { f.higher = std::tan(turn(r)), f.forward = std::tan(turn(r)); }},
    {"focal lengths within 2 %", [](Random& r, Faults& f) { f.scale = 1 + r.within(0.02); }},
    {"all at once", change_all},
    {"all at once, noise of ±8 gray levels", [](Random& r, Faults& f) { change_all(r, f), f.noise = 8; }}};

// The largest error of an unknown, in units of its standard deviation.
double largest_deviation(const RigRepair& repair, const Faults& faults) {
  const Vector3 turned = axis_of(faulty_rig(size, faults).rotation);
  double most = 0;
  const auto add = [&](const RepairedValue& value, double truth) {
    if (value.uncertainty > 0) most = std::max(most, std::abs(value.change - truth) / value.uncertainty);
  };
  for (std::size_t i = 0; i < 3; ++i) add(repair.rotation[i], turned[i] / degree);
  add(repair.down, std::atan(faults.higher) / degree);
  add(repair.forward, std::atan(faults.forward) / degree);
  add(repair.focal_ratio, faults.scale - 1);
  return most;
}

void measure(const Change& change, int cases, bool with_rig) {
  std::vector<double> before, after, deviations, times, uncertainties;
  int repaired = 0;
  for (int i = 1; i <= cases; ++i) {
    Random random(i);
    Faults faults;
    change.make(random, faults);
    const FaultyPair pair(size, static_cast<std::uint64_t>(i), faults);
    const Rig rig = with_rig ? faultless_rig(size) : guessed_rig(size, 700);
    const RepairParameters parameters = with_rig ? RepairParameters{} : RepairParameters::uncalibrated(size);
    RigRepair repair;
    times.push_back(benchmarks::milliseconds([&] { repair = repair_rig(rig, pair.pair(), parameters); }));
    before.push_back(true_rows_off(pair, rig, rectify(rig)));
    repaired += repair.repaired();
    if (!repair.repaired()) {
      std::printf("%d: %s\n", i, repair.sentence.c_str());
      continue;
    }
    after.push_back(true_rows_off(pair, repair.rig, rectify(repair.rig)));
    deviations.push_back(largest_deviation(repair, faults));
    uncertainties.push_back(repair.uncertainty);
  }
  std::printf("| %s | %d of %d | %.2f | %.3f | %.3f | %.3f | %.3f |", change.name, repaired, cases,
              quantile(before, 0.5), quantile(after, 0.5), quantile(after, 0.95), quantile(after, 1),
              quantile(uncertainties, 0.5));
  if (with_rig) std::printf(" %.1f | %.1f |", quantile(deviations, 0.95), quantile(deviations, 1));
  std::printf(" %.0f |\n", quantile(times, 0.5));
  std::fflush(stdout);
}

}  // namespace
}  // namespace parallax

int main(int count, char** values) {
  const int cases = count > 1 ? std::atoi(values[1]) : 50;
  for (const bool with_rig : {true, false}) {
    std::printf(with_rig ? "with a rig\n" : "without a rig\n");
    for (const parallax::Change& change : parallax::changes) parallax::measure(change, cases, with_rig);
  }
  return 0;
}
