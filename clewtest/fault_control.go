package clewtest

import (
	"encoding/json"
	"slices"
)

// RespondOutOfOrder answers control requests of the host with success, the last one first. The ids are the scenario's, in
// the order in which the requests were expected.
func RespondOutOfOrder(ids ...string) Fault { return makeFault("respond-out-of-order", ids...) }

// RespondTwice answers the control request with the scenario's id twice, with success.
func RespondTwice(id string) Fault { return makeFault("respond-twice", id) }

// RespondNever leaves the control request with the scenario's id without an answer. It says so in the dialogue, and does
// nothing else.
func RespondNever(id string) Fault { return makeFault("respond-never", id) }

// RespondUnknown answers a control request that the host never made: id is sent as it stands.
func RespondUnknown(id string) Fault { return makeFault("respond-unknown", id) }

// RequestWithoutID sends a control request that has no request_id.
func RequestWithoutID() Fault { return makeFault("request-without-id") }

// RequestWithoutBody sends a control request that has a request_id and no request.
func RequestWithoutBody(id string) Fault { return makeFault("request-without-body", id) }

// RequestUnknown sends a control request of a subtype that hosts don't know. A host should answer it with an error, which
// the scenario may expect next.
func RequestUnknown(id, subtype string) Fault { return makeFault("request-unknown", id, subtype) }

// success answers the request with the host's id.
func (p *player) success(id string) error {
	return p.writeObject(map[string]any{
		"type":     "control_response",
		"response": map[string]any{"subtype": "success", "request_id": id, "response": map[string]any{}},
	})
}

func (p *player) writeObject(frame map[string]any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return p.write(string(data) + "\n")
}

func playRespondOutOfOrder(p *player, ids []string) error {
	for _, id := range slices.Backward(ids) {
		if err := p.success(id); err != nil {
			return err
		}
	}
	return nil
}

func playRespondTwice(p *player, args []string) error {
	if err := p.success(args[0]); err != nil {
		return err
	}
	return p.success(args[0])
}

func playRespondNever(*player, []string) error { return nil }

func playRespondUnknown(p *player, args []string) error { return p.success(args[0]) }

func playRequestWithoutID(p *player, _ []string) error {
	return p.writeObject(map[string]any{
		"type": "control_request",
		"request": map[string]any{
			"subtype": "can_use_tool", "tool_name": "Bash", "input": map[string]any{}, "tool_use_id": "toolu_fault",
		},
	})
}

func playRequestWithoutBody(p *player, args []string) error {
	return p.writeObject(map[string]any{"type": "control_request", "request_id": args[0]})
}

func playRequestUnknown(p *player, args []string) error {
	return p.writeObject(map[string]any{
		"type": "control_request", "request_id": args[0],
		"request": map[string]any{"subtype": args[1]},
	})
}
