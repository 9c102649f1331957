# SPDX-License-Identifier: MIT
"""A command's processor time and peak memory, by a small process in between: what memory a process had before exec counts as its own."""
import json
import subprocess
import sys

BETWEEN = """
import json, os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
"""


def run(command):
    """(exit code, standard error, seconds, MB)"""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", BETWEEN, *map(str, command)], capture_output=True, text=True, check=True)
    code, seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return code, done.stderr, seconds, megabytes
