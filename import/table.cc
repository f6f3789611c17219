// SPDX-License-Identifier: Apache-2.0
#include "import/table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/parse_number.h"
#include "import/formula.h"

namespace tilescope::importers {
namespace {

constexpr double kLargest = 9e15;  // whole numbers up to it are exact

std::string number_text(double v) {
  return v == std::floor(v) && std::abs(v) < kLargest ? fmt::format("{:.0f}", v) : fmt::format("{:.10g}", v);
}

std::string with_unit(double v, std::string_view unit) {
  if (unit == "MHz") v = std::round(v * 1e6) / 1e6;  // whole hertz
  return unit.empty() ? number_text(v) : fmt::format("{} {}", number_text(v), unit);
}

class Application {
 public:
  Application(const Table& table, Ledger& ledger, const Resolve& resolve, const BaseNumber& base_number,
              base::Diagnostics& diags)
      : table_(table), ledger_(ledger), resolve_(resolve), base_number_(base_number), diags_(diags) {
    for (const DefaultRow& d : table.defaults) numbers_[std::string(d.key)] = d.value;
  }

  std::vector<Figure> all() {
    for (const WordRow& w : table_.words) add_word(w);
    check_words();
    for (const FigureRow& f : table_.figures) add_figure(f);
    for (const auto& [name, why] : left_) ledger_.leave(name, why);
    for (const MeaninglessRow& row : table_.meaningless)
      for (const std::string_view key : words_of(row.keys)) ledger_.leave(key, row.reason);
    // The last formula of a figure is that of the oldest files: what it lacks is missing from all.
    for (auto it = lacking_.rbegin(); it != lacking_.rend(); ++it) ledger_.leave(it->first, it->second);
    return std::move(figures_);
  }

 private:
  void add_word(const WordRow& w) {
    const Key* key = find_key(ledger_.keys(), w.key);
    if (key == nullptr || key->text != w.word) return;
    words_taken_.insert(std::string(w.key));
    if (w.path == "-") {
      ledger_.leave(w.key, w.value);
      return;
    }
    if (w.path.starts_with('$')) {
      numbers_[std::string(w.path)] = base::parse_real(w.value).value_or(0);
      said_by_[std::string(w.path)] = key;
      ledger_.take(w.key, fmt::format("{} {}", w.path.substr(1), w.value));
      return;
    }
    const Resolved to = resolve_(w.path);
    if (!to.path) return leave({std::string(w.key)}, to.why);
    set(*to.path, std::string(w.value), fmt::format("{} = {}", w.key, w.word), key->at);
    ledger_.take(w.key, fmt::format("{}: {}", *to.path, w.value));
  }

  // A key with words that has none of them.
  void check_words() {
    std::map<std::string_view, std::vector<std::string_view>> words;
    for (const WordRow& w : table_.words) {
      auto& of = words[w.key];
      if (std::find(of.begin(), of.end(), w.word) == of.end()) of.push_back(w.word);
    }
    for (const auto& [name, of] : words) {
      const Key* key = find_key(ledger_.keys(), name);
      if (key == nullptr || words_taken_.contains(std::string(name))) continue;
      diags_.error(key->at, fmt::format("{}: expected one of {}, got '{}'{}", name, fmt::join(of, ", "), key->text,
                                        base::did_you_mean(key->text, of)));
      ledger_.take(name, "");
    }
  }

  void add_figure(const FigureRow& row) {
    const std::vector<std::string> names = names_in(row.formula);
    for (const std::string& name : names) add_base_number(name);
    for (const std::string& name : names)
      if (key_of(name) == nullptr && !numbers_.contains(name)) return lack(row, names, name);
    const Key* first = first_of(names);
    if (first == nullptr && !names.empty()) return;
    const bool is_formula = names.size() != 1 || names.front() != row.formula;
    const Resolved to = resolve_(row.path);
    if (!to.path) return leave(names, to.why);
    if (const auto set = made_by_.find(*to.path); set != made_by_.end())
      return leave(names, fmt::format("{} follows from {}", *to.path, set->second));
    const auto value = value_of(row, names);
    if (!value) return;
    if (*value == 0) return leave(names, fmt::format("comes to 0: no {}", *to.path));
    std::string rule(row.formula);
    if (!row.note.empty()) rule += fmt::format("; {}", row.note);
    std::string text = with_unit(*value, row.unit);
    std::string became = fmt::format("{}: {}", *to.path, text);
    if (is_formula) became += fmt::format(" ({})", row.formula);
    for (const std::string& name : names) ledger_.take(name, became);
    set(*to.path, std::move(text), std::move(rule), first == nullptr ? base::Position{} : first->at);
  }

  void add_base_number(const std::string& name) {
    constexpr std::string_view kBase = "base.";
    if (!name.starts_with(kBase) || numbers_.contains(name)) return;
    if (const auto number = base_number_(std::string_view(name).substr(kBase.size()))) numbers_[name] = *number;
  }

  std::optional<double> value_of(const FigureRow& row, const std::vector<std::string>& names) {
    std::map<std::string, double, std::less<>> values;
    for (const std::string& name : names) {
      const Key* key = find_key(ledger_.keys(), name);
      if (key == nullptr) {
        values[name] = numbers_.at(name);
        continue;
      }
      const auto number = base::parse_real(key->text);
      if (!number) {
        refuse(*key, fmt::format("{}: expected a number, got '{}'", key->name, key->text));
        return std::nullopt;
      }
      values[name] = *number;
    }
    const double v = evaluate(row.formula, [&](std::string_view name) { return values.find(name)->second; });
    if (std::isfinite(v) && (v > 0 || (v == 0 && row.none_is_0)) && v < kLargest * 1e3) return v;
    const Key* key = first_of(names);
    base::check(key != nullptr, "a figure of the format itself is an amount above 0");
    refuse(*key, fmt::format("{}: {} comes to {:.6g}, which is no amount above 0", key->name, row.formula, v));
    return std::nullopt;
  }

  // The key of a name, or the one whose word says its number.
  const Key* key_of(const std::string& name) const {
    const auto said = said_by_.find(name);
    return said != said_by_.end() ? said->second : find_key(ledger_.keys(), name);
  }

  const Key* first_of(const std::vector<std::string>& names) const {
    for (const std::string& name : names)
      if (const Key* key = key_of(name)) return key;
    return nullptr;
  }

  // Each key is complained about once, however many formulas it is in.
  void refuse(const Key& key, std::string text) {
    ledger_.take(key.name, "");
    if (refused_.insert(key.name).second) diags_.error(key.at, std::move(text));
  }

  // For keys that no other row takes.
  void leave(const std::vector<std::string>& names, const std::string& why) {
    for (const std::string& name : names) left_.emplace_back(name, why);
  }

  // A figure that cannot be made, for the input has no key `missing`. A key that no other row takes says so.
  void lack(const FigureRow& row, const std::vector<std::string>& names, std::string_view missing) {
    constexpr std::string_view kBase = "base.";
    std::string why = fmt::format("no {}: the file states no {}", row.path, missing);
    if (missing.starts_with(kBase))
      why = fmt::format("no {}: the device has no {}", row.path, missing.substr(kBase.size()));
    if (missing.starts_with('$')) {
      const auto word =
          std::find_if(table_.words.begin(), table_.words.end(), [&](const WordRow& w) { return w.path == missing; });
      if (word == table_.words.end()) return;
      why = fmt::format("no {}: {} is not {}", row.path, word->key, word->word);
    }
    for (const std::string& name : names)
      if (find_key(ledger_.keys(), name) != nullptr) lacking_.emplace_back(name, why);
  }

  void set(std::string path, std::string value, std::string rule, base::Position at) {
    made_by_[path] = rule;
    figures_.push_back({std::move(path), std::move(value), std::move(rule), at});
  }

  const Table& table_;
  Ledger& ledger_;
  const Resolve& resolve_;
  const BaseNumber& base_number_;
  base::Diagnostics& diags_;
  std::map<std::string, double> numbers_;  // defaults, and what words say
  std::set<std::string> words_taken_, refused_;
  std::map<std::string, const Key*> said_by_;
  std::map<std::string, std::string> made_by_;
  std::vector<std::pair<std::string, std::string>> left_;     // name, reason
  std::vector<std::pair<std::string, std::string>> lacking_;  // likewise, where no row of meaningless keys has one
  std::vector<Figure> figures_;
};

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::vector<Figure> apply(const Table& table, Ledger& ledger, const Resolve& resolve, const BaseNumber& base_number,
                          base::Diagnostics& diags) {
  return Application(table, ledger, resolve, base_number, diags).all();
}

std::vector<std::string_view> known_keys(const Table& table) {
  std::vector<std::string_view> out;
  for (const FigureRow& f : table.figures)
    for (const std::string& name : names_in(f.formula)) {
      const std::size_t at = f.formula.find(name);
      out.push_back(f.formula.substr(at, name.size()));
    }
  for (const PartsRow& p : table.parts) out.push_back(p.key);
  for (const WordRow& w : table.words) out.push_back(w.key);
  for (const MeaninglessRow& m : table.meaningless)
    for (const std::string_view key : words_of(m.keys)) out.push_back(key);
  return out;
}

}  // namespace tilescope::importers
