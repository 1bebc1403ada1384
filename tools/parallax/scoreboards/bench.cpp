// SPDX-License-Identifier: Apache-2.0
// 'parallax bench --suite middlebury|kitti|eth3d': a method over a public benchmark, in the benchmark's
// figures.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "parallax/version.h"

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/match/match_plan.h"
#include "tools/match/match_report.h"
#include "tools/parallax/pair_options.h"
#include "tools/parallax/scoreboards/scoreboard.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

struct ScoreboardRequest {
  std::string suite;
  ScoreboardData data;
  std::vector<std::string> only;  // names of pairs; empty = all
  std::string submission, algorithm, json;
  bool sparse = false;
  Search search;
};

using MakeScoreboard = std::unique_ptr<Scoreboard> (*)(const ScoreboardData& data);
struct ScoreboardSuite {
  const char* name;
  MakeScoreboard make;
};
constexpr ScoreboardSuite suites[] = {
    {"middlebury", middlebury_scoreboard}, {"kitti", kitti_scoreboard}, {"eth3d", eth3d_scoreboard}};

void add_scoreboard_options(Options& options, ScoreboardRequest& request) {
  options.group("Benchmark");
  Choices<std::string> names;
  for (const ScoreboardSuite& suite : suites) names.emplace_back(suite.name, suite.name);
  options.add_choice<std::string>("--suite", request.suite, names, "Public benchmark");
  options
      .add("--data DIR", request.data.folder,
           "Its data, unpacked: MiddEval3, or the folder with KITTI's or ETH3D's training")
      .required();
  const auto take = [&request](const std::string& name) {
    request.only.push_back(name);
    return true;
  };
  options.add_text("--only", "NAME", "", "", take, "Match only this pair; may be repeated").repeats();
  options.add_choice<bool>("--split", request.data.test, {{"training", false}, {"test", true}},
                           "Pairs: those with public truth, or, for --submission, those without");
  add_unknown_option(options, request.data.truth_none);
  if (request.suite == "middlebury")
    options.add_choice<std::string>("--resolution", request.data.resolution,
                                    {{"F", "F"}, {"H", "H"}, {"Q", "Q"}}, "Full, half or quarter size");
  options.group("Output");
  options.add("--submission DIR", request.submission,
              "Write the maps and times to this folder, in the benchmark's format");
  if (request.suite == "middlebury") {
    options.add("--name NAME", request.algorithm, "Name of the algorithm in files; default: the method");
    options.add_flag("--sparse", request.sparse,
                     "Submit as sparse maps, whose pixels without a disparity are meant to have none");
  }
  options.add("--json FILE", request.json, "Also write the results to this file");
}

ScoreboardRequest parse_scoreboard(const Arguments& arguments, const std::string& suite) {
  ScoreboardRequest request;
  request.suite = suite;
  Search& search = request.search;
  search = read_search(arguments, "bench");
  Options options("bench", "Run a method over a public benchmark, and print the benchmark's figures.");
  add_scoreboard_options(options, request);
  add_search_options(options, search);
  options.footer(footer_of("bench --suite " + suite, search.method));
  options.read(arguments);
  settle_search(options, search);
  align_rows_by_default(options, search);
  search.parameters.validate();
  check_unknown(request.data.truth_none);
  if (request.data.test && request.submission.empty())
    throw UsageError("--split test has no public truth to compare with: give --submission");
  if (request.sparse && request.submission.empty())
    throw UsageError("--sparse needs --submission: give both");
  if (request.algorithm.find('/') != std::string::npos)
    throw UsageError("--name is '" + request.algorithm + "': give one without slashes");
  if (request.algorithm.empty()) request.algorithm = search.method;
  return request;
}

std::vector<ScoreboardPair> selected(const Scoreboard& board, const std::vector<std::string>& only) {
  std::vector<ScoreboardPair> pairs = board.pairs();
  const auto has = [&](const std::string& name) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const ScoreboardPair& pair) { return pair.name == name; });
  };
  for (const std::string& name : only)
    if (!has(name)) throw UsageError("--only is '" + name + "': there is no such pair in --data");
  if (!only.empty())
    std::erase_if(pairs, [&](const ScoreboardPair& pair) {
      return std::find(only.begin(), only.end(), pair.name) == only.end();
    });
  return pairs;
}

std::vector<std::string> inputs_of(const ScoreboardPair& pair) {
  std::vector<std::string> paths{pair.left, pair.right};
  if (!pair.calibration.empty()) paths.push_back(pair.calibration);
  std::copy_if(pair.truth.begin(), pair.truth.end(), std::back_inserter(paths),
               [](const std::string& path) { return !path.empty(); });
  return paths;
}

// Before minutes are spent on other pairs.
// \throws Error (file)
void check_complete(const ScoreboardPair& pair) {
  for (const std::string& path : inputs_of(pair))
    if (!std::filesystem::exists(path))
      throw Error(ErrorCategory::file, pair.name + ": no file " + path +
                                           ": unpack the archive of the benchmark that has it, or choose "
                                           "other pairs with --only");
}

std::string in_submission(const ScoreboardRequest& request, const std::string& path) {
  return (std::filesystem::path(request.submission) / path).string();
}

// No output may replace an input.
// \throws UsageError, Error (file)
void check_files(const ScoreboardRequest& request, const Scoreboard& board,
                 const std::vector<ScoreboardPair>& pairs) {
  CommandFiles files;
  for (const ScoreboardPair& pair : pairs)
    for (const std::string& path : inputs_of(pair)) files.reads(path);
  files.writes(request.json);
  if (request.submission.empty()) return;
  const Plane<float> pixel({1, 1});
  for (const ScoreboardPair& pair : pairs)
    for (const auto& [path, bytes] :
         board.submission(pair, {request.algorithm, request.sparse, pixel.view(), 0}))
      files.writes(in_submission(request, path));
}

struct ScoreboardRow {
  std::string pair;  // or "average"
  Size size;
  int labels = 0;
  double seconds = 0, valid = 0;
  std::vector<Region> regions;  // empty for test pairs
};

void write_submission(const ScoreboardRequest& request, std::vector<FileBytes> files) {
  OutputFolders folders;
  for (auto& [path, bytes] : files) {
    path = in_submission(request, path);
    folders.make(std::filesystem::path(path).parent_path().string());
  }
  write_files(files);
}

ScoreboardRow run_pair(const ScoreboardRequest& request, const Scoreboard& board,
                       const ScoreboardPair& pair) {
  Search search = request.search;
  if (!search.range_given && board.labels() > 0) search.parameters.disparities() = board.labels();
  Input input;
  input.left = pair.left;
  input.right = pair.right;
  if (!pair.calibration.empty()) input.calibration = {pair.calibration};
  MatchPlan plan({input, search, {}});
  if (!search.range_given && board.labels() == 0 && plan.calibration().disparities == 0)
    throw Error(ErrorCategory::file, pair.calibration + " has no ndisp: add it, or give --disparities");
  const PicturePair pictures = read_pair(pair.left, pair.right);
  plan.make(pictures.left.view().format);
  Result result = plan.make_result();
  plan.run(pictures, result);
  Stopwatch stopwatch;
  stopwatch.add(plan.matcher().stage_times());
  const View<const float> disparity = result.disparity.view();
  ScoreboardRow row{
      pair.name, plan.format().size, plan.disparities(), stopwatch.total() / 1000, pixel_shares(result).valid,
      {}};
  if (!pair.truth.empty()) row.regions = board.score(pair, plan.calibration(), disparity);
  if (!request.submission.empty())
    write_submission(request,
                     board.submission(pair, {request.algorithm, request.sparse, disparity, row.seconds}));
  return row;
}

void print_cells(const std::string& pair, const std::string& region, const std::vector<std::string>& cells) {
  std::printf("%-24s %-7s", pair.c_str(), region.c_str());
  for (const std::string& cell : cells) std::printf(" %9s", cell.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

void print_names(const std::vector<Region>& regions) {
  std::vector<std::string> names;
  if (!regions.empty())
    for (const Figure& figure : regions.front().figures) names.push_back(figure.name);
  names.push_back("seconds");
  print_cells("pair", regions.empty() ? "" : "pixels", names);
}

std::string figure_text(const Figure& figure) {
  if (std::isnan(figure.value)) return "-";
  return figure.is_share ? with_decimals(100 * figure.value, 2) : with_decimals(figure.value, 3);
}

void print_scores(const ScoreboardRow& row) {
  const std::string time = with_decimals(row.seconds, 3);
  if (row.regions.empty()) print_cells(row.pair, "", {time});
  for (const Region& region : row.regions) {
    std::vector<std::string> cells;
    for (const Figure& figure : region.figures) cells.push_back(figure_text(figure));
    cells.push_back(time);
    print_cells(row.pair, region.name, cells);
  }
}

// JSON has no NaN: what is unknown is null.
void add_scores(const std::vector<Region>& regions, ordered_json& json) {
  for (const Region& region : regions)
    for (const Figure& figure : region.figures) json[region.name][figure.name] = figure.value;
}

ordered_json score_json(const ScoreboardRow& row) {
  ordered_json json{{"pair", row.pair},
                    {"size", {{"width", row.size.width}, {"height", row.size.height}}},
                    {"disparities", row.labels},
                    {"seconds", row.seconds},
                    {"valid", row.valid}};
  add_scores(row.regions, json);
  return json;
}

// The averages of seconds and figures.
ScoreboardRow mean_of(const std::vector<ScoreboardRow>& rows) {
  ScoreboardRow mean;
  mean.pair = "average";
  std::vector<std::vector<Region>> scores;
  for (const ScoreboardRow& row : rows) {
    mean.seconds += row.seconds / static_cast<double>(rows.size());
    scores.push_back(row.regions);
  }
  mean.regions = average(scores);
  return mean;
}

void write_scores(const ScoreboardRequest& request, const Scoreboard& board,
                  const std::vector<ScoreboardRow>& rows, const ScoreboardRow& mean) {
  if (request.json.empty()) return;
  ordered_json pairs = ordered_json::array(), means{{"seconds", mean.seconds}};
  for (const ScoreboardRow& row : rows) pairs.push_back(score_json(row));
  add_scores(mean.regions, means);
  const ordered_json report{{"version", PARALLAX_VERSION},
                            {"suite", request.suite},
                            {"note", board.note()},
                            {"method", request.search.method},
                            {"device", Device::parse(request.search.device).text()},
                            {"parameters", describe_parameters(request.search.parameters)},
                            {"pairs", pairs},
                            {"average", means}};
  write_output(request.json, report.dump(2) + "\n");
}

// Middlebury's table of dense maps takes none with such pixels.
void warn_of_holes(const ScoreboardRequest& request, const std::vector<ScoreboardRow>& rows) {
  const auto holes =
      std::count_if(rows.begin(), rows.end(), [](const ScoreboardRow& row) { return row.valid < 1; });
  if (holes == 0 || request.suite != "middlebury" || request.submission.empty() || request.sparse) return;
  complain(std::to_string(holes) +
           " of the maps written have pixels without a disparity, which dense maps may not have: submit them "
           "with --sparse, or fill them with --fill");
}

int run_scoreboard(const ScoreboardRequest& request, const Scoreboard& board) {
  const std::vector<ScoreboardPair> pairs = selected(board, request.only);
  for (const ScoreboardPair& pair : pairs) check_complete(pair);
  check_output(request.json);
  check_files(request, board, pairs);
  std::vector<ScoreboardRow> rows;
  for (const ScoreboardPair& pair : pairs) {
    show_progress(pair.name, static_cast<double>(rows.size()) / static_cast<double>(pairs.size()));
    rows.push_back(run_pair(request, board, pair));
    show_progress("");
    if (rows.size() == 1) print_names(rows.front().regions);
    print_scores(rows.back());
  }
  const ScoreboardRow mean = mean_of(rows);
  print_scores(mean);
  if (!board.note().empty()) std::cerr << "parallax: " << board.note() << "\n";
  write_scores(request, board, rows, mean);
  warn_of_holes(request, rows);
  return done;
}

}  // namespace

std::vector<std::string> scoreboard_suites() {
  std::vector<std::string> names;
  for (const ScoreboardSuite& suite : suites) names.push_back(suite.name);
  return names;
}

int bench_scoreboard(const Arguments& arguments, const std::string& suite) {
  const ScoreboardRequest request = parse_scoreboard(arguments, suite);
  for (const ScoreboardSuite& each : suites)
    if (each.name == suite) return run_scoreboard(request, *each.make(request.data));
  throw UsageError("--suite is '" + suite + "': choose one of " + join(scoreboard_suites()));
}

}  // namespace parallax::tool
