# SPDX-License-Identifier: MIT
"""mistakes.txt: commands that are wrong, and all that is said of them."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import terminal  # noqa: E402

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
    (top / "sums.schedule").write_text("dnncc-schedule 1\nconvolve <1 x 16 x 11 x 11 x f32> <16 x 16 x 3 x 3 x f32> pads=1,1,1,1: sums=7 along=5\n")
    (top / "other.schedule").write_text("dnncc-schedule 1\nconvolve_packed <1 x 1 x 1 x 1 x 16 x f32>: columns=2\n")
    (top / "zoo.list").write_text("# the zoo\nrelu.onnx --tagret=native -o relu.c\n")
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


def test_messages_as_json(folder):
    """of each mistake, a line of JSON for each message, of the same words"""
    hints = 0
    for command, code, text in cases():
        done = dnncc.run([dnncc.DNNCC, "--error-format=json", *shlex.split(command)[1:]], cwd=folder)
        said = [json.loads(line) if line.startswith('{') else pytest.fail(line) for line in done.stderr.splitlines()]
        assert done.returncode == code and {m["code"] for m in said if m["kind"] == "error"} <= {code}
        lines = [f"{m['file'] or 'dnncc'}: {m['kind']}: {'' if m['line'] is None or m['text'].startswith('line ') else 'line %d: ' % m['line']}{m['text']}" for m in said]
        assert re.fullmatch(pattern(text), "\n".join(lines)), lines
        hints += sum(m["hint"] is not None for m in said)
        assert all(m["hint"] is None or m["hint"] in m["text"][20:] for m in said)
    assert hints > 30


def test_members_of_json(tmp_path):
    save(tmp_path / "m.onnx", [helper.make_node("Conv", ["x", "w"], ["y"], "conv1", pads=[1, 2, 3]), helper.make_node("Nonsense", ["y"], ["z"])],
         [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])], [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
         [("w", np.ones((2, 2, 3, 3), np.float32))])

    def said(*arguments):
        return json.loads(dnncc.run([dnncc.DNNCC, *arguments, "--error-format=json"], cwd=tmp_path).stderr)
    wrong = said("m.onnx")
    assert wrong.pop("text").startswith("node 'conv1' (Conv)")
    assert wrong == {"kind": "error", "code": 3, "file": "m.onnx", "line": None, "node": "conv1", "operator": "Conv", "numbers": [3, 4], "hint": None}, wrong
    (tmp_path / "bad.schedule").write_text("dnncc-schedule 1\nnonsense\n")
    save(tmp_path / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])], [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
         [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    assert said("relu.onnx", "--target=x86-64", "--schedule=bad.schedule")["line"] == 2
    assert said("--error-format", "json", "--max-ram=lots")["file"] is None


# How to go on: a form that is wanted, what there is, an option or command to use or leave, what a file must hold. What lies in the
# system, or in the middle of a broken file, is said in words of the system, or of the file.
REMEDY = re.compile(r"\bwants?\b|\bmust\b|\bas in\b|\badd -|\bnot with\b|\btry\b|did you mean|there (is|are) '|--help|=help|is for (one target|what)|"
                    r"takes the inputs of one|it is a node|changes nothing (for|with)|follows no|none of its lines|one model at a time|"
                    r"the first line is not|dimension \d+ of the input is|failed to compile")
SYSTEM = ("No such file or directory", "models/broken.onnx: error: ")


@pytest.mark.parametrize("command, code, text", list(cases()))
def test_message_says_how_to_go_on(command, code, text):
    assert not text or REMEDY.search(text) or any(words in text for words in SYSTEM), "what would the user do next?"


def test_table():
    commands = [command for command, _, _ in cases()]
    assert all("\\x" not in text for _, _, text in cases()), "what the user wrote is said as it was written"
    assert len(commands) == len(set(commands)) >= 70


def test_colour(folder):
    """of the word alone; never where somebody asked for none"""
    def said(*arguments, **variables):
        return dnncc.run([dnncc.DNNCC, *arguments], cwd=folder, env={**os.environ, **variables}).stderr
    plain = said("relu.onnx", "--name=int")
    assert "\033" not in plain
    assert said("relu.onnx", "--name=int", "--color=always") == plain.replace("error:", "\033[1;31merror:\033[0m", 1)
    assert said("conv.onnx", "--precision=bf16", "-o", os.devnull, "--emit=ir", "--color=always").count("\033[1;35mwarning:\033[0m") <= 1
    ours, theirs = terminal.pair()
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        subprocess.run([dnncc.DNNCC, "relu.onnx", "--name=int"], cwd=folder, stderr=theirs, env={**os.environ, "TERM": "xterm", **variables})
        assert (b"\033[1;31merror:" in os.read(ours, 4096)) == coloured, variables


def test_help():
    """within 100 columns; a group alone"""
    text = dnncc.run([dnncc.DNNCC, "--help"]).stdout
    assert text == dnncc.run([dnncc.DNNCC, "-h"]).stdout and max(map(len, text.splitlines())) <= 100
    for topic, option, other in (("code", "--exact", "--stats"), ("model", "--dim", "--exact"), ("Testing", "--bench", "--dim"), ("the model", "--dim", "-v")):
        part = dnncc.run([dnncc.DNNCC, f"--help={topic}"]).stdout
        assert f"\n  {option}" in part and f"\n  {other}" not in part and part[part.index("  "):] in text


def test_verbose_ends_in_what_to_do(folder):
    done = dnncc.run([dnncc.DNNCC, "conv.onnx", "-v", "-o", "out.c", "--name=net"], cwd=folder)
    made, build, use = done.stderr.splitlines()[-3:]
    size = re.search(r"NET_WORKSPACE_SIZE +(\d+)u", (folder / "out.h").read_text())[1]
    assert made == f"conv.onnx: note: wrote out.c and out.h: {made.split(': ')[3]}: workspace {size} bytes, constants 9216 bytes", done.stderr
    assert build == "conv.onnx: note: compile it: cc -O2 -c out.c"
    assert use == "conv.onnx: note: call it: net_run, as out.h declares it, with NET_WORKSPACE_DEFINE(memory) for a workspace"
    assert dnncc.run(shlex.split(build.partition("compile it: ")[2]), cwd=folder).returncode == 0
    for name in ("out.c", "out.h", "out.o"):
        (folder / name).unlink()
