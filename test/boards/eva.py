# SPDX-License-Identifier: MIT
"""Frama-C's Eva on generated C: no input of the given intervals makes it read or write outside of an array or what is not initialized, overflow, shift or
divide by what C does not define. An alarm is what Eva could not show.

    eva.py mnist_cnn resnet8_int8                      # models as boards.py names them; a line for each, its alarms below
    eva.py net.onnx --target=cortex-m4                 # code for a core, as -DMODEL_PORTABLE has it
    eva.py net.onnx --options=--requantize=integer     # options of dnncc

Comments that tell Eva how often to unroll loops are written into a copy of model.c: those that zero arrays of sums, and loops over windows that end at borders."""
import argparse
import os
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402

# Floats may overflow to infinity and be no numbers, which C99's annex F defines; octagons relate an index of a window to its position.
OPTIONS = ["-machdep", "x86_64", "-eva", "-eva-precision", "0", "-eva-domains", "octagon", "-eva-octagon-through-calls", "-warn-special-float", "none"]
WHOLE = 300         # iterations: more than any loop has that is unrolled
LARGEST = "1e6f"    # the interval of float inputs: from -LARGEST to LARGEST
C_TYPES = {"float32": "float", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t"}


def statement(lines, at):
    """the statement that begins in lines[at], in one line"""
    text = lines[at]
    while text.count("(") > text.count(")") or text.count("[") > text.count("]"):
        at += 1
        text += " " + lines[at].strip()
    return text


def annotated(code):
    """code with `loop unroll` where Eva needs it"""
    lines, marked, loops, arrays = code.split("\n"), set(), [], {}
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent == 0:
            loops, arrays = [], {}
        while loops and indent <= loops[-1][1] and line.strip().startswith("}"):
            loops.pop()
        if line.lstrip().startswith("for (ptrdiff_t"):
            loops.append((i, indent))
            bounds = re.match(r"\s*for \(ptrdiff_t \w+ = (.*?); \w+ [<>]=? (.*?); ", statement(lines, i))
            if bounds and re.search(r"[a-z]", bounds[1] + bounds[2]):
                marked.add(i)
        elif array := re.match(r"\s*\w+ (\w+)\[\d+\];", line):
            arrays[array[1]] = len(loops)
        elif (store := re.match(r"\s*(\w+)\[[^=]*\] = (.*)", line)) and store[1] in arrays and store[1] not in store[2]:
            marked |= {at for at, _ in loops[arrays[store[1]]:]}
    return "\n".join(f"/*@ loop unroll {WHOLE}; */\n{line}" if i in marked else line for i, line in enumerate(lines))


def driver(report):
    """a main that runs the model on any input"""
    head, body, arguments = ['#include "model.h"', '#include "__fc_builtin.h"', "MODEL_WORKSPACE_DEFINE(workspace);"], [], ["workspace" if report["workspace"] else "0"]
    for space in ("input", "output"):
        for k, (kind, shape) in enumerate(boards.ports(report, space)):
            size = 1
            for extent in shape:
                size *= extent
            name = f"{space}_{k}"
            head.append(f"static {C_TYPES[kind.name]} {name}[{size}];")
            arguments.append(name)
            if space == "input" and kind.kind == "f":
                body.append(f"for (int i = 0; i < {size}; i++) {name}[i] = Frama_C_float_interval(-{LARGEST}, {LARGEST});")
            elif space == "input":
                body.append(f"Frama_C_make_unknown((char *){name}, sizeof {name});")
    return "\n".join([*head, "int main(void)", "{", *body, f"return model_run({', '.join(arguments)});", "}", ""])


def alarms(model, target, options=(), timeout=600, change=lambda code: code):
    """([text of each alarm, with what its line says], seconds of processor time); change: what becomes of the code before"""
    with tempfile.TemporaryDirectory(prefix="dnncc-eva-") as folder:
        folder = pathlib.Path(folder).resolve()
        report = boards.generate(boards.model_path(model), target, options, folder)
        code = annotated(change((folder / "model.c").read_text()))
        (folder / "annotated.c").write_text(code)
        (folder / "check.c").write_text(driver(report))
        portable = ["-cpp-extra-args=-DMODEL_PORTABLE"] if "MODEL_PORTABLE" in code else []
        before = os.times()
        # Frama-C looks for files where PWD says.
        done = dnncc.run(["frama-c", *OPTIONS, *portable, "annotated.c", "check.c"], timeout=timeout, cwd=folder, env={**os.environ, "PWD": str(folder)})
        after = os.times()
        if done.returncode or "alarms generated" not in done.stdout and "alarm generated" not in done.stdout:
            raise boards.Failed(f"frama-c: {(done.stdout + done.stderr).strip()[-500:]}")
        count = int(re.search(r"(\d+) alarms? generated", done.stdout)[1])
        lines = code.split("\n")
        found = [f"{int(at)}: {' '.join(text.split())} in: {lines[int(at) - 1].strip()}"
                 for at, text in re.findall(r"^\[eva:alarm\] annotated\.c:(\d+): Warning:((?:.*\n)(?: .*\n)*)", done.stdout, re.M)]
        assert len(found) >= count, done.stdout[-2000:]
        return found, after.children_user - before.children_user


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--target", default="generic")
    parser.add_argument("--options", default="", help="of dnncc")
    asked = parser.parse_args()
    worst = 0
    for model in asked.models:
        began = time.time()
        found, seconds = alarms(model, asked.target, asked.options.split())
        print(f"{model}: {len(found)} alarms, {seconds:.1f} s of processor time, {time.time() - began:.1f} s")
        print("".join(f"  {text}\n" for text in found), end="", flush=True)
        worst = max(worst, len(found))
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
