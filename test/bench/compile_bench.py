"""What compiling a large network costs: time and peak memory of dnncc, then of gcc -O2 on what it wrote, for each form of weights.

    make bench-compile                # a full-size ResNet-50
    compile_bench.py vgg16 --target=x86-64-v4
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from zoo import build

ROOT = pathlib.Path(__file__).resolve().parents[2]
DNNCC = os.environ.get("DNNCC", ROOT / "build" / "dnncc")
RUNS = 3


def measure(command):
    """(seconds, seconds of processor time, peak resident MB) of a command: the fastest of some runs"""
    def once():
        start = time.monotonic()
        process = subprocess.Popen([str(c) for c in command])
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{command[0]} failed")
        return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return min(once() for _ in range(RUNS))


def main(name="resnet50", *options):
    model = build(name)
    print(f"{name}, {model.stat().st_size / 1e6:.0f} MB {' '.join(options)}")
    print(f"{'':9} {'seconds':>8} {'cpu':>6} {'MB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("inline", "incbin", "file"):
            c = pathlib.Path(folder) / weights / "model.c"
            c.parent.mkdir()
            rows = {"dnncc": [DNNCC, model, "-o", c, f"--weights={weights}", *options],
                    "gcc -O2": ["gcc", "-std=c99", "-O2", f"-I{c.parent}", "-c", c, "-o", c.with_suffix(".o")]}
            for tool, command in rows.items():
                seconds, processor, memory = measure(command)
                size = sum(f.stat().st_size for f in c.parent.glob("model.[cw]*") if tool == "dnncc" or f == c) / 1e6
                print(f"{tool:9} {seconds:8.1f} {processor:6.1f} {memory:6.0f}  --weights={weights}, "
                      f"{size:.1f} MB {'written' if tool == 'dnncc' else 'of C'}", flush=True)


main(*sys.argv[1:])
