// SPDX-License-Identifier: Apache-2.0
#include "tools/view/server.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <future>
#include <map>
#include <random>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/command/json.h"
#include "tools/view/assets.h"
#include "tools/view/http_server.h"
#include "tools/view/message.h"
#include "tools/view/page.h"
#include "tools/view/page_routes.h"
#include "tools/view/settings.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr int usual_port = 8730, ports_to_try = 20;
constexpr std::size_t max_pages = 8;
constexpr HttpLimits limits;
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

bool is_asset(const std::string& path) {
  const auto has_path = [&](const Asset& asset) { return asset.path == path; };
  return std::any_of(assets().begin(), assets().end(), has_path);
}

}  // namespace

class Server::Site {
 public:
  Site(Scene& scene, const ServerOptions& options)
      : scene_(scene),
        options_(options),
        token_(random_name()),
        routes_(scene),
        state_(std::async(std::launch::async, [&scene] { return tool::json_text(describe_scene(scene)); })) {
    listen();
  }

  ~Site() { stop(); }

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
    answer_errors(response, [&] {
      if (const std::optional<Refusal> refusal = refusal_of(request))
        refuse(response, refusal->status, refusal->why);
      else if (request.has_unread_body)
        refuse(response, 413, "the body is larger than " + std::to_string(limits.body_bytes / 1024) + " KiB");
      else
        route(request, response);
    });
  }

  // A path is that of a file, /state, or /pages/NAME/WHAT.
  void route(const Request& request, Response& response) {
    static const std::string pages = "/pages/";
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (reads && is_asset(request.path)) return send_asset(request.path, response);
    if (reads && request.path == "/state") return answer(response, state_.get(), "application/json");
    const std::size_t end = request.path.find('/', pages.size());
    if (request.path.starts_with(pages) && end != std::string::npos) {
      const std::string name = request.path.substr(pages.size(), end - pages.size());
      const std::string what = request.path.substr(end + 1);
      if (reads && what == "stream" && is_page_name(name)) return stream(name, response);
      if (const PageRoutes::Handler* const handler = routes_.find(request.method, what)) {
        const std::shared_ptr<Page> page = find(name);
        return page ? (*handler)(*page, request, response)
                    : refuse(response, 404, "this page is gone: reload it");
      }
    }
    refuse(response, 404, "there is nothing here");
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
    answer(response, std::move(content), std::string(asset->type));
  }

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
        return refuse(response, 503, std::to_string(max_pages) + " pages are open: close one of them");
      if (pages_.contains(name)) return refuse(response, 409, "there is a page of this name: reload it");
      page = pages_[name] = std::make_shared<Page>(scene_, Page::Worker::own_thread);
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
  PageRoutes routes_;
  // Takes a while to find, because OpenCL's drivers look for devices.
  std::shared_future<std::string> state_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<Page>> pages_;
  std::optional<std::chrono::steady_clock::time_point> last_closed_;
  bool stopped_ = false;
  HttpServer server_{limits,
                     [this](const Request& request, Response& response) { handle(request, response); }};
};

Server::Server(Scene& scene, const ServerOptions& options) : site_(std::make_unique<Site>(scene, options)) {}
Server::~Server() = default;
std::string Server::address() const {
  return site_->address();
}
bool Server::needs_token() const {
  return site_->needs_token();
}
void Server::run() {
  site_->run();
}
void Server::stop() {
  site_->stop();
}

}  // namespace parallax::view
