// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pairs larger than memory: a pair is cut into tiles, each is matched with what lies around it, and the map
/// is put together from them, strip of rows by strip of rows.
///
/// Tiles carry the match up to the left-right check. Steps after it that look farther than any margin (a
/// speckle, a fill along the row) run over strips of whole rows of the map that the tiles make up.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "parallax/margins.h"
#include "parallax/matcher.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Part of an image.
struct Rectangle {
  int x = 0, y = 0;
  Size size;
  bool operator==(const Rectangle&) const = default;
};

/// Padding at which fewer than one pixel in 200 changes its label: docs/partition.md has the measurements.
inline constexpr int default_tile_padding = 80;

/// The margins of a match, its left-right check included. `padding`: of belief propagation, pixels on every
/// side on top of what its labels reach; of no meaning to other methods.
/// \throws Error (argument) as a Matcher does, for a padding out of range (0…1,000,000), and where the
/// parameters have no tiles: block matching over full rows, and data costs of the caller's
Margins margins(const MatcherParameters& parameters, const ImageFormat& format,
                int padding = default_tile_padding);

/// A part of the map, and the part of both images that it is matched from.
struct Tile {
  int number = 0;    ///< from 0, row by row
  Rectangle inside;  ///< what it decides; the tiles' insides cover the image, and do not overlap
  Rectangle around;  ///< with its margins, within the image; of one size for all tiles of a plan
  bool operator==(const Tile&) const = default;
};

struct TileOptions {
  int padding = default_tile_padding;
  /// Most columns and rows of Tile::around, each 1…1,000,000; 0 = what memory allows.
  Size largest = {};
};

/// How a pair is cut, and what that takes.
struct TilePlan {
  MatcherParameters parameters;
  /// With the number of its threads, where 0 was asked for: a tile takes as much memory on any machine.
  Device device;
  ImageFormat format;  ///< of the whole images
  Margins margins;
  std::vector<Tile> tiles;
  /// What matching a tile holds: the matcher, both images in colour, their masks, and the map of the tile,
  /// with its margins and without. Not what stitch() holds afterwards.
  std::size_t tile_memory_bytes = 0;
  TunedValues configuration = {};  ///< of the matcher, as of PlanLimits
};

/// Cuts a pair into the tiles that take the least work in all, margins included, within the limits and
/// TileOptions::largest. Whatever fits whole is one tile. Allocates nothing of the size of a tile.
/// \throws Error as the constructor of Matcher does, and as margins(); (memory) when not even the smallest
/// tiles and one row to stitch fit: it says the least limit that would do, in bytes. (argument) when
/// TileOptions::largest leaves no room within the margins, or options are out of range
TilePlan plan_tiles(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                    const PlanLimits& limits, const TileOptions& options = {});

/// Matches the tiles of a plan, one after the other.
class TileMatcher {
 public:
  /// \throws Error as the constructor of Matcher does, and (argument) for a plan whose tiles do not make up
  /// the image
  explicit TileMatcher(const TilePlan& plan);

  /// `around`: both images, and their masks, within tile.around; `inside`: of the size of tile.inside, every
  /// pixel is written. It is the match after its left-right check; there is no confidence.
  /// \throws Error (argument) as Matcher::run() does, and for a tile of another plan
  void run(const Tile& tile, const StereoPair& around, const DisparityMap& inside);

 private:
  Matcher matcher_;
  std::vector<Tile> tiles_;
  int threads_;
  Plane<float> disparity_;
  Plane<std::uint8_t> status_;
};

/// Where strips come from and go to. While a strip is refined and written, read_tile() is called for the next
/// one, perhaps from another thread.
struct Strips {
  /// Fills `rows` with those of the tile's map that begin at `first_row`, counted in the whole image; they
  /// lie within the tile. Each row is asked for once, from the first to the last of the tile.
  std::function<void(const Tile& tile, int first_row, const DisparityMap& rows)> read_tile;
  /// The left image's rows from `first_row` on. The view is good until the next call. Called only where a
  /// step is guided by the left image, for rows that overlap those of the call before.
  std::function<ImageView(int first_row, int rows)> read_left;
  /// Takes the finished rows from `first_row` on: whole rows, from the first to the last of the image, in
  /// order. What read_tile() is still to be asked for lies below them.
  std::function<void(int first_row, const DisparityMap& rows)> write_rows;
};

/// What stitch() holds for strips of so many finished rows; where a step is guided by the left image, its
/// rows, in colour, too.
/// \throws Error (argument) when `rows` is out of range (1…1,000,000), or a strip has more pixels than the
/// speckle filter takes
std::size_t stitch_memory_bytes(const TilePlan& plan, int rows);

/// The highest strips for which stitch_memory_bytes() is within a limit, as many rows as the image has at
/// most; 0 where not even single rows are.
int most_rows_to_stitch(const TilePlan& plan, std::size_t bytes);

/// Puts the map together from the tiles' maps, and runs the steps after the left-right check over it: strip
/// by strip, each with the rows around that these steps look at. Strips of any height give the same bytes.
/// \throws Error (argument) as stitch_memory_bytes() does, and for a plan whose tiles do not make up the
/// image
void stitch(const TilePlan& plan, int rows, const Strips& strips);

/// All of it, for a pair and a map that fit into memory, and a matcher that does not: what it holds besides
/// them stays within the limits that the plan was made for. Of the pair, tiles are views.
/// \throws Error as TileMatcher and stitch() do, and (argument) for a pair or a map of another size
void match_in_tiles(const TilePlan& plan, const StereoPair& pair, const DisparityMap& map);

}  // namespace parallax
#pragma GCC visibility pop
