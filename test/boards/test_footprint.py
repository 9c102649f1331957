# SPDX-License-Identifier: MIT
"""What the header says of stack, code and constants before a C compiler has seen the code, held against gcc; --max-stack and --max-flash."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402

DIGITS, DIGITS_INT8 = boards.EXAMPLES["digits"], boards.EXAMPLES["digits_int8"]


def compile_digits(folder, *options, model=DIGITS):
    return dnncc.run([dnncc.DNNCC, model, "-q", *options, "--name=model", "-o", folder / "model.c"])


@pytest.mark.parametrize("model", [DIGITS, DIGITS_INT8])
@pytest.mark.parametrize("flags, options", [(["-O2"], []), (["-O1"], []), (["-O2"], ["-O0"]), (["-O2"], ["--goal=memory", "--exact"])])
def test_bound_on_this_machine(flags, options, model, tmp_path):
    """of 64 bits: words are pointers"""
    assert compile_digits(tmp_path, *options, "--no-descriptor", model=model).returncode == 0
    done = dnncc.run(["gcc", "-std=c99", *flags, "-fno-tree-vectorize", "-fstack-usage", "-fcallgraph-info=su", "-c", "model.c"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    bound, _ = boards.stated((tmp_path / "model.h").read_text(), 8)
    assert 0 < boards.deepest(tmp_path) <= bound


def test_header_adds_up(tmp_path):
    assert compile_digits(tmp_path).returncode == 0
    header = (tmp_path / "model.h").read_text()
    constants = int(re.search(r"MODEL_CONSTANTS_SIZE (\d+)u", header)[1])
    stack, code = boards.stated(header)
    for option, least, what in (("--max-stack", stack, "the stack takes up to"), ("--max-flash", constants + code, "constants of")):
        assert compile_digits(tmp_path, f"{option}={least}").returncode == 0
        done = compile_digits(tmp_path, f"{option}={least - 1}")
        assert done.returncode == dnncc.BUDGET and what in done.stderr and f"{option}={least}, which is enough" in done.stderr, done.stderr
        assert re.search(r"\n  largest +(conv2 \d+ \(conv2, relu2\)|dense_w 20480)\n", done.stderr)
    assert compile_digits(tmp_path, "--target=cortex-m4", f"--max-stack={stack + 400}").returncode == 0 and boards.stated((tmp_path / "model.h").read_text())[0]
    for target in ("cortex-m0", "cortex-m4", "cortex-m55", "riscv32"):      # with an estimate of its own
        assert compile_digits(tmp_path, f"--target={target}", "--max-flash=1M").returncode == 0
        own = boards.stated((tmp_path / "model.h").read_text())[1]
        assert 0.4 * code < own < 3 * code and own != code
        assert compile_digits(tmp_path, f"--target={target}", f"--max-flash={own}").returncode == dnncc.BUDGET
    assert compile_digits(tmp_path, "--target=x86-64-v3", "--max-flash=1M").returncode == 1
    assert not re.search("_STACK_SIZE|_CODE_ESTIMATE", compile_digits(tmp_path, "--target=x86-64-v3") and (tmp_path / "model.h").read_text())


def write_stream(path, layers=9):
    """convolutions, rows of which are one kernel's; each has constants of its own"""
    r = np.random.default_rng(3)
    arrays = [(r.normal(0, .15, (8, 8, 3, 3)).astype(np.float32), r.normal(0, .1, 8).astype(np.float32)) for _ in range(layers)]
    nodes, initial, last = [], [], "x"
    for k, (w, b) in enumerate(arrays):
        initial += [onnx.numpy_helper.from_array(w, f"w{k}"), onnx.numpy_helper.from_array(b, f"b{k}")]
        nodes += [onnx.helper.make_node("Conv", [last, f"w{k}", f"b{k}"], [f"c{k}"], pads=[1, 1, 1, 1], name=f"conv{k}"),
                  onnx.helper.make_node("Relu", [f"c{k}"], [f"r{k}" if k + 1 < layers else "y"])]
        last = f"r{k}"
    port = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [port("x", 1, [1, 8, 24, 24])], [port("y", 1, [1, 8, 24, 24])], initial)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("weights", ["inline", "incbin", "file"])
def test_constants_inside(weights, tmp_path):
    """a stream of rows names its constants itself, and takes less stack; the caller gives those of a file, so there they are parameters"""
    write_stream(tmp_path / "stream.onnx")
    dnncc.compile_model(tmp_path / "stream.onnx", tmp_path, ["--max-ram=24K", f"--weights={weights}", "-q"])
    code = (tmp_path / "model.c").read_text()
    inside = re.findall(r"^        const f32 \*const \w+ = \w+(?:\.values)?;$", code, re.M)
    assert len(inside) == (0 if weights == "file" else 18)
    bound = boards.stated((tmp_path / "model.h").read_text(), 8)[0]
    rows = 4 * sum(map(int, re.findall(r"^ +float sum\d*\[(\d+)\];$", code, re.M)))        # accumulator rows, of which the bound is the sum
    assert rows > 1000 and (bound - rows < 2000) == (weights != "file")
    x = np.random.default_rng(0).normal(0, 1, (1, 8, 24, 24)).astype(np.float32)
    np.save(tmp_path / "input_0.npy", x)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "stream.onnx", "--max-ram=24K", "-q", "--run", tmp_path], timeout=300)
    assert done.returncode == 0, done.stderr
    got = dnncc.run_host(dnncc.build_host(tmp_path, ["-O2"]), [x])[0]
    assert got.tobytes() == np.load(tmp_path / "output_0.npy").tobytes()
