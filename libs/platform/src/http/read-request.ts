import { type ProblemDetail, unknownName, unstorableText } from '@agentlens/contracts';
import type { Operation } from '@agentlens/operations';
import { type CallHandler, createParamDecorator, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { ProblemException, parseOr400 } from './problem-exception.ts';

const READ = Symbol('read');

interface ReadableRequest extends FastifyRequest {
  [READ]?: object;
}

/** Validates a request against its operation, after the key was checked. */
export class ReadRequest implements NestInterceptor {
  readonly #op: Operation;
  readonly #known: readonly string[];

  constructor(op: Operation) {
    this.#op = op;
    this.#known = Object.keys(op.query?.shape ?? {});
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<ReadableRequest>();
    request[READ] = this.#read(request);
    return next.handle();
  }

  /** @throws ProblemException 400 naming every invalid path */
  #read(request: FastifyRequest): object {
    const { params, query, headers, body, forwarded } = this.#op;
    this.#refuseUnknown(request.query as object);
    return {
      params: params && parseOr400(params, request.params),
      query: query && parseOr400(query, request.query),
      headers: headers && parseOr400(headers, request.headers, 'headers'),
      body: forwarded ? (request.body ?? null) : body && parseOr400(body, storable(request.body)),
    };
  }

  /** A misspelled filter would return everything. */
  #refuseUnknown(query: object): void {
    const details = Object.keys(query)
      .filter((name) => !this.#known.includes(name))
      .map((name): ProblemDetail => ({ path: name, message: unknownName('parameter', name, this.#known) }));
    if (details.length > 0) throw new ProblemException(400, 'Validation failed', { details: details.slice(0, 20) });
  }
}

/** Every text of a body may end in a column or in JSON of the database. @throws ProblemException 400 */
function storable(body: unknown): unknown {
  const details = unstorableText(body);
  if (details.length > 0) throw new ProblemException(400, 'Validation failed', { details });
  return body;
}

/** Injects the validated request: `@FromRequest() { query }: RequestOf<typeof listRuns>`. */
export const FromRequest = createParamDecorator((_data: unknown, context: ExecutionContext): object => {
  const read = context.switchToHttp().getRequest<ReadableRequest>()[READ];
  if (read === undefined) throw new Error('FromRequest needs a route that is declared with @Serves');
  return read;
});
