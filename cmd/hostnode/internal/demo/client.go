package demo

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/dataset"
)

// What the client wants and pays, in token base units (10^18 are one token).
const (
	pricePerBytePerSecond = 1_000_000_000
	collateralPerByte     = 100_000_000_000
	proofProbability      = 1 // a proof in every period outside of downtime
	// fillPeriods is how long the client waits for its slots to be filled.
	fillPeriods = 6
)

// madeBytes is the size of the data that is made when no file is given, and
// madeSeed its seed: the bytes are the same every time.
const (
	madeBytes = 4 << 20
	madeSeed  = 0x686f73746e6f6465
)

// makeBytes writes seeded data.
func makeBytes(path string, size int64) error {
	seed := [32]byte(bytes.Repeat(binary.LittleEndian.AppendUint64(nil, madeSeed), 4))
	return write(path, io.LimitReader(mathrand.NewChaCha8(seed), size))
}

// write writes a file, which may be there.
func write(path string, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// client wants data stored: it has the dataset, the server of its blocks, and
// an account.
type client struct {
	dataset *dataset.Dataset
	server  *http.Server
	url     string
	account *chain.Requester
	token   money.Token // of the market
}

// prepare makes the dataset of a file below dir, new for each demonstration.
func prepare(ctx context.Context, file, dir string, slots int,
	say func(done, total events.Bytes),
) (*dataset.Dataset, error) {
	target := filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000000"))
	return dataset.PrepareFile(ctx, file, target, requester.CodeOf(slots), dataset.Options{
		Filename: filepath.Base(file), Progress: say,
	})
}

// serve serves GET /ipfs/<cid> on loopback, until close. The port stays the
// same when the host is restarted.
func (c *client) serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve the client's blocks: %w", err)
	}
	c.url = "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/ipfs/", storage.NewHandler(c.dataset))
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.server.Serve(listener) }() // Serve ends with ErrServerClosed.
	return nil
}

// market is a development chain, in this process or another.
type market interface {
	Client(ctx context.Context, key *ecdsa.PrivateKey) (*chain.Requester, error)
	Provide(ctx context.Context, account events.Address, wei, tokens events.Amount) error
}

// enter dials the market as a new account with enough tokens.
func (c *client) enter(ctx context.Context, local market, tokens events.Amount) error {
	key, err := ecdsa.GenerateKey(crypto.S256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the client's account: %w", err)
	}
	if c.account, err = local.Client(ctx, key); err != nil {
		return err
	}
	symbol, decimals, err := c.account.TokenSays(ctx)
	if err != nil {
		return err
	}
	c.token = money.FromContract(symbol, decimals)
	return local.Provide(ctx, c.account.Account(), events.NewAmount(math.MaxInt64/8), tokens)
}

// request is what the client asks for: long enough that every slot that is
// filled in time proves the given number of periods, downtime included.
func (c *client) request(period time.Duration, periods int) events.Request {
	proving := (periods*3+1)/2 + 2 // A quarter of all periods is downtime.
	return requester.Terms{
		PricePerBytePerSecond: events.NewAmount(pricePerBytePerSecond),
		CollateralPerByte:     events.NewAmount(collateralPerByte),
		ProofProbability:      proofProbability,
		Duration:              time.Duration(fillPeriods+proving) * period,
		Expiry:                fillPeriods * period,
	}.Request(c.dataset)
}

// post sends the request to the market, while blocks are sealed.
func (c *client) post(ctx context.Context, r events.Request) (events.RequestID, error) {
	return requester.Post(ctx, c.account, r)
}

func (c *client) close() {
	if c.server != nil {
		_ = c.server.Close()
	}
	if c.account != nil {
		c.account.Close()
	}
	if c.dataset != nil {
		_ = c.dataset.Close()
	}
}
