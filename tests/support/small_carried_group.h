// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention whose softmax is carried on from step to step, as a document.

#include <string>

namespace tilescope::tests {

// Six stages of one kernel of 64 threads, in blocks of eight of 20 query rows: scores S of 16 of 50 keys at a time,
// their running maximum M by eight threads a row, exponentials E, sums L of them, sums U of the values, and quotients
// O. `more` are further keys of the stage of U, `edge` of those from S to M.
inline std::string small_carried_group(const std::string& dtype = "f32", const std::string& more = "",
                                       const std::string& edge = "") {
  const auto stage = [&](const std::string& op, const std::string& sizes, const std::string& tile,
                         const std::string& mapping, const std::string& further) {
    return R"({"expr":")" + op + R"(","sizes":{)" + sizes + R"(},"dtype":")" + dtype + R"(","tiles":{"smem":{)" + tile +
           R"(}},"mapping":{)" + mapping + "}" + further + "}";
  };
  const std::string rows = R"("m":{"threads":8})", columns = R"(,"n":{"threads":8,"per_thread":2})";
  const std::string of_both = R"("m":20,"n":50)";
  const auto from_to = [&](int from, int to, const std::string& tensor, const std::string& further) {
    return R"({"from":)" + std::to_string(from) + R"(,"to":)" + std::to_string(to) + R"(,"tensor":")" + tensor +
           R"(","level":"smem")" + further + "}";
  };
  const std::string carried = R"(,"carried":"n")";
  return R"({"arch":"v100","nodes":[)" +
         stage("S[m,n] +=! Q[m,d] * K[n,d]", of_both + R"(,"d":6)", R"("m":8,"n":16,"d":4)", rows + columns,
               R"(,"cached":{"Q":"smem","K":"smem"},"padding":{"S":1})") +
         ",\n" +
         stage("M[m] max=! S[m,n]", of_both, R"("m":8,"n":16)", rows + R"(,"n":{"threads":8})", R"(,"cached":{})") +
         ",\n" + stage("E[m,n] = exp(S[m,n] - M[m])", of_both, R"("m":8,"n":16)", rows + columns, "") + ",\n" +
         stage("L[m] +=! E[m,n]", of_both, R"("m":8,"n":16)", rows + R"(,"n":{"threads":8})", R"(,"cached":{})") +
         ",\n" +
         stage("U[m,v] +=! E[m,n] * V[n,v]", of_both + R"(,"v":12)", R"("m":8,"v":16,"n":16)",
               rows + R"(,"v":{"threads":8,"per_thread":2})", R"(,"cached":{"V":"smem"})" + more) +
         ",\n" +
         stage("O[m,v] = U[m,v] / L[m]", R"("m":20,"v":12)", R"("m":8,"v":16)",
               rows + R"(,"v":{"threads":8,"per_thread":2})", "") +
         "],\n\"edges\":[" + from_to(0, 1, "S", carried + edge) + "," + from_to(0, 2, "S", carried) + "," +
         from_to(1, 2, "M", "") + "," + from_to(2, 3, "E", carried) + "," + from_to(2, 4, "E", carried) + "," +
         from_to(3, 5, "L", "") + "," + from_to(4, 5, "U", "") + "]}";
}

}  // namespace tilescope::tests
