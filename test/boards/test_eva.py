# SPDX-License-Identifier: MIT
"""Frama-C's Eva on generated C (eva.py): what it proves of networks stays proven."""
import pathlib
import re
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import eva  # noqa: E402

SECONDS = 120       # of processor time: twice what docs/boards.md says, as on a busy machine


def of(model, *options, **keywords):
    if not shutil.which("frama-c"):
        pytest.skip("no frama-c (package frama-c-base)")
    if not boards.model_path(model).exists():
        pytest.skip(f"no {model}")
    return eva.alarms(model, "generic", options, **keywords)


def test_loops_that_are_unrolled():
    """those that zero local arrays, and those whose bounds are not numbers"""
    code = """static void f(void)
{
        for (ptrdiff_t m = 0; m < 8; m += 4) {
                int32_t sum[16];
                for (ptrdiff_t t = 0; t < 16; t++) {
                        sum[t] = 0;
                }
                for (ptrdiff_t k = k_from; k < 3; k++) {
                        sum[k] = sum[k] + 1;
                }
        }
}
"""
    lines = eva.annotated(code).split("\n")
    after = [lines[i + 1].split(";")[0].split()[2] for i, line in enumerate(lines) if "loop unroll" in line]
    assert after == ["t", "k"] and [line for line in lines if "loop unroll" not in line] == code.split("\n")


@pytest.mark.long
@pytest.mark.parametrize("model", ["digits", "mnist_cnn"])
def test_no_alarm(model):
    found, seconds = of(model)
    assert not found and seconds < SECONDS, found


@pytest.mark.long
@pytest.mark.parametrize("model", ["dscnn_kws_int8", "resnet8_int8"])
def test_windows_with_strides(model):
    """all but one read of x, in a window of stride 2: Eva has no relation between an index and the double of another"""
    found, seconds = of(model, "--requantize=integer")
    assert seconds < SECONDS and len(found) <= 1 and all(re.search(r"out of bounds read.* in: .*\bx\[", text) for text in found), found


@pytest.mark.long
def test_access_outside():
    """a window that reaches one row too far is an alarm"""
    def wrong(code):
        changed = code.replace("min_index(9 - oh, 3)", "min_index(10 - oh, 3)")
        assert changed != code
        return changed
    found, _ = of("digits_int8", "--requantize=integer", change=wrong)
    assert any("out of bounds read" in text for text in found), found
