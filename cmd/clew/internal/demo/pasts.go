package demo

// flakyUpload is a session of three turns with a failing test, a subagent and changes.
func flakyUpload() *Past {
	const server = `package upload

import "net"

// A Server takes uploads.
type Server struct {
	addr string
	ln   net.Listener
}

// Start begins to serve.
func (s *Server) Start() error {
	go s.serve()
	return nil
}
`
	const races = "Look for other places where something is used before it is ready."
	return &Past{
		Name: "uploader", Title: "Fix the flaky upload test",
		daysAgo: 1, hour: 19, minute: 2, slower: 400,
		Files: map[string]string{
			"upload/server.go": server,
			"upload/client.go": "package upload\n\n// Put sends a file, and tries three times.\nfunc (c *Client) Put(name string) error {\n" +
				"\tfor range 3 {\n\t\tif err := c.put(name); err == nil {\n\t\t\treturn nil\n\t\t}\n\t}\n\treturn errGaveUp\n}\n",
			"test.sh": "#!/bin/sh\nif grep -q 'Listen(' upload/server.go; then\n\techo \"ok  \tuploader/upload\t$1 runs\"\nelse\n" +
				"\techo '--- FAIL: TestUpload (0.01s)'\n\techo '    dial tcp 127.0.0.1:9000: connect: connection refused'\n" +
				"\techo \"FAIL\tuploader/upload\t2 of $1\"\n\texit 1\nfi\n",
		},
		Printed: []string{
			"--- FAIL: TestUpload (0.01s)", "    dial tcp 127.0.0.1:9000: connect: connection refused", "FAIL\tuploader/upload\t2 of 20",
			"upload/server.go:13:\tgo s.serve()",
		},
		Prompts: []string{
			"The upload test fails one run in ten. Find out why.",
			"Fix it, please. Keep the retry, but let it report the error.",
			"Now run it a hundred times.",
		},
		steps: []step{
			{asked("one run in ten"), tokens(6, 212, 0, 15420), blocks(
				think("A test that fails sometimes is usually a race. I should see it fail first, then look at how the server is started."),
				say("I'll let it run a few times first."), sh("sh test.sh 20", "Run the upload test 20 times"))},
			{showed("connection refused"), tokens(2, 240, 15420, 380), blocks(
				say("It fails: the connection is refused. A subagent can look for other races while I read the server."),
				explore("Find other races", races))},
			{asked(races), tokens(4, 96, 0, 6240), blocks(sh("grep -rn 'go s' upload", "Find goroutines"), read("upload/client.go"))},
			{showed("Put sends a file"), tokens(2, 131, 6240, 512), blocks(say(
				"One more: client.go tries three times and drops the errors, so a server that is late looks like one that is slow."))},
			{showed("drops the errors"), tokens(2, 88, 15800, 420), blocks(read("upload/server.go"))},
			{showed("go s.serve()"), tokens(2, 310, 16220, 260), blocks(say(
				"The test starts server and client at once, so the client sometimes connects first. Three things follow:\n\n" +
					"1. the **listener** must be up before the first request\n" +
					"2. the error hides behind a retry\n" +
					"3. `TestUpload` never checks it\n\n" +
					"The smallest fix is in `Start`: listen there, and serve in the background."))},
			{asked("Keep the retry"), tokens(4, 402, 16480, 330), blocks(change("upload/server.go", "\tgo s.serve()\n\treturn nil",
				"\tln, err := net.Listen(\"tcp\", s.addr)\n\tif err != nil {\n\t\treturn err\n\t}\n\ts.ln = ln\n\tgo s.serve()\n\treturn nil"))},
			{showed("server.go has been updated"), tokens(2, 260, 16810, 410), blocks(change("upload/client.go",
				"\tfor range 3 {\n\t\tif err := c.put(name); err == nil {\n\t\t\treturn nil\n\t\t}\n\t}\n\treturn errGaveUp",
				"\tvar last error\n\tfor range 3 {\n\t\tif last = c.put(name); last == nil {\n\t\t\treturn nil\n\t\t}\n\t}\n"+
					"\treturn fmt.Errorf(\"gave up: %w\", last)"))},
			{showed("client.go has been updated"), tokens(2, 90, 17220, 390), blocks(sh("sh test.sh 20", "Run the upload test 20 times"))},
			{showed("20 runs"), tokens(2, 140, 17610, 120), blocks(say(
				"Done. `Start` returns when the server listens, and `Put` returns the last error in place of a general one. 20 of 20 runs pass."))},
			{asked("a hundred times"), tokens(4, 70, 17730, 90), blocks(sh("sh test.sh 100", "Run the upload test 100 times"))},
			{showed("100 runs"), tokens(2, 60, 17820, 110), blocks(say("100 of 100 runs pass."))},
		},
	}
}

// pagination is a session with a table and code in its answer.
func pagination() *Past {
	const handler = "def users(request):\n    return json(db.users.all())\n"
	return &Past{
		Name: "api", Title: "Add pagination to /api/users",
		daysAgo: 1, hour: 11, minute: 40, slower: 900,
		Files: map[string]string{
			"users.py": handler,
			"test.sh":  "#!/bin/sh\ngrep -q after users.py && echo '3 passed' || { echo '1 failed'; exit 1; }\n",
		},
		Prompts: []string{"Add pagination to /api/users, by cursor and not by page number."},
		steps: []step{
			{asked("Add pagination"), tokens(6, 180, 0, 15380), blocks(
				think("By cursor: the last ID that the client has seen, and a limit with a maximum."), read("users.py"))},
			{showed("db.users.all"), tokens(2, 350, 15380, 240), blocks(change("users.py", handler,
				"MOST = 100\n\ndef users(request):\n    after = request.args.get(\"after\", 0)\n    limit = min(int(request.args.get(\"limit\", 20)), MOST)\n"+
					"    found = db.users.where(\"id > ?\", after).order(\"id\").limit(limit + 1)\n    next = found[limit - 1].id if len(found) > limit else None\n"+
					"    return json({\"users\": found[:limit], \"next\": next})\n"))},
			{showed("has been updated"), tokens(2, 70, 15620, 420), blocks(sh("sh test.sh", "Run the tests"))},
			{showed("3 passed"), tokens(2, 330, 16040, 80), blocks(say(
				"`/api/users` has pages now. The tests pass.\n\n" +
					"| parameter | meaning | default |\n|---|---|---|\n| `after` | the last ID of the page before | from the start |\n" +
					"| `limit` | users on a page, at most 100 | 20 |\n\n" +
					"```sh\ncurl 'localhost:8000/api/users?limit=2'\n```\n\n`next` is `null` on the last page."))},
		},
	}
}

// armBuild is a short question and its answer.
func armBuild() *Past {
	return &Past{
		Name: "engine", Title: "Build on arm64",
		daysAgo: 2, hour: 16, minute: 25, slower: 300,
		Files: map[string]string{
			"Makefile": "CFLAGS = -O2 -msse4.2\n\nengine: main.c\n\t$(CC) $(CFLAGS) -o $@ $<\n",
			"main.c":   "#include <nmmintrin.h>\n\nint main(void) { return _mm_crc32_u8(0, 0); }\n",
		},
		Printed: []string{"Makefile:1:CFLAGS = -O2 -msse4.2", "main.c:1:#include <nmmintrin.h>"},
		Prompts: []string{"Why does the build fail on arm64?"},
		steps: []step{
			{asked("fail on arm64"), tokens(6, 110, 0, 15350), blocks(sh("grep -n -e sse -e mmintrin Makefile main.c", "Find what is of x86 only"))},
			{showed("mmintrin"), tokens(2, 190, 15350, 300), blocks(say(
				"Because of two lines that only exist on x86:\n\n- `Makefile` passes `-msse4.2`, which the compiler for arm64 does not know\n" +
					"- `main.c` includes `nmmintrin.h` for `_mm_crc32_u8`\n\n" +
					"arm64 has the same instruction as `__crc32b`, in `arm_acle.h`. Shall I choose between them with `#ifdef __aarch64__`?"))},
		},
	}
}

// releaseNotes is a session in which the user is not content at once.
func releaseNotes() *Past {
	return &Past{
		Name: "notes", Title: "Release notes for 1.4",
		daysAgo: 4, hour: 10, minute: 12, slower: 700,
		Files: map[string]string{"commits.txt": "fix: uploads of more than 2 GB\nfeat: resume an upload\nfix: a crash without a network\nchore: newer Go\n"},
		Prompts: []string{
			"Write the release notes for 1.4 into NOTES.md. The commits are in commits.txt.",
			"Shorter, and without the chores.",
		},
		steps: []step{
			{asked("release notes"), tokens(6, 90, 0, 15330), blocks(read("commits.txt"))},
			{showed("resume an upload"), tokens(2, 210, 15330, 210), blocks(create("NOTES.md",
				"# 1.4\n\n## New\n\n- An upload that was interrupted can be resumed.\n\n## Fixed\n\n- Uploads of more than 2 GB work.\n"+
					"- The program does not crash without a network.\n\n## Other\n\n- It is built with a newer Go.\n"))},
			{showed("NOTES.md"), tokens(2, 60, 15540, 300), blocks(say("NOTES.md has the notes for 1.4, in three parts."))},
			{asked("without the chores"), tokens(4, 160, 15840, 120), blocks(create("NOTES.md",
				"# 1.4\n\nUploads can be resumed, may be larger than 2 GB, and do not crash without a network.\n"))},
			{showed("has been updated"), tokens(2, 40, 15960, 160), blocks(say("It is one sentence now."))},
		},
	}
}
