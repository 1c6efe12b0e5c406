/**
 * The body of `POST /v2/enqueue` as PagerDuty publishes it: fields, types, required ones and values of
 * `reference/events-v2/openapiv3.json` in PagerDuty/api-schema at 91a06fb (14 August 2026), without its descriptions.
 * PagerDuty ignores fields that it does not know; here they are an error, because they would be lost.
 */
const link = {
  type: 'object',
  properties: { href: { type: 'string', format: 'uri' }, text: { type: 'string' } },
  required: ['href'],
  additionalProperties: false,
};

const payload = {
  type: 'object',
  properties: {
    ...{ summary: { type: 'string' }, source: { type: 'string' }, timestamp: { type: 'string', format: 'date-time' } },
    severity: { enum: ['critical', 'warning', 'error', 'info'] },
    ...{ component: { type: 'string' }, group: { type: 'string' }, class: { type: 'string' } },
    custom_details: { type: 'object' },
  },
  required: ['summary', 'severity', 'source'],
  additionalProperties: false,
};

export const ENQUEUE_SCHEMA = {
  type: 'object',
  properties: {
    ...{ payload, routing_key: { type: 'string' }, dedup_key: { type: 'string' } },
    event_action: { enum: ['trigger', 'acknowledge', 'resolve'] },
    ...{ client: { type: 'string' }, client_url: { type: 'string', format: 'uri' } },
    links: { type: 'array', items: link },
  },
  required: ['routing_key', 'event_action'],
  additionalProperties: false,
  // Said in words there: the key is required unless the action is `trigger`.
  if: { properties: { event_action: { const: 'trigger' } } },
  else: { required: ['dedup_key'] },
};
