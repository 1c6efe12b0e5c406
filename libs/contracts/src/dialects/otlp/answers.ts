import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { ExportLogsServiceResponseSchema } from '../../generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts';
import { ExportTraceServiceResponseSchema } from '../../generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts';

export type OtlpFormat = 'protobuf' | 'json';
export type OtlpSignal = 'traces' | 'logs' | 'metrics';

/** Items of a request that were not taken; exporters do not send them again. */
export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

/** An Export…ServiceResponse: empty where everything was taken, in both formats. */
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

/** Codes of google.rpc.Code by status of HTTP. */
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

/** A google.rpc.Status `{code = 1, message = 2}`: what every refusal answers. */
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
