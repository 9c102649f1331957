# SPDX-License-Identifier: MIT
"""Conformance cases of the onnx wheel as CUDA C by the executor, against dnncc's own interpreter: whole numbers equal to the bit, floats
near; with --exact floats, too, are equal to the bit. Cases are compiled and run in batches; every operator that passes elsewhere is in one."""
import collections
import pathlib
import sys

import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
from against import near, reference, static_ports  # noqa: E402

TARGET = "cuda-sm_80"
AT_LEAST, BATCH = 400, 20
PASSING = pathlib.Path(__file__).resolve().parents[1] / "conformance" / "passing.txt"


def cases():
    """[(name, folder)] of AT_LEAST cases: for each operator the first that has it, then every n-th of the others"""
    passing = set(PASSING.read_text().split())
    every = [(c.name, pathlib.Path(c.model_dir)) for kind in ("node", "simple", "pytorch-operator", "pytorch-converted")
             for c in load_model_tests(kind=kind) if c.name + "_cpu" in passing]
    seen, first, others = set(), [], []
    for name, folder in sorted(every):
        model = onnx.load(folder / "model.onnx")
        if not static_ports(model, folder):
            continue
        operators = {n.op_type for n in model.graph.node}
        (others if operators <= seen else first).append((name, folder))
        seen |= operators
    step = max(1, len(others) // max(1, AT_LEAST - len(first)))
    return first + others[::step]


CASES = cases()
BATCHES = [CASES[i::len(CASES) // BATCH] for i in range(len(CASES) // BATCH)]


def run_batch(batch, options, tmp_path, executions=cuda.TWO, flags=cuda.OPTIMIZE):
    """{case: what is wrong}, and how many were refused"""
    paths, inputs, want, wrong, refused = [], {}, {}, {}, []
    for k, (name, folder) in enumerate(batch):
        work = tmp_path / f"c{k}"
        work.mkdir()
        arrays = [dnncc.load_tensor(folder / "test_data_set_0" / f"input_{i}.pb") for i in range(len(list((folder / "test_data_set_0").glob("input_*.pb"))))]
        bound = cuda.bindings(folder / "model.onnx", arrays)
        try:
            paths.append(cuda.compile_model(folder / "model.onnx", work, [*bound, *options], name=f"c{k}", target=TARGET))
        except dnncc.CompileError as error:
            if error.code != dnncc.UNSUPPORTED:
                raise
            refused.append((name, error.text.strip()))
            continue
        inputs[f"c{k}"] = arrays
        want[f"c{k}"] = reference(folder / "model.onnx", arrays, [*bound, *options], work)
    results = cuda.run(cuda.build(paths, tmp_path, flags=flags), inputs, tmp_path, executions)
    for name, got in results.items():
        what = str(got) if isinstance(got, cuda.Found) else near(got, want[name], "--exact" in options)
        if what:
            wrong[batch[int(name[1:])][0]] = what
    return wrong, refused


def test_cases():
    """what this file runs"""
    operators = collections.Counter(n.op_type for _, folder in CASES for n in onnx.load(folder / "model.onnx").graph.node)
    assert len(CASES) >= 300 and len(operators) > 150 and sum(map(len, BATCHES)) == len(CASES)


@pytest.mark.parametrize("number", [pytest.param(i, marks=() if i % 10 == 0 else pytest.mark.long) for i in range(len(BATCHES))])
def test_batch(number, tmp_path):
    wrong, refused = run_batch(BATCHES[number], ["--exact"] if number % 2 else [], tmp_path)
    assert not wrong, "\n".join(f"{name}: {what[:300]}" for name, what in wrong.items())
    assert len(refused) <= 4, refused           # loops over data that only the device knows


@pytest.mark.long
@pytest.mark.parametrize("number", range(0, len(BATCHES), 3))
def test_every_access(number, tmp_path):
    """no race, no access outside of a block"""
    wrong, _ = run_batch(BATCHES[number], [], tmp_path, "0", cuda.CHECKED)
    assert not wrong, "\n".join(f"{name}: {what[:300]}" for name, what in wrong.items())
