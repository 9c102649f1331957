"""--remarks and --explain: each value between two operations is in one kernel, or there is exactly one reason why not; each reason of the
table has a program, or a model, that it is said of."""
import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = sorted((dnncc.ROOT.parent / "shared" / "models").glob("*/model.onnx"))
TABLE = re.findall(r"^REMARK\((\w+), (\w+), \"([^\"]*)\"", (dnncc.ROOT / "passes" / "remarks.def").read_text(), re.MULTILINE)
LINE = re.compile(r"(\w+): A (.*? \(\w+\)|\w+), B (.*? \(\w+\)|\w+): (?:(one kernel)|two kernels: (\w+): (.*?))(?: \(decided at .*\))?")

ROWS = "".join(f'  %m{i} = mul(%x, {i}.5) : <3 x 8 x f32>\n  %s{i} = reduce(%m{i}, <1 x i64> 1) : <3 x f32>    ; "s{i}"\n'
               f"  %b{i} = broadcast(%s{i}) dims=[0] : <3 x 8 x f32>\n" for i in range(30))
SUM = "  %t0 = add(%x, %b0) : <3 x 8 x f32>\n" + "".join(f"  %t{i} = add(%t{i - 1}, %b{i}) : <3 x 8 x f32>\n" for i in range(1, 30))

# a program, its inputs and result, and the reason for the value between nodes "a" and "b"
PROGRAMS = {
    "joined": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = neg(%0) : <4 x f32>    ; "b"'),
    "view": ("<4 x f32>", '%0 = reshape(%x) : <2 x 2 x f32>    ; "a"\n  %1 = exp(%0) : <2 x 2 x f32>    ; "b"'),
    "reader_view": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = concat(%0, %x) axis=0 : <8 x f32>    ; "b"'),
    "alone": ("<4 x f32>", '%0 = argsort(%x) axis=0 : <4 x i64>    ; "a"\n  %1 = neg(%0) : <4 x i64>    ; "b"'),
    "reader_alone": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = argsort(%0) axis=0 : <4 x i64>    ; "b"'),
    "result": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = neg(%0) : <4 x f32>    ; "b"', "%0, %1"),
    "several_kernels": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = neg(%0) : <4 x f32>    ; "b"\n  %2 = abs(%0) : <4 x f32>', "%1, %2"),
    "indices": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = gather_elements(%0, <4 x i64> 2) axis=0 : <4 x f32>    ; "b"'),
    "region": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = loop(none, none, %x) steps=9 carried=1 : <4 x f32> {(%i: <i64>, %h: <4 x f32>)\n'
               '    %2 = add(%h, %0) : <4 x f32>    ; "b"\n    yield(%2)\n  }'),
    "empty": ("<0 x f32>", '%0 = exp(%x) : <0 x f32>    ; "a"\n  %1 = neg(%0) : <0 x f32>    ; "b"'),
    "contracted": ("<4 x 4 x f32>", '%0 = exp(%x) : <4 x 4 x f32>    ; "a"\n  %1 = dot(%0, %x) contract_a=[1] contract_b=[0] : <4 x 4 x f32>    ; "b"'),
    "again": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = broadcast(%0) dims=[1] : <3 x 4 x f32>    ; "b"'),
    "second_sum": ("<4 x 4 x f32>", '%0 = dot(%x, %x) contract_a=[0] contract_b=[0] : <4 x 4 x f32>    ; "a"\n'
                   '  %2 = dot(%x, %x) contract_a=[1] contract_b=[1] : <4 x 4 x f32>\n  %1 = add(%0, %2) : <4 x 4 x f32>    ; "b"'),
    "where": ("<4 x 4 x f32>", '%0 = iota() axis=0 : <1 x i64>    ; "a"\n  %1 = reduce(%x, %0) : <4 x f32>    ; "b"'),
    "index": ("<4 x 4 x 4 x f32>", '%0 = reduce(%x, <1 x i64> 2) : <4 x 4 x f32>    ; "a"\n  %1 = transpose(%0) perm=[1, 0] : <4 x 4 x f32>    ; "b"'),
    "limit": ("<4 x f32>", '%0 = exp(%x) : <4 x f32>    ; "a"\n  %1 = neg(%0) : <4 x f32>    ; "b"\n  %2 = abs(%1) : <4 x f32>'),
    "several_indices": ("<4 x 4 x f32>", '%0 = exp(%x) : <4 x 4 x f32>    ; "a"\n  %1 = transpose(%0) perm=[1, 0] : <4 x 4 x f32>    ; "b"\n'
                        '  %2 = add(%0, %1) : <4 x 4 x f32>'),
    "row_places": ("<4 x 4 x f32>", '%0 = exp(%x) : <4 x 4 x f32>    ; "a"\n  %1 = transpose(%0) perm=[1, 0] : <4 x 4 x f32>    ; "b"\n'
                   '  %2 = reduce(%1, <1 x i64> 1) : <4 x f32>\n  %3 = broadcast(%2) dims=[0] : <4 x 4 x f32>\n  %4 = sub(%1, %3) : <4 x 4 x f32>'),
    "row_loops": ("<3 x 8 x f32>", ROWS + SUM.rstrip()),
    "row_reader": ("<4 x 4 x 4 x f32>", '%0 = reduce(%x, <1 x i64> 1) : <4 x 4 x f32>    ; "a"\n  %1 = reshape(%0) : <4 x 4 x f32>    ; "b"\n'
                   '  %2 = broadcast(%1) dims=[0, 1] : <4 x 4 x 4 x f32>\n  %3 = sub(%x, %2) : <4 x 4 x 4 x f32>'),
}
MORE = {"limit": ["--limit", "kernel_operations=2"], "row_loops": ["--limit", "kernel_operations=1000"]}


def remarks(model, folder, *options):
    """(A, B, reason) of each line"""
    done = dnncc.run([dnncc.DNNCC, model, "--remarks", "-q", "-o", folder / "m.c", "--name=m", *options])
    assert done.returncode == 0, done.stderr
    found = [LINE.fullmatch(line) for line in done.stderr.splitlines()]
    assert found and all(found), done.stderr
    texts = {reason: text for _, reason, text in TABLE}
    assert all(f[4] or texts[f[5]] == f[6] for f in found)
    return [(f[2], f[3], "joined" if f[4] else f[5]) for f in found]


@pytest.mark.parametrize("reason", PROGRAMS)
def test_reason(reason, tmp_path):
    port, body, *results = PROGRAMS[reason]
    last = results[0] if results else re.findall(r"^  (%\w+)|^(%\w+)", body, re.MULTILINE)[-1]
    last = last if isinstance(last, str) else last[0] or last[1]
    names = ", ".join(f'"y{i}"' for i in range(last.count("%")))
    (tmp_path / "m.dnn").write_text(f'dnn 1\nmodule "m"\nfunc @main(%x "x": {port}) -> ({names}) {{\n  {body.strip()}\n  yield({last})\n}}\n')
    found = remarks(tmp_path / "m.dnn", tmp_path, "--passes=fuse,lower,plan", *MORE.get(reason, []))
    if reason == "row_loops":
        assert reason in {said for _, _, said in found}
        return
    assert [said for a, b, said in found if a.startswith("a (") and b.startswith("b (")] == [reason], found


SEEN_IN_MODELS = {"packed", "narrow", "epilogue", "gather", "halo", "loops", "row_sums"}


@pytest.mark.skipif(not MODELS, reason="no models beside the repository")
def test_models(tmp_path):
    """every value that an operation reads of another one has one remark, and there is no other reason than those of the table"""
    seen, compiled = set(), 0
    for model in MODELS:
        for target in ("generic", "x86-64-v4"):
            info = json.loads(dnncc.run([dnncc.DNNCC, model, "--info=json"]).stdout)
            more = re.findall(r"--(?:dim|input) \S+", info["command"])
            options = [f"--target={target}", *(word for pair in more for word in pair.split())]
            if dnncc.run([dnncc.DNNCC, model, *options, "-q", "-o", tmp_path / "m.c"]).returncode:
                continue                # the shapes that --info proposes are too small for it
            compiled += 1
            found = remarks(model, tmp_path, *options)
            seen |= {reason for _, _, reason in found}
            before = json.loads(dnncc.run([dnncc.DNNCC, model, *options, f"--report={tmp_path}/r.json", "-q", "-o", tmp_path / "m.c", "--name=m"])
                                and (tmp_path / "r.json").read_text())
            assert len(before["remarks"]) == len(found), model
    assert compiled > len(MODELS)
    assert seen >= SEEN_IN_MODELS and seen <= {reason for _, reason, _ in TABLE}


def test_every_reason_is_tested():
    assert {reason for _, reason, _ in TABLE} <= set(PROGRAMS) | SEEN_IN_MODELS
    page = (dnncc.ROOT / "docs" / "remarks.md").read_text()
    assert all(f"| `{reason}` | {text} |" in page for _, reason, text in TABLE)


def test_explain(tmp_path):
    """of one node, with what the reason means; a node that is none has a message; nothing is said unless asked for"""
    out = ["-o", tmp_path / "m.c", "--name=m"]
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--explain=relu1", *out])
    assert done.returncode == 0 and re.search(r"^fuse: A .*relu1.*\n        \S", done.stderr, re.MULTILINE) and "dense" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("fuse")]
    assert said and all("relu1" in line for line in said)
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--explain=rely1", *out])
    assert done.returncode == dnncc.USAGE and "did you mean 'relu1'?" in done.stderr
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--remarks=fues", *out])
    assert done.returncode == dnncc.USAGE and "did you mean 'fuse'?" in done.stderr
    assert not dnncc.run([dnncc.DNNCC, DIGITS, *out]).stderr
    assert (tmp_path / "m.c").read_text() == dnncc.run([dnncc.DNNCC, DIGITS, "--remarks", "-o", "-", "--name=m"]).stdout.replace(
        dnncc.run([dnncc.DNNCC, DIGITS, "-o", "-", "--name=m"]).stdout, (tmp_path / "m.c").read_text())
