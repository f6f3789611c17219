# SPDX-License-Identifier: Apache-2.0
"""Rows of KernelBench's single operators with the operator of each, as PyTorch ran them on many boards."""

import csv
import gzip
import re

import yaml

SUITES = {"v0.1": "kernelbench_level1.yaml", "v0.2": "kernelbench_level1_v02.yaml"}
EAGER_SUITES = {name: file.replace(".yaml", "_eager.yaml") for name, file in SUITES.items()}
LONG_US = 100  # of set v0.1: its times include the launch, and the L2 is warm
FEW_CHANNELS = 4
KINDS = {"matmul": "product", "activation": "elementwise", "norm": "normalization", "cumsum": "scan",
         "transposed-conv": "transposed conv"}  # where the suites' word is another
BOARD_WORDS = re.compile(r"nvidia|tesla|geforce|amd|instinct|[^a-z0-9]")
ALIASES = {"a10": "a10g"}  # KernelBench's A10 is the A10G of its host


def operators_in(suites, folders):
    """Operators by set; each suite from the first folder that has it."""
    found = {}
    for name, file in suites.items():
        path = next((folder / file for folder in folders if (folder / file).exists()), None)
        found[name] = yaml.safe_load(path.read_text(encoding="utf-8"))["operators"] if path else []
    return found


def operators(*folders):
    """Operators by (set, problem)."""
    return {(name, op["id"]): op for name, suite in operators_in(SUITES, folders).items() for op in suite}


def operations(*folders):
    """The operators that eager mode runs one after the other, by (set, number of the problem)."""
    found = {}
    for name, suite in operators_in(EAGER_SUITES, folders).items():
        for op in suite:
            found.setdefault((name, op["id"].split(".")[0]), []).append(op)
    return found


def rows_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return list(csv.DictReader(file))


def times_of(row):
    """PyTorch's times in us: of eager mode, and of the fastest of its compiled modes, where there are any."""
    return {mode: float(row[column]) for mode, column in (("eager", "eager_us"), ("compiled", "best_us")) if row[column]}


def fastest(row):
    """PyTorch's fastest mode and its time in us."""
    return min(times_of(row).items(), key=lambda mode_and_us: mode_and_us[1])


def launches(rows):
    """Of set v0.1, the least time of a device, host and mode among rows that are too short to be judged: what its times
    contain beside the kernel's."""
    found = {}
    for row in rows:
        for mode, us in times_of(row).items() if row["set"] == "v0.1" else ():
            if us < LONG_US:
                key = launch_key(row, mode)
                found[key] = min(us, found.get(key, us))
    return found


def launch_key(row, mode):
    return row["set"], row["device"], row["host"], mode


def in_tf32(row):
    """PyTorch lets cuDNN compute convolutions in TF32, and keeps products in f32, unless it is told otherwise."""
    return "tf32" in row["arithmetic"] and "conv" in row["kind"]


def kind_of(op):
    kind = KINDS.get(op["kind"], op["kind"])
    weights = re.search(r"\bW\[\w+,(\w+)", op["op"])
    if kind == "conv" and weights:
        few = op["sizes"][weights[1]] <= FEW_CHANNELS
        return "conv, few channels" if few else "conv, many channels"
    return kind


def board_key(name):
    return BOARD_WORDS.sub("", name.lower())


def chips(folder):
    """Chips of arch/devices by the key of their own name and of the name that the driver gives their board."""
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        chip = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name in (path.stem, chip.get("board")):
            if name:
                found[board_key(name)] = path.stem
    return found


def chip_of(device, known):
    """The chip of a row's device; None where there is no file of it."""
    key = board_key(device)
    return known.get(ALIASES.get(key, key))
