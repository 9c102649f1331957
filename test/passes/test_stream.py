# SPDX-License-Identifier: MIT
"""Kernels that pass rows on through circular buffers, in patches of columns where rows are too long, compute the same bits as kernels apart, with
less memory; and they stop where all rows are needed at once."""
import json
import pathlib
import random
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_strips import TARGETS  # noqa: E402


SAME = ["convolve", "convolve", "convolve", "pool", "residual", "branches", "activation", "mean", "channels_last"]       # rows stay, or get fewer
FINER = ["resize", "transposed", "shuffle", "neck", "stack"]          # or more


class Chain:
    """Layers one after the other, of every kind whose rows can be passed on. `tail` adds what cannot."""

    def __init__(self, seed, images=1):
        self.r, self.values = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.constants = [], []
        self.start = [images, self.r.randint(1, 5), self.r.randint(9, 30), self.r.randint(5, 20)]
        self.shape, self.last = list(self.start), "x"

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind, inputs, shape, **attributes):
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [self.last], name=self.last, **attributes))
        self.shape = shape

    def window(self):
        """extents, strides, dilations, pads that leave something"""
        while True:
            k = [self.r.choice([1, 2, 3, 3, 5]) for _ in range(2)]
            s, d = [self.r.choice([1, 1, 2, 3]) for _ in range(2)], [self.r.choice([1, 1, 2]) for _ in range(2)]
            p = [self.r.randint(0, k[i % 2] - 1) for i in range(4)]
            out = [(self.shape[2 + i] + p[i] + p[2 + i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
            if min(out) >= 2:
                return k, s, d, p, out

    def convolve(self):
        k, s, d, p, out = self.window()
        depthwise = self.r.random() < 0.4
        outputs = self.shape[1] if depthwise else self.r.randint(1, 6)
        w = self.values.standard_normal((outputs, 1 if depthwise else self.shape[1], *k)).astype(np.float32)
        self.add("Conv", [self.last, self.constant(w)], [self.shape[0], outputs, *out], strides=s, dilations=d, pads=p,
                 group=self.shape[1] if depthwise else 1)

    def pool(self):
        k, s, _, p, out = self.window()
        p = [min(p[i], k[i % 2] // 2) for i in range(4)]
        out = [(self.shape[2 + i] + p[i] + p[2 + i] - k[i]) // s[i] + 1 for i in range(2)]
        if min(out) >= 2:
            kind = self.r.choice(["MaxPool", "AveragePool"])
            self.add(kind, [self.last], [*self.shape[:2], *out], kernel_shape=k, strides=s, pads=p)

    def residual(self):
        before, shape = self.last, self.shape
        w = self.values.standard_normal((shape[1], shape[1], 3, 3)).astype(np.float32)
        self.add("Conv", [before, self.constant(w)], shape, pads=[1] * 4)
        self.add("Add", [self.last, before], shape)

    def branches(self):
        x, shape = self.last, self.shape
        self.add("Conv", [x, self.constant(self.values.standard_normal((2, shape[1], 3, 3)).astype(np.float32))], shape, pads=[1] * 4)
        a = self.last
        self.add("Conv", [x, self.constant(self.values.standard_normal((3, shape[1], 1, 1)).astype(np.float32))], shape)
        self.add("Concat", [a, self.last], [shape[0], 5, *shape[2:]], axis=1)

    def resize(self):
        """finer and coarser, by any factor, of every kind of coordinates"""
        out = [max(2, min(int(self.shape[d] * self.r.choice([0.6, 1.5, 2, 2, 3])), 60)) for d in (2, 3)]
        sizes = numpy_helper.from_array(np.array([*self.shape[:2], *out], np.int64), f"c{len(self.constants)}")
        self.constants.append(sizes)
        self.add("Resize", [self.last, "", "", sizes.name], [*self.shape[:2], *out], mode=self.r.choice(["nearest", "linear", "cubic"]),
                 coordinate_transformation_mode=self.r.choice(["half_pixel", "asymmetric", "align_corners"]))

    def transposed(self):
        stride, window, group = [self.r.choice([1, 2, 2, 3]) for _ in range(2)], [self.r.randint(2, 4) for _ in range(2)], self.r.random() < 0.3
        pads = [self.r.randint(0, window[i % 2] - 1) // 2 for i in range(4)]
        out = [stride[i] * (self.shape[2 + i] - 1) + window[i] - pads[i] - pads[2 + i] for i in range(2)]
        w = self.values.standard_normal((self.shape[1], 1 if group else 3, *window)).astype(np.float32)
        if max(out) <= 60:
            self.add("ConvTranspose", [self.last, self.constant(w)], [self.shape[0], self.shape[1] if group else 3, *out], strides=stride, pads=pads,
                     group=self.shape[1] if group else 1)

    def shuffle(self):
        """pixels from channels, or channels in another order"""
        n, c, h, w = self.shape
        if c % 4 == 0 and max(h, w) <= 30:
            self.add("DepthToSpace", [self.last], [n, c // 4, 2 * h, 2 * w], blocksize=2, mode=self.r.choice(["DCR", "CRD"]))
        elif c % 2 == 0:
            shapes = [numpy_helper.from_array(np.array(v, np.int64), f"c{len(self.constants) + i}") for i, v in enumerate([[n, 2, c // 2, h, w], [n, c, h, w]])]
            self.constants += shapes
            self.add("Reshape", [self.last, shapes[0].name], self.shape)
            self.add("Transpose", [self.last], self.shape, perm=[0, 2, 1, 3, 4])
            self.add("Reshape", [self.last, shapes[1].name], self.shape)

    def neck(self):
        """coarser, finer again, and beside what there was before, as in a U-Net"""
        before, (n, c, h, w) = self.last, self.shape
        down = self.constant(self.values.standard_normal((3, c, 3, 3)).astype(np.float32))
        self.add("Conv", [before, down], [n, 3, (h + 1) // 2, (w + 1) // 2], strides=[2, 2], pads=[1] * 4)
        if h % 2 == 0 and w % 2 == 0 and self.r.random() < 0.5:
            up = self.constant(self.values.standard_normal((3, 2, 2, 2)).astype(np.float32))
            self.add("ConvTranspose", [self.last, up], [n, 2, h, w], strides=[2, 2])
        else:
            sizes = numpy_helper.from_array(np.array([n, 3, h, w], np.int64), f"c{len(self.constants)}")
            self.constants.append(sizes)
            self.add("Resize", [self.last, "", "", sizes.name], [n, 3, h, w], mode=self.r.choice(["nearest", "linear"]))
        self.add("Concat", [self.last, before], [n, c + self.shape[1], h, w], axis=1)

    def stack(self):
        """one above the other, as the levels of a detector"""
        x, (n, c, h, w) = self.last, self.shape
        if h <= 30:
            self.add("Conv", [x, self.constant(self.values.standard_normal((c, c, 3, 3)).astype(np.float32))], self.shape, pads=[1] * 4)
            self.add("Concat", [x, self.last] if self.r.random() < 0.5 else [self.last, x], [n, c, 2 * h, w], axis=2)

    def channels_last(self):
        """rows that are not the dimension they were"""
        n, c, h, w = self.shape
        self.add("Transpose", [self.last], [n, h, w, c], perm=[0, 2, 3, 1])
        self.add("Softmax", [self.last], self.shape, axis=3)
        self.add("Transpose", [self.last], [n, c, h, w], perm=[0, 3, 1, 2])

    def mean(self):
        """less the mean of all channels: a reduction, but not of rows"""
        x, shape = self.last, self.shape
        self.add("ReduceMean", [x], [shape[0], 1, *shape[2:]], axes=[1])
        self.add("Sub", [x, self.last], shape)

    def activation(self):
        self.add(self.r.choice(["Relu", "Sigmoid", "HardSwish"]), [self.last], self.shape)

    def model(self, layers, tail=None, kinds=SAME + FINER):
        for _ in range(layers):
            getattr(self, self.r.choice(kinds))()
        if tail:
            self.add(tail, [self.last], [*self.shape[:2], 1, 1])
        graph = helper.make_graph(self.nodes, "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.start)],
                                  [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        return onnx.shape_inference.infer_shapes(model)


def least(path, folder, *options):
    """the budget that streaming reaches, by its own word"""
    done = dnncc.run([dnncc.DNNCC, path, "-v", "-o", folder / "none.c", "--max-ram=0", *options])
    assert done.returncode in (dnncc.OK, dnncc.BUDGET), done.stderr
    found = re.search(r"the workspace takes (\d+) bytes", done.stderr)
    return int(found.group(1)) if found else 0


def outputs(model, x, folder, options):
    folder.mkdir()
    onnx.save(model, folder / "m.onnx")
    done = dnncc.compile_model(folder / "m.onnx", folder, ["--stats", *options])
    dnncc.check_clang(folder)
    got = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [x])
    stats = {k: int(v) for k, v in re.findall(r"stats: (stream|workspace) +(\d+)", done.stderr)}
    return got, stats["workspace"], stats["stream"]


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.sample(8)
def test_same_bits(seed, tmp_path):
    """with the least memory, which takes patches, and with what lies between"""
    chain = Chain(seed, images=2 if seed % 5 == 4 else 1)
    model = chain.model(2 + seed % 7)
    x = np.random.default_rng(seed).standard_normal(chain.start, dtype=np.float32)
    onnx.save(model, tmp_path / "m.onnx")
    budget = least(tmp_path / "m.onnx", tmp_path)
    want, plain, none = outputs(model, x, tmp_path / "plain", [])
    for i, share in enumerate((0, 0.15, 0.5)):
        wanted = int(budget + share * (plain - budget))
        got, size, buffers = outputs(model, x, tmp_path / f"buffers{i}", [f"--max-ram={wanted}"])
        assert none == 0 and size <= wanted <= plain
        assert buffers > 0 or plain <= wanted, "nothing was tried"
        assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want))


@pytest.mark.parametrize("seed", range(40, 52))
@pytest.mark.sample(8)
def test_vectors(seed, tmp_path):
    """Targets with vectors pass rows of blocked tensors on, too; with --exact the bits are those of plain C without a budget."""
    target = TARGETS[seed % 3]
    processor.require(target)
    chain = Chain(seed, images=2 if seed % 5 == 4 else 1)
    model = chain.model(2 + seed % 7)
    x = np.random.default_rng(seed).standard_normal(chain.start, dtype=np.float32)
    onnx.save(model, tmp_path / "m.onnx")
    for exact in [], ["--exact"]:
        want, _, _ = outputs(model, x, tmp_path / f"plain{len(exact)}", exact)
        options = [f"--target={target}", *exact]
        budget = least(tmp_path / "m.onnx", tmp_path, *options)
        got, size, _ = outputs(model, x, tmp_path / f"least{len(exact)}", [f"--max-ram={budget}", *options])
        assert size <= budget
        for a, b in zip(got, want):
            assert a.tobytes() == b.tobytes() if exact else np.abs(a - b).max() <= 1e-5 * max(np.abs(b).max(), 1)


def set_patches(text, columns):
    """The dump of kernels with buffers, the result of each of them made in patches of so many columns; and how many these are."""
    def set_patch(kernel):
        name = re.search(r"\n    yield\((%\w+)\)", kernel.group()).group(1)
        return re.sub(rf'(\n    {name} = [^\n]*?)( schedule="patch=\d+")?( : <)', rf'\1 schedule="patch={columns}"\3', kernel.group())
    kernels = r"= fusion\([^\n]*\{[^\n]*\n(?:    [^\n]*\n)*?    [^\n]*schedule=\"circular=1\"(?:[^\n]*\n    )*?yield\([^\n]*"
    return re.subn(kernels, set_patch, text)


@pytest.mark.parametrize("seed", range(20, 30))
@pytest.mark.sample(4)
def test_grids(seed, tmp_path):
    """patches of any width, be it enough or not"""
    chain = Chain(seed, images=2 if seed % 5 == 4 else 1)
    model = chain.model(2 + seed % 7)
    x = np.random.default_rng(seed).standard_normal(chain.start, dtype=np.float32)
    want, plain, _ = outputs(model, x, tmp_path / "plain", [])
    onnx.save(model, tmp_path / "m.onnx")
    whole = "--limit=microbatch_images=2"       # dumps have one function without loops
    dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--max-ram={least(tmp_path / 'm.onnx', tmp_path, whole)}", whole,
               f"--dump-dir={tmp_path / 'd'}", "-o", tmp_path / "m.c"])
    dump = next((tmp_path / "d").glob("*-stream.dnn")).read_text()
    for columns in 1, 2, 3, 7:
        text, count = set_patches(dump, columns)
        assert count == len(re.findall(r'\{[^{}]*circular=1', dump)) and text.count(f'schedule="patch={columns}"') == count
        folder = tmp_path / str(columns)
        folder.mkdir()
        (tmp_path / "d" / "patches.dnn").write_text(text)
        dnncc.compile_model(tmp_path / "d" / "patches.dnn", folder, [])
        dnncc.check_clang(folder)
        got = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [x])
        assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want)), columns


def test_patches(tmp_path):
    """Rows of two windows are too long: patches are, and what they compute again is counted. 64 columns in patches of 32, of which the
    first layer makes 33, and 33 again; the widest that are within the budget."""
    r = np.random.default_rng(0)
    weights = [r.standard_normal(s).astype(np.float32) for s in ((16, 1, 3, 3), (1, 16, 3, 3))]
    nodes = [helper.make_node("Conv", ["x", "w0"], ["v"], name="first", pads=[1] * 4),
             helper.make_node("Conv", ["v", "w1"], ["y"], name="second", pads=[1] * 4)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 64, 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "m", ports[:1], ports[1:], [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    x = r.standard_normal((1, 1, 64, 64), dtype=np.float32)
    want, _, _ = outputs(model, x, tmp_path / "plain", [])
    for budget, patch in ((12288, 64), (12287, 32), (6336, 32), (6335, 22), (1000, 3), (576, 1)):
        got, size, _ = outputs(model, x, tmp_path / str(budget), [f"--max-ram={budget}", f"--report={tmp_path / 'm.json'}"])
        made = sum(min(start + patch + 1, 64) - max(start - 1, 0) for start in range(0, 64, patch)) if patch < 64 else 64
        assert size == 3 * 16 * 4 * (min(patch + (1 if patch == 32 else 2), 64)) <= budget
        assert json.loads((tmp_path / "m.json").read_text())["again"] == (made - 64) * 64 * 16 * 2 * 9
        assert got[0].tobytes() == want[0].tobytes()


MIRRORED = """dnn 1
module "mirrored"
func @main(%x "x": <1 x 4 x 64 x 32 x f32>, %w "w": <8 x 4 x 3 x 3 x f32>, %v "v": <4 x 8 x 3 x 3 x f32>) -> ("y") {
  %0 = convolve(%x, %w) pads=[1, 1, 1, 1] : <1 x 8 x 64 x 32 x f32>
  %1 = pad(%0, none, <4 x i64> [0, 0, 0, 1]) mode=reflect : <1 x 8 x 64 x 34 x f32>
  %2 = convolve(%1, %v) pads=[1, 0, 1, 0] : <1 x 4 x 64 x 32 x f32>
  %3 = gather(%2, <2 x 16 x i64> [TABLE]) axis=3 : <1 x 4 x 64 x 2 x 16 x f32>
  %4 = reduce_window(%3) kind=max window=[1, 1, 2, 1, 1] strides=[1, 1, 2, 1, 1] : <1 x 4 x 32 x 2 x 16 x f32>
  yield(%4)
}
"""


def test_columns_that_move(tmp_path):
    """What mirrors columns, or reads them by a table, hands rows on as they are: 8,448 bytes, not 98,592."""
    text = MIRRORED.replace("TABLE", ", ".join(map(str, [*range(16), *range(31, 15, -1)])))
    (tmp_path / "m.dnn").write_text(text)
    values = np.random.default_rng(5)
    inputs = [values.standard_normal(shape, dtype=np.float32) for shape in ((1, 4, 64, 32), (8, 4, 3, 3), (4, 8, 3, 3))]
    got = []
    for name, options in ("plain", []), ("buffers", ["--max-ram=8500"]):
        (tmp_path / name).mkdir()
        dnncc.compile_model(tmp_path / "m.dnn", tmp_path / name, ["--check", *options])
        got += dnncc.run_host(dnncc.build_host(tmp_path / name, dnncc.SANITIZE), inputs)
    assert got[0].tobytes() == got[1].tobytes()


def bottleneck():
    """an inverted one at 64 x 64"""
    r = np.random.default_rng(0)
    weights = [r.standard_normal(s).astype(np.float32) for s in ((48, 8, 1, 1), (48, 1, 3, 3), (8, 48, 1, 1))]
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], name="expand"), helper.make_node("Relu", ["a"], ["b"], name="r1"),
             helper.make_node("Conv", ["b", "w1"], ["c"], name="depthwise", group=48, pads=[1] * 4), helper.make_node("Relu", ["c"], ["d"], name="r2"),
             helper.make_node("Conv", ["d", "w2"], ["e"], name="project"), helper.make_node("Add", ["e", "x"], ["y"], name="add")]
    graph = helper.make_graph(nodes, "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 64, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 64, 64])],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


def test_bottleneck(tmp_path):
    """The expanded tensors are never there as a whole: three rows of one, one row of the other."""
    model, x = bottleneck(), np.random.default_rng(1).standard_normal((1, 8, 64, 64), dtype=np.float32)
    want, plain, _ = outputs(model, x, tmp_path / "plain", [])
    got, size, buffers = outputs(model, x, tmp_path / "buffers", ["--max-ram=60000"])
    assert plain >= 2 * 48 * 64 * 64 * 4 and size == (3 + 1) * 48 * 64 * 4 and buffers == 2, (plain, size)
    assert got[0].tobytes() == want[0].tobytes()


def test_equal_layers(tmp_path):
    """No two of these kernels take less when joined than apart; all of them do."""
    r, channels = np.random.default_rng(0), [1, 16, 16, 16, 16, 16, 1]
    weights = [r.standard_normal((o, i, 3, 3)).astype(np.float32) for i, o in zip(channels, channels[1:])]
    nodes = [helper.make_node("Conv", ["x" if i == 0 else f"v{i}", f"w{i}"], ["y" if i == 5 else f"v{i + 1}"], name=f"conv{i}", pads=[1] * 4) for i in range(6)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 32, 32]) for name in "xy"]
    graph = helper.make_graph(nodes, "m", ports[:1], ports[1:], [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    x = r.standard_normal((1, 1, 32, 32), dtype=np.float32)
    want, plain, _ = outputs(model, x, tmp_path / "plain", [])
    got, size, _ = outputs(model, x, tmp_path / "buffers", ["--max-ram=34000"])
    assert plain == 2 * 16 * 32 * 32 * 4 and size <= 34000
    assert got[0].tobytes() == want[0].tobytes()


@pytest.mark.slow
def test_prepared(tmp_path):
    """Weights of bytes become floats in kernels of their own; these are in the way of nobody: of what lies between convolutions, rows are
    there, beside the weights of all of them."""
    r = np.random.default_rng(0)
    nodes, constants = [], [numpy_helper.from_array(np.array(0.02, np.float32), "scale")]
    for i in range(3):
        constants.append(numpy_helper.from_array(r.integers(-128, 128, (32, 32, 3, 3), dtype=np.int8), f"q{i}"))
        nodes += [helper.make_node("DequantizeLinear", [f"q{i}", "scale"], [f"w{i}"], name=f"weights{i}"),
                  helper.make_node("Conv", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}" if i < 2 else "y"], name=f"conv{i}", pads=[1] * 4)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32, 48, 48]) for name in "xy"]
    graph = helper.make_graph(nodes, "m", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    x = r.standard_normal((1, 32, 48, 48), dtype=np.float32)
    weights, row = 32 * 32 * 9 * 4, 32 * 48 * 4
    want, plain, _ = outputs(model, x, tmp_path / "plain", [])
    budget = [f"--max-ram={3 * weights + 6 * row}"]
    got, size, _ = outputs(model, x, tmp_path / "buffers", budget)
    assert plain >= 2 * 48 * row and size <= 3 * weights + 6 * row
    assert got[0].tobytes() == want[0].tobytes()
    if processor.here("x86-64-v3"):     # weights in panels are more: what vectors do not meet blocked, they do otherwise
        got, size, _ = outputs(model, x, tmp_path / "vectors", [*budget, "--target=x86-64-v3", "-v"])
        assert size <= 3 * weights + 6 * row and np.abs(got[0] - want[0]).max() <= 1e-4 * np.abs(want[0]).max()


@pytest.mark.parametrize("kind, elements", [("nearest", 3 * 3 + 2 + 2), ("linear", 3 * 3 + 3 + 6), ("transposed", 3 * 3 + 2)])
def test_finer(kind, elements, tmp_path):
    """Between two windows of three, what makes rows finer by two: in patches of a column, the least there is. The second window reads 3
    columns of 3 finer rows. One finer row needs one row, or two where it is linear; 3 finer columns need two columns, or three."""
    r = np.random.default_rng(0)
    constants = [numpy_helper.from_array(r.standard_normal(s).astype(np.float32), name) for name, s in
                 (("w0", (8, 4, 3, 3)), ("w1", (4, 8, 3, 3)), ("up", (8, 8, 2, 2)))] + [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")]
    finer = (helper.make_node("ConvTranspose", ["a", "up"], ["b"], name="finer", strides=[2, 2]) if kind == "transposed" else
             helper.make_node("Resize", ["a", "", "scales"], ["b"], name="finer", mode=kind))
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], name="first", pads=[1] * 4), finer,
             helper.make_node("Conv", ["b", "w1"], ["y"], name="second", pads=[1] * 4)]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 16, 12]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 32, 24])]
    model = helper.make_model(helper.make_graph(nodes, "m", ports[:1], ports[1:], constants), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    x = r.standard_normal((1, 4, 16, 12), dtype=np.float32)
    onnx.save(model, tmp_path / "m.onnx")
    budget = least(tmp_path / "m.onnx", tmp_path)
    want, plain, _ = outputs(model, x, tmp_path / "plain", [])
    got, size, _ = outputs(model, x, tmp_path / "buffers", [f"--max-ram={budget}"])
    assert size == 8 * 4 * elements < plain / 8
    assert got[0].tobytes() == want[0].tobytes()


def test_detector(tmp_path):
    """Heads of two levels, positions one behind the other, boxes and classes apart: rows to the end, though these are another dimension then.
    Only the first level is there as a whole: positions of the second one come when its own are done."""
    r = np.random.default_rng(0)
    shapes = {"w0": (16, 3, 3, 3), "w1": (16, 16, 3, 3), "h0": (12, 16, 1, 1), "h1": (12, 16, 1, 1)}
    constants = [numpy_helper.from_array(r.standard_normal(s).astype(np.float32), name) for name, s in shapes.items()]
    constants += [numpy_helper.from_array(np.array(v, np.int64), name) for name, v in
                  (("flat", [1, 12, -1]), ("parts", [4, 8]), ("sides", [1, 2, 2, 1280]), ("boxes", [1, 4, 1280]))]
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], name="level0", pads=[1] * 4),
             helper.make_node("Conv", ["a", "w1"], ["b"], name="level1", pads=[1] * 4, strides=[2, 2])]
    for i, level in enumerate("ab"):
        nodes += [helper.make_node("Conv", [level, f"h{i}"], [f"head{i}"], name=f"head{i}"),
                  helper.make_node("Reshape", [f"head{i}", "flat"], [f"flat{i}"], name=f"flat{i}")]
    nodes += [helper.make_node("Concat", ["flat0", "flat1"], ["all"], name="all", axis=2),
              helper.make_node("Split", ["all", "parts"], ["box", "class"], name="split", axis=1),
              helper.make_node("Reshape", ["box", "sides"], ["box1"], name="sides"), helper.make_node("Softmax", ["box1"], ["box2"], name="soft", axis=1),
              helper.make_node("Reshape", ["box2", "boxes"], ["box3"], name="boxes"), helper.make_node("Sigmoid", ["class"], ["class1"], name="sigmoid"),
              helper.make_node("Concat", ["box3", "class1"], ["y"], name="y", axis=1)]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 12, 1280])]
    model = helper.make_model(helper.make_graph(nodes, "m", ports[:1], ports[1:], constants), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, tmp_path / "m.onnx")
    x = r.standard_normal((1, 3, 32, 32), dtype=np.float32)
    budget = least(tmp_path / "m.onnx", tmp_path)
    want, plain, _ = outputs(model, x, tmp_path / "plain", [])
    got, size, buffers = outputs(model, x, tmp_path / "buffers", [f"--max-ram={budget}"])
    level = 16 * 32 * 32 * 4
    assert buffers and plain >= 2 * level and level <= size <= 1.1 * level, (size, plain)
    assert got[0].tobytes() == want[0].tobytes()


def test_stops(tmp_path):
    """what reads all rows again behind a global pool of them needs them all: said with -v, and the budget's error names what is there"""
    chain = Chain(3)
    chain.model(4)
    rows, shape = chain.last, chain.shape
    chain.add("GlobalAveragePool", [rows], [*shape[:2], 1, 1])
    chain.add("Sub", [rows, chain.last], shape)
    onnx.save(chain.model(0), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-v", "-o", tmp_path / "m.c", "--max-ram=16"])
    assert done.returncode == dnncc.BUDGET and "streaming ends at" in done.stderr and "needs all rows at once" in done.stderr
    assert "\n  largest " in done.stderr and not (tmp_path / "m.c").exists()


@pytest.mark.sample(4, each=False)
@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("pool", ["GlobalAveragePool", "GlobalMaxPool"])
def test_pools(tmp_path, pool, images):
    """A global pool that ends a stream takes rows as they come: no tensor of rows is in memory, and the bits are those of kernels apart."""
    reduced = 0
    for seed in range(60, 66):
        chain, folder = Chain(seed, images), tmp_path / str(seed)
        model = chain.model(4, tail=pool, kinds=["convolve", "pool", "residual", "activation"])
        folder.mkdir()
        onnx.save(model, folder / "model.onnx")
        x = chain.values.standard_normal(chain.start).astype(np.float32)
        want, plain, _ = outputs(model, x, folder / "apart", [])
        size = least(folder / "model.onnx", folder)
        got, size, joined = outputs(model, x, folder / "joined", [f"--max-ram={size}"])
        assert size < plain and joined > 0 and got[0].tobytes() == want[0].tobytes()
        reduced += "RESTRICT sums" in (folder / "joined" / "model.c").read_text()
    assert reduced > 1, "rows are reduced as they come"


def test_restart(tmp_path):
    """A dump of a kernel with buffers is read back, and gives the same C."""
    onnx.save(bottleneck(), tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--max-ram=60000", f"--dump-dir={tmp_path / 'd'}"])
    dump = next((tmp_path / "d").glob("*-stream.dnn"))
    assert 'schedule="circular=1"' in dump.read_text()
    (tmp_path / "again").mkdir()
    dnncc.compile_model(dump, tmp_path / "again", ["--max-ram=60000"])
    assert (tmp_path / "again" / "model.c").read_text() == (tmp_path / "model.c").read_text()


@pytest.mark.parametrize("move", ["transpose(%0) perm=[1, 0, 2, 3]", "slice(%0, <4 x i64> [2, 0, 0, 0], <4 x i64> [-1, 1, 1, 1])",
                                  "pad(%0, <f32> 0.0, <4 x i64> [1, 0, 0, 0])"])
def test_images_that_change_places_do_not_stream(tmp_path, move):
    path = tmp_path / "m.dnn"
    path.write_text('dnn 1\nmodule "m"\nfunc @main(%x "x": <3 x 3 x 5 x 7 x f32>) -> ("y") {\n'
                    "  %0 = neg(%x) : <3 x 3 x 5 x 7 x f32>\n"
                    f"  %1 = {move} : <3 x 3 x 5 x 7 x f32>\n  yield(%1)\n}}\n")
    done = dnncc.run([dnncc.DNNCC, path, "--max-ram=1", "--passes=stream,lower", "--check", "--emit=loops", "-o", "-"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "circular" not in done.stdout


def test_pools_of_rows_alone(tmp_path):
    """a pool that leaves the columns takes whole rows, however little memory is asked for: no patches"""
    (tmp_path / "m.dnn").write_text("""dnn 3
module "m"
func @main(%x "x": <1 x 4 x 6 x 7 x f32>) -> ("y") {
  %1 = exp(%x) : <1 x 4 x 6 x 7 x f32>
  %2 = reduce_window(%1) window=[1, 1, 2, 1] strides=[1, 1, 2, 1] : <1 x 4 x 3 x 7 x f32>
  %3 = exp(%2) : <1 x 4 x 3 x 7 x f32>
  %4 = reduce_window(%3) window=[1, 1, 3, 1] : <1 x 4 x 1 x 7 x f32>
  yield(%4)
}
""")
    for budget in (0, 64, 200, 300, 448, 600, 2000):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", f"--max-ram={budget}", "--check"])
        assert done.returncode in (dnncc.OK, dnncc.BUDGET), done.stderr
        if done.returncode:
            done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", f"--max-ram={least(tmp_path / 'm.dnn', tmp_path)}", "--check"])
        assert done.returncode == dnncc.OK and all(": equal" in line for line in dnncc.checks(done)), done.stderr
