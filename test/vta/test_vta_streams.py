# SPDX-License-Identifier: MIT
"""Streams from the command line: what --emit=vta and --emit=program write runs, obeys the rules, and gives what the interpreter says."""
import re
import subprocess

import pytest

from vta_tool import VTA, dnncc

PASSES = "overlap,flatten,select_instructions,tokens"
# two launches, the second reads what the first stored; in each, tiles of rows
STREAMS = """loop 4
program "two" source ""
buffer @x : i8[12544] input "x"
buffer @w : i8[256] constant = splat 3
buffer @t : i8[12544] workspace
buffer @y : i8[12544] output "y"
stream @layer(%x: in i8[12544], %w: in i8[256], %y: out i8[12544]) on vta {
  for %r = 0 to 28 step 7 {
    alloc %a : i8[3136] in inp
    alloc %k : i8[256] in wgt
    alloc %s : i32[3136] in acc
    for %p = 0 to 196 {
      reset %s[%p * 16]
    }
    transfer %a[0] = %x[%r * 448] rows 7 by 28 step 448
    transfer %k[0] = %w[0] rows 1 by 1 step 256
    for %q = 0 to 196 {
      product %s[%q * 16] += %a[%q * 16] * %k[0]
    }
    for %h = 0 to 196 {
      apply %s[%h * 16] shr 4
    }
    for %m = 0 to 196 {
      apply %s[%m * 16] min 127
    }
    for %n = 0 to 196 {
      apply %s[%n * 16] max -128
    }
    transfer %y[%r * 448] = %s[0] rows 7 by 28 step 448
  }
}
main {
  call @layer(@x, @w, @t)
  call @layer(@t, @w, @y)
}
"""


def run(*words, code=0):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def loops(tmp_path):
    path = tmp_path / "two.loops"
    path.write_text(STREAMS)
    return path


def test_programs_run(loops, tmp_path):
    first, second = tmp_path / "two.vta", tmp_path / "two_2.vta"
    run(dnncc.DNNCC, loops, f"--passes={PASSES}", "--emit=program", "-o", first)
    for path in first, second:
        run(VTA, "check", path)
        for seed in 0, 5, 9:
            run(VTA, "run", path, f"--seed={seed}")
    text = run(VTA, "dump", second, "-o", "-").stdout
    assert "constant w 0x" in text and "expect y 0x" in text and len(set(text.partition("expect y")[2].split())) > 20


def test_assembly_is_the_program(loops, tmp_path):
    for emit, name in ("program", "a.vta"), ("vta", "b.vta.s"):
        run(dnncc.DNNCC, loops, f"--passes={PASSES}", f"--emit={emit}", "-o", tmp_path / name)
    run(VTA, "assemble", tmp_path / "b.vta.s", "-o", tmp_path / "b.vta")
    run(VTA, "assemble", tmp_path / "b_2.vta.s", "-o", tmp_path / "b_2.vta")
    assert (tmp_path / "a.vta").read_bytes() == (tmp_path / "b.vta").read_bytes()
    assert (tmp_path / "a_2.vta").read_bytes() == (tmp_path / "b_2.vta").read_bytes()


def test_without_overlap_it_takes_longer(loops, tmp_path):
    cycles = []
    for passes in PASSES, "flatten,select_instructions,tokens":
        run(dnncc.DNNCC, loops, f"--passes={passes}", "--emit=program", "-o", tmp_path / "c.vta")
        cycles.append(int(re.search(r"cycles +([\d,]+)", run(VTA, "cycles", tmp_path / "c.vta").stdout)[1].replace(",", "")))
    assert cycles[0] < cycles[1]


def test_joined_streams_are_one_launch(loops, tmp_path):
    cycles = []
    for passes in PASSES, "join," + PASSES:
        run(dnncc.DNNCC, loops, f"--passes={passes}", "--emit=program", "-o", tmp_path / f"{len(cycles)}.vta")
        cycles.append(0)
        for path in sorted(tmp_path.glob(f"{len(cycles) - 1}*.vta")):
            run(VTA, "check", path)
            run(VTA, "run", path, "--seed=3")
            cycles[-1] += int(re.search(r"cycles +([\d,]+)", run(VTA, "cycles", path).stdout)[1].replace(",", ""))
    assert not (tmp_path / "1_2.vta").exists() and cycles[1] < cycles[0]


def test_what_cannot_be_written(loops, tmp_path):
    assert "a statement is not flat" in run(dnncc.DNNCC, loops, "--passes=prune", "--emit=program", "-o", tmp_path / "x.vta", code=4).stderr
    assert "name the first by -o FILE" in run(dnncc.DNNCC, loops, f"--passes={PASSES}", "--emit=vta", "-o", "-", code=1).stderr
    assert "flatten comes before select_instructions" in run(dnncc.DNNCC, loops, "--passes=select_instructions", "--emit=loops", "-o", "-", code=1).stderr
    none = tmp_path / "none.loops"
    none.write_text('loop 1\nprogram "p" source ""\nbuffer @y : f32[1] output "y"\nkernel @k(%y: out f32[1]) {\nstore %y[0] = 1.0\n}\nmain {\ncall @k(@y)\n}\n')
    assert "main calls no stream" in run(dnncc.DNNCC, none, "--passes=prune", "--emit=vta", "-o", "-", code=4).stderr
    assert "a statement is not flat" in run(dnncc.DNNCC, loops, "-o", tmp_path / "x.c", code=4).stderr
