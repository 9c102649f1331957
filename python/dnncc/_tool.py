# SPDX-License-Identifier: MIT
"""The compiler as a program: where it is, how keywords become its options, how it is run.

What options there are, it says itself (--help=json): there is no list of them here.
"""
from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from typing import Any

from ._error import ArgumentError, Error, of_compiler
from ._source import digest_file

PACKAGE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(PACKAGE))        # in a source tree: its root

# What compile() decides itself, and what is no compilation.
NO_GROUPS = {"Testing", "Questions"}
NO_KEYWORDS = {"-o", "--merge", "--emit", "--report", "-MD", "-MF", "--tune", "--help", "--version", "--help-passes", "--help-ops"}
PATHS = {"FILE", "DIR", "PATH"}         # arguments that name files


PROGRAM = "dnncc.exe" if os.name == "nt" else "dnncc"


def path() -> str:
    """$DNNCC, that of this package, of the source tree around it, or of $PATH"""
    named = os.environ.get("DNNCC")
    for found in [named] if named else [os.path.join(PACKAGE, "bin", PROGRAM), os.path.join(TREE, "build", PROGRAM)]:
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.abspath(found)
    on_path = None if named else shutil.which("dnncc")
    if not on_path:
        raise Error(2, f"$DNNCC names '{named}', which is no program" if named else "the compiler dnncc is not there: $DNNCC may name it")
    return os.path.abspath(on_path)


def runtime(name: str) -> str | None:
    """a file of the runtime; None: it is not there"""
    for folder in (os.path.join(PACKAGE, "runtime"), os.path.join(TREE, "runtime"), os.path.join(TREE, "build")):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


@functools.lru_cache(None)
def digest_of(tool, *_state):
    return digest_file(tool)


def digest() -> str:
    """of the compiler's own bytes"""
    tool = path()
    state = os.stat(tool)
    return digest_of(tool, state.st_mtime_ns, state.st_size)


def run(arguments: list[str], data: bytes | None = None, translate: bool = True) -> tuple[bytes, str]:
    """Runs the compiler; data: its standard input. Returns (standard output, standard error). translate: errors are in Python's words."""
    done = subprocess.run([path(), *arguments], input=data, stdin=subprocess.DEVNULL if data is None else None,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        raise Error(70, f"dnncc was ended by signal {-done.returncode}. {text}".strip())
    if done.returncode:
        raise of_compiler(done.returncode, in_python(text.strip()) if translate else text.strip())
    return done.stdout, text


@functools.lru_cache(None)
def table_of(tool, *_state):
    return json.loads(run(["--help=json"], translate=False)[0])


def table() -> dict[str, Any]:
    tool = path()
    return table_of(tool, os.stat(tool).st_mtime_ns)


@functools.lru_cache(None)
def target_names(tool: str, *_state: int) -> dict[str, str]:
    """{another name: target}, as --target=help says them: NAME  what it is; also OTHER, OTHER"""
    found = {}
    for line in run(["--target=help"])[0].decode().splitlines():
        name, _, also = line.partition("; also ")
        for other in also.split(", ") if also else []:
            found[other] = name.split()[0]
    return found


def target(name: str) -> str:
    """by its own name"""
    tool = path()
    return name if name.startswith(("cuda-", "x86-", "native", "generic")) else target_names(tool, os.stat(tool).st_mtime_ns).get(name.lower(), name)


def code_text(code: int) -> str:
    """what a run that returned this says"""
    try:
        rows = table()["run_codes"]
    except (Error, OSError):
        rows = []
    said = next((row["doc"] for row in rows if row["value"] == code), None)
    return f"the run ended with code {code}" + (f": {said}" if said else "")


# ---- what the command line says, in Python's words ----

OPTION = re.compile(r"(?P<option>--[a-z][-a-z]*)(?P<value>[= ](?:(?P<key>[^\s=,;:()']+)=)?(?P<word>\.\.|[^\s=,;:()'.]+(?:\.[^\s=,;:()'.]+)*))?(?P<more>'?)")


def literal(word: str) -> str:
    """a value of the command line as it stands in Python"""
    if re.fullmatch(r"\d+(x\d+)+", word):
        return f"({word.replace('x', ', ')})"
    return word if word == ".." or re.fullmatch(r"-?\d+", word) else json.dumps(word, ensure_ascii=False)


def in_python(text: str) -> str:
    """options of a message as keywords: --dim N=1 is dim={"N": 1}"""
    if "--" not in text:
        return text.replace("standard input: ", "the model: ", 1) if text.startswith("standard input: ") else text
    rows = {row["option"]: row for row in table()["options"] if row["option"] not in NO_KEYWORDS and row["group"] not in NO_GROUPS}

    def rewrite(found: re.Match[str]) -> str:
        row, key, word = rows.get(found["option"]), found["key"], found["word"]
        if row is None:
            return found[0]
        name, rest = keyword(row["option"]), found["more"]
        if word is None:
            return name + (found["value"] or "") + rest
        if word == "help":
            return f"`dnncc {found['option']}=help`" + rest
        of_name = row["kind"] == "LIST" and row["argument"].startswith("NAME=")
        if key is not None and of_name:
            return f'{name}={{{json.dumps(key, ensure_ascii=False)}: {literal(word)}}}' + rest
        if "argument" not in row or found["value"].startswith(" ") or key is not None:
            return name + found["value"] + rest
        return f"{name}={literal(word)}" + rest
    text = re.sub(r"\bdnncc (?:'[^']*'|\S+) (?=--)", "", text)
    return re.sub(r"^standard input: ", "the model: ", OPTION.sub(rewrite, text), flags=re.M)


# ---- keywords ----

def keyword(option):
    return option.lstrip("-").replace("-", "_")


def keywords():
    """{keyword: rows}: an option under its name and under that of its field, which options that exclude each other share"""
    found = {}
    for row in table()["options"]:
        if row["option"] not in NO_KEYWORDS and row["group"] not in NO_GROUPS:
            for name in {keyword(row["option"]), row["field"]}:
                found.setdefault(name, []).append(row)
    return found


def word(value):
    if isinstance(value, (tuple, list)):
        return "x".join(map(str, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def values(name, row, value):
    """of an option with an argument"""
    if row["kind"] == "LIST":
        if isinstance(value, dict):
            given = [f"{key}={word(part)}" for key, part in value.items()]
        else:
            given = [word(part) for part in value] if isinstance(value, (tuple, list, set)) else [word(value)]
    else:
        given = [",".join(map(word, value)) if isinstance(value, (tuple, list)) else word(value)]
    if value is True or not all(given):
        raise ArgumentError(f"{name} wants {row['argument']}, not {value!r}")
    forms = row["argument"].strip("[=]").split("|")     # FILE, or "FILE|dynamic"
    return [os.path.abspath(v) if PATHS & set(forms) and v not in forms else v for v in given]


def settings(name, rows, value):
    """of options without arguments: a flag, or level=3 and the like"""
    if rows[0]["kind"] == "FLAG":
        if value is not True:
            raise ArgumentError(f"{name} is True or False, not {value!r}")
        return [rows[0]["option"]]
    found = [row["option"] for row in rows if row["kind"] == f"SET_{value}"] if len(rows) > 1 else [rows[0]["option"]]
    if not found:
        raise ArgumentError(f"{name} wants a number from {rows[0]['kind'][4:]} to {rows[-1]['kind'][4:]}, not {value!r}")
    return found


def arguments(options: dict[str, Any]) -> list[str]:
    """The keywords as arguments of the command line."""
    known, given = keywords(), []
    for name, value in options.items():
        if name not in known:
            import difflib
            near = difflib.get_close_matches(name, known, 1)
            raise ArgumentError(f"unknown option '{name}'" + (f": did you mean '{near[0]}'?" if near else ""))
        if value is None or value is False:
            continue
        rows = known[name]
        if rows[0]["kind"] == "PERHAPS" and value is True:
            given.append(rows[0]["option"])
        elif "argument" in rows[0]:
            given += [f"{rows[0]['option']}={v}" if rows[0]["option"].startswith("--") else f"{rows[0]['option']}{v}"
                      for v in values(name, rows[0], value)]
        else:
            given += settings(name, rows, value)
    return given


def looks_inside(options: dict[str, Any]) -> bool:
    """whether something is to be seen of the compilation itself, which then must happen"""
    known = keywords()
    return any(row["group"] in ("Looking inside", "Messages") and value for name, value in options.items() for row in known.get(name, [])
               if row["field"] not in ("passes", "quiet"))
