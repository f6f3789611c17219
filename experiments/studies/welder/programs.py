# SPDX-License-Identifier: Apache-2.0
"""Programs of the suite on a chip: compiled, predicted, simulated, and what was simulated before."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SUITE = "fused"


class Kept:
    """Answers by what they depend on, in a file that only grows; in memory without a file."""

    def __init__(self, options):
        self.path = options.keep
        self.binary = hashlib.sha256(pathlib.Path(options.tilescope).read_bytes()).hexdigest()
        self.answers = {}
        for line in self.path.read_text().splitlines() if self.path and self.path.exists() else []:
            try:
                row = json.loads(line)
                self.answers[row["key"]] = row["answer"]
            except (json.JSONDecodeError, KeyError, TypeError):  # cut off by what ended the run that wrote it
                continue

    def answer(self, asked, find):
        """What `find` gives, or gave before; nothing is not kept."""
        key = hashlib.sha256(json.dumps([self.binary, asked], sort_keys=True).encode()).hexdigest()
        if key not in self.answers:
            found = find()
            if found is None:
                return None
            self.answers[key] = found
            if self.path:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write("\n" + json.dumps({"key": key, "answer": found}))
        return self.answers[key]


class Tilescope:
    def __init__(self, options):
        self.program = options.tilescope
        self.jobs = ["--jobs", str(options.jobs)] if options.jobs else []
        self.limit = options.limit
        self.kept = Kept(options)
        self.chips, self.suites = {}, {}

    def run(self, *words, limit=None):
        """The document that a command prints, or nothing where it takes longer than the limit."""
        command = [self.program, *words, "--json"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        if not done.stdout:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    def chip(self, arch, changes=()):
        if (arch, changes) not in self.chips:
            self.chips[arch, changes] = self.run("arch", "show", arch, *changes)
        return self.chips[arch, changes]

    def suite(self, arch, changes, fuse):
        """The operators of the suite with the first program of each."""
        asked = (arch, changes, fuse)
        if asked not in self.suites:
            document = self.run("compile", "--arch", arch, *changes, "--suite", SUITE, "--fuse", fuse, "--top", "1",
                                *self.jobs)
            self.suites[asked] = {op["id"]: op for op in document["operators"]}
        return self.suites[asked]

    def run_program(self, verb, program, arch, changes, limit=None):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(program, file)
            file.flush()
            return self.run(verb, "--arch", arch, *changes, "--program", file.name, limit=limit)

    def simulated(self, program, arch, changes):
        """The simulation of a program; nothing where it takes too long."""
        def find():
            document = self.run_program("simulate", program, arch, changes, self.limit)
            row = document and document["operators"][0]
            return row and {name: row.get(name) for name in ("simulated_us", "levels", "error")}
        return self.kept.answer([program, self.chip(arch, changes)], find)


def kernels_of(program, outermost):
    """Stages that share a kernel, by the tensors that they make: those joined by edges that stay within cores. The
    second kernel of a split reduction is not counted.
    """
    kernels = [{n} for n in range(len(program["nodes"]))]
    for edge in program.get("edges", []):
        if edge["level"] != outermost:
            of = [next(k for k in kernels if edge[end] in k) for end in ("from", "to")]
            if of[0] is not of[1]:
                kernels.remove(of[1])
                of[0] |= of[1]
    names = [re.match(r"\w+", node["expr"]).group() for node in program["nodes"]]
    return ["+".join(names[n] for n in sorted(k)) for k in kernels]


class Row:
    """A program on a chip, predicted and, if asked for, simulated; all is unknown where there is no program."""

    def __init__(self, tool, found, arch, changes=(), simulate=True):
        outermost = next(iter(tool.chip(arch, changes)["memory"]))
        self.program = found.get("program")
        self.kernels = kernels_of(self.program, outermost) if found else []
        self.predicted = found.get("predicted_us")
        self.bottleneck = found.get("bottleneck")
        self.predicted_bytes = self.simulated = self.simulated_bytes = None
        if not found:
            return
        self.predicted_bytes = found.get("dram_read_bytes", found["levels"][outermost]["bytes"]) + found.get(
            "dram_written_bytes", 0)
        ran = tool.simulated(self.program, arch, changes) if simulate else None
        if ran and ran["levels"]:
            self.simulated = ran["simulated_us"]
            self.simulated_bytes = sum(ran["levels"][outermost][way] for way in ("read_bytes", "written_bytes"))

    def values(self):
        return [len(self.kernels), " ".join(self.kernels), self.predicted, self.simulated, self.predicted_bytes,
                self.simulated_bytes, self.bottleneck]


def row_of(tool, name, arch, fuse, changes=(), simulate=True):
    """Of an operator of the suite."""
    programs = tool.suite(arch, changes, fuse)[name].get("programs")
    return Row(tool, programs[0] if programs else {}, arch, changes, simulate)


def first_alone(tool, row, arch):
    """The first stage of a program, by itself."""
    program = {**row.program, "nodes": row.program["nodes"][:1], "edges": []}
    return Row(tool, {**tool.run_program("predict", program, arch, ()), "program": program}, arch)


class Both:
    """One program after another."""

    def __init__(self, one, other):
        self.kernels, self.bottleneck = one.kernels + other.kernels, None
        for figure in ("predicted", "simulated", "predicted_bytes", "simulated_bytes"):
            figures = [getattr(one, figure), getattr(other, figure)]
            setattr(self, figure, None if None in figures else sum(figures))

    values = Row.values


class Gain:
    """How many times as fast shared kernels are, predicted and simulated."""

    def __init__(self, apart, shared):
        self.apart, self.shared = apart, shared
        self.predicted = ratio(apart.predicted, shared.predicted)
        self.simulated = ratio(apart.simulated, shared.simulated)


def ratio(over, under):
    return over / under if over and under else None
