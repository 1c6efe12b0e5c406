import { type Decision, decisionBody, decisionBodyWithExtras } from '@agentlens/contracts';
import { getServiceHealth, INGEST_OPERATIONS, type Operation } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { openApiDocument } from './openapi-document.ts';

interface DocumentedResponse {
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Documented {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, DocumentedResponse> }>>;
  readonly components: {
    readonly schemas: Record<string, { readonly properties: object; readonly required: string[] }>;
  };
}

const plain: Operation = {
  id: 'makeThing',
  method: 'post',
  path: '/things',
  tag: 'Things',
  summary: 'Makes a thing.',
  scope: 'admin',
  response: z.object({ id: z.string() }),
};
const documentOf = (...operations: Operation[]) => openApiDocument(operations, '1') as unknown as Documented;

describe('the error responses of an operation', () => {
  it('name the accepted scopes and the maximum body size', () => {
    const { paths, components } = documentOf({ ...plain, body: z.object({}) });
    const schemaOf = (status: number) =>
      paths['/things']?.post?.responses[status]?.content?.['application/json']?.schema;
    expect(schemaOf(403)).toEqual({ $ref: '#/components/schemas/Forbidden' });
    expect(components.schemas.Forbidden?.required).toEqual([
      'error',
      'code',
      'status',
      'requestId',
      'required',
      'current',
    ]);
    expect(schemaOf(413)).toEqual({ $ref: '#/components/schemas/TooLarge' });
    expect(components.schemas.TooLarge?.required).toEqual(['error', 'code', 'status', 'requestId', 'maxSize']);
  });

  it('mention bodies only if the operation has one', () => {
    const statusesOf = (op: Operation) => Object.keys(documentOf(op).paths['/things']?.post?.responses ?? {});
    expect(statusesOf(plain)).toEqual(['200', '400', '401', '403', '429', '431', '503']);
    expect(statusesOf({ ...plain, body: z.object({}) })).toEqual(expect.arrayContaining(['413', '415']));
  });

  it('document Retry-After', () => {
    const { responses } = documentOf(plain).paths['/things']?.post ?? { responses: {} };
    const header = { 'Retry-After': expect.objectContaining({ required: true }) };
    expect(responses).toMatchObject({ 429: { headers: header }, 503: { headers: header } });
  });

  it('document that an unhealthy response has the same shape as a healthy one', () => {
    const { components } = documentOf(getServiceHealth);
    expect(components.schemas.DegradedHealth?.required).toEqual(['error', 'status', 'version', 'db']);
  });
});

describe('document the degraded response of the health check', () => {
  const decision: Decision = {
    id: 'decision-1',
    tenantId: 'acme',
    agentId: 'bot',
    runId: 'run-1',
    phase: 'tool.before',
    toolName: 'mail',
    callId: 'call-1',
    verdict: 'BLOCK',
    control: 'CONTINUE',
    effect: 'ask',
    cause: { kind: 'HITL_PENDING', approvalId: 'approval-1' },
    message: 'Needs a human',
    evaluatedRules: [
      { ruleId: 'r', ruleVersion: 1, enabled: true, matched: true, violated: true, effect: 'ask', mode: 'enforce' },
    ],
    finalRuleId: 'r',
    modifiedArgs: { q: 1 },
    approvalId: 'approval-1',
    budgetId: 'budget-1',
    reservationId: 'reservation-1',
    bypasses: [{ ruleId: 'r', why: 'missing', did: 'allow' }],
    inputsDigest: 'digest',
    latencyMs: 1,
    decidedAt: '2026-03-01T12:00:00.000Z',
  };
  const evaluate = INGEST_OPERATIONS.find(({ path }) => path.endsWith('/evaluate'));

  it.each([
    ['for AgentLens clients', decisionBody(decision)],
    ['with the additions of this platform', decisionBodyWithExtras(decision)],
  ])('is documented %s', (_name, body) => {
    const [short, long] = documentedVerdicts();
    const documented = 'decisionId' in body ? long : short;
    expect(Object.keys(documented ?? {}).sort()).toEqual(Object.keys(body).sort());
    expect(evaluate?.response.safeParse(body).success).toBe(true);
  });

  function documentedVerdicts() {
    const { schemas } = documentOf(...INGEST_OPERATIONS).components;
    return [schemas.Verdict?.properties, schemas.VerdictWithExtras?.properties];
  }
});

describe('the control state of a run', () => {
  it.each(['start', 'heartbeat'])('is documented in the response to %s', (moment) => {
    const documented = INGEST_OPERATIONS.find(({ path }) => path.endsWith(`/${moment}`))?.response;
    const lockdown = { active: true, reason: 'runaway', kind: 'killed', lockdownId: 'order-1' };
    const answer = { runId: 'run-1', lockdown, modelOverride: 'small' };
    expect(documented?.parse(answer)).toEqual(answer);
  });
});
