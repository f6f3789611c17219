# SPDX-License-Identifier: Apache-2.0
"""Long products of matrices in f32 that vendors' libraries ran, as an operator of a suite each."""

import json

LONG_US = 1000  # shorter ones are over before a board's power has settled
LADDERS = "kernel_ladders"  # kernels that their authors made better step by step
LEAST_EXTENT = 1024  # of m, n and k, so that arithmetic binds and few blocks lack work


def products(rows):
    """(row, operator without its id) of each long product, in f32 on units that are no matrix unit's."""
    out = []
    for row in rows:
        if row["op"] != "matmul" or row["dtype"] != "fp32" or not row["time_us"] or float(row["time_us"]) < LONG_US:
            continue
        if LADDERS in row["dataset"]:
            continue
        sizes = {key.lower(): value for key, value in json.loads(row["params"]).items()}
        if not {"m", "n", "k"} <= set(sizes) or min(sizes[axis] for axis in "mnk") < LEAST_EXTENT:
            continue
        out.append((row, {"op": "C[m,n] +=! A[m,k] * B[n,k]", "dtype": "f32", "sizes": {a: sizes[a] for a in "mnk"}}))
    return out
