# SPDX-License-Identifier: Apache-2.0
"""experiments/studies/accuracy/run --only networks, on rows and suites of this test.

    networks_study_test.py BUILD_FOLDER
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop())
STUDY = ROOT / "experiments/studies/accuracy"
sys.path.insert(0, str(STUDY))

import kernelbench  # noqa: E402
import library  # noqa: E402

LAUNCH_US = 2  # of the chip's file
SIZES = {"i": 4096, "j": 4096}
TWICE, PLUS = "E[i,j] = 2 * X[i,j]", "F[i,j] = E[i,j] + 1"
SUITE = {"operators": [
    {"id": "1_Relu", "kind": "activation", "op": "E[i,j] = relu(X[i,j])", "sizes": SIZES},
    {"id": "2_Chain", "kind": "activation", "op": f"{TWICE}; {PLUS}", "sizes": SIZES},
    {"id": "3_Product", "kind": "matmul", "op": "C[i,j] +=! A[i,k] * B[k,j]", "sizes": SIZES | {"k": 4096}}]}
EAGER = {"operators": [
    {"id": "2.0.ew_mul", "kind": "activation", "op": TWICE, "sizes": SIZES},
    {"id": "2.1.ew_add", "kind": "activation", "op": PLUS, "sizes": SIZES}]}


def predicted_us(chip, op, sizes):
    words = ["--op", op, "--size", ",".join(f"{axis}={extent}" for axis, extent in sizes.items()), "--top", "1", "--json"]
    done = subprocess.run([BUILD / "tilescope", "compile", "--arch", chip, *words], capture_output=True, check=True)
    return json.loads(done.stdout)["operators"][0]["programs"][0]["predicted_us"]


def row(problem, eager_us, best_us="", **other):
    return {"set": "v0.2", "problem": problem, "kind": "activation", "device": "T4", "host": "a", "dtype": "f32",
            "arithmetic": "f32", "eager_us": eager_us, "best_us": best_us} | other


def study(rows):
    """The study's output on the rows, and its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for file, suite in (("kernelbench_level1.yaml", SUITE), ("kernelbench_level1_v02.yaml", SUITE),
                            ("kernelbench_level1_v02_eager.yaml", EAGER)):
            (folder / file).write_text(json.dumps(suite), encoding="utf-8")
        with open(folder / "rows.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        command = [STUDY / "run", "--only", "networks", "--rows", folder / "rows.csv", "--every-row"]
        done = subprocess.run([sys.executable, *command, "--tilescope", BUILD / "tilescope"],
                              capture_output=True, text=True, env={**os.environ, "TILESCOPE_SHARED": str(folder)})
        if done.stderr:
            raise AssertionError(done.stderr)
        return done.stdout, done.returncode


class NetworksStudy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.relu, cls.chain, cls.product = (predicted_us("t4", op["op"], op["sizes"]) for op in SUITE["operators"])
        cls.steps = [predicted_us("t4", op["op"], op["sizes"]) for op in EAGER["operators"]]

    def test_times_that_are_all_a_fifth_longer_meet_the_aims(self):
        text, status = study([row("1_Relu", 1.25 * self.relu), row("2_Chain", 1.25 * sum(self.steps)),
                              row("3_Product", 1.25 * self.product, kind="matmul")])
        self.assertEqual(0, status, text)
        self.assertRegex(text, r"(?m)^t4 +3 +1\.00 +20\.0% +20\.0% +100\.0%")
        self.assertRegex(text, r"(?m)^product +1 ")

    def test_times_in_the_reverse_order_miss_them(self):
        text, status = study([row("1_Relu", self.product), row("3_Product", self.relu, kind="matmul")])
        self.assertEqual(1, status, text)
        self.assertRegex(text, r"(?m)^all +2 +-1\.00 ")
        self.assertEqual(2, text.count("MISSED"), text)

    def test_eager_mode_runs_operation_after_operation_and_a_compiler_fuses(self):
        def ratio(text):
            return float(re.search(r"(?m)^ +([0-9.]+) t4 .*2_Chain", text)[1])

        eager, _ = study([row("2_Chain", 1000, 2000)])
        compiled, _ = study([row("2_Chain", 2000, 1000)])
        self.assertAlmostEqual(sum(self.steps) / 1000, ratio(eager), delta=0.006)
        self.assertAlmostEqual(self.chain / 1000, ratio(compiled), delta=0.006)
        self.assertGreater(ratio(eager), 1.5 * ratio(compiled))

    def test_times_of_the_first_set_contain_the_launch_of_their_host_and_mode(self):
        rows = [row("1_Relu", 40, set="v0.1"), row("1_Relu", 30, set="v0.1", host="b"), row("1_Relu", 1000, set="v0.1")]
        text, _ = study(rows)
        self.assertIn("left out, 2 rows: under 100 us in set v0.1", text)
        with_launch = (self.relu - LAUNCH_US + 40) / 1000
        self.assertAlmostEqual(with_launch, float(re.search(r"(?m)^ +([0-9.]+) t4 .*1_Relu", text)[1]), delta=0.006)

    def test_what_is_left_out_has_its_reason(self):
        text, _ = study([row("1_Relu", 1000), row("1_Relu", 1000, device="Abacus"), row("9_Unknown", 1000)])
        self.assertIn("left out, 1 rows: no chip's file for Abacus", text)
        self.assertIn("left out, 1 rows: no operator in the suites", text)
        self.assertRegex(text, r"(?m)^all +1 ")

    def test_a_device_is_known_by_its_chip_or_by_its_board(self):
        known = kernelbench.chips(ROOT / "arch/devices")
        for device, chip in (("H100 SXM", "h100_sxm"), ("A100-SXM4-80GB", "a100_80gb"), ("A100-SXM4-40GB", "a100"),
                             ("RTX A6000", "rtx_a6000"), ("RTX 4090", "rtx4090"), ("L40S", "l40s"), ("NVIDIA L4", "l4"),
                             ("A10", "a10g"), ("Tesla T4", "t4"), ("B200", "b200"), ("Abacus", None)):
            self.assertEqual(chip, kernelbench.chip_of(device, known), device)

    def test_convolutions_of_few_channels_are_a_kind_of_their_own(self):
        conv = {"kind": "conv", "op": "T[i,f,x] +=! I[i,j,x+s] * W[f,j,s]", "sizes": {"j": 3}}
        self.assertEqual("conv, few channels", kernelbench.kind_of(conv))
        self.assertEqual("conv, many channels", kernelbench.kind_of(conv | {"sizes": {"j": 64}}))


class OperatorsOfLibraries(unittest.TestCase):
    @staticmethod
    def row(us, op="depthwise_conv2d", device="Tesla T4", **params):
        return {"op": op, "device": device, "dtype": "fp32", "time_us": str(us), "params": json.dumps(params)}

    def test_the_fastest_algorithm_of_an_operator_counts(self):
        shape = {"n": 8, "c": 16, "h": 57, "w": 56, "kh": 3, "kw": 5, "stride": 2, "pad": 1}
        rows = [self.row(900, **shape, n_meas=3), self.row(400, **shape, suite="mobilenetv2"), self.row(50, **shape | {"n": 1})]
        (found,) = library.rows_by_chip(rows, [])["t4"]
        self.assertEqual((found["kind"], found["measured_us"]), ("t4, depthwise", 400))
        self.assertEqual(found["ran"], [{"op": "O[n,c,y,x] +=! I[n,c,2*y+r-1,2*x+s-1] * W[c,r,s]",
                                         "sizes": {"n": 8, "c": 16, "y": 29, "x": 27, "r": 3, "s": 5}}])
        self.assertEqual(found["iterations"], 8 * 16 * 29 * 27 * 15)

    def test_long_rows_are_a_kind_and_times_from_the_host_have_its_share(self):
        rows = [self.row(200, "softmax", rows=4096, cols=cols) for cols in (1024, 1025)]
        half = {"op": "softmax", "device": "MI210", "dtype": "fp16", "time_us": "300", "params": json.dumps({"M": 8, "N": 9})}
        found = library.rows_by_chip(rows, [half])
        self.assertEqual([row["kind"] for row in found["t4"]], ["t4, softmax", "t4, softmax, long"])
        self.assertEqual([(row["launch_us"], row["dtype"]) for row in found["mi210"]], [(library.HOST_US, "f16")])


if __name__ == "__main__":
    unittest.main()
