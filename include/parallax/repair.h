// SPDX-License-Identifier: Apache-2.0
/// \file
/// Repairs the rig of two cameras that moved since their calibration, from pictures of any scene; and
/// estimates one where there is none.
///
/// The right camera's rotation, the direction of the baseline, the ratio of the focal lengths and the row of
/// the right principal point follow from points that both cameras saw: rows of the rectified pair have to
/// agree. docs/explanation/rows.md has the equations and what can be observed.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallax/check.h"
#include "parallax/image.h"
#include "parallax/rectify.h"
#include "parallax/rig.h"

#pragma GCC visibility push(default)
namespace parallax {

/// A point that both cameras saw.
struct PointPair {
  Position left = {};   ///< in the left camera's picture, before rectification
  Position right = {};  ///< in the right camera's
  /// Standard deviation of the difference of its rows, in pixels of the left camera.
  double uncertainty = 0.05;
};

/// What may have changed, and what to accept.
///
/// The first six say how far the rig may be off: standard deviations before any point is seen. They matter
/// little for what the points hold. What the points do not hold stays at the rig's value, and counts as
/// uncertain by this much. 0 = it has not changed.
struct RepairParameters {
  double rotation = 3;        ///< of the right camera about each of its axes, in degrees, 0 to 45
  double direction = 3;       ///< of the baseline, down and forward, in degrees, 0 to 45
  double focal_ratio = 0.02;  ///< of the right focal length over the left one, as a share, 0 to 0.5
  double principal_row = 1;   ///< of the right principal point, in pixels, 0 to 10000
  double distortion = 0;      ///< of the right lens's k1, 0 to 1
  double decentring = 0;      ///< of the right lens's p1, 0 to 1; not used for equidistant lenses

  /// The largest standard deviation of rows, anywhere in the picture and at any depth that it may show, with
  /// which a repair is accepted, in pixels, 0.001 to 100.
  double max_uncertainty = 0.2;
  /// Keeps the left picture as it is and moves only the right one, for pairs that are nearly rectified. The
  /// baseline stays parallel to the rows, and `direction` is not used. The left camera must be a pinhole.
  bool keep_left = false;
  /// How points are found, and, as max_rows_off, the rows off that are accepted without being an improvement.
  CheckParameters check = {};

  /// For a guessed_rig() of pictures of this size: everything may be off by more.
  static RepairParameters uncalibrated(Size size);

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

/// What became of a repair.
enum class RepairVerdict {
  repaired,   ///< the rows line up now
  unmatched,  ///< no points were found; the sentence says why
  too_few,    ///< fewer than 20 points
  not_held,  ///< the points do not determine the rows: all far, all in one plane, or in a part of the picture
  not_better,  ///< rows do not line up with any pair of such cameras
};

/// The name of a verdict, as spelled above.
const char* name(RepairVerdict verdict);

/// A quantity that a repair changes.
struct RepairedValue {
  double change = 0;       ///< by how much; 0 if it was kept
  double uncertainty = 0;  ///< its standard deviation, in the same unit
  bool held = false;       ///< whether the points say more of it than RepairParameters did
};

/// Frames from one on do not agree with those before.
struct Drift {
  int frame = 0;    ///< the first of them; frames count from 0, in the order in which they were added
  double rows = 0;  ///< by how much rows moved where they moved most, in pixels
};

/// The result of repair_rig().
struct RigRepair {
  RepairVerdict verdict = RepairVerdict::unmatched;  ///< what became of it
  std::string sentence;                              ///< the verdict for people
  /// The repaired rig; the given one if the repair was refused. The length of the baseline is as it was.
  Rig rig;

  std::array<RepairedValue, 3>
      rotation;                 ///< of the right camera about its axes right, down and forward, in degrees
  RepairedValue down;           ///< of the baseline, in degrees: the right camera stands lower
  RepairedValue forward;        ///< of the baseline, in degrees: the right camera stands farther forward
  RepairedValue focal_ratio;    ///< right focal lengths are multiplied by 1 + this
  RepairedValue principal_row;  ///< of the right principal point, in pixels
  RepairedValue distortion;     ///< of the right lens's k1
  RepairedValue decentring;     ///< of the right lens's p1

  int frames = 0;  ///< that it rests on
  int points = 0;  ///< that it rests on, of all frames
  double rows_before =
      0;  ///< rows off at 95 % of the last frame's well located points by the given rig, in pixels
  double rows_after = 0;      ///< the same by the repaired one
  double uncertainty = 0;     ///< the largest standard deviation of rows over picture and depth, in pixels
  int converged = -1;         ///< the first frame from which on rows moved by 0.1 px at most; −1 = none
  std::vector<Drift> drifts;  ///< where the cameras moved; the rig is that of the frames after the last

  /// Whether `rig` is to be used.
  bool repaired() const { return verdict == RepairVerdict::repaired; }
};

/// What a frame did to a repair.
struct FrameRepair {
  std::string refused;  ///< why the frame was not used; empty = it was
  int points = 0;       ///< found in the frame
  double rows_off = 0;  ///< at 95 % of its well located points, by the rig as it was known before, in pixels
  double moved =
      0;  ///< how far the frame moved the rows of the repaired pair where it moved them most, in pixels
  double uncertainty = 0;  ///< RigRepair::uncertainty after this frame
  /// Whether the frame alone agrees with the frames before. One that does not is left out, until three in a
  /// row agree with each other.
  bool agrees = true;
  double disagreement = 0;  ///< in rows, where it is largest, in pixels; 0 if it agrees
};

/// Repairs a rig from one frame after another.
///
///     parallax::RigRepairer repairer(rig);
///     while (read(left, right)) repairer.add({left, right});
///     const parallax::RigRepair repair = repairer.result();
///
/// One thread at a time calls it. The result does not depend on the number of threads.
class RigRepairer {
 public:
  /// \throws Error (argument) as RepairParameters::validate(), validate(rig) and rectify(rig) do
  explicit RigRepairer(const Rig& rig, const RepairParameters& parameters = {});
  ~RigRepairer();
  /// Passes all that is known on.
  /// @{
  RigRepairer(RigRepairer&& other) noexcept;
  RigRepairer& operator=(RigRepairer&& other) noexcept;
  /// @}

  /// Adds a frame: pictures as the cameras took them. Masks and costs are ignored.
  /// \throws Error (argument) for pictures that have not the sizes of the cameras, or not one depth
  FrameRepair add(const StereoPair& pictures);
  /// Adds points that the caller found. Points that do not agree with most are left out.
  FrameRepair add(std::span<const PointPair> points);

  /// What is known so far.
  RigRepair result() const;
  /// Whether the last frame moved rows by 0.1 px at most, and the uncertainty is accepted.
  bool has_converged() const;

 private:
  class Estimator;
  std::unique_ptr<Estimator> estimator_;
};

/// The same for a single frame.
/// @{
RigRepair repair_rig(const Rig& rig, const StereoPair& pictures, const RepairParameters& parameters = {});
RigRepair repair_rig(const Rig& rig, std::span<const PointPair> points,
                     const RepairParameters& parameters = {});
/// @}

/// Two pinhole cameras side by side, for pictures of unknown cameras: parallel, at the distance 1, with the
/// principal points in the middle. Repaired with RepairParameters::uncalibrated(), it aligns the rows; depth
/// has no scale, and is bent by as much as the focal length is off. \p focal in pixels; 0 = a guess, 1.2
/// times the longer side.
/// \throws Error (argument) for a size or focal length out of range.
Rig guessed_rig(Size size, double focal = 0);

/// What a Rectifier needs to move the right picture only.
struct KeptLeft {
  Rig rig;                      ///< the given one
  Rectification rectification;  ///< the left picture is copied, rows of the right one move
};

/// For a rig that was repaired with RepairParameters::keep_left.
/// \throws Error (argument) for a left camera that is not a pinhole of equal focal lengths, or a baseline
/// that is not parallel to the left picture's rows.
KeptLeft keep_left(const Rig& rig);

}  // namespace parallax
#pragma GCC visibility pop
