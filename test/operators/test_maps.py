# SPDX-License-Identifier: MIT
"""CastMap and DictVectorizer of ai.onnx.ml: maps as two inputs, keys and values, against onnxruntime, and where it takes no such map, against Python."""
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
TYPES = {"i64": (TensorProto.INT64, np.int64), "f32": (TensorProto.FLOAT, np.float32), "f64": (TensorProto.DOUBLE, np.float64), "text": (TensorProto.STRING, object)}


def model(op, key, value, out, shape, **attributes):
    kind = helper.make_map_type_proto(TYPES[key][0], helper.make_tensor_type_proto(TYPES[value][0], None))
    node = helper.make_node(op, ["x"], ["y"], "node", domain="ai.onnx.ml", **attributes)
    g = helper.make_graph([node], "g", [onnx.ValueInfoProto(name="x", type=kind)], [helper.make_tensor_value_info("y", TYPES[out][0], shape)])
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)


def ran(m, entries, key, value, how):
    """what the model makes of the entries, in this order"""
    arrays = [np.array([e[k].encode() for e in entries], "S") if kind == "text" else np.array([e[k] for e in entries], TYPES[kind][1]) for k, kind in enumerate((key, value))]
    with dnncc.Workspace("maps") as folder:
        onnx.save(m, str(folder / "model.onnx"))
        options = [f"--input=x={len(entries)}"]
        if how == "interpreted":
            for k, array in enumerate(arrays):
                np.save(folder / f"input_{k}.npy", array)
            done = dnncc.run([dnncc.DNNCC, folder / "model.onnx", f"--run={folder}", "-q", *options])
            assert done.returncode == 0, done.stderr
            y = np.load(folder / "output_0.npy")
        else:
            processor.require(how)
            dnncc.compile_model(folder / "model.onnx", folder, [f"--target={how}", *options])
            y, = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), arrays)
    return [k.decode() if isinstance(k, bytes) else k for k in y.ravel().tolist()], y.shape


def by_onnxruntime(m, entries):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    y, = onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": dict(entries)})
    return y.ravel().tolist(), y.shape


def drawn(seed):
    r = random.Random(seed)
    key, value = r.choice(["i64", "text"]), r.choice(["i64", "f32", "f64", "text"])
    if (key, value) == ("text", "text"):
        value = "f32"
    if (key, value) == ("i64", "i64"):
        key = "text"
    words = [f"w{k}" * r.randint(1, 3) for k in range(9)] if key == "text" else [r.randint(-1 << 40, 1 << 40) for _ in range(9)]
    vocabulary = r.sample(words, r.randint(1, 8))
    if r.random() < 0.3:
        vocabulary += r.choices(vocabulary, k=2)
    of = {"i64": lambda: r.randint(-99, 99), "f32": lambda: float(np.float32(r.uniform(-9, 9))), "f64": lambda: r.uniform(-9, 9), "text": lambda: r.choice(["a", "bc", "", "déf"])}
    entries = [(k, of[value]()) for k in r.sample(words, r.randint(1, 9))]
    name = "string_vocabulary" if key == "text" else "int64_vocabulary"
    return model("DictVectorizer", key, value, value, [1, len(vocabulary)], **{name: vocabulary}), entries, key, value, vocabulary


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.slow
@pytest.mark.sample(4)
def test_vectorizer(seed, how):
    m, entries, key, value, vocabulary = drawn(seed)
    known, nothing = dict(entries), {"text": ""}.get(value, 0)
    want = [known.get(k, nothing) for k in vocabulary], (1, len(vocabulary))
    if value == "f32":       # onnxruntime's Python gives maps of floats alone
        assert by_onnxruntime(m, entries) == want
    assert ran(m, entries, key, value, how) == want


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.slow
@pytest.mark.sample(4)
def test_cast(seed, how):
    r = random.Random(seed)
    value, sparse, most = r.choice(["f32", "f32", "text"]), r.random() < 0.6, r.randint(1, 9)
    to = "text" if value == "text" else r.choice(["f32", "i64"])
    entries = [(k, r.choice(["a", "bc", "12.5"]) if value == "text" else float(np.float32(r.uniform(-9, 9)))) for k in r.sample(range(12), r.randint(1, 8))]
    more = dict(cast_to={"f32": "TO_FLOAT", "i64": "TO_INT64", "text": "TO_STRING"}[to], map_form="SPARSE" if sparse else "DENSE", max_map=most)
    m = model("CastMap", "i64", value, to, [1, most if sparse else len(entries)], **more)
    known = dict(entries)
    want = [known.get(k, "0.f" if value == "text" else 0) for k in range(most)] if sparse else [known[k] for k in sorted(known)]
    want = [int(k) for k in want] if to == "i64" else want
    if value == "f32":
        assert by_onnxruntime(m, entries)[0] == want
    assert ran(m, entries, "i64", value, how) == (want, (1, len(want)))


@pytest.mark.parametrize("to, want", [("f32", [0, -2.5, 0, 12]), ("i64", [0, -2, 0, 12])])
def test_cast_texts(to, want):
    """texts become numbers as Cast reads them"""
    m = model("CastMap", "i64", "text", to, [1, 4], map_form="SPARSE", max_map=4, cast_to={"f32": "TO_FLOAT", "i64": "TO_INT64"}[to])
    assert ran(m, [(3, "12"), (1, "-2.5"), (8, " 7")], "i64", "text", "generic") == (want, (1, 4))


def test_below(tmp_path):
    """a key below 0 is an error of a run"""
    onnx.save(model("CastMap", "i64", "f32", "f32", [1, 4], map_form="SPARSE", max_map=4), str(tmp_path / "m.onnx"))
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--input=x=2"])
    program = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    y, = dnncc.run_host(program, [np.array([9, 3]), np.array([1, 2], np.float32)])
    assert y.tolist() == [[0, 0, 0, 2]]
    with pytest.raises(AssertionError, match="-3"):
        dnncc.run_host(program, [np.array([-1, 3]), np.array([1, 2], np.float32)])


@pytest.mark.parametrize("m, options, code, text", [
    (model("DictVectorizer", "text", "f32", "f32", [1, 1], string_vocabulary=["a"]), [], 4, "add --input x=3"),
    (model("DictVectorizer", "text", "f32", "f32", [1, 1], string_vocabulary=["a"]), ["--input=x=2x3"], 1, "so many entries"),
    (model("DictVectorizer", "text", "f32", "f32", [1, 1], int64_vocabulary=[1]), ["--input=x=2"], 3, "keys that are texts"),
    (model("DictVectorizer", "text", "f32", "f32", [1, 1]), ["--input=x=2"], 3, "0 texts"),
    (model("CastMap", "text", "f32", "f32", [1, 1]), ["--input=x=2"], 3, "keys that are texts"),
    (model("CastMap", "i64", "f32", "text", [1, 1], cast_to="TO_STRING"), ["--input=x=2"], 4, "TO_STRING of numbers"),
    (model("CastMap", "i64", "f32", "f32", [1, 1], map_form="SPARSE", max_map=0), ["--input=x=2"], 3, "max_map"),
    (model("CastMap", "i64", "f32", "f32", [1, 1], map_form="LOOSE"), ["--input=x=2"], 3, "map_form"),
    (model("ZipMap", "i64", "f32", "f32", [1, 1], classlabels_int64s=[1]), ["--input=x=2"], 3, "want a tensor"),
], ids=str)
def test_refused(m, options, code, text, tmp_path):
    onnx.save(m, str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, options)
    assert error.value.code == code and text in str(error.value), error.value


def test_other_operators(tmp_path):
    """a map is no sequence"""
    m = model("SequenceLength", "i64", "f32", "i64", [])
    m.graph.node[0].domain = ""
    onnx.save(m, str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError, match="input 0 is a map"):
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--input=x=2"])
