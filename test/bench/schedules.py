"""How good the schedules are that dnncc chooses: every distinct contraction of the zoo, by the schedule chosen and by those that --tune
would try, each alone in a kernel with a bias and a maximum behind it.

    schedules.py                                  # all models; --sample=60: that many layers of them, drawn with --seed
    schedules.py --models=resnet50 --target=x86-64-v3
    schedules.py --prepare; schedules.py --only-measure     # compile on a busy machine, measure on a quiet one; once for each round

Two rounds: the neighbours (schedule/moves.c) of the schedule chosen, then those of the best so far. schedules.c measures; a layer's
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
TYPE, BETTER, KINDS = re.compile(r"<[^>]*>"), 0.97, ("hot", "chain")


@dataclass
class Layer:
    key: str                            # the operation, as a file of schedules names it
    result: str                         # its type
    chosen: str
    others: list                        # schedules
    models: dict = field(default_factory=dict)
    times: dict = field(default_factory=dict)           # of a schedule: [hot, chain] of even rounds, of odd ones; seconds

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
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench" / "schedules")
    return p.parse_args()


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
    if o.sample and o.sample < len(chosen):
        chosen = random.Random(o.seed).sample(chosen, o.sample)
    return chosen, len(layers)


# ---- a model of one layer, many times ----

def operation(layer, words, number):
    """one kernel: the contraction with a bias and a maximum behind it; a pool alone"""
    name, rest = layer.key.split(" ", 1)
    attributes = re.sub(r"=(\d+(,\d+)+)", lambda m: f"=[{m[1].replace(',', ', ')}]", TYPE.sub("", rest).strip())
    attributes = attributes.replace("kind=0", "kind=sum")      # in keys words are numbers
    schedule = f' schedule="{words}"' if words else ""
    if len(layer.operands) == 1:
        return f"%y{number} = {name}(%x) {attributes}{schedule} : {layer.result}"
    rank = layer.result.count(" x ")
    t = layer.result
    return (f"%y{number} = fusion(%x, %w, %b) : {t} {{\n  %c{number} = {name}(%x, %w) {attributes}{schedule} : {t}\n"
            f"  %s{number} = broadcast(%b) dims=[1, {rank - 1}] : {t}\n  %a{number} = add(%c{number}, %s{number}) : {t}\n"
            f"  %r{number} = max(%a{number}, 0.0) : {t}\n  yield(%r{number})\n}}")


def write_dump(layer, schedules, path):
    dims = layer.result[1:-1].split(" x ")
    ports = [f'%{n} "{n}": {t}' for n, t in zip("xw", layer.operands)]
    ports += [f'%b "b": <{dims[1]} x {dims[-2]} x f32>'] * (len(ports) > 1)
    body = [operation(layer, words, k) for k, words in enumerate(schedules)]
    results = ", ".join(f'"y{k}"' for k in range(len(schedules)))
    path.write_text(f'dnn 1\nmodule "layer"\nfunc @main({", ".join(ports)}) -> ({results}) {{\n' + "\n".join(body) +
                    f'\nyield({", ".join(f"%y{k}" for k in range(len(schedules)))})\n}}\n')


def neighbours(o, layer, words):
    with tempfile.TemporaryDirectory(dir=o.out) as folder:
        path = pathlib.Path(folder) / "layer.dnn"
        write_dump(layer, [words], path)
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
        write_dump(layer, [layer.chosen, *schedules], folder / "layer.dnn")    # the first one of a run does not count
        subprocess.run([o.dnncc, folder / "layer.dnn", "-o", folder / "layer.c", "--profile", f"--target={o.target}",
                        "--passes=schedule,lower,vectorize,contract,legalize,plan"], check=True)
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
    for kind in range(len(KINDS) if layers else 0):
        report(layers, kind)


if __name__ == "__main__":
    main()
