package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker/standin"
	inclusion "github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/proof"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	view "github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
	"github.com/hostnode/hostnode/storage/car"
)

const (
	// aggregateSize holds eight pieces, because its index has so many entries.
	aggregateSize = 1 << 20
	// leftFill is how much an aggregate has at least when the last pieces are packed.
	leftFill = aggregateSize >> 5
)

// packing is how the host of the demonstration packs: a document's pipeline in which what takes minutes takes a second.
func packing(root string) config.Aggregation {
	a := config.Default().Aggregation
	a.Run, a.Size, a.SmallestClass, a.Sources.Roots = true, aggregateSize, aggregateSize>>4, []string{root}
	a.Batch, a.Merge, a.Window, a.Notice, a.RootRequired = 4, 2, 3*time.Second, 10*time.Second, true
	a.Every, a.Broker.Poll = 200*time.Millisecond, 300*time.Millisecond
	return a
}

// fixedForAggregation are further settings that the demonstration of aggregation chooses itself, and why.
var fixedForAggregation = map[string]string{
	"aggregation": "it shows aggregates of 1 MiB, and two brokers",
	"quota":       "its CARs need little",
	"sectors":     "its chain has its own contract, and commd seals",
}

// aggregationDemo is a demonstration of aggregation in progress.
type aggregationDemo struct {
	sealing
	verifier common.Address // of the contract that verifies proofs of inclusion
	roots    string         // where the CARs are
	cars     []*carFile
	names    []string // CIDs, and what stands for them in what is said
	atOnce   uint64   // CARs that were refused when they were submitted
	left     string   // the last of the pieces that wait when the broker has the others
	seen     int      // aggregates that the host has spoken of
	all      bool     // CARs are submitted, and what was said until then is shown

	broker           *host
	brokerAt, secret string
	listed           map[string]bool // the aggregates of which the broker has the list

	offline, onChain int // proofs that were verified
}

// standing is how CARs, pieces and aggregates stand.
type standing struct {
	queue   aggregation.Queue
	deals   aggregation.Deals
	ferries []view.Ferry
}

// AggregationSummary is the result of a demonstration of aggregation.
type AggregationSummary struct {
	Totals
	CARs    int               `json:"cars"`
	Refused map[string]uint64 `json:"refused"` // CARs, by the code
	// Aggregates were made, and Rejections of them were rejected.
	PiecesApproved int `json:"piecesApproved"`
	PiecesRefused  int `json:"piecesRefused"`
	Aggregates     int `json:"aggregates"`
	Rejections     int `json:"rejections"`
	Kills          int `json:"kills"`
	// Proofs of inclusion that were verified.
	VerifiedOffline int `json:"verifiedOffline"`
	VerifiedOnChain int `json:"verifiedOnChain"`
}

// RunAggregation runs the demonstration of aggregation and returns its result. The error is nil only when each CAR
// ended as it should, each good piece is proven, and the audit is clean.
func RunAggregation(ctx context.Context, o Options) (sum AggregationSummary, err error) {
	if err := cmp.Or(o.refuseSettings(fixedForAggregation, fixed), o.beginsChain()); err != nil {
		return sum, err
	}
	if err := o.begin(0, func(uint64) error { return nil }); err != nil {
		return sum, err
	}
	s := &aggregationDemo{
		sealing: sealing{engine: newEngine(o)}, secret: api.DrawID().String(), listed: map[string]bool{},
	}
	s.receive, s.display.scale = s.showLine, sectorScale
	s.killAt = func(l line) bool {
		return s.all && len(s.kills) == 0 && strings.HasPrefix(l.Msg, "makes an aggregate")
	}
	return run(ctx, s.engine, s.summarize, s.prepare, s.start, s.reject, s.isolate, s.settle, s.seal, s.verify, s.look,
		s.stop)
}

// prepare sets up everything but the host.
func (s *aggregationDemo) prepare(ctx context.Context) error {
	if err := s.sealing.prepare(ctx, 0, s.makeCars); err != nil {
		return err
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return err
	}
	err = s.local.WhileSealing(ctx, func(ctx context.Context) (err error) {
		if err = s.local.Fund(ctx, keys.AddressOf(key), events.NewAmount(1e18)); err == nil {
			by := bind.NewKeyedTransactor(key, new(big.Int).SetUint64(devchain.ChainID))
			s.verifier, err = contracts.DeployInclusionVerifier(ctx, s.contract.client, by)
		}
		return err
	})
	s.display.say("Chain: development chain at block %d, contract of sectors %s, contract that verifies proofs of "+
		"inclusion %s", s.local.Head().Number, s.local.SectorProvider, s.verifier)
	return err
}

// start starts a broker and the host, which offers it its aggregates.
func (s *aggregationDemo) start(ctx context.Context) (err error) {
	if s.brokerAt, err = freeAddress(); err != nil {
		return err
	}
	tokenFile := filepath.Join(s.dir.Root, "broker.token")
	if err := write(tokenFile, strings.NewReader(s.secret)); err != nil {
		return err
	}
	if s.broker, err = s.child("broker", nil, "demo", "aggregation", "broker", s.brokerAt, tokenFile); err != nil {
		return err
	}
	if err := s.broker.start(); err != nil {
		return err
	}
	switches := standin.Switches{Poison: []string{s.pieceOf(unnamedBad)}}
	for _, i := range namedBad {
		switches.Bad = append(switches.Bad, s.pieceOf(i))
	}
	err = s.until(ctx, "the broker answers", func(ctx context.Context) (bool, error) {
		return s.tell(ctx, "/switches", switches) == nil, nil // It may be starting.
	})
	if err != nil {
		return err
	}
	s.display.say("Broker: process %d at %s. It will find pieces %s and %s bad, and say so. Because of piece %s it "+
		"will silently reject whatever has it", s.broker.pid(), s.brokerAt, s.cars[namedBad[0]].name,
		s.cars[namedBad[1]].name, s.cars[unnamedBad].name)
	c := s.hostConfig()
	c.Aggregation = packing(s.roots)
	c.Aggregation.Broker.Kind, c.Aggregation.Broker.URL = "http", "http://"+s.brokerAt
	c.Aggregation.Broker.TokenFile = tokenFile
	return s.sealing.start(ctx, c)
}

// tell tells the broker something that only a demonstration says.
func (s *aggregationDemo) tell(ctx context.Context, path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	to := "http://" + s.brokerAt + path
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.secret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("tell the broker: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("tell the broker: it answered %s", response.Status)
	}
	return nil
}

// wait looks at what the host has until something is so.
func (s *aggregationDemo) wait(
	ctx context.Context, what string, is func(context.Context, standing) (bool, error),
) error {
	began := time.Now()
	return s.until(ctx, what, func(ctx context.Context) (bool, error) {
		if time.Since(began) > longestHold {
			return false, fmt.Errorf("%w: for %s it waited until %s", problem.ErrDemoStuck, longestHold, what)
		}
		if err := s.contract.read(ctx, s.local.Head().Number); err != nil {
			return false, err
		}
		operator := s.hosts[0].operator
		queue, err1 := within(ctx, operator, aggregation.ShowQueue, api.Then{})
		deals, err2 := within(ctx, operator, aggregation.ListDeals, api.Then{})
		all, err3 := within(ctx, operator, aggregation.ListFerries, api.Then{})
		if errors.Join(err1, err2, err3) != nil {
			return false, nil //nolint:nilerr // The host is starting; the chain waits for it, but not for ever.
		}
		if err := s.list(ctx, all.Aggregates); err != nil {
			return false, err
		}
		return is(ctx, standing{queue, deals, all.Aggregates})
	})
}

// list gives the broker the lists of aggregates, which it would fetch elsewhere.
func (s *aggregationDemo) list(ctx context.Context, ferries []view.Ferry) error {
	for _, f := range ferries {
		if f.State != cargo.Made || s.listed[f.Aggregate] || s.broker == nil {
			continue
		}
		a, err := within(ctx, s.hosts[0].operator, aggregation.ShowAggregate, aggregation.OfAggregate{
			Aggregate: f.Aggregate, Limit: f.Pieces,
		})
		if err != nil {
			return nil //nolint:nilerr // As above.
		}
		var list []string
		for _, one := range a.List {
			list = append(list, one.Piece)
		}
		if err := s.tell(ctx, "/lists/"+f.Aggregate, list); err != nil {
			return err
		}
		s.listed[f.Aggregate] = true
	}
	return nil
}

// held is how many pieces are in the aggregates of some deals.
func (n standing) held(deals []view.Deal) (pieces int) {
	for _, f := range n.ferries {
		if slices.ContainsFunc(deals, func(d view.Deal) bool { return d.Aggregate == f.Aggregate }) {
			pieces += f.Pieces
		}
	}
	return pieces
}

// rejected submits CARs and waits until so many aggregates are rejected.
func (s *aggregationDemo) rejected(ctx context.Context, cars []*carFile, many, bad int) error {
	what := fmt.Sprintf("aggregate %d is rejected", many)
	if err := s.submit(ctx, cars); err != nil {
		return err
	}
	return s.wait(ctx, what, func(_ context.Context, now standing) (bool, error) {
		all := now.deals.Rejected
		if len(all) >= many && all[many-1].BadPieces != bad {
			return false, fmt.Errorf("%w: %s for %d bad pieces, want %d", problem.ErrDemoIncomplete, what,
				all[many-1].BadPieces, bad)
		}
		return len(all) >= many, nil
	})
}

// reject has the first aggregate rejected, with a list of bad pieces.
func (s *aggregationDemo) reject(ctx context.Context) error {
	s.display.say("Client: submits %d CARs", fullCars)
	err := s.wait(ctx, "the host takes CARs", func(ctx context.Context, _ standing) (bool, error) {
		err := s.submit(ctx, s.cars[:1])
		if errors.Is(err, problem.ErrDemoRefused) {
			return false, err
		}
		return err == nil, nil // It may be starting.
	})
	if err != nil {
		return err
	}
	return s.rejected(ctx, s.cars[:fullCars], 1, len(namedBad))
}

// isolate has the second aggregate rejected, without a list. It has the good pieces of the first one.
func (s *aggregationDemo) isolate(ctx context.Context) error {
	s.display.say("Client: submits 2 more, because of one of which the broker rejects silently")
	return s.rejected(ctx, s.cars[fullCars:fullCars+2], 2, 0)
}

// settle submits all other CARs, and waits until all pieces but the last few are in aggregates that the broker keeps.
func (s *aggregationDemo) settle(ctx context.Context) error {
	rest := s.cars[fullCars+2:]
	s.display.say("Client: submits the other %d CARs, with all that are bad", len(rest))
	err := s.submit(ctx, rest)
	if err == nil {
		err = s.drain(ctx)
	}
	if s.all = true; err != nil {
		return err
	}
	return s.wait(ctx, "all good pieces wait at the broker", func(ctx context.Context, now standing) (bool, error) {
		for _, i := range append([]int{unnamedBad}, namedBad...) {
			of, err := within(ctx, s.hosts[0].operator, aggregation.ShowPiece, aggregation.OfPiece{Piece: s.pieceOf(i)})
			if err != nil || of.Stage != "refused" {
				return false, nil //nolint:nilerr // Not yet.
			}
		}
		left := uint64(0)
		for _, p := range now.queue.Pieces.First {
			left += p.Size
			s.left = p.Piece
		}
		waiting := now.queue.Pieces.Count
		return now.queue.Contents.Count == 0 && left < aggregateSize/2 && waiting < fullCars &&
			now.held(now.deals.Pending)+waiting == len(s.good()), nil
	})
}

// seal has the host make sectors of its aggregates itself, and of the pieces that are left.
func (s *aggregationDemo) seal(ctx context.Context) error {
	asked := [][]string{{"aggregation", "queue"}}
	if s.left != "" {
		asked = append(asked, []string{"aggregation", "piece", s.left})
	}
	if err := s.askAll(ctx, asked...); err != nil {
		return err
	}
	_ = s.text.Flush()
	s.display.say("Operator: has enough of this broker. Now the host makes sectors of its own of the aggregates, and "+
		"%d KiB are enough for one", leftFill>>10)
	c := s.hostConfig()
	c.Aggregation = packing(s.roots)
	c.Aggregation.MinFill = leftFill
	if err := s.restart(ctx, s.hosts[0], c); err != nil {
		return err
	}
	err := s.broker.kill()
	if s.broker = nil; err != nil {
		return err
	}
	return s.wait(ctx, "all aggregates are proven", func(_ context.Context, now standing) (bool, error) {
		proven := now.held(now.deals.Approved) == len(s.good())
		for _, d := range now.deals.Approved {
			n, err := strconv.ParseUint(d.Deal, 10, 64)
			if err != nil {
				return false, fmt.Errorf("%w: the deal %q is no sector", problem.ErrDemoIncomplete, d.Deal)
			}
			proven = proven && len(s.contract.of(n).proven) > 0
		}
		return proven, nil
	})
}

// verify takes the proof of each good piece, as its client does, and verifies it without the host and on the chain.
func (s *aggregationDemo) verify(ctx context.Context) error {
	dir := filepath.Join(s.dir.Root, "client", "proofs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, c := range s.good() {
		made, err := within(ctx, s.hosts[0].operator, aggregation.ShowProof, aggregation.OfPiece{Piece: c.Link})
		if err != nil {
			return fmt.Errorf("the proof of %s: %w", c.Link, err)
		}
		text, err := json.MarshalIndent(made, "", "  ")
		if err == nil {
			err = write(filepath.Join(dir, c.name+".proof"), bytes.NewReader(text))
		}
		if err != nil {
			return err
		}
		if err := s.verifyOne(ctx, c, text); err != nil {
			return fmt.Errorf("the proof of %s: %w", c.Link, err)
		}
	}
	s.display.say("Client: derives %d pieces from his CARs. The proof of each, in %s, is right: without the host, and "+
		"by the contract, with the CommD of a sector that is proven", s.onChain, dir)
	return nil
}

// verifyOne verifies a proof. An aggregate fills its sector, so its commitment is the sector's CommD.
func (s *aggregationDemo) verifyOne(ctx context.Context, c *carFile, text []byte) error {
	f, err := inclusion.Read(bytes.NewReader(text))
	if err == nil {
		err = f.Verify()
	}
	piece := segment.Piece{Root: commd.Node(f.Piece.CID), Size: f.Piece.Size, Payload: f.Piece.Payload}
	if err == nil && piece != (segment.Piece{Root: c.is.Root, Size: c.is.Size, Payload: c.is.Payload}) {
		err = fmt.Errorf("%w: it is about another piece", problem.ErrDemoIncomplete)
	}
	if err != nil {
		return err
	}
	s.offline++
	number, err := strconv.ParseUint(f.Deal, 10, 64)
	if err != nil {
		return err
	}
	abi := bindings.NewSectorProvider()
	sector, err := ask(ctx, s.contract, abi.PackSector(common.Address(s.account), number), abi.UnpackSector)
	switch {
	case err != nil:
		return fmt.Errorf("ask the contract of sectors: %w", err)
	case contracts.SectorStatus(sector.Status) != contracts.SectorActive || sector.Size != f.Aggregate.Size ||
		sector.CommD != [32]byte(f.Aggregate.CID):
		return fmt.Errorf("%w: sector %d is %s, or has something else in it", problem.ErrDemoIncomplete, number,
			contracts.SectorStatus(sector.Status))
	}
	err = contracts.VerifyInclusion(ctx, s.contract.client, s.verifier, segment.Proof(f.Proof), piece, sector.CommD,
		sector.Size)
	if err == nil {
		s.onChain++
	}
	return err
}

// look asks the host with the commands of an operator.
func (s *aggregationDemo) look(ctx context.Context) error {
	proof := filepath.Join(s.dir.Root, "client", "proofs", "1.proof")
	return s.askAll(ctx, []string{"aggregation", "queue"}, []string{"aggregation", "deals"},
		[]string{"aggregation", "piece", s.cars[0].Link}, []string{"aggregation", "verify", proof})
}

// showLine shows a line about a CAR, a piece or an aggregate, and complaints. Numbers stand for
// their CIDs; a piece has that of its CAR.
func (s *aggregationDemo) showLine(_ context.Context, l line) error {
	if l.Aggregate != "" && !slices.Contains(s.names, l.Aggregate) {
		s.seen++
		s.names = append(s.names, l.Aggregate, fmt.Sprintf("#%d", s.seen))
	}
	l.Msg = strings.NewReplacer(s.names...).Replace(l.Msg)
	if l.Level == "info" && l.Content+l.Ferry+l.Aggregate+l.Piece != "" {
		s.display.say("Host: %s", l.Msg)
	}
	s.complain(l)
	return nil
}

// summarize reads the events and prints the summary.
func (s *aggregationDemo) summarize(_ context.Context, of record) (sum AggregationSummary, err error) {
	contents := rowOf[view.Contents](of, s.account, events.CategoryContent)
	pieces := rowOf[view.Cargo](of, s.account, events.CategoryCargo)
	sum = AggregationSummary{
		Totals: of.totals, CARs: len(s.cars), Refused: map[string]uint64{}, PiecesApproved: pieces.Approved,
		PiecesRefused: pieces.Refused, Kills: len(s.kills), VerifiedOffline: s.offline, VerifiedOnChain: s.onChain,
	}
	maps.Copy(sum.Refused, contents.RefusedBy)
	sum.Refused[string(car.Empty)] += s.atOnce
	for _, f := range pieces.Ferries {
		if f.Aggregate != "" {
			sum.Aggregates++
		}
		if f.State == cargo.Rejected {
			sum.Rejections++
		}
	}
	refused := map[string]uint64{}
	for _, c := range s.cars {
		if c.code != "" {
			refused[string(c.code)]++
		}
	}
	good := len(s.good())
	if !maps.Equal(refused, sum.Refused) || pieces.Approved != good || pieces.Refused != len(namedBad)+1 ||
		s.offline != good || s.onChain != good || len(s.kills) != 1 {
		err = fmt.Errorf("%w: %+v", problem.ErrDemoIncomplete, sum)
	}
	s.print("\n== Refused CARs ==")
	for _, code := range slices.Sorted(maps.Keys(sum.Refused)) {
		s.print("%s\t%d", code, sum.Refused[code])
	}
	s.printEnd(of, "hostnode aggregation aggregates", "hostnode aggregation piece "+s.cars[0].Link,
		"hostnode sectors list")
	s.print("\n%d CARs in %.0f s: %d pieces are stored and proven, %d refused; %d aggregates, of which %d were "+
		"rejected; %d proofs verified without the host, %d on the chain.", sum.CARs, sum.Seconds, sum.PiecesApproved,
		sum.PiecesRefused, sum.Aggregates, sum.Rejections, sum.VerifiedOffline, sum.VerifiedOnChain)
	return sum, err
}

// rowOf is the row of the account in a view that has one.
func rowOf[R any](of record, account events.Address, category string) (row R) {
	all, _ := of.views.Of(category)
	if rows, _ := all[account.String()].([]R); len(rows) > 0 {
		row = rows[0]
	}
	return row
}
