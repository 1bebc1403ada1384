// SPDX-License-Identifier: Apache-2.0
// A job of many pairs and how each of them is cut into tiles, stored in a file. Any process, on any machine,
// can read it and match tiles of it, or merge them.
//
// The file is one of JSON lines: a head, the ways in which pairs are cut, and the pairs. Only the lines that
// are needed are parsed. Tiles are numbered over all pairs; a pair that fits is one tile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallax/tiles.h"

#include "tools/command/method_options.h"
#include "tools/files/frames.h"

namespace parallax::tool {

// A picture or mask, with what tells whether it has changed.
struct PlannedFile {
  std::string path;  // empty = none
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  // nanoseconds
  std::string hash;           // hash of the content; empty = not taken: the time must be the same
};

// Size and time, and the hash if it is wanted.
// \throws Error (file)
PlannedFile describe_file(const std::string& path, bool with_hash);
// A file of the same size and time is trusted, unless `verify`; otherwise its content counts.
// \throws Error (file) naming the file that has changed, and `plan`
void check_unchanged(const PlannedFile& file, const std::string& plan, bool verify);

// How pairs of one size and range are matched.
struct PairCut {
  // In one piece, written at once; otherwise tile by tile, and merged.
  bool untiled = false;
  TilePlan plan;                  // plan of an untiled pair: one tile, without margins
  int at_once = 1;                // pictures that are held at once: some are read while others are matched
  std::size_t held_bytes = 0;     // memory of open pictures
  std::size_t process_bytes = 0;  // memory of a process that matches such tiles, program included

  int tiles() const { return untiled ? 1 : static_cast<int>(plan.tiles.size()); }
};

// Left and right picture, left and right mask.
using PlannedFiles = std::array<PlannedFile, 4>;

struct PlannedPair {
  std::size_t cut = 0;  // index of its cut
  PlannedFiles files;
  std::string output;
};

// A pair that is to be matched in tiles, or what many pairs share.
struct TiledPair {
  Input input;
  Search search;
  std::string output;
  TileOptions tiles = {};

  std::array<std::string, 4> pictures() const {
    return {input.left, input.right, input.left_mask, input.right_mask};
  }
};

struct Job {
  // Common to all pairs; their ranges of disparities are those of their cuts.
  Search search;
  PictureOptions pictures;
  TileOptions tiling;
  int threads = 1;     // threads of the cpu device, as planned for
  std::string folder;  // folder of the results: a name beside the file of the job; "." = its own folder
  std::vector<PairCut> cuts;
  std::vector<PlannedPair> pairs;

  std::size_t process_bytes() const;
  std::size_t tiles() const;
};

// Paths below the folder of the file are stored relative to it.
// \throws Error (file)
void write_job(const Job& job, const std::string& path);

// Paths below each first folder are below the second on this machine.
using PathMaps = std::vector<std::pair<std::string, std::string>>;
// Parses texts "FROM=TO".
// \throws UsageError
PathMaps parse_path_maps(const std::vector<std::string>& texts);

struct JobHead {
  std::string path;  // path of the file
  Search search;
  PictureOptions pictures;
  TileOptions tiling;
  int threads = 1;
  std::string folder;       // folder of the results, on this machine
  std::string fingerprint;  // marks results as belonging to this job
  std::size_t process_bytes = 0;
  int pairs = 0, tiles = 0;
};

struct PairJob {
  std::shared_ptr<const JobHead> head;
  std::shared_ptr<const PairCut> cut;
  int number = 0;
  int first_tile = 0;
  PlannedFiles files;  // with paths on this machine
  std::string output;

  const TilePlan& plan() const { return cut->plan; }
  const PictureOptions& options() const { return head->pictures; }
  int tiles() const { return cut->tiles(); }
  int number_of(const Tile& tile) const { return first_tile + tile.number; }
  void check_inputs(bool verify) const;
  // Paths may have become the same file.
  // \throws UsageError if the output is an input
  void check_names() const;
};

class JobFile {
 public:
  // \throws Error (file) if this is not a plan or is damaged
  explicit JobFile(const std::string& path, PathMaps maps = {});

  const JobHead& head() const { return *head_; }
  // \throws Error (file)
  PairJob pair(int number) const;
  // The pair that has a tile.
  // \throws Error (file)
  int pair_of(int tile) const;

 private:
  std::string_view line(std::size_t number) const;
  void read_head(const std::string& path);
  int first_tile(int pair) const;
  std::shared_ptr<const PairCut> cut(std::size_t number) const;
  std::string place(const std::string& stored) const;
  template <class Function>
  auto parse(std::size_t line, const Function& function) const;

  PathMaps maps_;
  std::string path_, base_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> begins_;  // where lines begin, and the end
  std::shared_ptr<const JobHead> head_;
  mutable std::vector<std::shared_ptr<const PairCut>> cuts_;
};

// For a job of one pair.
// \throws Error (file) naming the difference if a settled pair is another one
void check_same_job(const JobFile& file, const TiledPair& pair, const ImageFormat& format);

}  // namespace parallax::tool
