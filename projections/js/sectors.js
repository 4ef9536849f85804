// hostnode-sectors, version 1
//
// How many sectors of each host are in each state, and which of them need somebody, or time.
//
// Reads      the sectors: the streams sector-<host>-<n>
// Partition  the host's address, such as 0xaabb000000000000000000000000000000000000
// State      { host,
//              counts: { <state>: <number of sectors> },
//              parked, paused,
//              bleeding: { <sector number>: <state> },
//              waiting: { <sector number>: { State, Parked, Actions } of a parked one,
//                                          { State, PausedUntil, Outage, LastErr } of a paused one },
//              inner, passedOver }
//
// bleeding are those that the contract has and nobody proves, mends or ends: they lose their deposit, and come first.
// parked are those for which nothing is done until somebody does one of the Actions; paused those that
// failed, or waited for something that was away (Outage), and are tried again. All of a sector is in
// hostnode-sector. Points in time are of the host's clock.
// inner has the state of each sector. passedOver counts the events that a newer version of hostnode wrote.

// with shared/events.js
// with shared/sectors.js

// understood does for every event what is the same for all, and passes those of a newer schema over.
function understood(fold) {
    return function (s, event) {
        var name = SECTOR.exec(event.streamId);
        s.host = name[1];
        if (newer(event)) {
            s.passedOver++;
            return s;
        }
        var number = name[2];
        if (s.inner.states[number] === undefined) {
            enter(s, number, "");
        }
        fold(s, number, event.data, event.eventType);
        s.inner.onChain[number] = expects(s.inner.onChain[number] === true, event.eventType);
        delete s.bleeding[number];
        if (s.inner.onChain[number] && !ATTENDED[s.inner.states[number]]) {
            s.bleeding[number] = s.inner.states[number];
        }
        return s;
    };
}

function enter(s, number, state) {
    var was = s.inner.states[number];
    if (was !== undefined && --s.counts[was] === 0) {
        delete s.counts[was];
    }
    s.inner.states[number] = state;
    s.counts[state] = (s.counts[state] || 0) + 1;
}

// wake ends what a sector waits for.
function wake(s, number) {
    var waits = s.waiting[number];
    if (waits) {
        s[waits.PausedUntil ? "paused" : "parked"]--;
        delete s.waiting[number];
        delete s.inner.pausing[number];
    }
}

// move is what the events of the table do.
var move = understood(function (s, number, said, type) {
    var state = s.inner.states[number];
    if (state === "AddPiece" && (type === "SectorAddPiece" || type === "SectorStartPacking")) {
        return; // It is noted, while a piece is under way.
    }
    enter(s, number, next(state, type, said));
    wake(s, number);
});

// books are what the ledger did; it ends the pause of the step that was to ask for it.
function books(step) {
    return understood(function (s, number) {
        var due = step || (s.inner.states[number] === "Removed" ? "ReleaseSpace" : "ReleaseScratch");
        if (s.inner.pausing[number] === due) {
            wake(s, number);
        }
    });
}

var unchanged = understood(function () {});

var handlers = {
    $init: function () {
        return {
            host: "", counts: {}, parked: 0, paused: 0, bleeding: {}, waiting: {},
            inner: { states: {}, onChain: {}, pausing: {} }, // pausing: the step that a pause holds up
            passedOver: 0,
        };
    },

    SectorStepScheduled: understood(wake),
    SectorRestart: understood(wake),
    SectorRetryScheduled: understood(function (s, number, said) {
        wake(s, number);
        s.waiting[number] = {
            State: s.inner.states[number], PausedUntil: said.until, Outage: said.outage === true,
            LastErr: said.reason || "",
        };
        s.inner.pausing[number] = said.step || "";
        s.paused++;
    }),
    SectorParked: understood(function (s, number, said) {
        wake(s, number);
        s.waiting[number] = {
            State: s.inner.states[number], Parked: said.reason || "", Actions: said.actions || [],
        };
        s.parked++;
    }),

    SectorOpened: books("OpenSpace"),
    SectorReleased: books(),
    SectorSettled: books("Settle"),

    SectorFatalError: unchanged,
    SectorEventRefused: unchanged,
    SectorForceState: move,
};
for (var type in TO) {
    handlers[type] = move;
}

fromAll()
    .partitionBy(function (event) {
        var sector = event.isJson ? SECTOR.exec(event.streamId) : null;
        return sector ? sector[1] : null; // An event without a partition is not looked at.
    })
    .when(handlers);
