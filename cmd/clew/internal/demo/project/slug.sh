#!/bin/sh
# slug.sh TITLE prints a title as it stands in an address.
printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-'
