# SPDX-License-Identifier: MIT
"""dnncc-run-tests: commands of a list in many processes, in one order, whatever becomes of workers."""
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "driver"))
import dnncc  # noqa: E402
from test_mpi import MPI, MPIRUN, own, with_mpi  # noqa: E402

PROGRAM = pathlib.Path(dnncc.DNNCC).with_name("dnncc-run-tests")


@pytest.fixture(scope="module", autouse=True)
def program():
    done = dnncc.run(["make", "-s", "-C", dnncc.ROOT, PROGRAM.relative_to(dnncc.ROOT)], timeout=300)
    assert done.returncode == 0, done.stderr


LIST = """# commands of a shell
sleep 0.4; echo "not shown"
echo out; echo error >&2; exit 3

test -z "$OMPI_COMM_WORLD_SIZE$PMIX_RANK$PMI_SIZE$DNNCC_FARM"
test "$(cat)" = ""
kill -9 $$
echo {folder} > here && test -f here
"""
SHOWN = """passed  sleep 0.4; echo "not shown"
FAILED  echo out; echo error >&2; exit 3
out
error
exit code 3
passed  test -z "$OMPI_COMM_WORLD_SIZE$PMIX_RANK$PMI_SIZE$DNNCC_FARM"
passed  test "$(cat)" = ""
FAILED  kill -9 $$
dnncc: error: this command was ended by signal 9
exit code 70
passed  echo {folder} > here && test -f here
4 of 6 passed
"""


def shown(done):
    return re.sub(r"^(passed|FAILED) +\d+\.\d\d s  ", r"\1  ", done.stdout, flags=re.M)


@pytest.mark.parametrize("jobs", [1, 4])
def test_order(jobs, tmp_path):
    (tmp_path / "list").write_text(LIST.format(folder=tmp_path))
    done = dnncc.run([PROGRAM, "list", jobs], cwd=tmp_path)
    assert done.returncode == 1 and not done.stderr and shown(done) == SHOWN.format(folder=tmp_path)


@with_mpi
@pytest.mark.slow
def test_under_mpirun(tmp_path):
    """commands know nothing of MPI, and may start some themselves; a worker that is lost costs its command"""
    (tmp_path / "list").write_text(LIST.format(folder=tmp_path) + f"mpirun --allow-run-as-root --oversubscribe -n 2 {dnncc.DNNCC} --version\n"
                                   + "mkdir first 2>/dev/null && kill -9 $PPID; sleep 0.1\n")
    done = dnncc.run([MPIRUN, "-n", 3, PROGRAM, "list"], cwd=tmp_path, env=MPI)
    lines = shown(done).splitlines()
    assert done.returncode == 1 and lines[:-3] == SHOWN.format(folder=tmp_path).splitlines()[:-1] and lines[-1] == "6 of 8 passed"
    assert [line.split()[0] for line in lines[-3:-1]] == ["passed", "passed"]
    assert re.fullmatch(r"dnncc-run-tests: warning: worker \d \(.*\) was lost: its piece, number 8, is made by another", own(done.stderr).strip())


def test_bad_input(tmp_path):
    for words, code, text in (([], 1, "usage: dnncc-run-tests LIST [JOBS]\n"), (["a", "0"], 1, "usage: "), (["none"], 2, "cannot read none: No such file")):
        done = dnncc.run([PROGRAM, *words], cwd=tmp_path)
        assert done.returncode == code and text in done.stderr
    (tmp_path / "empty").write_text("\n")
    assert dnncc.run([PROGRAM, tmp_path / "empty"]).stdout == "0 of 0 passed\n"


def test_list_of_make():
    """has each unit test and each file of Python's tests"""
    done = dnncc.run(["make", "-s", "-n", "-C", dnncc.ROOT, "check-farm", "TIER=all", "JOBS=mpi", "MPIRUN_FLAGS=-n 8"], env=os.environ)
    assert done.returncode == 0 and "mpirun -n 8 build/dnncc-run-tests build/tests.list" in done.stdout
    for path in [*dnncc.ROOT.glob("test/*/test_*.py")]:
        assert str(path.relative_to(dnncc.ROOT)) in done.stdout
    for path in dnncc.ROOT.glob("test/unit/*_test.c"):
        assert f"build/unit/{path.stem} " in done.stdout or f"build/unit/{path.stem};" in done.stdout
    assert "build/unit/random_passes_test 10000" in done.stdout
