# SPDX-License-Identifier: Apache-2.0
"""The traces on which DRAM simulators are compared: integer arithmetic and splitmix64, the same on every machine.

trace(name, n) gives n requests (address, 'R' or 'W', bytes) of a pattern by its name: seq_rd_64, seq_wr_64, rand_rd_32,
rand_wr_64, stride_rd_32_s4096.
"""

import re

MASK = (1 << 64) - 1
SPAN = 1 << 30  # bytes that patterns spread over


def splitmix64(seed):
    """Endless 64-bit numbers."""
    x = seed
    while True:
        x = (x + 0x9E3779B97F4A7C15) & MASK
        z = x
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def sequential(n, size, op):
    for i in range(n):
        yield i * size, op, size


def random(n, size, op):
    numbers = splitmix64(size if op == "R" else 7)
    for _ in range(n):
        yield (next(numbers) >> 11) % (SPAN // size) * size, op, size


def strided(n, size, op, stride):
    """After each round over the span the start moves by one request."""
    a_round = SPAN // stride
    for i in range(n):
        yield i % a_round * stride + i // a_round * size, op, size


def trace(name, n):
    kind, op, size, stride = re.fullmatch(r"(seq|rand|stride)_(rd|wr)_(\d+)(?:_s(\d+))?", name).groups()
    arguments = [n, int(size), "R" if op == "rd" else "W"]
    if kind == "stride":
        return strided(*arguments, int(stride))
    return {"seq": sequential, "rand": random}[kind](*arguments)
