// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matching in tiles, for pairs larger than memory.
///
/// A pair is cut into tiles, each tile is matched together with its surroundings, and the map is stitched
/// from the tiles in strips of rows. A tile is matched up to the left-right check. Later steps may look
/// farther than any margin (the speckle filter, the fill), so they run over strips of full rows of the
/// stitched map.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "parallax/margins.h"
#include "parallax/matcher_pool.h"

#pragma GCC visibility push(default)
namespace parallax {

/// A part of an image, in pixels.
struct Rectangle {
  int x = 0;                                          ///< its leftmost column
  int y = 0;                                          ///< its top row
  Size size;                                          ///< columns and rows
  bool operator==(const Rectangle&) const = default;  ///< compares every member
};

/// Padding in pixels at which fewer than one pixel in 200 changes its label;
/// docs/measurements/tiles.md has the measurements.
inline constexpr int default_tile_padding = 80;

/// Returns the margins of a match, including its left-right check. For belief propagation, `padding` pixels
/// are added on every side to what its labels reach; other methods ignore it.
/// \throws Error (argument) as a Matcher does, for a padding out of range (0…1,000,000), and for parameters
/// that do not allow tiles: block matching over full rows, data costs from the caller,
/// ComparedRows::automatic, refit and reject_unseen.
Margins margins(const MatcherParameters& parameters, const ImageFormat& format,
                int padding = default_tile_padding);

/// A part of the map, and the part of both images from which it is matched.
struct Tile {
  int number = 0;    ///< from 0, row by row
  Rectangle inside;  ///< the part of the map; the insides of all tiles cover the image without overlap
  Rectangle around;  ///< the inside with its margins, within the image; of one size for all tiles of a plan
  bool operator==(const Tile&) const = default;  ///< compares every member
};

/// How plan_tiles() may cut a pair.
struct TileOptions {
  int padding = default_tile_padding;  ///< as for margins()
  /// Largest number of columns and rows of Tile::around, each 1…1,000,000; 0 = what memory allows.
  Size largest = {};
  bool row_offsets = false;  ///< tiles also report DisparityMap::row_offset; for methods that search rows
};

/// How a pair is cut into tiles, and the memory that a tile takes.
struct TilePlan {
  MatcherParameters parameters;  ///< the method of every tile
  /// The device, with 0 threads replaced by their actual number, so that a tile takes the same memory on any
  /// machine.
  Device device;
  ImageFormat format;       ///< of the whole images
  Margins margins;          ///< those of every tile; cut off at the border of the image
  std::vector<Tile> tiles;  ///< in the order of their numbers
  /// Memory to match a tile: the matcher, both images in colour, their masks, and the map of the tile with
  /// and without its margins. Does not include what stitch() needs afterwards.
  std::size_t tile_memory_bytes = 0;
  TunedValues configuration = {};  ///< PlanOptions::configuration of the matcher
  /// TileOptions::row_offsets; if true, the maps of all tiles and strips have row offsets.
  bool row_offsets = false;
};

/// Cuts a pair into the tiles that take the least total work, margins included, within
/// PlanOptions::max_memory_bytes and TileOptions::largest. A pair that fits untiled becomes one tile.
/// Allocates nothing of the size of a tile.
/// \throws Error as the constructor of Matcher and margins() do; (memory) when not even the smallest tiles
/// and one row to stitch fit, with the smallest sufficient limit in bytes; (argument) when
/// TileOptions::largest leaves no room within the margins, or options are out of range: tiles do not have
/// PlanOptions::both_maps.
TilePlan plan_tiles(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                    const PlanOptions& plan, const TileOptions& options = {});

/// Matches the tiles of a plan, one after the other.
class TileMatcher {
 public:
  /// \throws Error as the constructor of Matcher does, and (argument) for a plan whose tiles do not cover the
  /// image.
  explicit TileMatcher(const TilePlan& plan);

  /// Matches a tile. `around` has both images and their masks within tile.around. `inside` has the size of
  /// tile.inside; every pixel of it receives the result after the left-right check. There is no confidence.
  /// \throws Error (argument) as Matcher::run() does, and for a tile of another plan.
  void run(const Tile& tile, const StereoPair& around, const DisparityMap& inside);

 private:
  Matcher matcher_;
  std::vector<Tile> tiles_;
  int threads_;
  Plane<float> disparity_;
  Plane<std::uint8_t> status_;
  Plane<float> row_offset_;
};

/// Matches the tiles of a plan on several devices, each tile on whichever is free: a MatcherPool for tiles.
/// All functions may be called from any thread.
class TilePool {
 public:
  /// The devices replace that of the plan. On each, a tile may take the memory that the plan allows, or, if
  /// that is 0, all that is free.
  /// \throws Error as TileMatcher and the constructor of MatcherPool do.
  TilePool(const TilePlan& plan, const std::vector<Device>& devices);
  ~TilePool();                                    ///< as that of MatcherPool
  TilePool(const TilePool&) = delete;             ///< a pool cannot be copied
  TilePool& operator=(const TilePool&) = delete;  ///< a pool cannot be copied

  /// Queues a tile, given as for TileMatcher::run(), and returns a number for it, counted from 0. Blocks
  /// while as many tiles wait as there are devices. Images and map must stay alive until the tile has been
  /// waited for.
  /// \throws Error (argument) as TileMatcher::run() does.
  std::uint64_t submit(const Tile& tile, const StereoPair& around, const DisparityMap& inside);
  /// As MatcherPool::wait().
  MatchedPair wait(std::uint64_t number);
  /// As MatcherPool::wait_any().
  std::optional<MatchedPair> wait_any();

  /// As MatcherPool::lost_devices().
  std::vector<LostDevice> lost_devices() const;
  /// Tiles that may be matched at once.
  int matchers() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Callbacks with which stitch() reads its input and writes its result. While a strip is refined and written,
/// read_tile() is called for the next one, possibly from another thread.
struct Strips {
  /// Fills `rows` with the rows of the tile's map from `first_row` on, counted in the image; they lie within
  /// Tile::inside. Each row of a tile is requested once, from the first to the last.
  std::function<void(const Tile& tile, int first_row, const DisparityMap& rows)> read_tile;
  /// Returns `rows` rows of the left image from `first_row` on. The view must stay valid until the next call.
  /// Called only if a step is guided by the left image; the rows overlap those of the previous call.
  std::function<ImageView(int first_row, int rows)> read_left;
  /// Takes finished full rows from `first_row` on, in order from the first to the last of the image. Rows
  /// that read_tile() still has to read lie below them.
  std::function<void(int first_row, const DisparityMap& rows)> write_rows;
};

/// The rows above and below a strip of full rows of the stitched map that the steps after the left-right
/// check read.
struct Halo {
  int rows = 0;       ///< above the strip and below it, as far as the image goes
  int alignment = 1;  ///< a strip with its halo begins at a multiple of this many rows of the image
};

/// Returns the halo of the steps after the left-right check.
/// \throws Error (argument) for parameters out of range, and for refit and reject_unseen, which are not
/// available in tiles.
Halo halo(const MatcherParameters& parameters);

/// Runs the steps after the left-right check over a strip with its halo, in place, for callers that
/// distribute strips themselves; stitch() does this strip by strip. The strip's own rows become those of the
/// untiled map, row offsets included where the strip has them; the rows of the halo do not. `left` has the
/// same rows of the left image, and is read only if a step is guided by it.
/// \throws Error (argument) as halo() does, for views of other sizes, and for a strip with more pixels than
/// the speckle filter supports.
void refine_strip(const MatcherParameters& parameters, const ImageView& left, const DisparityMap& strip,
                  int threads = 0);

/// Returns the bytes that refine_strip() allocates for a strip of this size, its halo included.
/// \throws Error (argument) as refine_strip() does.
std::size_t refine_strip_memory_bytes(const MatcherParameters& parameters, Size strip);

/// Returns the bytes that stitch() needs for strips of `rows` finished rows; if a step is guided by the left
/// image, they include its rows in colour.
/// \throws Error (argument) when `rows` is out of range (1…1,000,000), a strip has more pixels than the
/// speckle filter supports, or the plan's parameters include refit or reject_unseen.
std::size_t stitch_memory_bytes(const TilePlan& plan, int rows);

/// Returns the largest number of rows, up to the height of the image, for which stitch_memory_bytes() is at
/// most `bytes`; 0 if even one row needs more.
int max_rows_to_stitch(const TilePlan& plan, std::size_t bytes);

/// Stitches the map from the maps of the tiles and runs the steps after the left-right check over it, strip
/// by strip, each with the surrounding rows that these steps look at. Strips of any height give the same
/// bytes.
/// \throws Error (argument) as stitch_memory_bytes() does, and for a plan whose tiles do not cover the image.
void stitch(const TilePlan& plan, int rows, const Strips& strips);

/// Progress callback: tiles done, and their number. An exception that it throws ends the match.
using TileProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Matches and stitches all tiles of a pair, when the pair and the map fit into memory but an untiled matcher
/// does not. The memory besides the pair and the map stays within the limits of the plan. Tiles are views of
/// the pair, not copies.
/// \throws Error as TileMatcher and stitch() do, and (argument) for a pair or a map of another size.
void match_in_tiles(const TilePlan& plan, const StereoPair& pair, const DisparityMap& map,
                    const TileProgress& progress = nullptr);
/// The same with a TilePool: on several devices, which replace that of the plan, each tile on whichever is
/// free.
/// \throws Error as the first one and as the constructor of MatcherPool do.
void match_in_tiles(const TilePlan& plan, const std::vector<Device>& devices, const StereoPair& pair,
                    const DisparityMap& map, const TileProgress& progress = nullptr);

}  // namespace parallax
#pragma GCC visibility pop
