// Buys storage for a file from a host through Codex's SDK, and reads it back: node codex-buy.mjs FILE
// TOKEN is a token of the host with scope operate, URL its address (default http://127.0.0.1:8090). The SDK is looked
// for in the directory from which this is run.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

const load = createRequire(join(process.cwd(), "index.js"));
const { Codex } = load("@codex-storage/sdk-js");
const { NodeUploadStrategy } = load("@codex-storage/sdk-js/node");
const file = process.argv[2];
const url = process.env.URL ?? "http://127.0.0.1:8090";
const codex = new Codex(url, { auth: { basic: btoa("sdk:" + process.env.TOKEN) } });

function ok(answer) {
  if (!answer.error) return answer.data;
  console.error(answer.data.message);
  process.exit(1);
}

const bytes = readFileSync(file);
const upload = codex.data.upload(new NodeUploadStrategy(bytes, { filename: basename(file) }));
const cid = ok(await upload.result);
console.log("uploaded", cid);

const id = ok(await codex.marketplace.createStorageRequest({
  cid, duration: 1800, expiry: 600, nodes: 3, tolerance: 1,
  pricePerBytePerSecond: Number(process.env.PRICE ?? 1000), collateralPerByte: 100, proofProbability: 1,
}));
console.log("requested", id);

for (let state = ""; state !== "started"; ) {
  await new Promise((resume) => setTimeout(resume, 1000));
  const now = ok(await codex.marketplace.purchaseDetail(id)).state;
  if (now !== state) console.log("the purchase is", (state = now));
  if (["cancelled", "failed", "errored"].includes(state)) process.exit(1);
}

const back = Buffer.from(await ok(await codex.data.networkDownloadStream(cid)).arrayBuffer());
console.log("read back", back.length, "bytes:", back.equals(bytes) ? "the same" : "DIFFERENT");
