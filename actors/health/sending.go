package health

import "fmt"

// This file has the causes that keep every transaction from being sent.

// notSigning: what waits for a signature is sent when it comes. Of several members only the owner's signer
// matters.
func notSigning(f Facts) (reason, hint string) {
	return when(f.Members.Owner == f.Members.Member,
		f.Chain.Signer, "check the signer (account.signer) and its rules: it must run, have the account "+f.Account+
			", and approve this host's transactions without asking a person; what waits is sent when it signs")
}

func feeLimit(f Facts) (reason, hint string) {
	return f.Chain.FeeLimit, "if it is the price, raise fees.maxFeeGwei and start again, else see what the node " +
		"says, or use another one: proofs that wait too long are missed"
}

// noGas: not even a proof can be paid.
func noGas(f Facts) (reason, hint string) {
	b := f.Funds.Balance
	reason = "the account has nothing to pay for gas"
	if !b.Wei.IsZero() {
		reason = fmt.Sprintf("the account holds %s wei for gas, and a proof costs %s wei", b.Wei, b.ProofWei)
	}
	return when(f.Funds.Known && (b.Wei.IsZero() || b.Wei.Less(b.ProofWei)),
		reason, "send the chain's own coin to "+f.Account)
}
