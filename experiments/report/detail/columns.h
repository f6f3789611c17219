// SPDX-License-Identifier: Apache-2.0
#pragma once
// Columns of a report's document: figures with five digits, texts by number. For the .cc files of experiments/ alone.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/document.h"

namespace tilescope::experiments {

// A number as it is, whole ones without a fraction.
inline base::Value exact(double x) {
  constexpr double kWhole = 1e15;
  if (x == std::floor(x) && std::fabs(x) < kWhole) return static_cast<std::int64_t>(x);
  return x;
}

// Five significant digits: what a drawing shows, and no more bytes.
base::Value figure(double x);

inline base::Value figure(std::optional<double> x) { return x ? figure(*x) : base::Value(); }

// Contents that repeat: each once, and a number for every entry.
template <class Content>
class Coder {
 public:
  // The number of the content, a new one where it was never seen.
  std::int64_t code(const Content& content) {
    const auto [at, added] = numbers_.try_emplace(content, static_cast<std::int64_t>(contents_.size()));
    if (added) contents_.push_back(content);
    return at->second;
  }
  void add(const Content& content) { codes_.emplace_back(code(content)); }
  void add_nothing() { codes_.emplace_back(); }

  const std::vector<Content>& contents() const { return contents_; }
  base::List take_codes() { return std::move(codes_); }

 private:
  std::unordered_map<Content, std::int64_t> numbers_;
  std::vector<Content> contents_;
  base::List codes_;
};

// A column of texts; an empty text is nothing.
class TextColumn {
 public:
  void add(const std::string& text) { text.empty() ? coder_.add_nothing() : coder_.add(text); }
  // {"dictionary","codes"}
  base::Value take();

 private:
  Coder<std::string> coder_;
};

}  // namespace tilescope::experiments
