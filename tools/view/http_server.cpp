// SPDX-License-Identifier: Apache-2.0
#include "tools/view/http_server.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace parallax::view {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Whether the socket is ready within a time; also if it is broken. Not once `stopped` is readable.
bool is_ready(int socket, short events, milliseconds patience, int stopped = -1) {
  const auto end = Clock::now() + patience;
  while (true) {
    const auto rest = std::chrono::ceil<milliseconds>(end - Clock::now());
    std::array<pollfd, 2> waiting{{{socket, events, 0}, {stopped, POLLIN, 0}}};
    const int count = ::poll(waiting.data(), waiting.size(),
                             static_cast<int>(std::max<milliseconds::rep>(rest.count(), 0)));
    if (count >= 0 || errno != EINTR) return count > 0 && waiting[1].revents == 0;
  }
}

// The bytes of a connection, for one request after the other.
class Connection {
 public:
  Connection(int socket, const HttpLimits& limits) : socket_(socket), limits_(limits) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    ::shutdown(socket_, SHUT_RDWR);
    ::close(socket_);
  }

  bool waits_for_request(int stopped) const {
    return !unread_.empty() || is_ready(socket_, POLLIN, limits_.idle_time, stopped);
  }

  // The lines of a request before its body, or nothing if they do not come in time.
  std::optional<std::string> read_head() {
    deadline_ = Clock::now() + limits_.request_time;
    std::size_t end = 0;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
      if (unread_.size() > limits_.header_bytes || !receive()) return std::nullopt;
    if (end > limits_.header_bytes) return std::nullopt;
    std::string head = unread_.substr(0, end + 2);
    unread_.erase(0, end + 4);
    return head;
  }

  std::optional<std::string> read_body(std::size_t bytes) {
    while (unread_.size() < bytes)
      if (!receive()) return std::nullopt;
    std::string body = unread_.substr(0, bytes);
    unread_.erase(0, bytes);
    return body;
  }

  // Reads what a client still sends: closing at once could take the answer from it.
  void ignore_rest() {
    ::shutdown(socket_, SHUT_WR);
    const auto end = Clock::now() + milliseconds(200);
    deadline_ = end;
    while (Clock::now() < end && receive()) unread_.clear();
  }

  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      if (!is_ready(socket_, POLLOUT, limits_.write_time) || is_closed_by_peer()) return false;
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return true;
  }

 private:
  bool receive() {
    const auto rest = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
    if (rest <= milliseconds(0) || !is_ready(socket_, POLLIN, std::min(rest, limits_.read_time)))
      return false;
    std::array<char, 4096> bytes;
    ssize_t count = 0;
    do count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  bool is_closed_by_peer() const {
    char byte = 0;
    const ssize_t count = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  int socket_;
  const HttpLimits& limits_;
  Clock::time_point deadline_;
  std::string unread_;
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// What comes before `mark`, which is taken off `rest`, too.
std::string_view take_until(std::string_view& rest, std::string_view mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(std::min(end + mark.size(), rest.size()));
  return first;
}

// "%20" is a space, as '+' is after the '?'.
std::string decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  while (!text.empty()) {
    unsigned value = 0;
    if (text.front() == '%' && text.size() >= 3 &&
        std::from_chars(text.data() + 1, text.data() + 3, value, 16).ptr == text.data() + 3) {
      result += static_cast<char>(value);
      text.remove_prefix(3);
    } else {
      result += plus_is_space && text.front() == '+' ? ' ' : text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}

// Whether the lines are a request of HTTP/1.
bool parse_head(std::string_view head, Request& request) {
  std::string_view line = take_until(head, "\r\n");
  request.method = take_until(line, " ");
  std::string_view target = take_until(line, " ");
  if (request.method.empty() || !target.starts_with("/") || !line.starts_with("HTTP/1.")) return false;
  request.path = decoded(take_until(target, "?"), false);
  while (!target.empty()) {
    std::string_view parameter = take_until(target, "&");
    const std::string name = decoded(take_until(parameter, "="), true);
    request.parameters[name] = decoded(parameter, true);
  }
  while (!head.empty()) {
    line = take_until(head, "\r\n");
    const std::string name = lower_case(take_until(line, ":"));
    // Two lengths could mean two bodies.
    if (name.empty() || !request.headers.emplace(name, trimmed(line)).second) {
      if (name.empty() || name == "content-length" || name == "host") return false;
    }
  }
  return true;
}

// Reads what `request` has after its headers. Returns whether it came.
bool read_body(Connection& connection, std::size_t max_bytes, Request& request) {
  const std::string length = request.header("content-length");
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  const bool is_number = error == std::errc() && end == length.data() + length.size();
  if (!length.empty() && !is_number && error != std::errc::result_out_of_range) return false;
  if (request.headers.contains("transfer-encoding") || bytes > max_bytes || (!length.empty() && !is_number)) {
    request.has_unread_body = true;
    return true;
  }
  std::optional<std::string> body = connection.read_body(bytes);
  if (body) request.body = std::move(*body);
  return body.has_value();
}

std::string reason_of(int status) {
  static const std::map<int, std::string> reasons = {{200, "OK"},
                                                     {400, "Bad Request"},
                                                     {403, "Forbidden"},
                                                     {404, "Not Found"},
                                                     {409, "Conflict"},
                                                     {411, "Length Required"},
                                                     {413, "Content Too Large"},
                                                     {421, "Misdirected Request"},
                                                     {500, "Internal Server Error"},
                                                     {503, "Service Unavailable"}};
  const auto found = reasons.find(status);
  return found == reasons.end() ? "Status" : found->second;
}

std::string head_of(const Response& response, bool is_last) {
  std::string head =
      "HTTP/1.1 " + std::to_string(response.status) + " " + reason_of(response.status) + "\r\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    head += name + ": " + value + "\r\n";
  };
  for (const auto& [name, value] : response.headers) add(name, value);
  add("Content-Type", response.type);
  if (!response.next_piece)
    add("Content-Length", std::to_string(response.content.size()));
  else if (response.bytes)
    add("Content-Length", std::to_string(*response.bytes));
  else
    add("Transfer-Encoding", "chunked");
  add("Connection", is_last ? "close" : "keep-alive");
  return head + "\r\n";
}

bool write_chunk(const Connection& connection, const std::string& piece) {
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
  return connection.write(size.data()) && connection.write(piece) && connection.write("\r\n");
}

bool write_pieces(const Connection& connection, const Response& response) {
  std::uint64_t written = 0;
  while (const std::shared_ptr<const std::string> piece = response.next_piece()) {
    if (!(response.bytes ? connection.write(*piece) : write_chunk(connection, *piece))) return false;
    written += piece->size();
  }
  return response.bytes ? written == *response.bytes : write_chunk(connection, "");
}

bool write(const Connection& connection, const Response& response, bool has_content, bool is_last) {
  const std::string head = head_of(response, is_last);
  if (!has_content) return connection.write(head);
  if (!response.next_piece) return connection.write(head + response.content);
  return connection.write(head) && write_pieces(connection, response);
}

}  // namespace

HttpServer::HttpServer(const HttpLimits& limits, Handler handler)
    : limits_(limits), handler_(std::move(handler)), stopped_(::eventfd(0, EFD_CLOEXEC)) {
  if (stopped_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

HttpServer::~HttpServer() {
  if (listening_ >= 0) ::close(listening_);
  ::close(stopped_);
}

std::optional<int> HttpServer::bind(const std::string& host, int port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int tried = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    if (tried < 0) continue;
    const int yes = 1;
    ::setsockopt(tried, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_storage own{};
    socklen_t bytes = sizeof own;
    if (::bind(tried, address->ai_addr, address->ai_addrlen) == 0 && ::listen(tried, SOMAXCONN) == 0 &&
        ::getsockname(tried, reinterpret_cast<sockaddr*>(&own), &bytes) == 0) {
      listening_ = tried;
      return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(own).sin_port);
    }
    ::close(tried);
  }
  return std::nullopt;
}

void HttpServer::run() {
  ConnectionThreads threads(limits_.connections);
  while (true) {
    std::array<pollfd, 2> waiting{{{listening_, POLLIN, 0}, {stopped_, POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      // Too many files are open, until a connection ends.
      if (errno != EINTR && errno != ECONNABORTED) std::this_thread::sleep_for(milliseconds(10));
      continue;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    threads.enqueue([this, socket] { serve(socket); });
  }
}

void HttpServer::stop() {
  const std::uint64_t one = 1;
  while (::write(stopped_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void HttpServer::serve(int socket) const {
  Connection connection(socket, limits_);
  bool is_last = false;
  while (!is_last && connection.waits_for_request(stopped_)) {
    const std::optional<std::string> head = connection.read_head();
    if (!head) return;
    Request request;
    Response response;
    if (!parse_head(*head, request) || !read_body(connection, limits_.body_bytes, request)) {
      response.status = 400;
      write(connection, response, true, true);
      return;
    }
    is_last = request.has_unread_body || lower_case(request.header("connection")) == "close" ||
              head->substr(0, head->find("\r\n")).ends_with("HTTP/1.0");
    try {
      handler_(request, response);
      if (!write(connection, response, request.method != "HEAD", is_last)) return;
      if (request.has_unread_body) connection.ignore_rest();
    } catch (const std::exception&) {
      return;
    }
  }
}

void ConnectionThreads::enqueue(std::function<void()> connection) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(connection));
  if (idle_ < waiting_.size() && threads_.size() < max_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The others must do.
      if (threads_.empty()) throw;
    }
  }
  arrival_.notify_one();
}

ConnectionThreads::~ConnectionThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  arrival_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ConnectionThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    arrival_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> connection = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    connection();
    lock.lock();
  }
}

}  // namespace parallax::view
