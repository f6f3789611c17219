# SPDX-License-Identifier: Apache-2.0
"""A bundle: all that a machine with a GPU needs to measure, made where Tilescope is built.

gpu_bundle/manifest.json    what it holds, how long it should take, and the hash of the code that it belongs to
gpu_bundle/bundle.zip       CHIP/STAGE.txt (plans, backends/cuda/device/plan.h), CHIP/torch.json, and each cubin once,
                            named by its contents
"""

import functools
import hashlib
import json
import lzma
import math
import pathlib
import random
import re
import subprocess
import tempfile
import zipfile
import zlib

import stages

ROOT = pathlib.Path(__file__).resolve().parents[3]
FORMAT = 1
MAX_BYTES = 40 << 20
# The code that programs, plans and rows come from. A bundle of other code would measure what this tree does not make.
CODE_FOLDERS = ("base", "arch", "expr", "tile", "lower", "model", "construct", "targets", "backends/cuda",
                "api", "experiments/measure", "experiments/microbench")
CODE_SUFFIXES = (".h", ".cc", ".cuh", ".in", ".yaml")
STUDY = pathlib.Path(__file__).resolve().parent


PROGRESS = re.compile(r"\d+ of \d+ (programs|kernels), ")


class BundleError(Exception):
    """A fault of a bundle, or the reason why none can be made, in a sentence."""


def code_files():
    product = sorted(file for folder in CODE_FOLDERS for file in (ROOT / folder).rglob("*")
                     if file.suffix in CODE_SUFFIXES and file.is_file())
    return [*product, STUDY / "bundle.py", STUDY / "stages.py", *sorted(STUDY.glob("suites/*.yaml"))]


@functools.cache
def code_hash():
    out = hashlib.sha256()
    for file in code_files():
        out.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return out.hexdigest()[:16]


def first_newer(tilescope):
    """A source that is newer than the built program: what it makes may not be this code's."""
    built = pathlib.Path(tilescope).stat().st_mtime
    return next((file.relative_to(ROOT) for file in code_files()
                 if file.suffix not in (".py", ".yaml") and file.stat().st_mtime > built), None)


# --- plans

class PlanText:
    """A plan as `tilescope measure --plan` writes it: the head's lines, then the lines of each task."""

    def __init__(self, text):
        head, *tasks = re.split(r"(?m)^(?=task )", text)
        self.head = head.splitlines()
        self.tasks = tasks

    def with_command(self):
        """The tasks, each of which says the command that it is of."""
        command = [line for line in self.head if line.startswith("remark command ")]
        return [task.replace("\n", "\n" + "".join(f"{line}\n" for line in command), 1) for task in self.tasks]


def by_operator(text, kinds):
    """A plan of programs by name, ID.RANK, as one of operators and the ranks of their programs."""
    def named(match):
        group, rank = match["name"].rsplit(".", 1)
        return f"task {group}\nnote kind {kinds[group]}\n{match['notes']}remark rank {rank}\n"
    return re.sub(r"(?m)^task (?P<name>\S+)\n(?P<notes>(?:note .*\n)*)remark rank 0\n", named, text)


def spread_over(programs, count, chance):
    """Of (line, program), best predicted first: a quarter from the front, a sixth each of the largest tiles and of the
    most bytes in flight, the rest by chance. In the list's order."""
    def elements(program):  # of the outermost tiles of a program's stages
        return sum(math.prod(next(iter(node["tiles"].values())).values()) for node in program["nodes"] if node.get("tiles"))

    def in_flight(program):
        return elements(program) * max(node.get("num_stages", 1) for node in program["nodes"])

    chosen = set(range(min(count // 4, len(programs))))
    for worth in (elements, in_flight):
        order = sorted(range(len(programs)), key=lambda i: (-worth(programs[i][1]), i))
        chosen.update([i for i in order if i not in chosen][:count // 6])
    rest = [i for i in range(len(programs)) if i not in chosen]
    chosen.update(chance.sample(rest, min(max(count - len(chosen), 0), len(rest))))
    return [programs[i][0] for i in sorted(chosen)]


def what_it_measures(task):
    return "\n".join(line for line in task.splitlines() if not line.startswith("remark "))


def joined(texts):
    """One plan of several: what two of them ask alike is asked once."""
    plans = [PlanText(text) for text in texts]
    head = [line for line in plans[0].head if not line.startswith("remark ")]
    tasks = {}
    for plan in plans:
        for task in plan.with_command():
            tasks.setdefault(what_it_measures(task), task)
    return "\n".join(head) + "\n\n" + "".join(tasks.values())


def launches(plan):
    """(operator, kernel) of each launch of a plan, in the order in which they run."""
    out, operator = [], ""
    for line in plan.splitlines():
        word, _, rest = line.partition(" ")
        if word == "task":
            operator = rest
        elif word == "launch":
            out.append((operator, rest.split(" ", 1)[0]))
    return out


# --- at home

class Maker:
    """Makes plans of a chip by a built Tilescope."""

    def __init__(self, tilescope, chip, quick, seed, say):
        self.tilescope, self.chip, self.quick, self.seed, self.say = tilescope, chip, quick, seed, say
        self.refused = []  # programs that cannot be compiled, and why
        self.cubins = {}  # bytes by name

    def run(self, *words):
        return subprocess.run([self.tilescope, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=ROOT)

    def instructions(self):
        shown = json.loads(self.run("arch", "show", self.chip, "--json").stdout)
        return {unit["name"] for unit in shown["compute"]}

    def drawn(self, name, count, folder):
        """A suite file of `count` operators of a suite, drawn by the seed."""
        import yaml  # at home alone: a GPU's machine may lack it
        file = ROOT / name if "/" in name else ROOT / "expr/suites" / f"{name}.yaml"
        suite = yaml.safe_load(file.read_text(encoding="utf-8"))
        operators = suite["operators"]
        chosen = sorted(random.Random(f"{self.seed} {name}").sample(range(len(operators)), min(count, len(operators))))
        suite["operators"] = [operators[i] for i in chosen]
        to = pathlib.Path(folder) / f"{file.stem}.yaml"
        to.write_text(yaml.safe_dump(suite), encoding="utf-8")
        return str(to)

    def arguments(self, plan, folder):
        """Of a plan, with operators drawn. `quick` takes one small operator of each suite and two points of curves."""
        words = list(plan.arguments)
        count = 1 if self.quick else plan.draw
        if count and "--suite" in words:
            at = words.index("--suite") + 1
            words[at] = self.drawn(words[at], count, folder)
        if self.quick and "--suite" in words and "--scale" not in words and not plan.is_small:
            words += ["--scale", "small"]
        if self.quick and words[0] == "--microbench":
            words[1:1] = ["latency:64", "dispatch:256"]
        return words

    def spread(self, words, count, folder):
        """Arguments that measure `count` programs from all over each operator's list; and the operators' kinds."""
        at = words.index("--suite")
        name, timing = words[at + 1], words[:at] + words[at + 2:]
        done = self.run("compile", "--arch", self.chip, "--suite", name, "--top", "1000", "-o", str(folder / "all"), "--json")
        if done.returncode != 0:
            raise BundleError(f"{self.chip}: {done.stderr.strip()}")
        kinds = {row["id"]: row["kind"] for row in json.loads(done.stdout)["operators"]}
        lists = {}
        for line in (folder / "all/programs.jsonl").read_text(encoding="utf-8").splitlines():
            program = json.loads(line)
            lists.setdefault(program["group"], []).append((line, program))
        chosen = [line for group, programs in lists.items()
                  for line in spread_over(programs, count, random.Random(f"{self.seed} {group}"))]
        to = folder / "spread.jsonl"
        to.write_text("\n".join(chosen) + "\n", encoding="utf-8")
        return ["--batch", str(to), *timing], kinds

    def plan(self, stage):
        """The plan of a stage; its cubins join the others."""
        texts = []
        have = self.instructions()
        for plan in stage.plans:
            if plan.needs and plan.needs not in have:
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                words = self.arguments(plan, folder)
                kinds = {}
                if plan.spread:
                    words, kinds = self.spread(words, plan.spread, folder)
                done = self.run("measure", "--arch", self.chip, *words, "--dry-run", "--plan", str(folder / "plan"))
                file = folder / "plan/plan.txt"
                if not file.exists():
                    raise BundleError(f"{self.chip}: {done.stderr.strip()}")
                if done.returncode != 0:
                    self.refused += [f"{self.chip} {stage.name}: {line}" for line in done.stderr.splitlines()
                                     if not line.startswith("note: ") and not PROGRESS.search(line)]
                # A command names no folder that is gone.
                text = file.read_text(encoding="utf-8").replace(name + "/", "")
                texts.append(by_operator(text, kinds) if plan.spread else text)
                for cubin in (folder / "plan").glob("*.cubin"):
                    self.cubins[cubin.name] = cubin.read_bytes()
        return joined(texts)

    def torch(self):
        """The operators that PyTorch has a call for, with the sizes that it takes."""
        out = []
        for name, calls in stages.TORCH.items():
            shown = json.loads(self.run("suite", "show", name, "--json").stdout)
            for row in shown["operators"]:
                found = calls.get(row["id"]) or calls.get(f"kind {row['kind']}")
                if not found:
                    continue
                call, axes = found
                sizes = dict(re.findall(r"(\w+)=(\d+)", row["sizes"]))
                out.append({"id": row["id"], "kind": row["kind"], "dtype": row["dtype"], "call": call,
                            "operator": row["operator"], "sizes": [int(sizes[axis]) for axis in axes.split()]})
        return out[:2] if self.quick else out

    def simulated(self, stage):
        """What the simulator counts for the programs of a stage, by operator."""
        out = {}
        for plan in stage.plans:
            name = plan.arguments[plan.arguments.index("--suite") + 1]
            with tempfile.TemporaryDirectory() as folder:
                done = self.run("simulate", "--arch", self.chip, "--suite",
                                self.drawn(name, 1, folder) if self.quick else name, "--json")
            for row in json.loads(done.stdout)["operators"]:
                if "levels" in row:
                    out[row["id"]] = {"simulated_us": row["simulated_us"], "levels": row["levels"],
                                      "stalls": row["stalls"]}
        return out


def make(folder, tilescope, chips, quick, seed, say):
    """Writes a bundle; the programs that it lacks, since they cannot be compiled, a sentence each."""
    if not pathlib.Path(tilescope).exists():
        raise BundleError(f"{tilescope} is not there; './dev build' makes it")
    if newer := first_newer(tilescope):
        raise BundleError(f"{newer} is newer than {tilescope}; './dev build' first")
    folder.mkdir(parents=True, exist_ok=True)
    refused, cubins, contents = [], {}, {}
    for chip in chips:
        maker = Maker(tilescope, chip, quick, seed, say)
        for stage in stages.STAGES:
            if stage.tool == "torch":
                contents[f"{chip}/torch.json"] = json.dumps(maker.torch())
                continue
            contents[f"{chip}/{stage.name}.txt"] = plan = maker.plan(stage)
            if stage.tool == "ncu":
                say(f"{chip} {stage.name}: simulating the programs whose counters are read")
                contents[f"{chip}/{stage.name}.json"] = json.dumps(maker.simulated(stage))
            say(f"{chip} {stage.name}: {len(PlanText(plan).tasks)} tasks")
        refused += maker.refused
        cubins.update(maker.cubins)
    new = folder / "bundle.zip.new"
    with zipfile.ZipFile(new, "w", zipfile.ZIP_LZMA) as packed:
        for name, text in contents.items():
            packed.writestr(name, text)
        for name in sorted(cubins):
            packed.writestr(f"cubins/{name}", cubins[name])
    new.replace(folder / "bundle.zip")
    return refused


def write_manifest(folder, chips, expected, refused=()):
    """`expected`: by chip and stage the number of tasks and their seconds."""
    manifest = {"format": FORMAT, "code": code_hash(), "chips": list(chips), "expected": expected,
                "refused": list(refused),
                "bytes": (folder / "bundle.zip").stat().st_size}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest


# --- at the GPU

class Bundle:
    """A bundle that belongs to this tree's code; a BundleError where it does not."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        prepare = "'experiments/studies/gpu/run prepare' makes one, where Tilescope is built"
        try:
            self.manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
            self.manifest["chips"][0]
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            raise BundleError(f"{self.folder} holds no bundle; {prepare}") from None
        if self.manifest.get("format") != FORMAT or self.manifest.get("code") != code_hash():
            raise BundleError(f"{self.folder} was made by other code than this tree's; {prepare}")

    def chips(self):
        return self.manifest["chips"]

    def unpack(self, chip, to):
        """The plans of a chip and the code that they name, in one folder."""
        try:
            self.unpack_files(chip, to)
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, UnicodeDecodeError) as error:
            raise BundleError(f"{self.folder}/bundle.zip is damaged: {error}; copy it again") from None

    def unpack_files(self, chip, to):
        with zipfile.ZipFile(self.folder / "bundle.zip") as packed:
            cubins = set()
            for name in packed.namelist():
                where, _, file = name.partition("/")
                if where == chip:
                    content = packed.read(name)
                    cubins.update(re.findall(r"(?m)^(?:module|helpers) (\S+)$", content.decode()))
                    (to / file).write_bytes(content)
            for cubin in cubins:
                (to / cubin).write_bytes(packed.read(f"cubins/{cubin}"))
