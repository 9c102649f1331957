# SPDX-License-Identifier: MIT
"""Commands of machines that hold activations: the reader of command_machine.py, which shares nothing with the compiler, gives the graph's bits,
finds no volume overwritten that is still needed, and counts the bytes that the report states."""
import re

import numpy as np
import pytest

import dnncc
from command_machine import read
from sections_tool import Graph, emit, fails, held, numbers_of

SHARED = dnncc.ROOT.parent / "shared" / "models"


class Net:
    """a quantized network as text, layer by layer"""

    def __init__(self, shape, seed=1, zero=0):
        self.rng, self.lines, self.count = np.random.default_rng(seed), [], 0
        self.head = f'func @main(%x "x": <{" x ".join(map(str, (1, *shape)))} x i8>) -> ("y") {{'
        self.consts, self.zero = [], zero

    def op(self, text, shape, element, name=None):
        label = f"v{self.count}"
        self.count += 1
        where = f'    ; "{name}"' if name else ""
        self.lines.append(f"  %{self.count - 1} = {text} : <{' x '.join(map(str, shape))} x {element}>{where}")
        return str(self.count - 1), shape, label

    def const(self, array, element):
        name = f"c{len(self.consts)}"
        self.consts.append(f"const @{name} : <{' x '.join(map(str, array.shape))} x {element}> = hex \"{array.tobytes().hex()}\"")
        return name

    def wide(self, v):
        x, shape = v[:2]
        y, *_ = self.op(f"cast(%{x}) to=i32", shape, "i32")
        return self.op(f"sub(%{y}, {self.zero})", shape, "i32")[0] if self.zero else y

    def bytes(self, sums, shape, added, shift, low, name):
        c = self.const(added.astype("<i4"), "i32")
        b = self.op(f"broadcast(@{c}) dims=[1]", shape, "i32")[0]
        s = self.op(f"add(%{sums}, %{b})", shape, "i32", name)[0]
        if np.ndim(shift):
            n = self.op(f"broadcast(@{self.const(shift.astype('<i4'), 'i32')}) dims=[1]", shape, "i32")[0]
            s = self.op(f"shr(%{s}, %{n})", shape, "i32", name)[0]
        else:
            s = self.op(f"shr(%{s}, {shift})", shape, "i32", name)[0]
        s = self.op(f"max(%{s}, {low})", shape, "i32", name)[0]
        s = self.op(f"min(%{s}, 127)", shape, "i32", name)[0]
        return self.op(f"cast(%{s}) to=i8", shape, "i8", name)[:2]

    def conv(self, v, out, k=3, stride=1, pad=None, groups=1, relu=True, shifts=False):
        x, (_, c, h, w) = v
        pad = k // 2 if pad is None else pad
        oh, ow = ((e + 2 * pad - k) // stride + 1 for e in (h, w))
        weights = self.rng.integers(-20, 21, (out, c // groups, k, k)).astype(np.int8)
        name, shape = f"conv{self.count}", (1, out, oh, ow)
        extra = f" groups={groups}" if groups > 1 else ""
        sums = self.op(f"convolve(%{self.wide(v)}, @{self.const(weights, 'i8')}) strides=[{stride}, {stride}] pads=[{pad}, {pad}, {pad}, {pad}]"
                       f"{extra} accumulator=i32", shape, "i32", name)[0]
        shift = self.rng.integers(7, 10, out) if shifts else 8
        return self.bytes(sums, shape, self.rng.integers(-500, 500, out), shift, self.zero if relu else -128, name)

    def max(self, v, k=3, stride=2, pad=0):
        x, (_, c, h, w) = v
        oh, ow = ((e + 2 * pad - k) // stride + 1 for e in (h, w))
        return self.op(f"reduce_window(%{x}) window=[1, 1, {k}, {k}] strides=[1, 1, {stride}, {stride}] "
                       f"pads=[0, 0, {pad}, {pad}, 0, 0, {pad}, {pad}]", (1, c, oh, ow), "i8", f"max{self.count}")[:2]

    def average(self, v, k=3):
        x, shape = v
        sums = self.op(f"reduce_window(%{self.wide(v)}) kind=sum window=[1, 1, {k}, {k}] pads=[0, 0, 1, 1, 0, 0, 1, 1]", shape, "i32")[0]
        product = self.op(f"mul(%{sums}, 57)", shape, "i32")[0]
        return self.bytes(product, shape, np.full(shape[1], 256), 9, -128, f"average{self.count}")

    def add(self, a, b):
        parts = [self.op(f"mul(%{self.wide(v)}, {k})", v[1], "i32")[0] for v, k in ((a, 90), (b, 70))]
        total = self.op(f"add(%{parts[0]}, %{parts[1]})", a[1], "i32")[0]
        return self.bytes(total, a[1], np.full(a[1][1], 64), 7, self.zero, f"add{self.count}")

    def concat(self, *parts):
        shape = (1, sum(p[1][1] for p in parts), *parts[0][1][2:])
        return self.op(f"concat({', '.join('%' + p[0] for p in parts)}) axis=1", shape, "i8", f"concat{self.count}")[:2]

    def write(self, path, y):
        path.write_text("\n".join(['dnn 1', 'module "net"', *self.consts, self.head, *self.lines, f"  yield(%{y[0]})", "}"]) + "\n")
        return path


def start(shape, **keywords):
    net = Net(shape, **keywords)
    return net, ("x", (1, *shape))


def inception(folder, zero=0):
    net, x = start((3, 24, 24), zero=zero)
    x = net.max(net.conv(x, 16, shifts=True))
    for width in (8, 12):
        x = net.concat(net.conv(x, width, 1), net.conv(net.conv(x, 6, 1), width, 3, shifts=True), net.conv(net.average(x), width, 1),
                       net.conv(net.conv(x, 8, 1), 5, 5))
    return net.write(folder / "inception.dnn", net.max(x))


def residual(folder, zero=0):
    net, x = start((8, 20, 18), zero=zero)
    x = net.conv(x, 24, 3, 2)
    for _ in range(3):
        x = net.add(net.conv(net.conv(x, 8, 1), 24, 3, relu=False), x)
    return net.write(folder / "residual.dnn", x)


def dense(folder, zero=0):
    """parts that lie in two concats, and depthwise convolutions"""
    net, x = start((6, 12, 12), zero=zero)
    a = net.conv(x, 6, 3, groups=6)
    b = net.conv(a, 4)
    c = net.conv(net.concat(a, b), 4)
    return net.write(folder / "dense.dnn", net.conv(net.concat(b, a, c), 5, 1))


NETS = {"inception": inception, "residual": residual, "dense": dense}


def random_bytes(shape, seed=3):
    return np.random.default_rng(seed).integers(-128, 128, (1, *shape)).astype(np.int8)


def input_of(path):
    shape = re.search(r"%x \"x\": <([0-9x ]+) x i8>", path.read_text())[1].split(" x ")
    return random_bytes(tuple(map(int, shape[1:])))


def check(path, folder, inputs, share, poison=0x5a5a, options=(), row=1):
    """the report, for a memory of this share of what the best order needs"""
    _, _, whole = emit(path, folder, *options)
    memory = int(whole["order"]["best"] * share)
    text, parameters, report = emit(path, folder, *options, memory=memory)
    assert emit(path, folder, *options, memory=memory)[:2] == (text, parameters)
    graph = Graph(path, folder, *options)
    machine = held(text, parameters, graph.values(inputs, numbers_of(text)), poison, row)
    moved = report["traffic"]
    assert machine.traffic == [moved["gathered"], moved["scattered"]]
    assert report["memory"]["used"] <= memory
    check_layers(report)
    return report


def check_layers(report):
    """they add up to the network"""
    layers, moved = report["layers"], report["traffic"]
    assert sum(layer["steps"] for layer in layers) == report["array"]["steps"]
    assert [sum(layer[way] for layer in layers) for way in ("gathered", "scattered")] == [moved["gathered"], moved["scattered"]]
    assert all(0 < layer["utilization"] <= 1 for layer in layers if layer["command"].startswith("XNConv"))
    assert all(layer["read"] > 0 and layer["written"] > 0 and 0 <= layer["first"] <= layer["last"] < report["slots"] for layer in layers if layer["commands"])
    of_commands = sum(layer["commands"] for layer in layers)
    assert of_commands <= sum(count for command, count in report["commands"].items() if command.startswith(("XNConv", "XNMaxPool", "XNAvgPool", "XNEltwise")))
    nodes = report["nodes"]
    assert nodes["machine"] > 0 and nodes["all"] == nodes["machine"] + nodes["both"] + nodes["processor"] and 0 < report["products_share"] <= 1


@pytest.mark.sample(3, each=False)
@pytest.mark.parametrize("zero", [0, -128])
@pytest.mark.parametrize("name", NETS)
def test_bits(name, zero, tmp_path):
    """nothing is moved where the memory holds what the best order needs; less of it moves slices"""
    path = NETS[name](tmp_path, zero)
    report = check(path, tmp_path, [input_of(path)], 1)
    assert (report["traffic"]["gathered"], report["traffic"]["scattered"]) == (0, 0)
    report = check(path, tmp_path, [input_of(path)], .6, poison=-1)
    moved = report["traffic"]["gathered"] + report["traffic"]["scattered"]
    assert report["traffic"]["bound"] <= moved
    if report["traffic"]["heuristic"] != "none":
        assert moved <= report["traffic"]["heuristic_bytes"]


# channels of the array: numbers that a row is a multiple of, channels that a volume is, bytes of a buffer
OVERLAYS = {28: (32, 1, 1), 56: (32, 1, 1), 32: (1, 32, 1), 64: (1, 1, 256 << 10), 96: (1, 1, 1)}


@pytest.mark.parametrize("share", [1, .7])
@pytest.mark.parametrize("channels", OVERLAYS)
@pytest.mark.parametrize("name", ["residual", pytest.param("inception", marks=pytest.mark.long)])
@pytest.mark.sample(4)
def test_overlays(name, channels, share, tmp_path):
    """machines of other sizes: the same bits, and volumes lie as theirs do"""
    path = NETS[name](tmp_path)
    row, planes, buffer = OVERLAYS[channels]
    if buffer > 1 and share < 1:                # slices take buffers, too: of this network more than its volumes
        code, said = fails(path, tmp_path, f"--sizes={channels}", f"--activation-memory={2 * buffer}")
        assert code == 5 and "to use no DDR" in said
        return
    report = check(path, tmp_path, [input_of(path)], share, options=[f"--sizes={channels}"], row=row)
    assert report["machine"] == ("sections" if channels == 96 else f"sections-{channels}")
    text, _, _ = emit(path, tmp_path, f"--sizes={channels}", memory=report["memory"]["activations"])
    volumes = [line.split()[2:] for line in text.splitlines() if re.match(r"# \d+ XNVolume .* 0x0 0x", line)]
    assert volumes and all(int(v[4]) % row == 0 for v in volumes)
    ends = sorted((int(v[3], 16), int(v[3], 16) + -(-int(v[6]) // planes) * planes * int(v[4]) * int(v[5]) * 2) for v in volumes)
    assert all(end <= report["memory"]["activations"] for _, end in ends)
    if buffer > 1 and name == "residual":       # without concats
        assert all(start % buffer == 0 for start, _ in ends)


def test_lines(tmp_path):
    """the formats: fields in the order of XFDNN's text; concats cost nothing, a pool goes with its convolution, engines run at once"""
    text, _, report = emit(inception(tmp_path), tmp_path)
    commands, templates = read(text)
    assert templates["XNConv"] == ("name kw kh sw sh pw ph dw dh preshift scale postshift relu bias inbuf inoff w h c outbuf outoff outw outh "
                                   "outc slice").split()
    assert templates["XNMaxPool"] == "name kw kh sw sh pw ph inbuf inoff w h c outbuf outoff outw outh slice".split()
    assert templates["XNGather"] == templates["XNScatter"] == "ambuf amoff ddrbuf ddroff w h c first last".split()
    count = {op: sum(c.op == op for c in commands) for op in templates}
    assert count["XNConvP"] >= 1 and count["XNConcat"] == 2 and count["XNGather"] == 0
    assert re.search(r"^\d+ XNConv \S+( \d+){8}( -?\d+){5} 0x0 0x[0-9a-f]+ \d+ \d+ \d+ 0x0 0x[0-9a-f]+ \d+ \d+ \d+ \d+$", text, re.M)
    slots = [c.slot for c in commands if c.op in ("XNConv", "XNConvP", "XNAvgPool", "XNMaxPool")]
    assert len(slots) > len(set(slots))


def test_overwriting_is_found(tmp_path):
    """the reader of this test does see a volume that is written over another one"""
    path = residual(tmp_path)
    text, parameters, _ = emit(path, tmp_path)
    values = Graph(path, tmp_path).values([input_of(path)], numbers_of(text))
    held(text, parameters, values)
    volumes = re.findall(r"^# \d+ XNVolume (\S+) 0x0 (0x[0-9a-f]+) ", text, re.M)
    moved = volumes[2][1]
    broken = re.sub(rf"0x0 {volumes[3][1]}\b", f"0x0 {moved}", text)
    with pytest.raises(AssertionError):
        held(broken, parameters, values)


# ---- bad input ----

def test_no_quantized_convolution(tmp_path):
    path = tmp_path / "floats.dnn"
    path.write_text('dnn 1\nmodule "m"\nconst @w : <2 x 2 x 1 x 1 x f32> = [1.0, 2.0, 3.0, 4.0]\n'
                    'func @main(%x "x": <1 x 2 x 4 x 4 x f32>) -> ("y") {\n'
                    '  %0 = convolve(%x, @w) : <1 x 2 x 4 x 4 x f32>    ; "conv1"\n  yield(%0)\n}\n')
    code, said = fails(path, tmp_path)
    assert code == dnncc.UNSUPPORTED and "no quantized convolution" in said and "'conv1'" in said and "--quantize" in said


def test_too_small(tmp_path):
    path = inception(tmp_path)
    code, said = fails(path, tmp_path, "--activation-memory=64")
    assert code == dnncc.BUDGET
    least = int(re.search(r"--activation-memory=(\d+)", said)[1])
    assert check_memory(path, tmp_path, least) == 0 and check_memory(path, tmp_path, least - 16) == dnncc.BUDGET


def check_memory(path, folder, memory):
    return dnncc.run([dnncc.DNNCC, path, "--target=sections", "--emit=commands", "-q", f"--activation-memory={memory}", "-o",
                      folder / "x.commands"]).returncode


@pytest.mark.parametrize("options, said", [(["--target=generic", "--emit=commands"], "--target=sections"),
                                           (["--target=sections", "--activation-memory=1M"], "--emit=commands"),
                                           (["--target=sections", "--emit=commands", "--sizes=17"], "one of 96, 28, 56, 32, 64")])
def test_usage(options, said, tmp_path):
    done = dnncc.run([dnncc.DNNCC, inception(tmp_path), *options, "-o", tmp_path / "x.c"])
    assert done.returncode == dnncc.USAGE and said in done.stderr


def test_tails(tmp_path):
    """rows that went to DDR come back at once, for all that read them from then on"""
    path = inception(tmp_path)
    report = check(path, tmp_path, [input_of(path)], .5, poison=-1)
    text, _, _ = emit(path, tmp_path, memory=report["memory"]["activations"])
    gathers = [[int(n) for n in line.split()[-2:]] for line in text.splitlines() if re.match(r"\d+ XNGather ", line)]
    most = max(last - first + 1 for first, last in gathers)
    slices = report["traffic"]["slice_rows"] + 4        # and what windows of 5 x 5 reach beyond
    assert most > slices


def drawn(folder, seed):
    """layers that read any earlier ones of their size"""
    rng = np.random.default_rng(seed)
    net, x = start((int(rng.integers(2, 9)), *(int(n) for n in rng.integers(8, 20, 2))), zero=int(rng.choice([0, -128])), seed=seed)
    values = [net.conv(x, 8)]
    for _ in range(rng.integers(6, 14)):
        size = values[rng.integers(len(values))][1][2:]
        near = [v for v in values if v[1][2:] == size]
        one, other = (near[k] for k in rng.integers(len(near), size=2))
        kind = rng.integers(6)
        if kind == 0 and one[1] == other[1] and one != other:
            y = net.add(one, other)
        elif kind == 1 and one != other:
            y = net.concat(one, other)
        elif kind == 2 and min(size) > 6:
            y = net.max(one)
        elif kind == 3:
            y = net.average(one)
        else:
            y = net.conv(one, int(rng.integers(3, 20)), int(rng.choice([1, 3, 5])), 2 if min(size) > 8 and rng.random() < .15 else 1, shifts=rng.random() < .3)
        values.append(y)
    return net.write(folder / f"drawn{seed}.dnn", net.max(values[-1], 3, 1, 1))


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 80), marks=pytest.mark.long)], ids=["some", "many"])
def test_drawn(seeds, tmp_path):
    """any graph, in any memory that is enough, gives the graph's bits"""
    for seed in seeds:
        path = drawn(tmp_path, seed)
        best = emit(path, tmp_path)[2]["order"]["best"]
        for share in (1, .75, .5):
            done = dnncc.run([dnncc.DNNCC, path, "--target=sections", "--emit=commands", "-q", f"--activation-memory={int(best * share)}", "-o", tmp_path / "x"])
            if done.returncode == 5 and share < 1:
                continue
            check(path, tmp_path, [input_of(path)], share, poison=seed - 4)


# ---- models ----

MODELS = {"resnet8_int8": (32, 32, 3), "dscnn_kws_int8": (49, 10, 1)}


@pytest.mark.parametrize("share", [pytest.param(1, marks=pytest.mark.long), .7])
@pytest.mark.parametrize("name", [pytest.param("resnet8_int8", marks=pytest.mark.long), "dscnn_kws_int8"])
def test_models(name, share, tmp_path):
    path = SHARED / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"no {name} in ../shared/models")
    report = check(path, tmp_path, [random_bytes(MODELS[name])], share)
    assert report["commands"]["XNConv"] + report["commands"].get("XNConvP", 0) >= 9


@pytest.mark.parametrize("name", [pytest.param("resnet8_int8", marks=pytest.mark.long), "dscnn_kws_int8"])
def test_copies(name, tmp_path):
    """Where there is room, volumes of few channels lie several times side by side, each copy with the same numbers: the array takes fewer steps.
    At the peak itself nothing is moved for the sake of copies."""
    path = SHARED / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"no {name} in ../shared/models")
    report = check(path, tmp_path, [random_bytes(MODELS[name])], 16)
    array = report["array"]
    assert array["replicated"] >= 1 and array["steps"] < .8 * array["once"]
    text, _, _ = emit(path, tmp_path)
    lines = [line.split() for line in text.splitlines() if " XNVolume " in line and "template" not in line]
    units = [(int(c), int(copies), int(apart)) for *_, c, _, copies, apart, _, _ in lines]
    assert sum(copies > 1 for _, copies, _ in units) >= 1
    assert all(copies == 1 or (c <= apart and copies * apart <= 96) for c, copies, apart in units)


@pytest.mark.long
@pytest.mark.parametrize("name", ["squeezenet", "inception_v1", "inception_v3", "resnet50"])
def test_networks(name, tmp_path):
    """no DDR traffic where the memory holds the live peak of the best order; half of it: at most 1.25 of the bound (MOST)"""
    import networks
    model, options = networks.quantized(name)
    report = check(model, tmp_path, networks.inputs(name), 1, options=options)
    assert (report["traffic"]["gathered"], report["traffic"]["scattered"]) == (0, 0)
    report = check(model, tmp_path, networks.inputs(name), .5, options=options)
    moved = report["traffic"]["gathered"] + report["traffic"]["scattered"]
    assert moved <= report["traffic"]["heuristic_bytes"] or report["traffic"]["heuristic"] == "none"
    assert moved <= networks.MOST.get(name, 1.25) * report["traffic"]["bound"]
