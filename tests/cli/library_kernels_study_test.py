# SPDX-License-Identifier: Apache-2.0
"""experiments/studies/library_kernels: rows of this test, whose times the tool and a formula give.

    library_kernels_study_test.py BUILD_FOLDER
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop())
STUDY = ROOT / "experiments/studies/library_kernels"
sys.path.insert(0, str(STUDY))

import figures  # noqa: E402

PLAIN = "C[m,n] +=! A[m,k] * B[n,k]"
CLOCK_HZ, CORES, MACS_BF16, DRAM = 1.98e9, 132, 2048, 4.8e12  # of an H200: multiply-adds of a core and clock


def first(op, dtype, sizes):
    done = subprocess.run([BUILD / "tilescope", "compile", "--arch", "h200", "--op", op, "--dtype", dtype, "--size",
                           ",".join(f"{a}={n}" for a, n in sizes.items()), "--top", "1", "--energy", "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["operators"][0]["programs"][0]


def study(rows, *arguments):
    """What the study prints of rows (device, dtype, sizes, time_us)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.csv"
        with open(path, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["device", "op", "params", "dtype", "time_us", "power_w"])
            out.writerows([device, "matmul", json.dumps(sizes), dtype, time, ""] for device, dtype, sizes, time in rows)
        done = subprocess.run([STUDY / "run", "--build", BUILD, "--rows", path, *arguments], capture_output=True,
                              text=True, check=False)
    return done.stdout + done.stderr


def median_ratios(printed, name):
    """Median ratios at the clock, at the limit and of the null model, in a line of the table; None without one."""
    line = next((line for line in printed.splitlines() if line.startswith(name)), "")
    return [float(cell.split()[0]) for cell in line.split("|")[1:]] or None


class LibraryKernelsStudyTest(unittest.TestCase):
    def test_rows_of_our_own_time_are_met(self):
        sizes = {"m": 8192, "n": 8192, "k": 2048}
        program = first(PLAIN, "bf16", sizes)
        self.assertLess(program["predicted_us"], 0.95 * program["time_at_limit_us"], "a limit that no row would show")
        time = program["time_at_limit_us"]
        printed = study([("NVIDIA H200", "bfloat16", {a.upper(): n for a, n in sizes.items()}, time)], "--arch", "h200")
        at_clock, at_limit, null = median_ratios(printed, "bf16, over 100 us")
        self.assertAlmostEqual(at_limit, 1, places=2)
        self.assertAlmostEqual(at_clock, program["predicted_us"] / time, delta=0.006)
        macs_per_us = 0.95 * MACS_BF16 * CORES * CLOCK_HZ * 1e-6
        self.assertAlmostEqual(null, 8192 * 8192 * 2048 / macs_per_us / time, delta=0.006)

    def test_a_layer_of_blocks_is_two_kernels(self):
        m, n, k = 4096, 128, 16384
        product = first("C[m,n] +=! A[m,k] * SA[k/128,m] * B[n,k] * SB[n/128,k/128]",
                        "f8e4m3,SA=f32,SB=f32,C=bf16,accumulate=f32", {"m": m, "n": n, "k": k})
        before = first("S[m,b] max=! abs(X[m,b,j]); A[m,b,j] = X[m,b,j] * 448 / max(S[m,b],1e-10)",
                       "X=bf16,A=f8e4m3,S=f32,accumulate=f32", {"m": m, "b": k // 128, "j": 128})
        time = product["time_at_limit_us"] + before["time_at_limit_us"]
        printed = study([("H200", "fp8_block", {"M": m, "N": n, "K": k}, time)], "--arch", "h200")
        self.assertAlmostEqual(median_ratios(printed, "f8 of blocks, all")[1], 1, places=2)
        alone = median_ratios(printed, "f8 of blocks, product alone, all")
        self.assertAlmostEqual(alone[1], product["time_at_limit_us"] / time, delta=0.006)
        moved = 3 * m * k + (m + n) * k + 2 * m * n
        self.assertAlmostEqual(alone[2], 1e6 * moved / (0.95 * DRAM) / time, delta=0.006)

    def test_what_is_left_out_is_said(self):
        sizes = {"M": 512, "N": 512, "K": 512}
        printed = study([("Tesla K80", "fp16", sizes, 1000), ("H200", "fp32", sizes, 1000),
                         ("H200", "bf16", sizes | {"batch": 4}, 1000), ("H200", "bf16", sizes, 50)])
        self.assertIn("left out, no chip with a matrix unit on the scratchpad: Tesla K80", printed)
        self.assertIsNone(median_ratios(printed, "bf16, over 100 us"))
        self.assertRegex(printed, r"\nbf16, all +1 ")
        done = subprocess.run([STUDY / "run", "--build", BUILD, "--rows", "none.csv", "--arch", "h200"], check=True,
                              capture_output=True, text=True)
        self.assertIn("none.csv is missing: left out", done.stdout)

    def test_a_draw_is_that_of_its_seed(self):
        rows = [("H200", "bf16", {"M": 128 * i, "N": 256, "K": 512}, 10 * i) for i in range(1, 9)]
        drawn = [set(re.findall(r"(\d+) x +256", study(rows, "--arch", "h200", "--draw", "3", "--seed", s, "--every-row")))
                 for s in ("1", "1", "2")]
        self.assertEqual(len(drawn[0]), 3)
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_rank(self):
        self.assertEqual(figures.ranks_of([5, 1, 5, 9]), [2.5, 1, 2.5, 4])
        self.assertAlmostEqual(figures.rank_correlation([1, 2, 3, 4], [10, 30, 20, 40]), 0.8)
        self.assertIsNone(figures.rank_correlation([1, 1, 1], [1, 2, 3]))
        median, error, _ = figures.figures([1, 2, 6], [2, 2, 4])
        self.assertAlmostEqual(median, 1)
        self.assertAlmostEqual(error, 1 / 3)


if __name__ == "__main__":
    unittest.main()
