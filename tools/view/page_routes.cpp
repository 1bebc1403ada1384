// SPDX-License-Identifier: Apache-2.0
#include "tools/view/page_routes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "parallax/check.h"
#include "parallax/cost_curve.h"

#include "tools/command/json.h"
#include "tools/match/check_report.h"
#include "tools/view/export.h"
#include "tools/view/message.h"
#include "tools/view/planes.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int max_region_side = 1024;

int number_of(const Request& request, const char* name) {
  const std::string text = request.parameter(name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCategory::argument, std::string("'") + name + "' is '" + text + "': give a number");
  return number;
}

Json body_of(const Request& request) {
  try {
    return tool::parse_json_object(request.body);
  } catch (const tool::JsonError& error) {
    throw Error(ErrorCategory::argument, std::string("the body is ") + error.what());
  }
}

void answer(Response& response, const Json& json) {
  answer(response, tool::json_text(json), "application/json");
}

std::string bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void set_file_name(Response& response, const std::string& name) {
  response.headers["Content-Disposition"] = "attachment; filename=\"" + name + "\"";
}

// Piece by piece.
void send_file(Response& response, std::shared_ptr<const NamelessFile> file, const std::string& name) {
  static constexpr std::uint64_t max_at_once = 1 << 18;
  set_file_name(response, name);
  response.type = "application/octet-stream";
  response.bytes = file->bytes();
  response.next_piece = [file, position = std::uint64_t{0}]() mutable -> std::shared_ptr<const std::string> {
    const auto piece = std::make_shared<const std::string>(
        file->read(position, std::min<std::uint64_t>(file->bytes() - position, max_at_once)));
    position += piece->size();
    return piece->empty() ? nullptr : piece;
  };
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json describe_pixel(const Scene& scene, const ViewedMap& map, int x, int y) {
  const float disparity = map.result.disparity.at(x, y);
  Json json{{"x", x},
            {"y", y},
            {"disparity", number_or_null(disparity)},
            {"status", name(static_cast<Status>(map.result.status.at(x, y)))}};
  if (map.result.confidence.width() > 0) json["confidence"] = map.result.confidence.at(x, y);
  if (map.result.row_offset.width() > 0) json["row_offset"] = number_or_null(map.result.row_offset.at(x, y));
  if (map.result.right) json["right_disparity"] = number_or_null(map.result.right->disparity.at(x, y));
  if (const auto calibration = scene.calibration()) {
    const double z = depth(*calibration, disparity);
    json["depth"] = z > 0 ? Json(z) : Json(nullptr);
    if (z > 0)
      json["position"] = {(x - calibration->centre_x) * z / calibration->focal,
                          (y - calibration->centre_y) * z / calibration->focal, z};
  }
  if (scene.truth()) {
    const float truth = scene.truth()->disparity().at(x, y);
    json["truth"] = number_or_null(truth);
    json["error"] = number_or_null(double{disparity} - double{truth});
  }
  return json;
}

// A label that is not considered has the cost null.
Json numbers_or_nulls(const std::vector<float>& values) {
  Json json = Json::array();
  for (const float value : values) json.push_back(number_or_null(value));
  return json;
}

Json describe_curve(const Scene& scene, const ViewedMap& map, int x, int y) {
  if (!map.settings.parameters)
    throw Error(ErrorCategory::argument, "a stored map has no costs: choose a method");
  const CostCurve curve = cost_curve(*map.settings.parameters, scene.pair(*map.frame), x, y);
  return {{"x", x},
          {"y", y},
          {"min_disparity", curve.min_disparity},
          {"data_costs", numbers_or_nulls(curve.data_costs)},
          {"totals", numbers_or_nulls(curve.totals)}};
}

std::string region_message(const Scene& scene, const ViewedMap& map, const Rectangle& region) {
  const tool::PicturePair& pictures = map.frame->pictures;
  const DisparityCode code = code_for(map.result.disparity.view());
  const DisparityCode truth_code = scene.truth() ? code_for(scene.truth()->disparity()) : DisparityCode();
  Message message({{"kind", "region"},
                   {"frame", map.frame->number},
                   {"request", map.settings.request},
                   {"x", region.x},
                   {"y", region.y},
                   {"lowest", code.lowest},
                   {"steps", code.steps},
                   {"truth", {{"lowest", truth_code.lowest}, {"steps", truth_code.steps}}}});
  message.add("left", scale_picture(pictures.left.view(), region, 1), region.size, pictures.left.channels());
  message.add("right", scale_picture(pictures.right.view(), region, 1), region.size,
              pictures.right.channels());
  message.add("disparity", sample_disparities(map.result.disparity.view(), code, region, 1), region.size);
  message.add("status", sample(map.result.status.view(), region, 1), region.size);
  if (map.result.confidence.width() > 0)
    message.add("confidence", sample_shares(map.result.confidence.view(), region, 1), region.size);
  add_row_offsets(map, region, 1, message);
  add_right_map(map, region, 1, message);
  if (scene.truth())
    message.add("truth", sample_disparities(scene.truth()->disparity(), truth_code, region, 1), region.size);
  return message.bytes();
}

Json check_of(const Scene& scene, const ViewedFrame& frame) {
  const PairReport report =
      check_pair({frame.pictures.left.view(), frame.pictures.right.view()}, {.threads = scene.threads()});
  Json json = tool::check_json(report, nullptr), points = Json::array();
  for (const CheckedPoint& point : report.points)
    points.push_back({point.left_x, point.left_y, point.rows_off()});
  json["points"] = points;
  return json;
}

// The part of the picture from x, y on.
// \throws Error (argument) unless it lies within
Rectangle region_of(const Request& request, const ViewedMap& map, Size size) {
  const Rectangle region{number_of(request, "x"), number_of(request, "y"), size};
  const Size whole = map.result.disparity.size();
  const bool fits = region.x >= 0 && region.y >= 0 && size.width > 0 && size.height > 0 &&
                    size.width <= std::min(max_region_side, whole.width) &&
                    size.height <= std::min(max_region_side, whole.height) &&
                    region.x <= whole.width - size.width && region.y <= whole.height - size.height;
  if (!fits) throw Error(ErrorCategory::argument, "the region does not lie within the picture");
  return region;
}

}  // namespace

const PageRoutes::Handler* PageRoutes::find(const std::string& method, const std::string& what) const {
  const bool reads = method == "GET" || method == "HEAD";
  if (!reads && method != "POST") return nullptr;
  const auto& handlers = reads ? reads_ : posts_;
  const auto handler = handlers.find(what);
  return handler == handlers.end() ? nullptr : &handler->second;
}

PageRoutes::PageRoutes(const Scene& scene) : scene_(scene) {
  posts_["settings"] = [](Page& page, const Request& request, Response& response) {
    const Json json = body_of(request);
    const int slot = slot_of(json.value("slot", "A"));
    page.set(slot, parse_settings(json));
    answer(response, Json::object());
  };
  posts_["play"] = [](Page& page, const Request& request, Response& response) {
    const Json json = body_of(request);
    std::optional<bool> playing;
    std::optional<std::size_t> frame;
    if (json.contains("playing")) playing = json.at("playing").get<bool>();
    if (json.contains("frame")) {
      if (!json.at("frame").is_number_unsigned())
        throw Error(ErrorCategory::argument, "'frame' is not a number from 0 on");
      frame = json.at("frame").get<std::size_t>();
    }
    page.play(playing, frame);
    answer(response, Json::object());
  };
  posts_["planes"] = [](Page& page, const Request& request, Response& response) {
    const Json json = body_of(request);
    page.choose_planes({.right = json.value("right", false), .truth = json.value("truth", false)});
    answer(response, Json::object());
  };
  posts_["record"] = [](Page& page, const Request& request, Response& response) {
    if (body_of(request).at("recording").get<bool>()) {
      page.record();
      answer(response, Json::object());
    } else {
      send_file(response, page.end_recording(), "disparity.avi");
    }
  };
  posts_["check"] = [this](Page& page, const Request&, Response& response) {
    const auto frame = page.frame();
    if (!frame) throw Error(ErrorCategory::argument, "there is no pair yet: wait for it");
    answer(response, check_of(scene_, *frame));
  };
  posts_["export"] = [this](Page& page, const Request& request, Response& response) {
    const auto map = page.map(slot_of(request.parameter("slot")));
    const std::string name = request.parameter("as");
    set_file_name(response, checked_export(name));
    answer(response, bytes_of(export_map(scene_, *map, name)), "application/octet-stream");
  };
  reads_["value"] = [this](Page& page, const Request& request, Response& response) {
    const auto map = page.map(slot_of(request.parameter("slot")));
    const Rectangle pixel = region_of(request, *map, {1, 1});
    answer(response, describe_pixel(scene_, *map, pixel.x, pixel.y));
  };
  reads_["curve"] = [this](Page& page, const Request& request, Response& response) {
    const auto map = page.map(slot_of(request.parameter("slot")));
    const Rectangle pixel = region_of(request, *map, {1, 1});
    answer(response, describe_curve(scene_, *map, pixel.x, pixel.y));
  };
  reads_["region"] = [this](Page& page, const Request& request, Response& response) {
    const auto map = page.map(slot_of(request.parameter("slot")));
    const Size size{number_of(request, "width"), number_of(request, "height")};
    answer(response, region_message(scene_, *map, region_of(request, *map, size)),
           "application/octet-stream");
  };
}

}  // namespace parallax::view
