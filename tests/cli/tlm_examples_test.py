# SPDX-License-Identifier: Apache-2.0
"""The examples of examples/tlm_*, built against what is installed: python3 tlm_examples_test.py BUILD.

tlm_platform takes the cycles of `tilescope trace` on a hundred rows (chip, pattern, injection), to the cycle;
tlm_caches one core's and several cores' of `trace --level l2`; tlm_memory and tlm_cache run a program in front of their
memory and cache. Half are built as C++17, half as C++20.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHIPS = ["ddr4_8gb_x8_3200_ch4", "hbm2_8gb_x128", "gddr5_8gb_x32", "gddr6_8gb_x16", "v100"]
INJECTIONS = ["sat", "batch", "win:1", "win:5", "win:64"]


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def patterns(seed):
    draw = random.Random(seed)
    yield "sequential", [(64 * i, "R", 64) for i in range(600)]
    yield "random", [(64 * draw.randrange(1 << 20), draw.choice("RRRW"), 64) for _ in range(600)]
    yield "parts", [(96 * i % (1 << 20), "W" if i % 5 == 0 else "R", draw.choice([32, 64, 100, 200])) for i in range(600)]
    yield "few", [(64 * draw.randrange(40), draw.choice("RW"), 64) for _ in range(600)]


def build(example, standard, folder):
    run("cmake", "-S", ROOT / "examples" / example, "-B", folder / example, f"-DCMAKE_PREFIX_PATH={folder / 'installed'}",
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_STANDARD={standard}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", folder / example)
    return folder / example / example


def chip_of(name):
    file = ROOT / "arch/devices/memory" / f"{name}.yaml"
    return file if file.exists() else name


def check_platform(platform, tilescope, folder, environment):
    rows = wrong = 0
    for name, requests in patterns(seed=1):
        trace = folder / f"{name}.txt"
        trace.write_text("".join(f"{address:#x} {kind} {size}\n" for address, kind, size in requests))
        for chip in CHIPS:
            for inject in INJECTIONS:
                wants = json.loads(run(tilescope, "trace", "--arch", chip_of(chip), "--inject",
                                       "sat" if inject == "batch" else inject, trace, "--json"))
                says = run(platform, chip_of(chip), trace, inject, env=environment)
                said = dict(line.split() for line in says.splitlines() if line.startswith(("bursts", "cycles")))
                rows += 1
                if (int(said["cycles"]), int(said["bursts"])) != (wants["cycles"], wants["bursts"]):
                    wrong += 1
                    print(f"{chip} {name} {inject}: {said}, trace has {wants['cycles']} cycles, {wants['bursts']} bursts")
    print(f"tlm_platform: {rows} rows, {wrong} differ from trace")
    return rows == 100 and wrong == 0


def check_caches(caches, tilescope, folder, environment):
    """One core takes the cycles of a window; of several, ties of one cycle fall as answers come, not by the trace."""
    rows = wrong = 0
    worst = 0.0
    for name, _ in patterns(seed=1):
        trace = folder / f"{name}.txt"
        for chip in ("v100", "a100", "mi210"):
            for cores, lines in ((1, 1), (1, 7), (1, 64), (8, 4)):
                inject = ["--set", f"core.count={cores}"]
                inject += ["--inject", f"win:{lines}"] if cores == 1 else ["--set", f"memory.l1.mshrs={lines}"]
                wants = json.loads(run(tilescope, "trace", "--arch", chip, "--level", "l2", *inject, trace, "--json"))
                says = run(caches, chip, trace, cores, lines, env=environment)
                said = int(next(line.split()[1] for line in says.splitlines() if line.startswith("cycles")))
                rows += 1
                worst = max(worst, abs(said / wants["cycles"] - 1))
                if cores == 1 and said != wants["cycles"]:
                    wrong += 1
                    print(f"{chip} {name} {cores} cores, {lines} lines: {said}, trace has {wants['cycles']} cycles")
    print(f"tlm_caches: {rows} rows, {wrong} of one core differ from trace, of several at most {100 * worst:.2f} %")
    return wrong == 0 and worst < 0.01


def check_memory(memory, environment):
    program = ROOT / "docs/timeline_program.json"
    cycles = []
    for busy in ("40", "400"):
        says = run(memory, "v100", program, "64", busy, env=environment)
        cycles.append(int(next(line.split()[1] for line in says.splitlines() if line.startswith("cycles"))))
        if "dram bytes read 2097152, written 0" not in says:  # both factors once
            return False
    print(f"tlm_memory: {cycles[0]} cycles, and {cycles[1]} with banks that are busy ten times as long")
    failed = subprocess.run([memory, "v100", "no such file"], capture_output=True, text=True, env=environment, check=False)
    return cycles[0] < cycles[1] and failed.returncode == 1 and "no such file: cannot be read" in failed.stderr


def check_cache(cache, environment):
    """A product of 512 x 512 x 512 touches 3 MiB: a cache that holds them misses each line once."""
    program = ROOT / "docs/timeline_program.json"
    says = {}
    for size, latency in ((6144, 140), (6144, 1400), (96, 140)):
        lines = run(cache, "v100", program, size, latency, env=environment).splitlines()
        says[size, latency] = {key: float(value) for key, value in (line.split() for line in lines)}
    fits, slow, small = says.values()
    print(f"tlm_cache: {fits['cycles']:.0f} cycles; {slow['cycles']:.0f} with a slower memory, {small['cycles']:.0f} "
          f"with a cache that misses {small['misses']:.0f} of {small['requests']:.0f}")
    return (fits["misses"] == slow["misses"] == 3 * 512 * 512 * 4 / 128 < small["misses"] <= small["requests"]
            and fits["cycles"] < min(slow["cycles"], small["cycles"]))


def main():
    binaries = Path(sys.argv[1])
    for tool in ("cmake", "pkg-config"):
        if shutil.which(tool) is None:
            print(f"skipped=no {tool}")
            return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for component in ("systemc", "data"):
            run("cmake", "--install", binaries, "--prefix", folder / "installed", "--component", component)
        environment = {**os.environ, "SYSTEMC_DISABLE_COPYRIGHT_MESSAGE": "1",
                       "TILESCOPE_HOME": str(folder / "installed/share/tilescope")}
        good = check_platform(build("tlm_platform", 17, folder), binaries / "tilescope", folder, environment)
        good = check_caches(build("tlm_caches", 20, folder), binaries / "tilescope", folder, environment) and good
        good = check_memory(build("tlm_memory", 20, folder), environment) and good
        return 0 if check_cache(build("tlm_cache", 17, folder), environment) and good else 1


sys.exit(main())
