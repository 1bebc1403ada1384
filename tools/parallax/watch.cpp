// SPDX-License-Identifier: Apache-2.0
// 'parallax watch': the maps that 'parallax match --share' writes to shared memory.
#include <chrono>
#include <iostream>
#include <thread>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/files/shared_maps.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

using namespace std::chrono_literals;

struct WatchRequest {
  std::string name, disparity, image;
};

WatchRequest parse_watch(const Arguments& arguments) {
  WatchRequest request;
  Options options("watch", "Show the maps that 'parallax match --camera … --share NAME' writes.");
  options.add("NAME", request.name, "Name of the shared memory").required();
  options.add(
      "-o,--output FILE", request.disparity,
      "Write the newest disparity map and end: .pfm, .png (16 bits: 256 times the disparity) or .tiff");
  options.add("--image FILE", request.image, "Write the newest map as a coloured picture (.png) and end");
  options.read(arguments);
  if (!request.disparity.empty()) check_disparity_path(request.disparity);
  check_image_path(request.image);
  CommandFiles files;
  files.writes(request.disparity);
  files.writes(request.image);
  return request;
}

// Waits for the next map after `seen`; false once there will be none.
bool wait_for_map(const SharedMaps& maps, std::uint64_t seen) {
  while (stop_signal() == 0) {
    const bool has_ended = maps.has_ended();
    if (maps.count() > seen) return true;
    if (has_ended) return false;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

void write_newest(const SharedMaps& maps, const WatchRequest& request) {
  if (!wait_for_map(maps, 0))
    throw Error(ErrorCategory::file,
                request.name + " ended without a map: start 'parallax match --share' again");
  const std::optional<SharedMap> map = maps.newest();
  std::vector<FileBytes> files;
  if (!request.disparity.empty())
    files.emplace_back(request.disparity, encode_disparity(request.disparity, map->result.disparity.view()));
  if (!request.image.empty())
    files.emplace_back(request.image, encode_coloured(map->result.disparity.view()));
  write_files(files);
}

int show_maps(const SharedMaps& maps) {
  stop_on_signals();
  std::uint64_t seen = maps.count(), first = seen, pairs = 0;
  const auto begin = Clock::now();
  auto shown = begin;
  double age = 0;
  while (wait_for_map(maps, seen)) {
    seen = maps.count();
    const std::optional<SharedMap> map = maps.newest();
    pairs = map->about.number + 1;
    age = static_cast<double>(now_in_nanoseconds() - map->about.arrival) / 1e6;
    if (milliseconds_since(shown) < 100) continue;
    shown = Clock::now();
    const double seconds = milliseconds_since(begin) / 1000;
    show_progress(text(maps.size()) + ", " + with_decimals(static_cast<double>(seen - first) / seconds, 1) +
                  " maps a second, " + with_decimals(age, 0) + " ms after the pictures");
  }
  show_progress("");
  std::cerr << seen - first << " maps of " << text(maps.size()) << ", of " << pairs << " pairs\n";
  return done;
}

}  // namespace

int watch_command(const Arguments& arguments) {
  const WatchRequest request = parse_watch(arguments);
  const SharedMaps maps(request.name);
  if (request.disparity.empty() && request.image.empty()) return show_maps(maps);
  write_newest(maps, request);
  return done;
}

}  // namespace parallax::tool
