# SPDX-License-Identifier: MIT
"""Small models like those in public reports about other tools, ../shared/cases, with inputs and right values; test/operators/test_reported.py makes models of
the same kinds for a clone that stands alone."""
import pathlib
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

CASES = dnncc.ROOT.parent / "shared" / "cases"
FOLDERS = sorted([*CASES.glob("wrong/*/model.onnx"), *CASES.glob("right/*/model.onnx")]) if CASES.exists() else []
# It ends after fewer iterations than the model declares rows: the run is an error that says so.
DECLARED_OTHERWISE = ("loop_early_exit_declared10",)
# A point at 1e10 is reflected to an element that is a matter of rounding: with fma, which vectors have, to another one.
ROUNDED = ("gridsample_nan_huge_refl",)
TOLERANCE = 1e-4                        # of the largest output; integers are exact


def name(path):
    return f"{path.parent.parent.name}-{path.parent.name}"


def inputs_of(path):
    graph = onnx.load(path, load_external_data=False).graph
    constants = {i.name for i in graph.initializer} | {i.values.name for i in graph.sparse_initializer}
    given = np.load(path.parent / "inputs.npz") if (path.parent / "inputs.npz").exists() else {}
    return [given[i.name] for i in graph.input if i.name not in constants]


def expected_of(path):
    kept = np.load(path.parent / "expected.npz")
    return [kept[f"output_{k}"] for k in range(len(kept.files))]


def check(results, path):
    wanted = expected_of(path)
    assert len(results) == len(wanted)
    for k, (got, want) in enumerate(zip(results, wanted)):
        assert got.shape == want.shape, f"output {k} is {got.shape}, want {want.shape}"
        if want.dtype.kind not in "fV":
            np.testing.assert_array_equal(got, want, f"output {k}")
            continue
        if want.dtype.kind == "V" or got.dtype.kind != "f":             # bf16 and what is shorter: the bits
            np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"), f"output {k}")
            continue
        got, want = got.astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(want)
        np.testing.assert_allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE * np.max(np.abs(want[finite]), initial=0), equal_nan=True, err_msg=f"output {k}")


def run(path, folder):
    for k, array in enumerate(inputs_of(path)):
        np.save(folder / f"input_{k}.npy", array)
    return dnncc.run([dnncc.DNNCC, path, f"--run={folder}", "-q"])


@pytest.mark.parametrize("path", [p for p in FOLDERS if not p.parent.name.startswith(DECLARED_OTHERWISE)], ids=name)
def test_case(path, tmp_path):
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    check([np.load(tmp_path / f"output_{k}.npy") for k in range(len(expected_of(path)))], path)


@pytest.mark.sample(7, each=False)
@pytest.mark.parametrize("target", ["generic", "native"])
@pytest.mark.parametrize("path", [p for p in FOLDERS if not p.parent.name.startswith(DECLARED_OTHERWISE + ROUNDED)], ids=name)
def test_compiled_case(path, target, tmp_path):
    dnncc.compile_model(path, tmp_path, [f"--target={target}", "-q"])
    check(dnncc.run_host(dnncc.build_host(tmp_path, ["-O1"]), inputs_of(path)), path)


@pytest.mark.parametrize("path", [p for p in FOLDERS if p.parent.name.startswith(DECLARED_OTHERWISE)], ids=name)
def test_other_extents_than_declared_are_errors(path, tmp_path):
    """of the run"""
    done = run(path, tmp_path)
    assert done.returncode != 0 and "error" in done.stderr and not list(tmp_path.glob("output_*"))
