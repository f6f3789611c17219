// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention that keeps rows of scores in registers, with a ring of keys and values around its loop, as a document.

#include <string>

namespace tilescope::tests {

// What multiplies, and how the tiles of queries, and of keys and values, come.
struct RowGroupUnit {
  std::string chip = "a100", mma = "mma.f16";
  std::string rows = "16", block = "32", all = "40";  // of a group of lanes, of a block of two, of the queries
  std::string values = "24";
  std::string keys_and_queries = R"(,"copy":{"Q":"once"})", of_values = "";
};

// Six stages of one kernel of two warps of an A100, in blocks of 32 of 40 query rows, a warp 16 of them: scores S of 32
// of 96 keys at a time, their running maximum M, exponentials P, sums L of them, sums O of the values, and quotients R.
inline std::string small_row_group(const RowGroupUnit& u = {}) {
  const auto node = [](const std::string& op, const std::string& sizes, const std::string& further) {
    return R"({"expr":")" + op + R"(","sizes":{)" + sizes + R"(},"dtype":"f16","accumulate":"f32")" + further + "}";
  };
  const auto product = [&](const std::string& columns, const std::string& tile, const std::string& depth,
                           const std::string& cached) {
    return R"(,"tiles":{"smem":{"i":)" + u.block + "," + tile + R"(}},"mapping":{"i":{"threads":2,"per_thread":)" +
           u.rows + R"(},")" + columns + R"(":{"per_thread":)" + (columns == "j" ? "32" : u.values) +
           R"(}},"cached":{)" + cached + R"(},"loop_stages":2,"mma":{"name":")" + u.mma + R"(","m":"i","n":")" +
           columns + R"(","k":")" + depth + "\"}";
  };
  const auto from_to = [](int from, int to, const std::string& tensor, const std::string& further) {
    return R"({"from":)" + std::to_string(from) + R"(,"to":)" + std::to_string(to) + R"(,"tensor":")" + tensor +
           R"(","level":"reg")" + further + "}";
  };
  const std::string both = R"("i":)" + u.all + R"(,"j":96)", carried = R"(,"carried":"j")";
  return R"({"arch":")" + u.chip + R"(","nodes":[)" +
         node("S[i,j] +=! Q[i,d] * K[j,d]", both + R"(,"d":32)",
              product("j", R"("j":32,"d":32)", "d", R"("Q":"smem","K":"smem")") + u.keys_and_queries) +
         ",\n" + node("M[i] max=! S[i,j]", both, "") + ",\n" + node("P[i,j] = exp((S[i,j] - M[i]) * 0.5)", both, "") +
         ",\n" + node("L[i] +=! P[i,j]", both, "") + ",\n" +
         node("O[i,e] +=! P[i,j] * V[j,e]", R"("i":)" + u.all + R"(,"e":)" + u.values + R"(,"j":96)",
              product("e", R"("e":)" + u.values + R"(,"j":32)", "j", R"("V":"smem")") + u.of_values) +
         ",\n" + node("R[i,e] = O[i,e] / L[i]", R"("i":)" + u.all + R"(,"e":)" + u.values, "") + "],\n\"edges\":[" +
         from_to(0, 1, "S", carried) + "," + from_to(0, 2, "S", carried) + "," + from_to(1, 2, "M", "") + "," +
         from_to(2, 3, "P", carried) + "," + from_to(2, 4, "P", carried) + "," + from_to(4, 5, "O", "") + "," +
         from_to(3, 5, "L", "") + "]}";
}

// The same by warp groups of an H200, whose lanes hold the scores as the first operand of the sums' product; threads
// copy the tiles, or TMA loads them.
inline RowGroupUnit warp_groups(bool by_tma) {
  RowGroupUnit u{.chip = "h200", .mma = "wgmma.f16", .rows = "64", .block = "128", .all = "160", .values = "32"};
  if (!by_tma) return u;
  u.keys_and_queries = R"(,"copy":{"Q":"tma_once","K":"tma"},"box":{"Q":32,"K":32})";
  u.of_values = R"(,"copy":{"V":"tma"},"box":{"V":32})";
  return u;
}

}  // namespace tilescope::tests
