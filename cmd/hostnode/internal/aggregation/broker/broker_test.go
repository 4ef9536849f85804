package broker_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker/standin"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

var _ port.Broker = (*broker.Broker)(nil)

const (
	token   = "the-token-of-the-host"
	chainID = 31337
)

// cid is a piece CID.
func cid(kind, n byte) string { return commd.CID(commd.Node{kind, n}) }

var offer = events.AggregateOffer{Aggregate: cid('A', 0), Size: 32 << 30, Pieces: 3}

func newKey(t testing.TB) (*ecdsa.PrivateKey, events.Address) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, keys.AddressOf(key)
}

// serve serves a broker until the test ends, and returns its URL.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func newBroker(t testing.TB, cfg broker.Config) *broker.Broker {
	t.Helper()
	cfg.Token, cfg.ChainID = token, chainID
	b, err := broker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put sets something of the stand-in.
func put(t testing.TB, url, path string, value any) {
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
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("PUT %s: %s", path, response.Status)
	}
}

func TestTheBrokerObeysItsPort(t *testing.T) {
	porttest.Broker(t, func(t *testing.T) porttest.BrokerWorld {
		var away atomic.Bool
		inner := standin.New(token)
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() {
				panic(http.ErrAbortHandler)
			}
			inner.ServeHTTP(w, r)
		}))
		decide := func(a standin.Answer) events.DealReport {
			put(t, url, "/decisions/"+a.Aggregate, a)
			return events.DealReport{Aggregate: a.Aggregate, Status: a.Status, Deal: a.Deal, Bad: a.Bad, Reason: a.Reason}
		}
		offers := byte(0)
		return porttest.BrokerWorld{
			Broker: newBroker(t, broker.Config{URL: url}), NamesBad: true, Away: away.Store,
			Offer: func() (events.AggregateOffer, []string) {
				offers++
				return events.AggregateOffer{Aggregate: cid('A', offers), Size: 1 << 20, Pieces: 3},
					[]string{cid('p', 3*offers), cid('p', 3*offers+1), cid('p', 3*offers+2)}
			},
			Sign: func(aggregate string) events.DealReport {
				return decide(standin.Answer{Aggregate: aggregate, Status: events.DealSigned, Deal: "d-1"})
			},
			Approve: func(aggregate string) events.DealReport {
				return decide(standin.Answer{Aggregate: aggregate, Status: events.DealApproved, Deal: "d-1:A_b.c"})
			},
			Reject: func(aggregate string, bad []string) events.DealReport {
				return decide(standin.Answer{Aggregate: aggregate, Status: events.DealRejected, Bad: bad, Reason: "zu groß"})
			},
		}
	})
}

func TestSettingsOfABrokerThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  broker.Config
		says string
	}{
		"no URL":          {broker.Config{Token: token}, "want https"},
		"another scheme":  {broker.Config{URL: "ftp://b.example", Token: token}, "want https"},
		"no host":         {broker.Config{URL: "https://", Token: token}, "want https"},
		"no URL at all":   {broker.Config{URL: "https://%zz", Token: token}, "want https"},
		"a user":          {broker.Config{URL: "https://u:secretsecret@b.example", Token: token}, "want https"},
		"a query":         {broker.Config{URL: "https://b.example?key=secretsecret", Token: token}, "want https"},
		"plain http":      {broker.Config{URL: "http://b.example", Token: token}, "in the clear"},
		"no token":        {broker.Config{URL: "https://b.example"}, "token is missing"},
		"token of 2 rows": {broker.Config{URL: "https://b.example", Token: "secretsecret\nx"}, "characters"},
	} {
		if _, err := broker.New(c.cfg); !errors.Is(err, events.ErrMalformed) || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "secretsecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cfg := range []broker.Config{
		{URL: "https://b.example/path/"},
		{URL: "http://localhost:1"},
		{URL: "http://[::1]:1"},
		{URL: "http://b.example", AllowHTTP: true},
	} {
		cfg.Token = token
		if _, err := broker.New(cfg); err != nil {
			t.Error(err)
		}
	}
}

func TestARequestSaysWhatIsOffered(t *testing.T) {
	var got []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		fmt.Fprintf(w, `{"aggregate":%q,"status":"PENDING"}`, offer.Aggregate)
	}))
	b := newBroker(t, broker.Config{URL: url + "/base/", Account: events.Address{0xcd}})
	_, offering := b.Offer(t.Context(), offer)
	_, asking := b.State(t.Context(), offer)
	if err := errors.Join(offering, asking, b.Withdraw(t.Context(), offer.Aggregate)); err != nil {
		t.Fatal(err)
	}
	at := " /base/aggregates/" + offer.Aggregate + " Bearer " + token + " "
	want := []string{
		"PUT" + at + `{"aggregate":"` + offer.Aggregate + `","size":34359738368,"pieces":3,` +
			`"account":"0xcd00000000000000000000000000000000000000","chainId":31337}`,
		"GET" + at, "DELETE" + at,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, aggregate := range []string{"", "../switches", "baga", cid('A', 0) + "/signature"} {
		_, offering := b.Offer(t.Context(), events.AggregateOffer{Aggregate: aggregate})
		if withdrawing := b.Withdraw(t.Context(), aggregate); !errors.Is(offering, events.ErrMalformed) ||
			!errors.Is(withdrawing, events.ErrMalformed) || len(got) != 3 {
			t.Errorf("%q is asked about: %v, %v", aggregate, offering, withdrawing)
		}
	}
}

// report is an answer about the offer, with further fields.
func report(status, more string) string {
	return `{"aggregate":"` + offer.Aggregate + `","status":"` + status + `"` + more + `}`
}

func TestAnswersThatCannotBe(t *testing.T) {
	large := func(n int) string { return strings.Repeat("a", n) }
	bad := func(list ...string) string {
		text, _ := json.Marshal(list)
		return report("REJECTED", `,"bad":`+string(text))
	}
	for name, c := range map[string]struct {
		says string
		want error
		hint string
	}{
		"another aggregate":     {`{"aggregate":"` + cid('B', 0) + `","status":"PENDING"}`, events.ErrBrokerLies, cid('B', 0)},
		"no aggregate":          {`{"status":"PENDING"}`, events.ErrBrokerLies, "answered about"},
		"an unknown status":     {report("MAYBE", ""), events.ErrBrokerLies, `no status "MAYBE"`},
		"in small letters":      {report("pending", ""), events.ErrBrokerLies, "no status"},
		"no status":             {`{"aggregate":"` + offer.Aggregate + `"}`, events.ErrBrokerLies, "no status"},
		"a deal with a newline": {report("SIGNED", `,"deal":"d\nsize: 1"`), events.ErrBrokerLies, "the deal is called"},
		"a deal with a space":   {report("SIGNED", `,"deal":"d 1"`), events.ErrBrokerLies, "the deal is called"},
		"a long deal":           {report("SIGNED", `,"deal":"`+large(129)+`"`), events.ErrBrokerLies, "the deal is called"},
		"a long reason":         {report("REJECTED", `,"reason":"`+large(1025)+`"`), events.ErrBrokerLies, "1025 bytes"},
		"a reason of two lines": {report("REJECTED", `,"reason":"a\u001b[2J"`), events.ErrBrokerLies, "control characters"},
		"a bad piece of none":   {bad("baga"), events.ErrBrokerLies, "piece CID"},
		"a piece of version 2":  {bad("bafkzcib" + large(56)), events.ErrBrokerLies, "piece CID"},
		"more bad than pieces":  {bad(cid('p', 0), cid('p', 1), cid('p', 2), cid('p', 3)), events.ErrBrokerLies, "more bad pieces than the 3"},
		"bad and approved":      {report("APPROVED", `,"bad":["`+cid('p', 0)+`"]`), events.ErrBrokerLies, "what is APPROVED"},
		"it waits for money":    {report("PENDING", `,"deal":"d","awaits":"money"`), events.ErrBrokerLies, "money"},
		"a late signature":      {report("APPROVED", `,"deal":"d","awaits":"signature"`), events.ErrBrokerLies, "APPROVED"},
		"a deal without a name": {report("PENDING", `,"awaits":"signature"`), events.ErrBrokerLies, "waits"},
		"too much":              {report("PENDING", strings.Repeat(" ", 5000)), events.ErrBrokerLies, "more than 4096"},
		"nothing":               {"", events.ErrBrokerAway, "EOF"},
		"half an answer":        {report("PENDING", "")[:50], events.ErrBrokerAway, "EOF"},
		"a page":                {"<html>welcome</html>", events.ErrNoBroker, "no JSON"},
		"a list":                {"[]", events.ErrNoBroker, "want {"},
		"null":                  {"null", events.ErrNoBroker, "want {"},
		"a number for a text":   {report("PENDING", `,"deal":17`), events.ErrNoBroker, "no text"},
		"a text for a list":     {report("REJECTED", `,"bad":"all"`), events.ErrNoBroker, "want ["},
		"a list of numbers":     {report("REJECTED", `,"bad":[1]`), events.ErrNoBroker, "no text"},
		"an unknown field":      {report("PENDING", `,"Status":"APPROVED"`), events.ErrNoBroker, "unknown field"},
		"a field twice":         {report("PENDING", `,"status":"APPROVED"`), events.ErrNoBroker, "twice"},
		"a list twice":          {report("REJECTED", `,"bad":[],"bad":[]`), events.ErrNoBroker, "twice"},
		"two answers":           {report("PENDING", "") + report("APPROVED", ""), events.ErrNoBroker, "more behind"},
	} {
		b := newBroker(t, broker.Config{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, c.says)
		})), MaxAnswer: 4096})
		for _, ask := range []func(context.Context, events.AggregateOffer) (events.DealReport, error){b.Offer, b.State} {
			said, err := ask(t.Context(), offer)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.hint) || said.Status != "" {
				t.Errorf("%s: %+v, %v", name, said, err)
			}
			// What cannot be is not asked for again as if nothing had come.
			if lies := errors.Is(c.want, events.ErrBrokerLies); lies == errors.Is(err, events.ErrBrokerAway) {
				t.Errorf("%s: %v: it is called away", name, err)
			}
		}
	}
}

func TestWhatAnAnswersStatusMeans(t *testing.T) {
	for status, want := range map[int][3]error{ // of PUT, GET and DELETE
		204: {events.ErrNoBroker, events.ErrNoBroker, nil},
		302: {events.ErrNoBroker, events.ErrNoBroker, events.ErrNoBroker},
		400: {events.ErrNoBroker, events.ErrNoBroker, events.ErrNoBroker},
		401: {events.ErrNoBroker, events.ErrNoBroker, events.ErrNoBroker},
		403: {events.ErrNoBroker, events.ErrNoBroker, events.ErrNoBroker},
		404: {events.ErrNoBroker, events.ErrNotOffered, nil},
		408: {events.ErrBrokerAway, events.ErrBrokerAway, events.ErrBrokerAway},
		409: {events.ErrNoBroker, events.ErrNoBroker, events.ErrDealOver},
		422: {events.ErrNoBroker, events.ErrNoBroker, events.ErrNoBroker},
		429: {events.ErrBrokerAway, events.ErrBrokerAway, events.ErrBrokerAway},
		500: {events.ErrBrokerAway, events.ErrBrokerAway, events.ErrBrokerAway},
		503: {events.ErrBrokerAway, events.ErrBrokerAway, events.ErrBrokerAway},
	} {
		asked := 0
		b := newBroker(t, broker.Config{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			fmt.Fprintf(w, "no, %s\n%s", token, strings.Repeat("x", 5000))
		}))})
		_, offering := b.Offer(t.Context(), offer)
		_, asking := b.State(t.Context(), offer)
		for i, err := range []error{offering, asking, b.Withdraw(t.Context(), offer.Aggregate)} {
			if !errors.Is(err, want[i]) || (err == nil) != (want[i] == nil) ||
				errors.Is(err, events.ErrNoBroker) != errors.Is(want[i], events.ErrNoBroker) {
				t.Errorf("%d to %s: %v, want %v", status, []string{"PUT", "GET", "DELETE"}[i], err, want[i])
			}
			if err != nil && (strings.Contains(err.Error(), token) || len(err.Error()) > 700) {
				t.Errorf("%d: it says too much: %v", status, err)
			}
		}
		if asked != 3 {
			t.Errorf("%d: asked %d times", status, asked)
		}
	}
	b := newBroker(t, broker.Config{URL: serve(t, standin.New("another token"))})
	if _, err := b.Offer(t.Context(), offer); err == nil || !strings.Contains(err.Error(), "set the one that it gave") {
		t.Errorf("a wrong token: %v", err)
	}
}

func TestABrokerThatKeepsSilent(t *testing.T) {
	url := serve(t, standin.New(token))
	put(t, url, "/switches", standin.Switches{Silent: true})
	b := newBroker(t, broker.Config{URL: url, Timeout: time.Millisecond})
	for range 3 {
		if _, err := b.Offer(t.Context(), offer); !errors.Is(err, events.ErrBrokerAway) {
			t.Fatal(err)
		}
	}
	if err := b.Withdraw(t.Context(), offer.Aggregate); !errors.Is(err, events.ErrBrokerAway) {
		t.Fatal(err)
	}
}

func TestABrokerGetsTheSignatureOfTheOfferedDeal(t *testing.T) {
	key, account := newKey(t)
	url := serve(t, standin.New(token))
	put(t, url, "/switches", standin.Switches{Sign: true, ApproveAfter: 3})
	b := newBroker(t, broker.Config{URL: url, Account: account, Sign: keys.SignWith(key)})
	if said, err := b.Offer(t.Context(), offer); err != nil || said.Status != events.DealPending {
		t.Fatalf("%+v, %v", said, err)
	}
	unable := newBroker(t, broker.Config{URL: url, Account: account})
	if said, err := unable.State(t.Context(), offer); !errors.Is(err, events.ErrUnsigned) || said.Status != "" {
		t.Fatalf("without a key: %+v, %v", said, err)
	}
	failing := newBroker(t, broker.Config{URL: url, Account: account, Sign: func(context.Context, []byte) ([]byte, error) {
		return nil, io.ErrClosedPipe
	}})
	if _, err := failing.State(t.Context(), offer); !errors.Is(err, events.ErrUnsigned) || !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("with a key that fails: %v", err)
	}
	other, _ := newKey(t)
	wrong := newBroker(t, broker.Config{URL: url, Account: account, Sign: keys.SignWith(other)})
	if _, err := wrong.State(t.Context(), offer); !errors.Is(err, events.ErrNoBroker) {
		t.Fatalf("with the key of another account: %v", err)
	}
	larger := offer
	larger.Size *= 2
	if _, err := b.State(t.Context(), larger); !errors.Is(err, events.ErrNoBroker) {
		t.Fatalf("for another size than was offered: %v", err)
	}
	for _, want := range []events.DealStatus{events.DealSigned, events.DealApproved} {
		if said, err := b.State(t.Context(), offer); err != nil || said.Status != want {
			t.Fatalf("%+v, %v, want %s", said, err, want)
		}
	}
}

// What is signed is in the package's comment, and a change of any part of it is another text.
func TestTheSignedTextNamesAllThatIsAgreed(t *testing.T) {
	key, account := newKey(t)
	good := broker.Deal{
		ChainID: 1, Account: "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd", Broker: "broker.example:8443",
		Aggregate: "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq", Size: 32 << 30, Name: "d-17",
	}
	source, err := os.ReadFile("broker.go")
	if err != nil {
		t.Fatal(err)
	}
	comment := "//\t" + strings.ReplaceAll(string(good.Text()), "\n", "\n//\t") + "\n"
	if !strings.Contains(string(source), comment) {
		t.Errorf("the package's comment has no such text:\n%s", comment)
	}
	signature, err := keys.SignWith(key)(t.Context(), good.Text())
	if err != nil {
		t.Fatal(err)
	}
	if signer, err := keys.SignerOf(good.Text(), signature); err != nil || signer != account {
		t.Fatalf("signed by %s, %v", signer, err)
	}
	for name, change := range map[string]func(*broker.Deal){
		"chain":     func(d *broker.Deal) { d.ChainID++ },
		"account":   func(d *broker.Deal) { d.Account = strings.Replace(d.Account, "cd", "ce", 1) },
		"broker":    func(d *broker.Deal) { d.Broker = "broker.example" },
		"aggregate": func(d *broker.Deal) { d.Aggregate = cid('A', 1) },
		"size":      func(d *broker.Deal) { d.Size /= 2 },
		"deal":      func(d *broker.Deal) { d.Name = "d-18" },
	} {
		other := good
		change(&other)
		if signer, err := keys.SignerOf(other.Text(), signature); err == nil && signer == account {
			t.Errorf("it is for another %s, too", name)
		}
	}
}

// A broker that names other values gets a signature for ours.
func TestNoTextOfABrokerIsSigned(t *testing.T) {
	key, account := newKey(t)
	var posted broker.SignatureBody
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&posted); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, report("SIGNED", `,"deal":"d-2"`))
			return
		}
		_, _ = io.WriteString(w, report("PENDING", `,"deal":"d-1","awaits":"signature","reason":"size: 1"`))
	}))
	b := newBroker(t, broker.Config{URL: url, Account: account, Sign: keys.SignWith(key)})
	said, err := b.State(t.Context(), offer)
	want := events.DealReport{Aggregate: offer.Aggregate, Status: events.DealSigned, Deal: "d-2"}
	if diff := cmp.Diff(want, said); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	text := broker.Deal{
		ChainID: chainID, Account: account.String(), Broker: strings.TrimPrefix(url, "http://"),
		Aggregate: offer.Aggregate, Size: uint64(offer.Size), Name: "d-1",
	}.Text()
	if signer, err := keys.SignerOf(text, posted.Signature); err != nil || signer != account || posted.Deal != "d-1" {
		t.Errorf("signed by %s, %v, of %q", signer, err, posted.Deal)
	}
}

func TestACallBackMakesTheHostAsk(t *testing.T) {
	var looked []string
	h := broker.Callbacks("secret", func(aggregate string) { looked = append(looked, aggregate) })
	for _, c := range []struct {
		bearer, body string
		want         int
	}{
		{"Bearer secret", `{"aggregate":"` + offer.Aggregate + `"}`, 204},
		{"Bearer secret", report("APPROVED", ""), 204}, // The rest is not looked at.
		{"Bearer secreu", `{"aggregate":"` + offer.Aggregate + `"}`, 401},
		{"Bearer secret", `{"aggregate":"../../switches"}`, 400},
		{"Bearer secret", `{}`, 400},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Authorization", c.bearer)
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.bearer, c.body, w.Code, c.want)
		}
	}
	if diff := cmp.Diff([]string{offer.Aggregate, offer.Aggregate}, looked); diff != "" {
		t.Errorf("asked about (-want +got):\n%s", diff)
	}
}
