// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <regex>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tools/command/command_files.h"
#include "tools/command/output_files.h"
#include "tools/files/tiff.h"
#include "tools/jobs/tiles/results.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// With the names of processes in them: HOST-PID.
const char* const maps = R"(map\.[\w.-]+-\d+\.(pfm|tiff?))";
const char* const parts = R"(tile-\d{6,}\.tiff\.[\w.-]+-\d+\.part|\.parallax-\d+(\.json)?)";
const char* const logs = R"(log-[\w.-]+-\d+\.jsonl)";
const char* const tiles = R"(tile-\d{6,}\.tiff)";

// The files of a folder whose complete names match, or do not; none where there is no folder.
std::vector<std::string> find_files(const std::string& folder, const std::string& names, bool matching) {
  const std::regex pattern(names, std::regex::icase);
  std::error_code error;
  std::vector<std::string> files;
  if (!fs::exists(folder, error)) return files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const bool matches =
        std::regex_match(entry->path().filename().string(), pattern) && entry->is_regular_file(unknown);
    if (matches == matching) files.push_back(entry->path().string());
  }
  if (error) fail_file("read folder", folder, error.value());
  return files;
}

std::string all_names() {
  return join({maps, parts, logs, tiles, "plan\\.json"}, "|");
}

std::string description_of(const PairJob& job, const Tile& tile) {
  return "tile " + std::to_string(job.number_of(tile)) + " of plan " + job.head->fingerprint;
}

// Checksum of the bytes of rows, one after the other. Every step can be undone, so that no change
// within a row's eight bytes goes unnoticed; the shift carries changes of high bits on to low ones, where
// they do not cancel.
class Checksum {
 public:
  void add_row(const void* row, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(row);
    for (; bytes >= sizeof(std::uint64_t); from += sizeof(std::uint64_t), bytes -= sizeof(std::uint64_t))
      add(from, sizeof(std::uint64_t));
    if (bytes > 0) add(from, bytes);
  }
  std::string text() const {
    char text[32];
    std::snprintf(text, sizeof text, ", checksum %016llx", static_cast<unsigned long long>(sum_));
    return text;
  }

 private:
  void add(const std::byte* from, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    sum_ = (sum_ ^ word) * 0x9E3779B97F4A7C15u;
    sum_ ^= sum_ >> 32;
  }

  std::uint64_t sum_ = 0;
};

// The pictures of a result.
constexpr int disparities = 0, statuses = 1, row_offsets = 2;

int pictures_of(const PairJob& job) {
  return job.plan().row_offsets ? 3 : 2;
}

TiffFormat format_of(int picture, Size size) {
  return {size, 1, picture == statuses ? 8 : 32};
}

void write_picture(TiffWriter& file, int picture, const std::string& description, Size size, const void* rows,
                   std::ptrdiff_t stride_bytes) {
  const TiffFormat format = format_of(picture, size);
  Checksum checksum;
  for (int y = 0; y < size.height; ++y)
    checksum.add_row(static_cast<const std::byte*>(rows) + y * stride_bytes, format.row_bytes());
  file.begin(format, false, description + checksum.text());
  file.write_rows(rows, size.height, stride_bytes);
  file.end();
}

std::string checksum_of(TiffReader& file) {
  const TiffFormat& format = file.format();
  const std::size_t row_bytes = format.row_bytes();
  const int most = static_cast<int>(std::max<std::size_t>(1, (std::size_t{1} << 18) / row_bytes));
  std::vector<std::byte> strip(row_bytes * static_cast<std::size_t>(std::min(most, format.size.height)));
  Checksum checksum;
  for (int y = 0; y < format.size.height; y += most) {
    const int rows = std::min(most, format.size.height - y);
    file.read({0, y, {format.size.width, rows}}, strip.data(), static_cast<std::ptrdiff_t>(row_bytes));
    for (int row = 0; row < rows; ++row)
      checksum.add_row(strip.data() + static_cast<std::size_t>(row) * row_bytes, row_bytes);
  }
  return checksum.text();
}

TileState state_of_picture(const PairJob& job, const Tile& tile, int picture, bool pixels) {
  std::optional<TiffReader> file = TiffReader::open(tile_path(job, tile), picture);
  if (!file || !file->is_complete()) return TileState::damaged;
  const std::string description = file->description();
  if (description.empty()) return TileState::damaged;
  if (!description.starts_with(description_of(job, tile) + ",")) return TileState::foreign;
  if (file->format() != format_of(picture, tile.inside.size)) return TileState::damaged;
  if (!pixels) return TileState::done;
  try {
    return description == description_of(job, tile) + checksum_of(*file) ? TileState::done
                                                                         : TileState::damaged;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::file) throw;
    return TileState::damaged;
  }
}

[[noreturn]] void refuse_tile(const std::string& path, const char* why) {
  throw Error(ErrorCategory::file, path + ": " + why + ": match this tile again");
}

// A file checked earlier may since have been replaced by a process with another plan.
void read_picture_rows(const PairJob& job, const Tile& tile, int picture, const Rectangle& region, void* rows,
                       std::ptrdiff_t stride_bytes) {
  const std::string path = tile_path(job, tile);
  std::optional<TiffReader> file = TiffReader::open(path, picture);
  if (!file || file->format() != format_of(picture, tile.inside.size)) refuse_tile(path, "cannot be read");
  if (!file->description().starts_with(description_of(job, tile) + ","))
    refuse_tile(path, "belongs to another plan");
  file->read(region, rows, stride_bytes);
}

}  // namespace

TileFolderLock::TileFolderLock(const std::string& folder, Use use)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) fail_file("open folder", folder, errno);
  // Some file systems cannot lock folders: other processes go unnoticed there.
  if (::flock(folder_, (use == Use::alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  ::close(folder_);
  throw Error(ErrorCategory::file,
              folder + ": another process is matching there: wait until it ends, or give another -o", true);
}

bool TileFolderLock::take_alone() {
  // The conversion of a lock may release it for a moment.
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
  ::flock(folder_, LOCK_SH | LOCK_NB);
  return false;
}

TileFolderLock::~TileFolderLock() {
  ::close(folder_);
}

void check_nothing_foreign(const std::string& folder) {
  const std::vector<std::string> foreign = find_files(folder, all_names(), false);
  if (!foreign.empty())
    throw Error(ErrorCategory::file, foreign.front() +
                                         " does not belong in the folder of a match in tiles: move it, or "
                                         "give another -o");
}

void remove_tile_folder(const std::string& folder) {
  // The plan is removed first: leftovers without a plan do no harm.
  remove_file((fs::path(folder) / "plan.json").string());
  for (const std::string& file : find_files(folder, all_names(), true)) remove_file(file);
  // Fails, as it should, if files of the user are left.
  ::rmdir(folder.c_str());
}

void remove_leftovers(const std::string& folder) {
  for (const std::string& file : find_files(folder, join({maps, parts}, "|"), true)) remove_file(file);
}

void remove_tiles(const PairJob& job) {
  if (job.cut->untiled) return;
  for (const Tile& tile : job.plan().tiles) remove_file(tile_path(job, tile));
}

std::vector<int> list_tiles(const std::string& folder) {
  std::vector<int> numbers;
  constexpr std::size_t prefix = 5;  // "tile-"
  for (const std::string& file : find_files(folder, R"(tile-\d{6,9}\.tiff)", true))
    numbers.push_back(std::stoi(fs::path(file).filename().string().substr(prefix)));
  return numbers;
}

std::vector<std::string> list_logs(const std::string& folder) {
  return find_files(folder, logs, true);
}

std::string tile_path(const PairJob& job, const Tile& tile) {
  char name[32];
  std::snprintf(name, sizeof name, "tile-%06d.tiff", job.number_of(tile));
  return (fs::path(job.head->folder) / name).string();
}

TileState state_of(const PairJob& job, const Tile& tile, bool pixels) {
  const std::string path = tile_path(job, tile);
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (!fs::exists(status)) return TileState::missing;
  // Opening a pipe would block.
  if (!fs::is_regular_file(status)) return TileState::damaged;
  for (int picture = 0; picture < pictures_of(job); ++picture) {
    const TileState state = state_of_picture(job, tile, picture, pixels);
    if (state != TileState::done) return state;
  }
  return TileState::done;
}

void write_tile(const PairJob& job, const Tile& tile, const DisparityMap& map) {
  const std::string path = tile_path(job, tile);
  // Several processes may match the same tile: each writes its own file.
  TemporaryFile part(path + "." + process_name() + ".part");
  const std::string description = description_of(job, tile);
  TiffWriter file(part.path(), tile.inside.size.pixels() * (job.plan().row_offsets ? 9 : 5));
  const auto write = [&](int picture, const auto& view) {
    write_picture(file, picture, description, tile.inside.size, view.data, view.stride_bytes);
  };
  write(disparities, map.disparity);
  write(statuses, map.status);
  if (job.plan().row_offsets) write(row_offsets, map.row_offset);
  file.close();
  part.rename_to(path);
}

void read_tile(const PairJob& job, const Tile& tile, int first_row, const DisparityMap& rows) {
  const Rectangle region{0, first_row - tile.inside.y, rows.disparity.size};
  read_picture_rows(job, tile, disparities, region, rows.disparity.data, rows.disparity.stride_bytes);
  read_picture_rows(job, tile, statuses, region, rows.status.data, rows.status.stride_bytes);
  if (job.plan().row_offsets)
    read_picture_rows(job, tile, row_offsets, region, rows.row_offset.data, rows.row_offset.stride_bytes);
  for (int y = 0; y < rows.status.size.height; ++y)
    if (std::any_of(rows.status.row(y), rows.status.row(y) + rows.status.size.width,
                    [](std::uint8_t value) { return value >= status_count; }))
      refuse_tile(tile_path(job, tile), "is damaged");
}

}  // namespace parallax::tool
