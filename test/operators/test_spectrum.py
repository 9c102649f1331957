# SPDX-License-Identifier: MIT
"""Fourier transforms: the C of targets gives the interpreter's bits, and both are near to double. All lengths to 300 are in
test/unit/lower_spectrum_test.c."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

TARGETS = ["generic", "x86-64-v3", "x86-64-v4", "aarch64", "riscv64-v", "cuda-sm_80"]
# shape but for parts, axis, parts, inverse, onesided, and n where that does not follow
CASES = [((1, 4096), 1, 2, 0, 0, None), ((1, 97), 1, 2, 0, 0, None), ((40, 96), 1, 1, 0, 1, None), ((3, 1000), 1, 1, 0, 1, None),
         ((2, 25, 33), 1, 2, 1, 0, None), ((5, 12, 3), 1, 2, 0, 0, None), ((19, 65), 1, 2, 1, 1, 128), ((1, 260), 1, 2, 1, 1, 518),
         ((2, 3, 30), 2, 1, 0, 0, None), ((7, 1), 1, 2, 0, 0, None)]


def model_of_cases(path):
    nodes, inputs, outputs, constants = [], [], [], []
    for k, (shape, axis, n_parts, inverse, onesided, n) in enumerate(CASES):
        out = list(shape)
        out[axis] = n if n else shape[axis] // 2 + 1 if onesided else shape[axis]
        nodes.append(helper.make_node("DFT", [f"x{k}", f"n{k}" if n else "", f"axis{k}"], [f"y{k}"], inverse=inverse, onesided=onesided))
        constants += [helper.make_tensor(name, TensorProto.INT64, [], [v]) for name, v in ((f"axis{k}", axis), (f"n{k}", n)) if v]
        inputs.append(helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, [*shape, n_parts]))
        outputs.append(helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, [*out, 1 if n else 2]))
    graph = helper.make_graph(nodes, "spectra", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def in_double(x, axis, inverse, onesided, n):
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if n:
        return np.fft.irfft(z, n, axis)[..., None]
    y = np.fft.ifft(z, axis=axis) if inverse else np.fft.fft(z, axis=axis)
    y = np.take(y, np.arange(y.shape[axis] // 2 + 1), axis) if onesided else y
    return np.stack([y.real, y.imag], -1)


@pytest.mark.sample(6)
@pytest.mark.parametrize("target", TARGETS)
def test_spectrum(target, tmp_path):
    random = np.random.default_rng(40)
    given = [random.standard_normal((*c[0], c[2])).astype(np.float32) for c in CASES]
    model_of_cases(tmp_path / "model.onnx")
    for k, x in enumerate(given):
        np.save(tmp_path / f"input_{k}.npy", x)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "model.onnx", f"--target={target}", f"--run={tmp_path}", "-q"])
    assert done.returncode == 0, done.stderr
    meant = [np.load(tmp_path / f"output_{k}.npy") for k in range(len(CASES))]
    for (shape, axis, _, inverse, onesided, n), x, got in zip(CASES, given, meant):
        want = in_double(x, axis, inverse, onesided, n)
        length = n or shape[axis]
        assert np.abs(got - want).max() <= 4e-7 * max(np.log2(length), 1) * np.abs(want).max(), (shape, axis)
    if target.startswith("cuda"):       # launches, of all lines each, in the interpreter
        return
    processor.require(target)
    for threads in ("1", "3") if target == "x86-64-v3" else ("1",):
        dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [f"--target={target}", f"--threads={threads}"])
        if threads != "1":              # lines are tasks
            with open(tmp_path / "model.c", "a") as source:
                source.write((dnncc.ROOT / "test/threads/spawn.c").read_text())
        flags = dnncc.SANITIZE if target == "generic" else ["-O1"]
        program = dnncc.build_host(tmp_path, flags, emulator=processor.emulator(target))
        for k, (got, want) in enumerate(zip(dnncc.run_host(program, given), meant)):
            assert got.tobytes() == want.tobytes(), (CASES[k], threads, np.abs(got - want).max())


def test_not_more_than_a_million(tmp_path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 10, 2])
    n = helper.make_tensor("n", TensorProto.INT64, [], [1_048_577])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1_048_577, 2])
    graph = helper.make_graph([helper.make_node("DFT", ["x", "n"], ["y"])], "long", [x], [y], [n])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), tmp_path / "model.onnx")
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "model.onnx", tmp_path)
    assert error.value.code == 4 and "a transform of 1048577 elements, want at most 1048576" in error.value.text, error.value
