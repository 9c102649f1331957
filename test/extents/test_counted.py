# SPDX-License-Identifier: MIT
"""Extents that a run's data say: results come back at their true extents, as onnxruntime has them."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models", "extents")]
import detector as detector_network  # noqa: E402
import dnncc  # noqa: E402
import processor  # noqa: E402

F32, I64, BOOL, I32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TARGETS = [t for t in ("generic", "x86-64-v3", "x86-64-v4") if processor.has(t)]
node = helper.make_node


def saved(path, nodes, inputs, outputs, constants={}, opset=18, infos={}):
    """inputs and outputs: {name: (type, shape)}"""
    ports = [[helper.make_tensor_value_info(name, *spec) for name, spec in ports.items()] for ports in (inputs, outputs, infos)]
    initializers = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports[0], ports[1], initializers, value_info=ports[2]),
                                opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
    return path


def compared(model, folder, runs, *options, seed=0, exact=True):
    """the model's C, under sanitizers, and onnxruntime on each of `runs`, lists of arrays; returns what the last gave"""
    folder = folder / "c"
    folder.mkdir()
    dnncc.compile_model(model, folder, [f"--target={TARGETS[seed % len(TARGETS)]}", *options])
    program = dnncc.build_host(folder, SANITIZED)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for inputs in ([np.asarray(a) for a in run] for run in runs):
        want = session.run(None, dict(zip((i.name for i in session.get_inputs()), inputs)))
        got = dnncc.run_host(program, inputs)
        for w, g in zip(want, got, strict=True):
            assert g.shape == w.shape and g.dtype == w.dtype
            (np.testing.assert_array_equal if exact else lambda g, w: np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-6))(g, w)
    return want


def sparse(rng, shape, share):
    return np.where(rng.random(shape) < share, rng.standard_normal(shape), 0).astype(np.float32)


# ---- operators ----

@pytest.mark.parametrize("seed, shape", list(enumerate([[17], [3, 4], [2, 5, 3], [1, 1, 1], [2, 3, 1, 4]])))
def test_non_zero(seed, shape, tmp_path):
    """nothing, all, and some"""
    rng = np.random.default_rng(seed)
    model = saved(tmp_path / "m.onnx", [node("NonZero", ["x"], ["y"])], {"x": (F32, shape)}, {"y": (I64, [len(shape), "K"])})
    compared(model, tmp_path, [[sparse(rng, shape, share)] for share in (0, 1, 0.5, 0.2)], seed=seed)


@pytest.mark.parametrize("seed, axis", list(enumerate([None, 0, 1, -1])))
def test_compress(seed, axis, tmp_path):
    rng = np.random.default_rng(seed)
    shape, count = [4, 6, 3], {None: 60, 0: 4, 1: 5, -1: 3}[axis]
    model = saved(tmp_path / "m.onnx", [node("Compress", ["x", "c"], ["y"], **({} if axis is None else {"axis": axis}))],
                  {"x": (F32, shape), "c": (BOOL, [count])}, {"y": (F32, None)})
    compared(model, tmp_path, [[sparse(rng, shape, 1), rng.random(count) < share] for share in (0, 1, 0.5)], seed=seed)


@pytest.mark.parametrize("seed, axis, is_sorted", [(0, None, 1), (1, None, 0), (2, 0, 1), (3, 1, 0), (4, 1, 1)])
def test_unique(seed, axis, is_sorted, tmp_path):
    """all outputs; all equal, all different, and some equal"""
    rng = np.random.default_rng(seed)
    shape = [3, 5] if axis is not None else [11]
    attributes = {"sorted": is_sorted, **({} if axis is None else {"axis": axis})}
    model = saved(tmp_path / "m.onnx", [node("Unique", ["x"], ["y", "first", "group", "counts"], **attributes)], {"x": (F32, shape)},
                  {"y": (F32, None), "first": (I64, ["K"]), "group": (I64, None), "counts": (I64, ["K"])})
    compared(model, tmp_path, [[rng.integers(0, most, shape).astype(np.float32)] for most in (1, 2, 3, 1000)], seed=seed)


@pytest.mark.parametrize("seed, axis, largest, element", [(0, 0, 1, np.float32), (1, 1, 0, np.float32), (2, -1, 1, np.int32), (3, 1, 0, np.uint8)])
def test_top_k(seed, axis, largest, element, tmp_path):
    rng = np.random.default_rng(seed)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    model = saved(tmp_path / "m.onnx", [node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest)], {"x": (kind, [4, 7, 5]), "k": (I64, [1])},
                  {"y": (kind, None), "i": (I64, None)})
    compared(model, tmp_path, [[rng.integers(0, 50, (4, 7, 5)).astype(element), np.array([k])] for k in (0, 1, 3, [4, 7, 5][axis])], seed=seed)


def test_top_k_of_kept(tmp_path):
    """of as many as there are, at most four: by a term"""
    rng = np.random.default_rng(0)
    nodes = [node("Compress", ["x", "c"], ["kept"], axis=0), node("Shape", ["kept"], ["n"]), node("Concat", ["n", "four"], ["both"], axis=0),
             node("ReduceMin", ["both"], ["k"], keepdims=1), node("TopK", ["kept", "k"], ["y", "i"], axis=0)]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [9]), "c": (BOOL, [9])}, {"y": (F32, None), "i": (I64, None)}, {"four": [4]}, opset=17)
    compared(model, tmp_path, [[rng.permutation(9).astype(np.float32) - 12, rng.random(9) < share] for share in (0, 0.2, 0.5, 1)])


@pytest.mark.parametrize("seed, center", [(0, 0), (1, 1)])
def test_non_max_suppression(seed, center, tmp_path):
    rng = np.random.default_rng(seed)
    model = saved(tmp_path / "m.onnx", [node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "low"], ["y"], center_point_box=center)],
                  {"boxes": (F32, [2, 12, 4]), "scores": (F32, [2, 3, 12]), "most": (I64, [1]), "iou": (F32, [1]), "low": (F32, [1])}, {"y": (I64, ["K", 3])})
    runs = []
    for most, iou, low in (5, 0.4, 0.3), (0, 0.5, 0), (12, 1, -1), (3, 0.1, 2), (12, 0.3, 0.5):
        at = rng.random((2, 12, 2)) * 3
        boxes = np.concatenate([at, rng.random((2, 12, 2)) + 0.5 if center else at + rng.random((2, 12, 2)) + 0.5], 2)
        scores = rng.permutation(72).reshape(2, 3, 12) / 72
        runs.append([boxes.astype(np.float32), scores.astype(np.float32), np.array([most]), np.array([iou], np.float32), np.array([low], np.float32)])
    compared(model, tmp_path, runs, seed=seed)


def test_slice(tmp_path):
    """starts, ends and steps of any sign, within the extents and far beyond them"""
    rng = np.random.default_rng(0)
    model = saved(tmp_path / "m.onnx", [node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])],
                  {"x": (F32, [4, 7, 5]), "starts": (I64, [2]), "ends": (I64, [2]), "steps": (I64, [2])}, {"y": (F32, None)}, {"axes": [-1, 1]})
    far = [2**63 - 1, -2**63]
    runs = [[rng.random((4, 7, 5), np.float32), *(rng.integers(-9, 10, 2) for _ in range(2)), rng.choice([-7, -3, -2, -1, 1, 2, 3, 7], 2)] for _ in range(40)]
    runs += [[runs[0][0], np.array([0, -1]), np.array([far[0], far[1]]), np.array([1, -1])], [runs[0][0], np.array([1, 0]), np.array([2, 0]), np.array([1, 1])]]
    compared(model, tmp_path, runs)


@pytest.mark.parametrize("element", [np.float32, np.int64, np.int32])
def test_range(element, tmp_path):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    model = saved(tmp_path / "m.onnx", [node("Range", ["start", "limit", "delta"], ["y"])], {name: (kind, []) for name in ("start", "limit", "delta")},
                  {"y": (kind, ["steps"])})
    numbers = [(0, 10, 1), (5, 5, 1), (5, 2, 1), (7, -3, -2), (-3, 8, 4), (0, 30, 1), (1, 2, 7)]
    compared(model, tmp_path, [[element(x) for x in n] for n in numbers], "--dim=steps=0..30")
    with pytest.raises(AssertionError, match="returned -4"):
        dnncc.run_host(tmp_path / "c" / "host", [element(x) for x in (0, 31, 1)])


def test_shapes_of_a_run(tmp_path):
    """ConstantOfShape, Expand, Tile and Pad by amounts that inputs say, each bounded by the name of its extent"""
    nodes = [node("Concat", ["n", "three"], ["shape"], axis=0), node("ConstantOfShape", ["shape"], ["c"], value=helper.make_tensor("v", F32, [1], [2.5])),
             node("Expand", ["x", "shape"], ["e"]), node("Tile", ["x", "repeats"], ["t"]), node("Pad", ["x", "pads", "value"], ["p"], mode="constant")]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [1, 3]), "n": (I64, [1]), "repeats": (I64, [2]), "pads": (I64, [4])},
                  {"c": (F32, ["C", 3]), "e": (F32, ["E", 3]), "t": (F32, ["T", "S"]), "p": (F32, ["P", "Q"])}, {"three": [3], "value": np.float32(7)})
    rng = np.random.default_rng(0)
    runs = [[rng.random((1, 3), np.float32), np.array([n]), np.array(r), np.array(p)] for n, r, p in
            ((1, (1, 1), (0, 0, 0, 0)), (4, (3, 2), (1, 2, 3, 0)), (9, (0, 4), (0, -1, 2, 1)))]
    compared(model, tmp_path, runs, *(f"--dim={name}=0..12" for name in "CETSPQ"))


def test_split(tmp_path):
    rng = np.random.default_rng(0)
    model = saved(tmp_path / "m.onnx", [node("Split", ["x", "sizes"], ["a", "b", "c"], axis=1)], {"x": (F32, [2, 7, 3]), "sizes": (I64, [3])},
                  {name: (F32, None) for name in "abc"})
    compared(model, tmp_path, [[rng.random((2, 7, 3), np.float32), np.array(sizes)] for sizes in ((7, 0, 0), (2, 3, 2), (0, 1, 6))])


def test_a_number_is_counted_once(tmp_path):
    """elements of one input, by whatever moves they come, are one extent: what they shape is added, multiplied, reshaped"""
    nodes = [node("Split", ["size"], ["n", "h", "w"], num_outputs=3), node("Concat", ["h", "w"], ["hw"], axis=0), node("ConstantOfShape", ["hw"], ["c"]),
             node("Slice", ["size", "one", "two"], ["again"]), node("Range", ["zero", "again", "step"], ["rows"]), node("Gather", ["size", "last"], ["width"]),
             node("Range", ["zero", "width", "step"], ["columns"]), node("Cast", ["rows"], ["r"], to=F32), node("Cast", ["columns"], ["k"], to=F32),
             node("Unsqueeze", ["r", "one"], ["r1"]), node("Add", ["c", "r1"], ["cr"]), node("Mul", ["cr", "k"], ["table"]), node("Add", ["table", "k"], ["sum"]),
             node("Reshape", ["sum", "all"], ["line"]), node("MatMul", ["x", "to3"], ["x3"]), node("Unsqueeze", ["line", "zeros"], ["l1"]),
             node("Unsqueeze", ["x3", "two"], ["x1"]), node("Mul", ["x1", "l1"], ["big"]), node("Concat", ["n", "three1", "h", "w"], ["shape"], axis=0), node("Reshape", ["big", "shape"], ["y"])]
    constants = {"one": [1], "two": [2], "zero": 0, "step": 1, "last": 2, "all": [-1], "zeros": [0, 1], "three1": [3], "to3": np.arange(12, dtype=np.float32).reshape(4, 3)}
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [2, 4]), "size": (I64, [3])}, {"y": (F32, None)}, constants)
    x = np.random.default_rng(0).random((2, 4), np.float32)
    text = dnncc.run([dnncc.DNNCC, model, "--dim=c_count=0..6", "--emit=ir", "-O0", "-o", "-"]).stdout
    compared(model, tmp_path, [[x, np.array([2, h, w])] for h, w in ((1, 1), (5, 3), (0, 4), (6, 6))], "--dim=c_count=0..6", exact=False)
    assert text.count("] counted") == 3, text       # rows, columns, and that there are two
    program = tmp_path / "c" / "host"
    for wrong in ([3, 2, 2], [1, 2, 2], [-2, 2, 2], [2, 7, 1], [2, -1, 1]):
        with pytest.raises(AssertionError, match="returned -[0-9]"):
            dnncc.run_host(program, [x, np.array(wrong)])


def test_extents_of_an_iteration_and_of_a_branch(tmp_path):
    """parts of values whose extents the body of a loop, and a branch in it, say; what becomes of them has none of these"""
    inner = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (("a", F32, []), ("b", F32, []))]
    then = helper.make_graph([node("Slice", ["x", "zeros", "ends"], ["part"]), node("ReduceSum", ["part"], ["a"], keepdims=0)], "then", [], inner[:1])
    els = helper.make_graph([node("Slice", ["x", "ends", "most"], ["rest"]), node("ReduceMax", ["rest"], ["b"], keepdims=0)], "else", [], inner[1:])
    body = helper.make_graph([node("Identity", ["go"], ["again"]), node("Unsqueeze", ["i", "zeros"], ["ends"]), node("Mod", ["i", "two"], ["odd"]), node("Cast", ["odd"], ["c"], to=BOOL),
                              node("If", ["c"], ["s"], then_branch=then, else_branch=els), node("Slice", ["x", "ends", "most"], ["tail"]), node("Mul", ["tail", "tail"], ["square"]),
                              node("ReduceSum", ["square"], ["t"], keepdims=0), node("Add", ["s", "t"], ["st"]), node("Add", ["h", "st"], ["next"])], "body",
                             [helper.make_tensor_value_info(*v) for v in (("i", I64, []), ("go", BOOL, []), ("h", F32, []))],
                             [helper.make_tensor_value_info(*v) for v in (("again", BOOL, []), ("next", F32, []), ("st", F32, []))])
    model = saved(tmp_path / "m.onnx", [node("Loop", ["n", "", "h0"], ["y", "rows"], body=body)], {"x": (F32, [6]), "n": (I64, [])}, {"y": (F32, []), "rows": (F32, ["R"])},
                  {"zeros": [0], "two": 2, "most": [6], "h0": np.float32(0)})
    x = np.random.default_rng(0).random(6, np.float32)
    compared(model, tmp_path, [[x, np.array(n)] for n in (0, 1, 4, 6)], "--dim=R=0..6", exact=False)


def loop_model(path, trip, condition):
    """h = h * x + 1 in iterations until its sum is above a limit; h, and a stack of h and of the numbers"""
    inner = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in
             (("i", I64, []), ("c", BOOL, []), ("h", F32, [3]), ("next", BOOL, []), ("h2", F32, [3]), ("row", F32, [3]), ("number", I64, []))]
    body = helper.make_graph([node("Mul", ["h", "x"], ["hx"]), node("Add", ["hx", "one"], ["h2"]), node("ReduceSum", ["h2"], ["sum"], keepdims=0),
                              node("Less", ["sum", "limit"], ["next"]) if condition else node("Identity", ["c"], ["next"]),
                              node("Identity", ["h2"], ["row"]), node("Identity", ["i"], ["number"])], "body", inner[:3], inner[3:])
    inputs = {"x": (F32, [3]), "limit": (F32, []), **({"trip": (I64, [])} if trip is None else {})}
    constants = {"one": np.float32(1), "h0": np.zeros(3, np.float32), **({} if trip is None else {"trip": np.int64(trip)})}
    return saved(path, [node("Loop", ["trip", "", "h0"], ["h_end", "rows", "numbers"], body=body), node("Exp", ["rows"], ["y"]),
                        node("ReduceSum", ["numbers"], ["total"], keepdims=0)], inputs,
                 {"h_end": (F32, [3]), "y": (F32, ["steps", 3]), "total": (I64, [])}, constants)


@pytest.mark.parametrize("seed, trip, options", [(0, 10, []), (1, 1, []), (2, 0, []), (3, None, ["--dim=rows_count=0..20"])])
def test_loop_that_ends_early(seed, trip, options, tmp_path):
    model = loop_model(tmp_path / "m.onnx", trip, True)
    x = np.array([0.5, 1.1, 0.9], np.float32)
    runs = [[x, np.float32(limit), *([np.int64(t)] if trip is None else [])] for limit in (-5, 4, 12, 1e9) for t in ((0, 7, 20) if trip is None else (0,))]
    compared(model, tmp_path, runs, *options, seed=seed, exact=False)


def test_loop_of_many_steps(tmp_path):
    """more iterations than --dim allows are an error of the run; a trip that an input says is one of the compiler without a bound"""
    model = loop_model(tmp_path / "m.onnx", None, False)
    done = dnncc.run([dnncc.DNNCC, model, "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "--dim rows_count=0..512" in done.stderr, done.stderr
    proto = onnx.load(model)
    proto.graph.value_info.append(helper.make_tensor_value_info("rows", F32, ["steps", 3]))
    onnx.save(proto, model)
    x = np.array([0.5, 1.1, 0.9], np.float32)
    compared(model, tmp_path, [[x, np.float32(0), np.int64(t)] for t in (0, 1, 6)], "--dim=steps=0..6", exact=False)
    with pytest.raises(AssertionError, match="returned -4"):
        dnncc.run_host(tmp_path / "c" / "host", [x, np.float32(0), np.int64(7)])


def test_bound_of_ports(tmp_path):
    """an extent between ports whose shapes are declared is bounded by the largest of these, with a warning; a run that finds more is an error"""
    nodes = [node("Pad", ["x", "pads"], ["wide"]), node("ReduceSum", ["wide"], ["y"], keepdims=0)]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [4]), "pads": (I64, [2]), "z": (F32, [7])}, {"y": (F32, [])}, {})
    done = dnncc.run([dnncc.DNNCC, model, "-o", tmp_path / "m.c"])
    assert done.returncode == 0 and "at most 7 is allowed" in done.stderr and "--dim wide_count=0..14" in done.stderr, done.stderr
    x, z = np.arange(4, dtype=np.float32), np.zeros(7, np.float32)
    compared(model, tmp_path, [[x, np.array(pads, np.int64), z] for pads in ([0, 0], [2, 1], [-1, -2])], exact=False)
    with pytest.raises(AssertionError, match="returned -4"):
        dnncc.run_host(tmp_path / "c" / "host", [x, np.array([4, 4], np.int64), z])
    open_result = saved(tmp_path / "o.onnx", nodes[:1], {"x": (F32, [4]), "pads": (I64, [2])}, {"wide": (F32, ["W"])}, {})
    done = dnncc.run([dnncc.DNNCC, open_result, "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "--dim W=0..512" in done.stderr, done.stderr


def test_loop_over_kept_rows(tmp_path):
    """a loop with an iteration for each row that Compress keeps"""
    inner = [helper.make_tensor_value_info(*spec) for spec in (("i", I64, []), ("c", BOOL, []), ("sum", F32, [4]), ("c2", BOOL, []), ("sum2", F32, [4]), ("row", F32, [4]))]
    body = helper.make_graph([node("Identity", ["c"], ["c2"]), node("Gather", ["kept", "i"], ["one"], axis=0), node("Add", ["one", "sum"], ["sum2"]),
                              node("Tanh", ["sum2"], ["row"])], "body", inner[:3], inner[3:])
    nodes = [node("Compress", ["x", "keep"], ["kept"], axis=0), node("Shape", ["kept"], ["n"], end=1), node("Squeeze", ["n", "zero"], ["trip"]),
             node("Loop", ["trip", "", "start"], ["total", "rows"], body=body)]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [9, 4]), "keep": (BOOL, [9])}, {"total": (F32, [4]), "rows": (F32, ["K", 4])},
                  {"zero": [0], "start": np.zeros(4, np.float32)})
    rng = np.random.default_rng(0)
    compared(model, tmp_path, [[rng.standard_normal((9, 4), np.float32), rng.random(9) < share] for share in (0, 0.3, 1)], exact=False)


def test_many(tmp_path):
    """as many counted extents as a program may have, and one more"""
    for count, code in ((256, 0), (257, dnncc.UNSUPPORTED)):
        nodes = [node("NonZero", ["x"], [f"v{k}"]) for k in range(count)]
        model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [2])}, {f"v{k}": (I64, [1, f"K{k}"]) for k in range(count)})
        done = dnncc.run([dnncc.DNNCC, model, "-o", tmp_path / "m.c", "-O0"])
        assert done.returncode == code and ("too many" in done.stderr) == (code != 0), done.stderr[:500]


def test_branches_of_other_shapes(tmp_path):
    def branch(name, nodes, shape):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", F32, shape)])
    branches = {"then_branch": branch("a", [node("Concat", ["x", "x"], ["xx"], axis=0), node("Neg", ["xx"], ["a_y"])], [6, 4]),
                "else_branch": branch("b", [node("Slice", ["x", "zero", "two", "one"], ["b_y"])], [3, 2])}
    model = saved(tmp_path / "m.onnx", [node("If", ["c"], ["y"], **branches), node("Softmax", ["y"], ["z"], axis=0)],
                  {"c": (BOOL, []), "x": (F32, [3, 4])}, {"y": (F32, None), "z": (F32, None)}, {"zero": [0], "one": [1], "two": [2]})
    x = np.random.default_rng(0).random((3, 4), np.float32)
    compared(model, tmp_path, [[np.bool_(c), x] for c in (True, False)], exact=False)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL1"])
def test_axes_of_a_run(op, tmp_path):
    model = saved(tmp_path / "m.onnx", [node(op, ["x", "axes"], ["y"], keepdims=1)], {"x": (F32, [3, 4, 5]), "axes": (I64, [2])}, {"y": (F32, None)})
    x = np.random.default_rng(0).standard_normal((3, 4, 5), np.float32)
    compared(model, tmp_path, [[x, np.array(axes)] for axes in ((0, 1), (2, 0), (-1, -2))], exact=False)


def test_then(tmp_path):
    """later operations run to the extent: products, reductions, softmax, a second count, another one's terms"""
    rng = np.random.default_rng(1)
    nodes = [node("Compress", ["x", "c"], ["rows"], axis=0), node("MatMul", ["rows", "w"], ["h"]), node("Softmax", ["h"], ["y"], axis=0),
             node("ReduceSum", ["h"], ["s"], keepdims=0), node("Greater", ["h", "s"], ["above"]), node("NonZero", ["above"], ["where"]),
             node("Transpose", ["where"], ["pairs"], perm=[1, 0]), node("Concat", ["h", "x5", "h"], ["all"], axis=0),
             node("Shape", ["where"], ["n"])]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, [19, 8]), "c": (BOOL, [19]), "x5": (F32, [3, 5])},
                  {"y": (F32, ["K", 5]), "s": (F32, []), "pairs": (I64, ["M", 2]), "all": (F32, ["T", 5]), "n": (I64, [2])},
                  {"w": rng.standard_normal((8, 5), np.float32)})
    for seed, target in enumerate(TARGETS):
        (tmp_path / target).mkdir()
        compared(model, tmp_path / target, [[rng.standard_normal((19, 8), np.float32), rng.random(19) < share, rng.random((3, 5), np.float32)]
                                            for share in (0, 1, 0.5)], seed=seed, exact=False)


def test_of_a_length(tmp_path):
    """of an input whose length the caller gives"""
    rng = np.random.default_rng(2)
    nodes = [node("NonZero", ["x"], ["y"]), node("Compress", ["x", "c"], ["z"], axis=0)]
    model = saved(tmp_path / "m.onnx", nodes, {"x": (F32, ["N", 5]), "c": (BOOL, ["N"])}, {"y": (I64, [2, "K"]), "z": (F32, ["M", 5])})
    compared(model, tmp_path, [[sparse(rng, (n, 5), share), rng.random(n) < share] for n in (0, 1, 7, 12) for share in (0, 0.5, 1)], "--dim=N=0..12")


ROWS = {"x": (F32, ["N", 6]), "i": (I64, ["N"]), "image": (F32, [2, 4, 16, 16]), "regions": (F32, ["N", 4]), "at": (I64, ["N", 1])}
CONSTANTS = {"table": np.zeros((50, 6), np.float32), "depth": np.array(7), "off_on": np.array([0, 1], np.float32), "one": [1], "two": [2], "three": [3], "last": [-1],
             "first": [-2**62], "zero": [0], "twice": [2, 3]}


@pytest.mark.parametrize("element, made", [
    (F32, node("RoiAlign", ["image", "regions", "i"], ["y"], output_height=3, output_width=2, sampling_ratio=2)), (F32, node("ScatterND", ["table", "at", "x"], ["y"])),
    (F32, node("OneHot", ["i", "depth", "off_on"], ["y"])), (F32, node("Tile", ["x", "twice"], ["y"])), (F32, node("Slice", ["x", "two", "three"], ["y"])),
    (F32, node("Slice", ["x", "last", "first", "zero", "last"], ["y"])), (F32, node("Slice", ["x", "one", "last", "zero", "two"], ["y"])),
    (F32, node("GatherND", ["table", "at"], ["y"])),
], ids=lambda x: x.op_type if isinstance(x, onnx.NodeProto) else "")
def test_rows(element, made, tmp_path):
    """operators on as many rows as a run has"""
    rng = np.random.default_rng(0)
    inputs = {name: ROWS[name] for name in made.input if name in ROWS}
    model = saved(tmp_path / "m.onnx", [made], inputs, {"y": (element, None)}, {name: CONSTANTS[name] for name in made.input if name in CONSTANTS})
    runs = []
    for n in 1, 5, 12:
        arrays = {"x": rng.random((n, 6), np.float32), "i": rng.integers(0, 2, n), "image": rng.random((2, 4, 16, 16), np.float32),
                  "regions": np.concatenate([rng.random((n, 2)) * 8, rng.random((n, 2)) * 8 + 8], 1).astype(np.float32), "at": rng.permutation(50)[:n, None]}
        runs.append([arrays[name] for name in inputs])
    compared(model, tmp_path, runs, "--dim=N=0..12", exact=False)


# ---- the other ways to run, texts, errors ----

def detector(path):
    nodes = [node("Greater", ["scores", "low"], ["above"]), node("Compress", ["boxes", "above"], ["kept"], axis=0), node("Exp", ["kept"], ["y"])]
    return saved(path, nodes, {"boxes": (F32, [9, 4]), "scores": (F32, [9])}, {"y": (F32, ["kept", 4])}, {"low": np.float32(0.5)})


def data_set(folder, rng, above):
    folder.mkdir()
    boxes, scores = rng.random((9, 4), np.float32), np.where(np.arange(9) < above, 1, 0).astype(np.float32)
    for k, array in enumerate((boxes, scores)):
        np.save(folder / f"input_{k}.npy", array)
    np.save(folder / "output_0.npy", np.exp(boxes[:above]))
    return folder


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [[], ["-O0"], ["--cc=cc -O1"], ["--threads=2", "--cc=cc -O1"], ["--goal=memory"], ["--exact", "--target=x86-64-v3"],
                                     ["--target=generic,x86-64-v3", "--cc=cc -O1"], ["--target=aarch64"], ["--flush-denormals", "--target=x86-64"]])
def test_test(options, tmp_path):
    """--test, in the interpreter and compiled, takes the extents that the run tells; --run writes arrays of them"""
    rng, model = np.random.default_rng(0), detector(tmp_path / "m.onnx")
    sets = [data_set(tmp_path / f"d{n}", rng, n) for n in (0, 4, 9)]
    done = dnncc.run([dnncc.DNNCC, model, *(f"--test={s}" for s in sets), *options])
    assert done.returncode == 0 and "16 elements equal" in done.stdout, done.stderr
    np.save(sets[1] / "output_0.npy", np.zeros((5, 4), np.float32))
    done = dnncc.run([dnncc.DNNCC, model, f"--test={sets[1]}", *options])
    assert done.returncode != 0 and "<4 x 4 x f32>" in done.stderr, done.stderr
    done = dnncc.run([dnncc.DNNCC, model, f"--run={sets[0]}", *options])
    assert done.returncode == 0 and np.load(sets[0] / "output_0.npy").shape == (0, 4)


def test_texts(tmp_path):
    """the texts of both IRs read back, and give the same C"""
    model = detector(tmp_path / "m.onnx")
    first = dnncc.run([dnncc.DNNCC, model, "-o", "-"]).stdout
    for emit in "ir", "loops":
        text = tmp_path / f"m.{emit}"
        assert dnncc.run([dnncc.DNNCC, model, f"--emit={emit}", "-o", text]).returncode == 0
        assert ("symbol kept_count in [0, 9] counted" if emit == "ir" else "extent %kept_count \"kept_count\" in [0, 9] counted") in text.read_text()
        again = dnncc.run([dnncc.DNNCC, text, "-o", "-"])
        assert again.returncode == 0 and again.stdout == first, again.stderr
    assert "int64_t *kept_count" in first and "*kept_count = extent_kept_count;" in first


def test_check(tmp_path):
    """--check compares outputs at the extents that both states tell"""
    for target in TARGETS:
        done = dnncc.run([dnncc.DNNCC, detector(tmp_path / "m.onnx"), "--check", f"--target={target}", "-o", tmp_path / "m.c"])
        assert done.returncode == 0 and "skipped" not in done.stderr, done.stderr


@pytest.mark.parametrize("option, words", [("--target=cuda-sm_90", "'kept_count'"), ("--emit=onnx", "'kept_count'")])
def test_not_yet(option, words, tmp_path):
    done = dnncc.run([dnncc.DNNCC, detector(tmp_path / "m.onnx"), option, "-o", tmp_path / ("m.cu" if "cuda" in option else "m.c")])
    assert done.returncode == dnncc.UNSUPPORTED and words in done.stderr, done.stderr


# ---- networks ----

@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(TARGETS)))
def test_detector(seed, tmp_path):
    """with no box, some, and as many as there may be"""
    model = detector_network.save(tmp_path / "m.onnx", seed=seed)
    image = np.random.default_rng(seed).random((1, 3, 64, 64), np.float32)
    compared(model, tmp_path, [[image, np.array([low], np.float32)] for low in (2, 0.8, 0.6, 0.5, 0)], seed=seed, exact=False)


class Chain:
    """operations on [?, 6], each of which may keep some rows, or repeat some, of what was there before"""
    def __init__(self, seed):
        self.rng, self.nodes, self.constants = np.random.default_rng(seed), [], {}

    def constant(self, array):
        self.constants[f"c{len(self.constants)}"] = array
        return f"c{len(self.constants) - 1}"

    def node(self, op, inputs, count=1, **attributes):
        outputs = [f"v{len(self.nodes)}_{k}" for k in range(count)]
        self.nodes.append(node(op, [x if isinstance(x, str) else self.constant(x) for x in inputs], outputs, **attributes))
        return outputs[0] if count == 1 else outputs

    def mapped(self, x): return self.node(self.rng.choice(["Relu", "Tanh", "Neg"]), [x])
    def product(self, x): return self.node("MatMul", [x, self.rng.standard_normal((6, 6)).astype(np.float32) / 3])
    def shared(self, x): return self.node("Softmax", [x], axis=int(self.rng.integers(2)))
    def doubled(self, x): return self.node("Concat", [x, self.node("Neg", [x])], axis=0) if self.rng.random() < 0.3 else x
    def less(self, x): return self.node("Sub", [x, self.node("ReduceMean", [x, np.array([0])], keepdims=1)])

    def kept(self, x):
        large = self.node("Greater", [self.node("ReduceMax", [x, np.array([1])], keepdims=0), np.float32(self.rng.choice([-0.2, 0.1, 0.3]))])
        return self.node("Compress", [x, large], axis=0)

    def found(self, x):
        rows = self.node("Gather", [self.node("NonZero", [self.node("Greater", [x, np.float32(0.2)])]), np.int64(0)], axis=0)
        return self.node("Gather", [x, rows], axis=0) if self.rng.random() < 0.3 else x

    def best(self, x):
        column = self.node("Gather", [x, np.int64(self.rng.integers(6))], axis=1)
        count = self.node("Min", [self.node("Shape", [column]), np.array([int(self.rng.integers(1, 9))])])
        return self.node("Gather", [x, self.node("TopK", [column, count], 2, axis=0, largest=int(self.rng.integers(2)))[1]], axis=0)

    def attended(self, x):
        shares = self.node("Softmax", [self.node("MatMul", [x, self.node("Transpose", [x], perm=[1, 0])])], axis=-1)
        return self.node("MatMul", [shares, x])

    def save(self, path, length, rows):
        x, outputs = "x", {}
        steps = [self.mapped, self.product, self.shared, self.doubled, self.less, self.kept, self.found, self.best, self.attended]
        for k in range(length):
            x = self.kept(x) if k == 1 else self.rng.choice(steps)(x)
            if self.rng.random() < 0.3 and x != "x":
                outputs[x] = F32, None
        x = self.node("Identity", [x])
        return saved(path, self.nodes, {"x": (F32, [rows, 6])}, {**outputs, x: (F32, None)}, self.constants)


@pytest.mark.sample(24)
@pytest.mark.parametrize("seed", range(80))
def test_random(seed, tmp_path):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 7, 16, 17, 40]))
    model = Chain(seed).save(tmp_path / "m.onnx", 9, "N" if seed % 2 else n)
    sizes = (0, 1, n) if seed % 2 else (n,)
    runs = [[(rng.standard_normal((size, 6)) * scale).astype(np.float32)] for size in sizes for scale in (0, 0.3, 1)]
    compared(model, tmp_path, runs, *([f"--dim=N=0..{n}"] if seed % 2 else []), *(["--exact"] if seed % 3 == 0 else []), seed=seed, exact=False)


@pytest.mark.parametrize("old, new, says", [
    ("set %kept_count = index(max(", "set %kept_count = index(min(", "may leave its bounds"), (" counted\n", "\n", "not a var"), ("in [0, 9] counted", "counted", "want the bounds"),
    ("in [0, 9] counted", "in [0, 8] counted", "may leave its bounds"),
])
def test_hostile_loops(old, new, says, tmp_path):
    text = tmp_path / "m.loops"
    assert dnncc.run([dnncc.DNNCC, detector(tmp_path / "m.onnx"), "--emit=loops", "-o", text]).returncode == 0
    assert old in text.read_text(), text.read_text()[-600:]
    text.write_text(text.read_text().replace(old, new))
    done = dnncc.run([dnncc.DNNCC, text, "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.INVALID and says in done.stderr, done.stderr


def test_long_names(tmp_path):
    """of extents, which begin alike, are cut to identifiers that differ"""
    names = ["rows_of_the_first_of_several_operands_" + end for end in ("left", "right", "other")]
    ports = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [name, 3]) for i, name in enumerate(names)]
    y = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [name, 3]) for i, name in enumerate(names)]
    nodes = [helper.make_node("Softmax", [f"x{i}"], [f"y{i}"], axis=0) for i in range(3)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports, y), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", *(f"--dim={name}=1..9" for name in names), "-o", tmp_path / "m.c"], timeout=60)
    assert done.returncode == 0, done.stderr
