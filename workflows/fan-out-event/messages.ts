export type { FanOutEventInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface FanOutEventResult {
  status: 'completed';
  reason: null;
  delivered: number;
}

export interface PageInput {
  tenantId: string;
  eventId: string;
  after: string | null;
}

export interface PageResult {
  /** The last recipient that was considered; null when there are no more. */
  next: string | null;
  /** Those whom an attempt told after its last heartbeat and before it was lost are not counted. */
  delivered: number;
}
