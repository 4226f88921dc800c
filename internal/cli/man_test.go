package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestManEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                "plain",
		`C:\new "x"`:           `C:\(rsnew "x"`,
		".TH is no request":    `\&.TH is no request`,
		"'br is none either":   `\&\(aqbr is none either`,
		"--a-flag ~/x `y` ^z":  `\-\-a\-flag \(ti/x \(gay\(ga \(haz`,
		"more… 你":              `more\[u2026] \[u4F60]`,
		"jq 'select(.x)' | wc": `jq \(aqselect(.x)\(aq | wc`,
	} {
		if got := roffLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	p := new(manText)
	p.request("TH", `a "b" \c`)
	if want := `.TH "a \(dqb\(dq \(rsc"` + "\n"; p.String() != want {
		t.Errorf("a request is %q, want %q", p.String(), want)
	}
}

func TestManPage(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "tool", Short: "A tool", Run: func(*cobra.Command, []string) {}}
	cmd := &cobra.Command{
		Use: "mend [FILE]", Short: "Mend a file", Run: root.Run,
		Long:    "Mends a file.\nIn place.\n\nValues:\n  one    the first\n    deeper\nAnd on.\n\n.dot",
		Example: "  tool mend 'a.b'\n  tool mend -n 3",
	}
	cmd.Flags().IntP("number", "n", 5, "how `often`")
	cmd.Flags().Bool("all", false, "all of it")
	cmd.Flags().Bool("secret", false, "not told")
	_ = cmd.Flags().MarkHidden("secret")
	root.PersistentFlags().String("global", "", "for all")
	root.AddCommand(cmd, &cobra.Command{Use: "hidden", Hidden: true, Run: root.Run})
	_, page, _ := strings.Cut(manPage(cmd), "\n")
	want, err := os.ReadFile("testdata/man_page.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if page := manPage(root); !strings.Contains(page, `\fBtool\-mend\fR(1)`) || strings.Contains(page, "hidden") {
		t.Errorf("the page of the program:\n%s", page)
	}
}

// Every command that the help shows has a page, and a formatter takes it as it is.
func TestManPagesOfAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var errs strings.Builder
	if code := execute(t.Context(), []string{"man", "--dir", dir}, Streams{Out: &errs, Err: &errs}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	all := commandsOf(newRoot(Streams{}))
	for _, cmd := range all {
		path := filepath.Join(dir, manName(cmd)+".1")
		page, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(string(page), ".TH ") || !strings.Contains(string(page), "\n"+`.SH "NAME"`+"\n") {
			t.Errorf("%s is no page:\n%s", path, page)
		}
		checkGroff(t, path)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(all) || len(all) < 10 {
		t.Errorf("%d pages of %d commands, %v", len(files), len(all), err)
	}
}

// checkGroff fails if the formatter, where there is one, complains about a page.
func checkGroff(t *testing.T, path string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	var complaints strings.Builder
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Tascii", "-z", path)
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil || complaints.Len() > 0 {
		t.Errorf("%s: %v\n%s", path, err, complaints.String())
	}
}
