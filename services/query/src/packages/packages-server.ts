import { createHash } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { basePath } from '../console/console-page.ts';
import { type PackageIndex, ServedPackages } from './served-packages.ts';
import { buildPackument, buildSimpleIndex, buildSimplePage, normalizePythonName } from './registry-answers.ts';

/** The files contain no secret and no tenant data, so they need no key. */
const PUBLIC = { config: { isPublic: true } };
const RETRY_AFTER_S = 5;
/** A name or address with a port. Anything else in the header would become part of an address that clients open. */
const HOST = /^[\w.:[\]-]{1,255}$/;

type Answer = (packages: PackageIndex, path: string, request: FastifyRequest, reply: FastifyReply) => unknown;

/**
 * Serves the packages of this version of the platform: files with their checksums, as a registry for npm's scope
 * `@agentlens`, and as an index for pip.
 */
@Injectable()
export class PackagesServer implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ServedPackages) private readonly packages: ServedPackages,
  ) {}

  onModuleInit(): void {
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    const serve = (path: string, answer: Answer) =>
      server.get<{ Params: { '*'?: string } }>(path, PUBLIC, async (request, reply) => {
        const packages = await this.packages.read();
        if (packages === 'absent') return reply.code(404).send({ error: ABSENT, status: 404 });
        if (packages === 'being made')
          return reply.code(503).header('retry-after', RETRY_AFTER_S).send({ error: BEING_MADE, status: 503 });
        return answer(packages, request.params['*'] ?? '', request, reply);
      });
    serve('/packages', list);
    serve('/packages/*', (packages, path, request, reply) => {
      if (path === '') return list(packages, path, request, reply);
      return this.#sendFile(packages, path, request, reply);
    });
    serve('/packages/npm/*', (packages, path, request, reply) => {
      const found = packages.npm.find(({ name }) => name === path);
      if (found === undefined) return notFound(packages, reply);
      return sendText(request, reply, 'application/json', JSON.stringify(buildPackument(found, findBase(request))));
    });
    serve('/packages/pypi/simple', sendSimple);
    serve('/packages/pypi/simple/*', sendSimple);
  }

  async #sendFile(packages: PackageIndex, path: string, request: FastifyRequest, reply: FastifyReply) {
    const latest = packages.npm.find(({ name }) => `${name.replace('@agentlens/', '')}.tgz` === path);
    if (latest !== undefined) return reply.header('cache-control', 'no-store').redirect(latest.file, 302);
    const found = [...packages.npm, ...packages.pypi].find(({ file }) => file === path);
    if (found === undefined) return notFound(packages, reply);
    const type = path.endsWith('.whl') ? 'application/zip' : 'application/gzip';
    return sendOnce(request, reply, type, await this.packages.body(path));
  }
}

const ABSENT = 'This installation has no packages. Make them in the checkout with: npm run packages';
const BEING_MADE = 'The packages are being made. Try again in a few seconds.';

/** Address under which the client reached the platform. */
function findBase({ headers }: FastifyRequest): string {
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  const host = headers['x-forwarded-host'] ?? headers.host ?? '';
  const named = typeof host === 'string' && HOST.test(host) ? host : '127.0.0.1';
  return `${scheme}://${named}${basePath(headers['x-forwarded-prefix'])}`.replace(/\/$/, '');
}

function list(packages: PackageIndex, _path: string, request: FastifyRequest, reply: FastifyReply) {
  const files = [
    ...packages.npm.map(({ name, version, file, size, integrity }) => ({ name, version, file, size, integrity })),
    ...packages.pypi.map(({ name, version, file, size, sha256 }) => ({ name, version, file, size, sha256 })),
  ];
  return sendText(request, reply, 'application/json', JSON.stringify({ version: packages.version, packages: files }));
}

function sendSimple(packages: PackageIndex, path: string, request: FastifyRequest, reply: FastifyReply) {
  const [address = ''] = request.url.split('?', 1);
  // Relative links need the slash, which the router does not tell apart.
  if (!address.endsWith('/')) return reply.redirect(`${address.split('/').at(-1) ?? ''}/`, 308);
  const asked = path.replace(/\/$/, '');
  if (asked === '') return sendText(request, reply, 'text/html', buildSimpleIndex(packages.pypi));
  const found = packages.pypi.find(({ name }) => name === normalizePythonName(asked));
  if (found === undefined) return notFound(packages, reply);
  if (asked !== found.name) return reply.redirect(`../${found.name}/`, 308);
  return sendText(request, reply, 'text/html', buildSimplePage(found));
}

/** The names are few and public, so that a wrong one is corrected at once. */
function notFound({ npm, pypi }: PackageIndex, reply: FastifyReply) {
  const names = [...npm, ...pypi].map(({ name }) => name);
  const files = [...npm, ...pypi].map(({ file }) => file);
  return reply.code(404).send({ error: `No such package. There are: ${names.join(', ')}`, status: 404, names, files });
}

function sendText(request: FastifyRequest, reply: FastifyReply, type: string, text: string) {
  return sendOnce(request, reply, `${type}; charset=utf-8`, Buffer.from(text));
}

/**
 * Clients may keep every answer but must ask whether it is still current, so that they always get the version of this
 * platform; the unchanged answer is empty.
 */
function sendOnce(request: FastifyRequest, reply: FastifyReply, type: string, body: Buffer) {
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  void reply.header('etag', tag).header('cache-control', 'public, max-age=0, must-revalidate');
  if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  return reply.type(type).send(body);
}
