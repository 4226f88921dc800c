package export

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

func (p *page) item(c *transcript.Chunk, i *transcript.DisplayItem) {
	if p.full() {
		return
	}
	switch i.Type {
	case transcript.ItemThinking:
		p.thinking(i)
	case transcript.ItemToolCall, transcript.ItemSubagent:
		p.call(c, i)
	case transcript.ItemTeammateMessage:
		p.teammate(i)
	default:
		p.prose(i.Text)
		p.images(i)
	}
}

func (p *page) thinking(i *transcript.DisplayItem) {
	if !p.Thinking || strings.TrimSpace(i.Text) == "" {
		return
	}
	p.raw(`<details class="thinking"` + p.open() + `><summary>Thinking</summary>`)
	p.prose(i.Text)
	p.raw("</details>")
}

func (p *page) teammate(i *transcript.DisplayItem) {
	p.raw(`<section class="teammate"><p class="by"><span class="who">`)
	p.text(cmp.Or(oneLine(i.TeammateID, 60), "teammate"))
	p.raw("</span>")
	p.element("span", `class="note"`, oneLine(i.TeammateSummary, 100))
	p.raw("</p>")
	p.prose(i.Text)
	p.raw("</section>")
}

// call writes a tool call. Small changes of files are open, since readers look for them.
func (p *page) call(c *transcript.Chunk, i *transcript.DisplayItem) {
	diffs := i.Diffs()
	open := p.open()
	if lines := diffLines(diffs); lines > 0 && lines <= 40 {
		open = " open"
	}
	line := render.Options{Dir: p.doc.CWD}.CallLine(c, i, diffs)
	p.raw(`<details class="tool` + callStates[line.State] + `"` + open + `><summary>`)
	p.callLine(&line, i.DurationMs)
	p.raw(`</summary><div class="body">`)
	p.callBody(i, diffs)
	p.raw("</div></details>")
	for _, a := range i.Agents {
		p.subagent(a)
	}
}

// callBody writes a call's input and result, or its changes.
func (p *page) callBody(i *transcript.DisplayItem, diffs []transcript.FileDiff) {
	if len(diffs) == 0 || i.IsCommand() {
		p.input(i)
	}
	for k := range diffs {
		p.diff(&diffs[k])
	}
	if len(diffs) == 0 || i.IsCommand() {
		p.result(i)
	}
	p.images(i)
	if text := render.Permission(i, false); text != "" {
		p.element("p", `class="missing"`, text)
	}
	p.injected(i.Injected)
}

// callLine writes the line that is always visible.
func (p *page) callLine(line *render.CallLine, ms int64) {
	p.element("span", `class="name"`, oneLine(line.Name, 60))
	p.element("span", `class="what"`, oneLine(line.Summary, 160))
	if line.Added+line.Removed > 0 {
		p.element("span", `class="plus"`, "+"+wording.Number(line.Added))
		p.element("span", `class="minus"`, "−"+wording.Number(line.Removed))
	}
	if line.Outcome != "" {
		p.element("span", `class="flag"`, line.Outcome)
	}
	if ms > 0 {
		p.element("span", `class="note"`, wording.Milliseconds(ms))
	}
}

// callStates are the classes of calls that are not done.
var callStates = map[rows.State]string{rows.Failed: " failed", rows.NoResult: " pending", rows.Interrupted: " failed"}

// input writes a tool input, in a form that suits the tool.
func (p *page) input(i *transcript.DisplayItem) {
	input, err := i.Input()
	if err != nil {
		p.output(`class="in"`, string(i.ToolInput))
		return
	}
	switch input := input.(type) {
	case *tooluse.BashInput:
		p.code(input.Command, highlight.Find("shell"))
	case *tooluse.WriteInput:
		p.code(input.Content, highlight.OfFile(input.FilePath))
	case *tooluse.AgentInput:
		p.prose(input.Prompt)
	case *tooluse.ExitPlanModeInput:
		p.prose(input.Plan)
	case *tooluse.TodoWriteInput:
		p.todos(input.Todos)
	default:
		p.code(indent(i.ToolInput), highlight.Find("json"))
	}
}

// indent indents a JSON text, unless it is short.
func indent(text wire.JSON) string {
	var b bytes.Buffer
	if len(text) < 60 || json.Indent(&b, []byte(text), "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

func (p *page) code(code string, l *highlight.Language) {
	if strings.TrimSpace(code) == "" {
		return
	}
	head, missing := shorten(code, p.most)
	p.raw(`<pre class="in"><code>`)
	p.highlight(head, l)
	p.raw("</code></pre>")
	p.missing(missing)
}

func (p *page) todos(todos []tooluse.Todo) {
	p.raw(`<ul class="todos">`)
	for k, t := range todos {
		if k >= maxTodos && p.page > 0 {
			p.element("li", `class="missing"`, fmt.Sprintf("%d more", len(todos)-k)+p.hint())
			break
		}
		sign := map[string]string{"completed": "☑", "in_progress": "▸"}[t.Status]
		p.element("li", "", cmp.Or(sign, "☐")+" "+oneLine(t.Content, 300))
	}
	p.raw("</ul>")
}

// result writes a call's result.
func (p *page) result(i *transcript.DisplayItem) {
	text, class := i.ShownResult(), "out"
	if i.ToolError {
		class += " err"
	}
	if strings.TrimSpace(text) == "" {
		if i.HasResult && i.ResultImages == 0 && !i.InBackground() {
			p.raw(`<p class="missing">no output</p>`)
		}
		return
	}
	head, missing := shorten(text, p.most)
	p.raw(`<pre class="` + class + `"><code>`)
	p.highlight(head, p.resultLanguage(i))
	p.raw("</code></pre>")
	p.missing(missing)
}

// resultLanguage returns the language of a result that is a file or JSON, or nil.
func (p *page) resultLanguage(i *transcript.DisplayItem) *highlight.Language {
	if i.ToolError {
		return nil
	}
	if i.ToolName == "Read" {
		if in, err := tooluse.DecodeInput(i.ToolName, i.ToolInput); err == nil {
			if read, ok := in.(*tooluse.ReadInput); ok {
				return highlight.OfFile(read.FilePath)
			}
		}
	}
	if text := strings.TrimSpace(i.ToolResult); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		return highlight.Find("json")
	}
	return nil
}

// imageTypes are the types of images on a page. None of them can contain a script.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// images writes the images of a result. Images whose data is not of their type are omitted.
func (p *page) images(i *transcript.DisplayItem) {
	if p.noImages {
		return
	}
	shown := 0
	for k := range i.Images {
		if image := &i.Images[k]; hasItsType(image) && p.hasRoom(image) {
			data := base64.StdEncoding.EncodeToString(image.Data)
			p.raw(`<img alt="image in the result" src="data:` + image.MediaType + `;base64,` + data + `">`)
			shown++
		}
	}
	if left := i.ResultImages - shown; left > 0 {
		p.element("p", `class="missing"`, wording.Count(left, "image")+" not shown")
	}
}

func (p *page) subagent(a *transcript.Agent) {
	if p.full() {
		return
	}
	conversation := conversationOf(a)
	p.raw(`<details class="agent"` + p.open() + `><summary><span class="name">`)
	p.text(cmp.Or(oneLine(a.Type(), 40), "Subagent"))
	p.raw("</span>")
	p.element("span", `class="what"`, oneLine(a.Description(), 120))
	p.element("span", `class="note"`, wording.Count(callsIn(conversation.Chunks), "tool call"))
	if cost := costText(a.Cost); cost != "" {
		p.element("span", `class="note"`, cost)
	}
	switch a.LinkedBy {
	case transcript.LinkedByOrder, transcript.LinkedByPrompt, transcript.LinkedByTeam:
		p.raw(`<span class="note">probably started here</span>`)
	}
	p.raw(`</summary><div class="inside">`)
	if p.depth >= maxDepth {
		p.raw(`<p class="missing">nested too deeply to show</p>`)
	} else {
		inside := *p
		inside.depth++
		inside.prefix = fmt.Sprintf("%sa%s-", p.prefix, plainID(a.ID))
		inside.conversation(conversation.Chunks, conversation.Branches)
	}
	p.raw("</div></details>")
}

// plainID returns the letters and digits of an ID.
func plainID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, clip.Bytes(id, 64))
}

func callsIn(chunks []transcript.Chunk) int {
	n := 0
	for i := range chunks {
		for j := range chunks[i].Items {
			if chunks[i].Items[j].IsCall() {
				n++
			}
		}
	}
	return n
}

// unlinked writes the subagents whose starting call is not known.
func (p *page) unlinked() {
	if len(p.doc.Unlinked) == 0 {
		return
	}
	p.raw(`<section class="chunk"><h2>Other subagents</h2>`)
	for _, a := range p.doc.Unlinked {
		p.subagent(a)
	}
	p.raw("</section>")
}

func diffLines(diffs []transcript.FileDiff) int {
	n := 0
	for i := range diffs {
		for j := range diffs[i].Hunks {
			n += len(diffs[i].Hunks[j].Lines)
		}
	}
	return n
}

// diff writes the changes of a file, as a table of lines.
func (p *page) diff(d *transcript.FileDiff) {
	p.raw(`<div class="diff"><p class="file"><span>`)
	p.text(oneLine(d.Path, 200))
	p.raw("</span>")
	switch {
	case d.Created:
		p.raw(`<span class="note">new file</span>`)
	case d.Deleted:
		p.raw(`<span class="note">deleted</span>`)
	case d.Unknown:
		p.raw(`<span class="note">changed; the change is unknown</span>`)
	}
	p.raw(`</p><div class="scroll"><table><tbody>`)
	left := p.lines
	if p.page == 0 {
		left = diffLines([]transcript.FileDiff{*d})
	}
	missing := 0
	for i := range d.Hunks {
		lines := len(d.Hunks[i].Lines)
		shown := min(left, lines)
		missing += lines - shown
		left -= shown
		if shown > 0 {
			p.hunk(d, i, shown)
		}
	}
	p.raw("</tbody></table></div>")
	if missing > 0 {
		p.element("p", `class="missing"`, wording.Count(missing, "more line")+" not shown"+p.hint())
	}
	p.raw("</div>")
}

// A hunkWriter writes the lines of a hunk.
type hunkWriter struct {
	*page
	before, after int                // the next numbers of lines
	relative      bool               // the numbers are not known
	old, new      *highlight.Scanner // of the file as it was and as it is
}

// hunk writes lines with their numbers. Relative numbers, in a file whose content is unknown, are
// omitted.
func (p *page) hunk(d *transcript.FileDiff, i, shown int) {
	if i > 0 {
		p.raw(`<tr class="gap"><td></td><td></td><td></td><td>⋯</td></tr>`)
	}
	language := highlight.OfFile(d.Path)
	w := &hunkWriter{
		page: p, before: d.Hunks[i].OldStart, after: d.Hunks[i].NewStart, relative: d.Relative,
		old: highlight.NewScanner(language), new: highlight.NewScanner(language),
	}
	lines, missing := make([]string, shown), make([]int, shown)
	for k, line := range d.Hunks[i].Lines[:shown] {
		lines[k], missing[k] = shorten(line, p.most)
		lines[k] = clean(lines[k])
	}
	for k, changed := range highlight.Changes(lines) {
		w.line(lines[k], changed)
		if missing[k] > 0 {
			p.rawf(`<tr class="gap"><td></td><td></td><td></td><td>%d bytes more</td></tr>`, missing[k])
		}
	}
}

// line writes a clean line that starts with its mark.
func (w *hunkWriter) line(line string, changed [][2]int) {
	switch {
	case strings.HasPrefix(line, "+"):
		w.row(` class="add"`, "+", 0, w.after)
		w.code(w.new, line[1:], changed)
		w.after++
	case strings.HasPrefix(line, "-"):
		w.row(` class="del"`, "−", w.before, 0)
		w.code(w.old, line[1:], changed)
		w.before++
	case strings.HasPrefix(line, `\`):
		w.row(` class="gap"`, "", 0, 0)
		w.text(line)
	default:
		line = strings.TrimPrefix(line, " ")
		w.row("", "", w.before, w.after)
		w.old.Scan(line + "\n")
		w.code(w.new, line, nil)
		w.before++
		w.after++
	}
	w.raw("</td></tr>")
}

// row starts a row with numbers and a sign.
func (w *hunkWriter) row(class, sign string, before, after int) {
	w.raw("<tr" + class + ">")
	for _, n := range []int{before, after} {
		w.raw(`<td class="no">`)
		if n > 0 && !w.relative {
			w.raw(strconv.Itoa(n))
		}
		w.raw("</td>")
	}
	w.raw(`<td class="sign">` + sign + "</td><td>")
}

// code writes a line of code, with marks at the changed parts.
func (w *hunkWriter) code(scanner *highlight.Scanner, line string, changed [][2]int) {
	at := 0
	for _, token := range scanner.Scan(line + "\n") {
		for text := token.Text; text != ""; {
			n, inside := len(text), len(changed) > 0 && at >= changed[0][0]
			switch {
			case inside:
				n = min(n, changed[0][1]-at)
			case len(changed) > 0:
				n = min(n, changed[0][0]-at)
			}
			if inside && at == changed[0][0] {
				w.raw(`<span class="w">`)
			}
			w.token(text[:min(n, len(line)-at)], token.Class) // without the end of the line
			if at += n; inside && at == changed[0][1] {
				w.raw("</span>")
				changed = changed[1:]
			}
			text = text[n:]
		}
	}
}

// ImagesIn returns the images in a call's result. e is the entry with that result. If callID
// is "", it returns the images of the message itself, such as a prompt's. Images of other types
// than PNG, JPEG, GIF and WebP, images whose data is not of their type, and images of more than
// most bytes are omitted.
func ImagesIn(e *transcript.Entry, callID string, most int) []transcript.Image {
	if e.Message == nil {
		return nil
	}
	content, err := wire.DecodeContent(wire.JSON(e.Message.Content))
	if err != nil {
		return nil
	}
	var images []transcript.Image
	for _, block := range content {
		if image, ok := newImage(block, most); ok && callID == "" {
			images = append(images, image)
		}
		result, ok := block.(*wire.ToolResultBlock)
		if !ok || result.ToolUseID != callID || strings.HasPrefix(string(result.Content), `"`) {
			continue
		}
		inside, err := wire.DecodeContent(result.Content)
		if err != nil {
			continue
		}
		for _, b := range inside {
			if image, ok := newImage(b, most); ok {
				images = append(images, image)
			}
		}
	}
	return images
}

func newImage(b wire.Block, most int) (transcript.Image, bool) {
	block, ok := b.(*wire.ImageBlock)
	if !ok || block.Source == nil || block.Source.Type != "base64" || len(block.Source.Data) > most/3*4+4 {
		return transcript.Image{}, false
	}
	data, err := base64.StdEncoding.DecodeString(block.Source.Data)
	image := transcript.Image{MediaType: block.Source.MediaType, Data: data}
	return image, err == nil && hasItsType(&image)
}

// imageStarts are the first bytes of each type.
var imageStarts = map[string]string{
	"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF",
}

func hasItsType(i *transcript.Image) bool {
	return slices.Contains(imageTypes, i.MediaType) && strings.HasPrefix(string(i.Data[:min(len(i.Data), 16)]), imageStarts[i.MediaType])
}
