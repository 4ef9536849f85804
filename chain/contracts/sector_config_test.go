package contracts_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

func TestSectorConfigurationsThatMakeNoSenseAreRefused(t *testing.T) {
	type config = bindings.SectorConfig
	const (
		periods, fees    = "Sectors_InvalidPeriod", "Sectors_InvalidFees"
		sealing, proving = "Sectors_InvalidSealing", "Sectors_InvalidProving"
		types            = "Sectors_InvalidProofTypes"
	)
	for name, test := range map[string]struct {
		change func(*config)
		want   string
	}{
		"as it should be":                  {func(*config) {}, ""},
		"no blocks in a period":            {func(c *config) { c.Proving.PeriodBlocks = 0 }, periods},
		"a period without end":             {func(c *config) { c.Proving.PeriodBlocks = 5 << 40 }, periods},
		"no deadlines":                     {func(c *config) { c.Proving.Deadlines = 0 }, periods},
		"more deadlines than blocks":       {func(c *config) { c.Proving.Deadlines = 200 }, periods},
		"windows that leave a rest":        {func(c *config) { c.Proving.Deadlines = 3 }, periods},
		"windows as long as can be":        {longWindows(contracts.MaxWindowBlocks), ""},
		"windows beyond the known hashes":  {longWindows(contracts.MaxWindowBlocks + 1), periods},
		"no sectors in a partition":        {func(c *config) { c.Proving.PartitionSectors = 0 }, periods},
		"no leaves in a window":            {func(c *config) { c.Proving.Leaves = 0 }, proving},
		"too many leaves in a window":      {func(c *config) { c.Proving.Leaves = 1 << 16 }, proving},
		"a cutoff as long as a period":     {func(c *config) { c.Proving.FaultCutoff = periodBlocks }, proving},
		"no period until a fault ends":     {func(c *config) { c.Proving.MaxFaultPeriods = 0 }, fees},
		"no deposit":                       {func(c *config) { c.Deposits.DepositPerByte = 0 }, fees},
		"a void fee above all":             {func(c *config) { c.Deposits.VoidFee = 10_001 }, fees},
		"a void fee of all":                {func(c *config) { c.Deposits.VoidFee = 10_000 }, ""},
		"a termination fee above all":      {func(c *config) { c.Deposits.TerminationFee = 10_001 }, fees},
		"leaving cheaper than missing":     {func(c *config) { c.Deposits.TerminationFee = 499 }, fees},
		"declaring dearer than missing":    {func(c *config) { c.Deposits.FaultFee = 501 }, fees},
		"no fees at all":                   {func(c *config) { c.Deposits = bindings.DepositConfig{DepositPerByte: 1} }, ""},
		"no age of tickets":                {func(c *config) { c.Sealing.TicketLookback = 0 }, sealing},
		"tickets as old as can be":         {func(c *config) { c.Sealing.TicketLookback = 255 }, ""},
		"tickets beyond the known hashes":  {func(c *config) { c.Sealing.TicketLookback = 256 }, sealing},
		"no delay of the seed":             {func(c *config) { c.Sealing.ChallengeDelay = 0 }, sealing},
		"a delay without end":              {func(c *config) { c.Sealing.ChallengeDelay = math.MaxUint64 }, sealing},
		"commit due as early as can be":    {func(c *config) { c.Sealing.CommitDue = seedDelay + 256 }, ""},
		"commit due before the seed's end": {func(c *config) { c.Sealing.CommitDue = seedDelay + 255 }, sealing},
		"commit due at the end of time":    {func(c *config) { c.Sealing.CommitDue = math.MaxUint64 }, sealing},
		"a life of less than two periods":  {func(c *config) { c.Sealing.MinLife = 2*periodBlocks - 1 }, sealing},
		"a life longer than the longest":   {func(c *config) { c.Sealing.MinLife = maxLife - commitDue + 1 }, sealing},
		"a life of exactly the longest":    {func(c *config) { c.Sealing.MinLife = maxLife - commitDue }, ""},
		"a life without end":               {func(c *config) { c.Sealing.MaxLife = 1 << 40 }, sealing},
		"no leaves in a commit":            {func(c *config) { c.Sealing.Leaves = 0 }, sealing},
		"no type of proofs":                {func(c *config) { c.Possession.Taken, c.Simulated.Taken = false, false }, types},
		"simulated proofs alone":           {func(c *config) { c.Possession = bindings.ProofTypeConfig{} }, ""},
		"possession alone":                 {func(c *config) { c.Simulated.Taken = false }, ""},
		"a reward for simulated proofs":    {func(c *config) { c.Simulated.RewardPerByte = 1 }, types},
		"too many leaves in a commit":      {func(c *config) { c.Sealing.Leaves = 1 << 16 }, sealing},
	} {
		t.Run(name, func(t *testing.T) {
			config := sectorConfig()
			test.change(&config)
			code := append(common.FromHex(bindings.SectorProviderMetaData.Bin),
				sectorABI.PackConstructor(config, common.Address{1})...)
			b := newBench(t)
			output, _, _, err := runtime.Create(code, b.config(alice))
			got := ""
			if err != nil {
				got = nameOf(t, output, err)
			}
			if got != test.want {
				t.Fatalf("reverts with %q, want %q", got, test.want)
			}
			_, err = contracts.SectorProviderCreation(config, common.Address{1})
			if got := errors.Is(err, contracts.ErrInvalidSectorConfig); got != (test.want != "") {
				t.Fatalf("the deployer's check says %v, the contract %q", err, test.want)
			}
		})
	}
}

func longWindows(blocks uint64) func(*bindings.SectorConfig) {
	return func(c *bindings.SectorConfig) {
		c.Proving.PeriodBlocks, c.Proving.Deadlines = 2*blocks, 2
		c.Sealing.MinLife = 4 * blocks
	}
}

func TestSectorConfigurationIsTheOneGivenAtDeployment(t *testing.T) {
	y := newYard(t)
	got := ask(y, sectorABI.PackConfiguration(), sectorABI.UnpackConfiguration)
	if diff := cmp.Diff(sectorConfig(), got); diff != "" {
		t.Fatalf("configuration differs (-want +got):\n%s", diff)
	}
	if got := ask(y, sectorABI.PackToken(), sectorABI.UnpackToken); got != y.token {
		t.Fatalf("token is %v, want %v", got, y.token)
	}
	if got := ask(y, sectorABI.PackDepositFor(smallest), sectorABI.UnpackDepositFor); got.Int64() != deposit {
		t.Fatalf("deposit is %v, want %d", got, deposit)
	}
}

func TestStatusesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for status := contracts.SectorNone; status <= contracts.SectorExpired+1; status++ {
		seen[status.String()] = true
	}
	if len(seen) != 8+1 || seen[""] {
		t.Fatalf("names are %v", seen)
	}
}
