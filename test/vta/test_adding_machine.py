# SPDX-License-Identifier: MIT
"""docs/accelerators.md is true: its file and its two lines are a new machine, whose programs run and whose C
gives the interpreter's bits."""
import json
import re

import numpy as np
import pytest

from test_machine_report import convolution
from vta_driver import SANITIZE, compiled, interpreted, outputs
from vta_tool import VTA, dnncc

PAGE = (dnncc.ROOT / "docs" / "accelerators.md").read_text().partition("\n## Adding a machine\n")[2].partition("\n## ")[0]
SIZES = re.search(r"--sizes=(\S+)`", PAGE)[1]


def blocks():
    return [re.sub(r"^    ", "", b, flags=re.M).strip() + "\n" for b in re.findall(r"(?:^    .*\n|^\n)+", PAGE, re.M) if b.strip()]


def build(tree):
    """dnncc and dnncc-vta with the page's machine: its file and both tables are compiled, all else is there"""
    code, machine, target = blocks()
    source = tree / re.search(r"codegen/machines/\w+\.c", PAGE)[0]
    source.parent.mkdir(parents=True)
    source.write_text(code)
    for table, line in ("machines/machines", machine), ("targets", target):
        text = (dnncc.ROOT / "codegen" / f"{table}.def").read_text()
        (tree / "codegen" / f"{table}.def").write_text(text.replace("#undef", line + "#undef", 1))
    built = dnncc.ROOT / "build"
    done = dnncc.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-O1", "-I", tree, "-I", dnncc.ROOT, "-I", built, source,
                      dnncc.ROOT / "codegen" / "machines" / "machines.c", dnncc.ROOT / "codegen" / "targets.c", built / "obj" / "compiler" / "main.o",
                      built / "libdnncc.a", *"-lprotobuf-c -lz -lm -o".split(), tree / "dnncc"])
    assert done.returncode == 0, done.stderr
    return tree / "dnncc"


def test_a_file_and_two_lines(tmp_path, monkeypatch):
    (tmp_path / "tree").mkdir()
    program = build(tmp_path / "tree")
    assert "vta-small" in dnncc.run([program, "--target=help"]).stdout
    path = convolution(tmp_path / "conv.onnx", 28, 64, 64, 3)
    monkeypatch.setattr(dnncc, "DNNCC", program)
    x = np.random.default_rng(1).integers(-128, 128, (1, 64, 28, 28)).astype(np.int8)
    # the last --target counts
    want = interpreted(path, [x], tmp_path, "--target=vta-small")
    binary = compiled(path, tmp_path, "--target=vta-small", f"--report={tmp_path / 'r.json'}", flags=["-O1", *SANITIZE])
    assert outputs(binary, [x], 1, tmp_path, SIZES=SIZES) == [want[0].tobytes()]
    facts = json.loads((tmp_path / "r.json").read_text())["accelerator"]
    assert facts["machine"] == "vta-small" and facts["memories"]["inp"] == 16 << 10
    assert all(facts["network"]["used"][m] <= facts["memories"][m] for m in facts["memories"])
    for emit in ("program", "vta"):
        out = tmp_path / ("conv.vta" if emit == "program" else "conv.vta.s")
        done = dnncc.run([program, path, "-q", "--target=vta-small", f"--emit={emit}", "-o", out])
        assert done.returncode == 0, done.stderr
        done = dnncc.run([VTA, "run", out, *([f"--sizes={SIZES}"] if emit == "program" else [])])
        assert done.returncode == 0, done.stderr
