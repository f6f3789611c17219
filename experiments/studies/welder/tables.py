# SPDX-License-Identifier: Apache-2.0
"""What the study prints, and writes into its page and its picture."""

import re
import sys
import textwrap
from math import log
from statistics import geometric_mean

from programs import SUITE

KIB = 1024
MIB = 1024 * KIB
COLUMNS = ("part", "operator", "scratchpad_kib", "way", "kernels", "stages", "predicted_us", "simulated_us",
           "predicted_dram_bytes", "simulated_dram_bytes", "bottleneck")


class Report:
    """Figures with their targets, rows of the table, and what goes between a page's markers."""

    def __init__(self):
        self.missed, self.rows, self.blocks = 0, [], {}

    def title(self, text):
        print(f"\n{text}", flush=True)

    def found(self, what, figure, target):
        good = figure == target
        self.missed += not good
        print(f"  {what:<62} {figure} of {target}{'' if good else '  MISSED'}", flush=True)

    def add(self, part, operator, kib, way, row):
        self.rows.append([part, operator, kib, way, *row.values()])

    def block(self, name, *lines):
        """Rows of tables, and paragraphs, which are wrapped."""
        self.blocks[name] = "\n".join(line if line.startswith("|") else textwrap.fill(line, 120) for line in lines)


def markdown(header, rows):
    return ["|" + "|".join(header) + "|", "|---" * len(header) + "|", *("|" + "|".join(row) + "|" for row in rows)]


def short(us):
    """Microseconds with three digits, or the longer unit."""
    if us is None:
        return "-"
    unit, n = ("ms", us / 1000) if us >= 1000 else ("us", us)
    return f"{n:.{max(0, 2 - len(str(int(n))) + 1)}f} {unit}"


def times(gain):
    return "-" if gain is None else f"{gain:.2f}x"


def error(row):
    """Predicted over simulated less one."""
    return row.predicted / row.simulated - 1


def off(row):
    return f"{100 * error(row):+.0f} %" if row.predicted and row.simulated else "-"


def mean_error(rows):
    known = [abs(error(row)) for row in rows if row.predicted and row.simulated]
    return f"{100 * sum(known) / len(known):.1f} %" if known else "-"


def mib(amount):
    return "-" if amount is None else f"{amount / MIB:,.0f} MiB"


def mean(gains):
    known = list(filter(None, gains))
    return geometric_mean(known) if known else None


def write_page(path, blocks):
    """The page with every block that there is between its markers."""
    text = path.read_text(encoding="utf-8")
    for name, block in blocks.items():
        marked = re.compile(rf"(<!-- {name}: .*?-->\n).*?(<!-- end -->)", re.DOTALL)
        if not marked.search(text):
            sys.exit(f"{path}: no lines <!-- {name}: ... --> and <!-- end -->")
        text = marked.sub(lambda m: m.group(1) + block + "\n" + m.group(2), text)
    path.write_text(text, encoding="utf-8")


def plot(gains, arch, path):
    """Gains of the suite, an expression a line, in the order given, on a logarithmic axis."""
    left, width, line, top = 130, 560, 17, 50
    known = [g for _, gain in gains for g in (gain.predicted, gain.simulated) if g]
    low, high = min(min(known), 1), max(max(known), 2)
    bottom = top + line * len(gains)

    def x(gain):
        return left + width * (log(gain / low) / log(high / low))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{bottom + 10}" '
           'font-family="sans-serif" font-size="11">',
           f'<rect width="{left + width + 30}" height="{bottom + 10}" fill="white"/>',
           f'<text x="8" y="16">Separate kernels over shared ones, times of the suite {SUITE} on {arch}</text>',
           f'<circle cx="{left + 330}" cy="12" r="4" fill="none" stroke="#4477aa" stroke-width="2"/>'
           f'<text x="{left + 338}" y="16">predicted</text>',
           f'<circle cx="{left + 410}" cy="12" r="4" fill="#ee6677"/><text x="{left + 418}" y="16">simulated</text>']
    for tick in (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16):
        if low <= tick <= high:
            out.append(f'<line x1="{x(tick):.1f}" y1="{top - 8}" x2="{x(tick):.1f}" y2="{bottom}" stroke="#cccccc"/>'
                       f'<text x="{x(tick) - 6:.1f}" y="{top - 12}">{tick}x</text>')
    for n, (name, gain) in enumerate(gains):
        y = top + line * n + line / 2
        out.append(f'<text x="8" y="{y + 4:.1f}">{name}</text>')
        if gain.predicted and gain.simulated:
            out.append(f'<line x1="{x(gain.predicted):.1f}" y1="{y:.1f}" x2="{x(gain.simulated):.1f}" y2="{y:.1f}" '
                       'stroke="#bbbbbb" stroke-width="2"/>')
        if gain.simulated:
            out.append(f'<circle cx="{x(gain.simulated):.1f}" cy="{y:.1f}" r="4" fill="#ee6677"/>')
        if gain.predicted:
            out.append(f'<circle cx="{x(gain.predicted):.1f}" cy="{y:.1f}" r="4" fill="none" stroke="#4477aa" '
                       'stroke-width="2"/>')
    path.write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")
