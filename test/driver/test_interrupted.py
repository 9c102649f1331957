# SPDX-License-Identifier: MIT
"""Outputs appear whole or not at all, and nothing temporary stays, whatever ends the program: a signal, memory that runs out, a failed
write. A library that the program is started with sends the signal, or refuses the memory, at the moment wanted."""
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"

# a background job inherits that these are ignored, and hands it on: here they count
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
OUTPUTS = {"m.c", "m.h", "m.d", "m.html"}

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* the number of this call of `name` is that of the environment: NAME=N */
static int is_due(const char *name, long *calls)
{
        const char *text = getenv(name);
        return text && ++*calls == atol(text);
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static long allocations, closed, renamed;
static int refused(void) { return is_due("REFUSE", &allocations) ? (errno = ENOMEM, 1) : 0; }
void *malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return refused() ? NULL : __libc_calloc(n, bytes); }
void *realloc(void *p, size_t bytes) { return refused() ? NULL : __libc_realloc(p, bytes); }

int fclose(FILE *file)
{
        int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
        if (is_due("AT_CLOSE", &closed))
                raise(atoi(getenv("SIGNAL")));
        return real(file);
}

int rename(const char *from, const char *to)
{
        int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
        if (is_due("AT_RENAME", &renamed))
                raise(atoi(getenv("SIGNAL")));
        return real(from, to);
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if not shutil.which("ldd") or "glibc" not in dnncc.run(["ldd", "--version"]).stdout.lower().replace("gnu libc", "glibc"):
        pytest.skip("the library is for glibc")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    done = dnncc.run(["gcc", "-shared", "-fPIC", "-w", "-o", folder / "shim.so", folder / "shim.c", "-ldl"])
    assert done.returncode == 0, done.stderr
    program = dnncc.run(["ldd", dnncc.DNNCC]).stdout
    if "asan" in program + str(dnncc.DNNCC):
        pytest.skip("sanitizers bring allocators of their own")
    return folder / "shim.so"


def run(shim, folder, *arguments, **variables):
    """a run with the library that writes m.c and what goes beside it into the folder"""
    return dnncc.run([dnncc.DNNCC, *arguments, "-o", folder / "m.c", "-MD", f"--report={folder}/m.html"],
                     env={**os.environ, "LD_PRELOAD": str(shim), **{k: str(v) for k, v in variables.items()}})


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGSEGV", "SIGXCPU"])
def test_signal(number, shim, tmp_path):
    """behind it there is what was there before; a signal between the first and the last file finds all of them"""
    value = int(getattr(signal, number))
    for moment in ({"AT_CLOSE": 2}, {"AT_RENAME": 1}, {"AT_RENAME": 3}):
        folder = tmp_path / "-".join(f"{k}{v}" for k, v in moment.items())
        folder.mkdir()
        (folder / "m.c").write_text("before")
        done = run(shim, folder, DIGITS, SIGNAL=value, **moment)
        assert done.returncode == -value, (moment, done)
        if "AT_CLOSE" in moment:
            assert os.listdir(folder) == ["m.c"] and (folder / "m.c").read_text() == "before"
        else:
            assert set(os.listdir(folder)) == OUTPUTS and dnncc.run(["gcc", "-c", folder / "m.c", "-o", "/dev/null"]).returncode == 0


def test_ignored_signals_stay_ignored(shim, tmp_path):
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", dnncc.DNNCC, DIGITS, "-o", tmp_path / "m.c"]
    done = dnncc.run(command, env={**os.environ, "LD_PRELOAD": str(shim), "SIGNAL": str(int(signal.SIGHUP)), "AT_CLOSE": "1"})
    assert done.returncode == 0 and set(os.listdir(tmp_path)) == {"m.c", "m.h"}


def test_each_failing_allocation(shim, tmp_path):
    port = [onnx.helper.make_tensor_value_info(name, 1, [4]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", port[:1], port[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "r.onnx")
    folder = tmp_path / "out"
    folder.mkdir()
    for number in range(1, 5000):
        done = run(shim, folder, tmp_path / "r.onnx", REFUSE=number)
        if done.returncode == 0:
            break
        assert done.returncode in (dnncc.BUDGET, dnncc.IO), (number, done.stderr)
        assert "memory" in done.stderr and not os.listdir(folder), (number, done.stderr, os.listdir(folder))
    assert 100 < number < 4999 and set(os.listdir(folder)) == OUTPUTS


CALLS = {"openat": "EACCES", "read": "EIO", "write": "ENOSPC", "close": "EIO", "newfstatat": "EACCES", "fcntl": "EIO", "fchmod": "EPERM",
         "rename": "EIO"}


def injected(folder, trace, call, number):
    """a run whose call of this number fails, and whether there was one"""
    done = dnncc.run(["strace", "-f", "-o", trace, "-e", f"trace={call}", "-e", f"inject={call}:error={CALLS[call]}:when={number}",
                      dnncc.DNNCC, DIGITS, "-o", folder / "m.c", "-MD", f"--report={folder}/m.html"])
    return done, "(INJECTED)" in trace.read_text()


@pytest.mark.sample(4)
@pytest.mark.parametrize("call", CALLS)
def test_each_failing_call(call, tmp_path):
    """of the system: an error that is said, and no output; or the right ones, where nothing was lost"""
    trace, folder, whole = tmp_path / "trace", tmp_path / "out", tmp_path / "whole"
    if not shutil.which("strace") or dnncc.run(["strace", "-o", trace, "true"]).returncode:
        pytest.skip("strace cannot watch a process here")
    whole.mkdir()
    folder.mkdir()
    failures = number = 0
    assert injected(whole, trace, call, 60000)[0].returncode == 0
    right = {path.name: path.read_bytes() for path in whole.iterdir()}
    for number in range(1, 1000):
        done, failed = injected(folder, trace, call, number)
        made = {path.name: path.read_bytes().replace(b"/out/", b"/whole/") for path in folder.iterdir()}
        if done.returncode == 0:
            assert made == right, (number, set(made))
        elif done.returncode != 127 or "loading shared" not in done.stderr:   # the loader's own calls
            assert done.returncode in (dnncc.IO, dnncc.BUDGET) and "error:" in done.stderr, (number, done)
            assert not made, (number, set(made), done.stderr)
            failures += 1
        for path in folder.iterdir():
            path.unlink()
        if not failed:
            break
    assert not failed and number > 1 and (failures or call in ("close", "fcntl", "fchmod", "newfstatat"))


def test_file_too_large(tmp_path):
    """as with a full disk: an error, where the system's own answer is a signal"""
    done = dnncc.run([dnncc.DNNCC, DIGITS, "-o", tmp_path / "m.c"],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    assert done.returncode == dnncc.IO and "cannot write" in done.stderr and not os.listdir(tmp_path)


def test_dump_too_large(tmp_path):
    """a dump is whole, or what was there before stays"""
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert dnncc.run([dnncc.DNNCC, DIGITS, f"--dump-dir={whole}", "-o", tmp_path / "m.c"]).returncode == 0
    sizes = sorted(path.stat().st_size for path in whole.iterdir())
    limit = sizes[len(sizes) // 2]
    part.mkdir()
    for path in whole.iterdir():
        (part / path.name).write_text("old")
    done = dnncc.run([dnncc.DNNCC, DIGITS, f"--dump-dir={part}", "-o", tmp_path / "m.c"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == dnncc.IO and "cannot write" in done.stderr
    assert {path.name for path in part.iterdir()} == {path.name for path in whole.iterdir()}
    assert {path.read_bytes() in (b"old", (whole / path.name).read_bytes()) for path in part.iterdir()} == {True}


def started(folder, *arguments):
    """dnncc in a group of its own, and the folder of what it compiles: its --cc writes that to folder/began first"""
    process = subprocess.Popen([dnncc.DNNCC, DIGITS, *map(str, arguments)], stderr=subprocess.PIPE, text=True, cwd=folder,
                               start_new_session=True)
    (folder / "pid").write_text(f"{process.pid}\n")
    while not (folder / "began").exists() or not (folder / "began").read_text():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    return process, pathlib.Path((folder / "began").read_text().strip())


@pytest.mark.parametrize("group", [False, True], ids=["process", "group"])
def test_tuning_stops(group, tmp_path):
    """where nothing is found yet the file stays what it was; no error is reported that is none"""
    (tmp_path / "book").write_text("before")
    process, folder = started(tmp_path, "--target=x86-64", "--tune", f"--schedule={tmp_path}/book",
                              f"--cc=pwd > {tmp_path}/began; sleep 2; cc -O1")
    assert folder.is_dir()
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    assert not process.communicate(timeout=100)[1] and process.returncode == -signal.SIGINT
    assert (tmp_path / "book").read_text() == "before" and not folder.exists()


CC = """name=$3
count=$(grep -c '^    {"kernel"' $name.json)
{ echo '#!/bin/sh'; for i in 15 1 1 1 0; do echo "echo $i"; done; for i in $(seq $count); do [ $name = first ] && echo 'echo 2'; [ $name = tried ] && echo 'echo 1'; done; echo 'exit 0'; } > $name
chmod +x $name
echo $name >> FOLDER/builds
if [ $(wc -l < FOLDER/builds) = 3 ]; then
        until [ -s FOLDER/pid ]; do sleep 0.1; done
        pwd > FOLDER/began
        kill -INT $(cat FOLDER/pid)
fi
"""


def test_tuning_keeps_what_it_found(tmp_path):
    """a compiler whose programs say that all that is tried takes half the time; it stops the third build"""
    (tmp_path / "cc.sh").write_text(CC.replace("FOLDER", str(tmp_path)))
    process, folder = started(tmp_path, "--target=x86-64", "--tune", f"--schedule={tmp_path}/book", f"--cc=sh {tmp_path}/cc.sh")
    assert not process.communicate(timeout=100)[1] and process.returncode == -signal.SIGINT and not folder.exists()
    assert "0.500 of the time of" in (tmp_path / "book").read_text()
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64", f"--schedule={tmp_path}/book", "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr


FAKE_CC = """name=$3
echo $name >> FOLDER/builds
{ echo '#!/bin/sh'; for i in 15 1 1 1 0; do echo "echo $i"; done
  for i in $(seq $(grep -c '^    {"kernel"' $name.json)); do [ $name = first ] && echo 'echo 2'; [ $name = tried ] && echo 'echo 1'; done; } > $name
chmod +x $name
sleep 0.05
"""


def left_of(session):
    """what still runs of it"""
    running = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        running += [stat.parent.name] * (int(of) == session and state != "Z")
    return running


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] if seed > 3 else []) for seed in range(20)])
def test_tuning_stops_at_any_moment(seed, tmp_path):
    """a file that reads back, with what was found by then; no process, no folder, nothing in that of the compiler. Odd seeds: the system's
    compiler, even ones: programs that say that all that is tried takes half the time"""
    moment, number = random.Random(seed).uniform(0.02, 2.5), (signal.SIGINT, signal.SIGTERM)[seed // 2 % 2]
    (tmp_path / "cc.sh").write_text(FAKE_CC.replace("FOLDER", str(tmp_path)))
    (tmp_path / "work").mkdir()
    (tmp_path / "builds").touch()
    cc = "cc -O1" if seed % 2 else f"sh {tmp_path}/cc.sh"
    with subprocess.Popen([dnncc.DNNCC, DIGITS, "--target=x86-64", "--tune", f"--schedule={tmp_path}/book", f"--cc={cc}"], cwd=tmp_path,
                          stderr=subprocess.PIPE, text=True, start_new_session=True,
                          env={**os.environ, "TMPDIR": str(tmp_path / "work")}) as process:
        time.sleep(moment)
        builds = len((tmp_path / "builds").read_text().split())
        process.send_signal(number)
        said = process.communicate(timeout=100)[1]
    assert process.returncode in (-number, 0), said
    assert not os.listdir(tmp_path / "work") and not left_of(process.pid), (moment, os.listdir(tmp_path / "work"))
    assert not process.returncode or not said
    assert set(os.listdir(tmp_path)) <= {"book", "work", "builds", "cc.sh"}
    if not (tmp_path / "book").exists():
        assert builds < 3, "it had found something by then"
        return
    assert builds < 3 or "0.500 of the time of" in (tmp_path / "book").read_text()
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64", f"--schedule={tmp_path}/book", "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr


def test_compiler_that_does_not_end(tmp_path):
    """it is killed, and what it has begun as well"""
    process, folder = started(tmp_path, "--target=x86-64", "--tune", f"--schedule={tmp_path}/book",
                              f"--cc=trap '' TERM INT; sleep 1000 & pwd > {tmp_path}/began; sleep 1000; cc")
    os.kill(process.pid, signal.SIGTERM)
    assert not process.communicate(timeout=100)[1] and process.returncode == -signal.SIGTERM
    assert not folder.exists() and not left_of(process.pid) and (tmp_path / "book").read_text().startswith("dnncc-schedule")


def test_testing_stops(tmp_path):
    (tmp_path / "set").mkdir()
    array = np.zeros((1, 1, 8, 8), np.float32)
    (tmp_path / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    process, folder = started(tmp_path, "--test", tmp_path / "set", f"--cc=pwd > {tmp_path}/began; sleep 9; cc")
    assert folder.is_dir()
    os.killpg(process.pid, signal.SIGTERM)
    assert not process.communicate(timeout=100)[1] and process.returncode == -signal.SIGTERM and not folder.exists()


def samples(folder):
    (folder / "set").mkdir()
    (folder / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(np.zeros((1, 1, 8, 8), np.float32)).SerializeToString())
    return f"--calibrate={folder / 'set'}", "-o", folder / "m.ranges"


COMPILES, RUNS = "pwd > {0}/began; sleep 9; cc", "printf '#!/bin/sh\\ncat >{0}/given\\n' > calibrated; chmod +x calibrated; pwd > {0}/began; :"


@pytest.mark.parametrize("when, group", [(COMPILES, True), (RUNS, False), (RUNS, True)], ids=["compiles", "runs", "runs in a group"])
def test_calibrating_stops(when, group, tmp_path):
    process, folder = started(tmp_path, *samples(tmp_path), "--cc=" + when.format(tmp_path))
    if "given" in when:
        while not (tmp_path / "given").exists():
            assert process.poll() is None
            time.sleep(0.01)
    assert folder.is_dir()
    (os.killpg if group else os.kill)(process.pid, signal.SIGTERM)
    assert not process.communicate(timeout=100)[1] and process.returncode == -signal.SIGTERM
    assert not folder.exists() and not list(tmp_path.glob("m.ranges*"))


@pytest.mark.parametrize("program, code, said", [
    ("exit 3", dnncc.INTERNAL, "sample set: the compiled program failed"), ("kill -9 $$", dnncc.INTERNAL, "sample set: the compiled program failed"),
    ("head -c 1 >/dev/null; head -c 9 /dev/zero", dnncc.INTERNAL, "sample set: the compiled program failed"),
    ("exit 19", dnncc.INVALID, "sample set: the run ended with code -3")])
def test_program_that_fails(program, code, said, tmp_path):
    cc = f"--cc=printf '#!/bin/sh\\n{program}\\n' > calibrated; chmod +x calibrated; pwd > {tmp_path}/folder; :"
    done = subprocess.run([dnncc.DNNCC, DIGITS, *map(str, samples(tmp_path)), cc], capture_output=True, text=True)
    assert done.returncode == code and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not pathlib.Path((tmp_path / "folder").read_text().strip()).exists() and not list(tmp_path.glob("m.ranges*"))
