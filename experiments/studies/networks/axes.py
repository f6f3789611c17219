#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each axis of a swept store does to each network, all other axes being those of the base.

    build/tilescope sweep experiments/studies/networks/sweep.yaml --store n.db
    experiments/studies/networks/axes.py n.db

Prints, for each network of sweep.yaml and each value of an axis, its time over that on the base; then the least and the
greatest of all points. The name of a group begins with its network's.
"""

import json
import pathlib
import sqlite3
import sys

import yaml

SWEEP = pathlib.Path(__file__).with_name("sweep.yaml")


def main():
    sweep = yaml.safe_load(SWEEP.read_text(encoding="utf-8"))
    store = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    points = {}
    for point, at, operator, us in store.execute(
            "SELECT p.ordinal, p.at, w.name, w.weight * r.predicted_us FROM points p"
            " JOIN sweep_workloads w ON w.sweep = p.sweep"
            " JOIN rows r ON r.chip = p.chip AND r.request = p.request AND r.workload = w.workload"):
        times = points.setdefault(point, ([text for text, _ in json.loads(at)], {}))[1]
        network = operator.split(": ")[0]
        times[network] = times.get(network, 0) + us
    base_at, base = points.pop(0)
    first = 0
    for axis in sweep["axes"]:
        tied = range(first, first + axis.count(",") + 1)
        first = tied.stop
        print(axis.split(",")[0])
        for at, times in points.values():
            if all(at[i] == base_at[i] for i in range(len(at)) if i not in tied):
                ratios = "  ".join(f"{n} {us / base[n]:.3f}" for n, us in times.items())
                print(f"  {at[tied.start]:>10}  {ratios}")
    for name, choose in (("least", min), ("greatest", max)):
        print(f"{name:12}", "  ".join(f"{n} {choose(t[n] / base[n] for _, t in points.values()):.3f}" for n in base))


if __name__ == "__main__":
    main()
