package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// A challenge asks a server to prove that it has the token in a file. After a server was killed,
// any user of the machine can listen on its port.
type challenge struct {
	Nonce string `json:"nonce"`
}

// A proof answers a challenge. It does not give the token away.
type proof struct {
	Proof string `json:"proof"`
}

// nonceSize is the size of a challenge in bytes.
const nonceSize = 32

// proofOf returns the proof that its sender has the token.
func proofOf(token, nonce string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("clew serve proof " + nonce))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// prove answers a challenge.
func (s *Server) prove(w http.ResponseWriter, r *http.Request) error {
	var c challenge
	if err := decodeBody(r, &c); err != nil {
		return err
	}
	if len(c.Nonce) != base64.RawURLEncoding.EncodedLen(nonceSize) {
		return refused(http.StatusBadRequest, "the nonce must have %d bytes", nonceSize)
	}
	return reply(w, proof{proofOf(s.Token(), c.Nonce)})
}

// A call is a connection to a server that proved its identity. Requests with the token go through
// this connection only: on another one, somebody else could listen by then.
type call struct {
	to        *Running
	conn      net.Conn
	transport *http.Transport
}

// connect connects to the server, and has it prove that it knows the token, which is not sent. The
// caller closes the call.
func (r *Running) connect(ctx context.Context) (*call, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &call{to: r, conn: conn, transport: r.transport(conn)}
	nonce := newSecret(nonceSize)
	var answer proof
	err = c.send(ctx, "proof", "", fmt.Appendf(nil, `{"nonce":%q}`, nonce), &answer)
	if err == nil && !hmac.Equal([]byte(answer.Proof), []byte(proofOf(r.Token, nonce))) {
		err = fmt.Errorf("another program answers at %s", r.Address)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close ends the connection.
func (c *call) close() {
	c.transport.CloseIdleConnections()
	_ = c.conn.Close() // it may be closed
}

// send sends a request with a body to the server, with the token unless that is "", and decodes the
// answer.
func (c *call) send(ctx context.Context, path, token string, body []byte, into any) error {
	base := c.to.URL
	if base == "" { // a socket that nothing forwards to
		base = "http://localhost/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+api+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if req.URL.Scheme = "http"; c.to.Certificate != "" { // a proxy has the certificate of a public URL
		req.URL.Scheme = "https"
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.transport.RoundTrip(req) // no redirects
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // to its end: the connection is used again
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the server has answered %s", resp.Status)
	case err != nil:
		return err
	}
	return json.Unmarshal(data, into)
}

// onlyConn returns a function that returns a connection once.
func onlyConn(conn net.Conn) func(context.Context, string, string) (net.Conn, error) {
	left := make(chan net.Conn, 1)
	left <- conn
	return func(context.Context, string, string) (net.Conn, error) {
		select {
		case conn := <-left:
			return conn, nil
		default:
			return nil, errors.New("the server has closed the connection")
		}
	}
}
