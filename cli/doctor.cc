// SPDX-License-Identifier: Apache-2.0
// tilescope doctor: what works here, and why the rest does not.

#include "experiments/measure/doctor.h"

#include "cli/command.h"
#include "cli/table.h"

namespace tilescope::cli {

void add_doctor(CLI::App& app, int& status) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "What of Tilescope works on this machine");
  add_json(*command, *json);
  command->callback([json, &status] {
    Table table({{"part"}, {"state"}, {"what"}});
    base::List rows;
    for (const experiments::Finding& f : experiments::examine()) {
      table.add({f.part, f.present ? "present" : "absent", f.detail});
      rows.emplace_back(base::Map{{"part", f.part}, {"present", f.present}, {"detail", f.detail}});
    }
    if (*json)
      print_json(base::Map{{"parts", std::move(rows)}});
    else
      table.print();
    status = kDone;
  });
}

}  // namespace tilescope::cli
