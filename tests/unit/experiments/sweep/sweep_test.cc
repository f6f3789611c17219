// SPDX-License-Identifier: Apache-2.0
// Sweeps: points beside plain loops, times beside `compile` and `predict` on the same chips, nothing computed twice,
// and the same table for any number of threads.

#include "experiments/sweep/sweep.h"

#include <fstream>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/compile.h"
#include "api/predict.h"
#include "model/simt/estimate.h"
#include "model/simt/machine.h"
#include "tests/support/stores.h"
#include "tests/support/workloads.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kSquare = "C[m,n] +=! A[m,k] * B[k,n]";
const std::string kWorkloads =
    "workloads:\n"
    "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=512,k=128', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=1000000, id: add}\n";

class SweepTest : public tests::Stores {
 protected:
  SweepRun run(const std::string& text, const std::string& store = "r.db", int jobs = 2) const {
    write("sweep.yaml", text);
    base::Diagnostics diags;
    auto out = sweep(
        {path("sweep.yaml"), path(store), "test", jobs}, [] { return false; }, [](const SweepProgress&) {}, diags);
    tests::require_no_errors(diags);
    return std::move(out.value());
  }
  Store store() const { return Stores::store("r.db"); }
  using Stores::store;
  std::string table(const std::string& name = "r.db") const { return Stores::table(name); }
  std::vector<StoredPoint> points() const {
    const Store s = store();
    return s.points(s.sweeps().front());
  }
  void each_row(const Store::Visit& visit, const std::string& name = "r.db") const {
    const Store s = Stores::store(name);
    s.each_row(s.sweeps().front(), visit);
  }
};

std::vector<arch::Override> overrides_of(const StoredPoint& p) {
  std::vector<arch::Override> out;
  for (const StoredDifference& d : p.differences) out.push_back({d.path, d.to});
  return out;
}

std::string texts_of(const StoredPoint& p) {
  std::string out;
  for (const StoredValue& v : p.at) out += (out.empty() ? "" : " ") + v.text;
  return out;
}

// How often a sweep's note says that programs which chips share were made again; 0 where there is none.
int recomputed(const std::vector<base::Diagnostic>& notes) {
  const std::string begin = "programs that chips share were made again ";
  for (const base::Diagnostic& n : notes)
    if (n.text.starts_with(begin)) return std::stoi(n.text.substr(begin.size()));
  return 0;
}

// Whatever the order of a sweep's axes, chips that share programs are asked one after the other, so that the programs
// of few of them are at hand at a time. What there is no room for is made again, and a note says so.
TEST_F(SweepTest, ChipsThatSharePrograms) {
  constexpr const char* kBanks = "  memory.smem.banks: [4, 8, 16, 32, 64, 128, 256]\n";
  constexpr const char* kCores = "  core.count: {from: 72, to: 80, step: 2}\n";
  const std::string workload = "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=512,k=128'}\n";
  const auto again = [&](const std::string& axes, std::size_t memory, const std::string& name) {
    std::ofstream(path("sweep.yaml")) << "sweep: S\nbase: v100\naxes:\n" << axes << workload;
    base::Diagnostics diags;
    SweepRequest request{path("sweep.yaml"), path(name), "test", 1};
    request.memory = memory;
    sweep(request, [] { return false; }, [](const SweepProgress&) {}, diags);
    tests::require_no_errors(diags);
    return recomputed(diags.notes());
  };
  // A point asks for the base and the banks beside its own too.
  constexpr std::size_t kPlenty = std::size_t{1} << 30, kRoomForFour = std::size_t{20} << 20, kNoRoom = 1;
  EXPECT_EQ(again(std::string(kBanks) + kCores, kPlenty, "plenty.db"), 0);
  EXPECT_EQ(again(std::string(kBanks) + kCores, kRoomForFour, "outside.db"), 0);
  EXPECT_EQ(again(std::string(kCores) + kBanks, kRoomForFour, "inside.db"), 0);
  EXPECT_GT(again(std::string(kBanks) + kCores, kNoRoom, "none.db"), 0);
  EXPECT_EQ(table("none.db"), table("plenty.db"));
  EXPECT_EQ(again("  memory.smem.banks: [16]\n", kNoRoom, "one.db"), 0) << "each is asked once";
}

TEST_F(SweepTest, PointsAreThoseOfPlainLoops) {
  run("sweep: Grid\nbase: [v100, a100]\naxes:\n"
      "  memory.smem.banks: {from: 8, to: 64, times: 2}\n"
      "  core.count: {from: 40, to: 100, step: 20}\n"
      "  memory.l2.slices, memory.dram.channels: [[32, 32], [64, 16]]\n"
      "  core.max_blocks: {equals: core.count / 20 + memory.smem.banks}\n"
      "constraints:\n"
      "  - memory.smem.banks * memory.smem.bank_width <= 128 B\n"
      "  - core.count != 60\n" +
      kWorkloads);
  std::vector<std::string> expected = {"v100 32 80 64 64 32", "a100 32 108 80 80 32"};
  for (const char* base : {"v100", "a100"})
    for (const int banks : {8, 16, 32, 64})
      for (const int cores : {40, 60, 80, 100})
        for (const char* tied : {"32 32", "64 16"})
          if (banks * 4 <= 128 && cores != 60)
            expected.push_back(fmt::format("{} {} {} {} {}", base, banks, cores, tied, cores / 20 + banks));
  std::vector<std::string> got;
  for (const StoredPoint& p : points()) got.push_back(texts_of(p));
  // What the bases' own slices and channels are is the devices' business.
  for (std::size_t b : {0, 1}) got.at(b) = expected.at(b) = got.at(b).substr(0, 7);
  EXPECT_EQ(got, expected);
}

// Of every dimension that a chip's file knows.
TEST_F(SweepTest, AxesOfWattsAndVoltsHaveTheirUnits) {
  run("sweep: Watts\nbase: a100_pcie\naxes:\n  power.limit: [200 W, 300 W]\n  energy.voltage: [0.8 V, 1 V]\n" +
      kWorkloads);
  const std::string head = table().substr(0, table().find('\n'));
  EXPECT_THAT(head, HasSubstr(",power.limit_w,energy.voltage_v,"));
  EXPECT_THAT(points(), SizeIs(5));
}

TEST_F(SweepTest, AConstraintWithoutAValueIsNotMet) {
  run("sweep: Roots\nbase: v100\naxes:\n  core.count: [40, 60, 70, 90]\nconstraints:\n"
      "  - sqrt(70 - core.count)\n" +
      kWorkloads);
  std::vector<std::string> got;
  for (const StoredPoint& p : points()) got.push_back(texts_of(p));
  EXPECT_EQ(got, (std::vector<std::string>{"80", "40", "60"})) << "the root of -20 is no number, that of 0 is false";
}

// Of what is constructed for the point's own chip, for the base and for the points beside it.
TEST_F(SweepTest, EveryPointHasTheBestProgramOfItsChipAndItsNeighbours) {
  run("sweep: Own programs\nbase: v100\naxes:\n  memory.smem.banks: [16, 64]\n  core.count: [20, 80]\n" + kWorkloads);
  const std::map<std::string, api::Workload> asked = {{"mm", tests::workload(kSquare, "m=256,n=512,k=128")},
                                                      {"add", tests::workload("O[i] = A[i] + B[i]", "i=1000000")}};
  std::vector<StoredPoint> all;
  for (StoredPoint& p : points()) all.push_back(std::move(p));
  const auto are_neighbours = [](const StoredPoint& p, const StoredPoint& q) {
    return !p.is_base && !q.is_base && (p.at[0].text == q.at[0].text) != (p.at[1].text == q.at[1].text);
  };
  std::size_t rows = 0;
  each_row([&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    base::Diagnostics diags;
    const arch::ArchSpec chip = tests::chip("v100", overrides_of(p));
    double best_us = std::numeric_limits<double>::infinity();
    std::set<std::string> best;
    for (const StoredPoint& q : all) {
      if (q.ordinal != p.ordinal && !q.is_base && !are_neighbours(p, q)) continue;
      const arch::ArchSpec other = tests::chip("v100", overrides_of(q));
      const auto compiled = compile(asked.at(w.name), other, {api::Search::kRoller}, 10, 1, [](auto, auto) {}, diags);
      for (const api::CompiledProgram& c : compiled->front().programs) {
        diags.add_source("program");
        const auto program = tile::read_program(c.document, chip, diags);
        if (!program) continue;  // it does not fit this one
        const double us = model::estimate(*program, model::make_machine(chip))->total_us;
        if (us < best_us) best.clear();
        best_us = std::min(us, best_us);
        if (us == best_us) best.insert(base::to_json(tile::to_document(*program, chip)));
      }
    }
    EXPECT_EQ(r->prediction->predicted_us, best_us) << w.name;
    EXPECT_TRUE(best.contains(base::to_json(store().program(r->program)))) << w.name;
    ++rows;
  });
  EXPECT_EQ(rows, 5U * 2);
}

TEST_F(SweepTest, TotalsAreWeightedSumsOverThatOfTheBase) {
  const SweepRun r = run("sweep: api::Totals\nbase: v100\naxes:\n  core.count: [20, 40]\n" + kWorkloads);
  std::map<std::size_t, double> sums;
  each_row([&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* row) {
    sums[p.ordinal] += (w.name == "mm" ? 3 : 1) * row->prediction->predicted_us;
  });
  ASSERT_THAT(r.state.best, SizeIs(2));
  EXPECT_EQ(r.state.best[0].point.at.at(0).text, "40") << "more cores are faster";
  for (const RankedPoint& p : r.state.best) {
    EXPECT_DOUBLE_EQ(p.total.weighted_us.value(), sums.at(p.point.ordinal));
    EXPECT_DOUBLE_EQ(p.total.base_ratio.value(), sums.at(p.point.ordinal) / sums.at(0));
  }
}

TEST_F(SweepTest, TheTableDependsOnNothingButTheFile) {
  const std::string text =
      "sweep: Jobs\nbase: v100\naxes:\n  memory.smem.banks: [16, 32, 64]\n  program.padding: [best, none]\n"
      "programs: [construct, fixed]\n" +
      kWorkloads;
  run(text, "one.db", 1);
  run(text, "three.db", 3);
  EXPECT_EQ(table("one.db"), table("three.db"));
  // Stopped again and again, each time after a few rows.
  for (int rounds = 0; rounds < 100; ++rounds) {
    base::Diagnostics diags;
    int left = 2;
    const auto part = sweep(
        {path("sweep.yaml"), path("parts.db"), "test", 2}, [&] { return left <= 0; },
        [&](const SweepProgress& p) { left -= p.done > p.known ? 1 : 0; }, diags);
    tests::require_no_errors(diags);
    EXPECT_EQ(part->stopped, !part->state.complete());
    if (!part->stopped) break;
    EXPECT_GT(part->computed, 0U);
  }
  EXPECT_EQ(table("one.db"), table("parts.db"));
}

TEST_F(SweepTest, AnOperatorThatIsListedTwiceHasTheSumOfItsWeights) {
  const std::string one = "  - {op: 'O[i] = A[i] + B[i]', size: i=1000", two = "  - {op: 'O[i] = A[i]', size: i=1000";
  const SweepRun r =
      run("sweep: Twice\nbase: v100\naxes:\n  core.count: [40]\nworkloads:\n" + one + "}\n" + two + ", id: copy}\n" +
          one + ", weight: 2}\n" + two + ", weight: 3}\n" + two + ", id: copy}\n" + two + ", dtype: f16}\n");
  std::map<std::string, double> weights;
  each_row([&](const StoredPoint&, const StoredWorkload& w, const StoredRow*) { weights[w.name] = w.weight; });
  EXPECT_EQ(weights, (std::map<std::string, double>{{"copy", 5}, {"op1", 3}, {"op2", 1}}));
  EXPECT_EQ(r.computed, 2U * 3) << "of the base and of one point";
}

TEST_F(SweepTest, NothingIsComputedTwice) {
  const std::string axes = "sweep: Growing\nbase: v100\naxes:\n  core.count: ";
  EXPECT_EQ(run(axes + "[40, 60]\n" + kWorkloads).computed, 3U * 2) << "and the base";
  EXPECT_EQ(run(axes + "[40, 60]\n" + kWorkloads).computed, 0U);
  EXPECT_EQ(run(axes + "[40, 60, 80, 100]\n" + kWorkloads).computed, 2U * 2)
      << "of 100, and of 80, which is the base itself, for it has neighbours now";
  EXPECT_EQ(run("sweep: Another\nbase: v100\naxes:\n  core.count: [60, 40]\n" + kWorkloads).computed, 0U);
  EXPECT_THAT(store().sweeps(), SizeIs(2));
}

TEST_F(SweepTest, FixedProgramsAreTheBasesOwnOnOtherChips) {
  run("sweep: Fixed\nbase: v100\naxes:\n  memory.smem.banks: [16, 64]\nprograms: [construct, fixed]\n" + kWorkloads);
  std::map<std::string, std::string> own;
  std::size_t fixed = 0;
  each_row([&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    if (p.is_base) own[w.name] = r->program;
    if (p.at.back().text != "fixed") return;
    ++fixed;
    EXPECT_EQ(r->program, own.at(w.name));
    base::Diagnostics diags;
    const std::string text = base::to_json(store().program(r->program));
    const auto predicted = api::predict_program({"p", text}, tests::chip("v100", overrides_of(p)), diags);
    EXPECT_EQ(base::to_json(to_entries(*r->prediction)), base::to_json(to_entries(predicted.value())));
  });
  EXPECT_EQ(fixed, 2U * 2);
}

TEST_F(SweepTest, ProgramsOfAFileAreTakenByTheirOperator) {
  std::ofstream(path("p.jsonl"))
      << R"({"id":"slow","expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":256,"n":512,"k":128},"measured_us":90,)"
      << R"("tiles":{"smem":{"m":32,"n":32,"k":8},"reg":{"m":4,"n":4}},)"
      << R"("mapping":{"m":{"threads":8,"per_thread":4},"n":{"threads":8,"per_thread":4}}})" << '\n'
      << R"({"id":"fast","expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":256,"n":512,"k":128},"measured_us":80,)"
      << R"("tiles":{"smem":{"m":64,"n":64,"k":8},"reg":{"m":8,"n":8}},)"
      << R"("mapping":{"m":{"threads":8,"per_thread":8},"n":{"threads":8,"per_thread":8}}})" << '\n';
  const SweepRun r =
      run("sweep: File\nbase: v100\naxes:\n  memory.smem.banks: [32, 64]\nprograms: {from: p.jsonl}\n" + kWorkloads);
  EXPECT_EQ(r.state.failed, 2U);
  ASSERT_THAT(r.state.failures, SizeIs(1));
  EXPECT_EQ(r.state.failures[0].first, "add: no line of p.jsonl computes this operator");
  each_row([&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* row) {
    if (p.is_base || w.name != "mm") return;
    EXPECT_THAT(base::to_json(store().program(row->program)), HasSubstr(R"("smem":{"m":64,"n":64,"k":8})"));
    EXPECT_EQ(row->measured_us.has_value(), p.differences.empty()) << "what was measured, was measured on the base";
  });
}

TEST_F(SweepTest, RestrictionsHoldForThePrograms) {
  run("sweep: Restricted\nbase: v100\naxes:\n  program.padding: [none]\n  program.block: [32x64, 7x9x2, best]\n" +
      kWorkloads);
  each_row([&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    if (p.is_base) return;
    const std::string program = r->program.empty() ? "" : base::to_json(store().program(r->program));
    EXPECT_THAT(program, testing::Not(HasSubstr(R"("padding":{"A")")));
    const std::string& block = p.at.at(1).text;
    if (w.name == "mm" && block == "32x64") {
      EXPECT_THAT(program, HasSubstr(R"("smem":{"m":32,"n":64)"));
    }
    if (w.name == "mm" && block == "7x9x2") {
      EXPECT_THAT(r->error, testing::EndsWith(" with a block of 7x9x2"));
    }
  });
}

TEST_F(SweepTest, ARefusedPointSaysWhyAndTheOthersGoOn) {
  const SweepRun r = run("sweep: Refused\nbase: v100\naxes:\n  core.max_threads: [2000, 1024]\n" + kWorkloads);
  EXPECT_EQ(r.state.points, 2U);
  EXPECT_EQ(r.state.done, 1U);
  EXPECT_EQ(r.state.refused, 1U);
  ASSERT_THAT(r.state.refusals, SizeIs(1));
  EXPECT_EQ(r.state.refusals[0].first, "core.max_threads: 2000 threads are no multiple of the warp of 32");
  EXPECT_THAT(table(), HasSubstr("refused: core.max_threads: 2000 threads are no multiple of the warp of 32"));
  EXPECT_TRUE(r.state.complete());
}

TEST_F(SweepTest, SimulatedTimesCountWhereTheyAreAskedFor) {
  const std::string text =
      "sweep: Simulated\nbase: v100\naxes:\n  core.count: [4, 8]\nevaluator: sim\nprograms: [construct, fixed]\n"
      "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=128,n=128,k=64', id: mm}\n";
  const SweepRun r = run(text);
  EXPECT_TRUE(r.state.complete());
  each_row([&](const StoredPoint& p, const StoredWorkload&, const StoredRow* row) {
    ASSERT_TRUE(row->simulation) << p.ordinal << ": " << row->error;
    EXPECT_EQ(row->time_us(), row->simulation->simulated_us);
    EXPECT_GT(row->simulation->cycles, 0);
  });
  EXPECT_EQ(run(text).computed, 0U);
  run(text, "one.db", 1);
  EXPECT_EQ(table(), table("one.db"));
}

// At every point of this sweep the simulator prefers another program than the model.
TEST_F(SweepTest, TheSimulatorChoosesWhereItIsAskedTo) {
  const std::string text =
      "base: v100\naxes:\n  core.count: [4, 8]\n"
      "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=192,n=128,k=64', id: mm}\n";
  run("sweep: Model\nevaluator: sim\n" + text, "model.db");
  run("sweep: Simulator\nevaluator: sim=3\n" + text, "simulator.db");
  std::vector<double> by_model, by_simulator;
  const auto take = [](std::vector<double>& times) {
    return [&](const StoredPoint&, const StoredWorkload&, const StoredRow* row) {
      ASSERT_TRUE(row->simulation) << row->error;
      times.push_back(row->simulation->simulated_us);
    };
  };
  each_row(take(by_model), "model.db");
  each_row(take(by_simulator), "simulator.db");
  ASSERT_THAT(by_simulator, SizeIs(by_model.size()));
  for (std::size_t i = 0; i < by_model.size(); ++i) EXPECT_LT(by_simulator[i], by_model[i]) << i;
  EXPECT_EQ(run("sweep: Simulator\nevaluator: sim=3\n" + text, "simulator.db").computed, 0U);
}

TEST_F(SweepTest, ChipsThatDifferInWordsAloneAreOne) {
  write("same.yaml", "extends: v100\nname: v100\ntitle: Another title\nvendor: Another\n");
  run("sweep: Words\nbase: v100\naxes:\n  core.count: [40]\n" + kWorkloads);
  EXPECT_EQ(run("sweep: Other words\nbase: same.yaml\naxes:\n  core.count: [40]\n" + kWorkloads).computed, 0U);
}

TEST_F(SweepTest, ATextThatTheBaseSaysIsNoChange) {
  write("kin.yaml", "extends: v100\nname: kin\ntitle: '12'\n");
  run("sweep: Texts\nbase: [v100, kin.yaml]\naxes:\n  title: [Tesla V100 PCIe 16 GB, '12']\n"
      "  compute.fma.f32.dtype: [f32]\n  calibration.dram.read.ratio: [0.5]\n" +
      kWorkloads);
  std::vector<std::string> got;
  for (const StoredPoint& p : points()) {
    got.push_back(texts_of(p));
    for (const StoredDifference& d : p.differences) got.back() += fmt::format("; {}: {} > {}", d.path, d.from, d.to);
  }
  const std::string same = "Tesla V100 PCIe 16 GB", ratio = "calibration.dram.read.ratio: 0.966 > 0.5";
  EXPECT_EQ(got, (std::vector<std::string>{
                     "v100 " + same + " f32 0.966",
                     "kin.yaml \"12\" f32 0.966",
                     "v100 " + same + " f32 0.5; " + ratio,
                     "v100 \"12\" f32 0.5; title: " + same + " > \"12\"; " + ratio,
                     "kin.yaml " + same + " f32 0.5; title: \"12\" > " + same + "; " + ratio,
                     "kin.yaml \"12\" f32 0.5; " + ratio,
                 }));
}

TEST_F(SweepTest, JsonLinesHoldWhatCsvHolds) {
  run("sweep: Lines\nbase: v100\naxes:\n  memory.smem.bank_width: [4 B, 8 B]\n" + kWorkloads);
  const Store s = store();
  std::string text;
  const std::size_t rows =
      write_table(s, s.sweeps().front(), TableForm::kJsonLines, [&](std::string_view t) { text += t; });
  EXPECT_EQ(rows, 3U * 2);
  EXPECT_THAT(text, HasSubstr(R"("memory.smem.bank_width_bytes":8,)"));
  EXPECT_THAT(text, HasSubstr(R"("workload":"add","kind":"elementwise","weight":1,)"));
  EXPECT_THAT(table(), testing::StartsWith("sweep,point,is_base,base,memory.smem.bank_width_bytes,workload,kind,weight,"
                                           "predicted_us,low_us,high_us,band_measured,bottleneck,dram_read_bytes,"));
}

}  // namespace
}  // namespace tilescope::experiments
