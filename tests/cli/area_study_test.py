# SPDX-License-Identifier: Apache-2.0
"""experiments/studies/area/run: the aims of docs/energy.md, and rows of one's own.

    area_study_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop())
STUDY = ROOT / "experiments/studies/area"


def study(*options):
    done = subprocess.run([STUDY / "run", "--build", BUILD, *options], capture_output=True, text=True, check=False)
    return done


class AreaStudyTest(unittest.TestCase):
    def test_the_aims(self):
        found = json.loads(study("--json").stdout)["summary"]
        judged = {s["model"]: s for s in found if s["role"] == "judged"}
        self.assertEqual(judged["parts"]["dies"], 12)
        self.assertLess(judged["parts"]["mean_error"], 0.09)
        self.assertLess(abs(judged["parts"]["worst_error"]), 0.26)
        self.assertLess(judged["left out"]["mean_error"], 0.09)
        for null in ("constant", "one density", "density of the node"):
            self.assertLess(judged["parts"]["mean_error"], judged[null]["mean_error"], null)

    def test_rows_of_ones_own(self):
        """A die that states what is built has the area of the device that does."""
        head = (STUDY / "dies.csv").read_text().splitlines()[0]
        with tempfile.TemporaryDirectory() as folder:
            rows = pathlib.Path(folder) / "rows.csv"
            rows.write_text(f"{head}\n"
                            "GV100,other,815,21100,12FFN,P,here,,84,4,64,64,32,512,256,0,128,6,HBM2,4,"
                            "NVLink2:6 PCIe3:16,32\n"
                            "V100,other,815,21100,12FFN,P,here,v100,,,,,,,,,,,,,,\n"
                            "unknown,other,815,21100,1nm,P,here,,84,4,64,64,32,512,256,0,128,6,HBM2,4,,32\n")
            done = study("--rows", rows, "--json")
            self.assertEqual(done.returncode, 1)
            self.assertIn("unknown: ", done.stderr)
            self.assertIn("no density of '1nm'", done.stderr)
            ours, device = json.loads(done.stdout)["dies"]
            self.assertAlmostEqual(ours["predicted"]["parts"], device["predicted"]["parts"], places=6)
            self.assertIn("GV100", study("--rows", rows).stdout)


if __name__ == "__main__":
    unittest.main()
