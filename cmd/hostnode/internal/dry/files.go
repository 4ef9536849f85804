package dry

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// content is the data of slots, which is not fetched.
type content struct{}

func (content) Inspect(context.Context, events.DownloadJob) error { return nil }

func (content) Download(ctx context.Context, job events.DownloadJob) (events.SlotContent, error) {
	size := job.Request.Ask.SlotSize
	return events.SlotContent{Bytes: size}, job.Grant(ctx, size)
}

func (content) Repair(_ context.Context, _ events.DownloadJob, blocks []uint64) ([]uint64, error) {
	return blocks, nil
}

// files is the disk, on which nothing is stored; what is sold would take room on it.
type files struct {
	port.Repo
	market *Market
}

func (files) Extend(context.Context, events.SlotID, time.Time) error { return nil }

func (f files) Room() (events.Bytes, error) {
	free, err := f.Repo.Room()
	return free - min(free, f.market.bytes()), err
}
