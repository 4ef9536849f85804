package sealer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/sealer/remoteapi"
)

// RemoteConfig is the configuration of an outside prover. Zero values mean the defaults in
// brackets.
type RemoteConfig struct {
	// URL is the prover's, before "/v1/…". Plain http is allowed to this machine only.
	URL string
	// Token is the bearer token.
	Token string
	// Proves is what its proofs must show. A prover that claims something else is refused.
	Proves string
	// SealLeaves is how many leaves a commit shows, as the contract demands.
	SealLeaves int
	// Callback is the URL at which Callbacks is reached, and CallbackToken what call-backs bring;
	// empty: none are asked for.
	Callback, CallbackToken string
	// Poll is the pause between two questions whether a running step has ended [10 s].
	Poll time.Duration
	// Attempts is how many temporary errors in a row a request may have [5]; the pauses in between
	// begin with Backoff [1 s] and double up to a minute.
	Attempts int
	Backoff  time.Duration
	// RequestTimeout limits a request without a payload [1 min].
	RequestTimeout time.Duration
	// MaxAnswer limits an answer, in bytes [32 MiB: what one part of a commit passes to the other
	// has 16].
	MaxAnswer int64
}

func (c RemoteConfig) withDefaults() RemoteConfig {
	c.Poll = cmp.Or(c.Poll, 10*time.Second)
	c.Backoff = cmp.Or(c.Backoff, time.Second)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, time.Minute)
	c.Attempts = cmp.Or(c.Attempts, 5)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, 32<<20)
	return c
}

// continueTimeout is how long a prover may take to say whether it wants a payload.
const continueTimeout = 10 * time.Second

// RemoteSealer leaves everything to an outside prover, by the protocol of package remoteapi. What
// its proofs show is what the prover claims. It stores nothing on this host; the payload of a piece
// is verified on its way, whatever the prover does.
type RemoteSealer struct {
	verifier
	cfg     RemoteConfig
	base    string
	name    string   // The URL for people.
	secrets []string // What no error may contain.
	client  *http.Client

	known atomic.Bool // The prover's identity was checked.

	mu    sync.Mutex
	wakes map[sectorName]map[chan struct{}]bool
}

type sectorName struct {
	provider events.Address
	number   uint64
}

// NewRemote returns a sealer that uses an outside prover. It does not connect yet.
func NewRemote(cfg RemoteConfig) (*RemoteSealer, error) {
	cfg = cfg.withDefaults()
	name, secrets := events.RedactURL(cfg.URL)
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return nil, fmt.Errorf("outside prover %q, want https://host:port: %w", name, events.ErrMalformed)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("outside prover %q: its token would go over the network in the clear; use https: %w",
			name, events.ErrMalformed)
	}
	switch cfg.Proves {
	case Possession, Simulated, Replication:
	default:
		return nil, fmt.Errorf("outside prover %q is to show %q, want %s, %s or %s: %w",
			name, cfg.Proves, Possession, Simulated, Replication, events.ErrMalformed)
	}
	for _, token := range []string{cfg.Token, cfg.CallbackToken} {
		if token != "" {
			secrets = append(secrets, token)
		}
	}
	return &RemoteSealer{
		verifier: verifier{cfg.Proves, cfg.SealLeaves},
		cfg:      cfg, base: strings.TrimSuffix(cfg.URL, "/") + "/v1", name: name, secrets: secrets,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute,
				ExpectContinueTimeout: continueTimeout, DisableCompression: true,
			},
			// A redirect counts as an invalid answer, so that the token goes nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		wakes: make(map[sectorName]map[chan struct{}]bool),
	}, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func wireSector(s events.SectorRef) remoteapi.Sector {
	return remoteapi.Sector{Provider: s.Provider.String(), Number: s.Number, Size: uint64(s.Size)}
}

func wirePieces(pieces []events.SectorPiece) []remoteapi.Piece {
	list := make([]remoteapi.Piece, len(pieces))
	for i, p := range pieces {
		list[i] = remoteapi.Piece{PieceCID: p.CID, Size: uint64(p.Size), Payload: uint64(p.Payload)}
	}
	return list
}

// AddPiece implements port.Sealer. A prover that is lost while bytes go to it is ErrSealerAway at once,
// because they cannot be read again.
func (r *RemoteSealer) AddPiece(
	ctx context.Context, sector events.SectorRef, offset events.Bytes, piece events.SectorPiece, payload io.Reader,
) error {
	root, err := checkPiece(sector, offset, piece, payload)
	if err == nil {
		if err = commd.CheckSectorSize(uint64(sector.Size)); err != nil {
			err = fmt.Errorf("%w: %w", err, events.ErrMalformed)
		}
	}
	if err != nil {
		return fmt.Errorf("add a piece at %d to %s: %w", offset, sector, err)
	}
	query := url.Values{
		"size": {fmt.Sprint(uint64(sector.Size))}, "pieceCid": {piece.CID},
		"pieceSize": {fmt.Sprint(uint64(piece.Size))}, "payload": {fmt.Sprint(uint64(piece.Payload))},
	}
	req := request{
		method: http.MethodPut, path: fmt.Sprintf("%s/pieces/%d", sectorPath(sector), offset), sector: sector,
	}
	if payload == nil {
		query.Set("zeros", "1")
	} else {
		req.body = &verifiedReader{
			exact: exactReader{r: payload, left: uint64(piece.Payload), want: uint64(piece.Payload)},
			calc:  commd.NewCalc(), size: uint64(piece.Size), root: root,
		}
		req.length = int64(piece.Payload) //nolint:gosec // It was checked.
		defer req.body.stop()
	}
	req.path += "?" + query.Encode()
	return r.call(ctx, req, nil, nil)
}

// verifiedReader passes on the payload of a piece, and its last part only after all of it is
// verified.
type verifiedReader struct {
	exact exactReader
	calc  *commd.Calc
	size  uint64
	root  commd.Node

	mu    sync.Mutex // The connection may still read when there is an answer already.
	began bool
	err   error
}

// errOver is the error for a connection that reads after the call has ended.
var errOver = errors.New("the call is over")

// stop ends the reading; afterwards the payload is not touched any more.
func (v *verifiedReader) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = errOver
	}
}

// state says whether anything was read, and what was wrong with it.
func (v *verifiedReader) state() (began bool, wrong error) {
	if v == nil {
		return false, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !errors.Is(v.err, io.EOF) && !errors.Is(v.err, errOver) {
		wrong = v.err
	}
	return v.began, wrong
}

func (v *verifiedReader) Read(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.began = true
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.exact.Read(p)
	_, _ = v.calc.Write(p[:n]) // It fails only beyond what was checked.
	if err == nil && v.exact.left == 0 && n > 0 {
		if _, err = v.exact.Read(nil); errors.Is(err, io.EOF) {
			err = v.verify()
		}
	}
	if v.err = err; err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return n, err
}

func (v *verifiedReader) verify() error {
	got, err := v.calc.CommitmentIn(v.size)
	if err == nil && got.Root != v.root {
		err = fmt.Errorf("the bytes are those of %s: %w", commd.CID(got.Root), events.ErrPieceMismatch)
	}
	return err
}

// Check implements port.Sealer: what is sealed is not on this host.
func (r *RemoteSealer) Check(context.Context, events.SectorRef, events.Bytes, events.Bytes) (events.Bytes, error) {
	return 0, fmt.Errorf("a sector of an outside prover: %w", events.ErrNoVerifier)
}

// Pack implements port.Sealer. Which zeros are behind the pieces follows from them.
func (r *RemoteSealer) Pack(
	ctx context.Context, sector events.SectorRef, pieces []events.SectorPiece,
) ([]events.SectorPiece, error) {
	list, err := fillers(sector, pieces)
	if err == nil {
		err = r.post(ctx, sector, "pack",
			remoteapi.Pack{Sector: wireSector(sector), Pieces: wirePieces(pieces)}, nil, nil)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// PreCommit1 implements port.Sealer.
func (r *RemoteSealer) PreCommit1(
	ctx context.Context, sector events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
	progress events.SectorProgress,
) ([]byte, error) {
	if _, err := fill(sector, pieces); err != nil {
		return nil, err
	}
	var result remoteapi.PreCommit1Result
	err := r.post(ctx, sector, "precommit1",
		remoteapi.PreCommit1{Sector: wireSector(sector), Ticket: ticket[:], Pieces: wirePieces(pieces)},
		&result, progress)
	if err == nil && len(result.PreCommit1Out) > maxOut {
		err = lie("the first step of %s answered %d bytes, at most %d", sector, len(result.PreCommit1Out), maxOut)
	}
	return result.PreCommit1Out, err
}

const (
	// maxOut limits the result of PreCommit1, in bytes: it is recorded.
	maxOut = 64 << 10
	// maxProof limits a proof, in bytes: it is recorded, and sent to the chain. The largest of
	// CommDSealer has 1 MiB.
	maxProof = 1 << 20
)

// PreCommit2 implements port.Sealer.
func (r *RemoteSealer) PreCommit2(
	ctx context.Context, sector events.SectorRef, out []byte, progress events.SectorProgress,
) (commD, commR events.Hash, err error) {
	var result remoteapi.PreCommit2Result
	err = r.post(ctx, sector, "precommit2",
		remoteapi.PreCommit2{Sector: wireSector(sector), PreCommit1Out: out}, &result, progress)
	if err != nil {
		return commD, commR, err
	}
	var errs [2]error
	commD, errs[0] = events.ParseHash(result.Unsealed)
	commR, errs[1] = events.ParseHash(result.Sealed)
	if err := errors.Join(errs[:]...); err != nil {
		return commD, commR, lie("the second step of %s: %v", sector, err)
	}
	return commD, commR, nil
}

// Commit implements port.Sealer.
func (r *RemoteSealer) Commit(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) ([]byte, error) {
	var first remoteapi.Commit1Result
	// Each part says how much of itself is done; the second is the longer one by far.
	const begin = 0.1
	err := r.post(ctx, sector, "commit1", remoteapi.Commit1{
		Sector: wireSector(sector), Ticket: c.Ticket[:], Seed: c.Seed[:],
		Unsealed: c.CommD.String(), Sealed: c.CommR.String(), Pieces: wirePieces(c.Pieces),
		Leaves: r.sealLeaves,
	}, &first, func(done float64) { tell(progress, begin*done) })
	if err != nil {
		return nil, err
	}
	return r.proof(ctx, sector, "commit2",
		remoteapi.Commit2{Sector: wireSector(sector), Commit1Out: first.Commit1Out},
		func(done float64) { tell(progress, begin+(1-begin)*done) })
}

// Challenge implements port.Sealer.
func (r *RemoteSealer) Challenge(
	ctx context.Context, sector events.SectorRef, randomness events.Hash, leaves int,
) ([]byte, error) {
	return r.proof(ctx, sector, "challenge",
		remoteapi.Challenge{Sector: wireSector(sector), Randomness: randomness[:], Leaves: leaves}, nil)
}

func (r *RemoteSealer) proof(
	ctx context.Context, sector events.SectorRef, step string, body any, progress events.SectorProgress,
) ([]byte, error) {
	var result remoteapi.ProofResult
	err := r.post(ctx, sector, step, body, &result, progress)
	if err == nil && len(result.Proof) > maxProof {
		err = lie("%s of %s answered a proof of %d bytes, at most %d", step, sector, len(result.Proof), maxProof)
	}
	return result.Proof, err
}

// Finalize implements port.Sealer: it says that sealing is done.
func (r *RemoteSealer) Finalize(ctx context.Context, sector events.SectorRef) error {
	return r.post(ctx, sector, "done",
		remoteapi.DoneParams{Sector: wireSector(sector), Successful: true, State: "Proving"}, nil, nil)
}

// Restore implements port.Sealer.
func (r *RemoteSealer) Restore(
	ctx context.Context, sector events.SectorRef, c events.SealContext, progress events.SectorProgress,
) error {
	if err := r.VerifyCommitments(sector, c); err != nil {
		return fmt.Errorf("restore %s: %w: %w", sector, err, events.ErrMalformed)
	}
	return r.post(ctx, sector, "restore", remoteapi.Restore{
		Sector: wireSector(sector), Ticket: c.Ticket[:],
		Unsealed: c.CommD.String(), Sealed: c.CommR.String(), Pieces: wirePieces(c.Pieces),
	}, nil, progress)
}

// Remove implements port.Sealer.
func (r *RemoteSealer) Remove(ctx context.Context, sector events.SectorRef) error {
	return r.call(ctx, request{
		method: http.MethodDelete, path: fmt.Sprintf("%s?size=%d", sectorPath(sector), sector.Size), sector: sector,
	}, nil, nil)
}
