package standin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker/standin"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

const (
	token = "the-token-of-the-host"
	// asBroker makes this test the broker.
	asBroker = "HOSTNODE_TEST_STANDIN"
)

func TestMain(m *testing.M) {
	if os.Getenv(asBroker) != "" {
		if err := standin.Run(context.Background(), "127.0.0.1:0", token, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func cid(n byte) string { return commd.CID(commd.Node{n}) }

var (
	offer  = events.AggregateOffer{Aggregate: cid('A'), Size: 1 << 20, Pieces: 4}
	pieces = []string{cid('a'), cid('b'), cid('c')}
)

// put sets something of a broker, and returns the status of its answer.
func put(t *testing.T, url, path string, value any) int {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func client(t *testing.T, url string) *broker.Broker {
	t.Helper()
	b, err := broker.New(broker.Config{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// story offers an aggregate and asks about it some times. Each line is a status, with bad pieces, or an error.
func story(t *testing.T, s standin.Switches, offers, asks int) (lines []string) {
	t.Helper()
	server := httptest.NewServer(standin.New(token))
	defer server.Close()
	for path, value := range map[string]any{"/switches": s, "/lists/" + offer.Aggregate: pieces} {
		if status := put(t, server.URL, path, value); status != http.StatusNoContent {
			t.Fatalf("PUT %s: %d", path, status)
		}
	}
	b := client(t, server.URL)
	for i := range offers + asks {
		ask := b.State
		if i < offers {
			ask = b.Offer
		}
		said, err := ask(t.Context(), offer)
		line := string(said.Status)
		for _, kind := range []error{
			events.ErrBrokerAway, events.ErrBrokerLies, events.ErrUnsigned, events.ErrNotOffered,
		} {
			if errors.Is(err, kind) {
				line += kind.Error()
			}
		}
		for _, bad := range said.Bad {
			line += fmt.Sprintf(" %c", rootOf(t, bad))
		}
		lines = append(lines, line)
	}
	return lines
}

func rootOf(t *testing.T, text string) byte {
	t.Helper()
	root, err := commd.ParseCID(text)
	if err != nil {
		t.Fatal(err)
	}
	return root[0]
}

func TestEachSwitchDoesWhatItSays(t *testing.T) {
	lost, lies := events.ErrBrokerAway.Error(), events.ErrBrokerLies.Error()
	for name, c := range map[string]struct {
		switches standin.Switches
		want     []string // of an offer, and of questions
	}{
		"none":         {standin.Switches{}, []string{"PENDING", "PENDING", "PENDING"}},
		"approve":      {standin.Switches{ApproveAfter: 2}, []string{"PENDING", "SIGNED", "APPROVED", "APPROVED"}},
		"reject":       {standin.Switches{RejectAfter: 2}, []string{"PENDING", "PENDING", "REJECTED", "REJECTED"}},
		"bad pieces":   {standin.Switches{Bad: []string{cid('c'), cid('a')}}, []string{"PENDING", "REJECTED a c", "REJECTED a c"}},
		"other pieces": {standin.Switches{Bad: []string{cid('x')}, ApproveAfter: 1}, []string{"PENDING", "APPROVED"}},
		"poison":       {standin.Switches{Poison: []string{cid('b')}}, []string{"PENDING", "REJECTED"}},
		"unknown":      {standin.Switches{RejectAfter: 1, Unknown: []string{cid('x')}}, []string{"PENDING", "REJECTED x", "REJECTED x"}},
		"a signature":  {standin.Switches{Sign: true, ApproveAfter: 1}, []string{"PENDING", events.ErrUnsigned.Error()}},
		"lost answers": {standin.Switches{LoseEvery: 2, ApproveAfter: 3}, []string{"PENDING", lost, "SIGNED", lost, "APPROVED"}},
		"repeated":     {standin.Switches{RepeatEvery: 3, ApproveAfter: 2}, []string{"PENDING", "SIGNED", "SIGNED", "APPROVED"}},
		"contradict":   {standin.Switches{RejectAfter: 1, Contradict: true}, []string{"PENDING", "REJECTED", "APPROVED", "APPROVED"}},
		"another":      {standin.Switches{Other: cid('B')}, []string{lies, lies}},
	} {
		for range 2 { // It follows from the switches.
			if diff := cmp.Diff(c.want, story(t, c.switches, 1, len(c.want)-1)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	// The work of a lost answer is done.
	want := []string{lost, lost, lost}
	if diff := cmp.Diff(want, story(t, standin.Switches{LoseEvery: 1}, 1, 2)); diff != "" {
		t.Errorf("all lost (-want +got):\n%s", diff)
	}
}

func TestWhatTheStandInRefuses(t *testing.T) {
	server := httptest.NewServer(standin.New(token))
	defer server.Close()
	if status := put(t, server.URL, "/switches", map[string]any{"Unheard": true}); status != http.StatusBadRequest {
		t.Errorf("an unknown switch: %d", status)
	}
	b := client(t, server.URL)
	if _, err := b.Offer(t.Context(), offer); err != nil {
		t.Fatal(err)
	}
	other := offer
	other.Size *= 2
	if _, err := b.Offer(t.Context(), other); !errors.Is(err, events.ErrNoBroker) || !strings.Contains(err.Error(), "409") {
		t.Errorf("another offer of the same aggregate: %v", err)
	}
	if status := put(t, server.URL, "/aggregates/"+cid('B'), broker.OfferBody{Aggregate: cid('C')}); status != http.StatusBadRequest {
		t.Errorf("an offer of two aggregates: %d", status)
	}
	response, err := http.Post(server.URL+"/switches", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", response.Status)
	}
}

func TestTheStandInRunsInAProcessOfItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asBroker+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	put(t, url, "/switches", standin.Switches{ApproveAfter: 1})
	b := client(t, url)
	_, offering := b.Offer(t.Context(), offer)
	said, err := b.State(t.Context(), offer)
	if offering != nil || err != nil || said.Status != events.DealApproved {
		t.Fatalf("%v, %+v, %v", offering, said, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It was killed.
	if _, err := b.State(t.Context(), offer); !errors.Is(err, events.ErrBrokerAway) {
		t.Fatalf("after its end: %v", err)
	}
}

func TestTheStandInEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := standin.Run(ctx, "127.0.0.1:0", token, &out); err != nil || !strings.HasPrefix(out.String(), "http://127.") {
		t.Fatalf("%q, %v", out.String(), err)
	}
	if err := standin.Run(t.Context(), "no address", token, &out); err == nil {
		t.Fatal("it serves nowhere")
	}
}
