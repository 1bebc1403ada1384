// SPDX-License-Identifier: Apache-2.0
#include "tools/view/server.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <future>
#include <map>
#include <random>
#include <span>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parallax/check.h"
#include "parallax/cost_curve.h"

#include "tools/command/json.h"
#include "tools/match/check_report.h"
#include "tools/view/assets.h"
#include "tools/view/export.h"
#include "tools/view/http_server.h"
#include "tools/view/message.h"
#include "tools/view/page.h"
#include "tools/view/planes.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr int usual_port = 8730, ports_to_try = 20;
constexpr std::size_t max_pages = 8;
constexpr HttpLimits limits;
constexpr int max_region_side = 1024;
constexpr auto alive_interval = 2s, patience_for_reload = 2s;

// A status other than 200, and why.
struct Refusal {
  int status;
  std::string why;
};

std::string random_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(random()));
    name += digits;
  }
  return name;
}

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "::1" || host == "localhost";
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

// \throws Error (device) unless it names this machine
void check_host(const std::string& host) {
  const std::string advice = ": give --host an address of this machine, or leave it out";
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  const int failure = host.empty() ? EAI_NONAME : ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (failure != 0)
    throw Error(ErrorCategory::device,
                "cannot listen at '" + host + "' (" + ::gai_strerror(failure) + ")" + advice);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  int reason = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int tried = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    const bool is_own = tried >= 0 && ::bind(tried, address->ai_addr, address->ai_addrlen) == 0;
    reason = errno;
    if (tried >= 0) ::close(tried);
    if (is_own) return;
  }
  throw Error(ErrorCategory::device,
              "cannot listen at " + host + " (" + std::strerror(reason) + ")" + advice);
}

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

bool is_asset(const std::string& path) {
  const auto has_path = [&](const Asset& asset) { return asset.path == path; };
  return std::any_of(assets().begin(), assets().end(), has_path);
}

void send(Response& response, std::string content, const std::string& type) {
  response.content = std::move(content);
  response.type = type;
}

void answer(Response& response, const std::string& json) {
  send(response, json, "application/json");
}
void answer(Response& response, const Json& json) {
  answer(response, tool::json_text(json));
}

void refuse(Response& response, const Refusal& refusal) {
  answer(response, {{"error", refusal.why}});
  response.status = refusal.status;
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

Json check_of(const ViewedFrame& frame) {
  const PairReport report = check_pair({frame.pictures.left.view(), frame.pictures.right.view()});
  Json json = tool::check_json(report, nullptr), points = Json::array();
  for (const CheckedPoint& point : report.points)
    points.push_back({point.left_x, point.left_y, point.rows_off()});
  json["points"] = points;
  return json;
}

}  // namespace

class Server::Routes {
 public:
  Routes(Scene& scene, const ServerOptions& options)
      : scene_(scene),
        options_(options),
        token_(random_name()),
        state_(std::async(std::launch::async, [&scene] { return tool::json_text(describe_scene(scene)); })) {
    add_routes();
    listen();
  }

  ~Routes() { stop(); }

  std::string address() const {
    const std::string page = "http://" + bracketed(options_.host) + ":" + std::to_string(port_) + "/";
    return needs_token() ? page + "?token=" + token_ : page;
  }
  bool needs_token() const { return !is_loopback(options_.host); }

  void run() {
    std::thread janitor([this] { sweep(); });
    server_.run();
    stop();
    janitor.join();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      for (auto& [name, page] : pages_) page->close();
    }
    wake_.notify_all();
    server_.stop();
  }

 private:
  void handle(const Request& request, Response& response) {
    response.headers = {{"Content-Security-Policy",
                         // Notebooks on this machine show the page in a frame.
                         "default-src 'self'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cross-Origin-Resource-Policy", "same-origin"},
                        {"Cache-Control", "no-store"}};
    try {
      if (const std::optional<Refusal> refusal = refusal_of(request))
        refuse(response, *refusal);
      else if (request.has_unread_body)
        refuse(response,
               {413, "the body is larger than " + std::to_string(limits.body_bytes / 1024) + " KiB"});
      else
        route(request, response);
    } catch (const Error& error) {
      refuse(response, {400, error.what()});
    } catch (const Json::exception&) {
      refuse(response, {400, "a value in the body has another type than expected"});
    } catch (const std::exception& error) {
      refuse(response, {500, error.what()});
    }
  }

  // A path is that of a file, /state, or /pages/NAME/WHAT.
  void route(const Request& request, Response& response) {
    static const std::string pages = "/pages/";
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (reads && is_asset(request.path)) return send_asset(request.path, response);
    if (reads && request.path == "/state") return answer(response, state_.get());
    const std::size_t end = request.path.find('/', pages.size());
    if (request.path.starts_with(pages) && end != std::string::npos) {
      const std::string name = request.path.substr(pages.size(), end - pages.size());
      const std::string what = request.path.substr(end + 1);
      if (reads && what == "stream" && is_page_name(name)) return stream(name, response);
      const auto& handlers = reads ? reads_ : posts_;
      const auto handler = handlers.find(what);
      if ((reads || request.method == "POST") && handler != handlers.end()) {
        const std::shared_ptr<Page> page = find(name);
        return page ? handler->second(*page, request, response)
                    : refuse(response, {404, "this page is gone: reload it"});
      }
    }
    refuse(response, {404, "there is nothing here"});
  }

  static bool is_page_name(const std::string& name) {
    return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
  }

  void listen() {
    check_host(options_.host);
    const auto bind = [&](int port) { return server_.bind(options_.host, port).has_value(); };
    if (options_.port > 0) {
      port_ = options_.port;
      if (!bind(port_))
        throw Error(ErrorCategory::device, "cannot listen at " + options_.host + ", port " +
                                               std::to_string(port_) + ": choose another --port");
      return;
    }
    for (port_ = usual_port; port_ < usual_port + ports_to_try; ++port_)
      if (bind(port_)) return;
    throw Error(ErrorCategory::device, "cannot listen at " + options_.host + ", ports " +
                                           std::to_string(usual_port) + " to " + std::to_string(port_ - 1) +
                                           ": give --port or --host");
  }

  // A page of another site may send requests here: its browser says so in Origin, and a name that it had
  // resolved to this machine is in Host.
  std::optional<Refusal> refusal_of(const Request& request) const {
    const std::string host = request.header("host");
    if (!is_own_host(host)) return Refusal{421, "this server has another name"};
    // Without a length, a body could be endless.
    const bool has_no_body = request.method == "GET" || request.method == "HEAD";
    if (request.headers.contains("transfer-encoding") ||
        !(has_no_body || request.headers.contains("content-length")))
      return Refusal{411, "the length of the body is missing"};
    const std::string origin = request.header("origin");
    if (!origin.empty() && origin != "http://" + host)
      return Refusal{403, "requests from other sites are refused"};
    const bool is_own = request.header("x-parallax-token") == token_;
    if (is_own) return std::nullopt;
    const bool is_file = request.method == "GET" && is_asset(request.path);
    if (!is_file) return Refusal{403, "the token is missing: reload the page"};
    // The page has the token, so elsewhere than on this machine it takes one to get it.
    if (request.path == "/" && !is_loopback(options_.host) && request.parameter("token") != token_)
      return Refusal{403, "the token is missing: use the address that 'parallax view' printed"};
    return std::nullopt;
  }

  bool is_own_host(const std::string& host) const {
    const std::string port = ":" + std::to_string(port_);
    if (host == bracketed(options_.host) + port) return true;
    if (is_loopback(options_.host))
      return host == "127.0.0.1" + port || host == "localhost" + port || host == "[::1]" + port;
    // It listens at all addresses; the token protects it.
    return (options_.host == "0.0.0.0" || options_.host == "::") && host.ends_with(port);
  }

  void send_asset(const std::string& path, Response& response) const {
    const auto asset = std::ranges::find(assets(), path, &Asset::path);
    std::string content(asset->content);
    const std::string mark = "TOKEN";
    if (const auto at = content.find(mark); path == "/" && at != std::string::npos)
      content.replace(at, mark.size(), token_);
    send(response, std::move(content), std::string(asset->type));
  }

  void add_routes() {
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
      if (json.contains("frame")) frame = json.at("frame").get<std::size_t>();
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
    posts_["check"] = [](Page& page, const Request&, Response& response) {
      const auto frame = page.frame();
      if (!frame) throw Error(ErrorCategory::argument, "there is no pair yet: wait for it");
      answer(response, check_of(*frame));
    };
    posts_["export"] = [this](Page& page, const Request& request, Response& response) {
      const auto map = page.map(slot_of(request.parameter("slot")));
      const std::string name = request.parameter("as");
      set_file_name(response, checked_export(name));
      send(response, bytes_of(export_map(scene_, *map, name)), "application/octet-stream");
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
      send(response, region_message(scene_, *map, region_of(request, *map, size)),
           "application/octet-stream");
    };
  }

  // The part of the picture from x, y on.
  // \throws Error (argument) unless it lies within
  static Rectangle region_of(const Request& request, const ViewedMap& map, Size size) {
    const Rectangle region{number_of(request, "x"), number_of(request, "y"), size};
    const Size whole = map.result.disparity.size();
    const bool fits = region.x >= 0 && region.y >= 0 && size.width > 0 && size.height > 0 &&
                      size.width <= std::min(max_region_side, whole.width) &&
                      size.height <= std::min(max_region_side, whole.height) &&
                      region.x <= whole.width - size.width && region.y <= whole.height - size.height;
    if (!fits) throw Error(ErrorCategory::argument, "the region does not lie within the picture");
    return region;
  }

  using PageHandler = std::function<void(Page&, const Request&, Response&)>;

  std::shared_ptr<Page> find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = pages_.find(name);
    return found == pages_.end() ? nullptr : found->second;
  }

  // The page lives as long as its stream. It names itself, so that it can ask for its pictures at once.
  void stream(const std::string& name, Response& response) {
    std::shared_ptr<Page> page;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_ || pages_.size() >= max_pages)
        return refuse(response, {503, std::to_string(max_pages) + " pages are open: close one of them"});
      if (pages_.contains(name)) return refuse(response, {409, "there is a page of this name: reload it"});
      page = pages_[name] = std::make_shared<Page>(scene_);
    }
    response.type = "application/octet-stream";
    const std::shared_ptr<void> visit(nullptr, [this, name](void*) { remove(name); });
    response.next_piece = [page, visit]() -> std::shared_ptr<const std::string> {
      static const auto alive = std::make_shared<const std::string>(Message(Json{{"kind", "alive"}}).bytes());
      auto message = page->next_message(alive_interval);
      if (page->is_closed()) return nullptr;
      return message ? message : alive;
    };
  }

  void remove(const std::string& name) {
    std::shared_ptr<Page> page;
    {
      const std::lock_guard lock(mutex_);
      const auto found = pages_.find(name);
      if (found == pages_.end()) return;
      page = found->second;
      pages_.erase(found);
      last_closed_ = std::chrono::steady_clock::now();
    }
    page->close();
    wake_.notify_all();
  }

  // Ends a server for one visit.
  void sweep() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      wake_.wait_for(lock, 500ms);
      const bool has_visited = options_.once && pages_.empty() && last_closed_;
      if (has_visited && std::chrono::steady_clock::now() - *last_closed_ > patience_for_reload) {
        lock.unlock();
        server_.stop();
        lock.lock();
      }
    }
  }

  Scene& scene_;
  ServerOptions options_;
  std::string token_;
  // Takes a while to find, because OpenCL's drivers look for devices.
  std::shared_future<std::string> state_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<Page>> pages_;
  std::optional<std::chrono::steady_clock::time_point> last_closed_;
  bool stopped_ = false;
  // What is done with a page by GET and by POST.
  std::map<std::string, PageHandler> reads_, posts_;
  HttpServer server_{limits,
                     [this](const Request& request, Response& response) { handle(request, response); }};
};

Server::Server(Scene& scene, const ServerOptions& options)
    : routes_(std::make_unique<Routes>(scene, options)) {}
Server::~Server() = default;
std::string Server::address() const {
  return routes_->address();
}
bool Server::needs_token() const {
  return routes_->needs_token();
}
void Server::run() {
  routes_->run();
}
void Server::stop() {
  routes_->stop();
}

}  // namespace parallax::view
