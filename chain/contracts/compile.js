// Compiles src/ with the pinned compiler and writes, for each Go package of
// bindings, one file in the form of `solc --combined-json abi,bin`. It also
// records a digest of everything that went in, so that a machine without node
// can tell that the artifacts are stale (see drift_test.go).
"use strict";

const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
const solc = require("solc");

// Which contracts get bindings, by Go package.
const packages = {
  bindings: ["Marketplace", "Groth16Verifier", "TestToken", "SectorProvider", "InclusionVerifier"],
  contractstest: ["DummyVerifier", "RefusingToken", "PublicInputsProbe", "EagerToken", "EagerProvider"],
};

const byteLimit = 24576; // deployed bytes, EIP-170

function sourcesIn(dir) {
  return fs
    .readdirSync(dir, { recursive: true })
    .map((name) => path.join(dir, name))
    .filter((name) => name.endsWith(".sol"))
    .sort();
}

// The digest is over "sha256  path\n" lines, the form of sha256sum.
function digest(files) {
  const line = (file) => {
    const hash = crypto.createHash("sha256").update(fs.readFileSync(file));
    return `${hash.digest("hex")}  ${file}\n`;
  };
  return files.map(line).join("");
}

function compile(files) {
  const sources = {};
  for (const file of files) sources[file] = { content: fs.readFileSync(file, "utf8") };
  const settings = JSON.parse(fs.readFileSync("settings.json", "utf8"));
  settings.outputSelection = {
    "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] },
  };
  const input = { language: "Solidity", sources, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  for (const problem of output.errors || []) console.error(problem.formattedMessage);
  // A warning is refused too: nobody would see it again.
  if (output.errors && output.errors.length > 0) process.exit(1);
  return output.contracts;
}

function write(name, contracts, wanted) {
  const combined = { contracts: {}, version: solc.version() };
  for (const [file, inFile] of Object.entries(contracts)) {
    for (const [contract, result] of Object.entries(inFile)) {
      if (!wanted.includes(contract)) continue;
      const size = result.evm.deployedBytecode.object.length / 2;
      if (size > byteLimit) throw new Error(`${contract} has ${size} bytes, limit ${byteLimit}`);
      console.log(`${contract}: ${size} bytes deployed`);
      combined.contracts[`${file}:${contract}`] = {
        abi: result.abi,
        bin: result.evm.bytecode.object,
        metadata: "",
      };
    }
  }
  const found = Object.keys(combined.contracts).length;
  if (found !== wanted.length) throw new Error(`${name}: found ${found} of ${wanted.length}`);
  fs.writeFileSync(`artifacts/${name}.json`, JSON.stringify(combined, null, 1) + "\n");
}

process.chdir(__dirname);
const files = sourcesIn("src");
const contracts = compile(files);
fs.mkdirSync("artifacts", { recursive: true });
for (const [name, wanted] of Object.entries(packages)) write(name, contracts, wanted);
const recorded = [...files, "settings.json", "package-lock.json", "compile.js", "generate.sh"];
fs.writeFileSync("artifacts/inputs.sha256", digest(recorded.sort()));
