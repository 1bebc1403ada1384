// SPDX-License-Identifier: Apache-2.0
// How a limit of memory is shared out: to the program itself, to pictures, to tiles.

#include <algorithm>
#include <filesystem>

#include "parallax/formats.h"

#include "tools/parallax/command_files.h"
#include "tools/parallax/forced.h"
#include "tools/parallax/match_plan.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/tile_job.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1 << 20;

class InputSum {
 public:
  // One that is opened while those before are held.
  void add(const PictureParts& parts) {
    const PartsMemory memory = parts.memory();
    inputs_.opening_bytes = std::max(inputs_.opening_bytes, inputs_.held_bytes + memory.opening);
    inputs_.held_bytes += memory.held;
  }
  Inputs& inputs() { return inputs_; }

 private:
  Inputs inputs_;
};

// Damage is found here, and not by every tile. What does not even fit will be refused for that.
PictureParts open_input(const std::string& path, std::size_t room) {
  PictureParts parts(path);
  if (parts.memory().opening <= room) parts.decode();
  return parts;
}

void add_mask(const std::string& path, std::size_t room, InputSum& sum) {
  if (path.empty()) return;
  const PictureParts mask = open_input(path, room);
  check_mask(mask, path, sum.inputs().format.size);
  sum.add(mask);
}

// What a process that matches tiles holds besides the tile.
std::size_t worker_base(const Device& device, const Inputs& inputs) {
  return program_bytes(device) + inputs.held_bytes;
}

std::size_t worker_bytes(const Device& device, const Inputs& inputs, std::size_t tile_bytes) {
  return program_bytes(device) + std::max(inputs.opening_bytes, inputs.held_bytes + tile_bytes);
}

class Budget {
 public:
  Budget(const MatchRequest& request, const Device& device, const Inputs& inputs, int workers)
      : request_(request), device_(device), inputs_(inputs), workers_(static_cast<std::size_t>(workers)) {}

  // All processes.
  std::size_t total(std::size_t tile_bytes) const {
    return program_bytes(device_) + workers_ * worker_bytes(device_, inputs_, tile_bytes);
  }

  TilePlan plan() const {
    const std::size_t limit = memory_limit(request_);
    const std::size_t fixed = program_bytes(device_) + workers_ * worker_base(device_, inputs_);
    if (fixed + workers_ < limit && total(0) <= limit) {
      try {
        return plan((limit - fixed) / workers_);
      } catch (const Error& error) {
        if (error.category() != ErrorCategory::memory) throw;
      }
    }
    refuse(limit);
  }

 private:
  TilePlan plan(std::size_t tile_bytes) const {
    return plan_tiles(request_.parameters, device_, inputs_.format, {tile_bytes, request_.configuration},
                      {request_.padding, request_.largest_tile, static_cast<int>(workers_)});
  }

  bool fits(std::size_t tile_bytes) const {
    try {
      plan(tile_bytes);
      return true;
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::memory) throw;
      return false;
    }
  }

  // The least that one tile takes, in whole mebibytes.
  std::size_t least_tile_bytes() const {
    std::size_t enough = mebibyte;
    constexpr std::size_t most = std::size_t{1} << 44;
    while (!fits(enough)) {
      if (enough == most) plan(enough);  // no limit is what is in the way: says so
      enough *= 2;
    }
    for (std::size_t too_little = enough / 2; enough - too_little > mebibyte;) {
      const std::size_t middle = (enough + too_little) / 2 / mebibyte * mebibyte;
      (fits(middle) ? enough : too_little) = middle;
    }
    return enough;
  }

  [[noreturn]] void refuse(std::size_t limit) const {
    const std::size_t least = total(least_tile_bytes()) / mebibyte + 1;
    std::string message = "the match needs " + memory_text(least * mebibyte) +
                          " in the smallest tiles, and " + memory_text(limit) +
                          " are allowed: raise the limit to " + std::to_string(least) +
                          "M, or search fewer disparities";
    if (workers_ > 1) message += ", or have fewer --tile-workers";
    if (inputs_.opening_bytes > 0) message += ", or convert the pictures to tiled TIFF";
    throw Error(ErrorCategory::memory, message);
  }

  const MatchRequest& request_;
  const Device& device_;
  const Inputs& inputs_;
  std::size_t workers_;
};

// What is made of the whole map, once it is there.
void check_finishing_fits(const MatchRequest& request, Size size) {
  const bool png = has_extension(request.output, {".png"});
  if (!png && request.image.empty() && request.truth.empty()) return;
  constexpr std::size_t bytes_of_pixel = 20;
  const std::size_t needed = program_bytes(Device::parse(request.device)) + bytes_of_pixel * size.pixels();
  const std::size_t limit = memory_limit(request);
  if (needed <= limit) return;
  const std::string what = png ? request.output : !request.image.empty() ? "--image" : "--truth";
  throw Error(ErrorCategory::memory, what + " needs the whole map, " + memory_text(needed) + ", and " +
                                         memory_text(limit) +
                                         " are allowed: " + (png ? "name it .tiff or .pfm" : "leave it out") +
                                         ", or raise the limit");
}

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

// A picture that is called as a tile is would be replaced by one.
void check_no_input_inside(const TileRequest& request) {
  const MatchRequest& match = request.match;
  for (const std::string& path : {match.left, match.right, match.left_mask, match.right_mask, match.truth})
    if (!path.empty() && fs::path(behind_links(path)).parent_path() == behind_links(request.folder()))
      throw UsageError(path + " is in the folder of the tiles: move it, or give another -o");
}

// What a link points to is what is replaced.
std::string settled_output(const std::string& path) {
  if (names_folder(path)) throw UsageError(path + " is a directory: give the file of one pair a name");
  std::error_code missing;
  const fs::path target = fs::canonical(path, missing);
  if (missing) return behind_links(path);
  if (!fs::is_regular_file(target)) throw UsageError(path + " is not a regular file: give -o another name");
  return target.string();
}

// Whether tiles may be matched faster by two processes: each then matches while the other reads and writes,
// which takes block and census matching on a processor almost as long. Who said how many threads there are
// means all of them; and of a plan that is matched tile by tile, a scheduler says how many there are.
bool two_may_pay(const MatchRequest& request, const Device& device) {
  return device.kind == DeviceKind::cpu && !capabilities(request.method).approximate_tiles &&
         request.threads == 0 && request.plan.empty();
}

// Margins included.
double matched_pixels(const TilePlan& plan) {
  return static_cast<double>(plan.tiles.size()) *
         static_cast<double>(plan.tiles.front().around.size.pixels());
}

// Two have tiles half as large. docs/partition.md has times.
void take_two_where_they_pay(const MatchRequest& request, const Device& device, const Inputs& inputs,
                             TileJob& job) {
  if (!two_may_pay(request, device)) return;
  constexpr double most_pixels = 1.1;
  try {
    TilePlan plan = Budget(request, device, inputs, 2).plan();
    if (matched_pixels(plan) > most_pixels * matched_pixels(job.plan)) return;
    job.plan = std::move(plan);
    job.workers = 2;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::memory) throw;
  }
}

Inputs examine_inputs(const MatchRequest& request) {
  const std::size_t limit = memory_limit(request), program = program_bytes(Device::parse(request.device));
  const std::size_t room = limit > program ? limit - program : 0;
  InputSum sum;
  ImageFormat right;
  {
    const PictureParts left = open_input(request.left, room);
    sum.inputs().format = left.format();
    sum.add(left);
  }
  {
    const PictureParts parts = open_input(request.right, room);
    right = parts.format();
    sum.add(parts);
  }
  check_formats(sum.inputs().format, right, request.left, request.right);
  add_mask(request.left_mask, room, sum);
  add_mask(request.right_mask, room, sum);
  return sum.inputs();
}

}  // namespace

std::size_t memory_limit(const MatchRequest& request) {
  // An eighth is left to the system, and to other programs.
  return request.max_memory > 0 ? request.max_memory : whole_memory() / 8 * 7;
}

std::size_t whole_match_bytes(const MatchRequest& request, const ImageFormat& format) {
  Device device = Device::parse(request.device);
  device.threads = request.threads;
  // Both pictures, the map, and another of one of them while it is decoded or encoded.
  std::size_t bytes_of_pixel = 3 * 3 * static_cast<std::size_t>(format.depth) / 8 + 5;
  const auto add = [&](const std::string& file, std::size_t bytes) {
    if (!file.empty()) bytes_of_pixel += bytes;
  };
  add(request.left_mask, 2);
  add(request.right_mask, 2);
  add(request.output, 8);
  add(request.confidence, 12);
  add(request.image, 12);
  add(request.truth, 12);
  add(request.cloud, 48);
  // What was tuned must not decide whether a pair is cut.
  const ForcedTuning untuned(false);
  return program_bytes(device) + bytes_of_pixel * format.size.pixels() +
         estimate_memory_bytes(request.parameters, device, format, request.configuration);
}

std::string obstacle_to_tiles(const MatchRequest& request) {
  if (request.output.empty()) return "give -o, beside which tiles are kept";
  const std::pair<bool, const char*> options[] = {
      {request.side_by_side, "--side-by-side"},
      {!request.confidence.empty(), "--confidence"},
      {request.energy, "--energy"},
      {!request.cost_file.empty(), "--cost-file"},
      {!request.cloud.empty(), "--cloud"},
      {request.repeat > 1, "--repeat"},
      {searches_full_rows(request.parameters), "a search of full rows"}};
  for (const auto& [given, name] : options)
    if (given) return std::string("leave out ") + name + ", which tiles do not have";
  return "";
}

void check_goes_in_tiles(const MatchRequest& request) {
  const std::string obstacle = obstacle_to_tiles(request);
  if (!obstacle.empty()) throw UsageError("a match in tiles: " + obstacle);
}

TileRequest settle_request(const MatchRequest& request) {
  TileRequest settled{request, {}};
  MatchRequest& match = settled.match;
  for (std::string* path :
       {&match.left, &match.right, &match.left_mask, &match.right_mask, &match.calibration, &match.truth})
    *path = absolute(*path);
  match.output = settled_output(request.output);
  check_no_input_inside(settled);
  settled.inputs = examine_inputs(match);
  check_finishing_fits(match, settled.inputs.format.size);
  settle_range(match, settled.inputs.format.size);
  return settled;
}

TileJob plan_job(const TileRequest& request) {
  const MatchRequest& match = request.match;
  Device device = Device::parse(match.device);
  device.threads = match.threads;
  TileJob job;
  job.request = match;
  job.folder = request.folder();
  job.workers = std::max(1, match.tile_workers);
  job.plan = Budget(match, device, request.inputs, job.workers).plan();
  if (match.tile_workers == 0) take_two_where_they_pay(match, device, request.inputs, job);
  job.workers = std::min(job.workers, job.count());
  job.worker_bytes = worker_bytes(device, request.inputs, job.plan.tile_memory_bytes);
  job.asked = describe_request(match, request.inputs.format);
  return job;
}

}  // namespace parallax::tool
