# SPDX-License-Identifier: MIT
"""Other systems than this one: all sources and generated code compile for them without a warning, by a clang that brings their headers (ziglang
of PyPI: make systems). What was built for musl runs here; for Windows, where wine is."""
import os
import pathlib
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
@pytest.mark.parametrize("system", POSIX)
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
