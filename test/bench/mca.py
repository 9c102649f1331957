# SPDX-License-Identifier: MIT
"""Products in a cycle of the loops of register tiles, as LLVM's models of cores predict it, beside what these models give for the same
products independent of each other, and nothing else.

    apt-get install llvm-19
    mca.py                                                 # f32 and bytes by each core's own target
    mca.py --cores=neoverse-v1 --kernels=resnet8_fp32:aarch64-i8mm:bf16,resnet8_int8:aarch64-sve256

Loops are cut out of the object file by their branch back (test/support/machine_code.py), the one of most products; llvm-mca runs
each many times over, with all that it reads in the first cache. LLVM 19 has models of its own for cortex-a53, cortex-a55, neoverse-n1
and neoverse-v1; others it takes for a core that it knows."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))
import dnncc  # noqa: E402
import machine_code  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", ROOT.parent / "shared" / "models"))
CORES = ["cortex-a53", "cortex-a55", "cortex-a72", "neoverse-n1", "neoverse-v1", "apple-m1"]
EACH = {"fmla": 4, "fmad": 4, "fmlal": 4, "sdot": 16, "usdot": 16, "sudot": 16, "smmla": 32, "usmmla": 32, "ummla": 32, "bfdot": 8, "bfmmla": 16,
        "smull": 8, "smlal": 8}        # products of an instruction, of 128 bits
LENGTH = 2                              # of neoverse-v1's SVE registers, in these
TURNS = 100
REGISTERS = 24                          # of sums, where nothing waits for a sum


def products_of(body):
    return sum(EACH.get(text.split()[0], 0) * (LENGTH if re.search(r"\bz\d", text) else 1) for text in body)


def largest_loop(name, target, precision, folder):
    """the loop of most products, of those that are tiles"""
    model = pathlib.Path(name) if name.endswith(".onnx") else MODELS / name / "model.onnx"
    shapes = model.with_name("shapes.txt")
    bind = [f"--input={line.split()[0]}={line.split()[2]}" for line in shapes.read_text().splitlines()] if shapes.exists() else []
    dnncc.compile_model(model, folder, [f"--target={target}", f"--precision={precision}", *bind])
    subprocess.run(["aarch64-linux-gnu-gcc", "-O2", "-c", folder / "model.c", "-o", folder / "model.o"], check=True)
    tiles = [body for _, body in machine_code.tile_loops(machine_code.listing(folder / "model.o"))]
    return max(tiles, key=products_of)


def cycles(body, core, mca):
    """of one turn"""
    lines = [re.sub(r"^(b\.?\w*|cbn?z\s+\w+,|tbn?z\s+\w+, #\d+,)\s+[0-9a-f]+ <.*", r"\1 0", text.split("//")[0]) for text in body]
    done = subprocess.run([mca, "-mtriple=aarch64", "-mattr=+dotprod,+i8mm,+bf16,+fullfp16,+fp16fml,+sve", f"-mcpu={core}", f"-iterations={TURNS}", "-instruction-info=0", "-resource-pressure=0"],
                          input="\n".join(lines) + "\n", capture_output=True, text=True)
    found = re.search(r"^Total Cycles:\s+(\d+)", done.stdout, re.M)
    if not found:
        sys.exit(f"{mca}: {done.stderr[:1000]}")
    return int(found[1]) / TURNS


def alone(body):
    """its products, each to a register of its own, of operands that are there"""
    products = [text.split("//")[0] for text in body if text.split()[0] in machine_code.ARM64.products]
    independent = []
    for k, text in enumerate(products[k % len(products)] for k in range(REGISTERS * max(1, len(products) // REGISTERS))):
        name, operands = text.split(None, 1)
        registers = iter([str(32 - REGISTERS + k % REGISTERS), "0", "1", "2"])
        independent.append(name + "\t" + re.sub(r"\b([vz])\d+", lambda m: m[1] + next(registers), operands))
    return independent


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--mca", default="llvm-mca-19")
    p.add_argument("--cores", default=",".join(CORES))
    p.add_argument("--kernels", default="resnet8_fp32,resnet8_int8", help="model, model:target or model:target:precision; without a target the core's own")
    o = p.parse_args()
    print("| core | model | target | products a cycle | alone | of it |\n| --- | --- | --- | ---: | ---: | ---: |")
    for core in o.cores.split(","):
        for kernel in o.kernels.split(","):
            name, target, precision = (kernel.split(":") + ["", ""])[:3]
            target, precision = target or core, precision or "f32"
            with tempfile.TemporaryDirectory() as folder:
                body = largest_loop(name, target, precision, pathlib.Path(folder))
            reached, most = (products_of(loop) / cycles(loop, core, o.mca) for loop in (body, alone(body)))
            print(f"| {core} | {name}{'' if precision == 'f32' else ', ' + precision} | `{target}` | {reached:.1f} | {most:.1f} | {reached / most:.0%} |", flush=True)


if __name__ == "__main__":
    main()
