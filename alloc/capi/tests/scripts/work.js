// Objects, buffers, worker threads and child processes: what a Node program does to an allocator.
const { createHash } = require("crypto");
const { execFileSync } = require("child_process");
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const fs = require("fs");
const zlib = require("zlib");

const md5 = (data) => createHash("md5").update(data).digest("hex");

if (!isMainThread) {
  const blocks = [];
  for (let i = 0; i < 300; i++) blocks.push(Buffer.alloc(((i * 7919) % 50000) + 1, i + workerData));
  parentPort.postMessage(md5(Buffer.concat(blocks)));
} else {
  const records = Array.from({ length: 20000 }, (_, i) => ({ id: i, name: `name ${i}`, tags: Array.from({ length: i % 7 }, (_, j) => `${j}`.repeat(j + 1)) }));
  const text = JSON.stringify(records);
  console.log("json", text.length, md5(text), JSON.parse(text).length);

  let held = [];
  for (let round = 0; round < 5; round++) {
    held = [];
    for (let i = 0; i < 2000; i++) held.push(Buffer.alloc(16384, i));
    held = held.filter((_, i) => i % 16 === 0);
  }
  console.log("buffers", md5(Buffer.concat(held)));

  const packed = zlib.gzipSync(text);
  console.log("packed", zlib.gunzipSync(packed).toString() === text);
  console.log("child", execFileSync(process.execPath, ["-e", "console.log('from a child'.toUpperCase())"]).toString().trim());
  console.log("file", fs.readFileSync(__filename).length);

  const workers = Array.from({ length: 4 }, (_, i) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: i });
    worker.on("message", resolve);
    worker.on("error", reject);
  }));
  Promise.all(workers).then((digests) => {
    console.log("workers", digests.join(" "));
    let pending = 100;
    for (let i = 0; i < 100; i++)
      zlib.deflate(text.slice(i * 100), (error, data) => {
        if (error) throw error;
        if (zlib.inflateSync(data).length !== text.length - i * 100) throw new Error("deflate");
        if (--pending === 0) console.log("pool");
      });
  });
}
