package bus_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// The test binary is also the server that tests kill.
const (
	childDir    = "QUINTET_TEST_SERVER_DIR"
	childListen = "QUINTET_TEST_SERVER_LISTEN"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Getenv(childListen)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child serves until its input ends, which it does when its parent goes.
func child(dir, listen string) error {
	s, err := broker.Start(context.Background(), broker.Config{Dir: dir, Site: "lab", Listen: listen})
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Close()
	return nil
}

// process is a server in a process of its own.
type process struct {
	t    *testing.T
	dir  string
	url  string
	cmd  *exec.Cmd
	hold io.Closer
}

func spawn(t *testing.T) *process {
	p := &process{t: t, dir: t.TempDir()}
	p.start(wiretest.FreeAddress(t))
	t.Cleanup(p.kill)
	return p
}

func (p *process) start(listen string) {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), childDir+"="+p.dir, childListen+"="+listen)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.hold = in
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the server did not start: %v", err)
	}
	p.url = strings.TrimSpace(line)
}

// kill ends the server without a word.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.hold.Close()
	p.cmd = nil
}

// stop ends the server in order.
func (p *process) stop() {
	_ = p.hold.Close()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// again starts the server at the address it had.
func (p *process) again() {
	p.t.Helper()
	p.start(strings.TrimPrefix(p.url, "tls://"))
}

// join connects as a remote process does.
func (p *process) join(r broker.Role) *bus.Bus {
	p.t.Helper()
	creds, err := broker.EnrollAs(p.dir, "lab", r)
	if err != nil {
		p.t.Fatal(err)
	}
	b, err := bus.Connect(within(p.t, 10*time.Second), bus.Config{Site: "lab", Name: "test", Servers: []string{p.url}, Credentials: creds})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(b.Close)
	return b
}
