// hostnode-aggregation, version 1
//
// What is made of the CARs of a host: which wait to be read, which pieces for an aggregate, and how the deals stand.
//
// Reads      the CARs, the ledger of pieces and the deals: content-<host>-<CAR CID>, cargo-<host>, deal-<host>-<aggregate>
// Partition  the host's address
// State      { host,
//              content_queue:   { <link>: { at, since, size, group, source, sources, retries } },
//              contents:        { accepted, refused, retried, refusedBy: { <code>: n },
//                                 latestRefused: [as in content_queue, with link, code, detail] },
//              cargo:           { <priority>: { piece, size, content, group, inserted, attempts, ferry, isolated } },
//              pieces:          { queued, aggregated, approved, refused },
//              aggregate_queue: { <aggregate>: { size, pieces, made } },
//              deal_pending:    { <aggregate>: { status, broker, size, deal, inserted, signed, processed,
//                                                bad, badPieces, reason, by, timesDoubted } },
//              deal_approved:   as deal_pending, deal_rejected: likewise,
//              inner, passedOver }
//
// The six with an underscore are the views of the pipeline: CARs to be read, queued pieces, aggregates without a deal,
// and the deals by status; PENDING and SIGNED ones are pending. Sort cargo by priority, final deals by processed, and
// the others by since, made and inserted. contents counts how often a CAR was accepted, refused or read once more, and
// has the newest 1,000 that were refused, the oldest first; pieces counts the pieces by where they are. ferry is the
// list on which a piece travels, isolated says that it is suspected and tried with few others. bad are the first 100
// bad pieces, badPieces is how many there are. inner has what is needed to go on: the pieces that are in aggregates
// without an outcome, the lists, and which deals there are.
//
// The whole state is one partition of a host, and a server takes 16 MiB: some 50,000 CARs and pieces under way. A host
// that has more is looked at with the built-in views (hostnode aggregation queue). passedOver counts the events that a
// newer version of hostnode wrote. Sizes are decimal strings. What is not known is null here, or left out.

// with shared/events.js

// STREAM finds the host, and the CAR or the aggregate.
var STREAM = /^(?:content|cargo|deal)-(0x[0-9a-f]{40})(?:-([a-z2-7]{61,64}))?$/;
var ABOUT = { content: /^bagbaiera.{52}$/, cargo: /^$/, deal: /^baga6ea4seaq.{52}$/ };

// understood does for every event what is the same for all, and passes those of a newer schema over.
function understood(fold) {
    return function (s, event) {
        var name = STREAM.exec(event.streamId);
        s.host = name[1];
        if (newer(event)) {
            s.passedOver++;
        } else {
            fold(s, event.data, name[2]);
        }
        return s;
    };
}

function whole(said) {
    return (said.part || 0) === (said.parts || 0);
}

// ------------------------------------------------------------ CARs

// settled takes a CAR from the queue.
function settled(s, link) {
    var c = s.content_queue[link] || { sources: 0, retries: 0 };
    delete s.content_queue[link];
    return c;
}

// ------------------------------------------------------------ pieces

// under is a piece that is queued or in an aggregate.
function under(s, priority) { return s.cargo[priority] || s.inner.aggregated[priority]; }

// move has a piece in another place: queued, aggregated, approved or refused.
function move(s, priority, to, ferry) {
    var p = under(s, priority);
    if (p) {
        s.pieces[s.cargo[priority] ? "queued" : "aggregated"]--;
        s.pieces[to]++;
        delete s.cargo[priority];
        delete s.inner.aggregated[priority];
        p.ferry = ferry;
        if (to === "queued") {
            s.cargo[priority] = p;
        } else if (to === "aggregated") {
            s.inner.aggregated[priority] = p;
        }
    }
}

// gather adds a part of a list to those before it, and returns all with the last one.
function gather(s, where, said, part) {
    s.inner[where] = said.part > 1 ? s.inner[where].concat(part || []) : part || [];
    if (!whole(said)) {
        return null;
    }
    part = s.inner[where];
    s.inner[where] = [];
    return part;
}

// board has pieces on a new ferry.
function board(s, said, pieces) {
    s.inner.ferries[said.ferry] = { size: said.class, pieces };
    pieces.forEach(function (n) { move(s, n, said.full ? "aggregated" : "queued", said.ferry); });
}

// leave takes pieces from the ferries that they are on; all others of these are queued without one.
function leave(s, pieces) {
    pieces.forEach(function (n) {
        var id = s.cargo[n] ? s.cargo[n].ferry : "", f = s.inner.ferries[id];
        if (f) {
            delete s.inner.ferries[id];
            f.pieces.forEach(function (other) { move(s, other, "queued", ""); });
        }
    });
}

// ended takes an aggregate that has an outcome from the lists, and returns it.
function ended(s, aggregate) {
    var id = s.inner.aggregates[aggregate], f = s.inner.ferries[id];
    delete s.inner.aggregates[aggregate];
    delete s.inner.ferries[id];
    delete s.aggregate_queue[aggregate];
    return f || { pieces: [] };
}

// ------------------------------------------------------------ deals

var PLACES = { PENDING: "deal_pending", SIGNED: "deal_pending", APPROVED: "deal_approved", REJECTED: "deal_rejected" };

// about changes a deal.
function about(change) {
    return understood(function (s, said, aggregate) {
        var place = s.inner.deals[aggregate], d = place && s[place][aggregate];
        if (!d) { // It was not offered.
            s.passedOver++;
            return;
        }
        change(d, said);
        if (said.deal) {
            d.deal = said.deal;
        }
        delete s[place][aggregate];
        s.inner.deals[aggregate] = PLACES[d.status];
        s[PLACES[d.status]][aggregate] = d;
    });
}

fromAll()
    .partitionBy(function (event) {
        var name = event.isJson && STREAM.exec(event.streamId);
        return name && ABOUT[name[0].split("-")[0]].test(name[2] || "") ? name[1] : null;
    })
    .when({
        $init: function () {
            return {
                host: "", content_queue: {}, cargo: {}, aggregate_queue: {}, deal_pending: {}, deal_approved: {},
                deal_rejected: {}, contents: { accepted: 0, refused: 0, retried: 0, refusedBy: {}, latestRefused: [] },
                pieces: { queued: 0, aggregated: 0, approved: 0, refused: 0 },
                inner: { aggregated: {}, ferries: {}, aggregates: {}, deals: {}, loading: [], rejecting: [] },
                passedOver: 0,
            };
        },

        ContentRequested: understood(function (s, said, link) {
            s.content_queue[link] = {
                at: said.at, since: said.at, size: said.size, group: said.group || "", source: said.source, sources: 1,
                retries: 0,
            };
        }),
        ContentSourceAdded: understood(function (s, said, link) {
            var c = s.content_queue[link];
            if (c) {
                c.source = said.source;
                c.sources++;
            }
        }),
        ContentAccepted: understood(function (s, said, link) {
            settled(s, link);
            s.contents.accepted++;
        }),
        ContentRefused: understood(function (s, said, link) {
            var known = { link, code: said.code || "", detail: said.detail || "" }, all = s.contents;
            all.latestRefused = all.latestRefused.concat(Object.assign(settled(s, link), known, { since: said.at }));
            all.latestRefused = all.latestRefused.slice(-1000);
            all.refused++;
            all.refusedBy[known.code] = (all.refusedBy[known.code] || 0) + 1;
        }),
        ContentRetried: understood(function (s, said, link) {
            var c = settled(s, link), all = s.contents;
            all.latestRefused = all.latestRefused.filter(function (known) {
                c = known.link === link ? known : c;
                return known.link !== link;
            });
            ["link", "code", "detail"].forEach(function (key) { delete c[key]; });
            s.content_queue[link] = Object.assign(c, { since: said.at, retries: c.retries + 1 });
            all.retried++;
        }),

        PackingSet: understood(function () {}),
        PieceQueued: understood(function (s, said) {
            s.cargo[said.priority] = {
                piece: said.piece, size: said.size, content: said.content, group: said.group || "", inserted: said.at,
                attempts: 0, ferry: "", isolated: false,
            };
            s.pieces.queued++;
        }),
        FerryLoaded: understood(function (s, said) {
            var list = gather(s, "loading", said, said.pieces);
            if (list) {
                leave(s, list);
                board(s, said, list);
            }
        }),
        FerriesMerged: understood(function (s, said) {
            var list = said.from.flatMap(function (id) {
                var f = s.inner.ferries[id];
                delete s.inner.ferries[id];
                return f ? f.pieces : [];
            });
            board(s, said, list);
        }),
        AggregateMade: understood(function (s, said) {
            var f = s.inner.ferries[said.ferry];
            s.inner.aggregates[said.aggregate] = said.ferry;
            if (f && !s.inner.deals[said.aggregate]) {
                s.aggregate_queue[said.aggregate] = { size: f.size, pieces: f.pieces.length, made: said.at };
            }
        }),
        AggregateApproved: understood(function (s, said) {
            ended(s, said.aggregate).pieces.forEach(function (n) { move(s, n, "approved"); });
        }),
        AggregateRejected: understood(function (s, said) {
            var bad = gather(s, "rejecting", said, said.bad);
            var pieces = bad ? ended(s, said.aggregate).pieces : [];
            bad = said.isolate && pieces.length === 1 ? pieces : bad;
            pieces.forEach(function (n) {
                var p = under(s, n), nobody = !bad.length;
                p.attempts += nobody ? 1 : 0;
                p.isolated = nobody && !!said.isolate;
                move(s, n, bad.includes(n) ? "refused" : "queued", "");
            });
        }),
        PieceRefused: understood(function (s, said) {
            leave(s, [said.priority]);
            move(s, said.priority, "refused", "");
        }),
        CopiesReleased: understood(function () {}),

        DealOffered: understood(function (s, said, aggregate) {
            var before = s.deal_pending[aggregate]; // With another broker.
            delete s.aggregate_queue[aggregate];
            s.inner.deals[aggregate] = "deal_pending";
            s.deal_pending[aggregate] = {
                status: "PENDING", broker: said.broker || "", size: said.size, deal: "", inserted: said.at, signed: null,
                processed: null, bad: [], badPieces: 0, reason: "", by: "",
                timesDoubted: before ? before.timesDoubted : 0,
            };
        }),
        DealSigned: about(function (d, said) { Object.assign(d, { status: "SIGNED", signed: said.at }); }),
        DealApproved: about(function (d, said) {
            Object.assign(d, { status: "APPROVED", processed: said.at, bad: [], badPieces: 0 });
        }),
        DealRejected: about(function (d, said) {
            var before = said.part > 1, bad = said.bad || [];
            d.bad = (before ? d.bad : []).concat(bad).slice(0, 100);
            d.badPieces = (before ? d.badPieces : 0) + bad.length;
            if (whole(said)) {
                Object.assign(d, {
                    status: "REJECTED", processed: said.at, reason: said.reason || "", by: said.by || "",
                });
            }
        }),
        DealDoubted: about(function (d) { d.timesDoubted++; }),
    });
