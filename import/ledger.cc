// SPDX-License-Identifier: Apache-2.0
#include "import/ledger.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilescope::importers {
namespace {

// "[*].equation" of "[12].equation".
std::string without_numbers(const std::string& name) {
  std::string out;
  bool inside = false;
  for (const char c : name) {
    if (!inside || c == ']') out += c;
    if (c == '[') {
      inside = true;
      out += '*';
    }
    if (c == ']') inside = false;
  }
  return out;
}

// The last part of a path, which a typo is in.
std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Adds a line, or counts one more key on the line that has the same name and text.
template <class Entry, class Same>
void add_line(std::vector<Entry>& lines, std::vector<std::size_t>& counts, Entry line, Same same) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const Entry& l) { return same(l, line); });
  if (found == lines.end()) {
    lines.push_back(std::move(line));
    counts.push_back(1);
    return;
  }
  const auto i = static_cast<std::size_t>(found - lines.begin());
  ++counts[i];
}

template <class Entry>
void say_counts(std::vector<Entry>& lines, const std::vector<std::size_t>& counts) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (counts[i] > 1) lines[i].value = fmt::format("{} values", counts[i]);
}

}  // namespace

template <class Claim>
bool Ledger::for_each_below(std::string_view name, Claim claim) {
  bool any = false;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const std::string_view key = keys_[i].name;
    if (!key.starts_with(name)) continue;
    if (key.size() > name.size() && key[name.size()] != '.' && key[name.size()] != '[') continue;
    any = true;
    claim(fates_[i]);
  }
  return any;
}

bool Ledger::take(std::string_view name, std::string_view became) {
  return for_each_below(name, [&](State& s) {
    if (s.fate == Fate::kMeaningless) return;
    if (s.fate == Fate::kTaken && s.text.find(became) != std::string::npos) return;
    s.text += (s.text.empty() ? "" : "; ") + std::string(became);
    s.fate = Fate::kTaken;
  });
}

bool Ledger::leave(std::string_view name, std::string_view reason) {
  return for_each_below(name, [&](State& s) {
    if (s.fate == Fate::kNone) s = {Fate::kMeaningless, std::string(reason)};
  });
}

Report Ledger::report(const std::vector<std::string_view>& known) const {
  Report out;
  std::vector<std::size_t> taken, meaningless;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    const std::string name = without_numbers(key.name);
    switch (fates_[i].fate) {
      case Fate::kTaken:
        add_line(out.taken, taken, {name, key.text, fates_[i].text},
                 [](const TakenKey& a, const TakenKey& b) { return a.key == b.key && a.became == b.became; });
        break;
      case Fate::kMeaningless:
        add_line(
            out.meaningless, meaningless, {name, key.text, fates_[i].text},
            [](const MeaninglessKey& a, const MeaninglessKey& b) { return a.key == b.key && a.reason == b.reason; });
        break;
      case Fate::kNone: {
        // A column of a table is one key.
        if (!out.unknown.empty() && out.unknown.back().at == key.at) break;
        std::string hint = base::did_you_mean(key.name, known);
        if (hint.empty()) hint = base::did_you_mean(last_part(key.name), known);
        out.unknown.push_back({key.name, key.text, std::move(hint), key.at});
      }
    }
  }
  say_counts(out.taken, taken);
  say_counts(out.meaningless, meaningless);
  return out;
}

}  // namespace tilescope::importers
