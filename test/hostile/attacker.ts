import { setPriority } from 'node:os';
import { attack, type Answers, type Target } from './attacks.ts';
import { startHostileModels, type Manner } from './model-server.ts';

/** Messages to the attacking process. */
export type Order = { kind: 'attack'; target: Omit<Target, 'signal'>; width: number } | { kind: 'stop' };

/** Its answers: the models' address when it has begun, and all results of the attack when it was stopped. */
export type Report =
  | { kind: 'ready'; url: string; origin: string }
  | { kind: 'over'; answers: Answers; requests: Record<Manner, number> }
  | { kind: 'failed'; message: string };

// A real attacker has machines of its own. Here it shares one, and must not be the load itself.
setPriority(10);

const report = (message: Report) => process.send?.(message);
const over = new AbortController();
const models = await startHostileModels();
let attacked: Promise<Answers> = Promise.resolve({});

process.on('message', (order: Order) => {
  if (order.kind === 'attack') {
    attacked = attack({ ...order.target, signal: over.signal }, order.width);
    return;
  }
  over.abort();
  attacked.then(
    (answers) => report({ kind: 'over', answers, requests: models.counts }),
    (error: unknown) => report({ kind: 'failed', message: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
report({ kind: 'ready', url: models.url, origin: models.origin });
