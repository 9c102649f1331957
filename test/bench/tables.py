# SPDX-License-Identifier: MIT
"""docs/benchmarks.md from the results."""
import json
import statistics

import layers
from engines import DISTURBED, QUIET
from subjects import SMALLEST

BF16 = "dnncc bf16"             # the engine that is dnncc with --precision=bf16
F32 = "dnncc f32"               # dnncc with the model that a quantized one was made of
BEFORE = "dnncc before"         # another build
OWN = (BF16, F32, BEFORE)
SLACK = 1.5                     # an error of a quantized model counts up to this many times what quantization itself costs
PLAIN = "-O2"                   # flags that go without saying
FP32, WRONG = 1e-4, 0.1         # a larger error than FP32 is not fp32 arithmetic; than WRONG, not this model

HEAD = """# Benchmarks

Written by `make bench` (test/bench/bench.py) from measurements, never by hand.

Batch 1. Each engine runs in a process of its own; they take turns, {rounds} rounds of {seconds:g} s for each, while all others are stopped. A
turn begins with a run that does not count. A time is the median over rounds of the turns' medians; a ratio is the median over
rounds of a peer's time divided by dnncc's: above 1, dnncc is faster. What other processes of the machine do is watched: a turn begins
when they use less than {quiet:.0%} of a core and is repeated, twice at most, when they used more than {disturbed:.0%}, while the harness's patience
lasts; Conditions, below, say how often that failed. Settings of all peers are in [peers.py](../test/bench/peers.py).

The error is the largest difference from the model computed in double precision, relative to the largest output.

dnncc's weights and workspace lie on huge pages: `--weights=file`, `dnncc_weights_load` and `dnncc_workspace_new` of its runtime. {huge}
"""
PAGES = {True: "Peers' memory does, too, by malloc of glibc (`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`).",
         False: "Peers' memory lay on pages of 4 KB, or as the system chose."}
TABLE_1 = """
## Table 1: fp32

Everybody computes in fp32: OpenVINO's inference precision is forced to f32 and read back, ncnn's 16-bit modes are off. What has an
error above {limit:g} stands in brackets and does not count. Milliseconds (ratio), the fastest in bold.
"""
TABLE_2 = """
## Table 2: out of the box

Every peer as it comes, given only the number of threads; on machines with AMX, that is bfloat16 for some. What has an error above {limit:g}
stands in brackets and does not count. Milliseconds (ratio) error. `dnncc bf16` is dnncc with `--precision=bf16`; its ratio is to dnncc
without (below 1: faster), and the last column compares the best peer with the faster of the two.
"""
QUANTIZED = """
## Quantized models

Models of the zoo as onnxruntime's quantizers make them ([quantized.py](../test/bench/zoo/quantized.py)), and some that came in 8 bits;
`openvino` computes the rest in f32, `openvino default` as it likes. Milliseconds (ratio) error. `dnncc f32` is dnncc with the model in f32
that this one was made of: above 1, the quantized one is faster, and the error is what quantization costs. That of the others is the
difference from the outputs that came with the model, else from onnxruntime's without optimisations, node by node. Sums that differ in the
last bit are rounded to different steps, which moves others in the next layer: so programs that are equally right may be as far apart as
quantization is from f32. What has an error of more than {slack:g} times that, and of more than {limit:g}, stands in brackets and does not count.

"equal": the share of dnncc's outputs that are onnxruntime's to the bit, and the largest difference of the two, relative to the largest
output. "constants": bytes of dnncc's constants, by those of the model's file.
"""
PORTABLE = """
## Portable C

`bench.py --set=portable`: dnncc's C for any machine (`--target=generic`) beside C that peers write ([sources.py](../test/bench/sources.py)), all
compiled by the same compiler with the same flags. `emx` is emx-onnx-cgen of PyPI; `onnx2c` is in no registry and has a column where it was
built from source{before}. Milliseconds (ratio); what has an error above {limit:g}, or, of a quantized model,
above {wrong:g}, stands in brackets and does not count.
"""
WORDS = """
## bf16 in vectors

`bench.py --set=bf16`: table 2 on a processor that multiplies bf16 in vectors and has no tiles. `dnncc` and `openvino` compute in f32;
`openvino default` chooses bf16 there.
"""
PAIRS = """
## Bytes in pairs of 16 bits

`bench.py --set=pairs`: quantized models by AVX2 alone (`--target=x86-64-v3`), which has no exact product of bytes: they are multiplied as
pairs of 16 bits (`vpmaddwd`), two instructions for 16 products. `dnncc f32` is the model in f32 that this one was made of, for the same
target: above 1, the quantized one is faster.
"""
TILES = """
## Bytes in tiles

`bench.py --set=tiles`: quantized models on a processor whose tiles multiply bytes (AMX; `--target=granite-rapids`), beside peers that use
them, too. `dnncc f32` is the model in f32, for vectors of the same processor.
"""
TILES_CONDITIONS = "\n### Conditions of bytes in tiles\n\n"
PAIRS_CONDITIONS = "\n### Conditions of bytes in pairs\n\n"
WORDS_CONDITIONS = "\n### Conditions of bf16 in vectors\n\n"
PORTABLE_BEFORE = "; `dnncc before` is another build, named by `--before`"
PORTABLE_CONDITIONS = "\n### Conditions of portable C\n\n"
QUANTIZED_START = "\n### Start of quantized models\n\nAs above.\n"
QUANTIZED_CONDITIONS = "\n### Conditions of quantized models\n\n"
CONDITIONS = "\n## Conditions\n\n"
ERRORS = "\n## Errors in table 1\n"
START = """
## Start

Milliseconds to load the model from the page cache + for the first inference, in a process whose libraries are loaded; in parentheses the
seconds of converting or compiling ahead of time (dnncc: with the C compiler).
"""
HOURS = """
## At different hours

Ratios of table 1 over all runs that are kept, those of earlier builds, too: how far they can be trusted.
"""
LAYERS = """
## Where the time goes

Kernels timed while the whole network runs (`bench.py --layers`), against the multiply-add rate probed between the runs in the same
process. Convolutions and products by class, as compiled by default and ("direct") with `{direct}`, which leaves
Winograd's algorithm out; what that computes counts as it is computed, with its transforms. "wanted" is what a direct convolution
of the class should reach.
""".format(direct=layers.DIRECT)
CLOCKS = """
### The clock

What multiply-adds of registers alone reach, between runs (this is the peak above) and behind kernels in the middle of runs, GFLOP/s, with
one thread. Kernels that keep multiply-adds and loads busy draw more power and lower the clock, which takes milliseconds to rise again: a
kernel's share of what the core can do while the network runs is its GFLOP/s by the second figure.
"""
KINDS = "\n### All kernels\n"


def load(folder, kind):
    return [json.loads(p.read_text()) for p in sorted(folder.glob(f"*.{kind}.json"))]


def grid(head, rows):
    """a Markdown table; all but the first column are numbers"""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(c).replace("|", "/") for c in line) + " |" for line in lines) + "\n"


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def line(name, result):
    """one measurement, for the terminal"""
    parts = []
    for engine, fact in result["engines"].items():
        if "time" in fact:
            ratio = f" ({fact['ratio']:.2f}x)" if "ratio" in fact and engine != "dnncc" else ""
            worst = f" error {fact['error']:.0e}" if fact.get("error") is not None else ""
            parts.append(f"{engine} {milliseconds(fact['time'])} ms, least {milliseconds(fact['min'])}{ratio}{worst}")
    noise = f" [{result['disturbed']} of {result['turns']} turns disturbed]" if result["disturbed"] else ""
    flags = "" if result["cflags"] == PLAIN else f" {result['cflags']}"
    return f"{name}, {result['threads']} thread(s), {result['target']}{flags}: {'; '.join(parts)}{noise}"


def case(run):
    """what runs that may be put together have in common"""
    processor = "processor time" if run.get("clock") == "processor" else ""
    flags = run.get("cflags", PLAIN)
    return run["threads"], " ".join(filter(None, (run["target"], run["options"], "" if flags == PLAIN else flags, processor)))


def cases(document):
    """[(threads, target and options, {engine: fact})]: of several runs the medians of times and ratios, the last of the rest"""
    runs = {}
    for run in document["runs"]:
        runs.setdefault(case(run), []).append(run["engines"])
    for (threads, target), all_runs in sorted(runs.items()):
        facts = {name: dict(fact) for name, fact in all_runs[-1].items()}
        for name, fact in facts.items():
            for key in ("time", "ratio"):
                values = [run[name][key] for run in all_runs if key in run.get(name, {})]
                if values:
                    fact[key] = statistics.median(values)
        yield threads, target, facts


def cell(fact, valid, best, is_peer, show_error):
    if "time" not in fact:
        return "-" if is_peer or "failed" not in fact else "refused"
    text = milliseconds(fact["time"])
    text += f" ({fact['ratio']:.2f})" if is_peer and "ratio" in fact else ""
    text += f" {fact['error']:.0e}" if show_error and fact.get("error") is not None else ""
    return f"[{text}]" if not valid else f"**{text}**" if best else text


def largest_error(facts, limit):
    """that a result may have and still count: of quantized models what quantization itself costs"""
    return max(limit, SLACK * (facts.get(F32, {}).get("error") or 0))


def times(documents, engines, limit, show_error, more=()):
    """a row for each model and thread count; below, the geometric means of the ratios. more: (head, what it says of dnncc's facts)"""
    rows, ratios = [], {}
    for document in documents:
        for threads, target, facts in cases(document):
            columns = {n: facts.get(n) or facts.get(n.removesuffix(" default"), {}) for n in ["dnncc", *engines]}
            most = largest_error(facts, limit)
            valid = {n: "time" in f and (f.get("error") is None or f["error"] <= most) for n, f in columns.items()}
            fastest = min((f["time"] for n, f in columns.items() if n != F32 and valid[n]), default=None)
            counted = {n: columns[n]["ratio"] for n in engines if n not in OWN and valid[n] and valid["dnncc"] and "ratio" in columns[n]}
            ours = min([1, *(columns[n]["ratio"] for n in engines if n == BF16 and valid[n] and "ratio" in columns[n])])
            best = min(counted.values()) / ours if counted else None
            for name, ratio in {**counted, **({"best": best} if counted else {}),
                                **{n: f["ratio"] for n, f in columns.items() if n in OWN and valid[n] and "ratio" in f}}.items():
                ratios.setdefault((threads, target), {}).setdefault(name, []).append(ratio)
            rows.append([document["model"], threads, *(cell(f, valid[n], valid[n] and f["time"] == fastest, n != "dnncc", show_error)
                                                       for n, f in columns.items()),
                         f"{best:.2f}" if counted else "-", *(say(facts["dnncc"]) for _, say in more)])
    for (threads, target), of in sorted(ratios.items()):
        means = [f"{statistics.geometric_mean(of[n]):.2f}" if n in of else "-" for n in [*engines, "best"]]
        rows.append([f"geometric mean ({target})", threads, "", *means, *("" for _ in more)])
    return grid(["model", "threads", "dnncc", *engines, "ratio to the best", *(head for head, _ in more)], rows)


def errors(documents, engines):
    rows = []
    for document in documents:
        run = document["runs"][-1]
        facts = [run["engines"].get(n, {}) for n in ["dnncc", *engines]]
        rows.append([document["model"], run["reference"],
                     *(f"{f['error']:.1e}" if f.get("error") is not None else f.get("failed", "-")[:60] for f in facts)])
    return grid(["model", "against", "dnncc", *engines], rows)


def start(documents, engines):
    def text(fact):
        if "load" not in fact:
            return "-"
        ahead = f" ({fact['prepared']:.1f})" if fact["prepared"] else ""
        return f"{milliseconds(fact['load'])} + {milliseconds(fact['first'])}{ahead}"

    return grid(["model", "dnncc", *engines],
                [[d["model"], *(text(d["runs"][0]["engines"].get(n, {})) for n in ["dnncc", *engines])] for d in documents])


def ratios(document):
    """[when, by what build, and how many times dnncc's time the peers of table 1 took]"""
    return [{"when": run["when"], "dnncc": document["machine"]["dnncc"],
             "case": list(case(run)),
             "ratios": {n: f["ratio"] for n, f in run["engines"].items() if "ratio" in f and is_strict(n) and (f.get("error") or 0) <= FP32}}
            for run in document["runs"]]


def is_strict(engine):
    return engine not in ("dnncc", *OWN) and not engine.endswith(" default")


def hours(documents):
    """a row for each model and thread count that was measured more than once; and when that was"""
    rows, times = [], set()
    for document in documents:
        runs = document.get("earlier", []) + ratios(document)
        last = [run["case"] for run in ratios(document)]
        for case in sorted({tuple(c) for c in last}):
            same = [run for run in runs if tuple(run["case"]) == case and run["ratios"]]
            if len(same) < 2:
                continue
            times |= {f"{run['when'][:13]}h {run['dnncc']}" for run in same}
            cells = []
            for values in ([r["ratios"]["onnxruntime"] for r in same if "onnxruntime" in r["ratios"]], [min(r["ratios"].values()) for r in same]):
                cells += [f"{f(values):.2f}" if values else "-" for f in (min, statistics.median, max)]
            rows.append([document["model"], case[0], len(same), *cells])
    head = ["model", "threads", "runs", "onnxruntime: least", "median", "most", "best peer: least", "median", "most"]
    return "".join([HOURS, "\n", grid(head, rows), "\nThe runs, and the hash of the dnncc that was measured: ", "; ".join(sorted(times)), ".\n"]) if rows else ""


def share_rows(model, threads, default, direct):
    """a row for each class of layers: as compiled by default, and without Winograd's algorithm"""
    runs = [(r, layers.by_class(r) if r else {}) for r in (default, direct)]
    for name, wanted in layers.CLASSES.items():
        cells = []
        for result, classes in runs:
            count, seconds, flops = classes.get(name, (0, 0.0, 0))
            cells += [count, f"{1e3 * seconds:.3f}", *layers.rates(flops, seconds, result)] if count else [""] * 4
        if any(cells):
            yield [model, threads, name, *cells, f"{100 * wanted:.0f} %" if wanted else ""]


def in_situ(documents):
    """share of peak by class of layer and by kind of kernel; ResNet-50 one by one"""
    shares, clocks, rows, text = [], [], [], []
    for document in documents:
        last = {(run["threads"], layers.DIRECT in run["options"].split()): run for run in document["runs"]}
        for threads in sorted({t for t, _ in last}):
            default, direct = last.get((threads, False)), last.get((threads, True))
            shares += share_rows(document["model"], threads, default, direct)
            result = default or direct
            if any(r and r.get("amid") for r in (default, direct)):
                clocks.append([document["model"], *(f"{r[k]:.0f}" if r and r.get("amid") else "" for r in (default, direct) for k in ("peak", "amid"))])
            for what, count, seconds, flops in layers.by_kind(result):
                rows.append([document["model"], threads, what, count, f"{1e3 * seconds:.3f}", f"{seconds / result['total']:.1%}",
                             *layers.rates(flops, seconds, result)])
            if document["model"] == "resnet50":
                text += [f"\n### ResNet-50, {threads} thread(s)\n\n{layers.summary(result)}.\n",
                         grid(["kernel", "kind", "ms", "GFLOP/s", "of peak"],
                              [[c["location"], c["kind"], f"{1e3 * c['time']:.4f}", *layers.rates(c["flops"], c["time"], result)]
                               for c in result["calls"]])]
    head = ["model", "threads", "kind", "calls", "ms", "of time", "GFLOP/s", "of peak"]
    measured = ["calls", "ms", "GFLOP/s", "of peak"]
    tables = [LAYERS, grid(["model", "threads", "layers", *measured, *(f"direct: {m}" for m in measured), "wanted"], shares)]
    if clocks:
        tables += [CLOCKS, grid(["model", "between runs", "amid", "direct: between runs", "direct: amid"], clocks)]
    tables += [KINDS, grid(head, rows)]
    return "\n".join([*tables, *text]) if rows else ""


def conditions(head, documents, smallest=()):
    runs = [r for d in documents for r in d["runs"]]
    rows = []
    for m in {json.dumps(d["machine"], sort_keys=True): d["machine"] for d in documents}.values():
        rows.append(f"{m['cpu']}, {m['cores']} cores, {' '.join(m['extensions'])}; Linux {m['system']}; dnncc {m['commit']} ({m['dnncc']}), "
                    f"its C compiled with `{m['flags']}` by {m['cc']}")
    wheels = documents[0]["machine"]["wheels"].items()
    rows.append("peers from PyPI: " + ", ".join(f"{k} {v}" for k, v in wheels if k not in ("onnx", "onnx-ir", "numpy", "pytest")))
    targets = sorted({f"--target={r['target']} {r['options']}".rstrip() for r in runs})
    rows.append(f"dnncc ran with {', '.join(f'`{t}`' for t in targets)}, and `--threads=N` for more than one thread")
    if any(r.get("clock") == "processor" for r in runs):
        rows.append("times are the processor's, of an engine's own process, not the clock's: the machine was busy (`--clock=processor`)")
    rows.append(f"{sum(r['turns'] for r in runs)} turns, {sum(r['disturbed'] for r in runs)} disturbed by other processes, "
                f"{sum(r['gate_gave_up'] for r in runs)} begun on a machine that was not idle")
    for fact in [d["runs"][-1]["engines"] for d in smallest]:
        rows.append("a model of one addition takes: " + ", ".join(f"{n} {1e6 * f['time']:.2g} us" for n, f in fact.items() if "time" in f)
                    + " (dnncc is called from C, the peers from Python)")
    for name, values in {n: f["settings"] for r in runs for n, f in r["engines"].items() if f.get("settings")}.items():
        rows.append(f"{name} says: " + ", ".join(f"{k} {v}" for k, v in values.items()))
    return head + "".join(f"- {row}\n" for row in rows)


# ---- the parts of the file ----

def engine_names(documents):
    return list({n: None for d in documents for r in d["runs"] for n in r["engines"] if n != "dnncc"})


def float_part(folder):
    everything = [d for d in load(folder, "times") if not d["runs"][0]["quantized"]]
    documents = [d for d in everything if d["model"] != SMALLEST] or everything
    if not documents:
        return None
    names = engine_names(documents)
    strict = [n for n in names if is_strict(n)]
    loose = [n for n in names if n == BF16] + [f"{n} default" if f"{n} default" in names else n for n in strict]
    last = documents[-1]["runs"][-1]
    return "".join([
        HEAD.format(rounds=last["rounds"], seconds=last["seconds"], quiet=QUIET, disturbed=DISTURBED, huge=PAGES[last.get("huge_pages", False)]),
        TABLE_1.format(limit=FP32), "\n", times(documents, strict, FP32, False),
        TABLE_2.format(limit=WRONG), "\n", times(documents, loose, WRONG, True),
        ERRORS, "\n", errors(documents, strict), START, "\n", start(documents, names), hours(documents),
        in_situ(load(folder, "layers")), conditions(CONDITIONS, documents, [d for d in everything if d["model"] == SMALLEST])])


def equal(fact):
    return f"{fact['same']:.1%} {fact['apart']:.0e}" if "same" in fact else "-"


def constants(fact):
    return f"{fact['constants'] / fact['file']:.2f}" if "constants" in fact else "-"


def refusals(documents):
    """why there is no time of dnncc's"""
    ours = {d["model"]: d["runs"][-1]["engines"]["dnncc"] for d in documents}
    failed = [(model, fact["failed"].removeprefix("dnncc: ")) for model, fact in ours.items() if "failed" in fact]
    return "".join(["\nWhat dnncc does not compile:\n\n", *(f"- {model}: {reason}\n" for model, reason in failed)]) if failed else ""


def quantized_part(folder):
    documents = [d for d in load(folder, "times") if d["runs"][0]["quantized"]]
    if not documents:
        return None
    names = engine_names(documents)
    busy = any(r.get("clock") == "processor" for d in documents for r in d["runs"])
    return "".join([QUANTIZED.format(limit=WRONG, slack=SLACK), "\n", times(documents, names, WRONG, True, [("equal", equal), ("constants", constants)]),
                    refusals(documents),
                    *([] if busy else [QUANTIZED_START, "\n", start(documents, [n for n in names if n != F32])]),
                    conditions(QUANTIZED_CONDITIONS, documents)])


def portable_rows(documents, flags, engines):
    """a row for each model, the geometric means of the ratios, and the models where a peer is faster"""
    rows, ratios, behind = [], {}, []
    for document in documents:
        runs = [run for run in document["runs"] if run["cflags"] == flags]
        if not runs:
            continue
        _, _, facts = list(cases({"runs": runs}))[-1]
        most = largest_error(facts, WRONG if runs[-1]["quantized"] else FP32)
        columns = {n: facts.get(n, {}) for n in ["dnncc", *engines]}
        valid = {n: "time" in f and (f.get("error") is None or f["error"] <= most) for n, f in columns.items()}
        fastest = min((f["time"] for n, f in columns.items() if valid[n]), default=None)
        for name in engines:
            if valid[name] and valid["dnncc"] and "ratio" in columns[name]:
                ratios.setdefault(name, []).append(columns[name]["ratio"])
                behind += [document["model"]] if columns[name]["ratio"] < 1 else []
        rows.append([document["model"], flags, *(cell(f, valid[n], valid[n] and f["time"] == fastest, n != "dnncc", False)
                                                 for n, f in columns.items())])
    means = [f"{statistics.geometric_mean(ratios[n]):.2f}" if n in ratios else "-" for n in engines]
    return [*rows, ["geometric mean", flags, "", *means]] if rows else [], behind


def portable_part(folder):
    documents = load(folder, "portable")
    if not documents:
        return None
    engines, rows, notes = engine_names(documents), [], []
    for flags in dict.fromkeys(r["cflags"] for d in documents for r in d["runs"]):
        found, behind = portable_rows(documents, flags, engines)
        rows += found
        notes.append(f"\nSlower than a peer with `{flags}`: {', '.join(dict.fromkeys(behind)) or 'none'}.\n")
    text = PORTABLE.format(limit=FP32, wrong=WRONG, before=PORTABLE_BEFORE if BEFORE in engines else "")
    return "".join([text, "\n", grid(["model", "flags", "dnncc", *engines], rows), *notes, refusals(documents), conditions(PORTABLE_CONDITIONS, documents)])


def small_part(kind, heading, conditions_heading):
    """of a few models: a table and its conditions"""
    def part(folder):
        documents = load(folder, kind)
        if not documents:
            return None
        return "".join([heading, "\n", times(documents, engine_names(documents), WRONG, True), conditions(conditions_heading, documents)])
    return part


PARTS = {"f32": float_part, "quantized": quantized_part, "portable": portable_part, "bf16": small_part("bf16", WORDS, WORDS_CONDITIONS),
         "pairs": small_part("pairs", PAIRS, PAIRS_CONDITIONS), "tiles": small_part("tiles", TILES, TILES_CONDITIONS)}        # by set of models, in the order of the file
HEADINGS = {"quantized": QUANTIZED, "portable": PORTABLE, "bf16": WORDS, "pairs": PAIRS, "tiles": TILES}       # what a part begins with, but the first
NOTHING = "# Benchmarks\n\nNothing was measured: `make bench`.\n"


def write(path, folder, only=None):
    """the parts of the file, or the one; what was not measured stays as it was"""
    text, before = path.read_text() if path.exists() else NOTHING, {}
    for name in reversed(PARTS):
        heading = HEADINGS[name][:HEADINGS[name].index("\n", 1) + 1] if name in HEADINGS else ""
        at = text.find(heading)
        before[name], text = (text[at:], text[:at]) if at >= 0 else ("", text)
    path.write_text("".join((part(folder) if only in (None, name) else None) or before[name] for name, part in PARTS.items()))
