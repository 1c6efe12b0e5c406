import type { Scope } from '@agentlens/contracts';
import { RouteConfig } from '@nestjs/platform-fastify';

declare module 'fastify' {
  interface FastifyContextConfig extends RouteSettings {}

  interface FastifyRequest {
    /** The raw body, on routes that keep it. */
    bodyText?: string;
    /** Members of a large body that were not parsed; see `mayLeaveOut`. */
    leftOutOfBody?: readonly string[];
  }
}

/** Settings of a route. They are stored in the config of the Fastify route, where hooks read them before the body. */
export interface RouteSettings {
  /** The route requires no key. */
  readonly isPublic?: boolean;
  /** The key needs one of these scopes. Default: `admin`. */
  readonly scopes?: readonly Scope[];
  /** A scope for the agents of a team suffices: the handler checks which agent the request is about. */
  readonly allowsTeams?: boolean;
  /** The key may also be sent as `?token=`, or as a ticket in `?ticket=`, because the route is an event stream. */
  readonly allowsQueryToken?: boolean;
  /** The route checks for `__proto__` itself and names its path, so the whole body is not rejected. */
  readonly checksKeys?: boolean;
  /** Accepts bodies up to the configured limit (`AGENTLENS_HTTP_BODY_LIMIT_BYTES`) instead of `USUAL_BODY_BYTES`. */
  readonly takesLargeBodies?: boolean;
  /** The key may also be sent in the header `x-api-key`. If both are sent, `authorization` wins. */
  readonly takesKeyHeader?: boolean;
  /** Maximum body size of this route, instead of the two above. */
  readonly bodyLimitBytes?: number;
  /** The route handles content types and encodings itself. Other routes accept plain JSON. */
  readonly decodesBodies?: boolean;
  /** The route also parses the JSON itself, from `request.bodyText`. */
  readonly keepsText?: boolean;
  /** Members of the body that are set to null if they contain too many values, instead of rejecting the request. */
  readonly mayLeaveOut?: readonly string[];
  /** Its answers may take longer than a drain: the route ends them itself. */
  readonly endsItself?: boolean;
  /** The body is a batch of events. It is rejected unread while the tenant's queue is full. */
  readonly takesBatches?: boolean;
}

/** Default maximum body size: far larger than any order or rule, and parsed in about a millisecond. */
export const USUAL_BODY_BYTES = 1_048_576;

const SETTINGS = 'agentlens:route-settings';

/** Adds to the settings of a route. Several decorators on one method are merged. */
export function RouteSetting(settings: RouteSettings): MethodDecorator {
  return (target, name, descriptor) => {
    const handler = descriptor.value as object;
    const all: RouteSettings = { ...Reflect.getMetadata(SETTINGS, handler), ...settings };
    Reflect.defineMetadata(SETTINGS, all, handler);
    RouteConfig(all)(target, name, descriptor);
  };
}
