package redact

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// A gitleaksSample is a sample of gitleaks 8.30.1, generated once by its rules and kept with its
// license, gitleaks.LICENSE.
type gitleaksSample struct {
	Rule   string
	Text   string
	Secret string // empty in a negative sample
	Other  string // the rule of gitleaks that finds a secret in a negative sample of another rule
}

func gitleaksSamples(t *testing.T) []gitleaksSample {
	t.Helper()
	file, err := os.Open("testdata/gitleaks_samples.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var samples []gitleaksSample
	for dec := json.NewDecoder(bufio.NewReader(lines)); dec.More(); {
		var sample gitleaksSample
		if err := dec.Decode(&sample); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample)
	}
	return samples
}

// Nearly all positive samples of gitleaks are found, and few of the negative ones. A negative sample
// is one of a single rule: some are secrets to another rule of gitleaks.
func TestGitleaksSamples(t *testing.T) {
	t.Parallel()
	var positive, left, negative, marked, others, othersMarked int
	for _, sample := range gitleaksSamples(t) {
		var r Redactor
		got := r.Text(sample.Text)
		found := 0
		for rule, n := range r.counts {
			if rule != "email" && rule != "home" {
				found += n
			}
		}
		switch {
		case sample.Secret != "":
			positive++
			if strings.Contains(got, sample.Secret) {
				left++
				t.Logf("left: %s: %.200q", sample.Rule, sample.Text)
			}
		case sample.Other != "":
			others++
			othersMarked += min(found, 1)
		default:
			negative++
			if found > 0 {
				marked++
				t.Logf("marked: %s: %.200q", sample.Rule, sample.Text)
			}
		}
	}
	soak.Figure(t, "%d of %d positive samples left, %d of %d negative samples marked, and %d of %d that another rule of gitleaks finds",
		left, positive, marked, negative, othersMarked, others)
	if positive < 5900 || left*200 > positive {
		t.Errorf("%d of %d positive samples left", left, positive)
	}
	if negative < 340 || marked*20 > negative {
		t.Errorf("%d of %d negative samples marked", marked, negative)
	}
}

// A placed is a mark: what the named rule found, where.
type placed struct {
	rule, file, found string
	line              int
}

// marksOf returns the marks in a file, except addresses and home directories.
func marksOf(file, text string) []placed {
	table := allRules()
	places := table.finder.find(text)
	defer table.finder.release(places)
	var marks []placed
	for _, number := range places.active {
		rule := &table.rules[number]
		with := rule.mark()
		if with == "" || rule.Name == "email" || rule.Name == "home" {
			continue
		}
		changed, spans := rule.apply(text, places.at[number], with)
		for _, span := range spans {
			marks = append(marks, placed{rule.Name, file, text[span[0]:span[1]], 1 + strings.Count(text[:span[0]], "\n")})
		}
		if len(spans) > 0 {
			text = changed
			places.move(number, spans, len(with))
		}
	}
	return marks
}

// marksIn returns the marks in one in so many text files of a directory, and the size of the files.
func marksIn(tb testing.TB, dir string, oneIn int) (marks []placed, size int) {
	tb.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		if files++; files%oneIn != 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			return err
		}
		size += len(text)
		name, _ := filepath.Rel(dir, path)
		marks = append(marks, marksOf(filepath.ToSlash(name), string(text))...)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return marks, size
}

var corpus = flag.String("corpus", "", "list the marks in the files of this directory")

// A megabyte of source code has at most three marks, with the real ones of tests and examples. The
// flag -corpus lists the marks in another directory.
func TestMarksPerMegabyte(t *testing.T) {
	t.Parallel()
	if *corpus != "" {
		marks, size := marksIn(t, *corpus, 1)
		for _, mark := range marks {
			fmt.Printf("%s\t%s:%d\t%.3q %d bytes\n", mark.rule, mark.file, mark.line, mark.found, len(mark.found))
		}
		fmt.Printf("# %d marks in %.1f MB, %.2f per MB\n", len(marks), float64(size)/1e6, float64(len(marks))/float64(size)*1e6)
		return
	}
	marks, size := marksIn(t, filepath.Join(goroot(t), "src"), soak.Size(5, 1))
	soak.Figure(t, "%d marks in %d bytes of Go's source", len(marks), size)
	if size < soak.Size(10_000_000, 50_000_000) || len(marks)*1_000_000 > 3*size {
		for _, mark := range marks {
			t.Logf("%s %s:%d", mark.rule, mark.file, mark.line)
		}
		t.Errorf("%d marks in %d bytes", len(marks), size)
	}
}

// A value that its name makes a secret stays one, in the notations of settings, code and commands.
// Each password is made of words or short, each token is random.
func TestNamedSecretsAreFound(t *testing.T) {
	t.Parallel()
	notations := map[string][]string{
		"person": {
			"password: %s\n", "db:\n  password: \"%s\"\n", "DB_PASSWORD=%s\n", "export PGPASSWORD='%s'\n", `{"password": "%s"}`, `{"user":"a","passwd":"%s"}`,
			"password := \"%s\"", "const password = '%s';", "password = \"%s\"  # of the database", "Config{Password: \"%s\"}", "let dbPassword = `%s`",
			"postgres://app:%s@db:5432/x", "amqp://app:%s@queue", "Server=db;User Id=sa;Password=%s;", "<password>%s</password>", "--password=%s",
			"mongodb+srv://u:%s@c.example/x", "machine x.example login ann password %s\n", "connect(user='a', password='%s')",
		},
		"machine": {
			"token: %s\n", "api_key: \"%s\"\n", "API_TOKEN=%s\n", "export SECRET_KEY=\"%s\"\n", `{"token": "%s"}`, `{"client_secret":"%s"}`, "token := \"%s\"",
			"const apiKey = '%s';", "SECRET = \"%s\"", "Client{APIKey: \"%s\"}", "--api-key %s", "--token=%s", "https://x.example/?access_token=%s",
			"Authorization: Bearer %s", "X-Api-Key: %s\n", "aws_secret_access_key = %s\n", "AccountKey=%s;", "<token>%s</token>", "client_secret=%s&x=1",
			"os.Setenv(\"API_TOKEN\", \"%s\")", "the token is %s now",
		},
	}
	values := map[string][]string{
		"person":  {"opensesame", "hunter2", "tiger-lily", "S3cret!pw", "correcthorse", "sommer2024"},
		"machine": {"k3J9sd8Qz71M", "9f8e7d6c5b4a39281706f5e4", "Zx8Qw2Er5Ty7Ui0P", "a7f3-99bc-41de-8c02", "qK7vLm2xR9pT4wBn8sYd"},
	}
	for kind, texts := range notations {
		for _, notation := range texts {
			for _, value := range values[kind] {
				if text := fmt.Sprintf(notation, value); strings.Contains(new(Redactor).Text(text), value) {
					t.Errorf("%q stays", text)
				}
			}
		}
	}
}

// A password that a person chose is a secret, however weak it is, and a placeholder is none.
func TestWeakPasswords(t *testing.T) {
	t.Parallel()
	notations := []string{"DB_PASSWORD=%s\n", "password: %s\n", "{\"password\": \"%s\"}", "https://ann:%s@host/x", "password = '%s'", "<password>%s</password>"}
	for _, notation := range notations {
		for _, value := range []string{"Password123", "Secret2024", "Test1234", "mypassword", "foobar", "Secret-Token-1"} {
			if text := fmt.Sprintf(notation, value); strings.Contains(new(Redactor).Text(text), value) {
				t.Errorf("%q stays", text)
			}
		}
		for _, value := range []string{"your-password", "changeme", "example", "test-password", "db_password", "password", "xxxx"} {
			text := fmt.Sprintf(notation, value)
			if got := new(Redactor).Text(text); got != text {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	for _, text := range []string{"DB_PASSWORD=<password>", "https://user:pass@host/x", "password: ${PASSWORD}"} {
		if got := new(Redactor).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Code, prose, versions, types and placeholders after the name of a secret are none.
func TestNamesAreNotSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"GET /secret HTTP/1.1", "github.com/aws/aws-sdk-go-v2/credentials v1.17.18 h1:x", "var secret corev1.Secret", "password string",
		"hello.cookie = hs.serverHello.cookie", `orgName: "bookish",`, `Token: "test-token",`, `t.Setenv("GH_TOKEN", "auth-token")`, "id-token: write",
		`{"api_key": "test-key"}`, "oauth_token: abc123\n", `APIKey: "key1",`, "token: gho_******", "serviceAccountName: proxies", "PrivateKey: m2.privateKey,",
		`"input_cost_per_token": 2.5e-06,`, `"token": "xoxb-your-token"`, "client login with password only must fail", "tough-cookie \"^4.1.3\"",
		"api_key=\"xxxxxxxxxxxxxxxxxxxxxxxx\"", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "nextPageToken: \"k3J9sd8Qz71M\"", "csrf_token=\"k3J9sd8Qz71M\"",
	} {
		if got := new(Redactor).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
