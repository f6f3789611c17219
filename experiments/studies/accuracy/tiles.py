# SPDX-License-Identifier: Apache-2.0
"""Calls of one tile of an IPU, a triad and two stencils, with the times that others published or that their formulas
give. Each figure is retyped with its source; there is no file."""

import json
import subprocess

PRODUCT, SUM, ADD = "C[m,n] +=! A[m,k] * B[k,n]", "R[i] +=! P[p,i]", "C[i] = A[i] + B[i]"
TRIAD = "A[i] = B[i] + 0.5 * C[i]"
HEAT2 = "B[y,x] = 0.6 * A[y+1,x+1] + 0.1 * (A[y,x+1] + A[y+2,x+1] + A[y+1,x] + A[y+1,x+2])"
HEAT3 = ("B[z,y,x] = 0.4 * A[z+1,y+1,x+1] + 0.1 * (A[z,y+1,x+1] + A[z+2,y+1,x+1] + A[z+1,y,x+1] + A[z+1,y+2,x+1]"
         " + A[z+1,y+1,x] + A[z+1,y+1,x+2])")

# osmarks/ipu-stack, crates/ipu-codegen/src/kernel/cost.rs at 0729e122: cycles of a C600's tile, measured.
PRODUCTS = ((184, 288, 48, 48654), (182, 288, 48, 48180), (184, 288, 32, 32538), (146, 576, 32, 53718),
            (120, 80, 272, 55344))
# Likewise of a kernel that also packs its results into panels of 16 rows, the first one with coefficients below the
# paired banks.
PACKED = ((48, 240, 64, 35022), (48, 240, 64, 33102), (96, 64, 64, 12108), (128, 64, 64, 19944))
# Likewise sums of several partial results of so many elements.
SUMS = ((8, 2, 360), (56, 2, 438), (1472, 2, 2700), (2208, 4, 4974), (1472, 4, 3444), (576, 15, 3090), (2208, 28, 18222))


def poplibs_product(m, k, n, dtype, units):
    """Cycles of a product by poplibs' PerformanceEstimation.hpp at 7eac0f2: `units` columns at a time."""
    half = dtype == "f16"
    deep, cycles_of_row, three_rows = (16, 4, 38) if half else (8, 8, 46)
    worst = 0
    for rows in (m // 6, -(-m // 6)):
        few = {0: 22, 1: 33, 2: 42} if half else {0: 22, 1: 47, 2: 46}
        worst = max(worst, few.get(rows, three_rows + cycles_of_row * (rows - 3)) - (7 if half else 0))
    steps, column_blocks = -(-k // deep), -(-n // units)
    load = units * deep * (2 if half else 4) // 16
    call = 50 + (6 * (7 + 3 * (steps - 1)) if half else 0)
    return call + 15 * steps + steps * column_blocks * (19 + 6 + load + 6 * worst)


def poplibs_add(elements, dtype):
    """Cycles of an addition of two vectors by poplibs' popopsCycleEstimators.cpp at 7eac0f2."""
    start, width = (26, 4) if dtype == "f16" else (29, 2)
    return 11 + 6 * (start + 3 * -(-(-(-elements // 6)) // width))


def rows():
    """Group, chip, operator, sizes, dtype, cycles."""
    for m, k, n, cycles in PRODUCTS:
        yield "products, measured", "ipu_gc200", PRODUCT, f"m={m},n={n},k={k}", "f16", cycles
    for m, k, n, cycles in PACKED:
        yield "products with packed results, measured", "ipu_gc200", PRODUCT, f"m={m},n={n},k={k}", "f16", cycles
    for elements, parts, cycles in SUMS:
        yield "sums of partial results, measured", "ipu_gc200", SUM, f"i={elements},p={parts}", "f16", cycles
    for chip, units, dtype, m, k, n in (("ipu_gc200", 16, "f16", 8, 64, 32), ("ipu_gc2", 8, "f16", 24, 64, 16),
                                        ("ipu_gc2", 8, "f16", 48, 128, 64), ("ipu_gc200", 16, "f32", 24, 64, 16),
                                        ("ipu_gc200", 16, "f32", 48, 128, 64), ("ipu_gc2", 8, "f32", 48, 128, 64)):
        yield ("products by poplibs' formula", chip, PRODUCT, f"m={m},n={n},k={k}", dtype,
               poplibs_product(m, k, n, dtype, units))
    for chip, dtype in (("ipu_gc200", "f16"), ("ipu_gc2", "f32")):
        yield "additions by poplibs' formula", chip, ADD, "i=4096", dtype, poplibs_add(4096, dtype)


# All tiles: simehaa/IPU (a thesis of the University of Oslo, 2021) on a GC200; 45,000 elements a tile at 46.55 TB/s;
# 7,998^2 inner points of 6 flops at 1.28 TFLOP/s, 358^3 of 8 at 1.44.
TILES = 1472
WHOLE = (("triad", TRIAD, f"i={45000 * TILES}", 45000 * TILES * 12 / 46.55e6),
         ("heat equation, 5 points", HEAT2, "y=7998,x=7998", 7998**2 * 6 / 1.28e6),
         ("heat equation, 7 points", HEAT3, "z=358,y=358,x=358", 358**3 * 8 / 1.44e6))


def simulated(tilescope, arch, op, size, dtype, *more):
    """Predicted us, simulated us, stalls; of the best program whose inputs lie where it wants them."""
    done = subprocess.run([tilescope, "simulate", "--arch", arch, "--op", op, "--size", size, "--dtype", dtype,
                           "--inputs-prearranged", "--json", *more], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    document = json.loads(done.stdout)
    return document.get("operators", [document])[0]


def of_one_tile(tilescope, arch, op, size, dtype):
    """Cycles of one tile's call, predicted and simulated: without the launch."""
    one = simulated(tilescope, arch, op, size, dtype, "--set", "core.count=1", "--set", "link.port_pairing=1")
    launch = one["stalls"]["launch_cycles"]
    cycles = one["cycles"]
    return one["predicted_us"] * cycles / one["simulated_us"] - launch, cycles - launch
