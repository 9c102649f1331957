# SPDX-License-Identifier: MIT
"""Processes that run one model each, taking turns: only the one whose turn it is may run, the others are stopped (SIGSTOP), so that no
engine's spinning threads take cores from another. Beside every turn stands what other processes of the machine did meanwhile."""
import contextlib
import json
import os
import resource
import select
import signal
import statistics
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")
QUIET, DISTURBED = 0.08, 0.15           # cores that others keep busy: before a turn the gate opens; a turn is repeated


class EngineError(Exception):
    pass


def busy_seconds():
    """of all cores since boot: user, nice, system, interrupts, and what the host took away"""
    with open("/proc/stat") as file:
        fields = [int(f) for f in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICK


def own_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Gate:
    """Opens when the machine is idle, or when patience (seconds of waiting, for all its turns together) is used up."""

    def __init__(self, patience):
        self.patience, self.gave_up = patience, 0

    def wait(self, sample=0.15):
        while True:
            start, busy = time.monotonic(), busy_seconds()
            time.sleep(sample)
            elapsed = time.monotonic() - start
            if (busy_seconds() - busy) / elapsed <= QUIET:
                return
            if self.patience <= 0:
                self.gave_up += 1
                return
            self.patience -= elapsed


@contextlib.contextmanager
def unlimited():
    """Under a limit of processor time, as tests set it, the clock of what a process used ticks as its scheduler does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


class Engine:
    def __init__(self, name, command, environment=None, timeout=600):
        self.name, self.blocks, self.timeout, self.buffer = name, [], timeout, b""
        self.errors = tempfile.TemporaryFile()
        with unlimited():
            self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self.errors, env=environment)
        try:
            self.ready = self.answer()
            self.process.send_signal(signal.SIGSTOP)
        except EngineError:
            self.close()
            raise

    def answer(self):
        """one line of JSON from the process"""
        end = time.monotonic() + self.timeout
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise EngineError(f"no answer within {self.timeout} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                self.process.wait()
                self.errors.seek(0)
                lines = self.errors.read().decode(errors="replace").strip().splitlines() or [f"exit {self.process.returncode}"]
                raise EngineError(lines[-1][:300])
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, command):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{command}\n".encode())
            self.process.stdin.flush()
            return self.answer()
        except BrokenPipeError:
            return self.answer()                # raises, with the reason
        finally:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGSTOP)

    def turn(self, seconds, clock="wall"):
        start, busy, own = time.monotonic(), busy_seconds(), own_seconds(self.process.pid)
        times = self.ask(f"run {seconds} {clock}")
        others = busy_seconds() - busy - (own_seconds(self.process.pid) - own)
        return {"median": statistics.median(times), "min": min(times), "runs": len(times),
                "others": round(max(0.0, others / (time.monotonic() - start)), 3)}

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            file.close()


def take_turns(engines, rounds, seconds, gate, clock="wall"):
    """Every engine's .blocks get one entry a round. A disturbed turn is repeated twice at most, while patience lasts."""
    for _ in range(rounds):
        for engine in list(engines):
            try:
                for _ in range(3):
                    gate.wait()
                    block = engine.turn(seconds, clock)
                    if block["others"] <= DISTURBED or gate.patience <= 0:
                        break
                engine.blocks.append(block)
            except EngineError as error:
                engine.failed = str(error)
                engines.remove(engine)
                engine.close()
