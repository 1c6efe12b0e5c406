import type { Scope } from '@agentlens/contracts';
import { RouteConfig } from '@nestjs/platform-fastify';

declare module 'fastify' {
  interface FastifyContextConfig extends RouteSettings {}

  interface FastifyRequest {
    /** The body as it was sent, of routes that keep it. */
    bodyText?: string;
    /** Members of a large body that were not parsed, see `mayLeaveOut`. */
    leftOutOfBody?: readonly string[];
  }
}

/** What a route declares about itself. It stands in the config of the Fastify route: hooks read it before the body. */
export interface RouteSettings {
  /** Open to everybody: no key is asked for. */
  readonly isPublic?: boolean;
  /** The key needs one of these; without it the route needs `admin`. */
  readonly scopes?: readonly Scope[];
  /** The key may also come as `?token=`, or a ticket for it as `?ticket=`: the route is an event stream. */
  readonly allowsQueryToken?: boolean;
  /** The route refuses `__proto__` itself: it names the path, and need not refuse the whole body for it. */
  readonly checksKeys?: boolean;
  /** Bodies up to the configured limit (`AGENTLENS_HTTP_BODY_LIMIT_BYTES`); other routes take `USUAL_BODY_BYTES`. */
  readonly takesLargeBodies?: boolean;
  /** The key may also come as the header `x-api-key`; `authorization` wins where both are sent. */
  readonly takesKeyHeader?: boolean;
  /** A limit of its own for what is sent, instead of the two above. */
  readonly bodyLimitBytes?: number;
  /** The route reads content types and encodings itself; other routes take JSON as it is. */
  readonly decodesBodies?: boolean;
  /** The route reads the JSON of the body itself, too: it is kept as `request.bodyText`. */
  readonly keepsText?: boolean;
  /** Members of the body that become null if they hold too many values, instead of a refusal. */
  readonly mayLeaveOut?: readonly string[];
  /** The body is a batch of events; it is refused unread while the tenant's queue is full. */
  readonly takesBatches?: boolean;
}

/** What a route takes that does not ask for more: far above any order or rule, and read in about a millisecond. */
export const USUAL_BODY_BYTES = 1_048_576;

const SETTINGS = 'agentlens:route-settings';

/** Adds to the settings of a route. Several of them on one method add up. */
export function RouteSetting(settings: RouteSettings): MethodDecorator {
  return (target, name, descriptor) => {
    const handler = descriptor.value as object;
    const all: RouteSettings = { ...Reflect.getMetadata(SETTINGS, handler), ...settings };
    Reflect.defineMetadata(SETTINGS, all, handler);
    RouteConfig(all)(target, name, descriptor);
  };
}
