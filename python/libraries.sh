#!/bin/sh
# SPDX-License-Identifier: MIT
# What the compiler for another system stands on: zlib and protobuf-c, from Debian's source packages, compiled here; include/,
# lib/ and their licences in a folder.
#
#       libraries.sh FOLDER CC AR               as in build/windows "python3 -m ziglang cc -target x86_64-windows-gnu" "python3 -m ziglang ar"
#
# Sources are fetched once, into $SOURCES (FOLDER/source).
set -e
cc=$2 ar=$3
mkdir -p "$1/include/protobuf-c" "$1/lib"
folder=$(cd "$1" && pwd)
sources=${SOURCES:-$folder/source}
mkdir -p "$sources/lists/partial"
sources=$(cd "$sources" && pwd)
cd "$sources"
if [ ! -d zlib ] || [ ! -d protobuf-c ]; then
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" > sources.list
        apt="apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList=$PWD/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$PWD/lists"
        $apt update
        $apt source --download-only protobuf-c zlib
        for name in protobuf-c zlib; do
                rm -rf $name $name.new
                mkdir $name.new
                tar -xf ${name}_*.orig.tar.* -C $name.new --strip-components=1
                mv $name.new $name
        done
fi
cp protobuf-c/protobuf-c/protobuf-c.h "$folder/include/protobuf-c"
cp zlib/zlib.h zlib/zconf.h "$folder/include"
cp protobuf-c/LICENSE "$folder/LICENSE.protobuf-c"
cp zlib/LICENSE "$folder/LICENSE.zlib"
objects=$folder/lib/objects
rm -rf "$objects"
mkdir "$objects"
# what reads compressed models; of zlib not what reads and writes files. (Its header takes macOS for a system without fdopen.)
for file in adler32 crc32 inffast inflate inftrees uncompr zutil compress deflate trees; do
        $cc -O2 -w -Dfdopen=fdopen -Izlib -c zlib/$file.c -o "$objects/$file.o"
done
$cc -O2 -Iprotobuf-c -c protobuf-c/protobuf-c/protobuf-c.c -o "$objects/protobuf-c.o"
rm -f "$folder/lib/libprotobuf-c.a" "$folder/lib/libz.a"
$ar rcs "$folder/lib/libprotobuf-c.a" "$objects/protobuf-c.o"
rm "$objects/protobuf-c.o"
$ar rcs "$folder/lib/libz.a" "$objects"/*.o
rm -r "$objects"
