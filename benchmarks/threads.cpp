// SPDX-License-Identifier: Apache-2.0
// Measures pairs per second of several matchers at once, each with one thread; the counterpart of
// benchmarks/python.py.
#include <cstdio>
#include <thread>
#include <vector>

#include "parallax/parallax.h"

#include "benchmarks/common.h"

namespace {

using namespace parallax;

double pairs_per_second(const SynthPair& pair, int threads, int pairs) {
  std::vector<Matcher> matchers;
  for (int i = 0; i < threads; ++i)
    matchers.emplace_back(CensusParameters(), Device{DeviceKind::cpu, 0, 0, 1}, ImageFormat{pair.size()});
  const double milliseconds = benchmarks::milliseconds([&] {
    std::vector<std::thread> workers;
    for (Matcher& matcher : matchers)
      workers.emplace_back([&] {
        Result result(pair.size());
        for (int i = 0; i < pairs / threads; ++i)
          matcher.run({pair.left_view(), pair.right_view()}, result.map());
      });
    for (std::thread& worker : workers) worker.join();
  });
  return 1e3 * pairs / milliseconds;
}

}  // namespace

int main() {
  const SynthPair pair = synthesize({});
  std::printf("| 640×480, census, matchers of one thread each | pairs/s |\n|---|--:|\n");
  for (const int threads : {1, 2, 4}) {
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) rates.push_back(pairs_per_second(pair, threads, 64));
    std::printf("| %d | %.1f |\n", threads, benchmarks::median(rates));
  }
}
