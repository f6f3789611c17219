// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program whose stages pass tensors on inside a kernel, as a document.

#include <string>

namespace tilescope::tests {

// Five stages of one kernel of 64 threads, two blocks of it: M by 8 threads a row, L by all 64, and rows of E that two
// blocks compute. `edge` is the level of all edges.
inline std::string small_group(const std::string& edge = "smem") {
  const auto stage = [](const std::string& op, const std::string& sizes, const std::string& tile,
                        const std::string& mapping, const std::string& more) {
    return R"({"expr":")" + op + R"(","sizes":{)" + sizes + R"(},"dtype":"f32","tiles":{"smem":{)" + tile +
           R"(}},"mapping":{)" + mapping + "}" + more + "}";
  };
  const std::string rows = R"("m":{"threads":4,"per_thread":)", columns = R"(},"n":{"threads":16,"per_thread":2})";
  const std::string of_both = R"("m":16,"n":20)";
  const auto from_to = [&](int from, int to, const std::string& tensor) {
    return R"({"from":)" + std::to_string(from) + R"(,"to":)" + std::to_string(to) + R"(,"tensor":")" + tensor +
           R"(","level":")" + edge + R"("})";
  };
  return R"({"arch":"v100","nodes":[)" +
         stage("S[m,n] +=! Q[m,d] * K[n,d]", of_both + R"(,"d":8)", R"("m":16,"n":32,"d":4)", rows + "4" + columns,
               R"(,"cached":{"Q":"smem","K":"smem"},"padding":{"S":1})") +
         ",\n" +
         stage("M[m] min=! 1 + abs(S[m,n])", of_both, R"("m":16,"n":24)",
               R"("m":{"threads":8,"per_thread":2},"n":{"threads":8})", R"(,"cached":{})") +
         ",\n" +
         stage("E[m,n] = S[m,n] - M[m]", of_both, R"("m":12,"n":32)", rows + "3" + columns, R"(,"padding":{"E":1})") +
         ",\n" +
         stage("L[m] +=! E[m,n]", of_both, R"("m":8,"n":64)", R"("m":{"per_thread":8},"n":{"threads":64})",
               R"(,"cached":{})") +
         ",\n" +
         stage("P[m,n] = E[m,n] + E[m+1,n] - L[m]", of_both + R"(},"shapes":{"E":[16,20])", R"("m":8,"n":32)",
               rows + "2" + columns, "") +
         "],\n\"edges\":[" + from_to(0, 1, "S") + "," + from_to(0, 2, "S") + "," + from_to(1, 2, "M") + "," +
         from_to(2, 3, "E") + "," + from_to(2, 4, "E") + "," + from_to(3, 4, "L") + "]}";
}

}  // namespace tilescope::tests
