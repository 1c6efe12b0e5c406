import { z } from 'zod';

/** Fields that mean the same in every tool that has them. How long a text may be is for the platform to say. */

export const id = z.string();
/** Lists are sent as text, as in the query of the API: `failed,lost`. */
export const words = z.string();
export const reason = z.string();
const instant = z.string().describe('RFC 3339');

export const AGENT = { agentId: id };
export const RUN = { runId: id };
export const RULE = { ruleId: id };
export const RANGE = { from: instant, to: instant };
export const PAGE = { limit: z.int().min(1).max(50), cursor: z.string() };
export const DETAIL = { detail: z.enum(['summary', 'full']) };

/** How many items a list has unless the caller says. */
export const USUAL_LIMIT = 20;
