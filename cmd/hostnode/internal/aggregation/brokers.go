package aggregation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	room "github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/internal/callback"
	"github.com/hostnode/hostnode/prover/commd"
)

// This file has the brokers: an outside one, and the sectors of this host.

// maxToken is the most bytes of a file with a token.
const maxToken = 4096

func token(setting, file string) (string, error) {
	b, err := config.ReadPrivate(file, maxToken)
	if err != nil {
		return "", fmt.Errorf("%s: %w", setting, err)
	}
	return string(bytes.TrimSpace(b)), nil
}

// brokerOf is the broker of the settings.
func brokerOf(w node.Wiring, set config.Broker, o *orders) (port.Broker, error) {
	if set.Kind == "sectors" {
		return ownSectors{o}, nil
	}
	t, err := token("aggregation.broker.tokenFile", set.TokenFile)
	if err != nil {
		return nil, err
	}
	cfg := broker.Config{
		URL: set.URL, Token: t, Account: w.Account, ChainID: w.Node.Market.Identity().ChainID,
	}
	if w.Key != nil {
		cfg.Sign = keys.SignWith(w.Key)
	}
	return broker.New(cfg)
}

// serve has the broker fetch aggregates and call back, until the node ends, if the settings say so.
func serve(w node.Wiring, set config.Broker, o objects, part *shell.Part) error {
	if set.Listen == "" {
		return nil
	}
	t, err := token("aggregation.broker.callbackTokenFile", set.CallbackTokenFile)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", set.Listen)
	if err != nil {
		return fmt.Errorf("aggregation.broker.listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/reports", broker.Callbacks(t, func(aggregate string) {
		part.Tell(room.Ask{Aggregate: aggregate})
	}))
	mux.Handle("GET /v1/aggregates/{aggregate}", callback.Known(t, o.serve))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			w.Log.Errorf("the broker can fetch no aggregates and cannot call back: %v", err)
		}
	}()
	w.Node.OnClose(server.Close)
	w.Log.Infof("the broker may fetch aggregates at http://%s/v1/aggregates/", l.Addr())
	return nil
}

// headerTime limits reading the head of a request.
const headerTime = 10 * time.Second

// serve answers with the bytes of an aggregate, or a range of them. 503: a source of theirs is away, or this host is
// not ready. A source that fails later cuts the answer off.
func (o objects) serve(w http.ResponseWriter, r *http.Request) {
	object, err := o.object(r.Context(), r.PathValue("aggregate"))
	if err == nil {
		defer object.Close()
		err = tryAt(object, r.Header.Get("Range"))
	}
	switch {
	case errors.Is(err, cargo.ErrUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Etag", `"`+r.PathValue("aggregate")+`"`)
	http.ServeContent(w, r, "", time.Time{}, object)
}

// tryAt reads where a range begins, so that an error is known before the answer begins.
func tryAt(object io.ReadSeeker, ranged string) error {
	from := int64(0)
	if text, _, ok := strings.Cut(strings.TrimPrefix(ranged, "bytes="), "-"); ok {
		from, _ = strconv.ParseInt(text, 10, 64) // What is no range, ServeContent answers.
	}
	_, err := object.Seek(max(0, from), io.SeekStart)
	if err == nil {
		_, err = object.Read(make([]byte, 1))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ownSectors makes each aggregate a piece of a sector of this host: SIGNED when the sector takes it, APPROVED when it
// proves, and REJECTED when it fails before. It implements port.Broker.
type ownSectors struct{ *orders }

const bySectors = "aggregation"

// Offer begins the sector; the same request begins no second one.
func (s ownSectors) Offer(ctx context.Context, o events.AggregateOffer) (r events.DealReport, err error) {
	host := s.Running(ctx)
	if host == nil {
		return r, ctx.Err()
	}
	n, err := host.BeginSector(ctx, sectors.Create{
		Size: o.Size, By: bySectors, Request: o.Aggregate, Pieces: []events.SectorPiece{{
			CID: o.Aggregate, Size: o.Size, Payload: events.Bytes(commd.PayloadRoom(uint64(o.Size))),
		}},
	})
	if err != nil {
		return r, fmt.Errorf("%w: %w", events.ErrBrokerAway, err)
	}
	return s.report(ctx, o.Aggregate, n)
}

// State is as the sector stands.
func (s ownSectors) State(ctx context.Context, o events.AggregateOffer) (events.DealReport, error) {
	return s.Offer(ctx, o)
}

// Withdraw removes a sector that does not prove yet.
func (s ownSectors) Withdraw(ctx context.Context, aggregate string) error {
	host := s.Running(ctx)
	if host == nil {
		return ctx.Err()
	}
	all, err := host.Sectors(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", events.ErrBrokerAway, err)
	}
	for _, one := range all {
		if one.Info.Request != aggregate {
			continue
		}
		r, err := s.report(ctx, aggregate, one.Number)
		switch {
		case err != nil:
			return err
		case r.Status != events.DealSigned:
			return events.ErrDealOver
		}
		_, err = host.OrderSector(ctx, sectors.Remove{
			Number: one.Number, By: bySectors, Reason: "the aggregate is withdrawn",
		})
		return err
	}
	return nil
}

// report is how the record has the sector, also when it is over.
func (s ownSectors) report(ctx context.Context, aggregate string, n uint64) (r events.DealReport, err error) {
	st, err := fold(ctx, s.Store, nil, events.SectorStream(s.Account, n), sector.Evolve)
	if err != nil {
		return r, fmt.Errorf("%w: %w", events.ErrBrokerAway, err)
	}
	r = events.DealReport{Aggregate: aggregate, Deal: fmt.Sprint(n), Status: events.DealSigned}
	ended := []sector.State{sector.FailedUnrecoverable, sector.Removing, sector.Removed, sector.FaultedFinal}
	switch {
	case slices.Contains(ended, st.State):
		r.Status, r.Reason = events.DealRejected, fmt.Sprintf("sector %d is %s: %s", n, st.State, st.LastErr)
	case st.State == sector.Proving || st.State.Faulty(): // It proves, or did since it was looked at last.
		r.Status = events.DealApproved
	}
	return r, nil
}
