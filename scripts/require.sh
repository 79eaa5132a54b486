#!/bin/sh
# Checks that tools are installed: `require.sh cc python cargo -- clang libelf`.
# The tools before `--` must be there. The tools after it may be missing: then one line says what
# does not work without them.
# As root on Debian or Ubuntu it installs the packages of what is missing. Otherwise it prints the
# command to type.
# `require.sh --check TOOL…` only checks. `require.sh --python` prints the Python to use.
set -eu

CARGO_MINOR=85

has() { command -v "$1" >/dev/null 2>&1; }

find_python() {
	for python in python3 python3.14 python3.13 python3.12 python3.11; do
		if has "$python" && "$python" -c \
			'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
			echo "$python"
			return
		fi
	done
	return 1
}

cargo_minor() { cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p'; }

# Rust's standard library for WebAssembly: an installed one, or what scripts/lab.sh unpacks.
has_wasm() {
	[ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" ] ||
		[ -x "$(dirname "$0")/../target/rust-web/rustc" ] ||
		{ has apt-get && apt-cache show rust-web-src >/dev/null 2>&1; }
}

# rustup's linker, or Debian's.
has_wasm_linker() {
	has wasm-ld || [ "$(find "$(rustc --print sysroot 2>/dev/null)" -name rust-lld 2>/dev/null)" ]
}

present() {
	case $1 in
	cc) has cc || has gcc || has clang ;;
	python) find_python >/dev/null ;;
	cargo) [ "$(cargo_minor)" ] && [ "$(cargo_minor)" -ge $CARGO_MINOR ] ;;
	libelf) has pkg-config && pkg-config --exists libelf zlib ;;
	lint) cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ;;
	wasm) has_wasm && has_wasm_linker ;;
	node) has node && [ "$(node --version | sed 's/v\([0-9]*\).*/\1/')" -ge 18 ] ;;
	network) has ip && has unshare && has setpriv ;;
	chromium) has chromium || has chromium-browser || has google-chrome ;;
	firefox) has firefox-esr || has firefox ;;
	ns2) has ns ;;
	ns3) has c++ && has pkg-config && pkg-config --exists ns3-internet gsl ;;
	ngtcp2) has gtlsclient ;;
	clang | npm | iperf3 | mmdebstrap | git | valgrind | tshark | tcptrace | curl | openssl | rsync)
		has "$1"
		;;
	dropbear | nginx | redis-server | tcpdump) has "$1" || [ -x "/usr/sbin/$1" ] ;;
	*) echo "require.sh does not know the tool $1" >&2; exit 2 ;;
	esac
}

# Debian 12 has a recent Rust in packages of their own (made for its web browsers).
rust_suffix() { if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then echo -web; fi; }

packages() {
	case $1 in
	cc) echo gcc libc6-dev ;;
	python) echo python3 python3-venv ;;
	cargo) echo "cargo$(rust_suffix)" "rustc$(rust_suffix)" ;;
	lint)
		if [ "$(rust_suffix)" ]; then echo rustfmt-web rust-web-clippy; else echo rustfmt rust-clippy; fi
		;;
	libelf) echo make pkg-config libelf-dev zlib1g-dev ;;
	network) echo iproute2 util-linux ;;
	# Of Debian 12 scripts/lab.sh unpacks it: the lists of packages are enough.
	wasm)
		[ "$(rust_suffix)" ] || has_wasm || echo libstd-rust-dev-wasm32
		has_wasm_linker || echo lld
		;;
	node) echo nodejs ;;
	firefox) echo firefox-esr ;;
	dropbear) echo dropbear-bin ;; # no daemon begins with it
	nginx) echo nginx-light ;;
	ngtcp2) echo ngtcp2-client ;;
	ns3) echo g++ pkg-config libns3-dev libgsl-dev ;;
	*) echo "$1" ;;
	esac
}

title() {
	case $1 in
	cc) echo "a C compiler" ;;
	python) echo "Python 3.11 or newer" ;;
	cargo) echo "Rust 1.$CARGO_MINOR or newer (https://rustup.rs)" ;;
	lint) echo "cargo fmt, cargo clippy" ;;
	network) echo "ip, unshare, setpriv" ;;
	wasm) echo "Rust for WebAssembly (rustup target add wasm32-unknown-unknown)" ;;
	node) echo "Node 18 or newer" ;;
	ns2 | ns3) echo "the simulator $1" ;;
	*) echo "$1" ;;
	esac
}

# What does not work without a tool.
without() {
	case $1 in
	clang | libelf) echo "the kernel part is not built" ;;
	lint) echo "Rust's format and lints are not checked" ;;
	network) echo "the kernel part is not tested" ;;
	iperf3) echo "a deployed algorithm is not tested with iperf3" ;;
	wasm | node | npm) echo "the laboratory in a browser is not tested" ;;
	chromium) echo "the pages are not tested in a browser" ;;
	firefox) echo "the laboratory is not tested in Firefox" ;;
	tshark | tcptrace) echo "captured packets are not tested" ;;
	curl | dropbear | nginx | ngtcp2 | openssl | redis-server | rsync | tcpdump) echo "they are not run in virtual time" ;;
	esac
}

missing() {
	for tool; do
		present "$tool" || echo "$tool"
	done
}

if [ "${1-}" = --python ]; then
	find_python
	exit
fi
if [ "${1-}" = --check ]; then
	shift
	[ -z "$(missing "$@")" ]
	exit
fi

needed=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	needed="$needed $1"
	shift
done
[ $# -eq 0 ] || shift
absent=$(missing $needed "$@")
[ "$absent" ] || exit 0

install=$(for tool in $absent; do packages "$tool"; done | tr '\n' ' ')
install=${install% }
if has apt-get && [ "$(id -u)" = 0 ]; then
	echo "installing $install"
	# A slow mirror, and another apt-get that holds the lock, are waited for.
	patience="-o Acquire::Retries=5 -o DPkg::Lock::Timeout=300"
	said=$(apt-get $patience update -qq 2>&1 && DEBIAN_FRONTEND=noninteractive \
		apt-get $patience install -y -qq --no-install-recommends $install 2>&1) || echo "$said" >&2
	absent=$(missing $needed "$@")
	[ "$absent" ] || exit 0
	advice="apt-get could not install it."
elif has apt-get; then
	advice="As root type: apt-get install -y --no-install-recommends $install"
else
	advice="Install it with this system's package manager."
fi
line=
for tool in $absent; do
	line="$line${line:+, }$(title "$tool")"
done
line="$line$(for tool in $absent; do without "$tool"; done | uniq | sed 's/^/; /' | tr -d '\n')"
echo "missing: $line. $advice" >&2
[ -z "$(missing $needed)" ]
