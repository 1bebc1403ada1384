#include "tools/parallax/silence.h"

#include <mutex>

#include <fcntl.h>
#include <opencv2/core/utils/logger.hpp>
#include <unistd.h>

namespace parallax::tool {
namespace {

std::mutex mutex;
int silences = 0;
int saved = -1;  // standard error, while a Silence lives

int messages() {
  return saved >= 0 ? saved : STDERR_FILENO;
}

}  // namespace

Silence::Silence() {
  const std::lock_guard lock(mutex);
  if (silences++ > 0) return;
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  saved = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (saved >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

Silence::~Silence() {
  const std::lock_guard lock(mutex);
  if (--silences > 0 || saved < 0) return;
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  saved = -1;
}

void write_message(std::string_view text) {
  const std::lock_guard lock(mutex);
  while (!text.empty()) {
    const ssize_t written = ::write(messages(), text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool messages_go_to_a_terminal() {
  const std::lock_guard lock(mutex);
  return ::isatty(messages()) != 0;
}

}  // namespace parallax::tool
