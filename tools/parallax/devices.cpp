// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>

#include "parallax/device.h"
#include "parallax/matcher.h"

#include "tools/command/json.h"
#include "tools/command/options.h"

namespace parallax::tool {
namespace {

std::vector<std::string> methods_on(const std::string& device) {
  std::vector<std::string> methods;
  for (const MatcherOnDevice& entry : list_matchers())
    if (entry.device == Device::parse(device).kind) methods.push_back(entry.method);
  return methods;
}

}  // namespace

int devices_command(const Arguments& arguments) {
  bool json = false;
  Options options("devices", "List the devices of this machine, and the methods that run on them.");
  options.add_flag("--json", json, "Report as JSON");
  options.read(arguments);
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  for (const DeviceDescription& entry : list_devices()) {
    const std::vector<std::string> methods = methods_on(entry.device);
    report.push_back({{"device", entry.device}, {"description", entry.description}, {"methods", methods}});
    if (!json)
      std::cout << std::left << std::setw(12) << entry.device << entry.description << "  (" << join(methods)
                << ")\n";
  }
  if (json) std::cout << report.dump(2) << "\n";
  return done;
}

}  // namespace parallax::tool
