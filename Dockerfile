# SPDX-License-Identifier: MIT
# dnncc with gcc, its runtime and packages for CMake and pkg-config:
#     docker build -t dnncc .
#     docker run --rm -v "$PWD:/work" dnncc model.onnx -o model.c
# One file of 5 MB and nothing else (--bench and --tune want a compiler): docker build --target alone -t dnncc .
FROM debian:12-slim AS build
WORKDIR /source
COPY . .
RUN sh packages.sh build && make -j"$(nproc)" all static && make install DESTDIR=/installed && strip build/dnncc-static /installed/usr/local/bin/*

FROM scratch AS alone
COPY --from=build /source/build/dnncc-static /dnncc
WORKDIR /work
ENTRYPOINT ["/dnncc"]

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libprotobuf-c1 zlib1g && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/ /
WORKDIR /work
ENTRYPOINT ["dnncc"]
