#!/bin/sh
# Records the answers of the server's own engine: make golden-projections.
#
# The engine is a development tool from npm and comes as a library for glibc
# 2.38 or newer. On an older system unpack the packages libc6, libgcc-s1 and
# libstdc++6 of a newer one somewhere, and name the directory with its loader:
#
#   make golden-projections LIBC=/somewhere/usr/lib/x86_64-linux-gnu
set -eu
here=$(cd "$(dirname "$0")" && pwd)
js=$(cd "$here/../.." && pwd)
work=$(cd "$js/../.." && pwd)/build/projections
mkdir -p "$work"
cp "$here/package.json" "$here/package-lock.json" "$here/record.mjs" "$work/"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

node=$(node -p process.execPath)
run() {
  if [ -n "${LIBC:-}" ]; then
    "$LIBC/ld-linux-x86-64.so.2" --library-path "$LIBC" "$node" "$@"
  else
    "$node" "$@"
  fi
}

# The library is loaded by the first session.
cat >load.mjs <<'EOF'
import { createProjection } from "@kurrent/projections-testing";
createProjection("fromAll().when({})", { engineVersion: 1 }).test().dispose();
EOF
if ! run load.mjs 2>load.log; then
  grep '^Error' load.log >&2 || cat load.log >&2
  echo 'golden-projections: the engine does not load here; it needs glibc 2.38 or newer' >&2
  echo "  ($0 says how to lend it one). Nothing was recorded, the golden files are as they were." >&2
  exit 1
fi
run record.mjs "$js"
