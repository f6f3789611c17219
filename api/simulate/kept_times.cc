// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/kept_times.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "base/document.h"

namespace tilescope::api {

KeptTimes::KeptTimes(const std::string& file) : name_(file) {
  if (file.empty()) return;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    base::Diagnostics unread;
    const auto row = base::read_json(line, unread.add_source(file), unread);
    const base::Value* key = row ? row->find("key") : nullptr;
    const base::Value* us = row ? row->find("us") : nullptr;
    if (key == nullptr || us == nullptr || key->get_if<std::string>() == nullptr) continue;
    const std::int64_t* whole = us->get_if<std::int64_t>();
    const double* time = us->get_if<double>();
    const double value = whole != nullptr  ? static_cast<double>(*whole)
                         : time != nullptr ? *time
                                           : std::numeric_limits<double>::infinity();
    const bool is_time = whole != nullptr || time != nullptr;
    if (us->get_if<std::nullptr_t>() == nullptr && !(is_time && value > 0)) continue;  // it is simulated again
    times_[*key->get_if<std::string>()] = value;
  }
  file_.open(file, std::ios::app);
  file_ << '\n';  // after what may have been cut off
  if (!file_.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", file));
}

const double* KeptTimes::find(const std::string& key) const {
  const auto found = times_.find(key);
  return found == times_.end() ? nullptr : &found->second;
}

void KeptTimes::add(const std::string& key, double us) {
  times_[key] = us;
  if (name_.empty()) return;
  const base::Value value = std::isinf(us) ? base::Value(nullptr) : base::Value(us);
  file_ << base::to_json(base::Map{{"key", key}, {"us", value}}) << '\n';
  if (!file_.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", name_));
}

}  // namespace tilescope::api
