// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/event_loop.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <systemc>

#include "sim/detail/simulation_context.h"
#include "sim/ticks_of_time.h"

namespace tilescope::sim {
namespace {

// What cores and the rest tell each other.
struct Shared {
  Gpu& gpu;
  EventLoop::Place place;
  TicksOfTime<Cycle> time;
  std::vector<int> ran = {};  // cores that did something at this instant
  int due = 0;                // cores that will
  bool running = false;       // a kernel; between two, what was due is void
  sc_core::sc_event settle = {}, rest = {};
  std::exception_ptr failed = {};  // SystemC hands on a report of its own
};

class CoreModule : public sc_core::sc_module {
 public:
  CoreModule(const sc_core::sc_module_name& name, Shared& shared, int number)
      : sc_module(name), shared_(shared), number_(number) {
    SC_HAS_PROCESS(CoreModule);
    SC_METHOD(run);
    sensitive << due_;
    dont_initialize();
  }

  // In the turn in which it is next due, but not in the one that is being settled. An earlier time replaces a later
  // one; SystemC drops the later one itself.
  void notify() {
    const Gpu& gpu = shared_.gpu;
    if (const auto next = shared_.gpu.core(number_).next()) {
      due_.notify(shared_.time.until(std::max(gpu.turn_of(*next), shared_.time.now() + gpu.turn())));
      shared_.due += is_due_ ? 0 : 1;
      is_due_ = true;
    }
  }

 private:
  void run() {
    is_due_ = false;
    --shared_.due;
    shared_.gpu.core(number_).run(shared_.time.now() + shared_.gpu.turn());
    shared_.ran.push_back(number_);
    shared_.settle.notify(sc_core::SC_ZERO_TIME);
  }

  Shared& shared_;
  int number_;
  bool is_due_ = false;
  sc_core::sc_event due_;
};

class DeviceModule : public sc_core::sc_module {
 public:
  DeviceModule(const sc_core::sc_module_name& name, Shared& shared, std::deque<CoreModule>& cores)
      : sc_module(name), shared_(shared), cores_(cores) {
    SC_HAS_PROCESS(DeviceModule);
    SC_METHOD(settle);
    sensitive << shared.settle;
    dont_initialize();
    SC_METHOD(due);
    sensitive << memory_;
    dont_initialize();
  }

 private:
  // Cores may run at the same instant, in any order: what they did is settled after all of them.
  void due() { shared_.settle.notify(sc_core::SC_ZERO_TIME); }

  void settle() {
    if (!shared_.running) return;
    try {
      settle_turn();
    } catch (...) {
      shared_.failed = std::current_exception();
      if (shared_.place == EventLoop::Place::kAlone) throw;
      shared_.rest.notify(sc_core::SC_ZERO_TIME);
    }
  }

  void settle_turn() {
    const Gpu& gpu = shared_.gpu;
    const Cycle now = shared_.time.now();
    shared_.gpu.settle(now + gpu.turn(), shared_.ran);
    for (const int c : shared_.ran) cores_[static_cast<std::size_t>(c)].notify();
    shared_.ran.clear();
    const auto next = gpu.memory_next();
    if (next) memory_.notify(shared_.time.until(std::max(gpu.turn_of(*next), now + gpu.turn())));
    if (!next && shared_.due == 0) shared_.rest.notify(sc_core::SC_ZERO_TIME);
  }

  Shared& shared_;
  std::deque<CoreModule>& cores_;
  sc_core::sc_event memory_;
};

}  // namespace

struct EventLoop::Modules {
  std::optional<SimulationContext> context;  // none in a platform, which has one
  Shared shared;
  std::deque<CoreModule> cores;
  DeviceModule device;

  Modules(Gpu& gpu, Place place, base::Hertz clock)
      : context(own_context(place)),
        shared{gpu, place, place == Place::kAlone ? TicksOfTime<Cycle>() : TicksOfTime<Cycle>(clock)},
        device("device", shared, cores) {
    for (int c = 0; c < gpu.cores(); ++c) cores.emplace_back(("core" + std::to_string(c)).c_str(), shared, c);
  }
  // The last one first: SystemC looks for what ends in a list that begins with what came last.
  ~Modules() {
    while (!cores.empty()) cores.pop_back();
  }

 private:
  static std::optional<SimulationContext> own_context(Place place) {
    return place == Place::kAlone ? std::optional<SimulationContext>(std::in_place) : std::nullopt;
  }
};

EventLoop::EventLoop(Gpu& gpu, Place place, base::Hertz clock)
    : modules_(std::make_unique<Modules>(gpu, place, clock)) {}
EventLoop::~EventLoop() = default;

// The first settlement, at this instant, ends a turn.
Cycle EventLoop::now() const {
  const Gpu& gpu = modules_->shared.gpu;
  const Cycle now = modules_->shared.time.now(), turn = gpu.turn_of(now);
  return (turn == now ? turn : turn + gpu.turn()) + gpu.turn();
}

void EventLoop::run() {
  Shared& shared = modules_->shared;
  shared.running = true;
  if (shared.place == Place::kPlatform) {
    const Cycle begin = now() - shared.gpu.turn();
    if (begin > shared.time.now()) sc_core::wait(shared.time.until(begin));
    shared.settle.notify(sc_core::SC_ZERO_TIME);
    sc_core::wait(shared.rest);
    shared.running = false;
    if (shared.failed) std::rethrow_exception(shared.failed);
    return;
  }
  shared.settle.notify(sc_core::SC_ZERO_TIME);
  try {
    run_to_rest();
  } catch (...) {
    if (shared.failed) std::rethrow_exception(shared.failed);
    throw;
  }
}

}  // namespace tilescope::sim
