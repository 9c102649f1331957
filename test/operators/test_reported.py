# SPDX-License-Identifier: MIT
"""Models of the kinds that users of other tools reported (test/models/test_public_cases.py has such models with values): names in bodies, attributes that a
call leaves out, regions that a run gives, inputs at the ends of the range, what programs disagree about. docs/user-guide.md has a table of the last."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F32, I64 = np.float32, np.int64
KINDS = {np.dtype(F32): T.FLOAT, np.dtype(bool): T.BOOL, np.dtype(I64): T.INT64, np.dtype(np.int32): T.INT32, np.dtype(np.uint8): T.UINT8}
node = helper.make_node
X = np.array([1, -2, 3], F32)


def info(name, like=None):
    return onnx.ValueInfoProto(name=name) if like is None else helper.make_tensor_value_info(name, KINDS[like.dtype], like.shape)


def model_of(nodes, given, outputs, constants=None, functions=(), opset=21, domains=()):
    """given, constants: arrays by name"""
    graph = helper.make_graph(nodes, "g", [info(n, v) for n, v in given.items()], [info(o) for o in outputs],
                              [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def run(model, arrays, folder, *options):
    """outputs, and what was said"""
    folder = pathlib.Path(folder)
    onnx.save(model, folder / "m.onnx")
    for k, array in enumerate(arrays):
        np.save(folder / f"input_{k}.npy", np.asarray(array, order="C"))
    done = dnncc.run([dnncc.DNNCC, folder / "m.onnx", f"--run={folder}", *options])
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"output_{k}.npy") for k in range(len(model.graph.output))], done.stderr


def peer(model, given):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)


# ---- names in bodies ----


def graph(nodes, outputs, inputs=(), constants=None):
    return helper.make_graph(nodes, "body", list(inputs), [info(o) for o in outputs], [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])


def loop_inputs(number="i", go="c", held="v"):
    return [helper.make_tensor_value_info(number, T.INT64, []), helper.make_tensor_value_info(go, T.BOOL, []), info(held, X)]


NEGATE, DOUBLE = node("Neg", ["x"], ["y"]), node("Add", ["x", "x"], ["t"])
TIMES = {"n": np.array(3, I64), "go": np.array(True)}
KEEP = node("Identity", ["c"], ["again"])
# nodes, constants; what comes of X where the condition holds; whether a name hides one outside
BODIES = {
    "an output named as the node's": ([node("If", ["b"], ["y"], then_branch=graph([NEGATE], ["y"]), else_branch=graph([DOUBLE], ["t"]))], {}, -X, False),
    "a name made later outside": ([node("If", ["b"], ["r"], then_branch=graph([node("Exp", ["x"], ["later"]), node("Log", ["later"], ["s"])], ["s"]),
                                        else_branch=graph([DOUBLE], ["t"])), node("Neg", ["r"], ["later"]), node("Neg", ["later"], ["y"])], {}, X, False),
    "of a loop": ([node("Loop", ["n", "go", "x"], ["y"], body=graph([KEEP, node("Add", ["v", "x"], ["y"])], ["again", "y"], loop_inputs()))], TIMES, 4 * X, False),
    "an input named as an outer value": ([node("Neg", ["x"], ["v"]), node("Loop", ["n", "go", "x"], ["y"],
                                          body=graph([KEEP, node("Add", ["v", "v"], ["w"])], ["again", "w"], loop_inputs()))], TIMES, 8 * X, True),
    "a constant named as an outer value": ([node("Neg", ["x"], ["k"]), node("If", ["b"], ["r"], else_branch=graph([DOUBLE], ["t"]),
                                            then_branch=graph([node("Mul", ["x", "k"], ["s"])], ["s"], constants={"k": np.array(5, F32)})),
                                            node("Add", ["r", "k"], ["y"])], {}, 4 * X, True),
    "of bodies within bodies": ([node("If", ["b"], ["y"], else_branch=graph([DOUBLE], ["t"]), then_branch=graph(
        [node("If", ["b"], ["y"], then_branch=graph([node("Neg", ["x"], ["y"])], ["y"]), else_branch=graph([DOUBLE], ["t"])), node("Neg", ["y"], ["z"])], ["z"]))],
        {}, X, False),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_names_in_bodies(name, known, tmp_path):
    nodes, constants, want, hides = BODIES[name]
    given = {"x": X, "b": np.array(True)}
    if known:
        constants = {**constants, "b": given.pop("b")}
    if not any("b" in n.input for n in nodes):
        given.pop("b", None)
        constants.pop("b", None)
    (got,), said = run(model_of(nodes, given, ["y"], constants), given.values(), tmp_path)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert said.count("which it hides there") == hides


# ---- attributes that a call leaves out ----


def with_reference(op, inputs, outputs, attribute, of, kind=onnx.AttributeProto.FLOAT, domain=""):
    n = node(op, inputs, outputs, domain=domain)
    n.attribute.append(onnx.AttributeProto(name=attribute, ref_attr_name=of, type=kind))
    return n


def function(name, nodes, attributes=("slope",)):
    return helper.make_function("d", name, ["a"], ["o"], nodes, [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)], list(attributes))


def test_attributes_left_out(tmp_path):
    """mean the operator's default: nested, referenced twice"""
    inner = function("F", [with_reference("LeakyRelu", ["a"], ["t"], "alpha", "slope"), with_reference("Elu", ["t"], ["o"], "alpha", "slope")])
    outer = function("G", [with_reference("F", ["a"], ["o"], "slope", "bend", domain="d")], ["bend"])
    calls = [node("G", ["x"], ["y0"], domain="d"), node("G", ["x"], ["y1"], domain="d", bend=0.5), node("F", ["x"], ["y2"], domain="d")]
    got, _ = run(model_of(calls, {"x": X}, ["y0", "y1", "y2"], functions=[inner, outer], domains=["d"]), [X], tmp_path)

    def want(slope, alpha):
        t = np.where(X < 0, slope * X, X)
        return np.where(t < 0, alpha * np.expm1(t), t)
    for y, w in zip(got, (want(0.01, 1), want(0.5, 0.5), want(0.01, 1))):
        np.testing.assert_allclose(y, w, rtol=1e-5)


def test_declared_by_the_caller(tmp_path):
    """the value that the model declares is named, not that of the function's body"""
    body = helper.make_function("d", "F", ["a"], ["inner"], [node("Abs", ["a"], ["inner"])], [helper.make_opsetid("", 21)])
    model = model_of([node("F", ["x"], ["outer"], domain="d"), node("Neg", ["outer"], ["y"])], {"x": X}, ["y"], functions=[body], domains=["d"])
    for kind, shape, code, said in (T.INT32, [3], dnncc.INVALID, "value 'outer' is <3 x f32>, declared as <3 x i32>"), (T.FLOAT, [4], dnncc.OK, "warning: value 'outer' is <3 x f32>, declared as <4 x f32>"):
        del model.graph.value_info[:]
        model.graph.value_info.append(helper.make_tensor_value_info("outer", kind, shape))
        onnx.save(model, str(tmp_path / "m.onnx"))
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c"])
        assert done.returncode == code and said in done.stderr and done.stderr.count("declared as") == 1, done.stderr


# ---- complements ----


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_compared_complements(kind, tmp_path):
    """gcc warns where a promoted complement is compared, and warnings are errors here"""
    a, b = np.arange(0, 256, 7, dtype=kind), np.arange(255, -1, -7, dtype=kind)[:37]
    ports = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), a.shape) for n in "ab"]
    nodes = [node("BitwiseNot", ["a"], ["t"]), node("GreaterOrEqual", ["t", "b"], ["y"]), node("Equal", ["b", "t"], ["z"])]
    graph_of = helper.make_graph(nodes, "g", ports, [helper.make_tensor_value_info(n, T.BOOL, a.shape) for n in "yz"])
    onnx.save(helper.make_model(graph_of, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), str(tmp_path / "m.onnx"))
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    y, z = dnncc.run_host(dnncc.build_host(tmp_path, ["-O2"]), [a, b])
    assert y.tolist() == (~a >= b).tolist() and z.tolist() == (~a == b).tolist()


# ---- regions of any size ----


def regions(seed):
    r = np.random.default_rng(seed)
    image = r.standard_normal((int(r.integers(1, 3)), int(r.integers(1, 4)), int(r.integers(1, 20)), int(r.integers(1, 20)))).astype(F32)
    boxes = np.sort(r.uniform(-10, 40, (int(r.integers(1, 6)), 2, 2)), axis=1).reshape(-1, 4).astype(F32) * F32([1, 0.3, 100][seed % 3])
    if seed % 7 == 0:
        boxes = boxes[:, [2, 3, 0, 1]]          # corners the wrong way round
    attributes = dict(output_height=int(r.integers(1, 5)), output_width=int(r.integers(1, 5)), spatial_scale=float(r.choice([1, 0.5, 0.25])),
                      mode=["avg", "max"][seed % 2], coordinate_transformation_mode=["half_pixel", "output_half_pixel"][seed // 2 % 2])
    return image, boxes, r.integers(0, image.shape[0], len(boxes)), attributes


@pytest.mark.sample(8)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_regions(seed, known, tmp_path):
    """sampling_ratio 0, the default: as many samples as a bin is large, which only a run knows; regions within the image, beyond it, empty"""
    image, boxes, which, attributes = regions(seed)
    given, constants = {"x": image, "r": boxes, "i": which}, {}
    want, = peer(model_of([node("RoiAlign", ["x", "r", "i"], ["y"], **attributes)], given, ["y"]), given)
    if known:
        constants, given = {n: given[n] for n in "ri"}, {"x": image}
    (got,), _ = run(model_of([node("RoiAlign", ["x", "r", "i"], ["y"], **attributes)], given, ["y"], constants), given.values(), tmp_path)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_regions_compiled(tmp_path):
    image, boxes, which, attributes = regions(2)
    given = {"x": image, "r": boxes, "i": which}
    model = model_of([node("RoiAlign", ["x", "r", "i"], ["y"], **attributes)], given, ["y"])
    onnx.save(model, tmp_path / "model.onnx")
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path)
    got, = dnncc.run_host(dnncc.build_host(tmp_path, dnncc.SANITIZE), list(given.values()))
    np.testing.assert_allclose(got, peer(model, given)[0], rtol=1e-4, atol=1e-5)


# ---- sparse tensors ----


@pytest.mark.parametrize("kind", [F32, I64, np.uint8])
@pytest.mark.parametrize("listed", [True, False])
def test_sparse(kind, listed, tmp_path):
    """as an initializer and as a constant's attribute; places by number and by indices"""
    dense = np.zeros((3, 4), kind)
    dense[0, 1], dense[1, 3], dense[2, 0] = 5, 7, 9
    places = np.flatnonzero(dense) if listed else np.argwhere(dense)

    def sparse(name):
        return helper.make_sparse_tensor(numpy_helper.from_array(dense[dense != 0], name), numpy_helper.from_array(places.astype(I64), "i"), dense.shape)
    x = np.arange(12).reshape(3, 4).astype(kind)
    model = model_of([node("Constant", [], ["c"], sparse_value=sparse("v")), node("Add", ["x", "c"], ["y"]), node("Sub", ["y", "s"], ["z"])], {"x": x}, ["y", "z"])
    model.graph.sparse_initializer.append(sparse("s"))
    (y, z), _ = run(model, [x], tmp_path)
    np.testing.assert_array_equal(y, x + dense)
    np.testing.assert_array_equal(z, x)


# ---- what programs disagree about: docs/user-guide.md#where-programs-differ has a row for each ----


def resized(x, sizes, folder, *options, **attributes):
    constants = {"s": np.array(sizes, F32)}
    model = model_of([node("Resize", ["x", "", "s"], ["y"], **attributes)], {"x": x}, ["y"], constants)
    return run(model, [x], folder, *options)[0][0], model


@pytest.mark.parametrize("scale", [1 / 3, 0.7, 0.1, 3, 1.7])
@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor"])
def test_nearest_in_f32(scale, rounding, tmp_path):
    x = np.arange(10, dtype=F32).reshape(1, 1, 1, 10)
    attributes = dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode=rounding)
    got, model = resized(x, [1, 1, 1, scale], tmp_path, **attributes)
    np.testing.assert_array_equal(got, peer(model, {"x": x})[0])


def test_nearest_exact(tmp_path):
    """--exact has the coordinates of the standard's reference, in f64: element 2.99999991 is 2"""
    x = np.arange(10, dtype=F32).reshape(1, 1, 1, 10)
    attributes = dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    assert resized(x, [1, 1, 1, 1 / 3], tmp_path, **attributes)[0].ravel().tolist() == [0, 3, 6]
    assert resized(x, [1, 1, 1, 1 / 3], tmp_path, "--exact", **attributes)[0].ravel().tolist() == [0, 2, 5]


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("mode", ["cubic", "linear", "nearest"])
def test_grid_borders(mode, align, tmp_path):
    r = np.random.default_rng(align)
    given = {"x": r.standard_normal((2, 3, 6, 5)).astype(F32), "g": r.uniform(-1.6, 1.6, (2, 7, 4, 2)).astype(F32)}
    model = model_of([node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode="border", align_corners=align)], given, ["y"])
    np.testing.assert_allclose(run(model, given.values(), tmp_path)[0][0], peer(model, given)[0], rtol=1e-4, atol=1e-5)


def test_quantized_zeros(tmp_path):
    """a scale of 1, not 0"""
    x = np.zeros(4, F32)
    model = model_of([node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], {"x": x}, ["y", "s", "z"])
    for got, want in zip(run(model, [x], tmp_path)[0], peer(model, {"x": x})):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@pytest.mark.parametrize("steps", [4, 20])
@pytest.mark.sample(6)
def test_sequences_without_steps(op, gates, direction, steps, tmp_path):
    """their last states are 0, not the first ones"""
    r, d = np.random.default_rng(gates), 2 if direction == "bidirectional" else 1
    shapes = dict(X=(steps, 3, 5), W=(d, gates * 6, 5), R=(d, gates * 6, 6), B=(d, 2 * gates * 6), L=None, h=(d, 3, 6), c=(d, 3, 6))
    given = {n: np.array([0, 4, 2], np.int32) if n == "L" else r.standard_normal(s).astype(F32) for n, s in shapes.items() if n != "c" or op == "LSTM"}
    outputs = ["Y", "Yh", "Yc"][:3 if op == "LSTM" else 2]
    model = model_of([node(op, list(given), outputs, hidden_size=6, direction=direction)], given, outputs)
    for got, want in zip(run(model, given.values(), tmp_path)[0], peer(model, given)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_not_a_number(tmp_path):
    """NaN is the largest, and the smallest; equal numbers keep their order"""
    nan = np.nan
    x = np.array([[1, nan, 3, nan, 2], [5, 4, 5, -1, 0]], F32)
    nodes = [node("MaxPool", ["image"], ["pool"], kernel_shape=[1, 3]), node("ArgMax", ["x"], ["most"], axis=1, keepdims=0), node("ArgMin", ["x"], ["least"], axis=1, keepdims=0),
             node("TopK", ["x", "k"], ["values", "places"], axis=1), node("Reshape", ["x", "shape"], ["image"])]
    nodes = [nodes[-1], *nodes[:-1]]
    constants = {"k": np.array([3], I64), "shape": np.array([1, 1, 2, 5], I64)}
    (pool, most, least, values, places), _ = run(model_of(nodes, {"x": x}, ["pool", "most", "least", "values", "places"], constants), [x], tmp_path)
    np.testing.assert_array_equal(pool[0, 0], [[nan, nan, nan], [5, 5, 5]])
    assert most.tolist() == [1, 0] and least.tolist() == [1, 3] and places.tolist() == [[1, 3, 2], [0, 2, 1]]
    np.testing.assert_array_equal(values, [[nan, nan, 3], [5, 5, 4]])


@pytest.mark.parametrize("kernel, stride, extent", [(2, 3, 5), (1, 2, 7)])
def test_transposed_same(kernel, stride, extent, tmp_path):
    """auto_pad SAME with a kernel smaller than the stride: the extent is that of the text, input times stride"""
    r = np.random.default_rng(kernel)
    given = {"x": r.standard_normal((1, 2, extent)).astype(F32)}
    model = model_of([node("ConvTranspose", ["x", "w"], ["y"], kernel_shape=[kernel], strides=[stride], auto_pad="SAME_UPPER")], given, ["y"],
                     {"w": r.standard_normal((2, 1, kernel)).astype(F32)})
    assert run(model, given.values(), tmp_path)[0][0].shape == (1, 1, extent * stride)


def test_division_by_zero_is_said(tmp_path):
    x = np.array([6, -7], np.int32)
    model = model_of([node("Div", ["x", "zero"], ["y"])], {"x": x}, ["y"], {"zero": np.array(0, np.int32)})
    (got,), said = run(model, [x], tmp_path)
    assert got.tolist() == [0, 0] and "warning" in said and "0" in said
