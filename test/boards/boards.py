# SPDX-License-Identifier: MIT
"""Models on boards: compiles each for each, runs it in QEMU on its test vectors, holds the bits of the results against the compiler's interpreter
(--run with the same target and options), and says instructions, sizes and stack, a line for each.

    boards.py                                              # models of ../shared/models and of examples/, all boards, target generic
    boards.py --models=resnet8_int8,net.onnx --boards=m4,m55
    boards.py --target=own --options=--requantize=integer  # the target named after each board's core; options of dnncc
    boards.py --target=m4=cortex-m4,m0=generic --kernels   # by board; instructions of each function, too
    boards.py --write=docs/measurements/firmware.md        # make boards

A model is a folder of ../shared/models (DNNCC_MODELS is another place), a name of EXAMPLES or ZOO below, or a file. Test vectors are its test_data_set_K; where
there are none, two seeded ones. The exit code is 1 where bits differ or something failed, and where a tool is missing, which is named."""
import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
import dnncc  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", ROOT.parent / "shared" / "models"))
EXAMPLES = {"digits": ROOT / "examples" / "digits" / "digits.onnx", "digits_int8": ROOT / "examples" / "vta" / "digits_int8.onnx"}
ZOO = ["mobilenet_v1_quarter_qdq", "autoencoder_qdq"]       # test/bench/zoo writes them
SMALL = ["dscnn_kws_int8", "resnet8_int8", "micro_kws_qdq", "micro_kws_qoperator", "mnist_cnn", "micro_kws_fp32", "resnet8_fp32"]

K, M = 1 << 10, 1 << 20
ARM = ("arm-none-eabi-gcc", "gcc-arm-none-eabi, libnewlib-arm-none-eabi")
RISCV = ("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")
SYSTEM_ARM, SYSTEM_RISCV = ("qemu-system-arm", "qemu-system-arm"), ("qemu-system-riscv32", "qemu-system-misc")


@dataclasses.dataclass(frozen=True)
class Board:
    """cc, emulator: (command, package); own: dnncc's name of the core; code, ram: (address, bytes), None where there is an operating system"""
    what: str
    cc: tuple
    flags: str
    emulator: tuple
    machine: str
    own: str
    code: tuple = None
    ram: tuple = None
    stack: int = 16 * K

    @property
    def vectorizes(self):
        """its compiler makes vectors of plain C, which take more stack than the header says"""
        return self.own == "cortex-m55"

    @property
    def kind(self):
        return "hosted" if not self.code else "arm" if self.cc is ARM else "riscv"

    def missing(self):
        """the tools that are not here, in words"""
        return [f"{command} (package {package})" for command, package in (self.cc, self.emulator) if not shutil.which(command)]


def arm(what, flags, machine, own, code, ram, stack=16 * K):
    return Board(what, ARM, f"-mthumb {flags}", SYSTEM_ARM, f"-M {machine}", own, code, ram, stack)


M4F = "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
MPS2 = ((0, 4 * M), (0x20000000, 4 * M))
VIRT = ((0x80000000, 16 * M), (0x81000000, 64 * M))
BOARDS = {
    # The M3 executes what the M0 does, and has more memory there.
    "m0": arm("Cortex-M0 (code for it, on the M3's board)", "-mcpu=cortex-m0", "mps2-an385", "cortex-m0", *MPS2),
    "m3": arm("Cortex-M3", "-mcpu=cortex-m3", "mps2-an385", "cortex-m3", *MPS2),
    "m4": arm("Cortex-M4F", M4F, "mps2-an386", "cortex-m4", *MPS2),
    "m7": arm("Cortex-M7", "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16", "mps2-an500", "cortex-m7", *MPS2),
    "m33": arm("Cortex-M33", "-mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16", "mps2-an505", "cortex-m33", (0x10000000, 4 * M), (0x38000000, 4 * M)),
    "m55": arm("Cortex-M55, MVE", "-mcpu=cortex-m55 -mfloat-abi=hard", "mps3-an547", "cortex-m55", (0x10000000, 512 * K), (0x30000000, 512 * K)),
    "rv32": Board("RV32IMAC", RISCV, "-march=rv32imac -mabi=ilp32", SYSTEM_RISCV, "-M virt -bios none", "riscv32", *VIRT),
    "rv32f": Board("RV32IMAFC", RISCV, "-march=rv32imafc -mabi=ilp32f", SYSTEM_RISCV, "-M virt -bios none", "riscv32-f", *VIRT),
    "mips": Board("MIPS, 32 bits, big-endian, user mode", ("mips-linux-gnu-gcc", "gcc-mips-linux-gnu, libc6-dev-mips-cross"), "-static",
                  ("qemu-mips", "qemu-user"), "", "generic-be"),
    "s390x": Board("s390x, 64 bits, big-endian, user mode", ("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu, libc6-dev-s390x-cross"), "-static -fexcess-precision=fast",
                   ("qemu-s390x", "qemu-user"), "", "generic-be"),
    # small ones, to see what fits
    "microbit": arm("nRF51, M0, 256 KB and 16 KB", "-mcpu=cortex-m0", "microbit", "cortex-m0", (0, 256 * K), (0x20000000, 16 * K), 2 * K),
    "f100": arm("STM32F100, M3, 128 KB and 8 KB", "-mcpu=cortex-m3", "stm32vldiscovery", "cortex-m3", (0x08000000, 128 * K), (0x20000000, 8 * K), K),
    "f405": arm("STM32F405, M4F, 1 MB and 128 KB", M4F, "netduinoplus2", "cortex-m4", (0x08000000, M), (0x20000000, 128 * K), 4 * K),
}
WHOLE = [name for name in BOARDS if name not in ("microbit", "f100", "f405")]
# Bytes of --max-ram that networks are compiled within on these boards, each for its own core.
BUDGETS = {"dscnn_kws_int8": [16384, 9216], "resnet8_int8": [37120, 24576, 16384], "micro_kws_qdq": [20480, 12032], "mnist_cnn": [9984]}
BUDGET_BOARDS = ["m0", "m4", "m55", "rv32"]
FASTEST = "--max-ram=16M"    # with which nothing is done about memory
CORES = sorted({b.own for b in BOARDS.values()})
COMPILE = "-std=c99 -O2 -ffunction-sections -fdata-sections"
HARNESS = {"main", "measured", "count_begin", "count_end", "board_stack_paint", "board_stack_used", "?"}    # what is not the model's


class Failed(Exception):
    pass


@dataclasses.dataclass
class Row:
    """One model on one board. failed: why there is nothing more, or empty. predicted: instructions as --report has them, 0: it has none. stack: (painted, by
    -fstack-usage along the deepest path, without library functions, the bound that the header states, 0: none), bytes below the caller of run; code: the
    header's estimate; longest: instructions of the longest call, with --step of a step."""
    model: str
    board: str
    target: str
    options: str = ""
    failed: str = ""
    instructions: int = 0
    predicted: int = 0
    text: int = 0
    constants: int = 0
    workspace: int = 0
    stack: tuple = (0, 0, 0)
    code: int = 0
    sets: int = 0
    longest: int = 0
    functions: dict = dataclasses.field(default_factory=dict)

    def line(self):
        head = f"| {self.model} | {self.board} | {self.target} | "
        if self.failed:
            return f"{head}{self.failed} | | | | | | | |"
        count, painted = (f"{self.instructions / 1e6:.3f} M", self.stack[0]) if self.instructions else ("", "")
        count += f" in steps of {self.longest} at most" if self.longest < self.instructions else ""
        return f"{head}same, {self.sets} sets | {count} | {self.text} | {self.constants} | {self.workspace} | {painted} | {self.stack[1]} | {self.stack[2] or ''} |"


HEAD = ("| model | board | target | bits | instructions | .text | constants | workspace | stack, painted | -fstack-usage | stated |\n"
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")


def done(command, what, **keywords):
    found = dnncc.run(command, **{"timeout": 300, **keywords})
    if found.returncode:
        lines = (found.stderr or found.stdout).strip().splitlines() or [f"exit code {found.returncode}"]
        raise Failed(f"{what}: " + next((line for line in lines if "error" in line), lines[-1]))
    return found.stdout


# ---- the model: C, ports, vectors, expected bits ----

@functools.lru_cache(maxsize=None)
def zoo_model(name):
    sys.path.insert(0, str(ROOT / "test" / "bench"))
    from zoo import quantized
    return quantized.build(name)


def model_path(name):
    if name in ZOO:
        return zoo_model(name)
    return EXAMPLES.get(name) or (pathlib.Path(name) if name.endswith((".onnx", ".dnn", ".tflite")) else MODELS / name / "model.onnx")


def bindings(model):
    shapes = model.with_name("shapes.txt")
    lines = [line.rsplit(None, 2) for line in shapes.read_text().splitlines()] if model.name == "model.onnx" and shapes.exists() else []
    return [f"--input={name}={shape}" for name, _, shape in lines if shape != "scalar"]


def generate(model, target, options, folder):
    """folder/model.c; the report"""
    done([dnncc.DNNCC, model, f"--target={target}", *bindings(model), *options, "--no-descriptor", "--name=model", "-q", "-o", folder / "model.c",
          f"--report={folder / 'model.json'}"], "dnncc")
    return json.loads((folder / "model.json").read_text())


def ports(report, space):
    """[(numpy type, shape)]"""
    return [(np.dtype(dnncc.numpy_type(b["type"])), tuple(b["shape"])) for b in report["buffers"] if b["space"] == space]


def vectors(model, inputs):
    """[[array for each input] for each set]"""
    found = sorted(model.parent.glob("test_data_set_*")) if model.name == "model.onnx" else []
    if found:
        return [[dnncc.load_tensor(folder / f"input_{k}.pb") for k in range(len(inputs))] for folder in found]
    random = np.random.default_rng(1)
    return [[random.integers(-100, 100, shape).astype(kind) if kind.kind in "iu" else random.random(shape).astype(kind) for kind, shape in inputs]
            for _ in range(2)]


@functools.lru_cache(maxsize=None)
def expected(model, target, options):
    """what the interpreter makes of the vectors: (inputs, outputs) of each set"""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        report = generate(model, target, options, folder)
        sets = []
        for k, arrays in enumerate(vectors(model, ports(report, "input"))):
            given = folder / str(k)
            given.mkdir()
            for i, array in enumerate(arrays):
                np.save(given / f"input_{i}.npy", array)
            done([dnncc.DNNCC, model, f"--target={target}", *bindings(model), *options, "-q", "--run", given], "dnncc --run")
            sets.append((arrays, [np.load(given / f"output_{i}.npy") for i in range(len(ports(report, "output")))]))
        return sets


def write_ports(folder, report, sets):
    """ports.h, which main.c includes"""
    lines = ['#include "model.h"', "struct port { void *at; size_t size; const char *file; };"]
    names = []
    for space in ("input", "output"):
        sizes = [int(kind.itemsize * np.prod(shape, dtype=int)) for kind, shape in ports(report, space)]
        lines += [f"static union {{ unsigned char bytes[{max(size, 1)}]; uint64_t aligned; }} {space}_{k};" for k, size in enumerate(sizes)]
        rows = "".join(f'{{ &{space}_{k}, {size}, "{space}_{k}.bin" }}, ' for k, size in enumerate(sizes))
        lines.append(f"static const struct port {space}s[] = {{ {rows}{{ 0, 0, 0 }} }};")
        names += [f"(void *)&{space}_{k}" for k in range(len(sizes))]
    if report["workspace"]:
        lines.append("MODEL_WORKSPACE_DEFINE(workspace);")
    arguments = ", ".join(["&workspace" if report["workspace"] else "(void *)0", *names])
    lines.append(f"#define RUN model_run({arguments})")
    if "int model_step(" in (folder / "model.h").read_text():
        lines += [f"#define {name.upper()} model_{name}({arguments})" for name in ("begin", "step")]
    lines.append("#define SETS " + ", ".join(f'"{k}"' for k in range(sets)))
    (folder / "ports.h").write_text("\n".join(lines) + "\n")


# ---- the board: build, run, measure ----

def build(board, folder, flags, compiled=False):
    """folder/model.o, which may be compiled already, and folder/program"""
    cc = [board.cc[0], *board.flags.split()]
    bare = ["-ffreestanding"] if board.kind == "riscv" else []
    if not compiled:
        done([*cc, *COMPILE.split(), *bare, "-fstack-usage", "-fcallgraph-info=su", *flags, "-c", "model.c", "-o", "model.o"], board.cc[0], cwd=folder)
    harness = [*cc, "-std=c11", "-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-ffunction-sections", f"-I{folder}", f"-I{HERE}",
               HERE / "main.c", HERE / f"{board.kind}.c", folder / "model.o", "-o", folder / "program"]
    if board.kind == "hosted":
        done([c for c in harness if c != "-ffreestanding"], "linking")
        return
    script = folder / "board.ld"
    script.write_text("MEMORY { " + " ".join(f"{name} : ORIGIN = {at:#x}, LENGTH = {size}" for name, (at, size) in (("CODE", board.code), ("RAM", board.ram)))
                      + f" }}\nstack_size = {board.stack};\nINCLUDE {HERE / (board.kind + '.ld')}\n")
    more = ["-lc", "-lgcc"] if board.kind == "arm" else ["-mcmodel=medany", "-nostdlib", "-lgcc"]
    found = dnncc.run([*harness, "-nostartfiles", "-T", script, "-Wl,--gc-sections,--no-warn-rwx-segments", *more])
    if found.returncode:
        over = re.search(r"region `(\w+)' overflowed by (\d+) bytes", found.stderr)
        raise Failed(f"does not fit: {over[1]} is short of {over[2]} bytes" if over else f"linking: {found.stderr.strip().splitlines()[-1]}")


def sizes(board, folder):
    """(.text, constants) of model.o"""
    tool = board.cc[0].replace("-gcc", "-size")
    sections = re.findall(r"^(\.\S+)\s+(\d+)", done([tool, "-A", folder / "model.o"], tool), re.M)
    writable = [name for name, size in sections if re.match(r"\.s?(data|bss)\b(?!\.rel\.ro)", name) and int(size)]
    if writable:
        raise Failed(f"writable data in {writable}")
    return (sum(int(size) for name, size in sections if name.startswith(".text")), sum(int(size) for name, size in sections if re.match(r"\.s?rodata", name)))


def deepest(folder, root="model_run"):
    """bytes of stack from root down, along the deepest path that gcc knows; library functions count as nothing"""
    text = (folder / "model.ci").read_text()
    frames, calls = {}, {}
    for title, label in re.findall(r'node: \{ title: "([^"]+)" label: "([^"]+)"', text):
        size = re.search(r"(\d+) bytes \((\w[\w,]*)\)", label)
        if size and size[2] != "static":
            raise Failed(f"a frame of {title} is not static")
        frames[title] = int(size[1]) if size else 0
    for source, target in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
        calls.setdefault(source, set()).add(target)

    @functools.lru_cache(maxsize=None)
    def depth(name):
        return frames.get(name, 0) + max((depth(c) for c in calls.get(name, ())), default=0)
    return max(depth(title) for title in frames if title.split(":")[-1] == root)


def stated(header, pointer=4):
    """(stack at most, code about) of a header; 0: it does not say"""
    stack = re.search(r"_STACK_SIZE \((\d+)u \+ (\d+)u \* sizeof\(void \*\)\)", header)
    code = re.search(r"_CODE_ESTIMATE (\d+)u", header)
    return (int(stack[1]) + pointer * int(stack[2]) if stack else 0, int(code[1]) if code else 0)


@functools.lru_cache(maxsize=None)
def plugin():
    source = ROOT / "test" / "bench" / "instructions.c"
    return dnncc.once(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", source], ".so", source.read_bytes())


def execute(board, folder):
    """({function: instructions} of the first set, those of its longest call, stack)"""
    command = [board.emulator[0], *board.machine.split(), "-plugin", f"{plugin()},begin=count_begin,end=count_end", "-d", "plugin", "-D", "counts.txt"]
    if board.kind == "hosted":
        command += ["./program"]
    else:
        command += ["-nographic", "-monitor", "none", "-serial", "none", "-chardev", "stdio,id=host", "-semihosting-config",
                    "enable=on,target=native,chardev=host", "-kernel", "program"]
    try:
        found = dnncc.run(command, timeout=200, cwd=folder, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failed("does not end") from None
    said = " ".join(found.stdout.split())
    if found.returncode:
        raise Failed(f"run: exit code {found.returncode}: {said} {found.stderr.strip()[-200:]}")
    counts = [line.split(" ", 1) for line in (folder / "counts.txt").read_text().splitlines()]
    functions = {name: int(count) for count, name in counts if name not in HARNESS}
    return functions, functions.pop("[most]"), int(re.search(r"stack (\d+)", said)[1])


def measure(name, board_name, target, options=(), flags=(), emit=()):
    """flags: of the C compiler, for model.c; emit: options by which dnncc makes the object, without a C compiler"""
    board, model = BOARDS[board_name], model_path(name)
    row = Row(model.parent.name if model.name == "model.onnx" else model.stem, board_name, target, " ".join(options))
    big = "mips" in board.cc[0] or "s390x" in board.cc[0]
    order = ">" if big else "<"
    if missing := board.missing():
        row.failed = f"not run: there is no {', no '.join(missing)}"
        return row
    if not model.exists():
        row.failed = f"not run: there is no {model}"
        return row
    with tempfile.TemporaryDirectory(prefix="dnncc-board-") as folder:
        folder = pathlib.Path(folder)
        try:
            sets = expected(model, target, tuple(options))
            report = generate(model, target, options, folder)
            write_ports(folder, report, len(sets))
            for k, (arrays, _) in enumerate(sets):
                (folder / str(k)).mkdir()
                for i, array in enumerate(arrays):
                    (folder / str(k) / f"input_{i}.bin").write_bytes(array.astype(array.dtype.newbyteorder(order)).tobytes())
            if emit:
                done([dnncc.DNNCC, model, f"--target={target}", *bindings(model), *options, "--no-descriptor", "--name=model", "-q", "-o", folder / "model.o", *emit], "dnncc")
            build(board, folder, flags, compiled=bool(emit))
            row.workspace, row.sets = report["workspace"], len(sets)
            row.text, row.constants = sizes(board, folder)
            row.functions, row.longest, painted = execute(board, folder)
            bound, row.code = stated((folder / "model.h").read_text())
            row.stack = (painted, 0 if emit else deepest(folder), bound if board.kind != "hosted" and not emit else 0)
            if row.stack[2] and max(row.stack[:2]) > row.stack[2] and not board.vectorizes:
                raise Failed(f"the stack takes {painted} bytes ({row.stack[1]} by -fstack-usage), the header says {bound}")
            row.instructions = sum(row.functions.values()) if board.kind != "hosted" else 0
            row.predicted = sum(call.get("instructions", 0) for call in report["calls"])
            for k, (_, wanted) in enumerate(sets):
                for i, array in enumerate(wanted):
                    found = (folder / str(k) / f"output_{i}.bin").read_bytes()
                    if found != array.astype(array.dtype.newbyteorder(order)).tobytes():
                        raise Failed(f"bits differ in output {i} of set {k}")
        except Failed as failure:
            row.failed = str(failure)
    return row


def target_of(board, said):
    """--target: one for all, own, or board=target,.."""
    chosen = dict(part.split("=", 1) for part in said.split(",")) if "=" in said else {}
    own = BOARDS[board].own
    generic = "generic-be" if own == "generic-be" else "generic"
    found = chosen.get(board, "generic" if "=" in said else said)
    return {"own": own, "generic": generic}.get(found, found)


# ---- the tables ----

def matrix(rows, boards, value):
    """models x boards"""
    models = list(dict.fromkeys(row.model for row in rows))
    of = {(row.model, row.board): row for row in rows}
    yield "| model | " + " | ".join(boards) + " |"
    yield "| --- |" + " ---: |" * len(boards)
    for model in models:
        found = [of.get((model, b)) for b in boards]
        yield f"| {model} | " + " | ".join("" if r is None else "failed" if r.failed else str(value(r)) for r in found) + " |"


def budget_table(rows):
    """rows: those of BUDGETS, and of their models without a budget and by the fastest plan"""
    whole = {(r.model, r.board): r for r in rows if r.options == FASTEST}
    yield "\n## Within a budget\n"
    yield ("Compiled for the board's own core with `--max-ram`: rows are passed on where the workspace is larger. `times` are the instructions to those of the fastest\n"
           "plan, which `16M` gives. Without `--max-ram`, the row `none`, rows are passed on where that is predicted to take no more instructions (rate `code_rows`).\n"
           "`boards.py --budgets` prints the rows.\n")
    yield "| model | board | --max-ram | workspace | instructions, millions | times |\n| --- | --- | ---: | ---: | ---: | ---: |"
    for r in rows:
        if r.failed:
            yield f"| {r.model} | {r.board} | {r.options} | {r.failed} | | |"
            continue
        times = r.instructions / max(whole[r.model, r.board].instructions, 1)
        yield f"| {r.model} | {r.board} | {r.options.rpartition('=')[2] or 'none'} | {r.workspace} | {r.instructions / 1e6:.2f} | {times:.2f} |"


def page(tables, boards, budgets):
    """tables: {title: rows}; budgets: rows"""
    bare = [b for b in boards if BOARDS[b].kind != "hosted"]
    yield "# Measured: firmware\n"
    yield ("Written by `make boards` ([boards.py](../../test/boards/boards.py)): each model compiled for each board, run in QEMU on its test vectors, and its\n"
           "results the same bits as those of the compiler's interpreter, on big-endian machines, too. Instructions are those of one inference, counted to the\n"
           "last one, library functions included; code is `.text` of the model's object, constants its `.rodata`; the stack is what lies below the caller of run,\n"
           f"painted, along the deepest path of `-fstack-usage`, which knows no library functions, and the bound that the header states. Compiled with `gcc {COMPILE}`.\n")
    versions = [done([t, "--version"], t).splitlines()[0] for t in dict.fromkeys(t for b in boards for t in (BOARDS[b].cc[0], BOARDS[b].emulator[0])) if shutil.which(t)]
    yield "Tools: " + "; ".join(versions) + ".\n"
    yield "| board | core | flags |\n| --- | --- | --- |"
    yield from (f"| {b} | {BOARDS[b].what} | `{BOARDS[b].flags}` |" for b in boards)
    for title, rows in tables.items():
        if wrong := [r for r in rows if r.failed]:
            yield f"\n## {title}: what failed\n"
            yield from (f"- {r.model} on {r.board}: {r.failed}" for r in wrong)
        yield f"\n## {title}: instructions, millions\n"
        yield from matrix(rows, bare, lambda r: f"{r.instructions / 1e6:.2f}")
        if any(r.predicted for r in rows):
            yield f"\n## {title}: instructions that --report predicts, to those counted\n"
            yield from matrix(rows, bare, lambda r: f"{r.predicted / r.instructions:.2f}" if r.predicted else "")
        yield f"\n## {title}: code, bytes\n"
        yield from matrix(rows, bare, lambda r: r.text)
        yield f"\n## {title}: stack, bytes\n"
        yield from matrix(rows, bare, lambda r: " / ".join(map(str, r.stack)))
        yield f"\n## {title}: memory, bytes, and the header's estimate of code\n\n| model | workspace | constants | code |\n| --- | ---: | ---: | ---: |"
        yield from (f"| {r.model} | {r.workspace} | {r.constants} | {r.code or ''} |" for r in rows if r.board == bare[0] and not r.failed)
    if budgets:
        yield from budget_table(budgets)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter, epilog=__doc__.partition("\n\n")[2])
    p.add_argument("--models", default=",".join([*EXAMPLES, *SMALL, *ZOO]))
    p.add_argument("--boards", default=",".join(WHOLE), help=f"of {', '.join(BOARDS)}")
    p.add_argument("--target", default="generic")
    p.add_argument("--options", default="", help="of dnncc, as a shell would read them")
    p.add_argument("--flags", default="", help="of the C compiler, for the model")
    p.add_argument("--kernels", action="store_true")
    p.add_argument("--budgets", action="store_true", help="models within the bytes of BUDGETS, for the boards' own cores")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--write", type=pathlib.Path, help="a page of targets generic, with and without --requantize=integer, and own where that is another one")
    o = p.parse_args()
    models, boards = o.models.split(","), o.boards.split(",")
    if unknown := [b for b in boards if b not in BOARDS]:
        p.error(f"no board {unknown[0]}: there are {', '.join(BOARDS)}")
    options = tuple(shlex.split(o.options))

    def table(target, options, jobs=None):
        jobs = jobs or [(m, b, target_of(b, target), options, tuple(shlex.split(o.flags))) for m in models for b in boards]
        rows = []
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for row in pool.map(lambda job: measure(*job), jobs):
                print(row.line(), flush=True)
                for name, count in sorted(row.functions.items(), key=lambda f: -f[1]) if o.kernels else ():
                    print(f"    {count:12d}  {name}", flush=True)
                rows.append(row)
        return rows
    within = [(m, b, target_of(b, "own"), limit) for b in BUDGET_BOARDS if b in boards for m in BUDGETS if m in models
              for limit in [(FASTEST,), (), *((f"--max-ram={n}",) for n in BUDGETS[m])]]
    print(HEAD)
    if o.budgets:
        rows = table("own", (), within)
        print("\n".join(budget_table(rows)))
    elif o.write:
        tables = {"generic": table("generic", ()), "generic, --requantize=integer": table("generic", ("--requantize=integer",))}
        known = re.findall(r"^\s*([\w-]+)", done([dnncc.DNNCC, "--target=help"], "dnncc"), re.M)
        if any(b.own in known and b.own != "generic-be" for b in map(BOARDS.get, boards)):
            tables["own target"] = table("own", ())
        budgets = table("own", (), within) if within else []
        o.write.write_text("\n".join(page(tables, boards, budgets)) + "\n")
        rows = [row for found in [*tables.values(), budgets] for row in found]
    else:
        rows = table(o.target, options)
    for tool in dict.fromkeys(t for b in boards for t in BOARDS[b].missing()):
        print(f"there is no {tool}", file=sys.stderr)
    sys.exit(any(row.failed for row in rows))


if __name__ == "__main__":
    main()
