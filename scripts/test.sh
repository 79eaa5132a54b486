#!/bin/bash
# Runs the tests of a tier, all of them also after a failure, and lists at the end each test that
# was skipped and why. `make test` calls it; `make test-slow` with the argument `slow`.
# $RUST holds the arguments of `cargo test`, $PYTHON those of pytest (empty: every test).
set -u

# What proptest draws is the same in each run; `cargo test` alone draws anew.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

status=0
said=$(mktemp)
trap 'exit 130' INT TERM
trap 'kill -- -$rust 2>/dev/null; rm -f "$said"' EXIT

# Rust's tests run beside Python's, which print as they go, and are heard after them. A process group
# of its own ends as a whole.
rust_tests() {
	set -m
	cargo test --locked --no-fail-fast "$@" >"$said" 2>&1 &
	rust=$!
	set +m
}
rust_results() {
	wait $rust || status=1
	cat "$said"
}
# 5: no test of this tier is among those that $PYTHON names.
python_tests() { .venv/bin/pytest "$@" $PYTHON || [ $? = 5 ] || status=1; }

if [ "${1-}" = slow ]; then
	# Four times the random cases, where there are any; the build is that of `make test`.
	export PROPTEST_CASES=1024
	random=$(grep -rl 'proptest!' crates | sed -nE 's,.*/(\w+)(/mod|/tests)?\.rs$,\1::,p')
	rust_tests $RUST -- $random
	# Many wait for a browser, a server or a virtual machine.
	python_tests --durations=40 -n 3 --dist loadfile --no-loadscope-reorder -m "slow and not alone"
	rust_results
	# Quick tests of what runs scenarios, on the portable engine; tests/portable.py leaves some out.
	[ "$PYTHON" ] || ACKCLOCK_ENGINE=portable .venv/bin/pytest -n 3 --dist loadfile -m "not slow" \
		tests/scenario tests/scorecard tests/store tests/studies || status=1
	python_tests -m alone
else
	rust_tests $RUST
	python_tests --durations=30 -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"
	rust_results
fi

case $RUST in
*"--exclude ackclock-linux"*) echo "SKIPPED: crates/linux: the kernel part is not built" >>"$said" ;;
esac
# A skipped test of Rust's says so.
grep '^SKIPPED' "$said" | sort | uniq -c | sed -E 's/^ *([0-9]+) SKIPPED: /SKIPPED [\1] cargo test: /'
exit $status
