# SPDX-License-Identifier: Apache-2.0
"""The simulator as the judge.

Draws pairs of an operator (suites/operators.yaml) and a chip by --seed, constructs the operator's list, takes programs spread
over all of it (the first ten, the largest tiles, the deepest pipelines, the tiles that CUTLASS and Triton ship as
defaults, the rest by chance), and simulates them all. Simulated times are kept in --store as they come, by chip,
simulator and program: a study that was ended goes on where it was, and once the model has changed only programs that no
list had before, and what chance draws anew, are simulated. Whatever the store knows of a pair is in the comparison with the best program.

Prints, for each pair, the simulated time of the first program over that of the best one, the best of the first ten,
Spearman's rank correlation, and two null models: a program by chance (geometric mean) and the largest tile.
"""

import collections
import hashlib
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import yaml

from figures import geometric, spearman, tile_elements

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NOT_READ_BY_SIMULATOR = ["calibration", "error_bands", "baselines"]  # sections of a chip
READ_BY_SIMULATOR = ["base", "arch", "expr", "tile", "lower", "sim"]  # layers: a change of theirs makes kept times old
CHIPS = ["h100_sxm", "h200", "a100", "v100", "mi210", "rtx3090", "tilescope_one", "tilescope_two"]
DTYPES = {"product": ["f16", "f16", "bf16", "f8e4m3"], "batched": ["f16", "bf16"]}  # of other kinds: f16 or f32
# Block tiles of products along m, n and k: the profiler's defaults of CUTLASS 3 and the autotuning lists of Triton's
# tutorial on matrix products.
SHIPPED = [(128, 128, 32), (128, 128, 64), (128, 256, 64), (256, 128, 64), (128, 256, 32), (256, 128, 32),
           (64, 256, 32), (64, 128, 32), (128, 64, 32), (128, 32, 32), (64, 32, 32), (128, 256, 128), (256, 64, 128)]


def add_options(parser):
    parser.add_argument("--pairs", type=int, default=60, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=60, help="simulated of each pair's list")
    parser.add_argument("--list", type=int, default=1000, help="programs of a list at the most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", type=pathlib.Path, help="a file of JSON lines, one for each program")


def output_of(options, *command):
    done = subprocess.run([options.build / "tilescope", *command], capture_output=True, text=True)
    return (json.loads(done.stdout) if done.stdout else None), done.stderr.strip()


def pairs_of(options, operators):
    draw = random.Random(options.seed)
    every = [(o["id"], chip) for o in operators for chip in CHIPS]
    kinds = {o["id"]: o.get("kind", "product") for o in operators}
    chosen = draw.sample(every, min(options.pairs, len(every)))
    return [(operator, chip, draw.choice(DTYPES.get(kinds[operator], ["f16", "f32"]))) for operator, chip in chosen]


def constructed(options, suite, operator, chip, dtype):
    """The list of programs of a pair, best first."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as one:
        json.dump({**suite, "operators": [o for o in suite["operators"] if o["id"] == operator]}, one)
        one.flush()
        rows, why = output_of(options, "compile", "--arch", chip, "--suite", one.name, "--dtype", dtype, "--top",
                              str(options.list), "--json")
    if rows is None:
        return [], why
    return rows["operators"][0]["programs"], rows["operators"][0].get("error", why)


def stages_of(program):
    """The steps that the pipelines of a program's nodes have under way, at the most."""
    return max([node.get("num_stages", 1) for node in program["nodes"]], default=1)


def tile_of(program):
    """Extents of the first node's block tile."""
    tiles = program["nodes"][0].get("tiles") or {}
    return tuple(next(iter(tiles.values())).values()) if tiles else ()


def spread(options, programs, seed):
    """Places in the list, the first ten among them."""
    chosen = list(range(min(10, len(programs))))

    def add(places):
        for place in places:
            if place not in chosen and len(chosen) < options.programs:
                chosen.append(place)

    def by(measure, count):
        return sorted(range(len(programs)), key=lambda i: -measure(programs[i]["program"]))[:count]

    add(by(tile_elements, 6))
    add(by(stages_of, 6))
    add(by(lambda p: tile_elements(p) * stages_of(p), 4))
    tiles = [tile_of(p["program"]) for p in programs]
    for shipped in SHIPPED:
        add([i for i, tile in enumerate(tiles) if tile[-3:] == shipped][:1])
    rest = [i for i in range(len(programs)) if i not in chosen]
    random.Random(seed).shuffle(rest)
    add(rest)
    return chosen


class SimulatedTimes:
    """Simulated microseconds of programs, kept in a file of JSON lines."""

    def __init__(self, options):
        self.options = options
        self.versions = {}  # of a chip and the simulator, by the chip's name
        self.of_pair = collections.defaultdict(dict)  # a pair's identity: times by the program's text
        self.sources = hashlib.sha256()
        for layer in READ_BY_SIMULATOR:
            for file in sorted((ROOT / layer).rglob("*.cc")) + sorted((ROOT / layer).rglob("*.h")):
                self.sources.update(file.read_bytes())
        if options.store and options.store.exists():
            for line in options.store.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                if "simulated_us" not in row or "pair" not in row:
                    sys.exit(f"{options.store}: not a store of this study's programs")
                self.of_pair[row["pair"]][row["program"]] = row["simulated_us"]

    def pair(self, operator, chip, dtype):
        if chip not in self.versions:
            shown, why = output_of(self.options, "arch", "show", chip, "--json")
            if shown is None:
                sys.exit(why)
            version = self.sources.copy()
            read = {key: value for key, value in shown.items() if key not in NOT_READ_BY_SIMULATOR}
            version.update(json.dumps(read, sort_keys=True).encode())
            self.versions[chip] = version.hexdigest()[:12]
        return f"{operator} {chip} {dtype} {self.versions[chip]}"

    def simulate(self, pair, chip, programs):
        """Times of the pair by the program's text, of those given and of all known before; None: it was refused."""
        known = self.of_pair[pair]
        missing = [text for text in programs if text not in known]
        at_once = 4 * self.options.jobs
        for begin in range(0, len(missing), at_once):
            for text, time_us in self.run(chip, missing[begin:begin + at_once]):
                known[text] = time_us
                if self.options.store:
                    with self.options.store.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"pair": pair, "simulated_us": time_us, "program": text}) + "\n")
        return {text: time_us for text, time_us in known.items() if time_us is not None}

    def run(self, chip, texts):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as batch:
            for place, text in enumerate(texts):
                batch.write(json.dumps({"id": str(place), **json.loads(text)}) + "\n")
            batch.flush()
            rows, why = output_of(self.options, "simulate", "--arch", chip, "--batch", batch.name, "--json", "--jobs",
                                  str(self.options.jobs))
        if rows is None:
            sys.exit(why)
        return [(texts[int(row["id"])], row.get("simulated_us")) for row in rows["rows"]]


def judge(options, suite, store, operator, chip, dtype):
    """One row of the study."""
    row = {"operator": operator, "chip": chip, "dtype": dtype}
    programs, why = constructed(options, suite, operator, chip, dtype)
    if not programs:
        return {**row, "error": why}
    texts = [json.dumps(p["program"]) for p in programs]
    predicted = dict(zip(texts, (p["predicted_us"] for p in programs)))
    pair = store.pair(operator, chip, dtype)
    times = store.simulate(pair, chip, [texts[i] for i in spread(options, programs, f"{options.seed} {operator} {chip} {dtype}")])
    if texts[0] not in times:
        return {**row, "error": "the first program could not be simulated"}
    best = min(times, key=times.get)
    listed = [text for text in texts if text in times]
    of_text = {text: json.loads(text) for text in times}
    return {**row, "listed": len(programs), "simulated": len(times), "first_us": times[texts[0]],
            "predicted_us": programs[0]["predicted_us"], "best_us": times[best],
            "best_place": texts.index(best) if best in predicted else None, "best_predicted_us": predicted.get(best),
            "first_tile": tile_of(programs[0]["program"]), "best_tile": tile_of(of_text[best]),
            "of_ten_us": min(times[text] for text in texts[:10] if text in times),
            "chance_us": geometric(list(times.values())),
            "largest_us": times[max(times, key=lambda text: tile_elements(of_text[text]))],
            "spearman": spearman([predicted[text] for text in listed], [times[text] for text in listed])}


def place_of_best(row):
    """Its place in the list and its predicted time, where the list still has it."""
    return "-" if row["best_place"] is None else f"{row['best_place']} at {row['best_predicted_us']:.4g}"


def print_row(row):
    name = f"{row['operator']} {row['dtype']}"
    if "error" in row:
        print(f"{row['chip']:14} {name:34} {row['error'].splitlines()[0][:80]}", flush=True)
        return
    tile = "x".join(map(str, row["first_tile"]))
    of_best = "x".join(map(str, row["best_tile"]))
    print(f"{row['chip']:14} {name:34} {row['first_us'] / row['best_us']:6.2f} {row['of_ten_us'] / row['best_us']:6.2f} "
          f"{row['spearman']:6.2f} {row['chance_us'] / row['best_us']:7.2f} {row['largest_us'] / row['best_us']:8.2f}  "
          f"{tile} {row['predicted_us']:.4g}/{row['first_us']:.4g}, {place_of_best(row)}: {of_best} "
          f"{row['best_us']:.4g}", flush=True)


def print_total(title, rows):
    ratios = [r["first_us"] / r["best_us"] for r in rows]
    if not ratios:
        return
    print(f"{title:14} {len(ratios):3} pairs: first {geometric(ratios):.2f}, within 5 % {sum(r < 1.05 for r in ratios)}, "
          f"within 15 % {sum(r < 1.15 for r in ratios)}, worst {max(ratios):.2f}; of ten "
          f"{geometric([r['of_ten_us'] / r['best_us'] for r in rows]):.2f}; Spearman "
          f"{statistics.fmean(r['spearman'] for r in rows):.2f}; by chance "
          f"{geometric([r['chance_us'] / r['best_us'] for r in rows]):.2f}, largest tile "
          f"{geometric([r['largest_us'] / r['best_us'] for r in rows]):.2f}")


def run(options, parser):
    suite = yaml.safe_load((HERE / "suites/operators.yaml").read_text(encoding="utf-8"))
    store = SimulatedTimes(options)
    rows = []
    print("simulated time of the first program over the best one's, and null models; then the first and the best one's "
          "tile, predicted/simulated us (of the best one: its place in the list and predicted time, if it is in it)")
    print("chip           operator                            first of ten Spear.  chance  largest")
    for operator, chip, dtype in pairs_of(options, suite["operators"]):
        row = judge(options, suite, store, operator, chip, dtype)
        print_row(row)
        rows.append(row)
    timed = [r for r in rows if r.get("first_us")]
    print()
    of_chip = collections.defaultdict(list)
    for row in timed:
        of_chip[row["chip"]].append(row)
    for chip, own in sorted(of_chip.items()):
        print_total(chip, own)
    print_total("products", [r for r in timed if r["operator"].startswith("product")])
    print_total("others", [r for r in timed if not r["operator"].startswith("product")])
    print_total("all", timed)
