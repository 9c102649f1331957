"""--report: what every kernel call computes, as JSON. --profile: the code says when a kernel call ends."""
import json
import re

import numpy as np
import pytest
from test_command_line import DIGITS, call, relu
import dnncc  # the path is set by test_command_line

HOOK = """
#include <stdio.h>
void dnncc_profile(int kernel);
void dnncc_profile(int kernel) { printf("%d ", kernel); }
"""
MEMBERS = {"dnncc": str, "model": str, "source": str, "options": str, "target": str, "vector_bytes": int, "workspace": int,
           "live_peak": int, "constants": int, "kernels": int, "flops": int, "calls": list}
CALL = {"kernel": str, "location": str, "summary": str, "schedule": str, "flops": int, "read": int, "constants": int, "written": int,
        "buffers": list}
CONTROL_FLOW = """loop 1
program "m" source ""
buffer @x : f32[2] input "x" shape <2>
buffer @y : f32[2] output "y" shape <2>
kernel @k(%a: in f32[2], %b: out f32[2]) flops 2 {
  for %i = 0 to 2 {
    store %b[%i] = %a[%i] * %a[%i]
  }
}
main {
  call @k(@x, @y)
  for %i = 0 to 3 {
    call @k(@x, @y)
    if %i < 1 {
      call @k(@x, @y)
    }
  }
}
"""


def report(model, folder, *options):
    """the report and the text of --stats; the C is folder/model.c"""
    done = dnncc.compile_model(model, folder, ["--stats", f"--report={folder / 'm.json'}", *options])
    return json.loads((folder / "m.json").read_text()), done.stderr


def run_profiled(folder, inputs):
    """what dnncc_profile was called with while test/host.c ran folder/model.c, twice"""
    (folder / "hook.c").write_text(HOOK)
    program = folder / "host"
    done = dnncc.run(["gcc", *dnncc.STRICT, "-c", folder / "model.c", "-o", folder / "model.o"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run(["gcc", dnncc.host_object([], "gcc"), folder / "model.o", folder / "hook.c", "-o", program])
    assert done.returncode == 0, done.stderr
    for name in ("in", "out"):
        (folder / name).mkdir()
    for k, array in enumerate(inputs):
        (folder / "in" / f"{k}.bin").write_bytes(array.tobytes())
    done = dnncc.run([program, folder / "in", folder / "out"])
    assert done.returncode == 0, done.stderr
    return [int(k) for k in done.stdout.split()]


def test_report_members(tmp_path):
    facts, _ = report(DIGITS, tmp_path)
    assert {k: type(v) for k, v in facts.items()} == MEMBERS
    for one in facts["calls"]:
        assert {k: type(v) for k, v in one.items()} == CALL and one["location"] and one["summary"]
    assert facts["target"] == "generic" and facts["vector_bytes"] == 0 and facts["options"] == "-O2"


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_report_says_what_stats_says(tmp_path, level):
    facts, stats = report(DIGITS, tmp_path, level)
    said = {k: int(re.search(pattern, stats).group(1)) for k, pattern in {
        "workspace": r"workspace +(\d+) bytes", "live_peak": r"live peak (\d+)", "constants": r"constants +(\d+) bytes",
        "kernels": r"kernels +(\d+) for"}.items()}
    assert said == {k: facts[k] for k in said}
    assert f'for {len(facts["calls"])} calls, {facts["flops"] * 1e-6:.1f} MFLOP' in stats
    assert facts["flops"] == sum(c["flops"] for c in facts["calls"])
    assert facts["constants"] == sum(c["constants"] for c in facts["calls"]), "every constant is read by one call here"


def test_report_of_one_kernel(tmp_path):
    facts, _ = report(relu(tmp_path / "m.onnx", (2, 3)), tmp_path)
    assert facts["calls"] == [{"kernel": "r", "location": "r", "summary": "max -> <2 x 3 x f32>", "schedule": "",
                               "flops": 6, "read": 24, "constants": 0, "written": 24, "buffers": ["x", "y"]}]


def test_report_of_a_schedule(tmp_path):
    facts, _ = report(DIGITS, tmp_path, "--target=x86-64-v3")
    schedules = [c["schedule"] for c in facts["calls"] if c["summary"].startswith("convolve_packed")]
    assert schedules and all(re.fullmatch(r"(\w+=\d+ ?)+", s) for s in schedules)


def test_control_flow(tmp_path):
    """calls under loops and conditions are listed, in the order of the text, and numbered so by --profile"""
    (tmp_path / "m.loops").write_text(CONTROL_FLOW)
    facts, stats = report(tmp_path / "m.loops", tmp_path, "--passes=plan", "--profile")
    assert len(facts["calls"]) == 3 and facts["flops"] == 6 and "1 for 3 calls" in stats
    assert run_profiled(tmp_path, [np.ones(2, np.float32)]) == 2 * [-1, 0, 1, 2, 1, 1]


def test_profile(tmp_path):
    facts, _ = report(DIGITS, tmp_path, "--profile")
    assert facts["options"] == "-O2 --profile"
    dnncc.check_clang(tmp_path)
    assert run_profiled(tmp_path, [np.ones(64, np.float32)]) == 2 * [-1, *range(len(facts["calls"]))]


def test_profile_is_off_by_default(tmp_path):
    report(DIGITS, tmp_path)
    assert "dnncc_profile" not in (tmp_path / "model.c").read_text()


def test_report_errors(tmp_path):
    model = relu(tmp_path / "m.onnx")
    done = call(model, "--emit=ir", f"--report={tmp_path / 'm.json'}", "-o", tmp_path / "m.dnn")
    assert done.returncode == dnncc.USAGE and "--report" in done.stderr and not (tmp_path / "m.json").exists()
    done = call(model, f"--report={model}", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.IO and not (tmp_path / "m.c").exists(), "an input is never overwritten"
