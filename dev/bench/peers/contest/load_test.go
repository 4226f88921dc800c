package contest

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// seen holds a reader's finds in the frames of a load.
type seen struct {
	Events, Results, Answers int
	Text                     int
	IDs                      map[string]bool
}

func readFrames(t *testing.T, data []byte) seen {
	t.Helper()
	s := seen{IDs: map[string]bool{}}
	for msg, err := range wire.NewReader(bytes.NewReader(data), nil).Messages() {
		if err != nil {
			t.Fatal(err)
		}
		switch msg := msg.(type) {
		case *wire.StreamEventMessage:
			s.Events++
			s.Text += len(msg.Event.(*wire.TextDeltaEvent).Text)
			s.IDs[msg.UUID] = true
		case *wire.UserMessage:
			s.Results++
			s.Text += len(msg.Content.ToolResults()[0].Text())
			s.IDs[msg.UUID] = true
		case *wire.AssistantMessage:
			s.Answers++
			s.Text += len(msg.Content.Text())
			s.IDs[msg.UUID] = true
		default:
			t.Fatalf("%T: %.300s", msg, msg.Raw())
		}
	}
	return s
}

func TestLoadFrames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		load     Load
		want     seen
		min, max int // bytes of a frame
	}{
		{Load{Events, 12_000}, seen{Events: 12_000}, 180, 200},
		{Load{Prose, 3}, seen{Results: 3}, 900_000, 901_000},
		{Load{Code, 3}, seen{Results: 3}, 900_000, 901_000},
		{Load{Answer, 1}, seen{Answers: 1}, 200, 400},
	} {
		t.Run(tt.load.String(), func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := tt.load.Frames().Write(&b); err != nil {
				t.Fatal(err)
			}
			got := readFrames(t, b.Bytes())
			if len(got.IDs) != tt.load.Count {
				t.Errorf("%d frames with %d ids", tt.load.Count, len(got.IDs))
			}
			got.IDs = nil
			tt.want.Text = tt.load.Count * tt.load.TextBytes()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			size := tt.load.FrameBytes()
			if b.Len() != tt.load.Count*size || size < tt.min || size > tt.max {
				t.Errorf("%d bytes in frames of %d", b.Len(), size)
			}
		})
	}
}

func TestParseLoad(t *testing.T) {
	t.Parallel()
	want := Load{Code, 200}
	if got, err := ParseLoad(want.String()); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "events", "events x", "events 0", "events -1", "events 1e3", "words 3"} {
		if got, err := ParseLoad(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
