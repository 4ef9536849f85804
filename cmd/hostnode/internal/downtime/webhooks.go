package downtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/sirupsen/logrus"

	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
)

// webhooks tell those who run nodes what becomes of them.
type webhooks struct {
	account events.Address
	chainID uint64
	urls    map[events.Node]string
	sign    keys.Sign
	log     *logrus.Entry

	mu      sync.Mutex
	senders map[events.Node]*alerts.Sender // of those that were told something
}

func newWebhooks(w node.Wiring, settings []string) (*webhooks, error) {
	urls, err := config.OfNodes(settings)
	return &webhooks{
		account: w.Account, chainID: w.Node.Market.Identity().ChainID, urls: urls, sign: signer(w), log: w.Log,
		senders: map[events.Node]*alerts.Sender{},
	}, err
}

// Message is what a webhook gets.
type Message struct {
	Host    string `json:"host"` // who watches
	ChainID uint64 `json:"chainId"`
	nodes.Notice
	// Signature is that of personal_sign (EIP-191), by the host's account, over SignedText; none: it has no key here.
	Signature hexutil.Bytes `json:"signature,omitempty"`
}

// SignedText is what is signed: the purpose, and all that the message says, a line each.
func (m Message) SignedText() []byte {
	return fmt.Appendf(nil, "hostnode node notice\nchain: %d\nhost: %s\nnode: %s\nstatus: %s\nwarning: %t\nat: %s\n"+
		"text: %s\nhint: %s",
		m.ChainID, m.Host, m.Node, m.Status, m.Warning, m.At.UTC().Format(time.RFC3339), m.Text, m.Hint)
}

// tell posts a notice to the node's webhook, if it has one. It does not wait.
func (h *webhooks) tell(n nodes.Notice) {
	if h.urls[n.Node] == "" {
		return
	}
	n.At = n.At.UTC()
	m := Message{Host: h.account.String(), ChainID: h.chainID, Notice: n}
	m.Signature, _ = h.sign(context.Background(), m.SignedText())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.senders[n.Node] == nil {
		h.senders[n.Node] = alerts.New(alerts.Config{Webhook: h.urls[n.Node], Log: h.log.WithField("node", n.Node)})
	}
	h.senders[n.Node].Send(m)
}

// close delivers what waits.
func (h *webhooks) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.senders {
		s.Close()
	}
	return nil
}
