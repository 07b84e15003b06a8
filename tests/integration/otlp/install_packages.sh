#!/bin/sh
# install_packages.sh SOURCE FOLDER: puts the npm packages that SOURCE locks into FOLDER, unless they
# are there.
set -eu
mkdir -p "$2"
cd "$2"
if cmp -s "$1/package-lock.json" installed.json; then exit 0; fi
cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" .
npm ci --ignore-scripts --fetch-timeout=60000
cp package-lock.json installed.json
