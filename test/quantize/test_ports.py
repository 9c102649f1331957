# SPDX-License-Identifier: MIT
"""--quantize-port: inputs and outputs of whole numbers. Caches of keys and values with a scale for each row, which a decoder's step hands on
as they came; bytes in constant steps, given or by ranges. Against a statement of their own in numpy."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

F32 = np.float32
HEADS, PAST, WIDTH = 3, 21, 40
CACHES = ["--quantize-port", "*past*=rows", "--quantize-port", "*present*=rows"]


# ---- models ----

def save(folder, nodes, inputs, outputs, weights=(), kind=TensorProto.FLOAT):
    ports = [[helper.make_tensor_value_info(n, kind, s) for n, s in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *ports, [numpy_helper.from_array(w, n) for n, w in dict(weights).items()])
    path = pathlib.Path(folder) / "given.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def decoder(folder):
    """attention of one token to those before and itself, as a step of a language model has it"""
    nodes = [helper.make_node("Concat", ["key.past", "k"], ["key.present"], axis=2),
             helper.make_node("Transpose", ["key.present"], ["turned"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "turned"], ["scores"]),
             helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
             helper.make_node("Concat", ["value.past", "v"], ["value.present"], axis=2),
             helper.make_node("MatMul", ["p", "value.present"], ["y"])]
    one, past, present = ([1, HEADS, n, WIDTH] for n in (1, PAST, PAST + 1))
    return save(folder, nodes, [("q", one), ("k", one), ("v", one), ("key.past", past), ("value.past", past)],
                [("y", one), ("key.present", present), ("value.present", present)])


def program(model, folder, target, *options):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.build_host(folder, ["-O1"], emulator=processor.emulator(target))


# ---- rows ----

def rounded(x):
    scale = (np.abs(x).max(axis=-1) * F32(1 / 127)).astype(F32)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(np.rint(x / scale[..., None])).clip(-128, 127).astype(np.int8), scale


def decoded(numbers, scale):
    with np.errstate(invalid="ignore"):
        return numbers.astype(F32) * scale[..., None]


def attention(q, k, v):
    s = q.astype(np.float64) @ np.swapaxes(k, -1, -2)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def tokens(r, count):
    return r.standard_normal((1, HEADS, count, WIDTH)).astype(F32) * np.exp(r.standard_normal((1, HEADS, count, 1))).astype(F32)


@pytest.mark.parametrize("target, level", [("generic", "-O0"), ("generic", "-O2"), ("x86-64-v3", "-O2"), ("aarch64", "-O2")])
def test_caches(target, level, tmp_path):
    processor.require(target)
    r = np.random.default_rng(5)
    model = decoder(tmp_path)
    step = program(model, tmp_path / "rows", target, level, *CACHES)
    types = [(n, t, s) for _, n, t, s in dnncc.describe(step)]
    assert types[3] == ("key.past", TensorProto.INT8, (1, HEADS, PAST, WIDTH))
    assert types[5:7] == [("key.past_scale", TensorProto.FLOAT, (1, HEADS, PAST)), ("value.past_scale", TensorProto.FLOAT, (1, HEADS, PAST))]
    keys, values = (rounded(tokens(r, PAST)) for _ in range(2))
    for _ in range(3):
        q, k, v = (tokens(r, 1) for _ in range(3))
        y, key, value, key_scale, value_scale = dnncc.run_host(step, [q, k, v, keys[0], values[0], keys[1], values[1]])
        for new, old, scale, old_scale, x in ((key, keys[0], key_scale, keys[1], k), (value, values[0], value_scale, values[1], v)):
            np.testing.assert_array_equal(new[:, :, :-1], old)          # as they came, to the bit
            np.testing.assert_array_equal(scale[:, :, :-1], old_scale)
            want, want_scale = rounded(x)
            assert np.abs(new[:, :, -1:].astype(int) - want).max() <= 1
            np.testing.assert_allclose(scale[:, :, -1:], want_scale, rtol=1e-6)
        np.testing.assert_allclose(y, attention(q, decoded(key, key_scale), decoded(value, value_scale)), rtol=1e-4, atol=1e-5)
        keys, values = (key[:, :, 1:], key_scale[:, :, 1:]), (value[:, :, 1:], value_scale[:, :, 1:])


def test_noise(tmp_path):
    """what a cache of bytes costs, against f32: 7 bits of each row"""
    r = np.random.default_rng(6)
    given = [tokens(r, n) for n in (1, 1, 1, PAST, PAST)]
    model = decoder(tmp_path)
    (want, *_) = dnncc.run_host(program(model, tmp_path / "floats", "generic"), given)
    pasts = [rounded(x) for x in given[3:]]
    (got, *_) = dnncc.run_host(program(model, tmp_path / "rows", "generic", *CACHES),
                               [*given[:3], *(n for n, _ in pasts), *(s for _, s in pasts)])
    assert 10 * np.log10(np.square(want).sum() / np.square(got - want).sum()) > 35


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_rows_of_all_kinds(target, tmp_path):
    """zeros have scale 0; what is not finite is NaN when it is decoded; the smallest numbers decode to no more than they are"""
    processor.require(target)
    x = np.random.default_rng(2).standard_normal((6, 17)).astype(F32)
    x[1], x[2, 3], x[3, 4], x[4], x[5] = 0, np.nan, np.inf, -1e30 * np.abs(x[4]), 0
    x[5, 2] = 1e-44
    model = save(tmp_path, [helper.make_node("Neg", ["x"], ["y"])], [("x", [6, 17])], [("y", [6, 17])])
    numbers, scale = dnncc.run_host(program(model, tmp_path / "out", target, "--quantize-port", "y=rows"), [x])
    got = decoded(numbers, scale)
    for row in (0, 4):
        np.testing.assert_allclose(got[row], -x[row], atol=np.abs(x[row]).max() / 250)
    assert not got[1].any() and scale[1] == 0
    assert not np.isfinite(got[2, 3]) and not np.isfinite(got[3, 4])
    assert np.abs(got[5]).max() <= 1e-43
    assert np.isnan(scale[2]) and np.isinf(scale[3])


def test_handed_through(tmp_path):
    """an input that is an output; one value as rows and in floats; rows that a transpose and a reshape move"""
    nodes = [helper.make_node("Identity", ["x"], ["same"]), helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0, 2]),
             helper.make_node("Reshape", ["turned", "flat"], ["moved"]), helper.make_node("Identity", ["x"], ["floats"])]
    shapes = [("same", [2, 3, 5]), ("moved", [6, 5]), ("floats", [2, 3, 5])]
    model = save(tmp_path, nodes, [("x", [2, 3, 5])], shapes, {"flat": np.array([6, 5])})
    numbers, scale = rounded(np.random.default_rng(1).standard_normal((2, 3, 5)).astype(F32))
    options = [o for n in ("x", "same", "moved") for o in ("--quantize-port", f"{n}=rows")]
    same, moved, floats, same_scale, moved_scale = dnncc.run_host(program(model, tmp_path / "out", "generic", *options), [numbers, scale])
    np.testing.assert_array_equal(same, numbers)
    np.testing.assert_array_equal(same_scale, scale)
    np.testing.assert_array_equal(moved, numbers.transpose(1, 0, 2).reshape(6, 5))
    np.testing.assert_array_equal(moved_scale, scale.T.reshape(6))
    np.testing.assert_array_equal(floats, decoded(numbers, scale))


def test_onnx(tmp_path):
    """the model that is written takes and gives the same"""
    model, written = decoder(tmp_path), tmp_path / "written.onnx"
    done = dnncc.run([dnncc.DNNCC, model, *CACHES, "--emit=onnx", "-o", written])
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(written, full_check=True)
    r = np.random.default_rng(3)
    given = [tokens(r, 1) for _ in range(3)]
    pasts = [rounded(tokens(r, PAST)) for _ in range(2)]
    given += [n for n, _ in pasts] + [s for _, s in pasts]
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    theirs = session.run(None, dict(zip((i.name for i in session.get_inputs()), given)))
    ours = dnncc.run_host(program(model, tmp_path / "out", "generic", *CACHES), given)
    for a, b in zip(ours, theirs):
        if a.dtype == np.int8:
            assert np.abs(a.astype(int) - b).max() <= 1
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# ---- constant steps ----

def macros(folder):
    text = (folder / "model.h").read_text()
    return {name: F32(value.rstrip("f")) for name, value in re.findall(r"#define MODEL_(\w+_(?:SCALE|ZERO)) (\S+)", text)}


@pytest.mark.parametrize("kind, dtype, zero, target", [
    ("u8", np.uint8, 117, "generic"), ("s8", np.int8, -3, "generic"), ("u16", np.uint16, 30000, "generic"), ("s16", np.int16, 0, "generic"),
    ("u8", np.uint8, 0, "x86-64-v3"), ("s16", np.int16, 7, "x86-64-v3")])
def test_constant_steps(kind, dtype, zero, target, tmp_path):
    processor.require(target)
    r = np.random.default_rng(4)
    w = r.standard_normal((24, 10)).astype(F32)
    model = save(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", [7, 24])], [("y", [7, 10])], {"w": w})
    lim = np.iinfo(dtype)
    x = r.integers(lim.min, lim.max, (7, 24), dtype, endpoint=True)
    span = 1 / 128 if lim.bits == 8 else 1 / 32768
    options = ["--quantize-port", f"x={kind},{span},{zero}", "--quantize-port", f"y={kind},{4 * span},{zero}"]
    (got,) = dnncc.run_host(program(model, tmp_path / "out", target, *options), [x])
    real = (x.astype(np.float64) - zero) * span @ w
    want = np.clip(np.rint(real / (4 * span)) + zero, lim.min, lim.max)
    assert got.dtype == dtype and np.abs(got - want).max() <= (1 if lim.bits == 8 else 2) and (got == want).mean() > .9
    assert macros(tmp_path / "out") == {"X_SCALE": span, "X_ZERO": zero, "Y_SCALE": 4 * span, "Y_ZERO": zero}


def convolutions(folder):
    r = np.random.default_rng(8)
    weights = {"w1": r.standard_normal((8, 3, 3, 3)).astype(F32), "w2": r.standard_normal((4, 8, 3, 3)).astype(F32)}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1] * 4), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w2"], ["y"], pads=[1] * 4)]
    model = save(folder, nodes, [("x", [1, 3, 9, 9])], [("y", [1, 4, 9, 9])], weights)
    samples = pathlib.Path(folder) / "samples.npz"
    np.savez(samples, x=r.standard_normal((6, 1, 3, 9, 9)).astype(F32))
    return model, ["--quantize", f"--calibrate={samples}"]


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
@pytest.mark.sample(4)
def test_ranges(target, tmp_path):
    """the bytes that the quantized model makes of its input and could make of its output, and no float in the code"""
    processor.require(target)
    model, quantize = convolutions(tmp_path)
    x = np.random.default_rng(9).standard_normal((1, 3, 9, 9)).astype(F32)
    ports = ["--quantize-port", "x=u8", "--quantize-port", "y=s8"]
    (floats,) = dnncc.run_host(program(model, tmp_path / "floats", target, *quantize), [x])
    bytes_ = program(model, tmp_path / "bytes", target, *quantize, *ports)
    m = macros(tmp_path / "bytes")
    given = np.clip(np.rint(x / F32(m["X_SCALE"])) + m["X_ZERO"], 0, 255).astype(np.uint8)
    (got,) = dnncc.run_host(bytes_, [given])
    want = np.clip(np.rint(floats / F32(m["Y_SCALE"])) + m["Y_ZERO"], -128, 127)
    np.testing.assert_array_equal(got, want.astype(np.int8))
    if target == "generic":
        program(model, tmp_path / "integers", target, *quantize, *ports, "--requantize=integer")
        code = re.sub(r"/\*.*?\*/", "", (tmp_path / "integers" / "model.c").read_text(), flags=re.S)
        assert not re.search(r"\b(float|double)\b", code)


def test_scale_is_c(tmp_path):
    """a scale that is a whole number is a constant of C, too"""
    model = save(tmp_path, [helper.make_node("Neg", ["x"], ["y"])], [("x", [4])], [("y", [4])])
    dnncc.compile_model(model, tmp_path, ["--quantize-port", "x=s8,2"])
    check = tmp_path / "check.c"
    check.write_text('#include "model.h"\nint main(void) { float s = MODEL_X_SCALE; return s != 2.0f || MODEL_X_ZERO; }\n')
    assert dnncc.run([dnncc.CC, *dnncc.STRICT, check, "-o", tmp_path / "check"]).returncode == 0
    assert dnncc.run([tmp_path / "check"]).returncode == 0


# ---- what cannot be ----

@pytest.mark.parametrize("options, code, text", [
    (["x=s7"], dnncc.USAGE, "want NAME=rows"), (["=rows"], dnncc.USAGE, "want NAME=rows"), (["x"], dnncc.USAGE, "want NAME=rows"),
    (["x=u8,0"], dnncc.USAGE, "want NAME=rows"), (["x=u8,nan"], dnncc.USAGE, "want NAME=rows"), (["x=u8,1,256"], dnncc.USAGE, "want NAME=rows"),
    (["x=s8,1,2,3"], dnncc.USAGE, "want NAME=rows"), (["x=u8,1e-44"], dnncc.USAGE, "want NAME=rows"), (["x=u8,"], dnncc.USAGE, "want NAME=rows"),
    (["x=u8"], dnncc.USAGE, "wants ranges"), (["z=rows"], dnncc.USAGE, "no input or output is called that"),
    (["i=rows"], dnncc.UNSUPPORTED, "'i' stays as it is: it is not of f32"), (["s=rows"], dnncc.UNSUPPORTED, "'s' stays as it is: it has no rows"),
    (["taken=rows"], dnncc.UNSUPPORTED, "want the name 'taken_scale'"),
])
def test_errors(options, code, text, tmp_path):
    values = [("x", TensorProto.FLOAT, [2, 3]), ("i", TensorProto.INT64, [2, 3]), ("s", TensorProto.FLOAT, []),
              ("taken", TensorProto.FLOAT, [2]), ("taken_scale", TensorProto.FLOAT, [])]
    nodes = [helper.make_node("Neg", [n], [f"{n}_out"]) for n, *_ in values]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*v) for v in values],
                              [helper.make_tensor_value_info(f"{n}_out", t, s) for n, t, s in values])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    with pytest.raises(dnncc.CompileError) as e:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, [o for p in options for o in ("--quantize-port", p)])
    assert e.value.code == code and text in e.value.text


def test_exact_and_passes(tmp_path):
    model = decoder(tmp_path)
    for options, text in ((["--exact"], "--quantize-port approximates: not with --exact"), (["--passes=simplify,lower"], "wants the pass quantize_ports"),
                          (["--passes=+quantize_ports"], "leave it out of --passes")):
        with pytest.raises(dnncc.CompileError, match=re.escape(text)) as e:
            dnncc.compile_model(model, tmp_path, [*CACHES, *options])
        assert e.value.code == dnncc.USAGE


def test_dump(tmp_path):
    """code of the text is the code"""
    model = decoder(tmp_path)
    done = dnncc.run([dnncc.DNNCC, model, *CACHES, "--emit=ir", "--passes=simplify,fold,cse,dce,quantize_ports", "-o", tmp_path / "m.dnn"])
    assert done.returncode == 0, done.stderr
    r = np.random.default_rng(3)
    given = [tokens(r, 1) for _ in range(3)] + [rounded(tokens(r, PAST))[0] for _ in range(2)] + [np.ones((1, HEADS, PAST), F32)] * 2
    a, b = (dnncc.run_host(program(m, tmp_path / n, "generic", *o), given) for m, n, o in ((model, "a", CACHES), (tmp_path / "m.dnn", "b", [])))
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "aarch64", pytest.param("x86-64-v4", marks=pytest.mark.long),
                                    pytest.param("aarch64-sve256", marks=pytest.mark.long), pytest.param("riscv64-v", marks=pytest.mark.long)])
def test_a_step_reads_bytes(target, tmp_path, monkeypatch):
    """neither keys nor values are decoded into the workspace"""
    processor.require(target)
    monkeypatch.setitem(globals(), "PAST", 90)
    monkeypatch.setitem(globals(), "WIDTH", 64)
    r = np.random.default_rng(11)
    model = decoder(tmp_path)
    step = program(model, tmp_path / "rows", target, *CACHES)
    (q, k, v), keys, values = (tokens(r, 1) for _ in range(3)), rounded(tokens(r, PAST)), rounded(tokens(r, PAST))
    y, key, value, key_scale, value_scale = dnncc.run_host(step, [q, k, v, keys[0], values[0], keys[1], values[1]])
    np.testing.assert_allclose(y, attention(q, decoded(key, key_scale), decoded(value, value_scale)), rtol=1e-4, atol=1e-5)
    stats = dnncc.run([dnncc.DNNCC, model, *CACHES, f"--target={target}", "--stats", "-o", tmp_path / "m.c"]).stderr
    assert int(re.search(r"workspace\s+(\d+) bytes", stats)[1]) < HEADS * PAST * WIDTH
