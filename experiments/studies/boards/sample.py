# SPDX-License-Identifier: Apache-2.0
"""Draws a hundred measured rows of every board."""

import csv
import gzip
import json
import math
import os
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "experiments/studies/accuracy"))
import kernelbench  # noqa: E402
from trials import sgemm_line, with_copy_of_template, with_measured_extents  # noqa: E402

ROWS, SEED = 100, 1
LONG_US = 100  # of library kernels: shorter ones are of launches
WARP, MOST_SUMS = 32, 200  # of trials: what their template was made for
FUNCTIONS = {"relu": "relu(X[i,j])", "tanh": "tanh(X[i,j])", "add": "X[i,j] + Y[i,j]", "mul": "X[i,j] * Y[i,j]",
             "div": "X[i,j] / Y[i,j]", "add_scalar": "X[i,j] + 3", "mul_scalar": "X[i,j] * 3", "div_scalar": "X[i,j] / 3"}


def shared(name):
    return pathlib.Path(os.environ.get("TILESCOPE_SHARED", ROOT.parent / "shared")) / "data/measured" / name


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rows_of_csv(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["time_us"]]


def drawn(rows, groups):
    """A hundred rows, as many from each of so many groups."""
    draw = random.Random(SEED)
    names = sorted({row["group"] for row in rows})
    chosen = sorted(draw.sample(names, min(groups, len(names))))
    out = []
    for name in chosen:
        own = [row for row in rows if row["group"] == name]
        out += draw.sample(own, min(ROWS // len(chosen), len(own)))
    return out


def of_trials(source, groups):
    found = lines(shared(source))
    with_measured_extents(found)
    found = [with_copy_of_template(row) for row in found]

    def extent(row, key):
        return math.prod(axis.get(key, 1) for axis in row["mapping"].values())

    found = [row for row in found
             if extent(row, "threads") >= WARP and extent(row, "vthread") * extent(row, "per_thread") <= MOST_SUMS]
    for row in found:
        row["group"] = "/".join(row["group"].removesuffix(".log").split("/")[2:4:1]) + " " + row["group"].rsplit("/", 1)[-1].removesuffix(".log")
    return drawn([row for row in found if "autotvm/matmul" not in row["group"]], groups)


def of_sgemm(source):
    found = [json.loads(sgemm_line(n, row)) for n, row in enumerate(rows_of_csv(shared(source)))]
    return random.Random(SEED).sample(found, ROWS)


def of_measured(source, groups):
    found = lines(ROOT / "experiments/studies/first_is_best/measured" / source)
    return drawn(found, groups)


def operator(row):
    """The operator of a library's row; None where the notation or this list lacks it."""
    p = json.loads(row["params"])
    kind = row["op"]
    if kind == "matmul":
        b = "B[n,k]" if p["transB"] == "T" else "B[k,n]"
        return f"C[m,n] +=! A[m,k] * {b}", {axis: p[axis] for axis in "mnk"}
    if kind == "bmm":
        return "C[b,m,n] +=! A[b,m,k] * B[b,k,n]", {"b": p["batch"]} | {axis: p[axis] for axis in "mnk"}
    rows_columns = {"i": p.get("rows"), "j": p.get("cols")}
    if kind == "softmax":
        return ("M[i] max=! X[i,j]; E[i,j] = exp(X[i,j] - M[i]); Z[i] +=! E[i,j]; O[i,j] = E[i,j] / Z[i]", rows_columns)
    if kind == "layernorm":
        return ("U[i] mean=! X[i,j]; D[i,j] = X[i,j] - U[i]; V[i] mean=! D[i,j] * D[i,j]; "
                "O[i,j] = D[i,j] * rsqrt(V[i] + 1e-5) * G[j] + B[j]", rows_columns)
    if kind == "elementwise" and p["fn"] in FUNCTIONS:
        return f"O[i,j] = {FUNCTIONS[p['fn']]}", rows_columns
    return None


def of_library(device):
    found = []
    for n, row in enumerate(rows_of_csv(shared("library_kernels.csv.gz"))):
        if row["device"] != device or not row["dataset"].startswith("neusight") or float(row["time_us"]) < LONG_US:
            continue
        if not (known := operator(row)):
            continue
        op, sizes = known
        found.append({"id": f"{row['op']}.{n}", "group": row["op"], "op": op, "sizes": sizes, "dtype": "f32",
                      "measured_us": float(row["time_us"])})
    return drawn(found, 5)


def of_kernelbench(device):
    """PyTorch's fastest time of single operators over LONG_US, as KernelBench has them."""
    operators = kernelbench.operators(shared("networks"))
    found = []
    for n, row in enumerate(kernelbench.rows_of(shared("networks/kernelbench_ops.csv.gz"))):
        op = operators.get((row["set"], row["problem"]))
        _, us = kernelbench.fastest(row)
        if op is None or row["device"] != device or row["arithmetic"] != "f32" or us < LONG_US:
            continue
        found.append({"id": f"kernelbench.{n}", "group": "operators", "op": op["op"].strip(), "sizes": op["sizes"],
                      "dtype": "f32", "measured_us": us} | ({"shapes": op["shapes"]} if "shapes" in op else {}))
    return found


def rows_of(source):
    if "trials" in source:
        return of_trials(source["trials"], source["groups"])
    if "sgemm" in source:
        return of_sgemm(source["sgemm"])
    if "measured" in source:
        return of_measured(source["measured"], source["groups"])
    if "kernelbench" in source:
        return of_kernelbench(source["kernelbench"])
    return of_library(source["library"])


def write(boards, folder):
    folder.mkdir(exist_ok=True)
    for name, board in boards.items():
        rows = rows_of(board["from"])
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        print(f"{name}: {len(rows)} rows of {len({row['group'] for row in rows})} groups")
