package downtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// fakeSeller has a queue that is paused or not.
type fakeSeller struct {
	is  slotqueue.Snapshot
	err error
	got []slotqueue.Command
}

func (f *fakeSeller) ViewQueue(context.Context) (slotqueue.Snapshot, error) { return f.is, f.err }

func (f *fakeSeller) Queue(_ context.Context, cmd slotqueue.Command) error {
	f.got = append(f.got, cmd)
	return nil
}

func TestSellingIsPausedWhileTheHostIsSuspended(t *testing.T) {
	now, broken := time.Unix(1_700_000_000, 0), errors.New("it is down")
	for name, c := range map[string]struct {
		barred  bool
		stopped string // why it is paused
		err     error
		want    []slotqueue.Command
	}{
		"suspended":                      {true, "", nil, []slotqueue.Command{slotqueue.Pause{At: now, Reason: pausedFor}}},
		"suspended and paused":           {true, pausedFor, nil, nil},
		"suspended, paused by a person":  {true, "a walk", nil, nil},
		"reinstated":                     {false, pausedFor, nil, []slotqueue.Command{slotqueue.Resume{At: now, Reason: "this host's address is reinstated"}}},
		"reinstated, paused by a person": {false, "a walk", nil, nil},
		"reinstated and resumed":         {false, "", nil, nil},
		"the queue is down":              {true, "", broken, nil},
	} {
		f := &fakeSeller{is: slotqueue.Snapshot{Stopped: c.stopped != "", StoppedFor: c.stopped}, err: c.err}
		if err := settle(t.Context(), f, c.barred, now); !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", name, err)
		}
		if diff := cmp.Diff(c.want, f.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhoRunsANodeIsToldWithASignature(t *testing.T) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	account := events.Address(crypto.PubkeyToAddress(key.PublicKey))
	got := make(chan Message, 3)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m Message
		body, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(body, &m)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		got <- m
	}))
	defer server.Close()
	log := logrus.New()
	log.SetOutput(io.Discard)
	h := &webhooks{
		account: account, chainID: 7, urls: map[events.Node]string{"north": server.URL}, sign: keys.SignWith(key),
		log: logrus.NewEntry(log), senders: map[events.Node]*alerts.Sender{},
	}
	at := time.Date(2026, 3, 3, 5, 0, 0, 0, time.UTC)
	h.tell(nodes.Notice{Node: "south", Text: "it has no webhook"})
	h.tell(nodes.Notice{Node: "north", Status: core.Suspended.String(), At: at, Text: "node north is suspended", Hint: "be back"})
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	m := <-got
	want := "hostnode node notice\nchain: 7\nhost: " + account.String() + "\nnode: north\nstatus: suspended\nwarning: false\n" +
		"at: 2026-03-03T05:00:00Z\ntext: node north is suspended\nhint: be back"
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(m.SignedText()), "\n")); diff != "" {
		t.Errorf("what is signed (-want +got):\n%s", diff)
	}
	m.Signature[crypto.RecoveryIDOffset] -= 27
	signer, err := crypto.SigToPub(accounts.TextHash([]byte(want)), m.Signature)
	if err != nil || events.Address(crypto.PubkeyToAddress(*signer)) != account {
		t.Errorf("it is signed by %v, %v", signer, err)
	}
	if len(got) > 0 {
		t.Errorf("further: %+v", <-got)
	}
}
