// SPDX-License-Identifier: Apache-2.0
// Plans and runs one match, and prints the result: for tests that need a new process, because a process looks
// for the driver only once.
//
//   plan_once DEVICE
#include <iostream>
#include <string>

#include "devices/gpu_test.h"

namespace {

using namespace parallax;
using namespace parallax::test;

const char* name_of(ErrorCategory category) {
  constexpr const char* names[] = {"argument", "file", "device", "memory", "internal"};
  return names[static_cast<int>(category)];
}

std::string match_once(const Device& device) {
  const SynthPair pair = small_pair();
  const BlockParameters parameters = small_block();
  const test::Result expected = match(parameters, reference, views_with_masks(pair));
  return same_bytes(match(parameters, device, views_with_masks(pair)), expected)
             ? "the bytes of the reference"
             : "other bytes";
}

}  // namespace

int main(int, char** arguments) {
  const cuda::Gpus gpus = cuda::find_gpus();
  std::cout << "devices: " << (list_devices().empty() ? "none" : "listed") << "\nGPUs: " << gpus.list.size()
            << " " << gpus.none_because << "\n";
  std::string result;
  try {
    result = match_once(Device::parse(arguments[1]));
  } catch (const Error& error) {
    result = std::string(name_of(error.category())) + ": " + error.what();
  }
  std::cout << "match: " << result << "\n";
  if (test::emulated() != nullptr) std::cout << "compilations: " << test::emulated()->compilations() << "\n";
}
