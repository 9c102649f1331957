# SPDX-License-Identifier: MIT
"""Sums side by side and in accumulator rows, on the target without vectors: the same bits as of the canonical nests. Widths around those of
rows, borders, strides, groups, sums of integers of 8 bits, results in the place of operands, threads, and --check through every pass."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

PIPELINE = re.search(r'PIPELINE\(2, "([^"]+)"', (dnncc.ROOT / "passes" / "passes.def").read_text())[1]
WITHOUT = f"--passes={PIPELINE.replace(',jam,', ',')}"


def save(path, nodes, inputs, outputs, weights):
    port = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [port(n, t, s) for n, t, s in inputs], [port(n, t, s) for n, t, s in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def outputs(model, folder, arrays, *options):
    folder.mkdir()
    dnncc.compile_model(model, folder, ["--target=generic", *options])
    flags = ["-O2"]
    return (folder / "model.c").read_text(), dnncc.run_host(dnncc.build_host(folder, flags), arrays)


def compare(model, tmp_path, arrays, accumulators):
    """the same bits with the pass and without; says whether it has made accumulator rows"""
    _, wanted = outputs(model, tmp_path / "without", arrays, WITHOUT)
    text, got = outputs(model, tmp_path / "with", arrays)
    for a, b in zip(got, wanted):
        assert a.tobytes() == b.tobytes()
    assert bool(re.search(r"\bsum\w*\[\w+( \* \d+)?( \+ \w+)*\] =", text)) == accumulators, text
    done = dnncc.run([dnncc.DNNCC, model, "--target=generic", "--check", "-o", tmp_path / "checked.c"])
    assert done.returncode == 0 and "jam: equal" in done.stdout + done.stderr, done.stdout + done.stderr


CONVOLUTIONS = [        # channels, outputs, window, rows, columns, pad, stride, groups, has accumulator rows
    (5, 8, 3, 6, 7, 1, 1, 1, False), (4, 8, 3, 5, 14, 1, 1, 1, True), (3, 6, 3, 4, 31, 1, 1, 1, True), (4, 7, 3, 4, 56, 1, 1, 1, True),
    (2, 5, 7, 9, 40, 3, 1, 1, True), (2, 4, 5, 5, 20, 0, 1, 1, True), (8, 12, 1, 7, 7, 0, 1, 1, True), (6, 8, 1, 14, 14, 0, 1, 1, True),
    (6, 9, 1, 3, 300, 0, 1, 1, True), (8, 8, 3, 6, 30, 1, 1, 8, True), (8, 8, 3, 9, 40, 1, 2, 1, False), (1, 1, 3, 1, 600, 1, 1, 1, True)]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: "x".join(map(str, c[:-1])))
@pytest.mark.parametrize("add", [False, True], ids=["alone", "residual"])
@pytest.mark.sample(8)
def test_convolutions(tmp_path, case, add):
    c, m, k, h, w, pad, stride, groups, accumulators = case
    rng = np.random.default_rng(sum(case))
    weights = {"w": rng.standard_normal((m, c // groups, k, k)).astype(np.float32), "b": rng.standard_normal(m).astype(np.float32)}
    y = [1, m, (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1]
    nodes = [helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Conv", ["r", "w", "b"], ["c"], pads=[pad] * 4, strides=[stride] * 2, group=groups),
             helper.make_node("Exp", ["z"], ["e"]), helper.make_node("Add", ["c", "e"] if add else ["c", "c"], ["s"]),
             helper.make_node("Relu", ["s"], ["y"])]
    model = tmp_path / "m.onnx"
    save(model, nodes, [("x", TensorProto.FLOAT, [1, c, h, w]), ("z", TensorProto.FLOAT, y)], [("y", TensorProto.FLOAT, y)], weights)
    arrays = [rng.standard_normal((1, c, h, w)).astype(np.float32), rng.standard_normal(y).astype(np.float32)]
    arrays[0][0, 0, 0, :3] = np.inf, -0.0, np.nan
    compare(model, tmp_path, arrays, accumulators)


@pytest.mark.parametrize("rows, depth, columns", [(1, 64, 32), (1, 30, 500), (6, 17, 48), (7, 8, 13), (3, 24, 9), (2, 9, 7)])
def test_products(tmp_path, rows, depth, columns):
    rng = np.random.default_rng(rows * depth)
    weights = {"w": rng.standard_normal((depth, columns)).astype(np.float32), "b": rng.standard_normal(columns).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["d"]), helper.make_node("Add", ["d", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [("x", TensorProto.FLOAT, [rows, depth])], [("y", TensorProto.FLOAT, [rows, columns])], weights)
    compare(tmp_path / "m.onnx", tmp_path, [rng.standard_normal((rows, depth)).astype(np.float32)], columns >= 8)


@pytest.mark.parametrize("unsigned", [False, True], ids=["i8", "u8"])
@pytest.mark.parametrize("k, h, w, accumulators", [(1, 25, 5, True), (3, 6, 34, True), (3, 5, 48, True), (3, 5, 11, False)])
@pytest.mark.sample(4)
def test_integers(tmp_path, unsigned, k, h, w, accumulators):
    """the largest numbers there are: products of 255 and -128 fit into 16 bits, sums need 32"""
    c, m, rng = 6, 8, np.random.default_rng(k * w)
    kind, low, high = (np.uint8, 0, 256) if unsigned else (np.int8, -128, 128)
    weights = {"w": rng.choice([-128, -127, 127, 5], (m, c, k, k)).astype(np.int8), "xs": np.float32(.5), "xz": kind(low if unsigned else -128),
               "ws": np.float32(.25), "wz": np.int8(0), "ys": np.float32(300), "yz": kind(low + 128)}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[k // 2] * 4)
    element = TensorProto.UINT8 if unsigned else TensorProto.INT8
    save(tmp_path / "m.onnx", [node], [("x", element, [1, c, h, w])], [("y", element, [1, m, h, w])], weights)
    x = rng.integers(low, high, (1, c, h, w)).astype(kind)
    x[0, :, :2] = high - 1
    compare(tmp_path / "m.onnx", tmp_path, [x], accumulators)


@pytest.mark.parametrize("rows, depth, one", [(1, 128, True), (1, 40, False), (3, 128, False)])
def test_one_sum(tmp_path, rows, depth, one):
    """many products of whole numbers of one row: weights of an output lie side by side, for the compiler to add up"""
    r = np.random.default_rng(depth)
    x, w = r.integers(0, 256, (rows, depth)).astype(np.uint8), r.integers(-128, 128, (depth, 24)).astype(np.int8)
    model = tmp_path / "m.onnx"
    save(model, [helper.make_node("MatMulInteger", ["x", "w"], ["y"])], [("x", TensorProto.UINT8, [rows, depth])],
         [("y", TensorProto.INT32, [rows, 24])], {"w": w})
    text, got = outputs(model, tmp_path / "out", [x])
    np.testing.assert_array_equal(got[0], x.astype(np.int32) @ w.astype(np.int32))
    assert bool(re.search(r"b\[\w+ \* 128 \+ k\]", text)) == one, text


def book(model, folder, *lines):
    """a file of schedules: of --tune without time, which lists what it would try; or each contraction with those words"""
    path = folder / "book"
    done = dnncc.run([dnncc.DNNCC, model, "--tune", f"--schedule={path}", "--limit", "tune_seconds=0"])
    assert done.returncode == 0, done.stderr
    listed = path.read_text()
    if lines:
        keys = [line.split(": ")[0] for line in listed.splitlines()[1:] if line[0] != ";"]
        path.write_text("dnncc-schedule 1\n" + "".join(f"{key}: {words}\n" for key in keys for words in lines))
    return listed, f"--schedule={path}"


def scheduled(model, folder, arrays, words):
    """the words, followed: what they are in a dump, and in the code, whose bits stay"""
    _, option = book(model, folder, words)
    done = dnncc.run([dnncc.DNNCC, model, option, "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and not done.stderr and f'schedule="{words}"' in done.stdout, done.stdout + done.stderr
    return outputs(model, folder / words.replace(" ", "_"), arrays, option)


def code(path):
    """without what says of which file it was made"""
    return path.read_text().split("/* Every operation is rounded as written")[1]


def plain_convolution(folder, c=6, m=9, h=5, w=14, k=3, groups=1):
    rng = np.random.default_rng(w)
    weights = {"w": rng.standard_normal((m, c // groups, k, k)).astype(np.float32), "b": rng.standard_normal(m).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[k // 2] * 4, group=groups),
             helper.make_node("Relu", ["c"], ["y"])]
    save(folder / "m.onnx", nodes, [("x", TensorProto.FLOAT, [1, c, h, w])], [("y", TensorProto.FLOAT, [1, m, h, w])], weights)
    return folder / "m.onnx", [rng.standard_normal((1, c, h, w)).astype(np.float32)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("words", [
    "sums=1", "sums=4", "sums=7", "sums=9", "accumulators=12", "accumulators=5", "accumulators=5 overlap=1", "accumulators=8 overlap=1 terms=3",
    "sums=3 accumulators=12 terms=3", "sums=3 accumulators=7 overlap=1", "sums=9 accumulators=4 terms=3"])
def test_words_are_followed(tmp_path, words):
    model, arrays = plain_convolution(tmp_path)
    _, wanted = outputs(model, tmp_path / "without", arrays, WITHOUT)
    text, got = scheduled(model, tmp_path, arrays, words)
    assert got[0].tobytes() == wanted[0].tobytes() and f"; {words.split()[0]}" in text
    named = dict(word.split("=") for word in words.split())
    sums = int(named.get("sums", 1)) * int(named.get("accumulators", 0))
    assert (f"float sum[{sums}]" in text) == bool(sums), text
    if not sums and words != "sums=1":
        assert f"sum{named['sums']} = " in text or f"float sum{named['sums']}" in text, text


@pytest.mark.parametrize("words", ["sums=10", "sums=2 along=3", "sums=2 along=9", "accumulators=13", "sums=2 accumulators=12",
                                   "accumulators=12 overlap=1", "accumulators=12 terms=2", "terms=2", "overlap=1"])
def test_words_that_cannot_be_followed(tmp_path, words):
    """more results than there are, loops that are none or whose windows differ, columns beyond the middle, what does not divide"""
    model, arrays = plain_convolution(tmp_path)
    _, option = book(model, tmp_path, words)
    wanted, _ = outputs(model, tmp_path / "without", arrays)
    done = dnncc.run([dnncc.DNNCC, model, option, "-o", tmp_path / "model.c"])
    assert done.returncode == 0 and f"'{words}' cannot be followed by node 'conv'" in done.stderr
    assert (tmp_path / "model.c").read_text() == wanted


def test_words_of_other_machines_are_left_aside(tmp_path):
    model, arrays = plain_convolution(tmp_path)
    _, option = book(model, tmp_path, "columns=4 vectors=2")
    wanted, _ = outputs(model, tmp_path / "without", arrays)
    assert outputs(model, tmp_path / "with", arrays, option)[0] == wanted


def test_candidates_of_tuning(tmp_path):
    """all that --tune tries is followed, and computes the same bits"""
    model, arrays = plain_convolution(tmp_path, w=40)
    _, wanted = outputs(model, tmp_path / "without", arrays, WITHOUT)
    listed, _ = book(model, tmp_path)
    tried = [line[len(";   or "):] for line in listed.splitlines() if line.startswith(";   or ")]
    assert len(tried) > 8 and len(set(tried)) == len(tried) and "kcycles; next: " in listed
    for words in tried[::4]:
        assert scheduled(model, tmp_path, arrays, words)[1][0].tobytes() == wanted[0].tobytes()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(6)
def test_random_words(tmp_path, seed):
    """any words, of any contraction: followed or not, the same bits, and what dumps say is read again"""
    r = np.random.default_rng(seed)
    if seed % 3:
        c = int(r.choice([2, 6]))
        model, arrays = plain_convolution(tmp_path, c, c * int(r.choice([1, 2, 3])), int(r.integers(2, 9)), int(r.integers(3, 40)),
                                          int(r.choice([1, 3, 5])), groups=c if seed % 3 == 2 else 1)
    else:
        rows, depth, columns = (int(n) for n in r.integers(1, 40, 3))
        model, weights = tmp_path / "m.onnx", {"w": r.standard_normal((depth, columns)).astype(np.float32)}
        save(model, [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, [rows, depth])],
             [("y", TensorProto.FLOAT, [rows, columns])], weights)
        arrays = [r.standard_normal((rows, depth)).astype(np.float32)]
    _, wanted = outputs(model, tmp_path / "without", arrays, WITHOUT)
    for k in range(4):
        words = (f"sums={r.integers(1, 9)} along={r.integers(0, 3)} accumulators={r.choice([0, 3, 8, 11, 16])} "
                 f"overlap={r.integers(0, 2)} terms={r.choice([1, 1, 2, 3])}")
        _, option = book(model, tmp_path, words)
        text, got = outputs(model, tmp_path / f"with{k}", arrays, option)
        assert got[0].tobytes() == wanted[0].tobytes(), words
        dumps, again = tmp_path / f"dumps{k}", tmp_path / "again" / "model.c"
        again.parent.mkdir(exist_ok=True)
        assert dnncc.run([dnncc.DNNCC, model, option, f"--dump-dir={dumps}", "-o", tmp_path / "model.c"]).returncode == 0
        for dump in (*dumps.glob("*-schedule.dnn"), *dumps.glob("*-lower.loops")):
            done = dnncc.run([dnncc.DNNCC, dump, "-o", again])
            assert done.returncode == 0 and code(again) == code(tmp_path / "model.c"), done.stderr


@pytest.mark.slow
def test_tuning_times_scalars(tmp_path):
    model, _ = plain_convolution(tmp_path, c=16, m=16, h=28, w=28)
    path = tmp_path / "tuned"
    done = dnncc.run([dnncc.DNNCC, model, "--tune", f"--schedule={path}", "--limit", "tune_seconds=5"], timeout=120)
    assert done.returncode == 0 and "tune: " in done.stderr, done.stderr
    assert dnncc.run([dnncc.DNNCC, model, f"--schedule={path}", "-o", tmp_path / "model.c"]).returncode == 0


def test_exact_code_follows_schedules(tmp_path):
    """for no bit changes: --tune lists the same, and a file is followed"""
    model, arrays = plain_convolution(tmp_path)
    listed, option = book(model, tmp_path, "accumulators=5 overlap=1")
    done = dnncc.run([dnncc.DNNCC, model, "--exact", "--tune", f"--schedule={tmp_path / 'exact'}", "--limit", "tune_seconds=0"])
    assert done.returncode == 0 and (tmp_path / "exact").read_text() == listed, done.stderr
    text, _ = outputs(model, tmp_path / "out", arrays, "--exact", option)
    assert "float sum[5]" in text


def test_rows_at_a_time_are_chosen_anew(tmp_path):
    """a kernel of circular buffers computes one row of the nest that the schedule was chosen for"""
    rng = np.random.default_rng(2)
    weights = {n: rng.standard_normal((8, 8, 3, 3)).astype(np.float32) for n in "vw"}
    nodes = [helper.make_node("Conv", ["x", "v"], ["t"], pads=[1] * 4), helper.make_node("Relu", ["t"], ["r"]),
             helper.make_node("Conv", ["r", "w"], ["y"], pads=[1] * 4)]
    ports = [("x", TensorProto.FLOAT, [1, 8, 40, 40])], [("y", TensorProto.FLOAT, [1, 8, 40, 40])]
    save(tmp_path / "m.onnx", nodes, *ports, weights)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--max-ram=16K", "--emit=ir", "-o", "-"])
    assert done.returncode == 0 and "circular=1" in done.stdout and "sums=" not in done.stdout, done.stdout + done.stderr


def test_threads(tmp_path):
    """each has rows of its own"""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((32, 24, 3, 3)).astype(np.float32)}
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)
    save(tmp_path / "m.onnx", [node], [("x", TensorProto.FLOAT, [1, 24, 30, 30])], [("y", TensorProto.FLOAT, [1, 32, 30, 30])], weights)
    text, _ = outputs(tmp_path / "m.onnx", tmp_path / "one", [rng.standard_normal((1, 24, 30, 30)).astype(np.float32)])
    assert "float sum[" in text
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=generic", "--threads=2", "--check", "-o", tmp_path / "two.c"])
    assert done.returncode == 0, done.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize("h, w, pool", [(14, 14, False), (9, 20, False), (15, 12, True), (6, 7, False)])
def test_rows_of_circular_buffers(tmp_path, h, w, pool):
    """rows that are passed on have sums side by side as whole tensors have them, and the same bits"""
    rng = np.random.default_rng(h * w)
    shapes = {"a": (8, 3, 3, 3), "c": (12, 8, 3, 3)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} | {"b": rng.standard_normal(8).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "a", "b"], ["p"], pads=[1] * 4), helper.make_node("Relu", ["p"], ["q"]),
             helper.make_node("Conv", ["q", "c"], ["r"], pads=[1] * 4), helper.make_node("Relu", ["r"], ["y"])]
    y = [1, 12, h, w]
    if pool:
        nodes += [helper.make_node("MaxPool", ["r"], ["y"], kernel_shape=[3, 3], strides=[3, 3])]
        del nodes[3]
        y[2:] = h // 3, w // 3
    save(tmp_path / "m.onnx", nodes, [("x", TensorProto.FLOAT, [1, 3, h, w])], [("y", TensorProto.FLOAT, y)], weights)
    arrays, least = [rng.standard_normal((1, 3, h, w)).astype(np.float32)], 4 * 8 * w * 4
    texts = []
    for name, options in (("whole", []), ("rows", [f"--max-ram={least}"]), ("plain", [f"--max-ram={least}", WITHOUT])):
        text, got = outputs(tmp_path / "m.onnx", tmp_path / name, arrays, *options)
        texts.append((text, got[0].tobytes()))
    assert texts[0][1] == texts[1][1] == texts[2][1]
    rows = re.search(r"KERNEL void \w+\([^)]*circular\w*\)\n\{.*?\n\}", texts[1][0], re.S)[0]
    beside = [len(re.findall(r"\bfloat sum", text)) + 9 * text.count("float sum[") for text, _ in texts]
    assert "% 3" in rows and beside[1] > beside[2], rows
