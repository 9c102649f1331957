# SPDX-License-Identifier: MIT
"""--if-changed: what would be the same again keeps its time; without it every output is new."""
import os

import dnncc
import pytest

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
OLD = 1_000_000_000


@pytest.mark.parametrize("options,same", [(["--if-changed"], True), ([], False)], ids=str)
def test_outputs_keep_their_time(options, same, tmp_path):
    def compile(*more):
        done = dnncc.run([dnncc.DNNCC, DIGITS, "-o", tmp_path / "m.c", "--weights=incbin", "-MD", *options, *more])
        assert done.returncode == 0, done.stderr
        return {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def new():
        return {p.name for p in tmp_path.iterdir() if p.stat().st_mtime != OLD}

    def age():
        for p in tmp_path.iterdir():
            os.utime(p, (OLD, OLD))
    first = compile()
    assert set(first) == {"m.c", "m.h", "m.weights", "m.d"}
    age()
    assert compile() == first and new() == (set() if same else set(first))
    age()
    assert compile("--exact") != first and new() >= {"m.c", "m.h"} and ("m.d" in new()) != same
    age()
    (tmp_path / "m.h").write_bytes(first["m.h"][:-1])
    (tmp_path / "m.c").unlink()
    assert compile("--exact") == compile("--exact") and new() >= {"m.c", "m.h"} and ("m.weights" in new()) != same
