# SPDX-License-Identifier: MIT
"""make zoo-digest: the same lines for the same C, others for other C or weights."""
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import digest  # noqa: E402
import dnncc  # noqa: E402

MODEL = """dnn 1
module "sum"
func @main(%x "x": <f32>) -> ("y") {{
  %0 = add(%x, {last}) : <f32>
  yield(%0)
}}
"""


def run(*options):
    return dnncc.run([sys.executable, HERE / "digest.py", f"--dnncc={dnncc.DNNCC}", *options], timeout=300)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "sum.dnn"
    path.write_text(MODEL.format(last="4.0"))
    return path


def test_lines(tmp_path, model):
    """a line for each target, thread count and precision; sorted, and the same for any number of jobs"""
    one, two = (run(f"--models={model}", f"--jobs={jobs}").stdout for jobs in (1, 2))
    lines = one.splitlines()
    assert one == two and lines == sorted(lines, key=lambda line: line[66:]) and len(set(lines)) == len(lines)
    written = re.compile(r"[0-9a-f]{64}  sum \S+( -\S+)*|exit 4 {60}sum (vta|unified)( -\S+)*")       # machines have nothing to do in it
    assert all(written.fullmatch(line) for line in lines)
    cases = {line[66:] for line in lines}
    assert {"sum generic", "sum generic-be --threads=2", "sum x86-64-v4 --threads=2 --precision=bf16", "sum generic -O0"} <= cases
    assert {f"sum {target}" for target in digest.MADE_UP} <= cases and "sum sections --emit=commands" not in cases
    assert not any(" native" in case or ("generic" in case and "bf16" in case) for case in cases)


def test_differences(tmp_path, model):
    kept = tmp_path / "kept"
    assert run(f"--models={model}", "--targets=generic", f"--write={kept}").returncode == 0
    done = run(f"--models={model}", "--targets=generic", f"--compare={kept}")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith(" (0 refused), 0 differences\n")
    model.write_text(MODEL.format(last="5.0"))
    done = run(f"--models={model}", "--targets=generic", f"--compare={kept}", f"--keep={tmp_path / 'c'}")
    assert done.returncode == 1 and "differs: sum generic --threads=2\n" in done.stdout
    assert "5.0" in (tmp_path / "c" / "sum_generic" / "model.c").read_text()
    kept.write_text("".join(line for line in kept.read_text().splitlines(True) if not line.endswith("sum generic\n")) + "0" * 64 + "  sum generic --old\n")
    done = run(f"--models={model}", "--targets=generic", f"--compare={kept}")
    assert done.returncode == 1 and "is new: sum generic\n" in done.stdout and "is gone: sum generic --old\n" in done.stdout


def test_commands():
    """of quantized models, beside the C of the same target"""
    if not (dnncc.ROOT.parent / "shared" / "models" / "dscnn_kws_int8").is_dir():
        pytest.skip("no dscnn_kws_int8 in ../shared/models")
    lines = run("--models=dscnn_kws_int8", "--targets=sections").stdout.splitlines()
    digests = {line[66:]: line[:64] for line in lines}
    assert set(digests) == {"dscnn_kws_int8 sections", "dscnn_kws_int8 sections --threads=2", "dscnn_kws_int8 sections --emit=commands"}
    assert len(set(digests.values())) == 3 and not any(line.startswith("exit") for line in lines)


def test_quick(tmp_path, model):
    """lines of a full run, and no others are compared"""
    kept = tmp_path / "kept"
    run(f"--models={model}", "--targets=x86-64-v3,lanes5-registers10-fma-masks-bytes", f"--write={kept}")
    done = run(f"--models={model}", "--targets=x86-64-v3,lanes5-registers10-fma-masks-bytes", "--quick", f"--compare={kept}")
    assert done.returncode == 0 and done.stdout.endswith(" (0 refused), 0 differences\n")
    count = int(done.stdout.split()[-6])
    assert 0 < count < len(kept.read_text().splitlines())


def test_failures(tmp_path, model):
    """what fails to compile is a line, too"""
    model.write_text(MODEL.format(last="4.0").replace("add(", "no_such("))
    lines = run(f"--models={model}", "--targets=generic").stdout.splitlines()
    assert lines and all(line.startswith("exit 3 ") and line[64:70] == "  sum " for line in lines)


def test_weights(tmp_path):
    """constants in a file count"""
    first, second = digest.hashlib.sha256(), digest.hashlib.sha256()
    for sha, last in (first, b"a"), (second, b"b"):
        path = tmp_path / "model.weights"
        path.write_bytes(bytes(1 << 23) + last)
        digest.add_file(sha, path)
    assert first.hexdigest() != second.hexdigest()
