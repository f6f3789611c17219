// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a suite's file (docs/suites.md) with given operators.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::importers {

// A product of tensors over loops. A coordinate is a sum of axes with factors, and a constant.
struct Term {
  std::string axis;
  std::int64_t factor = 1;
};
struct Coordinate {
  std::vector<Term> terms;
  std::int64_t constant = 0;
};
struct Tensor {
  std::string name;
  std::vector<Coordinate> coordinates;
  std::vector<std::int64_t> shape;  // stated where it is larger than what is read; empty where not
};
struct Loop {
  std::string axis;
  std::int64_t size = 0;
};

struct SuiteOperator {
  std::string id;
  Tensor result;
  std::vector<Tensor> operands;
  bool sums = true;  // over the axes that the result lacks; else the operands are added at each point
  std::vector<Loop> loops;
  std::string dtype;    // empty: the file's
  std::string comment;  // behind the id
  base::Position at;    // in the input
  std::int64_t count = 1;
};

struct SuiteFile {
  std::vector<std::string> head;  // lines of the comment at the top
  std::string dtype, dtype_comment;
  std::vector<SuiteOperator> operators;
};

// The file's text. Axes get small letters unless two would be one; ids that are given twice get a number.
std::string text_of(const SuiteFile& file);

// Reads the text as `suite check` does; what is wrong is an error at the input's operator. False after errors.
bool check(const std::string& text, const SuiteFile& file, base::SourceId input, base::Diagnostics& diags);

}  // namespace tilescope::importers
