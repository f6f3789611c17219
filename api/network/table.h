// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope network --table`: times of a network at every point of a grid of its variables, as a CSV file. It is the
// profile of a chip that serving simulators read.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/network/network.h"
#include "arch/spec.h"
#include "base/choices.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// A variable and its values, in the order in which they were given.
struct TableAxis {
  std::string name;
  std::vector<std::int64_t> values;
};

// The most points of a grid.
inline constexpr std::size_t kMaxTablePoints = 1'000'000;

// Axes written as `new=1|16..4096*2,past=0|1024..8192+1024`: values and ranges separated by |, where *2 multiplies and
// +1024 adds, up to the range's end. Nullopt after errors, of which one is a grid of more than kMaxTablePoints.
std::optional<std::vector<TableAxis>> read_table_axes(std::string_view text, base::Diagnostics& diags);

struct TableHow {
  base::Fuse fuse = base::Fuse::kAll;
  int jobs = 0;
  std::string log = {};  // a file that keeps programs; nothing is kept where it is empty
  // Points that are done, all of them, and those that the file held at the begin.
  std::function<void(std::size_t done, std::size_t all, std::size_t before)> progress;
};

struct NetworkTable {
  std::string file;
  std::size_t points = 0;    // of the grid
  std::size_t computed = 0;  // the others were in the file
  std::size_t refused = 0;   // points at which there is no such network, or the chip does not hold it
  std::size_t failed = 0;    // points at which a group has no time
  std::size_t rows = 0;      // of the file, which may hold more points
  std::size_t expressions = 0, constructed = 0;
};

template <class V>
void describe(V& v, base::Is<NetworkTable> auto& t) {
  v.field({"file", "", "The table."}, t.file);
  v.field({"points", "", "Points of the grid."}, t.points);
  v.field({"computed", "", "Those of them that this run computed; the table held the others."}, t.computed);
  v.field({"refused", "", "Those at which there is no such network, or the chip does not hold it."}, t.refused);
  v.field({"failed", "", "Those at which a group has no time."}, t.failed);
  v.field({"rows", "", "Rows of the table, whose points may be more than those of the grid."}, t.rows);
  v.field({"expressions", "", "Expressions whose programs were compared."}, t.expressions);
  v.field({"constructed", "", "Those of them for which programs were constructed, not kept ones."}, t.constructed);
}

// Adds to the file the rows of every point that it lacks, each point's as soon as they are known; the last one's are
// the totals. At the end rows are in the order of their points. Errors, after which nothing was added: the network
// cannot be read at the first point, or the file holds something else, or times of another chip, network, version or
// other options. Throws std::runtime_error where the file cannot be written.
std::optional<NetworkTable> write_network_table(const NetworkSource& source, const std::vector<TableAxis>& axes,
                                                const arch::ArchSpec& chip, const TableHow& how,
                                                const std::string& file, base::Diagnostics& diags);

}  // namespace tilescope::api
