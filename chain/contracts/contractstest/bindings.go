// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package contractstest

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

// DummyVerifierMetaData contains all meta data concerning the DummyVerifier contract.
var DummyVerifierMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"a\",\"type\":\"tuple\"},{\"components\":[{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"x\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"real\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"imag\",\"type\":\"uint256\"}],\"internalType\":\"structFp2Element\",\"name\":\"y\",\"type\":\"tuple\"}],\"internalType\":\"structG2Point\",\"name\":\"b\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"x\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"y\",\"type\":\"uint256\"}],\"internalType\":\"structG1Point\",\"name\":\"c\",\"type\":\"tuple\"}],\"internalType\":\"structGroth16Proof\",\"name\":\"proof\",\"type\":\"tuple\"},{\"internalType\":\"uint256[]\",\"name\":\"\",\"type\":\"uint256[]\"}],\"name\":\"verify\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"pure\",\"type\":\"function\"}]",
	ID:  "c4e19b0ccaa82f9ade60fc4d8b8e38ca35",
	Bin: "0x6080604052348015600e575f5ffd5b5061010f8061001c5f395ff3fe608060405234801561000f575f5ffd5b5060043610610029575f3560e01c806394c8919d1461002d575b5f5ffd5b61007061003b366004610084565b604083013560608401351760808401351760a084013517833560208501351760c08501351760e0850135171715159392505050565b604051901515815260200160405180910390f35b5f5f5f838503610120811215610098575f5ffd5b6101008112156100a6575f5ffd5b5083925061010084013567ffffffffffffffff8111156100c4575f5ffd5b8401601f810186136100d4575f5ffd5b803567ffffffffffffffff8111156100ea575f5ffd5b8660208260051b84010111156100fe575f5ffd5b93966020919091019550929350505056",
}

// DummyVerifier is an auto generated Go binding around an Ethereum contract.
type DummyVerifier struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *DummyVerifier) GetABI() abi.ABI {
	return c.abi
}

// NewDummyVerifier creates a new instance of DummyVerifier.
func NewDummyVerifier() *DummyVerifier {
	parsed, err := DummyVerifierMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &DummyVerifier{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *DummyVerifier) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackVerify is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x94c8919d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function verify(((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof, uint256[] ) pure returns(bool)
func (dummyVerifier *DummyVerifier) PackVerify(proof Groth16Proof, arg1 []*big.Int) []byte {
	enc, err := dummyVerifier.abi.Pack("verify", proof, arg1)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackVerify is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x94c8919d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function verify(((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof, uint256[] ) pure returns(bool)
func (dummyVerifier *DummyVerifier) TryPackVerify(proof Groth16Proof, arg1 []*big.Int) ([]byte, error) {
	return dummyVerifier.abi.Pack("verify", proof, arg1)
}

// UnpackVerify is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x94c8919d.
//
// Solidity: function verify(((uint256,uint256),((uint256,uint256),(uint256,uint256)),(uint256,uint256)) proof, uint256[] ) pure returns(bool)
func (dummyVerifier *DummyVerifier) UnpackVerify(data []byte) (bool, error) {
	out, err := dummyVerifier.abi.Unpack("verify", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PublicInputsProbeMetaData contains all meta data concerning the PublicInputsProbe contract.
var PublicInputsProbeMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"challenge\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"merkleRoot\",\"type\":\"bytes32\"},{\"internalType\":\"uint64\",\"name\":\"slotIndex\",\"type\":\"uint64\"}],\"name\":\"inputs\",\"outputs\":[{\"internalType\":\"uint256[]\",\"name\":\"\",\"type\":\"uint256[]\"}],\"stateMutability\":\"pure\",\"type\":\"function\"}]",
	ID:  "bd7cc0319761f2858500002efbe778b114",
	Bin: "0x6080604052348015600e575f5ffd5b506103138061001c5f395ff3fe608060405234801561000f575f5ffd5b5060043610610029575f3560e01c80639d1258fd1461002d575b5f5ffd5b61004061003b366004610262565b610056565b60405161004d91906102a4565b60405180910390f35b606061006384848461006b565b949350505050565b604080516003808252608082019092526060916020820183803683370190505090506100968461010d565b815f815181106100a8576100a86102e6565b6020026020010181815250506100bd83610121565b816001815181106100d0576100d06102e6565b6020026020010181815250508167ffffffffffffffff16816002815181106100fa576100fa6102e6565b6020026020010181815250509392505050565b5f61011b60ff198316610121565b92915050565b600881811b7fff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00167eff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff9290911c9190911617601081811b7fffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000167dffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff9290911c9190911617602081811b7fffffffff00000000ffffffff00000000ffffffff00000000ffffffff00000000167bffffffff00000000ffffffff00000000ffffffff00000000ffffffff9290911c9190911617604081811b7fffffffffffffffff0000000000000000ffffffffffffffff00000000000000001677ffffffffffffffff0000000000000000ffffffffffffffff9290911c9190911617608081811b91901c1790565b5f5f5f60608486031215610274575f5ffd5b8335925060208401359150604084013567ffffffffffffffff81168114610299575f5ffd5b809150509250925092565b602080825282518282018190525f918401906040840190835b818110156102db5783518352602093840193909201916001016102bd565b509095945050505050565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52603260045260245ffd",
}

// PublicInputsProbe is an auto generated Go binding around an Ethereum contract.
type PublicInputsProbe struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *PublicInputsProbe) GetABI() abi.ABI {
	return c.abi
}

// NewPublicInputsProbe creates a new instance of PublicInputsProbe.
func NewPublicInputsProbe() *PublicInputsProbe {
	parsed, err := PublicInputsProbeMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &PublicInputsProbe{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *PublicInputsProbe) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackInputs is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x9d1258fd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function inputs(bytes32 challenge, bytes32 merkleRoot, uint64 slotIndex) pure returns(uint256[])
func (publicInputsProbe *PublicInputsProbe) PackInputs(challenge [32]byte, merkleRoot [32]byte, slotIndex uint64) []byte {
	enc, err := publicInputsProbe.abi.Pack("inputs", challenge, merkleRoot, slotIndex)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackInputs is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x9d1258fd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function inputs(bytes32 challenge, bytes32 merkleRoot, uint64 slotIndex) pure returns(uint256[])
func (publicInputsProbe *PublicInputsProbe) TryPackInputs(challenge [32]byte, merkleRoot [32]byte, slotIndex uint64) ([]byte, error) {
	return publicInputsProbe.abi.Pack("inputs", challenge, merkleRoot, slotIndex)
}

// UnpackInputs is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x9d1258fd.
//
// Solidity: function inputs(bytes32 challenge, bytes32 merkleRoot, uint64 slotIndex) pure returns(uint256[])
func (publicInputsProbe *PublicInputsProbe) UnpackInputs(data []byte) ([]*big.Int, error) {
	out, err := publicInputsProbe.abi.Unpack("inputs", data)
	if err != nil {
		return *new([]*big.Int), err
	}
	out0 := *abi.ConvertType(out[0], new([]*big.Int)).(*[]*big.Int)
	return out0, nil
}

// RefusingTokenMetaData contains all meta data concerning the RefusingToken contract.
var RefusingTokenMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"bool\",\"name\":\"refuses\",\"type\":\"bool\"}],\"name\":\"setRefuses\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"name\":\"transfer\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"name\":\"transferFrom\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"}]",
	ID:  "f914b6e68c9495eebd6b05230854457e43",
	Bin: "0x60806040525f805460ff19166001179055348015601a575f5ffd5b5061015d806100285f395ff3fe608060405234801561000f575f5ffd5b506004361061003f575f3560e01c806323b872dd14610043578063382396b114610072578063a9059cbb14610094575b5f5ffd5b61005e6100513660046100d5565b5f5460ff16159392505050565b604051901515815260200160405180910390f35b61009261008036600461010f565b5f805460ff1916911515919091179055565b005b61005e6100a2366004610135565b50505f5460ff161590565b803573ffffffffffffffffffffffffffffffffffffffff811681146100d0575f5ffd5b919050565b5f5f5f606084860312156100e7575f5ffd5b6100f0846100ad565b92506100fe602085016100ad565b929592945050506040919091013590565b5f6020828403121561011f575f5ffd5b8135801515811461012e575f5ffd5b9392505050565b5f5f60408385031215610146575f5ffd5b61014f836100ad565b94602093909301359350505056",
}

// RefusingToken is an auto generated Go binding around an Ethereum contract.
type RefusingToken struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *RefusingToken) GetABI() abi.ABI {
	return c.abi
}

// NewRefusingToken creates a new instance of RefusingToken.
func NewRefusingToken() *RefusingToken {
	parsed, err := RefusingTokenMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &RefusingToken{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *RefusingToken) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackSetRefuses is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x382396b1.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setRefuses(bool refuses) returns()
func (refusingToken *RefusingToken) PackSetRefuses(refuses bool) []byte {
	enc, err := refusingToken.abi.Pack("setRefuses", refuses)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetRefuses is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x382396b1.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setRefuses(bool refuses) returns()
func (refusingToken *RefusingToken) TryPackSetRefuses(refuses bool) ([]byte, error) {
	return refusingToken.abi.Pack("setRefuses", refuses)
}

// PackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transfer(address , uint256 ) view returns(bool)
func (refusingToken *RefusingToken) PackTransfer(arg0 common.Address, arg1 *big.Int) []byte {
	enc, err := refusingToken.abi.Pack("transfer", arg0, arg1)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transfer(address , uint256 ) view returns(bool)
func (refusingToken *RefusingToken) TryPackTransfer(arg0 common.Address, arg1 *big.Int) ([]byte, error) {
	return refusingToken.abi.Pack("transfer", arg0, arg1)
}

// UnpackTransfer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa9059cbb.
//
// Solidity: function transfer(address , uint256 ) view returns(bool)
func (refusingToken *RefusingToken) UnpackTransfer(data []byte) (bool, error) {
	out, err := refusingToken.abi.Unpack("transfer", data)
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
// Solidity: function transferFrom(address , address , uint256 ) view returns(bool)
func (refusingToken *RefusingToken) PackTransferFrom(arg0 common.Address, arg1 common.Address, arg2 *big.Int) []byte {
	enc, err := refusingToken.abi.Pack("transferFrom", arg0, arg1, arg2)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferFrom(address , address , uint256 ) view returns(bool)
func (refusingToken *RefusingToken) TryPackTransferFrom(arg0 common.Address, arg1 common.Address, arg2 *big.Int) ([]byte, error) {
	return refusingToken.abi.Pack("transferFrom", arg0, arg1, arg2)
}

// UnpackTransferFrom is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x23b872dd.
//
// Solidity: function transferFrom(address , address , uint256 ) view returns(bool)
func (refusingToken *RefusingToken) UnpackTransferFrom(data []byte) (bool, error) {
	out, err := refusingToken.abi.Unpack("transferFrom", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}
