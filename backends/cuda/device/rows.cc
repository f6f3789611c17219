// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/rows.h"

#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tilescope::cuda::device {
namespace {

std::string date() {
  const std::time_t now = std::time(nullptr);
  char text[32] = {};
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

JsonObject row_head(const Plan& plan, const Task& task) {
  JsonObject row;
  row.add("id", task.id);
  row.add("key", task.key);
  for (const Notes* notes : {&plan.notes, &task.notes})
    for (const auto& [key, words] : *notes) row.add_note(key, words);
  row.add("date", date());
  return row;
}

std::string text_under(std::string_view key, std::string_view line) {
  // Quotes within a text have a backslash before them: this is found as a key alone.
  const std::string begin = "\"" + std::string(key) + "\":\"";
  const std::size_t at = line.find(begin);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + begin.size());
  return std::string(line.substr(0, line.find('"')));
}

Rows::Rows(std::string file) : file_(std::move(file)) { whole_ = read(file_); }

void Rows::count_as_done(const std::string& file) { read(file); }

bool Rows::has(const Task& task, const std::string& device) const {
  const auto found = done_.find(task.key);
  return found != done_.end() && found->second.contains(device);
}

std::optional<std::uintmax_t> Rows::read(const std::string& file) {
  std::uintmax_t whole = 0;
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line); whole += line.size() + 1) {
    if (in.eof()) return whole;
    const std::string key = text_under("key", line);
    if (key.empty() || !line.ends_with('}')) continue;
    if (line.find(R"("error":)") == std::string::npos || text_under("values", line) == "wrong")
      done_[key].insert(text_under("device", line));
    else
      failed_.insert(key);
  }
  return std::nullopt;
}

bool Rows::add(std::string_view row) {
  if (file_.empty()) return true;
  if (!to_.is_open()) {
    std::error_code error;
    if (whole_) std::filesystem::resize_file(file_, *whole_, error);
    if (error) return false;
    to_.open(file_, std::ios::app);
  }
  to_ << row << '\n' << std::flush;
  return to_.good();
}

}  // namespace tilescope::cuda::device
