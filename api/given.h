// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and checks the programs given to a command; for api/ and experiments/ only.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/sequence.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/program.h"
#include "tile/stage_reader.h"

namespace tilescope::lower {
struct Module;
}

namespace tilescope::api {

// One program, or why there is none.
struct GivenProgram {
  std::string id, kind, group;
  std::size_t rank = 0;               // among those constructed for its operator
  std::optional<std::int64_t> count;  // how often the operator occurs in its suite, if it is of one
  std::optional<double> measured_us;
  std::optional<tile::RProgram> program;
  // Set if a Kernel document was given; `program` is then what it computes (lower/kernel_document.h), if it says so.
  std::shared_ptr<const lower::Module> kernels;
  tile::ProgramPlaces places;       // of its keys, in the first source of a Diagnostics, if it was read
  std::string place;                // prefix of messages about it: its file and line, or its id
  std::vector<std::string> errors;  // each with its place
};

// The lines of a JSON-lines text that are not blank, with their line numbers.
std::vector<std::pair<std::size_t, std::string_view>> batch_lines(std::string_view text);

// Reads the lines of one batch; use one reader per thread.
class LineReader {
 public:
  LineReader(const std::string& source, const arch::ArchSpec& a) : source_(source), arch_(a) {}

  // Reads one program. A program that does not fit the chip gets errors, unless it was measured: a program that ran
  // must have fit.
  GivenProgram read(std::string_view line, std::size_t number);
  // "file:line: text".
  std::string at_line(std::size_t number, std::string_view text) const;

 private:
  const std::string& source_;
  const arch::ArchSpec& arch_;
  tile::SpaceCache spaces_;
};

// Reads every line of a batch of measured programs on `jobs` threads. With `needs_time`, a line without a measured time
// gets an error.
std::vector<GivenProgram> read_measured(const NamedText& batch, const arch::ArchSpec& a, int jobs,
                                        bool needs_time = true);

bool takes(const ProgramFilter& filter, const tile::RProgram& program);

// Reads a program document that fits the chip; nullopt after errors. Adds a note if the program was made for another
// chip. Sets `places` to the places of its keys.
std::optional<tile::RProgram> read_program_file(const NamedText& file, const arch::ArchSpec& a,
                                                base::Diagnostics& diags, tile::ProgramPlaces* places = nullptr);

// All programs of a source; those of a workload are constructed on `jobs` threads. Returns nullopt if the workload or
// the program file has mistakes. A batch line with mistakes becomes a program with errors. Sets `sequence`, where it is
// not null, to that of a workload that is one.
std::optional<std::vector<GivenProgram>> given_programs(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                                        base::Diagnostics& diags,
                                                        std::optional<Sequence>* sequence = nullptr);

}  // namespace tilescope::api
