#!/bin/sh
# install.sh FOLDER: puts the peers into FOLDER, with the packages they need unless they are there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cp "$here"/*.mjs .
if cmp -s "$here/package-lock.json" installed.json; then exit 0; fi
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" .
npm ci --ignore-scripts --fetch-timeout=60000
cp package-lock.json installed.json
