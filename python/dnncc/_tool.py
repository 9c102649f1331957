# SPDX-License-Identifier: MIT
"""The compiler as a program: where it is, how keywords become its options, how it is run.

What options there are, it says itself (--help=json): there is no list of them here.
"""
import functools
import json
import os
import shutil
import subprocess

from ._error import ArgumentError, Error
from ._source import digest_file

PACKAGE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(PACKAGE))        # in a source tree: its root

# What compile() decides itself, and what is no compilation.
NO_GROUPS = {"Testing", "Questions"}
NO_KEYWORDS = {"-o", "--merge", "--emit", "--report", "-MD", "-MF", "--tune", "--help", "--version", "--help-passes", "--help-ops"}
PATHS = {"FILE", "DIR", "PATH"}         # arguments that name files


def path():
    """$DNNCC, that of this package, of the source tree around it, or of $PATH"""
    named = os.environ.get("DNNCC")
    for found in [named] if named else [os.path.join(PACKAGE, "bin", "dnncc"), os.path.join(TREE, "build", "dnncc")]:
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.abspath(found)
    found = None if named else shutil.which("dnncc")
    if not found:
        raise Error(2, f"$DNNCC names '{named}', which is no program" if named else "the compiler dnncc is not there: $DNNCC may name it")
    return os.path.abspath(found)


def runtime(name):
    """a file of the runtime; None: it is not there"""
    for folder in (os.path.join(PACKAGE, "runtime"), os.path.join(TREE, "runtime"), os.path.join(TREE, "build")):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


@functools.lru_cache(None)
def digest_of(tool, *_state):
    return digest_file(tool)


def digest():
    """of the compiler's own bytes"""
    tool = path()
    state = os.stat(tool)
    return digest_of(tool, state.st_mtime_ns, state.st_size)


def run(arguments, data=None):
    """Runs the compiler; data: its standard input. Returns (standard output, standard error)."""
    done = subprocess.run([path(), *arguments], input=data, stdin=subprocess.DEVNULL if data is None else None,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        raise Error(70, f"dnncc was ended by signal {-done.returncode}. {text}".strip())
    if done.returncode:
        raise Error(done.returncode, text.strip())
    return done.stdout, text


@functools.lru_cache(None)
def table_of(tool, *_state):
    return json.loads(run(["--help=json"])[0])


def table():
    tool = path()
    return table_of(tool, os.stat(tool).st_mtime_ns)


def code_text(code):
    """what a run that returned this says"""
    try:
        rows = table()["run_codes"]
    except (Error, OSError):
        rows = []
    said = next((row["doc"] for row in rows if row["value"] == code), None)
    return f"the run ended with code {code}" + (f": {said}" if said else "")


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


def arguments(options):
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


def looks_inside(options):
    """whether something is to be seen of the compilation itself, which then must happen"""
    known = keywords()
    return any(row["group"] in ("Looking inside", "Messages") and value for name, value in options.items() for row in known.get(name, [])
               if row["field"] not in ("passes", "quiet"))
