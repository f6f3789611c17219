// SPDX-License-Identifier: Apache-2.0
#include "cli/program_options.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/choices.h"
#include "base/document.h"
#include "cli/command.h"
#include "cli/usage.h"
#include "experiments/microbench/simulate.h"

namespace tilescope::cli {
namespace {

template <class T, std::size_t n>
CLI::IsMember one_of(const api::Choices<T, n>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.emplace_back(name);
  return CLI::IsMember(names);
}

std::optional<api::NamedText> file_of(const std::string& name, base::DocumentLimits limits, base::Diagnostics& diags) {
  auto text = base::read_file(name, diags.add_source(name), diags, limits);
  if (!text) return std::nullopt;
  return api::NamedText{name, std::move(*text)};
}

}  // namespace

void WorkloadOptions::add_to(CLI::App& command) {
  op_ = command.add_option("--op", workload_.op, "One operator in index notation: 'C[m,n] +=! A[m,k] * B[k,n]'");
  suite_ = command.add_option("--suite", workload_.suite, "A list of operators: its name (suite list) or a YAML file")
               ->check(some_text());
  op_->excludes(suite_);
  command.add_option("--size", workload_.sizes,
                     "Ranges of the axes of --op: m=4096,n=4096,k=4096; or values of the variables of --suite: "
                     "seq=2048,batch=8");
  command
      .add_option("--shape", workload_.shapes,
                  "Shapes of the inputs of --op, where they reach beyond what is read: I=128,1024,14,14;W=...")
      ->needs(op_);
  add_dtype(command, workload_.dtype);
}

void WorkloadOptions::add_restrictions(CLI::App& command) {
  command
      .add_option("--mma", workload_.instruction,
                  "The only matrix instruction of the chip that may multiply, by its name, or none")
      ->check(some_text());
  command.add_option("--stores", stores_, "How results leave a block: from registers (direct), or as is fastest (any)")
      ->check(CLI::IsMember({"any", "direct"}))
      ->capture_default_str();
  add_fuse(command, fuse_);
  command
      .add_option("--dataflow", dataflow_, "The only way in which inputs come to cores that exchange; any where absent")
      ->check(one_of(api::kDataflow));
  command.add_flag("--inputs-prearranged", workload_.inputs_prearranged,
                   "Inputs lie where programs want them, on chips whose cores exchange: nothing is arranged first");
  command
      .add_option("--tensor-location", tensor_location_,
                  "Where inputs and results of cores that exchange are at home; in the DRAM, where there is one, where "
                  "absent")
      ->check(one_of(api::kTensorLocation));
}

void WorkloadOptions::add_sequence(CLI::App& command) {
  command
      .add_flag("--sequence", workload_.sequence,
                "The operators of --suite run one after another: caches hold what those before have left")
      ->needs(suite_);
}

void WorkloadOptions::require() const {
  if (!given()) throw CLI::RequiredError("--op or --suite");
}

api::Workload WorkloadOptions::read() const {
  api::Workload out = workload_;
  out.direct_stores = stores_ == "direct";
  out.fuse = fuse_of(fuse_);
  out.dataflow = api::chosen(api::kDataflow, dataflow_);
  out.tensor_location = api::chosen(api::kTensorLocation, tensor_location_);
  return out;
}

void add_fuse(CLI::App& command, std::string& fuse) {
  fuse = "all";
  command
      .add_option("--fuse", fuse,
                  "Which stages may share a kernel: none, elementwise ones in registers (inline), or also those that "
                  "pass tensors in the scratchpad (all)")
      ->check(one_of(api::kFuse))
      ->capture_default_str();
}

base::Fuse fuse_of(const std::string& given) { return api::chosen(api::kFuse, given).value_or(base::Fuse::kAll); }

CLI::Option* add_kernel_file(CLI::App& command, std::string& file, const std::vector<CLI::Option*>& other) {
  CLI::Option* option =
      command.add_option("--kernel", file, "A Kernel document, as compile --print kernel --json writes it")
          ->check(some_text());
  for (CLI::Option* o : other) option->excludes(o);
  return option;
}

void ProgramOptions::add_to(CLI::App& command, Batches batches, Kernels kernels) {
  workload_.add_to(command);
  workload_.add_restrictions(command);
  std::vector<CLI::Option*> files;
  files.push_back(
      command.add_option("--program", program_file_, "A program file, as compile -o writes it")->check(some_text()));
  if (batches == kBatches)
    files.push_back(
        command.add_option("--batch", batch_file_, "JSON lines, a program each, or a folder that compile -o wrote")
            ->check(some_text()));
  if (kernels == kKernels) files.push_back(add_kernel_file(command, kernel_file_, files));
  CLI::Option* op = command.get_option("--op");
  CLI::Option* suite = command.get_option("--suite");
  // A program says its own sizes, dtype and instruction.
  for (CLI::Option* f : files)
    f->excludes(op)
        ->excludes(suite)
        ->excludes(command.get_option("--size"))
        ->excludes(command.get_option("--dtype"))
        ->excludes(command.get_option("--mma"))
        ->excludes(command.get_option("--stores"))
        ->excludes(command.get_option("--fuse"))
        ->excludes(command.get_option("--inputs-prearranged"))
        ->excludes(command.get_option("--tensor-location"))
        ->excludes(command.get_option("--dataflow"));
  if (batches == kBatches) files[0]->excludes(files[1]);
}

void ProgramOptions::exclude(CLI::App& command, CLI::Option& other) {
  for (const char* name : {"--op", "--suite", "--program", "--batch", "--kernel"})
    if (CLI::Option* own = command.get_option_no_throw(name)) other.excludes(own);
}

void ProgramOptions::require_one() const {
  if (!workload_.given() && program_file_.empty() && batch_file_.empty() && kernel_file_.empty())
    throw CLI::RequiredError("--op, --suite or --program");
}

void ProgramOptions::require_one_for(const std::string& option) const {
  if (!is_one())
    throw CLI::ValidationError(option, fmt::format("needs one program, from --op or --program; {} may give many",
                                                   is_batch() ? "--batch" : "--suite"));
}

std::optional<api::ProgramSource> ProgramOptions::read(base::Diagnostics& diags) const {
  api::ProgramSource out;
  out.workload = workload_.read();
  if (!program_file_.empty()) out.program = file_of(program_file_, {}, diags);
  if (!batch_file_.empty()) out.batch = read_batch(batch_file_, diags);
  if (!kernel_file_.empty()) out.kernels = file_of(kernel_file_, api::kKernelFileLimits, diags);
  if (!diags.ok()) return std::nullopt;
  return out;
}

CLI::Option* MicrobenchmarkOption::add_to(CLI::App& command, const std::string& what) {
  option_ =
      command
          .add_option("--microbench", curves_, fmt::format("{}: {}", what, fmt::join(experiments::curve_names(), ", ")))
          ->expected(0, -1);
  ProgramOptions::exclude(command, *option_);
  return option_;
}

CLI::Option* add_measured_batch(CLI::App& command, std::string& batch) {
  return command
      .add_option("--batch", batch, "JSON lines, a program and its measured_us each, or a folder that compile -o wrote")
      ->check(some_text());
}

bool write_programs(const std::vector<api::ProgramToWrite>& programs, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    fmt::print(stderr, "{}: cannot be made: {}\n", folder, failed.message());
    return false;
  }
  for (const api::ProgramToWrite& p : programs)
    if (!write_text(base::to_json(p.document, 1) + '\n', fmt::format("{}/{}.json", folder, p.id))) return false;
  return write_text(api::batch_of(programs), fmt::format("{}/{}", folder, kBatchFile));
}

std::optional<api::NamedText> read_batch(const std::string& name, base::Diagnostics& diags) {
  std::error_code failed;
  if (!std::filesystem::is_directory(name, failed)) return file_of(name, kBatchLimits, diags);
  const std::filesystem::path written = std::filesystem::path(name) / kBatchFile;
  if (std::filesystem::exists(written, failed)) return file_of(written.string(), kBatchLimits, diags);
  diags.error({diags.add_source(name)}, fmt::format("a folder without {}, which compile -o writes", kBatchFile));
  return std::nullopt;
}

std::array<CLI::Option*, 2> add_program_filter(CLI::App& command, api::ProgramFilter& filter) {
  return {command.add_option("--min-threads", filter.min_threads, "Leave out programs of fewer threads a block"),
          command.add_option("--max-accumulators", filter.max_accumulators,
                             "Leave out programs of which a thread computes more results at once")};
}

CLI::Option* add_search(CLI::App& command, std::string& search) {
  return command
      .add_option(
          "--search", search,
          fmt::format("How programs are found, one of {} (docs/construct.md)", fmt::join(api::search_names(), ", ")))
      ->capture_default_str();
}

void add_search_budget(CLI::App& command, const std::string& what, std::size_t& budget, std::uint64_t& seed) {
  command.add_option("--budget", budget, what)->check(whole_number(1, 1'000'000))->capture_default_str();
  command.add_option("--seed", seed, "What the chance of searches begins with: the same gives the same programs")
      ->check(whole_number(0, 1'000'000'000))
      ->capture_default_str();
}

}  // namespace tilescope::cli
