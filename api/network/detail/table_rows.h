// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of one point of a table: groups of the network with their times, then the totals.

#include <cstdint>
#include <string>
#include <vector>

#include "api/network/detail/grouping.h"
#include "api/network/network.h"
#include "api/network/table.h"
#include "base/choices.h"

namespace tilescope::api {

// The values of a grid's axes.
using TablePoint = std::vector<std::int64_t>;

// The last row of a point is of that kind.
inline constexpr const char* kTotalKind = "total";
// The column of a variable begins so, whatever the variable is called.
inline constexpr const char* kSizeColumn = "size.";

std::vector<std::string> table_columns(const std::vector<TableAxis>& axes);

// Computes points of one table. Any number of threads may ask.
class TableRows {
 public:
  // What it is given has to outlive it.
  TableRows(const NetworkSource& source, const std::vector<TableAxis>& axes, BestPrograms& best, base::Fuse fuse)
      : source_(source), axes_(axes), best_(best), fuse_(fuse) {}

  // The network with the point's values of the variables.
  NetworkSource source_at(const TablePoint& point) const;

  // Hash of everything that times at the point depend on: version, chip, options, and the network there.
  std::string hash_at(const TablePoint& point) const;

  struct Rows {
    std::string lines;
    bool refused = false, failed = false;
  };
  Rows at(const TablePoint& point, int jobs) const;

 private:
  const NetworkSource& source_;
  const std::vector<TableAxis>& axes_;
  BestPrograms& best_;
  base::Fuse fuse_;
};

}  // namespace tilescope::api
