# SPDX-License-Identifier: MIT
"""Convolutions by tensor cores (engines/grid/contract_warps.c): nothing gathered in memory, borders as zeros of the copies. Whole numbers, whose
sums f32 holds and whose parts are exact, so that any order of them is the same; and floats within their bound."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

# x, weights, attributes; by: kernels that multiply by units. Where several convolutions stand in a row, the last reads what the first made.
CASES = {
    "plain": ((1, 32, 9, 10), (64, 32, 3, 3), {"pads": [1, 1, 1, 1]}, 1),
    "strides": ((2, 16, 12, 11), (24, 16, 3, 3), {"pads": [1, 0, 1, 2], "strides": [2, 2]}, 1),
    "no border": ((2, 32, 9, 10), (64, 32, 3, 3), {"strides": [1, 2]}, 1),
    "dilations": ((1, 48, 9, 9), (16, 48, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}, 1),
    "image": ((1, 3, 16, 16), (16, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}, 1),
    "odd channels": ((1, 24, 7, 7), (40, 24, 1, 1), {}, 1),
    "wide window": ((1, 16, 5, 30), (32, 16, 1, 7), {"pads": [0, 3, 0, 3]}, 1),
    "line": ((1, 32, 33), (32, 32, 5), {"pads": [2, 2]}, 1),
    "volume": ((1, 16, 4, 5, 6), (16, 16, 3, 3, 3), {"pads": [1] * 6}, 1),
    "groups": ((1, 64, 8, 8), (64, 16, 3, 3), {"pads": [1, 1, 1, 1], "group": 4}, 1),
    "groups of blocks that are no words": ((1, 40, 8, 8), (32, 20, 3, 3), {"pads": [1, 1, 1, 1], "group": 2}, 0),
    "depthwise": ((1, 32, 8, 8), (32, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 32}, 0),
    "images whose tiles go on": ((5, 32, 7, 7), (48, 32, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 1]}, 1),
    "groups of images": ((3, 64, 5, 5), (64, 16, 3, 3), {"pads": [1, 1, 1, 1], "group": 4}, 1),
    "lines": ((3, 32, 33), (32, 32, 5), {"pads": [2, 2]}, 1),
    "border wider than the window": ((1, 16, 4, 4), (16, 16, 2, 2), {"pads": [3, 2, 3, 4]}, 1),
}


ZERO = 3        # of bytes


def whole(shape, seed):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def model(case, path, twice=False, w=None):
    """y = relu(conv(x) + b); twice: a second one of the same channels reads it, and the first one's y is added"""
    x, shape, attributes, _ = case
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["p"], **attributes), helper.make_node("Relu", ["p"], ["y"])]
    weights = [numpy_helper.from_array(whole(shape, 1) if w is None else w, "w"), numpy_helper.from_array(whole(shape[0], 2), "b")]
    if twice:
        nodes += [helper.make_node("Clip", ["y", "low", "high"], ["c"]),
                  helper.make_node("Conv", ["c", "v", "b"], ["q"], pads=[1, 1, 1, 1]), helper.make_node("Add", ["q", "c"], ["z"])]
        weights += [numpy_helper.from_array(whole((shape[0], shape[0], 3, 3), 3), "v"), numpy_helper.from_array(np.float32(0), "low"),
                    numpy_helper.from_array(np.float32(100), "high")]
    return save(nodes, path, weights, T.FLOAT, x, T.FLOAT, "z" if twice else "y")


def bytes_model(case, path, element):
    """sums of products of bytes, x with a zero point"""
    x, shape, attributes, _ = case
    zero = np.array(ZERO, dtype=np.uint8 if element == T.UINT8 else np.int8)
    return save([helper.make_node("ConvInteger", ["x", "w", "zero"], ["y"], **attributes)], path,
                [numpy_helper.from_array(whole(shape, 1).astype(np.int8), "w"), numpy_helper.from_array(zero, "zero")], element, x, T.INT32, "y")


def of_bytes(case, x):
    """what bytes_model computes, by floats, which hold its sums: onnx's ConvInteger knows no border that is wider than the window"""
    x, weights = x.astype(np.float32) - ZERO, whole(case[1], 1)
    ports = [helper.make_tensor_value_info(n, T.FLOAT, None) for n in ("x", "w", "y")]
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], **case[2])], "floats", ports[:2], ports[2:])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])).run(None, {"x": x, "w": weights})[0].astype(np.int32)


def save(nodes, path, weights, element, x, of_result, y):
    graph = helper.make_graph(nodes, "convolution", [helper.make_tensor_value_info("x", element, x)],
                              [helper.make_tensor_value_info(y, of_result, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def run(models, folder, product, options, target, executions=cuda.TWO):
    """{name: (path, x, least number of products by units)} -> {name: y}"""
    paths, given = [], {}
    for i, (name, (onnx_file, x, least)) in enumerate(models.items()):
        path = cuda.compile_model(onnx_file, folder, options, name=f"m{i}", target=target)
        assert len(re.findall(rf"\n +multiply_{product}_\w+\(", path.read_text())) >= least, name
        paths.append(path)
        given[f"m{i}"] = [x]
    got = cuda.run(cuda.build(paths, folder), given, folder, executions)
    for i, name in enumerate(models):
        assert not isinstance(got[f"m{i}"], cuda.Found), (name, got[f"m{i}"])
        assert cuda.counts[f"m{i}"]["conflicts"] == 0, (name, cuda.counts[f"m{i}"])
    return {name: got[f"m{i}"][0] for i, name in enumerate(models)}


def check(cases, folder, kind, target="cuda-sm_80", twice=False, executions=cuda.TWO, more=()):
    """to the bit"""
    models, wanted = {}, {}
    for i, (name, case) in enumerate(cases.items()):
        path, x = folder / f"m{i}.onnx", whole(case[0], 5)
        if kind in ("s8", "u8"):
            x = x.astype(np.int8) if kind == "s8" else (x + 7).astype(np.uint8)
            bytes_model(case, path, T.INT8 if kind == "s8" else T.UINT8)
            wanted[name] = of_bytes(case, x)
        else:
            model(case, path, twice)
            wanted[name] = ReferenceEvaluator(str(path)).run(None, {"x": x})[0]
        models[name] = path, x, case[3] + twice
    got = run(models, folder, kind, [*more, *([f"--precision={kind}"] if kind in ("f16", "tf32") else [])], target, executions)
    for name, want in wanted.items():
        assert np.array_equal(got[name], want), (name, np.abs(got[name] - want).max())


@pytest.mark.parametrize("kind", ["f16", "f32", "s8", *(pytest.param(k, marks=pytest.mark.long) for k in ("tf32", "u8"))])
def test_cases(kind, tmp_path):
    cases = {k: c for k, c in CASES.items() if kind in ("f16", "f32", "tf32") or k != "depthwise"}
    check(cases if kind == "f16" else dict(list(cases.items())[::2]), tmp_path, kind)


def random_cases(seed, count):
    """groups, borders, steps and windows that nobody chose"""
    random, cases = np.random.default_rng(seed), {}
    while len(cases) < count:
        group, channels = int(random.choice([1, 2, 3, 4, 8])), int(random.choice([1, 2, 3, 4, 8, 16, 20]))
        window, step, apart = ([int(n) for n in random.integers(1, most, 2)] for most in (6, 3, 3))
        pads, size = [int(n) for n in random.integers(0, 4, 4)], [int(n) for n in random.integers(6, 15, 2)]
        if all(size[d] + pads[d] + pads[d + 2] > (window[d] - 1) * apart[d] for d in range(2)):
            cases[f"{seed}: {len(cases)}"] = ((int(random.integers(1, 3)), group * channels, *size), (group * int(random.choice([1, 2, 4, 8, 24])), channels, *window),
                                              {"group": group, "pads": pads, "strides": step, "dilations": apart}, 0)
    return cases


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.long) for s in (2, 3))])
@pytest.mark.parametrize("kind", ["f16", "s8", pytest.param("u8", marks=pytest.mark.long)])
def test_random(kind, seed, tmp_path):
    check(random_cases(seed, 12), tmp_path, kind)


def test_one_behind_the_other(tmp_path):
    """what one stores is what the next reads, border and all; and an addend"""
    check({k: CASES[k] for k in ("plain", "strides", "image")}, tmp_path, "f16", twice=True)


@pytest.mark.parametrize("target", [pytest.param(t, marks=pytest.mark.long) for t in ("cuda-sm_75", "cuda-sm_90", "cuda-sm_100")])
@pytest.mark.parametrize("kind", ["f16", "f32", "s8", "u8"])
def test_targets(kind, target, tmp_path):
    if target != "cuda-sm_75" or kind == "f16":
        check({k: c for k, c in CASES.items() if kind in ("f16", "f32") or k != "depthwise"}, tmp_path, kind, target, executions=cuda.SIX)


def test_floats(tmp_path):
    """f32 by its parts: within 1e-5 of the largest result"""
    random = np.random.default_rng(9)
    case = (1, 64, 9, 10), (32, 64, 3, 3), {"pads": [1, 1, 1, 1]}, 1
    w, x = (random.standard_normal(s).astype(np.float32) for s in (case[1], case[0]))
    path = model(case, tmp_path / "m.onnx", w=w)
    got = run({"y": (path, x, 1)}, tmp_path, "f32", [], "cuda-sm_80")["y"]
    graph = onnx.load(path)
    for t in graph.graph.initializer:
        t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
    want = ReferenceEvaluator(graph).run(None, {"x": x.astype(np.float64)})[0]
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max() / 4, np.abs(got - want).max() / np.abs(want).max()


def test_tf32(tmp_path):
    """the sums of rounded operands, to the last bits; not those of f32"""
    random = np.random.default_rng(11)
    case = (1, 64, 9, 10), (32, 64, 3, 3), {"pads": [1, 1, 1, 1]}, 1
    w, x = (random.standard_normal(s).astype(np.float32) for s in (case[1], case[0]))
    path = model(case, tmp_path / "m.onnx", w=w)
    got = run({"y": (path, x, 1)}, tmp_path, "tf32", ["--precision=tf32"], "cuda-sm_90", cuda.SIX)["y"]

    def rounded(a):
        bits = a.view(np.uint32)
        return ((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000).view(np.float32)

    def reference(w, x):
        graph = onnx.load(model(case, tmp_path / "r.onnx", w=w))
        for t in graph.graph.initializer:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
        return ReferenceEvaluator(graph).run(None, {"x": x.astype(np.float64)})[0]

    want, plain = reference(rounded(w), rounded(x)), reference(w, x)
    largest = np.abs(plain).max()
    assert np.abs(got - want).max() < 1e-6 * largest and 1e-5 * largest < np.abs(got - plain).max() < 1e-3 * largest


PARTS = ["tile=16 panels=2 depth=16 stages=2 parts=2", "tile=32 warps=2 depth=32 parts=9", "tile=16 stages=5 depth=16 parts=18"]


@pytest.mark.parametrize("kind", ["f16", "s8"])
def test_parts(kind, tmp_path):
    """blocks that share the channels of a tile; a second phase adds them up"""
    x, shape = (2, 32, 5, 6), (40, 32, 3, 3)
    case = x, shape, {"pads": [1, 1, 1, 1]}, 1
    path, given = tmp_path / "m.onnx", whole(x, 5).astype(np.float32 if kind == "f16" else np.int8)
    model(case, path) if kind == "f16" else bytes_model(case, path, T.INT8)
    want = ReferenceEvaluator(str(path)).run(None, {"x": given})[0]
    options = ["--precision=f16"] if kind == "f16" else []
    text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_80", *options, "--emit=ir", "-o", "-"]).stdout
    models = {}
    for i, words in enumerate(PARTS if kind == "f16" else ["tile=16 parts=3"]):
        dump = tmp_path / f"d{i}.dnn"
        dump.write_text(re.sub(r'schedule="tile=[^"]*"', f'schedule="{words}"', text))
        models[words] = dump, given, 1
    for words, y in run(models, tmp_path, kind, options, "cuda-sm_80", cuda.SIX).items():
        assert np.array_equal(y, want), words
    assert "partial" in (tmp_path / "m0.cu").read_text()


ADDED = ["tile=16 panels=2 depth=16 stages=2", "tile=64 warps=2 depth=64 stages=3", "tile=32 panels=2 depth=64 stages=5"]


@pytest.mark.parametrize("x", [pytest.param((1, 64, 8, 8), marks=pytest.mark.long), (3, 64, 5, 7)])
def test_added(x, tmp_path):
    """what is added to the sums lies in shared memory before they are there, tiles of several images among them; another place of it is found"""
    shape = (64, 64, 3, 3)
    path, given = model((x, shape, {"pads": [1, 1, 1, 1]}, 1), tmp_path / "m.onnx", twice=True), whole(x, 5)
    want = ReferenceEvaluator(str(path)).run(None, {"x": given})[0]
    text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_90", "--precision=f16", "--emit=ir", "-o", "-"]).stdout
    models = {}
    for i, words in enumerate(ADDED):
        dump = tmp_path / f"d{i}.dnn"
        dump.write_text(re.sub(r'schedule="tile=[^"]*"', f'schedule="{words}"', text))
        models[words] = dump, given, 2
    for words, y in run(models, tmp_path, "f16", ["--precision=f16"], "cuda-sm_90", cuda.SIX).items():
        assert np.array_equal(y, want), words
    for i in range(len(ADDED)):
        assert (tmp_path / f"m{i}.cu").read_text().count("copy_async(added + ") == 1
    cuda.plant(tmp_path / "m0.cu", (r"copy_async\(added \+ \(", "copy_async(added + (8 + "))
    got = cuda.run(cuda.build([tmp_path / "m0.cu"], tmp_path, flags=cuda.CHECKED), {"m0": [given]}, tmp_path, "0")["m0"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], want)


def test_deeper_image(tmp_path):
    """an image of few channels becomes deeper in one kernel, its border with it; a row of the window, four times 16 channels, may be one iteration"""
    case = (1, 3, 224, 224), (64, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}, 1
    check({"image": case}, tmp_path, "f16", "cuda-sm_90", executions=cuda.TWO)
    text = (tmp_path / "m0.cu").read_text()
    assert len(cuda.kernels(text)) == 3          # that, the convolution, and its result in the model's order
    assert int(re.search(r"for \(int iteration = 0; iteration < (\d+)", text)[1]) < 16, text


def test_images(tmp_path):
    """of several images, too: one launch before the convolution, where a launch for each offset of a window would put them together"""
    path = model(((32, 3, 56, 56), (64, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}, 1), tmp_path / "m.onnx")
    text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_90", "--precision=f16", "-o", "-"]).stdout
    assert len(cuda.kernels(text)) == 3, text


def test_no_border_in_memory(tmp_path):
    """one kernel a convolution, and no memory for zeros"""
    path = model(CASES["plain"], tmp_path / "m.onnx", twice=True)
    text = dnncc.run([dnncc.DNNCC, path, "--target=cuda-sm_80", "--precision=f16", "--emit=ir", "-o", "-"]).stdout
    assert len(re.findall(r"^    %\d+ = pad\(", text, re.M)) == 2 and not re.findall(r"^  %\d+ = pad\(", text, re.M), text
