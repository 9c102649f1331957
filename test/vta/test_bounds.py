# SPDX-License-Identifier: MIT
"""What is too large for the machine: split, left to the processor, or exit 5; never wrapped."""
import json
import re

import numpy as np
import pytest

from test_machine_report import convolution, report
from vta_driver import SANITIZE, compiled, interpreted, outputs
from vta_tool import dnncc, vta

PASSES = "--passes=plan,overlap,flatten,select_instructions,tokens"


def program(path, buffers, stream, call):
    path.write_text(f'loop 4\nprogram "p" source "" command "" passes ""\n{buffers}{stream}main {{\n  call @one({call})\n}}\n')
    return path


def compile_loops(path, emit="c"):
    out = path.with_suffix(".c" if emit == "c" else ".vta")
    return dnncc.run([dnncc.DNNCC, path, "--target=vta", PASSES, f"--emit={emit}", "-o", out]), out


def many_tokens(path, count):
    """`count` sums, then as many stores, none of which can be one instruction with the next"""
    room, lines = 48 * count, []
    for k in range(count):
        lines += [f"reset %s[{48 * k}]", f"product %s[{48 * k}] += %a[0] * %k[0]", f"apply %s[{48 * k}] shr {1 + k % 7}"]
    lines += [f"transfer %y[{48 * k}] = %s[{48 * k}] rows 1 by 1 step 16" for k in range(count)]
    stream = (f"stream @one(%x: in i8[16], %w: in i8[256], %y: inout i8[{room}]) on vta {{\n  alloc %a : i8[16] in inp\n  alloc %k : i8[256] in wgt\n"
              f"  alloc %s : i32[{room}] in acc\n  transfer %a[0] = %x[0] rows 1 by 1 step 16\n  transfer %k[0] = %w[0] rows 1 by 1 step 256\n  "
              + "\n  ".join(lines) + "\n}\n")
    return program(path, f'buffer @x : i8[16] input "x"\nbuffer @w : i8[256] constant = splat 3\nbuffer @y : i8[{room}] output "y"\n', stream, "@x, @w, @y")


@pytest.mark.parametrize("count", [254, 255, 256, 300, 600])
def test_tokens(count, tmp_path):
    """more results than a queue holds tokens: fewer tokens that say more, no race, the same bits in any order of the stages"""
    done, out = compile_loops(many_tokens(tmp_path / "t.loops", count), "program")
    assert done.returncode == 0, done.stderr
    vta("check", out)
    for seed in 0, 1, 5:
        vta("run", out, f"--seed={seed}")
    text = vta("dump", out)
    assert len(re.findall(r"^\s+store\.out .*pop_prev", text, re.M)) == min(count, 255)


def test_addresses(tmp_path):
    """4 GiB and a little"""
    stream = """stream @one(%x: in i8[16], %w: in i8[256], %y: out i8[BYTES]) on vta {
  alloc %a : i8[16] in inp
  alloc %k : i8[256] in wgt
  alloc %s : i32[16] in acc
  reset %s[0]
  transfer %a[0] = %x[0] rows 1 by 1 step 16
  transfer %k[0] = %w[0] rows 1 by 1 step 256
  product %s[0] += %a[0] * %k[0]
  apply %s[0] shr 6
  transfer %y[LAST] = %s[0] rows 1 by 1 step 16
}
""".replace("BYTES", str(1 << 32)).replace("LAST", str((1 << 32) - 16))
    path = program(tmp_path / "big.loops", f'buffer @x : i8[16] input "x"\nbuffer @w : i8[256] constant = splat 1\nbuffer @y : i8[{1 << 32}] output "y"\n', stream,
                   "@x, @w, @y")
    done, out = compile_loops(path)
    assert done.returncode == 5 and "more than machine vta can address" in done.stderr and not out.exists()


@pytest.mark.long
def test_long_stream(tmp_path):
    """1.2 million rows so far apart that each is an instruction"""
    extent = 2048 * 70000 * 16
    stream = (f"stream @one(%x: in i8[{extent}], %y: out i8[16]) on vta {{\n  for %i = 0 to 600 {{\n    alloc %a : i8[32768] in inp\n"
              "    transfer %a[0] = %x[0] rows 2048 by 1 step 1120000\n  }\n}\n")
    path = program(tmp_path / "long.loops", f'buffer @x : i8[{extent}] input "x"\nbuffer @y : i8[16] output "y"\n', stream, "@x, @y")
    done, out = compile_loops(path)
    assert done.returncode == 5 and "more than a launch may have" in done.stderr and not out.exists()


def test_no_tile(tmp_path):
    """A window larger than the memory of inputs: computed in C, with the reason in the report; the rest of the model is on the machine."""
    path = convolution(tmp_path / "wide.onnx", 48, 16, 16, 47)
    done = dnncc.run([dnncc.DNNCC, path, "--target=vta", "-o", tmp_path / "m.c", f"--report={tmp_path / 'r.json'}"])
    assert done.returncode == 0 and "nothing runs on machine vta: " in done.stderr, done.stderr
    facts = json.loads((tmp_path / "r.json").read_text())["accelerator"]
    assert not facts["launches"] and any("no tile of it fits" in k["why"] for k in facts["processor"])


def test_layer_of_bytes(tmp_path):
    """a layer that fits, end to end"""
    path = convolution(tmp_path / "conv.onnx", 9, 32, 48, 3)
    x = np.random.default_rng(1).integers(-128, 128, (1, 32, 9, 9)).astype(np.int8)
    want = interpreted(path, [x], tmp_path)
    assert outputs(compiled(path, tmp_path, flags=["-O1", *SANITIZE]), [x], 1, tmp_path) == [want[0].tobytes()]
    assert report(path, tmp_path)["accelerator"]["launch_count"] == 1
