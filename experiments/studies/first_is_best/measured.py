# SPDX-License-Identifier: Apache-2.0
"""Measured times as the judge.

measured/CHIP.jsonl.gz holds programs of 48 operators (experiments/studies/gpu/suites/spread.yaml), about thirty of each
operator's whole list: the first ones, the largest tiles, the most bytes in flight, the rest by chance; each with the
time that the board measured (experiments/data/measured). The model ranks them anew. The model was developed on the rows
of h200; those of h100_sxm are kept back. --rows takes other programs with measured times in the same form, with one
--chip.

Prints, for products and for other operators, the measured time of the first program over that of the best one
(geometric mean), how many are within 5 and 15 %, the best of the first ten, Spearman's rank correlation, and two null
models: a program by chance (geometric mean of the list) and the program with the largest tile.

--simulate N draws N programs of each kind of inner loop by --seed and prints their simulated times, a part of the chip
(--mode scaled), and their predicted ones, each over the measured time: median, and mean error.
"""

import gzip
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from figures import geometric, spearman, tile_elements

HERE = pathlib.Path(__file__).resolve().parent


def read(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def times(options, chip, rows, verb, key):
    """Microseconds by id, as `tilescope VERB` gives them under KEY."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as batch:
        for row in rows:
            batch.write(json.dumps(row) + "\n")
        batch.flush()
        done = subprocess.run([options.build / "tilescope", *verb, "--arch", chip, "--batch", batch.name, "--json"],
                              stdout=subprocess.PIPE, stderr=None if sys.stderr.isatty() else subprocess.PIPE, text=True)
    if not done.stdout:
        sys.exit((done.stderr or "").strip())
    return {row["id"]: row[key] for row in json.loads(done.stdout)["rows"] if key in row}


def predictions(options, chip, rows):
    return times(options, chip, rows, ["predict"], "predicted_us")


def is_product(program):
    """Whether the operator is one product of two tensors over a reduction."""
    expr = program["nodes"][0]["expr"]
    return len(program["nodes"]) == 1 and "+=!" in expr and "*" in expr and "max" not in expr and "+r" not in expr


def figures(programs, predicted):
    """What the list of one operator says."""
    rows = [(predicted[p["id"]], p["measured_us"], p) for p in programs if p["id"] in predicted]
    rows.sort(key=lambda r: r[0])
    best = min(us for _, us, _ in rows)
    return {"first": rows[0][1] / best, "ten": min(us for _, us, _ in rows[:10]) / best,
            "chance": geometric([us for _, us, _ in rows]) / best,
            "largest": max(rows, key=lambda r: tile_elements(r[2]))[1] / best,
            "spearman": spearman([p for p, _, _ in rows], [us for _, us, _ in rows]),
            "error": rows[0][0] / rows[0][1] - 1, "product": is_product(rows[0][2])}


def print_summary(chip, title, found):
    if not found:
        return
    firsts = [f["first"] for f in found]
    print(f"{chip:10} {title:9} {len(found):4} {geometric(firsts):6.2f} "
          f"{sum(f < 1.05 for f in firsts):5} {sum(f < 1.15 for f in firsts):5} {geometric([f['ten'] for f in found]):6.2f} "
          f"{statistics.fmean(f['spearman'] for f in found):6.2f} {statistics.fmean(abs(f['error']) for f in found):7.0%} "
          f"{geometric([f['chance'] for f in found]):7.2f} {geometric([f['largest'] for f in found]):8.2f}")


def kind(program):
    """What multiplies in the program's inner loop, and whether TMA copies: "wgmma, TMA"."""
    nodes = program["nodes"]
    units = sorted({node["mma"]["name"].split(".")[0] for node in nodes if "mma" in node}) or ["scalar"]
    return ", ".join(units + (["TMA"] if any("tma" in node.get("copy", {}).values() for node in nodes) else []))


def print_simulated(options, chip, programs, predicted):
    by_kind = {}
    for program in programs:
        by_kind.setdefault(kind(program), []).append(program)
    print("chip       inner loop    programs | simulated   error | predicted   error")
    for name, group in sorted(by_kind.items()):
        drawn = random.Random(options.seed).sample(group, min(options.simulate, len(group)))
        simulated = times(options, chip, drawn, ["simulate", "--mode", "scaled"], "simulated_us")
        known = [p for p in drawn if p["id"] in simulated and p["id"] in predicted]
        if not known:
            continue
        columns = []
        for us in (simulated, predicted):
            ratios = [us[p["id"]] / p["measured_us"] for p in known]
            columns.append(f"{statistics.median(ratios):9.2f} {statistics.fmean(abs(r - 1) for r in ratios):7.0%}")
        print(f"{chip:10} {name:13} {len(known):8} | {columns[0]} | {columns[1]}", flush=True)


def add_options(parser):
    parser.add_argument("--chip", action="append", help="a chip with measured rows; all of them by default")
    parser.add_argument("--rows", type=pathlib.Path, help="programs with measured_us, of the one --chip")
    parser.add_argument("--operators", action="store_true", help="a line for each operator too")
    parser.add_argument("--simulate", type=int, default=0, metavar="N", help="simulate N programs of each kind too")
    parser.add_argument("--seed", type=int, default=1, help="of the draw of --simulate")


def run(options, parser):
    kept = {path.name.removesuffix(".jsonl.gz"): path for path in sorted((HERE / "measured").glob("*.jsonl.gz"))}
    if options.rows and len(options.chip or []) != 1:
        parser.error("--rows needs one --chip")
    if unknown := [c for c in options.chip or [] if not options.rows and c not in kept]:
        parser.error(f"no measured rows of {', '.join(unknown)}; there are some of {', '.join(kept)}")
    print("measured time of the first program over the best one's, and null models")
    print("chip       operators  all  first  <5 % <15 %  of 10  Spear.  |error|  chance  largest")
    for chip in options.chip or kept:
        programs = read(options.rows or kept[chip])
        predicted = predictions(options, chip, programs)
        groups = {}
        for program in programs:
            groups.setdefault(program["group"], []).append(program)
        found = {name: figures(group, predicted) for name, group in groups.items() if any(p["id"] in predicted for p in group)}
        if options.operators:
            for name, f in sorted(found.items(), key=lambda item: -item[1]["first"]):
                print(f"  {name:24} first {f['first']:5.2f}, of ten {f['ten']:4.2f}, Spearman {f['spearman']:5.2f}, "
                      f"error of the first {f['error']:+.0%}")
        print_summary(chip, "products", [f for f in found.values() if f["product"]])
        print_summary(chip, "others", [f for f in found.values() if not f["product"]])
        print_summary(chip, "all", list(found.values()))
        if options.simulate:
            print_simulated(options, chip, programs, predicted)
