# SPDX-License-Identifier: MIT
"""--profile on GPUs: a function that times each launch, and a table of what they are (codegen/cuda_profile.c, engines/grid/launch_cost.c)."""
import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
from test_dependent_launches import chain, given, wanted  # noqa: E402

MAIN = r"""
#include <stdio.h>
#include "model.h"

int main(int argc, char **argv)
{
        float microseconds[MODEL_LAUNCHES];
        void *weights = executor_memory("weights", MODEL_WEIGHTS_SIZE, 128, true), *workspace = executor_memory("workspace", MODEL_WORKSPACE_SIZE, 128, true);
        float *x = (float *)executor_memory("x", MODEL_X_ELEMS * 4, 4, true), *y = (float *)executor_memory("y", MODEL_Y_ELEMS * 4, 4, true);
        int64_t *i = (int64_t *)executor_memory("i", MODEL_I_ELEMS * 8, 8, true);
        cudaStream_t stream;
        memset(x, 0, MODEL_X_ELEMS * 4);
        memset(i, 0, MODEL_I_ELEMS * 8);
        const char *what = argc > 1 ? argv[1] : "";
        if (cudaStreamCreate(&stream))
                return 1;
#define PROFILE(to, on) model_profile(to, workspace, weights, x, i, y, on)
        if (!strcmp(what, "prepare"))
                return PROFILE(microseconds, stream) != MODEL_ERROR_PREPARE;
        if (model_prepare() || model_load(weights, stream))
                return 2;
        if (!strcmp(what, "null"))
                return PROFILE(NULL, stream) != MODEL_ERROR_NULL;
        if (!strcmp(what, "stream"))
                return PROFILE(microseconds, NULL) != MODEL_ERROR_LAUNCH;
        if (!strcmp(what, "launch") || !strcmp(what, "event")) {
                executor_fail(*what == 'l' ? "cudaLaunchKernelExC" : "cudaEventCreate", 2, cudaErrorLaunchFailure);
                if (PROFILE(microseconds, stream) != MODEL_ERROR_LAUNCH)
                        return 3;
        }
        if (PROFILE(microseconds, stream))
                return 4;
        if (executor.counts.launches != 10 * MODEL_LAUNCHES)
                return 5;
        int64_t before = executor.counts.launches;      /* run records nothing */
        executor_fail("cudaEventRecordWithFlags", 0, cudaErrorInvalidValue);
        if (model_run(workspace, weights, x, i, y, stream) || model_status(workspace, stream) || executor.counts.launches != before + MODEL_LAUNCHES)
                return 6;
        for (int k = 0; k < MODEL_LAUNCHES; k++) {
                const struct model_launch *l = &model_launches[k];
                if (!(microseconds[k] > 0) || !(l->microseconds > 1) || !(l->microseconds < 1000))
                        return 7;
                printf("%s %d %d %d %d %d\n", l->kernel, l->blocks, l->threads, l->registers, l->shared, l->resident);
        }
        return 0;
}
"""


@pytest.fixture(scope="module", params=["cuda-sm_80", "cuda-sm_90"])
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    path = chain(folder, request.param, ["--profile"])
    (folder / "main.cpp").write_text(MAIN)
    main = cuda.compile_text(folder / "main.cpp", folder / "main.o", flags=["-O0", f"-I{folder}"])
    return path, cuda.link([main, cuda.model_object(path), *cuda.runtime(host=False)], folder / "main")


def test_table(built):
    """what the launches of the text say, and what nvcc takes"""
    path, program = built
    done = dnncc.run([program])
    assert done.returncode == 0, (done.returncode, done.stdout + done.stderr)
    rows = [line.split() for line in done.stdout.splitlines()]
    launches = re.findall(r"launch(?:_clusters)?\(\(const void \*\)(\w+)_blocks\w*,\s+(\d+),\s+(\d+),\s+(\d+),\s+(\d+),", path.read_text())
    assert sorted((k, int(b), int(w) * int(n), int(s)) for k, b, w, n, s in launches) == sorted((r[0], int(r[1]), int(r[2]), int(r[4])) for r in rows)
    product, = [r for r in rows if "MatMul" in r[0]]
    assert int(product[3]) > 40 and int(product[5]) >= 1
    if cuda.nvcc():
        architecture = "sm_80" if "sm_80" in path.read_text() else "sm_90"
        used = cuda.ptxas(path, architecture, path.parent / "k.o")
        assert used[f"{product[0]}_blocks"]["registers"] <= int(product[3])


def test_report(built, tmp_path):
    """the same figures for tools, and a line for each launch on the page"""
    path, _ = built
    target = "cuda-sm_90" if "cuda-sm_90" in path.read_text() else "cuda-sm_80"
    for name in ("r.json", "r.html"):
        done = dnncc.run([dnncc.DNNCC, path.parent / "m.onnx", f"--target={target}", "--precision=f16", "-o", tmp_path / "r.cu", f"--report={tmp_path / name}"])
        assert done.returncode == dnncc.OK, done.stderr
    launches = [(call["kernel"], of) for call in json.loads((tmp_path / "r.json").read_text())["calls"] for of in call["launches"]]
    table = re.findall(r'\{ "(\w+)", "[^"]*",\s+(\d+), (\d+), (\d+), (\d+), (\d+), (\S+), (\S+) \},', path.read_text())
    assert [(k, str(of["blocks"]), str(of["threads"]), str(of["registers"]), str(of["shared"]), str(of["resident"])) for k, of in launches] == [row[:6] for row in table]
    for row, (_, of) in zip(table, launches):
        assert abs(float(row[7]) - of["microseconds"]) < 0.01 and float(row[6]) == of["waves"]
    assert "entry(\"launch\"" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("what", ["prepare", "null", "stream", "launch", "event"])
def test_codes(built, what):
    done = dnncc.run([built[1], what])
    assert done.returncode == 0, (done.returncode, done.stdout + done.stderr)


def test_control_flow(tmp_path):
    """of run: an error that says so"""
    import onnx
    from onnx import TensorProto as T, helper, numpy_helper
    import numpy as np
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Softmax", ["a"], ["b"], axis=0)], "body",
                             [helper.make_tensor_value_info("n", T.INT64, []), helper.make_tensor_value_info("c", T.BOOL, []), helper.make_tensor_value_info("a", T.FLOAT, [64])],
                             [helper.make_tensor_value_info("d", T.BOOL, []), helper.make_tensor_value_info("b", T.FLOAT, [64])])
    graph = helper.make_graph([helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)], "g", [helper.make_tensor_value_info("x", T.FLOAT, [64])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [64])], [numpy_helper.from_array(np.int64(1000), "trips")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=cuda-sm_80", "--profile", "-o", tmp_path / "m.cu"])
    assert done.returncode == dnncc.UNSUPPORTED and "--profile" in done.stderr and not (tmp_path / "m.cu").exists(), done.stderr


def test_results_stay(built, tmp_path):
    import numpy as np
    got = cuda.run(cuda.build([built[0]], tmp_path), {"model": given()}, tmp_path)["model"]
    assert not isinstance(got, cuda.Found) and np.abs(got[0] - wanted()).max() < 1e-3, got
