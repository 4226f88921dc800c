package natsstore

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/polltest"
)

// A server of a cluster that does not have the latest message yet is asked again, unless the leader
// reports that there is none any more.
func TestReplicaIsBehind(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	conn, err := nats.Connect(srv.ClientURL(), nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var last, behind atomic.Int64 // the last message of the leader, and how often the other server does not have it
	for subject, handle := range map[string]nats.MsgHandler{
		"$JS.API.STREAM.MSG.GET.S": func(m *nats.Msg) {
			_ = m.Respond(fmt.Appendf(nil, `{"message":{"seq":%d}}`, last.Load()))
		},
		"$JS.API.DIRECT.GET.S": func(m *nats.Msg) {
			if behind.Add(-1) >= 0 {
				_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}}})
				return
			}
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{jetstream.SequenceHeader: {"1"}}, Data: []byte("{}")})
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"204"}}})
		},
	} {
		if _, err := conn.Subscribe(subject, handle); err != nil {
			t.Fatal(err)
		}
	}
	s := &Store{name: "S", conn: conn}
	for leader, want := range map[int64]error{1: nil, 0: errDeleted} {
		last.Store(leader)
		behind.Store(2)
		n := 0
		var failed error
		for _, err := range s.messages(t.Context(), span{subject: "S.p.s./", last: 1}) {
			if failed = err; err == nil {
				n++
			}
		}
		if !errors.Is(failed, want) || want == nil && n != 1 {
			t.Errorf("the leader has %d messages: got %d, %v", leader, n, failed)
		}
	}
}
