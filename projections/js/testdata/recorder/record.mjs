// Records what the server's own engine makes of the cases and of the histories. Run it by
// make golden-projections; the first argument is the directory of projections/js.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { createProjection } from "@kurrent/projections-testing";

const root = process.argv[2];
const data = join(root, "testdata");
const golden = join(data, "golden");
const lines = (text) => text.split("\n").filter((l) => l !== "");

// sorted prints a value with the keys of its objects in order.
function sorted(v) {
    if (Array.isArray(v)) return v.map(sorted);
    if (v === null || typeof v !== "object") return v;
    return Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])]));
}

// text is JSON with all keys in the order of their letters: an object would have those that are numbers first.
function text(v) {
    if (Array.isArray(v)) return "[" + v.map(text).join(",") + "]";
    if (v === null || typeof v !== "object") return JSON.stringify(v);
    return "{" + Object.keys(v).sort().map((k) => JSON.stringify(k) + ":" + text(v[k])).join(",") + "}";
}
const print = (raw) => (raw === null || raw === undefined ? null : text(JSON.parse(raw)));

function archive(text) {
    const files = {};
    let name = null;
    for (const line of text.split("\n")) {
        const mark = /^-- (.+) --$/.exec(line);
        if (mark) { name = mark[1]; files[name] = ""; } else if (name) { files[name] += line + "\n"; }
    }
    return files;
}

function events(text) {
    const count = {};
    return lines(text).map((line) => {
        const e = { data: {}, isJson: true, ...JSON.parse(line) };
        e.sequenceNumber ??= count[e.streamId] ?? 0;
        count[e.streamId] = e.sequenceNumber + 1;
        return e;
    });
}

// feed says what became of one event.
function feed(session, e) {
    let step;
    try {
        step = session.feed(e);
    } catch (error) {
        return { fault: error.name };
    }
    if (step.status !== "processed") return { skipped: step.reason };
    return { partition: step.partition ?? "", state: print(step.stateRaw), result: JSON.stringify(sorted(step.result ?? null)) };
}

function cases() {
    const files = archive(readFileSync(join(data, "cases.txtar"), "utf8"));
    const out = {};
    for (const name of Object.keys(files).filter((f) => f.endsWith(".js")).map((f) => f.slice(0, -3))) {
        let session;
        try {
            session = createProjection(files[name + ".js"], { engineVersion: 1 }).test();
        } catch (error) {
            out[name] = { compile: error.name };
            continue;
        }
        out[name] = { steps: events(files[name + ".jsonl"]).map((e) => feed(session, e)) };
        session.dispose();
    }
    writeFileSync(join(golden, "cases.json"), JSON.stringify(out, null, 1) + "\n");
}

// history records the partition of every event with a digest of the state after it, and all states at
// the end. Both engines of the server must agree.
function history(name, source, list) {
    const record = (engineVersion) => {
        const session = createProjection(source, { engineVersion }).test();
        const steps = [], states = {};
        for (const e of list) {
            const step = feed(session, e);
            if (step.fault) throw new Error(`${name}, engine ${engineVersion}: ${step.fault} at ${JSON.stringify(e)}`);
            if (step.skipped) { steps.push("-"); continue; }
            states[step.partition] = JSON.parse(step.state);
            steps.push(createHash("sha256").update(step.partition + "\n" + step.state).digest("hex").slice(0, 16));
        }
        session.dispose();
        return { steps, states: sorted(states) };
    };
    const first = record(1), second = record(2);
    if (JSON.stringify(first) !== JSON.stringify(second)) throw new Error(`${name}: the engines differ`);
    return first;
}

mkdirSync(golden, { recursive: true });
cases();
for (const file of readdirSync(root).filter((f) => f.endsWith(".js")).sort()) {
    const source = readFileSync(join(root, file), "utf8")
        .replace(/^\/\/ with (shared\/[a-z]+\.js)\n/gm, (line, name) => readFileSync(join(root, name), "utf8"));
    for (const from of readdirSync(join(data, "histories")).filter((f) => f.endsWith(".jsonl")).sort()) {
        const name = basename(file, ".js") + "_" + basename(from, ".jsonl");
        const got = history(name, source, events(readFileSync(join(data, "histories", from), "utf8")));
        writeFileSync(join(golden, name + ".json"), JSON.stringify(got, null, 1) + "\n");
        console.log(`${name}: ${got.steps.length} events, ${Object.keys(got.states).length} partitions`);
    }
}
