# SPDX-License-Identifier: Apache-2.0
"""The pace of asynchronous copies, from measured times.

core.async_copy_interval and core.fenced_copy_interval of an H100's file are fitted to programs of the H200
(measured/h200.jsonl.gz) and checked on those of the H100 SXM, which were kept back. Prints, for each value, the mean of
log(predicted / measured) and of its absolute value over the programs that copy

  small    4 or 8 B at a time, for fragments that threads load themselves; beside all others that copy so, 16 B at a time
  fenced   for products that read the scratchpad (wgmma), after a proxy fence

Of the latter, programs whose registers do not hold their sums are left out: compilers spill these.
"""

import json
import math
import re
import statistics
import subprocess
import sys
import tempfile

from measured import HERE, read

BYTES = {"f32": 4, "tf32": 4, "f16": 2, "bf16": 2}
WARP_GROUP = 128
SPARE_REGISTERS = 24  # that a kernel of wgmma needs beside its sums


def add_options(parser):
    parser.add_argument("--chip", action="append", default=[], help="h200 and h100_sxm where none is given")
    parser.add_argument("--intervals", default="1,6,8,11,40,50,57,65", help="cycles")


def kind_of(row):
    """small, other or fenced; None where a program copies otherwise, or spills."""
    node = row["nodes"][0]
    unit = node.get("mma", {}).get("name", "")
    if len(row["nodes"]) > 1 or node.get("num_stages", 1) < 2 or node["dtype"] not in BYTES:
        return None
    output = re.match(r"\w+", node["expr"])[0]
    inputs = [t for t in node["cached"] if t != output]
    if any(node.get("copy", {}).get(t) == "tma" for t in inputs):
        return None
    if not unit.startswith("wgmma"):
        small = any(node["vector"].get(t, 1) * BYTES[node["dtype"]] in (4, 8) for t in inputs)
        return "small" if small else "other"
    sums = math.prod(list(node["tiles"]["reg"].values())[:-1]) / WARP_GROUP
    return "fenced" if not node["registers"] or node["registers"] >= sums + SPARE_REGISTERS else None


def logs(options, chip, rows, key, cycles):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as batch:
        batch.writelines(json.dumps(row) + "\n" for row in rows)
        batch.flush()
        done = subprocess.run([options.build / "tilescope", "predict", "--arch", chip, "--set",
                               f"core.{key}={cycles} cycles", "--batch", batch.name, "--json"],
                              capture_output=True, text=True)
    if not done.stdout:
        sys.exit(done.stderr.strip())
    predicted = {row["id"]: row["predicted_us"] for row in json.loads(done.stdout)["rows"]}
    return [math.log(predicted[row["id"]] / row["measured_us"]) for row in rows]


def run(options, parser):
    print("chip      kind     programs  interval  mean log error  mean |log error|")
    for chip in options.chip or ["h200", "h100_sxm"]:
        rows = read(HERE / "measured" / f"{chip}.jsonl.gz")
        for kind in "small", "other", "fenced":
            own = [row for row in rows if kind_of(row) == kind]
            key = "fenced_copy_interval" if kind == "fenced" else "async_copy_interval"
            for cycles in options.intervals.split(","):
                errors = logs(options, chip, own, key, cycles)
                print(f"{chip:9} {kind:8} {len(own):8} {cycles:>9} {statistics.fmean(errors):+15.2f} "
                      f"{statistics.fmean(map(abs, errors)):17.2f}", flush=True)
