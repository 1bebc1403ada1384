// SPDX-License-Identifier: Apache-2.0
// Measures check_pair(): the errors of its estimates on pairs with known faults, and its time. docs/check.md has the
// results.
//
//     benchmark_check [CASES]
#include "parallax/check.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "check/faulty_pair.h"

namespace parallax {
namespace {

constexpr Size size{640, 480};
constexpr double half = 0.5 * size.width;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
  double within(double most) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return most * (2 * static_cast<double>(state_ >> 11) * 0x1p-53 - 1);
  }

 private:
  std::uint64_t state_;
};

struct Errors {
  std::vector<double> values;
  int wrong = 0;  // verdicts

  double at(double share) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0
                          : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  }
};

// Difference of an estimate from the value of the fault, in pixels at the edge of the picture.
using Kind = void (*)(Random&, Faults&);
struct Fault {
  const char* name;
  Kind set;
  double (*error)(const PairReport&, const Faults&, double focal);
};

double error_of_shift(const PairReport& r, const Faults& f, double) {
  return r.model.shift.value - f.rows;
}

const Fault faults[] = {
    {"shift", [](Random& random, Faults& f) { f.rows = random.within(10); }, error_of_shift},
    {"roll", [](Random& random, Faults& f) { f.roll = random.within(0.02); },
     [](const PairReport& r, const Faults& f, double) {
       return r.model.rotation.value - half * std::tan(f.roll);
     }},
    {"scale", [](Random& random, Faults& f) { f.scale = 1 + random.within(0.02); },
     [](const PairReport& r, const Faults& f, double) { return r.model.scale.value - half * (f.scale - 1); }},
    {"pitch", [](Random& random, Faults& f) { f.pitch = random.within(0.02); },
     [](const PairReport& r, const Faults& f, double focal) {
       const double t = std::tan(f.pitch), shift = r.model.shift.value - focal * t,
                    keystone = r.model.pitch.value - half * half / focal * t * (1 + t * t);
       return std::max(std::abs(shift), std::abs(keystone));
     }},
    {"yaw", [](Random& random, Faults& f) { f.yaw = random.within(0.02); },
     [](const PairReport& r, const Faults& f, double focal) {
       return std::abs(r.model.yaw.value) - half * half / focal * std::abs(std::sin(f.yaw));
     }},
    {"distortion", [](Random& random, Faults& f) { f.distortion = random.within(0.03); },
     [](const PairReport& r, const Faults& f, double focal) {
       return r.model.distortion.value - f.distortion * half * half * half / focal / focal;
     }},
    {"shift with noise", [](Random& random, Faults& f) { f.rows = random.within(10), f.noise = 12; },
     error_of_shift},
    {"shift with exposure",
     [](Random& random, Faults& f) {
       f.rows = random.within(10), f.gain = 0.8 + random.within(0.15), f.offset = random.within(8);
     },
     error_of_shift},
    {"gain (no unit)",
     [](Random& random, Faults& f) { f.gain = 0.8 + random.within(0.15), f.offset = 8 + random.within(8); },
     [](const PairReport& r, const Faults& f, double) { return r.exposure.gain - f.gain; }}};

double shown_rows_off(const PairReport& report, const FaultyPair& pair) {
  std::vector<double> truth;
  for (const CheckedPoint& point : report.points)
    truth.push_back(std::abs(pair.true_position(point.left_x, point.left_y)[1] - point.left_y));
  std::nth_element(truth.begin(), truth.begin() + static_cast<std::ptrdiff_t>(truth.size() / 2), truth.end());
  return truth[truth.size() / 2];
}

void measure_single_faults(int cases) {
  std::printf("%-22s %6s %10s %10s %10s\n", "fault", "cases", "median", "95 %", "largest");
  for (const Fault& fault : faults) {
    Errors errors, points;
    for (int i = 0; i < cases; ++i) {
      Random random(static_cast<std::uint64_t>(i + 1));
      Faults made;
      fault.set(random, made);
      const FaultyPair pair(size, static_cast<std::uint64_t>(i + 1), made);
      const PairReport report = check_pair(pair.pair());
      errors.values.push_back(std::abs(fault.error(report, made, pair.focal())));
      for (const CheckedPoint& point : report.points)
        points.values.push_back(std::abs(point.right_y - pair.true_position(point.left_x, point.left_y)[1]));
    }
    std::printf("%-22s %6d %10.4f %10.4f %10.4f   points %.4f %.4f\n", fault.name, cases, errors.at(0.5),
                errors.at(0.95), errors.at(1), points.at(.5), points.at(.95));
    std::fflush(stdout);
  }
}

void measure_random_rigs(int cases) {
  Errors field, rows;
  int wrong = 0;
  for (int i = 0; i < cases; ++i) {
    Random random(static_cast<std::uint64_t>(i + 1000));
    Faults f;
    f.rows = random.within(5), f.roll = random.within(0.01), f.pitch = random.within(0.01),
    f.yaw = random.within(0.01);
    f.scale = 1 + random.within(0.01), f.higher = random.within(0.01), f.forward = random.within(0.01);
    f.distortion = random.within(0.01);
    f.noise = 4;
    const FaultyPair pair(size, static_cast<std::uint64_t>(i + 1000), f);
    const PairReport report = check_pair(pair.pair());
    std::vector<double> errors;
    for (int y = 10; y < size.height - 10; y += 20)
      for (int x = 60; x < size.width - 10; x += 20) {
        const auto [right_x, right_y] = pair.true_position(x, y);
        errors.push_back(std::abs(report.model.rows_off(right_x, y, x - right_x) - (right_y - y)));
      }
    std::sort(errors.begin(), errors.end());
    field.values.push_back(errors[errors.size() * 95 / 100]);
    rows.values.push_back(std::abs(report.rows_off - shown_rows_off(report, pair)));
    wrong += report.verdict != Verdict::rows_off;
  }
  std::printf("%-22s %6d %10.4f %10.4f %10.4f\n", "all: model", cases, field.at(0.5), field.at(0.95),
              field.at(1));
  std::printf("%-22s %6d %10.4f %10.4f %10.4f   %d wrong verdicts\n", "all: rows off", cases, rows.at(0.5),
              rows.at(0.95), rows.at(1), wrong);
}

void measure_time() {
  const FaultyPair pair({1280, 720}, 1, {});
  double least = 1e9;
  for (int i = 0; i < 30; ++i) {
    const auto start = std::chrono::steady_clock::now();
    check_pair(pair.pair(), {.threads = 2});
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  std::printf("1280×720 on 2 threads: %.1f ms\n", least);
}

}  // namespace
}  // namespace parallax

int main(int count, char** values) {
  const int cases = count > 1 ? std::atoi(values[1]) : 200;
  parallax::measure_time();
  parallax::measure_single_faults(cases);
  parallax::measure_random_rigs(cases);
  return 0;
}
