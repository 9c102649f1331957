#!/bin/sh
# SPDX-License-Identifier: MIT
# What the compiler for Windows stands on: include/ and lib/ in a folder, of zlib as Debian has it for x86_64-w64-mingw32
# (libz-mingw-w64-dev) and protobuf-c from Debian's source package, compiled here.
#
#       libraries.sh FOLDER CC AR               as in build/windows "python3 -m ziglang cc -target x86_64-windows-gnu" "python3 -m ziglang ar"
set -e
folder=$1 cc=$2 ar=$3 zlib=/usr/x86_64-w64-mingw32
mkdir -p "$folder/include/protobuf-c" "$folder/lib" "$folder/source/lists/partial"
folder=$(cd "$folder" && pwd)
cp $zlib/include/zlib.h $zlib/include/zconf.h "$folder/include"
cp $zlib/lib/libz.a "$folder/lib"
cd "$folder/source"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" > sources.list
apt="apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList=$PWD/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$PWD/lists"
$apt update
$apt source --download-only protobuf-c
rm -rf protobuf-c
mkdir protobuf-c
tar -xzf protobuf-c_*.orig.tar.gz -C protobuf-c --strip-components=1
cp protobuf-c/protobuf-c/protobuf-c.h "$folder/include/protobuf-c"
$cc -O2 -Iprotobuf-c -c protobuf-c/protobuf-c/protobuf-c.c -o protobuf-c.o
rm -f "$folder/lib/libprotobuf-c.a"
$ar rcs "$folder/lib/libprotobuf-c.a" protobuf-c.o
