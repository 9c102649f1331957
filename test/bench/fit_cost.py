"""Measures this machine, and says what the rates of a target (ir/rates.def) are here, each beside the one that the target has:

    make fit-cost                                 # of the processor's own target; FIT_FLAGS: as below
    fit_cost.py --target=x86-64-v3 --write=rates.txt

Probes of fit_cost.c measure reading and handing work to another core; every multiply of the target is measured in a kernel of
twelve sums that dnncc compiles, and so is the latency of a sum. All by processor time, in cycles that are measured beside; the least
of many repeats counts, and its spread, up to the median, says how quiet the machine was. Rates that no probe isolates (what a turn of a
loop or a vector of results costs, shares of time that are hidden, code of vectors) stay what they are: they were fitted to whole
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
    zero = "0.0" if m["sum"].startswith("f") else "0:i32"
    lines = ["loop 1", 'program "multiply" source ""',
             f'buffer @x : {m["x"]}[{64 * group}] input "x" shape <{64 * group}>', f'buffer @w : {m["w"]}[{size}] input "w" shape <{size}>',
             f'buffer @y : {m["sum"]}[{sums * lanes}] output "y" shape <{sums * lanes}>',
             f'kernel @multiply(%x: in {m["x"]}[{64 * group}], %w: in {m["w"]}[{size}], %y: out {m["sum"]}[{sums * lanes}]) {{']
    lines += [f"  let %a{i} : {kind} = splat<{lanes}>(%x{f'<{word.strip()}>' if word else ''}[{i * group}])" for i in range(3)]
    lines += [f"  var %acc{i} : {m['sum']}x{lanes} = splat<{lanes}>({zero})" for i in range(sums)]
    lines += [f"  for %i = 0 to {STEPS} {{", f"    let %at : index = %i % {WORDS} * {lanes * group}"]
    for j in range(vectors):
        lines.append(f"    let %w{j} : {kind} = %w<{lanes}{word}>[%at + {j * lanes * group}]")
        lines += [f"    set %acc{i} = " + product(m, fma, f"%acc{i}", f"%a{i % 3}", f"%w{j}") for i in range(3 * j, min(3 * j + 3, sums))]
    lines += ["  }", *(f"  store %y[{i * lanes}] = %acc{i}" for i in range(sums)), "}", "main {", "  call @multiply(@x, @w, @y)", "}"]
    return "\n".join(lines) + "\n"


def step_cycles(o, target, m, sums, folder):
    """(cycles of one step of the kernel, spread)"""
    (folder / "multiply.loops").write_text(program(m, target.facts["fma"] == "1", sums))
    call([o.dnncc, "-q", folder / "multiply.loops", f"--target={target.name}", "--name=layer", "-o", folder / "layer.c"])
    call([*o.cc.split(), "-DKERNEL", f"-I{ROOT}", f"-I{folder}", HERE / "fit_cost.c", folder / "layer.c", "-o", folder / "kernel", "-lm", "-lpthread"])
    _, cycles, spread = call([folder / "kernel", STEPS]).split()
    return float(cycles), float(spread)


# ---- the whole ----

def measure(o, target, folder):
    """(rates, multiplies): {name: (value, spread)}"""
    call([*o.cc.split(), f"-I{ROOT}", HERE / "fit_cost.c", ROOT / "build" / "libdnncc_runtime.a", "-o", folder / "machine", "-lpthread"])
    lines = call([folder / "machine", target.facts["vector_bytes"], target.facts["l2"]]).splitlines()
    rates = {name: (float(value), float(spread)) for name, value, spread in map(str.split, lines)}
    multiplies = {}
    for name, m in target.multiplies:
        if m["tiles"] == "1" or int(m["lanes"]) < 2:
            continue
        cycles, spread = step_cycles(o, target, m, SUMS, folder)
        multiplies[name] = cycles / SUMS, spread
        if m["x"] == m["w"] == "f32" and "issue" not in rates:
            rates["issue"] = int(m["instructions"]) * SUMS / cycles, spread
            rates["latency"] = step_cycles(o, target, m, 1, folder)
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
