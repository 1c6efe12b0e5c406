import { canonicalJson, derivedId, OTLP_DIALECT, type TranslatedEvent } from '@agentlens/contracts';
import { firstText, present } from './attributes.ts';
import { repaired } from './repair.ts';
import type { Attributes, OtlpResource, OtlpScope } from './span.ts';
import { whoOf } from './who.ts';

/** A log record, without the parts that no event needs, such as its body. */
export interface OtlpLogRecord {
  readonly eventName: string;
  readonly attributes: Attributes;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  /** Unix time, ms. */
  readonly atMs: number;
  readonly resource: OtlpResource;
  readonly scope: OtlpScope;
}

/** Collects the log records of a request. */
export class LogCollector {
  readonly records: OtlpLogRecord[] = [];
  rejected = 0;
  reason: string | undefined;

  reject(reason: string): void {
    this.rejected += 1;
    this.reason ??= reason;
  }
}

const EVALUATION = 'gen_ai.evaluation.result';

/**
 * Translates an evaluation into an event of its run. Returns undefined for any other record, because those repeat what
 * spans report, in other requests and in any order.
 */
export function evaluationOf(record: OtlpLogRecord, agentId: string | undefined): TranslatedEvent | undefined {
  const { eventName, attributes, traceId, spanId, atMs, resource, scope } = record;
  if (eventName !== EVALUATION || traceId === undefined) return undefined;
  const who = whoOf({ traceId, attributes, resource }, agentId);
  const { value: payload, notes } = repaired(
    present({
      name: firstText(attributes, ['gen_ai.evaluation.name']),
      label: firstText(attributes, ['gen_ai.evaluation.score.label']),
      score: attributes.get('gen_ai.evaluation.score.value'),
      explanation: firstText(attributes, ['gen_ai.evaluation.explanation']),
      responseId: firstText(attributes, ['gen_ai.response.id']),
    }),
  );
  const repairNotes = notes.length === 0 ? undefined : notes;
  return {
    clientId: derivedId(atMs, OTLP_DIALECT, traceId, spanId ?? '', EVALUATION, canonicalJson(payload)),
    timestamp: new Date(atMs).toISOString(),
    retold: true,
    facts: {
      ...who,
      kind: 'custom.recorded',
      dialect: OTLP_DIALECT,
      sourceType: 'evaluation',
      severity: 'info',
      isError: false,
      payload,
      metadata: {
        otlp: present({ spanId, scope: scope.name.slice(0, 256), generation: 'gen_ai', mended: repairNotes }),
      },
    },
  };
}
