# toolchain-aarch64.cmake: cross-build for 64-bit Arm with Debian's g++-12-aarch64-linux-gnu.
#
# CTest runs the built programs under qemu-user. `./dev torture arm64` uses this file.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)

# Libraries and packages come from the Arm tree or from ARM64_PREFIX, never from the host's.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ARM64_PREFIX)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu ${ARM64_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
