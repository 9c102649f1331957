# SPDX-License-Identifier: MIT
"""runtime/dnncc.hpp: models in C++, strictly compiled, under a sanitizer that sees what is left of memory."""
import re
import shutil
import sys

import dnncc
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(dnncc.ROOT / "test" / "python"))
import models  # noqa: E402

RUNTIME = dnncc.ROOT / "runtime"
SANITIZE = "-g -fsanitize=address,undefined -fno-sanitize-recover=all".split()
STRICT = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no g++")


def program(folder, main, cxx="g++", standard="c++17", names=("net",), flags=SANITIZE):
    """a program of main.cpp and the models of these names, which lie compiled in the folder"""
    (folder / "main.cpp").write_text(main)
    for name in names:
        done = dnncc.run(["gcc", "-O0", "-c", folder / f"{name}.c", "-o", folder / f"{name}.o"])
        assert done.returncode == 0, done.stderr
    objects = [*(folder / f"{name}.o" for name in names), dnncc.ROOT / "build" / "libdnncc_runtime.a"]
    done = dnncc.run([cxx, f"-std={standard}", *STRICT, *flags, f"-I{RUNTIME}", folder / "main.cpp", *objects, "-lpthread", "-o", folder / "main"])
    assert done.returncode == 0, done.stderr[:4000]
    return folder / "main"


def run(folder, *arguments, **keywords):
    done = dnncc.run([program(folder, *arguments, **keywords)], cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def compiled(folder, model, *options, name="net"):
    onnx.save(model, folder / f"{name}.onnx")
    done = dnncc.run([dnncc.DNNCC, folder / f"{name}.onnx", "-q", "-o", folder / f"{name}.c", *options])
    assert done.returncode == 0, done.stderr


MAIN = r"""#include <array>
#include <cstdio>
#include <span>
#include <vector>
#include "net.h"
#include <dnncc.hpp>

static void say(const std::optional<dnncc::error> &failed)
{
        std::printf("%d %s\n", failed ? failed->code() : 1, failed ? failed->what() : "");
}

int main()
{
        dnncc::model first(net_describe());
        std::printf("%s %zu %zu %s: %s\n", first.name().c_str(), first.input_count(), first.output_count(), first.input_tensor(0).name().c_str(),
                    first.input_tensor(0).text().c_str());
        float x[NET_X_ELEMS];
        for (int i = 0; i < (int)NET_X_ELEMS; i++)
                x[i] = (float)(i % 7) - 3;
        dnncc::model net(std::move(first));
        auto y = net.output<float>(0);
        net.run({x}, {y});
        for (float value : y)
                std::printf("%.9g ", (double)value);
        std::puts("");
        const std::vector<float> copy(x, x + NET_X_ELEMS);
        std::array<float, NET_Y_ELEMS> again{};
        say(net.try_run({SPAN(copy)}, {SPAN(again)}));
        std::printf("%d\n", std::equal(y.begin(), y.end(), again.begin()));
        say(net.try_run({std::vector<float>(3)}, {y}));
        say(net.try_run({std::vector<int>(NET_X_ELEMS)}, {y}));
        say(net.try_run({x, x}, {y}));
        say(net.try_run({x}, {}));
        say(net.try_run({x}, {std::vector<std::int8_t>(NET_Y_ELEMS)}));
        try {
                net.run({std::vector<float>(3)}, {y});
        } catch (const dnncc::error &error) {
                std::printf("thrown: %s\n", error.what());
        }
        try {
                net.input<double>(0);
        } catch (const dnncc::error &error) {
                std::printf("thrown: %s\n", error.what());
        }
        try {
                net.output_tensor(1);
        } catch (const dnncc::error &error) {
                std::printf("thrown: %s\n", error.what());
        }
}
"""


@pytest.mark.parametrize("cxx, standard", [("g++", "c++20"), pytest.param("g++", "c++17", marks=pytest.mark.long), ("clang++", "c++17")])
def test_a_model(tmp_path, cxx, standard):
    """what it computes, and what is said of arguments that do not fit"""
    if not shutil.which(cxx):
        pytest.skip(f"no {cxx}")
    compiled(tmp_path, models.matmul(8, 8, 8))
    main = re.sub(r"SPAN\((\w+)\)", r"std::span(\1)", MAIN) if standard == "c++20" else re.sub(r"SPAN\((\w+)\)", r"\1", MAIN).replace("#include <span>\n", "")
    said = run(tmp_path, main, cxx, standard)
    x = (np.arange(64) % 7 - 3).astype(np.float32).reshape(8, 8)
    want = x @ onnx.numpy_helper.to_array(models.matmul(8, 8, 8).graph.initializer[0])
    np.testing.assert_allclose(np.array(said[1].split(), np.float32).reshape(8, 8), want, 1e-4, 1e-5)
    is_x, is_y = "0 g: x is f32 of 8 x 8", "0 g: y is f32 of 8 x 8"
    assert [said[0], *said[2:]] == [
        "g 1 1 x: f32 of 8 x 8", "1 ", "1", f"{is_x}: 64 elements, not 3", f"{is_x}, for which the elements have to be float", "0 g: has 1 inputs, not 2",
        "0 g: has 1 outputs, not 0", f"{is_y}, for which the elements have to be float", "thrown: g: x is f32 of 8 x 8: 64 elements, not 3",
        "thrown: g: x is f32 of 8 x 8, for which the elements have to be float", "thrown: g: there is no tensor 1 of 1"], said


WEIGHTS_MAIN = r"""#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>
#include "net.h"
#include "other.h"
#include <dnncc.hpp>

int main()
{
        const auto file = dnncc::weights::map("net.weights");
        std::vector<std::vector<float>> results(3, std::vector<float>(NET_Y_ELEMS));
        std::vector<std::thread> threads;
        for (auto &y : results)
                threads.emplace_back([&] { dnncc::model(net_describe(), file).run({std::vector<float>(NET_X_ELEMS, 1)}, {y}); });
        for (auto &thread : threads)
                thread.join();
        std::printf("%d %d\n", results[0] == results[1] && results[1] == results[2], results[0][0] != 0);
        dnncc::model loaded(net_describe(), dnncc::weights::load("net.weights"));
        auto y = loaded.output<float>(0);
        loaded.run({std::vector<float>(NET_X_ELEMS, 1)}, {y});
        std::printf("%d\n", y == results[0]);
        try {
                dnncc::model wants(net_describe());
        } catch (const dnncc::error &error) {
                std::puts(error.what());
        }
        try {
                dnncc::weights::map("nothing");
        } catch (const std::system_error &error) {
                std::printf("%d %s\n", error.code() == std::errc::no_such_file_or_directory, error.what());
        }
        if (auto failed = dnncc::model(net_describe(), dnncc::weights::map("other.weights")).try_run({y}, {y}))
                std::printf("%d %s\n", failed->code() == NET_ERROR_WEIGHTS, failed->what());
}
"""


@pytest.mark.slow
def test_weights_are_shared(tmp_path):
    """between models on several threads; a file that is not there, or another model's, is an error"""
    compiled(tmp_path, models.matmul(8, 8, 8), "--weights=file")
    compiled(tmp_path, models.matmul(8, 8, 8, seed=1), "--weights=file", name="other")
    said = run(tmp_path, WEIGHTS_MAIN, names=("net", "other"))
    assert said[:3] == ["1 1", "1", 'g: wants weights: dnncc::weights::map("..")'], said
    assert said[3].startswith("1 nothing: ") and said[4].startswith("1 g: ") and len(said[4]) > 10, said


HOLDERS = {"INT8": "std::int8_t", "UINT8": "std::uint8_t", "INT16": "std::int16_t", "UINT16": "std::uint16_t", "INT32": "std::int32_t", "INT64": "std::int64_t",
           "UINT32": "std::uint32_t", "UINT64": "std::uint64_t", "FLOAT": "float", "DOUBLE": "double", "FLOAT16": "std::uint16_t", "BFLOAT16": "std::uint16_t",
           "BOOL": "bool"}


@pytest.mark.slow
def test_types(tmp_path):
    """every type of elements is held by the C++ type that is said, and by no other of them"""
    names = [f"n{k}" for k in range(len(HOLDERS))]
    types = dict(zip(names, HOLDERS))
    for name, kind in types.items():
        port = [helper.make_tensor_value_info(which, getattr(TensorProto, kind), [2]) for which in "xy"]
        node = helper.make_node("Concat", ["x", "x"], ["z"], axis=0), helper.make_node("Slice", ["z", "starts", "ends"], ["y"])
        bounds = [helper.make_tensor(which, TensorProto.INT64, [1], [at]) for which, at in (("starts", 1), ("ends", 3))]
        graph = helper.make_graph(node, "g", port[:1], port[1:], bounds)
        compiled(tmp_path, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), name=name)
    others = sorted(set(HOLDERS.values()))
    lines = [f"static int {name}()\n{{\n        dnncc::model m({name}_describe());\n        {holder} x[2] = {{0, 1}}, y[2] = {{}};\n        m.run({{x}}, {{y}});\n"
             "        const bool right = y[0] == 1 && y[1] == 0;\n        int held = 0;\n" + "".join(f"        held += !m.try_run({{std::array<{other}, 2>{{}}}}, {{y}});\n" for other in others) +
             "        return right ? held : -1;\n}\n" for name, holder in ((n, HOLDERS[k]) for n, k in types.items())]
    main = "#include <array>\n#include <cstdio>\n" + "".join(f'#include "{name}.h"\n' for name in names) + "#include <dnncc.hpp>\n" + "".join(lines)
    main += "int main()\n{\n" + "".join(f'        std::printf("{kind} %d\\n", {name}());\n' for name, kind in types.items()) + "}\n"
    assert run(tmp_path, main, names=names, flags=["-O0"]) == [f"{kind} {2 if kind == 'BOOL' else 1}" for kind in HOLDERS]


def test_the_models_header_comes_first(tmp_path):
    (tmp_path / "a.cpp").write_text("#include <dnncc.hpp>\n")
    done = dnncc.run(["g++", "-std=c++17", f"-I{RUNTIME}", "-fsyntax-only", tmp_path / "a.cpp"])
    assert done.returncode != 0 and "include the header of a model first" in done.stderr


def test_the_lines_of_the_guide(tmp_path):
    text = (dnncc.ROOT / "docs" / "user-guide.md").read_text()
    lines = [line[4:] for line in text[text.index("## From C++"):].partition("\n\n    ")[2].partition("\n\nInputs")[0].join(["    ", ""]).splitlines()]
    includes, body = [[line for line in lines if line.startswith("#") == wanted] for wanted in (True, False)]
    assert len(includes) == 2 and len(body) >= 6
    shutil.copy(dnncc.ROOT / "examples" / "digits" / "digits.onnx", tmp_path)
    assert dnncc.run([dnncc.DNNCC, "digits.onnx", "-q", "-o", "digits.c"], cwd=tmp_path).returncode == 0
    main = "\n".join(["#include <array>", "#include <cstdio>", *includes, "int main()", "{", *body, '    std::printf("%g\\n", (double)probabilities[0]);', "}"])
    said, = run(tmp_path, main, names=("digits",))
    assert 0 < float(said) < 1


def test_extents(tmp_path):
    """a length that the caller sets, and one that the run counts"""
    nodes = [helper.make_node("Compress", ["x", "c"], ["y"], axis=0)]
    ports = [[helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in ports] for ports in
             ([("x", TensorProto.FLOAT, ["N", 2]), ("c", TensorProto.BOOL, ["N"])], [("y", TensorProto.FLOAT, ["K", 2])])]
    compiled(tmp_path, helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "--dim=N=0..4")
    assert run(tmp_path, r"""#include <cstdio>
#include "net.h"
#include <dnncc.hpp>

int main()
{
        dnncc::model m(net_describe());
        auto x = m.input<float>(0);
        auto c = m.input<std::uint8_t>(1);
        auto y = m.output<float>(0);
        for (std::size_t i = 0; i < x.size(); i++)
                x[i] = static_cast<float>(i);
        c[1] = c[2] = c[3] = 1;
        m.extent(0) = 3;
        m.run({x, c}, {y});
        std::printf("%d %g %g %g %g\n", static_cast<int>(m.extent(1)), y[0], y[1], y[2], y[3]);
        m.extent(0) = 5;
        auto failed = m.try_run({x, c}, {y});
        std::printf("%d\n", failed ? failed->code() : 1);
        try {
                m.extent(2) = 0;
        } catch (const dnncc::error &e) {
                std::printf("%s\n", e.what());
        }
}
""") == ["2 2 3 4 5", "-4", "g has 2 extents"]


def test_state(tmp_path):
    """kept from one run to the next; reset() begins anew; each object has its own"""
    nodes = [helper.make_node("Concat", ["past", "x"], ["present"], axis=0), helper.make_node("ReduceSum", ["present"], ["y"], keepdims=0)]
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports] for ports in
             ([("x", ["N"]), ("past", ["P"])], [("y", []), ("present", ["T"])])]
    model = helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    compiled(tmp_path, model, "--dim=N=1..2", "--dim=P=0..4", "--dim=T=P+N", "--state=past=present")
    assert run(tmp_path, r"""#include <cstdio>
#include "net.h"
#include <dnncc.hpp>

static void step(dnncc::model &m, float value, int rows = 1)
{
        auto x = m.input<float>(0);
        auto y = m.output<float>(0);
        for (auto &element : x)
                element = value;
        m.extent(0) = rows;
        if (auto failed = m.try_run({x}, {y}))
                std::printf("%d ", failed->code() == NET_ERROR_FULL);
        else
                std::printf("%g ", static_cast<double>(y[0]));
}

int main()
{
        dnncc::model m(net_describe()), other(net_describe());
        step(m, 1);
        step(m, 2, 2);
        step(other, 7);
        step(m, 3);
        step(m, 4, 2);
        step(m, 5);
        m.reset();
        step(m, 6);
        step(other, 1);
}
""") == ["1 5 7 8 16 1 6 8 "]
