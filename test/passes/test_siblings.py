"""Kernels of several results give the same bits as apart: random networks of element-wise operations around slices, transposes and
products, for the targets that this machine can run."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from test_schedule import TARGETS, here, shape  # noqa: E402

PASSES = "fuse,{}lower,vectorize,parallelize,legalize,plan"


def network(seed):
    """as text; its inputs"""
    r = random.Random(seed)
    rows = r.choice([1, 3, 8])
    columns = r.choice([rows, 19, 40])
    wide = [rows, columns + 5]
    inputs = {"a": [rows, columns], "b": [rows, columns], "c": wide, "w": [columns, columns + 5]}
    values, lines = ["%a", "%b"], []

    def add(text, dims):
        lines.append(f"%{len(lines)} = {text} : {shape(*dims)}")
        return f"%{len(lines) - 1}"

    for _ in range(r.randint(6, 14)):
        x, y = r.choice(values), r.choice(values)
        kind = r.choice(["unary", "unary", "binary", "binary", "binary", "slice", "transpose", "dot"])
        if kind == "unary":
            values.append(add(f"{r.choice(['neg', 'abs', 'sigmoid', 'tanh'])}({x})", [rows, columns]))
        elif kind == "binary":
            values.append(add(f"{r.choice(['add', 'mul', 'sub', 'max'])}({x}, {y})", [rows, columns]))
        elif kind == "transpose" and rows == columns:
            values.append(add(f"transpose({x}) perm=[1, 0]", [rows, columns]))
        else:
            source = add(f"dot({x}, %w) contract_a=[1] contract_b=[0]", wide) if kind == "dot" else "%c"
            values.append(add(f"slice({source}, <2 x i64> [0, {r.randint(0, 5)}], <2 x i64> 1)", [rows, columns]))
    results = r.sample(values[2:], min(len(values) - 2, r.randint(2, 5)))
    arguments = ", ".join(f'%{name} "{name}": {shape(*dims)}' for name, dims in inputs.items())
    names = ", ".join(f'"y{k}"' for k in range(len(results)))
    body = "\n".join("  " + line for line in lines)
    text = f'dnn 1\nmodule "m"\nfunc @main({arguments}) -> ({names}) {{\n{body}\n  yield({", ".join(results)})\n}}\n'
    numbers = np.random.default_rng(seed)
    return text, [numbers.standard_normal(dims, dtype=np.float32) for dims in inputs.values()]


@pytest.mark.parametrize("target", ["generic", *TARGETS])
def test_same_bits(target, tmp_path):
    if target != "generic" and not here(target):
        pytest.skip(f"this machine is no {target}")
    joined = 0
    for seed in range(4):
        text, inputs = network(seed)
        (tmp_path / "program.dnn").write_text(text)
        results, kernels = [], []
        for number, (passes, threads) in enumerate([("", 1), ("siblings,", 1), ("siblings,", 2)]):
            folder = tmp_path / f"{seed}.{number}"
            folder.mkdir()
            options = [f"--target={target}", f"--threads={threads}", "--passes=" + PASSES.format(passes)]
            loops = dnncc.run([dnncc.DNNCC, tmp_path / "program.dnn", "--emit=loops", "-o", "-", *options]).stdout
            kernels.append(loops.count("call @"))
            dnncc.compile_model(tmp_path / "program.dnn", folder, options)
            results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs))
        joined += kernels[0] - kernels[1]
        assert kernels[1] <= kernels[0], text
        for other in results[1:]:
            for y, expected in zip(other, results[0], strict=True):
                np.testing.assert_array_equal(y, expected, err_msg=text)
    assert joined >= 4
