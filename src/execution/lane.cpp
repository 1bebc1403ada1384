// SPDX-License-Identifier: Apache-2.0
#include "execution/lane.h"

#include <exception>
#include <new>
#include <utility>

namespace parallax::detail {
namespace {

Attempt failed(Attempt::Result result, const Error& error) {
  return {result, {}, {error.category(), error.what(), error.is_transient()}};
}

// Classifies the exception that is being handled.
Attempt describe_error() {
  using Result = Attempt::Result;
  try {
    throw;
  } catch (const Error& error) {
    const bool by_device = error.category() == ErrorCategory::device;
    // A device that lacks something will always lack it; one that failed may work another time.
    if (by_device && error.is_transient()) return failed(Result::lost, error);
    const bool elsewhere = by_device || error.category() == ErrorCategory::memory;
    return failed(elsewhere ? Result::refused : Result::failed, error);
  } catch (const std::bad_alloc&) {
    return failed(Result::refused, Error(ErrorCategory::memory, "memory ran out: free some memory", true));
  } catch (const std::exception& error) {
    return failed(Result::failed, Error(ErrorCategory::internal, error.what()));
  }
}

}  // namespace

Attempt match(KeptPlans& plans, const Task& task, int threads, bool sleeps) {
  std::unique_ptr<KeptPlans::Kept> kept;
  Attempt attempt;
  try {
    kept = plans.take(task.problem(), threads, sleeps);
    if (kept == nullptr) return {Attempt::Result::later};
    check_run(*kept->plan, kept->problem.format, task.pair, task.map);
    kept->plan->run(task.pair, task.map);
    attempt.stage_times = kept->plan->stage_times;
  } catch (...) {
    attempt = describe_error();
  }
  if (kept == nullptr) return attempt;
  if (attempt.result == Attempt::Result::matched || attempt.failure.category == ErrorCategory::argument)
    plans.give_back(std::move(kept));
  else
    plans.drop(std::move(kept));
  return attempt;
}

}  // namespace parallax::detail
