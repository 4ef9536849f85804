// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {G1Point, G2Point, Groth16Proof, IGroth16Verifier} from "./Groth16.sol";

struct VerifyingKey {
  G1Point alpha1;
  G2Point beta2;
  G2Point gamma2;
  G2Point delta2;
  G1Point[] ic; // one for the constant, then one for each public input
}

/// @title Groth16 over BN254, for the key given at deployment
/// @notice Says false to whatever does not hold, also to nonsense: a wrong number
/// of inputs, an input that is no field element, a point that is not on its
/// curve. Beware: a precompile that runs out of gas looks the same.
contract Groth16Verifier is IGroth16Verifier {
  uint256 private constant FIELD_MODULUS =
    21888242871839275222246405745257275088696311157297823662689037894645226208583;
  uint256 private constant GROUP_ORDER =
    21888242871839275222246405745257275088548364400416034343698204186575808495617;

  address private constant ADD = address(6);
  address private constant MULTIPLY = address(7);
  address private constant PAIRING = address(8);

  VerifyingKey private _key;

  constructor(VerifyingKey memory key) {
    _key.alpha1 = key.alpha1;
    _key.beta2 = key.beta2;
    _key.gamma2 = key.gamma2;
    _key.delta2 = key.delta2;
    for (uint256 i = 0; i < key.ic.length; i++) {
      _key.ic.push(key.ic[i]);
    }
  }

  /// @inheritdoc IGroth16Verifier
  function verify(
    Groth16Proof calldata proof,
    uint256[] calldata pubSignals
  ) external view returns (bool) {
    (bool ok, G1Point memory combination) = _combine(pubSignals);
    return ok && _checkPairing(proof, combination);
  }

  /// @dev ic[0] + sum of input[i] * ic[i+1].
  function _combine(
    uint256[] calldata inputs
  ) private view returns (bool ok, G1Point memory sum) {
    if (inputs.length + 1 != _key.ic.length) return (false, sum);
    sum = _key.ic[0];
    for (uint256 i = 0; i < inputs.length; i++) {
      // Without this bound each statement would have several encodings.
      if (inputs[i] >= GROUP_ORDER) return (false, sum);
      G1Point memory product;
      (ok, product) = _multiply(_key.ic[i + 1], inputs[i]);
      if (!ok) return (false, sum);
      (ok, sum) = _add(sum, product);
      if (!ok) return (false, sum);
    }
    return (true, sum);
  }

  /// @dev e(-a, b) * e(alpha, beta) * e(combination, gamma) * e(c, delta) == 1
  function _checkPairing(
    Groth16Proof calldata proof,
    G1Point memory combination
  ) private view returns (bool) {
    uint256[24] memory input;
    _place(input, 0, _negate(proof.a), proof.b);
    _place(input, 6, _key.alpha1, _key.beta2);
    _place(input, 12, combination, _key.gamma2);
    _place(input, 18, proof.c, _key.delta2);
    (bool ok, bytes memory result) = PAIRING.staticcall(abi.encodePacked(input));
    return ok && result.length == 32 && abi.decode(result, (uint256)) == 1;
  }

  /// @dev The precompile wants the imaginary part of a coordinate first.
  function _place(
    uint256[24] memory input,
    uint256 first,
    G1Point memory p,
    G2Point memory q
  ) private pure {
    input[first] = p.x;
    input[first + 1] = p.y;
    input[first + 2] = q.x.imag;
    input[first + 3] = q.x.real;
    input[first + 4] = q.y.imag;
    input[first + 5] = q.y.real;
  }

  /// @dev Panics when y is greater than the modulus. Such a proof is refused
  /// either way, only with another error.
  function _negate(G1Point calldata p) private pure returns (G1Point memory) {
    return G1Point(p.x, (FIELD_MODULUS - p.y) % FIELD_MODULUS);
  }

  function _add(
    G1Point memory p,
    G1Point memory q
  ) private view returns (bool, G1Point memory) {
    return _call(ADD, abi.encode(p, q));
  }

  function _multiply(
    G1Point memory p,
    uint256 factor
  ) private view returns (bool, G1Point memory) {
    return _call(MULTIPLY, abi.encode(p, factor));
  }

  function _call(
    address precompile,
    bytes memory input
  ) private view returns (bool, G1Point memory point) {
    (bool ok, bytes memory output) = precompile.staticcall(input);
    if (!ok || output.length != 64) return (false, point);
    return (true, abi.decode(output, (G1Point)));
  }
}
