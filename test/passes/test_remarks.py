# SPDX-License-Identifier: MIT
"""--remarks and --explain: each value between two operations is in one kernel, or there is exactly one reason why not; so have layout,
schedule and plan one for each operation that they decide about. Each reason of the table has a program, or a model, that it is said of."""
import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = sorted((dnncc.ROOT.parent / "shared" / "models").glob("*/model.onnx"))
ROWS = re.findall(r"^(DONE|LEFT)\((\w+), (\w+), \"([^\"]*)\"", (dnncc.ROOT / "passes" / "remarks.def").read_text(), re.MULTILINE)
LEFT = dict(re.findall(r"^SAYS\((\w+), \"([^\"]*)\"", (dnncc.ROOT / "passes" / "remarks.def").read_text(), re.MULTILINE))
TABLE = [(pass_, reason, text) for _, pass_, reason, text in ROWS if pass_ == "fuse"]
DID = {(pass_, text): reason for kind, pass_, reason, text in ROWS if kind == "DONE"}
LINE = re.compile(r"(\w+): A (.*? \(\w+\)|\w+), B (.*? \(\w+\)|\w+): (?:(one kernel)|two kernels: (\w+): (.*?))(?: \(decided at .*\))?")
ANY = re.compile(r"(\w+): A (.*? \(\w+\)|\w+)(?:, B (.*? \(\w+\)|\w+))?: (?:([^:]*): (\w+): )?([^:]*)(: .*)?")

MANY = "".join(f'  %m{i} = mul(%x, {i}.5) : <3 x 8 x f32>\n  %s{i} = reduce(%m{i}, <1 x i64> 1) : <3 x f32>    ; "s{i}"\n'
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
    "row_loops": ("<3 x 8 x f32>", MANY + SUM.rstrip()),
    "row_reader": ("<4 x 4 x 4 x f32>", '%0 = reduce(%x, <1 x i64> 1) : <4 x 4 x f32>    ; "a"\n  %1 = reshape(%0) : <4 x 4 x f32>    ; "b"\n'
                   '  %2 = broadcast(%1) dims=[0, 1] : <4 x 4 x 4 x f32>\n  %3 = sub(%x, %2) : <4 x 4 x 4 x f32>'),
}
MORE = {"limit": ["--limit", "kernel_operations=2"], "row_loops": ["--limit", "kernel_operations=1000"]}




def convolve(y, x, channels, outputs, node, window=3, extent=8):
    return (f"%{y} = convolve(%{x}, <{outputs} x {channels} x {window} x {window} x f32> 0.5) pads=[{', '.join(4 * [str(window // 2)])}] "
            f': <1 x {outputs} x {extent} x {extent} x f32>    ; "{node}"')


WIDE = ("<1 x 16 x 8 x 8 x f32>", convolve("0", "x", 16, 16, "a"))
DOT = "contract_a=[1] contract_b=[0]"
BLOCKS = '%0 = dot_blocks(%x, <{0} x {1} x 16 x 1 x 1 x u8> 3, %p, %t, <{0} x {1} x 1 x 1 x f16> 0.5, none) outputs={0} : <1 x 1 x 1 x {0} x f32>    ; "a"'
# what layout says of node "a": inputs, body, options
LAYOUT = {
    "blocks": WIDE,
    "last": ("<1 x 64 x 16 x 16 x f32>", convolve("0", "x", 64, 64, "c", extent=16)
             + '\n  %1 = slice(%0, <4 x i64> [0, 8, 0, 0], <4 x i64> 1) : <1 x 32 x 16 x 16 x f32>    ; "a"'),
    "rows": ("<64 x 64 x f32>", f'%0 = dot(%x, <64 x 64 x f32> 0.5) {DOT} : <64 x 64 x f32>    ; "a"'),
    "at_once": ("<1 x 16 x 8 x 8 x f32>", '%0 = convolve(%x, <4 x 16 x 2 x 2 x f32> 0.5) pads=[1, 1, 1, 1] input_dilations=[2, 2] '
                ': <1 x 4 x 16 x 16 x f32>    ; "a"'),
    "reduced": ("<1 x 16 x 8 x 8 x f32>", convolve("0", "x", 16, 16, "c") + '\n  %1 = reduce(%0, <3 x i64> [0, 2, 3]) : <16 x f32>    ; "a"'),
    "vectors": (*WIDE, "--target=generic"),
    "exact": (*WIDE, "--exact"),
    "empty": ("<0 x 16 x f32>", f'%0 = dot(%x, <16 x 4 x f32> 0.5) {DOT} : <0 x 4 x f32>    ; "a"'),
    "multiply": ("<64 x 64 x f64>", f'%0 = dot(%x, <64 x 64 x f64> 0.5) {DOT} : <64 x 64 x f64>    ; "a"'),
    "sums": ("<1 x 32 x 45 x 45 x i8>", '%0 = convolve(%x, <32 x 1 x 40 x 40 x i8> 100) groups=32 accumulator=i32 : <1 x 32 x 6 x 6 x i32>    ; "a"'),
    "window": ("<4 x 16 x f32>", '%0 = convolve(%x, <16 x 16 x f32> 0.5) : <4 x 16 x f32>    ; "a"'),
    "stays": ("<1 x 3 x 64 x 64 x f32>", convolve("0", "x", 3, 1, "a", extent=64)),
    "plain": ("<1 x 3 x 64 x 64 x f32>", '%0 = convolve(%x, <3 x 1 x 3 x 3 x f32> 0.5) pads=[1, 1, 1, 1] groups=3 : <1 x 3 x 64 x 64 x f32>    ; "a"'),
    "phases": ("<1 x 16 x 8 x 8 x f32>", '%0 = convolve(%x, <16 x 16 x 3 x 3 x f32> 0.5) input_dilations=[2, 2] dilations=[2, 2] '
               ': <1 x 16 x 11 x 11 x f32>    ; "a"'),
    "groups": ("<1 x 66 x 8 x 8 x f32>", '%0 = convolve(%x, <66 x 6 x 1 x 1 x f32> 0.5) input_dilations=[2, 2] groups=11 : <1 x 66 x 15 x 15 x f32>    ; "a"'),
    "small": ("<2 x 2 x f32>", f'%0 = dot(%x, %x) {DOT} : <2 x 2 x f32>    ; "a"'),
    "attention": ('<1 x 2 x 8 x 64 x f32>, %y "y": <1 x 2 x N x 64 x f32>',
                  '%0 = dot(%x, %y) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[3] : <1 x 2 x 8 x N x f32>    ; "a"\n'
                  '  %1 = exp(%0) : <1 x 2 x 8 x N x f32>\n'
                  '  %2 = dot(%1, %y) batch_a=[0, 1] batch_b=[0, 1] contract_a=[3] contract_b=[2] : <1 x 2 x 8 x 64 x f32>'),
    "packing": ('<1 x 400 x f32>, %y "y": <400 x 100 x f32>', f'%0 = dot(%x, %y) {DOT} : <1 x 100 x f32>    ; "a"'),
    "padding": ('<1 x 1 x 1 x 640 x i8>, %p "p": <1 x 1 x 1 x 20 x f32>, %t "t": <1 x 1 x 1 x 20 x i32>', BLOCKS.format(17, 20), "--target=x86-64-v4-vnni"),
    "equal": ("<1 x 2048 x f32>", f'%0 = dot(%x, <2048 x 2048 x f32> 0.5) {DOT} : <1 x 2048 x f32>    ; "a"'),
    "channels": (WIDE[0], convolve("0", "x", 16, 16, "c") + '\n  %1 = transpose(%0) perm=[0, 2, 1, 3] : <1 x 8 x 16 x 8 x f32>    ; "a"'),
    "uneven": ("<1 x 24 x 8 x 8 x f32>", convolve("0", "x", 24, 24, "c") + '\n  %1 = concat(%0, %0) axis=1 : <1 x 48 x 8 x 8 x f32>    ; "a"'),
    "apart": ("<1 x 8 x 8 x 8 x f32>", convolve("0", "x", 8, 58, "c") + '\n  %1 = reshape(%0) : <1 x 2 x 29 x 8 x 8 x f32>    ; "a"\n'
              '  %2 = transpose(%1) perm=[0, 2, 1, 3, 4] : <1 x 29 x 2 x 8 x 8 x f32>\n  %3 = reshape(%2) : <1 x 58 x 8 x 8 x f32>\n'
              "  " + convolve("4", "3", 58, 58, "d", 1)),
    "repeated": (WIDE[0], convolve("0", "x", 16, 16, "c") + '\n  %1 = broadcast(%0) dims=[0, 1, 2, 4] : <1 x 16 x 8 x 2 x 8 x f32>    ; "a"\n'
                 '  %2 = exp(%1) : <1 x 16 x 8 x 2 x 8 x f32>'),
}
PACKED = '%0 = convolve_packed(%x, <1 x 1 x 3 x 3 x 16 x 1 x 16 x f32> 0.5) channels=16 outputs=16 block=16 {}: <1 x 1 x 6 x 6 x 16 x f32>    ; "a"'
SCHEDULE = {
    "chosen": WIDE,
    "given": (*WIDE, "--schedule=book"),
    "kept": ("<1 x 1 x 8 x 8 x 16 x f32>", PACKED.format('schedule="columns=2" ')),
    "in_order": (*WIDE, "--exact"),
    "own_layout": LAYOUT["multiply"],
    "elements": ("<1 x 16 x 8 x 8 x i8>", '%0 = reduce_window(%x) window=[1, 1, 2, 2] strides=[1, 1, 2, 2] : <1 x 16 x 4 x 4 x i8>    ; "a"'),
}
BOOK = "dnncc-schedule 1\nconvolve_packed <1 x 1 x 10 x 10 x 16 x f32> <1 x 1 x 3 x 3 x 16 x 1 x 16 x f32> channels=16 outputs=16: columns=2\n"


def buffers(*names, extent=8):
    return "".join(f"buffer @{name} : f32[{extent}] workspace\n" for name in names)


def kernel(name, *reads, out=8, in_place=True):
    """which adds up what it reads: %a, %b .., of so many elements each"""
    mark = " class 1" if in_place else ""
    parameters = "".join(f"%{'abc'[k]}: in f32[{extent}]{mark}, " for k, extent in enumerate(reads))
    total = " + ".join(f"%{'abc'[k]}[%i % {extent}]" for k, extent in enumerate(reads))
    return f"kernel @{name}({parameters}%z: out f32[{out}]{mark}) {{\n  for %i = 0 to {out} {{\n    store %z[%i] = {total}\n  }}\n}}\n"


def main(*calls):
    return "main {\n" + "".join(f"  {line}\n" for line in calls) + "}\n"


ONE, TWO = kernel("one", 8), kernel("two", 8, 8)
APART, ALL, BACK = kernel("apart", 8, in_place=False), kernel("all", 8, out=16, in_place=False), kernel("back", 16, in_place=False)
PARTS = buffers("p", extent=16) + "buffer @low : f32[8] view @p + 0\nbuffer @a : f32[8] view @p + 8\n"
# what plan says of the operand @a of a kernel: the program
PLAN = {
    "in_place": buffers("a", "b") + ONE + main("call @one(@x, @a)", "call @one(@a, @b)", "call @one(@b, @y)"),
    "elsewhere": buffers("a", "b") + ONE + APART + main("call @one(@x, @a)", "call @apart(@a, @b)", "call @one(@b, @y)"),
    "port": buffers("a") + ONE + main("call @one(@x, @a)", "call @one(@a, @y)"),
    "taken": buffers("a", "b", "c") + ONE + TWO + main("call @one(@x, @a)", "call @one(@x, @b)", "call @two(@b, @a, @c)", "call @one(@c, @y)"),
    "later": buffers("a", "b") + ONE + APART + TWO.replace("class 1", "")
             + main("call @one(@x, @a)", "call @one(@a, @b)", "call @two(@a, @b, @y)"),
    "twice": buffers("a", "c") + ONE + TWO + main("call @one(@x, @a)", "call @two(@a, @a, @c)", "call @one(@c, @y)"),
    "part": PARTS + buffers("c") + ONE + TWO + main("call @one(@x, @low)", "call @one(@x, @a)", "call @one(@a, @c)", "call @two(@c, @low, @y)"),
    "size": buffers("a") + buffers("b", extent=16) + ONE + kernel("wide", 8, out=16) + BACK
            + main("call @one(@x, @a)", "call @wide(@a, @b)", "call @back(@b, @y)"),
    "in_use": PARTS.replace("@a", "@high") + buffers("a", "d") + ONE + ALL + BACK
              + main("call @all(@x, @p)", "call @back(@p, @d)", "call @one(@d, @a)", "call @one(@a, @low)", "call @back(@p, @y)"),
    "turns": buffers("a", extent=16) + buffers("c") + ONE + ALL
             + main("call @all(@x, @a)", "for %i = 0 to 2 {", "  call @one(@a + %i * 8, @c)", "}", "call @one(@c, @y)"),
}


def lines_of(pass_, model, folder, *options):
    done = dnncc.run([dnncc.DNNCC, model, f"--remarks={pass_}", "-q", "-o", folder / "m.c", "--name=m", *options], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def remarks(lines):
    """(A, B, reason) of each line of fuse"""
    texts = {reason: text for _, reason, text in TABLE}
    found = [LINE.fullmatch(line) or pytest.fail(line) for line in lines]
    assert found and all(f[4] or texts[f[5]] == f[6] for f in found)
    return [(f[2], f[3], "joined" if f[4] else f[5]) for f in found]


def said(lines):
    """the same for any pass; the text of each is that of the table"""
    texts, found = {(pass_, reason): text for _, pass_, reason, text in ROWS}, []
    for line in lines:
        pass_, made, read, left, reason, text = (ANY.fullmatch(line) or pytest.fail(line)).group(1, 2, 3, 4, 5, 6)
        assert left == (LEFT[pass_] if reason else None), line
        reason = reason or DID[pass_, text]
        assert texts[pass_, reason] == text, line
        found.append((made, read, reason))
    return found


@pytest.mark.parametrize("reason", PROGRAMS)
def test_reason(reason, tmp_path):
    port, body, *results = PROGRAMS[reason]
    last = results[0] if results else re.findall(r"^  (%\w+)|^(%\w+)", body, re.MULTILINE)[-1]
    last = last if isinstance(last, str) else last[0] or last[1]
    names = ", ".join(f'"y{i}"' for i in range(last.count("%")))
    (tmp_path / "m.dnn").write_text(f'dnn 1\nmodule "m"\nfunc @main(%x "x": {port}) -> ({names}) {{\n  {body.strip()}\n  yield({last})\n}}\n')
    found = remarks(lines_of("fuse", tmp_path / "m.dnn", tmp_path, "--passes=fuse,lower,plan", *MORE.get(reason, [])))
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
            done = dnncc.run([dnncc.DNNCC, model, *options, "--remarks", f"--report={tmp_path}/r.json", "-q", "-o", tmp_path / "m.c", "--name=m"])
            if done.returncode:
                continue                # the shapes that --info proposes are too small for it
            compiled += 1
            lines, listed = done.stderr.splitlines(), json.loads((tmp_path / "r.json").read_text())["remarks"]
            found = remarks(line for line in lines if line.startswith("fuse:"))
            others = said(line for line in lines if not line.startswith("fuse:"))
            reasons = {}
            for made, read, reason in found:
                reasons.setdefault((made, read), set()).add(reason)
            # a node may have two operations of a kind, which go by its name
            assert [pair for pair, why in reasons.items() if len(why) > 1 and len({name.partition(" (")[0] for name in pair}) > 1] == [], model
            seen |= {reason for _, _, reason in found}
            assert [r["reason"] for r in listed if r["pass"] == "fuse"] == [reason for _, _, reason in found], model
            assert [r["reason"] for r in listed if r["pass"] != "fuse"] == [reason for _, _, reason in others], model
    assert compiled > len(MODELS)
    assert seen >= SEEN_IN_MODELS and seen <= {reason for _, reason, _ in TABLE}


def module(folder, port, body):
    """m.dnn, of one input (or more) and the last value of the body"""
    last = re.findall(r"^  (%\w+)|^(%\w+)", body, re.MULTILINE)[-1]
    symbol = "symbol N in [1, 2048]\n" if "x N x" in port else ""
    (folder / "m.dnn").write_text(f'dnn 1\nmodule "m"\n{symbol}func @main(%x "x": {port}) -> ("y0") {{\n  {body.strip()}\n  yield({last[0] or last[1]})\n}}\n')
    return folder / "m.dnn"


def of(node, remarks_):
    return [reason for made, _, reason in remarks_ if made.startswith(f"{node} (") or made == node]


PASSES = ["--passes=layout,fuse,schedule,lower,plan"]


@pytest.mark.parametrize("reason", LAYOUT)
def test_layout(reason, tmp_path):
    port, body, *options = LAYOUT[reason]
    target = [] if any(o.startswith("--target") for o in options) else ["--target=x86-64-v4"]
    assert of("a", said(lines_of("layout", module(tmp_path, port, body), tmp_path, *PASSES, *target, *options))) == [reason]


def test_layout_without_blocks(tmp_path):
    """where --max-ram can only be kept without"""
    found = said(lines_of("layout", DIGITS, tmp_path, "--target=x86-64-v4", "--max-ram=4000"))
    assert [reason for _, _, reason in found] == ["unblocked"] * 3


@pytest.mark.parametrize("reason", SCHEDULE)
def test_schedule(reason, tmp_path):
    port, body, *options = SCHEDULE[reason]
    (tmp_path / "book").write_text(BOOK)
    passes = ["--passes=schedule,lower,plan"] if reason == "kept" else PASSES
    target = [] if any(o.startswith("--target") for o in options) else ["--target=x86-64-v4"]
    assert of("a", said(lines_of("schedule", module(tmp_path, port, body), tmp_path, *passes, *target, *options))) == [reason]


@pytest.mark.parametrize("reason", PLAN)
def test_plan(reason, tmp_path):
    (tmp_path / "m.loops").write_text('loop 1\nprogram "m" source "" passes "lower,arrange"\nbuffer @x : f32[8] input "x"\n'
                                      f'buffer @y : f32[8] output "y"\n{PLAN[reason]}')
    found = of("a", said(lines_of("plan", tmp_path / "m.loops", tmp_path, "--passes=plan")))
    assert found[0] == reason


def test_plan_without_sharing(tmp_path):
    assert {reason for _, _, reason in said(lines_of("plan", DIGITS, tmp_path, "-O0"))} == {"sharing_off"}


def test_every_reason_is_tested():
    tested = {("fuse", reason) for reason in set(PROGRAMS) | SEEN_IN_MODELS} | {("layout", reason) for reason in [*LAYOUT, "unblocked"]}
    # plan's "smaller": test_smaller in test/unit/memory_plan_test.c
    tested |= {("likely", "apart"), ("likely", "alike")}        # test_what_pays_stays in test/extents/test_likely.py
    tested |= {("schedule", reason) for reason in SCHEDULE} | {("plan", reason) for reason in [*PLAN, "sharing_off", "smaller"]}
    assert {(pass_, reason) for _, pass_, reason, _ in ROWS} == tested
    page = (dnncc.ROOT / "docs" / "remarks.md").read_text()
    assert all(f"| `{reason}` | {text if kind == 'DONE' else f'{LEFT[pass_]}: {text}'} |" in page for kind, pass_, reason, text in ROWS)


def test_explain(tmp_path):
    """of one node, with what the reason means; a node that is none has a message; nothing is said unless asked for"""
    out = ["-o", tmp_path / "m.c", "--name=m"]
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--explain=relu1", *out])
    assert done.returncode == 0 and re.search(r"^fuse: A .*relu1.*\n        \S", done.stderr, re.MULTILINE) and "dense" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("fuse")]
    assert lines and all("relu1" in line for line in lines)
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--explain=rely1", *out])
    assert done.returncode == dnncc.USAGE and "did you mean 'relu1'?" in done.stderr
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--remarks=fues", *out])
    assert done.returncode == dnncc.USAGE and "did you mean 'fuse'?" in done.stderr
    assert not dnncc.run([dnncc.DNNCC, DIGITS, *out]).stderr
    assert (tmp_path / "m.c").read_text() == dnncc.run([dnncc.DNNCC, DIGITS, "--remarks", "-o", "-", "--name=m"]).stdout.replace(
        dnncc.run([dnncc.DNNCC, DIGITS, "-o", "-", "--name=m"]).stdout, (tmp_path / "m.c").read_text())
