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
  /** The last recipient considered; null at the end. */
  next: string | null;
  /** Excludes recipients that a lost attempt notified after its last heartbeat. */
  delivered: number;
}
