package redfish

import (
	"net/http"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

const (
	// basicFor is how long a password is used before its file is read again.
	basicFor = time.Minute
	// sessionAgain is how long a service that answered "not found" to a login is
	// asked with basic authentication before a login is tried again.
	sessionAgain = 15 * time.Minute
)

// basic is the state of basic authentication.
type basic struct {
	user     string
	password string // "" is none
	read     time.Time
	accepted bool // the last answer with it was not a 401
}

// useBasic authenticates every request with a password that was just read.
func (c *client) useBasic(user, password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.basic = basic{user: user, password: password, read: c.clock(), accepted: c.basic.accepted && c.basic.password == password}
}

func (c *client) usesBasic() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token == "" && c.basic.password != ""
}

// renewable reports whether a request that was answered 401 is worth repeating: its
// session could be recreated, or the password file holds another password. It
// forgets what was refused.
func (c *client) renewable() bool {
	if c.forget() {
		return true
	}
	if !c.usesBasic() {
		return false
	}
	user, password, err := c.cfg.BasicAuth.Read()
	if err != nil || password == c.basic.password {
		return false
	}
	c.useBasic(user, password)
	return true
}

// judgeBasic evaluates the answer to a request with basic authentication. One 401
// concerns its page. A second in a row concerns the password: the service is then
// left alone as after a refused login, because it locks out a client that
// continues.
func (c *client) judgeBasic(a answer, status int) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case status == 0: // without an answer, nothing is known of the password
	case status != http.StatusUnauthorized:
		c.basic.accepted, c.refused = true, 0
	case c.basic.accepted:
		c.basic.accepted = false
	default:
		c.basic = basic{}
		c.backOff()
		a = failed(collectors.Denied, "basic authentication of %s: status %d", c.basic.user, status)
		a.away = true
	}
	return a
}
