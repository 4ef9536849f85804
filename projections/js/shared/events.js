var SCHEMA = 1; // the newest schema version of the events that is understood here

// newer says that a newer version of hostnode wrote an event.
function newer(event) { return (event.metadata ? event.metadata.schemaVersion || 0 : 0) > SCHEMA; }

function add(a, b) { return (BigInt(a || 0) + BigInt(b || 0)).toString(); }
function sub(a, b) { return (BigInt(a || 0) - BigInt(b || 0)).toString(); }
function less(a, b) { return BigInt(a || 0) < BigInt(b || 0); }
function atLeastZero(a) { return less(a, 0) ? "0" : a; }
