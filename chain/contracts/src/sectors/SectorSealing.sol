// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
  PreCommitment,
  ProofType,
  SealingConfig,
  SectorConfig,
  SectorStatus
} from "./SectorTypes.sol";
import {Possession} from "./Possession.sol";
import {SectorState} from "./SectorState.sol";
import {Simulation} from "./Simulation.sol";

/// @title How a sector comes to be
/// @notice A provider first commits itself to the data and puts down the deposit, and
/// then proves that it has them for a challenge that nobody knew before: the hash of a
/// later block. The EVM forgets that hash after 256 blocks, so somebody has to pin it in
/// that time; the proof does it by itself when it comes early enough.
abstract contract SectorSealing is SectorState {
  error Sectors_InvalidSealing();
  error Sectors_InvalidProofTypes();
  error Sectors_ProofTypeNotTaken(ProofType proofType);
  error Sectors_NumberUsed(uint64 number);
  error Sectors_InvalidSize(uint64 size);
  error Sectors_InvalidCommD();
  error Sectors_TicketOutOfReach(uint64 ticketEpoch);
  error Sectors_WrongCommR(bytes32 want);
  error Sectors_InvalidExpiration(uint64 earliest, uint64 latest);
  error Sectors_NotPreCommitted(uint64 number);
  error Sectors_SeedTooEarly(uint64 seedEpoch);
  error Sectors_Void(uint64 number);
  error Sectors_NotVoid(uint64 number);
  error Sectors_InvalidProof(uint64 number, uint32 leaf);
  error Sectors_ProofLength(uint64 number, uint256 want);

  event PreCommitted(
    address indexed provider,
    uint64 indexed number,
    PreCommitment said,
    bytes32 ticket,
    uint64 seedEpoch,
    uint256 deposit
  );
  event SeedPinned(address indexed provider, uint64 indexed number, bytes32 seed);
  /// The first proof is due in that period.
  event Committed(address indexed provider, uint64 indexed number, uint64 firstPeriod);
  event PreCommitExpired(
    address indexed provider,
    uint64 indexed number,
    uint256 fee,
    uint256 returned
  );

  uint64 private constant LEAST_SIZE = 2 << 10;
  uint64 private constant GREATEST_SIZE = 64 << 30;

  /// The contract with the hashes of more blocks than the EVM knows, on chains that have it
  /// (EIP-2935).
  address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;
  /// How many blocks a ticket lives at most. It needs no bound of the seed's kind: a
  /// number whose precommit was void takes only a younger ticket.
  uint64 private constant TICKET_REACH = 8191;

  uint64 private immutable _ticketLookback;
  uint64 private immutable _minLife;
  uint64 private immutable _maxLife;
  uint32 private immutable _sealLeaves;
  uint16 private immutable _voidFee;
  bool private immutable _takesPossession;
  bool private immutable _takesSimulated;

  constructor(SectorConfig memory config) {
    SealingConfig memory c = config.sealing;
    // What anybody can compute must not be paid for.
    if (
      (!config.possession.taken && !config.simulated.taken) ||
      config.simulated.rewardPerByte != 0
    ) revert Sectors_InvalidProofTypes();
    // Each sector owes at least one proof: it lives two periods.
    if (
      c.ticketLookback == 0 ||
      c.ticketLookback >= REACH ||
      c.challengeDelay == 0 ||
      c.challengeDelay > type(uint32).max ||
      c.commitDue < c.challengeDelay + REACH ||
      c.minLife / 2 < config.proving.periodBlocks ||
      c.maxLife > type(uint40).max ||
      c.maxLife < uint256(c.commitDue) + c.minLife ||
      c.leaves == 0 ||
      c.leaves > type(uint16).max
    ) revert Sectors_InvalidSealing();
    _ticketLookback = c.ticketLookback;
    _minLife = c.minLife;
    _maxLife = c.maxLife;
    _sealLeaves = c.leaves;
    _voidFee = config.deposits.voidFee;
    _takesPossession = config.possession.taken;
    _takesSimulated = config.simulated.taken;
  }

  /// @notice How many blocks a ticket lives on this chain.
  function ticketReach() external view returns (uint64) {
    // In calls that change nothing, the hash of the newest block may not be there yet.
    bool known = block.number > 1 && _history(block.number - 2) != 0;
    return known ? TICKET_REACH : uint64(REACH);
  }

  /// @notice The ticket that a precommit with this epoch gets now; zero when the epoch
  /// is out of reach, or not younger than that of a precommit of the number that was void.
  function ticketFor(
    address provider,
    uint64 number,
    uint64 ticketEpoch
  ) public view returns (bytes32) {
    if (block.number > uint256(ticketEpoch) + TICKET_REACH) return 0;
    if (uint256(ticketEpoch) + _ticketLookback > block.number) return 0;
    if (ticketEpoch <= _sectors[provider][number].ticketEpoch) return 0;
    bytes32 hash = _history(ticketEpoch);
    if (hash == 0) hash = blockhash(ticketEpoch);
    if (hash == 0) return 0;
    return keccak256(abi.encodePacked(hash, provider, number, "ticket"));
  }

  /// @notice Announces a sector of the sender and takes its deposit. The contract makes
  /// the ticket itself, so that a provider cannot choose it.
  function preCommit(PreCommitment calldata said) external {
    Sector storage s = _sectors[msg.sender][said.number];
    if (s.status != SectorStatus.None) revert Sectors_NumberUsed(said.number);
    uint8 depth = _depthOf(said.size);
    _checkExpiration(said.expiration);
    // No node of a tree has these bits, so no proof could ever lead there.
    if (Possession.masked(said.commD) != said.commD) revert Sectors_InvalidCommD();
    bytes32 ticket = ticketFor(msg.sender, said.number, said.ticketEpoch);
    if (ticket == 0) revert Sectors_TicketOutOfReach(said.ticketEpoch);
    // This also finds a ticket that a reorganisation has changed.
    bytes32 commR = _commR(said, ticket);
    if (commR != said.commR) revert Sectors_WrongCommR(commR);

    uint256 deposit = depositFor(said.size);
    s.status = SectorStatus.PreCommitted;
    s.proofType = said.proofType;
    s.depth = depth;
    s.expiration = uint48(said.expiration);
    s.deposit = uint112(deposit);
    s.preCommitEpoch = uint48(block.number);
    s.ticketEpoch = uint48(said.ticketEpoch);
    s.commD = said.commD;
    s.commR = commR;
    s.ticket = ticket;
    uint64 seedEpoch = uint64(block.number) + _challengeDelay;
    emit PreCommitted(msg.sender, said.number, said, ticket, seedEpoch, deposit);
    _pull(deposit);
  }

  /// @notice Keeps the seed of a precommitted sector. Anybody may, within 256 blocks;
  /// pinning twice changes nothing.
  function pinSeed(address provider, uint64 number) external {
    _pinSeed(provider, number, _preCommitted(provider, number));
  }

  /// @notice Proves that the sender has the data of a sector that it precommitted.
  function commit(uint64 number, bytes calldata proof) external {
    Sector storage s = _preCommitted(msg.sender, number);
    _pinSeed(msg.sender, number, s);
    _checkProof(
      Possession.Challenge(Possession.SEAL, s.ticket, s.seed, msg.sender, number),
      _sealLeaves,
      s,
      proof
    );
    (uint64 deadline, ) = placeOf(number);
    s.status = SectorStatus.Active;
    s.activation = uint48(block.number);
    s.nextPeriod = _nextOpening(deadline, block.number);
    emit Committed(msg.sender, number, s.nextPeriod);
  }

  /// @notice Takes back a precommit whose proof can no longer come. Anybody may: a part of the
  /// deposit is lost, the rest is owed to the provider, and the number is free again.
  function expirePreCommit(address provider, uint64 number) external {
    Sector storage s = _sectors[provider][number];
    if (s.status != SectorStatus.PreCommitted) revert Sectors_NotPreCommitted(number);
    if (!_isVoid(s)) revert Sectors_NotVoid(number);
    uint256 deposit = s.deposit;
    uint256 fee = _share(s, _voidFee);
    uint48 ticketEpoch = s.ticketEpoch;
    delete _sectors[provider][number];
    s.ticketEpoch = ticketEpoch; // So that the next one has another ticket.
    _lose(fee);
    _credit(provider, deposit - fee);
    emit PreCommitExpired(provider, number, fee, deposit - fee);
  }

  function _checkProof(
    Possession.Challenge memory challenge,
    uint32 leaves,
    Sector storage s,
    bytes calldata proof
  ) internal view {
    uint8 depth = s.depth;
    bool simulated = s.proofType == ProofType.Simulated;
    uint256 length = simulated
      ? Simulation.proofLength()
      : Possession.proofLength(leaves, depth);
    if (proof.length != length) revert Sectors_ProofLength(challenge.number, length);
    if (simulated) {
      bytes memory want = Simulation.proofOf(challenge, leaves, s.commR);
      if (keccak256(proof) != keccak256(want)) {
        revert Sectors_InvalidProof(challenge.number, 0);
      }
      return;
    }
    uint32 wrong = Possession.firstWrong(proof, challenge, leaves, depth, s.commD);
    if (wrong != leaves) revert Sectors_InvalidProof(challenge.number, wrong);
  }

  /// @dev What the CommR of a sector of the sender must be. A type whose CommR cannot be
  /// computed here would need somebody to attest it who is not the provider.
  function _commR(
    PreCommitment calldata said,
    bytes32 ticket
  ) private view returns (bytes32) {
    bool simulated = said.proofType == ProofType.Simulated;
    if (simulated ? !_takesSimulated : !_takesPossession) {
      revert Sectors_ProofTypeNotTaken(said.proofType);
    }
    return
      simulated
        ? Simulation.commR(msg.sender, said.number, ticket, said.commD)
        : Possession.commR(msg.sender, said.number, ticket, said.commD);
  }

  /// @dev The hash of a block by the history contract; zero when there is none, or it does
  /// not know.
  function _history(uint256 epoch) private view returns (bytes32) {
    (bool ok, bytes memory answer) = HISTORY.staticcall(abi.encode(epoch));
    return ok && answer.length == 32 ? abi.decode(answer, (bytes32)) : bytes32(0);
  }

  function _preCommitted(
    address provider,
    uint64 number
  ) private view returns (Sector storage s) {
    s = _sectors[provider][number];
    if (s.status != SectorStatus.PreCommitted) revert Sectors_NotPreCommitted(number);
    if (_isVoid(s)) revert Sectors_Void(number);
  }

  /// @dev The sector is not void, so the hash is known unless it is too early.
  function _pinSeed(address provider, uint64 number, Sector storage s) private {
    if (s.seed != 0) return;
    uint64 seedEpoch = s.preCommitEpoch + _challengeDelay;
    if (block.number <= seedEpoch) revert Sectors_SeedTooEarly(seedEpoch);
    s.seed = blockhash(seedEpoch);
    emit SeedPinned(provider, number, s.seed);
  }

  function _checkExpiration(uint64 expiration) private view {
    uint64 present = uint64(block.number);
    uint64 earliest = present + _commitDue + _minLife;
    uint64 latest = present + _maxLife;
    if (expiration < earliest || expiration > latest) {
      revert Sectors_InvalidExpiration(earliest, latest);
    }
  }

  /// @dev The depth of the tree over the leaves of a sector.
  function _depthOf(uint64 size) private pure returns (uint8 depth) {
    if (size < LEAST_SIZE || size > GREATEST_SIZE || size & (size - 1) != 0) {
      revert Sectors_InvalidSize(size);
    }
    while (uint64(32) << depth < size) depth++;
  }
}
