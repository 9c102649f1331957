# SPDX-License-Identifier: MIT
"""--target=A,B,C: one file for several targets. Every level computes what its target alone would, to the bit; the level is the
best that the processor has; nothing else depends on the list."""
import itertools
import json
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

VECTORS = ["x86-64", "x86-64-v3", "x86-64-v4"]
LISTS = [VECTORS, ["generic", "x86-64-v4"], ["x86-64-v3", "x86-64-v4"], ["generic", "x86-64"]]
COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
ERROR_PROCESSOR = -7

pytestmark = processor.needs("x86-64")


def macro(target):
    return "MODEL_LEVEL_" + re.sub(r"\W", "_", target).upper()


def call(*arguments, **keywords):
    return dnncc.run([dnncc.DNNCC, *arguments], **keywords)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """windows of all kinds, a residual sum, pools, a product of matrices, mathematics, a gather that can fail"""
    r = np.random.default_rng(3)
    constants = []

    def weights(*shape):
        array = r.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        constants.append(numpy_helper.from_array(np.asarray(array, np.float32), f"w{len(constants)}"))
        return constants[-1].name

    node = helper.make_node
    nodes = [node("Conv", ["x", weights(24, 3, 3, 3), weights(24)], ["a"], pads=[1] * 4, strides=[2, 2]), node("Relu", ["a"], ["b"]),
             node("Conv", ["b", weights(24, 1, 3, 3)], ["c"], pads=[1] * 4, group=24), node("Sigmoid", ["c"], ["d"]),
             node("Conv", ["d", weights(24, 24, 1, 1), weights(24)], ["e"]), node("Add", ["e", "b"], ["f"]),
             node("Conv", ["f", weights(40, 24, 3, 3)], ["g"], pads=[1] * 4), node("Tanh", ["g"], ["h"]),
             node("MaxPool", ["h"], ["i"], kernel_shape=[3, 3], strides=[2, 2]), node("GlobalAveragePool", ["i"], ["j"]),
             node("Flatten", ["j"], ["k"]), node("Gemm", ["k", weights(40, 19), weights(19)], ["l"]),
             node("Softmax", ["l"], ["m"], axis=1), node("Gather", ["m", "n"], ["y"], axis=1)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 3, 21, 21]), value("n", TensorProto.INT64, [5])],
                              [value("y", TensorProto.FLOAT, [1, 5])], constants)
    path = tmp_path_factory.mktemp("network") / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path, [r.standard_normal((1, 3, 21, 21)).astype(np.float32), np.array([3, 0, 18, 7, 7], np.int64)]


@pytest.fixture(scope="module")
def three(network, tmp_path_factory):
    """the folder of the network compiled for VECTORS"""
    return compiled(network[0], tmp_path_factory.mktemp("three"), f"--target={','.join(VECTORS)}")


def compiled(model, folder, *options):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    return folder


SERIAL = """
void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count);
void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)
{
        for (int i = 0; i < count; i++)
                task(arg, i, count);
}
"""


def program(folder, name, cc="gcc", *flags):
    """folder/model.c with test/host.c, compiled with these flags"""
    (folder / "serial.c").write_text(SERIAL)
    flags = [*flags, "-O1", f"-I{folder}", f"-Wa,-I{folder}"]
    steps = [[cc, *dnncc.STRICT, *flags, *dnncc.headers(folder / "model.c", [cc, *dnncc.STRICT, "-O1"]), "-c", folder / "model.c", "-o", folder / f"{name}.o"],
             [cc, *flags, dnncc.host_object(["-O2"], cc), folder / f"{name}.o", folder / "serial.c", "-o", folder / name]]
    for step in steps:
        done = dnncc.run(step)
        assert done.returncode == 0 and not done.stderr, done.stderr[:3000]
    return folder / name


def results(program, given):
    return [o.tobytes() for o in dnncc.run_host(program, given)]


# ---- the same results ----

@pytest.mark.parametrize("names, options", [*((names, []) for names in LISTS), (VECTORS, ["--weights=incbin", "--threads=3"]),
                                            (VECTORS, ["--unchecked", "--weights=file"]), (LISTS[1], ["--exact"])])
@pytest.mark.slow
@pytest.mark.sample(8)
def test_each_level_is_its_target(names, options, network, tmp_path):
    model, given = network
    shared = tmp_path / "shared.dnn"              # what the targets have in common
    done = call(model, "--emit=ir", f"--target={','.join(names)}", *options, "-o", shared)
    assert done.returncode == 0, done.stderr
    folder = compiled(model, tmp_path / "list", f"--target={','.join(names)}", *options)
    for target in processor.these(names):
        alone = compiled(shared, tmp_path / target, f"--target={target}", *options)
        for cc in COMPILERS if names == VECTORS and not options else COMPILERS[:1]:
            want = results(program(alone, f"alone_{cc}", cc), given)
            assert results(program(folder, f"{target}_{cc}", cc, f"-DMODEL_LEVEL={macro(target)}"), given) == want
    if processor.here(names[-1]):                           # the layout is that of the best
        alone = compiled(model, tmp_path / "best", f"--target={names[-1]}", *options)
        assert results(program(alone, "best"), given) == results(program(folder, "all"), given)


def test_run_at(network, three, tmp_path):
    """a level as an argument, those that are not there, and errors of arguments"""
    shutil.copytree(three, tmp_path / "out")
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float x[MODEL_X_ELEMS], y[MODEL_Y_ELEMS];
static int64_t n[MODEL_N_ELEMS];
int main(void)
{
        printf("%d %d %d", model_level(), model_run(workspace, x, n, y), model_run(workspace, x, n, 0));
        for (int level = -1; level < 4; level++)
                printf(" %d", level > model_level() && level < 3 ? 0 : model_run_at(level, workspace, x, n, y));
        n[2] = 19;
        printf(" %d\\n", model_run(workspace, x, n, y));
        return 0;
}
""")
    done = dnncc.run(["gcc", "-O2", f"-I{tmp_path}/out", tmp_path / "main.c", tmp_path / "out" / "model.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    best = max(k for k, target in enumerate(VECTORS) if processor.has(target))
    assert dnncc.run([tmp_path / "main"]).stdout.split() == f"{best} 0 -1 {ERROR_PROCESSOR} 0 0 0 {ERROR_PROCESSOR} -3".split()


# ---- which level ----

# CPUID of other processors: bits of leaf 1 ecx, of leaf 7 ebx, and of XCR0 at most those that there are
XSAVE, FMA, F16C, BMI, AVX2, AVX512 = 1 << 27, 1 << 12, 1 << 29, 1 << 3 | 1 << 8, 1 << 5, 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31
PROCESSORS = {"none of it": (0, AVX2 | BMI | AVX512, 0), "no FMA": (XSAVE | F16C, AVX2 | BMI, 0),
              "no BMI": (XSAVE | FMA | F16C, AVX2, 0), "AVX2": (XSAVE | FMA | F16C, AVX2 | BMI, 1),
              "part of AVX-512": (XSAVE | FMA | F16C, AVX2 | BMI | (AVX512 ^ 1 << 30), 1),
              "AVX-512": (XSAVE | FMA | F16C, AVX2 | BMI | AVX512, 2)}


FAKE = """#include <cpuid.h>
#undef __cpuid_count
extern unsigned fake_1, fake_7;
#define __cpuid_count(leaf, subleaf, a, b, c, d) \\
        ((a) = (d) = 0, (c) = (leaf) == 1 ? fake_1 : 0, (b) = (leaf) == 7 ? fake_7 : 0)
"""
ASK = """#include <stdio.h>
#include <stdlib.h>
#include "model.h"
unsigned fake_1, fake_7;
int main(int count, char **given)
{
        fake_1 = (unsigned)strtoul(given[count - 2], NULL, 10);
        fake_7 = (unsigned)strtoul(given[count - 1], NULL, 10);
        printf("%d", model_level());
        return 0;
}
"""


@pytest.mark.long
@pytest.mark.slow
def test_level_of_a_processor(three, network, tmp_path):
    """each file is compiled once; what CPUID says is an argument"""
    processor.require("x86-64-v4")      # the registers' state is that of this processor
    (tmp_path / "fake.h").write_text(FAKE)
    (tmp_path / "main.c").write_text(ASK)
    above = compiled(network[0], tmp_path / "above", "--target=x86-64-v4,x86-64-v3")
    below = compiled(network[0], tmp_path / "below", "--target=generic,x86-64,x86-64-v3")
    sure = compiled(network[0], tmp_path / "sure", "--target=generic,x86-64")
    for cc in COMPILERS:
        for folder in (three, above, below, sure):
            done = dnncc.run([cc, "-O1", "-include", tmp_path / "fake.h", f"-I{folder}", tmp_path / "main.c", folder / "model.c",
                              "-o", tmp_path / f"ask_{folder.name}"])
            assert done.returncode == 0, done.stderr
        for another, (leaf_1, leaf_7, level) in PROCESSORS.items():
            for folder, want in ((three, level), (above, level - 1 if level else ERROR_PROCESSOR), (below, min(level, 1) + 1), (sure, 1)):
                assert int(dnncc.run([tmp_path / f"ask_{folder.name}", leaf_1, leaf_7]).stdout) == want, (another, folder.name, cc)


# ---- the file ----

@pytest.mark.sample(6, each=False)
@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("names", [*LISTS[:2], LISTS[3]], ids=",".join)
def test_parts_compile_alone(names, cc, network, tmp_path):
    """whatever is left out, without a warning; nothing but memcpy and memset is wanted from outside"""
    folder = compiled(network[0], tmp_path / "out", f"--target={','.join(names)}")
    for flags in [["-O2"], *(["-O0", f"-DMODEL_LEVEL={macro(name)}"] for name in names)]:
        done = dnncc.run([cc, *dnncc.STRICT, *flags, *dnncc.headers(folder / "model.c", [cc, *dnncc.STRICT, flags[0]]), "-c", folder / "model.c",
                          "-o", folder / f"{flags[0]}.o"])
        assert done.returncode == 0 and not done.stderr, (flags, done.stderr[:2000])
    symbols = dnncc.run(["nm", folder / "-O2.o"]).stdout.split("\n")
    assert {line.split()[-1] for line in symbols if " U " in line} <= {"memcpy", "memset"}
    assert {line.split()[-1] for line in symbols if " T " in line} == {f"model_{f}" for f in ("run", "run_at", "level", "describe")}
    assert not [line for line in symbols if re.search(r" [BCDbd] (?!described_)", line)], "state"


@pytest.mark.skipif("clang" not in COMPILERS, reason="no clang")
def test_other_machines_compile_the_generic_level(network, tmp_path):
    folder = compiled(network[0], tmp_path / "out", "--target=generic,x86-64-v3,x86-64-v4")
    (tmp_path / "string.h").write_text("#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n"
                                       "void *memset(void *, int, size_t);\n")
    command = ["clang", "--target=aarch64-linux-gnu", "-ffreestanding", *dnncc.STRICT, f"-I{tmp_path}", "-S", "-o", "-"]
    done = dnncc.run([*command, folder / "model.c"])
    assert done.returncode == 0 and not done.stderr, done.stderr[:2000]
    assert "run_generic" in done.stdout and "run_x86_64" not in done.stdout


def test_order_does_not_matter(network, tmp_path):
    texts = set()
    for k, names in enumerate(itertools.permutations(VECTORS)):
        folder = compiled(network[0], tmp_path / str(k), f"--target={','.join(names)}")
        texts.add((folder / "model.c").read_bytes() + (folder / "model.h").read_bytes())
    assert len(texts) == 1


def test_constants_are_shared(network, tmp_path):
    """one packing of weights for all: the weights file of a list is as large as that of its best target"""
    sizes = {}
    for names in ("x86-64-v4", ",".join(VECTORS)):
        folder = compiled(network[0], tmp_path / names, f"--target={names}", "--weights=file")
        sizes[names] = (folder / "model.weights").stat().st_size
    assert len(set(sizes.values())) == 1, sizes


# ---- other options ----

def test_usage_errors(network, tmp_path):
    model = network[0]
    scheduled = tmp_path / "scheduled.dnn"
    assert call(model, "--emit=ir", "--target=x86-64-v3", "-o", scheduled).returncode == 0
    loops = tmp_path / "m.loops"
    assert call(model, "--emit=loops", "--target=x86-64-v3", "-o", loops).returncode == 0
    for arguments in ([model, "--target=x86-64,x86-64"], [model, "--target=x86-64,native"], [model, "--target=x86-64,"],
                      [model, "--target=,x86-64"], [model, "--target=x86-64,pdp11"], [model, "--target=generic,generic-be"],
                      [model, "--target=generic-be,x86-64"], [model, "--target=x86-64,help"],
                      [model, "--target=x86-64,x86-64-v3", "--emit=loops"],
                      [model, "--target=x86-64,x86-64-v3", "--tune", "--schedule=t.schedule"],
                      [scheduled, "--target=x86-64,x86-64-v3"], [loops, "--target=x86-64,x86-64-v3"]):
        done = call(*arguments, "-o", tmp_path / "x.c" if "--emit=loops" not in arguments else tmp_path / "x.loops", cwd=tmp_path)
        assert done.returncode == dnncc.USAGE and done.stderr.count("\n") == 1, (arguments, done.stderr)
    assert not list(tmp_path.glob("x.*"))


def test_looking_inside(network, tmp_path):
    """dumps, sizes, the report and --check say which target they are of; --schedule is for the best"""
    model, given = network
    dumps, report = tmp_path / "dumps", tmp_path / "report.json"
    targets = f"--target={','.join(VECTORS)}"
    done = call(model, targets, "-o", tmp_path / "m.c", f"--dump-dir={dumps}", f"--report={report}", "--stats", "--check")
    assert done.returncode == 0, done.stderr
    names = sorted(p.name for p in dumps.glob("*.dnn"))
    assert names[0] == "00-import.dnn" and len([n for n in names if "schedule-" in n]) == 3
    for target in VECTORS:
        assert [n for n in names if n.endswith(f"schedule-{target}.dnn")]
        assert list(dumps.glob(f"*-plan-{target}.loops"))
        assert f"stats: target     {target}" in done.stderr and f"schedule-{target}" in done.stderr
    numbers = [int(n[:2]) for n in names if "-x86" not in n]
    assert numbers == list(range(len(numbers))) and min(int(n[:2]) for n in names if "-x86" in n) == len(numbers)
    facts = json.loads(report.read_text())
    assert facts["target"] == "x86-64-v4" and targets in facts["options"]
    header = (tmp_path / "m.h").read_text()
    size = int(re.search(r"WORKSPACE_SIZE (\d+)", header)[1])
    assert size == max(map(int, re.findall(r"stats: workspace +(\d+)", done.stderr))) >= facts["workspace"]
    assert call(model, targets, "-o", tmp_path / "m.c", "--max-ram=64").returncode == dnncc.BUDGET
    assert call(model, targets, "-o", tmp_path / "m.c", f"--max-ram={size}").returncode == dnncc.OK


@pytest.mark.parametrize("how", [[], ["--cc=gcc -O1"]], ids=["interpreted", "compiled"])
def test_every_target_is_tested(how, tmp_path):
    model = tmp_path / "m.dnn"
    model.write_text('dnn 1\nmodule "m"\nfunc @main(%x "x": <40 x f32>) -> ("y") {\n  %0 = max(%x, 0.0) : <40 x f32>\n  yield(%0)\n}\n')
    x = np.linspace(-1, 1, 40, dtype=np.float32)
    for name, array in (("input", x), ("output", np.maximum(x, 0))):
        (tmp_path / f"{name}_0.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    done = call(model, f"--target={','.join(VECTORS)}", "--test", tmp_path, *how)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [target in line for target, line in zip(VECTORS, lines)] == [True] * 3
    assert [("passed over" in line) for line in lines] == [bool(how) and not processor.has(target) for target in VECTORS]


# ---- tiles ----

REFUSE = """#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float x[MODEL_X_ELEMS], y[2][MODEL_Y_ELEMS];
int main(void)
{
        struct sock_filter code[] = {           /* arch_prctl fails */
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 158, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
        struct sock_fprog program = { sizeof code / sizeof *code, code };
        double largest = 0, difference = 0;
        for (int i = 0; i < MODEL_X_ELEMS; i++)
                x[i] = (float)(i % 17 - 8) / 8;
        printf("%d %d", model_level(), model_run(workspace, x, y[0]));
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                return 1;
        printf(" %d %d", model_level(), model_run(workspace, x, y[1]));
        for (int i = 0; i < MODEL_Y_ELEMS; i++) {
                double d = y[0][i] - y[1][i], a = y[0][i];
                largest = a * a > largest ? a * a : largest;
                difference = d * d > difference ? d * d : difference;
        }
        printf(" %d %d\\n", model_run_at(MODEL_LEVEL_SAPPHIRERAPIDS, workspace, x, y[1]), difference < 1e-4 * largest);
        return 0;
}
"""


@processor.needs("sapphirerapids")
def test_tiles_that_the_system_refuses(tmp_path):
    """the next best target runs; asked for by number, tiles are an error"""
    r = np.random.default_rng(5)
    weights = [numpy_helper.from_array((r.standard_normal((64, 64, 3, 3)) / 24).astype(np.float32), f"w{k}") for k in range(2)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Conv", [a, w.name], [b], pads=[1] * 4) for a, b, w in zip("xh", "hy", weights)], "g",
                              [value("x", TensorProto.FLOAT, [1, 64, 14, 14])], [value("y", TensorProto.FLOAT, [1, 64, 14, 14])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"))
    folder = compiled(tmp_path / "m.onnx", tmp_path / "out", "--target=x86-64-v3,sapphirerapids", "--precision=bf16")
    assert "_tile_dpbf16ps" in (folder / "model.c").read_text()
    (tmp_path / "main.c").write_text(REFUSE)
    for cc in COMPILERS:
        done = dnncc.run([cc, "-O2", f"-I{folder}", tmp_path / "main.c", folder / "model.c", "-o", tmp_path / "main"])
        assert done.returncode == 0, done.stderr
        assert dnncc.run([tmp_path / "main"]).stdout.split() == ["1", "0", "0", "0", "-6", "1"], cc
