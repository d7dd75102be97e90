import type { EntityManager } from '@mikro-orm/postgresql';
import type { Message } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Caller } from './caller.ts';

/** First argument of every use case: the caller, and one transaction of the caller's tenant. */
export interface Context {
  caller: Caller;
  em: EntityManager;
  secrets: Secrets;
  /** Sends a start, signal or cancel to a workflow once the transaction has committed. */
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
