# SPDX-License-Identifier: Apache-2.0
"""The operators of KernelBench's level 1 on every board with a chip's file: our first program against PyTorch's time."""

import pathlib
import statistics
import sys
import typing
from math import prod

import kernelbench

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "experiments/studies/boards"))
import figures  # noqa: E402
import predictions  # noqa: E402

CLOSE = 0.30
RANK, SHARE_CLOSE = 0.93, 0.50  # aims over all rows
HEAD = f"{'':22} {'rows':>4}   rank    mean median  within | roofline: rank   mean within | constant: mean within"


class Skipped:
    """Why rows have no figure, with their number."""

    def __init__(self):
        self.rows = {}

    def add(self, reason):
        self.rows[reason] = self.rows.get(reason, 0) + 1

    def print(self):
        for reason, number in sorted(self.rows.items()):
            print(f"  left out, {number} rows: {reason}")


def rows_by_chip(rows, folders, skipped):
    """Measured rows by chip, each with what PyTorch ran: one operator, or in eager mode one after the other."""
    known = kernelbench.chips(ROOT / "arch/devices")
    operators, operations = kernelbench.operators(*folders), kernelbench.operations(*folders)
    launches = kernelbench.launches(rows)
    found = {}
    for row in rows:
        op = operators.get((row["set"], row["problem"]))
        chip = kernelbench.chip_of(row["device"], known)
        mode, us = kernelbench.fastest(row)
        if chip is None:
            skipped.add(f"no chip's file for {row['device']}")
        elif op is None:
            skipped.add("no operator in the suites, most because the notation lacks the problem")
        elif row["set"] == "v0.1" and us < kernelbench.LONG_US:
            skipped.add(f"under {kernelbench.LONG_US} us in set v0.1")
        else:
            number = row["problem"].split("_")[0]
            ran = operations.get((row["set"], number)) if mode == "eager" else None
            found.setdefault(chip, []).append(
                {"chip": chip, "problem": f"{row['set']} {op['id']}", "kind": kernelbench.kind_of(op), "mode": mode,
                 "measured_us": us, "launch_us": launches.get(kernelbench.launch_key(row, mode), 0),
                 "iterations": prod(op["sizes"].values()), "ran": ran or [op],
                 "dtype": "tf32" if kernelbench.in_tf32(row) else row["dtype"]})
    return found


def with_predictions(tilescope, chip, rows, skipped):
    """The rows with predicted, roofline and measured times, without and with the launch that the measured ones contain, and
    the bytes of DRAM; summed over what PyTorch ran."""
    programs = predictions.of_operators(tilescope, chip, [
        op | {"id": f"{n}.{k}", "dtype": row["dtype"]} for n, row in enumerate(rows) for k, op in enumerate(row["ran"])])
    out = []
    for n, row in enumerate(rows):
        own = [programs[f"{n}.{k}"] for k in range(len(row["ran"]))]
        times = [predictions.times(program) for program in own]
        if None in times:
            skipped.add(f"{chip} has no program for the operator")
            continue
        predicted, roofline = map(sum, zip(*times))
        launch = max(0, row["launch_us"] - own[0]["terms"]["launch_us"])
        out.append(row | {"without_launch": (predicted, roofline, row["measured_us"]),
                          "predicted_us": predicted, "times": (predicted + launch, roofline + launch, row["measured_us"]),
                          "dram_bytes": sum(program["levels"]["dram"]["bytes"] for program in own),
                          "issue_us": sum(program["terms"]["issue_us"] for program in own),
                          "bottleneck": max(own, key=lambda program: program["predicted_us"])["bottleneck"]})
    return out


def within(predicted, measured):
    return statistics.fmean(abs(p / m - 1) <= CLOSE for p, m in zip(predicted, measured))


def figures_of(rows, times="times"):
    """Figures of rows with times; the two null models too."""
    times = [row[times] for row in rows]
    predicted, roofline, measured = zip(*times)
    constant = [statistics.geometric_mean(measured)] * len(times)
    return figures.of_rows(times) | {
        "median": statistics.median(abs(p / m - 1) for p, m in zip(predicted, measured)),
        "within": within(predicted, measured), "roofline_within": within(roofline, measured),
        "constant_within": within(constant, measured)}


def print_figures(name, f):
    print(f"{name:22} {f['rows']:4} {figures.text(f['rank']):>6} {f['error']:7.1%} {f['median']:6.1%} {f['within']:7.1%} | "
          f"{figures.text(f['roofline_rank']):>14} {f['roofline_error']:6.1%} {f['roofline_within']:6.1%} | "
          f"{f['constant_error']:14.1%} {f['constant_within']:6.1%}")


def print_table(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    print(HEAD)
    for name, own in sorted(groups.items()):
        print_figures(name, figures_of(own))


class Peaks(typing.NamedTuple):
    """Of a chip, each per microsecond."""
    dram_bytes: float
    f32_operations: float
    issue_slots: float  # of threads


def peaks_of(tilescope, chip):
    shown = tilescope("arch", "show", chip)
    core = shown["core"]
    f32 = next(unit for unit in shown["compute"] if unit["name"] == "fma.f32")
    return Peaks(1e3 * shown["memory"]["dram"]["derived"]["bandwidth_gbps"], 1e3 * f32["derived"]["peak_gflops"],
                 1e-6 * shown["clock_hz"] * core["count"] * core["partitions"] * core.get("issue", 1) * core["warp"])


def ratio(row):
    return row["times"][0] / row["measured_us"]


def slots_an_iteration(row, peak, us):
    """Instructions that a board can issue in that time, of a thread and for an iteration of the operator's loops."""
    return peak.issue_slots * us / row["iterations"]


def median_slots(rows, peaks, us):
    return statistics.median(slots_an_iteration(row, peaks[row["chip"]], row[us]) for row in rows)


def print_ratios(rows, peaks):
    """By kind of operator: predicted over measured time, what the measured time is of the board's two peaks, and the
    instructions of a thread for an iteration: as many as the measured time has room for, and those of our program."""
    print(f"{'':22} {'rows':>4}  predicted / measured: least, median, most | DRAM peak | f32 peak, in the measured time |"
          " issue slots an iteration, ours")
    for kind in sorted({row["kind"] for row in rows}):
        own = [row for row in rows if row["kind"] == kind]
        ratios = sorted(map(ratio, own))
        dram = statistics.median(row["dram_bytes"] / row["measured_us"] / peaks[row["chip"]].dram_bytes for row in own)
        f32 = statistics.median(2 * row["iterations"] / row["measured_us"] / peaks[row["chip"]].f32_operations
                                for row in own)
        print(f"{kind:22} {len(own):4} {ratios[0]:27.2f} {statistics.median(ratios):7.2f} {ratios[-1]:5.2f} | {dram:9.0%} |"
              f" {f32:8.0%} |"
              f" {median_slots(own, peaks, 'measured_us'):8.2f} {median_slots(own, peaks, 'issue_us'):8.2f}")


def print_scaling(rows, peaks, slower, faster):
    """By kind: the time on one board over that on another, which tells what bounds a kernel that is the same on both."""
    if not {slower, faster} <= set(peaks):
        return
    by_chip = {chip: {} for chip in (slower, faster)}
    for row in rows:
        if row["chip"] in by_chip:
            known = by_chip[row["chip"]].setdefault((row["kind"], row["problem"], row["mode"]), row)
            if row["measured_us"] < known["measured_us"]:
                by_chip[row["chip"]][row["kind"], row["problem"], row["mode"]] = row
    kinds = {}
    for key in by_chip[slower].keys() & by_chip[faster].keys():
        pair = by_chip[slower][key], by_chip[faster][key]
        kinds.setdefault(key[0], []).append([pair[0][what] / pair[1][what] for what in ("measured_us", "predicted_us")])
    dram, f32, _ = (a / b for a, b in zip(peaks[faster], peaks[slower]))
    print(f"\nTime on {slower} over {faster}, the same mode, medians; DRAM peaks: {dram:.2f}, cores times clock: {f32:.2f}")
    for kind, ratios in sorted(kinds.items()):
        measured, predicted = map(statistics.median, zip(*ratios))
        print(f"{kind:22} {len(ratios):4} problems, measured {measured:5.2f}, predicted {predicted:5.2f}")


def print_rows(rows, peaks):
    """Every row, the farthest off first."""
    for row in sorted(rows, key=ratio):
        measured, peak = row["measured_us"], peaks[row["chip"]]
        dram = row["dram_bytes"] / measured
        print(f"{ratio(row):6.2f} {row['chip']:10} {row['kind']:20} {row['problem']:60.60} {row['mode']:8} {measured:9.0f} us"
              f" {row['times'][0]:9.0f} us {1e-3 * dram:6.0f} GB/s {dram / peak.dram_bytes:4.0%}"
              f" {2e-6 * row['iterations'] / measured:6.1f} TFLOP/s"
              f" {slots_an_iteration(row, peak, measured):7.1f} issue slots an iteration, ours"
              f" {slots_an_iteration(row, peak, row['issue_us']):6.1f} {row['bottleneck']}")


def run(tilescope, report, rows_file, folders, every_row):
    """`tilescope` runs a command and returns its document; a suite is read from the first of the folders that has it."""
    skipped = Skipped()
    chips = rows_by_chip(kernelbench.rows_of(rows_file), folders, skipped)
    rows = [row for chip, own in sorted(chips.items()) for row in with_predictions(tilescope, chip, own, skipped)]
    report.title(f"KernelBench's operators of level 1, PyTorch's fastest time, {len(chips)} boards; within {CLOSE:.0%}")
    skipped.print()
    if not rows:
        return
    f = figures_of(rows)
    print_table(rows, "chip")
    print_figures("all", f)
    print()
    print_table(rows, "kind")
    peaks = {chip: peaks_of(tilescope, chip) for chip in chips}
    print()
    print_ratios(rows, peaks)
    print_scaling(rows, peaks, "h100_pcie", "h100_sxm")
    if every_row:
        print()
        print_rows(rows, peaks)
    print()
    report.row("rank of all rows", f["rank"] or 0, RANK)
    report.row("share of rows within 30 %", f["within"], SHARE_CLOSE)
    plain = figures_of(rows, "without_launch")
    report.row("rank, launches not added to predictions", plain["rank"] or 0)
    report.row("share of rows within 30 %, likewise", plain["within"])
