# SPDX-License-Identifier: Apache-2.0
"""experiments/studies/power: rows of this test, and the formula computed apart from the tool.

    power_study_test.py BUILD_FOLDER
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop())
STUDY = ROOT / "experiments/studies/power"
sys.path.insert(0, str(STUDY))

import yaml  # noqa: E402

import least_squares  # noqa: E402
from board import Board  # noqa: E402

CHIP, CLOCK_MHZ = "a100_pcie", 1260
PRODUCT = ["--op", "C[m,n] +=! A[m,k] * B[n,k]", "--size", "m=2048,n=2048,k=2048", "--dtype", "bf16", "--top", "1"]


def tilescope(*arguments):
    done = subprocess.run([BUILD / "tilescope", *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class PowerStudyTest(unittest.TestCase):
    def test_the_tool_has_the_same_powers(self):
        board = Board(CHIP, tilescope("arch", "show", CHIP))
        for clock in (900, CLOCK_MHZ, 1410):
            program = tilescope("compile", "--arch", CHIP, "--set", f"clock={clock}MHz",
                                *PRODUCT)["operators"][0]["programs"][0]
            self.assertAlmostEqual(board.power_w(program, 1e-6 * program["predicted_us"], 1e6 * clock),
                                   program["power_w"], places=6)

    def test_rows_of_ones_own(self):
        """Networks of one product, measured as the formula says, are met; others are off by what they are off."""
        graphs = {"one": [["gemm", 1, 2048, 2048, 2048, "bf16", 10]], "two": [["elementwise", "relu", 1 << 24, "bf16", 7]]}
        with tempfile.TemporaryDirectory() as folder:
            rows, graphs_file = pathlib.Path(folder) / "rows.csv", pathlib.Path(folder) / "graphs.json"
            graphs_file.write_text(json.dumps(graphs))
            program = tilescope("compile", "--arch", CHIP, "--set", f"clock={CLOCK_MHZ}MHz",
                                *PRODUCT)["operators"][0]["programs"][0]
            seconds = 2e-5 * program["predicted_us"]
            board = Board(CHIP, tilescope("arch", "show", CHIP))
            core, dram = board.dynamic_j(program)
            watts = board.rest_w(1e6 * CLOCK_MHZ) + 10 * (core * board.scale(1e6 * CLOCK_MHZ) + dram) / seconds
            relu = tilescope("compile", "--arch", CHIP, "--set", f"clock={CLOCK_MHZ}MHz", "--op", "O[i] = relu(X[i])",
                             "--size", f"i={1 << 24}", "--dtype", "bf16", "--top", "1")["operators"][0]["programs"][0]
            lanes = yaml.safe_load((STUDY / "figures/eager.yaml").read_text())["lanes"] * (1 << 24)
            eager = board.dynamic_j(relu | {"instructions": relu["instructions"] + lanes / 32})
            self.assertGreater(eager[0], 2 * board.dynamic_j(relu)[0], "a surplus that no row would show")
            relu_watts = board.rest_w(1e6 * CLOCK_MHZ) + 7 * (eager[0] * board.scale(1e6 * CLOCK_MHZ) + eager[1]) / 1e-3
            with open(rows, "w", newline="") as file:
                out = csv.DictWriter(file, ["network", "batch", "seq", "dtype", "device", "pinned_mhz", "time_ms",
                                            "power_w", "graph"])
                out.writeheader()
                row = {"network": "a", "dtype": "bf16", "device": "A100-PCIe-40GB", "pinned_mhz": CLOCK_MHZ}
                out.writerow(row | {"time_ms": 1e3 * seconds, "power_w": watts, "graph": "one"})
                out.writerow(row | {"network": "b", "time_ms": 1, "power_w": relu_watts, "graph": "two"})
                out.writerow(row | {"network": "c", "time_ms": 1, "power_w": 100, "graph": "not there"})
            done = subprocess.run([STUDY / "run", "--build", BUILD, "--rows", rows, "--graphs", graphs_file],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"left out, 1 rows: no chip with a power")
            self.assertRegex(done.stdout, r"\na +1 rows:   0\.0%")
            self.assertRegex(done.stdout, r"\nb +1 rows:   0\.0%", "PyTorch's kernels execute more than ours")

    def test_a_library_at_the_limit(self):
        """A product at 95 % of the peak at the clock of the formula is met; the null model is off by the clocks' ratio."""
        sizes = {"m": 4096, "n": 4096, "k": 4096}
        board = Board(CHIP, tilescope("arch", "show", CHIP))
        program = tilescope("compile", "--arch", CHIP, "--op", "C[m,n] +=! A[m,k] * B[n,k]", "--size",
                            ",".join(f"{a}={n}" for a, n in sizes.items()), "--dtype", "f32", "--mma", "none", "--top",
                            "1")["operators"][0]["programs"][0]
        cycles = 4096 ** 3 / (108 * 64 * 0.95)
        clock = board.clock_at_limit(program, lambda at: cycles / at)
        self.assertLess(clock, board.clock)
        with tempfile.TemporaryDirectory() as folder:
            rows = pathlib.Path(folder) / "rows.csv"
            with open(rows, "w", newline="") as file:
                out = csv.DictWriter(file, ["dataset", "device", "op", "params", "dtype", "tile_config", "time_us"])
                out.writeheader()
                row = {"dataset": "own", "op": "matmul", "dtype": "fp32", "params": json.dumps(sizes),
                       "time_us": 1e6 * cycles / clock}
                out.writerow(row | {"device": "NVIDIA A100-PCIE-40GB"})
                out.writerow(row | {"device": "Tesla K80"})
                out.writerow(row | {"device": "NVIDIA A100-PCIE-40GB", "time_us": 10})
            done = subprocess.run([STUDY / "run", "--build", BUILD, "--rows", rows], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Tesla K80: left out", done.stdout)
        self.assertRegex(done.stdout, rf"\n{CHIP} +1 rows:   0\.0%.* null {100 * (1 - clock / board.clock):5.1f}%")

    def test_products_that_wait_for_the_dram(self):
        """Their rate says nothing of the clock: the power is compared, which is at most the limit."""
        sizes = {"M": 64, "N": 32768, "K": 32768}
        seconds = 2 * (64 * 32768 * 2 + 32768 ** 2) / 3.5e12
        board = Board("h200", tilescope("arch", "show", "h200"))
        program = tilescope("compile", "--arch", "h200", "--op", "C[m,n] +=! A[m,k] * B[n,k]", "--size",
                            ",".join(f"{a.lower()}={n}" for a, n in sizes.items()), "--dtype", "bf16", "--top",
                            "1")["operators"][0]["programs"][0]
        watts = min(700, board.power_w(program, seconds, board.clock))
        with tempfile.TemporaryDirectory() as folder:
            rows = pathlib.Path(folder) / "rows.csv"
            with open(rows, "w", newline="") as file:
                out = csv.DictWriter(file, ["device", "op", "params", "dtype", "time_us", "power_w"])
                out.writeheader()
                row = {"device": "NVIDIA H200", "op": "gemm", "dtype": "bfloat16", "params": json.dumps(sizes)}
                out.writerow(row | {"time_us": 1e6 * seconds, "power_w": watts})
                out.writerow(row | {"time_us": 2e6 * seconds, "power_w": 400})  # neither at the limit nor of 3 TB/s
            done = subprocess.run([STUDY / "run", "--build", BUILD, "--rows", rows], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\npower +1 rows:   0\.0%")
        self.assertNotRegex(done.stdout, r"\nclock ")

    def test_the_models_energy_beside_the_simulators(self):
        def agreement(*arguments):
            return subprocess.run([STUDY / "agreement", "--build", BUILD, *arguments], capture_output=True, text=True,
                                  check=False)

        done = agreement("--arch", "a100", "--operators", "E10,R3", "--every-row")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\n  energy +2 programs: +\d")
        self.assertRegex(done.stdout, r"\n  dram +2 programs: +\d")
        self.assertIn("no operator X1", agreement("--operators", "X1").stderr)
        self.assertIn("no program has an energy", agreement("--arch", "k80", "--operators", "E10").stderr)

    def test_least_squares(self):
        """Coefficients that are not negative, where the best ones of any sign would be."""
        rows, true = [[1, 2, 0.5], [2, 0, 1], [0, 3, 1], [1, 1, 7], [4, 2, 1]], [2, 0, 3]
        found = least_squares.fit(rows, [sum(a * b for a, b in zip(row, true)) for row in rows])
        for a, b in zip(found, true):
            self.assertAlmostEqual(a, b, places=4)
        self.assertEqual(least_squares.fit([[1, 0], [0, 1]], [3, -1])[1], 0)


if __name__ == "__main__":
    unittest.main()
