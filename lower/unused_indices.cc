#include <algorithm>
#include <numeric>

#include "lower/affine.h"

namespace tilescope::lower {
namespace {

// Calls `visit` with every index that the statements name, by reference.
template <class Visit>
class IndexUses {
 public:
  explicit IndexUses(Visit visit) : visit_(visit) {}

  void in(std::vector<Statement>& body) {
    for (Statement& s : body) std::visit([&](auto& what) { in(what); }, s.what);
  }
  void in(Affine& a) {
    for (AffineTerm& t : a.terms) visit_(t.index);
  }

 private:
  void in(std::vector<Guard>& guards) {
    for (Guard& g : guards) in(g.value);
  }
  void in(Loop& l) {
    visit_(l.index);
    in(l.body);
  }
  void in(If& i) {
    in(i.when);
    in(i.body);
  }
  void in(Copy& c) {
    in(c.to.offset);
    in(c.from.offset);
    in(c.when);
    in(c.inside);
  }
  void in(Compute& c) {
    in(c.target.offset);
    for (Access& a : c.operands) in(a.offset);
  }
  void in(LoadMatrices& l) { in(l.rows); }
  void in(MultiplyMatrices& m) {
    for (Access* a : {&m.d, &m.a, &m.b}) in(a->offset);
  }
  void in(MultiplyStaged& m) {
    for (Access* a : {&m.d, &m.a.at, &m.b.at}) in(a->offset);
  }
  void in(BeginProducts&) {}
  void in(EndProducts&) {}
  void in(Publish&) {}
  void in(Barrier&) {}
  void in(Commit&) {}
  void in(Wait&) {}
  void in(WarpRoles& w) {
    for (WarpRole& r : w.roles) in(r.body);
  }
  void in(Arrive& a) { in(a.use); }
  void in(Await& a) { in(a.use); }
  void in(BulkCopy& b) {
    in(b.to.offset);
    for (BoxDim& d : b.dims) in(d.at);
    in(b.use);
  }

  Visit visit_;
};

}  // namespace

void drop_unused_indices(Kernel& k) {
  std::vector<char> used(k.indices.size(), 0);
  used[kBlockIndex] = used[kThreadIndex] = 1;
  IndexUses(([&](int& i) { used[static_cast<std::size_t>(i)] = 1; })).in(k.body);
  for (std::size_t i = k.indices.size(); i-- > 0;)  // what a derived index needs stands before it
    for (const AffineTerm& t : k.indices[i].of.terms)
      if (used[i] != 0) used[static_cast<std::size_t>(t.index)] = 1;
  std::vector<int> renamed(k.indices.size());
  std::exclusive_scan(used.begin(), used.end(), renamed.begin(), 0);
  IndexUses rename([&](int& i) { i = renamed[static_cast<std::size_t>(i)]; });
  rename.in(k.body);
  std::vector<Index> kept;
  for (std::size_t i = 0; i < k.indices.size(); ++i) {
    if (used[i] == 0) continue;
    rename.in(k.indices[i].of);
    kept.push_back(std::move(k.indices[i]));
  }
  k.indices = std::move(kept);
}

}  // namespace tilescope::lower
