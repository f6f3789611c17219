#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of formats 1 and 2 become programs of format 3."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from format3 import format3  # noqa: E402

OLD = {"expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 64, "n": 64, "k": 64},
       "tiles": {"smem": {"m": 16, "n": 16, "k": 8}},
       "mapping": {"m": {"virtual": 2, "threads": 8, "serial": 1}, "n": {"threads": 16}},
       "staged": {"A": "smem"}, "swizzle": {"A": 4}, "order": ["k"], "pipeline": 2, "split": {"k": 2},
       "raster": "column", "band": 2, "instruction": {"name": "mma.f16", "m": "m", "n": "n", "k": "k"},
       "copy": {"A": "chunked", "B": "interleaved"}}
NEW = {"expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 64, "n": 64, "k": 64},
       "tiles": {"smem": {"m": 16, "n": 16, "k": 8}},
       "mapping": {"m": {"vthread": 2, "threads": 8, "per_thread": 1}, "n": {"threads": 16}},
       "cached": {"A": "smem"}, "rotate": {"A": 4}, "reduction_order": ["k"], "num_stages": 2, "split": {"k": 2},
       "order": "column", "group_m": 2, "mma": {"name": "mma.f16", "m": "m", "n": "n", "k": "k"},
       "copy": {"A": "blocked", "B": "striped"}}


class Format3Test(unittest.TestCase):
    def test_every_name_of_a_batch_line(self):
        self.assertEqual(format3({"id": "a", **OLD}), {"format": 3, "id": "a", **NEW})

    def test_a_whole_program(self):
        self.assertEqual(format3({"arch": "v100", "stages": [OLD, OLD], "edges": []}),
                         {"format": 3, "arch": "v100", "nodes": [NEW, NEW], "edges": []})

    def test_boxes_are_copies_by_tma(self):
        new = format3({"boxes": {"A": 64, "B": 0}, "copy": {"B": "chunked"}})
        self.assertEqual(new, {"format": 3, "copy": {"A": "tma", "B": "blocked"}, "box": {"A": 64}})

    def test_what_is_converted_stays(self):
        self.assertEqual(format3({"format": 3, **NEW}), {"format": 3, **NEW})

    def test_nodes_of_threads_of_format_2_are_unchanged(self):
        self.assertEqual(format3({"format": 2, "arch": "v100", "nodes": [NEW]}),
                         {"format": 3, "arch": "v100", "nodes": [NEW]})

    def test_nodes_of_cores_that_exchange(self):
        old = {"grid": {"m": 4}, "moves": {"A": "hold", "B": {"rotate": "k", "ring": 2}}, "placed": True, "homes": "cores"}
        new = {"grid": {"m": 4}, "dataflow": {"A": "stationary", "B": {"shift": "k", "ring": 2}},
               "inputs_prearranged": True, "tensor_location": "cores"}
        self.assertEqual(format3({"format": 2, "nodes": [old]}), {"format": 3, "nodes": [new]})

    def test_the_command_converts_a_document_or_lines(self):
        lines = json.dumps(OLD) + "\n" + json.dumps({"stages": [OLD]}) + "\n"
        for text, count in ((json.dumps(OLD, indent=1), 1), (lines, 2)):
            done = subprocess.run([sys.executable, ROOT / "tools/format3.py"], input=text, capture_output=True, text=True,
                                  check=True)
            new = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([n["format"] for n in new], [3] * count)


if __name__ == "__main__":
    unittest.main()
