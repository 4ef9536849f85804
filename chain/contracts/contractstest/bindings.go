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

// EagerProviderMetaData contains all meta data concerning the EagerProvider contract.
var EagerProviderMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[],\"name\":\"accepted\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"moved\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"refused\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"target\",\"type\":\"address\"},{\"internalType\":\"bytes\",\"name\":\"data\",\"type\":\"bytes\"},{\"internalType\":\"bytes\",\"name\":\"again\",\"type\":\"bytes\"}],\"name\":\"run\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "374e9d7e3ed27d55011a0dfa21126c3b67",
	Bin: "0x6080604052348015600e575f5ffd5b506105378061001c5f395ff3fe608060405234801561000f575f5ffd5b506004361061004a575f3560e01c806367fe5a0c1461004e578063c3b66a2d14610069578063c8f931b214610072578063ebcca4ee1461007c575b5f5ffd5b61005760025481565b60405190815260200160405180910390f35b61005760035481565b61007a61008f565b005b61007a61008a366004610304565b6101bd565b5f6001805461009d90610391565b80601f01602080910402602001604051908101604052809291908181526020018280546100c990610391565b80156101145780601f106100eb57610100808354040283529160200191610114565b820191905f5260205f20905b8154815290600101906020018083116100f757829003601f168201915b5050505050905080515f036101265750565b61013160015f61026d565b5f80546040516001600160a01b039091169061014e9084906103c9565b5f604051808303815f865af19150503d805f8114610187576040519150601f19603f3d011682016040523d82523d5f602084013e61018c565b606091505b5050905080156101ae5760028054905f6101a5836103df565b91905055505050565b60038054905f6101a5836103df565b8482825f8060016101cf84868361046d565b508491906101000a8154816001600160a01b0302191690836001600160a01b031602179055505050505f5f866001600160a01b03168686604051610214929190610528565b5f604051808303815f865af19150503d805f811461024d576040519150601f19603f3d011682016040523d82523d5f602084013e610252565b606091505b50915091508161026457805160208201fd5b50505050505050565b50805461027990610391565b5f825580601f10610288575050565b601f0160209004905f5260205f20906102a191906102a3565b565b5f5b808211156102ba575f818401556001016102a5565b505050565b5f5f83601f8401126102cf575f5ffd5b50813567ffffffffffffffff8111156102e6575f5ffd5b6020830191508360208285010111156102fd575f5ffd5b9250929050565b5f5f5f5f5f60608688031215610318575f5ffd5b85356001600160a01b038116811461032e575f5ffd5b9450602086013567ffffffffffffffff811115610349575f5ffd5b610355888289016102bf565b909550935050604086013567ffffffffffffffff811115610374575f5ffd5b610380888289016102bf565b969995985093965092949392505050565b600181811c908216806103a557607f821691505b6020821081036103c357634e487b7160e01b5f52602260045260245ffd5b50919050565b5f82518060208501845e5f920191825250919050565b5f600182016103fc57634e487b7160e01b5f52601160045260245ffd5b5060010190565b634e487b7160e01b5f52604160045260245ffd5b601f8211156102ba57828211156102ba57805f5260205f20601f840160051c602085101561044257505f5b90810190601f840160051c035f5b81811015610465575f83820155600101610450565b505050505050565b67ffffffffffffffff83111561048557610485610403565b610499836104938354610391565b83610417565b5f601f8411600181146104ca575f85156104b35750838201355b5f19600387901b1c1916600186901b178355610521565b5f83815260208120601f198716915b828110156104f957868501358255602094850194600190920191016104d9565b5086821015610515575f1960f88860031b161c19848701351681555b505060018560011b0183555b5050505050565b818382375f910190815291905056",
}

// EagerProvider is an auto generated Go binding around an Ethereum contract.
type EagerProvider struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *EagerProvider) GetABI() abi.ABI {
	return c.abi
}

// NewEagerProvider creates a new instance of EagerProvider.
func NewEagerProvider() *EagerProvider {
	parsed, err := EagerProviderMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &EagerProvider{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *EagerProvider) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackAccepted is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x67fe5a0c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function accepted() view returns(uint256)
func (eagerProvider *EagerProvider) PackAccepted() []byte {
	enc, err := eagerProvider.abi.Pack("accepted")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAccepted is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x67fe5a0c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function accepted() view returns(uint256)
func (eagerProvider *EagerProvider) TryPackAccepted() ([]byte, error) {
	return eagerProvider.abi.Pack("accepted")
}

// UnpackAccepted is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x67fe5a0c.
//
// Solidity: function accepted() view returns(uint256)
func (eagerProvider *EagerProvider) UnpackAccepted(data []byte) (*big.Int, error) {
	out, err := eagerProvider.abi.Unpack("accepted", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackMoved is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc8f931b2.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function moved() returns()
func (eagerProvider *EagerProvider) PackMoved() []byte {
	enc, err := eagerProvider.abi.Pack("moved")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMoved is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc8f931b2.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function moved() returns()
func (eagerProvider *EagerProvider) TryPackMoved() ([]byte, error) {
	return eagerProvider.abi.Pack("moved")
}

// PackRefused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc3b66a2d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function refused() view returns(uint256)
func (eagerProvider *EagerProvider) PackRefused() []byte {
	enc, err := eagerProvider.abi.Pack("refused")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRefused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc3b66a2d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function refused() view returns(uint256)
func (eagerProvider *EagerProvider) TryPackRefused() ([]byte, error) {
	return eagerProvider.abi.Pack("refused")
}

// UnpackRefused is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xc3b66a2d.
//
// Solidity: function refused() view returns(uint256)
func (eagerProvider *EagerProvider) UnpackRefused(data []byte) (*big.Int, error) {
	out, err := eagerProvider.abi.Unpack("refused", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackRun is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xebcca4ee.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function run(address target, bytes data, bytes again) returns()
func (eagerProvider *EagerProvider) PackRun(target common.Address, data []byte, again []byte) []byte {
	enc, err := eagerProvider.abi.Pack("run", target, data, again)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRun is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xebcca4ee.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function run(address target, bytes data, bytes again) returns()
func (eagerProvider *EagerProvider) TryPackRun(target common.Address, data []byte, again []byte) ([]byte, error) {
	return eagerProvider.abi.Pack("run", target, data, again)
}

// EagerTokenMetaData contains all meta data concerning the EagerToken contract.
var EagerTokenMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"name\":\"balanceOf\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"holder\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"mint\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transfer\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transferFrom\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "9a205fb4dc26808cc7b9530957834bc60f",
	Bin: "0x6080604052348015600e575f5ffd5b5061035d8061001c5f395ff3fe608060405234801561000f575f5ffd5b506004361061004a575f3560e01c806323b872dd1461004e57806340c10f191461007657806370a082311461008b578063a9059cbb146100b8575b5f5ffd5b61006161005c36600461028f565b6100cb565b60405190151581526020015b60405180910390f35b6100896100843660046102c9565b6100df565b005b6100aa6100993660046102f1565b5f6020819052908152604090205481565b60405190815260200161006d565b6100616100c63660046102c9565b61010f565b5f6100d7848484610124565b949350505050565b6001600160a01b0382165f9081526020819052604081208054839290610106908490610337565b90915550505050565b5f61011b338484610124565b90505b92915050565b6001600160a01b0383165f9081526020819052604081208054839190839061014d90849061034a565b90915550506001600160a01b0383165f9081526020819052604081208054849290610179908490610337565b90915550506001600160a01b0384163b158015906101a057506001600160a01b0384163314155b156101f457836001600160a01b031663c8f931b26040518163ffffffff1660e01b81526004015f604051808303815f87803b1580156101dd575f5ffd5b505af11580156101ef573d5f5f3e3d5ffd5b505050505b5f836001600160a01b03163b11801561021657506001600160a01b0383163314155b1561026a57826001600160a01b031663c8f931b26040518163ffffffff1660e01b81526004015f604051808303815f87803b158015610253575f5ffd5b505af1158015610265573d5f5f3e3d5ffd5b505050505b5060019392505050565b80356001600160a01b038116811461028a575f5ffd5b919050565b5f5f5f606084860312156102a1575f5ffd5b6102aa84610274565b92506102b860208501610274565b929592945050506040919091013590565b5f5f604083850312156102da575f5ffd5b6102e383610274565b946020939093013593505050565b5f60208284031215610301575f5ffd5b61011b82610274565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52601160045260245ffd5b8082018082111561011e5761011e61030a565b8181038181111561011e5761011e61030a56",
}

// EagerToken is an auto generated Go binding around an Ethereum contract.
type EagerToken struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *EagerToken) GetABI() abi.ABI {
	return c.abi
}

// NewEagerToken creates a new instance of EagerToken.
func NewEagerToken() *EagerToken {
	parsed, err := EagerTokenMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &EagerToken{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *EagerToken) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (eagerToken *EagerToken) PackBalanceOf(arg0 common.Address) []byte {
	enc, err := eagerToken.abi.Pack("balanceOf", arg0)
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
func (eagerToken *EagerToken) TryPackBalanceOf(arg0 common.Address) ([]byte, error) {
	return eagerToken.abi.Pack("balanceOf", arg0)
}

// UnpackBalanceOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x70a08231.
//
// Solidity: function balanceOf(address ) view returns(uint256)
func (eagerToken *EagerToken) UnpackBalanceOf(data []byte) (*big.Int, error) {
	out, err := eagerToken.abi.Unpack("balanceOf", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mint(address holder, uint256 amount) returns()
func (eagerToken *EagerToken) PackMint(holder common.Address, amount *big.Int) []byte {
	enc, err := eagerToken.abi.Pack("mint", holder, amount)
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
func (eagerToken *EagerToken) TryPackMint(holder common.Address, amount *big.Int) ([]byte, error) {
	return eagerToken.abi.Pack("mint", holder, amount)
}

// PackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (eagerToken *EagerToken) PackTransfer(to common.Address, value *big.Int) []byte {
	enc, err := eagerToken.abi.Pack("transfer", to, value)
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
func (eagerToken *EagerToken) TryPackTransfer(to common.Address, value *big.Int) ([]byte, error) {
	return eagerToken.abi.Pack("transfer", to, value)
}

// UnpackTransfer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa9059cbb.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (eagerToken *EagerToken) UnpackTransfer(data []byte) (bool, error) {
	out, err := eagerToken.abi.Unpack("transfer", data)
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
func (eagerToken *EagerToken) PackTransferFrom(from common.Address, to common.Address, value *big.Int) []byte {
	enc, err := eagerToken.abi.Pack("transferFrom", from, to, value)
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
func (eagerToken *EagerToken) TryPackTransferFrom(from common.Address, to common.Address, value *big.Int) ([]byte, error) {
	return eagerToken.abi.Pack("transferFrom", from, to, value)
}

// UnpackTransferFrom is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x23b872dd.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (eagerToken *EagerToken) UnpackTransferFrom(data []byte) (bool, error) {
	out, err := eagerToken.abi.Unpack("transferFrom", data)
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
