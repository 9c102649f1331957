#!/bin/sh
# SPDX-License-Identifier: MIT
# One wheel: dnncc-VERSION-py3-none-TAG.whl. Run in the root of the source tree.
#
#       wheel.sh FOLDER PROGRAM LIBRARIES LICENCES PIP [OUT]      TAG: $DNNCC_WHEEL_TAG, or as setup.py finds it; OUT: build/dist
#
# FOLDER is made anew; PROGRAM is the compiler, with protobuf-c and zlib inside, whose licences are LICENCES/LICENSE.*; LIBRARIES are
# the runtime that models share, and what compiles them through LLVM: those that the system has.
set -e
folder=$1 program=$2 libraries=$3 licences=$4 pip=$5
rm -rf "$folder"
mkdir -p "$folder/dnncc/bin" "$folder/dnncc/runtime"
cp python/pyproject.toml python/setup.py README.md LICENSE "$licences"/LICENSE.* "$folder"
cp python/dnncc/*.py python/dnncc/py.typed "$folder/dnncc"
sed -n 's/.*DNNCC_VERSION "\(.*\)"/\1/p' compiler/options.h > "$folder/VERSION"
cp runtime/dnncc_runtime.h runtime/threads.c runtime/memory.c runtime/trace.c "$folder/dnncc/runtime"
for library in $libraries; do
        cp "$library" "$folder/dnncc/runtime"
done
cp "$program" "$folder/dnncc/bin"
"$pip" wheel -q --disable-pip-version-check --no-deps -w "${6:-build/dist}" "$folder"
