package transcript

import (
	"bytes"
	"encoding/binary"
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

// messageMember reads the message of an entry, or returns nil if there is no object.
func (d *entryDecoder) messageMember() *Message {
	if d.Peek() != '{' {
		d.Skip()
		return nil
	}
	m := &d.message
	*m = Message{}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "id":
			m.ID = d.word()
		case "role":
			m.Role = d.word()
		case "model":
			m.Model = d.word()
		case "stop_reason":
			m.StopReason = d.word()
		case "content":
			m.Content = d.content()
		case "usage":
			m.Usage = d.usageMember()
		default:
			d.Skip()
		}
	}
	return m
}

// content passes over the content of a message, and notes the types of blocks that this package does not know.
func (d *entryDecoder) content() []byte {
	d.blocks = d.blocks[:0]
	if d.Peek() != '[' {
		return d.Skip()
	}
	start := d.Pos()
	for ok := d.FirstElem(); ok; ok = d.NextElem() {
		if d.Peek() != '{' {
			d.Skip()
		} else if _, kind := d.typed(); !knownBlock(kind) && len(d.blocks) < maxFindings {
			d.blocks = append(d.blocks, kind)
		}
	}
	return d.since(start)
}

func (d *entryDecoder) usageMember() *Usage {
	if d.Peek() != '{' {
		d.Skip()
		return nil
	}
	u := &d.usage
	*u = Usage{}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "input_tokens":
			u.InputTokens = d.count()
		case "output_tokens":
			u.OutputTokens = d.count()
		case "cache_read_input_tokens":
			u.CacheReadTokens = d.count()
		case "cache_creation_input_tokens":
			u.CacheCreationTokens = d.count()
		case "speed":
			u.Fast = d.word() == "fast"
		case "inference_geo":
			u.InferenceUS = d.word() == "us"
		case "service_tier":
			u.ServiceTier = d.word()
		case "cache_creation", "output_tokens_details", "server_tool_use":
			d.usageDetails(u)
		default:
			d.Skip()
		}
	}
	return u
}

func (d *entryDecoder) usageDetails(u *Usage) {
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "ephemeral_5m_input_tokens":
			u.CacheCreation5mTokens = d.count()
		case "ephemeral_1h_input_tokens":
			u.CacheCreation1hTokens = d.count()
		case "thinking_tokens":
			u.ThinkingTokens = d.count()
		case "web_search_requests":
			u.WebSearches = d.count()
		case "web_fetch_requests":
			u.WebFetches = d.count()
		default:
			d.Skip()
		}
	}
}

// resultFacts are members of the structured result of a tool that matter however long the result is. They are read in
// the same pass as the entry.
type resultFacts struct {
	read                 bool
	agent, status, spill string
	patch                []byte // a list that is not empty, and shares the memory of the result
	patchAt              int    // where it is in the result
}

// readFacts reads them from a result by itself.
func readFacts(result []byte) resultFacts {
	var e Entry
	d := entryDecoder{line: result, e: &e}
	d.Reset(result)
	d.resultMember()
	return e.facts
}

// resultMember reads the structured result of a tool.
func (d *entryDecoder) resultMember() {
	e := d.e
	e.facts = resultFacts{read: true}
	if d.Peek() != '{' {
		e.ToolUseResult = d.Skip()
		return
	}
	start := d.Pos()
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "structuredPatch":
			d.patchMember(start)
		case "agentId", "agent_id":
			d.again(&e.facts.agent)
		case "status":
			d.again(&e.facts.status)
		case "persistedOutputPath":
			d.again(&e.facts.spill)
		default:
			d.Skip()
		}
	}
	e.ToolUseResult = d.since(start)
}

// again reads a string into to, and leaves that as it is for anything else.
func (d *entryDecoder) again(to *string) {
	if d.Peek() != '"' {
		d.Skip()
		return
	}
	*to = d.text()
}

// patchMember reads what changed in a file.
func (d *entryDecoder) patchMember(start int) {
	patch := d.Skip()
	if len(patch) == 0 || patch[0] != '[' || len(bytes.Trim(patch, "[] \t\r\n")) == 0 {
		return
	}
	d.e.facts.patch, d.e.facts.patchAt = patch, d.Pos()-len(patch)-start
}

// A wordTable shares strings that come again from line to line: the session, the folder, the version, the model. A
// newcomer takes the slot of its hash, so that the table stays small.
type wordTable struct {
	slots [wordSlots]string
}

const (
	wordSlots = 256
	maxWord   = 256
)

func (t *wordTable) get(b []byte) string {
	if len(b) == 0 || len(b) > maxWord {
		return string(b)
	}
	slot := &t.slots[wordHash(b)%wordSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// wordHash mixes the length and the first and last eight bytes.
func wordHash(b []byte) uint64 {
	h := uint64(len(b))
	if len(b) < 8 {
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
	} else {
		h ^= binary.LittleEndian.Uint64(b)
		h = h*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(b[len(b)-8:])
	}
	h *= 0x9E3779B97F4A7C15
	return h >> 32
}
