// SPDX-License-Identifier: Apache-2.0
// Random programs, lowered, emitted and run: values against the plain-loop reference, counters against a naive count.

#include "tests/support/lowered.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "backends/cuda/emit.h"
#include "backends/cuda/host_run.h"
#include "lower/expected_values.h"
#include "lower/known_guards.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "lower/statement_parts.h"
#include "tests/support/interpreted.h"
#include "tests/support/random_instruction.h"
#include "tests/support/random_matrix_program.h"
#include "tests/unit/backends_cuda/kernels.h"
#include "tests/unit/backends_cuda/naive_counters.h"

namespace tilescope::cuda {
namespace {

constexpr int kPrograms = 16;  // of one property: they share a compilation

constexpr int kWholeRange = 100;  // size at which rapidcheck draws from all of a range

struct GeneratedProgram {
  tile::RProgram program;
  lower::Module module;
};

bool small(const lower::Module& m) {
  return std::all_of(m.kernels.begin(), m.kernels.end(), [](const auto& k) { return k.blocks * k.threads <= 20000; });
}

using ProgramGenerator = std::function<tile::RProgram()>;

constexpr int kMaxGenerated = 100 * kPrograms;  // at most: hardly a program of some chips is small

// Programs small enough that every access can be looked at.
std::vector<GeneratedProgram> any_lowered(const arch::ArchSpec& chip, const ProgramGenerator& any) {
  std::vector<GeneratedProgram> out;
  for (int n = 0; n < kMaxGenerated && out.size() < kPrograms; ++n) {
    std::optional<tile::RProgram> p;
    try {
      p = *rc::gen::resize(kWholeRange, rc::gen::exec(any));
    } catch (const rc::detail::CaseResult&) {
      continue;  // what was drawn means nothing
    }
    base::Diagnostics diags;
    if (auto m = lower::lower(*p, chip, diags); m && small(*m)) out.push_back({std::move(*p), std::move(*m)});
  }
  return out;
}

double worst_difference(const expr::Values& a, const expr::Values& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = std::fabs(a[i] - b[i]) / std::fmax(1, std::fabs(b[i]));
    worst = std::isnan(d) ? INFINITY : std::fmax(worst, d);
  }
  return worst;
}

// A few units in the last place; functions of integers are far from where they would round otherwise.
double tolerance_of(base::Dtype dtype) {
  if (base::is_integer(dtype)) return 0;
  if (dtype == base::Dtype::kF64) return 1e-14;
  if (base::is_float8(dtype)) return dtype == base::Dtype::kF8E4M3 || dtype == base::Dtype::kF8E4M3Fnuz ? 0.13 : 0.26;
  if (dtype == base::Dtype::kBf16) return 3e-2;
  return dtype == base::Dtype::kF16 || dtype == base::Dtype::kTf32 ? 4e-3 : 2e-6;
}

lower::Module without_known_guards(lower::Module m) {
  for (lower::Kernel& k : m.kernels) k = lower::without_known_guards(std::move(k));
  return m;
}

std::int64_t guards_in(const lower::Module& m) {
  std::int64_t n = 0;
  for (const lower::Kernel& k : m.kernels)
    lower::for_each_statement(
        k.body, [&](const lower::Statement& s) { lower::for_each_guard(s, [&](const lower::Affine&) { ++n; }); });
  return n;
}

void check(HostCompiler& host, int id, const GeneratedProgram& d, const arch::ArchSpec& chip) {
  for (const tile::StageProgram& s : d.program.simt()) RC_LOG() << s.space->stage().text << '\n';
  RC_LOG() << lower::print(d.module) << '\n';
  std::mt19937 random(7);
  lower::NamedValues values;
  lower::add_expected_values(d.program, random, values);
  RC_ASSERT(tests::wrong_outputs(d.program, d.module) == "");
  lower::Module known = d.module;  // with the tables that a stage computes
  const auto tables = lower::index_tables(d.module);
  for (std::size_t g = 0; g < tables.size(); ++g)
    if (const expr::Values& of = values[known.globals[g].name]; tables[g] != nullptr)
      known.globals[g].entries = std::make_shared<const std::vector<std::int32_t>>(of.begin(), of.end());
  const std::vector<double> scalars(d.module.scalars.size(), lower::kScalar);
  for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting}) {
    const HostResult r = host.run(id, {build, 1, scalars, lower::globals_of(d.module, values)});
    RC_LOG() << r.error << '\n';
    RC_ASSERT(r.ok());
    for (std::size_t g = 0; g < d.module.globals.size(); ++g) {
      const lower::Global& global = d.module.globals[g];
      const double tolerance = tolerance_of(d.program.space(0).expression.dtype);
      if (global.role == lower::Role::kOutput)
        RC_ASSERT(worst_difference(r.globals[g], values.at(global.name)) <= tolerance);
    }
    if (build == HostBuild::kCounting) RC_ASSERT(r.counters == tests::naive_counters(known, chip));
  }
  // The naive count tries every guard in every thread.
  RC_ASSERT(tests::naive_counters(without_known_guards(known), chip) == tests::naive_counters(known, chip));
}

void check_programs_of(const arch::ArchSpec& chip, const ProgramGenerator& any) {
  HostCompiler host(chip);
  const std::vector<GeneratedProgram> all = any_lowered(chip, any);
  if (all.empty()) RC_DISCARD("no small program");
  for (const GeneratedProgram& d : all) host.add(d.module);
  for (std::size_t i = 0; i < all.size(); ++i) check(host, static_cast<int>(i), all[i], chip);
}

// The program is drawn anew for every shrink and compiled again, so none is shrunk.
void expect_holds(const std::function<void()>& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::min(params.maxSuccess, 2);
  params.disableShrinking = true;
  const auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << text.str();
}

// The next step's copies stand behind a guard of the step, which implies those of their elements along k: 512 steps of
// 8 are all of k. Where k has a rest, they stay.
TEST(KnownGuards, OfAStepImplyThoseOfItsElements) {
  const auto loads = [](const std::string& k) {
    const arch::ArchSpec chip = tests::chip("v100");
    return tests::lowered(
        tests::program(R"({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":64,"n":64,"k":)" +
                           k +
                           R"(},"dtype":"f32","tiles":{"smem":{"m":64,"n":64,"k":8}},)"
                           R"("mapping":{"m":{"threads":8,"per_thread":8},"n":{"threads":8,"per_thread":8}},)"
                           R"("num_stages":2}],"edges":[]})",
                       chip),
        chip);
  };
  const lower::Module whole = loads("4096"), rest = loads("4093");
  EXPECT_GT(guards_in(whole), 2);
  EXPECT_EQ(guards_in(without_known_guards(whole)), 2) << "of the steps: load, and keep";
  EXPECT_GT(guards_in(without_known_guards(rest)), 2);
}

// An If that always holds leaves its statements, with its note; one that never does leaves a copy that no thread makes.
TEST(KnownGuards, OfAnIf) {
  const auto with_bound = [](std::int64_t bound, std::int64_t from) {
    tests::KernelMaker k("guarded", 1, 32);
    const int in = k.global("I", 64, lower::Role::kInput), out = k.global("O", 64, lower::Role::kOutput);
    const int r = k.registers("value", 1), i = k.loop("i", 2);
    tests::Body inner, body;
    inner.push_back(tests::copy(r, {}, in, k.at(i) * 32 + k.thread()));
    body.push_back(tests::noted({lower::If{{{k.at(i) - lower::constant(from), bound}}, std::move(inner)}, {}}, "all"));
    body.push_back(tests::copy(out, k.at(i) * 32 + k.thread(), r, {}));
    tests::Body all;
    all.push_back(tests::looped(i, std::move(body)));
    return emit(k.finish(std::move(all)));
  };
  const auto text = [](const Emitted& e) { return std::string(e.kernels_text()); };
  const Emitted always = with_bound(2, 0), sometimes = with_bound(1, 0), never = with_bound(2, 2);
  EXPECT_EQ(text(always).find("if ("), std::string::npos);
  EXPECT_NE(text(always).find("    // all\n    load<1>("), std::string::npos);
  EXPECT_NE(text(sometimes).find("if (i < 1) {"), std::string::npos);
  EXPECT_EQ(text(never).find("load<1>("), std::string::npos);
  EXPECT_NE(text(never).find("    // no thread copies here\n"), std::string::npos);
  EXPECT_EQ(never.kernels[0].copy_lines.size(), 2U);
}

TEST(LoweredPrograms, RunAsTheyShould) {
  if (const auto why = HostCompiler(tests::chip("v100")).why_unsupported()) GTEST_SKIP() << *why;
  expect_holds([] {
    arch::ArchSpec chip = tests::chip("v100");
    if (tests::any_of_range(0, 1) == 1) chip.core.async_copy = base::Bytes{4};
    check_programs_of(chip, [chip] { return tests::any_rprogram(chip, 7, 96); });
  });
}

// Warps of 16, 32 and 64 lanes, loads of rows and of single elements, copies of elements.
TEST(LoweredPrograms, RunAsTheyShouldOnEveryMatrixUnit) {
  if (const auto why = HostCompiler(tests::chip("v100")).why_unsupported()) GTEST_SKIP() << *why;
  expect_holds([] {
    const arch::ArchSpec chip = tests::chip(tests::any_element<std::string>(
        {"v100", "t4", "rtx3090", "a100", "h100_pcie", "mi100", "mi210", "tilescope_two"}));
    RC_LOG() << chip.name << '\n';
    check_programs_of(chip, [chip] { return tests::any_matrix_program(chip); });
  });
}

TEST(LoweredPrograms, RunAsTheyShouldOnMadeUpMatrixUnits) {
  if (const auto why = HostCompiler(tests::chip("v100")).why_unsupported()) GTEST_SKIP() << *why;
  expect_holds([] {
    const arch::ArchSpec chip = tests::any_matrix_chip(tests::chip("tilescope_two"));
    RC_LOG() << tests::words_of(chip.compute.back()) << '\n';
    check_programs_of(chip, [chip] { return tests::any_matrix_program(chip); });
  });
}

TEST(LoweredPrograms, RunAsTheyShouldInBoxes) {
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  if (const auto why = HostCompiler(chip).why_unsupported()) GTEST_SKIP() << *why;
  expect_holds(
      [&] { check_programs_of(chip, [&] { return tests::any_matrix_program(chip, tests::Factors::kByTma); }); });
}

}  // namespace
}  // namespace tilescope::cuda
