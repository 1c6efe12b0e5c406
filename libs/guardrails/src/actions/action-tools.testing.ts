import type {
  ActionDependencies,
  ActionRequest,
  ActionResponse,
  AlertRaised,
  DirectiveOrder,
} from '../catalog/action-module.ts';

interface RecordingDependencies extends ActionDependencies {
  readonly requests: ActionRequest[];
  readonly orders: object[];
}

/** Action dependencies for specs: record every order and answer every request with `response`. */
export function actionTools(
  response: ActionResponse = answered(200),
  raised: AlertRaised = 'raised',
): RecordingDependencies {
  const requests: ActionRequest[] = [];
  const orders: object[] = [];
  const record = (order: string) => async (details: DirectiveOrder) => {
    orders.push({ order, ...details });
  };
  return {
    requests,
    orders,
    deliveryId: 'delivery-1',
    now: () => Date.parse('2026-03-01T12:00:00.000Z'),
    send: async (request) => {
      requests.push(request);
      return response;
    },
    directives: { pause: record('pause'), overrideModel: record('overrideModel') },
    alerts: {
      raise: async (order) => {
        orders.push({ order: 'raise', ...order });
        return raised;
      },
    },
  };
}

export function answered(status: number, headers: Record<string, string> = {}): ActionResponse {
  return { kind: 'answered', status, headers, body: '' };
}
