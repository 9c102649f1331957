# SPDX-License-Identifier: MIT
"""The command line: options, exit codes, files that appear whole or not at all."""
import os
import pathlib
import re
import shlex
import stat
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


def call(*arguments, **keywords):
    return dnncc.run([dnncc.DNNCC, *arguments], **keywords)


def save(path, nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), str(path))
    return path


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def relu(path, shape=(2, 3)):
    return save(path, [helper.make_node("Relu", ["x"], ["y"], "r")], [value("x", shape)], [value("y", shape)])


def test_usage_errors(tmp_path):
    model = relu(tmp_path / "m.onnx")
    for arguments in ([], ["--no-such-option", model], [model, "--emit=pdf"], [model, "--name=1x"], [model, "--name=int"],
                      [model, "--name=a;b"], [model, model], [model, "--target=pdp11"], [model, "--max-ram=many"],
                      [model, "--limit", "nonsense=3"], [model, "--threads=0"], [model, "--threads=-2"], [model, "--threads=257"],
                      [model, "--threads=two"], [model, "--passes=nonsense"], [model, "--passes=plan,simplify"],
                      [model, "--dim", "N="], [model, "--dim", "N=1e9"], [model, "-o", "x.txt"], ["-o"],
                      [model, "--output", "nothing"], [model, "--keep", "nothing"]):
        done = call(*arguments, cwd=tmp_path)
        assert done.returncode == dnncc.USAGE, (arguments, done.stderr)
        assert done.stderr.count("\n") == 1 and "error" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["m.onnx"]


def test_help_texts():
    for option, wanted in (("--help", "--max-ram"), ("--version", "dnncc "), ("--help-passes", "simplify"),
                           ("--help-ops", "convolve"), ("--target=help", "generic")):
        done = call(option)
        assert done.returncode == 0 and wanted in done.stdout and done.stderr == ""


def test_default_output_names(tmp_path):
    relu(tmp_path / "my net.v2.onnx")
    assert call("my net.v2.onnx", cwd=tmp_path).returncode == 0
    assert {"my net.v2.c", "my net.v2.h"} <= set(os.listdir(tmp_path))
    assert "int my_net_v2_run(" in (tmp_path / "my net.v2.h").read_text()


def test_standard_streams(tmp_path):
    model = relu(tmp_path / "m.onnx").read_bytes()
    done = subprocess.run([dnncc.DNNCC, "-", "-o", "-"], input=model, capture_output=True)
    assert done.returncode == 0 and b"int model_run(" in done.stdout
    (tmp_path / "one.c").write_bytes(done.stdout)
    assert dnncc.run(["gcc", *dnncc.STRICT, "-c", tmp_path / "one.c", "-o", tmp_path / "one.o"]).returncode == 0
    with open("/dev/full", "w") as full:
        assert subprocess.run([dnncc.DNNCC, "-", "-o", "-"], input=model, stdout=full, stderr=subprocess.PIPE).returncode == dnncc.IO


def test_atomic_output(tmp_path):
    model = relu(tmp_path / "m.onnx")
    (tmp_path / "m.c").write_text("old")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(model.read_bytes()[:-7])
    assert call(broken, "-o", tmp_path / "m.c").returncode == dnncc.INVALID
    assert (tmp_path / "m.c").read_text() == "old"
    for target in ("folder.c", "link.c"):
        if target == "folder.c":
            (tmp_path / target).mkdir()
        else:
            (tmp_path / target).symlink_to(tmp_path / "m.c")
        assert call(model, "-o", tmp_path / target).returncode == dnncc.IO
    assert call(model, "-o", "/dev/full").returncode != 0
    (tmp_path / "same.c").write_bytes(model.read_bytes())
    assert call(tmp_path / "same.c", "-o", tmp_path / "same.c").returncode == dnncc.IO
    assert (tmp_path / "same.c").read_bytes() == model.read_bytes()
    assert (tmp_path / "m.c").read_text() == "old"
    assert not [n for n in os.listdir(tmp_path) if re.search(r"\.[A-Za-z0-9]{6}$", n) and n.count(".") > 1]
    assert call(model, "-o", tmp_path / "m.c").returncode == 0
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(os.stat(tmp_path / "m.c").st_mode) == 0o666 & ~umask


def test_missing_and_odd_inputs(tmp_path):
    os.mkfifo(tmp_path / "fifo.onnx")
    for path in (tmp_path / "missing.onnx", tmp_path, tmp_path / "fifo.onnx", "/dev/zero"):
        assert call(path, "-o", tmp_path / "x.c").returncode == dnncc.IO
    with open(tmp_path / "sparse.onnx", "wb") as f:
        f.truncate(8 << 30)
    assert call(tmp_path / "sparse.onnx", "-o", tmp_path / "x.c").returncode == dnncc.INVALID
    assert not (tmp_path / "x.c").exists()


def test_pipes(tmp_path):
    """a pipe as MODEL is what - is, named or not, whoever comes first"""
    model = relu(tmp_path / "m.onnx")
    want = dnncc.run([dnncc.DNNCC, "-", "-o", "-"], stdin=open(model, "rb")).stdout
    script = f'{dnncc.DNNCC} <(cat {model}) && cat model.c model.h > /dev/null && {dnncc.DNNCC} <(cat {model}) -o -'
    assert dnncc.run(["bash", "-c", script], cwd=tmp_path).stdout == want
    os.mkfifo(tmp_path / "fifo")
    for order in (f"(cat {model} > fifo) & {dnncc.DNNCC} fifo -o -", f"(sleep 0.2; cat {model} > fifo) & {dnncc.DNNCC} fifo -o -"):
        assert dnncc.run(["bash", "-c", order], cwd=tmp_path).stdout == want


def test_targets_by_other_names(tmp_path):
    """what people say names a target of the table, and the file names that"""
    model = relu(tmp_path / "m.onnx")
    rows = re.findall(r'^TARGET_NAME\("(.*)", +"(.*)"\)', (dnncc.ROOT / "codegen" / "target_names.def").read_text(), re.MULTILINE)
    names = re.findall(r"^  ([a-z]\S*)", call("--target=help").stdout, re.MULTILINE)
    assert len(rows) > 80 and len({said for said, _ in rows}) == len(rows) and not {said for said, _ in rows} & set(names)
    assert {target for _, target in rows if target[0] != "?"} <= set(names)
    assert all(name in names for _, text in rows if text[0] == "?" for name in re.findall("'(.*?)'", text))
    for said, target in (("avx2", "x86-64-v3"), ("AVX512", "x86-64-v4"), ("sse4", "x86-64"), ("rp2040", "cortex-m0"), ("sm_90", "cuda-sm_90"), ("H100", "cuda-sm_90"),
                         ("pi4", "cortex-a72"), ("Apple Silicon", "apple-m1"), ("avx2,avx512", "x86-64-v3,x86-64-v4")):
        assert call(model, f"--target={said}", "--name=m", "-o", "-").stdout == call(model, f"--target={target}", "--name=m", "-o", "-").stdout != ""


def test_dependency_file(tmp_path):
    model = relu(tmp_path / "a b.onnx")
    assert call(model, "-o", tmp_path / "m.c", "-MD").returncode == 0
    text = (tmp_path / "m.d").read_text()
    assert text == f"{tmp_path}/m.c {tmp_path}/m.h: {tmp_path}/a\\ b.onnx\n"
    assert call(model, "-o", tmp_path / "m.c", "-MF", tmp_path / "other.d").returncode == 0
    assert (tmp_path / "other.d").exists()


def test_open_dimensions(tmp_path):
    model = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [value("x", ["N", 3])], [value("y", ["N", 3])])
    done = call(model, "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.INVALID and "--dim N=" in done.stderr
    for option in ("--dim=N=4", "--input=x=4x3"):
        assert call(model, "-o", tmp_path / "m.c", option).returncode == 0
        assert "12u" in (tmp_path / "m.h").read_text()
    assert call(model, "-o", tmp_path / "m.c", "--dim", "M=4").returncode == dnncc.USAGE
    assert call(model, "-o", tmp_path / "m.c", "--dim", "N=2", "--input", "x=3x3").returncode != 0


SYMBOLIC = '''dnn 1
module "symbolic"
symbol N <= 64
func @main(%x "x": <N x 3 x f32>) -> ("y") {
  %0 = max(%x, 0.0) : <N x 3 x f32>
  %1 = concat(%0, %0) axis=0 : <(N + N) x 3 x f32>
  yield(%1)
}
'''


def test_symbols_of_a_text(tmp_path):
    path = tmp_path / "s.dnn"
    path.write_text(SYMBOLIC)
    done = call(path, "-o", tmp_path / "s.c")
    assert done.returncode == dnncc.INVALID and "--dim N=" in done.stderr, done.stderr
    for option in ("--dim=N=4", "--input=x=4x3"):
        assert call(path, "-o", tmp_path / "s.c", option).returncode == 0
        assert "S_Y_ELEMS 24u" in (tmp_path / "s.h").read_text()
    for options in (["--dim", "N=65"], ["--dim", "N=-1"], ["--dim", "M=1"], ["--input", "x=4"], ["--input", "x=4x5"],
                    ["--input", "z=4x3"], ["--dim", "N=3", "--input", "x=4x3"], ["--input", "x=4x"], ["--input", "x=x3"]):
        assert call(path, "-o", tmp_path / "s.c", *options).returncode in (dnncc.USAGE, dnncc.INVALID), options
    done = call(path, "--emit=ir", "--passes=", "-o", "-")
    assert done.returncode == 0 and "<N + N x 3 x f32>" in done.stdout, done.stdout


def test_unsupported_lists_every_node(tmp_path):
    nodes = [helper.make_node("NoSuchThing", ["x"], ["a"], "first"), helper.make_node("Relu", ["a"], ["b"], "fine"),
             helper.make_node("OtherThing", ["b"], ["y"], "second", domain="com.example")]
    graph = helper.make_graph(nodes, "g", [value("x", [2])], [value("y", [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)], ir_version=8)
    onnx.save(model, str(tmp_path / "m.onnx"))
    done = call(tmp_path / "m.onnx", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.UNSUPPORTED
    assert "'first'" in done.stderr and "NoSuchThing" in done.stderr and "'second'" in done.stderr and "com.example" in done.stderr
    assert "'fine'" not in done.stderr


def test_budgets(tmp_path):
    done = call(DIGITS, "-o", tmp_path / "d.c", "--max-ram=1K")
    assert done.returncode == dnncc.BUDGET and "largest" in done.stderr and not (tmp_path / "d.c").exists()
    done = call(DIGITS, "-o", tmp_path / "d.c", "--max-consts=1K")
    assert done.returncode == dnncc.BUDGET and "dense_w" in done.stderr
    size = int(re.search(r"_WORKSPACE_SIZE\s+(\d+)u", (call(DIGITS, "-o", tmp_path / "d.c"), (tmp_path / "d.h").read_text())[1]).group(1))
    assert call(DIGITS, "-o", tmp_path / "d.c", f"--max-ram={size}").returncode == 0
    assert call(DIGITS, "-o", tmp_path / "d.c", f"--max-ram={size - 1}").returncode == 0      # rows are passed on
    assert int(re.search(r"_WORKSPACE_SIZE\s+(\d+)u", (tmp_path / "d.h").read_text()).group(1)) < size


def test_output_and_keep(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"], "ra"), helper.make_node("Neg", ["a"], ["b"], "nb"),
             helper.make_node("Exp", ["a"], ["c"], "ec")]
    model = save(tmp_path / "m.onnx", nodes, [value("x", [4])], [value("b", [4]), value("c", [4])])
    x = np.array([-1, 0, 1, 2], np.float32)
    a = np.maximum(x, 0)
    for options, wanted in (([], [-a, np.exp(a)]), (["--output=c"], [np.exp(a)]), (["--keep=a"], [-a, np.exp(a), a]),
                            (["--output=b", "--keep=a"], [-a, a])):
        with dnncc.Workspace("output-keep") as work:
            dnncc.compile_model(model, work, options)
            got = dnncc.run_host(dnncc.build_host(work, dnncc.SANITIZE), [x])
            assert len(got) == len(wanted)
            for g, w in zip(got, wanted):
                np.testing.assert_allclose(g, w, rtol=1e-6)


def test_vectors(tmp_path):
    """--test: the interpreter and the compiled program against vectors, and a vector that is wrong"""
    model = relu(tmp_path / "m.onnx")
    x = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
    data = tmp_path / "set"
    data.mkdir()
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(np.maximum(x, 0)).SerializeToString())
    for options in ([], ["--cc=cc -std=gnu11"]):
        done = call(model, "--test", data, *options)
        assert done.returncode == 0 and "equal" in done.stdout, done.stderr
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    for options in ([], ["--cc=cc -std=gnu11"]):
        done = call(model, "--test", data, *options)
        assert done.returncode != 0 and "[0, 0]" in done.stderr, done.stderr
    for given, wanted, equal in ((np.nan, np.nan, True), (np.inf, np.inf, True), (7.0, np.inf, False), (np.nan, 7.0, False)):
        x[0, 1] = given
        (data / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
        y = np.maximum(x, 0)
        y[0, 1] = wanted
        (data / "output_0.pb").write_bytes(numpy_helper.from_array(y).SerializeToString())
        assert (call(model, "--test", data).returncode == 0) == equal, (given, wanted)
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(x[:1]).SerializeToString())
    assert call(model, "--test", data).returncode == dnncc.INVALID
    assert not (tmp_path / "m.c").exists()


def test_look_inside(tmp_path):
    done = call(DIGITS, "-o", tmp_path / "d.c", "--print-ir-after=fuse", "--time-passes", "--stats", "--check",
                f"--dump-dir={tmp_path / 'dumps'}")
    assert done.returncode == 0, done.stderr
    assert "fusion(" in done.stderr and "time: fuse" in done.stderr and "stats: workspace" in done.stderr
    checks = dnncc.checks(done)
    assert checks and all(line.endswith(": equal") for line in checks), done.stderr
    names = sorted(os.listdir(tmp_path / "dumps"))
    assert names[0].startswith("00-import") and any(n.endswith("-plan.loops") for n in names)
    plain = call(DIGITS, "-o", tmp_path / "e.c", "--name=d")
    assert plain.returncode == 0
    assert (tmp_path / "e.c").read_text().replace("e.h", "d.h") == (tmp_path / "d.c").read_text()


@pytest.mark.parametrize("passes, words", [
    ("plan,simplify", "pass plan cannot run here: it works on Loop IR: lower must come before it"),
    ("lower,simplify", "pass simplify cannot run after lower: it works on Tensor IR"),
    ("lower,lower", "pass lower cannot run after lower"),
    ("schedule,fuse", "pass fuse cannot run after schedule: a schedule is chosen for a kernel with all that is in it"),
    ("lower,plan,vectorize", "pass vectorize cannot run after plan: buffers share memory as the loops stood"),
    ("simplify,simplfy", "no pass is called 'simplfy'")])
def test_illegal_orders(tmp_path, passes, words):
    done = call(DIGITS, "-o", tmp_path / "d.c", f"--passes={passes}")
    assert done.returncode == dnncc.USAGE and words in done.stderr, done.stderr
    assert not (tmp_path / "d.c").exists()


def test_orders_count_what_a_dump_went_through(tmp_path):
    assert call(DIGITS, "-o", tmp_path / "d.dnn", "--emit=ir").returncode == 0
    done = call(tmp_path / "d.dnn", "-o", "-", "--emit=ir", "--passes=fuse")
    assert done.returncode == dnncc.USAGE and "pass fuse cannot run after offload" in done.stderr, done.stderr


def test_every_dump_gives_the_same_c(tmp_path):
    (tmp_path / "again").mkdir()
    for number, options in enumerate(([], ["--target=x86-64-v4", "--threads=2"], ["--quantize-weights=f16", "--limit=weight_elements=1", "--target=x86-64-v3"],
                                      ["--quantize=dynamic", "--limit=weight_elements=1"])):
        folder = tmp_path / f"dumps{number}"
        assert call(DIGITS, "-o", tmp_path / "d.c", f"--dump-dir={folder}", *options).returncode == 0
        quantizes = any(o.startswith("--quantize") for o in options)           # which works on Tensor IR alone
        dumps = [p for p in sorted(folder.iterdir()) if p.suffix == ".dnn" or (p.suffix == ".loops" and not quantizes)]
        assert len(dumps) > 10
        said = 0
        for path in dumps:
            done = call(path, "-o", tmp_path / "again" / "d.c", *options)
            assert done.returncode == 0, (path, done.stderr)
            said += "is not done again" in done.stderr
            assert (tmp_path / "again" / "d.c").read_text() == (tmp_path / "d.c").read_text(), path
        assert bool(said) == quantizes


def test_print_at_no_pass(tmp_path):
    for option in ("--print-ir-after=fus", "--print-ir-before=nothing"):
        done = call(DIGITS, "-o", tmp_path / "d.c", option)
        assert done.returncode == dnncc.USAGE and "no pass is called" in done.stderr


def test_check_writes_what_is_asked_for(tmp_path):
    """--check is a question: C is written where -o, -MD or --emit says so"""
    model, said = DIGITS.resolve(), "check: plan: equal"
    for options, files in (((), []), (("--report=r.json",), ["r.json"]), (("-o", "d.c"), ["d.c", "d.h"]), (("--emit=ir",), [f"{model.stem}.dnn"]),
                           (("-MF", "d.d"), ["d.d", f"{model.stem}.c", f"{model.stem}.h"])):
        folder = tmp_path / "_".join(("f", *options)).replace("/", "")
        folder.mkdir()
        done = call(model, "--check", *options, cwd=folder)
        assert done.returncode == 0 and (said in done.stderr or "--emit=ir" in options), done.stderr
        assert sorted(p.name for p in folder.iterdir() if p.suffix != ".bin") == files


def test_check_compiles_what_takes_too_long(tmp_path):
    done = call(DIGITS, "-o", tmp_path / "d.c", "--check", "--limit", "check_steps=1000", "--passes=simplify,fuse,lower,plan")
    assert done.returncode == 0 and done.stderr.count(": equal") == 4, done.stderr
    done = call(DIGITS, "-o", tmp_path / "d.c", "--check", "--limit", "check_steps=1000", "--cc=false", "--passes=simplify,lower,plan")
    assert done.returncode == 0 and done.stderr.count("skipped: the interpreter takes too long") == 4, done.stderr


def test_levels_agree(tmp_path):
    x = np.random.default_rng(0).random((1, 1, 8, 8), np.float32)
    results = []
    for options in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["--exact"], ["-O0", "--unchecked"]):
        with dnncc.Workspace("level") as work:
            dnncc.compile_model(DIGITS, work, options)
            results.append(dnncc.run_host(dnncc.build_host(work, dnncc.SANITIZE), [x])[0])
    for r in results:
        np.testing.assert_allclose(r, results[0], rtol=1e-5, atol=1e-7)
    assert np.array_equal(results[4], results[0]), "--exact keeps every bit"


def test_emit_and_read_back(tmp_path):
    assert call(DIGITS, "-o", tmp_path / "d.c", "--name=d").returncode == 0
    for emit, suffix in (("ir", "dnn"), ("loops", "loops")):
        text = tmp_path / f"d.{suffix}"
        assert call(DIGITS, f"--emit={emit}", "-o", text).returncode == 0
        options = [] if emit == "ir" else ["--passes="]
        assert call(text, f"--emit={emit}", "-o", tmp_path / f"again.{suffix}", *options).returncode == 0
        assert call(text, "-o", tmp_path / f"{emit}.c", "--name=d", *options).returncode == 0
        assert (tmp_path / f"{emit}.c").read_text().replace(f"{emit}.h", "d.h") == (tmp_path / "d.c").read_text()
        inside = call(DIGITS, f"--emit={emit}", "-o", "-")
        assert inside.returncode == 0 and inside.stdout.startswith(("dnn ", "loop "))


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """a folder with a locale of decimal commas, and one where i is no small I"""
    folder = tmp_path_factory.mktemp("locales")
    for name in "de_DE", "tr_TR":
        done = dnncc.run(["localedef", "-i", name, "-f", "UTF-8", folder / f"{name}.UTF-8"])
        assert done.returncode == 0, f"{done.stderr}: the package locales has the sources"
    told = dnncc.run(["locale", "decimal_point"], env={**os.environ, "LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"})
    assert told.stdout == ",\n"
    return folder


def test_deterministic(tmp_path, locales):
    """equal input and options: equal bytes, whatever the folder, the locale or the time"""
    made, clean = {}, {k: v for k, v in os.environ.items() if k != "LANG" and not k.startswith("LC_")}
    for k, environment in enumerate(({}, {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}, {"LANG": "tr_TR.UTF-8"})):
        folder = tmp_path / f"folder{k}"
        folder.mkdir()
        (folder / "m.onnx").write_bytes(DIGITS.read_bytes())
        for options in ("m.onnx -o out.c --report=out.json", "m.onnx --emit=ir -o m.dnn", "m.dnn --emit=loops -o m.loops", "m.loops -o again.c"):
            done = call(*options.split(), cwd=folder, env={**clean, "LOCPATH": str(locales), **environment})
            assert done.returncode == 0, done.stderr
        for path in folder.iterdir():
            made.setdefault(path.name, set()).add(path.read_bytes())
    assert {name: len(texts) for name, texts in made.items()} == dict.fromkeys(made, 1)
    assert {"out.c", "out.h", "out.json", "m.dnn", "m.loops", "again.c"} <= set(made)
    assert str(tmp_path).encode() not in made["out.c"].pop()


def test_header_of_another_build_is_refused(tmp_path):
    assert call(DIGITS, "-o", tmp_path / "d.c").returncode == 0
    header = (tmp_path / "d.h").read_bytes()
    assert call(DIGITS, "-o", tmp_path / "d.c", "-O0").returncode == 0
    assert dnncc.run(["gcc", "-c", tmp_path / "d.c", "-o", tmp_path / "d.o"]).returncode == 0
    (tmp_path / "d.h").write_bytes(header)
    assert dnncc.run(["gcc", "-c", tmp_path / "d.c", "-o", tmp_path / "d.o"]).returncode != 0


def test_names_of_ports(tmp_path):
    """are those of the model, but for what C, its library and run itself use"""
    names = ["state", "region", "error", "n", "x.1", "workspace", "weights", "int", "index"]
    model = save(tmp_path / "m.onnx", [helper.make_node("Sum", names, ["State"])], [value(name, (2,)) for name in names], [value("State", (2,))])
    assert call(model, "-o", tmp_path / "m.c").returncode == 0
    wanted = [*names[:4], "x_1", *(f"{name}_2" for name in names[5:])]
    words = re.findall(r"float \*(\w+)", re.search(r"int m_run\(([^;]*)\);", (tmp_path / "m.h").read_text())[1])
    assert words == [*wanted, "State_2"]


def test_only_allowed_symbols(tmp_path):
    assert call(DIGITS, "-o", tmp_path / "d.c").returncode == 0
    assert dnncc.run(["gcc", "-std=c99", "-O2", "-fno-pie", "-c", tmp_path / "d.c", "-o", tmp_path / "d.o"]).returncode == 0
    names = dnncc.run(["nm", tmp_path / "d.o"]).stdout.splitlines()
    undefined = {n.split()[-1] for n in names if " U " in n}
    public = {n.split()[-1] for n in names if " T " in n or " D " in n or " R " in n}
    assert undefined <= {"memcpy", "memset"} and public == {"d_run", "d_describe"}
    assert not [n for n in names if n.split()[-2] in "dDbBC"], "nothing is writable"


def test_examples(tmp_path):
    assert call(DIGITS, "-o", tmp_path / "digits.c").returncode == 0
    for example, wanted in (("digits", "digits it never saw are right"), ("embed", "9: 0.")):
        program = tmp_path / example
        done = dnncc.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{tmp_path}",
                          dnncc.ROOT / "examples" / example / "main.c", tmp_path / "digits.c", "-o", program])
        assert done.returncode == 0, done.stderr
        done = dnncc.run([program])
        assert done.returncode == 0 and wanted in done.stdout


@pytest.mark.parametrize("text", ["", "dnn", "dnn 1", "dnn 1\nmodule", "loop 1", "loop 1\nprogram", "hello", "\0\0\0"])
def test_broken_texts(tmp_path, text):
    path = tmp_path / "m.dnn"
    path.write_text(text)
    done = call(path, "-o", tmp_path / "m.c")
    assert done.returncode in (dnncc.INVALID, dnncc.UNSUPPORTED) and not (tmp_path / "m.c").exists()


@pytest.mark.parametrize("names, options", [(["bytes", "error"], ["--weights=file"]), ([f"a_rather_long_name_{k}" for k in range(12)], []),
                                            (["x"], ["--region", "fast=64K"])])
def test_example_of_the_header_compiles(tmp_path, names, options):
    """the lines above the table of parameters, in a function of their own"""
    nodes = [helper.make_node("Sum", names, ["sum"])] + [helper.make_node("MatMul", ["sum", "w"], ["y"])]
    weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    model = save(tmp_path / "m.onnx", nodes, [value(n, (2, 64)) for n in names], [value("y", (2, 64))], [weights])
    dnncc.compile_model(model, tmp_path, options)
    comment = re.search(r"^/\*\n( \*  .*?) \*\n \* parameter", (tmp_path / "model.h").read_text(), re.S | re.M).group(1)
    example = "".join(line[2:] + "\n" for line in comment.splitlines())
    assert max(map(len, comment.splitlines())) <= 100 and all(n in example for n in names)
    error = "error_" if "error" in names else "error"
    (tmp_path / "main.c").write_text(f'#include "dnncc_runtime.h"\n#include "model.h"\nint main(void)\n{{\n{example}    return {error};\n}}\n')
    done = dnncc.run([dnncc.CC, "-Wall", "-Wextra", "-Werror", "-std=c99", "-fsyntax-only", "-I", dnncc.ROOT / "runtime", tmp_path / "main.c"])
    assert done.returncode == 0, done.stderr


def test_advice_where_a_budget_is_too_small(tmp_path):
    """--quantize is no advice for a model that multiplies bytes already, nor is --quantize-weights"""
    def said(nodes, inputs, constants, *options):
        save(tmp_path / "m.onnx", nodes, [helper.make_tensor_value_info("x", *inputs)], [helper.make_tensor_value_info("y", *inputs)], constants)
        done = call(tmp_path / "m.onnx", *options, "-o", tmp_path / "m.c")
        assert done.returncode == 5 and "\n  try " in done.stderr
        return done.stderr
    make, tensor = helper.make_node, numpy_helper.from_array
    scale, zero, w = tensor(np.float32(0.1), "s"), tensor(np.int8(0), "z"), np.arange(4096).reshape(64, 64) % 100
    bytes_ = ([make("QLinearMatMul", ["x", "s", "z", "w", "s", "z", "s", "z"], ["t"]), make("QLinearMatMul", ["t", "s", "z", "w", "s", "z", "s", "z"], ["y"])],
              (TensorProto.INT8, [4, 64]), [scale, zero, tensor(w.astype(np.int8), "w")])
    floats = ([make("MatMul", ["x", "w"], ["t"]), make("MatMul", ["t", "w"], ["y"])], (TensorProto.FLOAT, [4, 64]), [tensor(w.astype(np.float32), "w")])
    for budget, advice in ("--max-ram=16", "--quantize:"), ("--max-consts=16", "--quantize-weights="):
        assert advice in said(*floats, budget) and "--quantize" not in said(*bytes_, budget)


def test_what_large_weights_cost(tmp_path):
    """a note from 16 MiB on, of --weights=auto alone; what it proposes is true"""
    save(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4200])],
         [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1024])], [numpy_helper.from_array(np.arange(4200 * 1024, dtype=np.float32).reshape(4200, 1024), "w")])
    (tmp_path / "out").mkdir()
    said = call("m.onnx", "-o", "out/m.c", cwd=tmp_path).stderr
    assert re.fullmatch(r"m\.onnx: note: 17 MB of constants are 41 MB of text, .* --weights=incbin \(cc -O2 -c -Iout/ out/m\.c\) and --weights=file .*\n", said), said
    assert round((tmp_path / "out" / "m.c").stat().st_size / 1e6) == 41
    for options in (["--weights=inline"], ["-q"], ["--weights=incbin"]):
        assert not call("m.onnx", "-o", "out/m.c", *options, cwd=tmp_path).stderr
    assert dnncc.run(shlex.split(re.search(r"\((cc .*?)\)", said)[1]), cwd=tmp_path).returncode == 0
