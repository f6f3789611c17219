# SPDX-License-Identifier: Apache-2.0
"""What the rows of a device say, as tables."""

import collections
import json
import pathlib
import re
import statistics
import subprocess

import rows as rows_of
import stages

ROOT = pathlib.Path(__file__).resolve().parents[3]


def print_table(say, title, names, rows):
    if not rows:
        return
    cells = [[str(cell) for cell in row] for row in (names, *rows)]
    widths = [max(len(row[c]) for row in cells) for c in range(len(names))]
    say("")
    say(title)
    for row in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def us(value):
    return "" if value is None else f"{value:.4g} us"


def ratio(a, b):
    return "" if not a or not b else f"{a / b:.2f}"


def ranks(values):
    """Ranks from 0, equal values sharing the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for i in order[begin:end]:
            out[i] = (begin + end - 1) / 2
        begin = end
    return out


def spearman(a, b):
    ra, rb = ranks(a), ranks(b)
    ma, mb = statistics.fmean(ra), statistics.fmean(rb)
    cov = sum((x - ma) * (y - mb) for x, y in zip(ra, rb))
    var = sum((x - ma) ** 2 for x in ra) * sum((y - mb) ** 2 for y in rb)
    return cov / var ** 0.5 if var else None


# --- parts of the tables, each from the rows alone

def values_of(rows):
    """(dtype, kind): right, wrong, failed otherwise; right within bounds that hardly any value fails."""
    out = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        if "program" in row:
            right = 3 if "values_loose" in row else 0
            column = {"ok": right, "wrong": 1}.get(row.get("values"), 2 if "error" in row else None)
            if column is not None:
                out[row.get("dtype", ""), row.get("kind", "")][column] += 1
    return [(dtype, kind, *counts) for (dtype, kind), counts in sorted(out.items())]


def timed_cold(rows):
    return [row for row in rows if row.get("measured_us", 0) > 0 and row.get("l2") == "cold" and "curve" not in row
            and "scale" not in row and "dtype" in row]


def best_libraries(rows):
    """The fastest library that computes an operator, by id and dtype; a copy of its bytes only where none does."""
    out = {}
    for row in timed_cold(rows):
        if "baseline" not in row:
            continue
        key, worth = (row["id"], row["dtype"]), (row["baseline"] == "copy", row["measured_us"])
        if key not in out or worth < (out[key]["baseline"] == "copy", out[key]["measured_us"]):
            out[key] = row
    return out


def first_programs(rows):
    """(id, dtype, predicted, measured, library, its time, clock), of programs of rank 0."""
    libraries = best_libraries(rows)
    out = {}
    for row in timed_cold(rows):
        if "program" in row and row.get("rank") == 0:
            library = libraries.get((row["id"], row["dtype"]), {})
            out[row["id"], row["dtype"]] = (row["id"], row["dtype"], row.get("predicted_us"), row["measured_us"],
                                            library.get("baseline", ""), library.get("measured_us"),
                                            row.get("core_mhz"))
    return list(out.values())


def rank_of_programs(rows):
    """(id, dtype, programs, Spearman, best time over that of the first choice), of operators with five programs."""
    programs = collections.defaultdict(dict)
    for row in timed_cold(rows):
        if "program" in row and "predicted_us" in row:
            programs[row["id"], row["dtype"]][row["program"]] = row
    out = []
    for (name, dtype), found in programs.items():
        if len(found) < 5:
            continue
        predicted = [row["predicted_us"] for row in found.values()]
        measured = [row["measured_us"] for row in found.values()]
        first = measured[predicted.index(min(predicted))]
        out.append((name, dtype, len(found), spearman(predicted, measured), min(measured) / first))
    return out


def curve_points(rows):
    """(curve, x, value, unit) of curves whose points have both of their kernels."""
    parts = collections.defaultdict(dict)
    for row in rows:
        if {"curve", "x", "part", "amount", "unit"} <= row.keys() and row.get("measured_us", 0) > 0 and row["amount"] > 0:
            parts[row["curve"], row["x"]][row["part"]] = row
    out = []
    for (curve, x), found in parts.items():
        if len(found) < 2:
            continue
        longer, more = found["longer"], found["longer"]["measured_us"] - found["shorter"]["measured_us"]
        amount, unit = longer["amount"], longer["unit"]
        if unit == "ratio":
            value = longer["measured_us"] / found["shorter"]["measured_us"]
        elif more <= 0 or unit == "cycles" and "core_mhz" not in longer:
            continue
        elif unit not in ("cycles", "ns", "GB/s"):
            continue
        else:
            value = {"cycles": more * longer.get("core_mhz", 0) / amount, "ns": 1e3 * more / amount,
                     "GB/s": amount / more / 1e3}[unit]
        out.append((curve, x, value, unit))
    return sorted(out)


def power_rows(rows):
    return [(row["id"], row.get("dtype", ""), f"{row['power_w']:.0f} W", us(row.get("loop_us")),
             f"{row['run_mj']:.4g} mJ" if "run_mj" in row else "",
             f"{row['loop_core_mhz']:.0f} MHz" if "loop_core_mhz" in row else "", row.get("temperature_c", ""))
            for row in rows if "power_w" in row and row.get("kind") != "device"]


def counter_rows(rows):
    out = []
    for row in rows:
        if row.get("kind") != "counters":
            continue
        dram = row.get("dram_read_bytes", 0) + row.get("dram_written_bytes", 0)
        sectors = row.get("l2_read_sectors", 0) + row.get("l2_written_sectors", 0)
        stall = max((name for name in row if name.startswith("stall_")), key=row.get, default="")
        out.append((row["id"], us(row.get("measured_us")), us(row.get("simulated_us")), f"{dram / 1e6:.4g} MB",
                    ratio(row.get("simulated_dram_bytes"), dram), f"{sectors:.4g}",
                    ratio(row.get("simulated_l2_sectors"), sectors), ratio(row.get("l2_lookups"), sectors), f"{row.get('issue_active_percent', 0):.0f} %",
                    stall.removeprefix("stall_")))
    return out


def launch_rows(rows):
    first = {}  # several stages time the same
    for row in rows:
        if row.get("kind") in ("launch", "launch_gap") and "measured_us" in row:
            first.setdefault((row["id"], row.get("l2", "")), row)
    return [(name, us(row["measured_us"]), cache) for (name, cache), row in first.items()]


def restriction(row):
    """What the command that planned a row allowed its programs: an instruction, no TMA."""
    words = re.findall(r"--(?:mma|set) (\S+)", row.get("command", ""))
    return " ".join(words)


def wrong_rows(rows):
    return [(row["id"], row.get("dtype", ""), row.get("rank", row.get("baseline", "")), restriction(row), row["error"])
            for row in rows if "error" in row]


def fact_rows(device, chip):
    """(figure, of the device, of the chip file): the board as its driver describes it."""
    levels = list(chip["memory"].values())  # outermost first
    outermost, caches = levels[0], [level for level in levels if level["kind"] == "cache"]
    figures = [("cores", device.get("cores"), chip["core"]["count"]),
               ("highest core clock, MHz", device.get("clock_khz", 0) / 1e3, chip["clock_hz"] / 1e6),
               ("memory, GiB", device.get("memory_bytes", 0) / 2**30, outermost["capacity_bytes"] / 2**30),
               ("device cache, MiB", device.get("device_cache_bytes", 0) / 2**20,
                caches[0]["capacity_bytes"] / 2**20 if caches else "")]
    figures += [(name, device.get(key, ""), "") for name, key in
                (("power limit, W", "power_limit_w"), ("ECC", "ecc"), ("highest memory clock, MHz", "max_memory_mhz"),
                 ("used by others", "shared_with"))]
    return [(name, *(f"{value:.5g}" if isinstance(value, (int, float)) else value for value in pair))
            for name, *pair in figures]


def rate_rows(rows, operators):
    """(what, by what, rate) of the operators of facts.yaml: bytes or operations over the measured time."""
    arrays = {"copy": 2, "triad": 3}  # of f32
    out = []
    for row in timed_cold(rows):
        operator = operators.get(row["id"])
        if operator is None or row.get("rank", 0) != 0 or row.get("baseline") == "copy" and row["id"] != "copy":
            continue
        by = row.get("baseline", "first program")
        if row["id"] in arrays:
            rate = f"{4 * arrays[row['id']] * int(operator['sizes'].removeprefix('i=')) / row['measured_us'] / 1e3:.0f} GB/s"
        else:
            rate = f"{operator['operations'] / row['measured_us'] / 1e6:.0f} TFLOP/s"
        out.append((row["id"], by, rate))
    return out


def summary(rows):
    """A line a stage that has rows."""
    out = []
    values = values_of(rows)
    if values:
        right, wrong, failed, loose = (sum(row[c] for row in values) for c in (2, 3, 4, 5))
        out.append(f"values: {right} right, {wrong} wrong, {failed} failed otherwise"
                   + (f", {loose} within loose bounds" if loose else ""))
    first = [row for row in first_programs(rows) if row[2]]
    if first:
        errors = [abs(row[2] / row[3] - 1) for row in first]
        null = statistics.geometric_mean([row[3] for row in first])
        constant = statistics.median(abs(null / row[3] - 1) for row in first)
        against = [row[3] / row[5] for row in first if row[5] and row[4] != "copy"]
        out.append(f"times: {len(first)} first programs, predicted off by {statistics.median(errors):.1%} (median; one "
                   f"constant time {constant:.0%})"
                   + (f"; {len(against)} next to a library, {statistics.median(against):.2f} times as long" if against
                      else ""))
    ranked = [row for row in rank_of_programs(rows) if row[3] is not None]
    if ranked:
        out.append(f"rank: {len(ranked)} operators, Spearman {statistics.median(row[3] for row in ranked):.2f}, top-1 "
                   f"{statistics.fmean(row[4] for row in ranked):.3f}")
    for name, found in (("curves", curve_points(rows)), ("power", power_rows(rows)), ("counters", counter_rows(rows))):
        if found:
            out.append(f"{name}: {len(found)} rows")
    return out


def short(file, say):
    rows = list(rows_of.read(file).values())
    say("")
    for line in summary(rows):
        say(line)
    print_table(say, "wrong or failed", ("id", "dtype", "program", "restricted to", "why"), wrong_rows(rows)[:20])


def compare(file, rows, chip, options, say):
    """`tilescope compare` of each suite that was timed: predicted, simulated, measured, library. Whether it could."""
    every = True
    times = next(stage for stage in stages.STAGES if stage.name == "times")
    timed = {row.get("command", "").split(" --suite ")[-1].split(" ")[0] for row in timed_cold(rows)}
    for plan in times.plans:
        words = plan.arguments
        if words[1] not in timed:
            continue
        asked = [word for at, word in enumerate(words) if word in ("--suite", "--dtype")
                 or at and words[at - 1] in ("--suite", "--dtype")]
        say("")
        say(" ".join(asked))
        done = subprocess.run([options.tilescope, "compare", "--arch", chip, *asked, "--rows", str(file.resolve()),
                        *(["--simulate"] if options.simulate else [])], check=False, cwd=ROOT)
        every = every and done.returncode == 0
    return every


def described(options, *words):
    shown = subprocess.run([options.tilescope, *words, "--json"], stdout=subprocess.PIPE, text=True, check=True,
                           cwd=ROOT)
    return json.loads(shown.stdout)


def show(file, options, say):
    """All tables of a file of rows; 0, or 1 where values were wrong."""
    rows = list(rows_of.read(file).values())
    devices = [row for row in rows if row.get("kind") == "device"]
    say(f"{file.stem}: {len(rows)} rows"
        + (f", driver {devices[-1].get('driver', '?')}, {devices[-1].get('date', '?')}" if devices else ""))
    for line in summary(rows):
        say(line)
    if devices:
        chip = described(options, "arch", "show", devices[-1]["chip"])
        print_table(say, "the device and its chip file", ("figure", "device", "chip file"), fact_rows(devices[-1], chip))
        facts = described(options, "suite", "show", stages.SUITES + "facts.yaml")["operators"]
        print_table(say, "rates", ("what", "by", "rate"), rate_rows(rows, {o["id"]: o for o in facts}))
    print_table(say, "values", ("dtype", "kind", "right", "wrong", "failed", "within loose bounds"), values_of(rows))
    print_table(say, "launches", ("kernel that does nothing", "time", "device cache"), launch_rows(rows))
    print_table(say, "first programs, largest errors first",
                ("id", "dtype", "predicted", "measured", "error", "library", "its time", "over library", "core clock"),
                [(name, dtype, us(predicted), us(measured),
                  f"{predicted / measured - 1:+.0%}" if predicted else "", library, us(time), ratio(measured, time),
                  f"{mhz:.0f} MHz" if mhz else "")
                 for name, dtype, predicted, measured, library, time, mhz in
                 sorted(first_programs(rows), key=lambda r: -abs(r[2] / r[3] - 1) if r[2] else 0)])
    print_table(say, "ranks of programs", ("id", "dtype", "programs", "Spearman", "top-1"),
                [(name, dtype, n, "" if rho is None else f"{rho:.2f}", f"{top:.3f}")
                 for name, dtype, n, rho, top in rank_of_programs(rows)])
    print_table(say, "curves", ("curve", "x", "measured", "unit"),
                [(curve, f"{x:g}", f"{value:.4g}", unit) for curve, x, value, unit in curve_points(rows)])
    print_table(say, "power", ("id", "dtype", "power", "a run", "energy of a run", "core clock", "Celsius"),
                power_rows(rows))
    print_table(say, "counters; x: simulated over measured",
                ("id", "measured", "simulated", "DRAM", "x", "L2 sectors", "x", "lookups a sector", "issue active",
                 "top stall"),
                counter_rows(rows))
    print_table(say, "wrong or failed", ("id", "dtype", "program", "restricted to", "why"), wrong_rows(rows))
    chips = {row["chip"] for row in rows if "chip" in row}
    compared = [compare(file, rows, chip, options, say) for chip in sorted(chips)]
    return 1 if not all(compared) or any(row.get("values") == "wrong" for row in rows) else 0
