# SPDX-License-Identifier: Apache-2.0
"""Operators that vendors' libraries and PyTorch ran on boards with a chip's file, by board and kind: our first program
against the measured time, and what that time is of the board's peaks."""

import json
import pathlib
import sys
from math import prod

import kernelbench
import networks

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "experiments/studies/boards"))
import sample  # noqa: E402

LONG_US = 100  # shorter times are of launches
HOST_US = 21  # of LLMCompass's times: launch and host, as its authors say
LONG_ROW = 1024  # elements; PyTorch's softmax keeps shorter rows in registers and reads longer ones again
ALIASES = {"Tesla V100-PCIE-32GB": "v100", "AMD Instinct MI100 (gfx908,120CU)": "mi100"}
SIZES = ("n", "c", "h", "w", "kh", "kw", "stride", "pad", "rows", "cols", "fn")
KINDS = ("softmax", "layernorm", "elementwise", "depthwise_conv2d")


def operator(row):
    if row["op"] != "depthwise_conv2d":
        return sample.operator(row)
    p = json.loads(row["params"])
    stride = f"{p['stride']}*" if p["stride"] > 1 else ""
    out = {axis: (p[size] + 2 * p["pad"] - p[taps]) // p["stride"] + 1
           for axis, size, taps in (("y", "h", "kh"), ("x", "w", "kw"))}
    border = f"-{p['pad']}" if p["pad"] else ""
    return (f"O[n,c,y,x] +=! I[n,c,{stride}y+r{border},{stride}x+s{border}] * W[c,r,s]",
            {"n": p["n"], "c": p["c"], **out, "r": p["kh"], "s": p["kw"]})


def fastest(rows):
    """Of each operator of a board the fastest algorithm."""
    found = {}
    for row in rows:
        p = {key: value for key, value in json.loads(row["params"]).items() if key in SIZES}
        key = row["device"], row["op"], json.dumps(p, sort_keys=True)
        if key not in found or float(row["time_us"]) < float(found[key]["time_us"]):
            found[key] = row
    return found.values()


def kind_of(chip, op, sizes):
    kind = f"{chip}, {op.removesuffix('_conv2d')}"
    return f"{kind}, long" if op in ("softmax", "layernorm") and sizes["j"] > LONG_ROW else kind


def of_llmcompass(rows):
    """In the form of the other rows, those whose rows and columns are known."""
    for row in rows:
        p = json.loads(row["params"])
        if row["op"] in KINDS and "N" in p:
            yield row | {"params": json.dumps({"rows": p["M"], "cols": p["N"]})}


def rows_by_chip(rows, llmcompass):
    """In f32 of libraries, and in f16 as LLMCompass measured from the host."""
    known = kernelbench.chips(ROOT / "arch/devices")
    found = {}
    rows = [row for row in rows if row["op"] in KINDS and row["dtype"] == "fp32" and row["time_us"]]
    for row in [*fastest(rows), *of_llmcompass(llmcompass)]:
        chip = kernelbench.chip_of(ALIASES.get(row["device"], row["device"]), known)
        known_operator = operator(row) if chip else None
        if known_operator is None or float(row["time_us"]) < LONG_US:
            continue
        op, sizes = known_operator
        half = row["dtype"] == "fp16"
        found.setdefault(chip, []).append(
            {"chip": chip, "kind": kind_of(chip, row["op"], sizes), "problem": row["params"], "mode": "eager",
             "measured_us": float(row["time_us"]), "launch_us": HOST_US if half else 0,
             "iterations": prod(sizes.values()), "ran": [{"op": op, "sizes": sizes}], "dtype": "f16" if half else "f32"})
    return found


def run(tilescope, report, rows, llmcompass, every_row):
    skipped = networks.Skipped()
    chips = rows_by_chip(rows, llmcompass)
    found = [row for chip, own in sorted(chips.items()) for row in networks.with_predictions(tilescope, chip, own, skipped)]
    report.title(f"Operators of libraries over {LONG_US} us, by board and kind; long: rows of more than {LONG_ROW}")
    skipped.print()
    if not found:
        return
    networks.print_table(found, "kind")
    print()
    peaks = {chip: networks.peaks_of(tilescope, chip) for chip in chips}
    networks.print_ratios(found, peaks)
    if every_row:
        print()
        networks.print_rows(found, peaks)
