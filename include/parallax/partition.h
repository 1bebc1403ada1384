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

#include "parallax/matcher.h"

namespace parallax {

/// Part of an image.
struct Rectangle {
  int x = 0, y = 0;
  Size size;
  bool operator==(const Rectangle&) const = default;
};

/// How far around itself, in pixels of both images, a tile has to be matched.
struct Margins {
  int left = 0, right = 0, top = 0, bottom = 0;
  /// Tiles begin at multiples of this many columns and rows: there, pyramids of a part are parts of the
  /// pyramid.
  int alignment = 1;
  /// A tile with these margins is that part of the untiled map, byte for byte. Belief propagation is never
  /// exact: what is far away has an influence, which falls with the padding.
  bool exact = true;
};

/// Padding at which fewer than one pixel in 200 changes its label: docs/partition.md has the measurements.
inline constexpr int default_tile_padding = 40;

/// The margins of a match, its left-right check included. `padding`: of belief propagation, pixels on every
/// side on top of what its labels reach; of no meaning to other methods.
/// \throws Error (argument) as a Matcher does, and for a negative padding
Margins margins(const MatcherParameters& parameters, const ImageFormat& format,
                int padding = default_tile_padding);

/// A part of the map, and the part of both images that it is matched from.
struct Tile {
  int number = 0;    ///< from 0, row by row
  Rectangle inside;  ///< what it decides; the tiles' insides cover the image, and do not overlap
  Rectangle around;  ///< with its margins, within the image; of one size for all tiles of a plan
};

struct TileOptions {
  int padding = default_tile_padding;
  /// Most columns and rows of Tile::around; 0 = what memory allows.
  Size largest = {};
};

/// How a pair is cut, and what that takes.
struct TilePlan {
  MatcherParameters parameters;
  Device device;
  ImageFormat format;  ///< of the whole images
  Margins margins;
  std::vector<Tile> tiles;
  /// What matching a tile holds: the matcher, both images in colour, their masks, and the map of the tile.
  std::size_t tile_memory_bytes = 0;
};

/// Cuts a pair into as few tiles as the limits allow, or into tiles of TileOptions::largest. Whatever fits
/// whole is one tile.
/// \throws Error as the constructor of Matcher does; (memory) when not even the smallest tile fits: it says
/// the least limit that would do. (argument) where the parameters have no tiles: block matching over full
/// rows, and data costs of the caller's.
TilePlan plan_tiles(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                    const PlanLimits& limits, const TileOptions& options = {});

/// Matches the tiles of a plan, one after the other.
class TileMatcher {
 public:
  /// \throws Error as the constructor of Matcher does
  explicit TileMatcher(const TilePlan& plan);

  /// `around`: both images, and their masks, within tile.around; `inside`: of the size of tile.inside, every
  /// pixel is written.
  /// \throws Error (argument) as Matcher::run() does
  void run(const Tile& tile, const StereoPair& around, const DisparityMap& inside);

 private:
  Matcher matcher_;
  Plane<float> disparity_;
  Plane<std::uint8_t> status_;
};

/// Where strips come from and go to.
struct Strips {
  /// Fills `rows` with those of the tile's map that begin at `first_row`, counted in the whole image; they
  /// lie within the tile.
  std::function<void(const Tile& tile, int first_row, const DisparityMap& rows)> read_tile;
  /// The left image's rows from `first_row` on. The view is good until the next call. Called only where a
  /// step is guided by the left image.
  std::function<ImageView(int first_row, int rows)> read_left;
  /// Takes the finished rows from `first_row` on: whole rows, from the first to the last of the image, in
  /// order.
  std::function<void(int first_row, const DisparityMap& rows)> write_rows;
};

/// What stitch() holds for strips of so many finished rows.
/// \throws Error (argument) when `rows` is below 1
std::size_t stitch_memory_bytes(const TilePlan& plan, int rows);

/// Puts the map together from the tiles' maps, and runs the steps after the left-right check over it: strip
/// by strip, each with the rows around that these steps look at.
void stitch(const TilePlan& plan, int rows, const Strips& strips);

/// All of it, for a pair and a map that fit into memory, and a matcher that does not: `max_memory_bytes` of
/// the plan hold for it.
void match_in_tiles(const TilePlan& plan, const StereoPair& pair, const DisparityMap& map);

}  // namespace parallax
