# SPDX-License-Identifier: MIT
"""--profile=FILE: traces of runs in Chrome's format, from --bench and from a program's own runs."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
RUNTIME = dnncc.ROOT / "runtime"
# what an event of each phase must have: "Trace Event Format", and numbers or texts they are
FIELDS = {"M": {"name": str, "pid": int, "tid": int, "args": dict}, "X": {"name": str, "cat": str, "pid": int, "tid": int, "ts": float, "dur": float, "args": dict},
          "C": {"name": str, "pid": int, "id": int, "ts": float, "args": dict}, "i": {"name": str, "s": str, "pid": int, "tid": int, "ts": float}}


def events_of(path):
    """valid ones; {thread's name: its slices}"""
    events = json.loads(path.read_text())
    for event in events:
        fields = FIELDS[event["ph"]]
        assert set(event) == {"ph", *fields}, event
        assert all(isinstance(event[name], (int, float) if kind is float else kind) for name, kind in fields.items()), event
        assert event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    slices = {name: sorted((e for e in events if e["ph"] == "X" and e["tid"] == tid), key=lambda e: e["ts"]) for tid, name in names.items()}
    assert sum(map(len, slices.values())) == sum(e["ph"] == "X" for e in events), "each slice is a named thread's"
    for row in slices.values():
        for a, b in zip(row, row[1:]):
            assert a["ts"] + a["dur"] <= b["ts"] + 1e-3, "slices of a thread do not overlap"
    return events, slices


def calls_of(model, folder, *options):
    done = dnncc.run([dnncc.DNNCC, model, *options, f"--report={folder / 'calls.json'}", "-o", folder / "calls.c"])
    assert done.returncode == 0, done.stderr
    facts = json.loads((folder / "calls.json").read_text())
    return facts, [(c["kernel"], c["location"]) for c in facts["calls"]]


def test_bench(tmp_path):
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=native", "--bench=1", "--profile=t.json"], cwd=tmp_path)
    assert done.returncode == 0 and "kernel calls" in done.stdout, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]
    facts, calls = calls_of(DIGITS, tmp_path, "--target=native")
    events, slices = events_of(tmp_path / "t.json")
    assert list(slices) == ["thread 1"] and sum(e["name"] == "run" for e in events) == 10
    assert [(e["name"], e["args"]["nodes"]) for e in slices["thread 1"]] == 10 * calls
    for event, call in zip(slices["thread 1"], facts["calls"]):
        assert event["args"]["bytes"] == call["read"] + call["written"] and event["args"]["operations"] == call["flops"]
    counted = {name: [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == name] for name in ("workspace", "read and written")}
    assert counted["workspace"] == [e["args"]["workspace"] for e in slices["thread 1"]] and max(counted["workspace"]) == facts["live_peak"]
    assert counted["read and written"] == [e["args"]["bytes"] for e in slices["thread 1"]]


PROGRAM = """#include <pthread.h>
#include <stdlib.h>
#include "dnncc_runtime.h"
#include "model.h"
static struct dnncc_trace *trace;
void dnncc_profile(int kernel);
void dnncc_profile(int kernel) { dnncc_trace_kernel(trace, kernel); }
static void *work(void *arg)
{
        static const float image[MODEL_IMAGE_ELEMS];
        float y[MODEL_PROBABILITIES_ELEMS];
        void *workspace = dnncc_workspace_new(MODEL_WORKSPACE_SIZE);
        for (int i = 0; i < RUNS; i++)
                if (model_run(workspace, image, y))
                        abort();
        dnncc_workspace_free(workspace, MODEL_WORKSPACE_SIZE);
        return arg;
}
int main(int argc, char **argv)
{
        pthread_t other;
        (void)argv;
        work(NULL);                             /* not traced */
        trace = dnncc_trace_open(MODEL_TRACE, model_kernels, MODEL_KERNEL_COUNT);
        if (!trace)
                return 1;
#ifdef POOL
        dnncc_threads_observe(dnncc_trace_share);
#endif
        if (pthread_create(&other, NULL, work, NULL))
                return 1;
        work(NULL);
        pthread_join(other, NULL);
        if (argc > 1)
                exit(3);                        /* without closing it */
        return !dnncc_trace_close(trace);
}
"""


def program(folder, runs, *options, pool=False):
    """a program that runs digits so often in each of two threads; model.h names the file"""
    done = dnncc.run([dnncc.DNNCC, DIGITS, f"--profile={folder / 'app.json'}", *options, "-o", folder / "model.c"])
    assert done.returncode == 0, done.stderr
    (folder / "main.c").write_text(PROGRAM)
    files = [folder / "main.c", folder / "model.c", RUNTIME / "trace.c", RUNTIME / "memory.c", *([RUNTIME / "threads.c"] if pool else [])]
    built = dnncc.run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *(["-DPOOL"] if pool else []), f"-DRUNS={runs}", f"-I{RUNTIME}", f"-I{folder}",
                       *files, "-lpthread", "-o", folder / "app"])
    assert built.returncode == 0, built.stderr
    return folder / "app"


@pytest.mark.parametrize("pool", [False, True], ids=["alone", "pool"])
def test_program(tmp_path, pool):
    options = ["--target=native", "--threads=2"] if pool else []
    app = program(tmp_path, 300, *options, pool=pool)
    assert dnncc.run([app]).returncode == 0
    _, calls = calls_of(DIGITS, tmp_path, *options)
    _, slices = events_of(tmp_path / "app.json")
    for name in ("thread 1", "thread 2"):
        assert [(e["name"], e["args"]["nodes"]) for e in slices[name]] == 300 * calls, name
    workers = {name: row for name, row in slices.items() if name.startswith("worker")}
    assert pool or not workers
    for share in [e for row in workers.values() for e in row]:          # lies in the call that it is a share of
        assert any(e["name"] == share["name"] and e["ts"] <= share["ts"] and share["ts"] + share["dur"] <= e["ts"] + e["dur"] + 1e-3
                   for name in ("thread 1", "thread 2") for e in slices[name])


def test_a_trace_that_was_not_closed_can_be_read(tmp_path):
    app = program(tmp_path, 2000)
    assert dnncc.run([app, "leave"]).returncode == 3
    text = (tmp_path / "app.json").read_text()
    whole = text[:text.rindex("},") + 1] if not text.endswith("}}") else text
    (tmp_path / "whole.json").write_text(whole + "\n]")
    _, slices = events_of(tmp_path / "whole.json")
    assert sum(map(len, slices.values())) > 4000


def test_a_file_that_cannot_be_written(tmp_path):
    app = program(tmp_path, 1)
    (tmp_path / "app.json").unlink(missing_ok=True)
    (tmp_path / "app.json").mkdir()
    assert dnncc.run([app]).returncode == 1
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--bench=1", f"--profile={tmp_path / 'none' / 't.json'}"])
    assert done.returncode == dnncc.IO and "none/t.json" in done.stderr


def test_names_in_the_table_are_text(tmp_path):
    """whatever nodes are called, and however many there are"""
    import onnx
    from onnx import TensorProto, helper
    nodes = [helper.make_node("Relu" if k % 2 else "Neg", [f"v{k}"], [f"v{k + 1}"], f'no"de\\{k}\n?' + "x" * 40) for k in range(60)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("v60", TensorProto.FLOAT, [4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--bench=1", f"--profile={tmp_path / 't.json'}"])
    assert done.returncode == 0, done.stderr
    _, slices = events_of(tmp_path / "t.json")
    assert 0 < len(slices["thread 1"][0]["args"]["nodes"]) <= 1100


def test_without_a_file_nothing_is_new(tmp_path):
    dnncc.compile_model(DIGITS, tmp_path, ["--profile"])
    text = (tmp_path / "model.c").read_text() + (tmp_path / "model.h").read_text()
    assert "MODEL_HOOK_AFTER(0);" in text and "#define MODEL_HOOK_AFTER(kernel) dnncc_profile(kernel)" in text and "dnncc_kernel_1" not in text and "TRACE" not in text
    dnncc.compile_model(DIGITS, tmp_path, ["--profile=t.json"])
    dnncc.check_clang(tmp_path)
    assert dnncc.run(["gcc", *dnncc.STRICT, "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"]).returncode == 0
    assert "--profile=t.json" in (tmp_path / "model.h").read_text()
