#include "backends/cuda/device/rows.h"

#include <ctime>
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

Rows::Rows(std::string file) : file_(std::move(file)) { cut_off_ = read(file_); }

void Rows::count_as_done(const std::string& file) { read(file); }

bool Rows::read(const std::string& file) {
  constexpr std::string_view kKey = R"("key":")";
  bool cut_off = false;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    cut_off = in.eof();
    const std::size_t at = line.find(kKey);
    if (at == std::string::npos || !line.ends_with('}')) continue;
    const std::size_t begin = at + kKey.size();
    keys_.insert(line.substr(begin, line.find('"', begin) - begin));
  }
  return cut_off;
}

bool Rows::add(std::string_view row) {
  if (file_.empty()) return true;
  if (!to_.is_open()) {
    to_.open(file_, std::ios::app);
    if (cut_off_) to_ << '\n';
  }
  to_ << row << '\n' << std::flush;
  return to_.good();
}

}  // namespace tilescope::cuda::device
