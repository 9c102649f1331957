# SPDX-License-Identifier: MIT
"""What this processor can run. Tests ask here, and what they leave out because of it is counted: pytest says it at the end of a run
(test/conftest.py). What a target needs stands in its table, codegen/targets/, and nowhere else."""
import pathlib
import re
import shutil
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPU = pathlib.Path("/proc/cpuinfo")
LACKS = "this processor lacks "         # begins the reason of a skip
LEFT_OUT = "left out"                   # a property of a test's report: what a part of it that was left out needs


def plain(feature):
    """compilers and Linux spell features each in their way: avx512bf16 and avx512_bf16, bmi and bmi1"""
    return "bmi1" if feature == "bmi" else re.sub("[-_]", "", feature)


def read_features():
    found = re.search(r"^flags\s*: (.*)$", CPU.read_text(), re.M) if CPU.exists() else None
    return frozenset(map(plain, found[1].split())) if found else frozenset()


def read_tables():
    """{variable: what its table in codegen/targets/ says of some fields; None: nothing}"""
    tables = {}
    for path in sorted((ROOT / "codegen" / "targets").glob("*.c")):
        variable, _, table = path.read_text().partition("\nconst struct target target_")[2].partition(" = {")
        fields = {field: re.search(rf'\.{field} =\s*(?:"([^"]*)"|&target_(\w+))', table) for field in ("name", "base", "machine", "attribute")}
        tables[variable] = {field: found and (found[1] or found[2]) for field, found in fields.items()}
    return tables


def inherited(tables, variable, field):
    """of a target, or else of its bases; of none: \"\""""
    table = tables[variable]
    return table[field] or (inherited(tables, table["base"], field) if table["base"] else "")


@dataclass(frozen=True)
class Emulator:
    cc: str
    run: tuple


def read_emulators():
    """{what a target's `machine` begins with: what stands for it}: the table of the unit tests"""
    text = (ROOT / "test" / "unit" / "processor.h").read_text().partition("emulators[] = {")[2].partition("};")[0]
    text = text.replace("ROOT", str(ROOT))
    return {machine: Emulator(cc, tuple(run.split())) for machine, cc, run in re.findall(r'\{ "(.*)", "(.*)", "(.*)" \}', text)}


TABLES = read_tables()
FEATURES = read_features()
MACHINES = {TABLES[t]["name"]: emulator for t in TABLES for start, emulator in read_emulators().items()
            if inherited(TABLES, t, "machine").startswith(start)}             # {name: what stands for its kind of machine}
NEEDS = {TABLES[t]["name"]: tuple(filter(None, inherited(TABLES, t, "attribute").split(","))) for t in TABLES}  # rarest first; generic: nothing
current = None                          # the pytest item that runs


def emulator(name):
    """what stands for a target of another kind of machine; None: it is of this one"""
    return MACHINES.get(name)


def missing(name):
    """the first feature that this processor lacks of a target, or of this one feature, or the tool that stands for another; or None"""
    if name in MACHINES:
        return next((tool for tool in (MACHINES[name].cc.split()[0], MACHINES[name].run[0]) if not shutil.which(tool)), None)
    return next((f for f in NEEDS.get(name, (name,)) if plain(f) not in FEATURES), None)


def has(name):
    """a target or a feature; nothing is counted"""
    return missing(name) is None


def here(name):
    """Can code for this target run here? What the test leaves out where it cannot is one case."""
    lacks = missing(name)
    if lacks and current:
        current.user_properties.append((LEFT_OUT, lacks))
    return not lacks


def these(names):
    """those of the targets whose code can run here"""
    return [name for name in names if here(name)]


def require(name):
    """skips the test where code for this target cannot run"""
    if lacks := missing(name):
        pytest.skip(LACKS + lacks)


def needs(name):
    """the same as a mark"""
    return pytest.mark.skipif(not has(name), reason=f"{LACKS}{missing(name)}")
