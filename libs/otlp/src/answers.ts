import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { ExportLogsServiceResponseSchema } from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts';
import { ExportTraceServiceResponseSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts';

export type OtlpFormat = 'protobuf' | 'json';
export type OtlpSignal = 'traces' | 'logs' | 'metrics';

/** Rejected items of a request. Exporters do not retry them. */
export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

/** Encodes an Export…ServiceResponse. Empty in both formats if everything was accepted. */
export function exportAnswer(signal: OtlpSignal, format: OtlpFormat, partial?: PartialSuccess): string | Uint8Array {
  if (partial === undefined) return format === 'json' ? '{}' : new Uint8Array();
  const { rejected, message: errorMessage } = partial;
  const isLogs = signal === 'logs';
  if (format === 'json') {
    const counted = isLogs ? { rejectedLogRecords: String(rejected) } : { rejectedSpans: String(rejected) };
    return JSON.stringify({ partialSuccess: { ...counted, errorMessage } });
  }
  return isLogs
    ? toBinary(
        ExportLogsServiceResponseSchema,
        create(ExportLogsServiceResponseSchema, {
          partialSuccess: { rejectedLogRecords: BigInt(rejected), errorMessage },
        }),
      )
    : toBinary(
        ExportTraceServiceResponseSchema,
        create(ExportTraceServiceResponseSchema, { partialSuccess: { rejectedSpans: BigInt(rejected), errorMessage } }),
      );
}

/** google.rpc.Code by HTTP status. */
const CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
};
const UNKNOWN = 2;
const VARINT_FIELD = 0;
const BYTES_FIELD = 2;
const tag = (field: number, type: number) => (field << 3) | type;

/** Encodes a google.rpc.Status `{code = 1, message = 2}`, the body of every rejection. */
export function statusAnswer(format: OtlpFormat, httpStatus: number, message: string): string | Uint8Array {
  const code = CODES[httpStatus] ?? UNKNOWN;
  if (format === 'json') return JSON.stringify({ code, message });
  return new BinaryWriter()
    .uint32(tag(1, VARINT_FIELD))
    .int32(code)
    .uint32(tag(2, BYTES_FIELD))
    .string(message)
    .finish();
}
