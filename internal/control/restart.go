package control

// Break takes the agent away, which is gone for the reason err: our calls return it, and the contexts of the agent's
// requests end. Prompts that were not begun to be written wait for another agent, and so do further calls; the ids of
// the prompts are returned. Break may be called again before there is one.
func (c *Conn) Break(err error) (kept []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(err)
	if c.gate == nil && c.err == nil {
		c.gate = make(chan struct{})
	}
	return c.out.detach(err)
}

// Attach brings another agent, which gets what Greet sends, and answers to its own requests. All else waits until open
// is called, which says that this agent is ready for prompts and calls, and reports whether it is still there.
func (c *Conn) Attach(dst WriteCloser) (open func() bool) {
	p := c.out.attach(dst)
	return func() bool { return c.open(p) }
}

func (c *Conn) open(p *pen) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.out.release(p) {
		return false
	}
	c.openGate()
	return true
}

// Ready reports whether there is an agent that is ready for prompts and calls.
func (c *Conn) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gate == nil
}

func (c *Conn) openGate() {
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}
