#!/bin/sh
# test.sh compares what slug.sh prints with what it should print.
check() {
	got=$(sh slug.sh "$1")
	if [ "$got" = "$2" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: got $got, want $2"
		failed=1
	fi
}
check "Clew" "clew"
check "Hello, World!" "hello-world"
check "Read me first" "read-me-first"
exit ${failed:-0}
