package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/gitaddress"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Job is the job of a fleet that a session belongs to. Each attempt at a job has its own working
// directory, which is removed at the end, so package fleet/agents records the job beside the
// transcript. The sessions of a job count to the project of its repository: see
// [SessionInfo.Home]. The zero value means that a session belongs to no job.
//
// The record is a label: no transcript or settings are read where it points.
type Job struct {
	// ID is the ID of the job, and Attempt the number of the attempt, from 1.
	ID      string `json:"id"`
	Attempt int    `json:"attempt,omitempty"`
	// Repository is the repository of the job, the path of a directory or a URL. It is empty if the
	// agent works in an empty directory.
	Repository string `json:"repository,omitempty"`
	// Directory is the directory of the project that the job counts to, or "" without a repository.
	// For a URL, except of a file, it is its clone on the machine of the worker, see [FindClone], or
	// if none was known there, the host and the path of the URL: git.example.com/app.
	Directory string `json:"directory,omitempty"`
}

// Home returns the name of the project that the session counts to: for the session of a job the
// project of the job's repository, and otherwise Project.
func (i *SessionInfo) Home() string { return i.Job.home(i.Project) }

// Directory returns the directory of the project that the session counts to: for the session of a
// job the directory of the job's repository, and otherwise CWD.
func (i *SessionInfo) Directory() string { return cmp.Or(i.Job.Directory, i.CWD) }

// Home is [SessionInfo.Home] for the session that the file belongs to.
func (f *File) Home() string { return f.Job.home(f.Project) }

// home returns the name of the project that the sessions of a job count to, or project if that is
// their own.
func (j *Job) home(project string) string {
	if j.Directory == "" {
		return project
	}
	return sessionfile.ProjectName(j.Directory)
}

const (
	jobName     = "job.json" // in the directory of the session
	maxJobBytes = 8 << 10
	maxJobText  = 2 << 10
)

// RecordJob records that a session belongs to a job, in a file beside the session's transcript. The
// transcript and its project need not exist yet, but the directory of the agent must. The record is believed only in a project that is named after the
// working directory of an attempt, as package fleet/agents names it.
func RecordJob(transcript string, job Job) error {
	dir, ok := strings.CutSuffix(transcript, transcriptExtension)
	if !ok || !newid.IsUUID(filepath.Base(dir)) {
		return fmt.Errorf("sessions: %q is not the path of a transcript", transcript)
	}
	text, err := json.Marshal(job)
	if err == nil && !job.valid() {
		err = errors.New("a text is too long or has control characters")
	}
	if err == nil { // the transcript of an agent in a container is not on this machine
		_, err = os.Stat(filepath.Join(dir, "../../.."))
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = files.Write(filepath.Join(dir, jobName), text, files.WriteOptions{NoSync: true})
	}
	if err != nil {
		return fmt.Errorf("sessions: record the job of %s: %w", transcript, err)
	}
	return nil
}

// valid reports whether the texts of a job can be shown.
func (j *Job) valid() bool {
	for _, text := range []string{j.ID, j.Repository, j.Directory} {
		if len(text) > maxJobText || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return false
		}
	}
	return j.ID != ""
}

// attemptName matches the end of the name of a project of a job: the number of the attempt, the
// start of its session's ID, and "work" if it has a repository.
var attemptName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-[0-9]+-([0-9a-f]{8})(-work)?$`)
})

// attemptOf returns the start of the ID of the session that a project of a job is named after. It
// returns false for other projects. The end of a long name is cut, so that any session may have the
// record.
func attemptOf(project string) (session string, ok bool) {
	if sessionfile.CutName(project) {
		return "", true
	}
	if found := attemptName().FindStringSubmatch(project); found != nil {
		return found[1], true
	}
	return "", false
}

// job returns the job of a project, or the zero value if there is no record that can be believed.
func (f *Folder) job(project string) Job {
	session, ok := attemptOf(project)
	if !ok || projectKey(project).Check() != nil {
		return Job{}
	}
	if f.readJob != nil {
		f.readJob(project)
	}
	root, err := f.openProject(wire.SessionKey{Project: project, SessionID: "any"})
	if err != nil {
		return Job{}
	}
	defer root.Close() //nolint:errcheck // it was only read
	entries, _ := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || !strings.HasPrefix(name, session) || !newid.IsUUID(name) {
			continue
		}
		if job, ok := readJobRecord(root, path.Join(name, jobName)); ok {
			return job
		}
	}
	return Job{}
}

// readJobRecord reads the record of a job.
func readJobRecord(root *os.Root, name string) (job Job, ok bool) {
	text, err := files.ReadSmallIn(root, name, maxJobBytes)
	if err != nil || json.Unmarshal(text, &job) != nil || !job.valid() {
		return Job{}, false
	}
	if job.Directory == "" {
		job.Directory = remoteKey(job.Repository)
	}
	return job, true
}

// jobs returns the jobs of projects, by the name of the project.
func (f *Folder) jobs() map[string]Job {
	names, _ := f.projectDirs(func(name string) bool { // what can't be read has no jobs
		_, ok := attemptOf(name)
		return ok
	})
	jobs := map[string]Job{}
	for _, name := range names {
		if job := f.job(name); job.ID != "" {
			jobs[name] = job
		}
	}
	return jobs
}

// addJobs finds the jobs of the store. If the scope has the names of projects, it then includes the
// projects of the jobs that count to one of them.
func (s *scope) addJobs() {
	folder, ok := s.store.(*Folder)
	if !ok {
		return
	}
	s.jobs, s.ofJobs = folder.jobs(), nil
	if len(s.names) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		if s.hasName(s.home(name)) {
			s.ofJobs = append(s.ofJobs, name)
		}
	}
}

// home returns the name of the project that the sessions of a project count to.
func (s *scope) home(project string) string {
	job := s.jobs[project]
	return job.home(project)
}

// jobOf returns the job of a project of a store.
func jobOf(store Store, project string) Job {
	if folder, ok := store.(*Folder); ok {
		return folder.job(project)
	}
	return Job{}
}

// FindClone returns the directory of the clone of a repository in which agents have worked, or "" if
// there is none, or more than one: any directory can have any remote. The repository is a URL or its
// short form for SSH, and a clone is a directory with such a remote, by whatever protocol. FindClone
// reads the newest sessions of each project in the agent's own files, and the files of git. It does
// not run git, and does not look into directories that only the records of jobs name.
//
//	dir, err := sessions.FindClone(ctx, "https://git.example.com/app.git") // such as /home/me/app
func FindClone(ctx context.Context, repository string) (string, error) {
	wanted := remoteKey(repository)
	if wanted == "" {
		return "", nil
	}
	projects, err := projectsOf(ctx, nil, false)
	clone := ""
	for _, p := range projects {
		if !filepath.IsAbs(p.Directory) {
			continue
		}
		root, common := repositoryOf(p.Directory)
		if !slices.Contains(remotesOf(common), wanted) {
			continue
		}
		if dir := mainTree(root, common); clone == "" || clone == dir {
			clone = dir
		} else {
			return "", err
		}
	}
	return clone, err
}

// mainTree returns the main working tree of a repository, or root if there is none.
func mainTree(root, common string) string {
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return root
}

// remotesOf returns the keys of the remotes of a git directory.
func remotesOf(common string) []string {
	if common == "" {
		return nil
	}
	var keys []string
	isRemote := false
	for line := range strings.Lines(gitFile(filepath.Join(common, "config"), maxGitConfig)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			isRemote = strings.HasPrefix(line, "[remote ")
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if key := remoteKey(strings.Trim(strings.TrimSpace(value), `"`)); isRemote && strings.TrimSpace(name) == "url" && key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// remoteKey returns the host and the path of a URL of git or of its short form for SSH, which are
// the same for all protocols and users: git.example.com/app. It returns "" for a path.
func remoteKey(url string) string {
	host, rest, _ := gitaddress.Split(url)
	host = host[strings.LastIndex(host, "@")+1:]
	host, _, _ = strings.Cut(host, ":") // the port differs between protocols
	rest = strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
	if host == "" || rest == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + rest
}
