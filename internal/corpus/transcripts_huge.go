package corpus

import (
	"bytes"
	"fmt"
)

const (
	noiseLine = 512 << 10
	nulRun    = 4 << 20
)

// HugeProject fills dir with one session, whose transcript has about size bytes: two turns, and between them progress
// of tools that repeats all that a subagent has said, and runs of NUL bytes, as a crash leaves them. Such transcripts
// exist.
func HugeProject(dir string, seed uint64, size int) (*Truth, error) {
	p := &projects{generator: newGenerator(nil, seed), dir: dir, book: newBook()}
	p.texts(size)
	r := p.newRecording(0, 10)
	if err := r.create(r.path(r.id + ".jsonl")); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	r.book.session(r)
	r.startProcess()
	r.turn(2)
	r.noise(size)
	r.turn(2)
	r.endProcess()
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	return p.book.truth(), nil
}

// noise writes lines of progress until the transcript has that size. To be fast, they differ only in their UUIDs.
func (r *recording) noise(size int) {
	last, uuid := fmt.Sprint(r.parent), r.uuid()
	message := object{"type", "user", "message", object{"role", "user", "content", r.output(noiseLine)}}
	data := object{"type", "agent_progress", "agentId", "a" + r.hex(16), "normalizedMessages", []object{message}}
	r.line = append(object{"parentUuid", last, "isSidechain", false, "type", "progress", "data", data, "toolUseID",
		r.newID("toolu_01"),
		"uuid", uuid, "timestamp", r.stamp(), "sessionId", r.id, "version", r.version}.append(r.line[:0]), '\n')
	parentAt, uuidAt := bytes.Index(r.line, []byte(last)), bytes.LastIndex(r.line, []byte(uuid))
	nuls := make([]byte, nulRun)
	for i := 0; r.err == nil && r.size < size; i++ {
		if i%32 == 16 && size > 4*nulRun {
			_, err := r.out.Write(nuls)
			r.fail(err)
			r.size += nulRun
		}
		copy(r.line[parentAt:], last)
		copy(r.line[uuidAt:], uuid)
		_, err := r.out.Write(r.line)
		r.fail(err)
		r.size += len(r.line)
		r.book.line("progress", len(r.line))
		last, uuid = uuid, r.uuid()
	}
	r.parent = last
}
