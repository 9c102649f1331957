# SPDX-License-Identifier: MIT
"""Tiers: which tests run (--tier). And what every run says at its end: what was left out because of this processor
(support/processor.py), and with --slowest=N which tests took the most processor time, which others on the machine do not change."""
import collections
import hashlib
import os
import pathlib
import resource
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import processor  # noqa: E402

# A make that a test starts has none of the options of the make that started the tests: its -j would be a warning.
for name in "MAKEFLAGS", "MFLAGS":
    os.environ.pop(name, None)

SECONDS = "processor seconds"           # a property of a test's report


TIERS = {
    "quick": "one case of each test that is not marked slow",
    "check": "all but what is marked long, and a sample where a mark says so",
    "all": "everything",
}


def pytest_addoption(parser):
    parser.addoption("--tier", choices=TIERS, default="check", help="; ".join(f"{name}: {what}" for name, what in TIERS.items()))
    parser.addoption("--slowest", type=int, default=0, metavar="N", help="list the N tests that took the most processor time")


# ---- the same numbers whichever tests ran before ----

HERE = pathlib.Path(__file__).resolve().parent
generators, looked_at = {}, set()       # of the tests' modules: (module, name) and its state when they had been read


@pytest.fixture(autouse=True)
def same_numbers():
    for name in sys.modules.keys() - looked_at:
        looked_at.add(name)
        module = sys.modules[name]
        if str(getattr(module, "__file__", None) or "").startswith(str(HERE)):
            generators.update({(name, k): (g, g.bit_generator.state) for k, g in vars(module).items() if isinstance(g, np.random.Generator)})
    for generator, state in generators.values():
        generator.bit_generator.state = state


# ---- which run ----

@pytest.fixture
def some(request):
    """some(cases, n): of the cases that a test goes through itself one of n, the first among them; all in the tier all, and where the test is
    named on the command line"""
    whole = request.config.getoption("--tier") == "all" or is_named(request.config)
    return lambda cases, n: cases if whole else cases[::n]


def is_named(config):
    return any("::" in argument for argument in config.args)


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes seconds; not in the tier quick")
    config.addinivalue_line("markers", "long: takes minutes, or adds cases of a kind that others sample; in the tier all alone")
    config.addinivalue_line("markers", "sample(n, each=True): one of n cases, and each value of each parameter once but where each=False, in the tier check; all in the tier all")


def name_of(item):
    return item.nodeid.partition("[")[0]


def sampled(cases, n, each=True):
    """Of the cases of a test one of n, the same ones each time. each: where it has several parametrize marks there are at least so many that
    each of their values occurs: every operator on some target, every target with some operator."""
    parameters = [mark.args[0] for mark in cases[0].iter_markers("parametrize") if each]
    names = [p.split(",")[0].strip() if isinstance(p, str) else p[0] for p in parameters] if len(parameters) > 1 else []
    order = sorted(cases, key=lambda item: hashlib.sha256(item.nodeid.rpartition("/")[2].encode()).digest())
    seen, kept = set(), set()
    for item in order:
        values = {(name, repr(item.callspec.params[name])) for name in names}
        if values - seen:
            seen |= values
            kept.add(item)
    for item in order:
        if len(kept) * n >= len(cases):
            break
        kept.add(item)
    return kept


def in_sample(items):
    """all items but those that a mark leaves to the tier all"""
    groups = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("long"):
            groups[name_of(item)].append(item)
    marks = {name: cases[0].get_closest_marker("sample") for name, cases in groups.items()}
    left = {item for name, cases in groups.items() for item in set(cases) - sampled(cases, *marks[name].args, **marks[name].kwargs)}
    return [item for item in items if item not in left]


def runs(item, tier, seen):
    """seen: names of tests of which a case runs"""
    if tier == "all":
        return True
    if tier == "check" or item.get_closest_marker("long"):
        return not item.get_closest_marker("long")
    if item.get_closest_marker("slow") or name_of(item) in seen:
        return False
    seen.add(name_of(item))
    return True


def pytest_collection_modifyitems(config, items):
    """A test that is named on the command line runs, whatever its tier."""
    if is_named(config):
        return
    seen, tier = set(), config.getoption("--tier")
    kept = [item for item in (items if tier == "all" else in_sample(items)) if runs(item, tier, seen)]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


# ---- what each test takes ----

def spent():
    """processor seconds of this process and of all that it has waited for"""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    processor.current, item.began = item, spent()
    try:
        return (yield)
    finally:
        processor.current = None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    item.user_properties.append((SECONDS, spent() - item.began))


# ---- at the end ----

def left_out(reports):
    """{feature: cases}"""
    count = collections.Counter()
    for report in reports:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(processor.LACKS):
                count[reason.removeprefix(processor.LACKS)] += 1
        elif report.when == "call":
            count.update(value for key, value in report.user_properties if key == processor.LEFT_OUT)
    return count


def left_out_line(count):
    parts = ", ".join(f"{n} need {feature}" for feature, n in sorted(count.items(), key=lambda c: (-c[1], c[0])))
    return f"left out because of this processor: {sum(count.values())} cases ({parts})"


def pytest_terminal_summary(terminalreporter, config):
    reports = [r for kind in ("passed", "failed", "skipped") for r in terminalreporter.stats.get(kind, [])]
    if count := left_out(reports):
        terminalreporter.write_line(left_out_line(count))
    if most := config.getoption("--slowest"):
        every = {r.nodeid: dict(r.user_properties).get(SECONDS, 0) for kind in terminalreporter.stats.values() for r in kind
                 if getattr(r, "when", None) == "teardown"}
        terminalreporter.write_sep("=", f"{sum(every.values()):.0f} s of processor time; the most")
        for nodeid, seconds in sorted(every.items(), key=lambda e: -e[1])[:most]:
            terminalreporter.write_line(f"{seconds:8.2f} s {nodeid}")
