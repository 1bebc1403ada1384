// SPDX-License-Identifier: Apache-2.0
// Measures MatcherPool: synthetic pairs per second, from and to ordinary host memory.
//
//   benchmark_pool DEVICES [THREADS] [WIDTHxHEIGHTxDISPARITIES…]
//
// DEVICES is the argument of parse_devices(), such as cuda:all. For each size and method the first device
// matches alone, by Matcher::run() in a loop; then a pool has 1, 2, 4, 8, 16 and its own choice of matchers
// on that device, and its own choice on 2, 4, … and all devices. A cell has pairs per second and, in
// parentheses, the number of busy processor cores. THREADS, a number, is Device::threads of every device. All
// maps are compared with those of the first device alone.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "parallax/parallax.h"

namespace {

using namespace parallax;
using Clock = std::chrono::steady_clock;

struct Case {
  Size size;
  int disparities;
};
constexpr Case usual_cases[] = {{{640, 480}, 64}, {{1280, 720}, 128}, {{1920, 1080}, 128}};

constexpr std::pair<const char*, const char*> methods[] = {
    {"bp", "default"}, {"census", "fast"}, {"sgm", "default"}};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Plane<std::uint8_t> gray(const Plane<std::uint8_t>& colour) {
  Plane<std::uint8_t> plane({colour.width() / 3, colour.height()});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) plane.at(x, y) = colour.at(3 * x, y);
  return plane;
}

template <class T>
bool same(const Plane<T>& a, const Plane<T>& b) {
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), static_cast<std::size_t>(a.width()) * sizeof(T)) != 0) return false;
  return true;
}

// A pair and its map that own their memory.
struct Buffer {
  explicit Buffer(Size size) : left(size), right(size), result(size) {}
  StereoPair pair() const { return {left.view(), right.view()}; }

  Plane<std::uint8_t> left, right;
  Result result;
};

// As many copies of a pair as are in work at once, so that images come from memory instead of the caches.
class Buffers {
 public:
  explicit Buffers(const Case& of) : size_(of.size) {
    const SynthPair pair = synthesize({.size = of.size, .disparities = of.disparities});
    left_ = gray(pair.left);
    right_ = gray(pair.right);
  }
  Buffer& at(std::size_t i) {
    while (buffers_.size() <= i) {
      Buffer& made = *buffers_.emplace_back(std::make_unique<Buffer>(size_));
      for (int y = 0; y < size_.height; ++y) {
        std::copy_n(left_.row(y), size_.width, made.left.row(y));
        std::copy_n(right_.row(y), size_.width, made.right.row(y));
      }
    }
    return *buffers_[i];
  }

 private:
  Size size_;
  Plane<std::uint8_t> left_, right_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

struct Rate {
  double pairs = 0, cores = 0;
};

// Calls `next`, which returns when one more pair is matched, until the rate no longer changes.
Rate steady_rate(const std::function<void()>& next) {
  constexpr double seconds = 0.3, alike = 0.03;
  constexpr int least_pairs = 20, most_windows = 8;
  Rate before;
  for (int window = 0;; ++window) {
    const auto start = Clock::now();
    const double processor = processor_seconds();
    int pairs = 0;
    while (pairs < least_pairs || seconds_since(start) < seconds) {
      next();
      ++pairs;
    }
    const double elapsed = seconds_since(start);
    const Rate now{pairs / elapsed, (processor_seconds() - processor) / elapsed};
    // The first window includes making plans.
    const bool is_steady = window > 1 && std::abs(now.pairs / before.pairs - 1) < alike;
    if (is_steady || window == most_windows) return now.pairs > before.pairs ? now : before;
    before = now;
  }
}

class Bench {
 public:
  Bench(const Case& of, const MatcherParameters& parameters, Buffers& buffers)
      : format_{of.size}, parameters_(parameters), buffers_(buffers), expected_(of.size) {
    parameters_.disparities() = of.disparities;
  }

  Rate alone(const Device& device) {
    Matcher matcher(parameters_, device, format_);
    constexpr std::size_t count = 8;
    std::size_t i = 0;
    matcher.run(buffers_.at(0).pair(), expected_.map());
    return steady_rate([&] {
      Buffer& buffer = buffers_.at(i++ % count);
      matcher.run(buffer.pair(), buffer.result.map());
    });
  }

  Rate pool(const std::vector<Device>& devices, int matchers) {
    MatcherPool pool(parameters_, devices, {.matchers_per_gpu = matchers});
    const auto count = static_cast<std::size_t>(3 * pool.matchers(format_) + 2);
    std::deque<std::uint64_t> numbers;
    const auto submit = [&] {
      Buffer& buffer = buffers_.at(next_++ % count);
      numbers.push_back(pool.submit(buffer.pair(), buffer.result.map()));
    };
    const auto wait = [&] {
      pool.wait(numbers.front());
      numbers.pop_front();
    };
    next_ = 0;
    while (numbers.size() < count) submit();
    const Rate rate = steady_rate([&] {
      wait();
      submit();
    });
    while (!numbers.empty()) wait();
    for (std::size_t i = 0; i < count; ++i) check(buffers_.at(i));
    return rate;
  }

  int automatic(const Device& device) const { return MatcherPool(parameters_, {device}).matchers(format_); }

 private:
  void check(const Buffer& buffer) const {
    if (same(buffer.result.disparity, expected_.disparity) && same(buffer.result.status, expected_.status))
      return;
    throw Error(ErrorCategory::internal, "a map of the pool differs from that of one matcher alone");
  }

  ImageFormat format_;
  MatcherParameters parameters_;
  Buffers& buffers_;
  Result expected_;
  std::size_t next_ = 0;
};

constexpr int numbers_of_matchers[] = {1, 2, 4, 8, 16};

// The numbers 2, 4, … and all.
std::vector<std::size_t> numbers_of_devices(std::size_t all) {
  std::vector<std::size_t> numbers;
  for (std::size_t count = 2; count < all; count *= 2) numbers.push_back(count);
  if (all > 1) numbers.push_back(all);
  return numbers;
}

void print(const Rate& rate) {
  std::printf(" %.*f (%.1f) |", rate.pairs < 100 ? 1 : 0, rate.pairs, rate.cores);
  std::fflush(stdout);
}

void print_header(const std::vector<Device>& devices) {
  std::string names = "| size | method | alone |", line = "|---|---|---|";
  const auto add = [&](const std::string& name) {
    names += " " + name + " |";
    line += "---|";
  };
  for (const int matchers : numbers_of_matchers) add(std::to_string(matchers));
  add("own choice");
  for (const std::size_t count : numbers_of_devices(devices.size())) add(std::to_string(count) + " devices");
  std::printf("pairs a second (cores busy); alone, 1 to 16 and own choice of matchers on %s\n\n%s\n%s\n",
              devices.front().text().c_str(), names.c_str(), line.c_str());
}

void print_row(const Case& of, const std::pair<const char*, const char*>& method,
               const std::vector<Device>& devices, Buffers& buffers) {
  std::printf("| %dx%dx%d | %s %s |", of.size.width, of.size.height, of.disparities, method.first,
              method.second);
  Bench bench(of, preset(method.first, method.second), buffers);
  const Device& first = devices.front();
  print(bench.alone(first));
  for (const int matchers : numbers_of_matchers) print(bench.pool({first}, matchers));
  std::printf(" %d:", bench.automatic(first));
  print(bench.pool({first}, 0));
  for (const std::size_t count : numbers_of_devices(devices.size()))
    print(bench.pool({devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count)}, 0));
  std::printf("\n");
}

int run(const std::vector<std::string>& arguments) {
  std::vector<Device> devices = parse_devices(arguments.front());
  std::vector<Case> cases;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    Case given{};
    if (std::sscanf(arguments[i].c_str(), "%dx%dx%d", &given.size.width, &given.size.height,
                    &given.disparities) == 3)
      cases.push_back(given);
    else
      for (Device& device : devices) device.threads = std::stoi(arguments[i]);
  }
  if (cases.empty()) cases.assign(std::begin(usual_cases), std::end(usual_cases));
  for (const DeviceDescription& device : list_devices())
    std::printf("%s: %s\n", device.device.c_str(), device.description.c_str());
  print_header(devices);
  for (const Case& of : cases) {
    Buffers buffers(of);
    for (const auto& method : methods) print_row(of, method, devices, buffers);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: benchmark_pool DEVICES [THREADS] [WIDTHxHEIGHTxDISPARITIES...]\n");
    return 2;
  }
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_pool: %s\n", error.what());
    return 1;
  }
}
