// SPDX-License-Identifier: Apache-2.0
// Kernels as documents: what was written is read back to the same, whatever it holds; mistakes are named where they
// are.

#include "lower/kernel_document.h"

#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/operations.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/expected.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/paths.h"
#include "tests/support/planting.h"
#include "tests/support/random_group.h"
#include "tests/support/random_masks.h"
#include "tests/support/random_matrix_program.h"
#include "tests/support/random_program.h"
#include "tile/program_json.h"

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::a100;
using tests::h100;
using tests::v100;

struct Read {
  std::optional<KernelDocument> kernels;
  std::vector<std::string> mistakes;
};

Read read(const std::string& text, const arch::ArchSpec& chip, const KernelLimits& limits = {}) {
  base::Diagnostics diags;
  const auto document = base::read_json(text, diags.add_source("k.json"), diags, kKernelLimits);
  Read out;
  if (document) out.kernels = read_kernels(*document, chip, diags, limits);
  out.mistakes = diags.formatted_errors();
  EXPECT_EQ(out.kernels.has_value(), out.mistakes.empty());
  return out;
}

std::string written(const Module& m, const tile::RProgram* p, const arch::ArchSpec& chip) {
  base::Value program = p == nullptr ? base::Value() : tile::to_document(*p, chip);
  const base::List nodes = p == nullptr ? base::List{} : *program.find("nodes")->get_if<base::List>();
  return base::to_json(to_document(m, chip.name, nodes, false));
}

// Which parts of the first kernel differ.
std::string differing(const Module& a, const Module& b) {
  const Kernel &x = a.kernels[0], &y = b.kernels[0];
  std::string out;
  for (std::size_t i = 0; i < x.indices.size(); ++i)
    if (!(x.indices[i] == y.indices[i]))
      out += fmt::format("index {}: {}..{}, {}..{}\n", x.indices[i].name, x.indices[i].range.low,
                         x.indices[i].range.high, y.indices[i].range.low, y.indices[i].range.high);
  for (std::size_t i = 0; i < x.buffers.size(); ++i)
    if (!(x.buffers[i] == y.buffers[i])) out += "buffer " + x.buffers[i].name + "\n";
  if (!(x.matrix_instructions == y.matrix_instructions)) out += "instructions\n";
  if (!(x.body == y.body)) out += "body\n";
  return out + print(a) + print(b);
}

// "" where the document of the kernels is read back to the same, and computes the program's stages.
std::string difference(const tile::RProgram& p, const Module& m, const arch::ArchSpec& chip) {
  const Read again = read(written(m, &p, chip), chip);
  if (!again.kernels) return fmt::format("{}\n{}", fmt::join(again.mistakes, "\n"), written(m, &p, chip));
  if (!(again.kernels->module == m)) return "other kernels:\n" + differing(m, again.kernels->module);
  if (again.kernels->computes->stages() != p.stages()) return "other stages";
  for (std::size_t s = 0; s < p.stages(); ++s)
    if (again.kernels->computes->space(s).stage().text != p.space(s).stage().text) return "another stage";
  return {};
}

template <class Make>
void expect_same(const arch::ArchSpec& chip, const Make& make) {
  const tile::RProgram p = make();
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) RC_DISCARD("too large");
  RC_ASSERT(difference(p, *m, chip) == "");
}

RC_GTEST_PROP(KernelDocument, OfAnyProgramIsReadBackToTheSame, ()) {
  expect_same(v100(), [] { return tests::any_rprogram(v100(), 40, 64); });
}
RC_GTEST_PROP(KernelDocument, OfAnyProgramWithAsynchronousCopiesIsReadBackToTheSame, ()) {
  expect_same(a100(), [] { return tests::any_rprogram(a100(), 40, 64); });
}
RC_GTEST_PROP(KernelDocument, OfAnyGroupIsReadBackToTheSame, ()) {
  expect_same(a100(), [] { return tests::any_group_program(a100()); });
}
RC_GTEST_PROP(KernelDocument, OfAnyCarriedReductionIsReadBackToTheSame, ()) {
  expect_same(a100(), [] { return tests::any_carried_program(a100()); });
}
RC_GTEST_PROP(KernelDocument, OfAnyMaskedReductionIsReadBackToTheSame, ()) {
  expect_same(a100(), [] { return tests::any_masked_carried_program(a100()); });
}
RC_GTEST_PROP(KernelDocument, OfAnyMatrixProgramIsReadBackToTheSame, ()) {
  expect_same(a100(), [] { return tests::any_matrix_program(a100()); });
}
RC_GTEST_PROP(KernelDocument, OfAnyStagedMatrixProgramIsReadBackToTheSame, ()) {
  expect_same(h100(), [] { return tests::any_matrix_program(h100(), tests::Factors::kCached); });
}
RC_GTEST_PROP(KernelDocument, OfAnyProgramOfRolesIsReadBackToTheSame, ()) {
  expect_same(h100(), [] { return tests::any_matrix_program(h100(), tests::Factors::kByTma); });
}

// Every statement, every field of it other than what it is where it is left out.
TEST(KernelDocument, HoldsEveryFieldOfEveryStatement) {
  const std::string text = tests::text_of_file(tests::source_path("tests/unit/lower/every_statement.json"));
  const Read once = read(text, tests::h100_with_tensor_memory());
  ASSERT_THAT(once.mistakes, ElementsAre());
  const std::string first = written(once.kernels->module, nullptr, tests::h100_with_tensor_memory());
  const Read twice = read(first, tests::h100_with_tensor_memory());
  ASSERT_THAT(twice.mistakes, ElementsAre());
  EXPECT_EQ(twice.kernels->module, once.kernels->module);
  EXPECT_EQ(written(twice.kernels->module, nullptr, tests::h100_with_tensor_memory()), first);
}

// What boxes, mbarriers and matrix instructions may be the chip's file says.
TEST(KernelDocument, IsHeldToTheChipsOwnEngineAndUnits) {
  std::string text = tests::text_of_file(tests::source_path("tests/unit/lower/every_statement.json"));
  const auto refused = [&](const std::function<void(arch::ArchSpec&)>& change) {
    arch::ArchSpec chip = tests::h100_with_tensor_memory();
    change(chip);
    return read(text, chip).mistakes;
  };
  const auto says = [](const char* what) { return testing::Contains(HasSubstr(what)); };
  EXPECT_THAT(refused([](arch::ArchSpec&) {}), ElementsAre());
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma.reset(); }), says("has no TMA engine (core.tma)"));
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma->max_extent = 1; }), says("expected a box of 1 to 1 of"));
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma->max_dims = 1; }), says("expected one to 1 dimensions"));
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma->granule.n = 4096; }), says("is no multiple of 4096 B"));
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma->max_stride = base::Bytes{1}; }),
              says("expected at most 1 B"));
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma->mbarrier.n = 1 << 20; }), says("stages of"));
  EXPECT_THAT(refused([](arch::ArchSpec& a) { a.core.tma->row.n = 16; }),
              says("B are swizzled: expected a divisor of 16"));
  text.replace(text.find("\"columns\": 8"), 12, "\"columns\": 16");
  const auto columns = [](std::optional<std::int64_t> most) {
    return [most](arch::ArchSpec& a) {
      for (arch::ComputeSpec& c : a.compute) c.max_n = most;
    };
  };
  EXPECT_THAT(refused(columns(16)), testing::Not(says("columns: expected")));
  EXPECT_THAT(refused(columns({})), says("16 columns: expected a multiple of 8 of at most 8"));
}

// --- a kernel by hand

std::string transpose() { return tests::text_of_file(tests::source_path("examples/transpose.json")); }

TEST(KernelDocument, ATransposeByHandComputesItsExpression) {
  std::string small = transpose();
  for (const auto& [from, to] :
       {std::pair{"1048576", "4096"},
        {"1024", "64"},
        {"\"blocks\": 64", "\"blocks\": 4"},
        {"\"modulus\": 32},\n        {\"name\": \"block_i\", \"of\": \"block\", \"divisor\": 32",
         "\"modulus\": 2},\n        {\"name\": \"block_i\", \"of\": \"block\", \"divisor\": 2"},
        {"32768", "2048"},
        {"8192", "512"}})
    for (std::size_t at = small.find(from); at != std::string::npos; at = small.find(from, at + 1))
      small.replace(at, std::string(from).size(), to);
  const Read r = read(small, a100());
  ASSERT_THAT(r.mistakes, ElementsAre());
  EXPECT_EQ(tests::wrong_outputs(*r.kernels->computes, r.kernels->module), "");
  EXPECT_EQ(operations_of(r.kernels->module.kernels[0]).count, 0);
}

TEST(KernelDocument, CountsTheOperationsOfAProduct) {
  const Module m = tests::lowered(tests::program(tests::small_matmul(""), v100()), v100());
  EXPECT_EQ(operations_of(m.kernels[0]).count, 2.0 * 64 * 64 * 32);
  const Module matrices =
      tests::lowered(tests::program(tests::matrix_product("C[m,n] +=! A[m,k] * B[k,n]", "f16"), a100()), a100());
  EXPECT_EQ(operations_of(matrices.kernels[0]).count, 2.0 * 128 * 64 * 128);
}

// --- mistakes

struct Mistake {
  const char *from, *to, *says;
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreNamedWhereTheyAre) {
  std::string text = transpose();
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  EXPECT_THAT(read(text, a100()).mistakes, testing::Contains(HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Transpose, Mistakes,
    testing::Values(
        Mistake{"\"format\": 1", "\"format\": 2",
                "k.json:2:13: format: expected a whole number from 1 to 1, got the number 2"},
        Mistake{"\"format\": 1,", "", "lacks the key 'format'"},
        Mistake{"\"blocks\": 1024", "\"block\": 1024", "unknown key 'block' in kernels[0]; did you mean 'blocks'?"},
        Mistake{"\"blocks\": 1024", "\"blocks\": -4",
                "k.json:11:17: kernels[0].blocks: expected a whole number from 1 to"},
        Mistake{"\"blocks\": 1024", "\"blocks\": 3000000000", "kernels[0].blocks: expected at most 2147483647"},
        Mistake{"\"blocks\": 1024", "\"blocks\": 1e30", "kernels[0].blocks: expected a whole number"},
        Mistake{"\"threads\": 256", "\"threads\": \"256\"",
                "kernels[0].threads: expected a whole number from 1 to 1099511627776, got the text '256'"},
        Mistake{"\"threads\": 256", "\"threads\": 4096",
                "kernels[0].threads: expected at most 1024, as a block of a100, got 4096"},
        Mistake{"\"shared_bytes\": 4224", "\"shared_bytes\": 4220",
                "k.json:24:9: kernels[0].buffers[2]: tile of 4224 B at byte 0 ends beyond the block's 4220 B"},
        Mistake{"\"shared_bytes\": 4224", "\"shared_bytes\": 1000000",
                "kernels[0].shared_bytes: expected at most 166912"},
        Mistake{"\"elements\": 1048576", "\"elements\": 999999999999999",
                "arrays[0].elements: expected a whole number"},
        Mistake{"\"elements\": 1048576", "\"elements\": 99999999999", "arrays[0]"},
        Mistake{"\"elements\": 1048576", "\"elements\": 1048575",
                "arrays[0]: I has 1048575 elements of f32, by 'computes' 1048576 of f32"},
        Mistake{"\"role\": \"input\"", "\"role\": \"in\"",
                "arrays[0].role: expected one of input, output, between, got 'in'"},
        Mistake{"\"array\": \"I\"", "\"array\": \"J\"", "no array of the module is called 'J'"},
        Mistake{"I[block_i*32768", "J[block_i*32768", "no buffer is called 'J'"},
        Mistake{"I[block_i*32768", "I[blocki*32768",
                "k.json:30:54: kernels[0].body[0].body[0].from: no index that comes before is called 'blocki'; did you "
                "mean 'block'?"},
        Mistake{"y*1024 + block_j*32", "y*x + block_j*32", "expected an affine: a number in place of a second index"},
        Mistake{"y*1024 + block_j*32 + x]", "y*1024 + block_j*32 + x", "expected ']' at its end"},
        Mistake{"y*1024 + block_j*32 + x]", "y*1024 + block_j*32 + 1 + x]",
                "kernels[0].body[0].body[0].from: an access to I, which has 1048576 elements, is 1048576 at"},
        Mistake{"x*33 + r*8 + y", "x*34 + r*8 + y", "an access to tile, which has 1056 elements, is 10"},
        Mistake{"next[r]\"", "next[r - 1]\"", "an access to next, which has 4 elements, is -1 at r 0"},
        Mistake{"{\"do\": \"barrier\"",
                "{\"do\": \"copy\", \"to\": \"next[r]\", \"from\": \"I[0]\"}, {\"do\": \"barrier\"",
                "uses the index r outside its loop"},
        Mistake{"\"do\": \"barrier\"", "\"do\": \"bariér\"", "kernels[0].body[2].do: expected one of loop, if, copy"},
        Mistake{"\"do\": \"barrier\"", "\"to\": \"barrier\"", "kernels[0].body[2] lacks the key 'do'"},
        Mistake{"\"name\": \"last\"", "\"name\": \"next\"", "kernels[0].buffers[4]: 'next' is the name of another"},
        Mistake{"\"name\": \"last\"", "\"name\": \"a b\"", "kernels[0].buffers[4].name: expected letters, digits"},
        Mistake{"\"to\": 3}", "\"to\": 1000000000}",
                "kernels[0].body[0].body[0]: 4e+09 statements of a thread, with the loops around it, at most 1.07e+09"},
        Mistake{"\"to\": 3}", "\"to\": -7}", "r runs from 0 to -7"},
        Mistake{"\"of\": \"thread\", \"modulus\": 32",
                "\"of\": \"block*1099511627776 + thread*1099511627776\", \"modulus\": 32", "do not fit"},
        Mistake{"\"of\": \"thread\", \"modulus\": 32", "\"of\": \"y\", \"modulus\": 32",
                "no index that comes before is called 'y'"},
        Mistake{"\"of\": \"thread\", \"modulus\": 32", "\"of\": \"thread\", \"divisor\": 0",
                "indices[0].divisor: expected a whole number"},
        Mistake{"\"from\": \"tile[", "\"elements\": 4, \"from\": \"tile[", "expected a multiple of its width"},
        Mistake{"\"from\": \"tile[", "\"asynchronous\": true, \"from\": \"tile[",
                "an asynchronous copy goes from memory to the scratchpad"},
        Mistake{"\"from\": \"next[r]\"", "\"from\": \"I[r]\"", "expected registers on one side of a copy"},
        Mistake{"\"note\": \"the tile is whole\"", "\"note\": \"one\\nasm\"", "expected a note of one line"},
        Mistake{"O[j,i] = I[i,j]", "O[j,i] = J[i,j]", "arrays[0]: no stage of 'computes' reads I"},
        Mistake{"O[j,i] = I[i,j]", "O[j,i = I[i,j]", "k.json:3:32: expected ']' after the coordinates of 'O'"},
        Mistake{"\"computes\": [", "\"nodes\": [], \"computes\": [",
                "a program, which has 'nodes': --program reads it"}));

// What stands in the place of the transpose's body, with its arrays and an index z of many values.
std::string with_body(const std::string& body, const std::string& more = "") {
  std::string text = transpose();
  const std::size_t begin = text.find("\"body\": [");
  text.replace(begin, text.rfind("    }\n  ]") - begin, more + "\"body\": [" + body + "]\n");
  return text;
}

constexpr const char* kMbarriers =
    R"("warp": 32, "mbarriers": [{"name": "full", "stages": 2, "arrivals": 1, "offset_bytes": 4224}],)";

std::string roles(const std::string& first, const std::string& second) {
  std::string text = with_body(R"({"do": "warp_specialized", "roles": [
    {"name": "use", "first_thread": 0, "threads": 32, "body": [)" +
                                   first + R"(]},
    {"name": "bring", "first_thread": 32, "threads": 32, "body": [)" +
                                   second + "]}]}",
                               kMbarriers);
  const std::string shared = "\"shared_bytes\": 4224";
  text.replace(text.find(shared), shared.size(), "\"shared_bytes\": 4240");
  return text;
}

constexpr const char* kWait = R"({"do": "mbarrier_wait", "mbarrier": "full", "phase": 0})";
constexpr const char* kArrive = R"({"do": "mbarrier_arrive", "mbarrier": "full", "phase": 0})";

TEST(WhoWaits, GoesOnWhereEveryPhaseEnds) { EXPECT_THAT(read(roles(kWait, kArrive), h100()).mistakes, ElementsAre()); }

TEST(WhoWaits, OrIsNamed) {
  const auto says = [](const std::string& text, const char* what) {
    EXPECT_THAT(read(text, h100()).mistakes, ElementsAre(HasSubstr(what))) << text;
  };
  says(
      roles(kWait, R"({"do": "proxy_fence"})"),
      "kernels[0].body[0].roles[0].body[0]: waits for phase 0 of full, which never ends: in turn 0 of its stage 0 of 1 "
      "warps arrive, and 0 of 0 B come");
  says(roles(kWait, R"({"do": "mbarrier_arrive", "mbarrier": "full", "phase": 0, "bytes": 64})"), "0 of 64 B come");
  says(roles(R"({"do": "mbarrier_wait", "mbarrier": "full", "phase": 1})", kArrive), "waits for phase 1 of full");
  says(roles(kWait, std::string(kWait) + "," + kArrive), "which never ends");
  says(roles(kWait, std::string(kArrive) + "," + kArrive),
       "is for phase 0 of full, and its stage's turn 1 is under way");
  says(roles(R"({"do": "barrier"})", kArrive), "a barrier of a role, which waits for others");
  says(roles(R"({"do": "mbarrier_wait", "mbarrier": "full", "phase": "thread"})", kArrive), "differs between threads");
  says(roles(R"({"do": "mbarrier_wait", "mbarrier": "full", "phase": -3})", kArrive), "may wait for a phase before -2");
  says(with_body(kWait, kMbarriers), "");
  says(with_body(R"({"do": "wait"})"), "kernels[0].body[0]: waits for a group of copies, and none was committed");
  const std::string copy = R"({"do": "copy", "to": "tile[x]", "from": "I[x]", "asynchronous": true},)";
  says(with_body(copy + R"({"do": "barrier"})"), "body[0]: an asynchronous copy that no group is made of");
  says(with_body(copy + R"({"do": "commit"}, {"do": "wait", "pending": 1})"),
       "body[0]: an asynchronous copy that no wait is for");
  EXPECT_THAT(read(with_body(copy + R"({"do": "commit"}, {"do": "wait"})"), a100()).mistakes, ElementsAre());
  says(with_body(R"({"do": "if", "when": ["thread < 5"], "body": [{"do": "barrier"}]})"),
       "when[0]: differs between threads");
}

TEST(Arrays, OfTheScratchpadAreNotInUseTogether) {
  const std::string more = R"({"name": "other", "space": "shared", "dtype": "f32", "elements": 8, "offset_bytes": 4192},
        {"name": "next",)";
  const auto with = [&](const std::string& body) {
    std::string text = with_body(body);
    const std::string next = R"({"name": "next",)";
    return text.replace(text.find(next), next.size(), more);
  };
  const std::string write = R"({"do": "copy", "to": "tile[x]", "from": "next[0]"}, )";
  const std::string write_other = R"({"do": "copy", "to": "other[0]", "from": "next[0]"}, )";
  const std::string read_back = R"({"do": "copy", "to": "next[0]", "from": "tile[x]"})";
  EXPECT_THAT(read(with(write + write_other + read_back), a100()).mistakes,
              ElementsAre(HasSubstr("kernels[0].body[2]: reads tile where other, which has bytes of the scratchpad in "
                                    "common with it, was written")));
  EXPECT_THAT(read(with(write_other + write + read_back), a100()).mistakes, ElementsAre());
  // The second time round.
  EXPECT_THAT(read(with(write + R"({"do": "loop", "index": "r", "body": [)" + read_back + "," + write_other +
                        R"({"do": "barrier"}]})"),
                   a100())
                  .mistakes,
              ElementsAre(HasSubstr("reads tile")));
}

TEST(Arrays, OfManyPointsAreCheckedByGuards) {
  const auto guarded = [](const char* guard) {
    return with_body(
        fmt::format(R"({{"do": "copy", "to": "next[0]", "from": "I[block*1024 + thread*4 + 3]", {}}})", guard));
  };
  EXPECT_THAT(read(guarded(R"("when": ["thread < 256"])"), a100()).mistakes, ElementsAre());
  EXPECT_THAT(read(guarded(R"("inside": ["block*1024 + thread*4 + 3 < 1048576"])"), a100()).mistakes, ElementsAre());
  EXPECT_THAT(read(guarded(R"("inside": ["block*1024 + thread*4 + 3 < 1048577"])"), a100()).mistakes, ElementsAre());
  const auto beyond = [](const char* guard) {
    return with_body(
        fmt::format(R"({{"do": "copy", "to": "next[0]", "from": "I[block*1025 + thread*4]", {}}})", guard));
  };
  EXPECT_THAT(read(beyond(R"("when": ["block*1025 + thread*4 < 1048576"])"), a100()).mistakes, ElementsAre());
  EXPECT_THAT(read(beyond(R"("when": ["block*1025 + thread*4 < 1048581"])"), a100()).mistakes,
              ElementsAre(HasSubstr("is 10485")));
}

TEST(Bounded, NestingAndLength) {
  const std::string deep(5000, '[');
  EXPECT_THAT(read(deep, a100()).mistakes, ElementsAre(HasSubstr("k.json:1:")));
  std::string loops, ends;
  for (int n = 0; n < 60; ++n) {
    loops += R"({"do": "if", "when": [], "body": [)";
    ends += "]}";
  }
  EXPECT_THAT(read(with_body(loops + ends), a100()).mistakes, ElementsAre());
  std::string many = R"({"do": "barrier"})";
  for (int n = 0; n < 20000; ++n) many += R"(,{"do": "bar"})";
  const Read r = read(with_body(many), a100());
  EXPECT_EQ(r.mistakes.size(), base::Diagnostics::kMaxErrors + 1);
}

// Pieces of documents in wrong places: an answer, and no crash.
RC_GTEST_PROP(KernelDocument, AnyMixOfItsPartsIsReadOrRefused, ()) {
  const std::string text = tests::text_of_file(tests::source_path("tests/unit/lower/every_statement.json"));
  std::string mixed = text;
  const auto change = [&] {
    const auto at = static_cast<std::size_t>(tests::any_of_range(0, std::ssize(mixed) - 1));
    const auto from = static_cast<std::size_t>(tests::any_of_range(0, std::ssize(text) - 1));
    const auto n = static_cast<std::size_t>(tests::any_of_range(1, 12));
    mixed.replace(at, n, text.substr(from, n));
  };
  for (std::int64_t n = tests::any_of_range(1, 3); n > 0; --n) change();
  read(mixed, tests::h100_with_tensor_memory());
}
// Numbers alone are changed, so that more documents pass the reader and come to the checks.
RC_GTEST_PROP(KernelDocument, AnyNumbersAreTakenOrRefused, ()) {
  std::string text = tests::text_of_file(tests::source_path("tests/unit/lower/every_statement.json"));
  for (std::int64_t n = tests::any_of_range(1, 2); n > 0; --n) {
    std::vector<std::pair<std::size_t, std::size_t>> numbers;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
      if (end > at) numbers.emplace_back(at, end - at);
      at = end + 1;
    }
    const auto [at, length] = tests::any_element(numbers);
    text.replace(
        at, length,
        std::to_string(tests::any_element<std::int64_t>({0, 1, 2, 7, 31, 64, 1000, 1 << 20, std::int64_t{1} << 39})));
  }
  read(text, tests::h100_with_tensor_memory());
}

}  // namespace
}  // namespace tilescope::lower
