# SPDX-License-Identifier: MIT
"""--calibrate and --merge: what they see is what onnxruntime and numpy see, in whichever form samples come, and whoever runs the model."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import ranges  # noqa: E402
import terminal  # noqa: E402

RANDOM = np.random.default_rng(7)
CLOSE = dict(rtol=1e-4, atol=1e-4)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, name) for name, a in dict(constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


W, B, W2 = floats(4, 3, 3, 3), floats(4), floats(4 * 36, 5)


@pytest.fixture
def model(tmp_path):
    """a convolution, relu, a product, softmax: x -> conv -> relu -> flat -> fc -> y"""
    return save(tmp_path / "m.onnx", [
        helper.make_node("Conv", ["x", "w", "b"], ["conv"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["conv"], ["relu"], name="relu1"),
        helper.make_node("Flatten", ["relu"], ["flat"], name="flat"),
        helper.make_node("MatMul", ["flat", "w2"], ["fc"], name="fc"),
        helper.make_node("Softmax", ["fc"], ["y"], name="soft")], [info("x", [1, 3, 6, 6])], [info("y", [1, 5])], {"w": W, "b": B, "w2": W2})


NAMES = {"x": "x", "conv": "conv1.add", "relu": "relu1.max", "fc": "fc.dot", "y": "soft.mul"}


def run(*arguments, **keywords):
    return dnncc.run([dnncc.DNNCC, *arguments], **keywords)


def calibrate(model, samples, out, *options, **keywords):
    done = run(model, f"--calibrate={samples}", "-o", out, *options, **keywords)
    assert done.returncode == dnncc.OK, done.stderr
    return ranges.read(out)


def refused(code, text, *arguments, **keywords):
    done = run(*arguments, **keywords)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert text in done.stderr and done.stderr.count(": error: ") == 1, done.stderr


def values(path, samples):
    """{name: [of each sample]} of all tensors, by onnxruntime"""
    model = onnx.load(path)
    inner = [o for n in model.graph.node for o in n.output if o not in [y.name for y in model.graph.output]]
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in inner)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    all_of = [dict(zip(names, session.run(names, s))) | s for s in samples]
    return {name: [v[name] for v in all_of] for name in all_of[0]}


# ---- what is seen ----

def agrees(tensor, seen):
    whole = np.stack(seen)
    assert tensor.count == whole.size and tensor.infinite == 0
    np.testing.assert_allclose(tensor.extent, (whole.min(), whole.max()), **CLOSE)
    np.testing.assert_allclose(tensor.samples, [(s.min(), s.max()) for s in seen], **CLOSE)
    mean, square = float(tensor.sum / tensor.count), float(tensor.squares / tensor.count)
    np.testing.assert_allclose([mean, square - mean ** 2], [whole.mean(dtype=float), whole.var(dtype=float)], **CLOSE)
    assert tensor.bins.sum() == whole.size


def test_tensors_are_those_of_onnxruntime(model, tmp_path):
    x = floats(9, 1, 3, 6, 6)
    np.savez(tmp_path / "s.npz", x=x)
    got = calibrate(model, tmp_path / "s.npz", tmp_path / "r.ranges")
    seen = values(model, [{"x": s} for s in x])
    assert set(NAMES.values()) <= set(got.tensors)
    for name, ours in NAMES.items():
        agrees(got.tensors[ours], seen[name])
    # of what is given nothing is rounded
    tensor = got.tensors["x"]
    exponent, bins = ranges.histogram(x)
    assert tensor.exponent == exponent and (tensor.bins == bins).all()
    assert tensor.extent == (x.min(), x.max())
    assert abs(tensor.sum - sum(map(ranges.Fraction, map(float, x.ravel())))) < 1e-12
    lines = dict(line.split(" ", 2)[1:] for line in (tmp_path / "r.ranges").read_text().splitlines() if line.startswith("tensor "))
    assert lines["flat.reshape"] == lines["relu1.max"] != lines["conv1.add"]


def test_channels(model, tmp_path):
    x = floats(3, 1, 3, 6, 6)
    np.savez(tmp_path / "s.npz", x=x)
    for axis, number in ("second", 2), ("last", -1):
        got = calibrate(model, tmp_path / "s.npz", tmp_path / "r.ranges", f"--channels={axis}")
        seen = values(model, [{"x": s} for s in x])
        for name, ours in NAMES.items():
            whole = np.moveaxis(np.stack(seen[name]), number, 0).reshape(np.stack(seen[name]).shape[number], -1)
            np.testing.assert_allclose(got.tensors[ours].channels, np.stack([whole.min(1), whole.max(1)], 1), **CLOSE)
        assert got.axis == axis and (got.tensors["flat.reshape"].bins == got.tensors["relu1.max"].bins).all()


def test_types_of_floats(tmp_path):
    kinds = {"h": (np.float16, TensorProto.FLOAT16), "d": (np.float64, TensorProto.DOUBLE)}
    path = save(tmp_path / "m.onnx", [helper.make_node("Add", [k, k], [k + "2"], name=k + "add") for k in kinds]
                + [helper.make_node("Cast", ["i"], ["f"], name="cast", to=TensorProto.FLOAT)],
                [info(k, [5], kind) for k, (_, kind) in kinds.items()] + [info("i", [5], TensorProto.INT32)],
                [info(k + "2", [5], kind) for k, (_, kind) in kinds.items()] + [info("f", [5])])
    data = {k: floats(4, 5).astype(dtype) for k, (dtype, _) in kinds.items()} | {"i": np.arange(20, dtype=np.int32).reshape(4, 5)}
    np.savez(tmp_path / "s.npz", **data)
    got = calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    assert list(got.tensors) == ["h", "d", "hadd.add", "dadd.add", "cast.cast"]
    for k in kinds:
        assert got.tensors[k].extent == (np.float32(data[k].min()), np.float32(data[k].max()))
        assert got.tensors[k + "add.add"].extent == (np.float32(2 * data[k].min()), np.float32(2 * data[k].max()))
    assert got.tensors["cast.cast"].extent == (0, 19) and got.tensors["cast.cast"].sum == 190


def test_infinite_numbers_are_counted_apart(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("Log", ["x"], ["y"], name="log"), helper.make_node("Exp", ["y"], ["z"], name="exp")],
                [info("x", [6])], [info("z", [6])])
    np.savez(tmp_path / "s.npz", x=np.array([[0, 1, 2, 0, 4, 5]], np.float32))
    got = calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    assert got.tensors["log.log"].infinite == 2 and got.tensors["log.log"].count == 4 and got.tensors["log.log"].extent[0] == 0
    assert got.tensors["exp.exp"].infinite == 0


def test_constants_are_left_out(tmp_path):
    """of a recurrent network all but the numbers of its steps; of a sum of constants nothing"""
    hidden, steps = 4, 12
    path = save(tmp_path / "m.onnx", [helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="lstm", hidden_size=hidden),
                                      helper.make_node("Exp", ["c"], ["e"], name="of_constants")],
                [info("x", [steps, 1, 3])], [info("y", [steps, 1, 1, hidden]), info("e", [2000])],
                {"w": floats(1, 4 * hidden, 3), "r": floats(1, 4 * hidden, hidden), "c": floats(2000)})
    np.savez(tmp_path / "s.npz", x=floats(2, steps, 1, 3))
    got = calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    assert "x" in got.tensors and {"lstm.loop.0", "lstm.loop.body.1"} <= set(got.tensors) and "lstm.loop.body.0" not in got.tensors
    assert got.tensors["lstm.tanh"].count == 2 * steps * hidden
    assert not any(t.startswith("of_constants") for t in got.tensors)


# ---- who runs it ----

def no_compiler(folder, llvm=True):
    """without llvm its library is one that cannot be loaded"""
    folder.mkdir()
    for name in re.findall(rb"libLLVM[-.\w]*so[.\d]*", pathlib.Path(dnncc.DNNCC).read_bytes()) if not llvm else ():
        (folder / name.decode()).write_text("none")
    return {**os.environ, "PATH": str(folder), "LD_LIBRARY_PATH": str(folder)}


def has_llvm():
    return dnncc.run([dnncc.DNNCC, dnncc.ROOT / "examples" / "digits" / "digits.onnx", "--run=zeros", "--jit=fast"]).returncode == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [(), ("--exact",), ("--channels=second",), ("--exact", "--target=x86-64-v4")])
def test_compiled_and_interpreted_are_the_same(model, tmp_path, options):
    np.savez(tmp_path / "s.npz", x=floats(3, 3, 6, 6))
    calibrate(model, tmp_path / "s.npz", tmp_path / "a.ranges", *options)
    calibrate(model, tmp_path / "s.npz", tmp_path / "b.ranges", *options)
    done = run(model, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "c.ranges", *options, env=no_compiler(tmp_path / "empty", llvm=False))
    assert done.returncode == 0 and "there is no cc: the interpreter runs the samples" in done.stderr
    assert (tmp_path / "a.ranges").read_bytes() == (tmp_path / "b.ranges").read_bytes() == (tmp_path / "c.ranges").read_bytes()
    assert "calibrate" not in done.stderr            # how far it is, is said on terminals alone


@pytest.mark.skipif(not has_llvm(), reason="LLVM is missing")
@pytest.mark.parametrize("options", [(), ("--exact",), ("--channels=second",)])
def test_compiled_in_memory_it_is_the_same(model, tmp_path, options):
    """with --jit, and, without a word, where there is no C compiler"""
    np.savez(tmp_path / "s.npz", x=floats(5, 3, 6, 6))
    calibrate(model, tmp_path / "s.npz", tmp_path / "a.ranges", *options)
    for number, how in enumerate(("--jit", "--jit=fast", None)):
        done = run(model, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "b.ranges", *options, *([how] if how else []), env=no_compiler(tmp_path / str(number)))
        assert done.returncode == 0 and not done.stderr
        assert (tmp_path / "a.ranges").read_bytes() == (tmp_path / "b.ranges").read_bytes()
    without = no_compiler(tmp_path / "none", llvm=False)
    refused(dnncc.UNSUPPORTED, "is not installed here: Debian's package is libllvm", model, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "c.ranges", "--jit", env=without)
    refused(dnncc.USAGE, "--cache", model, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "c.ranges", "--jit", f"--cache={tmp_path / 'cache'}")


def test_digest_is_of_what_is_computed(model, tmp_path):
    np.savez(tmp_path / "s.npz", x=floats(1, 3, 6, 6))

    def digest(*options, path=model):
        return calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges", *options).digest
    first = digest()
    assert digest("--threads=2", "--weights=file", "--name=other", "-O1", "--max-ram=1M") == first
    for target in "x86-64", "x86-64-v4", "aarch64", "generic,x86-64-v3":
        assert digest(f"--target={target}") == first
    text = tmp_path / "m.dnn"
    assert run(model, "--emit=ir", "--passes=simplify", "-o", text).returncode == 0
    assert digest(path=text) == first
    other = onnx.load(model)
    other.graph.initializer[1].CopyFrom(numpy_helper.from_array(B + 1, "b"))
    onnx.save(other, tmp_path / "other.onnx")
    assert digest(path=tmp_path / "other.onnx") != first


def test_progress_is_for_terminals(model, tmp_path):
    """from the second second on, and no longer than there is something to wait for"""
    np.savez(tmp_path / "s.npz", x=floats(3, 3, 6, 6))
    (tmp_path / "slow").write_text('sleep 4; exec cc "$@"\n')
    ours, theirs = terminal.pair()
    done = dnncc.run(["sh", "-c", 'exec 2>&0; exec "$@"', "sh", dnncc.DNNCC, model, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "r.ranges",
                      f"--cc=sh {tmp_path / 'slow'} -O1"], stdin=theirs)
    os.close(theirs)
    said = os.read(ours, 10000).decode()
    os.close(ours)
    assert done.returncode == 0 and not done.stdout and not done.stderr
    assert "compiling" in said and said.endswith("\r\x1b[K") and "\n" not in said


def test_standard_files_may_be_closed(model, tmp_path):
    np.savez(tmp_path / "s.npz", x=floats(3, 3, 6, 6))
    whole = calibrate(model, tmp_path / "s.npz", tmp_path / "a.ranges")
    done = dnncc.run(["sh", "-c", 'exec "$@" <&- >&-', "sh", dnncc.DNNCC, model, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "b.ranges"])
    assert done.returncode == 0 and len(whole.samples) == 3, done.stderr
    assert (tmp_path / "a.ranges").read_bytes() == (tmp_path / "b.ranges").read_bytes()


# ---- forms of samples ----

def two_inputs(folder):
    return save(folder / "two.onnx", [helper.make_node("Mul", ["a/1", "b"], ["c"], name="mul"), helper.make_node("Cast", ["t"], ["f"], name="cast", to=1)],
                [info("a/1", [1, 4]), info("b", [3, 4]), info("t", [2], TensorProto.BOOL)], [info("c", [3, 4]), info("f", [2])])


def write_tensors(folder, arrays):
    folder.mkdir(parents=True)
    for k, array in enumerate(arrays):
        (folder / f"input_{k}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def strip(path):
    """what was seen, without how samples are called"""
    return [line for line in path.read_text().splitlines() if not line.startswith("sample ")]


def test_forms(tmp_path):
    path, count = two_inputs(tmp_path), 11
    a, b, t = floats(count, 1, 4), floats(count, 3, 4), RANDOM.integers(0, 2, (count, 2)).astype(bool)
    forms = tmp_path / "forms"
    forms.mkdir()
    np.savez(forms / "stored.npz", **{"a/1": a, "b": b, "t": t})
    np.savez_compressed(forms / "deflated.npz", **{"a/1": a[:, 0], "b": b, "t": t, "beside": floats(3)})
    np.savez(forms / "numbered.npz", input_0=a, input_1=b, input_2=t)
    np.savez(forms / "positions.npz", a, b, t)
    (forms / "arrays").mkdir()
    for k, array in enumerate((a, b, t)):
        np.save(forms / "arrays" / f"input_{k}.npy", array)
    shutil.copytree(forms / "arrays", forms / "named")
    for k, name in ((1, "b"), (2, "t")):
        (forms / "named" / f"input_{k}.npy").rename(forms / "named" / f"{name}.npy")
    for i in range(count):
        write_tensors(forms / "tensors" / f"test_data_set_{i}", (a[i], b[i], t[i]))
        (forms / "alone" / f"s{i}").mkdir(parents=True)
        (forms / "files").mkdir(exist_ok=True)
        np.savez(forms / "files" / f"{i}.npz", **{"a/1": a[i], "b": b[i], "t": t[i]})
        for k, array in enumerate((a[i], b[i], t[i])):
            np.save(forms / "alone" / f"s{i}" / f"input_{k}.npy", array)
    (forms / "tensors" / "README").write_text("no sample")
    texts = {}
    for form in sorted(forms.iterdir()):
        got = calibrate(path, form, tmp_path / "r.ranges", "--exact")
        texts[form.name] = strip(tmp_path / "r.ranges")
        assert len(got.samples) == count
        assert got.samples == sorted(got.samples, key=lambda s: [int(w) for w in re.findall(r"\d+", s)])
    assert len(texts) == 9 and all(t == texts["stored.npz"] for t in texts.values())
    assert calibrate(path, forms / "tensors", tmp_path / "r.ranges").samples[10] == "test_data_set_10"
    # some of them
    assert len(calibrate(path, forms / "files", tmp_path / "r.ranges", "--samples", "4").samples) == 4
    assert len(calibrate(path, forms / "stored.npz", tmp_path / "r.ranges", "--samples=99").samples) == count


def test_one_array_needs_no_name(model, tmp_path):
    x = floats(4, 3, 6, 6)
    np.save(tmp_path / "any.npy", x)
    np.savez(tmp_path / "s.npz", x=x)
    calibrate(model, tmp_path / "any.npy", tmp_path / "a.ranges")
    calibrate(model, tmp_path / "s.npz", tmp_path / "b.ranges")
    assert strip(tmp_path / "a.ranges") == strip(tmp_path / "b.ranges")


# ---- merging ----

def test_parts_are_the_whole(model, tmp_path):
    x = floats(12, 1, 3, 6, 6) * np.exp(3 * floats(12, 1, 1, 1, 1))
    for i in range(12):
        write_tensors(tmp_path / "whole" / f"s{i}", [x[i]])
        write_tensors(tmp_path / f"part{i % 5 % 3}" / f"s{i}", [x[i]])
    calibrate(model, tmp_path / "whole", tmp_path / "whole.ranges", "--channels=second")
    parts = [tmp_path / f"{i}.ranges" for i in range(3)]
    for i, part in enumerate(parts):
        calibrate(model, tmp_path / f"part{i}", part, "--channels=second")

    def merge(out, *files):
        done = run(*(f"--merge={f}" for f in files), "-o", out)
        assert done.returncode == 0, done.stderr
        return out.read_bytes()
    whole = (tmp_path / "whole.ranges").read_bytes()
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        assert merge(tmp_path / "m.ranges", *(parts[i] for i in order)) == whole
    merge(tmp_path / "two.ranges", parts[2], parts[0])
    assert merge(tmp_path / "m.ranges", parts[1], tmp_path / "two.ranges") == whole
    assert merge(tmp_path / "m.ranges", tmp_path / "whole.ranges") == whole
    done = run(f"--merge={parts[0]}", f"--merge={parts[1]}", "-o", tmp_path / "d.ranges", "-MD")
    assert done.returncode == 0 and "0.ranges" in (tmp_path / "d.d").read_text() and "1.ranges" in (tmp_path / "d.d").read_text()


def test_merge_errors(model, tmp_path):
    np.savez(tmp_path / "s.npz", x=floats(2, 3, 6, 6))
    a, b, out = tmp_path / "a.ranges", tmp_path / "b.ranges", tmp_path / "out.ranges"
    calibrate(model, tmp_path / "s.npz", a)
    refused(dnncc.INVALID, "sample s.npz:0 was counted before", f"--merge={a}", f"--merge={a}", "-o", out)
    calibrate(model, tmp_path / "s.npz", b, "--channels=last")
    refused(dnncc.INVALID, "b.ranges: error: its channels are not those", f"--merge={a}", f"--merge={b}", "-o", out)
    b.write_text(a.read_text().replace("function ", "function 0")[:-1])
    refused(dnncc.INVALID, "b.ranges: error: line 2", f"--merge={a}", f"--merge={b}", "-o", out)
    refused(dnncc.USAGE, "--merge joins files of ranges, without a model", f"--merge={a}", model, "-o", out)
    refused(dnncc.USAGE, "--merge wants -o", f"--merge={a}")
    refused(dnncc.IO, "cannot read", f"--merge={tmp_path / 'none'}", "-o", out)
    refused(dnncc.IO, "it is an input of this run", f"--merge={a}", "-o", a)
    assert not out.exists() and ranges.read(a)


# ---- errors ----

def arrays(folder, **named):
    np.savez(folder / "bad.npz", **named)
    return folder / "bad.npz"


BAD_ARRAYS = {
    "no name": (dict(y=floats(2, 3, 6, 6)), "there is no array of that name, nor input_0 or arr_0"),
    "shape": (dict(x=floats(2, 3, 6, 7)), "the array is <2 x 3 x 6 x 7 x f32>, the model's input <1 x 3 x 6 x 6 x f32>"),
    "rank": (dict(x=floats(2, 1, 1, 3, 6, 6)), "the array is <2 x 1 x 1 x 3 x 6 x 6 x f32>"),
    "element": (dict(x=np.zeros((2, 3, 6, 6))), "the array is <2 x 3 x 6 x 6 x f64>"),
    "order of bytes": (dict(x=floats(2, 3, 6, 6).astype(">f4")), "its elements are of a type that is not read"),
    "objects": (dict(x=np.array([None, "a"], object)), "its elements are of a type that is not read"),
    "records": (dict(x=np.zeros(3, [("a", "<f4"), ("b", "<f4")])), "no plain type of elements"),
    "order": (dict(x=np.asfortranarray(floats(2, 3, 6, 6))), "it is in Fortran's order: save numpy.ascontiguousarray of it"),
    "no samples": (dict(x=floats(0, 3, 6, 6)), "there are no samples in"),
    "NaN": (dict(x=np.where(np.arange(216).reshape(2, 3, 6, 6) == 200, np.nan, 1).astype(np.float32)),
            "sample bad.npz:1: tensor x is NaN at element 92 of 108"),
    "infinite": (dict(x=np.where(np.arange(216).reshape(2, 3, 6, 6) == 7, -np.inf, 1).astype(np.float32)),
                 "sample bad.npz:0: tensor x is infinite at element 7 of 108"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(model, tmp_path, case):
    named, text = BAD_ARRAYS[case]
    refused(dnncc.INVALID, text, model, f"--calibrate={arrays(tmp_path, **named)}", "-o", tmp_path / "r.ranges")
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx", "bad.npz"}


def test_samples_that_do_not_fit(tmp_path):
    path, out = two_inputs(tmp_path), tmp_path / "r.ranges"
    named = {"a/1": floats(2, 1, 4), "b": floats(3, 3, 4), "t": np.zeros((2, 2), bool)}
    refused(dnncc.INVALID, "input 'b': the array has 3 samples, that of input 'a/1' 2", path, f"--calibrate={arrays(tmp_path, **named)}", "-o", out)
    named["b"] = floats(2, 3, 4)
    named["t"] = np.array([[0, 1], [2, 0]], np.uint8).view(bool)
    refused(dnncc.INVALID, "input 't': a truth value is neither 0 nor 1", path, f"--calibrate={arrays(tmp_path, **named)}", "-o", out)
    write_tensors(tmp_path / "s" / "one", (floats(1, 4), floats(4, 3), np.zeros(2, bool)))
    refused(dnncc.INVALID, "samples one: input 'b': input_1.pb holds <4 x 3 x f32>", path, f"--calibrate={tmp_path / 's'}", "-o", out)
    (tmp_path / "s" / "one" / "input_1.pb").unlink()
    refused(dnncc.IO, "No such file", path, f"--calibrate={tmp_path / 's'}", "-o", out)
    assert not out.exists()


def test_no_samples(model, tmp_path):
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    out = tmp_path / "r.ranges"
    out.write_text("as it was")
    refused(dnncc.INVALID, "want folders with input_0.pb .. as --test reads, .npy files named like inputs, or .npz", model,
            f"--calibrate={tmp_path / 'empty'}", "-o", out)
    refused(dnncc.IO, "cannot read", model, f"--calibrate={tmp_path / 'none'}", "-o", out)
    refused(dnncc.USAGE, "--calibrate wants PATH", model, "--calibrate")
    np.savez(tmp_path / "s.npz", x=floats(1, 3, 6, 6))
    data = f"--calibrate={tmp_path / 's.npz'}"
    for more, text in (("--tune", "not with --tune"), ("--emit=ir", "not with --emit"), ("--passes=fold", "not with --passes"),
                       ("--test=x", "not with --test"), ("--report=x.json", "not with --report"), ("--samples=0", "--samples wants a number from 1 on"),
                       ("--samples=x", "--samples wants a number"), ("--channels=first", "--channels wants one of none|second|last")):
        refused(dnncc.USAGE, text, model, data, more, *(["--schedule=x"] if more == "--tune" else []), "-o", out)
    refused(dnncc.USAGE, "--samples wants --calibrate", model, "--samples=3", "-o", tmp_path / "m.c")
    refused(dnncc.IO, "failed to compile the generated code", model, data, "--cc=false", "-o", out)
    refused(dnncc.IO, "it is an input of this run", model, data, "-o", tmp_path / "s.npz")
    assert out.read_text() == "as it was"


def test_not_a_number_on_the_way(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["n"], name="neg"), helper.make_node("Sqrt", ["n"], ["y"], name="root")],
                [info("x", [3])], [info("y", [3])])
    np.savez(tmp_path / "s.npz", x=np.array([[-1, -2, -3], [-1, 4, 1]], np.float32))
    refused(dnncc.INVALID, "sample s.npz:1: tensor root.sqrt is NaN at element 1 of 3", path, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "r.ranges")
    assert not (tmp_path / "r.ranges").exists()


def test_indices_out_of_range(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("Gather", ["w", "i"], ["g"], name="g"), helper.make_node("Exp", ["g"], ["y"], name="e")],
                [info("i", [2], TensorProto.INT64)], [info("y", [2, 4])], {"w": floats(10, 4)})
    np.savez(tmp_path / "s.npz", i=np.array([[1, 2], [3, 77]]))
    for env in None, no_compiler(tmp_path / "empty"):
        done = run(path, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "r.ranges", env=env)
        assert done.returncode == dnncc.INVALID and "sample s.npz:1: the run ended with code -3" in done.stderr


def test_nothing_to_calibrate(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("Add", ["i", "i"], ["y"], name="a")], [info("i", [2], TensorProto.INT64)],
                [info("y", [2], TensorProto.INT64)])
    np.savez(tmp_path / "s.npz", i=np.array([[1, 2]]))
    refused(dnncc.UNSUPPORTED, "there is nothing to calibrate", path, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "r.ranges")


# ---- damaged files ----

def test_damaged_ranges(model, tmp_path):
    np.savez(tmp_path / "s.npz", x=floats(2, 3, 6, 6))
    calibrate(model, tmp_path / "s.npz", tmp_path / "r.ranges", "--channels=second")
    text, bad, out, random = (tmp_path / "r.ranges").read_text(), tmp_path / "bad.ranges", tmp_path / "out.ranges", np.random.default_rng(3)
    words = [m.span() for m in re.finditer(r"[^ \n]+", text)]
    news = ["", " ", "nan", "-inf", "1e400", "-1", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-0.0", "0x1p3", "1p1000000000",
            "f" * 300 + "p0", "tensor", "none", "\0", "\n", "x" * 100000, "tensors 1\n"]
    variants = ["", "dnncc-ranges 2" + text[14:], text + text, text + "\n", text.replace("\n", "\r\n"), text[:-1], text.upper(), "\n".join(reversed(text.split("\n")))]
    for at in [*random.integers(0, len(words), 150), *range(60)]:
        start, end = words[at]
        variants.append(text[:start] + news[random.integers(len(news))] + text[end:])
    codes = set()
    for variant in variants:
        bad.write_text(variant, newline="")
        done = run(f"--merge={bad}", "-o", out)
        codes.add(done.returncode)
        assert done.returncode in (dnncc.OK, dnncc.INVALID), (done.returncode, done.stderr)
        assert done.stderr.count("\n") == (done.returncode != dnncc.OK) and len(done.stderr) < 400, done.stderr
        assert out.exists() == (done.returncode == dnncc.OK)
        out.unlink(missing_ok=True)
    assert dnncc.INVALID in codes


def test_damaged_npz(tmp_path):
    """Every end cut off, every byte of the parts that are not samples changed: an error in one line, or the same as before."""
    path = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"], name="neg")], [info("x", [2])], [info("y", [2])])
    bad, out, random = tmp_path / "bad.npz", tmp_path / "r.ranges", np.random.default_rng(3)
    env = no_compiler(tmp_path / "empty")
    codes = {}
    for save_as in np.savez, np.savez_compressed:
        save_as(bad, x=np.arange(8, dtype=np.float32).reshape(4, 2))
        whole = bad.read_bytes()
        variants = [whole[:n] for n in random.integers(0, len(whole), 40)]
        for at in random.integers(0, len(whole), 160):
            byte = whole[at] ^ (1 << random.integers(8)) if at % 2 else random.integers(256)
            variants.append(whole[:at] + bytes([byte]) + whole[at + 1:])
        for variant in variants:
            bad.write_bytes(variant)
            done = run(path, "-q", f"--calibrate={bad}", "-o", out, "--limit=file_bytes=100000", env=env)
            codes[done.returncode] = codes.get(done.returncode, 0) + 1
            assert done.returncode in (dnncc.OK, dnncc.INVALID), (done.returncode, done.stderr)
            assert done.stderr.count("\n") == (done.returncode != dnncc.OK), done.stderr
            assert out.exists() == (done.returncode == dnncc.OK)
            if out.exists():
                assert ranges.read(out).tensors["x"].sum == 28
                out.unlink()
    assert codes[dnncc.OK] > 10 and codes[dnncc.INVALID] > 100


def header(descr="'<f4'", order="False", shape="(4, 2)", version=1, pad=0, tail="}", data=bytes(32)):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {tail}".ljust(pad).encode() + b"\n"
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


@pytest.mark.parametrize("data, text", [
    (header(), None), (header(version=2), None), (header(version=3, pad=200), None), (header(shape="(4,2,)"), None), (header(shape="( 4 , 2 )"), None),
    (header(version=4), "version of NumPy's format that is not known"), (header(shape="4, 2"), "malformed"), (header(shape="(4, -2)"), "malformed"),
    (header(shape="(4L, 2)"), "malformed"), (header(shape="(99999999999999999999, 2)"), "malformed"), (header(shape="(4611686018427387904, 2)"), "too large"),
    (header(shape="(2147483647, 2147483647, 2)"), "too large"), (header(shape="(4, 3)"), "not as many as its shape says"),
    (header(shape="(" + "1, " * 17 + ")"), "malformed"), (header(data=bytes(31)), "not as many"), (header(data=bytes(33)), "not as many"),
    (header(tail=""), "malformed"), (header(tail="'shape': (4, 2)}"), "malformed"), (header(tail="'more': 1}"), "malformed"),
    (header(descr="'" + "x" * 40 + "'"), "no plain type"), (header(descr="'<c8'"), "a type that is not read"), (header(order="0"), "malformed"),
    (header(order="True"), "Fortran"), (b"\x93NUMPY", "no zip file"), (b"\x93NUMPY\1\0", "not in NumPy's format"),
    (b"\x93NUMPY\1\0\xff\xff{", "ends in its header"), (b"\x93NUMPY\2\0\xff\xff\xff\xff{'descr'", "ends in its header"), (b"", "no zip file")])
def test_headers(tmp_path, data, text):
    path = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"], name="neg")], [info("x", [2])], [info("y", [2])])
    (tmp_path / "x.npy").write_bytes(data)
    arguments = path, "-q", f"--calibrate={tmp_path / 'x.npy'}", "-o", tmp_path / "r.ranges"
    if text:
        refused(dnncc.INVALID, text, *arguments)
    else:
        done = run(*arguments, env=no_compiler(tmp_path / "empty"))
        assert done.returncode == 0, done.stderr


def test_hostile_zips(tmp_path):
    path = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"], name="neg")], [info("x", [2])], [info("y", [2])])
    bad = tmp_path / "bad.npz"

    def write(method=zipfile.ZIP_DEFLATED, name="x.npy", data=header(), comment=b"", change=lambda b: b):
        with zipfile.ZipFile(bad, "w", method) as z:
            z.writestr(name, data)
            z.comment = comment
        bad.write_bytes(change(bad.read_bytes()))
        return path, "-q", f"--calibrate={bad}", "-o", tmp_path / "r.ranges"

    def replaced(signature, at, new):
        def change(data):
            k = data.index(signature) + at
            return data[:k] + new + data[k + len(new):]
        return change
    env = no_compiler(tmp_path / "empty")
    for fine in write(), write(zipfile.ZIP_STORED), write(comment=b"x" * 65535), write(comment=b"PK\5\6" * 30), write(name="x"):
        assert run(*fine, env=env).returncode == 0
    refused(dnncc.INVALID, "packed by another method", *write(zipfile.ZIP_BZIP2))
    refused(dnncc.INVALID, "encrypted", *write(change=replaced(b"PK\1\2", 8, b"\1")))
    refused(dnncc.INVALID, "its checksum is wrong", *write(change=replaced(b"PK\1\2", 16, b"0000")))
    refused(dnncc.INVALID, "damaged", *write(change=replaced(b"PK\1\2", 24, (10 ** 9).to_bytes(4, "little"))))       # unpacks to a thousand times more
    refused(dnncc.INVALID, "packed bytes are damaged", *write(change=replaced(b"PK\1\2", 24, b"\1\0\0\0")))
    refused(dnncc.INVALID, "damaged", *write(change=replaced(b"PK\1\2", 42, b"\xff\xff\xff\x7f")))
    refused(dnncc.INVALID, "damaged", *write(change=replaced(b"PK\5\6", 10, b"\xff\x7f")))
    refused(dnncc.INVALID, "damaged", *write(change=replaced(b"PK\5\6", 16, b"\xff\xff\xff\xff")))


def test_packed_samples_are_streams(tmp_path):
    """80 MB of zeros, which are 80 KB in the file, take no memory: the first four of them, and all"""
    path = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"], name="neg")], [info("x", [50, 1000])], [info("y", [50, 1000])])
    x = np.zeros((400, 50, 1000), np.float32)
    x[3, 7], x[399] = 3, -5
    np.savez_compressed(tmp_path / "s.npz", x=x)
    sanitized, env = "asan" in str(dnncc.DNNCC), no_compiler(tmp_path / "empty")
    for samples, seen in (["--samples=4"], "extent 0.0 3.0"), ([], "extent -5.0 3.0"):
        command = [dnncc.DNNCC, path, "-q", f"--calibrate={tmp_path / 's.npz'}", *samples, "-o", tmp_path / "r.ranges"]
        limit = None if sanitized else lambda: resource.setrlimit(resource.RLIMIT_DATA, (48 << 20, 48 << 20))
        assert subprocess.run([str(word) for word in command], env=env, preexec_fn=limit).returncode == 0
        assert seen in (tmp_path / "r.ranges").read_text()
