// SPDX-License-Identifier: Apache-2.0
#include "tools/match/several_devices.h"

#include "tools/command/command.h"

namespace parallax::tool {

std::string text(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.text());
  return join(names);
}

void LostDeviceNotice::tell(const std::vector<LostDevice>& lost) {
  for (; told_ < lost.size(); ++told_) {
    show_progress("");
    complain(lost[told_].device.text() +
             " is no longer used, its pairs go to the other devices: " + lost[told_].reason);
  }
}

}  // namespace parallax::tool
