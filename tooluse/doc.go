// Package tooluse has Go types for the inputs and the structured results of the agent's built-in
// tools.
//
// [DecodeInput] and [DecodeResult] return the type that belongs to the name of a tool:
//
//	in, err := tooluse.DecodeInput(block.Name, block.Input)
//	if err != nil {
//		return err
//	}
//	switch in := in.(type) {
//	case *tooluse.BashInput:
//		fmt.Println("$", in.Command)
//	case *tooluse.EditInput:
//		fmt.Println("edits", in.FilePath)
//	}
//
// The agent adds members and tools with each version. A member that is unknown or of another type
// counts as absent, and a tool without a type gives an [*OtherInput] or an [*OtherResult], which
// hold the JSON.
//
// The package does no I/O.
package tooluse
