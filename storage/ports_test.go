package storage_test

import (
	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

var (
	_ actors.Repo       = (*storage.Repo)(nil)
	_ actors.Content    = (*storage.Fetcher)(nil)
	_ prover.SlotReader = (*storage.SlotReader)(nil)
)
