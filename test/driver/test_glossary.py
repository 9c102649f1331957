# SPDX-License-Identifier: MIT
"""Words: each word of a table stands in the manual that is made from the table, or in docs/glossary.md; each term of the glossary is in
use; a word that the glossary retires, and that has been removed, does not come back."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
RETIRED = GLOSSARY.index("## Retired words")
TERMS = [term for line in re.findall(r"^- (\*\*.*?):", GLOSSARY[:RETIRED], re.M) for term in re.findall(r"\*\*(.+?)\*\*", line)]

# Words of the glossary's last section that nothing has any more: what they looked like, and in which files that may stand.
REMOVED = {
    "carrier": (r"carrier", None),
    "absorb": (r"absorb", r"base/sha256\.c|passes/simplify/logic\.c"),         # of a hash; a law of Boolean algebra
    "grid, of quantization": (r"\bstruct grid\b|\bgrid_(?:limits|scale|stored|help|from_text)\b|\bgrids\.def\b", r"ir/loop/loop_verify_grid\.c"),
    "micro, of a pass": (r"flatten,micro\b|\bpass_micro\b|\bmicro,tokens|stream/micro\b", None),
    "beside, of a name": (r"\bstruct beside\b|\w_beside\b|\bbeside_\w|\bbeside\.[ch]\b", r"test/"),
    "PLACE_...": (r"\bPLACE_(?:SCALAR|BROADCAST|LANE|LANE_LOADED|VECTOR|TILE|WARP|GROUP)\b|\bmultiply_place\b", None),
    "cut": (r"\bstruct cuts? |\bcut_(?:evenly|size|runs|loop)\b|kernels/cut\.h|\bstage_cut\b", r"codegen/sections/"),
    "chain": (r"\bstruct chain\b|kernels/chain\.[ch]|\bchain_(?:link|find|joins)\b|\bCHAIN_ROWS\b", None),
    "stage": (r"\bstruct stage \*|kernels/stage\.[ch]|\bstage_(?:begin|kernel|halo|each_tile|sums|words)\b", None),
    "grid_machine": (r"\bgrid_machine\b|\btarget_grid\b", None),
    "ring": (r"\brings?\b(?![\w-])|\w_rings?\b|\brings?_\w|\bRINGS_MAX\b", r"windows/posix\.c|test/bench/zoo/|test/.*\.txt$"),
    "whole": (r"\bwhole=1|warps_whole\b", None),
    "pooled": (r"\bpooled=1|warp_tile_pooled\b|(?:tile|work|schedule)(?:->|\.)pooled\b", r"engines/stream/"),
    "group": (r"\bwinograd_groups\b|WORD_group\b|schedule(?:\.|->)group\b|\bmultiply(?:->|\.)group\b|\b(?:form|build)_groups\b", None),
    "runs": (r"\bruns=1\b(?! vec)|\bruns_(?:begin|copy|commit|wait|thread)\b|GRID_RUNS|\bORDER_RUNS\b|\bstruct runs\b", r"test/bench/"),
    "early": (r"\bbegins_early\b|launches_early\b|test_early_launches|(?:->|\.)early\b", None),
    "together": (r"\btogether=1|\btogether_percent\b|(?:->|\.)together\b|_together_|\bwarps together\b", None),
    "across": (r"\bMULTIPLY_ACROSS\b|load_matrices_across|tiles\.across\b|\b(?:warp_group|jump \d+) across\b", None),
    "line": (r"\bMULTIPLY_LINE\b|tiles\.line\b|\bjump \S+ line \d", None),
    "turn": (r"\b(?:packed|code|scalar)_turn\b|\bgrid_turns\b|\bwarps_turn\b|\bTURN_|\bjam_turns\b|\b(?:work|tile)(?:->|\.)turns\b", None),
    "strip": (r"\bjam_strip\b|\bscalars?_strip|\brate_strip_|\bstrip_(?:vector|begin|load|edge|narrow|whole)\b", None),
}
OWN = {"docs/glossary.md", "test/driver/test_glossary.py", "CHANGELOG.md"}      # which speak of them


def text(*names):
    return "\n".join((ROOT / name).read_text() for name in names)


def rows(table, macro):
    """first arguments of a table's rows"""
    found = re.findall(rf'^\s*{macro}\("?([^,"]+)"?[,)]', text(table), re.M)
    assert found, (table, macro)
    return found


def attributes(table):
    return re.findall(r"\b(?:INT|INTS|ENUM|TYPE|TEXT)\((\w+)[,)]", text(table).split("#undef EW")[0].split("---- element-wise: arithmetic")[1])


def dump_words():
    """keywords of Loop IR: statements, and what the parser asks for by name"""
    parsers = [path.relative_to(ROOT) for path in sorted((ROOT / "ir").rglob("loop_pars*.c"))]
    sources = text(*parsers)
    statements = re.findall(r'\{ "(\w+)", STMT_', sources)
    asked = re.findall(r'loop_lex_(?:accept|expect|is)\(\w+, "([a-z_]\w*)"\)', sources)
    assert len(statements) > 30 and len(asked) > 30
    return statements + asked


def report_words():
    """members of the report's JSON"""
    sources = text(*[path.relative_to(ROOT) for path in sorted((ROOT / "compiler").glob("report_*.c"))])
    found = re.findall(r'\\"([a-z_]\w*)\\": ', sources) + re.findall(r'(?:json_member|put_list)\([^;]*?"([a-z_0-9]+)", \w', sources)
    assert len(found) > 50
    return found


# what, its words, where they are defined
TABLES = {
    "schedules": (lambda: rows("ir/target/schedule.def", "(?:REGISTERS|CIRCULAR|GRID|STREAM|SCALAR)"), ["docs/dnncc-schedule.5"]),
    "operations": (lambda: rows("ir/tensor/ops.def", "(?:OP|EW|CMP)"), ["docs/ir.md"]),
    "attributes": (lambda: attributes("ir/tensor/ops.def"), ["docs/ir.md"]),
    "expressions": (lambda: re.findall(r'^LOOP_OP\(\w+, +"([a-z_]\w*)"', text("ir/loop/loop_ops.def"), re.M), ["docs/ir.md"]),
    "dumps": (dump_words, ["docs/ir.md"]),
    "codes": (lambda: rows("ir/loop/fail_codes.def", "FAIL"), ["docs/ir.md"]),
    "passes": (lambda: rows("passes/passes.def", "PASS"), ["docs/ir.md"]),
    "limits": (lambda: rows("passes/limits.def", "LIMIT"), ["docs/ir.md"]),
    "remarks": (lambda: re.findall(r"^(?:DONE|LEFT)\(\w+, (\w+),", text("passes/remarks.def"), re.M), ["docs/remarks.md"]),
    "rates": (lambda: rows("ir/target/rates.def", "RATE"), ["docs/rates.md"]),
    "options": (lambda: rows("compiler/options.def", "OPTION"), ["docs/dnncc.1"]),
    "observers": (lambda: re.findall(r'^OBSERVER\(\w+, +"([^"]+)"', text("passes/calibrate/observers.def"), re.M), ["docs/dnncc.1"]),
    "quantization steps": (lambda: rows("passes/quantize/quantize_steps.def", "STEP"), ["docs/quantization.md"]),
    "types of weights": (lambda: rows("passes/quantize/weights_types.def", "WEIGHTS"), ["docs/quantization.md"]),
    "reports": (report_words, ["docs/interface.md", "docs/memory.md"]),
}


@pytest.mark.parametrize("table", TABLES)
def test_words_of_tables(table):
    words, manuals = TABLES[table]
    manual = text(*manuals).replace("\\-", "-") + GLOSSARY[:RETIRED]
    missing = sorted({word for word in words() if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", manual)})
    assert not missing, f"{table}: in neither {manuals} nor docs/glossary.md: {missing}"


def sources():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if names.returncode:
        pytest.skip("no repository")
    return [name for name in names.stdout.split() if name not in OWN and (ROOT / name).is_file() and
            (name.endswith((".c", ".h", ".def", ".py", ".md", ".dnn", ".loops", ".js", ".txt", ".1", ".5", ".hpp")) or name == "Makefile")]


def test_terms_are_in_use():
    """a term of the glossary is one that code has, by its words or by its name"""
    assert len(TERMS) > 90 and len(set(TERMS)) > len(TERMS) - 5      # a few have a meaning in two rooms
    everything = "\n".join((ROOT / name).read_text() for name in sources() if name.endswith((".c", ".h", ".def", ".py"))).lower()
    unused = [term for term in TERMS if not re.search(rf"\b{re.escape(term.lower())}", everything) and
              not re.search(rf"\b\w*{re.escape(term.lower().replace(' ', '_'))}", everything)]
    assert not unused, f"docs/glossary.md defines what nothing is called: {unused}"


def test_removed_words():
    found = []
    for name in sources():
        content = (ROOT / name).read_text()
        for word, (pattern, allowed) in REMOVED.items():
            if not re.match(allowed or "$.", name):
                found += [f"{name}:{content.count(chr(10), 0, at.start()) + 1}: {word}" for at in re.finditer(pattern, content)]
    assert not found, "retired words (docs/glossary.md):\n" + "\n".join(found)
