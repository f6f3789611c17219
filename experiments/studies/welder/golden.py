# SPDX-License-Identifier: Apache-2.0
"""Answers of the classes of Welder's open code (golden/welder_golden.json of the shared data), and ours to the same."""

import re
from math import prod

CHIPS = {"V100": "v100", "A100": "a100", "RTX3090": "rtx3090", "H100": "h100_sxm", "MI50": "mi50"}
SCORES = "D[b,h,i,j] +=! Q[b,h,i,k] * K[b,h,k,j]; M[b,h,i,j] = D[b,h,i,j] / Z[0,0,0,0] + P[b,0,0,j]"
SOFTMAX = ("X[b,h,i] max=! M[b,h,i,j]; E[b,h,i,j] = exp(M[b,h,i,j] - X[b,h,i]); S[b,h,i] +=! E[b,h,i,j]; "
           "O[b,h,i,j] = E[b,h,i,j] / S[b,h,i]")
NAMED = {  # expression, sizes, shapes
    "fig2_matmul_group": (SCORES, "b=64,h=12,i=128,j=128,k=64", "Z=1,1,1,1"),
    "fig2_softmax_group": (SOFTMAX, "b=64,h=12,i=128,j=128", ""),
    "fig2_fused": (f"{SCORES}; {SOFTMAX}", "b=64,h=12,i=128,j=128,k=64", "Z=1,1,1,1"),
    "mbv2_dw3x3_pw": ("D[n,c,y,x] +=! I[n,c,y+r-1,x+s-1] * W[c,r,s]; O[n,f,y,x] +=! D[n,c,y,x] * V[f,c]",
                      "n=1,c=144,y=56,x=56,r=3,s=3,f=24", "I=1,144,56,56"),
    "mbv2_pw_dw": ("D[n,f,y,x] +=! I[n,c,y,x] * V[f,c]; O[n,f,y,x] +=! D[n,f,y+r-1,x+s-1] * W[f,r,s]",
                   "n=1,f=144,c=24,y=56,x=56,r=3,s=3", "I=1,24,56,56"),
    "transpose4096": ("B[n,m] = A[m,n]", "m=4096,n=4096", ""),
}


def numbers(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def multilayer(halves):
    stages, sizes = [], ["m=2073600", "a0=64"]
    for n in range(1, 8):
        stages.append(f"H{n}[m,a{n}] +=! H{n - 1}[m,a{n - 1}] * W{n}[a{n},a{n - 1}]")
        sizes.append(f"a{n}={3 if n == 7 and not halves else 64}")
    return "; ".join(stages), ",".join(sizes), ""


def convolution(sizes, depthwise):
    if depthwise:
        sizes = sizes[:4] + [sizes[1]] + sizes[4:]
    n, f, y, x, c, r, s, stride, dilation, padding = sizes

    def coordinate(out, tap):
        return f"{out}*{stride}+{tap}*{dilation}" + (f"-{padding}" if padding else "")

    def extent(out, taps):
        return (out - 1) * stride + (taps - 1) * dilation + 1 - 2 * padding

    at = f"{coordinate('y', 'r')},{coordinate('x', 's')}"
    text = f"O[n,f,y,x] +=! I[n,f,{at}] * W[f,r,s]" if depthwise else f"O[n,f,y,x] +=! I[n,c,{at}] * W[f,c,r,s]"
    return (text, f"n={n},f={f},y={y},x={x},r={r},s={s}" + ("" if depthwise else f",c={c}"),
            f"I={n},{c},{extent(y, r)},{extent(x, s)}")


def operator(name, words):
    """Expression, sizes, shapes and element type of a case, by its id and its words."""
    dtype = "f16" if "fp16" in words else "f32"
    if name in NAMED:
        return *NAMED[name], dtype
    listed = numbers(words[words.rfind("["):words.rfind("]")]) if "[" in words else []
    if name.startswith("nerf"):
        return *multilayer(name.endswith("fp16_tc")), dtype
    if name.startswith(("roller_C", "roller_D")):
        return *convolution(listed, name.startswith("roller_D")), dtype
    if name.startswith("roller_R"):
        return "O[i] +=! I[i,k]", f"i={listed[0]},k={listed[1]}", "", dtype
    if name.startswith("roller_E"):
        return "O[i] = relu(I[i])", f"i={listed[0]}", "", dtype
    sizes = re.search(r"M=(\d+) N=(\d+) K=(\d+)", words)
    m, n, k = sizes.groups() if sizes else (4096, 4096, 4096)
    second = "B[n,k]" if "B[n,k]" in words or " nt " in words else "B[k,n]"
    return f"C[m,n] +=! A[m,k] * {second}", f"m={m},n={n},k={k}", "", dtype


def reads_of(text):
    """Tensors that each stage reads, in order."""
    return [list(dict.fromkeys(re.findall(r"\b([A-Z]\w*)\[", stage.split("=", 1)[1]))) for stage in text.split(";")]


def expected_stage(stage, first_input):
    if "warp" in stage:
        return {"block": stage["block"], "rstep": stage["rstep"], "warp": stage["warp"], "wmma": stage["wmma"],
                "cutlass": stage["cutlass"]}
    # Inputs are in0, in1, ...; the product that is scaled has the scalar as its first one.
    vectors = {int(name[2:]) - first_input: n for name, n in stage["vectorize"].items()}
    return {"block": stage["block"], "rstep": stage["rstep"], "thread": stage["thread"],
            "reduce_thread": stage["reduce_thread"], "step": stage["step"], "vectorize": vectors}


def found_stage(stage, reads):
    if "warp" in stage:
        return {"block": stage["block"], "rstep": stage["steps"], "warp": stage["warp"], "wmma": stage["fragment"],
                "cutlass": stage["cutlass"]}
    return {"block": stage["block"], "rstep": stage["steps"], "thread": stage["threads"],
            "reduce_thread": stage["reduction_threads"], "step": stage.get("packed", []),
            "vectorize": {reads.index(name): n for name, n in stage["vectors"].items()}}


def expected_panels(raster):
    return None if raster == "<NoRasterization>" else ["row" if "Row" in raster else "column",
                                                       numbers(raster[raster.index("("):])[0]]


def flat(steps):
    """The extents of reduction steps, which the classes call by name."""
    return [list(of.values()) for of in steps.values()]


def expected(case):
    tiles = [{"tile": t["tile"], "traffic_bytes": t["traffic_per_tile"], "smem_bytes": t["smem"],
              "blocks_per_core": t["blocks_per_sm"], "waves": t["waves"], "blocks": t["grid"], "score": t["prio"],
              "panels": expected_panels(t["raster"]),
              "stages": [expected_stage(s, 1 if name == "bmm_div" else 0) for name, s in t["cfg"].items()]}
             for t in case["top"]]
    return {"base_tile": case["base_tile"], "first_steps": flat(case["rstep0"]),
                  "valid_tiles": case["num_valid_tiles"], "configurations": tiles}


def found(answer, text):
    figures = ("tile", "traffic_bytes", "smem_bytes", "blocks_per_core", "waves", "blocks", "score")
    tiles = [{**{name: c[name] for name in figures}, "panels": [c["order"], c["panel"]] if "order" in c else None,
              "stages": [found_stage(s, reads) for s, reads in zip(c["stages"], reads_of(text))]}
             for c in answer["configurations"]]
    return {"base_tile": answer["base_tile"], "first_steps": answer["first_steps"],
                  "valid_tiles": answer["valid_tiles"], "configurations": tiles}


def searched(run, chip, text, sizes, shapes, dtype, top):
    words = ["--shape", shapes] if shapes else []
    document = run("compile", "--arch", CHIPS[chip], "--op", text, "--size", sizes, *words, "--dtype", dtype,
                   "--search", "welder-open", "--top", str(top))
    return document["operators"][0].get("welder_open")


def golden_cases(document, run):
    """Cases that are answered alike; those that are not are printed."""
    good = 0
    for case in document["cases"]:
        text, sizes, shapes, dtype = operator(case["id"], case["op"])
        # How many the data keep is their own limit: none where there are none.
        answer = searched(run, case["arch"], text, sizes, shapes, dtype, max(1, len(case["top"])))
        # Where no tile fits, the program says so and no more.
        same = found(answer, text) == expected(case) if answer else case["num_valid_tiles"] == 0
        good += same
        if not same:
            print(f"  {case['arch']} {case['id']}: another answer")
    return good


def golden_sweep(document, run):
    """Tiles of one product that are judged alike: valid or not, bytes, shared memory, blocks, waves."""
    answer = searched(run, "V100", "C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=768,k=512", "", "f32", 1000)
    tiles = {tuple(c["tile"]): c for c in answer["configurations"]}
    step = answer["first_steps"][0]
    good = 0
    for m, n, traffic, smem, valid, blocks_per_core, waves, grid in document["sweep"]["rows"]:
        c = tiles.get((m, n))
        same = valid == (c is not None)
        if c and same:
            # The search's step is made longer behind it, which the sweep's is not; bytes grow with the step.
            longer = prod(c["stages"][0]["steps"]) / prod(step)
            same = (c["traffic_bytes"], c["smem_bytes"] / longer, c["blocks_per_core"], c["waves"], c["blocks"]) == (
                traffic, smem, blocks_per_core, waves, grid)
        good += same
        if not same:
            print(f"  tile {m}x{n}: another answer")
    return good
