#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the inner loops on ARM without an ARM machine: compiles them for NEON and for AVX2, and prints how many
instructions, and by llvm-mca's models how many cycles, they take for a label of a pixel.

  scripts/arm64.sh sysroot build/arm64-sysroot
  python3 benchmarks/arm_loops.py build/arm64-sysroot --mca llvm-mca-19

llvm-mca 14 has one model for all of these ARM processors. Branches are left out: each block of a loop counts once. The
last column is cycles on Neoverse N1 over twice those on Skylake, whose vectors are twice as wide."""

import argparse
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ITERATIONS = 200
ANY = "."
BYTES, WORDS, FLOATS = (16, 32), (8, 16), (4, 8)


class Loop(NamedTuple):
    name: str
    source: str
    function: str  # a pattern of its demangled name; LANES = bytes of a vector
    holds: str  # a pattern of instructions; of the innermost loops that hold one, the one with most vectors is taken
    labels: tuple  # labels of pixels that an iteration makes: NEON, AVX2


BP, SGM, CENSUS, BLOCK, TILED_BP = (
    f"matchers/{room}/" for room in ("belief_propagation", "semi_global", "census", "block", "tiled_belief_propagation")
)
MINIMUM, LOOKUP, SWEEPER = "umin|vpminub", "tbl|vpshufb", r"Sweeper<unsigned short.*::match_row"
LOOPS = [
    Loop("bp: messages", BP + "message_kernels", "update_row_as<.*<unsigned char>", ANY, BYTES),
    Loop("bp: decision", BP + "message_kernels", "decide_row_as<.*<unsigned char>", MINIMUM, BYTES),
    Loop("bp: messages of candidates", BP + "candidate_kernels", "update_tile_here", ANY, BYTES),
    Loop("bp: costs of candidates", BP + "candidate_kernels", "sum_strip_of<4>", LOOKUP, BYTES),
    Loop("costs by gray levels", "data_cost/row_costs", r"simple_costs<.*\)0, false.*\)4>", LOOKUP, BYTES),
    Loop("costs by census", "data_cost/row_costs", r"simple_costs<.*\)1, false.*\)3>", LOOKUP, BYTES),
    Loop("sgm: paths, 8 bits", SGM + "path_kernels", r"aggregate_as<(unsigned char, ){2}.*\)2, true", ANY, BYTES),
    Loop("sgm: paths, 16 bits", SGM + "path_kernels", r"aggregate_as<unsigned short, .*\)2, true", ANY, WORDS),
    Loop("census: costs", CENSUS + "search_kernels", r"find_costs(_of_rows<10, true>)?\(", ANY, BYTES),
    Loop("census: sums of 15 columns", CENSUS + "search_kernels", r"Tile::sum_rows\(", ANY, (16, 16)),
    Loop("census: signatures", CENSUS + "transform_kernels", "describe<unsigned char>", "cmhi|vpcmp", BYTES),
    Loop("block: sweep", BLOCK + "sweep_kernels", SWEEPER, r"\t(uabd|abs|vpabsw)", WORDS),
    Loop("block: right map", BLOCK + "sweep_kernels", SWEEPER, r"\t(bsl|bit|bif|vpblendvb)", WORDS),
    Loop("tiled-bp: messages", TILED_BP + "message_kernels", "char, LANESul.*::sweep_and_turn_with", MINIMUM, BYTES),
    Loop("remap: bilinear", "remap/remap_kernels", "bilinear_row<1>", "sqrdmulh|vpmulhrsw", WORDS),
    Loop("median of 5 × 5", "refine/median", "filter_rows<5>", ANY, FLOATS),
]


class Target(NamedTuple):
    compiler: tuple
    triple: str
    vector_bytes: int
    processors: tuple
    vector: re.Pattern  # instructions with vectors
    jump: re.Pattern  # to the first group


def find_targets(sysroot):
    neon = ("aarch64-linux-gnu-g++", "-march=armv8-a", f"--sysroot={Path(sysroot).resolve()}")
    avx2 = ("g++", "-march=haswell", "-maes", "-mpclmul", "-mtune=generic")
    cores = ("cortex-a72", "cortex-a76", "neoverse-n1")
    vector, jump = re.compile(r"\b[bhsdqv]\d+\b"), re.compile(r"\t(?:b\.?\w\w|b|cbn?z|tbn?z)\t.*?(\.L\w+)$")
    return (
        Target(neon, "aarch64-linux-gnu", 16, cores, vector, jump),
        Target(avx2, "x86_64-linux-gnu", 32, ("skylake",), re.compile("%[xy]mm"), re.compile(r"\tj\w+\t(\.L\w+)$")),
    )


def run(command, text=None):
    return subprocess.run(command, input=text, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_functions(target, source):
    """Pairs of a function's demangled name and its lines."""
    options = "-std=c++20 -O3 -DNDEBUG -ffp-contract=off -DHWY_COMPILE_ONLY_STATIC -Iinclude -Isrc -S -o -".split()
    assembly = run([*target.compiler, *options, f"src/{source}.cpp"])
    functions = []
    for line, readable in zip(assembly.split("\n"), run(["c++filt"], assembly).split("\n")):
        if re.match(r"[A-Za-z_][\w.]*:$", line):
            functions.append((readable, []))
        elif functions and re.match(r"\.L\w+:|\t[a-z]", line):
            # GCC writes bytes of NEON in 64 bits.
            functions[-1][1].append(line.replace("0xffffffffffffff", "0x"))
    return functions


def find_loops(target, lines, holds):
    """The innermost loops that hold such an instruction with vectors, as lists of instructions."""
    labels, loops = {}, []
    for end, line in enumerate(lines):
        jump = target.jump.match(line)
        if line.startswith("."):
            labels[line.rstrip(":")] = end
        elif jump and jump[1] in labels:
            inside = [line for line in lines[labels[jump[1]] : end] if line.startswith("\t")]
            marked = any(re.search(holds, line) and target.vector.search(line) for line in inside)
            if marked and not any(re.match(r"\t(call|bl|ret)\b", line) for line in inside):
                loops.append((labels[jump[1]], end))
    for begin, end in loops:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops):
            yield [line for line in lines[begin:end] if line.startswith("\t") and not target.jump.match(line)]


def find_loop(target, loop, functions):
    function = re.compile(loop.function.replace("LANES", str(target.vector_bytes)))
    chosen = [lines for name, lines in functions if function.search(name)]
    found = [body for lines in chosen for body in find_loops(target, lines, loop.holds)]
    return max(found, key=lambda body: sum(bool(target.vector.search(line)) for line in body))


def count_cycles(mca, target, processor, body):
    command = [mca, f"-mtriple={target.triple}", f"-mcpu={processor}", f"-iterations={ITERATIONS}"]
    return int(re.search(r"Total Cycles:\s+(\d+)", run(command, "\n".join(body) + "\n"))[1]) / ITERATIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sysroot", help="ARM's libraries, with Highway")
    parser.add_argument("--mca", default="llvm-mca", help="the program llvm-mca, of LLVM 19")
    parser.add_argument("--only", default=ANY, metavar="PATTERN", help="names of loops")
    arguments = parser.parse_args()
    targets = find_targets(arguments.sysroot)
    loops = [loop for loop in LOOPS if re.search(arguments.only, loop.name)]
    jobs = list(dict.fromkeys((target, loop.source) for loop in loops for target in targets))
    with ThreadPoolExecutor(2) as pool:
        compiled = dict(zip(jobs, pool.map(lambda job: compile_functions(*job), jobs)))
    processors = [processor for target in targets for processor in target.processors]
    print("| loop | instructions, NEON | AVX2 | cycles,", " | ".join(processors), "| N1 / 2 Skylake |")
    print("|---" + "|--:" * (len(processors) + 3) + "|")
    for loop in loops:
        instructions, cycles = [], {}
        for target, labels in zip(targets, loop.labels):
            body = find_loop(target, loop, compiled[target, loop.source])
            instructions.append(len(body) / labels)
            for processor in target.processors:
                cycles[processor] = count_cycles(arguments.mca, target, processor, body) / labels
        figures = (*instructions, *cycles.values(), cycles["neoverse-n1"] / cycles["skylake"] / 2)
        print(f"| {loop.name} |", " | ".join(f"{figure:.2f}" for figure in figures), "|")


if __name__ == "__main__":
    main()
