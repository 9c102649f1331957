# SPDX-License-Identifier: MIT
"""Models that libdnncc_jit compiles in the process: with cc="jit", and where there is no C compiler. The bits are those of the C."""
import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import dnncc_package
import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
UNSUPPORTED = 4
GROWTH = 4096           # KB: LLVM's own caches, and what is left of free lists
R = np.random.default_rng(3)
IMAGE = R.random((1, 1, 8, 8), np.float32)
A, B = R.random((2, 3), np.float32), R.random(3, np.float32)


def missing():
    try:
        dnncc_package.compile(DIGITS, cc="jit")
    except dnncc_package.Error as error:
        if error.code != UNSUPPORTED:
            raise
        return str(error)
    return None


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"LLVM, or its headers, are missing: {missing()}")


def refused(call, text, code):
    with pytest.raises(dnncc_package.Error) as said:
        call()
    assert text in str(said.value) and said.value.code == code, (said.value.code, str(said.value))


def both(model, **options):
    return dnncc_package.compile(model, cc="jit", **options), dnncc_package.compile(model, **options)


def test_code_is_kept(tmp_path, monkeypatch):
    """in a folder of the package's cache, unless that is not wanted, or is one that others may write to"""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "dnncc" / "jit"
    want = dnncc_package.compile(DIGITS, cc="jit", cache=False)(IMAGE)
    assert not folder.exists()
    for _ in range(2):
        assert dnncc_package.compile(DIGITS, cc="jit")(IMAGE).tobytes() == want.tobytes()
        made = {path.name: path.stat().st_ino for path in folder.iterdir()}
        assert len(made) == 2
    assert made == {path.name: path.stat().st_ino for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    folder.chmod(0o777)
    assert dnncc_package.compile(DIGITS, cc="jit")(IMAGE).tobytes() == want.tobytes() and not any(folder.iterdir())


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [{}, {"target": "native"}, {"target": "native", "threads": 2}, {"target": ["generic", "x86-64-v3"]}], ids=str)
def test_the_bits_of_the_c(options):
    jitted, compiled = both(DIGITS, **options)
    assert jitted(IMAGE).tobytes() == compiled(IMAGE).tobytes()
    jitted, compiled = both(models.two_of_each(), **options)
    for got, want in ((jitted(A, b=B), compiled(A, b=B)), (tuple(jitted.run({"a.1": A, "b": B}).values()), (A + B, A * B))):
        assert len(got) == 2 and all(g.tobytes() == w.tobytes() for g, w in zip(got, want))
    assert [str(p) for p in (*jitted.inputs, *jitted.outputs)] == [str(p) for p in (*compiled.inputs, *compiled.outputs)]
    big, small = both(models.matmul(), **options)
    x = R.standard_normal((64, 64), np.float32)
    assert big(x).tobytes() == small(x).tobytes()


def test_extents_that_calls_give_and_count():
    jitted, compiled = both(models.open_extents(), dim=["M=1..40", "N=1..70"])
    for m, n in [(1, 1), (3, 5), (40, 70)]:
        a, b = R.random((m, n), np.float32), R.random(n, np.float32)
        assert (jitted(a, b) == a.T + b[:, None]).all()
    refused(lambda: jitted(np.zeros((41, 2), np.float32), np.zeros(2, np.float32)), "a run-time extent", -4)
    jitted, compiled = both(models.counted_extents(), dim=["N=1..5"])
    a, c = R.integers(0, 2, (6, 3)).astype(np.float32), np.array([1, 0, 1, 1, 0, 1], bool)
    for got, want in zip(jitted(a, c), compiled(a, c)):
        assert got.shape == want.shape and got.tobytes() == want.tobytes()


def test_a_run_that_fails():
    table = dnncc_package.compile(models.table(), cc="jit")
    assert table(np.array([1, 4])).tolist() == [[3, 4, 5], [12, 13, 14]]
    compiled = dnncc_package.compile(models.table())
    for call in (table, compiled):
        with pytest.raises(dnncc_package.Error) as said:
            call(np.array([1, 5]))
        assert said.value.code < 0
    assert table(np.array([0, 0])).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_bound_copied_pickled_saved(tmp_path):
    digits = dnncc_package.compile(DIGITS, cc="jit")
    x, y = IMAGE.copy(), np.empty((1, 10), np.float32)
    run = digits.bind(x, y)
    for _ in range(2):
        x[:] = R.random(x.shape, np.float32)
        run()
        assert y.tobytes() == digits(x).tobytes()
    assert copy.deepcopy(digits) is digits
    again = pickle.loads(pickle.dumps(digits))
    assert again.info["cc"] == "jit" and again(IMAGE).tobytes() == digits(IMAGE).tobytes()
    assert digits.info["name"] == "digits" and digits.info["memory"] == [] and "--jit" in digits.info["command"]
    digits.save(tmp_path / "digits.c")
    assert (tmp_path / "digits.c").exists() and digits.report().html
    refused(lambda: digits.save(tmp_path / "digits.so"), "there is no library file", 2)
    del digits, again
    gc.collect()
    run()                               # which holds its model


def test_errors_are_those_of_the_command():
    refused(lambda: dnncc_package.compile(b"no model", cc="jit"), "the model", 3)
    refused(lambda: dnncc_package.compile(DIGITS, cc="jit", target="z80"), "z80", 1)
    refused(lambda: dnncc_package.compile(DIGITS, cc="jit", dim={"Q": 3}), "dim={", 1)
    refused(lambda: dnncc_package.compile(models.one("Relu", TensorProto.FLOAT), cc="jit", target="cuda-sm_90"), "", UNSUPPORTED)
    with pytest.raises(dnncc_package.ArgumentError):
        dnncc_package.compile(DIGITS, cc="jit", no_such=1)


def test_texts():
    port, words = onnx.helper.make_tensor_value_info, np.array(["a", "h\u00e9", ""], object)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [port("x", TensorProto.STRING, [3])], [port("y", TensorProto.STRING, [3])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    jitted, compiled = both(model)
    assert jitted(words).tolist() == compiled(words).tolist() == words.tolist() and jitted.info["cc"] == "jit"


def test_state_and_entries_are_not_here_yet():
    port = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "past"], ["y"])], "g", [port("x", 1, ["N"]), port("past", 1, ["N"])], [port("y", 1, ["N"])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    for options in (dict(entry=["a:N=1", "b:N=2"]), dict(dim=["N=2"], state="past=y")):
        refused(lambda options=options: dnncc_package.compile(model, cc="jit", **options), "state or several entries", UNSUPPORTED)


def test_in_threads():
    """models are compiled and run by four threads at a time, one of them by all"""
    shared, wrong = dnncc_package.compile(DIGITS, cc="jit", threads=2), []
    want = dnncc_package.compile(DIGITS)(IMAGE).tobytes()

    def work(k):
        x = R.standard_normal((8, 16)).astype(np.float32) if k < 0 else np.full((8, 16), k, np.float32)
        own, compiled = (dnncc_package.compile(models.matmul(8, 8, 16, seed=k), cc=cc) for cc in ("jit", None))
        for _ in range(20):
            if shared(IMAGE).tobytes() != want or own(x).tobytes() != compiled(x).tobytes():
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def resident():
    """KB"""
    return int(next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_models_that_are_let_go_leave_nothing_behind():
    def some(count):
        for _ in range(count):
            dnncc_package.compile(DIGITS, cc="jit=fast")(IMAGE)
        gc.collect()
        return resident()
    before = some(30)
    assert some(150) <= before + GROWTH


WITHOUT = """if 1:
    import sys, warnings; sys.path[:0] = {paths!r}
    import dnncc, models, numpy as np
    x = np.load("x.npz")
    warnings.simplefilter("error")
    digits, pair = dnncc.compile({digits!r}, target="native"), dnncc.compile(models.two_of_each())
    assert digits.info["cc"] == pair.info["cc"] == "jit"
    total, product = pair(x["a"], b=x["b"])
    np.savez("y.npz", digits(x["image"]), total, product, dnncc.compile(models.open_extents(), dim=["M=1..4", "N=1..7"])(x["a"], x["b"]))
    try:
        dnncc.compile({digits!r}, cc="gcc")
        raise SystemExit("not refused")
    except dnncc.ArgumentError:
        pass
    warnings.simplefilter("always")
    with warnings.catch_warnings(record=True) as said:
        from dnncc import _jit
        _jit.opened = False
        assert "cc" not in dnncc.compile(models.two_of_each()).info and len(said) == 1 and "LLVM is missing" in str(said[0].message)
        _jit.opened = None
        assert "cc" not in dnncc.compile({digits!r}, fast_libm=True).info      # which --jit does not have
"""


def test_without_a_c_compiler(tmp_path):
    """models run at full speed, and nothing is said"""
    np.savez(tmp_path / "x.npz", image=IMAGE, a=A, b=B)
    env = {k: v for k, v in os.environ.items() if k != "CC"}
    code = WITHOUT.format(paths=[str(ROOT / "python"), str(ROOT / "test" / "python")], digits=str(DIGITS))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**env, "PATH": str(tmp_path)}, cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    y = np.load(tmp_path / "y.npz")
    assert y["arr_0"].tobytes() == dnncc_package.compile(DIGITS, target="native")(IMAGE).tobytes()
    assert y["arr_1"].tobytes() == (A + B).tobytes() and y["arr_2"].tobytes() == (A * B).tobytes()
    assert y["arr_3"].tobytes() == np.ascontiguousarray(A.T + B[:, None]).tobytes()
