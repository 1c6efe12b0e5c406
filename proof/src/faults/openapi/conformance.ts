import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { DeclaredResponse, DocumentedOperation, OpenApi, Schema } from './document.ts';

export interface ConformanceAnswer {
  readonly status: number;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** Id under which the components are compiled once for all schemas that refer to them. */
const DOCUMENT = 'document';
/** Further complaints about a response add nothing. */
const MAX_COMPLAINTS = 5;

/**
 * Compares responses with an OpenAPI 3.1 document: the status, the required headers, the content type and every member
 * of the body. Strict: an unknown keyword in a schema is an error, so that no part is silently unchecked.
 */
export class Conformance {
  private readonly ajv: Ajv2020;
  private readonly validators = new Map<Schema, ValidateFunction>();

  constructor({ components }: Pick<OpenApi, 'components'>) {
    this.ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
    addFormats.default(this.ajv);
    this.ajv.addVocabulary(['components']);
    this.ajv.addSchema({ $id: DOCUMENT, components });
  }

  /** Returns the deviations of a response from the document. */
  complaints({ operation }: DocumentedOperation, answer: ConformanceAnswer): string[] {
    const declared = operation.responses[answer.status];
    if (declared === undefined) return [`status ${answer.status} is not declared`];
    return [...missingHeaders(declared, answer), ...this.ofContent(declared, answer)];
  }

  private ofContent({ content }: DeclaredResponse, answer: ConformanceAnswer): string[] {
    if (content === undefined) return answer.text === '' ? [] : ['has a body, and none is declared'];
    const type = mediaTypeOf(answer);
    const declared = content[type];
    if (declared === undefined) {
      return [`content type "${type}" is not declared, only ${Object.keys(content).join(', ')}`];
    }
    if (type !== 'application/json') return [];
    const body = parsed(answer.text);
    return body === undefined ? ['the body is not JSON'] : this.ofBody(declared.schema, body.json);
  }

  private ofBody(schema: Schema, body: unknown): string[] {
    const validate = this.validatorOf(schema);
    if (validate(body)) return [];
    return (validate.errors ?? [])
      .slice(0, MAX_COMPLAINTS)
      .map(({ instancePath, message, params }) => `body${instancePath} ${message ?? ''} ${JSON.stringify(params)}`);
  }

  private validatorOf(schema: Schema): ValidateFunction {
    const known = this.validators.get(schema);
    if (known !== undefined) return known;
    const validate = this.ajv.compile(fromOutside(schema));
    this.validators.set(schema, validate);
    return validate;
  }
}

/** Rewrites the references of a schema so that they name the document. */
function fromOutside(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${DOCUMENT}#/`)) as Schema;
}

function missingHeaders({ headers = {} }: DeclaredResponse, answer: ConformanceAnswer): string[] {
  return Object.entries(headers)
    .filter(([name, { required }]) => required === true && answer.headers[name.toLowerCase()] === undefined)
    .map(([name]) => `has no header ${name}`);
}

function mediaTypeOf({ headers }: ConformanceAnswer): string {
  const [type = ''] = String(headers['content-type'] ?? '').split(';', 1);
  return type.trim().toLowerCase();
}

function parsed(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
