package webhook_test

import (
	"crypto/x509"
	"encoding/pem"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

func keyPEM(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestRefusals(t *testing.T) {
	const far, here = "https://hooks.example.org/a?token=hidden", "http://127.0.0.1:9/"
	for name, c := range map[string]struct {
		config webhook.Config
		want   string
	}{
		"no address":         {webhook.Config{}, "url: want http"},
		"another protocol":   {webhook.Config{URL: "ftp://x/", SecretFile: notifytest.Secret(t, secretA)}, "url: want http"},
		"no host":            {webhook.Config{URL: "http:///x", SecretFile: notifytest.Secret(t, secretA)}, "url: want http"},
		"a bad address":      {webhook.Config{URL: "http://[::1/?token=hidden"}, "url: it cannot be read"},
		"a fragment":         {webhook.Config{URL: here + "#x"}, "fragment"},
		"unsigned":           {webhook.Config{URL: far}, "must be signed"},
		"no prefix":          {webhook.Config{URL: far, SecretFile: notifytest.Secret(t, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, "secret 1: want whsec_"},
		"no base64":          {webhook.Config{URL: far, SecretFile: notifytest.Secret(t, "whsec_%%%")}, "not base64"},
		"short":              {webhook.Config{URL: far, SecretFile: notifytest.Secret(t, "whsec_aGlkZGVu")}, "6 bytes: want 24 to 64"},
		"one of two bad":     {webhook.Config{URL: far, SecretFile: notifytest.Secret(t, secretA+" hidden")}, "secret 2"},
		"many":               {webhook.Config{URL: far, SecretFile: notifytest.Secret(t, strings.Repeat(secretA+" ", 9))}, "9 secrets"},
		"blank":              {webhook.Config{URL: far, SecretFile: notifytest.Secret(t, " ")}, "no secret"},
		"patience":           {webhook.Config{URL: here, Post: post.Config{Timeout: time.Hour}}, "timeout"},
		"our header":         {webhook.Config{URL: here, Post: post.Config{Headers: map[string]string{"webhook-ID": "x"}}}, "is reserved"},
		"no name":            {webhook.Config{URL: here, Post: post.Config{Headers: map[string]string{"a b": "x"}}}, "no name of a header"},
		"two lines":          {webhook.Config{URL: here, Post: post.Config{Headers: map[string]string{"a": "x\r\nb: c"}}}, "control character"},
		"half a certificate": {webhook.Config{URL: here, Post: post.Config{TLS: dial.TLS{Cert: "x"}}}, "cert_file and key_file: each requires the other"},
		"no such authority":  {webhook.Config{URL: here, Post: post.Config{TLS: dial.TLS{CA: filepath.Join(t.TempDir(), "no")}}}, "no such file"},
		"no such secret":     {webhook.Config{URL: here, SecretFile: filepath.Join(t.TempDir(), "no")}, "no such file"},
	} {
		_, err := webhook.New(c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := webhook.Config{URL: "http://127.0.0.1:9/", Post: post.Config{Headers: map[string]string{"a": "b", "c": "d"}}}
	print := func(change func(*webhook.Config)) string {
		c := base
		change(&c)
		return open(t, c).Fingerprint()
	}
	same := print(func(*webhook.Config) {})
	for range 20 {
		if print(func(*webhook.Config) {}) != same {
			t.Fatal("it changes by itself")
		}
	}
	for name, f := range map[string]func(*webhook.Config){
		"address": func(c *webhook.Config) { c.URL += "x" },
		"secret":  func(c *webhook.Config) { c.SecretFile = notifytest.Secret(t, secretA) },
		"headers": func(c *webhook.Config) { c.Post.Headers = map[string]string{"a": "b"} },
	} {
		if print(f) == same {
			t.Errorf("another %s, the same fingerprint", name)
		}
	}
	if strings.Contains(print(func(c *webhook.Config) { c.SecretFile = notifytest.Secret(t, secretA) }), "MfKQ") {
		t.Error("it shows the secret")
	}
}
