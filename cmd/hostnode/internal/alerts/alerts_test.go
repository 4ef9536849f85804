package alerts_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
)

func anAlert(n uint64) health.Alert {
	return health.Alert{
		Kind: health.AlertProofMissed, At: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), Host: "0xabc",
		Slot: "0xdef", Period: n, Text: "the proof of period was missed", Hint: "look at `hostnode sale 0xdef`",
	}
}

func newSender(cfg alerts.Config) (*alerts.Sender, *logtest.Hook) {
	log, hook := logtest.NewNullLogger()
	cfg.Log = logrus.NewEntry(log)
	return alerts.New(cfg), hook
}

func logged(hook *logtest.Hook) string {
	var lines []string
	for _, e := range hook.AllEntries() {
		lines = append(lines, e.Message)
	}
	return strings.Join(lines, "\n")
}

func TestACommandGetsEachAlertAsJSONOnItsInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said")
	s, hook := newSender(alerts.Config{Command: "cat >> " + file, Timeout: time.Minute})
	s.Send(anAlert(7))
	s.Send(anAlert(8))
	s.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err, logged(hook))
	}
	const want = `{"kind":"proof-missed","at":"2026-11-21T06:00:00Z","host":"0xabc","slot":"0xdef","period":%d,` +
		`"text":"the proof of period was missed","hint":"look at ` + "`hostnode sale 0xdef`" + `"}` + "\n"
	if diff := cmp.Diff(fmt.Sprintf(want+want, 7, 8), string(text)); diff != "" {
		t.Fatalf("the command heard something else (-want +got):\n%s", diff)
	}
}

func TestAWebhookGetsEachAlertAsJSON(t *testing.T) {
	got := make(chan health.Alert, 2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a health.Alert
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &a); err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s of type %s: %v", body, r.Header.Get("Content-Type"), err)
		}
		got <- a
	}))
	defer server.Close()
	s, hook := newSender(alerts.Config{Webhook: server.URL, Timeout: time.Minute})
	s.Send(anAlert(7))
	s.Close()
	if diff := cmp.Diff(anAlert(7), <-got); diff != "" {
		t.Fatalf("the webhook heard something else (-want +got):\n%s%s", diff, logged(hook))
	}
}

func TestACommandThatHangsIsKilledWithItsChildren(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said")
	// The first alert hangs in a child of the shell; the second is delivered, even if starting
	// a command takes a second.
	command := fmt.Sprintf("grep -q '\"period\":1,' && { sleep 3600 & wait; }; echo delivered >> %s", file)
	s, hook := newSender(alerts.Config{Command: command, Timeout: 5 * time.Second})
	s.Send(anAlert(1))
	s.Send(anAlert(2))
	await(t, func() bool { text, _ := os.ReadFile(file); return strings.Contains(string(text), "delivered") })
	s.Close()
	if said := logged(hook); !strings.Contains(said, "took longer than 5s (alerts.timeout)") ||
		!strings.Contains(said, `"period":1`) {
		t.Fatalf("the log says:\n%s", said)
	}
}

// await polls for what another process does.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not happen before the test ended")
		}
	}
}

func TestACommandThatFailsIsLoggedWithWhatItSaid(t *testing.T) {
	s, hook := newSender(alerts.Config{Command: "echo no such pager >&2; exit 3", Timeout: time.Minute})
	s.Send(anAlert(1))
	s.Close()
	for _, want := range []string{"alerts.command", "exit status 3", "no such pager", `"period":1`} {
		if said := logged(hook); !strings.Contains(said, want) {
			t.Errorf("the log does not say %q:\n%s", want, said)
		}
	}
}

func TestAWebhookThatRefusesIsLoggedWithoutItsAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "unknown channel", http.StatusNotFound)
	}))
	s, hook := newSender(alerts.Config{Webhook: server.URL + "/secret-token", Timeout: time.Minute})
	s.Send(anAlert(1))
	s.Close()
	if said := logged(hook); !strings.Contains(said, "404 Not Found: unknown channel") {
		t.Errorf("the log says:\n%s", said)
	}
	server.Close()
	s, gone := newSender(alerts.Config{Webhook: server.URL + "/secret-token", Timeout: time.Minute})
	s.Send(anAlert(1))
	s.Close()
	if said := logged(gone); !strings.Contains(said, "alerts.webhook did not take an alert") {
		t.Errorf("the log says:\n%s", said)
	}
	if said := logged(hook) + logged(gone); strings.Contains(said, "secret-token") {
		t.Errorf("the log tells the secret:\n%s", said)
	}
}

func TestAFloodOfAlertsIsDroppedAndNeverBlocks(t *testing.T) {
	arrived, release := make(chan struct{}, 1000), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer server.Close()
	s, hook := newSender(alerts.Config{Webhook: server.URL, Timeout: time.Minute})
	s.Send(anAlert(0))
	<-arrived // The first is being delivered, and nothing else is.
	for i := range uint64(1000) {
		s.Send(anAlert(i + 1))
	}
	close(release)
	s.Close()
	if got := len(arrived); got != 100 {
		t.Errorf("%d alerts were delivered after the first, want the 100 that may wait", got)
	}
	if said := logged(hook); strings.Count(said, "alerts are not delivered") != 1 {
		t.Errorf("the log says:\n%s", said)
	}
	s.Send(anAlert(1)) // After the end it is dropped.
}

func TestWithoutACommandOrAWebhookNothingHappens(t *testing.T) {
	s, hook := newSender(alerts.Config{})
	s.Send(anAlert(1))
	s.Close()
	s.Close()
	if said := logged(hook); said != "" {
		t.Errorf("the log says:\n%s", said)
	}
}

func TestAnAlertTakesNoSecretOutOfTheProcess(t *testing.T) {
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer server.Close()
	s := alerts.New(alerts.Config{Webhook: server.URL, Secrets: []string{"planted-secret"}, Log: logrus.NewEntry(logrus.New())})
	s.Send(map[string]string{"text": "dial planted-secret"})
	s.Close()
	if body := <-got; body != "{\"text\":\"dial ***\"}\n" {
		t.Errorf("%q", body)
	}
}

func TestTheNewestAreRemembered(t *testing.T) {
	const newest = 100
	s := alerts.New(alerts.Config{Log: logrus.NewEntry(logrus.New()), Secrets: []string{"hush"}})
	defer s.Close()
	for i := range newest + 5 {
		s.Send(map[string]any{"n": i, "text": "hush"})
	}
	all := s.Newest()
	if len(all) != newest || !strings.Contains(string(all[0]), `"n":5,`) ||
		!strings.Contains(string(all[newest-1]), fmt.Sprintf(`"n":%d,`, newest+4)) || strings.Contains(string(all[0]), "hush") {
		t.Errorf("%d, from %s", len(all), all[0])
	}
}
