#!/bin/sh
# Fetches clang as WebAssembly, with which the laboratory in a browser compiles a user's own C file:
# `clang.sh DIRECTORY`. It is YoWASP's build (ISC), whose LLVM is under Apache 2.0 with exceptions.
set -eu

PACKAGE=yowasp-clang
VERSION=22.0.0-git20542-10
SHA256=6230ea1afa9691fa065935cf68c01642ff9b31c183fe8ac64cdfda025df06009

echo "fetching clang for the laboratory in a browser (27 MB)"
rm -rf "$1.new"
mkdir -p "$1.new"
npm pack --silent --pack-destination "$1.new" "@yowasp/clang@$VERSION" >/dev/null
echo "$SHA256  $1.new/$PACKAGE-$VERSION.tgz" | sha256sum --check --quiet
tar -xzf "$1.new/$PACKAGE-$VERSION.tgz" -C "$1.new" --strip-components=2 package/gen
rm "$1.new/$PACKAGE-$VERSION.tgz"
# It holds headers and libraries of systems, which a user's file does not include.
head -c 10240 /dev/zero >"$1.new/llvm-resources.tar"
# Small on any file server; the page unpacks it.
gzip -9 -k "$1.new"/*.wasm
cat >"$1.new/SOURCE" <<END
clang and its linker of LLVM 22 as WebAssembly: the npm package @yowasp/clang $VERSION, unchanged but
packed, without the headers of systems. LLVM: Apache 2.0 (LICENSE) with the exceptions of
https://llvm.org/LICENSE.txt; the package: ISC, Catherine <whitequark@whitequark.org>.
END
cp LICENSES/Apache-2.0.txt "$1.new/LICENSE"
rm -rf "$1"
mv "$1.new" "$1"
