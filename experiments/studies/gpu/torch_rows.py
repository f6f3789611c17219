# SPDX-License-Identifier: Apache-2.0
"""Times of PyTorch's calls for operators of our suites, as rows; needs PyTorch and its GPU.

    torch_rows.py OPERATORS.json --rows FILE [--done FILE].. --chip NAME --seconds N

The device's cache is read through before every call, and a time is the median of up to 30 calls between two events;
an eager baseline is of several kernels. Ends with status 1 and a sentence where there is no PyTorch or no GPU, with 3 when time was up.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import time

import rows as rows_of

REPEATS, WARM_UP, SECONDS = 30, 3, 0.15
FLUSHES = 4  # of the device's cache before each call, so that the host is ahead of the device when the call begins


def inputs(torch, operator):
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[operator["dtype"]]
    # The same nine values as those of our programs: what switches decides a product's power, and so its clock.
    return lambda *shape: torch.randint(-4, 5, shape, device="cuda").to(dtype) * 0.25


def call_of(torch, operator):
    """The name of a baseline, and what runs it."""
    tensor, sizes, name = inputs(torch, operator), operator["sizes"], operator["call"]
    functional = torch.nn.functional
    if name == "attention":
        batch, rows, keys, depth, values = sizes
        q, k, v = tensor(1, batch, rows, depth), tensor(1, batch, keys, depth), tensor(1, batch, keys, values)
        return "torch-sdpa", lambda: functional.scaled_dot_product_attention(q, k, v, scale=1.0)
    if name in ("linear", "linear_gelu"):
        m, n, k = sizes
        x, w, b = tensor(m, k), tensor(n, k), tensor(n)
        if name == "linear":
            return "torch-linear", lambda: functional.linear(x, w)
        return "torch-eager-linear-gelu", lambda: functional.gelu(functional.linear(x, w, b))
    if name == "softmax":
        x = tensor(*sizes)
        return "torch-softmax", lambda: torch.softmax(x, -1)
    if name == "layernorm":
        x, weight, bias = tensor(*sizes), tensor(sizes[1]), tensor(sizes[1])
        return "torch-layernorm", lambda: functional.layer_norm(x, sizes[1:], weight, bias, 1e-5)
    if name == "rmsnorm":
        x, weight = tensor(*sizes), tensor(sizes[1])
        return "torch-rmsnorm", lambda: functional.rms_norm(x, sizes[1:], weight, 1e-5)
    if name == "relu":
        x = tensor(*sizes)
        return "torch-relu", lambda: torch.relu(x)
    if name == "row_sum":
        x = tensor(*sizes)
        return "torch-sum", lambda: x.sum(1)
    if name == "add":
        x, y = tensor(*sizes), tensor(*sizes)
        return "torch-add", lambda: x + y
    if name == "silu_mul":
        x, y = tensor(*sizes), tensor(*sizes)
        return "torch-eager-silu-mul", lambda: functional.silu(x) * y
    raise ValueError(f"no call is named {name}")


def timed(torch, call, flush):
    """Microseconds of each call."""
    for _ in range(WARM_UP):
        call()
    torch.cuda.synchronize()
    begin, out = time.monotonic(), []
    while len(out) < REPEATS and (not out or time.monotonic() - begin < SECONDS):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(FLUSHES):
            flush.sum()  # reads: written lines would be written back during the call
        before.record()
        call()
        after.record()
        torch.cuda.synchronize()
        out.append(1e3 * before.elapsed_time(after))
    return sorted(out)


def key(operator):
    return f"torch {operator['call']} {operator['dtype']} {operator['id']} {operator['sizes']}"


def row_of(torch, operator, chip, flush):
    row = {"id": operator["id"], "kind": operator["kind"], "dtype": operator["dtype"], "chip": chip,
           "operator": operator["operator"], "device": torch.cuda.get_device_name(0), "torch": torch.__version__,
           "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    row["key"] = key(operator)
    try:
        row["baseline"], call = call_of(torch, operator)
        times = timed(torch, call, flush)
        quantile = lambda share: times[round(share * (len(times) - 1))]  # noqa: E731
        row.update(measured_us=statistics.median(times), low_us=quantile(0.1), high_us=quantile(0.9),
                   spread_ratio=(quantile(0.9) - quantile(0.1)) / statistics.median(times), repeats=len(times),
                   l2="cold")
    except Exception as error:  # out of memory, or a call that this version lacks: its own row alone
        row.setdefault("baseline", "torch")
        row["error"] = (str(error).splitlines() or [type(error).__name__])[0]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path, required=True)
    parser.add_argument("--done", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--chip", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    began = time.monotonic()
    try:
        import torch
    except ImportError:
        sys.exit("this Python has no PyTorch")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, device="cuda", dtype=torch.uint8).view(torch.int32)
    done = {row["key"] for file in [options.rows, *options.done] for row in rows_of.read(file).values()
            if "error" not in row}
    for operator in json.loads(options.operators.read_text(encoding="utf-8")):
        if key(operator) in done:
            continue
        if time.monotonic() - began > options.seconds:
            sys.exit(3)
        row = row_of(torch, operator, options.chip, flush)
        rows_of.add(options.rows, [row])
        print(rows_of.text(row), end="", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
