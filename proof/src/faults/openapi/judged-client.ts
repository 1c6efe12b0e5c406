import { request } from 'undici';
import { Conformance, type ConformanceAnswer } from './conformance.ts';
import { type DocumentedOperation, type OpenApi, operationsOf } from './document.ts';
import { Judgement } from './judgement.ts';
import { type DrawnRequest, KnownValues } from './request-draw.ts';

export interface Addresses {
  readonly ingestUrl: string;
  readonly queryUrl: string;
  readonly key: string;
}

const ANSWERED_WITHIN_MS = 20_000;

/** Sends requests to the operations of a platform, judges every response, and remembers ids from responses. */
export class JudgedClient {
  readonly document: OpenApi;
  /** All operations except streams, which end only when their reader disconnects. */
  readonly operations: readonly DocumentedOperation[];
  readonly judgement: Judgement;
  readonly known = new KnownValues();
  private readonly addresses: Addresses;

  private constructor(addresses: Addresses, document: OpenApi) {
    this.addresses = addresses;
    this.document = document;
    this.operations = operationsOf(document).filter(({ path }) => !path.includes('stream'));
    this.judgement = new Judgement(new Conformance(document));
  }

  static async open(addresses: Addresses): Promise<JudgedClient> {
    const answer = await request(`${addresses.queryUrl}/openapi.json`, { headersTimeout: ANSWERED_WITHIN_MS });
    return new JudgedClient(addresses, (await answer.body.json()) as OpenApi);
  }

  /**
   * Sends a request that must succeed.
   * @param name method and path, as in the document
   * @param id value of the single path parameter
   * @throws if it is rejected
   */
  async ask<T>(name: string, body?: object, id = ''): Promise<T> {
    const operation = this.operations.find(({ method, path }) => `${method} ${path}` === name);
    if (operation === undefined) throw new Error(`the document has no operation ${name}`);
    const { method, path } = operation;
    const url = path.replace(/{\w+}/, id);
    const sent = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const { status, text } = await this.send(operation, { method, url, headers: {}, ...sent });
    if (status >= 300) throw new Error(`${name} was refused: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** @param key null: no key */
  async send(
    operation: DocumentedOperation,
    { method, url, headers, body }: DrawnRequest,
    key: string | null = this.addresses.key,
  ): Promise<ConformanceAnswer> {
    const base = isOfIngest(operation) ? this.addresses.ingestUrl : this.addresses.queryUrl;
    const received = await request(`${base}${url}`, {
      method: method.toUpperCase() as 'GET',
      headers: { ...headers, ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
      ...(body === undefined ? {} : { body }),
      headersTimeout: ANSWERED_WITHIN_MS,
      bodyTimeout: ANSWERED_WITHIN_MS,
    });
    const answer = { status: received.statusCode, headers: received.headers, text: await received.body.text() };
    const judged = this.judgement.judge(operation, `${method} ${url} ${body ?? ''}`, answer);
    if (judged.ok && answer.status < 300) this.learn(operation, answer);
    return answer;
  }

  private learn({ path }: DocumentedOperation, { headers, text }: ConformanceAnswer): void {
    this.known.learn(path, { etag: headers.etag });
    // Metrics are Prometheus text.
    if (String(headers['content-type']).includes('json')) this.known.learn(path, JSON.parse(text));
  }
}

/** True if the ingest gateway serves the operation, otherwise the query service does. */
function isOfIngest({ path, method }: DocumentedOperation): boolean {
  return path.startsWith('/v1/') || (path === '/api/events' && method === 'post');
}
