# SPDX-License-Identifier: MIT
"""The CMake package as `make install` puts it in place: what is rebuilt when, cross builds, and what README.md says."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import dnncc
import numpy as np
import onnx
import pytest

sys.path.insert(0, str(dnncc.ROOT / "test" / "python"))
sys.path.insert(0, str(dnncc.ROOT / "test" / "formats"))
import models  # noqa: E402
import tflite_bare  # noqa: E402

ROOT = dnncc.ROOT
DIGITS = ROOT / "examples" / "digits"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("ninja")), reason="no cmake, no ninja")]


def run(*command, **keywords):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **keywords)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def make(*arguments):
    return run("make", "-C", ROOT, *arguments)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a prefix")
    make("install", f"PREFIX={folder}")
    return folder


class Project:
    """a folder with a CMakeLists.txt, and its build"""

    def __init__(self, folder, prefix, text, generator="Ninja", *options):
        self.folder, self.build = folder, folder / "build"
        (folder / "CMakeLists.txt").write_text(text)
        self.configure = ["cmake", "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", *options, "-S", folder, "-B", self.build]
        run(*self.configure)

    def make(self):
        """what was made, by their file names: Ninja's log gets a line for each output"""
        def entries():
            log = self.build / ".ninja_log"
            return {line for line in log.read_text().splitlines()[1:]} if log.exists() else set()
        before = entries()
        run("cmake", "--build", self.build)
        return {pathlib.Path(line.split("\t")[3]).name for line in entries() - before} - {"build.ninja"}


HEAD = "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nfind_package(dnncc REQUIRED)\n"
MAIN = """#include <stdio.h>
#include "net.h"
NET_WORKSPACE_DEFINE(workspace);
static float x[NET_X_ELEMS], y[NET_Y_ELEMS];
int main(void)
{
    for (int i = 0; i < (int)NET_X_ELEMS; i++) x[i] = (float)(i % 7) - 3;
    int error = net_run(workspace, x, y);
    for (int i = 0; i < (int)NET_Y_ELEMS; i++) printf("%.9g ", (double)y[i]);
    return error;
}
"""
MODEL_FILES = {"net.c", "net.h"}
OBJECTS = {"net.c.o", "libnet.a", "main.c.o", "program"}


@pytest.fixture
def project(tmp_path, prefix):
    """a model with data beside it and a schedule"""
    onnx.save(models.matmul(8, 8, 8), tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "net.schedule").write_text("dnncc-schedule 1\n")
    shutil.copy(ROOT / "build" / "dnncc", tmp_path / "dnncc")
    return Project(tmp_path, prefix, HEAD + "dnncc_add_model(net net.onnx TARGET x86-64 SCHEDULE net.schedule)\n"
                   "add_executable(program main.c)\ntarget_link_libraries(program PRIVATE net)\n", "Ninja",
                   f"-DDNNCC_EXECUTABLE={tmp_path / 'dnncc'}")


def result(project):
    return np.array(run(project.build / "program").split(), np.float32).reshape(8, 8)


def expected(seed=0):
    x = (np.arange(64) % 7 - 3).astype(np.float32).reshape(8, 8)
    return x @ onnx.numpy_helper.to_array(models.matmul(8, 8, 8, seed).graph.initializer[0])


def test_what_changes_is_made_again_and_nothing_else(project):
    assert project.make() == MODEL_FILES | OBJECTS
    np.testing.assert_allclose(result(project), expected(), 1e-4, 1e-5)
    assert project.make() == set()
    # touched: dnncc runs, writes the same, and that was that
    for name in ("net.onnx", "net.data", "net.schedule", "dnncc"):
        os.utime(project.folder / name)
        assert project.make() == MODEL_FILES, name
        assert project.make() == set(), name
    os.utime(project.folder / "main.c")
    assert project.make() == {"main.c.o", "program"}
    # others: all that hangs on them
    onnx.save(models.matmul(8, 8, 8, 1), project.folder / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    assert project.make() == MODEL_FILES | OBJECTS
    np.testing.assert_allclose(result(project), expected(1), 1e-4, 1e-5)
    assert project.make() == set()
    # options
    text = (project.folder / "CMakeLists.txt").read_text()
    (project.folder / "CMakeLists.txt").write_text(text.replace("TARGET x86-64", "TARGET generic OPTIONS --exact"))
    assert project.make() == MODEL_FILES | OBJECTS
    assert project.make() == set()


def test_of_tflite(tmp_path, prefix):
    """a TFLite file, which is made again when it changes"""
    weights = np.arange(64, dtype=np.float32).reshape(8, 8) / 64

    def write(bias):
        model = tflite_bare.dense(weights, np.full(8, bias, np.float32))
        model[2][0][0][0][0] = np.array([8, 8], np.int32)
        (tmp_path / "net.tflite").write_bytes(tflite_bare.finish(model))
    write(1)
    (tmp_path / "main.c").write_text(MAIN)
    project = Project(tmp_path, prefix, HEAD + "dnncc_add_model(net net.tflite)\nadd_executable(program main.c)\ntarget_link_libraries(program PRIVATE net)\n")
    x = (np.arange(64) % 7 - 3).astype(np.float32).reshape(8, 8)
    for bias in (1, 5):
        write(bias)
        assert MODEL_FILES <= project.make()
        np.testing.assert_allclose(result(project), np.maximum(x @ weights.T + bias, 0), 1e-4, 1e-5)
    assert project.make() == set()


def test_an_error_stops_the_build_and_leaves_what_was_there(project):
    project.make()
    before = (project.build / "net.dnncc" / "net.c").read_bytes()
    (project.folder / "net.data").write_bytes(b"")
    done = subprocess.run(["cmake", "--build", project.build], capture_output=True, text=True)
    assert done.returncode != 0 and "net.onnx: error: " in done.stdout + done.stderr
    assert (project.build / "net.dnncc" / "net.c").read_bytes() == before


def test_makefiles(tmp_path, prefix):
    """make compares times: what is touched is compiled again, and a second build does nothing"""
    onnx.save(models.matmul(8, 8, 8), tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    (tmp_path / "main.c").write_text(MAIN)
    project = Project(tmp_path, prefix, HEAD + "dnncc_add_model(net net.onnx)\nadd_executable(program main.c)\n"
                      "target_link_libraries(program PRIVATE net)\n", "Unix Makefiles")
    works = ("Compiling model", "Building C", "Linking")

    def said():
        text = run("cmake", "--build", project.build)
        return [w for w in works if w in text]
    assert said() == list(works) and said() == []
    np.testing.assert_allclose(result(project), expected(), 1e-4, 1e-5)
    for name in ("net.onnx", "net.data"):
        os.utime(tmp_path / name)
        assert said() == list(works) and said() == []


def test_large_weights_are_assembled(tmp_path, prefix):
    """from 1 MiB on, unless WEIGHTS or the link says otherwise"""
    for name, rows in ("small", 64), ("large", 1100):
        w = np.arange(rows * 256, dtype=np.float32).reshape(rows, 256)
        graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [onnx.helper.make_tensor_value_info("x", 1, [1, rows])],
                                       [onnx.helper.make_tensor_value_info("y", 1, [1, 256])], [onnx.numpy_helper.from_array(w, "w")])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / f"{name}.onnx")
    project = Project(tmp_path, prefix, HEAD + """
        dnncc_add_model(small small.onnx)
        dnncc_add_model(large large.onnx)
        dnncc_add_model(as_text large.onnx WEIGHTS inline)
        set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
        dnncc_add_model(linked large.onnx)""")
    assert {name for name in project.make() if name.endswith(".weights")} == {"large.weights"} and project.make() == set()


@pytest.mark.parametrize("weights", ["incbin", "file"])
def test_weights_threads_and_names(tmp_path, prefix, weights):
    onnx.save(models.matmul(8, 64, 8, dim="N"), tmp_path / "m.onnx")
    main = MAIN.replace("8, 8", "8, 64")
    if weights == "file":
        main = main.replace("net_run(workspace,", "net_run(workspace, dnncc_weights_map(WEIGHTS, &bytes),").replace(
            "    int error", "    size_t bytes;\n    int error").replace('#include "net.h"', '#include "net.h"\n#include <dnncc_runtime.h>')
    (tmp_path / "main.c").write_text(main)
    project = Project(tmp_path, prefix, HEAD + f"""
        dnncc_add_model(big-net m.onnx DIM N=8 INPUT x=8x8 THREADS 2 TARGET generic x86-64 MAX_RAM 1M WEIGHTS {weights} PREFIX net
                        OPTIONS --fast-libm --unchecked)
        add_executable(program main.c)
        target_link_libraries(program PRIVATE big-net)
        target_compile_definitions(program PRIVATE "WEIGHTS=\\"$<TARGET_PROPERTY:big-net,DNNCC_WEIGHTS>\\"")""")
    assert "net.weights" in project.make() and project.make() == set()
    assert "with -O2 --target=generic,x86-64" in (project.build / "big-net.dnncc" / "net.h").read_text()
    x = (np.arange(64) % 7 - 3).astype(np.float32).reshape(8, 8)
    want = x @ onnx.numpy_helper.to_array(models.matmul(8, 64, 8).graph.initializer[0])
    np.testing.assert_allclose(np.array(run(project.build / "program").split(), np.float32).reshape(8, 64), want, 1e-4, 1e-4)


def test_two_folders_share_a_package(tmp_path, prefix):
    """find_package in each; a library of one is used in the other"""
    onnx.save(models.matmul(8, 8, 8), tmp_path / "net.onnx")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "CMakeLists.txt").write_text("find_package(dnncc REQUIRED)\ndnncc_add_model(net ../net.onnx THREADS 2 RUNTIME NONE)\n")
    (tmp_path / "b" / "CMakeLists.txt").write_text("find_package(dnncc REQUIRED)\nadd_executable(program main.c)\n"
                                                   "target_link_libraries(program PRIVATE net)\n")
    (tmp_path / "b" / "main.c").write_text(MAIN + "void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)\n"
                                           "{\n    for (int i = 0; i < count; i++) task(arg, i, count);\n}\n")
    project = Project(tmp_path, prefix, "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_subdirectory(a)\nadd_subdirectory(b)\n")
    project.make()
    assert len(run(project.build / "b" / "program").split()) == 64


def refused(tmp_path, prefix, text, *words, options=()):
    (tmp_path / "net.onnx").write_bytes(b"")
    shutil.rmtree(tmp_path / "build", ignore_errors=True)
    (tmp_path / "CMakeLists.txt").write_text(text)
    done = subprocess.run(["cmake", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *options, "-S", tmp_path, "-B", tmp_path / "build"],
                          capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and all(w in said for w in words), said


@pytest.mark.parametrize("call, words", [
    ("dnncc_add_model(net net.onnx TARGETS generic)", ["there is no keyword 'TARGETS': there are THREADS MAX_RAM"]),
    ("dnncc_add_model(net net.onnx TARGET x86-64 THREDS 2)", ["there is no keyword 'THREDS'"]),
    ("dnncc_add_model(net net.onnx OPTIONS --name net THREDS 2)", ["there is no keyword 'THREDS'"]),
    ("dnncc_add_model(net net.onnx INPUT x=1x2 INPUTS y=2)", ["there is no keyword 'INPUTS'"]),
    ("dnncc_add_model(net net.onnx generic)", ["cannot use 'generic'"]),
    ("dnncc_add_model(net net.onnx THREADS)", ["THREADS wants a value"]),
    ("dnncc_add_model(net net.onnx THREADS two)", ["THREADS wants a number, not 'two'"]),
    ("dnncc_add_model(net nett.onnx)", ["there is no model", "nett.onnx, and no command"]),
    ("dnncc_add_model(net net.onnx SCHEDULE net.schedule)", ["there is no schedule file", "net.schedule, and no command"]),
    ("dnncc_add_model(net net.onnx TARGET cuda-sm_90)", ["this project has not enabled CUDA"]),
])
def test_mistakes_when_configuring(tmp_path, prefix, call, words):
    """each with the line that it stands in"""
    refused(tmp_path, prefix, HEAD + call + "\n", "dnncc_add_model(net): ", "CMakeLists.txt:4 (dnncc_add_model)", *words)


def test_a_model_that_the_build_makes(tmp_path, prefix):
    onnx.save(models.matmul(8, 8, 8), tmp_path / "first.onnx")
    (tmp_path / "main.c").write_text(MAIN)
    project = Project(tmp_path, prefix, HEAD + """
        add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/made.onnx DEPENDS first.onnx
                           COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/first.onnx made.onnx)
        dnncc_add_model(net ${CMAKE_CURRENT_BINARY_DIR}/made.onnx OPTIONS --weights inline)
        add_executable(program main.c)
        target_link_libraries(program PRIVATE net)""")
    assert project.make() == {"made.onnx"} | MODEL_FILES | OBJECTS
    np.testing.assert_allclose(result(project), expected(), 1e-4, 1e-5)


CUDA_MAIN = """#include "net.h"
int main()
{
    return net_run(nullptr, nullptr, nullptr, nullptr, nullptr) == NET_ERROR_NULL ? 0 : 1;
}
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("target, architecture", [("cuda-sm_80", "80"), ("cuda-sm_90a", "90a")])
def test_cuda(tmp_path, prefix, target, architecture):
    """CUDA C, for the architecture of the target"""
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    onnx.save(models.matmul(8, 8, 8), tmp_path / "net.onnx")
    (tmp_path / "main.cpp").write_text(CUDA_MAIN)
    project = Project(tmp_path, prefix, HEAD.replace("project(p C)", "project(p LANGUAGES CXX CUDA)") +
                      f"dnncc_add_model(net net.onnx TARGET {target})\nadd_executable(program main.cpp)\n"
                      "target_link_libraries(program PRIVATE net)\n", "Ninja", "-DCMAKE_CUDA_ARCHITECTURES=80")
    assert {"net.cu", "net.h", "net.cu.o", "program"} <= project.make() and project.make() == set()
    assert re.search(rf"arch=compute_{architecture},", (project.build / "build.ninja").read_text())


def test_the_example_for_cuda(tmp_path, prefix):
    """as it is installed"""
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    run("cmake", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", "-DGPU=sm_90", "-S", prefix / "share" / "dnncc" / "examples" / "cuda", "-B", tmp_path)
    run("cmake", "--build", tmp_path)
    assert (tmp_path / "cuda_digits").exists() and "--target=cuda-sm_90" in (tmp_path / "build.ninja").read_text()


def test_mistakes(tmp_path, prefix):
    refused(tmp_path, prefix, HEAD + "dnncc_add_model(net net.onnx TARGET native)\n", "native", options=["-DCMAKE_SYSTEM_NAME=Linux"])
    refused(tmp_path, prefix, HEAD.replace("REQUIRED", "7.0 REQUIRED"), "7.0")
    refused(tmp_path, prefix, HEAD.replace("REQUIRED", "0.0.1 REQUIRED"), "0.0.1")


AARCH64 = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def test_a_cross_build(tmp_path, prefix):
    """for aarch64: dnncc is this machine's, the runtime is compiled from source"""
    lacks = [tool for tool in AARCH64 if not shutil.which(tool)]
    if lacks:
        pytest.skip(f"no {lacks[0]}")
    onnx.save(models.matmul(64, 64, 64), tmp_path / "net.onnx")
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "toolchain.cmake").write_text("set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
                                              "set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)\nset(CMAKE_EXE_LINKER_FLAGS -static)\n"
                                              "set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)\nset(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)\n")
    project = Project(tmp_path, prefix, HEAD + "dnncc_add_model(net net.onnx TARGET aarch64 THREADS 2)\nadd_executable(program main.c)\n"
                      "target_link_libraries(program PRIVATE net)\n", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'toolchain.cmake'}")
    assert "libdnncc_runtime.a" in project.make() and project.make() == set()
    x = (np.arange(64 * 64) % 7 - 3).astype(np.float32).reshape(64, 64)
    want = x @ onnx.numpy_helper.to_array(models.matmul(64, 64, 64).graph.initializer[0])
    got = np.array(run("qemu-aarch64", project.build / "program").split(), np.float32).reshape(64, 64)
    np.testing.assert_allclose(got, want, 1e-3, 1e-3)


def test_a_microcontroller(tmp_path, prefix):
    """for a Cortex-M4: a library for firmware, with nothing but memcpy and memset"""
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("no arm-none-eabi-gcc")
    onnx.save(models.matmul(8, 8, 8), tmp_path / "net.onnx")
    Project(tmp_path, prefix, HEAD + "dnncc_add_model(net net.onnx MAX_RAM 64K)\n", "Ninja", "-DCMAKE_SYSTEM_NAME=Generic",
            "-DCMAKE_C_COMPILER=arm-none-eabi-gcc", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "-DCMAKE_C_FLAGS=-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16").make()
    symbols = run("arm-none-eabi-nm", "-u", tmp_path / "build" / "libnet.a")
    assert set(re.findall(r"U (\w+)", symbols)) <= {"memcpy", "memset"}


def test_a_program_for_another_machine_is_not_taken(tmp_path, prefix):
    """a sysroot's: it does not run here"""
    root = tmp_path / "root"
    shutil.copytree(prefix, root)
    (root / "bin" / "dnncc").write_bytes(b"\x7fELF of another machine")
    env = {**os.environ, "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
    (tmp_path / "CMakeLists.txt").write_text(HEAD + 'message(STATUS "found ${DNNCC_EXECUTABLE}")\n')
    said = run("cmake", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={root}", "-S", tmp_path, "-B", tmp_path / "build", env=env)
    assert f"found {prefix / 'bin' / 'dnncc'}" in said and "does not run" in said
    refused(tmp_path, root, HEAD, "DNNCC_EXECUTABLE")


def test_install_and_uninstall(tmp_path):
    destination = f"DESTDIR={tmp_path / 'dest'}"
    make("install", "PREFIX=/usr/local", destination)
    place = tmp_path / "dest" / "usr" / "local"
    found = {str(p.relative_to(place)) for p in place.rglob("*") if p.is_file()}
    assert {"bin/dnncc", "bin/dnncc-vta", "include/dnncc_runtime.h", "include/dnncc.hpp", "lib/libdnncc_runtime.a", "lib/pkgconfig/dnncc-runtime.pc", "lib/cmake/dnncc/dnncc-config.cmake",
            "lib/cmake/dnncc/dnncc-config-version.cmake", "share/dnncc/runtime/threads.c", "share/man/man1/dnncc.1", "share/man/man1/dnncc-vta.1", "share/man/man5/dnncc-ir.5", "share/man/man5/dnncc-schedule.5",
            "share/vim/vimfiles/syntax/dnn.vim", "share/dnncc/vscode/package.json",
            "share/dnncc/examples/photo/main.c", "share/dnncc/examples/support/jpeg.h", "share/dnncc/examples/README.md",
            *(f"share/{folder}-vta{end}" for folder, end in (("bash-completion/completions/dnncc", ""), ("zsh/site-functions/_dnncc", ""),
                                                             ("fish/vendor_completions.d/dnncc", ".fish"))),
            "share/bash-completion/completions/dnncc", "share/zsh/site-functions/_dnncc", "share/fish/vendor_completions.d/dnncc.fish"} <= found
    assert "prefix=/usr/local\n" in (place / "lib/pkgconfig/dnncc-runtime.pc").read_text()
    (place / "bin" / "other").write_text("")
    (place / "share" / "doc" / "dnncc" / "mine").write_text("")
    make("uninstall", "PREFIX=/usr/local", destination)
    assert {p.name for p in place.rglob("*") if p.is_file()} == {"other", "mine"}
    assert not (place / "share" / "dnncc").exists() and not (place / "lib" / "cmake" / "dnncc").exists()


def test_sixteen_models_at_once(tmp_path, prefix):
    """each made once, side by side; nothing is made the second time"""
    names = [f"net{k}" for k in range(16)]
    for name in names:
        (tmp_path / f"{name}.onnx").write_bytes(models.one("Relu", models.TensorProto.FLOAT).SerializeToString())
    includes = "".join(f'#include "{name}.h"\n' for name in names)
    calls = "".join(f"        bad |= {name}_run(0, x, x + 4) != 0;\n" for name in names)
    (tmp_path / "main.c").write_text(f"{includes}int main(void)\n{{\n        static float x[8] = {{ -1, 2 }};\n        int bad = 0;\n{calls}"
                                     "        return bad || x[4] != 0 || x[5] != 2;\n}\n")
    project = Project(tmp_path, prefix, HEAD + "add_executable(program main.c)\n" + "".join(
        f"dnncc_add_model({name} {name}.onnx)\ntarget_link_libraries(program PRIVATE {name})\n" for name in names))
    made = project.make()
    assert {f"{name}.c" for name in names} <= made and not project.make()
    run(project.build / "program")


def test_installed_examples(tmp_path, prefix):
    """a copy of them is built by what is installed, by Make and by CMake, beside them"""
    examples = tmp_path / "examples"
    shutil.copytree(prefix / "share" / "dnncc" / "examples", examples)
    env = {**os.environ, "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
    for name in ("MAKEFLAGS", "DNNCC"):
        env.pop(name, None)
    run("make", "-C", examples / "table", "TARGET=generic", env=env)
    table = tmp_path / "wine.csv"
    table.write_text(",".join(["1.5"] * 13) + "\n")
    said = run(examples / "build" / "table", table)
    run("cmake", "-G", "Ninja", "-S", examples, "-B", tmp_path / "cmake", "-DTARGET=generic", f"-DMODELS={tmp_path}", env=env)
    run("cmake", "--build", tmp_path / "cmake", env=env)
    assert said and run(tmp_path / "cmake" / "table", table) == said


# ---- README.md ----

def blocks(after):
    """the indented blocks behind a line, up to the next text"""
    text = (ROOT / "README.md").read_text()
    lines = text[text.index(after):].split("\n")[1:]
    kept = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        kept.append(line[4:])
    return "\n".join(kept).strip("\n") + "\n"


def test_the_lines_of_the_readme(tmp_path, prefix):
    """in C, and the same program with CMake"""
    text = blocks("From C:\n")
    commands, main = text.partition("\n\n")[0].splitlines(), text.partition("\n\n")[2]
    assert main.startswith("/* main.c */\n#include")
    for folder in (tmp_path, tmp_path / "cmake"):
        folder.mkdir(exist_ok=True)
        (folder / "main.c").write_text(main)
        shutil.copy(DIGITS / "digits.onnx", folder)
    env = {**os.environ, "PATH": f"{ROOT / 'build'}:{os.environ['PATH']}"}
    for command in commands:
        assert command.startswith("$ ")
        run("sh", "-ec", command[2:], cwd=tmp_path, env=env)
    said = run(tmp_path / "example")
    assert re.fullmatch(r"0: [\d.e-]+\n", said)
    project = Project(tmp_path / "cmake", prefix, blocks("From CMake"))
    project.make()
    again = run(project.build / "example")
    assert again.startswith("0: ") and abs(float(again[3:]) - float(said[3:])) < 1e-5
