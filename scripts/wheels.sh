#!/bin/sh
# Builds the distributions for a release into target/wheels: `make wheel` calls it.
# zig links against an old glibc, for every Linux since 2014, and compiles for aarch64.
set -eu

wheels=target/wheels
# A directory of its own: maturin keeps one library in it, of whatever machine was built last, and
# tests that run beside this one call maturin, too.
build=target/core-wheel
rm -rf "$wheels"
for machine in x86_64 aarch64; do
	triple=$machine-unknown-linux-gnu
	if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$triple" ] &&
		! rustup -q target add "$triple"; then
		echo "Rust cannot compile for $machine here. Install Rust from https://rustup.rs" >&2
		exit 1
	fi
	maturin build --quiet --release --locked --features quic --zig --target "$triple" \
		--target-dir "$build" --out "$wheels"
	python - "$machine" "$wheels"/ackclock-*"$machine".whl <<'END'
import sys, zipfile
machine, wheel = sys.argv[1:]
library = zipfile.ZipFile(wheel).read("ackclock/_core.abi3.so")
found = int.from_bytes(library[18:20], "little")  # e_machine of the ELF header
if found != {"x86_64": 62, "aarch64": 183}[machine]:
    sys.exit(f"{wheel} has a library for another machine ({found}): it is of no use")
END
done
python scripts/portable_wheel.py "$wheels"
maturin sdist --out "$wheels"

if scripts/require.sh --check clang libelf; then
	# maturin copies libelf into the wheel and changes cargo's file for that: in a directory of its own.
	rm -rf target/kernel-wheel/release/deps/lib_kernel.so
	maturin build --quiet --release --locked --manifest-path crates/py-kernel/Cargo.toml \
		--target-dir target/kernel-wheel --out "$wheels"
else
	echo "the kernel part is not built: it needs clang and libelf" >&2
fi
