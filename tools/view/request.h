// SPDX-License-Identifier: Apache-2.0
// What a page asks and what it is answered, whatever carries it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace parallax::view {

struct Request {
  std::string method, path, body;
  std::map<std::string, std::string> headers;     // names in lower case
  std::map<std::string, std::string> parameters;  // those after the '?'
  // The body is larger than the limit, or has no length, and was not read.
  bool has_unread_body = false;

  // Empty if it is missing.
  std::string header(const std::string& name) const;
  std::string parameter(const std::string& name) const;
};

struct Response {
  int status = 200;
  std::string type = "text/plain";
  std::map<std::string, std::string> headers;
  std::string content;
  // Instead of `content`, if set: the next piece, or null after the last. Destroyed, too, when the connection
  // breaks.
  std::function<std::shared_ptr<const std::string>()> next_piece;
  // All pieces together, if that is known.
  std::optional<std::uint64_t> bytes;
};

void answer(Response& response, std::string content, const std::string& type);
// An answer other than 200, and why.
void refuse(Response& response, int status, const std::string& why);

// Runs `body`, which answers; its errors become answers.
void answer_errors(Response& response, const std::function<void()>& body);

}  // namespace parallax::view
