# SPDX-License-Identifier: MIT
"""Operators on images of which a run gives the number, the height and the width: samples at the points of a grid, blocks of pixels as channels,
normalizations. Each extent gives what onnxruntime gives, and on targets without vectors the bits of the code for that extent alone."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from test_resized import SANITIZED, compiled

import dnncc

F32, BOUND = TensorProto.FLOAT, 12


def model(path, op, inputs, constants=(), opset=20, ir_version=10, **attributes):
    """inputs: shapes by name"""
    graph = helper.make_graph([helper.make_node(op, [*inputs, *(f"c{i}" for i in range(len(constants)))], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info(name, F32, shape) for name, shape in inputs.items()],
                              [helper.make_tensor_value_info("y", F32, None)],
                              [onnx.numpy_helper.from_array(np.asarray(c), f"c{i}") for i, c in enumerate(constants)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version), path)
    return path


def compare(path, folder, inputs, extents, dims=lambda e: [f"--dim={n}={v}" for n, v in e.items()], bits=True):
    """extents: what a run gives for each symbol"""
    names = sorted({d for shape in inputs.values() for d in shape if isinstance(d, str)})
    least = {n: min(e[n] for e in extents) for n in names}
    program = compiled(path, folder / "any", *dims({n: f"{least[n]}..{BOUND}" for n in names}), "--target=generic", flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for i, e in enumerate(extents):
        rng = np.random.default_rng(i)
        feeds = {n: (rng.random([e.get(d, d) for d in shape], np.float32) - np.float32(.5)) * np.float32(2.4) for n, shape in inputs.items()}
        got, want = dnncc.run_host(program, list(feeds.values()))[0], session.run(None, feeds)[0]
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5, err_msg=str(e))
        if bits and i == 0:
            one = dnncc.run_host(compiled(path, folder / "one", *dims(e), "--target=generic"), list(feeds.values()))[0]
            np.testing.assert_array_equal(got, one)


@pytest.mark.sample(5, each=False)
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_grid_sample(mode, padding, align, tmp_path):
    """as many images, pixels and points as a run gives"""
    inputs = {"x": ("N", 2, "H", "W"), "grid": ("N", "R", 3, 2)}
    path = model(tmp_path / "m.onnx", "GridSample", inputs, mode=mode, padding_mode=padding, align_corners=align)
    compare(path, tmp_path, inputs, [dict(N=2, H=5, W=7, R=4), dict(N=1, H=2, W=2, R=1), dict(N=3, H=12, W=3, R=12)])


def test_a_row_of_one_pixel(tmp_path):
    """is reflected into itself"""
    inputs = {"x": (1, 1, "H", 4), "grid": (1, 3, 3, 2)}
    path = model(tmp_path / "m.onnx", "GridSample", inputs, padding_mode="reflection", align_corners=1)
    program = compiled(path, tmp_path / "any", f"--dim=H=1..{BOUND}", flags=SANITIZED)
    alone = compiled(path, tmp_path / "one", "--dim=H=1")
    feeds = [np.random.default_rng(0).random((1, 1, 1, 4), np.float32), np.random.default_rng(1).random((1, 3, 3, 2), np.float32) * 4 - 2]
    np.testing.assert_array_equal(dnncc.run_host(program, feeds)[0], dnncc.run_host(alone, feeds)[0])


def test_grids(tmp_path):
    """an image through a spatial transformer: AffineGrid of the image's own extents"""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("AffineGrid", ["theta", "s"], ["g"], align_corners=1),
             helper.make_node("GridSample", ["x", "g"], ["y"], align_corners=1)]
    inputs = {"x": ("N", 2, "H", "W"), "theta": ("N", 2, 3)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, F32, s) for n, s in inputs.items()], [helper.make_tensor_value_info("y", F32, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "m.onnx")
    compare(tmp_path / "m.onnx", tmp_path, inputs, [dict(N=2, H=5, W=7), dict(N=1, H=12, W=2), dict(N=3, H=2, W=12)])


@pytest.mark.parametrize("attributes", [{"op": "DepthToSpace", "mode": "DCR"}, {"op": "DepthToSpace", "mode": "CRD"}, {"op": "SpaceToDepth"}], ids=str)
def test_blocks(attributes, tmp_path):
    inputs = {"x": ("N", 8, "H", "W")}
    path = model(tmp_path / "m.onnx", inputs=inputs, blocksize=2, **attributes)
    if attributes["op"] == "DepthToSpace":
        compare(path, tmp_path, inputs, [dict(N=2, H=5, W=7), dict(N=1, H=1, W=12)])
        return

    def halves(e):
        return [f"--dim=N={e['N']}", *(o for n in "HW" for o in ((f"--dim={n}=2*{n}2", f"--dim={n}2=1..{BOUND // 2}") if ".." in str(e[n]) else (f"--dim={n}={e[n]}",)))]
    compare(path, tmp_path, inputs, [dict(N=2, H=6, W=8), dict(N=1, H=2, W=12)], halves)
    done = dnncc.run([dnncc.DNNCC, path, "--dim=N=1", "--dim=H=1..8", "--dim=W=4", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "blocksize 2 for an extent H that a run gives" in done.stderr and "--dim H=2*K" in done.stderr, done.stderr


def test_group_normalization(tmp_path):
    inputs = {"x": ("N", 6, "H", "W")}
    constants = [np.random.default_rng(i).random(6, np.float32) for i in range(2)]
    path = model(tmp_path / "m.onnx", "GroupNormalization", inputs, constants, 21, num_groups=3)
    compare(path, tmp_path, inputs, [dict(N=2, H=5, W=7), dict(N=1, H=1, W=12), dict(N=3, H=12, W=12)])


@pytest.mark.parametrize("attributes", [{"axis": 1, "p": 2}, {"axis": 0, "p": 2}, {"axis": 2, "p": 1}], ids=str)
def test_lp_normalization(attributes, tmp_path):
    inputs = {"x": ("N", 6, "H")}
    path = model(tmp_path / "m.onnx", "LpNormalization", inputs, **attributes)
    compare(path, tmp_path, inputs, [dict(N=2, H=5), dict(N=1, H=1), dict(N=12, H=12)])


@pytest.mark.parametrize("attributes", [{"sampling_ratio": 2}, {"sampling_ratio": 0}, {"sampling_ratio": 3, "mode": "max"},
                                        {"coordinate_transformation_mode": "output_half_pixel", "spatial_scale": .5}], ids=str)
def test_regions(attributes, tmp_path):
    """as many regions as a run gives, of as many images, of as many pixels"""
    inputs = {"x": (F32, ["N", 3, "H", "W"]), "regions": (F32, ["R", 4]), "images": (TensorProto.INT64, ["R"])}
    graph = helper.make_graph([helper.make_node("RoiAlign", [*inputs], ["y"], output_height=3, output_width=2, **attributes)], "g",
                              [helper.make_tensor_value_info(n, *t) for n, t in inputs.items()], [helper.make_tensor_value_info("y", F32, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), tmp_path / "m.onnx")
    program = compiled(tmp_path / "m.onnx", tmp_path / "any", "--dim=N=1..3", "--dim=R=0..5", "--dim=H=1..20", "--dim=W=1..20", flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    for n, regions, h, w in (2, 4, 9, 12), (1, 1, 20, 20), (3, 5, 4, 1), (1, 3, 1, 20):
        rng = np.random.default_rng(h)
        corner = rng.random((regions, 2)) * (w, h)
        feeds = {"x": rng.random((n, 3, h, w), np.float32), "images": rng.integers(0, n, regions),
                 "regions": np.concatenate([corner, corner + rng.random((regions, 2)) * (w, h)], 1).astype(np.float32)}
        feeds = {name: feeds[name] for name in inputs}
        got, want = dnncc.run_host(program, list(feeds.values()))[0], session.run(None, feeds)[0]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=str((n, regions, h, w)))
