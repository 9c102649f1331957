# SPDX-License-Identifier: MIT
"""--max-ram: what fits as for speed is left so; the rest is tried step by step, for one target and for several, and an error says what is in
the way."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

TARGETS = ["generic", "x86-64-v4", "generic,x86-64-v3,x86-64-v4"]


@pytest.fixture
def model(tmp_path):
    """four convolutions that Winograd's algorithm is worth it for, with a branch, less what a global pool makes of them"""
    r, nodes, constants = np.random.default_rng(0), [], []
    for i in range(4):
        constants.append(numpy_helper.from_array(r.standard_normal((64, 64, 3, 3)).astype(np.float32) / 24, f"w{i}"))
        nodes.append(helper.make_node("Conv", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}"], name=f"conv{i}", pads=[1] * 4))
    nodes += [helper.make_node("Add", ["v2", "v4"], ["sum"], name="add"), helper.make_node("GlobalAveragePool", ["sum"], ["mean"], name="pool"),
              helper.make_node("Sub", ["sum", "mean"], ["y"], name="less")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 64, 28, 28]), ("y", [1, 64, 28, 28]))]
    made = helper.make_model(helper.make_graph(nodes, "m", ports[:1], ports[1:], constants), opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    onnx.save(made, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def compile_with(model, target, *options):
    """size of the workspace, what -v says, and the C but for its head and hashes; None instead of the size: it is more than the budget"""
    done = dnncc.run([dnncc.DNNCC, model, "-v", f"--target={target}", "-o", model.with_name("model.c"), *options])
    assert done.returncode in (dnncc.OK, dnncc.BUDGET), done.stderr
    if done.returncode == dnncc.BUDGET:
        return None, done.stderr, ""
    size = int(re.search(r"WORKSPACE_SIZE (\d+)u", model.with_name("model.h").read_text()).group(1))
    return size, done.stderr, re.sub(r"[0-9A-Fa-f]{16,}", "", model.with_name("model.c").read_text().split("#include", 1)[1])


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TARGETS)
def test_steps(target, model):
    """A budget of what speed takes changes nothing; one byte less, and something is done about it, more and more until it is met."""
    plain, _, text = compile_with(model, target)
    size, notes, same = compile_with(model, target, f"--max-ram={plain}")
    assert size == plain and "compiled again" not in notes and same == text
    while size:
        budget = size - 1
        size, notes, _ = compile_with(model, target, f"--max-ram={budget}")
        assert "compiled again" in notes and (size is None or size <= budget)
        if target != "generic" and budget == plain - 1:
            assert "with rows passed on" not in notes, "Winograd's algorithm is given up first"
        if size:
            size = min(size, budget - plain // 8)
    assert "compiled again with rows passed on" in notes and ("without blocked tensors" in notes) == (target != "generic")
    assert ("without Winograd's algorithm" in notes) == (target != "generic")


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS[:2])
@pytest.mark.slow
@pytest.mark.sample(2)
def test_restart(target, model):
    """A dump of any stage says what was done to stay within the budget, and goes on to the same C with it."""
    folder, tried = model.parent, []
    plain, _, _ = compile_with(model, target)
    for budget in plain, plain - 1, plain * 3 // 4, plain // 2, plain // 3:
        dumps = folder / str(budget)
        if compile_with(model, target, f"--max-ram={budget}", f"--dump-dir={dumps}")[0] is None:
            continue
        want = (folder / "model.c").read_text()
        for dump in sorted(dumps.glob("*.dnn")) + sorted(dumps.glob("*.loops")):
            tried += re.findall(r' within "(\w+)"', dump.read_text().split("\n", 2)[1])
            dnncc.run([dnncc.DNNCC, dump, f"--target={target}", f"--max-ram={budget}", "-o", folder / "model.c"])
            assert (folder / "model.c").read_text() == want, dump
    assert set(tried) >= ({"speed", "rows"} if target == "generic" else {"speed", "direct", "rows"}), tried
    dump.write_text(dump.read_text().replace(f'within "{tried[-1]}"', 'within "nothing"'))
    done = dnncc.run([dnncc.DNNCC, dump, f"--target={target}", "--max-ram=1M", "-o", folder / "model.c"])
    assert done.returncode == dnncc.INVALID and "is called 'nothing'" in done.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_error(target, model):
    """bytes taken and allowed, the least, the kernel, the tensors, what keeps rows from being passed on, and what would be enough"""
    done = dnncc.run([dnncc.DNNCC, model, f"--target={target}", "-o", model.with_name("model.c"), "--max-ram=5K"])
    assert done.returncode == dnncc.BUDGET
    found = re.search(r"the workspace takes (\d+) bytes, --max-ram allows 5120\n  least     \1 bytes, of all ways that were tried; in any order these "
                      r"kernels take (\d+) or more\n  most      where '(\S+)[^']*' runs\n  largest   (.*?)\n(  rows      .*\n)?"
                      r"  try       --max-ram=\1, which is enough; a smaller shape \(--input, --dim\); --quantize: bytes for floats\n$",
                      done.stderr, re.DOTALL)
    assert found and 5120 < int(found.group(2)) <= int(found.group(1)), done.stderr
    tensors = [int(n) for n in re.findall(r"^ *\S+ (\d+)(?: \([^)]*\))?$", found.group(4), re.MULTILINE)]
    assert 1 <= len(tensors) <= 5 and sum(tensors) <= int(found.group(1)) and tensors == sorted(tensors, reverse=True)
    if "," not in target:
        assert re.fullmatch(r"  rows      streaming ends where '\S+.*' runs: 'pool' needs all rows at once\n", found.group(5))
    assert compile_with(model, target, f"--max-ram={found.group(1)}")[0] == int(found.group(1)), "what would be enough"
