#!/usr/bin/env bash
# packaging_test.sh CASE: muster as its users get it, through each of its doors.
#
# CTest runs one case per test. Set by tests/integration/CMakeLists.txt: SOURCE and BUILD, muster's
# trees; CXX, the compiler; WORK, a directory of our own. The case `install` fills WORK/installed,
# which the others use.
set -euo pipefail

readonly installed=$WORK/installed consumer=$SOURCE/tests/integration/consumer
readonly greeting="consumer of muster"

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# fresh NAME: an empty directory for one case.
fresh() {
  rm -rf "${WORK:?}/$1"
  mkdir -p "$WORK/$1"
  echo "$WORK/$1"
}

# cmake_at DIR ARGS...: configures in DIR with the compiler and generator under test.
cmake_at() { cmake -G Ninja -B "$1" -DCMAKE_CXX_COMPILER="$CXX" "${@:2}"; }

# expect_greeting PROGRAM
expect_greeting() { "$1" | grep "$greeting" || fail "$1 did not say \"$greeting\""; }

# expect_failure PATTERN COMMAND...: the command fails and says why.
expect_failure() {
  local output
  if output=$("${@:2}" 2>&1); then fail "succeeded, should not: ${*:2}"; fi
  # CMake wraps long messages; join the lines before looking.
  tr -s ' \n' ' ' <<<"$output" | grep -E "$1" || fail "no message like \"$1\" in: $output"
}

install() {
  rm -rf "$installed"
  cmake --install "$BUILD" --prefix "$installed"
}

# The tree is moved first: nothing in it may remember where it was installed.
find_package() {
  local dir
  dir=$(fresh find_package)
  cp -r "$installed" "$dir/moved"
  cmake_at "$dir/build" -S "$consumer" -DCMAKE_PREFIX_PATH="$dir/moved"
  cmake --build "$dir/build"
  expect_greeting "$dir/build/consumer"
}

# find_with COMPONENT PROGRAM: a user's project finds the component and builds the program with it.
find_with() {
  local dir
  dir=$(fresh "find_$1")
  cp -r "$installed" "$dir/moved"
  cmake_at "$dir/build" -S "$consumer" -DCMAKE_PREFIX_PATH="$dir/moved" "-DCOMPONENTS=threads;$1"
  cmake --build "$dir/build" --target "$2"
  expect_greeting "$dir/build/$2"
}

find_export() { find_with export exporter; }
find_jobs() { find_with jobs jobber; }
find_processes() { find_with processes commander; }

# pkg_config_with COMPONENT PROGRAM: the same by pkg-config.
pkg_config_with() {
  local dir flags
  dir=$(fresh "pkg_config_$1")
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$installed" -name "muster-$1.pc")")
  read -ra flags <<<"$(pkg-config --cflags --libs "muster-$1")"
  "$CXX" "$consumer/$2.cpp" "${flags[@]}" -std=c++20 -o "$dir/$2"
  expect_greeting "$dir/$2"
}

pkg_config_export() { pkg_config_with export exporter; }
pkg_config_jobs() { pkg_config_with jobs jobber; }
pkg_config_processes() { pkg_config_with processes commander; }

pkg_config() {
  local dir flags
  dir=$(fresh pkg_config)
  cp -r "$installed" "$dir/moved"
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$dir/moved" -name muster-threads.pc)")
  read -ra flags <<<"$(pkg-config --cflags --libs muster-threads)"
  flags+=(-std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
  "$CXX" "$consumer/main.cpp" "${flags[@]}" -o "$dir/consumer"
  expect_greeting "$dir/consumer"

  # The parking lot is in sync and throws an error of base: links only if the order is right.
  cat >"$dir/order.cpp" <<'TXT'
#include <muster/sync/parking_lot.hpp>
int main() { muster::ParkingLot lot(1); }
TXT
  "$CXX" "$dir/order.cpp" "${flags[@]}" -o "$dir/order"
}

add_subdirectory() {
  local dir
  dir=$(fresh add_subdirectory)
  cmake_at "$dir" -S "${consumer}_subdirectory" -DMUSTER_SOURCE="$SOURCE"
  cmake --build "$dir"
  expect_greeting "$dir/consumer"
}

missing_component() {
  local dir
  dir=$(fresh missing_component)
  expect_failure 'no component "teleport" in this muster; available: threads' \
    cmake_at "$dir" -S "$consumer" -DCMAKE_PREFIX_PATH="$installed" -DCOMPONENTS=teleport
}

wrong_version() {
  local dir
  dir=$(fresh wrong_version)
  cat >"$dir/CMakeLists.txt" <<'TXT'
cmake_minimum_required(VERSION 3.25)
project(wrong_version LANGUAGES CXX)
find_package(muster 0.0 REQUIRED COMPONENTS threads)
TXT
  expect_failure 'compatible with requested version "0.0"' \
    cmake_at "$dir/build" -S "$dir" -DCMAKE_PREFIX_PATH="$installed"
}

unknown_with() {
  local dir
  dir=$(fresh unknown_with)
  expect_failure 'MUSTER_WITH names "teleport"; known components: threads' \
    cmake_at "$dir" -S "$SOURCE" -DMUSTER_WITH=teleport
}

# A shared build exports what MUSTER_API marks: all else is compiled hidden, and what is left is
# muster's. Weak instances of the standard library's templates are exempt: its headers make them
# visible whatever we say. It also does without whatever only other components need.
shared_library() {
  local dir library exported strays
  dir=$(fresh shared_library)
  cmake_at "$dir/muster" -S "$SOURCE" -DBUILD_SHARED_LIBS=ON -DMUSTER_WITH=threads \
    -DMUSTER_TESTS=OFF -DMUSTER_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp=ON
  cmake --build "$dir/muster"
  cmake --install "$dir/muster" --prefix "$dir/installed"

  strays=$(find "$dir/installed" -name '*export*')
  if [[ -n $strays ]]; then fail "installed without its component: $strays"; fi
  strays=$(grep '"command"' "$dir/muster/compile_commands.json" | grep -v -e -fvisibility=hidden || true)
  if [[ -n $strays ]]; then fail "compiled with visible symbols: $strays"; fi
  for library in "$dir"/installed/lib*/libmuster_*.so; do
    exported=$(nm -D --defined-only "$library" | cut -d ' ' -f 2-)
    strays=$(grep -vE '^. _Z(N|NK|TVN|TIN|TSN)6muster|^[WVu] _Z[A-Z]*(S[tabsiod]|9__gnu_cxx)' \
      <<<"$exported" || true)
    if [[ -n $strays ]]; then fail "$library exports what is not muster's: $(c++filt <<<"$strays")"; fi
    grep -q 6muster <<<"$exported" || fail "$library exports nothing"
  done

  cmake_at "$dir/consumer" -S "$consumer" -DCMAKE_PREFIX_PATH="$dir/installed"
  cmake --build "$dir/consumer"
  expect_greeting "$dir/consumer/consumer"
}

"$1"
