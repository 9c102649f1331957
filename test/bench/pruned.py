# SPDX-License-Identifier: MIT
"""What pruned filters cost: networks of the zoo, half of whose filters are zeros, beside the same networks written without them.

    build/venv/bin/python test/bench/pruned.py [--sums] [--rounds N] [--target NAME] [NAME ..]       names of zoo models; default: mobilenet_v2 resnet50

Pruned are filters within blocks; with --sums also those whose channels are summands of residual sums, the same ones in all of them. With a filter its scale and
shift of a norm become zeros. `zeros` is that network, `taken out` the same under --assume-finite, `written` the network with the other half of the filters
alone, under the same option. A line has millions of operations and bytes of constants as --report has them, milliseconds of processor time (the median over
rounds, one thread), the median of ratios to `written` of neighbouring turns, and how far its outputs are from those of `zeros`, by the largest of them. Files go to
build/pruned.
"""
import argparse
import json
import pathlib
import statistics
import sys

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "bench"), str(ROOT / "test" / "support")]
import subjects  # noqa: E402
from engines import Engine  # noqa: E402
from ratios import processor  # noqa: E402

OUT = ROOT / "build" / "pruned"
PASSED = {"Relu", "Clip", "BatchNormalization", "MaxPool", "Add"}


class Network:
    """a model whose initializers are arrays"""

    def __init__(self, path):
        self.model = onnx.load(path)
        self.nodes = list(self.model.graph.node)
        self.arrays = {t.name: numpy_helper.to_array(t).copy() for t in self.model.graph.initializer}

    def is_depthwise(self, node):
        return node.op_type == "Conv" and any(a.name == "group" and a.i > 1 for a in node.attribute)

    def passes(self, node):
        return node.op_type in PASSED or self.is_depthwise(node)

    def families(self, sums):
        """sets of values that have the same channels, made and read by convolutions alone, in the order of their first nodes"""
        parent = {}

        def root(name):
            while parent.setdefault(name, name) != name:
                name = parent[name]
            return name

        fixed, summed = {p.name for p in (*self.model.graph.input, *self.model.graph.output)}, set()
        for node in self.nodes:
            values = [name for name in (*node.input, *node.output) if name not in self.arrays]
            if self.passes(node):
                for name in values:
                    parent[root(name)] = root(values[0])
            elif node.op_type != "Conv":
                fixed.update(values)
            summed.update(values if node.op_type == "Add" else ())
        kept = {root(name) for name in fixed | (set() if sums else summed)}
        found = {}
        for node in self.nodes:
            if node.op_type == "Conv" and not self.is_depthwise(node) and root(node.output[0]) not in kept:
                found.setdefault(root(node.output[0]), set())
        for name in list(parent):
            found.get(root(name), set()).add(name)
        return list(found.values())

    def along(self, family):
        """names of arrays with these channels in dimension 0, and of those with them in dimension 1"""
        outer, inner = [], []
        for node in self.nodes:
            if node.output[0] in family and node.op_type in ("Conv", "BatchNormalization"):
                outer.append(list(node.input[1:]))
            elif node.op_type == "Conv" and node.input[0] in family:
                inner.append(node.input[1])
        return outer, inner

    def channels(self, family):
        return len(self.arrays[self.along(family)[0][0][0]])

    def zero(self, family, gone):
        for names in self.along(family)[0]:
            for name in names[:2]:              # of a norm: scale and shift; what they are of a depthwise convolution is nothing
                self.arrays[name][gone] = 0

    def cut(self, family, gone):
        outer, inner = self.along(family)
        for name in (name for names in outer for name in names):
            self.arrays[name] = np.delete(self.arrays[name], gone, 0)
        for name in inner:
            self.arrays[name] = np.delete(self.arrays[name], gone, 1)
        for node in self.nodes:
            for attribute in node.attribute if node.output[0] in family and self.is_depthwise(node) else ():
                if attribute.name == "group":
                    attribute.i = len(self.arrays[node.input[1]])

    def save(self, path):
        for tensor in self.model.graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(self.arrays[tensor.name], tensor.name))
        del self.model.graph.value_info[:]
        onnx.save(self.model, path)
        return path


def pruned(source, sums=False):
    """the network with zeros, and the network that was written without them"""
    zeros, written = Network(source), Network(source)
    rng = np.random.default_rng(1)
    for family in zeros.families(sums):
        count = zeros.channels(family)
        gone = rng.permutation(count)[:count // 2]
        zeros.zero(family, gone)
        written.cut(family, gone)
    OUT.mkdir(parents=True, exist_ok=True)
    stem = f"{source.stem}_sums" if sums else source.stem
    return zeros.save(OUT / f"{stem}_zeros.onnx"), written.save(OUT / f"{stem}_written.onnx")


def results(folder):
    return [np.frombuffer(f.read_bytes(), np.float32) for f in sorted(folder.iterdir())]


def measure(model, o, compiler):
    import zoo
    zeros, written = pruned(zoo.build(model), o.sums)
    inputs, engines, documents = zoo.inputs(model, 1), {}, {}
    for what, path, options in (("zeros", zeros, []), ("taken out", zeros, ["--assume-finite"]), ("written", written, ["--assume-finite"])):
        place = OUT / "io" / model / what.replace(" ", "-")
        given = subjects.Subject(model, path, list(inputs.items())).write_inputs(place / "in")
        folder = compiler.compile(path, o.target, options=options)[0]
        documents[what] = json.loads((folder / "report.json").read_text())
        engines[what] = Engine(what, compiler.command(folder, given, place / "out", [0]))
    times = {what: [] for what in engines}
    for k in range(o.rounds):           # who is first takes turns
        for what in sorted(engines, reverse=k % 2):
            times[what].append(engines[what].turn(o.seconds, "processor")["median"])
    for what, engine in engines.items():
        engine.close()
        outputs = [results(OUT / "io" / model / w.replace(" ", "-") / "out") for w in (what, "zeros")]
        far = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(*outputs, strict=True))
        ratio = statistics.median(a / b for a, b in zip(times[what], times["written"]))
        print(f"{model:14s} {what:10s} {documents[what]['flops'] / 1e6:9.1f} {documents[what]['constants']:11d} "
              f"{1e3 * statistics.median(times[what]):8.2f} {ratio:6.3f}   {far:.1e}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", default=["mobilenet_v2", "resnet50"], metavar="NAME")
    p.add_argument("--sums", action="store_true")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--target", default="native")
    p.add_argument("--dnncc", default=ROOT / "build" / "dnncc")
    p.add_argument("--cc", default="cc")
    o = p.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    compiler = subjects.Compiler(o.dnncc, o.cc, OUT)
    print(f"{processor()}, --target={o.target}, {compiler.cc_version}, one thread")
    print(f"{'':25s} {'MFLOP':>9s} {'constants':>11s} {'ms':>8s} {'ratio':>6s}   distance")
    for name in o.names:
        measure(name, o, compiler)


if __name__ == "__main__":
    main()
