// SPDX-License-Identifier: Apache-2.0
// A device of LLMCompass (configs/*.json). Source of what a key means: its hardware template, ISCA'24.
//
// Its cores have one memory (SRAM) and no L1 of their own; its global buffer is our last cache. It states no latency
// but that of links between devices, so those of the device that the chip extends are left.

#include "import/formats.h"

namespace tilescope::importers {
namespace {

// A key of the device, for formulas.
#define CORE "device.compute_chiplet.core."

constexpr FigureRow kLlmcompassFigures[] = {
    {"clock", "device.frequency_Hz / 1000000", "MHz"},
    {"core.count", "device.compute_chiplet.core_count * device.compute_chiplet_count", ""},
    {"core.partitions", CORE "sublane_count", ""},
    {"compute.MATRIX.f16.per_core",
     "$fp16_array * " CORE "sublane_count * " CORE "systolic_array.array_width * " CORE
     "systolic_array.array_height * " CORE "systolic_array.mac_per_cycle",
     ""},
    {"compute.MATRIX.bf16.per_core",
     "$bf16_array * " CORE "sublane_count * " CORE "systolic_array.array_width * " CORE
     "systolic_array.array_height * " CORE "systolic_array.mac_per_cycle",
     ""},
    {"compute.MATRIX.i8.per_core",
     "$int8_array * " CORE "sublane_count * " CORE "systolic_array.array_width * " CORE
     "systolic_array.array_height * " CORE "systolic_array.mac_per_cycle",
     ""},
    {"compute.fma.f32.per_core", CORE "sublane_count * " CORE "vector_unit.fp32_count", "", {}, true},
    {"compute.fma.f64.per_core", CORE "sublane_count * " CORE "vector_unit.fp64_count", "", {}, true},
    {"compute.imad.i32.per_core", CORE "sublane_count * " CORE "vector_unit.int32_count", "", {}, true},
    {"compute.fma.f16.per_core",
     "$fp16_vector * " CORE "sublane_count * " CORE "vector_unit.vector_width * " CORE "vector_unit.flop_per_cycle / 2",
     "", "a multiply-add is two operations"},
    {"compute.fma.f32.per_core",
     "$fp32_vector * " CORE "sublane_count * " CORE "vector_unit.vector_width * " CORE "vector_unit.flop_per_cycle / 2",
     "", "a multiply-add is two operations"},
    {"memory.reg.capacity",
     CORE "sublane_count * " CORE "register_file.num_reg_files * " CORE "register_file.num_registers * " CORE
          "register_file.register_bitwidth / 8",
     "B"},
    {"memory.local.capacity", CORE "SRAM_KB * 1024", "B"},
    {"memory.l2.capacity",
     "floor(device.io.global_buffer_MB * 1048576 / (base.memory.l2.slices * base.memory.l2.line * "
     "base.memory.l2.ways)) * base.memory.l2.slices * base.memory.l2.line * base.memory.l2.ways",
     "B", "whole sets of the device's slices"},
    {"memory.l2.clock",
     "device.frequency_Hz * device.io.global_buffer_bandwidth_per_cycle_byte / (base.memory.l2.slices * "
     "base.memory.l2.width * 1000000)",
     "MHz", "the clock at which the device's slices move as much"},
    {"memory.dram.channels",
     "device.io.memory_channel_active_count * device.io.pin_count_per_channel / (8 * base.memory.dram.width)", "",
     "channels as wide as the device's"},
    {"memory.dram.clock", "device.io.bandwidth_per_pin_bit / (base.memory.dram.rate * 1000000)", "MHz",
     "`timing` stays in cycles"},
    {"memory.dram.capacity", "device.memory.total_capacity_GB", "GiB"},
};

constexpr WordRow kLlmcompassWords[] = {
    {CORE "systolic_array.data_type", "fp16", "$fp16_array", "1"},
    {CORE "systolic_array.data_type", "bf16", "$bf16_array", "1"},
    {CORE "systolic_array.data_type", "int8", "$int8_array", "1"},
    {CORE "vector_unit.data_type", "fp16", "$fp16_vector", "1"},
    {CORE "vector_unit.data_type", "fp32", "$fp32_vector", "1"},
};

constexpr DefaultRow kLlmcompassDefaults[] = {{"device.compute_chiplet_count", 1}};

constexpr MeaninglessRow kLlmcompassMeaningless[] = {
    {"name", "a title; --name gives the chip's name"},
    {"device_count interconnect", "several devices; a chip here is one"},
    {"device.compute_chiplet.physical_core_count device.compute_chiplet.process_node device.io.process_node "
     "device.io.physical_global_buffer_MB device.io.memory_channel_physical_count",
     "what is built: `die` of the device that the chip extends is left, with as many spares"},
    {"device.memory_protocol device._memory_protocol_list",
     "a name; the DRAM's timing is that of the device that the chip extends"},
    {CORE "vector_unit.fp16_count " CORE "vector_unit.fp32_count " CORE "vector_unit.fp64_count " CORE
          "vector_unit.int32_count " CORE "vector_unit.vector_width " CORE "vector_unit.flop_per_cycle",
     "counted by another key"},
    {CORE "register_file.num_rdwr_ports", "ports of registers; operands do not wait here but for register_banks"},
};

#undef CORE

}  // namespace

std::optional<Imported> import_llmcompass(const Source& source, base::Diagnostics& diags) {
  const auto document = base::read_json(source.text, source.id, diags);
  if (!document) return std::nullopt;
  const Table table{{}, kLlmcompassFigures, kLlmcompassWords, kLlmcompassMeaningless, kLlmcompassDefaults};
  return chip_like_ours(source, keys_of(*document), table, {}, {}, diags);
}

}  // namespace tilescope::importers
