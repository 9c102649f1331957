# SPDX-License-Identifier: MIT
"""A TFLite file with several signatures has an entry for each, which computes what LiteRT's runner of the signature does; variables are state that all share."""
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402
import python_package  # noqa: E402, F401
import dnncc_package  # noqa: E402

pytest.importorskip("ai_edge_litert.interpreter")
import test_tflite as tflite  # noqa: E402
import tflite_writer as w  # noqa: E402

R = np.random.default_rng(11)
WEIGHTS = R.standard_normal((3, 4)).astype(np.float32)


def coder(signatures=None):
    """encode: y = relu(x w^T); decode: two numbers of other names, in an order that is not that of the signature"""
    m = w.Writer()
    a, b, total, less = m.tensor([2, 3], name="a"), m.tensor([1, 3], name="b"), m.tensor([2, 3]), m.tensor([2, 3])
    m.add("ADD", [a, b], [total], "AddOptions")
    m.add("SUB", [a, b], [less], "SubOptions")
    decode = m.close([b, a], [less, total])
    x, y = m.tensor([2, 4]), m.tensor([2, 3])
    m.add("FULLY_CONNECTED", [x, m.constant(WEIGHTS)], [y], "FullyConnectedOptions", fusedActivationFunction=w.RELU)
    both = [("encode", 0, {"x": x}, {"y": y}), ("decode", decode, {"a": a, "code": b}, {"sum": total, "difference": less})]
    return m.bytes([x], [y], both if signatures is None else signatures)


def run(*arguments):
    return dnncc.run([dnncc.DNNCC, *arguments])


@pytest.fixture
def path(tmp_path):
    (tmp_path / "coder.tflite").write_bytes(coder())
    return tmp_path / "coder.tflite"


@pytest.mark.parametrize("way", range(len(tflite.WAYS)))
def test_each(path, tmp_path, way):
    """by the names of the signature"""
    model = dnncc_package.compile(path)
    it = tflite.interpreter(coder())
    given = {"encode": {"x": R.standard_normal((2, 4))}, "decode": {"code": R.standard_normal((1, 3)), "a": R.standard_normal((2, 3))}}
    for key, values in given.items():
        values = {name: v.astype(np.float32) for name, v in values.items()}
        want = it.get_signature_runner(key)(**values)
        entry = model.entry(key)
        assert [p.name for p in entry.inputs] == list(values) and {p.name for p in entry.outputs} == want.keys()
        folder = tmp_path / key
        folder.mkdir()
        for number, value in enumerate(values.values()):
            np.save(folder / f"input_{number}.npy", value)
        done = run(path, f"--run={key}={folder}", *tflite.WAYS[way])
        assert done.returncode == 0, done.stderr
        got = entry(**values)
        for number, port in enumerate(entry.outputs):
            value = np.load(folder / f"output_{number}.npy")
            np.testing.assert_allclose(value, want[port.name], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(got[number] if isinstance(got, tuple) else got, value, rtol=1e-5, atol=1e-6)


def test_one_alone(path, tmp_path):
    """an option names it; the constants of the other one are not there"""
    assert run(path, "--entry=decode", "-o", tmp_path / "d.c").returncode == 0
    header = (tmp_path / "d.h").read_text()
    assert "const float *code" in header.replace("restrict ", "") and "encode" not in header, header
    assert run(path, "-o", tmp_path / "both.c").returncode == 0
    header = (tmp_path / "both.h").read_text()
    assert "both_encode_run(" in header and "both_decode_run(" in header


def test_unknown(path, tmp_path):
    done = run(path, "--entry=decod", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.USAGE and "2 signatures, and none is called that" in done.stderr and "decode" in done.stderr, done.stderr


def test_two_files(path, tmp_path):
    """--entry says which signature of each"""
    other = tmp_path / "other.tflite"
    other.write_bytes(coder())
    assert run(path, other, "-o", tmp_path / "m.c").returncode == dnncc.USAGE
    assert run(path, other, "--entry=encode", "--entry=decode", "-o", tmp_path / "m.c").returncode == 0


def test_shape(path, tmp_path):
    """--input of one signature's input; a name that none has is wrong"""
    done = run(path, "--input=x=5x4", "--emit=ir", "-o", "-")
    assert done.returncode == 0 and "<5 x 4 x f32>" in done.stdout and "<2 x 3 x f32>" in done.stdout, done.stderr
    done = run(path, "--input=z=5x4", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.USAGE and "an input of the model" in done.stderr


def test_info(path):
    """operators of all subgraphs, each constant once, ports by their entries"""
    said = run(path, "--info").stdout
    for line in ("encode/x: <2 x 4 x f32>", "decode/code: <1 x 3 x f32>", "decode/a: <2 x 3 x f32>", "encode/y: <2 x 3 x f32>", "decode/sum: <2 x 3 x f32>",
                 "FULLY_CONNECTED: 1", "ADD: 1", "SUB: 1", f"parameters  {WEIGHTS.size}", "products    24"):
        assert line in said, said
    names = run(path, "--info=names").stdout.split("\n")
    assert "input code" in names and "output difference" in names


def test_info_of_branches(tmp_path):
    """what IF calls counts, and a constant of two subgraphs counts once"""
    m, graphs = w.Writer(), []
    shared = None
    for name in ("ADD", "MUL"):
        a, b = m.tensor([3]), m.tensor([3])
        c = m.constant(np.ones(3, np.float32))
        if shared is None:
            shared = m.tensors[c].buffer
        m.tensors[c].buffer = shared
        m.add(name, [a, c], [b], name.title() + "Options")
        graphs.append(m.close([a], [b]))
    which, x, y = m.tensor([], np.bool_), m.tensor([3]), m.tensor([3])
    m.add("IF", [which, x], [y], "IfOptions", thenSubgraphIndex=graphs[0], elseSubgraphIndex=graphs[1])
    (tmp_path / "m.tflite").write_bytes(m.bytes([which, x], [y]))
    said = run(tmp_path / "m.tflite", "--info").stdout
    assert all(f"{name}: 1\n" in said for name in ("IF", "ADD", "MUL")) and "parameters  3\n" in said, said


# ---- variables ----

def counter():
    """add: the sum of all that was given; get: that, without a change; reset: sets it, and does not read it"""
    m = w.Writer()
    m.add("ASSIGN_VARIABLE", [m.handle("total"), m.constant(np.array([1, 2, 3], np.float32))], [])
    begin = m.close()
    signatures = []

    def signature(key, build):
        m.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=begin)
        inputs, outputs = build(m.handle("total"))
        signatures.append((key, m.close(inputs.values(), outputs.values()), inputs, outputs))

    def add(total):
        x, before, after = m.tensor([3]), m.tensor([3]), m.tensor([3])
        m.add("READ_VARIABLE", [total], [before])
        m.add("ADD", [before, x], [after], "AddOptions")
        m.add("ASSIGN_VARIABLE", [total, after], [])
        return {"x": x}, {"sum": after}

    def get(total):
        scale, before, y = m.tensor([1]), m.tensor([3]), m.tensor([3])
        m.add("READ_VARIABLE", [total], [before])
        m.add("MUL", [before, scale], [y], "MulOptions")
        return {"scale": scale}, {"y": y}

    def reset(total):
        x, y = m.tensor([3]), m.tensor([3])
        m.add("ASSIGN_VARIABLE", [total, x], [])
        m.add("NEG", [x], [y])
        return {"x": x}, {"y": y}

    signature("add", add)
    signature("get", get)
    signature("reset", reset)
    x, y = m.tensor([3]), m.tensor([3])
    m.add("NEG", [x], [y])
    return m.bytes([x], [y], signatures)


def test_shared_variable(tmp_path):
    """as in one interpreter, whichever runs first"""
    path = tmp_path / "counter.tflite"
    path.write_bytes(counter())
    for order in (["get", "add", "add", "get", "reset", "get", "add", "get"], ["reset", "add", "get"], ["add", "get", "reset", "reset", "get"]):
        it = tflite.interpreter(counter())
        model = dnncc_package.compile(path)
        first = model.sequence()
        for key in order:
            value = {"scale": np.array([2], np.float32)} if key == "get" else {"x": R.standard_normal(3).astype(np.float32)}
            want = next(iter(it.get_signature_runner(key)(**value).values()))
            np.testing.assert_allclose(first.entry(key)(**value), want, rtol=1e-5, atol=1e-6)


def test_own_state(tmp_path):
    """states of layers belong to the subgraph: two signatures of one subgraph share them, and those of another one have theirs"""
    m, signatures = w.Writer(), []
    for keys in (["a", "b"], ["c"]):
        x, y = m.tensor([1, 2]), m.tensor([1, 3])
        state = m.tensor([1, 12], variable=True, name="state")
        m.add("SVDF", [x, m.constant(R.standard_normal((3, 2)).astype(np.float32)), m.constant(R.standard_normal((3, 4)).astype(np.float32)),
                       m.constant(np.zeros(3, np.float32)), state], [y], "SVDFOptions", rank=1)
        number = m.close([x], [y])
        signatures += [(key, number, {"x": x}, {"y": y}) for key in keys]
    x, y = m.tensor([3]), m.tensor([3])
    m.add("NEG", [x], [y])
    content = m.bytes([x], [y], signatures)
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    it, first = tflite.interpreter(content), dnncc_package.compile(path).sequence()
    for key in "aabccbaacb":
        x = R.standard_normal((1, 2)).astype(np.float32)
        np.testing.assert_allclose(first.entry(key)(x=x), it.get_signature_runner(key)(x=x)["y"], rtol=1e-4, atol=1e-5)
    assert run(path, "--emit=loops", "-o", tmp_path / "m.loops").returncode == 0
    done = run(tmp_path / "m.loops", "-o", tmp_path / "m.c")
    assert done.returncode == 0, done.stderr


# ---- names ----

def test_names(tmp_path):
    """keys that are no identifiers, that are taken, or equal when they are cleaned"""
    content = coder([(key, 0, {"x": 0}, {"y": 1}) for key in ("a-b", "a.b", "run", "", "read")])
    (tmp_path / "m.tflite").write_bytes(content)
    done = run(tmp_path / "m.tflite", "-o", tmp_path / "m.c")
    assert done.returncode == 0, done.stderr
    header = (tmp_path / "m.h").read_text()
    entries = {word.split("_run(")[0] for word in header.split() if word.startswith("m_") and "_run(" in word}
    assert len(entries) == 5 and {"m_a_b", "m_signature", "m_read_2", "m_run_2"} <= entries, entries


def test_one_signature(tmp_path):
    """the tensors' own names, unless --entry says the signature's"""
    (tmp_path / "m.tflite").write_bytes(coder([("serving_default", 0, {"x": 0}, {"result": 1})]))
    assert run(tmp_path / "m.tflite", "-o", tmp_path / "m.c").returncode == 0
    assert "m_run(" in (tmp_path / "m.h").read_text() and "float *result" not in (tmp_path / "m.h").read_text().replace("restrict ", "")
    assert run(tmp_path / "m.tflite", "--entry=serving_default", "-o", tmp_path / "n.c").returncode == 0
    assert "float *result" in (tmp_path / "n.h").read_text().replace("restrict ", "")


def test_one_name(tmp_path):
    """an input and an output of one name; a port without a name in the signature, whose own name another one has"""
    m = w.Writer()
    a, b, y = m.tensor([3], name="x"), m.tensor([3], name="b"), m.tensor([3])
    m.add("SUB", [a, b], [y], "SubOptions")
    content = m.bytes([a, b], [y], [("one", 0, {"x": b}, {"x": y}), ("two", 0, {"u": a, "v": b}, {"w": y})])
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    one, two = (dnncc_package.compile(path).entry(key) for key in ("one", "two"))
    assert [p.name for p in one.inputs] == ["x#0", "x"] and [p.name for p in one.outputs] == ["x"]
    u, v = (R.standard_normal(3).astype(np.float32) for _ in range(2))
    for entry in one, two:
        np.testing.assert_array_equal(entry(u, v), u - v)


WRONG = {
    "subgraph": ([("a", 7, {"x": 0}, {"y": 1})], dnncc.INVALID, "signature 'a' is subgraph 7 of 2"),
    "tensor": ([("a", 0, {"x": 99}, {"y": 1}), ("b", 0, {"x": 0}, {"y": 1})], dnncc.INVALID, "input 'x' is tensor 99, which is none of its subgraph's"),
    "output": ([("a", 0, {"x": 0}, {"y": 0}), ("b", 0, {"x": 0}, {"y": 1})], dnncc.INVALID, "output 'y' is tensor 0"),
    "no_name": ([("a", 0, {"": 0}, {"y": 1}), ("b", 0, {"x": 0}, {"y": 1})], dnncc.INVALID, "without a name"),
    "two_names": ([("a", 0, {"x": 0, "z": 0}, {"y": 1}), ("b", 0, {"x": 0}, {"y": 1})], dnncc.UNSUPPORTED, "'z' has another name"),
    "many": ([(f"s{i}", 0, {"x": 0}, {"y": 1}) for i in range(65)], dnncc.UNSUPPORTED, "65 signatures, at most 64"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name, tmp_path):
    signatures, code, text = WRONG[name]
    (tmp_path / "m.tflite").write_bytes(coder(signatures))
    done = run(tmp_path / "m.tflite", "-o", tmp_path / "m.c")
    assert done.returncode == code and text in done.stderr, (done.returncode, done.stderr)


@pytest.mark.slow
def test_damaged(tmp_path):
    good = coder()
    for at in range(8, len(good) - 3, 4):
        (tmp_path / "m.tflite").write_bytes(good[:at] + b"\xff\xff\xff\x7f" + good[at + 4:])
        for options in (["--emit=ir", "-O0", "-o", "-"], ["--info"]):
            done = run(tmp_path / "m.tflite", *options)
            assert 0 <= done.returncode <= 4 and (done.returncode == 0 or "error:" in done.stderr), (at, done.stderr)
