import { floods } from './hostile-answers.ts';
import { clientNames, failureOf, outgoingClients } from './outgoing-clients.ts';

/**
 * A process that calls every client with every attack and writes a line of JSON for each: its failure, and
 * the process's maximum growth in MB over all attacks so far.
 */
const [origin = ''] = process.argv.slice(2);
const clients = outgoingClients([origin]);
const peakMb = () => process.resourceUsage().maxRSS / 1_024;
const before = peakMb();
for (const client of clientNames) {
  for (const flood of floods) {
    for (const where of [`${origin}/${flood}`, `${origin}/${flood}/error`]) {
      globalThis.gc?.();
      const failure = await failureOf(clients[client](where));
      const grownMb = Math.round(peakMb() - before);
      process.stdout.write(
        `${JSON.stringify({ client, flood, isError: where.endsWith('error'), failure, grownMb })}\n`,
      );
    }
  }
}
process.exit();
