package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/settings"
)

const (
	secretPrefix = "whsec_"
	minKey       = 24 // bytes, by Standard Webhooks
	maxKey       = 64
	maxSecrets   = 8       // valid at once, while they are rotated
	maxFile      = 4 << 10 // bytes of a file of secrets
)

// key is the decoded secret.
type key []byte

// parseSecrets reads secrets that are separated by white space. The first is the
// newest; all sign, so that receivers may change at their own time.
func parseSecrets(text string) ([]key, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return nil, errors.New("no secret")
	}
	if len(fields) > maxSecrets {
		return nil, fmt.Errorf("%d secrets: at most %d", len(fields), maxSecrets)
	}
	keys := make([]key, len(fields))
	for i, f := range fields {
		k, err := parseSecret(f)
		if err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err) // never the secret itself
		}
		keys[i] = k
	}
	return keys, nil
}

func parseSecret(s string) (key, error) {
	body, ok := strings.CutPrefix(s, secretPrefix)
	if !ok {
		return nil, errors.New("want " + secretPrefix + " and base64")
	}
	k, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil {
		k, err = base64.RawStdEncoding.Strict().DecodeString(body)
	}
	if err != nil {
		return nil, errors.New("what follows " + secretPrefix + " is not base64")
	}
	if len(k) < minKey || len(k) > maxKey {
		return nil, fmt.Errorf("%d bytes: want %d to %d", len(k), minKey, maxKey)
	}
	return k, nil
}

// keys are those that messages are signed with now.
func (c Config) keys() ([]key, error) {
	if c.SecretFile == "" {
		return nil, nil
	}
	b, err := settings.ReadFile(c.SecretFile, maxFile)
	if err != nil {
		return nil, fmt.Errorf("secret file: %w", err)
	}
	keys, err := parseSecrets(string(b))
	if err != nil {
		return nil, fmt.Errorf("secret file %s: %w", c.SecretFile, err)
	}
	return keys, nil
}

// sign returns the signature header of a message sent at an instant: one
// signature for each key.
func sign(keys []key, id string, seconds int64, body []byte) string {
	signatures := make([]string, len(keys))
	for i, k := range keys {
		mac := hmac.New(sha256.New, k)
		mac.Write([]byte(id + "." + strconv.FormatInt(seconds, 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
