# SPDX-License-Identifier: MIT
"""Reductions over all positions of an image behind a convolution, by the blocks that have these (engines/grid/warps_pool.c): one launch, the bits of two."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import zoo  # noqa: E402

# up to the schedules, which are given here
PASSES = "--passes=simplify,fold,cse,dce,peel,precision,microbatch,layout,simplify,fold,cse,requantize,dce,hoist,winograd,shares,fuse,offload,schedule"

# parts, outputs that fill no panel, positions that fill no tile and those that do, several panels, more outputs than lanes, windows and groups, images
# of which a tile has several and the last one fewer, what else reduces, and stands behind it
CASES = [({}, "tile=64 warps=4 stages=2 depth=64", "f16"), ({"residual": True}, "tile=64 warps=4 stages=4 depth=64 parts=2", "f16"),
         ({"outputs": 100, "residual": True}, "tile=64 warps=2 panels=2 stages=2 depth=16 parts=4", "f16"),
         ({"outputs": 40, "size": (3, 5), "channels": 128}, "tile=16 stages=2 depth=16 parts=2", "f16"),
         ({"outputs": 100, "size": (8, 8), "residual": True}, "tile=64 warps=2 panels=3 depth=32", "f16"),
         ({"size": (4, 4), "channels": 128}, "tile=64 warps=2 panels=2 depth=16 parts=8", "f16"),
         ({"size": (6, 7), "window": 3, "residual": True, "kind": "ReduceMean"}, "tile=48 warps=1 depth=64 parts=2", "bf16"),
         ({"images": 5, "size": (4, 4)}, "tile=64 warps=1 depth=64", "f16"), ({"images": 3, "size": (2, 4), "outputs": 33, "residual": True}, "tile=16 depth=32 parts=2", "f16"),
         ({"outputs": 64, "channels": 64, "groups": 2, "window": 3}, "tile=64 warps=2 depth=16", "f16"),
         ({"kind": "GlobalMaxPool", "outputs": 48}, "tile=64 warps=2 panels=2 depth=32 parts=2", "f16"), ({"images": 4, "size": (2, 2), "behind": "Sigmoid"}, "tile=16 depth=64", "f16"),
         ({"residual": True}, "tile=64 warps=4 depth=32 parts=2", "f32"), ({"outputs": 100}, "tile=64 warps=2 depth=16", "f32"), ({"outputs": 100, "residual": True}, "tile=64 depth=32 parts=2", "tf32"),
         ({"size": (70,), "window": 5}, "tile=96 warps=2 depth=64", "f16"), ({"size": (3, 3, 5), "residual": True}, "tile=48 depth=32 parts=2", "f16")]


def floats(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def network(path, images=1, channels=256, size=(7, 7), outputs=96, window=1, groups=1, residual=False, kind="GlobalAveragePool", axes=None, behind=None,
            shown=False):
    """y = pool(relu(convolve(x) + r)) and what stands behind it; shown: what is pooled is a result, too"""
    given = [helper.make_tensor_value_info("x", T.FLOAT, [images, channels, *size])]
    weights = {"w": floats((outputs, channels // groups, *[window] * len(size)), 1) / 8, "b": floats(outputs, 2)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], [s := "s"], pads=[window // 2] * 2 * len(size), group=groups)]
    if residual:
        given.append(helper.make_tensor_value_info("r", T.FLOAT, [images, outputs, *size]))
        nodes.append(helper.make_node("Add", ["s", "r"], [s := "t"]))
    nodes += [helper.make_node("Relu", [s], ["p"]), helper.make_node(kind, ["p"], ["q" if behind else "y"], **({"axes": axes or range(2, 2 + len(size))} if kind == "ReduceMean" else {}))]
    if behind:
        nodes.append(helper.make_node(behind, ["q"], ["y"]))
    results = [helper.make_tensor_value_info(name, T.FLOAT, None) for name in ("y", "p")[:1 + shown]]
    graph = helper.make_graph(nodes, "pool", given, results, [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def inputs(images=1, channels=256, size=(7, 7), outputs=96, residual=False, **_):
    return [floats((images, channels, *size), 7)] + [floats((images, outputs, *size), 8)] * residual


def scheduled(how, words, precision, folder, name, target="cuda-sm_90", options=()):
    """the convolution by these words"""
    written = folder / f"{name}.dnn"
    options = [f"--precision={precision}", *options]
    done = dnncc.run([dnncc.DNNCC, network(folder / f"{name}.onnx", **how), f"--target={target}", *options, PASSES, "--emit=ir", "-o", written])
    assert done.returncode == dnncc.OK, done.stderr
    text, count = re.subn(r'schedule="tile=[^"]*"', f'schedule="{words}"', written.read_text())
    assert count == 1
    written.write_text(text)
    return cuda.compile_model(written, folder, options, name=name, target=target)


def launch_count(path):
    return len(re.findall(r"\blaunch\w*\(\(const void \*\)", path.read_text()))


def is_one(path):
    """a launch that stores no position"""
    return re.search(r"convolve_packed.*reduce", path.read_text().replace("\n * ", " ")) is not None


def reference(folder, name, given):
    names = [i.name for i in onnx.load(folder / f"{name}.onnx").graph.input]
    return ReferenceEvaluator(str(folder / f"{name}.onnx")).run(None, dict(zip(names, given)))[0]


def test_cases(tmp_path, some):
    """the bits of a pool with a launch of its own in all executions, and no race"""
    paths, given = [], {}
    cases = some(CASES, 2)
    for i, (how, words, precision) in enumerate(cases):
        one, two = (scheduled(how, words + more, precision, tmp_path, f"{name}{i}") for name, more in (("one", " fused_pool=1"), ("two", "")))
        assert is_one(one) and not is_one(two) and launch_count(one) == launch_count(two) - 1, how
        paths += [one, two]
        given.update({p.stem: inputs(**how) for p in (one, two)})
    for flags, executions in (cuda.OPTIMIZE, cuda.SIX), (cuda.CHECKED, cuda.TWO):
        got = cuda.run(cuda.build(paths, tmp_path, flags=flags), given, tmp_path, executions)
        for i, (how, words, precision) in enumerate(cases):
            one, two = got[f"one{i}"], got[f"two{i}"]
            assert not isinstance(one, cuda.Found) and not isinstance(two, cuda.Found), (how, one, two)
            assert np.array_equal(one[0].view(np.int32), two[0].view(np.int32)), (how, words)
            want = reference(tmp_path, f"one{i}", given[f"one{i}"])
            assert np.abs(one[0].reshape(want.shape) - want).max() < (1e-5 if precision == "f32" else 2e-2) * np.abs(want).max(), (how, words)
            assert cuda.counts[f"one{i}"]["conflicts"] == 0, (how, words)


def test_check(tmp_path):
    """each pass leaves the same values, by the interpreter"""
    for i in (2, 8):
        scheduled(CASES[i][0], f"{CASES[i][1]} fused_pool=1", "f16", tmp_path, "model")
        done = dnncc.run([dnncc.DNNCC, tmp_path / "model.dnn", "--target=cuda-sm_90", "--precision=f16", "--stats", "--check", "-o", tmp_path / "again.cu"])
        said = done.stdout + done.stderr
        assert done.returncode == dnncc.OK and re.search(r"stats: pools +1 rewrites", said), said
        assert not re.search(r"check: \w+: (?!equal|within)", said), said


BY_HAND = """dnn 1
module "m"
func @main(%x "x": <1 x 1 x 7 x 7 x 64 x f16>, %w "w": <2 x 1 x 1 x 1 x 8 x 4 x 64 x f16>) -> ("y") {
  %0 = fusion(%x, %w) : <1 x 1 x 64 x f32> {
    %1 = convolve_packed(%x, %w) channels=64 outputs=64 block=64 accumulator=f32 schedule="tile=64 warps=4 depth=64 fused_pool=1" : <1 x 1 x 7 x 7 x 64 x f32>
    %2 = reduce(%1, <2 x i64> [2, 3]) : <1 x 1 x 64 x f32>
    BEHIND
  }
  yield(%0)
}
"""
# what stands behind the reduction; does a block's lane do it?
BEHIND = [("yield(%2)", True), ("%3 = reduce(%2, <1 x i64> 2) : <1 x 1 x f32>\n %4 = broadcast(%3) dims=[0, 1] : <1 x 1 x 64 x f32>\n %5 = sub(%2, %4) : <1 x 1 x 64 x f32>\n yield(%5)", False)]


def test_by_hand(tmp_path):
    """a lane has one output alone: what needs others is computed without blocks of warps"""
    for behind, pooled in BEHIND:
        (tmp_path / "m.dnn").write_text(BY_HAND.replace("BEHIND", behind))
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=cuda-sm_90", "--passes=lower,grid,legalize,registers,plan,prune", "--check", "-o", tmp_path / "m.cu"])
        said = done.stdout + done.stderr
        assert done.returncode == dnncc.OK and not re.search(r"check: \w+: (?!equal|within)", said), said
        assert ("multiply_f16" in (tmp_path / "m.cu").read_text()) == pooled, behind


def test_apart(tmp_path):
    """more positions than a tile has, images that tiles do not have whole, parts that are no cluster, another reader, a dimension that stays"""
    for how, words, target in [({}, "tile=48 warps=1 depth=64", "cuda-sm_90"), ({"images": 2}, "tile=64 warps=4 depth=64", "cuda-sm_90"), ({}, "tile=64 warps=4 depth=32 parts=2", "cuda-sm_80"),
                               ({"shown": True}, "tile=64 warps=4 depth=64", "cuda-sm_90"), ({"kind": "ReduceMean", "axes": [3]}, "tile=64 warps=4 depth=64", "cuda-sm_90")]:
        path = scheduled(how, f"{words} fused_pool=1", "f16", tmp_path, "apart", target)
        assert not is_one(path) and "fused_pool=1" in path.read_text(), how


def test_no_clusters(tmp_path):
    """where there are none, a block by itself pools"""
    path = scheduled({"residual": True}, "tile=64 warps=4 depth=64 fused_pool=1", "f16", tmp_path, "model", "cuda-sm_80")
    assert is_one(path) and "cluster" not in path.read_text()


@pytest.mark.parametrize("target", ["cuda-sm_90", "cuda-sm_80"])
def test_chosen(target, tmp_path):
    """where a launch less is predicted to be faster, as behind ResNet-50; not where tiles would have to be so large that few blocks have all to do"""
    for how, chosen in ({"channels": 512, "outputs": 2048, "residual": True}, True), ({"channels": 512, "size": (14, 14), "outputs": 64, "window": 3}, False), ({"images": 2}, False):
        path = cuda.compile_model(network(tmp_path / "m.onnx", **how), tmp_path, ["--precision=f16"], target=target)
        assert is_one(path) == ("fused_pool=1" in path.read_text()) == chosen, how


MISTAKES = {
    "the barrier before positions dropped": (r"__syncthreads\(\);(?=\n *const int warp\d+ = threadIdx.y;\n *const int lane\d* = threadIdx.x;\n *const int at\d+ = warp)", ""),
    "the other block's outputs": (r"share \* 16(?= \+ at3)", "(1 - share) * 16"),
    "a position less": (r"k2 < 49", "k2 < 48"),
    "a position that is none": (r"k2 < 49", "k2 < 50"),
}


@pytest.mark.parametrize("what", MISTAKES)
@pytest.mark.sample(3)
def test_mistakes(what, tmp_path):
    how, words, precision = CASES[1]
    path, right = (scheduled(how, f"{words} fused_pool=1", precision, tmp_path, name) for name in ("model", "right"))
    cuda.plant(path, MISTAKES[what])
    got = cuda.run(cuda.build([path, right], tmp_path, flags=[*cuda.CHECKED]), dict.fromkeys(("model", "right"), inputs(**how)), tmp_path, cuda.SIX)
    assert isinstance(got["model"], cuda.Found) or not np.array_equal(got["model"][0], got["right"][0]), what


@pytest.mark.parametrize("architecture", ["sm_90", *(pytest.param(a, marks=pytest.mark.long) for a in ("sm_80", "sm_90a", "sm_100"))])
def test_nvcc(architecture, tmp_path, some):
    """nothing spilled, no stack frame, no warning"""
    if not cuda.nvcc() or architecture not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it: make cuda")
    for how, words, precision in some(CASES, 4):
        if architecture == "sm_80" and "parts" in words:
            continue
        path = scheduled(how, f"{words} fused_pool=1", precision, tmp_path, "model", f"cuda-{architecture}")
        assert is_one(path), how
        for kernel, of in cuda.ptxas(path, architecture, tmp_path / "k.o").items():
            assert of["spilled"] == 0 and of["stack"] == 0, (how, kernel, of)
