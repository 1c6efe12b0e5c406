import { readFileSync, watchFile } from 'node:fs';

// Loaded by `node --import` into a service under test: shifts the wall clock by the milliseconds in a file.

const { PROOF_CLOCK_FILE: file } = process.env;

if (file !== undefined) shiftClock(file);

function shiftClock(from: string): void {
  const RealDate = Date;
  let shiftMs = read();
  watchFile(from, { interval: 50 }, () => {
    shiftMs = read();
  }).unref();

  function read(): number {
    try {
      return Number(readFileSync(from, 'utf8'));
    } catch {
      return 0;
    }
  }

  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, newTarget) =>
      Reflect.construct(target, values.length === 0 ? [RealDate.now() + shiftMs] : values, newTarget) as object,
    apply: () => new RealDate(RealDate.now() + shiftMs).toString(),
    get: (target, name) => (name === 'now' ? () => RealDate.now() + shiftMs : (Reflect.get(target, name) as unknown)),
  });
}
