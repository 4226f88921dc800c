package transcript

import (
	"fmt"
	"math"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
)

// DecodeEntry decodes a line, which must be one JSON object: the error tells where it is not. Members of an unexpected
// type count as absent, and of a member that appears twice the last one counts. Bytes that are not UTF-8 are U+FFFD in
// strings. The entry's raw members share the memory of line. DecodeEntry may be called from several goroutines.
func DecodeEntry(line []byte) (Entry, error) {
	d := entryDecoders.Get().(*entryDecoder) //nolint:forcetypeassert // nothing else is in there
	defer entryDecoders.Put(d)
	defer d.release()
	var e Entry
	if err := d.decode(line, &e); err != nil {
		return Entry{}, err
	}
	if e.Message != nil {
		e.Message = new(*e.Message)
		if e.Message.Usage != nil {
			e.Message.Usage = new(*e.Message.Usage)
		}
	}
	return e, nil
}

var entryDecoders = sync.Pool{New: func() any { return new(entryDecoder) }}

// An entryDecoder decodes the lines of a transcript one by one, and shares what repeats from line to line. The zero
// value is ready.
type entryDecoder struct {
	jsonlex.Lexer
	line  []byte
	e     *Entry
	words wordTable

	lastUUID string // of the entry before: usually the parent of the next one
	message  Message
	usage    Usage

	// What a line has that this package does not know, as far as it is known before the line's type is.
	fields [][]byte
	blocks []string
}

// decode decodes line into e, whose lists it reuses. The entry's message is valid until the next call, and so are the raw
// members as long as line is. After an error e is of no use.
func (d *entryDecoder) decode(line []byte, e *Entry) error {
	*e = Entry{Raw: line, Supersedes: e.Supersedes[:0], Unknown: e.Unknown[:0]}
	d.line, d.e = line, e
	d.fields, d.blocks = d.fields[:0], d.blocks[:0]
	d.Reset(line)
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		d.member(key)
	}
	d.End()
	if err := d.Err(); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	if e.UUID != "" {
		d.lastUUID = e.UUID
	}
	d.survey()
	return nil
}

// release lets go of the line.
func (d *entryDecoder) release() {
	d.Reset(nil)
	clear(d.fields)
	d.line, d.e, d.message = nil, nil, Message{}
}

// member reads one member of an entry. It is one switch since it runs for every member of every line.
func (d *entryDecoder) member(key []byte) {
	e := d.e
	switch string(key) {
	case "type":
		e.Type = d.word()
	case "subtype":
		e.Subtype = d.word()
	case "uuid":
		e.UUID = d.text()
	case "parentUuid":
		e.Root = d.Peek() == 'n'
		e.ParentUUID = d.parent()
	case "logicalParentUuid":
		e.LogicalParentUUID = d.text()
	case "leafUuid":
		e.LeafUUID = d.text()
	case "timestamp":
		e.Timestamp = parseTime(d.bytes())
	case "sessionId":
		e.SessionID = d.word()
	case "agentId":
		e.AgentID = d.word()
	case "cwd":
		e.CWD = d.word()
	case "gitBranch":
		e.GitBranch = d.word()
	case "version":
		e.Version = d.word()
	case "permissionMode":
		e.PermissionMode = d.word()
	case "promptId":
		e.PromptID = d.word()
	case "requestId":
		e.RequestID = d.word()
	case "teamName":
		e.TeamName = d.word()
	case "agentName":
		e.AgentName = d.word()
	case "sourceToolUseID":
		e.SourceToolUseID = d.word()
	case "isSidechain":
		e.IsSidechain = d.flag()
	case "isMeta":
		e.IsMeta = d.flag()
	case "isCompactSummary":
		e.IsCompactSummary = d.flag()
	case "isApiErrorMessage":
		e.IsAPIErrorMessage = d.flag()
	case "forkedFrom":
		e.Forked = d.object() || e.Forked
	case "sessionKind":
		e.Forked = d.word() == background || e.Forked
	case "costUSD":
		e.CostUSD = d.cost()
	case "message":
		e.Message = d.messageMember()
	case "attachment":
		e.Attachment, e.AttachmentType = d.typed()
	case "data":
		e.Data, e.DataType = d.typed()
	case "toolUseResult":
		d.resultMember()
	case "content":
		e.Content = d.Skip()
	case "compactMetadata":
		e.CompactMetadata = d.Skip()
	case "supersedesUuids", "retractedMessageUuids", "refusedUserMessageUuid":
		d.supersedes()
	default:
		d.other(key)
	}
}

// bytes reads a string, and passes over anything else. What it returns is valid until the next value is read.
func (d *entryDecoder) bytes() []byte {
	if d.Peek() != '"' {
		d.Skip()
		return nil
	}
	return d.Bytes()
}

func (d *entryDecoder) text() string { return string(d.bytes()) }

// word reads a string that is likely to come again.
func (d *entryDecoder) word() string { return d.words.get(d.bytes()) }

func (d *entryDecoder) parent() string {
	uuid := d.bytes()
	if string(uuid) == d.lastUUID {
		return d.lastUUID
	}
	return string(uuid)
}

func (d *entryDecoder) flag() bool {
	if c := d.Peek(); c != 't' && c != 'f' {
		d.Skip()
		return false
	}
	return d.Bool()
}

// background is the kind of a session that was copied to go on in the background.
const background = "bg"

// object passes over a value, and reports whether it is an object.
func (d *entryDecoder) object() bool {
	is := d.Peek() == '{'
	d.Skip()
	return is
}

func (d *entryDecoder) cost() float64 {
	var l jsonlex.Lexer
	l.Reset(d.Skip())
	if cost := l.Float(); l.Err() == nil && cost > 0 {
		return cost
	}
	return 0
}

// maxTokenCount is the largest number of tokens that is believed, so that sums of them always fit.
const maxTokenCount = math.MaxInt32

// count reads a number of tokens. What cannot be one counts as 0.
func (d *entryDecoder) count() int {
	text := d.Skip()
	if n := digits(text); len(text) < 10 && n >= 0 {
		return n
	}
	var l jsonlex.Lexer
	l.Reset(text)
	n := l.Int()
	if l.Err() != nil || n < 0 || n > maxTokenCount {
		return 0
	}
	return int(n)
}

// typed passes over a value, and returns its bytes and, if it is an object, the type that it has.
func (d *entryDecoder) typed() (raw []byte, kind string) {
	if d.Peek() != '{' {
		return d.Skip(), ""
	}
	start := d.Pos()
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		if string(key) == "type" {
			kind = d.word()
		} else {
			d.Skip()
		}
	}
	return d.since(start), kind
}

// since returns what was read from start on.
func (d *entryDecoder) since(start int) []byte {
	if d.Err() != nil {
		return nil
	}
	return d.line[start:d.Pos():d.Pos()]
}

// supersedes reads one UUID or a list of them.
func (d *entryDecoder) supersedes() {
	if d.Peek() != '[' {
		d.supersede()
		return
	}
	for ok := d.FirstElem(); ok; ok = d.NextElem() {
		d.supersede()
	}
}

func (d *entryDecoder) supersede() {
	if uuid := d.text(); uuid != "" {
		d.e.Supersedes = append(d.e.Supersedes, uuid)
	}
}
