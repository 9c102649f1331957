"""mistakes.txt: commands that are wrong, and all that is said of them."""
import os
import pathlib
import re
import shlex
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

TABLE = pathlib.Path(__file__).with_name("mistakes.txt")


def cases():
    """(command, exit code, text)"""
    lines = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:]])
        else:
            found[-1].append(line)
    for command, *said in found:
        code, first = (said[0] + " ").split(" ", 1)
        yield command, int(code), "\n".join([first.strip(), *said[1:]]).strip()


def save(path, nodes, inputs, outputs, constants=()):
    path.parent.mkdir(exist_ok=True)
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in constants])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("mistakes")
    node, port, weights = helper.make_node, helper.make_tensor_value_info, np.arange(2304, dtype=np.float32).reshape(16, 16, 3, 3)
    f32, i32 = TensorProto.FLOAT, TensorProto.INT32
    for name in ("relu.onnx", "my models/net 1,28.onnx"):
        save(top / name, [node("Relu", ["x"], ["y"], "r")], [port("x", f32, [2, 3])], [port("y", f32, [2, 3])])
    save(top / "conv.onnx", [node("Conv", ["image", "w"], ["middle"], "conv1", pads=[1] * 4), node("Relu", ["middle"], ["result"], "relu1")],
         [port("image", f32, [1, 16, 11, 11])], [port("result", f32, [1, 16, 11, 11])], [("w", weights)])
    save(top / "open.onnx", [node("Cast", ["bytes"], ["numbers"], "cast1", to=1), node("Abs", ["numbers"], ["y"], "abs1")],
         [port("bytes", i32, ["batch", 2048])], [port("y", f32, ["batch", 2048])])
    save(top / "ranks.onnx", [node("Abs", ["x"], ["y"], "abs1")], [port("x", f32, [1, None, 4])], [port("y", f32, None)])
    save(top / "my models" / "open 2.onnx", [node("Add", ["x", "y"], ["z"], "add1")], [port("x", f32, ["N"]), port("y", f32, None)], [port("z", f32, None)])
    (top / "models").mkdir()
    (top / "models" / "broken.onnx").write_bytes(b"\x08\x07\x12\x04abc")
    (top / "open.dnn").write_text('dnn 1\nmodule "m"\nsymbol N <= 64\nfunc @main(%x "x": <N x 3 x f32>) -> ("y") {\n'
                                  '  %0 = max(%x, 0.0) : <N x 3 x f32>\n  yield(%0)\n}\n')
    (top / "bad.schedule").write_text("dnncc-schedule 1\n; of nothing\nconvolve_packed: colums=2\n")
    (top / "other.schedule").write_text("dnncc-schedule 1\nconvolve_packed <1 x 1 x 1 x 1 x 16 x f32>: columns=2\n")
    return top


def pattern(text):
    """... is any text of a line"""
    return "[^\n]*".join(re.escape(part) for part in text.split("..."))


@pytest.mark.parametrize("command, code, text", list(cases()))
def test_mistake(folder, command, code, text):
    program, *arguments = shlex.split(command)
    assert program == "dnncc"
    before = sorted(os.listdir(folder))
    done = dnncc.run([dnncc.DNNCC, *arguments], cwd=folder)
    assert done.returncode == code and re.fullmatch(pattern(text), done.stderr.strip()), done.stderr
    assert code == 0 or sorted(os.listdir(folder)) == before, "nothing is written after an error"


def test_table():
    commands = [command for command, _, _ in cases()]
    assert len(commands) == len(set(commands)) >= 50
