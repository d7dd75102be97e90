import { setTimeout as sleep } from 'node:timers/promises';
import { endWithParent } from '#adapters/process/end-with-parent.ts';

/** What a process of a pool is to do with a task. */
type Request =
  | { do: 'answer'; afterMs?: number }
  | { do: 'exit' }
  | { do: 'hang' }
  /** Takes 8 MiB beside its heap every 20 milliseconds, and sends how many it holds. */
  | { do: 'grow' }
  | { do: 'kill'; signal: NodeJS.Signals };

endWithParent();
let last = Promise.resolve();
let received = 0;
process.on('message', (request: Request) => {
  received += 1;
  last = last.then(() => run(request));
});

async function run(request: Request): Promise<void> {
  if (request.do === 'kill') process.kill(process.pid, request.signal);
  if (request.do === 'exit') process.exit(1);
  if (request.do === 'hang') for (;;);
  if (request.do === 'grow')
    for (const held: Buffer[] = []; ; await sleep(20)) {
      held.push(Buffer.alloc(8 * 1_048_576, 1));
      process.send?.({ heldMb: held.length * 8 });
    }
  if (request.do === 'answer') await sleep(request.afterMs ?? 0);
  process.send?.({ pid: process.pid, received });
}
