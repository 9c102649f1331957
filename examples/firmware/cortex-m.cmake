# SPDX-License-Identifier: MIT
# A toolchain file of CMake for Cortex-M; CPU is the core.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)       # nothing is linked before there is a linker script
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CPU)
set(CPU cortex-m3 CACHE STRING "the core, as -mcpu and --target have it")
set(CMAKE_C_FLAGS_INIT "-mcpu=${CPU} -mthumb -std=c99 -O2 -ffunction-sections -fdata-sections")
