package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The manual shows what the program prints now.
func TestReadmeShowsTheDemo(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile(filepath.Join("..", "..", manual))
	if err != nil {
		t.Fatal(err)
	}
	block, err := demoBlock()
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaceBlock(string(kept), block)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(kept)); diff != "" {
		t.Errorf("run make pictures (-printed +shown):\n%s", diff)
	}
}

// The path of a temporary directory may contain a blank.
func TestNormalize(t *testing.T) {
	t.Parallel()
	const want = "$ clew export -o /tmp/tour/x.html\n/tmp/tour/x.html\nAll files are in /tmp/tour\n"
	for _, text := range []string{
		"$ clew export -o /t/tour/x.html\n/t/tour/x.html\nAll files are in /t/tour\n",
		"$ clew export -o \"/a b/tour/x.html\"\n/a b/tour/x.html\nAll files are in /a b/tour\n",
		"$ clew export -o '/$ b/tour/x.html'\n/$ b/tour/x.html\nAll files are in /$ b/tour\n",
	} {
		_, dir, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "All files are in ")
		if diff := cmp.Diff(want, normalize(text, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}

func TestReplaceBlock(t *testing.T) {
	t.Parallel()
	got, err := replaceBlock("a\n"+blockBegins+"old\n"+blockEnds+"b\n", "new\n")
	if err != nil || got != "a\n"+blockBegins+"new\n"+blockEnds+"b\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", blockBegins, blockEnds} {
		if _, err := replaceBlock(text, "new\n"); err == nil {
			t.Errorf("%q has a place for a block", text)
		}
	}
}

// However the output of a program is split, watch reads all of it and answers once.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		output := "/tmp/x Allow it? …\n"
		p := &cutProgram{rest: output, answered: make(chan string, 2)}
		var all strings.Builder
		for _, piece := range watch(p, "/nowhere", time.Now()) {
			if !utf8.ValidString(piece.text) {
				t.Errorf("%q is cut within a character", piece.text)
			}
			all.WriteString(piece.text)
		}
		if all.String() != output {
			t.Errorf("read %q", all.String())
		}
		time.Sleep(2 * thinkingTime)
		if len(p.answered) != 1 || <-p.answered != "y\n" {
			t.Errorf("the question was not answered exactly once")
		}
	})
}

// A cutProgram writes a byte at a time.
type cutProgram struct {
	rest     string
	answered chan string
}

func (p *cutProgram) Read(buf []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	buf[0], p.rest = p.rest[0], p.rest[1:]
	return 1, nil
}

func (p *cutProgram) Write(text []byte) (int, error) {
	p.answered <- string(text)
	return len(text), nil
}

func TestFilm(t *testing.T) {
	t.Parallel()
	frames, err := framesOf([]piece{
		{0, "hello\r\n"},
		{time.Second, "$ clew\r\n"},
		{time.Second + time.Millisecond, "a"},
		{time.Second + 2*time.Millisecond, "b"},
		{2 * time.Second, "c"},
		{time.Minute, "d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range frames {
		got = append(got, f.at.Round(100*time.Millisecond).String()+" "+text(f.lines[2]))
	}
	if diff := cmp.Diff([]string{"0s ab", "1s abc", "4s abcd"}, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func TestDrawFilm(t *testing.T) {
	t.Parallel()
	frames, err := framesOf([]piece{
		{0, "$ clew <b>&\r\n"},
		{time.Second, "\x1b[1;36mAllow it?\x1b[0m yes\r\n"},
		{2 * time.Second, "\x1b[A\x1b[K"},
	})
	if err != nil {
		t.Fatal(err)
	}
	drawn := drawFrames(frames)
	for _, want := range []string{
		"$ clew &lt;b&gt;&amp;</text>",
		`<tspan class="b c36">Allow it?</tspan> yes</text>`,
		"@keyframes k1{0%{opacity:0}14.29%{opacity:1}28.57%{opacity:0}}",
		`<g id="g1" class="s p">`, // the question is visible without animations
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %s in\n%s", want, drawn)
		}
	}
	checkXML(t, drawn)
}

// The picture in the repository is well-formed and small, and has no scripts, links or external
// resources.
func TestKeptPicture(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile(filepath.Join("..", "..", terminalFile))
	if err != nil {
		t.Fatalf("%v: run make pictures", err)
	}
	checkXML(t, string(kept))
	if len(kept) > terminalBytes {
		t.Errorf("%s has %d bytes", terminalFile, len(kept))
	}
	for _, bad := range []string{"<script", "href", "url(", "/tmp/pictures"} {
		if strings.Contains(string(kept), bad) {
			t.Errorf("%s has %s", terminalFile, bad)
		}
	}
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
