# SPDX-License-Identifier: MIT
"""What the header says of stack, code and constants before a C compiler has seen the code, held against gcc; --max-stack and --max-flash."""
import pathlib
import re
import sys

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
