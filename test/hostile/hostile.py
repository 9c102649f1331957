# SPDX-License-Identifier: MIT
"""What the hostile tests share: models made byte by byte, dnncc under limits, and what a refusal or an answer must look like.

Verdicts of the catalogue: E is refused(), L is refused(limit=NAME), A is accepted(); E/A is answered().

Environment: DNNCC (default build/dnncc); DNNCC_ASAN: a second binary, with sanitizers, that must say the same."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

F, I64, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MIB = 1 << 20
DNNCC = os.path.abspath(dnncc.DNNCC)
SANITIZED = any(part.startswith("asan") for part in pathlib.Path(DNNCC).parts)
ASAN = os.environ.get("DNNCC_ASAN") and os.path.abspath(os.environ["DNNCC_ASAN"])
LINE = re.compile(r"[\x20-\x7e]+: (error|warning|note): [\x20-\x7e]+")

# ---- bytes ----


def varint(n):
    """n as a varint; negative numbers take ten bytes, as on the wire."""
    n &= 2 ** 64 - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def tag(number, wire):
    return varint(number << 3 | wire)


def number(field, n):
    return tag(field, 0) + varint(n)


def field(field, data):
    return tag(field, 2) + varint(len(data)) + data


# ---- models ----


def value(name, shape=(2, 3), kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def untyped(name):
    return onnx.ValueInfoProto(name=name)


def constant(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name, **attributes)


def graph(nodes, inputs=None, outputs=None, initializers=(), name="g"):
    return helper.make_graph(list(nodes), name, [value("x")] if inputs is None else list(inputs),
                             [untyped("y")] if outputs is None else list(outputs), list(initializers))


def model(nodes, inputs=None, outputs=None, initializers=(), opsets=(("", 17),), functions=(), ir_version=8, name="g"):
    return helper.make_model(graph(nodes, inputs, outputs, initializers, name), ir_version=ir_version, functions=list(functions),
                             opset_imports=[helper.make_opsetid(d, v) for d, v in opsets])


def wrap(graph_bytes, ir_version=8, opset=17):
    """A model around the bytes of a graph."""
    return number(1, ir_version) + field(8, field(1, b"") + number(2, opset)) + field(7, graph_bytes)


SMALL = model([node("Add", ["x", "w"], ["t"], "add"), node("Relu", ["t"], ["y"], "relu")], [value("x", (2,))], [value("y", (2,))],
              [constant("w", [1, -2])])

# ---- runs ----


class Done:
    """seconds: of processor time"""

    def __init__(self, code, text, seconds):
        self.code, self.text, self.seconds = code, text, seconds

    def __repr__(self):
        return f"exit {self.code} after {self.seconds:.2f} s: {self.text[:2000]}"


def child_limits(seconds, memory):
    """of processor time; one that only waits is ended, too, far later"""
    def apply():
        signal.alarm(int(dnncc.PATIENCE * seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * MIB, 1024 * MIB))
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    return apply


def launch(binary, folder, arguments, stdin, size, slack):
    """Limits of the catalogue: 2 s per MiB of file and 2 s, 64 MiB and 4 times the file. Sanitizers get ten times the time."""
    sanitized = binary != DNNCC or SANITIZED
    seconds = (2 + 2 * size / MIB) * (10 if sanitized else 1) * max(slack, 1)
    memory = None if sanitized else int((64 * MIB + 4 * size) * max(slack, 1))
    environment = dict(os.environ, ASAN_OPTIONS="exitcode=99:detect_leaks=1", UBSAN_OPTIONS="print_stacktrace=1", LC_ALL="C")
    with open(folder / ".err", "w+b") as err:
        child = subprocess.Popen([binary, *map(str, arguments)], cwd=folder, stderr=err, stdout=subprocess.DEVNULL, env=environment,
                                 stdin=stdin or subprocess.DEVNULL, preexec_fn=child_limits(seconds, memory))
        _, status, usage = os.wait4(child.pid, 0)
        code = child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        text = err.read().decode("utf-8", "surrogateescape")
    os.unlink(folder / ".err")
    return Done(code, text, usage.ru_utime + usage.ru_stime)


def run(folder, *options, source="model.onnx", stdin=None, slack=1, output="out.c"):
    """dnncc on a file of the folder. Whatever it says: no signal, no sanitizer report, clean messages."""
    folder = pathlib.Path(folder)
    path = folder / source
    size = path.stat().st_size if path.is_file() else 0
    arguments = [source, *(["-o", output] if output else []), *options]
    before = listing(folder)
    done = launch(DNNCC, folder, arguments, stdin, size, slack)
    check_manners(done)
    if ASAN:
        after = listing(folder)
        for name in after - before:
            os.rename(folder / name, folder / (name + ".kept"))
        again = launch(ASAN, folder, arguments, stdin, size, slack)
        check_manners(again)
        assert again.code == done.code, (done, again)
        for name in after - before:
            assert (folder / name).read_bytes() == (folder / (name + ".kept")).read_bytes(), name
            os.unlink(folder / (name + ".kept"))
    return done


def listing(folder):
    return {str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*")} - {".err"}


def check_manners(done):
    assert done.code in (0, 1, 2, 3, 4, 5), done
    assert "Sanitizer" not in done.text and "runtime error" not in done.text, done
    for line in done.text.splitlines():
        assert LINE.fullmatch(line) and len(line) < 700, ascii(line)


def put(folder, content):
    data = content if isinstance(content, bytes) else content.SerializeToString()
    (pathlib.Path(folder) / "model.onnx").write_bytes(data)


# ---- verdicts ----


def refused(folder, content=None, *options, names=(), limit=None, codes=(3, 4), lines=None, **keywords):
    """E: the exit code, an error that names the element, nothing written. L: it names the limit's option too."""
    if content is not None:
        put(folder, content)
    before = listing(folder)
    done = run(folder, *options, **keywords)
    assert done.code in codes, done
    assert ": error: " in done.text, done
    assert listing(folder) == before, listing(folder) - before
    for name in [names] if isinstance(names, str) else names:
        assert name in done.text, (name, done)
    assert limit is None or f"--limit {limit}" in done.text, done
    assert lines is None or done.text.count("\n") == lines, done
    return done


def accepted(folder, content=None, *options, compilers=("gcc",), flags=(), output="out.c", **keywords):
    """A: compiled without a word, and the C is clean."""
    if content is not None:
        put(folder, content)
    done = run(folder, *options, output=output, **keywords)
    assert done.code == 0, done
    for compiler in compilers:
        built = dnncc.run([compiler, *dnncc.STRICT, *flags, "-fsyntax-only", pathlib.Path(folder) / output])
        assert built.returncode == 0, built.stderr[:3000]
    return done


def answered(folder, content=None, *options, **keywords):
    """E/A: either, but clean."""
    if content is not None:
        put(folder, content)
    before = listing(folder)
    done = run(folder, *options, **keywords)
    assert done.code in (0, 3, 4), done
    if done.code == 0:
        built = dnncc.run(["gcc", *dnncc.STRICT, "-fsyntax-only", pathlib.Path(folder) / "out.c"])
        assert built.returncode == 0, built.stderr[:3000]
    else:
        assert ": error: " in done.text and listing(folder) == before, done
    return done


def results(folder, content, inputs, *options):
    """A, with the results of running the C on these inputs."""
    folder = pathlib.Path(folder)
    put(folder, content)
    done = run(folder, "--name=model", *options, output="model.c")
    assert done.code == 0, done
    return dnncc.run_host(dnncc.build_host(folder, ("-O1",)), inputs)


def clean(folder):
    """Forgets what a run wrote, for the next case in the same folder."""
    for path in pathlib.Path(folder).iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
