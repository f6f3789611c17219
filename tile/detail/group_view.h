// SPDX-License-Identifier: Apache-2.0
#pragma once
// What those who look at a group share: its stages by place, and errors about them.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tile/group.h"

namespace tilescope::tile {

class GroupView {
 public:
  GroupView(const RProgram& p, const Group& group, const arch::ArchSpec& a, base::Diagnostics& diags,
            const ProgramPlaces& at)
      : p_(p), group_(group), arch_(a), diags_(diags), at_(at), before_(diags.count()) {}

 protected:
  const StageProgram& stage(std::size_t i) const { return p_.simt()[group_[i]]; }
  const TileSpace& space(std::size_t i) const { return *stage(i).space; }
  const std::string& name(std::size_t i) const { return space(i).output.name; }
  std::optional<std::size_t> place_of(int stage) const {
    const auto found = std::find(group_.begin(), group_.end(), static_cast<std::size_t>(stage));
    if (found == group_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - group_.begin());
  }

  bool ok() const { return diags_.count() == before_; }
  // An error at the place of the i-th stage.
  void refuse(std::size_t i, std::string why) { diags_.error(at_.of(group_[i]), std::move(why)); }

  const RProgram& p_;
  const Group& group_;
  const arch::ArchSpec& arch_;
  base::Diagnostics& diags_;
  const ProgramPlaces& at_;

 private:
  const std::size_t before_;
};

}  // namespace tilescope::tile
