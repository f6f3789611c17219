#include "lower/stage_lowering.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"
#include "lower/lower.h"

namespace tilescope::lower {
namespace {

using tile::Operand;

Kernel empty_kernel(const tile::StageProgram& p, const arch::ArchSpec& chip) {
  Kernel k;
  k.name = "compute_" + p.space->output.name;
  k.blocks = p.blocks();
  k.threads = p.threads();
  k.warp = chip.core.warp;
  k.registers = p.registers;
  return k;
}

}  // namespace

StageLowering::StageLowering(const tile::StageProgram& p, const arch::ArchSpec& chip,
                             const std::set<std::string>& names, Module& module, std::vector<std::string>& why)
    : p_(p),
      chip_(chip),
      names_(names),
      module_(module),
      why_(why),
      kernel_(empty_kernel(p, chip)),
      maker_(kernel_),
      indices_(p, maker_),
      addresses_(p, maker_),
      staging_(tile::staging_of(p, chip)),
      tiles_(p.space->inputs.size()) {
  for (std::size_t i = 0; i < space().inputs.size(); ++i) any_staged_ = any_staged_ || p.operands[i].staged;
  operand_of_.assign(stage().reads.size(), 0);
  for (std::size_t i = 0; i < space().inputs.size(); ++i)
    for (const int r : space().inputs[i].reads) operand_of_[static_cast<std::size_t>(r)] = i;
}

bool StageLowering::split() const {
  return std::any_of(p_.split.begin(), p_.split.end(), [](std::int64_t n) { return n > 1; });
}

// The data tile of a gathered operand is that of its first read; others read memory.
bool StageLowering::staged(std::size_t r) const {
  const std::size_t i = operand_of_[r];
  const Operand& o = space().inputs[i];
  return p_.operands[i].staged && (!o.gathered || read(r) == read(static_cast<std::size_t>(o.reads.front())));
}

int StageLowering::add_global(const std::string& name, base::Dtype dtype, std::int64_t elements, Role role) {
  const auto known =
      std::find_if(module_.globals.begin(), module_.globals.end(), [&](const Global& g) { return g.name == name; });
  const auto position = static_cast<int>(known - module_.globals.begin());
  if (known == module_.globals.end())
    module_.globals.push_back({name, dtype, elements, role});
  else if (known->role == Role::kOutput && role == Role::kInput)
    known->role = Role::kBetween;  // an earlier stage's result
  const Global& g = module_.globals[static_cast<std::size_t>(position)];
  base::check(g.dtype == dtype && g.elements == elements, "stages agree about a tensor that they share");
  return add_buffer({name, Space::kGlobal, dtype, elements, position, 0});
}

std::string StageLowering::unused_name(std::string name) const {
  while (names_.contains(name)) name += '_';
  return name;
}

int StageLowering::add_buffer(Buffer b) {
  const auto same = std::find_if(kernel_.buffers.begin(), kernel_.buffers.end(), [&](const Buffer& other) {
    return b.space == Space::kGlobal && other.global == b.global;
  });
  if (same != kernel_.buffers.end()) return static_cast<int>(same - kernel_.buffers.begin());
  kernel_.buffers.push_back(std::move(b));
  return static_cast<int>(kernel_.buffers.size() - 1);
}

void StageLowering::add_scalars() {
  for (const std::string& name : expression().scalars) {
    auto known = std::find(module_.scalars.begin(), module_.scalars.end(), name);
    if (known == module_.scalars.end()) known = module_.scalars.insert(known, name);
    scalar_of_.push_back(static_cast<int>(known - module_.scalars.begin()));
  }
}

void StageLowering::add_inputs() {
  for (const Operand& o : space().inputs) {
    const expr::Tensor& t = expression().tensors[static_cast<std::size_t>(o.tensor)];
    memory_.push_back(add_global(t.name, t.dtype, t.elements(), Role::kInput));
  }
}

void StageLowering::add_results() {
  const expr::Tensor& t = expression().tensors[static_cast<std::size_t>(space().output.tensor)];
  // Columns of neighbouring fragments are neighbours in registers, as an instruction that takes several wants them.
  const int last = p_.matrix ? static_cast<int>(p_.matrix->columns) : neighbour_axis(space().output);
  std::int64_t elements = 1;
  for (std::size_t a = 0; a < space().spatial; ++a) {
    if (static_cast<int>(a) != last) result_axes_.push_back(a);
    elements *= p_.mapping[a].thread_extent();
  }
  elements /= p_.lanes();
  if (last >= 0) result_axes_.push_back(static_cast<std::size_t>(last));
  const base::Dtype held = reduces() ? expression().accumulate : t.dtype;
  accumulators_ = results_ = add_buffer({t.name + "_part", Space::kRegister, held, elements, -1, 0});
  const base::Dtype leaves = split() ? held : t.dtype;
  if (leaves != held) results_ = add_buffer({t.name + "_rounded", Space::kRegister, leaves, elements, -1, 0});
  std::int64_t parts = 1;
  for (const std::int64_t n : p_.split) parts *= n;
  memory_.push_back(split() ? add_global(unused_name(t.name + "_parts"), held, t.elements() * parts, Role::kBetween)
                            : add_global(t.name, t.dtype, t.elements(), Role::kOutput));
}

int StageLowering::neighbour_axis(const Operand& o) const {
  if (o.dims.empty()) return -1;
  const tile::TileDim& last = o.dims.back();
  if (last.whole || last.terms.size() != 1 || last.terms[0].coefficient != 1) return -1;
  if (o.steps.back().front().stride != 1) return -1;
  return static_cast<std::size_t>(last.terms[0].axis) < space().spatial ? last.terms[0].axis : -1;
}

void StageLowering::run() {
  if (p_.matrix && !lowerable(p_, chip_, why_)) return;
  add_scalars();
  add_inputs();
  for (std::size_t i = 0; i < tiles_.size(); ++i)
    if (p_.operands[i].staged) add_staged_tile(i);
  kernel_.shared_bytes = staging_.bytes.n;
  if (p_.in_boxes()) add_box_signals();
  add_results();
  if (p_.matrix) {
    add_matrix_instruction();
    if (!p_.in_core_matrices()) add_matrix_fragments();
  } else {
    cut_points();
    add_fragments();
  }
  kernel_.body = block_body();
  drop_unused_indices(kernel_);
  const std::string name = space().output.name;
  const int partial = kernel_.buffers[static_cast<std::size_t>(memory_.back())].global;
  module_.kernels.push_back(std::move(kernel_));
  if (!split()) return;
  const expr::Tensor& t = expression().tensors[static_cast<std::size_t>(space().output.tensor)];
  module_.globals.push_back({name, t.dtype, t.elements(), Role::kOutput});
  module_.kernels.push_back(
      combine_parts("combine_" + name, p_, chip_, module_, partial, static_cast<int>(module_.globals.size() - 1)));
}

std::vector<std::vector<AxisLoop>> StageLowering::result_loops(std::int64_t vector) {
  if (p_.matrix) return matrix_result_loops(vector);
  std::vector<std::vector<AxisLoop>> loops(space().axes.size());
  const int neighbours = neighbour_axis(space().output);
  for (const std::size_t a : result_axes_)
    loops[a] = indices_.thread_loops(a, static_cast<int>(a) == neighbours ? vector : 1);
  return loops;
}

Affine StageLowering::result_position(std::int64_t vector) {
  if (p_.matrix) return matrix_result_position(vector);
  const std::vector<std::vector<AxisLoop>> loops = result_loops(vector);
  Affine out;
  for (const std::size_t a : result_axes_) out = out * p_.mapping[a].thread_extent() + indices_.position(loops[a]);
  return out;
}

std::vector<Affine> StageLowering::local_values(const std::vector<std::vector<AxisLoop>>& loops) const {
  std::vector<Affine> local(space().axes.size());
  for (std::size_t a = 0; a < local.size(); ++a) local[a] = indices_.along(a, loops[a]);
  return local;
}

std::vector<Affine> StageLowering::absolute_values(const std::vector<Affine>& local, const StepPosition& at) const {
  std::vector<Affine> axes;
  for (std::size_t a = 0; a < local.size(); ++a) axes.push_back(at.begin[a] + local[a]);
  return axes;
}

void StageLowering::check_aligned(const std::string& name, const Located& where, std::int64_t vector) {
  if (alignment_of(where.offset, vector) != vector)
    why_.push_back(
        fmt::format("operand {}: its accesses of {} elements do not all begin at a multiple of that", name, vector));
}

}  // namespace tilescope::lower
