// SPDX-License-Identifier: Apache-2.0
// Measures MatcherPool: synthetic pairs per second, from and to ordinary host memory.
//
//   benchmark_pool DEVICES
//
// DEVICES is the argument of parse_devices(), such as cuda:all. For each size and method the first device
// matches alone, by Matcher::run() in a loop; then a pool has 1, 2, 4, 8 and 16 matchers on that device, and
// its own choice on 1, 2, 4, … and all devices. All maps are compared with those of the first device alone.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>

#include "parallax/parallax.h"

#include "benchmarks/common.h"

namespace {

using namespace parallax;

struct Case {
  Size size;
  int disparities;
};
constexpr Case cases[] = {{{640, 480}, 64}, {{1280, 720}, 128}, {{1920, 1080}, 128}};

constexpr std::pair<const char*, const char*> methods[] = {
    {"bp", "default"}, {"census", "fast"}, {"sgm", "default"}};

template <class T>
bool same(const Plane<T>& a, const Plane<T>& b) {
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width()) * sizeof(T)) != 0) return false;
  return true;
}

// A pair and its map that own their memory.
struct Buffer {
  Plane<std::uint8_t> left, right;
  Result result;

  StereoPair pair() const { return {left.view(), right.view()}; }
};

Plane<std::uint8_t> red(const Plane<std::uint8_t>& colour) {
  Plane<std::uint8_t> plane({colour.width() / 3, colour.height()});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) plane.at(x, y) = colour.at(3 * x, y);
  return plane;
}

// As many copies of a pair as are in work at once, so that images come from memory instead of the caches.
class Buffers {
 public:
  explicit Buffers(const Case& of) : pair_(synthesize({.size = of.size, .disparities = of.disparities})) {}

  Buffer& at(std::size_t i) {
    while (buffers_.size() <= i)
      buffers_.push_back({red(pair_.left), red(pair_.right), Result(pair_.size())});
    return buffers_[i];
  }

 private:
  SynthPair pair_;
  std::deque<Buffer> buffers_;
};

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
      const Result& result = buffers_.at(i).result;
      if (!same(result.disparity, expected_.disparity) || !same(result.status, expected_.status))
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
                const std::vector<Device>& devices, Buffers& buffers) {
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
    print("pool, devices: " + std::to_string(count),
          bench.pool({devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count)}));
    if (count == devices.size()) return;
  }
}

void run(const std::vector<Device>& devices) {
  for (const DeviceDescription& device : list_devices())
    std::printf("%s: %s\n", device.device.c_str(), device.description.c_str());
  std::printf("\n| size, disparities | method | how | pairs/s |\n|---|---|---|--:|\n");
  for (const Case& of : cases) {
    Buffers buffers(of);
    for (const auto& method : methods) print_rows(of, method, devices, buffers);
  }
}

}  // namespace

int main(int count, char** arguments) {
  return benchmarks::run_program([&] {
    if (count != 2) throw Error(ErrorCategory::argument, "usage: benchmark_pool DEVICES");
    run(parse_devices(arguments[1]));
  });
}
