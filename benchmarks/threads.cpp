// SPDX-License-Identifier: Apache-2.0
// Measures pairs per second by the number of threads, from and to ordinary memory.
//
//   benchmark_threads                       several matchers at once, each with one thread, as in
//                                           benchmarks/python.py
//   benchmark_threads DEVICE [THREADS...]   one matcher with 1, 2, 4, 8, … and all threads, or with those
//                                           that are given; then where its time goes. For a GPU, threads copy
//                                           pairs and maps.
//
// All maps of one method are compared with those of one thread.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parallax/parallax.h"
#include "parallax/process.h"

#include "benchmarks/buffers.h"
#include "benchmarks/common.h"

namespace {

using namespace parallax;
using benchmarks::Buffer, benchmarks::Buffers, benchmarks::Case;

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

void print_matchers_of_one_thread() {
  const SynthPair pair = synthesize({});
  std::printf("| 640×480, census, matchers of one thread each | pairs/s |\n|---|--:|\n");
  for (const int threads : {1, 2, 4}) {
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) rates.push_back(pairs_per_second(pair, threads, 64));
    std::printf("| %d | %.1f |\n", threads, benchmarks::median(rates));
  }
}

constexpr Case cases[] = {{{640, 480}, 64}, {{1920, 1080}, 128}};
constexpr std::pair<const char*, const char*> methods[] = {
    {"bp", "default"}, {"sgm", "default"}, {"census", "fast"}, {"block", "default"}};

// A matcher with some threads, and the times that it took.
struct Timed {
  int threads;
  Matcher matcher;
  std::vector<double> milliseconds = {};
  std::vector<std::pair<std::string, std::vector<double>>> stages = {};  // by name

  double total() const {
    double sum = 0;
    for (const double time : milliseconds) sum += time;
    return sum;
  }

  void run(Buffer& buffer) {
    milliseconds.push_back(
        benchmarks::milliseconds([&] { matcher.run(buffer.pair(), buffer.result.map()); }));
    const std::vector<StageTime>& times = matcher.stage_times();
    stages.resize(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      stages[i].first = times[i].stage;
      stages[i].second.push_back(times[i].milliseconds);
    }
  }
};

// Runs all in turns, several times in a row, so that a slow second of the machine meets each.
void measure(std::vector<Timed>& all, Buffers& buffers) {
  constexpr double turn_milliseconds = 80;
  constexpr int turns = 5;
  constexpr std::size_t most_buffers = 8;
  Result expected(buffers.at(0).result.size());
  all.front().matcher.run(buffers.at(0).pair(), expected.map());
  for (int turn = -1; turn < turns; ++turn)  // one to warm up
    for (Timed& timed : all) {
      if (turn == 0) timed.milliseconds.clear(), timed.stages.clear();
      const double until = timed.total() + turn_milliseconds;
      for (std::size_t i = 0; timed.total() < until; ++i) timed.run(buffers.at(i % most_buffers));
      if (!benchmarks::same(buffers.at(0).result, expected))
        throw Error(ErrorCategory::internal, "the maps of different numbers of threads differ");
    }
}

double rate(const Timed& timed) {
  return 1e3 / benchmarks::median(timed.milliseconds);
}

void print_rates(const Case& of, const char* method, const std::vector<Timed>& all) {
  std::printf("| %d×%d, %d | %s |", of.size.width, of.size.height, of.disparities, method);
  double best = 0, least_share = 1;  // shares are relative to the best rate with fewer threads
  for (const Timed& timed : all) {
    const double now = rate(timed);
    std::printf(" %.*f (%.1f) |", now < 100 ? 1 : 0, now, now / rate(all.front()));
    if (best > 0) least_share = std::min(least_share, now / best);
    best = std::max(best, now);
  }
  std::printf(" %.2f |\n", least_share);
  std::fflush(stdout);
}

void print_stages(const Case& of, const char* method, const std::vector<Timed>& all, std::string& text) {
  for (std::size_t i = 0; i < all.front().stages.size(); ++i) {
    text += "| " + std::to_string(of.size.width) + "×" + std::to_string(of.size.height) + " | " + method +
            " | " + all.front().stages[i].first + " |";
    for (const Timed& timed : all) {
      char number[32];
      std::snprintf(number, sizeof number, " %.3f |", benchmarks::median(timed.stages.at(i).second));
      text += number;
    }
    text += '\n';
  }
}

void print_head(std::vector<std::string> titles, const std::vector<int>& threads,
                const char* last = nullptr) {
  for (const int count : threads) titles.push_back(std::to_string(count));
  if (last != nullptr) titles.emplace_back(last);
  std::printf("\n|");
  for (const std::string& title : titles) std::printf(" %s |", title.c_str());
  std::printf("\n|");
  for (std::size_t i = 0; i < titles.size(); ++i) std::printf("--:|");
  std::printf("\n");
}

void print_one_matcher(Device device, const std::vector<int>& threads) {
  for (const DeviceDescription& known : list_devices())
    std::printf("%s: %s\n", known.device.c_str(), known.description.c_str());
  print_head({"size, disparities", "method"}, threads, "least share of the best rate with fewer threads");
  std::string stages;
  for (const Case& of : cases) {
    Buffers buffers(of);
    for (const auto& [method, preset_name] : methods) {
      MatcherParameters parameters = preset(method, preset_name);
      parameters.disparities() = of.disparities;
      std::vector<Timed> all;
      for (const int count : threads) {
        device.threads = count;
        all.push_back({count, Matcher(parameters, device, {of.size})});
      }
      measure(all, buffers);
      print_rates(of, method, all);
      print_stages(of, method, all, stages);
    }
  }
  print_head({"size", "method", "stage, ms"}, threads);
  std::printf("%s", stages.c_str());
}

// Powers of two, and all.
std::vector<int> usual_threads() {
  std::vector<int> threads;
  for (int count = 1; count < available_threads(); count *= 2) threads.push_back(count);
  threads.push_back(available_threads());
  return threads;
}

}  // namespace

int main(int count, char** arguments) {
  return benchmarks::run_program([&] {
    if (count == 1) return print_matchers_of_one_thread();
    std::vector<int> threads;
    for (int i = 2; i < count; ++i) threads.push_back(std::atoi(arguments[i]));
    print_one_matcher(Device::parse(arguments[1]), threads.empty() ? usual_threads() : threads);
  });
}
