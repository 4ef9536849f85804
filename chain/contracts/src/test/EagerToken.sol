// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title TEST ONLY: a token that tells contracts about each movement, while it moves
/// @notice It is what a contract must expect from a token of tomorrow: whoever pays or
/// is paid gets to act before the payment has returned. Nobody needs an allowance.
contract EagerToken {
  mapping(address => uint256) public balanceOf;

  function mint(address holder, uint256 amount) external {
    balanceOf[holder] += amount;
  }

  function transfer(address to, uint256 value) external returns (bool) {
    return _move(msg.sender, to, value);
  }

  function transferFrom(address from, address to, uint256 value) external returns (bool) {
    return _move(from, to, value);
  }

  function _move(address from, address to, uint256 value) private returns (bool) {
    balanceOf[from] -= value;
    balanceOf[to] += value;
    if (from.code.length > 0 && from != msg.sender) EagerProvider(from).moved();
    if (to.code.length > 0 && to != msg.sender) EagerProvider(to).moved();
    return true;
  }
}

/// @title TEST ONLY: a provider that calls again while it is being paid
contract EagerProvider {
  address private _target;
  bytes private _again;

  /// @notice How many of the calls from within a payment went through, and how many
  /// did not.
  uint256 public accepted;
  uint256 public refused;

  /// @notice Makes a call, and from within its payments the other one.
  function run(address target, bytes calldata data, bytes calldata again) external {
    (_target, _again) = (target, again);
    (bool ok, bytes memory result) = target.call(data);
    if (!ok) {
      assembly ("memory-safe") {
        revert(add(result, 32), mload(result))
      }
    }
  }

  function moved() external {
    bytes memory again = _again;
    if (again.length == 0) return;
    delete _again; // Once.
    (bool ok, ) = _target.call(again);
    if (ok) accepted++;
    else refused++;
  }
}
