import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { OtlpFormat } from '@agentlens/otlp';
import { ProblemException } from '@agentlens/platform';
import type { FastifyRequest } from 'fastify';

const inflate = promisify(gunzip);

const FORMATS: Readonly<Record<string, OtlpFormat>> = {
  'application/x-protobuf': 'protobuf',
  'application/protobuf': 'protobuf',
  'application/json': 'json',
};

/** The format of a request; undefined if it is not an OTLP format. Parameters of the content type are ignored. */
export function formatOf({ headers }: Pick<FastifyRequest, 'headers'>): OtlpFormat | undefined {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  return Object.hasOwn(FORMATS, type) ? FORMATS[type] : undefined;
}

/** @throws ProblemException 415 for an unsupported content type or encoding */
export function requireReadable(request: FastifyRequest): void {
  if (formatOf(request) === undefined) {
    throw new ProblemException(415, 'Unsupported content type', {
      hint: 'Send application/x-protobuf or application/json; gRPC is not spoken here.',
    });
  }
  const encoding = encodingOf(request);
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new ProblemException(415, 'Unsupported content encoding', { hint: 'Use gzip or none.' });
  }
}

/** Telemetry compresses to a tenth, rarely to a fiftieth. A higher ratio is crafted to be expensive. */
const MAX_INFLATION = 100;
/** Allowed regardless of the size of the gzip. */
const MIN_INFLATED_BYTES = 1024 * 1024;

/**
 * Returns the decoded body.
 *
 * @throws ProblemException 400 if it is not valid gzip, 413 if it inflates to more than `maxBytes`, or to more than 100
 * times its size and 1 MiB
 */
export async function inflated(request: FastifyRequest, body: Buffer, maxBytes: number): Promise<Buffer> {
  if (encodingOf(request) !== 'gzip' || body.length === 0) return body;
  const maxOutputLength = Math.min(maxBytes, Math.max(MIN_INFLATED_BYTES, body.length * MAX_INFLATION));
  try {
    return await inflate(body, { maxOutputLength });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      request.bodyBytes = maxOutputLength;
      throw tooLarge(maxOutputLength);
    }
    throw new ProblemException(400, 'The body cannot be inflated', {
      hint: `It is not what its content-encoding says (gzip): ${(error as Error).message}.`,
    });
  }
}

export function encodingOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
}

export function tooLarge(maxBytes: number): ProblemException {
  return new ProblemException(413, 'Request body too large', {
    hint: `Inflated, this request may have ${maxBytes} bytes: send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE).`,
    extra: { maxSize: maxBytes },
  });
}
