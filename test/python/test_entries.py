# SPDX-License-Identifier: MIT
"""Several run functions in one file (--entry): each gives what the model alone gives; constants, kernels and state are shared."""
import json
import pickle
import re
import shutil

import dnncc
import dnncc_package
import numpy as np
import onnx
import onnxruntime
import pytest
import test_state
from onnx import TensorProto, helper, numpy_helper

DIMS = ["--dim=P=0..30", "--dim=T=P+N"]
ENTRIES = ["--entry=prefill:N=1..6", "--entry=step:N=1"]


@pytest.fixture
def attention(tmp_path):
    m, _ = test_state.attention()
    onnx.save(m, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def library(folder, models, *options, flags=("-O1",)):
    """what dnncc makes of them, compiled strictly, as a library"""
    done = dnncc.run([dnncc.DNNCC, *models, *options, "-o", folder / "gpt.c"])
    assert done.returncode == 0, done.stderr
    strict = dnncc.STRICT if not any("target" in o for o in options) else ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    done = dnncc.run(["gcc", *strict, *flags, "-shared", "-fPIC", folder / "gpt.c", "-o", folder / "gpt.so"])
    assert done.returncode == 0, done.stderr
    return folder / "gpt.so"


def sequences(path, *names):
    """a sequence of each entry, on one state"""
    models = [dnncc_package.load(path, name=f"gpt_{name}") for name in names]
    first = models[0].sequence()
    return first, *(dnncc_package.Sequence(m, first._state) for m in models[1:])


@pytest.mark.parametrize("flags", [[], ["--target=x86-64-v3"], ["-O0"], ["--threads=2"], ["--weights=file"], ["--target=generic,x86-64-v3,x86-64-v4"],
                                   ["--target=x86-64-v3", "--flush-denormals"], ["--target=x86-64-v2,x86-64-v3", "--flush-denormals", "--weights=file"]], ids=lambda f: " ".join(f) or "plain")
def test_prefill_and_step(attention, tmp_path, flags):
    """a prompt by one, tokens by the other, in turn, on one state; what the model gives that is handed its whole past"""
    m, _ = test_state.attention()
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    path = library(tmp_path, [attention], *DIMS, *ENTRIES, "--state=past.*=present.*", *flags,
                   flags=("-O1", "-Wl,--no-as-needed", str(dnncc.ROOT / "build" / "libdnncc_runtime.so")) if "--threads=2" in flags else ("-O1",))
    prefill, step = sequences(path, "prefill", "step")
    past = {"past.k": np.zeros((1, 2, 0, 4), np.float32), "past.v": np.zeros((1, 2, 0, 4), np.float32)}
    for given, before in test_state.grown([6, 1, 1, 3, 1, 6, 1]):
        assert prefill["P"] == step["P"] == before
        y, k, v = session.run(None, {**given, **past})
        past = {"past.k": k, "past.v": v}
        test_state.same((step if given["x"].shape[1] == 1 else prefill)(**given), [y])
        test_state.same((prefill["past.k"],), [k])


@pytest.mark.parametrize("scale, code", [(1, 1.5), (-3, 2.5)])
def test_different_models(tmp_path, scale, code):
    """as many models as entries, without state; ports of equal names keep them; constants of equal bytes are one, and those of one name that differ are kept apart"""
    def dense(out, bias, scale=1):
        w = scale * np.arange(8000, dtype=np.float32).reshape(40, 200) / 1000
        g = helper.make_graph([helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node(*bias[:1], [*bias[1:]], [out])], "dense",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 40])],
                              [helper.make_tensor_value_info(out, TensorProto.FLOAT, [2, 200])], [numpy_helper.from_array(w, "W")])
        return helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    a, b = dense("y", ("Relu", "h")), dense("y", ("Neg", "h"), scale)
    for name, m in (("a", a), ("b", b)):
        onnx.save(m, tmp_path / f"{name}.onnx")
    path = library(tmp_path, [tmp_path / "a.onnx", tmp_path / "b.onnx"], "--entry=left", "--entry=right")
    x = np.random.default_rng(1).standard_normal((2, 40)).astype(np.float32)
    for name, m in (("left", a), ("right", b)):
        want = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        model = dnncc_package.load(path, name=f"gpt_{name}")
        assert [p.name for p in (*model.inputs, *model.outputs)] == ["x", "y"]
        test_state.same(model(x), want)
    header, alone = (tmp_path / "gpt.h").read_text(), (tmp_path / "gpt.c").stat().st_size
    assert "#define GPT_LEFT_X_ELEMS 80u" in header and "#define GPT_RIGHT_Y_ELEMS 400u" in header and "int gpt_left_run(void *workspace, const float *x, float *y);" in header
    done = dnncc.run([dnncc.DNNCC, tmp_path / "a.onnx", "-o", tmp_path / "one.c"])
    assert done.returncode == 0 and (code - 1) < alone / (tmp_path / "one.c").stat().st_size < code


def test_texts_are_read_back(attention, tmp_path):
    command = [dnncc.DNNCC, attention, *DIMS, *ENTRIES, "--state=past.*=present.*"]
    done = dnncc.run([*command, "-o", tmp_path / "a.c", "--name=net"])
    assert done.returncode == 0, done.stderr
    for emit in "ir", "loops":
        for target, source in ("t", command), ("again", [dnncc.DNNCC, tmp_path / "t"]):
            done = dnncc.run([*source, f"--emit={emit}", "-o", tmp_path / target])
            assert done.returncode == 0, done.stderr
        assert (tmp_path / "t").read_text() == (tmp_path / "again").read_text().replace('"again.bin"', '"t.bin"')
        assert dnncc.run([dnncc.DNNCC, tmp_path / "t", "-o", tmp_path / "b.c", "--name=net"]).returncode == 0
        assert (tmp_path / "b.c").read_text().replace('"b.h', '"a.h') == (tmp_path / "a.c").read_text()
    assert (tmp_path / "again").read_text().count("\nmain @") == 2


def test_the_workspace_is_that_of_the_larger(attention, tmp_path):
    def sizes(*options):
        done = dnncc.run([dnncc.DNNCC, attention, "--state=past.*=present.*", *DIMS, *options, "--emit=loops", "-o", "-"])
        assert done.returncode == 0, done.stderr
        return [int(line.split("workspace ")[1].split()[0]) for line in done.stdout.splitlines() if line.startswith("entry @")], int(done.stdout.split(" workspace ")[1].split()[0])
    each, whole = sizes(*ENTRIES)
    assert len(each) == 2 and whole == max(each) and each[0] > each[1]


@pytest.fixture
def data(attention, tmp_path):
    """a folder with files of each entry: a prompt of 4, and the token behind it"""
    session = onnxruntime.InferenceSession(str(attention), providers=["CPUExecutionProvider"])
    past = {"past.k": np.zeros((1, 2, 0, 4), np.float32), "past.v": np.zeros((1, 2, 0, 4), np.float32)}
    for name, (given, _) in zip(("prefill", "step"), test_state.grown([4, 1])):
        (tmp_path / name).mkdir()
        results = session.run(None, {**given, **past})
        for k, port in enumerate(session.get_inputs()):
            np.save(tmp_path / name / f"input_{k}.npy", {**given, **past}[port.name])
        for k, y in enumerate(results):
            np.save(tmp_path / name / f"output_{k}.npy", y)
        past = {"past.k": results[1], "past.v": results[2]}
    return tmp_path


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", [["--state=past.*=present.*"], ["--state=past.*=present.*", "--cc=cc -O1", "--target=x86-64-v3"], ["--cc=cc -O1"],
                                     ["--target=generic,x86-64-v3"], ["--target=generic,x86-64-v3", "--cc=cc -O1"],
                                     ["--region=dtcm=512"], ["--region=dtcm=2K", "--cc=cc -O1 -fsanitize=address"]], ids=" ".join)
def test_data_of_an_entry(attention, data, options):
    """--test and --run take the entry by its name, the first where there is none; files of the wrong one do not fit"""
    command = [dnncc.DNNCC, "m.onnx", *DIMS, *ENTRIES, *options]
    done = dnncc.run([*command, "--test=prefill", "--test=step=step", "--test=prefill=step"], cwd=data)
    assert done.returncode == 0 and done.stdout.count("elements equal") == 9 * (1 + any("," in o for o in options)), done.stdout + done.stderr
    for name in "prefill", "step":
        want = {path.name: np.load(path) for path in (data / name).glob("output_*")}
        for path in (data / name).glob("output_*"):
            path.unlink()
        done = dnncc.run([*command, f"--run={name}={name}"], cwd=data)
        assert done.returncode == 0, done.stderr
        for file, array in want.items():
            np.testing.assert_allclose(np.load(data / name / file), array, rtol=1e-5, atol=1e-6)
    np.save(data / "step" / "output_0.npy", np.load(data / "step" / "output_0.npy") + 1)
    done = dnncc.run([*command, "--test=prefill", "--test=step=step"], cwd=data)
    assert done.returncode == 70 and "output 'y'" in done.stderr, done.stderr
    assert dnncc.run([*command, "--test=step=prefill"], cwd=data).returncode == 3
    done = dnncc.run([*command, "--test=steps=step"], cwd=data)
    assert done.returncode == 1 and "did you mean 'step'" in done.stderr, done.stderr


def test_data_of_an_entry_that_begins_anew(data):
    """where the model of an entry has no past, its files have none"""
    first, second = prompt_and_step()
    onnx.save(first, data / "first.onnx")
    inputs = [port.name for port in second.graph.input]
    for k, name in enumerate(inputs):
        if name.startswith("past."):
            (data / "prefill" / f"input_{k}.npy").unlink()
    done = dnncc.run([dnncc.DNNCC, "first.onnx", "m.onnx", "--entry=prefill:N=1..6", "--entry=step:N=1,P=0..30,T=P+N", "--state=past.*=present.*",
                      "--test=prefill", "--test=step=step"], cwd=data)
    assert done.returncode == 0 and done.stdout.count("elements equal") == 6, done.stdout + done.stderr


def test_looking_at_entries(attention, data):
    """--check compares both, --bench measures each, and the report has both"""
    command = [dnncc.DNNCC, "m.onnx", *DIMS, *ENTRIES, "--state=past.*=present.*", "--target=x86-64-v3"]
    done = dnncc.run([*command, "--check"], cwd=data)
    assert done.returncode == 0 and "check: plan: equal" in done.stderr and "skipped" not in done.stderr.replace("approximates", ""), done.stderr
    done = dnncc.run([*command, "--bench=kernels,1", "--report=r.json", "--test=step=step"], cwd=data)
    assert done.returncode == 0, done.stderr
    assert [line.split(", entry ")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("bench:")] == ["prefill", "step"], done.stdout
    report = json.loads((data / "r.json").read_text())
    assert [e["name"] for e in report["entries"]] == ["prefill", "step"] and all(e["bench"]["median"] > 0 for e in report["entries"])
    assert report["workspace"] == max(e["workspace"] for e in report["entries"]) and {c["entry"] for c in report["calls"]} == {"prefill", "step"}
    assert all(c["seconds"] >= 0 for c in report["calls"])
    for entry in report["entries"]:
        mine = {b["name"] for b in report["buffers"] if b.get("entry") in (None, entry["name"])}
        assert {b["buffer"] for b in entry["memory"]["in_use"]} <= mine
        assert max((b["offset"] + b["bytes"] for b in entry["memory"]["in_use"]), default=0) <= entry["workspace"]
    done = dnncc.run([*command, "--bench=step,1", "--profile=trace.json"], cwd=data)
    assert done.returncode == 0 and done.stdout.count("bench:") == 1 and "entry step" in done.stdout, done.stderr
    assert len(json.loads((data / "trace.json").read_text())) > 1
    drawing = dnncc.run([*command, "--emit=dot", "-o", "-"], cwd=data).stdout
    for name, other in ("prefill", "step"), ("step", "prefill"):
        cluster = drawing[drawing.index(f'subgraph "cluster_{name}"'):]
        cluster = cluster[:cluster.index("  }\n")]
        assert f'"{name}/op0" [' in cluster and f'"{other}/op' not in cluster


def test_in_python():
    """the model is the first entry; sequences of either go on with one state"""
    m, _ = test_state.attention()
    model = dnncc_package.compile(m, dim={"P": "0..30", "T": "P+N"}, entry=["prefill:N=1..6", "step:N=1"], state={"past.*": "present.*"})
    again = pickle.loads(pickle.dumps(model.entry("step")))
    assert [p.shape for p in again.inputs] == [p.shape for p in model.entry("step").inputs] != [p.shape for p in model.inputs]
    prefill = model.sequence()
    step = prefill.entry("step")
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    past = {"past.k": np.zeros((1, 2, 0, 4), np.float32), "past.v": np.zeros((1, 2, 0, 4), np.float32)}
    for given, _ in test_state.grown([4, 1, 2, 1]):
        y, k, v = session.run(None, {**given, **past})
        past = {"past.k": k, "past.v": v}
        test_state.same((step if given["x"].shape[1] == 1 else prefill)(**given), [y])
    with pytest.raises(dnncc_package.ArgumentError, match="there is no entry 'steps', but prefill, step"):
        model.entry("steps")


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_weights_have_one_form(tmp_path, target):
    """panels for many rows and for one are the same bytes, once"""
    rng, nodes, constants, shape = np.random.default_rng(3), [], {}, 192
    for k, width in enumerate((768, 96, 640, 192)):
        constants[f"W{k}"] = rng.standard_normal((shape, width)).astype(np.float32)
        nodes += [helper.make_node("MatMul", [f"h{k}", f"W{k}"], [f"m{k}"]), helper.make_node("Relu", [f"m{k}"], [f"h{k + 1}"])]
        shape = width
    g = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("h0", TensorProto.FLOAT, ["N", 192])],
                          [helper.make_tensor_value_info("h4", TensorProto.FLOAT, ["N", 192])], [numpy_helper.from_array(w, n) for n, w in constants.items()])
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--entry=many:N=1..256", "--entry=one:N=1", "--entry=few:N=7", f"--target={target}", "--weights=file", "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.weights").stat().st_size < 1.01 * sum(w.nbytes for w in constants.values()) + 8192


def prompt_and_step(head=4):
    """as two models, the first without a past, which is what exporters write side by side"""
    step, _ = test_state.attention(dim=head)
    prompt = onnx.ModelProto()
    prompt.CopyFrom(step)
    for node in list(prompt.graph.node):
        if node.op_type == "Concat":
            prompt.graph.node.remove(node)
    for node in prompt.graph.node:
        for names in node.input, node.output:
            names[:] = ["present." + n if n in ("k", "v") else n for n in names]
    for port in list(prompt.graph.input):
        if port.name.startswith("past"):
            prompt.graph.input.remove(port)
    for port in *prompt.graph.input, *prompt.graph.output:
        for d in port.type.tensor_type.shape.dim:
            if d.dim_param == "T":
                d.dim_param = "N"
    return prompt, step


# A prompt of 12 rows is longer than any past that a step reads.
BEGUN = {
    "without a past": (True, ["--entry=prompt:N=1..12", "--entry=step:N=1,P=0..10,T=P+N"], [5, 1, 9]),
    "step first": (True, ["--entry=step:N=1,P=0..10,T=P+N", "--entry=prompt:N=1..12"], [5, 1, 9]),
    "of one length": (True, ["--entry=prompt:N=6", "--entry=step:N=1,P=0..14,T=P+N"], [6, 6]),
    "a past of no rows": (False, ["--entry=prompt:N=6,P=0,T=P+N", "--entry=step:N=1,P=0..14,T=P+N"], [6, 6]),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("flags", [[], ["--target=x86-64-v3"], ["-O0"]], ids=lambda f: " ".join(f) or "plain")
@pytest.mark.parametrize("how", BEGUN)
def test_a_prompt_begins_anew(tmp_path, how, flags):
    """an entry that reads no past writes the first rows of the state that the other one goes on with, and again, whatever was there"""
    apart, entries, lengths = BEGUN[how]
    prompt, step = prompt_and_step()
    files = [(prompt, "prompt.onnx")] * apart + [(step, "step.onnx")]
    if how == "step first":
        files.reverse()
    for m, name in files:
        onnx.save(m, tmp_path / name)
    path = library(tmp_path, [tmp_path / name for _, name in files], *entries, "--state=past.*=present.*", *flags, flags=["-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"])
    assert "past" not in (tmp_path / "gpt.h").read_text().split("int gpt_prompt_run(")[1].split(";")[0]
    first, second = sequences(path, "prompt", "step")
    session = onnxruntime.InferenceSession(step.SerializeToString(), providers=["CPUExecutionProvider"])
    for length in lengths:
        past = {"past.k": np.zeros((1, 2, 0, 4), np.float32), "past.v": np.zeros((1, 2, 0, 4), np.float32)}
        for given, before in test_state.grown([length, 1, 1]):
            y, k, v = session.run(None, {**given, **past})
            past = {"past.k": k, "past.v": v}
            test_state.same((second if before else first)(**given), [y])
            test_state.same((first["past.k"], second["past.v"]), [k, v])
            assert first["P"] == second["P"] == k.shape[2]


def test_a_prompt_is_read_back(tmp_path):
    for m, name in zip(prompt_and_step(), "ab"):
        onnx.save(m, tmp_path / f"{name}.onnx")
    command = [dnncc.DNNCC, tmp_path / "a.onnx", tmp_path / "b.onnx", *BEGUN["without a past"][1], "--state=past.*=present.*", "--name=net"]
    assert dnncc.run([*command, "-o", tmp_path / "a.c"]).returncode == 0
    for emit in "ir", "loops":
        assert dnncc.run([*command, f"--emit={emit}", "-o", tmp_path / "t"]).returncode == 0
        done = dnncc.run([dnncc.DNNCC, tmp_path / "t", "--name=net", "-o", tmp_path / "b.c"])
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "b.c").read_text().replace('"b.h', '"a.h') == (tmp_path / "a.c").read_text()


def test_a_prompt_longer_than_the_cache(tmp_path):
    """the memory has room for the longest prompt; a step behind more rows than its bound finds it full, and changes nothing"""
    for m, name in zip(prompt_and_step(), "ab"):
        onnx.save(m, tmp_path / f"{name}.onnx")
    path = library(tmp_path, [tmp_path / "a.onnx", tmp_path / "b.onnx"], *BEGUN["without a past"][1], "--state=past.*=present.*")
    first, second = sequences(path, "prompt", "step")
    first(**next(test_state.grown([12]))[0])
    assert first["P"] == 12 and second["past.k"].shape == (1, 2, 12, 4)
    with pytest.raises(dnncc_package.Error, match="no room for more"):
        second(x=np.zeros((1, 1, 8), np.float32), mask=np.zeros((1, 13), np.float32))


def test_prompts_that_do_not_fit(tmp_path):
    """heads of another size; an input of no rows that no entry gives any"""
    for m, name in ((prompt_and_step(5)[0], "a"), (prompt_and_step(4)[1], "b")):
        onnx.save(m, tmp_path / f"{name}.onnx")
    for models, entries, words in (("ab", BEGUN["without a past"][1], "want equal types, but for the rows of state that grows"),
                                   ("b", ["--entry=x:N=6,P=0,T=P+N", "--entry=y:N=1,P=0,T=P+N"], "want equal types, or extents that are numbers")):
        done = dnncc.run([dnncc.DNNCC, *(tmp_path / f"{m}.onnx" for m in models), *entries, "--state=past.*=present.*", "-o", tmp_path / "x.c"])
        assert done.returncode == 1 and words in done.stderr, done.stderr


# ---- what is refused ----

@pytest.mark.parametrize("said, code, words", [
    (["--entry=1x"], 1, "want NAME"), (["--entry=state"], 1, "want NAME"), (["--entry=a", "--entry=a"], 1, "given twice"),
    (["--entry=a:N"], 1, "want DIM=N behind the colon"), (["--entry=a:N=1..4", "--entry=b:N=1..5"], 1, "bounds that a run keeps are one for all"),
    (["--entry=a:Q=1"], 1, "the model has no such dimension"),
])
def test_usage(attention, tmp_path, said, code, words):
    done = dnncc.run([dnncc.DNNCC, attention, *DIMS, *(["--dim=N=2"] if not any("N=" in s for s in said) else []), *said, "-o", tmp_path / "x.c"])
    assert done.returncode == code and words in done.stderr, done.stderr
    assert not (tmp_path / "x.c").exists()


def test_models_want_entries(attention, tmp_path):
    done = dnncc.run([dnncc.DNNCC, attention, attention, "-o", tmp_path / "x.c"])
    assert done.returncode == 1 and "two models are called" in done.stderr
    done = dnncc.run([dnncc.DNNCC, attention, attention, attention, "--entry=a", "--entry=b", "-o", tmp_path / "x.c"])
    assert done.returncode == 1 and "3 models want as many --entry=NAME" in done.stderr


@pytest.mark.parametrize("option", ["--target=vta", "--emit=onnx", "--quantize --calibrate=samples"])
def test_what_is_for_one(attention, tmp_path, option):
    done = dnncc.run([dnncc.DNNCC, attention, *DIMS, *ENTRIES, *option.split()], cwd=tmp_path)
    assert done.returncode == dnncc.UNSUPPORTED and "several entries" in done.stderr, done.stderr


# ---- layers in bytes ----

def past_samples(folder, m, runs, seed=0):
    """samples of the model with its past, of as many new rows as `runs` says"""
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    past = {f"past.{x}": np.zeros((1, 2, 0, 4), np.float32) for x in "kv"}
    folder.mkdir()
    for i, (given, _) in enumerate(test_state.grown(runs, seed)):
        np.savez(folder / f"{seed}.{i}.npz", **given, **past)
        past = dict(zip(past, session.run(None, {**given, **past})[1:]))
    return folder


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("state", [[], ["--state=past.*=present.*"]], ids=["plain", "state"])
def test_layers_in_bytes(attention, tmp_path, state):
    """each entry has samples and ranges of its own, --merge makes them one file, and then an entry computes what it does alone, by its ranges; constants are shared"""
    m = onnx.load(attention)
    samples = {"prefill": past_samples(tmp_path / "many", m, [5, 3, 6, 4]), "step": past_samples(tmp_path / "few", m, [1, 1, 1, 1], 1)}
    command = [dnncc.DNNCC, attention, *DIMS]
    for name, folder in samples.items():
        done = dnncc.run([*command, *ENTRIES, *state, f"--calibrate={name}={folder}", "-o", tmp_path / f"{name}.ranges"])
        assert done.returncode == 0, done.stderr
        alone = dnncc.run([*command, *["--dim=N=1..6" if name == "prefill" else "--dim=N=1"], f"--calibrate={folder}", "-o", tmp_path / f"{name}.alone"])
        assert alone.returncode == 0, alone.stderr
        lines = (tmp_path / f"{name}.ranges").read_text().splitlines()
        assert [re.sub(f"^tensor {name}/", "tensor ", line) for line in lines if not line.startswith("function")] == \
               [line for line in (tmp_path / f"{name}.alone").read_text().splitlines() if not line.startswith("function")]
    ranges = [tmp_path / f"{name}.ranges" for name in samples]
    for order, name in (ranges, "both"), (ranges[::-1], "turned"):
        done = dnncc.run([dnncc.DNNCC, *(f"--merge={r}" for r in order), "-o", tmp_path / name])
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "both").read_bytes() == (tmp_path / "turned").read_bytes()
    done = dnncc.run([*command, *ENTRIES, *state, f"--quantize={tmp_path / 'both'}", "--check"])
    assert done.returncode == 0, done.stderr
    text = dnncc.run([*command, *ENTRIES, *state, f"--quantize={tmp_path / 'both'}", "--emit=ir", "-o", "-"]).stdout
    assert all(re.search("accumulator=i32|x u8>", body) for body in text[text.index("func @prefill"):].split("func @step"))
    path, bytes_of = library(tmp_path, [attention], *DIMS, *ENTRIES, *state, f"--quantize={tmp_path / 'both'}", "--weights=file"), {}
    past = {f"past.{x}": np.random.default_rng(3).standard_normal((1, 2, 7, 4)).astype(np.float32) for x in "kv"}
    for name, n, dim in ("prefill", 4, "1..6"), ("step", 1, "1"):
        done = dnncc.run([*command, f"--dim=N={dim}", *state, f"--quantize={tmp_path / name}.alone", "--weights=file", "-o", tmp_path / f"{name}.c"])
        assert done.returncode == 0, done.stderr
        bytes_of[name] = (tmp_path / f"{name}.weights").stat().st_size
    assert (tmp_path / "gpt.weights").stat().st_size < .75 * sum(bytes_of.values())
    if not state:
        path = library(tmp_path, [attention], *DIMS, *ENTRIES, f"--quantize={tmp_path / 'both'}")
        for name, n, dim in ("prefill", 4, "1..6"), ("step", 1, "1"):
            given = {**past, "x": np.random.default_rng(4).standard_normal((1, n, 8)).astype(np.float32), "mask": np.zeros((n, 7 + n), np.float32)}
            alone = dnncc_package.compile(attention, dim={"P": "0..30", "T": "P+N", "N": dim}, quantize=tmp_path / f"{name}.alone")
            test_state.same(dnncc_package.load(path, name=f"gpt_{name}")(**given), alone(**given))
    done = dnncc.run([*command, *ENTRIES, f"--calibrate=stop={tmp_path}", "-o", tmp_path / "x"])
    assert done.returncode == 1 and "no entry is called that" in done.stderr, done.stderr


# ---- schedules ----

@pytest.mark.slow
def test_schedules_of_all_entries(tmp_path):
    """--tune measures each entry, and the file that it writes is for all of them"""
    product = test_state.model([helper.make_node("MatMul", ["x", "W"], ["y"])], [("x", TensorProto.FLOAT, ["N", 96])], [("y", TensorProto.FLOAT, ["N", 80])],
                               {"W": test_state.weights(1, 96, 80)})
    onnx.save(product, tmp_path / "m.onnx")
    command, book = [dnncc.DNNCC, tmp_path / "m.onnx", "--target=x86-64", *ENTRIES], tmp_path / "book"
    for seconds in 0, 8:
        done = dnncc.run([*command, "--tune", f"--schedule={book}", "--limit", f"tune_seconds={seconds}"])
        assert done.returncode == 0, done.stderr
        lines = [line.split("  ;")[0] for line in book.read_text().splitlines() if line.startswith("convolve_packed")]
        assert len(lines) == 2 and " N x 96" in lines[0] and " 1 x 96" in lines[1], lines
        assert "tune: " in done.stderr or not seconds
    book.write_text("dnncc-schedule 1\n" + "\n".join(re.sub(r": .*$", ": unroll=2", line) for line in lines) + "\n")
    done = dnncc.run([*command, f"--schedule={book}", "--emit=ir", "-o", "-"])
    assert done.returncode == 0, done.stderr
    products = [re.findall(r'convolve_packed.*?schedule="([^;"]*)', entry) for entry in done.stdout.split("\nfunc @")[1:]]
    assert products == [["unroll=2"], ["unroll=2"]], products


def test_models_named_after_their_files(tmp_path):
    """several models without --entry: one workspace by the larger, kernels that both have once"""
    def model(name, rows):
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), onnx.helper.make_node("Relu", ["y"], ["z"])], name,
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [rows, 16])], [onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, None)],
            [onnx.numpy_helper.from_array(np.full((16, 8), len(name), np.float32), "w")])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), tmp_path / f"{name}.onnx")
    for name, rows in (("front-end", 4), ("second", 4), ("third", 12)):
        model(name, rows)
    done = dnncc.run([dnncc.DNNCC, "front-end.onnx", "second.onnx", "third.onnx", "-o", "all.c"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    header, text = (tmp_path / "all.h").read_text(), (tmp_path / "all.c").read_text()
    assert re.findall(r"^int all_(\w+)_run\(", header, re.M) == ["front_end", "second", "third"]
    assert text.count("static KERNEL") == 2, "the first two are one kernel"


@pytest.mark.parametrize("flags", [[], ["--unchecked"]], ids=["checked", "unchecked"])
def test_an_entry_without_the_state_of_others(tmp_path, flags):
    """its function has no variable for what it does not use"""
    def save(name, nodes, inputs, outputs):
        ports = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in names] for names in (inputs, outputs)]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / name)
    save("step.onnx", [helper.make_node("Add", ["h", "x"], ["h2"]), helper.make_node("Neg", ["h2"], ["y"])], ["h", "x"], ["h2", "y"])
    save("encode.onnx", [helper.make_node("Exp", ["x"], ["z"])], ["x"], ["z"])
    done = dnncc.run([dnncc.DNNCC, tmp_path / "step.onnx", tmp_path / "encode.onnx", "--entry=step", "--entry=encode", "--state=h=h2", *flags,
                      "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr
    for cc in filter(shutil.which, ("gcc", "clang")):
        built = dnncc.run([cc, *dnncc.STRICT, "-c", tmp_path / "m.c", "-o", tmp_path / "m.o"])
        assert built.returncode == 0, built.stderr
