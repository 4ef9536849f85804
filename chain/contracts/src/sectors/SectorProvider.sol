// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
  SectorConfig,
  SectorStatus,
  TerminationReason
} from "./SectorTypes.sol";
import {IERC20} from "../IERC20.sol";
import {ProvingPeriods} from "./ProvingPeriods.sol";
import {SectorMoney} from "./SectorMoney.sol";
import {SectorProving} from "./SectorProving.sol";
import {SectorSealing} from "./SectorSealing.sol";
import {SectorState} from "./SectorState.sol";

/// @title Sectors of storage providers
/// @notice A provider promises to hold the data of a sector until its expiration, puts
/// down a deposit, and proves once a period that it has them. What it does not prove
/// costs a part of the deposit; the rest is returned. A provider is an address; any
/// number of them share the contract and none can touch what is another's.
/// @dev After the words and the rules of Filecoin's actors as far as they make sense for
/// proofs of possession; docs/provider-contract.md says where it differs.
contract SectorProvider is SectorProving {
  error Sectors_NotEnded(uint64 number);

  event Expired(address indexed provider, uint64 indexed number, uint256 returned);

  SectorConfig private _config;

  constructor(
    SectorConfig memory config,
    IERC20 token_
  )
    ProvingPeriods(config.proving)
    SectorMoney(token_)
    SectorState(config.sealing, config.proving, config.deposits)
    SectorSealing(config)
    SectorProving(config)
  {
    _config = config;
  }

  function configuration() external view returns (SectorConfig memory) {
    return _config;
  }

  /// @notice Gives up a sector of the sender before its expiration, for a fee.
  function terminate(uint64 number) external {
    Sector storage s = _settled(number);
    if (s.status == SectorStatus.Terminated) return; // Its faults were faster.
    (uint64 deadline, ) = placeOf(number);
    if (_isOver(s, deadline)) revert Sectors_NotLive(number);
    _terminate(msg.sender, number, s, TerminationReason.Provider);
  }

  /// @notice Returns the deposit of a sector of the sender that has reached its
  /// expiration, when the last of its windows is over.
  function expire(uint64 number) external {
    Sector storage s = _settled(number);
    if (s.status == SectorStatus.Terminated) return; // Its last windows were too much.
    (uint64 deadline, ) = placeOf(number);
    if (!_isOver(s, deadline)) revert Sectors_NotEnded(number);
    uint256 returned = s.deposit;
    s.status = SectorStatus.Expired;
    s.deposit = 0;
    _credit(msg.sender, returned);
    emit Expired(msg.sender, number, returned);
  }

  /// @dev A sector of the sender that was live, with all its windows up to now settled.
  function _settled(uint64 number) private returns (Sector storage s) {
    s = _sectors[msg.sender][number];
    if (!_isLive(s)) revert Sectors_NotLive(number);
    (uint64 deadline, ) = placeOf(number);
    _settle(msg.sender, number, s, deadline);
  }
}
