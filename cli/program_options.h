// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options that say which operators or programs a command works on.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "api/source.h"
#include "base/diagnostics.h"

namespace tilescope::cli {

// --op with --size and --shape, or --suite; --dtype for either.
class WorkloadOptions {
 public:
  void add_to(CLI::App& command);
  // Adds --mma, --stores, --fuse, --dataflow, --inputs-prearranged and --tensor-location, which the search roller
  // obeys.
  void add_restrictions(CLI::App& command);
  bool given() const { return !op_->empty() || !suite_->empty(); }
  // Adds --sequence.
  void add_sequence(CLI::App& command);
  // Throws what CLI11 throws for a missing option.
  void require() const;
  bool is_suite() const { return !suite_->empty(); }
  api::Workload read() const;

 private:
  api::Workload workload_;
  std::string stores_ = "any", fuse_, dataflow_, tensor_location_;
  CLI::Option* op_ = nullptr;
  CLI::Option* suite_ = nullptr;
};

// Adds --fuse; `fuse` gets its default.
void add_fuse(CLI::App& command, std::string& fuse);
// What was given, which the parser has checked.
base::Fuse fuse_of(const std::string& given);

// Adds --kernel, a Kernel document; excludes the options in `other`.
CLI::Option* add_kernel_file(CLI::App& command, std::string& file, const std::vector<CLI::Option*>& other);

// A workload, or --program, or (if enabled) --batch, or --kernel.
class ProgramOptions {
 public:
  enum Batches { kNoBatches, kBatches };
  enum Kernels { kNoKernels, kKernels };
  void add_to(CLI::App& command, Batches batches, Kernels kernels = kNoKernels);
  // Adds --sequence.
  void add_sequence(CLI::App& command) { workload_.add_sequence(command); }
  // Makes `other` exclude the options that select programs.
  static void exclude(CLI::App& command, CLI::Option& other);
  // Throws what CLI11 throws for a missing option.
  void require_one() const;
  bool is_one() const { return !workload_.is_suite() && batch_file_.empty(); }
  // Throws CLI::ValidationError for a suite or a batch, because `option` needs one program.
  void require_one_for(const std::string& option) const;
  bool is_batch() const { return !batch_file_.empty(); }
  // Returns nullopt after errors: a file that cannot be read, or an unknown dtype.
  std::optional<api::ProgramSource> read(base::Diagnostics& diags) const;

 private:
  WorkloadOptions workload_;
  std::string program_file_, batch_file_, kernel_file_;
};

// --microbench: curves of a chip, instead of programs.
class MicrobenchmarkOption {
 public:
  // The help text is `what` and the names of the curves. Excludes the options that select programs.
  CLI::Option* add_to(CLI::App& command, const std::string& what);
  bool given() const { return option_->count() > 0; }
  // The names as they were given; none means all curves.
  const std::vector<std::string>& curves() const { return curves_; }

 private:
  std::vector<std::string> curves_;
  CLI::Option* option_ = nullptr;
};

// Adds --batch of measured programs.
CLI::Option* add_measured_batch(CLI::App& command, std::string& batch);

// Adds --min-threads and --max-accumulators.
std::array<CLI::Option*, 2> add_program_filter(CLI::App& command, api::ProgramFilter& filter);

// Adds --search: how programs are found.
CLI::Option* add_search(CLI::App& command, std::string& search);

// Adds --budget, with the help text `what`, and --seed, for the searches that try programs.
void add_search_budget(CLI::App& command, const std::string& what, std::size_t& budget, std::uint64_t& seed);

// The file with all programs as a batch, which compile -o writes in addition to its programs.
inline constexpr const char* kBatchFile = "programs.jsonl";

// Writes every program as ID.json, and all of them to kBatchFile; says on stderr why, and returns false, where a file
// cannot be written.
bool write_programs(const std::vector<api::ProgramToWrite>& programs, const std::string& folder);

// Limits of a batch, which may be as long as a tuning log.
inline constexpr base::DocumentLimits kBatchLimits{std::size_t{4} << 30, 64};

// Reads a file within these limits, or the batch in a folder that compile -o wrote; nullopt after an error.
std::optional<api::NamedText> read_batch(const std::string& name, base::Diagnostics& diags);

}  // namespace tilescope::cli
