//go:build unix

package gnmi

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// asServer has the test program be a switch that sends without end.
const asServer = "QUINTET_GNMI_SERVER"

// BenchmarkStream is 25 updates a notification from the socket to the published
// frame, over gRPC without TLS: the processor's time of this process alone, as
// the switch is another.
func BenchmarkStream(b *testing.B) {
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^TestServe$")
	cmd.Env = append(os.Environ(), asServer+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(Config{Profile: "openconfig", Plaintext: true, Targets: []Target{{Name: "leaf1", Address: strings.TrimSpace(line)}}}, dial.Guard{})
	if err != nil {
		b.Fatal(err)
	}
	c.pace.bytes = 1 << 40
	d := &device{target: c.cfg.Targets[0], cfg: &c.cfg, slots: make(chan struct{}, 1), log: slog.New(slog.DiscardHandler), profile: c.profiles["openconfig"], alive: time.Minute, pace: c.pace}
	for i := range d.profile.groups {
		if d.profile.groups[i].Name == "counters" {
			d.subs = append(d.subs, &subscription{group: &d.profile.groups[i]})
		}
	}
	d.reader = newReader(d.profile, d.target, &c.cfg, discard{})
	go d.keep(b.Context())
	told := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return int(d.reader.seq)
	}
	for told() < 1000 {
		<-time.After(time.Millisecond)
	}
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	from := told()
	for b.Loop() {
		for next := told() + 1000; told() < next; {
			<-time.After(time.Millisecond)
		}
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	updates := float64(25 * (told() - from))
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(cpu)/updates, "cpu-ns/update")
	b.ReportMetric(updates/b.Elapsed().Seconds(), "updates/s")
}

// TestServe is the switch of BenchmarkStream.
func TestServe(t *testing.T) {
	if os.Getenv(asServer) == "" {
		t.Skip("only BenchmarkStream runs it, as a process of its own")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.Addr())
	server := grpc.NewServer(grpc.ForceServerCodecV2(madeCodec{}))
	gpb.RegisterGNMIServer(server, &sender{messages: portMessages(t)})
	if err := server.Serve(l); err != nil {
		t.Fatal(err)
	}
}

// sender sends messages that are made already.
type sender struct {
	gpb.UnimplementedGNMIServer
	messages [][]byte
}

func (s *sender) Subscribe(st gpb.GNMI_SubscribeServer) error {
	r, err := st.Recv()
	if err != nil {
		return err
	}
	if !counters(r) {
		return status.Error(codes.NotFound, "no such path")
	}
	for {
		for _, m := range s.messages {
			if err := st.SendMsg(&message{mem.BufferSlice{mem.SliceBuffer(m)}}); err != nil {
				return err
			}
		}
	}
}

// madeCodec sends bytes as they are.
type madeCodec struct{}

func (madeCodec) Name() string { return "proto" }

func (madeCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*message); ok {
		return m.parts, nil
	}
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (madeCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}
