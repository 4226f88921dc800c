package jsonlex

// The scans of this file work on plain indexes. Each returns the offset behind
// what it passed over, or the offset of the fault and the fault. Where the text
// ends too early, that is the end, or the escape that it cuts.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipValue passes over the value at i, which lies depth containers deep.
func skipValue(b []byte, i, depth int) (int, Fault) {
	if i >= len(b) {
		return i, Incomplete
	}
	switch c := b[i]; c {
	case '"':
		return skipString(b, i+1)
	case '{':
		return skipObject(b, i, depth)
	case '[':
		return skipArray(b, i, depth)
	case 't':
		return matchWord(b, i, "true")
	case 'f':
		return matchWord(b, i, "false")
	case 'n':
		return matchWord(b, i, "null")
	default:
		if c == '-' || c-'0' <= 9 {
			return skipNumber(b, i)
		}
	}
	return i, Malformed
}

func skipObject(b []byte, i, depth int) (int, Fault) {
	if depth >= MaxDepth {
		return i, TooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, 0
	}
	for {
		var fault Fault
		if i, fault = skipKey(b, i); fault != 0 {
			return i, fault
		}
		if i, fault = skipValue(b, i, depth+1); fault != 0 {
			return i, fault
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return i, Incomplete
		}
		if b[i] == '}' {
			return i + 1, 0
		}
		if b[i] != ',' {
			return i, Malformed
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
	}
}

// skipKey passes over a key, its colon and the space behind that.
func skipKey(b []byte, i int) (int, Fault) {
	if i >= len(b) {
		return i, Incomplete
	}
	if b[i] != '"' {
		return i, Malformed
	}
	i, fault := skipString(b, i+1)
	if fault != 0 {
		return i, fault
	}
	if i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if i >= len(b) {
		return i, Incomplete
	}
	if b[i] != ':' {
		return i, Malformed
	}
	if i++; i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	return i, 0
}

func skipArray(b []byte, i, depth int) (int, Fault) {
	if depth >= MaxDepth {
		return i, TooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, 0
	}
	for {
		var fault Fault
		if i, fault = skipValue(b, i, depth+1); fault != 0 {
			return i, fault
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return i, Incomplete
		}
		if b[i] == ']' {
			return i + 1, 0
		}
		if b[i] != ',' {
			return i, Malformed
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
	}
}

func matchWord(b []byte, i int, w string) (int, Fault) {
	if len(b)-i >= len(w) && string(b[i:i+len(w)]) == w {
		return i + len(w), 0
	}
	for k := range len(w) {
		if i+k >= len(b) {
			return i + k, Incomplete
		}
		if b[i+k] != w[k] {
			return i + k, Malformed
		}
	}
	return i + len(w), 0
}

// skipNumber passes over a number by the grammar of JSON: no leading zeros, a
// digit on each side of the point.
func skipNumber(b []byte, i int) (int, Fault) {
	if b[i] == '-' {
		i++
	}
	if i >= len(b) {
		return i, Incomplete
	}
	if b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); !isDigit(b[i-1]) {
		return i, numberFault(b, i)
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); b[i-1] == '.' {
			return i, numberFault(b, i)
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i = skipDigits(b, i); !isDigit(b[i-1]) {
			return i, numberFault(b, i)
		}
	}
	return i, 0
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// numberFault tells a number that was cut off from one that is wrong.
func numberFault(b []byte, i int) Fault {
	if i >= len(b) {
		return Incomplete
	}
	return Malformed
}
