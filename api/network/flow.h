// SPDX-License-Identifier: Apache-2.0
#pragma once
// What passes between a network's groups and between the stages of one, as `network --json` says it: what a picture of
// the groups needs.

#include <cstddef>
#include <string>

#include "base/describe.h"

namespace tilescope::api {

inline constexpr int kNetworkFormat = 1;  // of the document of a network's times

// A tensor in the chip's memory, which groups share.
struct NetworkTensorRow {
  std::string tensor, shape, dtype;
  double bytes = 0;
  std::string role;  // constant, input, between, output
};

template <class V>
void describe(V& v, base::Is<NetworkTensorRow> auto& r) {
  v.field({"tensor", "", "Its name in the network; of a tensor and its views, that of the former."}, r.tensor);
  v.field({"shape", "", "Its extents: 1x64x112x112."}, r.shape);
  v.field({"dtype", "", "Type of its elements on the chip."}, r.dtype);
  v.field({"bytes", "B", "All of its elements."}, r.bytes);
  v.field({"role", "", "constant or input of the network, between groups, or its output."}, r.role);
}

// A stage of a group's program.
struct NetworkStageRow {
  std::string tensor;      // of the program, which it writes
  std::size_t node = 0;    // by its position in the group
  std::size_t kernel = 0;  // of the program, from 0
};

template <class V>
void describe(V& v, base::Is<NetworkStageRow> auto& r) {
  v.field({"tensor", "", "The program's tensor that it writes."}, r.tensor);
  v.field({"node", "", "Its node, by the position in nodes."}, r.node);
  v.field({"kernel", "", "Its kernel, counted from 0."}, r.kernel);
}

// A tensor that passes from one stage to another.
struct NetworkPassRow {
  std::size_t from = 0, to = 0;  // stages
  std::string tensor, level;
};

template <class V>
void describe(V& v, base::Is<NetworkPassRow> auto& r) {
  v.field({"from", "", "The stage that writes it, by the position in stages."}, r.from);
  v.field({"to", "", "The stage that reads it."}, r.to);
  v.field({"tensor", "", "The program's tensor."}, r.tensor);
  v.field({"level", "", "The memory level that holds it."}, r.level);
}

// Groups `first` to `last` and, behind them, equal ones: `times` copies in all, each of which reads the one before it.
struct NetworkRunRow {
  std::size_t first = 0, last = 0, times = 1;
};

template <class V>
void describe(V& v, base::Is<NetworkRunRow> auto& r) {
  v.field({"first", "", "The first group of the first copy."}, r.first);
  v.field({"last", "", "The last group of the first copy."}, r.last);
  v.field({"times", "", "Copies, one behind the other."}, r.times);
}

}  // namespace tilescope::api
