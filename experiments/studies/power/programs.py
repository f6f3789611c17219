# SPDX-License-Identifier: Apache-2.0
"""The same programs by the model and by the simulator, as the studies of counts and energy compare them."""

import json
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def add_arguments(parser, chips):
    parser.add_argument("--arch", nargs="+", default=chips)
    parser.add_argument("--suite", default="roller")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operators", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="leave out a program whose simulation takes longer")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder of programs and simulated rows: what is there is "
                        "not simulated again, so that another model is compared on equal terms")
    parser.add_argument("--kept-only", action="store_true", help="simulate nothing: compare what --keep holds")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")


def tilescope(options, *arguments, seconds=None):
    """The JSON that a command prints; None where it takes longer."""
    try:
        done = subprocess.run([options.build / "tilescope", *map(str, arguments), "--json"], capture_output=True,
                              text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    if not done.stdout:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout)


def chosen(options):
    """Operators of the suite that are compared, in its order."""
    ids = [o["id"] for o in tilescope(options, "suite", "show", options.suite)["operators"]]
    if options.operators:
        unknown = set(options.operators.split(",")) - set(ids)
        if unknown:
            raise SystemExit(f"{options.suite} has no operator {', '.join(sorted(unknown))}; 'tilescope suite show "
                             f"{options.suite}' lists them")
        return [i for i in ids if i in options.operators.split(",")]
    if options.draw and options.draw < len(ids):
        drawn = set(random.Random(options.seed).sample(ids, options.draw))
        return [i for i in ids if i in drawn]
    return ids


class Kept:
    """Programs of a chip with their simulated rows, one JSON line each: in a file where there is a folder for it."""

    def __init__(self, options, chip):
        name = ".".join(filter(None, (chip.replace("/", "_"), options.suite, options.dtype, "jsonl")))
        self.path = options.keep / name if options.keep else None
        self.rows = {}
        if self.path and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.rows[row["operator"]] = row

    def add(self, operator, program, simulated):
        self.rows[operator] = {"operator": operator, "program": program, "simulated": simulated}
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(self.rows[operator]) + "\n")


def first_programs(options, chip, ids, folder):
    """By operator, the first program of each that is still to be simulated."""
    if not ids:
        return {}
    tilescope(options, "compile", "--arch", chip, "--suite", options.suite, "--top", 1, "-o", folder / "programs",
              *(["--dtype", options.dtype] if options.dtype else []))
    lines = (folder / "programs" / "programs.jsonl").read_text(encoding="utf-8").splitlines()
    programs = {program["group"]: program for program in map(json.loads, lines)}
    return {i: programs[i] for i in ids if i in programs}


def pairs_of(options, chip, ids):
    """(operator, what the model says, what the simulator says) of the first programs, and what has none, and why."""
    kept, failed = Kept(options, chip), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        batch = folder / "batch.jsonl"
        lacking = [] if options.kept_only else [i for i in ids if i not in kept.rows]
        for operator, program in first_programs(options, chip, lacking, folder).items():
            batch.write_text(json.dumps(program) + "\n", encoding="utf-8")
            simulated = tilescope(options, "simulate", "--arch", chip, "--batch", batch, "--jobs", options.jobs,
                                  seconds=options.seconds)
            if simulated is None:
                failed.append((operator, f"its simulation takes more than {options.seconds:g} s"))
                continue
            kept.add(operator, program, simulated["rows"][0])
        rows = [kept.rows[i] for i in ids if i in kept.rows]
        if not rows:
            return [], failed
        batch.write_text("".join(json.dumps(row["program"]) + "\n" for row in rows), encoding="utf-8")
        predicted = tilescope(options, "predict", "--arch", chip, "--batch", batch)["rows"]
    pairs = []
    for row, model in zip(rows, predicted):
        simulated = row["simulated"]
        why = simulated.get("no_energy") or "; ".join(simulated.get("errors", []))
        if why:
            failed.append((row["operator"], why))
        else:
            pairs.append((row["operator"], model, simulated))
    return pairs, failed
