// SPDX-License-Identifier: Apache-2.0
// Behaviour of the HTTP server for connections that no browser would make.
#include "tools/view/http_server.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace parallax::view {
namespace {

using namespace std::chrono_literals;

class HttpServerTest : public testing::Test {
 protected:
  void start(std::chrono::milliseconds patience) {
    HttpLimits limits;
    limits.request_time = patience;
    limits.idle_time = 60s;
    limits.body_bytes = 1000;
    server_ = std::make_unique<HttpServer>(limits, [](const Request& request, Response& response) {
      response.status = request.path == "/refused" || request.has_unread_body ? 403 : 200;
      if (response.status == 200) response.content = "<" + request.path + " " + request.body + ">";
    });
    port_ = server_->bind("127.0.0.1", 0).value();
    thread_ = std::thread([this] { server_->run(); });
  }
  void TearDown() override {
    server_->stop();
    thread_.join();
  }

  int connect() const {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return connection;
  }
  static bool send(int connection, const std::string& bytes) {
    return ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // All answers until the server closes the connection, or until this text came.
  static std::string answers(int connection, const std::string& last = "") {
    std::string text;
    char bytes[4096];
    while (last.empty() || text.find(last) == std::string::npos) {
      const ssize_t count = ::recv(connection, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
    }
    ::close(connection);
    return text;
  }
  static std::string request(const std::string& line, const std::string& headers = "",
                             const std::string& body = "") {
    return line + " HTTP/1.1\r\nHost: here\r\n" + headers + "\r\n" + body;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
  std::thread thread_;
};

// Each byte arrives long before the time limit of a read, which is seconds; only the whole request takes too
// long.
TEST_F(HttpServerTest, ARequestThatTrickles) {
  start(50ms);
  for (const std::string& begin :
       {std::string("GET /a HTTP/1.1\r\nX-Long: "), request("POST /a", "Content-Length: 1000\r\n")}) {
    const int connection = connect();
    int bytes = 0;
    ASSERT_TRUE(send(connection, begin));
    while (bytes < 900 && send(connection, "x")) {
      ++bytes;
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_LT(bytes, 900) << begin;
    EXPECT_FALSE(has(answers(connection), "200 OK")) << begin;
  }
}

TEST_F(HttpServerTest, RequestsMayFollowEachOtherWithoutWaiting) {
  start(60s);
  const int connection = connect();
  ASSERT_TRUE(send(connection, request("GET /one") + request("POST /two", "Content-Length: 3\r\n", "abc") +
                                   request("GET /three")));
  const std::string text = answers(connection, "</three >");
  EXPECT_TRUE(has(text, "</one >") && has(text, "</two abc>") && has(text, "</three >")) << text;
}

TEST_F(HttpServerTest, ABodyThatNobodyReadIsNoRequest) {
  start(60s);
  const std::string hidden = request("GET /hidden");
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
  for (const char* line : {"POST /refused", "GET /refused", "GET /seen", "DELETE /seen", "OPTIONS /seen"}) {
    const int connection = connect();
    ASSERT_TRUE(send(connection, request(line, length, hidden) + request("GET /last")));
    const std::string text = answers(connection, "</last >");
    EXPECT_TRUE(has(text, "</last >")) << line << text;
    EXPECT_FALSE(has(text, "</hidden >")) << line << text;
  }
  const int connection = connect();
  ASSERT_TRUE(send(connection, request("GET /refused", "Transfer-Encoding: chunked\r\n", hidden)));
  EXPECT_FALSE(has(answers(connection), "</hidden >"));
}

TEST_F(HttpServerTest, HeadersWithoutEnd) {
  start(60s);
  const int connection = connect();
  ASSERT_TRUE(send(connection, "GET /a HTTP/1.1\r\n"));
  int lines = 0;
  while (lines < 100'000 && send(connection, "X-Header: 0123456789012345678901234567890123456789\r\n"))
    ++lines;
  EXPECT_LT(lines, 100'000);
  ::close(connection);
}

TEST_F(HttpServerTest, ABodyWithTwoLengthsIsRefused) {
  start(60s);
  for (const std::string headers : {"Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3x\r\n"}) {
    const int connection = connect();
    ASSERT_TRUE(send(connection, request("POST /two", headers, "abcd")));
    EXPECT_TRUE(answers(connection).starts_with("HTTP/1.1 400 ")) << headers;
  }
}

TEST_F(HttpServerTest, PathsAndParametersAreDecoded) {
  start(60s);
  const int connection = connect();
  ASSERT_TRUE(send(connection, request("GET /a%20b+%zz?c=d")));
  EXPECT_TRUE(has(answers(connection, "%zz >"), "</a b+%zz >"));
}

TEST_F(HttpServerTest, RangesAreIgnored) {
  start(60s);
  for (const char* range : {"0-0", "0-0,1-1,2-2", "-1", "5-"}) {
    const int connection = connect();
    ASSERT_TRUE(send(connection, request("GET /whole", "Range: bytes=" + std::string(range) + "\r\n")));
    EXPECT_TRUE(has(answers(connection, "</whole >"), "200 OK")) << range;
  }
}

}  // namespace
}  // namespace parallax::view
