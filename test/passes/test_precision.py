# SPDX-License-Identifier: MIT
"""--precision=bf16 and f16: random networks keep their meaning through every pass behind `precision`; networks of the kinds there are, compiled
for targets with and without tiles, agree with the canonical program and are near to f32."""
import json
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_layout import Attention, Network  # noqa: E402
from test_tiles import COMPILERS, needs_tiles  # noqa: E402

SHARE = 20


@pytest.mark.parametrize("network,first,target,element,share", [
    (Network, 0, "sapphirerapids", "bf16", SHARE), (Network, SHARE, "sapphirerapids", "bf16", SHARE), (Attention, 0, "sapphirerapids", "bf16", 8),
    (Network, 0, "neoverse-v1", "bf16", 8), (Network, 0, "aarch64-fp16", "f16", 8), (Attention, 0, "aarch64-fp16", "f16", 8),
    (Network, 0, "x86-64-v4-fp16", "f16", 8), pytest.param(Attention, 0, "x86-64-v4-fp16", "f16", SHARE, marks=pytest.mark.long),
    pytest.param(Attention, 8, "sapphirerapids", "bf16", SHARE - 8, marks=pytest.mark.long),
    pytest.param(Network, 8, "neoverse-v1", "f16", 5 * SHARE, marks=pytest.mark.long),
    pytest.param(Attention, 8, "aarch64", "f16", 5 * SHARE, marks=pytest.mark.long)])
def test_every_pass(tmp_path, network, first, target, element, share):
    """what `precision` itself rounds differs; from there on every pass keeps it. Where runs of products are added up in f16, their roundings, and
    what passes 65504, decide steps of a second attention: networks of one"""
    rounded = 0
    for seed in range(first, first + share):
        path, narrow = tmp_path / f"n{seed}.dnn", tmp_path / f"r{seed}.dnn"
        text = network(seed).text()
        if target == "x86-64-v4-fp16" and text.count("batch_a") > 2:
            continue
        path.write_text(text)
        options = [f"--target={target}", f"--precision={element}", f"--limit={element}_percent=1000000"]
        done = dnncc.run([dnncc.DNNCC, path, *options, "--passes=precision,dce", "--emit=ir", "-o", narrow])
        assert done.returncode == 0, (seed, done.stderr)
        rounded += f"to={element}" in narrow.read_text()
        done = dnncc.run([dnncc.DNNCC, narrow, f"--target={target}", "-o", tmp_path / "n.loops", "--emit=loops", "--check"], cwd=tmp_path)
        assert done.returncode == 0, (seed, done.stderr[-3000:])
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, checks)
    assert rounded > share // 8, rounded


class Model:
    """an ONNX model of small parts"""

    def __init__(self):
        self.r, self.nodes, self.weights, self.count = np.random.default_rng(7), [], [], 0

    def add(self, kind, *inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(kind, list(inputs), [f"t{self.count}"], **attributes))
        return f"t{self.count}"

    def weight(self, *shape):
        self.weights.append(numpy_helper.from_array((self.r.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32),
                                                    f"w{len(self.weights)}"))
        return self.weights[-1].name

    def integers(self, *values):
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x, c, m, k, stride=1, group=1, relu=True):
        y = self.add("Conv", x, self.weight(m, c // group, k, k), self.weight(m), pads=[k // 2] * 4, strides=[stride] * 2, group=group)
        return self.add("Relu", y) if relu else y

    def save(self, path, y, *shape):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, path)


def residual(m):
    """a first layer, residual sums, strides, partial blocks"""
    a = m.conv("x", 3, 64, 3)
    a = m.add("Relu", m.add("Add", a, m.conv(m.conv(a, 64, 48, 1), 48, 64, 3, relu=False)))
    b = m.add("Add", m.conv(a, 64, 80, 3, 2, relu=False), m.conv(a, 64, 80, 1, 2, relu=False))
    b = m.add("GlobalAveragePool", m.conv(b, 80, 96, 3))
    return m.add("Gemm", m.add("Flatten", b), m.weight(96, 40)), (1, 3, 21, 21)


def mobile(m):
    """depthwise, groups, concats, pools, a transposed convolution"""
    a = m.conv(m.conv("x", 20, 96, 1), 96, 96, 3, group=96)
    a = m.add("Concat", m.conv(a, 96, 32, 1), m.add("MaxPool", m.conv(a, 96, 48, 1), kernel_shape=[3, 3], pads=[1] * 4), axis=1)
    a = m.conv(m.conv(a, 80, 64, 3), 64, 64, 3, group=2)
    return m.add("ConvTranspose", a, m.weight(64, 24, 2, 2), strides=[2, 2]), (2, 20, 13, 13)


def rows(m):
    """projections of rows, a norm between them, one row"""
    a = m.add("MatMul", "x", m.weight(96, 160))
    a = m.add("Softmax", m.add("Add", a, m.weight(160)), axis=-1)
    a = m.add("Add", m.add("MatMul", a, m.weight(160, 96)), "x")
    a = m.add("Tanh", m.add("MatMul", m.add("ReduceMean", a, axes=[1], keepdims=0), m.weight(96, 200)))
    return m.add("MatMul", a, m.weight(200, 10)), (1, 37, 96)


def attention(m):
    """products of what is computed, the depth of the second one no whole number of tiles; weights of such a depth"""
    def heads(perm):
        h = m.add("Reshape", m.add("MatMul", "x", m.weight(96, 96)), m.integers(1, 45, 3, 32))
        return m.add("Transpose", h, perm=perm)
    scores = m.add("MatMul", heads([0, 2, 1, 3]), heads([0, 2, 3, 1]))
    a = m.add("MatMul", m.add("Softmax", scores, axis=-1), heads([0, 2, 1, 3]))
    a = m.add("Reshape", m.add("Transpose", a, perm=[0, 2, 1, 3]), m.integers(1, 45, 96))
    return m.add("MatMul", m.add("Tanh", m.add("MatMul", a, m.weight(96, 257))), m.weight(257, 64)), (1, 45, 96)


def patches(m):
    """rows of the window that are several rows of tiles"""
    a = m.add("Conv", "x", m.weight(64, 3, 16, 16), m.weight(64), strides=[16, 16])
    return m.conv(a, 64, 64, 3), (1, 3, 80, 96)


def recurrent(m):
    """a loop from a zero state, whose first iteration stands before it"""
    return m.add("LSTM", "x", m.weight(1, 1024, 256), m.weight(1, 1024, 256), hidden_size=256), (8, 1, 256)


def transposed(m):
    """phases of one tap and of several, of part of an element's neighbours, and of few outputs"""
    a = m.conv("x", 32, 64, 1)
    a = m.add("Relu", m.add("ConvTranspose", a, m.weight(64, 48, 3, 3), m.weight(48), strides=[2, 2], pads=[1] * 4, output_padding=[1, 0]))
    a = m.add("Relu", m.add("ConvTranspose", a, m.weight(48, 32, 2, 4), m.weight(32), strides=[2, 3]))
    return m.add("ConvTranspose", a, m.weight(32, 4, 2, 2), strides=[2, 2]), (1, 32, 9, 10)


SERIAL = "void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)\n{\n        for (int i = 0; i < count; i++)\n" \
         "                task(arg, i, count);\n}\n"


ROUNDED = ["--target=sapphirerapids", "--precision=bf16"]


def run(path, folder, options, values, cc="gcc", emulator=None):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(path, folder, options)
    if "dnncc_parallel" in (folder / "model.c").read_text():
        with open(folder / "model.c", "a") as c:
            c.write(SERIAL)
    host = dnncc.build_host(folder, ["-O1", "-w"], cc, emulator=emulator)
    return dnncc.run_host(host, values)[0], (folder / "model.c").read_text()


@pytest.mark.parametrize("kind", [residual, mobile, transposed, rows, attention, patches, recurrent])
@pytest.mark.sample(8)
def test_models(kind, tmp_path):
    m = Model()
    y, shape = kind(m)
    path = tmp_path / "model.onnx"
    m.save(path, y, *shape)
    values = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
    exact, _ = run(path, tmp_path / "f32", ["--target=generic"], values)
    assert np.array_equal(exact, run(path, tmp_path / "none", ["--target=generic", "--precision=bf16"], values)[0])    # no tiles
    rounded = tmp_path / "rounded" / "r.dnn"
    rounded.parent.mkdir()
    done = dnncc.run([dnncc.DNNCC, path, *ROUNDED, "--passes=simplify,fold,cse,dce,precision,dce", "--emit=ir", "-o", rounded])
    assert done.returncode == 0 and "to=bf16" in rounded.read_text(), done.stderr
    canonical, _ = run(rounded, tmp_path / "bf16", ["--target=generic", "-O1"], values)
    largest = np.abs(exact).max()
    assert 1e-5 < np.abs(exact - canonical).max() / largest < 2e-2
    if processor.here("x86-64-v4"):
        bits, _ = run(path, tmp_path / "exact", ["--target=x86-64-v4", "--precision=bf16", "--exact"], values)
        assert np.array_equal(bits, run(path, tmp_path / "plain", ["--target=x86-64-v4", "--exact"], values)[0])
        got, _ = run(rounded, tmp_path / "v4", ["--target=x86-64-v4"], values)
        assert np.abs(got - canonical).max() / largest < 1e-2
    for cc in COMPILERS if processor.here("sapphirerapids") else []:
        for threads in (1, 3):
            again, text = run(path, tmp_path / f"{cc}{threads}", [*ROUNDED, f"--threads={threads}"], values, cc)
            assert "_tile_dpbf16ps" in text
            assert np.abs(again - canonical).max() / largest < 1e-2
            assert threads == 1 or np.array_equal(again, before)
            before = again


@processor.needs("aarch64-fp16")
@pytest.mark.parametrize("kind", [mobile, attention, *(pytest.param(kind, marks=pytest.mark.long) for kind in (residual, transposed, rows, patches, recurrent))])
def test_halves(kind, tmp_path):
    """products of f16 under qemu: near to the canonical program, whether widened by an instruction or in the product, to the same bits"""
    m = Model()
    y, shape = kind(m)
    path, rounded = tmp_path / "model.onnx", tmp_path / "r.dnn"
    m.save(path, y, *shape)
    values = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
    options = ["--precision=f16", "--limit=f16_percent=1000000"]
    done = dnncc.run([dnncc.DNNCC, path, "--target=aarch64-fp16", *options, "--passes=simplify,fold,cse,dce,precision,dce", "--emit=ir", "-o", rounded])
    assert done.returncode == 0 and "to=f16" in rounded.read_text(), done.stderr
    exact, _ = run(path, tmp_path / "f32", ["--target=generic"], values)
    canonical, _ = run(rounded, tmp_path / "f16", ["--target=generic", "-O1"], values)
    largest, before = np.abs(exact).max(), None
    assert 1e-5 < np.abs(exact - canonical).max() / largest < 4e-3
    for target in ("aarch64-fp16", "aarch64"):
        emulator = processor.emulator(target)
        got, text = run(path, tmp_path / target, [f"--target={target}", *options], values, emulator=emulator)
        assert np.abs(got - canonical).max() / largest < 1e-3
        assert ("fmlal_lane" if target == "aarch64-fp16" else "vcvt_f32_f16") in text
        assert before is None or np.array_equal(got, before)
        before = got


@processor.needs("x86-64-v4-fp16")
@pytest.mark.parametrize("kind", [residual, attention, *(pytest.param(kind, marks=pytest.mark.long) for kind in (mobile, transposed, rows, patches, recurrent))])
def test_runs_of_halves(kind, tmp_path):
    """sums of short runs in f16: nearer to the canonical program than bf16 is to f32, whatever compiles it and however many threads there are"""
    m = Model()
    y, shape = kind(m)
    path, rounded = tmp_path / "model.onnx", tmp_path / "r.dnn"
    m.save(path, y, *shape)
    values = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
    options = ["--target=x86-64-v4-fp16", "--precision=f16", "--limit=f16_percent=1000000"]
    done = dnncc.run([dnncc.DNNCC, path, *options, "--passes=simplify,fold,cse,dce,precision,dce", "--emit=ir", "-o", rounded])
    assert done.returncode == 0 and "to=f16" in rounded.read_text(), done.stderr
    canonical, _ = run(rounded, tmp_path / "f16", ["--target=generic", "-O1"], values)
    before = None
    for cc, threads in [("gcc", 1), *((cc, 3) for cc in COMPILERS)]:
        got, text = run(path, tmp_path / f"{cc}{threads}", [*options, f"--threads={threads}"], values, cc)
        assert "join_pair_x16" in text
        assert np.abs(got - canonical).max() < 1e-2 * np.abs(canonical).max()
        assert before is None or np.array_equal(got, before)
        before = got


def narrowed(path, kind, shape):
    """a model of halves, ports and weights; its input"""
    m = Model()
    y, dims = kind(m)
    m.save(path, y, *dims)
    model = onnx.load(path)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(shape))
    for weights in model.graph.initializer:
        if weights.data_type == TensorProto.FLOAT:
            weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights).astype(shape), weights.name))
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.elem_type = element
    onnx.save(model, path)
    return [np.random.default_rng(1).standard_normal(dims).astype(shape)]


@pytest.mark.parametrize("kind", [attention, *(pytest.param(kind, marks=pytest.mark.long) for kind in (mobile, residual, transposed, rows, patches))])
def test_models_of_halves(kind, tmp_path):
    """are computed in f32, by kernels of register tiles, with ports and weights as they are; --precision=f16 multiplies their weights as they are"""
    path = tmp_path / "model.onnx"
    values = narrowed(path, kind, np.float16)
    want = run(path, tmp_path / "generic", ["--target=generic"], values)[0].astype(np.float64)
    assert want.dtype == np.float64 and np.abs(want).max() > 0.01
    for target, *options in (("x86-64-v3",), ("aarch64-fp16",), ("aarch64-fp16", "--precision=f16", "--limit=f16_percent=1000000")):
        done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", *options, "--remarks=layout", "--emit=ir", "-o", "-"])
        small = done.stderr.count("it has too few products")          # these alone stay as they are
        assert done.returncode == 0 and "convolve_packed" in done.stdout and len(re.findall(r" (?:convolve|dot)\(", done.stdout)) == small <= 1, done.stdout
        if processor.here(target):
            got, text = run(path, tmp_path / f"{target}{len(options)}", [f"--target={target}", *options], values, emulator=processor.emulator(target))
            assert got.dtype == np.float16 and np.abs(got - want).max() < 2e-3 * np.abs(want).max()
            assert bool(options) == ("fmlal_lane" in text)


def test_weights_beyond_f16(tmp_path):
    """a finite weight that would become infinite: its product stays in f32, and only that"""
    m = Model()
    a = m.add("MatMul", "x", m.weight(64, 64))
    m.save(tmp_path / "m.onnx", m.add("MatMul", a, m.weight(64, 64)), 40, 64)
    model = onnx.load(tmp_path / "m.onnx")
    for largest, count in ((65519, 2), (65520, 1), (np.inf, 2)):
        numbers = numpy_helper.to_array(model.graph.initializer[1]).copy()
        numbers[3, 5] = largest
        model.graph.initializer[1].CopyFrom(numpy_helper.from_array(numbers, "w1"))
        onnx.save(model, tmp_path / "m.onnx")
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=aarch64-fp16", "--precision=f16", "--passes=simplify,fold,precision,dce", "--emit=ir", "-o", "-"])
        assert done.returncode == 0 and len(re.findall(r"^const.*f16>", done.stdout, re.M)) == count, (largest, done.stdout)


@needs_tiles
def test_constants_are_half(tmp_path):
    m = Model()
    path = tmp_path / "model.onnx"
    m.save(path, m.conv(m.conv("x", 64, 64, 3), 64, 64, 3), 1, 64, 9, 9)
    sizes = []
    for precision in ("f32", "bf16"):
        report = tmp_path / f"{precision}.json"
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c", "--target=sapphirerapids", f"--precision={precision}",
                          "--passes=simplify,fold,precision,layout,simplify,fold,fuse,schedule,lower,plan", f"--report={report}"])
        assert done.returncode == 0, done.stderr
        sizes.append(json.loads(report.read_text())["constants"])
    assert sizes[0] and sizes[1] < 0.51 * sizes[0], sizes


def ir(path, out, *options):
    done = dnncc.run([dnncc.DNNCC, path, *ROUNDED, *options, "--passes=simplify,fold,cse,dce,precision,dce", "--emit=ir", "-o", out])
    assert done.returncode == 0, done.stderr
    return out.read_text()


def test_what_stays_in_f32(tmp_path):
    """what tiles would not make faster; all of a network where the rest would lose more"""
    m = Model()
    m.save(tmp_path / "small.onnx", m.conv(m.conv("x", 1, 8, 5), 8, 16, 5), 1, 1, 14, 14)
    text = ir(tmp_path / "small.onnx", tmp_path / "small.dnn")
    assert "bf16" not in text.split("func", 1)[1]
    assert "to=bf16" in ir(tmp_path / "small.onnx", tmp_path / "forced.dnn", "--limit=bf16_percent=1000000")


def test_blocks_of_all_channels(tmp_path):
    """which are fewer than those of other blocks, with nothing behind them: its first layer has 8"""
    model = dnncc.ROOT.parent / "shared" / "models" / "mnist_cnn" / "model.onnx"
    if not model.exists():
        pytest.skip("no mnist_cnn in ../shared/models")
    dnncc.compile_model(model, tmp_path, ["--target=x86-64-v4-bf16", "--precision=bf16"])


@pytest.mark.parametrize("size,options,narrow", [(28, [], 0), (7, [], 2), (28, ["--limit=winograd_percent=0"], 2)])
def test_what_winograd_takes_stays_in_f32(tmp_path, size, options, narrow):
    """windows of 3 x 3, in words: where tiles of results take fewer products than that gains, and constants have room for them"""
    m = Model()
    m.save(tmp_path / "m.onnx", m.conv(m.conv("x", 128, 128, 3), 128, 128, 3), 1, 128, size, size)
    text = ir(tmp_path / "m.onnx", tmp_path / "m.dnn", "--target=zen4", "--limit=winograd_percent=400", *options)
    assert len(re.findall("128 x 128 x 3 x 3 x bf16", text)) == narrow, text


@pytest.mark.parametrize("rows,narrow", [(4, False), (1024, True)])
def test_caches_that_few_rows_read_stay_in_f32(tmp_path, rows, narrow):
    """rounding them takes longer than the product gains"""
    shapes = {"q": f"<8 x {rows} x 64 x f32>", "k": "<8 x 1023 x 64 x f32>", "n": "<8 x 1 x 64 x f32>"}
    (tmp_path / "m.dnn").write_text(
        'dnn 1\nmodule "m"\nfunc @main(' + ", ".join(f'%{n} "{n}": {t}' for n, t in shapes.items()) + ') -> ("y") {\n'
        "  %0 = concat(%k, %n) axis=1 : <8 x 1024 x 64 x f32>\n"
        f"  %1 = dot(%q, %0) batch_a=[0] batch_b=[0] contract_a=[2] contract_b=[2] : <8 x {rows} x 1024 x f32>\n  yield(%1)\n}}\n")
    assert ("bf16" in ir(tmp_path / "m.dnn", tmp_path / "r.dnn").split("func", 1)[1]) == narrow


def test_sums_beside_norms(tmp_path):
    """a norm's result goes to the product rounded, and to the sum as it is; what a product makes goes rounded to both"""
    m = Model()
    a = m.add("Relu", m.add("MatMul", "x", m.weight(256, 256)))
    a = m.add("Add", m.add("MatMul", a, m.weight(256, 256)), a)
    n = m.add("LayerNormalization", a, m.weight(256))
    m.save(tmp_path / "m.onnx", m.add("Add", m.add("MatMul", n, m.weight(256, 256)), n), 1, 64, 256)
    text = ir(tmp_path / "m.onnx", tmp_path / "m.dnn")
    assert text.count("to=bf16") == 3 and len(re.findall(r"cast\(%\d+\) : .* f32>", text)) == 1, text


@pytest.mark.parametrize("target,element", [("x86-64-v4", "bf16"), ("x86-64-v3", "bf16"), ("x86-64-v3", "f16")])
@pytest.mark.sample(4)
def test_narrow_weights(target, element, tmp_path):
    """without tiles: many weights and few rows, weights alone are rounded, in half the memory; else nothing changes"""
    processor.require(target)
    m = Model()
    a = m.add("Relu", m.add("MatMul", "x", m.weight(600, 1003)))
    m.save(tmp_path / "m.onnx", m.add("MatMul", a, m.weight(1003, 300)), 2, 600)
    x = np.random.default_rng(2).standard_normal((2, 600)).astype(np.float32)
    wide, narrow = (numpy_helper.to_array(w) for w in m.weights)
    assert wide.nbytes > 2 << 20 and narrow.nbytes > 1 << 20
    rounded = [((w.view(np.uint32) + (0x7fff + (w.view(np.uint32) >> 16 & 1))) & 0xffff0000).view(np.float32) for w in (wide, narrow)]
    if element == "f16":
        rounded = [w.astype(np.float16).astype(np.float32) for w in (wide, narrow)]
    want = np.maximum(x @ rounded[0], 0) @ rounded[1]
    options, before = [f"--target={target}", f"--precision={element}"], None
    for cc in COMPILERS:
        for threads in (1, 3):
            got, text = run(tmp_path / "m.onnx", tmp_path / f"{cc}{threads}", [*options, f"--threads={threads}"], [x], cc)
            assert np.abs(got - want).max() < 2e-6 * np.abs(want).max()
            assert before is None or np.array_equal(got, before)
            before = got
    first = tmp_path / "n.dnn"
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options, "-o", first, "--emit=ir", "--passes=simplify,precision,dce"])
    assert done.returncode == 0 and len(re.findall(r"cast\(@w\d_\d\)", first.read_text())) == 2, done.stderr
    done = dnncc.run([dnncc.DNNCC, first, options[0], "-o", tmp_path / "n.loops", "--emit=loops", "--check", f"--report={tmp_path}/r.json"])
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["constants"] < 0.55 * (wide.nbytes + narrow.nbytes)
    m.save(tmp_path / "many.onnx", m.nodes[-1].output[0], 200, 600)
    many = dnncc.run([dnncc.DNNCC, tmp_path / "many.onnx", *options, "-o", "-", "--emit=ir", "--passes=simplify,precision,dce"]).stdout
    assert "dot(" in many and "f16>" not in many
