# SPDX-License-Identifier: MIT
"""Attention as one kernel of blocks of warps (engines/grid/attention_warps.c): run by the executor, looked at by nvcc."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
from test_warp_products import cuobjdump  # noqa: E402

# heads, rows, keys, channels of queries and keys, of values; mask
CASES = {
    "whole": (2, 32, 64, 64, 64, None),
    "several_blocks": (3, 70, 200, 64, 64, None),
    "causal": (2, 130, 130, 32, 48, "causal"),
    "window": (2, 150, 150, 32, 32, "window"),
    "padding": (2, 40, 300, 128, 128, "padding"),
    "tokens": (12, 128, 128, 64, 64, "padding"),
}
# every execution of a text, with each access looked at; faster code, which the same executions say less about, in the tier all
EXECUTIONS = pytest.mark.parametrize("flags", [pytest.param(cuda.OPTIMIZE, marks=pytest.mark.long), pytest.param(cuda.CHECKED, marks=pytest.mark.slow)])
TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2, "": 4e-6}


def hidden(case):
    """what a constant mask adds"""
    _, rows, keys, _, _, mask = case
    ahead = np.arange(keys)[None] - np.arange(rows)[:, None] - (keys - rows)
    return np.where((ahead <= 0) & ((ahead > -20) | (mask == "causal")), 0, -np.inf).astype(np.float32)


def model(case, path):
    heads, rows, keys, depth, width, mask = case
    inputs = [("q", [1, heads, rows, depth]), ("k", [1, heads, keys, depth]), ("v", [1, heads, keys, width])]
    constants = [numpy_helper.from_array(np.float32(depth ** -.5), "scale")]
    nodes = [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "kt"], ["dots"]),
             helper.make_node("Mul", ["dots", "scale"], ["scores" if mask else "seen"])]
    if mask == "padding":
        inputs.append(("m", [1, 1, 1, keys]))
    elif mask:
        constants.append(numpy_helper.from_array(hidden(case), "m"))
    if mask:
        nodes.append(helper.make_node("Add", ["scores", "m"], ["seen"]))
    nodes += [helper.make_node("Softmax", ["seen"], ["shares"], axis=-1), helper.make_node("MatMul", ["shares", "v"], ["y"])]
    graph = helper.make_graph(nodes, "attention", [helper.make_tensor_value_info(n, T.FLOAT, s) for n, s in inputs],
                              [helper.make_tensor_value_info("y", T.FLOAT, [1, heads, rows, width])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def inputs(case):
    heads, rows, keys, depth, width, mask = case
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((1, heads, rows, depth), (1, heads, keys, depth), (1, heads, keys, width))]
    if mask == "padding":
        arrays.append(np.where(np.arange(keys) < max(keys - 77, 20), 0, -10000).astype(np.float32).reshape(1, 1, 1, keys))
    return arrays


def want(case, q, k, v, m=None):
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * case[3] ** -.5
    if case[5]:
        scores = scores + (m if case[5] == "padding" else hidden(case))
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ v


def compile_schedule(onnx_file, folder, name, begin, words, target, options=()):
    """with the attention's schedule, which begins so, written into the Tensor IR"""
    written = folder / f"{name}.dnn"
    done = dnncc.run([dnncc.DNNCC, onnx_file, f"--target={target}", *options, "--emit=ir", "-o", written])
    assert done.returncode == dnncc.OK, done.stderr
    text, count = re.subn(rf'schedule="{begin}[^"]*"', f'schedule="{words}"', written.read_text())
    assert count == 1
    written.write_text(text)
    return cuda.compile_model(written, folder, [], name=name, target=target)


def compile_case(name, folder, precision="f16", target="cuda-sm_80"):
    options = [f"--precision={precision}"] if precision else []
    path = cuda.compile_model(model(CASES[name], folder / f"{name}.onnx"), folder, options, name=name, target=target)
    text = path.read_text()
    assert "_of_sums(" in text and "Softmax" not in " ".join(cuda.kernels(text)), "attention is not one kernel"
    return path


@pytest.mark.parametrize("precision", ["f16", pytest.param("bf16", marks=pytest.mark.long), ""])
def test_cases(precision, tmp_path):
    paths = [compile_case(name, tmp_path, precision) for name in CASES]
    given = {name: inputs(case) for name, case in CASES.items()}
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path)
    for name, case in CASES.items():
        y = got[name]
        assert not isinstance(y, cuda.Found), (name, y)
        error = np.abs(y[0] - want(case, *given[name])).max()
        assert error < TOLERANCE[precision], (name, error)
        assert cuda.counts[name]["mma"] and cuda.counts[name]["conflicts"] == 0, (name, cuda.counts[name])


# Keys that warps of a block share, of cases and masks as above: one iteration, one that they do not fill, several; warps that have nothing but zeros
# behind the last key, and nothing but what is hidden; rows of several warps; numbers that are no powers of two
SHARED = [((2, 64, 64, 64, 64, None), "keys=16 tile=16 parts=4"), ((2, 40, 100, 64, 48, "padding"), "keys=32 tile=32 parts=4"),
          ((3, 70, 200, 64, 64, None), "keys=16 tile=32 warps=2 parts=4"), ((2, 130, 130, 32, 48, "causal"), "keys=16 tile=16 parts=8"),
          ((2, 150, 150, 32, 32, "window"), "keys=32 tile=64 warps=4 parts=2"), ((2, 40, 300, 64, 48, "padding"), "keys=48 tile=48 warps=3 parts=3"),
          ((2, 16, 48, 48, 80, None), "keys=16 tile=16 parts=3")]


def test_keys_are_shared_where_rows_are_few(tmp_path):
    for case, shared in ((12, 128, 128, 64, 64, "padding"), True), ((12, 384, 384, 64, 64, "padding"), True), ((16, 4096, 4096, 128, 128, None), False):
        done = dnncc.run([dnncc.DNNCC, model(case, tmp_path / "m.onnx"), "--target=cuda-sm_90", "--precision=f16", "--emit=ir", "-o", "-"])
        words, = re.findall(r'schedule="(keys=[^";]*)', done.stdout)
        assert ("parts=" in words) == shared, (case, words)


def compile_shared(i, folder, precision="f16", target="cuda-sm_80"):
    options = [f"--precision={precision}"] if precision else []
    case, words = SHARED[i]
    path = compile_schedule(model(case, folder / f"s{i}.onnx"), folder, f"s{i}", "keys=", words, target, options)
    assert "unload_f32" in path.read_text(), words
    return path


@pytest.mark.parametrize("precision", ["f16", *(pytest.param(p, marks=pytest.mark.long) for p in ("bf16", ""))])
def test_shared_keys(precision, tmp_path):
    paths = [compile_shared(i, tmp_path, precision) for i in range(len(SHARED))]
    given = {f"s{i}": inputs(case) for i, (case, _) in enumerate(SHARED)}
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path, cuda.SIX)
    for i, (case, words) in enumerate(SHARED):
        y = got[f"s{i}"]
        assert not isinstance(y, cuda.Found), (words, y)
        error = np.abs(y[0] - want(case, *given[f"s{i}"])).max()
        assert error < TOLERANCE[precision], (words, error)
        assert cuda.counts[f"s{i}"]["mma"] and cuda.counts[f"s{i}"]["conflicts"] == 0, (words, cuda.counts[f"s{i}"])


def test_shared_keys_races(tmp_path):
    some = (0, 2, 3)
    paths = [compile_shared(i, tmp_path) for i in some]
    given = {f"s{i}": inputs(SHARED[i][0]) for i in some}
    got = cuda.run(cuda.build(paths, tmp_path, flags=cuda.CHECKED), given, tmp_path)
    for i in some:
        y = got[f"s{i}"]
        assert not isinstance(y, cuda.Found) and np.abs(y[0] - want(SHARED[i][0], *given[f"s{i}"])).max() < TOLERANCE["f16"], y


@pytest.mark.parametrize("precision", ["f16", pytest.param("", marks=pytest.mark.long)])
def test_what_is_no_number(precision, tmp_path):
    """NaN stays in its row; scores of -inf are nothing, rows that have nothing else are NaN"""
    case, options = SHARED[1][0], [f"--precision={precision}"] if precision else []
    paths = [compile_shared(1, tmp_path, precision), cuda.compile_model(model(case, tmp_path / "m.onnx"), tmp_path, options, name="m")]
    programs = cuda.build(paths, tmp_path)
    q, k, v, m = inputs(case)
    q[0, 1, 3, 5], hidden_keys = np.nan, np.where(np.arange(case[2]) % 3, m, -np.inf).astype(np.float32)
    for mask in hidden_keys, np.full_like(m, -np.inf):
        with np.errstate(invalid="ignore"):
            wanted = want(case, q, k, v, mask)
        assert np.isnan(wanted[0, 1, 3]).all() and np.isnan(wanted).all() == (mask is not hidden_keys)
        for name, got in cuda.run(programs, {"s1": [q, k, v, mask], "m": [q, k, v, mask]}, tmp_path).items():
            assert not isinstance(got, cuda.Found), (name, got)
            np.testing.assert_allclose(got[0], wanted, atol=TOLERANCE[precision], rtol=0, err_msg=name)


SHARED_MISTAKES = {
    "nobody waits for the sums of others": (r"(unload_f32_\d+\(joined[^;]*;)\n +__syncthreads\(\);", r"\1"),
    "a part's shares are left out": (r" \+ sums\[at\d+ \+ 96\]", ""),
    "each has its own largest score": (r"exp_negative\(bests\[at\d+\] -\s+larger", "exp_negative(0.0f * larger"),
    "keys of the first part": (r"(first_key = [^;]*) / 2 \* 16", r"\1 / 2 * 0"),
    "values of the first part": (r"(transposed_of_sums\(acc, tile,\s+vs \+ \([^;]*?)warp2 / 2 \*", r"\1warp2 * 0 *"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 2 == 0 else pytest.mark.long) for i, w in enumerate(SHARED_MISTAKES)])
def test_shared_keys_mistakes(what, tmp_path):
    path = compile_shared(2, tmp_path)
    cuda.plant(path, SHARED_MISTAKES[what])
    case, given = SHARED[2][0], inputs(SHARED[2][0])
    got = cuda.run(cuda.build([path], tmp_path, flags=["-O1", "-Wno-error"]), {"s2": given}, tmp_path, cuda.SIX)["s2"]
    assert isinstance(got, cuda.Found) or not np.abs(got[0] - want(case, *given)).max() < TOLERANCE["f16"], what


def test_hidden_blocks_are_left_out(tmp_path):
    """a causal mask of many rows halves the products"""
    case = (2, 520, 520, 32, 48)
    paths = [cuda.compile_model(model((*case, mask), tmp_path / f"{mask}.onnx"), tmp_path, ["--precision=f16"], name=mask) for mask in ("causal", "padding")]
    cuda.run(cuda.build(paths, tmp_path), {mask: inputs((*case, mask)) for mask in ("causal", "padding")}, tmp_path)
    assert cuda.counts["causal"]["mma"] < cuda.counts["padding"]["mma"] * .7


def compile_iterations(folder):
    """several of them, of warps that share no keys"""
    return compile_schedule(model(CASES["several_blocks"], folder / "m.onnx"), folder, "several_blocks", "keys=", "keys=64 tile=32 warps=2", "cuda-sm_80", ["--precision=f16"])


def test_races(tmp_path):
    path = compile_iterations(tmp_path)
    given = inputs(CASES["several_blocks"])
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"several_blocks": given}, tmp_path)["several_blocks"]
    assert not isinstance(got, cuda.Found) and np.abs(got[0] - want(CASES["several_blocks"], *given)).max() < TOLERANCE["f16"], got


MISTAKES = {
    "no wait": (r"copy_wait\(0\);\n +__syncthreads\(\);", ""),
    "the stage of values off by one": (r"(multiply_f16_\w+_transposed_of_sums\([^;]*?iteration) % 2", r"\1 % 2 * 0"),
    "sums are not brought to the largest score": (r"\n +scale_f32_\d+\([^;]*;", ""),
    "words are not transposed": (r"load_matrices_transposed\(b, w", "load_matrices(b, w"),
    "warps do not wait": (r"__syncwarp\(\);", ""),
    "shares are not given back": (r"(?s)(memcpy\(tile, own\d*, sizeof tile\);.*?)memcpy\(tile, own\d*, sizeof tile\);", r"\1"),
    "sums of other rows": (r"(pair_f16\()two\[0\], two\[1\]", r"\1two[1], two[0]"),
    "columns less": (r"(key\d*) < 200", r"\1 < 150"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 3 == 0 else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    path = compile_iterations(tmp_path)
    cuda.plant(path, MISTAKES[what])
    given = inputs(CASES["several_blocks"])
    got = cuda.run(cuda.build([path], tmp_path), {"several_blocks": given}, tmp_path, cuda.SIX)["several_blocks"]
    assert isinstance(got, cuda.Found) or not np.abs(got[0] - want(CASES["several_blocks"], *given)).max() < TOLERANCE["f16"], what


# of few rows by a cache, in f32 whatever products are rounded to
STEPS = {"step": (4, 1, 129, 64, 64, None), "long_step": (2, 1, 1100, 64, 64, "padding"), "wide_step": (3, 1, 40, 128, 96, "padding"),
         "deep_step": (2, 1, 70, 256, 50, None), "three_words": (2, 1, 70, 96, 33, None), "short_step": (2, 1, 9, 512, 64, None)}


@pytest.mark.parametrize("flags", [cuda.OPTIMIZE, pytest.param(cuda.CHECKED, marks=pytest.mark.long)])
def test_steps(flags, tmp_path):
    paths = [cuda.compile_model(model(case, tmp_path / f"{name}.onnx"), tmp_path, ["--precision=f16"], name=name, target="cuda-sm_90")
             for name, case in STEPS.items()]
    assert all(len(cuda.kernels(p.read_text())) == 1 for p in paths)
    given = {name: inputs(case) for name, case in STEPS.items()}
    got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, cuda.SIX)
    for name, case in STEPS.items():
        assert not isinstance(got[name], cuda.Found), (name, got[name])
        assert np.abs(got[name][0] - want(case, *given[name])).max() < TOLERANCE[""], name


# of few rows by caches that are put together: pieces of keys, of values; which concats others read, too: outputs, and a sum in front or behind
CACHES = {
    "appended": (4, 1, (128, 1), (128, 1), 64, 64, "kv"),
    "odd": (3, 1, (5, 3), (5, 3), 32, 40, "kv"),
    "three": (2, 1, (37, 0, 60, 4), (90, 2, 9), 64, 96, "kv"),
    "long": (2, 1, (550, 41), (591,), 32, 64, "k"),
    "values alone": (2, 1, (50,), (49, 1), 64, 64, "v"),
    "read here alone": (2, 1, (70, 1), (70, 1), 64, 64, ""),
    "read behind": (2, 1, (70, 1), (70, 1), 64, 64, "kvs"),
}


def caches_model(case, path, whole=False, first=False):
    """whole: keys and values come as they are; first: who sums the keys stands in front of the attention"""
    heads, rows, keys, values, depth, width, others = case
    named = {"k": (keys, depth), "v": (values, width)}
    inputs, nodes, outputs = [("q", [1, heads, rows, depth])], [], [("y", [1, heads, rows, width])]
    for name, (counts, columns) in named.items():
        if whole or len(counts) == 1:
            inputs.append((name, [1, heads, sum(counts), columns]))
            continue
        inputs += [(f"{name}{i}", [1, heads, n, columns]) for i, n in enumerate(counts)]
        nodes.append(helper.make_node("Concat", [f"{name}{i}" for i in range(len(counts))], [name], axis=2))
        if name in others:
            outputs.append((name, [1, heads, sum(counts), columns]))
    look = [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "kt"], ["dots"]),
            helper.make_node("Mul", ["dots", "scale"], ["scores"]), helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
            helper.make_node("MatMul", ["shares", "v"], ["y"])]
    sums = [helper.make_node("ReduceSum", ["k", "axis"], ["s"], keepdims=0)] if "s" in others and not whole else []
    if sums:
        outputs.append(("s", [1, heads, depth]))
    constants = [numpy_helper.from_array(np.float32(depth ** -.5), "scale"), numpy_helper.from_array(np.array([2]), "axis")]
    graph = helper.make_graph(nodes + (sums + look if first else look + sums), "caches",
                              *([helper.make_tensor_value_info(n, T.FLOAT, s) for n, s in ports] for ports in (inputs, outputs)), constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def caches_inputs(case):
    heads, rows, keys, values, depth, width, _ = case
    random = np.random.default_rng(2)
    return [[random.standard_normal((1, heads, n, columns)).astype(np.float32) for n in counts]
            for counts, columns in (((rows,), depth), (keys, depth), (values, width))]


@EXECUTIONS
def test_caches(flags, tmp_path):
    """one kernel, the bits of one that is given them whole, the concats beside"""
    paths, given = [], {}
    for i, case in enumerate(CACHES.values()):
        apart, whole = (cuda.compile_model(caches_model(case, tmp_path / f"{name}{i}.onnx", name == "whole"), tmp_path, [], name=f"{name}{i}", target="cuda-sm_90")
                        for name in ("apart", "whole"))
        assert len(cuda.kernels(apart.read_text())) == 1 + ("s" in case[-1]) and len(cuda.kernels(whole.read_text())) == 1, case
        q, k, v = caches_inputs(case)
        given[f"apart{i}"], given[f"whole{i}"] = q + k + v, [np.concatenate(x, axis=2) for x in (q, k, v)]
        paths += [apart, whole]
    got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, cuda.SIX)
    for i, (name, case) in enumerate(CACHES.items()):
        apart, whole = got[f"apart{i}"], got[f"whole{i}"]
        assert not isinstance(apart, cuda.Found) and not isinstance(whole, cuda.Found), (name, apart, whole)
        wanted = [whole[0]] + [x for x, key in zip(given[f"whole{i}"][1:], "kv") if key in case[-1]]
        for a, b in zip(apart, wanted):
            assert np.array_equal(a.view(np.int32), b.view(np.int32)), name
        if "s" in case[-1]:
            np.testing.assert_allclose(apart[-1], given[f"whole{i}"][1].sum(axis=2), rtol=1e-5, atol=1e-5)
        assert cuda.counts[f"apart{i}"]["conflicts"] == cuda.counts[f"whole{i}"]["conflicts"], name


CACHE_MISTAKES = {
    "lanes do not wait": (r"__syncwarp\(\);", ""),
    "values are not waited for": (r"copy_wait\(0\)", "copy_wait(2)"),
    "a key of the other piece": (r"5 <= (own\d*)", r"4 <= \1"),
    "the last key is not stored": (r"(own\d*) < 8(?=\) \{\n +const int to\b)", r"\1 < 7"),
    "what warps have is not brought to the largest score": (r"exp_negative\(bests", "exp_negative(0 * bests"),
    "the whole cache of the first head": (r"(const int to = )b\w* \* 256 \+ ", r"\1"),
    "values of one warp": (r"(shares \+ \()warp\d* \* 4", r"\g<1>0"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 2 == 0 else pytest.mark.long) for i, w in enumerate(CACHE_MISTAKES)])
def test_cache_mistakes(what, tmp_path):
    case = CACHES["odd"]
    path = cuda.compile_model(caches_model(case, tmp_path / "m.onnx"), tmp_path, [], name="m", target="cuda-sm_90")
    q, k, v = caches_inputs(case)
    wanted = [want((3, 1, 8, 32, 40, None), q[0], *(np.concatenate(x, axis=2) for x in (k, v))), np.concatenate(k, axis=2), np.concatenate(v, axis=2)]
    for planted in False, True:
        if planted:
            cuda.plant(path, CACHE_MISTAKES[what])
        got = cuda.run(cuda.build([path], tmp_path), {"m": q + k + v}, tmp_path, cuda.SIX)["m"]
        right = not isinstance(got, cuda.Found) and all(np.abs(a - b).max() < TOLERANCE[""] for a, b in zip(got, wanted))
        assert right != planted, what


def rows_text(concats):
    """three rows for each of two heads, by keys and values as they are or in two pieces"""
    def tensor(rows): return f"<1 x 2 x {rows} x 32 x f32>"
    pieces = [("k0", 279), ("k1", 3), ("v0", 279), ("v1", 3)] if concats else [("k", 282), ("v", 282)]
    joined = [f"%{n} = concat(%{n}0, %{n}1) axis=2 : {tensor(282)}" for n in "kv" if concats]
    captures = [f"%{n}" for n, _ in pieces]
    captures = captures + ["%q"] if concats else ["%q"] + captures
    scores, row = "<1 x 2 x 3 x 282 x f32>", "<1 x 2 x 3 x f32>"
    return "\n".join([
        "dnn 1", 'module "rows"',
        "func @main(" + ", ".join(f'%{n} "{n}": {tensor(rows)}' for n, rows in [("q", 3), *pieces]) + ") -> (" + ('"y", "k", "v"' if concats else '"y"') + ") {",
        ("%0, %1, %2" if concats else "%0") + f" = fusion({', '.join(captures)}) : " + ", ".join([tensor(3)] + [tensor(282)] * len(joined)) + " {",
        *joined,
        f'%dots = dot(%q, %k) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[3] schedule="unroll=4" : {scores}',
        f"%scores = mul(%dots, 0.125) : {scores}",
        f"%best = reduce(%scores, <1 x i64> 3) kind=max : {row}",
        f"%bests = broadcast(%best) dims=[0, 1, 2] : {scores}",
        f"%less = sub(%scores, %bests) : {scores}",
        f"%shares = exp(%less) : {scores}",
        f"%sum = reduce(%shares, <1 x i64> 3) : {row}",
        f"%part = reciprocal(%sum) : {row}",
        f"%parts = broadcast(%part) dims=[0, 1, 2] : {tensor(3)}",
        f'%seen = dot(%shares, %v) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[2] schedule="warps=4" : {tensor(3)}',
        f"%made = mul(%seen, %parts) : {tensor(3)}",
        "yield(%made, %k, %v)" if concats else "yield(%made)", "}", "yield(%0, %1, %2)" if concats else "yield(%0)", "}", ""])


@EXECUTIONS
def test_caches_of_rows(flags, tmp_path):
    """the rows of a head read the same keys, and the first one's block stores them"""
    paths = []
    for name in "one", "two":
        (tmp_path / f"{name}.dnn").write_text(rows_text(name == "two"))
        paths.append(cuda.compile_model(tmp_path / f"{name}.dnn", tmp_path, ["--passes=lower,grid,plan"], name=name, target="cuda-sm_90"))
        assert len(cuda.kernels(paths[-1].read_text())) == 1 and "copy_async" in paths[-1].read_text()
    q, k, v = caches_inputs((2, 3, (279, 3), (279, 3), 32, 32, "kv"))
    given = {"two": q + k + v, "one": q + [np.concatenate(x, axis=2) for x in (k, v)]}
    got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, cuda.SIX)
    assert not isinstance(got["two"], cuda.Found) and not isinstance(got["one"], cuda.Found), got
    for a, b in zip(got["two"], got["one"] + given["one"][1:]):
        assert np.array_equal(a.view(np.int32), b.view(np.int32))


def test_caches_apart(tmp_path):
    """who reads the keys in front of the attention needs them there; one block that would store all; keys that are put together along their channels; words that lanes of a key do not share"""
    read = cuda.compile_model(caches_model(CACHES["read behind"], tmp_path / "r.onnx", first=True), tmp_path, [], name="r", target="cuda-sm_90")
    assert len(cuda.kernels(read.read_text())) == 3
    one = cuda.compile_model(caches_model((2, 1, (6000, 1), (6000, 1), 64, 64, "kv"), tmp_path / "o.onnx"), tmp_path, [], name="o", target="cuda-sm_90")
    assert len(cuda.kernels(one.read_text())) == 2
    shallow = cuda.compile_model(caches_model((2, 1, (40, 1), (40, 1), 16, 16, "kv"), tmp_path / "s.onnx"), tmp_path, [], name="s", target="cuda-sm_90")
    assert len(cuda.kernels(shallow.read_text())) == 2
    graph = onnx.load(caches_model((2, 1, (8, 8), (16,), 64, 64, ""), tmp_path / "c.onnx"))
    graph.graph.node[0].attribute[0].i = 3
    for port in graph.graph.input:
        if port.name[0] == "k":
            port.type.tensor_type.shape.dim[2].dim_value, port.type.tensor_type.shape.dim[3].dim_value = 16, 32
    onnx.save(graph, tmp_path / "c.onnx")
    across = cuda.compile_model(tmp_path / "c.onnx", tmp_path, [], name="c", target="cuda-sm_90")
    assert len(cuda.kernels(across.read_text())) == 2


def test_caches_come_early(tmp_path):
    """what was there before, keys that lanes load and values that are copied, while the launch in front ends; not the few bytes of a key"""
    for name, wanted in ("appended", ["1024", "131072", "131072"]), ("odd", ["1440", "2400"]):
        text = cuda.compile_model(caches_model(CACHES[name], tmp_path / "m.onnx"), tmp_path, [], target="cuda-sm_90").read_text()
        body = re.search(r"__global__.*?\n\}", text, re.DOTALL)[0]
        assert sorted(re.findall(r"bring\(\w+, (\d+)\)", body.split("launch_wait")[0])) == wanted, name


def test_caches_nvcc(tmp_path):
    """nothing spilled; keys and the query are loaded once, in words, and values copied: what is stored was not loaded for that"""
    if not cuda.nvcc() or "sm_90" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it: make cuda")
    path = cuda.compile_model(caches_model(CACHES["appended"], tmp_path / "m.onnx"), tmp_path, [], name="m", target="cuda-sm_90")
    used, = cuda.ptxas(path, "sm_90", tmp_path / "k.o").values()
    assert used["spilled"] == 0 and used["stack"] == 0, used
    if cuobjdump():
        code = dnncc.run([cuobjdump(), "-sass", tmp_path / "k.o"]).stdout
        assert "LDG.E " not in code and code.count("LDG.E.128") == 2 * 5 + 2 and code.count("LDGSTS.E.BYPASS.128") == 8 + 1 and "STG.E.128" in code
        assert code.count("BAR.SYNC") == 2       # when values have arrived, and where warps bring together what they have


# ---- keys that blocks of a cluster share ----

def compile_parts(onnx_file, folder, name, words):
    path = compile_schedule(onnx_file, folder, name, "warps=", words, "cuda-sm_90")
    assert ("launch_clusters" in path.read_text()) == ("parts" in words), words
    return path


# keys that parts do not divide, more than warps have at a time, fewer for the last part; a mask by which whole parts are nothing
PARTS = [((4, 1, 129, 64, 64, None), "warps=8 parts=4"), ((2, 1, 1100, 64, 64, "padding"), "warps=1 parts=8"), ((3, 1, 100, 128, 96, "padding"), "warps=2 parts=2"),
         ((2, 1, 57, 32, 40, None), "warps=4 parts=8"), ((2, 1, 2500, 64, 64, None), "warps=4 parts=8")]
CACHES_OF_PARTS = [("appended", "warps=8 parts=4"), ("three", "warps=1 parts=8"), ("long", "warps=4 parts=4"), ("values alone", "warps=2 parts=8")]


@EXECUTIONS
def test_parts(flags, tmp_path):
    paths = [compile_parts(model(case, tmp_path / f"m{i}.onnx"), tmp_path, f"m{i}", words) for i, (case, words) in enumerate(PARTS)]
    given = {f"m{i}": inputs(case) for i, (case, _) in enumerate(PARTS)}
    got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, cuda.SIX)
    for i, (case, words) in enumerate(PARTS):
        y = got[f"m{i}"]
        assert not isinstance(y, cuda.Found), (words, y)
        assert np.abs(y[0] - want(case, *given[f"m{i}"])).max() < TOLERANCE[""], words


@EXECUTIONS
def test_caches_of_parts(flags, tmp_path):
    """each block stores its share of the cache"""
    paths, given = [], {}
    for i, (name, words) in enumerate(CACHES_OF_PARTS):
        case = CACHES[name]
        paths += [compile_parts(caches_model(case, tmp_path / f"{kind}{i}.onnx", kind == "whole"), tmp_path, f"{kind}{i}", words) for kind in ("apart", "whole")]
        q, k, v = caches_inputs(case)
        given[f"apart{i}"], given[f"whole{i}"] = q + k + v, [np.concatenate(x, axis=2) for x in (q, k, v)]
    got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, cuda.SIX)
    for i, (name, _) in enumerate(CACHES_OF_PARTS):
        apart, whole, arrays = got[f"apart{i}"], got[f"whole{i}"], given[f"whole{i}"]
        assert not isinstance(apart, cuda.Found) and not isinstance(whole, cuda.Found), (name, apart, whole)
        heads, rows, keys, values, depth, width, others = CACHES[name]
        assert np.abs(whole[0] - want((heads, rows, sum(keys), depth, width, None), *arrays)).max() < TOLERANCE[""], name
        for a, b in zip(apart, [whole[0]] + [x for x, key in zip(arrays[1:], "kv") if key in others]):
            assert np.array_equal(a.view(np.int32), b.view(np.int32)), name


def test_parts_are_chosen(tmp_path):
    """of many keys, where multiprocessors have nothing else to do"""
    for case, target, some in ((12, 1, 1025, 64, 64, None), "cuda-sm_90", True), ((12, 1, 33, 64, 64, None), "cuda-sm_90", False), ((200, 1, 1025, 64, 64, None), "cuda-sm_90", False), ((12, 1, 1025, 64, 64, None), "cuda-sm_80", False):
        path = cuda.compile_model(model(case, tmp_path / "m.onnx"), tmp_path, [], target=target)
        assert ("launch_clusters" in path.read_text()) == some and len(cuda.kernels(path.read_text())) == 1, (case, target)


PART_MISTAKES = {
    "neighbours are not waited for": (r"cluster_barrier\(\);(?=\n *const int share)", ""),
    "nor those that still read": (r"cluster_leave\(\);(?=\n\})", ""),
    "the largest score of one part": (r"factor2 = exp_negative\(best\d+ - ", r"\g<0>0 * "),
    "a part twice": (r"cluster_at\(partial, 2\)", "cluster_at(partial, 1)"),
    "a key too many": (r"(own\d*) < 15", r"\1 < 16"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 2 == 0 else pytest.mark.long) for i, w in enumerate(PART_MISTAKES)])
def test_part_mistakes(what, tmp_path):
    case = (2, 1, 57, 32, 40, None)
    path = compile_parts(model(case, tmp_path / "m.onnx"), tmp_path, "m", "warps=1 parts=4")
    for planted in False, True:
        if planted:
            cuda.plant(path, PART_MISTAKES[what])
        arrays = inputs(case)
        right = True
        for flags in ["-O1", "-Wno-error"], cuda.CHECKED:
            got = cuda.run(cuda.build([path], tmp_path, flags=flags), {"m": arrays}, tmp_path, cuda.SIX)["m"]
            right = right and not isinstance(got, cuda.Found) and np.abs(got[0] - want(case, *arrays)).max() < TOLERANCE[""]
        assert right != planted, what


def test_parts_nvcc(tmp_path):
    if not cuda.nvcc() or "sm_90" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it: make cuda")
    for i, (case, words) in enumerate(PARTS[:2]):
        used, = cuda.ptxas(compile_parts(model(case, tmp_path / "m.onnx"), tmp_path, f"m{i}", words), "sm_90", tmp_path / "k.o").values()
        assert used["spilled"] == 0 and used["stack"] == 0, used


@pytest.mark.parametrize("precision", ["f16", pytest.param("", marks=pytest.mark.long)])
def test_nvcc(precision, tmp_path):
    """nothing spilled, no more registers than the schedule counted on, which launch bounds are from; of floats it takes all that there are"""
    if not cuda.nvcc():
        pytest.skip("no nvcc: make cuda")
    options = [f"--precision={precision}"] if precision else []
    for name, case in {**{name: CASES[name] for name in ("several_blocks", "padding", "tokens")}, "more_tokens": (12, 512, 512, 64, 64, "padding"), "narrow": (4, 2000, 2000, 32, 32, None)}.items():
        path = cuda.compile_model(model(case, tmp_path / f"{name}.onnx"), tmp_path, options, name=name, target="cuda-sm_90")
        done = dnncc.run([dnncc.DNNCC, tmp_path / f"{name}.onnx", "--target=cuda-sm_90", *options, "--emit=ir", "-o", "-"])
        counted = int(re.search(r"keys=[^\"]*?(\d+) registers", done.stdout)[1])
        used = cuda.ptxas(path, "sm_90", tmp_path / "k.o")
        most = max(of["registers"] for of in used.values())
        assert all(of["spilled"] == 0 and of["stack"] == 0 for of in used.values()), (name, used)
        assert most <= counted, (name, counted, used)
