package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/wording"
)

// A Finding is the state of one property of the servers, as far as it is known.
type Finding struct {
	Subject string `json:"subject"` // such as "sync" or the name of a stream
	OK      bool   `json:"ok"`
	Text    string `json:"text"`          // a sentence
	Fix     string `json:"fix,omitempty"` // what to do, if it is not OK
}

// Doctor looks for settings and states in which the servers may lose jobs, or stop taking them. It
// also reports what a client can't know. The error means that the server does not answer.
func (e *Engine) Doctor(ctx context.Context) ([]Finding, error) {
	findings := []Finding{e.syncFinding(), e.versionFinding()}
	account, err := answered(ctx, e, e.js.AccountInfo)
	if err != nil {
		return findings, e.wrapError(ctx, "doctor", err)
	}
	findings = append(findings, spaceFinding(account))
	if d := e.askDisk(ctx); d != nil {
		findings = append(findings, d.finding())
	}
	for _, want := range e.streams() {
		info, err := answered(ctx, e, func(ctx context.Context) (*jetstream.StreamInfo, error) {
			stream, err := e.js.Stream(ctx, want.Name)
			if err != nil {
				return nil, err
			}
			return stream.CachedInfo(), nil
		})
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			findings = append(findings, Finding{Subject: want.Name, Text: "The stream is gone.",
				Fix: "Restore it from a backup; a program that starts now creates an empty one."})
			continue
		}
		if err != nil {
			return findings, e.wrapError(ctx, "doctor", err)
		}
		findings = append(findings, e.streamFinding(want, info))
	}
	return findings, nil
}

func (e *Engine) syncFinding() Finding {
	f := Finding{Subject: "sync", OK: true}
	switch {
	case e.Serves():
		f.Text = "The server in this process syncs what it acknowledges."
	case e.opts.Dir != "":
		f.Text = "The server of another process on this machine syncs what it acknowledges."
	case e.opts.SyncAlways:
		f.Text = "The options say that the servers sync what they acknowledge; a client can't check that."
	default:
		f.OK = false
		f.Text = "The servers may acknowledge jobs two minutes before they are on disk: a loss of power loses these."
		f.Fix = "Set sync_interval: always in the section jetstream of the configuration of each server, and Options.SyncAlways."
	}
	return f
}

// minVersion is the oldest version that has atomic batches.
var minVersion = [2]int{2, 12}

func (e *Engine) versionFinding() Finding {
	version := e.conn.ConnectedServerVersion()
	f := Finding{Subject: "version", OK: true, Text: fmt.Sprintf("The server has version %s.", version)}
	if others := len(e.conn.DiscoveredServers()); others > 0 {
		f.Text = fmt.Sprintf("The server has version %s; those of the others in the cluster can't be seen.", version)
	}
	if older(version, minVersion) {
		f.OK, f.Fix = false, fmt.Sprintf("Update the servers to %d.%d or newer.", minVersion[0], minVersion[1])
	}
	return f
}

// older reports whether a version comes before another one, or is unknown.
func older(version string, than [2]int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil {
		return true
	}
	return major < than[0] || major == than[0] && minor < than[1]
}

// lowSpace is the part of the space that is left when it is time to do something.
const lowSpace = 10

// spaceFinding reports the free space, as far as the server knows it.
func spaceFinding(a *jetstream.AccountInfo) Finding {
	used, limit := int64(a.Store), a.Limits.MaxStore //nolint:gosec // the server has no files of exabytes
	f := Finding{Subject: "space", OK: true}
	if limit <= 0 {
		f.Text = fmt.Sprintf("The streams take %s; how much more fits can't be seen by a client.", wording.Size(used))
		return f
	}
	f.Text = fmt.Sprintf("The streams take %s of %s.", wording.Size(used), wording.Size(limit))
	if limit-used < limit/lowSpace {
		f.OK, f.Fix = false, "Drop old jobs, or give the server more space: a full server accepts no jobs and no results."
	}
	return f
}

// maxLag is the maximum lag of a replica.
const maxLag = 1000

// streamFinding reports whether a stream has the right settings and servers.
func (e *Engine) streamFinding(want jetstream.StreamConfig, info *jetstream.StreamInfo) Finding {
	f := Finding{Subject: want.Name}
	fault := e.streamFault(want, info.Config)
	if fault == "" && info.Config.AllowRollup && !want.AllowRollup {
		fault = "lets those who write records remove the records of others"
	}
	if fault != "" {
		f.Text = "The stream " + fault + "."
		f.Fix = "Change its settings with the program nats, or remove it if it has nothing of value."
		return f
	}
	if info.Config.Storage != jetstream.FileStorage {
		f.Text, f.Fix = "The stream is kept in memory only.", "Move it to a stream with file storage."
		return f
	}
	replicas := info.Config.Replicas
	if info.Cluster != nil {
		if fault := clusterFault(info.Cluster); fault != "" {
			f.Text, f.Fix = fault, "Start the servers that are missing, and wait until they are up to date."
			return f
		}
	}
	if replicas < 3 && info.Cluster != nil && info.Cluster.Name != "" {
		f.Text = fmt.Sprintf("The stream is on %d server of the cluster %s: if that is lost, so is the stream.", replicas, info.Cluster.Name)
		f.Fix = "Run nats stream edit " + want.Name + " --replicas 3."
		return f
	}
	f.OK = true
	f.Text = fmt.Sprintf("%s on %s, all up to date.", messages(info.State.Msgs), wording.Count(max(replicas, 1), "server"))
	return f
}

func messages(n uint64) string {
	return wording.Count(int(n), "message") //nolint:gosec // no stream has so many messages
}

// clusterFault describes the fault of a stream's servers, or returns "".
func clusterFault(c *jetstream.ClusterInfo) string {
	if c.Leader == "" {
		return "The stream has no leader, so it accepts nothing."
	}
	for _, peer := range c.Replicas {
		switch {
		case peer.Offline:
			return fmt.Sprintf("The server %s is offline.", peer.Name)
		case !peer.Current || peer.Lag > maxLag:
			return fmt.Sprintf("The server %s is %s behind, last seen %s ago.", peer.Name, messages(peer.Lag), wording.Duration(peer.Active))
		}
	}
	return ""
}
