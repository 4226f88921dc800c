package jsonlex

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// samples are JSON texts, good and bad, that reach every branch of the scans.
var samples = []string{
	``, ` `, `{}`, `[]`, `{"a":1}`, `{ "a" : [ 1 , -2.5e+3 , null ] , "b" : { } }`, "\t[true,\r\nfalse]\n",
	`"plain"`, `"é 日本 🚀"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude80"`, `"\ud83d"`, `"\ude80x"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude80"`,
	"\"bad \xff\xfe utf8 \xc3\"", "\"cut \xe6\x97\"", `"\u12g4"`, `"\u12`, `"\x"`, `"\`, `"open`, "\"tab\there\"", "\"nul\x00\"", "\"del\x7f\"",
	`0`, `-0`, `01`, `-`, `-x`, `1.`, `1.5`, `.5`, `1e5`, `1E+5`, `1e`, `1e+`, `12345678901234567890`, `1e400`, `+1`, `1 2`, `--1`,
	`tru`, `true`, `trux`, `nul`, `null`, `nulL`, `fals`, `false`, `falsy`, `NaN`,
	`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `{,}`, `{"a":}`, `{"a"::1}`, `}`,
	`[`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `]`, `{]`, `[}`, `{"a":1}}`, `{} {}`, "\ufeff{}",
	`{"key with \u0022 escape":1,"dup":1,"dup":2}`, `{"deep":[[[[{"x":[{}]}]]]]}`,
	strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
	strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
	strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1),
	`"` + strings.Repeat("long run without specials ", 40) + `\n"`,
}

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range samples {
		checkValid(t, []byte(s))
	}
}

func checkValid(t *testing.T, data []byte) {
	t.Helper()
	err := Valid(data)
	if want := json.Valid(data); (err == nil) != want {
		t.Errorf("Valid(%.80q) = %v, encoding/json says %v", data, err, want)
	}
	if err != nil && (err.Offset < 0 || err.Offset > len(data)) {
		t.Errorf("Valid(%.80q): offset %d outside of the text", data, err.Offset)
	}
}

func TestIncompleteMeansThatTheTextIsAPrefix(t *testing.T) {
	whole := `{"a":[1,-2.5e+3,"x\u00e9\n",null,true,{"b":{}}],"c":"日本"}`
	for n := 1; n < len(whole); n++ {
		if err := Valid([]byte(whole[:n])); err == nil || err.Fault != Incomplete {
			t.Errorf("Valid(%q) = %v, want an incomplete text", whole[:n], err)
		}
	}
}

func TestStringAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range samples {
		checkString(t, []byte(s))
	}
}

func checkString(t *testing.T, data []byte) {
	t.Helper()
	var want string
	ok := json.Unmarshal(data, &want) == nil && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte{'"'})
	if got, isText := Text(string(data)); isText != ok || ok && got != want || !ok && got != "" {
		t.Errorf("Text(%.200q) = %.200q, %v, want %.200q, %v", data, got, isText, want, ok)
	}
	if !ok {
		return
	}
	var l Lexer
	l.Reset(data)
	if got := l.String(); got != want || l.Err() != nil {
		t.Errorf("String(%q) = %q, %v, want %q", data, got, l.Err(), want)
	}
	if got, ok := Unquote(bytes.TrimSpace(data)); !ok || string(got) != want {
		t.Errorf("Unquote(%q) = %q, %v, want %q", data, got, ok, want)
	}
}

// Long strings are read in blocks. Whatever stands at whichever place of a block, they are read
// like short ones.
func TestLongStringsAgreeWithEncodingJSON(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some plain text ", 3*scratchSize/16)
	for _, odd := range []string{
		`\n`, `\\`, `\"`, `\\\\\n`, `\u00e9`, `\ud83d\ude80`, `\ud83d`, "é", "\xff", `\n\t\t\"x\"`, strings.Repeat(`\n`, 200), "\x01", `\q`,
	} {
		for at := range block + 2 {
			checkString(t, []byte(`"`+long[:at]+odd+long[at:scratchSize+at]+odd+long[:scratchSize]+`"`))
			edge := windowBytes - block/2 + at // where a window ends that Text reads
			checkString(t, []byte(` "`+long[:edge]+odd+long[edge:scratchSize+at]+`\n"`+"\n"))
		}
	}
	var l Lexer
	for _, text := range []string{
		`"` + long + `\n` + long, `"` + long + `\q"`, `"` + long + "\x01\"", `"` + long + `\n"` + long + `"`, `"` + long + `\"`,
	} {
		checkString(t, []byte(text))
		l.Reset([]byte(text))
		if _, _ = l.String(), l.Skip(); l.Err() == nil {
			t.Errorf("no error for %.40q…", text[len(text)-40:])
		}
	}
}

// A long string is read in parts that end between two characters, also where stray bytes follow one.
func TestStrayBytesWhereAPartEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some plain text ", 2*scratchSize/16)
	for _, character := range []string{"é", "€", "\U0001f680", "\xf0\x9f\x9a"} {
		for stray := range 6 {
			odd := character + strings.Repeat("\x80", stray)
			for at := scratchSize - 10; at <= scratchSize+10; at++ {
				checkString(t, []byte(`"\n`+long[:at]+odd+long[:block]+`"`))
			}
		}
	}
}

// A plain byte after a special one may look special, by the way that blocks are searched.
func TestBytesAfterSpecialOnes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some plain text ", scratchSize/16)
	for c := range 256 {
		for _, before := range []string{`\\`, `\"`, `\n`, `"`, "\x1f"} {
			odd := before + string([]byte{byte(c), byte(c)})
			text := []byte(`"` + long + odd + long[:2*block] + odd + `"`)
			checkString(t, text)
			checkValid(t, text)
		}
	}
}

// A string gets its memory in steps: it does not depend on them, nor on what follows it.
func TestStringsOfManySizes(t *testing.T) {
	t.Parallel()
	line := `a line with \"quotes\" and a backslash \\` + `\n`
	for _, sizes := range [][]int{{20, 20, 20}, {300, 20}, {20, 3000, 300}, {9000}, {3000, 9000, 1}} {
		var texts []string
		for _, kilobytes := range sizes {
			texts = append(texts, `"`+strings.Repeat(line, kilobytes<<10/len(line))+`"`)
		}
		data := []byte("[" + strings.Join(texts, ",") + "]")
		var want, got []string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		var l Lexer
		l.Reset(data)
		for ok := l.FirstElem(); ok; ok = l.NextElem() {
			got = append(got, l.String())
		}
		if l.End(); l.Err() != nil || !slices.Equal(got, want) {
			t.Errorf("strings of %d KB differ, error %v", sizes, l.Err())
		}
	}
}

// The text is source code: tabs, line ends and quotes, some of them in a row.
func BenchmarkLongString(b *testing.B) {
	source, err := os.ReadFile("string.go")
	if err != nil {
		b.Fatal(err)
	}
	text := AppendQuote(nil, strings.Repeat(string(source), 60))
	b.Run("String", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		var l Lexer
		for b.Loop() {
			l.Reset(text)
			_ = l.String()
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			json.Valid(text)
		}
	})
}

func TestNumbersAgreeWithEncodingJSON(t *testing.T) {
	for _, s := range append(samples, "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.0", "1e3", "123456789012345678", "9007199254740993", "5e-324", "1e-400") {
		checkNumber(t, []byte(s))
	}
}

func checkNumber(t *testing.T, data []byte) {
	t.Helper()
	first := bytes.TrimLeft(data, " \t\r\n")
	if !json.Valid(data) || first[0] != '-' && !isDigit(first[0]) {
		return
	}
	var wantInt int64
	wantErr := json.Unmarshal(data, &wantInt)
	if f, err := strconv.ParseFloat(string(bytes.TrimSpace(data)), 64); wantErr != nil && err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		wantInt, wantErr = int64(f), nil // encoding/json wants integers without point and exponent
	}
	var l Lexer
	l.Reset(data)
	if got := l.Int(); (l.Err() == nil) != (wantErr == nil) || wantErr == nil && got != wantInt {
		t.Errorf("Int(%s) = %d, %v, want %d, %v", data, got, l.Err(), wantInt, wantErr)
	}
	var want float64
	wantErr = json.Unmarshal(data, &want)
	l.Reset(data)
	got := l.Float()
	if (l.Err() == nil) != (wantErr == nil) || wantErr == nil && math.Float64bits(got) != math.Float64bits(want) {
		t.Errorf("Float(%s) = %v, %v, want %v, %v", data, got, l.Err(), want, wantErr)
	}
}

func TestWalk(t *testing.T) {
	var l Lexer
	l.Reset([]byte(` { "a" : "x" , "\u0062":[1, 2 ,3], "c":{}, "d":[], "e":null, "f":true } `))
	var keys []string
	var sum int64
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		name := string(key)
		keys = append(keys, name)
		switch name {
		case "b":
			for ok := l.FirstElem(); ok; ok = l.NextElem() {
				sum += l.Int()
			}
		case "d":
			if l.FirstElem() {
				t.Error("an empty array has an element")
			}
		case "e":
			if !l.Null() {
				t.Error("no null")
			}
		case "f":
			if !l.Bool() {
				t.Error("true is false")
			}
		default:
			l.Skip()
		}
	}
	l.End()
	if got := strings.Join(keys, ""); got != "abcdef" || sum != 6 || l.Err() != nil {
		t.Errorf("keys %q, sum %d, error %v", got, sum, l.Err())
	}
}

func TestErrorSticksAndEndsWalks(t *testing.T) {
	var l Lexer
	l.Reset([]byte(`{"a":"x","b":2,"c":3}`))
	n := 0
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		n++
		if string(key) == "b" {
			l.Bytes()
		}
		l.Int()
	}
	err := l.Err()
	if n != 1 || err == nil || err.Fault != Mismatch || err.Offset != 5 {
		t.Fatalf("%d keys, error %+v", n, err)
	}
	if want := "expected number, found string at byte 5"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestErrorMessages(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{`{"a" 1}`, "unexpected '1' after a key at byte 5"},
		{`{"a":1 "b"}`, "unexpected '\"' after a member at byte 7"},
		{`{1:2}`, "unexpected '1' in an object at byte 1"},
		{`{"a":1,2}`, "unexpected '2' where a key belongs at byte 7"},
		{`{"a":`, "unexpected end of JSON at byte 5"},
		{"{\"a\":\"\x01\"}", "unexpected '\\x01' at byte 6"},
		{"{\"a\":\xff}", "unexpected byte 0xff at byte 5"},
	} {
		var l Lexer
		l.Reset([]byte(test.data))
		for _, ok := l.FirstKey(); ok; _, ok = l.NextKey() {
			l.Skip()
		}
		if err := l.Err(); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %q", test.data, err, test.want)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{`{"type":"a"}`, `"a"`},
		{` { "x" : {"type":1} , "type" : "b" } `, `"b"`},
		{`{"x":[1,2],"\u0074ype":"c"}`, `"c"`},
		{`{"type":"first","type":"second"}`, `"first"`},
		{`{"type":7,"x":`, `7`},
		{`{"Type":"a"}`, ``}, {`{}`, ``}, {`[]`, ``}, {``, ``}, {`{"x":tru,"type":1}`, ``}, {`{"x"`, ``}, {`{"typ`, ``},
	} {
		if got := string(Lookup([]byte(test.data), 0, "type")); got != test.want {
			t.Errorf("Lookup(%q) = %q, want %q", test.data, got, test.want)
		}
	}
}

func TestPointer(t *testing.T) {
	data := ` {"a":1,"m/n":{"x~y":[10,{"z":"found"}]}}`
	for _, test := range []struct{ value, want string }{
		{`{"a"`, ""}, {`1,"m`, "/a"}, {`{"x~y`, "/m~1n"}, {`[10`, "/m~1n/x~0y"}, {`10`, "/m~1n/x~0y/0"}, {`{"z"`, "/m~1n/x~0y/1"}, {`"found"`, "/m~1n/x~0y/1/z"},
	} {
		if got := Pointer([]byte(data), strings.Index(data, test.value)); got != test.want {
			t.Errorf("pointer of %s = %q, want %q", test.value, got, test.want)
		}
	}
}

func TestAppendQuote(t *testing.T) {
	for _, s := range []string{"", "plain", "é日🚀", "\"\\\b\f\n\r\t\x00\x1f\x7f<>&\u2028", "bad \xff utf8\xc3"} {
		quoted := AppendQuote(nil, s)
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("AppendQuote(%q) = %s, read back %q, %v", s, quoted, got, err)
		}
	}
}

func FuzzLexer(f *testing.F) {
	for _, s := range samples {
		if len(s) < 1000 {
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkValid(t, data)
		checkString(t, data)
		checkNumber(t, data)
	})
}

func FuzzLongString(f *testing.F) {
	for _, s := range []string{`\n\t\"x\" `, `\\]`, `é\u00e9`, "\xff", `\ud83d\ude80`, "\x01", `"`, `\`} {
		f.Add([]byte(s), []byte("a plain run"))
	}
	f.Fuzz(func(t *testing.T, data, end []byte) {
		const size = scratchSize + 4*block
		long := slices.Concat([]byte{'"'}, bytes.Repeat(append(data, ' '), size/(len(data)+1)), end, []byte{'"'})
		checkValid(t, long)
		checkString(t, long)
	})
}
