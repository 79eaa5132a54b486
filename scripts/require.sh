#!/bin/sh
# Makes sure that the tools named as arguments are here: cc, clang, libelf, python, cargo, iperf3,
# chromium.
# Debian packages are installed when missing and we are root; otherwise the command to type is
# printed. Rust is never installed behind your back.
set -eu

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

present() {
	case $1 in
	cc) has cc || has gcc || has clang ;;
	clang) has clang ;;
	iperf3) has iperf3 && has ip && has unshare ;;
	chromium) has chromium || has chromium-browser || has google-chrome ;;
	libelf) has make && has pkg-config && pkg-config --exists libelf zlib ;;
	python) find_python >/dev/null ;;
	cargo) [ "$(cargo_minor)" ] && [ "$(cargo_minor)" -ge "$CARGO_MINOR" ] ;;
	esac
}

package() {
	case $1 in
	cc) echo gcc libc6-dev ;;
	clang) echo clang ;;
	iperf3) echo iperf3 iproute2 util-linux ;;
	chromium) echo chromium ;;
	libelf) echo make pkg-config libelf-dev zlib1g-dev ;;
	python) echo python3 python3-venv ;;
	esac
}

CARGO_MINOR=85
if [ "${1-}" = --python ]; then
	find_python
	exit
fi

missing=
packages=
for tool; do
	present "$tool" && continue
	missing="$missing $tool"
	packages="$packages $(package "$tool")"
done
[ "$missing" ] || exit 0

packages=$(echo $packages)
if [ "$packages" ] && has apt-get; then
	if [ "$(id -u)" = 0 ]; then
		echo "installing $packages"
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
	else
		echo "missing:$missing. As root: apt-get install $packages" >&2
	fi
fi

status=0
for tool in $missing; do
	present "$tool" && continue
	status=1
	case $tool in
	cargo) echo "missing: Rust 1.$CARGO_MINOR or newer (here: $(cargo --version 2>/dev/null || echo none)). Install it from https://rustup.rs and type make again." >&2 ;;
	python) echo "missing: Python 3.11 or newer with its venv module." >&2 ;;
	*) has apt-get || echo "missing: $tool." >&2 ;;
	esac
done
exit $status
