package natsfleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/fleet"
)

// A Role is a set of permissions for a user of a server.
type Role string

// The roles. Subjects can't separate everything: a submitter writes job records, since jobs are
// also cancelled and answered that way, so a custom program could write there like a worker. It
// can't register as a worker, so that live workers take over such a job. In the same way it could
// write decisions in the name of another user, but not remove any: the history of a record keeps
// what was there before. A watcher can't change a record.
const (
	Watch  Role = "watch"  // reads jobs, workers, transcripts and files, and listens to agents
	Submit Role = "submit" // watches, submits jobs, decides about them, and drops them with their files
	Work   Role = "work"   // does everything that a worker does
)

// A User may connect to the server of Options.Dir.
type User struct {
	Name     string
	Password string
	Role     Role
}

// inbox is the prefix of the subjects of answers. Each role has its own, so that no role reads the answers to
// another.
func (r Role) inbox() string { return "_INBOX." + string(r) }

// Permissions returns the subjects that a role may publish to and subscribe to, with the prefix of all streams, which
// may be empty for [DefaultName]. Engines with these permissions need Options.Role.
func Permissions(name string, r Role) (publish, subscribe []string, err error) {
	e := Engine{name: name}
	if name == "" {
		e.name = DefaultName
	}
	switch {
	case !isName(e.name):
		return nil, nil, fmt.Errorf("natsfleet: name %q must consist of letters, digits, '-' and '_'", name)
	case !slices.Contains([]Role{Watch, Submit, Work}, r):
		return nil, nil, fmt.Errorf("natsfleet: there is no role %q; roles are %s, %s and %s", r, Watch, Submit, Work)
	}
	publish = []string{"$JS.API.INFO", e.diskSubject(), identitySubject}
	streams := []string{e.fileStream(), e.sessionStream()}
	for _, t := range fleet.Tables {
		streams = append(streams, e.tableStream(t))
	}
	for _, s := range streams {
		publish = append(publish,
			"$JS.API.STREAM.INFO."+s, "$JS.API.STREAM.MSG.GET."+s, "$JS.API.DIRECT.GET."+s,
			"$JS.API.CONSUMER.CREATE."+s+".>", "$JS.FC."+s+".>",
		)
	}
	for _, call := range []string{"MSG.NEXT", "INFO", "DELETE"} { // lists of sessions need them
		publish = append(publish, "$JS.API.CONSUMER."+call+"."+e.sessionStream()+".>")
	}
	publish = append(publish, e.writes(r)...)
	return publish, []string{r.inbox() + ".>", e.name + "_LIVE.>"}, nil
}

// writes returns the subjects that a role may change.
func (e *Engine) writes(r Role) []string {
	if r == Watch {
		return nil
	}
	subjects := []string{e.fileStream() + ".>", "$JS.API.STREAM.PURGE." + e.fileStream()}
	for _, t := range fleet.Tables {
		if r == Work || t != fleet.Workers {
			subjects = append(subjects, e.tableStream(t)+".>")
		}
	}
	if r == Work {
		subjects = append(subjects, e.name+"_LIVE.>", e.sessionStream()+".>", "$JS.API.STREAM.PURGE."+e.sessionStream())
	}
	return subjects
}

// serverUsers returns the users as the server wants them.
func (o *Options) serverUsers(name string) ([]*server.User, error) {
	var users []*server.User
	for _, u := range o.Users {
		publish, subscribe, err := Permissions(name, u.Role)
		if err != nil {
			return nil, err
		}
		if u.Name == "" || len(u.Password) < minPassword || strings.ContainsAny(u.Name, " \t\r\n") {
			return nil, fmt.Errorf("natsfleet: a user needs a name and a password of at least %d characters", minPassword)
		}
		users = append(users, &server.User{Username: u.Name, Password: u.Password, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: publish},
			Subscribe: &server.SubjectPermission{Allow: subscribe},
		}})
	}
	return users, nil
}

// minPassword is the length of the shortest password of a user.
const minPassword = 16
