// SPDX-License-Identifier: Apache-2.0
// The request of 'parallax view'.
#pragma once

#include "tools/command/command.h"
#include "tools/view/server.h"

namespace parallax::view {

struct ViewRequest {
  SceneRequest scene;
  ServerOptions server;
  bool no_open = false;  // print the address only
};

// \throws UsageError, HelpRequest, Error (argument)
ViewRequest parse_view(const tool::Arguments& arguments);

}  // namespace parallax::view
