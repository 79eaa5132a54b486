#!/bin/bash
# Builds the simulator as WebAssembly: python/ackclock/explore/static/lab/engine.wasm. `make lab`
# calls it.
# Rust's standard library for wasm32 is that of `rustup target add wasm32-unknown-unknown` or of
# Debian's libstd-rust-dev-wasm32. Where there is neither, Debian's sources of it are unpacked into
# target/rust-web, with the compiler that they belong to; nothing of the system is touched.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS # without it rustc does not look for make's jobs

TARGET=wasm32-unknown-unknown
UNPACKED=$PWD/target/rust-web
WRITTEN=python/ackclock/explore/static/lab/engine.wasm

has_library() { [ -d "$(rustc --print target-libdir --target $TARGET 2>/dev/null)" ]; }

unpack() {
	echo "unpacking Rust's sources from Debian's packages into target/rust-web (120 MB to fetch)"
	rm -rf "$UNPACKED.new"
	mkdir -p "$UNPACKED.new/packages"
	(
		cd "$UNPACKED.new/packages"
		# Of what rustc-web depends on, its own libraries: the rest is on every system.
		own=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
			--no-replaces --no-enhances rustc-web | grep -E '^lib(std-rust-web|llvm)' | sort -u)
		apt-get -o APT::Sandbox::User=root download -qq rustc-web rust-web-src $own
		for package in *.deb; do dpkg -x "$package" ..; done
	)
	rm -rf "$UNPACKED.new/packages"
	cat >"$UNPACKED.new/rustc" <<-'END'
		#!/bin/sh
		here=$(dirname "$0")
		LD_LIBRARY_PATH=$(echo "$here"/usr/lib/*-linux-gnu) exec "$here/usr/bin/rustc" "$@"
	END
	chmod +x "$UNPACKED.new/rustc"
	mv "$UNPACKED.new" "$UNPACKED"
}

# The linker of a Rust that has none for wasm32: rustup's, or that of Debian's package lld.
linker() {
	find "$(rustc --print sysroot)" -name rust-lld 2>/dev/null | head -1 | grep . || command -v wasm-ld
}

options=
if ! has_library; then
	[ -x "$UNPACKED/rustc" ] || unpack
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$(linker)
	export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER
	export RUSTC=$UNPACKED/rustc RUSTC_BOOTSTRAP=1
	options="-Z build-std=std,panic_abort"
fi
cargo build --quiet --locked --profile lab --target $TARGET $options -p ackclock-wasm
cp target/$TARGET/lab/engine.wasm $WRITTEN.new
mv $WRITTEN.new $WRITTEN
echo "written: $WRITTEN, $(wc -c <$WRITTEN) bytes, $(gzip -9 -c $WRITTEN | wc -c) compressed"
