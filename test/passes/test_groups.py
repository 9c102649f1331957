# SPDX-License-Identifier: MIT
"""Grouped convolutions of any number of channels a group, between convolutions by 1 x 1 windows, as networks have them."""
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

# groups, outputs of a group for each of its channels, and what the convolution is by; spatial dimensions are those of the kernel
FORMS = [(3, 1, dict(kernel_shape=[3, 3], pads=[1] * 4)), (5, 1, dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)),
         (8, 1, dict(kernel_shape=[1, 5], dilations=[1, 2], pads=[0, 3, 0, 4])), (2, 2, dict(kernel_shape=[2, 3], pads=[0, 1, 1, 1])),
         (7, 1, dict(kernel_shape=[3], pads=[1, 1])), (3, 1, dict(kernel_shape=[1, 3, 3], pads=[0, 1, 1, 0, 1, 1]))]


def network(path, channels, forms=FORMS):
    """of each form 1 x 1, ReLU, groups, a bias and ReLU, a sum with the operand where shapes allow, 1 x 1; the last two results are outputs"""
    random, nodes, constants, inputs, outputs = np.random.default_rng(channels), [], [], [], []

    def constant(*shape):
        constants.append(numpy_helper.from_array(random.standard_normal(shape, np.float32) / np.float32(max(1, np.prod(shape[1:])) ** 0.5), f"c{len(constants)}"))
        return constants[-1].name

    def op(kind, *operands, **attributes):
        nodes.append(helper.make_node(kind, operands, [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    for k, (groups, times, how) in enumerate(forms):
        spatial, width = len(how["kernel_shape"]), channels * groups
        inputs.append(helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, [1, 20, *[3, 7, 9][3 - spatial:]]))
        y = x = op("Relu", op("Conv", f"x{k}", constant(width, 20, *[1] * spatial), constant(width)))
        y = op("Relu", op("Conv", y, constant(width * times, channels, *how["kernel_shape"]), constant(width * times), group=groups, **how))
        if k == 0:
            y = op("Add", y, x)
        z = op("Conv", y, constant(24, width * times, *[1] * spatial))
        outputs += [helper.make_tensor_value_info(v, TensorProto.FLOAT, None) for v in (y, z)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "m", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


@pytest.mark.slow
@pytest.mark.sample(126)
@pytest.mark.parametrize("target, channels", [(target, channels) for target in ("x86-64", "x86-64-v3", "x86-64-v4") for channels in range(1, 41)])
def test_results(channels, target, tmp_path):
    """each pass keeps what the interpreter computes; C gives what onnxruntime does"""
    if not processor.has(target):
        pytest.skip("this processor cannot run it")
    model = network(tmp_path / "m.onnx", channels)
    dnncc.compile_model(model, tmp_path, [f"--target={target}"])
    program = dnncc.build_host(tmp_path, ["-O1", "-fsanitize=address"])
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    feeds = {i.name: np.random.default_rng(1).standard_normal(i.shape, np.float32) for i in session.get_inputs()}
    for got, want in zip(dnncc.run_host(program, list(feeds.values())), session.run(None, feeds)):
        assert np.abs(got - want).max() <= 2e-5 * max(1, np.abs(want).max())


@pytest.mark.sample(6)
@pytest.mark.slow
@pytest.mark.parametrize("channels", [3, 8, 12, 24, 40])
@pytest.mark.parametrize("options", ["", "--precision=bf16", "--exact", "--goal=memory"])
def test_check(channels, options, tmp_path):
    done = dnncc.run([dnncc.DNNCC, network(tmp_path / "m.onnx", channels, FORMS[:3]), "--target=x86-64-v4", "--check", *options.split()])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target, channels, groups, block", [
    ("x86-64-v4", 24, 3, 24), ("x86-64-v4", 24, 2, 24), ("x86-64-v4", 40, 4, 40), ("x86-64-v4", 20, 3, 20), ("x86-64-v4", 8, 3, 8),
    ("x86-64-v4", 8, 4, 16), ("x86-64-v4", 4, 4, 16), ("x86-64-v3", 8, 4, 8), ("aarch64", 12, 4, 12), ("x86-64-v4", 32, 4, 16)])
def test_blocks(target, channels, groups, block, tmp_path):
    """A block has the channels of one group, unless several groups are whole blocks at about the same price; elementwise operations have no kernel that
    divides indices."""
    model = network(tmp_path / "m.onnx", channels, [(groups, 1, dict(kernel_shape=[3, 3], pads=[1] * 4))])
    text = dnncc.run([dnncc.DNNCC, model, f"--target={target}", "--emit=ir", "-o", "-"]).stdout
    grouped = [line for line in text.splitlines() if "convolve" in line and " groups=" in line]
    if block == channels * groups:      # It is one group then, with zeros.
        assert not grouped
    else:
        assert len(grouped) == 1 and re.search(rf" x {block} x f32>", grouped[0].split(" : ")[1]), text


def test_layouts_of_many(tmp_path):
    """blocks of a network of 168 channels in 7 groups: no product by zeros"""
    text = dnncc.run([dnncc.DNNCC, network(tmp_path / "m.onnx", 24, [FORMS[0], (7, 1, FORMS[0][2])]), "--target=x86-64-v4", "--emit=ir", "-o", "-"]).stdout
    assert text.count("channels=24 outputs=24 block=24") == 2


@pytest.mark.parametrize("element", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("groups, outputs", [(20, 2), (116, 2), (17, 3), (32, 1)])
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_narrow_weights_of_single_channels(element, groups, outputs, target, tmp_path):
    """groups of one channel and several outputs, whose weights have 16 bits"""
    shape = f"1 x {groups * outputs} x 8 x 9 x {element}"
    weights = np.random.default_rng(0).integers(-8, 9, groups * outputs * 9).astype(np.float32) / 4
    data = {"f32": weights, "f16": weights.astype(np.float16), "bf16": (weights.view(np.uint32) >> 16).astype(np.uint16)}[element]
    (tmp_path / "m.dnn").write_text(f"""dnn 3
module "m"
const @w : <{groups * outputs} x 1 x 3 x 3 x {element}> = hex "{data.tobytes().hex()}"
func @main(%x "x": <1 x {groups} x 8 x 9 x {element}>) -> ("y") {{
  %1 = convolve(%x, @w) pads=[1, 1, 1, 1] groups={groups} : <{shape}>
  yield(%1)
}}
""")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", f"--target={target}", "--check"])
    assert done.returncode == dnncc.OK, done.stderr
