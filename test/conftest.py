# SPDX-License-Identifier: MIT
"""Tiers: which tests run (--tier). And what every run says at its end: what was left out because of this processor
(support/processor.py), and with --slowest=N which tests took the most processor time, which others on the machine do not change."""
import collections
import pathlib
import resource
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import processor  # noqa: E402

SECONDS = "processor seconds"           # a property of a test's report


TIERS = {
    "quick": "one case of each test that is not marked slow",
    "check": "all but what is marked long",
    "all": "everything",
}


def pytest_addoption(parser):
    parser.addoption("--tier", choices=TIERS, default="check", help="; ".join(f"{name}: {what}" for name, what in TIERS.items()))
    parser.addoption("--slowest", type=int, default=0, metavar="N", help="list the N tests that took the most processor time")


# ---- which run ----

def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes seconds; not in the tier quick")
    config.addinivalue_line("markers", "long: takes minutes, or adds cases of a kind that others sample; in the tier all alone")


def runs(item, tier, seen):
    """seen: names of tests of which a case runs"""
    if tier == "all":
        return True
    if tier == "check" or item.get_closest_marker("long"):
        return not item.get_closest_marker("long")
    name = item.nodeid.partition("[")[0]
    if item.get_closest_marker("slow") or name in seen:
        return False
    seen.add(name)
    return True


def pytest_collection_modifyitems(config, items):
    """A test that is named on the command line runs, whatever its tier."""
    if any("::" in argument for argument in config.args):
        return
    seen = set()
    kept = {item: runs(item, config.getoption("--tier"), seen) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not kept[item]])
    items[:] = [item for item in items if kept[item]]


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
