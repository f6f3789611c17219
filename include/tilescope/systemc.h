// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tilescope's memories and its simulator as SystemC modules with TLM-2.0 sockets. For C++17 and later; with CMake,
// find_package(tilescope) and link tilescope::systemc. docs/systemc.md has the modules, their sockets and examples.
//
// Payloads carry addresses and sizes; data are neither stored nor returned. Constructors throw std::runtime_error with
// what is wrong in the chip or the program, a line each with its place. A socket that is left unbound is an error of
// SystemC at the end of elaboration, but for a CacheTarget's `dram`.

#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <utility>
#include <vector>

namespace tilescope::systemc {

// Many requests with their times in one b_transport call, for who asks a memory turn by turn: extends a payload of
// which nothing else is read. Requests arrive `at` their times, none before the `until` of the call before; those of
// one call are served in the order of these, before those of the next. The target decides what happens before `until`
// and appends what it has decided; every request is answered once, in this call or in a later one (and its read before,
// where that is told). The payload's response status says whether the target knows the extension.
struct Batch : tlm::tlm_extension<Batch> {
  struct Request {
    std::uint64_t id = 0, address = 0;
    std::uint32_t bytes = 0;
    bool write = false;
    bool partial = false;  // a write of a part of what the memory writes whole
    sc_core::sc_time at;
    int core = 0;            // that asks, where cores ask
    bool continues = false;  // the request before it, of the same kind and time: they are served and answered as one
  };
  struct Answer {
    std::uint64_t id = 0;
    sc_core::sc_time done;  // may be `until` or later
    bool row_hit = false;   // no row was opened for it, where that is known
    bool merges = false;    // the read of a partial write, which is still to be written
    int level = 0;          // that a core's data come from: caches in the order of reach, then the DRAM
  };
  sc_core::sc_time until;
  // Requests are cut at bursts, as payloads are, and reads of one address served together; else each is a command
  // train for every row that it lies in, as caches ask.
  bool cut_at_bursts = false;
  // The asker wants to hear of the reads of partial writes. A target may leave them out.
  bool tells_merges = false;
  // Set by the target: it has something left to do, be it that no request is open. A Gpu's next kernel begins after it.
  bool busy = false;
  std::vector<Request> requests;
  std::vector<Answer> answers;

  tlm::tlm_extension_base* clone() const override { return new Batch(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Batch&>(other); }
};

// The DRAM of a chip (a device's name or a file), as `tilescope trace` drives it: all its channels behind one socket,
// addresses by the chip's mapping. A payload is cut at bursts.
//
// Loosely timed (b_transport): the delay is what the request takes, other requests that are under way included, later
// ones not; never waits; a write is posted, its delay ends when its controller accepts it. Approximately timed
// (nb_transport): requests are accepted at once into unbounded queues of the channels, or, `bounded`, each when its
// controller takes it, which holds up the next one; a response begins when the last burst has left the bus. Turn by
// turn: Batch.
struct DramOptions {
  bool bounded = false;
  std::vector<std::string> overrides;  // of the chip: "memory.dram.channels=4", as of `--set`
};

class DramTarget : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<DramTarget> socket;

  DramTarget(const sc_core::sc_module_name& name, const std::string& chip, const DramOptions& options = {});
  ~DramTarget() override;

  double clock_hz() const;  // of the level
  std::int64_t burst_bytes() const;
  // When a clock begins.
  sc_core::sc_time begin_of(std::int64_t clock) const;
  // Serves everything that is under way, posted writes among it, ahead of SystemC's time.
  void drain();
  // Clocks until the last burst so far has left the bus.
  std::int64_t clocks() const;
  std::int64_t bursts() const;
  std::int64_t activates() const;

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void run();
  void accept_held();
  void respond();
  void before_end_of_elaboration() override;

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Of one level of the chip, as `tilescope simulate` and `trace` report it.
struct LevelReport {
  std::string name;
  std::int64_t read_bytes = 0, written_bytes = 0, requests = 0, transactions = 0, hits = 0;
};

// Which core a payload comes from, where one initiator (a Gpu, a bus, a player of traces) asks for several.
struct FromCore : tlm::tlm_extension<FromCore> {
  int core = 0;

  tlm::tlm_extension_base* clone() const override { return new FromCore(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const FromCore&>(other); }
};

// How a memory of yours is asked. kBatch: a Batch each turn, the fastest; kLoose: b_transport, in as many threads as
// the memory makes wait; kApproximate: nb_transport by the base protocol.
enum class Protocol { kBatch, kLoose, kApproximate };

// What a Gpu's socket stands below, and so what is yours in place of the chip's: kCaches, the DRAM; kCores, the link,
// the device's caches and the DRAM.
enum class Below { kCaches, kCores };

// The link, the caches of the device and the DRAM of a chip (a device's name or a file), as `tilescope trace --level`
// of the cache that cores reach first drives them. Every core's initiator is bound to `socket`; the order of binding
// numbers the cores' ports of the link, and a payload extended by FromCore says its own. A payload is cut at lines.
// Requests are accepted at once: how many a core has under way is its own to bound.
//
// Loosely timed (b_transport): the delay is what the request takes, those that are under way included, later ones not;
// never waits before channels of its own; a write's ends when the core knows that it is accepted. Approximately timed
// (nb_transport): a response begins when the core can use the data. Turn by turn: Batch, of which `partial` and
// `cut_at_bursts` are not read.
//
// What is bound to `dram` stands in for the channels, as behind a Gpu's last cache. Where it answers in SystemC's time
// (every Protocol but kBatch), b_transport waits for that, and drain() serves what is over by then; its mistakes end
// sc_start() or the call that hears of them.
class CacheTarget : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<CacheTarget> socket;
  tlm_utils::simple_initiator_socket_optional<CacheTarget> dram;

  // `overrides` of the chip as of `--set`; `protocol` of `dram`. Throws also where the chip has no cache of the device.
  CacheTarget(const sc_core::sc_module_name& name, const std::string& chip,
              const std::vector<std::string>& overrides = {}, Protocol protocol = Protocol::kLoose);
  ~CacheTarget() override;

  double clock_hz() const;  // of the cores
  // When a cycle begins.
  sc_core::sc_time begin_of(std::int64_t cycle) const;
  std::int64_t cores() const;
  // Lines that a core of the chip has under way at a time; 0: any number.
  std::int64_t misses_of_core() const;
  // Of the cache that cores reach first.
  std::int64_t line_bytes() const;
  // Serves everything that is under way, lines that are written back among it, ahead of SystemC's time.
  void drain();
  // Cycles until the last response so far.
  std::int64_t cycles() const;
  // So far, outermost first.
  std::vector<LevelReport> levels() const;

 private:
  void b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  tlm::tlm_sync_enum nb_transport_fw(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void run();
  void before_end_of_elaboration() override;

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct GpuOptions {
  Protocol protocol = Protocol::kLoose;
  bool full = false;                        // every step is run; else what is steady is extrapolated, not below kCores
  std::vector<std::string> overrides = {};  // of the chip
  Below below = Below::kCaches;
  // Below kCores: from a request until its data can be used, at least. The simulator's turns are as long, or half as
  // long where answers come in SystemC's time; longer ones are faster. Zero: what the chip's own wires take, or a
  // cycle.
  sc_core::sc_time lookahead = {};
};

struct Report {
  double time_us = 0;
  std::int64_t cycles = 0;  // of the chip's clock, launches included
  std::vector<std::pair<std::string, std::int64_t>> stalls;
  std::vector<LevelReport> levels;  // outermost first
};

// A GPU that runs a program (a file of `compile --json`) from time 0 on, and behind it whatever is bound to `memory`.
//
// Below kCaches: cores, link and caches are simulated. The chip's file still says where lines lie, how wide bursts are
// and how long the wires are to and from the memory.
//
// Below kCores: cores and their own caches are simulated, and every step is (`full`). A request is what a core lacks of
// a line or what it writes of one, one payload for each run of neighbouring bytes, from the core that FromCore, or a
// Batch's `core`, says; a piece that `continues` belongs to the one before. It is answered when data can be used, or
// the core knows that a write is accepted, link and all included. What is answered in SystemC's time, not annotated
// ahead, a core hears of a cycle later. `level` of a Batch's answer names the stall; the report has the core's levels
// alone.
class Gpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Gpu> memory;

  Gpu(const sc_core::sc_module_name& name, const std::string& chip, const std::string& program,
      const GpuOptions& options = {});
  ~Gpu() override;

  // Is notified when the program has ended, or cannot go on.
  const sc_core::sc_event& ended() const;
  // Of a program that has ended. Throws std::runtime_error where it has not, or says what went wrong: a memory that
  // never answers, or answers with an error.
  const Report& report() const;

 private:
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void run();
  void before_end_of_elaboration() override;

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// sc_start() until nothing is left to do, and what the Gpu reports.
Report simulate(Gpu& gpu);

}  // namespace tilescope::systemc
