# SPDX-License-Identifier: Apache-2.0
"""experiments/studies/h200/run: all up to the launch, then beyond it on tests/support/fake_driver, which needs no GPU.

    h200_run_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop())
STAGE, SUITE, DEVICE = "first", "roller-small", "NVIDIA H200"


def run(*words, **environment):
    script = ROOT / "experiments/studies/h200/run"
    return subprocess.run([sys.executable, script, "--tilescope", BUILD / "tilescope", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


class H200Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plans = pathlib.Path(cls.folder.name) / "plans"
        prepared = run("prepare", STAGE, "--suite", SUITE, "--plans", cls.plans)
        if "libnvrtc" in prepared.stderr:
            raise unittest.SkipTest(prepared.stderr.strip())
        assert prepared.returncode == 0, prepared.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def beside_gpu(self, *words, out, **environment):
        return run(*words, "--plans", self.plans, "--out", out, "--worker", BUILD / "tilescope_gpu",
                   **{"TILESCOPE_CUDA_PATH": str(BUILD / "tests/fake_driver"), "FAKE_DRIVER_NAME": DEVICE,
                      **environment})

    def test_dry_run_compiles_the_worker_alone_and_reads_every_plan_as_it_does(self):
        done = run("--dry-run", STAGE, "--suite", SUITE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"first 0: [0-9]+ tasks, [0-9]+ left")

    def test_rows_come_back_and_are_not_measured_again(self):
        with tempfile.TemporaryDirectory() as name:
            out = pathlib.Path(name)
            done = self.beside_gpu(STAGE, out=out)
            self.assertEqual(done.returncode, 1, "this driver computes nothing: " + done.stderr)
            self.assertEqual(sorted(file.name for file in out.iterdir()), ["device.json", "nvidia-h200.jsonl"])
            rows = [json.loads(line) for line in (out / "nvidia-h200.jsonl").read_text().splitlines()]
            self.assertEqual({row["device"] for row in rows}, {DEVICE})
            self.assertEqual({row["chip"] for row in rows}, {"h200"})
            for row in rows:
                if row["kind"] != "launch":
                    self.assertIn("are wrong", row["error"])
            self.assertTrue(any(row["kind"] == "launch" and row["measured_us"] > 0 for row in rows))
            self.assertEqual(len({row["key"] for row in rows}), len(rows))
            again = self.beside_gpu(STAGE, out=out)
            self.assertEqual(again.returncode, 0)
            self.assertIn(f"{STAGE}: 0 rows, 0 failed", again.stdout)
            status = run("status", STAGE, "--plans", self.plans, "--out", out, "--worker", BUILD / "tilescope_gpu")
            self.assertRegex(status.stdout, r"first 0: [0-9]+ tasks, 0 left")

    def test_measures_another_device_only_where_that_is_asked(self):
        with tempfile.TemporaryDirectory() as name:
            out = pathlib.Path(name)
            for other in ("NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB"):
                done = self.beside_gpu(STAGE, out=out, FAKE_DRIVER_NAME=other)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr, f"this is no H200 but {other}; --any-device measures it all the same\n")
                self.assertEqual(list(out.iterdir()), [])
            self.beside_gpu(STAGE, "--any-device", out=out, FAKE_DRIVER_NAME="NVIDIA GH200 480GB")
            self.assertTrue((out / "nvidia-gh200-480gb.jsonl").exists())
            status = run("status", STAGE, "--plans", self.plans, "--out", out, "--worker", BUILD / "tilescope_gpu")
            self.assertNotIn(" 0 left", status.stdout)
            none = run("table", "--out", out)
            self.assertEqual(none.returncode, 1)
            self.assertIn("holds none of an H200", none.stderr)

    def test_says_what_failed_before_time_was_up(self):
        with tempfile.TemporaryDirectory() as name:
            done = self.beside_gpu(STAGE, "--minutes", "0.05", out=pathlib.Path(name), FAKE_DRIVER_LAUNCH_MS="3500")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stdout, r"are wrong\n(.*\n)*first: time is up\n$")

    def test_stops_in_time_with_no_task_begun(self):
        with tempfile.TemporaryDirectory() as name:
            done = self.beside_gpu("next", "--minutes", "0", out=pathlib.Path(name))
            self.assertNotEqual(done.returncode, 0)
            self.assertFalse((pathlib.Path(name) / "nvidia-h200.jsonl").exists())

    def test_says_what_is_missing(self):
        missing = run(STAGE, "--plans", self.plans / "none", "--out", self.plans / "out", "--worker",
                      BUILD / "tilescope_gpu", TILESCOPE_CUDA_PATH=str(BUILD / "tests/fake_driver"),
                      FAKE_DRIVER_NAME=DEVICE)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("'experiments/studies/h200/run prepare' makes it", missing.stderr)
        none = self.beside_gpu(STAGE, out=self.plans / "out", FAKE_DRIVER_DEVICES="0")
        self.assertEqual(none.returncode, 1)
        self.assertIn("finds no GPU", none.stderr)
        self.assertIn("no such stage: what", run("what").stderr)


if __name__ == "__main__":
    unittest.main()
