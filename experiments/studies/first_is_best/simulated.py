# SPDX-License-Identifier: Apache-2.0
"""The simulator as the judge.

Draws pairs of an operator (suites/operators.yaml) and a chip by --seed, constructs the operator's list, takes programs spread
over all of it (the first ten, the largest tiles, the deepest pipelines, the tiles that CUTLASS and Triton ship as
defaults, the rest by chance), and simulates them all. Results are kept in --store as they come: a study that was ended
goes on where it was.

Prints, for each pair, the simulated time of the first program over that of the best one, the best of the first ten,
Spearman's rank correlation, and two null models: a program by chance (geometric mean) and the largest tile.
"""

import collections
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import yaml

from figures import geometric, spearman, tile_elements

HERE = pathlib.Path(__file__).resolve().parent
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
    parser.add_argument("--store", type=pathlib.Path, help="a file of JSON lines, one for each pair")


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


def simulated(options, chip, programs, places):
    """Simulated microseconds by place."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as batch:
        for place in places:
            batch.write(json.dumps({"id": str(place), **programs[place]["program"]}) + "\n")
        batch.flush()
        rows, why = output_of(options, "simulate", "--arch", chip, "--batch", batch.name, "--json", "--jobs",
                              str(options.jobs))
    if rows is None:
        sys.exit(why)
    return {int(row["id"]): row["simulated_us"] for row in rows["rows"] if "simulated_us" in row}


def judge(options, suite, operator, chip, dtype):
    """One row of the study."""
    begin = time.monotonic()
    row = {"operator": operator, "chip": chip, "dtype": dtype, "seed": options.seed}
    programs, why = constructed(options, suite, operator, chip, dtype)
    if not programs:
        return {**row, "error": why}
    places = spread(options, programs, f"{options.seed} {operator} {chip} {dtype}")
    times = simulated(options, chip, programs, places)
    if not times:
        return {**row, "error": "nothing could be simulated"}
    best = min(times, key=times.get)
    largest = max(times, key=lambda i: tile_elements(programs[i]["program"]))
    shown = sorted(times)
    return {**row, "listed": len(programs), "simulated": len(times), "first_us": times.get(0),
            "predicted_us": programs[0]["predicted_us"], "best": best, "best_us": times[best],
            "best_predicted_us": programs[best]["predicted_us"],
            "first_tile": tile_of(programs[0]["program"]), "best_tile": tile_of(programs[best]["program"]),
            "of_ten_us": min((times[i] for i in shown if i < 10), default=times[best]),
            "chance_us": geometric(list(times.values())), "largest_us": times[largest],
            "spearman": spearman([programs[i]["predicted_us"] for i in shown], [times[i] for i in shown]),
            "seconds": round(time.monotonic() - begin, 1)}


def kept(options):
    if not options.store or not options.store.exists():
        return {}
    rows = [json.loads(line) for line in options.store.read_text(encoding="utf-8").splitlines()]
    return {(r["operator"], r["chip"], r["dtype"], r["seed"]): r for r in rows}


def print_row(row):
    name = f"{row['operator']} {row['dtype']}"
    if "error" in row:
        print(f"{row['chip']:14} {name:34} {row['error'].splitlines()[0][:80]}", flush=True)
        return
    tile = "x".join(map(str, row["first_tile"]))
    of_best = "x".join(map(str, row["best_tile"]))
    print(f"{row['chip']:14} {name:34} {row['first_us'] / row['best_us']:6.2f} {row['of_ten_us'] / row['best_us']:6.2f} "
          f"{row['spearman']:6.2f} {row['chance_us'] / row['best_us']:7.2f} {row['largest_us'] / row['best_us']:8.2f}  "
          f"{tile} {row['predicted_us']:.4g}/{row['first_us']:.4g}, {row['best']}: {of_best} "
          f"{row['best_predicted_us']:.4g}/{row['best_us']:.4g}", flush=True)


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
    known = kept(options)
    rows = []
    print("simulated time of the first program over the best one's, and null models; then the first and the best one's "
          "tile, predicted/simulated us")
    print("chip           operator                            first of ten Spear.  chance  largest")
    for operator, chip, dtype in pairs_of(options, suite["operators"]):
        row = known.get((operator, chip, dtype, options.seed))
        if row is None:
            row = judge(options, suite, operator, chip, dtype)
            if options.store:
                with options.store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
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
