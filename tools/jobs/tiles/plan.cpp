// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/pipeline.h"
#include "tools/files/calibration.h"
#include "tools/jobs/pair_list.h"
#include "tools/match/match_pair.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1 << 20;

class Budget {
 public:
  Budget(const PairRequest& request, const Device& device, int at_once)
      : pair_(request.pair),
        device_(device),
        inputs_(request.inputs),
        at_once_(static_cast<std::size_t>(at_once)) {}

  std::size_t total(std::size_t tile_bytes) const {
    return program_bytes(device_) +
           std::max(inputs_.opening_bytes, inputs_.held_bytes + at_once_ * tile_bytes);
  }

  TilePlan plan() const {
    const std::size_t limit = memory_limit(pair_.search.max_memory),
                      fixed = program_bytes(device_) + inputs_.held_bytes;
    if (fixed + at_once_ < limit && total(0) <= limit)
      if (const std::optional<TilePlan> plan = plan_within((limit - fixed) / at_once_)) return *plan;
    refuse(limit);
  }

 private:
  TilePlan plan(std::size_t tile_bytes) const {
    return plan_tiles(pair_.search.parameters, device_, inputs_.format,
                      {tile_bytes, pair_.search.configuration}, pair_.tiles);
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
  std::size_t min_tile_bytes() const {
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
    const std::size_t least = total(min_tile_bytes()) / mebibyte + 1;
    std::string message = "the match needs " + memory_text(least * mebibyte) +
                          " in the smallest tiles, and " + memory_text(limit) +
                          " are allowed: raise the limit to " + std::to_string(least) +
                          "M, or search fewer disparities";
    if (inputs_.opening_bytes > 0) message += ", or convert the pictures to tiled TIFF";
    throw Error(ErrorCategory::memory, message);
  }

  const TiledPair& pair_;
  const Device& device_;
  const Inputs& inputs_;
  std::size_t at_once_;
};

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

void check_nothing_inside(const TiledPair& pair, const std::string& folder) {
  for (const std::string& path : pair.pictures()) check_not_inside(path, folder);
  check_not_inside(pair.output, folder);
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
// is a third of the time of block and census matching on a processor. Tiles of a plan share a matcher; others
// have one each, and so not a given number of threads in all.
bool two_may_pay(const Search& search, const Device& device, bool one_matcher) {
  if (one_matcher) return true;
  return device.kind == DeviceKind::cpu && !capabilities(search.method).approximate_tiles &&
         search.threads == 0;
}

double matched_pixels(const TilePlan& plan) {
  return static_cast<double>(plan.tiles.size()) *
         static_cast<double>(plan.tiles.front().around.size.pixels());
}

// Tiles are then half as large.
void take_two_where_they_pay(const PairRequest& request, const Device& device, PairCut& job) {
  constexpr double max_pixels = 1.1;
  try {
    TilePlan plan = Budget(request, device, 2).plan();
    if (plan.tiles.size() < 2 || matched_pixels(plan) > max_pixels * matched_pixels(job.plan)) return;
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

Inputs examine_inputs(const Input& input, const Search& search, bool decode) {
  std::size_t room = 0;  // for decoding
  if (decode) {
    const std::size_t limit = memory_limit(search.max_memory),
                      program = program_bytes(Device::parse(search.device));
    room = limit > program ? limit - program : 0;
  }
  Inputs inputs;
  // Each picture is opened while the earlier ones are held.
  const auto look_at = [&](const std::string& path, const PictureOptions& options, const auto& check) {
    PictureParts parts(path, options);
    // Finds damage here rather than in every tile. A picture that does not fit is refused later.
    if (decode && parts.memory().opening <= room) parts.decode();
    check(parts);
    const PartsMemory memory = parts.memory();
    inputs.opening_bytes = std::max(inputs.opening_bytes, inputs.held_bytes + memory.opening);
    inputs.held_bytes += memory.held;
  };
  look_at(input.left, input.pictures, [&](const PictureParts& left) { inputs.format = left.format(); });
  look_at(input.right, input.pictures, [&](const PictureParts& right) {
    check_formats(inputs.format, right.format(), input.left, input.right);
  });
  for (const std::string& path : {input.left_mask, input.right_mask})
    if (!path.empty())
      look_at(path, {}, [&](const PictureParts& mask) { check_mask(mask, path, inputs.format.size); });
  return inputs;
}

}  // namespace

std::string obstacle_to_tiles(const Search& search, const std::string& output) {
  if (output.empty()) return "give -o, beside which tiles are kept";
  return searches_full_rows(search.parameters) ? "leave out a search of full rows, which tiles do not support"
                                               : "";
}

void check_whole_map_fits(const PairRequest& request, const std::string& what, const std::string& remedy) {
  constexpr std::size_t bytes_of_pixel = 20;
  const Search& search = request.pair.search;
  const std::size_t needed =
      program_bytes(Device::parse(search.device)) + bytes_of_pixel * request.inputs.format.size.pixels();
  const std::size_t limit = memory_limit(search.max_memory);
  if (needed > limit)
    throw Error(ErrorCategory::memory, what + " needs the whole map, " + memory_text(needed) + ", and " +
                                           memory_text(limit) + " are allowed: " + remedy +
                                           ", or raise the limit");
}

void check_in_tiles(const PairRequest& request) {
  const std::string& output = request.pair.output;
  const std::string obstacle = obstacle_to_tiles(request.pair.search, output);
  if (!obstacle.empty()) throw UsageError("cannot match in tiles: " + obstacle);
  if (has_extension(output, {".png"})) check_whole_map_fits(request, output, "name it .tiff or .pfm");
}

void check_not_inside(const std::string& path, const std::string& folder) {
  if (path.empty()) return;
  const fs::path tiles = behind_links(folder);
  for (fs::path above = fs::path(behind_links(path)).parent_path(); above.has_relative_path();
       above = above.parent_path())
    if (above == tiles)
      throw UsageError(path + " is in the folder of the tiles, " + folder +
                       ": move it, or give another name");
}

PairRequest settle_pair(const TiledPair& pair, bool with_hash, bool decode) {
  PairRequest settled{pair, {}, {}};
  auto& [input, search, output, tiles] = settled.pair;
  for (std::string* path : {&input.left, &input.right, &input.left_mask, &input.right_mask})
    *path = absolute(*path);
  for (std::string& path : input.calibration) path = absolute(path);
  check_is_file(output);
  output = absolute(output);
  settled.inputs = examine_inputs(input, search, decode);
  if (!input.calibration.empty()) read_calibration(input.calibration, input.choices);
  settle_range(input, search, settled.inputs.format.size);
  std::ranges::transform(settled.pair.pictures(), settled.files.begin(),
                         [&](const std::string& path) { return describe_file(path, with_hash); });
  return settled;
}

namespace {

// `one_matcher`: all tiles that are matched at once share it.
PairCut cut_in_tiles(const PairRequest& request, bool one_matcher) {
  check_in_tiles(request);
  const Search& search = request.pair.search;
  const Device device = search.first_device();
  PairCut cut;
  // With several devices, one tile is read or written while each matches one.
  if (search.devices.size() > 1) cut.at_once = static_cast<int>(search.devices.size()) + 1;
  cut.plan = Budget(request, device, cut.at_once).plan();
  if (search.devices.size() < 2 && two_may_pay(search, device, one_matcher))
    take_two_where_they_pay(request, device, cut);
  cut.held_bytes = request.inputs.held_bytes;
  cut.process_bytes = Budget(request, device, cut.at_once).total(cut.plan.tile_memory_bytes);
  return cut;
}

// Whether all tiles would be one, also in the memory of a GPU.
bool fits_device(const TiledPair& pair, const Device& device, const ImageFormat& format) {
  if (device.kind != DeviceKind::cuda && device.kind != DeviceKind::opencl) return true;
  const Search& search = pair.search;
  if (!obstacle_to_tiles(search, pair.output).empty()) return true;
  try {
    return plan_tiles(search.parameters, device, format, {0, search.configuration}, {pair.tiles.padding, {}})
               .tiles.size() == 1;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::memory) throw;
    return false;
  }
}

// Pictures that are read and written while another pair is matched take little beside the matcher, or are as
// few as possible.
int pairs_at_once(std::size_t bytes_of_pair, std::size_t room) {
  constexpr std::size_t little = 256 * mebibyte, most = 16;
  const std::size_t many = std::clamp<std::size_t>(little / bytes_of_pair, 2, most);
  return static_cast<int>(std::clamp<std::size_t>(room / bytes_of_pair, 0, many - 1) + 1);
}

// A pair that fits stays in one piece.
PairCut cut_pair(const PairRequest& request) {
  const TiledPair& pair = request.pair;
  const ImageFormat& format = request.inputs.format;
  const Device device = pair.search.first_device();
  MatchRequest in_one_piece{pair.input, pair.search, {}};
  in_one_piece.outputs.disparity = pair.output;
  const std::size_t limit = memory_limit(pair.search.max_memory),
                    whole = whole_match_bytes(in_one_piece, false, format);
  const Size most = pair.tiles.largest;
  const bool larger = (most.width > 0 && format.size.width > most.width) ||
                      (most.height > 0 && format.size.height > most.height);
  if (larger || whole > limit || !fits_device(pair, device, format)) return cut_in_tiles(request, true);
  PairCut cut;
  cut.untiled = true;
  cut.plan.parameters = pair.search.parameters;
  cut.plan.device = device;
  cut.plan.format = format;
  cut.plan.tiles = {{0, {0, 0, format.size}, {0, 0, format.size}}};
  const std::size_t bytes = bytes_of_pictures(format) * format.size.pixels();
  cut.at_once = pairs_at_once(bytes, limit - whole);
  cut.held_bytes = bytes;
  cut.process_bytes = whole + bytes * static_cast<std::size_t>(cut.at_once - 1);
  return cut;
}

// Cuts each kind of pairs once.
class JobMaker {
 public:
  JobMaker(const TiledPair& common, const std::string& folder) {
    const Search& search = common.search;
    job_.search = search;
    job_.pictures = common.input.pictures;
    job_.tiling = common.tiles;
    job_.threads = search.threads > 0 ? search.threads : static_cast<int>(pipeline_slots()) - 2;
    job_.folder = folder;
  }

  void add(const PairRequest& request, PairCut (*cut)(const PairRequest&)) {
    const Inputs& inputs = request.inputs;
    const auto key =
        std::tuple(inputs.format.size.width, inputs.format.size.height, inputs.format.depth,
                   request.pair.search.parameters.min_disparity(),
                   request.pair.search.parameters.disparities(), inputs.opening_bytes, inputs.held_bytes,
                   request.files[2].path.empty(), request.files[3].path.empty());
    const auto [there, is_new] = cuts_.try_emplace(key, job_.cuts.size());
    if (is_new) job_.cuts.push_back(cut(request));
    job_.pairs.push_back({there->second, request.files, request.pair.output});
  }

  const Job& job() const { return job_; }

 private:
  Job job_;
  std::map<std::tuple<int, int, BitDepth, int, int, std::size_t, std::size_t, bool, bool>, std::size_t> cuts_;
};

TiledPair pair_of(const TiledPair& common, const ListedPair& listed, const std::string& output) {
  TiledPair pair = common;
  take_listed(listed, pair.input, pair.search);
  pair.output = output;
  return pair;
}

// Plans many pairs, looking at the pictures of several at once.
class ListPlanner {
 public:
  ListPlanner(const PlanRequest& request, std::vector<ListedPair> pairs, const std::string& folder)
      : request_(request),
        pairs_(std::move(pairs)),
        output_("-o", request.pair.output, ".pfm"),
        folder_(folder),
        maker_(request.pair, fs::path(folder).filename().string()),
        items_(pipeline_slots()) {
    if (output_.empty()) throw UsageError("give -o: a folder, or a pattern such as maps/{name}.pfm");
    check_disparity_path(output_.text());
    CommandFiles files;
    check_names(pairs_, {output_}, files);
    files.writes(request.path);
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
    if (failures_ > max_named) complain("and " + std::to_string(failures_ - max_named) + " more");
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
  static constexpr std::size_t max_named = 20;

  void look(Item& item) const {
    item.settled.reset();
    item.failure.reset();
    const ListedPair& pair = pairs_[item.number];
    try {
      item.settled = settle_pair(pair_of(request_.pair, pair, output_.of(pair)), !request_.no_hash, false);
      check_nothing_inside(item.settled->pair, folder_);
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
    if (++failures_ > max_named) return;
    show_progress("");
    complain(name_of(pairs_[item.number]) + ": " + item.failure->message);
  }

  const PlanRequest& request_;
  std::vector<ListedPair> pairs_;
  OutputPattern output_;
  std::string folder_;
  JobMaker maker_;
  std::vector<Item> items_;
  std::size_t failures_ = 0;
  bool all_is_transient_ = true;
};

Job plan_one(const PlanRequest& request, const std::string& folder) {
  const PairRequest pair = settle_pair(request.pair, !request.no_hash, true);
  check_nothing_inside(pair.pair, folder);
  JobMaker maker(request.pair, fs::path(folder).filename().string());
  maker.add(pair, cut_pair);
  return maker.job();
}

}  // namespace

Job plan_in_tiles(const PairRequest& request) {
  check_nothing_inside(request.pair, folder_of_tiles(request));
  TiledPair common = request.pair;
  common.search.device = Device::parse(common.search.device).text();
  JobMaker maker(common, ".");
  maker.add(request, [](const PairRequest& pair) { return cut_in_tiles(pair, false); });
  return maker.job();
}

Job plan_job(const PlanRequest& request) {
  const std::string folder = request.path + ".tiles";
  const Input& input = request.pair.input;
  std::vector<ListedPair> pairs =
      request.list.empty() ? list_pairs(input.left, input.right) : list_pairs(request.list, "");
  const bool one = request.list.empty() && pairs.size() == 1 && pairs.front().left == input.left;
  return one ? plan_one(request, folder) : ListPlanner(request, std::move(pairs), folder).run();
}

}  // namespace parallax::tool
