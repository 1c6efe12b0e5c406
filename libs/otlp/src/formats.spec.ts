import { fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ExportTraceServiceRequestSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts';
import { logsFromJson, tracesFromJson } from './from-json.ts';
import { logsFromProtobuf, tracesFromProtobuf } from './from-protobuf.ts';
import { inOneGo, RECORDINGS, recordingOf } from './recordings.testing.ts';
import { UndecodableOtlp } from './span.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

/** An export request with one span. */
function request(span: object): string {
  const common = {
    traceId: TRACE,
    spanId: SPAN,
    name: 'chat',
    startTimeUnixNano: '1500000',
    endTimeUnixNano: '3700000',
  };
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...common, ...span }] }] }] });
}

/** OTLP's JSON has ids in hex, protobuf's JSON has them in base64. */
function otlpJson(protobuf: Uint8Array): string {
  const message = toJson(ExportTraceServiceRequestSchema, fromBinary(ExportTraceServiceRequestSchema, protobuf));
  return JSON.stringify(message, (key, value: unknown) =>
    ['traceId', 'spanId', 'parentSpanId'].includes(key) ? Buffer.from(String(value), 'base64').toString('hex') : value,
  );
}

describe('both formats', () => {
  const bodies = RECORDINGS.flatMap((agent) =>
    recordingOf(agent)
      .requests.filter(({ path, protobuf }) => path === '/v1/traces' && protobuf !== undefined)
      .map(({ protobuf = '' }) => [agent, Buffer.from(protobuf, 'base64')] as const),
  );

  it.each(bodies)('read the same from what %s sent', (_agent, body) => {
    const read = inOneGo(tracesFromProtobuf(body));
    expect(read.spans.length).toBeGreaterThan(0);
    expect(inOneGo(tracesFromJson(otlpJson(body))).spans).toEqual(read.spans);
  });

  it('reject truncated bodies and throw no other error', () => {
    const whole = bodies[0]?.[1] ?? Buffer.alloc(0);
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), fc.nat(255), (at, byte) => {
        const broken = Buffer.from(whole);
        broken[at] = byte;
        for (const body of [whole.subarray(0, at), broken]) readOrRefuse(() => inOneGo(tracesFromProtobuf(body)));
        readOrRefuse(() => inOneGo(tracesFromJson(otlpJson(whole).slice(0, at))));
      }),
      { numRuns: 100 },
    );
  });

  it('read or reject any bytes and any JSON', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.json(), (bytes, json) => {
        readOrRefuse(() => inOneGo(tracesFromProtobuf(bytes)));
        readOrRefuse(() => inOneGo(logsFromProtobuf(bytes)));
        readOrRefuse(() => inOneGo(tracesFromJson(json)));
        readOrRefuse(() => inOneGo(logsFromJson(json)));
      }),
    );
  });

  it('read any members in place of spans', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const body = JSON.stringify({
          resourceSpans: [
            one,
            { resource: other, scopeSpans: [other, { scope: one, spans: [one, { attributes: one }] }] },
          ],
        });
        readOrRefuse(() => inOneGo(tracesFromJson(body)));
      }),
    );
  });
});

function readOrRefuse(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(UndecodableOtlp);
  }
}

describe('the JSON form', () => {
  const spanOf = (span: object) => inOneGo(tracesFromJson(request(span))).spans[0];

  it('accepts 64-bit numbers as text or number, and enums by name', () => {
    const attributes = [
      { key: 'a', value: { intValue: '120' } },
      { key: 'b', value: { intValue: 120 } },
      { key: 'c', value: { intValue: '9007199254740993' } },
    ];
    const span = spanOf({ attributes, startTimeUnixNano: 1500000, status: { code: 'STATUS_CODE_ERROR' } });
    expect([...(span?.attributes ?? [])]).toEqual([
      ['a', 120],
      ['b', 120],
      ['c', '9007199254740993'],
    ]);
    expect(span).toMatchObject({ failed: true, startMs: 1, endMs: 3, durationMs: 2.2 });
  });

  it('reads lists and objects, and a name such as __proto__ as an ordinary name', () => {
    const value = {
      kvlistValue: { values: [{ key: 'x', value: { arrayValue: { values: [{ boolValue: true }, {}] } } }] },
    };
    const span = spanOf({ attributes: [{ key: '__proto__', value }] });
    expect(span?.attributes.get('__proto__')).toEqual({ x: [true, null] });
  });

  it('omits values that are nested too deeply', () => {
    const levels = 5_000;
    const value = `${'{"arrayValue":{"values":['.repeat(levels)}{}${']}}'.repeat(levels)}`;
    const body = request({ attributes: [{ key: 'a', value: '?' }] }).replace('"?"', value);
    expect(inOneGo(tracesFromJson(body)).spans).toHaveLength(1);
  });

  it('moves an end before the start to the start', () => {
    expect(spanOf({ startTimeUnixNano: '5000000', endTimeUnixNano: '1000000' })).toMatchObject({
      startMs: 5,
      endMs: 5,
      durationMs: 0,
    });
  });

  it.each([
    [{ traceId: '00000000000000000000000000000000' }, /trace id/],
    [{ traceId: undefined }, /trace id/],
    [{ traceId: 'CvdlGRbNQ92ESOshHIAxnA==' }, /trace id/],
    [{ spanId: 'b7ad' }, /span id/],
    [{ startTimeUnixNano: 'yesterday' }, /nanoseconds/],
  ])('rejects only the span that cannot be identified: %j', (wrong, reason) => {
    const { resourceSpans } = JSON.parse(request(wrong)) as { resourceSpans: { scopeSpans: { spans: object[] }[] }[] };
    const good = JSON.parse(request({})) as { resourceSpans: object[] };
    const read = inOneGo(tracesFromJson(JSON.stringify({ resourceSpans: [...resourceSpans, ...good.resourceSpans] })));
    expect(read).toMatchObject({ rejected: 1, reason: expect.stringMatching(reason) });
    expect(read.spans).toHaveLength(1);
  });

  it.each(['', 'no JSON', '[]', '"text"', '{"resourceSpans":'])('rejects %j with the reason', (body) => {
    expect(() => inOneGo(tracesFromJson(body))).toThrow(/^the body is no ExportTraceServiceRequest in JSON: \w/);
  });

  it('reports the position of a syntax error', () => {
    expect(() => inOneGo(tracesFromJson('{"resourceSpans": [] x}'))).toThrow(/position 21/);
  });
});

describe('a protobuf span that cannot be decoded', () => {
  it('is rejected alone', () => {
    const [body = new Uint8Array()] = RECORDINGS.flatMap((agent) =>
      recordingOf(agent)
        .requests.filter(({ path, protobuf }) => path === '/v1/traces' && protobuf !== undefined)
        .map(({ protobuf = '' }) => Buffer.from(protobuf, 'base64')),
    );
    const request = fromBinary(ExportTraceServiceRequestSchema, body);
    const spans = request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    const [first] = spans;
    if (first === undefined) throw new Error('the recording has no spans');
    first.name = 'MARK';
    const bytes = Buffer.from(toBinary(ExportTraceServiceRequestSchema, request));
    bytes[bytes.indexOf('MARK')] = 0xff;
    const read = inOneGo(tracesFromProtobuf(bytes));
    expect(read).toMatchObject({ rejected: 1, reason: expect.stringMatching(/utf-8/i) });
    expect(read.spans).toHaveLength(spans.length - 1);
  });
});
