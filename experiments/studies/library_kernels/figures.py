# SPDX-License-Identifier: Apache-2.0
"""Predicted times beside measured ones: median ratio, mean error, rank; and the null model, a roofline."""

import statistics

AT_PEAK = 0.95  # of the peaks of arithmetic and memory that the null model reaches


def roofline_us(product, chip):
    """At the clock of the chip's file, with every element moved once. None where no unit has the type."""
    m, n, k = (product["sizes"][axis] for axis in "mnk")
    peaks = [unit["derived"]["peak_gflops"] for unit in chip["compute"] if unit["dtype"] == product["element"]]
    dram = next(level for level in chip["memory"].values() if level["kind"] == "dram")
    if not peaks:
        return None
    arithmetic = 2e-3 * m * n * k / max(peaks)
    return max(arithmetic, 1e-3 * product["moved_bytes"] / dram["derived"]["bandwidth_gbps"]) / AT_PEAK


def ranks_of(values):
    """Ranks from 1, equal values the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, first = [0.0] * len(values), 0
    while first < len(order):
        end = first
        while end < len(order) and values[order[end]] == values[order[first]]:
            end += 1
        for position in order[first:end]:
            ranks[position] = (first + 1 + end) / 2
        first = end
    return ranks


def rank_correlation(a, b):
    """Spearman's; None of fewer than three, or of equal values."""
    if len(a) < 3 or len(set(a)) == 1 or len(set(b)) == 1:
        return None
    return statistics.correlation(ranks_of(a), ranks_of(b))


def figures(predicted, measured):
    """(median ratio, mean error, rank)"""
    ratios = [p / m for p, m in zip(predicted, measured)]
    return (statistics.median(ratios), statistics.fmean(abs(r - 1) for r in ratios),
            rank_correlation(predicted, measured))


def text(found):
    median, error, rank = found
    return f"{median:6.2f} {error:7.1%} {'-' if rank is None else f'{rank:.3f}':>6}"
