# SPDX-License-Identifier: MIT
"""Cast between texts and numbers, against onnxruntime: what it reads, what it refuses, and digits."""
import pathlib
import random
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

HOW = ["generic", "x86-64-v3", "interpreted"]
INTEGERS = ["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"]
FLOATS = ["FLOAT", "DOUBLE", "FLOAT16"]
BYTES = 40


def model(kind, to, shape, like=False):
    nodes = [helper.make_node("CastLike", ["x", "k"], ["y"], "node")] if like else [helper.make_node("Cast", ["x"], ["y"], "node", to=getattr(TensorProto, to))]
    more = [helper.make_tensor("k", getattr(TensorProto, to), [1], [b"" if to == "STRING" else 0])] if like else []
    g = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", getattr(TensorProto, kind), shape)], [helper.make_tensor_value_info("y", getattr(TensorProto, to), shape)], more)
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def by_onnxruntime(m, x):
    """None: it refuses"""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    except onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException:
        return None


def options_of(m):
    return [f"--text-bytes={BYTES}"] if m.graph.input[0].type.tensor_type.elem_type == TensorProto.STRING else []


def program_of(m, folder, target):
    onnx.save(m, str(folder / "model.onnx"))
    processor.require(target)
    dnncc.compile_model(folder / "model.onnx", folder, [f"--target={target}", *options_of(m)])
    return dnncc.build_host(folder, dnncc.SANITIZE)


def ran(m, folder, x, how):
    if how != "interpreted":
        return dnncc.run_host(program_of(m, folder, how), [x])[0]
    onnx.save(m, str(folder / "model.onnx"))
    np.save(folder / "input_0.npy", np.char.encode(x.astype(str)) if x.dtype == object else x)
    done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", f"--run={folder}", "-q", *options_of(m)])
    assert done.returncode == 0, done.stderr
    y = np.load(folder / "output_0.npy")
    return np.char.decode(y).astype(object) if y.dtype.kind == "S" else y


def numbers(kind, r):
    """texts that C reads as numbers of this kind"""
    unsigned, bits = kind.startswith("U") or kind == "BOOL", 64
    yield from ("0", "-0", "+7", " 12", "\t\n 9", "12abc", "5.9", "1e3", "007", "3-4", "8 9")
    if kind in FLOATS:
        yield from ("1.5", ".5", "5.", "-2.25e2", "1e-3x", "1E+2", "nan", "-NaN", "inf", "-INF", "+Infinity", "1e", "1e+", "2.5.5", "0.1", "0.000123", "100000000000000000000000", "-.0",
                    "3.14159265358979323846264338327950", "1e22", "123456789012345678e3", "0e999")
        for _ in range(40):
            yield f"{r.uniform(-1, 1) * 10 ** r.randint(-4, 4):.{r.randint(0, 12)}{r.choice('efg')}}"
        return
    yield from (str(2 ** 63 - 1), "00000000000000000000000000000000000012", str(10 ** 18))
    yield from (str(2 ** 64 - 1), str(2 ** 63), "-1", "-" + str(2 ** 64 - 1)) if unsigned else (str(-2 ** 63), "-12", "-9223372036854775807")
    for _ in range(30):
        yield str(r.randrange(2 ** r.randint(1, bits - 1)) * (1 if unsigned else r.choice([1, -1])))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", INTEGERS + FLOATS)
@pytest.mark.slow
@pytest.mark.sample(3)
def test_read(kind, how, tmp_path):
    texts = list(numbers(kind, random.Random(kind)))
    x = np.array(texts, object)
    m = model("STRING", kind, [len(texts)])
    want = by_onnxruntime(m, x)
    got = ran(m, tmp_path, x, how)
    assert want is not None and got.dtype == want.dtype
    if kind in FLOATS:
        assert np.allclose(got, want, rtol={"FLOAT16": 1e-3, "FLOAT": 1e-7, "DOUBLE": 3e-16}[kind], atol=0, equal_nan=True)
        assert (np.signbit(got) == np.signbit(want))[~np.isnan(want)].all()
    else:
        wrong = [(t, a, b) for t, a, b in zip(texts, got.tolist(), want.tolist()) if a != b]
        assert not wrong, wrong


@pytest.mark.parametrize("kind", ["INT32", "UINT64", "FLOAT"])
@pytest.mark.slow
def test_refused_texts(kind, tmp_path):
    """what is no number, or one that is too large, ends a run as onnxruntime does"""
    m = model("STRING", kind, [2])
    program = program_of(m, tmp_path, "generic")
    texts = ["", " ", "abc", "-", "+-5", "e5", "--1", "x1", "1" * 30, "-" + "9" * 25] if kind != "FLOAT" else ["", ".", "-", "abc", "+", "e5", "1e400", "-1e999", "-.e1"]
    for text in [*texts, *(() if kind == "FLOAT" else (".5", str(2 ** 64), str(2 ** 64 + 5), str(10 ** 20)))]:
        assert by_onnxruntime(m, np.array(["1", text], object)) is None, text
        with pytest.raises(AssertionError, match="-3"):
            dnncc.run_host(program, [np.array(["1", text], object)])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.slow
@pytest.mark.sample(3)
def test_written(kind, how, tmp_path):
    r, dtype = random.Random(kind), helper.tensor_dtype_to_np_dtype(getattr(TensorProto, kind))
    if kind == "BOOL":
        values = [False, True, True, False]
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        values = [0, 1, 9, 10, 99, 100, least, most, least + 1] + [r.randint(least, most) // 10 ** r.randint(0, 18) for _ in range(31)]
    x = np.array(values, dtype).reshape(2, -1)
    m = model(kind, "STRING", list(x.shape))
    got = ran(m, tmp_path, x, how)
    assert got.shape == x.shape and [str(k) for k in got.ravel()] == [str(k) for k in by_onnxruntime(m, x).ravel()]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["FLOAT", "FLOAT16"])
@pytest.mark.slow
@pytest.mark.sample(3)
def test_floats(kind, how, tmp_path):
    """numbers of each size, whole ones, ties and those that round up to a digit more"""
    n, dtype = np.random.default_rng(1), helper.tensor_dtype_to_np_dtype(getattr(TensorProto, kind))
    values = [0, -0.0, 1, -1.5, 0.1, 123456.789, 1e8, 12345678, 99999999, 0.99999999, 1e-4, 9.9999997e-5, 1.234e-5, 1e-45, 3.4e38, np.nan, np.inf, -np.inf, 2097152.25, 2097152.75, 16777217,
              100, 1e7, -1e7, 0.5, 65504, 6e-8, -123456.5, 1e-5, 999999.96, 0.001, 1e10, 1.17549435e-38]
    with np.errstate(over="ignore"):
        x = np.concatenate([np.array(values, np.float64), n.normal(size=300) * 10.0 ** n.integers(-40, 38, 300), n.normal(size=100) * 10.0 ** n.integers(-5, 9, 100),
                            n.integers(-999, 999, 40), n.integers(-9999, 9999, 40) / 8]).astype(np.float32).astype(dtype)
    m = model(kind, "STRING", [len(x)])
    got, want = ran(m, tmp_path, x, how).tolist(), by_onnxruntime(m, x).tolist()
    assert not [(v, a, b) for v, a, b in zip(x.tolist(), got, want) if a != b]


def test_shapes(tmp_path):
    """texts of several dimensions, of none, and none at all; the same text again; CastLike"""
    for shape in ([], [2, 1, 3], [0, 2]):
        x = np.full(shape, "-17", object)
        for like in (False, True):
            y = ran(model("STRING", "INT64", shape, like), tmp_path, x, "generic")
            assert y.shape == tuple(shape) and (y == -17).all()
    assert ran(model("STRING", "STRING", [2]), tmp_path, np.array(["a", "12"], object), "generic").tolist() == ["a", "12"]
    assert ran(model("INT32", "STRING", [2], True), tmp_path, np.array([5, -6], np.int32), "generic").tolist() == ["5", "-6"]


@pytest.mark.parametrize("kind, to, text", [("FLOAT8E5M2", "STRING", "f8e5m2 as texts"), ("DOUBLE", "STRING", "f64 as texts"), ("STRING", "INT4", "texts as i4"), ("STRING", "FLOAT8E4M3FN", "texts as f8")])
def test_refused(kind, to, text, tmp_path):
    onnx.save(model(kind, to, [2]), str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert error.value.code == 4 and text in str(error.value), error.value


# ---- branches ----

def choice(shapes=((2,), (2,)), kinds=("STRING", "STRING")):
    """an If that a run decides: texts with some behind them, or shorter ones that are constants; and a number beside them"""
    def branch(name, nodes, constants, shape, kind):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", getattr(TensorProto, kind), shape), helper.make_tensor_value_info(f"{name}_n", TensorProto.INT64, [])],
                                 constants)
    long = branch("long", [helper.make_node("StringConcat", ["x", "x"], ["long_y"]), helper.make_node("Identity", ["one"], ["long_n"])],
                  [helper.make_tensor("one", TensorProto.INT64, [], [1])], shapes[0], kinds[0])
    values = [b"a", "é".encode(), b""][:int(np.prod(shapes[1]))] if kinds[1] == "STRING" else [1, 2, 3][:int(np.prod(shapes[1]))]
    short = branch("short", [helper.make_node("Identity", ["two"], ["short_n"])],
                   [helper.make_tensor("short_y", getattr(TensorProto, kinds[1]), shapes[1], values), helper.make_tensor("two", TensorProto.INT64, [], [2])], shapes[1], kinds[1])
    g = helper.make_graph([helper.make_node("If", ["c"], ["y", "n"], "choice", then_branch=long, else_branch=short), helper.make_node("StringConcat", ["y", "end"], ["z"])], "g",
                          [helper.make_tensor_value_info("x", TensorProto.STRING, [2]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                          [helper.make_tensor_value_info("z", TensorProto.STRING, None), helper.make_tensor_value_info("n", TensorProto.INT64, [])],
                          [helper.make_tensor("end", TensorProto.STRING, [1], [b"."])])
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_branch(target, tmp_path):
    program = program_of(choice(), tmp_path, target)
    x = np.array(["ab", "cdé"], object)
    for chosen, want in ((True, ["abab.", "cdécdé."]), (False, ["a.", "é."])):
        z, n = dnncc.run_host(program, [x, np.array(chosen)])
        assert z.tolist() == want and n == 2 - chosen


@pytest.mark.parametrize("shapes, kinds, code, text", [(((2,), (3,)), ("STRING", "STRING"), 4, "more texts in one branch"), (((2,), (2,)), ("STRING", "INT64"), 3, "texts in one branch alone")])
def test_branches_that_differ(shapes, kinds, code, text, tmp_path):
    onnx.save(choice(shapes, kinds), str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert error.value.code == code and text in str(error.value), error.value
