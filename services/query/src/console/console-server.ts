import { randomBytes } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ConsoleFile, type Encoding, readConsoleFiles } from './console-files.ts';
import { basePath, contentSecurityPolicy, pageFor } from './console-page.ts';

/** Page addresses of the console's router. Every other path is an API route or 404. */
export const CONSOLE_PAGES = [
  '/',
  ...['runs', 'live', 'decisions', 'guardrails', 'approvals', 'alerts', 'agents', 'spend', 'breakers', 'deliveries'],
  ...['audit', 'system', 'settings', 'connect', 'more', 'gallery', 'sign-in', 'model-calls', 'channels', 'you'],
  ...['people', 'teams', 'providers', 'policies', 'connections', 'log'].map((page) => `settings/${page}`),
  ...['you/login', 'link/slack', 'runs/:id', 'guardrails/:id', 'guardrails/:id/edit', 'agents/:id'],
].map((page) => (page === '/' ? page : `/${page}`));
/** The files contain no tenant data, so they need no key. */
const PUBLIC = { config: { isPublic: true } };
const YEAR_S = 31_536_000;

/** Serves the console at `/`: its files, and its single page at every address that has a view. */
@Injectable()
export class ConsoleServer implements OnModuleInit {
  readonly #built = readConsoleFiles();

  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    if (this.#built === null) return;
    const { page, files } = this.#built;
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    for (const path of CONSOLE_PAGES) server.get(path, PUBLIC, (request, reply) => sendPage(page, request, reply));
    // The page of the rules is called Rules, its address is older than that name.
    for (const path of ['/rules', '/rules/*']) server.get(path, PUBLIC, redirectToRules);
    // With a callback: in one process, every answer to an agent would pay for a promise.
    server.addHook('onSend', (request, reply, payload, done) => {
      done(null, isUnknownPage(request) ? pageOf(page, request, reply) : payload);
    });
    for (const [path, file] of files)
      server.get(`/${path}`, PUBLIC, (request, reply) => sendFile(file, request, reply));
  }
}

const PROGRAMS = /^\/(api|v1|mcp|assets|packages|openapi\.json|metrics|health)(\/|$|\?)/;

/** A person who opened an address that does not exist gets a page with navigation; programs get JSON. */
function isUnknownPage({ is404, method, url, headers }: FastifyRequest): boolean {
  return is404 && method === 'GET' && !PROGRAMS.test(url) && (headers.accept ?? '').includes('text/html');
}

function redirectToRules(request: FastifyRequest, reply: FastifyReply) {
  const rest = request.url.slice('/rules'.length);
  return reply.redirect(`${basePath(request.headers['x-forwarded-prefix'])}guardrails${rest}`, 308);
}

function sendPage(page: string, request: FastifyRequest, reply: FastifyReply) {
  return reply.send(pageOf(page, request, reply));
}

/** Sets the headers of the page and returns it. */
function pageOf(page: string, request: FastifyRequest, reply: FastifyReply): string {
  const nonce = randomBytes(16).toString('base64');
  void reply
    .removeHeader('content-length')
    .header('content-security-policy', contentSecurityPolicy(nonce))
    .header('referrer-policy', 'same-origin')
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8');
  return pageFor(page, basePath(request.headers['x-forwarded-prefix']), nonce);
}

async function sendFile(file: ConsoleFile, request: FastifyRequest, reply: FastifyReply) {
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoding = (['br', 'gzip'] satisfies Encoding[]).find((name) => accepted.includes(name));
  const compressed = encoding && (await file.compressed(encoding));
  if (compressed) void reply.header('content-encoding', encoding).header('vary', 'accept-encoding');
  return reply
    .header('cache-control', file.immutable ? `public, max-age=${YEAR_S}, immutable` : 'no-cache')
    .type(file.type)
    .send(compressed ?? file.body);
}
