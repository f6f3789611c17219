// SPDX-License-Identifier: Apache-2.0
// Counts apart from rates: what they have in common with a whole estimate, and what decides them.

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/numbers.h"
#include "model/simt/estimate.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

// A count's time is that of the estimate, to the last bit; a limit leaves out what takes no less, and nothing else.
RC_GTEST_PROP(TimeUnlessBound, IsTheEstimatesWhereItIsLess, ()) {
  const std::string chip = tests::any_element<std::string>({"v100", "a100", "h200", "mi50", "tilescope_one"});
  const Machine& m = tests::machine(chip);
  tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  p.registers = tests::any_of_range(0, 1) * tests::any_of_range(16, 128);
  const OwnCounts own(p, m);
  const auto whole = estimate_stage(p, m);
  const auto time = time_unless_bound(kNoLimit, own.counts, 0, m);
  RC_ASSERT(time.has_value());
  RC_ASSERT(*time == (whole ? whole->total_us : kNoLimit));
  if (!whole) return;
  RC_ASSERT(time_unless_bound(*time * (1 + 1e-12), own.counts, 0, m) == time);
  if (const auto at_limit = time_unless_bound(*time, own.counts, 0, m)) RC_ASSERT(at_limit == time);
  RC_ASSERT(!time_unless_bound(whole->terms.front().time_us, own.counts, 0, m).has_value());
}

// The registers that a caller says stand for those of the program.
RC_GTEST_PROP(TimeUnlessBound, TakesTheRegistersThatItIsTold, ()) {
  const Machine& m = tests::machine("v100");
  tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  p.registers = 1;
  const OwnCounts own(p, m);
  const std::int64_t registers = tests::any_of_range(16, 255);
  const auto told = time_unless_bound(kNoLimit, own.counts, registers, m);
  p.registers = registers;
  RC_ASSERT(told == estimate_stage(p, m)->total_us);
}

// The figures of a chip that decide what programs do. All others leave every count as it is.
TEST(Geometry, IsWhatTheseFiguresSay) {
  for (const char* name : {"v100", "a100", "h200", "mi50"}) {
    const arch::ArchSpec chip = tests::chip(name);
    const Geometry geometry = make_geometry(chip);
    std::vector<std::string> deciding;
    for (const arch::Number& n : arch::numbers_of(chip))
      for (const double to : {2 * n.value, n.value / 2, n.value + 1}) {
        base::Diagnostics diags;
        const auto changed = arch::load_arch(name, {arch::set_to(n, to)}, diags);
        if (!changed || make_geometry(*changed) == geometry) continue;
        deciding.push_back(n.path);
        break;
      }
    for (const std::string& path : deciding) {
      const bool known = path.find(".warp") != std::string::npos || path.find("max_access") != std::string::npos ||
                         path.find("async_copy") != std::string::npos || path.find("tma.") != std::string::npos ||
                         path.find("shuffle") != std::string::npos || path.find("bank") != std::string::npos ||
                         path.find("broadcast_groups") != std::string::npos ||
                         path.find(".line") != std::string::npos || path.find(".sector") != std::string::npos ||
                         path.find(".access") != std::string::npos || path.find(".burst") != std::string::npos ||
                         path.find("dram.width") != std::string::npos ||
                         path.find("write_granule") != std::string::npos || path.find("compiler.") == 0;
      EXPECT_TRUE(known) << name << ": " << path;
    }
    EXPECT_GE(deciding.size(), 5U) << name;
  }
}

}  // namespace
}  // namespace tilescope::model
