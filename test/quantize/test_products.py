# SPDX-License-Identifier: MIT
"""--quantize-weights and --quantize=dynamic: products whose weights are in few bits, against a statement of their own in numpy; what the
steps search, gptq and awq promise; the models that --emit=onnx writes of them."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import dnncc  # noqa: E402
import roundtrip  # noqa: E402

F32 = np.float32
ROWS, INNER, OUTPUTS = 5, 100, 33       # no block divides INNER; 1100 and more weights are changed
NEAREST = "--quantize-steps=-search"
TYPES = ["s8", "u8", "s4", "u4", "s4:16", "u4:64", "s8:32", "u8:16", "s4:65536"]


# ---- models ----

def product(folder, shape=(ROWS, INNER), w=None, gemm=None, bias=False, name="m"):
    """x by constant weights [inner, outputs], as MatMul or as Gemm with these attributes"""
    r = np.random.default_rng(7)
    w = r.standard_normal((shape[-1], OUTPUTS)).astype(F32) if w is None else w.astype(F32)
    constants = {"w": w.T if gemm and gemm.get("transB") else w, "b": r.standard_normal(w.shape[1]).astype(F32)}
    if gemm is None:
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
    else:
        nodes = [helper.make_node("Gemm", ["x", "w"] + ["b"] * bias, ["y"], "product", **gemm)]
    given = list(shape[::-1] if gemm and gemm.get("transA") else shape)
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape[:-1], w.shape[1]])],
                              [numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in constants.items() if n != "b" or bias])
    path = pathlib.Path(folder) / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path, w, constants["b"] if bias else F32(0)


def samples(folder, count=12, rows=ROWS, inner=INNER, seed=3):
    """rows that are alike, some inputs much larger than others"""
    r = np.random.default_rng(seed)
    mix = r.standard_normal((inner // 4, inner)) * np.exp(r.standard_normal(inner))
    x = (r.standard_normal((count, rows, inner // 4)) @ mix + .1 * r.standard_normal((count, rows, inner))).astype(F32)
    path = pathlib.Path(folder) / "samples.npz"
    np.savez(path, x=x)
    return path, x.reshape(-1, inner)


def outputs(model, folder, x, *options):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])[0]


# ---- what a written model holds ----

def unpacked(packed, bits, count):
    shifts = np.arange(0, 8, bits)
    return (packed[..., None] >> shifts & (1 << bits) - 1).reshape(*packed.shape[:-1], -1)[..., :count]


class Weights:
    """numbers, scales and zero points, each [outputs, inner], of the one product of a model"""

    def __init__(self, path):
        model = onnx.load(path)
        constant = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
        self.nodes = [n.op_type for n in model.graph.node]
        self.factors = next((constant[n.input[1]] for n in model.graph.node if n.op_type == "Mul" and n.input[1] in constant), None)
        node = next(n for n in model.graph.node if n.op_type in ("MatMulNBits", "DequantizeLinear", "MatMulInteger"))
        if node.op_type == "MatMulNBits":
            a = {a.name: a.i for a in node.attribute}
            numbers, scales = constant[node.input[1]], constant[node.input[2]]
            self.numbers = unpacked(numbers, a["bits"], a["block_size"]).reshape(a["N"], -1)[:, :a["K"]].astype(int)
            zeros = unpacked(constant[node.input[3]], a["bits"], scales.shape[1]) if len(node.input) > 3 else np.full(scales.shape, 1 << a["bits"] - 1)
            self.scales, self.zeros = (np.repeat(v, a["block_size"], 1)[:, :a["K"]] for v in (scales, zeros.astype(int)))
            self.accuracy = a.get("accuracy_level", 0)
        elif node.op_type == "DequantizeLinear":
            q = constant[node.input[0]]
            zero = constant[node.input[2]] if len(node.input) > 2 else np.zeros(q.shape[0], q.dtype)
            self.numbers = q.astype(int)
            self.scales, self.zeros = (np.repeat(np.broadcast_to(v, q.shape[:1])[:, None], q.shape[1], 1) for v in (constant[node.input[1]], zero.astype(int)))

    def decoded(self):
        return (self.numbers - self.zeros).astype(F32) * self.scales


def emit(model, folder, *options, name="written"):
    return Weights(roundtrip.emit(model, folder / f"{name}.onnx", *options))


# ---- the same once more ----

def type_of(text, inner):
    kind, _, block = text.partition(":")
    bits, zeros = int(kind[1]), kind[0] == "u"
    block = int(block) if block else inner if bits == 8 else 32
    return bits, zeros, min(block, inner if bits == 8 else max(16, 1 << (inner - 1).bit_length()))


def nearest(w, text):
    """(numbers from 0 on, scales, zero points) of w [outputs, inner], each [outputs, inner]"""
    bits, zeros, block = type_of(text, w.shape[1])
    levels, middle = (1 << bits) - 1, 1 << bits - 1
    numbers, scales, points = np.zeros(w.shape, int), np.zeros(w.shape, F32), np.zeros(w.shape, int)
    for at in range(0, w.shape[1], block):
        part = w[:, at:at + block].astype(float)
        low, high = np.minimum(part.min(1), 0), np.maximum(part.max(1), 0)
        if zeros:
            scale = (high - low) / levels
        elif bits == 8:
            scale = np.maximum(-low, high) / 127
        else:
            scale = np.where(high > -low, high, low) / -middle
        scale = np.where(scale == 0, 1, scale).astype(F32)
        zero = np.clip(np.rint(-low / scale), 0, levels) if zeros else np.full(len(w), middle)
        q = np.rint((part.astype(F32) * (1 / scale)[:, None]).astype(F32)) + zero[:, None]
        numbers[:, at:at + block] = np.clip(q, 1 if bits == 8 and not zeros else 0, levels)
        scales[:, at:at + block], points[:, at:at + block] = scale[:, None], zero[:, None]
    return numbers, scales, points


def rounded_rows(x, block):
    """x as --quantize=dynamic multiplies it: whole numbers, and the step of each"""
    numbers, steps = np.zeros(x.shape), np.zeros(x.shape, F32)
    for at in range(0, x.shape[1], block):
        part = x[:, at:at + block].copy()
        step = np.abs(part).max(1, keepdims=True) / F32(127)
        numbers[:, at:at + block], steps[:, at:at + block] = np.nan_to_num(np.rint(part * (1 / step))), step
    return numbers, steps


def error(w, found):
    return np.square(w.astype(float) - found.decoded())


# ---- numbers ----

@pytest.mark.parametrize("text", TYPES)
def test_nearest(text, tmp_path):
    path, w, _ = product(tmp_path)
    found = emit(path, tmp_path, f"--quantize-weights={text}", NEAREST)
    numbers, scales, zeros = nearest(w.T, text)
    signed = 128 if text == "s8" else 0         # as DequantizeLinear has them
    assert np.array_equal(found.scales, scales)
    assert np.array_equal(found.numbers + signed, numbers) and np.array_equal(found.zeros + signed, zeros)
    assert (np.abs(w.T - found.decoded()) <= np.abs(scales) * (1 if ":" not in text and text[0] == "s" and text != "s8" or text.startswith("s4") else .501)).all()


@pytest.mark.parametrize("text", TYPES)
def test_search_is_never_worse(text, tmp_path):
    path, w, _ = product(tmp_path)
    best, plain = (emit(path, tmp_path, f"--quantize-weights={text}", *more, name=f"n{len(more)}") for more in ([], [NEAREST]))
    block = type_of(text, INNER)[2]
    for at in range(0, INNER, block):
        one, other = (error(w.T, f)[:, at:at + block].sum(1) for f in (best, plain))
        assert (one <= other * (1 + 1e-9)).all()
    assert "8" in text[:2] or error(w.T, best).sum() < .97 * error(w.T, plain).sum()


@pytest.mark.parametrize("w", [np.zeros((INNER, OUTPUTS)), np.full((INNER, OUTPUTS), 3.), np.full((INNER, OUTPUTS), 1e-42),
                               np.linspace(-3e38, 3e38, INNER * OUTPUTS).reshape(INNER, OUTPUTS)], ids=["zeros", "one", "tiny", "huge"])
@pytest.mark.parametrize("text", ["s8", "u8", "s4", "u4"])
@pytest.mark.sample(4)
def test_odd_weights(text, w, tmp_path):
    w = w.copy()
    w[0, 0] = 2                         # of one number alone they stay as they are
    path, w, _ = product(tmp_path, w=w)
    found = emit(path, tmp_path, f"--quantize-weights={text}")
    w, found.numbers, found.zeros, found.scales = w[:, 1:], found.numbers[1:], found.zeros[1:], found.scales[1:]
    assert np.isfinite(found.decoded()).all()
    largest = np.abs(w).max()
    assert (np.abs(w.T.astype(float) - found.decoded()) <= largest * (.51 if largest > 1e-37 else 1)).all()


# ---- by samples ----

def change(w, found, moments):
    """d^T H d of each output; H with a hundredth of its mean on the diagonal"""
    d = w.astype(float) - found.decoded() / (1 if found.factors is None else found.factors)
    h = moments + np.eye(len(moments)) * .01 * np.trace(moments) / len(moments)
    return np.einsum("oi,ij,oj->o", d, h, d)


@pytest.mark.parametrize("text", ["s4", "u4", "s4:16", "s8"])
def test_columns_are_never_worse(text, tmp_path):
    path, w, _ = product(tmp_path)
    file, x = samples(tmp_path)
    moments = x.T.astype(float) @ x / len(x)
    plain = emit(path, tmp_path, f"--quantize-weights={text}")
    columns = emit(path, tmp_path, f"--quantize-weights={text}", f"--calibrate={file}", name="columns")
    left = emit(path, tmp_path, f"--quantize-weights={text}", f"--calibrate={file}", "--quantize-steps=-gptq", name="left")
    assert np.array_equal(left.decoded(), plain.decoded())
    one, other = change(w.T, columns, moments), change(w.T, plain, moments)
    assert (one <= other * 1.0001).all() and one.sum() < .3 * other.sum()


def test_scaled_inputs(tmp_path):
    path, w, _ = product(tmp_path)
    file, x = samples(tmp_path)
    sizes = np.mean(np.square(x.astype(float)), 0)
    options = ["--quantize-weights=s4", f"--calibrate={file}"]
    plain = emit(path, tmp_path, *options, "--quantize-steps=-gptq,-search")
    scaled = emit(path, tmp_path, *options, "--quantize-steps=-gptq,-search,+awq", name="scaled")
    assert scaled.factors is not None and plain.factors is None
    one, other = (np.sum(sizes * np.square(w.T - f.decoded() * (1 if f.factors is None else f.factors))) for f in (scaled, plain))
    assert one < .8 * other
    want = x[:ROWS] @ w
    both = outputs(path, tmp_path / "both", x[:ROWS], *options, "--quantize-steps=+awq")
    alone = outputs(path, tmp_path / "alone", x[:ROWS], "--quantize-weights=s4")
    assert np.square(both - want).sum() < .3 * np.square(alone - want).sum()


# ---- programs ----

@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "native"])
@pytest.mark.parametrize("text", TYPES)
@pytest.mark.sample(4)
def test_product(text, target, tmp_path):
    """the code multiplies what the model holds"""
    path, w, _ = product(tmp_path)
    x = np.random.default_rng(1).standard_normal((ROWS, INNER)).astype(F32)
    y = outputs(path, tmp_path / "c", x, f"--quantize-weights={text}", f"--target={target}")
    want = x.astype(float) @ emit(path, tmp_path, f"--quantize-weights={text}").decoded().T
    assert np.abs(y - want).max() < 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "native"])
@pytest.mark.parametrize("text", ["", *TYPES])
@pytest.mark.sample(12)
def test_dynamic(text, target, tmp_path):
    path, w, _ = product(tmp_path)
    x = (np.random.default_rng(1).standard_normal((ROWS, INNER)) * np.array([[1], [100], [1e-3], [7], [0]])).astype(F32)
    x[:, 0] += 1e-6                     # a row of zeros has no step
    weights = [f"--quantize-weights={text}"] if text else []
    y = outputs(path, tmp_path / "c", x, "--quantize=dynamic", *weights, f"--target={target}")
    numbers, steps = rounded_rows(x, type_of(text or "s8", INNER)[2])
    want = (numbers * steps) @ emit(path, tmp_path, *weights or ["--quantize-weights=s8"]).decoded().T
    scale = np.abs(want).max(1, keepdims=True)
    assert (np.abs(y - want) < 1e-4 * scale).all()
    assert (np.abs(y - x @ w) < (.25 if "4" in text else .03) * np.abs(x @ w).max(1, keepdims=True)).all()


def test_steps_are_no_matrix(tmp_path):
    """steps of rows times scales of outputs are made where the product's sums are, not stored"""
    path, *_ = product(tmp_path)
    done = dnncc.run([dnncc.DNNCC, path, "--quantize=dynamic", "--target=x86-64-v3", "--emit=ir", "-o", "-"])
    kernels = re.findall(r"^  %.* = fusion\((.*?)\)", done.stdout, re.M)
    assert done.returncode == 0 and sum("@scales" in k for k in kernels) == 1, done.stderr
    assert any("@scales" in k and "@w" in k for k in kernels), kernels


@pytest.mark.parametrize("rows", [1, 64, "N"])
def test_bytes_stay_bytes(rows, tmp_path):
    """in packed kernels, too, weights in s8 are a quarter of those in floats, however many rows there are"""
    path, w, _ = product(tmp_path, (rows, 512), np.random.default_rng(1).standard_normal((512, 256)))
    sizes = []
    for options in [], ["--quantize-weights=s8"]:
        dim = ["--dim=N=1..512"] * (rows == "N")
        done = dnncc.run([dnncc.DNNCC, path, *dim, *options, "--target=x86-64-v3", "--weights=file", "-o", tmp_path / "m.c"])
        assert done.returncode == 0, done.stderr
        sizes.append((tmp_path / "m.weights").stat().st_size)
    assert sizes[0] >= w.nbytes and sizes[1] < sizes[0] / 3.9


def test_row_of_zeros(tmp_path):
    path, *_ = product(tmp_path)
    for text in "s8", "s4", "u8":
        y = outputs(path, tmp_path / text, np.zeros((ROWS, INNER), F32), "--quantize=dynamic", f"--quantize-weights={text}")
        assert np.array_equal(y, np.zeros((ROWS, OUTPUTS)))


@pytest.mark.parametrize("shape, gemm", [((2, 3, INNER), None), ((2, 1, 4, INNER), None), ((ROWS, INNER), {"transB": 1, "alpha": .5}),
                                         ((ROWS, INNER), {"transA": 1}), ((ROWS, 13), None)])
@pytest.mark.parametrize("options", [["--quantize-weights=u4"], ["--quantize-weights=s8"], ["--quantize=dynamic", "--quantize-weights=s4:16"],
                                     ["--quantize=dynamic"]])
@pytest.mark.sample(4)
def test_shapes(shape, gemm, options, tmp_path):
    r = np.random.default_rng(5)
    path, w, bias = product(tmp_path, shape, r.standard_normal((shape[-1], 96)), gemm, bias=bool(gemm))
    x = r.standard_normal(shape[::-1] if gemm and "transA" in gemm else shape).astype(F32)
    want = (x.T if gemm and "transA" in gemm else x) @ w * (gemm or {}).get("alpha", 1) + bias
    y = outputs(path, tmp_path / "c", x, *options)
    limit = .35 if "4" in "".join(options) else .05
    assert y.shape == want.shape and np.abs(y - want).max() < limit * np.abs(want).max() and not np.array_equal(y, want.astype(F32))


# ---- models ----

@pytest.mark.parametrize("dynamic", [[], ["--quantize=dynamic"]], ids=["floats", "dynamic"])
@pytest.mark.parametrize("text", TYPES)
@pytest.mark.sample(4)
def test_written_model(text, dynamic, tmp_path):
    """onnxruntime runs it, and read back it is the same program"""
    path, w, _ = product(tmp_path, (2, 3, INNER))
    options = [f"--quantize-weights={text}", *dynamic]
    written = roundtrip.emit(path, tmp_path / "written.onnx", *options)
    onnx.checker.check_model(onnx.load(written), full_check=True)
    x = np.random.default_rng(1).standard_normal((2, 3, INNER)).astype(F32)
    y = outputs(path, tmp_path / "first", x, *options)
    assert np.array_equal(y, outputs(written, tmp_path / "second", x))
    theirs = roundtrip.run_session(written, [x])[0]
    assert np.abs(theirs - y).max() < (2e-2 if dynamic else 1e-4) * np.abs(y).max()
    if text not in ("s8", "u8"):
        found = Weights(written)
        assert found.nodes == ["MatMulNBits"] and found.accuracy == (4 if dynamic else 0)


@pytest.mark.parametrize("options", [["--quantize-weights=s4"], ["--quantize-weights=u8"], ["--quantize=dynamic"], ["--quantize=dynamic", "--quantize-weights=u4"]])
def test_twice_is_once(options, tmp_path):
    path, *_ = product(tmp_path)
    once = roundtrip.emit(path, tmp_path / "once.onnx", *options)
    twice = roundtrip.emit(once, tmp_path / "twice.onnx", *options)
    x = np.random.default_rng(1).standard_normal((ROWS, INNER)).astype(F32)
    assert np.array_equal(outputs(once, tmp_path / "a", x), outputs(twice, tmp_path / "b", x))
    assert stats(once, *options)[0] == "0 of 0"
    again = roundtrip.emit(path, tmp_path / "again.onnx", *options)
    assert once.read_bytes() == again.read_bytes()


def stats(path, *options):
    done = dnncc.run([dnncc.DNNCC, path, "-o", path.with_suffix(".c"), "--stats", "-v", *options])
    assert done.returncode == dnncc.OK, done.stderr
    return re.search(r"(\d+ of \d+) products", done.stderr)[1], done.stderr


def test_what_stays_in_floats(tmp_path):
    path, w, _ = product(tmp_path)
    assert stats(path, "--quantize-weights=s4")[0] == "1 of 1"
    for more, why in (["--keep-float=product"], "--keep-float says so"), (["--keep-float=x"], "--keep-float says so"), \
            (["--keep-float=first"], "the first one"), (["--keep-float=last"], "the last one"), (["--limit", "weight_elements=4000"], "few weights"):
        count, text = stats(path, "--quantize-weights=s4", *more)
        assert count == "0 of 1" and why in text
    long, *_ = product(tmp_path, (1, 70000), np.random.default_rng(1).standard_normal((70000, 1)), name="long")
    assert stats(long, "--quantize-weights=s8")[0] == "1 of 1"
    assert "may not fit into i32" in stats(long, "--quantize=dynamic")[1]
    w[3, 5] = np.inf
    path, *_ = product(tmp_path, w=w, name="infinite")
    count, text = stats(path, "--quantize=dynamic")
    assert count == "0 of 1" and "not all finite" in text


@pytest.mark.parametrize("options, text", [
    (["--quantize-weights=s4", "--passes=simplify,plan"], "wants the pass quantize_products"),
    (["--quantize-weights=s4", "--passes=+quantize_products"], "leave it out of --passes"),
    (["--passes=+quantize_products"], "--quantize-weights=TYPE of integers, or --quantize=dynamic"),
    (["--quantize-weights=f16", "--passes=simplify,quantize_products,store_weights"], "--quantize-weights=TYPE of integers"),
    (["--quantize=dynamic", "--exact"], "--quantize approximates: not with --exact"),
])
def test_errors(options, text, tmp_path):
    path, *_ = product(tmp_path)
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.c", *options])
    assert done.returncode == dnncc.USAGE and text in done.stderr and not (tmp_path / "m.c").exists()


def test_help(tmp_path):
    done = dnncc.run([dnncc.DNNCC, "--quantize-weights=help"])
    assert done.returncode == dnncc.OK and [line.split()[0] for line in done.stdout.splitlines()][:4] == ["s8", "u8", "s4", "u4"]
