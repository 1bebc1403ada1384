// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matchers: plan once, run often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "parallax/device.h"
#include "parallax/image.h"
#include "parallax/parameters.h"

namespace parallax::detail {
class Plan;
}

#pragma GCC visibility push(default)
namespace parallax {

/// Returns the memory of this machine, or of the container in which this process runs, in bytes.
std::size_t whole_memory();

/// Values of tunables, which a plan may choose without changing a result, by name and as text:
/// "rows_per_thread" → "4". The plan chooses the tunables that are not named. list_tunables() in tune.h lists
/// them all.
using TunedValues = std::map<std::string, std::string>;

/// Options of a plan: how much memory it may take, which tunables it uses, and how many pairs it matches at
/// once. They never change a map. process.h has the settings of the whole process.
struct PlanOptions {
  /// Most memory that the plan may take, host and GPU together, in bytes; 0 = whole_memory() on the host and
  /// what is free on the GPU. On CUDA, `bp` takes more for pairs that need it: see Matcher::memory_bytes().
  std::size_t max_memory_bytes = 0;
  /// Overrides remembered tuning. If the method does not have a name or value on the device, or the values
  /// cannot be combined, planning fails with an Error (argument) that says what is allowed.
  TunedValues configuration = {};
  /// Pairs that the matcher may match at once on a GPU, each in memory of its own: one small pair leaves most
  /// of a large GPU idle. 1…64. Other devices match one pair at a time.
  int pairs_in_flight = 1;
  /// Whether the matcher can also write DisparityMap::right, the map of the right image. It then has memory
  /// for a mirrored pair, and takes twice the time where the map is asked for.
  bool both_maps = false;
};

/// The time that one stage of a run took.
struct StageTime {
  const char* stage;    ///< name of the stage, valid as long as the process
  double milliseconds;  ///< elapsed time
};

/// A disparity map without infinities, for code that does not expect them, such as OpenCV's: one of the two
/// views, which has the size of the left image; the other one is empty.
struct FiniteMap {
  /// 16 times the disparity, rounded to nearest, halves up, and clamped to 16 bits
  View<std::int16_t> fixed = {};
  View<float> disparity = {};  ///< the disparity in pixels
  int none = -1;               ///< disparity in pixels written where there is none; −2048…2047 in `fixed`
};

/// One algorithm with its parameters, on one device, for images of one format, with all the memory it needs.
///
///     const auto parameters = parallax::preset("bp", "default");
///     parallax::Matcher matcher(parameters, parallax::Device::parse("cpu"), {{640, 480}});
///     matcher.run({left, right}, {disparity, status});
///
/// One thread at a time calls a matcher, but for cancel(); several matchers may run at once, even on one
/// device. A moved-from matcher can only be destroyed or assigned to; any other use throws Error (argument).
class Matcher {
 public:
  /// Checks everything, then allocates everything.
  /// \throws Error (argument) for a parameter or size out of range; (device) when the device is missing or
  /// does not run this algorithm; (memory) when the plan needs more than the limit, before anything is
  /// allocated.
  Matcher(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
          const PlanOptions& options = {});
  /// Waits for the pairs that were started.
  ~Matcher();
  /// Passes the plan and its memory on.
  /// @{
  Matcher(Matcher&& other) noexcept;
  Matcher& operator=(Matcher&& other) noexcept;
  /// @}

  /// Matches one pair. Allocates nothing. Writes every pixel of `map`, which must not overlap the inputs.
  /// \throws Error (argument) when an image is not of the planned format, or a view is missing or has another
  /// size.
  void run(const StereoPair& pair, const DisparityMap& map);

  /// Begins to match one pair, and on a GPU returns while it is being matched; other devices match it at
  /// once. Waits first while PlanOptions::pairs_in_flight pairs are being matched, so pairs are done in the
  /// order in which they were started. The pair and the map must stay alive, and the map must not be read,
  /// until wait() has returned.
  /// \throws Error as run() does; also for the pair that it waited for.
  void start(const StereoPair& pair, const DisparityMap& map);

  /// Waits until at most `most_running` of the started pairs are being matched: the last ones that were
  /// started. The maps of the others are complete.
  /// \throws Error (argument) for a negative number; (device) when a match failed.
  void wait(int most_running = 0);

  /// Ends the call of this matcher that another thread has begun, with Error (cancelled): on reference and cpu
  /// within milliseconds. The pixels that it was to write are undefined; the matcher can be used again, with
  /// the same results as ever. Does nothing to a call that begins later: where the other thread may be about
  /// to begin its call, repeat this until that call has ended. What a GPU has begun it completes; there, only
  /// work that the host has yet to give it or to fetch is left out.
  void cancel() noexcept;

  /// Matches one pair in the memory of the GPU for which this matcher is planned: every pointer of `pair` and
  /// `map` is an address there. Enqueues all work on `stream`, a CUstream or cudaStream_t of that GPU's
  /// primary context (null = its default stream), and neither waits nor allocates. Up to
  /// PlanOptions::pairs_in_flight pairs on different streams are matched at once; more wait on the GPU.
  /// Until the work is done, the pair, the map and this matcher must stay alive. If the stream is capturing a
  /// graph, the work becomes part of the graph, which takes some memory, and which must not run while this
  /// matcher matches other pairs.
  /// \throws Error as run() does, and (device) when the matcher is not planned for a GPU.
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream);

  /// The same for a map without infinities. The first call compiles a kernel, or loads it.
  /// \throws Error as enqueue() does.
  void enqueue(const StereoPair& pair, const FiniteMap& map, void* stream);

  /// By how many rows run() moved the right image of the last pair, root mean square over its corners; 0
  /// where rows were as given, or aligned already (ComparedRows::automatic).
  double rows_moved() const;

  /// With ComparedRows::once, the next pair tells anew by how many rows the right image is lower.
  void forget_rows();

  /// Bytes that this matcher holds, not counting the caller's images. On CUDA, `bp` reserves memory for the
  /// labels that most pairs need; a pair of noise, say, makes it grow, where the GPU has managed memory.
  std::size_t memory_bytes() const;

  /// Whether run() and enqueue() can write DisparityMap::confidence.
  bool has_confidence() const;

  /// Whether run() and enqueue() can write DisparityMap::row_offset.
  bool has_row_offsets() const;

  /// Whether run() and start() can write DisparityMap::right: PlanOptions::both_maps. So can enqueue(), unless
  /// rows are aligned.
  bool has_both_maps() const;

  /// Memory for a result of this matcher, with row offsets where it searches rows, and with Result::right
  /// where it is planned for both maps. Every value is 0.
  Result make_result(bool with_confidence = false) const;

  /// Stages of the last run(), in order; empty before the first run(), and after start() and enqueue().
  const std::vector<StageTime>& stage_times() const;

 private:
  detail::Plan& plan() const;

  std::unique_ptr<detail::Plan> plan_;
  ImageFormat format_;
};

/// Returns what Matcher::memory_bytes() would return, without allocating. `configuration` and `both_maps` are
/// as in PlanOptions.
/// \throws Error as the constructor of Matcher does, except for memory.
std::size_t estimate_memory_bytes(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& configuration = {},
                                  bool both_maps = false);

/// Plans, matches one pair, and returns its map, with row offsets where rows are searched. To match several
/// pairs of one size, use a Matcher, which plans once.
/// \throws Error as the constructor of Matcher and Matcher::run() do.
/// @{
Result match(const StereoPair& pair, const MatcherParameters& parameters,
             const Device& device = Device::parse("auto"), const PlanOptions& options = {});
Result match(const ImageView& left, const ImageView& right, const MatcherParameters& parameters,
             const Device& device = Device::parse("auto"), const PlanOptions& options = {});
/// @}

/// A method and a device on which it runs.
struct MatcherOnDevice {
  std::string method;  ///< as the command line spells it: "block"
  DeviceKind device;   ///< its backend is part of this build
};

/// Lists every method with every device on which it runs in this build.
std::vector<MatcherOnDevice> list_matchers();

}  // namespace parallax
#pragma GCC visibility pop
