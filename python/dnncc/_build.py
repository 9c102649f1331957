# SPDX-License-Identifier: MIT
"""compile(): the compiler writes C, the C compiler a library, and the cache keeps it."""
from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from typing import Any

from . import _jit, _model, _tool
from ._cache import Cache
from ._error import ArgumentError, Error
from ._files import folder_for
from ._source import Source, digest_file

FORMAT = 2                              # of the cache, and of how C is compiled


class Origin:
    """What a model was compiled from, and with which options: all that makes it again."""

    def __init__(self, source, options):
        self.source = source
        self.given_options = options
        self.options = {name: value for name, value in options.items() if name != "cc"}
        self.arguments = _tool.arguments(self.options)

    def given(self, name):
        return any(a.startswith(f"--{name}=") for a in self.arguments)

    def architecture(self) -> str | None:
        """sm_90 of --target=cuda-sm_90; None: it is for a processor"""
        targets = [a.partition("=")[2] for a in self.arguments if a.startswith("--target=")]
        name = _tool.target(targets[-1]) if targets else ""
        return name[len("cuda-"):] if name.startswith("cuda-") and "," not in name else None

    def run(self, *more):
        """the compiler on the model; returns its standard output"""
        output, said = _tool.run([*self.arguments, *more, self.source.argument], self.source.data)
        for line in said.splitlines():
            if ": warning: " in line:
                warnings.warn(_tool.in_python(line), stacklevel=4)
            else:
                print(line, file=sys.stderr)
        return output


# ---- the C compiler ----

def find_compiler(command):
    """as words; None: there is none"""
    command = command or os.environ.get("CC")
    if command:
        words = shlex.split(os.fspath(command))
        if not words or not shutil.which(words[0]):
            raise ArgumentError(f"cc: there is no C compiler '{command}'")
        return words if any(word.startswith("-O") for word in words) else [*words, "-O2"]
    return next(([name, "-O2"] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)


def find_nvcc(command: Any) -> list[str]:
    command = command or os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    words = shlex.split(os.fspath(command))
    if not words or not shutil.which(words[0]):
        raise Error(2, f"a model for a GPU wants nvcc, and '{command}' is not there: $NVCC or cc= may name it")
    return words if len(words) > 1 else [*words, "-O3"]


def compile_device_library(words: list[str], folder: str, sm: str) -> None:
    """folder/model.cu to folder/model.so, with CUDA's runtime beside it, as torch and others have it"""
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(words[0]) or words[0])))
    paths = [part for lib in ("lib64", "lib") for part in ("-Xlinker", "-rpath", "-Xlinker", os.path.join(home, lib))]
    command = [*words, f"-arch={sm}", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", *paths, "-I", folder,
               "-o", os.path.join(folder, "model.so"), os.path.join(folder, "model.cu")]
    done = subprocess.run(command, env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Error(2, f"{shlex.join(words)} failed to compile the generated code:\n{done.stdout.decode(errors='replace').strip()}")


def compiler_version(words):
    done = subprocess.run([words[0], "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode(errors="replace")


def takes_incbin(words: list[str]) -> bool:
    """whether it hands .incbin to an assembler of ELF, as gcc and clang do: by the macros that it has defined"""
    done = subprocess.run([*words, "-E", "-dM", "-x", "c", os.devnull], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.returncode == 0 and {b"__ELF__", b"__GNUC__"} <= set(done.stdout.split()) and b"__TINYC__" not in done.stdout


# profile="trace.json": the trace begins when the library is loaded, and is whole when the model goes (_model.py), or the process ends
TRACE = """#include "dnncc_runtime.h"
#include "model.h"
static struct dnncc_trace *trace;
void dnncc_profile(int kernel);
void dnncc_profile(int kernel) { dnncc_trace_kernel(trace, kernel); }
__attribute__((constructor)) static void begin(void)
{
        trace = dnncc_trace_open(%(prefix)s_TRACE, %(name)s_kernels, %(prefix)s_KERNEL_COUNT);
}
void %(name)s_trace_end(void);
__attribute__((destructor)) void %(name)s_trace_end(void)
{
        dnncc_trace_close(trace);
        trace = NULL;
}
"""


def trace_sources(folder: str, name: str) -> list[str]:
    """what is compiled beside model.c; threads of the pool, which is the process's, have no rows of their own"""
    runtime = _tool.runtime("trace.c")
    if not runtime:
        raise Error(2, "runtime/trace.c, which profile=FILE needs, is not there")
    path = os.path.join(folder, "trace.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TRACE % {"name": name, "prefix": name.upper()})
    return ["-I", os.path.dirname(runtime), path, runtime]


def compile_library(words, folder, text, name):
    """folder/model.c to folder/model.so. It brings a dnncc_parallel of its own, for programs that load it without
    Python; here all models share that of the process (_model.py)."""
    command = [*words, "-fPIC", "-shared", "-I", folder, "-o", os.path.join(folder, "model.so"), os.path.join(folder, "model.c")]
    if "dnncc_parallel" in text:
        runtime = _tool.runtime("threads.c")
        if not runtime:
            raise Error(2, "runtime/threads.c, which code with threads needs, is not there")
        # threads of a library that was unloaded would run on in nothing
        command += ["-I", os.path.dirname(runtime), "-pthread", runtime, *(() if sys.platform in ("darwin", "win32") else ("-Wl,-z,nodelete",))]
    if "dnncc_image_decode" in text:
        image = _tool.runtime("libdnncc_image.so")
        if not image:
            raise Error(4, "libdnncc_image.so, which decodes images for the generated code, is not there: it is built where libjpeg, libpng, libtiff, libwebp and openjpeg are")
        command += [image, "-Wl,-rpath," + os.path.dirname(image)]
    if f"{name}_kernels[]" in text:
        command += trace_sources(folder, name)
    # its temporary files lie there, too: nothing is left of a compilation that a signal ends
    done = subprocess.run([*command, "-lm"], env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Error(2, f"{shlex.join(words)} failed to compile the generated code:\n{done.stdout.decode(errors='replace').strip()}")


# ---- keys ----

def processor():
    """what --target=native looks at"""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            text = file.read(16384).partition(b"\n\n")[0].decode(errors="replace")
    except OSError:
        return list(platform.uname())
    same = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU")      # others change: frequencies
    return [line for line in text.splitlines() if line.startswith(same)]


def first_key(origin, words):
    """of all that is known before the model has been read"""
    native = processor() if "--target=native" in origin.arguments else []
    facts = [FORMAT, _tool.digest(), words, compiler_version(words), native, origin.arguments, origin.source.digest]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def final_key(key, origin, names):
    """with the further files that it was read from: data beside the model, schedules, ranges"""
    home = os.path.dirname(os.path.abspath(origin.source.path or "."))
    digests = [digest_file(os.path.join(home, name)) for name in names]
    return hashlib.sha256(json.dumps([key, names, digests]).encode()).hexdigest() if names else key


def read_depfile(path):
    """the files behind the colon"""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read().partition(":")[2]
    names, now, rest = [], "", iter(text)
    for c in rest:
        if c in "\\$":                  # \ before a space, # or \, and $ before a $
            now += next(rest)
        elif c in " \n":
            names, now = names + [now] if now else names, ""
        else:
            now += c
    return names


def further_files(origin, path):
    """those of a depfile but the model; relative to the model's folder where they lie in it"""
    model = origin.source.path
    home = os.path.dirname(os.path.abspath(model or "."))
    names = [os.path.abspath(name) for name in read_depfile(path) if name != origin.source.argument]
    return [os.path.relpath(n, home) if n.startswith(home + os.sep) else n for n in names]


# ---- compile ----

def entries_of(header, name):
    """those that a model's format has by itself; [] where run has no name"""
    return re.findall(rf"^int {re.escape(name)}_(\w+)_run\(", header, re.MULTILINE)


def build(origin, words, folder):
    """model.so and model.json in the folder; returns the further files"""
    more = [] if origin.given("name") else ["--name=model"]
    sm = origin.architecture()
    auto = not origin.given("weights") or "--weights=auto" in origin.arguments
    more += ["--weights=incbin"] if auto and not sm and takes_incbin(words) else []
    name = next(a[len("--name="):] for a in [*origin.arguments, *more] if a.startswith("--name="))
    depfile, code = os.path.join(folder, "model.d"), os.path.join(folder, "model.cu" if sm else "model.c")
    origin.run(*more, "-o", code, "-MF", depfile)
    if not os.path.exists(os.path.join(folder, "model.h")):
        raise ArgumentError(f"{' '.join(origin.arguments)}: these options write no code")
    further = further_files(origin, depfile)
    with open(os.path.join(folder, "model.h"), encoding="utf-8") as file:
        header = file.read()
    if sm:
        compile_device_library(words, folder, sm)
    else:
        with open(code, encoding="utf-8", errors="replace") as file:
            compile_library(words, folder, file.read(), name)
    facts = {"name": name, "command": header.partition("\n")[0].partition("compiled by ")[2],
             "source": origin.source.digest, "options": origin.arguments, "cc": shlex.join(words), "device": sm,
             "entries": [a[len("--entry="):].partition(":")[0] for a in origin.arguments if a.startswith("--entry=")] or entries_of(header, name)}
    with open(os.path.join(folder, "model.json"), "w", encoding="utf-8") as file:
        json.dump(facts, file)
    keeps_weights = "WEIGHTS_SIZE" in header
    for left in (os.path.basename(code), "model.h", "model.d", "trace.c", *(() if keeps_weights else ("model.weights",))):
        if os.path.exists(os.path.join(folder, left)):
            os.remove(os.path.join(folder, left))
    origin.source.check()
    return further


def build_cached(origin, words, again):
    """The folder of a compiled model. again: what is there does not count."""
    cache = Cache()
    first = first_key(origin, words)
    if not again:
        try:
            found = cache.find(final_key(first, origin, cache.more(first)))
        except Error:                   # a further file is not there: the compiler says so
            found = None
        if found:
            return found, True
    folder = cache.new()
    if not folder:
        return None, False
    try:
        further = build(origin, words, folder)
        key = final_key(first, origin, further)
        if again:
            cache.drop(key)
        if further:
            cache.keep_more(first, further)
        return cache.keep(folder, key), False
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_alone(origin, words):
    folder = folder_for(origin)         # which the model holds
    build(origin, words, folder)
    return _model.open_built(folder, origin)


def compile(model: Any, example: Any, cache: bool, options: dict[str, Any]) -> _model.Model:
    return compile_source(Source(model, example), cache, options)


def compile_source(source: Source, cache: bool, options: dict[str, Any]) -> _model.Model:
    origin = Origin(source, options)
    if options.get("cc") in _jit.WAYS:
        return _jit.compile_here(origin, cache)
    words = find_nvcc(options.get("cc")) if origin.architecture() else find_compiler(options.get("cc"))
    if words is None:
        from ._interpret import interpret
        return _jit.compile_where_it_can(origin, cache) or interpret(origin)
    if not cache:
        return build_alone(origin, words)
    folder, found = build_cached(origin, words, _tool.looks_inside(options))
    if not folder:
        return build_alone(origin, words)
    try:
        return _model.open_built(folder, origin)
    except Error:
        if not found:
            raise
    return _model.open_built(build_cached(origin, words, True)[0], origin)     # it was damaged


def info(model: Any, example: Any, options: dict[str, Any]) -> dict[str, Any]:
    return json.loads(Origin(Source(model, example), options).run("--info=json"))
