# SPDX-License-Identifier: MIT
"""How fast generated code is, beside other engines on the same machine in the same minutes.

    make bench                                   # everything; docs/benchmarks.md
    bench.py --models=resnet50 --threads=1       # see --help
    bench.py --set=quantized                     # models in 8 and 4 bits
    bench.py --set=portable                      # C for any machine, beside peers that write C (sources.py)
    bench.py --set=bf16                          # --precision=bf16 where vectors multiply it
    bench.py --set=pairs                         # quantized models where no instruction multiplies bytes
    bench.py --set=tiles                         # quantized models where hardware tiles do (AMX)

Every engine runs in a process of its own (engines.py); they take turns, a block of runs each, several rounds. A time is the median over
rounds of the blocks' medians, a ratio the median over rounds of a peer's median by ours. Results go to OUT/results, one file for a
model, and add up while dnncc stays the same; docs/benchmarks.md is made from them (tables.py)."""
import argparse
import hashlib
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layers  # noqa: E402
import peers  # noqa: E402
import sources  # noqa: E402
import subjects  # noqa: E402
import tables  # noqa: E402
from engines import DISTURBED, Engine, EngineError, Gate, take_turns  # noqa: E402
from subjects import ROOT, Failed, digest  # noqa: E402


PEER_BESIDE = "onnxruntime"         # what quantized models compute is compared with this peer's outputs
PORTABLE = "portable"                # models are those of all sets
# of options that are not given
DEFAULTS = {"threads": "1,2", "peers": ",".join(peers.PEERS), "target": "native", "clock": "wall", "cflags": ["-O2"]}
ONE_CORE = DEFAULTS | {"threads": "1", "clock": "processor"}
# sets of models with results, and a part of the file, of their own
APART = {
    PORTABLE: ONE_CORE | {"peers": ",".join(sources.SOURCES), "target": "generic", "cflags": ["-O2", "-O3 -march=native"]},
    "bf16": ONE_CORE | {"peers": "openvino", "models": "resnet50,mobilenet_v2,bert_base,gpt_step"},
    "pairs": ONE_CORE | {"peers": "", "target": "x86-64-v3", "models": "resnet50_qdq_u8,mobilenet_v2_qdq,bert_base_qdq"},
    "tiles": ONE_CORE | {"peers": "onnxruntime,openvino", "target": "granite-rapids",
                         "models": "resnet50_qdq_u8,resnet50_qdq_s8,mobilenet_v2_qdq,bert_base_qdq,bert_base_dynamic,resnet8_int8,dscnn_kws_int8,micro_kws_qdq"},
}
QUICK = (subjects.SMALLEST, "mnist_cnn", "micro_kws_fp32", "resnet8_fp32", "resnet8_int8", "squeezenet")


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--models", help="names, or .onnx files with fixed float inputs (default: the zoo and ../shared/models)")
    p.add_argument("--set", choices=[*subjects.SETS, *APART], help="of models, instead of all; --write renews its part of FILE")
    p.add_argument("--threads")
    p.add_argument("--peers", help="of " + ", ".join([*peers.PEERS, *sources.SOURCES]))
    p.add_argument("--target", help="of dnncc")
    p.add_argument("--options", default="", help="more options of dnncc, such as --exact")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.5, help="of one engine's turn")
    p.add_argument("--clock", choices=peers.CLOCKS,
                   help="processor: what an engine used of it, for a machine that does not get quiet; one thread only")
    p.add_argument("--patience", type=float, default=60, help="seconds to wait for an idle machine, for each model and thread count")
    p.add_argument("--quick", action="store_true", help="a smoke run: 2 rounds of short turns, no patience, few models")
    p.add_argument("--prepare", action="store_true", help="build and start everything once, measure nothing: for a quiet hour later")
    p.add_argument("--layers", action="store_true", help="time of each kernel in situ instead; no peers")
    p.add_argument("--dnncc", default=os.environ.get("DNNCC", ROOT / "build" / "dnncc"))
    p.add_argument("--before", metavar="DNNCC", help="another build, which counts as a peer")
    p.add_argument("--cc", default="gcc")
    p.add_argument("--cflags", action="append", metavar="FLAGS", help="of the C that dnncc and peers write; once for each kind of table")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench")
    p.add_argument("--write", type=pathlib.Path, metavar="FILE", help="write the tables there (make bench: docs/benchmarks.md)")
    p.add_argument("--only-write", action="store_true", help="measure nothing, write the tables from the results")
    o = p.parse_args()
    if o.quick:
        o.rounds, o.seconds, o.patience = 2, min(o.seconds, 0.1), 0
    for name, value in APART.get(o.set, DEFAULTS).items():
        if getattr(o, name) is None:
            setattr(o, name, value)
    o.out = o.out.resolve()
    o.threads = [int(t) for t in o.threads.split(",")]
    if o.clock == "processor":
        o.patience = 0
        if o.threads != [1]:
            p.error("--clock=processor wants --threads=1: threads that wait use the processor, too")
    o.peers = [p for p in o.peers.split(",") if p]
    o.cores = sorted(os.sched_getaffinity(0))
    return o


# ---- the engines of one model ----

def prepared_once(folder, key, prepare):
    """what prepare() returns, or why it failed, raised; done anew where the key is another than last time"""
    made = folder / "made.json"
    if not made.exists() or json.loads(made.read_text())[0] != key:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            prepared = prepare()
        except (Failed, subprocess.TimeoutExpired) as reason:
            prepared = str(reason)
        made.write_text(json.dumps([key, prepared]))
    prepared = json.loads(made.read_text())[1]
    if isinstance(prepared, str):
        raise Failed(prepared)
    return prepared


def start_peer(peer, precision, subject, threads, given, o):
    """(engine, seconds of preparation); what is prepared stays in OUT/prepared"""
    cls, name = peers.PEERS[peer], peer if precision == "fp32" else f"{peer} default"
    folder = o.out / "prepared" / f"{subject.name}-{peer}-{precision}"
    results = o.out / "io" / subject.name / name.replace(" ", "-")
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    spec = {"peer": peer, "precision": precision, "model": str(subject.path), "folder": str(folder), "inputs": subject.spec(),
            "in": str(given), "out": str(results), "threads": threads, "cores": o.cores}
    command, environment = [sys.executable, subjects.HERE / "peers.py"], peers.environment(threads)
    prepared = 0.0
    if hasattr(cls, "prepare"):
        key = digest(subject.path, subject.spec(), [peers.WHEELS, peers.WHEELS_ALONE])
        prepared = prepared_once(folder, key, lambda: subjects.call([*command, "prepare", json.dumps(spec)], "conversion", env=environment,
                                                                    timeout=900))
    engine = Engine(name, [*command, "serve", json.dumps(spec)], environment)
    engine.results = [subjects.np.load(results / f"{k}.npy") for k in range(len(list(results.glob("*.npy"))))]
    return engine, prepared


def start_source(peer, subject, given, o, compiler):
    """the same of a peer that writes C"""
    folder = o.out / "prepared" / f"{subject.name}-{peer}-{digest(compiler.flags)}"
    key = digest(subject.path, sources.SOURCES[peer].version(), *compiler.by)
    prepared = prepared_once(folder, key, lambda: sources.build(peer, subject.path, folder, compiler))
    results = o.out / "io" / subject.name / peer
    engine = Engine(peer, compiler.command(folder, given, results, o.cores[:1]))
    engine.results = subjects.read_outputs(results, engine.ready["outputs"])
    return engine, prepared


def start_ours(subject, threads, given, o, compiler, name="dnncc", options=()):
    folder, *seconds = compiler.compile(subject.path, o.target, threads, [*o.options.split(), *options])
    results = o.out / "io" / subject.name / name.replace(" ", "-")
    engine = Engine(name, compiler.command(folder, given, results, o.cores[:threads]))
    engine.results = subjects.read_outputs(results, engine.ready["outputs"])
    engine.constants = json.loads((folder / "report.json").read_text())["constants"]
    return engine, sum(seconds)


def choose_starts(subject, threads, given, o, compiler):
    """{name: what starts the engine}"""
    starts = {"dnncc": lambda: start_ours(subject, threads, given, o, compiler)}
    if o.before:
        before = subjects.Compiler(o.before, o.cc, o.out, compiler.flags)
        starts[tables.BEFORE] = lambda: start_ours(subject, threads, given, o, before, tables.BEFORE)
    for peer in sources.SOURCES:
        if peer in o.peers:
            starts[peer] = lambda peer=peer: start_source(peer, subject, given, o, compiler)
    if o.set == PORTABLE:
        return starts
    if not subject.quantized:
        starts[tables.BF16] = lambda: start_ours(subject, threads, given, o, compiler, tables.BF16, ["--precision=bf16"])
    if subject.of:
        original = subject.of.write_inputs(o.out / "io" / subject.name / "in-f32")
        starts[tables.F32] = lambda: start_ours(subject.of, threads, original, o, compiler, tables.F32)
    for peer in [p for p in o.peers if p in peers.PEERS]:
        for precision in peers.PEERS[peer].precisions if peers.PEERS[peer].quantized or not subject.quantized else ():
            starts[peer if precision == "fp32" else f"{peer} default"] = \
                lambda peer=peer, precision=precision: start_peer(peer, precision, subject, threads, given, o)
    return starts


def start_all(subject, threads, o, compiler):
    """the engines that run, facts of all"""
    given = subject.write_inputs(o.out / "io" / subject.name / "in")
    wanted, source = subjects.reference(subject, compiler)
    engines, facts, results = [], {}, {}
    for name, start in choose_starts(subject, threads, given, o, compiler).items():
        try:
            engine, prepared = start()
        except (Failed, EngineError) as reason:
            facts[name] = {"failed": str(reason)[:300]}
            print(f"  {name}: {facts[name]['failed']}", file=sys.stderr)
            continue
        engines.append(engine)
        results[name] = engine.results
        comparable = wanted and (name != tables.F32 or subject.of.inputs is subject.inputs)
        worst = subjects.error(engine.results, wanted) if comparable else None
        facts[name] = {"error": worst, "prepared": prepared, **{k: engine.ready.get(k) for k in ("load", "first", "settings")}}
        if hasattr(engine, "constants"):
            facts[name] |= {"constants": engine.constants, "file": subject.path.stat().st_size}
    if subject.quantized and "dnncc" in results and PEER_BESIDE in results:
        facts["dnncc"] |= {"same": subjects.agreement(results["dnncc"], results[PEER_BESIDE]),
                           "apart": subjects.error(results["dnncc"], results[PEER_BESIDE])}
    return engines, facts, source


def measure(subject, threads, o, compiler):
    engines, facts, source = start_all(subject, threads, o, compiler)
    gate = Gate(o.patience)
    everyone = list(engines)
    try:
        if o.prepare:
            return None
        take_turns(engines, o.rounds, o.seconds, gate, o.clock)
    finally:
        for engine in everyone:
            engine.close()
    for engine in everyone:
        if hasattr(engine, "failed"):
            facts[engine.name]["failed"] = engine.failed
        else:
            medians = [b["median"] for b in engine.blocks]
            facts[engine.name] |= {"time": statistics.median(medians), "min": min(b["min"] for b in engine.blocks), "blocks": engine.blocks}
    ours = facts["dnncc"].get("blocks")
    for fact in facts.values():
        if ours and "blocks" in fact:
            fact["ratio"] = statistics.median(b["median"] / a["median"] for a, b in zip(ours, fact["blocks"]))
    turns = sum(len(f.get("blocks", [])) for f in facts.values())
    return {"threads": threads, "target": o.target, "options": o.options, "cflags": compiler.flags, "quantized": subject.quantized, "reference": source, "engines": facts, "turns": turns,
            "rounds": o.rounds, "seconds": o.seconds, "clock": o.clock, "huge_pages": peers.huge_pages(), "gate_gave_up": gate.gave_up, "when": time.strftime("%Y-%m-%d %H:%M"),
            "disturbed": sum(b["others"] > DISTURBED for f in facts.values() for b in f.get("blocks", []))}


# ---- results ----

def machine(o, compiler):
    info = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    info = {k.strip(): v.strip() for k, v in info.items()}
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    extensions = [f for f in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8") if f in info.get("flags", "").split()]
    return {"cpu": info.get("model name", platform.machine()), "cores": len(o.cores), "extensions": extensions, "system": platform.release(),
            "cc": compiler.cc_version, "commit": commit, "flags": f"{o.cc} {'` and `'.join(o.cflags)}", "wheels": peers.WHEELS | peers.WHEELS_ALONE,
            "dnncc": hashlib.sha256(compiler.dnncc.read_bytes()).hexdigest()[:12]}


def keep(o, name, kind, facts, result):
    """in OUT/results; what another dnncc measured goes, but for the ratios, and what was measured of another model of that name"""
    path = o.out / "results" / f"{name}.{kind}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text()) if path.exists() else {"machine": facts, "runs": []}
    runs, earlier = [run for run in old["runs"] if run.get("model") == result.get("model")], old.get("earlier", [])
    if old["machine"]["dnncc"] != facts["dnncc"]:
        runs, earlier = [], earlier + (tables.ratios(old) if kind == "times" else [])
    path.write_text(json.dumps({"model": name, "machine": facts, "earlier": earlier, "runs": [*runs, result]}, indent=1) + "\n")


def choose_models(o):
    known = {n: make for name, models in subjects.SETS.items() if o.set in (None, name, *APART) for n, make in models().items()}
    if o.set == PORTABLE:
        known.pop(subjects.SMALLEST, None)      # what a call costs is no matter here
    few = [n for n in QUICK if n in known] if o.quick else known
    for name in o.models.split(",") if o.models else few:
        if name.endswith(".onnx"):
            yield pathlib.Path(name).stem, lambda out, name=name: subjects.file_model(name)
        elif name in known:
            yield name, known[name]
        else:
            sys.exit(f"no model is called '{name}'; there are: {', '.join(known)}")


def measure_model(name, make, threads, o, compiler, facts):
    try:
        subject = make(o.out)
        if o.layers:
            result = layers.measure(subject, threads, o, compiler)
            print(layers.text(name, result), flush=True)
        else:
            result = measure(subject, threads, o, compiler)
            if not result:
                return
            print(tables.line(name, result), flush=True)
    except (Failed, EngineError) as reason:
        print(f"{name}: {reason}", file=sys.stderr)
        return
    kind = "layers" if o.layers else o.set if o.set in APART else "times"
    keep(o, name, kind, facts, result | {"model": subjects.digest(subject.path)})


def main():
    o = options()
    if not o.only_write:
        o.out.mkdir(parents=True, exist_ok=True)
        compilers = [subjects.Compiler(o.dnncc, o.cc, o.out, flags) for flags in o.cflags]
        facts = machine(o, compilers[0])
        for name, make in choose_models(o):
            for threads in o.threads:
                if threads > len(o.cores):
                    print(f"{name}: {threads} threads on {len(o.cores)} cores are not measured", file=sys.stderr)
                    continue
                for compiler in compilers:
                    measure_model(name, make, threads, o, compiler, facts)
    if o.write:
        tables.write(o.write, o.out / "results", o.set)


if __name__ == "__main__":
    main()
