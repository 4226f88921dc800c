package port

import (
	"net"
	"runtime"
	"testing"
	"time"
)

func TestBecomesFree(t *testing.T) {
	t.Parallel()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = "127.0.0.2" // no other program gets a port of it by chance
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if BecomesFree(t.Context(), address, 0) {
		t.Error("an address in use is free")
	}
	found := make(chan bool)
	go func() { found <- BecomesFree(t.Context(), address, time.Hour) }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if !<-found {
		t.Error("the address does not become free")
	}
	if BecomesFree(t.Context(), "no address", time.Hour) {
		t.Error("an invalid address becomes free")
	}
}
