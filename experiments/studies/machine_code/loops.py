# SPDX-License-Identifier: Apache-2.0
"""Loops of a kernel's machine code and how often each runs, from its instructions alone.

A natural loop is found by dominators and back edges. Its trips follow from the tests that leave it: what a test
compares is a linear function of registers as they are at the loop's head, these grow by a constant an iteration, and
what they hold on entry is a constant. Registers are followed by their reaching definitions, through copies and across
blocks. What cannot be followed leaves the trips unknown.

A block of a loop that some iterations skip for a reason that is known in the same way is counted apart, with the
iterations that it runs in. A branch for an unknown reason, of an index at an edge or of a thread, counts as taken both
ways.
"""

import dataclasses
import operator

LONGEST = 1 << 20  # trips

TESTS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
         "ge": operator.ge}


@dataclasses.dataclass
class Instruction:
    op: str
    kind: str = "other"
    defs: tuple = ()  # registers, flags among them
    terms: list = None  # (factor, register or integer): what it defines is their sum; None is unknown
    test: tuple = None  # ("compare", name, signed, left, right), ("same", register) or ("not", register)
    guard: tuple = None  # (flag, negated)
    target: str = None  # label that a branch goes to
    condition: tuple = None  # (flag, negated) for the branch to be taken
    falls: bool = True  # whether the next one may follow
    text: str = ""


class Block:
    def __init__(self, number):
        self.number = number
        self.code = []
        self.to = []  # numbers of blocks
        self.of = []
        self.taken = None  # where the branch at its end goes
        self.loop = 0


@dataclasses.dataclass
class Loop:
    parent: int
    head: int
    blocks: set
    trips: int = None
    entered: int = None  # times for one run of all of the parent
    depth: int = 0
    times: dict = dataclasses.field(default_factory=dict)  # of its own blocks, for each time it is entered


# --- the graph


def blocks_of(code, labels):
    """`labels` has the index of the instruction that each label stands before. Blocks that cannot be reached from the
    first are left out: padding, and what only calls reach."""
    starts = {0} | {i for i in labels.values() if i < len(code)}
    starts |= {i + 1 for i, ins in enumerate(code) if (ins.target or not ins.falls) and i + 1 < len(code)}
    order = sorted(starts)
    number = {start: i for i, start in enumerate(order)}
    blocks = [Block(i) for i in range(len(order))]
    for block, start, end in zip(blocks, order, order[1:] + [len(code)]):
        block.code = code[start:end]
        last = block.code[-1]
        if last.target in labels and labels[last.target] in number:
            block.taken = number[labels[last.target]]
            block.to.append(block.taken)
        if last.falls and end in number and number[end] not in block.to:
            block.to.append(number[end])
    reached, left = {0}, [0]
    while left:
        for to in blocks[left.pop()].to:
            if to not in reached:
                reached.add(to)
                left.append(to)
    for block in blocks:
        if block.number in reached:
            for to in block.to:
                blocks[to].of.append(block.number)
    return blocks, reached


def topological(blocks):
    """Reverse post order from the first block."""
    order, seen, stack = [], {0}, [(0, iter(blocks[0].to))]
    while stack:
        number, successors = stack[-1]
        for to in successors:
            if to not in seen:
                seen.add(to)
                stack.append((to, iter(blocks[to].to)))
                break
        else:
            order.append(number)
            stack.pop()
    return order[::-1]


def dominators(blocks, order):
    """The set of each block's dominators as bits of an integer."""
    every = (1 << len(blocks)) - 1
    found = {number: every for number in order}
    found[0] = 1
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            common = every
            for before in blocks[number].of:
                common &= found[before]
            common |= 1 << number
            if common != found[number]:
                found[number] = common
                changed = True
    return found


def loops_of(blocks, order):
    """Loop 0 is all of the kernel; parents stand before their children."""
    over = dominators(blocks, order)
    bodies = {}
    for number in order:
        for head in blocks[number].to:
            if over[number] >> head & 1:
                body, left = bodies.setdefault(head, {head}), [number]
                while left:
                    at = left.pop()
                    if at not in body:
                        body.add(at)
                        left += blocks[at].of
    loops = [Loop(None, 0, set(order), trips=1, entered=1)]
    place = {number: i for i, number in enumerate(order)}
    for head, body in sorted(bodies.items(), key=lambda item: (-len(item[1]), place[item[0]])):
        parent = max((i for i, loop in enumerate(loops) if body < loop.blocks or i == 0 and body <= loop.blocks),
                     key=lambda i: loops[i].depth)
        loops.append(Loop(parent, head, body, depth=loops[parent].depth + 1))
        for number in body:
            blocks[number].loop = len(loops) - 1
    return loops


# --- what registers hold: linear forms, a dictionary of factors by symbol and a constant under None


def plus(a, b, factor=1):
    found = dict(a)
    for symbol, f in b.items():
        found[symbol] = found.get(symbol, 0) + factor * f
        if symbol is not None and not found[symbol]:
            del found[symbol]
    return found


def constant(form):
    return None if form is None or set(form) - {None} else form.get(None, 0)


class Values:
    """What registers hold at points of the kernel, as functions of registers at a loop's head."""

    DEEPEST = 40

    def __init__(self, blocks):
        self.blocks = blocks
        self.forms = {}  # found before, by operand, points and head

    def reaching(self, register, points, head=None):
        """Definitions that reach any of the points (block, index of the instruction behind it): (block, index), "head"
        and "entry"."""
        found, seen, left = set(), set(), list(points)
        while left:
            number, index = left.pop()
            for i in range(index - 1, -1, -1):
                ins = self.blocks[number].code[i]
                if register in ins.defs:
                    found.add((number, i))
                    if ins.guard is None:
                        break
            else:
                if number == head:
                    found.add("head")
                    continue
                if number == 0:
                    found.add("entry")
                for before in self.blocks[number].of:
                    if before not in seen:
                        seen.add(before)
                        left.append((before, len(self.blocks[before].code)))
        return found

    def form(self, operand, points, head=None, depth=0):
        if isinstance(operand, int):
            return {None: operand}
        if operand is None or depth > self.DEEPEST:
            return None
        key = (operand, tuple(points), head)
        if key not in self.forms:
            self.forms[key] = None  # what hangs on itself is unknown
            self.forms[key] = self.form_at(operand, points, head, depth)
        return self.forms[key]

    def form_at(self, operand, points, head, depth):
        forms = [self.form_of_definition(operand, d, head, depth) for d in self.reaching(operand, points, head)]
        if not forms or any(f is None or f != forms[0] for f in forms):
            return None
        return forms[0]

    def form_of_definition(self, register, definition, head, depth):
        if definition in ("head", "entry"):
            return {(definition, register): 1}
        number, index = definition
        ins = self.blocks[number].code[index]
        if ins.guard is not None:
            return None
        if ins.terms is None or ins.defs[0] != register:
            if ins.terms == [] and register in ins.defs:  # a wide zero
                return {None: 0}
            return {("of", number, index, register): 1}
        total = {None: 0}
        for factor, operand in ins.terms:
            form = self.form(operand, [definition], head, depth + 1)
            if form is None:
                return {("of", number, index, register): 1}
            total = plus(total, form, factor)
        return total

    def comparison(self, flag, points, head, depth=0):
        """(name, signed, form, form, negated) behind a flag, or None."""
        if depth > self.DEEPEST:
            return None
        reaching = self.reaching(flag, points, head)
        if len(reaching) != 1:
            return None
        definition = next(iter(reaching))
        if definition in ("head", "entry"):
            return None
        ins = self.blocks[definition[0]].code[definition[1]]
        if ins.test is None or ins.guard is not None or ins.defs[0] != flag:
            return None
        if ins.test[0] in ("same", "not"):
            inner = self.comparison(ins.test[1], [definition], head, depth + 1)
            return inner and (*inner[:4], inner[4] ^ (ins.test[0] == "not"))
        _, name, signed, left, right = ins.test
        left, right = self.form(left, [definition], head), self.form(right, [definition], head)
        return None if left is None or right is None else (name, signed, left, right, False)


class Progress:
    """How forms over registers at a loop's head go from iteration to iteration."""

    def __init__(self, values, loop):
        self.values, self.loop = values, loop
        blocks = values.blocks
        ends = [(b, len(blocks[b].code)) for b in blocks[loop.head].of]
        self.latches = [end for end in ends if end[0] in loop.blocks]
        self.entries = [end for end in ends if end[0] not in loop.blocks]

    def of(self, form):
        """Value in the first iteration, as a form, and what an iteration adds to it."""
        first, step = {None: form.get(None, 0)}, 0
        for symbol, factor in form.items():
            if symbol is None:
                continue
            if symbol[0] != "head":
                return None
            register = symbol[1]
            then = self.values.form(register, self.latches, self.loop.head)
            start = self.values.form(register, self.entries)
            if start is None:
                start = {("before", register): 1}
            if then is None:
                return None
            grown = constant(plus(then, {symbol: 1}, -1))
            if grown is None:
                return None
            step += factor * grown
            first = plus(first, start, factor)
        return first, step

    def outcome(self, number):
        """A function from the iteration to whether the branch at the end of a block is taken, or None."""
        flag, negated = self.values.blocks[number].code[-1].condition
        end = [(number, len(self.values.blocks[number].code) - 1)]
        found = self.values.comparison(flag, end, self.loop.head)
        if found is None:
            return None
        name, signed, left, right, inverted = found
        left, right = self.of(left), self.of(right)
        if left is None or right is None:
            return None
        apart = constant(plus(left[0], right[0], -1))
        if apart is None:
            return None
        a, b = constant(left[0]), constant(right[0])
        if a is None or b is None:  # addresses: they do not wrap
            a, b, signed = apart, 0, True
        test = TESTS[name]

        def wrapped(x):
            x &= 0xFFFFFFFF
            return x - (1 << 32) if signed and x >> 31 else x

        return lambda i: test(wrapped(a + i * left[1]), wrapped(b + i * right[1])) ^ inverted ^ negated


def trips_of(blocks, loop, progress):
    leaves = []
    for number in loop.blocks:
        block = blocks[number]
        outside = [to for to in block.to if to not in loop.blocks]
        last = block.code[-1]
        ends = last.condition and last.target is None  # a thread that ends
        if not outside and not ends:
            continue
        if last.condition is None:
            return None
        outcome = progress.outcome(number)
        if outcome is None:
            return None
        out_if = ends or block.taken not in loop.blocks
        leaves.append((outcome, out_if))
    if not leaves:
        return None
    for i in range(LONGEST):
        if any(outcome(i) == out_if for outcome, out_if in leaves):
            return i + 1
    return None


def times_of(blocks, order, loop, progress):
    """Iterations that each block of the loop runs in, as a number; inner loops count as they are entered."""
    every = (1 << loop.trips) - 1
    active = {number: 0 for number in loop.blocks}
    active[loop.head] = every
    place = {number: i for i, number in enumerate(order)}
    for number in sorted(loop.blocks, key=place.get):
        block, last = blocks[number], blocks[number].code[-1]
        taken = None
        if last.condition is not None and (len(block.to) > 1 or last.target is None):
            outcome = progress.outcome(number)
            if outcome is not None:
                taken = sum(1 << i for i in range(loop.trips) if outcome(i))
        for to in block.to:
            if to in loop.blocks and place[to] > place[number]:
                mask = every if taken is None else taken if to == block.taken else ~taken & every
                active[to] |= active[number] & mask
    return {number: mask.bit_count() for number, mask in active.items()}


def analyse(code, labels):
    """Blocks and loops of a kernel. Every loop has its trips, where they are known, how often it is entered, and the
    iterations in which its blocks run."""
    blocks, _ = blocks_of(code, labels)
    order = topological(blocks)
    loops = loops_of(blocks, order)
    values = Values(blocks)
    for loop in loops:
        progress = Progress(values, loop)
        if loop.parent is not None:
            loop.trips = trips_of(blocks, loop, progress)
            loop.entered = loops[loop.parent].times.get(loop.head)
        if loop.trips is not None:
            loop.times = times_of(blocks, order, loop, progress)
    return blocks, loops


def counted(blocks, loops):
    """The loops as they are written down: counts by kind of the instructions that are in no inner loop, and again
    those of them that run in fewer iterations than the loop has."""
    rows = []
    for index, loop in enumerate(loops):
        counts, parts = {}, {}
        for number in sorted(loop.blocks):
            if blocks[number].loop != index:
                continue
            times = loop.times.get(number, loop.trips)
            apart = parts.setdefault(times, {}) if times != loop.trips else {}
            for ins in blocks[number].code:
                counts[ins.kind] = counts.get(ins.kind, 0) + 1
                apart[ins.kind] = apart.get(ins.kind, 0) + 1
        row = {"parent": loop.parent, "trips": loop.trips, "counts": dict(sorted(counts.items()))}
        if loop.parent is not None and loop.entered not in (None, loops[loop.parent].trips):
            row["entered"] = loop.entered
        if parts:
            row["parts"] = [{"times": t, "counts": dict(sorted(c.items()))} for t, c in sorted(parts.items())]
        rows.append(row)
    return rows


def dynamic(rows):
    """Instructions that a thread, or a wave, executes, by kind; loops of unknown trips count once."""
    runs, total = [], {}
    for row in rows:
        parent = row["parent"]
        entered = 1 if parent is None else runs[parent][0] * row.get("entered", runs[parent][1])
        trips = 1 if row["trips"] is None else row["trips"]
        runs.append((entered, trips))
        for kind, count in row["counts"].items():
            total[kind] = total.get(kind, 0) + entered * trips * count
        for part in row.get("parts", ()):
            for kind, count in part["counts"].items():
                total[kind] -= entered * (trips - part["times"]) * count
    return dict(sorted(total.items()))
