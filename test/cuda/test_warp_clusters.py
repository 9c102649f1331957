# SPDX-License-Identifier: MIT
"""Parts of products in clusters of blocks (engines/grid/contract_warps.c, from cuda-sm_90 on): one launch, the bits of two."""
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
import test_warp_groups as groups  # noqa: E402
from test_warp_products import compile_scheduled, whole, want  # noqa: E402

# rows and outputs that tiles do not divide, a share of one position for each warp, all that a cluster may have
CASES = [((64, 256, 64, "Relu"), "tile=32 warps=2 panels=2 stages=2 depth=64 parts=2"), ((200, 256, 320, "Sigmoid"), "tile=64 warps=4 stages=4 depth=16 parts=4"),
         ((33, 512, 100, "Sigmoid"), "tile=16 panels=2 stages=2 depth=16 parts=8"), ((130, 512, 40, "Relu"), "tile=48 depth=64 parts=2")]


def launches(path):
    """of kernels with products: (blocks of a cluster)"""
    return [int(n) for n in re.findall(r"launch_clusters\(\(const void \*\)\w*MatMul\w*,(?:\s*\d+,){4}\s*(\d+),", path.read_text())]


def floats(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_cases(tmp_path):
    """the bits of sm_80's two launches in all executions, and no race in any access"""
    paths, given = [], {}
    for i, (shape, words) in enumerate(CASES):
        one, two = (compile_scheduled(shape, words, tmp_path, f"{name}{i}", target) for name, target in (("one", "cuda-sm_90"), ("two", "cuda-sm_80")))
        assert launches(one) == [int(words[-1])] and "cluster" not in two.read_text()
        assert len(re.findall(r"\blaunch\w*\(\(const void \*\)", one.read_text())) == len(re.findall(r"\blaunch\(\(const void \*\)", two.read_text())) - 1
        paths += [one, two]
        given.update({p.stem: [floats(shape[:2], 3)] for p in (one, two)})
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, executions)
        for i, (shape, words) in enumerate(CASES):
            one, two = got[f"one{i}"], got[f"two{i}"]
            assert not isinstance(one, cuda.Found) and not isinstance(two, cuda.Found), (shape, one, two)
            assert np.array_equal(one[0].view(np.int32), two[0].view(np.int32)), (shape, words)
            x = np.float64(np.float16(given[f"one{i}"][0]))
            assert np.abs(one[0] - want(shape, x)).max() < 1e-2 * np.abs(want(shape, x)).max(), shape
            assert cuda.counts[f"one{i}"]["conflicts"] == 0


def test_warp_group(tmp_path):
    """products of four warps"""
    words = ["tile=64 warps=4 stages=4 depth=64 parts=4", "tile=128 warps=8 stages=3 depth=64 parts=2"]
    paths = [groups.scheduled(groups.SHAPES[1], w, tmp_path, f"m{i}") for i, w in enumerate(words)]
    assert [launches(p) for p in paths] == [[4], [2]]
    groups.run(paths, [groups.SHAPES[1]] * 2, tmp_path, cuda.SIX)


def test_too_large(tmp_path):
    """more parts than a cluster may have, and sums that find no room: two launches"""
    for words in "tile=16 depth=16 parts=16", "tile=128 warps=4 panels=4 stages=5 depth=64 parts=2":
        path = compile_scheduled((128, 512, 1024, "Relu"), words, tmp_path, target="cuda-sm_90")
        assert not launches(path) and "partial" in path.read_text()


def test_refused(tmp_path):
    """a device without clusters"""
    path = compile_scheduled(*CASES[0], tmp_path, target="cuda-sm_90")
    got = cuda.run(cuda.build([path], tmp_path), {"model": [whole(CASES[0][0][:2], 3)]}, tmp_path, "0", env={"EXECUTOR_DEVICE": "major=8"})["model"]
    assert isinstance(got, cuda.Found)


MISTAKES = {
    "the first barrier dropped": (r"cluster_barrier\(\);(?=\n *const int share)", ""),
    "the first barrier of the block alone": (r"cluster_barrier\(\);(?=\n *const int share)", "__syncthreads();"),
    "the last barrier dropped": (r"cluster_leave\(\);(?=\n\})", ""),
    "a part of the wrong block": (r"cluster_at\(partial,\s*2\)", "cluster_at(partial, 1)"),
    "a part of no block": (r"cluster_at\(partial,\s*3\)", "cluster_at(partial, 4)"),
    "another share": (r"share = blockIdx\.x % 4", "share = blockIdx.x % 2"),
    "its own sums alone": (r"\(\(const float \*\)cluster_at\(partial,\s*\d\)\)", "partial"),
    "no cluster": (r"attributes\[config\.numAttrs\]\.val\.clusterDim\.x = cluster", r"attributes[config.numAttrs].val.clusterDim.x = 1"),
    "a smaller cluster": (r"val\.clusterDim\.x = cluster", r"val.clusterDim.x = cluster / 2"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 3 == 0 or "barrier" in w else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    shape = (64, 512, 64, "Relu")
    path = compile_scheduled(shape, "tile=32 warps=2 panels=2 stages=4 depth=16 parts=4", tmp_path, target="cuda-sm_90")
    cuda.plant(path, MISTAKES[what])
    x = whole(shape[:2], 3)
    got = cuda.run(cuda.build([path], tmp_path, flags=["-O1", "-Wno-error"]), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    if not isinstance(got, cuda.Found) and np.array_equal(got[0], want(shape, x)):
        got = cuda.run(cuda.build([path], tmp_path, flags=[*cuda.CHECKED]), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], want(shape, x)), what


# ---- rows that a cluster has as a whole: a norm goes on with them ----

# rows that tiles do not divide and warps take in turns, lengths that lanes do not, parts; a residual, rows that others read, too, images
NORMS = [({"rows": 64, "outputs": 256}, "tile=16 panels=2 stages=2 depth=64", "f16"), ({"rows": 130, "outputs": 768}, "tile=16 panels=6 depth=64 parts=2", "f16"),
         ({"rows": 33, "outputs": 100, "shown": True, "channels": 512}, "tile=16 panels=2 stages=2 depth=16 parts=4", "f16"),
         ({"rows": 300, "outputs": 128, "residual": False}, "tile=64 panels=1 depth=64", "bf16"), ({"rows": 50, "outputs": 320, "kind": "Softmax"}, "tile=32 warps=2 panels=2 depth=64", "f16"),
         ({"rows": 40, "outputs": 1000, "shown": True, "images": 2}, "tile=16 panels=4 depth=64", "f16"), ({"rows": 40, "outputs": 128}, "tile=16 panels=1 depth=32", "f32"),
         ({"rows": 40, "outputs": 128, "rounded": True}, "tile=16 panels=1 depth=64", "f16")]


def norm_network(path, rows, outputs, channels=256, residual=True, shown=False, kind="LayerNormalization", images=1, rounded=False):
    """n = norm(x w + b + r); rounded: also as the f16 that a product reads"""
    lead, s = [images, rows], "s"
    weights = {"w": floats((channels, outputs), 1) / 8, "b": floats(outputs, 2), "g": floats(outputs, 4), "c": floats(outputs, 5), "v": floats((outputs, 64), 6) / 8}
    values = [helper.make_tensor_value_info("x", T.FLOAT, [*lead, channels])]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"])]
    if residual:
        values.append(helper.make_tensor_value_info("r", T.FLOAT, [*lead, outputs]))
        nodes.append(helper.make_node("Add", ["s", "r"], [s := "t"]))
    nodes.append(helper.make_node(kind, [s, "g", "c"] if kind == "LayerNormalization" else [s], ["n"], axis=-1))
    results = [helper.make_tensor_value_info("n", T.FLOAT, [*lead, outputs])]
    if rounded:
        nodes.append(helper.make_node("MatMul", ["n", "v"], ["z"]))
        results.append(helper.make_tensor_value_info("z", T.FLOAT, [*lead, 64]))
    if shown:
        nodes.append(helper.make_node("Abs", [s], ["a"]))
        results.append(helper.make_tensor_value_info("a", T.FLOAT, [*lead, outputs]))
    graph = helper.make_graph(nodes, "norm", values, results, [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def norm_scheduled(how, words, precision, folder, name, target="cuda-sm_90", options=()):
    """the first product by these words, all others by a fixed one"""
    written = folder / f"{name}.dnn"
    options = [f"--target={target}", f"--precision={precision}", *options]
    done = dnncc.run([dnncc.DNNCC, norm_network(folder / "m.onnx", **how), *options, "--emit=ir", "-o", written])
    assert done.returncode == dnncc.OK, done.stderr
    text = re.sub(r'schedule="tile=[^"]*"', f'schedule="{words} row_clusters=1"', written.read_text(), count=1)
    written.write_text(re.sub(r'schedule="tile=[^"]*; [^"]*"', 'schedule="tile=16 stages=2 depth=32"', text))
    return cuda.compile_model(written, folder, [f"--precision={precision}", *options[2:]], name=name, target=target)


def norm_inputs(how):
    images, rows = how.get("images", 1), how["rows"]
    return [floats((images, rows, how.get("channels", 256)), 7)] + [floats((images, rows, how["outputs"]), 8)] * how.get("residual", True)


def launch_count(path):
    return len(re.findall(r"\blaunch\w*\(\(const void \*\)", path.read_text()))


@pytest.mark.long
def test_norms(tmp_path, some):
    """the bits of a norm with a launch of its own in all executions, and no race"""
    paths, given = [], {}
    norms = some(NORMS, 2)
    for i, (how, words, precision) in enumerate(norms):
        one, two = (norm_scheduled(how, words, precision, tmp_path, f"{name}{i}", target) for name, target in (("one", "cuda-sm_90"), ("two", "cuda-sm_80")))
        apart = not how.get("shown")            # else what is shown is computed beside the norm there
        assert launches(one) and "taken[" in one.read_text() and launch_count(one) <= launch_count(two) - apart, how
        paths += [one, two]
        given.update({p.stem: norm_inputs(how) for p in (one, two)})
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, executions)
        for i, (how, _, _) in enumerate(norms):
            one, two = got[f"one{i}"], got[f"two{i}"]
            assert not isinstance(one, cuda.Found) and not isinstance(two, cuda.Found), (how, one, two)
            assert len(one) == 1 + how.get("shown", False) + how.get("rounded", False)
            assert all(np.array_equal(a.view(np.int32), b.view(np.int32)) for a, b in zip(one, two)), how
            assert cuda.counts[f"one{i}"]["conflicts"] == 0


def test_norms_check(tmp_path):
    """each pass leaves the same values, by the interpreter"""
    written = tmp_path / "model.dnn"
    norm_scheduled(*NORMS[2][:2], "f16", tmp_path, "model")
    done = dnncc.run([dnncc.DNNCC, written, "--target=cuda-sm_90", "--precision=f16", "--stats", "--check", "-o", tmp_path / "again.cu"])
    said = done.stdout + done.stderr
    assert done.returncode == dnncc.OK and re.search(r"stats: fuse_launches +1 rewrites", said), said
    assert not re.search(r"check: \w+: (?!equal|within)", said), said


def test_norms_apart(tmp_path):
    """rows too long for one cluster, warps' memory that finds no room, rows that are rounded before"""
    for how, words, precision in [({"rows": 40, "outputs": 1000}, "tile=16 panels=2 depth=64", "f16"), ({"rows": 128, "outputs": 1024}, "tile=128 warps=4 panels=4 stages=4 depth=64", "f16")]:
        path = norm_scheduled(how, words, precision, tmp_path, "apart")
        assert not launches(path) and "row_clusters=1" in path.read_text()


def test_norms_chosen(tmp_path):
    """where a launch less is predicted to be faster: a product of BERT-base; not where few multiprocessors would read all its weights"""
    for channels, chosen in (256, True), (3072, False):
        onnx_file = norm_network(tmp_path / "m.onnx", 128, 768, channels=channels)
        text = {t: cuda.compile_model(onnx_file, tmp_path, ["--precision=f16"], name="model", target=t).read_text() for t in ("cuda-sm_90", "cuda-sm_80")}
        assert ("row_clusters=1" in text["cuda-sm_90"]) == chosen and "row_clusters=1" not in text["cuda-sm_80"]


NORM_MISTAKES = {
    "the barrier before rows dropped": (r"cluster_barrier\(\);(?=\n *const int member2)", ""),
    "the last barrier dropped": (r"cluster_leave\(\);(?=\n\})", ""),
    "another block's columns": (r"cluster_at\(partial, k3 / 2\)", "cluster_at(partial, 3 - k3 / 2)"),
    "the block's own columns alone": (r"\(\(const float \*\)cluster_at\(partial, k3 / 2\)\)", "partial"),
    "another block's rows": (r"\* 4 \+ member2", "* 4 + (member2 + 1) % 4 * 3"),
    "lanes that do not wait": (r"(parts\[lane\d+\] = part[^;]*;\s*)__syncwarp\(\);", r"\1"),
}


@pytest.mark.parametrize("what", NORM_MISTAKES)
@pytest.mark.sample(6)
def test_norm_mistakes(what, tmp_path):
    path, right = (norm_scheduled(*NORMS[0], tmp_path, name) for name in ("model", "right"))
    assert re.search(r"\bkept\d*\[[^;]*;\s*\}\s*__syncwarp\(\);", path.read_text())         # the row's memory is the next row's
    cuda.plant(path, NORM_MISTAKES[what])
    got = cuda.run(cuda.build([path, right], tmp_path, flags=[*cuda.CHECKED]), dict.fromkeys(("model", "right"), norm_inputs(NORMS[0][0])), tmp_path, cuda.SIX)
    assert isinstance(got["model"], cuda.Found) or not np.array_equal(got["model"][0], got["right"][0]), what


@pytest.mark.parametrize("architecture", ["sm_90", pytest.param("sm_90a", marks=pytest.mark.long), pytest.param("sm_100", marks=pytest.mark.long)])
def test_nvcc(architecture, tmp_path, some):
    """nothing spilled, no stack frame, no warning; as many registers as the blocks that are counted on leave"""
    if not cuda.nvcc() or architecture not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it: make cuda")
    for shape, words in some(CASES, 2):
        path = compile_scheduled(shape, words, tmp_path, target=f"cuda-{architecture}")
        for kernel, of in cuda.ptxas(path, architecture, tmp_path / "k.o").items():
            assert of["spilled"] == 0 and of["stack"] == 0, (shape, kernel, of)
    for how, words, precision in some(NORMS, 4):
        path = norm_scheduled(how, words, precision, tmp_path, "norm", f"cuda-{architecture}")
        for kernel, of in cuda.ptxas(path, architecture, tmp_path / "k.o").items():
            assert of["spilled"] == 0 and of["stack"] == 0, (how, kernel, of)


@pytest.mark.parametrize("name, most", [("resnet50", 56), ("mobilenet_v2", 54), ("bert_base", 75), ("gpt_step", 62)])
@pytest.mark.sample(4)
def test_launches(name, most, tmp_path):
    """of a network in f16 (docs/measurements/gpu.md)"""
    path = cuda.compile_model(zoo.build(name), tmp_path, ["--precision=f16", "--weights=file", "--profile"], target="cuda-sm_90")
    assert int(re.search(r"\bMODEL_LAUNCHES (\d+)", path.with_suffix(".h").read_text())[1]) <= most
