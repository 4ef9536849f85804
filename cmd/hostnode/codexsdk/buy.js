// Buys storage from a host through Codex's SDK, and reads it back:
//
//   node buy.js DIRECTORY-WITH-node_modules URL TOKEN
//
// Each thing that works is a line on standard output. The process ends with an error at the first answer that is not
// right, or when the host needs too long.
"use strict";
const assert = require("node:assert/strict");
const { randomBytes } = require("node:crypto");
const { createRequire } = require("node:module");
const { join } = require("node:path");

const [directory, url, token] = process.argv.slice(2);
const load = createRequire(join(directory, "index.js"));
const { Codex } = load("@codex-storage/sdk-js");
const { NodeUploadStrategy } = load("@codex-storage/sdk-js/node");

const patience = 8 * 60_000;
const pause = 500;

// The data of an answer, which must not be an error.
function ok(answer) {
  assert.equal(answer.error, false, answer.error ? `${answer.data.code}: ${answer.data.message}` : "");
  return answer.data;
}

// A value as text; JSON has no big integers.
function shown(value) {
  return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v));
}

// The data of an answer, as soon as it is what is waited for.
async function until(what, ask, is) {
  const deadline = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (!answer.error && is(answer.data)) return answer.data;
    assert.ok(Date.now() < deadline, `not yet: ${what}; last: ${shown(answer)}`);
    await new Promise((resume) => setTimeout(resume, pause));
  }
}

async function main() {
  const codex = new Codex(url, { auth: { basic: Buffer.from("sdk:" + token).toString("base64") } });
  const { marketplace, data, node, debug } = codex;

  const stranger = new Codex(url);
  const denied = await stranger.marketplace.createAvailability({
    totalSize: 1, duration: 1, minPricePerBytePerSecond: 1, totalCollateral: 1,
  });
  assert.equal(denied.error && denied.data.code, 401);

  const info = ok(await debug.info());
  assert.match(info.codex.contracts, /^0x[0-9a-f]{40}$/);
  assert.equal(ok(await debug.setLogLevel("DEBUG")), "");
  assert.equal((await node.peerId()).error, true);
  assert.equal((await node.spr()).data.code, 503);
  console.log("the node is described");

  const made = await until("the host takes an offer", () => marketplace.createAvailability({
    totalSize: 1_000_000_000, duration: 30 * 24 * 3600, minPricePerBytePerSecond: 1000n, totalCollateral: 10n ** 18n,
  }), () => true);
  assert.deepEqual([made.minPricePerBytePerSecond, made.totalRemainingCollateral, made.freeSize],
    [1000n, 10n ** 18n, 1_000_000_000]);
  assert.deepEqual(ok(await marketplace.availabilities()).map((a) => a.id), [made.id]);
  console.log("space is on offer");

  const bytes = randomBytes(300_000);
  const cid = ok(await data.upload(new NodeUploadStrategy(bytes, { filename: "movie.bin", mimetype: "video/mp4" })).result);
  const [item] = ok(await data.cids()).content;
  assert.deepEqual([item.cid, item.manifest.filename, item.manifest.mimetype, item.manifest.datasetSize],
    [cid, "movie.bin", "video/mp4", bytes.length]);
  const local = Buffer.from(await ok(await data.localDownload(cid)).arrayBuffer());
  assert.ok(local.equals(bytes), "the upload is not what was sent");
  assert.equal(ok(await data.fetchManifest(cid)).cid, cid);
  assert.equal(ok(await data.networkDownload(cid)).cid, cid);
  console.log("the data is uploaded");

  const wish = {
    cid, duration: 3600, pricePerBytePerSecond: 1000, proofProbability: 1, nodes: 3, tolerance: 1, expiry: 1800,
    collateralPerByte: 100,
  };
  const refused = await marketplace.createStorageRequest({ ...wish, expiry: 3600 });
  assert.deepEqual([refused.data.code, refused.data.message],
    [422, "Expiry must be greater than zero and less than the request's duration"]);
  const id = ok(await marketplace.createStorageRequest(wish));
  assert.deepEqual(ok(await marketplace.purchaseIds()), ["0x" + id]);
  console.log("storage is requested");

  const bought = await until("all slots are filled", () => marketplace.purchaseDetail(id), (p) => {
    assert.ok(["submitted", "started"].includes(p.state), `the purchase is ${p.state}: ${p.error}`);
    return p.state === "started";
  });
  assert.deepEqual([bought.request.ask.slots, bought.request.ask.duration], [3, 3600]);
  console.log("the purchase is started");

  const slots = ok(await marketplace.activeSlots());
  assert.deepEqual(slots.map((s) => s.slotIndex).sort(), [0, 1, 2]);
  const agent = await until("a slot is proven", () => marketplace.activeSlot(slots[0].id), (s) => s.state === "SaleProving");
  assert.equal(agent.requestId, "0x" + id);
  assert.equal(agent.request.content.cid, bought.request.content.cid);
  assert.equal(agent.reservation.availabilityId, made.id);
  assert.equal(ok(await marketplace.reservations(made.id)).length, 3);
  assert.ok(ok(await data.space()).quotaUsedBytes >= bytes.length);
  console.log("the slots are proven");

  // What was uploaded and coded is deleted, so that only the slots have it.
  const coded = bought.request.content.cid;
  for (const c of [cid, coded]) ok(await data.delete(c));
  assert.equal((await data.localDownload(coded)).data.code, 404);
  assert.deepEqual(ok(await data.cids()).content, []);
  const back = Buffer.from(await ok(await data.networkDownloadStream(coded)).arrayBuffer());
  assert.ok(back.equals(bytes), "the slots have other data");
  assert.equal(ok(await marketplace.purchases()).length, 1);
  console.log("the data is read back from the slots");

  ok(await marketplace.updateAvailability({ id: made.id, minPricePerBytePerSecond: 2000n, enabled: false }));
  const [changed] = ok(await marketplace.availabilities());
  assert.deepEqual([changed.minPricePerBytePerSecond, changed.enabled], [2000n, false]);
  console.log("done");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
