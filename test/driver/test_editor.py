# SPDX-License-Identifier: MIT
"""Syntax files of editors and the pages of man, which come from the tables (docs/editor.c, docs/manual_pages.c)."""
import json
import re
import shutil

import pytest
from test_command_line import call
import dnncc  # the path is set by test_command_line

ROOT = dnncc.ROOT
EXAMPLES = {kind: sorted((ROOT / "test" / "golden").glob(f"*.{kind}")) for kind in ("dnn", "loops")}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    made = dnncc.run(["make", "-C", ROOT, "install", "PREFIX=/usr", f"DESTDIR={folder}"])
    assert made.returncode == 0, made.stderr
    return folder / "usr" / "share"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_grammar(kind, files):
    """knows each word of the golden texts"""
    grammar = json.loads((files / "dnncc" / "vscode" / f"{kind}.tmLanguage.json").read_text())
    extension = json.loads((files / "dnncc" / "vscode" / "package.json").read_text())
    assert {g["path"] for g in extension["contributes"]["grammars"]} == {"./dnn.tmLanguage.json", "./loops.tmLanguage.json"}
    rules = [re.compile(rule["match"]) for rule in grammar["patterns"]]
    unknown = set()
    for path in EXAMPLES[kind]:
        for line in path.read_text().splitlines():
            at = 0
            while at < len(line):
                found = min((m for m in (rule.search(line, at) for rule in rules) if m), key=lambda m: m.start(), default=None)
                between = line[at:found.start() if found else len(line)]
                unknown |= set(re.findall(r"[A-Za-z_]\w*", between))
                at = found.end() if found else len(line)
    math = set(re.findall(r"^\| (\w+) \| f32", (ROOT / "docs" / "ir.md").read_text(), re.MULTILINE))
    left = {word for word in unknown - math if not re.fullmatch(r"x|(bits_)?[fiu]\d+x?|(bf16|bool|[fiu]\d+)x\d+(tile)?|\w+_fused", word)}
    assert EXAMPLES[kind] and not left, sorted(left)


@pytest.mark.skipif(not shutil.which("vim"), reason="no vim")
@pytest.mark.parametrize("kind, line, words", [
    ("dnn", '  %0 = reduce(%x, <1 x i64> 1) axes=[1] : <3 x f32>    ; "s1"',
     {"reduce": "dnnOperation", "%x": "dnnValue", "i64": "dnnType", '; "s1': "dnnComment"}),
    ("loops", "    for %i = 0 to 8 parallel {", {"for": "loopsKeyword", "%i": "loopsValue", "8": "loopsNumber", "parallel": "loopsAttribute"})])
def test_vim(kind, line, words, files, tmp_path):
    (tmp_path / f"m.{kind}").write_text(line + "\n")
    runtime = files / "vim" / "vimfiles"
    ask = [f"call add(g:r, synIDattr(synID(1, {line.index(word) + 1}, 1), 'name'))" for word in words]
    script = [f"set runtimepath^={runtime}", "filetype on", "syntax on", f"edit {tmp_path}/m.{kind}", "let g:r = []", *ask,
              f"call writefile(g:r, '{tmp_path}/said')", "qa!"]
    (tmp_path / "ask.vim").write_text("\n".join(script) + "\n")
    dnncc.run(["vim", "-N", "-es", "-u", "NONE", "-i", "NONE", "-S", tmp_path / "ask.vim"], cwd=tmp_path)
    assert (tmp_path / "said").read_text().split("\n")[:-1] == list(words.values())


PAGES = ["dnncc.1", "dnncc-ir.5", "dnncc-schedule.5"]


@pytest.mark.parametrize("page", PAGES)
def test_man(page, files):
    text = (files / "man" / f"man{page[-1]}" / page).read_text()
    assert text.startswith(".TH") and "\n.SH SEE ALSO\n" in text
    if shutil.which("groff"):
        shown = dnncc.run(["groff", "-man", "-Tutf8", "-ww", "-P-c", files / "man" / f"man{page[-1]}" / page])
        assert shown.returncode == 0 and not shown.stderr, shown.stderr
        plain = re.sub(".\x08", "", shown.stdout)
        assert "EXAMPLE" in plain and plain.count("\n") > 30


def test_examples_of_man(files, tmp_path):
    """what a page shows is read"""
    text = (files / "man" / "man5" / "dnncc-ir.5").read_text()
    shown = [block.replace("\\-", "-").strip() + "\n" for block in re.findall(r"^\.nf\n(.*?)^\.fi", text, re.MULTILINE | re.DOTALL)]
    assert len(shown) == 2
    for block, name in zip(shown, ("m.dnn", "m.loops")):
        (tmp_path / name).write_text(block)
        done = call(tmp_path / name, "-o", tmp_path / "m.c", "--emit=loops" if name == "m.loops" else "--emit=c")
        assert done.returncode == 0, done.stderr
    schedule = re.search(r"^\.nf\n(.*?)^\.fi", (files / "man" / "man5" / "dnncc-schedule.5").read_text(), re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "book").write_text(schedule.replace("\\-", "-").replace("f32>\nchannels", "f32> channels"))
    done = call(tmp_path / "m.dnn", "--target=x86-64", "--schedule=" + str(tmp_path / "book"), "-o", tmp_path / "m.c")
    assert done.returncode == 0, done.stderr
