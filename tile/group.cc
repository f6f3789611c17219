// SPDX-License-Identifier: Apache-2.0
#include "tile/group.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "tile/detail/group_areas.h"
#include "tile/detail/group_view.h"
#include "tile/fit.h"
#include "tile/loop_ring.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/row_reduction.h"
#include "tile/microkernel/rules.h"

namespace tilescope::tile {
namespace {

bool in_registers(const Edge& e, const arch::ArchSpec& a) {
  const arch::RegisterLevel* registers = arch::registers_of(a);
  return registers != nullptr && e.level == registers->name;
}

// Where the elements that a block of a stage reads along one dimension of a kept tensor begin, and how many they are.
struct ReadRange {
  TileBegin begin;
  std::int64_t extent = 1;
};

// `begins` are those of the reading stage, whose loops stand one by one; `stepped`: of a stage in the group's loop, the
// axis along which it goes.
ReadRange range_of(const StageProgram& p, const std::vector<TileBegin>& begins, const expr::Coordinate& c,
                   std::int64_t whole, std::optional<std::size_t> stepped) {
  ReadRange out;
  if (!c.affine()) {
    out.extent = whole;
    return out;
  }
  std::int64_t low = c.offset, high = c.offset;
  std::map<int, std::int64_t> terms;
  for (const expr::Term& t : c.terms) {
    const auto axis = static_cast<std::size_t>(t.axis);
    const bool spatial = axis < p.space->spatial, part = spatial || axis == stepped;
    const std::int64_t last = t.coefficient * ((part ? p.block[axis] : p.space->axes[axis].extent) - 1);
    (last < 0 ? low : high) += last;
    if (!spatial && part) out.begin.step += t.coefficient * p.block[axis];
    if (!spatial) continue;
    out.begin.step += t.coefficient * begins[axis].step;
    low += t.coefficient * begins[axis].offset;
    high += t.coefficient * begins[axis].offset;
    for (const expr::Term& u : begins[axis].terms) terms[u.axis] += t.coefficient * u.coefficient;
  }
  for (const auto& [axis, coefficient] : terms)
    if (coefficient != 0) out.begin.terms.push_back({axis, coefficient});
  out.begin.offset = low;
  out.extent = high - low + 1;
  return out;
}

Extents extents_of(const std::vector<ReadRange>& ranges) {
  Extents out;
  for (const ReadRange& r : ranges) out.push_back(r.extent);
  return out;
}

// One range that holds both; nothing where they move apart from block to block.
std::optional<ReadRange> joined(const ReadRange& a, const ReadRange& b) {
  if (!(a.begin.terms == b.begin.terms) || a.begin.step != b.begin.step) return std::nullopt;
  ReadRange out = a;
  out.begin.offset = std::min(a.begin.offset, b.begin.offset);
  out.extent = std::max(a.begin.offset + a.extent, b.begin.offset + b.extent) - out.begin.offset;
  return out;
}

class GroupBuilder : GroupView {
 public:
  GroupBuilder(const RProgram& p, const Group& group, const arch::ArchSpec& a, base::Diagnostics& diags,
               const ProgramPlaces& at)
      : GroupView(p, group, a, diags, at) {
    for (const std::size_t s : group) out_.stages.emplace_back().stage = s;
    loop_axes_ = loop_axes(p, group, a);
  }

  // What stages behind the i-th read of its tensor in one block; they alone are looked at.
  std::optional<std::vector<ReadRange>> ranges_of(std::size_t i) {
    anchor();
    for (std::size_t k = group_.size() - 1; k-- > i + 1 && ok();) place_tile(k);
    if (!ok()) return std::nullopt;
    return ranges(i);
  }

  // Calls `found` with what is read of each stage, from the last but one on; it sets the stage's tile and says whether
  // to go on. Whether all stages were called.
  bool for_ranges(const std::function<bool(std::size_t, const std::vector<ReadRange>&)>& found) {
    anchor();
    for (std::size_t i = group_.size() - 1; i-- > 0 && ok();) {
      const auto read = ranges(i);
      if (!read || !found(i, *read)) return false;
      if (i > 0) place_tile(i, &*read);
    }
    return ok();
  }

  std::optional<GroupLayout> layout() {
    anchor();
    if (group_.size() > 1) check_stages();
    if (ok() && group_.size() > 1) out_.loop = loop_of(p_, group_, arch_, diags_, at_);
    if (!ok()) return std::nullopt;
    out_.threads = threads();
    for (std::size_t i = 0; i < group_.size() && ok(); ++i) {
      check_held(i);
      check_factors(i);
      check_rescaled(i);
      if (std::string why = ok() ? loop_ring_refusal(p_, out_, i) : std::string(); !why.empty())
        refuse(i, std::move(why));
    }
    for (std::size_t i = group_.size() - 1; i-- > 0 && ok();) place_tile(i);
    if (!ok()) return std::nullopt;
    place_bytes();
    if (!ok()) return std::nullopt;
    return std::move(out_);
  }

 private:
  std::int64_t threads() const {
    std::int64_t most = 1;
    for (std::size_t i = 0; i < group_.size(); ++i) most = std::max(most, stage(i).threads());
    return most;
  }
  void check_stages() {
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const StageProgram& p = stage(i);
      const auto refuse_stage = [&](std::string_view why) {
        refuse(i, fmt::format("the stage of {} cannot share a kernel: {}", name(i), why));
      };
      // What passes in registers alone is where it is, however loops are collapsed.
      if ((keeps(i) || reads_kept(i) || is_of_rows(i)) &&
          std::any_of(p.space->axes.begin(), p.space->axes.end(), [&](const TileAxis& axis) {
            return axis.axes.size() != 1 || axis.axes[0] != &axis - p.space->axes.data();
          }))
        refuse_stage("its loops are not those of the expression, one by one");
      if (p.is_split()) refuse_stage("blocks share its reduction (split)");
      if (keeps(i) && p.space->output.dims.size() !=
                          p.space->expression.tensors[static_cast<std::size_t>(p.space->output.tensor)].shape.size())
        refuse_stage("its output's tile has other dimensions than its tensor");
      // In a ring around the loop a producer warp loads the tiles of all stages (loop_ring.h).
      if ((p.by_tma() && p.loop_stages == 1) || p.operands.back().box != 0) refuse_stage("TMA copies its tiles");
      if (threads() % p.threads() != 0)
        refuse(i, fmt::format("a block has {} threads, which the {} for {} do not divide", threads(), p.threads(),
                              name(i)));
      if (i + 1 < group_.size()) check_output(i);
    }
  }

  // What a stage of the group before the last one writes stays in it.
  void check_output(std::size_t i) {
    const std::string& tensor = name(i);
    bool read = false;
    for (std::size_t s = group_[i] + 1; s < p_.stages(); ++s) {
      if (!p_.space(s).reads(tensor)) continue;
      const bool kept = std::any_of(p_.edges.begin(), p_.edges.end(), [&](const Edge& e) {
        return e.tensor == tensor && static_cast<std::size_t>(e.to) == s && inside_core(e, arch_);
      });
      read = true;
      if (!kept)
        refuse(i, fmt::format("{} passes between stages of one kernel, and the stage of {} reads it outside", tensor,
                              p_.space(s).output.name));
    }
    if (!read)
      refuse(i, fmt::format("{} is a result of the program, and its stage is not the last of its kernel", tensor));
    if (stage(i).operands.back().cached)
      refuse(i, fmt::format("{} stays in the core and does not leave through the scratchpad", tensor));
  }

  void anchor() {
    const StageProgram& last = stage(group_.size() - 1);
    for (std::size_t a = 0; a < last.space->spatial; ++a) {
      TileBegin& begin = out_.stages.back().begins.emplace_back();
      if (last.blocks_along(a) > 1) begin.terms.push_back({static_cast<int>(a), 1});
    }
    for (std::size_t i = 0; i < group_.size(); ++i)
      for (auto* inputs : {&out_.stages[i].kept_inputs, &out_.stages[i].held_inputs})
        inputs->assign(stage(i).space->inputs.size(), -1);
    for (const Edge& e : p_.edges) {
      const auto from = place_of(e.from), to = place_of(e.to);
      if (!inside_core(e, arch_) || !from || !to) continue;
      GroupedStage &writer = out_.stages[*from], &reader = out_.stages[*to];
      const bool held = in_registers(e, arch_);
      for (std::size_t o = 0; o < stage(*to).space->inputs.size(); ++o)
        if (tensor_of(*to, o) == e.tensor)
          (held ? reader.held_inputs : reader.kept_inputs)[o] = static_cast<int>(*from);
      (held ? writer.holds_output : writer.keeps_output) = true;
    }
    for (std::size_t i = 0; i < group_.size(); ++i)
      for (std::size_t o = 0; o < out_.stages[i].kept_inputs.size(); ++o)
        if ((out_.stages[i].kept_inputs[o] >= 0 || out_.stages[i].held_inputs[o] >= 0) && stage(i).operands[o].cached)
          refuse(i, fmt::format("{} stays in the core; {} copies it to the scratchpad once more", tensor_of(i, o),
                                name(i)));
        else if ((out_.stages[i].kept_inputs[o] >= 0 || out_.stages[i].held_inputs[o] >= 0) && space(i).by_table(o))
          refuse(i, fmt::format("{} stays in the core; the stage of {} reads it from memory, for a table gives "
                                "coordinates",
                                tensor_of(i, o), name(i)));
  }

  const std::string& tensor_of(std::size_t i, std::size_t operand) const {
    return space(i).tensor_name(space(i).inputs[operand]);
  }

  // By dimension of the stage's output, what stages behind it read of it. Nothing after an error.
  std::optional<std::vector<ReadRange>> ranges(std::size_t i) {
    const StageProgram& p = stage(i);
    const std::vector<std::int64_t>& shape =
        p.space->expression.tensors[static_cast<std::size_t>(p.space->output.tensor)].shape;
    std::vector<std::optional<ReadRange>> found(shape.size());
    for (std::size_t c = i + 1; c < group_.size(); ++c)
      for (std::size_t o = 0; o < out_.stages[c].kept_inputs.size(); ++o) {
        if (out_.stages[c].kept_inputs[o] != static_cast<int>(i) &&
            out_.stages[c].held_inputs[o] != static_cast<int>(i))
          continue;
        for (const int r : stage(c).space->inputs[o].reads)
          for (std::size_t d = 0; d < shape.size(); ++d) {
            const expr::Read& read = stage(c).space->stage().reads[static_cast<std::size_t>(r)];
            const ReadRange one = range_of(stage(c), out_.stages[c].begins, read.at[d], shape[d], loop_axes_[c]);
            const std::optional<ReadRange> both = found[d] ? joined(*found[d], one) : one;
            if (!both) {
              refuse(i, fmt::format("stages read {} at places along {} that move apart from block to block", name(i),
                                    p.space->axes[d].name));
              return std::nullopt;
            }
            found[d] = both;
          }
      }
    std::vector<ReadRange> out;
    for (const std::optional<ReadRange>& range : found) out.push_back(range.value());
    return out;
  }

  bool keeps(std::size_t i) const { return out_.stages[i].keeps_output; }
  bool reads_kept(std::size_t i) const {
    const std::vector<int>& kept = out_.stages[i].kept_inputs;
    return std::any_of(kept.begin(), kept.end(), [](int from) { return from >= 0; });
  }
  // A matrix instruction reads whole fragments, from cached tiles or from what an earlier stage left.
  void check_factors(std::size_t i) {
    const StageProgram& p = stage(i);
    const MatrixUnit* unit = p.matrix();
    for (std::size_t o = 0; unit != nullptr && o < p.space->values; ++o) {
      if (p.operands[o].cached) continue;
      const auto cannot = [&](const std::string& why) {
        refuse(i, fmt::format("instruction {}: {}", unit->instruction, why));
      };
      if (out_.stages[i].held_inputs[o] >= 0) continue;
      if (out_.stages[i].kept_inputs[o] < 0) return cannot(tensor_of(i, o) + " is not cached");
      if (!reads_rows(p)) return cannot(fmt::format("it reads core matrices, and {} stays in rows", tensor_of(i, o)));
      const TileAxis& depth = p.space->axes[unit->depth];
      if (depth.extent % p.block[unit->depth] != 0)
        return cannot(fmt::format("{} stays in the scratchpad, and steps of {} along {} do not divide its {}",
                                  tensor_of(i, o), p.block[unit->depth], depth.name, depth.extent));
      for (const TileDim& d : p.space->inputs[o].dims)
        if (d.low != 0) return cannot(fmt::format("{} is not read at whole fragments", tensor_of(i, o)));
    }
  }

  bool is_epilogue(std::size_t i) const { return !has_own_tiles(stage(i)); }

  // Where a row reduction leaves rows, in the registers of the lanes of each row.
  bool is_of_rows(std::size_t i) const { return holds_rows(stage(i)); }

  // What reaches a stage in registers is at its own places, in its own threads, and is not yet overwritten.
  void check_held(std::size_t i) {
    bool any = false, continues = false;  // whether the stage has the threads of one that it reads
    for (std::size_t o = 0; o < out_.stages[i].held_inputs.size() && ok(); ++o) {
      const int from = out_.stages[i].held_inputs[o];
      if (from < 0) continue;
      const auto holder = static_cast<std::size_t>(from);
      any = true;
      continues = continues || !is_of_rows(holder);
      if (const std::string why = held_refusal(i, o, holder); !why.empty())
        refuse(i, fmt::format("{} cannot pass to {} in registers: {}", name(holder), name(i), why));
    }
    if (ok() && is_epilogue(i) && !continues)
      refuse(i, fmt::format("the stage of {} is an epilogue, and nothing reaches it in registers{}", name(i),
                            any ? " but rows" : ""));
  }

  std::string held_refusal(std::size_t i, std::size_t operand, std::size_t holder) const {
    if (!is_epilogue(i)) {
      if (stage(i).matrix() == nullptr || operand != 0)
        return fmt::format("the stage of {} is no epilogue, and reads what passes in registers", name(i));
      return held_fragments_refusal(stage(i), stage(holder));
    }
    if (is_of_rows(holder)) return held_rows_refusal(i, holder);
    std::string why = is_of_rows(i) ? row_reduction_refusal(space(i), stage(holder))
                                    : epilogue_refusal(space(i), space(holder), name(holder));
    if (!why.empty()) return why;
    if (stage(holder).sharers() > 1) return fmt::format("threads share the reduction of {}", name(holder));
    for (std::size_t between = holder + 1; between < i; ++between)
      if (!is_epilogue(between)) return fmt::format("the stage of {} comes between", name(between));
    // What the stages since the last one that is no epilogue keep is whole behind the last of them.
    std::size_t since = i;
    while (since > holder || is_epilogue(since)) --since;
    for (std::size_t k = 0; k < out_.stages[i].kept_inputs.size(); ++k)
      if (const int kept = out_.stages[i].kept_inputs[k]; kept >= static_cast<int>(since))
        return fmt::format("it reads {} in the scratchpad, where that is not whole", tensor_of(i, k));
    const bool same = is_of_rows(i) ? same_program(stage(i), make_row_reduction(stage(i).space, stage(holder)))
                                    : same_threads(stage(i), stage(holder));
    return same ? std::string() : "other threads, or blocks, compute other parts of them";
  }

  // Rows stay where they are for all stages behind.
  std::string held_rows_refusal(std::size_t i, std::size_t holder) const {
    if (is_of_rows(i)) return fmt::format("{} has one element a row", name(holder));
    const auto at = axes_of_reads(space(i), name(holder));
    if (!at) return fmt::format("the stage of {} reads {} at other places than its own", name(i), name(holder));
    return rows_refusal(stage(i), stage(holder), {at->begin(), at->end()});
  }

  static bool same_program(const StageProgram& p, const StageProgram& other) {
    return p.mapping == other.mapping && p.thread_order == other.thread_order && p.block == other.block &&
           p.reduction_threads == other.reduction_threads && p.micro_kernel == other.micro_kernel;
  }

  // Sums that are rescaled find the factors of a maximum of rows in their own lanes.
  void check_rescaled(std::size_t i) {
    const expr::Rescaling* by = out_.loop ? out_.loop->rescaling(i) : nullptr;
    if (by == nullptr || !ok()) return;
    const std::size_t extremum = out_.loop->first + by->extremum;
    if (!is_of_rows(extremum)) return;
    std::vector<std::optional<std::size_t>> at;
    for (const expr::Coordinate& c : by->at) {
      const std::optional<int> axis = c.bare_axis();
      at.push_back(axis ? std::optional(static_cast<std::size_t>(*axis)) : std::nullopt);
    }
    if (const std::string why = rows_refusal(stage(i), stage(extremum), at); !why.empty())
      refuse(i, fmt::format("{} is rescaled by the factors of {}: {}", name(i), name(extremum), why));
  }

  static bool same_threads(const StageProgram& p, const StageProgram& holder) {
    for (std::size_t a = 0; a < p.space->spatial; ++a)
      if (p.block[a] != holder.block[a]) return false;
    return p.mapping == holder.mapping && p.thread_order == holder.thread_order && p.lanes() == holder.lanes() &&
           p.block_order == holder.block_order && p.group_m == holder.group_m && p.cluster == holder.cluster &&
           (p.lanes() == 1 || *holding_unit_of(p.micro_kernel) == *holding_unit_of(holder.micro_kernel));
  }

  // Where the tile of the stage's output begins: where its epilogues' do, or as stages behind it read it. These ranges
  // are `known` already, or null.
  void place_tile(std::size_t i, const std::vector<ReadRange>* known = nullptr) {
    std::vector<TileBegin>& begins = out_.stages[i].begins;
    if (const auto c = keeps(i) ? std::nullopt : epilogue_of(i, i + 1)) begins = out_.stages[*c].begins;
    const std::optional<std::vector<ReadRange>> found = begins.empty() && known == nullptr ? ranges(i) : std::nullopt;
    const std::vector<ReadRange>* read = !begins.empty() ? nullptr : found ? &*found : known;
    for (std::size_t d = 0; read != nullptr && d < read->size(); ++d) {
      if (const StageProgram& p = stage(i); p.block[d] < (*read)[d].extent)
        return refuse(i, fmt::format("a block reads {} elements of {} along {}, and its stage's tile has {}",
                                     (*read)[d].extent, name(i), p.space->axes[d].name, p.block[d]));
      begins.push_back((*read)[d].begin);
    }
    for (auto c = epilogue_of(i, i + 1); ok() && c; c = epilogue_of(i, *c + 1))
      if (out_.stages[*c].begins != begins)
        refuse(*c, fmt::format("{} passes to {} in registers, and other stages read it from another place on", name(i),
                               name(*c)));
  }

  // The first stage from `from` on that a stage's results reach in registers and that has its tile.
  std::optional<std::size_t> epilogue_of(std::size_t i, std::size_t from) const {
    if (is_of_rows(i)) return std::nullopt;
    for (std::size_t c = from; c < group_.size(); ++c)
      if (const std::vector<int>& held = out_.stages[c].held_inputs;
          is_epilogue(c) && !is_of_rows(c) && std::find(held.begin(), held.end(), static_cast<int>(i)) != held.end())
        return c;
    return std::nullopt;
  }

  // Where everything lies in the scratchpad, if it fits.
  void place_bytes() {
    place_areas(p_, arch_, out_);
    const arch::ScratchpadLevel* level = arch::scratchpad_of(arch_);
    const std::int64_t have = level == nullptr ? 0 : arch::scratchpad_per_block(*level).n;
    if (group_.size() == 1 || out_.bytes.n <= have) return;
    std::string all;
    for (std::size_t i = 0; i < group_.size(); ++i)
      if (out_.stages[i].keeps_output)
        all += fmt::format(", {} of {}", kept_elements(stage(i)) * stage(i).space->output.element.n, name(i));
    refuse(group_.size() - 1, fmt::format("scratchpad bytes a block: its stages need {} B, {} has {} B{}", out_.bytes.n,
                                          arch_.name, have, all.empty() ? all : " (kept:" + all.substr(1) + ")"));
  }

  GroupLayout out_;
  std::vector<std::optional<std::size_t>> loop_axes_;  // by place
};

}  // namespace

std::vector<Edge> edges_of(const expr::Expression& e, const arch::ArchSpec& a) {
  std::vector<Edge> out;
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    std::vector<int> seen;
    for (const expr::Read& r : e.stages[s].reads) {
      const expr::Tensor& t = e.tensors[static_cast<std::size_t>(r.tensor)];
      if (t.producer == expr::kInput || std::find(seen.begin(), seen.end(), r.tensor) != seen.end()) continue;
      seen.push_back(r.tensor);
      out.push_back({t.producer, static_cast<int>(s), t.name, arch::spec_of(a.memory.front()).name});
    }
  }
  return out;
}

std::vector<Group> groups_of(const RProgram& p, const arch::ArchSpec& a) {
  std::vector<std::size_t> joined_to(p.stages());  // a later stage of the same group, or the stage itself
  std::iota(joined_to.begin(), joined_to.end(), std::size_t{0});
  const auto last_of = [&](std::size_t s) {
    while (joined_to[s] != s) s = joined_to[s];
    return s;
  };
  for (const Edge& e : p.edges) {
    if (!inside_core(e, a)) continue;
    const std::size_t x = last_of(static_cast<std::size_t>(e.from)), y = last_of(static_cast<std::size_t>(e.to));
    joined_to[std::min(x, y)] = std::max(x, y);
  }
  std::vector<Group> out;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    if (last_of(s) != s) continue;
    Group& group = out.emplace_back();
    for (std::size_t member = 0; member <= s; ++member)
      if (last_of(member) == s) group.push_back(member);
  }
  return out;
}

std::optional<GroupLayout> layout_of(const RProgram& p, const Group& group, const arch::ArchSpec& a,
                                     base::Diagnostics& diags, const ProgramPlaces& at) {
  return GroupBuilder(p, group, a, diags, at).layout();
}

std::optional<Extents> kept_extents(const RProgram& p, const Group& group, std::size_t i, const arch::ArchSpec& a) {
  base::Diagnostics refusals;
  const auto ranges = GroupBuilder(p, group, a, refusals, {}).ranges_of(i);
  if (!ranges) return std::nullopt;
  return extents_of(*ranges);
}

bool set_kept_extents(RProgram& p, const Group& group, const arch::ArchSpec& a,
                      const std::function<bool(std::size_t place, const Extents& extents)>& found) {
  base::Diagnostics refusals;
  return GroupBuilder(p, group, a, refusals, {}).for_ranges([&](std::size_t i, const std::vector<ReadRange>& ranges) {
    const Extents extents = extents_of(ranges);
    StageProgram& stage = p.simt()[group[i]];
    for (std::size_t d = 0; d < stage.space->spatial; ++d) stage.block[d] = extents[d];
    return found(i, extents);
  });
}

}  // namespace tilescope::tile
