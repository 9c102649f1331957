# SPDX-License-Identifier: MIT
"""Generated code on boards under QEMU (boards.py): the bits of the interpreter's results, no writable data, a stack that is as deep as gcc says."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import boards  # noqa: E402
from boards import BOARDS, EXAMPLES, SMALL, WHOLE, ZOO  # noqa: E402

HELPERS = 64            # bytes of stack: library functions that gcc's figures leave out (floats of cores that have none, 64-bit division)
OPTIONS = [(), ("--requantize=integer",)]


def on_board(model, board, options, target="generic"):
    if missing := BOARDS[board].missing():
        pytest.skip(f"no {', no '.join(missing)}")
    row = boards.measure(model, board, boards.target_of(board, target), options)
    assert not row.failed, row
    painted, counted, bound = row.stack
    assert painted <= counted + HELPERS and (not bound or bound <= 2 * counted + 400), row
    if row.predicted and not BOARDS[board].vectorizes:      # within what cost/code.h says
        assert abs(row.predicted / row.instructions - 1) < 0.15, row
    if row.code and (board == "m4" or (target == "own" and BOARDS[board].kind != "hosted")):
        assert 0.6 * row.text < row.code < 1.7 * row.text, row
    return row


@pytest.mark.slow
@pytest.mark.sample(6)
@pytest.mark.parametrize("target", ["generic", "own"])
@pytest.mark.parametrize("model", EXAMPLES)
@pytest.mark.parametrize("board", WHOLE)
def test_board(board, model, target):
    row = on_board(model, board, OPTIONS[model == "digits_int8"], target)
    assert BOARDS[board].kind == "hosted" or 50_000 < row.instructions < 100_000_000 and row.functions["model_run"] < 1000, row


@pytest.mark.long
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("target", ["generic", "own"])
@pytest.mark.parametrize("model", [*SMALL, *ZOO])
@pytest.mark.parametrize("board", WHOLE)
def test_matrix(board, model, target, options):
    if not boards.model_path(model).exists():
        pytest.skip(f"no {model}")
    on_board(model, board, options, target)


# board, model, --max-ram, times the instructions without a budget at most
WITHIN = [("m4", "dscnn_kws_int8", 9216, 1.05), ("m4", "micro_kws_qdq", 12032, 1.05), ("m4", "resnet8_int8", 37120, 1.05), ("m4", "resnet8_int8", 16384, 1.05),
          ("m0", "resnet8_int8", 16384, 1.05), ("m3", "dscnn_kws_int8", 9216, 1.05), ("m3", "resnet8_int8", 16384, 1.05), ("rv32", "dscnn_kws_int8", 9216, 1.05),
          ("rv32", "resnet8_int8", 16384, 1.05), ("m55", "resnet8_int8", 16384, 1.05)]


@pytest.mark.sample(10)
@pytest.mark.slow
@pytest.mark.parametrize("board,model,budget,times", WITHIN)
def test_within(board, model, budget, times):
    """rows that are passed on are computed in tiles of words, as whole tensors are: memory costs next to no time"""
    if BOARDS[board].missing() or not boards.model_path(model).exists():
        pytest.skip(f"no tools, or no {model}")
    whole = boards.measure(model, board, boards.BOARDS[board].own, (boards.FASTEST,))
    row = boards.measure(model, board, boards.BOARDS[board].own, (f"--max-ram={budget}",))
    assert not row.failed and row.workspace <= budget and row.instructions <= times * whole.instructions, row
    assert 0.85 < row.predicted / row.instructions < 1.4, row
    painted, counted, bound = row.stack
    assert painted <= 512 and counted <= 512 and bound <= 1024, row


@pytest.mark.slow
@pytest.mark.parametrize("board", ["m4", "mips"])
def test_bits_that_differ(board, monkeypatch):
    if BOARDS[board].missing():
        pytest.skip("no tools")
    sets = boards.expected(boards.model_path("digits"), boards.target_of(board, "generic"), ())
    wrong = sets[1][1][0].copy()
    wrong.flat[3] += 1e-6
    monkeypatch.setattr(boards, "expected", lambda *_: [sets[0], (sets[1][0], [wrong])])
    assert boards.measure("digits", board, boards.target_of(board, "generic")).failed == "bits differ in output 0 of set 1"


@pytest.mark.slow
def test_what_does_not_fit():
    if BOARDS["f100"].missing():
        pytest.skip("no tools")
    assert boards.measure("digits", "f100", "generic").failed.startswith("does not fit: RAM is short of ")
    assert not boards.measure("digits_int8", "f100", "generic").failed


def test_missing_tools(monkeypatch, tmp_path):
    """are named, with their packages"""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, board in BOARDS.items():
        row = boards.measure("digits", name, "generic")
        assert row.failed.startswith("not run: there is no ") and all(tool in row.failed for tools in (board.cc, board.emulator) for tool in tools), row


def test_targets():
    assert boards.target_of("m4", "own") == "cortex-m4" and boards.target_of("rv32f", "own") == "riscv32-f"
    assert [boards.target_of(b, "m4=cortex-m4,m0=generic") for b in ("m4", "m0", "m3", "s390x")] == ["cortex-m4", "generic", "generic", "generic-be"]
    assert boards.target_of("mips", "generic") == "generic-be" and boards.target_of("m55", "generic") == "generic"


@pytest.mark.sample(8, each=False)
@pytest.mark.parametrize("model", ["digits", "dscnn_kws_int8", "micro_kws_qdq", "micro_kws_fp32", "resnet8_int8"])
@pytest.mark.parametrize("board", ["m0", "m3", "m4", "m55", "rv32"])
def test_objects(board, model):
    """of LLVM's, --emit=object, linked with the start-up code of the C; measure says where bits differ"""
    if missing := BOARDS[board].missing():
        pytest.skip(f"no {', no '.join(missing)}")
    if not boards.model_path(model).exists():
        pytest.skip(f"no {model}")
    target = boards.target_of(board, "own")
    done = boards.dnncc.run([boards.dnncc.DNNCC, EXAMPLES["digits"], "--target=x86-64", "--emit=llvm", "-q", "-o", "-"])
    if done.returncode == boards.dnncc.UNSUPPORTED:
        pytest.skip(f"LLVM is missing: {done.stderr}")
    row = boards.measure(model, board, target, emit=("--emit=object",))
    assert not row.failed and row.sets > 0 and row.instructions > 50_000, row
