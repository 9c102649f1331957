# SPDX-License-Identifier: MIT
"""What compiling costs: the passes, all of dnncc with the weights, its memory; and what a C compiler makes of what it wrote.

    make bench-compile                                      # dnncc on all models and large graphs: docs/compile-time.md
    compile_bench.py yolo vgg16 --cc --target=x86-64-v4     # these, and gcc -O2 and clang -O2 on each form of weights

Seconds are of processor time, by dnncc's own --time-passes, the verifier behind every pass included: the least of some runs."""
import argparse
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import subjects
import zoo

ROOT = pathlib.Path(__file__).resolve().parents[2]
DNNCC = os.environ.get("DNNCC", ROOT / "build" / "dnncc")
sys.path.insert(0, str(ROOT / "test" / "support"))
import large_graphs  # noqa: E402
import measured  # noqa: E402

NODES = 100_000
TITLE = "# Compile time"
HEAD = """Written by `make bench-compile` (test/bench/compile_bench.py) from measurements, never by hand.

dnncc on one core of {machine}, the verifier behind every pass included. Seconds are of processor time, the least of {runs} runs.
MB/s: the model's weights by the time of all of dnncc, from the first byte read to the last byte written, once as text of the C file
(one run), once as a file beside it; a model of few weights has none, for its graph is what takes time. Memory: the most that dnncc held
at once, as a multiple of the weights. Of the C compilers, the last table has the time and memory for one file with all weights in it, the
code that results (.text), and the constants (.rodata), which are packed for the vectors of the target.
When it began, the machine's load was {load:.1f}: page faults and caches suffer from others.
"""
FEW = 40        # MB of weights
VECTORS = ["--target=x86-64-v4"]
COMPILED = "resnet50", "resnet18", "mobilenet_v2", "densenet121", "inception_v3", "vgg16", "unet", "yolo"     # by C compilers, too


def run(command):
    """(standard error, seconds of processor time, peak resident MB) of a command"""
    code, text, seconds, megabytes = measured.run(command)
    if code:
        raise subjects.Failed(f"{command[0]}: {text}")
    return text, seconds, megabytes


def milliseconds(said):
    """what --time-passes says, by name; passes that ran twice count twice"""
    times = {}
    for name, ms in re.findall(r"^time: (\w[\w ]*?) +([0-9.]+) ms", said, re.M):
        times[name] = times.get(name, 0) + float(ms)
    return times


def compile_once(model, folder, weights, options):
    c = folder / "model.c"
    said, _, memory = run([DNNCC, model, "-o", c, f"--weights={weights}", "--time-passes", *options])
    times = milliseconds(said)
    megabytes = float(re.search(r"([0-9.]+) MB of weights", said).group(1))
    parts = {k: v for k, v in times.items() if k not in ("import", "print", "whole", "all passes")}
    return {"memory": memory, "weights": megabytes, "passes": times["all passes"], "whole": times["whole"],
            "slowest": max(parts, key=parts.get), "slowest_ms": max(parts.values())}


def speed(row):
    return f"{row['weights'] / row['whole'] * 1e3:.0f}" if row["weights"] >= FEW else "-"


def rows(models, folder, runs, options):
    """a table: models by (name, path)"""
    yield "| model | weights, MB | all passes, s | the slowest, s | all of dnncc, s | MB/s, weights in C | MB/s, in a file | memory |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |"
    for name, path in models:
        try:
            inline = compile_once(path, folder, "inline", options)
            file = min((compile_once(path, folder, "file", options) for _ in range(runs)), key=lambda r: r["whole"])
        except subjects.Failed as failed:
            print(failed, file=sys.stderr)
            yield f"| {name} |" + " - |" * 7
            continue
        memory = f"{file['memory'] / file['weights']:.1f}x" if file["weights"] >= FEW else "-"
        yield (f"| {name} | {file['weights']:.1f} | {file['passes'] / 1e3:.2f} | {file['slowest']} {file['slowest_ms'] / 1e3:.2f} | "
               f"{file['whole'] / 1e3:.2f} | {speed(inline)} | {speed(file)} | {memory} |")


def sizes(path):
    """(code, constants) in bytes of an object file"""
    found = {"text": 0, "rodata": 0}
    for line in subprocess.run(["size", "-A", path], check=True, capture_output=True, text=True).stdout.splitlines():
        part = line.split(".")[1].split()[0] if line.startswith(".") else ""
        if part in found:
            found[part] += int(line.split()[1])
    return found["text"], found["rodata"]


def cc_rows(models, folder, options, forms=("inline", "incbin", "file")):
    yield "| model | weights | C, MB | compiler | s | memory, MB | code, KB | constants, of the model's |"
    yield "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"
    for name, path in models:
        for weights in forms:
            c, out = folder / "model.c", folder / "model.o"
            row = compile_once(path, folder, weights, options)
            for compiler in "gcc", "clang":
                _, seconds, memory = run([compiler, "-std=c99", "-O2", f"-I{folder}", "-c", c, "-o", out])
                code, constants = sizes(out)
                share = f"{constants / 1e6 / row['weights']:.2f}" if weights == "inline" and row["weights"] else "-"
                yield (f"| {name} | {weights} | {c.stat().st_size / 1e6:.1f} | {compiler} -O2 | {seconds:.1f} | {memory:.0f} | "
                       f"{code / 1e3:.0f} | {share} |")


def everything(folder):
    """the zoo, the real models where they are, large graphs"""
    for name in zoo.MODELS:
        yield name, zoo.build(name)
    for name, make in subjects.real_models().items():
        yield name, make(folder).path
    for graph in large_graphs.ALL:
        path = folder / f"{graph.__name__}.dnn"
        path.write_text(graph(NODES))
        yield f"{graph.__name__} of {NODES:,} nodes", path


def machine():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return names[0] if names else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="of the zoo, or paths; without: the zoo, the real models, graphs of 100,000 nodes")
    parser.add_argument("--cc", action="store_true", help="gcc -O2 and clang -O2 on what dnncc wrote, instead")
    parser.add_argument("--runs", type=int, default=2, help="of each, the fastest counts (default: 2)")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE", help="write the tables there, too")
    options, rest = parser.parse_known_args()
    lines = []

    def say(line):
        lines.append(line)
        print(line, flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [(pathlib.Path(m).stem, m if os.path.exists(m) else zoo.build(m)) for m in options.models] or list(everything(folder))
        if options.cc:
            tables = [(rest, cc_rows(models, folder, rest))]
        else:
            targets = [rest] if rest else [[], VECTORS]
            tables = [(t, rows(models, folder, options.runs, t)) for t in targets]
            if not options.models and not rest:
                chosen = [(m, zoo.build(m)) for m in COMPILED]
                tables += [(VECTORS + ["&& cc -std=c99 -O2 -c model.c"], cc_rows(chosen, folder, VECTORS, ["inline"]))]
        say(TITLE + "\n\n" + HEAD.format(machine=machine(), runs=options.runs, load=os.getloadavg()[0]))
        for chosen, table in tables:
            say("\n" + " ".join(["## `dnncc MODEL -o model.c", *chosen]) + "`\n")
            for line in table:
                say(line)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")


main()
