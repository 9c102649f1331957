# SPDX-License-Identifier: MIT
"""Rows whose elements take turns where they are stored (transpose.c): random extents, elements and halos, for every target."""
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import dnncc  # noqa: E402


def program(seed):
    """pad(transpose(x)), of few rows and some columns, perhaps rounded; a few rows of zeros and positions around"""
    r = random.Random(seed)
    rows, columns, images, element = r.choice([1, 2, 3, 4, 7, 8]), r.randint(4, 70), r.randint(1, 3), r.choice(["f32", "bf16", "f16"])
    low, high, more = r.choice([0, 0, 1, 3]), r.choice([0, 0, 2]), r.choice([0, 0, 1])
    narrow = "f32" if r.random() < 0.5 else element
    text = ["dnn 1", 'module "m"', f'func @main(%x "x": <{images} x {rows} x {columns} x {narrow}>) -> ("y") {{',
            f"  %0 = transpose(%x) perm=[0, 2, 1] : <{images} x {columns} x {rows} x {narrow}>"]
    text.append(f"  %1 = cast(%0) to={element} : <{images} x {columns} x {rows} x {element}>")
    text.append(f"  %2 = pad(%1, <{element}> 0.0, <3 x i64> [0, {low}, 0]) : <{images} x {columns + low + high} x {rows + more} x {element}>")
    return "\n".join([*text, "  yield(%2)", "}", ""])


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4", "sapphirerapids"])
def test_turns(target, tmp_path):
    woven = 0
    for seed in range(40):
        path = tmp_path / f"{seed}.dnn"
        path.write_text(program(seed))
        done = dnncc.run([dnncc.DNNCC, path, f"--target={target}", "--emit=loops", "-o", "-", "--check",
                          "--passes=fuse,lower,vectorize,contract,legalize,plan,prune"], cwd=tmp_path)
        assert done.returncode == 0, (seed, done.stderr, program(seed))
        checks = dnncc.checks(done)
        assert checks and all(line.endswith(": equal") for line in checks), (seed, checks)
        woven += "interleave_low" in done.stdout
    assert woven > 3, woven
