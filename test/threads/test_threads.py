# SPDX-License-Identifier: MIT
"""--threads=N: the same bits for every N, no data races, any dnncc_parallel will do, and the pool behind it."""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

RUNTIME = dnncc.ROOT / "runtime"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror".split()
TSAN = "-O1 -g -fsanitize=thread".split()


def targets():
    """generic, and the best x86 table that this processor satisfies"""
    return ["generic", *[t for t in ("x86-64-v3", "x86-64-v4") if processor.has(t)][-1:]]


# ---- models that are large enough to be shared out ----

class Graph:
    def __init__(self, **inputs):
        self.r = np.random.default_rng(7)
        self.nodes, self.constants, self.count = [], [], 0
        self.inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in inputs.items()]

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape):
        return self.constant((self.r.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def add(self, kind, *operands, **attributes):
        self.count += 1
        name = f"{kind.lower()}{self.count}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], name, **attributes))
        return name

    def save(self, path, *outputs):
        results = [helper.make_tensor_value_info(o, onnx.TensorProto.FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, results, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), str(path))
        return path


def image(path):
    """convolutions of all kinds, a residual, pooling, resizing, and what they fuse with; 3 and 5 channels divide by nothing"""
    g = Graph(x=[1, 3, 40, 36])
    a = g.add("Relu", g.add("Conv", "x", g.weights(16, 3, 3, 3), g.weights(16), pads=[1, 1, 1, 1]))
    b = g.add("Conv", a, g.weights(16, 16, 1, 1), g.weights(16))
    c = g.add("Relu", g.add("Add", b, a))
    d = g.add("Conv", c, g.weights(16, 1, 3, 3), group=16, pads=[1, 1, 1, 1])
    e = g.add("MaxPool", d, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    f = g.add("Sigmoid", g.add("Conv", e, g.weights(5, 16, 3, 3), strides=[1, 1]))
    u = g.add("ConvTranspose", f, g.weights(5, 8, 3, 3), strides=[2, 2])
    s = g.add("Concat", u, g.add("Tanh", u), axis=1)
    p = g.add("GlobalAveragePool", c)
    q = g.add("Gemm", g.add("Flatten", p), g.weights(16, 40))
    return g.save(path, s, q)


def tokens(path):
    """matrix products, softmax, layer norm, transposes, gathers and reductions"""
    g = Graph(x=[2, 30, 72])

    def heads(v):
        return g.add("Transpose", g.add("Reshape", v, g.constant(np.array([2, 30, 6, 12]))), perm=[0, 2, 1, 3])
    q, k, v = (heads(g.add("Add", g.add("MatMul", "x", g.weights(72, 72)), g.weights(72))) for _ in range(3))
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
    mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
    flat = g.add("Reshape", g.add("Transpose", mixed, perm=[0, 2, 1, 3]), g.constant(np.array([2, 30, 72])))
    y = g.add("Add", "x", flat)
    mean = g.add("ReduceMean", y, axes=[-1])
    centred = g.add("Sub", y, mean)
    variance = g.add("ReduceMean", g.add("Mul", centred, centred), axes=[-1])
    z = g.add("Div", centred, g.add("Sqrt", g.add("Add", variance, g.constant(np.float32(1e-5)))))
    wide = g.add("Erf", g.add("MatMul", z, g.weights(72, 288)))
    down = g.add("MatMul", wide, g.weights(288, 72))
    picked = g.add("Gather", down, g.constant(np.array([3, 1, 29])), axis=1)
    return g.save(path, g.add("Add", z, down), picked, g.add("ReduceMax", wide, axes=[1]), g.add("CumSum", wide, g.constant(np.int64(1))))


def tiles(path):
    """convolutions that Winograd's algorithm computes: tiles enough for threads to share groups of them, and few"""
    g = Graph(x=[1, 32, 60, 48])
    a = g.add("Relu", g.add("Conv", "x", g.weights(32, 32, 3, 3), g.weights(32), pads=[1, 1, 1, 1]))
    b = g.add("MaxPool", a, kernel_shape=[4, 4], strides=[4, 4])
    return g.save(path, g.add("Relu", g.add("Conv", b, g.weights(40, 32, 3, 3), g.weights(40))))


def steps(path):
    """a recurrent network: kernels inside loops, which run forward and backward"""
    g = Graph(x=[9, 3, 96])
    y = g.add("LSTM", "x", g.weights(2, 512, 96), g.weights(2, 512, 128), g.weights(2, 1024), hidden_size=128, direction="bidirectional")
    return g.save(path, y, g.add("ReduceSum", y, g.constant(np.array([1, 3])), keepdims=0))


MODELS = {"image": (image, (1, 3, 40, 36)), "tokens": (tokens, (2, 30, 72)), "tiles": (tiles, (1, 32, 60, 48)),
          "steps": (steps, (9, 3, 96))}


def build(work, options, link, cc=dnncc.CC, flags=("-O1",), main=None):
    """work/model.c compiled strictly and linked with test/host.c, or `main`, and what provides dnncc_parallel"""
    model = work / "model.onnx"
    dnncc.compile_model(model, work, options)
    program = work / "program"
    commands = [[cc, *dnncc.STRICT, *flags, *dnncc.headers(work / "model.c", [cc, *dnncc.STRICT, *flags]), "-c", work / "model.c", "-o", work / "model.o"],
                [cc, *flags, "-I", work, "-I", RUNTIME, "-DDESCRIBE=model_describe", main or dnncc.HOST, work / "model.o", *link,
                 "-lpthread", "-o", program]]
    for command in commands:
        done = dnncc.run(command, timeout=600)
        assert done.returncode == 0, done.stderr[:4000]
    return program


def parallel_calls(work):
    return len(re.findall(r"^\s+dnncc_parallel\(", (work / "model.c").read_text(), re.M))


# ---- generated code ----

@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(8, each=False)
def test_same_bits_for_every_count(name, target):
    make, shape = MODELS[name]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    results = {}
    for count in (1, 2, 3, 7):
        with dnncc.Workspace(f"threads-{name}-{target}-{count}") as work:
            make(work / "model.onnx")
            program = build(work, [f"--target={target}", f"--threads={count}"], [RUNTIME / "threads.c"] if count > 1 else [])
            calls = parallel_calls(work)
            assert calls == 0 if count == 1 else calls >= 3, f"{calls} calls of dnncc_parallel"
            dnncc.check_clang(work)
            results[count] = dnncc.run_host(program, [x])
    for count, outputs in results.items():
        for got, want in zip(outputs, results[1]):
            assert got.tobytes() == want.tobytes(), f"{count} threads: other bits than one"


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(8, each=False)
def test_no_data_races(name, target):
    """ThreadSanitizer, two callers at the same time: every part on a thread of its own, then the pool"""
    with dnncc.Workspace(f"tsan-{name}-{target}") as work:
        MODELS[name][0](work / "model.onnx")
        for link, flags in (HERE / "spawn.c", []), (RUNTIME / "threads.c", ["-DWITH_RUNTIME"]):
            program = build(work, [f"--target={target}", "--threads=3"], [link], flags=[*TSAN, *flags], main=HERE / "callers.c")
            done = dnncc.run([program, 4], timeout=300)
            assert done.returncode == 0 and done.stderr == "", done.stderr[:4000]


ROOM = 4096


def random_kernel(r, name):
    """a nest with random subscripts, some of which make iterations independent: text of the kernel and of its call"""
    i, j, step = r.randint(2, 12), r.randint(4, 12), r.choice([1, 1, 1, 2, 3])

    def subscript(names):
        parts = [f"%{v} * {r.choice([1, 1, 1, 2, 3, j, j, j - 1, j + 1, 144, i])}" for v in names if r.random() < 0.9]
        if r.random() < 0.3:
            v = r.choice(names)
            parts.append(r.choice([f"%{v} / 2", f"%{v} % 3", f"min(%{v}, 5)", f"max(2 - %{v}, 0)"]))
        return " + ".join([*parts, str(r.randint(0, 20))])

    early, store, load = subscript(["i"]), subscript(["i", "j", "p"][:r.choice([2, 2, 3])]), subscript(["i", "j"])
    in_place, same = r.random() < 0.5, r.random() < 0.5
    load = store if same and r.random() < 0.7 else load

    def values(text):
        for a in range(i):
            for b in range(0, j, step):
                yield eval(text.replace("%p", f"({early})").replace("/", "//").replace("%i", str(a)).replace("%j", str(b)))
    if max(max(values(t)) for t in (store, load)) >= ROOM:
        return random_kernel(r, name)
    kind = " class 1" if same else ""
    read = "%y" if in_place and same else "%a"
    text = f"""kernel @{name}(%x: in f32[{ROOM}], %a: in f32[{ROOM}]{kind}, %y: inout f32[{ROOM}]{kind}) {{
  for %i = 0 to {i} {{
    let %p : index = {early}
    for %j = 0 to {j}{f" step {step}" if step > 1 else ""} {{
      var %sum : f32 = 0.0
      for %w = 0 to 300 {{
        set %sum = %sum * 0.5 + %x[%w] * %x[%w + %j]
      }}
      store %y[{store}] = %sum + {read}[{load}]
    }}
  }}
}}
"""
    return text, f"  call @{name}(@x, @{'y' if same else 'x'}, @y)\n"


@pytest.mark.slow
def test_random_loops_have_no_data_races(tmp_path):
    """what the pass proves independent is, whatever the subscripts"""
    r = random.Random(11)
    kernels = [random_kernel(r, f"k{k}") for k in range(250)]
    (tmp_path / "model.onnx").write_text(
        f'loop 1\nprogram "random" source "" workspace 0 align 64 live 0\n'
        f'buffer @x : f32[{ROOM}] input "x"\nbuffer @y : f32[{ROOM}] output "y"\n' + "".join(k[0] for k in kernels) +
        "main {\n" + "".join(k[1] for k in kernels) + "}\n")
    program = build(tmp_path, ["--threads=3", "--passes=parallelize"], [HERE / "spawn.c"], flags=TSAN, main=HERE / "callers.c")
    calls = parallel_calls(tmp_path)
    assert 30 <= calls <= 200, f"{calls} of 250 are parallel"
    done = dnncc.run([program, 1])
    assert done.returncode == 0 and done.stderr == "", done.stderr[:4000]


def test_data_races_are_found(tmp_path):
    """the test above can fail"""
    (tmp_path / "model.onnx").write_text("""loop 1
program "race" source "" workspace 0 align 64 live 0
buffer @x : f32[784] input "x"
buffer @y : f32[784] output "y"
kernel @last(%x: in f32[784], %y: out f32[784]) {
  for %i = 0 to 784 parallel {
    store %y[0] = %x[%i]
  }
}
main {
  call @last(@x, @y)
}
""")
    program = build(tmp_path, ["--threads=3"], [HERE / "spawn.c"], flags=TSAN, main=HERE / "callers.c")
    assert "data race" in dnncc.run([program, 1]).stderr


def test_any_dnncc_parallel_will_do():
    with dnncc.Workspace("serial") as work:
        image(work / "model.onnx")
        program = build(work, ["--threads=2"], [HERE / "serial.c"], main=HERE / "callers.c")
        done = dnncc.run([program, 2])
        assert done.returncode == 0 and "serial" in done.stderr, done.stderr


@pytest.mark.parametrize("link", ["", f" {RUNTIME / 'threads.c'} -lpthread"], ids=["serial", "runtime"])
def test_option_test(link, tmp_path):
    """--test --cc brings a serial dnncc_parallel, unless the command brings another"""
    tokens(tmp_path / "model.onnx")
    x = np.random.default_rng(5).standard_normal(MODELS["tokens"][1]).astype(np.float32)
    for k, array in enumerate([x, *dnncc.run_host(build(tmp_path, [], []), [x])]):
        name = f"output_{k - 1}.pb" if k else "input_0.pb"
        (tmp_path / name).write_bytes(numpy_helper.from_array(array).SerializeToString())
    done = dnncc.run([dnncc.DNNCC, tmp_path / "model.onnx", "--threads=2", f"--test={tmp_path}", f"--cc=gcc -O1{link}"])
    assert done.returncode == 0, done.stderr


def test_dumps_go_on(tmp_path):
    """a dump of any stage compiles to the same C"""
    tokens(tmp_path / "model.onnx")
    options = [f"--target={targets()[-1]}", "--threads=2"]
    dnncc.compile_model(tmp_path / "model.onnx", tmp_path, [*options, f"--dump-dir={tmp_path / 'dumps'}"])
    text = (tmp_path / "model.c").read_text()
    assert "dnncc_parallel" in text and "dnncc_parallel" in (tmp_path / "model.h").read_text()
    dumps = sorted((tmp_path / "dumps").glob("*.loops"))
    assert any("parallelize" in d.name for d in dumps)
    for dump in dumps:
        again = tmp_path / dump.stem
        again.mkdir()
        dnncc.compile_model(dump, again, options)
        assert (again / "model.c").read_text() == text, dump.name


# ---- the pool ----

@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_runtime_is_clean(cc, tmp_path):
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    for flags in (["-std=c11"], ["-std=gnu17", "-O3"]):
        done = dnncc.run([cc, *flags, *WARNINGS, "-c", RUNTIME / "threads.c", "-o", tmp_path / "threads.o"])
        assert done.returncode == 0, done.stderr
    done = dnncc.run([cc, "-x", "c++", "-fsyntax-only", RUNTIME / "dnncc_runtime.h"])
    assert done.returncode == 0 or "cc1plus" in done.stderr, done.stderr


def test_pool_has_no_data_races(tmp_path):
    """the unit tests of the pool under ThreadSanitizer"""
    done = dnncc.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", *TSAN, "-I", dnncc.ROOT,
                      dnncc.ROOT / "test" / "unit" / "threads_test.c", RUNTIME / "threads.c", "-lcmocka", "-lpthread", "-o",
                      tmp_path / "threads_test"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([tmp_path / "threads_test"], timeout=300)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr[-4000:]


def test_install(tmp_path):
    """header, library and pkg-config file are where a build finds them"""
    build_folder = pathlib.Path(dnncc.DNNCC).resolve().parent
    make = ["make", "-C", dnncc.ROOT, f"B={build_folder}"]
    if subprocess.run([*make, "-q", "all"], capture_output=True).returncode:
        pytest.skip("the build is not up to date")
    done = dnncc.run([*make, "install", f"DESTDIR={tmp_path}", "PREFIX=/usr"])
    assert done.returncode == 0, done.stderr
    flags = ["-I", tmp_path / "usr/include", "-L", tmp_path / "usr/lib"]
    if shutil.which("pkg-config"):
        done = dnncc.run(["pkg-config", "--cflags", "--libs", "dnncc-runtime"],
                         env={**os.environ, "PKG_CONFIG_PATH": str(tmp_path / "usr/lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(tmp_path),
                              "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"})
        assert done.returncode == 0, done.stderr
        flags = done.stdout.split()
    (tmp_path / "main.c").write_text("#include <dnncc_runtime.h>\nint main(void) { dnncc_threads_shutdown(); return 0; }\n")
    done = dnncc.run(["gcc", tmp_path / "main.c", *flags, "-ldnncc_runtime", "-lpthread", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).returncode == 0
