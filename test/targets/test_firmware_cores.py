# SPDX-License-Identifier: MIT
"""Cores for firmware: their code for quantized layers gives the bytes that plain C gives, to the bit, under qemu or, where nothing stands for a
core, in the interpreter after every pass; on Cortex-M4 products are smlad, and requantization is smmla and ssat."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

THUMB = ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"]
OTHERS = ["riscv32", "riscv32-f"]
FEW, MANY = 1, 12                       # seeds of each shape
pytestmark = pytest.mark.slow

# channels, outputs, window, strides, pads, groups, dilations, extents
LAYERS = {
    "one_channel": (1, 6, (10, 4), (2, 2), (5, 1, 4, 1), 1, (1, 1), (19, 10)),
    "three_channels": (3, 8, (3, 3), (1, 1), (1, 1, 1, 1), 1, (1, 1), (9, 8)),
    "three_channels_strided": (3, 8, (3, 3), (2, 2), (1, 1, 1, 1), 1, (1, 1), (12, 12)),
    "two_channels_wide": (2, 5, (1, 7), (1, 3), (0, 3, 0, 2), 1, (1, 1), (4, 17)),
    "three_channels_dilated": (3, 4, (2, 3), (1, 1), (2, 0, 1, 2), 1, (2, 1), (8, 7)),
    "spread_columns": (3, 4, (3, 3), (1, 1), (2, 2, 2, 2), 1, (1, 2), (6, 9)),
    "points": (8, 16, (1, 1), (1, 1), (0, 0, 0, 0), 1, (1, 1), (5, 5)),
    "points_strided": (12, 7, (1, 1), (2, 2), (0, 0, 0, 0), 1, (1, 1), (7, 9)),
    "odd_channels": (13, 11, (3, 3), (2, 1), (1, 0, 0, 1), 1, (1, 1), (7, 6)),
    "sixteen": (16, 16, (3, 3), (1, 1), (1, 1, 1, 1), 1, (1, 1), (6, 8)),
    "depthwise": (12, 12, (3, 3), (1, 1), (1, 1, 1, 1), 12, (1, 1), (7, 5)),
    "depthwise_strided": (6, 6, (5, 3), (2, 2), (2, 1, 2, 1), 6, (1, 1), (9, 8)),
    "depthwise_far": (72, 72, (3, 3), (1, 1), (1, 1, 1, 1), 72, (1, 1), (5, 8)),
    "depthwise_far_strided": (136, 136, (3, 2), (2, 2), (0, 1, 1, 1), 136, (1, 1), (6, 7)),
    "depthwise_high": (64, 64, (5, 3), (1, 1), (2, 1, 2, 1), 64, (1, 1), (6, 5)),
    "groups": (8, 12, (3, 3), (1, 1), (1, 1, 1, 1), 4, (1, 1), (5, 6)),
    "signal": (4, 6, (9,), (2,), (4, 4), 1, (1,), (33,)),
    "signal_one_channel": (1, 3, (7,), (1,), (3, 3), 1, (1,), (20,)),
}


def layer(name, seed, unsigned):
    """a quantized convolution of random numbers and another one by single positions behind it, with a table between that keeps bytes apart"""
    channels, outputs, window, strides, pads, groups, dilations, extents = LAYERS[name]
    r = np.random.default_rng([seed, *name.encode()])
    byte = np.uint8 if unsigned else np.int8

    def constant(label, value):
        return numpy_helper.from_array(value, label)

    def quantized(label, m, c, spatial):
        w = r.integers(-127, 128, (m, c, *spatial)).astype(np.int8)
        scale = (r.uniform(.5, 1.5, m) / 127).astype(np.float32)
        bias = r.integers(-2000, 2000, m).astype(np.int32)
        return [constant(f"{label}_w", w), constant(f"{label}_s", scale), constant(f"{label}_z", np.zeros(m, np.int8)), constant(f"{label}_b", bias)]

    zeros = r.integers(np.iinfo(byte).min, np.iinfo(byte).max, 3)
    spread = np.sqrt(channels // groups * np.prod(window))
    steps = [np.float32(.02), np.float32(.02 * spread * r.uniform(.7, 1.4)), np.float32(.02 * spread * np.sqrt(outputs) * r.uniform(.7, 1.4))]
    initializers = [constant(f"x{i}_{part}", value) for i in range(3) for part, value in (("s", steps[i]), ("z", np.array(zeros[i], byte)))]
    initializers += quantized("a", outputs, channels // groups, window) + quantized("b", 5, outputs, [1] * len(window))

    def node(x, w, out, attributes):
        names = [f"x{x}", f"x{x}_s", f"x{x}_z", f"{w}_w", f"{w}_s", f"{w}_z", f"x{out}_s", f"x{out}_z", f"{w}_b"]
        return helper.make_node("QLinearConv", names, [f"x{out}"], **attributes)

    nodes = [node(0, "a", 1, dict(strides=strides, pads=pads, group=groups, dilations=dilations)), node(1, "b", 2, {})]
    kind = TensorProto.UINT8 if unsigned else TensorProto.INT8
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x0", kind, (1, channels, *extents))],
                              [helper.make_tensor_value_info("x2", kind, None), helper.make_tensor_value_info("x1", kind, None)], initializers)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    onnx.checker.check_model(model)
    low, high = np.iinfo(byte).min, np.iinfo(byte).max
    return model, [r.integers(low, high, (1, channels, *extents), endpoint=True).astype(byte)]


def saved(model, folder):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx"


def results(model, inputs, target, folder, *options):
    folder.mkdir(parents=True, exist_ok=True)
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.run_host(dnncc.build_host(folder, ["-O1"], emulator=processor.emulator(target)), inputs)


def cases():
    for k, name in enumerate(LAYERS):
        for seed in range(MANY):
            few = seed < FEW
            target, unsigned = THUMB[(k + seed) % len(THUMB)], (k + k // 4 + seed) % 2 == 1
            label = f"{name}-{'u8' if unsigned else 'i8'}-{seed}-{target}"
            yield pytest.param(name, seed, unsigned, target, id=label, marks=[] if few else pytest.mark.long)


@pytest.mark.parametrize("unsigned", [False, True])
def test_windows_turn(unsigned, tmp_path):
    """a window of 10 x 4 bytes is four words of sixteen, its columns; where rows are passed on it is ten, and the bytes are the same. Its kernel
    stores rows as columns"""
    processor.require("cortex-m55")
    model, inputs = layer("one_channel", 3, unsigned)
    del model.graph.output[1]
    path = saved(model, tmp_path)
    want = results(path, inputs, "generic", tmp_path / "plain", "--requantize=integer")
    words = []
    for name, options in (("turned", []), ("rows", ["--max-ram=800"])):
        for got, plain in zip(results(path, inputs, "cortex-m55", tmp_path / name, *options), want, strict=True):
            np.testing.assert_array_equal(got, plain)
        shown = dnncc.run([dnncc.DNNCC, path, "--target=cortex-m55", *options, "--emit=ir", "-o", "-"]).stdout
        words.append((bool(re.search(r"convolve_packed[^}]*perm=\[0, 1, 3, 2, 4\]", shown)), int(re.search(r"const @a_w\w* : <\d+ x 1 x (\d+) x", shown)[1])))
    assert words == [(True, 4), (False, 10)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name,seed,unsigned,target", list(cases()))
def test_layers(name, seed, unsigned, target, tmp_path):
    """the same bytes as plain C makes by integers; those of the model's floats are at most one apart"""
    processor.require(target)
    model, inputs = layer(name, seed, unsigned)
    path = saved(model, tmp_path)
    plain = results(path, inputs, "generic", tmp_path / "plain", "--requantize=integer")
    ours = results(path, inputs, target, tmp_path / "ours")
    floats = results(path, inputs, "generic", tmp_path / "floats")
    for got, want, near in zip(ours, plain, floats, strict=True):
        np.testing.assert_array_equal(got, want)
        if got is ours[1]:
            apart = np.abs(got.astype(int) - near.astype(int))
            assert apart.max() <= 1 and apart.mean() < .02


def behind_points(model, channels, seed):
    """the model behind a quantized convolution of single positions, so that rows of its first layer's operand are passed on, too; x1 is no output"""
    r = np.random.default_rng(seed)
    graph = model.graph
    spatial = len(graph.input[0].type.tensor_type.shape.dim) - 2
    w = r.integers(-127, 128, (channels, channels, *[1] * spatial)).astype(np.int8)
    constants = {"p_w": w, "p_s": np.full(channels, 1 / 127 / np.sqrt(channels), np.float32), "p_z": np.zeros(channels, np.int8),
                 "p_b": r.integers(-2000, 2000, channels).astype(np.int32)}
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    names = ["p", "x0_s", "x0_z", "p_w", "p_s", "p_z", "x0_s", "x0_z", "p_b"]
    graph.node.insert(0, helper.make_node("QLinearConv", names, ["x0"]))
    graph.input[0].name = "p"
    del graph.output[1]
    return model


def rows_cases():
    two = [name for name, shape in LAYERS.items() if len(shape[2]) == 2]
    for k, name in enumerate(two):
        for more in range(len(THUMB)):
            yield pytest.param(name, THUMB[(k + more) % len(THUMB)], k % 2 == 1, id=f"{name}-{THUMB[(k + more) % len(THUMB)]}",
                               marks=[] if more < 2 else pytest.mark.long)


@pytest.mark.sample(13)
@pytest.mark.parametrize("name,target,unsigned", list(rows_cases()))
def test_rows(name, target, unsigned, tmp_path):
    """rows, and patches, that are passed on through circular buffers have the bytes of whole tensors"""
    processor.require(target)
    model, inputs = layer(name, 5, unsigned)
    path = saved(behind_points(model, LAYERS[name][0], 7), tmp_path)
    want = results(path, inputs, "generic", tmp_path / "plain", "--requantize=integer")
    least = int(re.search(r"takes (\d+) bytes", dnncc.run([dnncc.DNNCC, path, f"--target={target}", "--max-ram=0", "-o", tmp_path / "w.c"]).stderr)[1])
    for budget in (least, 2 * least, 16 << 20):
        for got, plain in zip(results(path, inputs, target, tmp_path / str(budget), f"--max-ram={budget}"), want, strict=True):
            np.testing.assert_array_equal(got, plain)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", LAYERS)
def test_passes(name, tmp_path):
    """each pass keeps every byte, where nothing runs the code"""
    model, _ = layer(name, 0, name.startswith("s"))
    for target in OTHERS:
        done = dnncc.run([dnncc.DNNCC, saved(model, tmp_path), f"--target={target}", "--check"])
        said = dnncc.checks(done)
        assert done.returncode == 0 and len(said) > 30 and not any("differ" in line for line in said), done.stderr
        assert not re.search(r"\bfloat\b", re.sub(r"/\*.*?\*/", "", source(tmp_path / "m.onnx", target, tmp_path), flags=re.S))


def test_borders(tmp_path):
    """what two layers read with the same border is stored without it, and each decodes it with it"""
    processor.require("cortex-m4")
    model, inputs = layer("sixteen", 1, False)
    twin = onnx.NodeProto()
    twin.CopyFrom(model.graph.node[0])
    first = onnx.NodeProto()
    first.CopyFrom(model.graph.node[0])
    for node, x, y in ((first, "x0", "x1"), (model.graph.node[0], "x1", "y"), (twin, "x1", "z")):
        node.input[0], node.output[0] = x, y
        node.input[6], node.input[7] = "x0_s", "x0_z"
        node.input[1], node.input[2] = "x0_s", "x0_z"
    weights = next(i for i in model.graph.initializer if i.name == "a_w")
    model.graph.initializer.append(numpy_helper.from_array(np.roll(numpy_helper.to_array(weights), 1), "c_w"))
    twin.input[3] = "c_w"
    del model.graph.node[1:]
    model.graph.node.insert(0, first)
    model.graph.node.append(twin)
    shape = model.graph.input[0].type.tensor_type.shape
    del model.graph.output[:], model.graph.value_info[:]
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.INT8, [d.dim_value for d in shape.dim]) for name in "yz")
    path = saved(model, tmp_path)
    for got, want in zip(results(path, inputs, "cortex-m4", tmp_path / "m4"), results(path, inputs, "generic", tmp_path / "c", "--requantize=integer"), strict=True):
        np.testing.assert_array_equal(got, want)
    text = dnncc.run([dnncc.DNNCC, path, "--target=cortex-m4", "--emit=ir", "-o", "-"]).stdout
    assert len(re.findall(r"^    %\d+ = pad\(", text, re.M)) == 2 and re.findall(r"^  %\d+ = pad\((%\w+)", text, re.M) == ["%x0"], text


def stream(seed, images):
    """quantized layers whose rows can be passed on: a window, depthwise with a stride, single positions with a residual sum, windows, a global pool"""
    r, nodes, initializers = np.random.default_rng(seed), [], []
    height, width = map(int, r.integers(11, 18, 2))

    def scale(name, step, zero):
        initializers.extend([numpy_helper.from_array(np.float32(step), f"{name}_s"), numpy_helper.from_array(np.int8(zero), f"{name}_z")])

    def convolve(x, y, m, c, window, strides, pads, group=1):
        w = r.integers(-127, 128, (m, c // group, *window)).astype(np.int8)
        scale(y, .02, r.integers(-128, 128))
        scale(f"{y}_w", 1 / (100 * np.sqrt(np.prod(w.shape[1:]))), 0)
        initializers.extend([numpy_helper.from_array(w, f"{y}_w"), numpy_helper.from_array(r.integers(-2000, 2000, m).astype(np.int32), f"{y}_b")])
        names = [x, f"{x}_s", f"{x}_z", f"{y}_w", f"{y}_w_s", f"{y}_w_z", f"{y}_s", f"{y}_z", f"{y}_b"]
        nodes.append(helper.make_node("QLinearConv", names, [y], strides=strides, pads=pads, group=group))
    scale("x", .02, r.integers(-128, 128))
    channels = int(r.choice([1, 3, 8]))
    convolve("x", "a", 8, channels, (3, 3), (1, 1), (1, 1, 1, 1))
    convolve("a", "b", 8, 8, (3, 3), (2, 1), (1, 1, 1, 1), group=8)
    convolve("b", "c", 8, 8, (1, 1), (1, 1), (0, 0, 0, 0))
    for name in "bc":
        nodes.append(helper.make_node("DequantizeLinear", [name, f"{name}_s", f"{name}_z"], [f"{name}_f"]))
    nodes.append(helper.make_node("Add", ["b_f", "c_f"], ["sum"]))
    scale("d", .03, 5)
    nodes.append(helper.make_node("QuantizeLinear", ["sum", "d_s", "d_z"], ["d"]))
    convolve("d", "e", 12, 8, (3, 5), (1, 2), (1, 2, 1, 2))
    nodes += [helper.make_node("DequantizeLinear", ["e", "e_s", "e_z"], ["e_f"]), helper.make_node("GlobalAveragePool", ["e_f"], ["mean"])]
    scale("y", .01, 0)
    nodes.append(helper.make_node("QuantizeLinear", ["mean", "y_s", "y_z"], ["y"]))
    graph = helper.make_graph(nodes, "m", [helper.make_tensor_value_info("x", TensorProto.INT8, (images, channels, height, width))],
                              [helper.make_tensor_value_info("y", TensorProto.INT8, (images, 12, 1, 1))], initializers)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    onnx.checker.check_model(model)
    return model, [r.integers(-128, 128, (images, channels, height, width)).astype(np.int8)]


def workspace(folder):
    return int(re.search(r"WORKSPACE_SIZE (\d+)u", (folder / "model.h").read_text())[1])


@pytest.mark.sample(24, each=False)
@pytest.mark.parametrize("target", THUMB)
@pytest.mark.parametrize("seed", range(4))
def test_streams(seed, target, tmp_path):
    """rows that are passed on give the bytes of tensors as a whole, in register tiles as these, with less memory; so do strips of parts of rows"""
    processor.require(target)
    model, inputs = stream(seed, 1 + seed % 2)
    path = saved(model, tmp_path)
    want = results(path, inputs, "generic", tmp_path / "plain", "--requantize=integer")
    np.testing.assert_array_equal(results(path, inputs, target, tmp_path / "whole")[0], want[0])
    size = whole = workspace(tmp_path / "whole")
    least = dnncc.run([dnncc.DNNCC, path, f"--target={target}", "--max-ram=0", "-o", tmp_path / "none.c"])
    least = int(re.search(r"the workspace takes (\d+) bytes", least.stderr)[1])
    streams = 0
    for step in range(4):
        budget = max(least, size - 1 - step * whole // 8)
        folder = tmp_path / str(step)
        np.testing.assert_array_equal(results(path, inputs, target, folder, f"--max-ram={budget}")[0], want[0])
        size = workspace(folder)
        assert size <= budget
        text = (folder / "model.c").read_text()
        kernels = re.split(r"^static KERNEL ", text, flags=re.M)[1:]
        streams += any("circular" in kernel and "strip" in kernel and "patch = 0" not in kernel for kernel in kernels)
    assert streams or target == "cortex-m55", "rows are passed on in tiles of words"


@pytest.mark.parametrize("together", [2, 1], ids=["whole", "image"])
@pytest.mark.parametrize("seed,images", [(0, 2), (3, 2)])
def test_budgets_between(seed, images, together, tmp_path):
    """what is said to be enough is, and so is any budget above it, though what divides the network predicts bytes and errs; also image by image"""
    path = saved(stream(seed, images)[0], tmp_path)

    def compiled(budget):
        return dnncc.run([dnncc.DNNCC, path, "--target=cortex-m55", f"--limit=microbatch_images={together}", f"--max-ram={budget}", "-o", tmp_path / "model.c"])
    least = int(re.search(r"--max-ram=(\d+), which is enough", compiled(0).stderr)[1])
    if together == images:
        below = compiled(least - 1)
        assert below.returncode == 5 and f"--max-ram={least}, which is enough" in below.stderr
    for budget in (least, least + 24, least + 84, least + 160, least + 500):
        assert compiled(budget).returncode == 0, budget
        assert workspace(tmp_path) <= budget


def source(model, target, folder, *options):
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return (folder / "model.c").read_text()


@pytest.mark.parametrize("first", [False, True], ids=["bytes", "floats"])
@pytest.mark.parametrize("name", [name for name in LAYERS if "depthwise" not in name])
def test_words(name, first, tmp_path):
    """each convolution reads words of four bytes that lie side by side, also where the input is planes of floats"""
    model, _ = layer(name, 0, False)
    if first:
        port = model.graph.input[0]
        port.type.tensor_type.elem_type = TensorProto.FLOAT
        model.graph.node.insert(0, helper.make_node("QuantizeLinear", ["floats", "x0_s", "x0_z"], ["x0"]))
        port.name = "floats"
    text = dnncc.run([dnncc.DNNCC, saved(model, tmp_path), "--target=cortex-m4", "--emit=loops", "-o", "-"]).stdout
    kernels = [kernel for kernel in text.split("\nkernel ")[1:] if "convolve_packed" in kernel.partition("\n")[0]]
    assert kernels and all("dot_halves(" in kernel for kernel in kernels), text


def test_bytes_without_a_sign(tmp_path):
    """Cortex-M0 loads them by one instruction: what layers hand on has no sign, whatever the model says; inputs and outputs have theirs"""
    text = dnncc.run([dnncc.DNNCC, saved(layer("sixteen", 0, False)[0], tmp_path), "--target=cortex-m0", "--emit=loops", "-o", "-"]).stdout
    read = re.findall(r"^kernel @\w+\(.*?%x: in (\w+)\[.* convolve_packed ", text, re.M)
    assert read == ["u8", "u8"], text


@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m4", "riscv32"])
def test_size(target, tmp_path):
    """--goal=size: tiles leave nothing over; the same bytes"""
    model, inputs = layer("sixteen", 1, False)
    path = saved(model, tmp_path)
    text = {goal: dnncc.run([dnncc.DNNCC, path, f"--target={target}", f"--goal={goal}", "--emit=loops", "-o", "-"]).stdout for goal in ("speed", "size")}
    products = {goal: len(re.findall(r"dot_halves\(|\* %w", text[goal])) for goal in text}
    assert 0 < products["size"] < products["speed"] / 2, products
    if target in THUMB:
        processor.require(target)
        for got, want in zip(results(path, inputs, target, tmp_path / "size", "--goal=size"), results(path, inputs, target, tmp_path / "speed"), strict=True):
            np.testing.assert_array_equal(got, want)


def test_multiplies(tmp_path):
    """what a core has is used, and nothing of its own where another one is meant"""
    path = saved(layer("sixteen", 0, False)[0], tmp_path)
    text = {target: source(path, target, tmp_path) for target in [*THUMB, *OTHERS, "generic"]}
    assert text["cortex-m55"].count("vmladavaq_s8(") > 12 and "smmla" in text["cortex-m55"]
    for target in ("cortex-m4", "cortex-m7", "cortex-m33"):
        assert text[target].count("dot_halves(") > 12 and "smmla" in text[target] and "saturate_i8(multiply_high(" in re.sub(r"\s+", "", text[target])
    assert "ssat" in text["cortex-m3"] and "smlad" not in text["cortex-m3"]
    for target in ("cortex-m0", "riscv32", "riscv32-f", "generic"):
        assert "asm" not in text[target]
    assert "int64_t" in text["riscv32"] and "convolve_packed" in text["riscv32"] and "convolve_packed" not in text["generic"]


def test_floats_when_asked(tmp_path):
    """--requantize=float is what the model says, to the bit"""
    processor.require("cortex-m4")
    model, inputs = layer("odd_channels", 3, False)
    path = saved(model, tmp_path)
    want = results(path, inputs, "generic", tmp_path / "generic")
    got = results(path, inputs, "cortex-m4", tmp_path / "m4", "--requantize=float")
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_compiler_is_told(tmp_path):
    text = source(saved(layer("points", 0, False)[0], tmp_path), "cortex-m4", tmp_path)
    assert '-mcpu=cortex-m4' in re.search(r'#error "(.*)"', text)[1]
