# SPDX-License-Identifier: MIT
"""The table of docs/quantization.md that says what is computed by integers and what by floats, row by row: the program of a row is compiled,
and floats are in it or are not."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

INPUTS = {"a": "2 x 16", "b": "2 x 16", "c": "2 x 4"}
DECODED = """  %{name}i = cast(%{name}) to=i32 : <{s} x i32>
  %{name}c = sub(%{name}i, 9) : <{s} x i32>
  %{name}f = cast(%{name}c) : <{s} x f32>
  %{name}d = mul(%{name}f, 0.031) : <{s} x f32>
"""
ENCODED = """  %e0 = div(%y, {step}) : <{s} x f32>
  %e1 = round(%e0) : <{s} x f32>
  %e2 = add(%e1, 9.0) : <{s} x f32>
  %e3 = cast(%e2) to=u8 : <{s} x u8>
"""
WEIGHTS = "<4 x 16 x i8> [" + ", ".join(str(k * 37 % 255 - 127) for k in range(64)) + "]"
LAYER = f"""  %w = cast({WEIGHTS}) : <4 x 16 x f32>
  %ws = mul(%w, 0.0071) : <4 x 16 x f32>
  %s = dot(%ad, %ws) contract_a=[1] contract_b=[1] : <2 x 4 x f32>
"""
MOVED = ["moves", "the largest of windows"]         # have the steps of what they read
# row of the table: (inputs of bytes, what is between them, shape of the result)
ROWS = {
    "a layer": ("a", LAYER + "  %y = max(%s, 0.0) : <2 x 4 x f32>\n", "2 x 4"),
    "a layer and another branch": ("ac", LAYER + "  %y = add(%s, %cd) : <2 x 4 x f32>\n", "2 x 4"),
    "moves": ("a", "  %y = transpose(%ad) perm=[1, 0] : <16 x 2 x f32>\n", "16 x 2"),
    "the largest of windows": ("a", "  %y = reduce_window(%ad) window=[1, 4] strides=[1, 4] : <2 x 4 x f32>\n", "2 x 4"),
    "sums, averages": ("a", "  %m = reduce(%ad, <1 x i64> 1) : <2 x f32>\n  %y = mul(%m, 0.0625) : <2 x f32>\n", "2"),
    "a function of one byte": ("a", "  %y = sigmoid(%ad) : <2 x 16 x f32>\n", "2 x 16"),
    "sums and products of two": ("ab", "  %p = mul(%ad, %bd) : <2 x 16 x f32>\n  %q = sub(%p, %ad) : <2 x 16 x f32>\n  %y = max(%q, 0.0) : <2 x 16 x f32>\n", "2 x 16"),
    "quotients and functions of two": ("ab", "  %p = sigmoid(%ad) : <2 x 16 x f32>\n  %y = mul(%p, %bd) : <2 x 16 x f32>\n", "2 x 16"),
    "softmax": ("a", """  %x = reduce(%ad, <1 x i64> 1) kind=max : <2 x f32>
  %xb = broadcast(%x) dims=[0] : <2 x 16 x f32>
  %df = sub(%ad, %xb) : <2 x 16 x f32>
  %ex = exp(%df) : <2 x 16 x f32>
  %t = reduce(%ex, <1 x i64> 1) : <2 x f32>
  %tb = broadcast(%t) dims=[0] : <2 x 16 x f32>
  %y = div(%ex, %tb) : <2 x 16 x f32>
""", "2 x 16"),
    "norms": ("a", """  %q = mul(%ad, %ad) : <2 x 16 x f32>
  %t = reduce(%q, <1 x i64> 1) : <2 x f32>
  %r = sqrt(%t) : <2 x f32>
  %rb = broadcast(%r) dims=[0] : <2 x 16 x f32>
  %y = div(%ad, %rb) : <2 x 16 x f32>
""", "2 x 16"),
}


def table():
    """{row: (default, --requantize=integer)}: "integers" or "floats", with which a cell begins"""
    text = (dnncc.ROOT / "docs" / "quantization.md").read_text()
    part = text[text.index("### Integers and floats"):]
    rows = re.findall(r"^\| ([a-z][^|]*?) \| (integers|floats)[^|]* \| (integers|floats)[^|]* \|$", part[:part.index("\n### ", 5)], re.M)
    return {name: kinds for name, *kinds in rows}


def test_rows():
    assert set(table()) == set(ROWS)


@pytest.mark.parametrize("mode", ["float", "integer"])
@pytest.mark.parametrize("row", ROWS)
def test_row(row, mode, tmp_path):
    inputs, body, shape = ROWS[row]
    step = 0.031 if row in MOVED else 0.017
    arguments = ", ".join(f'%{name} "{name}": <{INPUTS[name]} x u8>' for name in inputs)
    text = "".join(DECODED.format(name=name, s=INPUTS[name]) for name in inputs) + body + ENCODED.format(s=shape, step=step)
    (tmp_path / "p.dnn").write_text(f'dnn 1\nmodule "m"\nfunc @main({arguments}) -> ("y") {{\n{text}  yield(%e3)\n}}\n')
    done = dnncc.run([dnncc.DNNCC, tmp_path / "p.dnn", f"--requantize={mode}", "--target=generic", "-o", tmp_path / "p.c"])
    assert done.returncode == 0, done.stderr
    floats = bool(re.search(r"\b(float|f32)\b", re.sub(r"/\*.*?\*/", "", (tmp_path / "p.c").read_text(), flags=re.S)))
    assert ("floats" if floats else "integers") == table()[row][mode == "integer"]
    assert ("stay" in done.stderr) == (floats and mode == "integer")
