# SPDX-License-Identifier: MIT
"""Commands that have pieces for many processes, under mpirun: what one process writes, byte for byte, whatever becomes of workers."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
from test_batch import DIGITS, descendants, is_alive, rows, zoo  # noqa: E402, F401

MESSENGER = pathlib.Path(dnncc.DNNCC).with_name("dnncc-mpi")
MPIRUN = shutil.which("mpirun")
# more ranks than cores, by root in a container
MPI = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_base_warn_component_unused": "0"}
with_mpi = pytest.mark.skipif(not MESSENGER.exists() or not MPIRUN, reason="no MPI (openmpi-bin, libopenmpi-dev)")


def mpirun(n, *words, program=dnncc.DNNCC, **keywords):
    return dnncc.run([MPIRUN, "-n", n, program, *words], **{"env": MPI, **keywords})


def own(text):
    """what dnncc says, without mpirun's words about exit codes"""
    text = re.sub(r"^-{20,}\n.*?^-{20,}\n", "", text, flags=re.M | re.S)
    return re.sub(r"^(batch|calibrate|tune): .*\n", "", text, flags=re.M)        # how far it was


LIST = "a.onnx -o a.c\nnone.onnx -o n.c\nb.onnx --target=x86-64-v3 -MD -o b.c\nbroken.onnx -o broken.c\nc.onnx --emit=ir -o -\n"


@with_mpi
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_batch(ranks, zoo):  # noqa: F811
    """8: more ranks than lines"""
    (zoo / "list.txt").write_text(LIST)
    alone = dnncc.run([dnncc.DNNCC, "--batch=list.txt"], cwd=zoo)
    files = {name: (zoo / name).read_bytes() for name in ("a.c", "a.h", "b.c", "b.h", "b.d")}
    for name in files:
        (zoo / name).unlink()
    done = mpirun(ranks, "--batch=list.txt", cwd=zoo)
    assert done.returncode == alone.returncode == 2 and rows(done) == rows(alone) and own(done.stderr) == alone.stderr
    assert files == {name: (zoo / name).read_bytes() for name in files}


@with_mpi
def test_options_without_pieces(zoo):  # noqa: F811
    """each process is what it is alone, and none starts MPI"""
    done = mpirun(2, "--version")
    assert done.returncode == 0 and done.stdout == 2 * dnncc.run([dnncc.DNNCC, "--version"]).stdout and not done.stderr
    assert "mpi" not in dnncc.run(["ldd", dnncc.DNNCC]).stdout


@pytest.mark.parametrize("variable, launcher", [("OMPI_COMM_WORLD_SIZE", "mpirun"), ("PMI_SIZE", "mpirun"), ("SLURM_STEP_NUM_TASKS", "srun")])
def test_without_messenger(variable, launcher, zoo):  # noqa: F811
    """a dnncc that was built without MPI names the packages; one process needs none"""
    program = zoo / "alone" / "dnncc"
    program.parent.mkdir()
    shutil.copy(dnncc.DNNCC, program)
    (zoo / "list.txt").write_text("a.onnx -o a.c\n")
    env = {"PATH": "/nowhere", variable: "4"}
    done = dnncc.run([program, "--batch=list.txt"], cwd=zoo, env=env)
    assert done.returncode == 4 and done.stderr == (
        f"dnncc: error: --batch in 4 processes of {launcher} wants dnncc-mpi, which make builds where MPI is: Debian's packages are "
        "openmpi-bin and libopenmpi-dev\n")
    assert dnncc.run([program, "--batch=list.txt"], cwd=zoo, env={**env, variable: "1"}).returncode == 0
    assert dnncc.run([program, "a.onnx", "-o", "b.c"], cwd=zoo, env=env).returncode == 0


@with_mpi
def test_another_mpirun(zoo):  # noqa: F811
    """that started several processes which do not know of each other"""
    (zoo / "list.txt").write_text("a.onnx -o a.c\n")
    done = dnncc.run([dnncc.DNNCC, "--batch=list.txt"], cwd=zoo, env={**MPI, "SLURM_STEP_NUM_TASKS": "3"})
    assert done.returncode == 1 and "dnncc-mpi: error: 3 processes were started, and MPI knows of one" in done.stderr
    assert not (zoo / "a.c").exists()


@with_mpi
@pytest.mark.slow
def test_other_build(zoo):  # noqa: F811
    """is refused before anything runs, and both digests are named"""
    other = zoo / "other"
    other.mkdir()
    program = pathlib.Path(dnncc.DNNCC).read_bytes()
    digest = re.search(rb"[0-9a-f]{64}", (dnncc.ROOT / "build" / "sources.inc").read_bytes())[0]
    assert program.count(digest) == 1
    (other / "dnncc").write_bytes(program.replace(digest, b"0123456789abcdef" * 4))
    (other / "dnncc").chmod(0o755)
    shutil.copy(MESSENGER, other)
    (zoo / "list.txt").write_text("a.onnx -o a.c\n")
    done = dnncc.run([MPIRUN, "-n", 2, dnncc.DNNCC, "--batch=list.txt", ":", "-n", 1, other / "dnncc", "--batch=list.txt"], cwd=zoo, env=MPI)
    assert done.returncode == 1 and not (zoo / "a.c").exists()
    assert re.search(rf"error: worker 3 \(.*, process \d+\) is another build of dnncc: its sources have the digest 0123456789abcdef, "
                     rf"those here {digest[:16].decode()}", done.stderr)


@with_mpi
def test_other_command(zoo):  # noqa: F811
    """is refused, too: processes that were started together work on one command"""
    for name in "ab":
        (zoo / f"{name}.list").write_text(f"{name}.onnx -o {name}.c\n")
    done = dnncc.run([MPIRUN, "-n", 1, dnncc.DNNCC, "--batch=a.list", ":", "-n", 1, dnncc.DNNCC, "--batch=b.list"], cwd=zoo, env=MPI)
    assert done.returncode == 1 and not (zoo / "a.c").exists() and not (zoo / "b.c").exists()
    assert re.search(r"error: worker 2 \(.*, process \d+\) was started with another command line than rank 0", done.stderr)


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "in vain"
        time.sleep(.02)
    return found


def workers_of(pid):
    """processes of dnncc that an environment made workers, and of dnncc-mpi"""
    found = {"worker": [], "coordinator": [], "dnncc-mpi": []}
    for child in descendants(pid):
        try:
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            place = re.search(rb"DNNCC_FARM=\d+ (\d+)", pathlib.Path(f"/proc/{child}/environ").read_bytes())
            parent = int(pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
            name = pathlib.Path(f"/proc/{parent}/comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError, IndexError):
            continue
        if pathlib.Path(words[0].decode()).name == "dnncc-mpi":
            found["dnncc-mpi"].append(child)
        elif place and name == "dnncc-mpi":
            found["coordinator" if place[1] == b"0" else "worker"].append(child)
    return found


def slow_compiler(folder, seconds):
    """takes so long, and leaves a mark for each that was started"""
    compiler = folder / "cc"
    compiler.write_text(f"#!/bin/sh\necho $$ >> {folder}/started\nsleep {seconds}\nexec cc \"$@\"\n")
    compiler.chmod(0o755)
    return compiler


@with_mpi
@pytest.mark.slow
def test_lost_worker(zoo):  # noqa: F811
    """costs its piece, which another makes again; behind it there is nothing left"""
    compiler = slow_compiler(zoo, 2)
    (zoo / "tmp").mkdir()
    (zoo / "list.txt").write_text("".join(f"{name}.onnx --bench=1 --cc={compiler}\n" for name in "abcd"))
    with subprocess.Popen([MPIRUN, "-n", "3", dnncc.DNNCC, "--batch=list.txt"], cwd=zoo, env={**MPI, "TMPDIR": str(zoo / "tmp")},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        wait_for(lambda: (zoo / "started").exists() and len((zoo / "started").read_text().split()) == 3)
        os.kill(workers_of(run.pid)["worker"][0], signal.SIGKILL)
        out, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    assert out.endswith("4 of 4 lines done\n") and re.search(r"warning: worker \d \(.*\) was lost: its piece, number \d, is made by another", errors)
    assert [name for name in os.listdir(zoo / "tmp") if name.startswith("dnncc")] == []


@with_mpi
@pytest.mark.slow
def test_lost_rank(zoo):  # noqa: F811
    """Open MPI goes on without a process that it started, if it is told to"""
    if "Open MPI" not in dnncc.run([MPIRUN, "--version"]).stdout:
        pytest.skip("not Open MPI")
    compiler = slow_compiler(zoo, 2)
    (zoo / "list.txt").write_text("".join(f"{name}.onnx --bench=1 --cc={compiler}\n" for name in "abcd"))
    with subprocess.Popen([MPIRUN, "--enable-recovery", "--mca", "btl", "self,tcp", "-n", "3", dnncc.DNNCC, "--batch=list.txt"], cwd=zoo, env=MPI,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        wait_for(lambda: (zoo / "started").exists() and len((zoo / "started").read_text().split()) == 3)
        found = workers_of(run.pid)
        parents = [int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in found["coordinator"]]
        os.kill(next(pid for pid in found["dnncc-mpi"] if pid not in parents), signal.SIGKILL)
        out, errors = run.communicate(timeout=60)
    assert "4 of 4 lines done\n" in out and re.search(r"warning: worker \d \(.*\) was lost: its piece, number \d, is made by another", errors)
    wait_for(lambda: not any(is_alive(pid) for pids in found.values() for pid in pids), 5)


@with_mpi
@pytest.mark.slow
@pytest.mark.parametrize("whom, number", [("coordinator", signal.SIGKILL), ("dnncc-mpi", signal.SIGKILL), ("mpirun", signal.SIGINT), ("mpirun", signal.SIGTERM)])
def test_all_end(whom, number, zoo):  # noqa: F811
    """within five seconds where rank 0 does, and where mpirun is told to; what was unfinished is gone"""
    compiler = slow_compiler(zoo, 60)
    (zoo / "tmp").mkdir()
    (zoo / "list.txt").write_text("".join(f"{name}.onnx --bench=1 --cc={compiler}\n" for name in "abcd"))
    with subprocess.Popen([MPIRUN, "-n", "3", dnncc.DNNCC, "--batch=list.txt"], cwd=zoo, env={**MPI, "TMPDIR": str(zoo / "tmp")},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        wait_for(lambda: (zoo / "started").exists() and len((zoo / "started").read_text().split()) == 3)
        found, all_of_them = workers_of(run.pid), descendants(run.pid)
        assert len(found["worker"]) == 3 and len(found["coordinator"]) == 1 and len(found["dnncc-mpi"]) == 3
        start = time.monotonic()
        os.kill(run.pid if whom == "mpirun" else found[whom][0], number)
        wait_for(lambda: not any(is_alive(pid) for pid in all_of_them), 5)
        assert time.monotonic() - start < 5
        run.communicate(timeout=20)
    assert run.returncode != 0
    assert [name for name in os.listdir(zoo / "tmp") if name.startswith("dnncc")] == []


@with_mpi
@pytest.mark.slow
@pytest.mark.parametrize("wire", ["self,vader", "self,tcp"])
def test_calibrate(wire, tmp_path):
    """the file of one process, byte for byte, by memory that is shared and by TCP; a worker whose machine lacks the samples is struck off"""
    numbers = np.random.default_rng(5)
    np.savez(tmp_path / "x.npz", image=numbers.normal(size=(20, 1, 1, 8, 8)).astype(np.float32))
    words = [DIGITS, "--calibrate=x.npz", "-MD", "-o"]
    assert dnncc.run([dnncc.DNNCC, *words, "one.ranges"], cwd=tmp_path).returncode == 0
    done = mpirun(3, *words, "many.ranges", cwd=tmp_path, env={**MPI, "OMPI_MCA_btl": wire})
    assert done.returncode == 0 and not own(done.stderr)
    assert (tmp_path / "one.ranges").read_bytes() == (tmp_path / "many.ranges").read_bytes()
    assert (tmp_path / "one.d").read_text().replace("one", "many") == (tmp_path / "many.d").read_text()
    (tmp_path / "many.ranges").unlink()
    (tmp_path / "elsewhere").mkdir()
    done = dnncc.run([MPIRUN, "-n", 2, dnncc.DNNCC, *words, "many.ranges", ":", "-wdir", "elsewhere", "-n", 1, dnncc.DNNCC, *words, "many.ranges"],
                     cwd=tmp_path, env=MPI)
    assert done.returncode == 0 and (tmp_path / "one.ranges").read_bytes() == (tmp_path / "many.ranges").read_bytes()
    assert re.search(r"warning: worker 3 \(.*\) cannot work and is struck off \(.*cannot read x.npz: No such file", done.stderr)
    assert os.listdir(tmp_path / "elsewhere") == []


@with_mpi
@pytest.mark.slow
def test_calibrate_wrongly(tmp_path):
    """what one process says, once, and its exit code; nothing is written"""
    x = np.zeros((20, 1, 1, 8, 8), np.float32)
    x[7, 0, 0, 3, 3] = x[18, 0, 0, 3, 3] = np.nan
    np.savez(tmp_path / "x.npz", image=x)
    for words in ([DIGITS, "--calibrate=x.npz", "-o", "x.ranges"], [DIGITS, "--calibrate=y.npz", "-o", "x.ranges"], ["none.onnx", "--calibrate=x.npz"]):
        alone, done = dnncc.run([dnncc.DNNCC, *words], cwd=tmp_path), mpirun(3, *words, cwd=tmp_path)
        said = [line for line in own(done.stderr).splitlines() if "is struck off" not in line]
        assert alone.returncode == done.returncode != 0 and own(alone.stderr).splitlines() == said
    assert os.listdir(tmp_path) == ["x.npz"]


@pytest.fixture
def two_hosts(tmp_path):
    """network namespaces with a link between them, and what starts Open MPI in the second, under a name of its own"""
    if os.geteuid() or not shutil.which("ip") or not shutil.which("unshare") or "Open MPI" not in dnncc.run([MPIRUN, "--version"]).stdout:
        pytest.skip("namespaces are root's, by iproute2, and Open MPI's flags are used")
    names = [f"dnncc{os.getpid()}{c}" for c in "ab"]
    links = [f"dn{os.getpid()}{c}" for c in "ab"]
    if dnncc.run(["ip", "netns", "add", names[0]]).returncode:
        pytest.skip("no network namespaces here")
    try:
        dnncc.run(["ip", "netns", "add", names[1]])
        done = dnncc.run(["ip", "link", "add", links[0], "netns", names[0], "type", "veth", "peer", "name", links[1], "netns", names[1]])
        for k in (0, 1):
            dnncc.run(["ip", "-n", names[k], "addr", "add", f"10.77.0.{k + 1}/24", "dev", links[k]])
            for link in (links[k], "lo"):
                dnncc.run(["ip", "-n", names[k], "link", "set", link, "up"])
        if done.returncode:
            pytest.skip("no links between namespaces here")
        agent = tmp_path / "agent"
        agent.write_text(f'#!/bin/sh\nshift\nexec ip netns exec {names[1]} unshare -u sh -c "hostname two; $*"\n')
        agent.chmod(0o755)
        net = "10.77.0.0/24"
        yield ["ip", "netns", "exec", names[0], "unshare", "-u", "sh", "-c", 'hostname one; exec "$@"', "sh", MPIRUN, "--mca", "plm_rsh_agent", agent,
               "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net, "-H", "10.77.0.1:2,10.77.0.2:2", "-n", "4"]
    finally:
        for name in names:
            dnncc.run(["ip", "netns", "del", name])


@with_mpi
@pytest.mark.slow
def test_hosts_of_their_own(two_hosts, tmp_path):
    """four ranks on two hosts, over TCP: the file of one process; a worker of the other host is named by it"""
    np.savez(tmp_path / "x.npz", image=np.random.default_rng(5).normal(size=(20, 1, 1, 8, 8)).astype(np.float32))
    words = [DIGITS, "--calibrate=x.npz", "-o"]
    assert dnncc.run([dnncc.DNNCC, *words, "one.ranges"], cwd=tmp_path).returncode == 0
    done = dnncc.run([*two_hosts, dnncc.DNNCC, *words, "many.ranges"], cwd=tmp_path, env=MPI)
    assert done.returncode == 0 and (tmp_path / "one.ranges").read_bytes() == (tmp_path / "many.ranges").read_bytes(), done
    run = ["sh", "-c", '[ "$(hostname)" = one ] || set -- "$@" --samples=5; exec "$@"', "sh"]     # another command there
    done = dnncc.run([*two_hosts, *run, dnncc.DNNCC, *words, "other.ranges"], cwd=tmp_path, env=MPI)
    assert done.returncode == 1 and re.search(r"worker [34] \(two, process \d+\) was started with another command line", done.stderr), done
    assert not (tmp_path / "other.ranges").exists()
