var LEDGER = /^capacity-(0x[0-9a-f]{40})(?:-([a-z0-9][a-z0-9-]{0,39}))?$/;

// understood passes events of a newer schema over; so it does with those for which fold says false,
// because they contradict the ledger.
function understood(fold) {
    return function (s, event) {
        var ledger = LEDGER.exec(event.streamId);
        s.host = ledger[1];
        if (ledger[2]) {
            s.member = ledger[2];
        }
        if (newer(event) || fold(s, event.data) === false) {
            s.passedOver++;
        }
        return s;
    };
}
