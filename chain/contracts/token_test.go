package contracts_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
)

// purse is a token for one test.
type purse struct {
	*chain
	t     *testing.T
	token common.Address
}

func newPurse(t *testing.T) *purse {
	t.Helper()
	return &purse{shared, t, shared.create(t, contracts.TokenCreation())}
}

func (p *purse) send(from int, data []byte) {
	p.t.Helper()
	if r := p.submit(p.t, from, &p.token, data); r.Status != types.ReceiptStatusSuccessful {
		p.t.Fatalf("token transaction reverted")
	}
}

func (p *purse) refuses(from int, data []byte, want string) {
	p.t.Helper()
	_, err := p.call(p.t, from, &p.token, data)
	if err == nil {
		p.t.Fatalf("accepted, want %s", want)
	}
	if got := contracts.DescribeRevert(revertData(p.t, err)); got != want {
		p.t.Fatalf("reverts with %s, want %s", got, want)
	}
}

func (p *purse) number(data []byte) *big.Int {
	p.t.Helper()
	output, err := p.call(p.t, stranger, &p.token, data)
	if err != nil {
		p.t.Fatalf("call: %v", err)
	}
	return new(big.Int).SetBytes(output)
}

func TestTokenMovesByTransferAndByAllowance(t *testing.T) {
	p := newPurse(t)
	one, two, three := p.address(host), p.address(otherHost), p.address(thirdHost)
	p.send(stranger, packToken.PackMint(one, bigInt(100)))
	p.send(host, packToken.PackTransfer(two, bigInt(30)))
	p.send(otherHost, packToken.PackApprove(three, bigInt(25)))
	p.send(thirdHost, packToken.PackTransferFrom(two, three, bigInt(20)))
	for name, test := range map[string]struct {
		data []byte
		want int64
	}{
		"supply":    {packToken.PackTotalSupply(), 100},
		"first":     {packToken.PackBalanceOf(one), 70},
		"second":    {packToken.PackBalanceOf(two), 10},
		"third":     {packToken.PackBalanceOf(three), 20},
		"allowance": {packToken.PackAllowance(two, three), 5},
		"decimals":  {packToken.PackDecimals(), 18},
	} {
		if got := p.number(test.data).Int64(); got != test.want {
			t.Fatalf("%s is %d, want %d", name, got, test.want)
		}
	}
}

func TestGreatestAllowanceNeverShrinks(t *testing.T) {
	p := newPurse(t)
	endless := new(big.Int).Sub(new(big.Int).Lsh(bigInt(1), 256), bigInt(1))
	owner, spender := p.address(host), p.address(otherHost)
	p.send(host, packToken.PackMint(owner, bigInt(5)))
	p.send(host, packToken.PackApprove(spender, endless))
	p.send(otherHost, packToken.PackTransferFrom(owner, spender, bigInt(5)))
	if got := p.number(packToken.PackAllowance(owner, spender)); got.Cmp(endless) != 0 {
		t.Fatalf("allowance is %v, want %v", got, endless)
	}
}

func TestTokenRefusalsSayWhatIsMissing(t *testing.T) {
	p := newPurse(t)
	one, two := p.address(host), p.address(otherHost)
	p.send(host, packToken.PackMint(one, bigInt(3)))
	p.refuses(host, packToken.PackTransfer(two, bigInt(4)),
		"ERC20InsufficientBalance(sender="+one.Hex()+", balance=3, needed=4)")
	p.send(host, packToken.PackApprove(two, bigInt(2)))
	p.refuses(otherHost, packToken.PackTransferFrom(one, two, bigInt(3)),
		"ERC20InsufficientAllowance(spender="+two.Hex()+", allowance=2, needed=3)")
	// The allowance is checked first.
	p.refuses(otherHost, packToken.PackTransferFrom(one, two, bigInt(9)),
		"ERC20InsufficientAllowance(spender="+two.Hex()+", allowance=2, needed=9)")

	nobody := common.Address{}
	p.refuses(host, packToken.PackTransfer(nobody, bigInt(1)),
		"ERC20InvalidReceiver(receiver="+nobody.Hex()+")")
	p.refuses(host, packToken.PackMint(nobody, bigInt(1)),
		"ERC20InvalidReceiver(receiver="+nobody.Hex()+")")
	p.refuses(host, packToken.PackApprove(nobody, bigInt(1)),
		"ERC20InvalidSpender(spender="+nobody.Hex()+")")
	p.refuses(host, packToken.PackTransferFrom(nobody, two, bigInt(0)),
		"ERC20InvalidSender(sender="+nobody.Hex()+")")
	endless := new(big.Int).Sub(new(big.Int).Lsh(bigInt(1), 256), bigInt(1))
	p.refuses(host, packToken.PackMint(one, endless), "Panic(0x11)")
}

func TestTokenHasTheNameOfPlayMoney(t *testing.T) {
	p := newPurse(t)
	for want, test := range map[string]struct {
		data   []byte
		unpack func([]byte) (string, error)
	}{
		"TestToken": {packToken.PackName(), packToken.UnpackName},
		"TST":       {packToken.PackSymbol(), packToken.UnpackSymbol},
	} {
		output, err := p.call(t, stranger, &p.token, test.data)
		if err != nil {
			t.Fatalf("call: %v", err)
		}
		if got, err := test.unpack(output); err != nil || got != want {
			t.Fatalf("reads %q, %v, want %q", got, err, want)
		}
	}
}
