// SPDX-License-Identifier: Apache-2.0
// Stages of one kernel, which pass tensors on in the scratchpad: against plain loops, and mistakes planted between
// them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/affine.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_group.h"
#include "tests/support/small_group.h"

namespace tilescope::lower {
namespace {

// Chips whose threads share reductions in different ways: by shuffles of 32 and of 64 lanes, and by none.
arch::ArchSpec without_shuffles() {
  arch::ArchSpec chip = tests::chip("v100");
  chip.core.shuffle.reset();
  return chip;
}

// What the drawn kernels have in them.
void classify(const tile::RProgram& p, const Module& m) {
  const bool epilogues = std::any_of(p.simt().begin(), p.simt().end(), [](const tile::StageProgram& stage) {
    return std::holds_alternative<tile::Epilogue>(stage.micro_kernel);
  });
  bool shuffles = false, shares = false, blocks = false, wide = false, below = false;
  for (const Kernel& k : m.kernels) {
    blocks = blocks || k.blocks > 1;
    for (const Buffer& b : k.buffers) shares = shares || b.name.ends_with("_shares");
    for_each_statement(k.body, [&](const Statement& s) {
      shuffles = shuffles || std::holds_alternative<ReduceLanes>(s.what);
      const auto* copy = std::get_if<Copy>(&s.what);
      if (copy == nullptr) return;
      wide = wide ||
             (copy->elements > 1 && k.buffers[static_cast<std::size_t>(copy->from.buffer)].name.ends_with("_kept"));
      for (const Guard& g : copy->inside) below = below || range_of(k, g.value).low < 0;
    });
  }
  RC_CLASSIFY(m.kernels.size() == 1, "one kernel");
  RC_CLASSIFY(blocks, "several blocks");
  RC_CLASSIFY(shuffles, "shuffles");
  RC_CLASSIFY(shares, "shares in the scratchpad");
  RC_CLASSIFY(wide, "wide reads of kept tiles");
  RC_CLASSIFY(below, "halos in front of a tensor");
  RC_CLASSIFY(epilogues, "epilogues");
}

void compute_the_reference(const arch::ArchSpec& chip) {
  const tile::RProgram p = tests::any_group_program(chip);
  RC_LOG() << base::to_json(tile::to_document(p, chip)) << '\n';
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) {
    const std::string why = diags.sentences().front();
    RC_LOG() << why << '\n';
    RC_ASSERT(why.find("scratchpad bytes a block") == 0 ||
              why.find("do not all begin at a multiple of that") != std::string::npos);
    RC_DISCARD("too large, or accesses too wide");
  }
  RC_LOG() << print(*m);
  classify(p, *m);
  RC_ASSERT(tests::interpreter_result(p, *m) == "");
}

RC_GTEST_PROP(Groups, ComputeTheReference, ()) { compute_the_reference(tests::v100()); }

RC_GTEST_PROP(Groups, ComputeTheReferenceOnWarpsOf64, ()) {
  static const arch::ArchSpec kChip = tests::chip("mi210");
  compute_the_reference(kChip);
}

RC_GTEST_PROP(Groups, ComputeTheReferenceWithoutShuffles, ()) {
  static const arch::ArchSpec kChip = without_shuffles();
  compute_the_reference(kChip);
}

RC_GTEST_PROP(Groups, ComputeTheReferenceWithAsynchronousCopies, ()) {
  static const arch::ArchSpec kChip = tests::chip("v100", {{"core.async_copy", "4 B"}});
  compute_the_reference(kChip);
}

TEST(Groups, PlantedMistakesAreFound) {
  const tile::RProgram p = tests::program(tests::small_group(), tests::v100());
  const Module right = tests::lowered(p, tests::v100());
  ASSERT_EQ(right.kernels.size(), 1U);
  EXPECT_EQ(tests::interpreter_result(p, right), "");
  for (const tests::GroupFault& fault : tests::group_faults()) {
    Module m = right;
    fault.plant(m.kernels.front());
    EXPECT_NE(print(m), print(right)) << fault.what;
    EXPECT_NE(tests::interpreter_result(p, m), "") << fault.what;
  }
}

// Two rows and columns in front of a block's own, and accesses of I as the document says or leaves it.
std::string halo(const std::string& more, int columns) {
  return R"json({"nodes":[{"expr":"T[y,x] = relu(I[y,x])","sizes":{"y":64,"x":64},"dtype":"f32",
    "tiles":{"smem":{"y":18,"x":24}},"mapping":{"y":{"threads":6,"per_thread":3},"x":{"threads":6,"per_thread":4}})json" +
         more + R"json(},
    {"expr":"O[y,x] = T[y-1,x-)json" +
         std::to_string(columns) + R"json(] + T[y+1,x+1]","sizes":{"y":64,"x":64},
    "shapes":{"T":[64,64]},"dtype":"f32","tiles":{"smem":{"y":12,"x":12}},
    "mapping":{"y":{"threads":6,"per_thread":2},"x":{"threads":6,"per_thread":2}}}],
    "edges":[{"from":0,"to":1,"tensor":"T","level":"smem"}]})json";
}

TEST(Groups, AccessesAreAlignedWhereTilesBegin) {
  for (const auto& [columns, vector] : {std::pair(1, 1), {2, 2}, {4, 4}, {0, 4}}) {
    const tile::RProgram p = tests::program(halo("", columns), tests::v100());
    EXPECT_EQ(p.simt()[0].operands[0].vector, vector) << columns;
    EXPECT_EQ(tests::interpreter_result(p, tests::lowered(p, tests::v100())), "");
  }
  base::Diagnostics diags;
  const tile::RProgram wide = tests::program(halo(R"(,"vector":{"I":4})", 1), tests::v100());
  EXPECT_FALSE(lower(wide, tests::v100(), diags));
  EXPECT_THAT(diags.sentences(),
              testing::ElementsAre("operand I: its accesses of 4 elements do not all begin at a multiple of that"));
}

// Two nodes joined by T: `op` of it behind a product by a matrix instruction, one block of 64 threads to 64 x 32.
std::string behind_a_product(const std::string& more) {
  return R"json({"nodes":[{"expr":"T[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":128,"n":64,"k":128},"dtype":"f16",
    "tiles":{"smem":{"m":64,"n":32,"k":64}},"mapping":{"m":{"threads":2,"per_thread":32},"n":{"per_thread":32}},
    "mma":{"name":"mma.f16","m":"m","n":"n","k":"k"})json" +
         more + R"json(},
    {"expr":"O[m,n] = relu(T[m,n] + D[n])","sizes":{"m":128,"n":64},"dtype":"f16","tiles":{"smem":{"m":64,"n":32}},
    "mapping":{"m":{"threads":2,"per_thread":32},"n":{"threads":32}}}],
    "edges":[{"from":0,"to":1,"tensor":"T","level":"smem"}]})json";
}

TEST(Groups, ResultsOfMatrixInstructionsStay) {
  const arch::ArchSpec a100 = tests::chip("a100");
  for (const char* more : {"", R"(,"padding":{"T":8})", R"(,"padding":{"T":1})", R"(,"num_stages":3)"}) {
    const tile::RProgram p = tests::program(behind_a_product(more), a100);
    const Module m = tests::lowered(p, a100);
    EXPECT_EQ(m.kernels.size(), 1U);
    EXPECT_EQ(tests::interpreter_result(p, m), "") << more;
  }
}

TEST(GroupErrors, MatrixInstructionsReadNoKeptTile) {
  const arch::ArchSpec a100 = tests::chip("a100");
  EXPECT_THAT(tests::refusals(R"json({"nodes":[
    {"expr":"A[m,k] = relu(D[m,k])","sizes":{"m":128,"k":128},"dtype":"f16","tiles":{"smem":{"m":64,"k":128}},
    "mapping":{"m":{"threads":2,"per_thread":32},"k":{"threads":32,"per_thread":4}}},
    {"expr":"T[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":128,"n":64,"k":128},"dtype":"f16","cached":{"A":"smem","B":"smem"},
    "tiles":{"smem":{"m":64,"n":32,"k":64}},"mapping":{"m":{"threads":2,"per_thread":32},"n":{"per_thread":32}},
    "mma":{"name":"mma.f16","m":"m","n":"n","k":"k"}}],
    "edges":[{"from":0,"to":1,"tensor":"A","level":"smem"}]})json",
                              a100),
              testing::Contains("A stays in the core; T copies it to the scratchpad once more"));
}

// A product and what follows of it in registers: C for each column, then twice the sum, which leaves in rows.
constexpr const char* kEpilogues = R"({"nodes":[
{"expr":"T[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":60,"n":60,"k":32},"tiles":{"smem":{"m":32,"n":32,"k":8}},
 "mapping":{"m":{"threads":8,"per_thread":4},"n":{"threads":8,"per_thread":4}}},
{"expr":"D[m,n] = T[m,n] + C[n]","sizes":{"m":60,"n":60}},
{"expr":"O[m,n] = D[m,n] + T[m,n]","sizes":{"m":60,"n":60},"cached":{"O":"smem"}}],
"edges":[{"from":0,"to":1,"tensor":"T","level":"reg"},{"from":1,"to":2,"tensor":"D","level":"reg"},
{"from":0,"to":2,"tensor":"T","level":"reg"}]})";

// What a thread needs of C is read once for all its rows, four neighbours at a time.
TEST(Epilogues, ReadEachElementOnce) {
  const tile::RProgram p = tests::program(kEpilogues, tests::v100());
  const Module m = tests::lowered(p, tests::v100());
  ASSERT_EQ(m.kernels.size(), 1U);
  Kernel k = m.kernels[0];
  const Copy& read = tests::copy_to(k, "C_part");
  EXPECT_EQ(read.elements, 4);
  EXPECT_EQ(tests::buffer_of(k, "C_part").elements, 4);
  EXPECT_EQ(
      std::count_if(k.buffers.begin(), k.buffers.end(), [](const Buffer& b) { return b.space == Space::kGlobal; }), 4)
      << "A, B, C and O: T and D are in no array";
}

TEST(Epilogues, PlantedMistakesAreFound) {
  const tile::RProgram p = tests::program(kEpilogues, tests::v100());
  const Module right = tests::lowered(p, tests::v100());
  EXPECT_EQ(tests::interpreter_result(p, right), "");
  const auto finds = [&](const char* what, const std::function<void(Kernel&)>& plant) {
    Module m = right;
    plant(m.kernels[0]);
    EXPECT_NE(print(m), print(right)) << what;
    EXPECT_NE(tests::interpreter_result(p, m), "") << what;
  };
  const auto computes = [](Kernel& k, const std::string& target, const std::function<void(Compute&)>& change) {
    tests::each_body(k.body, [&](tests::Body& body) {
      for (Statement& s : body)
        if (auto* c = std::get_if<Compute>(&s.what);
            c != nullptr && k.buffers[static_cast<std::size_t>(c->target.buffer)].name == target &&
            c->operands.size() == 2)
          change(*c);
    });
  };
  finds("another result of the thread",
        [&](Kernel& k) { computes(k, "D_part", [](Compute& c) { c.operands[0].offset = lower::constant(0); }); });
  finds("another column's bias",
        [&](Kernel& k) { computes(k, "D_part", [](Compute& c) { c.operands[1].offset = lower::constant(1); }); });
  finds("the sum before the bias",
        [&](Kernel& k) { computes(k, "O_part", [](Compute& c) { c.operands[0] = c.operands[1]; }); });
  finds("no barrier before rows lie where tiles did", [&](Kernel& k) {
    tests::each_body(k.body, [&](tests::Body& body) {
      std::erase_if(
          body, [](const Statement& s) { return s.note == "every thread has read what lies where the results will"; });
    });
  });
}

}  // namespace
}  // namespace tilescope::lower
