# SPDX-License-Identifier: Apache-2.0
"""Kernels in the form of TVM's template of direct convolutions for GPUs (topi, schedule_direct_cuda), and the measured
trials whose tiles they have."""

import importlib.machinery
import importlib.util
import json
import pathlib
import random
import re
import sys
from math import ceil, prod

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
MOST_PRODUCTS = 768  # of an unrolled body
STEP_LOOP = "#pragma unroll\nfor (int c = 0; c"  # of the kernels, over the products of a step


def script(path):
    """A script as a module."""
    loader = importlib.machinery.SourceFileLoader(f"{path.parent.name}_{path.name}", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


machine_code = script(HERE / "run")
sys.path.insert(0, str(HERE.parent / "accuracy"))
accuracy = script(HERE.parent / "accuracy" / "run")


def trials(file):
    """Measured 1x1 convolutions with their kernels, or nothing where the file is missing."""
    path = accuracy.shared("measured", file)
    if path is None:
        return []
    lines, _ = accuracy.lines_of_trials(path)
    all_trials = [trial for trial in map(json.loads, lines)
                  if "autotvm/conv" in trial["group"] and trial["sizes"]["r"] == trial["sizes"]["s"] == 1]
    return [(trial, Kernel(trial)) for trial in all_trials]


def drawn(kernels, rows, seed):
    """Some of them, each in blocks of a warp or more, with a body that compilers unroll."""
    fit = [(t, k) for t, k in kernels if k.threads >= 32 and k.results * k.tile["c"] <= MOST_PRODUCTS]
    return random.Random(seed).sample(fit, min(rows, len(fit)))


class Kernel:
    """A trial's tile as TVM's template cuts it: axis = (vthread, threads, per_thread)."""

    def __init__(self, trial):
        self.sizes, self.tile = trial["sizes"], trial["tiles"]["smem"]
        axes = {a: [trial["mapping"].get(a, {}).get(k, 1) for k in ("vthread", "threads", "per_thread")] for a in "fyx"}
        self.axes = axes
        self.threads = prod(axes[a][1] for a in "fyx")
        self.results = prod(axes[a][0] * axes[a][2] for a in "fyx")
        read = re.search(r"I\[(.*?)\]", trial["expr"]).group(1)
        self.stride = 2 if re.search(r"2\*y|y\*2", read) else 1
        self.height = trial.get("shapes", {}).get("I", [0, 0, self.sizes["y"] * self.stride])[2]
        self.rows, self.columns = ((self.tile[a] - 1) * self.stride + 1 for a in "yx")
        self.staged = {"I": self.tile["c"] * self.rows * self.columns, "W": self.tile["f"] * self.tile["c"]}

    def parts(self, operand):
        """Elements of a copy for each f thread, y thread and x thread: TVM splits it in as many parts, rounding up."""
        left, parts = self.staged[operand], []
        for axis in "fyx":
            left = ceil(left / self.axes[axis][1])
            parts.append(left)
        return parts

    def pieces(self):
        return sum(self.parts(operand)[2] for operand in "IW")

    def asks(self, operand):
        return self.parts(operand)[2] * self.threads != self.staged[operand]

    def copy(self, operand, source, row):
        """Pieces of a thread that lie within a row of the tile have one address, as TVM simplifies their indices."""
        of_f, of_y, of_x = self.parts(operand)
        at = f"{source('b')} + i" if row % of_x == 0 and not self.asks(operand) else source("q")
        inside = (f"if (q < {self.staged[operand]}) if (y * {of_y} + x * {of_x} + i < {of_f}) "
                  f"if (x * {of_x} + i < {of_y}) " if self.asks(operand) else "")
        return (f"for (int i = 0; i < {of_x}; ++i) {{ int b = f * {of_f} + y * {of_y} + x * {of_x}, q = b + i; "
                f"{inside}{operand}s[q] = {operand}[{at}]; }}")

    def place(self, axis, i):
        _, threads, each = self.axes[axis]
        return f"({i} / {each} * {threads * each} + {axis} * {each} + {i} % {each})"

    def text(self, bounds):
        s, t, plane = self.sizes, self.tile, self.rows * self.columns
        f, y, x = (self.axes[a][0] * self.axes[a][2] for a in "fyx")
        blocks = s["f"] // t["f"]
        first = (f"blockIdx.z / {blocks} * {s['c'] * self.height**2} + blockIdx.y * {t['y'] * self.stride * self.height} "
                 f"+ blockIdx.x * {t['x'] * self.stride}")
        loads = self.copy("I", lambda q: (
            f"{first} + k * {t['c'] * self.height**2} + {q} / {plane} * {self.height**2} + "
            f"{q} % {plane} / {self.columns} * {self.height} + {q} % {self.columns}"), self.columns)
        loads += self.copy("W", lambda q: (
            f"blockIdx.z % {blocks} * {t['f'] * s['c']} + {q} / {t['c']} * {s['c']} + k * {t['c']} + {q} % {t['c']}"),
            t["c"])
        loops = (f"for (int ff = 0; ff < {f}; ++ff)\n#pragma unroll\nfor (int yy = 0; yy < {y}; ++yy)\n#pragma unroll\n"
                 f"for (int xx = 0; xx < {x}; ++xx)")
        limit = f"__launch_bounds__({self.threads}) " if bounds else ""
        row, column, channel = self.place("y", "yy"), self.place("x", "xx"), self.place("f", "ff")
        return f"""extern "C" __global__ void {limit}k(float* __restrict__ I, float* __restrict__ W, float* __restrict__ O) {{
float o[{self.results}]; __shared__ float Is[{self.staged['I']}]; __shared__ float Ws[{self.staged['W']}];
int f = threadIdx.z, y = threadIdx.y, x = threadIdx.x;
#pragma unroll
for (int i = 0; i < {self.results}; ++i) o[i] = 0;
for (int k = 0; k < {s['c'] // t['c']}; ++k) {{ __syncthreads();
{loads}
__syncthreads();
{STEP_LOOP} < {t['c']}; ++c)
#pragma unroll
{loops} o[(ff * {y} + yy) * {x} + xx] +=
Is[c * {plane} + {row} * {self.stride * self.columns} + {column} * {self.stride}] * Ws[{channel} * {t['c']} + c]; }}
#pragma unroll
{loops} O[(blockIdx.z * {t['f']} + {channel}) * {s['y'] * s['x']} +
(blockIdx.y * {t['y']} + {row}) * {s['x']} + blockIdx.x * {t['x']} + {column}] = o[(ff * {y} + yy) * {x} + xx]; }}"""
