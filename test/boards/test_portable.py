# SPDX-License-Identifier: MIT
"""-DPREFIX_PORTABLE: code for a core as plain C, compiled by any compiler, gives the bits of the core."""
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402

CORES = ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "riscv32", "riscv32-f"]
PORTABLE = "-DMODEL_PORTABLE"


def of_bytes(core):
    """a network whose code for the core is portable: on Cortex-M55 floats are not"""
    name = "dscnn_kws_int8" if core == "cortex-m55" else "digits_int8"
    if not boards.model_path(name).exists():
        pytest.skip(f"no {name}")
    return name


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("model,options", [("digits_int8", ()), ("digits", ("--exact",)), ("dscnn_kws_int8", ()), ("dscnn_kws_int8", ("--max-ram=9K",))],
                         ids=["digits_int8", "digits", "dscnn", "dscnn_stream"])
@pytest.mark.sample(16, each=False)
def test_this_machine(model, options, core, tmp_path):
    """the bits of the interpreter, of bytes and, in the model's own order, of floats"""
    path = boards.model_path(model)
    if not path.exists():
        pytest.skip(f"no {model}")
    if (model, core) == ("digits_int8", "cortex-m55"):
        options = ("--exact",)
    sets = boards.expected(path, core, options)
    dnncc.compile_model(path, tmp_path, [f"--target={core}", "-q", *boards.bindings(path), *options])
    if shutil.which("clang"):
        done = dnncc.run(["clang", *dnncc.STRICT, PORTABLE, "-fsyntax-only", tmp_path / "model.c"])
        assert done.returncode == 0, done.stderr[:2000]
    program = dnncc.build_host(tmp_path, ["-O2", PORTABLE])
    for inputs, outputs in sets:
        for got, want in zip(dnncc.run_host(program, inputs), outputs, strict=True):
            assert got.tobytes() == want.tobytes()


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("board,core", [("m0", "cortex-m55"), ("m3", "cortex-m4"), ("m55", "cortex-m55"), ("rv32", "cortex-m33"), ("m4", "riscv32"), ("s390x", "cortex-m4"),
                                        ("mips", "cortex-m55")])
def test_other_boards(board, core):
    """on big-endian machines, too"""
    if missing := boards.BOARDS[board].missing():
        pytest.skip(f"no {', no '.join(missing)}")
    row = boards.measure(of_bytes(core), board, core, (), (PORTABLE,))
    assert not row.failed or row.failed.startswith("the stack takes"), row


def compiled(folder, *flags):
    return dnncc.run(["gcc", "-std=c99", *flags, "-c", "model.c", "-o", "model.o"], cwd=folder)


@pytest.mark.parametrize("core", CORES)
def test_error_names_it(core, tmp_path):
    path = boards.model_path(of_bytes(core))
    dnncc.compile_model(path, tmp_path, [f"--target={core}", "-q", *boards.bindings(path)])
    done = compiled(tmp_path)
    assert done.returncode and re.search(rf'#error "code of --target={core}: compile it by .*, by any with -DMODEL_PORTABLE, or let dnncc', done.stderr), done.stderr
    assert compiled(tmp_path, PORTABLE).returncode == 0


@pytest.mark.parametrize("target,model", [("generic", "digits_int8"), ("aarch64", "digits_int8"), ("x86-64-v3", "digits_int8"), ("cortex-m55", "digits")])
def test_others_have_none(target, model, tmp_path):
    """where there is no other code, where generic can stand in the same file, and for vectors of floats, which flush denormal numbers"""
    dnncc.compile_model(boards.EXAMPLES[model], tmp_path, [f"--target={target}", "-q"])
    assert "PORTABLE" not in (tmp_path / "model.c").read_text()


@pytest.mark.slow
def test_bits_that_differ(tmp_path):
    """the comparison sees a product that is one off"""
    path = boards.EXAMPLES["digits_int8"]
    (inputs, outputs), *_ = boards.expected(path, "cortex-m4", ())
    dnncc.compile_model(path, tmp_path, ["--target=cortex-m4", "-q"])
    code = (tmp_path / "model.c").read_text()
    wrong = code.replace("uint32_t bits = (uint32_t)sum;", "uint32_t bits = (uint32_t)sum + 4096;")
    assert wrong != code
    (tmp_path / "model.c").write_text(wrong)
    got = dnncc.run_host(dnncc.build_host(tmp_path, ["-O2", PORTABLE]), inputs)
    assert any(np.any(a != b) for a, b in zip(got, outputs))
