package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
)

// ProjectsSize is the size in bytes of the projects behind the published figures.
const ProjectsSize = 414_000_000

// Projects fills dir with the transcripts of many sessions, as the agent lays them out in its folder of projects, and
// returns what is true of them. They have about size bytes; a small size gives fewer sessions, of the same kinds. The
// same seed and size always give the same bytes.
//
// There are sessions of CLI 2.1.325 and of older ones: subagents that start subagents, parallel calls, compactions,
// rewinds, resumes, forks of three kinds, spilled results, and lines with counts that are not final. Most of the bytes
// are results of tools.
func Projects(dir string, seed uint64, size int) (*Truth, error) {
	return (&projects{generator: newGenerator(nil, seed), dir: dir, book: newBook()}).make(size)
}

// GatewayProjects is Projects, but some sessions were answered through a gateway, which gives no IDs to requests.
func GatewayProjects(dir string, seed uint64, size int) (*Truth, error) {
	return (&projects{generator: newGenerator(nil, seed), dir: dir, book: newBook(), gateways: true}).make(size)
}

func (p *projects) make(size int) (*Truth, error) {
	p.texts(size)
	targets := sessionSizes(p.generator, size)
	for i, target := range targets {
		r := p.newRecording(i, len(targets))
		if err := r.record(target); err != nil {
			return nil, fmt.Errorf("corpus: %w", err)
		}
		p.keep(r)
	}
	return p.book.truth(), nil
}

// projects is a folder of projects in the making.
type projects struct {
	*generator
	dir                  string
	book                 *book
	prosy, coded, logged text
	// original is a session that later ones are copied from.
	original *recording
	gateways bool
}

// texts makes the texts that all sessions take pieces of: to make them anew each time would take minutes.
func (p *projects) texts(size int) {
	n := min(max(size/16, 64<<10), 1<<20)
	p.prosy, p.coded, p.logged = newText(p.prose(n)), newText(p.code(n)), newText(p.log(n))
}

// words, codeOf and output are prose, source text and what programs print, of about n bytes.
func (p *projects) words(n int) string  { return p.prosy.piece(p.generator, n) }
func (p *projects) codeOf(n int) string { return p.coded.piece(p.generator, n) }
func (p *projects) output(n int) string { return p.logged.piece(p.generator, n) }

// sessionSizes are the sizes of the main transcripts, in any order: a few large ones, and many small ones. What is left
// of size is for subagents.
func sessionSizes(g *generator, size int) []int {
	count := min(max(size/(256<<10), 10), 200)
	weights := []float64{60, 34, 22, 15, 12, 10, 8, 7, 6, 5}
	for i := len(weights); i < count; i++ {
		switch share := float64(i) / float64(count); {
		case share < 0.2:
			weights = append(weights, 1.9+1.3*g.rng.Float64())
		case share < 0.55:
			weights = append(weights, 0.3+0.9*g.rng.Float64())
		default:
			weights = append(weights, 0.01+0.19*g.rng.Float64())
		}
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	sizes := make([]int, count)
	for i, w := range weights {
		sizes[i] = int(0.69 * float64(size) * w / sum)
	}
	g.rng.Shuffle(count, func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// newRecording begins session i of count.
func (p *projects) newRecording(i, count int) *recording {
	folders := min(20, count/4)
	cwd := fmt.Sprintf("/home/dev/code/%s.%02d", vocabulary[i%folders*5], i%folders)
	r := &recording{
		projects: p, cwd: cwd, project: sessionfile.ProjectName(cwd), id: p.uuid(),
		branch: pick(p.generator, []string{"main", "feat/" + p.word(), "fix/" + p.word() + "-" + p.word()}),
		model:  pick(p.generator, models), version: "2.1.325", current: true,
		now:     time.Date(2026, time.August, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 7 * time.Hour),
		context: p.between(18_000, 27_000), window: pick(p.generator, []int{60_000, 120_000, 165_000}),
		title: title(p.word()) + " " + p.word() + " " + p.word(),
	}
	if i%5 < 2 {
		r.version, r.current = fmt.Sprintf("2.1.%d", p.between(100, 240)), false
	}
	r.gateway = p.gateways && i%3 == 1
	if kind := copyKind(i%8) - 5; kind >= forkSession && p.original != nil {
		r.copyOf, r.copied = p.original, kind
		r.cwd, r.project = p.original.cwd, p.original.project
	}
	return r
}

// keep makes a session one that later ones are copied from, if it is long enough.
func (p *projects) keep(r *recording) {
	if r.copyOf == nil && len(r.kept) >= maxKept {
		p.original = r
	}
	if p.original != r {
		r.kept = nil
	}
}

// path returns the place of a file of the session's project.
func (r *recording) path(names ...string) string {
	return filepath.Join(append([]string{r.dir, r.project}, names...)...)
}

// record writes the session, about target bytes.
func (r *recording) record(target int) error {
	if err := r.create(r.path(r.id + ".jsonl")); err != nil {
		return err
	}
	r.book.session(r)
	r.scale = 0.5
	if target > 5_000_000 {
		r.scale = 1.6
	}
	if r.copyOf != nil {
		r.writeCopies()
	}
	r.startProcess()
	for turns := 0; r.err == nil && (turns == 0 || r.size < target); turns++ {
		r.turn(min(2+r.rng.IntN(14), 1+max(target-r.size, 0)/20_000))
		if r.oneIn(25) {
			r.endProcess()
			r.startProcess() // resumed
		}
	}
	r.endProcess()
	return r.finish()
}

// spill writes a long result into a file of its own, and returns its path.
func (r *recording) spill(output string) string {
	path := r.path(r.id, "tool-results", "b"+r.hex(8)+".txt")
	r.fail(os.MkdirAll(filepath.Dir(path), 0o700))
	r.fail(os.WriteFile(path, []byte(output), 0o600))
	r.book.t.Spills++
	return path
}
