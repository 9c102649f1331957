# SPDX-License-Identifier: MIT
"""How good the schedules are that dnncc chooses: every distinct contraction of the zoo, by the schedule chosen and by those that --tune
would try, each alone in a kernel with a bias and a maximum behind it.

    schedules.py                                  # all models; --sample=60: that many layers of them, drawn with --seed
    schedules.py --models=resnet50 --target=x86-64-v3
    schedules.py --prepare; schedules.py --only-measure     # compile on a busy machine, measure on a quiet one; once for each round
    schedules.py --rounds=1 --record              # and remember it: test_schedule_quality.py holds dnncc to that

Two rounds: the neighbours (schedule/tune_moves.c) of the schedule chosen, then those of the best so far. schedules.c measures; a layer's
best is found in half of its rounds and judged by the other half, so that noise makes nothing better than it is. A schedule counts as
better from 3 % on, as for --tune. What was measured stays in OUT until dnncc changes its mind about the text of the kernel."""
import argparse
import concurrent.futures
import hashlib
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import zoo

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMER = pathlib.Path(__file__).with_name("schedules.c")
RECORD = pathlib.Path(__file__).with_name("schedules.txt")
WORDS = re.findall(r"^(?:REGISTERS|CIRCULAR|GRID|STREAM|SCALAR)\((\w+)", (ROOT / "ir" / "target" / "schedule.def").read_text(), re.M)
TYPE, BETTER, KINDS = re.compile(r"<[^>]*>"), 0.97, ("hot", "chain")


@dataclass
class Layer:
    key: str                            # the operation, as a file of schedules names it
    result: str                         # its type
    chosen: str
    others: list                        # schedules
    models: dict = field(default_factory=dict)
    apart: bool = False                 # a halo keeps rows apart: they cannot run as one
    times: dict = field(default_factory=dict)           # of a schedule: [hot, chain] of even rounds, of odd ones; seconds
    ratios: dict = field(default_factory=dict)          # of a schedule that is remembered: its time beside the fastest one's

    @property
    def operands(self):
        return TYPE.findall(self.key)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dnncc", type=pathlib.Path, default=ROOT / "build" / "dnncc")
    p.add_argument("--cc", default="gcc -O2")
    p.add_argument("--target", default="x86-64-v4")
    p.add_argument("--models", default=",".join(zoo.MODELS))
    p.add_argument("--sample", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=0.5)
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--jobs", type=int, default=2, help="that compile at a time; one measures")
    p.add_argument("--prepare", action="store_true", help="compile what is not measured yet, measure nothing")
    p.add_argument("--only-measure", action="store_true", help="measure what was compiled, and no more")
    p.add_argument("--record", action="store_true", help=f"what was measured goes to {RECORD.relative_to(ROOT)}, too")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench" / "schedules")
    o = p.parse_args()
    if o.record and o.target != p.get_default("target"):
        p.error(f"what is remembered is of {p.get_default('target')}")
    return o


# ---- what dnncc chooses, and what else could be ----

def read_book(o, model, *more):
    """the layers of a model or dump, from the file of schedules that --tune writes when it has no time"""
    with tempfile.NamedTemporaryFile(dir=o.out) as book:
        subprocess.run([o.dnncc, model, f"--target={o.target}", "--tune", f"--schedule={book.name}", "--limit", "tune_seconds=0", *more],
                       check=True)
        lines = pathlib.Path(book.name).read_text().splitlines()
    layers, result, count = [], "", 0
    for line in lines[1:]:
        if line.startswith("; makes "):
            result, count = TYPE.findall(line)[0], int(line.split()[2])
        elif line.startswith(";   or "):
            layers[-1].others.append(line[7:].split(":")[0])
        elif not line.startswith(";"):
            key, words = line.split(";")[0].split(": ")
            layers.append(Layer(key, result, words.strip(), [], {pathlib.Path(model).stem: count}))
    return layers


def find_layers(o):
    layers = {}
    for name in o.models.split(","):
        for layer in read_book(o, zoo.build(name)):
            layers.setdefault(layer.key, layer).models.update(layer.models)
    chosen = sorted(layers.values(), key=lambda layer: layer.key)
    alone = choices(o, chosen)
    for layer in chosen:
        layer.apart = alone[layer.key] != layer.chosen
    if o.sample and o.sample < len(chosen):
        chosen = random.Random(o.seed).sample(chosen, o.sample)
    return chosen, len(layers)


# ---- a model of layers, one or many times ----

def operation(layer, words, number, ports):
    """one kernel: the contraction with a bias and a maximum behind it; a pool alone"""
    name, rest = layer.key.split(" ", 1)
    attributes = re.sub(r"=(\d+(,\d+)+)", lambda m: f"=[{m[1].replace(',', ', ')}]", TYPE.sub("", rest).strip())
    attributes = attributes.replace("kind=0", "kind=sum")      # in keys words are numbers
    schedule = f' schedule="{words}"' if words else ""
    x, w, b = (f"%{port}{ports}" for port in "xwb")
    if len(layer.operands) == 1:
        return f"%y{number} = {name}({x}) {attributes}{schedule} : {layer.result}"
    t, rank, result = layer.result, layer.result.count(" x "), f"%r{number}"
    lines = [f"%y{number} = fusion({x}, {w}, {b}) : {t} {{", f"%c{number} = {name}({x}, {w}) {attributes}{schedule} : {t}",
             f"%s{number} = broadcast({b}) dims=[1, {rank - 1}] : {t}", f"%a{number} = add(%c{number}, %s{number}) : {t}",
             f"%r{number} = max(%a{number}, 0.0) : {t}"]
    if layer.apart:
        lines.append(f"%p{number} = pad(%r{number}, <f32> 0.0, <{rank} x i64> 0) : {t}")
        result = f"%p{number}"
    return "\n".join(lines + [f"yield({result})", "}"])


def write_dump(kernels, path):
    """kernels: (layer, schedule); those of a layer have the same operands"""
    layers = {layer.key: layer for layer, _ in kernels}
    ports = []
    for k, layer in enumerate(layers.values()):
        dims = layer.result[1:-1].split(" x ")
        ports += [f'%{n}{k} "{n}{k}": {t}' for n, t in zip("xw", layer.operands)]
        ports += [f'%b{k} "b{k}": <{dims[1]} x {dims[-2]} x f32>'] * (len(layer.operands) > 1)
    places = {key: k for k, key in enumerate(layers)}
    body = [operation(layer, words, k, places[layer.key]) for k, (layer, words) in enumerate(kernels)]
    names = ", ".join(f'"y{k}"' for k in range(len(kernels)))
    path.write_text(f'dnn 1\nmodule "layers"\nfunc @main({", ".join(ports)}) -> ({names}) {{\n' + "\n".join(body) +
                    f'\nyield({", ".join(f"%y{k}" for k in range(len(kernels)))})\n}}\n')


def choices(o, layers):
    """{key: what dnncc chooses for each layer by itself}"""
    with tempfile.TemporaryDirectory(dir=o.out) as folder:
        path = pathlib.Path(folder) / "layers.dnn"
        write_dump([(layer, "") for layer in layers], path)
        return {found.key: found.chosen for found in read_book(o, path, "--passes=schedule")}


def neighbours(o, layer, words):
    with tempfile.TemporaryDirectory(dir=o.out) as folder:
        path = pathlib.Path(folder) / "layer.dnn"
        write_dump([(layer, words)], path)
        return read_book(o, path, "--passes=schedule")[0].others


# ---- programs: each times some schedules of a layer ----

def program_path(o, key):
    return o.out / "programs" / key


def times_path(o, key):
    return o.out / "times" / f"{key}.json"


def compile_program(o, layer, schedules):
    """the key of its text; compiled unless there are times of that"""
    with tempfile.TemporaryDirectory(dir=o.out) as folder:
        folder = pathlib.Path(folder)
        # the first one of a run does not count
        write_dump([(layer, words) for words in (layer.chosen, *schedules)], folder / "layer.dnn")
        subprocess.run([o.dnncc, folder / "layer.dnn", "-o", folder / "layer.c", "--profile", f"--target={o.target}",
                        "--passes=schedule,lower,vectorize,contract,legalize,plan,prune"], check=True)
        text = (folder / "layer.c").read_text()
        key = hashlib.sha256((text[text.index("*/"):] + o.cc + TIMER.read_text()).encode()).hexdigest()[:20]
        if not times_path(o, key).exists() and not program_path(o, key).exists():
            subprocess.run([*o.cc.split(), "-s", f"-I{folder}", folder / "layer.c", TIMER, "-o", folder / "layer"], check=True)
            (folder / "layer").rename(program_path(o, key))
        return key


def run_program(o, key):
    done = subprocess.run([program_path(o, key), str(o.seconds)], check=True, capture_output=True, text=True)
    times_path(o, key).write_text(json.dumps([[float(t) for t in line.split()] for line in done.stdout.splitlines()]))
    program_path(o, key).unlink()


def add_times(o, layer, schedules, key):
    """in proportion to what the chosen schedule took before"""
    times = json.loads(times_path(o, key).read_text())[1:]
    scale = [old / new for old, new in zip(layer.times.get(layer.chosen, times[0]), times[0])]
    for words, row in zip(schedules, times):
        layer.times.setdefault(words, [t * s for t, s in zip(row, scale)])


def attempt(layer, action, *arguments):
    """what it returns; None where a program fails"""
    try:
        return action(*arguments)
    except subprocess.CalledProcessError as error:
        print(f"{layer.key}: {error}", file=sys.stderr)
        return None


def measure(o, layers, schedules_of):
    """Times of the schedules that have none yet, and of the one chosen beside them. Returns the layers that have them all."""
    def compile_one(layer):
        others = attempt(layer, schedules_of, layer)
        schedules = [layer.chosen] + [s for s in dict.fromkeys(others or []) if s not in layer.times and s != layer.chosen]
        needed = others is not None and (len(schedules) > 1 or not layer.times)
        return others is not None, schedules, attempt(layer, compile_program, o, layer, schedules) if needed else None

    measured = []
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        compiled = list(pool.map(compile_one, layers))
    for layer, (fine, schedules, key) in zip(layers, compiled):
        if key and not times_path(o, key).exists() and not o.prepare:
            attempt(layer, run_program, o, key)
        if key and times_path(o, key).exists():
            add_times(o, layer, schedules, key)
        if fine and layer.times:
            measured.append(layer)
    return measured


def best(layer, kind):
    """(schedule, time of the one chosen to its): the best of even rounds, judged by odd ones"""
    even, odd = kind, len(KINDS) + kind
    words = min(layer.times, key=lambda s: layer.times[s][even])
    ratio = layer.times[words][odd] / layer.times[layer.chosen][odd]
    return (words, 1 / ratio) if ratio < BETTER else (layer.chosen, 1.0)


# ---- what is remembered: the tests hold dnncc's choices against it ----

RECORD_HEAD = """dnncc-schedule 1
; Layers of the zoo for {target}, written by schedules.py --record: the schedule chosen, its time in a network as a multiple of the fastest
; one's, and other schedules by what changes. The least of all that was measured. "apart": a halo keeps rows apart.
"""


def write_record(target, layers):
    """beside what is remembered"""
    known = {layer.key: layer for layer in read_record()} if RECORD.exists() else {}
    for layer in layers:
        layer.ratios = measured_ratios(layer)
        for words, ratio in known[layer.key].ratios.items() if layer.key in known else ():
            layer.ratios[words] = min(ratio, layer.ratios.get(words, ratio))
        known[layer.key] = layer
    lines = []
    for key, layer in sorted(known.items()):
        others = "".join(f", {changes(layer.chosen, words)} {ratio:.2f}" for words, ratio in layer.ratios.items() if words != layer.chosen)
        lines.append(f"{key}: {layer.chosen}; {layer.result}{', apart' * layer.apart}, {layer.ratios[layer.chosen]:.2f}{others}\n")
    RECORD.write_text(RECORD_HEAD.format(target=target) + "".join(lines))


def read_record():
    layers = []
    for line in RECORD.read_text().splitlines():
        if line.startswith(("dnncc-schedule", ";")):
            continue
        key, words, result, rest = re.match(r"(.*): (.*); (<.*?>), (.*)", line).groups()
        apart, ratio, others = re.match(r"(apart, )?([0-9.]+)(?:, )?(.*)", rest).groups()
        layer = Layer(key, result, words, [], apart=bool(apart), ratios={words: float(ratio)})
        for other in filter(None, others.split(", ")):
            change, ratio = other.rsplit(" ", 1)
            layer.ratios[changed(words, change)] = float(ratio)
        layers.append(layer)
    return layers


def changes(old, new):
    """what makes one schedule the other: "columns=7 -prefetch" """
    old, new = split_words(old), split_words(new)
    return " ".join([f"{word}={value}" for word, value in new.items() if old.get(word) != value] +
                    [f"-{word}" for word in old if word not in new])


def changed(old, change):
    """words in the order of dnncc's"""
    words = split_words(old)
    for word in change.split():
        if word.startswith("-"):
            del words[word[1:]]
        else:
            words.update([word.split("=")])
    return " ".join(f"{word}={words[word]}" for word in sorted(words, key=WORDS.index))


def split_words(words):
    return dict(word.split("=") for word in words.split())


# ---- the result ----

def report(layers, kind):
    found = sorted(((*best(layer, kind), layer) for layer in layers), key=lambda row: -row[1])
    ratios = [ratio for _, ratio, _ in found]
    geometric = math.exp(sum(map(math.log, ratios)) / len(ratios))
    weights = [layer.times[layer.chosen][kind] * sum(layer.models.values()) for _, _, layer in found]
    total = sum(weights) / sum(w / r for w, r in zip(weights, ratios))
    print(f"{KINDS[kind]}: {len(found)} layers, chosen to best: geometric mean {geometric:.3f}, worst {ratios[0]:.3f}, "
          f"in the sum of all kernels {total:.3f}; more than 5 % off: {sum(r > 1.05 for r in ratios)}")
    for words, ratio, layer in found[:15]:
        if ratio > 1:
            where = ", ".join(f"{m} {n}" for m, n in layer.models.items())
            print(f"  {ratio:.3f}  {1e3 * layer.times[layer.chosen][kind]:8.4f} ms  {layer.key} ({where})\n"
                  f"         {layer.chosen}  ->  {words}")


def measured_ratios(layer):
    """of schedules, as in a network"""
    times = {words: row[1] + row[3] for words, row in layer.times.items()}
    return {words: t / min(times.values()) for words, t in times.items()}


def better_neighbours(o, layer):
    """neighbours of the schedules that are better than the one chosen"""
    found = {best(layer, kind)[0] for kind in range(len(KINDS))} - {layer.chosen}
    return [words for schedule in sorted(found) for words in neighbours(o, layer, schedule)]


def main():
    o = options()
    for folder in "programs", "times":
        (o.out / folder).mkdir(parents=True, exist_ok=True)
    if o.only_measure:
        for program in sorted((o.out / "programs").iterdir()):
            run_program(o, program.name)
        return
    layers, count = find_layers(o)
    print(f"{o.target}: {len(layers)} of {count} distinct contractions" + (f", drawn with seed {o.seed}" if len(layers) < count else ""), flush=True)
    layers = measure(o, layers, lambda layer: layer.others)
    for _ in range(1, o.rounds):
        layers = measure(o, layers, lambda layer: better_neighbours(o, layer))
    (o.out / "layers.json").write_text(json.dumps([layer.__dict__ for layer in layers], indent=1))
    if o.record:
        write_record(o.target, layers)
    for kind in range(len(KINDS) if layers else 0):
        report(layers, kind)


if __name__ == "__main__":
    main()
