package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The lab's devices are judged by programs that others made: what these read
// without complaint is the protocol, not what our collectors hold for it.

// TestOthersReadTheLab has gnmic read a switch of every dialect, once and as a
// stream, and Telegraf a switch, a host's controller and a page of metrics.
func TestOthersReadTheLab(t *testing.T) {
	if os.Getenv("QUINTET_E2E") == "" {
		t.Skip("wants others' programs: make peers-collectors, make e2e")
	}
	dir := t.TempDir()
	w, err := newWiredSite(16, 3, onSlurm, dir)
	if err != nil {
		t.Fatal(err)
	}
	alive(t, w)
	address := func(what string) string {
		t.Helper()
		for _, a := range w.addresses() {
			if strings.Contains(a, what) {
				fields := strings.Fields(a)
				return fields[slices.IndexFunc(fields, func(f string) bool { return strings.Contains(f, "127.0.0.1:") })]
			}
		}
		t.Fatalf("the site has no %s", what)
		return ""
	}
	ca := filepath.Join(dir, "gnmi", "gnmi-ca.pem")
	t.Run("gnmic", func(t *testing.T) {
		for dialect, path := range map[string][]string{"(sonic)": {"--target", "COUNTERS_DB", "--path", "COUNTERS/Ethernet*"}, "(cumulus)": {"--path", "/interfaces/interface[name=*]/state"},
			"(openconfig)": {"--path", "/interfaces/interface[name=*]/state/counters"}} {
			to := []string{"-a", address(dialect), "--tls-ca", ca, "-u", "x", "-p", "y", "--timeout", "20s"}
			ran(t, "gnmic", time.Minute, `gNMI version: 0\.`, append(slices.Clone(to), "capabilities")...)
			ran(t, "gnmic", time.Minute, `"updates"`, append(append(slices.Clone(to), "subscribe", "--mode", "once"), path...)...)
			ran(t, "gnmic", 5*time.Second, `(?s)"updates".*"updates"`, append(append(slices.Clone(to), "subscribe", "--stream-mode", "sample", "--sample-interval", "1s"), path...)...)
		}
	})
	t.Run("Telegraf", func(t *testing.T) {
		secret, err := os.ReadFile(filepath.Join(dir, "redfish", "password"))
		if err != nil {
			t.Fatal(err)
		}
		out, file := filepath.Join(dir, "telegraf.out"), filepath.Join(dir, "telegraf.conf")
		text := fmt.Sprintf("[agent]\ninterval = \"2s\"\nflush_interval = \"1s\"\nskip_processors_after_aggregators = true\n[[outputs.file]]\nfiles = [%q]\n", out) +
			fmt.Sprintf("[[inputs.redfish]]\naddress = %q\nusername = \"monitor\"\npassword = %q\ncomputer_system_id = \"System_0\"\ntls_ca = %q\ninclude_metrics = [\"thermal\", \"power\"]\n",
				address("node:n0000 https"), strings.TrimSpace(string(secret)), filepath.Join(dir, "redfish", "ca.pem")) +
			fmt.Sprintf("[[inputs.gnmi]]\naddresses = [%q]\nusername = \"x\"\npassword = \"y\"\nencoding = \"json_ietf\"\ntls_enable = true\ntls_ca = %q\n", address("(openconfig)"), ca) +
			"[[inputs.gnmi.subscription]]\nname = \"counters\"\norigin = \"openconfig\"\npath = \"/interfaces/interface/state/counters\"\nsubscription_mode = \"sample\"\nsample_interval = \"1s\"\n" +
			fmt.Sprintf("[[inputs.prometheus]]\nurls = [%q]\n", address("dcgm-exporter of node:n0000"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := ran(t, "telegraf", 15*time.Second, "Loaded inputs", "--config", file, "--non-strict-env-handling"); regexp.MustCompile(` [EW]! `).MatchString(said) {
			t.Errorf("it complains:\n%s", said)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"counters,", "redfish_power_powercontrol,", "redfish_thermal_fans,", "redfish_thermal_temperatures,", "DCGM_FI_DEV_GPU_TEMP"} {
			if !strings.Contains(string(got), want) {
				t.Errorf("nothing of %s", want)
			}
		}
	})
}

// ran runs one of bin/peers for so long at most, wants something in what it
// prints and returns that.
func ran(t *testing.T, name string, most time.Duration, want string, args ...string) string {
	t.Helper()
	path := peer(t, name)
	if path == "" {
		t.SkipNow()
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	out, err := c.CombinedOutput()
	if err != nil && ctx.Err() == nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	if !regexp.MustCompile(want).Match(out) {
		t.Errorf("%s %v printed nothing like %s:\n%.2000s", name, args, want, out)
	}
	return string(out)
}
