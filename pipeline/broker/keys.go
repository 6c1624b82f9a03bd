package broker

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/settings"
)

// The files below Dir/keys.
const (
	keysFolder   = "keys"
	operatorFile = "operator.seed"
	accountFile  = "account.seed"
	systemFile   = "system.seed"
	// separationFile holds when collectors got an account of their own: seconds
	// since 1970, or 0 where they always had one.
	separationFile = "collectors.since"
)

// keys are the site's own: who signs accounts, and the accounts, which sign
// users.
type keys struct {
	operator, account, system nkeys.KeyPair
	collectors                nkeys.KeyPair        // derived from account
	revoked                   time.Time            // remote users of account issued up to here are refused
	withdrawn                 map[string]time.Time // users by public key, and when they were revoked
}

// openKeys reads the keys below dir and makes those that are missing.
func openKeys(dir string) (k keys, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keys{}, fmt.Errorf("keys: %w", err)
	}
	for _, f := range []struct {
		name string
		key  *nkeys.KeyPair
		make func() (nkeys.KeyPair, error)
	}{
		{operatorFile, &k.operator, nkeys.CreateOperator}, {accountFile, &k.account, nkeys.CreateAccount}, {systemFile, &k.system, nkeys.CreateAccount},
	} {
		if *f.key, err = openKey(filepath.Join(dir, f.name), f.make); err != nil {
			return keys{}, fmt.Errorf("keys: %w", err)
		}
	}
	if k.collectors, err = collectorsKey(k.account); err != nil {
		return keys{}, fmt.Errorf("keys: %w", err)
	}
	if k.revoked, err = openSeparation(dir, time.Now()); err != nil {
		return keys{}, fmt.Errorf("keys: %w", err)
	}
	return k, nil
}

// collectorsKey returns the key of the collectors' account. It is derived from
// the site's account, so that a site that was started by an earlier version gets
// one without a new file that could be lost.
func collectorsKey(account nkeys.KeyPair) (nkeys.KeyPair, error) {
	seed, err := account.Seed()
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte("quintet collectors account"))
	return nkeys.FromRawSeed(nkeys.PrefixByteAccount, mac.Sum(nil))
}

// openSeparation returns the time up to which credentials of the site's account
// are revoked, and records it at the first start. It is zero for a site that never
// had collectors in the site's account. In a site that was started by an earlier
// version, credentials of collectors were signed by that account: they could write
// anywhere in it by the reply subject of a publish.
func openSeparation(dir string, now time.Time) (time.Time, error) {
	path := filepath.Join(dir, separationFile)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		seconds, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil || seconds < 0 {
			return time.Time{}, fmt.Errorf("%s: want seconds since 1970, not %.40q", path, text)
		}
		return unixOrZero(seconds), nil
	case !errors.Is(err, fs.ErrNotExist):
		return time.Time{}, err
	}
	var seconds int64
	if founded(dir) {
		seconds = now.Unix() - 1 // users of this process are issued from now on
	}
	return unixOrZero(seconds), settings.WriteFile(path, fmt.Appendf(nil, "%d\n", seconds))
}

func unixOrZero(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// founded reports whether a site was started here before: then no key may be
// missing, because a new one would lock every process out and find an empty log.
func founded(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, authorityFile)) // made last
	return err == nil
}

func openKey(path string, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, error) {
	k, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) || founded(filepath.Dir(path)) {
		return k, err
	}
	if k, err = create(); err != nil {
		return nil, err
	}
	seed, err := k.Seed()
	if err != nil {
		return nil, err
	}
	return k, settings.WriteFile(path, append(seed, '\n'))
}

func readKey(path string) (nkeys.KeyPair, error) {
	seed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// trust is the part of the keys that a server needs.
type trust struct {
	operator        *jwt.OperatorClaims
	system          string            // the system account's public key
	accounts        map[string]string // public key to token
	accountIdentity string
}

// trust states the accounts and their limits. The tokens are made at each start,
// so that limits follow the program and nothing goes stale on disk.
func (k keys) trust(site string, n bus.Names) (t trust, err error) {
	operator, err := k.operator.PublicKey()
	if err != nil {
		return trust{}, err
	}
	t.operator = jwt.NewOperatorClaims(operator)
	t.operator.Name = "quintet " + site
	t.accounts = map[string]string{}
	if t.system, err = k.token(t, k.system, func(a *jwt.AccountClaims) { a.Name = "system" }); err != nil {
		return trust{}, err
	}
	t.accountIdentity, err = k.token(t, k.account, func(a *jwt.AccountClaims) {
		a.Name = site
		a.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: maxMemoryStore, DiskStorage: jwt.NoLimit,
			Streams: maxStreams, Consumer: maxConsumers, MaxAckPending: jwt.NoLimit}
		a.Exports.Add(&jwt.Export{Name: "records", Subject: jwt.Subject(n.Records()), Type: jwt.Service, ResponseType: jwt.ResponseTypeSingleton})
		if !k.revoked.IsZero() {
			a.RevokeAt(jwt.All, k.revoked)
		}
		k.withdraw(a)
	})
	if err != nil {
		return trust{}, err
	}
	_, err = k.token(t, k.collectors, func(a *jwt.AccountClaims) {
		a.Name = site + " collectors"
		// A service, not a stream: the server answers a service's request through a
		// reply subject of its own, and gives the answer to the requester's account.
		// A stream import would hand the requester's reply subject to JetStream, which
		// publishes acknowledgements with the rights of the site's account. There is one
		// import for all subjects because the server's detection of cycles is by export:
		// an acknowledgement to the subject of a record is dropped.
		a.Imports.Add(&jwt.Import{Name: "records", Subject: jwt.Subject(n.Records()), Account: t.accountIdentity, Type: jwt.Service})
		a.Limits.Conn = maxCollectorClients
		a.Limits.Exports = 0
		a.Limits.WildcardExports = false
		k.withdraw(a)
	})
	t.operator.SystemAccount = t.system
	return t, err
}

func (k keys) token(t trust, account nkeys.KeyPair, set func(*jwt.AccountClaims)) (public string, err error) {
	if public, err = account.PublicKey(); err != nil {
		return "", err
	}
	a := jwt.NewAccountClaims(public)
	set(a)
	t.accounts[public], err = a.Encode(k.operator)
	return public, err
}

// credentials lays out a user's token and seed as NATS clients read them.
func credentials(token string, seed []byte) []byte {
	return fmt.Appendf(nil, "-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n"+
		"-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n", token, seed)
}
