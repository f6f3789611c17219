# SPDX-License-Identifier: Apache-2.0
"""Figures of predicted against measured times, beside two null models: the roofline, and one constant time."""

import math
import random
import statistics

RESAMPLED = 200
ALL = "all"


def ranks(values):
    """Each value's rank; ties share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for place in order[begin:end]:
            out[place] = (begin + end - 1) / 2
        begin = end
    return out


def rank(a, b):
    """Spearman's rank correlation; None where one of them is constant."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(ranks(a), ranks(b))


def error(predicted, measured):
    return statistics.fmean(abs(p / m - 1) for p, m in zip(predicted, measured))


def of_rows(rows):
    """Of predicted, roofline and measured times."""
    predicted, roofline, measured = zip(*rows)
    constant = math.exp(statistics.fmean(math.log(m) for m in measured))
    return {"rows": len(rows), "rank": rank(predicted, measured), "error": error(predicted, measured),
            "bias": statistics.fmean(p / m - 1 for p, m in zip(predicted, measured)),
            "roofline_rank": rank(roofline, measured), "roofline_error": error(roofline, measured),
            "constant_error": error([constant] * len(measured), measured)}


def noise(rows, key, part=0.1, seed=1):
    """A part of the standard deviation of a figure over samples with repetition."""
    draw = random.Random(seed)
    values = [of_rows([draw.choice(rows) for _ in rows])[key] for _ in range(RESAMPLED)]
    values = [v for v in values if v is not None]
    return part * statistics.pstdev(values) if values else 0.0


def by_group(rows):
    """Figures by group, and of all rows: the mean of the groups' ranks, the mean error."""
    groups = {}
    for group, *times in rows:
        groups.setdefault(group, []).append(tuple(times))
    out = {}
    for group, own in sorted(groups.items()):
        out[group] = of_rows(own)
        for key in ("rank", "error"):
            out[group][f"{key}_noise"] = noise(own, key)
    if len(out) > 1:
        out[ALL] = overall(list(out.values()))
    return out


def mean(values):
    known = [v for v in values if v is not None]
    return statistics.fmean(known) if known else None


def overall(groups):
    total = sum(f["rows"] for f in groups)
    out = {"rows": total}
    for key in ("rank", "roofline_rank"):
        out[key] = mean([f[key] for f in groups])
    for key in ("error", "bias", "roofline_error", "constant_error"):
        out[key] = sum(f[key] * f["rows"] for f in groups) / total
    for key in ("rank_noise", "error_noise"):  # of a mean of independent figures
        out[key] = math.sqrt(sum(f[key] ** 2 for f in groups)) / len(groups)
    return out


def text(value):
    return "-" if value is None else f"{value:.2f}"


def scoreboard(boards, found):
    """docs/scoreboard.md."""
    lines = ["# Scoreboard", "",
             "The model against measured times: a hundred rows of every board, or all that there are, by kind, drawn by a seed. `experiments/studies/boards/run",
             "scoreboard` renders this page from [the rows](../tests/golden/boards); `ctest -R Boards` fails where a figure has moved by",
             "more than its noise, until [the record](../tests/golden/boards/record.yaml) is changed on purpose.", "",
             "Rank is Spearman's correlation over the rows of a group, for a board the mean over its groups. Error is the mean of",
             "|predicted / measured - 1|. Beside both stand two null models: the roofline of the same rows, and one constant time for all",
             "of a group.", "",
             "|board|rows|what was known|rank|error|bias|roofline: rank|error|constant: error|", "|---|--:|---|--:|--:|--:|--:|--:|--:|"]
    for name, board in boards.items():
        f = found[name].get(ALL) or next(iter(found[name].values()))
        lines.append(f"|{name}|{f['rows']} {board['rows']}|{board['known']}|{columns(f)}|")
    lines += ["", "## By group", "", "|board|group|rows|rank|error|bias|roofline: rank|error|constant: error|",
              "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name in boards:
        for group, f in found[name].items():
            if group != ALL:
                lines.append(f"|{name}|{group}|{f['rows']}|{columns(f)}|")
    lines += ["", "## Sources", "", "|board|chip|rows from|", "|---|---|---|"]
    for name, board in boards.items():
        lines.append(f"|{name}|`{board['chip']}`|{board['source']}|")
    return "\n".join(lines) + "\n"


def columns(f):
    return (f"{text(f['rank'])}|{f['error']:.0%}|{f['bias']:+.0%}|{text(f['roofline_rank'])}|{f['roofline_error']:.0%}|"
            f"{f['constant_error']:.0%}")
