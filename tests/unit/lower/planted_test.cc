// Mistakes planted in kernels that are right: the interpreter has to find each.

#include <functional>

#include <gtest/gtest.h>

#include "lower/counters.h"
#include "lower/expected_values.h"
#include "lower/interpret.h"
#include "tests/support/lowered.h"

namespace tilescope::lower {
namespace {

// Calls `visit` on every list of statements, the kernel's own first.
void each_body(std::vector<Statement>& body, const std::function<void(std::vector<Statement>&)>& visit) {
  visit(body);
  for (Statement& s : body) {
    if (auto* loop = std::get_if<Loop>(&s.what)) each_body(loop->body, visit);
    if (auto* branch = std::get_if<If>(&s.what)) each_body(branch->body, visit);
  }
}

// Removes the n-th statement of that kind; false where there are fewer.
template <class Kind>
bool remove(Kernel& k, int n) {
  bool removed = false;
  each_body(k.body, [&](std::vector<Statement>& body) {
    for (std::size_t i = 0; i < body.size() && !removed; ++i)
      if (std::holds_alternative<Kind>(body[i].what) && n-- == 0) {
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
        removed = true;
      }
  });
  return removed;
}

std::vector<Copy*> copies(Kernel& k) {
  std::vector<Copy*> out;
  for (const Copy* c : copies_of(k)) out.push_back(const_cast<Copy*>(c));
  return out;
}

// What the interpreter says: "" where every value is right, "values" where one is not, or its error.
std::string verdict(const tile::RProgram& p, const Module& m) {
  std::mt19937 random(7);
  NamedValues values;
  add_expected_values(p, random, values);
  std::vector<expr::Values> globals = globals_of(m, values);
  try {
    interpret(m, {}, globals);
  } catch (const KernelError& e) {
    return e.what();
  }
  return globals.back() == values.at("C") ? "" : "values";
}

class Planted : public testing::Test {
 protected:
  arch::ArchSpec chip_ = tests::chip("v100");

  // A program's kernels without a mistake.
  Module start(std::string_view more) {
    program_ = tests::program(tests::small_matmul(more), chip_);
    Module m = tests::lowered(program_, chip_);
    EXPECT_EQ(verdict(program_, m), "");
    return m;
  }
  std::string verdict_of(const Module& m) const { return verdict(program_, m); }

  tile::RProgram program_;
};

TEST_F(Planted, EveryBarrierIsNeeded) {
  for (const char* pipeline : {"", R"(,"pipeline":2)", R"(,"pipeline":3)"}) {
    const Module right = start(pipeline);
    int barriers = 0;
    for (Module m = right; remove<Barrier>(m.kernels[0], barriers); m = right, ++barriers)
      EXPECT_NE(verdict_of(m).find("without a barrier"), std::string::npos) << verdict_of(m);
    EXPECT_EQ(barriers, *pipeline == 0 ? 2 : 1);
  }
}

TEST_F(Planted, EveryWaitIsNeeded) {
  chip_.core.async_copy = base::Bytes{4};
  const Module right = start(R"(,"pipeline":3)");
  Module m = right;
  ASSERT_TRUE(remove<Wait>(m.kernels[0], 0));
  EXPECT_NE(verdict_of(m).find("while a copy to it is under way"), std::string::npos) << verdict_of(m);
  m = right;
  each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* wait = std::get_if<Wait>(&s.what)) ++wait->pending;  // one group too few
  });
  EXPECT_NE(verdict_of(m).find("while a copy to it is under way"), std::string::npos) << verdict_of(m);
}

TEST_F(Planted, APaddingThatIsNotWhatRowsAreApartIsFound) {
  Module m = start(R"(,"padding":{"A":1})");
  for (Copy* c : copies(m.kernels[0])) {
    const Buffer& to = m.kernels[0].buffers[static_cast<std::size_t>(c->to.buffer)];
    if (to.space != Space::kShared || to.name != "A_tile") continue;
    for (AffineTerm& t : c->to.offset.terms)
      if (t.coefficient == 9) t.coefficient = 8;  // rows of 8 and 1
  }
  EXPECT_NE(verdict_of(m), "");
}

TEST_F(Planted, AGuardThatIsOffByOneIsFound) {
  const char* ragged = R"({"arch":"v100","stages":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
    "sizes":{"m":61,"n":59,"k":29},"dtype":"f32","tiles":{"smem":{"m":32,"n":32,"k":8},"reg":{"m":4,"n":4}},
    "mapping":{"m":{"virtual":1,"threads":8,"serial":4},"n":{"virtual":2,"threads":8,"serial":2}},
    "staged":{"A":"smem","B":"smem"}}],"edges":[]})";
  program_ = tests::program(ragged, chip_);
  const Module right = tests::lowered(program_, chip_);
  EXPECT_EQ(verdict_of(right), "");
  int planted = 0;
  for (std::size_t c = 0; c < copies_of(right.kernels[0]).size(); ++c)
    for (const bool outside : {true, false}) {
      Module m = right;
      Copy* copy = copies(m.kernels[0])[c];
      std::vector<Guard>& guards = copy->when.empty() ? copy->inside : copy->when;
      if (guards.empty()) continue;
      guards.back().bound += outside ? 1 : -1;
      EXPECT_NE(verdict_of(m), "") << c;
      ++planted;
    }
  EXPECT_GE(planted, 6);
}

TEST_F(Planted, AReductionThatGoesBeyondItsEndIsFound) {
  Module m = start("");
  each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* loop = std::get_if<Loop>(&s.what)) loop->body.push_back({Barrier{}, {}});
  });
  EXPECT_EQ(verdict_of(m), "");  // more barriers than needed are no mistake of values
  for (Index& i : m.kernels[0].indices)
    if (i.name == "step") ++i.range.high;
  EXPECT_NE(verdict_of(m), "");
}

}  // namespace
}  // namespace tilescope::lower
