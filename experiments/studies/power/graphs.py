# SPDX-License-Identifier: Apache-2.0
"""Measured networks with a board's power, and the operators of each in Tilescope's notation."""

import csv
import gzip
import json
import pathlib

# In the order of data/measured/networks/energaizer_graphs.json.gz: sizes behind each name, then dtype and count.
UNARY = {
    "scalar_mul": "X[i] * 2", "scalar_add": "X[i] + 2", "unspecified_scalar": "X[i] * 2", "relu": "relu(X[i])",
    "tanh": "tanh(X[i])", "silu": "X[i] * sigmoid(X[i])", "gelu": "0.5 * X[i] * (1 + erf(X[i] * 0.7071))",
    "typecast_to_fp32": "X[i] + 0", "typecast_to_bf16": "X[i] + 0",
}
BINARY = {"pointwise_add": "X[i] + Y[i]", "pointwise_mul": "X[i] * Y[i]", "unspecified_tensor": "X[i] + Y[i]"}
LAYERNORM = ("S[i] +=! X[i,j]; Q[i] +=! X[i,j] * X[i,j]; "
             "O[i,j] = (X[i,j] - S[i] / {n}) * rsqrt(Q[i] / {n} - S[i] / {n} * S[i] / {n} + 0.00001) * G[j] + B[j]")
SOFTMAX = "M[i] max=! X[i,j]; E[i,j] = exp(X[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]"


def read(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        return list(csv.DictReader(file)) if ".csv" in path.suffixes else json.load(file)


def operator_of(entry):
    """An operation of a graph as an operator of a suite: expression, sizes and dtype."""
    kind, *rest = entry[:-1]
    if kind == "elementwise":
        name, elements, dtype = rest
        op = f"O[i] = {UNARY[name]}" if name in UNARY else f"O[i] = {BINARY[name]}"
        return op, {"i": elements}, dtype
    if kind == "layernorm":
        rows, width, dtype = rest
        return LAYERNORM.format(n=width), {"i": rows, "j": width}, dtype
    if kind == "softmax":
        rows, width, dtype = rest
        return SOFTMAX, {"i": rows, "j": width}, dtype
    if kind == "gemm":
        batch, m, n, k, dtype = rest
        if batch == 1:
            return "C[m,n] +=! A[m,k] * B[n,k]", {"m": m, "n": n, "k": k}, dtype
        return "C[b,m,n] +=! A[b,m,k] * B[b,n,k]", {"b": batch, "m": m, "n": n, "k": k}, dtype
    if kind == "conv2d":
        n, f, c, h, k, stride, pad, rows, _, depth, dtype = rest
        side = (h + 2 * pad - k) // stride + 1
        sizes = {"n": n, "f": f, "y": side, "x": side, "r": k, "s": k}
        at = f"y*{stride}+r-{pad},x*{stride}+s-{pad}"
        # PyTorch multiplies f32 convolutions in TF32 unless it is told otherwise.
        dtype = "tf32" if dtype == "f32" else dtype
        if depth == k * k and c > 1:
            return f"O[n,f,y,x] +=! I[n,f,{at}] * W[f,r,s]", sizes, "f32" if dtype == "tf32" else dtype
        return f"O[n,f,y,x] +=! I[n,c,{at}] * W[f,c,r,s]", sizes | {"c": c}, dtype
    raise ValueError(f"no operator for {kind}")


def elements_of(entry):
    """Elements that a kernel without matrix products or taps goes through."""
    kind, *rest = entry
    if kind == "elementwise":
        return rest[1]
    return rest[0] * rest[1] if kind in ("layernorm", "softmax") else 0


class Graphs:
    """The graphs of measured networks; every distinct operation is an operator of one suite."""

    def __init__(self, path: pathlib.Path):
        self.graphs = read(path)
        self.ids = {}

    def operations(self, name):
        """(id of the suite's operator, count) of each operation of a graph."""
        return [(self.ids.setdefault(json.dumps(entry[:-1]), len(self.ids)), entry[-1]) for entry in self.graphs[name]]

    def elements(self, name):
        """Elements of all kernels of a graph that elements_of() counts."""
        return sum(elements_of(entry[:-1]) * entry[-1] for entry in self.graphs[name])

    def suite(self):
        """All operations asked for so far, as a suite's document."""
        operators = []
        for text, number in self.ids.items():
            op, sizes, dtype = operator_of(json.loads(text) + [1])
            operators.append({"id": f"o{number}", "op": op, "sizes": sizes, "dtype": dtype})
        return {"operators": operators}
