# SPDX-License-Identifier: MIT
"""What checkers say of generated C: gcc, clang and tcc no warning, cppcheck's MISRA addon nothing but what docs/misra.md gives a reason for."""
import pathlib
import re
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import boards  # noqa: E402
import dnncc  # noqa: E402

WARNINGS = ("-std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wdouble-promotion -Wshadow -Wcast-qual -Wcast-align -Wfloat-equal -Wvla "
            "-Wstrict-prototypes -Wmissing-prototypes -Wundef -Werror").split()
OWN = {"gcc": ["-Wstack-usage=2048", "-Wlogical-op", "-Wduplicated-branches"], "clang": ["-Wno-missing-prototypes"], "tcc": []}
MODELS = [*boards.EXAMPLES, *(pytest.param(m, marks=pytest.mark.long) for m in boards.SMALL)]
PAGE = dnncc.ROOT / "docs" / "misra.md"


def generate(model, folder, *options):
    path = boards.model_path(model)
    if not path.exists():
        pytest.skip(f"no {path}")
    boards.generate(path, "generic", list(options), folder)


@pytest.mark.parametrize("options", [[], ["--requantize=integer", "--hook", "--selftest", "--region=dtcm=8K,8,.dtcm"]])
@pytest.mark.parametrize("cc", OWN)
@pytest.mark.parametrize("model", MODELS)
def test_no_warning(model, cc, options, tmp_path):
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    generate(model, tmp_path, *options)
    (tmp_path / "use.c").write_text('#include "model.h"\nMODEL_WORKSPACE_DEFINE(workspace);\nvoid *use(void);\nvoid *use(void) { return workspace; }\n')
    for name in ("model", "use"):
        done = dnncc.run([cc, *WARNINGS, *OWN[cc], "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o"])
        assert done.returncode == 0 and not done.stderr, done.stderr[:2000]


def rules_of_page():
    """{rule: category}"""
    return dict(re.findall(r"^\| (\d+\.\d+) \| (\w+) \|", PAGE.read_text(), re.M))


def test_page():
    """there is no deviation from a required rule"""
    rules = rules_of_page()
    assert set(rules.values()) == {"advisory"} and len(rules) > 8


# A -D has cppcheck look at one configuration, not at all that macros which nobody defines would make. It reads no header of the system, and
# takes INT32_MIN for a name of any type.
@pytest.mark.long
@pytest.mark.parametrize("options, one", [
    ([], []), (["--hook"], ["-DNDEBUG"]), (["--requantize=integer"], ["-DINT32_MIN=(-2147483647-1)"]),
    *(([f"--target={t}"], ["-DMODEL_PORTABLE", "-DINT32_MIN=(-2147483647-1)"]) for t in ("cortex-m0", "cortex-m3", "cortex-m4", "riscv32"))])
@pytest.mark.parametrize("model", [*boards.EXAMPLES, "mnist_cnn", "dscnn_kws_int8", "micro_kws_qdq", "resnet8_int8"])
def test_misra(model, options, one, tmp_path):
    if not shutil.which("cppcheck"):
        pytest.skip("no cppcheck")
    generate(model, tmp_path, *options)
    done = dnncc.run(["cppcheck", "--addon=misra", "--std=c99", "-q", *one, "--template={id} {file}:{line}", "model.c"], timeout=600, cwd=tmp_path)
    found = re.findall(r"^misra-c2012-(\S+) (\S+)", done.stderr, re.M)
    assert found, "the addon said nothing at all"
    wrong = [(rule, place) for rule, place in found if rule not in rules_of_page()]
    assert not wrong, wrong[:20]
