// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention that keeps rows of scores in registers, with a ring of keys and values around its loop, as a document.

#include <string>

namespace tilescope::tests {

// Six stages of one kernel of two warps of an A100, in blocks of 32 of 40 query rows, a warp 16 of them: scores S of 32
// of 96 keys at a time, their running maximum M, exponentials P, sums L of them, sums O of the values, and quotients R.
inline std::string small_row_group() {
  const auto node = [](const std::string& op, const std::string& sizes, const std::string& further) {
    return R"({"expr":")" + op + R"(","sizes":{)" + sizes + R"(},"dtype":"f16","accumulate":"f32")" + further + "}";
  };
  const auto product = [](const std::string& columns, const std::string& tile, const std::string& depth,
                          const std::string& cached) {
    return R"(,"tiles":{"smem":{"i":32,)" + tile + R"(}},"mapping":{"i":{"threads":2,"per_thread":16},")" + columns +
           R"(":{"per_thread":)" + (columns == "j" ? "32" : "24") + R"(}},"cached":{)" + cached +
           R"(},"loop_stages":2,"mma":{"name":"mma.f16","m":"i","n":")" + columns + R"(","k":")" + depth + "\"}";
  };
  const auto from_to = [](int from, int to, const std::string& tensor, const std::string& further) {
    return R"({"from":)" + std::to_string(from) + R"(,"to":)" + std::to_string(to) + R"(,"tensor":")" + tensor +
           R"(","level":"reg")" + further + "}";
  };
  const std::string both = R"("i":40,"j":96)", carried = R"(,"carried":"j")";
  return R"({"arch":"a100","nodes":[)" +
         node("S[i,j] +=! Q[i,d] * K[j,d]", both + R"(,"d":32)",
              product("j", R"("j":32,"d":32)", "d", R"("Q":"smem","K":"smem")") + R"(,"copy":{"Q":"once"})") +
         ",\n" + node("M[i] max=! S[i,j]", both, "") + ",\n" + node("P[i,j] = exp((S[i,j] - M[i]) * 0.5)", both, "") +
         ",\n" + node("L[i] +=! P[i,j]", both, "") + ",\n" +
         node("O[i,e] +=! P[i,j] * V[j,e]", R"("i":40,"e":24,"j":96)",
              product("e", R"("e":24,"j":32)", "j", R"("V":"smem")")) +
         ",\n" + node("R[i,e] = O[i,e] / L[i]", R"("i":40,"e":24)", "") + "],\n\"edges\":[" +
         from_to(0, 1, "S", carried) + "," + from_to(0, 2, "S", carried) + "," + from_to(1, 2, "M", "") + "," +
         from_to(2, 3, "P", carried) + "," + from_to(2, 4, "P", carried) + "," + from_to(4, 5, "O", "") + "," +
         from_to(3, 5, "L", "") + "]}";
}

}  // namespace tilescope::tests
