// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/superstep_loop.h"

#include <algorithm>
#include <systemc>

#include "sim/detail/simulation_context.h"

namespace tilescope::sim::bsp {
namespace {

// Carries what it was given until nothing is due.
class FabricModule : public sc_core::sc_module {
 public:
  FabricModule(const sc_core::sc_module_name& name, Fabric& fabric) : sc_module(name), fabric_(fabric) {
    SC_HAS_PROCESS(FabricModule);
    SC_METHOD(advance);
    sensitive << due_;
    dont_initialize();
  }

  void begin(const Exchange& e) {
    fabric_.begin(e, cycle_now());
    notify();
  }

 private:
  void advance() {
    fabric_.advance(cycle_now());
    notify();
  }
  // Once nothing is due, the last bytes are still on their way.
  void notify() {
    if (const auto next = fabric_.next())
      due_.notify(until(*next));
    else if (fabric_.end() > cycle_now())
      due_.notify(until(fabric_.end()));
  }

  Fabric& fabric_;
  sc_core::sc_event due_;
};

// Cores arrive; so long after the last one all of them go on.
class BarrierModule : public sc_core::sc_module {
 public:
  BarrierModule(const sc_core::sc_module_name& name, Cycle sync) : sc_module(name), sync_(sync) {
    SC_HAS_PROCESS(BarrierModule);
    SC_METHOD(arrive);
    sensitive << arrivals_;
    dont_initialize();
    SC_METHOD(open);
    sensitive << opens_;
    dont_initialize();
  }

  // Cores that arrive after so many cycles, `count` instants in all.
  void expect(const std::vector<Cycle>& instants, bool meet) {
    missing_ = instants.size();
    meet_ = meet;
    for (const Cycle c : instants) arrivals_.notify(until(cycle_now() + c));
  }
  Cycle opened() const { return opened_; }

 private:
  void arrive() {
    if (--missing_ > 0) return;
    if (meet_)
      opens_.notify(until(cycle_now() + sync_));
    else
      opened_ = cycle_now();
  }
  void open() { opened_ = cycle_now(); }

  Cycle sync_, opened_{};
  std::size_t missing_ = 0;
  bool meet_ = false;
  sc_core::sc_event_queue arrivals_;
  sc_core::sc_event opens_;
};

}  // namespace

struct SuperstepLoop::Modules {
  SimulationContext context;
  FabricModule fabric;
  BarrierModule barrier;

  Modules(Fabric& f, Cycle sync) : fabric("fabric", f), barrier("barrier", sync), of(f) {}
  Fabric& of;
};

SuperstepLoop::SuperstepLoop(Fabric& fabric, Cycle sync) : modules_(std::make_unique<Modules>(fabric, sync)) {}
SuperstepLoop::~SuperstepLoop() = default;

Cycle SuperstepLoop::now() const { return cycle_now(); }

Cycle SuperstepLoop::exchange(const Exchange& e) {
  modules_->barrier.expect({0_cycles}, true);
  run_to_rest();
  const Cycle begin = cycle_now();
  modules_->fabric.begin(e);
  run_to_rest();
  const Cycle lasted = std::max(0_cycles, modules_->of.end() - begin);
  modules_->barrier.expect({0_cycles}, true);
  run_to_rest();
  return lasted;
}

Cycle SuperstepLoop::compute(const std::vector<Cycle>& of_cores) {
  std::vector<Cycle> instants = of_cores;
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  if (instants.empty()) return 0_cycles;
  const Cycle begin = cycle_now();
  modules_->barrier.expect(instants, false);
  run_to_rest();
  return cycle_now() - begin;
}

}  // namespace tilescope::sim::bsp
