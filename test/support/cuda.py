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
    """its parameters in the header, as texts; None: there is no such function"""
    found = re.search(rf"\bint {function}\(([^)]*)\)", header)
    return found and [] if not found or found[1].strip() in ("", "void") else [" ".join(p.split()) for p in found[1].split(",")]


def run_call(header, name):
    """the call of run with pointers p, extents x and stream s; and how many extents are state"""
    given, kept, pointers, words = parameters(header, f"{name}_run")[:-1], 0, 0, []
    state = next((i for i, p in enumerate(given) if p.endswith("*state")), len(given))
    while state + 1 + kept < len(given) and re.fullmatch(r"int64_t \*\w+", given[state + 1 + kept]):
        kept += 1
    extents = 0
    for i, p in enumerate(given):
        if state < i <= state + kept or re.fullmatch(r"int64_t \w+", p):
            words.append(f"{'&' if '*' in p else ''}x[{extents}]")
            extents += 1
        else:
            words.append(f"as_wanted{{ p[{pointers}] }}")
            pointers += 1
    return f"{name}_run({', '.join([*words, 'as_wanted{ s }'])})", kept


def entries(header, name):
    """the prefixes of its entries' functions"""
    return [p for p in dict.fromkeys(re.findall(r"\bint (\w+)_run\(", header)) if p.startswith(name)]


def table(paths, loads=True):
    """C++ text: the models of these .cu files, for host.cpp, of several entries each; not loads: their weights stay what the memory has
    (--weights=file)"""
    rows, includes = [], ['#include "host.h"']
    for path in paths:
        name, header = path.stem, path.with_suffix(".h").read_text()
        includes.append(f'#include "{path.with_suffix(".h")}"')
        status = f"{name}_status({'as_wanted{ w }, ' if len(parameters(header, f'{name}_status')) == 2 else ''}as_wanted{{ s }})"
        load = "NULL" if not loads or parameters(header, f"{name}_load") is None else f"[](void *w, cudaStream_t s) {{ return {name}_load(as_wanted{{ w }}, as_wanted{{ s }}); }}"
        for entry in entries(header, name):
            run, kept = run_call(header, entry)
            rows.append(f'        {{ "{entry}", {kept}, {entry}_describe, {name}_prepare, {load},\n'
                        f"          [](void *const *p, int64_t *x, cudaStream_t s) {{ (void)p, (void)x; return {run}; }},\n"
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
    """[(is_input, name, onnx type, shape)] as dnncc.ports has them: an extent that a run gives is a text"""
    done = dnncc.run([program, "--describe", name])
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [("input" in row, "", row["type"], tuple(symbol or extent for symbol, extent in zip(row["symbols"] or [""] * len(row["shape"]), row["shape"])))
            for row in rows]


def executed(program, executions, command, folder, names, timeout, env):
    """{name: what the host said of it}"""
    done = dnncc.run([program, executions, *command], timeout=timeout, env={**os.environ, **(env or {})})
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    for name in names:
        said.setdefault(name, f"nothing; {done.stderr[-500:]}")
        if said[name].startswith("ok "):
            counts[name] = json.loads(said[name][3:])
    return said


def folders(folder, name):
    given, made = pathlib.Path(folder) / f"{name}.in", pathlib.Path(folder) / f"{name}.out"
    for f in (given, made):
        shutil.rmtree(f, ignore_errors=True)
        f.mkdir()
    return given, made


def run(program, inputs, folder, executions=TWO, timeout=600, env=None):
    """inputs: {name: [arrays]}; returns {name: [arrays], or Found}"""
    command, results = [], {}
    for name, arrays in inputs.items():
        given, made = folders(folder, name)
        for k, array in enumerate(arrays):
            (given / f"{k}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        if any(isinstance(extent, str) for p in ports(program, name) for extent in p[3]):
            write_runs(program, given, [(name, arrays, {})])
        command += [name, given, made]
    said = executed(program, executions, command, folder, inputs, timeout, env)
    for name, arrays in inputs.items():
        if not said[name].startswith("ok "):
            results[name] = Found(said[name])
            continue
        made = pathlib.Path(folder) / f"{name}.out"
        results[name] = read_outputs(program, made, name, arrays, {}, "0." if (made / "0.0.bin").exists() else "")
    return results


def in_run(program, name, arrays, kept):
    """an entry's ports with the shapes of a run of these inputs, and the extents that it is given; kept: those that are state"""
    described = ports(program, name)
    extents = dnncc.extents_of([(*p[:3], tuple(None if e in kept else e for e in p[3])) for p in described], arrays)
    return [(*p[:3], dnncc.shape_in(p, {**kept, **extents})) for p in described], extents


def write_runs(program, given, runs):
    """the files of several runs: [(entry, arrays, the extents that are state)]"""
    lines = []
    for k, (entry, arrays, kept) in enumerate(runs):
        shaped, extents = in_run(program, entry, arrays, kept)
        for i, array in enumerate(arrays):
            (given / f"{k}.{i}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        sizes = [int(np.prod(p[3], dtype=np.int64)) * np.dtype(dnncc.numpy_type(p[2])).itemsize for p in shaped]
        lines.append(" ".join(map(str, [entry, len(extents), *extents.values(), *sizes])))
    (given / "runs").write_text("\n".join(lines) + "\n")


def read_outputs(program, made, entry, arrays, kept, before):
    results = [p for p in in_run(program, entry, arrays, kept)[0] if not p[0]]
    return [np.frombuffer((made / f"{before}{k}.bin").read_bytes(), dtype=dnncc.numpy_type(p[2])).reshape(p[3]) for k, p in enumerate(results)]


def run_steps(program, runs, folder, executions=TWO, timeout=600):
    """several runs one after the other, of state that lasts: [(entry, arrays, {name: extent that is state})]; returns the outputs of each, or Found"""
    name = runs[0][0]
    given, made = folders(folder, name)
    write_runs(program, given, runs)
    said = executed(program, executions, [name, given, made], folder, [name], timeout, None)[name]
    if not said.startswith("ok "):
        return Found(said)
    return [read_outputs(program, made, entry, arrays, kept, f"{k}.") for k, (entry, arrays, kept) in enumerate(runs)]


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
