# SPDX-License-Identifier: MIT
"""Neighbours that a lane loads or stores as one (engines/grid/vector_access.c): what becomes of sums (engines/grid/warps_results.c), in a device's instructions."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import zoo  # noqa: E402
from test_warp_products import cuobjdump, whole  # noqa: E402

# positions, channels, outputs: of two products, the second one's result in f32; tiles that they do not fill, outputs that are no words
SHAPES = {"whole": (64, 64, 128), "some positions": (33, 80, 64), "some outputs": (64, 128, 36), "some of both": (50, 64, 100), "pairs": (64, 64, 38), "odd": (48, 64, 37), "parts": (32, 2048, 64),
          "pairs of parts": (49, 2048, 38)}


def model(shape, path, shift=0):
    """y = relu(relu(x w) v + r), whole numbers; behind `shift` others in memory"""
    rows, channels, outputs = shape
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["h"]), helper.make_node("MatMul", ["h", "v"], ["p"]), helper.make_node("Add", ["p", "r"], ["s"]),
             helper.make_node("Relu", ["s"], ["z" if shift else "y"])]
    inputs, extent = [("x", [rows, channels]), ("r", [rows, outputs])], [rows, outputs]
    if shift:
        nodes += [helper.make_node("Reshape", ["z", "all"], ["flat"]), helper.make_node("Concat", ["front", "flat"], ["y"], axis=0)]
        inputs.append(("front", [shift]))
        extent = [shift + rows * outputs]
    weights = [numpy_helper.from_array(whole((channels, outputs), 1), "w"), numpy_helper.from_array(np.sign(whole((outputs, outputs), 2)), "v"), numpy_helper.from_array(np.array([-1]), "all")]
    graph = helper.make_graph(nodes, "words", [helper.make_tensor_value_info(n, T.FLOAT, s) for n, s in inputs], [helper.make_tensor_value_info("y", T.FLOAT, extent)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def inputs(shape, shift=0):
    rows, channels, outputs = shape
    x = np.where(np.random.default_rng(3).random((rows, channels)) < .05, whole((rows, channels), 4), 0).astype(np.float32)
    return [x, whole((rows, outputs), 5)] + ([whole(shift, 6)] if shift else [])


def want(shape, x, r, front=()):
    h = np.maximum(x @ whole((shape[1], shape[2]), 1), 0)
    assert h.max() < 2048                   # f16 holds them
    return np.concatenate([front, np.maximum(h @ np.sign(whole((shape[2], shape[2]), 2)) + r, 0).ravel()])


def test_shapes(tmp_path, some):
    """in all executions, no race, no access that is not aligned; words wherever outputs are"""
    paths, given = [], {}
    shapes = some(list(SHAPES.items()), 2)
    for i, (_, shape) in enumerate(shapes):
        paths.append(cuda.compile_model(model(shape, tmp_path / f"m{i}.onnx"), tmp_path, ["--precision=f16"], name=f"m{i}", target="cuda-sm_90"))
        text = paths[-1].read_text()    # the first product's result has whole iterations of channels
        assert ("store_f16_" in text) == (shape[2] % 16 == 0) and ("store_f32_4" in text) == ("words_f32_4" in text) == (shape[2] % 4 == 0), shape
        given[f"m{i}"] = inputs(shape)
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, executions)
        for i, (name, shape) in enumerate(shapes):
            y = got[f"m{i}"]
            assert not isinstance(y, cuda.Found), (name, y)
            assert np.array_equal(y[0].ravel(), want(shape, *given[f"m{i}"])), name
            assert cuda.counts[f"m{i}"]["mma"] and cuda.counts[f"m{i}"]["conflicts"] == 0, name


@pytest.mark.parametrize("shift, needs", [(4, 16), (5, 4)])
def test_places(shift, needs, tmp_path):
    """a result that does not lie at a multiple of 16 bytes is stored one by one; one that does asks that of the output"""
    shape = SHAPES["whole"]
    path = cuda.compile_model(model(shape, tmp_path / "m.onnx", shift), tmp_path, ["--precision=f16"], target="cuda-sm_90")
    text = path.read_text()
    assert ("store_f32_4" in text) == (needs == 16) and re.search(r"check\(y, (\d+)\)", text)[1] == str(needs)
    given = inputs(shape, shift)
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"model": given}, tmp_path, cuda.TWO)["model"]
    assert not isinstance(got, cuda.Found) and np.array_equal(got[0], want(shape, *given)), got


MISTAKES = {"another order": (r"x0, x1, x2, x3 \} \};\n(?= +move_words\(struct words_f32_4)", "x0, x1, x3, x2 } };\n"), "a word further": (r"store_f32_4\(y \+ \(", "store_f32_4(y + 4 + ("),
            "not a word": (r"store_f32_4\(y \+ \(", "store_f32_4(y + 1 + (")}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes(what, tmp_path):
    shape = SHAPES["whole"]
    path = cuda.compile_model(model(shape, tmp_path / "m.onnx"), tmp_path, ["--precision=f16"], target="cuda-sm_90")
    cuda.plant(path, MISTAKES[what])
    given = inputs(shape)
    got = cuda.run(cuda.build([path], tmp_path, flags=cuda.CHECKED), {"model": given}, tmp_path, "0")["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0].ravel(), want(shape, *given))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert_base", pytest.param("resnet50", marks=pytest.mark.long)])
def test_instructions(name, tmp_path):
    """Products store 16 or 8 bytes of floats, 8 or 4 of halves, where a lane had 4 or 2; what attention makes lies otherwise, and of a pool a lane has one. Nothing is spilled."""
    if not cuobjdump() or not cuda.nvcc() or "sm_90" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows sm_90, or no cuobjdump: make cuda")
    path = cuda.compile_model(zoo.build(name), tmp_path, ["--precision=f16", "--weights=file"], target="cuda-sm_90")
    assert not any(of["spilled"] or of["stack"] for of in cuda.ptxas(path, "sm_90", tmp_path / "k.o").values())
    text, products = path.read_text(), 0
    for kernel in re.split(r"Function : ", dnncc.run([cuobjdump(), "-sass", tmp_path / "k.o"]).stdout)[1:]:
        found = max((n for n in cuda.kernels(text) if n in kernel.split("\n")[0]), key=len)
        source = re.search(rf"\b{found}\(([^{{]*)\)\n\{{\n(.*?)^\}}$", text, re.MULTILINE | re.DOTALL)
        comment = text[:source.start()].rpartition("/*")[2]
        if "HMMA" not in kernel or "scale_f32" in source[2] or "fused_pool=1" in comment:
            continue
        products += 1
        stores = set(re.findall(r"\bSTG\.E(?:\.\w+)*", kernel))
        results = re.findall(r"(?<!const )\b(float|uint16_t) \*", source[1])
        if len(results) == 2:           # a norm's: four neighbours of each
            assert results == ["float", "uint16_t"] and stores == {"STG.E.128", "STG.E.64"}, (found, stores)
        else:
            assert len(stores) == 1 and stores <= ({"STG.E.128", "STG.E.64"} if results == ["float"] else {"STG.E.64", "STG.E"}), (found, stores)
    assert products >= 4
