import type { EntityManager } from '@mikro-orm/postgresql';
import type { Message } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Caller } from './caller.ts';

/** What every use case gets first: who acts, and one transaction of their tenant. */
export interface Context {
  caller: Caller;
  em: EntityManager;
  secrets: Secrets;
  /** Sends a start, a signal or a cancel to a workflow when the transaction is committed, and not otherwise. */
  enqueue(message: Message): Promise<void>;
}

export function createContext(parts: Pick<Context, 'caller' | 'em' | 'secrets'>): Context {
  return {
    ...parts,
    enqueue: async (message) => {
      await enqueue(parts.em, message);
    },
  };
}
