package slurm

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// signer makes and checks JSON web tokens as slurmrestd has them: HS256, with
// the user as sun and an end.
type signer struct{ key []byte }

func newSigner() (*signer, error) {
	key := make([]byte, 32)
	_, err := rand.Read(key)
	return &signer{key}, err
}

type claims struct {
	Until int64  `json:"exp"`
	From  int64  `json:"iat"`
	User  string `json:"sun"`
}

func (s *signer) token(user string, now time.Time, lasts time.Duration) (string, error) {
	body, err := json.Marshal(claims{Until: now.Add(lasts).Unix(), From: now.Unix(), User: user})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString(body)
	return text + "." + enc.EncodeToString(s.sign(text)), nil
}

func (s *signer) sign(text string) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// good reports whether a token is ours, of that user if one is named, and not
// over.
func (s *signer) good(token, user string, now time.Time) bool {
	i := strings.LastIndexByte(token, '.')
	if i < 0 {
		return false
	}
	enc := base64.RawURLEncoding
	sum, err := enc.DecodeString(token[i+1:])
	if err != nil || !hmac.Equal(sum, s.sign(token[:i])) {
		return false
	}
	_, middle, _ := strings.Cut(token[:i], ".")
	b, err := enc.DecodeString(middle)
	var c claims
	return err == nil && json.Unmarshal(b, &c) == nil && c.Until > now.Unix() && (user == "" || user == c.User)
}
