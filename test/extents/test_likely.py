# SPDX-License-Identifier: MIT
"""Likely extents (--dim N=1..512:1,16): runs with these take code of their own where that is faster, and all runs give what they give without it."""
import pathlib
import re
import sys
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models", "extents")]
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_extents import FOLDERS, PASSING, SUITE, Network, opened  # noqa: E402

WAYS = ["-O0"], ["--limit=likely_percent=0"], ["--limit=likely_percent=0", "--target=x86-64-v3"], ["-O1", "--goal=memory"], ["-O0", "--exact"]


@pytest.mark.sample(24)
@pytest.mark.parametrize("test", PASSING)
def test_operator(test, tmp_path):
    """ONNX's test of an operator, at a likely length and at one beside it"""
    length = opened(test, tmp_path / "m.onnx")
    data = next(p for f in FOLDERS if (p := SUITE / f / test / "test_data_set_0").exists())
    options = WAYS[zlib.crc32(test.encode()) % len(WAYS)]
    for likely in (length, length + 1):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--dim=N=1..{length + 3}:{likely}", f"--test={data}", *options])
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", range(20))
def test_random(seed, tmp_path):
    """two dimensions with likely extents give, at each combination of these and beside them, the bits of the code for all"""
    rng = np.random.default_rng(seed)
    Network(seed).save(tmp_path / "m.onnx", 6)
    options = [["-O0"], ["--limit=likely_percent=0", "--exact", "--target=x86-64-v3"]][seed % 2]
    if "--target=x86-64-v3" in options and not processor.has("x86-64-v3"):
        pytest.skip("this processor cannot run it")
    programs = []
    for n, m in ("1..20", "1..9"), ("1..20:1,16", "1..9:4"):
        folder = tmp_path / f"{len(programs)}"
        folder.mkdir()
        dnncc.compile_model(tmp_path / "m.onnx", folder, [f"--dim=N={n}", f"--dim=M={m}", *options])
        programs.append(dnncc.build_host(folder, ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]))
    for n, m in (1, 4), (1, 5), (16, 4), (16, 1), (7, 4), (20, 9):
        given = [rng.random((n, 4, 8), np.float32) * 2 - 1, rng.random((m, 8), np.float32) * 2 - 1]
        (want,), (got,) = (dnncc.run_host(p, given) for p in programs)
        np.testing.assert_array_equal(got, want)


def lstm(path, width=32):
    rng = np.random.default_rng(0)
    constants = [onnx.numpy_helper.from_array((rng.random((1, 4 * width, width), np.float32) - .5) / 4, name) for name in "WR"]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["N", 1, width]), ("y", None)))
    graph = helper.make_graph([helper.make_node("LSTM", ["x", "W", "R"], ["y"], hidden_size=width)], "g", [x], [y], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def emitted(model, *options):
    done = dnncc.run([dnncc.DNNCC, model, "-o", "-", *options])
    assert done.returncode == 0, done.stderr
    return done


def test_what_pays_stays(tmp_path):
    """the one step of an LSTM whose state is zero needs no recurrent product; at 16 steps that is little"""
    model = lstm(tmp_path / "m.onnx")
    done = emitted(model, "--dim=N=1..64:1,16", "--target=x86-64-v3", "--emit=loops", "--remarks=likely")
    assert "N = 1: it has code of its own: " in done.stderr and "N = 16: the code for all extents: alike" in done.stderr
    assert re.findall("if likely (.*) {", done.stdout) == ["%N == 1"]
    assert "if (extent_N == 1) {" in emitted(model, "--dim=N=1..64:1,16", "--target=x86-64-v3").stdout
    mains = [emitted(model, dim, "--target=x86-64-v3", "--emit=loops").stdout.split("\nmain")[1] for dim in ("--dim=N=1..64", "--dim=N=1..64:16")]
    assert len({re.sub(r"_[0-9]+", "", main) for main in mains}) == 1


def test_texts_are_read_back(tmp_path):
    """the text of a dump has the functions for likely extents, and gives the same C"""
    model, dims = lstm(tmp_path / "m.onnx"), "--dim=N=1..64:16,1"
    first = emitted(model, dims, "--name=m").stdout
    for emit, words in (("ir", " likely @main N = 16 {"), ("loops", "  if likely %N == 1 {")):
        emitted(model, dims, f"--emit={emit}", "-o", tmp_path / "t")
        assert words in (tmp_path / "t").read_text()
        assert emitted(tmp_path / "t", "--name=m").stdout == first
    checked = dnncc.run([dnncc.DNNCC, model, dims, "--check"])
    assert checked.returncode == 0 and "bug" not in checked.stderr, checked.stderr


def test_entries(tmp_path):
    """each entry has likely extents of its own"""
    loops = emitted(lstm(tmp_path / "m.onnx"), "--entry=many:N=1..64:1,2", "--entry=few:N=1..64:3", "-O0", "--emit=loops").stdout
    many, few = loops.split("\nmain @")[1:]
    assert re.findall("if likely (.*) {", many) == ["%N == 1", "%N == 2"] and re.findall("if likely (.*) {", few) == ["%N == 3"]


@pytest.mark.parametrize("said, words", [
    (["--dim=N=1..64:65"], "want NAME=N, or NAME=1..N (and :A,B, likely extents between these)"),
    (["--dim=N=1..64:"], "want NAME=N"), (["--dim=N=1..64:1,,2"], "want NAME=N"), (["--dim=N=1..64:a"], "want NAME=N"), (["--dim=N=4:4"], "want NAME=N"),
    (["--dim=N=1..64:" + ",".join(map(str, range(1, 34)))], "at most 32 likely extents"), (["--dim=N=1..64:7,8,7"], "7 given twice"),
    (["--entry=a:N=1..64:", "--entry=b:N=1..64"], "want NAME=N"), (["--entry=a:N=1..64:7,x", "--entry=b:N=1..64"], "want DIM=N"),
    (["--entry=a:N=1..64:7", "--entry=b:N=1..60"], "bounds that a run keeps are one for all"),
])
def test_usage(said, words, tmp_path):
    done = dnncc.run([dnncc.DNNCC, lstm(tmp_path / "m.onnx"), *said, "-o", "-"])
    assert done.returncode == 1 and words in done.stderr and not done.stdout, done.stderr


@pytest.mark.parametrize("said", [["--emit=onnx", "-o", "m2.onnx"], ["--tune", "--schedule=m.schedules", "--limit=tune_seconds=0"], ["--flush-denormals", "--target=x86-64-v3", "-o", "m.c"],
                                  ["--quantize-weights=s8", "-o", "m.c"], ["--quantize=dynamic", "-o", "m.c"]], ids=lambda s: s[0])
def test_other_options(said, tmp_path):
    """what is about the model itself leaves likely extents out"""
    lstm(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, "m.onnx", "--dim=N=1..9:1,4", *said], cwd=tmp_path)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr


def test_ranges(tmp_path):
    """layers in bytes are those of the code for all extents"""
    lstm(tmp_path / "m.onnx")
    np.savez(tmp_path / "s.npz", x=np.random.default_rng(0).random((4, 1, 32), np.float32))
    dims = "--dim=N=1..9:1,4"
    assert dnncc.run([dnncc.DNNCC, "m.onnx", dims, "--calibrate=s.npz", "-o", "m.ranges"], cwd=tmp_path).returncode == 0
    done = dnncc.run([dnncc.DNNCC, "m.onnx", dims, "--quantize=m.ranges", "-O0", "-o", "m.c"], cwd=tmp_path)
    assert done.returncode == 0 and "have no code of their own" in done.stderr and "if (extent_N" not in (tmp_path / "m.c").read_text(), done.stderr


def test_many_ways(tmp_path):
    Network(0).save(tmp_path / "m.onnx", 3)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..9:1,2,3,4,5,6", "--dim=M=1..9:1,2,3,4,5,6", "-o", "-"])
    assert done.returncode == 1 and "combine to more than 32 ways" in done.stderr, done.stderr


HEAD = 'dnn 3\nmodule "m"\nsymbol N in [1, 9]\n'
GENERAL = 'func @main(%x "x": <N x 4 x f32>) -> ("y") {\n  %0 = neg(%x) : <N x 4 x f32>\n  yield(%0)\n}\n'
LIKELY = 'func @two(%x "x": <2 x 4 x f32>) -> ("y") likely @main N = 2 {\n  %0 = neg(%x) : <2 x 4 x f32>\n  yield(%0)\n}\n'


@pytest.mark.parametrize("text, words", [
    (GENERAL + LIKELY, None), (LIKELY + GENERAL, "cannot be likely @main"), (GENERAL + LIKELY + LIKELY.replace("two", "three").replace("@main", "@two"), "cannot be likely @two"),
    (GENERAL + LIKELY.replace("N = 2", "N = 10"), "an extent is 10, want 1 to 9"), (GENERAL + LIKELY.replace("N = 2", "M = 2"), "M"),
    (GENERAL + LIKELY.replace("2 x", "3 x"), "its ports are not those of func @main"), (GENERAL + LIKELY.replace('"x"', '"z"'), "its ports are not those"),
    (GENERAL + LIKELY + GENERAL.replace("@main", "@late"), "stands behind code for likely extents"), (GENERAL + LIKELY.replace("N = 2 ", ""), "a symbol"),
    (GENERAL + LIKELY.replace("N = 2", "N = 2,"), "a symbol"),
], ids=range(10))
def test_hand_written(text, words, tmp_path):
    """texts that are wrong are refused by name"""
    (tmp_path / "m.dnn").write_text(HEAD + text)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "-O0", "-o", "-"])
    assert (done.returncode, words or "") == ((3, words) if words else (0, "")) and (words or "") in done.stderr, done.stderr
    assert words or "if (extent_N == 2) {" in done.stdout


def test_check_runs_likely_extents(tmp_path):
    """--check compares runs with likely extents, too: a text whose functions differ is seen where one of them is left out"""
    (tmp_path / "m.dnn").write_text(HEAD + GENERAL + LIKELY.replace("neg", "abs"))
    done = dnncc.run([dnncc.DNNCC, "m.dnn", "--check", "--limit=likely_percent=100"], cwd=tmp_path)
    assert done.returncode == 70 and "bug in pass likely: --check: output 'y'" in done.stderr, done.stderr
    (tmp_path / "m.dnn").write_text(HEAD + GENERAL + LIKELY)
    done = dnncc.run([dnncc.DNNCC, "m.dnn", "--check", "--limit=likely_percent=100"], cwd=tmp_path)
    assert done.returncode == 0 and "check: likely: equal" in done.stderr, done.stderr
