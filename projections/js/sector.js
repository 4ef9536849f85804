// hostnode-sector, version 1
//
// How one sector of a host stands: where it is, what runs or why nothing does, and what can be done.
//
// Reads      the sectors: the streams sector-<host>-<n>
// Partition  the name of the stream; hostnode-sectors lists the numbers of those that need somebody
// State      { Host, SectorNumber, State, Since, StartedAt, Size, Pieces, Pending,
//              TicketValue, TicketEpoch, PreCommit1OutBytes, CommD, CommR, Proves, PreCommitMessage,
//              SeedValue, SeedEpoch, ProofBytes, CommitMessage, InvalidProofs,
//              FaultReportMsg, RecoveryMsg, TerminateMsg, LastErr, Bleeds, OnChain, Over,
//              Step, Attempt, PausedUntil, Outage, Parked, Actions, ForcedBy, Wanted,
//              Steps:     [{ Step, Attempts, Last, Total }] (seconds),
//              DepositReturned, DepositLost,
//              LastEvent: { type, at, revision },
//              inner, passedOver }
//
// State and the fields behind it are named as the SectorInfo of storage providers; State is one of
// docs/sectors.md. Step is what runs; PausedUntil is when what failed, or was away (Outage), is tried again;
// OnChain: the contract has it and expects its proofs, as it said last; Bleeds: and nobody proves, mends or ends it.
// Parked is why nothing is done until somebody does one of the Actions. Over says that nothing is left to do
// and nothing is held. What the ledger holds for the sector is in hostnode-availability (holders). Of a proof,
// and of the first half of sealing, the length is here; the stream has the bytes.
// inner is what the fold needs and nobody else. passedOver counts the events that a newer version of
// hostnode wrote.
//
// Sizes (bytes), epochs and amounts (token base units) are decimal strings, because they do not fit into
// JavaScript's numbers. Points in time are of the host's clock. An event leaves out a field that is zero,
// false or empty; what is not known is null here.

// with shared/events.js
// with shared/sectors.js

function nothing() {
    return {
        Host: "", SectorNumber: "0", State: "", Since: null, StartedAt: null, Size: "0", Pieces: [], Pending: [],
        TicketValue: null, TicketEpoch: null, PreCommit1OutBytes: 0, CommD: null, CommR: null,
        Proves: "", PreCommitMessage: null, SeedValue: null, SeedEpoch: null, ProofBytes: 0, CommitMessage: null,
        InvalidProofs: 0, FaultReportMsg: null, RecoveryMsg: null, TerminateMsg: null, LastErr: "",
        Bleeds: false, OnChain: false, Over: false,
        Step: "", Attempt: 0, PausedUntil: null, Outage: false, Parked: "", Actions: [], ForcedBy: "", Wanted: "",
        Steps: [], DepositReturned: "0", DepositLost: "0",
        LastEvent: null,
        inner: {
            key: "", began: "0", // of the step that runs; nanoseconds
            pausing: "",         // the step that a pause holds up
            took: {},            // nanoseconds of each step, in all its attempts
            released: false, settled: false,
        },
        passedOver: 0,
    };
}

function piece(p) { return { PieceCID: p.cid || "", Size: p.size || "0", Payload: p.payload || "0" }; }
function pieces(list) { return (list || []).map(piece); }
function bytes(hex) { return hex ? (hex.length - 2) / 2 : 0; }
function hash(h) { return h && /[^0]/.test(h.slice(2)) ? h : null; } // One of zeros is none.
function epoch(n) { return n && n !== "0" ? n : null; }

// nanos are the nanoseconds of a point in time, which Date has not.
function nanos(at) {
    var parts = /^(.{19})(?:\.([0-9]+))?Z$/.exec(at);
    var fraction = ((parts[2] || "") + "000000000").slice(0, 9);
    return BigInt(Date.parse(parts[1] + "Z")) * BigInt(1000000) + BigInt(fraction);
}

function seconds(n) {
    var second = BigInt(1000000000);
    return Number(n / second) + Number(n % second) / 1e9;
}

function stop(s) {
    s.Step = s.inner.key = "";
    s.Attempt = 0;
}

function wake(s) {
    s.PausedUntil = null;
    s.Outage = false;
    s.Parked = s.inner.pausing = "";
    s.Actions = [];
}

// did ends a step of the books, and the pause that holds it up; another goes on.
function did(s, step) {
    if (s.Step === step || s.inner.pausing === step) {
        stop(s);
        wake(s);
    }
}

function timesOf(s, step) {
    for (var i = 0; i < s.Steps.length; i++) {
        if (s.Steps[i].Step === step) {
            return s.Steps[i];
        }
    }
    var fresh = { Step: step, Attempts: 0, Last: 0, Total: 0 };
    s.Steps.push(fresh);
    s.Steps.sort(function (a, b) { return a.Step < b.Step ? -1 : 1; });
    return fresh;
}

// clock adds up how long a step took that does not run any more.
function clock(s, step, key, began, at) {
    if (key === "" || s.inner.key === key) {
        return;
    }
    var took = nanos(at) - BigInt(began), times = timesOf(s, step);
    if (took < BigInt(0)) {
        took = BigInt(0);
    }
    s.inner.took[step] = (BigInt(s.inner.took[step] || 0) + took).toString();
    times.Last = seconds(took);
    times.Total = seconds(BigInt(s.inner.took[step]));
}

// understood does for every event what is the same for all, and passes those of a newer schema over.
function understood(fold) {
    return function (s, event) {
        if (newer(event)) {
            s.passedOver++;
            return s;
        }
        var name = SECTOR.exec(event.streamId), said = event.data;
        var state = s.State, step = s.Step, key = s.inner.key, began = s.inner.began;
        s.Host = name[1];
        s.SectorNumber = name[2];
        fold(s, said, event.eventType);
        clock(s, step, key, began, said.at);
        if (s.State !== state) {
            s.Since = said.at;
        }
        s.OnChain = expects(s.OnChain, event.eventType);
        s.Bleeds = s.OnChain && !ATTENDED[s.State];
        s.Over = s.State === "Removed" && s.inner.released && s.inner.settled;
        s.LastEvent = { type: event.eventType, at: said.at, revision: event.sequenceNumber };
        return s;
    };
}

// moving is for the events of the table: what they carry, and then the state that they lead to.
function moving(write) {
    return understood(function (s, said, type) {
        if (write) {
            write(s, said);
        }
        if (s.State === "AddPiece" && (type === "SectorAddPiece" || type === "SectorStartPacking")) {
            return; // It is noted, while a piece is under way.
        }
        s.State = next(s.State, type, said);
        stop(s);
        wake(s);
        s.ForcedBy = "";
        if (type === "SectorForceState") {
            s.ForcedBy = said.by || "";
            s.LastErr = "";
        } else if (/Failed$/.test(s.State)) {
            s.LastErr = said.reason || "";
        } else if (s.State === "Proving") {
            s.LastErr = "";
        }
    });
}

function begin(s, said) {
    s.SectorNumber = said.sector;
    s.StartedAt = said.at;
    s.Size = said.size;
    s.Pending = s.Pending.concat(pieces(said.pieces));
}

function sealAgain(s) {
    s.TicketValue = s.TicketEpoch = s.CommD = s.CommR = s.SeedValue = s.SeedEpoch = null;
    s.PreCommit1OutBytes = s.ProofBytes = 0;
    s.Proves = "";
}

// without are pieces without the one that is left out.
function without(list, cid) { return list.filter(function (p) { return p.PieceCID !== cid; }); }

function message(field) { return moving(function (s, said) { s[field] = hash(said.message); }); }

var handlers = {
    $init: nothing,

    // ------------------------------------------------------------ pieces

    SectorStart: moving(begin),
    SectorStartEmpty: moving(begin),
    SectorAddPiece: moving(function (s, said) { s.Pending.push(piece(said.piece)); }),
    SectorPieceAdded: moving(function (s) { s.Pieces = s.Pieces.concat(s.Pending.splice(0, 1)); }),
    SectorPacked: moving(function (s, said) {
        s.Pieces = s.Pieces.concat(s.Pending, pieces(said.fillers));
        s.Pending = [];
    }),
    SectorRetryWaitDeals: moving(function (s, said) { s.Pending = without(s.Pending, said.dropped); }),
    SectorRetryPacking: moving(function (s, said) {
        s.Pending = without(s.Pieces.concat(s.Pending), said.dropped).filter(function (p) { return p.Payload !== "0"; });
        s.Pieces = [];
    }),

    // ----------------------------------------------------------- sealing

    SectorTicket: moving(function (s, said) {
        s.TicketValue = hash(said.value);
        s.TicketEpoch = epoch(said.epoch);
    }),
    SectorOldTicket: moving(sealAgain),
    SectorPreCommit1: moving(function (s, said) { s.PreCommit1OutBytes = bytes(said.out); }),
    SectorPreCommit2: moving(function (s, said) {
        s.CommD = hash(said.commD);
        s.CommR = hash(said.commR);
        s.Proves = said.proves || "";
    }),
    SectorSealPreCommitFailed: moving(function (s) {
        if (s.State !== "Committing") {
            s.InvalidProofs = 0;
        }
    }),
    SectorRetrySeal: moving(sealAgain),
    SectorPreCommitted: message("PreCommitMessage"),
    SectorSeedReady: moving(function (s, said) {
        s.SeedValue = hash(said.value);
        s.SeedEpoch = epoch(said.epoch);
        s.ProofBytes = 0;
    }),
    SectorProofReady: moving(function (s, said) { s.ProofBytes = bytes(said.proof); }),
    SectorRetryInvalidProof: moving(function (s) {
        s.InvalidProofs++;
        s.ProofBytes = 0;
    }),
    SectorCommitted: message("CommitMessage"),
    SectorProving: moving(function (s) { s.InvalidProofs = 0; }),

    // ------------------------------------------------- faults and the end

    SectorFaultReported: message("FaultReportMsg"),
    SectorRecoveryDeclared: message("RecoveryMsg"),
    SectorTerminate: moving(function (s, said) { s.Wanted = (said.by || "") + ": " + (said.reason || ""); }),
    SectorTerminating: message("TerminateMsg"),
    SectorRemove: moving(function (s, said) { s.Wanted = (said.by || "") + ": " + (said.reason || ""); }),
    SectorForceState: moving(),

    // -------------------------------------------------------------- steps

    SectorStepScheduled: understood(function (s, said) {
        wake(s);
        s.Step = said.step;
        s.Attempt = said.attempt;
        s.inner.key = said.key;
        s.inner.began = nanos(said.at).toString();
        timesOf(s, said.step).Attempts = said.attempt;
    }),
    SectorRetryScheduled: understood(function (s, said) {
        stop(s);
        s.PausedUntil = said.until;
        s.Outage = said.outage === true;
        s.LastErr = said.reason || "";
        s.inner.pausing = said.step || "";
    }),
    SectorParked: understood(function (s, said) {
        stop(s);
        s.PausedUntil = null;
        s.Parked = said.reason || "";
        s.Actions = said.actions || [];
    }),
    SectorRestart: understood(wake),
    SectorFatalError: understood(function (s, said) {
        stop(s);
        s.LastErr = said.reason || "";
    }),
    SectorEventRefused: understood(function () {}),

    // ---------------------------------------------------- space and deposit

    SectorOpened: understood(function (s) {
        s.inner.released = s.inner.settled = false;
        did(s, "OpenSpace");
    }),
    SectorReleased: understood(function (s) {
        s.inner.released = s.State === "Removed";
        did(s, s.inner.released ? "ReleaseSpace" : "ReleaseScratch");
    }),
    SectorSettled: understood(function (s, said) {
        s.inner.settled = s.State === "Removed"; // Else it is about a precommit that was void.
        s.DepositReturned = said.returned || "0";
        s.DepositLost = said.lost || "0";
        did(s, "Settle");
    }),
};
for (var type in TO) { // The others carry nothing that is noted here.
    handlers[type] = handlers[type] || moving();
}

fromAll()
    .partitionBy(function (event) {
        return event.isJson && SECTOR.test(event.streamId) ? event.streamId : null;
    })
    .when(handlers);
