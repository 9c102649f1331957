# SPDX-License-Identifier: MIT
"""Digests of all C that dnncc makes of the zoo and of ../shared/models: what a refactoring must not change.

    make zoo-digest DIGEST_FLAGS=--write=before        # of the code as it was
    make zoo-digest DIGEST_FLAGS=--compare=before      # of the code as it is: exit code 1, and the lines that differ

A line says `SHA-256  model target options`: of the C file, its header and its weights, or the exit code of a compilation that fails.
The same dnncc and models give the same lines, in the same order. Constants of large models go to a file, which is faster and no less
exact; those of small ones stand in the C file."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import subjects  # noqa: E402
import zoo  # noqa: E402

QUICK = 16 << 20                        # bytes of a model that is small
SCRATCH = pathlib.Path("/dev/shm")      # where there is one: gigabytes that nobody reads again need no disk
ALONE = ("-O0", "--exact", "--goal=memory", "--max-ram=256K", "--profile")     # each once, for small models, the first and the last target


GRID = "cuda"                           # its targets write another language, and a device runs threads of its own
APART = (GRID, "vta", "unified", "sections")        # targets that stand in no list


@dataclass(frozen=True)
class Model:
    name: str
    path: pathlib.Path
    size: int
    options: tuple = ()                 # that its inputs need
    quantized: bool = False


@dataclass(frozen=True, order=True)
class Case:
    model: str
    target: str
    options: tuple

    def __str__(self):
        return " ".join((self.model, self.target, *self.options))


# ---- models ----

def zoo_model(name):
    path, weights = zoo.build(name), zoo.MODELS[name].weights
    return Model(name, path, path.stat().st_size + ((zoo.FOLDER / weights).stat().st_size if weights else 0))


def real_model(folder):
    path = folder / "model.onnx"
    lines = [line.split("\t") for line in (folder / "shapes.txt").read_text().splitlines()]
    data = path.read_bytes()
    return Model(folder.name, path, len(data), tuple(f"--input={name}={shape}" for name, _, shape in lines if shape != "scalar"),
                 b"DequantizeLinear" in data or b"QLinear" in data)


def all_models():
    """name: what makes the model"""
    real = {p.name: lambda p=p: real_model(p) for p in sorted(subjects.REAL.glob("*")) if (p / "shapes.txt").exists()}
    return {**{name: lambda name=name: zoo_model(name) for name in zoo.MODELS}, **real}


def chosen_models(o):
    known = all_models()
    for name in o.models.split(",") if o.models else known:
        if name.endswith(".onnx") or name.endswith(".dnn"):
            yield Model(pathlib.Path(name).stem, pathlib.Path(name), os.path.getsize(name))
        elif name not in known:
            sys.exit(f"no model is called '{name}'; there are: {', '.join(known)}")
        else:
            model = known[name]()
            if not o.quick or model.size <= QUICK:
                yield model


# ---- what is compiled ----

def targets(dnncc):
    text = subprocess.run([dnncc, "--target=help"], check=True, capture_output=True, text=True).stdout
    return [t for t in re.findall(r"^  (\S+)", text, re.M) if t != "native"]


def cases(model, names):
    """tables without vectors compute in f32 whatever is allowed"""
    small = model.size <= QUICK
    for target in names:
        for precision in [()] if model.quantized or target.startswith("generic") else [(), ("--precision=bf16",)]:
            for threads in [()] if target.startswith(GRID) else [(), ("--threads=2",)]:
                yield Case(model.name, target, threads + precision)
    listed = [t for t in names if not t.startswith(APART)]
    if small and listed:
        for option in ALONE:
            for target in dict.fromkeys((listed[0], listed[-1])):
                yield Case(model.name, target, (option,))
        if len(listed) > 1:
            yield Case(model.name, ",".join(listed[-2:]), ())


def add_file(sha, path):
    """its name, length and bytes"""
    sha.update(f"{path.name} {path.stat().st_size}\n".encode())
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            sha.update(block)


def digest(model, case, o):
    with tempfile.TemporaryDirectory(prefix="dnncc-digest-", dir=o.scratch) as name:
        folder = pathlib.Path(name)
        suffix = ".cu" if case.target.startswith(GRID) else ".c"
        command = [o.dnncc, model.path, "-q", "-o", folder / f"model{suffix}", f"--target={case.target}", *model.options, *case.options,
                   *([] if model.size <= QUICK else ["--weights=file"])]
        done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            return f"exit {done.returncode}".ljust(64)
        sha = hashlib.sha256()
        for path in sorted(folder.iterdir()):
            add_file(sha, path)
            if o.keep and path.suffix != ".weights":
                kept = o.keep / re.sub(r"[^\w.,=-]+", "_", str(case))
                kept.mkdir(parents=True, exist_ok=True)
                (kept / path.name).write_bytes(path.read_bytes())
        return sha.hexdigest()


# ---- lines ----

def read(path):
    """{case as text: digest}"""
    return {line[66:]: line[:64] for line in path.read_text().splitlines()}


def compare(old, new, models, names):
    """what differs, of these models and targets, a line each"""
    old = {case: value for case, value in old.items() if case.split()[0] in models and set(case.split()[1].split(",")) <= names}
    for case in sorted(old.keys() | new.keys()):
        if old.get(case) != new.get(case):
            yield f"{'is new' if case not in old else 'is gone' if case not in new else 'differs'}: {case}"


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", help="names, or .onnx and .dnn files (default: the zoo and ../shared/models)")
    p.add_argument("--quick", action="store_true", help=f"small models only: up to {QUICK >> 20} MB")
    p.add_argument("--targets", help="of dnncc's table (default: all but native)")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--write", type=pathlib.Path, metavar="FILE", help="write the lines there instead of printing them")
    p.add_argument("--compare", type=pathlib.Path, metavar="FILE", help="say which lines differ from FILE's; exit code 1 if any do")
    p.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the C files and headers there, to be compared by diff -r")
    p.add_argument("--dnncc", default=os.environ.get("DNNCC", subjects.ROOT / "build" / "dnncc"))
    o = p.parse_args()
    o.dnncc = str(pathlib.Path(o.dnncc).resolve())
    o.scratch = SCRATCH if os.access(SCRATCH, os.W_OK) else None
    if o.compare:
        o.old = read(o.compare)         # before it may be written
    return o


def main():
    o = options()
    names = o.targets.split(",") if o.targets else targets(o.dnncc)
    models = {m.name: m for m in chosen_models(o)}
    todo = [(m, c) for m in sorted(models.values(), key=lambda m: (-m.size, m.name)) for c in cases(m, names)]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        new = dict(zip((str(c) for _, c in todo), pool.map(lambda each: digest(*each, o), todo)))
    lines = [f"{new[case]}  {case}" for case in sorted(new)]
    if o.write:
        o.write.write_text("".join(f"{line}\n" for line in lines))
    elif not o.compare:
        print("\n".join(lines))
    if o.compare:
        changes = list(compare(o.old, new, models, set(names)))
        refused = sum(line.startswith("exit") for line in lines)
        print("\n".join([*changes, f"{len(lines)} compilations ({refused} refused), {len(changes)} differences"]))
        sys.exit(1 if changes else 0)


if __name__ == "__main__":
    main()
