package transcript

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/usage"
)

// DecodeEntry decodes a line, which must be one JSON object. Otherwise the error contains the
// offset of the problem. A member of an unexpected type counts as absent, and if a member appears
// twice, the last one counts. Bytes that are not UTF-8 become U+FFFD in strings. The raw members of
// the entry share the memory of line. DecodeEntry is safe for concurrent use.
func DecodeEntry(line []byte) (Entry, error) {
	d := entryDecoders.Get().(*entryDecoder) //nolint:forcetypeassert // nothing else is in there
	defer entryDecoders.Put(d)
	defer d.release()
	var e Entry
	if err := d.decode(line, &e); err != nil {
		return Entry{}, err
	}
	e.ownMessage()
	return e, nil
}

// ownMessage copies the message, which belongs to the decoder.
func (e *Entry) ownMessage() {
	if e.Message == nil {
		return
	}
	e.Message = new(*e.Message)
	if e.Message.Usage != nil {
		e.Message.Usage = new(*e.Message.Usage)
	}
}

var entryDecoders = sync.Pool{New: func() any { return new(entryDecoder) }}

// An entryDecoder decodes the lines of a transcript one by one, and shares what repeats from line
// to line. The zero value is ready. It is for one goroutine at a time.
type entryDecoder struct {
	entrylex.Reader
	line []byte
	e    *Entry

	lastUUID string // of the entry before: usually the parent of the next one
	message  Message
	usage    usage.Usage

	// Names in the line that this package does not know. They are collected before the type of the
	// line is known.
	fields [][]byte
	blocks []string
}

// decode decodes line into e, whose lists it reuses. The entry's message is valid until the next
// call, and so are the raw members as long as line is. After an error e is of no use.
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

// member reads one member of an entry. It is one switch since it runs for every member of every
// line.
func (d *entryDecoder) member(key []byte) {
	e := d.e
	switch string(key) {
	case entrylex.KeyType:
		e.Type = d.Word()
	case entrylex.KeySubtype:
		e.Subtype = d.Word()
	case entrylex.KeyUUID:
		e.UUID = d.Text()
	case entrylex.KeyParentUUID:
		e.Root = d.Peek() == 'n'
		e.ParentUUID = d.parent()
	case entrylex.KeyLogicalParentUUID:
		e.LogicalParentUUID = d.Text()
	case entrylex.KeyLeafUUID:
		e.LeafUUID = d.Text()
	case entrylex.KeyTimestamp:
		e.Timestamp = d.Time()
	case entrylex.KeySessionID:
		e.SessionID = d.Word()
	case entrylex.KeyAgentID:
		e.AgentID = d.Word()
	case entrylex.KeyCWD:
		e.CWD = d.Word()
	case entrylex.KeyGitBranch:
		e.GitBranch = d.Word()
	case entrylex.KeyVersion:
		e.Version = d.Word()
	case entrylex.KeyPermissionMode:
		e.PermissionMode = d.Word()
	case entrylex.KeyPromptID:
		e.PromptID = d.Word()
	case entrylex.KeyRequestID:
		e.RequestID = d.Word()
	case entrylex.KeyRequestSessionID:
		e.RequestSessionID = d.Word()
	case entrylex.KeyTeamName:
		e.TeamName = d.Word()
	case entrylex.KeyAgentName:
		e.AgentName = d.Word()
	case entrylex.KeySourceToolUseID:
		e.SourceToolUseID = d.Word()
	case entrylex.KeyParentToolUseID:
		e.ParentToolUseID = d.Word()
	case entrylex.KeyIsSidechain:
		e.IsSidechain = d.Flag()
	case entrylex.KeyIsMeta:
		e.IsMeta = d.Flag()
	case entrylex.KeyIsCompactSummary:
		e.IsCompactSummary = d.Flag()
	case entrylex.KeyIsAPIErrorMessage:
		e.IsAPIErrorMessage = d.Flag()
	case entrylex.KeyForkedFrom:
		e.Forked = d.SkipObject() || e.Forked
	case entrylex.KeySessionKind:
		e.Forked = d.Word() == entrylex.BackgroundSession || e.Forked
	case entrylex.KeyCostUSD:
		e.CostUSD = d.Cost()
	case entrylex.KeyAPIBlockIndex:
		e.Block = d.Number()
	case entrylex.KeyMessage:
		e.Message = d.messageMember()
	case entrylex.KeyAttachment:
		e.Attachment, e.AttachmentType = d.typed()
	case entrylex.KeyData:
		e.Data, e.DataType = d.typed()
	case entrylex.KeyToolUseResult:
		d.resultMember()
	case entrylex.KeyMCPMeta:
		e.MCPMeta = d.Skip()
	case entrylex.KeyPermission:
		e.Permission = d.permissionMember()
	case entrylex.KeySandboxed:
		e.Sandboxed = d.sandboxedMember()
	case entrylex.KeyContent:
		e.Content = d.Skip()
	case entrylex.KeyCompactMetadata:
		e.CompactMetadata = d.Skip()
	case entrylex.KeySupersedesUUIDs, entrylex.KeyRetractedMessageUUIDs, entrylex.KeyRefusedUserMessageUUID:
		e.Supersedes = entryfacts.AppendTexts(e.Supersedes, &d.Lexer)
	default:
		d.other(key)
	}
}

// parent reads the UUID of the parent. It is usually the same as in the entry before, whose string
// it then shares.
func (d *entryDecoder) parent() string {
	uuid := d.StringBytes()
	if string(uuid) == d.lastUUID {
		return d.lastUUID
	}
	return string(uuid)
}

// typed passes over a value, and returns its bytes and, if it is an object, the type that it has. A
// value of another kind has no type.
func (d *entryDecoder) typed() (raw []byte, kind string) {
	if d.Peek() != '{' {
		return d.Skip(), ""
	}
	start := d.Pos()
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		if string(key) == "type" {
			kind = d.Word()
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

// messageMember reads the message of an entry. It returns nil if the value is not an object.
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
			m.ID = d.Word()
		case "role":
			m.Role = d.Word()
		case "model":
			m.Model = d.Word()
		case "stop_reason":
			m.StopReason = d.Word()
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

// content passes over the content of a message, and notes the types of blocks that this package
// does not know. A content that is not a list has no blocks.
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

// usageMember reads the usage of a message. It returns nil if the value is not an object.
func (d *entryDecoder) usageMember() *usage.Usage {
	if !d.ReadUsage((*entrylex.Usage)(&d.usage)) {
		return nil
	}
	return &d.usage
}

// resultFacts are members of the structured result of a tool that matter however long the result
// is. They are read in the same pass as the entry.
type resultFacts struct {
	read                 bool
	searches             bool // it reports searches
	agent, status, spill string
	patch                []byte // a list that is not empty, and shares the memory of the result
	patchAt              int    // where it is in the result
}

// readFacts reads them from a result by itself. It is for entries that were not decoded by this
// package, but made by the caller.
func readFacts(result []byte) resultFacts {
	var e Entry
	d := entryDecoder{line: result, e: &e}
	d.Reset(result)
	d.resultMember()
	return e.facts
}

// resultMember reads the structured tool result. A result can be megabytes long, so it is read
// only once, and members that don't matter are passed over.
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
		case "searchCount":
			e.facts.searches = true
			d.Skip()
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
	*to = d.Text()
}

// patchMember reads what changed in a file. An empty list counts as no patch.
func (d *entryDecoder) patchMember(start int) {
	patch := d.Skip()
	if len(patch) == 0 || patch[0] != '[' || len(bytes.Trim(patch, "[] \t\r\n")) == 0 {
		return
	}
	d.e.facts.patch, d.e.facts.patchAt = patch, d.Pos()-len(patch)-start
}
