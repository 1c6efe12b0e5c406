import type { FastifyInstance } from 'fastify';

const ALLOWED_HEADERS = 'content-type, content-encoding, authorization, x-api-key, x-agentlens-agent';
const ANSWER_KEPT_S = 600;

/** Lets browsers on these origins send to these paths; nothing is answered to others, nor where none is named. */
export function allowOrigins(scope: FastifyInstance, paths: readonly string[], origins: readonly string[]): void {
  if (origins.length === 0) return;
  scope.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    if (origin === undefined || !origins.includes(origin)) return;
    reply.headers({ 'access-control-allow-origin': origin, vary: 'origin' });
  });
  for (const path of paths) {
    scope.options(path, { config: { isPublic: true } }, (_request, reply) =>
      reply
        .status(204)
        .headers({
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': ALLOWED_HEADERS,
          'access-control-max-age': String(ANSWER_KEPT_S),
        })
        .send(),
    );
  }
}
