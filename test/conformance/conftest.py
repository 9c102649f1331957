# SPDX-License-Identifier: MIT
"""Scores a conformance run per class, writes docs/conformance.md (--write-score) and holds the score.

test/conformance/passing.txt lists every test that passed when it was last blessed: each of them must pass again.
"""
import collections
import pathlib
import re

import dnncc_backend
import pytest

HERE = pathlib.Path(__file__).resolve().parent
PASSING = HERE / "passing.txt"


def pytest_addoption(parser):
    parser.addoption("--write-score", default=None, help="write the score as Markdown to this file")
    parser.addoption("--bless", action="store_true", help="make the list of passing tests anew")


def pytest_collection_modifyitems(config, items):
    """None for CUDA; in the tier quick one of twenty; sanitizers and clang for some or for all."""
    whole = config.getoption("--tier") == "all" or config.getoption("--bless") or config.getoption("--write-score")
    dnncc_backend.strictly = 1 if whole else dnncc_backend.STRICTLY
    own = [i for i in items if "::OnnxBackend" in i.nodeid and not i.name.endswith("_cuda")]
    runs = set(own[::20] if config.getoption("--tier") == "quick" else own)
    gone = [i for i in items if "::OnnxBackend" in i.nodeid and i not in runs]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [i for i in items if "::OnnxBackend" not in i.nodeid or i in runs]


def split(nodeid):
    _, group, name = nodeid.split("::")
    return group.replace("OnnxBackend", "").replace("ModelTest", ""), name


def reason(report):
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.replace("Skipped: ", "")


def pytest_terminal_summary(terminalreporter, config):
    if hasattr(config, "workerinput"):
        return
    stats, rows, missing = terminalreporter.stats, collections.defaultdict(collections.Counter), collections.Counter()
    passed = set()
    for outcome in ("passed", "skipped", "failed"):
        for report in stats.get(outcome, []):
            if "::OnnxBackend" not in report.nodeid:
                continue
            group, name = split(report.nodeid)
            if any(re.search(pattern, name) for pattern in dnncc_backend.APART):
                rows[group]["apart"] += 1
                continue
            rows[group][outcome] += 1
            if outcome == "passed":
                passed.add(name)
            if outcome == "skipped":
                for name in re.findall(r"\(([\w.:]+), (?:domain[^,]*, )?opset \d+\)", reason(report)):
                    missing[name] += 1
    if not rows:
        return
    lines = ["# ONNX conformance", "",
             "The backend tests of onnx 1.22.0 through dnncc, in strict mode: every graph input stays a run-time argument.",
             "`make conformance` makes this page. Unsupported: exit code 4 and a message that names what is missing. Apart: the expected values are",
             "not followed, for the reasons below.", "",
             "| class | pass | unsupported | apart | fail |", "|---|---|---|---|---|"]
    total = collections.Counter()
    for group in sorted(rows):
        total.update(rows[group])
        lines.append(f"| {group} | {rows[group]['passed']} | {rows[group]['skipped']} | {rows[group]['apart']} | {rows[group]['failed']} |")
    lines.append(f"| **all** | **{total['passed']}** | **{total['skipped']}** | **{total['apart']}** | **{total['failed']}** |")
    score = len(lines)
    lines += ["", "[test_variants.py](../test/conformance/test_variants.py) goes on from these tests: it changes a node's attributes, element types, optional operands,",
              "version, constants, shapes and numbers, and compares what onnx.checker takes with onnxruntime and the reference evaluator; of com.microsoft from the",
              "cases of test/operators. Its table FOLLOWED_NOT says where they are not followed, and why.",
              "[test_schemas.py](../test/conformance/test_schemas.py) makes models of one node that the operators' schemas allow, of operators without such tests, too:",
              "each is compiled or refused in words."]
    lines += ["", "## Tests apart", "", "| tests | why |", "|---|---|"]
    lines += [f"| `{pattern}` | {why} |".replace("(cubic|linear)", "{cubic,linear}") for pattern, why in dnncc_backend.APART.items()]
    lines += ["", "## What the unsupported tests ask for", "", "| operator | nodes |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(missing.items(), key=lambda m: (-m[1], m[0]))]
    terminalreporter.write_line("\n".join(lines[:score]))
    if config.getoption("--write-score"):
        pathlib.Path(config.getoption("--write-score")).write_text("\n".join(lines) + "\n")
    if config.getoption("--bless"):
        PASSING.write_text("\n".join(sorted(passed)) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    config = session.config
    if hasattr(config, "workerinput") or config.getoption("--bless") or not PASSING.exists():
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    ran = {split(r.nodeid)[1]: outcome for outcome in ("passed", "skipped", "failed")
           for r in reporter.stats.get(outcome, []) if "::OnnxBackend" in r.nodeid}
    without = {split(r.nodeid)[1] for r in reporter.stats.get("skipped", []) if "is not built" in str(r.longrepr)}
    lost = [n for n in PASSING.read_text().split() if ran.get(n, "passed") != "passed" and n not in without]
    if lost:
        reporter.write_line(f"{len(lost)} tests that passed before do not any more: {' '.join(lost[:20])}", red=True)
        session.exitstatus = 1
