# SPDX-License-Identifier: MIT
"""dnncc.compile and what it returns: inputs, outputs, errors, files."""
import copy
import gc
import importlib.util
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import typing
import warnings

import dnncc
import dnncc_package
import models
import numpy as np
import onnx
import pytest
from dnncc_package import _arrays, _build, _tool
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
R = np.random.default_rng(1)
IMAGE = R.random((1, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def digits():
    return dnncc_package.compile(DIGITS)


@pytest.fixture(scope="module")
def pair():
    return dnncc_package.compile(models.two_of_each())


A, B = R.random((2, 3), np.float32), R.random(3, np.float32)


def refused(call, *words, code=1):
    with pytest.raises(dnncc_package.Error) as raised:
        call()
    assert raised.value.code == code and all(w in str(raised.value) for w in words), raised.value


# ---- results ----

@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [{}, {"target": "native"}, {"threads": 2, "target": "native"}, {"exact": True}], ids=str)
def test_the_bits_are_those_of_the_c(options, tmp_path):
    flags = _tool.arguments(options)
    dnncc.compile_model(DIGITS, tmp_path, flags)
    program = dnncc.build_host(tmp_path, ["-O2", f"-Wl,--no-as-needed,{ROOT / 'build' / 'libdnncc_runtime.so'}"] if "threads" in options else ["-O2"])
    want, = dnncc.run_host(program, [IMAGE])
    got = dnncc_package.compile(DIGITS, **options)(IMAGE)
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_what_is_compiled_may_be_a_path_bytes_or_a_model(digits):
    data = DIGITS.read_bytes()
    for given in (str(DIGITS), data, bytearray(data), memoryview(data), onnx.load(DIGITS)):
        assert (dnncc_package.compile(given)(IMAGE) == digits(IMAGE)).all()
    refused(lambda: dnncc_package.compile(3), "int")


class Module:
    """like a torch.nn.Module"""
    training = True

    def eval(self):
        self.training = False
        return self

    def train(self, mode):
        self.training = mode


def test_a_torch_module_is_exported(monkeypatch, digits):
    """by torch.onnx.export, with the example inputs, as it is for use"""
    asked = []

    def export(module, example, path):
        asked.append((module.training, example))
        pathlib.Path(path).write_bytes(DIGITS.read_bytes())
    torch = type(sys)("torch")
    torch.nn, torch.onnx = type(sys)("torch.nn"), type(sys)("torch.onnx")
    torch.nn.Module, torch.onnx.export = Module, export
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.nn", torch.nn)
    refused(lambda: dnncc_package.compile(Module()), "example inputs")
    module = Module()
    m = dnncc_package.compile(module, IMAGE)
    assert (m(IMAGE) == digits(IMAGE)).all() and m.report().html
    (training, (example,)), = asked
    assert example is IMAGE and not training and module.training
    assert (pickle.loads(pickle.dumps(m))(IMAGE) == m(IMAGE)).all(), "one file: by its bytes"


@pytest.mark.skipif(not importlib.util.find_spec("skl2onnx"), reason="no skl2onnx (pip install skl2onnx)")
def test_an_estimator_of_scikit_learn_is_exported():
    from sklearn.linear_model import LogisticRegression
    x, labels = R.standard_normal((60, 4)), np.arange(60) % 3
    estimator = LogisticRegression().fit(x, labels)
    refused(lambda: dnncc_package.compile(estimator), "example")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                                 # of the exporter, and that rows are rounded
        y = dnncc_package.compile(estimator, x)(x)
    assert (y[0] == estimator.predict(x)).all()
    np.testing.assert_allclose(y[1], estimator.predict_proba(x), 1e-4, 1e-5)


def test_inputs_by_position_name_and_dict(pair):
    for y in (pair(A, B), pair(A, b=B), pair(**{"a.1": A, "b": B}), pair({"b": B, "a.1": A})):
        assert (y[0] == A + B).all() and (y["product"] == A * B).all() and (y.product == A * B).all()
    total, product = pair(A, B)
    assert (total == A + B).all() and (product == A * B).all()
    assert list(dict(y)) == list(y._asdict()) == ["sum.1", "product"] == list(pair.run({"a.1": A, "b": B}))
    for call, words in ((lambda: pair(A), ["'b'", "missing"]), (lambda: pair(A, B, B), ["3 inputs"]), (lambda: pair(A, c=B), ["'c'", "a.1"]),
                        (lambda: pair(A, B, b=B), ["'b'", "twice"]), (lambda: pair(), ["missing"]), (lambda: pair({"b": B}), ["a.1"])):
        refused(call, *words)
    with pytest.raises(KeyError):
        y["none"]
    with pytest.raises(AttributeError, match="product"):
        y.none


def test_one_output_is_an_array(digits):
    assert type(digits(IMAGE)) is np.ndarray and digits(IMAGE).shape == (1, 10)
    assert digits(IMAGE) is not digits(IMAGE)


def test_arrays_of_any_layout(pair):
    want = pair(A, B)[0].tobytes()
    wide = np.zeros((2, 6), np.float32)
    wide[:, ::2] = A
    odd = np.frombuffer(b"x" + A.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    fixed = A.copy()
    fixed.flags.writeable = False
    for x in (np.asfortranarray(A), wide[:, ::2], A.astype(">f4"), odd, fixed, A.tolist(), A.view(np.matrix)):
        assert pair(x, B)[0].tobytes() == want
    for x, words in ((A.astype(np.float16), ["a.1", "float32", "float16"]), (A.astype(np.int64), ["a.1", "float32", "int64"]), (A[:1], ["(2, 3)", "(1, 3)"]), (A.ravel(), ["(6,)"]),
                     ([["a"]], ["a.1"]), ([[1], [2, 3]], ["a.1"]), (object(), ["a.1"])):
        refused(lambda: pair(x, B), *words)


def test_floats_of_more_bits_are_rounded_and_it_is_said_once(pair, monkeypatch):
    monkeypatch.setattr(_arrays, "said", set())
    with pytest.warns(UserWarning, match="'a.1' is float32: what is given in float64 is rounded") as said:
        y = pair(A.astype(np.float64), B)
    assert said[0].filename == __file__ and y[0].tobytes() == (A + B).tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pair(A.astype(np.float64), B.astype(np.float64))[0].tobytes() == (A + B).tobytes()
        assert pair(A.tolist(), [1, 2, 3])[0].tobytes() == (A + np.array([1, 2, 3], np.float32)).tobytes(), "of numbers nothing is said"
        half = dnncc_package.compile(models.one("Neg", TensorProto.FLOAT16))
        assert half([1, 2.5, 3, -1]).tolist() == [-1, -2.5, -3, 1] == half(np.array([1, 2.5, 3, -1])).tolist()
        narrow = dnncc_package.compile(models.one("Neg", TensorProto.BFLOAT16))
        if narrow.inputs[0].is_float():                                 # where ml_dtypes is
            assert narrow([1, 2.5, 3, -1]).astype(np.float32).tolist() == [-1, -2.5, -3, 1]
    whole = dnncc_package.compile(models.one("Neg", TensorProto.INT64))
    for x in ([1.5, 2, 3, 4], np.ones(4)):
        refused(lambda: whole(x), "int64", "float64")
    refused(lambda: pair.bind(A.astype(np.float64), B), "float32", "float64")


class Foreign:
    """what others have: no array, but DLPack"""
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(pair):
    assert pair(Foreign(A), Foreign(B))[0].tobytes() == (A + B).tobytes()
    y = np.empty((2, 3), np.float32)
    pair.bind(Foreign(A), Foreign(B), y)()
    assert (y == A + B).all()


def test_bind_copies_nothing(pair):
    a, b, total = A.copy(), B.copy(), np.full((2, 3), np.nan, np.float32)
    run = pair.bind(a, b, total)
    assert run() is run.outputs and run.outputs[0] is total and (total == a + b).all()
    a[:] = 7
    run()
    assert (total == a + b).all() and (run.outputs.product == a * b).all()
    assert run.inputs[0] is a
    named = pair.bind(a, b=b, product=total)
    assert named()[1] is total and (total == a * b).all()


def test_bind_refuses_what_it_would_copy(pair):
    fixed, y = A.copy(), np.empty((2, 3), np.float32)
    fixed.flags.writeable = False
    for arrays, words in (((np.asfortranarray(A), B), ["copied"]), ((A.tolist(), B), ["copied"]), ((A.astype(">f4"), B), ["copied"]),
                          ((A, B, fixed), ["read only"]), ((A, B, y, y), ["overlaps"]), ((A, B, A), ["overlaps"]), ((A, B, y, A.copy(), y), ["5"]),
                          ((A,), ["missing"]), ((A, B, y[:1]), ["shape"])):
        refused(lambda: pair.bind(*arrays), *words)
    assert pair.bind(fixed, B)()[0].tobytes() == (A + B).tobytes()


@pytest.mark.parametrize("type,values", [(TensorProto.BOOL, [True, False, True, True]), (TensorProto.INT64, [1, -2, 3, 1 << 62]),
                                         (TensorProto.UINT8, [0, 255, 3, 4]), (TensorProto.FLOAT16, [1.5, -2, 0, 65504]),
                                         (TensorProto.DOUBLE, [1e300, 0, -0.0, 5])])
def test_types_of_numpy(type, values):
    x = np.array(values, helper.tensor_dtype_to_np_dtype(type))
    y = dnncc_package.compile(models.one("Identity", type))(x)
    assert y.dtype == x.dtype and y.tobytes() == x.tobytes()


NARROW = {TensorProto.BFLOAT16: 2, TensorProto.FLOAT8E4M3FN: 1, TensorProto.FLOAT8E5M2: 1, TensorProto.UINT4: 1, TensorProto.INT4: 1}


@pytest.mark.parametrize("type", NARROW)
def test_types_beyond_numpy(type, monkeypatch):
    """arrays of ml_dtypes, or of the bits; the bits alone where that is not installed"""
    x = np.array([1, 2, 0, 7], helper.tensor_dtype_to_np_dtype(type))
    bits = x.view(f"u{NARROW[type]}")
    compiled = dnncc_package.compile(models.one("Identity", type))
    held = compiled.inputs[0].bits
    assert compiled(x).dtype == x.dtype and compiled(x).tobytes() == x.tobytes() == compiled(bits.view(held)).tobytes()
    assert compiled.bind(bits.view(held))().tobytes() == x.tobytes()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    plain = dnncc_package.compile(models.one("Identity", type))
    assert plain(bits.view(held)).dtype == held and plain(bits.view(held)).tobytes() == x.tobytes()


def test_empty_and_scalar():
    empty = dnncc_package.compile(models.one("Relu", TensorProto.FLOAT, (0, 3)))
    assert empty(np.zeros((0, 3), np.float32)).shape == (0, 3)
    scalar = dnncc_package.compile(models.one("Neg", TensorProto.FLOAT, ()))
    assert scalar(np.float32(2)) == -2 and scalar(3) == -3 and scalar(np.array(4, np.float32)).shape == ()


# ---- threads ----

@pytest.mark.parametrize("options", [{}, {"threads": 2, "target": "native"}], ids=str)
def test_runs_at_the_same_time(options):
    """each with a workspace of its own; the library's threads are those of the process"""
    m = dnncc_package.compile(models.matmul(), **options)
    xs = R.random((4, 64, 64), np.float32)
    want, wrong = [m(x).tobytes() for x in xs], []

    def work(k):
        bound = m.bind(xs[k].copy())
        for _ in range(200):
            wrong.extend(k for y in (m(xs[k]), bound()) if y.tobytes() != want[k])
    all = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in all:
        t.start()
    for t in all:
        t.join()
    assert not wrong and len(m._program.lanes) <= 4


def test_models_share_the_threads_of_the_process():
    """dnncc_parallel is that of the package's runtime, not one of each library"""
    code = f"""if 1:
        import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); sys.path.insert(0, {str(ROOT / 'test' / 'python')!r})
        import dnncc, models, numpy as np, os
        for n in (256, 320, 384):
            m = dnncc.compile(models.matmul(n, n, n), threads=2, target="native")
            m(np.zeros((n, n), np.float32))
        print(len(os.listdir("/proc/self/task")))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.stdout.strip() == "2", done.stdout + done.stderr


# ---- errors ----

def test_errors_of_the_compiler(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x0a\x3a\xff")
    refused(lambda: dnncc_package.compile(tmp_path / "none.onnx"), "none.onnx", "cannot read", code=2)
    refused(lambda: dnncc_package.compile(tmp_path / "bad.onnx"), "bad.onnx: error", code=3)
    refused(lambda: dnncc_package.compile(models.one("Relu", TensorProto.FLOAT), target="none"), "'none'")
    refused(lambda: dnncc_package.compile(DIGITS, max_ram=100), "100", code=5)
    text = models.model([helper.make_node("Identity", ["x"], ["y"])], {"x": (TensorProto.COMPLEX64, [1])}, {"y": (TensorProto.COMPLEX64, [1])})
    refused(lambda: dnncc_package.compile(text), "c64", code=4)


def test_errors_of_a_run():
    m = dnncc_package.compile(models.table())
    assert (m(np.array([4, 0]))[0] == [12, 13, 14]).all()
    refused(lambda: m(np.array([5, 0])), "-3", "index is out of range", code=-3)
    refused(m.bind(np.array([5, 0])), "-3", code=-3)
    assert (m(np.array([4, 0]))[0] == [12, 13, 14]).all()


def test_errors_of_the_c_compiler():
    refused(lambda: dnncc_package.compile(DIGITS, cc="none-such"), "none-such")
    refused(lambda: dnncc_package.compile(DIGITS, cc="cc -DDNNCC_ABI_1"), "failed to compile", "dnncc_model_1", code=2)
    refused(lambda: dnncc_package.compile(DIGITS, profile=True), "dnncc_profile", code=2)
    refused(lambda: dnncc_package.compile(DIGITS, no_descriptor=True), "model_describe", code=2)


def test_warnings_are_warnings():
    with pytest.warns(UserWarning, match='precision="bf16" changes nothing'):
        dnncc_package.compile(DIGITS, precision="bf16", cache=False)


def test_a_missing_file_is_a_filenotfounderror(tmp_path):
    for call, path in ((lambda: dnncc_package.compile(tmp_path / "none.onnx"), tmp_path / "none.onnx"),
                       (lambda: dnncc_package.compile(DIGITS, quantize=True, calibrate=tmp_path / "none.npz"), tmp_path / "none.npz"),
                       (lambda: dnncc_package.info(tmp_path / "none.onnx"), tmp_path / "none.onnx"),
                       (lambda: dnncc_package.load(tmp_path / "none.so"), tmp_path / "none.so")):
        with pytest.raises(FileNotFoundError) as raised:
            call()
        for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
            assert isinstance(error, dnncc_package.MissingFileError) and error.filename == str(path) and error.code == 2 and error.text == str(error)


@pytest.mark.parametrize("said,want", [
    ("standard input: error: input 'x' has an open dimension 0, add --input with its 2 extents, as in: dnncc - --input x=1x64",
     "the model: error: input 'x' has an open dimension 0, add input with its 2 extents, as in: input={\"x\": (1, 64)}"),
    ("a.onnx: error: as in: dnncc a.onnx --dim N=1 --dim M=2", "a.onnx: error: as in: dim={\"N\": 1} dim={\"M\": 2}"),
    ("a.onnx: error: --dim Q=3: the model has no such dimension", "a.onnx: error: dim={\"Q\": 3}: the model has no such dimension"),
    ("try --max-ram=3584, which is enough; --max-ram=64K; --quantize: bytes", "try max_ram=3584, which is enough; max_ram=\"64K\"; quantize: bytes"),
    ("(--target=help lists them)", "(`dnncc --target=help` lists them)"),
    ("unknown option '--traget'", "unknown option '--traget'"),
    ("--threads wants a number from 1 to 256, not '2000'", "threads wants a number from 1 to 256, not '2000'"),
    ("--no-such and --help", "--no-such and --help"),
])
def test_messages_are_in_words_of_python(said, want):
    assert _tool.in_python(said) == want


# ---- options ----

def test_options():
    arguments = _tool.arguments
    assert arguments({"dim": {"N": 1, "M": 2}}) == ["--dim=N=1", "--dim=M=2"] == arguments({"dims": ["N=1", "M=2"]})
    assert arguments({"input": {"x": (1, 3, 8)}}) == ["--input=x=1x3x8"]
    assert arguments({"target": ["x86-64", "generic"], "level": 3, "exact": True, "unchecked": False, "name": None}) == [
        "--target=x86-64,generic", "-O3", "--exact"]
    assert arguments({"schedule": pathlib.Path("f.schedule")}) == [f"--schedule={os.path.abspath('f.schedule')}"]
    assert arguments({"quantize": True, "calibrate": "x.npz"}) == ["--quantize", f"--calibrate={os.path.abspath('x.npz')}"]
    assert arguments({"quantize": "dynamic"}) == ["--quantize=dynamic"]
    assert arguments({"quantize": "m.ranges"}) == [f"--quantize={os.path.abspath('m.ranges')}"]
    assert arguments({"limit": {"weight_elements": 4}, "max_ram": "64K"}) == ["--limit=weight_elements=4", "--max-ram=64K"]
    for options, words in (({"presision": "bf16"}, ["presision", "precision"]), ({"emit": "ir"}, ["emit"]), ({"exact": 1}, ["exact"]),
                           ({"level": 7}, ["0 to 3"]), ({"target": True}, ["target"])):
        refused(lambda: arguments(options), *words)


def test_every_option_is_a_keyword_or_none_of_compiling():
    """none of the package's own list is unknown to the tool"""
    table = {row["option"] for row in _tool.table()["options"]}
    assert _tool.NO_KEYWORDS <= table
    assert {"dim", "dims", "threads", "precision", "quantize", "target", "max_ram", "level", "name"} <= set(_tool.keywords())
    assert not {"o", "emit", "test", "run", "merge", "info", "help"} & set(_tool.keywords())


def test_dimensions():
    open = models.matmul(dim="N")
    refused(lambda: dnncc_package.compile(open), 'the model: error: input', 'as in: dim={"N": 1}', code=3)
    open.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    refused(lambda: dnncc_package.compile(open), 'as in: input={"x": (1, 64)}', code=3)
    open = models.matmul(dim="N")
    assert dnncc_package.compile(open, dim={"N": 3})(np.ones((3, 64), np.float32)).shape == (3, 64)


def test_quantization(tmp_path, digits):
    """calibrated in one go: samples count like the model"""
    np.savez(tmp_path / "samples.npz", image=R.random((8, 1, 8, 8), np.float32))
    refused(lambda: dnncc_package.compile(DIGITS, calibrate=tmp_path / "samples.npz"), "no code")
    m = dnncc_package.compile(DIGITS, quantize=True, calibrate=tmp_path / "samples.npz")
    np.testing.assert_allclose(m(IMAGE), digits(IMAGE), atol=0.1)
    assert m(IMAGE).tobytes() != digits(IMAGE).tobytes()
    np.savez(tmp_path / "samples.npz", image=100 * R.random((8, 1, 8, 8), np.float32))
    assert dnncc_package.compile(DIGITS, quantize=True, calibrate=tmp_path / "samples.npz")(IMAGE).tobytes() != m(IMAGE).tobytes()


@pytest.mark.parametrize("weights", ["inline", "incbin", "file"])
def test_weights(weights, tmp_path):
    want = dnncc_package.compile(models.matmul(), cache=False)(np.ones((64, 64), np.float32))
    m = dnncc_package.compile(models.matmul(), weights=weights)
    assert (m(np.ones((64, 64), np.float32)) == want).all()
    m.save(tmp_path / "w.so")
    assert (tmp_path / "w.weights").exists() == (weights == "file")
    assert (dnncc_package.load(tmp_path / "w.so")(np.ones((64, 64), np.float32)) == want).all()
    if weights == "file":
        data = (tmp_path / "w.weights").read_bytes()
        (tmp_path / "w.weights").write_bytes(data[:-1])
        refused(lambda: dnncc_package.load(tmp_path / "w.so"), "bytes", code=2)
        (tmp_path / "w.weights").write_bytes(data[:60] + b"????" + data[64:])
        refused(lambda: dnncc_package.load(tmp_path / "w.so")(np.ones((64, 64), np.float32)), "weights", code=-5)


def test_regions_and_several_targets():
    want = dnncc_package.compile(DIGITS)(IMAGE)
    assert (dnncc_package.compile(DIGITS, region="fast=2K")(IMAGE) == want).all()
    assert [r["name"] for r in dnncc_package.compile(DIGITS, region="fast=2K").info["memory"]] == ["workspace", "fast"]
    np.testing.assert_allclose(dnncc_package.compile(DIGITS, target=["generic", "x86-64", "x86-64-v3"])(IMAGE), want, 1e-5, 1e-6)


def test_sequences_come_as_lists():
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    m = dnncc_package.compile(models.parts())
    for k in (1, 4, 6):
        y = m(x, np.array(k))
        got, want = y.sequence("s"), [x[i:i + k] for i in range(0, 6, k)]
        assert len(got) == len(want) and all(np.array_equal(a, b) for a, b in zip(got, want))
        assert [v.tolist() for v in y.sequence("l")] == [x.tolist()]
    with pytest.raises(KeyError):
        y.sequence("x")


# ---- copies, hints ----

def test_pickles_say_what_a_model_was_compiled_from(tmp_path, digits, pair):
    (tmp_path / "m.onnx").write_bytes(DIGITS.read_bytes())
    of_file = dnncc_package.compile(tmp_path / "m.onnx", target="native", threads=2)
    digits.save(tmp_path / "digits.so")
    loaded = dnncc_package.load(tmp_path / "digits.so")
    for m in (digits, of_file, loaded):
        again = pickle.loads(pickle.dumps(m))
        assert again is not m and again(IMAGE).tobytes() == m(IMAGE).tobytes() and repr(again) == repr(m)
        assert copy.deepcopy({"m": m})["m"] is m is copy.copy(m)
    assert pickle.loads(pickle.dumps(of_file)).info["options"] == of_file.info["options"] == ["--target=native", "--threads=2"]
    assert pickle.loads(pickle.dumps(pair(A, B)))["sum.1"].tobytes() == (A + B).tobytes()
    with pytest.raises(TypeError, match="bound run"):
        pickle.dumps(pair.bind(A, B))
    kept = pickle.dumps(of_file)
    (tmp_path / "m.onnx").write_bytes(models.matmul().SerializeToString())
    refused(lambda: pickle.loads(kept), "m.onnx", "changed", code=2)


def test_what_models_look_like(digits, pair, tmp_path):
    assert repr(digits) == "<dnncc.Model digits.onnx: image float32[1, 1, 8, 8] -> probabilities float32[1, 10]>"
    assert repr(pair) == "<dnncc.Model model: a.1 float32[2, 3], b float32[3] -> sum.1 float32[2, 3], product float32[2, 3]>"
    assert repr(pair.inputs[0]) == "Port('a.1', float32, (2, 3))"
    assert repr(pair(A, B)) == f"Outputs({dict(pair(A, B))!r})"


def of_package(package):
    """everything public: (name, what it is)"""
    for name in package.__all__:
        found = getattr(package, name)
        yield name, found
        if isinstance(found, type):
            for member, part in vars(found).items():
                if callable(part) and (not member.startswith("_") or member in ("__init__", "__call__", "__getitem__")) or isinstance(part, property):
                    yield f"{name}.{member}", part.fget if isinstance(part, property) else part


def test_everything_public_has_hints_and_a_docstring():
    for name, found in of_package(dnncc_package):
        if not name.endswith(("__init__", "__call__", "__getitem__", "new", "as_array", "check", "take", "hold")):
            assert found.__doc__, name
        if inspect.isfunction(found):
            parameters = [p for p in inspect.signature(found).parameters if p != "self"]
            assert {*parameters, "return"} <= set(found.__annotations__), name
    assert typing.get_type_hints(dnncc_package.compile)["return"] is dnncc_package.Model
    assert (ROOT / "python" / "dnncc" / "py.typed").exists()


@pytest.mark.parametrize("given, words", [("cc", ["cc", "-O2"]), ("env cc", ["env", "cc", "-O2"]), ("cc -g -O1", ["cc", "-g", "-O1"])])
def test_a_compiler_optimizes_where_its_command_says_nothing(given, words):
    assert _build.find_compiler(given) == words


def test_weights_go_through_the_assembler_where_the_compiler_has_one(tmp_path):
    """gcc and clang for ELF take .incbin; the macros of others say that they do not"""
    assert _build.takes_incbin(["cc", "-O2"])
    other = tmp_path / "cc"
    other.write_text('#!/bin/sh\ncase "$*" in *-E*) echo "#define __MACH__ 1" ;; *) exec cc "$@" ;; esac\n')
    other.chmod(0o755)
    assert not _build.takes_incbin([str(other)])
    want = dnncc_package.compile(models.matmul())(np.ones((64, 64), np.float32))
    m = dnncc_package.compile(models.matmul(), cc=str(other), cache=False)
    assert (m(np.ones((64, 64), np.float32)) == want).all()
    for options, how in (({}, True), ({"weights": "auto"}, True), ({"weights": "inline"}, False)):
        assert dnncc_package.compile(models.matmul(), **options).info["command"].endswith("--weights=incbin") == how


def test_a_trace_of_runs(tmp_path):
    """profile=FILE: whole when the model goes; a row for each thread that runs it"""
    m = dnncc_package.compile(DIGITS, profile=tmp_path / "trace.json", target="native", threads=2)
    want = dnncc_package.compile(DIGITS, target="native", threads=2)(IMAGE)
    other = threading.Thread(target=lambda: [m(IMAGE) for _ in range(3)])
    other.start()
    other.join()
    assert m(IMAGE).tobytes() == want.tobytes()
    del m
    gc.collect()
    events = json.loads((tmp_path / "trace.json").read_text())
    slices = [e for e in events if e["ph"] == "X"]
    assert sum(e["ph"] == "i" for e in events) == 4 and {e["tid"] for e in slices} == {1, 2} and "conv2" in {e["name"] for e in slices}


# ---- files ----

def test_saved_c_is_that_of_the_command_line(tmp_path):
    m = dnncc_package.compile(DIGITS, target="x86-64-v3")
    m.save(tmp_path / "digits.c")
    (tmp_path / "cli").mkdir()
    assert dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64-v3", "-o", tmp_path / "cli" / "digits.c"]).returncode == 0
    for name in ("digits.c", "digits.h"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
    refused(lambda: m.save(tmp_path / "digits.o"), "digits.o")
    refused(lambda: m.save(tmp_path / "none" / "digits.so"), "cannot write", code=2)


def test_load(tmp_path, digits):
    digits.save(tmp_path / "net.so")
    loaded = dnncc_package.load(tmp_path / "net.so")
    assert loaded(IMAGE).tobytes() == digits(IMAGE).tobytes()
    refused(lambda: loaded.save(tmp_path / "net.c"), "loaded")
    refused(loaded.report, "loaded")
    refused(lambda: dnncc_package.load(tmp_path / "none.so"), "none.so", code=2)
    refused(lambda: dnncc_package.load(tmp_path / "net.so", name="other"), "other_describe", code=2)
    named = dnncc_package.compile(DIGITS, name="other")
    named.save(tmp_path / "other.so")
    assert dnncc_package.load(tmp_path / "other.so")(IMAGE).tobytes() == digits(IMAGE).tobytes()


def test_a_model_that_changed_is_not_saved(tmp_path):
    (tmp_path / "m.onnx").write_bytes(DIGITS.read_bytes())
    m = dnncc_package.compile(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes(models.matmul().SerializeToString())
    refused(lambda: m.save(tmp_path / "m.c"), "changed", code=2)


def test_report_and_info(digits, tmp_path):
    page = digits.report()
    assert page.html.lstrip().lower().startswith("<!doctype html") and "conv1" in page.html
    assert page._repr_html_().startswith("<iframe srcdoc=") and page._repr_html_().count('"') == 4
    page.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == page.html
    assert digits.info["inputs"] == [{"name": "image", "dtype": "float32", "shape": (1, 1, 8, 8)}]
    assert digits.info["command"].startswith("dnncc ") and digits.info["memory"][0]["bytes"] > 0
    assert dnncc_package.info(DIGITS)["inputs"][0]["name"] == "image"
    assert "image" in repr(digits)


# ---- without a C compiler ----

def test_without_a_c_compiler_the_interpreter_runs(tmp_path, pair):
    """where LLVM is missing, too (test_python_jit.py), and says so once; the bits are those of the C"""
    np.savez(tmp_path / "x.npz", image=IMAGE, a=A, b=B)
    code = f"""if 1:
        import sys, warnings; sys.path.insert(0, {str(ROOT / 'python')!r}); sys.path.insert(0, {str(ROOT / 'test' / 'python')!r})
        import dnncc, models, numpy as np
        from dnncc import _tool
        found, _tool.runtime = _tool.runtime, lambda name: None if "jit" in name else found(name)        # no LLVM either
        x = np.load({str(tmp_path / 'x.npz')!r})
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            digits, pair = dnncc.compile({str(DIGITS)!r}), dnncc.compile(models.two_of_each())
        assert len(said) == 1 and "no C compiler" in str(said[0].message), said
        total, product = pair(x["a"], b=x["b"])
        np.savez({str(tmp_path / 'y.npz')!r}, digits(x["image"]), total, product)
        digits.save({str(tmp_path / 'digits.c')!r})
        open = models.open_extents()
        for call in (lambda: digits.save("x.so"), lambda: digits.bind(x["image"]), lambda: dnncc.compile(open, dim=["M=1..4", "N=1..7"])):
            try:
                call()
                raise SystemExit("not refused")
            except dnncc.Error as error:
                print(error)"""
    env = {k: v for k, v in os.environ.items() if k != "CC"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**env, "PATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npz")
    assert y["arr_0"].tobytes() == dnncc_package.compile(DIGITS)(IMAGE).tobytes()
    assert y["arr_1"].tobytes() == (A + B).tobytes() and y["arr_2"].tobytes() == (A * B).tobytes()
    assert (tmp_path / "digits.c").exists()


# ---- extents that a call gives ----

@pytest.mark.parametrize("target", ["generic", "native"])
def test_open_extents(target):
    model = dnncc_package.compile(models.open_extents(), dim=["M=1..40", "N=1..70"], target=target)
    assert [p.shape for p in (*model.inputs, *model.outputs)] == [("M", "N"), ("N",), ("N", "M")]
    for m, n in [(1, 1), (3, 5), (5, 3), (40, 70), (2, 70)]:
        a, b = R.random((m, n), np.float32), R.random(n, np.float32)
        z = model(a, b)
        assert z.shape == (n, m) and (z == a.T + b[:, None]).all()
    refused(lambda: model(np.zeros((3, 5), np.float32), np.zeros(4, np.float32)), "extent N is 4 here, and 5 before")
    refused(lambda: model(np.zeros(3, np.float32), np.zeros(3, np.float32)), "'a' has the shape")
    refused(lambda: model(np.zeros((41, 2), np.float32), np.zeros(2, np.float32)), "a run-time extent", code=-4)
    refused(lambda: model.bind(A, B), "bind is for models whose extents are numbers")
    copy.deepcopy(model)
    assert (pickle.loads(pickle.dumps(model))(A, B) == A.T + B[:, None]).all()


def test_extents_of_terms():
    """lengths that no array has alone follow from terms: rows in fours"""
    model = dnncc_package.compile(models.open_extents(), dim=["M=4*H+1", "H=0..5", "N=1..7"])
    for m, n in [(1, 1), (5, 3), (21, 7)]:
        a, b = R.random((m, n), np.float32), R.random(n, np.float32)
        assert (model(a, b) == a.T + b[:, None]).all()
    refused(lambda: model(np.zeros((6, 2), np.float32), np.zeros(2, np.float32)), "(6, 2) is no shape of")


@pytest.mark.parametrize("target", ["generic", "native"])
def test_counted_extents(target):
    """results have the extents that the call has found"""
    model = dnncc_package.compile(models.counted_extents(), dim=["N=1..9"], target=target)
    assert [p.shape for p in model.outputs] == [(2, "M"), ("K", "N")]
    for n, share in [(1, 0), (4, 1), (9, 0.5), (7, 0.5)]:
        a, c = R.integers(0, 2, (6, n)).astype(np.float32), R.random(6) < share
        where, kept = model(a, c)
        assert kept.shape == a[c].shape and (kept == a[c]).all() and (where == np.stack(np.nonzero(a[c]))).all()
    assert pickle.loads(pickle.dumps(model))(a, c)[1].shape == kept.shape
