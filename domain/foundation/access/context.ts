import type { EntityManager } from '@mikro-orm/postgresql';
import type { Dispatch } from '#domain/foundation/durable/dispatcher.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Caller } from './caller.ts';

/** What every use case gets first: who acts, and one transaction of their tenant. */
export interface Context {
  caller: Caller;
  em: EntityManager;
  secrets: Secrets;
  /** Rows that the use case put into the outbox; sent right after the commit. */
  dispatches: Dispatch[];
}
