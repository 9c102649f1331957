# SPDX-License-Identifier: MIT
"""The com.microsoft operators that onnxruntime's optimizer and quantizer write, against onnxruntime itself."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dnncc  # noqa: E402
from test_opsets import F32, I8, I32, U8, element, x  # noqa: E402

DOMAIN = "com.microsoft"
CASES = []


def case(op, inputs, outputs=1, title="", domain=DOMAIN, **attributes):
    CASES.append((op, title, inputs, outputs, domain, attributes))


image, kernel = x(1, 2, 5, 5), x(3, 2, 3, 3)
for activation, parameters in ("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-1.0, 2.0]), ("HardSigmoid", [0.2, 0.4]):
    more = {"activation_params": parameters} if parameters else {}
    case("FusedConv", [image, kernel, x(3)], title=activation, activation=activation, **more)
case("FusedConv", [image, kernel, x(3), x(1, 3, 3, 3)], title="sum", activation="Relu")
case("FusedMatMul", [x(2, 4, 3), x(2, 5, 4)], transA=1, transB=1, alpha=0.5)
case("FusedMatMul", [x(3, 4), x(4, 5)], alpha=2.0)
case("Gelu", [x(3, 5)])
case("BiasGelu", [x(3, 5), x(5)])
case("FastGelu", [x(3, 5), x(5)])
case("FastGelu", [x(3, 5)], title="no bias")
case("QuickGelu", [x(3, 5)], alpha=1.5)
case("SkipLayerNormalization", [x(2, 3, 8), x(2, 3, 8, key=1), x(8), x(8, key=1), x(8, key=2)], epsilon=1e-5)
case("SkipLayerNormalization", [x(2, 3, 8), x(2, 3, 8, key=1), x(8)], title="gamma alone")
case("SkipLayerNormalization", [x(2, 3, 8), x(2, 3, 8, key=1), x(8), x(8, key=1)], outputs=4, title="sum")
case("SkipSimplifiedLayerNormalization", [x(2, 3, 8), x(2, 3, 8, key=1), x(8)], outputs=4)
case("SimplifiedLayerNormalization", [x(2, 3, 8), x(8)], domain="", epsilon=1e-5)


def scale(value):
    return np.array(value, F32)


for t in U8, I8:
    def q(*shape, t=t, key=0):
        return x(*shape, dtype=t, low=-128, high=255 if t is U8 else 127, key=key)
    zero = [np.array(v, t) for v in (3, 7, 11)]
    name = t.__name__
    for op in "QLinearAdd", "QLinearMul":
        case(op, [q(2, 3, 4), scale(0.1), zero[0], q(3, 1, key=1), scale(0.2), zero[1], scale(0.5), zero[2]], title=name)
    case("QLinearSigmoid", [q(40), scale(0.05), zero[0], scale(1 / 256), np.array(0 if t is U8 else -128, t)], title=name)
    case("QLinearLeakyRelu", [q(40), scale(0.05), zero[0], scale(0.06), zero[1]], title=name, alpha=0.1)
    case("QLinearSoftmax", [q(4, 6), scale(0.05), zero[0], scale(1 / 256), np.array(0 if t is U8 else -128, t)], title=name, axis=-1, opset=13)
    case("QLinearAveragePool", [q(1, 2, 6, 6), scale(0.05), zero[0], scale(0.06), zero[1]], title=name, kernel_shape=[3, 3], strides=[2, 2],
         pads=[1, 1, 0, 0])
    case("QLinearGlobalAveragePool", [q(1, 3, 6, 5), scale(0.05), zero[0], scale(0.06), zero[1]], title=name)
    case("QLinearGlobalAveragePool", [q(1, 6, 5, 3), scale(0.05), zero[0], scale(0.06), zero[1]], title=name, channels_last=1)
    case("QLinearConcat", [scale(0.1), zero[0], q(2, 3), scale(0.2), zero[1], q(2, 2, key=1), scale(0.05), zero[2]], title=name, axis=1)
    case("QuantizeLinear", [x(3, 4), scale(0.1), zero[0]], title=name)
    case("DequantizeLinear", [q(3, 4), scale(0.1), zero[0]], title=name)


@pytest.mark.parametrize("op, title, inputs, outputs, domain, attributes", CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
@pytest.mark.sample(4)
def test_contrib(op, title, inputs, outputs, domain, attributes):
    names = [f"x{k}" for k in range(len(inputs))]
    ports = ["y", "sum"][:1 if outputs == 1 else 2]          # of four outputs, the two in the middle are absent
    node = helper.make_node(op, names, ["y", "", "", "sum"][:outputs], "node", domain=domain, **attributes)
    graph = helper.make_graph([node], "case", [helper.make_tensor_value_info(names[0], element(inputs[0]), inputs[0].shape)],
                              [helper.make_empty_tensor_value_info(p) for p in ports],
                              [numpy_helper.from_array(v, n) for n, v in zip(names[1:], inputs[1:])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {names[0]: inputs[0]})
    with dnncc.Workspace(f"contrib_{op}") as folder:
        onnx.save(model, str(folder / "model.onnx"))
        dnncc.compile_model(folder / "model.onnx", folder)
        given = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [inputs[0]])
    for want, got in zip(wanted, given):
        assert got.dtype == want.dtype and got.shape == want.shape
        if np.issubdtype(want.dtype, np.integer):       # integer kernels of onnxruntime round in other places
            assert np.abs(got.astype(I32) - want.astype(I32)).max() <= 1, (got, want)
        else:
            assert np.allclose(got, want, rtol=1e-3, atol=1e-4), (got, want)
