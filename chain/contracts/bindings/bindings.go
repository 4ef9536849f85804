// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package bindings

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Reference imports to suppress errors if they are not otherwise used.
var (
	_ = bytes.Equal
	_ = errors.New
	_ = big.NewInt
	_ = common.Big1
	_ = types.BloomLookup
	_ = abi.ConvertType
)

// ActiveSlot is an auto generated low-level Go binding around an user-defined struct.
type ActiveSlot struct {
	Request   Request
	SlotIndex uint64
}

// Ask is an auto generated low-level Go binding around an user-defined struct.
type Ask struct {
	ProofProbability      *big.Int
	PricePerBytePerSecond *big.Int
	CollateralPerByte     *big.Int
	Slots                 uint64
	SlotSize              uint64
	Duration              uint64
	MaxSlotLoss           uint64
}

// CollateralConfig is an auto generated low-level Go binding around an user-defined struct.
type CollateralConfig struct {
	RepairRewardPercentage    uint8
	MaxNumberOfSlashes        uint8
	SlashPercentage           uint8
	ValidatorRewardPercentage uint8
}

// Content is an auto generated low-level Go binding around an user-defined struct.
type Content struct {
	Cid        []byte
	MerkleRoot [32]byte
}

// DepositConfig is an auto generated low-level Go binding around an user-defined struct.
type DepositConfig struct {
	DepositPerByte uint64
	VoidFee        uint16
	MissedFee      uint16
	FaultFee       uint16
	TerminationFee uint16
}

// Fp2Element is an auto generated low-level Go binding around an user-defined struct.
type Fp2Element struct {
	Real *big.Int
	Imag *big.Int
}

// G1Point is an auto generated low-level Go binding around an user-defined struct.
type G1Point struct {
	X *big.Int
	Y *big.Int
}

// G2Point is an auto generated low-level Go binding around an user-defined struct.
type G2Point struct {
	X Fp2Element
	Y Fp2Element
}

// Groth16Proof is an auto generated low-level Go binding around an user-defined struct.
type Groth16Proof struct {
	A G1Point
	B G2Point
	C G1Point
}

// InclusionVerifierPath is an auto generated low-level Go binding around an user-defined struct.
type InclusionVerifierPath struct {
	Index uint64
	Nodes [][32]byte
}

// MarketplaceConfig is an auto generated low-level Go binding around an user-defined struct.
type MarketplaceConfig struct {
	Collateral           CollateralConfig
	Proofs               ProofConfig
	Reservations         SlotReservationsConfig
	RequestDurationLimit uint64
}

// PreCommitment is an auto generated low-level Go binding around an user-defined struct.
type PreCommitment struct {
	Number      uint64
	Size        uint64
	TicketEpoch uint64
	Expiration  uint64
	CommD       [32]byte
	CommR       [32]byte
	ProofType   uint8
}

// ProofConfig is an auto generated low-level Go binding around an user-defined struct.
type ProofConfig struct {
	Period          uint64
	Timeout         uint64
	Downtime        uint8
	DowntimeProduct uint8
	ZkeyHash        string
}

// ProofTypeConfig is an auto generated low-level Go binding around an user-defined struct.
type ProofTypeConfig struct {
	Taken         bool
	RewardPerByte uint64
}

// ProvingConfig is an auto generated low-level Go binding around an user-defined struct.
type ProvingConfig struct {
	PeriodBlocks     uint64
	Deadlines        uint64
	PartitionSectors uint64
	FaultCutoff      uint64
	Leaves           uint32
	MaxFaultPeriods  uint16
}

// ProvingPeriodsWindow is an auto generated low-level Go binding around an user-defined struct.
type ProvingPeriodsWindow struct {
	Period     uint64
	Deadline   uint64
	Opens      uint64
	Closes     uint64
	Randomness [32]byte
}

// Request is an auto generated low-level Go binding around an user-defined struct.
type Request struct {
	Client  common.Address
	Ask     Ask
	Content Content
	Expiry  uint64
	Nonce   [32]byte
}

// SealingConfig is an auto generated low-level Go binding around an user-defined struct.
type SealingConfig struct {
	TicketLookback uint64
	ChallengeDelay uint64
	CommitDue      uint64
	MinLife        uint64
	MaxLife        uint64
	Leaves         uint32
}

// SectorConfig is an auto generated low-level Go binding around an user-defined struct.
type SectorConfig struct {
	Sealing    SealingConfig
	Proving    ProvingConfig
	Deposits   DepositConfig
	Possession ProofTypeConfig
	Simulated  ProofTypeConfig
}

// SectorInfo is an auto generated low-level Go binding around an user-defined struct.
type SectorInfo struct {
	Status         uint8
	ProofType      uint8
	Size           uint64
	Deadline       uint64
	Partition      uint64
	TicketEpoch    uint64
	PreCommitEpoch uint64
	SeedEpoch      uint64
	Activation     uint64
	Expiration     uint64
	NextPeriod     uint64
	FaultyFrom     uint64
	RecoverAt      uint64
	FaultPeriods   uint64
	Deposit        *big.Int
	CommD          [32]byte
	CommR          [32]byte
	Ticket         [32]byte
	Seed           [32]byte
}

// SlotReservationsConfig is an auto generated low-level Go binding around an user-defined struct.
type SlotReservationsConfig struct {
	MaxReservations uint8
}

// VerifyingKey is an auto generated low-level Go binding around an user-defined struct.
type VerifyingKey struct {
	Alpha1 G1Point
	Beta2  G2Point
	Gamma2 G2Point
	Delta2 G2Point
	Ic     []G1Point
}

// Groth16VerifierMetaData contains all meta data concerning the Groth16Verifier contract.
var Groth16VerifierMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"alpha1\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"beta2\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"gamma2\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"delta2\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point[]\",\"name\":\"ic\",\"type\":\"tuple[]\"}],\"internalType\":\"structVerifyingKey\",\"name\":\"key\",\"type\":\"tuple\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"a\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"b\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"c\",\"type\":\"tuple\"}],\"internalType\":\"structGroth16Proof\",\"name\":\"proof\",\"type\":\"tuple\"},{\"internalType\":\"uint256[]\",\"name\":\"pubSignals\",\"type\":\"uint256[]\"}],\"name\":\"verify\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"}]",
	ID:  "9b44ec77fdac5f6a49e7114bcccd9ef5dd",
	Bin: "0x608060405234801561000f575f5ffd5b50604051610cbd380380610cbd83398101604081905261002e916101fe565b805180515f908155602091820151600155818301518051805160025583015160035582015180516004558201516005556040830151805180516006558301516007558201518051600855820151600955606083015180518051600a55830151600b558201518051600c5590910151600d555b8160800151518110156100fc575f600e01826080015182815181106100c7576100c7610332565b6020908102919091018101518254600181810185555f94855293839020825160029092020190815591015190820155016100a0565b5050610346565b634e487b7160e01b5f52604160045260245ffd5b604080519081016001600160401b038111828210171561013957610139610103565b60405290565b60405160a081016001600160401b038111828210171561013957610139610103565b604051601f8201601f191681016001600160401b038111828210171561018957610189610103565b604052919050565b5f604082840312156101a1575f5ffd5b6101a9610117565b825181526020928301519281019290925250919050565b5f608082840312156101d0575f5ffd5b6101d8610117565b90506101e48383610191565b81526101f38360408401610191565b602082015292915050565b5f6020828403121561020e575f5ffd5b81516001600160401b03811115610223575f5ffd5b82016101e08185031215610235575f5ffd5b61023d61013f565b6102478583610191565b815261025685604084016101c0565b60208201526102688560c084016101c0565b604082015261027b8561014084016101c0565b60608201526101c08201516001600160401b03811115610299575f5ffd5b80830192505084601f8301126102ad575f5ffd5b81516001600160401b038111156102c6576102c6610103565b6102d560208260051b01610161565b8082825260208201915060208360061b8601019250878311156102f6575f5ffd5b6020850194505b828510156103225761030f8886610191565b82526020820191506040850194506102fd565b6080840152509095945050505050565b634e487b7160e01b5f52603260045260245ffd5b61096a806103535f395ff3fe608060405234801561000f575f5ffd5b5060043610610029575f3560e01c806394c8919d1461002d575b5f5ffd5b61004061003b3660046106fd565b610054565b604051901515815260200160405180910390f35b5f5f5f6100618585610083565b9150915081801561007757506100778682610207565b925050505b9392505050565b5f61009f60405180604001604052805f81526020015f81525090565b600e546100ad84600161079c565b146100ba575f9150610200565b600e80545f906100cc576100cc6107af565b5f91825260208083206040805180820190915260029093020180548352600101549082015291505b838110156101fa577f30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f000000185858381811061012f5761012f6107af565b9050602002013510610144575f925050610200565b604080518082019091525f80825260208201526101bf600e61016784600161079c565b81548110610177576101776107af565b905f5260205f2090600202016040518060400160405290815f82015481526020016001820154815250508787858181106101b3576101b36107af565b905060200201356103f7565b9094509050836101d3575f93505050610200565b6101dd8382610461565b9094509250836101f1575f93505050610200565b506001016100f4565b50600191505b9250929050565b5f6102106106de565b610235815f61021e87610495565b61023036899003890160408a01610827565b61051f565b6040805180820182525f54815260015460208083019190915282516080810184526002548185019081526003546060830152815283518085019094526004548452600554848301529081019290925261029291839160069161051f565b6040805160808101825260065481830190815260075460608301528152815180830190925260085482526009546020838101919091528101919091526102de908290600c90869061051f565b6103378160126102f636889003880160c08901610866565b60408051608081018252600a54818301908152600b54606083015281528151808301909252600c548252600d5460208381019190915281019190915261051f565b5f5f600873ffffffffffffffffffffffffffffffffffffffff16836040516020016103629190610880565b60408051601f198184030181529082905261037c916108b4565b5f60405180830381855afa9150503d805f81146103b4576040519150601f19603f3d011682016040523d82523d5f602084013e6103b9565b606091505b50915091508180156103cc575080516020145b80156103eb5750808060200190518101906103e791906108ca565b6001145b93505050505b92915050565b5f61041360405180604001604052805f81526020015f81525090565b610456600785856040516020016104429291908251815260209283015192810192909252604082015260600190565b604051602081830303815290604052610618565b915091509250929050565b5f61047d60405180604001604052805f81526020015f81525090565b610456600685856040516020016104429291906108e1565b604080518082019091525f80825260208201526040518060400160405280835f013581526020017f30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd4784602001357f30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd4761050d9190610907565b610517919061091a565b905292915050565b8151848460188110610533576105336107af565b60200201818152505081602001518484600161054f919061079c565b6018811061055f5761055f6107af565b60209081029190910191909152815101518461057c85600261079c565b6018811061058c5761058c6107af565b6020020152805151846105a085600361079c565b601881106105b0576105b06107af565b602002018181525050806020015160200151848460046105d0919061079c565b601881106105e0576105e06107af565b6020908102919091019190915281015151846105fd85600561079c565b6018811061060d5761060d6107af565b602002015250505050565b5f61063460405180604001604052805f81526020015f81525090565b5f5f8573ffffffffffffffffffffffffffffffffffffffff168560405161065b91906108b4565b5f60405180830381855afa9150503d805f8114610693576040519150601f19603f3d011682016040523d82523d5f602084013e610698565b606091505b50915091508115806106ac57508051604014155b156106bb575f93505050610200565b6001818060200190518101906106d19190610939565b9350935050509250929050565b6040518061030001604052806018906020820280368337509192915050565b5f5f5f838503610120811215610711575f5ffd5b61010081121561071f575f5ffd5b5083925061010084013567ffffffffffffffff81111561073d575f5ffd5b8401601f8101861361074d575f5ffd5b803567ffffffffffffffff811115610763575f5ffd5b8660208260051b8401011115610777575f5ffd5b939660209190910195509293505050565b634e487b7160e01b5f52601160045260245ffd5b808201808211156103f1576103f1610788565b634e487b7160e01b5f52603260045260245ffd5b6040805190810167ffffffffffffffff811182821017156107f257634e487b7160e01b5f52604160045260245ffd5b60405290565b5f60408284031215610808575f5ffd5b6108106107c3565b823581526020928301359281019290925250919050565b5f6080828403128015610838575f5ffd5b506108416107c3565b61084b84846107f8565b815261085a84604085016107f8565b60208201529392505050565b5f60408284031215610876575f5ffd5b61007c83836107f8565b5f8183825b60188110156108a4578151835260209283019290910190600101610885565b5050506103008201905092915050565b5f82518060208501845e5f920191825250919050565b5f602082840312156108da575f5ffd5b5051919050565b82518152602080840151818301528251604083015282015160608201526080810161007c565b818103818111156103f1576103f1610788565b5f8261093457634e487b7160e01b5f52601260045260245ffd5b500690565b5f604082840312801561094a575f5ffd5b506109536107c3565b82518152602092830151928101929092525091905056",
}

// Groth16Verifier is an auto generated Go binding around an Ethereum contract.
type Groth16Verifier struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *Groth16Verifier) GetABI() abi.ABI {
	return c.abi
}

// NewGroth16Verifier creates a new instance of Groth16Verifier.
func NewGroth16Verifier() *Groth16Verifier {
	parsed, err := Groth16VerifierMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &Groth16Verifier{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *Groth16Verifier) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(((uint256,uint256),((uint256,uint256),(uint256,uint256)),((uint256,uint256),(uint256,uint256)),((uint256,uint256),(uint256,uint256)),(uint256,uint256)[]) key) returns()
func (groth16Verifier *Groth16Verifier) PackConstructor(key VerifyingKey) []byte {
	enc, err := groth16Verifier.abi.Pack("", key)
	if err != nil {
		panic(err)
	}
	return enc
}

// PackVerify is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x94c8919d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function verify(((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof, uint256[] pubSignals) view returns(bool)
func (groth16Verifier *Groth16Verifier) PackVerify(proof Groth16Proof, pubSignals []*big.Int) []byte {
	enc, err := groth16Verifier.abi.Pack("verify", proof, pubSignals)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackVerify is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x94c8919d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function verify(((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof, uint256[] pubSignals) view returns(bool)
func (groth16Verifier *Groth16Verifier) TryPackVerify(proof Groth16Proof, pubSignals []*big.Int) ([]byte, error) {
	return groth16Verifier.abi.Pack("verify", proof, pubSignals)
}

// UnpackVerify is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x94c8919d.
//
// Solidity: function verify(((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof, uint256[] pubSignals) view returns(bool)
func (groth16Verifier *Groth16Verifier) UnpackVerify(data []byte) (bool, error) {
	out, err := groth16Verifier.abi.Unpack("verify", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// InclusionVerifierMetaData contains all meta data concerning the InclusionVerifier contract.
var InclusionVerifierMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"piece\",\"type\":\"bytes32\"},{\"internalType\":\"uint64\",\"name\":\"size\",\"type\":\"uint64\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"index\",\"type\":\"uint64\"},{\"internalType\":\"bytes32[]\",\"name\":\"nodes\",\"type\":\"bytes32[]\"}],\"internalType\":\"structInclusionVerifier.Path\",\"name\":\"subtree\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"index\",\"type\":\"uint64\"},{\"internalType\":\"bytes32[]\",\"name\":\"nodes\",\"type\":\"bytes32[]\"}],\"internalType\":\"structInclusionVerifier.Path\",\"name\":\"entry\",\"type\":\"tuple\"},{\"internalType\":\"bytes32\",\"name\":\"aggregate\",\"type\":\"bytes32\"},{\"internalType\":\"uint64\",\"name\":\"aggregateSize\",\"type\":\"uint64\"}],\"name\":\"verify\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"}]",
	ID:  "4205fc3b05376ddc668b444dcbce2ad528",
	Bin: "0x6080604052348015600e575f5ffd5b506106a88061001c5f395ff3fe608060405234801561000f575f5ffd5b5060043610610029575f3560e01c8063ef0616c81461002d575b5f5ffd5b61004061003b366004610511565b610054565b604051901515815260200160405180910390f35b5f61006a8667ffffffffffffffff16608061020e565b158061008957506100878267ffffffffffffffff1661020061020e565b155b1561009557505f610204565b8615806100a4575060c0871615155b156100b057505f610204565b67ffffffffffffffff82166100c860208701876105a7565b90508767ffffffffffffffff16901b146100e357505f610204565b67ffffffffffffffff82166100fb60208601866105a7565b90506040901b1461010d57505f610204565b5f6101218367ffffffffffffffff16610243565b905061013767ffffffffffffffff881682610608565b6101446020880188610627565b67ffffffffffffffff161061015c575f915050610204565b610167604082610608565b6101746020870187610627565b67ffffffffffffffff1610806101b4575061019a604067ffffffffffffffff8516610608565b6101a76020870187610627565b67ffffffffffffffff1610155b156101c2575f915050610204565b6101cd888786610288565b801561020057506102006101f989896101e960208b018b610627565b6101f39190610640565b8a610338565b8686610288565b9150505b9695505050505050565b5f81831015801561022457506410000000008311155b801561023a575061023660018461066a565b8316155b90505b92915050565b5f80604061025361080085610608565b61025d9190610608565b9050600481101561026c575060045b61027760408261067d565b610281908461066a565b9392505050565b5f806102976020850185610627565b67ffffffffffffffff169050365f6102b260208701876105a7565b90925090505f5b8181101561032a575f8383838181106102d4576102d4610694565b9050602002013590506102e88160c0161590565b6102f9575f95505050505050610281565b60018516156103115761030c818a6104b8565b61031b565b61031b89826104b8565b985050600193841c93016102b9565b505050939091149392505050565b5f8067ffffffffffffffff8416604084811b6fffffffffffffffff00000000000000001691909117600881811c7eff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff167fff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff009290911b9190911617601081811c7dffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff167fffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff00009290911b9190911617602081811c7bffffffff00000000ffffffff00000000ffffffff00000000ffffffff167fffffffff00000000ffffffff00000000ffffffff00000000ffffffff000000009290911b919091161780821c77ffffffffffffffff0000000000000000ffffffffffffffff167fffffffffffffffff0000000000000000ffffffffffffffff00000000000000009190921b1617608081811c91901b1790505f60806104a887846104b8565b901c90506102048660c019831684175b5f825f528160205260205f60405f60025afa6104d2575f5ffd5b50505f5160c01916919050565b803567ffffffffffffffff811681146104f6575f5ffd5b919050565b5f6040828403121561050b575f5ffd5b50919050565b5f5f5f5f5f5f60c08789031215610526575f5ffd5b86359550610536602088016104df565b9450604087013567ffffffffffffffff811115610551575f5ffd5b61055d89828a016104fb565b945050606087013567ffffffffffffffff811115610579575f5ffd5b61058589828a016104fb565b9350506080870135915061059b60a088016104df565b90509295509295509295565b5f5f8335601e198436030181126105bc575f5ffd5b83018035915067ffffffffffffffff8211156105d6575f5ffd5b6020019150600581901b36038213156105ed575f5ffd5b9250929050565b634e487b7160e01b5f52601160045260245ffd5b5f8261062257634e487b7160e01b5f52601260045260245ffd5b500490565b5f60208284031215610637575f5ffd5b61023a826104df565b67ffffffffffffffff8181168382160290811690818114610663576106636105f4565b5092915050565b8181038181111561023d5761023d6105f4565b808202811582820484141761023d5761023d6105f4565b634e487b7160e01b5f52603260045260245ffd",
}

// InclusionVerifier is an auto generated Go binding around an Ethereum contract.
type InclusionVerifier struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *InclusionVerifier) GetABI() abi.ABI {
	return c.abi
}

// NewInclusionVerifier creates a new instance of InclusionVerifier.
func NewInclusionVerifier() *InclusionVerifier {
	parsed, err := InclusionVerifierMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &InclusionVerifier{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *InclusionVerifier) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackVerify is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xef0616c8.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function verify(bytes32 piece, uint64 size, (uint64,bytes32[]) subtree, (uint64,bytes32[]) entry, bytes32 aggregate, uint64 aggregateSize) view returns(bool)
func (inclusionVerifier *InclusionVerifier) PackVerify(piece [32]byte, size uint64, subtree InclusionVerifierPath, entry InclusionVerifierPath, aggregate [32]byte, aggregateSize uint64) []byte {
	enc, err := inclusionVerifier.abi.Pack("verify", piece, size, subtree, entry, aggregate, aggregateSize)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackVerify is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xef0616c8.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function verify(bytes32 piece, uint64 size, (uint64,bytes32[]) subtree, (uint64,bytes32[]) entry, bytes32 aggregate, uint64 aggregateSize) view returns(bool)
func (inclusionVerifier *InclusionVerifier) TryPackVerify(piece [32]byte, size uint64, subtree InclusionVerifierPath, entry InclusionVerifierPath, aggregate [32]byte, aggregateSize uint64) ([]byte, error) {
	return inclusionVerifier.abi.Pack("verify", piece, size, subtree, entry, aggregate, aggregateSize)
}

// UnpackVerify is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xef0616c8.
//
// Solidity: function verify(bytes32 piece, uint64 size, (uint64,bytes32[]) subtree, (uint64,bytes32[]) entry, bytes32 aggregate, uint64 aggregateSize) view returns(bool)
func (inclusionVerifier *InclusionVerifier) UnpackVerify(data []byte) (bool, error) {
	out, err := inclusionVerifier.abi.Unpack("verify", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// MarketplaceMetaData contains all meta data concerning the Marketplace contract.
var MarketplaceMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint8\",\"name\":\"repairRewardPercentage\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"maxNumberOfSlashes\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"slashPercentage\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"validatorRewardPercentage\",\"type\":\"uint8\"}],\"internalType\":\"structCollateralConfig\",\"name\":\"collateral\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"timeout\",\"type\":\"uint64\"},{\"internalType\":\"uint8\",\"name\":\"downtime\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"downtimeProduct\",\"type\":\"uint8\"},{\"internalType\":\"string\",\"name\":\"zkeyHash\",\"type\":\"string\"}],\"internalType\":\"structProofConfig\",\"name\":\"proofs\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint8\",\"name\":\"maxReservations\",\"type\":\"uint8\"}],\"internalType\":\"structSlotReservationsConfig\",\"name\":\"reservations\",\"type\":\"tuple\"},{\"internalType\":\"uint64\",\"name\":\"requestDurationLimit\",\"type\":\"uint64\"}],\"internalType\":\"structMarketplaceConfig\",\"name\":\"config\",\"type\":\"tuple\"},{\"internalType\":\"contractIERC20\",\"name\":\"token_\",\"type\":\"address\"},{\"internalType\":\"contractIGroth16Verifier\",\"name\":\"verifier\",\"type\":\"address\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[],\"name\":\"Marketplace_AlreadyPaid\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_DurationExceedsLimit\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InsufficientCollateral\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InsufficientDuration\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InsufficientProofProbability\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InsufficientReward\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InsufficientSlots\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidCid\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidClientAddress\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidExpiry\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidMaxSlotLoss\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidSlot\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidSlotHost\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_InvalidState\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_MaximumSlashingTooHigh\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_NothingToWithdraw\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_ProofNotSubmittedByHost\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_RepairRewardPercentageTooHigh\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_RequestAlreadyExists\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_ReservationRequired\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_SlashPercentageTooHigh\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_SlotIsFree\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_SlotNotAcceptingProofs\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_SlotNotFree\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_StartNotBeforeExpiry\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_TransferFailed\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Marketplace_UnknownRequest\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Periods_InvalidSecondsPerPeriod\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_InsufficientBlockHeight\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_InvalidProof\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_PeriodNotEnded\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_ProofAlreadyMarkedMissing\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_ProofAlreadySubmitted\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_ProofNotMissing\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_ProofNotRequired\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Proofs_ValidationTimedOut\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"SlotReservations_ReservationNotAllowed\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"SlotId\",\"name\":\"id\",\"type\":\"bytes32\"}],\"name\":\"ProofSubmitted\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"RequestCancelled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"RequestFailed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"RequestFulfilled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"name\":\"SlotFilled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"name\":\"SlotFreed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"name\":\"SlotReservationsFull\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"proofProbability\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"pricePerBytePerSecond\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"collateralPerByte\",\"type\":\"uint256\"},{\"internalType\":\"uint64\",\"name\":\"slots\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"slotSize\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"duration\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"maxSlotLoss\",\"type\":\"uint64\"}],\"indexed\":false,\"internalType\":\"structAsk\",\"name\":\"ask\",\"type\":\"tuple\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"expiry\",\"type\":\"uint64\"}],\"name\":\"StorageRequested\",\"type\":\"event\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"},{\"internalType\":\"Period\",\"name\":\"period\",\"type\":\"uint64\"}],\"name\":\"canMarkProofAsMissing\",\"outputs\":[],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"name\":\"canReserveSlot\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"configuration\",\"outputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint8\",\"name\":\"repairRewardPercentage\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"maxNumberOfSlashes\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"slashPercentage\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"validatorRewardPercentage\",\"type\":\"uint8\"}],\"internalType\":\"structCollateralConfig\",\"name\":\"collateral\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"timeout\",\"type\":\"uint64\"},{\"internalType\":\"uint8\",\"name\":\"downtime\",\"type\":\"uint8\"},{\"internalType\":\"uint8\",\"name\":\"downtimeProduct\",\"type\":\"uint8\"},{\"internalType\":\"string\",\"name\":\"zkeyHash\",\"type\":\"string\"}],\"internalType\":\"structProofConfig\",\"name\":\"proofs\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint8\",\"name\":\"maxReservations\",\"type\":\"uint8\"}],\"internalType\":\"structSlotReservationsConfig\",\"name\":\"reservations\",\"type\":\"tuple\"},{\"internalType\":\"uint64\",\"name\":\"requestDurationLimit\",\"type\":\"uint64\"}],\"internalType\":\"structMarketplaceConfig\",\"name\":\"\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"currentCollateral\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"a\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"b\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"c\",\"type\":\"tuple\"}],\"internalType\":\"structGroth16Proof\",\"name\":\"proof\",\"type\":\"tuple\"}],\"name\":\"fillSlot\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"rewardRecipient\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"collateralRecipient\",\"type\":\"address\"}],\"name\":\"freeSlot\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"freeSlot\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"getActiveSlot\",\"outputs\":[{\"components\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"client\",\"type\":\"address\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"proofProbability\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"pricePerBytePerSecond\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"collateralPerByte\",\"type\":\"uint256\"},{\"internalType\":\"uint64\",\"name\":\"slots\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"slotSize\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"duration\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"maxSlotLoss\",\"type\":\"uint64\"}],\"internalType\":\"structAsk\",\"name\":\"ask\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bytes\",\"name\":\"cid\",\"type\":\"bytes\"},{\"internalType\":\"bytes32\",\"name\":\"merkleRoot\",\"type\":\"bytes32\"}],\"internalType\":\"structContent\",\"name\":\"content\",\"type\":\"tuple\"},{\"internalType\":\"uint64\",\"name\":\"expiry\",\"type\":\"uint64\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"internalType\":\"structRequest\",\"name\":\"request\",\"type\":\"tuple\"},{\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"internalType\":\"structActiveSlot\",\"name\":\"\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"getChallenge\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"getHost\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"getPointer\",\"outputs\":[{\"internalType\":\"uint8\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"getRequest\",\"outputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"client\",\"type\":\"address\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"proofProbability\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"pricePerBytePerSecond\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"collateralPerByte\",\"type\":\"uint256\"},{\"internalType\":\"uint64\",\"name\":\"slots\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"slotSize\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"duration\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"maxSlotLoss\",\"type\":\"uint64\"}],\"internalType\":\"structAsk\",\"name\":\"ask\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bytes\",\"name\":\"cid\",\"type\":\"bytes\"},{\"internalType\":\"bytes32\",\"name\":\"merkleRoot\",\"type\":\"bytes32\"}],\"internalType\":\"structContent\",\"name\":\"content\",\"type\":\"tuple\"},{\"internalType\":\"uint64\",\"name\":\"expiry\",\"type\":\"uint64\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"internalType\":\"structRequest\",\"name\":\"\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"isProofRequired\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"},{\"internalType\":\"Period\",\"name\":\"period\",\"type\":\"uint64\"}],\"name\":\"markProofAsMissing\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"missingProofs\",\"outputs\":[{\"internalType\":\"uint64\",\"name\":\"\",\"type\":\"uint64\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"myRequests\",\"outputs\":[{\"internalType\":\"bytes32[]\",\"name\":\"\",\"type\":\"bytes32[]\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"mySlots\",\"outputs\":[{\"internalType\":\"bytes32[]\",\"name\":\"\",\"type\":\"bytes32[]\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"requestEnd\",\"outputs\":[{\"internalType\":\"uint64\",\"name\":\"\",\"type\":\"uint64\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"requestExpiry\",\"outputs\":[{\"internalType\":\"uint64\",\"name\":\"\",\"type\":\"uint64\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"requestState\",\"outputs\":[{\"internalType\":\"enumRequestState\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"client\",\"type\":\"address\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"proofProbability\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"pricePerBytePerSecond\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"collateralPerByte\",\"type\":\"uint256\"},{\"internalType\":\"uint64\",\"name\":\"slots\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"slotSize\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"duration\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"maxSlotLoss\",\"type\":\"uint64\"}],\"internalType\":\"structAsk\",\"name\":\"ask\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bytes\",\"name\":\"cid\",\"type\":\"bytes\"},{\"internalType\":\"bytes32\",\"name\":\"merkleRoot\",\"type\":\"bytes32\"}],\"internalType\":\"structContent\",\"name\":\"content\",\"type\":\"tuple\"},{\"internalType\":\"uint64\",\"name\":\"expiry\",\"type\":\"uint64\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"internalType\":\"structRequest\",\"name\":\"request\",\"type\":\"tuple\"}],\"name\":\"requestStorage\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"name\":\"reserveSlot\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"slotProbability\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"slotState\",\"outputs\":[{\"internalType\":\"enumSlotState\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"a\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"b\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"c\",\"type\":\"tuple\"}],\"internalType\":\"structGroth16Proof\",\"name\":\"proof\",\"type\":\"tuple\"}],\"name\":\"submitProof\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"token\",\"outputs\":[{\"internalType\":\"contractIERC20\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"SlotId\",\"name\":\"slotId\",\"type\":\"bytes32\"}],\"name\":\"willProofBeRequired\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"}],\"name\":\"withdrawFunds\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"RequestId\",\"name\":\"requestId\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"withdrawRecipient\",\"type\":\"address\"}],\"name\":\"withdrawFunds\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "f942624937809812191acf2eee599a17e1",
	Bin: "0x610160604052348015610010575f5ffd5b5060405161446238038061446283398101604081905261002f9161049b565b60408301516020840151805183906001600160401b0381165f036100665760405163015536c760e51b815260040160405180910390fd5b6001600160401b03166080526101004311610094576040516338f5f66160e11b815260040160405180910390fd5b6001600160a01b031660a05260208101516001600160401b031660c052604081015160ff90811660e05260609091015181166101005290518116610120528351805190916064911611156100fb576040516302bd816360e41b815260040160405180910390fd5b6064816040015160ff161115610124576040516354e5e0ab60e11b815260040160405180910390fd5b60648160400151826020015161013a91906105a9565b60ff16111561015c576040516317ff9d0f60e21b815260040160405180910390fd5b835180516007805460208085015160408087015160609788015160ff90811663010000000263ff0000001992821662010000029290921663ffff0000199482166101000261ffff1990971698821698909817959095179290921695909517178355808901518051600880549383015196830151978301518516600160881b0260ff60881b1998909516600160801b029790971661ffff60801b196001600160401b0397881668010000000000000000026001600160801b0319909516979092169690961792909217919091169390931717835560808201518793919291906009906102479082610667565b50505060408201515160038201805460ff191660ff909216919091179055606090910151600490910180546001600160401b0319166001600160401b0390921691909117905550506001600160a01b03166101405250610725565b634e487b7160e01b5f52604160045260245ffd5b60405160a081016001600160401b03811182821017156102d8576102d86102a2565b60405290565b604051608081016001600160401b03811182821017156102d8576102d86102a2565b604051601f8201601f191681016001600160401b0381118282101715610328576103286102a2565b604052919050565b805160ff81168114610340575f5ffd5b919050565b80516001600160401b0381168114610340575f5ffd5b5f60a0828403121561036b575f5ffd5b6103736102b6565b905061037e82610345565b815261038c60208301610345565b602082015261039d60408301610330565b60408201526103ae60608301610330565b606082015260808201516001600160401b038111156103cb575f5ffd5b8201601f810184136103db575f5ffd5b80516001600160401b038111156103f4576103f46102a2565b610407601f8201601f1916602001610300565b81815285602083850101111561041b575f5ffd5b8160208401602083015e5f6020838301015280608085015250505092915050565b5f6020828403121561044c575f5ffd5b604051602081016001600160401b038111828210171561046e5761046e6102a2565b60405290508061047d83610330565b905292915050565b80516001600160a01b0381168114610340575f5ffd5b5f5f5f606084860312156104ad575f5ffd5b83516001600160401b038111156104c2575f5ffd5b840180860360e08112156104d4575f5ffd5b6104dc6102de565b60808212156104e9575f5ffd5b6104f16102de565b91506104fc83610330565b825261050a60208401610330565b602083015261051b60408401610330565b604083015261052c60608401610330565b60608301529081526080820151906001600160401b0382111561054d575f5ffd5b6105598883850161035b565b602082015261056b8860a0850161043c565b604082015261057c60c08401610345565b6060820152945061059291505060208501610485565b91506105a060408501610485565b90509250925092565b60ff81811683821602908116908181146105d157634e487b7160e01b5f52601160045260245ffd5b5092915050565b600181811c908216806105ec57607f821691505b60208210810361060a57634e487b7160e01b5f52602260045260245ffd5b50919050565b601f821115610662578282111561066257805f5260205f20601f840160051c602085101561063b57505f5b90810190601f840160051c035f5b8181101561065e575f83820155600101610649565b5050505b505050565b81516001600160401b03811115610680576106806102a2565b6106948161068e84546105d8565b84610610565b6020601f8211600181146106c6575f83156106af5750848201515b5f19600385901b1c1916600184901b17845561071e565b5f84815260208120601f198516915b828110156106f557878501518255602094850194600190920191016106d5565b508482101561071257868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b60805160a05160c05160e051610100516101205161014051613cc26107a05f395f81816104d601528181611fb7015261218b01525f81816108f3015261177201525f61223c01525f8181610dea0152818161120901526127c801525f61284801525f612d5601525f8181612ec50152612eed0152613cc25ff3fe608060405234801561000f575f5ffd5b50600436106101c6575f3560e01c80636e2b54ee116100fe578063c0cc4add1161009e578063e8aa0a071161006e578063e8aa0a071461046f578063f752196b14610482578063fb1e61ca146104b1578063fc0c546a146104d1575f5ffd5b8063c0cc4add14610423578063c5d4335114610436578063d02bbe3314610449578063d1bb36b61461045c575f5ffd5b8063a29c29a4116100d9578063a29c29a4146103ad578063a3a0807e146103c0578063b396dc79146103e3578063be5cdc4814610403575f5ffd5b80636e2b54ee1461037f5780639777b72c1461039257806399b6da0c1461039a575f5ffd5b8063329b5a0b1161016957806351a766421161014457806351a76642146102ff5780635da73835146103125780636b00c8cf146103275780636c70bee91461036a575f5ffd5b8063329b5a0b14610298578063458d2bf1146102c75780634641dce6146102da575f5ffd5b806312827602116101a4578063128276021461022f5780631d873c1b14610242578063237d84821461025557806326d6f83414610268575f5ffd5b806302fa8e65146101ca57806305b90773146101fa5780630aefaabe1461021a575b5f5ffd5b6101dd6101d83660046130a2565b6104f8565b6040516001600160401b0390911681526020015b60405180910390f35b61020d6102083660046130a2565b6105cf565b6040516101f191906130cd565b61022d6102283660046130fb565b610698565b005b61022d61023d366004613159565b610888565b61022d61025036600461319e565b610966565b61022d610263366004613159565b610cef565b61028a6102763660046130a2565b5f9081526004602052604090206001015490565b6040519081526020016101f1565b6101dd6102a63660046130a2565b5f90815260036020526040902054600160881b90046001600160401b031690565b61028a6102d53660046130a2565b610db2565b6102ed6102e83660046130a2565b610dd2565b60405160ff90911681526020016101f1565b61028a61030d3660046130a2565b610ddf565b61031a610e42565b6040516101f191906131db565b6103526103353660046130a2565b5f908152600460205260409020600201546001600160a01b031690565b6040516001600160a01b0390911681526020016101f1565b610372610ea0565b6040516101f1919061329f565b61022d61038d3660046130a2565b611007565b61031a611014565b61022d6103a8366004613323565b611070565b61022d6103bb3660046130a2565b6111dc565b6103d36103ce3660046130a2565b6111e7565b60405190151581526020016101f1565b6103f66103f13660046130a2565b611239565b6040516101f1919061344c565b6104166104113660046130a2565b61141f565b6040516101f19190613486565b6103d36104313660046130a2565b6114f9565b61022d61044436600461349a565b61150b565b6103d3610457366004613159565b611712565b61022d61046a366004613159565b6117c2565b61022d61047d3660046134bd565b6117d9565b6101dd6104903660046130a2565b5f90815260208190526040902054600160401b90046001600160401b031690565b6104c46104bf3660046130a2565b611876565b6040516101f191906134e9565b6103527f000000000000000000000000000000000000000000000000000000000000000081565b5f5f610503836105cf565b5f848152600360205260408120919250826004811115610525576105256130b9565b148061054257506001826004811115610540576105406130b9565b145b1561055f5754600160481b90046001600160401b03169392505050565b6002826004811115610573576105736130b9565b036105905754600160881b90046001600160401b03169392505050565b805442906001600160401b03808316600160481b90920416106105b357806105c6565b8154600160481b90046001600160401b03165b95945050505050565b5f6105d9826119de565b505f8281526003602052604081208054909160ff9091169080826004811115610604576106046130b9565b14806106215750600182600481111561061f5761061f6130b9565b145b90505f826004811115610636576106366130b9565b14801561065357508254600160881b90046001600160401b031642115b1561066357506002949350505050565b80801561068057508254600160481b90046001600160401b031642115b1561069057506003949350505050565b509392505050565b5f838152600460205260408120906002820154600160a01b900460ff1660068111156106c6576106c66130b9565b036106e457604051638b41ec7f60e01b815260040160405180910390fd5b60028101546001600160a01b0316331461072a576040517f57a6f4e900000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f6107348561141f565b9050600481600681111561074a5761074a6130b9565b03610781576040517fc2cbf77700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b81545f81815260036020526040902060028360068111156107a4576107a46130b9565b0361080857805460ff191660031781555f828152600260209081526040808320546001600160a01b031680845260059092529091206107e39084611a31565b8154610802908990600160481b90046001600160401b03168989611afb565b5061087f565b600583600681111561081c5761081c6130b9565b03610845578054610840908890600160881b90046001600160401b03168888611afb565b61087f565b6003836006811115610859576108596130b9565b0361087657335f9081526006602052604090206108409088611a31565b61087f87611b94565b50505050505050565b6108928282611712565b6108c8576040517f424a04ab00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f60015f6108d68585611e10565b815260208101919091526040015f2090506108f18133611e54565b7f000000000000000000000000000000000000000000000000000000000000000060ff1661091d825490565b03610961576040516001600160401b038316815283907fc8e6c955744189a19222ec226b72ac1435d88d5745252dac56e6f679f64c037a9060200160405180910390a25b505050565b5f610970846119de565b60048101549091506001600160401b03908116908416106109bd576040517f3b920b8800000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f6109c88585611e10565b90506109d48133611e96565b610a0a576040517fd651ce1800000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f81815260046020526040812086815560038101805467ffffffffffffffff19166001600160401b03881617905590610a428361141f565b90505f6006826006811115610a5957610a596130b9565b149050801581610a7a57505f826006811115610a7757610a776130b9565b14155b15610ab1576040517fff556acf00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6002830180547fffffff0000000000000000ff000000000000000000000000000000000000000016337fffffff0000000000000000ffffffffffffffffffffffffffffffffffffffffff1617600160a81b426001600160401b038116918202929092179092555f868152602081905260409020805467ffffffffffffffff1916909217909155610b4185886117d9565b5f898152600360205260409020805460019082908290610b7090829061010090046001600160401b031661350f565b92506101000a8154816001600160401b0302191690836001600160401b03160217905550610bb58783835f0160099054906101000a90046001600160401b0316611ec4565b816001015f828254610bc7919061352e565b909155505f9050610bda60018901611f39565b6001870181905560028701805460ff60a01b1916600160a01b179055335f908152600660205260409020909150610c119088611e54565b610c2f84610c1f5781611f7c565b610c2a600783611f60565b611f7c565b6040516001600160401b038b1681528b907f8f301470a994578b52323d625dfbf827ca5208c81747d3459be7b8867baec3ec9060200160405180910390a26004880154825461010090046001600160401b039081169116148015610ca757505f825460ff166004811115610ca557610ca56130b9565b145b15610ce257815460ff191660011782556040518b907f85e1543bf2f84fe80c6badbce3648c8539ad1df4d2b3d822938ca0538be727e6905f90a25b5050505050505050505050565b610cf882612046565b610d028282612099565b5f82815260046020908152604080832080548452600290925282209091600791610d2e90600101611f39565b90505f610d3b838361211b565b905080846001015f828254610d50919061352e565b90915550610d69905033610d648584612133565b61214c565b82545f8781526020819052604090205461010090910460ff1690600160401b90046001600160401b03166001600160401b031610610daa57610daa86611b94565b505050505050565b5f610dcc610dc783610dc2612212565b612221565b6122a8565b92915050565b5f610dcc82610dc2612212565b5f610100610e1060ff7f0000000000000000000000000000000000000000000000000000000000000000168261352e565b5f8481526004602090815260408083205483526002909152902060010154610e389190613541565b610dcc919061356c565b335f90815260066020908152604091829020805483518184028101840190945280845260609392830182828015610e9657602002820191905f5260205f20905b815481526020019060010190808311610e82575b5050505050905090565b610ea8612f74565b6040805161010080820183526007805460ff8082166080808701918252948304821660a080880191909152620100008404831660c08801526301000000909304821660e0870152855285519182018652600880546001600160401b038082168552600160401b820416602085810191909152600160801b8204841698850198909852600160881b9004909116606083015260098054959693959387019492939192840191610f559061357f565b80601f0160208091040260200160405190810160405280929190818152602001828054610f819061357f565b8015610fcc5780601f10610fa357610100808354040283529160200191610fcc565b820191905f5260205f20905b815481529060010190602001808311610faf57829003601f168201915b5050509190925250505081526040805160208181018352600385015460ff1682528301526004909201546001600160401b0316910152919050565b611011813361150b565b50565b335f90815260056020908152604091829020805483518184028101840190945280845260609392830182828015610e9657602002820191905f5260205f2090815481526020019060010190808311610e82575050505050905090565b5f61107a82612300565b9050611086818361232f565b5f818152600260205260409020829061109f8282613762565b504290505f6110b661014085016101208601613935565b6110c0908361350f565b5f848152600260205260408120919250906110dd906001016126b2565b5f8581526003602052604090209091506110fd60e0870160c08801613935565b611107908561350f565b81547fffffffffffffff00000000000000000000000000000000ffffffffffffffffff16600160481b6001600160401b03928316027fffffffffffffff0000000000000000ffffffffffffffffffffffffffffffffff1617600160881b9185169190910217815560018101829055335f90815260056020526040902061118d9086611e54565b61119682611f7c565b7f1bf9c457accf8703dbf7cdf1b58c2f74ddf2e525f98155c70b3d318d74609bd88587602001856040516111cc939291906139dc565b60405180910390a1505050505050565b611011813333610698565b5f5f5f6111fb846111f6612212565b6126f5565b9150915081801561123157507f000000000000000000000000000000000000000000000000000000000000000060ff168160ff16105b949350505050565b611241612fe8565b5f828152600460205260408120906002820154600160a01b900460ff16600681111561126f5761126f6130b9565b0361128d57604051638b41ec7f60e01b815260040160405180910390fd5b6040805182545f908152600260208181529184902060e0808501865281546001600160a01b03168587019081528651918201875260018301548252928201549381019390935260038101548386015260048101546001600160401b03808216606086810191909152600160401b83048216608080880191909152600160801b8404831660a0880152600160c01b90930490911660c08601528501939093528451808601909552600581018054949586959394929392860192909190829082906113559061357f565b80601f01602080910402602001604051908101604052809291908181526020018280546113819061357f565b80156113cc5780601f106113a3576101008083540402835291602001916113cc565b820191905f5260205f20905b8154815290600101906020018083116113af57829003601f168201915b50505091835250506001919091015460209182015290825260078301546001600160401b039081168383015260089093015460409092019190915291835260039094015490931692019190915292915050565b5f8181526004602052604081208054820361143c57505f92915050565b60046002820154600160a01b900460ff16600681111561145e5761145e6130b9565b0361146c5750600492915050565b5f611479825f01546105cf565b9050600281600481111561148f5761148f6130b9565b0361149e575060059392505050565b60038160048111156114b2576114b26130b9565b036114c1575060029392505050565b60048160048111156114d5576114d56130b9565b036114e4575060039392505050565b5060020154600160a01b900460ff1692915050565b5f610dcc82611506612212565b6127ab565b5f611515836119de565b80549091506001600160a01b03163314611542576040516334c69e3160e11b815260040160405180910390fd5b5f61154c846105cf565b90505f816004811115611561576115616130b9565b148061157e5750600181600481111561157c5761157c6130b9565b145b156115b5576040517fc00b5b5700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f84815260036020526040812060018101549091819003611602576040517fbd8bdd9400000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b81548390839060ff19166001836004811115611620576116206130b9565b02179055505f600183018190553381526005602052604090206116439087611a31565b6002836004811115611657576116576130b9565b036116e05781545f906116859086906001600160401b03600160881b8204811691600160481b900416611ec4565b83549091506116a390829061010090046001600160401b0316613541565b6116ad9083613a09565b60405190925087907ff903f4774c7bd27355f9d7fcbc382b079b164a697a44ac5d95267a4c3cb3bb22905f90a250611708565b60048360048111156116f4576116f46130b9565b0361170857611705846001016126b2565b90505b610daa858261214c565b5f5f61171e8484611e10565b90505f61172a8261141f565b5f83815260016020526040812091925082600681111561174c5761174c6130b9565b148061176957506006826006811115611767576117676130b9565b145b801561179e57507f000000000000000000000000000000000000000000000000000000000000000060ff1661179c825490565b105b80156117b85750335f908152600182016020526040902054155b9695505050505050565b6117cb82612046565b6117d582826127f5565b5050565b5f82815260046020526040812080549091906117f4906119de565b60028301549091506001600160a01b0316331461183d576040517fce351b9400000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f61186261184a86610db2565b600684015460038601546001600160401b03166129a6565b905061186f858583612cb9565b5050505050565b61187e612ff7565b611887826119de565b6040805160a0808201835283546001600160a01b03168252825160e08101845260018501548152600285015460208281019190915260038601548286015260048601546001600160401b038082166060850152600160401b820481166080850152600160801b8204811694840194909452600160c01b900490921660c082015290820152815180830183526005840180549294938501928290829061192b9061357f565b80601f01602080910402602001604051908101604052809291908181526020018280546119579061357f565b80156119a25780601f10611979576101008083540402835291602001916119a2565b820191905f5260205f20905b81548152906001019060200180831161198557829003601f168201915b50505091835250506001919091015460209182015290825260078301546001600160401b03169082015260089091015460409091015292915050565b5f81815260026020526040902080546001600160a01b0316611a2c576040517fbdd64a7a00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b919050565b5f81815260018301602052604081205490819003611a4e57505050565b82545f908490611a609060019061352e565b81548110611a7057611a70613a1c565b5f9182526020909120015490508084611a8a60018561352e565b81548110611a9a57611a9a613a1c565b5f91825260208083209091019290925582815260018601909152604090208290558354849080611acc57611acc613a30565b600190038181905f5260205f20015f90559055836001015f8481526020019081526020015f205f905550505050565b5f8481526004602090815260408083208054845260029283905290832091810154909291611b3991600160a81b90046001600160401b031687611ec4565b600183015460028401805460ff60a01b191674040000000000000000000000000000000000000000179055335f90815260066020526040902091925090611b809088611a31565b611b8a858361214c565b61087f848261214c565b5f818152600460209081526040808320805480855260028085528386206003909552929094209181015482549194939291611bec9184916001600160401b03600160a81b909204821691600160481b90910416611ec4565b816001015f828254611bfe9190613a09565b9091555050805460019082908290611c2590829061010090046001600160401b0316613a44565b82546001600160401b039182166101009390930a92830291909202199091161790555060028401546001600160a01b03165f908152600660205260409020611c6d9086611a31565b611c7685612e68565b5f85815260208190526040902080546fffffffffffffffff0000000000000000191690556002840180545f60018701557fffffff0000000000000000000000000000000000000000000000000000000000167406000000000000000000000000000000000000000017905560038401546040516001600160401b03909116815283907f33ba8f7627565d89f7ada2a6b81ea532b7aa9b11e91a78312d6e1fca0bfcd1dc9060200160405180910390a2805460048301545f91611d49916001600160401b0361010090920482169116613a44565b60048401549091506001600160401b03600160c01b9091048116908216118015611d8857506001825460ff166004811115611d8657611d866130b9565b145b15610daa57815460ff19166004178255611da3600142613a44565b82546001600160401b0391909116600160481b027fffffffffffffffffffffffffffffff0000000000000000ffffffffffffffffff90911617825560405184907f4769361a442504ecaf038f35e119bcccdd5e42096b24c09e3c17fd17c6684c02905f90a2505050505050565b5f8282604051602001611e369291909182526001600160401b0316602082015260400190565b60405160208183030381529060405280519060200120905092915050565b5f81815260018301602052604090205415611e6d575050565b8154600181810184555f8481526020808220909301849055845493815293019052604090912055565b5f8281526001602081815260408084206001600160a01b0386168552909201905281205415155b9392505050565b5f816001600160401b0316836001600160401b031610611f10576040517f56607cb000000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b611f1c84600101612e7e565b611f268484613a44565b6001600160401b03166112319190613541565b600381015460028201545f91610dcc91600160401b9091046001600160401b031690613541565b81545f90611f7290839060ff16612ea5565b611ebd908361352e565b6040517f23b872dd000000000000000000000000000000000000000000000000000000008152336004820152306024820152604481018290527f00000000000000000000000000000000000000000000000000000000000000006001600160a01b0316906323b872dd906064016020604051808303815f875af1158015612005573d5f5f3e3d5ffd5b505050506040513d601f19601f820116820180604052508101906120299190613a63565b61101157604051637c2ccffd60e11b815260040160405180910390fd5b60016120518261141f565b6006811115612062576120626130b9565b14611011576040517fae9dcffd00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6120a382826127f5565b5f828152602081815260408083206001600160401b038086168552600282019093529220805460ff191660019081179091558254909183916008916120f2918591600160401b9091041661350f565b92506101000a8154816001600160401b0302191690836001600160401b03160217905550505050565b81545f90611ebd90839062010000900460ff16612ea5565b81545f90611ebd9083906301000000900460ff16612ea5565b6040517fa9059cbb0000000000000000000000000000000000000000000000000000000081526001600160a01b038381166004830152602482018390527f0000000000000000000000000000000000000000000000000000000000000000169063a9059cbb906044016020604051808303815f875af11580156121d1573d5f5f3e3d5ffd5b505050506040513d601f19601f820116820180604052508101906121f59190613a63565b6117d557604051637c2ccffd60e11b815260040160405180910390fd5b5f61221c42612ebf565b905090565b5f8061222f61010043613a82565b90505f61010061226b60ff7f0000000000000000000000000000000000000000000000000000000000000000166001600160401b038716613541565b6122759190613a82565b90505f61228461010087613a82565b9050610100816122948486613a09565b61229e9190613a09565b6117b89190613a82565b5f8060ff83166122b960014361352e565b6122c3919061352e565b4090505f8190036122d6576122d6613a95565b60408051602081018390520160405160208183030381529060405280519060200120915050919050565b5f816040516020016123129190613aa9565b604051602081830303815290604052805190602001209050919050565b602081013361233e8284613ba9565b6001600160a01b031614612365576040516334c69e3160e11b815260040160405180910390fd5b5f838152600260205260409020546001600160a01b0316156123b3576040517ffc7d069000000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6123c561014083016101208401613935565b6001600160401b0316158061240c57506123e560c0820160a08301613935565b6001600160401b031661240061014084016101208501613935565b6001600160401b031610155b15612443576040517fdf63f61a00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6124536080820160608301613935565b6001600160401b03165f03612494576040517f535ed2be00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6124a46080820160608301613935565b6001600160401b03166124bd60e0830160c08401613935565b6001600160401b031611156124fe576040517fb9551ab100000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b61250e60c0820160a08301613935565b6001600160401b03165f0361254f576040517f090a5ecd00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b80355f03612589576040517f6aba7aae00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b80604001355f036125c6576040517ffb7df0c700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b80602001355f03612603576040517f47ba51c700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6126116101008301836135bd565b61261b90806135db565b90505f03612655576040517f86f8cf9b00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b600b546001600160401b031661267160c0830160a08401613935565b6001600160401b03161115610961576040517f1267b3f200000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b60038101545f9081906126d7906001600160401b03600160801b820481169116613bc4565b90506126e283612e7e565b611ebd906001600160401b038316613541565b5f8060016127028561141f565b6006811115612713576127136130b9565b1461272257505f9050806127a4565b5f84815260208190526040902054612759908490612748906001600160401b0316612ebf565b6001600160401b0390811691161190565b61276757505f9050806127a4565b6127718484612221565b90505f61277d826122a8565b90505f61278986610ddf565b905080158061279f575061279d8183613a82565b155b935050505b9250929050565b5f5f5f6127b885856126f5565b915091508180156105c6575060ff7f0000000000000000000000000000000000000000000000000000000000000000811691161015949350505050565b5f6127ff82612eea565b905042816001600160401b031610612843576040517f6b4b1a4e00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b61286d7f00000000000000000000000000000000000000000000000000000000000000008261350f565b6001600160401b031642106128ae576040517fde55698e00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f838152602081815260408083206001600160401b0386168452600181019092529091205460ff161561290c576040517efab7d900000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b61291684846127ab565b61294c576040517fd3ffa66b00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6001600160401b0383165f90815260028201602052604090205460ff16156129a0576040517f98e7e55100000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b50505050565b60408051600380825260808201909252606091602082018380368337019050509050612b10845f600882811c7eff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff167fff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff0000009184901b9190911617601081811c7dffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff167fffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff00009290911b9190911617602081811c7bffffffff00000000ffffffff00000000ffffffff00000000ffffffff167fffffffff00000000ffffffff00000000ffffffff00000000ffffffff000000009290911b9190911617604081811c77ffffffffffffffff0000000000000000ffffffffffffffff167fffffffffffffffff0000000000000000ffffffffffffffff00000000000000009290911b9190911617608081811c91901b17610dcc565b815f81518110612b2257612b22613a1c565b602090810291909101810191909152600884811c7eff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff167fff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff009186901b9190911617601081811c7dffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff167fffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff00009290911b919091161780821c7bffffffff00000000ffffffff00000000ffffffff00000000ffffffff167fffffffff00000000ffffffff00000000ffffffff00000000ffffffff000000009190921b1617604081811c77ffffffffffffffff0000000000000000ffffffffffffffff167fffffffffffffffff0000000000000000ffffffffffffffff00000000000000009290911b9190911617608081811c91901b1781600181518110612c7d57612c7d613a1c565b602002602001018181525050816001600160401b031681600281518110612ca657612ca6613a1c565b6020026020010181815250509392505050565b5f83815260208190526040812090612ccf612212565b6001600160401b0381165f90815260018401602052604090205490915060ff1615612d26576040517f3edef7db00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6040517f94c8919d0000000000000000000000000000000000000000000000000000000081526001600160a01b037f000000000000000000000000000000000000000000000000000000000000000016906394c8919d90612d8d9087908790600401613bed565b602060405180830381865afa158015612da8573d5f5f3e3d5ffd5b505050506040513d601f19601f82011682018060405250810190612dcc9190613a63565b612e02576040517ffcd03a4700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6001600160401b0381165f9081526001838101602052604091829020805460ff19169091179055517f3b989d183b84b02259d7c14b34a9c9eb0fccb4c355a920d25e581e25aef4993d90612e599087815260200190565b60405180910390a15050505050565b5f81815260016020526040902061101190612f21565b600381015460018201545f91610dcc91600160401b9091046001600160401b031690613541565b5f6064612eb560ff841685613541565b611ebd919061356c565b5f610dcc7f000000000000000000000000000000000000000000000000000000000000000083613c95565b5f7f0000000000000000000000000000000000000000000000000000000000000000612f1783600161350f565b610dcc9190613bc4565b80545f5b81811015612f6957826001015f845f018381548110612f4657612f46613a1c565b5f9182526020808320909101548352820192909252604001812055600101612f25565b506117d5825f613071565b60408051610100810182525f608080830182815260a080850184905260c0850184905260e08501849052908452845190810185528281526020808201849052818601849052606080830185905292820192909252818401528351908101845290815290918201905b81525f60209091015290565b6040518060400160405280612fdc5b6040805160a080820183525f808352835160e0810185528181526020818101839052948101829052606081018290526080810182905291820181905260c08201529091820190815260200161305e6040518060400160405280606081526020015f81525090565b81525f6020820181905260409091015290565b5080545f8255905f5260205f2090613089919061308b565b565b5f5b80821115610961575f8184015560010161308d565b5f602082840312156130b2575f5ffd5b5035919050565b634e487b7160e01b5f52602160045260245ffd5b60208101600583106130e1576130e16130b9565b91905290565b6001600160a01b0381168114611011575f5ffd5b5f5f5f6060848603121561310d575f5ffd5b83359250602084013561311f816130e7565b9150604084013561312f816130e7565b809150509250925092565b6001600160401b0381168114611011575f5ffd5b8035611a2c8161313a565b5f5f6040838503121561316a575f5ffd5b82359150602083013561317c8161313a565b809150509250929050565b5f6101008284031215613198575f5ffd5b50919050565b5f5f5f61014084860312156131b1575f5ffd5b8335925060208401356131c38161313a565b91506131d28560408601613187565b90509250925092565b602080825282518282018190525f918401906040840190835b818110156132125783518352602093840193909201916001016131f4565b509095945050505050565b5f81518084528060208401602086015e5f602082860101526020601f19601f83011685010191505092915050565b6001600160401b0381511682526001600160401b03602082015116602083015260ff604082015116604083015260ff60608201511660608301525f608082015160a0608085015261123160a085018261321d565b602081525f825160ff815116602084015260ff602082015116604084015260ff604082015116606084015260ff606082015116608084015250602083015160e060a08401526132f261010084018261324b565b9050604084015161330960c08501825160ff169052565b5060608401516001600160401b03811660e0850152610690565b5f60208284031215613333575f5ffd5b81356001600160401b03811115613348575f5ffd5b82016101608185031215611ebd575f5ffd5b5f81516040845261336e604085018261321d565b602093840151949093019390935250919050565b6001600160a01b0381511682525f60208201518051602085015260208101516040850152604081015160608501526001600160401b0360608201511660808501526001600160401b0360808201511660a08501526001600160401b0360a08201511660c08501526001600160401b0360c08201511660e085015250604082015161016061010085015261341961016085018261335a565b905060608301516134366101208601826001600160401b03169052565b5060808301516101408501528091505092915050565b602081525f8251604060208401526134676060840182613382565b90506001600160401b0360208501511660408401528091505092915050565b60208101600783106130e1576130e16130b9565b5f5f604083850312156134ab575f5ffd5b82359150602083013561317c816130e7565b5f5f61012083850312156134cf575f5ffd5b823591506134e08460208501613187565b90509250929050565b602081525f611ebd6020830184613382565b634e487b7160e01b5f52601160045260245ffd5b6001600160401b038181168382160190811115610dcc57610dcc6134fb565b81810381811115610dcc57610dcc6134fb565b8082028115828204841417610dcc57610dcc6134fb565b634e487b7160e01b5f52601260045260245ffd5b5f8261357a5761357a613558565b500490565b600181811c9082168061359357607f821691505b60208210810361319857634e487b7160e01b5f52602260045260245ffd5b5f8135610dcc8161313a565b5f8235603e198336030181126135d1575f5ffd5b9190910192915050565b5f5f8335601e198436030181126135f0575f5ffd5b8301803591506001600160401b03821115613609575f5ffd5b6020019150368190038213156127a4575f5ffd5b601f821115610961578282111561096157805f5260205f20601f840160051c602085101561364857505f5b90810190601f840160051c035f5b81811015610daa575f83820155600101613656565b8135601e1983360301811261367e575f5ffd5b820180356001600160401b0381118015613696575f5ffd5b8136036020840113156136a7575f5ffd5b5f9050506136bf816136b9855461357f565b8561361d565b5f601f8211600181146136f3575f83156136dc5750838201602001355b5f19600385901b1c1916600184901b17855561374f565b5f85815260208120601f198516915b8281101561372457602085880181013583559485019460019092019101613702565b5084821015613743575f1960f88660031b161c19602085880101351681555b505060018360011b0185555b5050505060209190910135600190910155565b813561376d816130e7565b81547fffffffffffffffffffffffff0000000000000000000000000000000000000000166001600160a01b03919091161781556020820135600182015560408201356002820155606082013560038201556004810160808301356137d08161313a565b815467ffffffffffffffff19166001600160401b0382161782555060a08301356137f98161313a565b81546fffffffffffffffff0000000000000000191660409190911b6fffffffffffffffff00000000000000001617815561388161383860c085016135b1565b82547fffffffffffffffff0000000000000000ffffffffffffffffffffffffffffffff1660809190911b77ffffffffffffffff0000000000000000000000000000000016178255565b6138d961389060e085016135b1565b825477ffffffffffffffffffffffffffffffffffffffffffffffff1660c09190911b7fffffffffffffffff00000000000000000000000000000000000000000000000016178255565b506138f46138eb6101008401846135bd565b6005830161366b565b61392561390461012084016135b1565b600783016001600160401b0382166001600160401b03198254161781555050565b6101409190910135600890910155565b5f60208284031215613945575f5ffd5b8135611ebd8161313a565b80358252602080820135908301526040808201359083015260608101356139768161313a565b6001600160401b0316606083015260808101356139928161313a565b6001600160401b0316608083015260a08101356139ae8161313a565b6001600160401b031660a08301526139c860c0820161314e565b6001600160401b03811660c0840152505050565b83815261012081016139f16020830185613950565b6001600160401b038316610100830152949350505050565b80820180821115610dcc57610dcc6134fb565b634e487b7160e01b5f52603260045260245ffd5b634e487b7160e01b5f52603160045260245ffd5b6001600160401b038281168282160390811115610dcc57610dcc6134fb565b5f60208284031215613a73575f5ffd5b81518015158114611ebd575f5ffd5b5f82613a9057613a90613558565b500690565b634e487b7160e01b5f52600160045260245ffd5b602081525f8235613ab9816130e7565b6001600160a01b038116602084015250613ad96040830160208501613950565b610100830135603e19843603018112613af0575f5ffd5b6101606101208401528301803536829003601e19018112613b0f575f5ffd5b81016020810190356001600160401b03811115613b2a575f5ffd5b803603821315613b38575f5ffd5b6040610180860152806101c086015280826101e08701375f8582016101e0015260208301356101a086018190529150613b74610120870161314e565b6001600160401b03811661014087015292506101409590950135610160850152505050601f91909101601f1916016101e00190565b5f60208284031215613bb9575f5ffd5b8135611ebd816130e7565b6001600160401b038181168382160290811690818114613be657613be66134fb565b5092915050565b82358152602080840135908201525f6101208201613c1b604084016040870180358252602090810135910152565b613c35608084016080870180358252602090810135910152565b613c4f60c0840160c0870180358252602090810135910152565b61012061010084015283519081905260208401906101408401905f5b81811015613c89578351835260209384019390920191600101613c6b565b50909695505050505050565b5f6001600160401b03831680613cad57613cad613558565b806001600160401b038416049150509291505056",
}

// Marketplace is an auto generated Go binding around an Ethereum contract.
type Marketplace struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *Marketplace) GetABI() abi.ABI {
	return c.abi
}

// NewMarketplace creates a new instance of Marketplace.
func NewMarketplace() *Marketplace {
	parsed, err := MarketplaceMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &Marketplace{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *Marketplace) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(((uint8,uint8,uint8,uint8),(uint64,uint64,uint8,uint8,string),(uint8),uint64) config, address token_, address verifier) returns()
func (marketplace *Marketplace) PackConstructor(config MarketplaceConfig, token_ common.Address, verifier common.Address) []byte {
	enc, err := marketplace.abi.Pack("", config, token_, verifier)
	if err != nil {
		panic(err)
	}
	return enc
}

// PackCanMarkProofAsMissing is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd1bb36b6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function canMarkProofAsMissing(bytes32 slotId, uint64 period) view returns()
func (marketplace *Marketplace) PackCanMarkProofAsMissing(slotId [32]byte, period uint64) []byte {
	enc, err := marketplace.abi.Pack("canMarkProofAsMissing", slotId, period)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCanMarkProofAsMissing is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd1bb36b6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function canMarkProofAsMissing(bytes32 slotId, uint64 period) view returns()
func (marketplace *Marketplace) TryPackCanMarkProofAsMissing(slotId [32]byte, period uint64) ([]byte, error) {
	return marketplace.abi.Pack("canMarkProofAsMissing", slotId, period)
}

// PackCanReserveSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd02bbe33.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function canReserveSlot(bytes32 requestId, uint64 slotIndex) view returns(bool)
func (marketplace *Marketplace) PackCanReserveSlot(requestId [32]byte, slotIndex uint64) []byte {
	enc, err := marketplace.abi.Pack("canReserveSlot", requestId, slotIndex)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCanReserveSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd02bbe33.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function canReserveSlot(bytes32 requestId, uint64 slotIndex) view returns(bool)
func (marketplace *Marketplace) TryPackCanReserveSlot(requestId [32]byte, slotIndex uint64) ([]byte, error) {
	return marketplace.abi.Pack("canReserveSlot", requestId, slotIndex)
}

// UnpackCanReserveSlot is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xd02bbe33.
//
// Solidity: function canReserveSlot(bytes32 requestId, uint64 slotIndex) view returns(bool)
func (marketplace *Marketplace) UnpackCanReserveSlot(data []byte) (bool, error) {
	out, err := marketplace.abi.Unpack("canReserveSlot", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackConfiguration is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6c70bee9.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function configuration() view returns(((uint8,uint8,uint8,uint8),(uint64,uint64,uint8,uint8,string),(uint8),uint64))
func (marketplace *Marketplace) PackConfiguration() []byte {
	enc, err := marketplace.abi.Pack("configuration")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackConfiguration is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6c70bee9.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function configuration() view returns(((uint8,uint8,uint8,uint8),(uint64,uint64,uint8,uint8,string),(uint8),uint64))
func (marketplace *Marketplace) TryPackConfiguration() ([]byte, error) {
	return marketplace.abi.Pack("configuration")
}

// UnpackConfiguration is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x6c70bee9.
//
// Solidity: function configuration() view returns(((uint8,uint8,uint8,uint8),(uint64,uint64,uint8,uint8,string),(uint8),uint64))
func (marketplace *Marketplace) UnpackConfiguration(data []byte) (MarketplaceConfig, error) {
	out, err := marketplace.abi.Unpack("configuration", data)
	if err != nil {
		return *new(MarketplaceConfig), err
	}
	out0 := *abi.ConvertType(out[0], new(MarketplaceConfig)).(*MarketplaceConfig)
	return out0, nil
}

// PackCurrentCollateral is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x26d6f834.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function currentCollateral(bytes32 slotId) view returns(uint256)
func (marketplace *Marketplace) PackCurrentCollateral(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("currentCollateral", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCurrentCollateral is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x26d6f834.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function currentCollateral(bytes32 slotId) view returns(uint256)
func (marketplace *Marketplace) TryPackCurrentCollateral(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("currentCollateral", slotId)
}

// UnpackCurrentCollateral is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x26d6f834.
//
// Solidity: function currentCollateral(bytes32 slotId) view returns(uint256)
func (marketplace *Marketplace) UnpackCurrentCollateral(data []byte) (*big.Int, error) {
	out, err := marketplace.abi.Unpack("currentCollateral", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackFillSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x1d873c1b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function fillSlot(bytes32 requestId, uint64 slotIndex, ((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof) returns()
func (marketplace *Marketplace) PackFillSlot(requestId [32]byte, slotIndex uint64, proof Groth16Proof) []byte {
	enc, err := marketplace.abi.Pack("fillSlot", requestId, slotIndex, proof)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackFillSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x1d873c1b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function fillSlot(bytes32 requestId, uint64 slotIndex, ((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof) returns()
func (marketplace *Marketplace) TryPackFillSlot(requestId [32]byte, slotIndex uint64, proof Groth16Proof) ([]byte, error) {
	return marketplace.abi.Pack("fillSlot", requestId, slotIndex, proof)
}

// PackFreeSlotTo is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x0aefaabe.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function freeSlot(bytes32 slotId, address rewardRecipient, address collateralRecipient) returns()
func (marketplace *Marketplace) PackFreeSlotTo(slotId [32]byte, rewardRecipient common.Address, collateralRecipient common.Address) []byte {
	enc, err := marketplace.abi.Pack("freeSlot", slotId, rewardRecipient, collateralRecipient)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackFreeSlotTo is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x0aefaabe.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function freeSlot(bytes32 slotId, address rewardRecipient, address collateralRecipient) returns()
func (marketplace *Marketplace) TryPackFreeSlotTo(slotId [32]byte, rewardRecipient common.Address, collateralRecipient common.Address) ([]byte, error) {
	return marketplace.abi.Pack("freeSlot", slotId, rewardRecipient, collateralRecipient)
}

// PackFreeSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa29c29a4.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function freeSlot(bytes32 slotId) returns()
func (marketplace *Marketplace) PackFreeSlot(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("freeSlot0", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackFreeSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa29c29a4.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function freeSlot(bytes32 slotId) returns()
func (marketplace *Marketplace) TryPackFreeSlot(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("freeSlot0", slotId)
}

// PackGetActiveSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb396dc79.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function getActiveSlot(bytes32 slotId) view returns(((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32),uint64))
func (marketplace *Marketplace) PackGetActiveSlot(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("getActiveSlot", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGetActiveSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb396dc79.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function getActiveSlot(bytes32 slotId) view returns(((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32),uint64))
func (marketplace *Marketplace) TryPackGetActiveSlot(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("getActiveSlot", slotId)
}

// UnpackGetActiveSlot is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xb396dc79.
//
// Solidity: function getActiveSlot(bytes32 slotId) view returns(((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32),uint64))
func (marketplace *Marketplace) UnpackGetActiveSlot(data []byte) (ActiveSlot, error) {
	out, err := marketplace.abi.Unpack("getActiveSlot", data)
	if err != nil {
		return *new(ActiveSlot), err
	}
	out0 := *abi.ConvertType(out[0], new(ActiveSlot)).(*ActiveSlot)
	return out0, nil
}

// PackGetChallenge is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x458d2bf1.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function getChallenge(bytes32 slotId) view returns(bytes32)
func (marketplace *Marketplace) PackGetChallenge(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("getChallenge", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGetChallenge is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x458d2bf1.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function getChallenge(bytes32 slotId) view returns(bytes32)
func (marketplace *Marketplace) TryPackGetChallenge(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("getChallenge", slotId)
}

// UnpackGetChallenge is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x458d2bf1.
//
// Solidity: function getChallenge(bytes32 slotId) view returns(bytes32)
func (marketplace *Marketplace) UnpackGetChallenge(data []byte) ([32]byte, error) {
	out, err := marketplace.abi.Unpack("getChallenge", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackGetHost is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6b00c8cf.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function getHost(bytes32 slotId) view returns(address)
func (marketplace *Marketplace) PackGetHost(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("getHost", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGetHost is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6b00c8cf.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function getHost(bytes32 slotId) view returns(address)
func (marketplace *Marketplace) TryPackGetHost(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("getHost", slotId)
}

// UnpackGetHost is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x6b00c8cf.
//
// Solidity: function getHost(bytes32 slotId) view returns(address)
func (marketplace *Marketplace) UnpackGetHost(data []byte) (common.Address, error) {
	out, err := marketplace.abi.Unpack("getHost", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackGetPointer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4641dce6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function getPointer(bytes32 slotId) view returns(uint8)
func (marketplace *Marketplace) PackGetPointer(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("getPointer", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGetPointer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4641dce6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function getPointer(bytes32 slotId) view returns(uint8)
func (marketplace *Marketplace) TryPackGetPointer(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("getPointer", slotId)
}

// UnpackGetPointer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x4641dce6.
//
// Solidity: function getPointer(bytes32 slotId) view returns(uint8)
func (marketplace *Marketplace) UnpackGetPointer(data []byte) (uint8, error) {
	out, err := marketplace.abi.Unpack("getPointer", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackGetRequest is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfb1e61ca.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function getRequest(bytes32 requestId) view returns((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32))
func (marketplace *Marketplace) PackGetRequest(requestId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("getRequest", requestId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGetRequest is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfb1e61ca.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function getRequest(bytes32 requestId) view returns((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32))
func (marketplace *Marketplace) TryPackGetRequest(requestId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("getRequest", requestId)
}

// UnpackGetRequest is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xfb1e61ca.
//
// Solidity: function getRequest(bytes32 requestId) view returns((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32))
func (marketplace *Marketplace) UnpackGetRequest(data []byte) (Request, error) {
	out, err := marketplace.abi.Unpack("getRequest", data)
	if err != nil {
		return *new(Request), err
	}
	out0 := *abi.ConvertType(out[0], new(Request)).(*Request)
	return out0, nil
}

// PackIsProofRequired is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc0cc4add.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function isProofRequired(bytes32 slotId) view returns(bool)
func (marketplace *Marketplace) PackIsProofRequired(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("isProofRequired", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackIsProofRequired is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc0cc4add.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function isProofRequired(bytes32 slotId) view returns(bool)
func (marketplace *Marketplace) TryPackIsProofRequired(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("isProofRequired", slotId)
}

// UnpackIsProofRequired is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xc0cc4add.
//
// Solidity: function isProofRequired(bytes32 slotId) view returns(bool)
func (marketplace *Marketplace) UnpackIsProofRequired(data []byte) (bool, error) {
	out, err := marketplace.abi.Unpack("isProofRequired", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackMarkProofAsMissing is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x237d8482.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function markProofAsMissing(bytes32 slotId, uint64 period) returns()
func (marketplace *Marketplace) PackMarkProofAsMissing(slotId [32]byte, period uint64) []byte {
	enc, err := marketplace.abi.Pack("markProofAsMissing", slotId, period)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMarkProofAsMissing is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x237d8482.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function markProofAsMissing(bytes32 slotId, uint64 period) returns()
func (marketplace *Marketplace) TryPackMarkProofAsMissing(slotId [32]byte, period uint64) ([]byte, error) {
	return marketplace.abi.Pack("markProofAsMissing", slotId, period)
}

// PackMissingProofs is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xf752196b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function missingProofs(bytes32 slotId) view returns(uint64)
func (marketplace *Marketplace) PackMissingProofs(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("missingProofs", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMissingProofs is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xf752196b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function missingProofs(bytes32 slotId) view returns(uint64)
func (marketplace *Marketplace) TryPackMissingProofs(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("missingProofs", slotId)
}

// UnpackMissingProofs is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xf752196b.
//
// Solidity: function missingProofs(bytes32 slotId) view returns(uint64)
func (marketplace *Marketplace) UnpackMissingProofs(data []byte) (uint64, error) {
	out, err := marketplace.abi.Unpack("missingProofs", data)
	if err != nil {
		return *new(uint64), err
	}
	out0 := *abi.ConvertType(out[0], new(uint64)).(*uint64)
	return out0, nil
}

// PackMyRequests is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x9777b72c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function myRequests() view returns(bytes32[])
func (marketplace *Marketplace) PackMyRequests() []byte {
	enc, err := marketplace.abi.Pack("myRequests")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMyRequests is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x9777b72c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function myRequests() view returns(bytes32[])
func (marketplace *Marketplace) TryPackMyRequests() ([]byte, error) {
	return marketplace.abi.Pack("myRequests")
}

// UnpackMyRequests is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x9777b72c.
//
// Solidity: function myRequests() view returns(bytes32[])
func (marketplace *Marketplace) UnpackMyRequests(data []byte) ([][32]byte, error) {
	out, err := marketplace.abi.Unpack("myRequests", data)
	if err != nil {
		return *new([][32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([][32]byte)).(*[][32]byte)
	return out0, nil
}

// PackMySlots is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5da73835.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mySlots() view returns(bytes32[])
func (marketplace *Marketplace) PackMySlots() []byte {
	enc, err := marketplace.abi.Pack("mySlots")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMySlots is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5da73835.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function mySlots() view returns(bytes32[])
func (marketplace *Marketplace) TryPackMySlots() ([]byte, error) {
	return marketplace.abi.Pack("mySlots")
}

// UnpackMySlots is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5da73835.
//
// Solidity: function mySlots() view returns(bytes32[])
func (marketplace *Marketplace) UnpackMySlots(data []byte) ([][32]byte, error) {
	out, err := marketplace.abi.Unpack("mySlots", data)
	if err != nil {
		return *new([][32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([][32]byte)).(*[][32]byte)
	return out0, nil
}

// PackRequestEnd is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x02fa8e65.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function requestEnd(bytes32 requestId) view returns(uint64)
func (marketplace *Marketplace) PackRequestEnd(requestId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("requestEnd", requestId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRequestEnd is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x02fa8e65.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function requestEnd(bytes32 requestId) view returns(uint64)
func (marketplace *Marketplace) TryPackRequestEnd(requestId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("requestEnd", requestId)
}

// UnpackRequestEnd is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x02fa8e65.
//
// Solidity: function requestEnd(bytes32 requestId) view returns(uint64)
func (marketplace *Marketplace) UnpackRequestEnd(data []byte) (uint64, error) {
	out, err := marketplace.abi.Unpack("requestEnd", data)
	if err != nil {
		return *new(uint64), err
	}
	out0 := *abi.ConvertType(out[0], new(uint64)).(*uint64)
	return out0, nil
}

// PackRequestExpiry is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x329b5a0b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function requestExpiry(bytes32 requestId) view returns(uint64)
func (marketplace *Marketplace) PackRequestExpiry(requestId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("requestExpiry", requestId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRequestExpiry is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x329b5a0b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function requestExpiry(bytes32 requestId) view returns(uint64)
func (marketplace *Marketplace) TryPackRequestExpiry(requestId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("requestExpiry", requestId)
}

// UnpackRequestExpiry is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x329b5a0b.
//
// Solidity: function requestExpiry(bytes32 requestId) view returns(uint64)
func (marketplace *Marketplace) UnpackRequestExpiry(data []byte) (uint64, error) {
	out, err := marketplace.abi.Unpack("requestExpiry", data)
	if err != nil {
		return *new(uint64), err
	}
	out0 := *abi.ConvertType(out[0], new(uint64)).(*uint64)
	return out0, nil
}

// PackRequestState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x05b90773.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function requestState(bytes32 requestId) view returns(uint8)
func (marketplace *Marketplace) PackRequestState(requestId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("requestState", requestId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRequestState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x05b90773.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function requestState(bytes32 requestId) view returns(uint8)
func (marketplace *Marketplace) TryPackRequestState(requestId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("requestState", requestId)
}

// UnpackRequestState is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x05b90773.
//
// Solidity: function requestState(bytes32 requestId) view returns(uint8)
func (marketplace *Marketplace) UnpackRequestState(data []byte) (uint8, error) {
	out, err := marketplace.abi.Unpack("requestState", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackRequestStorage is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x99b6da0c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function requestStorage((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32) request) returns()
func (marketplace *Marketplace) PackRequestStorage(request Request) []byte {
	enc, err := marketplace.abi.Pack("requestStorage", request)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRequestStorage is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x99b6da0c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function requestStorage((address,(uint256,uint256,uint256,uint64,uint64,uint64,uint64),(bytes,bytes32),uint64,bytes32) request) returns()
func (marketplace *Marketplace) TryPackRequestStorage(request Request) ([]byte, error) {
	return marketplace.abi.Pack("requestStorage", request)
}

// PackReserveSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x12827602.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function reserveSlot(bytes32 requestId, uint64 slotIndex) returns()
func (marketplace *Marketplace) PackReserveSlot(requestId [32]byte, slotIndex uint64) []byte {
	enc, err := marketplace.abi.Pack("reserveSlot", requestId, slotIndex)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackReserveSlot is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x12827602.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function reserveSlot(bytes32 requestId, uint64 slotIndex) returns()
func (marketplace *Marketplace) TryPackReserveSlot(requestId [32]byte, slotIndex uint64) ([]byte, error) {
	return marketplace.abi.Pack("reserveSlot", requestId, slotIndex)
}

// PackSlotProbability is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x51a76642.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function slotProbability(bytes32 slotId) view returns(uint256)
func (marketplace *Marketplace) PackSlotProbability(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("slotProbability", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSlotProbability is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x51a76642.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function slotProbability(bytes32 slotId) view returns(uint256)
func (marketplace *Marketplace) TryPackSlotProbability(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("slotProbability", slotId)
}

// UnpackSlotProbability is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x51a76642.
//
// Solidity: function slotProbability(bytes32 slotId) view returns(uint256)
func (marketplace *Marketplace) UnpackSlotProbability(data []byte) (*big.Int, error) {
	out, err := marketplace.abi.Unpack("slotProbability", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackSlotState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbe5cdc48.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function slotState(bytes32 slotId) view returns(uint8)
func (marketplace *Marketplace) PackSlotState(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("slotState", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSlotState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbe5cdc48.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function slotState(bytes32 slotId) view returns(uint8)
func (marketplace *Marketplace) TryPackSlotState(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("slotState", slotId)
}

// UnpackSlotState is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xbe5cdc48.
//
// Solidity: function slotState(bytes32 slotId) view returns(uint8)
func (marketplace *Marketplace) UnpackSlotState(data []byte) (uint8, error) {
	out, err := marketplace.abi.Unpack("slotState", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackSubmitProof is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe8aa0a07.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function submitProof(bytes32 slotId, ((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof) returns()
func (marketplace *Marketplace) PackSubmitProof(slotId [32]byte, proof Groth16Proof) []byte {
	enc, err := marketplace.abi.Pack("submitProof", slotId, proof)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSubmitProof is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe8aa0a07.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function submitProof(bytes32 slotId, ((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof) returns()
func (marketplace *Marketplace) TryPackSubmitProof(slotId [32]byte, proof Groth16Proof) ([]byte, error) {
	return marketplace.abi.Pack("submitProof", slotId, proof)
}

// PackToken is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfc0c546a.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function token() view returns(address)
func (marketplace *Marketplace) PackToken() []byte {
	enc, err := marketplace.abi.Pack("token")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackToken is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfc0c546a.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function token() view returns(address)
func (marketplace *Marketplace) TryPackToken() ([]byte, error) {
	return marketplace.abi.Pack("token")
}

// UnpackToken is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xfc0c546a.
//
// Solidity: function token() view returns(address)
func (marketplace *Marketplace) UnpackToken(data []byte) (common.Address, error) {
	out, err := marketplace.abi.Unpack("token", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackWillProofBeRequired is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa3a0807e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function willProofBeRequired(bytes32 slotId) view returns(bool)
func (marketplace *Marketplace) PackWillProofBeRequired(slotId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("willProofBeRequired", slotId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackWillProofBeRequired is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa3a0807e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function willProofBeRequired(bytes32 slotId) view returns(bool)
func (marketplace *Marketplace) TryPackWillProofBeRequired(slotId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("willProofBeRequired", slotId)
}

// UnpackWillProofBeRequired is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa3a0807e.
//
// Solidity: function willProofBeRequired(bytes32 slotId) view returns(bool)
func (marketplace *Marketplace) UnpackWillProofBeRequired(data []byte) (bool, error) {
	out, err := marketplace.abi.Unpack("willProofBeRequired", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackWithdrawFunds is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6e2b54ee.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function withdrawFunds(bytes32 requestId) returns()
func (marketplace *Marketplace) PackWithdrawFunds(requestId [32]byte) []byte {
	enc, err := marketplace.abi.Pack("withdrawFunds", requestId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackWithdrawFunds is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6e2b54ee.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function withdrawFunds(bytes32 requestId) returns()
func (marketplace *Marketplace) TryPackWithdrawFunds(requestId [32]byte) ([]byte, error) {
	return marketplace.abi.Pack("withdrawFunds", requestId)
}

// PackWithdrawFundsTo is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc5d43351.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function withdrawFunds(bytes32 requestId, address withdrawRecipient) returns()
func (marketplace *Marketplace) PackWithdrawFundsTo(requestId [32]byte, withdrawRecipient common.Address) []byte {
	enc, err := marketplace.abi.Pack("withdrawFunds0", requestId, withdrawRecipient)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackWithdrawFundsTo is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc5d43351.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function withdrawFunds(bytes32 requestId, address withdrawRecipient) returns()
func (marketplace *Marketplace) TryPackWithdrawFundsTo(requestId [32]byte, withdrawRecipient common.Address) ([]byte, error) {
	return marketplace.abi.Pack("withdrawFunds0", requestId, withdrawRecipient)
}

// MarketplaceProofSubmitted represents a ProofSubmitted event raised by the Marketplace contract.
type MarketplaceProofSubmitted struct {
	Id  [32]byte
	Raw *types.Log // Blockchain specific contextual infos
}

const MarketplaceProofSubmittedEventName = "ProofSubmitted"

// ContractEventName returns the user-defined event name.
func (MarketplaceProofSubmitted) ContractEventName() string {
	return MarketplaceProofSubmittedEventName
}

// UnpackProofSubmittedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event ProofSubmitted(bytes32 id)
func (marketplace *Marketplace) UnpackProofSubmittedEvent(log *types.Log) (*MarketplaceProofSubmitted, error) {
	event := "ProofSubmitted"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceProofSubmitted)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceRequestCancelled represents a RequestCancelled event raised by the Marketplace contract.
type MarketplaceRequestCancelled struct {
	RequestId [32]byte
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceRequestCancelledEventName = "RequestCancelled"

// ContractEventName returns the user-defined event name.
func (MarketplaceRequestCancelled) ContractEventName() string {
	return MarketplaceRequestCancelledEventName
}

// UnpackRequestCancelledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RequestCancelled(bytes32 indexed requestId)
func (marketplace *Marketplace) UnpackRequestCancelledEvent(log *types.Log) (*MarketplaceRequestCancelled, error) {
	event := "RequestCancelled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceRequestCancelled)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceRequestFailed represents a RequestFailed event raised by the Marketplace contract.
type MarketplaceRequestFailed struct {
	RequestId [32]byte
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceRequestFailedEventName = "RequestFailed"

// ContractEventName returns the user-defined event name.
func (MarketplaceRequestFailed) ContractEventName() string {
	return MarketplaceRequestFailedEventName
}

// UnpackRequestFailedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RequestFailed(bytes32 indexed requestId)
func (marketplace *Marketplace) UnpackRequestFailedEvent(log *types.Log) (*MarketplaceRequestFailed, error) {
	event := "RequestFailed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceRequestFailed)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceRequestFulfilled represents a RequestFulfilled event raised by the Marketplace contract.
type MarketplaceRequestFulfilled struct {
	RequestId [32]byte
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceRequestFulfilledEventName = "RequestFulfilled"

// ContractEventName returns the user-defined event name.
func (MarketplaceRequestFulfilled) ContractEventName() string {
	return MarketplaceRequestFulfilledEventName
}

// UnpackRequestFulfilledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RequestFulfilled(bytes32 indexed requestId)
func (marketplace *Marketplace) UnpackRequestFulfilledEvent(log *types.Log) (*MarketplaceRequestFulfilled, error) {
	event := "RequestFulfilled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceRequestFulfilled)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceSlotFilled represents a SlotFilled event raised by the Marketplace contract.
type MarketplaceSlotFilled struct {
	RequestId [32]byte
	SlotIndex uint64
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceSlotFilledEventName = "SlotFilled"

// ContractEventName returns the user-defined event name.
func (MarketplaceSlotFilled) ContractEventName() string {
	return MarketplaceSlotFilledEventName
}

// UnpackSlotFilledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event SlotFilled(bytes32 indexed requestId, uint64 slotIndex)
func (marketplace *Marketplace) UnpackSlotFilledEvent(log *types.Log) (*MarketplaceSlotFilled, error) {
	event := "SlotFilled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceSlotFilled)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceSlotFreed represents a SlotFreed event raised by the Marketplace contract.
type MarketplaceSlotFreed struct {
	RequestId [32]byte
	SlotIndex uint64
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceSlotFreedEventName = "SlotFreed"

// ContractEventName returns the user-defined event name.
func (MarketplaceSlotFreed) ContractEventName() string {
	return MarketplaceSlotFreedEventName
}

// UnpackSlotFreedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event SlotFreed(bytes32 indexed requestId, uint64 slotIndex)
func (marketplace *Marketplace) UnpackSlotFreedEvent(log *types.Log) (*MarketplaceSlotFreed, error) {
	event := "SlotFreed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceSlotFreed)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceSlotReservationsFull represents a SlotReservationsFull event raised by the Marketplace contract.
type MarketplaceSlotReservationsFull struct {
	RequestId [32]byte
	SlotIndex uint64
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceSlotReservationsFullEventName = "SlotReservationsFull"

// ContractEventName returns the user-defined event name.
func (MarketplaceSlotReservationsFull) ContractEventName() string {
	return MarketplaceSlotReservationsFullEventName
}

// UnpackSlotReservationsFullEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event SlotReservationsFull(bytes32 indexed requestId, uint64 slotIndex)
func (marketplace *Marketplace) UnpackSlotReservationsFullEvent(log *types.Log) (*MarketplaceSlotReservationsFull, error) {
	event := "SlotReservationsFull"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceSlotReservationsFull)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MarketplaceStorageRequested represents a StorageRequested event raised by the Marketplace contract.
type MarketplaceStorageRequested struct {
	RequestId [32]byte
	Ask       Ask
	Expiry    uint64
	Raw       *types.Log // Blockchain specific contextual infos
}

const MarketplaceStorageRequestedEventName = "StorageRequested"

// ContractEventName returns the user-defined event name.
func (MarketplaceStorageRequested) ContractEventName() string {
	return MarketplaceStorageRequestedEventName
}

// UnpackStorageRequestedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event StorageRequested(bytes32 requestId, (uint256,uint256,uint256,uint64,uint64,uint64,uint64) ask, uint64 expiry)
func (marketplace *Marketplace) UnpackStorageRequestedEvent(log *types.Log) (*MarketplaceStorageRequested, error) {
	event := "StorageRequested"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != marketplace.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MarketplaceStorageRequested)
	if len(log.Data) > 0 {
		if err := marketplace.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range marketplace.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (marketplace *Marketplace) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_AlreadyPaid"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceAlreadyPaidError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_DurationExceedsLimit"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceDurationExceedsLimitError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InsufficientCollateral"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInsufficientCollateralError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InsufficientDuration"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInsufficientDurationError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InsufficientProofProbability"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInsufficientProofProbabilityError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InsufficientReward"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInsufficientRewardError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InsufficientSlots"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInsufficientSlotsError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidCid"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidCidError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidClientAddress"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidClientAddressError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidExpiry"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidExpiryError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidMaxSlotLoss"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidMaxSlotLossError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidSlot"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidSlotError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidSlotHost"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidSlotHostError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_InvalidState"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceInvalidStateError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_MaximumSlashingTooHigh"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceMaximumSlashingTooHighError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_NothingToWithdraw"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceNothingToWithdrawError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_ProofNotSubmittedByHost"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceProofNotSubmittedByHostError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_RepairRewardPercentageTooHigh"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceRepairRewardPercentageTooHighError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_RequestAlreadyExists"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceRequestAlreadyExistsError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_ReservationRequired"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceReservationRequiredError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_SlashPercentageTooHigh"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceSlashPercentageTooHighError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_SlotIsFree"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceSlotIsFreeError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_SlotNotAcceptingProofs"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceSlotNotAcceptingProofsError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_SlotNotFree"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceSlotNotFreeError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_StartNotBeforeExpiry"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceStartNotBeforeExpiryError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_TransferFailed"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceTransferFailedError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Marketplace_UnknownRequest"].ID.Bytes()[:4]) {
		return marketplace.UnpackMarketplaceUnknownRequestError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Periods_InvalidSecondsPerPeriod"].ID.Bytes()[:4]) {
		return marketplace.UnpackPeriodsInvalidSecondsPerPeriodError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_InsufficientBlockHeight"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsInsufficientBlockHeightError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_InvalidProof"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsInvalidProofError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_PeriodNotEnded"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsPeriodNotEndedError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_ProofAlreadyMarkedMissing"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsProofAlreadyMarkedMissingError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_ProofAlreadySubmitted"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsProofAlreadySubmittedError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_ProofNotMissing"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsProofNotMissingError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_ProofNotRequired"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsProofNotRequiredError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["Proofs_ValidationTimedOut"].ID.Bytes()[:4]) {
		return marketplace.UnpackProofsValidationTimedOutError(raw[4:])
	}
	if bytes.Equal(raw[:4], marketplace.abi.Errors["SlotReservations_ReservationNotAllowed"].ID.Bytes()[:4]) {
		return marketplace.UnpackSlotReservationsReservationNotAllowedError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// MarketplaceMarketplaceAlreadyPaid represents a Marketplace_AlreadyPaid error raised by the Marketplace contract.
type MarketplaceMarketplaceAlreadyPaid struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_AlreadyPaid()
func MarketplaceMarketplaceAlreadyPaidErrorID() common.Hash {
	return common.HexToHash("0xc2cbf7774d5bb34b37e02bde67e3747da28dee5328f9aab078130b871546421f")
}

// UnpackMarketplaceAlreadyPaidError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_AlreadyPaid()
func (marketplace *Marketplace) UnpackMarketplaceAlreadyPaidError(raw []byte) (*MarketplaceMarketplaceAlreadyPaid, error) {
	out := new(MarketplaceMarketplaceAlreadyPaid)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_AlreadyPaid", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceDurationExceedsLimit represents a Marketplace_DurationExceedsLimit error raised by the Marketplace contract.
type MarketplaceMarketplaceDurationExceedsLimit struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_DurationExceedsLimit()
func MarketplaceMarketplaceDurationExceedsLimitErrorID() common.Hash {
	return common.HexToHash("0x1267b3f2fd9819b7361a0b97efb7e563b0af1fe42cbcf84abaf90405d4e2cf4c")
}

// UnpackMarketplaceDurationExceedsLimitError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_DurationExceedsLimit()
func (marketplace *Marketplace) UnpackMarketplaceDurationExceedsLimitError(raw []byte) (*MarketplaceMarketplaceDurationExceedsLimit, error) {
	out := new(MarketplaceMarketplaceDurationExceedsLimit)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_DurationExceedsLimit", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInsufficientCollateral represents a Marketplace_InsufficientCollateral error raised by the Marketplace contract.
type MarketplaceMarketplaceInsufficientCollateral struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InsufficientCollateral()
func MarketplaceMarketplaceInsufficientCollateralErrorID() common.Hash {
	return common.HexToHash("0xfb7df0c7e4293a0cf889721fa58a362060717b541cd4dd0838d63354ba6cd913")
}

// UnpackMarketplaceInsufficientCollateralError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InsufficientCollateral()
func (marketplace *Marketplace) UnpackMarketplaceInsufficientCollateralError(raw []byte) (*MarketplaceMarketplaceInsufficientCollateral, error) {
	out := new(MarketplaceMarketplaceInsufficientCollateral)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InsufficientCollateral", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInsufficientDuration represents a Marketplace_InsufficientDuration error raised by the Marketplace contract.
type MarketplaceMarketplaceInsufficientDuration struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InsufficientDuration()
func MarketplaceMarketplaceInsufficientDurationErrorID() common.Hash {
	return common.HexToHash("0x090a5ecdbbe2d2509040cf41d747e4a5e11b806b8223630b642343a20b4e8c17")
}

// UnpackMarketplaceInsufficientDurationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InsufficientDuration()
func (marketplace *Marketplace) UnpackMarketplaceInsufficientDurationError(raw []byte) (*MarketplaceMarketplaceInsufficientDuration, error) {
	out := new(MarketplaceMarketplaceInsufficientDuration)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InsufficientDuration", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInsufficientProofProbability represents a Marketplace_InsufficientProofProbability error raised by the Marketplace contract.
type MarketplaceMarketplaceInsufficientProofProbability struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InsufficientProofProbability()
func MarketplaceMarketplaceInsufficientProofProbabilityErrorID() common.Hash {
	return common.HexToHash("0x6aba7aae30aa4b24c10391280ec527cb1be20d3acf0cab39ce3909f99dc79ddc")
}

// UnpackMarketplaceInsufficientProofProbabilityError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InsufficientProofProbability()
func (marketplace *Marketplace) UnpackMarketplaceInsufficientProofProbabilityError(raw []byte) (*MarketplaceMarketplaceInsufficientProofProbability, error) {
	out := new(MarketplaceMarketplaceInsufficientProofProbability)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InsufficientProofProbability", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInsufficientReward represents a Marketplace_InsufficientReward error raised by the Marketplace contract.
type MarketplaceMarketplaceInsufficientReward struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InsufficientReward()
func MarketplaceMarketplaceInsufficientRewardErrorID() common.Hash {
	return common.HexToHash("0x47ba51c79cabc1909f3adb2f9a532ea5631636513632e0daa261b4f31b9f8c87")
}

// UnpackMarketplaceInsufficientRewardError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InsufficientReward()
func (marketplace *Marketplace) UnpackMarketplaceInsufficientRewardError(raw []byte) (*MarketplaceMarketplaceInsufficientReward, error) {
	out := new(MarketplaceMarketplaceInsufficientReward)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InsufficientReward", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInsufficientSlots represents a Marketplace_InsufficientSlots error raised by the Marketplace contract.
type MarketplaceMarketplaceInsufficientSlots struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InsufficientSlots()
func MarketplaceMarketplaceInsufficientSlotsErrorID() common.Hash {
	return common.HexToHash("0x535ed2be4cb0667d1cf8d16395a47c4ea808a5b1e3923ca836b1344c969e6a36")
}

// UnpackMarketplaceInsufficientSlotsError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InsufficientSlots()
func (marketplace *Marketplace) UnpackMarketplaceInsufficientSlotsError(raw []byte) (*MarketplaceMarketplaceInsufficientSlots, error) {
	out := new(MarketplaceMarketplaceInsufficientSlots)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InsufficientSlots", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidCid represents a Marketplace_InvalidCid error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidCid struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidCid()
func MarketplaceMarketplaceInvalidCidErrorID() common.Hash {
	return common.HexToHash("0x86f8cf9b9bcbd1d1111bbbb388f000abf628876d4c558425c07ce336ef09d846")
}

// UnpackMarketplaceInvalidCidError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidCid()
func (marketplace *Marketplace) UnpackMarketplaceInvalidCidError(raw []byte) (*MarketplaceMarketplaceInvalidCid, error) {
	out := new(MarketplaceMarketplaceInvalidCid)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidCid", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidClientAddress represents a Marketplace_InvalidClientAddress error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidClientAddress struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidClientAddress()
func MarketplaceMarketplaceInvalidClientAddressErrorID() common.Hash {
	return common.HexToHash("0x698d3c62de019ea51ef39b1fd47ebbf709834c26a615c7b05905d696929ee3f2")
}

// UnpackMarketplaceInvalidClientAddressError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidClientAddress()
func (marketplace *Marketplace) UnpackMarketplaceInvalidClientAddressError(raw []byte) (*MarketplaceMarketplaceInvalidClientAddress, error) {
	out := new(MarketplaceMarketplaceInvalidClientAddress)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidClientAddress", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidExpiry represents a Marketplace_InvalidExpiry error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidExpiry struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidExpiry()
func MarketplaceMarketplaceInvalidExpiryErrorID() common.Hash {
	return common.HexToHash("0xdf63f61a9852b03e71be7a3cc4b86fa621a9a6c6fccc295d70794d41fbc9a41f")
}

// UnpackMarketplaceInvalidExpiryError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidExpiry()
func (marketplace *Marketplace) UnpackMarketplaceInvalidExpiryError(raw []byte) (*MarketplaceMarketplaceInvalidExpiry, error) {
	out := new(MarketplaceMarketplaceInvalidExpiry)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidExpiry", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidMaxSlotLoss represents a Marketplace_InvalidMaxSlotLoss error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidMaxSlotLoss struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidMaxSlotLoss()
func MarketplaceMarketplaceInvalidMaxSlotLossErrorID() common.Hash {
	return common.HexToHash("0xb9551ab10fd7a9c672713758b5dcdd7ed89014a71269a651da1094ac7edad78a")
}

// UnpackMarketplaceInvalidMaxSlotLossError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidMaxSlotLoss()
func (marketplace *Marketplace) UnpackMarketplaceInvalidMaxSlotLossError(raw []byte) (*MarketplaceMarketplaceInvalidMaxSlotLoss, error) {
	out := new(MarketplaceMarketplaceInvalidMaxSlotLoss)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidMaxSlotLoss", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidSlot represents a Marketplace_InvalidSlot error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidSlot struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidSlot()
func MarketplaceMarketplaceInvalidSlotErrorID() common.Hash {
	return common.HexToHash("0x3b920b88cb83f8c3b32fc5c3c78a31a3b98e39f0585103eebfbe44b11fbd8fb0")
}

// UnpackMarketplaceInvalidSlotError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidSlot()
func (marketplace *Marketplace) UnpackMarketplaceInvalidSlotError(raw []byte) (*MarketplaceMarketplaceInvalidSlot, error) {
	out := new(MarketplaceMarketplaceInvalidSlot)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidSlot", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidSlotHost represents a Marketplace_InvalidSlotHost error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidSlotHost struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidSlotHost()
func MarketplaceMarketplaceInvalidSlotHostErrorID() common.Hash {
	return common.HexToHash("0x57a6f4e9c1188c4616dc72a157dc52c4d5a5f4763715304762e0b332740221bf")
}

// UnpackMarketplaceInvalidSlotHostError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidSlotHost()
func (marketplace *Marketplace) UnpackMarketplaceInvalidSlotHostError(raw []byte) (*MarketplaceMarketplaceInvalidSlotHost, error) {
	out := new(MarketplaceMarketplaceInvalidSlotHost)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidSlotHost", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceInvalidState represents a Marketplace_InvalidState error raised by the Marketplace contract.
type MarketplaceMarketplaceInvalidState struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_InvalidState()
func MarketplaceMarketplaceInvalidStateErrorID() common.Hash {
	return common.HexToHash("0xc00b5b57224f30cacba09f774cac0b23b5e5969c2b5f56985c457df1134c862b")
}

// UnpackMarketplaceInvalidStateError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_InvalidState()
func (marketplace *Marketplace) UnpackMarketplaceInvalidStateError(raw []byte) (*MarketplaceMarketplaceInvalidState, error) {
	out := new(MarketplaceMarketplaceInvalidState)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_InvalidState", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceMaximumSlashingTooHigh represents a Marketplace_MaximumSlashingTooHigh error raised by the Marketplace contract.
type MarketplaceMarketplaceMaximumSlashingTooHigh struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_MaximumSlashingTooHigh()
func MarketplaceMarketplaceMaximumSlashingTooHighErrorID() common.Hash {
	return common.HexToHash("0x5ffe743c27f0aa2ab51a7704ed963c639973ef93c5fbafe76f37a9f88a0f31fa")
}

// UnpackMarketplaceMaximumSlashingTooHighError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_MaximumSlashingTooHigh()
func (marketplace *Marketplace) UnpackMarketplaceMaximumSlashingTooHighError(raw []byte) (*MarketplaceMarketplaceMaximumSlashingTooHigh, error) {
	out := new(MarketplaceMarketplaceMaximumSlashingTooHigh)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_MaximumSlashingTooHigh", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceNothingToWithdraw represents a Marketplace_NothingToWithdraw error raised by the Marketplace contract.
type MarketplaceMarketplaceNothingToWithdraw struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_NothingToWithdraw()
func MarketplaceMarketplaceNothingToWithdrawErrorID() common.Hash {
	return common.HexToHash("0xbd8bdd94974d5ea3876e20b9bffee125f93f7f2dc40acb28c1feee745ba94ace")
}

// UnpackMarketplaceNothingToWithdrawError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_NothingToWithdraw()
func (marketplace *Marketplace) UnpackMarketplaceNothingToWithdrawError(raw []byte) (*MarketplaceMarketplaceNothingToWithdraw, error) {
	out := new(MarketplaceMarketplaceNothingToWithdraw)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_NothingToWithdraw", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceProofNotSubmittedByHost represents a Marketplace_ProofNotSubmittedByHost error raised by the Marketplace contract.
type MarketplaceMarketplaceProofNotSubmittedByHost struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_ProofNotSubmittedByHost()
func MarketplaceMarketplaceProofNotSubmittedByHostErrorID() common.Hash {
	return common.HexToHash("0xce351b943dbf5969e34694fe549f6f0a1e7086df7bc6280d458376da0a448b9c")
}

// UnpackMarketplaceProofNotSubmittedByHostError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_ProofNotSubmittedByHost()
func (marketplace *Marketplace) UnpackMarketplaceProofNotSubmittedByHostError(raw []byte) (*MarketplaceMarketplaceProofNotSubmittedByHost, error) {
	out := new(MarketplaceMarketplaceProofNotSubmittedByHost)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_ProofNotSubmittedByHost", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceRepairRewardPercentageTooHigh represents a Marketplace_RepairRewardPercentageTooHigh error raised by the Marketplace contract.
type MarketplaceMarketplaceRepairRewardPercentageTooHigh struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_RepairRewardPercentageTooHigh()
func MarketplaceMarketplaceRepairRewardPercentageTooHighErrorID() common.Hash {
	return common.HexToHash("0x2bd8163072855a668d22ac01269e54c910f4c14a87f7a1365da4b057a74d6d04")
}

// UnpackMarketplaceRepairRewardPercentageTooHighError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_RepairRewardPercentageTooHigh()
func (marketplace *Marketplace) UnpackMarketplaceRepairRewardPercentageTooHighError(raw []byte) (*MarketplaceMarketplaceRepairRewardPercentageTooHigh, error) {
	out := new(MarketplaceMarketplaceRepairRewardPercentageTooHigh)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_RepairRewardPercentageTooHigh", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceRequestAlreadyExists represents a Marketplace_RequestAlreadyExists error raised by the Marketplace contract.
type MarketplaceMarketplaceRequestAlreadyExists struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_RequestAlreadyExists()
func MarketplaceMarketplaceRequestAlreadyExistsErrorID() common.Hash {
	return common.HexToHash("0xfc7d0690761233de36031583a6030aba772d6e23211e0d15466d4c0e049b54f9")
}

// UnpackMarketplaceRequestAlreadyExistsError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_RequestAlreadyExists()
func (marketplace *Marketplace) UnpackMarketplaceRequestAlreadyExistsError(raw []byte) (*MarketplaceMarketplaceRequestAlreadyExists, error) {
	out := new(MarketplaceMarketplaceRequestAlreadyExists)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_RequestAlreadyExists", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceReservationRequired represents a Marketplace_ReservationRequired error raised by the Marketplace contract.
type MarketplaceMarketplaceReservationRequired struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_ReservationRequired()
func MarketplaceMarketplaceReservationRequiredErrorID() common.Hash {
	return common.HexToHash("0xd651ce18ff707c8891b49ea61e83094f9fdfe5af99be2d7e22caf13b2d5b346b")
}

// UnpackMarketplaceReservationRequiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_ReservationRequired()
func (marketplace *Marketplace) UnpackMarketplaceReservationRequiredError(raw []byte) (*MarketplaceMarketplaceReservationRequired, error) {
	out := new(MarketplaceMarketplaceReservationRequired)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_ReservationRequired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceSlashPercentageTooHigh represents a Marketplace_SlashPercentageTooHigh error raised by the Marketplace contract.
type MarketplaceMarketplaceSlashPercentageTooHigh struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_SlashPercentageTooHigh()
func MarketplaceMarketplaceSlashPercentageTooHighErrorID() common.Hash {
	return common.HexToHash("0xa9cbc156d4d93ff4141227810cd711b92c8fff5977d6bba7645dd93d25fe5c62")
}

// UnpackMarketplaceSlashPercentageTooHighError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_SlashPercentageTooHigh()
func (marketplace *Marketplace) UnpackMarketplaceSlashPercentageTooHighError(raw []byte) (*MarketplaceMarketplaceSlashPercentageTooHigh, error) {
	out := new(MarketplaceMarketplaceSlashPercentageTooHigh)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_SlashPercentageTooHigh", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceSlotIsFree represents a Marketplace_SlotIsFree error raised by the Marketplace contract.
type MarketplaceMarketplaceSlotIsFree struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_SlotIsFree()
func MarketplaceMarketplaceSlotIsFreeErrorID() common.Hash {
	return common.HexToHash("0x8b41ec7f151ce37fc4a64a7981ac814f0dc7bd2d144db526b2d60ce8adb206e0")
}

// UnpackMarketplaceSlotIsFreeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_SlotIsFree()
func (marketplace *Marketplace) UnpackMarketplaceSlotIsFreeError(raw []byte) (*MarketplaceMarketplaceSlotIsFree, error) {
	out := new(MarketplaceMarketplaceSlotIsFree)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_SlotIsFree", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceSlotNotAcceptingProofs represents a Marketplace_SlotNotAcceptingProofs error raised by the Marketplace contract.
type MarketplaceMarketplaceSlotNotAcceptingProofs struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_SlotNotAcceptingProofs()
func MarketplaceMarketplaceSlotNotAcceptingProofsErrorID() common.Hash {
	return common.HexToHash("0xae9dcffdc29a485e97a97f9d5d21bf34df1d08d470e16b9f78695cf8bf302ba9")
}

// UnpackMarketplaceSlotNotAcceptingProofsError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_SlotNotAcceptingProofs()
func (marketplace *Marketplace) UnpackMarketplaceSlotNotAcceptingProofsError(raw []byte) (*MarketplaceMarketplaceSlotNotAcceptingProofs, error) {
	out := new(MarketplaceMarketplaceSlotNotAcceptingProofs)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_SlotNotAcceptingProofs", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceSlotNotFree represents a Marketplace_SlotNotFree error raised by the Marketplace contract.
type MarketplaceMarketplaceSlotNotFree struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_SlotNotFree()
func MarketplaceMarketplaceSlotNotFreeErrorID() common.Hash {
	return common.HexToHash("0xff556acfa2198b1d9552b9032e28ee9c327c2ccd1b3d16534d3425aaf1c141e9")
}

// UnpackMarketplaceSlotNotFreeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_SlotNotFree()
func (marketplace *Marketplace) UnpackMarketplaceSlotNotFreeError(raw []byte) (*MarketplaceMarketplaceSlotNotFree, error) {
	out := new(MarketplaceMarketplaceSlotNotFree)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_SlotNotFree", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceStartNotBeforeExpiry represents a Marketplace_StartNotBeforeExpiry error raised by the Marketplace contract.
type MarketplaceMarketplaceStartNotBeforeExpiry struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_StartNotBeforeExpiry()
func MarketplaceMarketplaceStartNotBeforeExpiryErrorID() common.Hash {
	return common.HexToHash("0x56607cb098fcdf1109bea78b5439de0d935eb109eab43a53c334e5ab3d3142bf")
}

// UnpackMarketplaceStartNotBeforeExpiryError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_StartNotBeforeExpiry()
func (marketplace *Marketplace) UnpackMarketplaceStartNotBeforeExpiryError(raw []byte) (*MarketplaceMarketplaceStartNotBeforeExpiry, error) {
	out := new(MarketplaceMarketplaceStartNotBeforeExpiry)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_StartNotBeforeExpiry", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceTransferFailed represents a Marketplace_TransferFailed error raised by the Marketplace contract.
type MarketplaceMarketplaceTransferFailed struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_TransferFailed()
func MarketplaceMarketplaceTransferFailedErrorID() common.Hash {
	return common.HexToHash("0xf8599ffa5ba7e8c955c1f7f9fc73b044e592d05a0e3a9238e8dd877c8012d6c7")
}

// UnpackMarketplaceTransferFailedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_TransferFailed()
func (marketplace *Marketplace) UnpackMarketplaceTransferFailedError(raw []byte) (*MarketplaceMarketplaceTransferFailed, error) {
	out := new(MarketplaceMarketplaceTransferFailed)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_TransferFailed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceMarketplaceUnknownRequest represents a Marketplace_UnknownRequest error raised by the Marketplace contract.
type MarketplaceMarketplaceUnknownRequest struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Marketplace_UnknownRequest()
func MarketplaceMarketplaceUnknownRequestErrorID() common.Hash {
	return common.HexToHash("0xbdd64a7abbe3e8347ca6edbbae46e73185abf5a45f230aae9b916a7bf5f475d5")
}

// UnpackMarketplaceUnknownRequestError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Marketplace_UnknownRequest()
func (marketplace *Marketplace) UnpackMarketplaceUnknownRequestError(raw []byte) (*MarketplaceMarketplaceUnknownRequest, error) {
	out := new(MarketplaceMarketplaceUnknownRequest)
	if err := marketplace.abi.UnpackIntoInterface(out, "Marketplace_UnknownRequest", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplacePeriodsInvalidSecondsPerPeriod represents a Periods_InvalidSecondsPerPeriod error raised by the Marketplace contract.
type MarketplacePeriodsInvalidSecondsPerPeriod struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Periods_InvalidSecondsPerPeriod()
func MarketplacePeriodsInvalidSecondsPerPeriodErrorID() common.Hash {
	return common.HexToHash("0x2aa6d8e0b667421309d80a7dc365493d80f08c6316fb19260517f5e91024613f")
}

// UnpackPeriodsInvalidSecondsPerPeriodError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Periods_InvalidSecondsPerPeriod()
func (marketplace *Marketplace) UnpackPeriodsInvalidSecondsPerPeriodError(raw []byte) (*MarketplacePeriodsInvalidSecondsPerPeriod, error) {
	out := new(MarketplacePeriodsInvalidSecondsPerPeriod)
	if err := marketplace.abi.UnpackIntoInterface(out, "Periods_InvalidSecondsPerPeriod", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsInsufficientBlockHeight represents a Proofs_InsufficientBlockHeight error raised by the Marketplace contract.
type MarketplaceProofsInsufficientBlockHeight struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_InsufficientBlockHeight()
func MarketplaceProofsInsufficientBlockHeightErrorID() common.Hash {
	return common.HexToHash("0x71ebecc2d5519669ec50771676aacf8fd29f1eb6506ec63d3896b56424055fdf")
}

// UnpackProofsInsufficientBlockHeightError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_InsufficientBlockHeight()
func (marketplace *Marketplace) UnpackProofsInsufficientBlockHeightError(raw []byte) (*MarketplaceProofsInsufficientBlockHeight, error) {
	out := new(MarketplaceProofsInsufficientBlockHeight)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_InsufficientBlockHeight", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsInvalidProof represents a Proofs_InvalidProof error raised by the Marketplace contract.
type MarketplaceProofsInvalidProof struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_InvalidProof()
func MarketplaceProofsInvalidProofErrorID() common.Hash {
	return common.HexToHash("0xfcd03a47618eaa0c72c9c278f20c54b266b5ac7bf37e468d5f1bc22125ff2de5")
}

// UnpackProofsInvalidProofError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_InvalidProof()
func (marketplace *Marketplace) UnpackProofsInvalidProofError(raw []byte) (*MarketplaceProofsInvalidProof, error) {
	out := new(MarketplaceProofsInvalidProof)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_InvalidProof", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsPeriodNotEnded represents a Proofs_PeriodNotEnded error raised by the Marketplace contract.
type MarketplaceProofsPeriodNotEnded struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_PeriodNotEnded()
func MarketplaceProofsPeriodNotEndedErrorID() common.Hash {
	return common.HexToHash("0x6b4b1a4e47836775c24128be79440795c11ffd951d456bfef7ade8950cfb135b")
}

// UnpackProofsPeriodNotEndedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_PeriodNotEnded()
func (marketplace *Marketplace) UnpackProofsPeriodNotEndedError(raw []byte) (*MarketplaceProofsPeriodNotEnded, error) {
	out := new(MarketplaceProofsPeriodNotEnded)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_PeriodNotEnded", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsProofAlreadyMarkedMissing represents a Proofs_ProofAlreadyMarkedMissing error raised by the Marketplace contract.
type MarketplaceProofsProofAlreadyMarkedMissing struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_ProofAlreadyMarkedMissing()
func MarketplaceProofsProofAlreadyMarkedMissingErrorID() common.Hash {
	return common.HexToHash("0x98e7e5517da414c15967b63c7fe2ad8d9507d60f2d31e7ecd1d72cfd57389fb4")
}

// UnpackProofsProofAlreadyMarkedMissingError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_ProofAlreadyMarkedMissing()
func (marketplace *Marketplace) UnpackProofsProofAlreadyMarkedMissingError(raw []byte) (*MarketplaceProofsProofAlreadyMarkedMissing, error) {
	out := new(MarketplaceProofsProofAlreadyMarkedMissing)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_ProofAlreadyMarkedMissing", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsProofAlreadySubmitted represents a Proofs_ProofAlreadySubmitted error raised by the Marketplace contract.
type MarketplaceProofsProofAlreadySubmitted struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_ProofAlreadySubmitted()
func MarketplaceProofsProofAlreadySubmittedErrorID() common.Hash {
	return common.HexToHash("0x3edef7db6b5c7edfb77bb74e00cd6a02a59a74b84e987cf95a0bdf23448b3be3")
}

// UnpackProofsProofAlreadySubmittedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_ProofAlreadySubmitted()
func (marketplace *Marketplace) UnpackProofsProofAlreadySubmittedError(raw []byte) (*MarketplaceProofsProofAlreadySubmitted, error) {
	out := new(MarketplaceProofsProofAlreadySubmitted)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_ProofAlreadySubmitted", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsProofNotMissing represents a Proofs_ProofNotMissing error raised by the Marketplace contract.
type MarketplaceProofsProofNotMissing struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_ProofNotMissing()
func MarketplaceProofsProofNotMissingErrorID() common.Hash {
	return common.HexToHash("0x00fab7d9713aebd683ea80b8bb8c8fed029476cc53744dc7e8abc5b127f41c04")
}

// UnpackProofsProofNotMissingError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_ProofNotMissing()
func (marketplace *Marketplace) UnpackProofsProofNotMissingError(raw []byte) (*MarketplaceProofsProofNotMissing, error) {
	out := new(MarketplaceProofsProofNotMissing)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_ProofNotMissing", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsProofNotRequired represents a Proofs_ProofNotRequired error raised by the Marketplace contract.
type MarketplaceProofsProofNotRequired struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_ProofNotRequired()
func MarketplaceProofsProofNotRequiredErrorID() common.Hash {
	return common.HexToHash("0xd3ffa66bdb9432bcddbe0199e3b778f1ddc3f6d2b8cba6826220b73f015e1577")
}

// UnpackProofsProofNotRequiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_ProofNotRequired()
func (marketplace *Marketplace) UnpackProofsProofNotRequiredError(raw []byte) (*MarketplaceProofsProofNotRequired, error) {
	out := new(MarketplaceProofsProofNotRequired)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_ProofNotRequired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceProofsValidationTimedOut represents a Proofs_ValidationTimedOut error raised by the Marketplace contract.
type MarketplaceProofsValidationTimedOut struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Proofs_ValidationTimedOut()
func MarketplaceProofsValidationTimedOutErrorID() common.Hash {
	return common.HexToHash("0xde55698eb78ce427830a383d2bbd818308911f7326bcf8df5f69d2c82dbad1d9")
}

// UnpackProofsValidationTimedOutError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Proofs_ValidationTimedOut()
func (marketplace *Marketplace) UnpackProofsValidationTimedOutError(raw []byte) (*MarketplaceProofsValidationTimedOut, error) {
	out := new(MarketplaceProofsValidationTimedOut)
	if err := marketplace.abi.UnpackIntoInterface(out, "Proofs_ValidationTimedOut", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MarketplaceSlotReservationsReservationNotAllowed represents a SlotReservations_ReservationNotAllowed error raised by the Marketplace contract.
type MarketplaceSlotReservationsReservationNotAllowed struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SlotReservations_ReservationNotAllowed()
func MarketplaceSlotReservationsReservationNotAllowedErrorID() common.Hash {
	return common.HexToHash("0x424a04abcb63f20a24223414bb959c8ef4630167a317b013a2a1c1abe71f1c1e")
}

// UnpackSlotReservationsReservationNotAllowedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SlotReservations_ReservationNotAllowed()
func (marketplace *Marketplace) UnpackSlotReservationsReservationNotAllowedError(raw []byte) (*MarketplaceSlotReservationsReservationNotAllowed, error) {
	out := new(MarketplaceSlotReservationsReservationNotAllowed)
	if err := marketplace.abi.UnpackIntoInterface(out, "SlotReservations_ReservationNotAllowed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderMetaData contains all meta data concerning the SectorProvider contract.
var SectorProviderMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint64\",\"name\":\"ticketLookback\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"challengeDelay\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"commitDue\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"minLife\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"maxLife\",\"type\":\"uint64\"},{\"internalType\":\"uint32\",\"name\":\"leaves\",\"type\":\"uint32\"}],\"internalType\":\"structSealingConfig\",\"name\":\"sealing\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"periodBlocks\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"deadlines\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"partitionSectors\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"faultCutoff\",\"type\":\"uint64\"},{\"internalType\":\"uint32\",\"name\":\"leaves\",\"type\":\"uint32\"},{\"internalType\":\"uint16\",\"name\":\"maxFaultPeriods\",\"type\":\"uint16\"}],\"internalType\":\"structProvingConfig\",\"name\":\"proving\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"depositPerByte\",\"type\":\"uint64\"},{\"internalType\":\"uint16\",\"name\":\"voidFee\",\"type\":\"uint16\"},{\"internalType\":\"uint16\",\"name\":\"missedFee\",\"type\":\"uint16\"},{\"internalType\":\"uint16\",\"name\":\"faultFee\",\"type\":\"uint16\"},{\"internalType\":\"uint16\",\"name\":\"terminationFee\",\"type\":\"uint16\"}],\"internalType\":\"structDepositConfig\",\"name\":\"deposits\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bool\",\"name\":\"taken\",\"type\":\"bool\"},{\"internalType\":\"uint64\",\"name\":\"rewardPerByte\",\"type\":\"uint64\"}],\"internalType\":\"structProofTypeConfig\",\"name\":\"possession\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bool\",\"name\":\"taken\",\"type\":\"bool\"},{\"internalType\":\"uint64\",\"name\":\"rewardPerByte\",\"type\":\"uint64\"}],\"internalType\":\"structProofTypeConfig\",\"name\":\"simulated\",\"type\":\"tuple\"}],\"internalType\":\"structSectorConfig\",\"name\":\"config\",\"type\":\"tuple\"},{\"internalType\":\"contractIERC20\",\"name\":\"token_\",\"type\":\"address\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_AlreadyProven\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_InvalidCommD\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"earliest\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"latest\",\"type\":\"uint64\"}],\"name\":\"Sectors_InvalidExpiration\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_InvalidFees\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_InvalidPeriod\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"uint32\",\"name\":\"leaf\",\"type\":\"uint32\"}],\"name\":\"Sectors_InvalidProof\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_InvalidProofTypes\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_InvalidProving\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_InvalidSealing\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"size\",\"type\":\"uint64\"}],\"name\":\"Sectors_InvalidSize\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotDue\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotEnded\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotFaulty\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotLive\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotMissed\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotPreCommitted\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NotVoid\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_NothingOwed\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_NothingToProve\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_NumberUsed\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"numbers\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"proofs\",\"type\":\"uint256\"}],\"name\":\"Sectors_ProofCount\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"uint256\",\"name\":\"want\",\"type\":\"uint256\"}],\"name\":\"Sectors_ProofLength\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"enumProofType\",\"name\":\"proofType\",\"type\":\"uint8\"}],\"name\":\"Sectors_ProofTypeNotTaken\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"seedEpoch\",\"type\":\"uint64\"}],\"name\":\"Sectors_SeedTooEarly\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"ticketEpoch\",\"type\":\"uint64\"}],\"name\":\"Sectors_TicketOutOfReach\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"Sectors_TransferFailed\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_Void\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"deadline\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"open\",\"type\":\"uint64\"}],\"name\":\"Sectors_WindowNotOpen\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"want\",\"type\":\"bytes32\"}],\"name\":\"Sectors_WrongCommR\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"Sectors_WrongPartition\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"Burnt\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"firstPeriod\",\"type\":\"uint64\"}],\"name\":\"Committed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"returned\",\"type\":\"uint256\"}],\"name\":\"Expired\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"fromPeriod\",\"type\":\"uint64\"}],\"name\":\"FaultDeclared\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"Funded\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"periods\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"fee\",\"type\":\"uint256\"}],\"name\":\"Missed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"fee\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"returned\",\"type\":\"uint256\"}],\"name\":\"PreCommitExpired\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"size\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"ticketEpoch\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"expiration\",\"type\":\"uint64\"},{\"internalType\":\"bytes32\",\"name\":\"commD\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"commR\",\"type\":\"bytes32\"},{\"internalType\":\"enumProofType\",\"name\":\"proofType\",\"type\":\"uint8\"}],\"indexed\":false,\"internalType\":\"structPreCommitment\",\"name\":\"said\",\"type\":\"tuple\"},{\"indexed\":false,\"internalType\":\"bytes32\",\"name\":\"ticket\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"seedEpoch\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"deposit\",\"type\":\"uint256\"}],\"name\":\"PreCommitted\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"deadline\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"partition\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"bytes32\",\"name\":\"randomness\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint64[]\",\"name\":\"numbers\",\"type\":\"uint64[]\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"reward\",\"type\":\"uint256\"}],\"name\":\"Proven\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"}],\"name\":\"Recovered\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"}],\"name\":\"RecoveryDeclared\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"bytes32\",\"name\":\"seed\",\"type\":\"bytes32\"}],\"name\":\"SeedPinned\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"enumTerminationReason\",\"name\":\"reason\",\"type\":\"uint8\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"fee\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"returned\",\"type\":\"uint256\"}],\"name\":\"Terminated\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"Withdrawn\",\"type\":\"event\"},{\"inputs\":[],\"name\":\"burn\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"bytes\",\"name\":\"proof\",\"type\":\"bytes\"}],\"name\":\"commit\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"configuration\",\"outputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint64\",\"name\":\"ticketLookback\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"challengeDelay\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"commitDue\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"minLife\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"maxLife\",\"type\":\"uint64\"},{\"internalType\":\"uint32\",\"name\":\"leaves\",\"type\":\"uint32\"}],\"internalType\":\"structSealingConfig\",\"name\":\"sealing\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"periodBlocks\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"deadlines\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"partitionSectors\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"faultCutoff\",\"type\":\"uint64\"},{\"internalType\":\"uint32\",\"name\":\"leaves\",\"type\":\"uint32\"},{\"internalType\":\"uint16\",\"name\":\"maxFaultPeriods\",\"type\":\"uint16\"}],\"internalType\":\"structProvingConfig\",\"name\":\"proving\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint64\",\"name\":\"depositPerByte\",\"type\":\"uint64\"},{\"internalType\":\"uint16\",\"name\":\"voidFee\",\"type\":\"uint16\"},{\"internalType\":\"uint16\",\"name\":\"missedFee\",\"type\":\"uint16\"},{\"internalType\":\"uint16\",\"name\":\"faultFee\",\"type\":\"uint16\"},{\"internalType\":\"uint16\",\"name\":\"terminationFee\",\"type\":\"uint16\"}],\"internalType\":\"structDepositConfig\",\"name\":\"deposits\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bool\",\"name\":\"taken\",\"type\":\"bool\"},{\"internalType\":\"uint64\",\"name\":\"rewardPerByte\",\"type\":\"uint64\"}],\"internalType\":\"structProofTypeConfig\",\"name\":\"possession\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"bool\",\"name\":\"taken\",\"type\":\"bool\"},{\"internalType\":\"uint64\",\"name\":\"rewardPerByte\",\"type\":\"uint64\"}],\"internalType\":\"structProofTypeConfig\",\"name\":\"simulated\",\"type\":\"tuple\"}],\"internalType\":\"structSectorConfig\",\"name\":\"\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64[]\",\"name\":\"numbers\",\"type\":\"uint64[]\"}],\"name\":\"declareFaults\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64[]\",\"name\":\"numbers\",\"type\":\"uint64[]\"}],\"name\":\"declareRecoveries\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"size\",\"type\":\"uint64\"}],\"name\":\"depositFor\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"expire\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"expirePreCommit\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"fund\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"}],\"name\":\"markMissed\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"openWindow\",\"outputs\":[{\"components\":[{\"internalType\":\"uint64\",\"name\":\"period\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"deadline\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"opens\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"closes\",\"type\":\"uint64\"},{\"internalType\":\"bytes32\",\"name\":\"randomness\",\"type\":\"bytes32\"}],\"internalType\":\"structProvingPeriods.Window\",\"name\":\"w\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"owed\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"pinSeed\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"placeOf\",\"outputs\":[{\"internalType\":\"uint64\",\"name\":\"deadline\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"partition\",\"type\":\"uint64\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"pool\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"size\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"ticketEpoch\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"expiration\",\"type\":\"uint64\"},{\"internalType\":\"bytes32\",\"name\":\"commD\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"commR\",\"type\":\"bytes32\"},{\"internalType\":\"enumProofType\",\"name\":\"proofType\",\"type\":\"uint8\"}],\"internalType\":\"structPreCommitment\",\"name\":\"said\",\"type\":\"tuple\"}],\"name\":\"preCommit\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"deadline\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"partition\",\"type\":\"uint64\"},{\"internalType\":\"uint64[]\",\"name\":\"numbers\",\"type\":\"uint64[]\"},{\"internalType\":\"bytes[]\",\"name\":\"proofs\",\"type\":\"bytes[]\"}],\"name\":\"provePossession\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"sector\",\"outputs\":[{\"components\":[{\"internalType\":\"enumSectorStatus\",\"name\":\"status\",\"type\":\"uint8\"},{\"internalType\":\"enumProofType\",\"name\":\"proofType\",\"type\":\"uint8\"},{\"internalType\":\"uint64\",\"name\":\"size\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"deadline\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"partition\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"ticketEpoch\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"preCommitEpoch\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"seedEpoch\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"activation\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"expiration\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"nextPeriod\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"faultyFrom\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"recoverAt\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"faultPeriods\",\"type\":\"uint64\"},{\"internalType\":\"uint256\",\"name\":\"deposit\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"commD\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"commR\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"ticket\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"seed\",\"type\":\"bytes32\"}],\"internalType\":\"structSectorInfo\",\"name\":\"info\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"}],\"name\":\"terminate\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"provider\",\"type\":\"address\"},{\"internalType\":\"uint64\",\"name\":\"number\",\"type\":\"uint64\"},{\"internalType\":\"uint64\",\"name\":\"ticketEpoch\",\"type\":\"uint64\"}],\"name\":\"ticketFor\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"ticketReach\",\"outputs\":[{\"internalType\":\"uint64\",\"name\":\"\",\"type\":\"uint64\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"token\",\"outputs\":[{\"internalType\":\"contractIERC20\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"unburnt\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"withdraw\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "e1d27efb3d0431b9bc457da5077b8f15ce",
	Bin: "0x610360604052348015610010575f5ffd5b506040516152a13803806152a183398101604081905261002f91610ac2565b8182835f01518460200151856040015185876020015180602001516001600160401b03165f148061006b575060408101516001600160401b0316155b8061007e575080516001600160401b0316155b806100985750805163ffffffff6001600160401b03909116115b806100bb5750602081015181516100af9190610bde565b6001600160401b031615155b806100df57506020810151815160fa916100d491610c0c565b6001600160401b0316115b156100fd57604051638ba519b960e01b815260040160405180910390fd5b80516001600160401b03166080526020810151815161011c9190610c0c565b6001600160401b0390811660a0526020820151811660c052604090910151811660e0526001600160a01b039091166101005281511615806101665750612710816020015161ffff16115b8061017a5750612710816080015161ffff16115b806101945750806080015161ffff16816040015161ffff16115b806101ae5750806040015161ffff16816060015161ffff16115b806101bf575060a082015161ffff16155b156101dd57604051633594d1bf60e01b815260040160405180910390fd5b60208301516001600160401b0390811661012052604093840151811661014052815116610160529182015161ffff9081166101805260608084015182166101a05260809093015181166101c05260a090910151166101e0528151908201515115801561024c5750608082015151155b8061026757506080820151602001516001600160401b031615155b1561028557604051637c2fa67360e01b815260040160405180910390fd5b80516001600160401b031615806102aa5750610100815f01516001600160401b031610155b806102c0575060208101516001600160401b0316155b806102dd575063ffffffff801681602001516001600160401b0316115b8061030e575061010081602001516001600160401b03166102fe9190610c3a565b81604001516001600160401b0316105b80610341575081602001515f01516001600160401b0316600282606001516103369190610c0c565b6001600160401b0316105b8061035f575064ffffffffff801681608001516001600160401b0316115b8061039b575080606001516001600160401b031681604001516001600160401b031661038b9190610c3a565b81608001516001600160401b0316105b806103ae575060a081015163ffffffff16155b806103c6575061ffff80168160a0015163ffffffff16115b156103e45760405163e55e7de760e01b815260040160405180910390fd5b80516001600160401b03908116610200526060808301518216610220526080808401519092166102405260a09092015163ffffffff90811661026052604084015160209081015161ffff1661028052928401515115156102a052928101515115156102c0529083015190810151909116158061046d575061ffff8016816080015163ffffffff16115b806104915750805f01516001600160401b031681606001516001600160401b031610155b156104af576040516353190a8f60e01b815260040160405180910390fd5b806080015163ffffffff166102e08163ffffffff168152505080606001516001600160401b0316610300816001600160401b0316815250508160600151602001516001600160401b0316610320816001600160401b0316815250508160800151602001516001600160401b0316610340816001600160401b03168152505050508160045f820151815f015f820151815f015f6101000a8154816001600160401b0302191690836001600160401b031602179055506020820151815f0160086101000a8154816001600160401b0302191690836001600160401b031602179055506040820151815f0160106101000a8154816001600160401b0302191690836001600160401b031602179055506060820151815f0160186101000a8154816001600160401b0302191690836001600160401b031602179055506080820151816001015f6101000a8154816001600160401b0302191690836001600160401b0316021790555060a08201518160010160086101000a81548163ffffffff021916908363ffffffff16021790555050506020820151816002015f820151815f015f6101000a8154816001600160401b0302191690836001600160401b031602179055506020820151815f0160086101000a8154816001600160401b0302191690836001600160401b031602179055506040820151815f0160106101000a8154816001600160401b0302191690836001600160401b031602179055506060820151815f0160186101000a8154816001600160401b0302191690836001600160401b031602179055506080820151816001015f6101000a81548163ffffffff021916908363ffffffff16021790555060a08201518160010160046101000a81548161ffff021916908361ffff16021790555050506040820151816004015f820151815f015f6101000a8154816001600160401b0302191690836001600160401b031602179055506020820151815f0160086101000a81548161ffff021916908361ffff1602179055506040820151815f01600a6101000a81548161ffff021916908361ffff1602179055506060820151815f01600c6101000a81548161ffff021916908361ffff1602179055506080820151815f01600e6101000a81548161ffff021916908361ffff16021790555050506060820151816005015f820151815f015f6101000a81548160ff0219169083151502179055506020820151815f0160016101000a8154816001600160401b0302191690836001600160401b0316021790555050506080820151816006015f820151815f015f6101000a81548160ff0219169083151502179055506020820151815f0160016101000a8154816001600160401b0302191690836001600160401b0316021790555050509050505050610c5f565b60405160c081016001600160401b03811182821017156108db57634e487b7160e01b5f52604160045260245ffd5b60405290565b60405160a081016001600160401b03811182821017156108db57634e487b7160e01b5f52604160045260245ffd5b80516001600160401b0381168114610925575f5ffd5b919050565b805163ffffffff81168114610925575f5ffd5b805161ffff81168114610925575f5ffd5b5f60c0828403121561095e575f5ffd5b6109666108ad565b90506109718261090f565b815261097f6020830161090f565b60208201526109906040830161090f565b60408201526109a16060830161090f565b60608201526109b26080830161092a565b60808201526109c360a0830161093d565b60a082015292915050565b5f60a082840312156109de575f5ffd5b6109e66108e1565b90506109f18261090f565b81526109ff6020830161093d565b6020820152610a106040830161093d565b6040820152610a216060830161093d565b6060820152610a326080830161093d565b608082015292915050565b5f60408284031215610a4d575f5ffd5b604080519081016001600160401b0381118282101715610a7b57634e487b7160e01b5f52604160045260245ffd5b806040525080915082518015158114610a92575f5ffd5b8152610aa06020840161090f565b60208201525092915050565b80516001600160a01b0381168114610925575f5ffd5b5f5f8284036102c0811215610ad5575f5ffd5b6102a0811215610ae3575f5ffd5b610aeb6108e1565b60c0821215610af8575f5ffd5b610b006108ad565b9150610b0b8561090f565b8252610b196020860161090f565b6020830152610b2a6040860161090f565b6040830152610b3b6060860161090f565b6060830152610b4c6080860161090f565b6080830152610b5d60a0860161092a565b60a0830152818152610b728660c0870161094e565b6020820152610b858661018087016109ce565b6040820152610b98866102208701610a3d565b6060820152610bab866102608701610a3d565b60808201529250610bc190506102a08401610aac565b90509250929050565b634e487b7160e01b5f52601260045260245ffd5b5f6001600160401b03831680610bf657610bf6610bca565b6001600160401b03929092169190910692915050565b5f6001600160401b03831680610c2457610c24610bca565b6001600160401b03929092169190910492915050565b80820180821115610c5957634e487b7160e01b5f52601160045260245ffd5b92915050565b60805160a05160c05160e05161010051610120516101405161016051610180516101a0516101c0516101e05161020051610220516102405161026051610280516102a0516102c0516102e0516103005161032051610340516144ef610db25f395f612eb901525f612edf01525f611d6b01525f612dc401525f61258201525f61255b01525f61166501525f61071201525f61248401525f61242901525f610af501525f61288501525f61270f01525f6129f701525f6129c101525f61181901525f818161244d0152612bef01525f8181611113015281816113ea01528181611f540152612b7a01525f81816103d901528181612221015261266801525f61084301525f818161081c015261086701525f81816118a40152818161190d0152818161197f015281816121ae01526131da01525f8181611872015281816118c80152818161193a015261343d01526144ef5ff3fe608060405234801561000f575f5ffd5b506004361061018f575f3560e01c8063896f97a5116100dd578063d0d529a711610088578063e031771911610063578063e0317719146103ae578063e71c3ef0146103c1578063fc0c546a146103d4575f5ffd5b8063d0d529a71461030f578063da993aab1461037c578063df18e0471461038f575f5ffd5b8063c3698c1e116100b8578063c3698c1e146102d6578063ca1d209d146102e9578063d0973b7d146102fc575f5ffd5b8063896f97a5146102835780638ea71e9314610296578063ac1ec0e6146102b6575f5ffd5b8063336efa3b1161013d5780636573b214116101185780636573b214146102485780636c70bee91461025b57806377ed0e6314610270575f5ffd5b8063336efa3b146102255780633ccfd60b1461023857806344df8e7014610240575f5ffd5b8063222285601161016d57806322228560146101cc57806327abcf32146101df57806331dc8462146101f2575f5ffd5b806305ce34b5146101935780630a3d5684146101af57806316f0115b146101c4575b5f5ffd5b61019c60015481565b6040519081526020015b60405180910390f35b6101c26101bd366004613949565b610413565b005b61019c5f5481565b6101c26101da36600461399d565b61058b565b6101c26101ed3660046139b6565b610690565b61020561020036600461399d565b610815565b604080516001600160401b039384168152929091166020830152016101a6565b6101c2610233366004613949565b61089f565b6101c26109d4565b6101c2610a5c565b61019c610256366004613a48565b610ac3565b610263610c34565b6040516101a69190613a88565b6101c261027e366004613c16565b610dd8565b6101c261029136600461399d565b6111a9565b61029e611222565b6040516001600160401b0390911681526020016101a6565b6102c96102c4366004613c2f565b61125e565b6040516101a69190613c98565b6101c26102e4366004613c2f565b61159a565b6101c26102f7366004613e50565b6117b8565b61019c61030a36600461399d565b61180b565b610317611842565b6040516101a691905f60a0820190506001600160401b0383511682526001600160401b0360208401511660208301526001600160401b0360408401511660408301526001600160401b0360608401511660608301526080830151608083015292915050565b6101c261038a366004613c2f565b6119e4565b61019c61039d366004613e67565b60026020525f908152604090205481565b6101c26103bc366004613e80565b6119fc565b6101c26103cf366004613a48565b611bd5565b6103fb7f000000000000000000000000000000000000000000000000000000000000000081565b6040516001600160a01b0390911681526020016101a6565b5f5b81811015610586575f83838381811061043057610430613f0e565b9050602002016020810190610445919061399d565b90505f6104523383611cbe565b90506004815460ff16600781111561046c5761046c613c60565b146104b3576040517fb03407880000000000000000000000000000000000000000000000000000000081526001600160401b03831660048201526024015b60405180910390fd5b805465ffffffffffff6501000000000082048116600160881b90920416108015906104ed57508054600160881b900465ffffffffffff1615155b156104f957505061057e565b61050282611d4c565b815476ffffffffffff00000000000000000000000000000000001916600160881b65ffffffffffff92831681029190911780845560405191900490911681526001600160401b0383169033907f422fe1b72d35d1ee743f843afa3f41cff3de1f06fa26420ba3e1bf929c9c35209060200160405180910390a350505b600101610415565b505050565b5f61059582611d96565b90506005815460ff1660078111156105af576105af613c60565b036105b8575050565b5f6105c283610815565b5090506105cf8282611e08565b610610576040517f29c25e7e0000000000000000000000000000000000000000000000000000000081526001600160401b03841660048201526024016104aa565b600182018054835460ff191660071784556dffffffffffffffffffffffffffff1981169091556001600160701b03166106493382611e51565b6040518181526001600160401b0385169033907f19e97403b2091dc7b11bb69b8d94f780c6fe9d81181813fd28c9b82704096589906020015b60405180910390a350505050565b5f61069b3385611e81565b90506106a8338583611f38565b6040805160e081018252600460a082018181527f7365616c0000000000000000000000000000000000000000000000000000000060c0840152825283015460208201526005830154918101919091523360608201526001600160401b0385166080820152610739907f0000000000000000000000000000000000000000000000000000000000000000838686612029565b5f61074385610815565b50825460ff1916600317835560018301805465ffffffffffff43908116600160a01b027fffffffffffff000000000000ffffffffffffffffffffffffffffffffffffffff9092169190911790915590915061079f9082906121a5565b82546affffffffffff000000000019166501000000000065ffffffffffff92831681029190911780855560405191900490911681526001600160401b0386169033907fb3c2ac2ce896c4815e7562bea152ceb39603b0845aafc3a1ed9f16d59a44aacd9060200160405180910390a35050505050565b5f806108417f000000000000000000000000000000000000000000000000000000000000000084613f36565b7f000000000000000000000000000000000000000000000000000000000000000061088c7f000000000000000000000000000000000000000000000000000000000000000086613f77565b6108969190613f77565b91509150915091565b5f5b81811015610586575f8383838181106108bc576108bc613f0e565b90506020020160208101906108d1919061399d565b90505f6108de3383611cbe565b90505f6108ea83611d4c565b90506003825460ff16600781111561090457610904613c60565b0361093b57815465ffffffffffff8216600160581b0270ffffffffffff00000000000000000000ff19909116176004178255610980565b815465ffffffffffff808316600160881b909204161061097857815476ffffffffffff000000000000000000000000000000000019168255610980565b5050506109cc565b60405165ffffffffffff821681526001600160401b0384169033907f0c24fcfb584d34d694e57b4956905028888520e87a719b1ef8585a18a953cdd89060200160405180910390a35050505b6001016108a1565b335f9081526002602052604081205490819003610a04576040516301dec6e360e21b815260040160405180910390fd5b335f8181526002602052604080822091909155517f7084f5476618d8e60b11ef0d7d3f06914655adb8793e28ff7f018d4c76d505d590610a479084815260200190565b60405180910390a2610a5933826121e2565b50565b6001545f819003610a80576040516301dec6e360e21b815260040160405180910390fd5b5f6001556040518181527f4cd1cedac1faabaf2d2d626f6caa6a7df4cf69ec7ecc3bcae2f938bdedc860719060200160405180910390a1610a5961dead826121e2565b5f610ad9611fff6001600160401b038416613fa4565b431115610ae757505f610c2d565b43610b1e6001600160401b037f00000000000000000000000000000000000000000000000000000000000000008116908516613fa4565b1115610b2b57505f610c2d565b6001600160a01b0384165f9081526003602090815260408083206001600160401b038781168552925290912060010154600160d01b900465ffffffffffff1690831611610b7957505f610c2d565b5f610b8c836001600160401b03166122a8565b90505f819003610ba357506001600160401b038216405b5f819003610bb457505f9050610c2d565b60408051602080820193909352606087901b6bffffffffffffffffffffffff19168183015260c086901b6001600160c01b03191660548201527f7469636b65740000000000000000000000000000000000000000000000000000605c820152815160428183030181526062909101909152805191012090505b9392505050565b610c3c613809565b5060408051610160810182526004546001600160401b0380821660a080850191825268010000000000000000808504841660c080880191909152700100000000000000000000000000000000808704861660e08901527801000000000000000000000000000000000000000000000000968790048616610100808a01919091526005548088166101208b015263ffffffff9085900481166101408b015295895289519283018a52600654808816845284810488166020858101919091529281048816848c015297909704861660608084019190915260075495861660808085019190915261ffff640100000000909704871684870152828a019390935289519485018a5260085480881686529384048616858301526a010000000000000000000084048616858b01526c010000000000000000000000008404861685820152600160701b90930490941683820152868801929092528651808801885260095460ff8082161515835290879004861682860152918701528651808801909752600a5490811615158752939093049091169084015281019190915290565b335f9081526003602090815260408220908290610df79085018561399d565b6001600160401b0316815260208101919091526040015f9081209150815460ff166007811115610e2957610e29613c60565b14610e7957610e3b602083018361399d565b6040517fb43df6de0000000000000000000000000000000000000000000000000000000081526001600160401b0390911660048201526024016104aa565b5f610e92610e8d604085016020860161399d565b61236a565b9050610eac610ea7608085016060860161399d565b612425565b608083013560c019811614610eed576040517feab9ad4000000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f610f0f33610eff602087018761399d565b610256606088016040890161399d565b90505f819003610f6757610f29606085016040860161399d565b6040517f5f7157180000000000000000000000000000000000000000000000000000000081526001600160401b0390911660048201526024016104aa565b5f610f72858361252c565b90508460a001358114610fb4576040517fecc1ede5000000000000000000000000000000000000000000000000000000008152600481018290526024016104aa565b5f610fc861030a604088016020890161399d565b855460ff191660011786559050610fe560e0870160c08801613fc5565b8554869061ff00191661010083600181111561100357611003613c60565b0217905550845462ff000019166201000060ff86160217855561102c608087016060880161399d565b855465ffffffffffff918216600160b81b027fffffff000000000000ffffffffffffffffffffffffffffffffffffffffffffff90911617865560018601805443909216600160701b027fffffffffffffffffffffffff00000000000000000000000000000000000000009092166001600160701b038416179190911790556110ba606087016040880161399d565b60018601805465ffffffffffff92909216600160d01b0279ffffffffffffffffffffffffffffffffffffffffffffffffffff9092169190911790556080860135600286015560038501829055600485018390555f6111387f000000000000000000000000000000000000000000000000000000000000000043613fde565b9050611147602088018861399d565b6001600160401b0316336001600160a01b03167f0db629446014d45161de77cd6d390e3a329c6f82a5666192034f2b6e9a54802c8987858760405161118f9493929190613ffd565b60405180910390a36111a08261262d565b50505050505050565b5f6111b382611d96565b90506005815460ff1660078111156111cd576111cd613c60565b036111d6575050565b5f6111e083610815565b5090506111ed8282611e08565b1561121657604051633aed614560e21b81526001600160401b03841660048201526024016104aa565b6105863384845f6126f7565b5f5f600143118015611245575061124261123d6002436140be565b6122a8565b15155b90508061125457610100611258565b611fff5b91505090565b6112fb604080516102608101909152805f81526020015f81525f6020820181905260408201819052606082018190526080820181905260a0820181905260c0820181905260e08201819052610100820181905261012082018190526101408201819052610160820181905261018082018190526101a082018190526101c082018190526101e0820181905261020082018190526102209091015290565b6001600160a01b0383165f9081526003602090815260408083206001600160401b0386168452909152812090815460ff16600781111561133d5761133d613c60565b036113485750611594565b61135183610815565b6001600160401b03908116608085015216606083015280546020830190610100900460ff16600181111561138757611387613c60565b9081600181111561139a5761139a613c60565b905250805460206201000090910460ff161b6001600160401b03166040830152600181015465ffffffffffff600160d01b8204811660a0850152600160701b9091041660c0830181905261140f907f000000000000000000000000000000000000000000000000000000000000000090613fde565b6001600160401b031660e0830152600181015465ffffffffffff600160a01b90910481166101008401528154600160b81b81048216610120850152600160881b90041661018083015260028101546101e083015260038101546102008301526004810154610220830152600581015461024083015260608201515f906114969083906127c6565b602081015183549192506114ba9165010000000000900465ffffffffffff166140d1565b65ffffffffffff1661014084015260408101516114e7578154600160581b900465ffffffffffff166114ea565b80515b65ffffffffffff166101608401526020810151825461151491906301000000900461ffff166140d1565b65ffffffffffff166101a08401526060810151600183015461153f91906001600160701b03166140be565b6101c0840152606083015161155690839083612ac7565b8390600781111561156957611569613c60565b9081600781111561157c5761157c613c60565b905250608081015115611591575f6101c08401525b50505b92915050565b6001600160a01b0382165f9081526003602090815260408083206001600160401b038516845290915290206001815460ff1660078111156115dd576115dd613c60565b146116065760405163782613c560e01b81526001600160401b03831660048201526024016104aa565b61160f81612b6b565b611650576040517f1407695e0000000000000000000000000000000000000000000000000000000081526001600160401b03831660048201526024016104aa565b60018101546001600160701b03165f611689837f0000000000000000000000000000000000000000000000000000000000000000612c35565b600184810180546001600160a01b0389165f9081526003602081815260408084206001600160401b038d168552909152822080547fffffff000000000000000000000000000000000000000000000000000000000016815594850182905560028501829055840181905560048401819055600590930192909255805479ffffffffffffffffffffffffffffffffffffffffffffffffffff16600160d01b9283900465ffffffffffff1692830217905590915061174482612c86565b6117578661175284866140be565b611e51565b6001600160401b0385166001600160a01b0387167fae798b2676ac22fcbbeecd3c44551b0656d2cd2c74d667e1f4be99dac82f98fe8461179781886140be565b604080519283526020830191909152015b60405180910390a3505050505050565b805f5f8282546117c89190613fa4565b909155505060405181815233907f5af8184bef8e4b45eb9f6ed7734d04da38ced226495548f46e0c8ff8d7d9a5249060200160405180910390a2610a598161262d565b5f6115946001600160401b037f000000000000000000000000000000000000000000000000000000000000000081169084166140ef565b6040805160a0810182525f80825260208201819052918101829052606081018290526080810191909152436118977f000000000000000000000000000000000000000000000000000000000000000082613f77565b6001600160401b031682527f00000000000000000000000000000000000000000000000000000000000000006118ed7f000000000000000000000000000000000000000000000000000000000000000083613f36565b6118f79190613f77565b6001600160401b031660208301819052611932907f000000000000000000000000000000000000000000000000000000000000000090614106565b825161195f907f000000000000000000000000000000000000000000000000000000000000000090614106565b6119699190613fde565b6001600160401b0316604083018190526119a4907f000000000000000000000000000000000000000000000000000000000000000090613fde565b6001600160401b039081166060840152604083015116156119e057600182604001516119d09190614128565b6001600160401b03164060808301525b5090565b6119f882826119f38585611e81565b611f38565b5050565b5f839003611a36576040517f522b7fb200000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b828114611a79576040517f06f7354700000000000000000000000000000000000000000000000000000000815260048101849052602481018290526044016104aa565b5f611a82611842565b905080602001516001600160401b0316876001600160401b031614611aec5760208101516040517fda4cd3610000000000000000000000000000000000000000000000000000000081526001600160401b03808a16600483015290911660248201526044016104aa565b5f805b85811015611b6057611b4c8389898985818110611b0e57611b0e613f0e565b9050602002016020810190611b23919061399d565b888886818110611b3557611b35613f0e565b9050602002810190611b479190614147565b612ca5565b611b569083613fa4565b9150600101611aef565b505f611b6c3383612f3e565b9050825f01516001600160401b0316336001600160a01b03167f0724ed69b4c5b701d06a25efd9253c9ddf3f7d34943b883bdcb8a79e609561f08b8b87608001518c8c88604051611bc296959493929190614189565b60405180910390a3505050505050505050565b6001600160a01b0383165f9081526003602090815260408083206001600160401b0386168452909152812090611c0a84610815565b5090505f611c1883836127c6565b805190915065ffffffffffff166001600160401b0385161080611c68575060208101518151611c529165ffffffffffff9081169116613fde565b6001600160401b0316846001600160401b031610155b15611caa576040517f58b38d730000000000000000000000000000000000000000000000000000000081526001600160401b03861660048201526024016104aa565b611cb686868585612fa7565b505050505050565b6001600160a01b0382165f9081526003602090815260408083206001600160401b0385168452909152812090611cf383610815565b509050611d0284848484612fa7565b611d0b82613163565b1580611d1c5750611d1c8282611e08565b15611d4557604051633aed614560e21b81526001600160401b03841660048201526024016104aa565b5092915050565b5f5f611d5783610815565b509050610c2d81611d916001600160401b037f00000000000000000000000000000000000000000000000000000000000000001643613fa4565b6121a5565b335f9081526003602090815260408083206001600160401b03851684529091529020611dc181613163565b611de957604051633aed614560e21b81526001600160401b03831660048201526024016104aa565b5f611df383610815565b509050611e0233848484612fa7565b50919050565b81545f90600160b81b900465ffffffffffff164310801590610c2d5750611e2f83836131a2565b65ffffffffffff16611e40836131d4565b65ffffffffffff1610159392505050565b6001600160a01b0382165f9081526002602052604081208054839290611e78908490613fa4565b90915550505050565b6001600160a01b0382165f9081526003602090815260408083206001600160401b038516845290915290206001815460ff166007811115611ec457611ec4613c60565b14611eed5760405163782613c560e01b81526001600160401b03831660048201526024016104aa565b611ef681612b6b565b15611594576040517f3c92f7560000000000000000000000000000000000000000000000000000000081526001600160401b03831660048201526024016104aa565b600581015415611f4757505050565b60018101545f90611f88907f000000000000000000000000000000000000000000000000000000000000000090600160701b900465ffffffffffff16613fde565b9050806001600160401b03164311611fd7576040517f5c871b030000000000000000000000000000000000000000000000000000000081526001600160401b03821660048201526024016104aa565b6001600160401b038181164060058401819055604051908152908416906001600160a01b038616907f6a1c0e86e9993396b3bb4d4598207f36f619ca3e21cf0a8c8799d058875e5a7190602001610682565b825462010000900460ff165f60018554610100900460ff16600181111561205257612052613c60565b1490505f8161206a57612065878461321d565b612072565b612072613247565b90508381146120c55760808801516040517fb2641d0c0000000000000000000000000000000000000000000000000000000081526001600160401b039091166004820152602481018290526044016104aa565b811561213b575f6120db8989896003015461327c565b9050808051906020012086866040516120f59291906141fe565b604051809103902014612132576080890151604051635116da1960e11b81526001600160401b0390911660048201525f60248201526044016104aa565b5050505061219e565b5f61214e86868b8b888c6002015461337b565b90508763ffffffff168163ffffffff1614612199576080890151604051635116da1960e11b81526001600160401b03909116600482015263ffffffff821660248201526044016104aa565b505050505b5050505050565b5f610c2d6121d37f000000000000000000000000000000000000000000000000000000000000000085614106565b6001600160401b031683613423565b6040517fa9059cbb0000000000000000000000000000000000000000000000000000000081526001600160a01b038381166004830152602482018390527f0000000000000000000000000000000000000000000000000000000000000000169063a9059cbb906044016020604051808303815f875af1158015612267573d5f5f3e3d5ffd5b505050506040513d601f19601f8201168201806040525081019061228b919061420d565b6119f85760405163a9d6e51160e01b815260040160405180910390fd5b5f5f5f71f90827f1c53a10cb7a02335b1753200029356001600160a01b0316846040516020016122da91815260200190565b60408051601f19818403018152908290526122f491614243565b5f60405180830381855afa9150503d805f811461232c576040519150601f19603f3d011682016040523d82523d5f602084013e612331565b606091505b5091509150818015612344575080516020145b61234e575f612362565b80806020019051810190612362919061424e565b949350505050565b5f6108006001600160401b038316108061239157506410000000006001600160401b038316115b806123b157506123a2600183614128565b82166001600160401b03165f14155b156123f3576040517fd3df25c30000000000000000000000000000000000000000000000000000000081526001600160401b03831660048201526024016104aa565b6001600160401b03808316602060ff84161b9091161015612420578061241881614265565b9150506123f3565b919050565b435f7f00000000000000000000000000000000000000000000000000000000000000006124727f000000000000000000000000000000000000000000000000000000000000000084613fde565b61247c9190613fde565b90505f6124a97f000000000000000000000000000000000000000000000000000000000000000084613fde565b9050816001600160401b0316846001600160401b031610806124dc5750806001600160401b0316846001600160401b0316115b15612526576040517f939b40a30000000000000000000000000000000000000000000000000000000081526001600160401b038084166004830152821660248201526044016104aa565b50505050565b5f80600161254060e0860160c08701613fc5565b600181111561255157612551613c60565b14905080612580577f0000000000000000000000000000000000000000000000000000000000000000156125a3565b7f0000000000000000000000000000000000000000000000000000000000000000155b156125eb576125b860e0850160c08601613fc5565b6040517f92b1d9fd0000000000000000000000000000000000000000000000000000000081526004016104aa9190614283565b806126115761260c33612601602087018761399d565b85876080013561347c565b612362565b61236233612622602087018761399d565b8587608001356134c8565b6040517f23b872dd000000000000000000000000000000000000000000000000000000008152336004820152306024820152604481018290527f00000000000000000000000000000000000000000000000000000000000000006001600160a01b0316906323b872dd906064016020604051808303815f875af11580156126b6573d5f5f3e3d5ffd5b505050506040513d601f19601f820116820180604052508101906126da919061420d565b610a595760405163a9d6e51160e01b815260040160405180910390fd5b60018201546001600160701b03165f612739612733857f0000000000000000000000000000000000000000000000000000000000000000612c35565b836134f7565b845460ff191660051785556001850180546dffffffffffffffffffffffffffff19169055905061276881612c86565b6127768661175283856140be565b6001600160401b0385166001600160a01b0387167f156598be2cc0d0be05992ea34e1db386647a40e4f48e399f6fd797a172c554a985846127b781886140be565b6040516117a893929190614291565b6127fb6040805160c0810182525f8082526020820181905291810182905260608101829052608081018290529060a082015290565b61280483613163565b1561159457825465010000000000900465ffffffffffff165f612826846131d4565b90505f61283386866131a2565b90508165ffffffffffff168165ffffffffffff161015612851578091505b8165ffffffffffff168365ffffffffffff161061287057505050611594565b85545f906128a9906301000000900461ffff167f00000000000000000000000000000000000000000000000000000000000000006142b9565b65ffffffffffff8516865261ffff169050806128c585856142d3565b65ffffffffffff16106128d857806128e2565b6128e284846142d3565b65ffffffffffff1660208601526003875460ff16600781111561290757612907613c60565b14806129265750865465ffffffffffff600160581b9091048116908516105b1515604086018190525f9061293b575f61293e565b60015b885460ff919091169150600160881b900465ffffffffffff16158015906129785750875465ffffffffffff808716600160881b9092041610155b80156129a75750602086015161298e90866140d1565b885465ffffffffffff918216600160881b909104909116105b156129ba57806129b6816142f1565b9150505b5f6129e5897f0000000000000000000000000000000000000000000000000000000000000000612c35565b6129ef90836140ef565b9050612a1b897f0000000000000000000000000000000000000000000000000000000000000000612c35565b82886020015165ffffffffffff16612a3391906140be565b612a3d91906140ef565b612a479082613fa4565b60018a0154909150612a639082906001600160701b03166134f7565b6060880181905260018a01546001600160701b03169003612a9157600260a088015260016080880152612abb565b8265ffffffffffff16876020015165ffffffffffff1603612abb57600160a0880181905260808801525b50505050505092915050565b5f6001845460ff166007811115612ae057612ae0613c60565b03612b0357612aee84612b6b565b612af9576001612afc565b60025b9050610c2d565b612b0c84613163565b612b1b5750825460ff16610c2d565b816080015115612b2d57506005610c2d565b612b378484611e08565b15612b4457506006610c2d565b5f826020015165ffffffffffff1611612b6157835460ff16612362565b6004949350505050565b60018101545f908190612bb7907f00000000000000000000000000000000000000000000000000000000000000006001600160401b031690600160701b900465ffffffffffff16613fa4565b6005840154909150158015612bd65750612bd361010082613fa4565b43115b15612be45750600192915050565b6001830154612c2c907f00000000000000000000000000000000000000000000000000000000000000006001600160401b031690600160701b900465ffffffffffff16613fa4565b43119392505050565b5f5f8261ffff16612c5761030a8654602060ff62010000909204919091161b90565b612c6191906140ef565b90506127106001612c728284613fa4565b612c7c91906140be565b6123629190614309565b8015610a59578060015f828254612c9d9190613fa4565b909155505050565b5f5f5f612cb186610815565b9150915087602001516001600160401b0316826001600160401b0316141580612cec5750806001600160401b0316876001600160401b031614155b15612d2e576040517fd6f90c110000000000000000000000000000000000000000000000000000000081526001600160401b03871660048201526024016104aa565b5f612d393388611cbe565b90505f612d47828b8a61350c565b9050612deb6040518060a001604052806040518060400160405280600a81526020017f706f7373657373696f6e000000000000000000000000000000000000000000008152508152602001846004015481526020018c608001518152602001336001600160a01b031681526020018a6001600160401b03168152507f0000000000000000000000000000000000000000000000000000000000000000848a8a612029565b8951612df89060016140d1565b825465ffffffffffff9190911665010000000000026affffffffffff0000000000199091161782558015612e955781547fffffffffffffffffff000000000000000000000000ffffffffffff0000ffff0016600317825589516040516001600160401b0391821681529089169033907f9dc8394e2b60a0761500bda491167114ede1572426ec8236ef201e53474140579060200160405180910390a35b5f808354610100900460ff166001811115612eb257612eb2613c60565b14612edd577f0000000000000000000000000000000000000000000000000000000000000000612eff565b7f00000000000000000000000000000000000000000000000000000000000000005b83549091506001600160401b0382169060206201000090910460ff161b6001600160401b0316612f2f91906140ef565b9b9a5050505050505050505050565b5f5f548210612f4e575f54612f50565b815b9050805f03612f6057505f611594565b805f5f828254612f7091906140be565b90915550506001600160a01b0383165f9081526002602052604081208054839290612f9c908490613fa4565b909155505092915050565b5f612fb283836127c6565b9050806020015165ffffffffffff165f03612fcd5750612526565b60208101518151612fde91906140d1565b835465ffffffffffff9190911665010000000000026affffffffffff00000000001990911617808455602082015190849060039061302990849061ffff63010000009091041661431c565b92506101000a81548161ffff021916908361ffff160217905550806040015115613081578254815170ffffffffffff00000000000000000000ff19909116600160581b65ffffffffffff909216919091021760041783555b60608101516001840180545f906130a29084906001600160701b0316614336565b92506101000a8154816001600160701b0302191690836001600160701b031602179055506130d38160600151612c86565b8051602082015160608301516040516001600160401b038816936001600160a01b038a16937fd93c814725367f155b7bdc9bfd0b693985a65c2445e391552e7e17443dee72a2936131419365ffffffffffff9384168152919092166020820152604081019190915260600190565b60405180910390a380608001511561219e5761219e8585858460a001516126f7565b5f6003825460ff16600781111561317c5761317c613c60565b148061159457506004825460ff16600781111561319b5761319b613c60565b1492915050565b81545f90610c2d9083906131c790600190600160b81b900465ffffffffffff166142d3565b65ffffffffffff166121a5565b5f6115947f0000000000000000000000000000000000000000000000000000000000000000613204846001613fde565b61320e9190614106565b6001600160401b031643613423565b5f61322c60ff83166001613fa4565b61323d63ffffffff851660206140ef565b610c2d91906140ef565b5f604051806040016040528060098152602001681cda5b5d5b185d195960ba1b8152505160206132779190613fa4565b905090565b60605f6002604051806040016040528060098152602001681cda5b5d5b185d195960ba1b815250865f01518760200151886040015189606001518a608001518a8a6040516020016132d4989796959493929190614355565b60408051601f19818403018152908290526132ee91614243565b602060405180830381855afa158015613309573d5f5f3e3d5ffd5b5050506040513d601f19601f8201168201806040525081019061332c919061424e565b905080604051806040016040528060098152602001681cda5b5d5b185d195960ba1b8152506040516020016133629291906143da565b6040516020818303038152906040529150509392505050565b5f5f61338860018561321d565b90505f5b8563ffffffff168163ffffffff16101561341357365f8a8a6133b48663ffffffff87166140ef565b90866133c18760016143eb565b63ffffffff166133d191906140ef565b926133de93929190614407565b91509150856133f883836133f38d888d613689565b613735565b146134095782945050505050613419565b505060010161338c565b50849150505b9695505050505050565b5f8282101561343357505f611594565b6001600160401b037f00000000000000000000000000000000000000000000000000000000000000001661346784846140be565b6134719190614309565b610c2d906001613fa4565b5f6134bf6040518060400160405280601081526020017f686f73746e6f64652f636f6d6d642f31000000000000000000000000000000008152508686868661378b565b95945050505050565b5f6134bf604051806040016040528060098152602001681cda5b5d5b185d195960ba1b8152508686868661378b565b5f8183106135055781610c2d565b5090919050565b604082015160018401545f916001600160401b0316600160a01b90910465ffffffffffff1610158061355e5750604083015184546001600160401b03909116600160b81b90910465ffffffffffff1611155b1561358757604051631612d4f160e11b81526001600160401b03831660048201526024016104aa565b825184546001600160401b039091166501000000000090910465ffffffffffff1611156135eb576040517f706945270000000000000000000000000000000000000000000000000000000081526001600160401b03831660048201526024016104aa565b6003845460ff16600781111561360357613603613c60565b148061362b575083548351600160581b90910465ffffffffffff166001600160401b03909116105b1561363757505f610c2d565b8251845465ffffffffffff600160881b909104166001600160401b039091161461367f57604051631612d4f160e11b81526001600160401b03831660048201526024016104aa565b5060019392505050565b5f5f6002855f01518660200151876040015188606001518960800151896040516020016136bb9695949392919061442e565b60408051601f19818403018152908290526136d591614243565b602060405180830381855afa1580156136f0573d5f5f3e3d5ffd5b5050506040513d601f19601f82011682018060405250810190613713919061424e565b9050613726600160ff851681901b6140be565b60c09190911c16949350505050565b8235828401602085015b81811015613782576001841660051b838152813560208218525060205f60405f60025afa61376b575f5ffd5b5f5160019490941c9360c01916925060200161373f565b50509392505050565b5f613419600287878787876040516020016137aa9594939291906144a4565b60408051601f19818403018152908290526137c491614243565b602060405180830381855afa1580156137df573d5f5f3e3d5ffd5b5050506040513d601f19601f82011682018060405250810190613802919061424e565b60c0191690565b6040805161016081019091525f60a0820181815260c0830182905260e0830182905261010083018290526101208301829052610140830191909152819081526040805160c0810182525f8082526020828101829052928201819052606082018190526080820181905260a082015291019081526040805160a0810182525f808252602082810182905292820181905260608201819052608082015291019081526020016138d260405180604001604052805f151581526020015f6001600160401b031681525090565b81526020016138fd60405180604001604052805f151581526020015f6001600160401b031681525090565b905290565b5f5f83601f840112613912575f5ffd5b5081356001600160401b03811115613928575f5ffd5b6020830191508360208260051b8501011115613942575f5ffd5b9250929050565b5f5f6020838503121561395a575f5ffd5b82356001600160401b0381111561396f575f5ffd5b61397b85828601613902565b90969095509350505050565b80356001600160401b0381168114612420575f5ffd5b5f602082840312156139ad575f5ffd5b610c2d82613987565b5f5f5f604084860312156139c8575f5ffd5b6139d184613987565b925060208401356001600160401b038111156139eb575f5ffd5b8401601f810186136139fb575f5ffd5b80356001600160401b03811115613a10575f5ffd5b866020828401011115613a21575f5ffd5b939660209190910195509293505050565b80356001600160a01b0381168114612420575f5ffd5b5f5f5f60608486031215613a5a575f5ffd5b613a6384613a32565b9250613a7160208501613987565b9150613a7f60408501613987565b90509250925092565b5f6102a08201905082516001600160401b0381511683526001600160401b0360208201511660208401526001600160401b0360408201511660408401526001600160401b0360608201511660608401526001600160401b03608082015116608084015263ffffffff60a08201511660a0840152506020830151613b7160c08401826001600160401b0381511682526001600160401b0360208201511660208301526001600160401b0360408201511660408301526001600160401b03606082015116606083015263ffffffff608082015116608083015261ffff60a08201511660a08301525050565b506040830151613bc96101808401826001600160401b03815116825261ffff602082015116602083015261ffff604082015116604083015261ffff606082015116606083015261ffff60808201511660808301525050565b5060608301518051151561022084015260208101516001600160401b03166102408401525060808301518051151561026084015260208101516001600160401b0316610280840152611d45565b5f60e0828403128015613c27575f5ffd5b509092915050565b5f5f60408385031215613c40575f5ffd5b613c4983613a32565b9150613c5760208401613987565b90509250929050565b634e487b7160e01b5f52602160045260245ffd5b60088110613c8457613c84613c60565b9052565b60028110613c8457613c84613c60565b5f61026082019050613cab828451613c74565b6020830151613cbd6020840182613c88565b506040830151613cd860408401826001600160401b03169052565b506060830151613cf360608401826001600160401b03169052565b506080830151613d0e60808401826001600160401b03169052565b5060a0830151613d2960a08401826001600160401b03169052565b5060c0830151613d4460c08401826001600160401b03169052565b5060e0830151613d5f60e08401826001600160401b03169052565b50610100830151613d7c6101008401826001600160401b03169052565b50610120830151613d996101208401826001600160401b03169052565b50610140830151613db66101408401826001600160401b03169052565b50610160830151613dd36101608401826001600160401b03169052565b50610180830151613df06101808401826001600160401b03169052565b506101a0830151613e0d6101a08401826001600160401b03169052565b506101c08301516101c08301526101e08301516101e083015261020083015161020083015261022083015161022083015261024083015161024083015292915050565b5f60208284031215613e60575f5ffd5b5035919050565b5f60208284031215613e77575f5ffd5b610c2d82613a32565b5f5f5f5f5f5f60808789031215613e95575f5ffd5b613e9e87613987565b9550613eac60208801613987565b945060408701356001600160401b03811115613ec6575f5ffd5b613ed289828a01613902565b90955093505060608701356001600160401b03811115613ef0575f5ffd5b613efc89828a01613902565b979a9699509497509295939492505050565b634e487b7160e01b5f52603260045260245ffd5b634e487b7160e01b5f52601260045260245ffd5b5f6001600160401b03831680613f4e57613f4e613f22565b806001600160401b0384160691505092915050565b634e487b7160e01b5f52601160045260245ffd5b5f6001600160401b03831680613f8f57613f8f613f22565b806001600160401b0384160491505092915050565b8082018082111561159457611594613f63565b803560028110612420575f5ffd5b5f60208284031215613fd5575f5ffd5b610c2d82613fb7565b6001600160401b03818116838216019081111561159457611594613f63565b61014081016001600160401b0361401387613987565b1682526001600160401b0361402a60208801613987565b1660208301526001600160401b0361404460408801613987565b1660408301526001600160401b0361405e60608801613987565b1660608301526080868101359083015260a0808701359083015261408460c08701613fb7565b61409160c0840182613c88565b508460e08301526140ae6101008301856001600160401b03169052565b8261012083015295945050505050565b8181038181111561159457611594613f63565b65ffffffffffff818116838216019081111561159457611594613f63565b808202811582820484141761159457611594613f63565b6001600160401b038181168382160290811690818114611d4557611d45613f63565b6001600160401b03828116828216039081111561159457611594613f63565b5f5f8335601e1984360301811261415c575f5ffd5b8301803591506001600160401b03821115614175575f5ffd5b602001915036819003821315613942575f5ffd5b6001600160401b038781168252861660208201526040810185905260a06060820181905281018390525f8460c08301825b868110156141e8576001600160401b036141d384613987565b168252602092830192909101906001016141ba565b5060809390930193909352509695505050505050565b818382375f9101908152919050565b5f6020828403121561421d575f5ffd5b81518015158114610c2d575f5ffd5b5f81518060208401855e5f93019283525090919050565b5f610c2d828461422c565b5f6020828403121561425e575f5ffd5b5051919050565b5f60ff821660ff810361427a5761427a613f63565b60010192915050565b602081016115948284613c88565b60608101600385106142a5576142a5613c60565b938152602081019290925260409091015290565b61ffff828116828216039081111561159457611594613f63565b65ffffffffffff828116828216039081111561159457611594613f63565b5f6001820161430257614302613f63565b5060010190565b5f8261431757614317613f22565b500490565b61ffff818116838216019081111561159457611594613f63565b6001600160701b03828116828216039081111561159457611594613f63565b5f614369614363838c61422c565b8a61422c565b97885250506020860194909452606092831b6bffffffffffffffffffffffff1916604086015260c09190911b6001600160c01b031916605485015260e01b7fffffffff0000000000000000000000000000000000000000000000000000000016605c84015282015260800192915050565b8281525f612362602083018461422c565b63ffffffff818116838216019081111561159457611594613f63565b5f5f85851115614415575f5ffd5b83861115614421575f5ffd5b5050820193919092039150565b5f614439828961422c565b96875250506020850193909352606091821b6bffffffffffffffffffffffff1916604085015260c01b6001600160c01b031916605484015260e09190911b7fffffffff0000000000000000000000000000000000000000000000000000000016605c83015201919050565b5f6144af828861422c565b60609690961b6bffffffffffffffffffffffff19168652505060c09290921b6001600160c01b0319166014840152601c830152603c820152605c0191905056",
}

// SectorProvider is an auto generated Go binding around an Ethereum contract.
type SectorProvider struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *SectorProvider) GetABI() abi.ABI {
	return c.abi
}

// NewSectorProvider creates a new instance of SectorProvider.
func NewSectorProvider() *SectorProvider {
	parsed, err := SectorProviderMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &SectorProvider{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *SectorProvider) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(((uint64,uint64,uint64,uint64,uint64,uint32),(uint64,uint64,uint64,uint64,uint32,uint16),(uint64,uint16,uint16,uint16,uint16),(bool,uint64),(bool,uint64)) config, address token_) returns()
func (sectorProvider *SectorProvider) PackConstructor(config SectorConfig, token_ common.Address) []byte {
	enc, err := sectorProvider.abi.Pack("", config, token_)
	if err != nil {
		panic(err)
	}
	return enc
}

// PackBurn is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x44df8e70.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function burn() returns()
func (sectorProvider *SectorProvider) PackBurn() []byte {
	enc, err := sectorProvider.abi.Pack("burn")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackBurn is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x44df8e70.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function burn() returns()
func (sectorProvider *SectorProvider) TryPackBurn() ([]byte, error) {
	return sectorProvider.abi.Pack("burn")
}

// PackCommit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x27abcf32.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function commit(uint64 number, bytes proof) returns()
func (sectorProvider *SectorProvider) PackCommit(number uint64, proof []byte) []byte {
	enc, err := sectorProvider.abi.Pack("commit", number, proof)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCommit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x27abcf32.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function commit(uint64 number, bytes proof) returns()
func (sectorProvider *SectorProvider) TryPackCommit(number uint64, proof []byte) ([]byte, error) {
	return sectorProvider.abi.Pack("commit", number, proof)
}

// PackConfiguration is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6c70bee9.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function configuration() view returns(((uint64,uint64,uint64,uint64,uint64,uint32),(uint64,uint64,uint64,uint64,uint32,uint16),(uint64,uint16,uint16,uint16,uint16),(bool,uint64),(bool,uint64)))
func (sectorProvider *SectorProvider) PackConfiguration() []byte {
	enc, err := sectorProvider.abi.Pack("configuration")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackConfiguration is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6c70bee9.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function configuration() view returns(((uint64,uint64,uint64,uint64,uint64,uint32),(uint64,uint64,uint64,uint64,uint32,uint16),(uint64,uint16,uint16,uint16,uint16),(bool,uint64),(bool,uint64)))
func (sectorProvider *SectorProvider) TryPackConfiguration() ([]byte, error) {
	return sectorProvider.abi.Pack("configuration")
}

// UnpackConfiguration is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x6c70bee9.
//
// Solidity: function configuration() view returns(((uint64,uint64,uint64,uint64,uint64,uint32),(uint64,uint64,uint64,uint64,uint32,uint16),(uint64,uint16,uint16,uint16,uint16),(bool,uint64),(bool,uint64)))
func (sectorProvider *SectorProvider) UnpackConfiguration(data []byte) (SectorConfig, error) {
	out, err := sectorProvider.abi.Unpack("configuration", data)
	if err != nil {
		return *new(SectorConfig), err
	}
	out0 := *abi.ConvertType(out[0], new(SectorConfig)).(*SectorConfig)
	return out0, nil
}

// PackDeclareFaults is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x336efa3b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function declareFaults(uint64[] numbers) returns()
func (sectorProvider *SectorProvider) PackDeclareFaults(numbers []uint64) []byte {
	enc, err := sectorProvider.abi.Pack("declareFaults", numbers)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDeclareFaults is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x336efa3b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function declareFaults(uint64[] numbers) returns()
func (sectorProvider *SectorProvider) TryPackDeclareFaults(numbers []uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("declareFaults", numbers)
}

// PackDeclareRecoveries is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x0a3d5684.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function declareRecoveries(uint64[] numbers) returns()
func (sectorProvider *SectorProvider) PackDeclareRecoveries(numbers []uint64) []byte {
	enc, err := sectorProvider.abi.Pack("declareRecoveries", numbers)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDeclareRecoveries is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x0a3d5684.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function declareRecoveries(uint64[] numbers) returns()
func (sectorProvider *SectorProvider) TryPackDeclareRecoveries(numbers []uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("declareRecoveries", numbers)
}

// PackDepositFor is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0973b7d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function depositFor(uint64 size) view returns(uint256)
func (sectorProvider *SectorProvider) PackDepositFor(size uint64) []byte {
	enc, err := sectorProvider.abi.Pack("depositFor", size)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDepositFor is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0973b7d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function depositFor(uint64 size) view returns(uint256)
func (sectorProvider *SectorProvider) TryPackDepositFor(size uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("depositFor", size)
}

// UnpackDepositFor is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xd0973b7d.
//
// Solidity: function depositFor(uint64 size) view returns(uint256)
func (sectorProvider *SectorProvider) UnpackDepositFor(data []byte) (*big.Int, error) {
	out, err := sectorProvider.abi.Unpack("depositFor", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackExpire is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x22228560.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function expire(uint64 number) returns()
func (sectorProvider *SectorProvider) PackExpire(number uint64) []byte {
	enc, err := sectorProvider.abi.Pack("expire", number)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackExpire is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x22228560.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function expire(uint64 number) returns()
func (sectorProvider *SectorProvider) TryPackExpire(number uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("expire", number)
}

// PackExpirePreCommit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc3698c1e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function expirePreCommit(address provider, uint64 number) returns()
func (sectorProvider *SectorProvider) PackExpirePreCommit(provider common.Address, number uint64) []byte {
	enc, err := sectorProvider.abi.Pack("expirePreCommit", provider, number)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackExpirePreCommit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc3698c1e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function expirePreCommit(address provider, uint64 number) returns()
func (sectorProvider *SectorProvider) TryPackExpirePreCommit(provider common.Address, number uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("expirePreCommit", provider, number)
}

// PackFund is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xca1d209d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function fund(uint256 amount) returns()
func (sectorProvider *SectorProvider) PackFund(amount *big.Int) []byte {
	enc, err := sectorProvider.abi.Pack("fund", amount)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackFund is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xca1d209d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function fund(uint256 amount) returns()
func (sectorProvider *SectorProvider) TryPackFund(amount *big.Int) ([]byte, error) {
	return sectorProvider.abi.Pack("fund", amount)
}

// PackMarkMissed is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe71c3ef0.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function markMissed(address provider, uint64 number, uint64 period) returns()
func (sectorProvider *SectorProvider) PackMarkMissed(provider common.Address, number uint64, period uint64) []byte {
	enc, err := sectorProvider.abi.Pack("markMissed", provider, number, period)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMarkMissed is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe71c3ef0.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function markMissed(address provider, uint64 number, uint64 period) returns()
func (sectorProvider *SectorProvider) TryPackMarkMissed(provider common.Address, number uint64, period uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("markMissed", provider, number, period)
}

// PackOpenWindow is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0d529a7.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function openWindow() view returns((uint64,uint64,uint64,uint64,bytes32) w)
func (sectorProvider *SectorProvider) PackOpenWindow() []byte {
	enc, err := sectorProvider.abi.Pack("openWindow")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackOpenWindow is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd0d529a7.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function openWindow() view returns((uint64,uint64,uint64,uint64,bytes32) w)
func (sectorProvider *SectorProvider) TryPackOpenWindow() ([]byte, error) {
	return sectorProvider.abi.Pack("openWindow")
}

// UnpackOpenWindow is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xd0d529a7.
//
// Solidity: function openWindow() view returns((uint64,uint64,uint64,uint64,bytes32) w)
func (sectorProvider *SectorProvider) UnpackOpenWindow(data []byte) (ProvingPeriodsWindow, error) {
	out, err := sectorProvider.abi.Unpack("openWindow", data)
	if err != nil {
		return *new(ProvingPeriodsWindow), err
	}
	out0 := *abi.ConvertType(out[0], new(ProvingPeriodsWindow)).(*ProvingPeriodsWindow)
	return out0, nil
}

// PackOwed is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdf18e047.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function owed(address ) view returns(uint256)
func (sectorProvider *SectorProvider) PackOwed(arg0 common.Address) []byte {
	enc, err := sectorProvider.abi.Pack("owed", arg0)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackOwed is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdf18e047.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function owed(address ) view returns(uint256)
func (sectorProvider *SectorProvider) TryPackOwed(arg0 common.Address) ([]byte, error) {
	return sectorProvider.abi.Pack("owed", arg0)
}

// UnpackOwed is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xdf18e047.
//
// Solidity: function owed(address ) view returns(uint256)
func (sectorProvider *SectorProvider) UnpackOwed(data []byte) (*big.Int, error) {
	out, err := sectorProvider.abi.Unpack("owed", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackPinSeed is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xda993aab.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pinSeed(address provider, uint64 number) returns()
func (sectorProvider *SectorProvider) PackPinSeed(provider common.Address, number uint64) []byte {
	enc, err := sectorProvider.abi.Pack("pinSeed", provider, number)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPinSeed is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xda993aab.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pinSeed(address provider, uint64 number) returns()
func (sectorProvider *SectorProvider) TryPackPinSeed(provider common.Address, number uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("pinSeed", provider, number)
}

// PackPlaceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x31dc8462.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function placeOf(uint64 number) view returns(uint64 deadline, uint64 partition)
func (sectorProvider *SectorProvider) PackPlaceOf(number uint64) []byte {
	enc, err := sectorProvider.abi.Pack("placeOf", number)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPlaceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x31dc8462.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function placeOf(uint64 number) view returns(uint64 deadline, uint64 partition)
func (sectorProvider *SectorProvider) TryPackPlaceOf(number uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("placeOf", number)
}

// PlaceOfOutput serves as a container for the return parameters of contract
// method PlaceOf.
type PlaceOfOutput struct {
	Deadline  uint64
	Partition uint64
}

// UnpackPlaceOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x31dc8462.
//
// Solidity: function placeOf(uint64 number) view returns(uint64 deadline, uint64 partition)
func (sectorProvider *SectorProvider) UnpackPlaceOf(data []byte) (PlaceOfOutput, error) {
	out, err := sectorProvider.abi.Unpack("placeOf", data)
	outstruct := new(PlaceOfOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.Deadline = *abi.ConvertType(out[0], new(uint64)).(*uint64)
	outstruct.Partition = *abi.ConvertType(out[1], new(uint64)).(*uint64)
	return *outstruct, nil
}

// PackPool is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x16f0115b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pool() view returns(uint256)
func (sectorProvider *SectorProvider) PackPool() []byte {
	enc, err := sectorProvider.abi.Pack("pool")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPool is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x16f0115b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pool() view returns(uint256)
func (sectorProvider *SectorProvider) TryPackPool() ([]byte, error) {
	return sectorProvider.abi.Pack("pool")
}

// UnpackPool is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x16f0115b.
//
// Solidity: function pool() view returns(uint256)
func (sectorProvider *SectorProvider) UnpackPool(data []byte) (*big.Int, error) {
	out, err := sectorProvider.abi.Unpack("pool", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackPreCommit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x77ed0e63.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function preCommit((uint64,uint64,uint64,uint64,bytes32,bytes32,uint8) said) returns()
func (sectorProvider *SectorProvider) PackPreCommit(said PreCommitment) []byte {
	enc, err := sectorProvider.abi.Pack("preCommit", said)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPreCommit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x77ed0e63.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function preCommit((uint64,uint64,uint64,uint64,bytes32,bytes32,uint8) said) returns()
func (sectorProvider *SectorProvider) TryPackPreCommit(said PreCommitment) ([]byte, error) {
	return sectorProvider.abi.Pack("preCommit", said)
}

// PackProvePossession is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe0317719.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function provePossession(uint64 deadline, uint64 partition, uint64[] numbers, bytes[] proofs) returns()
func (sectorProvider *SectorProvider) PackProvePossession(deadline uint64, partition uint64, numbers []uint64, proofs [][]byte) []byte {
	enc, err := sectorProvider.abi.Pack("provePossession", deadline, partition, numbers, proofs)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackProvePossession is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe0317719.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function provePossession(uint64 deadline, uint64 partition, uint64[] numbers, bytes[] proofs) returns()
func (sectorProvider *SectorProvider) TryPackProvePossession(deadline uint64, partition uint64, numbers []uint64, proofs [][]byte) ([]byte, error) {
	return sectorProvider.abi.Pack("provePossession", deadline, partition, numbers, proofs)
}

// PackSector is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xac1ec0e6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function sector(address provider, uint64 number) view returns((uint8,uint8,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint256,bytes32,bytes32,bytes32,bytes32) info)
func (sectorProvider *SectorProvider) PackSector(provider common.Address, number uint64) []byte {
	enc, err := sectorProvider.abi.Pack("sector", provider, number)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSector is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xac1ec0e6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function sector(address provider, uint64 number) view returns((uint8,uint8,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint256,bytes32,bytes32,bytes32,bytes32) info)
func (sectorProvider *SectorProvider) TryPackSector(provider common.Address, number uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("sector", provider, number)
}

// UnpackSector is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xac1ec0e6.
//
// Solidity: function sector(address provider, uint64 number) view returns((uint8,uint8,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint64,uint256,bytes32,bytes32,bytes32,bytes32) info)
func (sectorProvider *SectorProvider) UnpackSector(data []byte) (SectorInfo, error) {
	out, err := sectorProvider.abi.Unpack("sector", data)
	if err != nil {
		return *new(SectorInfo), err
	}
	out0 := *abi.ConvertType(out[0], new(SectorInfo)).(*SectorInfo)
	return out0, nil
}

// PackTerminate is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x896f97a5.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function terminate(uint64 number) returns()
func (sectorProvider *SectorProvider) PackTerminate(number uint64) []byte {
	enc, err := sectorProvider.abi.Pack("terminate", number)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTerminate is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x896f97a5.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function terminate(uint64 number) returns()
func (sectorProvider *SectorProvider) TryPackTerminate(number uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("terminate", number)
}

// PackTicketFor is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6573b214.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function ticketFor(address provider, uint64 number, uint64 ticketEpoch) view returns(bytes32)
func (sectorProvider *SectorProvider) PackTicketFor(provider common.Address, number uint64, ticketEpoch uint64) []byte {
	enc, err := sectorProvider.abi.Pack("ticketFor", provider, number, ticketEpoch)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTicketFor is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6573b214.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function ticketFor(address provider, uint64 number, uint64 ticketEpoch) view returns(bytes32)
func (sectorProvider *SectorProvider) TryPackTicketFor(provider common.Address, number uint64, ticketEpoch uint64) ([]byte, error) {
	return sectorProvider.abi.Pack("ticketFor", provider, number, ticketEpoch)
}

// UnpackTicketFor is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x6573b214.
//
// Solidity: function ticketFor(address provider, uint64 number, uint64 ticketEpoch) view returns(bytes32)
func (sectorProvider *SectorProvider) UnpackTicketFor(data []byte) ([32]byte, error) {
	out, err := sectorProvider.abi.Unpack("ticketFor", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackTicketReach is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8ea71e93.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function ticketReach() view returns(uint64)
func (sectorProvider *SectorProvider) PackTicketReach() []byte {
	enc, err := sectorProvider.abi.Pack("ticketReach")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTicketReach is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8ea71e93.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function ticketReach() view returns(uint64)
func (sectorProvider *SectorProvider) TryPackTicketReach() ([]byte, error) {
	return sectorProvider.abi.Pack("ticketReach")
}

// UnpackTicketReach is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x8ea71e93.
//
// Solidity: function ticketReach() view returns(uint64)
func (sectorProvider *SectorProvider) UnpackTicketReach(data []byte) (uint64, error) {
	out, err := sectorProvider.abi.Unpack("ticketReach", data)
	if err != nil {
		return *new(uint64), err
	}
	out0 := *abi.ConvertType(out[0], new(uint64)).(*uint64)
	return out0, nil
}

// PackToken is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfc0c546a.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function token() view returns(address)
func (sectorProvider *SectorProvider) PackToken() []byte {
	enc, err := sectorProvider.abi.Pack("token")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackToken is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfc0c546a.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function token() view returns(address)
func (sectorProvider *SectorProvider) TryPackToken() ([]byte, error) {
	return sectorProvider.abi.Pack("token")
}

// UnpackToken is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xfc0c546a.
//
// Solidity: function token() view returns(address)
func (sectorProvider *SectorProvider) UnpackToken(data []byte) (common.Address, error) {
	out, err := sectorProvider.abi.Unpack("token", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackUnburnt is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x05ce34b5.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function unburnt() view returns(uint256)
func (sectorProvider *SectorProvider) PackUnburnt() []byte {
	enc, err := sectorProvider.abi.Pack("unburnt")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackUnburnt is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x05ce34b5.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function unburnt() view returns(uint256)
func (sectorProvider *SectorProvider) TryPackUnburnt() ([]byte, error) {
	return sectorProvider.abi.Pack("unburnt")
}

// UnpackUnburnt is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x05ce34b5.
//
// Solidity: function unburnt() view returns(uint256)
func (sectorProvider *SectorProvider) UnpackUnburnt(data []byte) (*big.Int, error) {
	out, err := sectorProvider.abi.Unpack("unburnt", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackWithdraw is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3ccfd60b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function withdraw() returns()
func (sectorProvider *SectorProvider) PackWithdraw() []byte {
	enc, err := sectorProvider.abi.Pack("withdraw")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackWithdraw is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3ccfd60b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function withdraw() returns()
func (sectorProvider *SectorProvider) TryPackWithdraw() ([]byte, error) {
	return sectorProvider.abi.Pack("withdraw")
}

// SectorProviderBurnt represents a Burnt event raised by the SectorProvider contract.
type SectorProviderBurnt struct {
	Amount *big.Int
	Raw    *types.Log // Blockchain specific contextual infos
}

const SectorProviderBurntEventName = "Burnt"

// ContractEventName returns the user-defined event name.
func (SectorProviderBurnt) ContractEventName() string {
	return SectorProviderBurntEventName
}

// UnpackBurntEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Burnt(uint256 amount)
func (sectorProvider *SectorProvider) UnpackBurntEvent(log *types.Log) (*SectorProviderBurnt, error) {
	event := "Burnt"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderBurnt)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderCommitted represents a Committed event raised by the SectorProvider contract.
type SectorProviderCommitted struct {
	Provider    common.Address
	Number      uint64
	FirstPeriod uint64
	Raw         *types.Log // Blockchain specific contextual infos
}

const SectorProviderCommittedEventName = "Committed"

// ContractEventName returns the user-defined event name.
func (SectorProviderCommitted) ContractEventName() string {
	return SectorProviderCommittedEventName
}

// UnpackCommittedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Committed(address indexed provider, uint64 indexed number, uint64 firstPeriod)
func (sectorProvider *SectorProvider) UnpackCommittedEvent(log *types.Log) (*SectorProviderCommitted, error) {
	event := "Committed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderCommitted)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderExpired represents a Expired event raised by the SectorProvider contract.
type SectorProviderExpired struct {
	Provider common.Address
	Number   uint64
	Returned *big.Int
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderExpiredEventName = "Expired"

// ContractEventName returns the user-defined event name.
func (SectorProviderExpired) ContractEventName() string {
	return SectorProviderExpiredEventName
}

// UnpackExpiredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Expired(address indexed provider, uint64 indexed number, uint256 returned)
func (sectorProvider *SectorProvider) UnpackExpiredEvent(log *types.Log) (*SectorProviderExpired, error) {
	event := "Expired"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderExpired)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderFaultDeclared represents a FaultDeclared event raised by the SectorProvider contract.
type SectorProviderFaultDeclared struct {
	Provider   common.Address
	Number     uint64
	FromPeriod uint64
	Raw        *types.Log // Blockchain specific contextual infos
}

const SectorProviderFaultDeclaredEventName = "FaultDeclared"

// ContractEventName returns the user-defined event name.
func (SectorProviderFaultDeclared) ContractEventName() string {
	return SectorProviderFaultDeclaredEventName
}

// UnpackFaultDeclaredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event FaultDeclared(address indexed provider, uint64 indexed number, uint64 fromPeriod)
func (sectorProvider *SectorProvider) UnpackFaultDeclaredEvent(log *types.Log) (*SectorProviderFaultDeclared, error) {
	event := "FaultDeclared"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderFaultDeclared)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderFunded represents a Funded event raised by the SectorProvider contract.
type SectorProviderFunded struct {
	From   common.Address
	Amount *big.Int
	Raw    *types.Log // Blockchain specific contextual infos
}

const SectorProviderFundedEventName = "Funded"

// ContractEventName returns the user-defined event name.
func (SectorProviderFunded) ContractEventName() string {
	return SectorProviderFundedEventName
}

// UnpackFundedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Funded(address indexed from, uint256 amount)
func (sectorProvider *SectorProvider) UnpackFundedEvent(log *types.Log) (*SectorProviderFunded, error) {
	event := "Funded"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderFunded)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderMissed represents a Missed event raised by the SectorProvider contract.
type SectorProviderMissed struct {
	Provider common.Address
	Number   uint64
	Period   uint64
	Periods  uint64
	Fee      *big.Int
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderMissedEventName = "Missed"

// ContractEventName returns the user-defined event name.
func (SectorProviderMissed) ContractEventName() string {
	return SectorProviderMissedEventName
}

// UnpackMissedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Missed(address indexed provider, uint64 indexed number, uint64 period, uint64 periods, uint256 fee)
func (sectorProvider *SectorProvider) UnpackMissedEvent(log *types.Log) (*SectorProviderMissed, error) {
	event := "Missed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderMissed)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderPreCommitExpired represents a PreCommitExpired event raised by the SectorProvider contract.
type SectorProviderPreCommitExpired struct {
	Provider common.Address
	Number   uint64
	Fee      *big.Int
	Returned *big.Int
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderPreCommitExpiredEventName = "PreCommitExpired"

// ContractEventName returns the user-defined event name.
func (SectorProviderPreCommitExpired) ContractEventName() string {
	return SectorProviderPreCommitExpiredEventName
}

// UnpackPreCommitExpiredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event PreCommitExpired(address indexed provider, uint64 indexed number, uint256 fee, uint256 returned)
func (sectorProvider *SectorProvider) UnpackPreCommitExpiredEvent(log *types.Log) (*SectorProviderPreCommitExpired, error) {
	event := "PreCommitExpired"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderPreCommitExpired)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderPreCommitted represents a PreCommitted event raised by the SectorProvider contract.
type SectorProviderPreCommitted struct {
	Provider  common.Address
	Number    uint64
	Said      PreCommitment
	Ticket    [32]byte
	SeedEpoch uint64
	Deposit   *big.Int
	Raw       *types.Log // Blockchain specific contextual infos
}

const SectorProviderPreCommittedEventName = "PreCommitted"

// ContractEventName returns the user-defined event name.
func (SectorProviderPreCommitted) ContractEventName() string {
	return SectorProviderPreCommittedEventName
}

// UnpackPreCommittedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event PreCommitted(address indexed provider, uint64 indexed number, (uint64,uint64,uint64,uint64,bytes32,bytes32,uint8) said, bytes32 ticket, uint64 seedEpoch, uint256 deposit)
func (sectorProvider *SectorProvider) UnpackPreCommittedEvent(log *types.Log) (*SectorProviderPreCommitted, error) {
	event := "PreCommitted"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderPreCommitted)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderProven represents a Proven event raised by the SectorProvider contract.
type SectorProviderProven struct {
	Provider   common.Address
	Period     uint64
	Deadline   uint64
	Partition  uint64
	Randomness [32]byte
	Numbers    []uint64
	Reward     *big.Int
	Raw        *types.Log // Blockchain specific contextual infos
}

const SectorProviderProvenEventName = "Proven"

// ContractEventName returns the user-defined event name.
func (SectorProviderProven) ContractEventName() string {
	return SectorProviderProvenEventName
}

// UnpackProvenEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Proven(address indexed provider, uint64 indexed period, uint64 deadline, uint64 partition, bytes32 randomness, uint64[] numbers, uint256 reward)
func (sectorProvider *SectorProvider) UnpackProvenEvent(log *types.Log) (*SectorProviderProven, error) {
	event := "Proven"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderProven)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderRecovered represents a Recovered event raised by the SectorProvider contract.
type SectorProviderRecovered struct {
	Provider common.Address
	Number   uint64
	Period   uint64
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderRecoveredEventName = "Recovered"

// ContractEventName returns the user-defined event name.
func (SectorProviderRecovered) ContractEventName() string {
	return SectorProviderRecoveredEventName
}

// UnpackRecoveredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Recovered(address indexed provider, uint64 indexed number, uint64 period)
func (sectorProvider *SectorProvider) UnpackRecoveredEvent(log *types.Log) (*SectorProviderRecovered, error) {
	event := "Recovered"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderRecovered)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderRecoveryDeclared represents a RecoveryDeclared event raised by the SectorProvider contract.
type SectorProviderRecoveryDeclared struct {
	Provider common.Address
	Number   uint64
	Period   uint64
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderRecoveryDeclaredEventName = "RecoveryDeclared"

// ContractEventName returns the user-defined event name.
func (SectorProviderRecoveryDeclared) ContractEventName() string {
	return SectorProviderRecoveryDeclaredEventName
}

// UnpackRecoveryDeclaredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RecoveryDeclared(address indexed provider, uint64 indexed number, uint64 period)
func (sectorProvider *SectorProvider) UnpackRecoveryDeclaredEvent(log *types.Log) (*SectorProviderRecoveryDeclared, error) {
	event := "RecoveryDeclared"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderRecoveryDeclared)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderSeedPinned represents a SeedPinned event raised by the SectorProvider contract.
type SectorProviderSeedPinned struct {
	Provider common.Address
	Number   uint64
	Seed     [32]byte
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderSeedPinnedEventName = "SeedPinned"

// ContractEventName returns the user-defined event name.
func (SectorProviderSeedPinned) ContractEventName() string {
	return SectorProviderSeedPinnedEventName
}

// UnpackSeedPinnedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event SeedPinned(address indexed provider, uint64 indexed number, bytes32 seed)
func (sectorProvider *SectorProvider) UnpackSeedPinnedEvent(log *types.Log) (*SectorProviderSeedPinned, error) {
	event := "SeedPinned"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderSeedPinned)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderTerminated represents a Terminated event raised by the SectorProvider contract.
type SectorProviderTerminated struct {
	Provider common.Address
	Number   uint64
	Reason   uint8
	Fee      *big.Int
	Returned *big.Int
	Raw      *types.Log // Blockchain specific contextual infos
}

const SectorProviderTerminatedEventName = "Terminated"

// ContractEventName returns the user-defined event name.
func (SectorProviderTerminated) ContractEventName() string {
	return SectorProviderTerminatedEventName
}

// UnpackTerminatedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Terminated(address indexed provider, uint64 indexed number, uint8 reason, uint256 fee, uint256 returned)
func (sectorProvider *SectorProvider) UnpackTerminatedEvent(log *types.Log) (*SectorProviderTerminated, error) {
	event := "Terminated"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderTerminated)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// SectorProviderWithdrawn represents a Withdrawn event raised by the SectorProvider contract.
type SectorProviderWithdrawn struct {
	Account common.Address
	Amount  *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const SectorProviderWithdrawnEventName = "Withdrawn"

// ContractEventName returns the user-defined event name.
func (SectorProviderWithdrawn) ContractEventName() string {
	return SectorProviderWithdrawnEventName
}

// UnpackWithdrawnEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Withdrawn(address indexed account, uint256 amount)
func (sectorProvider *SectorProvider) UnpackWithdrawnEvent(log *types.Log) (*SectorProviderWithdrawn, error) {
	event := "Withdrawn"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != sectorProvider.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(SectorProviderWithdrawn)
	if len(log.Data) > 0 {
		if err := sectorProvider.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range sectorProvider.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (sectorProvider *SectorProvider) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_AlreadyProven"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsAlreadyProvenError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidCommD"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidCommDError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidExpiration"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidExpirationError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidFees"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidFeesError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidPeriod"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidPeriodError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidProof"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidProofError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidProofTypes"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidProofTypesError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidProving"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidProvingError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidSealing"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidSealingError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_InvalidSize"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsInvalidSizeError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotDue"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotDueError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotEnded"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotEndedError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotFaulty"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotFaultyError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotLive"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotLiveError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotMissed"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotMissedError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotPreCommitted"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotPreCommittedError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NotVoid"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNotVoidError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NothingOwed"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNothingOwedError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NothingToProve"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNothingToProveError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_NumberUsed"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsNumberUsedError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_ProofCount"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsProofCountError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_ProofLength"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsProofLengthError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_ProofTypeNotTaken"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsProofTypeNotTakenError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_SeedTooEarly"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsSeedTooEarlyError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_TicketOutOfReach"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsTicketOutOfReachError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_TransferFailed"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsTransferFailedError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_Void"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsVoidError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_WindowNotOpen"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsWindowNotOpenError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_WrongCommR"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsWrongCommRError(raw[4:])
	}
	if bytes.Equal(raw[:4], sectorProvider.abi.Errors["Sectors_WrongPartition"].ID.Bytes()[:4]) {
		return sectorProvider.UnpackSectorsWrongPartitionError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// SectorProviderSectorsAlreadyProven represents a Sectors_AlreadyProven error raised by the SectorProvider contract.
type SectorProviderSectorsAlreadyProven struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_AlreadyProven(uint64 number)
func SectorProviderSectorsAlreadyProvenErrorID() common.Hash {
	return common.HexToHash("0x70694527e91cadfcf1c9a54ef6957e12f450bc0a6fc3354c9a5e3474764d82e3")
}

// UnpackSectorsAlreadyProvenError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_AlreadyProven(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsAlreadyProvenError(raw []byte) (*SectorProviderSectorsAlreadyProven, error) {
	out := new(SectorProviderSectorsAlreadyProven)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_AlreadyProven", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidCommD represents a Sectors_InvalidCommD error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidCommD struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidCommD()
func SectorProviderSectorsInvalidCommDErrorID() common.Hash {
	return common.HexToHash("0xeab9ad40e118d8d2929ffc2e4bc0ebb119b9c84fe74922601d8ac184f9b8ae0b")
}

// UnpackSectorsInvalidCommDError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidCommD()
func (sectorProvider *SectorProvider) UnpackSectorsInvalidCommDError(raw []byte) (*SectorProviderSectorsInvalidCommD, error) {
	out := new(SectorProviderSectorsInvalidCommD)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidCommD", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidExpiration represents a Sectors_InvalidExpiration error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidExpiration struct {
	Earliest uint64
	Latest   uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidExpiration(uint64 earliest, uint64 latest)
func SectorProviderSectorsInvalidExpirationErrorID() common.Hash {
	return common.HexToHash("0x939b40a3af254f6e7726712bd9b7a0381613f92f71a05cd7b2c6f072bcb391d7")
}

// UnpackSectorsInvalidExpirationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidExpiration(uint64 earliest, uint64 latest)
func (sectorProvider *SectorProvider) UnpackSectorsInvalidExpirationError(raw []byte) (*SectorProviderSectorsInvalidExpiration, error) {
	out := new(SectorProviderSectorsInvalidExpiration)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidExpiration", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidFees represents a Sectors_InvalidFees error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidFees struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidFees()
func SectorProviderSectorsInvalidFeesErrorID() common.Hash {
	return common.HexToHash("0x3594d1bf2fa6f68a9e53c3016de86fda7e4e24456199eeba46d67a8619a90e1f")
}

// UnpackSectorsInvalidFeesError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidFees()
func (sectorProvider *SectorProvider) UnpackSectorsInvalidFeesError(raw []byte) (*SectorProviderSectorsInvalidFees, error) {
	out := new(SectorProviderSectorsInvalidFees)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidFees", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidPeriod represents a Sectors_InvalidPeriod error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidPeriod struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidPeriod()
func SectorProviderSectorsInvalidPeriodErrorID() common.Hash {
	return common.HexToHash("0x8ba519b94728c4c1e0c01e4917de81ff1882a2196ea0caf99a1db30f17bdd88f")
}

// UnpackSectorsInvalidPeriodError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidPeriod()
func (sectorProvider *SectorProvider) UnpackSectorsInvalidPeriodError(raw []byte) (*SectorProviderSectorsInvalidPeriod, error) {
	out := new(SectorProviderSectorsInvalidPeriod)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidPeriod", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidProof represents a Sectors_InvalidProof error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidProof struct {
	Number uint64
	Leaf   uint32
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidProof(uint64 number, uint32 leaf)
func SectorProviderSectorsInvalidProofErrorID() common.Hash {
	return common.HexToHash("0xa22db4329113e64a191af3c688ddb9ebec628ca1d046a82422f72ac3d5670458")
}

// UnpackSectorsInvalidProofError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidProof(uint64 number, uint32 leaf)
func (sectorProvider *SectorProvider) UnpackSectorsInvalidProofError(raw []byte) (*SectorProviderSectorsInvalidProof, error) {
	out := new(SectorProviderSectorsInvalidProof)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidProof", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidProofTypes represents a Sectors_InvalidProofTypes error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidProofTypes struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidProofTypes()
func SectorProviderSectorsInvalidProofTypesErrorID() common.Hash {
	return common.HexToHash("0x7c2fa6736ca3d72141f61e906b94ff86baf86c8b6653c1aa3575ba1b7b84322e")
}

// UnpackSectorsInvalidProofTypesError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidProofTypes()
func (sectorProvider *SectorProvider) UnpackSectorsInvalidProofTypesError(raw []byte) (*SectorProviderSectorsInvalidProofTypes, error) {
	out := new(SectorProviderSectorsInvalidProofTypes)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidProofTypes", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidProving represents a Sectors_InvalidProving error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidProving struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidProving()
func SectorProviderSectorsInvalidProvingErrorID() common.Hash {
	return common.HexToHash("0x53190a8fd2a27060c66c247308f5b1de954d342c11e5e3dc8325ee8812372a4b")
}

// UnpackSectorsInvalidProvingError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidProving()
func (sectorProvider *SectorProvider) UnpackSectorsInvalidProvingError(raw []byte) (*SectorProviderSectorsInvalidProving, error) {
	out := new(SectorProviderSectorsInvalidProving)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidProving", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidSealing represents a Sectors_InvalidSealing error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidSealing struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidSealing()
func SectorProviderSectorsInvalidSealingErrorID() common.Hash {
	return common.HexToHash("0xe55e7de77aeeecc52124b3675c122417c612be61b83f77a0a997194b2d1c1600")
}

// UnpackSectorsInvalidSealingError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidSealing()
func (sectorProvider *SectorProvider) UnpackSectorsInvalidSealingError(raw []byte) (*SectorProviderSectorsInvalidSealing, error) {
	out := new(SectorProviderSectorsInvalidSealing)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidSealing", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsInvalidSize represents a Sectors_InvalidSize error raised by the SectorProvider contract.
type SectorProviderSectorsInvalidSize struct {
	Size uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_InvalidSize(uint64 size)
func SectorProviderSectorsInvalidSizeErrorID() common.Hash {
	return common.HexToHash("0xd3df25c37df5098885a725df5614efc5f29cdd1c9edcd84ef655d5e8387e4587")
}

// UnpackSectorsInvalidSizeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_InvalidSize(uint64 size)
func (sectorProvider *SectorProvider) UnpackSectorsInvalidSizeError(raw []byte) (*SectorProviderSectorsInvalidSize, error) {
	out := new(SectorProviderSectorsInvalidSize)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_InvalidSize", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotDue represents a Sectors_NotDue error raised by the SectorProvider contract.
type SectorProviderSectorsNotDue struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotDue(uint64 number)
func SectorProviderSectorsNotDueErrorID() common.Hash {
	return common.HexToHash("0x2c25a9e2e61efd762abf11690c197b4401c3a3c235d99a52891f2f41c80224f7")
}

// UnpackSectorsNotDueError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotDue(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotDueError(raw []byte) (*SectorProviderSectorsNotDue, error) {
	out := new(SectorProviderSectorsNotDue)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotDue", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotEnded represents a Sectors_NotEnded error raised by the SectorProvider contract.
type SectorProviderSectorsNotEnded struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotEnded(uint64 number)
func SectorProviderSectorsNotEndedErrorID() common.Hash {
	return common.HexToHash("0x29c25e7e417906ff9135fb2a203f208569d28066875a849aa2cc5679d24b8b49")
}

// UnpackSectorsNotEndedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotEnded(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotEndedError(raw []byte) (*SectorProviderSectorsNotEnded, error) {
	out := new(SectorProviderSectorsNotEnded)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotEnded", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotFaulty represents a Sectors_NotFaulty error raised by the SectorProvider contract.
type SectorProviderSectorsNotFaulty struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotFaulty(uint64 number)
func SectorProviderSectorsNotFaultyErrorID() common.Hash {
	return common.HexToHash("0xb0340788ce7e339c28eb9856d311cddffd6619df2e0a243407bfb51b1ca088a6")
}

// UnpackSectorsNotFaultyError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotFaulty(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotFaultyError(raw []byte) (*SectorProviderSectorsNotFaulty, error) {
	out := new(SectorProviderSectorsNotFaulty)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotFaulty", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotLive represents a Sectors_NotLive error raised by the SectorProvider contract.
type SectorProviderSectorsNotLive struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotLive(uint64 number)
func SectorProviderSectorsNotLiveErrorID() common.Hash {
	return common.HexToHash("0xebb58514f8bf6322f43e8835c3a13b0260226d3ee7f4b401faeed017553c7e8e")
}

// UnpackSectorsNotLiveError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotLive(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotLiveError(raw []byte) (*SectorProviderSectorsNotLive, error) {
	out := new(SectorProviderSectorsNotLive)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotLive", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotMissed represents a Sectors_NotMissed error raised by the SectorProvider contract.
type SectorProviderSectorsNotMissed struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotMissed(uint64 number)
func SectorProviderSectorsNotMissedErrorID() common.Hash {
	return common.HexToHash("0x58b38d73e3830415ae8dfcf8a5ef26095775556a1a15794b3129198f96ce4fc6")
}

// UnpackSectorsNotMissedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotMissed(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotMissedError(raw []byte) (*SectorProviderSectorsNotMissed, error) {
	out := new(SectorProviderSectorsNotMissed)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotMissed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotPreCommitted represents a Sectors_NotPreCommitted error raised by the SectorProvider contract.
type SectorProviderSectorsNotPreCommitted struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotPreCommitted(uint64 number)
func SectorProviderSectorsNotPreCommittedErrorID() common.Hash {
	return common.HexToHash("0x782613c5b548037cf3bfcd3635a56dcc53814d200b55a57eeb36a8fc059e8f73")
}

// UnpackSectorsNotPreCommittedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotPreCommitted(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotPreCommittedError(raw []byte) (*SectorProviderSectorsNotPreCommitted, error) {
	out := new(SectorProviderSectorsNotPreCommitted)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotPreCommitted", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNotVoid represents a Sectors_NotVoid error raised by the SectorProvider contract.
type SectorProviderSectorsNotVoid struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NotVoid(uint64 number)
func SectorProviderSectorsNotVoidErrorID() common.Hash {
	return common.HexToHash("0x1407695e98ef61f60723e1443fc9819ac529cde01e7b1d783f529268f7e121b7")
}

// UnpackSectorsNotVoidError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NotVoid(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNotVoidError(raw []byte) (*SectorProviderSectorsNotVoid, error) {
	out := new(SectorProviderSectorsNotVoid)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NotVoid", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNothingOwed represents a Sectors_NothingOwed error raised by the SectorProvider contract.
type SectorProviderSectorsNothingOwed struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NothingOwed()
func SectorProviderSectorsNothingOwedErrorID() common.Hash {
	return common.HexToHash("0x077b1b8c28adc3cff89e4200b1e69da2ce8a2077bb0dc0e9c95a3b0095b7737c")
}

// UnpackSectorsNothingOwedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NothingOwed()
func (sectorProvider *SectorProvider) UnpackSectorsNothingOwedError(raw []byte) (*SectorProviderSectorsNothingOwed, error) {
	out := new(SectorProviderSectorsNothingOwed)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NothingOwed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNothingToProve represents a Sectors_NothingToProve error raised by the SectorProvider contract.
type SectorProviderSectorsNothingToProve struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NothingToProve()
func SectorProviderSectorsNothingToProveErrorID() common.Hash {
	return common.HexToHash("0x522b7fb272147c0e632f59bdf56febd851dd36ffb68b4f5fac840dfe3a8a0d7a")
}

// UnpackSectorsNothingToProveError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NothingToProve()
func (sectorProvider *SectorProvider) UnpackSectorsNothingToProveError(raw []byte) (*SectorProviderSectorsNothingToProve, error) {
	out := new(SectorProviderSectorsNothingToProve)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NothingToProve", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsNumberUsed represents a Sectors_NumberUsed error raised by the SectorProvider contract.
type SectorProviderSectorsNumberUsed struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_NumberUsed(uint64 number)
func SectorProviderSectorsNumberUsedErrorID() common.Hash {
	return common.HexToHash("0xb43df6de2e320b759d1d4e48d0f96c37939e1a3d1d1a7c402bf0097ffc0e0843")
}

// UnpackSectorsNumberUsedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_NumberUsed(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsNumberUsedError(raw []byte) (*SectorProviderSectorsNumberUsed, error) {
	out := new(SectorProviderSectorsNumberUsed)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_NumberUsed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsProofCount represents a Sectors_ProofCount error raised by the SectorProvider contract.
type SectorProviderSectorsProofCount struct {
	Numbers *big.Int
	Proofs  *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_ProofCount(uint256 numbers, uint256 proofs)
func SectorProviderSectorsProofCountErrorID() common.Hash {
	return common.HexToHash("0x06f735473324ca7f26768f93d061e9c95ba6cf605246118cc5458e01836d57b1")
}

// UnpackSectorsProofCountError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_ProofCount(uint256 numbers, uint256 proofs)
func (sectorProvider *SectorProvider) UnpackSectorsProofCountError(raw []byte) (*SectorProviderSectorsProofCount, error) {
	out := new(SectorProviderSectorsProofCount)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_ProofCount", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsProofLength represents a Sectors_ProofLength error raised by the SectorProvider contract.
type SectorProviderSectorsProofLength struct {
	Number uint64
	Want   *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_ProofLength(uint64 number, uint256 want)
func SectorProviderSectorsProofLengthErrorID() common.Hash {
	return common.HexToHash("0xb2641d0c779c99ec5cab10a0b5034b6f63cb5753a5ac6ed34dbc09f58f65d930")
}

// UnpackSectorsProofLengthError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_ProofLength(uint64 number, uint256 want)
func (sectorProvider *SectorProvider) UnpackSectorsProofLengthError(raw []byte) (*SectorProviderSectorsProofLength, error) {
	out := new(SectorProviderSectorsProofLength)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_ProofLength", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsProofTypeNotTaken represents a Sectors_ProofTypeNotTaken error raised by the SectorProvider contract.
type SectorProviderSectorsProofTypeNotTaken struct {
	ProofType uint8
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_ProofTypeNotTaken(uint8 proofType)
func SectorProviderSectorsProofTypeNotTakenErrorID() common.Hash {
	return common.HexToHash("0x92b1d9fdd5fdfea5430acd7b658582a257ada198a9c9df4310a24126dc7a9320")
}

// UnpackSectorsProofTypeNotTakenError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_ProofTypeNotTaken(uint8 proofType)
func (sectorProvider *SectorProvider) UnpackSectorsProofTypeNotTakenError(raw []byte) (*SectorProviderSectorsProofTypeNotTaken, error) {
	out := new(SectorProviderSectorsProofTypeNotTaken)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_ProofTypeNotTaken", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsSeedTooEarly represents a Sectors_SeedTooEarly error raised by the SectorProvider contract.
type SectorProviderSectorsSeedTooEarly struct {
	SeedEpoch uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_SeedTooEarly(uint64 seedEpoch)
func SectorProviderSectorsSeedTooEarlyErrorID() common.Hash {
	return common.HexToHash("0x5c871b03a4699a63cd3721dc12ee695b90a193948ed8f79bd97c260a722e207f")
}

// UnpackSectorsSeedTooEarlyError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_SeedTooEarly(uint64 seedEpoch)
func (sectorProvider *SectorProvider) UnpackSectorsSeedTooEarlyError(raw []byte) (*SectorProviderSectorsSeedTooEarly, error) {
	out := new(SectorProviderSectorsSeedTooEarly)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_SeedTooEarly", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsTicketOutOfReach represents a Sectors_TicketOutOfReach error raised by the SectorProvider contract.
type SectorProviderSectorsTicketOutOfReach struct {
	TicketEpoch uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_TicketOutOfReach(uint64 ticketEpoch)
func SectorProviderSectorsTicketOutOfReachErrorID() common.Hash {
	return common.HexToHash("0x5f7157180d0a82f6c75410f468ef038d7f115a5451b86f5210dbde61e9cc4a2e")
}

// UnpackSectorsTicketOutOfReachError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_TicketOutOfReach(uint64 ticketEpoch)
func (sectorProvider *SectorProvider) UnpackSectorsTicketOutOfReachError(raw []byte) (*SectorProviderSectorsTicketOutOfReach, error) {
	out := new(SectorProviderSectorsTicketOutOfReach)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_TicketOutOfReach", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsTransferFailed represents a Sectors_TransferFailed error raised by the SectorProvider contract.
type SectorProviderSectorsTransferFailed struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_TransferFailed()
func SectorProviderSectorsTransferFailedErrorID() common.Hash {
	return common.HexToHash("0xa9d6e5118698657575e418c2dba51a3bb08330d5f5d2c261f86117b70d2d217a")
}

// UnpackSectorsTransferFailedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_TransferFailed()
func (sectorProvider *SectorProvider) UnpackSectorsTransferFailedError(raw []byte) (*SectorProviderSectorsTransferFailed, error) {
	out := new(SectorProviderSectorsTransferFailed)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_TransferFailed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsVoid represents a Sectors_Void error raised by the SectorProvider contract.
type SectorProviderSectorsVoid struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_Void(uint64 number)
func SectorProviderSectorsVoidErrorID() common.Hash {
	return common.HexToHash("0x3c92f7563ee745d00bacb87767d3c558a04c746098e70294fbac575086ab4851")
}

// UnpackSectorsVoidError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_Void(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsVoidError(raw []byte) (*SectorProviderSectorsVoid, error) {
	out := new(SectorProviderSectorsVoid)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_Void", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsWindowNotOpen represents a Sectors_WindowNotOpen error raised by the SectorProvider contract.
type SectorProviderSectorsWindowNotOpen struct {
	Deadline uint64
	Open     uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_WindowNotOpen(uint64 deadline, uint64 open)
func SectorProviderSectorsWindowNotOpenErrorID() common.Hash {
	return common.HexToHash("0xda4cd3616bcee9c30738dc847bd5b4a7d8afda743c52cc644216c02893affa78")
}

// UnpackSectorsWindowNotOpenError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_WindowNotOpen(uint64 deadline, uint64 open)
func (sectorProvider *SectorProvider) UnpackSectorsWindowNotOpenError(raw []byte) (*SectorProviderSectorsWindowNotOpen, error) {
	out := new(SectorProviderSectorsWindowNotOpen)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_WindowNotOpen", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsWrongCommR represents a Sectors_WrongCommR error raised by the SectorProvider contract.
type SectorProviderSectorsWrongCommR struct {
	Want [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_WrongCommR(bytes32 want)
func SectorProviderSectorsWrongCommRErrorID() common.Hash {
	return common.HexToHash("0xecc1ede5b8f0e38c6540ad46e4a4ff859851c56aa24a0109431a815b9a314590")
}

// UnpackSectorsWrongCommRError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_WrongCommR(bytes32 want)
func (sectorProvider *SectorProvider) UnpackSectorsWrongCommRError(raw []byte) (*SectorProviderSectorsWrongCommR, error) {
	out := new(SectorProviderSectorsWrongCommR)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_WrongCommR", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// SectorProviderSectorsWrongPartition represents a Sectors_WrongPartition error raised by the SectorProvider contract.
type SectorProviderSectorsWrongPartition struct {
	Number uint64
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Sectors_WrongPartition(uint64 number)
func SectorProviderSectorsWrongPartitionErrorID() common.Hash {
	return common.HexToHash("0xd6f90c110fa68b2a08633d5c748b82b977c3090693031f526d27ca71b7b110b3")
}

// UnpackSectorsWrongPartitionError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Sectors_WrongPartition(uint64 number)
func (sectorProvider *SectorProvider) UnpackSectorsWrongPartitionError(raw []byte) (*SectorProviderSectorsWrongPartition, error) {
	out := new(SectorProviderSectorsWrongPartition)
	if err := sectorProvider.abi.UnpackIntoInterface(out, "Sectors_WrongPartition", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestTokenMetaData contains all meta data concerning the TestToken contract.
var TestTokenMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"allowance\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"needed\",\"type\":\"uint256\"}],\"name\":\"ERC20InsufficientAllowance\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"balance\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"needed\",\"type\":\"uint256\"}],\"name\":\"ERC20InsufficientBalance\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"approver\",\"type\":\"address\"}],\"name\":\"ERC20InvalidApprover\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"receiver\",\"type\":\"address\"}],\"name\":\"ERC20InvalidReceiver\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"}],\"name\":\"ERC20InvalidSender\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"}],\"name\":\"ERC20InvalidSpender\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Approval\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Transfer\",\"type\":\"event\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"allowance\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"approve\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"balanceOf\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"decimals\",\"outputs\":[{\"internalType\":\"uint8\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"holder\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"mint\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"name\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"symbol\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"totalSupply\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transfer\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transferFrom\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "f55a244fd302b3ad9c29331f7b5a231b71",
	Bin: "0x6080604052348015600e575f5ffd5b5061071b8061001c5f395ff3fe608060405234801561000f575f5ffd5b50600436106100b9575f3560e01c806340c10f191161007257806395d89b411161005857806395d89b41146101a9578063a9059cbb146101e5578063dd62ed3e146101f8575f5ffd5b806340c10f191461017557806370a082311461018a575f5ffd5b806318160ddd116100a257806318160ddd1461013257806323b872dd14610148578063313ce5671461015b575f5ffd5b806306fdde03146100bd578063095ea7b31461010f575b5f5ffd5b6100f96040518060400160405280600981526020017f54657374546f6b656e000000000000000000000000000000000000000000000081525081565b60405161010691906105c5565b60405180910390f35b61012261011d366004610615565b610222565b6040519015158152602001610106565b61013a5f5481565b604051908152602001610106565b61012261015636600461063d565b610307565b610163601281565b60405160ff9091168152602001610106565b610188610183366004610615565b6103c0565b005b61013a610198366004610677565b60016020525f908152604090205481565b6100f96040518060400160405280600381526020017f545354000000000000000000000000000000000000000000000000000000000081525081565b6101226101f3366004610615565b610454565b61013a610206366004610697565b600260209081525f928352604080842090915290825290205481565b5f33610261576040517fe602df050000000000000000000000000000000000000000000000000000000081525f60048201526024015b60405180910390fd5b6001600160a01b0383166102a3576040517f94280d620000000000000000000000000000000000000000000000000000000081525f6004820152602401610258565b335f8181526002602090815260408083206001600160a01b03881680855290835292819020869055518581529192917f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925910160405180910390a35060015b92915050565b6001600160a01b0383165f9081526002602090815260408083203384529091528120545f1981146103aa578281101561037c576040517ffb8f41b20000000000000000000000000000000000000000000000000000000081523360048201526024810182905260448101849052606401610258565b61038683826106f5565b6001600160a01b0386165f9081526002602090815260408083203384529091529020555b6103b5858585610469565b506001949350505050565b6001600160a01b0382166103e95760405163ec442f0560e01b81525f6004820152602401610258565b805f5f8282546103f99190610708565b90915550506001600160a01b0382165f818152600160209081526040808320805486019055805185815290517fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef929181900390910190a35050565b5f610460338484610469565b50600192915050565b6001600160a01b0383166104ab576040517f96c6fd1e0000000000000000000000000000000000000000000000000000000081525f6004820152602401610258565b6001600160a01b0382166104d45760405163ec442f0560e01b81525f6004820152602401610258565b6001600160a01b0383165f908152600160205260409020548181101561053f576040517fe450d38c0000000000000000000000000000000000000000000000000000000081526001600160a01b03851660048201526024810182905260448101839052606401610258565b61054982826106f5565b6001600160a01b038581165f9081526001602052604080822093909355908516815220805483019055826001600160a01b0316846001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef846040516105b791815260200190565b60405180910390a350505050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b80356001600160a01b0381168114610610575f5ffd5b919050565b5f5f60408385031215610626575f5ffd5b61062f836105fa565b946020939093013593505050565b5f5f5f6060848603121561064f575f5ffd5b610658846105fa565b9250610666602085016105fa565b929592945050506040919091013590565b5f60208284031215610687575f5ffd5b610690826105fa565b9392505050565b5f5f604083850312156106a8575f5ffd5b6106b1836105fa565b91506106bf602084016105fa565b90509250929050565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52601160045260245ffd5b81810381811115610301576103016106c8565b80820180821115610301576103016106c856",
}

// TestToken is an auto generated Go binding around an Ethereum contract.
type TestToken struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestToken) GetABI() abi.ABI {
	return c.abi
}

// NewTestToken creates a new instance of TestToken.
func NewTestToken() *TestToken {
	parsed, err := TestTokenMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestToken{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestToken) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function allowance(address , address ) view returns(uint256)
func (testToken *TestToken) PackAllowance(arg0 common.Address, arg1 common.Address) []byte {
	enc, err := testToken.abi.Pack("allowance", arg0, arg1)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function allowance(address , address ) view returns(uint256)
func (testToken *TestToken) TryPackAllowance(arg0 common.Address, arg1 common.Address) ([]byte, error) {
	return testToken.abi.Pack("allowance", arg0, arg1)
}

// UnpackAllowance is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xdd62ed3e.
//
// Solidity: function allowance(address , address ) view returns(uint256)
func (testToken *TestToken) UnpackAllowance(data []byte) (*big.Int, error) {
	out, err := testToken.abi.Unpack("allowance", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testToken *TestToken) PackApprove(spender common.Address, value *big.Int) []byte {
	enc, err := testToken.abi.Pack("approve", spender, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testToken *TestToken) TryPackApprove(spender common.Address, value *big.Int) ([]byte, error) {
	return testToken.abi.Pack("approve", spender, value)
}

// UnpackApprove is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x095ea7b3.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testToken *TestToken) UnpackApprove(data []byte) (bool, error) {
	out, err := testToken.abi.Unpack("approve", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (testToken *TestToken) PackBalanceOf(arg0 common.Address) []byte {
	enc, err := testToken.abi.Pack("balanceOf", arg0)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (testToken *TestToken) TryPackBalanceOf(arg0 common.Address) ([]byte, error) {
	return testToken.abi.Pack("balanceOf", arg0)
}

// UnpackBalanceOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x70a08231.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (testToken *TestToken) UnpackBalanceOf(data []byte) (*big.Int, error) {
	out, err := testToken.abi.Unpack("balanceOf", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function decimals() view returns(uint8)
func (testToken *TestToken) PackDecimals() []byte {
	enc, err := testToken.abi.Pack("decimals")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function decimals() view returns(uint8)
func (testToken *TestToken) TryPackDecimals() ([]byte, error) {
	return testToken.abi.Pack("decimals")
}

// UnpackDecimals is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x313ce567.
//
// Solidity: function decimals() view returns(uint8)
func (testToken *TestToken) UnpackDecimals(data []byte) (uint8, error) {
	out, err := testToken.abi.Unpack("decimals", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mint(address holder, uint256 amount) returns()
func (testToken *TestToken) PackMint(holder common.Address, amount *big.Int) []byte {
	enc, err := testToken.abi.Pack("mint", holder, amount)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function mint(address holder, uint256 amount) returns()
func (testToken *TestToken) TryPackMint(holder common.Address, amount *big.Int) ([]byte, error) {
	return testToken.abi.Pack("mint", holder, amount)
}

// PackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function name() view returns(string)
func (testToken *TestToken) PackName() []byte {
	enc, err := testToken.abi.Pack("name")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function name() view returns(string)
func (testToken *TestToken) TryPackName() ([]byte, error) {
	return testToken.abi.Pack("name")
}

// UnpackName is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x06fdde03.
//
// Solidity: function name() view returns(string)
func (testToken *TestToken) UnpackName(data []byte) (string, error) {
	out, err := testToken.abi.Unpack("name", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function symbol() view returns(string)
func (testToken *TestToken) PackSymbol() []byte {
	enc, err := testToken.abi.Pack("symbol")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function symbol() view returns(string)
func (testToken *TestToken) TryPackSymbol() ([]byte, error) {
	return testToken.abi.Pack("symbol")
}

// UnpackSymbol is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x95d89b41.
//
// Solidity: function symbol() view returns(string)
func (testToken *TestToken) UnpackSymbol(data []byte) (string, error) {
	out, err := testToken.abi.Unpack("symbol", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function totalSupply() view returns(uint256)
func (testToken *TestToken) PackTotalSupply() []byte {
	enc, err := testToken.abi.Pack("totalSupply")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function totalSupply() view returns(uint256)
func (testToken *TestToken) TryPackTotalSupply() ([]byte, error) {
	return testToken.abi.Pack("totalSupply")
}

// UnpackTotalSupply is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x18160ddd.
//
// Solidity: function totalSupply() view returns(uint256)
func (testToken *TestToken) UnpackTotalSupply(data []byte) (*big.Int, error) {
	out, err := testToken.abi.Unpack("totalSupply", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testToken *TestToken) PackTransfer(to common.Address, value *big.Int) []byte {
	enc, err := testToken.abi.Pack("transfer", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testToken *TestToken) TryPackTransfer(to common.Address, value *big.Int) ([]byte, error) {
	return testToken.abi.Pack("transfer", to, value)
}

// UnpackTransfer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa9059cbb.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testToken *TestToken) UnpackTransfer(data []byte) (bool, error) {
	out, err := testToken.abi.Unpack("transfer", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testToken *TestToken) PackTransferFrom(from common.Address, to common.Address, value *big.Int) []byte {
	enc, err := testToken.abi.Pack("transferFrom", from, to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testToken *TestToken) TryPackTransferFrom(from common.Address, to common.Address, value *big.Int) ([]byte, error) {
	return testToken.abi.Pack("transferFrom", from, to, value)
}

// UnpackTransferFrom is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x23b872dd.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testToken *TestToken) UnpackTransferFrom(data []byte) (bool, error) {
	out, err := testToken.abi.Unpack("transferFrom", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// TestTokenApproval represents a Approval event raised by the TestToken contract.
type TestTokenApproval struct {
	Owner   common.Address
	Spender common.Address
	Value   *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const TestTokenApprovalEventName = "Approval"

// ContractEventName returns the user-defined event name.
func (TestTokenApproval) ContractEventName() string {
	return TestTokenApprovalEventName
}

// UnpackApprovalEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Approval(address indexed owner, address indexed spender, uint256 value)
func (testToken *TestToken) UnpackApprovalEvent(log *types.Log) (*TestTokenApproval, error) {
	event := "Approval"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testToken.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestTokenApproval)
	if len(log.Data) > 0 {
		if err := testToken.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testToken.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestTokenTransfer represents a Transfer event raised by the TestToken contract.
type TestTokenTransfer struct {
	From  common.Address
	To    common.Address
	Value *big.Int
	Raw   *types.Log // Blockchain specific contextual infos
}

const TestTokenTransferEventName = "Transfer"

// ContractEventName returns the user-defined event name.
func (TestTokenTransfer) ContractEventName() string {
	return TestTokenTransferEventName
}

// UnpackTransferEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Transfer(address indexed from, address indexed to, uint256 value)
func (testToken *TestToken) UnpackTransferEvent(log *types.Log) (*TestTokenTransfer, error) {
	event := "Transfer"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testToken.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestTokenTransfer)
	if len(log.Data) > 0 {
		if err := testToken.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testToken.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (testToken *TestToken) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], testToken.abi.Errors["ERC20InsufficientAllowance"].ID.Bytes()[:4]) {
		return testToken.UnpackERC20InsufficientAllowanceError(raw[4:])
	}
	if bytes.Equal(raw[:4], testToken.abi.Errors["ERC20InsufficientBalance"].ID.Bytes()[:4]) {
		return testToken.UnpackERC20InsufficientBalanceError(raw[4:])
	}
	if bytes.Equal(raw[:4], testToken.abi.Errors["ERC20InvalidApprover"].ID.Bytes()[:4]) {
		return testToken.UnpackERC20InvalidApproverError(raw[4:])
	}
	if bytes.Equal(raw[:4], testToken.abi.Errors["ERC20InvalidReceiver"].ID.Bytes()[:4]) {
		return testToken.UnpackERC20InvalidReceiverError(raw[4:])
	}
	if bytes.Equal(raw[:4], testToken.abi.Errors["ERC20InvalidSender"].ID.Bytes()[:4]) {
		return testToken.UnpackERC20InvalidSenderError(raw[4:])
	}
	if bytes.Equal(raw[:4], testToken.abi.Errors["ERC20InvalidSpender"].ID.Bytes()[:4]) {
		return testToken.UnpackERC20InvalidSpenderError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// TestTokenERC20InsufficientAllowance represents a ERC20InsufficientAllowance error raised by the TestToken contract.
type TestTokenERC20InsufficientAllowance struct {
	Spender   common.Address
	Allowance *big.Int
	Needed    *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
func TestTokenERC20InsufficientAllowanceErrorID() common.Hash {
	return common.HexToHash("0xfb8f41b23e99d2101d86da76cdfa87dd51c82ed07d3cb62cbc473e469dbc75c3")
}

// UnpackERC20InsufficientAllowanceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
func (testToken *TestToken) UnpackERC20InsufficientAllowanceError(raw []byte) (*TestTokenERC20InsufficientAllowance, error) {
	out := new(TestTokenERC20InsufficientAllowance)
	if err := testToken.abi.UnpackIntoInterface(out, "ERC20InsufficientAllowance", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestTokenERC20InsufficientBalance represents a ERC20InsufficientBalance error raised by the TestToken contract.
type TestTokenERC20InsufficientBalance struct {
	Sender  common.Address
	Balance *big.Int
	Needed  *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
func TestTokenERC20InsufficientBalanceErrorID() common.Hash {
	return common.HexToHash("0xe450d38cd8d9f7d95077d567d60ed49c7254716e6ad08fc9872816c97e0ffec6")
}

// UnpackERC20InsufficientBalanceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
func (testToken *TestToken) UnpackERC20InsufficientBalanceError(raw []byte) (*TestTokenERC20InsufficientBalance, error) {
	out := new(TestTokenERC20InsufficientBalance)
	if err := testToken.abi.UnpackIntoInterface(out, "ERC20InsufficientBalance", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestTokenERC20InvalidApprover represents a ERC20InvalidApprover error raised by the TestToken contract.
type TestTokenERC20InvalidApprover struct {
	Approver common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidApprover(address approver)
func TestTokenERC20InvalidApproverErrorID() common.Hash {
	return common.HexToHash("0xe602df05cc75712490294c6c104ab7c17f4030363910a7a2626411c6d3118847")
}

// UnpackERC20InvalidApproverError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidApprover(address approver)
func (testToken *TestToken) UnpackERC20InvalidApproverError(raw []byte) (*TestTokenERC20InvalidApprover, error) {
	out := new(TestTokenERC20InvalidApprover)
	if err := testToken.abi.UnpackIntoInterface(out, "ERC20InvalidApprover", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestTokenERC20InvalidReceiver represents a ERC20InvalidReceiver error raised by the TestToken contract.
type TestTokenERC20InvalidReceiver struct {
	Receiver common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidReceiver(address receiver)
func TestTokenERC20InvalidReceiverErrorID() common.Hash {
	return common.HexToHash("0xec442f055133b72f3b2f9f0bb351c406b178527de2040a7d1feb4e058771f613")
}

// UnpackERC20InvalidReceiverError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidReceiver(address receiver)
func (testToken *TestToken) UnpackERC20InvalidReceiverError(raw []byte) (*TestTokenERC20InvalidReceiver, error) {
	out := new(TestTokenERC20InvalidReceiver)
	if err := testToken.abi.UnpackIntoInterface(out, "ERC20InvalidReceiver", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestTokenERC20InvalidSender represents a ERC20InvalidSender error raised by the TestToken contract.
type TestTokenERC20InvalidSender struct {
	Sender common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidSender(address sender)
func TestTokenERC20InvalidSenderErrorID() common.Hash {
	return common.HexToHash("0x96c6fd1edd0cd6ef7ff0ecc0facdf53148dc0048b57fe58af65755250a7a96bd")
}

// UnpackERC20InvalidSenderError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidSender(address sender)
func (testToken *TestToken) UnpackERC20InvalidSenderError(raw []byte) (*TestTokenERC20InvalidSender, error) {
	out := new(TestTokenERC20InvalidSender)
	if err := testToken.abi.UnpackIntoInterface(out, "ERC20InvalidSender", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestTokenERC20InvalidSpender represents a ERC20InvalidSpender error raised by the TestToken contract.
type TestTokenERC20InvalidSpender struct {
	Spender common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidSpender(address spender)
func TestTokenERC20InvalidSpenderErrorID() common.Hash {
	return common.HexToHash("0x94280d62c347d8d9f4d59a76ea321452406db88df38e0c9da304f58b57b373a2")
}

// UnpackERC20InvalidSpenderError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidSpender(address spender)
func (testToken *TestToken) UnpackERC20InvalidSpenderError(raw []byte) (*TestTokenERC20InvalidSpender, error) {
	out := new(TestTokenERC20InvalidSpender)
	if err := testToken.abi.UnpackIntoInterface(out, "ERC20InvalidSpender", raw); err != nil {
		return nil, err
	}
	return out, nil
}
