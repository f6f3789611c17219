# SPDX-License-Identifier: Apache-2.0
"""Measured families of kernels that differ in one thing, as lines of a batch: a ladder of matrix products and copies
on an A100, and stencils on four boards that differ in the padding of their staged rows."""

import csv
import gzip
import json


def rows_of(path):
    with gzip.open(path, "rt") as f:
        return [row for row in csv.DictReader(f) if row["time_us"]]


def line(name, group, measured_us, **program):
    return json.dumps({"format": 3, "id": name, "group": group, "measured_us": measured_us, **program})


# --- the ladder: yencal's kernels, the same product from the plainest to double buffers filled asynchronously, and
# copies by the bytes of a thread

ELEMENT = {1: ("i8", 1), 2: ("f16", 2)}  # of a copy of so many bytes a thread; of more, f32


def product_line(name, row, tile):
    size = json.loads(row["params"])
    tm, tn, staged = tile["tm"], tile["tn"], tile.get("smem", True)
    program = {
        "expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {axis: size[axis] for axis in "mnk"}, "dtype": "f32",
        "tiles": {"smem": {"m": tile["bm"], "n": tile["bn"], "k": tile.get("bk", 1)}},
        "mapping": {"m": {"threads": tile["bm"] // tm, "per_thread": tm},
                    "n": {"threads": tile["bn"] // tn, "per_thread": tn}},
        "cached": {"A": "smem", "B": "smem"} if staged else {}}
    if staged:
        program |= {"num_stages": tile["stages"], "unroll": tm * tn * tile["bk"]}
    if tile.get("gmem_vec", 1) > 1:
        program["vector"] = {"A": tile["gmem_vec"], "B": tile["gmem_vec"], "C": tile.get("smem_vec", 1)}
    return line(name, row["system"], float(row["time_us"]), **program)


def copy_line(name, row, tile):
    width = tile["load_bytes_per_thread"]
    dtype, element = ELEMENT.get(width, ("f32", 4))
    threads, each = tile["block"], width // element
    size = json.loads(row["params"])
    total = next(size[key] for key in ("bytes", "n_bytes", "size_bytes") if key in size)
    return line(name, f"copy, {width} B a thread", float(row["time_us"]), expr="O[i] = I[i]",
                sizes={"i": int(total) // element}, dtype=dtype, tiles={"smem": {"i": threads * each}},
                mapping={"i": {"threads": threads, "per_thread": each}}, vector={"I": each, "O": each})


def ladder(path, device="A100-SXM4-40GB"):
    """Kernels whose tiles are known."""
    lines = []
    for n, row in enumerate(rows_of(path)):
        if row["device"] != device or not row["tile_config"]:
            continue
        tile = json.loads(row["tile_config"])
        if row["op"] == "copy":
            lines.append(copy_line(f"{row['system']}#{n}", row, tile))
        elif "bm" in tile:
            lines.append(product_line(f"{row['system']}#{n}", row, tile))
    return lines


# --- stencils of 15 x 15 taps on 4096 x 4096 results (Kernel Tuner's convolution)

TAPS, IMAGE = 15, 4096


def padding_pairs(path):
    """Pairs of kernels that stage rows and differ in their padding alone: (configuration, without, with), of which the
    latter two are (padding in elements, measured time in us)."""
    found = {}
    for row in rows_of(path):
        tile = json.loads(row["tile_config"])
        if not tile.get("use_shmem", 1):
            continue
        key = tuple((k, tile[k]) for k in sorted(tile)
                    if k.startswith(("block_size", "tile_size", "read_only", "use_cmem")))
        found.setdefault(key, {})[tile["use_padding"]] = (tile["pad_cols"], float(row["time_us"]))
    return [(dict(key), pair[0], pair[1]) for key, pair in found.items()
            if len(pair) == 2 and pair[1][0] > 0]


def stencil_line(name, tile, padding, measured_us):
    axes = {axis: {"vthread": tile[f"tile_size_{axis}"], "threads": tile[f"block_size_{axis}"]} for axis in "yx"}
    block = {axis: m["vthread"] * m["threads"] for axis, m in axes.items()}
    results = axes["y"]["vthread"] * axes["x"]["vthread"]
    program = {"expr": "O[y,x] +=! I[y+r,x+s] * F[r,s]",
               "sizes": {"y": IMAGE, "x": IMAGE, "r": TAPS, "s": TAPS}, "dtype": "f32",
               "tiles": {"smem": {**block, "r": TAPS, "s": TAPS}}, "mapping": axes, "cached": {"I": "smem"},
               "unroll": results * TAPS * TAPS}  # its loops over taps are unrolled
    if padding:
        program["padding"] = {"I": padding}
    return line(name, "stencil", measured_us, **program)
