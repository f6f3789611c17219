// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip from a data sheet: the figures that a sheet states, over a device of ours that supplies all others
// (`tilescope arch new`).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "import/nearest.h"

namespace tilescope::importers {

// A figure of a data sheet as it is asked for: `cores`, `clock`, `peak f16`, `bandwidth dram`, `capacity l2`, `power`.
struct Question {
  std::string key;      // as --KEY has it, with a name behind it where there are several
  std::string asks;     // in words, with what an answer looks like
  std::string current;  // what the device has, as an answer writes it
};

// What a data sheet of a chip like the device states.
std::vector<Question> questions_of(const Base& base);

// One answer, with the place that messages name.
struct Answer {
  std::string key, value;
  base::Position at;
};

// An assumed figure, and by how many percent times change for each percent of it: of a product of matrices and of a
// copy of memory, each with its best program.
struct AssumedFigure {
  std::string path, value;
  double product = 0, copy = 0;
};

struct NewChip {
  std::string text;                    // of its file, which extends the device
  std::vector<AssumedFigure> assumed;  // those that move a time, strongest first
  std::size_t unmoved = 0;             // assumed figures that move neither time
  std::string product, copy;           // the two operators, in words
};

struct NewChipOptions {
  std::string name;
  std::vector<Answer> answers;
  std::vector<std::pair<std::string, std::string>> sets;  // further figures by path
  int jobs = 1;
};

// The chip; nullopt after errors, each at its answer.
std::optional<NewChip> new_chip(const Base& base, const NewChipOptions& options, base::Diagnostics& diags);

}  // namespace tilescope::importers
