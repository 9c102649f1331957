# SPDX-License-Identifier: MIT
"""Runs in steps (--step): the same bits wherever a run stops, by the interpreter for many targets and in C under sanitizers; the record of steps,
what begins and ends a run, state, entries, extents; the longest step on a board."""
import itertools
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402
from boards import BOARDS, EXAMPLES  # noqa: E402

F32, I64, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def recurrent(path, steps=6):
    """a GRU, whose loop is main's: rows of x, a state"""
    constants = {"w": floats(1, 27, 5), "r": floats(1, 27, 9), "b": floats(1, 54)}
    node = helper.make_node("GRU", ["x", "w", "r", "b", "", "h"], ["y", "z"], hidden_size=9)
    return save(path, [node], [value("x", F32, [steps, 2, 5]), value("h", F32, [1, 2, 9])], [value("y", F32, [steps, 1, 2, 9]), value("z", F32, [1, 2, 9])],
                constants)


def choosing(path):
    """loops until a sum is large enough, and then one of two products: While and If of main"""
    body = helper.make_graph([helper.make_node("MatMul", ["t", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["u"]),
                              helper.make_node("ReduceSum", ["u"], ["s"], keepdims=0), helper.make_node("Less", ["s", "bound"], ["go"])], "body",
                             [value("i", I64, []), value("old", B, []), value("t", F32, [8, 8])], [value("go", B, []), value("u", F32, [8, 8])])
    sides = [helper.make_graph([helper.make_node("MatMul", ["last", k], ["y" + k])], "side" + k, [], [value("y" + k, F32, [8, 8])]) for k in "wv"]
    nodes = [helper.make_node("Loop", ["n", "first", "x"], ["last"], body=body), helper.make_node("ReduceMax", ["last"], ["top"], keepdims=0),
             helper.make_node("Greater", ["top", "half"], ["high"]), helper.make_node("If", ["high"], ["y"], then_branch=sides[0], else_branch=sides[1])]
    constants = {"w": floats(8, 8), "v": floats(8, 8) + 1, "n": np.array(7), "first": np.array(True), "bound": np.float32(30), "half": np.float32(0.5)}
    return save(path, nodes, [value("x", F32, [8, 8])], [value("y", F32, [8, 8])], constants)


def mixed(path):
    """convolutions, depthwise ones, pools, sums over all positions, a softmax of rows, a gather whose index is checked"""
    nodes = [helper.make_node("Conv", ["x", "c1"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "c2"], ["c"], pads=[1, 1, 1, 1], group=12), helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["d", "c3"], ["e"], strides=[2, 2]), helper.make_node("Flatten", ["e"], ["f"]), helper.make_node("MatMul", ["f", "m"], ["g"]),
             helper.make_node("Softmax", ["g"], ["y"]), helper.make_node("GlobalAveragePool", ["c"], ["z"]), helper.make_node("Gather", ["table", "k"], ["t"])]
    constants = {"c1": floats(12, 3, 3, 3), "c2": floats(12, 1, 3, 3), "c3": floats(10, 12, 1, 1), "m": floats(160, 11), "table": floats(9, 4)}
    return save(path, nodes, [value("x", F32, [1, 3, 16, 17]), value("k", I64, [5])],
                [value("y", F32, [1, 11]), value("z", F32, [1, 12, 1, 1]), value("t", F32, [5, 4])], constants)


MADE = {"recurrent": recurrent, "choosing": choosing, "mixed": mixed}


def model_of(name, folder):
    return EXAMPLES[name] if name in EXAMPLES else MADE[name](folder / f"{name}.onnx")


# ---- by the interpreter, which runs the loops of any target ----

def stops_everywhere(text):
    """the same program with work for one unit at a time: kernels that can stop are called until they are done"""
    record = re.search(r"buffer @record : i64\[(\d+)\]", text)[1]
    text, count = re.subn(r"= 4611686018427387904\b", "= 1", text)
    assert count == 1
    again = f"kernel @again(%r: inout i64[{record}]) {{\n  store %r[3] = 1\n}}\nmain {{"
    text = text.replace("main {", again)
    text, count = re.subn(r"^( *)(call @\w+\(.*, @words(?:; [^)]*)?\).*)$", r"\1\2\n\1while @words[1] != 0 {\n\1  call @again(@record)\n\1  \2\n\1}", text, flags=re.M)
    return text, count


def given(model, folder):
    inputs = onnx.load(model).graph.input
    folder.mkdir()
    for i, port in enumerate(inputs):
        kind = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = [d.dim_value or 1 for d in port.type.tensor_type.shape.dim]
        data = np.random.default_rng(i).standard_normal(shape)
        np.save(folder / f"input_{i}.npy", (data * 3).astype(kind) if kind != np.int64 else np.arange(np.prod(shape)).reshape(shape).astype(kind))
    return folder


def results(model, folder, *options):
    done = dnncc.run([dnncc.DNNCC, model, "-q", "--run", folder, *options])
    assert done.returncode == 0, done.stderr
    return [path.read_bytes() for path in sorted(folder.glob("output_*.npy"))]


ROUNDED = ["x86-64-v3", "aarch64"]      # in an order that depends on the plan
TARGETS = ["generic", "x86-64-v3", "aarch64", "cortex-m0", "cortex-m4", "cortex-m55", "riscv32"]


@pytest.mark.sample(12)
@pytest.mark.parametrize("options", [(), ("-O0",), ("--max-ram=9K",), ("--goal=memory", "--exact")], ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("work", [1, 50, 3000])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*EXAMPLES, *MADE])
def test_bits(name, target, work, options, tmp_path):
    model = model_of(name, tmp_path)
    data = given(model, tmp_path / "data")
    options, steps = [f"--target={target}", *options], [f"--step={work}"]
    whole = results(model, data, *(o for o in options if not o.startswith("--max-ram")))
    loops = tmp_path / "m.loops"
    done = dnncc.run([dnncc.DNNCC, model, "-q", *options, *steps, "--emit=loops", "-o", loops])
    if any(o.startswith("--max-ram") for o in options) and (done.returncode == dnncc.BUDGET or target in ROUNDED):
        pytest.skip("it does not fit, or rounds otherwise where it does")
    assert done.returncode == 0, done.stderr
    text, cut = stops_everywhere(loops.read_text())
    assert cut or work == 3000
    loops.write_text(text)
    assert results(loops, data, f"--target={target}", *(o for o in options if o == "-O0")) == whole
    assert results(model, data, *options, *steps) == whole


def test_stops_are_seen(tmp_path):
    """the test above would see a kernel that goes on elsewhere than where it stopped"""
    model = model_of("mixed", tmp_path)
    data = given(model, tmp_path / "data")
    whole = results(model, data)
    loops = tmp_path / "m.loops"
    assert dnncc.run([dnncc.DNNCC, model, "-q", "--step=50", "--emit=loops", "-o", loops]).returncode == 0
    text, _ = stops_everywhere(loops.read_text())
    wrong, count = re.subn(r"store %record\[2\] = i64\((%\w+)\)", r"store %record[2] = i64(\1 + min(\1, 1))", text)
    assert count
    loops.write_text(wrong)
    assert results(loops, data) != whole


# ---- in C ----

DRIVER = """#include <stdio.h>
#include <string.h>
#include "model.h"
{arrays}
static union {{ unsigned char bytes[MODEL_WORKSPACE_SIZE]; double aligned[8]; }} workspace_union;
static unsigned char *workspace(void) {{ return workspace_union.bytes; }}
static unsigned random_bits = 1;
static unsigned draw(void) {{ random_bits = random_bits * 1103515245u + 12345u; return random_bits >> 16; }}
static void fill(void) {{ {fill} }}
int main(void)
{{
        fill();
        {body}
}}
"""


def ports_of(header, name="model"):
    """[(const, C type, name)] of run's parameters behind the workspace"""
    prototype = " ".join(re.search(rf"int {name}_run\(([^;]*)\);", header)[1].split())
    return re.findall(r"(const )?(\w+) \*(\w+)", prototype.partition(",")[2])


def write_driver(folder, body, macros="MODEL"):
    header = (folder / "model.h").read_text()
    ports = ports_of(header)
    arrays = "".join(f"static {kind} {name}[2][{macros}_{name.upper()}_ELEMS];\n" for _, kind, name in ports)
    fill = " ".join(f"for (size_t i = 0; i < {macros}_{name.upper()}_ELEMS; i++) {name}[0][i] = {name}[1][i] = ({kind})("
                    + ("draw() % 9" if "int" in kind else "(double)draw() / 10000 - 3") + ");" for constant, kind, name in ports if constant)
    names = [name for _, _, name in ports]
    call = {k: ", ".join(["workspace()", *(f"{n}[{k}]" for n in names)]) for k in (0, 1)}
    same = " && ".join(f"!memcmp({n}[0], {n}[1], sizeof {n}[0])" for n in names)
    (folder / "driver.c").write_text(DRIVER.format(arrays=arrays, fill=fill, body=body.format(zero=call[0], one=call[1], same=same)))


def run_driver(folder, *flags, cc="gcc"):
    done = dnncc.run([*cc.split(), *dnncc.STRICT, "-Wno-conversion", "-Wno-double-promotion", "-Wno-unused-function", *flags, f"-I{folder}", folder / "driver.c", "-c", "-o",
                      folder / "driver.o"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([*cc.split(), *dnncc.STRICT, *flags, f"-I{folder}", folder / "driver.o", folder / "model.c", "-o", folder / "driver"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([folder / "driver"])
    assert done.returncode == 0, done
    return done.stdout.split()


COMPARE = """int steps = 0, more = model_run({zero});
        if (more)
                return 10 - more;
        memset(workspace(), 0x5a, MODEL_WORKSPACE_SIZE);
        for (more = model_begin({one}) ? -1 : 1; more > 0; steps++)
                more = model_step({one});
        printf("%d %d\\n", steps, {same});
        return more;"""


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("work", [1, 200, 20000])
@pytest.mark.parametrize("name", [*EXAMPLES, *MADE])
def test_same_bits_in_c(name, work, tmp_path):
    dnncc.compile_model(model_of(name, tmp_path), tmp_path, ["-q", f"--step={work}"])
    dnncc.check_clang(tmp_path)
    write_driver(tmp_path, COMPARE)
    steps, same = map(int, run_driver(tmp_path, *dnncc.SANITIZE))
    assert same and (steps > 20 if work < 1000 else steps >= 1)
    assert run_driver(tmp_path, "-O2") == [str(steps), "1"]
    if not shutil.which("g++"):
        return
    (tmp_path / "header.cpp").write_text('#include "model.h"\ndecltype(&model_step) step = model_step, begin = model_begin;\n')
    assert dnncc.run(["g++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{tmp_path}", tmp_path / "header.cpp"]).returncode == 0


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("options", [("--unchecked",), ("--weights=file",), ("--region=fast=3K",), ("--no-alias",), ("--target=x86-64-v3",), ("--hook",), ("-O0",)], ids=str)
def test_options(options, tmp_path):
    """code that compiles strictly, beside other options"""
    dnncc.compile_model(model_of("mixed", tmp_path), tmp_path, ["-q", "--step=500", *options])
    done = dnncc.run(["gcc", *dnncc.STRICT, "-O1", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"])
    assert done.returncode == 0, done.stderr
    if options[0] in ("--unchecked", "--no-alias", "--hook", "-O0"):
        write_driver(tmp_path, COMPARE)
        steps, same = run_driver(tmp_path, "-O1")
        assert int(steps) > 20 and same == "1"


def test_number_of_steps(tmp_path):
    """more work a step, fewer steps, and about as many as the work says"""
    counts = []
    for work in (1000, 4000, 16000):
        dnncc.compile_model(EXAMPLES["digits_int8"], tmp_path, ["-q", f"--step={work}"])
        write_driver(tmp_path, COMPARE)
        counts.append(int(run_driver(tmp_path, "-O1")[0]))
    assert 3 < counts[0] / counts[1] < 5 and 3 < counts[1] / counts[2] < 5, counts


# ---- the record ----

RECORD = """static unsigned char before[MODEL_WORKSPACE_SIZE];
        int wrong = 0;
        if (model_step({one}) != MODEL_ERROR_STATE)             /* nothing has begun */
                return 10;
        if (model_begin({one}) || model_step({one}) != 1)
                return 11;
        memcpy(before, workspace(), sizeof before);
        for (size_t i = {from}; i < sizeof before; i++)         /* any bit of the record */
                for (int bit = 0; bit < 8; bit++) {{
                        workspace()[i] ^= (unsigned char)(1 << bit);
                        wrong += model_step({one}) != MODEL_ERROR_STATE;
                        workspace()[i] ^= (unsigned char)(1 << bit);
                        wrong += memcmp(before, workspace(), sizeof before) != 0;
                }}
        int more = 1;
        while (more > 0)
                more = model_step({one});
        if (more || model_step({one}) != MODEL_ERROR_STATE)     /* it has ended */
                return 12;
        if (model_step((void *)0, {rest}) != MODEL_ERROR_NULL || model_begin((void *)0, {rest}) != MODEL_ERROR_NULL)
                return 13;
        more = model_run({zero});
        printf("%d %d %d\\n", more, {same}, wrong);
        return 0;"""


@pytest.mark.slow
def test_record(tmp_path):
    """a record with any bit changed, none, one that has ended: ERROR_STATE, and nothing is written"""
    dnncc.compile_model(model_of("mixed", tmp_path), tmp_path, ["-q", "--step=300"])
    code = (tmp_path / "model.c").read_text()
    place = int(re.search(r"record = \(i64 \*\)\(void \*\)\(\(unsigned char \*\)workspace \+ (\d+)\)", code)[1])
    words = int(re.search(r"step_sum\(record, (\d+)\)", code)[1])
    size = int(re.search(r"WORKSPACE_SIZE (\d+)u", (tmp_path / "model.h").read_text())[1])
    assert place + 8 * words <= size < place + 8 * words + 16
    names = [name for _, _, name in ports_of((tmp_path / "model.h").read_text())]
    body = RECORD.replace("{rest}", ", ".join(f"{n}[1]" for n in names)).replace("{from}", str(place)).replace("sizeof before; i++)", f"{place + 8 * words}; i++)")
    write_driver(tmp_path, body)
    assert run_driver(tmp_path, *dnncc.SANITIZE) == ["0", "1", "0"]


@pytest.mark.slow
def test_record_of_another_build(tmp_path):
    """by the same model with other options, and of another entry"""
    main = '#include <stdio.h>\n#include "a.h"\n#include "b.h"\n'
    for name, work in (("a", 300), ("b", 301)):
        dnncc.run([dnncc.DNNCC, EXAMPLES["digits_int8"], "-q", f"--step={work}", "-o", tmp_path / f"{name}.c"])
    main += ("A_WORKSPACE_DEFINE(workspace);\nstatic int8_t image[A_IMAGE_ELEMS], out[A_PROBABILITIES_ELEMS];\n"
             'int main(void) { printf("%d ", a_begin(workspace, image, out)); printf("%d ", b_step(workspace, image, out)); printf("%d", a_step(workspace, image, out)); return 0; }')
    header = (tmp_path / "a.h").read_text()
    (_, kind_in, name_in), (_, kind_out, name_out) = ports_of(header, "a")
    main = main.replace("int8_t image[A_IMAGE_ELEMS]", f"{kind_in} image[A_{name_in.upper()}_ELEMS]")
    main = main.replace("static int8_t", "static").replace(", out[A_PROBABILITIES_ELEMS];", f";\nstatic {kind_out} out[A_{name_out.upper()}_ELEMS];")
    (tmp_path / "main.c").write_text(main)
    done = dnncc.run(["gcc", "-O1", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "a.c", tmp_path / "b.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).stdout == "0 -18 1"


# ---- state, entries, extents, hooks ----

@pytest.mark.slow
def test_state(tmp_path):
    """it goes on from one run in steps to the next as from one run to the next"""
    recurrent(tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["-q", "--step=40", "--state", "h=z"])
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include <string.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static struct model_state a __attribute__((aligned(64))), b __attribute__((aligned(64))), c __attribute__((aligned(64)));
static float x[MODEL_X_ELEMS], y[2][MODEL_Y_ELEMS];
int main(void)
{
        int steps = 0;
        for (int run = 0; run < 3; run++) {
                for (int i = 0; i < (int)MODEL_X_ELEMS; i++)
                        x[i] = (float)((i * 7 + run) % 11) / 8 - 0.5f;
                if (model_run(workspace, &a, x, y[0]) || model_begin(workspace, &b, x, y[1]))
                        return 1;
                int more = 1;
                for (; more > 0; steps++)
                        more = model_step(workspace, &b, x, y[1]);
                if (more || memcmp(&a, &b, sizeof a) || memcmp(y[0], y[1], sizeof y[0]))
                        return 2;
        }
        c.build = 5;                    /* of another build: nothing is written */
        memset(workspace, 3, sizeof workspace);
        if (model_begin(workspace, &c, x, y[0]) != MODEL_ERROR_STATE || workspace[0] != 3)
                return 3;
        printf("%d", steps > 30);
        return 0;
}
""")
    done = dnncc.run(["gcc", *dnncc.SANITIZE, f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).stdout == "1"


@pytest.mark.slow
def test_entries(tmp_path):
    """each has steps of its own, and the record of one is none of the other's"""
    (tmp_path / "one").mkdir()
    recurrent(tmp_path / "one.onnx")
    choosing(tmp_path / "two.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "one.onnx", tmp_path / "two.onnx", "-q", "--step=60", "--name=model", "-o", tmp_path / "model.c"])
    assert done.returncode == 0, done.stderr
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include <string.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float x[MODEL_ONE_X_ELEMS], h[MODEL_ONE_H_ELEMS], y[2][MODEL_ONE_Y_ELEMS], z[2][MODEL_ONE_Z_ELEMS], p[MODEL_TWO_X_ELEMS], q[2][MODEL_TWO_Y_ELEMS];
int main(void)
{
        int more = 1;
        for (int i = 0; i < (int)MODEL_ONE_X_ELEMS; i++)
                x[i] = (float)(i % 7) / 4;
        for (int i = 0; i < (int)MODEL_TWO_X_ELEMS; i++)
                p[i] = (float)(i % 5) / 9;
        if (model_one_run(workspace, x, h, y[0], z[0]) || model_two_run(workspace, p, q[0]) || model_one_begin(workspace, x, h, y[1], z[1]))
                return 1;
        if (model_two_step(workspace, p, q[1]) != MODEL_ERROR_STATE)
                return 2;
        while (more > 0)
                more = model_one_step(workspace, x, h, y[1], z[1]);
        for (more = more || model_two_begin(workspace, p, q[1]) ? -1 : 1; more > 0;)
                more = model_two_step(workspace, p, q[1]);
        printf("%d %d", more, !memcmp(y[0], y[1], sizeof y[0]) && !memcmp(z[0], z[1], sizeof z[0]) && !memcmp(q[0], q[1], sizeof q[0]));
        return 0;
}
""")
    done = dnncc.run(["gcc", *dnncc.STRICT, *dnncc.SANITIZE, "-Wno-double-promotion", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).stdout == "0 1"


@pytest.mark.slow
def test_extents(tmp_path):
    """of a run: begin and step are given the same ones"""
    recurrent(tmp_path / "m.onnx", "N")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["-q", "--step=60", "--dim", "N=1..9"])
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include <string.h>
#include "model.h"
MODEL_WORKSPACE_DEFINE(workspace);
static float x[MODEL_X_ELEMS], h[MODEL_H_ELEMS], y[2][MODEL_Y_ELEMS], z[2][MODEL_Z_ELEMS];
int main(void)
{
        int same = 1, counts[2] = { 0, 0 };
        for (int i = 0; i < (int)MODEL_X_ELEMS; i++)
                x[i] = (float)(i % 7) / 4;
        for (int64_t n = 1; n < 10; n++) {
                int more = 1;
                if (model_run(workspace, x, h, n, y[0], z[0]) || model_begin(workspace, x, h, n, y[1], z[1]))
                        return 1;
                if (model_step(workspace, x, h, n % 9 + 1, y[1], z[1]) != MODEL_ERROR_STATE || model_step(workspace, x, h, 10, y[1], z[1]) != MODEL_ERROR_EXTENT)
                        return 2;
                for (; more > 0; counts[n > 4]++)
                        more = model_step(workspace, x, h, n, y[1], z[1]);
                same &= !more && !memcmp(y[0], y[1], sizeof y[0]) && !memcmp(z[0], z[1], sizeof z[0]);
        }
        printf("%d %d", same, counts[1] > counts[0]);
        return 0;
}
""")
    done = dnncc.run(["gcc", *dnncc.SANITIZE, f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).stdout == "1 1"


def test_hooks(tmp_path):
    """around each part of a call; the call that clears the record is the first"""
    dnncc.compile_model(EXAMPLES["digits_int8"], tmp_path, ["-q", "--step=2000", "--hook"])
    (tmp_path / "hooks.h").write_text("#include <stdio.h>\nstatic inline void before(int k) { printf(\"<%d \", k); }\nstatic inline void after(int k) { printf(\"%d> \", k); }\n")
    write_driver(tmp_path, """int more = model_begin({one}) ? -1 : 1;
        while (more > 0)
                more = model_step({one});
        return more;""")
    said = run_driver(tmp_path, "-include", str(tmp_path / "hooks.h"), "-DMODEL_HOOK_BEFORE=before", "-DMODEL_HOOK_AFTER=after")
    count = int(re.search(r"KERNEL_COUNT (\d+)", (tmp_path / "model.h").read_text())[1])
    assert said[0] == "-1>"
    pairs = list(zip(said[1::2], said[2::2]))
    order = [int(a[1:]) for a, b in pairs if b == f"{a[1:]}>"]
    assert len(order) == len(pairs) > count and order == sorted(order) and sorted(set(order)) == list(range(count))
    assert [k for k, _ in itertools.groupby(order)] == list(range(count))


# ---- what is refused, and what is said ----

def test_largest_part_is_said(tmp_path):
    """a sum of one output is not cut: steps that may be longer are warned of, and the header has the number"""
    path = save(tmp_path / "m.onnx", [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [value("x", F32, [100, 100])], [value("y", F32, [])])
    done = dnncc.run([dnncc.DNNCC, path, "--step=500", "-o", tmp_path / "m.c"])
    most = int(re.search(r"M_STEP_MOST (\d+)u", (tmp_path / "m.h").read_text())[1])
    assert "M_STEP_WORK 500u" in (tmp_path / "m.h").read_text() and most > 10000
    assert f"some steps do as much work as {most} products: kernel 'ReduceSum'" in done.stderr


# ---- on a board ----

@pytest.mark.slow
def test_longest_step(tmp_path):
    if missing := BOARDS["m4"].missing():
        pytest.skip(f"no {', no '.join(missing)}")
    whole = boards.measure("digits_int8", "m4", "cortex-m4")
    steps = boards.measure("digits_int8", "m4", "cortex-m4", ("--step=20000",))
    assert not whole.failed and not steps.failed, (whole, steps)
    assert steps.instructions < 1.06 * whole.instructions and 10_000 < steps.longest < 60_000 < whole.longest == whole.instructions


@pytest.mark.long
@pytest.mark.parametrize("model", ["dscnn_kws_int8", "resnet8_int8", "micro_kws_qdq", "micro_kws_qoperator"])
def test_steps_of_networks(model):
    """issue 39: no step above 250,000 instructions on a Cortex-M4, at most 3 % more than a run"""
    if BOARDS["m4"].missing() or not boards.model_path(model).exists():
        pytest.skip("no tools or no model")
    whole = boards.measure(model, "m4", "cortex-m4")
    steps = boards.measure(model, "m4", "cortex-m4", ("--step",))
    assert not whole.failed and not steps.failed, (whole, steps)
    assert steps.longest < 250_000 and steps.instructions < 1.03 * whole.instructions
