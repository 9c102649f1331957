# SPDX-License-Identifier: MIT
"""--port NAME=LAYOUT: the same numbers, where the caller has them."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dnncc

F32 = TensorProto.FLOAT


def save(path, nodes, inputs, constants=(), outputs=("y",)):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, F32, s) for n, s in inputs], [helper.make_tensor_value_info(o, F32, None) for o in outputs],
                              [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def network(path, shape):
    """a convolution over as many dimensions as the shape has behind the channels, with 5 outputs, and pads"""
    rank, w = len(shape) - 2, np.random.default_rng(1).random((5, shape[1]) + (3,) * (len(shape) - 2), np.float32) - np.float32(.5)
    return save(path, [helper.make_node("Conv", ["x", "w"], ["v"], pads=[1] * 2 * rank), helper.make_node("Relu", ["v"], ["y"])], [("x", list(shape))], [("w", w)])


def laid(x, layout, fill=0):
    """x in a layout, as the option is documented"""
    word, _, row = layout.partition(",row=")
    letters = word.rstrip("0123456789") if word[0].isalpha() else ""
    if letters:
        model = sorted(letters, key="ncdhw".index)
        y = x.transpose([model.index(k) for k in letters])
        if len(word) > len(letters):
            block, c = int(word[len(letters):]), letters.index("c")
            y = np.pad(y, [(0, -n % block if d == c else 0) for d, n in enumerate(y.shape)], constant_values=fill)
            if c + 1 < len(letters):
                y = np.moveaxis(y.reshape(*y.shape[:c], -1, block, *y.shape[c + 1:]), c + 1, -1)
        if row:
            h = letters.index("h") + 1
            y = y.reshape(*y.shape[:h], -1)
            y = np.pad(y, [(0, 0)] * h + [(0, int(row) // x.itemsize - y.shape[-1])], constant_values=fill)
    else:
        y = x.transpose([int(k) for k in word])
    return np.ascontiguousarray(y)


def check(model, folder, x, y_layout, x_layout, *options, tolerance=2e-6):
    """in the interpreter and in C; what is filled up in the input is not read"""
    folder.mkdir(exist_ok=True)
    plain = dnncc.run([dnncc.DNNCC, model, "--run=given", *(o for o in options if not o.startswith("--target"))], cwd=prepared(folder / "plain", x))
    assert plain.returncode == 0, plain.stderr
    want = laid(np.load(folder / "plain" / "given" / "output_0.npy"), y_layout)
    ports = f"--port=x={x_layout}", f"--port=y={y_layout}"
    given = laid(x, x_layout, fill=np.nan)
    done = dnncc.run([dnncc.DNNCC, model, "--run=given", *ports, *options], cwd=prepared(folder / "laid", given))
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(folder / "laid" / "given" / "output_0.npy"), want, rtol=tolerance, atol=tolerance)
    dnncc.compile_model(model, folder, [*ports, *options])
    (got,) = dnncc.run_host(dnncc.build_host(folder, flags=["-O1", "-fsanitize=address,undefined"]), [given])
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=tolerance, atol=tolerance)


def prepared(folder, x):
    (folder / "given").mkdir(parents=True)
    np.save(folder / "given" / "input_0.npy", x)
    return folder


LAYOUTS = [((2, 3, 7, 9), "nhwc", "nhwc"), ((1, 3, 7, 9), "nhwc4", "nchw16"), ((2, 6, 5, 4), "nchw4", "nchw3"), ((1, 3, 7, 9), "nhwc,row=120", "nhwc,row=512"),
           ((1, 4, 6, 5), "nchw,row=32", "nchw4,row=100"), ((1, 3, 6, 5), "cnhw", "whcn"), ((1, 3, 6, 5), "0231", "3210"), ((2, 3, 8), "nwc", "nwc8"),
           ((1, 2, 3, 4, 5), "ndhwc", "ncdhw4"), ((1, 5, 3, 3), "nhwc8,row=96", "hnwc")]


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["generic", "native"])
@pytest.mark.parametrize("shape, x_layout, y_layout", LAYOUTS)
def test_layouts(shape, x_layout, y_layout, target, tmp_path):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check(network(tmp_path / "m.onnx", shape), tmp_path / "c", x, y_layout, x_layout, f"--target={target}")


def test_unbatched(tmp_path):
    """letters name the model's dimensions in their order: c h w of an image without a batch"""
    model = save(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"])], [("x", [3, 4, 5])])
    check(model, tmp_path / "c", np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32), "hwc4", "hwc,row=64")


def test_bytes(tmp_path):
    """pixels as a camera has them: bytes, four of each, rows at multiples of 64"""
    rng = np.random.default_rng(0)
    model, pixels = network(tmp_path / "m.onnx", (1, 3, 8, 10)), rng.integers(0, 256, (1, 3, 8, 10), np.uint8)
    dnncc.compile_model(model, tmp_path, ["--quantize-port=x=u8,0.00390625,0"])
    (want,) = dnncc.run_host(dnncc.build_host(tmp_path), [pixels])
    dnncc.compile_model(model, tmp_path, ["--quantize-port=x=u8,0.00390625,0", "--port=x=nhwc4,row=64"])
    (got,) = dnncc.run_host(dnncc.build_host(tmp_path), [laid(pixels, "nhwc4,row=64", fill=255)])
    np.testing.assert_array_equal(got, want)
    assert "MODEL_X_SHAPE {1, 8, 64}" in (tmp_path / "model.h").read_text()


def test_open(tmp_path):
    """as many images, and as wide, as a run has"""
    model = network(tmp_path / "m.onnx", ("N", 3, 6, "W"))
    dnncc.compile_model(model, tmp_path, ["--dim=N=1..4", "--dim=W=3..9", "--port=x=nhwc4", "--port=y=nhwc"])
    program = dnncc.build_host(tmp_path)
    for n, wide in (1, 3), (3, 7), (4, 9):
        x = np.random.default_rng(n).standard_normal((n, 3, 6, wide)).astype(np.float32)
        (tmp_path / "alone").mkdir(exist_ok=True)
        dnncc.compile_model(model, tmp_path / "alone", [f"--dim=N={n}", f"--dim=W={wide}"])
        (want,) = dnncc.run_host(dnncc.build_host(tmp_path / "alone"), [x])
        (got,) = dnncc.run_host(program, [laid(x, "nhwc4")])
        np.testing.assert_allclose(got, want.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)


def test_star(tmp_path):
    """a name with a star is of those ports that have so many dimensions"""
    model = save(tmp_path / "m.onnx", [helper.make_node("Flatten", ["x"], ["y"])], [("x", [1, 3, 4, 5])])
    dnncc.compile_model(model, tmp_path, ["--port=*=nhwc"])
    header = (tmp_path / "model.h").read_text()
    assert "X_SHAPE {1, 4, 5, 3}" in header and "Y_SHAPE {1, 60}" in header
    done = dnncc.run([dnncc.DNNCC, model, "--port=*=nwc", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.USAGE and "no input or output is called that" in done.stderr, done.stderr


def test_entries(tmp_path):
    """a port is one of any entry; a star stands for any characters, the last option that fits counts"""
    first = save(tmp_path / "a.onnx", [helper.make_node("Neg", ["image"], ["y"])], [("image", [1, 3, 4, 5])])
    second = save(tmp_path / "b.onnx", [helper.make_node("Abs", ["image2"], ["z"])], [("image2", [1, 3, 4, 5])], outputs=("z",))
    dnncc.compile_model(first, tmp_path, [second, "--port=im*=nhwc", "--port=image2=nwhc"])
    header = (tmp_path / "model.h").read_text()
    assert "_SHAPE {1, 4, 5, 3}" in header and "_SHAPE {1, 5, 4, 3}" in header


@pytest.mark.parametrize("port, says", [
    ("x=nhwx", "want NAME=LAYOUT"), ("x=nnhw", "want NAME=LAYOUT"), ("x=", "want NAME=LAYOUT"), ("=nhwc", "want NAME=LAYOUT"), ("x=0122", "want NAME=LAYOUT"), ("x=0124", "want NAME=LAYOUT"),
    ("x=nchw0", "want NAME=LAYOUT"), ("x=nchw99999", "want NAME=LAYOUT"), ("x=nhwc,row=", "want NAME=LAYOUT"), ("x=nhwc,row=0", "want NAME=LAYOUT"), ("x=nhwc,rows=64", "want NAME=LAYOUT"),
    ("x=nhwc,row=64,row=64", "want NAME=LAYOUT"), ("x=nwch,row=64", "want NAME=LAYOUT"), ("x=0231,row=512", "want NAME=LAYOUT"), ("x=nhw4", "want NAME=LAYOUT"),
    ("x=nwc", "the layout has 3 dimensions"), ("x=nhwc,row=100", "its rows have 108 bytes"), ("x=nhwc,row=110", "elements have 4 bytes"), ("z=nhwc", "no input or output is called that"),
])
def test_wrong(port, says, tmp_path):
    done = dnncc.run([dnncc.DNNCC, network(tmp_path / "m.onnx", (2, 3, 7, 9)), f"--port={port}", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.USAGE and says in done.stderr and not (tmp_path / "m.c").exists(), done.stderr


def test_state(tmp_path):
    """state is the code's own: it lies as it likes"""
    model = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "past"], ["y"])], [("x", [1, 3, 4, 5]), ("past", [1, 3, 4, 5])])
    for port in "past=nhwc", "y=nhwc":
        done = dnncc.run([dnncc.DNNCC, model, "--state=past=y", f"--port={port}", "-o", tmp_path / "m.c"])
        assert done.returncode == dnncc.USAGE and "it is state" in done.stderr, done.stderr


def test_dumps(tmp_path):
    """Tensor IR has ports as they lie; Loop IR has none that could lie otherwise"""
    model = network(tmp_path / "m.onnx", (1, 3, 7, 9))
    for emit, code in ("ir", 0), ("loops", dnncc.USAGE):
        assert dnncc.run([dnncc.DNNCC, model, f"--emit={emit}", *(["--passes="] if emit == "ir" else []), "-o", tmp_path / "m.text"]).returncode == 0
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.text", "--port=x=nhwc", "-o", tmp_path / "m.c"])
        assert done.returncode == code, done.stderr
