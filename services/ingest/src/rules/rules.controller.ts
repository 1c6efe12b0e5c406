import { createHmac } from 'node:crypto';
import {
  BUNDLE_KEY_LABEL,
  ClientId,
  COMMANDS,
  canonicalJson,
  type GuardrailRule,
  type RuleBundle,
  sha256Hex,
  signatureOf,
} from '@agentlens/contracts';
import { CommandUnanswered, type EventBus } from '@agentlens/messaging';
import { getRuleBundle, importPolicy } from '@agentlens/operations/ingest';
import {
  bearerOf,
  type Caller,
  CurrentCaller,
  ProblemException,
  parseOr400,
  port,
  requireAgent,
  Serves,
} from '@agentlens/platform';
import { Body, Controller, Headers, Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sanitise } from '../intake/sanitise.ts';

/** The bundle as text, so that the signature covers exact bytes. */
interface BundleSignature {
  readonly payload: string;
  /** HMAC-SHA256 of the payload, in hex. */
  readonly signature: string;
}

/**
 * Signs a bundle with a key derived from the API key. Both sides hold it during the request, and it is not stored in
 * readable form, so an intermediary cannot weaken an agent's rules.
 */
export function signBundle(bundle: RuleBundle, apiKey: string): BundleSignature {
  const payload = JSON.stringify(bundle);
  const key = createHmac('sha256', apiKey).update(BUNDLE_KEY_LABEL).digest();
  return { payload, signature: createHmac('sha256', key).update(payload).digest('hex') };
}

/** The tag of a bundle's content, equal for bundles that differ only in their `version`. */
function bundleTag(bundle: RuleBundle): string {
  const { version: _, ...content } = bundle;
  return `W/"${sha256Hex(canonicalJson(content))}"`;
}

/** Returns true if an If-None-Match matches `tag`, by the weak comparison of RFC 9110 §13.1.2. */
function isTagged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (text: string) => text.trim().replace(/^W\//, '');
  const names = ifNoneMatch.split(',').map(opaque);
  return names.includes('*') || names.includes(opaque(tag));
}

/** Imports and serves rules for clients of the agent protocol. */
@Controller()
export class ProtocolRulesController {
  constructor(@Inject(port('bus')) private readonly bus: EventBus) {}

  /** Takes `{policy, rules}`. The owner of the rules parses it and answers with the rules it created. */
  @Serves(importPolicy, { checksKeys: true })
  async importPolicy(
    @CurrentCaller() { tenantId, keyId, person }: Caller,
    @Body() body: unknown,
  ): Promise<{ policyId: string; rules: readonly GuardrailRule[] }> {
    const { problem: unsafe } = sanitise(body);
    if (unsafe !== undefined) throw new ProblemException(400, 'Validation failed', { details: [unsafe] });
    const author = { keyId, keyName: keyId, ...(person === undefined ? {} : { person }) };
    const question = { tenantId, body: body ?? null, by: signatureOf(author), author };
    const answer = await this.bus.request(COMMANDS.importPolicy, question);
    if (!answer.ok) throw ProblemException.from(answer.problem);
    return answer.value;
  }

  /**
   * Returns the agent's signed rules, or 304 if the client already has them. An agent without a bundle asks the server
   * about every call.
   */
  @Serves(getRuleBundle)
  async bundle(
    @CurrentCaller() caller: Caller,
    @Query('agentId') agentIdText: unknown,
    @Headers('authorization') authorization: string,
    @Headers('if-none-match') held: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BundleSignature | undefined> {
    const agentId = parseOr400(ClientId, agentIdText, 'query.agentId');
    requireAgent(caller, agentId, 'query.agentId');
    const answer = await this.#asked(caller.tenantId, agentId);
    if (!answer.ok) throw ProblemException.from(answer.problem);
    const tag = bundleTag(answer.value);
    void reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
    if (isTagged(held, tag)) {
      void reply.code(304);
      return undefined;
    }
    return signBundle(answer.value, bearerOf({ headers: { authorization } }) ?? '');
  }

  /** If bundles are unavailable there is none: asking the server is always correct. */
  async #asked(tenantId: string, agentId: string) {
    try {
      return await this.bus.request(COMMANDS.ruleBundle, { tenantId, agentId });
    } catch (error) {
      if (!(error instanceof CommandUnanswered)) throw error;
      throw new ProblemException(404, 'No rule bundle', {
        hint: 'No rules are offered to be evaluated in the agent: ask POST /v1/runs/{runId}/evaluate.',
      });
    }
  }
}
