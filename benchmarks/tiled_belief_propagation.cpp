// SPDX-License-Identifier: Apache-2.0
// Measures tiled belief propagation alone:
//
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_tiled_belief_propagation --benchmark_filter=tiles
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_tiled_belief_propagation --benchmark_filter=whole
//   PARALLAX_DATA=... build/developer/benchmarks/benchmark_tiled_belief_propagation --benchmark_filter=labels
//   build/developer/benchmarks/benchmark_tiled_belief_propagation --benchmark_filter=large
//
// - `tiles`: the design contest's model on its pair, by tile size and iterations;
// - `whole`: the same untiled, with 40 iterations; also with 16-bit messages, and without early exit;
// - `labels`: from 16 to 256 labels on one pair, without refinement;
// - `large`: 1920×1080 pixels with 128 labels.
//
// `ms` is the median of all runs, `least_ms` the minimum; `ns` is the median per pixel, label and iteration.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "parallax/parallax.h"

#include "benchmarks/gray_pair.h"
#include "tools/command/command.h"

namespace {

using namespace parallax;
using namespace parallax::benchmarks;
namespace fs = std::filesystem;
using tool::median;

// Reports median times of a match and of its stages.
void run(benchmark::State& state, const TiledBeliefPropagationParameters& parameters, int threads,
         const StereoPair& views) {
  Matcher matcher(parameters, {.threads = threads}, views.left.format);
  const Size size = views.left.format.size;
  Result output(size);
  matcher.run(views, output.map());
  std::vector<double> times;
  std::vector<std::vector<double>> stages(matcher.stage_times().size());
  for (auto _ : state) {
    times.push_back(milliseconds([&] { matcher.run(views, output.map()); }));
    for (std::size_t i = 0; i < stages.size(); ++i)
      stages[i].push_back(matcher.stage_times()[i].milliseconds);
  }
  state.counters["ms"] = median(times);
  state.counters["least_ms"] = *std::min_element(times.begin(), times.end());
  for (std::size_t i = 0; i < stages.size(); ++i)
    state.counters[std::string("ms_") + matcher.stage_times()[i].stage] = median(stages[i]);
  const double label_pixels = static_cast<double>(size.pixels()) * parameters.disparities;
  state.counters["megabytes"] = static_cast<double>(matcher.memory_bytes()) / 1e6;
  state.counters["bytes_per_label_pixel"] = static_cast<double>(matcher.memory_bytes()) / label_pixels;
  const int iterations = 2 * parameters.outer * parameters.inner;
  state.counters["ns"] = 1e6 * median(times) / label_pixels / iterations;
}

TiledBeliefPropagationParameters contest(int tile, int outer, int inner) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = tile;
  parameters.outer = outer;
  parameters.inner = inner;
  return parameters;
}

void add(const std::string& name, int iterations, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond)->Iterations(iterations);
}

std::string threads_of(int threads) {
  return "/threads:" + std::to_string(threads);
}

void add_contest(const fs::path& data) {
  const auto contest_run = [data](const TiledBeliefPropagationParameters& parameters, int threads) {
    return [=](benchmark::State& state) {
      const GrayPair pair = load_gray_pair(data / "papers" / "tsukubaSet");
      run(state, parameters, threads, pair.views());
    };
  };
  for (const int threads : {1, 2}) {
    for (const int tile : {8, 13, 16, 32, 64, 0}) {
      for (const int outer : {1, 2, 4}) {
        for (const int inner : {1, 2, 4})
          add("tiles/" + std::string(tile == 0 ? "whole" : std::to_string(tile)) +
                  "/outer:" + std::to_string(outer) + "/inner:" + std::to_string(inner) + threads_of(threads),
              31, contest_run(contest(tile, outer, inner), threads));
      }
    }
    add("whole/iterations:40" + threads_of(threads), 31, contest_run(contest(0, 1, 20), threads));
    TiledBeliefPropagationParameters wide = contest(0, 1, 20);
    wide.message_width = MessageWidth::bits16;
    add("whole/iterations:40/bits16" + threads_of(threads), 31, contest_run(wide, threads));
    TiledBeliefPropagationParameters all_iterations = contest(0, 1, 20);
    all_iterations.early_out = false;
    add("whole/iterations:40/all-made" + threads_of(threads), 31, contest_run(all_iterations, threads));
  }
}

void add_labels(const fs::path& data) {
  for (const int threads : {1, 2}) {
    for (const int tile : {32, 0}) {
      for (const int labels : {16, 32, 64, 128, 256}) {
        TiledBeliefPropagationParameters parameters;
        parameters.disparities = labels;
        parameters.tile = tile;
        parameters.sub_pixel = SubPixel::none;
        parameters.refine = RefineParameters::none();
        add("labels/tile:" + std::to_string(tile) + "/" + std::to_string(labels) + threads_of(threads), 9,
            [=](benchmark::State& state) {
              const GrayPair pair = load_gray_pair(data / "papers" / "conesHalfSize");
              run(state, parameters, threads, pair.views());
            });
      }
    }
  }
}

void add_large() {
  for (const int threads : {1, 2}) {
    for (const int tile : {13, 16, 32, 64}) {
      add("large/tile:" + std::to_string(tile) + threads_of(threads), 3, [=](benchmark::State& state) {
        const SynthPair pair = synthesize({.size = {1920, 1080}, .disparities = 128});
        TiledBeliefPropagationParameters parameters;
        parameters.disparities = 128;
        parameters.tile = tile;
        parameters.sub_pixel = SubPixel::none;
        parameters.refine = RefineParameters::none();
        run(state, parameters, threads, {pair.left_view(), pair.right_view()});
      });
    }
  }
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  if (const char* data = std::getenv("PARALLAX_DATA")) {
    add_contest(data);
    add_labels(data);
  } else {
    std::cerr << "PARALLAX_DATA is not set: synthetic pairs only\n";
  }
  add_large();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
