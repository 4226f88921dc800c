package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
)

// treeProject returns the name of the project of an attempt at the n-th job, in a session of id.
func treeProject(n int) string { return fmt.Sprintf("-w-trees-cqrshifid5z%d-1-00000000-work", n) }

// work makes the session of an attempt at a job, which is titled with the number of the job, and records the job.
func (r repo) work(t *testing.T, n int, job sessions.Job) {
	t.Helper()
	r.workIn(t, treeProject(n), n, job)
}

func (r repo) workIn(t *testing.T, project string, n int, job sessions.Job) {
	t.Helper()
	name := project + "/" + id(n) + ".jsonl"
	answer := usageOf(fmt.Sprintf("a%d", n), n)
	write(t, r.store, name, `{"type":"user","cwd":"/w/trees/x/work","message":{"role":"user","content":"job `+fmt.Sprint(n)+`"}}`+"\n"+answer+"\n")
	if err := sessions.RecordJob(filepath.Join(r.store, filepath.FromSlash(name)), job); err != nil {
		t.Fatal(err)
	}
}

func nameOf(t *testing.T, dir string) string {
	t.Helper()
	name, err := sessions.ProjectName(dir)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// makeJobs makes jobs of a repository, of one of its working trees, of its URL when the clone was known and when it was
// not, of another URL, and without a repository.
func makeJobs(t *testing.T) repo {
	t.Helper()
	r := makeRepo(t)
	write(t, r.main, ".git/config", "[core]\n\turl = https://no.example.com/x\n[remote \"origin\"]\n\turl = git@Git.example.com:team/app.git\n[branch \"main\"]\n\tremote = origin\n")
	r.record(t, 1, r.main)
	r.work(t, 2, sessions.Job{ID: "cqrshifid5z2", Attempt: 1, Repository: r.main, Directory: r.main})
	r.work(t, 3, sessions.Job{ID: "cqrshifid5z3", Attempt: 1, Repository: r.linked, Directory: r.linked})
	r.work(t, 4, sessions.Job{ID: "cqrshifid5z4", Attempt: 2, Repository: "https://git.example.com:8443/team/app", Directory: r.main})
	r.work(t, 5, sessions.Job{ID: "cqrshifid5z5", Attempt: 1, Repository: "ssh://me@git.example.com/team/app.git"})
	r.work(t, 6, sessions.Job{ID: "cqrshifid5z6", Attempt: 1, Repository: "https://git.example.com/team/web.git"})
	r.work(t, 7, sessions.Job{ID: "cqrshifid5z7", Attempt: 1})
	return r
}

// The sessions of jobs are listed with the sessions of their repository, by each function that takes a project.
func TestJobsOfProject(t *testing.T) {
	t.Parallel()
	r := makeJobs(t)
	store := sessions.NewFolder(r.store)
	for name, tt := range map[string]struct {
		opts sessions.Options
		want []string
	}{
		"the repository":             {sessions.Options{Project: r.main}, []string{"job 2", "job 3", "job 4", "main"}},
		"another working tree":       {sessions.Options{Project: r.linked}, []string{"job 2", "job 3", "job 4", "main"}},
		"a directory in it":          {sessions.Options{Project: filepath.Join(r.main, "sub")}, []string{"job 2", "job 3", "job 4", "main"}},
		"another directory":          {sessions.Options{Project: filepath.Dir(r.main)}, nil},
		"the name of a project":      {sessions.Options{ProjectName: nameOf(t, r.main)}, []string{"job 2", "job 4", "main"}},
		"a project with jobs only":   {sessions.Options{ProjectName: "git-example-com-team-web"}, []string{"job 6"}},
		"the name of a job's own":    {sessions.Options{ProjectName: treeProject(2)}, []string{"job 2"}},
		"a job without a repository": {sessions.Options{ProjectName: treeProject(7)}, []string{"job 7"}},
	} {
		tt.opts.Store = store
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: store, Project: tt.opts.Project, ProjectName: tt.opts.ProjectName})
		if diff := cmp.Diff(tt.want, slices.Sorted(slices.Values(titles(infos)))); diff != "" || err != nil {
			t.Errorf("%s: list: %v (-want +got):\n%s", name, err, diff)
		}
		found := 0
		for _, err := range sessions.Files(t.Context(), &tt.opts) {
			if found++; err != nil {
				t.Error(err)
			}
		}
		if found != len(tt.want) {
			t.Errorf("%s: %d files, want %d", name, found, len(tt.want))
		}
	}
	named := &sessions.Options{Store: store, ProjectName: nameOf(t, r.main)}
	if info, err := sessions.Get(t.Context(), id(2), named); err != nil || info.Project != treeProject(2) {
		t.Errorf("a job by the name of its project: %s, %v", info.Project, err)
	}
	r.record(t, 4, r.main) // a copy with the ID of a job
	touch(t, r.store, nameOf(t, r.main)+"/"+id(4)+".jsonl", 1)
	touch(t, r.store, treeProject(4)+"/"+id(4)+".jsonl", 2)
	if info, err := sessions.Get(t.Context(), id(4), named); err != nil || info.Project != named.ProjectName {
		t.Errorf("a copy in the project itself: %s, %v", info.Project, err)
	}
	if err := os.Remove(filepath.Join(r.store, nameOf(t, r.main), id(4)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	info, err := sessions.Get(t.Context(), id(5), &sessions.Options{Store: store})
	want := sessions.Job{ID: "cqrshifid5z5", Attempt: 1, Repository: "ssh://me@git.example.com/team/app.git", Directory: "git.example.com/team/app"}
	if diff := cmp.Diff(want, info.Job); diff != "" || err != nil || info.Directory() != want.Directory || info.Home() != "git-example-com-team-app" {
		t.Errorf("%v, %s, %s (-want +got):\n%s", err, info.Directory(), info.Home(), diff)
	}
	for infos, err := range sessions.Watch(t.Context(), &sessions.WatchOptions{Store: store, Project: r.main}) {
		if err != nil {
			t.Fatal(err)
		}
		jobs := slices.DeleteFunc(slices.Clone(infos), func(i sessions.SessionInfo) bool { return i.Job.ID == "" })
		if len(infos) != 4 || len(jobs) != 3 {
			t.Errorf("%d sessions and %d jobs are watched", len(infos), len(jobs))
		}
		break
	}
}

// The sessions of jobs count to the project of their repository, and their answers as well.
func TestJobsAreCredited(t *testing.T) {
	t.Parallel()
	r := makeJobs(t)
	store := sessions.NewFolder(r.store)
	projects, err := sessions.Projects(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range projects {
		got[p.Name] = fmt.Sprintf("%s %d", p.Directory, p.Sessions)
	}
	want := map[string]string{
		nameOf(t, r.main): r.main + " 3", nameOf(t, r.linked): r.linked + " 1", treeProject(7): "/w/trees/x/work 1",
		"git-example-com-team-app": "git.example.com/team/app 1", "git-example-com-team-web": "git.example.com/team/web 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
	main, linked := nameOf(t, r.main), nameOf(t, r.linked)
	for name, tt := range map[string]struct {
		opts sessions.UsageOptions
		want []string
	}{
		"all": {sessions.UsageOptions{}, []string{
			main + " a2", linked + " a3", main + " a4", "git-example-com-team-app a5", "git-example-com-team-web a6", treeProject(7) + " a7",
		}},
		"the directory": {sessions.UsageOptions{Project: r.main}, []string{main + " a2", main + " a4"}},
		"the name":      {sessions.UsageOptions{ProjectName: main}, []string{main + " a2", main + " a4"}},
		"names": {sessions.UsageOptions{ProjectNames: []string{linked, "git-example-com-team-web"}}, []string{
			linked + " a3", "git-example-com-team-web a6",
		}},
	} {
		tt.opts.Store = store
		scan, err := sessions.ScanUsage(t.Context(), &tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range scan.Tally.Calls() {
			got = append(got, c.Project+" "+c.MessageID)
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The directory of a project comes from its own sessions. Of several directories that its jobs name, it is the
// directory of the job whose project comes first by name. All of these have one name.
func TestDirectoryOfJobs(t *testing.T) {
	t.Parallel()
	r := makeRepo(t)
	for n := 2; n < 10; n++ {
		r.work(t, n, sessions.Job{ID: "cqrshifid5z1", Directory: "/w/app" + string("!%&,;=@_"[n-2]) + "x"})
	}
	store := sessions.NewFolder(r.store)
	check := func(want string) {
		t.Helper()
		for range 20 { // the order of a map differs
			projects, err := sessions.Projects(t.Context(), store)
			if len(projects) != 1 || projects[0].Directory != want || err != nil {
				t.Fatalf("%+v, %v, want %s", projects, err, want)
			}
		}
	}
	check("/w/app!x")
	write(t, r.store, "-w-app-x/"+id(1)+".jsonl", `{"type":"user","cwd":"/w/app.x","message":{"role":"user","content":"own"}}`+"\n")
	check("/w/app.x")
}

// A record is believed only in the project of a working directory of a job, for the session that this is named after, and
// if it is a small file with texts that can be shown.
func TestForgedJobs(t *testing.T) {
	t.Parallel()
	r := makeRepo(t)
	victim := sessions.Job{ID: "cqrshifid5z1", Directory: r.main}
	r.record(t, 1, r.main)
	r.workIn(t, "-home-me-evil", 2, victim)
	r.workIn(t, "-w-trees-cqrshifid5z3-1-11111111-work", 3, victim)
	r.workIn(t, treeProject(4), 4, victim)
	record := treeProject(4) + "/" + id(4) + "/job.json"
	outside := filepath.Join(t.TempDir(), "job.json")
	text := read(t, r.store, record)
	if err := os.WriteFile(outside, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func() []string {
		t.Helper()
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(r.store), Project: r.main})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(slices.Values(titles(infos)))
	}
	if diff := cmp.Diff([]string{"job 4", "main"}, list()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"no JSON": text[1:], "no ID": strings.Replace(text, `"cqrshifid5z1"`, `""`, 1), "a list": "[" + text + "]",
		"too long":  strings.Replace(text, `{`, "{"+strings.Repeat(" ", 8<<10), 1),
		"a long ID": strings.Replace(text, "cqr", strings.Repeat("c", 3<<10), 1), "an escape": strings.Replace(text, "cqr", `\u001b[2J`, 1),
	} {
		write(t, r.store, record, text)
		if diff := cmp.Diff([]string{"main"}, list()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	path := filepath.Join(r.store, filepath.FromSlash(record))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Skip(err)
	}
	if diff := cmp.Diff([]string{"main"}, list()); diff != "" {
		t.Errorf("a link (-want +got):\n%s", diff)
	}
}

func TestRecordJobRefuses(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, t.TempDir(), "projects", treeProject(1))
	job := sessions.Job{ID: "cqrshifid5z1"}
	for _, err := range []error{
		sessions.RecordJob(filepath.Join(dir, "x.jsonl"), job),
		sessions.RecordJob(filepath.Join(dir, idA), job),
		sessions.RecordJob(filepath.Join(dir, "../../none/projects/p", idA+".jsonl"), job),
		sessions.RecordJob(filepath.Join(dir, idA+".jsonl"), sessions.Job{}),
		sessions.RecordJob(filepath.Join(dir, idA+".jsonl"), sessions.Job{ID: "a\nb"}),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A long path of the working directory is cut in the name of its project.
func TestJobInLongDirectory(t *testing.T) {
	t.Parallel()
	r := makeRepo(t)
	r.workIn(t, nameOf(t, "/"+strings.Repeat("long/", 50)+"trees/cqrshifid5z1-1-00000000/work"), 1, sessions.Job{ID: "cqrshifid5z1", Directory: r.main})
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(r.store), Project: r.main})
	if len(infos) != 1 || err != nil {
		t.Errorf("%q, %v", titles(infos), err)
	}
}

// The directory of a project is read for its job once in each call, however many sessions there are.
func TestJobIsReadOncePerProject(t *testing.T) {
	t.Parallel()
	const most = 20
	r := makeRepo(t)
	for n := 1; n <= most; n++ {
		r.workIn(t, treeProject(1), n, sessions.Job{ID: "cqrshifid5z1", Directory: r.main})
	}
	store := sessions.NewFolder(r.store)
	reads := 0
	store.SetReadJob(func(string) { reads++ })
	check := func(call string, infos []sessions.SessionInfo, err error) {
		t.Helper()
		jobs := slices.DeleteFunc(slices.Clone(infos), func(i sessions.SessionInfo) bool { return i.Job.ID == "" })
		if err != nil || len(jobs) != most || reads != 1 {
			t.Errorf("%s: %v, %d jobs of %d sessions, %d reads", call, err, len(jobs), len(infos), reads)
		}
		reads = 0
	}
	opts := &sessions.ListOptions{Store: store}
	infos, err := sessions.Names(t.Context(), opts)
	check("Names", infos, err)
	infos, err = sessions.List(t.Context(), opts)
	check("List", infos, err)
	opts.Limit = most // some are read after the others, since they don't pass the filter
	write(t, r.store, treeProject(1)+"/"+id(most+1)+".jsonl", `{"type":"user","message":{"role":"user","content":"other"}}`+"\n")
	opts.Text = "job"
	infos, err = sessions.List(t.Context(), opts)
	check("List in parts", infos, err)
	if err := os.Remove(filepath.Join(r.store, treeProject(1), id(most+1)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	for infos, err := range sessions.Watch(t.Context(), &sessions.WatchOptions{Store: store}) {
		check("Watch", infos, err)
		break
	}
	if _, err := sessions.Projects(t.Context(), store); err != nil || reads != 1 {
		t.Errorf("Projects: %v, %d reads", err, reads)
	}
}

// The record goes with the session: to the trash and back, and it is erased with it.
func TestJobInTrash(t *testing.T) {
	t.Parallel()
	r := makeJobs(t)
	opts := &sessions.Options{Store: sessions.NewFolder(r.store), Project: r.main}
	if err := sessions.Delete(t.Context(), id(2), opts); err != nil {
		t.Fatal(err)
	}
	if list, err := sessions.List(t.Context(), &sessions.ListOptions{Store: opts.Store, Project: r.main}); len(list) != 3 || err != nil {
		t.Errorf("%q, %v", titles(list), err)
	}
	if err := sessions.Restore(t.Context(), id(2), &sessions.Options{Store: opts.Store}); err != nil {
		t.Fatal(err)
	}
	info, err := sessions.Get(t.Context(), id(2), opts)
	if err != nil || info.Job.ID != "cqrshifid5z2" || info.Home() != nameOf(t, r.main) {
		t.Errorf("%+v, %v", info.Job, err)
	}
	if err := sessions.Erase(t.Context(), id(2), opts); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(r.store, treeProject(2), "*")); len(left) > 0 || err != nil {
		t.Errorf("%q, %v", left, err)
	}
}

func TestFindClone(t *testing.T) {
	home := setHome(t)
	r := makeJobs(t)
	use := func(dir string) {
		t.Helper()
		write(t, home, ".claude/projects/"+nameOf(t, dir)+"/"+idA+".jsonl",
			fmt.Sprintf(`{"type":"user","cwd":%q,"message":{"role":"user","content":"Hi"}}`, dir))
	}
	find := func(url, want string) {
		t.Helper()
		got, err := sessions.FindClone(t.Context(), url)
		if got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
	const ours = "https://git.example.com/team/app.git"
	find(ours, "") // there are no sessions yet
	use(r.linked)
	for url, want := range map[string]string{
		ours: r.main, "git@git.example.com:team/app": r.main, "ssh://me@git.example.com:2222/team/app/": r.main,
		"https://no.example.com/x": "", "https://git.example.com/team/web.git": "", r.main: "", "https://": "", "": "",
	} {
		find(url, want)
	}
	use(r.main)
	find(ours, r.main)
	other := mkdir(t, filepath.Dir(r.main), "evil")
	write(t, other, ".git/config", "[remote \"x\"]\nurl = \""+ours+"\"\n")
	repo{store: filepath.Join(home, ".claude", "projects")}.work(t, 1, sessions.Job{ID: "cqrshifid5z1", Directory: other})
	find(ours, r.main) // nobody worked in the directory that the record names
	use(other)
	find(ours, "") // one of them lies
}
