#!/bin/sh
# SPDX-License-Identifier: MIT
# A Debian package of what `make install` installs: build/dnncc_VERSION_ARCHITECTURE.deb. lintian has nothing to say about it.
#
#       deb.sh ROOT VERSION FOLDER      ROOT: where it is installed under /usr; FOLDER: where the package goes
#
# Which packages it depends on, dpkg-shlibdeps reads off the programs. Its maintainer is DEBFULLNAME <DEBEMAIL>. The date of the change is that of the last commit, so that the
# package has the same bytes every time. LLVM is loaded when it is wanted, so no program is linked to it; which version, the program has the name of.
set -eu
root=$1 version=$2 folder=$3
email=${DEBEMAIL:-$(git config user.email || true)}
who="${DEBFULLNAME:-The dnncc authors} <${email:-dnncc@example.org}>"
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
SOURCE_DATE_EPOCH=$(date -d "$date" +%s)
export SOURCE_DATE_EPOCH
doc=$root/usr/share/doc/dnncc

strip --strip-unneeded --remove-section=.comment "$root"/usr/bin/*
find "$root/usr/lib" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
rm -f "$doc/LICENSE"                    # the file `copyright` has it
# Debian's places
if [ -d "$root/usr/share/zsh/site-functions" ]; then
        mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
fi
machine=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
mkdir -p "$root/usr/lib/$machine"
mv "$root/usr/lib/pkgconfig" "$root/usr/lib/$machine"
{
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: dnncc\n\nFiles: *\n'
        sed -n 's/^Copyright (c) /Copyright: /p' LICENSE
        printf 'License: Expat\n'
        sed -e '1,/^Copyright/d' LICENSE | sed -e '/./,$!d' -e 's/^$/./' -e 's/^/ /'
} > "$doc/copyright"
printf 'dnncc (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" "$who" "$date" | gzip -9n > "$doc/changelog.gz"
install -m 644 CHANGELOG.md "$doc"
find "$root/usr/share/man" -type f -exec gzip -9nf {} +
find "$root" -type d -exec chmod 755 {} +

mkdir -p "$root/DEBIAN" "$folder/debian"
printf 'Source: dnncc\n\nPackage: dnncc\nArchitecture: any\n' > "$folder/debian/control"
depends=$(cd "$folder" && dpkg-shlibdeps -O "$root"/usr/bin/* | sed 's/^shlibs:Depends=//')
llvm=$(grep -ao 'libLLVM-[0-9]*\.so' "$root/usr/bin/dnncc" | sed -n 's/^libLLVM-\(.*\)\.so$/libllvm\1/p;q')
cat > "$root/DEBIAN/control" <<END
Package: dnncc
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: $who
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Depends: $depends
Suggests: gcc-arm-none-eabi, qemu-system-arm${llvm:+, $llvm}
Section: devel
Priority: optional
Description: ahead-of-time compiler of neural networks to C
 dnncc reads a network (ONNX) and writes it as one C source file and a
 header: C99 for any machine, vectors for x86, Arm and RISC-V, integers
 for microcontrollers, CUDA C, and instruction streams of accelerators.
 The code allocates nothing and needs no library.
END
(cd "$root" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k2 > DEBIAN/md5sums)
rm -rf "$folder/debian"
dpkg-deb --root-owner-group --build "$root" "$folder" | sed 's/^/deb: /'
