//go:build e2e

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

// The trial of memory: so many clients append events of this size, which no
// compression makes smaller, and read them again, all at once.
const (
	memoryClients = 40
	memoryRounds  = 2
	memoryEvent   = 12_000_000
)

// memory is a field of what the system says of the server's memory, in bytes.
func (s *eventstore) memory(field string) int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), field+":")
	var kib int64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		s.t.Fatalf("%s: %v", field, err)
	}
	return kib << 10
}

func (s *eventstore) client() streams.StreamsClient {
	s.t.Helper()
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(32<<20)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return streams.NewStreamsClient(conn)
}

func streamNamed(name string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(name)}
}

func appendLarge(ctx context.Context, c streams.StreamsClient, stream string, data []byte) error {
	call, err := c.Append(ctx)
	if err != nil {
		return err
	}
	err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
		StreamIdentifier:       streamNamed(stream),
		ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
	}}})
	if err == nil {
		err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
			ProposedMessage: &streams.AppendReq_ProposedMessage{
				Id:   &shared.UUID{Value: &shared.UUID_String_{String_: uuid.NewString()}},
				Data: data, Metadata: map[string]string{"type": "large", "content-type": "application/octet-stream"},
			},
		}})
	}
	if err != nil && !errors.Is(err, io.EOF) { // What was wrong is in the answer.
		return err
	}
	resp, err := call.CloseAndRecv()
	if err == nil && resp.GetSuccess() == nil {
		err = fmt.Errorf("the answer is %v", resp)
	}
	return err
}

// readLarge counts the events of a stream.
func readLarge(ctx context.Context, c streams.StreamsClient, stream string) (n int, err error) {
	call, err := c.Read(ctx, &streams.ReadReq{Options: &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: streamNamed(stream),
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
		}},
		CountOption:  &streams.ReadReq_Options_Count{Count: 1000},
		FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption: &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
		},
	}})
	for err == nil {
		var resp *streams.ReadResp
		if resp, err = call.Recv(); resp.GetEvent() != nil {
			n++
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func TestTheEventServerStaysWithinItsMemory(t *testing.T) {
	s := startEventstore(t)
	data := make([]byte, memoryEvent)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // It cannot fail.
	var all errgroup.Group
	var busy atomic.Int64 // Calls that were refused as busy, after 30 s: this machine may be slow.
	mayBeBusy := func(err error) error {
		if status.Code(err) == codes.ResourceExhausted {
			busy.Add(1)
			return nil
		}
		return err
	}
	writes := func() {
		for i := range memoryClients {
			c, stream := s.client(), fmt.Sprintf("large-%d", i)
			all.Go(func() error {
				for range memoryRounds {
					if err := mayBeBusy(appendLarge(t.Context(), c, stream, data)); err != nil {
						return fmt.Errorf("append to %s: %w", stream, err)
					}
				}
				return nil
			})
		}
	}
	reads := func() {
		for i := range memoryClients {
			c, stream := s.client(), fmt.Sprintf("large-%d", i)
			all.Go(func() error {
				n, err := readLarge(t.Context(), c, stream)
				if err == nil && n < memoryRounds && busy.Load() == 0 {
					err = fmt.Errorf("%d events, want %d", n, memoryRounds)
				}
				if err := mayBeBusy(err); err != nil {
					return fmt.Errorf("read %s: %w", stream, err)
				}
				return nil
			})
		}
	}
	limit := int64(config.Default().ServeEvents.MemoryBytes)
	for _, trial := range []struct {
		name  string
		parts []func()
	}{{"appending", []func(){writes}}, {"reading", []func(){reads}}, {"both", []func(){writes, reads}}} {
		for _, part := range trial.parts {
			part()
		}
		if err := all.Wait(); err != nil {
			t.Error(err)
		}
		most := s.memory("VmHWM")
		t.Logf("%s: %d MiB at most, the limit is %d; %d calls were told that the server is busy",
			trial.name, most>>20, limit>>20, busy.Load())
		if most > limit {
			t.Errorf("%s: the server took %d MiB of memory, its limit is %d MiB", trial.name, most>>20, limit>>20)
		}
	}
	if told := busy.Load(); told > memoryClients {
		t.Errorf("%d calls were told that the server is busy: too few were served at once to say anything", told)
	}
}
