package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

var begin = time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)

// some are tokens in a new file, at a time that tests move.
func some(t testing.TB) (Tokens, *time.Time) {
	t.Helper()
	now := begin
	return In(filepath.Join(t.TempDir(), "tokens.json"), func() time.Time { return now }), &now
}

// made makes a token.
func made(t testing.TB, tokens Tokens, name string, scope Scope) (secret string) {
	t.Helper()
	secret, err := tokens.New(t.Context(), name, scope)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestATokenIsKnownByItsSecretAloneAndNotOnceItIsRevoked(t *testing.T) {
	tokens, _ := some(t)
	page, script := made(t, tokens, "page", Read), made(t, tokens, "script", Operate)
	other := In(tokens.path, tokens.now) // As a host has it.
	for secret, want := range map[string]Principal{page: {"page", Read}, script: {"script", Operate}} {
		if got, err := other.Check(secret); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if err := tokens.Revoke(t.Context(), "script"); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{script, "", page + "x", page[:len(page)-1], strings.ToUpper(page), "page"} {
		if got, err := other.Check(wrong); !errors.Is(err, problem.ErrUnauthorized) || got != (Principal{}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := other.Check(page); err != nil {
		t.Errorf("the other token: %v", err)
	}
	if err := tokens.noteUse(hashOf(script)); err != nil { // A request that was checked just before.
		t.Fatal(err)
	}
	if err := tokens.Revoke(t.Context(), "script"); !errors.Is(err, problem.ErrNoToken) {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestTheFileIsPrivateAndHasNoSecret(t *testing.T) {
	tokens, _ := some(t)
	secret := made(t, tokens, "page", Read)
	text, err := os.ReadFile(tokens.path)
	if err != nil {
		t.Fatal(err)
	}
	if random := strings.TrimPrefix(secret, secretPrefix); len(random) != 43 || strings.Contains(string(text), random) {
		t.Errorf("the file has the secret, of %d characters", len(random))
	}
	if info, err := os.Stat(tokens.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(tokens.path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Check(secret); !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
}

func TestTheLastUseIsKnownToTheMinuteAndWrittenNoMoreOften(t *testing.T) {
	tokens, now := some(t)
	secret := made(t, tokens, "page", Read)
	var written os.FileInfo
	use := func(after time.Duration, want time.Time, rewritten bool) {
		t.Helper()
		*now = begin.Add(after)
		if _, err := tokens.Check(secret); err != nil {
			t.Fatal(err)
		}
		list, err := tokens.List()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]Token{{"page", Read, begin, want}}, list); d != "" {
			t.Errorf("after %s (-want +got):\n%s", after, d)
		}
		info, err := os.Stat(tokens.path)
		if err != nil {
			t.Fatal(err)
		}
		if written != nil && os.SameFile(info, written) == rewritten {
			t.Errorf("after %s: written again is %v", after, !rewritten)
		}
		written = info
	}
	minute := begin.Truncate(time.Minute)
	use(0, minute, true)
	use(30*time.Second, minute, false)
	use(3*time.Minute, minute.Add(3*time.Minute), true)
	use(3*time.Minute+time.Second, minute.Add(3*time.Minute), false)
}

// A host that notes a use must not bring a token back that a command has revoked, nor lose a new one.
func TestCommandsAndRequestsAtOnceLoseNothing(t *testing.T) {
	tokens, _ := some(t)
	const each = 8
	gone := map[string]string{}
	for i := range each {
		name := fmt.Sprintf("old-%d", i)
		gone[name] = made(t, tokens, name, Read)
	}
	var all sync.WaitGroup
	for name, secret := range gone {
		all.Go(func() { _, _ = tokens.Check(secret) })
		all.Go(func() {
			if err := tokens.Revoke(context.Background(), name); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range each {
		all.Go(func() { made(t, tokens, fmt.Sprintf("new-%d", i), Operate) })
	}
	all.Wait()
	list, err := tokens.List()
	if err != nil || len(list) != each {
		t.Fatalf("%d tokens are left, %v", len(list), err)
	}
	for _, token := range list {
		if !strings.HasPrefix(token.Name, "new-") {
			t.Errorf("%s is there again", token.Name)
		}
	}
}

func TestTokensThatMakeNoSenseAreRefused(t *testing.T) {
	tokens, _ := some(t)
	for name, scope := range map[string]Scope{
		"": Read, "a b": Read, "a/b": Read, "ä": Read, "a\n": Read, strings.Repeat("a", 65): Read, "fine": "admin", "f": "",
	} {
		if secret, err := tokens.New(t.Context(), name, scope); !errors.Is(err, problem.ErrBadRequest) || secret != "" {
			t.Errorf("%q, %q: %q, %v", name, scope, secret, err)
		}
	}
	made(t, tokens, "page", Read)
	if _, err := tokens.New(t.Context(), "page", Operate); !errors.Is(err, problem.ErrTokenExists) {
		t.Errorf("a name twice: %v", err)
	}
	all := make([]stored, maxTokens)
	for i := range all {
		name := fmt.Sprintf("t%d", i)
		all[i] = stored{Token{Name: name, Scope: Read}, hashOf(name)}
	}
	if err := tokens.write(all); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.New(t.Context(), "one-more", Read); !errors.Is(err, problem.ErrBadRequest) {
		t.Errorf("one more than is possible: %v", err)
	}
}

func TestADamagedFileLetsNobodyIn(t *testing.T) {
	tokens, _ := some(t)
	secret := made(t, tokens, "page", Operate)
	good, err := os.ReadFile(tokens.path)
	if err != nil {
		t.Fatal(err)
	}
	line := `{"name": "a", "scope": "read", "created": "2031-04-05T06:07:08Z", "sha256": "` + hashOf("a") + `"}`
	for _, text := range []string{
		"", "{}", string(good[:len(good)-4]), string(good) + "[]", strings.Replace(string(good), `"scope"`, `"more": 1, "scope"`, 1),
		`[{"name": "a", "scope": "read"}]`, "[" + line + "," + line + "]",
		strings.Replace(string(good), `"operate"`, `"root"`, 1), strings.Replace(string(good), `"page"`, `"p ge"`, 1),
	} {
		if err := os.WriteFile(tokens.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, checked := tokens.Check(secret)
		_, listed := tokens.List()
		_, another := tokens.New(t.Context(), "another", Read)
		for _, err := range []error{checked, listed, another, tokens.Revoke(t.Context(), "page")} {
			if !errors.Is(err, problem.ErrTokensDamaged) {
				t.Errorf("%.60q: %v", text, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"name": "a", "scope": "read", "created": "2031-04-05T06:07:08Z", "sha256": "` + hashOf("a") + `"}]`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parse(text)
		if err != nil {
			return
		}
		tokens := In(filepath.Join(t.TempDir(), "tokens.json"), time.Now)
		if err := tokens.write(all); err != nil {
			t.Fatal(err)
		}
		again, err := tokens.read()
		if d := cmp.Diff(len(all), len(again)); err != nil || d != "" {
			t.Fatalf("written and read: %v\n%s", err, d)
		}
		for i, s := range all {
			if s.check() != nil || again[i].SHA256 != s.SHA256 {
				t.Fatalf("%+v became %+v", s, again[i])
			}
		}
	})
}
