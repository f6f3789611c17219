# SPDX-License-Identifier: Apache-2.0
"""Products of matrices that vendors' libraries ran, each as operators of a suite."""

import csv
import gzip
import json

LONG_US = 100  # shorter ones are over before launch, caches and the meter have settled
BLOCK = 128  # of k, and of n, that has a scale of its own in fp8_block

PLAIN = "C[m,n] +=! A[m,k] * B[n,k]"
F8 = "A=f8e4m3,B=f8e4m3,C=bf16,accumulate=f32"
# Scales of A as DeepGEMM has them, those of a block of k side by side (its README: transposed, for TMA).
SCALED = "C[m,n] +=! A[m,k] * SA[k/128,m] * B[n,k] * SB[n/128,k/128]"
F8_SCALED = "f8e4m3,SA=f32,SB=f32,C=bf16,accumulate=f32"
QUANTISED = "S[m,b] max=! abs(X[m,b,j]); A[m,b,j] = X[m,b,j] * 448 / max(S[m,b],1e-10)"
BYTES = {"bf16": 2, "f16": 2, "f8e4m3": 1}

# By dtype, as measurements name it: our element type, and whether A is quantised by blocks first.
KINDS = {"bfloat16": ("bf16", False), "bf16": ("bf16", False), "float16": ("f16", False), "fp16": ("f16", False),
         "fp8": ("f8e4m3", False), "fp8_block": ("f8e4m3", True)}


def read(path):
    opened = gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="", encoding="utf-8")
    with opened as file:
        return list(csv.DictReader(file))


def sizes_of(row):
    """m, n and k; nothing where the row has other parameters, as a batch."""
    sizes = {key.lower(): value for key, value in json.loads(row["params"] or "{}").items()}
    return sizes if set(sizes) == {"m", "n", "k"} else None


def product_of_matrices(element, blocks, sizes):
    if blocks:
        return {"op": SCALED, "dtype": F8_SCALED, "sizes": sizes}
    return {"op": PLAIN, "dtype": F8 if element == "f8e4m3" else element, "sizes": sizes}


def quantisation(sizes):
    """The greatest magnitude of each row and block of k, and the elements divided by it."""
    return {"op": QUANTISED, "dtype": "X=bf16,A=f8e4m3,S=f32,accumulate=f32",
            "sizes": {"m": sizes["m"], "b": -(-sizes["k"] // BLOCK), "j": BLOCK}}


def product_of(row):
    """What is known of a row that is a product of one of the types above; else nothing. `operators`: the product, and
    what runs before it."""
    if row.get("op") not in ("matmul", "gemm") or row.get("dtype") not in KINDS or not row.get("time_us"):
        return None
    sizes = sizes_of(row)
    if sizes is None:
        return None
    element, blocks = KINDS[row["dtype"]]
    operators = [product_of_matrices(element, blocks, sizes)] + ([quantisation(sizes)] if blocks else [])
    m, n, k = (sizes[axis] for axis in "mnk")
    moved = BYTES[element] * (m + n) * k + 2 * m * n + (m * k * (2 + BYTES[element]) if blocks else 0)
    return {"device": row["device"], "kind": "f8 of blocks" if blocks else element, "element": element, "sizes": sizes,
            "moved_bytes": moved, "measured_us": float(row["time_us"]), "operators": operators}


def is_long(product):
    return product["measured_us"] > LONG_US
