# SPDX-License-Identifier: MIT
"""libdnncc_cost, as a program uses it (cost_library.c)."""
import json
import pathlib

import pytest

import dnncc

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
GROWTH = 2048           # KB


@pytest.fixture(scope="module", params=[[], SANITIZED], ids=["plain", "sanitized"])
def program(request, tmp_path_factory):
    """the library itself is built as it is installed"""
    library = dnncc.ROOT / "build" / "libdnncc_cost.a"
    if not library.exists():
        pytest.fail("make builds libdnncc_cost.a")
    path = tmp_path_factory.mktemp("library") / "library"
    done = dnncc.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", *request.param, "-I", dnncc.ROOT / "runtime", HERE / "cost_library.c", library, "-lprotobuf-c", "-lz", "-lm",
                      "-lpthread", "-o", path])
    assert done.returncode == 0, done.stderr
    return path, bool(request.param)


@pytest.mark.parametrize("options", [[], ["--target=cortex-m4"], ["--target=x86-64-v3", "--threads=2"], ["--target=cuda-sm_90"]], ids=" ".join)
def test_as_the_command_line(options, program):
    """what --cost=json says, from a file and from memory"""
    done = dnncc.run([program[0], "print", DIGITS, *options])
    assert done.returncode == 0 and not done.stderr, done.stderr
    want = json.loads(dnncc.run([dnncc.DNNCC, "--cost=json", DIGITS, *options]).stdout)
    for line in done.stdout.splitlines():
        got = json.loads(line)
        assert {key: got[key] for key in ("cycles", "flops", "constants", "workspace")} == {key: want[key] for key in ("cycles", "flops", "constants", "workspace")}
        for mine, theirs in zip(got["calls"], want["calls"], strict=True):
            assert mine.pop("times") == 1 and mine == {key: theirs[key] for key in mine}
    assert len(done.stdout.splitlines()) == 2


def test_many_in_threads(program):
    path, sanitized = program
    done = dnncc.run([path, "many", DIGITS, "20" if sanitized else "200"], timeout=300)
    assert done.returncode == 0, done.stderr
    assert sanitized or int(done.stdout) <= GROWTH


def test_errors_end_nothing(program):
    done = dnncc.run([program[0], "errors", DIGITS])
    assert done.returncode == 0 and not done.stdout and not done.stderr, done.stderr
