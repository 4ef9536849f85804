// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "../IERC20.sol";

/// @title Where the tokens of the contract belong
/// @notice Every token here is part of a sector's deposit, of the pool of rewards, owed
/// to somebody, or burnt. Nothing is paid out on the way: what a provider gets back is
/// owed to it until it withdraws it, so no call about sectors can be made to fail by
/// a token or a recipient.
/// @dev Tokens are moved last, when the books are closed. A token that takes a fee from
/// transfers, or changes balances by itself, must not be used.
abstract contract SectorMoney {
  error Sectors_TransferFailed();
  error Sectors_NothingOwed();

  event Funded(address indexed from, uint256 amount);
  event Withdrawn(address indexed account, uint256 amount);
  event Burnt(uint256 amount);

  /// Nobody has its key; the token itself may know no way to burn.
  address private constant BURN_ADDRESS = 0x000000000000000000000000000000000000dEaD;

  IERC20 public immutable token;

  /// @notice What is left for rewards.
  uint256 public pool;
  /// @notice What is lost and was not sent to the burn address yet.
  uint256 public unburnt;
  /// @notice What an account may withdraw.
  mapping(address => uint256) public owed;

  constructor(IERC20 token_) {
    token = token_;
  }

  /// @notice Adds to the pool of rewards. It cannot be taken back.
  function fund(uint256 amount) external {
    pool += amount;
    emit Funded(msg.sender, amount);
    _pull(amount);
  }

  /// @notice Pays the sender what it is owed.
  function withdraw() external {
    uint256 amount = owed[msg.sender];
    if (amount == 0) revert Sectors_NothingOwed();
    owed[msg.sender] = 0;
    emit Withdrawn(msg.sender, amount);
    _pay(msg.sender, amount);
  }

  /// @notice Sends what is lost to the burn address. Anybody may.
  function burn() external {
    uint256 amount = unburnt;
    if (amount == 0) revert Sectors_NothingOwed();
    unburnt = 0;
    emit Burnt(amount);
    _pay(BURN_ADDRESS, amount);
  }

  function _credit(address account, uint256 amount) internal {
    owed[account] += amount;
  }

  /// @dev Pays from the pool, which may hold less than was earned.
  function _reward(address account, uint256 earned) internal returns (uint256 amount) {
    amount = earned < pool ? earned : pool;
    if (amount == 0) return 0;
    pool -= amount;
    owed[account] += amount;
  }

  function _lose(uint256 amount) internal {
    if (amount > 0) unburnt += amount;
  }

  function _pull(uint256 amount) internal {
    if (!token.transferFrom(msg.sender, address(this), amount)) {
      revert Sectors_TransferFailed();
    }
  }

  function _pay(address recipient, uint256 amount) private {
    if (!token.transfer(recipient, amount)) revert Sectors_TransferFailed();
  }
}
