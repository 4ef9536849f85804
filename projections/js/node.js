// hostnode-node, version 1
//
// How one of the nodes that a host watches stands: since when, by which windows, who decided it, and why.
//
// Reads      the nodes: the streams node-<host>-<node>
// Partition  the name of the stream; a node is the name of a member, or an address
// State      { host, node, status, since, reviewSince, proposed, held,
//              rules:       as NodeRules in messages.proto,
//              windows:     [{ start, seconds, online, offline, result, sources,
//                              audits: { <id>: { version, source, outcome } } }],
//              voids:       [{ at, from, until, reason, all }],
//              maintenance: { at, from, until, by, reason },
//              verdicts:    [{ at, what, by, reason,
//                              score: { ruleSet, offline, windows, void, value, limit, from, until } }],
//              passedOver }
//
// status is active, suspended, disqualified or exited. windows are all that are kept, the oldest first: online and
// offline are the audits that count, result is online, offline, both, none or void, sources are proof, loss, probe or
// member. voids are the times in which windows do not count. verdicts are the newest 100, the oldest first; of one that
// a person decided, score is null. held: a person suspended the node; proposed: a person is asked to disqualify it.
// maintenance is the newest that was announced, even if it is over.
//
// What the two sets of rules say of the windows, how near a suspension is and until when a node must be back is not
// here, because it depends on when one asks: it is in the built-in view (hostnode nodes show).
// passedOver counts the events that a newer version of hostnode wrote. Points in time are of the watcher's clock. An
// event leaves out a field that is zero, false or empty, and so do rules, voids and maintenance; what is not known is
// null here.

// with shared/events.js

var NODE = /^node-(0x[0-9a-f]{40})-(0x[0-9a-f]{40}|[a-z0-9][a-z0-9-]{0,39})$/;
var STATUS = {
    NodeJoined: "active", NodeSuspended: "suspended", NodeReinstated: "active",
    NodeDisqualified: "disqualified", NodeExited: "exited",
};

function seconds(at) { return Date.parse(at.slice(0, 19) + "Z") / 1000; }

// exact is a point in time that compares as text.
function exact(at) { return at.slice(0, 19) + ((at.slice(19, -1) || ".") + "000000000").slice(0, 10); }

// understood does for every event what is the same for all, and passes those of a newer schema over.
function understood(fold) {
    return function (s, event) {
        var said = event.data, to = STATUS[event.eventType];
        [, s.host, s.node] = NODE.exec(event.streamId);
        if (newer(event)) {
            s.passedOver++;
            return s;
        }
        if (to && to !== s.status) { // A person who holds a suspension does not move its clock.
            Object.assign(s, { status: to, since: said.at, proposed: false, held: false });
        }
        fold(s, said, event.eventType);
        return s;
    };
}

// verdict notes what was decided, and does what follows.
function verdict(then) {
    return understood(function (s, said, type) {
        s.verdicts = s.verdicts.concat({
            at: said.at, what: type, by: said.by || "", reason: said.reason || "",
            score: said.verdict ? Object.assign({ offline: 0, windows: 0, void: 0, limit: 0 }, said.verdict) : null,
        }).slice(-100);
        then(s, said);
    });
}

// count counts the audits of a window.
function count(s, w) {
    var end = seconds(w.start) + w.seconds, audits = Object.values(w.audits);
    var voids = s.voids.filter(function (v) { return seconds(v.from) < end && exact(v.until) > exact(w.start); });
    var all = voids.some(function (v) { return v.all; });
    var heard = audits.filter(function (a) { return a.outcome !== "withdrawn"; });
    var valid = heard.filter(function (a) { return !voids.length || !all && /^(proof|loss)$/.test(a.source); });
    w.online = valid.filter(function (a) { return a.outcome === "online"; }).length;
    w.offline = valid.length - w.online;
    w.result = !valid.length ? (heard.length ? "void" : "none") : !w.offline ? "online" : w.online ? "both" : "offline";
    w.sources = Array.from(new Set(audits.map(function (a) { return a.source; }))).sort();
}

// cleanup forgets the windows that are kept no longer, and the voids before them; then it counts the others again.
function cleanup(s, at) {
    var length = Number(s.rules.windowSeconds), kept = Math.max(s.rules.trackingSeconds, s.rules.retentionSeconds || 0);
    var bound = Math.floor(seconds(at) / length) * length - kept;
    s.voids = s.voids.filter(function (v) { return seconds(v.until) >= bound; });
    s.windows = s.windows.filter(function (w) { return seconds(w.start) >= bound; });
    s.windows.forEach(function (w) { count(s, w); });
}

// audited adds audits to a window: each counts once, in its highest version.
var audited = understood(function (s, said) {
    var w = s.windows.find(function (w) { return w.start === said.start; });
    w = w || { start: said.start, seconds: Number(said.lengthSeconds), audits: {} };
    s.windows = Array.from(new Set(s.windows).add(w)).sort(function (a, b) { return a.start < b.start ? -1 : 1; });
    (said.audits || []).forEach(function (a) {
        var had = w.audits[a.id], version = a.version || 0;
        w.audits[a.id] = had && had.version >= version ? had : { version, source: a.source, outcome: a.outcome };
    });
    cleanup(s, said.at);
});

var voided = understood(function (s, said) {
    s.voids = s.voids.filter(function (v) {
        return v.from !== said.from || v.until !== said.until || !v.all !== !said.all;
    }).concat(said.lifted ? [] : said);
    cleanup(s, said.at);
});

fromAll()
    .partitionBy(function (event) { return event.isJson && NODE.test(event.streamId) ? event.streamId : null; })
    .when({
        $init: function () {
            return {
                host: "", node: "", status: "unknown", since: null, reviewSince: null, proposed: false, held: false,
                rules: {}, windows: [], voids: [], maintenance: null, verdicts: [], passedOver: 0,
            };
        },

        NodeJoined: understood(function (s, said) { s.rules = said.rules; }),
        NodeRulesChanged: understood(function (s, said) { s.rules = said.rules; }),
        NodeExited: understood(function () {}),

        WindowClosed: audited,
        WindowRevised: audited,
        WindowsVoided: voided,

        NodeSuspended: verdict(function (s, said) { s.held = !!said.by; }),
        NodeReinstated: verdict(function (s, said) { s.reviewSince = said.by ? null : s.reviewSince; }),
        NodeDisqualified: verdict(function (s) { s.reviewSince = null; }),
        DisqualificationProposed: verdict(function (s) { s.proposed = true; }),
        ReviewStarted: verdict(function (s) { s.reviewSince = s.since; }),
        ReviewEnded: verdict(function (s) { s.reviewSince = null; }),

        MaintenanceAnnounced: understood(function (s, said) { s.maintenance = said; }),
    });
