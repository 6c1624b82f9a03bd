// Command kubestrict reads Kubernetes objects as YAML from standard input and
// decodes each into the type of its API: an unknown kind, an unknown key and a
// value of the wrong type are errors.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func kinds() map[string]any {
	return map[string]any{
		"apps/v1 DaemonSet":                               &apps.DaemonSet{},
		"apps/v1 StatefulSet":                             &apps.StatefulSet{},
		"monitoring.coreos.com/v1 PrometheusRule":         &monitoring.PrometheusRule{},
		"monitoring.coreos.com/v1 ServiceMonitor":         &monitoring.ServiceMonitor{},
		"networking.k8s.io/v1 NetworkPolicy":              &networking.NetworkPolicy{},
		"policy/v1 PodDisruptionBudget":                   &policy.PodDisruptionBudget{},
		"rbac.authorization.k8s.io/v1 ClusterRole":        &rbac.ClusterRole{},
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding": &rbac.ClusterRoleBinding{},
		"v1 ConfigMap":                                    &core.ConfigMap{},
		"v1 Secret":                                       &core.Secret{},
		"v1 Service":                                      &core.Service{},
		"v1 ServiceAccount":                               &core.ServiceAccount{},
	}
}

func main() {
	n, err := check(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubestrict:", err)
		os.Exit(1)
	}
	fmt.Println(n, "objects")
}

// check returns how many objects a stream holds.
func check(r io.Reader) (n int, err error) {
	objects := yaml.NewYAMLReader(bufio.NewReader(r))
	for {
		text, err := objects.Read()
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		var about v1.PartialObjectMetadata
		if err := strict.Unmarshal(text, &about); err != nil {
			return n, fmt.Errorf("object %d: %w", n+1, err)
		}
		if about.Kind == "" {
			continue // nothing but comments
		}
		into, ok := kinds()[about.APIVersion+" "+about.Kind]
		if !ok {
			return n, fmt.Errorf("%s %s: unknown kind", about.APIVersion, about.Kind)
		}
		if err := strict.UnmarshalStrict(text, into); err != nil {
			return n, fmt.Errorf("%s %s: %w", about.Kind, about.Name, err)
		}
		n++
	}
}
