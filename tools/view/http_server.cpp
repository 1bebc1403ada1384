// SPDX-License-Identifier: Apache-2.0
#include "tools/view/http_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <system_error>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace parallax::view {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t max_header_bytes = 1 << 16;

// Whether the socket is ready within a time; also if it is broken.
bool is_ready(socket_t socket, short events, milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (true) {
    const auto rest = std::chrono::ceil<milliseconds>(end - Clock::now());
    pollfd waiting{socket, events, 0};
    const int count = ::poll(&waiting, 1, static_cast<int>(std::max<milliseconds::rep>(rest.count(), 0)));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

// The bytes of a connection, for one request after the other.
class Connection : public httplib::Stream {
 public:
  Connection(socket_t socket, milliseconds read_patience, milliseconds write_patience)
      : socket_(socket), read_patience_(read_patience), write_patience_(write_patience) {}

  bool has_bytes(milliseconds patience) const {
    return position_ < end_ || is_ready(socket_, POLLIN, patience);
  }
  // A request begins, which has to be read until then.
  void begin(Clock::time_point deadline, std::uint64_t max_header_bytes) {
    deadline_ = deadline;
    max_bytes_ = max_header_bytes;
    bytes_read_ = 0;
  }
  // Its headers were read.
  void begin_body() {
    max_bytes_ = std::numeric_limits<std::uint64_t>::max();
    bytes_read_ = 0;
  }
  std::uint64_t bytes_of_body() const { return bytes_read_; }

  bool is_readable() const override {
    const auto rest = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
    return rest > milliseconds(0) && has_bytes(std::min(rest, read_patience_));
  }

  bool is_writable() const override {
    return is_ready(socket_, POLLOUT, write_patience_) && !is_closed_by_peer();
  }

  ssize_t read(char* bytes, size_t most) override {
    if (bytes_read_ >= max_bytes_ || !is_readable()) return -1;
    if (position_ == end_) {
      const ssize_t count = receive();
      if (count <= 0) return count;
      position_ = 0;
      end_ = static_cast<std::size_t>(count);
    }
    const std::size_t count = std::min({most, end_ - position_, max_bytes_ - bytes_read_});
    std::copy_n(buffer_.data() + position_, count, bytes);
    position_ += count;
    bytes_read_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, size_t count) override {
    if (!is_writable()) return -1;
    ssize_t written = 0;
    do written = ::send(socket_, bytes, count, MSG_NOSIGNAL);
    while (written < 0 && errno == EINTR);
    return written;
  }

  // Nobody asks for addresses.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  ssize_t receive() {
    ssize_t count = 0;
    do count = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    while (count < 0 && errno == EINTR);
    return count;
  }

  bool is_closed_by_peer() const {
    char byte = 0;
    const ssize_t count = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  socket_t socket_;
  milliseconds read_patience_, write_patience_;
  Clock::time_point deadline_;
  std::array<char, 4096> buffer_{};
  std::size_t position_ = 0, end_ = 0;
  std::uint64_t bytes_read_ = 0, max_bytes_ = 0;
};

// Reads what is left of a body. Returns whether it came.
bool skip(Connection& connection, std::uint64_t bytes) {
  std::array<char, 1024> ignored{};
  while (bytes > 0) {
    const ssize_t count = connection.read(ignored.data(), std::min<std::uint64_t>(bytes, ignored.size()));
    if (count <= 0) return false;
    bytes -= static_cast<std::uint64_t>(count);
  }
  return true;
}

milliseconds patience_of(time_t seconds, time_t microseconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(seconds) +
                                                  std::chrono::microseconds(microseconds));
}

}  // namespace

bool HttpServer::process_and_close_socket(socket_t socket) {
  Connection connection(socket, patience_of(read_timeout_sec_, read_timeout_usec_),
                        patience_of(write_timeout_sec_, write_timeout_usec_));
  bool is_open = true;
  for (std::size_t rest = keep_alive_max_count_; is_open && rest > 0 && svr_sock_ != INVALID_SOCKET; --rest) {
    if (!connection.has_bytes(std::chrono::seconds(keep_alive_timeout_sec_))) break;
    connection.begin(Clock::now() + patience_, max_header_bytes);
    std::uint64_t body_bytes = 0;
    bool knows_length = true, is_last = false;
    const auto look_at_headers = [&](httplib::Request& request) {
      connection.begin_body();
      knows_length = !request.has_header("Transfer-Encoding");
      body_bytes = std::strtoull(request.get_header_value("Content-Length").c_str(), nullptr, 10);
      request.ranges.clear();
      // A small body could be large once it is decompressed.
      request.headers.erase("Content-Encoding");
    };
    // Since cpp-httplib 0.16 the caller knows the addresses.
    const auto process = [&](auto& server) {
      if constexpr (requires { server.process_request(connection, rest == 1, is_last, look_at_headers); })
        return server.process_request(connection, rest == 1, is_last, look_at_headers);
      else
        return server.process_request(connection, "", 0, "", 0, rest == 1, is_last, look_at_headers);
    };
    is_open = process(*this);
    const std::uint64_t rest_of_body = body_bytes - std::min(body_bytes, connection.bytes_of_body());
    is_open = is_open && !is_last && knows_length && rest_of_body <= payload_max_length_ &&
              skip(connection, rest_of_body);
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return is_open;
}

ConnectionThreads::Enqueued ConnectionThreads::enqueue(std::function<void()> connection) {
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
  return Enqueued(true);
}

void ConnectionThreads::shutdown() {
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
