// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emitted text under construction.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilescope::cuda {

inline constexpr std::size_t kColumns = 120;  // of a line

// Text that grows line by line and knows where it stands.
class Page {
 public:
  // The number of the line that is written.
  int add(std::string_view line) {
    if (!line.empty()) text_.append(2 * depth_, ' ');
    text_.append(line).push_back('\n');
    return line_++;
  }
  // `head` and what follows it, broken into lines before items that do not fit; the number of the first line.
  int add_list(const std::string& head, const std::vector<std::string>& items) {
    const int first = line_;
    std::string now = head;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0 && 2 * depth_ + now.size() + 1 + items[i].size() > kColumns) {
        add(now);
        now.assign(head.size(), ' ');
      } else if (i > 0) {
        now += ' ';
      }
      now += items[i];
    }
    add(now);
    return first;
  }
  void indent() { ++depth_; }
  void outdent() { --depth_; }
  void open(std::string_view line) {
    add(line);
    ++depth_;
  }
  void close() { reopen("}", 0); }
  // Ends what is open, and opens what the line does.
  void reopen(std::string_view line, std::size_t depth = 1) {
    --depth_;
    add(line);
    depth_ += depth;
  }
  void note(std::string_view note) {
    if (!note.empty()) add(fmt::format("// {}", note));
  }

  bool empty() const { return text_.empty(); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int line_ = 1;
  std::size_t depth_ = 0;
};

}  // namespace tilescope::cuda
