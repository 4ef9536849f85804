package alerts_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	view "github.com/hostnode/hostnode/projections/alert"
)

// hook is a webhook; it answers with a status.
func hook(t *testing.T, status int) (url string, got chan *http.Request) {
	t.Helper()
	got = make(chan *http.Request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		got <- r
		http.Error(w, "as told", status)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func newDesk(t *testing.T, url, file string) *alerts.Desk {
	t.Helper()
	return alerts.NewDesk(alerts.Config{
		Webhook: url, Timeout: time.Minute, Log: logrus.NewEntry(logrus.New()), Secrets: []string{"hush"},
	}, "north", file)
}

// recorded has n orders recorded, and returns them.
func recorded(t *testing.T, d *alerts.Desk, n int) (all []room.Order) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d.Record(ctx, func(_ context.Context, o room.Order) error {
		if all = append(all, o); len(all) == n {
			cancel()
		}
		return nil
	})
	return all
}

func raised(kind health.AlertKind, text string) health.Alert {
	return health.Alert{Kind: kind, At: time.Now(), Text: text}
}

// What is new is delivered at once, and the record is told who took it; what is open already, or muted, only recorded.
func TestTheDeskDeliversWhatIsNewAndHasEverythingRecorded(t *testing.T) {
	url, got := hook(t, http.StatusOK)
	d := newDesk(t, url, "")
	d.Know(func() (view.Alerts, bool) {
		return view.Alerts{
			Open:  []view.Alert{{Kind: "disk-full", Member: "north", Severity: "warning", Text: "full"}},
			Mutes: []view.Mute{{Kind: "no-owner", Until: time.Now().Add(time.Hour)}},
		}, true
	})
	worse := raised(health.AlertDisk, "hush, nothing can be written")
	worse.Severity = health.SeverityCritical
	for _, a := range []health.Alert{
		raised(health.AlertDisk, "full"), raised(health.AlertNoOwner, "nobody"), worse,
		raised(health.AlertSlashed, "12 tokens"), raised(health.AlertSlashed, "12 tokens"),
		raised(health.AlertSlashed, "7 tokens"), raised(health.AlertChain, "silent"), raised(health.AlertChain, "more silent"),
	} {
		d.Raise(a)
	}
	delivered := map[string]int{}
	for _, o := range recorded(t, d, 8) {
		delivered[fmt.Sprintf("%s %s %s: %d", o.Raise.Kind, o.Raise.Member, o.Raise.Text, len(o.Raise.Delivered))]++
	}
	want := map[string]int{
		"disk-full north full: 0": 1, "no-owner north nobody: 0": 1, "disk-full north ***, nothing can be written: 1": 1,
		"collateral-slashed north 12 tokens: 1": 1, "collateral-slashed north 12 tokens: 0": 1,
		"collateral-slashed north 7 tokens: 1": 1, "chain-silent north silent: 1": 1, "chain-silent north more silent: 0": 1,
	}
	if diff := cmp.Diff(want, delivered); diff != "" || len(got) != 4 {
		t.Fatalf("%d were delivered; recorded (-want +got):\n%s", len(got), diff)
	}
	for _, kind := range []health.AlertKind{health.AlertQuota, health.AlertChain, health.AlertDisk} {
		d.Clear(health.Alert{Kind: kind, Reason: "it is over"})
	}
	if all := recorded(t, d, 2); all[0].Clear.Kind != "chain-silent" || all[1].Clear.Kind != "disk-full" {
		t.Errorf("recorded: %+v", all) // The quota was not open.
	}
	d.Close()
}

// No alert waits for the event store, and none is lost: what could not be recorded is, by the next process.
func TestAlertsAreDeliveredAtOnceAndRecordedByTheNextProcess(t *testing.T) {
	url, got := hook(t, http.StatusInternalServerError)
	file := filepath.Join(t.TempDir(), "alerts.json")
	d := newDesk(t, url, file)
	d.Raise(raised(health.AlertRecord, "the event store does not answer"))
	<-got
	ctx, cancel := context.WithCancel(t.Context())
	d.Record(ctx, func(context.Context, room.Order) error {
		cancel()
		return errors.New("the event store is away")
	})
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "does not answer") {
		t.Fatalf("kept: %s: %v", text, err)
	}
	d.Clear(health.Alert{Kind: health.AlertRecord, Reason: "it answers"})
	d.Close()
	next := newDesk(t, url, file)
	all := recorded(t, next, 2)
	if all[0].Raise == nil || len(all[0].Raise.Delivered) > 0 || all[1].Clear == nil {
		t.Errorf("recorded: %+v", all)
	}
	next.Close()
	if _, err := os.Stat(file); err == nil && len(recordedAgain(t, file)) > 0 {
		t.Error("what is recorded is kept")
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	newDesk(t, url, file).Close() // Damage does not stop a host.
}

func recordedAgain(t *testing.T, file string) (all []room.Order) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAWebhookCanCheckWhoPostsAndWhen(t *testing.T) {
	url, got := hook(t, http.StatusOK)
	s := alerts.New(alerts.Config{Webhook: url, Key: []byte("k"), Timeout: time.Minute, Log: logrus.NewEntry(logrus.New())})
	defer s.Close()
	answer, err := s.Deliver(t.Context(), alerts.ChannelWebhook, anAlert(7))
	if err != nil || answer != "200 OK: as told" {
		t.Fatalf("%q: %v", answer, err)
	}
	r := <-got
	body, _ := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte("k"))
	mac.Write([]byte(r.Header.Get("Hostnode-Time") + "." + string(body)))
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get("Hostnode-Signature") != want {
		t.Errorf("signed %q, want %q", r.Header.Get("Hostnode-Signature"), want)
	}
	if _, err := s.Deliver(t.Context(), "pigeon", anAlert(7)); !errors.Is(err, alerts.ErrNoChannel) {
		t.Errorf("a pigeon: %v", err)
	}
}

func TestAnAlertmanagerKnowsAnAlertByItsLabelsUntilItIsOver(t *testing.T) {
	url, got := hook(t, http.StatusOK)
	s := alerts.New(alerts.Config{
		Webhook: url, Format: alerts.FormatAlertmanager, Timeout: time.Minute, Log: logrus.NewEntry(logrus.New()),
	})
	defer s.Close()
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	a := health.Alert{
		Kind: health.AlertFunds, At: at, Host: "0xabc", Severity: health.SeverityCritical, Subject: "no-gas",
		Text: "nothing for gas", Hint: "send coins",
	}
	over := a
	over.Severity, over.Cleared, over.Reason = health.SeverityWarning, at.Add(time.Hour), "it has coins"
	type posted struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
	}
	var all [2][]posted
	for i, one := range []health.Alert{a, over} {
		if _, err := s.Deliver(t.Context(), alerts.ChannelWebhook, one); err != nil {
			t.Fatal(err)
		}
		if err := json.NewDecoder((<-got).Body).Decode(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{
		"alertname": "funds-low", "host": "0xabc", "job": "hostnode", "severity": "warning", "subject": "no-gas",
	}
	want := [2][]posted{
		{{labels, map[string]string{"summary": a.Text, "severity": "critical", "hint": a.Hint}, at, at.AddDate(0, 0, 30)}},
		{{labels, map[string]string{
			"summary": a.Text, "severity": "warning", "hint": a.Hint, "reason": "it has coins",
		}, at, at.Add(time.Hour)}},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An alert that is over, or raised again, before a channel has taken it: what follows is recorded behind it, so that it
// is neither open for ever nor delivered twice.
func TestWhatHappensDuringADeliveryIsRecordedBehindIt(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer server.Close()
	d := newDesk(t, server.URL, "")
	d.Raise(raised(health.AlertChain, "silent"))
	<-arrived
	d.Raise(raised(health.AlertChain, "silent"))
	d.Clear(health.Alert{Kind: health.AlertChain, Reason: "blocks come"})
	d.Raise(raised(health.AlertChain, "silent again"))
	close(release)
	<-arrived
	var told []string
	for _, o := range recorded(t, d, 4) {
		if o.Raise != nil {
			told = append(told, fmt.Sprintf("%s: %d", o.Raise.Text, len(o.Raise.Delivered)))
		} else {
			told = append(told, o.Clear.Reason)
		}
	}
	if diff := cmp.Diff([]string{"silent: 1", "silent: 0", "blocks come", "silent again: 1"}, told); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	d.Close()
}

// Texts of others are bounded by the record and harmless as JSON, in both formats; a redirect is no taking.
func TestHostileTextsAreHarmlessInWhatIsPosted(t *testing.T) {
	for _, format := range []string{alerts.FormatHostnode, alerts.FormatAlertmanager} {
		url, got := hook(t, http.StatusOK)
		s := alerts.New(alerts.Config{Webhook: url, Format: format, Timeout: time.Minute, Log: logrus.NewEntry(logrus.New())})
		for _, text := range []string{"<img src=x onerror=alert(1)>", "\u202eevil", "nul\x00", strings.Repeat("x", 10_000), "\xff"} {
			a := raised(health.AlertNotBelieved, text)
			if _, err := s.Deliver(t.Context(), alerts.ChannelWebhook, a); err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll((<-got).Body)
			if !json.Valid(body) || strings.ContainsAny(string(body), "<>\x00") {
				t.Errorf("%s: %.100q", format, body)
			}
		}
		s.Close()
	}
}

func TestARedirectIsNotFollowedWithTheBodyOfAnAlert(t *testing.T) {
	other, got := hook(t, http.StatusOK)
	server := httptest.NewServer(http.RedirectHandler(other, http.StatusFound))
	defer server.Close()
	s := alerts.New(alerts.Config{Webhook: server.URL, Timeout: time.Minute, Log: logrus.NewEntry(logrus.New())})
	defer s.Close()
	answer, err := s.Deliver(t.Context(), alerts.ChannelWebhook, anAlert(7))
	if err == nil || len(got) > 0 {
		t.Errorf("taken: %q, %d asked elsewhere", answer, len(got))
	}
}
