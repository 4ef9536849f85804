package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

func TestHostThatDiesAtAnyPointOfATransactionMakesItOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		dies func(w *world, p *pool, f func(context.Context) error)
		want []string
	}{
		"after the intent": {
			func(w *world, _ *pool, f func(context.Context) error) {
				asked := make(chan bool, 100)
				w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
					if r.Method != "eth_maxPriorityFeePerGas" {
						return node(r)
					}
					asked <- true
					return rpcAnswer{Version: "2.0", ID: json.RawMessage("0")} // An answer to no request.
				})
				w.abandoned(f, func() bool { return len(asked) > 0 })
			},
			append([]string{"TxIntended", "TxAbandoned"}, wholeTransaction()...),
		},
		"after the attempt is written": {
			func(w *world, p *pool, f func(context.Context) error) {
				p.set(func(p *pool) { p.takes = nothing })
				w.abandoned(f, func() bool { return p.count() > 0 })
			},
			wholeTransaction(),
		},
		"after it is sent": {
			func(w *world, _ *pool, f func(context.Context) error) {
				w.abandoned(f, func() bool { return w.waiting("host") })
			},
			wholeTransaction(),
		},
		"after it is mined": {
			func(w *world, p *pool, f func(context.Context) error) {
				w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
					if r.Method == "eth_getTransactionReceipt" {
						return r.Returns("null")
					}
					return p.answer(r, node)
				})
				w.abandoned(f, func() bool {
					if w.waiting("host") {
						w.seal(1)
					}
					return w.nonce("host") > 0
				})
			},
			wholeTransaction(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			p := newPool(w)
			dir, store := t.TempDir(), storetest.NewMemory()
			m := w.host("host", dir, store)
			call := callFor(w.request(), 0)
			tc.dies(w, p, func(ctx context.Context) error {
				_, err := m.ReserveSlot(ctx, call)
				return err
			})
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			p.set(func(p *pool) { p.takes = everything })
			w.gate.has(p.answer)
			m = w.host("host", dir, store)
			if receipt := w.reserve(m, "host", call); receipt.TxHash.Zero() || w.nonce("host") != 1 {
				t.Fatalf("receipt %+v after %d transactions", receipt, w.nonce("host"))
			}
			w.await("the record is complete", func() bool { return cmp.Equal(historyOf(t, store, m.Account()), tc.want) })
		})
	}
}

// abandoned runs a call until something has happened, and then gives it up.
func (w *world) abandoned(f func(context.Context) error, happened func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	w.await("it goes so far", happened)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		w.t.Fatalf("the call ended with %v", err)
	}
}

// reasons are the reasons why intents of an account were abandoned.
func reasons(t *testing.T, store events.Store, who events.Address) (all []string) {
	t.Helper()
	codec := events.NewCodec(transactions.Table())
	for e, err := range store.ReadStream(t.Context(), events.TxStream(who), events.ReadStream{}) {
		if err != nil {
			t.Fatal(err)
		}
		m, err := codec.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if gone, ok := m.(*messages.TxAbandoned); ok {
			all = append(all, gone.GetReason())
		}
	}
	return all
}

func TestReceiptThatWasReportedIsTakenBackByADeepReorganisationAndMadeAgain(t *testing.T) {
	for _, depth := range []uint64{1, 3, 40} {
		t.Run(fmt.Sprintf("%d blocks", depth), func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			store := storetest.NewMemory()
			m := w.host("host", t.TempDir(), store)
			call := callFor(w.request(), 0)
			before := w.chain.Head()
			w.reserve(m, "host", call)
			w.seal(depth - 1)
			if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
				t.Fatal(err)
			}
			w.seal(depth + 1)
			w.await("it is mined again, though nobody asked", func() bool {
				if w.waiting("host") {
					w.seal(1)
				}
				return w.nonce("host") == 1
			})
			w.await("the record tells of both blocks", func() bool {
				// A dropped transaction may have been sent with a higher fee before a block took it
				// again.
				history := slices.DeleteFunc(historyOf(t, store, m.Account()), func(e string) bool { return e == "TxSent" })
				return cmp.Equal(history, []string{"TxIntended", "TxMined", "TxMined"})
			})
			facts, err := m.Slot(t.Context(), call.Request, call.Index)
			if err != nil || facts.CanReserve {
				t.Fatalf("facts %+v (%v), want a reservation", facts, err)
			}
		})
	}
}

func TestProofOfADroppedBlockIsNotSentAgainWhenItsChallengeMoved(t *testing.T) {
	for name, moved := range map[string]bool{"moved": true, "still the same": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m, store, call, number := w.proving()
			before := w.chain.Head()
			var receipt events.Receipt
			w.drive("host", func(ctx context.Context) (err error) {
				receipt, err = m.SubmitProof(ctx, call, number, goodProof(2))
				return err
			})
			nonce := w.nonce("host")
			if moved {
				w.gate.has(refuses(submitProofSelector, invalidProof, everyCall))
			}
			if _, err := w.chain.Fork(t.Context(), before.Hash, true); err != nil {
				t.Fatal(err)
			}
			w.seal(2)
			w.await("the nonce is used again", func() bool {
				if w.waiting("host") {
					w.seal(1)
				}
				return w.nonce("host") == nonce
			})
			failed, err := w.client.TransactionReceipt(t.Context(), common.Hash(receipt.TxHash))
			if moved {
				w.await("it says why", func() bool {
					all := reasons(t, store, m.Account())
					return len(all) == 1 && strings.Contains(all[0], "Proofs_InvalidProof")
				})
				if err == nil {
					t.Fatalf("the proof was sent again: %+v", failed)
				}
				return
			}
			if err != nil || failed.Status != types.ReceiptStatusSuccessful {
				t.Fatalf("the proof was not made again: %v", err)
			}
		})
	}
}

// failed makes every receipt say that the transaction failed.
func failed(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
	a := node(r)
	if r.Method == "eth_getTransactionReceipt" {
		a.Result = bytes.Replace(a.Result, []byte(`"status":"0x1"`), []byte(`"status":"0x0"`), 1)
	}
	return a
}

// An earlier success may have been mined in another block since, and failed there: then a repeated
// call reports what the contract says now.
func TestAnEarlierSuccessThatFailedSinceIsNone(t *testing.T) {
	w := newWorld(t)
	m, _, call, period := w.proving()
	proof := func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(1))
		return err
	}
	w.drive("host", proof)
	if err := proof(t.Context()); err != nil {
		t.Fatalf("the proof again: %v, want the receipt of before", err)
	}
	w.gate.has(failed)
	if err := proof(t.Context()); !errors.Is(err, events.ErrProofAlreadySubmitted) {
		t.Errorf("the proof: %v, want what the contract says", err)
	}
	if fill, err := m.FillSlot(t.Context(), call, goodProof(1)); err == nil {
		t.Errorf("the fill: %+v, want that it is not found", fill)
	}
	if r, err := m.ReserveSlot(t.Context(), call); err == nil && !r.TxHash.Zero() {
		t.Errorf("the reservation: %+v", r)
	}
}
