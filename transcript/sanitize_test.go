package transcript

import (
	"strings"
	"testing"
)

func TestSanitize(t *testing.T) {
	for text, want := range map[string]string{
		"":            "",
		" plain \n":   "plain",
		"a < b > c":   "a < b > c",
		"<b>bold</b>": "<b>bold</b>",
		"a <system-reminder>x</system-reminder> b":                                            "a  b",
		"a <System-Reminder>x\ny</SYSTEM-REMINDER> b":                                         "a  b",
		"<local-command-caveat>x</local-command-caveat>a":                                     "a",
		"a<system-reminder>x</system-reminder>b<system-reminder>y</system-reminder>":          "ab",
		"<system-reminder></system-reminder>":                                                 "",
		"<local-command-stdout>out</local-command-stdout>":                                    "out",
		"<local-command-stderr>err</local-command-stderr>":                                    "err",
		"<local-command-stdout>cut":                                                           "cut",
		"<local-command-stdout></local-command-stdout>":                                       "",
		"<command-name>/review</command-name><command-args>it all</command-args>":             "/review it all",
		"<command-message>review</command-message>\n<command-name>/review</command-name>":     "/review",
		"<command-args>x</command-args><command-name>/y</command-name>":                       "",
		"<command-name>pdf</command-name>":                                                    "/pdf",
		"<command-name> </command-name>":                                                      "",
		"<command-message>review is running</command-message>":                                "",
		"run <command-name>/x</command-name> <command-args>y</command-args> now":              "run   now",
		"<bash-input>ls -l</bash-input>":                                                      "ls -l",
		"then <BASH-INPUT>ls</bash-input>!":                                                   "then ls!",
		"<system-reminder>cut":                                                                "<system-reminder>cut",
		"a</system-reminder>b":                                                                "a</system-reminder>b",
		"<system-reminder>a<system-reminder>b</system-reminder>c":                             "c",
		"<system-reminder>no <system-reminder> tags</system-reminder>a":                       "a",
		"<system-reminder>a<local-command-caveat>b</system-reminder>c</local-command-caveat>": "c</local-command-caveat>",
		"<system-reminder >a</system-reminder>":                                               "<system-reminder >a</system-reminder>",
		"<command-name>/x</command-name>\n<command-args>a <system-reminder>b</command-args>":  "/x a <system-reminder>b",
		"\x1b[31mred\x1b[0m <system-reminder>x</system-reminder>":                             "\x1b[31mred\x1b[0m",
		"<system-reminder>ſ</syſtem-reminder>x</system-reminder>":                             "",
		"<":                               "<",
		"<system-reminder":                "<system-reminder",
		"<command-name>/x<command-args>y": "<command-name>/x<command-args>y",
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", text, got, want)
		}
	}
}

// Work grows with the text, not with its square: each of these took minutes where every tag looked for its end.
func TestSanitizeIsLinear(t *testing.T) {
	const longest, most = 1 << 20, 1 << 16
	for _, part := range []string{
		"<system-reminder>", "</system-reminder>", "<", "<>", "</", "<a", "<bash-input>", "<command-name>", "<1",
		"<system-reminder><local-command-caveat>", "<system-reminder><system-reminder></system-reminder>",
		"<task-notification>", "<task-notification><summary></task-notification>", "<task-notification><1",
		`<teammate-message teammate_id="a">`, `<teammate-message teammate_id="a">x</teammate-message>`,
		`<teammate-message teammate_id="a" `, "<teammate-message ", "<local-command-stdout>", "<bash-stdout></bash-stdout>",
		"<local-command-caveat></local-command-caveat>", "<tick>", "<ide_x></ide_x>", "[Request interrupted by user",
		"[Request interrupted by user]", caveatStart,
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(part, min(longest/len(part), most))
			Sanitize(text)
			Sanitize("a" + text)
			withoutTags(text)
			e := &Entry{Type: "user", Message: &Message{Content: []byte(quoteText(text))}}
			if msg, noise := new(classifier).classify(e); msg == nil && noise == "" {
				t.Error("neither a message nor noise")
			}
		})
	}
}
