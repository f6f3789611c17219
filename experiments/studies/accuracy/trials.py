# SPDX-License-Identifier: Apache-2.0
"""Trials of AutoTVM and Ansor, and one family of SGEMM kernels, as measured, as lines of a batch."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
from format3 import format3  # noqa: E402  measured trials are of format 1


def with_copy_of_template(trial):
    """A trial records tiles and mapping. How its kernel copies tiles is the template's: AutoTVM's direct convolution
    for CUDA (TVM, topi, schedule_direct_cuda) splits a copy in as many parts as there are threads, so that neighbouring
    pieces are one thread's; Ansor's kernels copy as programs do where nothing is said."""
    trial = format3(trial)
    if "autotvm/conv" in trial["group"]:
        trial["copy"] = {"I": "blocked", "W": "blocked"}
    return trial


def with_measured_extents(trials):
    """AutoTVM splits an axis into factors of its extent. One group of convolutions is recorded with 56 x 56 results, and
    all 300 of its tiles are factors of 54: its kernels pad nothing."""
    for group in {t["group"] for t in trials if "autotvm/conv" in t["group"]}:
        own = [t for t in trials if t["group"] == group]
        for axis, tap in (("y", "r"), ("x", "s")):
            extent = own[0]["sizes"][axis]
            tiles = {t["tiles"]["smem"][axis] for t in own}
            if all(extent % tile == 0 for tile in tiles):
                continue
            for t in own:
                t["sizes"][axis] = extent - t["sizes"][tap] + 1
                t["expr"] = t["expr"].replace(f"{axis}+{tap}-1", f"{axis}+{tap}")


def sgemm_line(n, row):
    p, t = json.loads(row["params"]), json.loads(row["tile_config"])

    def axis(threads, each, vector, strided):
        # CLBlast: a thread's pieces lie side by side, or a work-group apart where they are strided.
        pieces = each // vector
        return {"vthread": pieces if strided else 1, "threads": threads, "per_thread": vector if strided else each}

    cached = {name: "smem" for name, there in (("A", t["smem_a"]), ("B", t["smem_b"])) if there}
    return json.dumps({
        "id": f"sgemm#{n}", "group": "sgemm 4096", "expr": "C[n,m] +=! A[k,m] * B[k,n]",
        "sizes": {"m": p["m"], "n": p["n"], "k": p["k"]}, "dtype": "f32",
        "tiles": {"smem": {"n": t["bn"], "m": t["bm"], "k": t["bk"]}, "reg": {"n": t["tn"], "m": t["tm"]}},
        "mapping": {"n": axis(t["tdim_n"], t["tn"], t["vec_n"], t["strn"]),
                    "m": axis(t["tdim_m"], t["tm"], t["vec_m"], t["strm"])},
        "cached": cached, "vector": {"A": min(4, t["vec_m"]), "B": min(4, t["vec_n"]), "C": min(4, t["vec_m"])},
        "unroll": t["kwi"] * t["tm"] * t["tn"], "measured_us": float(row["time_us"])})
