// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared code of the YAML and the JSON reader: builds a tree of values from the events of a parser, and makes the
// messages for input beyond the limits. Private to base/.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"

namespace tilescope::base {

// Grows one tree from `begin`, `end`, `key` and `add` calls in the order of the text.
class TreeBuilder {
 public:
  // `begin` is the place of an empty document.
  explicit TreeBuilder(Position begin) { root_.at = begin; }

  // Whether the next event belongs to a map that waits for its next key.
  bool expects_key() const { return !open_.empty() && open_.back()->is_map() && !key_open_; }
  // The place of the key that waits for its value.
  std::optional<Position> waiting_key() const {
    if (!key_open_) return std::nullopt;
    return open_.back()->get_if<Map>()->back().at;
  }
  int depth() const { return static_cast<int>(open_.size()); }

  void key(std::string text, Position at) {
    open_.back()->get_if<Map>()->push_back({std::move(text), {}, at});
    key_open_ = true;
  }

  Value& add(Value value, Position at) {
    Value& place = next_place();
    place = std::move(value);
    place.at = at;
    return place;
  }

  // `container` is an empty List or Map; what follows goes into it until `end`.
  void begin(Value container, Position at) { open_.push_back(&add(std::move(container), at)); }
  void end() { open_.pop_back(); }

  Value take() { return std::move(root_); }

 private:
  Value& next_place() {
    if (open_.empty()) return root_;
    if (List* list = open_.back()->get_if<List>()) return list->emplace_back();
    key_open_ = false;
    return open_.back()->get_if<Map>()->back().value;
  }

  Value root_;
  // Stays valid: a container grows only while it is the innermost open one, so none above it moves.
  std::vector<Value*> open_;
  bool key_open_ = false;
};

// "... bytes long; ..." for a text of that many bytes, or nullopt if it is within the limit.
std::optional<std::string> size_complaint(std::size_t bytes, DocumentLimits limits);

// The error of a container that would be one level deeper than the limit.
std::string depth_complaint(DocumentLimits limits);

// The error of a number that no double holds.
std::string number_complaint();

}  // namespace tilescope::base
