// SPDX-License-Identifier: Apache-2.0
// Measures repair_rig(): rows and unknowns of rigs that were turned, pairs without a rig, and its time.
// docs/measurements/repair.md has the results.
//
//     benchmark_repair [CASES]
#include "parallax/repair.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "check/faulty_rig.h"

namespace parallax {
namespace {

constexpr Size size{640, 480};
constexpr double degree = std::numbers::pi / 180;

class Random {
 public:
  explicit Random(int seed) : state_(static_cast<std::uint64_t>(seed) * 2654435761u + 88172645463325252u) {}
  double unit() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  double within(double most) { return most * (2 * unit() - 1); }
  // An angle of either sign, 0.1 to 1 degree.
  double turn() {
    const double angle = degree * (0.1 + 0.9 * unit());
    return unit() < 0.5 ? angle : -angle;
  }

 private:
  std::uint64_t state_;
};

double at(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

struct Change {
  const char* name;
  void (*make)(Random& random, Faults& faults);
};

const Change changes[] = {
    {"none", [](Random&, Faults&) {}},
    {"turned about the horizontal axis", [](Random& r, Faults& f) { f.pitch = r.turn(); }},
    {"turned about the vertical axis", [](Random& r, Faults& f) { f.yaw = r.turn(); }},
    {"turned about the optical axis", [](Random& r, Faults& f) { f.roll = r.turn(); }},
    {"baseline tilted by up to 1°",
     [](Random& r, Faults& f) { f.higher = std::tan(r.turn()), f.forward = std::tan(r.turn()); }},
    {"focal lengths within 2 %", [](Random& r, Faults& f) { f.scale = 1 + r.within(0.02); }},
    {"all at once",
     [](Random& r, Faults& f) {
       f.pitch = r.turn(), f.yaw = r.turn(), f.roll = r.turn();
       f.higher = std::tan(r.turn()), f.forward = std::tan(r.turn()), f.scale = 1 + r.within(0.02);
     }},
    {"all at once, noise of ±8 gray levels", [](Random& r, Faults& f) {
       f.pitch = r.turn(), f.yaw = r.turn(), f.roll = r.turn();
       f.higher = std::tan(r.turn()), f.forward = std::tan(r.turn()), f.scale = 1 + r.within(0.02),
       f.noise = 8;
     }}};

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
  std::vector<double> before, after, deviations, milliseconds, uncertainties;
  int repaired = 0;
  for (int i = 1; i <= cases; ++i) {
    Random random(i);
    Faults faults;
    change.make(random, faults);
    const FaultyPair pair(size, static_cast<std::uint64_t>(i), faults);
    const Rig rig = with_rig ? faultless_rig(size) : guessed_rig(size, 700);
    const RepairParameters parameters = with_rig ? RepairParameters{} : RepairParameters::uncalibrated(size);
    const auto start = std::chrono::steady_clock::now();
    const RigRepair repair = repair_rig(rig, pair.pair(), parameters);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    milliseconds.push_back(taken.count());
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
              at(before, 0.5), at(after, 0.5), at(after, 0.95), at(after, 1), at(uncertainties, 0.5));
  if (with_rig) std::printf(" %.1f | %.1f |", at(deviations, 0.95), at(deviations, 1));
  std::printf(" %.0f |\n", at(milliseconds, 0.5));
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
