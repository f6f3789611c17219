// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::base {
namespace {

// Levenshtein distance with transpositions of neighbours counted as one mistake (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before(columns), last(columns), row(columns);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t swap_cost = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + swap_cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

SourceId Diagnostics::add_source(std::string name) {
  sources_.push_back(std::move(name));
  return static_cast<SourceId>(sources_.size() - 1);
}

void Diagnostics::error(Position at, std::string text) {
  ++reported_;
  Diagnostic d{at, std::move(text)};
  // Two readers may look at one value; the user needs its mistake once.
  if (std::find(errors_.begin(), errors_.end(), d) != errors_.end()) return;
  if (errors_.size() < kMaxErrors)
    errors_.push_back(std::move(d));
  else
    ++dropped_;
}

void Diagnostics::note(Position at, std::string text) { notes_.push_back({at, std::move(text)}); }

const std::string& Diagnostics::source_name(SourceId id) const {
  const auto index = static_cast<std::size_t>(id);
  check(index < sources_.size(), "a position names a registered source");
  return sources_[index];
}

std::string Diagnostics::format(const Diagnostic& d) const {
  const std::string& source = source_name(d.at.source);
  if (d.at.line == 0) return fmt::format("{}: {}", source, d.text);
  return fmt::format("{}:{}:{}: {}", source, d.at.line, d.at.column, d.text);
}

std::vector<std::string> Diagnostics::sentences() const {
  std::vector<std::string> out;
  for (const Diagnostic& d : errors_) out.push_back(d.text);
  return out;
}

std::vector<std::string> Diagnostics::formatted_errors() const {
  std::vector<Diagnostic> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.at.source, a.at.line, a.at.column) < std::tie(b.at.source, b.at.line, b.at.column);
  });
  std::vector<std::string> out;
  for (const Diagnostic& d : sorted) out.push_back(format(d));
  if (dropped_ > 0) out.push_back(fmt::format("and {} more mistakes", dropped_));
  return out;
}

namespace {

// Upper case is written as lower case: "V100" is v100.
std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongestWord = 64;  // a distance over pasted garbage helps no user and costs its square
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string own = folded(word);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view c : candidates) {
    const std::size_t d = edit_distance(own, folded(c));
    if (d < best_distance && d < std::max(word.size(), c.size())) {  // something of the word is left
      best_distance = d;
      best = c;
    }
  }
  return best.empty() ? std::string{} : fmt::format("; did you mean '{}'?", best);
}

}  // namespace tilescope::base
