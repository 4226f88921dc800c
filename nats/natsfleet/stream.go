package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
)

// workerMessages is the number of messages that the server keeps for a worker. With only one, a
// list could miss a worker that renews its lease meanwhile: the old message is gone, and the new
// one comes after the list.
const workerMessages = 4

// maxMessage is the size of the largest message: a record with its headers.
const maxMessage = fleet.MaxRecord + 16<<10

// openStreams opens the streams, and creates missing ones.
func (e *Engine) openStreams(ctx context.Context) error {
	if most := e.conn.MaxPayload(); most < maxMessage {
		return fmt.Errorf("the server takes messages of %d bytes; set max_payload in its configuration to %d or more", most, maxMessage)
	}
	for _, want := range e.streams() {
		stream, err := answered(ctx, e, func(ctx context.Context) (jetstream.Stream, error) {
			stream, err := e.js.Stream(ctx, want.Name)
			switch missing := errors.Is(err, jetstream.ErrStreamNotFound); {
			case missing && e.opts.Role != "":
				err = e.mayNotCreate()
			case missing:
				stream, err = e.js.CreateStream(ctx, want)
			}
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else has just created it
				stream, err = e.js.Stream(ctx, want.Name)
			}
			return stream, err
		})
		if err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, err)
		}
		if fault := e.streamFault(want, stream.CachedInfo().Config); fault != "" {
			return fmt.Errorf("stream %s %s", want.Name, fault)
		}
	}
	return nil
}

// mayNotCreate is the error for a role without streams. The server would not answer it.
func (e *Engine) mayNotCreate() error {
	return fmt.Errorf("it does not exist, and the role %s may not create it: open the fleet once as a user that may do anything, "+
		"with Options.Replicas if it is a cluster", e.opts.Role)
}

// streams returns the settings of all streams.
func (e *Engine) streams() []jetstream.StreamConfig {
	var streams []jetstream.StreamConfig
	for _, t := range fleet.Tables {
		config := e.stream(e.tableStream(t), "records of Clew: "+string(t), "*", "*.*")
		switch t {
		case fleet.Workers: // each is written every few seconds
			config.MaxMsgsPerSubject = workerMessages
		case fleet.Decisions: // nobody who may write one can remove any
			config.AllowRollup, config.AllowMsgTTL = false, false
		}
		streams = append(streams, config)
	}
	return append(streams, e.stream(e.fileStream(), "files of Clew", ">"))
}

func (e *Engine) stream(name, description string, patterns ...string) jetstream.StreamConfig {
	var subjects []string
	for _, pattern := range patterns {
		subjects = append(subjects, name+"."+pattern)
	}
	return jetstream.StreamConfig{
		Name:               name,
		Description:        description,
		Subjects:           subjects,
		Discard:            jetstream.DiscardNew,
		Replicas:           max(e.opts.Replicas, 1),
		AllowDirect:        true,
		AllowAtomicPublish: true,
		AllowRollup:        true,
		AllowMsgTTL:        true,
	}
}

// streamFault describes the unsuitable settings of a stream, or returns "".
func (e *Engine) streamFault(want, c jetstream.StreamConfig) string {
	switch {
	case c.Storage != jetstream.FileStorage && !e.opts.AllowUnsynced:
		return "is kept in memory only; set Options.AllowUnsynced to accept that"
	case !slices.Equal(c.Subjects, want.Subjects):
		return "has other subjects"
	case c.PersistMode != jetstream.DefaultPersistMode: // atomic batches exclude it, too
		return "acknowledges messages before they are on disk"
	case !c.AllowAtomicPublish:
		return "does not allow atomic batches, which need server 2.12"
	case !c.AllowDirect:
		return "does not allow direct access"
	case want.AllowRollup && (!c.AllowRollup || c.DenyPurge || !c.AllowMsgTTL):
		return "does not allow to remove records"
	case c.NoAck:
		return "does not acknowledge messages"
	case c.Retention != jetstream.LimitsPolicy:
		return "drops messages that were read"
	case c.MaxAge > 0 || c.Discard != jetstream.DiscardNew || want.MaxMsgsPerSubject <= 0 && c.MaxMsgsPerSubject > 0:
		return "drops old messages"
	case want.MaxMsgsPerSubject > 0 && c.MaxMsgsPerSubject != want.MaxMsgsPerSubject:
		return "keeps old messages"
	case c.MaxMsgSize > 0 && c.MaxMsgSize < maxMessage:
		return "refuses large messages"
	}
	return ""
}
