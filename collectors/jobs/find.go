package jobs

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/kind"
)

const (
	serviceAccount = "var/run/secrets/kubernetes.io/serviceaccount" // of a pod
	slurmrestdPort = "6820"
	tokenFile      = "/etc/quintet/token"
)

// find looks for the scheduler of this host: Slurm, Kubernetes.
func find(_ context.Context, where kind.Search) []kind.Found {
	return append(findSlurm(where), findKubernetes(where)...)
}

// findSlurm reads Slurm's configuration. Its daemon for HTTP is expected on a socket of
// this host, or on the controller's host.
func findSlurm(where kind.Search) []kind.Found {
	for _, name := range []string{"etc/slurm/slurm.conf", "etc/slurm-llnl/slurm.conf"} {
		path := filepath.Join(where.Root, name)
		conf, err := readSlurm(path)
		if err != nil {
			continue
		}
		controller, _, _ := strings.Cut(conf["slurmctldhost"], "(")
		f := kind.Found{What: fmt.Sprintf("Slurm cluster %s: %s", conf["clustername"], path),
			Entry: map[string]any{"type": typeSlurm, "url": "http://" + net.JoinHostPort(controller, slurmrestdPort), "user": "quintet", "authorization": map[string]any{"credentials_file": tokenFile}},
			Lacks: "slurmrestd's address, and a token of a user who may see all jobs: scontrol token username=quintet lifespan=infinite > " + tokenFile}
		for _, name := range []string{"run/slurmrestd/slurmrestd.socket", "run/slurmrestd.socket"} {
			socket := filepath.Join(where.Root, name)
			if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
				f.What += ", slurmrestd at " + socket
				f.Entry, f.Lacks = map[string]any{"type": typeSlurm, "url": "unix://" + socket}, ""
				break
			}
		}
		return []kind.Found{f}
	}
	return nil
}

// readSlurm returns the parameters of a slurm.conf, names in lower case.
func readSlurm(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), "#")
		if name, value, ok := strings.Cut(line, "="); ok {
			out[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return out, nil
}

// findKubernetes looks for the account of the pod that this runs in, else for the
// configuration of a client.
func findKubernetes(where kind.Search) []kind.Found {
	account := filepath.Join(where.Root, serviceAccount)
	if host := where.Env("KUBERNETES_SERVICE_HOST"); host != "" {
		if _, err := os.Stat(filepath.Join(account, "token")); err == nil {
			url := "https://" + net.JoinHostPort(host, where.Env("KUBERNETES_SERVICE_PORT"))
			return []kind.Found{{What: "Kubernetes cluster that this pod is in: " + url, Entry: map[string]any{"type": typeKube, "url": url,
				"authorization": map[string]any{"credentials_file": filepath.Join(account, "token")}, "tls": map[string]any{"ca_file": filepath.Join(account, "ca.crt")}}}}
		}
	}
	for _, path := range []string{where.Env("KUBECONFIG"), filepath.Join(where.Root, "etc/kubernetes/admin.conf")} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var conf struct {
			Clusters []struct{ Cluster struct{ Server string } }
		}
		if yaml.Unmarshal(b, &conf) != nil || len(conf.Clusters) == 0 {
			continue
		}
		url := conf.Clusters[0].Cluster.Server
		return []kind.Found{{What: fmt.Sprintf("Kubernetes cluster %s: %s", url, path),
			Entry: map[string]any{"type": typeKube, "url": url, "authorization": map[string]any{"credentials_file": tokenFile}},
			Lacks: "a token of a service account that may list pods, jobs and nodes: kubectl create token quintet > " + tokenFile + ", and tls: {ca_file}"}}
	}
	return nil
}
