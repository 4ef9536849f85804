package contracts_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

func TestEachMethodHasASignatureThatGoEthereumReads(t *testing.T) {
	for _, parse := range []func() (*abi.ABI, error){
		bindings.MarketplaceMetaData.ParseABI, bindings.SectorProviderMetaData.ParseABI, bindings.TestTokenMetaData.ParseABI,
	} {
		parsed, err := parse()
		if err != nil {
			t.Fatal(err)
		}
		for name, method := range parsed.Methods {
			signature := contracts.Signature(append(method.ID, 1, 2, 3))
			if signature != method.Sig {
				t.Errorf("%s: got %q", name, signature)
			}
			if _, err := abi.ParseSelector(signature); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestOtherDataHasNoSignature(t *testing.T) {
	for _, data := range [][]byte{nil, {1, 2, 3}, {1, 2, 3, 4}} {
		if s := contracts.Signature(data); s != "" {
			t.Errorf("%x: %q", data, s)
		}
	}
}
