# SPDX-License-Identifier: MIT
"""CUDA C without a GPU: the executor (test/cuda) that compiles a .cu by a C++ compiler and runs it, and nvcc where there is one.

The executor is compiled once for each compiler and kept in build/cuda; of a model only its own text is compiled.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil

import numpy as np
import onnx

import dnncc

FOLDER = dnncc.ROOT / "test" / "cuda"
BUILD = dnncc.ROOT / "build" / "cuda"
CXX = os.environ.get("DNNCC_CXX", "g++")
CXXFLAGS = "-std=c++17 -ffp-contract=off -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-function".split()
OPTIMIZE = ["-O1"]
RUNTIME = ["executor", "leaves", "sums", "memory", "runtime"]

TWO, SIX = "0,4", "0,1,2,3,4,5"         # executions: executor_execution


class Found(AssertionError):
    """what the executor found in a model, or a code that its functions returned"""


def built(name, sources, command):
    """build/cuda/NAME-KEY, made by `command` where these sources have not been compiled so before"""
    text = [p.read_bytes() for p in sources] + [p.read_bytes() for p in sorted(FOLDER.glob("*.h"))]
    key = hashlib.sha256(repr((command, text)).encode()).hexdigest()[:16]
    path = BUILD / f"{name}-{key}.o"
    if not path.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}.o")
        done = dnncc.run([*command, "-o", scratch])
        assert done.returncode == 0, done.stderr[:4000]
        scratch.rename(path)
    return path


CHECKED = ["-O1", "-fsanitize=thread"]  # of a text: access.cpp sees every access (-O1: by -Og a race went unseen)


def runtime(cxx=CXX, host=True, checked=False):
    """the objects of the executor; checked: for texts compiled with CHECKED"""
    names = RUNTIME + (["host"] if host else []) + (["access"] if checked else [])
    return [built(name, [FOLDER / f"{name}.cpp"], [*cxx.split(), *CXXFLAGS, "-O3", "-march=native", "-c", FOLDER / f"{name}.cpp"]) for name in names]


def header(cxx, flags):
    """what -include gets: g++ has the executor's header compiled already, once for all sources and these flags, since reading it is half of
    what a small model takes"""
    text = FOLDER / "executor.h"
    if not cxx.endswith("g++"):
        return text
    command = [*cxx.split(), *CXXFLAGS, *flags, "-x", "c++-header", text]
    return dnncc.once(command, ".h.gch", text.read_bytes(), (FOLDER / "runtime.h").read_bytes()).with_suffix("")         # g++ takes NAME.gch where NAME is not


def compile_text(source, out, cxx=CXX, flags=OPTIMIZE):
    """one C++ or CUDA C file to an object, with the executor's header"""
    own = [flag for flag in flags if not flag.startswith(("-I", "-Wa,"))]
    done = dnncc.run([*cxx.split(), *CXXFLAGS, *flags, f"-I{FOLDER}", f"-I{FOLDER / 'include'}", "-x", "c++", "-include", header(cxx, own),
                      "-c", source, "-o", out], timeout=600)
    assert done.returncode == 0, done.stderr[:4000]
    return out


def link(objects, program, cxx=CXX):
    done = dnncc.run([*cxx.split(), *objects, "-o", program])
    assert done.returncode == 0, done.stderr[:4000]
    return program


# ---- models ----

KERNEL = re.compile(r"__global__\s+(?:static\s+)?void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(")


def plant(path, mistake):
    """(pattern, what takes its place): a mistake in generated code, where there is what it changes"""
    text = path.read_text()
    changed = re.sub(*mistake, text)
    assert changed != text, mistake
    path.write_text(changed)


def compile_model(model, folder, options=(), name="model", target="cuda-sm_80", timeout=300):
    """folder/NAME.cu and .h; raises dnncc.CompileError"""
    folder = pathlib.Path(folder)
    done = dnncc.run([dnncc.DNNCC, model, "-o", folder / f"{name}.cu", f"--name={name}", f"--target={target}", *options], timeout=timeout)
    if done.returncode != dnncc.OK:
        raise dnncc.CompileError(done.returncode, done.stderr)
    return folder / f"{name}.cu"


def kernels(text):
    return list(dict.fromkeys(KERNEL.findall(text)))


def model_object(path, cxx=CXX, flags=OPTIMIZE):
    """the object of NAME.cu, with what the executor wants to know of its kernels behind it"""
    path = pathlib.Path(path)
    known = ", ".join(f'executor_typed({k}, "{k}")' for k in kernels(path.read_text()))
    wrapped = path.with_suffix(".executor.cpp")
    wrapped.write_text(f'#include "{path.name}"\n' + (f"__attribute__((used)) static const void *const executor_kernels[] = {{ {known} }};\n" if known else ""))
    return compile_text(wrapped, path.with_suffix(".o"), cxx, [*flags, f"-I{path.parent}", f"-Wa,-I{path.parent}"])


def parameters(header, function):
    """how many a function of the header has; None: there is no such function"""
    found = re.search(rf"\b{function}\(([^)]*)\)", header)
    return found and (0 if found[1].strip() in ("", "void") else found[1].count(",") + 1)


def table(paths, loads=True):
    """C++ text: the models of these .cu files, for host.cpp; not loads: their weights stay what the memory has (--weights=file)"""
    rows, includes = [], ['#include "host.h"']
    for path in paths:
        name, header = path.stem, path.with_suffix(".h").read_text()
        includes.append(f'#include "{path.with_suffix(".h")}"')
        count = parameters(header, f"{name}_run") - 1
        run = f"{name}_run({''.join(f'as_wanted{{ p[{i}] }}, ' for i in range(count))}as_wanted{{ s }})"
        status = f"{name}_status({'as_wanted{ w }, ' if parameters(header, f'{name}_status') == 2 else ''}as_wanted{{ s }})"
        load = "NULL" if not loads or parameters(header, f"{name}_load") is None else f"[](void *w, cudaStream_t s) {{ return {name}_load(as_wanted{{ w }}, as_wanted{{ s }}); }}"
        rows.append(f'        {{ "{name}", {name}_describe, {name}_prepare, {load},\n'
                    f"          [](void *const *p, cudaStream_t s) {{ (void)p; return {run}; }},\n"
                    f"          [](void *w, cudaStream_t s) {{ (void)w; return {status}; }} }},")
    return ("\n".join(includes) + "\n\nstruct as_wanted { void *p; template <class T> operator T *() const { return (T *)p; } };\n" +
            "const struct executor_model executor_models[] = {\n" + "\n".join(rows) + f"\n}};\nconst int executor_model_count = {len(rows)};\n")


def build(paths, folder, cxx=CXX, flags=OPTIMIZE):
    """one program of several models; paths: their .cu files, of different names. flags=CHECKED: races and accesses outside of
    blocks are found"""
    folder = pathlib.Path(folder)
    (folder / "table.cpp").write_text(table(paths))
    objects = [model_object(p, cxx, flags) for p in paths]
    return link([compile_text(folder / "table.cpp", folder / "table.o", cxx, ["-O0"]), *objects, *runtime(cxx, checked=flags == CHECKED)], folder / "models", cxx)


def ports(program, name):
    """[(is_input, onnx type, shape)]"""
    done = dnncc.run([program, "--describe", name])
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [("input" in row, row["type"], tuple(row["shape"])) for row in rows]


def run(program, inputs, folder, executions=TWO, timeout=600, env=None):
    """inputs: {name: [arrays]}; returns {name: [arrays], or Found}"""
    folder, command, results = pathlib.Path(folder), [], {}
    for name, arrays in inputs.items():
        given, made = folder / f"{name}.in", folder / f"{name}.out"
        given.mkdir(exist_ok=True)
        made.mkdir(exist_ok=True)
        for k, array in enumerate(arrays):
            (given / f"{k}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        command += [name, given, made]
    done = dnncc.run([program, executions, *command], timeout=timeout, env={**os.environ, **(env or {})})
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    for name in inputs:
        line = said.get(name, f"nothing; {done.stderr[-500:]}")
        if not line.startswith("ok "):
            results[name] = Found(line)
            continue
        kinds = [p for p in ports(program, name) if not p[0]]
        results[name] = [np.frombuffer((folder / f"{name}.out" / f"{k}.bin").read_bytes(), dtype=dnncc.numpy_type(kind)).reshape(shape)
                         for k, (_, kind, shape) in enumerate(kinds)]
        counts[name] = json.loads(line[3:])
    return results


counts = {}                             # of the last run: {name: what the executor counted}


def bindings(model, arrays):
    """--input options for the inputs whose shape the model leaves open"""
    graph = onnx.load(model, load_external_data=False).graph
    constant = {i.name for i in graph.initializer}
    given = [i for i in graph.input if i.name not in constant]
    return [f"--input={i.name}={'x'.join(map(str, a.shape))}" for i, a in zip(given, arrays)
            if a.ndim and not all(d.HasField("dim_value") for d in i.type.tensor_type.shape.dim)]


# ---- nvcc ----

def nvcc():
    """PATH's, or that of `make cuda`; None"""
    found = shutil.which("nvcc")
    if found:
        return found
    wheels = sorted((dnncc.ROOT / "build" / "cuda-venv").glob("lib/python*/site-packages/nvidia/**/bin/nvcc"))
    return str(wheels[-1]) if wheels else None


ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100"]


def known_to(compiler):
    """of ARCHITECTURES those that this nvcc knows; a letter behind one is a variant of it"""
    listed = dnncc.run([compiler, "--list-gpu-code"]).stdout.split()
    return [a for a in ARCHITECTURES if a in listed or a.rstrip("a") in listed]


PTXAS = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
                   r"Used (\d+) registers", re.DOTALL)


def ptxas(path, architecture, out, flags=()):
    """{kernel: {"registers", "stack", "spilled"}}; a warning is an error"""
    done = dnncc.run([nvcc(), f"-gencode=arch=compute_{architecture[3:]},code={architecture}", "-Werror=all-warnings", "-Xptxas=-v", *flags, "-c", path, "-o", out],
                     timeout=600)
    assert done.returncode == 0 and "warning" not in done.stdout + done.stderr, (done.stdout + done.stderr)[:4000]
    names = kernels(pathlib.Path(path).read_text())
    found = {}
    for mangled, _, stack, stores, loads, registers in PTXAS.findall(done.stdout + done.stderr):
        name = max((n for n in names if f"{len(n)}{n}" in mangled), key=len)
        found[name] = {"registers": int(registers), "stack": int(stack), "spilled": int(stores) + int(loads)}
    return found
