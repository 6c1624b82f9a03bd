package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// tool runs a program of make release-tools with a standard input, or skips the
// test where it is not built.
func tool(t *testing.T, input []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(peer(t, name), args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out.String(), problems.String())
	}
	return out.Bytes()
}

// object is what is checked of a rendered object.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					SecurityContext struct {
						ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
						RunAsNonRoot           bool `yaml:"runAsNonRoot"`
					} `yaml:"securityContext"`
				}
			}
		}
	}
}

// rendered are the objects of the chart with values, each decoded into the type of
// its API first.
func rendered(t *testing.T, values ...string) (out []object) {
	t.Helper()
	args := []string{"template", "site", "helm/quintet", "--namespace", "ai", "--kube-version", "1.31.0"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	text := tool(t, nil, "helm", args...)
	tool(t, text, "kubestrict")
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			out = append(out, o)
		}
	}
}

func TestHelmLint(t *testing.T) {
	tool(t, nil, "helm", "lint", "--strict", "helm/quintet", "--kube-version", "1.31.0")
}

// TestChartVersion: the chart installs the version that this source is.
func TestChartVersion(t *testing.T) {
	var chart struct {
		AppVersion string `yaml:"appVersion"`
	}
	read(t, "helm/quintet/Chart.yaml", &chart)
	if chart.AppVersion != correlate.Version {
		t.Errorf("Chart.yaml: appVersion %s, want %s", chart.AppVersion, correlate.Version)
	}
}

// TestHelmTemplate renders the chart with its defaults and with everything: the
// objects are there, and the configuration in them is one that the service takes.
func TestHelmTemplate(t *testing.T) {
	usual := []string{"ClusterRole", "ClusterRoleBinding", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Secret", "Secret", "Service", "ServiceAccount", "StatefulSet"}
	everything := append([]string{"ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "DaemonSet", "PrometheusRule", "ServiceMonitor"}, usual...)
	slices.Sort(everything)
	for _, c := range []struct {
		values, want []string
	}{
		{nil, usual},
		{[]string{"collect.enabled=true", "collect.credentialsSecret=creds", "serviceMonitor.enabled=true", "dashboards.enabled=true", "rules.enabled=true", "prometheusRule.enabled=true", "config.site.name=hall3"}, everything},
	} {
		var kinds []string
		for _, o := range rendered(t, c.values...) {
			kinds = append(kinds, o.Kind)
			if o.Metadata.Labels["app.kubernetes.io/instance"] != "site" {
				t.Errorf("%s %s: labels %v", o.Kind, o.Metadata.Name, o.Metadata.Labels)
			}
			for _, x := range o.Spec.Template.Spec.Containers {
				if !x.SecurityContext.ReadOnlyRootFilesystem || !x.SecurityContext.RunAsNonRoot {
					t.Errorf("%s %s: security context %+v", o.Kind, o.Metadata.Name, x.SecurityContext)
				}
			}
			if text, ok := o.Data["quintet.yaml"]; ok {
				if _, problems := config.Parse(o.Metadata.Name, text); len(problems) > 0 {
					t.Errorf("%s: %v\n%s", o.Metadata.Name, problems, text)
				}
			}
		}
		if slices.Sort(kinds); !slices.Equal(kinds, c.want) {
			t.Errorf("%v renders %v, want %v", c.values, kinds, c.want)
		}
	}
}
