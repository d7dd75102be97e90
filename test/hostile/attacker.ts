import { setPriority } from 'node:os';
import { attack, type Answers, type Target } from './attacks.ts';
import { startHostileModels, type Manner } from './model-server.ts';

/** What the attacking process is told. */
export type Order = { kind: 'attack'; target: Omit<Target, 'signal'>; width: number } | { kind: 'stop' };

/** What it answers: the models' address when it has begun, and all that came of the attack when it was stopped. */
export type Report =
  | { kind: 'ready'; url: string; origin: string }
  | { kind: 'over'; answers: Answers; requests: Record<Manner, number> }
  | { kind: 'failed'; message: string };

// An attacker and its servers have machines of their own. Here they share one, and must not be what keeps it busy.
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
