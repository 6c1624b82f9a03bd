package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"
)

// The media types of the OCI image specification 1.1.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// user is the ID of the user and group of the process, as in the Containerfile.
const user = 65532

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// document is an index or a manifest.
type document struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        *descriptor       `json:"config,omitempty"`
	Layers        []descriptor      `json:"layers,omitempty"`
	Manifests     []descriptor      `json:"manifests,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// imageConfig is how a container of the image runs.
type imageConfig struct {
	Created time.Time `json:"created"`
	platform
	Config struct {
		User         string              `json:"User"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Entrypoint   []string            `json:"Entrypoint"`
		Cmd          []string            `json:"Cmd"`
		Volumes      map[string]struct{} `json:"Volumes"`
		WorkingDir   string              `json:"WorkingDir"`
		StopSignal   string              `json:"StopSignal"`
		Labels       map[string]string   `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// layout is an image of one or more platforms.
type layout struct {
	made    time.Time
	version string
	blobs   map[string][]byte // by digest
	images  []descriptor
}

// add adds the image of a platform.
func (l *layout) add(arch string, certificates, program []byte) error {
	files, err := l.files(certificates, program)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	if _, err := z.Write(files); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	config, err := l.json(configType, l.config(arch, digest(files)))
	if err != nil {
		return err
	}
	image, err := l.json(manifestType, document{SchemaVersion: 2, MediaType: manifestType, Config: &config,
		Layers: []descriptor{l.blob(layerType, packed.Bytes())}, Annotations: l.labels()})
	image.Platform = &platform{arch, "linux"}
	l.images = append(l.images, image)
	return err
}

func (l *layout) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "Quintet",
		"org.opencontainers.image.version":  l.version,
		"org.opencontainers.image.source":   "https://github.com/quintet-dc/quintet",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

func (l *layout) config(arch, files string) imageConfig {
	c := imageConfig{Created: l.made, platform: platform{arch, "linux"}}
	c.Config.User = "65532:65532"
	c.Config.ExposedPorts = map[string]struct{}{"8420/tcp": {}}
	c.Config.Entrypoint = []string{"/usr/bin/quintet"}
	c.Config.Cmd = []string{"serve", "--config", "/etc/quintet/quintet.yaml", "--data", "/var/lib/quintet"}
	c.Config.Volumes = map[string]struct{}{"/var/lib/quintet": {}}
	c.Config.WorkingDir = "/var/lib/quintet"
	c.Config.StopSignal = "SIGTERM"
	c.Config.Labels = l.labels()
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{files}
	return c
}

// files returns the file system of the image as a tar.
func (l *layout) files(certificates, program []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		name  string
		mode  int64
		owner int
		data  []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/quintet/", 0o755, 0, nil},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, certificates},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/quintet", 0o755, 0, program},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{"var/lib/quintet/", 0o700, user, nil},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: l.made, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.data == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// write writes the layout as a tar: its index first.
func (l *layout) write(w io.Writer) error {
	all, err := l.json(indexType, document{SchemaVersion: 2, MediaType: indexType, Manifests: l.images})
	if err != nil {
		return err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": l.version}
	index, err := json.Marshal(document{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{all}})
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	put := func(name string, data []byte) {
		if err == nil {
			err = t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: l.made, Typeflag: tar.TypeReg})
		}
		if err == nil {
			_, err = t.Write(data)
		}
	}
	put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	put("index.json", index)
	for _, d := range slices.Sorted(maps.Keys(l.blobs)) {
		put("blobs/sha256/"+d[len("sha256:"):], l.blobs[d])
	}
	if err != nil {
		return err
	}
	return t.Close()
}

// json adds a document as a blob.
func (l *layout) json(kind string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.blob(kind, data), err
}

func (l *layout) blob(kind string, data []byte) descriptor {
	d := digest(data)
	l.blobs[d] = data
	return descriptor{MediaType: kind, Digest: d, Size: len(data)}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
