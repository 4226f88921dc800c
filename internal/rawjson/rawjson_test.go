package rawjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

type point struct {
	X    int    `json:"x"`
	Y    int    `json:"y"`
	Name string `json:"name"`
}

// strictPoint decodes itself, and only as a whole.
type strictPoint struct{ point }

func (p *strictPoint) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &p.point) }

func TestDecode(t *testing.T) {
	t.Parallel()
	for data, want := range map[wire.JSON]string{
		`{"x":1}`:         "",
		`null`:            "",
		`{"x":"one"}`:     "clew: the point: field x has the wrong type: string",
		`[]`:              "clew: the point has the wrong type: array",
		`{"x":1`:          "clew: the point: ",
		`{"x":{"y":[1]}}`: "clew: the point: field x has the wrong type: object",
	} {
		err := Decode("the point", data, new(point))
		if got := text(err); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: error %q, want %q", data, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEncode(t *testing.T) {
	t.Parallel()
	got, err := Encode(map[string]string{"a": "<b> & c"})
	if err != nil || got != `{"a":"<b> & c"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Encode(func() {}); err == nil {
		t.Error("a function has a JSON form")
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	for field, want := range map[wire.JSON]bool{"": true, "null": true, "{}": false, `""`: false} {
		if Absent(field) != want {
			t.Errorf("%q: %t", field, !want)
		}
	}
}

func TestLoose(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data     wire.JSON
		required []string
		want     point
		reported []string
		err      string
	}{
		"all fit":              {data: `{"x":1,"y":2,"name":"a"}`, want: point{1, 2, "a"}},
		"two don't fit":        {data: `{"x":"1","y":2,"name":[],"newer":1}`, want: point{Y: 2}, reported: []string{"name", "x"}},
		"a required one":       {data: `{"x":"1","y":2}`, required: []string{"x"}, err: "field x has the wrong type"},
		"another required one": {data: `{"x":"1","y":2}`, required: []string{"y"}, want: point{Y: 2}, reported: []string{"x"}},
		"not an object":        {data: `[1]`, err: "has the wrong type: array"},
		"not JSON":             {data: `{"x":`, err: "clew: the point: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got point
			var reported []string
			loose := &Loose{Value: &got, What: "the point", Required: test.required, Report: func(field string, _ error) {
				reported = append(reported, field)
			}}
			err := loose.Decode(test.data)
			if text := text(err); !strings.Contains(text, test.err) || (text == "") != (test.err == "") {
				t.Fatalf("error %q, want %q", text, test.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.reported, reported); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLooseIsAnUnmarshaler(t *testing.T) {
	t.Parallel()
	var got point
	if err := json.Unmarshal([]byte(`{"x":"1","y":2}`), &Loose{Value: &got}); err != nil || got.Y != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	err := json.Unmarshal([]byte(`{"x":"1","y":2}`), &Loose{Value: new(strictPoint)})
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a value that decodes itself: %v", err)
	}
}
