# SPDX-License-Identifier: MIT
"""Measures this machine, and says what the rates of a target (ir/target/rates.def) are here, each beside the one that the target has:

    make fit-cost                                 # of the processor's own target; FIT_FLAGS: as below
    fit_cost.py --target=x86-64-v3 --write=rates.txt

Probes of fit_cost.c measure reading and handing work to another core; every multiply of the target is measured in a kernel of
twelve sums that dnncc compiles, and so is the latency of a sum. What a register tile costs besides is fitted to sixteen small layers in the
first cache, by least squares; its spread is their mean error. All by processor time, in cycles that are measured beside; the least
of many repeats counts, and its spread, up to the median, says how quiet the machine was. Rates that no probe isolates (shares of time that
are hidden, losses of layouts, code of vectors) stay what they are: they were fitted to whole
layers, by test/bench/schedules.py. At the end stands what a target's file may take over: a rate that differs by more than its spread
and a tenth. Whether it should is for whole models to say (bench.py, schedules.py)."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
SUMS, STEPS, WORDS = 12, 20000, 64      # of a kernel: sums side by side, turns of its loop; words that a turn may begin at
BLOCK, RUNS = 16, 200                   # channels of a block; runs of a small layer at a time
NOTHING = 0.01                          # a rate that is none: 0 would be the base's
DIFFERS = 0.1


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dnncc", type=pathlib.Path, default=ROOT / "build" / "dnncc")
    p.add_argument("--rates", type=pathlib.Path, default=ROOT / "build" / "rates", help="the program of test/bench/rates.c")
    p.add_argument("--target", default="native")
    p.add_argument("--cc", default="gcc -O2")
    p.add_argument("--write", type=pathlib.Path, help="write the table there, too")
    return p.parse_args()


def call(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def facts(words):
    return dict(word.split("=", 1) for word in words)


class Target:
    def __init__(self, o):
        self.rates, self.multiplies = {}, []
        for line in call([o.rates, o.target]).splitlines():
            kind, name, *words = line.split()
            if kind == "target":
                self.name, self.facts = name, facts(words)
            elif kind == "rate":
                self.rates[name] = (float(words[0]), " ".join(words[1:]))
            else:
                self.multiplies.append((name, facts(words)))


# ---- kernels ----

def product(m, fma, acc, x, w):
    if m["body"]:
        return f"{m['body']}({acc}, {x}, {w})"
    return f"fma({x}, {w}, {acc})" if fma else f"{acc} + {x} * {w}"


def program(m, fma, sums):
    """sums += x * w, `sums` of them side by side, of 3 words of x and as many vectors of w as that takes: text of Loop IR"""
    lanes, group = int(m["lanes"]), int(m["group"])
    vectors = (sums + 2) // 3
    word = f" {m['word']} of {group}" if group > 1 else ""
    kind = f"{m['word']}x{lanes}"
    size = (WORDS + vectors) * lanes * group
    run = m["word"] if m.get("join") else m["sum"]          # what products are added to, before that goes to a sum
    zero = "0.0" if run.startswith("f") else f"0:{run}"
    lines = ["loop 1", 'program "multiply" source ""',
             f'buffer @x : {m["x"]}[{64 * group}] input "x" shape <{64 * group}>', f'buffer @w : {m["w"]}[{size}] input "w" shape <{size}>',
             f'buffer @y : {m["sum"]}[{sums * lanes}] output "y" shape <{sums * lanes}>',
             f'kernel @multiply(%x: in {m["x"]}[{64 * group}], %w: in {m["w"]}[{size}], %y: out {m["sum"]}[{sums * lanes}]) {{']
    lines += [f"  let %a{i} : {kind} = splat<{lanes}>(%x{f'<{word.strip()}>' if word else ''}[{i * group}])" for i in range(3)]
    lines += [f"  var %acc{i} : {run}x{lanes} = splat<{lanes}>({zero})" for i in range(sums)]
    lines += [f"  for %i = 0 to {STEPS} {{", f"    let %at : index = %i % {WORDS} * {lanes * group}"]
    for j in range(vectors):
        lines.append(f"    let %w{j} : {kind} = %w<{lanes}{word}>[%at + {j * lanes * group}]")
        lines += [f"    set %acc{i} = " + product(m, fma, f"%acc{i}", f"%a{i % 3}", f"%w{j}") for i in range(3 * j, min(3 * j + 3, sums))]
    lines += ["  }", *(f"  store %y[{i * lanes}] = " + (f"{m['join']}(splat<{lanes}>(0.0), %acc{i})" if m.get("join") else f"%acc{i}") for i in range(sums)), "}", "main {", "  call @multiply(@x, @w, @y)", "}"]
    return "\n".join(lines) + "\n"


def run_kernel(o, target, path, folder, options, steps, runs):
    """(cycles of one step of the kernel in that dump, spread)"""
    call([o.dnncc, "-q", path, f"--target={target.name}", "--name=layer", *options, "-o", folder / "layer.c"])
    call([*o.cc.split(), "-DKERNEL", f"-I{ROOT}", f"-I{folder}", HERE / "fit_cost.c", folder / "layer.c", "-o", folder / "kernel", "-lm", "-lpthread"])
    _, cycles, spread = call([folder / "kernel", steps, runs]).split()
    return float(cycles), float(spread)


def step_cycles(o, target, m, sums, folder):
    path = folder / "multiply.loops"
    path.write_text(program(m, target.facts["fma"] == "1", sums))
    return run_kernel(o, target, path, folder, [], STEPS, 1)


# ---- register tiles: small convolutions that stay in the first cache, by given schedules ----

def layer(channels, positions, vectors, lanes, columns, unroll):
    """a convolution of one position a window, with a bias and a maximum behind it: text of Tensor IR"""
    outputs = vectors * lanes
    x, y = (f"<1 x {n // BLOCK} x 1 x {positions} x {BLOCK} x f32>" for n in (channels, outputs))
    w = f"<1 x {channels // BLOCK} x 1 x 1 x {BLOCK} x {vectors} x {lanes} x f32>"
    return "\n".join([
        "dnn 1", 'module "layer"', f'func @main(%x "x": {x}, %w "w": {w}, %b "b": <{outputs // BLOCK} x {BLOCK} x f32>) -> ("y") {{',
        f"%y = fusion(%x, %w, %b) : {y} {{",
        f'%c = convolve_packed(%x, %w) channels={channels} outputs={outputs} schedule="columns={columns} vectors={vectors} unroll={unroll}" : {y}',
        f"%s = broadcast(%b) dims=[1, 4] : {y}", f"%a = add(%c, %s) : {y}", f"%r = max(%a, 0.0) : {y}",
        "yield(%r)", "}", "yield(%y)", "}"]) + "\n"


def least_squares(rows):
    """x that makes the sum of (a x - b)^2 least; rows: (a, b)"""
    n = len(rows[0][0])
    m = [[sum(a[i] * a[j] for a, _ in rows) for j in range(n)] + [sum(a[i] * b for a, b in rows)] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(m[k][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for k in range(n):
            if k != i:
                m[k] = [p - m[k][i] / m[i][i] * q for p, q in zip(m[k], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def fit_positive(rows):
    """least_squares without what would be less than nothing; 0: that"""
    kept = list(range(len(rows[0][0])))
    while True:
        found = least_squares([([a[i] for i in kept], b) for a, b in rows])
        worst = min(range(len(kept)), key=lambda i: found[i])
        if found[worst] >= 0 or len(kept) == 1:
            return [max(0, found[kept.index(i)]) if i in kept else 0 for i in range(len(rows[0][0]))]
        del kept[worst]


def fit_tiles(o, target, rates, multiply, folder):
    """{name: (value, the fit's mean error as a part of the time)} of what cost/packed_cost.c says of a tile beside its products"""
    lanes = int(target.facts["vector_bytes"]) // 4
    vectors = max(2, BLOCK // lanes)
    most = (int(target.facts["registers"]) - vectors - 2) // vectors
    rows, path = [], folder / "layer.dnn"
    for positions, columns, channels, unroll in [(p, c, n, u) for p in (most, 3 * most) for c in (most, most - most // 3)
                                                 for n in (2 * BLOCK, 6 * BLOCK) for u in (2, 4)]:
        path.write_text(layer(channels, positions, vectors, lanes, columns, unroll))
        cycles, _ = run_kernel(o, target, path, folder, ["--passes=schedule,lower,vectorize,contract,legalize,plan,prune"], 1, RUNS)
        count, blocks = -(-positions // columns), channels / BLOCK
        sizes = [(positions + i) // count for i in range(count)]
        adds, loads = ([f(n) * channels for n in sizes] for f in (lambda n: n * vectors * multiply, lambda n: (n + vectors) / rates["issue"][0]))
        longer = [max(a, b) for a, b in zip(adds, loads)]
        hindered = sum(c * (min(a, b) / c) ** 5 for a, b, c in zip(adds, loads, longer))
        shares = [1, hindered, count * blocks, count * blocks * BLOCK / unroll, positions * vectors]
        rows.append(([s / cycles for s in shares], (cycles - sum(longer)) / cycles))
    found = fit_positive(rows)
    error = sum(abs(sum(a * x for a, x in zip(shares, found)) - rest) for shares, rest in rows) / len(rows)
    return {name: (max(value, NOTHING), error) for name, value in zip(("contention", "packed_entry", "packed_iteration", "packed_result"), found[1:])}


# ---- the whole ----

def measure(o, target, folder):
    """(rates, multiplies): {name: (value, spread)}"""
    call([*o.cc.split(), f"-I{ROOT}", HERE / "fit_cost.c", ROOT / "build" / "libdnncc_runtime.a", "-o", folder / "machine", "-lpthread"])
    lines = call([folder / "machine", target.facts["vector_bytes"], target.facts["l2"]]).splitlines()
    rates = {name: (float(value), max(0, float(spread))) for name, value, spread in map(str.split, lines)}
    multiplies = {}
    for name, m in target.multiplies:
        if m["tiles"] == "1" or int(m["lanes"]) < 2:
            continue
        cycles, spread = step_cycles(o, target, m, SUMS, folder)
        multiplies[name] = cycles / SUMS, spread
        if m["x"] == m["w"] == "f32" and "issue" not in rates:
            rates["issue"] = int(m["instructions"]) * SUMS / cycles, spread
            rates["latency"] = step_cycles(o, target, m, 1, folder)
            rates.update(fit_tiles(o, target, rates, multiplies[name][0], folder))
    return rates, multiplies


def processor():
    cpu = pathlib.Path("/proc/cpuinfo")
    found = dict(re.findall(r"^(vendor_id|cpu family|model|model name)\s*: (.*)$", cpu.read_text(), re.M)) if cpu.exists() else {}
    return " ".join(f"{key}: {value};" for key, value in found.items()) or os.uname().machine


def table(target, rates, multiplies):
    yield f"{processor()} target {target.name}"
    yield f"{'rate':<24} {'here':>9} {'spread':>7} {'target':>9}"
    taken, taken_multiplies = [], []
    for name, (value, spread) in rates.items():
        has, unit = target.rates[name]
        yield f"{name:<24} {value:>9.3g} {spread:>6.0%} {has:>9.3g}  {unit}"
        if abs(value / has - 1) > DIFFERS + spread:
            taken.append(f".{name} = {value:.3g},")
    for name in sorted({"hand_off", "foreign"} - rates.keys()):
        yield f"{name:<24} not measured: no other core was free"
    for name, m in target.multiplies:
        if name not in multiplies:
            yield f"{name:<24} not measured: {'in hardware tiles' if m['tiles'] == '1' else 'of one lane'}"
            continue
        value, spread = multiplies[name]
        has = float(m["cycles"])
        yield f"{name:<24} {value:>9.3g} {spread:>6.0%} {has:>9.3g}  cycles"
        if abs(value / has - 1) > DIFFERS + spread:
            taken_multiplies.append(f'{{ "{name}", {value:.3g} }},')
    yield "what a target of this processor may say:"
    yield from (f"        {line}" for line in taken or ["(as it is)"])
    if taken_multiplies:
        yield "        .multiplies = (const struct multiply_rate[]){ " + " ".join(taken_multiplies) + " { 0 } },"


def main():
    o = options()
    target = Target(o)
    if target.facts["runs"] != "1":
        sys.exit(f"this processor has no {target.name}")
    with tempfile.TemporaryDirectory(prefix="dnncc-fit-") as folder:
        lines = list(table(target, *measure(o, target, pathlib.Path(folder))))
    print("\n".join(lines))
    if o.write:
        o.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
