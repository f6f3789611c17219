// SPDX-License-Identifier: Apache-2.0
#include "import/report.h"

namespace tilescope::importers {

base::Value to_document(const Imported& imported) {
  base::List differences;
  for (const Difference& d : imported.differences)
    differences.emplace_back(base::Map{{"path", d.path}, {"ours", d.ours}, {"imported", d.imported}});
  base::Map out{{"kind", imported.kind}};
  if (!imported.base.empty()) out.push_back({"extends", imported.base});
  out.push_back({"taken", base::to_list(imported.report.taken)});
  out.push_back({"meaningless", base::to_list(imported.report.meaningless)});
  out.push_back({"not_understood", base::to_list(imported.report.unknown)});
  out.push_back({"differences", std::move(differences)});
  return out;
}

}  // namespace tilescope::importers
