# SPDX-License-Identifier: Apache-2.0
"""What two judges of a list of programs say of its first one."""

import math
import statistics


def ranks(values):
    """Each value's rank; ties share the mean of theirs."""
    order = sorted(values)
    first, count = {}, {}
    for place, value in enumerate(order):
        first.setdefault(value, place)
        count[value] = count.get(value, 0) + 1
    return [first[v] + (count[v] - 1) / 2 for v in values]


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    return statistics.correlation(a, b) if len(set(a)) > 1 and len(set(b)) > 1 else 0


def geometric(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def tile_elements(program):
    return max(math.prod(next(iter(node["tiles"].values())).values()) for node in program["nodes"] if node.get("tiles"))
