package natsfleet_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/nats/natsfleet"
)

// A server in this process, on a directory. The next program that opens the directory uses the same server.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a directory for temporary files
	first, err := natsfleet.Open(ctx, &natsfleet.Options{Dir: dir})
	if err != nil {
		log.Fatal(err) //nolint:gocritic // an example
	}
	defer first.Close() //nolint:errcheck // nothing more is written
	second, err := natsfleet.Open(ctx, &natsfleet.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close() //nolint:errcheck // nothing more is written

	if _, err := first.Set(ctx, fleet.Accounts, fleet.Record{Key: "team-a", Data: []byte("{}")}); err != nil {
		log.Fatal(err)
	}
	r, err := second.Get(ctx, fleet.Accounts, "team-a")
	fmt.Println(string(r.Data), r.Revision, err)
	// Output: {} 1 <nil>
}

// A server in this process for other machines.
func ExampleOpen() {
	ctx := context.Background()
	password := os.Getenv("FLEET_PASSWORD")
	engine, err := natsfleet.Open(ctx, &natsfleet.Options{
		Dir: "/var/lib/clew/fleet", Listen: "0.0.0.0:4222",
		Certificate: "/etc/clew/cert.pem", Key: "/etc/clew/key.pem",
		Users: []natsfleet.User{{Name: "build", Password: password, Role: natsfleet.Submit}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close() //nolint:errcheck // nothing more is written
}

// The permissions of a watcher, for the configuration of a server.
func ExamplePermissions() {
	publish, subscribe, err := natsfleet.Permissions("", natsfleet.Watch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("permissions {")
	fmt.Printf("\tpublish { allow: [\n")
	for _, subject := range publish {
		fmt.Printf("\t\t%q\n", subject)
	}
	fmt.Printf("\t] }\n\tsubscribe { allow: %q }\n}\n", subscribe)
	// Output:
	// permissions {
	// 	publish { allow: [
	// 		"$JS.API.INFO"
	// 		"CLEW_SERVER.DISK"
	// 		"$SYS.REQ.USER.INFO"
	// 		"$JS.API.STREAM.INFO.CLEW_FILES"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_FILES"
	// 		"$JS.API.DIRECT.GET.CLEW_FILES"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_FILES.>"
	// 		"$JS.FC.CLEW_FILES.>"
	// 		"$JS.API.STREAM.INFO.CLEW_SESSIONS"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_SESSIONS"
	// 		"$JS.API.DIRECT.GET.CLEW_SESSIONS"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_SESSIONS.>"
	// 		"$JS.FC.CLEW_SESSIONS.>"
	// 		"$JS.API.STREAM.INFO.CLEW_JOBS"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_JOBS"
	// 		"$JS.API.DIRECT.GET.CLEW_JOBS"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_JOBS.>"
	// 		"$JS.FC.CLEW_JOBS.>"
	// 		"$JS.API.STREAM.INFO.CLEW_WORKERS"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_WORKERS"
	// 		"$JS.API.DIRECT.GET.CLEW_WORKERS"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_WORKERS.>"
	// 		"$JS.FC.CLEW_WORKERS.>"
	// 		"$JS.API.STREAM.INFO.CLEW_ACCOUNTS"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_ACCOUNTS"
	// 		"$JS.API.DIRECT.GET.CLEW_ACCOUNTS"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_ACCOUNTS.>"
	// 		"$JS.FC.CLEW_ACCOUNTS.>"
	// 		"$JS.API.STREAM.INFO.CLEW_QUESTIONS"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_QUESTIONS"
	// 		"$JS.API.DIRECT.GET.CLEW_QUESTIONS"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_QUESTIONS.>"
	// 		"$JS.FC.CLEW_QUESTIONS.>"
	// 		"$JS.API.STREAM.INFO.CLEW_DECISIONS"
	// 		"$JS.API.STREAM.MSG.GET.CLEW_DECISIONS"
	// 		"$JS.API.DIRECT.GET.CLEW_DECISIONS"
	// 		"$JS.API.CONSUMER.CREATE.CLEW_DECISIONS.>"
	// 		"$JS.FC.CLEW_DECISIONS.>"
	// 		"$JS.API.CONSUMER.MSG.NEXT.CLEW_SESSIONS.>"
	// 		"$JS.API.CONSUMER.INFO.CLEW_SESSIONS.>"
	// 		"$JS.API.CONSUMER.DELETE.CLEW_SESSIONS.>"
	// 	] }
	// 	subscribe { allow: ["_INBOX.watch.>" "CLEW_LIVE.>"] }
	// }
}
