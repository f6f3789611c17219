#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of make.py by tilescope and by onnxruntime.

run.py [--onnxruntime | --record] [--keep FOLDER] [--build FOLDER] [NAME...]

Outputs are compared with those of reference.jsonl, which are onnxruntime's in seven digits, or with --onnxruntime with
those that the package onnxruntime-node computes now; --record writes them to reference.jsonl. An output is right where
its shape is, and where no element differs by more than 1e-4 of the output's greatest magnitude. Every node must have
stages too where the inputs are not known. Exit status 77, with the reason, where something that this needs is missing.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
REFERENCE = HERE / "reference.jsonl"
TOLERANCE = 1e-4


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


try:
    import numpy as np
    from onnx import numpy_helper

    import make
except ImportError as missing:
    skip(f"{missing} (apt-get install python3-onnx)")


def write_inputs(folder, net):
    inputs = []
    for tensor in net.values:
        values = numpy_helper.to_array(tensor)
        inputs.append({"name": tensor.name, "type": str(values.dtype), "dims": list(values.shape),
                       "values": values.flatten().tolist()})
    (folder / "inputs.json").write_text(json.dumps(inputs))


def by_onnxruntime(folder, names):
    if not (HERE / "node_modules/onnxruntime-node").exists():
        skip(f"onnxruntime-node is missing (npm ci --ignore-scripts in {HERE.relative_to(ROOT)})")
    try:
        subprocess.run(["node", HERE / "reference.mjs", folder, *names], check=True)
    except FileNotFoundError:
        skip("Node.js is missing (apt-get install nodejs)")
    return {name: json.loads((folder / name / "outputs.json").read_text()) for name in names}


def recorded():
    return {line["network"]: line["outputs"] for line in map(json.loads, REFERENCE.read_text().splitlines())}


def record(outputs):
    def short(o):
        values = o["values"] if o["type"] == "int64" else [float(f"{v:.7g}") for v in o["values"]]
        return {**o, "values": values}

    lines = [json.dumps({"network": name, "outputs": [short(o) for o in of]}, separators=(",", ":"))
             for name, of in outputs.items()]
    REFERENCE.write_text("\n".join(lines) + "\n")


def write_outputs(folder, outputs):
    for i, o in enumerate(outputs):
        values = np.array(o["values"], o["type"]).reshape(o["dims"])
        tensor = numpy_helper.from_array(values, o["name"])
        (folder / "data" / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


def tilescope(binary, *arguments):
    done = subprocess.run([binary, "network", *arguments, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""


def mistakes_of(binary, folder, net):
    """What is wrong, and the greatest error of an output."""
    model = folder / "model.onnx"
    checked, why = tilescope(binary, model, "--values", folder / "data")
    if checked is None:
        return [why], 0
    found = []
    if len(checked["outputs"]) != len(net.outputs):
        found.append(f"{len(checked['outputs'])} outputs, expected {len(net.outputs)}")
    for o in checked["outputs"]:
        if o.get("largest_error") is None or o["largest_error"] > TOLERANCE:
            found.append(f"{o['output']}: {o['why'] or 'an error of %g' % o['error']}")
    sizes = {d.dim_param: s for value, tensor in zip(net.inputs, net.values)
             for d, s in zip(value.type.tensor_type.shape.dim, tensor.dims) if d.dim_param}
    options = ["--size", ",".join(f"{k}={v}" for k, v in sizes.items())] if sizes else []
    summary, why = tilescope(binary, model, *options)
    if summary is None:
        return found + [why], 0
    found += [f"without known inputs, {n['node']} ({n['kind']}): {n['why']}" for n in summary["nodes"] if n["why"]]
    return found, max(o.get("largest_error") or 0 for o in checked["outputs"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--onnxruntime", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    binary = options.build / "tilescope"
    refusal = subprocess.run([binary, "network", "/dev/null"], capture_output=True, text=True).stderr
    if "reads no ONNX files" in refusal:
        skip(refusal.strip())
    names = options.names or list(make.NETWORKS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        nets = {name: make.made(name) for name in names}
        for name, net in nets.items():
            make.write(net, folder / name)
            write_inputs(folder / name, net)
        expected = by_onnxruntime(folder, names) if options.onnxruntime or options.record else recorded()
        if options.record:
            record(expected)
        wrong = 0
        for name, net in nets.items():
            if name not in expected:
                mistakes, worst = ["not in reference.jsonl"], 0
            else:
                write_outputs(folder / name, expected[name])
                mistakes, worst = mistakes_of(binary, folder / name, net)
            wrong += bool(mistakes)
            print(f"{'wrong' if mistakes else 'right'}  {name:22} {len(net.nodes):3} nodes, greatest error {worst:.1e}")
            for m in mistakes:
                print(f"       {m}")
        print(f"{len(nets)} networks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
