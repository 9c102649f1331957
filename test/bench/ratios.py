# SPDX-License-Identifier: MIT
"""What low precision costs in time: one way to compile a model by another, in turns on one core, in processor time.

    build/bench-venv/bin/python test/bench/ratios.py [--rounds N] [--target NAME] [NAME ..]      names of ROWS, or how names begin; default: all

A row is a model of the zoo, what is measured, and what it is measured by: what onnxruntime's quantizer makes of the model, compiled by
dnncc as well, or the model in f32. A line has the median over rounds of ratios of neighbouring turns, the lowest and the highest; the
processor stands above them. Files go to build/ratios.
"""
import argparse
import pathlib
import statistics
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "bench"), str(ROOT / "test" / "support")]
import subjects  # noqa: E402
from engines import Engine  # noqa: E402

OUT = ROOT / "build" / "ratios"
STATIC, F32 = "static", None            # --quantize by ranges of the inputs that calibrate onnxruntime's file, too
PAST, CACHES = 1000, "caches in f32"    # GPT-2's step after so many tokens, by the same with weights in s8 alone
# name: (model, options, what it is measured by: a quantized model of the zoo, F32)
ROWS = {
    "resnet50": ("resnet50", STATIC, "resnet50_qdq_u8"),
    "mobilenet_v2": ("mobilenet_v2", STATIC, "mobilenet_v2_qdq"),
    "bert_base": ("bert_base", STATIC, "bert_base_qdq"),
    "gpt_step": ("gpt_step", STATIC, "gpt_step_qdq"),
    "bert_base dynamic": ("bert_base", ["--quantize=dynamic"], "bert_base_dynamic"),
    "gpt_step dynamic": ("gpt_step", ["--quantize=dynamic"], "gpt_step_dynamic"),
    "gpt_step dynamic s4": ("gpt_step", ["--quantize=dynamic", "--quantize-weights=s4"], "gpt_step_nbits4"),     # accuracy_level 4, too
    "gpt_step dynamic s8:32": ("gpt_step", ["--quantize=dynamic", "--quantize-weights=s8:32"], "gpt_step_nbits8"),
    "gpt_step f16 weights": ("gpt_step", ["--quantize-weights=f16"], F32),
    "gpt_step bf16 weights": ("gpt_step", ["--quantize-weights=bf16"], F32),
    "gpt_step f8e4m3 weights": ("gpt_step", ["--quantize-weights=f8e4m3"], F32),
    "gpt_step s8 weights": ("gpt_step", ["--quantize-weights=s8"], F32),
    "resnet50 f16 weights": ("resnet50", ["--quantize-weights=f16"], F32),
    "resnet50 f16 products": ("resnet50", ["--precision=f16"], F32),
    "mobilenet_v2 f16 weights": ("mobilenet_v2", ["--quantize-weights=f16"], F32),
    "mobilenet_v2 f16 products": ("mobilenet_v2", ["--precision=f16"], F32),
    "gpt_step 1000 rows": (PAST, ["--quantize-weights=s8", "--quantize-port=past_key_values*=rows", "--quantize-port=present*=rows"], CACHES),
    "mobilenet_v2 dynamic": ("mobilenet_v2", ["--quantize=dynamic"], F32),
}


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "unknown processor")


def ranges(model, path):
    """the file of ranges, of what calibrates onnxruntime's quantizer"""
    import quantizing
    import zoo
    from zoo import quantized
    folder = OUT / f"{model}-samples"
    folder.mkdir(parents=True, exist_ok=True)
    seen = [zoo.inputs(model, seed) for seed in quantized.CALIBRATION]
    return quantizing.calibrate(path, folder, {k: np.stack([s[k] for s in seen]) for k in seen[0]})


def after(past):
    """GPT-2's step after so many tokens: the model, its inputs, and those with caches of bytes"""
    from dataclasses import replace
    import zoo
    from zoo import graph, sequences
    caches = [zoo.Input(name, (1, 12, past, 64)) for name in (i.name for i in zoo.MODELS["gpt_step"].inputs) if name.startswith("past")]
    model = replace(zoo.MODELS["gpt_step"], inputs=(zoo.tokens("input_ids", 1, 50257), zoo.tokens("position_ids", 1, past + 1, past), *caches))
    given = {i.name: i.sample(np.random.default_rng([1, k])) for k, i in enumerate(model.inputs)}
    path = OUT / f"gpt_{past}.onnx"
    if not path.exists():
        g = graph.Graph(path.stem, given, model.opset)
        sequences.gpt(g)
        g.save(path, f"gpt_{past}.weights")
    scales = {f"{n}_scale": (np.abs(v).max(-1) / np.float32(127)).astype(np.float32) for n, v in given.items() if n.startswith("past")}
    rows = {n: np.rint(v / scales[f"{n}_scale"][..., None]).astype(np.int8) if n.startswith("past") else v for n, v in given.items()}
    return path, given, rows | scales


def engine(name, path, inputs, options, compiler, target):
    subject = subjects.Subject(name, path, list(inputs.items()))
    given = subject.write_inputs(OUT / "io" / name / "in")
    folder = compiler.compile(path, target, options=options)[0]
    return Engine(name, compiler.command(folder, given, OUT / "io" / name / "out", [0]))


def measure(name, o, compiler):
    import zoo
    from zoo import quantized
    model, how, by = ROWS[name]
    if by == CACHES:
        path, inputs, ours = after(model)
        base, plain = path, how[:1]
    else:
        path, inputs = zoo.build(model), zoo.inputs(model, 1)
        ours, base, plain = inputs, quantized.build(by) if by else path, []
    options = [f"--quantize={ranges(model, path)}"] if how == STATIC else how
    pair = [engine(f"{name} ours".replace(" ", "-"), path, ours, options, compiler, o.target),
            engine(f"{name} base".replace(" ", "-"), base, inputs, plain, compiler, o.target)]
    found = []
    for k in range(o.rounds):           # who is first takes turns
        order = pair if k % 2 else pair[::-1]
        times = {e.name: e.turn(o.seconds, "processor")["median"] for e in order}
        found.append(times[pair[0].name] / times[pair[1].name])
    for e in pair:
        e.close()
    print(f"{name:28s} by {by or 'f32':20s} {statistics.median(found):6.3f}   ({min(found):.3f} to {max(found):.3f})", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("names", nargs="*")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--target", default="native")
    p.add_argument("--dnncc", default=ROOT / "build" / "dnncc")
    p.add_argument("--cc", default="cc")
    o = p.parse_args()
    chosen = [n for n in ROWS if not o.names or any(n == w or (w not in ROWS and n.startswith(w)) for w in o.names)]
    if not chosen:
        p.error(f"no row is called that: {', '.join(ROWS)}")
    OUT.mkdir(parents=True, exist_ok=True)
    compiler = subjects.Compiler(o.dnncc, o.cc, OUT)
    print(f"{processor()}, --target={o.target}, {compiler.cc_version}, one thread")
    for name in chosen:
        try:
            measure(name, o, compiler)
        except subjects.Failed as reason:
            print(f"{name}: {reason}", flush=True)


if __name__ == "__main__":
    main()
