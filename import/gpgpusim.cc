// SPDX-License-Identifier: Apache-2.0
// The configuration of GPGPU-Sim and Accel-Sim (gpgpusim.config, and trace.config behind it). Source of what an option
// means: the help texts of the options, and src/gpgpu-sim of GPGPU-Sim 4.
//
// Differences of meaning. Its latencies count from a unit's own queue, ours from a load to its use, so they are sums
// along the way. Its DRAM has no window of four activates (faw: as rrd alone bounds it) and no refresh. Its clock of a
// wmma is that of a PTX instruction of 16x16x16.
//
// Ignores: its caches' policies and queues, its network beyond the width of a flit, and everything of power.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "import/formats.h"
#include "import/text_readers.h"

namespace tilescope::importers {
namespace {

constexpr PartsRow kParts[] = {
    {"gpgpu_clock_domains", "core:icnt:l2:dram"},
    {"gpgpu_shader_core_pipeline", "threads:warp"},
    {"gpgpu_cache:dl1",
     "sectored:sets:line:ways,replace:write:allocate:write_allocate:index,mshr:mshrs:merge,"
     "miss_queue:fifo,port"},
    {"gpgpu_cache:dl1",
     "sets:line:ways,replace:write:allocate:write_allocate:index,mshr:mshrs:merge,miss_queue:fifo,"
     "port"},
    {"gpgpu_cache:dl2",
     "sectored:sets:line:ways,replace:write:allocate:write_allocate:index,mshr:mshrs:merge,"
     "miss_queue:fifo,port"},
    {"gpgpu_cache:dl2",
     "sets:line:ways,replace:write:allocate:write_allocate:index,mshr:mshrs:merge,miss_queue:fifo,"
     "port"},
    {"gpgpu_dram_timing_opt", "=:"},
    {"gpgpu_dram_timing_opt", "nbk:CCD:RRD:RCD:RAS:RP:RC:CL:WL:CDLR:WR:nbkgrp:CCDL:RTPL"},
    {"ptx_opcode_latency_int", "add,max,mul,mad,div,shuffle"},
    {"ptx_opcode_initiation_int", "add,max,mul,mad,div,shuffle"},
    {"ptx_opcode_latency_fp", "add,max,mul,mad,div"},
    {"ptx_opcode_initiation_fp", "add,max,mul,mad,div"},
    {"ptx_opcode_latency_dp", "add,max,mul,mad,div"},
    {"ptx_opcode_initiation_dp", "add,max,mul,mad,div"},
    {"trace_opcode_latency_initiation_int", "latency,initiation"},
    {"trace_opcode_latency_initiation_sp", "latency,initiation"},
    {"trace_opcode_latency_initiation_dp", "latency,initiation"},
    {"trace_opcode_latency_initiation_sfu", "latency,initiation"},
    {"trace_opcode_latency_initiation_tensor", "latency,initiation"},
};

constexpr std::string_view kLatency = "from a load to its use; queues are not counted";

constexpr FigureRow kGpgpusimFigures[] = {
    {"clock", "gpgpu_clock_domains.core", "MHz"},
    {"core.count", "gpgpu_n_clusters * gpgpu_n_cores_per_cluster", ""},
    {"core.partitions", "gpgpu_num_sched_per_core", ""},
    {"core.issue", "gpgpu_max_insn_issue_per_warp", ""},
    {"core.warp", "gpgpu_shader_core_pipeline.warp", ""},
    {"core.max_threads", "gpgpu_shader_core_pipeline.threads", ""},
    {"core.max_blocks", "gpgpu_shader_cta", ""},
    {"core.block_launch", "gpgpu_TB_launch_latency", "cycles", {}, true},
    {"launch_overhead", "gpgpu_kernel_launch_latency / gpgpu_clock_domains.core", "us", {}, true},

    // What a trace was recorded with goes before what PTX would be run with.
    {"compute.fma.f32.latency", "trace_opcode_latency_initiation_sp.latency", "cycles"},
    {"compute.fma.f32.per_core",
     "gpgpu_num_sp_units * gpgpu_shader_core_pipeline.warp / trace_opcode_latency_initiation_sp.initiation", ""},
    {"compute.fma.f64.latency", "trace_opcode_latency_initiation_dp.latency", "cycles"},
    {"compute.fma.f64.per_core",
     "gpgpu_num_dp_units * gpgpu_shader_core_pipeline.warp / trace_opcode_latency_initiation_dp.initiation", ""},
    {"compute.imad.i32.latency", "trace_opcode_latency_initiation_int.latency", "cycles"},
    {"compute.imad.i32.per_core",
     "gpgpu_num_int_units * gpgpu_shader_core_pipeline.warp / trace_opcode_latency_initiation_int.initiation", ""},
    {"compute.special.f32.latency", "trace_opcode_latency_initiation_sfu.latency", "cycles"},
    {"compute.special.f32.per_core",
     "gpgpu_num_sfu_units * gpgpu_shader_core_pipeline.warp / trace_opcode_latency_initiation_sfu.initiation", ""},
    {"compute.fma.f32.latency", "ptx_opcode_latency_fp.mad", "cycles"},
    {"compute.fma.f32.per_core", "gpgpu_num_sp_units * gpgpu_shader_core_pipeline.warp / ptx_opcode_initiation_fp.mad",
     ""},
    {"compute.imad.i32.latency", "ptx_opcode_latency_int.mad", "cycles"},
    {"compute.imad.i32.per_core",
     "gpgpu_num_int_units * gpgpu_shader_core_pipeline.warp / ptx_opcode_initiation_int.mad", ""},
    {"compute.fma.f64.latency", "ptx_opcode_latency_dp.mad", "cycles"},
    {"compute.fma.f64.per_core",
     "max(1, floor(gpgpu_num_dp_units * gpgpu_shader_core_pipeline.warp / ptx_opcode_initiation_dp.mad))", ""},
    {"compute.special.f32.latency", "ptx_opcode_latency_sfu", "cycles"},
    {"compute.special.f32.per_core",
     "gpgpu_num_sfu_units * gpgpu_shader_core_pipeline.warp / ptx_opcode_initiation_sfu", ""},
    {"compute.MATRIX.f16.per_core", "gpgpu_num_tensor_core_units * 16 * 16 * 16 / ptx_opcode_initiation_tensor", "",
     "multiply-adds of a wmma of 16x16x16 over its initiation"},

    {"memory.dram.clock", "gpgpu_clock_domains.dram", "MHz"},
    {"memory.dram.rate", "dram_data_command_freq_ratio", ""},
    {"memory.dram.channels", "gpgpu_n_mem", ""},
    {"memory.dram.width", "gpgpu_dram_buswidth * gpgpu_n_mem_per_ctrlr", "B"},
    {"memory.dram.burst", "gpgpu_dram_burst_length", ""},
    {"memory.dram.row", "gpgpu_mem_addr_mapping.row", "B", "columns and bytes of an access"},
    {"memory.dram.banks", "gpgpu_dram_timing_opt.nbk", ""},
    {"memory.dram.bank_groups", "gpgpu_dram_timing_opt.nbkgrp", ""},
    {"memory.dram.queue_depth", "gpgpu_frfcfs_dram_sched_queue_size", "", {}, true},
    {"memory.dram.timing.cl", "gpgpu_dram_timing_opt.CL", "cycles"},
    {"memory.dram.timing.cwl", "gpgpu_dram_timing_opt.WL", "cycles"},
    {"memory.dram.timing.rcd", "gpgpu_dram_timing_opt.RCD", "cycles"},
    {"memory.dram.timing.rcd_wr", "gpgpu_dram_timing_opt.RCD", "cycles"},
    {"memory.dram.timing.rp", "gpgpu_dram_timing_opt.RP", "cycles"},
    {"memory.dram.timing.ras", "gpgpu_dram_timing_opt.RAS", "cycles"},
    {"memory.dram.timing.rc", "max(gpgpu_dram_timing_opt.RC, gpgpu_dram_timing_opt.RAS + gpgpu_dram_timing_opt.RP)",
     "cycles", "a bank opens again only after it was closed"},
    {"memory.dram.timing.ccd_s",
     "max(gpgpu_dram_timing_opt.CCD, gpgpu_dram_burst_length / dram_data_command_freq_ratio)", "cycles",
     "a burst holds the bus"},
    {"memory.dram.timing.ccd_l",
     "max(gpgpu_dram_timing_opt.CCDL, gpgpu_dram_burst_length / dram_data_command_freq_ratio)", "cycles"},
    {"memory.dram.timing.rrd_s", "gpgpu_dram_timing_opt.RRD", "cycles"},
    {"memory.dram.timing.rrd_l", "gpgpu_dram_timing_opt.RRD", "cycles"},
    {"memory.dram.timing.faw", "4 * gpgpu_dram_timing_opt.RRD", "cycles", "none there: as RRD alone bounds activates"},
    {"memory.dram.timing.wr", "gpgpu_dram_timing_opt.WR", "cycles"},
    {"memory.dram.timing.wtr_s", "gpgpu_dram_timing_opt.CDLR", "cycles"},
    {"memory.dram.timing.wtr_l", "gpgpu_dram_timing_opt.CDLR", "cycles"},
    {"memory.dram.timing.rtp", "gpgpu_dram_timing_opt.RTPL", "cycles", {}, true},
    {"memory.dram.timing.rtw",
     "gpgpu_dram_timing_opt.CL + gpgpu_dram_burst_length / dram_data_command_freq_ratio + 2 - gpgpu_dram_timing_opt.WL",
     "cycles", "as its source computes it"},
    {"memory.dram.latency",
     "round(gpgpu_l1_latency + (gpgpu_l2_rop_latency + dram_latency) * gpgpu_clock_domains.core / "
     "gpgpu_clock_domains.l2 + (gpgpu_dram_timing_opt.RCD + gpgpu_dram_timing_opt.CL) * gpgpu_clock_domains.core / "
     "gpgpu_clock_domains.dram)",
     "cycles", kLatency},

    {"memory.l2.capacity",
     "gpgpu_n_mem * gpgpu_n_sub_partition_per_mchannel * gpgpu_cache:dl2.sets * gpgpu_cache:dl2.line * "
     "gpgpu_cache:dl2.ways",
     "B"},
    {"memory.l2.slices", "gpgpu_n_mem * gpgpu_n_sub_partition_per_mchannel", ""},
    {"memory.l2.clock", "gpgpu_clock_domains.l2", "MHz"},
    {"memory.l2.width", "gpgpu_cache:dl2.port", "B"},
    {"memory.l2.line", "gpgpu_cache:dl2.line", "B"},
    {"memory.l2.sector", "gpgpu_cache:dl2.line", "B", "a sector is a line there"},
    {"memory.l2.ways", "gpgpu_cache:dl2.ways", ""},
    {"memory.l2.mshrs", "gpgpu_cache:dl2.mshrs", ""},
    {"memory.l2.latency",
     "round(gpgpu_l1_latency + gpgpu_l2_rop_latency * gpgpu_clock_domains.core / gpgpu_clock_domains.l2)", "cycles",
     kLatency},

    {"memory.l1.capacity", "gpgpu_unified_l1d_size * 1024", "B", {}, true},
    {"memory.l1.capacity", "gpgpu_cache:dl1.sets * gpgpu_cache:dl1.line * gpgpu_cache:dl1.ways", "B"},
    {"memory.l1.line", "gpgpu_cache:dl1.line", "B"},
    {"memory.l1.sector", "gpgpu_cache:dl1.line", "B", "a sector is a line there"},
    {"memory.l1.mshrs", "gpgpu_cache:dl1.mshrs", ""},
    {"memory.l1.latency", "gpgpu_l1_latency", "cycles", kLatency},
    {"memory.l1.latency", "l1_latency", "cycles", kLatency},

    {"memory.smem.capacity", "gpgpu_shmem_size", "B"},
    {"memory.smem.per_block", "gpgpu_shmem_size - base.memory.smem.reserved_per_block", "B",
     "all that the device does not reserve"},
    {"memory.smem.per_block", "gpgpu_shmem_size", "B"},
    {"memory.smem.banks", "gpgpu_shmem_num_banks", ""},
    {"memory.smem.latency", "gpgpu_smem_latency", "cycles", kLatency},
    {"memory.smem.latency", "smem_latency", "cycles", kLatency},

    {"memory.reg.capacity", "gpgpu_shader_registers * 4", "B"},
    {"link.width", "icnt_flit_size - 8", "B", "8 B of a flit are its header"},
};

constexpr WordRow kGpgpusimWords[] = {
    {"gpgpu_cache:dl2.sectored", "S", "memory.l2.sector", "32 B"},
    {"gpgpu_cache:dl2.sectored", "N", "$whole_lines", "1"},
    {"gpgpu_cache:dl2.sectored", "L", "$whole_lines", "1"},
    {"gpgpu_cache:dl1.sectored", "S", "memory.l1.sector", "32 B"},
    {"gpgpu_cache:dl1.sectored", "N", "$whole_lines", "1"},
    {"gpgpu_cache:dl1.sectored", "L", "$whole_lines", "1"},
    {"dram_dual_bus_interface", "1", "memory.dram.dual_command_bus", "true"},
    {"dram_dual_bus_interface", "0", "memory.dram.dual_command_bus", "false"},
    {"dram_bnkgrp_indexing_policy", "1", "memory.dram.address_mapping", "RoBaRaBgCoCh"},
    {"dram_bnkgrp_indexing_policy", "0", "memory.dram.address_mapping", "RoRaBgBaCoCh"},
};

constexpr DefaultRow kGpgpusimDefaults[] = {
    {"gpgpu_n_sub_partition_per_mchannel", 1},
    {"gpgpu_n_mem_per_ctrlr", 1},
    {"dram_data_command_freq_ratio", 2},
    {"gpgpu_l2_rop_latency", 85},
    {"dram_latency", 30},
    {"gpgpu_n_cores_per_cluster", 3},
};

constexpr MeaninglessRow kGpgpusimMeaningless[] = {
    {"gpgpu_compute_capability_major gpgpu_compute_capability_minor gpgpu_ptx_force_max_capability "
     "gpgpu_occupancy_sm_number gpgpu_coalesce_arch",
     "chooses the device that the chip extends, which has this target"},
    {"gpgpu_ptx_instruction_classification gpgpu_ptx_sim_mode gpgpu_ptx_convert_to_ptxplus "
     "gpgpu_ptx_save_converted_ptxplus gpgpu_ptx_use_cuobjdump gpgpu_experimental_lib_support "
     "gpgpu_ptx_inst_debug_to_file gpgpu_ptx_inst_debug_file gpgpu_ptx_inst_debug_thread_uid save_embedded_ptx keep "
     "checkpoint_option checkpoint_kernel checkpoint_CTA resume_option resume_kernel resume_CTA checkpoint_CTA_t "
     "checkpoint_insn_Y cdp_latency gpgpu_cdp_enabled trace SST_mode",
     "how its simulator runs PTX or a trace"},
    {"gpgpu_stack_size_limit gpgpu_heap_size_limit gpgpu_runtime_sync_depth_limit "
     "gpgpu_runtime_pending_launch_count_limit gpgpu_max_concurrent_kernel gpgpu_concurrent_kernel_sm "
     "gpgpu_local_mem_map gpgpu_num_cta_barriers gpgpu_ignore_resources_limitation",
     "a limit of the runtime; kernels here run one after another"},
    {"gpgpu_max_cycle gpgpu_max_insn gpgpu_max_cta gpgpu_max_completed_cta gpgpu_runtime_stat liveness_message_freq "
     "gpgpu_deadlock_detect gpgpu_cflog_interval gpgpu_memlatency_stat enable_ptx_file_line_stats "
     "ptx_line_stats_filename visualizer_enabled visualizer_outputfile visualizer_zlevel trace_enabled "
     "trace_components trace_sampling_core trace_sampling_memory_partition gpgpu_warpdistro_shader "
     "gpgpu_warp_issue_shader gpgpu_simt_core_sim_order",
     "what its simulator prints, and when it ends"},
    {"accelwattch_xml_file gpuwattch_xml_file power_simulation_enabled power_per_cycle_dump power_simulation_mode "
     "hw_perf_file_name hw_perf_bench_name dvfs_enabled aggregate_power_stats power_trace_enabled power_trace_zlevel "
     "steady_power_levels_enabled steady_state_definition n_regfile_gating_group gpgpu_clock_gated_reg_file "
     "gpgpu_clock_gated_lanes accelwattch_hybrid_perfsim_L1_RH accelwattch_hybrid_perfsim_L1_RM "
     "accelwattch_hybrid_perfsim_L1_WH accelwattch_hybrid_perfsim_L1_WM accelwattch_hybrid_perfsim_L2_RH "
     "accelwattch_hybrid_perfsim_L2_RM accelwattch_hybrid_perfsim_L2_WH accelwattch_hybrid_perfsim_L2_WM "
     "accelwattch_hybrid_perfsim_CC_ACC accelwattch_hybrid_perfsim_SHARED_ACC accelwattch_hybrid_perfsim_DRAM_RD "
     "accelwattch_hybrid_perfsim_DRAM_WR accelwattch_hybrid_perfsim_NOC accelwattch_hybrid_perfsim_PIPE_DUTY "
     "accelwattch_hybrid_perfsim_NUM_SM_IDLE accelwattch_hybrid_perfsim_CYCLES accelwattch_hybrid_perfsim_VOLTAGE",
     "its power model; ours has figures of its own (docs/energy.md)"},
    {"gpgpu_simd_model gpgpu_scheduler gpgpu_dual_issue_diff_exec_units gpgpu_sub_core_model gpgpu_pipeline_widths "
     "gpgpu_inst_fetch_throughput gpgpu_reg_file_port_throughput gpgpu_num_reg_banks gpgpu_reg_bank_use_warp_id "
     "gpgpu_opndcoll_model gpgpu_enable_specialized_operand_collector gpgpu_num_mem_units gpgpu_mem_unit_ports "
     "gpgpu_trywait_max_retries gpgpu_trywait_retry_cycles specialized_unit_1 specialized_unit_2 specialized_unit_3 "
     "specialized_unit_4 specialized_unit_5 specialized_unit_6 specialized_unit_7 specialized_unit_8",
     "the order of issue and the paths of operands within a core, which is a scheduler and pipes here"},
    {"gpgpu_operand_collector_num_units_sp gpgpu_operand_collector_num_units_dp gpgpu_operand_collector_num_units_sfu "
     "gpgpu_operand_collector_num_units_int gpgpu_operand_collector_num_units_tensor_core "
     "gpgpu_operand_collector_num_units_mem gpgpu_operand_collector_num_units_gen "
     "gpgpu_operand_collector_num_in_ports_sp gpgpu_operand_collector_num_in_ports_dp "
     "gpgpu_operand_collector_num_in_ports_sfu gpgpu_operand_collector_num_in_ports_int "
     "gpgpu_operand_collector_num_in_ports_tensor_core gpgpu_operand_collector_num_in_ports_mem "
     "gpgpu_operand_collector_num_in_ports_gen gpgpu_operand_collector_num_out_ports_sp "
     "gpgpu_operand_collector_num_out_ports_dp gpgpu_operand_collector_num_out_ports_sfu "
     "gpgpu_operand_collector_num_out_ports_int gpgpu_operand_collector_num_out_ports_tensor_core "
     "gpgpu_operand_collector_num_out_ports_mem gpgpu_operand_collector_num_out_ports_gen",
     "operand collectors; operands of a multiply-add do not wait here but for register_banks"},
    {"gpgpu_tensor_core_avail", "the device that the chip extends has matrix instructions or has none"},
    {"ptx_opcode_latency_tesnor ptx_opcode_latency_tensor trace_opcode_latency_initiation_tensor",
     "the latency of a wmma of 16x16x16, of which an instruction of ours is a part"},
    {"ptx_opcode_latency_int ptx_opcode_initiation_int ptx_opcode_latency_fp ptx_opcode_initiation_fp "
     "ptx_opcode_latency_dp ptx_opcode_initiation_dp trace_opcode_latency_initiation_spec_op_1 "
     "trace_opcode_latency_initiation_spec_op_2 trace_opcode_latency_initiation_spec_op_3 "
     "trace_opcode_latency_initiation_spec_op_4 trace_opcode_latency_initiation_spec_op_5 "
     "trace_opcode_latency_initiation_spec_op_6 trace_opcode_latency_initiation_spec_op_7 "
     "trace_opcode_latency_initiation_spec_op_8",
     "an instruction that no entry of `compute` describes"},
    {"gpgpu_registers_per_block", "a block has at most the registers of its core"},
    {"gpgpu_shmem_option gpgpu_adaptive_cache_config adaptive_volta_cache_config gpgpu_shmem_sizeDefault "
     "gpgpu_shmem_size_PrefL1 gpgpu_shmem_size_PrefShared gpgpu_cache:dl1PrefL1 gpgpu_cache:dl1PrefShared",
     "the share of the scratchpad is what blocks allocate, in any amount"},
    {"gpgpu_shmem_per_block", "CUDA's limit without opting in; ours is the one of the device"},
    {"gpgpu_shmem_limited_broadcast gpgpu_shmem_warp_parts",
     "broadcasts are `broadcast_groups` of the device that the chip extends"},
    {"gpgpu_cache:dl1", "no L1 for data there; the one of the device that the chip extends is left"},
    {"gpgpu_cache:dl1.sets gpgpu_cache:dl1.ways", "the L1 takes what the scratchpad leaves, so its sets follow"},
    {"gpgpu_l1_banks gpgpu_l1_banks_byte_interleaving gpgpu_l1_banks_hashing_function gpgpu_l1_cache_write_ratio "
     "gpgpu_gmem_skip_L1D gpgpu_flush_l1_cache gpgpu_flush_l2_cache gpgpu_perfect_mem gpgpu_perf_sim_memcpy l2_ideal "
     "gpgpu_cache:dl1 gpgpu_cache:dl2 gpgpu_cache:dl2_texture_only gpgpu_lrc_enabled gpgpu_lrc_max_entries "
     "gpgpu_lrc_max_merged",
     "the policy of a cache; loads allocate sectors in L1 and L2 here, and kernels begin with empty caches"},
    {"gpgpu_cache:il1 gpgpu_tex_cache:l1 gpgpu_const_cache:l1 gpgpu_perfect_inst_const_cache",
     "instructions, textures and constants; kernels here have none that miss"},
    {"gpgpu_dram_partition_queues gpgpu_dram_return_queue_size gpgpu_n_cluster_ejection_buffer_size "
     "gpgpu_n_ldst_response_buffer_size icnt_in_buffer_limit icnt_out_buffer_limit",
     "the depth of a queue along the way; here a slice's `queue` and a core's `mshrs` bound what is in flight"},
    {"network_mode inter_config_file icnt_subnets icnt_arbiter_algo icnt_verbose icnt_grant_cycles "
     "gpgpu_clock_domains.icnt",
     "its network; here each core has a port of link.width at the core's clock"},
    {"gpgpu_memory_partition_indexing dram_bnk_indexing_policy gpgpu_mem_address_mask gpgpu_mem_addr_mapping "
     "gpgpu_mem_addr_test",
     "bits of an address; a gpu's levels here spread lines by hashing, and `address_mapping` says the order in a "
     "channel"},
    {"gpgpu_dram_scheduler gpgpu_simple_dram_model gpgpu_simple_dram_clock_multiplier "
     "dram_seperate_write_queue_enable dram_write_queue_size dram_elimnate_rw_turnaround",
     "the policy of its DRAM controller; ours is the one of the device that the chip extends"},
    {"chiplet_partition_stride inter_chiplet_queue_size inter_chiplet_queue_latency gpgpu_n_chiplet_partition "
     "gpgpu_chiplet_interleave chiplet_mem_stride",
     "chiplets; a chip here is one die"},
    {"rop_latency dual_bus_interface Seperate_Write_Queue_Enable Write_Queue_Size Elimnate_rw_turnaround l1_banks",
     "a name of an older version; give the one of GPGPU-Sim 4"},
};

// Parts of options that no figure takes.
constexpr std::string_view kCacheParts =
    "replace write allocate write_allocate index mshr merge miss_queue fifo port "
    "sectored sets ways line mshrs";
constexpr std::string_view kOpcodes = "add max mul mad div shuffle";

void leave_parts(std::vector<MeaninglessRow>& rows, std::vector<std::string>& texts,
                 std::initializer_list<std::string_view> keys, std::string_view parts, std::string_view reason) {
  for (const std::string_view key : keys) {
    std::string all;
    for (const std::string_view part : words_of(parts)) all += fmt::format("{}.{} ", key, part);
    texts.push_back(std::move(all));
    rows.push_back({texts.back(), reason});
  }
}

// The bytes of a row, as a key: those that the bits of columns (C) and of an access (S) of the mapping count.
void add_row(std::vector<Key>& keys) {
  constexpr std::string_view kBits = "CcSs";
  constexpr std::ptrdiff_t kMaxBits = 30;
  const Key* mapping = find_key(keys, "gpgpu_mem_addr_mapping");
  if (mapping == nullptr) return;
  const std::string_view text = mapping->text;
  const std::string_view bits = text.substr(text.find(';') == std::string_view::npos ? 0 : text.find(';') + 1);
  const auto n = std::count_if(bits.begin(), bits.end(), [&](char c) { return kBits.find(c) != std::string::npos; });
  if (n == 0 || n > kMaxBits) return;
  keys.push_back({mapping->name + ".row", fmt::format("{}", std::int64_t{1} << n), mapping->at});
}

std::string target_of(const std::vector<Key>& keys) {
  const Key* major = find_key(keys, "gpgpu_compute_capability_major");
  const Key* minor = find_key(keys, "gpgpu_compute_capability_minor");
  return major == nullptr || minor == nullptr ? std::string() : fmt::format("sm_{}{}", major->text, minor->text);
}

}  // namespace

std::optional<Imported> import_gpgpusim(const Source& source, base::Diagnostics& diags) {
  std::vector<Key> keys = read_options(source.text, source.id, diags);
  if (!diags.ok()) return std::nullopt;
  std::vector<MeaninglessRow> meaningless(std::begin(kGpgpusimMeaningless), std::end(kGpgpusimMeaningless));
  std::vector<std::string> texts;
  texts.reserve(16);  // rows are views of them
  leave_parts(meaningless, texts, {"gpgpu_cache:dl1", "gpgpu_cache:dl2"}, kCacheParts,
              "the policy of a cache; loads allocate sectors in L1 and L2 here");
  leave_parts(meaningless, texts,
              {"ptx_opcode_latency_int", "ptx_opcode_initiation_int", "ptx_opcode_latency_fp",
               "ptx_opcode_initiation_fp", "ptx_opcode_latency_dp", "ptx_opcode_initiation_dp"},
              kOpcodes, "an instruction that no entry of `compute` describes");
  const std::string target = target_of(keys);
  add_row(keys);
  const Table table{kParts, kGpgpusimFigures, kGpgpusimWords, meaningless, kGpgpusimDefaults};
  return chip_like_ours(source, std::move(keys), table, target, "NVIDIA", diags);
}

}  // namespace tilescope::importers
