// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/candidate_store.h"

#include <utility>

#include "arch/derive.h"
#include "model/simt/registers.h"
#include "tile/microkernel/tcgen05.h"
#include "tile/staging.h"

namespace tilescope::construct {
namespace {

using tile::StageProgram;

constexpr std::int64_t kSomeRegisters = 1;  // that programs state until a chip says how many

class Hash {
 public:
  explicit Hash(const StageProgram& p) : value_(reinterpret_cast<std::uintptr_t>(p.space.get())) {}
  void add(auto... words) {
    ((value_ = (value_ ^ static_cast<std::uint64_t>(words)) * 0x9e3779b97f4a7c15U, value_ ^= value_ >> 32), ...);
  }
  std::size_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

std::size_t hash_of_tiles(const StageProgram& p) {
  Hash hash(p);
  for (std::size_t a = 0; a < p.block.size(); ++a) hash.add(p.block[a], p.thread[a], p.reduction_threads[a]);
  return hash.value();
}

std::size_t hash_of_size(const StageProgram& p) {
  Hash hash(p);
  for (const std::int64_t extent : p.thread) hash.add(extent);
  hash.add(p.threads(), p.tile_loop.crews);
  return hash.value();
}

std::size_t hash_of(const StageProgram& p) {
  Hash hash(p);
  hash.add(hash_of_tiles(p));
  for (const std::int64_t parts : p.split) hash.add(parts);
  for (const tile::AxisMapping& m : p.mapping) hash.add(m.vthread, m.threads, m.per_thread);
  for (const tile::OperandPlan& o : p.operands) hash.add(o.cached, o.padding, o.vector, o.rotate, o.box);
  hash.add(p.num_stages, p.unroll, p.group_m, p.block_order, p.cluster.axis, p.cluster.blocks, p.tile_loop.blocks,
           p.tile_loop.crews);
  return hash.value();
}

bool same_tiles(const StageProgram& p, const StageProgram& q) {
  return p.space == q.space && p.block == q.block && p.thread == q.thread && p.reduction_threads == q.reduction_threads;
}

bool same_size(const StageProgram& p, const StageProgram& q) {
  return p.space == q.space && p.thread == q.thread && p.threads() == q.threads() &&
         p.tile_loop.crews == q.tile_loop.crews;
}

}  // namespace

std::optional<std::int64_t> stated_registers(const Candidate& c, const model::Counts& counts, std::int64_t held,
                                             const arch::ArchSpec& a) {
  if (held > arch::max_registers(a, c.threads)) return std::nullopt;  // as tile::holds_registers
  if (!model::is_worth_compiling(c.program, counts.registers, held)) return std::nullopt;
  return held;
}

template <class Same>
CandidateStore::Id CandidateStore::first_of(ByHash& known, std::size_t hash, Id id, const Same& same) {
  const auto [begin, end] = known.equal_range(hash);
  for (auto k = begin; k != end; ++k)
    if (same(all_[k->second].program, all_[id].program)) return k->second;
  known.emplace(hash, id);
  return id;
}

CandidateStore::Id CandidateStore::add(StageProgram&& p) {
  p.registers = kSomeRegisters;
  const std::size_t hash = hash_of(p);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (all_[known->second].program == p) return known->second;

  const auto id = static_cast<Id>(all_.size());
  Candidate& c = all_.emplace_back();
  c.program = std::move(p);
  c.threads = c.program.threads_with_producers(counted_by_.warp);
  c.scratchpad = tile::staging_of(c.program, counted_by_.engines).bytes;
  c.tensor_columns = tile::tensor_columns_of(c.program);
  c.tiles = first_of(by_tiles_, hash_of_tiles(c.program), id, same_tiles);
  c.size = first_of(by_size_, hash_of_size(c.program), id, same_size);
  by_hash_.emplace(hash, id);
  return id;
}

const model::Counts& CandidateStore::counts(Id id) {
  Candidate& c = all_[id];
  if (!c.counts) {
    model::CountsStorage storage;
    c.counts = model::count(c.program, model::alone(c.program, counted_by_.engines), counted_by_, storage, &costs_);
    ++counted_;
    model::keep_in(*c.counts, arena_);
  }
  return *c.counts;
}

}  // namespace tilescope::construct
