package provider_test

import (
	"context"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest"
)

// The adapter on the real contract obeys the port, like the fake of the suite.
func TestTheContractObeysItsPort(t *testing.T) {
	porttest.Provider(t, func(t *testing.T) porttest.ProviderWorld {
		w := newWorld(t)
		return porttest.ProviderWorld{
			Provider: w.newProvider("provider"), Mine: w.seal,
			Drive: func(call func(context.Context) error) error { return w.try("provider", call) },
		}
	})
}
