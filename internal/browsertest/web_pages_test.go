package browsertest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// listenAgain listens where a server was, and answers with a handler until the returned function is
// called.
func (s *viewerSite) listenAgain(handler http.Handler) (end func()) {
	s.Helper()
	_ = s.Listener.Close() // it may be closed
	s.CloseClientConnections()
	var listener net.Listener
	s.until("the port is free", func() (err error) {
		listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", s.Listener.Addr().String())
		return err
	})
	server := &http.Server{Handler: handler}   //nolint:gosec // the test's own browser
	go func() { _ = server.Serve(listener) }() // it ends with the test
	end = func() { _ = server.Close() }        // it may be closed
	s.Cleanup(end)
	return end
}

// until tries something until it works.
func (s *viewerSite) until(what string, try func() error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for err := try(); err != nil; err = try() {
		if ctx.Err() != nil {
			s.Fatalf("%s: %v", what, err)
		}
	}
}

// An impostor is a program that listens where a server was.
type impostor struct {
	answer                  string // to a request for a proof; "" means that there is none
	proofs, others, secrets atomic.Int64
}

func (i *impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		i.secrets.Add(1)
	}
	if !strings.HasSuffix(r.URL.Path, "/proof") {
		i.others.Add(1)
	} else {
		i.proofs.Add(1)
	}
	if i.answer == "" {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(i.answer)) // the browser may have gone
}

// A program that listens where a server was gets neither the token nor a request for data. The page
// goes on when the server is back, and logs out when another one is there.
func TestImpostorPage(t *testing.T) {
	t.Parallel()
	f := story(t, "impostor")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.wait("one stream is open", func() bool { return s.streams.Load() == 1 })
	check := func(i *impostor) {
		t.Helper()
		p.wait("the impostor is asked", func() bool { return i.proofs.Load() > 0 })
		if i.secrets.Load() > 0 || i.others.Load() > 0 {
			t.Errorf("the impostor got the token %d times, and %d requests without a proof", i.secrets.Load(), i.others.Load())
		}
	}
	silent := new(impostor)
	end := s.listenAgain(silent)
	p.until(`!document.querySelector(".connection").hidden`)
	p.run(`document.querySelector("[data-panel=files]").click()`)
	p.see("Another program answers")
	check(silent)
	end()
	end = s.listenAgain(http.HandlerFunc(s.serve))
	p.until(`document.querySelector(".connection").hidden`)
	f.write(f.prompt("Are you back?"))
	p.see("Are you back?")
	end()
	liar := &impostor{answer: `{"proof":"AAAA","token":"t","start":"s"}`}
	s.listenAgain(liar)
	p.see("This browser is not logged in")
	check(liar)
	if value[bool](p, `localStorage.getItem("clew-token") !== null`) {
		t.Error("a token that is of no use is kept")
	}
}
