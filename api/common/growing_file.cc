// SPDX-License-Identifier: Apache-2.0
#include "api/common/growing_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace tilescope::api {

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  std::error_code failed;
  if (std::filesystem::exists(path_, failed) && !std::filesystem::is_regular_file(path_, failed))
    throw std::runtime_error(fmt::format("{}: expected a regular file", path_));
  constexpr mode_t kMode = 0666;  // and what umask leaves of it
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (file_ < 0) fail("cannot be written");
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) throw std::runtime_error(fmt::format("{}: another process adds to it", path_));
      fail("cannot be locked");
    }
    std::array<char, 1 << 16> piece{};
    for (ssize_t n = 0; (n = ::read(file_, piece.data(), piece.size())) != 0;) {
      if (n < 0 && errno != EINTR) fail("cannot be read");
      if (n > 0) text_.append(piece.data(), static_cast<std::size_t>(n));
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

GrowingFile::~GrowingFile() { ::close(file_); }

void GrowingFile::cut(std::size_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail("cannot be written");
}

void GrowingFile::add(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file_, text.data(), text.size());
    if (n < 0 && errno != EINTR) fail("cannot be written");
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void GrowingFile::fail(std::string_view what) const {
  throw std::runtime_error(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

}  // namespace tilescope::api
