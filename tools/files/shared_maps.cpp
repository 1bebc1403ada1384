// SPDX-License-Identifier: Apache-2.0
#include "tools/files/shared_maps.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/error.h"

#include "tools/command/command.h"

namespace parallax::tool {
namespace {

constexpr char kind[8] = "PXMAPS";
constexpr std::uint32_t version = 1;
constexpr std::uint64_t page = 4096, slots = 4;

std::size_t bytes_of_slot(Size size) {
  const std::size_t bytes = sizeof(SharedSlot) + size.pixels() * (sizeof(float) + 1);
  return (bytes + page - 1) / page * page;
}

std::string path_of(const std::string& name) {
  constexpr std::size_t longest = 200;
  if (name.empty() || name.size() > longest || name.find('/') != std::string::npos)
    throw UsageError("'" + name + "' is no name of shared memory: give one without '/', such as maps");
  return "/parallax-" + name;
}

[[noreturn]] void fail(const std::string& name, int reason) {
  throw Error(ErrorCategory::file, "cannot use the shared memory " + name + ": " + std::strerror(reason) +
                                       (reason == EACCES ? ": it belongs to another user, choose another name"
                                                         : ": choose another name, or free some memory"));
}

template <class T>
std::atomic_ref<T> shared(T& value) {
  return std::atomic_ref<T>(value);
}

}  // namespace

std::int64_t now_in_nanoseconds() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

void SharedMaps::File::reset(int number) {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

void SharedMaps::map_memory(std::size_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, is_owner_ ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) fail(name_, errno);
  bytes_ = bytes;
  header_ = static_cast<SharedHeader*>(memory);
}

// The lock of a file ends with the process that holds it.
SharedMaps::SharedMaps(const std::string& name, Size size, const Calibration* calibration)
    : name_(name), is_owner_(true) {
  const std::string path = path_of(name);
  const auto make = [&] { return ::shm_open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600); };
  file_.reset(make());
  if (file_.get() < 0 && errno == EEXIST) {
    bool in_use = false;
    try {
      in_use = !SharedMaps(name).has_ended();
    } catch (const Error&) {
      throw Error(ErrorCategory::file,
                  "the shared memory " + name + " is that of another program: choose another name");
    }
    if (in_use)
      throw Error(ErrorCategory::file,
                  "the shared memory " + name + " is in use by another process: choose another name");
    ::shm_unlink(path.c_str());
    file_.reset(make());
  }
  if (file_.get() < 0) fail(name, errno);
  try {
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) fail(name, errno);
    make_memory(size, calibration);
  } catch (...) {
    ::shm_unlink(path.c_str());
    throw;
  }
}

void SharedMaps::make_memory(Size size, const Calibration* calibration) {
  const std::size_t bytes = page + slots * bytes_of_slot(size);
  // Reserves the memory: writing to what cannot be had would end the process.
  if (const int reason = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes)); reason != 0)
    fail(name_, reason);
  map_memory(bytes);
  SharedHeader header{};
  std::memcpy(header.kind, kind, sizeof kind);
  header.version = version;
  header.slots = slots;
  header.width = static_cast<std::uint32_t>(size.width);
  header.height = static_cast<std::uint32_t>(size.height);
  header.first_slot = page;
  header.slot_bytes = bytes_of_slot(size);
  header.process = ::getpid();
  if (calibration != nullptr) {
    header.focal = calibration->focal;
    header.baseline = in_metres(*calibration).baseline;
    header.centre_x = calibration->centre_x;
    header.centre_y = calibration->centre_y;
    header.doffs = calibration->doffs;
  }
  std::memcpy(header_, &header, sizeof header);
}

SharedMaps::SharedMaps(const std::string& name) : name_(name), is_owner_(false) {
  file_.reset(::shm_open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (file_.get() < 0 && errno == ENOENT)
    throw Error(ErrorCategory::file,
                "there is no shared memory " + name + ": start 'parallax match --share " + name + "' first");
  if (file_.get() < 0) fail(name, errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || status.st_size < static_cast<off_t>(page))
    throw Error(ErrorCategory::file, "the shared memory " + name + " has no maps: check its name");
  map_memory(static_cast<std::size_t>(status.st_size));
  const SharedHeader& header = *header_;
  const bool fits = std::memcmp(header.kind, kind, sizeof kind) == 0 && header.version == version &&
                    header.slots > 0 && header.width > 0 && header.height > 0 && header.width <= 1'000'000 &&
                    header.height <= 1'000'000 && header.slots <= 1024 &&
                    header.slot_bytes >= bytes_of_slot(size()) && header.slot_bytes < bytes_ &&
                    header.first_slot + header.slots * header.slot_bytes <= bytes_;
  if (fits) return;
  ::munmap(header_, bytes_);
  throw Error(ErrorCategory::file,
              "the shared memory " + name + " is not that of this version of parallax: check its name");
}

SharedMaps::~SharedMaps() {
  if (is_owner_) {
    ::shm_unlink(path_of(name_).c_str());
    shared(header_->has_ended).store(1, std::memory_order_release);
  }
  ::munmap(header_, bytes_);
}

std::byte* SharedMaps::slot(std::uint64_t map) const {
  return reinterpret_cast<std::byte*>(header_) + header_->first_slot +
         map % header_->slots * header_->slot_bytes;
}

void SharedMaps::write(const SharedSlot& about, const Result& result) {
  const std::uint64_t maps = header_->maps;
  auto& to = *reinterpret_cast<SharedSlot*>(slot(maps));
  const std::uint64_t sequence = to.sequence;
  shared(to.sequence).store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  to.number = about.number;
  to.arrival = about.arrival;
  to.written = about.written;
  to.skew = about.skew;
  std::byte* next = reinterpret_cast<std::byte*>(&to + 1);
  const auto copy = [&](const auto& plane) {
    const std::size_t bytes = static_cast<std::size_t>(plane.width()) * sizeof(*plane.row(0));
    for (int y = 0; y < plane.height(); ++y, next += bytes) std::memcpy(next, plane.row(y), bytes);
  };
  copy(result.disparity);
  copy(result.status);
  shared(to.sequence).store(sequence + 2, std::memory_order_release);
  shared(header_->maps).store(maps + 1, std::memory_order_release);
}

std::uint64_t SharedMaps::count() const {
  return shared(header_->maps).load(std::memory_order_acquire);
}

// A lock that can be had is nobody's.
bool SharedMaps::has_ended() const {
  if (shared(header_->has_ended).load(std::memory_order_acquire) != 0) return true;
  if (is_owner_ || ::flock(file_.get(), LOCK_SH | LOCK_NB) != 0) return false;
  ::flock(file_.get(), LOCK_UN);
  return true;
}

// A slot that is written meanwhile is read again.
std::optional<SharedMap> SharedMaps::newest() const {
  for (;;) {
    const std::uint64_t maps = count();
    if (maps == 0) return std::nullopt;
    auto& from = *reinterpret_cast<SharedSlot*>(slot(maps - 1));
    const std::uint64_t before = shared(from.sequence).load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    SharedMap map{from, Result(size())};
    const std::byte* next = reinterpret_cast<const std::byte*>(&from + 1);
    const auto copy = [&](auto& plane) {
      const std::size_t bytes = static_cast<std::size_t>(plane.width()) * sizeof(*plane.row(0));
      for (int y = 0; y < plane.height(); ++y, next += bytes) std::memcpy(plane.row(y), next, bytes);
    };
    copy(map.result.disparity);
    copy(map.result.status);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (shared(from.sequence).load(std::memory_order_relaxed) == before) return map;
  }
}

}  // namespace parallax::tool
