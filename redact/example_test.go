package redact_test

import (
	"fmt"

	"github.com/clewdev/clew/redact"
)

// For errors and logs: a needless *** does less harm than a key.
func ExampleMask() {
	fmt.Println(redact.Mask("curl -H 'Authorization: Bearer c2VjcmV0LXRva2VuLTEyMw' https://example.com"))
	fmt.Println(redact.MaskJSON(`{"apiKey":"abc","model":"opus"}`))
	// Output:
	// curl -H 'Authorization: Bearer ***' https://example.com
	// {"apiKey":"***","model":"opus"}
}

// For texts that people read: what was replaced is named, and counted.
func ExampleRedactor() {
	r := new(redact.Redactor)
	fmt.Println(r.Text("Ask ann@example.com, whose files are in /home/ann/code."))
	fmt.Println(r.Counts())
	// Output:
	// Ask [redacted:email], whose files are in /home/user/code.
	// map[email:1 home:1]
}
