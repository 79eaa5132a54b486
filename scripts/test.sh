#!/bin/bash
# Runs the tests, all of them also after a failure, and lists at the end each test that was skipped
# and why. `make test` calls it.
# $RUST holds the arguments of `cargo test`, $PYTHON those of pytest (empty: every test).
set -u

# What proptest draws is the same in each run; `cargo test` alone draws anew.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

status=0
skipped=$(mktemp)
trap 'rm -f "$skipped"' EXIT

case $RUST in
*"--exclude ackclock-linux"*)
	echo "SKIPPED: crates/linux: the kernel part is not built" | tee "$skipped" ;;
esac
# A skipped test says so on stderr.
cargo test --locked --no-fail-fast $RUST 2> >(tee -a "$skipped" >&2) || status=1
# 5: no test among those that $PYTHON names.
.venv/bin/pytest -n 2 --dist loadfile -m "not alone" $PYTHON || [ $? = 5 ] || status=1
.venv/bin/pytest -m alone $PYTHON || [ $? = 5 ] || status=1

grep '^SKIPPED' "$skipped" | sort | uniq -c | sed -E 's/^ *([0-9]+) SKIPPED: /SKIPPED [\1] cargo test: /'
exit $status
