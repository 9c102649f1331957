# SPDX-License-Identifier: MIT
"""Single operators (operator_cases.py) against onnxruntime, on one thread, interleaved in one process: processor time, so that other
processes matter little. Ratios above 1: dnncc is faster. With --write, docs/operators.md."""
import argparse
import ctypes
import json
import math
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from operator_cases import CASES

ROUNDS, TURN, LOST = 9, 1e-3, 0.9       # rounds that count, seconds of a turn, the ratio that nothing should fall below


def model_of(case):
    names = [f"x{k}" for k in range(len(case.inputs))]
    results = [f"y{k}" for k in range(case.outputs)]
    node = helper.make_node(case.operator, names, results, **case.attributes)
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for k, (n, x) in enumerate(zip(names, case.inputs)) if k not in case.weights]
    constants = [numpy_helper.from_array(case.inputs[k], names[k]) for k in case.weights]
    graph = helper.make_graph([node], "operator", given, [onnx.ValueInfoProto(name=n) for n in results], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def aligned(size):
    block = np.zeros(size + 4096, np.uint8)
    start = -block.ctypes.data % 4096
    return block[start:start + size]


class Refused(Exception):
    """the compiler does not take the model; why"""


class Ours:
    """the generated code of a model, with memory for it"""
    def __init__(self, path, feeds, options):
        source, library, report = (path.with_suffix(s) for s in (".c", ".so", ".json"))
        command = [options.dnncc, path, "-o", source, "--name=m", f"--target={options.target}", f"--report={report}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Refused(done.stderr.strip().splitlines()[-1].split("error: ")[-1])
        subprocess.run([options.cc, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        facts = json.loads(report.read_text())
        options.target = facts["target"]        # which one is native
        self.run_model = ctypes.CDLL(library, mode=ctypes.RTLD_LOCAL).m_run
        self.memory = [aligned(max(64, facts["workspace"]))]
        for x in feeds.values():
            self.memory.append(aligned(max(64, x.nbytes)))
            self.memory[-1][:x.nbytes] = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
        self.results = [aligned(max(64, b["bytes"])) for b in facts["buffers"] if b["space"] == "output"]
        self.arguments = [ctypes.c_void_p(m.ctypes.data) for m in self.memory + self.results]
        if self.run():
            raise Refused("the run failed")

    def run(self):
        return self.run_model(*self.arguments)


class Theirs:
    def __init__(self, path, feeds):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, x in feeds.items():
            self.binding.bind_cpu_input(name, x)
        for y in self.session.get_outputs():
            self.binding.bind_output(y.name, "cpu")
        self.run()

    def run(self):
        self.session.run_with_iobinding(self.binding)


def agree(ours, theirs):
    """what is left open (the sign of a zero, the last bits) aside; and bf16, which numpy does not have"""
    for got, y in zip(ours.results, theirs.binding.get_outputs()):
        if not y.has_value() or "bfloat16" in y.data_type():
            continue
        want = y.numpy()
        got = got[:want.nbytes].view(want.dtype).reshape(want.shape)
        if not np.allclose(got.astype(float), want.astype(float), 1e-3, 1e-3, equal_nan=True):
            return False
    return True


def turn(run, count):
    start = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - start) / count


def measure(case, options):
    """(seconds of ours, seconds of theirs or nan, note)"""
    path = options.out / ("".join(c if c.isalnum() else "_" for c in case.name) + ".onnx")
    onnx.save(model_of(case), path)
    feeds = {f"x{k}": x for k, x in enumerate(case.inputs) if k not in case.weights}
    ours = Ours(path, feeds, options)
    try:
        theirs = Theirs(path, feeds)
    except Exception as error:          # it has a type of its own for each reason
        return turn(ours.run, 20), math.nan, type(error).__name__
    note = "" if agree(ours, theirs) else "differs"
    pairs = []
    counts = [max(1, int(TURN / (turn(side.run, 2) + 1e-7))) for side in (ours, theirs)]
    for _ in range(ROUNDS):
        pairs.append([turn(side.run, count) for side, count in zip((ours, theirs), counts)])
    return *(statistics.median(times) for times in zip(*pairs)), note


def milliseconds(seconds):
    return "-" if math.isnan(seconds) else f"{seconds * 1e3:.3g}"


def page(rows, options):
    known = [(case, ours, theirs) for case, ours, theirs, _ in rows if theirs == theirs]
    lines = ["# Operators", "", "Written by `make bench-operators` (test/bench/operators.py), never by hand.", "",
             f"Models of one operator each, target {options.target}, one thread, processor time beside that of onnxruntime "
             f"{onnxruntime.__version__}; a ratio is its time divided by dnncc's: above 1, dnncc is faster. Slower: below {LOST}. What "
             "either does not run is left out.", "", "| group | cases | geometric mean | least | slower |", "| --- | ---: | ---: | ---: | --- |"]
    for group in dict.fromkeys(case.group for case, *_ in known):
        ratios = {case.name: theirs / ours for case, ours, theirs in known if case.group == group}
        slower = ", ".join(f"{name} ({ratio:.2f})" for name, ratio in sorted(ratios.items(), key=lambda r: r[1]) if ratio < LOST)
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        lines.append(f"| {group} | {len(ratios)} | {mean:.2f} | {min(ratios.values()):.2f} | {slower} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="cases whose names begin so, or of the group so named")
    parser.add_argument("--dnncc", default="build/dnncc")
    parser.add_argument("--target", default="native")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--out", type=Path, default=Path("build/operators"))
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for case in CASES:
        if options.only and case.group not in options.only and not case.name.startswith(tuple(options.only)):
            continue
        try:
            ours, theirs, note = measure(case, options)
        except Refused as reason:
            print(f"{case.name:40} {reason}", flush=True)
            continue
        rows.append((case, ours, theirs, note))
        print(f"{case.name:40} {milliseconds(ours):>8} {milliseconds(theirs):>8} ms {theirs / ours:7.2f}"
              f"{' <<' if theirs < LOST * ours else ''} {note}", flush=True)
    if options.write:
        options.write.write_text(page(rows, options))


if __name__ == "__main__":
    main()
