import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Folder that `scripts/make-packages.mjs` writes. The path works from both `src/packages` and `dist/packages`. */
const MADE = fileURLToPath(new URL('../../../../dist/packages', import.meta.url));
/** Requests wait this long for packages that a first start is still making. */
const MAX_WAIT_MS = 120_000;
const LOOK_AGAIN_MS = 250;

const npmPackage = z.object({
  name: z.string(),
  version: z.string(),
  file: z.string(),
  size: z.number(),
  integrity: z.string(),
  shasum: z.string(),
  manifest: z.record(z.string(), z.unknown()),
});
const pythonPackage = z.object({
  name: z.string(),
  version: z.string(),
  requiresPython: z.string(),
  file: z.string(),
  size: z.number(),
  sha256: z.string(),
});
const index = z.object({ version: z.string(), npm: z.array(npmPackage), pypi: z.array(pythonPackage) });

export type NpmPackage = z.output<typeof npmPackage>;
export type PythonPackage = z.output<typeof pythonPackage>;
/** The packages of one release of the platform. */
export type PackageIndex = z.output<typeof index>;

type PackagesFound = PackageIndex | 'absent' | 'being made';

/** Finds the packages of this installation, also those that are made after the start. */
export class ServedPackages {
  readonly #folder: string;
  readonly #maxWaitMs: number;
  #known: {
    readonly madeMs: number;
    readonly index: PackageIndex;
    readonly bodies: Map<string, Promise<Buffer>>;
  } | null = null;

  constructor(folder = MADE, maxWaitMs = MAX_WAIT_MS) {
    this.#folder = folder;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Waits for packages that are being made, for a limited time. */
  async read(): Promise<PackagesFound> {
    const until = performance.now() + this.#maxWaitMs;
    for (;;) {
      const found = await this.#load();
      if (found !== null) return found;
      if (!existsSync(`${this.#folder}.pending`)) return (await this.#load()) ?? 'absent';
      if (performance.now() >= until) return 'being made';
      await delay(LOOK_AGAIN_MS);
    }
  }

  /** Reads a file of the index, once. */
  body(file: string): Promise<Buffer> {
    const bodies = this.#known?.bodies;
    const body = bodies?.get(file) ?? readFile(join(this.#folder, file));
    bodies?.set(file, body);
    // A failure is not kept.
    body.catch(() => bodies?.delete(file));
    return body;
  }

  async #load(): Promise<PackageIndex | null> {
    const path = join(this.#folder, 'index.json');
    const madeMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    if (madeMs === null) return null;
    if (this.#known?.madeMs !== madeMs) {
      const read = index.parse(JSON.parse(await readFile(path, 'utf8')));
      this.#known = { madeMs, index: read, bodies: new Map() };
    }
    return this.#known.index;
  }
}
