# SPDX-License-Identifier: MIT
"""The package as it is installed: `make wheel`, a fresh virtual environment with numpy and nothing else, and what README.md and
docs/user-guide.md say there."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMPY = re.search(r"numpy==\S+", (ROOT / "Makefile").read_text())[0]
JIT = (ROOT / "build" / "libdnncc_jit.so").exists()               # built where LLVM's headers are
pytestmark = pytest.mark.slow


def run(command, **keywords):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **keywords)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel():
    run(["make", "-C", ROOT, "wheel"], env={k: v for k, v in os.environ.items() if k != "DNNCC"})
    found, = (ROOT / "build" / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    """its python, as a command that sees nothing of this source tree"""
    home = tmp_path_factory.mktemp("fresh")
    run([sys.executable, "-m", "venv", home / "venv"])
    run([home / "venv" / "bin" / "pip", "install", "-q", "--disable-pip-version-check", NUMPY, wheel])
    installed = run([home / "venv" / "bin" / "pip", "list", "--format=freeze", "--disable-pip-version-check"])
    assert {line.partition("==")[0] for line in installed.split()} - {"pip", "setuptools"} == {"numpy", "dnncc"}
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}

    def python(code, *arguments, **more):
        return run([home / "venv" / "bin" / "python", "-c", code, *arguments], env={**env, **more}, cwd=home)
    python.home = home
    return python


def test_what_is_in_it(wheel):
    assert wheel.stat().st_size <= 5_000_000
    tag = re.fullmatch(r"dnncc-[\d.]+-py3-none-manylinux_2_(\d+)_\w+\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert {"dnncc/bin/dnncc", "dnncc/py.typed", "dnncc/runtime/threads.c", "dnncc/runtime/dnncc_runtime.h", "dnncc/runtime/libdnncc_runtime.so"} <= set(names)
    assert ("dnncc/runtime/libdnncc_jit.so" in names) == JIT
    assert asked_of_glibc(wheel) == (2, int(tag[1])), "the tag is what the programs ask for"
    metadata = zipfile.ZipFile(wheel).read(next(n for n in names if n.endswith("/METADATA"))).decode()
    assert {"bf16", "torch", "sklearn"} == set(re.findall(r"^Provides-Extra: (\S+)", metadata, re.M))
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {"LICENSE", "LICENSE.protobuf-c", "LICENSE.zlib"}
    packaged = {name for name in names if name.endswith(".py")}
    assert packaged == {f"dnncc/{p.name}" for p in (ROOT / "python" / "dnncc").glob("*.py")}


def asked_of_glibc(wheel):
    """the newest version of it that a symbol in a wheel's programs is of"""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in zipfile.ZipFile(wheel).namelist():
            if name == "dnncc/bin/dnncc" or name.endswith(".so"):
                text = run(["objdump", "-T", zipfile.ZipFile(wheel).extract(name, folder)])
                found += [tuple(map(int, v)) for v in re.findall(r"GLIBC_(\d+)\.(\d+)", text)]
    return max(found)


def lines_after(path, before):
    """the code that follows a text, as a reader copies it"""
    text = (ROOT / path).read_text()
    block = text[text.index(before):].partition("\n\n")[2].partition("\n\n")[0]
    lines = block.splitlines()
    assert lines[0] == "    import dnncc" and all(line.startswith("    ") for line in lines)
    return "\n".join(line[4:] for line in lines)


@pytest.mark.sample(2)
@pytest.mark.parametrize("path,before,x,y", [("README.md", "From Python (`make wheel`", "image", "probabilities"),
                                             ("docs/user-guide.md", "## From Python\n", "x", "y")])
def test_the_lines_of_the_documents_run(fresh, path, before, x, y):
    for name in ("digits.onnx", "model.onnx"):
        shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", fresh.home / name)
    code = lines_after(path, before)
    assert len(code.splitlines()) == 3
    said = fresh(f"import numpy\n{x} = numpy.ones((1, 1, 8, 8), numpy.float32)\n{code}\nprint({y}.shape, {y}.sum(), dnncc.tool())")
    assert said.startswith("(1, 10)") and abs(float(said.split()[2]) - 1) < 1e-5
    assert said.split()[-1].startswith(str(fresh.home / "venv"))


def test_the_command(fresh):
    version = run([fresh.home / "venv" / "bin" / "dnncc", "--version"])
    assert version == run([ROOT / "build" / "dnncc", "--version"])
    assert fresh("import dnncc; print('dnncc', dnncc.__version__)") == version
    assert fresh("import subprocess, sys; subprocess.run([sys.executable, '-m', 'dnncc', '--version'])") == version


def test_threads_and_no_compiler(fresh):
    code = """if 1:
        import dnncc, numpy as np
        m = dnncc.compile("digits.onnx", threads=2, target="native")
        print(m.info["cc"] == "jit", m(np.ones((1, 1, 8, 8), np.float32)).tobytes().hex())"""
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", fresh.home)
    compiled, without = fresh(code).split(), fresh(code, PATH=str(fresh.home)).split()
    assert compiled[0] == "False" and compiled[1] == without[1]
    if JIT and subprocess.run([ROOT / "build" / "dnncc", "digits.onnx", "--jit", "--run=zeros"], cwd=fresh.home, capture_output=True).returncode == 0:
        assert without[0] == "True" and fresh(code.replace("threads=2", 'threads=2, cc="jit=fast"')).split() == without


@pytest.mark.skipif(not JIT, reason="built without LLVM")
def test_without_llvm(fresh, tmp_path):
    """the package has nothing of LLVM in it: where its library is missing, one line says so, and the interpreter runs models"""
    for name in re.findall(rb"libLLVM[-.\w]+", (ROOT / "build" / "libdnncc_jit.so").read_bytes()):
        (tmp_path / os.fsdecode(name)).write_bytes(b"")
    code = """if 1:
        import dnncc, numpy as np, warnings
        try:
            dnncc.compile("digits.onnx", cc="jit")
        except dnncc.Error as error:
            print(error.code, str(error).count(chr(10)), "LLVM" in str(error))
        warnings.simplefilter("ignore")
        print(dnncc.compile("digits.onnx")(np.ones((1, 1, 8, 8), np.float32)).shape)"""
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", fresh.home)
    assert fresh(code, LD_LIBRARY_PATH=str(tmp_path), PATH=str(fresh.home)) == "4 0 True\n(1, 10)\n"


def test_programs_need_no_library_but_c(wheel, tmp_path):
    """protobuf-c and zlib are inside"""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    for name in ("bin/dnncc", "runtime/libdnncc_runtime.so", *["runtime/libdnncc_jit.so"] * JIT):
        text = run(["objdump", "-p", tmp_path / "dnncc" / name])
        needed = set(re.findall(r"NEEDED\s+(\S+)", text)) - {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}
        assert needed == ({"libdnncc_runtime.so"} if "jit" in name else set()) and ("$ORIGIN" in text or not needed)


# ---- by a cross compiler (make systems) ----

zig = pytest.mark.skipif(subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True).returncode != 0, reason="no ziglang")


def cross(tag):
    run(["make", "-C", ROOT, f"wheel-{tag}"], env={k: v for k, v in os.environ.items() if k != "DNNCC"})
    found, = (ROOT / "build" / "wheels").glob(f"*-{tag}.whl")
    return found


EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]


@zig
@pytest.mark.long
@pytest.mark.parametrize("tag,emulator", [("manylinux_2_28_x86_64", []), ("manylinux_2_28_aarch64", EMULATOR)])
def test_a_wheel_for_an_older_glibc_runs_here(tag, emulator, tmp_path):
    """its compiler, which writes the same C"""
    if emulator and not shutil.which(emulator[0]):
        pytest.skip(f"no {emulator[0]}")
    made = cross(tag)
    assert asked_of_glibc(made) <= (2, 28)
    zipfile.ZipFile(made).extractall(tmp_path)
    program = tmp_path / "dnncc" / "bin" / "dnncc"
    program.chmod(0o755)
    for name, which in (("a", [*emulator, program]), ("b", [ROOT / "build" / "dnncc"])):
        (tmp_path / name).mkdir()
        run([*which, ROOT / "examples" / "digits" / "digits.onnx", "-o", tmp_path / name / "model.c"])
    assert (tmp_path / "a" / "model.c").read_bytes() == (tmp_path / "b" / "model.c").read_bytes()


# what a program of each begins with, and what its header says of the processor: (offset, bytes)
PROGRAMS = {"macosx_11_0_x86_64": (b"\xcf\xfa\xed\xfe", 4, b"\x07\0\0\x01"),
            "macosx_11_0_arm64": (b"\xcf\xfa\xed\xfe", 4, b"\x0c\0\0\x01"), "win_amd64": (b"MZ", None, b"\x64\x86"), "win_arm64": (b"MZ", None, b"\x64\xaa")}


@zig
@pytest.mark.long
@pytest.mark.parametrize("tag", PROGRAMS)
def test_wheels_for_other_systems_are_built(tag):
    """a program of that system is in it, which nothing here can run (test/systems runs dnncc.exe under wine)"""
    files = zipfile.ZipFile(cross(tag))
    name, = (n for n in files.namelist() if n.startswith("dnncc/bin/"))
    program, (magic, at, machine) = files.read(name), PROGRAMS[tag]
    at = int.from_bytes(program[0x3c:0x40], "little") + 4 if at is None else at
    assert program.startswith(magic) and program[at:at + len(machine)] == machine and name.endswith(".exe") == tag.startswith("win")
    assert "dnncc/runtime/libdnncc_runtime.so" not in files.namelist(), "threads cannot be shared there"


@pytest.mark.long
@pytest.mark.skipif(subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True).returncode != 0, reason="no mypy (make systems)")
def test_hints_hold(tmp_path):
    """in the package, and for a program that uses it"""
    (tmp_path / "user.py").write_text("""import dnncc
import numpy as np
m: dnncc.Model = dnncc.compile("model.onnx", target="native", dim={"N": 1})
y = m(np.ones(3))
shape: tuple[int, ...] = y.shape
names: list[str] = [port.name for port in (*m.inputs, *m.outputs)]
row: np.ndarray = m.run({"x": 1})["y"]
""")
    mypy = [sys.executable, "-m", "mypy", f"--cache-dir={tmp_path}"]
    run([*mypy, ROOT / "python" / "dnncc"])
    run([*mypy, "--strict", "--follow-imports=silent", "user.py"], cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
