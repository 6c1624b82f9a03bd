package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildWritesAnImage: the archive is the same twice, its digests are those of
// its blobs, both platforms are there, and skopeo reads it where it is installed.
func TestBuildWritesAnImage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	roots, amd, arm := file("roots", "certificates"), file("amd", "program"), file("arm", "another")
	var archives [2][]byte
	for i := range archives {
		path := filepath.Join(dir, "image.tar")
		if err := build(path, "v1.2.3", "1700000000", roots, []string{"amd64=" + amd, "arm64=" + arm}); err != nil {
			t.Fatal(err)
		}
		archives[i], _ = os.ReadFile(path)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two builds differ")
	}
	blobs := unpack(t, archives[0])
	var index, platforms document
	decode(t, blobs["index.json"], &index)
	decode(t, blobs[blobOf(index.Manifests[0])], &platforms)
	if len(platforms.Manifests) != 2 || platforms.Manifests[1].Platform.Architecture != "arm64" || index.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Errorf("%+v %+v", index, platforms)
	}
	var image document
	decode(t, blobs[blobOf(platforms.Manifests[0])], &image)
	var config imageConfig
	decode(t, blobs[blobOf(*image.Config)], &config)
	if config.Config.User != "65532:65532" || config.Architecture != "amd64" || len(config.RootFS.DiffIDs) != 1 {
		t.Errorf("%+v", config)
	}
	if _, err := exec.LookPath("skopeo"); err != nil {
		t.Skip("skopeo is not installed")
	}
	out, err := exec.Command("skopeo", "inspect", "--override-arch", "arm64", "--override-os", "linux", "oci-archive:"+filepath.Join(dir, "image.tar")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"Architecture": "arm64"`) {
		t.Errorf("skopeo: %v\n%s", err, out)
	}
}

func TestBuildRefusesWhatIsMissing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "image.tar")
	for _, c := range [][]string{{"soon", "/dev/null", "amd64=/dev/null"}, {"1", "/nowhere", "amd64=/dev/null"}, {"1", "/dev/null", "amd64"}, {"1", "/dev/null", "amd64=/nowhere"}} {
		if err := build(out, "v1", c[0], c[1], c[2:]); err == nil {
			t.Errorf("%q: no error", c)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an image was left behind")
	}
}

func blobOf(d descriptor) string { return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:") }

// unpack reads a tar, and holds each blob against its name.
func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = data
		if name, ok := strings.CutPrefix(h.Name, "blobs/"); ok && strings.Replace(digest(data), ":", "/", 1) != name {
			t.Errorf("%s has the digest %s", h.Name, digest(data))
		}
	}
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}
