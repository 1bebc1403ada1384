// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/results.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <set>
#include <string_view>
#include <unordered_set>

#include <fcntl.h>
#include <unistd.h>

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/files/content_hash.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

// Keeps the later of two.
template <class Record>
void keep(std::map<int, Record>& records, int number, Record record) {
  const auto [there, is_new] = records.try_emplace(number, record);
  if (!is_new && there->second.start <= record.start) there->second = std::move(record);
}

void read_line(std::string_view text, const std::string& fingerprint, JobRecords& records) {
  try {
    const json line = parse_json_object(text);
    if (line.value("plan", "") != fingerprint) return;
    const std::string start = line.value("start", "");
    if (line.contains("tile"))
      keep(records.tiles, line.at("tile").get<int>(),
           {start, line.value("host", ""), line.value("device", ""), line.value("milliseconds", 0.0),
            line.value("error", ""), line.value("is_transient", false)});
    if (line.contains("output_hash"))
      keep(records.maps, line.at("pair").get<int>(),
           {start, line.at("output_bytes").get<std::uint64_t>(), line.at("output_hash").get<std::string>()});
  } catch (const JsonError&) {
    // Not a line of ours.
  } catch (const json::exception&) {
    // Nor this one.
  }
}

// First and last of each run of successive numbers.
std::vector<std::pair<int, int>> runs_of(const std::vector<int>& numbers) {
  std::vector<std::pair<int, int>> runs;
  for (const int number : numbers)
    if (!runs.empty() && runs.back().second + 1 == number)
      runs.back().second = number;
    else
      runs.emplace_back(number, number);
  return runs;
}

// Inverse of time_text(), in seconds; 0 = not a time.
double seconds_of(const std::string& text) {
  std::tm utc{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  return rest == nullptr ? 0 : static_cast<double>(::timegm(&utc)) + std::strtod(rest, nullptr);
}

void add_rates(const JobRecords& records, JobStatus& status) {
  std::vector<double> milliseconds;
  std::set<std::string> hosts, devices;
  double first = 0, last = 0;
  for (const auto& [tile, record] : records.tiles) {
    if (!record.error.empty()) continue;
    milliseconds.push_back(record.milliseconds);
    hosts.insert(record.host);
    devices.insert(record.device);
    const double start = seconds_of(record.start);
    if (milliseconds.size() == 1 || start < first) first = start;
    last = std::max(last, start + record.milliseconds / 1000);
  }
  status.hosts.assign(hosts.begin(), hosts.end());
  status.devices.assign(devices.begin(), devices.end());
  if (milliseconds.empty()) return;
  const auto count = static_cast<double>(milliseconds.size());
  status.milliseconds_per_tile = median(std::move(milliseconds));
  if (last > first) status.tiles_per_second = count / (last - first);
}

class JobLook {
 public:
  JobLook(const JobFile& file, bool content) : file_(file), results_(file.head()), content_(content) {
    for (const int tile : list_tiles(file.head().folder)) listed_.insert(tile);
    status_.tiles = file.head().tiles;
    status_.pairs = file.head().pairs;
  }

  JobStatus run() {
    for (int number = 0; number < status_.pairs; ++number) look(file_.pair(number));
    add_rates(results_.records(), status_);
    return std::move(status_);
  }

 private:
  void look(const PairJob& job) {
    const bool written = results_.is_written(job, content_);
    const int before = status_.done;
    for (const Tile& tile : job.plan().tiles)
      add(job.number_of(tile), written ? TileState::done : state(job, tile));
    status_.pairs_written += written;
    status_.pairs_done += status_.done - before == job.tiles();
  }

  TileState state(const PairJob& job, const Tile& tile) {
    if (job.cut->untiled) return results_.state(job, tile, content_);
    return listed_.contains(job.number_of(tile)) ? state_of(job, tile, content_) : TileState::missing;
  }

  void add(int tile, TileState state) {
    if (state == TileState::done) {
      ++status_.done;
      return;
    }
    const auto& records = results_.records().tiles;
    const auto record = records.find(tile);
    if (record != records.end() && !record->second.error.empty()) {
      status_.failed.push_back(
          {tile, record->second.error, record->second.host, record->second.is_transient});
      return;
    }
    status_.missing.push_back(tile);
    if (state != TileState::missing) status_.damaged.push_back(tile);
  }

  const JobFile& file_;
  JobResults results_;
  bool content_;
  std::unordered_set<int> listed_;
  JobStatus status_;
};

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  std::string host = name.data();
  // It is part of names of files.
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; }, '_');
  return host;
}

// Containers on several machines may share the name of the host and the number of the process.
std::string process_name() {
  static const unsigned random = std::random_device()();
  return host_name() + "-" + std::to_string(::getpid()) + "-" + std::to_string(random);
}

std::string time_text() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto milliseconds = duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ", static_cast<int>(milliseconds));
  return text.data();
}

JobLog::JobLog(const JobHead& head)
    : path_((fs::path(head.folder) / ("log-" + process_name() + ".jsonl")).string()),
      fingerprint_(head.fingerprint) {}

JobLog::~JobLog() {
  if (file_ >= 0) ::close(file_);
}

void JobLog::add(json line) {
  line["plan"] = fingerprint_;
  std::string text = json_text(line) + "\n";
  // A line that a full disk cut short must not spoil this one.
  if (is_cut_) text = "\n" + text;
  if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ >= 0) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    const bool is_whole = written == static_cast<ssize_t>(text.size());
    if (written > 0) is_cut_ = !is_whole;
    if (is_whole) return;
  }
  if (!complained_)
    complain("cannot write " + path_ + ": " + std::strerror(errno) +
             "; 'parallax status' will not know of it");
  complained_ = true;
}

JobRecords read_logs(const JobHead& head) {
  JobRecords records;
  for (const std::string& path : list_logs(head.folder)) {
    const std::string file = read_text(path);
    std::string_view text = file;
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      read_line(text.substr(0, end), head.fingerprint, records);
  }
  return records;
}

const JobRecords& JobResults::records() {
  if (!records_) records_ = read_logs(head_);
  return *records_;
}

bool JobResults::is_written(const PairJob& job, bool content) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(job.output, error);
  if (error) {
    if (is_transient(error.value())) fail_file("read", job.output, error.value());
    return false;
  }
  const auto& maps = records().maps;
  const auto map = maps.find(job.number);
  return map != maps.end() && map->second.bytes == bytes &&
         (!content || file_hash(job.output) == map->second.hash);
}

TileState JobResults::state(const PairJob& job, const Tile& tile, bool content) {
  if (!job.cut->untiled) {
    const TileState state = state_of(job, tile, content);
    if (state != TileState::missing) return state;
  }
  if (is_written(job, content)) return TileState::done;
  if (!job.cut->untiled) return TileState::missing;
  std::error_code unknown;
  const bool changed = records().maps.contains(job.number) && fs::exists(job.output, unknown);
  return changed ? TileState::damaged : TileState::missing;
}

void add_map(json& line, int pair, std::uint64_t bytes, const std::string& hash) {
  line["pair"] = pair;
  line["output_bytes"] = bytes;
  line["output_hash"] = hash;
}

std::vector<std::string> ranges_of(const std::vector<int>& numbers) {
  std::vector<std::string> ranges;
  for (const auto& [first, last] : runs_of(numbers))
    ranges.push_back(std::to_string(first) + (last > first ? "-" + std::to_string(last) : ""));
  return ranges;
}

std::vector<int> parse_ranges(const std::string& text, int count) {
  std::vector<int> numbers;
  const auto refuse = [&](const std::string& part) {
    throw UsageError("--tile is '" + text + "'" + (part == text ? "" : ", with '" + part + "'") +
                     ": this plan has tiles 0 to " + std::to_string(count - 1) +
                     "; give ranges such as 0-19,40, or - for ranges on standard input");
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    const bool is_range = part.find('-') != std::string::npos;
    const auto range = two_integers(is_range ? part : part + "-" + part, "-");
    if (!range) refuse(part);
    const auto [first, last] = *range;
    if (first < 0 || last < first || last >= count) refuse(part);
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    begin = comma + 1;
  }
  return numbers;
}

std::string describe_undone(std::map<TileState, std::vector<int>> tiles) {
  std::string message;
  for (const auto& [state, what] : {std::pair{TileState::missing, "missing"},
                                    {TileState::damaged, "damaged"},
                                    {TileState::foreign, "from another plan"}}) {
    const std::vector<int>& numbers = tiles[state];
    if (numbers.empty()) continue;
    std::string list;
    for (const auto& [first, last] : runs_of(numbers)) {
      list += (list.empty() ? "" : ", ") + std::to_string(first);
      if (last > first) list += (last == first + 1 ? ", " : " to ") + std::to_string(last);
    }
    message += (message.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "tile " : "tiles ") + list +
               (numbers.size() == 1 ? " is " : " are ") + what;
  }
  return message;
}

JobStatus look_at_job(const JobFile& file, bool content) {
  return JobLook(file, content).run();
}

}  // namespace parallax::tool
