package storage_test

import (
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

var (
	_ port.Repo         = (*storage.Repo)(nil)
	_ port.Content      = (*storage.Fetcher)(nil)
	_ prover.SlotReader = (*storage.SlotReader)(nil)
)
