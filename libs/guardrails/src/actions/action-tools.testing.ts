import type { ActionRequest, ActionResponse, ActionTools, DirectiveOrder } from '../catalog/action-module.ts';

interface RecordingTools extends ActionTools {
  readonly requests: ActionRequest[];
  readonly orders: object[];
}

/** Tools for specs of actions: record what was done, answer every request with `response`. */
export function actionTools(response: ActionResponse = answered(200)): RecordingTools {
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
  };
}

export function answered(status: number, headers: Record<string, string> = {}): ActionResponse {
  return { kind: 'answered', status, headers, body: '' };
}
