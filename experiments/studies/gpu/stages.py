# SPDX-License-Identifier: Apache-2.0
"""What the study measures, in order of worth, and which operators of our suites PyTorch has a call for."""

from dataclasses import dataclass, field

# What a host is assumed to take, for the expected time alone: arrays are allocated, filled and compared on the device,
# modules and libraries are loaded, samples are read one by one. Rows have `task_s` to correct them by.
BYTES_PER_SECOND, MODULE_SECONDS, LIBRARY_SECONDS, SAMPLE_SECONDS = 20e9, 0.03, 0.3, 15e-6


def expected_seconds(tasks, num_bytes, samples, library_calls, runs):
    return (tasks * MODULE_SECONDS + num_bytes / BYTES_PER_SECOND + samples * SAMPLE_SECONDS
            + library_calls * LIBRARY_SECONDS + runs)


DEFAULT_CHIPS = ("h100_sxm", "h100_pcie", "h200")

SUITES = "experiments/studies/gpu/suites/"
COLD = ("--cold", "--seconds", "0.15", "--repeats", "30", "--samples", "64")
SAMPLED = ("--repeats", "0", "--samples", "512", "--top", "4")
SMALL = ("--scale", "small", "--repeats", "0", "--samples", "512")
LIBRARIES = ("--baseline", "cublas", "--baseline", "cudnn", "--baseline", "copy")
NO_TMA = ("--set", "core.tma.max_dims=1")  # no tensor of a product has so few dimensions: threads copy
MATRIX_DTYPES = ("f16", "bf16", "f8e4m3")


@dataclass
class Plan:
    """What `tilescope measure` is asked, with `draw` operators of the suite where that is given."""
    arguments: tuple
    draw: int = 0
    spread: int = 0  # so many programs of the whole list of each operator, in place of those that are predicted best
    needs: str = ""  # an instruction that the chip must have; the plan is left out where it has none
    is_small: bool = False  # its operators are small without scaling, which `quick` otherwise asks for


@dataclass
class Stage:
    name: str
    title: str
    share: float  # of the time; what a stage leaves goes to the next ones
    plans: list = field(default_factory=list)
    tool: str = "worker"  # worker, torch or ncu


def suite(name, *more):
    return ("--suite", name, *more)


STAGES = [
    Stage("facts", "launches, copy, triad and a product of 8192^3", 0.05,
          [Plan(suite(SUITES + "facts.yaml", *COLD, "--baseline", "copy", "--baseline", "cublas"))]),
    Stage("values", "values of each kind of kernel, and of suites scaled down", 0.22,
          [*(Plan(suite(SUITES + file, "--dtype", dtype, "--mma", f"{unit}.{dtype}", *how, *SAMPLED),
                  needs=f"{unit}.{dtype}", is_small=True)
             for file, dtypes in (("values.yaml", MATRIX_DTYPES), ("values_16_bit.yaml", ("f16", "bf16")))
             for dtype in dtypes for unit, how in (("wgmma", ()), ("wgmma", NO_TMA), ("mma", ()))),
           *(Plan(suite("fused", *dtype, *SMALL, "--top", "2")) for dtype in ((), ("--dtype", "f16"))),
           Plan(suite("transformer_layer", *SMALL, "--top", "3")),
           *(Plan(suite("examples", "--dtype", dtype, *SMALL, "--top", "2")) for dtype in ("f32", "f16", "bf16")),
           Plan(suite("roller", *SMALL))]),
    Stage("dtypes", "operators whose tensors have several dtypes: values and times", 0.04,
          [Plan(suite(SUITES + "dtypes.yaml", "--cold", "--seconds", "0.1", "--repeats", "20", "--samples", "512",
                      "--top", "3"))]),
    Stage("times", "first programs at full size, and libraries", 0.28,
          [*(Plan(suite("roller-tensorcore", "--dtype", dtype, *COLD, "--baseline", "cublas"))
             for dtype in ("f16", "bf16")),
           Plan(suite("roller-tensorcore", "--dtype", "f8e4m3", *COLD), needs="wgmma.f8e4m3"),
           Plan(suite("transformer_layer", *COLD, *LIBRARIES)),
           *(Plan(suite(name, *COLD, *LIBRARIES))
             for name in ("fused", "roller", "roller-scaleout", "roller-irregular"))]),
    Stage("torch", "PyTorch's attention, normalizations and products", 0.07, tool="torch"),
    Stage("rank", "ten programs of each of twenty operators", 0.13,
          [*(Plan(suite("roller-tensorcore", "--dtype", dtype, "--top", "10", *COLD)) for dtype in ("f16", "bf16")),
           Plan(suite("roller", "--top", "10", *COLD), draw=12)]),
    Stage("spread", "programs from all over the lists of 48 operators, and libraries", 0.30,
          [Plan(suite(SUITES + "spread.yaml", *COLD, *LIBRARIES)),
           Plan(suite(SUITES + "spread.yaml", *COLD), spread=32)]),
    Stage("curves", "microbenchmarks: memory, conflicts, dispatch, matrix instructions", 0.08,
          [Plan(("--microbench", "--seconds", "0.05", "--repeats", "10"))]),
    Stage("power", "energy and clocks of twelve kernels", 0.06,
          [Plan(suite(SUITES + "power.yaml", "--energy", "1.5", "--repeats", "10", "--seconds", "0.1",
                     "--baseline", "cublas"))]),
    Stage("counters", "hardware counters of ten kernels", 0.07,
          [Plan(suite(SUITES + "counters.yaml", "--repeats", "0", "--samples", "2"))], tool="ncu"),
]
STAGE_NAMES = [stage.name for stage in STAGES]

# Operators that PyTorch has a call for: the call and the axes whose sizes it takes, by suite and id, or kind.
TORCH = {
    "roller": {"kind elementwise": ("relu", "i"), "kind reduction": ("row_sum", "i j")},
    "fused": {
        **{f"softmax_{n}": ("softmax", "i j") for n in ("1", "98k", "1m")},
        **{f"layernorm_{n}": ("layernorm", "i j") for n in ("1", "8k", "1m")},
        **{f"rmsnorm_{n}": ("rmsnorm", "i j") for n in ("1", "2k")},
        **{f"attention_{n}": ("attention", "b m n d v") for n in ("128", "1k", "2k", "4k", "16k")},
        "decode": ("attention", "b m n d v"),
        "bias_gelu": ("linear_gelu", "m n k"),
    },
    "transformer_layer": {
        **{name: ("linear", "m n k") for name in ("qkv", "attention_output", "gate_up", "down")},
        "norm": ("rmsnorm", "i j"),
        "softmax": ("softmax", "i t"),
        "residual": ("add", "i"),
        "silu": ("silu_mul", "i"),
    },
}
