package control

import (
	"bytes"
	"encoding/json"
	"errors"
)

// requestFrame returns a control request as a line. The body is a JSON object.
func requestFrame(id string, body []byte) []byte {
	return envelope(`{"type":"control_request","request_id":`, id, `,"request":`, body, "}")
}

// cancelFrame returns the withdrawal of a request as a line.
func cancelFrame(id string) []byte {
	return envelope(`{"type":"control_cancel_request","request_id":`, id, "}", nil, "")
}

// answerFrame returns a successful answer as a line.
func answerFrame(id string, body []byte) []byte {
	return envelope(`{"type":"control_response","response":{"subtype":"success","request_id":`, id, `,"response":`, body, "}}")
}

// A coder is an error with a code for the other side.
type coder interface {
	error
	Code() string
}

// refusalFrame returns an error answer as a line.
func refusalFrame(id string, err error) []byte {
	middle := `,"error":` + string(quote(err.Error()))
	if with, ok := errors.AsType[coder](err); ok {
		middle += `,"error_code":` + string(quote(with.Code()))
	}
	return envelope(`{"type":"control_response","response":{"subtype":"error","request_id":`, id, middle, nil, "}}")
}

func envelope(head, id, middle string, body []byte, tail string) []byte {
	frame := append([]byte(head), quote(id)...)
	frame = append(frame, middle...)
	frame = append(frame, body...)
	frame = append(frame, tail...)
	return append(frame, '\n')
}

// marshal returns value as one line of JSON, with the characters of HTML as they are.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func quote(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return data
}
