import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Folder of the built console. The path works from both `src/console` and `dist/console`. */
const BUILT = fileURLToPath(new URL('../../../../apps/console/built/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
/** Fonts are already compressed. */
const COMPRESSIBLE = ['.css', '.js', '.svg'];

const compressWith = {
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};
export type Encoding = keyof typeof compressWith;

/** A file of the console, compressed once on first request. */
export class ConsoleFile {
  readonly type: string;
  readonly body: Buffer;
  /** True if the file name contains the hash of the content, so that it never changes. */
  readonly immutable: boolean;
  readonly #compressible: boolean;
  readonly #compressed = new Map<Encoding, Promise<Buffer>>();

  constructor(path: string, body: Buffer) {
    this.type = TYPES[extname(path)] ?? 'application/octet-stream';
    this.body = body;
    this.immutable = path.startsWith('assets/');
    this.#compressible = COMPRESSIBLE.includes(extname(path));
  }

  /** Returns undefined if compression does not make the file smaller. */
  compressed(encoding: Encoding): Promise<Buffer> | undefined {
    if (!this.#compressible) return undefined;
    const known = this.#compressed.get(encoding) ?? compressWith[encoding](this.body);
    this.#compressed.set(encoding, known);
    return known;
  }
}

interface ConsoleFiles {
  /** The built HTML page. */
  readonly page: string;
  /** Files by path, without a leading slash. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/** Reads the console's files at startup. Returns null if this installation was built without the console. */
export function readConsoleFiles(folder = BUILT): ConsoleFiles | null {
  if (!existsSync(join(folder, 'index.html'))) return null;
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) in TYPES)
    .map((entry) => join(entry.parentPath, entry.name));
  const files = names.map((file): [string, ConsoleFile] => {
    const path = file.slice(folder.length).replaceAll('\\', '/');
    return [path, new ConsoleFile(path, readFileSync(file))];
  });
  return { page: readFileSync(join(folder, 'index.html'), 'utf8'), files: new Map(files) };
}
