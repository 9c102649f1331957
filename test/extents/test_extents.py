# SPDX-License-Identifier: MIT
"""Extents that a run gives (--dim N=1..512): one file for every length gives what the code for that length alone gives."""
import pathlib
import re
import sys
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models")]
import dnncc  # noqa: E402
import processor  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SUITE = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = "node", "simple", "pytorch-converted", "pytorch-operator"
PASSING = (HERE / "passing_extents.txt").read_text().split()
OTHERS = sorted(t.name for f in FOLDERS for t in (SUITE / f).iterdir() if (t / "model.onnx").exists() and t.name not in PASSING)
F32 = TensorProto.FLOAT


# ---- operators: ONNX's tests, with all extents of one length open ----

def opened(test, path):
    """the test's model, in which the first extent above 1 of an input, wherever inputs have it, is N; that extent, or None"""
    model = onnx.load(next(p for f in FOLDERS if (p := SUITE / f / test / "model.onnx").exists()))
    initializers = {i.name for i in model.graph.initializer}
    inputs = [i.type.tensor_type for i in model.graph.input if i.name not in initializers and i.type.HasField("tensor_type")]
    length = next((d.dim_value for t in inputs for d in t.shape.dim if d.dim_value > 1), None)
    for d in (d for t in inputs for d in t.shape.dim if d.dim_value == length and length):
        d.dim_param = "N"
    for output in model.graph.output:
        for d in output.type.tensor_type.shape.dim:
            d.Clear()
    del model.graph.value_info[:]
    onnx.save(model, path)
    return length


def run_opened(test, folder, *options):
    length = opened(test, folder / "m.onnx")
    data = next(p for f in FOLDERS if (p := SUITE / f / test / "test_data_set_0").exists())
    return length and dnncc.run([dnncc.DNNCC, folder / "m.onnx", f"--dim=N=1..{length + 3}", f"--test={data}", *options])


WAYS = [], ["-O0"], ["--target=x86-64-v3"], ["--target=aarch64", "--goal=memory"], ["--exact", "--target=x86-64-v4"]


@pytest.mark.sample(24)
@pytest.mark.parametrize("test", PASSING)
def test_operator(test, tmp_path):
    """in the interpreter, for one of several targets, or for each"""
    done = run_opened(test, tmp_path, *WAYS[zlib.crc32(test.encode()) % len(WAYS)])
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("test", OTHERS)
def test_refused(test, tmp_path):
    """what is not there yet is refused by name, or makes no sense with that extent open"""
    done = run_opened(test, tmp_path)
    assert not done or done.returncode in (dnncc.UNSUPPORTED, dnncc.INVALID), done.stderr
    assert not done or "error: " in done.stderr


# ---- random networks ----

class Network:
    """maps [N, 4, 8] to [N, 4, 8] again and again; a second input is [M, 8]"""
    def __init__(self, seed):
        self.rng, self.nodes, self.constants, self.count = np.random.default_rng(seed), [], [], 0

    def node(self, op, inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [f"v{self.count}"], **attributes))
        return f"v{self.count}"

    def constant(self, array):
        self.count += 1
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def weights(self, *shape):
        return self.constant((self.rng.random(shape, np.float32) - .5) / 2)

    def turned(self, x, perm):
        return self.node("Transpose", [x], perm=perm)

    # each takes x, and the values so far
    def unary(self, x, _): return self.node(self.rng.choice(["Relu", "Tanh", "Sigmoid", "Neg", "Abs"]), [x])
    def binary(self, x, all): return self.node(self.rng.choice(["Add", "Sub", "Mul", "Max"]), [x, self.rng.choice(all)])
    def product(self, x, _): return self.node("Tanh", [self.node("MatMul", [x, self.weights(8, 8)])])
    def norm(self, x, _): return self.node("LayerNormalization", [x, self.weights(8), self.weights(8)], axis=-1)

    def reduced(self, x, _):
        op, axis = self.rng.choice(["ReduceMean", "ReduceMax", "ReduceL2"]), int(self.rng.integers(3))
        return self.node("Tanh", [self.node("Add", [x, self.node(op, [x, self.ints(axis)], keepdims=1)])])

    def flat_product(self, x, _):
        rows = self.node("Reshape", [x, self.ints(-1, 8)])
        return self.node("Reshape", [self.node("Tanh", [self.node("Gemm", [rows, self.weights(8, 8), self.weights(8)])]), self.ints(-1, 4, 8)])

    def attention(self, x, _):
        h = self.turned(x, [1, 0, 2])
        shares = self.node("Softmax", [self.node("MatMul", [h, self.turned(h, [0, 2, 1])])], axis=-1)
        return self.turned(self.node("MatMul", [shares, h]), [1, 0, 2])

    def cross(self, x, _):
        shares = self.node("Softmax", [self.node("MatMul", [x, self.turned("m", [1, 0])])], axis=-1)
        return self.node("MatMul", [shares, "m"])

    def convolved(self, x, _):
        h = self.node("Conv", [self.turned(x, [1, 2, 0]), self.weights(8, 8, 3)], pads=[1, 1])
        return self.turned(self.node("Tanh", [h]), [2, 0, 1])

    def pooled(self, x, _):
        h = self.node(self.rng.choice(["MaxPool", "AveragePool"]), [self.turned(x, [1, 2, 0])], kernel_shape=[3], pads=[1, 1])
        return self.turned(h, [2, 0, 1])

    def padded(self, x, _):
        mode = self.rng.choice(["constant", "edge"])
        h = self.node("Pad", [x, self.ints(1, 0, 0, 1, 0, 0)], mode=mode)
        start = int(self.rng.integers(3))
        return self.node("Slice", [h, self.ints(start), self.ints(start - 2 or 2**40), self.ints(0)])

    def joined(self, x, all):
        return self.node("Slice", [self.node("Concat", [x, self.rng.choice(all)], axis=1), self.ints(2), self.ints(6), self.ints(1)])

    def running(self, x, _): return self.node("Tanh", [self.node("CumSum", [x, self.constant(np.int64(0))])])

    def positions(self, x, _):
        n = self.node("Gather", [self.node("Shape", [x]), self.constant(np.int64(0))])
        r = self.node("Range", [self.constant(np.int64(0)), n, self.constant(np.int64(1))])
        r = self.node("Reshape", [self.node("Cast", [r], to=F32), self.ints(-1, 1, 1)])
        return self.node("Add", [x, self.node("Sin", [r])])

    def filled(self, x, _):
        y = self.node("Expand", [self.constant(np.float32(.25)), self.node("Shape", [x])])
        return self.node("Where", [self.node("Greater", [x, y]), x, y])

    def last_row(self, x, _): return self.node("Add", [x, self.node("Gather", [x, self.ints(-1)], axis=0)])

    STEPS = (unary, binary, product, norm, reduced, flat_product, attention, cross, convolved, pooled, padded, joined, running, positions, filled,
             last_row)

    def save(self, path, steps):
        values = ["x"]
        for _ in range(steps):
            step = self.STEPS[self.rng.integers(len(self.STEPS))]
            values.append(step(self, values[-1 - int(self.rng.integers(min(2, len(values))))], values))
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", F32, ["N", 4, 8]), helper.make_tensor_value_info("m", F32, ["M", 8])],
                                  [helper.make_tensor_value_info(values[-1], F32, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def compiled(model, folder, *options, flags=("-O1",)):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    return dnncc.build_host(folder, flags)


def given(rng, n, m):
    return [rng.random((n, 4, 8), np.float32) * 2 - 1, rng.random((m, 8), np.float32) * 2 - 1]


BOUND = 70


@pytest.mark.sample(24)
@pytest.mark.parametrize("seed", range(60))
def test_random(seed, tmp_path):
    """with --exact the bits of the code for these lengths alone; else its numbers"""
    rng = np.random.default_rng(seed)
    Network(seed).save(tmp_path / "m.onnx", 6)
    exact = ["--exact"] if seed % 2 else []
    targets = [t for t in ("generic", "x86-64-v3", "x86-64-v4") if processor.has(t)]
    options = [*exact, f"--target={targets[seed % len(targets)]}"]
    sanitized = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = compiled(tmp_path / "m.onnx", tmp_path / "any", f"--dim=N=1..{BOUND}", f"--dim=M=1..{BOUND}", *options, flags=sanitized)
    lengths = {(1, 1), (BOUND, BOUND), (int(rng.integers(2, BOUND)), int(rng.integers(1, BOUND + 1)))}
    for n, m in sorted(lengths):
        inputs = given(rng, n, m)
        one = compiled(tmp_path / "m.onnx", tmp_path / f"{n}_{m}", f"--dim=N={n}", f"--dim=M={m}", *options)
        (want,), (got,) = (dnncc.run_host(p, inputs) for p in (one, program))
        if exact:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


# ---- texts, names, errors ----

def small(path):
    x, w = helper.make_tensor_value_info("x", F32, ["batch", 3]), onnx.numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", F32, ["batch", 2])], [w]),
                                opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_texts(tmp_path):
    """the texts of both IRs read back, and give the same C; lengths need not be said again"""
    model = small(tmp_path / "m.onnx")
    first = dnncc.run([dnncc.DNNCC, model, "--dim=batch=0..9", "-o", "-"]).stdout
    for emit in "ir", "loops":
        text = tmp_path / f"m.{emit}"
        assert dnncc.run([dnncc.DNNCC, model, "--dim=batch=0..9", f"--emit={emit}", "-o", text]).returncode == 0
        assert ("symbol batch in [0, 9]" if emit == "ir" else 'extent %batch "batch" in [0, 9]') in text.read_text()
        again = dnncc.run([dnncc.DNNCC, text, "-o", "-"])
        assert again.returncode == 0 and again.stdout == first, again.stderr
    assert "int64_t batch" in first


def test_vectors(tmp_path):
    """rows of products stand side by side, and loops to an extent of a run are vectors, with a rest under a mask"""
    x = helper.make_tensor_value_info("x", F32, [2, "N", 64])
    w = onnx.numpy_helper.from_array(np.random.default_rng(0).random((2, 64, 32), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["y"], axis=1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", F32, [2, "N", 32])], [w]),
                                opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..512", "--target=x86-64-v3", "--emit=loops", "-o", "-"]).stdout
    product = loops[loops.index("kernel @MatMul"):loops.index("kernel @Softmax")]
    first, second, single = re.findall("for %i[135] .*?(?=for %i[135] |\\Z)", product, re.S)
    assert "to %N / 8 * 8 step 8" in first and "to %N / 4 * 4 step 4" in second and "= %N / 4 * 4 to %N {" in single
    assert first.count("fma(splat<8>") == 8 and first.count("store %y") == 8
    turned = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..512", "--target=x86-64-v3", "--emit=loops", "-o", "-", "--exact"]).stdout
    assert "to %N / 8 * 8 step 8" in turned


def layers(path):
    """rows through a layer with a residual, whose panels of weights are larger than the first-level cache, and one of a width that fills no vector; of one symbol, and of a product of two"""
    rng, weights = np.random.default_rng(1), {}
    for name, *shape in ("w", 40, 410), ("b", 410), ("v", 410, 40), ("u", 40, 33):
        weights[name] = (rng.random(shape, np.float32) - .5) / 2
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h1"]), helper.make_node("Add", ["h1", "b"], ["h2"]), helper.make_node("Relu", ["h2"], ["h3"]),
             helper.make_node("MatMul", ["h3", "v"], ["h4"]), helper.make_node("Add", ["h4", "x"], ["y"]), helper.make_node("MatMul", ["y", "u"], ["z"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, ["B", "N", 40])],
                              [helper.make_tensor_value_info(name, F32, ["B", "N", c]) for name, c in (("y", 40), ("z", 33))],
                              [onnx.numpy_helper.from_array(a, name) for name, a in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return weights


@pytest.mark.sample(8, each=False)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("words", [None, "columns=5 vectors=2 strip=2", "columns=4 vectors=2", "columns=3 vectors=1 unroll=2 row_tasks=2 panel_tasks=2"])
def test_rows(target, words, tmp_path):
    """packed products of as many rows as a run gives: every rest behind whole tiles, in strips, shared by threads"""
    if not processor.has(target):
        pytest.skip(f"the processor has no {target}")
    weights = layers(tmp_path / "m.onnx")
    text = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=0..40", "--dim=B=1..2", f"--target={target}", "--emit=ir", "-o", "-"]).stdout
    text, count = re.subn('(convolve_packed.* schedule=")([^;]*)', lambda m: m[1] + (words or m[2]), text)
    assert count == 3
    (tmp_path / "m.ir").write_text(text)
    program = compiled(tmp_path / "m.ir", tmp_path / "c", flags=["-O1", "-fsanitize=address,undefined", f"-Wl,--whole-archive,{dnncc.ROOT}/build/libdnncc_runtime.a,--no-whole-archive", "-pthread"])
    for n in range(41):
        x = np.random.default_rng(n).random((1 + n % 2, n, 40), np.float32) - .5
        y, z = dnncc.run_host(program, [x])
        want = np.maximum(x @ weights["w"] + weights["b"], 0) @ weights["v"] + x
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(z, want @ weights["u"], rtol=1e-4, atol=1e-4)


def test_rows_are_shared_by_panels(tmp_path):
    """two threads share a product of few rows, too, where a run gives their number: by panels of weights; of a number by rows, where these are many"""
    w = onnx.numpy_helper.from_array(np.ones((288, 768), np.float32), "w")
    onnx.save(helper.make_model(helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", F32, ["N", 288])],
                                                  [helper.make_tensor_value_info("y", F32, ["N", 768])], [w]), opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    for dim, words in ("1..512", "panel_tasks=2"), ("512", "row_tasks=2"):
        text = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--dim=N={dim}", "--threads=2", "--target=x86-64-v4", "--emit=ir", "-o", "-"]).stdout
        assert re.findall("_?(?:row|panel)_tasks=[0-9]+", re.search('schedule="([^;]*)', text)[1]) == [words]


@pytest.mark.parametrize("least, kernels", [(1, 3), (0, 8)])
def test_rows_fuse(least, kernels, tmp_path):
    """what reductions make of a row is one kernel with them, also along an extent of a run, unless that may be 0"""
    x = helper.make_tensor_value_info("x", F32, [2, "N", "M"])
    nodes = [helper.make_node("Softmax", ["x"], ["h"], axis=-1), helper.make_node("Softmax", ["h"], ["y"], axis=1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", F32, [2, "N", "M"])]),
                                opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--dim=N={least}..9", f"--dim=M={least}..9", "--emit=loops", "-o", "-"]).stdout
    assert loops.count("\nkernel ") == kernels
    program = compiled(tmp_path / "m.onnx", tmp_path / "c", f"--dim=N={least}..9", f"--dim=M={least}..9")
    for shape in (2, least, 9), (2, 9, least), (2, 4, 7):
        x = np.random.default_rng(0).random(shape, np.float32)
        for axis in 2, 1:
            want = np.exp(x if axis == 2 else want)
            want /= want.sum(axis, keepdims=True)
        np.testing.assert_allclose(dnncc.run_host(program, [x])[0], want, rtol=1e-5)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4-vnni", "generic"])
def test_bytes(target, tmp_path):
    """layers in 8 bits multiply as many rows of bytes as a run gives, and give the bits of the code for that number"""
    if not processor.has(target):
        pytest.skip(f"the processor has no {target}")
    rng, constants, nodes = np.random.default_rng(2), {}, []
    for name, value in {"w": rng.integers(-127, 128, (40, 70)).astype(np.int8), "ws": np.full(70, .01, np.float32), "wz": np.zeros(70, np.int8), "xs": np.float32(.02),
                        "xz": np.uint8(120), "b": rng.random(70, np.float32), "ys": np.float32(.1), "yz": np.uint8(100)}.items():
        constants[name] = onnx.numpy_helper.from_array(np.asarray(value), name)
    for op, inputs, output, attributes in (("QuantizeLinear", ["x", "xs", "xz"], "xq", {}), ("DequantizeLinear", ["xq", "xs", "xz"], "xd", {}),
                                           ("DequantizeLinear", ["w", "ws", "wz"], "wd", {"axis": 1}), ("MatMul", ["xd", "wd"], "h", {}), ("Add", ["h", "b"], "h1", {}),
                                           ("QuantizeLinear", ["h1", "ys", "yz"], "yq", {}), ("DequantizeLinear", ["yq", "ys", "yz"], "y", {})):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, ["B", "N", 40])], [helper.make_tensor_value_info("y", F32, ["B", "N", 70])],
                              list(constants.values()))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    options = "--dim=N=1..40", "--dim=B=1..2", f"--target={target}"
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options, "--emit=loops", "-o", "-"]).stdout
    assert ("convolve_packed" in loops) == (target != "generic")
    program = compiled(tmp_path / "m.onnx", tmp_path / "c", *options, flags=["-O1", "-fsanitize=address,undefined"])
    for n in 1, 5, 16, 40:
        x = rng.random((2, n, 40), np.float32) * 4 - 2
        one = compiled(tmp_path / "m.onnx", tmp_path / f"{n}", f"--dim=N={n}", "--dim=B=2", f"--target={target}")
        np.testing.assert_array_equal(*(dnncc.run_host(p, [x])[0] for p in (program, one)))


class Heads:
    """attention of 4 heads of 20 channels: rows of x see keys of x, or of m"""
    FORMS = "plain", "causal", "cross", "shared", "masked", "batch"

    def __init__(self, form):
        rng = np.random.default_rng(3)
        self.form, self.shared = form, 2 if form == "shared" else 1
        self.weights = {name: ((rng.random((80, 80 // (self.shared if name in "kv" else 1)), np.float32) - .5) / 3) for name in "qkvo"}

    def save(self, path):
        nodes, constants = [], dict(self.weights)

        def node(op, *inputs, **attributes):
            nodes.append(helper.make_node(op, list(inputs), [f"n{len(nodes)}"], **attributes))
            return nodes[-1].output[0]

        def constant(value, kind=np.int64):
            constants[f"c{len(constants)}"] = np.array(value, kind)
            return f"c{len(constants) - 1}"

        of = {"q": "x", "k": "m" if self.form == "cross" else "x", "v": "m" if self.form == "cross" else "x"}
        heads = {}
        for p in "qkv":
            h = node("Reshape", node("MatMul", of[p], p), constant([0, -1, self.weights[p].shape[1] // 20, 20]))
            if self.weights[p].shape[1] < 80:           # each head of keys serves two of queries
                h = node("Reshape", h, constant([1, -1, 2, 1, 20]))
                h = node("Reshape", node("Concat", h, h, axis=3), constant([1, -1, 4, 20]))
            heads[p] = node("Transpose", h, perm=[0, 2, 1, 3])
        scores = node("Mul", node("MatMul", heads["q"], node("Transpose", heads["k"], perm=[0, 1, 3, 2])), constant(.3, np.float32))
        if self.form == "causal":
            n = node("Squeeze", node("Gather", node("Shape", "x"), constant([1])))
            r = node("Range", constant(0), n, constant(1))
            hidden = node("Greater", node("Unsqueeze", r, constant([0])), node("Unsqueeze", r, constant([1])))
            scores = node("Add", scores, node("Where", hidden, constant(-np.inf, np.float32), constant(0, np.float32)))
        if self.form == "masked":
            scores = node("Add", scores, "b")
        shares = node("Softmax", scores, axis=-1)
        y = node("Reshape", node("Transpose", node("MatMul", shares, heads["v"]), perm=[0, 2, 1, 3]), constant([0, -1, 80]))
        nodes.append(helper.make_node("MatMul", [y, "o"], ["y"]))
        first = "B" if self.form == "batch" else 1
        inputs = [("x", [first, "N", 80])] + [("m", [1, "M", 80])] * (self.form == "cross") + [("b", ["N", "N"])] * (self.form == "masked")
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, F32, shape) for name, shape in inputs],
                                  [helper.make_tensor_value_info("y", F32, [first, "N", 80])], [onnx.numpy_helper.from_array(a, name) for name, a in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)

    def inputs(self, rng, n, m):
        others = [rng.random((1, m, 80), np.float32) - .5] * (self.form == "cross") + [rng.random((n, n), np.float32)] * (self.form == "masked")
        return [rng.random((1 + n % 3 if self.form == "batch" else 1, n, 80), np.float32) - .5, *others]

    def result(self, x, other=None):
        return np.concatenate([self.one(x[i:i + 1], other) for i in range(len(x))])

    def one(self, x, other):
        heads = {}
        for p in "qkv":
            h = (x if p == "q" or self.form != "cross" else other)[0] @ self.weights[p]
            heads[p] = h.reshape(len(h), -1, 20).repeat(self.shared if p in "kv" else 1, 1).transpose(1, 0, 2)
        scores = heads["q"] @ heads["k"].transpose(0, 2, 1) * np.float32(.3)
        if self.form == "causal":
            scores = np.where(np.tri(scores.shape[1], dtype=bool), scores, -np.inf)
        if self.form == "masked":
            scores = scores + other
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return (shares @ heads["v"]).transpose(1, 0, 2).reshape(1, -1, 80) @ self.weights["o"]


@pytest.mark.sample(12, each=False)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("form", Heads.FORMS)
def test_attention(form, threads, target, tmp_path):
    """one kernel, in register tiles: every rest of rows and of keys, with a mask that hides columns, with keys that heads share"""
    if not processor.has(target):
        pytest.skip(f"the processor has no {target}")
    heads = Heads(form)
    heads.save(tmp_path / "m.onnx")
    options = ["--dim=N=1..70", *(["--dim=M=1..45"] if form == "cross" else ["--dim=B=1..3"] if form == "batch" else []), f"--target={target}", f"--threads={threads}"]
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options, "--emit=loops", "-o", "-"]).stdout
    assert "%keys: inout" in loops and ("let %columns : index = min(" in loops) == (form == "causal")
    flags = ["-O1", "-fsanitize=address,undefined", f"-Wl,--whole-archive,{dnncc.ROOT}/build/libdnncc_runtime.a,--no-whole-archive", "-pthread"]
    program = compiled(tmp_path / "m.onnx", tmp_path / "c", *options, flags=flags)
    rng = np.random.default_rng(5)
    for n, m in (1, 1), (2, 31), (3, 32), (7, 33), (13, 45), (14, 3), (15, 15), (31, 7), (32, 44), (33, 17), (70, 16):
        inputs = heads.inputs(rng, n, m)
        np.testing.assert_allclose(dnncc.run_host(program, inputs)[0], heads.result(*inputs), rtol=1e-4, atol=2e-6)


def test_lengths(tmp_path):
    """0, the bounds, and beyond: nothing is written then"""
    program = compiled(small(tmp_path / "m.onnx"), tmp_path / "c", "--dim=batch=0..9", flags=["-O1", "-fsanitize=address,undefined"])
    for n in 0, 1, 9:
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3) - 4
        np.testing.assert_array_equal(dnncc.run_host(program, [x])[0], np.maximum(x @ np.arange(6, dtype=np.float32).reshape(3, 2), 0))
    with pytest.raises(AssertionError, match="returned -4"):
        dnncc.run_host(program, [np.zeros((10, 3), np.float32)])


CALLS = r"""
#include <pthread.h>
#include <string.h>
#include "model.h"

static float x[10 * 3], right[9 * 2];

/* The extents are others in each thread and from call to call; nothing but those elements is written. */
static void *calls(void *first)
{
        float workspace[MODEL_WORKSPACE_SIZE / sizeof(float) + 16], y[10 * 2];
        void *aligned = (void *)(((size_t)workspace + 63) / 64 * 64);
        for (int k = 0; k < 2000; k++) {
                const int n = (k * 7 + *(const int *)first) % 10;
                for (int i = 0; i < 20; i++)
                        y[i] = -5;
                if (model_run(aligned, x, n, y) || memcmp(y, right, (size_t)n * 2 * sizeof *y))
                        return first;
                for (int i = 2 * n; i < 20; i++)
                        if (y[i] != -5)
                                return first;
        }
        return NULL;
}

int main(void)
{
        static const int64_t wrong[] = { -1, 10, INT64_MAX, INT64_MIN };
        static float workspace[MODEL_WORKSPACE_SIZE / sizeof(float) + 16], before[sizeof workspace / sizeof *workspace], y[20];
        void *aligned = (void *)(((size_t)workspace + 63) / 64 * 64);
        int firsts[] = { 0, 3 };
        pthread_t threads[2];
        for (int i = 0; i < 30; i++)
                x[i] = (float)(i % 7 - 3);
        for (int i = 0; i < 4; i++)
                if (model_run(aligned, x, wrong[i], y) != MODEL_ERROR_EXTENT || memcmp(workspace, before, sizeof workspace))
                        return 1;
        for (int i = 0; i < 20; i++)
                if (y[i] != 0)
                        return 2;
        if (model_run(aligned, x, 9, right))
                return 3;
        for (int i = 0; i < 2; i++)
                pthread_create(&threads[i], NULL, calls, &firsts[i]);
        for (int i = 0; i < 2; i++) {
                void *failed;
                pthread_join(threads[i], &failed);
                if (failed)
                        return 4;
        }
        return 0;
}
"""


@pytest.mark.parametrize("options", [[], ["--target=x86-64-v3"]], ids=lambda o: " ".join(o) or "generic")
def test_calls_from_c(options, tmp_path):
    """outside of its bounds an extent is ERROR_EXTENT, and neither outputs nor the workspace are written; two threads run with other extents at the same time"""
    done = dnncc.run([dnncc.DNNCC, small(tmp_path / "m.onnx"), "--dim=batch=0..9", *options, "-o", tmp_path / "model.c"])
    assert done.returncode == 0, done.stderr
    (tmp_path / "calls.c").write_text(CALLS)
    for sanitize in "thread", "address,undefined":
        done = dnncc.run(["gcc", "-O1", "-g", f"-fsanitize={sanitize}", "-fno-sanitize-recover=all", f"-I{tmp_path}", tmp_path / "calls.c", tmp_path / "model.c", "-o", tmp_path / "calls", "-pthread", "-lm"])
        assert done.returncode == 0, done.stderr
        done = dnncc.run([tmp_path / "calls"])
        assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.mark.parametrize("dims, code, says", [
    (["batch=5..2"], dnncc.USAGE, "NAME=1..N"), (["batch=0..0"], dnncc.USAGE, "NAME=1..N"), (["batch=-1..4"], dnncc.USAGE, "NAME=1..N"),
    (["batch=1..99999999999"], dnncc.USAGE, "NAME=1..N"), (["batch=1..8", "batch=4"], dnncc.USAGE, "two values"),
    (["batch=1..8", "rows=1..8"], dnncc.USAGE, "no such dimension"), (["batch=1..2147483647"], dnncc.INVALID, "tensor_bytes"),
])
def test_wrong(dims, code, says, tmp_path):
    done = dnncc.run([dnncc.DNNCC, small(tmp_path / "m.onnx"), *(f"--dim={d}" for d in dims), "-o", tmp_path / "m.c"])
    assert done.returncode == code and says in done.stderr and not (tmp_path / "m.c").exists(), done.stderr


@pytest.mark.parametrize("options", [["--target=vta"]])
def test_not_yet(options, tmp_path):
    done = dnncc.run([dnncc.DNNCC, small(tmp_path / "m.onnx"), "--dim=batch=1..8", *options, "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "'batch'" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["p2o.DynamicDimension.0", 'a "b" */ c', "N,M"])
def test_dimensions_that_are_no_identifiers(name, tmp_path):
    """comments and summaries say their names as text that is safe there"""
    x = helper.make_tensor_value_info("x", F32, [name, 2, 6, 6])
    w = onnx.numpy_helper.from_array(np.ones((3, 2, 3, 3), np.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)
    graph = helper.make_graph([node], "g", [x], [helper.make_tensor_value_info("y", F32, None)], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    for target in "generic", "x86-64-v3":
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, [f"--dim={name}=1..3", f"--target={target}"])


def test_budget(tmp_path):
    """memory is planned at the bounds: what does not fit is an error that says by how much"""
    layers(tmp_path / "m.onnx")
    for limit, code in (140000, 0), (3000, dnncc.BUDGET):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..40", "--dim=B=1..2", f"--max-ram={limit}", "-o", tmp_path / "m.c"])
        assert done.returncode == code and ("3000" in done.stderr) == (code != 0), done.stderr


def test_check(tmp_path):
    """--check looks at a length below the bound, so that strides of the bound are found out"""
    Network(3).save(tmp_path / "m.onnx", 5)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..9", "--dim=M=1..9", "--check", "--target=x86-64-v3"])
    assert done.returncode == 0 and "differ" not in done.stderr, done.stderr


# ---- networks ----

@pytest.mark.sample(3)
@pytest.mark.parametrize("name, dims", [("magika_v3", "unk__214=1..8"), ("super_resolution", "batch_size=1..4"), ("stories260k_prefill", "seq=1..256")])
@pytest.mark.slow
def test_network(name, dims, tmp_path):
    folder = dnncc.ROOT.parent / "shared" / "models" / name
    if not folder.exists():
        pytest.skip("no shared models")
    sets = sorted(folder.glob("test_data_set_*"))[:1]
    done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", f"--dim={dims}", "--target=x86-64-v3", *(f"--test={s}" for s in sets)], timeout=600)
    assert done.returncode == 0, done.stderr
