// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Points of the curve BN254 (alt_bn128) and a Groth16 proof made of them.
struct G1Point {
  uint256 x;
  uint256 y;
}

/// The element real + i * imag of the quadratic extension field.
struct Fp2Element {
  uint256 real;
  uint256 imag;
}

struct G2Point {
  Fp2Element x;
  Fp2Element y;
}

struct Groth16Proof {
  G1Point a;
  G2Point b;
  G1Point c;
}

/// @title Whatever can judge a storage proof
interface IGroth16Verifier {
  /// @return whether the proof holds for these public inputs.
  function verify(
    Groth16Proof calldata proof,
    uint256[] calldata pubSignals
  ) external view returns (bool);
}
