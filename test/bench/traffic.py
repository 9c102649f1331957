# SPDX-License-Identifier: MIT
"""Bytes moved between kernels, and FLOPs of contractions: dnncc's kernels beside the graph that onnxruntime makes of the same model.

    traffic.py                                   # the zoo and ../shared/models
    traffic.py --models=resnet18 --top=5         # and the five kernels of each that move most
    traffic.py --write=docs/measurements/memory.md            # renews the table there

Both are counted alike. A kernel reads each of its operands once and writes each of its results once; onnxruntime's kernels are the nodes
of the graph it saves after its basic, and after its extended optimisations (the better of the two counts). Constants count nothing, nor
do nodes that only rename, nor what lives inside one kernel; zeros stored around images count as all that is stored. A recurrent node is
one kernel on both sides, whatever its steps hand on. Two FLOPs for each product of a convolution or of matrices, none in recurrent nodes."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import subjects  # noqa: E402

RENAMES = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout", "Shape", "Constant"}
RECURRENT = {"LSTM", "GRU", "RNN"}
CONVOLUTIONS = {"Conv": 1, "FusedConv": 1, "NhwcFusedConv": 1, "ConvInteger": 1, "QLinearConv": 3}      # and the number of the weights
PRODUCTS = {"Gemm", "FusedGemm", "MatMul", "FusedMatMul", "MatMulInteger", "QLinearMatMul", "QGemm", "MatMulIntegerToFloat",
            "DynamicQuantizeMatMul", "MatMulNBits"}
LEVELS = {"basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED}


# ---- onnxruntime ----

def session(path, level, save=None):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    if save:
        options.optimized_model_filepath = str(save)
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def all_values(model, inputs, folder):
    """every value of the graph, by name"""
    outputs = {port.name for port in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for node in model.graph.node for n in node.output if n and n not in outputs)
    onnx.save(model, folder / "all.onnx", save_as_external_data=True, location="all.bin")
    run = session(folder / "all.onnx", ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return inputs | dict(zip((port.name for port in run.get_outputs()), run.run(None, inputs)))


def products(node, shape, values):
    """of a node that is a contraction"""
    if node.op_type in CONVOLUTIONS:
        return values[node.output[0]].size * int(np.prod(shape(CONVOLUTIONS[node.op_type])[1:]))
    if node.op_type == "ConvTranspose":
        return values[node.input[0]].size * int(np.prod(shape(1)[1:]))
    if node.op_type in PRODUCTS:
        transposed = any(a.name == "transA" and a.i for a in node.attribute)
        return values[node.output[0]].size * shape(0)[-2 if transposed else -1]
    return 0


def count_theirs(path, level, inputs, folder):
    """(bytes, FLOPs, [bytes and kernel])"""
    session(path, level, folder / "optimized.onnx")
    model = onnx.load(folder / "optimized.onnx", load_external_data=False)
    onnx.load_external_data_for_model(model, str(path.parent))        # where the model itself has it
    stored = {t.name: list(t.dims) for t in model.graph.initializer}
    values, constant, rows, flops = all_values(model, inputs, folder), set(stored), [], 0
    for node in model.graph.node:
        operands = [name for name in node.input if name]
        if constant.issuperset(operands):
            constant.update(node.output)
        elif node.op_type not in RENAMES:
            touched = [values[name] for name in [*(n for n in operands if n not in constant), *(n for n in node.output if n)]]
            rows.append((sum(v.nbytes for v in touched if isinstance(v, np.ndarray)), f"{node.op_type} {node.name}"))
            flops += 2 * products(node, lambda k: stored.get(node.input[k]) or list(values[node.input[k]].shape), values)
    return sum(size for size, _ in rows), flops, rows


# ---- dnncc ----

def count_flops(graph):
    """of --emit=json"""
    shapes = {c["name"]: c["type"]["shape"] for c in graph["constants"]}

    def region_products(region):
        total = 0
        shapes.update({a["name"]: a["type"]["shape"] for a in region["arguments"]})
        for op in region["operations"]:
            shapes.update({r["name"]: r["type"]["shape"] for r in op["results"]})
            attributes, total = op["attributes"], total + sum(map(region_products, op.get("regions", [])))
            if op["op"] == "convolve":
                x, w = (shapes[name] for name in op["operands"][:2])
                scattered = any(d > 1 for d in attributes["input_dilations"])
                total += (int(np.prod(x)) * int(np.prod(w[2:])) * w[0] // attributes["groups"] if scattered
                          else int(np.prod(op["results"][0]["type"]["shape"])) * int(np.prod(w[1:])))
            elif op["op"] == "dot":
                x = shapes[op["operands"][0]]
                total += int(np.prod(op["results"][0]["type"]["shape"])) * int(np.prod([x[k] for k in attributes["contract_a"]]))
        return total

    return 2 * sum(region_products(f["body"]) for f in graph["functions"])


def count_ours(dnncc, path, target, folder):
    """(bytes, FLOPs, [bytes and kernel])"""
    c, report = folder / "model.c", folder / "model.json"
    command = [dnncc, path, "-o", c, "--name=model", "--weights=file", f"--target={target}", f"--report={report}"]
    subprocess.run([str(a) for a in command], check=True, capture_output=True)
    facts = json.loads(report.read_text())
    graph = subprocess.run([str(dnncc), str(path), "--emit=json", "-o", "-"], check=True, capture_output=True, text=True)
    buffers = {b["name"]: b for b in facts["buffers"]}

    def root(name):
        while buffers[name]["space"] == "view":
            name = buffers[name]["of"]
        return name

    recurrent = {node.name for node in onnx.load(path, load_external_data=False).graph.node if node.op_type in RECURRENT}
    kernels, users = [], {}             # of one call each, or of all calls of a recurrent node
    for call in facts["calls"]:         # a node's calls follow each other, with copies of no node; another one may use the same kernels
        last = kernels[-1] if kernels else [call]
        inside = last[0]["location"] in recurrent and call["location"] in ("", last[0]["location"]) and call["kernel"] != last[0]["kernel"]
        if not inside:
            kernels.append([])
        kernels[-1].append(call)
        for name in call["buffers"]:
            users.setdefault(root(name), set()).add(len(kernels))
    rows = []
    for calls in kernels:
        touched = {}                    # by all calls: each buffer is read once, and written once
        for name, access in ((name, access) for call in calls for name, access in zip(call["buffers"], call["access"])):
            space = buffers[root(name)]["space"]
            if space in ("input", "output") or space == "workspace" and len(users[root(name)]) > 1:
                touched.setdefault(name, set()).update({"in", "out"} if access == "inout" else {access})
        rows.append((sum(buffers[name]["bytes"] * len(ways) for name, ways in touched.items()), f'{calls[0]["kernel"]}: {calls[0]["summary"]}'))
    return sum(size for size, _ in rows), count_flops(json.loads(graph.stdout)), rows


# ---- ----

def compare(subject, o, folder):
    inputs = dict(subject.inputs)
    counts = {target: count_ours(o.dnncc, subject.path, target, folder) for target in o.targets.split(",")}
    theirs = {name: count_theirs(subject.path, level, inputs, folder) for name, level in LEVELS.items()}
    least = [min(count[k] for count in theirs.values()) for k in (0, 1)]
    print(f"{subject.name}: onnxruntime {least[0] / 1e6:.2f} MB, {least[1] / 1e6:.1f} MFLOP, {min(len(t[2]) for t in theirs.values())} kernels", flush=True)
    for target, (size, flops, rows) in counts.items():
        print(f"  {target:10} {size / 1e6:9.2f} MB ({size / least[0]:.2f}), {flops / 1e6:.1f} MFLOP ({flops / least[1] if least[1] else float('nan'):.2f}), {len(rows)} kernels", flush=True)
    sizes = " | ".join(f"{size / 1e6:.2f} ({size / least[0]:.2f})" for size, _, _ in counts.values())
    flops = f"{least[1] / 1e6:.1f} ({max(flops for _, flops, _ in counts.values()) / least[1]:.2f})" if least[1] else "-"
    line = f"| {subject.name} | {least[0] / 1e6:.2f} | {sizes} | {flops} |"
    for name, (_, _, rows) in [*counts.items(), *theirs.items()] if o.top else []:
        for size, what in sorted(rows, reverse=True)[:o.top]:
            print(f"    {name:10} {size / 1e6:8.2f} MB  {what[:110]}")
    return line


def write_table(path, lines, targets):
    """between the marks of a file"""
    head = [f"| model | onnxruntime, MB | {' | '.join(targets)} | MFLOP |", "| --- | " + "---: | " * (len(targets) + 2)]
    before, rest = path.read_text().split("<!-- traffic -->\n")
    path.write_text(before + "<!-- traffic -->\n" + "\n".join(line.rstrip() for line in [*head, *lines]) + "\n" + rest[rest.index("<!-- end of traffic -->"):])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--models", help="names (default: the zoo and ../shared/models)")
    p.add_argument("--targets", default="generic,x86-64-v4")
    p.add_argument("--top", type=int, default=0, help="list so many kernels that move most")
    p.add_argument("--write", type=pathlib.Path, metavar="FILE", help="put the table between the marks of FILE")
    p.add_argument("--dnncc", default=os.environ.get("DNNCC", subjects.ROOT / "build" / "dnncc"))
    p.add_argument("--out", type=pathlib.Path, default=subjects.ROOT / "build" / "bench")
    o = p.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    lines = []
    usual = {**subjects.zoo_models(), **subjects.real_models()}
    known = usual | subjects.quantized_models()
    for name in o.models.split(",") if o.models else usual:
        if name not in known:
            sys.exit(f"no model is called '{name}'; there are: {', '.join(known)}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                lines.append(compare(known[name](o.out), o, pathlib.Path(folder)))
            except (subprocess.CalledProcessError, RuntimeError, ValueError, onnx.checker.ValidationError, Fail) as reason:
                print(f"{name}: not counted: {str(reason)[:120]}", flush=True)
    if o.write:
        write_table(o.write, lines, o.targets.split(","))


if __name__ == "__main__":
    main()
