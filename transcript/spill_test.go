package transcript

import "testing"

func TestSpillPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		item DisplayItem
		want string
	}{
		{"kept apart", DisplayItem{SpillPath: "/s/tool-results/a.txt"}, "/s/tool-results/a.txt"},
		{
			"in the structured result",
			DisplayItem{Structured: `{"stdout":"x","persistedOutputPath":"/s/tool-results/\u0061.txt"}`},
			"/s/tool-results/a.txt",
		},
		{
			"in the text", DisplayItem{ToolResult: "<persisted-output>\nOutput too large (89.8KB). Full output saved to: " +
				"/s/tool-results/a b.txt\n\nPreview (first 2KB):\nsaved to: /etc/passwd\n</persisted-output>"},
			"/s/tool-results/a b.txt",
		},
		{
			"on one line",
			DisplayItem{ToolResult: "<persisted-output>Full output saved to: /s/a.txt</persisted-output>"}, "/s/a.txt",
		},
		{"of a Windows agent", DisplayItem{ToolResult: "<persisted-output>\r\nsaved to: C:\\s\\a.txt\r\n"}, `C:\s\a.txt`},
		{"short output", DisplayItem{Structured: `{"stdout":"x"}`, ToolResult: "x"}, ""},
		{"output that talks of it", DisplayItem{ToolResult: "see <persisted-output> saved to: /x"}, ""},
		{"no path", DisplayItem{ToolResult: "<persisted-output>Full output saved to: \n"}, ""},
		{"no sentence", DisplayItem{ToolResult: "<persisted-output>"}, ""},
		{"another type", DisplayItem{Structured: `{"persistedOutputPath":7}`}, ""},
		{"no JSON", DisplayItem{Structured: `{"persistedOutputPath`}, ""},
	}
	for _, tt := range tests {
		if got, ok := SpillPath(&tt.item); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}
