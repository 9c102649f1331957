# SPDX-License-Identifier: MIT
"""What runs on a machine and what on the processor: by predicted time, launches counted. Which choice is least is launches_test.c's; here
that kernels go where it says, in the form that they have there, with the same bits."""
import re

import pytest

from machine_graphs import Graph
from vta_tool import dnncc


def between(g, x):
    """bytes of the squares of bytes: no machine has such an operation"""
    v = g.whole(x)
    return g.bytes(g.op(f"mul({v}, {v})", g.shape[v], "i32"), 7)


def island(size, around=16):
    """a layer of size x size positions between operations that only a processor has, and large ones around them"""
    g = Graph((1, 32, around, around))
    x = between(g, g.largest(g.convolve(g.input, 32, (3, 3), pads=(1, 1, 1, 1)), around // size, around // size, 0))
    x = between(g, g.convolve(x, 16, (1, 1)))
    x = g.convolve(g.op(f"pad({x}, <i8> 0, <4 x i64> [0, 0, 0, 0])", (1, 16, around, around), "i8"), 32, (3, 3), pads=(1, 1, 1, 1))
    return g.text(x)


def alone(size):
    g = Graph((1, 16, size, size))
    y = g.convolve(g.input, 16, (1, 1))
    g.lines = [f'{line}    ; "layer"' for line in g.lines]      # whose reason the report says
    return g.text(y)


def compiled(text, path, *options):
    (path / "m.dnn").write_text(text)
    done = dnncc.run([dnncc.DNNCC, path / "m.dnn", "--emit=loops", "-o", path / "m.loops", *options])
    assert done.returncode == 0, done.stderr
    assert "DIFFERENT" not in done.stderr.upper()
    return (path / "m.loops").read_text()


def launches(loops):
    return len(re.findall("^stream ", loops, re.M))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target, size", [("vta", 2), ("unified", 1)])
def test_a_small_layer_is_no_launch(target, size, tmp_path):
    text = island(size)
    assert launches(compiled(text, tmp_path, f"--target={target}", "--check")) == 2
    assert launches(compiled(text, tmp_path, f"--target={target}", "--partition=machine", "--check")) == 3


def test_a_large_one_is(tmp_path):
    assert launches(compiled(island(14, 28), tmp_path, "--target=vta")) == 3


def test_what_stays_has_the_form_of_the_processor(tmp_path):
    """its bias is no product, though one of the machine's kernels would be"""
    def contractions(*options):
        (tmp_path / "m.dnn").write_text(island(2))
        dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=vta", "--emit=ir", "-o", tmp_path / "m.ir", *options])
        fusions = re.findall(r"^  %\S+ = fusion.*?^  \}", (tmp_path / "m.ir").read_text(), re.M | re.S)
        return sorted(f.count("convolve_packed(") for f in fusions if "convolve_packed(" in f)
    assert contractions("--partition=machine") == [2, 2, 2]
    assert contractions() == [1, 2, 2]


@pytest.mark.parametrize("size, words, count", [(2, "tile_rows=2 tile_columns=2 tile_outputs=1 tile_inputs=1", 1), (24, "processor=1", 0)])
def test_a_schedule_decides(size, words, count, tmp_path):
    """the user's word comes first, in both directions"""
    text, book = alone(size), tmp_path / "book"
    assert launches(compiled(text, tmp_path, "--target=vta")) == 1 - count
    operation = f"convolve_packed <1 x 1 x {size} x {size} x 16 x i8> <1 x 1 x 1 x 1 x 1 x 1 x 256 x i8> channels=16 outputs=16 limit=127"
    book.write_text("dnncc-schedule 1\n" + "".join(f"{operation} accumulator={element}: {words}\n" for element in range(32)))
    assert launches(compiled(text, tmp_path, "--target=vta", f"--schedule={book}")) == count


def test_nothing_is_on_the_machine(tmp_path):
    """a network that no launch is worth is plain C, and the report says why"""
    loops = compiled(alone(2), tmp_path, "--target=vta")
    assert not launches(loops) and "push" not in loops
    dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=vta", "--emit=ir", "-o", tmp_path / "m.ir"])
    assert len(re.findall(r'schedule="processor=1; ', (tmp_path / "m.ir").read_text())) == 1
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--target=vta", "--stats", "-o", tmp_path / "m.c"])
    assert done.returncode == 0 and "faster on the processor" in done.stderr
    assert "dnncc_vta_launch" not in (tmp_path / "m.h").read_text()
