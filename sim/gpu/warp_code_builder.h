#pragma once
// From a kernel's statements to a warp's operations.

#include <map>
#include <vector>

#include "sim/gpu/warp_code.h"

namespace tilescope::sim {

class WarpCodeBuilder {
 public:
  WarpCodeBuilder(WarpCode& code, const lower::Kernel& kernel, const arch::ArchSpec& chip, std::int64_t bank_width);

  void build();

 private:
  using Body = std::vector<lower::Statement>;
  // What of a body is taken: loads that run ahead, what is left then, or everything.
  enum class Part : std::uint8_t { kAll, kLoads, kRest };

  // Whether the statement needs no one else: neither memory nor the other warps.
  bool alone(const lower::Statement& s) const;
  bool alone(const Body& body) const;
  // Whether it is products that run by themselves, or loops of nothing else.
  static bool is_products(const lower::Statement& s);
  // Whether it is an instruction that only orders others.
  static bool orders(const lower::Statement& s);
  bool loads_only(const lower::Statement& s) const;
  bool loads_ahead(const lower::Loop& l) const;
  bool has(const lower::Statement& s, Part part) const;

  void emit(const Body& body, Part part);
  void emit(const lower::Statement& s, Part part);
  void emit_loop(const lower::Loop& l, Part part);
  void emit_ahead(const lower::Loop& l);
  void emit_if(const lower::If& i, Part part);
  void emit_access(const lower::Copy& c);
  void emit_segment(const std::vector<const lower::Statement*>& statements, WarpOp::Kind kind = WarpOp::Kind::kSegment);
  template <class Inside>
  int emit_counted(const CodeLoop& l, Inside inside);
  int emit_op(WarpOp op);

  SegmentNode node(const lower::Statement& s, LoadGroups& uses) const;
  std::vector<SegmentNode::UniformGuard> uniform_guards(const std::vector<lower::Guard>& guards) const;
  LoadGroups group_of(int buffer) const;
  lower::Space space_of(const lower::Access& a) const;
  void find_step_loop();

  WarpCode& code_;
  const lower::Kernel& kernel_;
  const arch::ArchSpec& chip_;
  std::int64_t bank_width_;
  std::map<const lower::Copy*, int> number_of_;
  std::map<int, int> group_of_buffer_;
};

}  // namespace tilescope::sim
