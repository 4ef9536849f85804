// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Groth16Proof, IGroth16Verifier} from "../Groth16.sol";

/// @title TEST ONLY: believes every proof but one
/// @notice Says no only when all eight numbers are zero, so that tests have a
/// proof that is refused. Never deploy it where anything is at stake.
contract DummyVerifier is IGroth16Verifier {
  function verify(
    Groth16Proof calldata proof,
    uint256[] calldata
  ) external pure returns (bool) {
    uint256 any = proof.a.x | proof.a.y | proof.c.x | proof.c.y;
    any |= proof.b.x.real | proof.b.x.imag | proof.b.y.real | proof.b.y.imag;
    return any != 0;
  }
}
