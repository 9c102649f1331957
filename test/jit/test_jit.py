# SPDX-License-Identifier: MIT
"""--jit: what LLVM makes of a program in memory gives the interpreter's bits. Where LLVM is missing these tests are skipped, and say so."""
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
NODES = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
SMALL = ["mnist_cnn", "resnet8_fp32", "resnet8_int8", "dscnn_kws_int8", "micro_kws_qoperator", "ncf_recommender"]
LARGE = ["cct2_vit", "nanodet_m_320", "silero_vad", "super_resolution", "magika_v3", "xgboost_trees", "yunet_face", "stories260k_prefill"]
TARGETS = ["generic", "x86-64", "x86-64-v3", "x86-64-v4"]


def missing():
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros", "--jit"])
    return done.stderr if done.returncode == dnncc.UNSUPPORTED else None


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"LLVM is missing: {missing()}")


def run(model, folder, *options, timeout=120):
    return dnncc.run([dnncc.DNNCC, model, f"--run={folder}", "-q", *options], timeout=timeout)


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return a.tobytes() == b.tobytes()
    nan = np.isnan(a) & np.isnan(b)
    return np.where(nan, 0, a).tobytes() == np.where(nan, 0, b).tobytes()


def results(model, data, folder, *options, timeout=120):
    """what a run gives: arrays, or the code that it ends with and what it says"""
    shutil.copytree(data, folder, dirs_exist_ok=True)
    done = run(model, folder, *options, timeout=timeout)
    if done.returncode:
        return done.returncode, done.stderr
    return 0, {path.name: np.load(path) for path in sorted(folder.glob("output_*.npy"))}


def beside(model, data, tmp_path, *options, jit=("--jit=fast", "--jit"), timeout=120):
    """False: the interpreter does not run it either"""
    code, want = results(model, data, tmp_path / "interpreter", *options, timeout=timeout)
    for number, how in enumerate(jit):
        own, got = results(model, data, tmp_path / str(number), *options, how, timeout=timeout)
        if own == dnncc.UNSUPPORTED and code == 0:
            pytest.skip(got)
        assert own == code, got
        if code == 0:
            assert want.keys() == got.keys() and want
            assert all(same(want[name], got[name]) for name in want), [name for name in want if not same(want[name], got[name])]
    return code == 0


def runs_here(target):
    return not target.startswith("x86-64-") or dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros", "--jit=fast", f"--target={target}"]).returncode == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", SMALL)
@pytest.mark.sample(8)
def test_models(model, target, tmp_path):
    if not (MODELS / model).exists() or not runs_here(target):
        pytest.skip(f"no {model} here, or no {target}")
    assert beside(MODELS / model / "model.onnx", MODELS / model / "test_data_set_0", tmp_path, f"--target={target}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", SMALL)
@pytest.mark.sample(12, each=False)
def test_threads(model, target, tmp_path):
    """parallel loops are the runtime's, and give the bits of one thread"""
    if not (MODELS / model).exists() or not runs_here(target):
        pytest.skip(f"no {model} here, or no {target}")
    for threads in (2, 3):
        assert beside(MODELS / model / "model.onnx", MODELS / model / "test_data_set_0", tmp_path / str(threads), f"--target={target}", f"--threads={threads}")


@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize("model", LARGE)
@pytest.mark.long
def test_large_models(model, target, tmp_path):
    if not (MODELS / model).exists() or not runs_here(target):
        pytest.skip(f"no {model} here, or no {target}")
    shapes = [line.split() for line in (MODELS / model / "shapes.txt").read_text().splitlines()]
    inputs = [f"--input={name}={shape}" for name, _, shape in shapes]
    assert beside(MODELS / model / "model.onnx", MODELS / model / "test_data_set_0", tmp_path, f"--target={target}", *inputs, jit=["--jit"], timeout=900)


@pytest.mark.parametrize("case", sorted(path.name for path in NODES.iterdir()))
@pytest.mark.sample(40)
def test_operators(case, tmp_path):
    """the models of ONNX's backend tests, one operator each, as far as the interpreter runs them by themselves"""
    data = NODES / case / "test_data_set_0"
    if not data.exists() or not any(data.iterdir()):
        pytest.skip("no data")
    target = TARGETS[len(case) % 4]
    if not runs_here(target):
        target = "generic"
    beside(NODES / case / "model.onnx", data, tmp_path, f"--target={target}", jit=["--jit=fast"])


# ---- the command line ----

@pytest.mark.parametrize("jit", [(), ("--jit",), ("--jit=fast",), ("--jit=best", "--target=native"), ("--jit", "--target=generic,x86-64")], ids=str)
def test_inputs_that_dnncc_makes(jit):
    done = run(DIGITS, "random", *jit)
    assert done.returncode == 0, done.stderr
    mean, low, high = map(float, re.search(r"^output 'probabilities': f32 1 x 10, mean (\S+), from (\S+) to (\S+)$", done.stdout, re.M).groups())
    assert abs(mean - 0.1) < 1e-6 and 0 < low < mean < high < 1
    assert bool(re.search(r"^compiled in [\d.]+ ms, ran in [\d.]+ ms$", done.stdout, re.M)) == bool(jit)
    assert run(DIGITS, "zeros", *jit).stdout.splitlines()[-1] != done.stdout.splitlines()[-1]


def test_folders_of_these_names(tmp_path):
    np.save(tmp_path / "input_0.npy", np.zeros((1, 1, 8, 8), np.float32))
    for name in ("random", "zeros"):
        shutil.copytree(tmp_path, tmp_path / name, ignore=shutil.ignore_patterns("random", "zeros"))
        done = dnncc.run([dnncc.DNNCC, DIGITS, f"--run=./{name}", "--jit=fast"], cwd=tmp_path)
        assert done.returncode == 0 and (tmp_path / name / "output_0.npy").exists(), done.stderr


@pytest.mark.parametrize("options, words", [
    (["--jit"], "--jit wants --test, --run, --check, --bench, --tune or --calibrate=PATH"),
    (["--jit", "--run=zeros", "--cc=cc"], "--jit"),
    (["--jit", "--run=zeros", "--fast-libm"], "--jit"),
    (["--jit", "--run=zeros", "--step"], "--jit"),
    (["--jit=slow", "--run=zeros"], "--jit"),
    (["--jit", "--run=zeros", "--report=r.json"], "unless with --bench"),
    (["--jit", "--tune", "--schedule=s", "--cache=c"], "--cache"),
], ids=str)
def test_what_does_not_go_together(options, words):
    done = dnncc.run([dnncc.DNNCC, DIGITS, *options])
    assert done.returncode == dnncc.USAGE and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


def test_targets_of_other_processors():
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=cortex-m4", "--jit", "--run=zeros"])
    assert done.returncode == dnncc.UNSUPPORTED and done.stderr.count("\n") == 1 and "cortex-m4" in done.stderr


def test_check_and_bench():
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--jit=fast", "--check", "--target=x86-64"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--jit", "--bench=1"])
    assert done.returncode == 0 and re.search(r"^median +[\d.]+ [mu]s", done.stdout, re.M), done.stderr


def test_wrong_results_are_found(tmp_path):
    np.save(tmp_path / "input_0.npy", np.random.default_rng(0).random((1, 1, 8, 8), np.float32))
    assert run(DIGITS, tmp_path, "--jit=fast").returncode == 0
    assert dnncc.run([dnncc.DNNCC, DIGITS, f"--test={tmp_path}", "--jit=fast"]).returncode == 0
    np.save(tmp_path / "output_0.npy", 1 - np.load(tmp_path / "output_0.npy"))
    assert dnncc.run([dnncc.DNNCC, DIGITS, f"--test={tmp_path}", "--jit=fast"]).returncode == dnncc.INTERNAL


def test_without_the_library(tmp_path):
    """files that are none are found first: one line, exit 4, and the interpreter is there"""
    names = set(re.findall(rb"libLLVM[-.\w]*so[.\d]*", pathlib.Path(dnncc.DNNCC).read_bytes()))
    if not names:
        pytest.skip("dnncc was built without LLVM")
    for name in names:
        (tmp_path / name.decode()).write_text("no library")
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros", "--jit"], env=env)
    assert done.returncode == dnncc.UNSUPPORTED and done.stderr.count("\n") == 1 and "libllvm" in done.stderr, done.stderr
    assert dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros"], env=env).returncode == 0
