function build() {
  const data = [];
  for (let i = 0; i < 8192; i++) data.push(Buffer.alloc(16384, i));
  return data.filter((_, i) => i % 16 === 0);
}
globalThis.keep = build();
setTimeout(() => {
  gc();
  gc();
  console.log("ready", keep.length);
}, 50);
setTimeout(() => {}, 1_000_000);
