# SPDX-License-Identifier: MIT
"""Every rule of rules.def is broken by hand, and found where it is broken; hazards between stages and within instructions."""
import dataclasses
import re

import pytest

from vta_convolution import Layer, Stream, file_of
from vta_tool import GEMM, LOAD, VTA, WGT, assembled, broken, dnncc, vta
from vta_minimal import LINES, changed, program

NOTHING = {}


def checked(folder, lines, **more):
    text = program(lines, **more)
    assembled(text, folder)
    done = dnncc.run([VTA, "check", folder / "p.vta"])
    assert done.returncode in (0, 3), done.stderr
    assert (done.returncode == 3) == bool(done.stderr)
    return broken(done.stderr)


def test_minimal(tmp_path):
    assert checked(tmp_path, LINES) == set()
    vta("run", tmp_path / "p.vta")
    vta("run", tmp_path / "p.vta", "--seed=5", "--poison=0")


# rule: (changes to the minimal program, the instruction that breaks it, what else the program has)
BROKEN = {
    "instruction": ({6: "bytes 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"}, 6, NOTHING),
    "memory": ({3: "load.out sram=5 dram=@y size=1,1 stride=1"}, 3, NOTHING),
    "flags": ({0: LINES[0] + " push_prev"}, 0, NOTHING),
    "sram": ({0: "load.inp sram=2047 dram=@x size=1,2 stride=1"}, 0, NOTHING),
    "dram": ({0: "load.inp sram=3 dram=0xff0 size=1,1 stride=1"}, 0, NOTHING),
    "micro_op": ({4: "gemm pop_prev uop=0,8193 loop=1,1"}, 4, NOTHING),
    "index": ({4: "gemm pop_prev uop=0,1 loop=1,2044 dst=0,1"}, 4, NOTHING),
    "read": ({0: "load.inp sram=3 dram=@code size=1,1 stride=1"}, 0, NOTHING),
    "written": ({8: "store.out pop_prev push_prev sram=5 dram=@x size=1,1 stride=1"}, 8, NOTHING),
    "taken": ({1: "load.wgt sram=2 dram=@w size=1,1 stride=1"}, 4, NOTHING),
    "tokens": ({1: LINES[1] + 255 * "\nload.inp push_next", 9: LINES[9] + 255 * "\nload.uop pop_prev"}, 256, NOTHING),
    "left": ({9: "load.uop"}, 10, NOTHING),
    "race": ({4: "gemm uop=0,1 loop=1,1", 9: "load.uop pop_prev pop_next"}, 4, NOTHING),
    "pending": ({9: "load.uop pop_next\nload.inp"}, 11, NOTHING),
    "undefined": ({0: "load.inp sram=4 dram=@x size=1,1 stride=1"}, 4, NOTHING),
    "stale": ({5: "", 6: "", 7: "gemm reset push_next uop=1,2 loop=1,1"}, 6, NOTHING),
    "fixed": ({}, 2, {"uops_kind": "scratch"}),
    "acc8": ({3: "load.acc8 sram=5 dram=@x size=1,1 stride=1"}, 3, NOTHING),
    "no_x": ({9: "load.uop pop_next size=1,0 pad=0,0,1,0"}, 9, NOTHING),
    "no_y": ({0: LINES[0] + "\nload.inp sram=8 dram=@x size=0,1 pad=1,0,0,0"}, 1, NOTHING),
    "wgt_pad": ({1: LINES[1] + " pad=0,1,0,0"}, 1, NOTHING),
    "uop_row": ({2: "load.uop dram=@uops size=2,1 stride=1"}, 2, NOTHING),
    "store_pad": ({8: LINES[8] + " pad=0,0,0,1"}, 8, NOTHING),
    "loops": ({6: "alu.min uop=1,2 loop=1,0 imm=127"}, 6, NOTHING),
    "resident": ({2: LINES[2] + "\nload.uop sram=2048 dram=@uops size=1,2 stride=2", 6: "alu.min uop=2049,2050 loop=1,1 imm=127"}, 7, NOTHING),
    "shift": ({5: "alu.shr uop=1,2 loop=1,1 imm=16"}, 5, NOTHING),
    "shift_tensor": ({5: "alu.shr uop=1,2 loop=1,1"}, 5, NOTHING),
    "mul": ({5: "alu.mul uop=1,2 loop=1,1 imm=4"}, 5, NOTHING),
    "same": ({5: "alu.shr uop=1,2 loop=1,1 src=1,0 imm=4"}, 5, NOTHING),
    "no_wgt": ({}, 5, {"uops": ("5 3 2", "5 5 1")}),
    "distance": ({5: "alu.shr uop=1,2 loop=1,2 imm=4"}, 5, NOTHING),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_rule(tmp_path, rule):
    changes, number, more = BROKEN[rule]
    assert (number, rule) in checked(tmp_path, changed(changes), **more)


def test_every_rule_has_a_case():
    table = (dnncc.ROOT / "codegen/vta/vta_rules.def").read_text()
    assert set(re.findall(r"^RULE\((\w+),", table, re.M)) == set(BROKEN)


@pytest.mark.parametrize("rule", [rule for rule, must in re.findall(r"^RULE\((\w+), +(\d)", (dnncc.ROOT / "codegen/vta/vta_rules.def").read_text(), re.M)
                                  if must == "1"])
def test_refused_by_the_simulator(tmp_path, rule):
    changes, number, more = BROKEN[rule]
    assembled(program(changed(changes), **more), tmp_path)
    said = vta("run", tmp_path / "p.vta", code=3)
    assert f"instruction {number} " in said


def test_rows_over_two_segments(tmp_path):
    """a row may go on in the segment behind, where that may be read, too"""
    lines = changed({0: "load.inp sram=3 dram=@x size=1,17 stride=17"})
    whole = program(lines).replace("input x 0x6000 {\n", "input x 0x6000 {\n        " + "00 " * 240 + "\n").replace("expect y", "expect y_of_zeros")
    assembled(whole, tmp_path)
    vta("check", tmp_path / "p.vta")
    assembled(program(lines), tmp_path)
    assert broken(vta("check", tmp_path / "p.vta", code=3)) == {(0, "read")}


@pytest.mark.parametrize("change, said", [
    ({1: "load.wgt sram=2 dram=@w size=1,1 stride=1"}, "instruction 4 (gemm) waits for a token that never comes"),
    ({9: "load.uop"}, "1 tokens from store to compute are left at the end")])
def test_tokens_at_the_end(tmp_path, change, said):
    assembled(program(changed(change)), tmp_path)
    assert said in vta("run", tmp_path / "p.vta", code=3)
    if "waits" in said:
        assert said in vta("cycles", tmp_path / "p.vta", code=3)


# ---- steps of one instruction ----

@pytest.mark.parametrize("uops, found", [(1, True), (2, True), (3, False), (4, False)])
def test_distance_of_sums(tmp_path, uops, found):
    """as many sums in turn, twice: an equal one at that distance"""
    lists = [f"{10 + k} 3 2" for k in range(uops)]
    lines = changed({2: f"load.uop dram=@uops size=1,{2 + uops} stride={2 + uops}",
                     3: f"{LINES[3]}\ngemm reset uop=2,{2 + uops} loop=1,1\ngemm pop_prev uop=2,{2 + uops} loop=1,2", 4: "gemm uop=0,1 loop=1,1"})
    assert checked(tmp_path, lines, uops=("5 3 2", "5 5 0", *lists)) == ({(5, "distance")} if found else set())


@pytest.mark.parametrize("behind, found", [(1, True), (2, True), (3, False)])
def test_distance_of_a_tensor(tmp_path, behind, found):
    """a step adds what an earlier one wrote"""
    lines = changed({2: "load.uop dram=@uops size=1,6 stride=6", 3: f"{LINES[3]}\nload.acc sram=20 dram=@bias size=8,1\nalu.add uop=2,6 loop=1,1"})
    chain = [f"{23 + k} {23 + k - behind} 0" for k in range(4)]
    assert checked(tmp_path, lines, uops=("5 3 2", "5 5 0", *chain)) == ({(5, "distance")} if found else set())


# ---- stages ----

LAYER = Layer(14, 64, 64, 3, 1, 1, (4, 7, 7))


def checked_stream(folder, change):
    stream = Stream(LAYER)
    change(stream.instructions)
    (folder / "p.vta").write_bytes(file_of(stream))
    done = dnncc.run([VTA, "check", folder / "p.vta"])
    return broken(done.stderr), stream.instructions


def numbers(instructions, test):
    return [k for k, i in enumerate(instructions) if test(i)]


def is_product(i):
    return i.opcode == GEMM and not i.reset


def is_weights(i):
    return i.opcode == LOAD and i.memory == WGT


def test_stream_without_hazards(tmp_path):
    assert checked_stream(tmp_path, lambda instructions: None)[0] == set()


def test_missing_token(tmp_path):
    """the third loads do not wait for the first product"""
    def change(instructions):
        instructions[numbers(instructions, is_product)[0]].flags.discard("push_prev")
        load = numbers(instructions, is_weights)[2] - 1
        instructions[load].flags.discard("pop_next")
    found, instructions = checked_stream(tmp_path, change)
    load = numbers(instructions, is_weights)[2]
    assert {(load - 1, "race"), (load, "race")} <= found and {rule for _, rule in found} == {"race"}


def test_wrong_half(tmp_path):
    """weights of the second step are loaded over those that the first product reads"""
    def change(instructions):
        instructions[numbers(instructions, is_weights)[1]].sram = 0
    found, instructions = checked_stream(tmp_path, change)
    assert (numbers(instructions, is_weights)[1], "race") in found
    assert {rule for _, rule in found} == {"race", "undefined"}         # the other half is read, and holds nothing


def test_wrong_half_of_sums(tmp_path):
    """the second tile is reset where the first is stored from"""
    def change(instructions):
        resets = numbers(instructions, lambda i: i.reset)
        instructions[resets[1]] = dataclasses.replace(instructions[resets[1]], uops=instructions[resets[0]].uops)
    found, instructions = checked_stream(tmp_path, change)
    assert (numbers(instructions, lambda i: i.reset)[1], "race") in found


BETWEEN = "load.uop pop_next push_prev"


@pytest.mark.parametrize("path", [True, False])
def test_memory_that_another_layer_stored(tmp_path, path):
    """a load of what was stored wants a path store, compute, load"""
    load = ("load.inp pop_next" if path else "load.inp") + " push_next sram=9 dram=@y size=1,1 stride=1"
    end = "" if path else "load.uop pop_next\n"
    lines = changed({9: (BETWEEN + "\n" if path else "") + f"{load}\n{end}load.uop pop_prev"})
    at = 10 if path else 9
    assert checked(tmp_path, lines) == (set() if path else {(at, "race")})


def test_race_shows(tmp_path):
    """what check finds, some order of stages does wrongly"""
    changes, number, _ = BROKEN["race"]
    assembled(program(changed(changes)), tmp_path)
    codes = {dnncc.run([VTA, "run", tmp_path / "p.vta", f"--seed={seed}"]).returncode for seed in range(8)}
    assert codes == {0, 70}


def test_most(tmp_path):
    lines = changed({5: "\n".join(["alu.shr uop=1,2 loop=1,1 imm=16"] * 30)})
    assembled(program(lines), tmp_path)
    said = vta("check", tmp_path / "p.vta", "--most=3", code=3)
    assert said.count("instruction ") == 3 and "and 27 more" in said
