// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/tiles/job.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "parallax/formats.h"
#include "parallax/version.h"

#include "tools/parallax/method_options.h"
#include "tools/parallax/output_files.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

constexpr int plan_version = 1;
// Other versions may produce other results.
constexpr const char* made_by = "parallax " PARALLAX_VERSION;
constexpr const char* remedy = ": make a new plan; if an interrupted match left it, remove its folder";

[[noreturn]] void fail_plan(const std::string& path, const std::string& why) {
  throw Error(ErrorCategory::file, path + ": " + why + remedy);
}

// FNV-1a: detects accidental changes.
std::string fingerprint_of(const ordered_json& plan) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : plan.dump()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// JSON text must be UTF-8.
void check_name(const std::string& path) {
  try {
    ordered_json(path).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCategory::file, path + ": its name is not UTF-8, which a tile plan needs: rename it");
  }
}

// A file, with size and time to detect changes.
ordered_json describe_file(const std::string& path) {
  if (path.empty()) return nullptr;
  check_name(path);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0)
    throw Error(ErrorCategory::file, path + ": cannot be found: check its name and folder");
  const auto modified =
      static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec;
  return {{"path", path}, {"bytes", about.st_size}, {"modified_nanoseconds", modified}};
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

ordered_json json_of(Size size) {
  return {{"width", size.width}, {"height", size.height}};
}

ordered_json json_of(const Rectangle& part) {
  return {{"x", part.x}, {"y", part.y}, {"width", part.size.width}, {"height", part.size.height}};
}

ordered_json json_of(const Margins& margins) {
  return {{"left", margins.left},     {"right", margins.right},         {"top", margins.top},
          {"bottom", margins.bottom}, {"alignment", margins.alignment}, {"exact", margins.exact}};
}

std::string path_in(const ordered_json& file) {
  return file.is_null() ? "" : file.at("path").get<std::string>();
}

Size read_size(const ordered_json& json) {
  return {read_number<int>(json.at("width")), read_number<int>(json.at("height"))};
}

Rectangle read_rectangle(const ordered_json& json) {
  return {read_number<int>(json.at("x")), read_number<int>(json.at("y")), read_size(json)};
}

Margins read_margins(const ordered_json& json) {
  Margins margins;
  margins.left = read_number<int>(json.at("left"));
  margins.right = read_number<int>(json.at("right"));
  margins.top = read_number<int>(json.at("top"));
  margins.bottom = read_number<int>(json.at("bottom"));
  margins.alignment = read_number<int>(json.at("alignment"));
  margins.exact = json.at("exact").get<bool>();
  return margins;
}

ordered_json describe_pictures(const MatchRequest& request) {
  return {{"left", describe_file(request.left)},
          {"right", describe_file(request.right)},
          {"left_mask", describe_file(request.left_mask)},
          {"right_mask", describe_file(request.right_mask)}};
}

}  // namespace

std::string describe_request(const MatchRequest& request, const ImageFormat& format) {
  ordered_json json = describe_pictures(request);
  json["size"] = json_of(format.size);
  json["bits"] = static_cast<int>(format.depth);
  check_name(request.output);
  json["output"] = request.output;
  json["parameters"] = describe_parameters(request.parameters);
  json["configuration"] = request.configuration;
  json["device"] = Device::parse(request.device).text();
  json["threads"] = request.threads;
  json["max_memory_bytes"] = request.max_memory;
  json["padding"] = request.padding;
  json["tile_size"] = json_of(request.largest_tile);
  return json.dump();
}

namespace {

ordered_json json_of(const TileJob& job) {
  ordered_json json{{"parallax_tile_plan", plan_version}, {"made_by", made_by}};
  json["request"] = ordered_json::parse(job.asked);
  json["folder"] = job.folder;
  json["threads"] = job.plan.device.threads;
  json["process_memory_bytes"] = job.process_bytes;
  json["tiles_at_once"] = job.at_once;
  json["tile_memory_bytes"] = job.plan.tile_memory_bytes;
  json["margins"] = json_of(job.plan.margins);
  for (const Tile& tile : job.plan.tiles)
    json["tiles"].push_back(
        {{"number", tile.number}, {"inside", json_of(tile.inside)}, {"around", json_of(tile.around)}});
  return json;
}

MatchRequest read_request(const ordered_json& json) {
  MatchRequest request;
  request.left = path_in(json.at("left"));
  request.right = path_in(json.at("right"));
  request.parameters = parameters_from_json(json.at("parameters").dump());
  request.parameters.validate();
  request.method = method_name(request.parameters);
  request.range_given = true;
  request.configuration = json.at("configuration").get<TunedValues>();
  request.left_mask = path_in(json.at("left_mask"));
  request.right_mask = path_in(json.at("right_mask"));
  request.output = json.at("output").get<std::string>();
  request.device = json.at("device").get<std::string>();
  request.threads = read_number<int>(json.at("threads"));
  request.max_memory = read_number<std::size_t>(json.at("max_memory_bytes"));
  request.padding = read_number<int>(json.at("padding"));
  request.largest_tile = read_size(json.at("tile_size"));
  return request;
}

TileJob read_json(const ordered_json& json) {
  TileJob job;
  const ordered_json& request = json.at("request");
  job.asked = request.dump();
  job.request = read_request(request);
  job.folder = json.at("folder").get<std::string>();
  job.at_once = read_number<int>(json.at("tiles_at_once"));
  job.process_bytes = read_number<std::size_t>(json.at("process_memory_bytes"));
  job.fingerprint = json.at("fingerprint").get<std::string>();
  job.plan.parameters = job.request.parameters;
  job.plan.configuration = job.request.configuration;
  job.plan.device = Device::parse(job.request.device);
  job.plan.device.threads = read_number<int>(json.at("threads"));
  const int bits = read_number<int>(request.at("bits"));
  job.plan.format = {read_size(request.at("size")), bits == 16 ? Depth::bits16 : Depth::bits8};
  job.plan.margins = read_margins(json.at("margins"));
  job.plan.tile_memory_bytes = read_number<std::size_t>(json.at("tile_memory_bytes"));
  for (const ordered_json& tile : json.at("tiles"))
    job.plan.tiles.push_back({read_number<int>(tile.at("number")), read_rectangle(tile.at("inside")),
                              read_rectangle(tile.at("around"))});
  return job;
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

}  // namespace

void write_job(const TileJob& job, const std::string& path) {
  ordered_json json = json_of(job);
  json["fingerprint"] = fingerprint_of(json);
  write_output(path, json.dump(1) + "\n");
}

TileJob read_job(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  try {
    ordered_json json = ordered_json::parse(text, text + bytes.size());
    const int version = read_number<int>(json.at("parallax_tile_plan"));
    if (version != plan_version)
      fail_plan(path, "is a tile plan of version " + std::to_string(version) +
                          ", this program reads version " + std::to_string(plan_version));
    if (json.at("made_by") != made_by)
      fail_plan(path, "was made by " + shown(json.at("made_by")) + ", this is " + made_by);
    TileJob job = read_json(json);
    json.erase("fingerprint");
    if (fingerprint_of(json) != job.fingerprint) fail_plan(path, "has changed since it was made");
    return job;
  } catch (const nlohmann::json::exception& error) {
    fail_plan(path, "is not a readable tile plan (" + reason(error) + ")");
  } catch (const std::out_of_range& error) {
    fail_plan(path, std::string("is not a readable tile plan (") + error.what() + ")");
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::argument) throw;
    fail_plan(path, std::string("has parameters that this program does not accept (") + error.what() + ")");
  }
}

void check_same_job(const TileJob& job, const std::string& path, const MatchRequest& request,
                    const ImageFormat& format) {
  const std::string what =
      difference(ordered_json::parse(job.asked), ordered_json::parse(describe_request(request, format)));
  if (!what.empty())
    throw Error(ErrorCategory::file,
                path + ": " + what + ": repeat the same command, or remove the folder " + job.folder);
}

void check_inputs_unchanged(const TileJob& job, const std::string& path) {
  const ordered_json now = describe_pictures(job.request);
  const ordered_json asked = ordered_json::parse(job.asked);
  ordered_json there;
  for (const auto& [key, value] : now.items()) there[key] = asked.at(key);
  const std::string what = difference(there, now);
  if (!what.empty()) fail_plan(path, what);
}

}  // namespace parallax::tool
