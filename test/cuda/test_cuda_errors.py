# SPDX-License-Identifier: MIT
"""Each code that generated CUDA C returns, by a runtime that fails on demand; capture, streams, and what the command line refuses."""
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
TARGET = "cuda-sm_80"


def save(path, width=64):
    """y = softmax(table[ids] w): checks an index, reads weights"""
    random = np.random.default_rng(1)
    constants = [onnx.numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name) for name, shape in (("table", (10, width)), ("w", (width, 40)))]
    nodes = [helper.make_node("Gather", ["table", "ids"], ["g"]), helper.make_node("MatMul", ["g", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", INT64, [5])], [helper.make_tensor_value_info("y", FLOAT, [5, 40])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


MAIN = r"""
#include <stdio.h>
#include "model.h"

static void *workspace, *weights;
static int64_t *ids;
static float *y;
static cudaStream_t stream;
static int code(const char *what, int got, int want)
{
        if (got != want)
                printf("%s: %d, not %d\n", what, got, want);
        return got != want;
}
#define RUN() model_run(workspace, weights, ids, y, stream)
static int begin(int64_t id)
{
        int64_t host[5] = { 1, 2, id, -1, 0 };
        workspace = executor_memory("workspace", MODEL_WORKSPACE_SIZE, MODEL_WORKSPACE_ALIGN, true);
        weights = executor_memory("weights", MODEL_WEIGHTS_SIZE, MODEL_WEIGHTS_ALIGN, true);
        ids = (int64_t *)executor_memory("ids", sizeof host, 8, true);
        y = (float *)executor_memory("y", 800, 4, true);
        return cudaStreamCreate(&stream) || cudaMemcpy(ids, host, sizeof host, cudaMemcpyHostToDevice);
}

static int prepare(const char *want) { return code("prepare", model_prepare(), atoi(want)); }
static int not_prepared(const char *) { return begin(0) || code("load", model_load(weights, stream), 0) || code("run", RUN(), MODEL_ERROR_PREPARE) || executor.counts.launches; }
static int another_device(const char *)
{
        executor_device("devices=2");
        return begin(0) || code("prepare", model_prepare(), 0) || cudaSetDevice(1) || code("run", RUN(), MODEL_ERROR_PREPARE) ||
               code("prepare", model_prepare(), 0) || code("run", RUN(), 0);
}
static int pointers(const char *)
{
        alignas(128) static float host[200];
        void *was = workspace;
        if (begin(0) || code("prepare", model_prepare(), 0) || code("load", model_load(NULL, stream), MODEL_ERROR_NULL) ||
            code("load", model_load((char *)weights + 4, stream), MODEL_ERROR_ALIGNMENT) || code("load", model_load(host, stream), MODEL_ERROR_MEMORY) ||
            code("load", model_load(weights, stream), 0))
                return 1;
        was = workspace, workspace = NULL;
        if (code("no workspace", RUN(), MODEL_ERROR_NULL))
                return 1;
        workspace = (char *)was + 8;
        if (code("workspace", RUN(), MODEL_ERROR_ALIGNMENT))
                return 1;
        workspace = was;
        float *output = y;
        y = (float *)((char *)output + 2);
        if (code("y", RUN(), MODEL_ERROR_ALIGNMENT))
                return 1;
        y = host;
        if (code("host's y", RUN(), MODEL_ERROR_MEMORY) || executor.counts.launches)
                return 1;
        y = output;
        return code("run", RUN(), 0) || code("status", model_status(workspace, stream), 0) || code("status", model_status(NULL, stream), MODEL_ERROR_NULL);
}
static int index(const char *id)
{
        return begin(atoi(id)) || code("prepare", model_prepare(), 0) || code("load", model_load(weights, stream), 0) || code("run", RUN(), 0) ||
               code("status", model_status(workspace, stream), atoi(id) < -10 || atoi(id) > 9 ? MODEL_ERROR_INDEX : 0);
}
static int recovered(const char *)      /* a run after one that failed */
{
        int64_t good = 3;
        return index("10") || cudaMemcpy(ids + 2, &good, 8, cudaMemcpyHostToDevice) || code("run", RUN(), 0) || code("status", model_status(workspace, stream), 0);
}
static int launch(const char *call)
{
        if (begin(0) || code("prepare", model_prepare(), 0) || code("load", model_load(weights, stream), 0))
                return 1;
        executor_fail("cudaLaunchKernelExC", atoi(call), cudaErrorLaunchFailure);
        return code("run", RUN(), MODEL_ERROR_LAUNCH);
}
static int broken_stream(const char *)
{
        if (begin(0) || code("prepare", model_prepare(), 0) || code("load", model_load(weights, stream), 0) || code("run", RUN(), 0))
                return 1;
        executor_fail("cudaStreamSynchronize", 0, cudaErrorIllegalAddress);
        return code("status", model_status(workspace, stream), MODEL_ERROR_LAUNCH);
}
static int failed_copy(const char *)
{
        if (begin(0) || code("prepare", model_prepare(), 0))
                return 1;
        executor_fail("cudaMemcpyAsync", 1, cudaErrorInvalidValue);
        return code("load", model_load(weights, stream), MODEL_ERROR_LAUNCH);
}
static int capture(const char *)
{
        cudaGraph_t graph;
        cudaGraphExec_t made;
        size_t nodes;
        if (begin(0) || cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) || code("prepare", model_prepare(), MODEL_ERROR_CAPTURE) ||
            cudaStreamEndCapture(stream, &graph) || code("prepare", model_prepare(), 0) || code("load", model_load(weights, stream), 0) ||
            cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) || code("run", RUN(), 0) || cudaStreamEndCapture(stream, &graph) ||
            cudaGraphGetNodes(graph, NULL, &nodes) || nodes == 0 || cudaGraphInstantiate(&made, graph) || executor.counts.launches)
                return 1;
        return cudaGraphLaunch(made, stream) || cudaGraphLaunch(made, stream) || code("status", model_status(workspace, stream), 0) || executor.counts.launches < 2;
}
/* runs on two streams in turns, kernel by kernel, with other inputs each */
static int streams(const char *execution)
{
        float got[2][200], alone[2][200];
        void *workspaces[2], *outputs[2], *inputs[2];
        cudaStream_t on[2];
        executor_execution(atoi(execution));
        if (code("prepare", model_prepare(), 0))
                return 1;
        for (int i = 0; i < 2; i++) {
                if (begin(3 + i) || (i == 0 && code("load", model_load(weights, stream), 0)))
                        return 1;
                workspaces[i] = workspace, outputs[i] = y, inputs[i] = ids, on[i] = stream;
                static void *first_weights;
                first_weights = i == 0 ? weights : first_weights;
                weights = first_weights;
                if (cudaStreamSynchronize(on[0]) || code("run", RUN(), 0) || code("status", model_status(workspace, stream), 0) ||
                    cudaMemcpy(alone[i], y, 800, cudaMemcpyDeviceToHost) || cudaMemset(y, 0xff, 800))
                        return 1;
        }
        for (int i = 0; i < 2; i++)
                if (code("run", model_run(workspaces[i], weights, (int64_t *)inputs[i], (float *)outputs[i], on[i]), 0))
                        return 1;
        for (int i = 0; i < 2; i++)
                if (code("status", model_status(workspaces[i], on[i]), 0) || cudaMemcpy(got[i], outputs[i], 800, cudaMemcpyDeviceToHost))
                        return 1;
        return memcmp(got, alone, sizeof got) != 0 || memcmp(got[0], got[1], 800) == 0;
}

int main(int argc, char **argv)
{
        const char *with = argc > 2 ? argv[2] : "0";
#define TEST(f) if (!strcmp(argv[1], #f)) return f(with);
        TEST(prepare) TEST(not_prepared) TEST(another_device) TEST(pointers) TEST(index) TEST(recovered) TEST(launch) TEST(broken_stream) TEST(failed_copy)
        TEST(capture) TEST(streams)
        return 9;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errors")
    path = cuda.compile_model(save(folder / "model.onnx"), folder, target=TARGET)
    (folder / "main.cpp").write_text(MAIN)
    main = cuda.compile_text(folder / "main.cpp", folder / "main.o", flags=["-O0", f"-I{folder}"])
    return cuda.link([main, cuda.model_object(path), *cuda.runtime(host=False)], folder / "errors")


def codes(folder):
    return dict(re.findall(r"#define MODEL_ERROR_(\w+) +\((-\d+)\)", (folder / "model.h").read_text()))


@pytest.mark.parametrize("name, environment", [
    ("DEVICE", {"EXECUTOR_DEVICE": "devices=0"}),
    ("DEVICE", {"EXECUTOR_FAIL": "cudaGetDevice:1=35"}),
    ("DEVICE", {"EXECUTOR_FAIL": "cudaDeviceGetAttribute:1=101"}),
    ("PROCESSOR", {"EXECUTOR_DEVICE": "major=7,minor=5"}),
    ("PROCESSOR", {"EXECUTOR_DEVICE": "major=6,minor=0,shared=49152"}),
])
def test_prepare(program, name, environment):
    done = dnncc.run([program, "prepare", codes(program.parent)[name]], env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prepare_on_a_newer_gpu(program):
    done = dnncc.run([program, "prepare", "0"], env={"EXECUTOR_DEVICE": "major=9,minor=0"})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["not_prepared", "another_device", "pointers", "recovered", "launch 1", "launch 2", "broken_stream", "failed_copy", "capture",
                                  "index 9", "index 10", "index -10", "index -11", *(f"streams {e}" for e in range(6))])
@pytest.mark.sample(2)
def test_codes(program, name):
    done = dnncc.run([program, *name.split()])
    assert done.returncode == 0, done.stdout + done.stderr


def test_too_little_shared_memory(tmp_path):
    """a product whose stages a device has no room for: prepare says so; with room enough it goes"""
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", FLOAT, [256, 512])],
                              [helper.make_tensor_value_info("y", FLOAT, [256, 512])], [onnx.numpy_helper.from_array(np.random.default_rng(2).standard_normal((512, 512)).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    path = cuda.compile_model(tmp_path / "m.onnx", tmp_path, ["--precision=f16"], target=TARGET)
    asked = max(int(n) for n in re.findall(r"launch\(\(const void \*\)\w+,\s+\d+,\s+\d+,\s+\d+,\s+(\d+),", path.read_text()))
    assert asked > 16384 and f"shared < {asked}" in path.read_text()
    (tmp_path / "main.cpp").write_text('#include <stdlib.h>\n#include "model.h"\nint main(int, char **argv) { return model_prepare() != atoi(argv[1]); }\n')
    main = cuda.compile_text(tmp_path / "main.cpp", tmp_path / "main.o", flags=["-O0", f"-I{tmp_path}"])
    program = cuda.link([main, cuda.model_object(path), *cuda.runtime(host=False)], tmp_path / "main")
    for shared, code in ((asked - 1, codes(tmp_path)["SHARED"]), (asked, "0")):
        done = dnncc.run([program, code], env={"EXECUTOR_DEVICE": f"shared={shared}"})
        assert done.returncode == 0, (shared, done.stdout + done.stderr)


def test_max_ram(tmp_path):
    """is about the workspace, which lies on the device"""
    path = save(tmp_path / "model.onnx")
    refused = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.cu", f"--target={TARGET}", "--max-ram=100"])
    needed = re.search(r"the workspace takes (\d+) bytes, --max-ram allows 100", refused.stderr)
    assert refused.returncode == 5 and needed and not (tmp_path / "m.cu").exists(), refused.stderr
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.cu", f"--target={TARGET}", f"--max-ram={needed[1]}"])
    assert done.returncode == dnncc.OK, done.stderr
    size, = re.findall(r"#define M_WORKSPACE_SIZE (\d+)u", (tmp_path / "m.h").read_text())
    assert int(size) - int(needed[1]) in range(0, 257)          # what status reads lies behind it


def test_device_code_is_not_run_by_the_host(tmp_path):
    """what the command line refuses: one line, exit 1"""
    path = save(tmp_path / "model.onnx")
    for options in (["--target=cuda-sm_80,x86-64-v4"], ["--target=cuda-sm_80", "--threads=2"], ["--target=cuda-sm_80", "--region=fast=64K"]):
        done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "m.cu", *options])
        assert done.returncode in (dnncc.USAGE, dnncc.UNSUPPORTED) and "error" in done.stderr and "cuda" in done.stderr and not (tmp_path / "m.cu").exists(), (options, done.stderr)
