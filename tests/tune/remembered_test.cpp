// SPDX-License-Identifier: Apache-2.0
// The file of stored tuning results, and plans that use it.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matchers/planning.h"
#include "support.h"
#include "tune/remembered_tuning.h"

namespace parallax::test {
namespace {

namespace fs = std::filesystem;
using detail::Configuration;

class RememberedTuning : public testing::Test {
 protected:
  RememberedTuning() { parameters_.disparities = 1000; }

  void write(const std::string& text) const { std::ofstream(file_) << text; }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }

  // An entry for the parameters of this test, on two threads.
  TunedConfiguration entry(const TunedValues& values = {{"pixels_together", "16"}}) const {
    const detail::Backend& backend = detail::find_backend(parameters_, device_);
    TunedConfiguration result = detail::tuning_key(parameters_, identify(device_), format_,
                                                   backend.tuning_space(parameters_, device_, format_));
    result.values = values;
    return result;
  }

  Configuration found() const {
    return detail::remembered_configuration(detail::find_backend(parameters_, device_), parameters_, device_,
                                            format_);
  }

  std::size_t planned_bytes() const { return estimate_memory_bytes(parameters_, device_, format_); }
  std::size_t bytes_with(const Configuration& configuration) const {
    return detail::make_plan(parameters_, device_, format_, configuration)->memory_bytes();
  }
  static Configuration together(int pixels) {
    Configuration configuration;
    configuration.set("pixels_together", pixels);
    return configuration;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path(), file_ = folder_ / "tuning.json";
  const Variable tuning_{"PARALLAX_TUNING", file_.string()};
  BlockParameters parameters_;  // with many labels, so that pixels_together changes the memory
  Device device_ = cpu(2);
  ImageFormat format_{{64, 40}};
};

TEST_F(RememberedTuning, PlansUseIt) {
  ASSERT_NE(bytes_with({}), bytes_with(together(16)));
  EXPECT_EQ(planned_bytes(), bytes_with({}));
  remember_tuning(entry());
  EXPECT_EQ(found(), together(16));
  EXPECT_EQ(planned_bytes(), bytes_with(together(16)));
  EXPECT_EQ(Matcher(parameters_, device_, format_).memory_bytes(), bytes_with(together(16)));
  remember_tuning(entry({{"pixels_together", "2"}}));
  EXPECT_EQ(planned_bytes(), bytes_with(together(2)));
  EXPECT_EQ(tuning_warning(), "");
}

TEST_F(RememberedTuning, CanBeSwitchedOff) {
  remember_tuning(entry());
  use_tuning(false);
  EXPECT_EQ(planned_bytes(), bytes_with({}));
  use_tuning(true);
  EXPECT_EQ(planned_bytes(), bytes_with(together(16)));
  tuning_.set("off");
  EXPECT_EQ(planned_bytes(), bytes_with({}));
  EXPECT_EQ(tuning_file(), "");
  EXPECT_THROW(remember_tuning(entry()), Error);
}

TEST_F(RememberedTuning, IsOfOneProblemOnly) {
  const TunedConfiguration own = entry();
  for (int field = 0; field < 6; ++field) {
    TunedConfiguration other = own;
    if (field == 0) other.device += "?";
    if (field == 1) other.driver = "12.8";
    if (field == 2) other.method = "census";
    if (field == 3) other.variant = "sad, window 11";
    if (field == 4) ++other.size_class;
    if (field == 5) ++other.labels;
    remember_tuning(other);
  }
  EXPECT_EQ(remembered_tuning().size() - 6, [&] {
    tuning_.set((folder_ / "none.json").string());
    const std::size_t built_in = remembered_tuning().size();
    tuning_.set(file_.string());
    return built_in;
  }());
  EXPECT_TRUE(found().empty());
  remember_tuning(own);
  EXPECT_EQ(found(), together(16));
  device_ = cpu(1);
  EXPECT_TRUE(found().empty());
}

TEST_F(RememberedTuning, OfASizeClassIsOfAllItsSizes) {
  remember_tuning(entry());  // 2560 pixels
  format_.size = {4095, 1};
  EXPECT_EQ(found(), together(16));
  format_.size = {4096, 1};
  EXPECT_TRUE(found().empty());
  format_.size = {2047, 1};
  EXPECT_TRUE(found().empty());
}

TEST_F(RememberedTuning, AnotherFileOfTheSameNameIsReadAgain) {
  remember_tuning(entry());
  EXPECT_EQ(found(), together(16));
  fs::remove(file_);
  EXPECT_TRUE(found().empty());
  remember_tuning(entry({{"pixels_together", "4"}}));
  EXPECT_EQ(found(), together(4));
}

TEST_F(RememberedTuning, EveryMissingFolderIsMade) {
  tuning_.set((folder_ / "a" / "b" / "t.json").string());
  remember_tuning(entry());
  EXPECT_EQ(found(), together(16));
}

TEST_F(RememberedTuning, IsFoundInTheUsersFolder) {
  tuning_.set(std::nullopt);
  ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  EXPECT_EQ(tuning_file(), (folder_ / "parallax" / "tuning.json").string());
  remember_tuning(entry());
  EXPECT_EQ(found(), together(16));
  ::unsetenv("XDG_CONFIG_HOME");
  EXPECT_EQ(tuning_file(), std::string(std::getenv("HOME")) + "/.config/parallax/tuning.json");
}

TEST_F(RememberedTuning, OfABrokenFileIsIgnoredWithAWarning) {
  remember_tuning(entry());
  const std::string whole = content();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string broken[] = {"",
                                "{}",
                                "[]",
                                "null",
                                "not JSON",
                                whole.substr(0, whole.size() / 2),
                                whole + "x",
                                with("\"version\": 1", "\"version\": \"1\""),
                                with("\"labels\": 1000", "\"labels\": \"many\""),
                                with("\"labels\": 1000,", ""),
                                with("\"size_class\": 11", "\"size_class\": 63"),
                                with("\"size_class\": 11", "\"size_class\": -1"),
                                with("\"version\": 1", "\"version\": 1e300"),
                                with("\"labels\": 1000", "\"labels\": 1e300"),
                                with("\"labels\": 1000", "\"labels\": 4294968296"),
                                with("\"labels\": 1000", "\"labels\": -4294966296"),
                                with("\"pixels_together\": 16", "\"pixels_together\": -1e300"),
                                with("\"pixels_together\": 16", "\"pixels_together\": [16]"),
                                with("{\n        \"pixels_together\": 16\n      }", "7"),
                                std::string("\xff\xfe\0\0", 4)};
  for (const std::string& text : broken) {
    write(text);
    EXPECT_TRUE(found().empty()) << text.substr(0, 200);
    EXPECT_TRUE(contains(tuning_warning(), ": tune again, or remove it")) << tuning_warning();
    EXPECT_FALSE(contains(tuning_warning(), "\n"));
    EXPECT_EQ(planned_bytes(), bytes_with({}));
  }
  for (const char* version : {"0", "2", "999"}) {
    write(with("\"version\": 1", std::string("\"version\": ") + version));
    EXPECT_TRUE(found().empty());
    EXPECT_TRUE(contains(tuning_warning(), "has version " + std::string(version)));
  }
  // Such a file ended every match.
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const char* part : {"\"version\": 1", "\"labels\": 1000", "\"pixels_together\": 16"}) {
    const std::string key(part, std::string_view(part).find(' '));
    write(with(part, key + " " + deep));
    EXPECT_TRUE(found().empty());
    EXPECT_TRUE(contains(tuning_warning(), "is nested more than 100 levels deep: tune again, or remove it"));
  }
  write(whole);
  EXPECT_EQ(found(), together(16));
  EXPECT_EQ(tuning_warning(), "");
}

TEST_F(RememberedTuning, ABrokenFileIsSetAsideByTheNextThatIsWritten) {
  write("not JSON");
  remember_tuning(entry());
  EXPECT_EQ(found(), together(16));
  std::ostringstream old;
  old << std::ifstream(file_.string() + ".old").rdbuf();
  EXPECT_EQ(old.str(), "not JSON");
}

TEST_F(RememberedTuning, ABrokenFileThatCannotBeSetAsideIsLeftAlone) {
  write("not JSON");
  fs::create_directories(file_.string() + ".old/full");
  EXPECT_THROW(remember_tuning(entry()), Error);
  EXPECT_EQ(content(), "not JSON");
}

TEST_F(RememberedTuning, KeepsTheModeOfItsFile) {
  const auto mode = [&] { return fs::status(file_).permissions(); };
  const mode_t mask = ::umask(022);
  remember_tuning(entry());
  ::umask(mask);
  EXPECT_EQ(mode(), fs::perms(0644));
  fs::permissions(file_, fs::perms(0640));
  remember_tuning(entry({{"pixels_together", "2"}}));
  EXPECT_EQ(mode(), fs::perms(0640));
}

TEST_F(RememberedTuning, OfALinkWritesWhatItPointsTo) {
  const fs::path target = folder_ / "elsewhere" / "t.json";
  fs::create_directory(target.parent_path());
  std::ofstream(target) << "{\"version\": 1, \"entries\": []}";
  fs::create_symlink(target, file_);
  remember_tuning(entry());
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_EQ(found(), together(16));
  // The damaged file is moved aside in the folder of the target.
  std::ofstream(target) << "not JSON";
  remember_tuning(entry({{"pixels_together", "2"}}));
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_TRUE(fs::exists(target.string() + ".old"));
  EXPECT_EQ(found(), together(2));
}

TEST_F(RememberedTuning, TellsBeforeASearchThatItCannotBeWritten) {
  tuning_.set((folder_ / "a" / "t.json").string());
  EXPECT_NO_THROW(check_tuning_file());
  EXPECT_FALSE(fs::exists(folder_ / "a" / "t.json"));
  for (const std::string& path : {std::string("off"), folder_.string(), std::string("/proc/none/t.json")}) {
    tuning_.set(path);
    EXPECT_THROW(check_tuning_file(), Error) << path;
  }
}

TEST_F(RememberedTuning, WhatIsNoFileIsIgnored) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_TRUE(found().empty());
  EXPECT_NE(tuning_warning(), "");
  EXPECT_THROW(remember_tuning(entry()), Error);
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_TRUE(found().empty());
  EXPECT_THROW(remember_tuning(entry()), Error);
}

TEST_F(RememberedTuning, AnUnwritableFolderIsAnErrorOfItsFile) {
  if (::geteuid() == 0) tuning_.set("/proc/parallax/tuning.json");
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(error_of([&] { remember_tuning(entry()); }), ErrorCategory::file, {tuning_file()});
}

// A plan gets only values that it offers.
TEST_F(RememberedTuning, ValuesThatCannotBeTunedAreIgnoredWithAWarning) {
  for (const TunedValues& values :
       {TunedValues{{"pixels_together", "3"}}, TunedValues{{"pixels_together", "99999999"}},
        TunedValues{{"pixels_together", "-16"}}, TunedValues{{"pixels_together", "many"}},
        TunedValues{{"no_such_tunable", "1"}}, TunedValues{{"pixels_together", "16"}, {"x", "1"}}}) {
    remember_tuning(entry(values));
    EXPECT_TRUE(found().empty());
    EXPECT_TRUE(contains(tuning_warning(), "choose")) << tuning_warning();
    EXPECT_EQ(planned_bytes(), bytes_with({}));
  }
}

TEST_F(RememberedTuning, APlanThatDoesNotFitWithItIsMadeWithout) {
  remember_tuning(entry());
  ASSERT_LT(bytes_with({}), bytes_with(together(16)));
  const Matcher matcher(parameters_, device_, format_, {bytes_with({})});
  EXPECT_EQ(matcher.memory_bytes(), bytes_with({}));
  EXPECT_TRUE(contains(tuning_warning(), "are allowed")) << tuning_warning();
  EXPECT_THROW(Matcher(parameters_, device_, format_, {bytes_with({}) - 1}), Error);
}

TEST_F(RememberedTuning, WhatACallerGivesWins) {
  const TunedValues given{{"pixels_together", "8"}};
  const auto bytes = [&](const TunedValues& values) {
    return Matcher(parameters_, device_, format_, {0, values}).memory_bytes();
  };
  EXPECT_EQ(bytes(given), bytes_with(together(8)));
  EXPECT_EQ(estimate_memory_bytes(parameters_, device_, format_, given), bytes_with(together(8)));
  remember_tuning(entry());
  EXPECT_EQ(bytes({}), bytes_with(together(16)));
  EXPECT_EQ(bytes(given), bytes_with(together(8)));
  // Values that the caller does not give come from the file.
  EXPECT_EQ(bytes({{"ranges_per_thread", "2"}}), bytes_with(together(16)));
  // If the limit is too small, the values from the file are dropped, but not those of the caller.
  EXPECT_EQ(
      Matcher(parameters_, device_, format_, {bytes_with({}), {{"ranges_per_thread", "2"}}}).memory_bytes(),
      bytes_with({}));
  EXPECT_THROW(Matcher(parameters_, device_, format_, {bytes_with(together(8)) - 1, given}), Error);
}

TEST_F(RememberedTuning, WhatACallerGivesIsRefusedByName) {
  const auto refused = [&](const Device& device, const TunedValues& values, const std::string& reason) {
    expect_refused([&] { Matcher(parameters_, device, format_, {0, values}); }, reason);
    expect_refused([&] { estimate_memory_bytes(parameters_, device, format_, values); }, reason);
    expect_refused([&] { plan_tiles(parameters_, device, format_, {0, values}); }, reason);
  };
  refused(device_, {{"rows", "4"}},
          "rows is not tunable for method block on device cpu: choose bands_per_thread");
  refused(device_, {{"pixels_together", "3"}}, "configured pixels_together is 3: choose 2, 4, 8, 16");
  refused(device_, {{"pixels_together", ""}}, "configured pixels_together is : choose");
  refused(reference, {{"pixels_together", "4"}},
          "pixels_together is not tunable for method block on device reference with these parameters: leave "
          "it out");
  parameters_.disparities = 0;
  refused(device_, {{"rows", "4"}}, "disparities is 0");
}

TEST_F(RememberedTuning, ValuesForStudiesAreNeitherSearchedNorRemembered) {
  BeliefPropagationParameters floats;
  floats.arithmetic = Arithmetic::float32;
  floats.disparities = 8;
  const std::vector<TunableInfo> list = list_tunables(floats, device_, format_);
  const auto aligned =
      std::find_if(list.begin(), list.end(), [](const TunableInfo& t) { return t.name == "aligned"; });
  ASSERT_NE(aligned, list.end());
  EXPECT_EQ(aligned->searched, "");
  EXPECT_EQ(aligned->selectable, "false, true");
  EXPECT_NE(aligned->help, "");
  EXPECT_TRUE(list_tunables(floats, reference, format_).empty());

  const SynthPair pair = synth(Scene::planes, format_.size, 8);
  const StereoPair views{pair.left_view(), pair.right_view()};
  TuningOptions options;
  options.budget_seconds = 0.2;
  for (const TuningTrial& trial : tune(floats, device_, views, options).trials)
    EXPECT_EQ(trial.values.count("aligned"), 0u);
  options.plan.configuration = {{"aligned", "false"}};
  expect_refused([&] { tune(floats, device_, views, options); }, "aligned has no values to search here");
  // A search keeps the values that are given.
  options.plan.configuration = {{"bands_per_thread", "4"}};
  const TuningResult result = tune(floats, device_, views, options);
  for (const TuningTrial& trial : result.trials) EXPECT_EQ(trial.values.at("bands_per_thread"), "4");
  EXPECT_EQ(result.found.values.at("bands_per_thread"), "4");

  const detail::Backend& backend = detail::find_backend(floats, device_);
  TunedConfiguration known =
      detail::tuning_key(floats, identify(device_), format_, backend.tuning_space(floats, device_, format_));
  known.values = {{"aligned", "false"}};
  remember_tuning(known);
  EXPECT_TRUE(detail::remembered_configuration(backend, floats, device_, format_).empty());
}

TEST_F(RememberedTuning, ValuesWithNamesAreWrittenByName) {
  TiledBeliefPropagationParameters tiled;
  const detail::Backend& backend = detail::find_backend(tiled, device_);
  const detail::TuningSpace space = backend.tuning_space(tiled, device_, format_);
  Configuration configuration;
  configuration.set("threads_share", 1);
  TunedConfiguration tuned = detail::tuning_key(tiled, identify(device_), format_, space);
  tuned.values = detail::text_of(configuration, space);
  remember_tuning(tuned);
  EXPECT_TRUE(contains(content(), "\"threads_share\": \"blocks\"")) << content();
  EXPECT_EQ(detail::remembered_configuration(backend, tiled, device_, format_), configuration);
}

TEST_F(RememberedTuning, WritersAtTheSameTimeLoseNothing) {
  constexpr int writers = 8, entries = 12;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer)
    threads.emplace_back([&, writer] {
      for (int i = 0; i < entries; ++i) {
        TunedConfiguration own = entry();
        own.labels = writer * entries + i + 1;
        remember_tuning(own);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::size_t own = 0;
  for (const TunedConfiguration& known : remembered_tuning()) own += known.built_in ? 0 : 1;
  EXPECT_EQ(own, static_cast<std::size_t>(writers * entries));
}

TEST_F(RememberedTuning, IsForgottenByMethodAndDevice) {
  TunedConfiguration other = entry();
  other.method = "bp";
  TunedConfiguration elsewhere = entry();
  elsewhere.device = "another";
  for (const TunedConfiguration& one : {entry(), other, elsewhere}) remember_tuning(one);
  EXPECT_EQ(forget_tuning("census", ""), 0u);
  EXPECT_EQ(forget_tuning("block", "another"), 1u);
  EXPECT_EQ(forget_tuning("", tuned_device_name(device_)), 2u);
  EXPECT_TRUE(found().empty());
  fs::remove(file_);
  EXPECT_EQ(forget_tuning("", ""), 0u);
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(RememberedTuning, WhatOfADriverIsOfThatDriverOnly) {
  TunedConfiguration any = entry({{"pixels_together", "2"}});
  any.driver = "1.0";
  remember_tuning(any);
  EXPECT_TRUE(found().empty());
}

// Entries that no plan uses are not listed.
TEST_F(RememberedTuning, HidesWhatComesWithTheLibrary) {
  const std::vector<TunedConfiguration> built_in = remembered_tuning();
  ASSERT_FALSE(built_in.empty());
  ASSERT_TRUE(built_in.front().built_in);
  TunedConfiguration own = built_in.front();
  own.driver = "1.0";
  own.built_in = false;
  remember_tuning(own);
  const std::vector<TunedConfiguration> all = remembered_tuning();
  EXPECT_EQ(all.size(), built_in.size());
  EXPECT_FALSE(all.front().built_in);
}

// A search among real plans.
TEST_F(RememberedTuning, ASearchTriesRealPlans) {
  parameters_.disparities = 16;
  const SynthPair synthetic = synth(Scene::layers, {64, 40}, 16);
  const StereoPair pair{synthetic.left_view(), synthetic.right_view()};
  for (const TuningSearch which : {TuningSearch::occupancy, TuningSearch::exhaustive}) {
    TuningOptions options;
    options.search = which;
    options.budget_seconds = test::sanitized ? 3 : 0.3;
    const TuningResult result = tune(parameters_, device_, pair, options);
    EXPECT_GT(result.candidates, 100u);
    EXPECT_GT(result.trials.size(), 1u);
    EXPECT_TRUE(result.trials.front().values.empty());
    EXPECT_GT(result.found.default_milliseconds, 0);
    EXPECT_GT(result.found.milliseconds, 0);
    EXPECT_EQ(result.found.device, tuned_device_name(device_));
    EXPECT_EQ(result.found.size_class, 11);
    EXPECT_EQ(result.found.labels, 16);
    EXPECT_TRUE(result.compared);
    for (const TuningTrial& trial : result.trials) {
      EXPECT_EQ(trial.failure, "");
      EXPECT_EQ(trial.footprint.has_value(), which == TuningSearch::occupancy);
    }
    remember_tuning(result.found);
    Matcher(parameters_, device_, format_);
    EXPECT_EQ(tuning_warning(), "");
  }
}

TEST_F(RememberedTuning, IsTriedFirstByASearch) {
  const SynthPair synthetic = synth(Scene::layers, {64, 40}, 16);
  const StereoPair pair{synthetic.left_view(), synthetic.right_view()};
  TuningOptions options;
  options.budget_seconds = 1e-6;
  EXPECT_FALSE(tune(parameters_, device_, pair, options).compared);
  remember_tuning(entry());
  const TuningResult result = tune(parameters_, device_, pair, options);
  EXPECT_TRUE(result.compared);
  ASSERT_EQ(result.trials.size(), 2u);
  EXPECT_EQ(result.trials[1].values, entry().values);
}

// A search checks pairs as a matcher does.
TEST_F(RememberedTuning, ASearchRefusesPairsThatDoNotFit) {
  const SynthPair synthetic = synth(Scene::layers, {64, 40}, 16), other = synth(Scene::layers, {64, 41}, 16);
  for (const StereoPair& pair : {StereoPair{synthetic.left_view(), other.right_view()},
                                 StereoPair{synthetic.left_view(), {}, {}, {}}, StereoPair{}})
    EXPECT_THROW(tune(parameters_, device_, pair), Error);
}

TEST_F(RememberedTuning, WhatCannotBeTunedIsRefused) {
  const SynthPair synthetic = synth(Scene::layers, {64, 40}, 16);
  const StereoPair pair{synthetic.left_view(), synthetic.right_view()};
  EXPECT_THROW(tune(parameters_, reference, pair), Error);
  TuningOptions no_time;
  no_time.budget_seconds = 0;
  EXPECT_THROW(tune(parameters_, device_, pair, no_time), Error);
}

}  // namespace
}  // namespace parallax::test
