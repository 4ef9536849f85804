package contracts_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// functionTable, eventTable and errorTable are the interface that hosts rely on, written down
// independently of our sources.
func functionTable() map[string]string {
	return map[string]string{
		"0x6c70bee9": "configuration",
		"0xfc0c546a": "token",
		"0x26d6f834": "currentCollateral",
		"0x99b6da0c": "requestStorage",
		"0x12827602": "reserveSlot",
		"0xd02bbe33": "canReserveSlot",
		"0x1d873c1b": "fillSlot",
		"0xa29c29a4": "freeSlot",
		"0x0aefaabe": "freeSlot",
		"0xe8aa0a07": "submitProof",
		"0x237d8482": "markProofAsMissing",
		"0xd1bb36b6": "canMarkProofAsMissing",
		"0x6e2b54ee": "withdrawFunds",
		"0xc5d43351": "withdrawFunds",
		"0xfb1e61ca": "getRequest",
		"0xb396dc79": "getActiveSlot",
		"0x6b00c8cf": "getHost",
		"0x05b90773": "requestState",
		"0xbe5cdc48": "slotState",
		"0x02fa8e65": "requestEnd",
		"0x329b5a0b": "requestExpiry",
		"0x9777b72c": "myRequests",
		"0x5da73835": "mySlots",
		"0x51a76642": "slotProbability",
		"0xf752196b": "missingProofs",
		"0x4641dce6": "getPointer",
		"0x458d2bf1": "getChallenge",
		"0xc0cc4add": "isProofRequired",
		"0xa3a0807e": "willProofBeRequired",
	}
}

// Topic, name and number of indexed arguments of each event.
func eventTable() map[string]string {
	return map[string]string{
		"0x1bf9c457accf8703dbf7cdf1b58c2f74ddf2e525f98155c70b3d318d74609bd8": "StorageRequested 0",
		"0x85e1543bf2f84fe80c6badbce3648c8539ad1df4d2b3d822938ca0538be727e6": "RequestFulfilled 1",
		"0x4769361a442504ecaf038f35e119bcccdd5e42096b24c09e3c17fd17c6684c02": "RequestFailed 1",
		"0xf903f4774c7bd27355f9d7fcbc382b079b164a697a44ac5d95267a4c3cb3bb22": "RequestCancelled 1",
		"0x8f301470a994578b52323d625dfbf827ca5208c81747d3459be7b8867baec3ec": "SlotFilled 1",
		"0x33ba8f7627565d89f7ada2a6b81ea532b7aa9b11e91a78312d6e1fca0bfcd1dc": "SlotFreed 1",
		"0xc8e6c955744189a19222ec226b72ac1435d88d5745252dac56e6f679f64c037a": "SlotReservationsFull 1",
		"0x3b989d183b84b02259d7c14b34a9c9eb0fccb4c355a920d25e581e25aef4993d": "ProofSubmitted 0",
	}
}

func errorTable() map[string]string {
	return map[string]string{
		"0xc2cbf777": "Marketplace_AlreadyPaid",
		"0x1267b3f2": "Marketplace_DurationExceedsLimit",
		"0xfb7df0c7": "Marketplace_InsufficientCollateral",
		"0x090a5ecd": "Marketplace_InsufficientDuration",
		"0x6aba7aae": "Marketplace_InsufficientProofProbability",
		"0x47ba51c7": "Marketplace_InsufficientReward",
		"0x535ed2be": "Marketplace_InsufficientSlots",
		"0x86f8cf9b": "Marketplace_InvalidCid",
		"0x698d3c62": "Marketplace_InvalidClientAddress",
		"0xdf63f61a": "Marketplace_InvalidExpiry",
		"0xb9551ab1": "Marketplace_InvalidMaxSlotLoss",
		"0x3b920b88": "Marketplace_InvalidSlot",
		"0x57a6f4e9": "Marketplace_InvalidSlotHost",
		"0xc00b5b57": "Marketplace_InvalidState",
		"0x5ffe743c": "Marketplace_MaximumSlashingTooHigh",
		"0xbd8bdd94": "Marketplace_NothingToWithdraw",
		"0xce351b94": "Marketplace_ProofNotSubmittedByHost",
		"0x2bd81630": "Marketplace_RepairRewardPercentageTooHigh",
		"0xfc7d0690": "Marketplace_RequestAlreadyExists",
		"0xd651ce18": "Marketplace_ReservationRequired",
		"0xa9cbc156": "Marketplace_SlashPercentageTooHigh",
		"0x8b41ec7f": "Marketplace_SlotIsFree",
		"0xae9dcffd": "Marketplace_SlotNotAcceptingProofs",
		"0xff556acf": "Marketplace_SlotNotFree",
		"0x56607cb0": "Marketplace_StartNotBeforeExpiry",
		"0xf8599ffa": "Marketplace_TransferFailed",
		"0xbdd64a7a": "Marketplace_UnknownRequest",
		"0x2aa6d8e0": "Periods_InvalidSecondsPerPeriod",
		"0x71ebecc2": "Proofs_InsufficientBlockHeight",
		"0xfcd03a47": "Proofs_InvalidProof",
		"0x6b4b1a4e": "Proofs_PeriodNotEnded",
		"0x98e7e551": "Proofs_ProofAlreadyMarkedMissing",
		"0x3edef7db": "Proofs_ProofAlreadySubmitted",
		"0x00fab7d9": "Proofs_ProofNotMissing",
		"0xd3ffa66b": "Proofs_ProofNotRequired",
		"0xde55698e": "Proofs_ValidationTimedOut",
		"0x424a04ab": "SlotReservations_ReservationNotAllowed",
	}
}

func TestFunctionsAreThoseOfTheMarketplace(t *testing.T) {
	got := map[string]string{}
	for _, method := range pack.GetABI().Methods {
		got[fmt.Sprintf("%#x", method.ID)] = method.RawName
	}
	if diff := cmp.Diff(functionTable(), got); diff != "" {
		t.Fatalf("functions differ (-want +got):\n%s", diff)
	}
}

func TestFunctionsReturnWhatTheMarketplaceReturns(t *testing.T) {
	const (
		ask     = "(uint256,uint256,uint256,uint64,uint64,uint64,uint64)"
		request = "(address," + ask + ",(bytes,bytes32),uint64,bytes32)"
		config  = "((uint8,uint8,uint8,uint8),(uint64,uint64,uint8,uint8,string),(uint8),uint64)"
	)
	want := map[string]string{
		"configuration": config, "token": "address", "currentCollateral": "uint256",
		"canReserveSlot": "bool", "getRequest": request,
		"getActiveSlot": "(" + request + ",uint64)", "getHost": "address",
		"requestState": "uint8", "slotState": "uint8", "requestEnd": "uint64",
		"requestExpiry": "uint64", "myRequests": "bytes32[]", "mySlots": "bytes32[]",
		"slotProbability": "uint256", "missingProofs": "uint64", "getPointer": "uint8",
		"getChallenge": "bytes32", "isProofRequired": "bool", "willProofBeRequired": "bool",
	}
	got := map[string]string{}
	views := map[string]bool{"canMarkProofAsMissing": true}
	for _, method := range pack.GetABI().Methods {
		for _, output := range method.Outputs {
			got[method.RawName] += output.Type.String()
			views[method.RawName] = true
		}
		if method.IsConstant() != views[method.RawName] {
			t.Fatalf("%s: constant is %t", method.RawName, method.IsConstant())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("results differ (-want +got):\n%s", diff)
	}
}

func TestEventsAreThoseOfTheMarketplace(t *testing.T) {
	got := map[string]string{}
	for _, event := range pack.GetABI().Events {
		indexed := 0
		for _, input := range event.Inputs {
			if input.Indexed {
				indexed++
			}
		}
		got[event.ID.Hex()] = fmt.Sprintf("%s %d", event.Name, indexed)
	}
	if diff := cmp.Diff(eventTable(), got); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
}

func TestErrorsAreThoseOfTheMarketplace(t *testing.T) {
	got := map[string]string{}
	for _, known := range pack.GetABI().Errors {
		got[known.ID.Hex()[:10]] = known.Name
		if len(known.Inputs) != 0 {
			t.Fatalf("%s has arguments", known.Name)
		}
	}
	if diff := cmp.Diff(errorTable(), got); diff != "" {
		t.Fatalf("errors differ (-want +got):\n%s", diff)
	}
}

func TestTokenErrorsAreThoseOfERC6093(t *testing.T) {
	want := []string{
		"ERC20InsufficientAllowance(address,uint256,uint256)",
		"ERC20InsufficientBalance(address,uint256,uint256)",
		"ERC20InvalidApprover(address)",
		"ERC20InvalidReceiver(address)",
		"ERC20InvalidSender(address)",
		"ERC20InvalidSpender(address)",
	}
	got := []string{}
	for _, known := range packToken.GetABI().Errors {
		got = append(got, known.Sig)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("token errors differ (-want +got):\n%s", diff)
	}
}

func TestConstructorTakesConfigurationTokenAndVerifier(t *testing.T) {
	got := ""
	for _, input := range pack.GetABI().Constructor.Inputs {
		got += input.Type.String() + " "
	}
	want := "((uint8,uint8,uint8,uint8),(uint64,uint64,uint8,uint8,string),(uint8),uint64) " +
		"address address "
	if got != want {
		t.Fatalf("constructor takes %s, want %s", got, want)
	}
}

func TestOverloadsHaveTheNamesThatTheBindingsPromise(t *testing.T) {
	some := common.Address{1}
	got := map[string]string{
		"FreeSlot":        fmt.Sprintf("%#x", pack.PackFreeSlot([32]byte{})[:4]),
		"FreeSlotTo":      fmt.Sprintf("%#x", pack.PackFreeSlotTo([32]byte{}, some, some)[:4]),
		"WithdrawFunds":   fmt.Sprintf("%#x", pack.PackWithdrawFunds([32]byte{})[:4]),
		"WithdrawFundsTo": fmt.Sprintf("%#x", pack.PackWithdrawFundsTo([32]byte{}, some)[:4]),
		"Verify": fmt.Sprintf("%#x",
			bindings.NewGroth16Verifier().PackVerify(goodProof(), nil)[:4]),
		"Mint": fmt.Sprintf("%#x", packToken.PackMint(some, new(big.Int))[:4]),
	}
	want := map[string]string{
		"FreeSlot": "0xa29c29a4", "FreeSlotTo": "0x0aefaabe",
		"WithdrawFunds": "0x6e2b54ee", "WithdrawFundsTo": "0xc5d43351",
		"Verify": "0x94c8919d", "Mint": "0x40c10f19",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("selectors differ (-want +got):\n%s", diff)
	}
}

// vectorRequest is the request of the published test vector.
func vectorRequest() bindings.Request {
	request := bindings.Request{
		Client: common.BytesToAddress([]byte{0xaa}),
		Ask: bindings.Ask{
			ProofProbability: big.NewInt(4), PricePerBytePerSecond: big.NewInt(1),
			CollateralPerByte: big.NewInt(2), Slots: 3, SlotSize: 65536, Duration: 3600,
			MaxSlotLoss: 1,
		},
		Content: bindings.Content{Cid: []byte{0x01, 0x55}},
		Expiry:  600,
	}
	for i := range 32 {
		request.Content.MerkleRoot[i] = 0x11
		request.Nonce[i] = 0x22
	}
	return request
}

func TestIdsMatchTheVectors(t *testing.T) {
	id := requestID(vectorRequest())
	got := []string{fmt.Sprintf("%#x", id)}
	for index := range uint64(3) {
		got = append(got, fmt.Sprintf("%#x", slotID(id, index)))
	}
	want := []string{
		"0xae5b0b4b5e0afbe7d388e0ba3acea91a94fa7120da5ddb2705fbc0a61e09ce97",
		"0x6f3cb5ea47a92df76b63d208ac712a64e5a2e1eeabf41dee2dbe132348bd5175",
		"0xfcdf97bf6fe2e8986911e892220bdad3504b35eee3db666ab673eadebcbe46c9",
		"0x5e630eb67da70df7a7b98de3cceacb71ab22a2186bcdc1c3c8b1266d2f8aa429",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("ids differ (-want +got):\n%s", diff)
	}
	if n := len(pack.PackRequestStorage(vectorRequest())) - 4; n != 512 {
		t.Fatalf("encoding has %d bytes, want 512", n)
	}
}

func TestEventTopicsAreHashesOfTheirSignatures(t *testing.T) {
	names := slices.Sorted(maps.Keys(pack.GetABI().Events))
	for _, name := range names {
		event := pack.GetABI().Events[name]
		if want := crypto.Keccak256Hash([]byte(event.Sig)); event.ID != want {
			t.Fatalf("%s: %v, want %v", name, event.ID, want)
		}
	}
}
