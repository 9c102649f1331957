# SPDX-License-Identifier: MIT
"""--run DIR: arrays in, arrays out. --help=json: the tables for programs."""
import json
import re
import sys

import dnncc
import numpy as np
import onnx
import pytest

sys.path.insert(0, str(dnncc.ROOT / "test" / "python"))
import models  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


def run(folder, model=DIGITS, *options):
    return dnncc.run([dnncc.DNNCC, model, f"--run={folder}", *options])


def refused(folder, code, *words, options=()):
    before = sorted(folder.iterdir())
    done = run(folder, DIGITS, *options)
    assert done.returncode == code and done.stderr.count("\n") == 1 and all(w in done.stderr for w in words), done.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", [(), ("--cc=cc -O1",), ("--target=native", "--threads=2"), ("--target=generic,x86-64", "--cc=cc -O1")], ids=str)
def test_results_are_those_of_the_c(options, tmp_path):
    x = np.random.default_rng(0).random((1, 1, 8, 8), np.float32)
    (tmp_path / "c").mkdir()
    dnncc.compile_model(DIGITS, tmp_path / "c", [o for o in options if not o.startswith(("--cc", "--threads"))])
    want, = dnncc.run_host(dnncc.build_host(tmp_path / "c", ["-O2"]), [x])
    np.save(tmp_path / "input_0.npy", x)
    assert run(tmp_path, DIGITS, *options).returncode == 0
    got = np.load(tmp_path / "output_0.npy")
    assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
    assert dnncc.run([dnncc.DNNCC, DIGITS, f"--test={tmp_path}"]).returncode == 0           # which reads the same
    assert run(tmp_path, DIGITS, f"--test={tmp_path}", *options).stdout.startswith("test ")
    np.save(tmp_path / "output_0.npy", 1 - got)
    assert run(tmp_path, DIGITS, f"--test={tmp_path}", *options).returncode == 70
    assert dnncc.run([dnncc.DNNCC, DIGITS, f"--test={tmp_path}"]).returncode == 70
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "input_0.npy", "output_0.npy"]


@pytest.mark.parametrize("type", [t for t in onnx.TensorProto.DataType.values() if t not in (0, 8, 14, 15)])
@pytest.mark.sample(2)
def test_every_type(type, tmp_path):
    """of those that numpy does not have the bits"""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(type)
    x = np.array([[1, 0, 1]]).astype(np.float32).astype(dtype)
    stored = x if x.dtype.isbuiltin == 1 else x.view({2: np.uint16}.get(x.itemsize, np.int8 if type in (22, 26) else np.uint8))
    np.save(tmp_path / "input_0.npy", stored)
    onnx.save(models.one("Identity", type, (1, 3), opset=25), tmp_path / "m.onnx")
    done = run(tmp_path, tmp_path / "m.onnx")
    assert done.returncode == 0, done.stderr
    got = np.load(tmp_path / "output_0.npy")
    assert got.dtype == stored.dtype and got.shape == (1, 3) and got.tobytes() == stored.tobytes()


def test_pb_does_as_well(tmp_path):
    x = np.ones((1, 1, 8, 8), np.float32)
    onnx.save_tensor(onnx.numpy_helper.from_array(x), tmp_path / "input_0.pb")
    assert run(tmp_path).returncode == 0
    want = (tmp_path / "output_0.npy").read_bytes()
    np.save(tmp_path / "input_0.npy", x)
    assert run(tmp_path).returncode == 0 and (tmp_path / "output_0.npy").read_bytes() == want


def test_mistakes(tmp_path):
    refused(tmp_path, 2, "input_0.pb")
    refused(tmp_path / "..", 2, "input_0.pb")
    for bad, words in ((np.ones((1, 1, 8, 7), np.float32), ["input_0.npy holds <1 x 1 x 8 x 7 x f32>", "'image' is <1 x 1 x 8 x 8 x f32>"]), (np.ones((64,), np.float32), ["'image'"]),
                       (np.ones((1, 1, 8, 8), np.float64), ["x f64>", "x f32>"]), (np.ones((1, 1, 8, 8), np.int32), ["'image'"])):
        np.save(tmp_path / "input_0.npy", bad)
        refused(tmp_path, 3, *words)
    np.save(tmp_path / "input_0.npy", np.ones((1, 1, 8, 8), np.float32))
    whole = (tmp_path / "input_0.npy").read_bytes()
    for length in (0, 5, 9, 60, 127, len(whole) - 1):
        (tmp_path / "input_0.npy").write_bytes(whole[:length])
        refused(tmp_path, 3, "input_0.npy cannot be read")
    (tmp_path / "input_0.npy").write_bytes(whole)
    (tmp_path / "output_0.npy").mkdir()
    refused(tmp_path, 2, "output_0.npy", "folder")
    refused(tmp_path, 1, "--run", options=["--calibrate=x"])


def test_help_for_programs_says_what_help_says():
    table = json.loads(dnncc.run([dnncc.DNNCC, "--help=json"]).stdout)
    text = dnncc.run([dnncc.DNNCC, "--help"]).stdout
    options = [" ".join(part.split()) for part in re.split(r"\n  (?=-)", text)[1:]]          # each with its lines joined
    assert [row["option"] for row in table["options"]] == [re.match("--info=json|--info=tokens|--info=names|--jit=best|--jit=fast|-[-a-zA-Z0-9]*", o)[0] for o in options]
    assert all(row["doc"] in option for row, option in zip(table["options"], options))
    assert dnncc.run([dnncc.DNNCC, "--version"]).stdout == f"dnncc {table['version']}\n"
    assert [row["value"] for row in table["run_codes"]] == sorted({row["value"] for row in table["run_codes"]}, reverse=True)
