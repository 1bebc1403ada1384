// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/tiles/plan.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include "tools/parallax/command_files.h"
#include "tools/parallax/forced.h"
#include "tools/parallax/match_plan.h"
#include "tools/parallax/memory.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1 << 20;

class Budget {
 public:
  Budget(const MatchRequest& request, const Device& device, const Inputs& inputs, int at_once)
      : request_(request), device_(device), inputs_(inputs), at_once_(static_cast<std::size_t>(at_once)) {}

  // Memory of a process that matches tiles.
  std::size_t total(std::size_t tile_bytes) const {
    return program_bytes(device_) +
           std::max(inputs_.opening_bytes, inputs_.held_bytes + at_once_ * tile_bytes);
  }

  TilePlan plan() const {
    const std::size_t limit = memory_limit(request_), fixed = program_bytes(device_) + inputs_.held_bytes;
    if (fixed + at_once_ < limit && total(0) <= limit)
      if (const std::optional<TilePlan> plan = plan_within((limit - fixed) / at_once_)) return *plan;
    refuse(limit);
  }

 private:
  TilePlan plan(std::size_t tile_bytes) const {
    return plan_tiles(request_.parameters, device_, inputs_.format, {tile_bytes, request_.configuration},
                      {request_.padding, request_.largest_tile});
  }

  std::optional<TilePlan> plan_within(std::size_t tile_bytes) const {
    try {
      return plan(tile_bytes);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::memory) throw;
      return std::nullopt;
    }
  }

  // The least memory for one tile, rounded up to mebibytes.
  std::size_t least_tile_bytes() const {
    std::size_t enough = mebibyte;
    constexpr std::size_t most = std::size_t{1} << 44;
    while (!plan_within(enough)) {
      if (enough == most) plan(enough);  // the limit is not the obstacle: throws the actual error
      enough *= 2;
    }
    for (std::size_t too_little = enough / 2; enough - too_little > mebibyte;) {
      const std::size_t middle = (enough + too_little) / 2 / mebibyte * mebibyte;
      (plan_within(middle) ? enough : too_little) = middle;
    }
    return enough;
  }

  [[noreturn]] void refuse(std::size_t limit) const {
    const std::size_t least = total(least_tile_bytes()) / mebibyte + 1;
    std::string message = "the match needs " + memory_text(least * mebibyte) +
                          " in the smallest tiles, and " + memory_text(limit) +
                          " are allowed: raise the limit to " + std::to_string(least) +
                          "M, or search fewer disparities";
    if (inputs_.opening_bytes > 0) message += ", or convert the pictures to tiled TIFF";
    throw Error(ErrorCategory::memory, message);
  }

  const MatchRequest& request_;
  const Device& device_;
  const Inputs& inputs_;
  std::size_t at_once_;
};

// Outputs that need the complete map.
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

// A picture with the name of a tile would be overwritten by it.
void check_no_input_inside(const TileRequest& request) {
  const MatchRequest& match = request.match;
  for (const std::string& path : {match.left, match.right, match.left_mask, match.right_mask, match.truth})
    if (!path.empty() && fs::path(behind_links(path)).parent_path() == behind_links(request.folder()))
      throw UsageError(path + " is in the folder of the tiles: move it, or give another -o");
}

// The target of a link is replaced, not the link.
std::string settled_output(const std::string& path) {
  if (names_folder(path))
    throw UsageError(path + " is a directory: give a file name, as for any single pair");
  std::error_code missing;
  const fs::path target = fs::canonical(path, missing);
  if (missing) return behind_links(path);
  if (!fs::is_regular_file(target)) throw UsageError(path + " is not a regular file: give -o another name");
  return target.string();
}

// Whether two tiles at once may be faster than one: one is matched while the other is read or written, which
// is a third of the time of block and census matching on a processor. Not with a given number of threads,
// which is the total, nor in a plan, where the caller chooses how many tiles run at once.
bool two_may_pay(const MatchRequest& request, const Device& device) {
  return device.kind == DeviceKind::cpu && !capabilities(request.method).approximate_tiles &&
         request.threads == 0 && request.plan.empty();
}

// Margins included.
double matched_pixels(const TilePlan& plan) {
  return static_cast<double>(plan.tiles.size()) *
         static_cast<double>(plan.tiles.front().around.size.pixels());
}

// Tiles are then half as large.
void take_two_where_they_pay(const MatchRequest& request, const Device& device, const Inputs& inputs,
                             TileJob& job) {
  if (!two_may_pay(request, device)) return;
  constexpr double most_pixels = 1.1;
  try {
    TilePlan plan = Budget(request, device, inputs, 2).plan();
    if (plan.tiles.size() < 2 || matched_pixels(plan) > most_pixels * matched_pixels(job.plan)) return;
    job.plan = std::move(plan);
    job.at_once = 2;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::memory) throw;
  }
}

void check_mask(const PictureParts& mask, const std::string& path, Size size) {
  if (mask.format().depth != Depth::bits8 || mask.channels() != 1)
    throw Error(ErrorCategory::file, path + ": is not a mask: give an 8-bit gray picture");
  if (mask.format().size != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.format().size) + ", the pair is " +
                                         text(size) + ": give a mask of the size of the pair");
}

Inputs examine_inputs(const MatchRequest& request) {
  const std::size_t limit = memory_limit(request), program = program_bytes(Device::parse(request.device));
  const std::size_t room = limit > program ? limit - program : 0;
  Inputs inputs;
  // Each picture is opened while the earlier ones are held.
  const auto look_at = [&](const std::string& path, const auto& check) {
    PictureParts parts(path);
    // Finds damage here rather than in every tile. A picture that does not fit is refused later.
    if (parts.memory().opening <= room) parts.decode();
    check(parts);
    const PartsMemory memory = parts.memory();
    inputs.opening_bytes = std::max(inputs.opening_bytes, inputs.held_bytes + memory.opening);
    inputs.held_bytes += memory.held;
  };
  look_at(request.left, [&](const PictureParts& left) { inputs.format = left.format(); });
  look_at(request.right, [&](const PictureParts& right) {
    check_formats(inputs.format, right.format(), request.left, request.right);
  });
  for (const std::string& path : {request.left_mask, request.right_mask})
    if (!path.empty())
      look_at(path, [&](const PictureParts& mask) { check_mask(mask, path, inputs.format.size); });
  return inputs;
}

}  // namespace

std::size_t memory_limit(const MatchRequest& request) {
  // Leaves an eighth to the system and other programs.
  return request.max_memory > 0 ? request.max_memory : whole_memory() / 8 * 7;
}

std::size_t pair_bytes(const MatchRequest& request, const ImageFormat& format) {
  // Both pictures, the map, and one further copy while decoding or encoding.
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
  add(request.depth, 16);
  add(request.cloud, 48);
  add(request.mesh, 128);
  return bytes_of_pixel * format.size.pixels();
}

std::size_t whole_match_bytes(const MatchRequest& request, const ImageFormat& format) {
  Device device = Device::parse(request.device);
  device.threads = request.threads;
  // Tuning must not decide whether a pair is matched in tiles.
  const ForcedTuning untuned(false);
  return program_bytes(device) + pair_bytes(request, format) +
         estimate_memory_bytes(request.parameters, device, format, request.configuration);
}

std::string obstacle_to_tiles(const MatchRequest& request) {
  if (request.output.empty()) return "give -o: tiles are kept beside it";
  const std::pair<bool, const char*> options[] = {
      {request.side_by_side, "--side-by-side"},
      {!request.rig.empty(), "--rig"},
      {request.repair, "--repair"},
      {!request.confidence.empty(), "--confidence"},
      {request.energy, "--energy"},
      {!request.cost_file.empty(), "--cost-file"},
      {!request.depth.empty(), "--depth"},
      {!request.cloud.empty(), "--cloud"},
      {!request.mesh.empty(), "--mesh"},
      {request.repeat > 1, "--repeat"},
      {searches_full_rows(request.parameters), "a search of full rows"}};
  for (const auto& [given, name] : options)
    if (given) return std::string("leave out ") + name + ", which tiles do not support";
  return "";
}

TileRequest settle_request(const MatchRequest& request) {
  const std::string obstacle = obstacle_to_tiles(request);
  if (!obstacle.empty()) throw UsageError("a match in tiles: " + obstacle);
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
  job.plan = Budget(match, device, request.inputs, 1).plan();
  take_two_where_they_pay(match, device, request.inputs, job);
  job.process_bytes = Budget(match, device, request.inputs, job.at_once).total(job.plan.tile_memory_bytes);
  job.asked = describe_request(match, request.inputs.format);
  return job;
}

int plan_command(const Arguments& arguments) {
  const MatchRequest request = parse_match(arguments, "plan");
  if (!request.image.empty() || !request.truth.empty())
    throw UsageError(
        "--image and --truth need a finished map: leave them out, and run 'parallax eval' after 'parallax "
        "merge'");
  if (!request.video.empty() || request.json)
    throw UsageError("--video and --json are for 'parallax match': leave them out");
  const TileJob job = plan_job(settle_request(request));
  write_job(job, request.plan);
  std::cerr << job.count() << " tiles of " << text(job.plan.tiles.front().around.size) << ", "
            << memory_text(job.process_bytes) << " per process that matches them\n";
  return done;
}

}  // namespace parallax::tool
