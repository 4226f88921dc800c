// Package screens asks a running agent for the contents of the agent's screens. These are the
// context window of /context, the limits of /usage, the cost of /cost, the settings and permission
// rules in force, and the paths that complete a word after "@".
//
//	window, err := screens.Context(ctx, session, nil)
//	if err != nil {
//		return err
//	}
//	fmt.Printf("%d of %d tokens\n", window.TotalTokens, window.MaxTokens)
//
// Each function sends one control request and waits for the answer, even while a turn is running.
// It needs a [Controller], which a [clew.Session] is. None of them changes anything in the session.
// The agent has more screens, such as get_hooks_listing, get_memory_dialog and get_workspace_diff:
// [clew.Session.Control] requests them, and decodes the answer into a struct of the caller.
//
// Fields that the agent leaves out of an answer are zero. A field that is not of the type that it
// has here, because the agent is of another version, is zero as well, and the session logs it. The
// error is a [*clew.ControlError] when the agent refuses, and its Unsupported method reports an
// agent that does not know the request.
//
// Many texts in these answers are written for people and change from version to version. They can
// hold text of the model or of a file: escape them before they reach a terminal or a page.
package screens
