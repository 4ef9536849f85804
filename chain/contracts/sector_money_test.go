package contracts_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
)

func TestWhatIsOwedIsWithdrawnOnce(t *testing.T) {
	y := newYard(t)
	y.refused(alice, sectorABI.PackWithdraw(), "Sectors_NothingOwed")
	y.refused(nobody, sectorABI.PackBurn(), "Sectors_NothingOwed")
	s := y.active(alice, 1)
	y.does(alice, sectorABI.PackTerminate(1))
	y.refused(bob, sectorABI.PackWithdraw(), "Sectors_NothingOwed")
	withdrawn, err := sectorABI.UnpackWithdrawnEvent(y.does(alice, sectorABI.PackWithdraw())[0])
	if err != nil || withdrawn.Account != alice || withdrawn.Amount.Int64() != deposit-terminateFee {
		t.Fatalf("event is %+v, %v", withdrawn, err)
	}
	if got := y.tokens(alice); got != sectorFunding-terminateFee {
		t.Fatalf("provider has %d", got)
	}
	y.refused(alice, sectorABI.PackWithdraw(), "Sectors_NothingOwed")
	burnt, err := sectorABI.UnpackBurntEvent(y.does(nobody, sectorABI.PackBurn())[0])
	if err != nil || burnt.Amount.Int64() != terminateFee || y.tokens(burnAddress) != terminateFee {
		t.Fatalf("event is %+v, %v", burnt, err)
	}
	y.refused(nobody, sectorABI.PackBurn(), "Sectors_NothingOwed")
	if got := y.tokens(y.address); got != 0 {
		t.Fatalf("the contract keeps %d", got)
	}
	y.checkBooks(s)
}

func TestPoolTakesFromAnybodyAndPaysForProofsOnly(t *testing.T) {
	y := newYard(t)
	funded, err := sectorABI.UnpackFundedEvent(y.does(bob, sectorABI.PackFund(bigInt(100)))[0])
	if err != nil || funded.From != bob || funded.Amount.Int64() != 100 || y.pool() != 100 {
		t.Fatalf("event is %+v, %v; pool %d", funded, err, y.pool())
	}
	y.refused(bob, sectorABI.PackWithdraw(), "Sectors_NothingOwed")
	y.refused(bob, sectorABI.PackFund(bigInt(sectorFunding)), "ERC20InsufficientAllowance")
}

// An old kind of token returns false instead of failing: then nothing counts as paid.
func TestSectorTokenThatSaysNoIsATransferFailure(t *testing.T) {
	b := newBench(t)
	token := b.create(common.FromHex(contractstest.RefusingTokenMetaData.Bin))
	code, err := contracts.SectorProviderCreation(sectorConfig(), token)
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{b, token, b.create(code)}
	refuse := func(yes bool) { y.toToken(nobody, contractstest.NewRefusingToken().PackSetRefuses(yes)) }
	const name = "Sectors_TransferFailed"
	y.refused(alice, sectorABI.PackFund(bigInt(1)), name)
	y.refused(alice, sectorABI.PackPreCommit(y.announces(alice, 1).said), name)
	refuse(false)
	y.active(alice, 1)
	y.does(alice, sectorABI.PackTerminate(1))
	refuse(true)
	y.refused(alice, sectorABI.PackWithdraw(), name)
	y.refused(alice, sectorABI.PackBurn(), name)
	if y.owed(alice) != deposit-terminateFee || y.unburnt() != terminateFee {
		t.Fatalf("a payment that failed was booked")
	}
}

// The token calls the payer, or the recipient, in the middle of a transfer.
func TestCallsFromWithinAPaymentFindTheBooksClosed(t *testing.T) {
	token, actor := contractstest.NewEagerToken(), contractstest.NewEagerProvider()
	b := newBench(t)
	tokenAt := b.create(common.FromHex(contractstest.EagerTokenMetaData.Bin))
	code, err := contracts.SectorProviderCreation(sectorConfig(), tokenAt)
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{b, tokenAt, b.create(code)}
	eve := y.create(common.FromHex(contractstest.EagerProviderMetaData.Bin))
	y.toToken(eve, token.PackMint(eve, bigInt(sectorFunding)))
	y.toToken(alice, token.PackMint(alice, bigInt(sectorFunding)))
	does := func(data, again []byte) {
		t.Helper()
		if _, _, name := y.attempt(alice, eve, actor.PackRun(y.address, data, again)); name != "" {
			t.Fatalf("refused with %s", name)
		}
	}
	count := func() [2]int64 {
		var counts [2]int64
		for i, data := range [][]byte{actor.PackAccepted(), actor.PackRefused()} {
			output, _, _ := y.attempt(alice, eve, data)
			counts[i] = new(big.Int).SetBytes(output).Int64()
		}
		return counts
	}
	s := y.announces(eve, 1)
	preCommit := sectorABI.PackPreCommit(s.said)
	does(preCommit, preCommit) // The number is taken before the deposit is.
	if got := count(); got != [2]int64{0, 1} {
		t.Fatalf("accepted and refused are %v", got)
	}
	other := y.preCommitted(alice, 1) // So that there is something to steal.
	y.block += seedDelay + 1
	does(s.packCommit(), nil)
	does(sectorABI.PackTerminate(1), nil)
	does(sectorABI.PackWithdraw(), sectorABI.PackWithdraw())
	if got := count(); got != [2]int64{0, 2} {
		t.Fatalf("accepted and refused are %v", got)
	}
	if got := y.tokens(eve); got != sectorFunding-terminateFee {
		t.Fatalf("provider has %d, want %d", got, sectorFunding-terminateFee)
	}
	if got := y.tokens(y.address); got != deposit+terminateFee {
		t.Fatalf("the contract has %d, want %d", got, deposit+terminateFee)
	}
	y.wantLeft(other, deposit)
}
