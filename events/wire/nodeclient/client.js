// Uses an event server through EventStoreDB's or KurrentDB's client for Node, and ends with an
// error at the first answer that is not right:
//
//   node client.js DIRECTORY-WITH-node_modules PACKAGE CONNECTION-STRING
//
// Each thing that works is a line on standard output.
"use strict";
const assert = require("node:assert/strict");
const { createRequire } = require("node:module");
const { join } = require("node:path");

const [directory, name, connection] = process.argv.slice(2);
const es = createRequire(join(directory, "index.js"))(name);

// A subscription that never brings what is waited for must not hang a test.
const patience = 30_000;

function step(name) {
  console.log(name);
}

async function collect(stream) {
  const all = [];
  for await (const e of stream) all.push(e);
  return all;
}

// Takes events of a subscription until there are count of them that match.
function take(subscription, count, matches = () => true) {
  return new Promise((resolve, reject) => {
    const got = [];
    const timer = setTimeout(() => reject(new Error(`${got.length} of ${count} events came`)), patience);
    subscription.on("error", reject);
    subscription.on("data", (e) => {
      if (!matches(e)) return;
      got.push(e);
      if (got.length === count) {
        clearTimeout(timer);
        subscription.unsubscribe().then(() => resolve(got), reject);
      }
    });
  });
}

const tick = (n) => es.jsonEvent({ type: "Ticked", data: { n }, metadata: { $correlationId: "clock" } });
const number = (e) => e.event.data.n;

// Each of the two clients has a word of its own for it.
const expect = (at) => ({ expectedRevision: at, streamState: at });

async function appendAndRead(client) {
  const first = await client.appendToStream("clock-1", [tick(0), tick(1)], expect(es.NO_STREAM));
  assert.equal(first.success, true);
  assert.equal(first.nextExpectedRevision, 1n);
  await client.appendToStream("clock-1", tick(2), expect(1n));
  step("append with expected revisions");

  await assert.rejects(
    client.appendToStream("clock-1", tick(9), expect(es.NO_STREAM)),
    (e) => e.type === es.ErrorType.WRONG_EXPECTED_VERSION && (e.actualVersion ?? e.actualState) === 2n,
  );
  step("refuse a wrong revision");

  const events = await collect(client.readStream("clock-1"));
  assert.deepEqual(events.map(number), [0, 1, 2]);
  assert.deepEqual(events.map((e) => e.event.revision), [0n, 1n, 2n]);
  assert.equal(events[0].event.metadata.$correlationId, "clock");
  const back = await collect(client.readStream("clock-1", { direction: es.BACKWARDS, fromRevision: es.END, maxCount: 2 }));
  assert.deepEqual(back.map(number), [2, 1]);
  step("read forwards and backwards");

  const bytes = Buffer.from([0, 1, 254, 255]);
  await client.appendToStream("bytes-1", es.binaryEvent({ type: "Sent", data: bytes }));
  const [binary] = await collect(client.readStream("bytes-1"));
  assert.deepEqual(Buffer.from(binary.event.data), bytes);
  step("keep binary data");

  const many = Array.from({ length: 5000 }, (_, n) => tick(n));
  await client.appendToStream("many-1", many, { batchAppendSize: 64 * 1024 });
  assert.deepEqual((await collect(client.readStream("many-1"))).map(number), many.map((e) => e.data.n));
  step("append in several parts");

  await assert.rejects(collect(client.readStream("nothing-1")), (e) => e.type === es.ErrorType.STREAM_NOT_FOUND);
  step("say that a stream is not there");
}

// Both are sent in several parts, and refused at the first.
async function refusedAppends(client) {
  const large = Array.from({ length: 9 }, () => es.binaryEvent({ type: "Sent", data: Buffer.alloc(1 << 20) }));
  await assert.rejects(client.appendToStream("$ce-clock", large), (e) => e.type === es.ErrorType.ACCESS_DENIED);
  await client.appendToStream("after-1", tick(0));
  step("go on after a large append that is not allowed");

  const many = Array.from({ length: 30_000 }, (_, n) => tick(n));
  await assert.rejects(
    client.appendToStream("late-1", many, { deadline: 1, batchAppendSize: 64 * 1024 }),
    (e) => [es.ErrorType.DEADLINE_EXCEEDED, es.ErrorType.TIMEOUT].includes(e.type),
  );
  await client.appendToStream("after-1", tick(1));
  assert.deepEqual((await collect(client.readStream("after-1"))).map(number), [0, 1]);
  step("go on after a large append that comes too late");
}

async function readIndexesAndLog(client) {
  await client.appendToStream("clock-2", tick(3));
  const category = await collect(client.readStream("$ce-clock", { resolveLinkTos: true }));
  assert.deepEqual(category.map(number), [0, 1, 2, 3]);
  assert.equal(category[3].link.streamId, "$ce-clock");
  assert.equal(category[3].link.revision, 3n);
  assert.equal(category[3].event.streamId, "clock-2");
  step("read a category");

  const log = await collect(client.readAll({ maxCount: 100_000 }));
  assert.ok(log.some((e) => e.event.streamId === "clock-2"));
  const positions = log.map((e) => e.event.position.commit);
  assert.deepEqual(positions, positions.toSorted((a, b) => (a < b ? -1 : 1)));
  step("read the log");
}

async function subscribe(client) {
  const live = (e) => e.event?.type === "Ticked" && number(e) >= 3;
  const inStream = take(client.subscribeToStream("clock-2", { fromRevision: es.START }), 2, live);
  const inCategory = take(
    client.subscribeToStream("$ce-clock", { fromRevision: es.START, resolveLinkTos: true }), 2, live);
  const inLog = take(
    client.subscribeToAll({ fromPosition: es.START, filter: es.streamNameFilter({ prefixes: ["clock-2"] }) }), 2, live);
  await client.appendToStream("clock-2", tick(4));
  for (const got of await Promise.all([inStream, inCategory, inLog])) {
    assert.deepEqual(got.map(number), [3, 4]);
  }
  step("subscribe to a stream, a category and the log");
}

async function metadataAndDeletion(client) {
  await client.setStreamMetadata("many-1", { maxCount: 10 });
  assert.equal((await client.getStreamMetadata("many-1")).metadata.maxCount, 10);
  assert.equal((await collect(client.readStream("many-1"))).length, 10);
  step("obey metadata");

  await client.deleteStream("clock-1");
  await assert.rejects(collect(client.readStream("clock-1")), (e) => e.type === es.ErrorType.STREAM_NOT_FOUND);
  const again = await client.appendToStream("clock-1", tick(7), expect(es.NO_STREAM));
  assert.equal(again.nextExpectedRevision, 3n);
  step("delete a stream and begin it again");

  await client.tombstoneStream("clock-2");
  await assert.rejects(collect(client.readStream("clock-2")), (e) => e.type === es.ErrorType.STREAM_DELETED);
  await assert.rejects(client.appendToStream("clock-2", tick(8)), (e) => e.type === es.ErrorType.STREAM_DELETED);
  step("end a stream for good");

  for (const call of [
    () => client.createPersistentSubscriptionToStream("clock-1", "group", es.persistentSubscriptionToStreamSettingsFromDefaults()),
    () => client.getPersistentSubscriptionToStreamInfo("clock-1", "group"),
    () => client.listAllPersistentSubscriptions(),
    () => client.listPersistentSubscriptionsToStream("clock-1"),
    () => client.replayParkedMessagesToStream("clock-1", "group"),
    () => client.restartPersistentSubscriptionSubsystem(),
  ]) {
    await assert.rejects(call, (e) => /not served/.test(e.message), `${call}`);
  }
  step("say what is not served");
}

async function main() {
  const client = (es.KurrentDBClient ?? es.EventStoreDBClient).connectionString(connection);
  try {
    await appendAndRead(client);
    await readIndexesAndLog(client);
    await subscribe(client);
    await metadataAndDeletion(client);
    await refusedAppends(client);
  } finally {
    await client.dispose();
  }
  step("done");
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
