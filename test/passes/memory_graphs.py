# SPDX-License-Identifier: MIT
"""Small networks whose order of nodes matters for memory, and the tables of docs/measurements/memory.md:

    python test/passes/memory_graphs.py --write docs/measurements/memory.md
"""
import argparse
import json
import os
import pathlib
import random
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import dnncc  # noqa: E402

SIDE = 8


class Net:
    """Nodes in the order they are added. Values are <1 x channels x SIDE x SIDE> unless said otherwise."""

    def __init__(self, channels=4):
        self.nodes, self.constants, self.outputs, self.channels = [], [], [], {"x": channels}
        self.random = np.random.default_rng(1)

    def add(self, kind, inputs, channels, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.channels[name] = channels
        return name

    def constant(self, *shape):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(self.random.standard_normal(shape).astype(np.float32) / 4, name))
        return name

    def conv(self, x, channels, window=1, stride=1, group=1):
        w = self.constant(channels, self.channels[x] // group, window, window)
        return self.add("Conv", [x, w], channels, pads=[window // 2] * 4, strides=[stride] * 2, group=group)

    def pool(self, x):
        return self.add("MaxPool", [x], self.channels[x], kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])

    def concat(self, *xs):
        return self.add("Concat", list(xs), sum(self.channels[x] for x in xs), axis=1)

    def slice(self, x, start, end):
        bounds = [numpy_helper.from_array(np.array([v], np.int64), f"c{len(self.constants) + i}") for i, v in enumerate((start, end, 1))]
        self.constants += bounds
        return self.add("Slice", [x] + [b.name for b in bounds], end - start)

    def plus(self, a, b):
        return self.add("Add", [a, b], self.channels[a])

    def up(self, x):
        scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), f"c{len(self.constants)}")
        self.constants.append(scales)
        return self.add("Resize", [x, "", scales.name], self.channels[x], mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def model(self, order=None, side=SIDE):
        nodes = [self.nodes[i] for i in order] if order else self.nodes
        used = {name for node in nodes for name in node.input}
        outputs = self.outputs or [name for node in nodes for name in node.output if name not in used]
        graph = helper.make_graph(nodes, "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, self.channels["x"], side, side])],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        return onnx.shape_inference.infer_shapes(model)


def inception():
    n = Net(8)
    x = n.conv("x", 16)
    a, b, c, d = n.conv(x, 4), n.conv(x, 12), n.conv(x, 2), n.pool(x)
    return n, n.conv(n.concat(a, n.conv(b, 8, 3), n.conv(c, 4, 5), n.conv(d, 4)), 2)


def pyramid():
    """a neck of three levels, each with a head"""
    n = Net(4)
    c1 = n.conv("x", 8, 3)
    c2 = n.conv(c1, 16, 3, 2)
    c3 = n.conv(c2, 24, 3, 2)
    p3 = n.conv(c3, 8)
    p2 = n.plus(n.conv(c2, 8), n.up(p3))
    p1 = n.plus(n.conv(c1, 8), n.up(p2))
    for p in p1, p2, p3:
        n.conv(p, 3, 3)
    return n, None


def nasnet():
    n = Net(4)
    h, before = n.conv("x", 6), n.conv("x", 8, 3)
    b1 = n.plus(n.conv(h, 6, 3), n.conv(before, 6, 5))
    b2 = n.plus(n.pool(h), n.conv(before, 6))
    b3 = n.plus(n.conv(b1, 6, 3), h)
    return n, n.concat(b1, b2, b3, n.plus(b2, n.pool(b1)))


def randwire(seed=3, count=10):
    r, n = random.Random(seed), Net(4)
    values = [n.conv("x", 8)]
    for _ in range(count):
        chosen = r.sample(values[-4:], min(len(values[-4:]), r.choice([1, 1, 2])))
        x = chosen[0] if len(chosen) == 1 else n.concat(*chosen)
        values.append(n.conv(x, r.choice([2, 4, 8, 12]), r.choice([1, 3])))
    return n, n.concat(*values[-3:])


def mixed(seed, count=6):
    """concats and slices that are views, sums and functions that may work in place, in any mixture"""
    r, n = random.Random(seed), Net(4)
    values = [n.conv("x", 8), n.conv("x", 4, 3)]

    def pick(channels=None):
        return r.choice([v for v in values if channels is None or n.channels[v] == channels])

    for _ in range(count):
        x = pick()
        c = n.channels[x]
        made = {"conv": lambda: n.conv(x, r.choice([4, 8, 12]), r.choice([1, 3])), "pool": lambda: n.pool(x), "concat": lambda: n.concat(x, pick()),
                "slice": lambda: n.slice(x, c // 4 * r.choice([0, 2]), c), "plus": lambda: n.plus(x, pick(c)),
                "exp": lambda: n.add("Exp", [x], c)}
        values.append(made[r.choice(sorted(made))]())
    return n, None


def heads():
    """attention head by head, all queries first, as exporters write it"""
    n, count, size = Net(8), 3, 6
    x = n.conv("x", 8)
    shape = numpy_helper.from_array(np.array([SIDE * SIDE, 8], np.int64), "shape")
    n.constants.append(shape)
    rows = n.add("Reshape", [x, "shape"], 8)
    q, k, v = [[n.add("MatMul", [rows, n.constant(8, size)], size) for _ in range(count)] for _ in range(3)]
    ks = [n.add("Transpose", [one], size, perm=[1, 0]) for one in k]
    scores = [n.add("MatMul", pair, SIDE * SIDE) for pair in zip(q, ks)]
    soft = [n.add("Softmax", [one], SIDE * SIDE, axis=-1) for one in scores]
    out = [n.add("MatMul", pair, size) for pair in zip(soft, v)]
    return n, n.add("Concat", out, size * count, axis=1)


def detector():
    """six outputs of different sizes"""
    n = Net(4)
    x = n.conv("x", 16, 3)
    towers = [n.conv(x, c, 3) for c in (12, 10, 8)]
    for tower in towers:
        n.conv(tower, 2)
        n.conv(n.conv(tower, 6, 3), 3)
    return n, None


def person_detection():
    """as in MLPerf Tiny: a MobileNet of a quarter of the channels, for pictures of 96 x 96"""
    n = Net(3)
    x = n.add("Relu", [n.conv("x", 8, 3, 2)], 8)
    for channels, stride in (16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1):
        before = n.channels[x]
        x = n.add("Relu", [n.conv(x, before, 3, stride, before)], before)
        x = n.add("Relu", [n.conv(x, channels)], channels)
    n.add("GlobalAveragePool", [x], 256)
    return n.model(side=96)


FAMILIES = {"Inception block": inception, "feature pyramid with heads": pyramid, "NASNet-like cell": nasnet,
            "RandWire-like": randwire, "attention head by head": heads, "detector of six outputs": detector}
# Beyond what brute force can do, below what the search proves
LARGE = {"RandWire-like, 40 nodes": lambda: randwire(11, 40), "RandWire-like, 120 nodes": lambda: randwire(5, 120)}


def report(model, *options):
    """--report; the C is not written"""
    with tempfile.TemporaryDirectory() as folder:
        path = model
        if not isinstance(model, (str, os.PathLike)):
            path = pathlib.Path(folder) / "m.onnx"
            onnx.save(model, path)
        facts = pathlib.Path(folder) / "m.json"
        done = dnncc.run([dnncc.DNNCC, path, "-o", pathlib.Path(folder) / "m.loops", "--emit=loops", "--no-verify", f"--report={facts}",
                          *options], timeout=600)
        if done.returncode:
            raise dnncc.CompileError(done.returncode, done.stderr)
        return json.loads(facts.read_text())


def facts(model, *options):
    """the memory numbers of --report"""
    return report(model, *options)["memory"]


# the passes of -O2, but those that change the order of kernels or what lies in what
PASSES = re.search(r'PIPELINE\(2, "(.*)"\)', (dnncc.ROOT / "passes" / "passes.def").read_text()).group(1)
OWN_ORDER = "--passes=" + PASSES.replace(",arrange,detach", "")


def models():
    """(name, path, options) of everything there is here"""
    from test_models import LIGHT, MODELS, bindings
    zoo = pathlib.Path(os.environ.get("DNNCC_ZOO", dnncc.ROOT / "build" / "zoo"))
    found = [(p.parent.name, p, bindings(p.parent)) for p in sorted(MODELS.glob("*/model.onnx"))]
    found += [(p.stem, p, []) for p in LIGHT]
    return found + [(p.stem, p, []) for p in sorted(zoo.glob("*.onnx"))]


def order_table():
    lines = ["| network | nodes | the model's order | found | bound | PLAN of the model's order | PLAN |", "|---|---|---|---|---|---|---|"]
    for name, make in {**FAMILIES, **LARGE}.items():
        net, _ = make()
        own, best = facts(net.model(), OWN_ORDER), facts(net.model(), "--goal=memory")
        lines.append(f"| {name} | {len(net.nodes)} | {own['live_peak']} | {best['live_peak']} | {best['best']} | {own['plan']} | "
                     f"{best['plan']} |")
    return lines


SHARES = 2, 4, 8, 16


def budget_table():
    """for models that can do with less than their plan: operations computed again under budgets of shares of it, and under the least one"""
    lines = [f"| model | LB_op | no budget | {' | '.join(f'1/{share}' for share in SHARES)} | least | computed again |", "|---" * (len(SHARES) + 5) + "|"]

    def again(path, options, budget):
        found = report(path, *options, f"--max-ram={budget}")
        return f"{100 * found['again'] / (found['flops'] - found['again']):.2f} %" if found["again"] else "0"

    for name, path, options in [("person detection", person_detection(), []), *models()]:
        try:
            plain = facts(path, *options)
            plan = plain["plan"]
            report(path, *options, "--max-ram=0")
        except dnncc.CompileError as error:
            found = re.search(r"the workspace takes (\d+) bytes", str(error))
            if not found or int(found.group(1)) >= plan:
                continue                # not supported, or nothing can be done
        least = int(found.group(1))
        cells = [again(path, options, plan // share) if plan // share >= least else "" for share in SHARES]
        lines.append(f"| {name} | {plain['largest_kernel']} | {plan} | {' | '.join(cells)} | {least} | {again(path, options, least)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def plan_table(*target):
    """and what the table says: PLAN is the bound of its order, or proved; or how far it is from that; and whether aliases ever take more"""
    lines = ["| model | LB_op | LB_order | BEST | PLAN | own order, no aliases |", "|---|---|---|---|---|---|"]
    total, good, excess, above = 0, 0, 0, 0
    for name, path, options in models():
        try:
            own, plan = facts(path, *options, *target, "--no-alias", OWN_ORDER), facts(path, *options, *target)
        except dnncc.CompileError:
            continue                    # not supported
        best = f"{plan['best']}" if plan["best"] == plan["best_found"] else f"{plan['best']} to {plan['best_found']}"
        lines.append(f"| {name} | {plan['largest_kernel']} | {plan['live_peak']} | {best} | {plan['plan']}{'' if plan['proved'] else ' (not proved)'} "
                     f"| {own['plan']} |")
        print(lines[-1], file=sys.stderr, flush=True)
        total, good, above = total + 1, good + plan["proved"], above + (plan["plan"] > own["plan"])
        excess = max(excess, plan["plan"] / max(plan["live_peak"], 1) - 1)
    return [*lines, "", f"PLAN equals LB_order or is proved optimal on {good} of {total} models ({100 * good / total:.1f} %); elsewhere it is at most "
                        f"{100 * excess:.1f} % above LB_order. It is above the plan of the model's own order without aliases on {above}."]


TABLES = {"orders": order_table, "budgets": budget_table, "plans": plan_table,
          "plans-x86-64-v4": lambda: plan_table("--target=x86-64-v4")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="put the tables between the marks of FILE")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}; default: all")
    arguments = parser.parse_args()
    tables = {name: TABLES[name]() for name in arguments.tables or TABLES}
    if not arguments.write:
        print("\n\n".join("\n".join(t) for t in tables.values()))
        return
    path = pathlib.Path(arguments.write)
    text = path.read_text()
    for name, lines in tables.items():
        before, rest = text.split(f"<!-- {name} -->\n", 1)
        text = before + f"<!-- {name} -->\n" + "\n".join(lines) + "\n" + rest[rest.index(f"<!-- end of {name} -->"):]
    path.write_text(text)


if __name__ == "__main__":
    main()
