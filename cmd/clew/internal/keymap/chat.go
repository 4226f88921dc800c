package keymap

// The actions of a chat.
const (
	Send           Action = "send"
	BreakLine      Action = "break-line"
	EditOutside    Action = "edit"
	Interrupt      Action = "interrupt"
	InterruptOrEnd Action = "interrupt-or-end"
	EndChat        Action = "end"
	NextMode       Action = "mode"
	GoToQuestion   Action = "question"
	Recall         Action = "recall"
	ListKeys       Action = "list-keys"
	ShowRows       Action = "rows"

	AllowOnce     Action = "allow"
	AllowAlways   Action = "always"
	Deny          Action = "deny"
	DenyWhy       Action = "deny-why"
	NextQuestion  Action = "next-question"
	Explain       Action = "explain"
	LeaveQuestion Action = "leave-question"
)

// chatBindings are the key table's rows for a chat. The keys that edit a text match a shell's: see
// editKeys in package tui. The keys that answer a question can't be changed.
var chatBindings = []Binding{
	{Send, []string{"enter"}, InChat, "send, or queue while the agent works; after a \\, break", "send"},
	{BreakLine, []string{"alt+enter", "ctrl+j", "shift+enter"}, InChat, "break the line", ""},
	{Recall, []string{"ctrl+r"}, InChat, "search earlier prompts; up and down recall them", ""},
	{EditOutside, []string{"ctrl+o", "ctrl+x ctrl+e"}, InChat, "edit the text in $VISUAL or $EDITOR", ""},
	{NextMode, []string{"shift+tab"}, InChat, "permission mode: default, acceptEdits, plan", "mode"},
	{Interrupt, []string{"esc"}, InChat, "interrupt the turn; twice, also clear the queue", "interrupt"},
	{InterruptOrEnd, []string{"ctrl+c"}, InChat | InQuestion, "interrupt, or clear the text; twice, end the chat", ""},
	{EndChat, []string{"ctrl+d"}, InChat, "end the chat", ""},
	{ShowRows, []string{"alt+v", "ctrl+x ctrl+v"}, InChat, "read the conversation as in clew view; q closes it", ""},
	{GoToQuestion, []string{"ctrl+g"}, InChat | InQuestion, "go to the question, or back to the text", ""},
	{ListKeys, []string{"?"}, InChat, "list the keys, if there is no text", "keys"},
	{AllowOnce, []string{"y"}, InQuestion, "yes, once", "yes"},
	{AllowAlways, []string{"a"}, InQuestion, "always: shows the rules, which enter confirms", "always"},
	{Deny, []string{"n"}, InQuestion, "no", "no"},
	{DenyWhy, []string{"e"}, InQuestion, "no, and say why", "no, because"},
	{NextQuestion, []string{"s"}, InQuestion, "the next question", "next"},
	{Explain, []string{"?"}, InQuestion, "explain the answers", ""},
	{LeaveQuestion, []string{"esc"}, InQuestion, "back to the text, without an answer", "back"},
	{PageDown, []string{"space", "pgdown"}, InQuestion, "see more of the question", "more"},
	{PageUp, []string{"b", "pgup"}, InQuestion, "see what was before", ""},
}
