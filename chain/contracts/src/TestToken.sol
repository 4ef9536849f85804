// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "./IERC20.sol";

/// @title Play money
/// @notice Anybody may mint. It fails with the errors of ERC-6093, as the tokens
/// of real networks do, so that a host learns to read them.
contract TestToken is IERC20 {
  error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
  error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
  error ERC20InvalidApprover(address approver);
  error ERC20InvalidReceiver(address receiver);
  error ERC20InvalidSender(address sender);
  error ERC20InvalidSpender(address spender);

  string public constant name = "TestToken";
  string public constant symbol = "TST";
  uint8 public constant decimals = 18;

  uint256 public totalSupply;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;

  function mint(address holder, uint256 amount) external {
    if (holder == address(0)) revert ERC20InvalidReceiver(address(0));
    totalSupply += amount;
    _credit(holder, amount);
    emit Transfer(address(0), holder, amount);
  }

  function transfer(address to, uint256 value) external returns (bool) {
    _move(msg.sender, to, value);
    return true;
  }

  function approve(address spender, uint256 value) external returns (bool) {
    if (msg.sender == address(0)) revert ERC20InvalidApprover(address(0));
    if (spender == address(0)) revert ERC20InvalidSpender(address(0));
    allowance[msg.sender][spender] = value;
    emit Approval(msg.sender, spender, value);
    return true;
  }

  /// @dev The greatest possible allowance never shrinks. Spending an allowance
  /// emits no Approval.
  function transferFrom(address from, address to, uint256 value) external returns (bool) {
    uint256 allowed = allowance[from][msg.sender];
    if (allowed != type(uint256).max) {
      if (allowed < value) revert ERC20InsufficientAllowance(msg.sender, allowed, value);
      allowance[from][msg.sender] = allowed - value;
    }
    _move(from, to, value);
    return true;
  }

  function _move(address from, address to, uint256 value) private {
    if (from == address(0)) revert ERC20InvalidSender(address(0));
    if (to == address(0)) revert ERC20InvalidReceiver(address(0));
    uint256 balance = balanceOf[from];
    if (balance < value) revert ERC20InsufficientBalance(from, balance, value);
    balanceOf[from] = balance - value;
    _credit(to, value);
    emit Transfer(from, to, value);
  }

  /// @dev Cannot overflow: no balance exceeds the total supply, which is checked.
  function _credit(address to, uint256 value) private {
    unchecked {
      balanceOf[to] += value;
    }
  }
}
