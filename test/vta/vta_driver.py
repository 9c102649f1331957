# SPDX-License-Identifier: MIT
"""Generated C that drives a machine: compiled with test/vta/driver_host.c, whose device is the simulator, and run."""
import os
import pathlib
import subprocess

import numpy as np

from vta_tool import SANITIZED, dnncc

HOST = pathlib.Path(__file__).with_name("driver_host.c")
WARN = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wcast-align", "-Werror"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# of the plain build: what is looked at by sanitizers is the generated code
BUILD = dnncc.ROOT / "build" if SANITIZED else pathlib.Path(dnncc.DNNCC).resolve().parent
LIBRARIES = {"vta": [BUILD / "libdnncc_vta.a"], "generic": [BUILD / "libdnncc_vta.a"], "unified": [BUILD / "libdnncc_unified.a"]}
HOSTS = {"vta": [], "generic": ["-DPLAIN"], "unified": ["-DUNIFIED"]}


def compiled(model, folder, *options, cc="gcc", flags=("-O1",), name="model", one=False, target="vta"):
    """the program; options: of dnncc; one: the model has one input, one output; target: one that has no machine is a host without one"""
    done = dnncc.run([dnncc.DNNCC, model, "-q", f"--target={target}", f"--name={name}", "-o", folder / f"{name}.c", *options])
    assert done.returncode == 0, done.stderr
    program = folder / f"{name}-{cc}"
    done = dnncc.run([cc, *WARN, *flags, "-I", folder, "-c", folder / f"{name}.c", "-o", folder / f"{name}.o"])
    assert done.returncode == 0, done.stderr
    define = [f'-DHEADER="{name}.h"', f"-DMODEL={name}", f"-DNAME_(x)={name.upper()}_##x", *(["-DONE_EACH"] if one else []), *HOSTS[target]]
    done = dnncc.run([cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags, *define, "-I", folder, "-I", dnncc.ROOT, HOST,
                      folder / f"{name}.o", *LIBRARIES[target], "-o", program])
    assert done.returncode == 0, done.stderr
    return program


def run(program, *arguments, **environment):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=3600,
                          env={**os.environ, **{k: str(v) for k, v in environment.items()}}, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def interpreted(model, arrays, folder, *options, target="vta"):
    """outputs of the interpreter, streams and all"""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for k, array in enumerate(arrays):
        np.save(data / f"input_{k}.npy", array)
    done = dnncc.run([dnncc.DNNCC, model, "-q", f"--target={target}", f"--run={data}", *options])
    assert done.returncode == 0, done.stderr
    return [np.load(data / f"output_{k}.npy") for k in range(len(list(data.glob("output_*.npy"))))]


def outputs(program, arrays, count, folder, *arguments, **environment):
    """bytes of what the program computes of these"""
    given, got = [folder / f"in{k}" for k in range(len(arrays))], [folder / f"out{k}" for k in range(count)]
    for path, array in zip(given, arrays):
        path.write_bytes(np.ascontiguousarray(array).tobytes())
    run(program, *arguments, "bits", *given, *got, **environment)
    return [path.read_bytes() for path in got]
