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


def read_targets():
    """{name: features, what is rarest first, as its table or else its base's has them}; generic needs none"""
    tables = {}
    for path in sorted((ROOT / "codegen" / "targets").glob("*.c")):
        variable, _, table = path.read_text().partition("\nconst struct target target_")[2].partition(" = {")
        fields = {field: re.search(rf"\.{field} =\s*[\"&](?:target_)?([^\",]*)", table) for field in ("name", "base")}
        attribute = re.search(r'\.attribute =\s*"([^"]*)"', table)
        tables[variable] = {**{k: v and v[1] for k, v in fields.items()}, "attribute": attribute and tuple(attribute[1].split(","))}

    def features(table):
        return table["attribute"] or (features(tables[table["base"]]) if table["base"] else ())
    return {table["name"]: features(table) for table in tables.values()}


@dataclass(frozen=True)
class Emulator:
    cc: str
    run: tuple


# other machines whose code runs here all the same, by what a target's `machine` begins with; test/unit/processor.h has the same table
EMULATORS = {"defined(__aarch64__)": Emulator("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-cpu", "max"))}


def read_machines():
    """{name: the emulator of its kind of machine}"""
    tables = [path.read_text() for path in (ROOT / "codegen" / "targets").glob("*.c")]
    kinds = {}
    for text in tables:
        variable, _, table = text.partition("\nconst struct target target_")[2].partition(" = {")
        fields = {f: re.search(rf'\.{f} =\s*["&](?:target_)?([^",]*)', table) for f in ("name", "base", "machine")}
        kinds[variable] = {k: v and v[1] for k, v in fields.items()}

    def machine(kind):
        return kind["machine"] or (machine(kinds[kind["base"]]) if kind["base"] else "")
    return {kind["name"]: emulator for kind in kinds.values() for start, emulator in EMULATORS.items() if machine(kind).startswith(start)}


FEATURES = read_features()
MACHINES = read_machines()
NEEDS = read_targets()
current = None                          # the pytest item that runs


def emulator(name):
    """what stands for a target of another kind of machine; None: it is of this one"""
    return MACHINES.get(name)


def missing(name):
    """the first feature that this processor lacks of a target, or of this one feature, or the tool that stands for another; or None"""
    if name in MACHINES:
        return next((tool for tool in (MACHINES[name].cc, MACHINES[name].run[0]) if not shutil.which(tool)), None)
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
