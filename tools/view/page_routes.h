// SPDX-License-Identifier: Apache-2.0
// What a page may ask, and how it is answered: README.md has the protocol.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tools/view/page.h"
#include "tools/view/request.h"

namespace parallax::view {

class PageRoutes {
 public:
  using Handler = std::function<void(Page&, const Request&, Response&)>;

  explicit PageRoutes(const Scene& scene);

  // The handler of a request, of which `what` follows the page's name in the path; null if there is none.
  // It throws errors.
  const Handler* find(const std::string& method, const std::string& what) const;

 private:
  const Scene& scene_;
  std::map<std::string, Handler> reads_, posts_;
};

}  // namespace parallax::view
