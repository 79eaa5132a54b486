#!/bin/bash
# Runs the tests of a tier, all of them also after a failure, and lists at the end each test that
# was skipped and why. `make test` calls it; `make test-slow` with the argument `slow`.
# $RUST holds the arguments of `cargo test`, $PYTHON those of pytest (empty: every test).
set -u

# What proptest draws is the same in each run; `cargo test` alone draws anew.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

status=0
skipped=$(mktemp)
trap 'rm -f "$skipped"' EXIT

# A skipped test says so on stderr.
cargo_test() { cargo test --locked --no-fail-fast "$@" 2> >(tee -a "$skipped" >&2) || status=1; }
# 5: no test of this tier is among those that $PYTHON names.
python_test() { .venv/bin/pytest "$@" $PYTHON || [ $? = 5 ] || status=1; }

case $RUST in
*"--exclude ackclock-linux"*)
	echo "SKIPPED: crates/linux: the kernel part is not built" | tee "$skipped" ;;
esac
if [ "${1-}" = slow ]; then
	# Four times the random cases, where there are any; the build is that of `make test`.
	export PROPTEST_CASES=1024
	random=$(grep -l 'proptest!' crates/*/tests/*.rs | sed -E 's|.*/(.*)\.rs|\1::|')
	cargo_test $RUST --lib
	cargo_test $RUST --test all -- $random
	# Many wait for a browser, a server or a virtual machine.
	python_test -n 3 --dist loadfile -m "slow and not alone"
	python_test -m alone
else
	cargo_test $RUST
	python_test -n 2 --dist loadfile -m "not slow"
fi

grep '^SKIPPED' "$skipped" | sort | uniq -c | sed -E 's/^ *([0-9]+) SKIPPED: /SKIPPED [\1] cargo test: /'
exit $status
