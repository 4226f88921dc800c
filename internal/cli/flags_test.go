package cli

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

func TestByteSizeSet(t *testing.T) {
	tests := []struct {
		in   string
		want byteSize // 0 for an error
	}{
		{"1", 1},
		{"500000", 500_000},
		{"12B", 12},
		{"64MiB", wire.DefaultMaxFrameBytes},
		{"64 mib", wire.DefaultMaxFrameBytes},
		{"2kB", 2000},
		{"2KiB", 2048},
		{"1GB", 1_000_000_000},
		{"1GiB", 1 << 30},
		{"", 0},
		{"0", 0},
		{"-1", 0},
		{"MiB", 0},
		{"1.5MiB", 0},
		{"9223372036854775807GiB", 0},
		{"99999999999999999999", 0},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			var got byteSize
			if err := got.Set(tt.in); got != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("Set gives %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func TestByteSizeString(t *testing.T) {
	for want, size := range map[string]byteSize{"64MiB": 64 << 20, "1MB": 1e6, "3KiB": 3072, "1001B": 1001, "0B": 0} {
		if got := size.String(); got != want {
			t.Errorf("String of %d = %s, want %s", int(size), got, want)
		}
	}
}

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{
		-1234: "-1,234", -123: "-123", 0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 2147483648: "2,147,483,648",
	} {
		if got := group(n); got != want {
			t.Errorf("group(%d) = %s, want %s", n, got, want)
		}
	}
}
