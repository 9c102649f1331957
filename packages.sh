#!/bin/sh
# SPDX-License-Identifier: MIT
# The packages of Debian by purpose, each with what shows that it is there. What is missing is installed, by root where apt-get
# is; elsewhere it is named, and the exit code is 1.
#
#       packages.sh PURPOSE ...                 LOG: the file that keeps what apt-get says
LOG=${LOG:-/dev/null}
CC=${CC:-cc}

packages() {
    cat <<'END'
build     gcc                       header   stdio.h
build     libc6-dev                 header   stdio.h
build     make                      command  make
build     protobuf-c-compiler       command  protoc-c
build     libprotobuf-c-dev         header   protobuf-c/protobuf-c.h
build     zlib1g-dev                header   zlib.h
python    python3                   command  python3
python    python3-venv              module   ensurepip
check     libcmocka-dev             header   cmocka.h
check     g++                       command  g++
check     clang                     command  clang
check     libclang-rt-14-dev        sanitize clang
check     strace                    command  strace
check     llvm-14-dev               file     /usr/lib/llvm-14/include/llvm-c/LLJIT.h
check     pkg-config                command  pkg-config
check     cmake                     command  cmake
check     ninja-build               command  ninja
check     meson                     command  meson
check     locales                   file     /usr/share/i18n/locales/de_DE
check     gcc-aarch64-linux-gnu     command  aarch64-linux-gnu-gcc
check     libc6-dev-arm64-cross     file     /usr/aarch64-linux-gnu/include/stdio.h
check     gcc-arm-linux-gnueabihf   command  arm-linux-gnueabihf-gcc
check     libc6-dev-armhf-cross     file     /usr/arm-linux-gnueabihf/include/stdio.h
check     qemu-user                 command  qemu-aarch64
check     tcc                       command  tcc
check     gcc-arm-none-eabi         command  arm-none-eabi-gcc
check     libnewlib-arm-none-eabi   file     /usr/lib/arm-none-eabi/newlib/libc.a
check     qemu-system-arm           command  qemu-system-arm
boards    cppcheck                  command  cppcheck
boards    frama-c-base              command  frama-c
boards    gcc-riscv64-unknown-elf   command  riscv64-unknown-elf-gcc
boards    qemu-system-misc          command  qemu-system-riscv32
boards    gcc-mips-linux-gnu        command  mips-linux-gnu-gcc
boards    libc6-dev-mips-cross      file     /usr/mips-linux-gnu/include/stdio.h
boards    gcc-s390x-linux-gnu       command  s390x-linux-gnu-gcc
boards    libc6-dev-s390x-cross     file     /usr/s390x-linux-gnu/include/stdio.h
image     libjpeg-dev               header   jpeglib.h
image     libpng-dev                header   png.h
image     libtiff-dev               header   tiffio.h
image     libwebp-dev               header   webp/decode.h
image     libopenjp2-7-dev          file     /usr/include/openjpeg-2.5/openjpeg.h
blas      libopenblas-dev          header   cblas.h
mpi       openmpi-bin               command  mpirun
mpi       libopenmpi-dev            command  mpicc
page      chromium                  command  chromium
voice     espeak-ng                 command  espeak-ng
riscv     clang-16                  command  clang-16
riscv     llvm-16                   command  llvm-objdump-16
riscv     gcc-riscv64-linux-gnu     command  riscv64-linux-gnu-gcc
riscv     libc6-dev-riscv64-cross   file     /usr/riscv64-linux-gnu/include/stdio.h
systems   wine                      command  wine
systems   wine64                    file     /usr/lib/wine/wine64
systems   bzip2                     command  bzip2
systems   debootstrap               command  debootstrap
systems   lintian                   command  lintian
systems   dpkg-dev                  command  dpkg-shlibdeps
systems   zsh                       command  zsh
systems   fish                      command  fish
END
}

# is_there HOW WHAT
is_there() {
    case $1 in
    command)  command -v "$2" ;;
    file)     [ -e "$2" ] ;;
    header)   echo "#include <$2>" | $CC -E - ;;
    module)   python3 -c "import $2" ;;
    sanitize) echo "int main(void) { return 0; }" | "$2" -fsanitize=address -x c - -o /dev/null ;;
    esac >/dev/null 2>&1
}

# missing PURPOSE ...: the packages, in one line
missing() {
    packages | while read -r purpose package how what; do
        case " $* " in
        *" $purpose "*) is_there "$how" "$what" || printf '%s ' "$package" ;;
        esac
    done
}

# by the lists of packages that there are; by new ones where these are too old
install() {
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    export DEBIAN_FRONTEND LC_ALL
    set -- apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"
    { "$@" || { apt-get update -qq && "$@"; }; } >"$LOG" 2>&1
}

wanted=$(missing "$@")
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $wanted"
    # shellcheck disable=SC2086
    install $wanted || { tail -n 20 "$LOG"; echo "apt-get could not install $wanted"; exit 1; }
else
    echo "install first: $wanted"
    exit 1
fi
