package fleet

import (
	"strconv"
	"strings"
	"testing"
)

// All engines refuse what one of them could not keep.
func TestEngineRules(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", maxKeyName)
	record := func(label string, size int) error {
		return CheckRecords([]Record{{Key: "a", Label: label, Data: make([]byte, size)}})
	}
	many := make([]Record, maxSet+1)
	for i := range many {
		many[i].Key = strconv.Itoa(i)
	}
	for name, test := range map[string]struct {
		err  error
		want string // in the error; "" means that there is none
	}{
		"a table":            {CheckTable(Jobs), ""},
		"no table":           {CheckTable("job"), `no table "job"`},
		"a key":              {CheckKey("aZ09-_."), ""},
		"the longest key":    {CheckKey(long), ""},
		"no key":             {CheckKey(""), "1 to 512 bytes, got 0"},
		"a long key":         {CheckKey(long + "k"), "1 to 512 bytes, got 513"},
		"an odd key":         {CheckKey("a b"), "must consist of letters"},
		"a letter abroad":    {CheckKey("é"), "must consist of letters"},
		"a key like a file":  {CheckKey("a/b"), "must consist of letters"},
		"a group":            {CheckGroup("a-b"), ""},
		"a group with a dot": {CheckGroup("a.b"), "must consist of letters"},
		"a file":             {CheckFile("job1/1/a.patch"), ""},
		"an odd file":        {CheckFile(`a\b`), "must consist of letters"},
		"a subject":          {CheckSubject("job/1"), ""},
		"an odd subject":     {CheckSubject("*"), "must consist of letters"},
		"no records":         {CheckRecords(nil), ""},
		"the largest record": {record(strings.Repeat("l", maxLabel), MaxRecord), ""},
		"a long label":       {record(strings.Repeat("l", maxLabel+1), 0), "2049 bytes is too long"},
		"an odd label":       {record("a\n", 0), "ASCII"},
		"large data":         {record("", MaxRecord+1), "262145 bytes"},
		"a record twice":     {CheckRecords([]Record{{Key: "a"}, {Key: "b"}, {Key: "a"}}), "record a is there twice"},
		"an odd record":      {CheckRecords([]Record{{Key: ""}}), "got 0"},
		"many records":       {CheckRecords(many[:maxSet]), ""},
		"too many records":   {CheckRecords(many), "1001 records"},
	} {
		got := ""
		if test.err != nil {
			got = test.err.Error()
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %v, want %q", name, test.err, test.want)
		}
	}
}
