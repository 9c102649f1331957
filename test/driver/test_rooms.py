# SPDX-License-Identifier: MIT
"""Dependencies between the rooms of the house point one way, as docs/architecture.md says."""
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^#include "([^"/]+)/', re.MULTILINE)


def test_dependencies_point_one_way():
    said = re.search(r"Dependencies point one way: ([^.]*)\.", (TOP / "docs/architecture.md").read_text())
    rooms = said[1].split(" -> ")
    assert rooms[0] == "compiler" and rooms[-1] == "base"
    includes = [(path.relative_to(TOP), to) for room in rooms for path in sorted((TOP / room).rglob("*.[ch]"))
                for to in INCLUDE.findall(path.read_text())]
    assert {to for _, to in includes} >= set(rooms) - {"compiler"}       # else nothing was looked at
    wrong = [f"{path} includes {to}/" for path, to in includes if to in rooms and rooms.index(to) < rooms.index(path.parts[0])]
    assert not wrong, wrong


def test_folders_of_ir_point_one_way():
    folders = re.search(r"folders are ordered likewise: ([^.]*)\.", (TOP / "docs/architecture.md").read_text())[1].split("->")
    folders = [folder.strip() for folder in folders]
    assert sorted(folders) == sorted(str(path.relative_to(TOP)) for path in (TOP / "ir").iterdir() if path.is_dir())
    includes = [(path.relative_to(TOP), "ir/" + to) for folder in folders for path in sorted((TOP / folder).glob("*.[ch]"))
                for to in re.findall(r'^#include "ir/(\w+)/', path.read_text(), re.MULTILINE)]
    assert {to for _, to in includes} >= set(folders) - {"ir/lower", "ir/library"}
    wrong = [f"{path} includes {to}/" for path, to in includes if folders.index(to) < folders.index(str(path.parent))]
    assert not wrong, wrong
    # what lies between front/ and passes/ writes code, which no reader of models needs
    wrong = [f"{path} includes {to}/" for path, to in includes if path.parts[0] == "front" and to not in ("front", "base", "ir", "passes")]
    assert not wrong, wrong


def test_meaning_of_operators_knows_no_format():
    """front/compose builds Tensor IR of values and parameters: it includes base/, ir/ and passes/ alone, and has no word of a format"""
    files = sorted((TOP / "front/compose").glob("*.[ch]"))
    assert len(files) > 3
    wrong = [f"{path.name} includes {to}/" for path in files for to in INCLUDE.findall(path.read_text()) if to not in ("base", "ir", "passes", "front")]
    # what comments compare with may be named; identifiers and strings may not
    bare = {path.name: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL) for path in files}
    wrong += [f"{name} says {word[0]}" for name, text in bare.items() for word in re.finditer(r"\w*(onnx|opset|tflite|keras|caffe|tensorflow|attribute)\w*", text, re.I)
              if word[0] != "__attribute__"]
    assert not wrong, wrong


FUNCTION = re.compile(r"^(?!static|typedef)[a-z][\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)


@pytest.mark.parametrize("folder, least", [("front/compose", 10), ("front/onnx", 10), ("front/tflite", 10), ("front/gguf", 5), ("front/caffe", 5), ("front/tensorflow", 5)])
def test_files_call_one_way(folder, least):
    """no file of the folder calls, over others or not, one that calls it: a file is understood with those that it stands on"""
    texts = {path.name: re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', "", path.read_text(), flags=re.DOTALL) for path in (TOP / folder).glob("*.c")}
    where = {name: file for file, text in texts.items() for name in FUNCTION.findall(text)}
    calls = {file: {where[word] for word in re.findall(r"(?<!struct )\b[a-z]\w+\b", text) if word in where} - {file} for file, text in texts.items()}
    assert len(calls) > least and sum(map(len, calls.values())) > 1.5 * len(calls)
    while True:         # what calls nobody that is left goes; a circle stays
        ends = [file for file, called in calls.items() if not called & calls.keys()]
        if not ends:
            break
        for file in ends:
            del calls[file]
    assert not calls, {file: sorted(called & calls.keys()) for file, called in calls.items()}


def test_folders_of_codegen_point_one_way():
    """what machines share knows no machine, and printers include that alone"""
    arrows = {(path.parent.name, pathlib.Path(to).parent.name) for path in sorted((TOP / "codegen").rglob("*.[ch]"))
              for to in re.findall(r'^#include "(codegen/[^"]+)"', path.read_text(), re.MULTILINE)}
    assert ("vta", "machines") in arrows
    order = ("targets", "llvm", "codegen", "sections", "unified", "vta", "machines")
    wrong = [arrow for arrow in arrows if order.index(arrow[0]) > order.index(arrow[1])]
    assert not wrong, wrong


# Who asks which kind of machine it is, rather than for a fact of its engine (ir/target/engine.h).
KIND = (r"target_gpu\(|target_accelerator\(|target_commands\(|target_has_dependent_launch\(|multiply_in_warps\(|multiply_by_warp_group\(|multiply_registers\(|"
        r"target_tile_shapes\(|SOURCE_(TILE|WARP|WARP_GROUP)\b|engine_(scalar|vector|tile|grid|stream|commands)\b")
DEFINED = ("ir/target/target.h", "ir/target/multiply.h", "ir/target/multiply.c", "ir/target/engine.h")        # where these are defined
KINDS_MOST = 25


def test_few_lines_ask_for_the_kind_of_machine():
    """outside engines/ and codegen/, which are about machines"""
    found = [f"{path.relative_to(TOP)}:{number}" for room in ("base", "ir", "cost", "kernels", "schedule", "passes", "front", "compiler")
             for path in sorted((TOP / room).rglob("*.[ch]")) if str(path.relative_to(TOP)) not in DEFINED
             for number, line in enumerate(path.read_text().splitlines(), 1) if re.search(KIND, line)]
    assert found, "the words have other names: nothing was looked for"
    assert len(found) <= KINDS_MOST, found


TWINS = ("windows/sys/",)       # which have the names of POSIX
MAY_SHARE = {"main.c", "README.md"}


def test_names_of_sources_are_unique():
    """outside tests and examples, so that a name says which file"""
    names = {}
    for room in ("base", "ir", "cost", "kernels", "schedule", "passes", "engines", "codegen", "compiler", "runtime", "front", "windows"):
        for path in sorted((TOP / room).rglob("*.[chd]*")):
            if path.suffix in (".c", ".h", ".def") and path.name not in MAY_SHARE and not str(path.relative_to(TOP)).startswith(TWINS):
                names.setdefault(path.name, []).append(str(path.relative_to(TOP)))
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert len(names) > 500 and not twice, twice


def test_names_of_tests_are_unique():
    """pytest imports test modules by their names alone"""
    names = [path.name for path in (TOP / "test").rglob("test_*.py")]
    assert len(names) > 100 and len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)


def test_include_guards_are_named_after_their_files():
    """outside tests, examples and runtime/, whose headers are installed alone"""
    wrong, seen = [], 0
    for room in ("base", "ir", "cost", "kernels", "schedule", "passes", "engines", "codegen", "compiler", "front"):
        for path in sorted((TOP / room).rglob("*.h")):
            guard = re.search(r"^#ifndef (\w+_H)\n#define \1$", path.read_text(), re.M)
            seen += guard is not None
            if guard and guard[1] != re.sub(r"\W", "_", str(path.relative_to(TOP))).upper():
                wrong.append(f"{path.relative_to(TOP)}: {guard[1]}")
    assert seen > 150 and not wrong, wrong


COLUMNS = 100
ROW = re.compile(r'\s*(\{|#|\.|\[|"|[A-Z][A-Z0-9_]+\()|.*\\$')      # of a table, a macro or a text
PICTURE = re.compile(r'\s*/?\*(\s{3,}|.*\S {3,}\S)')


def test_lines_of_c_have_at_most_100_columns():
    """outside tests and examples; rows of tables, macros, texts and pictures in comments left out (.clang-format)"""
    assert f"ColumnLimit: {COLUMNS}" in (TOP / ".clang-format").read_text()
    wrong, seen = [], 0
    for path in sorted(TOP.rglob("*.[ch]")):
        name = str(path.relative_to(TOP))
        if name.startswith(("test/", "examples/", "build")) or "/build/" in name:
            continue
        seen, before = seen + 1, ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line.expandtabs(8)) > COLUMNS and not before.endswith("\\") and not ROW.match(line) and not PICTURE.match(line):
                wrong.append(f"{name}:{number}")
            before = line
    assert seen > 500 and not wrong, wrong


LICENCE = "SPDX-License-Identifier: MIT"
INTO_OUTPUTS = ("compiler/page/", "compiler/harness/main.c")      # what dnncc writes of them is the user's


def test_licence_of_each_file():
    """is named in its first line, or behind #!; each file is one that was written here"""
    assert (TOP / "LICENSE").read_text().startswith("MIT License\n")
    files = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True)
    if files.returncode:
        pytest.skip("no repository")
    sources = [name for name in files.stdout.split() if not name.startswith(INTO_OUTPUTS) and
               (name.endswith((".c", ".h", ".hpp", ".def", ".py", ".cmake", ".sh")) or name == "Makefile") and (TOP / name).exists()]
    without = [name for name in sources if LICENCE not in "".join((TOP / name).read_text().splitlines(True)[:2])]
    fetched = [name for name in files.stdout.split() if name.endswith((".whl", ".deb", ".tar", ".gz", ".zip", ".pt", ".so", ".o", ".a"))]
    assert not fetched, f"packages and what compilers make are no part of the project: {fetched}"
    assert len(sources) > 500 and not without, f"first line of {without}: /* {LICENCE} */ or # {LICENCE}"
