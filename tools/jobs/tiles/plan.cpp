// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/plan.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <tuple>

#include "tools/command/command_files.h"
#include "tools/command/forced.h"
#include "tools/command/memory.h"
#include "tools/command/output_files.h"
#include "tools/command/pipeline.h"
#include "tools/jobs/pair_list.h"
#include "tools/match/match_plan.h"

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
                      {request_.padding, request_.largest_tile, !request_.rows_off.empty()});
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
void check_no_input_inside(const MatchRequest& match, const std::string& folder) {
  std::error_code missing;
  if (!fs::exists(folder, missing)) return;
  const std::string tiles = behind_links(folder);
  for (const std::string& path : {match.left, match.right, match.left_mask, match.right_mask, match.truth})
    if (!path.empty() && fs::path(behind_links(path)).parent_path() == tiles)
      throw UsageError(path + " is in the folder of the tiles: move it, or give another -o");
}

void check_is_file(const std::string& output) {
  if (names_folder(output))
    throw UsageError(output + " is a directory: give a file name, as for any single pair");
  std::error_code missing;
  const fs::file_status there = fs::status(output, missing);
  if (fs::exists(there) && !fs::is_regular_file(there))
    throw UsageError(output + " is not a regular file: give -o another name");
}

// Whether two tiles at once may be faster than one: one is matched while the other is read or written, which
// is a third of the time of block and census matching on a processor. Tiles of a plan share a matcher; others have one each,
// and so not a given number of threads in all.
bool two_may_pay(const MatchRequest& request, const Device& device) {
  if (!request.plan.empty()) return true;
  return device.kind == DeviceKind::cpu && !capabilities(request.method).approximate_tiles &&
         request.threads == 0;
}

// Margins included.
double matched_pixels(const TilePlan& plan) {
  return static_cast<double>(plan.tiles.size()) *
         static_cast<double>(plan.tiles.front().around.size.pixels());
}

// Tiles are then half as large.
void take_two_where_they_pay(const MatchRequest& request, const Device& device, const Inputs& inputs,
                             PairCut& job) {
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
  if (mask.format().depth != BitDepth::bits8 || mask.channels() != 1)
    throw Error(ErrorCategory::file, path + ": is not a mask: give an 8-bit gray picture");
  if (mask.format().size != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.format().size) + ", the pair is " +
                                         text(size) + ": give a mask of the size of the pair");
}

// Of a pixel: both pictures, the map, and one further copy while decoding or encoding.
std::size_t bytes_of_pictures(const ImageFormat& format) {
  return 3 * 3 * static_cast<std::size_t>(format.depth) / 8 + 5;
}

Inputs examine_inputs(const MatchRequest& request, bool decode) {
  std::size_t room = 0;  // for decoding
  if (decode) {
    const std::size_t limit = memory_limit(request), program = program_bytes(Device::parse(request.device));
    room = limit > program ? limit - program : 0;
  }
  Inputs inputs;
  // Each picture is opened while the earlier ones are held.
  const auto look_at = [&](const std::string& path, const auto& check) {
    PictureParts parts(path);
    // Finds damage here rather than in every tile. A picture that does not fit is refused later.
    if (decode && parts.memory().opening <= room) parts.decode();
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
  std::size_t bytes_of_pixel = bytes_of_pictures(format);
  const auto add = [&](const std::string& file, std::size_t bytes) {
    if (!file.empty()) bytes_of_pixel += bytes;
  };
  add(request.left_mask, 2);
  add(request.right_mask, 2);
  add(request.output, 8);
  add(request.confidence, 12);
  add(request.rows_off, 12);
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

std::string obstacle_to_jobs(const MatchRequest& request) {
  if (request.output.empty()) return "give -o, beside which tiles are kept";
  const std::pair<bool, const char*> options[] = {{request.side_by_side, "--side-by-side"},
                                                  {!request.rig.empty(), "--rig"},
                                                  {request.repair, "--repair"},
                                                  {!request.confidence.empty(), "--confidence"},
                                                  {request.energy, "--energy"},
                                                  {!request.cost_file.empty(), "--cost-file"},
                                                  {!request.depth.empty(), "--depth"},
                                                  {!request.cloud.empty(), "--cloud"},
                                                  {!request.mesh.empty(), "--mesh"},
                                                  {request.repeat > 1, "--repeat"}};
  for (const auto& [given, name] : options)
    if (given) return std::string("leave out ") + name + ", which tiles do not support";
  return "";
}

std::string obstacle_to_tiles(const MatchRequest& request) {
  const std::string obstacle = obstacle_to_jobs(request);
  if (!obstacle.empty() || !searches_full_rows(request.parameters)) return obstacle;
  return "leave out a search of full rows, which tiles do not support";
}

void check_in_tiles(const PairRequest& request) {
  const std::string obstacle = obstacle_to_tiles(request.match);
  if (!obstacle.empty()) throw UsageError("cannot match in tiles: " + obstacle);
  check_finishing_fits(request.match, request.inputs.format.size);
}

PairRequest settle_request(const MatchRequest& request, bool with_hash, bool decode) {
  PairRequest settled{request, {}, {}, {}, {}, {}};
  MatchRequest& match = settled.match;
  for (std::string* path :
       {&match.left, &match.right, &match.left_mask, &match.right_mask, &match.calibration, &match.truth})
    *path = absolute(*path);
  check_is_file(match.output);
  match.output = absolute(match.output);
  settled.inputs = examine_inputs(match, decode);
  settle_range(match, settled.inputs.format.size);
  for (const auto& [path, file] : {std::pair{&match.left, &settled.left},
                                   {&match.right, &settled.right},
                                   {&match.left_mask, &settled.left_mask},
                                   {&match.right_mask, &settled.right_mask}})
    *file = describe_file(*path, with_hash);
  return settled;
}

namespace {

PairCut cut_in_tiles(const PairRequest& request) {
  check_in_tiles(request);
  const MatchRequest& match = request.match;
  Device device = Device::parse(match.device);
  device.threads = match.threads;
  PairCut cut;
  // With several devices, one tile is read or written while each matches one.
  if (match.devices.size() > 1) cut.at_once = static_cast<int>(match.devices.size()) + 1;
  cut.plan = Budget(match, device, request.inputs, cut.at_once).plan();
  if (match.devices.size() < 2) take_two_where_they_pay(match, device, request.inputs, cut);
  cut.held_bytes = request.inputs.held_bytes;
  cut.process_bytes = Budget(match, device, request.inputs, cut.at_once).total(cut.plan.tile_memory_bytes);
  return cut;
}

// Whether all tiles would be one, also in the memory of a GPU.
bool fits_device(const MatchRequest& match, Device device, const ImageFormat& format) {
  if (device.kind != DeviceKind::cuda && device.kind != DeviceKind::opencl) return true;
  if (!obstacle_to_tiles(match).empty()) return true;
  try {
    return plan_tiles(match.parameters, device, format, {0, match.configuration}, {match.padding, {}})
               .tiles.size() == 1;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::memory) throw;
    return false;
  }
}

// Pictures that are read and written while another pair is matched take little beside the matcher, or are as few as possible.
int pairs_at_once(std::size_t bytes_of_pair, std::size_t room) {
  constexpr std::size_t little = 256 * mebibyte, most = 16;
  const std::size_t many = std::clamp<std::size_t>(little / bytes_of_pair, 2, most);
  return static_cast<int>(std::clamp<std::size_t>(room / bytes_of_pair, 0, many - 1) + 1);
}

// Where the pair fits, in one piece.
PairCut cut_pair(const PairRequest& request) {
  const MatchRequest& match = request.match;
  const ImageFormat& format = request.inputs.format;
  Device device = Device::parse(match.device);
  device.threads = match.threads;
  const std::size_t limit = memory_limit(match), whole = whole_match_bytes(match, format);
  const Size most = match.largest_tile;
  const bool larger = (most.width > 0 && format.size.width > most.width) ||
                      (most.height > 0 && format.size.height > most.height);
  if (larger || whole > limit || !fits_device(match, device, format)) return cut_in_tiles(request);
  PairCut cut;
  cut.untiled = true;
  cut.plan.parameters = match.parameters;
  cut.plan.device = device;
  cut.plan.format = format;
  cut.plan.tiles = {{0, {0, 0, format.size}, {0, 0, format.size}}};
  const std::size_t bytes = bytes_of_pictures(format) * format.size.pixels();
  cut.at_once = pairs_at_once(bytes, limit - whole);
  cut.held_bytes = bytes;
  cut.process_bytes = whole + bytes * static_cast<std::size_t>(cut.at_once - 1);
  return cut;
}

int threads_of(const MatchRequest& request) {
  return request.threads > 0 ? request.threads : static_cast<int>(pipeline_slots()) - 2;
}

// Cuts each kind of pairs once.
class JobMaker {
 public:
  JobMaker(const MatchRequest& request, const std::string& folder) {
    job_.request = request;
    job_.threads = threads_of(request);
    job_.folder = folder;
  }

  // `cut` decides how such a pair is cut.
  void add(const PairRequest& request, PairCut (*cut)(const PairRequest&)) {
    const Inputs& inputs = request.inputs;
    const auto key =
        std::tuple(inputs.format.size.width, inputs.format.size.height, inputs.format.depth,
                   request.match.parameters.min_disparity(), request.match.parameters.disparities(),
                   inputs.opening_bytes, inputs.held_bytes, request.match.left_mask.empty(),
                   request.match.right_mask.empty());
    const auto [there, is_new] = cuts_.try_emplace(key, job_.cuts.size());
    if (is_new) job_.cuts.push_back(cut(request));
    job_.pairs.push_back({there->second, request.left, request.right, request.left_mask, request.right_mask,
                          request.match.output});
  }

  const Job& job() const { return job_; }

 private:
  Job job_;
  std::map<std::tuple<int, int, BitDepth, int, int, std::size_t, std::size_t, bool, bool>, std::size_t> cuts_;
};

MatchRequest request_of(const MatchRequest& common, const ListedPair& pair, const std::string& output) {
  MatchRequest request = common;
  request.left = pair.left;
  request.right = pair.right;
  request.output = output;
  if (!pair.calibration.empty()) request.calibration = pair.calibration;
  if (!pair.left_mask.empty()) request.left_mask = pair.left_mask;
  if (!pair.right_mask.empty()) request.right_mask = pair.right_mask;
  if (pair.min_disparity) request.parameters.min_disparity() = *pair.min_disparity;
  if (pair.disparities) request.parameters.disparities() = *pair.disparities;
  request.parameters.validate();
  request.range_given = request.range_given || pair.disparities.has_value();
  return request;
}

// Plans many pairs, looking at the pictures of several at once.
class ListPlanner {
 public:
  ListPlanner(const MatchRequest& request, std::vector<ListedPair> pairs, const std::string& folder)
      : request_(request),
        pairs_(std::move(pairs)),
        output_("-o", request.output, ".pfm"),
        folder_(folder),
        maker_(request, fs::path(folder).filename().string()),
        items_(pipeline_slots()) {
    if (output_.empty()) throw UsageError("give -o: a folder, or a pattern such as maps/{name}.pfm");
    check_disparity_path(output_.text());
    CommandFiles files;
    check_names(pairs_, {output_}, files);
    files.writes(request.plan);
  }

  // \throws Error when some pairs cannot be matched, unless they are to be skipped
  const Job& run() {
    std::size_t taken = 0;
    run_pipeline(items_.size(),
                 [&](std::size_t slot) {
                   items_[slot].number = taken;
                   return taken++ < pairs_.size();
                 },
                 {{false, [&](std::size_t slot) { look(items_[slot]); }},
                  {true, [&](std::size_t slot) { add(items_[slot]); }}});
    show_progress("");
    if (failures_ > most_named) complain("and " + std::to_string(failures_ - most_named) + " more");
    if (maker_.job().pairs.empty() || (failures_ > 0 && !request_.skip))
      throw Error(ErrorCategory::file,
                  std::to_string(failures_) + " of " + std::to_string(pairs_.size()) +
                      " pairs cannot be matched: fix them, or leave them out with --skip",
                  all_is_transient_);
    return maker_.job();
  }

 private:
  struct Item {
    std::size_t number = 0;
    std::optional<PairRequest> settled;
    std::optional<CommandFailure> failure;
  };
  static constexpr std::size_t most_named = 20;

  void look(Item& item) const {
    item.settled.reset();
    item.failure.reset();
    const ListedPair& pair = pairs_[item.number];
    try {
      item.settled = settle_request(request_of(request_, pair, output_.of(pair)), !request_.no_hash, false);
      check_no_input_inside(item.settled->match, folder_);
      // A pair is opened while the matcher of the one before is there.
      Inputs& inputs = item.settled->inputs;
      inputs.held_bytes = std::max(inputs.held_bytes, inputs.opening_bytes);
    } catch (...) {
      item.failure = current_failure();
    }
  }

  void add(Item& item) {
    try {
      if (!item.failure) maker_.add(*item.settled, cut_pair);
    } catch (...) {
      item.failure = current_failure();
    }
    if (item.failure) fail(item);
    const std::size_t looked = item.number + 1;
    if (looked % 100 == 0)
      show_progress("pair " + std::to_string(looked) + " of " + std::to_string(pairs_.size()),
                    static_cast<double>(looked) / static_cast<double>(pairs_.size()));
  }

  void fail(const Item& item) {
    all_is_transient_ = all_is_transient_ && item.failure->status == failed_for_now;
    if (++failures_ > most_named) return;
    show_progress("");
    complain(name_of(pairs_[item.number]) + ": " + item.failure->message);
  }

  const MatchRequest& request_;
  std::vector<ListedPair> pairs_;
  OutputPattern output_;
  std::string folder_;
  JobMaker maker_;
  std::vector<Item> items_;
  std::size_t failures_ = 0;
  bool all_is_transient_ = true;
};

Job plan_one(const MatchRequest& request, const std::string& folder) {
  const PairRequest pair = settle_request(request, !request.no_hash, true);
  check_no_input_inside(pair.match, folder);
  JobMaker maker(request, fs::path(folder).filename().string());
  maker.add(pair, cut_pair);
  return maker.job();
}

Job plan_job(const MatchRequest& request) {
  const std::string folder = request.plan + ".tiles";
  std::vector<ListedPair> pairs =
      request.list.empty() ? list_pairs(request.left, request.right) : list_pairs(request.list, "");
  const bool one = request.list.empty() && pairs.size() == 1 && pairs.front().left == request.left;
  return one ? plan_one(request, folder) : ListPlanner(request, std::move(pairs), folder).run();
}

}  // namespace

Job plan_in_tiles(const PairRequest& request) {
  check_no_input_inside(request.match, folder_of_tiles(request));
  MatchRequest match = request.match;
  match.device = Device::parse(match.device).text();
  JobMaker maker(match, ".");
  maker.add(request, cut_in_tiles);
  return maker.job();
}

int plan_command(const Arguments& arguments) {
  const MatchRequest request = parse_match(arguments, "plan");
  if (!request.image.empty() || !request.truth.empty())
    throw UsageError(
        "--image and --truth need a finished map: leave them out, and run 'parallax eval' after 'parallax "
        "merge'");
  if (!request.video.empty() || !request.rows_off.empty() || request.json)
    throw UsageError("--video, --rows-off and --json are for 'parallax match': leave them out");
  const std::string obstacle = obstacle_to_jobs(request);
  if (!obstacle.empty()) throw UsageError("cannot make a plan: " + obstacle);
  check_output(request.plan);
  const Job job = plan_job(request);
  write_job(job, request.plan);
  std::cerr << job.pairs.size() << (job.pairs.size() == 1 ? " pair in " : " pairs in ") << job.tiles()
            << (job.tiles() == 1 ? " tile, " : " tiles, ") << memory_text(job.process_bytes())
            << " per process that matches them\n";
  return done;
}

}  // namespace parallax::tool
