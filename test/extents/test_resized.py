# SPDX-License-Identifier: MIT
"""Images of a height and width that a run gives are resized: by scales, to extents that are numbers, and to those of another input. Each extent
gives what onnxruntime gives, and on targets without vectors the bits of the code for that extent alone."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
F32, BOUND = TensorProto.FLOAT, 24


def resize(path, sizes=None, scales=None, like=False, shape=(2, 3, "H", "W"), opset=19, **attributes):
    """x of H rows and W columns, resized; like: to the rows and columns of another input y"""
    constants = [onnx.numpy_helper.from_array(np.array(values, kind), name)
                 for name, values, kind in (("scales", scales, np.float32), ("sizes", sizes, np.int64)) if values is not None]
    nodes, inputs = [], [helper.make_tensor_value_info("x", F32, shape)]
    if like:
        inputs.append(helper.make_tensor_value_info("y", F32, (1, 1, "R", "C")))
        nodes += [helper.make_node("Shape", ["x"], ["xs"], end=2), helper.make_node("Shape", ["y"], ["ys"], start=2),
                  helper.make_node("Concat", ["xs", "ys"], ["sizes"], axis=0)]
    names = ["x", "", "scales"] if scales is not None else ["x", "", "", "sizes"]
    nodes.append(helper.make_node("Resize", names, ["z"], **attributes))
    outputs = [helper.make_tensor_value_info("z", F32, None)] + ([helper.make_tensor_value_info("ys", TensorProto.INT64, [2])] if like else [])
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def compiled(model, folder, *options, flags=("-O1",)):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    return dnncc.build_host(folder, flags)


def compare(model, folder, extents, bits=True, shape=(2, 3)):
    """extents: (H, W), or (H, W, R, C)"""
    names = "HWRC"[:len(extents[0])]
    program = compiled(model, folder / "any", *(f"--dim={name}=1..{BOUND}" for name in names), "--target=generic", flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for i, e in enumerate(extents):
        rng = np.random.default_rng(i)
        feeds = {"x": rng.random((*shape, *e[:2]), np.float32) * 2 - 1}
        if len(e) > 2:
            feeds["y"] = rng.random((1, 1, *e[2:]), np.float32)
        got, want = dnncc.run_host(program, list(feeds.values())), session.run(None, feeds)
        assert got[0].shape == want[0].shape, (e, got[0].shape)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-5, err_msg=str(e))
        if bits and i == 0:
            one = dnncc.run_host(compiled(model, folder / "one", *(f"--dim={n}={v}" for n, v in zip(names, e)), "--target=generic"), list(feeds.values()))
            np.testing.assert_array_equal(got[0], one[0], err_msg=str(e))


MODES = {"linear": {}, "cubic": {"cubic_coeff_a": -.5}, "nearest": {"nearest_mode": "floor"}}
TRANSFORMS = "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"
SCALES = (2, 2), (3, 1.5), (.5, .25), (1, 1 / 3)
EXTENTS = [(5, 7), (1, 1), (24, 3), (13, 24)]


@pytest.mark.sample(9, each=False)
@pytest.mark.parametrize("scales", SCALES, ids=str)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("mode", MODES)
def test_scales(mode, transform, scales, tmp_path):
    model = resize(tmp_path / "m.onnx", scales=(1, 1, *scales), mode=mode, coordinate_transformation_mode=transform, **MODES[mode])
    compare(model, tmp_path, [e for e in EXTENTS if all(int(n * s) for n, s in zip(e, scales))])


@pytest.mark.sample(4, each=False)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("mode", MODES)
def test_like_another(mode, transform, tmp_path):
    """what joins a decoder's features with those of the encoder: the other's extents are the result's"""
    model = resize(tmp_path / "m.onnx", like=True, mode=mode, coordinate_transformation_mode=transform, **MODES[mode])
    compare(model, tmp_path, [(5, 7, 10, 14), (7, 5, 3, 9), (1, 1, 4, 1), (24, 2, 1, 24), (6, 6, 6, 6)])


@pytest.mark.parametrize("mode", MODES)
def test_to_numbers(mode, tmp_path):
    """an image of any size becomes one of 9 x 16, as classifiers want it"""
    model = resize(tmp_path / "m.onnx", sizes=(2, 3, 9, 16), mode=mode, **MODES[mode])
    compare(model, tmp_path, EXTENTS)


@pytest.mark.parametrize("options", [{"exclude_outside": 1, "mode": "cubic"}, {"antialias": 1, "mode": "linear"}, {"antialias": 1, "mode": "cubic"}], ids=str)
def test_kernels_at_borders(options, tmp_path):
    model = resize(tmp_path / "m.onnx", scales=(1, 1, .5, .75), **options)
    compare(model, tmp_path, [(8, 12), (24, 4), (2, 9)])


def test_antialias_to_a_number(tmp_path):
    model = resize(tmp_path / "m.onnx", sizes=(2, 3, 4, 5), mode="linear", antialias=1)
    compare(model, tmp_path, [(8, 12), (24, 4), (3, 3)])


def test_channels_last_and_batches(tmp_path):
    """extents side by side and of the batch are those of a run, too"""
    model = resize(tmp_path / "m.onnx", scales=(1, 2, 2, 1), shape=("H", "W", 5, 3), mode="linear")
    program = compiled(model, tmp_path / "any", f"--dim=H=1..{BOUND}", f"--dim=W=1..{BOUND}", flags=SANITIZED)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for e in (1, 4), (3, 9):
        x = np.random.default_rng(0).random((*e, 5, 3), np.float32)
        np.testing.assert_allclose(dnncc.run_host(program, [x])[0], session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_a_scale_without_a_term(tmp_path):
    """products of f32, rounded down, that no quotient of small numbers gives at each extent"""
    model = resize(tmp_path / "m.onnx", scales=(1, 1, 1.2345678, 1), mode="linear")
    done = dnncc.run([dnncc.DNNCC, model, "--dim=H=1..900", "--dim=W=4", "-o", tmp_path / "m.c"])
    assert done.returncode == 4 and "scales[2] is 1.23457 along an extent H that a run gives" in done.stderr, done.stderr


def test_keep_aspect_ratio(tmp_path):
    """the ratio of extents that a run gives is none that a term has"""
    model = resize(tmp_path / "m.onnx", like=True, mode="linear", keep_aspect_ratio_policy="not_larger")
    done = dnncc.run([dnncc.DNNCC, model, *(f"--dim={n}=1..9" for n in "HWRC"), "-o", tmp_path / "m.c"])
    assert done.returncode == 4 and "Resize" in done.stderr, done.stderr
