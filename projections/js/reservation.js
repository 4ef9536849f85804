// hostnode-reservation, version 2
//
// What a host set aside for one attempt at one slot, how much of it is stored, and what came back.
//
// Reads      the ledgers: the streams capacity-<host>, and capacity-<host>-<member> of a host of several members
// Partition  <host>-<reservation id>; hostnode-availability lists the ids of the open ones. Each has a
//            state of its own, which stays when the reservation is over, so that no state grows.
// State      { host, member (when it is in the ledger of one that has a name), id, availabilityId, requestId, slotId, slotIndex, attempt,
//              bytes, storedBytes, overheadBytes, collateral, validUntil,
//              open, createdAt, releasedAt, collateralReturned, collateralLost, passedOver }
//
// releasedAt and what follows it are null while the reservation is open. collateralReturned and
// collateralLost add up to the collateral. What became of the sale is in hostnode-slot.
// passedOver counts the events that contradict the reservation or that a newer version of hostnode wrote.
//
// Sizes (bytes) and amounts (token base units) are decimal strings, because they do not fit into
// JavaScript's numbers. An event leaves out a field that is zero, false or empty.

// with shared/events.js
// with shared/ledger.js

fromAll()
    .partitionBy(function (event) {
        var ledger = event.isJson ? LEDGER.exec(event.streamId) : null;
        if (!ledger || !event.data || !event.data.reservationId) {
            return null; // An event without a partition is not looked at.
        }
        return ledger[1] + "-" + event.data.reservationId;
    })
    .when({
        $init: function () {
            return { host: "", open: false, passedOver: 0 };
        },

        ReservationCreated: understood(function (s, said) {
            if (s.open) {
                return false;
            }
            s.id = said.reservationId;
            s.availabilityId = said.availabilityId;
            s.requestId = said.requestId;
            s.slotId = said.slotId;
            s.slotIndex = said.slotIndex || "0";
            s.attempt = said.attempt || 0;
            s.bytes = said.bytes || "0";
            s.storedBytes = "0";
            s.overheadBytes = said.overhead || "0";
            s.collateral = said.collateral;
            s.validUntil = said.validUntil || null;
            s.open = true;
            s.createdAt = said.at;
            s.releasedAt = s.collateralReturned = s.collateralLost = null;
        }),

        BytesReleased: understood(function (s, said) {
            if (!s.open || less(s.bytes, add(s.storedBytes, said.bytes))) {
                return false;
            }
            s.storedBytes = add(s.storedBytes, said.bytes);
        }),

        ReservationDeleted: understood(function (s, said) {
            if (!s.open || add(said.collateralReturned, said.collateralLost) !== s.collateral) {
                return false;
            }
            s.open = false;
            s.releasedAt = said.at;
            s.collateralReturned = said.collateralReturned;
            s.collateralLost = said.collateralLost;
        }),
    });
