package prompt

import "io"

// ReadKeys calls press with the keys that come from a terminal in raw mode, those that
// come at once together, until that can't be read any more. It blocks.
func ReadKeys(terminal io.Reader, press func([]Key)) error {
	var d Decoder
	buf := make([]byte, 4096)
	for {
		n, err := terminal.Read(buf)
		if keys := d.Decode(buf[:n]); len(keys) > 0 {
			press(keys)
		}
		if err != nil {
			return err
		}
	}
}
