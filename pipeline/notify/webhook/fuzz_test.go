package webhook

import (
	"encoding/base64"
	"strings"
	"testing"
)

func FuzzSecrets(f *testing.F) {
	f.Add("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f.Add("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	f.Add("whsec_")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parseSecrets(text)
		if err != nil {
			for word := range strings.FieldsSeq(text) {
				if len(word) > 20 && strings.Contains(err.Error(), word) {
					t.Fatalf("the error shows what may be a secret: %v", err)
				}
			}
			return
		}
		for i, word := range strings.Fields(text) {
			if k := keys[i]; len(k) < minKey || len(k) > maxKey || strings.TrimRight(word, "=") != secretPrefix+base64.RawStdEncoding.EncodeToString(k) {
				t.Fatalf("%q became %d bytes", word, len(k))
			}
		}
		if n := strings.Count(sign(keys, "id", 1, nil), "v1,"); n != len(keys) {
			t.Fatalf("%d signatures for %d keys", n, len(keys))
		}
	})
}
