import { request } from 'node:http';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { pino } from 'pino';
import { Public } from '../auth/caller.ts';
import { loadConfig } from '../config/config.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { createHttpApp } from '../http/create-http-app.ts';
import type { Platform } from '../platform.ts';
import { listen, shutDown } from './serve.ts';

const log: string[] = [];
let finish: (value: string) => void = () => {};

@Controller()
class SlowController {
  @Get('slow')
  @Public()
  async slow() {
    log.push('request started');
    const answer = await new Promise<string>((resolve) => {
      finish = resolve;
    });
    log.push('request finished');
    return { answer };
  }

  @Get('stream')
  @Public()
  stream(@Res() reply: FastifyReply) {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write(': hello\n\n');
  }
}

@Module({ controllers: [SlowController] })
class SlowModule {
  beforeApplicationShutdown() {
    log.push('consumers closed');
  }
}

async function started() {
  log.length = 0;
  const health = new HealthRegistry();
  health.onDrain(() => log.push('not ready'));
  const platform = {
    config: loadConfig('standalone', { AGENTLENS_HTTP_PORT: '0' }),
    logger: pino({ level: 'silent' }),
    health,
    keys: { check: async () => ({ kind: 'unavailable' }) },
    close: async () => {
      log.push('connections closed');
    },
  } as Partial<Platform> as Platform;
  const app = await createHttpApp(platform, [{ module: SlowModule }]);
  const address = await listen(app, platform);
  return { address, stop: (lingerMs?: number) => shutDown(app, platform, lingerMs) };
}

describe('listening', () => {
  it('starts after memory used only by the start was released', async () => {
    const { gc } = globalThis;
    globalThis.gc = (async (options: NodeJS.GCOptions) => {
      log.push(`collected ${options.type}`);
    }) as unknown as NodeJS.GCFunction;
    try {
      const { address, stop } = await started();
      expect(log).toEqual(['collected major']);
      expect((await fetch(`${address}/healthz`)).status).toBe(200);
      await stop();
    } finally {
      globalThis.gc = gc;
    }
  });
});

describe('draining', () => {
  it('finishes running requests first, then closes consumers, then connections', async () => {
    const { address, stop } = await started();
    const answer = fetch(`${address}/slow`).then((response) => response.json());
    await eventually(() => expect(log).toContain('request started'));

    const stopped = stop();
    await eventually(async () => {
      await expect(fetch(`${address}/healthz`)).rejects.toThrow();
    });
    finish('done');

    expect(await answer).toEqual({ answer: 'done' });
    await stopped;
    expect(log).toEqual(['request started', 'not ready', 'request finished', 'consumers closed', 'connections closed']);
  });

  it('keeps serving while clients notice the shutdown, and closes each connection with its response', async () => {
    const { address, stop } = await started();
    const stopped = stop(500);
    await eventually(() => expect(log).toContain('not ready'));
    const answer = await fetch(`${address}/healthz`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('connection')).toBe('close');
    await answer.text();
    await stopped;
    expect(log.at(-1)).toBe('connections closed');
  });

  it('ends event streams, which would never end on their own', async () => {
    const { address, stop } = await started();
    const ended = new Promise<boolean>((resolve, reject) => {
      request(`${address}/stream`, (response) => {
        response.once('data', () => void stop());
        response.resume();
        response.once('end', () => resolve(response.complete));
      })
        .once('error', reject)
        .end();
    });
    expect(await ended).toBe(true);
    await eventually(() => expect(log).toContain('connections closed'));
  });

  it('names the port that is in use', async () => {
    const { address, stop } = await started();
    const port = new URL(address).port;
    const platform = {
      config: loadConfig('standalone', { AGENTLENS_HTTP_PORT: port }),
      logger: pino({ level: 'silent' }),
      health: new HealthRegistry(),
      keys: { check: async () => ({ kind: 'unavailable' }) },
    } as Partial<Platform> as Platform;
    const second = await createHttpApp(platform, [{ module: SlowModule }]);
    await expect(listen(second, platform)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await second.close();
    await stop();
  });
});
