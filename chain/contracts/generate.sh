#!/bin/sh
# Compiles the contracts and generates their Go bindings. Needs node and npm;
# everything it makes is committed, so that building hostnode needs neither.
#
# ABIGEN may name an abigen of the version below that is installed already.
set -eu
cd "$(dirname "$0")"

abigen_version=v1.17.10
abigen=${ABIGEN:-go run github.com/ethereum/go-ethereum/cmd/abigen@$abigen_version}

npm ci --silent
node compile.js

# Overloads are numbered in the order of the ABI; the aliases give them names
# that say which is which.
names=freeSlot=freeSlotTo,freeSlot0=freeSlot
names=$names,withdrawFunds=withdrawFunds,withdrawFunds0=withdrawFundsTo
$abigen --v2 --combined-json artifacts/bindings.json --pkg bindings --alias $names \
  --out bindings/bindings.go
$abigen --v2 --combined-json artifacts/contractstest.json --pkg contractstest \
  --out contractstest/bindings.go
gofmt -w bindings/bindings.go contractstest/bindings.go
