// SPDX-License-Identifier: Apache-2.0
// Measures MatcherPool: synthetic pairs per second, from and to ordinary host memory.
//
//   benchmark_pool DEVICES [THREADS...]
//
// DEVICES is the argument of parse_devices(), such as cuda:all. For each size and method the first device
// matches alone, by Matcher::run() in a loop; then a pool has 1, 2, 4, 8 and 16 matchers on that device, and
// its own choice on 1, 2, 4, … and all devices; there also with these Device::threads instead of its own
// choice. All maps are compared with those of the first device alone.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>

#include "parallax/parallax.h"

#include "benchmarks/buffers.h"
#include "benchmarks/common.h"

namespace {

using namespace parallax;
using benchmarks::Buffer, benchmarks::Buffers, benchmarks::Case;

constexpr Case cases[] = {{{640, 480}, 64}, {{1280, 720}, 128}, {{1920, 1080}, 128}};

constexpr std::pair<const char*, const char*> methods[] = {
    {"bp", "default"}, {"census", "fast"}, {"sgm", "default"}};

// Calls `next`, which returns when one more pair is matched, until the pairs per second no longer change.
double steady_rate(const std::function<void()>& next) {
  constexpr double min_milliseconds = 300, alike = 0.03;
  constexpr int min_pairs = 20, max_windows = 8;
  double before = 0;
  for (int window = 0;; ++window) {
    int pairs = 0;
    double milliseconds = 0;
    for (; pairs < min_pairs || milliseconds < min_milliseconds; ++pairs)
      milliseconds += benchmarks::milliseconds(next);
    const double now = 1e3 * pairs / milliseconds;
    // The first window includes making plans.
    const bool is_steady = window > 1 && std::abs(now / before - 1) < alike;
    if (is_steady || window == max_windows) return std::max(now, before);
    before = now;
  }
}

class Bench {
 public:
  Bench(const Case& of, const MatcherParameters& parameters, Buffers& buffers)
      : format_{of.size}, parameters_(parameters), buffers_(buffers), expected_(of.size) {
    parameters_.disparities() = of.disparities;
  }

  double alone(const Device& device) {
    Matcher matcher(parameters_, device, format_);
    constexpr std::size_t count = 8;
    std::size_t i = 0;
    matcher.run(buffers_.at(0).pair(), expected_.map());
    return steady_rate([&] {
      Buffer& buffer = buffers_.at(i++ % count);
      matcher.run(buffer.pair(), buffer.result.map());
    });
  }

  // 0 matchers on a GPU = the pool's own choice.
  double pool(const std::vector<Device>& devices, int matchers = 0) {
    MatcherPool pool(parameters_, devices, {.matchers_per_gpu = matchers});
    const auto count = static_cast<std::size_t>(3 * pool.matchers(format_) + 2);
    std::deque<std::uint64_t> numbers;
    std::size_t next = 0;
    const auto submit = [&] {
      Buffer& buffer = buffers_.at(next++ % count);
      numbers.push_back(pool.submit(buffer.pair(), buffer.result.map()));
    };
    const auto wait = [&] {
      pool.wait(numbers.front());
      numbers.pop_front();
    };
    while (numbers.size() < count) submit();
    const double rate = steady_rate([&] {
      wait();
      submit();
    });
    while (!numbers.empty()) wait();
    for (std::size_t i = 0; i < count; ++i) {
      if (!benchmarks::same(buffers_.at(i).result, expected_))
        throw Error(ErrorCategory::internal, "a map of the pool differs from that of one matcher alone");
    }
    return rate;
  }

 private:
  ImageFormat format_;
  MatcherParameters parameters_;
  Buffers& buffers_;
  Result expected_;
};

void print_rows(const Case& of, const std::pair<const char*, const char*>& method,
                const std::vector<Device>& devices, const std::vector<int>& threads, Buffers& buffers) {
  const auto print = [&](const std::string& how, double pairs_per_second) {
    std::printf("| %d×%d, %d | %s %s | %s | %.0f |\n", of.size.width, of.size.height, of.disparities,
                method.first, method.second, how.c_str(), pairs_per_second);
    std::fflush(stdout);
  };
  Bench bench(of, preset(method.first, method.second), buffers);
  print("Matcher::run() in a loop", bench.alone(devices.front()));
  for (const int matchers : {1, 2, 4, 8, 16})
    print("pool, matchers: " + std::to_string(matchers), bench.pool({devices.front()}, matchers));
  for (std::size_t count = 1;; count = std::min(2 * count, devices.size())) {
    std::vector<Device> some(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count));
    const std::string how = "pool, devices: " + std::to_string(count);
    print(how, bench.pool(some));
    for (const int chosen : threads) {
      for (Device& device : some) device.threads = chosen;
      print(how + ", threads: " + std::to_string(chosen), bench.pool(some));
    }
    if (count == devices.size()) return;
  }
}

void run(const std::vector<Device>& devices, const std::vector<int>& threads) {
  for (const DeviceDescription& device : list_devices())
    std::printf("%s: %s\n", device.device.c_str(), device.description.c_str());
  std::printf("\n| size, disparities | method | how | pairs/s |\n|---|---|---|--:|\n");
  for (const Case& of : cases) {
    Buffers buffers(of);
    for (const auto& method : methods) print_rows(of, method, devices, threads, buffers);
  }
}

}  // namespace

int main(int count, char** arguments) {
  return benchmarks::run_program([&] {
    if (count < 2) throw Error(ErrorCategory::argument, "usage: benchmark_pool DEVICES [THREADS...]");
    std::vector<int> threads;
    for (int i = 2; i < count; ++i) threads.push_back(std::atoi(arguments[i]));
    run(parse_devices(arguments[1]), threads);
  });
}
