// SPDX-License-Identifier: Apache-2.0
// Prints digests of the maps of the random cases that the conformance tests run, and of a pair with the default
// parameters: one program for each system, whose outputs must be the same.
//
//   digests [METHOD…]

#include <cstdint>
#include <cstdio>

#include "conformance/random_case.h"
#include "support.h"

namespace parallax::test {
namespace {

// FNV-1a.
class Digest {
 public:
  void add(const void* memory, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      value_ = (value_ ^ static_cast<const std::uint8_t*>(memory)[i]) * 0x100000001b3u;
  }
  template <class T>
  void add(const Plane<T>& plane) {
    for (int y = 0; y < plane.height(); ++y)
      add(plane.row(y), static_cast<std::size_t>(plane.width()) * sizeof(T));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

void print(const std::string& method, const std::string& which, const Result& map,
           const std::string& description = "") {
  Digest digest;
  digest.add(description.data(), description.size());
  digest.add(map.disparity);
  digest.add(map.status);
  digest.add(map.confidence);
  digest.add(map.row_offset);
  std::printf("%s %s %016llx\n", method.c_str(), which.c_str(),
              static_cast<unsigned long long>(digest.value()));
}

void print_case(const std::string& method, const std::string& which, const MatcherParameters& parameters,
                const RandomCase& random_case, int threads) {
  print(method, which,
        match(parameters, cpu(threads), random_case.pair(), 0xA5, random_case.with_confidence()),
        random_case.description());
}

void print_cases(const std::string& method) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    const RandomCase random_case(method, seed);
    print_case(method, std::to_string(seed), random_case.parameters(), random_case, seed % 2 == 0 ? 1 : 2);
  }
  if (method == "bp") {
    for (unsigned seed = 0; seed < 80; ++seed) {
      const RandomCase random_case(method, 10'000 + seed);
      if (random_case.pair().costs.labels == 0)
        print_case(method, "candidates " + std::to_string(seed), with_candidates(random_case, seed),
                   random_case, seed % 2 == 0 ? 1 : 2);
    }
    for (unsigned seed = 0; seed < 12; ++seed) {
      const MisalignedCase misaligned(seed);
      print(method, "misaligned " + std::to_string(seed),
            match(misaligned.parameters, cpu(2), misaligned.images.pair(), 0xA5, true),
            misaligned.description);
    }
  }
  const SynthPair pair = synthesize({.size = {283, 155}, .disparities = 40});
  MatcherParameters parameters = preset(method, "default");
  parameters.disparities() = method == "motion" ? parameters.disparities() : 40;
  print(method, "synthesized", match(parameters, cpu(2), views(pair), 0xA5, true));
}

}  // namespace
}  // namespace parallax::test

int main(int count, char** words) {
  std::vector<std::string> methods(words + 1, words + count);
  for (const std::string& method : methods.empty() ? parallax::list_methods() : methods)
    parallax::test::print_cases(method);
}
