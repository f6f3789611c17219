// SPDX-License-Identifier: Apache-2.0
#include "api/common/new_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace tilescope::api {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr mode_t kMode = 0666;  // and what umask leaves of it

// As many as Linux follows.
constexpr int kMaxLinks = 40;

}  // namespace

std::string behind_links(const std::string& path, std::error_code& why) {
  why.clear();
  fs::path place = path;
  for (int i = 0; fs::is_symlink(fs::symlink_status(place, why)); ++i) {
    if (i == kMaxLinks) why = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    const fs::path to = why ? fs::path() : fs::read_symlink(place, why);
    if (why) return path;
    place = place.parent_path() / to;  // `to` alone where it is absolute
  }
  place = fs::weakly_canonical(place, why);
  return why ? path : place.string();
}

std::string behind_links(const std::string& path) {
  std::error_code why;
  return behind_links(path, why);
}

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  std::error_code error;
  const fs::file_status there = fs::status(path_, error);
  if (fs::exists(there) && !fs::is_regular_file(there))
    form_ = Form::kAsItIs;
  else if (fs::is_symlink(fs::symlink_status(path_, error)))
    follow_links();
  beside_ = fmt::format("{}.{}.part", path_, ::getpid());
  if (form_ == Form::kAsItIs) {
    to_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    const fs::path folder = fs::path(path_).parent_path();
    to_ = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
    if (to_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
      form_ = Form::kBeside;
      to_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    }
  }
  if (to_ < 0) fail();
}

NewFile::~NewFile() {
  if (to_ < 0) return;
  ::close(to_);
  if (form_ == Form::kBeside) ::unlink(beside_.c_str());
}

void NewFile::follow_links() {
  std::error_code why;
  path_ = behind_links(path_, why);
  if (!why) return;
  errno = why.value();
  fail();
}

void NewFile::fail() const {
  throw std::runtime_error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void NewFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBuffer) flush();
}

void NewFile::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t n = ::write(to_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
}

void NewFile::finish() {
  flush();
  if (form_ == Form::kNameless) {  // a link replaces nothing, a new name does
    const std::string open_file = fmt::format("/proc/self/fd/{}", to_);
    const auto link_to = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (!link_to(path_)) {
      if (errno != EEXIST || !link_to(beside_)) fail();
      form_ = Form::kBeside;
    }
  }
  if (form_ == Form::kBeside && std::rename(beside_.c_str(), path_.c_str()) != 0) fail();
  if (::close(std::exchange(to_, -1)) != 0) fail();
}

}  // namespace tilescope::api
