# SPDX-License-Identifier: MIT
"""How many instructions onnxruntime takes for a whole network on 64-bit ARM, under qemu, beside generated code: an anchor of docs/arm.md.

    mkdir -p lists/partial cache/archives/partial root/site
    o="-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State::Lists=$PWD/lists -o Dir::Cache=$PWD/cache"
    apt-get $o update && apt-get $o download python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libstdc++6 libgcc-s1 \\
        zlib1g libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5 libuuid1
    for package in *.deb; do dpkg-deb -x $package root; done
    pip download --only-binary=:all: --python-version=3.11 --platform=manylinux_2_28_aarch64 --platform=manylinux_2_27_aarch64 \\
        --platform=manylinux2014_aarch64 onnxruntime numpy
    for wheel in *.whl; do python3 -m zipfile -e $wheel root/site; done
    arm_engines.py --root=root --models=resnet50,mobilenet_v2,bert_base

One inference is the difference between a program that runs one and a program that runs two; one thread, all graph optimizations. onnxruntime's copy of cpuinfo reads /proc/cpuinfo, which is the host's under qemu: the folder gets one of its own, of the
processor that qemu is told to be."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import instructions  # noqa: E402
import zoo  # noqa: E402

PARTS = {"cortex-a72": ("0xd08", ""), "neoverse-n1": ("0xd0c", " asimddp"), "cortex-a76": ("0xd0b", " asimddp")}
ENGINES = {"onnxruntime": """
import sys, numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
given = dict(np.load(sys.argv[2]))
for _ in range(int(sys.argv[3])):
    session.run(None, given)
"""}


def pretend(root, cpu):
    """what a kernel on such a processor, with one core, says of it"""
    part, features = PARTS[cpu]
    cores = root / "sys/devices/system/cpu"
    (cores / "cpu0").mkdir(parents=True, exist_ok=True)
    (root / "proc").mkdir(exist_ok=True)
    for name in ("possible", "present", "online"):
        (cores / name).write_text("0\n")
    (root / "proc/cpuinfo").write_text(f"processor\t: 0\nFeatures\t: fp asimd crc32{features}\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
                                       f"CPU variant\t: 0x1\nCPU part\t: {part}\nCPU revision\t: 0\n\n")


def run(engine, model, given, turns, cpu, root, plugin, folder):
    (folder / "engine.py").write_text(ENGINES[engine])
    command = ["qemu-aarch64", "-cpu", cpu, "-L", root, "-E", f"PYTHONPATH={root / 'site'}", "-E", f"PYTHONHOME={root / 'usr'}", "-E", "PYTHONHASHSEED=0",
               "-plugin", plugin, "-d", "plugin", "-D", folder / "counts.txt", root / "usr/bin/python3.11", "-S", folder / "engine.py", model, given, turns]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{engine} ended with {done.returncode}: {done.stderr[-1000:]}")
    return sum(int(line.split(" ", 1)[0]) for line in (folder / "counts.txt").read_text().splitlines())


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--root", type=pathlib.Path, required=True, help="where packages and wheels for arm64 are unpacked")
    p.add_argument("--models", default="resnet50,mobilenet_v2,bert_base", help="of the zoo")
    p.add_argument("--cpu", default="cortex-a72", choices=PARTS)
    p.add_argument("--target", default="aarch64")
    p.add_argument("--dnncc", default=instructions.ROOT / "build" / "dnncc")
    p.add_argument("--engines", default="onnxruntime")
    o = p.parse_args()
    root = o.root.resolve()
    pretend(root, o.cpu)
    print(f"| model | `{o.target}` | products an instruction | " + " | ".join(f"{engine}, {o.cpu} | of it" for engine in o.engines.split(",")) + " |\n"
          "| --- |" + " ---: |" * (2 + 2 * len(o.engines.split(","))))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plugin = instructions.build_plugin(folder)
        for name in o.models.split(","):
            model, given = zoo.build(name), folder / f"{name}.npz"
            instructions.np.savez(given, **zoo.inputs(name, seed=1))
            ours, products, _ = instructions.measure(o.dnncc, model, o.target, plugin)
            line = f"| {name} | {ours / 1e6:.1f} M | {products / ours:.2f} |"
            for engine in o.engines.split(","):
                one, two = (run(engine, model, given, turns, o.cpu, root, plugin, folder) for turns in (1, 2))
                line += f" {(two - one) / 1e6:.1f} M | {ours / (two - one):.2f} |"
            print(line, flush=True)


if __name__ == "__main__":
    main()
