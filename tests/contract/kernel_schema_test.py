#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of Kernel documents, under a validator that shares no code with the reader: kernels that are written
pass, and what is broken is refused by both.

    kernel_schema_test.py BUILD
"""

import copy
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

if sys.executable != "/usr/bin/python3" and Path("/usr/bin/python3").exists():
    # The packages are of Debian's Python, which another may stand before.
    sys.exit(subprocess.run(["/usr/bin/python3", *sys.argv], check=False).returncode)
try:
    import jsonschema
except ImportError:
    jsonschema = None

BUILD = Path(sys.argv.pop(1))
MATMUL = ["--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size", "m=256,n=256,k=128"]
# Chips with copies of every kind, matrix instructions of three vendors, and cores that exchange.
WORKS = [
    ("v100", [*MATMUL, "--dtype", "f16"]),
    ("a100", [*MATMUL, "--dtype", "bf16"]),
    ("h200", [*MATMUL[:3], "m=1024,n=1024,k=1024", "--dtype", "bf16"]),
    ("mi210", [*MATMUL, "--dtype", "f16"]),
    ("t4", ["--op", "O[m] +=! X[m,n]", "--size", "m=64,n=100000"]),
    ("a100", ["--op", "S[m,n] +=! A[m,k] * B[k,n]; M[m] max=! S[m,n]; E[m,n] = exp(S[m,n] - M[m])", "--size",
              "m=128,n=64,k=64"]),
    ("v100", ["--op", "Y[t,d] = select(d < 7, E[T[t],d], -inf)", "--size", "t=33,d=64", "--shape", "E=1000,64"]),
]


def run(*arguments):
    return subprocess.run([BUILD / "tilescope", *arguments], capture_output=True, text=True, check=False)


def kernels_of(chip, work):
    done = run("compile", "--arch", chip, *work, "--top", "1", "--print", "kernel", "--json")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def maps_of(value):
    """All maps of a document."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from maps_of(child)


@unittest.skipUnless(jsonschema, "jsonschema is missing (apt-get install python3-jsonschema)")
class KernelSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(run("emit", "--schema").stdout)
        jsonschema.Draft7Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft7Validator(cls.schema)
        cls.documents = [(chip, kernels_of(chip, work)) for chip, work in WORKS]

    def refusal(self, chip, document):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(document, file)
            file.flush()
            return run("emit", "--arch", chip, "--kernel", file.name).stderr

    def test_what_is_written_passes(self):
        seen = set()
        for chip, document in self.documents:
            self.assertEqual([], [e.message for e in self.validator.iter_errors(document)], chip)
            seen |= {m["do"] for m in maps_of(document["kernels"]) if "do" in m}
        self.assertGreater(len(seen), 15, seen)

    def test_every_statement(self):
        """One of each kind passes; with a member that it has not, or without one that it must have, it does not."""
        document = json.loads((Path(__file__).parents[1] / "unit/lower/every_statement.json").read_text())
        self.assertEqual([], [e.message for e in self.validator.iter_errors(document)])
        kinds = {k["properties"]["do"]["const"]: k for k in self.schema["definitions"]["statement"]["oneOf"]}
        written = {m["do"]: m for m in maps_of(document["kernels"]) if "do" in m}
        written["cluster_barrier"] = {"do": "cluster_barrier"}  # which a document without clusters has not
        self.assertEqual(sorted(kinds), sorted(written))
        for do, kind in kinds.items():
            # The definitions of what statements consist of stand in the whole schema.
            alone = jsonschema.Draft7Validator({**kind, "definitions": self.schema["definitions"]})
            self.assertTrue(alone.is_valid(written[do]), do)
            self.assertFalse(alone.is_valid({**written[do], "no_such_member": 1}), do)
            for key in kind["required"]:
                self.assertFalse(alone.is_valid({k: v for k, v in written[do].items() if k != key}), (do, key))

    def test_a_broken_document_is_refused_by_both(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        for _ in range(60):
            chip, document = draw.choice(self.documents)
            broken = copy.deepcopy(document)
            where = draw.choice([m for m in maps_of(broken["kernels"]) if m])
            key = draw.choice(sorted(where))
            how = draw.choice(["an unknown key", "a map in place of a value", "an unknown statement"])
            if how == "an unknown key":
                where[key + "_"] = where[key]
            elif how == "a map in place of a value":
                where[key] = {"no": {"such": "value"}}
            elif "do" in where:
                where["do"] += "_"
            else:
                continue
            with self.subTest(seed=seed, chip=chip, how=how, key=key):
                self.assertFalse(self.validator.is_valid(broken))
                self.assertNotEqual("", self.refusal(chip, broken))

    def test_what_is_required(self):
        """Of the keys of each map of small kernels, those without which a document is none are the same for both."""
        chip, document = min(self.documents, key=lambda d: len(json.dumps(d[1])))
        tried = set()
        for place, where in enumerate(maps_of(document["kernels"])):
            for key in sorted(where):
                kind = (where.get("do"), tuple(sorted(where)), key)
                if kind in tried or len(tried) > 80:
                    continue
                tried.add(kind)
                without = copy.deepcopy(document)
                del list(maps_of(without["kernels"]))[place][key]
                if not self.validator.is_valid(without):
                    self.assertNotEqual("", self.refusal(chip, without), kind)


if __name__ == "__main__":
    unittest.main()
