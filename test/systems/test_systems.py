# SPDX-License-Identifier: MIT
"""Other systems than this one. All sources and generated code compile for them without a warning, by a clang that brings their headers (ziglang
of PyPI: make systems-packages). What was built for musl runs here; for Windows, where wine is. The compiler for Windows stands on protobuf-c and zlib
for x86_64-windows-gnu: include and lib in build/windows (make systems-packages), or in the folder DNNCC_WINDOWS_LIBRARIES."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
POSIX = ["x86_64-macos", "aarch64-macos", "x86_64-linux-musl", "aarch64-linux-musl"]
WINDOWS = ["x86_64-windows-gnu", "aarch64-windows-gnu"]
TARGETS = {"x86_64": ["generic", "x86-64,x86-64-v3,x86-64-v4"], "aarch64": ["generic", "aarch64,aarch64-dotprod"]}
PROGRAM = """#include <stdio.h>
#include "dnncc_runtime.h"
#include "model.h"
int main(int argc, char **argv)
{
        static float image[MODEL_IMAGE_ELEMS], y[MODEL_PROBABILITIES_ELEMS];
        size_t bytes = 0;
        void *workspace = dnncc_workspace_new(MODEL_WORKSPACE_SIZE);
        for (int load = 0; load < 2; load++) {
                const void *weights = argc > 1 ? (load ? dnncc_weights_load : dnncc_weights_map)(argv[1], &bytes) : NULL;
                if (!weights || model_run(workspace, weights, image, y))
                        return 1;
                for (int k = 0; k < (int)MODEL_PROBABILITIES_ELEMS; k++)
                        printf("%a ", (double)y[k]);
                dnncc_weights_unmap(weights, bytes);
        }
        dnncc_workspace_free(workspace, MODEL_WORKSPACE_SIZE);
        return dnncc_weights_map("no such file", &bytes) != NULL;
}
"""
zig = pytest.mark.skipif(subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True).returncode != 0, reason="no ziglang")


def compiler(system):
    return [sys.executable, "-m", "ziglang", "cc", "-target", system]


def quiet(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    assert done.returncode == 0 and "warning:" not in done.stderr + done.stdout, (done.stderr + done.stdout)[-3000:]
    return done.stdout


def headers(folder):
    """those of the libraries that the compiler stands on, without the system's beside them"""
    shutil.copytree("/usr/include/protobuf-c", folder / "protobuf-c")       # which makes the folder
    for name in ("zlib.h", "zconf.h"):
        shutil.copy(next(p for p in (pathlib.Path("/usr/include"), *pathlib.Path("/usr/include").glob("*-linux-gnu")) if (p / name).exists()) / name, folder)
    return folder


def test_static(tmp_path):
    """it runs in a folder where there is nothing else, and writes the same"""
    quiet(["make", "--no-print-directory", "-C", dnncc.ROOT, "static"])
    program = dnncc.ROOT / "build" / "dnncc-static"
    assert b"INTERP" not in subprocess.run(["readelf", "-l", program], capture_output=True).stdout
    for name, which in (("a", dnncc.DNNCC), ("b", program)):
        (tmp_path / name).mkdir()
        quiet([which, DIGITS, "-o", tmp_path / name / "model.c"])
    assert (tmp_path / "a" / "model.c").read_bytes() == (tmp_path / "b" / "model.c").read_bytes()


@zig
@pytest.mark.long
@pytest.mark.parametrize("system", POSIX + WINDOWS)
def test_the_compiler(tmp_path, system):
    libraries = headers(tmp_path / "include")
    flags = "-D_LARGEFILE64_SOURCE" if "musl" in system else ""
    build = tmp_path / "build"
    quiet(["make", "--no-print-directory", "-j2", "-C", dnncc.ROOT, f"B={build}", f"CC={' '.join(compiler(system))}",
           f"AR={sys.executable} -m ziglang ar", f"CFLAGS=-O0 {flags} -isystem {libraries}", f"{build}/libdnncc.a", f"{build}/libdnncc_runtime.a",
           f"{build}/obj/compiler/main.o"])


@zig
@pytest.mark.long
@pytest.mark.parametrize("system", POSIX + WINDOWS)
def test_generated_code_and_the_runtime(tmp_path, system):
    (tmp_path / "main.c").write_text(PROGRAM)
    runtime = dnncc.ROOT / "runtime"
    said = []
    for k, target in enumerate(TARGETS[system.split("-")[0]]):
        quiet([dnncc.DNNCC, DIGITS, f"--target={target}", "--threads=2", "--weights=file", "--flush-denormals", "-o", tmp_path / "model.c"]
              if target != "generic" else [dnncc.DNNCC, DIGITS, "--threads=2", "--weights=file", "-o", tmp_path / "model.c"])
        program = tmp_path / f"main{k}.exe"
        quiet([*compiler(system), "-std=c11", "-O1", *dnncc.STRICT[1:], "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
        quiet([*compiler(system), "-std=c11", "-O1", "-Wall", "-Wextra", f"-I{tmp_path}", f"-I{runtime}", tmp_path / "main.c", tmp_path / "model.o",
               runtime / "threads.c", runtime / "memory.c", "-o", program, *([] if "windows" in system else ["-lpthread"])])
        run = {"x86_64-linux-musl": [], "aarch64-linux-musl": ["qemu-aarch64"], "x86_64-windows-gnu": ["wine"]}.get(system)
        if run is not None and all(map(shutil.which, run)):
            text = quiet([*run, program, tmp_path / "model.weights"], env={**os.environ, "WINEDEBUG": "-all"})
            said.append([float.fromhex(n) for n in text.split()])
    for probabilities in said:
        assert probabilities[:10] == probabilities[10:] and abs(sum(probabilities[:10]) - 1) < 1e-5, "weights mapped or loaded"
        assert max(abs(a - b) for a, b in zip(probabilities, said[0])) < 1e-5, "on all levels"


# ---- the compiler under an emulator of Windows ----

@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    """dnncc.exe as a program of this system"""
    libraries = pathlib.Path(os.environ.get("DNNCC_WINDOWS_LIBRARIES") or dnncc.ROOT / "build" / "windows")
    if not shutil.which("wine") or not (libraries / "lib" / "libprotobuf-c.a").exists():
        pytest.skip("no wine, or no libraries for Windows: make systems-packages")
    build, home = dnncc.ROOT / "build" / "windows" / "build", tmp_path_factory.mktemp("wine")
    quiet(["make", "--no-print-directory", "-j2", "-C", dnncc.ROOT, f"B={build}", f"CC={' '.join(compiler('x86_64-windows-gnu'))}",
           f"AR={sys.executable} -m ziglang ar", f"CFLAGS=-O1 -isystem {libraries}/include", f"LDFLAGS=-L{libraries}/lib", f"{build}/dnncc"])
    program, script = next(p for p in (build / "dnncc.exe", build / "dnncc") if p.exists()), home / "dnncc"
    script.write_text(f'#!/bin/sh\nWINEDEBUG=-all WINEPREFIX={home}/prefix exec wine {program} "$@"\n')
    script.chmod(0o755)
    server = shutil.which("wineserver") or next(iter(pathlib.Path("/usr/lib/wine").glob("wineserver*")), None)
    start = lambda: subprocess.run([script, "--version"], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: E731
    start()                             # it makes folders
    if server:                          # it stays, so that programs start sooner; its devices, which come with the next program, hold no pipe of a test's
        subprocess.run([server, "-p"], env={**os.environ, "WINEPREFIX": f"{home}/prefix"})
        start()
    assert dnncc.run([script, "--version"], cwd=home).stdout.startswith("dnncc ")
    yield script
    if server:
        subprocess.run([server, "-k"], env={**os.environ, "WINEPREFIX": f"{home}/prefix"})


@pytest.fixture(scope="module")
def windows(emulated):
    """run(arguments, folder): dnncc.exe"""
    return lambda *arguments, folder: dnncc.run([emulated, *arguments], cwd=folder)


@zig
@pytest.mark.long
def test_the_compiler_on_windows(windows, tmp_path):
    """what it writes is what it writes here, byte for byte; errors have their codes; nothing is left"""
    shutil.copy(DIGITS, tmp_path)
    for k, options in enumerate((["--target=generic"], ["--target=x86-64-v4", "--threads=2"], ["--target=x86-64", "--weights=file"], ["--emit=ir"], ["--emit=loops"],
                                 ["--report=r.html"], ["--requantize=integer", "--target=x86-64-v3", "-q"])):
        folders = [tmp_path / f"{where}{k}" for where in ("here", "there")]
        for folder, run in zip(folders, (lambda *a, folder: dnncc.run([dnncc.DNNCC, *a], cwd=folder), windows)):
            folder.mkdir()
            done = run("../digits.onnx", *options, "-o", "model.c", folder=folder)
            assert done.returncode == 0 and not done.stderr, done.stderr
        files = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders]
        assert files[0] == files[1], options
    made = tmp_path / "there0"
    before = {p.name: p.stat().st_mtime_ns for p in made.iterdir()}
    assert windows("../digits.onnx", "-o", "model.c", "--if-changed", folder=made).returncode == 0
    assert {p.name: p.stat().st_mtime_ns for p in made.iterdir()} == before, "the same again is left alone"
    assert windows("../digits.onnx", "-o", "model.c", folder=made).returncode == 0, "written over what was there"
    for arguments, code, said in ((["none.onnx"], dnncc.IO, "cannot read none.onnx"), (["../digits.onnx", "--traget=x"], dnncc.USAGE, "did you mean '--target'"),
                                  (["../digits.onnx", "--report=../digits.onnx"], dnncc.IO, "it is an input of this run"), (["model.c"], dnncc.INVALID, ""),
                                  (["../digits.onnx", "--max-ram=1"], dnncc.BUDGET, ""), (["../digits.onnx", "--bench"], dnncc.UNSUPPORTED, "dnncc for Windows runs none")):
        done = windows(*arguments, folder=made)
        assert done.returncode == code and said in done.stderr, done.stderr
    assert {p.name for p in made.iterdir()} == set(before)
    here, there = dnncc.run([dnncc.DNNCC, "digits.onnx", "--info"], cwd=tmp_path), windows("digits.onnx", "--info", folder=tmp_path)
    assert there.returncode == 0 and there.stdout == here.stdout
    assert windows("digits.onnx", "--check", "-o", "checked.c", folder=tmp_path).returncode == 0


# The driver's tests of which dnncc is asked alone, on Windows; the others are of what Windows has not, or has otherwise (signals, terminals, shells,
# editors), of programs of this system that call dnncc (CMake, browsers), or run what was compiled.
WINDOWS_TESTS = ("test_mistakes.py", "test_info.py", "test_if_changed.py", "test_onnx_files.py", "test_weights.py", "test_command_line.py")
NOT_THERE = {                           # and mistakes about --bench and --tune: dnncc for Windows runs no commands
    "test_mistakes.py::test_colour": "terminals",
    "test_mistakes.py::test_messages_as_json": "it goes through all mistakes, those of --bench and --tune, too",
    "test_weights.py::test_test_option": "--cc runs commands",
    "test_weights.py::test_usage": "a name of a file with a quote in it",
    "test_command_line.py::test_atomic_output": "links, devices, permissions",
    "test_command_line.py::test_vectors": "--cc runs commands",
    "test_command_line.py::test_check_compiles_what_takes_too_long": "--check compiles with cc",
}


def failed(emulated, *tests):
    """names of those of them that fail; how many passed"""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tier=check", "--tb=no", "-rf", *tests],
                          capture_output=True, text=True, cwd=dnncc.ROOT, env={**os.environ, "DNNCC": str(emulated)})
    passed = re.search(r"(\d+) passed", done.stdout)
    return re.findall(r"^FAILED (.*?)(?: - .*)?$", done.stdout, re.M), int(passed[1]) if passed else 0


def is_there(test):
    """what it is about, on Windows"""
    name = test.removeprefix("test/driver/")
    mistake = name.startswith("test_mistakes.py::test_mistake[")
    return not re.search(r" --(bench|tune)\b", name) if mistake else name not in NOT_THERE


@zig
@pytest.mark.long
def test_the_drivers_tests_on_windows(emulated):
    """what fails is run once more: wine loses a program now and then on a busy machine"""
    wrong, passed = failed(emulated, *(dnncc.ROOT / "test" / "driver" / name for name in WINDOWS_TESTS))
    wrong = [test for test in wrong if is_there(test)]
    assert passed >= 200 and len(wrong) <= 5, (passed, wrong)
    assert not wrong or not failed(emulated, *wrong)[0], wrong
