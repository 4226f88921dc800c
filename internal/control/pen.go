package control

import (
	"cmp"
	"io"
)

// start lets a goroutine write what is queued, unless one does.
func (o *Outbox) start() {
	if p := o.pen; p != nil && p.idle == nil && p.stuck == nil {
		p.idle = make(chan struct{})
		go o.run(p)
	}
}

// run writes to one agent until there is nothing left, or the agent takes no more.
func (o *Outbox) run(p *pen) {
	for letters := o.next(p); letters != nil; letters = o.next(p) {
		if _, err := p.dst.Write(join(letters)); err != nil {
			if o.broke(p, letters) {
				o.failed(err)
			}
			return
		}
		settle(letters, nil)
	}
}

// next takes all that can be written. With nothing left, it closes the input if that is to be done, and says that
// nobody writes any more.
func (o *Outbox) next(p *pen) []*Letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pen == p {
		if letters := o.take(); len(letters) > 0 {
			return letters
		}
		if o.ending && o.err == nil {
			o.fail(cmp.Or(p.dst.CloseWrite(), io.ErrClosedPipe))
		}
	}
	p.rest()
	return nil
}

// take takes the letters out of the queue that the agent is ready for.
func (o *Outbox) take() []*Letter {
	ready, held := o.queue, []*Letter(nil)
	if o.held {
		ready = nil
		for _, l := range o.queue {
			if l.prompt == "" {
				ready = append(ready, l)
			} else {
				held = append(held, l)
			}
		}
	}
	o.queue = held
	return ready
}

// broke notes that letters could not be written. It reports whether it is not known why: they wait for that.
func (o *Outbox) broke(p *pen, letters []*Letter) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.rest()
	if why := cmp.Or(o.err, p.gone); why != nil {
		settle(letters, why)
		return false
	}
	p.stuck = letters
	return true
}

func (p *pen) rest() {
	close(p.idle)
	p.idle = nil
}

// detach takes the agent away. Prompts that were not begun stay in the queue, and their ids are returned; all else is
// refused with err, as is what can't be written any more.
func (o *Outbox) detach(err error) (kept []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = true
	settle(o.take(), err)
	for _, l := range o.queue {
		kept = append(kept, l.prompt)
	}
	if p := o.pen; p != nil {
		p.gone = err
		settle(p.stuck, err)
	}
	o.pen, o.gone = nil, err
	return kept
}

// attach brings another agent. Prompts wait until release.
func (o *Outbox) attach(dst WriteCloser) *pen {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pen, o.held = &pen{dst: dst}, true
	return o.pen
}

// release lets prompts go to an agent, unless that is gone. It reports whether it is not.
func (o *Outbox) release(p *pen) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pen != p {
		return false
	}
	o.held = false
	o.start()
	return true
}

func join(letters []*Letter) []byte {
	if len(letters) == 1 {
		return letters[0].frame
	}
	var all []byte
	for _, l := range letters {
		all = append(all, l.frame...)
	}
	return all
}

func settle(letters []*Letter, err error) {
	for _, l := range letters {
		l.err = err
		close(l.written)
	}
}
