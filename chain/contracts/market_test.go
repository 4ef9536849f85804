package contracts_test

import (
	"math/big"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
)

// The tests' periods are long enough for a whole cycle of 256 pointers, with one block a second,
// and the timeout is long enough to leave the downtime.
const (
	period   = 1000 // seconds
	timeout  = 200  // seconds
	downtime = 64   // blocks
	product  = 67
)

// States as the contract numbers them.
const (
	requestNew = iota
	requestStarted
	requestCancelled
	requestFinished
	requestFailed
)

const (
	slotFree = iota
	slotFilled
	slotFinished
	slotFailed
	slotPaid
	slotCancelled
	slotRepair
)

var (
	pack      = bindings.NewMarketplace()
	packToken = bindings.NewTestToken()
)

// market is a marketplace for one test.
type market struct {
	*chain
	t       *testing.T
	token   common.Address
	address common.Address
}

func testConfig() bindings.MarketplaceConfig {
	config := defaultConfig("")
	config.Proofs.Period = period
	config.Proofs.Timeout = timeout
	return config
}

// newMarket deploys a marketplace with a verifier that accepts goodProof.
func newMarket(t *testing.T) *market {
	t.Helper()
	shared.grow(t)
	verifier := shared.create(t, common.FromHex(contractstest.DummyVerifierMetaData.Bin))
	token := shared.create(t, contracts.TokenCreation())
	return deployMarket(t, testConfig(), token, verifier)
}

func deployMarket(
	t *testing.T,
	config bindings.MarketplaceConfig,
	token, verifier common.Address,
) *market {
	t.Helper()
	shared.grow(t)
	code, err := contracts.MarketplaceCreation(config, token, verifier)
	if err != nil {
		t.Fatalf("market creation: %v", err)
	}
	return &market{shared, t, token, shared.create(t, code)}
}

// send mines a call to the marketplace that must succeed.
func (m *market) send(from int, data []byte) *types.Receipt {
	m.t.Helper()
	receipt := m.submit(m.t, from, &m.address, data)
	if receipt.Status != types.ReceiptStatusSuccessful {
		_, err := m.call(m.t, from, &m.address, data)
		m.t.Fatalf("transaction reverted, on the next block with %q", revertName(m.t, err))
	}
	return receipt
}

// sendAt mines the call in a block with exactly that timestamp.
func (m *market) sendAt(timestamp uint64, from int, data []byte) *types.Receipt {
	m.t.Helper()
	m.goTo(m.t, timestamp-1)
	receipt := m.send(from, data)
	if got := m.now(m.t); got != timestamp {
		m.t.Fatalf("mined at %d, want %d", got, timestamp)
	}
	return receipt
}

// refuses checks that a call reverts with that error at the head.
func (m *market) refuses(from int, data []byte, name string) {
	m.t.Helper()
	_, err := m.call(m.t, from, &m.address, data)
	if got := revertName(m.t, err); got != name {
		m.t.Fatalf("reverts with %q, want %q", got, name)
	}
}

// accepts checks that a call would succeed at the head.
func (m *market) accepts(from int, data []byte) {
	m.t.Helper()
	m.refuses(from, data, "")
}

// view calls the marketplace at the head, from no account in particular.
func view[T any](m *market, data []byte, unpack func([]byte) (T, error)) T {
	m.t.Helper()
	return viewAs(m, stranger, data, unpack)
}

func viewAs[T any](m *market, from int, data []byte, unpack func([]byte) (T, error)) T {
	m.t.Helper()
	output, err := m.call(m.t, from, &m.address, data)
	if err != nil {
		m.t.Fatalf("view reverts with %q", revertName(m.t, err))
	}
	value, err := unpack(output)
	if err != nil {
		m.t.Fatalf("unpack: %v", err)
	}
	return value
}

func (m *market) balance(account common.Address) int64 {
	m.t.Helper()
	output, err := m.call(m.t, stranger, &m.token, packToken.PackBalanceOf(account))
	if err != nil {
		m.t.Fatalf("balance: %v", err)
	}
	return new(big.Int).SetBytes(output).Int64()
}

func (m *market) balanceOf(account int) int64 {
	m.t.Helper()
	return m.balance(m.chain.address(account))
}

// fund gives an account tokens that the marketplace may take.
func (m *market) fund(account int, amount int64) {
	m.t.Helper()
	value := big.NewInt(amount)
	m.toToken(account, packToken.PackMint(m.chain.address(account), value))
	m.toToken(account, packToken.PackApprove(m.address, value))
}

func (m *market) toToken(from int, data []byte) {
	m.t.Helper()
	receipt := m.submit(m.t, from, &m.token, data)
	if receipt.Status != types.ReceiptStatusSuccessful {
		m.t.Fatalf("token transaction reverted")
	}
}

// The request of most tests has three slots of 1000 bytes, of which one may be lost; each earns
// 1000 tokens a second and has a collateral of 10000 tokens.
const (
	slots           = 3
	slotSize        = 1000
	pricePerSecond  = slotSize // of one slot
	collateral      = 10 * slotSize
	requestDuration = 20 * period
	requestLifetime = 5 * period // until the expiry
	price           = slots * requestDuration * pricePerSecond
)

var nonces atomic.Uint64

func newRequest() bindings.Request {
	return bindings.Request{
		Client: shared.address(client),
		Ask: bindings.Ask{
			ProofProbability:      big.NewInt(1),
			PricePerBytePerSecond: big.NewInt(1),
			CollateralPerByte:     big.NewInt(10),
			Slots:                 slots,
			SlotSize:              slotSize,
			Duration:              requestDuration,
			MaxSlotLoss:           1,
		},
		Content: bindings.Content{Cid: []byte{1, 0x55}, MerkleRoot: [32]byte{1}},
		Expiry:  requestLifetime,
		Nonce:   [32]byte(common.BigToHash(new(big.Int).SetUint64(nonces.Add(1))).Bytes()),
	}
}

// requestID packs and hashes a request as the contract does.
func requestID(request bindings.Request) [32]byte {
	packed := pack.PackRequestStorage(request)
	return crypto.Keccak256Hash(packed[4:])
}

func slotID(request [32]byte, index uint64) [32]byte {
	word := common.BigToHash(new(big.Int).SetUint64(index))
	return crypto.Keccak256Hash(request[:], word[:])
}

// deal is a request in the marketplace.
type deal struct {
	*market
	request   bindings.Request
	id        [32]byte
	createdAt uint64
	endsAt    uint64
	expiresAt uint64
}

// ask submits the request of most tests.
func (m *market) ask() *deal {
	m.t.Helper()
	return m.askFor(newRequest())
}

func (m *market) askFor(request bindings.Request) *deal {
	m.t.Helper()
	m.fund(client, price)
	m.send(client, pack.PackRequestStorage(request))
	now := m.now(m.t)
	return &deal{
		market: m, request: request, id: requestID(request), createdAt: now,
		endsAt: now + request.Ask.Duration, expiresAt: now + request.Expiry,
	}
}

// slot returns a slot's id.
func (d *deal) slot(index uint64) [32]byte { return slotID(d.id, index) }

func (d *deal) reserve(account int, index uint64) {
	d.t.Helper()
	d.send(account, pack.PackReserveSlot(d.id, index))
}

func (d *deal) fill(account int, index uint64) *types.Receipt {
	d.t.Helper()
	d.fund(account, collateral)
	d.reserve(account, index)
	return d.send(account, d.packFill(index))
}

func (d *deal) packFill(index uint64) []byte {
	return pack.PackFillSlot(d.id, index, goodProof())
}

// started returns a request all of whose slots are filled by host, otherHost and
// thirdHost, in this order.
func (m *market) started() *deal {
	m.t.Helper()
	d := m.ask()
	d.fillAll()
	return d
}

func (d *deal) fillAll() {
	d.t.Helper()
	for i, account := range []int{host, otherHost, thirdHost} {
		d.fill(account, uint64(i))
	}
}

func (d *deal) state() uint8 {
	d.t.Helper()
	return view(d.market, pack.PackRequestState(d.id), pack.UnpackRequestState)
}

func (d *deal) slotState(index uint64) uint8 {
	d.t.Helper()
	return view(d.market, pack.PackSlotState(d.slot(index)), pack.UnpackSlotState)
}

func (d *deal) end() uint64 {
	d.t.Helper()
	return view(d.market, pack.PackRequestEnd(d.id), pack.UnpackRequestEnd)
}

func (d *deal) host(index uint64) common.Address {
	d.t.Helper()
	return view(d.market, pack.PackGetHost(d.slot(index)), pack.UnpackGetHost)
}

func (d *deal) collateral(index uint64) int64 {
	d.t.Helper()
	data := pack.PackCurrentCollateral(d.slot(index))
	return view(d.market, data, pack.UnpackCurrentCollateral).Int64()
}

// fail makes a started request lose more slots than it tolerates.
func (d *deal) fail() {
	d.t.Helper()
	d.send(host, pack.PackFreeSlot(d.slot(0)))
	d.send(otherHost, pack.PackFreeSlot(d.slot(1)))
	if got := d.state(); got != requestFailed {
		d.t.Fatalf("state is %d after losing two slots, want failed", got)
	}
}

func (m *market) slotsOf(account int) [][32]byte {
	m.t.Helper()
	return viewAs(m, account, pack.PackMySlots(), pack.UnpackMySlots)
}

func (m *market) requestsOf(account int) [][32]byte {
	m.t.Helper()
	return viewAs(m, account, pack.PackMyRequests(), pack.UnpackMyRequests)
}

// goodProof is a proof that the dummy verifier accepts.
func goodProof() bindings.Groth16Proof {
	proof := badProof()
	proof.A.X = big.NewInt(1)
	return proof
}

// badProof is one that it refuses.
func badProof() bindings.Groth16Proof {
	zero := func() *big.Int { return new(big.Int) }
	return bindings.Groth16Proof{
		A: bindings.G1Point{X: zero(), Y: zero()},
		B: bindings.G2Point{
			X: bindings.Fp2Element{Real: zero(), Imag: zero()},
			Y: bindings.Fp2Element{Real: zero(), Imag: zero()},
		},
		C: bindings.G1Point{X: zero(), Y: zero()},
	}
}

// eventNames are the events of a transaction, in order, including the token's.
func (m *market) eventNames(receipt *types.Receipt) []string {
	m.t.Helper()
	names := []string{}
	for _, log := range receipt.Logs {
		a := pack.GetABI()
		if log.Address == m.token {
			a = packToken.GetABI()
		}
		event, err := a.EventByID(log.Topics[0])
		if err != nil {
			m.t.Fatalf("unknown event %v: %v", log.Topics[0], err)
		}
		names = append(names, event.Name)
	}
	return names
}
