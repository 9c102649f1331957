# SPDX-License-Identifier: MIT
"""--emit=object and its kin: an object of LLVM's is linked as the C would be, and gives the interpreter's bits and C's codes. Where LLVM is missing these
tests are skipped, and say so."""
import pathlib
import os
import re
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
SMALL = ["mnist_cnn", "resnet8_fp32", "resnet8_int8", "dscnn_kws_int8", "micro_kws_qoperator", "ncf_recommender"]
HERE = ["generic", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-bf16"]
# Of other machines: the target, a triple where it has none of its own, and what stands for them.
LINUX = {"x86_64": None, "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu max"), "armv7": ("arm-linux-gnueabihf-gcc", "qemu-arm -cpu max"),
         "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"), "i686": ("i686-linux-gnu-gcc", "qemu-i386"), "s390x": ("s390x-linux-gnu-gcc", "qemu-s390x")}
TRIPLES = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "armv7": "armv7-linux-gnueabihf", "riscv64": "riscv64-linux-gnu", "i686": "i686-linux-gnu",
           "s390x": "s390x-linux-gnu"}
ELSEWHERE = ["aarch64", "aarch64-dotprod", "aarch64-fp16", "aarch64-i8mm", "cortex-a53", "neoverse-v1", "armv7-neon", "riscv64"]
TILED = ["aarch64-i8mm", "neoverse-v1"]
QUANTIZED = ["resnet8_int8", "micro_kws_qoperator"]
VERSION = re.search(rb"libLLVM-(\d+)\.so", pathlib.Path(dnncc.DNNCC).read_bytes())          # that dnncc loads; its tools read what it writes
TOOLS = pathlib.Path(os.environ.get("LLVM_TOOLS", f"/usr/lib/llvm-{VERSION[1].decode() if VERSION else 14}/bin"))


def emit(model, folder, *options, what="object", timeout=300):
    suffix = {"object": "o", "llvm": "ll", "bitcode": "bc", "asm": "s"}[what]
    done = dnncc.run([dnncc.DNNCC, model, f"--emit={what}", "--name=model", "-q", "-o", folder / f"model.{suffix}", *options], timeout=timeout)
    return done


def missing():
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--emit=llvm", "--target=x86-64", "-o", "-"])
    return done.stderr if done.returncode == dnncc.UNSUPPORTED else None


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"LLVM is missing: {missing()}")


def emulator_of(kind):
    """what runs programs of this kind of machine, None: this one does; skips where a tool is missing"""
    known = LINUX[kind]
    if not known:
        return None
    for tool in (known[0], known[1].split()[0]):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    return processor.Emulator(known[0], tuple(known[1].split()))


def kind_of(target):
    return "aarch64" if target.startswith(("aarch64", "cortex-a", "neoverse")) else "armv7" if target.startswith("armv7") else \
        "riscv64" if target.startswith("riscv64") else "x86_64"


def inputs_of(data):
    return [dnncc.load_tensor(path) for path in sorted(data.glob("input_*.pb"), key=lambda p: int(p.stem[6:]))]


def interpreted(model, folder, inputs, *options):
    given = folder / "interpreted"
    given.mkdir()
    for k, array in enumerate(inputs):
        np.save(given / f"input_{k}.npy", array)
    done = dnncc.run([dnncc.DNNCC, model, f"--run={given}", "-q", *options], timeout=600)
    assert done.returncode == 0, done.stderr
    return [np.load(path) for path in sorted(given.glob("output_*.npy"), key=lambda p: int(p.stem[7:]))]


def same(a, b):
    if a.dtype.kind == "f" and np.isnan(a).any():
        a, b = np.where(np.isnan(a), 0, a), np.where(np.isnan(b), 0, b)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def check(model, inputs, tmp_path, *options, kind="x86_64", own=()):
    """the object's results are the interpreter's; own: options of the object alone"""
    emulator = emulator_of(kind)
    done = emit(model, tmp_path, *options, *own)
    assert done.returncode == 0, done.stderr
    program = dnncc.link_host(tmp_path, emulator=emulator)
    if kind == "s390x":         # raw numbers lie in the order of its bytes
        got = [array.byteswap() for array in dnncc.run_host(program, [array.byteswap() for array in inputs])]
        assert all(map(same, got, interpreted(model, tmp_path, inputs, *options)))
        return program
    got, want = dnncc.run_host(program, inputs), interpreted(model, tmp_path, inputs, *options)
    assert len(got) == len(want) and all(map(same, got, want))
    return program


def model_inputs(name):
    if not (MODELS / name).exists():
        pytest.skip(f"no {name} here")
    return MODELS / name / "model.onnx", inputs_of(MODELS / name / "test_data_set_0")


# ---- results ----

@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sample(12)
def test_this_processor(name, target, tmp_path):
    if not processor.has(target):
        pytest.skip(f"this processor lacks what {target} has")
    model, inputs = model_inputs(name)
    own = ["--triple=x86_64-linux-gnu"] if target == "generic" else []
    check(model, inputs, tmp_path, f"--target={target}", own=own)


@pytest.mark.parametrize("target", ELSEWHERE)
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sample(16)
def test_other_processors(name, target, tmp_path):
    model, inputs = model_inputs(name)
    if target in TILED and name in QUANTIZED:           # their products are of tiles, for which LLVM is told nothing yet
        done = emit(model, tmp_path, f"--target={target}")
        assert done.returncode == dnncc.UNSUPPORTED and "no hardware tiles" in done.stderr
        return
    check(model, inputs, tmp_path, f"--target={target}", kind=kind_of(target))


@pytest.mark.parametrize("kind", [kind for kind in TRIPLES if kind != "x86_64"])
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sample(5)
def test_plain_programs(name, kind, tmp_path):
    model, inputs = model_inputs(name)
    check(model, inputs, tmp_path, "--target=generic-be" if kind == "s390x" else "--target=generic", kind=kind, own=[f"--triple={TRIPLES[kind]}"])


# ---- the contract ----

F32 = TensorProto.FLOAT


def save(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info(*i) for i in inputs], [helper.make_tensor_value_info(*o) for o in outputs],
                              [onnx.numpy_helper.from_array(array, name) for name, array in dict(weights).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def dense(path):
    """more constants than stay in the code, and a row that a run says"""
    w = np.random.default_rng(0).standard_normal((16, 96)).astype(np.float32)
    return save(path, [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("Softmax", ["r"], ["y"])],
                [("x", F32, ["N", 16])], [("y", F32, ["N", 96])], {"w": w})


def counted(path):
    return save(path, [helper.make_node("NonZero", ["x"], ["at"])], [("x", F32, ["N", 4])], [("at", TensorProto.INT64, [2, "K"])])


def mean(path):
    return save(path, [helper.make_node("Add", ["count", "one"], ["count_next"]), helper.make_node("Add", ["sum", "x"], ["sum_next"]),
                       helper.make_node("Cast", ["count_next"], ["c"], to=F32), helper.make_node("Div", ["sum_next", "c"], ["mean"])],
                [("x", F32, [4]), ("sum", F32, [4]), ("count", TensorProto.INT64, [])],
                [("sum_next", F32, [4]), ("mean", F32, [4]), ("count_next", TensorProto.INT64, [])], {"one": np.array(1, np.int64)})


def cache(path):
    """what came so far, a row more each time"""
    return save(path, [helper.make_node("Concat", ["past", "x"], ["present"], axis=1), helper.make_node("ReduceSum", ["present", "axes"], ["y"])],
                [("x", F32, [1, 1, 8]), ("past", F32, [1, "P", 8])], [("y", F32, [1, 1, 8]), ("present", F32, [1, "Q", 8])], {"axes": np.array([1])})


CONTRACTS = {
    "digits": (lambda path: DIGITS, []),
    "unchecked": (lambda path: DIGITS, ["--unchecked"]),
    "region": (lambda path: DIGITS, ["--region=fast=8K,64", "--no-alias"]),
    "weights": (dense, ["--dim=N=1..8", "--weights=file"]),
    "extents": (dense, ["--dim=N=0..8"]),
    "counted": (counted, ["--dim=N=1..8"]),
    "state": (mean, ["--state=sum=sum_next", "--state=count=count_next"]),
    "grows": (cache, ["--dim=P=0..3", "--state=past=present"]),
    "entries": (dense, ["--entry=one:N=1", "--entry=some:N=3"]),
    "threads": (lambda path: DIGITS, ["--threads=3"]),
}


def contract(folder, objects, options, emulator, entries):
    """what test/jit/contract.c says"""
    program = folder / "contract"
    runtime = [dnncc.ROOT / "build" / "libdnncc_runtime.a", "-lpthread"] if any("threads" in o for o in options) else []
    done = dnncc.run([*(emulator.cc.split() if emulator else ["gcc"]), "-O1", "-static", *(["-DUNCHECKED"] if "--unchecked" in options else []),
                      f"-DENTRIES={' '.join(f'ENTRY({e})' for e in entries)}", f"-I{dnncc.ROOT / 'test'}", pathlib.Path(__file__).with_name("contract.c"), *objects, *runtime,
                      "-o", program])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([*(emulator.run if emulator else []), program, folder / "model.weights"])
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.parametrize("target", ["x86-64-v3", "generic", "aarch64", "armv7-neon", "riscv64"])
@pytest.mark.parametrize("name", CONTRACTS)
@pytest.mark.sample(10, each=False)
def test_contract(name, target, tmp_path):
    """descriptor, results, state and codes are those of the C, and so are the header and the weights but for the line that says the options"""
    make, options = CONTRACTS[name]
    kind = kind_of(target)
    if name == "threads" and kind != "x86_64":
        pytest.skip("the runtime is built for this machine")
    emulator = emulator_of(kind)
    model = make(tmp_path / "net.onnx")
    cc = emulator.cc if emulator else "gcc"
    options = [f"--target={target}", *options]
    own = ["--triple=x86_64-linux-gnu"] if target == "generic" else []
    c, o = tmp_path / "c", tmp_path / "o"
    for folder in (c, o):
        folder.mkdir()
    done = dnncc.run([dnncc.DNNCC, model, *options, "--name=model", "-q", "-o", c / "model.c"])
    assert done.returncode == 0, done.stderr
    flags = ["-mavx2", "-mfma"] if target == "x86-64-v3" else ["-mfpu=neon-vfpv4"] if target == "armv7-neon" else []
    done = dnncc.run([*cc.split(), "-O1", *flags, "-c", c / "model.c", "-o", c / "model.o"])
    assert done.returncode == 0, done.stderr
    done = emit(model, o, *options, *own)
    assert done.returncode == 0, done.stderr
    entries = [f"model_{e}_describe" for e in ("one", "some")] if name == "entries" else ["model_describe"]
    said = [contract(folder, [folder / "model.o"], options, emulator, entries) for folder in (c, o)]
    assert said[0] == said[1] and said[0].count("run 0: ") >= 3, said
    headers = [re.sub(r"MODEL_BUILD_\w+|compiled by dnncc .*", "", (folder / "model.h").read_text().partition("*/")[2]) for folder in (c, o)]
    assert headers[0] == headers[1]
    assert (c / "model.weights").exists() == (o / "model.weights").exists()


# ---- files ----

@pytest.mark.parametrize("target, what", [("x86-64-v3", "object"), ("cortex-m4", "object"), ("riscv64", "asm"), ("aarch64", "llvm"), ("x86-64-v4", "bitcode")])
def test_the_same_bytes(target, what, tmp_path):
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        assert emit(DIGITS, tmp_path / folder, f"--target={target}", what=what).returncode == 0
        files.append({path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()})
    assert files[0] == files[1] and len(files[0]) == 2


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["generic", "x86-64-v4-vnni", "aarch64-dotprod", "armv7-neon", "cortex-m4", "cortex-m55", "riscv32", "riscv64"])
def test_tools_accept_it(target, tmp_path):
    """opt verifies the text and the bitcode, llc makes code of either, and an assembler takes what is written for one"""
    missing_tools = [name for name in ("opt", "llc", "llvm-mc") if not (TOOLS / name).exists()]
    if missing_tools:
        pytest.skip(f"no {', '.join(missing_tools)} in {TOOLS}")
    own = ["--triple=mips-linux-gnu"] if target == "generic-be" else ["--triple=x86_64-linux-gnu"] if target == "generic" else []
    model, _ = model_inputs("dscnn_kws_int8")
    for what, suffix in (("llvm", "ll"), ("bitcode", "bc"), ("asm", "s")):
        done = emit(model, tmp_path, f"--target={target}", *own, what=what)
        assert done.returncode == 0, done.stderr
        path = tmp_path / f"model.{suffix}"
        triple = re.search(r'^target triple = "(.*)"$', (tmp_path / "model.ll").read_text(), re.M)[1]
        commands = [[TOOLS / "llvm-mc", f"-triple={triple}", "-filetype=obj", "-o", tmp_path / "mc.o", path]] if what == "asm" else \
            [[TOOLS / "opt", "-passes=verify", "-disable-output", path], [TOOLS / "llc", "-filetype=obj", "-o", tmp_path / "llc.o", path]]
        if what == "asm":           # the text says neither
            commands[0][1:1] = [f"-mcpu={target}"] if target.startswith("cortex") else ["-mattr=+dotprod"] if "dotprod" in target else []
        for command in commands:
            done = dnncc.run(command, timeout=300)
            assert done.returncode == 0, done.stderr[:2000]


def test_bitcode_and_text_are_the_same_program(tmp_path):
    if not (TOOLS / "llvm-dis").exists():
        pytest.skip(f"no llvm-dis in {TOOLS}")
    for what in ("llvm", "bitcode"):
        assert emit(DIGITS, tmp_path, "--target=aarch64", what=what).returncode == 0
    done = dnncc.run([TOOLS / "llvm-dis", "-o", "-", tmp_path / "model.bc"])
    assert done.stdout.partition("\n")[2] == (tmp_path / "model.ll").read_text().partition("\n")[2]     # behind the module's name


@pytest.mark.parametrize("target, known", [
    ("x86-64-v3", r"mem(cpy|set|move)"), ("cortex-m0", r"__aeabi_\w+|__\w+"), ("cortex-m4", r"__aeabi_(u?l?divmod|u?idiv|[dlf]\w+)"), ("riscv32", r"__\w+"),
    ("aarch64", r"mem(cpy|set|move)"), ("armv7-neon", r"__aeabi_\w+|mem(cpy|set|move)")])
@pytest.mark.parametrize("name", ["dscnn_kws_int8", "micro_kws_fp32", "resnet8_int8"])
@pytest.mark.sample(6)
def test_nothing_else_is_called(name, target, known, tmp_path):
    """what an object wants is of the compiler's own library, and memset and its kin where there is an operating system; never of libm"""
    if not shutil.which("llvm-nm-14"):
        pytest.skip("no llvm-nm-14")
    model, _ = model_inputs(name)
    assert emit(model, tmp_path, f"--target={target}").returncode == 0
    done = dnncc.run(["llvm-nm-14", "-u", tmp_path / "model.o"])
    assert done.returncode == 0, done.stderr
    wanted = [line.split()[-1] for line in done.stdout.splitlines() if line.strip()]
    assert all(re.fullmatch(known, name) for name in wanted) and not any(name.startswith("__aeabi_mem") for name in wanted), wanted


def test_names_that_are_taken(tmp_path):
    """of functions that LLVM calls, and of those that callers know"""
    model = save(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["a"], name="memset"), helper.make_node("Sigmoid", ["a"], ["b"], name="model_run"),
                                         helper.make_node("Softmax", ["b"], ["y"], name="fmaf")], [("x", F32, [2, 300])], [("y", F32, [2, 300])])
    check(model, [np.random.default_rng(0).standard_normal((2, 300)).astype(np.float32)], tmp_path, "--target=x86-64-v3", "-O0")


def test_dependency_file_and_standard_output(tmp_path):
    assert emit(DIGITS, tmp_path, "--target=x86-64-v3", "-MD", "--weights=file").returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.d", "model.h", "model.o", "model.weights"]
    assert re.match(r"\S*model\.o \S*model\.h \S*model\.weights: .*digits\.onnx", (tmp_path / "model.d").read_text())
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--emit=llvm", "--target=x86-64-v3", "-o", "-"])
    assert done.returncode == 0 and done.stdout.startswith("; ModuleID = 'digits'") and "@model_run(" in done.stdout or "@digits_run(" in done.stdout
    written = dnncc.run([dnncc.DNNCC, DIGITS, "--emit=object", "--target=aarch64", "-q"], cwd=tmp_path)
    assert written.returncode == 0 and (tmp_path / "digits.o").read_bytes()[:4] == b"\x7fELF" and (tmp_path / "digits.h").exists()


# ---- bad input ----

@pytest.mark.parametrize("options, code, words", [
    (["--target=generic"], dnncc.USAGE, "target generic is for any processor: --triple"),
    (["--target=generic", "--triple=x86_64"], dnncc.USAGE, "--triple wants words as in aarch64-unknown-linux-gnu, not 'x86_64'"),
    (["--target=generic", "--triple=x86_64-linux-gnu;rm"], dnncc.USAGE, "--triple wants words"),
    (["--target=generic", "--triple="], dnncc.USAGE, "--triple"),
    (["--target=generic", "--triple=xtensa-esp32-elf"], dnncc.UNSUPPORTED, "makes no code for the triple xtensa-esp32-elf; those for which it does begin with x86_64, "),
    (["--target=x86-64-v3", "--triple=aarch64-linux-gnu"], dnncc.USAGE, "is another processor than target x86-64-v3 is for (x86_64-unknown-linux-gnu)"),
    (["--target=generic", "--triple=s390x-linux-gnu"], dnncc.USAGE, "--triple=s390x-unknown-linux-gnu is big-endian"),
    (["--target=generic-be", "--triple=x86_64-linux-gnu"], dnncc.USAGE, "is little-endian"),
    (["--target=aarch64-sve256"], dnncc.UNSUPPORTED, "no vector registers of any length"),
    (["--target=cuda-sm_80"], dnncc.UNSUPPORTED, "not for GPUs and accelerators"),
    (["--target=vta"], dnncc.UNSUPPORTED, "vta"),
    (["--target=x86-64,x86-64-v3"], dnncc.USAGE, "--emit=object is for one target"),
    (["--target=x86-64-v3", "--step"], dnncc.USAGE, "not with --step"),
    (["--target=x86-64-v3", "--hook"], dnncc.USAGE, "not with --hook"),
    (["--target=x86-64-v3", "--profile"], dnncc.USAGE, "not with --profile"),
    (["--target=x86-64-v3", "--flush-denormals"], dnncc.USAGE, "not with --flush-denormals"),
    (["--target=x86-64-v3", "--fast-libm"], dnncc.USAGE, "not with --fast-libm"),
    (["--target=x86-64-v3", "--selftest"], dnncc.USAGE, "--selftest"),
    (["--target=x86-64-v3", "--weights=incbin"], dnncc.USAGE, "is for the assembler of C"),
    (["--target=x86-64-v3", "--weights=file", "-o", "-"], dnncc.USAGE, "want -o FILE"),
    (["--target=x86-64-v3", "--passes=lower"], dnncc.USAGE, "--passes must end in plan"),
], ids=str)
def test_what_is_refused(options, code, words, tmp_path):
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--emit=object", *options], cwd=tmp_path)
    assert done.returncode == code and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


def test_triples_are_for_objects(tmp_path):
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--triple=x86_64-linux-gnu"], cwd=tmp_path)
    assert done.returncode == dnncc.USAGE and "--triple wants --emit" in done.stderr


def test_texts(tmp_path):
    model = save(tmp_path / "net.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.STRING, [2])], [("y", TensorProto.STRING, [2])])
    done = emit(model, tmp_path, "--target=x86-64-v3")
    assert done.returncode == dnncc.UNSUPPORTED and "texts" in done.stderr and done.stderr.count("\n") == 1, done.stderr
