#pragma once
// Where the programs come from that a command works on: constructed for a workload, a program file, or the lines of a
// batch.

#include <optional>
#include <string>

#include "experiments/compile.h"

namespace tilescope::experiments {

struct NamedText {
  std::string name, text;  // of a file
};

// A program file or a batch where there is one; else the workload, of which every operator's first program is taken.
struct ProgramSource {
  Workload workload;
  std::optional<NamedText> program, batch;
};

}  // namespace tilescope::experiments
