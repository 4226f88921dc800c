package clewtest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

func TestOutsidePlaysAnAgent(t *testing.T) {
	t.Parallel()
	var answer string
	err := clewtest.Outside(t.Context(), func(tb testing.TB) {
		conn := clewtest.NewAgent(tb, dialogue(t, "> {\"type\":\"a\"}\n< b\n")).Conn()
		if _, err := io.WriteString(conn.Stdin, "{\"type\":\"a\"}\n"); err != nil {
			tb.Fatal(err)
		}
		answer, _ = bufio.NewReader(conn.Stdout).ReadString('\n')
	})
	if err != nil || answer != "b\n" {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestOutsideServesAModel(t *testing.T) {
	t.Parallel()
	var home, url string
	err := clewtest.Outside(t.Context(), func(tb testing.TB) {
		model := clewtest.NewModel(tb)
		home, url = model.Home(), model.URL()
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the model still answers")
	}
}

// What would have failed a test is the error.
func TestOutsideFails(t *testing.T) {
	t.Parallel()
	reached := false
	err := clewtest.Outside(t.Context(), func(tb testing.TB) {
		clewtest.NewAgent(tb, dialogue(t, "> {\"type\":\"a\"}\n")).Conn()
		tb.Fatal(fmt.Errorf("as told"))
		reached = true
	})
	if err == nil || !strings.HasPrefix(err.Error(), "as told\nclewtest: step 1 ") || reached {
		t.Errorf("got %v, went on: %t", err, reached)
	}
}

// Whatever a function for the end does, the others are called.
func TestOutsideCleansUp(t *testing.T) {
	t.Parallel()
	var called []string
	err := clewtest.Outside(t.Context(), func(tb testing.TB) {
		tb.Cleanup(func() { called = append(called, "first") })
		tb.Cleanup(func() {
			tb.Cleanup(func() { called = append(called, "of another") })
			tb.Fatal("as told")
		})
		tb.Cleanup(func() { called = append(called, "last") })
	})
	if got := strings.Join(called, ", "); got != "last, of another, first" || err == nil || err.Error() != "as told" {
		t.Errorf("called %s; %v", got, err)
	}
}
