# SPDX-License-Identifier: Apache-2.0
"""Least squares with coefficients that are not negative."""


def fit(rows, wanted, rounds=20000, close=1e-12):
    """x >= 0 with the least sum of (row . x - wanted)^2, by descent along one coordinate after another: the sum is
    convex, and no bound couples two of them, so that it ends in the least."""
    width = len(rows[0])
    scale = [max(abs(row[i]) for row in rows) or 1 for i in range(width)]
    rows = [[v / s for v, s in zip(row, scale)] for row in rows]
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(width)] for i in range(width)]
    right = [sum(row[i] * w for row, w in zip(rows, wanted)) for i in range(width)]
    x = [0.0] * width
    for _ in range(rounds):
        largest = 0
        for i in range(width):
            if gram[i][i] == 0:
                continue
            new = max(0.0, x[i] + (right[i] - sum(g * v for g, v in zip(gram[i], x))) / gram[i][i])
            largest, x[i] = max(largest, abs(new - x[i])), new
        if largest <= close * max(1.0, *x):
            break
    return [v / s for v, s in zip(x, scale)]
