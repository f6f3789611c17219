// SPDX-License-Identifier: Apache-2.0
#include "experiments/common/json_rows.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/common/parallel.h"
#include "base/json_writer.h"

namespace tilescope::experiments {

void write_json_rows(std::size_t rows, int jobs, const std::function<base::Value(std::size_t)>& row,
                     const base::Map& others, std::FILE* to) {
  constexpr std::size_t kOfAText = 64, kTexts = 64;  // that are kept at a time
  const auto write = [to](std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); };
  write("{\"rows\":[");
  std::vector<std::string> texts(kTexts);
  for (std::size_t first = 0; first < rows; first += kOfAText * kTexts) {
    const std::size_t count = std::min(kTexts, (rows - first + kOfAText - 1) / kOfAText);
    api::parallel_for(count, jobs, [&] {
      return [&](std::size_t t) {
        texts[t].clear();
        const std::size_t begin = first + t * kOfAText;
        for (std::size_t r = begin; r < std::min(begin + kOfAText, rows); ++r) {
          texts[t] += r == 0 ? "\n" : ",\n";
          base::append_json(row(r), texts[t]);
        }
      };
    });
    for (std::size_t t = 0; t < count; ++t) write(texts[t]);
  }
  write("]");
  for (const base::Entry& e : others) {
    write(",\n" + base::to_json(e.key) + ":");
    write(base::to_json(e.value));
  }
  write("}\n");
}

}  // namespace tilescope::experiments
