// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a kernel's statements to a warp's operations.

#include <map>
#include <utility>
#include <vector>

#include "sim/gpu/detail/address_code.h"
#include "sim/gpu/detail/body_parts.h"
#include "sim/gpu/detail/warp_code.h"

namespace tilescope::sim {

class WarpCodeBuilder {
 public:
  WarpCodeBuilder(WarpCode& code, const lower::Kernel& kernel, const std::vector<std::int64_t>& bases,
                  const arch::ArchSpec& chip, const Machine& machine);

  void build();

 private:
  using Body = BodyParts::Body;
  using Part = BodyParts::Part;

  // The instructions for addresses, guards and control of one iteration of the loop, or of the kernel.
  SegmentNode beside(const lower::Loop* loop) const;
  void emit_beside(const lower::Loop* loop);
  void emit(const Body& body, Part part);
  void emit(const lower::Statement& s, Part part);
  void emit_loop(const lower::Loop& l, Part part);
  void emit_ahead(const lower::Loop& l);
  // The numbers of its own ends; -1 where it has none.
  std::pair<int, int> ends_of(const lower::Loop& l);
  void emit_if(const lower::If& i, Part part);
  void emit_roles(const lower::WarpSpecialized& w);
  void emit_access(const lower::Copy& c);
  // The number of a box whose copy a thread of the role, or of the block, starts.
  int add_box(const lower::TmaBox& b);
  int add_mbarrier_phase(int mbarrier, const lower::Affine& phase, std::int64_t bytes = 0, bool cluster = false);
  void emit_segment(const std::vector<const lower::Statement*>& statements, WarpOp::Kind kind = WarpOp::Kind::kSegment);
  template <class Inside>
  void emit_counted(const CodeLoop& l, Inside inside);
  int number_of(const CodeLoop& l);
  int emit_op(WarpOp op);

  SegmentNode node(const lower::Statement& s, LoadGroups& uses) const;
  std::vector<SegmentNode::UniformGuard> uniform_guards(const std::vector<lower::Guard>& guards) const;
  LoadGroups group_of(int buffer) const;

  WarpCode& code_;
  const lower::Kernel& kernel_;
  BodyParts parts_;
  AddressCode address_code_;
  const std::vector<std::int64_t>& bases_;
  const arch::ArchSpec& chip_;
  Arithmetic arithmetic_;
  AccessShapes shapes_;
  // By index, and how many loops over it the role had before: roles share the loops that each of them has.
  std::map<std::pair<int, int>, int> loops_of_roles_;
  std::map<int, int> loops_of_role_;  // by index: so far
  std::map<const lower::Copy*, int> number_of_;
  std::map<int, int> group_of_buffer_;
};

}  // namespace tilescope::sim
