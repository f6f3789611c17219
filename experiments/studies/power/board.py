# SPDX-License-Identifier: Apache-2.0
"""A board's power from its chip's file, computed apart from the tool: docs/energy.md has the formula."""

RESTS = ("rest", "leakage", "clock tree")
PICO = 1e-12


def hertz(text):
    value, unit = text.split()
    return float(value) * {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}[unit]


class Board:
    """`arch`: a device or a file; `shown`: what `arch show --json` says of it. Its figures are its own: the rules by
    which figures of another chip follow are not repeated here."""

    def __init__(self, arch, shown):
        self.name, self.clock = arch, shown["clock_hz"]
        self.cores, self.warp = shown["core"]["count"], shown["core"]["warp"]
        self.compute = {unit["name"]: unit for unit in shown["compute"]}
        self.power, self.energy = shown.get("power"), shown.get("energy")
        self.drams = {name for name, level in shown["memory"].items() if level["kind"] == "dram"}
        channels = sum(level["channels"] for level in shown["memory"].values() if level["kind"] == "dram")
        held = [section for section in (self.power, self.energy) if section and "node" in section]
        held += [level for level in (self.energy or {}).get("levels", {}).values() if "holds_for" in level]
        if held:
            raise SystemExit(f"{arch}: its figures are those of another chip (arch show --energy); state its own")
        if self.power:
            points = (point.split(" at ") for point in self.power["curve"])
            self.curve = [(hertz(clock), float(volts.split()[0])) for volts, clock in points]
            self.board_w = self.power["board_w"] + channels * self.power.get("channel_w", 0)

    def voltage(self, clock):
        """Straight lines between points; None above the last one."""
        before = None
        for at, volts in self.curve:
            if clock <= at:
                return volts if before is None else before[1] + (volts - before[1]) * (clock - before[0]) / (at - before[0])
            before = at, volts
        return None

    def rest_w(self, clock):
        return self.board_w + self.cores * self.voltage(clock) ** 2 * (
            self.power["leakage_w_per_v2"] + self.power["clock_tree_w_per_v2_ghz"] * clock * 1e-9)

    def scale(self, clock):
        """What the chip's dynamic energies are at a clock, over those that its file states."""
        return (self.voltage(clock) / self.energy["voltage_v"]) ** 2

    def dynamic_j(self, counts):
        """Energies of counts on the chip, at the voltage that the file states, and of its DRAM."""
        levels = self.energy["levels"]
        core = counts["instructions"] * self.warp * self.energy["instruction_pj"]
        core += sum(n * self.energy["operations"][name]["operation_pj"] for name, n in counts["operations"].items()
                    if name in self.energy.get("operations", {}))
        dram = 0
        for name, moved in counts["moved"].items():
            if name not in levels:
                continue
            n = moved["read_bytes"] + moved["written_bytes"]
            if name in self.drams:
                dram += n * levels[name]["byte_pj_per_byte"] + counts["activates"] * levels[name].get("activate_pj", 0)
                core += n * levels[name].get("chip_pj_per_byte", 0)
            else:
                core += n * levels[name]["byte_pj_per_byte"]
        return core * PICO, dram * PICO

    def power_w(self, counts, seconds, clock):
        core, dram = self.dynamic_j(counts)
        return self.rest_w(clock) + (core * self.scale(clock) + dram) / seconds

    def clock_at_limit(self, counts, seconds_at, limit_w=None):
        """The highest clock at which the board keeps to its limit; `seconds_at` gives the time at a clock."""
        limit_w = limit_w or self.power["limit_w"]
        low, high = self.clock / 16, self.clock
        if self.power_w(counts, seconds_at(high), high) <= limit_w:
            return high
        for _ in range(40):
            middle = (low + high) / 2
            if self.power_w(counts, seconds_at(middle), middle) <= limit_w:
                low = middle
            else:
                high = middle
        return low


def add_counts(sum_of, counts, times):
    """Adds what a program counts, `times` over."""
    for key in ("instructions", "activates"):
        sum_of[key] = sum_of.get(key, 0) + times * counts[key]
    for name, n in counts["operations"].items():
        operations = sum_of.setdefault("operations", {})
        operations[name] = operations.get(name, 0) + times * n
    for name, moved in counts["moved"].items():
        level = sum_of.setdefault("moved", {}).setdefault(name, {"read_bytes": 0, "written_bytes": 0})
        for key in level:
            level[key] += times * moved[key]
