# SPDX-License-Identifier: MIT
"""The order of operations is that of statements: no call has two arguments that build operations, for a C compiler may take them from either
end, and what it builds would not be what another builds."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ["ir", "kernels", "schedule", "passes", "engines", "front", "compiler"]
CALL = re.compile(r"\b([a-z_]\w*)\s*\(")
FUNCTION = re.compile(r"^(static )?(?:inline )?struct value \*\s*(\w+)\([^;{}]*\)\s*\{(.*?)^\}", re.M | re.S)
WORDS = {"if", "for", "while", "switch", "return", "sizeof"}


def bare(text):
    """C without comments, strings and the preprocessor's lines; lines keep their numbers"""
    def blank(found):
        return "\n" * found[0].count("\n")
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(\\.|[^'\\\n])'", "' '", text)
    return re.sub(r"^[ \t]*#.*(?:\\\n.*)*", blank, text, flags=re.M)


def arguments(text, at):
    """those between the parenthesis at `at` and its other half"""
    depth, start, found = 0, at + 1, []
    for k in range(at, len(text)):
        if text[k] in "([{":
            depth += 1
        elif text[k] in ")]}":
            depth -= 1
        if (depth == 1 and text[k] == ",") or not depth:
            found.append(text[start:k])
            start = k + 1
        if not depth:
            break
    return found


def builders(files):
    """functions that build operations, of which value_build is one: (of all files, {file: its own})"""
    bodies = [(path, bool(m[1]), m[2], set(CALL.findall(m[3]))) for path, text in files.items() for m in FUNCTION.finditer(text)]
    known, own = {"value_build"}, {path: set() for path in files}
    count = -1
    while count != len(known) + sum(map(len, own.values())):
        count = len(known) + sum(map(len, own.values()))
        for path, static, name, calls in bodies:
            if calls & (known | own[path]):
                (own[path] if static else known).add(name)
    return known, own


def unordered(files):
    known, own = builders(files)
    for path, text in files.items():
        names = known | own[path]
        for call in CALL.finditer(text):
            if call[1] not in WORDS and sum(bool(names & set(CALL.findall(a))) for a in arguments(text, call.end() - 1)) > 1:
                yield f"{path}:{text.count(chr(10), 0, call.start()) + 1}: two arguments of {call[1]} build operations: build one before"


def test_sources():
    files = {path.relative_to(ROOT): bare(path.read_text()) for room in ROOMS for path in sorted((ROOT / room).rglob("*.c"))}
    known, own = builders(files)
    assert {"build_binary", "compose_with", "layout_split"} <= known and sum(map(len, own.values())) > 100
    found = list(unordered(files))
    assert not found, "\n".join(found)


HEAD = "static struct value *twice(struct builder *b, struct value *x)\n{\n        return build_binary(b, OP_add, x, x);\n}\n"
ALL = "struct value *build_binary(struct builder *b, int code, struct value *x, struct value *y)\n{\n        return value_build(b, code);\n}\n"


@pytest.mark.parametrize("line, count", [
    ("y = build_binary(b, OP_mul, twice(b, x), twice(b, y));", 1), ("return build_select(b, c, twice(b, x), build_binary(b, OP_or, x, y));", 1),
    ("f(g(b, twice(b, x), 1), h(twice(b, x)));", 1), ("y = build_binary(b, OP_mul, twice(b, x), y);", 0), ('f("twice(b)", twice(b, x));', 0),
    ("f(/* twice(b, y) */ x, twice(b, x));", 0), ("a[0] = twice(b, x), a[1] = twice(b, y);", 0), ("f(op_operand(op, 0), twice(b, x));", 0)])
def test_finds(line, count):
    text = bare(f"{ALL}{HEAD}void use(void)\n{{\n        {line}\n}}\n")
    assert len(list(unordered({"a.c": text}))) == count
    assert not list(unordered({"a.c": bare(f"{ALL}{HEAD}"), "b.c": "void use(void)\n{\n        y = f(twice(1), twice(2));\n}\n"}))     # another's own
