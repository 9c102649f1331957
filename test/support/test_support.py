# SPDX-License-Identifier: MIT
"""What the tests share: limits of processor time, and what is said about what a processor lacks."""
import pathlib
import re
import shutil
import signal
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import dnncc  # noqa: E402
import processor  # noqa: E402

CASES = """
import pytest, sys
sys.path.insert(0, {here!r})
import processor

@processor.needs("no-such")
@pytest.mark.parametrize("k", range(3))
def test_mark(k):
    assert False

def test_require():
    processor.require("other-such")

def test_part():
    assert processor.these(["generic", "no-such", "no-such"]) == ["generic"]

def test_asks_only():
    assert not processor.has("no-such") and processor.has("generic")

@pytest.mark.skip(reason="of something else")
def test_else():
    assert False
"""


def test_processor_time():
    """a process that computes is killed, one that waits is not"""
    spins = dnncc.run([sys.executable, "-S", "-c", "while True: pass"], timeout=1)
    assert spins.returncode == -signal.SIGXCPU
    assert dnncc.run([sys.executable, "-S", "-c", "import time; time.sleep(1.5)"], timeout=1).returncode == 0


def test_left_out(tmp_path):
    """counted in several processes, each case for the first feature that it lacks"""
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(HERE.parent / name, tmp_path)
    (tmp_path / "support").symlink_to(HERE)
    (tmp_path / "test_cases.py").write_text(CASES.format(here=str(HERE)))
    done = dnncc.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--slowest=1", tmp_path / "test_cases.py"])
    assert done.returncode == 0, done.stdout
    assert "left out because of this processor: 6 cases (5 need no-such, 1 need other-such)\n" in done.stdout
    assert " s of processor time; the most" in done.stdout and "2 passed, 5 skipped" in done.stdout


TIERED = """
import pytest

@pytest.mark.parametrize("case", range(3))
def test_cases(case):
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.parametrize("case", [0, 1, pytest.param(2, marks=pytest.mark.long)])
def test_some_long(case):
    pass

@pytest.mark.long
def test_long():
    pass

@pytest.mark.sample(4)
@pytest.mark.parametrize("case", range(12))
def test_sampled(case):
    pass

@pytest.mark.sample(20)
@pytest.mark.parametrize("operator", range(5))
@pytest.mark.parametrize("target", range(4))
def test_every_value(operator, target):
    print(f"ran o{operator} t{target}.")

@pytest.mark.sample(10, each=False)
@pytest.mark.parametrize("operator", range(5))
@pytest.mark.parametrize("target", range(4))
def test_not_every_value(operator, target):
    pass
"""


@pytest.mark.parametrize("tier, counts", [("quick", "5 passed"), ("check", "passed"), ("all", "60 passed")])
def test_tiers(tmp_path, tier, counts):
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(HERE.parent / name, tmp_path)
    (tmp_path / "support").symlink_to(HERE)
    (tmp_path / "test_tiered.py").write_text(TIERED)
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = dnncc.run([*pytest_, "--tier", tier, tmp_path / "test_tiered.py"])
    assert done.returncode == 0 and counts in done.stdout, done.stdout
    if tier == "check":
        assert "2 passed" in dnncc.run([*pytest_, "--tier", tier, "-k", "test_not_every_value", tmp_path / "test_tiered.py"]).stdout
        ran = dnncc.run([*pytest_, "-s", "--tier", tier, "-k", "test_every_value or test_sampled", tmp_path / "test_tiered.py"]).stdout
        assert all(f" {kind}{k}" in ran for kind, count in (("o", 5), ("t", 4)) for k in range(count)), ran
        assert 3 + 5 <= int(re.search(r"(\d+) passed", ran)[1]) < 3 + 12, ran
    named = dnncc.run([*pytest_, "--tier", tier, f"{tmp_path / 'test_tiered.py'}::test_long"])
    assert "1 passed" in named.stdout, named.stdout


def test_what_targets_need():
    """as their tables have it"""
    assert processor.NEEDS["generic"] == () and processor.NEEDS["x86-64"] == ("sse2",)
    assert processor.NEEDS["sapphirerapids"][0] == "amx-tile" and "avx512f" in processor.NEEDS["x86-64-v4"]
    assert processor.NEEDS["zen4"] == processor.NEEDS["x86-64-v4-bf16"] and processor.NEEDS["generic-be"] == ()
    listed = dnncc.run([dnncc.DNNCC, "--target=help"]).stdout.splitlines()
    assert {line.split()[0] for line in listed} == {*processor.NEEDS, "native"}
    native = listed[-1].split()[-1]
    assert processor.has(native)
