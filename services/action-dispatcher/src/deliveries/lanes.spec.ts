import { describe, expect, it } from '@jest/globals';
import { aDelivery } from './delivery.testing.ts';
import { Reservation } from './lanes.ts';

const idsOf = (deliveries: readonly object[]) => deliveries.map((delivery) => Reflect.get(delivery, 'deliveryId'));

describe('Reservation', () => {
  it('starts recorded deliveries and gives back all other leases, each once', () => {
    const begun: unknown[] = [];
    const returned: unknown[] = [];
    const room = new Set(['full']);
    const reservation = new Reservation(30_000, () => ({
      reserve: ({ destination }) => !room.has(destination?.id ?? ''),
      begin: (deliveries) => begun.push(...idsOf(deliveries)),
      giveBack: (deliveries) => returned.push(...idsOf(deliveries)),
    }));
    const [recorded, known, waiting] = [aDelivery('recorded'), aDelivery('known'), aDelivery('waiting', 'full')];
    expect([recorded, known, waiting].map((delivery) => reservation.reserve(delivery))).toEqual([true, true, false]);
    reservation.end([recorded]);
    reservation.end([]);
    expect({ begun, returned }).toEqual({ begun: ['recorded'], returned: ['known'] });
  });
});
