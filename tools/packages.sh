# packages.sh: which Debian packages each command of ./dev needs, and how they get onto the machine.
#
# Sourced by ./dev. Nothing here ever removes a package, and when all are there apt is not touched.
# shellcheck shell=bash

readonly packages_build=(g++-12 cmake ninja-build)
readonly packages_export=(prometheus-cpp-dev libboost1.81-dev libboost-json1.81-dev)
readonly packages_jobs=(libboost1.81-dev libboost-json1.81-dev libsqlite3-dev libxxhash-dev
  libhowardhinnant-date-dev tzdata libpq-dev)
readonly packages_postgres=(postgresql-15 pgbouncer)  # servers of the tests' own
packages_node=(nodejs)
# Some packages of Node bring npm along, and do not tolerate Debian's beside them.
if ! command -v npm >/dev/null; then packages_node+=(npm); fi
readonly packages_test=("${packages_build[@]}" "${packages_export[@]}" "${packages_jobs[@]}"
  "${packages_postgres[@]}"
  libgtest-dev libgmock-dev libboost-context1.81-dev clang-19 libclang-rt-19-dev spin gcc python3
  pkgconf git prometheus
  lld-19 libc++-19-dev-wasm32  # the ring as a WebAssembly module
  "${packages_node[@]}")
# shellcheck disable=SC2034  # used by ./dev
readonly packages_check=("${packages_test[@]}" clang-format-19 clang-tidy-19)
# shellcheck disable=SC2034  # used by ./dev
readonly packages_bench=("${packages_build[@]}" "${packages_jobs[@]}" libtbb-dev
  libconcurrentqueue-dev libthread-pool-dev
  "${packages_node[@]}" python3  # peers of the process pool
  redis-server beanstalkd postgresql-15  # and of the job pool
  gnuplot-nox  # pictures beside a report
  git)  # a report names its commit
# shellcheck disable=SC2034  # used by torture.sh
readonly packages_torture=("${packages_test[@]}" g++-12-aarch64-linux-gnu qemu-user)

# A program or header by which a package is known where there is no dpkg.
readonly -A sign_of=(
  [g++-12]=g++-12 [cmake]=cmake [ninja-build]=ninja [gcc]=cc [git]=git [python3]=python3 [spin]=spin
  [pkgconf]=pkg-config [clang-19]=clang++-19 [clang-format-19]=clang-format-19
  [clang-tidy-19]=clang-tidy-19 [libclang-rt-19-dev]="" [libgtest-dev]=gtest/gtest.h
  [libgmock-dev]=gmock/gmock.h [libboost-context1.81-dev]=boost/context/fiber.hpp
  [libboost1.81-dev]=boost/lockfree/queue.hpp [libtbb-dev]=tbb/concurrent_queue.h
  [libconcurrentqueue-dev]=concurrentqueue/concurrentqueue.h
  [libthread-pool-dev]=thread_pool/thread_pool.hpp [gnuplot-nox]=gnuplot
  [prometheus-cpp-dev]=prometheus/text_serializer.h [libboost-json1.81-dev]=""
  [libsqlite3-dev]=sqlite3.h [libxxhash-dev]=xxhash.h [libhowardhinnant-date-dev]=date/tz.h
  [libpq-dev]=postgresql/libpq-fe.h [postgresql-15]="" [pgbouncer]=pgbouncer
  [tzdata]="" [prometheus]=prometheus [nodejs]=node [npm]=npm
  [redis-server]=redis-server [beanstalkd]=beanstalkd
  [lld-19]=wasm-ld-19 [libc++-19-dev-wasm32]=wasm32-wasi/c++/v1/atomic
  [g++-12-aarch64-linux-gnu]=aarch64-linux-gnu-g++-12 [qemu-user]=qemu-aarch64
)

# need PACKAGE...: returns when all are installed, otherwise stops with what to do.
need() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    need_without_apt "$@"
    return
  fi
  local installed package missing=()
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
  done
  if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi
}

install_packages() {
  local apt=(apt-get -o DPkg::Lock::Timeout=300)
  local install=(install --no-install-recommends --no-remove)
  local as_root=() log=build/apt.log
  if [[ $(id -u) != 0 ]]; then
    if ! sudo_works; then
      printf 'dev: missing Debian packages; install them with\n\n' >&2
      printf '  sudo apt-get update\n  sudo apt-get %s\n\n' "${install[*]} $*" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C)

  say "install Debian packages: $*"
  "${as_root[@]}" "${apt[@]}" -qq update ||
    echo "dev: apt-get update failed; going on with the package lists that are here" >&2
  mkdir -p build
  if ! "${as_root[@]}" "${apt[@]}" "${install[@]}" -y "$@" 2>&1 | tee "$log"; then
    if grep -q 'remove is disabled' "$log"; then
      die "to install $* apt would have to remove the packages named above; nothing was changed"
    fi
    die "apt-get could not install $* (these are the names in Debian 12)"
  fi
}

# Whether sudo can be used: without asking, or by asking a person who is there.
sudo_works() {
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null || { interactive && sudo -v; }
}

need_without_apt() {
  local package sign missing=()
  for package in "$@"; do
    sign=${sign_of[$package]}
    case $sign in
      "") ;;
      */*) [[ -e /usr/include/$sign || -e /usr/local/include/$sign ]] || missing+=("<$sign>") ;;
      *) command -v "$sign" >/dev/null || missing+=("$sign") ;;
    esac
  done
  if ((${#missing[@]} > 0)); then
    die "there is no apt here to install with; missing: ${missing[*]}"
  fi
}
