// hostnode-slot, version 5
//
// How a host's dealings with one slot stand: where its sale is, what it proved, earned and lost.
//
// Reads      the sales: the streams sale-<host>-<slot id>
// Partition  the name of the stream
// State      { host, member (that sells it, in a host of several), slotId, requestId, slotIndex, attempt, repair, adopted,
//              phase, since, over, reason, startedAt, expiresAt, endsAt, filledAt,
//              availabilityId, reservationId, slotSize, storedBytes,
//              proofs:     { due, open, submitted, missed, excused, lapsed },
//              collateral: { committed, onChain, slashed, returned, lost },
//              reward, rewardRecipient (when another address got it), repairReward (when there is one),
//              netEarning, feesWei, gasUsed, transactions,
//              damaged:    { blocks, whole } (while data on disk is damaged and fetched again),
//              lastEvent:  { type, at, revision },
//              inner, passedOver }
//
// A stream holds all attempts at its slot, one after the other; the state is of the newest. The phases are
// those of docs/architecture.md, "The life of a sale". over says that every byte and every token is back
// where it belongs; reason why a sale ended that did not finish. due counts the periods in which a proof
// was owed and is the sum of the other five; lapsed are those that were open when the request or the fill
// ended. repairReward is how much less than the collateral was taken for a slot in repair. netEarning is
// both rewards without the collateral that was lost; fees are paid in another coin.
// inner is what the fold needs and nobody else. passedOver counts the events that a newer version of
// hostnode wrote.
//
// Sizes (bytes), amounts (token base units, wei for fees) and gas are decimal strings, because they do not
// fit into JavaScript's numbers; all sums are made with BigInt. Points in time are of the chain. An event
// leaves out a field that is zero, false or empty.

var SALE = /^sale-(0x[0-9a-f]{40})-0x[0-9a-f]{64}$/;
// with shared/events.js

var HOSTING = ["Filled", "Proving", "ProvingSimulated"];

// nothing is known of a sale before its first event.
function nothing() {
    return {
        host: "", slotId: null, requestId: null, slotIndex: "0", attempt: 0, repair: false, adopted: false,
        phase: "Unknown", since: null, over: false, reason: "",
        startedAt: null, expiresAt: null, endsAt: null, filledAt: null,
        availabilityId: null, reservationId: null, slotSize: "0", storedBytes: "0",
        proofs: { due: 0, open: 0, submitted: 0, missed: 0, excused: 0, lapsed: 0 },
        collateral: { committed: "0", onChain: "0", slashed: "0", returned: "0", lost: "0" },
        reward: "0", netEarning: "0", feesWei: "0", gasUsed: "0", transactions: 0,
        lastEvent: null,
        inner: {
            duties: [],        // the periods that are open
            lapsed: [],        // those that were open at an end: owed again when that is taken back
            excused: null,     // the period that was excused last: it may be owed again
            proofMade: false,  // there is a proof for the fill
            failsOnPurpose: false,
            filledBy: null,    // the transaction of the last fill
            onChain: false,    // the slot is ours there
        },
        passedOver: 0,
    };
}

function without(periods, period) {
    return periods.filter(function (p) { return p !== period; });
}

// Each period in which a proof is owed is a duty. It is opened once, however often its challenge moves. One that
// was excused, or has lapsed, and is owed again counts for what becomes of it last.
function openDuty(s, period) {
    if (s.inner.duties.indexOf(period) >= 0) {
        return;
    }
    s.inner.duties.push(period);
    if (s.inner.excused === period) {
        s.inner.excused = null;
        s.proofs.excused--;
    } else if (s.inner.lapsed.indexOf(period) >= 0) {
        s.inner.lapsed = without(s.inner.lapsed, period);
        s.proofs.lapsed--;
    } else {
        s.proofs.due++;
    }
}

// closeDuty says how many duties were closed: one, or none when it was not open.
function closeDuty(s, period) {
    var before = s.inner.duties.length;
    s.inner.duties = without(s.inner.duties, period);
    return before - s.inner.duties.length;
}

function lapse(s) {
    s.proofs.lapsed += s.inner.duties.length;
    s.inner.lapsed = s.inner.lapsed.concat(s.inner.duties);
    s.inner.duties = [];
}

// end is one that only a fill can take back, or a reorganisation.
function end(s, phase, reason) {
    lapse(s);
    s.reason = reason || "";
    s.phase = phase;
}

// hold and letGo: the slot is ours on chain, and is no more.
function hold(s, collateral) {
    s.inner.onChain = true;
    s.collateral.onChain = collateral;
}

function letGo(s) {
    s.inner.onChain = false;
    s.collateral.onChain = "0";
}

// read takes over what the contract was seen to hold. Of an adopted slot that may be read before its fill is recorded.
function read(s, said) {
    if (s.inner.onChain) {
        s.collateral.onChain = said.collateral;
    }
    s.collateral.slashed = add(s.collateral.slashed, said.slashed);
}

function lose(s) {
    letGo(s);
    s.collateral.lost = s.collateral.committed;
}

// pay counts what a mined transaction of ours cost. After a reorganisation the same fill is mined again,
// and was still paid for once.
function pay(s, event) {
    var receipt = event.data.receipt;
    if (!receipt) {
        return;
    }
    if (event.eventType === "SlotFilled") {
        if (s.inner.filledBy === receipt.txHash) {
            return;
        }
        s.inner.filledBy = receipt.txHash;
    }
    s.feesWei = add(s.feesWei, receipt.feeWei);
    s.gasUsed = add(s.gasUsed, receipt.gasUsed);
    s.transactions++;
}

// understood does for every event what is the same for all, and passes those of a newer schema over.
function understood(fold) {
    return function (s, event) {
        if (newer(event)) {
            s.passedOver++;
            return s;
        }
        var phase = s.phase;
        s = fold(s, event.data) || s;
        s.host = SALE.exec(event.streamId)[1];
        if (s.phase !== phase) {
            s.since = event.data.at;
        }
        pay(s, event);
        s.proofs.open = s.inner.duties.length;
        s.netEarning = sub(add(s.reward, s.repairReward), s.collateral.lost);
        s.lastEvent = { type: event.eventType, at: event.data.at, revision: event.sequenceNumber };
        return s;
    };
}

fromAll()
    .partitionBy(function (event) {
        return event.isJson && SALE.test(event.streamId) ? event.streamId : null;
    })
    .when({
        $init: nothing,

        // ------------------------------------------------------------- the way in

        SaleStarted: understood(function (s, said) {
            var fresh = nothing(); // Nothing of the last attempt is left.
            fresh.passedOver = s.passedOver;
            if (said.member) {
                fresh.member = said.member;
            }
            fresh.attempt = said.attempt || 0;
            fresh.slotId = said.slotId;
            fresh.slotIndex = said.slotIndex || "0";
            fresh.requestId = said.request.id;
            fresh.slotSize = said.request.slotSize || "0";
            fresh.repair = said.repair === true;
            fresh.adopted = said.adopted === true;
            fresh.startedAt = fresh.since = said.at;
            fresh.expiresAt = said.expiresAt || null;
            fresh.endsAt = said.endsAt || null;
            fresh.inner.failsOnPurpose = (said.failEveryNProofs || 0) > 0;
            fresh.phase = "Preparing";
            return fresh;
        }),

        CapacityReserved: understood(function (s, said) {
            s.availabilityId = said.availabilityId;
            s.reservationId = said.reservationId;
            s.collateral.committed = said.collateral;
            // A slot that was found on chain needs no reservation there.
            s.phase = s.adopted ? "Downloading" : "SlotReserving";
        }),

        SlotReserved: understood(function (s) {
            s.phase = "Downloading";
        }),

        SlotStored: understood(function (s, said) {
            delete s.damaged;
            s.storedBytes = said.bytes || "0";
            s.phase = "InitialProving";
        }),

        InitialProofMade: understood(function (s, said) {
            s.inner.proofMade = /[^0]/.test(said.proof.slice(2)); // A proof of zeros is none.
            s.phase = "Filling";
        }),

        InitialProofOutdated: understood(function (s) {
            s.inner.proofMade = false;
            s.phase = "InitialProving";
        }),

        SlotFilled: understood(function (s, said) {
            s.filledAt = said.filledAt || null;
            hold(s, said.collateral);
            if (said.repairReward) { // A fill that moved to another block took what it took.
                s.repairReward = said.repairReward;
            }
            s.collateral.lost = "0"; // Also what was lost before comes back with it.
            if (s.lastEvent.type === "DataDeleted") { // Of a request that has ended, only to be collected.
                s.inner.deleted = true;
            }
            s.reason = "";
            if (HOSTING.indexOf(s.phase) < 0) { // Otherwise the fill is in another block now, and no more.
                s.phase = "Filled";
            }
        }),

        FillReverted: understood(function (s) {
            s.adopted = false;
            s.filledAt = null;
            delete s.repairReward;
            letGo(s);
            lapse(s);
            s.reason = ""; // The end of the request may have been recorded.
            if (s.inner.deleted) {
                s.inner.deleted = s.inner.proofMade = false;
                s.storedBytes = "0";
            }
            if (s.inner.proofMade) {
                s.phase = "Filling";
            } else if (s.storedBytes !== "0") {
                s.phase = "InitialProving";
            } else {
                s.phase = s.reservationId ? "SlotReserving" : "Preparing";
            }
        }),

        // ---------------------------------------------------------------- hosting

        DataLifetimeExtended: understood(function (s) {
            s.phase = s.inner.failsOnPurpose ? "ProvingSimulated" : "Proving";
        }),

        RequestStarted: understood(function () {}),

        ProofDue: understood(function (s, said) {
            openDuty(s, said.period || "0");
        }),

        ProofSubmitted: understood(function (s, said) {
            closeDuty(s, said.period || "0");
            s.proofs.submitted++;
        }),

        ProofMissed: understood(function (s, said) {
            closeDuty(s, said.period || "0");
            s.proofs.missed++;
        }),

        SlotDamaged: understood(function (s, said) {
            var was = s.damaged || { blocks: [], whole: false };
            s.damaged = {
                blocks: was.blocks.concat(said.blocks || []).sort(function (a, b) { return Number(a) - Number(b); }),
                whole: was.whole || said.whole === true,
            };
        }),

        SlotRepaired: understood(function (s, said) {
            var was = s.damaged || { blocks: [], whole: false }, mended = said.blocks || [];
            s.damaged = {
                blocks: was.blocks.filter(function (b) { return mended.indexOf(b) < 0; }),
                whole: was.whole && said.whole !== true,
            };
            if (!s.damaged.whole && s.damaged.blocks.length === 0) {
                delete s.damaged;
            }
        }),

        ProofExcused: understood(function (s, said) {
            s.inner.excused = said.period || "0";
            s.proofs.excused += closeDuty(s, s.inner.excused);
        }),

        CollateralChecked: understood(read), // Of a record of before CollateralSlashed it may say slashed, too.

        CollateralSlashed: understood(read),

        // ---------------------------------------------------------------- the end

        RequestEnded: understood(function (s) {
            lapse(s);
            s.phase = "Payout";
        }),

        PayoutReceived: understood(function (s, said) {
            s.reward = said.reward;
            if (said.rewardRecipient) { // Otherwise the host itself got it.
                s.rewardRecipient = said.rewardRecipient;
            }
            letGo(s);
            s.collateral.returned = said.collateral;
            s.collateral.lost = atLeastZero(sub(s.collateral.committed, said.collateral));
            if (s.phase === "Payout") {
                s.phase = "Finished";
            }
        }),

        // Also an ignored slot may owe something: one that was found on chain.
        SaleIgnored: understood(function (s, said) { end(s, "Ignored", said.reason); }),

        SaleCancelled: understood(function (s, said) { end(s, "Cancelled", said.reason); }),

        SaleFailed: understood(function (s, said) { end(s, "Failed", said.reason); }),

        SlotDropped: understood(function (s) {
            lose(s);
            s.phase = "Errored";
        }),

        SlotForfeited: understood(function (s, said) {
            lose(s);
            end(s, "Errored", said.reason);
        }),

        SaleErrored: understood(function (s, said) { end(s, "Errored", said.error); }),

        DataDeleted: understood(function (s) {
            delete s.damaged;
        }),

        SaleSettled: understood(function (s, said) {
            s.collateral.returned = said.collateralReturned;
            s.collateral.lost = said.collateralLost;
            s.over = true;
        }),
    });
