# SPDX-License-Identifier: Apache-2.0
"""docs/model.md, *A product by hand*: its arithmetic, from the numbers of docs/my_chip.yaml, next to `predict --json`.

    hand_product_test.py BUILD_FOLDER

No formula comes from the model's code: the page's steps are written out here once more, with the chip's numbers as they
stand in its file. Numbers that are changed by --set are changed here too, so that a step with a wrong key is found.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped=yaml: python3-yaml is not installed")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else ROOT / "build"
CHIP, PROGRAM, PAGE = ROOT / "docs/my_chip.yaml", ROOT / "docs/hand_product.json", ROOT / "docs/model.md"
UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GHz": 1e3, "cycles": 1, "us": 1}  # clocks in MHz


def number(text):
    """A number of the chip's file, in bytes, MHz, cycles or microseconds."""
    value, unit = re.fullmatch(r"([\d.]+) ?(\w*)", str(text)).groups()
    return float(value) * UNITS[unit]


def put(at, path, value):
    """Sets a number of the chip's document by the path that --set takes; entries of lists go by their names."""
    if isinstance(at, list):
        entry = next(e for e in at if path.startswith(e["name"] + "."))
        put(entry, path.removeprefix(entry["name"] + "."), value)
        return
    key, _, rest = path.partition(".")
    if rest:
        put(at[key], rest, value)
    else:
        at[key] = value


def chip_with(changes):
    document = yaml.safe_load(CHIP.read_text())
    for path, value in changes.items():
        put(document, path, value)
    return document


def by_hand(chip):
    """Terms in microseconds, and the steps of the page in cycles."""
    f32 = next(e for e in chip["compute"] if e["name"] == "fma.f32")
    core, memory = chip["core"], chip["memory"]
    dram, l2, l1, smem = memory["dram"], memory["l2"], memory["l1"], memory["smem"]
    clock, cores, warp = number(chip["clock"]), core["count"], core["warp"]

    # What a block does in one of its 16 steps of 32 along k, in cycles of its core.
    blocks, steps, threads, block, depth = 64, 16, 256, 64, 32
    assert blocks == cores, "the page's blocks have a core each"
    warps = threads // warp
    arithmetic = block * block * depth / f32["per_core"]
    line = number(smem["banks"]) * number(smem["bank_width"])  # bytes of one pass over the banks
    tile = 2 * block * depth * 4                               # bytes of both operands in a step
    written = tile / line
    read = depth * warps * (4 * 1 + warp * 16 / line)          # of A four single words, of B 16 B a lane
    fetched = 2 * tile / number(l1["width"])                   # into the cache, and from it to the threads
    link = tile / number(chip["link"]["width"])

    # What all blocks move, in bytes, and how long the shared levels take, in us. MHz times bytes is MB/s.
    l2_read, dram_read, stored = blocks * steps * tile, 2 * 512 * 512 * 4, 512 * 512 * 4
    l2_rate = number(l2["slices"]) * number(l2["width"]) * clock
    dram_rate = number(dram["clock"]) * dram["rate"] * dram["channels"] * number(dram["width"])
    terms = {
        "arithmetic_us": steps * arithmetic / clock,
        "smem_us": steps * (written + read) / clock,
        "l1_us": (steps * fetched + stored / blocks / number(l1["width"])) / clock,
        "l2_us": (l2_read + stored) / l2_rate,
        "dram_us": (dram_read + stored) / dram_rate,
        "launch_us": number(chip["launch_overhead"]),
    }

    # One block a core, one step after the other: a step's copy, then its use, then its share of L2 and DRAM.
    far, near = number(dram["latency"]), number(l2["latency"])
    latency = near + dram_read / l2_read * (far - near)
    copy = max(written + fetched, link) + latency + number(smem["latency"])
    use = max(arithmetic, read) + number(smem["latency"])
    shared = (l2_read / l2_rate + dram_read / dram_rate) * clock / steps
    stores = max(stored / l2_rate, stored / dram_rate) * clock
    cycles = steps * (copy + use + shared) + (far - latency) + stores
    busiest = max(us for name, us in terms.items() if name != "launch_us")
    terms["latency_us"] = cycles / clock - busiest
    steps_of_page = {"copy": copy, "use": use, "shared": shared, "stores": stores, "cycles": cycles}
    return terms, cycles / clock + terms["launch_us"], steps_of_page


def predicted(changes):
    options = [word for path, value in changes.items() for word in ("--set", f"{path}={value}")]
    done = subprocess.run([BUILD / "tilescope", "predict", "--arch", CHIP, *options, "--program", PROGRAM, "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class HandProductTest(unittest.TestCase):
    def expect_same(self, changes):
        terms, total, _ = by_hand(chip_with(changes))
        tool = predicted(changes)
        for name, us in terms.items():
            self.assertAlmostEqual(us, tool["terms"][name], delta=1e-6 * total, msg=f"{name}, {changes}")
        self.assertAlmostEqual(total, tool["predicted_us"], delta=1e-6 * total, msg=str(changes))

    def test_the_product_of_the_page(self):
        self.expect_same({"compute.fma.f32.per_core": 64})

    def test_other_numbers_of_the_chip(self):
        """Each changes a step of the page, and none makes another resource than the page's the busiest."""
        for path, value in {"memory.dram.channels": 8, "memory.dram.latency": "900 cycles", "memory.l2.slices": 16,
                            "memory.l2.latency": "300 cycles", "memory.smem.latency": "40 cycles", "clock": "1 GHz",
                            "launch_overhead": "5 us"}.items():
            self.expect_same({"compute.fma.f32.per_core": 64, path: value})

    def test_figures_of_the_page(self):
        page = PAGE.read_text()
        terms, total, steps = by_hand(chip_with({"compute.fma.f32.per_core": 64}))
        for text in (f"{steps['copy']:,.0f}", f"{steps['use']:,.0f}", f"{steps['shared']:,.1f}",
                     f"{steps['stores']:,.1f}", f"{steps['cycles']:,.1f}", f"{total:.2f} us",
                     *(f"{us:.2f} us" for us in terms.values())):
            self.assertTrue(re.search(rf"(?<![\d.,]){re.escape(text)}(?![\d])", page), f"{PAGE.name} lacks {text}")


if __name__ == "__main__":
    unittest.main()
