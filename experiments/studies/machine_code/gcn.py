# SPDX-License-Identifier: Apache-2.0
"""AMD's machine code, GCN and CDNA, as clang's `-S` prints it: instructions by kind, with what loops.py needs to follow
counters through them, and what the kernel's metadata say of registers."""

import re

from loops import Instruction

KINDS = (
    (r"v_(fma|fmac|mac|mad|pk_fma|dot)\w*_(f32|f16|f64|f32_f16|mix\w*)|v_fma_mix\w*|v_(mad|fma)_mix\w*", "fma"),
    (r"v_mfma", "mma"),
    (r"v_(add|sub|subrev|mul|max|min|pk_add|pk_mul|max3|min3|med3|ldexp)\w*_(f32|f16|f64|legacy\w*)", "arith"),
    (r"v_(exp|log|rcp|rsq|sqrt|sin|cos)\w*", "special"),
    (r"v_cvt|v_(trunc|rndne|floor|ceil|fract)_", "convert"),
    (r"v_cmp|v_div_(scale|fmas|fixup)", "predicate"),
    (r"v_(mov|cndmask|readlane|readfirstlane|writelane|perm|swap|accvgpr|pk_mov|alignbit|alignbyte)", "move"),
    (r"v_nop|s_nop|s_sleep|s_setprio|s_inst_prefetch|s_setreg", "control"),
    (r"s_waitcnt", "wait"),
    (r"s_barrier", "barrier"),
    (r"s_(branch|cbranch|endpgm|setpc|getpc|swappc|call)", "control"),
    (r"s_load|s_buffer_load|s_memtime|s_dcache|s_memrealtime", "load_constant"),
    (r"s_", "scalar"),
    (r"ds_(swizzle|bpermute|permute)", "shuffle"),
    (r"v_", "integer"),
)
MEMORY = (
    (r"global_load|flat_load", "load_global"), (r"global_store|flat_store", "store_global"),
    (r"ds_read|ds_load", "load_shared"), (r"ds_write|ds_store", "store_shared"),
    (r"scratch_load|buffer_load", "load_local"), (r"scratch_store|buffer_store", "store_local"),
)
WIDTHS = (("dwordx4", 16), ("b128", 16), ("dwordx3", 12), ("b96", 12), ("dwordx2", 8), ("b64", 8), ("dword", 4),
          ("b32", 4), ("short", 2), ("ushort", 2), ("b16", 2), ("u16", 2), ("i16", 2), ("byte", 1), ("u8", 1),
          ("b8", 1), ("i8", 1))
TESTS = {"eq": "eq", "lg": "ne", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def kind_of(op):
    for pattern, kind in MEMORY:
        if re.match(pattern, op):
            twice = 2 if "read2" in op or "write2" in op else 1
            return f"{kind}_{twice * next((n for word, n in WIDTHS if word in op), 4)}"
    return next((kind for pattern, kind in KINDS if re.match(pattern, op)), "other")


def operand_of(text):
    text = text.strip()
    if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", text):
        return int(text, 0)
    if re.fullmatch(r"[sv]\d+", text) or text == "vcc_lo":
        return text
    return None


def registers_of(text):
    span = re.fullmatch(r"\s*([sva])\[(\d+):(\d+)\]\s*", text)
    if span:
        return tuple(f"{span.group(1)}{n}" for n in range(int(span.group(2)), int(span.group(3)) + 1))
    single = operand_of(text)
    return (single,) if isinstance(single, str) else ("vcc",) if text.strip().startswith("vcc") else ()


def terms_of(op, parts):
    a = [operand_of(p) for p in parts]
    if re.match(r"(s_mov|v_mov)_b32", op) or op == "s_movk_i32":
        return [(1, a[1])]
    if re.match(r"s_mov_b64", op):
        return [] if a[1] == 0 else None
    if re.match(r"s_add_(i32|u32)", op):
        return [(1, a[1]), (1, a[2])]
    if op == "s_addk_i32":
        return [(1, a[0]), (1, a[1])]
    if re.match(r"s_sub_(i32|u32)", op):
        return [(1, a[1]), (-1, a[2])]
    if op == "s_lshl_b32" and isinstance(a[2], int):
        return [(1 << a[2], a[1])]
    if op == "s_mul_i32" and (isinstance(a[1], int) or isinstance(a[2], int)):
        return [(a[1], a[2])] if isinstance(a[1], int) else [(a[2], a[1])]
    if re.match(r"v_add_(u32|nc_u32|co_u32)", op):
        numbers = [x for p, x in zip(parts[1:], a[1:]) if not p.strip().startswith(("vcc", "s["))]
        return [(1, numbers[0]), (1, numbers[1])] if len(numbers) == 2 else None
    return None


def decoded(op, rest):
    parts = [p for p in rest.split(",")] if rest.strip() else []
    ins = Instruction(op, kind_of(op), text=f"{op} {rest.strip()}")
    if op == "s_branch":
        ins.target, ins.falls = rest.strip(), False
    elif op.startswith("s_cbranch"):
        ins.target = rest.strip()
        flag = {"scc0": ("scc", True), "scc1": ("scc", False), "vccz": ("vcc", True), "vccnz": ("vcc", False)}
        ins.condition = flag.get(op[len("s_cbranch_"):], ("exec", False))
    elif op == "s_endpgm" or op.startswith("s_setpc"):
        ins.falls = False
    elif op.startswith("s_cmp"):
        match = re.match(r"s_cmpk?_(\w\w)_([iu])", op)
        ins.defs = ("scc",)
        if match:
            ins.test = ("compare", TESTS[match.group(1)], match.group(2) == "i", *(operand_of(p) for p in parts[:2]))
    elif op.startswith("v_cmp"):
        ins.defs = registers_of(parts[0])
    elif parts and not ins.kind.startswith("store"):
        ins.defs = registers_of(parts[0])
        found = terms_of(op, parts)
        ins.terms = None if found is None or any(x is None for _, x in found) else found
        if ins.kind == "scalar" and not op.startswith(("s_mov", "s_movk", "s_mul_i32", "s_cselect")):
            ins.defs += ("scc",)
    return ins


def kernels_in(text):
    """(name, instructions, labels) of every kernel of an assembly text."""
    found, name, code, labels = [], None, [], {}
    kernels = set(re.findall(r"^\s*\.amdhsa_kernel (\w+)", text, re.M))
    for line in text.splitlines():
        line = line.split(";")[0].rstrip()
        label = re.match(r"^([\w.$]+):", line)
        if label:
            if label.group(1) in kernels:
                name, code, labels = label.group(1), [], {}
            elif name is not None:
                labels[label.group(1)] = len(code)
            continue
        if name is not None and re.match(r"^\s*\.(section|end_amdhsa|amdhsa_kernel|size|Lfunc_end)", line):
            found.append((name, code, labels))
            name = None
            continue
        match = re.match(r"^\s+([a-z]\w+)\s*(.*)$", line)
        if match and name is not None and not match.group(1).startswith("."):
            code.append(decoded(*match.groups()))
    return found


def usage_in(text):
    """Registers and bytes that a thread keeps in local memory, by kernel, of the metadata behind the code."""
    found = {}
    for at in re.finditer(r"^    \.name:\s+(\w+)$", text, re.M):
        block = text[at.start():].split("\n  - ", 1)[0]
        keys = {key: int(value) for key, value in re.findall(r"^    \.(\w+):\s+(\d+)$", block, re.M)}
        found[at.group(1)] = {"registers": keys["vgpr_count"], "scalar_registers": keys["sgpr_count"],
                              "spill_bytes": keys["private_segment_fixed_size"]}
    return found
