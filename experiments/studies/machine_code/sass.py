# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's machine code, Kepler to Hopper, as `nvdisasm -c` prints it: instructions by kind, with what loops.py needs
to follow counters through them."""

import re

from loops import Instruction

# By the beginning of the mnemonic, the first that fits.
KINDS = (
    ("FFMA", "fma"), ("HFMA2", "fma"), ("DFMA", "fma"), ("HMMA", "mma"), ("IMMA", "mma"), ("DMMA", "mma"),
    ("FADD", "arith"), ("FMUL", "arith"), ("FMNMX", "arith"), ("HADD2", "arith"), ("HMUL2", "arith"),
    ("HMNMX2", "arith"), ("DADD", "arith"), ("DMUL", "arith"), ("DMNMX", "arith"), ("FSWZADD", "arith"),
    ("RRO", "special"), ("MUFU", "special"), ("I2F", "convert"), ("F2I", "convert"), ("F2F", "convert"),
    ("I2I", "convert"), ("F2FP", "convert"), ("FRND", "convert"),
    ("ISETP", "predicate"), ("FSETP", "predicate"), ("DSETP", "predicate"), ("PSETP", "predicate"),
    ("PLOP3", "predicate"), ("UISETP", "predicate"), ("UPLOP3", "predicate"), ("P2R", "predicate"),
    ("R2P", "predicate"), ("HSETP2", "predicate"), ("ICMP", "predicate"), ("ISET", "predicate"),
    ("FSET", "predicate"), ("FCHK", "predicate"), ("VOTE", "predicate"),
    ("LDGSTS", "async_copy"), ("LDGDEPBAR", "wait"), ("DEPBAR", "wait"), ("TEXDEPBAR", "wait"), ("WARPSYNC", "wait"),
    ("BAR", "barrier"), ("MEMBAR", "barrier"), ("SHFL", "shuffle"), ("LDSM", "load_shared"),
    ("BRA", "control"), ("BRX", "control"), ("EXIT", "control"), ("RET", "control"), ("CALL", "control"),
    ("JCAL", "control"), ("SSY", "control"), ("SYNC", "control"), ("PBK", "control"), ("BRK", "control"),
    ("PCNT", "control"), ("CONT", "control"), ("BSSY", "control"), ("BSYNC", "control"), ("BREAK", "control"),
    ("NOP", "control"), ("BMOV", "control"), ("YIELD", "control"),
    ("MOV", "move"), ("CS2R", "move"), ("S2R", "move"), ("S2UR", "move"), ("SEL", "move"), ("FSEL", "move"),
    ("PRMT", "move"), ("R2UR", "move"), ("UMOV", "move"), ("USEL", "move"), ("UPRMT", "move"), ("CSET", "move"),
    ("IADD", "integer"), ("ISUB", "integer"), ("IMAD", "integer"), ("IMUL", "integer"), ("XMAD", "integer"),
    ("LEA", "integer"), ("SHF", "integer"), ("SHL", "integer"), ("SHR", "integer"), ("LOP", "integer"),
    ("ISCADD", "integer"), ("IMNMX", "integer"), ("BFE", "integer"), ("BFI", "integer"), ("IABS", "integer"),
    ("FLO", "integer"), ("POPC", "integer"), ("VABSDIFF", "integer"), ("SGXT", "integer"), ("BMSK", "integer"),
    ("IMADSP", "integer"), ("ISAD", "integer"), ("ULEA", "integer"), ("USHF", "integer"), ("ULOP", "integer"),
    ("UIADD", "integer"), ("UIMAD", "integer"), ("IDP", "integer"), ("USGXT", "integer"), ("UFLO", "integer"),
)
SPACES = {"G": "global", "S": "shared", "L": "local"}
MEMORY = re.compile(r"^(LD|ST)([GSL]?)(?:\.|$)")
CONSTANT_LOADS = ("LDC", "ULDC")
WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
LINE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@(!?)(U?P\d|U?PT)\s+)?([A-Z][\w.]*)\s*([^;]*);")
LABEL = re.compile(r"^(\.L_?[\w.]+):")
SIGNED_TESTS = {"LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "EQ": "eq", "NE": "ne"}


def kind_of(op):
    memory = MEMORY.match(op)
    if memory and not op.startswith(CONSTANT_LOADS):
        words = op.split(".")
        width = next((WIDTHS[w] for w in words if w in WIDTHS), 4)
        space = SPACES.get(memory.group(2), "global")
        return f"{'load' if memory.group(1) == 'LD' else 'store'}_{space}_{width}"
    if op.startswith(CONSTANT_LOADS):
        return "load_constant"
    if op.startswith("LDSM"):
        return "load_shared_matrix"
    return next((kind for start, kind in KINDS if op.startswith(start)), "other")


def operand_of(text):
    """A register's name, an integer, or None of anything else."""
    text = text.strip().replace(".reuse", "")
    if text in ("RZ", "URZ", "SRZ"):
        return 0
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        return int(text, 16)
    if re.fullmatch(r"U?R\d+", text):
        return text
    return None


def term(text, factor=1):
    text = text.strip()
    negative = text.startswith("-") and not text.startswith("-0x")
    return (-factor if negative else factor, operand_of(text[1:] if negative else text))


def is_constant(op, parts):
    """A move of a constant through another unit: -0 x 0 + the constant."""
    return op.startswith("HFMA2") and len(parts) == 5 and parts[1].strip().startswith("-RZ") and "RZ" in parts[2]


def terms_of(op, parts):
    """What the instruction's first register is the sum of; None where that is not known."""
    words = op.split(".")
    name, rest = words[0].lstrip("U"), words[1:]
    if ".X" in op or "HI" in rest or "WIDE" in rest:
        return None
    if name in ("MOV", "MOV32I") and len(parts) == 2:
        return [term(parts[1])]
    if is_constant(op, parts):  # two halves; of zeros the integer is known
        return [(1, 0)] if all(p.strip() in ("0", "RZ") for p in parts[3:]) else None
    if name == "CS2R" and parts[1].strip() == "SRZ":
        return []
    if name in ("IADD3", "IADD", "IADD32I", "ISUB"):
        numbers = [p for p in parts[1:] if not re.match(r"\s*!?U?P", p)]
        found = [term(p) for p in numbers]
        return [found[0], (-found[1][0], found[1][1])] if name == "ISUB" else found
    if name in ("LEA", "ISCADD") and len(parts) >= 4:
        numbers = [p for p in parts[1:] if not re.match(r"\s*!?U?P", p)]
        shift = operand_of(numbers[2])
        return None if not isinstance(shift, int) else [term(numbers[0], 1 << shift), term(numbers[1])]
    if name == "SHL" or name == "SHF" and rest[:1] == ["L"]:
        shift = operand_of(parts[2])
        return [term(parts[1], 1 << shift)] if isinstance(shift, int) else None
    if name == "IMAD" and len(parts) == 4 or name == "IMAD" and rest[:1] in (["MOV"], ["IADD"], ["SHL"]):
        a, b, c = (operand_of(p) for p in parts[1:4])
        if isinstance(b, int):
            return [(b, a), term(parts[3])]
        if isinstance(a, int):
            return [(a, b), term(parts[3])]
    return None


def wide(register, op):
    """The registers that a write of that many bits sets."""
    count = next((n for word, n in (("128", 4), ("64", 2), ("WIDE", 2)) if word in op.split(".")), 1)
    if op.startswith("CS2R") and ".32" not in op:
        count = 2
    if op.startswith(("HMMA", "IMMA")):
        count = 4
    letters, number = re.match(r"(U?R)(\d+)", register).groups()
    return tuple(f"{letters}{int(number) + i}" for i in range(count))


def decoded(op, rest, guard):
    parts = [p for p in rest.split(",")] if rest.strip() else []
    ins = Instruction(op, kind_of(op), guard=guard, text=f"{op} {rest.strip()}")
    if op.startswith(("BRA", "SYNC", "BRK")):
        label = re.search(r"`\((\.L_?[\w.]+)\)", rest)
        ins.target = label.group(1) if label else None
        condition = guard
        inline = re.match(r"\s*(!?)(U?P\d)\s*,", rest)
        if inline:
            condition = (inline.group(2), bool(inline.group(1)))
        ins.condition, ins.guard, ins.falls = condition, None, condition is not None
        return ins
    if op.startswith(("EXIT", "RET")):
        ins.condition, ins.guard, ins.falls = guard, None, guard is not None
        return ins
    if op.split(".")[0].lstrip("U") in ("ISETP",) and ".EX" not in op:
        words = op.split(".")
        test = next((SIGNED_TESTS[w] for w in words if w in SIGNED_TESTS), None)
        flags = tuple(p.strip() for p in parts[:2] if not p.strip().endswith("PT"))
        ins.defs = flags
        numbers = [p for p in parts[2:] if not re.match(r"\s*!?U?P", p)]
        combined = [p.strip() for p in parts[2:] if re.match(r"\s*!?U?P\d", p)]
        if test and len(numbers) == 2 and not combined and parts[0].strip() in flags:
            ins.test = ("compare", test, "U32" not in words, operand_of(numbers[0]), operand_of(numbers[1]))
        return ins
    if op.startswith("PLOP3") and len(parts) == 7:
        flags = [p.strip() for p in parts[2:5] if not p.strip().endswith("PT")]
        ins.defs = tuple(p.strip() for p in parts[:2] if re.fullmatch(r"\s*U?P\d\s*", p))
        where = [p.strip() for p in parts[2:5]].index(flags[0]) if len(flags) == 1 else None
        lut = operand_of(parts[5])
        if where is not None and isinstance(lut, int):
            held, failed = lut >> 7 & 1, lut >> (7 & ~(4 >> where)) & 1  # the others are true
            if held != failed and not flags[0].startswith("!"):
                ins.test = ("same" if held else "not", flags[0])
        return ins
    if op.startswith(("PSETP", "PLOP3", "UPLOP3", "FSETP", "R2P")):
        ins.defs = tuple(p.strip() for p in parts[:2] if re.fullmatch(r"\s*U?P\d\s*", p))
        return ins
    if is_constant(op, parts):
        ins.kind = "move"
    if parts and not ins.kind.startswith(("store", "barrier", "control", "wait")) and re.fullmatch(r"\s*U?R\d+\s*", parts[0]):
        ins.defs = wide(parts[0].strip(), op)
        found = terms_of(op, parts)
        ins.terms = None if found is None or any(operand is None for _, operand in found) else found
    return ins


def kernels_in(text):
    """(name, instructions, labels) of every kernel of a disassembly."""
    found, name, code, labels = [], None, [], {}
    for line in text.splitlines():
        if line.startswith(".text."):
            if name is not None:
                found.append((name, code, labels))
            name, code, labels = line[len(".text."):].rstrip(":"), [], {}
            continue
        label = LABEL.match(line)
        if label:
            labels[label.group(1)] = len(code)
        match = LINE.search(line)
        if match and name is not None:
            negated, flag, op, rest = match.groups()
            guard = None if flag is None or flag == "PT" and not negated else (flag, bool(negated))
            if flag == "PT" and negated:
                continue  # never executes
            code.append(decoded(op, rest, guard))
    if name is not None:
        found.append((name, code, labels))
    return found
