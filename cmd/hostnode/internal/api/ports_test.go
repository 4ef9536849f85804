package api_test

import "github.com/hostnode/hostnode/cmd/hostnode/internal/api"

var (
	_ api.Backend = (*api.Live)(nil)
	_ api.Backend = (*api.Offline)(nil)
	_ api.Backend = (*api.Client)(nil)
)
