import {
  ActionStage,
  BreakerStage,
  CarryOutStage,
  ConfigStage,
  type DeliveryParts,
  type DeliveryStage,
  EnabledStage,
  LeaseStage,
  RecordStage,
  SecretsStage,
  SendBackStage,
  SendStage,
  SlotStage,
  SpanStage,
} from './delivery-stages.ts';

/**
 * The stages of a delivery, in order. The worker of its lane has claimed it and given it a slot. What can be wrong with
 * a delivery is part of its result and no error. After an error the lease expires, and the delivery is retried with the
 * same id.
 */
export function deliveryPipeline(parts: DeliveryParts): readonly DeliveryStage[] {
  return [
    new LeaseStage(),
    new CarryOutStage(parts, [
      new SlotStage(parts),
      new ActionStage(parts),
      new EnabledStage(),
      new BreakerStage(parts),
      // From here on, an attempt is used up.
      new SpanStage(parts, [new SecretsStage(parts), new ConfigStage(), new SendStage(parts)]),
    ]),
    new RecordStage(parts),
    new SendBackStage(),
  ];
}
