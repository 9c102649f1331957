# SPDX-License-Identifier: MIT
"""GroupQueryAttention over a cache that grows: as many keys and steps as a run gives, as onnxruntime has it, also as state that is appended to in place."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models")]
import dnncc  # noqa: E402
import processor  # noqa: E402

F32, I64, I32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
HEADS, GROUPS, SIZE, ROOM = 4, 2, 16, 40
DIMS = [f"--dim=P=0..{ROOM - 8}", "--dim=T=P+N"]
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def save(path, past=True, **attributes):
    """a layer's attention as exporters write it: the lengths are computed from a mask of all tokens so far"""
    rng = np.random.default_rng(5)
    width, constants = HEADS * SIZE, {"axis": np.array([1]), "one": np.array([1]), "second": np.array(1)}
    for letter, heads in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)):
        constants["W" + letter] = (rng.standard_normal((width, heads * SIZE)) * 0.3).astype(np.float32)
    angles = np.arange(ROOM)[:, None] / 50 ** (np.arange(0, SIZE, 2) / SIZE)
    constants |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    caches = ["past.k", "past.v"] if past else ["", ""]
    turns = ["cos", "sin"] if attributes.get("do_rotary") else []
    nodes = [helper.make_node("MatMul", ["x", "W" + letter], [letter]) for letter in "qkv"]
    nodes += [helper.make_node("ReduceSum", ["attention_mask", "axis"], ["tokens"], keepdims=1), helper.make_node("Sub", ["tokens", "one"], ["last"]),
              helper.make_node("Cast", ["last"], ["seqlens"], to=I32), helper.make_node("Shape", ["attention_mask"], ["shape"]),
              helper.make_node("Gather", ["shape", "second"], ["all"]), helper.make_node("Cast", ["all"], ["total"], to=I32),
              helper.make_node("GroupQueryAttention", ["q", "k", "v", *caches, "seqlens", "total", *turns], ["y", "present.k", "present.v"],
                               domain="com.microsoft", num_heads=HEADS, kv_num_heads=GROUPS, **attributes)]
    total = "T" if past else "N"
    ports = [[helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in ports] for ports in (
        [("x", F32, [1, "N", width]), ("attention_mask", I64, [1, total])] + [(f"past.{z}", F32, [1, GROUPS, "P", SIZE]) for z in "kv"] * past,
        [("y", F32, [1, "N", width])] + [(f"present.{z}", F32, [1, GROUPS, total, SIZE]) for z in "kv"])]
    graph = helper.make_graph(nodes, "grouped", *ports, [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def given(rng, before, steps):
    return {"x": rng.standard_normal((1, steps, HEADS * SIZE)).astype(np.float32), "attention_mask": np.ones((1, before + steps), np.int64),
            **{f"past.{z}": rng.standard_normal((1, GROUPS, before, SIZE)).astype(np.float32) for z in "kv"}}


def same(got, want):
    for y, right in zip(got, want, strict=True):
        np.testing.assert_allclose(y.reshape(right.shape), right, 1e-4, 1e-5)


def compiled(folder, *options):
    for option in options:
        if option.startswith("--target=") and not processor.has(option.split("=")[1]):
            pytest.skip("this processor cannot run it")
    dnncc.compile_model(folder / "m.onnx", folder, options)
    return dnncc.build_host(folder, SANITIZED)


@pytest.mark.sample(10, each=False)
@pytest.mark.parametrize("options", [(), ("-O0",), ("--target=x86-64-v3",), ("--target=x86-64-v4", "--exact")], ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("steps", ["1", "1..8"])
@pytest.mark.parametrize("attributes", [{"do_rotary": 1}, {}, {"do_rotary": 1, "local_window_size": 6}, {"do_rotary": 1, "rotary_interleaved": 1, "softcap": 3.0}], ids=str)
def test_a_cache_that_grows(attributes, steps, options, tmp_path):
    session = save(tmp_path / "m.onnx", **attributes)
    program = compiled(tmp_path, *DIMS, f"--dim=N={steps}", *options)
    rng = np.random.default_rng(1)
    for before, count in (0, 1), (7, 1), (32, 1), (0, 8), (13, 5), (32, 8):
        if steps == "1..8" or count == 1:
            inputs = given(rng, before, count)
            same(dnncc.run_host(program, list(inputs.values())), session.run(None, inputs))


def test_hidden_keys_are_left_out(tmp_path):
    """the rows of heads that share keys take turns: a tile in which a turn ends sees all keys"""
    save(tmp_path / "m.onnx", do_rotary=1)
    loops = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *DIMS, "--dim=N=1..8", "--target=x86-64-v3", "--emit=loops", "-o", "-"]).stdout
    assert "let %in_turn : index = (%last - 1) % %N + 1" in loops and re.search(r"let %columns : index = select\(%in_turn >= %last - %first, min\(%in_turn \+ %P, ", loops)


@pytest.mark.parametrize("attributes", [{"do_rotary": 1}, {}], ids=str)
def test_a_prompt(attributes, tmp_path):
    """without a past"""
    session = save(tmp_path / "m.onnx", past=False, **attributes)
    program, rng = compiled(tmp_path, "--dim=N=1..9"), np.random.default_rng(2)
    for count in 1, 4, 9:
        inputs = {name: array for name, array in given(rng, 0, count).items() if "past" not in name}
        same(dnncc.run_host(program, list(inputs.values())), session.run(None, inputs))


@pytest.mark.parametrize("attributes", [{"do_rotary": 1}, {}], ids=str)
@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_length_that_is_another(wrong, attributes, tmp_path):
    """the cache is filled: a mask that says otherwise is an error of the run"""
    save(tmp_path / "m.onnx", **attributes)
    program, inputs = compiled(tmp_path, *DIMS, "--dim=N=1..8"), given(np.random.default_rng(3), 9, 3)
    inputs["attention_mask"][0, 0] += wrong
    with pytest.raises(AssertionError, match="-3"):
        dnncc.run_host(program, list(inputs.values()))


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_as_state(target, tmp_path):
    """rows are written in place: nothing copies the cache into itself; entries for a prompt and a step"""
    save(tmp_path / "m.onnx", do_rotary=1)
    command = [dnncc.DNNCC, tmp_path / "m.onnx", *DIMS, "--state=past.*=present.*", f"--target={target}"]
    done = dnncc.run([*command, "--dim=N=1..8", "--emit=loops", "-o", "-"])
    assert done.returncode == 0, done.stderr
    main = done.stdout[done.stdout.index("\nmain"):]
    assert "@copy" not in main and all(re.search(rf", @past_{z}(; (%[NP](, )?)+)?\)", main) for z in "kv"), main
    assert dnncc.run([*command, "--entry=prompt:N=1..8", "--entry=step:N=1", "-o", tmp_path / "e.c"]).returncode == 0
    assert dnncc.run([*command, "--dim=N=1..8", "--check", "-o", tmp_path / "e.c"]).returncode == 0


@pytest.mark.parametrize("kind", ["rows", "f16", "bf16"])
def test_as_state_in_few_bits(kind, tmp_path):
    """likewise of a cache in fewer bits"""
    save(tmp_path / "m.onnx", do_rotary=1)
    command = [dnncc.DNNCC, tmp_path / "m.onnx", *DIMS, "--state=past.*=present.*", f"--quantize-port=past.*={kind}", "--target=x86-64-v3"]
    done = dnncc.run([*command, "--dim=N=1..8", "--emit=loops", "-o", "-"])
    assert done.returncode == 0, done.stderr
    main = done.stdout[done.stdout.index("\nmain"):]
    assert "@copy" not in main and all(re.search(rf", @past_{z}(; (%[NP](, )?)+)?\)", main) for z in "kv"), main
    assert ("@past_k_scale" in main) == (kind == "rows")
    assert dnncc.run([*command, "--entry=prompt:N=1..8", "--entry=step:N=1", "--check"]).returncode == 0


def several(folder, count, past=True, **attributes):
    """the model for so many sequences, or as many as a symbol says: its session"""
    save(folder / "m.onnx", past, **attributes)
    model = onnx.load(folder / "m.onnx")
    for port in *model.graph.input, *model.graph.output:
        dim = port.type.tensor_type.shape.dim[0]
        setattr(dim, "dim_param" if isinstance(count, str) else "dim_value", count)
    onnx.save(model, folder / "m.onnx")
    return onnxruntime.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])


def lengths(rng, held, room, steps):
    """inputs of sequences that hold so many rows each of a cache of `room`, and get `steps` more"""
    count = len(held)
    mask = np.arange(room + steps)[None] < np.array(held)[:, None] + steps
    return {"x": rng.standard_normal((count, steps, HEADS * SIZE)).astype(np.float32), "attention_mask": mask.astype(np.int64),
            **{f"past.{z}": rng.standard_normal((count, GROUPS, room, SIZE)).astype(np.float32) for z in "kv"}}


def same_rows(got, want, held, steps):
    """results, and of each cache the rows that a sequence has"""
    y, *caches = (x.reshape(right.shape) for x, right in zip(got, want, strict=True))
    np.testing.assert_allclose(y, want[0], 1e-4, 1e-5)
    for cache, right in zip(caches, want[1:], strict=True):
        for b, before in enumerate(held):
            np.testing.assert_allclose(cache[b, :, :before + steps], right[b, :, :before + steps], 1e-4, 1e-5)


@pytest.mark.sample(9, each=False)
@pytest.mark.parametrize("options", [(), ("--target=x86-64-v3",), ("--target=x86-64-v4", "--exact")], ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("attributes", [{"do_rotary": 1}, {}, {"do_rotary": 1, "local_window_size": 6}], ids=str)
def test_several_sequences(attributes, options, tmp_path):
    """each with rows of its own number in the cache"""
    session = several(tmp_path, 3, **attributes)
    program, rng = compiled(tmp_path, *DIMS, "--dim=N=1..8", *options), np.random.default_rng(7)
    for held, room, steps in ([0, 0, 0], 0, 5), ([4, 7, 1], 7, 1), ([9, 3, 9], 9, 1), ([32, 0, 15], 32, 1), ([5, 5, 5], 5, 1):
        inputs = lengths(rng, held, room, steps)
        same_rows(dnncc.run_host(program, list(inputs.values())), session.run(None, inputs), held, steps)


def test_prompts_of_several_lengths(tmp_path):
    """a first call: rows behind the end of a sequence do not count"""
    session = several(tmp_path, 2, do_rotary=1)
    program, rng = compiled(tmp_path, *DIMS, "--dim=N=1..8"), np.random.default_rng(8)
    inputs = lengths(rng, [0, 0], 0, 6)
    inputs["attention_mask"][1, 4:] = 0
    got, want = dnncc.run_host(program, list(inputs.values())), session.run(None, inputs)
    for y, right in zip(got, want, strict=True):
        y = y.reshape(right.shape)
        np.testing.assert_allclose(y[0], right[0], 1e-4, 1e-5)
        rows = (1, slice(0, 4)) if y.ndim == 3 else (1, slice(None), slice(0, 4))
        np.testing.assert_allclose(y[rows], right[rows], 1e-4, 1e-5)


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_several_sequences_as_state(target, tmp_path):
    """new rows are put behind the old ones, and then where each sequence ends, both in place"""
    several(tmp_path, 2, do_rotary=1)
    command = [dnncc.DNNCC, tmp_path / "m.onnx", *DIMS, "--state=past.*=present.*", f"--target={target}", "--dim=N=1..8"]
    done = dnncc.run([*command, "--emit=loops", "-o", "-"])
    assert done.returncode == 0, done.stderr
    main = done.stdout[done.stdout.index("\nmain"):]
    assert "@copy" not in main and all(len(re.findall(rf"\(@t_\d+, (?:@t_\d+, )?@past_{z}; ", main)) == 2 for z in "kv"), main
    assert dnncc.run([*command, "--check", "-o", tmp_path / "e.c"]).returncode == 0


def test_a_sequence_longer_than_the_cache(tmp_path):
    several(tmp_path, 2, do_rotary=1)
    program, inputs = compiled(tmp_path, *DIMS, "--dim=N=1..8"), lengths(np.random.default_rng(3), [9, 4], 9, 1)
    inputs["attention_mask"][0, 0] += 1
    with pytest.raises(AssertionError, match="-3"):
        dnncc.run_host(program, list(inputs.values()))


def test_as_many_sequences_as_a_run_gives(tmp_path):
    """one, and several that have rows of their own number in the cache"""
    session = several(tmp_path, "B", do_rotary=1)
    program, rng = compiled(tmp_path, *DIMS, "--dim=N=1..8", "--dim=B=1..4"), np.random.default_rng(11)
    for held, room, steps in ([4], 4, 2), ([0, 0, 0], 0, 5), ([4, 7], 7, 1), ([9, 3, 9, 1], 9, 1):
        inputs = lengths(rng, held, room, steps)
        same_rows(dnncc.run_host(program, list(inputs.values())), session.run(None, inputs), held, steps)
