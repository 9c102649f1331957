#!/bin/sh
# SPDX-License-Identifier: MIT
# cortex_m55.sh PROGRAM ARGUMENT..: runs a program that cortex_m55.ld has linked on QEMU's board; files are those of this folder.
program=$1
said=enable=on,target=native
for argument; do
        said=$said,arg=$argument
done
exec qemu-system-arm -M mps3-an547 -nographic -monitor none -serial none -semihosting-config "$said" -kernel "$program"
