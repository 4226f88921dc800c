package cli

// onResize does nothing: the next key sees the new size.
func onResize(func()) (stop func()) { return func() {} }
