// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs as they were given, read and checked; for api/ and experiments/ alone.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::optional<std::int64_t> count;  // how often the operator occurs, of those of a suite
  std::optional<double> measured_us;
  std::optional<tile::RProgram> program;
  // Where a Kernel document was given: `program` is then what it computes (lower/kernel_document.h), or nothing.
  std::shared_ptr<const lower::Module> kernels;
  tile::ProgramPlaces places;       // of its keys, in the first source of a Diagnostics; where it was read
  std::string place;                // what messages about it begin with: its file and line, or its id
  std::vector<std::string> errors;  // each with its place
};

// The lines of JSON lines that are not blank, with their numbers.
std::vector<std::pair<std::size_t, std::string_view>> batch_lines(std::string_view text);

// Reads the lines of one batch; one reader a thread.
class LineReader {
 public:
  LineReader(const std::string& source, const arch::ArchSpec& a) : source_(source), arch_(a) {}

  // A program that does not fit the chip has errors, but for a measured one: what has run fits, whatever is known here
  // of how it was laid out.
  GivenProgram read(std::string_view line, std::size_t number);
  // "file:line: text".
  std::string at_line(std::size_t number, std::string_view text) const;

 private:
  const std::string& source_;
  const arch::ArchSpec& arch_;
  tile::SpaceCache spaces_;
};

// Every line of a batch of measured programs, read on `jobs` threads; one without a time has an error where it needs
// one.
std::vector<GivenProgram> read_measured(const NamedText& batch, const arch::ArchSpec& a, int jobs,
                                        bool needs_time = true);

bool takes(const ProgramFilter& filter, const tile::RProgram& program);

// A program document that fits the chip, or nothing after errors; a note where it was made for another chip. `places`
// are set to those of its keys.
std::optional<tile::RProgram> read_program_file(const NamedText& file, const arch::ArchSpec& a,
                                                base::Diagnostics& diags, tile::ProgramPlaces* places = nullptr);

// All programs of a source, constructed on `jobs` threads where they have to be. Nothing where the workload or the
// program file has mistakes; a batch line that has is a program with errors.
std::optional<std::vector<GivenProgram>> given_programs(const ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                                        base::Diagnostics& diags);

}  // namespace tilescope::api
