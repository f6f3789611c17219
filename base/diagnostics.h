// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mistakes in the input, reported all at once, each with its place: `file:line:col: what is wrong`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::base {

// Index of an input (a file, `--set path=value`, `--op`) within one Diagnostics.
enum class SourceId : std::uint32_t {};

// A place in an input; line and column count from 1. Line 0 means the input as a whole.
struct Position {
  SourceId source{};
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool operator==(const Position&) const = default;
};

struct Diagnostic {
  Position at;
  std::string text;

  bool operator==(const Diagnostic&) const = default;
};

// Collects mistakes and notes; readers take it by reference, add to it and go on, so that one run reports every
// mistake.
class Diagnostics {
 public:
  // Registers an input by the name that messages show.
  SourceId add_source(std::string name);

  // Keeps the first kMaxErrors; what a reader finds beyond them is only counted.
  void error(Position at, std::string text);
  // Something the user should know that does not stop the work.
  void note(Position at, std::string text);

  static constexpr std::size_t kMaxErrors = 200;

  bool ok() const { return errors_.empty(); }
  // Number of calls of error, including repeated mistakes. A check compares it before and after to tell whether it
  // found any.
  std::size_t count() const { return reported_; }
  const std::vector<Diagnostic>& errors() const { return errors_; }
  const std::vector<Diagnostic>& notes() const { return notes_; }
  const std::string& source_name(SourceId id) const;

  // `file:line:col: text`, or `file: text` where the place is the whole input.
  std::string format(const Diagnostic& d) const;
  // The texts of the errors without their places, in the order in which they were found.
  std::vector<std::string> sentences() const;
  // Every error, in the order of the inputs and then of the places, one per line; last, how many more there were.
  std::vector<std::string> formatted_errors() const;

 private:
  std::vector<std::string> sources_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> notes_;
  std::size_t dropped_ = 0, reported_ = 0;
};

// The candidate closest to a mistyped `word`, as "; did you mean 'x'?", or empty when none is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace tilescope::base
