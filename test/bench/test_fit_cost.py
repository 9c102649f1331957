# SPDX-License-Identifier: MIT
"""fit_cost.py: what it measures here are numbers that a processor can have, and its table tells those that differ from those that do not."""
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import dnncc  # noqa: E402
import fit_cost  # noqa: E402
import processor  # noqa: E402


@pytest.fixture(scope="session")
def rates():
    """test/bench/rates.c, beside the dnncc that is tested"""
    program = pathlib.Path(dnncc.DNNCC).parent / "rates"
    done = dnncc.run(["make", "-s", "-C", dnncc.ROOT, f"B={program.parent}", program], timeout=600)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", *(pytest.param(name, marks=pytest.mark.long) for name in ("x86-64", "x86-64-v3"))])
@pytest.mark.slow
def test_a_machine(rates, target, tmp_path):
    if target != "native":
        processor.require(target)
    written = tmp_path / "rates.txt"
    done = dnncc.run([sys.executable, HERE / "fit_cost.py", f"--dnncc={dnncc.DNNCC}", f"--rates={rates}", f"--target={target}", f"--write={written}"],
                     timeout=300)
    assert done.returncode == 0, done.stderr
    assert written.read_text() == done.stdout
    rows = {name: float(value) for name, value in re.findall(r"^(\w+) +([\d.e+]+) +\d+%", done.stdout, re.M)}
    listed = dnncc.run([rates, target]).stdout
    assert set(re.findall(r"^multiply (\w+) lanes=(?!1 ).* tiles=0", listed, re.M)) <= rows.keys(), done.stdout
    if "issue" in rows:
        assert {"contention", "packed_entry", "packed_iteration", "packed_result"} <= rows.keys(), done.stdout
        assert 0.2 < rows["issue"] < 10 and 1 < rows["latency"] < 30, done.stdout
    assert 0.5 < rows["memory"] < rows["l2"] * 1.5 and rows["l2"] < 500, done.stdout


def test_what_is_taken_over():
    target = fit_cost.Target.__new__(fit_cost.Target)
    target.name = "t"
    target.rates = {"issue": (2, "a cycle"), "l2": (48, "bytes a cycle"), "memory": (6, "bytes a cycle")}
    facts = {"tiles": "0", "lanes": "16", "cycles": "0.5"}
    target.multiplies = [("fma", facts), ("vnni", facts), ("amx", {**facts, "tiles": "1"})]
    text = "\n".join(fit_cost.table(target, {"issue": (1, 0), "l2": (45, 0), "memory": (9, 0.6)}, {"fma": (1, 0.01), "vnni": (0.51, 0)}))
    assert ".issue = 1," in text and ".l2" not in text and ".memory" not in text
    assert '.multiplies = (const struct multiply_rate[]){ { "fma", 1 }, { 0 } },' in text
    assert "not measured: in hardware tiles" in text


def test_fit():
    """two unknowns that explain what was measured, one that would be negative"""
    shares = [(1, 4, 2), (1, 8, 3), (1, 16, 1), (1, 2, 9), (1, 5, 5)]
    exact = [(a, 7 * a[0] + 2 * a[1] + 0.5 * a[2]) for a in shares]
    assert fit_cost.least_squares(exact) == pytest.approx([7, 2, 0.5])
    without = fit_cost.fit_positive([(a, 7 * a[0] + 2 * a[1] - 0.5 * a[2]) for a in shares])
    assert without[2] == 0 and without[0] > 0 and without[1] > 0


def test_text_of_a_kernel():
    m = {"lanes": "16", "group": "4", "x": "u8", "w": "i8", "word": "u32", "sum": "i32", "body": "dot_u8_i8"}
    text = fit_cost.program(m, True, 12)
    assert text.count("dot_u8_i8(") == 12 and "%w<16 u32 of 4>" in text
    pairs = set(re.findall(r"dot_u8_i8\(%acc\d+, (%a\d), (%w\d)\)", text))
    assert len(pairs) == 12             # no product serves two sums
