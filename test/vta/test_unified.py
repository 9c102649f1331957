# SPDX-License-Identifier: MIT
"""The machine with a unified buffer: quantized networks as its programs give numpy's bytes in any order of its units; values between
layers stay on the chip; what bounds a network is what must."""
import re

import numpy as np
import pytest

from vta_tool import dnncc, vta

SHARED = dnncc.ROOT.parent / "shared" / "models"


def compiled(source, out, *options):
    """one exchange file for each launch"""
    done = dnncc.run([dnncc.DNNCC, source, "--target=unified", "--emit=program", "-o", out, *options])
    assert done.returncode == 0, done.stderr
    return sorted(out.parent.glob(out.stem + "*.vta"))


def cycles(path):
    said = vta("cycles", path)
    return {name: float(re.search(rf"^{name} +([\d.]+)", said, re.M)[1]) for name in ("cycles", "utilization", "rows", "bytes read", "bytes written")} | {
        "bound": re.search(r"^bound by +(.*)$", said, re.M)[1]}


def text_of(path):
    return vta("dump", path)


def holds(path, seeds=((0, 165), (5, 0))):
    vta("check", path)
    for seed, poison in seeds:
        vta("run", path, f"--seed={seed}", f"--poison={poison}")


# ---- networks of whole numbers, in text and in numpy ----

def hexed(array):
    return 'hex "' + array.tobytes().hex() + '"'


class Network:
    """a chain of layers on [C, H, W] int8, as text and as what it computes"""

    def __init__(self, seed, channels, height, width):
        self.random = np.random.default_rng(seed)
        self.constants, self.lines, self.number = [], [], 0
        self.shape, self.value, self.layers = (channels, height, width), "%x", []
        self.start = self.shape

    def below(self, n):
        return int(self.random.integers(n))

    def constant(self, array, kind):
        name = f"@c{len(self.constants)}"
        self.constants.append(f"const {name} : <{' x '.join(map(str, array.shape))} x {kind}> = {hexed(array)}")
        return name

    def op(self, text, shape, kind):
        self.number += 1
        self.lines.append(f"  %v{self.number} = {text} : <1 x {' x '.join(map(str, shape))} x {kind}>")
        return f"%v{self.number}"

    def along(self, numbers, shape):
        """one for each channel"""
        return self.op(f"broadcast({self.constant(numbers, 'i32')}) dims=[1]", shape, "i32")

    def layer(self, outputs, window, stride=1, depthwise=False, zero=0, lanes=False, residual=None, shift=None):
        """residual: (value, its int8 in the chain's list) of the result's shape"""
        channels, height, width = self.shape
        outputs = channels if depthwise else outputs
        w = self.random.integers(-20, 21, (outputs, 1 if depthwise else channels, window, window)).astype(np.int8)
        bias = self.random.integers(-3000, 3000, outputs).astype(np.int32)
        amounts = self.random.integers(4, 9, outputs).astype(np.int32) if lanes else np.full(outputs, shift or 4 + self.below(5), np.int32)
        p, x = window // 2, self.value
        if p:
            padded = (channels, height + 2 * p, width + 2 * p)
            x = self.op(f"pad({x}, <i8> {zero}, <4 x i64> [0, 0, {p}, {p}])", padded, "i8")
        shape = (outputs, (height + 2 * p - window) // stride + 1, (width + 2 * p - window) // stride + 1)
        extra = (f" strides=[{stride}, {stride}]" if stride > 1 else "") + (f" groups={channels}" if depthwise else "")
        v = self.op(f"convolve({x}, {self.constant(w, 'i8')}){extra} accumulator=i32", shape, "i32")
        v = self.op(f"add({v}, {self.along(bias, shape)})", shape, "i32")
        by = self.along(amounts, shape) if lanes else int(amounts[0])
        v = self.op(f"shr({v}, {by})", shape, "i32")
        if residual is not None:
            wide = self.op(f"cast({residual[0]}) to=i32", shape, "i32")
            times = self.op(f"mul({wide}, 37)", shape, "i32")
            v = self.op(f"add({v}, {times})", shape, "i32")
            v = self.op(f"add({v}, -50)", shape, "i32")
            v = self.op(f"shr({v}, 5)", shape, "i32")
        low = -128 if self.below(2) else 0
        v = self.op(f"max({v}, {low})", shape, "i32")
        v = self.op(f"min({v}, 127)", shape, "i32")
        self.layers.append((w, bias, amounts, p, zero, stride, depthwise, None if residual is None else residual[1], low))
        self.value, self.shape = self.op(f"cast({v}) to=i8", shape, "i8"), shape

    def text(self):
        given = " x ".join(map(str, self.start))
        head = ["dnn 1", 'module "m"', *self.constants, f'func @main(%x "x": <1 x {given} x i8>) -> ("y") {{']
        return "\n".join([*head, *self.lines, f"  yield({self.value})", "}", ""])

    def run(self, x):
        values = [x.astype(np.int64)]
        for w, bias, amounts, p, zero, stride, depthwise, residual, low in self.layers:
            padded = np.pad(values[-1], ((0, 0), (p, p), (p, p)), constant_values=zero)
            windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (1, 2))[:, ::stride, ::stride]
            v = np.einsum("chwij,cij->chw" if depthwise else "chwij,ocij->ohw", windows, (w[:, 0] if depthwise else w).astype(np.int64))
            v = (v + bias[:, None, None]) >> amounts[:, None, None]
            if residual is not None:
                v = (v + 37 * values[residual] - 50) >> 5
            values.append(np.clip(v, low, 127))
        return values[-1].astype(np.int8)


def random_network(seed):
    n = Network(seed, 1 + int(seed * 37 % 300), 5 + seed % 4, 5 + seed % 3)
    values = ["%x"]                     # enough elements that what is added is no small constant of them all
    for _ in range(1 + n.below(3)):
        window, stride = (1, 3)[n.below(2)], 1 + (n.below(4) == 0)
        kept = [k for k, s in enumerate(values) if isinstance(s, tuple) and s[1] == n.shape]
        depthwise = n.below(4) == 0 and n.shape[0] <= 256
        residual = kept[n.below(len(kept))] if kept and stride == 1 and n.below(2) else None
        n.layer(n.shape[0] if residual is not None else 40 + n.below(240), window, stride, depthwise, n.below(40) - 20, n.below(3) == 0,
                None if residual is None else (values[residual][0], residual))
        values.append((n.value, n.shape))
    return n


@pytest.mark.parametrize("seed", [pytest.param(s, marks=[] if s < 4 or s == 38 else pytest.mark.long) for s in range(60)])      # 38: one layer, part of a block
def test_random_network(seed, tmp_path):
    """streams, interpreted, give numpy's bytes; as one launch they give the interpreter's"""
    n = random_network(seed)
    source, loops, data = tmp_path / "m.dnn", tmp_path / "m.loops", tmp_path / "data"
    source.write_text(n.text())
    path, = compiled(source, tmp_path / "m.vta")
    holds(path)
    data.mkdir()
    x = np.random.default_rng(seed).integers(-128, 128, (1, *n.start)).astype(np.int8)
    np.save(data / "input_0.npy", x)
    dnncc.run([dnncc.DNNCC, source, "--target=unified", "--emit=loops", "-o", loops])
    assert "stream @" in loops.read_text()
    done = dnncc.run([dnncc.DNNCC, loops, f"--run={data}"])
    assert done.returncode == 0, done.stderr
    assert (np.load(data / "output_0.npy")[0] == n.run(x[0])).all()


# ---- what stays, and what bounds ----

def perceptron(layers, size, rows):
    n = Network(1, size, 1, rows)
    for _ in range(layers):
        n.layer(size, 1, shift=8)
    return n


def test_reuse_of_weights(tmp_path):
    """A perceptron reads each weight once. Below 1,525 rows reading takes all the time, as a block's 64 KiB at 43 bytes a cycle do; from there
    on the array would (build/unit/unified_test)."""
    blocks, found = 4 * 2 * 2, {}
    for rows in (1, 200):
        source = tmp_path / f"p{rows}.dnn"
        source.write_text(perceptron(4, 512, rows).text())
        path, = compiled(source, tmp_path / f"p{rows}.vta")
        holds(path, seeds=((3, 9),))
        found[rows] = cycles(path)
        assert found[rows]["rows"] == blocks * rows
    assert found[1]["bound"] == found[200]["bound"] == "weights"
    assert blocks * 1525 <= found[1]["cycles"] <= blocks * 1525 * 1.1
    assert found[200]["cycles"] <= 1.3 * found[1]["cycles"]             # 200 times the work


def test_values_stay(tmp_path):
    """only what comes in and what goes out crosses the link, and parameters: the rest stays in the unified buffer"""
    n = Network(2, 256, 8, 8)
    for _ in range(4):
        n.layer(256, 3)
    source = tmp_path / "m.dnn"
    source.write_text(n.text())
    path, = compiled(source, tmp_path / "m.vta")
    text = text_of(path)
    assert len(re.findall(r"read_host (?!par)", text)) == 1 and len(re.findall("write_host", text)) == 1
    assert len(re.findall("read_host par", text)) == 4
    assert cycles(path)["bytes written"] == 256 * 64 and cycles(path)["bytes read"] == 256 * 100 + 4 * 1024


def test_values_that_do_not_fit(tmp_path):
    """24 MiB hold 98,304 rows: six values of 16,900 rows do not lie there together, and one leaves in between"""
    n = Network(3, 16, 130, 130)
    kept = []
    for _ in range(5):
        n.layer(16, 1)
        kept.append((n.value, len(n.layers)))
    for value in kept[:4]:
        n.layer(16, 1, residual=value)
    loops, source = tmp_path / "m.loops", tmp_path / "m.dnn"
    source.write_text(n.text())
    dnncc.run([dnncc.DNNCC, source, "--target=unified", "--emit=loops", "-o", loops])
    text = loops.read_text()
    assert text.count("stream @") == 1
    stored = len(re.findall(r"transfer %t\w*\[0\] = %ub", text))
    assert stored == 2 and len(re.findall(r"transfer %ub\[\d+\] = %t", text)) == 3          # the one, and the result; x, and the one in each layer


@pytest.mark.parametrize("name, most, shares", [
    ("dscnn_kws_int8", 127000, 7), pytest.param("resnet8_int8", 113000, 25, marks=pytest.mark.long),
    pytest.param("micro_kws_qdq", None, None, marks=pytest.mark.long)])
def test_models(name, most, shares, tmp_path):
    model = SHARED / name / "model.onnx"
    if not model.is_file():
        pytest.skip(f"no {name} in ../shared/models")
    options = ["--dim", "unk__68=1"] if name == "micro_kws_qdq" else []
    for path in compiled(model, tmp_path / "m.vta", *options):
        holds(path, seeds=((0, 165), (1, 0), (7, 170)))
        again = tmp_path / "again.s"
        vta("dump", path, "-o", again)
        vta("assemble", again, "-o", tmp_path / "again.uni")
        assert (tmp_path / "again.uni").read_bytes() == path.read_bytes()
        if most:
            found = cycles(path)
            assert found["cycles"] <= most and found["utilization"] >= shares and found["bound"] == "weights"


def test_share(tmp_path):
    """nearly all products are the machine's"""
    for name in ("dscnn_kws_int8", "resnet8_int8"):
        model = SHARED / name / "model.onnx"
        if not model.is_file():
            pytest.skip(f"no {name} in ../shared/models")
        out = tmp_path / "m.loops"
        dnncc.run([dnncc.DNNCC, model, "--target=unified", "--emit=loops", "-o", out])
        flops = {k: sum(map(float, re.findall(rf"^{k} @.*? flops (\d+)", out.read_text(), re.M))) for k in ("stream", "kernel")}
        assert flops["stream"] >= .95 * (flops["stream"] + flops["kernel"])


# ---- passes ----

def test_every_pass(tmp_path):
    """the bits are the same after each pass, from the graph to instructions"""
    n = Network(4, 20, 4, 4)
    n.layer(300, 3, zero=5, lanes=True)
    n.layer(300, 1, residual=(n.value, 1))
    source = tmp_path / "m.dnn"
    source.write_text(n.text())
    done = dnncc.run([dnncc.DNNCC, source, "--target=unified", "--emit=loops", "--check", "-o", tmp_path / "m.loops"])
    assert done.returncode == 0, done.stderr
    for name in ("lower", "join", "overlap", "flatten", "select_instructions", "tokens"):
        assert f"check: {name}: equal" in done.stderr, done.stderr


def test_loops_read_back(tmp_path):
    n = Network(5, 20, 3, 3)
    n.layer(30, 3, lanes=True)
    source, one, two = tmp_path / "m.dnn", tmp_path / "one.loops", tmp_path / "two.loops"
    source.write_text(n.text())
    dnncc.run([dnncc.DNNCC, source, "--target=unified", "--emit=loops", "-o", one])
    dnncc.run([dnncc.DNNCC, one, "--target=unified", "--emit=loops", "--passes=", "-o", two])
    body = [p.read_text().split("main {")[0].split("stream @")[1] for p in (one, two)]
    assert body[0] == body[1] and "activate %ub" in body[0] and "await " in body[0] and "shr lanes" in body[0]
