package backlog

import (
	"fmt"
	"slices"

	"github.com/clewdev/clew/wire"
)

// A queue holds messages in order, as runs of them in memory and runs of them on disk.
type queue struct {
	memoryBytes int64 // the bound of memory until the queue spills
	diskBytes   int64 // the bound of the spool

	runs   []run
	first  int   // the index of the first run that was not taken
	memory int64 // the cost of the messages in memory
	spool  spool // the messages on disk

	// The queue spills from the first message that memory has no room for until it is empty: new
	// messages go to disk.
	spills    bool
	keepBytes int64 // the bound of memory meanwhile, for messages that can't be on disk
}

// A run is a part of the queue that is either in memory or on disk.
type run struct {
	msgs  []wire.Message // nil for a run on disk
	bytes int64          // its cost in memory, or its size in the spool
}

// minFileBytes prevents that a small bound leads to very many files.
const minFileBytes = 1 << 20

func (q *queue) configure(opts Options) {
	q.memoryBytes, q.diskBytes = opts.MemoryBytes, opts.DiskBytes
	q.spool.fileBytes = max(opts.DiskBytes/16, min(opts.DiskBytes/4, minFileBytes))
	q.spool.create = func() (file, error) { return createTemp(opts.Dir) }
}

func (q *queue) empty() bool { return q.first == len(q.runs) }

// A limit is the set of bounds that a queue may exceed to add messages.
type limit int

const (
	inRoom   limit = iota // none: only memory, or the disk once the queue spills
	spilling              // the memory bound: on disk if memory is full
	urgent                // all of them
)

// add adds the messages that there is room for, and returns how many.
func (q *queue) add(msgs []wire.Message, l limit) int {
	n := 0
	if !q.spills {
		n = q.fill(msgs)
		if l == inRoom {
			return n
		}
		q.keepBytes = q.memory + q.memoryBytes
	}
	spilled := q.spill(msgs[n:], l == urgent)
	q.spills = q.spills || spilled > 0
	return n + spilled
}

// fill adds messages in memory while there is room, and returns how many. The first one may be of
// any size.
func (q *queue) fill(msgs []wire.Message) int {
	before, n := q.memory, 0
	for ; n < len(msgs); n++ {
		memory := q.memory + cost(msgs[n])
		if memory > q.memoryBytes && q.memory > 0 {
			break
		}
		q.memory = memory
	}
	if n > 0 && n < len(msgs) {
		msgs = slices.Clone(msgs[:n]) // so that the rest does not stay in memory as well
	}
	if n > 0 {
		q.push(run{msgs, q.memory - before})
	}
	return n
}

// cost returns the cost of a message in memory.
func cost(msg wire.Message) int64 { return int64(len(msg.Raw())) + 256 }

// spill adds messages on disk while there is room, or all of them if it must, and returns how many.
// Messages that can't be on disk are added in memory, in order.
func (q *queue) spill(msgs []wire.Message, must bool) int {
	n := 0
	for n < len(msgs) {
		records, count := encode(msgs[n:])
		switch {
		case count > 0 && (must || q.spool.size < q.diskBytes) && q.spool.write(records) == nil:
			q.pushDisk(int64(len(records)))
		case must || q.memory < q.keepBytes:
			count = max(count, 1)
			q.push(q.hold(msgs[n : n+count]))
		default:
			return n
		}
		n += count
	}
	return n
}

// hold returns a run in memory, whatever the bound. It copies the messages, so that the rest of the
// slice can be freed.
func (q *queue) hold(msgs []wire.Message) run {
	r := run{msgs: slices.Clone(msgs)}
	for _, msg := range msgs {
		r.bytes += cost(msg)
	}
	q.memory += r.bytes
	return r
}

func (q *queue) pushDisk(bytes int64) {
	if last := len(q.runs) - 1; last >= q.first && q.runs[last].msgs == nil {
		q.runs[last].bytes += bytes
		return
	}
	q.push(run{bytes: bytes})
}

// push adds a run. It removes the runs that were taken once they are more than half.
func (q *queue) push(r run) {
	if q.first > len(q.runs)/2 {
		q.runs = slices.Delete(q.runs, 0, q.first)
		q.first = 0
	}
	q.runs = append(q.runs, r)
}

// putBack adds messages before all others.
func (q *queue) putBack(msgs []wire.Message) {
	r := q.hold(msgs)
	if q.first == 0 {
		q.runs = slices.Insert(q.runs, 0, r)
		return
	}
	q.first--
	q.runs[q.first] = r
}

// take takes the first run in memory, or a piece of the first run on disk. After an error nothing
// is left on disk. The queue must not be empty.
func (q *queue) take() (batch, error) {
	r := q.runs[q.first]
	if r.msgs != nil {
		q.memory -= r.bytes
		q.drop()
		return batch{msgs: r.msgs}, nil
	}
	records, err := q.spool.read(r.bytes)
	if err != nil {
		return batch{}, fmt.Errorf("backlog: %d bytes of messages are lost: %w", q.dropDisk(), err)
	}
	if int64(len(records)) < r.bytes {
		q.runs[q.first].bytes -= int64(len(records))
	} else {
		q.drop()
	}
	return batch{records: records}, nil
}

// idleRuns is the maximum number of runs that an empty queue has space for.
const idleRuns = 16

// drop drops the first run.
func (q *queue) drop() {
	q.runs[q.first] = run{}
	q.first++
	if !q.empty() {
		return
	}
	q.spills = false
	if cap(q.runs) > idleRuns {
		q.runs, q.first = nil, 0
	}
}

// dropDisk drops the runs on disk, and returns how many bytes they had.
func (q *queue) dropDisk() int64 {
	var lost int64
	kept := q.runs[:0]
	for _, r := range q.runs[q.first:] {
		if r.msgs == nil {
			lost += r.bytes
		} else {
			kept = append(kept, r)
		}
	}
	clear(q.runs[len(kept):])
	q.runs, q.first, q.spills = kept, 0, false
	q.spool.clear()
	return lost
}

func (q *queue) clear() {
	q.runs, q.first, q.memory, q.spills = nil, 0, 0, false
	q.spool.clear()
}
