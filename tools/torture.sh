# torture.sh: `./dev torture`, the checks that take long. Sourced by ./dev.
#
# CTest's time limits are for every-day runs; what runs longer on purpose is started without CTest.
# shellcheck shell=bash disable=SC2154  # the package lists stand in packages.sh

readonly tortures=(models explore stress fuzz jobs arm64 fresh-clone)

command_torture() {
  local what=${1:-all} chosen=() start
  case " ${tortures[*]} all " in
    *" $what "*) ;;
    *) die "torture knows ${tortures[*]} and all, not \"$what\"" ;;
  esac
  if [[ $what == all ]]; then chosen=("${tortures[@]}"); else chosen=("$what"); fi
  need "${packages_torture[@]}"
  for what in "${chosen[@]}"; do
    start=$SECONDS
    say "torture: $what"
    "torture_${what/-/_}"
    say "torture: $what took $((SECONDS - start)) s"
  done
}

# run_programs PRESET FOLDER: every test program built from tests/FOLDER, one after the other.
run_programs() {
  local program programs
  mapfile -t programs < <(find "build/$1/tests/$2" -name CMakeFiles -prune -o \
    -type f -executable -print | sort)
  if ((${#programs[@]} == 0)); then die "no test program in build/$1/tests/$2"; fi
  for program in "${programs[@]}"; do
    say "$program"
    with_symbols "$program" || die "$program failed"
  done
}

# The Promela models, at sizes that take minutes instead of seconds.
torture_models() { tests/model/promela/check --long; }

# More interleavings of the real source than an every-day run has time for.
torture_explore() {
  build dev tests/model/all
  MUSTER_TORTURE=1 run_programs dev model
}

# A minute for each stress test instead of a second or two.
torture_stress() {
  local preset
  for preset in tsan asan; do
    build "$preset" tests/stress/all
    MUSTER_STRESS_SECONDS=60 run_programs "$preset" stress
  done
}

# A while for each fuzzer, from what earlier runs have found on; MUSTER_FUZZ_SECONDS makes it longer.
torture_fuzz() {
  local seeds entry found log
  build fuzz tests/fuzz/all
  for seeds in tests/fuzz/seeds/*; do
    entry=$(basename "$seeds")
    found=build/fuzz/found/$entry log=build/fuzz/$entry.log
    mkdir -p "$found"
    say "fuzz $entry"
    quietly "$log" with_symbols "build/fuzz/tests/fuzz/fuzz_$entry" -timeout=10 \
      -max_total_time="${MUSTER_FUZZ_SECONDS:-20}" -artifact_prefix="build/fuzz/$entry-" \
      "$found" "$seeds"
    grep '^Done' "$log"
  done
}

# Thousands of kills of those who run jobs, and a database that is used for minutes. MUSTER_KILLS and
# MUSTER_SOAK_SECONDS choose how many and how long; each round of kills has another seed.
torture_jobs() {
  local kills=${MUSTER_KILLS:-2000}
  build dev job_kill_test job_node_kill_test job_soak_test
  say "$kills kills of processes with SQLite"
  MUSTER_KILLS=$kills build/dev/tests/crash/job_kill_test || die "job_kill_test failed"
  say "$((kills / 5)) kills of nodes with PostgreSQL, and of the server"
  MUSTER_KILLS=$((kills / 5)) MUSTER_SEED=$RANDOM build/dev/tests/crash/job_node_kill_test ||
    die "job_node_kill_test failed"
  say "a long use of one database"
  MUSTER_SOAK_SECONDS=${MUSTER_SOAK_SECONDS:-300} \
    build/dev/tests/integration/postgres/job_soak_test || die "job_soak_test failed"
}

# The library, the examples and the tests on the other processor; qemu runs what the cross-compiler
# made.
torture_arm64() {
  local dir=build/arm64 gtest=$PWD/build/arm64-googletest
  local toolchain=$PWD/cmake/toolchain-aarch64.cmake
  say "arm64: build GoogleTest from its Debian sources"
  quietly "$gtest/configure.log" cmake -G Ninja -S /usr/src/googletest -B "$gtest" \
    --toolchain "$toolchain" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$gtest/installed"
  quietly "$gtest/build.log" cmake --build "$gtest" --target install
  say "arm64: build"
  quietly "$dir/configure.log" cmake -G Ninja -S . -B "$dir" --toolchain "$toolchain" \
    -DARM64_PREFIX="$gtest/installed" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_EXTENSIONS=OFF \
    -DMUSTER_WERROR=ON
  quietly "$dir/build.log" cmake --build "$dir"
  run_tests arm64 -LE '^(stress|model|integration)$'
  summary
}

# What a newcomer sees: README's two commands, each in a clone of its own.
torture_fresh_clone() {
  local dir command
  dir=$(mktemp -d)
  if [[ -n $(git status --porcelain) ]]; then
    echo "note: what is not committed is not in the clone"
  fi
  for command in run test; do
    git clone --quiet . "$dir/$command"
    say "fresh clone: ./dev $command"
    "$dir/$command/dev" "$command" || die "./dev $command failed in $dir/$command"
  done
  rm -rf "$dir"
}
