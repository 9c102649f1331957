# SPDX-License-Identifier: MIT
"""Kernels of several results give the same bits as apart: random networks of element-wise operations around slices, transposes and
products, for the targets that this machine can run; so do those of reductions that share what they read (sums in vectors: nearly)."""
import pathlib
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_schedule import TARGETS, shape  # noqa: E402
from test_strips import BACKWARDS  # noqa: E402

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
@pytest.mark.slow
@pytest.mark.sample(2)
def test_same_bits(target, tmp_path):
    processor.require(target)
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
            if threads > 1:
                with open(folder / "model.c", "a") as file:
                    file.write(BACKWARDS)
            results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs))
        joined += kernels[0] - kernels[1]
        assert kernels[1] <= kernels[0], text
        for other in results[1:]:
            for y, expected in zip(other, results[0], strict=True):
                np.testing.assert_array_equal(y, expected, err_msg=text)
    assert joined >= 4


def rows_network(seed):
    """reductions of one tensor and of what is made of it, most of them along the same dimensions"""
    r = random.Random(seed)
    dims = [r.choice([1, 2, 5]), r.choice([3, 16, 33]), r.choice([1, 7, 40])]
    usual = sorted(r.sample(range(3), r.randint(1, 2)))
    lines, results, values = [], [], ["%x"]

    def add(text, dims):
        lines.append(f"%{len(lines)} = {text} : {shape(*dims)}")
        return f"%{len(lines) - 1}"

    def reduce(x, axes, kind):
        kept = [d for k, d in enumerate(dims) if k not in axes]
        return add(f"reduce({x}, <{len(axes)} x i64> [{', '.join(map(str, axes))}]) kind={kind}", kept), kept

    for _ in range(r.randint(3, 7)):
        axes = usual if r.random() < 0.8 else sorted(r.sample(range(3), 2))
        x, form = r.choice(values), r.choice(["plain", "plain", "unary", "shifted"])
        if form == "unary":
            x = add(f"{r.choice(['abs', 'neg', 'exp'])}({x})", dims)
        elif form == "shifted":
            mean, kept = reduce(x, axes, "sum")
            mean = add(f"mul({mean}, {float(1 / np.prod([dims[a] for a in axes]))!r})", kept)
            if r.random() < 0.5:
                results.append(mean)
            x = add(f"sub({x}, {add(f'broadcast({mean}) dims=[{chr(44).join(str(d) for d in range(3) if d not in axes)}]', dims)})", dims)
            x = add(f"mul({x}, {x})", dims)
        y, kept = reduce(x, axes, r.choice(["sum", "max", "min", "prod"] if form == "plain" else ["sum", "max"]))
        results.append(add(f"sigmoid({y})", kept) if r.random() < 0.3 else y)
        if r.random() < 0.2:
            values.append(add(f"tanh({r.choice(values)})", dims))
    results = list(dict.fromkeys(results))
    names = ", ".join(f'"y{k}"' for k in range(len(results)))
    body = "\n".join("  " + line for line in lines)
    text = f'dnn 1\nmodule "m"\nfunc @main(%x "x": {shape(*dims)}) -> ({names}) {{\n{body}\n  yield({", ".join(results)})\n}}\n'
    return text, [np.random.default_rng(seed).standard_normal(dims, dtype=np.float32)]


@pytest.mark.parametrize("target", ["generic", *TARGETS])
@pytest.mark.slow
@pytest.mark.sample(4)
def test_rows(target, tmp_path):
    processor.require(target)
    joined = 0
    for seed in range(6):
        text, inputs = rows_network(seed)
        (tmp_path / "program.dnn").write_text(text)
        results, kernels = [], []
        for number, passes in enumerate(["", "siblings,"]):
            folder = tmp_path / f"{seed}.{number}"
            folder.mkdir()
            options = [f"--target={target}", "--passes=" + PASSES.format(passes)]
            kernels.append(dnncc.run([dnncc.DNNCC, tmp_path / "program.dnn", "--emit=loops", "-o", "-", *options]).stdout.count("call @"))
            dnncc.compile_model(tmp_path / "program.dnn", folder, options)
            results.append(dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs))
        joined += kernels[0] - kernels[1]
        for y, expected in zip(results[1], results[0], strict=True):
            if target == "generic":
                np.testing.assert_array_equal(y, expected, err_msg=text)
            else:
                np.testing.assert_allclose(y, expected, rtol=2e-5, atol=1e-5, err_msg=text)
    assert joined >= 8


def test_reductions_share_a_loop(tmp_path):
    """least and largest of a tensor, as dynamic quantization wants them; but not what the other one needs"""
    text = '''dnn 1
module "m"
func @main(%x "x": <9 x 100 x f32>) -> ("least", "most", "spread") {
  %0 = reduce(%x, <2 x i64> [0, 1]) kind=min : <f32>
  %1 = reduce(%x, <2 x i64> [0, 1]) kind=max : <f32>
  %2 = broadcast(%1) : <9 x 100 x f32>
  %3 = sub(%x, %2) : <9 x 100 x f32>
  %4 = exp(%3) : <9 x 100 x f32>
  %5 = reduce(%4, <2 x i64> [0, 1]) : <f32>
  yield(%0, %1, %5)
}
'''
    (tmp_path / "program.dnn").write_text(text)
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "program.dnn", "--emit=loops", "--passes=fuse,siblings,lower", "-o", "-"]).stdout
    assert loops.count("call @") == 1
    assert loops.count("for %") == 2


CACHES = """dnn 1
module "m"
func @main(%a "a": <1 x 3 x 5 x 8 x f32>, %b "b": <1 x 3 x 1 x 8 x f32>, %c "c": <1 x 3 x 5 x 8 x f32>, %t "t": <7 x 8 x f32>, %u "u": <9 x 8 x f32>, %i "i": <2 x i64>, %j "j": <2 x i64>) -> ("k", "v", "e") {
  %0 = concat(%a, %b) axis=2 : <1 x 3 x 6 x 8 x f32>
  %1 = concat(%c, %b) axis=2 : <1 x 3 x 6 x 8 x f32>
  %2 = gather(%t, %i) : <2 x 8 x f32>
  %3 = gather(%u, %j) : <2 x 8 x f32>
  %4 = add(%2, %3) : <2 x 8 x f32>
  yield(%0, %1, %4)
}
"""


def test_launches(tmp_path):
    """where each kernel is one, caches get a row more together, and lookups are read where they are added up; elsewhere concats stay alone"""
    (tmp_path / "m.dnn").write_text(CACHES)
    texts = {}
    for target in ("cuda-sm_90", "x86-64-v3"):
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", f"--target={target}", "--passes=fuse,siblings", "--emit=ir", "-o", "-"])
        assert done.returncode == 0, done.stderr
        texts[target] = done.stdout
    assert texts["x86-64-v3"].count("fusion(") <= 1 and "  %0 = concat(" in texts["x86-64-v3"]
    joined = texts["cuda-sm_90"]
    assert joined.count("fusion(") == 2 and "  %0, %1 = fusion(" in joined and joined.index("concat(%c") < joined.index("yield(%2, %3)") < joined.index("gather("), joined
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=cuda-sm_90", "--check", "-o", tmp_path / "m.cu"])
    assert done.returncode == 0 and "siblings: equal" in done.stdout + done.stderr and "grid: equal" in done.stdout + done.stderr, done.stderr


OUTER = CACHES.replace("<1 x 3 x 5", "<1 x 1 x 5").replace("<1 x 3 x 1", "<1 x 1 x 1").replace("<1 x 3 x 6", "<1 x 1 x 6")


def test_what_lies_one_behind_the_other(tmp_path):
    """is no kernel, and stays none"""
    (tmp_path / "m.dnn").write_text(OUTER)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=cuda-sm_90", "--passes=fuse,siblings", "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and "  %0 = concat(" in done.stdout and "  %1 = concat(" in done.stdout, done.stdout
