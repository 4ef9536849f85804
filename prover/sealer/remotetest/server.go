// Package remotetest serves any sealer as an outside prover, by the protocol of package remoteapi:
// for tests of the host's side, with faults, and as an example for writing a prover.
package remotetest

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer/remoteapi"
)

// maxBody limits a request without a payload, in bytes.
const maxBody = 32 << 20

// Server is an outside prover. Close it after use.
type Server struct {
	sealer port.Sealer
	token  string
	// Async lets steps go on after the request was answered; set it before the first request.
	Async bool
	// Refuse, if set, is called at each request and may answer it in the server's place; it then
	// returns true.
	Refuse func(http.ResponseWriter, *http.Request) bool

	mux    *http.ServeMux
	ctx    context.Context // Of work that goes on after the answer.
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	jobs map[string]*job // By path and body.
}

// job is a requested step.
type job struct {
	progress float64
	answer   *remoteapi.Answer // Nil while it runs.
}

// New returns a server over a sealer, which takes requests with that token.
func New(s port.Sealer, token string) *Server {
	server := &Server{sealer: s, token: token, mux: http.NewServeMux(), jobs: make(map[string]*job)}
	server.ctx, server.cancel = context.WithCancel(context.Background())
	server.mux.HandleFunc("GET /v1/prover", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, remoteapi.Prover{Version: remoteapi.Version, Proves: s.Proves()})
	})
	server.mux.HandleFunc("PUT /v1/sectors/{provider}/{number}/pieces/{offset}", server.addPiece)
	server.mux.HandleFunc("POST /v1/sectors/{provider}/{number}/{step}", server.step)
	server.mux.HandleFunc("DELETE /v1/sectors/{provider}/{number}", server.remove)
	return server
}

// Close ends the work that goes on after answers, and waits for it.
func (s *Server) Close() {
	s.cancel()
	s.work.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Refuse != nil && s.Refuse(w, r) {
		return
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.token)) != 1 {
		http.Error(w, "wrong token", http.StatusUnauthorized)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // The client may have gone.
}

// answer is the answer for the result of a request.
func answer(result any, err error) *remoteapi.Answer {
	if err != nil {
		return &remoteapi.Answer{State: remoteapi.Failed, Code: Code(err), Error: err.Error()}
	}
	b, err := json.Marshal(result)
	if err != nil {
		return &remoteapi.Answer{State: remoteapi.Failed, Code: "other", Error: err.Error()}
	}
	return &remoteapi.Answer{State: remoteapi.Done, Result: b}
}

// Code is the code of an error, of several the most special; "other" when it has none.
func Code(err error) string {
	for _, code := range []string{
		"disk-full", "piece-mismatch", "piece-refused", "step", "damaged", "not-there", "malformed",
	} {
		if errors.Is(err, remoteapi.Errors[code]) {
			return code
		}
	}
	return "other"
}

func writeAnswer(w http.ResponseWriter, a *remoteapi.Answer) {
	if a.State == remoteapi.Failed {
		write(w, http.StatusUnprocessableEntity, a)
		return
	}
	write(w, http.StatusOK, a)
}

// sectorIn reads the sector in a path; its size comes from elsewhere.
func sectorIn(r *http.Request, size string) (events.SectorRef, error) {
	provider, err := events.ParseAddress(r.PathValue("provider"))
	number, numberErr := strconv.ParseUint(r.PathValue("number"), 10, 64)
	bytes, sizeErr := strconv.ParseUint(size, 10, 64)
	if err := errors.Join(err, numberErr, sizeErr); err != nil {
		return events.SectorRef{}, fmt.Errorf("%w: %w", err, events.ErrMalformed)
	}
	return events.SectorRef{Provider: provider, Number: number, Size: events.Bytes(bytes)}, nil
}

func (s *Server) addPiece(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	sector, err := sectorIn(r, query.Get("size"))
	offset, offsetErr := strconv.ParseUint(r.PathValue("offset"), 10, 64)
	size, sizeErr := strconv.ParseUint(query.Get("pieceSize"), 10, 64)
	payload, payloadErr := strconv.ParseUint(query.Get("payload"), 10, 64)
	if err = errors.Join(err, offsetErr, sizeErr, payloadErr); err != nil {
		writeAnswer(w, answer(nil, fmt.Errorf("%w: %w", err, events.ErrMalformed)))
		return
	}
	var body io.Reader = r.Body
	if query.Get("zeros") == "1" {
		body = nil
	}
	piece := events.SectorPiece{CID: query.Get("pieceCid"), Size: events.Bytes(size), Payload: events.Bytes(payload)}
	writeAnswer(w, answer(nil, s.sealer.AddPiece(r.Context(), sector, events.Bytes(offset), piece, body)))
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	sector, err := sectorIn(r, r.URL.Query().Get("size"))
	if err == nil {
		err = s.sealer.Remove(r.Context(), sector)
	}
	writeAnswer(w, answer(nil, err))
}

func (s *Server) step(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large, or cut off", http.StatusBadRequest)
		return
	}
	step := r.PathValue("step")
	if !s.Async {
		writeAnswer(w, answer(s.do(r.Context(), step, body, nil)))
		return
	}
	key := r.URL.Path + "\n" + string(body)
	s.mu.Lock()
	j := s.jobs[key]
	switch {
	case j == nil:
		j = &job{}
		s.jobs[key] = j
		s.work.Go(func() { s.run(r.PathValue("provider"), r.PathValue("number"), step, body, j, r.Header) })
	case j.answer != nil:
		delete(s.jobs, key) // Reported once; when asked again, the step runs again with the same result.
	}
	a := remoteapi.Answer{State: remoteapi.Running, Progress: j.progress}
	if j.answer != nil {
		a = *j.answer
	}
	s.mu.Unlock()
	if a.State == remoteapi.Running {
		write(w, http.StatusAccepted, a)
		return
	}
	writeAnswer(w, &a)
}

// run does a step and then calls back.
func (s *Server) run(provider, number, step string, body []byte, j *job, from http.Header) {
	a := answer(s.do(s.ctx, step, body, func(done float64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		j.progress = done
	}))
	s.mu.Lock()
	j.answer = a
	s.mu.Unlock()
	n, _ := strconv.ParseUint(number, 10, 64)
	b, _ := json.Marshal(remoteapi.Callback{Provider: provider, Number: n})
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, from.Get(remoteapi.CallbackHeader), bytes.NewReader(b))
	if err != nil || from.Get(remoteapi.CallbackHeader) == "" {
		return // No call-back is wanted.
	}
	r.Header.Set("Authorization", "Bearer "+from.Get(remoteapi.CallbackTokenHeader))
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close() // A host that is away asks when it is back.
	}
}

// do does a step.
func (s *Server) do(ctx context.Context, step string, body []byte, progress events.SectorProgress) (any, error) {
	var head struct{ Sector remoteapi.Sector }
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", err, events.ErrMalformed)
	}
	provider, err := events.ParseAddress(head.Sector.Provider)
	if err != nil {
		return nil, err
	}
	sector := events.SectorRef{Provider: provider, Number: head.Sector.Number, Size: events.Bytes(head.Sector.Size)}
	switch step {
	case "pack":
		var p remoteapi.Pack
		if err := json.Unmarshal(body, &p); err != nil {
			return nil, err
		}
		_, err := s.sealer.Pack(ctx, sector, pieces(p.Pieces))
		return nil, err
	case "precommit1":
		var p remoteapi.PreCommit1
		if err := json.Unmarshal(body, &p); err != nil {
			return nil, err
		}
		out, err := s.sealer.PreCommit1(ctx, sector, hash(p.Ticket), pieces(p.Pieces), progress)
		return remoteapi.PreCommit1Result{PreCommit1Out: out}, err
	case "precommit2":
		var p remoteapi.PreCommit2
		if err := json.Unmarshal(body, &p); err != nil {
			return nil, err
		}
		commD, commR, err := s.sealer.PreCommit2(ctx, sector, p.PreCommit1Out, progress)
		return remoteapi.PreCommit2Result{Unsealed: commD.String(), Sealed: commR.String()}, err
	case "commit1": // All is done in the second part.
		return remoteapi.Commit1Result{Commit1Out: body}, nil
	case "commit2":
		return s.commit(ctx, sector, body, progress)
	case "restore":
		return nil, s.restore(ctx, sector, body, progress)
	case "done":
		return nil, s.sealer.Finalize(ctx, sector)
	case "challenge":
		var p remoteapi.Challenge
		if err := json.Unmarshal(body, &p); err != nil {
			return nil, err
		}
		proof, err := s.sealer.Challenge(ctx, sector, hash(p.Randomness), p.Leaves)
		return remoteapi.ProofResult{Proof: proof}, err
	}
	return nil, fmt.Errorf("step %q: %w", step, events.ErrMalformed)
}

func (s *Server) commit(
	ctx context.Context, sector events.SectorRef, body []byte, progress events.SectorProgress,
) (any, error) {
	var second remoteapi.Commit2
	var p remoteapi.Commit1
	err := json.Unmarshal(body, &second)
	if err == nil {
		err = json.Unmarshal(second.Commit1Out, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, events.ErrMalformed)
	}
	c, err := sealed(p.Ticket, p.Seed, p.Unsealed, p.Sealed, p.Pieces)
	if err != nil {
		return nil, err
	}
	proof, err := s.sealer.Commit(ctx, sector, c, progress)
	return remoteapi.ProofResult{Proof: proof}, err
}

func (s *Server) restore(
	ctx context.Context, sector events.SectorRef, body []byte, progress events.SectorProgress,
) error {
	var p remoteapi.Restore
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("%w: %w", err, events.ErrMalformed)
	}
	c, err := sealed(p.Ticket, nil, p.Unsealed, p.Sealed, p.Pieces)
	if err != nil {
		return err
	}
	return s.sealer.Restore(ctx, sector, c, progress)
}

func sealed(ticket, seed []byte, commD, commR string, list []remoteapi.Piece) (events.SealContext, error) {
	c := events.SealContext{Ticket: hash(ticket), Seed: hash(seed), Pieces: pieces(list)}
	var errs [2]error
	c.CommD, errs[0] = events.ParseHash(commD)
	c.CommR, errs[1] = events.ParseHash(commR)
	return c, errors.Join(errs[:]...)
}

func hash(b []byte) (h events.Hash) {
	copy(h[:], b)
	return h
}

func pieces(list []remoteapi.Piece) []events.SectorPiece {
	all := make([]events.SectorPiece, len(list))
	for i, p := range list {
		all[i] = events.SectorPiece{CID: p.PieceCID, Size: events.Bytes(p.Size), Payload: events.Bytes(p.Payload)}
	}
	return all
}
