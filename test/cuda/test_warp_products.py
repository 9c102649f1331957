# SPDX-License-Identifier: MIT
"""Products of matrices by tensor cores (engines/grid/contract_warps.c): run by the executor, looked at by nvcc."""
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

# rows, channels, outputs; what stands behind the product
SHAPES = [(64, 64, 64, "Relu"), (200, 256, 320, "Relu"), (33, 80, 100, "Sigmoid"), (130, 512, 40, "Relu"), (128, 1024, 1000, "Relu")]


def whole(shape, seed):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def model(shape, path):
    """y = f(x w + b) of whole numbers, whose sums f32 holds"""
    rows, channels, outputs, f = shape
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"]), helper.make_node(f, ["s"], ["y"])]
    graph = helper.make_graph(nodes, "product", [helper.make_tensor_value_info("x", T.FLOAT, [rows, channels])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [rows, outputs])],
                              [numpy_helper.from_array(whole((channels, outputs), 1), "w"), numpy_helper.from_array(whole(outputs, 2), "b")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def want(shape, x):
    s = x @ whole(shape[1:3], 1) + whole(shape[2], 2)
    return np.maximum(s, 0) if shape[3] == "Relu" else 1 / (1 + np.exp(-np.clip(s.astype(np.float64), -80, 80)))


def compile_shape(shape, folder, name="model", options=(), target="cuda-sm_80"):
    return cuda.compile_model(model(shape, folder / "m.onnx"), folder, ["--precision=f16", *options], name=name, target=target)


@pytest.mark.parametrize("precision", ["f16", pytest.param("bf16", marks=pytest.mark.long), "tf32"])
def test_shapes(precision, tmp_path):
    paths = []
    for i, shape in enumerate(SHAPES):
        paths.append(compile_shape(shape, tmp_path, f"m{i}", [f"--precision={precision}"]))
        assert f"multiply_{precision}_" in paths[-1].read_text()
    given = {f"m{i}": [whole(shape[:2], 3)] for i, shape in enumerate(SHAPES)}
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path)
    for i, shape in enumerate(SHAPES):
        y = got[f"m{i}"]
        assert not isinstance(y, cuda.Found), (shape, y)
        error = np.abs(y[0] - want(shape, given[f"m{i}"][0])).max()
        assert error == 0 if shape[3] == "Relu" else error < 1e-6, (shape, error)
        counts = cuda.counts[f"m{i}"]
        assert counts["mma"] and counts["conflicts"] == 0, (shape, counts)


def test_f32(tmp_path):
    """three products of 11 bits: numbers of one sign, where what is left out would add up; the largest there is; NaN"""
    shape = 40, 512, 64
    random = np.random.default_rng(4)
    w = (1 + random.random(shape[1:])).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [helper.make_tensor_value_info("x", T.FLOAT, shape[:2])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [shape[0], shape[2]])], [numpy_helper.from_array(w / 4096, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    path = cuda.compile_model(tmp_path / "m.onnx", tmp_path, [], target="cuda-sm_80")
    assert "multiply_f32_" in path.read_text()
    program, x = cuda.build([path], tmp_path), (1 + random.random(shape[:2])).astype(np.float32)
    x[7:9] = 0
    x[7, 100], x[8, 3] = np.finfo(np.float32).max, np.nan
    wanted = x.astype(np.float64) @ (w.astype(np.float64) / 4096)
    for env, allowed in (None, 2.0 ** -24), ({"EXECUTOR_CUT_OFF": "1"}, 2.0 ** -22):
        got = cuda.run(program, {"model": [x]}, tmp_path, env=env)["model"]
        assert not isinstance(got, cuda.Found), got
        y = got[0].astype(np.float64)
        assert np.isnan(y[8]).all() and np.allclose(y[7], wanted[7], rtol=2.0 ** -20, atol=0)
        off = np.delete(y, (7, 8), 0) / np.delete(wanted, (7, 8), 0) - 1
        assert abs(off.mean()) < allowed and np.abs(off).max() < 2.0 ** -20, (env, off.mean(), np.abs(off).max())


def test_tf32_elsewhere(tmp_path):
    """a warning where nothing multiplies such numbers, and the same code"""
    texts = []
    for options in (["--precision=tf32"], []):
        done = dnncc.run([dnncc.DNNCC, model(SHAPES[0], tmp_path / "m.onnx"), "--target=x86-64-v3", "--emit=loops", *options, "-o", tmp_path / "m.loops"])
        assert done.returncode == dnncc.OK and ("changes nothing for x86-64-v3" in done.stderr) == bool(options), done.stderr
        texts.append((tmp_path / "m.loops").read_text().replace(" --precision=tf32", ""))
    assert texts[0] == texts[1]


def test_two_inputs(tmp_path):
    """several products of what is only known when it runs"""
    shapes = (3, 40, 64), (3, 64, 72)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                              [helper.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in zip("xw", shapes)],
                              [helper.make_tensor_value_info("y", T.FLOAT, [3, 40, 72])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    path = cuda.compile_model(tmp_path / "m.onnx", tmp_path, ["--precision=f16"], target="cuda-sm_90")
    assert "multiply_f16_" in path.read_text()
    given = [whole(shape, i) for i, shape in enumerate(shapes)]
    got = cuda.run(cuda.build([path], tmp_path), {"model": given}, tmp_path)["model"]
    assert not isinstance(got, cuda.Found) and np.array_equal(got[0], given[0] @ given[1]), got


SCHEDULES = ["tile=32 warps=2 panels=2 stages=2 depth=16", "tile=128 warps=4 panels=2 depth=64", "tile=64 stages=5"]


def compile_scheduled(shape, words, folder, name="model", target="cuda-sm_80"):
    """as the words say, written into the Tensor IR"""
    options = [f"--target={target}", "--precision=f16"]
    written = folder / f"{name}.dnn"
    done = dnncc.run([dnncc.DNNCC, model(shape, folder / "m.onnx"), *options, "--emit=ir", "-o", written])
    assert done.returncode == dnncc.OK, done.stderr
    text = re.sub(r'schedule="tile=[^"]*"', f'schedule="{words}"', written.read_text())
    assert words in text
    written.write_text(text)
    path = cuda.compile_model(written, folder, ["--precision=f16"], name=name, target=target)
    assert all(word in " ".join(path.read_text().split()) for word in words.split())
    return path


def test_schedules(tmp_path):
    shape = SHAPES[1]
    paths = [compile_scheduled(shape, words, tmp_path, f"m{i}") for i, words in enumerate(SCHEDULES)]
    x = whole(shape[:2], 3)
    got = cuda.run(cuda.build(paths, tmp_path), {p.stem: [x] for p in paths}, tmp_path)
    for name, y in got.items():
        assert not isinstance(y, cuda.Found) and np.array_equal(y[0], want(shape, x)), (name, y)


BANDS = """dnn 1
module "bands"
func @main(%x "x": <2 x 2 x ROWS x 64 x f16>, %w "w": <24 x 1 x 1 x 8 x 4 x 64 x f16>) -> ("y") {
  %0 = convolve_packed(%x, %w) groups=2 channels=64 outputs=384 block=384 accumulator=f32 schedule="tile=16" : <2 x 2 x ROWS x 384 x f32>
  yield(%0)
}
"""


def test_bands(tmp_path):
    """more tiles than multiprocessors: bands of panels, each from the first position to the last; fewer: rows of all panels"""
    paths, given, w = [], {}, whole((2, 384, 64), 4)
    packed = w.reshape(24, 4, 8, 8, 8).transpose(0, 3, 1, 2, 4).reshape(24, 1, 1, 8, 4, 64).astype(np.float16)
    for rows, index in (136, r"b / 102 % 2 \* 6 \+ b % 6;"), (80, r"b % 12;"):
        (tmp_path / "bands.dnn").write_text(BANDS.replace("ROWS", str(rows)))
        paths.append(cuda.compile_model(tmp_path / "bands.dnn", tmp_path, name=f"m{rows}", target="cuda-sm_90"))
        assert re.search(rf"first_panel = {index}", paths[-1].read_text())
        given[f"m{rows}"] = [whole((2, 2, rows, 64), 3).astype(np.float16), packed]
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path)
    for name, (x, _) in given.items():
        assert not isinstance(got[name], cuda.Found) and np.array_equal(got[name][0], np.einsum("ngpc,goc->ngpo", x.astype(np.float32), w)), name


WIDE = """dnn 1
module "wide"
func @main(%x "x": <1 x 1 x 200 x 96 x f16>, %w "w": <3 x 1 x 1 x 12 x 8 x 64 x f16>) -> ("y") {
  %0 = convolve_packed(%x, %w) channels=96 outputs=184 block=184 accumulator=f32 schedule="WORDS" : <1 x 1 x 200 x 184 x f32>
  yield(%0)
}
"""


@pytest.mark.long
def test_wide(tmp_path):
    """panels of 64 outputs, for warps of 64 x 64; layout makes them of 32. Nothing spills"""
    paths, x, w = [], whole((200, 96), 3), whole((184, 96), 4)
    for i, words in enumerate(("tile=128 warps=2 panels=4 stages=4", "tile=64 panels=2 depth=48 stages=2")):
        (tmp_path / "wide.dnn").write_text(WIDE.replace("WORDS", words))
        paths.append(cuda.compile_model(tmp_path / "wide.dnn", tmp_path, name=f"m{i}", target="cuda-sm_90"))
        assert re.search(r"multiply_f16_4x8x\d", paths[-1].read_text())
    padded = np.concatenate([w, np.zeros((8, 96))]).reshape(3, 8, 8, 12, 8).transpose(0, 3, 1, 2, 4).reshape(3, 1, 1, 12, 8, 64)
    given = {p.stem: [v.astype(np.float16) for v in (x.reshape(1, 1, 200, 96), padded)] for p in paths}
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path, cuda.TWO)
    for path in paths:
        y = got[path.stem]
        assert not isinstance(y, cuda.Found) and np.array_equal(y[0].reshape(200, 184), x @ w.T), y
        assert cuda.counts[path.stem]["conflicts"] == 0
    large = compile_shape((4096, 1024, 4096, "Relu"), tmp_path, "large", target="cuda-sm_90")
    assert re.search(r"multiply_f16_4x4x\d\(acc", large.read_text())
    if cuda.nvcc() and "sm_90" in cuda.known_to(cuda.nvcc()):
        for path in paths + [large]:
            assert all(of["spilled"] == 0 and of["stack"] == 0 for of in cuda.ptxas(path, "sm_90", tmp_path / "k.o").values()), path


MISTAKES = {
    "a wait one less": (r"copy_wait\(2\);(?=\n +__syncthreads\(\);\n +\})", "copy_wait(3);"),
    "no wait": (r"copy_wait\(\d\);", ""),
    "a barrier dropped": (r"(copy_wait\(\d\);)\n +__syncthreads\(\);", r"\1"),
    "a stage off by one": (r"iteration % 4", "(iteration + 1) % 4"),
    "a row less": (r"p2 < \d+|p2 <\s+\d+", "p2 < 1"),
    "a lane exchanged": (r"lane / 8 % 2\)", "(lane / 8 % 2 ^ 1))"),
    "warps do not wait": (r"__syncwarp\(\);", ""),
    "half of the sums": (r"b \+ 2\)", "b)"),
}
PLANTED = "tile=32 warps=2 panels=2 stages=4"


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 3 == 0 else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    shape = SHAPES[1]
    path = compile_scheduled(shape, PLANTED, tmp_path)
    cuda.plant(path, MISTAKES[what])
    x = whole(shape[:2], 3)
    got = cuda.run(cuda.build([path], tmp_path), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], want(shape, x)), what


@pytest.mark.parametrize("architecture", [a if a == "sm_90" else pytest.param(a, marks=pytest.mark.long) for a in ("sm_75", "sm_80", "sm_90", "sm_100")])
def test_nvcc(architecture, tmp_path):
    """nothing spilled where as many blocks are to fit as the schedule counted on"""
    if not cuda.nvcc():
        pytest.skip("no nvcc: make cuda")
    if architecture not in cuda.known_to(cuda.nvcc()):
        pytest.skip(f"this nvcc does not know {architecture}")
    for shape in SHAPES[1:4:2]:
        path = compile_shape(shape, tmp_path, target=f"cuda-{architecture}")
        used = cuda.ptxas(path, architecture, tmp_path / "k.o")
        products = {kernel: of for kernel, of in used.items() if "MatMul" in kernel}      # and what adds up their parts
        assert products
        for kernel, product in products.items():
            threads, blocks = re.search(rf"__launch_bounds__\((\d+), (\d+)\) {kernel}\(", path.read_text()).groups()
            assert product["spilled"] == 0 and product["stack"] == 0, (shape, used)
            assert product["registers"] * int(threads) * int(blocks) <= 65536, (shape, product)


def cuobjdump():
    """PATH's, or that of `make cuda`; None"""
    wheels = sorted((dnncc.ROOT / "build" / "cuda-venv").glob("lib/python*/site-packages/nvidia/**/bin/cuobjdump"))
    return shutil.which("cuobjdump") or (str(wheels[-1]) if wheels else None)


@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_75", marks=pytest.mark.long), pytest.param("sm_90", marks=pytest.mark.long)])
def test_instructions(architecture, tmp_path):
    """those that the schedule claims"""
    if not cuobjdump() or not cuda.nvcc() or architecture not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it, or no cuobjdump: make cuda")
    path = compile_shape(SHAPES[1], tmp_path, target=f"cuda-{architecture}")
    cuda.ptxas(path, architecture, tmp_path / "k.o")
    sass = dnncc.run([cuobjdump(), "-sass", tmp_path / "k.o"]).stdout
    for instruction in ["HMMA.1688.F32", "LDSM.16.M88.4"] if architecture == "sm_75" else ["HMMA.16816.F32", "LDSM.16.M88.4", "LDGSTS.E.BYPASS"]:
        assert instruction in sass, instruction
    assert not re.search(r"\b(STL|LDL)\b", sass)
