# SPDX-License-Identifier: MIT
"""Peers that write C, as dnncc does. Their C is compiled by the same compiler with the same flags, and runs in the same runner: a file
beside it gives it the interface of a generated model (docs/interface.md).

emx-onnx-cgen is a wheel of PyPI, pinned in peers.py. onnx2c (github.com/kraiskil/onnx2c) is in no registry: who has built it from source
puts it on the PATH, or names it in the environment's ONNX2C; without it its column stays empty."""
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
from math import prod

from peers import WHEELS
from subjects import Failed, call

TYPES = {"float": (1, 4), "uint8_t": (2, 1), "int8_t": (3, 1), "int16_t": (5, 2), "int32_t": (6, 4), "int64_t": (7, 8), "bool": (9, 1),
         "_Bool": (9, 1), "double": (11, 8)}           # ONNX's number of a type of C, and bytes
PORT = re.compile(r"\s*(const )?(\w+) \w+((?:\[(?:restrict )?\d+\])+)\s*")

DESCRIPTOR = pathlib.Path(__file__).resolve().parents[1] / "descriptor.h"
WRAPPER = """\
/* The interface of a generated model in front of a peer's C. */
#include "peer.c"
#include "{descriptor}"
static const struct dnncc_tensor_1 inputs[] = {{ {inputs} }}, outputs[] = {{ {outputs} }};
static int run(void *const *regions, const void *const *in, void *const *out, int64_t *extents)
{{
        (void)regions, (void)extents;
        {entry}({arguments});
        return 0;
}}
__attribute__((visibility("default"))) const struct dnncc_model_1 *model_describe(void)
{{
        static const struct dnncc_model_1 model = {{
                1, sizeof model, "peer", 0, sizeof inputs / sizeof *inputs, sizeof outputs / sizeof *outputs, 0, 0, inputs, outputs, run
        }};
        return {load} ? &model : 0;
}}
"""


class Emx:
    """As it comes."""
    entry = "peer"

    @staticmethod
    def version():
        return importlib.metadata.version("emx-onnx-cgen")

    @staticmethod
    def write(model, folder):
        if Emx.version() != WHEELS["emx-onnx-cgen"]:
            raise Failed(f"emx-onnx-cgen {Emx.version()} is installed, want {WHEELS['emx-onnx-cgen']}: make bench-setup")
        call([sys.executable, "-m", "emx_onnx_cgen", "compile", model.name, folder / "peer.c", "--model-name=peer"], "emx-onnx-cgen",
             cwd=model.parent, timeout=900)     # beside the model lie its weights
        weights = folder / "peer.bin"           # of more than 100 KB
        return f'peer_load("{weights}")' if weights.exists() else "1"


class Onnx2c:
    """As it comes; constants are in the file."""
    entry = "entry"

    @staticmethod
    def version():
        program = os.environ.get("ONNX2C") or shutil.which("onnx2c")
        return program and str(pathlib.Path(program).resolve())

    @staticmethod
    def write(model, folder):
        if not Onnx2c.version():
            raise Failed("no onnx2c: it is built from source; ONNX2C names it")
        with (folder / "peer.c").open("w") as file:
            done = subprocess.run([Onnx2c.version(), model], stdout=file, stderr=subprocess.PIPE, text=True, errors="replace", timeout=900)
        if done.returncode:
            raise Failed(f"onnx2c: {(done.stderr.strip().splitlines() or ['exit %d' % done.returncode])[-1][:300]}")
        return "1"


SOURCES = {"emx": Emx, "onnx2c": Onnx2c}


def ports(text, entry):
    """[(is an output, type, shape)] of the last function of that name"""
    heads = re.findall(rf"\bvoid {entry}\(([^()]*)\)\s*\{{", text)
    if not heads:
        raise Failed(f"no function {entry} in the peer's C")
    found = []
    for parameter in heads[-1].split(","):
        match = PORT.fullmatch(parameter)
        if not match or match[2] not in TYPES:
            raise Failed(f"a parameter of {entry} is '{parameter.strip()}'")
        found.append((not match[1], match[2], [int(d) for d in re.findall(r"\d+", match[3])]))
    return found


def tensor(kind, shape):
    number, size = TYPES[kind]
    extents = ", ".join(map(str, shape))
    return f'{{ "", {number}, {len(shape)}, (const int64_t[]){{ {extents} }}, 0, {size * prod(shape)} }}'


def wrap(text, entry, load):
    """the C that includes the peer's"""
    all_ports, arguments, count = ports(text, entry), [], [0, 0]
    for is_output, _, _ in all_ports:
        arguments.append(f"{('in', 'out')[is_output]}[{count[is_output]}]")
        count[is_output] += 1
    inputs, outputs = (", ".join(tensor(kind, shape) for output, kind, shape in all_ports if output == which) for which in (False, True))
    return WRAPPER.format(descriptor=DESCRIPTOR, inputs=inputs, outputs=outputs, entry=entry, arguments=", ".join(arguments), load=load)


def build(peer, model, folder, compiler):
    """FOLDER/model.so; seconds it took"""
    source = SOURCES[peer]
    load = source.write(model, folder)
    wrapper = folder / "model.c"
    wrapper.write_text(wrap((folder / "peer.c").read_text(errors="replace"), source.entry, load))
    # hidden: constants are reached as in a program that is linked as one, not by a table
    return compiler.link([wrapper], folder / "model.so", "-fvisibility=hidden", "-lm")
