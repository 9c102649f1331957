# SPDX-License-Identifier: MIT
"""What lies within loops and branches: calibration sees every number that was computed there, as numpy does that runs the same loops, and no
other; layers there are in bytes, with the rounding that samples teach; what no sample ran stays in floats."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).resolve().parent)]
import dnncc  # noqa: E402
import ranges  # noqa: E402
import roundtrip  # noqa: E402
from quantized import onnxruntime_saturates  # noqa: E402
from test_calibration import calibrate, floats, info, no_compiler, refused, run, save  # noqa: E402
from test_learning import losses, matrix  # noqa: E402

WIDTH, MOST, COUNT = 16, 20, 6
node = helper.make_node
W, W2 = floats(WIDTH, WIDTH) * .5, floats(WIDTH, WIDTH) * .4
BOUND = np.float32(.97)
CONSTANTS = {"w": W, "w2": W2, "most": np.array(MOST), "three": np.array(3), "bound": BOUND, "zero": np.float32(0), "yes": np.array(True)}
ROW, FLAG, NUMBER = [1, WIDTH], (([], TensorProto.BOOL)), (([], TensorProto.INT64))


def body(nodes, result, names=("i", "go", "h", "still")):
    i, go, kept, still = names
    return helper.make_graph(nodes, "body", [info(i, *NUMBER), info(go, *FLAG), info(kept, ROW)], [info(still, *FLAG), info(result, ROW)])


def branch(nodes, result):
    return helper.make_graph(nodes, "branch", [], [info(result, ROW)])


STEP = [node("MatMul", ["h", "w"], ["p"], name="inner"), node("Tanh", ["p"], ["next"], name="tanh")]
GOES = [node("ReduceMax", ["next"], ["high"], keepdims=0, name="high"), node("Less", ["high", "bound"], ["still"], name="less")]
STAYS = [node("Identity", ["go"], ["still"])]
OUTER = node("MatMul", ["x", "w2"], ["a"], name="outer")


def model(folder, how):
    """a product, and what is said of it in a loop: a constant number of times, as often as an input says, while a number is small; or a loop
    of branches one of which is a loop"""
    trip = {"constant": "most", "given": "n", "both": "n", "while": "", "nested": "n"}[how]
    if how == "nested":
        again = body([node("MatMul", ["k", "w"], ["p"], name="inner"), node("Tanh", ["p"], ["after"], name="tanh"), node("Identity", ["go2"], ["still2"])], "after", ("i2", "go2", "k", "still2"))
        then = branch([node("Loop", ["three", "", "h"], ["looped"], name="again", body=again)], "looped")
        other = branch([node("MatMul", ["h", "w2"], ["straight"], name="other")], "straight")
        nodes = [node("ReduceSum", ["h"], ["sum"], keepdims=0, name="sum"), node("Less", ["sum", "zero"], ["low"]),
                 node("If", ["low"], ["next"], name="if", then_branch=then, else_branch=other), *STAYS]
    else:
        nodes = [*STEP, *(GOES if how in ("both", "while") else STAYS)]
    go = "yes" if how == "while" else ""
    inputs = [info("x", ROW)] + [info("n", *NUMBER)] * (trip == "n")
    return save(folder / f"{how}.onnx", [OUTER, node("Loop", [trip, go, "a"], ["y"], name="loop", body=body(nodes, "next"))],
                inputs, [info("y", ROW)], CONSTANTS)


def trace(how, x, n):
    """(the result, {name: all that it was})"""
    h = x @ W2
    seen = {"outer.dot": [h], "loop.loop.body.1": [], "inner.dot": [], "tanh.tanh": [], "other.dot": []}

    def step(h):
        seen["inner.dot"].append(h @ W)
        seen["tanh.tanh"].append(np.tanh(h @ W))
        return seen["tanh.tanh"][-1]

    most = {"constant": MOST, "while": 10 ** 6}.get(how, n)
    for _ in range(most):
        seen["loop.loop.body.1"].append(h)
        if how != "nested":
            h = step(h)
        elif h.sum() < 0:
            for _ in range(3):
                h = step(h)
        else:
            h = h @ W2
            seen["other.dot"].append(h)
        if how in ("both", "while") and not h.max() < BOUND:
            break
    return h, seen


def samples(folder, how, trips=(3, 0, 7, 1, 20, 2)):
    """the file, and what numpy sees of each"""
    x, n = floats(COUNT, *ROW), np.array(trips)
    np.savez(folder / "s.npz", x=x, **({"n": n} if how in ("given", "both", "nested") else {}))
    return x, n, [trace(how, a, k) for a, k in zip(x, n)]


def extent(parts):
    return (min(p.min() for p in parts), max(p.max() for p in parts)) if parts else None


HOW = ["constant", "given", "both", "while", "nested"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", HOW)
def test_all_that_was_computed(how, tmp_path):
    path = model(tmp_path, how)
    _, _, traces = samples(tmp_path, how)
    got = calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    names = [name for name in traces[0][1] if any(seen[name] for _, seen in traces)]
    assert len(names) == (5 if how == "nested" else 4) and set(names) <= set(got.tensors)
    for name in names:
        tensor, parts = got.tensors[name], [seen[name] for _, seen in traces]
        whole = np.concatenate([np.ravel(p) for p in parts])
        assert tensor.count == whole.size == tensor.bins.sum() and tensor.infinite == 0
        np.testing.assert_allclose(tensor.extent, (whole.min(), whole.max()), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose([float(tensor.sum), float(tensor.squares)], [whole.sum(dtype=float), np.square(whole.astype(float)).sum()], rtol=1e-3, atol=1e-3)
        assert len(tensor.samples) == COUNT
        for mine, theirs in zip(tensor.samples, parts):
            assert (mine is None) == (not theirs)
            if theirs:
                np.testing.assert_allclose(mine, extent(theirs), rtol=1e-4, atol=1e-4)


def test_channels(tmp_path):
    path = model(tmp_path, "given")
    _, _, traces = samples(tmp_path, "given")
    got = calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges", "--channels=last")
    whole = np.concatenate([p for _, seen in traces for p in seen["inner.dot"]])
    np.testing.assert_allclose(got.tensors["inner.dot"].channels, np.stack([whole.min(0), whole.max(0)], 1), rtol=1e-4, atol=1e-4)


@pytest.mark.sample(5)
@pytest.mark.parametrize("how", HOW)
def test_interpreted_and_in_parts(how, tmp_path):
    """the same bytes without a compiler; and of two files as of one"""
    path = model(tmp_path, how)
    samples(tmp_path, how)
    calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges", "--exact")
    calibrate(path, tmp_path / "s.npz", tmp_path / "i.ranges", "--exact", env=no_compiler(tmp_path / "bin"))
    assert (tmp_path / "r.ranges").read_bytes() == (tmp_path / "i.ranges").read_bytes()
    whole = np.load(tmp_path / "s.npz")
    for part in (0, 1):
        folder = tmp_path / f"part{part}"
        folder.mkdir()
        for k in range(part, COUNT, 2):
            (folder / f"s{k}").mkdir()
            for a in whole:
                np.save(folder / f"s{k}" / f"{a}.npy", whole[a][k])
    (tmp_path / "all").mkdir()
    for k in range(COUNT):
        (tmp_path / f"part{k % 2}" / f"s{k}").rename(tmp_path / "all" / f"s{k}")
    calibrate(path, tmp_path / "all", tmp_path / "all.ranges")
    for k in range(COUNT):
        (tmp_path / "all" / f"s{k}").rename(tmp_path / f"part{k % 2}" / f"s{k}")
    for part in (0, 1):
        calibrate(path, tmp_path / f"part{part}", tmp_path / f"{part}.ranges")
    done = run(f"--merge={tmp_path / '1.ranges'}", f"--merge={tmp_path / '0.ranges'}", "-o", tmp_path / "m.ranges")
    assert done.returncode == 0 and (tmp_path / "m.ranges").read_bytes() == (tmp_path / "all.ranges").read_bytes(), done.stderr


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def scanned(folder, recurrent):
    """a scan, or a recurrent layer, of 12 rows"""
    rows = [12, 1, 3]
    if recurrent:
        nodes = [node(recurrent, ["x", "wx", "wh"], ["y"], name="layer", hidden_size=WIDTH)]
        constants = {"wx": floats(1, GATES[recurrent] * WIDTH, 3), "wh": floats(1, GATES[recurrent] * WIDTH, WIDTH) * .5}
        return save(folder / "layer.onnx", nodes, [info("x", rows)], [info("y", [12, 1, 1, WIDTH])], constants), constants
    step = helper.make_graph([node("MatMul", ["row", "wx"], ["b"], name="apart"), node("MatMul", ["h", "wh"], ["p"], name="inner"), node("Add", ["p", "b"], ["s"], name="add"),
                              node("Tanh", ["s"], ["next"], name="tanh"), node("Identity", ["next"], ["out"])], "step",
                             [info("h", ROW), info("row", [1, 3])], [info("next", ROW), info("out", ROW)])
    constants = {"wx": floats(3, WIDTH), "wh": floats(WIDTH, WIDTH) * .5, "h0": np.zeros(ROW, np.float32)}
    return save(folder / "scan.onnx", [node("Scan", ["h0", "x"], ["last", "y"], name="scan", body=step, num_scan_inputs=1, scan_input_directions=[1])],
                [info("x", rows)], [info("last", ROW), info("y", [12, *ROW])], constants), constants


def test_scanned_backward(tmp_path):
    """from the last row to the first"""
    path, c = scanned(tmp_path, None)
    x = floats(4, 12, 1, 3)
    np.savez(tmp_path / "s.npz", x=x)
    got = calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    whole = []
    for rows in x:
        h = c["h0"]
        for row in rows[::-1]:
            h = np.tanh(h @ c["wh"] + row @ c["wx"])
            whole.append(h)
    whole = np.stack(whole)
    assert got.tensors["tanh.tanh"].count == whole.size
    np.testing.assert_allclose(got.tensors["tanh.tanh"].extent, (whole.min(), whole.max()), **dict(rtol=1e-4, atol=1e-4))
    exponent, _ = ranges.histogram(whole)
    assert got.tensors["tanh.tanh"].exponent == exponent


# ---- errors ----

def test_too_many_iterations(tmp_path):
    """of a loop whose end only a run shows: an error that says how to go on; the same number is fine where it is known before"""
    path = model(tmp_path, "given")
    samples(tmp_path, "given")
    refused(dnncc.INVALID, "loop loop runs more than 19 iterations; --limit observed_steps=N", path, f"--calibrate={tmp_path / 's.npz'}", "--limit", "observed_steps=19",
            "-o", tmp_path / "r.ranges")
    assert not (tmp_path / "r.ranges").exists()
    calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges", "--limit", "observed_steps=20")
    samples(tmp_path, "constant")
    calibrate(model(tmp_path, "constant"), tmp_path / "s.npz", tmp_path / "c.ranges", "--limit", "observed_steps=1")


def test_not_a_number(tmp_path):
    root = node("Sqrt", ["h"], ["next"], name="root")
    path = save(tmp_path / "m.onnx", [OUTER, node("Loop", ["most", "", "a"], ["y"], name="loop", body=body([root, *STAYS], "next"))], [info("x", ROW)], [info("y", ROW)], CONSTANTS)
    samples(tmp_path, "constant")
    refused(dnncc.INVALID, "s.npz:0: tensor loop.loop is NaN at element", path, f"--calibrate={tmp_path / 's.npz'}", "-o", tmp_path / "r.ranges")


# ---- in bytes ----

def quantized(path, folder, *options):
    """[(layers in bytes, layers)], what is said of others"""
    done = run(path, f"--quantize={folder / 'r.ranges'}", "-v", "--stats", "--emit=ir", "-o", folder / "q.dnn", *options)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, re.search(r"quantize .*: (\d+) of (\d+) layers in bytes", done.stderr).groups())), re.findall(r"(\w+) \(dot\) stays in floats: (.*)", done.stderr)


def noise(path, folder, inputs, *options):
    """decibels by which outputs in bytes are off, of many inputs"""
    folder.mkdir()
    dnncc.compile_model(path, folder, options)
    program = dnncc.build_host(folder, ["-O1"])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ports = [p[1] for p in dnncc.describe(program) if p[0]]
    signal = wrong = 0
    for given in inputs:
        ours, theirs = dnncc.run_host(program, [given[p] for p in ports]), session.run(None, given)
        for a, b in zip(ours, theirs):
            signal, wrong = signal + np.square(b).sum(dtype=float), wrong + np.square(a.ravel() - b.ravel()).sum(dtype=float)
    return 10 * np.log10(signal / wrong)


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", HOW)
def test_layers(how, tmp_path):
    """all are in bytes, in loops, too: sums of whole numbers there; and the results are near"""
    path = model(tmp_path, how)
    trips = (3, 2, 4, 1, 5, 2)
    x, n, _ = samples(tmp_path, how, trips)
    calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    (whole, layers), left = quantized(path, tmp_path)
    assert whole == layers == (3 if how == "nested" else 2) and not left
    text = (tmp_path / "q.dnn").read_text()
    loop = text[text.index(" = loop("):]
    assert len(re.findall(r"= (?:dot|convolve\w*)\(.*accumulator=i32", loop)) >= layers - 1 and not re.findall(r"= (?:dot|convolve\w*)\((?!.*accumulator=i32)", loop)
    if how == "given":                  # else it goes on for long, or a byte decides how far
        assert noise(path, tmp_path / "n", [{"x": a, "n": np.array(k)} for a, k in zip(x, n)], f"--quantize={tmp_path / 'r.ranges'}") > 18


@pytest.mark.parametrize("recurrent", [None, "LSTM"])
def test_written_model(recurrent, tmp_path):
    """of recurrent layers: onnxruntime's results are ours"""
    if onnxruntime_saturates():
        pytest.skip("onnxruntime's sums of products of bytes saturate on this processor")
    path, _ = scanned(tmp_path, recurrent)
    x = floats(8, 12, 1, 3)
    np.savez(tmp_path / "s.npz", x=x)
    calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    option = f"--quantize={tmp_path / 'r.ranges'}"
    (whole, layers), _ = quantized(path, tmp_path)
    assert whole == layers == 2
    file = roundtrip.emit(path, tmp_path / "w.onnx", option)
    onnx.checker.check_model(onnx.load(file), full_check=True)
    (tmp_path / "c").mkdir()
    dnncc.compile_model(path, tmp_path / "c", [option])
    program = dnncc.build_host(tmp_path / "c", ["-O1"])
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    off = [max(np.abs(ours.ravel() - theirs.ravel()).max() for ours, theirs in zip(dnncc.run_host(program, [sample]), session.run(None, {"x": sample})))
           for sample in x]
    assert sum(o > 2e-5 for o in off) <= 1 and max(off) < 1 / 127, off          # beside a half, the order of additions decides a byte, and what follows
    assert noise(path, tmp_path / "n", [{"x": s} for s in x], option) > 25


WEIGHTS = {     # decibels that are left, at least
    ("--quantize=dynamic",): 25, ("--quantize-weights=s8",): 35, ("--quantize-weights=s4",): 13, ("--quantize=dynamic", "--quantize-weights=u4"): 13,
    ("--quantize-weights=s4", "--calibrate=SAMPLES", "--quantize-steps=+gptq,+awq"): 13, ("--quantize-weights=f16",): 60,
}


@pytest.mark.parametrize("options", WEIGHTS, ids=[" ".join(o).replace("--quantize", "").replace("--calibrate=", "") for o in WEIGHTS])
@pytest.mark.parametrize("recurrent", [None, *GATES])
@pytest.mark.sample(12)
def test_weights_in_loops(recurrent, options, tmp_path):
    """without ranges: weights alone are in few bits, or bytes are multiplied whose steps each iteration finds"""
    path, _ = scanned(tmp_path, recurrent)
    x = floats(8, 12, 1, 3)
    np.savez(tmp_path / "s.npz", x=x)
    options = [*(o.replace("SAMPLES", str(tmp_path / "s.npz")) for o in options), "--limit", "weight_elements=1"]
    done = run(path, *options, "-v", "--stats", "--emit=ir", "-o", tmp_path / "q.dnn")
    count = 3 if recurrent == "GRU" else 2
    assert done.returncode == 0 and re.search(rf"(?:quantize_products|store_weights) .*: {count} of {count} (?:products|constants)", done.stderr), done.stderr
    text = (tmp_path / "q.dnn").read_text()
    loop = text[text.index(" = loop("):]
    if "--quantize=dynamic" in options:
        assert re.search(r"= (?:dot|convolve\w*)\(.*accumulator=i32|= dot_blocks\(%\d+, @[^,]*, %", loop), loop
    assert noise(path, tmp_path / "n", [{"x": s} for s in x], *options) > WEIGHTS[tuple(o.replace(str(tmp_path / "s.npz"), "SAMPLES") for o in options[:-2])]


def test_rounding_learns(tmp_path):
    """numbers of weights in a loop are the better for the rows that all its iterations multiplied"""
    path = model(tmp_path, "given")
    x, n = np.tanh(floats(24, *ROW) @ floats(WIDTH, WIDTH)), np.arange(24) % 7
    np.savez(tmp_path / "s.npz", x=x, n=n)
    rows = np.concatenate([h for a, k in zip(x, n) for h in trace("given", a, k)[1]["loop.loop.body.1"]]).astype(float)
    made = []
    for steps in "+round", "-round":
        out = tmp_path / f"{steps[1:]}{steps[0] == '+'}.onnx"
        done = run(path, "--quantize", f"--calibrate={tmp_path / 's.npz'}", f"--quantize-steps={steps},-correct", "--limit", "moment_rows=1000", "--emit=onnx", "-o", out)
        assert done.returncode == 0, done.stderr
        found = [onnx.numpy_helper.to_array(c) for c in onnx.load(out).graph.initializer]
        made.append([c.astype(float) for c in found if c.dtype == np.int8 and c.shape == W.shape])
    h, w = matrix(rows, False), W.T / (np.abs(W.T).max(1, keepdims=True) / 127)
    near = [next(q.T for q in found if (np.abs(q.T - w) < 1.01).all()) for found in made]
    learned, nearest = (losses(h, w - q) for q in near)
    assert (learned <= nearest * (1 + 1e-4)).all() and learned.sum() < .9 * nearest.sum()


def test_what_no_sample_ran(tmp_path):
    """stays in floats, by name; with a sample that runs it, it does not"""
    path = model(tmp_path, "nested")
    for trips, layers, left in ([0] * COUNT, 1, ["inner", "other"]), ([5] * COUNT, 3, []):
        samples(tmp_path, "nested", trips)
        calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
        (whole, all_of), found = quantized(path, tmp_path)
        assert (whole, all_of) == (layers, 3) and sorted(f[0] for f in found) == left
        assert all("it lies within a loop or branch that no sample ran" in why for _, why in found)


def test_keep_float(tmp_path):
    """by the name of its node, or of what it reads"""
    path = model(tmp_path, "constant")
    samples(tmp_path, "constant")
    calibrate(path, tmp_path / "s.npz", tmp_path / "r.ranges")
    for name in "inner", "inner.dot":
        assert quantized(path, tmp_path, f"--keep-float={name}") == ((1, 2), [("inner", "--keep-float says so")])
