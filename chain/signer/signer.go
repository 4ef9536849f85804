package signer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// Why a transaction was not signed. All are temporary.
var (
	// ErrAway: the signer did not answer, or not in time.
	ErrAway = errors.New("the signer does not answer")
	// ErrRefused: the signer answered that it does not sign.
	ErrRefused = errors.New("the signer refuses to sign")
	// ErrWrong: the answer is not what was asked, signed by the account.
	ErrWrong = errors.New("the signer's answer is wrong")
)

const (
	// maxAnswerBytes is the largest answer that is read: twice a transaction with the largest proof is
	// a few kilobytes.
	maxAnswerBytes = 1 << 20
	// versionPatience is how long the signer may take to say that it is there; no person needs to agree.
	versionPatience = 5 * time.Second
	// askEvery is the pause between two questions whether the signer is there, and askAwayEvery that
	// while it is not.
	askEvery     = 30 * time.Second
	askAwayEvery = 5 * time.Second
)

// Config says who signs.
type Config struct {
	// Endpoint is an http or https URL, or the path of a unix socket.
	Endpoint string
	Account  events.Address
	// Timeout is how long a signature may take, a person's consent included.
	Timeout time.Duration
	// Method is the signature of the method that the data of a transaction calls, such as
	// "freeSlot(bytes32)"; empty: not known. clef refuses a call whose method it does not know.
	Method func(data []byte) string
	// Troubled is called when a trouble has lasted for a while, once for each. It must not block, and
	// may be nil.
	Troubled func(Trouble)
	Log      logrus.FieldLogger
}

// Signer signs for one account. All methods are safe for concurrent use.
type Signer struct {
	cfg     Config
	account common.Address
	name    string // the endpoint without secrets
	secrets []string
	state   *state

	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	client *rpc.Client // nil: not connected
}

// Open asks nothing yet; whether the signer is there, and has the account, is found out in the
// background. Close ends that.
func Open(cfg Config) *Signer {
	s := &Signer{cfg: cfg, account: common.Address(cfg.Account)}
	s.name, s.secrets = events.RedactURL(cfg.Endpoint)
	s.state = newState(s.name, cfg.Troubled, cfg.Log)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.done.Go(func() { s.watch(ctx) })
	return s
}

// Close ends the connection and what is under way.
func (s *Signer) Close() {
	s.stop()
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// Trouble is what keeps the signer from signing; false: nothing that is known. It does not block.
func (s *Signer) Trouble() (Trouble, bool) { return s.state.trouble(time.Now()) }

// answer is clef's to account_signTransaction. What it says in its tx is said in raw as well.
type answer struct {
	Raw hexutil.Bytes `json:"raw"`
}

// Sign returns a transaction with the account's signature: one with two fees (EIP-1559), or a legacy one, whose
// V has the chain's id before it is signed as it has afterwards (EIP-155). Errors: ErrAway, ErrRefused,
// ErrWrong, and that of the context.
func (s *Signer) Sign(ctx context.Context, unsigned *types.Transaction) (*types.Transaction, error) {
	timed, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var a answer
	err := s.call(timed, &a, "account_signTransaction", s.question(unsigned)...)
	if ctx.Err() != nil {
		return nil, ctx.Err() // The caller gave up, which says nothing about the signer.
	}
	var signed *types.Transaction
	if err == nil {
		signed, err = s.believed(unsigned, a.Raw)
	}
	s.state.signs(err, time.Now())
	return signed, err
}

// question is a transaction as the signer is asked for it, with the method that it calls.
func (s *Signer) question(tx *types.Transaction) []any {
	data := hexutil.Bytes(tx.Data())
	q := apitypes.SendTxArgs{
		From: common.NewMixedcaseAddress(s.account), Input: &data,
		Gas: hexutil.Uint64(tx.Gas()), Nonce: hexutil.Uint64(tx.Nonce()), Value: hexutil.Big(*tx.Value()),
		ChainID: (*hexutil.Big)(tx.ChainId()),
	}
	if tx.Type() == types.LegacyTxType {
		q.GasPrice = (*hexutil.Big)(tx.GasPrice())
	} else {
		q.MaxFeePerGas, q.MaxPriorityFeePerGas = (*hexutil.Big)(tx.GasFeeCap()), (*hexutil.Big)(tx.GasTipCap())
	}
	if to := tx.To(); to != nil {
		mixed := common.NewMixedcaseAddress(*to)
		q.To = &mixed
	}
	if method := s.cfg.Method(tx.Data()); method != "" {
		return []any{q, method}
	}
	return []any{q}
}

// call asks the signer. Its refusal is ErrRefused; everything that is no answer is ErrAway.
func (s *Signer) call(ctx context.Context, result any, method string, args ...any) error {
	client, err := s.connect(ctx)
	if err == nil {
		err = client.CallContext(ctx, result, method, args...)
	}
	if err == nil {
		return nil
	}
	shown := events.WithoutSecrets(err, s.secrets)
	var refusal rpc.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err() // Nobody waits any more.
	case errors.As(err, &refusal):
		return fmt.Errorf("%w: %w", ErrRefused, shown)
	case errors.Is(err, rpc.ErrNoResult):
		return fmt.Errorf("%w: it has no result", ErrWrong)
	case undecodable(err):
		return fmt.Errorf("%w: %w", ErrWrong, shown)
	case errors.Is(err, context.DeadlineExceeded):
		s.drop(client)
		return fmt.Errorf("%w: no answer in time to %s", ErrAway, method)
	}
	s.drop(client)
	return fmt.Errorf("%w: %w", ErrAway, shown)
}

// connect returns a client. With http it connects at each call, with a socket here.
func (s *Signer) connect(ctx context.Context) (*rpc.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	client, err := rpc.DialOptions(ctx, s.cfg.Endpoint, rpc.WithHTTPClient(&http.Client{
		Transport: bounded{},
		// What is to be signed goes to the signer that was configured and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if err != nil {
		return nil, err
	}
	s.client = client
	return client, nil
}

// drop closes a client that failed, so that the next call connects anew.
func (s *Signer) drop(failed *rpc.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed != nil && s.client == failed {
		s.client.Close()
		s.client = nil
	}
}

// bounded refuses answers that are longer than maxAnswerBytes.
type bounded struct{}

func (bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswerBytes)
	}
	return response, err
}

// watch asks whether the signer is there, until ctx ends, and once whether it has the account.
func (s *Signer) watch(ctx context.Context) {
	listed := false
	for {
		err := s.here(ctx)
		if err == nil && !listed {
			listed = s.list(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		pause := askEvery
		if s.state.tell(err, time.Now()) {
			pause = askAwayEvery
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// here says whether the signer answers. No person is asked for that.
func (s *Signer) here(ctx context.Context) error {
	timed, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	var version string
	err := s.call(timed, &version, "account_version")
	if err == nil || !errors.Is(err, ErrAway) { // A signer without that call is there as well.
		return nil
	}
	return err
}

// list notes whether the signer has the account. Not to say so is its right. It returns false if the question
// is to be asked again.
func (s *Signer) list(ctx context.Context) bool {
	timed, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var accounts []common.Address
	err := s.call(timed, &accounts, "account_list")
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.cfg.Log.Infof("the signer at %s does not say which accounts it has: %v", s.name, err)
	case !slices.Contains(accounts, s.account):
		s.state.lacks(fmt.Errorf("%w: it does not show the account %s", ErrRefused, s.cfg.Account), time.Now())
		return false
	default:
		s.state.has()
	}
	return true
}
