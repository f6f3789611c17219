# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of a plan's kernels, by Nsight Compute (ncu), next to the simulator's counts of the programs."""

import csv
import io
import math
import pathlib
import shutil

import bundle

EXPECTED_SECONDS = 40  # ncu runs every kernel some ten times, with the device's memory saved and restored in between

HOPPER_STALLS = ("gmma",)  # a metric that earlier chips lack
STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle", "mio_throttle", "lg_throttle", "wait",
          "not_selected", "membar")
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# A row's entry by ncu's metric; entries of several kernels are added, or weighed by the kernels' times.
SUMS = {
    "gpu__time_duration.sum": ("measured_us", 1e-3),
    "dram__bytes_read.sum": ("dram_read_bytes", 1),
    "dram__bytes_write.sum": ("dram_written_bytes", 1),
    # Of the cores alone: a sector of another partition's memory is looked up in both partitions.
    "lts__t_sectors_srcunit_tex_op_read.sum": ("l2_read_sectors", 1),
    "lts__t_sectors_srcunit_tex_op_write.sum": ("l2_written_sectors", 1),
    "lts__t_sectors.sum": ("l2_lookups", 1),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": ("bank_conflicts", 1),
    "smsp__inst_issued.sum": ("instructions", 1),
}
MEANS = {
    "lts__t_sector_hit_rate.pct": "l2_hit_percent",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_active_percent",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent",
    **{STALL.format(stall): f"stall_{stall}" for stall in STALLS},
}


class NoCounters(Exception):
    """Why there are none, in a sentence."""


def installed():
    """Where ncu is: on the PATH, or where its packages put it; None where it is not."""
    folders = [*pathlib.Path("/opt/nvidia/nsight-compute").glob("*"), *pathlib.Path("/usr/local").glob("cuda*/bin")]
    return shutil.which("ncu") or next((str(f / "ncu") for f in sorted(folders, reverse=True) if (f / "ncu").is_file()),
                                       None)


def command(ncu, output, capability, words):
    metrics = [*SUMS, *MEANS]
    if int(capability.split(".")[0]) >= 9:
        metrics += [STALL.format(stall) for stall in HOPPER_STALLS]
    return [ncu, "--csv", "--page", "raw", "--print-units", "base", "--force-overwrite", "--clock-control", "none",
            "--cache-control", "all", "--kernel-name", "regex:^(?!tilescope_)", "--log-file", str(output), "--metrics",
            ",".join(metrics), *words]


def errors(output):
    """What ncu said of the metrics or the device that it cannot read."""
    return [line for line in output.read_text(encoding="utf-8", errors="replace").splitlines()
            if line.startswith("==ERROR==")]


def kernels(output):
    """What ncu wrote, a dictionary a kernel."""
    try:
        lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        raise NoCounters("ncu wrote nothing") from None
    table = list(csv.DictReader(io.StringIO("\n".join(line for line in lines if line.startswith('"')))))
    if not table:
        raise NoCounters("; ".join(errors(output)) or "ncu wrote no table")
    # The first line below the names has the units. Helpers that make inputs are not the plan's.
    return [k for k in table[1:] if not (k.get("Kernel Name") or "tilescope_").startswith("tilescope_")]


def number(kernel, metric):
    try:
        value = float(kernel[metric].replace(",", ""))
        return value if math.isfinite(value) else None
    except (KeyError, ValueError, AttributeError):
        return None


def rows(output, plan, simulated):
    """A row an operator. Kernels ran in the order of the plan's launches."""
    found, expected = kernels(output), bundle.launches(plan)
    programs = {}
    for (operator, name), kernel in zip(expected, found):
        if kernel["Kernel Name"].split("(")[0] != name:
            raise NoCounters(f"ncu saw {kernel['Kernel Name']} where {operator} launches {name}")
        programs.setdefault(operator, []).append(kernel)
    if len(found) < len(expected) and programs:
        programs.pop(expected[len(found)][0], None)  # it may have only a part of its kernels
    return [row(operator, of_program, simulated.get(operator)) for operator, of_program in programs.items()]


def key(operator):
    return f"counters {bundle.code_hash()} {operator}"


def row(operator, of_program, simulated):
    out = {"id": operator, "key": key(operator), "kind": "counters"}
    for metric, (name, scale) in SUMS.items():
        values = [number(kernel, metric) for kernel in of_program]
        if None not in values:
            out[name] = sum(values) * scale
    times = [number(kernel, "gpu__time_duration.sum") or 1 for kernel in of_program]
    hopper = {STALL.format(stall): f"stall_{stall}" for stall in HOPPER_STALLS}
    for metric, name in {**MEANS, **hopper}.items():
        values = [number(kernel, metric) for kernel in of_program]
        if None not in values:
            out[name] = sum(v * t for v, t in zip(values, times)) / sum(times)
    if simulated:
        levels = simulated["levels"]
        names = list(levels)  # outermost first: the DRAM, the device's cache, the core's levels
        out["simulated_us"] = simulated["simulated_us"]
        if names:
            out["simulated_dram_bytes"] = levels[names[0]]["read_bytes"] + levels[names[0]]["written_bytes"]
        if len(names) > 1:
            out["simulated_l2_sectors"] = levels[names[1]]["transactions"]
    return out
