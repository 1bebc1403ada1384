// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/job.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <sys/stat.h>

#include "parallax/formats.h"
#include "parallax/version.h"

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/files/content_hash.h"
#include "tools/jobs/pair_list.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int plan_version = 2;
constexpr std::array<const char*, 4> file_keys = {"left", "right", "left_mask", "right_mask"};
// Other versions may produce other results.
constexpr const char* made_by = "parallax " PARALLAX_VERSION;
constexpr const char* remedy = ": make a new plan; if an interrupted match left it, remove its folder";
// More tiles than a pair needs, and few enough that a damaged plan does not fill the memory.
constexpr std::size_t max_tiles_of_pair = 1'000'000, max_tiles = 999'999'999;

[[noreturn]] void fail_plan(const std::string& path, const std::string& why) {
  throw Error(ErrorCategory::file, path + ": " + why + remedy);
}

// JSON text must be UTF-8.
void check_name(const std::string& path) {
  try {
    ordered_json(path).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCategory::file, path + ": its name is not UTF-8, which a tile plan needs: rename it");
  }
}

// Converting a number outside the range of the type would be undefined behaviour.
template <class Number>
Number read_number(const ordered_json& json) {
  // Signed and unsigned separately, so that comparisons are right.
  if (json.is_number_unsigned() && std::in_range<Number>(json.get<std::uint64_t>()))
    return static_cast<Number>(json.get<std::uint64_t>());
  if (json.is_number_integer() && !json.is_number_unsigned() &&
      std::in_range<Number>(json.get<std::int64_t>()))
    return static_cast<Number>(json.get<std::int64_t>());
  throw std::out_of_range(json.dump() + " is not an integer in range");
}

int read_count(const ordered_json& json) {
  const int count = read_number<int>(json);
  if (count < 1) throw std::out_of_range(json.dump() + " is not a number of anything");
  return count;
}

ordered_json json_of(Size size) {
  return {{"width", size.width}, {"height", size.height}};
}

ordered_json json_of(const Margins& margins) {
  return {{"left", margins.left},     {"right", margins.right},         {"top", margins.top},
          {"bottom", margins.bottom}, {"alignment", margins.alignment}, {"exact", margins.exact}};
}

Size read_size(const ordered_json& json) {
  return {read_number<int>(json.at("width")), read_number<int>(json.at("height"))};
}

Margins read_margins(const ordered_json& json) {
  const auto number = [&](const char* key) { return read_number<int>(json.at(key)); };
  return {number("left"),   number("right"),     number("top"),
          number("bottom"), number("alignment"), json.at("exact").get<bool>()};
}

// A column or row of tiles: first and length of what it decides, then of what it is matched from.
using Span = std::array<int, 4>;

Span columns_of(const Tile& tile) {
  return {tile.inside.x, tile.inside.size.width, tile.around.x, tile.around.size.width};
}

Span rows_of(const Tile& tile) {
  return {tile.inside.y, tile.inside.size.height, tile.around.y, tile.around.size.height};
}

// Spans that cover an extent from first to last.
// \throws std::out_of_range for others
std::vector<Span> read_spans(const ordered_json& json, int extent) {
  std::vector<Span> spans;
  long long covered = 0;
  for (const ordered_json& numbers : json) {
    Span span;
    for (std::size_t i = 0; i < span.size(); ++i) span[i] = read_number<int>(numbers.at(i));
    const auto [inside, inside_length, around, around_length] = span;
    const long long inside_end = 0LL + inside + inside_length, around_end = 0LL + around + around_length;
    if (inside != covered || inside_length < 1 || around < 0 || around > inside || around_end < inside_end ||
        around_end > extent)
      break;
    covered = inside_end;
    spans.push_back(span);
  }
  if (covered != extent || spans.size() != json.size())
    throw std::out_of_range("its tiles do not cover the picture");
  return spans;
}

std::vector<Tile> tiles_of(const std::vector<Span>& columns, const std::vector<Span>& rows) {
  if (columns.size() > max_tiles_of_pair / rows.size())
    throw std::out_of_range("a pair has more than " + std::to_string(max_tiles_of_pair) + " tiles");
  std::vector<Tile> tiles;
  for (const Span& row : rows)
    for (const Span& column : columns)
      tiles.push_back({static_cast<int>(tiles.size()),
                       {column[0], row[0], {column[1], row[1]}},
                       {column[2], row[2], {column[3], row[3]}}});
  return tiles;
}

ordered_json json_of(const Search& search, const TileOptions& tiling, const PictureOptions& pictures) {
  return {{"parameters", describe_parameters(search.parameters)},
          {"configuration", search.configuration},
          {"device", search.device},
          {"threads", search.threads},
          {"max_memory_bytes", search.max_memory},
          {"padding", tiling.padding},
          {"tile_size", json_of(tiling.largest)},
          {"pictures", to_json(pictures)}};
}

void read_request(const ordered_json& json, JobHead& head) {
  Search& search = head.search;
  search.parameters = parameters_from_json(json.at("parameters").dump());
  search.parameters.validate();
  search.method = method_name(search.parameters);
  search.range_given = true;
  search.configuration = json.at("configuration").get<TunedValues>();
  search.device = json.at("device").get<std::string>();
  search.threads = read_number<int>(json.at("threads"));
  search.max_memory = read_number<std::size_t>(json.at("max_memory_bytes"));
  head.tiling = {read_number<int>(json.at("padding")), read_size(json.at("tile_size"))};
  head.pictures = picture_options(json.at("pictures"));
}

ordered_json json_of(const PairCut& cut) {
  const TilePlan& plan = cut.plan;
  ordered_json json{{"size", json_of(plan.format.size)},
                    {"bits", static_cast<int>(plan.format.depth)},
                    {"min_disparity", plan.parameters.min_disparity()},
                    {"disparities", plan.parameters.disparities()},
                    {"untiled", cut.untiled},
                    {"device", plan.device.text()},
                    {"at_once", cut.at_once},
                    {"held_bytes", cut.held_bytes},
                    {"process_memory_bytes", cut.process_bytes}};
  if (cut.untiled) return json;
  json["tile_memory_bytes"] = plan.tile_memory_bytes;
  json["row_offsets"] = plan.row_offsets;
  json["margins"] = json_of(plan.margins);
  const auto columns = static_cast<std::size_t>(
      std::ranges::count_if(plan.tiles, [](const Tile& tile) { return tile.inside.y == 0; }));
  // The tiles are the products of columns and rows, row by row.
  for (std::size_t i = 0; i < columns; ++i) json["columns"].push_back(columns_of(plan.tiles[i]));
  for (std::size_t i = 0; i < plan.tiles.size(); i += columns) json["rows"].push_back(rows_of(plan.tiles[i]));
  return json;
}

PairCut read_cut(const ordered_json& json, const JobHead& head) {
  PairCut cut;
  cut.untiled = json.at("untiled").get<bool>();
  cut.at_once = read_count(json.at("at_once"));
  cut.held_bytes = read_number<std::size_t>(json.at("held_bytes"));
  cut.process_bytes = read_number<std::size_t>(json.at("process_memory_bytes"));
  TilePlan& plan = cut.plan;
  plan.parameters = head.search.parameters;
  plan.parameters.min_disparity() = read_number<int>(json.at("min_disparity"));
  plan.parameters.disparities() = read_number<int>(json.at("disparities"));
  plan.parameters.validate();
  plan.configuration = head.search.configuration;
  plan.device = Device::parse(json.at("device").get<std::string>());
  plan.device.threads = head.threads;
  const int bits = read_number<int>(json.at("bits"));
  plan.format = {read_size(json.at("size")), bits == 16 ? BitDepth::bits16 : BitDepth::bits8};
  const Size size = plan.format.size;
  if (size.width < 1 || size.height < 1) throw std::out_of_range("a picture has no pixels");
  if (cut.untiled) {
    plan.tiles = {{0, {0, 0, size}, {0, 0, size}}};
    return cut;
  }
  plan.tile_memory_bytes = read_number<std::size_t>(json.at("tile_memory_bytes"));
  plan.row_offsets = json.value("row_offsets", false);
  plan.margins = read_margins(json.at("margins"));
  plan.tiles = tiles_of(read_spans(json.at("columns"), size.width), read_spans(json.at("rows"), size.height));
  return cut;
}

std::string folder_of(const std::string& path) {
  return fs::absolute(path).lexically_normal().parent_path().string();
}

// Below the folder of the plan, relative to it.
std::string stored_path(const std::string& path, const std::string& base) {
  check_name(path);
  const std::string inside = base.ends_with('/') ? base : base + "/";
  return path.starts_with(inside) ? path.substr(inside.size()) : path;
}

ordered_json json_of(const PlannedFile& file, const std::string& base) {
  ordered_json json{
      {"path", stored_path(file.path, base)}, {"bytes", file.bytes}, {"modified", file.modified}};
  if (!file.hash.empty()) json["hash"] = file.hash;
  return json;
}

ordered_json json_of(const PlannedPair& pair, int tile, const std::string& base) {
  ordered_json json{{"tile", tile}, {"cut", pair.cut}};
  for (std::size_t i = 0; i < file_keys.size(); ++i)
    if (!pair.files[i].path.empty()) json[file_keys[i]] = json_of(pair.files[i], base);
  json["output"] = stored_path(pair.output, base);
  return json;
}

// The message of nlohmann-json without its error number.
std::string reason(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

std::string shown(const ordered_json& value) {
  return value.is_null() ? "nothing" : value.dump();
}

// "device was \"cpu\", and is \"cuda:0\" now" for the first difference; empty = there is none.
std::string difference(const ordered_json& there, const ordered_json& now) {
  const ordered_json first = there.flatten(), second = now.flatten();
  for (const auto* side : {&first, &second}) {
    for (const auto& [key, value] : side->items()) {
      const ordered_json before = first.value(key, ordered_json()), after = second.value(key, ordered_json());
      if (before != after)
        return key.substr(1) + " was " + shown(before) + ", and is " + shown(after) + " now";
    }
  }
  return "";
}

// Detects accidental changes.
std::string fingerprint_of(const ordered_json& head, std::string_view rest) {
  return content_hash(content_hash(head.dump()) + content_hash(rest));
}

// Description of a match of one pair, whose range is settled.
ordered_json description_of(const TiledPair& pair, const ImageFormat& format) {
  ordered_json json = json_of(pair.search, pair.tiles, pair.input.pictures);
  json["device"] = Device::parse(pair.search.device).text();
  json["size"] = json_of(format.size);
  json["bits"] = static_cast<int>(format.depth);
  json["rows_off"] = pair.tiles.row_offsets;
  const std::array<std::string, 4> paths = pair.pictures();
  for (std::size_t i = 0; i < paths.size(); ++i) json[file_keys[i]] = paths[i];
  json["output"] = pair.output;
  return json;
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

PlannedFile describe_file(const std::string& path, bool with_hash) {
  if (path.empty()) return {};
  check_name(path);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) fail_file("read", path, errno);
  // Reading a pipe or a device might never end.
  if (!S_ISREG(about.st_mode))
    throw Error(ErrorCategory::file, path + " is not a regular file: give a picture");
  PlannedFile file{path, static_cast<std::uint64_t>(about.st_size),
                   static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec,
                   ""};
  if (with_hash) file.hash = file_hash(path);
  return file;
}

void check_unchanged(const PlannedFile& file, const std::string& plan, bool verify) {
  if (file.path.empty()) return;
  const PlannedFile now = describe_file(file.path, false);
  const auto fail = [&](const std::string& how) {
    fail_plan(plan, file.path + " has changed since the plan was made (" + how + ")");
  };
  if (now.bytes != file.bytes)
    fail("it had " + std::to_string(file.bytes) + " bytes, and has " + std::to_string(now.bytes));
  if (now.modified == file.modified && !(verify && !file.hash.empty())) return;
  if (file.hash.empty()) fail("it was written later, and the plan has no hash of its content");
  if (file_hash(file.path) != file.hash) fail("its content is different");
}

std::size_t Job::process_bytes() const {
  std::size_t most = 0;
  for (const PairCut& cut : cuts) most = std::max(most, cut.process_bytes);
  return most;
}

std::size_t Job::tiles() const {
  std::size_t count = 0;
  for (const PlannedPair& pair : pairs) count += static_cast<std::size_t>(cuts[pair.cut].tiles());
  return count;
}

void write_job(const Job& job, const std::string& path) {
  const std::string base = folder_of(path);
  for (const PairCut& cut : job.cuts)
    if (cut.plan.tiles.size() > max_tiles_of_pair)
      throw Error(ErrorCategory::argument, "a pair is cut into " + std::to_string(cut.plan.tiles.size()) +
                                               " tiles: allow larger ones");
  if (job.tiles() > max_tiles)
    throw Error(ErrorCategory::argument,
                std::to_string(job.tiles()) + " tiles are too many for one plan: divide the list of pairs");
  std::string rest;
  for (const PairCut& cut : job.cuts) rest += json_of(cut).dump() + "\n";
  int tile = 0;
  for (const PlannedPair& pair : job.pairs) {
    rest += json_of(pair, tile, base).dump() + "\n";
    tile += job.cuts[pair.cut].tiles();
  }
  ordered_json head{{"parallax_tile_plan", plan_version},
                    {"made_by", made_by},
                    {"pairs", job.pairs.size()},
                    {"tiles", tile},
                    {"cuts", job.cuts.size()},
                    {"threads", job.threads},
                    // A process holds the plan, too.
                    {"process_memory_bytes", job.process_bytes() + rest.size()},
                    {"folder", job.folder},
                    {"request", json_of(job.search, job.tiling, job.pictures)}};
  head["fingerprint"] = fingerprint_of(head, rest);
  write_output(path, head.dump() + "\n" + rest);
}

PathMaps parse_path_maps(const std::vector<std::string>& texts) {
  PathMaps maps;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string from = without_slash(text.substr(0, equals));
    if (equals == std::string::npos || !from.starts_with('/') || equals + 1 == text.size())
      throw UsageError("--path-map is '" + text + "': give FROM=TO, such as /home/me/pairs=/scratch/pairs");
    maps.emplace_back(from, without_slash(fs::absolute(text.substr(equals + 1)).lexically_normal().string()));
  }
  return maps;
}

void PairJob::check_inputs(bool verify) const {
  for (const PlannedFile& file : files) check_unchanged(file, head->path, verify);
}

void PairJob::check_names() const {
  CommandFiles uses;
  for (const PlannedFile& file : files) uses.reads(file.path);
  uses.reads_once(head->path);
  uses.writes(output);
}

JobFile::JobFile(const std::string& path, PathMaps maps)
    : maps_(std::move(maps)), path_(path), base_(folder_of(path)), bytes_(read_file(path)) {
  const std::byte* const begin = bytes_.data();
  for (std::size_t at = 0; at < bytes_.size();) {
    begins_.push_back(at);
    const auto* end = static_cast<const std::byte*>(std::memchr(begin + at, '\n', bytes_.size() - at));
    at = end == nullptr ? bytes_.size() : static_cast<std::size_t>(end - begin) + 1;
  }
  begins_.push_back(bytes_.size());
  read_head(path);
}

std::string_view JobFile::line(std::size_t number) const {
  return {reinterpret_cast<const char*>(bytes_.data()) + begins_[number],
          begins_[number + 1] - begins_[number]};
}

template <class Function>
auto JobFile::parse(std::size_t number, const Function& function) const {
  try {
    return function(parse_json_object(line(number)));
  } catch (const JsonError& error) {
    fail_plan(path_, std::string("is not a readable tile plan (a line is ") + error.what() + ")");
  } catch (const nlohmann::json::exception& error) {
    fail_plan(path_, "is not a readable tile plan (" + reason(error) + ")");
  } catch (const std::out_of_range& error) {
    fail_plan(path_, std::string("is not a readable tile plan (") + error.what() + ")");
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::argument) throw;
    fail_plan(path_, std::string("has parameters that this program does not accept (") + error.what() + ")");
  }
}

void JobFile::read_head(const std::string& path) {
  if (bytes_.empty()) fail_plan(path, "is not a readable tile plan (it is empty)");
  head_ = parse(0, [&](ordered_json json) {
    const int version = read_number<int>(json.at("parallax_tile_plan"));
    if (version != plan_version)
      fail_plan(path, "is a tile plan of version " + std::to_string(version) +
                          ", this program reads version " + std::to_string(plan_version));
    if (json.at("made_by") != made_by)
      fail_plan(path, "was made by " + shown(json.at("made_by")) + ", this is " + made_by);
    JobHead head;
    head.path = path;
    read_request(json.at("request"), head);
    head.threads = read_count(json.at("threads"));
    head.process_bytes = read_number<std::size_t>(json.at("process_memory_bytes"));
    head.pairs = read_count(json.at("pairs"));
    head.tiles = read_count(json.at("tiles"));
    const int cuts = read_count(json.at("cuts"));
    head.fingerprint = json.at("fingerprint").get<std::string>();
    const auto folder = json.at("folder").get<std::string>();
    if (folder.empty() || folder == ".." || folder.find_first_of(std::string("/\0", 2)) != std::string::npos)
      throw std::out_of_range("its folder is not a name");
    head.folder = folder == "." ? base_ : (fs::path(base_) / folder).string();
    json.erase("fingerprint");
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + begins_[1],
                                bytes_.size() - begins_[1]);
    if (fingerprint_of(json, rest) != head.fingerprint ||
        begins_.size() != 2 + static_cast<std::size_t>(cuts) + static_cast<std::size_t>(head.pairs))
      fail_plan(path, "has changed since it was made");
    cuts_.resize(static_cast<std::size_t>(cuts));
    return std::make_shared<const JobHead>(std::move(head));
  });
}

std::shared_ptr<const PairCut> JobFile::cut(std::size_t number) const {
  if (number >= cuts_.size()) fail_plan(path_, "is not a readable tile plan (it lacks a cut)");
  std::shared_ptr<const PairCut>& cut = cuts_[number];
  if (!cut)
    cut = parse(1 + number, [&](const ordered_json& json) {
      return std::make_shared<const PairCut>(read_cut(json, *head_));
    });
  return cut;
}

// The path on this machine of one in the plan.
std::string JobFile::place(const std::string& stored) const {
  const fs::path path(stored);
  if (stored.empty() || stored.find('\0') != std::string::npos ||
      (path.is_relative() && (path.lexically_normal() != path || *path.begin() == "..")))
    throw std::out_of_range(ordered_json(stored).dump() + " is not the path of a file");
  const std::string absolute = (fs::path(base_) / path).string();
  const std::pair<std::string, std::string>* longest = nullptr;
  for (const auto& map : maps_) {
    const bool applies = absolute.starts_with(map.first) &&
                         (map.first == "/" || absolute.substr(map.first.size()).starts_with('/'));
    if (applies && (longest == nullptr || map.first.size() > longest->first.size())) longest = &map;
  }
  if (longest == nullptr) return absolute;
  const std::string below = absolute.substr(longest->first == "/" ? 1 : longest->first.size() + 1);
  return (fs::path(longest->second) / below).string();
}

int JobFile::first_tile(int pair) const {
  if (pair == head_->pairs) return head_->tiles;
  return parse(1 + cuts_.size() + static_cast<std::size_t>(pair),
               [](const ordered_json& json) { return read_number<int>(json.at("tile")); });
}

PairJob JobFile::pair(int number) const {
  const int next = first_tile(number + 1);
  return parse(1 + cuts_.size() + static_cast<std::size_t>(number), [&](const ordered_json& json) {
    const auto file = [&](const char* key) {
      const ordered_json& file = json.at(key);
      return PlannedFile{place(file.at("path").get<std::string>()),
                         read_number<std::uint64_t>(file.at("bytes")),
                         read_number<std::int64_t>(file.at("modified")), file.value("hash", "")};
    };
    PairJob job;
    job.head = head_;
    job.cut = cut(read_number<std::size_t>(json.at("cut")));
    job.number = number;
    job.first_tile = read_number<int>(json.at("tile"));
    for (std::size_t i = 0; i < file_keys.size(); ++i)
      if (i < 2 || json.contains(file_keys[i])) job.files[i] = file(file_keys[i]);
    job.output = place(json.at("output").get<std::string>());
    if (job.first_tile < 0 || (number == 0 && job.first_tile != 0) ||
        0LL + job.first_tile + job.tiles() != next)
      throw std::out_of_range("pair " + std::to_string(number) + " has tiles of another pair");
    return job;
  });
}

int JobFile::pair_of(int tile) const {
  int first = 0, end = head_->pairs;
  while (end - first > 1) {
    const int middle = first + (end - first) / 2;
    (first_tile(middle) <= tile ? first : end) = middle;
  }
  if (tile < first_tile(first) || tile >= first_tile(first + 1))
    fail_plan(path_, "is not a readable tile plan (tile " + std::to_string(tile) + " belongs to no pair)");
  return first;
}

void check_same_job(const JobFile& file, const TiledPair& pair, const ImageFormat& format) {
  const PairJob there = file.pair(0);
  TiledPair before{{}, file.head().search, there.output, file.head().tiling};
  before.search.parameters = there.plan().parameters;
  before.input.pictures = there.options();
  before.input.left = there.files[0].path;
  before.input.right = there.files[1].path;
  before.input.left_mask = there.files[2].path;
  before.input.right_mask = there.files[3].path;
  before.tiles.row_offsets = there.plan().row_offsets;
  const std::string what =
      difference(description_of(before, there.plan().format), description_of(pair, format));
  if (!what.empty())
    throw Error(ErrorCategory::file, file.head().path + ": " + what +
                                         ": repeat the same command, or remove the folder " +
                                         file.head().folder);
  there.check_inputs(false);
}

}  // namespace parallax::tool
