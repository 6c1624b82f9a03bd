package collect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/collect"
)

// tree writes files below a folder that stands for the root of a host.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestFindOnThisHost: what a host has in its file system is found, with what an entry
// still lacks.
func TestFindOnThisHost(t *testing.T) {
	for name, c := range map[string]struct {
		files       map[string]string
		env         map[string]string
		kind        string
		what, lacks string // parts of them; lacks "": the entry is complete
	}{
		"slurm":      {files: map[string]string{"etc/slurm/slurm.conf": "ClusterName=alps # ours\nSlurmctldHost=head1(10.0.0.1)\n"}, kind: "jobs", what: "Slurm cluster alps", lacks: "scontrol token"},
		"pod":        {files: map[string]string{"var/run/secrets/kubernetes.io/serviceaccount/token": "x", "var/run/secrets/kubernetes.io/serviceaccount/ca.crt": "x"}, env: map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}, kind: "jobs", what: "https://10.96.0.1:443"},
		"kubeconfig": {files: map[string]string{"etc/kubernetes/admin.conf": "clusters: [{name: a, cluster: {server: 'https://cp:6443'}}]\n"}, kind: "jobs", what: "https://cp:6443", lacks: "service account"},
		"kmsg":       {files: map[string]string{"dev/kmsg": "6,1,1,-;x\n"}, kind: "logs", what: "kernel messages"},
		"syslog":     {files: map[string]string{"var/log/syslog": "x\n"}, kind: "logs", what: "var/log/syslog"},
		"nvidia":     {files: map[string]string{"proc/driver/nvidia/gpus/0000:17:00.0/information": "x"}, kind: "nvml", what: "GPUs of this host: 1"},
		"subnet":     {files: map[string]string{"dev/infiniband/umad0": ""}, kind: "fabric", what: "subnets: 1", lacks: "one host of a subnet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			t.Setenv("KUBECONFIG", "")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			all, asked, err := collect.Find(t.Context(), collect.Where{Root: tree(t, c.files)})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range asked {
				if !p.Addr().IsLoopback() {
					t.Errorf("%s was asked", p)
				}
			}
			for _, f := range all {
				if f.Kind.Name != c.kind {
					continue
				}
				x := f.Found[0]
				if !strings.Contains(x.What, c.what) || !strings.Contains(x.Lacks, c.lacks) || c.lacks == "" && x.Lacks != "" && c.kind != "nvml" {
					t.Errorf("found %q, lacks %q", x.What, x.Lacks)
				}
				return
			}
			t.Errorf("nothing of kind %s found", c.kind)
		})
	}
}

// TestFindScans: only a prefix that is named is asked, and a large one is refused.
func TestFindScans(t *testing.T) {
	root := tree(t, map[string]string{"proc/net/arp": "IP address HW type Flags HW address Mask Device\n127.0.0.9 0x1 0x2 aa:bb:cc:dd:ee:ff * eth0\n127.0.0.10 0x1 0x0 00:00:00:00:00:00 * eth0\n"})
	_, asked, err := collect.Find(t.Context(), collect.Where{Root: root, Scan: []string{collect.Neighbours}})
	if err != nil || len(asked) != 3 || asked[1].String() != "127.0.0.9/32" {
		t.Errorf("asked %v, %v", asked, err)
	}
	for scan, want := range map[string]string{"10.0.0.0/8": "more than 4096 addresses", "10.0.0.1": "want a prefix"} {
		if _, _, err := collect.Find(t.Context(), collect.Where{Root: root, Scan: []string{scan}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", scan, err)
		}
	}
}
