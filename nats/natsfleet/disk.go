package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/internal/diskspace"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/nats/internal/natsserver"
)

// A server whose write fails once accepts nothing more, even when there is room again. So the
// server in this process takes no new jobs when little of its disk is left: the rest is for running
// jobs, and for the removal of old ones, which also writes. If the disk is full all the same, since
// other programs write to it, the server is restarted when there is room.

const (
	// minDisk is the free space below which there are no new jobs, unless the disk is small: see least.
	minDisk = 1 << 30
	// minShare is which part of a small disk must be free.
	minShare = 20
	// minRestart is the free space with which a server is started again, if its disk was full. It is little, so that
	// old jobs can be dropped.
	minRestart = 16 << 20
)

// diskInterval is the interval at which the server's disk is checked. Tests set a shorter one.
var diskInterval = time.Second

// A disk is the state of the disk of a server.
type disk struct {
	Dir   string `json:"dir"`
	Free  int64  `json:"free"`
	Total int64  `json:"total"`
	Fault string `json:"fault,omitempty"` // why the server can't write
}

// least is the free space below which the server takes no new jobs.
func (d *disk) least() int64 { return min(minDisk, d.Total/minShare) }

// low returns why there can be no new jobs, or "".
func (d *disk) low() string {
	switch {
	case d.Fault != "":
		return fmt.Sprintf("the disk of the server can't be written to: %s; make room on the disk of %s, and the server continues", d.Fault, d.Dir)
	case d.Free < d.least():
		return fmt.Sprintf("the disk of the server is almost full: %s of %s are free for %s, and new jobs need %s; make room there, or drop old jobs",
			wording.Size(d.Free), wording.Size(d.Total), d.Dir, wording.Size(d.least()))
	}
	return ""
}

func (d *disk) finding() Finding {
	f := Finding{Subject: "disk", OK: d.low() == "", Text: fmt.Sprintf("%s of %s of the disk of the server are free.", wording.Size(d.Free), wording.Size(d.Total))}
	switch {
	case d.Fault != "":
		f.Text = fmt.Sprintf("The server can't write: %s.", d.Fault)
		f.Fix = fmt.Sprintf("Make room on the disk of %s: the server then continues by itself.", d.Dir)
	case !f.OK:
		f.Fix = fmt.Sprintf("Make room on the disk of %s, or drop old jobs: the server takes no new ones below %s.", d.Dir, wording.Size(d.least()))
	}
	return f
}

// diskSubject is the subject of requests for the state of the disk. Only the server of a directory answers.
func (e *Engine) diskSubject() string { return e.name + "_SERVER.DISK" }

// A guard looks after the disk of the server in this process.
type guard struct {
	engine *Engine
	srv    *natsserver.Server
	stop   context.CancelFunc
	done   chan struct{}
}

// watchDisk answers requests for the state of the disk, and starts the server again after the disk was full.
func (e *Engine) watchDisk(ctx context.Context) error {
	srv := e.srv.Load()
	_, err := e.conn.Subscribe(e.diskSubject(), func(m *nats.Msg) {
		if text, err := json.Marshal(e.ownDisk(srv)); err == nil {
			_ = m.Respond(text) // the client does without
		}
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.guard = &guard{engine: e, srv: srv, stop: stop, done: make(chan struct{})}
	go e.guard.run(running)
	return nil
}

func (g *guard) run(ctx context.Context) {
	defer close(g.done)
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	for r := (restarts{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if g.srv.Fault() == nil || !r.due(time.Now()) {
			continue
		}
		if d := g.engine.ownDisk(g.srv); d.Free < min(minRestart, d.least()) {
			continue
		}
		_ = g.srv.Restart(ctx) // if it fails, that is the next fault
		r.note(time.Now())
	}
}

// maxRestartWait is the longest time between two restarts, in intervals.
const maxRestartWait = 64

// restarts decides when the server may be restarted. A restart does not mean that the next write
// succeeds: a disk with room may refuse it, since the user's quota is used up. So the time between
// two restarts grows, and is short again after a long run of the server.
type restarts struct {
	last time.Time
	wait time.Duration // after the last one
}

func (r *restarts) due(now time.Time) bool { return now.Sub(r.last) >= r.wait }

func (r *restarts) note(now time.Time) {
	most := maxRestartWait * diskInterval
	if r.wait = max(min(2*r.wait, most), diskInterval); now.Sub(r.last) > 2*most {
		r.wait = diskInterval
	}
	r.last = now
}

// close ends the guard. It does not wait for the restart of a server after the context ends.
func (g *guard) close(ctx context.Context) {
	if g == nil {
		return
	}
	g.stop()
	select {
	case <-g.done:
	case <-ctx.Done():
	}
}

// ownDisk returns the state of the disk of the server in this process.
func (e *Engine) ownDisk(srv *natsserver.Server) *disk {
	d := &disk{Dir: e.opts.Dir}
	d.Free, d.Total, _ = diskspace.Of(e.opts.Dir) // 0 means that it is not known
	if fault := srv.Fault(); fault != nil && !errors.Is(fault, natsserver.ErrRestarting) {
		d.Fault = fault.Error()
	}
	return d
}

// askDisk returns the state of the disk of the server, or nil if that is not known: the server is none of a
// directory, or does not answer.
func (e *Engine) askDisk(ctx context.Context) *disk {
	if srv := e.srv.Load(); srv != nil {
		return e.ownDisk(srv)
	}
	if !e.conn.IsConnected() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout/5)
	defer cancel()
	linked, unlink, err := e.link.during(limited)
	if err != nil {
		return nil
	}
	defer unlink()
	expected, done := e.link.expect(linked, e.diskSubject())
	defer done()
	d := new(disk)
	m, err := e.conn.RequestWithContext(expected, e.diskSubject(), nil)
	if linked.Err() != nil && limited.Err() == nil {
		return nil // the connection was lost: the next server may answer
	}
	e.link.noteSilence(err != nil && expected.Err() != nil && ctx.Err() == nil)
	if err != nil || json.Unmarshal(m.Data, d) != nil {
		return nil
	}
	return d
}

// silence is the time for which a server that did not answer, or that this user may not ask, is not
// asked again: that would make each call slow.
const silence = time.Minute

// knownDisk is askDisk for callers that can do without an answer.
func (e *Engine) knownDisk(ctx context.Context) *disk {
	if e.srv.Load() == nil && e.link.isSilent() {
		return nil
	}
	return e.askDisk(ctx)
}

// checkDisk returns an error if the server takes no new jobs.
func (e *Engine) checkDisk(ctx context.Context) error {
	if d := e.knownDisk(ctx); d != nil && d.low() != "" {
		return errors.New(d.low())
	}
	return nil
}

// serverFault returns the reason why a server does not answer, or "" if that is not known. If the
// context ended because of that, askDisk has only its own limit.
func (e *Engine) serverFault(ctx context.Context) string {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if d := e.knownDisk(ctx); d != nil && d.Fault != "" {
		return d.low()
	}
	return ""
}
