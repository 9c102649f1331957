# SPDX-License-Identifier: MIT
"""Names, text and generated source, rows 81 to 90 of the catalogue: all valid models."""
import os
import re
import subprocess

import numpy as np
import onnx
import pytest
from hostile import (DNNCC, F, accepted, constant, listing, model, node, put, refused, results, run, untyped, value)

X = np.arange(6, dtype=np.float32).reshape(2, 3)
LONG = "n" * 100_000

EVIL = {
    81: ["*/ #error PWNED /*", "*/\n#error PWNED\n/*", "/* /* */ PWNED(", "//", "*/", "/*", "/", "*", "/*/", "a*/\n#include \"PWNED\"\n"],
    82: ["x\n#include \"/etc/passwd\"\n#error PWNED", "PWNED\\", "PWNED\\\n", "??/\n#error PWNED", "??/", "a\r\n#error PWNED", "\x0b\x0c#error PWNED", "\\u000a#error PWNED"],
    83: ["\"; PWNED(); \"", "'", "\"", "%s%s%s%n", "%n", "%1000000d", "%", "\" PWNED \"", "\\\"", "${PWNED}", "`PWNED`", "$(PWNED)"],
    84: ["int", "main", "memcpy", "NULL", "3d", "0", "_Pragma", "_Pragma(\"GCC poison int\")", "__attribute__", "__LINE__", "defined", "restrict", "inline", "class",
         "workspace", "input", "output", "model_run", "model", "MODEL_H", "INT32_MAX", "uint8_t", "size_t", "linux", "errno", "EOF", "out_run", "run", "static", "_"],
    85: ["conv.1", "conv/1", "conv_1", "conv:1", "Conv_1", "CONV.1", "conv_1_2", "conv_1_3", "y" * 63 + "a", "y" * 63 + "b", "y" * 31, "y" * 32, "y" * 30 + "_2", "é", "è", "\u0451"],
    86: ["../../etc/passwd", "/tmp/PWNED", "a/b/c", "C:\\PWNED", "-o", "--name=PWNED", "|PWNED", "PWNED.h", "~", "con", "nul.c"],
    87: ["\x1b[31mPWNED\x1b[0m", "\x1b]0;PWNED\x07", "\u202eDENWP\u202c", "a\u00a0b", "a\u200bb", "\u2028PWNED", "\x7f", "\x08\x08\x08", "\x9b31m", "\ufeff", "\U0001f600"],
    88: [LONG, LONG + "b", " ", "\t"],
}
FORBIDDEN = re.compile(rb"[^\x09\x0a\x20-\x7e]")


def directives(text):
    """Every preprocessor line but definitions, without what differs from build to build"""
    return [re.sub(rb"[0-9A-F]{16}", b"HASH", line.strip()) for line in text.split(b"\n") if line.lstrip().startswith(b"#")
            and not line.lstrip().startswith(b"#define")]


def check_text(folder, plain):
    """Nothing but plain ASCII; the directives are those of a plain model; names in definitions are cleaned."""
    for name in ("out.c", "out.h"):
        text = (folder / name).read_bytes()
        assert not FORBIDDEN.search(text), (name, FORBIDDEN.search(text))
        assert directives(text) == plain[name]
        assert b"??/" not in text and not re.search(rb"\\\s*\n.*PWNED", text)
        for line in text.split(b"\n"):
            assert len(line) < 5000
            if line.lstrip().startswith(b"#define") and b"PWNED" in line:
                assert re.match(rb"\s*#define OUT_\w+(\(name\))?( [\w{}, \"\\.]*)?$", line), line


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    accepted(folder, everywhere(["one", "two"]), "--dim", "rowstwo=2")
    return {name: directives((folder / name).read_bytes()) for name in ("out.c", "out.h")}


def everywhere(names):
    """A model with these names for everything that can have one."""
    nodes, previous = [], "x0"
    inputs, outputs, initializers = [value("x0")], [], []
    for i, name in enumerate(names):
        inputs.append(value(name + "", (2, 3)) if i % 2 == 0 else value(name, ("rows" + name, 3)))
        inner = f"{name} w"
        initializers.append(constant(inner, [[1, 2, 3]]))
        nodes += [node("Add", [previous, inner], [f"{name} a"], name), node("Sub", [f"{name} a", name], [f"{name} b"], name), node("Relu", [f"{name} b"], [f"{name} c"], name)]
        outputs.append(untyped(f"{name} c") if i % 3 else value(f"{name} c"))
        previous = f"{name} b"
    m = model(nodes, inputs, outputs, initializers, name=names[0], opsets=[("", 17), *[(f"{n}", 1) for n in names if n.strip()]])
    m.producer_name, m.producer_version, m.domain, m.doc_string = names[0], names[-1], names[0], "\n".join(n[:1000] for n in names)
    for name in names:
        m.metadata_props.add(key=name, value=name)
    m.graph.doc_string = names[-1]
    for n, name in zip(m.graph.node, names):
        n.doc_string = name
    m.graph.node[0].metadata_props.add(key=names[0], value=names[-1])
    return m


def want(names, given):
    previous, outputs = given[0], []
    for i in range(len(names)):
        previous = previous + [[1, 2, 3]] - given[i + 1]
        outputs.append(np.maximum(previous, 0))
    return outputs


@pytest.mark.sample(2)
@pytest.mark.parametrize("row", EVIL)
def test_names_everywhere(tmp_path, plain, row):
    names = EVIL[row]
    m = everywhere(names)
    options = [o for i, n in enumerate(names) if i % 2 for o in ("--dim", f"rows{n}=2")] if row != 88 else ["--input", f"{LONG}b=2x3", "--input", "\t=2x3"]
    accepted(tmp_path, m, *options, compilers=("gcc", "clang"), slack=2)
    check_text(tmp_path, plain)
    keep = [o for n in names for o in ("--keep", f"{n} b")] if row != 88 else []
    for emit, name in (("ir", "out.dnn"), ("loops", "out.loops")):
        assert run(tmp_path, *options, *keep, f"--emit={emit}", output=name, slack=2).code == 0
        assert not FORBIDDEN.search((tmp_path / name).read_bytes())
    given = [np.float32(np.random.default_rng(i).integers(-4, 9, (2, 3))) for i in range(len(names) + 1)]
    folder = tmp_path / "run"
    folder.mkdir()
    got = run_program(folder, m, given, options)
    for k, (g, w) in enumerate(zip(got, want(names, given), strict=True)):
        assert (g == w).all(), (k, names[k])


def run_program(folder, m, given, options):
    """Compiles and calls through the descriptor by number: the names may be anything."""
    put(folder, m)
    assert run(folder, *options, "--name=model", output="model.c", slack=2).code == 0
    (folder / "main.c").write_text(r'''
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
int main(void)
{
        const struct dnncc_model_1 *m = model_describe();
        const void **inputs = calloc(m->input_count + 1, sizeof *inputs);
        void **outputs = calloc(m->output_count + 1, sizeof *outputs), *regions[8] = { 0 };
        for (uint32_t i = 0; i < m->region_count; i++)
                regions[i] = aligned_alloc(64, (m->regions[i].size + 64) / 64 * 64);
        for (uint32_t i = 0; i < m->input_count; i++) {
                void *data = malloc(m->inputs[i].bytes + 1);
                if (fread(data, 1, m->inputs[i].bytes, stdin) != m->inputs[i].bytes)
                        return 99;
                inputs[i] = data;
        }
        for (uint32_t i = 0; i < m->output_count; i++)
                outputs[i] = malloc(m->outputs[i].bytes + 1);
        int code = m->run((void *const *)regions, inputs, outputs, NULL);
        for (uint32_t i = 0; i < m->output_count; i++)
                fwrite(outputs[i], 1, m->outputs[i].bytes, stdout);
        return code ? 98 : 0;
}
''')
    subprocess.run(["gcc", "-std=c11", "-O1", "-w", "main.c", "model.c", "-o", "main"], cwd=folder, check=True)
    done = subprocess.run([folder / "main"], input=b"".join(g.tobytes() for g in given), capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.float32).reshape(-1, 2, 3)


@pytest.mark.sample(8)
@pytest.mark.parametrize("row", EVIL)
def test_names_in_messages(tmp_path, row):
    """Every place of a message: names are escaped and short, one line per error (run() checks the characters)"""
    for name in EVIL[row][:8]:
        if not name.strip():
            continue
        refused(tmp_path, model([node("Add", ["x", name + "?"], ["y"], name)]), lines=1)
        refused(tmp_path, model([node(name, ["x"], ["y"], name)]), lines=1, codes=(4,))
        refused(tmp_path, model([node("Relu", ["x"], ["y"], name, domain=name)], opsets=[("", 17), (name, 1)]), lines=1, codes=(4,))
        refused(tmp_path, model([node("Softmax", ["x"], ["y"], name, **{name: 1})]), lines=1)
        refused(tmp_path, model([node("Conv", ["x", "x"], ["y"], name, auto_pad=name)]), lines=1)
        refused(tmp_path, model([node("Relu", ["x"], ["y"])], [value("x", (name,))]), lines=1)
        refused(tmp_path, model([node("Relu", ["x"], ["y"])], outputs=[untyped(name)]), lines=1)
        refused(tmp_path, model([node("Relu", ["x"], ["y"])], [value("x"), value(name, (-4,))]), lines=1)
        refused(tmp_path, model([node("Relu", ["x"], ["y"])], opsets=[("", 17), (name, 0)]), lines=1)
        if row != 88:
            bad = onnx.TensorProto(name=name, data_type=F, dims=[1], data_location=onnx.TensorProto.EXTERNAL)
            bad.external_data.add(key="location", value=name)
            refused(tmp_path, model([node("Relu", ["x"], ["y"])], initializers=[bad]), lines=1, codes=(2, 3))
            refused(tmp_path, model([node("Relu", ["x"], ["y"])]), "--output", name, "--dim", f"{name}=1", codes=(1,))
            refused(tmp_path, model([node("Relu", ["x"], ["y"])]), f"--input={name}", codes=(1,))


def test_83_directive_operators(tmp_path):
    for op in ("%s", "%n", "%s%s%s%s%s%n", "%99999999d"):
        done = refused(tmp_path, model([node(op, ["x"], ["y"], op)]), codes=(4,), lines=1)
        assert "\\x25" in done.text


def test_85_distinct_symbols(tmp_path):
    names = ["a.b", "a/b", "a b", "A.B", "a_b", "a__b", "é", "è", "x" * 70, "x" * 71]
    m = model([node("Neg", [n], [n + "out"]) for n in names], [value(n, (1,)) for n in names], [untyped(n + "out") for n in names])
    accepted(tmp_path, m, compilers=("gcc", "clang"))
    header = (tmp_path / "out.h").read_text()
    parameters = re.search(r"int out_run\(([^)]*)\)", header).group(1).replace("\n", " ").split(",")
    words = [p.split()[-1].lstrip("*").lower() for p in parameters]
    assert len(set(words)) == len(words) == 1 + 2 * len(names)
    macros = re.findall(r"#define (\w+)_ELEMS", header)
    assert len(set(macros)) == len(macros) == 2 * len(names)


def test_86_only_the_named_files(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    m = everywhere(["../escaped", "/tmp/escaped.c", "sub/dir"])
    accepted(inside, m, "--dim", "rows/tmp/escaped.c=2")
    assert listing(inside) == {"model.onnx", "out.c", "out.h"} and listing(tmp_path) == {"inside"} | {"inside/" + n for n in listing(inside)}


def test_88_empty_names(tmp_path):
    m = model([node("Relu", ["x"], ["y"])], name="")
    accepted(tmp_path, m)
    assert (results(tmp_path, m, [X - 2])[0] == np.maximum(X - 2, 0)).all()


def test_88_many_long_names(tmp_path):
    names = [LONG[:5000] + str(i) for i in range(200)]
    accepted(tmp_path, model([node("Neg", [a], [b], a) for a, b in zip(names, names[1:])], [value(names[0])], [untyped(names[-1])]))


# ---- 90: the command line ----


@pytest.mark.parametrize("name", ["a b", "a;int x;", "", "3d", "int", "x" * 100, "a-b", "é", "a\nb", "main", "_x", "a(", "memcpy", "*/", "../a", "%s"])
def test_90_name(tmp_path, name):
    put(tmp_path, model([node("Relu", ["x"], ["y"])]))
    refused(tmp_path, None, f"--name={name}", codes=(1,))


def test_90_outputs(tmp_path):
    put(tmp_path, model([node("Relu", ["x"], ["y"])]))
    before = (tmp_path / "model.onnx").read_bytes()
    (tmp_path / "victim").write_text("precious")
    os.symlink("victim", tmp_path / "link.c")
    os.symlink("nowhere", tmp_path / "dangling.c")
    os.mkdir(tmp_path / "folder.c")
    os.mkfifo(tmp_path / "fifo.c")
    for output in ("link.c", "dangling.c", "folder.c", "fifo.c", "folder.c/", "model.onnx", "./model.onnx", "/dev/full", "/dev/null", "missing/out.c", "..", "",
                   "victim/out.c"):
        refused(tmp_path, None, "-o", output, codes=(1, 2), output=None)
    os.symlink("victim", tmp_path / "out.h")
    refused(tmp_path, None, codes=(1, 2))
    assert (tmp_path / "victim").read_text() == "precious" and (tmp_path / "model.onnx").read_bytes() == before
    assert os.readlink(tmp_path / "link.c") == "victim" and not os.path.exists(tmp_path / "nowhere")


def test_90_full_device(tmp_path):
    put(tmp_path, model([node("Relu", ["x"], ["y"])]))
    with open("/dev/full", "w") as full:
        done = subprocess.run([DNNCC, "model.onnx", "-o", "-"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "error: " in done.stderr, done
    assert listing(tmp_path) == {"model.onnx"}


def test_90_failure_keeps_what_was_there(tmp_path):
    accepted(tmp_path, model([node("Relu", ["x"], ["y"])]))
    kept = {n: (tmp_path / n).read_bytes() for n in ("out.c", "out.h")}
    refused(tmp_path, model([node("Nope", ["x"], ["y"])]), codes=(4,))
    assert kept == {n: (tmp_path / n).read_bytes() for n in kept}


LIBRARY = ["select", "random", "remove", "rename", "remainder", "sinh", "acosh", "atan2", "puts", "system", "getenv", "Clock", "nan", "rint", "y0f", "realpath"]


@pytest.mark.parametrize("options, flags", [([], []), (["--target=x86-64-v3"], ["-march=x86-64-v3"])])
def test_functions_of_the_c_library(tmp_path, options, flags):
    """kernels are no functions of the headers that vectors and helpers include, POSIX's and GNU's among them"""
    nodes = [node("MatMul" if i % 2 else "Softmax", ["x" if i == 0 else f"t{i - 1}", "w"][:1 + i % 2], [f"t{i}"], name) for i, name in enumerate(LIBRARY)]
    m = model(nodes, [value("x", (3, 3))], [value(f"t{len(nodes) - 1}", (3, 3))], [constant("w", np.eye(3) + 1)])
    accepted(tmp_path, m, *options)
    done = subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags, "-include", "stdlib.h", "-include", "math.h", "-include", "stdio.h", "-c",
                           tmp_path / "out.c", "-o", tmp_path / "out.o"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
