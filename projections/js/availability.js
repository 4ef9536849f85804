// hostnode-availability, version 4
//
// What each host has on offer, and where every byte of its quota is.
//
// Reads      the ledgers: the streams capacity-<host>, and capacity-<host>-<member> of a host of several members
// Partition  the host's address, such as 0xaabb000000000000000000000000000000000000; for the ledger of a further
//            member with its name after a dash. What the host has in all is the sum of its ledgers.
// State      { host, member (of such a ledger),
//              quota, unallocated, free, reserved, stored, overhead, sectors, pieces,
//              deposits: { held, returned, lost, withdrawn },
//              availabilities: { <availability id>: {
//                id, enabled, totalSize, usedSize, freeSize, durationSeconds, minPricePerBytePerSecond,
//                totalCollateral, committedCollateral, lostCollateral, remainingCollateral,
//                until, reservations } },
//              reservations: { <reservation id>: {
//                availabilityId, bytes, stored, overhead, collateral } },
//              holders: { <sector number>: { unsealed, sealed, tree, scratch, deposit, lost } },
//              pieceFiles: { <piece CID>: bytes },
//              withdrawals, passedOver }
//
// The places of the second line always add up to the quota. pieces and pieceFiles are there while a piece
// is held. holders are the sectors that have bytes
// or a deposit; withdrawals are how often their contract has paid. reservations are the open ones; what
// else there is to say about one is in hostnode-reservation. passedOver counts the events that contradict
// the ledger or that a newer version of hostnode wrote: they change nothing here.
//
// Sizes (bytes), durations (seconds) and amounts (token base units) are decimal strings, because they do
// not fit into JavaScript's numbers; all sums are made with BigInt. An event leaves out a field that is
// zero, false or empty.

// with shared/events.js
// with shared/ledger.js

function sum(h) { return add(add(h.unsealed, h.sealed), add(h.tree, h.scratch)); }

// move is the only way that bytes change their place.
function move(s, from, to, bytes) {
    s[from] = sub(s[from], bytes);
    s[to] = add(s[to], bytes);
}

// offer sets what the operator says of an availability.
function offer(a, said) {
    a.enabled = said.enabled === true;
    a.totalSize = said.totalSize || "0";
    a.durationSeconds = said.durationSeconds || "0";
    a.minPricePerBytePerSecond = said.minPricePerBytePerSecond;
    a.totalCollateral = said.totalCollateral;
    a.until = said.until || null; // null: no end
    return derive(a);
}

// derive sets what follows from the rest of an availability.
function derive(a) {
    a.freeSize = atLeastZero(sub(a.totalSize, a.usedSize));
    a.remainingCollateral = atLeastZero(
        sub(atLeastZero(sub(a.totalCollateral, a.committedCollateral)), a.lostCollateral));
    return a;
}

// endHolder lets a sector go that holds nothing any more.
function endHolder(s, number) {
    var h = s.holders[number];
    if (sum(h) === "0" && h.deposit === "0") {
        delete s.holders[number];
    }
}

fromAll()
    .partitionBy(function (event) {
        var ledger = event.isJson ? LEDGER.exec(event.streamId) : null;
        return ledger ? event.streamId.slice("capacity-".length) : null; // An event without a partition is not looked at.
    })
    .when({
        $init: function () {
            return {
                host: "",
                quota: "0", unallocated: "0", free: "0", reserved: "0", stored: "0", overhead: "0",
                sectors: "0", deposits: { held: "0", returned: "0", lost: "0", withdrawn: "0" },
                availabilities: {}, reservations: {}, holders: {}, withdrawals: "0", passedOver: 0,
            };
        },

        QuotaSet: understood(function (s, said) {
            s.unallocated = add(s.unallocated, sub(said.bytes, s.quota));
            s.quota = said.bytes || "0";
        }),

        AvailabilityCreated: understood(function (s, said) {
            if (s.availabilities[said.availabilityId]) {
                return false;
            }
            s.availabilities[said.availabilityId] = offer({
                id: said.availabilityId, usedSize: "0", committedCollateral: "0", lostCollateral: "0", reservations: 0,
            }, said);
            move(s, "unallocated", "free", said.totalSize);
        }),

        AvailabilityUpdated: understood(function (s, said) {
            var a = s.availabilities[said.availabilityId];
            if (!a) {
                return false;
            }
            move(s, "unallocated", "free", sub(said.totalSize, a.totalSize));
            offer(a, said);
        }),

        AvailabilityDeleted: understood(function (s, said) {
            var a = s.availabilities[said.availabilityId];
            if (!a || a.reservations > 0) {
                return false;
            }
            delete s.availabilities[said.availabilityId];
            move(s, "free", "unallocated", a.totalSize);
        }),

        ReservationCreated: understood(function (s, said) {
            var a = s.availabilities[said.availabilityId];
            if (!a || s.reservations[said.reservationId]) {
                return false;
            }
            s.reservations[said.reservationId] = {
                availabilityId: said.availabilityId, bytes: said.bytes || "0", stored: "0",
                overhead: said.overhead || "0", collateral: said.collateral,
            };
            a.reservations++;
            a.usedSize = add(a.usedSize, said.bytes);
            a.committedCollateral = add(a.committedCollateral, said.collateral);
            derive(a);
            move(s, "free", "reserved", said.bytes);
            move(s, "unallocated", "overhead", said.overhead);
        }),

        BytesReleased: understood(function (s, said) {
            var r = s.reservations[said.reservationId];
            if (!r || less(sub(r.bytes, r.stored), said.bytes)) {
                return false;
            }
            r.stored = add(r.stored, said.bytes);
            move(s, "reserved", "stored", said.bytes);
        }),

        ReservationDeleted: understood(function (s, said) {
            var r = s.reservations[said.reservationId];
            if (!r || add(said.collateralReturned, said.collateralLost) !== r.collateral) {
                return false;
            }
            delete s.reservations[said.reservationId];
            var a = s.availabilities[r.availabilityId];
            a.reservations--;
            a.usedSize = sub(a.usedSize, r.bytes);
            a.committedCollateral = sub(a.committedCollateral, r.collateral);
            a.lostCollateral = add(a.lostCollateral, said.collateralLost);
            derive(a);
            move(s, "reserved", "free", sub(r.bytes, r.stored));
            move(s, "stored", "free", r.stored);
            move(s, "overhead", "unallocated", r.overhead);
        }),

        SectorSpaceHeld: understood(function (s, said) {
            var had = s.holders[said.sector];
            if (had) { // It is sealed again, and gets scratch space once more.
                if (had.scratch !== "0" || said.unsealed || said.sealed || said.tree || said.deposit !== "0") {
                    return false;
                }
                had.scratch = said.scratch;
                move(s, "unallocated", "sectors", said.scratch);
                return;
            }
            var h = s.holders[said.sector] = {
                unsealed: said.unsealed || "0", sealed: said.sealed || "0", tree: said.tree || "0",
                scratch: said.scratch || "0", deposit: said.deposit, lost: "0",
            };
            s.deposits.held = add(s.deposits.held, said.deposit);
            move(s, "unallocated", "sectors", sum(h));
        }),

        SectorSpaceReleased: understood(function (s, said) {
            var h = s.holders[said.sector];
            if (!h || h[said.part] !== said.bytes) {
                return false;
            }
            h[said.part] = "0";
            move(s, "sectors", "unallocated", said.bytes);
            endHolder(s, said.sector);
        }),

        SectorDepositSettled: understood(function (s, said) {
            var h = s.holders[said.sector];
            if (!h || less(said.lost, h.lost)) {
                return false;
            }
            var returned = atLeastZero(sub(add(h.deposit, h.lost), add(said.held, said.lost)));
            s.deposits.returned = add(s.deposits.returned, returned);
            s.deposits.lost = add(s.deposits.lost, sub(said.lost, h.lost));
            s.deposits.held = add(s.deposits.held, sub(said.held, h.deposit));
            h.deposit = said.held;
            h.lost = said.lost;
            endHolder(s, said.sector);
        }),

        PieceSpaceHeld: understood(function (s, said) {
            s.pieceFiles = s.pieceFiles || {};
            if (s.pieceFiles[said.cid]) {
                return false;
            }
            s.pieceFiles[said.cid] = said.bytes;
            move(s, "unallocated", "pieces", said.bytes);
        }),

        PieceSpaceReleased: understood(function (s, said) {
            if (!s.pieceFiles || s.pieceFiles[said.cid] !== said.bytes) {
                return false;
            }
            delete s.pieceFiles[said.cid];
            move(s, "pieces", "unallocated", said.bytes);
            if (s.pieces === "0") {
                delete s.pieces;
                delete s.pieceFiles;
            }
        }),

        SectorFundsWithdrawn: understood(function (s, said) {
            if (said.number !== add(s.withdrawals, "1")) {
                return false;
            }
            s.withdrawals = said.number;
            s.deposits.withdrawn = add(s.deposits.withdrawn, said.amount);
        }),
    });
