// SPDX-License-Identifier: Apache-2.0
#include "tools/view/request.h"

#include "parallax/error.h"

#include "tools/command/json.h"

namespace parallax::view {

std::string Request::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string Request::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

void answer(Response& response, std::string content, const std::string& type) {
  response.content = std::move(content);
  response.type = type;
}

void refuse(Response& response, int status, const std::string& why) {
  answer(response, tool::json_text({{"error", why}}), "application/json");
  response.status = status;
}

void answer_errors(Response& response, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    refuse(response, 400, error.what());
  } catch (const nlohmann::json::exception&) {
    refuse(response, 400, "a value in the body has another type than expected");
  } catch (const std::exception& error) {
    refuse(response, 500, error.what());
  }
}

}  // namespace parallax::view
