# SPDX-License-Identifier: MIT
"""Digests of all C that dnncc makes of the zoo and of ../shared/models: what a refactoring must not change.

    make zoo-digest DIGEST_FLAGS=--write=before        # of the code as it was
    make zoo-digest DIGEST_FLAGS=--compare=before      # of the code as it is: exit code 1, and the lines that differ

A line says `SHA-256  model target options`: of the C file, its header and its weights, or the exit code of a compilation that fails.
The same dnncc and models give the same lines, in the same order. Constants of large models go to a file, which is faster and no less
exact; those of small ones stand in the C file.

Targets are those of dnncc's table and MADE_UP, which nobody has built: the program `machines` beside dnncc
(test/targets/machines.c) compiles for these, and what is compared is Loop IR, because they have no text of instructions.
`sections` writes commands of quantized models as well, and of the float networks COMMANDED by dnncc's own calibration
(test/sections/networks.py), whose ranges are kept in build/zoo/sections.

    --quick     small twins of the zoo (test/bench/zoo/twins.py) in its place, the small ones of ../shared/models, every
                target, and for each target the two ends of its options: none, and two threads with bf16. Two cores take some
                fifteen minutes; a file of a full run may be compared with.

To keep what an old state writes while the code changes, copy its programs: `cp build/dnncc build/machines /tmp/before/`,
and `digest.py --dnncc=/tmp/before/dnncc --write=FILE`."""
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
from zoo import twins  # noqa: E402

SMALL = 16 << 20                        # bytes of a model that is small
SCRATCH = pathlib.Path("/dev/shm")      # where there is one: gigabytes that nobody reads again need no disk
ALONE = ("-O0", "--exact", "--goal=memory", "--max-ram=256K", "--profile")     # each once, for small models, the first and the last target


GRID = "cuda"                           # its targets write another language, and a device runs threads of its own
COMMANDS = "sections"                   # its machine takes commands, made of quantized models
APART = (GRID, "vta", "unified", COMMANDS, "lanes")         # targets that stand in no list
# of test/targets/machines.c: every number of lanes that its tests have, and each of the other properties several times
MADE_UP = ("lanes3-registers8-fma", "lanes4-registers8-masks-pairs", "lanes5-registers10-fma-masks-bytes", "lanes6-registers12",
           "lanes7-registers32-fma-signed", "lanes8-registers10-fma-masks", "lanes12-registers8-masks-bytes", "lanes4-registers16-narrow-signed",
           "lanes16-registers12-fma-pairs", "lanes32-registers32-masks-signed", "lanes64-registers32-fma-masks-bytes")
COMMANDED = ("squeezenet", "resnet50", "inception_v1")      # float networks whose commands are written


@dataclass(frozen=True)
class Model:
    name: str
    path: pathlib.Path
    size: int
    options: tuple = ()                 # that its inputs need
    quantized: bool = False
    commands: bool = False              # for commands alone, by options that calibrate it


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


def twin_model(name):
    path = twins.build(name)
    weights = path.with_name(f"{path.name}.weights")
    size = path.stat().st_size + (weights.stat().st_size if weights.exists() else 0)
    return Model(f"{name}-twin", path, size, quantized=name in twins.QUANTIZED)


def commanded_model(name):
    sys.path[:0] = [str(HERE.parent / "sections"), str(HERE.parent / "support")]
    import networks
    path, given = networks.quantized(name)
    return Model(f"{name}-calibrated", path, path.stat().st_size, given, quantized=True, commands=True)


def all_models():
    """name: what makes the model"""
    real = {p.name: lambda p=p: real_model(p) for p in sorted(subjects.REAL.glob("*")) if (p / "shapes.txt").exists()}
    small = {f"{name}-twin": lambda name=name: twin_model(name) for name in (*twins.MODELS, *twins.QUANTIZED) if "nbits" not in name}
    commanded = {f"{name}-calibrated": lambda name=name: commanded_model(name) for name in COMMANDED}
    return {**{name: lambda name=name: zoo_model(name) for name in zoo.MODELS}, **small, **commanded, **real}


def is_chosen(name, quick):
    return name not in zoo.MODELS if quick else not name.endswith("-twin")


def chosen_models(o):
    known = all_models()
    for name in o.models.split(",") if o.models else filter(lambda name: is_chosen(name, o.quick), known):
        if name.endswith(".onnx") or name.endswith(".dnn"):
            yield Model(pathlib.Path(name).stem, pathlib.Path(name), os.path.getsize(name))
        elif name not in known:
            sys.exit(f"no model is called '{name}'; there are: {', '.join(known)}")
        else:
            yield known[name]()


# ---- what is compiled ----

def targets(dnncc):
    text = subprocess.run([dnncc, "--target=help"], check=True, capture_output=True, text=True).stdout
    return [t for t in re.findall(r"^  (\S+)", text, re.M) if t != "native"]


def cases(model, names, quick):
    """tables without vectors compute in f32 whatever is allowed"""
    small = model.size <= SMALL
    if model.quantized and COMMANDS in names:
        yield Case(model.name, COMMANDS, ("--emit=commands",))
    for target in [] if model.commands else names:
        threads = () if target.startswith(GRID) else ("--threads=2",)
        precision = () if model.quantized or target.startswith("generic") else ("--precision=bf16",)
        for options in sorted({(), threads + precision, *([] if quick else [threads, precision])}):
            yield Case(model.name, target, options)
    if model.commands:
        return
    listed = [t for t in names if not t.startswith(APART)]
    if small and listed:
        for option in ALONE:
            for target in dict.fromkeys((listed[0], listed[-1])):
                yield Case(model.name, target, (option,))
        if len(listed) > 1:
            yield Case(model.name, ",".join(listed[-2:]), ())


def add_file(sha, path):
    """its name, length and bytes; of Loop IR without the passes that its head lists, whose names are not what is computed"""
    if path.suffix == ".loops":
        sha.update(re.sub(rb' passes "[^"]*"', b"", path.read_bytes(), count=1))
        return
    sha.update(f"{path.name} {path.stat().st_size}\n".encode())
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            sha.update(block)


def command_of(model, case, o, folder):
    """what compiles it into the folder"""
    program, suffix, more = o.dnncc, ".c", () if model.size <= SMALL else ("--weights=file",)
    if case.target in MADE_UP:
        program, suffix, more = str(pathlib.Path(o.dnncc).with_name("machines")), ".loops", ("--emit=loops",)
    elif "--emit=commands" in case.options:
        suffix, more = ".commands", ()
    elif case.target.startswith(GRID):
        suffix = ".cu"
    return [program, model.path, "-q", "-o", folder / f"model{suffix}", f"--target={case.target}", *model.options, *case.options, *more]


def digest(model, case, o):
    with tempfile.TemporaryDirectory(prefix="dnncc-digest-", dir=o.scratch) as name:
        folder = pathlib.Path(name)
        command = command_of(model, case, o, folder)
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


def compare(old, new, models, names, quick):
    """what differs, of these models and targets, a line each; a quick run says nothing of what it leaves out"""
    old = {case: value for case, value in old.items()
           if (case in new if quick else case.split()[0] in models and set(case.split()[1].split(",")) <= names)}
    for case in sorted(old.keys() | new.keys()):
        if old.get(case) != new.get(case):
            yield f"{'is new' if case not in old else 'is gone' if case not in new else 'differs'}: {case}"


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", help="names, or .onnx and .dnn files (default: the zoo and ../shared/models)")
    p.add_argument("--quick", action="store_true", help="small twins of the zoo instead of it, and few options")
    p.add_argument("--targets", help="of dnncc's table, or of MADE_UP (default: all but native)")
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
    names = o.targets.split(",") if o.targets else [*targets(o.dnncc), *MADE_UP]
    models = {m.name: m for m in chosen_models(o)}
    todo = [(m, c) for m in sorted(models.values(), key=lambda m: (-m.size, m.name)) for c in cases(m, names, o.quick)]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        new = dict(zip((str(c) for _, c in todo), pool.map(lambda each: digest(*each, o), todo)))
    lines = [f"{new[case]}  {case}" for case in sorted(new)]
    if o.write:
        o.write.write_text("".join(f"{line}\n" for line in lines))
    elif not o.compare:
        print("\n".join(lines))
    if o.compare:
        changes = list(compare(o.old, new, models, set(names), o.quick))
        refused = sum(line.startswith("exit") for line in lines)
        print("\n".join([*changes, f"{len(lines)} compilations ({refused} refused), {len(changes)} differences"]))
        sys.exit(1 if changes else 0)


if __name__ == "__main__":
    main()
