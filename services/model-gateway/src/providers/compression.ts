import { once } from 'node:events';
import type { Readable, Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzip,
  inflate,
  zstdDecompress,
} from 'node:zlib';
import { RefusedCall } from '../refused-call.ts';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** The first bytes of gzip and zstd; no JSON and no event stream begins with them. */
const MAGIC: readonly (readonly [string, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
];

/**
 * Reads the body of a provider's answer uncompressed. Some networks compress answers unasked, with or without a header
 * that says so.
 */
export async function* readAnswer(body: Readable, encoding: string | undefined): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const first = await chunks.next();
  if (first.done === true) return;
  const createDecoder = DECODERS[encoding?.toLowerCase() ?? ''] ?? findDecoder(first.value);
  const rest = { [Symbol.asyncIterator]: () => chunks };
  if (createDecoder === undefined) {
    yield first.value;
    yield* rest;
    return;
  }
  const decoder = createDecoder();
  // Its errors are read below, unless the reader leaves first.
  decoder.on('error', () => undefined);
  const feeding = feed(decoder, first.value, rest);
  yield* decoder as AsyncIterable<Uint8Array>;
  await feeding;
}

function findDecoder(first: Uint8Array): (() => Transform) | undefined {
  const found = MAGIC.find(([, bytes]) => bytes.every((byte, at) => first[at] === byte));
  return found === undefined ? undefined : DECODERS[found[0]];
}

async function feed(decoder: Transform, first: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    decoder.write(first);
    for await (const chunk of rest) if (!decoder.write(chunk)) await once(decoder, 'drain');
    decoder.end();
  } catch (error) {
    decoder.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Maximum size of a request, after decompression. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_RATIO = 100;

const BODY_DECODERS = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** Decompresses the body of a request. @throws RefusedCall */
export async function readBody(sent: Buffer, encoding: string | undefined): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return sent;
  const name = encoding.toLowerCase();
  if (!Object.hasOwn(BODY_DECODERS, name)) {
    throw new RefusedCall('invalid', 'unsupported_encoding', 'The content-encoding must be gzip, deflate, br or zstd.');
  }
  const maxOutputLength = Math.max(1, Math.min(MAX_BODY_BYTES, sent.length * MAX_RATIO));
  try {
    return await BODY_DECODERS[name as keyof typeof BODY_DECODERS](sent, { maxOutputLength });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new RefusedCall('too_large', 'body_too_large', bodyTooLarge());
    throw new RefusedCall('invalid', 'undecodable', `The body is not valid ${name}.`);
  }
}

export function bodyTooLarge(): string {
  return `The request may have ${MAX_BODY_BYTES / 1024 / 1024} MiB, also after decompression.`;
}
