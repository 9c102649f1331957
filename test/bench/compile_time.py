# SPDX-License-Identifier: MIT
"""How long C compilers take over code for other machines: processor time of -O2 -c, over that for x86-64-v3, medians.

    compile_time.py --targets=aarch64 --compilers=gcc,clang --rounds=3
    compile_time.py --models=build/zoo/resnet50.onnx --options=--weights=file        # of the code, without the weights' text"""
import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import instructions  # noqa: E402
import processor  # noqa: E402

MACHINES = {"aarch64": "aarch64-linux-gnu", "arm": "arm-linux-gnueabihf", "riscv64": "riscv64-linux-gnu"}     # qemu's name: Debian's


def command(target, compiler):
    emulator = processor.emulator(target)
    if not emulator:
        return [compiler]
    machine = MACHINES[emulator.run[0].removeprefix("qemu-")]
    if compiler == "gcc":
        return [f"{machine}-gcc"]
    return [compiler, f"--target={machine}", f"-I/usr/{machine}/include", *(["-mfpu=neon-vfpv4"] if target == "armv7-neon" else [])]


def spent(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, arguments)), check=True, env={"PATH": "/usr/bin:/bin"})         # no cache of compilers
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--models", default="resnet8_fp32,resnet8_int8,dscnn_kws_int8,mnist_cnn", help="names, or .onnx files")
    p.add_argument("--options", default="", help="of dnncc, by blanks")
    p.add_argument("--targets", default="aarch64")
    p.add_argument("--compilers", default="gcc,clang")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--dnncc", default=instructions.ROOT / "build" / "dnncc")
    o = p.parse_args()
    targets, compilers = ["x86-64-v3", *o.targets.split(",")], o.compilers.split(",")
    print("| model | target | " + " | ".join(compilers) + " |\n| --- | --- |" + " ---: |" * len(compilers))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in o.models.split(","):
            model = pathlib.Path(name) if name.endswith(".onnx") else instructions.MODELS / name / "model.onnx"
            for target in targets:
                (folder / target).mkdir(exist_ok=True)
                subprocess.run([o.dnncc, model, f"--target={target}", *instructions.bindings(model), *o.options.split(), "-q", "-o", folder / target / "model.c"], check=True)
            times = {(t, c): [] for t in targets for c in compilers}
            for _ in range(o.rounds):
                for target, compiler in times:
                    times[target, compiler].append(spent([*command(target, compiler), "-O2", "-c", folder / target / "model.c", "-o", folder / "model.o"]))
            for target in targets[1:]:
                ratios = [statistics.median(times[target, c]) / statistics.median(times[targets[0], c]) for c in compilers]
                print(f"| {model.stem if name.endswith('.onnx') else name} | {target} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
