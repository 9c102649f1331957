# SPDX-License-Identifier: MIT
"""What the Python tests share: run dnncc, compile what it wrote with the strict warning set, run it on arrays.

Environment: DNNCC (default build/dnncc), DNNCC_CC (default gcc), DNNCC_KEEP (a folder that keeps every generated file).
Limits of time are of processor time, which others on the machine do not change.
"""
import hashlib
import json
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
DNNCC = os.environ.get("DNNCC", str(ROOT / "build" / "dnncc"))
CC = os.environ.get("DNNCC_CC", "gcc")
HOST = ROOT / "test" / "host.c"

# interface.md: what generated C must be clean under, with gcc and clang
STRICT = ("-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdouble-promotion -Wcast-align "
          "-Wstrict-prototypes -Werror").split()
SANITIZE = "-O0 -fsanitize=address,undefined -fno-sanitize-recover=all".split()

OK, USAGE, IO, INVALID, UNSUPPORTED, BUDGET, INTERNAL = 0, 1, 2, 3, 4, 5, 70


class CompileError(Exception):
    def __init__(self, code, text):
        super().__init__(f"dnncc exited with {code}: {text.strip()}")
        self.code, self.text = code, text


PATIENCE = 20                           # of the clock for one of processor time: all that is left of a process that only waits


def limit(pid, seconds):
    """processor time of a process, and of each that it starts; one that takes more is killed by SIGXCPU"""
    try:
        resource.prlimit(pid, resource.RLIMIT_CPU, (math.ceil(seconds), resource.RLIM_INFINITY))
    except ProcessLookupError:
        pass                            # it has ended


def run(command, timeout=120, stdin=None, **keywords):
    """timeout: seconds of processor time"""
    with subprocess.Popen([str(c) for c in command], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          **keywords) as child:
        limit(child.pid, timeout)
        try:
            stdout, stderr = child.communicate(timeout=PATIENCE * timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    return subprocess.CompletedProcess(child.args, child.returncode, stdout, stderr)


def compile_model(model, folder, options=(), timeout=120):
    """dnncc model -o folder/model.c; raises CompileError."""
    done = run([DNNCC, model, "-o", pathlib.Path(folder) / "model.c", "--name=model", *options], timeout=timeout)
    if done.returncode != OK:
        raise CompileError(done.returncode, done.stderr)
    return done


def checks(done):
    """what --check said of each pass; it says how far it is, too, where that takes long"""
    return [line for line in done.stderr.splitlines() if re.match(r"check: \S+: ", line)]


def once(command, suffix, *texts):
    """What a command makes of these texts, kept in build/host: where it is. It ends with the place."""
    key = hashlib.sha256(repr((command, texts)).encode()).hexdigest()[:16]
    path = ROOT / "build" / "host" / f"{key}{suffix}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}")
        done = run([*command, "-o", scratch])
        assert done.returncode == 0, done.stderr
        scratch.rename(path)
    return path


def host_object(flags, cc):
    """test/host.c compiled once for these flags"""
    return once([*cc.split(), "-std=c11", "-DDESCRIBE=model_describe", *flags, "-c", HOST], ".o", HOST.read_bytes())


INTRINSICS = re.compile(r"^#include <(immintrin|arm_neon|arm_sve)\.h>", re.M)


def headers(source, command):
    """Options by which gcc has the header of a source's intrinsics compiled already, once for all sources and this command: reading it
    is most of what a small model takes (0.37 s of 0.5). gcc 12 ends by a signal where arm_sve.h follows."""
    found = INTRINSICS.findall(pathlib.Path(source).read_text()[:1 << 16])
    if found not in (["immintrin"], ["arm_neon"]) or not command[0].endswith("gcc"):
        return []
    text = ROOT / "build" / "host" / f"{found[0]}.h"
    if not text.exists():
        text.parent.mkdir(parents=True, exist_ok=True)
        text.write_text(f"#include <{found[0]}.h>\n")
    made = once([*(f for f in command if not f.startswith("-Wl,")), "-x", "c-header", text], ".h.gch")
    return ["-include", made.with_suffix("")]         # gcc takes NAME.gch where NAME is not


def link_flags(cc):
    """the faster linker: half of what ld takes (24 ms of the 48 that a small model is compiled in), more of what sanitizers bring along"""
    return ["-fuse-ld=gold"] if cc == "gcc" and shutil.which("ld.gold") else []


IMAGE = ROOT / "build" / "libdnncc_image.so"


def image_flags(folder):
    """what links generated code that decodes images; a test of such code is skipped where the library is not built (packages.sh image)"""
    source = pathlib.Path(folder) / "model.c"
    if not source.exists() or "dnncc_image_decode" not in source.read_text(errors="replace"):
        return []
    if not IMAGE.exists():
        import pytest
        pytest.skip("libdnncc_image is not built")
    return [IMAGE, f"-Wl,-rpath,{IMAGE.parent}"]


def build_host(folder, flags=(), cc=CC, timeout=600, emulator=None):
    """Compiles folder/model.c strictly and links it with test/host.c; returns the program. emulator: for another machine
    (processor.emulator); the program runs here all the same."""
    folder = pathlib.Path(folder)
    compiler = [*(emulator.cc if emulator else cc).split(), *STRICT, *flags, *(["-static"] if emulator else [])]
    done = run([*compiler, *headers(folder / "model.c", compiler), f"-I{folder}", "-c", folder / "model.c", "-o", folder / "model.o"], timeout=timeout)
    assert done.returncode == 0, done.stderr[:4000]
    return link_host(folder, flags, cc, timeout, emulator)


def link_host(folder, flags=(), cc=CC, timeout=600, emulator=None):
    """Links folder/model.o with test/host.c, as build_host does."""
    folder = pathlib.Path(folder)
    program = folder / "host"
    if emulator:
        real = link_host(folder, [*flags, "-static"], emulator.cc, timeout).rename(folder / "host.emulated")
        program.write_text(f'#!/bin/sh\nexec {" ".join(emulator.run)} {real} "$@"\n')
        program.chmod(0o755)
        return program
    done = run([*cc.split(), *flags, *link_flags(cc), host_object(flags, cc), folder / "model.o", *image_flags(folder), "-o", program], timeout=timeout)
    assert done.returncode == 0, done.stderr[:4000]
    return program


def check_clang(folder):
    """clang's view of the warnings, without generating code."""
    if not shutil.which("clang"):
        return
    done = run(["clang", *STRICT, "-fsyntax-only", pathlib.Path(folder) / "model.c"])
    assert done.returncode == 0, done.stderr[:4000]


def numpy_type(onnx_type):
    return onnx.helper.tensor_dtype_to_np_dtype(onnx_type)


def described(program):
    """what host --describe says of inputs and outputs, in order"""
    done = run([program, "--describe"])
    assert done.returncode == 0, done.stderr
    return [line for line in map(json.loads, done.stdout.splitlines()) if "input" in line or "output" in line]


def describe(program):
    """[(is_input, name, onnx type, shape)] in order, from host --describe; an extent that a run gives is a text there"""
    return [("input" in line, line.get("input", line.get("output")), line["type"],
             tuple(symbol or extent for symbol, extent in zip(line["symbols"] or [""] * len(line["shape"]), line["shape"])))
            for line in described(program)]


STRING = onnx.TensorProto.STRING


def text_rows(array, room):
    """the bytes of texts, str or bytes, each with NULs to its room"""
    texts = [t if isinstance(t, bytes) else str(t).encode() for t in np.asarray(array).reshape(-1).tolist()]
    assert all(len(t) < room for t in texts), (texts, room)
    return b"".join(t.ljust(room, b"\0") for t in texts)


def texts_in(data, shape):
    """rows of bytes as an array of str"""
    count = int(np.prod(shape, dtype=int))
    room = len(data) // count if count else 1
    texts = [data[k * room:(k + 1) * room] for k in range(count)]
    assert all(t.endswith(b"\0") and not t.rstrip(b"\0").count(b"\0") for t in texts), texts
    return np.array([t.rstrip(b"\0").decode() for t in texts], dtype=object).reshape(shape)


def extents_of(ports, inputs):
    """{symbol: extent} in the order in which run takes them: by their first use as an extent of an input; then those of terms alone"""
    values, dims = {}, [d for port, array in zip((p for p in ports if p[0]), inputs) for d in zip(port[3], array.shape) if isinstance(d[0], str)]
    for extent, found in dims:
        if re.fullmatch(r"[^\W\d]\w*", extent):
            values.setdefault(extent, found)
    for extent, found in dims:
        unknown = [name for name in re.findall(r"[^\W\d]\w*(?![\w(])", extent) if name not in values]
        if len(unknown) == 1:
            values[unknown[0]] = next(n for n in range(found + 2) if shape_in((1, 0, 0, [extent]), {**values, unknown[0]: n}) == (found,))
    return values


def counted_in(ports, given):
    """the extents that a run counts, in the order in which it tells them: as outputs name them first"""
    names = [name for port in ports if not port[0] for extent in port[3] if isinstance(extent, str) for name in re.findall(r"[^\W\d]\w*(?![\w(])", extent)]
    return [name for name in dict.fromkeys(names) if name not in given]


def shape_in(port, extents):
    """a port's shape in a run with these extents; a term never is below 0, and divides downwards"""
    return tuple(eval(e.replace("/", "//"), {"max": max, "min": min}, extents) if isinstance(e, str) else e for e in port[3])


def rows_as_list(named, name):
    """the items of an output whose rows they are, as docs/interface.md has it; None of an optional without a value"""
    rows, shapes, present = named[name], named.get(f"{name}.shapes"), named.get(f"{name}.present")
    if present is not None and not present:
        return None
    if shapes is None:
        return [np.asarray(row) for row in rows]
    extents = [[e for e in shape if e >= 0] for shape in shapes.tolist()]
    return [np.asarray(row[tuple(slice(e) for e in shape) + (0,) * (row.ndim - len(shape))]) for row, shape in zip(rows, extents)]


def run_host(program, inputs, timeout=600):
    """Runs the program on numpy arrays; returns the outputs as arrays of the described type and shape."""
    ports = describe(program)
    rooms = [line["bytes"] for line in described(program)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        given, expected = folder / "in", folder / "out"
        given.mkdir()
        expected.mkdir()
        extents = extents_of(ports, inputs)
        counted = counted_in(ports, extents)
        described_ports, bounds = ports, {name: 0 for name in counted}
        ports = [(*p[:3], shape_in(p, {**bounds, **extents})) for p in ports]
        sizes = [str(room if counted and not p[0] else np.dtype(numpy_type(p[2])).itemsize * np.prod(p[3], dtype=int))
                 for p, room in zip(ports, rooms)]
        given_extents = ["--extents", ",".join(map(str, extents.values())), "--bytes", ",".join(sizes)] if extents else []
        wanted = [p for p in ports if p[0]]
        assert len(wanted) == len(inputs), f"{len(inputs)} inputs for {len(wanted)}"
        for k, (array, port) in enumerate(zip(inputs, wanted)):
            if port[2] == STRING:
                count = int(np.prod(port[3], dtype=int))
                (given / f"{k}.bin").write_bytes(text_rows(array, rooms[k] // max(count, 1)))
                continue
            dtype = np.dtype(numpy_type(port[2]))
            array = np.ascontiguousarray(array)
            assert array.dtype == dtype and array.size == np.prod(port[3], dtype=int), (array.dtype, array.shape, port)
            (given / f"{k}.bin").write_bytes(array.tobytes())
        weights = pathlib.Path(program).parent / "model.weights"
        done = run([program, *(["--weights", weights] if weights.exists() else []), *given_extents,
                    *(["--told", folder / "told"] if counted else []), given, expected], timeout=timeout)
        if done.returncode != 0:
            raise AssertionError(f"the generated program exited with {done.returncode}: {done.stderr[-3000:]}")
        if counted:
            told = list(map(int, (folder / "told").read_text().split()))
            extents = dict(zip([*extents, *counted], told, strict=True))
            ports = [(*p[:3], shape_in(p, extents)) for p in described_ports]
        outputs = []
        for k, port in enumerate(p for p in ports if not p[0]):
            data = (expected / f"{k}.bin").read_bytes()
            if counted and port[2] != STRING:
                data = data[:np.dtype(numpy_type(port[2])).itemsize * np.prod(port[3], dtype=int)]
            outputs.append(texts_in(data, port[3]) if port[2] == STRING else
                           np.frombuffer(data, dtype=numpy_type(port[2])).reshape(port[3]))
        return outputs


def load_tensor(path):
    return onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))


class Workspace:
    """A temporary folder, kept under DNNCC_KEEP when that is set."""

    def __init__(self, name):
        self.keep = os.environ.get("DNNCC_KEEP")
        self.name = name

    def __enter__(self):
        if self.keep:
            self.path = pathlib.Path(self.keep) / self.name
            self.path.mkdir(parents=True, exist_ok=True)
        else:
            self.path = pathlib.Path(tempfile.mkdtemp(prefix="dnncc-"))
        return self.path

    def __exit__(self, *_):
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)
