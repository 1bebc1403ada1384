// SPDX-License-Identifier: Apache-2.0
// Results do not depend on the floating-point environment of the caller.

#include "core/floating_point.h"

#include <cfenv>
#include <functional>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "support.h"

namespace parallax::test {
namespace {

constexpr Size size{48, 30};

template <class T>
void append(std::string& bytes, const Plane<T>& plane) {
  for (int y = 0; y < plane.height(); ++y)
    bytes.append(reinterpret_cast<const char*>(plane.row(y)),
                 static_cast<std::size_t>(plane.width()) * sizeof(T));
}

// Turns on the steps that compute fractions.
template <class Parameters>
Parameters refined(Parameters parameters) {
  parameters.disparities = 12;
  parameters.sub_pixel = SubPixel::parabola;
  parameters.refine.median = 0;
  parameters.refine.bilateral = 5;
  return parameters;
}

std::vector<MatcherParameters> methods() {
  BeliefPropagationParameters floats = refined(preset<BeliefPropagationParameters>("default"));
  floats.arithmetic = Arithmetic::float32;
  BeliefPropagationParameters halves = floats;
  halves.arithmetic = Arithmetic::float16;
  halves.smoothing = 0.7f;
  halves.levels = 2;
  CensusParameters census;
  census.refine.bilateral = 5;
  return {refined(preset<BlockParameters>("default")),
          refined(preset<BeliefPropagationParameters>("default")),
          floats,
          halves,
          refined(preset<TiledBeliefPropagationParameters>("default")),
          census};
}

class FloatingPointTest : public ::testing::Test {
 protected:
  std::string match_bytes(const Device& device) const {
    std::string bytes;
    for (const MatcherParameters& parameters : methods()) {
      Result result(size);
      Matcher(parameters, device, {size}).run({pair_.left_view(), pair_.right_view()}, result.map());
      append(bytes, result.disparity);
      append(bytes, result.status);
    }
    return bytes;
  }

  const SynthPair pair_ = synth(Scene::planes, size, 12);
};

// Sets a floating-point environment until the end of its scope.
class Environment {
 public:
  explicit Environment(const std::function<void()>& set) {
    std::fegetenv(&before_);
    set();
  }
  ~Environment() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

std::vector<std::function<void()>> environments() {
  std::vector<std::function<void()>> all;
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    all.push_back([rounding] { std::fesetround(rounding); });
#if defined(__x86_64__)
  // Denormal inputs and results become 0.
  all.push_back([] { _mm_setcsr(_mm_getcsr() | 0x8040); });
#endif
#if defined(__GLIBC__)
  all.push_back([] { ::feenableexcept(FE_ALL_EXCEPT); });
#endif
  return all;
}

TEST_F(FloatingPointTest, CallersEnvironmentChangesNoMap) {
  for (const Device& device : {reference, cpu(1), cpu(2)}) {
    const std::string expected = match_bytes(device);
    for (const auto& set : environments()) {
      std::string found;
      {
        const Environment environment(set);
        found = match_bytes(device);
      }
      EXPECT_TRUE(found == expected) << device.text() << ", " << device.threads << " threads";
    }
  }
}

TEST_F(FloatingPointTest, CallersEnvironmentChangesNoSyntheticPair) {
  for (const auto& set : environments()) {
    SynthPair found;
    {
      const Environment environment(set);
      found = synth(Scene::planes, size, 12);
    }
    EXPECT_TRUE(same_bytes(found.left, pair_.left));
    EXPECT_TRUE(same_bytes(found.right, pair_.right));
    EXPECT_TRUE(same_bytes(found.left_truth, pair_.left_truth));
    EXPECT_TRUE(same_bytes(found.right_truth, pair_.right_truth));
    EXPECT_TRUE(same_bytes(found.left_mask, pair_.left_mask));
  }
}

TEST_F(FloatingPointTest, CallerHasItsEnvironmentBack) {
  const Environment environment([] { std::fesetround(FE_UPWARD); });
  std::feclearexcept(FE_ALL_EXCEPT);
  match_bytes(cpu(2));
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::feraiseexcept(FE_INVALID);
  synth(Scene::planes, size, 12);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_INVALID);
}

}  // namespace
}  // namespace parallax::test
