# SPDX-License-Identifier: MIT
"""State (--state PAST=PRESENT): what the caller keeps from one run to the next gives, step by step, what handing outputs back as inputs gives."""
import re

import dnncc
import dnncc_package
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


F32 = TensorProto.FLOAT
WAYS = [], ["-O0"], ["--target=x86-64-v3"], ["--target=generic,x86-64-v3"], ["--no-alias"], ["--unchecked"], ["--threads=2"]


def model(nodes, inputs, outputs, constants, opset=21):
    def ports(all):
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in all]
    graph = helper.make_graph(nodes, "stateful", ports(inputs), ports(outputs),
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def weights(seed, *shape):
    return (np.random.default_rng(seed).standard_normal(shape) * 0.4).astype(np.float32)


def gru(size=16, width=8):
    return model([helper.make_node("GRU", ["x", "W", "R", "", "", "h"], ["Y", "h_next"], hidden_size=size)],
                 [("x", F32, [1, 1, width]), ("h", F32, [1, 1, size])], [("Y", F32, [1, 1, 1, size]), ("h_next", F32, [1, 1, size])],
                 {"W": weights(1, 1, 3 * size, width), "R": weights(2, 1, 3 * size, size)}), {"h": "h_next"}


def lstm(size=12, width=8):
    return model([helper.make_node("LSTM", ["x", "W", "R", "", "", "h", "c"], ["Y", "h_next", "c_next"], hidden_size=size)],
                 [("x", F32, [3, 2, width]), ("h", F32, [1, 2, size]), ("c", F32, [1, 2, size])],
                 [("Y", F32, [3, 1, 2, size]), ("h_next", F32, [1, 2, size]), ("c_next", F32, [1, 2, size])],
                 {"W": weights(1, 1, 4 * size, width), "R": weights(2, 1, 4 * size, size)}), {"h": "h_next", "c": "c_next"}


def mean():
    """of everything so far; the count is an integer"""
    return model([helper.make_node("Add", ["count", "one"], ["count_next"]), helper.make_node("Add", ["sum", "x"], ["sum_next"]),
                  helper.make_node("Cast", ["count_next"], ["c"], to=F32), helper.make_node("Div", ["sum_next", "c"], ["mean"])],
                 [("x", F32, [4]), ("sum", F32, [4]), ("count", TensorProto.INT64, [])],
                 [("sum_next", F32, [4]), ("mean", F32, [4]), ("count_next", TensorProto.INT64, [])],
                 {"one": np.array(1, np.int64)}), {"sum": "sum_next", "count": "count_next"}


def line(length=24, width=4):
    """a delay line: the newest rows come in at the end; a filter reads all of it"""
    return model([helper.make_node("Concat", ["past", "x"], ["all"], axis=2),
                  helper.make_node("Conv", ["all", "W"], ["y"]),
                  helper.make_node("Slice", ["all", "from", "to", "axis"], ["present"])],
                 [("x", F32, [1, width, 5]), ("past", F32, [1, width, length])],
                 [("y", F32, [1, 6, 5]), ("present", F32, [1, width, length])],
                 {"W": weights(3, 6, width, length + 1), "from": np.array([5]), "to": np.array([length + 5]), "axis": np.array([2])}), {"past": "present"}


def swap():
    """each becomes the other, and both are read behind that: nothing can be computed in place"""
    return model([helper.make_node("Add", ["a", "x"], ["b_next"]), helper.make_node("Identity", ["b"], ["a_next"]),
                  helper.make_node("Sub", ["a", "b"], ["y"]), helper.make_node("Identity", ["a"], ["old"])],
                 [("x", F32, [8]), ("a", F32, [8]), ("b", F32, [8])],
                 [("y", F32, [8]), ("a_next", F32, [8]), ("b_next", F32, [8]), ("old", F32, [8])], {}), {"a": "a_next", "b": "b_next"}


def cache(rows=10, width=8):
    """a cache of rows, written at a place that is state, too; halves of floats"""
    return model([helper.make_node("ScatterND", ["cache", "at", "row"], ["cache_next"]), helper.make_node("Add", ["at", "one"], ["more"]),
                  helper.make_node("Mod", ["more", "rows"], ["at_next"]), helper.make_node("Cast", ["cache_next"], ["wide"], to=F32),
                  helper.make_node("MatMul", ["wide", "W"], ["y"])],
                 [("row", TensorProto.FLOAT16, [1, width]), ("cache", TensorProto.FLOAT16, [rows, width]), ("at", TensorProto.INT64, [1, 1])],
                 [("y", F32, [rows, 3]), ("cache_next", TensorProto.FLOAT16, [rows, width]), ("at_next", TensorProto.INT64, [1, 1])],
                 {"one": np.array([[1]]), "rows": np.array([[rows]]), "W": weights(4, width, 3)}), {"cache": "cache_next", "at": "at_next"}


def attention(heads=2, dim=4, width=8):
    """rows of keys and values are appended; N tokens at a time"""
    nodes, size, constants = [], heads * dim, {}

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
    for k, letter in enumerate("qkv"):
        constants["W" + letter] = weights(k, width, size)
        node("MatMul", ["x", "W" + letter], letter + "0")
        node("Reshape", [letter + "0", "split"], letter + "1")
        node("Transpose", [letter + "1"], letter, perm=[0, 2, 1, 3])
    node("Concat", ["past.k", "k"], "present.k", axis=2)
    node("Concat", ["past.v", "v"], "present.v", axis=-2)
    node("Transpose", ["present.k"], "across", perm=[0, 1, 3, 2])
    node("MatMul", ["q", "across"], "raw")
    node("Add", ["raw", "mask"], "scores")
    node("Softmax", ["scores"], "shares", axis=-1)
    node("MatMul", ["shares", "present.v"], "y")
    pasts, presents = [1, heads, "P", dim], [1, heads, "T", dim]
    return model(nodes, [("x", F32, [1, "N", width]), ("mask", F32, ["N", "T"]), ("past.k", F32, pasts), ("past.v", F32, pasts)],
                 [("y", F32, [1, heads, "N", dim]), ("present.k", F32, presents), ("present.v", F32, presents)],
                 {**constants, "split": np.array([0, 0, heads, dim])}), {"past.*": "present.*"}


DIMS = {"N": "1..6", "P": "0..30", "T": "P+N"}


MODELS = gru, lstm, mean, line, swap, cache


def options(pairs):
    return [f"--state={past}={present}" for past, present in pairs.items()]


def arrays(m, pairs, seed, count=6):
    """inputs of a sequence of runs, without state"""
    rng = np.random.default_rng(seed)
    return [{i.name: rng.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim])
             .astype(helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)) for i in m.graph.input if i.name not in pairs}
            for _ in range(count)]


def by_hand(m, pairs, runs):
    """onnxruntime's outputs without state, of each run; outputs go back as inputs"""
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in m.graph.output]
    state = {i.name: np.zeros([d.dim_value for d in i.type.tensor_type.shape.dim], helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type))
             for i in m.graph.input if i.name in pairs}
    for given in runs:
        found = dict(zip(names, session.run(None, {**given, **state})))
        state = {past: found[present] for past, present in pairs.items()}
        yield {name: y for name, y in found.items() if name not in pairs.values()}, state


def sequence(m, pairs, *flags):
    level = {"level": 0} if "-O0" in flags else {}
    words = dict(f[2:].split("=", 1) if "=" in f else (f[2:], True) for f in flags if f.startswith("--"))
    return dnncc_package.compile(m, state=pairs, **level, **{k.replace("-", "_"): int(v) if k == "threads" else v for k, v in words.items()}).sequence()


def same(got, want):
    got = got if isinstance(got, tuple) else (got,)
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-3 if b.dtype == np.float16 else 1e-4, atol=1e-5)


@pytest.mark.sample(4)
@pytest.mark.parametrize("flags", WAYS, ids=lambda f: " ".join(f) or "plain")
@pytest.mark.parametrize("make", MODELS, ids=lambda m: m.__name__)
def test_a_sequence_is_that_of_outputs_handed_back(make, flags):
    m, pairs = make()
    runs = arrays(m, pairs, 5)
    s = sequence(m, pairs, *flags)
    for given, (want, state) in zip(runs, by_hand(m, pairs, runs)):
        same(s(**given), want.values())
        same(tuple(s[name] for name in state), state.values())


def test_a_copy_goes_on_by_itself():
    m, pairs = gru()
    runs = arrays(m, pairs, 6)
    s = sequence(m, pairs)
    wanted = [want["Y"] for want, _ in by_hand(m, pairs, runs)]
    for given in runs[:2]:
        s(**given)
    fork = s.copy()
    fork(x=np.ones((1, 1, 8), np.float32))
    for given, want in zip(runs[2:], wanted[2:]):
        same(s(**given), [want])
    s.reset()
    for given, want in zip(runs, wanted):
        same(s(**given), [want])
    s["h"] = np.zeros((1, 1, 16), np.float32)
    same(s(**runs[0]), [wanted[0]])


# ---- state that grows ----

def grown(runs, seed=3, width=8):
    """inputs of runs of these numbers of tokens, with a causal mask; each with the number of those before"""
    rng, before = np.random.default_rng(seed), 0
    for count in runs:
        mask = np.where(np.arange(before + count) > before + np.arange(count)[:, None], np.float32(-1e9), np.float32(0))
        yield {"x": rng.standard_normal((1, count, width)).astype(np.float32), "mask": mask}, before
        before += count


def attend(*flags, dims=DIMS):
    m, pairs = attention()
    words = dict(f[2:].split("=", 1) if "=" in f else (f[2:], True) for f in flags if f.startswith("--"))
    level = {"level": 0} if "-O0" in flags else {}
    return dnncc_package.compile(m, dim=dims, state=pairs, **level, **{k.replace("-", "_"): int(v) if k == "threads" else v for k, v in words.items()})


@pytest.mark.sample(4)
@pytest.mark.parametrize("likely", ["", ":1", ":3,1"], ids=lambda l: l or "any")
@pytest.mark.parametrize("flags", WAYS, ids=lambda f: " ".join(f) or "plain")
def test_rows_are_appended(flags, likely):
    """the outputs are those of the model with its whole past handed in, also by code for likely extents"""
    m, _ = attention()
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    s = attend(*flags, dims=DIMS | {"N": DIMS["N"] + likely}).sequence()
    past = {"past.k": np.zeros((1, 2, 0, 4), np.float32), "past.v": np.zeros((1, 2, 0, 4), np.float32)}
    for given, before in grown([6, 1, 1, 3, 1, 6, 6, 4, 2, 1]):
        assert s["P"] == before
        y, k, v = session.run(None, {**given, **past})
        past = {"past.k": k, "past.v": v}
        same(s(**given), [y])
        same((s["past.k"],), [k])


def test_forty_steps_are_one_of_forty():
    m = attend(dims={"N": "1..40", "P": "0..40", "T": "P+N"})
    whole, steps = m.sequence(), m.sequence()
    (given, _), = grown([40])
    y = whole(**given)
    rows = [steps(x=given["x"][:, k:k + 1], mask=np.zeros((1, k + 1), np.float32)) for k in range(40)]
    same(np.concatenate(rows, axis=2), [y])
    assert whole["P"] == steps["P"] == 40
    fork = steps.copy()
    steps["P"] = 10                     # back to the tenth token
    again = [steps(x=given["x"][:, k:k + 1], mask=np.zeros((1, k + 1), np.float32)) for k in range(10, 40)]
    assert np.array_equal(np.concatenate(again, axis=2), np.concatenate(rows[10:], axis=2)) and fork["P"] == 40


def test_calibrated_with_a_past(tmp_path):
    """samples have as many rows of a past as they like; layers then multiply bytes, and what is kept stays in floats"""
    m, pairs = attention()
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    onnx.save(m, tmp_path / "m.onnx")
    none, samples = {f"past.{x}": np.zeros((1, 2, 0, 4), np.float32) for x in "kv"}, tmp_path / "samples"
    samples.mkdir()
    for seed in range(4):
        past = none
        for i, (given, _) in enumerate(grown([5, 1, 3, 1], seed)):
            np.savez(samples / f"{seed}.{i}.npz", **given, **past)
            past = dict(zip(none, session.run(None, {**given, **past})[1:]))
    dims = [f"--dim={k}={v}" for k, v in DIMS.items()]
    command = [dnncc.DNNCC, tmp_path / "m.onnx", *dims]
    state = [f"--state={a}={b}" for a, b in pairs.items()]
    for name, more in ("plain", []), ("state", state):
        assert dnncc.run([*command, *more, f"--calibrate={samples}", "-o", tmp_path / name]).returncode == 0
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "state").read_bytes()
    texts = [dnncc.run([*command, *state, *how, "--emit=ir", "-o", "-"]).stdout for how in (["--quantize", f"--calibrate={samples}"], [f"--quantize={tmp_path / 'plain'}"])]
    bodies = [text[text.index("func @main"):] for text in texts]
    assert bodies[0] == bodies[1] and re.search(r"accumulator=i32|x u8>", bodies[0]) and "scatter(%past_k," in bodies[0]
    assert dnncc.run([*command, *state, f"--quantize={tmp_path / 'plain'}", "--check"]).returncode == 0
    s = dnncc_package.compile(m, dim=DIMS, state=pairs, quantize=True, calibrate=samples).sequence()
    past, largest = none, 0
    for given, before in grown([5, 1, 1, 3, 1], 9):
        assert s["P"] == before
        want = session.run(None, {**given, **past})
        past = dict(zip(none, want[1:]))
        largest = max(largest, np.abs(want[0]).max())
        np.testing.assert_allclose(s(**given), want[0], rtol=0, atol=.1 * largest)
    done = dnncc.run([*command, *state, "--quantize-weights=s4", f"--calibrate={samples}", "-o", tmp_path / "x.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "is state that grows, of which samples have rows for --quantize alone" in done.stderr, done.stderr


def test_a_full_state_takes_no_more():
    """nothing is written, and what was there before goes on"""
    s = attend(dims={"N": "1..6", "P": "0..8", "T": "P+N"}).sequence()
    for given, before in grown([6, 2, 6]):
        s(**given)
    assert s["P"] == 14
    kept = s._state.copy()
    with pytest.raises(dnncc_package.Error, match="no room for more"):
        s(x=np.zeros((1, 1, 8), np.float32), mask=np.zeros((1, 15), np.float32))
    assert np.array_equal(kept, s._state)
    s["P"] = 8
    s(x=np.zeros((1, 1, 8), np.float32), mask=np.zeros((1, 9), np.float32))


def test_nothing_of_a_cache_is_copied(tmp_path):
    m, pairs = attention()
    onnx.save(m, tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), *(f"--dim={k}={v}" for k, v in DIMS.items()), "--emit=loops", "-o", "-"])
    text = done.stdout
    assert "next %P = %N + %P" in text or "next %P = %P + %N" in text
    main = text[text.index("main {"):]
    assert not [line for line in main.splitlines() if "@slice" in line or "@copy" in line], main
    again = tmp_path / "t.loops"
    again.write_text(text)
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, [*options(pairs), *(f"--dim={k}={v}" for k, v in DIMS.items())])
    assert dnncc.run([dnncc.DNNCC, again, "-o", tmp_path / "u.c", "--name=model"]).returncode == 0
    assert (tmp_path / "u.c").read_text().replace('"u.h', '"model.h') == (tmp_path / "model.c").read_text()
    checked = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), *(f"--dim={k}={v}" for k, v in DIMS.items()), "--check"])
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("flags", [[], ["-O0"], ["--target=x86-64-v3"], ["--cc=gcc -O1 -fsanitize=undefined -fno-sanitize-recover=all"]], ids=str)
@pytest.mark.parametrize("before", [0, 7, 30])
def test_data_of_one_run_with_its_past(before, flags, tmp_path):
    """files have the rows that there are"""
    m, pairs = attention()
    given = {k: v for k, v in list(grown([before, 5] if before else [5]))[-1][0].items()}
    rng = np.random.default_rng(2)
    given |= {name: rng.standard_normal((1, 2, before, 4)).astype(np.float32) for name in ("past.k", "past.v")}
    wanted = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, given)
    onnx.save(m, tmp_path / "m.onnx")
    for kind, all in (("input", given.values()), ("output", wanted)):
        for k, x in enumerate(all):
            np.save(tmp_path / f"{kind}_{k}.npy", x)
    command = [dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), *(f"--dim={k}={v}" for k, v in DIMS.items())]
    done = dnncc.run([*command, f"--test={tmp_path}", *flags])
    assert done.returncode == 0, done.stderr
    for k in range(3):
        (tmp_path / f"output_{k}.npy").unlink()
    done = dnncc.run([*command, f"--run={tmp_path}", *flags])
    assert done.returncode == 0, done.stderr
    same(tuple(np.load(tmp_path / f"output_{k}.npy") for k in range(3)), wanted)


@pytest.mark.parametrize("dims, code, words", [
    ({"N": "1..6", "P": "1..30", "T": "P+N"}, 1, "the extent begins at 0"),
    ({"N": "1..6", "P": "5", "T": "P+N"}, 1, "want equal types, or extents that are numbers but for one"),
])
def test_growth_that_is_refused(dims, code, words, tmp_path):
    m, pairs = attention()
    onnx.save(m, tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), *(f"--dim={k}={v}" for k, v in dims.items()), "-o", "-"])
    assert done.returncode == code and words in done.stderr, done.stderr


def test_growth_by_another_way_is_refused(tmp_path):
    m, pairs = attention()
    for node in m.graph.node:
        if node.op_type == "Concat":
            node.input.reverse()
    onnx.save(m, tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), *(f"--dim={k}={v}" for k, v in DIMS.items()), "-o", "-"])
    assert done.returncode == dnncc.UNSUPPORTED and "rows behind it" in done.stderr, done.stderr


# ---- the file and its C ----

@pytest.mark.parametrize("make", MODELS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("flags", [[], ["--target=x86-64-v3"], ["--cc=gcc -O1 -fsanitize=undefined -fno-sanitize-recover=all"]], ids=str)
def test_data_of_one_run(make, flags, tmp_path):
    """--test reads state as the inputs that it is, and compares it as outputs, in the interpreter and in C; --check goes through all passes"""
    m, pairs = make()
    rng = np.random.default_rng(8)
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {}
    for i in m.graph.input:
        dtype = helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
        shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
        given[i.name] = rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else rng.integers(1, 5, shape).astype(dtype)
    onnx.save(m, tmp_path / "m.onnx")
    for kind, all in (("input", given.values()), ("output", session.run(None, given))):
        for k, x in enumerate(all):
            np.save(tmp_path / f"{kind}_{k}.npy", x)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), f"--test={tmp_path}", *flags])
    assert done.returncode == 0, done.stderr
    if not flags:
        checked = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), "--check"])
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("make", MODELS, ids=lambda m: m.__name__)
def test_texts_are_read_back(make, tmp_path):
    """the C of a dump is that of the model; state stands in both texts"""
    m, pairs = make()
    onnx.save(m, tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, options(pairs))
    direct = (tmp_path / "model.c").read_text()
    for emit in "ir", "loops":
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), f"--emit={emit}", "-o", tmp_path / "t"])
        assert done.returncode == 0, done.stderr
        again = dnncc.run([dnncc.DNNCC, tmp_path / "t", "-o", tmp_path / "u.c", "--name=model"])
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "u.c").read_text().replace('"u.h', '"model.h') == direct
    assert all(f'next "{present}"' in (tmp_path / "t").read_text() for present in pairs.values())


CALLS = r"""
#include <stdio.h>
#include <string.h>
#include "model.h"
MODEL_STATE_DEFINE(state);
MODEL_STATE_DEFINE(fresh);
MODEL_WORKSPACE_DEFINE(workspace);
int main(void)
{
        static float x[MODEL_X_ELEMS] = { 1 }, mean[MODEL_MEAN_ELEMS];
        struct model_state before;
        if (sizeof state != MODEL_STATE_SIZE || (char *)state.sum - (char *)&state != 64)
                return 1;
        for (int i = 1; i < 4; i++)
                if (model_run(workspace, &state, x, mean) || state.count[0] != i || state.sum[0] != (float)i || mean[0] != 1)
                        return 2;
        before = state;
        if (model_run(workspace, NULL, x, mean) != MODEL_ERROR_NULL || model_run(workspace, &state, x, NULL) != MODEL_ERROR_NULL ||
            model_run(workspace, (struct model_state *)(void *)((char *)&state + 8), x, mean) != MODEL_ERROR_ALIGNMENT)
                return 3;
        if (memcmp(&before, &state, sizeof state))
                return 4;
        state.build ^= 1;
        if (model_run(workspace, &state, x, mean) != MODEL_ERROR_STATE || memcmp(before.sum, state.sum, sizeof before.sum))
                return 5;
        model_state_reset(&state);
        if (memcmp(&fresh, &state, sizeof state))
                return 6;
        fresh.count[0] = 9;             /* members may be set before the first call */
        return model_run(workspace, &fresh, x, mean) || fresh.count[0] != 10 ? 7 : 0;
}
"""


def test_calls_from_c(tmp_path):
    """strict C99: sizes, errors that leave state as it is, a state of another build"""
    m, pairs = mean()
    onnx.save(m, tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, options(pairs))
    (tmp_path / "main.c").write_text(CALLS)
    for cc in "gcc", "clang":
        done = dnncc.run([cc, *dnncc.STRICT, *dnncc.SANITIZE, "-I", tmp_path, tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"])
        assert done.returncode == 0, done.stderr
        assert dnncc.run([tmp_path / "main"]).returncode == 0


def test_nothing_is_copied(tmp_path):
    """what an element's next value is read from is overwritten: no buffer beside the state"""
    m, pairs = mean()
    onnx.save(m, tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options(pairs), "--emit=loops", "-o", "-"])
    assert done.stdout[done.stdout.index("main {"):].count("call") == 2 and " workspace 16 align" in done.stdout       # the count as a float


# ---- what is refused ----

@pytest.mark.parametrize("said, code, words", [
    (["h"], 1, "want PAST=PRESENT"), (["=h_next"], 1, "want PAST=PRESENT"), (["h="], 1, "want PAST=PRESENT"),
    (["h*=h_next"], 1, "a * in both"), (["q=h_next"], 1, "no input is called that"), (["h=h_nxt"], 1, "did you mean 'h_next'"),
    (["h=Y"], 1, "input 'h' is <1 x 1 x 16 x f32>, and output 'Y' <1 x 1 x 1 x 16 x f32>"),
    (["h=h_next", "h=h_next"], 1, "state twice"), (["x=x"], 1, "no output is called 'x'"),
])
def test_usage(said, code, words, tmp_path):
    onnx.save(gru()[0], tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *(f"--state={s}" for s in said), "-o", tmp_path / "m.c"])
    assert done.returncode == code and words in done.stderr, done.stderr
    assert not (tmp_path / "m.c").exists()


@pytest.mark.parametrize("target", ["vta"])
def test_machines_keep_none(target, tmp_path):
    onnx.save(gru()[0], tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--state=h=h_next", f"--target={target}", "-o", "-"])
    assert done.returncode == dnncc.UNSUPPORTED and "--state" in done.stderr, done.stderr


def test_stars(tmp_path):
    """one option for many ports"""
    m, _ = lstm()
    names = {"h": "past.0.h", "c": "past.0.c", "h_next": "present.0.h", "c_next": "present.0.c"}
    for port in [*m.graph.input, *m.graph.output]:
        port.name = names.get(port.name, port.name)
    for node in m.graph.node:
        node.input[:] = [names.get(n, n) for n in node.input]
        node.output[:] = [names.get(n, n) for n in node.output]
    onnx.save(m, tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--state=past.*=present.*", "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and done.stdout.count(" next ") == 2, done.stderr


# ---- caches in few bits (--quantize-port) ----

def rounded(kind, x):
    """what a cache of that type holds of rows"""
    if kind == "f16":
        return x.astype(np.float16).astype(np.float32)
    if kind == "bf16":
        bits = x.view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).view(np.float32)
    scale = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    return np.round(x / np.where(scale == 0, 1, scale)) * scale


@pytest.mark.sample(3)
@pytest.mark.parametrize("flags", [[], ["--target=x86-64-v3"], ["-O0"]], ids=lambda f: " ".join(f) or "plain")
@pytest.mark.parametrize("kind, size", [("rows", 4 + 4), ("f16", 8), ("bf16", 8)])
@pytest.mark.parametrize("entries", [None, ["prefill:N=1..6", "step:N=1"]], ids=["one", "entries"])
def test_caches_in_few_bits(kind, size, flags, entries, tmp_path):
    """a cache that grows holds rounded rows, with a scale beside each; what reads it reads these, as a model does that is handed them"""
    m, states = attention()
    dims = {k: v for k, v in DIMS.items() if not entries or k != "N"}
    onnx.save(m, tmp_path / "m.onnx")
    options = [f"--dim={k}={v}" for k, v in dims.items()] + [f"--entry={e}" for e in entries or []]
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options, "--state=past.*=present.*", f"--quantize-port=past.*={kind}", *flags, "-o", tmp_path / "gru.c"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run(["gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", tmp_path / "gru.c", "-o", tmp_path / "gru.so"])
    assert done.returncode == 0, done.stderr
    first = dnncc_package.load(tmp_path / "gru.so", name="gru_prefill") if entries else dnncc_package.load(tmp_path / "gru.so")
    state = first.sequence()
    step = dnncc_package.Sequence(dnncc_package.load(tmp_path / "gru.so", name="gru_step"), state._state) if entries else state
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    past = {"past.k": np.zeros((1, 2, 0, 4), np.float32), "past.v": np.zeros((1, 2, 0, 4), np.float32)}
    for given, before in grown([4, 1, 1, 3 if not entries else 1, 1]):
        assert state["P"] == before
        _, k, v = session.run(None, {**given, **past})
        keys, values = (np.concatenate([past[n], rounded(kind, x[:, :, before:])], 2) for n, x in (("past.k", k), ("past.v", v)))
        q = (given["x"][0] @ weights(0, 8, 8)).reshape(-1, 2, 4).transpose(1, 0, 2)
        scores = q @ keys[0].transpose(0, 2, 1) + given["mask"]
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        want = (shares / shares.sum(-1, keepdims=True)) @ values[0]
        got, = (step if given["x"].shape[1] == 1 else state)(**given),
        np.testing.assert_allclose(np.asarray(got).reshape(want.shape), want, rtol=1e-3, atol=1e-3)
        past = {"past.k": keys, "past.v": values}
    header = (tmp_path / "gru.h").read_text()
    assert ("past_k_scale" in header) == (kind == "rows")
    rows = 30 + 6
    assert 2 * 2 * rows * size <= int(header.split("STATE_SIZE")[1].split()[0].rstrip("u")) < 2 * 2 * rows * size + 600


@pytest.mark.parametrize("port, code", [("h=rows", 0), ("h=f16", 0), ("h=s8,0.0078125", 0), ("h*=bf16", 0), ("h=u8", dnncc.USAGE), ("h=f17", dnncc.USAGE)])
def test_state_in_few_bits(port, code, tmp_path):
    """state of numbers of extents: the output has the type of the input; nearly what floats give"""
    m, _ = gru()
    onnx.save(m, tmp_path / "m.onnx")
    options = ["--state=h=h_next", f"--quantize-port={port}"]
    if code:
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *options, "-o", tmp_path / "m.c"])
        assert done.returncode == code and "--quantize-port" in done.stderr, done.stderr
        return
    model = dnncc_package.compile(m, state={"h": "h_next"}, quantize_port=[port])
    exact = dnncc_package.compile(m, state={"h": "h_next"})
    ours, theirs, rng = model.sequence(), exact.sequence(), np.random.default_rng(1)
    for _ in range(4):
        x = rng.standard_normal((1, 1, 8)).astype(np.float32)
        np.testing.assert_allclose(ours(x), theirs(x), atol=.03)
