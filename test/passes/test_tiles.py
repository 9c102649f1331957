# SPDX-License-Identifier: MIT
"""Contractions of bf16 and of 8-bit integers in hardware tiles against canonical ones: random shapes, schedules and fusions, in the interpreter; compiled,
where this processor has tiles; as plain vectors on targets that have none. And the machine code of the sums."""
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE.parent / "targets"))
sys.path.insert(0, str(HERE))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_registers import loops  # noqa: E402
from test_schedule import Contraction, program, shape, window_of  # noqa: E402

COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
needs_tiles = processor.needs("sapphirerapids")
PASSES = "--passes=lower,vectorize,contract,legalize,plan,prune"


class Tiles(Contraction):
    name = "convolve_packed"
    group, sums, inners = 2, "f32", [32, 32, 32, 64, 96, 16, 4, 2]

    def elements(self):
        """of x and of the weights"""
        return "bf16", "bf16"

    def operation(self, out, target):
        r = self.r
        n, groups = r.choice([1, 1, 2]), r.choice([1, 1, 1, 2])
        inner, blocks = r.choice(self.inners), r.randint(1, 3)
        strides, dilations, window, extent = window_of(r, out, 3, 0.35)
        if r.random() < 0.6:
            block = 16 * r.choice([1, 2, 2, 4])
            outputs = r.randint(1, 80) if groups == 1 else block * r.randint(1, 2)
        else:
            outputs = block = r.choice([r.randint(1, 70), 16, 32, 48]) if groups == 1 else 16
        vectors = r.choice([1, 2, 2, 2, 4])
        panels = groups * -(-(-(-outputs // block) * block) // (16 * vectors))
        attributes = (f"strides={strides} dilations={dilations} groups={groups} channels={blocks * inner} outputs={outputs} "
                      f"block={block} accumulator={self.sums}")
        return ([n, groups * blocks, *extent, inner], [panels, blocks, *window, inner // self.group, vectors, 16 * self.group],
                [n, groups * -(-outputs // block), *out, block], attributes, self.schedule(vectors, len(out)))

    def stored(self, rank):
        return [*range(2, rank - 1), 0, 1, rank - 1]      # channels stay next to each other

    def schedule(self, vectors, spatial):
        r = self.r
        rows = r.choice([2, 3] if vectors == 1 else [2]) if spatial > 1 and vectors < 4 and r.random() < 0.4 else 1
        columns = r.randint(1, 16 if rows > 1 or vectors > 2 else 32)
        if spatial > 1 and r.random() < 0.2:      # positions of a column
            rows, columns = r.randint(1, 16 if vectors > 2 else 32), 1
        return f"rows={rows} columns={columns} vectors={vectors} flat={r.choice([0, 1])} prefetch={r.choice([0, 0, 1, 2])}{self.tasks()}"

    def read_x(self, x, body):
        value = super().read_x(x, body)
        body[:] = [line.replace("x f32>", f"x {self.elements()[0]}>") for line in body]
        return value

    def move_y(self, value, y, body):
        """rounded at the end, perhaps, inside a halo"""
        if self.r.random() < 0.5:
            return super().move_y(value, y, body)
        dims = " x ".join(map(str, y))
        body.append(f"%z = cast({value}) to=bf16 : <{dims} x bf16>")
        if self.r.random() < 0.5:
            return "%z", y
        final = [d + 2 * (1 < k < len(y) - 1) for k, d in enumerate(y)]
        low = [int(1 < k < len(y) - 1) for k in range(len(y))]
        body.append(f"%p = pad(%z, <bf16> 0.0, <{len(y)} x i64> {low}) : <{' x '.join(map(str, final))} x bf16>")
        return "%p", final

    def __init__(self, seed, target):
        super().__init__(seed, target)
        head, rest = self.text.split(") ->", 1)
        ports = re.split(r", (?=%)", head)
        for name, element in zip("xw", self.elements()):
            ports = [p.replace("x f32>", f"x {element}>") if f"%{name} " in p else p for p in ports]
        head = ", ".join(ports)
        rest = rest if "%z = cast" not in rest else re.sub(r"(%f = fusion\([^)]*\) : <[^>]*)x f32>", r"\1x bf16>", rest)
        self.text = head + ") ->" + rest


class Bytes(Tiles):
    """sums of i32, exact, and what is computed of them"""
    group, sums, inners = 4, "i32", [64, 64, 64, 128, 192, 32, 8, 4]

    def elements(self):
        if not hasattr(self, "chosen"):
            self.chosen = self.r.choice(["i8", "u8"]), self.r.choice(["i8", "u8"])
        return self.chosen

    def epilogue(self, value, y, body):
        if self.r.random() < 0.5:
            self.inputs.append(f'%i "i": {shape(y[1], y[-1]).replace("f32", "i32")}')
            body += [f"%j = broadcast(%i) dims=[1, {len(y) - 1}] : {shape(*y)}", f"%k = add({value}, %j) : {shape(*y)}"]
            value = "%k"
        body[:] = [line.replace("x f32>", "x i32>") if line[:2] in ("%c", "%j", "%k") else line for line in body]
        body += [f"%l = cast({value}) : {shape(*y)}", f"%m = mul(%l, 1.52587890625e-05) : {shape(*y)}"]
        return super().epilogue("%m", y, body)


def inputs_of(host, seed):
    rng = np.random.default_rng(seed)

    def values(kind, shape):
        if np.issubdtype(kind, np.integer):
            return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape, kind)
        return (rng.standard_normal(shape) / 4).astype(kind)
    return [values(dnncc.numpy_type(kind), shape) for first, _, kind, shape in dnncc.describe(host) if first]


def run_c(path, folder, options, flags, values, cc="gcc"):
    folder.mkdir()
    dnncc.compile_model(path, folder, options)
    host = dnncc.build_host(folder, flags, cc)
    return dnncc.run_host(host, values if values is not None else inputs_of(host, 0))


def assert_close(got, want):
    bf16 = got.dtype != np.float32
    got, want = got.astype(np.float64), want.astype(np.float64)
    assert np.abs(got - want).max() <= (2 ** -7 if bf16 else 2e-6) * max(1, np.abs(want).max())


@pytest.mark.parametrize("kind,first", [*((Tiles, first) for first in range(0, 60, 10)), *((Bytes, first) for first in range(0, 40, 10))])
@pytest.mark.sample(4)
def test_scheduled_is_canonical(kind, first):
    for seed in range(first, first + 10):
        c = kind(seed, "sapphirerapids")
        with dnncc.Workspace(f"tiles-{seed}") as folder:
            path = folder / "program.dnn"
            path.write_text(c.text)
            options = ["--passes=lower,plan", "--target=sapphirerapids", "--threads=3"]
            done = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", folder / "model.loops", "--check", *options])
            assert done.returncode == 0, f"seed {seed}: {done.stderr}\n{c.text}"
            text = (folder / "model.loops").read_text()
            assert "multiply %acc" in text, f"seed {seed}: not scheduled\n{c.text}"
            again = dnncc.run([dnncc.DNNCC, folder / "model.loops", "--emit=loops", "-o", "-", "--passes=", "--target=sapphirerapids"])
            assert again.returncode == 0, f"seed {seed}: {again.stderr}"
            assert re.findall(r"(?:tiles|multiply|unload) .*", again.stdout) == re.findall(r"(?:tiles|multiply|unload) .*", text)


@pytest.mark.parametrize("tiles,product", [
    ("64 by 64 rows 1 depth 1 lanes 16 word 4", "rows 1 depth 1 group 2"),         # more than there are
    ("2 by 2 rows 1 depth 16 lanes 16 word 4", "rows 1 depth 16 group 2"),         # sums alone fill half; no error
    ("32 by 1 rows 32 depth 1 lanes 16 word 4", "rows 32 depth 1 group 2"),        # rows of a tile
    ("2 by 1 rows 2 depth 17 lanes 16 word 4", "rows 2 depth 17 group 2"),         # words of a row
    ("2 by 1 rows 2 depth 1 lanes 8 word 4", "rows 2 depth 1 group 2")])           # outputs that no multiply has
def test_tiles_that_the_target_has_not(tmp_path, tiles, product):
    """are an error of theirs, never wrong code; as statements on vectors they mean the same everywhere"""
    positions, vectors, lanes = tiles.split()[0], tiles.split()[2], tiles.split()[8]
    (tmp_path / "m.loops").write_text(f"""loop 3
program "t" source ""
buffer @x : bf16[4096] input "x"
buffer @w : bf16[65536] input "w"
buffer @y : f32[65536] output "y"
kernel @k(%x: in bf16[4096], %w: in bf16[65536], %y: out f32[65536]) {{
  tiles {tiles}
  var %acc : f32x{lanes}tile[{positions}][{vectors}]
  multiply %acc += %x[0] * %w[0] by add_product {product} step 4 jump 32
  unload %y[0] = %acc {product.split(" depth")[0]}
  tiles 0 by 0 rows 0 depth 0 lanes 0 word 0
}}
main {{
  call @k(@x, @w, @y)
}}
""")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=sapphirerapids", "-o", tmp_path / "m.c"])
    good = tiles.startswith("2 by 2 ")
    assert done.returncode == (dnncc.OK if good else dnncc.UNSUPPORTED) and (good or "tiles" in done.stderr), done.stderr
    again = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=x86-64-v4", "-o", tmp_path / "m.c"])
    assert again.returncode == dnncc.OK, again.stderr


def test_version_2(tmp_path):
    """its products had one meaning, and said no function"""
    (tmp_path / "layer.dnn").write_text(Tiles(0, "sapphirerapids").text)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "layer.dnn", "--emit=loops", "-o", "-", "--passes=lower", "--target=sapphirerapids"])
    new = done.stdout
    assert new.startswith("loop 3\n") and " by add_product rows " in new, done.stderr
    (tmp_path / "layer.loops").write_text(new.replace("loop 3\n", "loop 2\n").replace(" by add_product rows ", " rows "))
    again = dnncc.run([dnncc.DNNCC, tmp_path / "layer.loops", "--emit=loops", "-o", "-", "--passes=", "--target=sapphirerapids"])
    assert again.stdout.splitlines()[2:] == new.splitlines()[2:] and again.stdout.startswith("loop 3\n"), again.stderr


SUMS = "var %{} : f32x16tile[2][1]"
SHAPE = "tiles 2 by 1 rows 2 depth 16 lanes 16 word 4"


@pytest.mark.parametrize("statements,error", [
    ([SHAPE, SUMS.format("a"), "for %i = 0 to 2 {", SUMS.format("b"), "unload %y[0] = %b rows 2", "}", "unload %y[0] = %a rows 2"], "several sums at a time"),
    ([SUMS.format("a"), "unload %y[0] = %a rows 2"], "shape was not said"),
    ([SHAPE, SUMS.format("a"), "unload %y[0] = %a rows 1"], "shape was not said"),
    ([SHAPE, SUMS.format("a"), "unload %y[0] = %a rows 2", "unload %y[0] = %a rows 2"], "sums that have left"),
    ([SHAPE, SUMS.format("a"), "unload %y[0] = %a rows 2", SUMS.format("b"), "unload %y[0] = %b rows 2"], None)])
def test_registers_that_there_are_not(tmp_path, statements, error):
    """a text that the interpreter runs, and hardware could not"""
    lines = "\n".join(statements)
    (tmp_path / "m.loops").write_text(f"""loop 3
program "t" source ""
buffer @y : f32[64] output "y"
kernel @k(%y: out f32[64]) {{
{lines}
}}
main {{
  call @k(@y)
}}
""")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=sapphirerapids", "-o", tmp_path / "m.c"])
    assert done.returncode == (dnncc.UNSUPPORTED if error else dnncc.OK) and (error or "") in done.stderr, done.stderr
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", "--target=x86-64-v3", "--passes=plan", "-o", tmp_path / "m.c"])
    assert done.returncode == dnncc.UNSUPPORTED, done.stderr        # nobody took its tiles away


@pytest.mark.sample(4)
@pytest.mark.parametrize("size,stride,vectors,positions", [(7, 1, 2, 25), (8, 1, 2, 28), (5, 1, 2, 33), (7, 2, 2, 14), (3, 2, 2, 17), (20, 1, 2, 42),
                                                           (29, 1, 1, 29)])
def test_rows_that_join(size, stride, vectors, positions, tmp_path):
    """Short rows follow each other in a tile, with what lies between them, where that takes fewer tiles; positions have a tile each,
    or one in turn."""
    extent, block = (size - 1) * stride + 3, 16 * vectors
    x, w, y = f"<2 x 2 x {extent} x {extent} x 32 x bf16>", f"<2 x 2 x 3 x 3 x 16 x {vectors} x 32 x bf16>", [2, 2, size, size, block]
    text = program([f'%x "x": {x}', f'%w "w": {w}'],
                   [f"%c = convolve_packed(%x, %w) strides=[{stride}, {stride}] channels=64 outputs={2 * block} block={block} "
                    f"accumulator=f32 : <{' x '.join(map(str, y))} x f32>"], "%c", y)
    path = tmp_path / "layer.dnn"
    path.write_text(text)
    done = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", "-", "--target=sapphirerapids", "--passes=schedule,lower"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"tiles {positions} by {vectors}" in done.stdout, re.findall("tiles .*", done.stdout)
    want = run_c(path, tmp_path / "generic", ["--passes=lower,plan,prune"], ["-O2"], None)
    values = inputs_of(tmp_path / "generic" / "host", 0)
    for target in processor.these(["x86-64-v3", "sapphirerapids"]):
        (tmp_path / f"{target}.loops").write_text(done.stdout)
        got = run_c(tmp_path / f"{target}.loops", tmp_path / target, ["--passes=legalize,plan,prune", f"--target={target}"], ["-O1"], values)
        assert_close(got[0], want[0])


@needs_tiles
@pytest.mark.parametrize("kind,first", [*((Tiles, first) for first in range(0, 24, 4)), *((Bytes, first) for first in range(0, 16, 4))])
@pytest.mark.sample(4)
def test_compiled(kind, first, tmp_path):
    for seed in range(first, first + 4):
        path = tmp_path / f"{seed}.dnn"
        path.write_text(kind(seed, "sapphirerapids").text)
        plain = tmp_path / f"plain{seed}.dnn"
        plain.write_text(re.sub(r' schedule="[^"]*"', "", path.read_text()))
        folder = tmp_path / f"generic{seed}"
        want = run_c(plain, folder, ["--passes=lower,plan,prune"], ["-O2"], None)
        values = inputs_of(folder / "host", 0)
        for cc in COMPILERS:
            got = run_c(path, tmp_path / f"{cc}{seed}", [PASSES, "--target=sapphirerapids"], ["-O2"], values, cc)
            assert_close(got[0], want[0])


@pytest.mark.parametrize("kind", [Tiles, Bytes])
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
@pytest.mark.sample(8)
def test_without_tiles(target, kind, tmp_path):
    """a program with tiles, for a target that has none: vectors, in the end lane by lane"""
    for seed in range(3):
        path, loops_text = tmp_path / f"{seed}.dnn", tmp_path / f"{seed}.loops"
        path.write_text(kind(seed, "sapphirerapids").text)
        done = dnncc.run([dnncc.DNNCC, path, "--emit=loops", "-o", loops_text, "--passes=lower", "--target=sapphirerapids"])
        assert done.returncode == 0 and "multiply" in loops_text.read_text(), done.stderr
        plain = tmp_path / f"plain{seed}.dnn"
        plain.write_text(re.sub(r' schedule="[^"]*"', "", path.read_text()))
        folder = tmp_path / f"generic{seed}"
        want = run_c(plain, folder, ["--passes=lower,plan,prune"], ["-O1"], None)
        got = run_c(loops_text, tmp_path / f"{target}-{seed}", ["--passes=legalize,plan,prune", f"--target={target}"], ["-O1"],
                    inputs_of(folder / "host", 0))
        assert_close(got[0], want[0])


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [Tiles, Bytes])
def test_check_compiles(kind, tmp_path):
    """what the interpreter has no time for is compiled for this processor, with tiles by their meaning where it has none"""
    contraction = kind(3, "sapphirerapids").text
    (tmp_path / "layer.dnn").write_text(contraction)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "layer.dnn", "--emit=loops", "-o", tmp_path / "layer.loops", "--passes=lower,legalize,plan",
                      "--target=sapphirerapids", "--check", "--limit=check_steps=1"], cwd=tmp_path)
    assert done.returncode == 0 and "multiply %acc" in (tmp_path / "layer.loops").read_text(), (done.stderr, contraction)
    lines = done.stderr.splitlines()
    equal = [line for line in lines if line.endswith(": equal")]      # where it takes long, lines of progress stand between
    assert equal == [f"check: {name}: equal" for name in ("lower", "legalize", "plan")], done.stderr
    told = [line for line in lines if re.fullmatch("check: compiled for [^:]*: this processor has no sapphirerapids", line)]
    assert len(told) == (not processor.has("sapphirerapids")), done.stderr


@pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")
@pytest.mark.parametrize("cc", COMPILERS)
def test_machine_code(cc, tmp_path):
    """the loop of the sums is four products, the loads they need, what fetches weights, and subscripts"""
    x, w, y = "<1 x 4 x 30 x 30 x 32 x bf16>", "<4 x 4 x 3 x 3 x 16 x 2 x 32 x bf16>", "<1 x 4 x 28 x 28 x 32 x f32>"
    text = program([f'%x "x": {x}', f'%w "w": {w}'],
                   [f"%c = convolve_packed(%x, %w) strides=[1, 1] channels=128 outputs=128 block=32 accumulator=f32 : {y}"],
                   "%c", [1, 4, 28, 28, 32])
    (tmp_path / "layer.dnn").write_text(text)
    dnncc.compile_model(tmp_path / "layer.dnn", tmp_path, ["--target=sapphirerapids", PASSES.replace("=", "=schedule,")])
    done = dnncc.run([cc, "-O2", "-std=c99", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
    assert done.returncode == 0, done.stderr
    found = [loop for loop in loops(dnncc.run(["objdump", "-d", "--no-show-raw-insn", tmp_path / "model.o"]).stdout)
             if any(i.startswith("tdpbf16ps") for i in loop)]
    assert found
    for loop in found:
        count = lambda name: sum(i.startswith(name) for i in loop)
        assert count("tdpbf16ps") % 4 == 0 and count("tileload") == count("tdpbf16ps"), loop
        assert not any("mm" in i and "(%rsp" in i and "tile" not in i for i in loop), loop
