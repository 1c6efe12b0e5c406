import { randomBytes } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ConsoleFile, type Encoding, readConsoleFiles } from './console-files.ts';
import { basePath, contentSecurityPolicy, pageFor } from './console-page.ts';

/** Routes of the API: an unknown one among them is not a page of the console. */
const API = /^\/(api|v1|mcp)(\/|$)|^\/openapi\.json$/;
const YEAR_S = 31_536_000;

/**
 * The console at `/`: its files, and its page for every address that a browser opens, because the page itself knows its
 * routes. Public: the files hold nothing of anybody.
 */
@Injectable()
export class ConsoleServer implements OnModuleInit {
  readonly #built = readConsoleFiles();

  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    server.get('/', (request, reply) => this.#answer('', request, reply));
    server.get<{ Params: { '*': string } }>('/*', (request, reply) =>
      this.#answer(request.params['*'], request, reply),
    );
  }

  #answer(path: string, request: FastifyRequest, reply: FastifyReply) {
    const file = this.#built?.files.get(path);
    if (file !== undefined) return sendFile(file, request, reply);
    const isPage = request.headers.accept?.includes('text/html') === true && !API.test(`/${path}`);
    if (!isPage || this.#built === null) return reply.callNotFound();
    const nonce = randomBytes(16).toString('base64');
    return reply
      .header('content-security-policy', contentSecurityPolicy(nonce))
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'same-origin')
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(pageFor(this.#built.page, basePath(request.headers['x-forwarded-prefix']), nonce));
  }
}

async function sendFile(file: ConsoleFile, request: FastifyRequest, reply: FastifyReply) {
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoding = (['br', 'gzip'] satisfies Encoding[]).find((name) => accepted.includes(name));
  const compressed = encoding && (await file.compressed(encoding));
  if (compressed) void reply.header('content-encoding', encoding).header('vary', 'accept-encoding');
  return reply
    .header('cache-control', file.immutable ? `public, max-age=${YEAR_S}, immutable` : 'no-cache')
    .header('x-content-type-options', 'nosniff')
    .type(file.type)
    .send(compressed ?? file.body);
}
