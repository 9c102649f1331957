# SPDX-License-Identifier: MIT
"""The machine code of vector kernels written as Loop IR: nothing contracts by itself, a register tile's loop is its products
and the loads they need, prefetches are there, with gcc and clang."""
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))
import dnncc  # noqa: E402
from test_registers import loops  # noqa: E402

pytestmark = pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")
COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
TARGETS = {"x86-64-v3": (8, "ymm", 6, 2), "x86-64-v4": (16, "zmm", 14, 2)}


def disassembly(text, folder, target, cc, flags, edit=lambda c: c):
    (folder / "code.loops").write_text(text)
    dnncc.compile_model(folder / "code.loops", folder, [f"--target={target}"])
    source = folder / "model.c"
    source.write_text(edit(source.read_text()))
    done = dnncc.run([cc, *flags, "-c", source, "-o", folder / "model.o"])
    assert done.returncode == 0 and not done.stderr, done.stderr
    return dnncc.run(["objdump", "-d", "--no-show-raw-insn", folder / "model.o"]).stdout


def sum_of_products(lanes):
    return f"""loop 1
program "t" source ""
buffer @x : f32[256] input "x"
buffer @y : f32[256] output "y"
kernel @k(%x: in f32[256], %y: out f32[256]) {{
  for %i = 0 to 256 step {lanes} {{
    let %a : f32x{lanes} = %x<{lanes}>[%i]
    store %y[%i] = %a * %a + tanh(%a)
  }}
}}
main {{
  call @k(@x, @y)
}}
"""


@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_contracts_by_itself(target, cc, tmp_path):
    text, flags = sum_of_products(TARGETS[target][0]), ["-O3", "-std=gnu11"]
    listing = disassembly(text, tmp_path, target, cc, flags)
    assert "mulps" in listing and "fmadd" not in listing and "fnmadd" not in listing
    guards = ('#pragma GCC optimize ("fp-contract=off")', "#pragma STDC FP_CONTRACT OFF")

    def bare(c):
        for guard in guards:
            assert guard in c
            c = c.replace(guard, "")
        return c

    if cc == "gcc":                     # the guard is what keeps it from doing so
        assert "fmadd" in disassembly(text, tmp_path, target, cc, flags, bare)


def tile(lanes, rows, columns, unroll, depth=64):
    """Sums of rows x columns vectors over `depth` steps, written as one would by hand: with subscripts as they come."""
    width, height = columns * lanes, 4 * rows
    body = [f"      prefetch %b[(%k + 8) * {width}] 1"]
    for u in range(unroll):
        body += [f"      let %b_{u}_{j} : f32x{lanes} = %b<{lanes}>[(%k + {u}) * {width} + {j * lanes}]" for j in range(columns)]
        for r in range(rows):
            body.append(f"      let %a_{u}_{r} : f32x{lanes} = splat<{lanes}>(%a[(%m + {r}) * {depth} + %k + {u}])")
            body += [f"      set %sum{{{r}, {j}}} = fma(%a_{u}_{r}, %b_{u}_{j}, %sum{{{r}, {j}}})" for j in range(columns)]
    stores = [f"    store %c[(%m + {r}) * {width} + {j * lanes}] = max(%sum{{{r}, {j}}}, 0.0)"
              for r in range(rows) for j in range(columns)]
    sizes = {"a": height * depth, "b": depth * width, "c": height * width}
    lines = ["loop 1", 'program "t" source ""']
    lines += [f'buffer @{n} : f32[{size}] {"output" if n == "c" else "input"} "{n}"' for n, size in sizes.items()]
    lines += [f"kernel @k(%a: in f32[{sizes['a']}], %b: in f32[{sizes['b']}], %c: out f32[{sizes['c']}]) {{",
              f"  for %m = 0 to {height} step {rows} {{", f"    var %sum : f32x{lanes}[{rows}][{columns}]",
              f"    for %k = 0 to {depth} step {unroll} {{", *body, "    }", *stores, "  }", "}",
              "main {", "  call @k(@a, @b, @c)", "}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("target", TARGETS)
def test_tile(target, cc, tmp_path):
    lanes, register, rows, columns = TARGETS[target]
    unroll = 4
    listing = disassembly(tile(lanes, rows, columns, unroll), tmp_path, target, cc, ["-O2", "-std=c99", "-Wall", "-Wextra"])
    inner = [loop for loop in loops(listing) if any("vfmadd" in i for i in loop)]
    assert len(inner) == 1
    loop = inner[0]

    def count(word):
        return sum(word in i for i in loop)

    assert count("vfmadd") == rows * columns * unroll
    assert count("vbroadcastss") <= rows * unroll
    assert count("vmovups") <= columns * unroll
    assert count("prefetch") == 1
    assert not [i for i in loop if register in i and "(%rsp" in i], "sums go to the stack"
    # one address for each of a and b: what else there is counts them up and jumps
    assert len(loop) <= rows * columns * unroll + rows * unroll + columns * unroll + 10, loop


@pytest.mark.sample(2)
@pytest.mark.parametrize("cc", COMPILERS)
def test_any_level_of_optimization(cc, tmp_path):
    (tmp_path / "code.loops").write_text((HERE.parent / "golden" / "vectors_c.loops").read_text())
    dnncc.compile_model(tmp_path / "code.loops", tmp_path, ["--target=x86-64-v4"])
    for level in ("-O0", "-O1", "-Os", "-O3"):
        done = dnncc.run([cc, *dnncc.STRICT, level, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
        assert done.returncode == 0, f"{level}: {done.stderr[:2000]}"


BORDER = """loop 1
program "t" source ""
buffer @x : f32[64] input "x"
buffer @y : f32[64] output "y"
kernel @k(%x: in f32[64], %y: out f32[64]) {
  for %i = 0 to 64 step 16 {
    let %m : boolx16 = ramp<16>(0:i32, 1) > splat<16>(i32(0 - %i))
    store %y[%i] = %x<16>[%i - 1, %m]
  }
}
main {
  call @k(@x, @y)
}
"""


@pytest.mark.parametrize("first, far", [("%i - 1", True), ("%i", False)])
def test_addresses_outside_are_no_pointers(first, far, tmp_path):
    """C knows no pointer to a place before an array, masked or not"""
    (tmp_path / "code.loops").write_text(BORDER.replace("%i - 1", first))
    dnncc.compile_model(tmp_path / "code.loops", tmp_path, ["--target=x86-64-v4"])
    text = (tmp_path / "model.c").read_text()
    assert ("element_at(x, 4 * (i - 1))" in text) == far and ("&x[i" in text) != far
    for cc in COMPILERS:
        done = dnncc.run([cc, *dnncc.STRICT, "-O2", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
        assert done.returncode == 0 and not done.stderr, done.stderr[:2000]
