// SPDX-License-Identifier: Apache-2.0
// Disparity maps in shared memory of this machine, for other programs: docs/reference/shared_maps.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "parallax/geometry.h"
#include "parallax/image.h"

namespace parallax::tool {

// The beginning of the memory; numbers are in the machine's order of bytes.
struct SharedHeader {
  char kind[8];           // "PXMAPS" and two zero bytes
  std::uint32_t version;  // 1
  std::uint32_t slots;    // maps that the memory holds, which are written in turn
  std::uint32_t width, height;
  std::uint64_t first_slot, slot_bytes;  // where the first slot begins, and bytes from one to the next
  std::uint64_t maps;                    // that were written; the newest is in slot (maps − 1) mod slots
  std::uint32_t has_ended;               // 1 once no more follow
  std::int32_t process;                  // that writes
  double focal, baseline, centre_x, centre_y, doffs;  // in pixels, the baseline in metres; 0 = not known
};

// The beginning of a slot. Disparities follow, then statuses, row by row without gaps.
struct SharedSlot {
  std::uint64_t sequence;  // odd while the slot is being written
  std::uint64_t number;    // number of the pair, from 0: pairs that were dropped leave gaps
  std::int64_t arrival;    // time of the pair, in nanoseconds since 1970
  std::int64_t written;    // when the map was complete
  double skew;             // seconds by which the right picture is later than the left one
  std::uint64_t unused[3];
};
static_assert(sizeof(SharedHeader) == 96 && sizeof(SharedSlot) == 64);

// A map, and what its slot says of it.
struct SharedMap {
  SharedSlot about;
  Result result;
};

class SharedMaps {
 public:
  // Makes memory of this name for maps of this size. That of a process that is gone is replaced.
  // \throws UsageError for a name with a slash, Error (file) where the name is in use
  SharedMaps(const std::string& name, Size size, const Calibration* calibration);
  // Opens the memory of another process.
  // \throws UsageError, Error (file)
  explicit SharedMaps(const std::string& name);
  SharedMaps(const SharedMaps&) = delete;
  SharedMaps& operator=(const SharedMaps&) = delete;
  // The one that made it says that it has ended, and removes the name.
  ~SharedMaps();

  // `about` without its sequence.
  void write(const SharedSlot& about, const Result& result);

  const SharedHeader& header() const { return *header_; }
  Size size() const { return {static_cast<int>(header_->width), static_cast<int>(header_->height)}; }
  // Number of maps that were written so far.
  std::uint64_t count() const;
  // Whether no more follow: the writer says so, or is gone. Ask before count(): it may write once more.
  bool has_ended() const;
  // The newest map; empty before the first one.
  std::optional<SharedMap> newest() const;

 private:
  // A file descriptor, which is closed in the end.
  class File {
   public:
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { reset(-1); }
    int get() const { return number_; }
    void reset(int number);

   private:
    int number_ = -1;
  };

  std::byte* slot(std::uint64_t map) const;
  void make_memory(Size size, const Calibration* calibration);
  void map_memory(std::size_t bytes);

  std::string name_;
  bool is_owner_;
  File file_;  // the writer holds its lock
  std::size_t bytes_ = 0;
  SharedHeader* header_ = nullptr;
};

// Nanoseconds since 1970.
std::int64_t now_in_nanoseconds();

}  // namespace parallax::tool
